// SPDX-License-Identifier: MIT
// The notation of instruction bodies, and the two forms they compile to.
//
//   EXEC(add) { h->x[op->rd] = h->x[op->rs1] + h->x[op->rs2]; return true; }
//   TAKEN(beq) { return h->x[op->rs1] == h->x[op->rs2]; }
//
// The full form, exec_add(), calls the memory system when an access does not hit. exec_add() also
// traps, and does floating point that the host cannot do. false: a trap was recorded. With
// TL_EXEC_FAST defined before inclusion, the text becomes fast_add(), which is inlined. Where
// exec_add() would call a function, fast_add() returns false, without a side effect. The hot path
// of fast_add() has no call, so a front-end of tail calls keeps its registers. The fast form of
// EXEC_SLOW bodies always returns false, because they have no hot path.
#ifndef TL_ISA_RV_EXEC_H
#define TL_ISA_RV_EXEC_H

#include "isa/rv/fp.h"
#include "isa/rv/insn.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "guest memory is little-endian and is accessed as it is");

#define TL_BODY(name) static inline __attribute__((always_inline, unused)) bool name
#define TL_BODY_PARAMS (__attribute__((unused)) tl_hart * h, __attribute__((unused)) const tl_op *op, __attribute__((unused)) uint64_t pc)

#ifdef TL_EXEC_FAST
#define EXEC(name) TL_BODY(fast_##name) TL_BODY_PARAMS
#define EXEC_SLOW(name)                                   \
    TL_BODY(fast_##name) TL_BODY_PARAMS { return false; } \
    TL_BODY(exec_##name) TL_BODY_PARAMS
#else
#define EXEC(name) static __attribute__((unused)) bool exec_##name TL_BODY_PARAMS
#define EXEC_SLOW(name) EXEC(name)
#endif
#define TAKEN(name) TL_BODY(taken_##name)(__attribute__((unused)) const tl_hart *h, __attribute__((unused)) const tl_op *op)

// Bytes of an access, zero-extended. The compiler sees through *ret_value: it stays in a register.
TL_ALWAYS_INLINE bool tl_exec_read(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t *ret_value) {
    const uint8_t *bytes = tl_read_hit(h, vaddr, size_bytes);
    if (TL_LIKELY(bytes != NULL)) {
        uint64_t value = 0;
        memcpy(&value, bytes, size_bytes);
        *ret_value = value;
        return true;
    }
#ifdef TL_EXEC_FAST
    return false;
#else
    if (!h->port->load(h, vaddr, size_bytes))
        return false;
    *ret_value = h->mem_value;
    return true;
#endif
}

TL_ALWAYS_INLINE bool tl_exec_write(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    uint8_t *bytes = tl_write_hit(h, vaddr, size_bytes);
    if (TL_LIKELY(bytes != NULL)) {
        memcpy(bytes, &value, size_bytes);
        return true;
    }
#ifdef TL_EXEC_FAST
    return false;
#else
    return h->port->store(h, vaddr, size_bytes, size_bytes == 8 ? value : tl_bits(value, 0, 8 * size_bytes & 63));
#endif
}

// Illegal-instruction trap of a body that knows its own row: the trap value is the instruction's
// bits.
bool tl_exec_illegal(tl_hart *h, const tl_op *op, tl_opc opc);

#endif
