// SPDX-License-Identifier: MIT
// FIPS 180-4, section 6.2; RFC 2104.
#include "sealed/hash.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static uint32_t big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void mix(tl_sha256 *hash, const uint8_t *block) {
    uint32_t w[64], s[8];
    for (unsigned t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (unsigned t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, hash->state, sizeof s);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]), majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t first = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + choice + constants[t] + w[t];
        uint32_t second = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += first;
        s[0] = first + second;
    }
    for (unsigned i = 0; i < 8; i++)
        hash->state[i] += s[i];
}

void tl_sha256_init(tl_sha256 *hash) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof start);
    hash->n_bytes = 0;
}

void tl_sha256_add(tl_sha256 *hash, const void *bytes, size_t n_bytes) {
    const uint8_t *at = bytes;
    while (n_bytes > 0) {
        size_t filled = (size_t)(hash->n_bytes % TL_SHA256_BLOCK_BYTES), part = TL_SHA256_BLOCK_BYTES - filled;
        part = part < n_bytes ? part : n_bytes;
        memcpy(hash->block + filled, at, part);
        hash->n_bytes += part;
        at += part;
        n_bytes -= part;
        if (filled + part == TL_SHA256_BLOCK_BYTES)
            mix(hash, hash->block);
    }
}

void tl_sha256_end(tl_sha256 *hash, uint8_t ret_digest[TL_SHA256_BYTES]) {
    static const uint8_t padding[TL_SHA256_BLOCK_BYTES] = {0x80};
    uint64_t n_bits = hash->n_bytes * 8;
    size_t filled = (size_t)(hash->n_bytes % TL_SHA256_BLOCK_BYTES);
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    tl_sha256_add(hash, padding, (filled < 56 ? 56 : 120) - filled);
    tl_sha256_add(hash, length, sizeof length);
    for (unsigned i = 0; i < TL_SHA256_BYTES; i++)
        ret_digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void tl_hmac_init(tl_hmac *mac, const uint8_t *key, size_t n_key) {
    uint8_t block[TL_SHA256_BLOCK_BYTES] = {0};
    if (n_key > sizeof block) {
        tl_sha256_init(&mac->inner);
        tl_sha256_add(&mac->inner, key, n_key);
        tl_sha256_end(&mac->inner, block);
    } else if (n_key > 0) {
        memcpy(block, key, n_key);
    }
    for (unsigned i = 0; i < sizeof block; i++)
        block[i] ^= 0x36;
    tl_sha256_init(&mac->inner);
    tl_sha256_add(&mac->inner, block, sizeof block);
    for (unsigned i = 0; i < sizeof block; i++)
        block[i] ^= 0x36 ^ 0x5c;
    tl_sha256_init(&mac->outer);
    tl_sha256_add(&mac->outer, block, sizeof block);
    tl_wipe(block, sizeof block);
}

void tl_hmac_add(tl_hmac *mac, const void *bytes, size_t n_bytes) { tl_sha256_add(&mac->inner, bytes, n_bytes); }

void tl_hmac_end(tl_hmac *mac, uint8_t ret_code[TL_SHA256_BYTES]) {
    uint8_t digest[TL_SHA256_BYTES];
    tl_sha256_end(&mac->inner, digest);
    tl_sha256_add(&mac->outer, digest, sizeof digest);
    tl_sha256_end(&mac->outer, ret_code);
    tl_wipe(mac, sizeof *mac);
}

bool tl_bytes_equal(const void *a, const void *b, size_t n_bytes) {
    const volatile uint8_t *first = a, *second = b;
    uint8_t differs = 0;
    for (size_t i = 0; i < n_bytes; i++)
        differs = (uint8_t)(differs | (first[i] ^ second[i]));
    return differs == 0;
}

void tl_wipe(void *secret, size_t n_bytes) {
    volatile uint8_t *at = secret;
    while (n_bytes-- > 0)
        *at++ = 0;
}
