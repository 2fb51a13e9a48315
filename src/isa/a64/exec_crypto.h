// SPDX-License-Identifier: MIT
// Bodies of AES, SHA-1 and SHA-256 (FIPS 197, FIPS 180-4, as the manual splits them).
#ifndef TL_ISA_A64_EXEC_CRYPTO_H
#define TL_ISA_A64_EXEC_CRYPTO_H

#include "isa/a64/exec_simd.h"

// -- AES, in the field of 256 elements with the polynomial 0x11b.
static inline uint8_t tl_a64_gf_times(uint8_t a, uint8_t b) {
    uint8_t product = 0;
    for (int i = 0; i < 8; i++) {
        product = (uint8_t)(product ^ (b & 1 ? a : 0));
        a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0));
        b >>= 1;
    }
    return product;
}
static inline uint8_t tl_a64_gf_inverse(uint8_t a) { // a^254
    uint8_t result = 1;
    for (int i = 0; i < 7; i++) {
        a = tl_a64_gf_times(a, a);
        result = tl_a64_gf_times(result, a);
    }
    return result;
}
static inline uint8_t tl_a64_rotate8(uint8_t a, int n) { return (uint8_t)(a << n | a >> (8 - n)); }
static inline uint8_t tl_a64_sub_byte(uint8_t a) {
    a = tl_a64_gf_inverse(a);
    return (uint8_t)(a ^ tl_a64_rotate8(a, 1) ^ tl_a64_rotate8(a, 2) ^ tl_a64_rotate8(a, 3) ^ tl_a64_rotate8(a, 4) ^ 0x63);
}
static inline uint8_t tl_a64_unsub_byte(uint8_t a) {
    return tl_a64_gf_inverse((uint8_t)(tl_a64_rotate8(a, 1) ^ tl_a64_rotate8(a, 3) ^ tl_a64_rotate8(a, 6) ^ 0x05));
}
// Bytes stand in columns of 4; row r moves by r columns.
EXEC(aese) {
    const tl_a64_vector n = VN, d = tl_a64(h)->v[op->rd];
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t from = (i + 4 * (i & 3)) & 15;
        tl_a64(h)->v[op->rd].b[i] = tl_a64_sub_byte(n.b[from] ^ d.b[from]);
    }
    return true;
}
EXEC(aesd) {
    const tl_a64_vector n = VN, d = tl_a64(h)->v[op->rd];
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t from = (i - 4 * (i & 3)) & 15;
        tl_a64(h)->v[op->rd].b[i] = tl_a64_unsub_byte(n.b[from] ^ d.b[from]);
    }
    return true;
}
static inline tl_a64_vector tl_a64_mix_columns(tl_a64_vector n, const uint8_t factors[4]) {
    tl_a64_vector out = {.d = {0, 0}};
    for (uint32_t i = 0; i < 16; i++)
        for (uint32_t k = 0; k < 4; k++)
            out.b[i] = (uint8_t)(out.b[i] ^ tl_a64_gf_times(n.b[(i & ~3u) | ((i + k) & 3)], factors[k]));
    return out;
}
EXEC(aesmc) {
    static const uint8_t factors[4] = {2, 3, 1, 1};
    tl_a64(h)->v[op->rd] = tl_a64_mix_columns(VN, factors);
    return true;
}
EXEC(aesimc) {
    static const uint8_t factors[4] = {14, 11, 13, 9};
    tl_a64(h)->v[op->rd] = tl_a64_mix_columns(VN, factors);
    return true;
}

// -- SHA.
static inline uint32_t tl_a64_rotate(uint32_t a, int left) { return a << left | a >> (32 - left); }
static inline uint32_t tl_a64_choose(uint32_t a, uint32_t b, uint32_t c) { return ((b ^ c) & a) ^ c; }
static inline uint32_t tl_a64_majority(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | ((a | b) & c); }
static inline uint32_t tl_a64_parity(uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; }
#define SHA1(name, function)                                                                  \
    EXEC(name) {                                                                              \
        tl_a64_vector x = tl_a64(h)->v[op->rd];                                               \
        const tl_a64_vector w = VM;                                                           \
        uint32_t y = VN.s[0];                                                                 \
        for (uint32_t i = 0; i < 4; i++) {                                                    \
            y += tl_a64_rotate(x.s[0], 5) + function(x.s[1], x.s[2], x.s[3]) + w.s[i];        \
            const tl_a64_vector next = {.s = {y, x.s[0], tl_a64_rotate(x.s[1], 30), x.s[2]}}; \
            y = x.s[3];                                                                       \
            x = next;                                                                         \
        }                                                                                     \
        tl_a64(h)->v[op->rd] = x;                                                             \
        return true;                                                                          \
    }
SHA1(sha1c, tl_a64_choose)
SHA1(sha1p, tl_a64_parity)
SHA1(sha1m, tl_a64_majority)
EXEC(sha1h) { return tl_a64_set_scalar(h, op->rd, tl_a64_rotate(VN.s[0], 30)); }
EXEC(sha1su0) {
    const tl_a64_vector d = tl_a64(h)->v[op->rd], n = VN, m = VM;
    tl_a64(h)->v[op->rd] = (tl_a64_vector){.d = {d.d[1] ^ d.d[0] ^ m.d[0], n.d[0] ^ d.d[1] ^ m.d[1]}};
    return true;
}
EXEC(sha1su1) {
    const tl_a64_vector d = tl_a64(h)->v[op->rd], n = VN;
    const uint32_t t[4] = {d.s[0] ^ n.s[1], d.s[1] ^ n.s[2], d.s[2] ^ n.s[3], d.s[3]};
    tl_a64(h)->v[op->rd] = (tl_a64_vector){
        .s = {tl_a64_rotate(t[0], 1), tl_a64_rotate(t[1], 1), tl_a64_rotate(t[2], 1), tl_a64_rotate(t[3], 1) ^ tl_a64_rotate(t[0], 2)}};
    return true;
}
static inline uint32_t tl_a64_sigma(uint32_t a, int p, int q, int r) {
    return tl_a64_rotate(a, 32 - p) ^ tl_a64_rotate(a, 32 - q) ^ tl_a64_rotate(a, 32 - r);
}
static inline tl_a64_vector tl_a64_sha256(tl_a64_vector x, tl_a64_vector y, tl_a64_vector w, bool is_first) {
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t t = y.s[3] + tl_a64_sigma(y.s[0], 6, 11, 25) + tl_a64_choose(y.s[0], y.s[1], y.s[2]) + w.s[i];
        const uint32_t x3 = t + x.s[3];
        const uint32_t y3 = t + tl_a64_sigma(x.s[0], 2, 13, 22) + tl_a64_majority(x.s[0], x.s[1], x.s[2]);
        x = (tl_a64_vector){.s = {y3, x.s[0], x.s[1], x.s[2]}};
        y = (tl_a64_vector){.s = {x3, y.s[0], y.s[1], y.s[2]}};
    }
    return is_first ? x : y;
}
EXEC(sha256h) {
    tl_a64(h)->v[op->rd] = tl_a64_sha256(tl_a64(h)->v[op->rd], VN, VM, true);
    return true;
}
EXEC(sha256h2) {
    tl_a64(h)->v[op->rd] = tl_a64_sha256(VN, tl_a64(h)->v[op->rd], VM, false);
    return true;
}
EXEC(sha256su0) {
    const tl_a64_vector d = tl_a64(h)->v[op->rd], n = VN;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t t = i < 3 ? d.s[i + 1] : n.s[0];
        tl_a64(h)->v[op->rd].s[i] = d.s[i] + (tl_a64_rotate(t, 25) ^ tl_a64_rotate(t, 14) ^ t >> 3);
    }
    return true;
}
EXEC(sha256su1) {
    const tl_a64_vector d = tl_a64(h)->v[op->rd], n = VN, m = VM;
    tl_a64_vector out = {.d = {0, 0}};
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t t = i < 2 ? m.s[i + 2] : out.s[i - 2], before = i < 3 ? n.s[i + 1] : m.s[0];
        out.s[i] = (tl_a64_rotate(t, 15) ^ tl_a64_rotate(t, 13) ^ t >> 10) + d.s[i] + before;
    }
    tl_a64(h)->v[op->rd] = out;
    return true;
}

#endif
