// SPDX-License-Identifier: MIT
// The notation of instruction bodies.
//
//   EXEC(movz_x) { RD = ...; return true; }
//   EXEC_WX(adc, { RD = (T)(RN + RM + carry(h)); return true; })
//   TAKEN(b_cond) { return ...; }
//
// The full form, exec_movz_x(), calls the memory system when an access does not hit, and traps.
// With TL_EXEC_FAST defined before inclusion, the text becomes fast_movz_x(), which is inlined.
// Where exec_movz_x() would call the memory system or trap, fast_movz_x() returns false, without a
// side effect. The fast form of EXEC_SLOW bodies always returns false. With `is_miss` a fast form
// presumes that its access does not hit, and calls tl_a64_reach.
//
// EXEC_WX makes the bodies of two rows. In it T and S are the unsigned and the signed type of an
// operand, and BITS is its width. RD, RN, RM and RA are general registers; a result of 32 bits
// clears the upper half.
#ifndef TL_ISA_A64_EXEC_H
#define TL_ISA_A64_EXEC_H

#include "isa/a64/insn.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "guest memory is little-endian and is accessed as it is");

#define TL_BODY_PARAMS (__attribute__((unused)) tl_hart * h, __attribute__((unused)) const tl_op *op, __attribute__((unused)) uint64_t pc)
#ifdef TL_EXEC_FAST
#define BODY(name, h, op, pc) fast_##name(h, op, pc, false)
#define EXEC(name)                                                                                                        \
    static inline __attribute__((always_inline, unused)) bool fast_##name(                                                \
        __attribute__((unused)) tl_hart *h, __attribute__((unused)) const tl_op *op, __attribute__((unused)) uint64_t pc, \
        __attribute__((unused)) const bool is_miss)
#define EXEC_SLOW(name)          \
    EXEC(name) { return false; } \
    static __attribute__((unused)) bool exec_##name TL_BODY_PARAMS
#else
#define BODY(name, h, op, pc) exec_##name(h, op, pc)
#define EXEC(name) static __attribute__((unused)) bool exec_##name TL_BODY_PARAMS
#define EXEC_SLOW(name) EXEC(name)
#endif
#define TAKEN(name) \
    static __attribute__((unused)) bool taken_##name(__attribute__((unused)) const tl_hart *h, __attribute__((unused)) const tl_op *op)

#define TL_A64_TYPES(t, s, n)            \
    typedef __attribute__((unused)) t T; \
    typedef __attribute__((unused)) s S; \
    enum { BITS = n };
#define EXEC_WX(name, ...)                                                           \
    EXEC(name##_w){TL_A64_TYPES(uint32_t, int32_t, 32) __VA_ARGS__} EXEC(name##_x) { \
        TL_A64_TYPES(uint64_t, int64_t, 64)                                          \
        __VA_ARGS__                                                                  \
    }

#define RD tl_a64(h)->x[op->rd]
#define RN ((T)tl_a64(h)->x[op->rn])
#define RM ((T)tl_a64(h)->x[op->rm])
#define RA ((T)tl_a64(h)->x[op->ra])

// The address that translation sees, without its tag.
TL_ALWAYS_INLINE uint64_t tl_a64_untag(const tl_hart *h, uint64_t vaddr) {
    const bool is_upper = vaddr >> 55 & 1;
    if (TL_LIKELY(!(tl_a64(h)->sys.tagged >> is_upper & 1)))
        return vaddr;
    return is_upper ? vaddr | UINT64_C(0xff) << 56 : vaddr & UINT64_MAX >> 8;
}

// `n` accesses of size_bytes each that lie in one line and all hit, stamped as used one after the
// other; NULL: ask the full body.
TL_ALWAYS_INLINE uint8_t *tl_a64_hits(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint32_t n, tl_access access) {
    const tl_data_slot *slot = tl_data_slot_of(h, vaddr);
    const uint64_t tag = access == TL_ACCESS_STORE ? slot->write_tag : slot->read_tag;
    if (TL_UNLIKELY((vaddr & (h->line_mask | (size_bytes - 1))) != tag))
        return NULL;
    if (n > 1 && TL_UNLIKELY(((vaddr ^ (vaddr + (uint64_t)n * size_bytes - 1)) & h->line_mask) != 0))
        return NULL;
    const uint64_t stamp = h->stamp += n;
    h->stamps[slot->line_stamp] = stamp;
    h->stamps[slot->page_stamp] = stamp;
    uint8_t *host = (uint8_t *)(uintptr_t)(vaddr + slot->host_minus_vaddr);
    if (host == NULL)
        __builtin_unreachable(); // so that callers' checks cost nothing
    return host;
}

// false: the access must be aligned and is not; the full form records a trap.
TL_ALWAYS_INLINE bool tl_a64_is_aligned(tl_hart *h, uint64_t vaddr, uint32_t alignment, tl_access access) {
    if (TL_LIKELY((vaddr & (alignment - 1)) == 0 || !tl_a64(h)->sys.checks_alignment))
        return true;
#ifdef TL_EXEC_FAST
    (void)access;
    return false;
#else
    return tl_trap_fault(h, TL_FAULT_MISALIGNED, access, vaddr);
#endif
}

// Accesses that no slot shows. The address of a fault keeps its tag.
static inline bool tl_a64_load(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    const uint64_t plain = tl_a64_untag(h, vaddr);
    if (!tl_a64_is_aligned(h, vaddr, size_bytes, TL_ACCESS_LOAD))
        return false;
    if (TL_LIKELY(h->port->load(h, plain, size_bytes)))
        return true;
    h->trap_value ^= plain ^ vaddr;
    return false;
}
static inline bool tl_a64_store(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    const uint64_t plain = tl_a64_untag(h, vaddr);
    if (!tl_a64_is_aligned(h, vaddr, size_bytes, TL_ACCESS_STORE))
        return false;
    if (TL_LIKELY(h->port->store(h, plain, size_bytes, value)))
        return true;
    h->trap_value ^= plain ^ vaddr;
    return false;
}

// Bytes of an access, zero-extended.
TL_ALWAYS_INLINE bool tl_a64_read(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t *ret_value) {
    const uint8_t *bytes = tl_a64_hits(h, vaddr, size_bytes, 1, TL_ACCESS_LOAD);
    if (TL_LIKELY(bytes != NULL)) {
        uint64_t value = 0;
        memcpy(&value, bytes, size_bytes);
        *ret_value = value;
        return true;
    }
    if (!tl_a64_load(h, vaddr, size_bytes))
        return false;
    *ret_value = h->mem_value;
    return true;
}

TL_ALWAYS_INLINE bool tl_a64_write(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    uint8_t *bytes = tl_a64_hits(h, vaddr, size_bytes, 1, TL_ACCESS_STORE);
    if (TL_LIKELY(bytes != NULL)) {
        memcpy(bytes, &value, size_bytes);
        return true;
    }
    return tl_a64_store(h, vaddr, size_bytes, size_bytes == 8 ? value : tl_bits(value, 0, 8 * size_bytes & 63));
}

// One more access of an instruction that has done n_done others. Its look-ups are counted when it
// retires; if this one traps, those that are done have still happened. An instruction that has
// begun does not wait for other harts, because it would store twice when it is repeated.
TL_ALWAYS_INLINE bool tl_a64_read_more(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t *ret_value, uint64_t n_done) {
    const uint64_t first_until = h->first_until;
    h->first_until = n_done > 0 ? UINT64_MAX : first_until;
    const bool is_done = tl_a64_read(h, vaddr, size_bytes, ret_value);
    h->first_until = first_until;
    if (TL_UNLIKELY(!is_done)) {
        h->tally[TL_S_L1D_LOAD] += n_done;
        h->tally[TL_S_DTLB_ACCESS] += n_done;
    }
    return is_done;
}
TL_ALWAYS_INLINE bool tl_a64_write_more(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value, uint64_t n_done) {
    const uint64_t first_until = h->first_until;
    h->first_until = n_done > 0 ? UINT64_MAX : first_until;
    const bool is_done = tl_a64_write(h, vaddr, size_bytes, value);
    h->first_until = first_until;
    if (TL_UNLIKELY(!is_done)) {
        h->tally[TL_S_L1D_STORE] += n_done;
        h->tally[TL_S_DTLB_ACCESS] += n_done;
    }
    return is_done;
}

// `n` accesses, one behind the other. The values are in registers when all are done.
TL_ALWAYS_INLINE bool tl_a64_read_n(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint32_t n, uint64_t *ret_values) {
    for (uint32_t i = 0; i < n; i++)
        if (!tl_a64_read_more(h, vaddr + (uint64_t)i * size_bytes, size_bytes, &ret_values[i], i))
            return false;
    return true;
}
TL_ALWAYS_INLINE bool tl_a64_write_n(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint32_t n, const uint64_t *values) {
    for (uint32_t i = 0; i < n; i++)
        if (!tl_a64_write_more(h, vaddr + (uint64_t)i * size_bytes, size_bytes, values[i], i))
            return false;
    return true;
}

#ifndef TL_EXEC_FAST
#define READ_N(vaddr, size_bytes, n, ret_values) tl_a64_read_n(h, vaddr, size_bytes, n, ret_values)
#define WRITE_N(vaddr, size_bytes, n, values) tl_a64_write_n(h, vaddr, size_bytes, n, values)
#define READ(vaddr, size_bytes, ret_value) tl_a64_read(h, vaddr, size_bytes, ret_value)
#define WRITE(vaddr, size_bytes, value) tl_a64_write(h, vaddr, size_bytes, value)
#else
// Does the look-ups of tl_a64_hits for accesses that no slot shows, at the cycle of the operation.
// NULL: ask the full body, because nothing but perhaps a translation was done. The engine has it.
static uint8_t *tl_a64_reach(tl_hart *h, const tl_op *op, uint64_t vaddr, uint32_t size_bytes, uint32_t n, tl_access access);

// The fast forms do all accesses or none.
TL_ALWAYS_INLINE uint8_t *tl_a64_bytes(tl_hart *h, const tl_op *op, bool is_miss, uint64_t vaddr, uint32_t size_bytes, uint32_t n,
                                       tl_access access) {
    return is_miss ? tl_a64_reach(h, op, vaddr, size_bytes, n, access) : tl_a64_hits(h, vaddr, size_bytes, n, access);
}
TL_ALWAYS_INLINE bool tl_a64_read_fast(tl_hart *h, const tl_op *op, bool is_miss, uint64_t vaddr, uint32_t size_bytes, uint32_t n,
                                       uint64_t *ret_values) {
    const uint8_t *bytes = tl_a64_bytes(h, op, is_miss, vaddr, size_bytes, n, TL_ACCESS_LOAD);
    if (TL_UNLIKELY(bytes == NULL))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t value = 0; // a variable of its own stays in a register
        memcpy(&value, bytes + (size_t)i * size_bytes, size_bytes);
        ret_values[i] = value;
    }
    return true;
}
TL_ALWAYS_INLINE bool tl_a64_write_fast(tl_hart *h, const tl_op *op, bool is_miss, uint64_t vaddr, uint32_t size_bytes, uint32_t n,
                                        const uint64_t *values) {
    uint8_t *bytes = tl_a64_bytes(h, op, is_miss, vaddr, size_bytes, n, TL_ACCESS_STORE);
    if (TL_UNLIKELY(bytes == NULL))
        return false;
    for (uint32_t i = 0; i < n; i++)
        memcpy(bytes + (size_t)i * size_bytes, &values[i], size_bytes);
    return true;
}

#define READ_N(vaddr, size_bytes, n, ret_values) tl_a64_read_fast(h, op, is_miss, vaddr, size_bytes, n, ret_values)
#define WRITE_N(vaddr, size_bytes, n, values) tl_a64_write_fast(h, op, is_miss, vaddr, size_bytes, n, values)
#define READ(vaddr, size_bytes, ret_value) READ_N(vaddr, size_bytes, 1, ret_value)
#define WRITE(vaddr, size_bytes, value) WRITE_N(vaddr, size_bytes, 1, &(const uint64_t){value})
#endif

// Bit `nzcv` of an entry says whether the condition holds. AL and NV always hold.
static const uint16_t tl_a64_conds[16] = {0xf0f0, 0x0f0f, 0xcccc, 0x3333, 0xff00, 0x00ff, 0xaaaa, 0x5555,
                                          0x0c0c, 0xf3f3, 0xaa55, 0x55aa, 0x0a05, 0xf5fa, 0xffff, 0xffff};
TL_ALWAYS_INLINE bool tl_a64_holds(const tl_hart *h, uint32_t cond) { return tl_a64_conds[cond] >> tl_a64(h)->nzcv & 1; }

#endif
