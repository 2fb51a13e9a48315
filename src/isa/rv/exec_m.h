// SPDX-License-Identifier: MIT
// Bodies of M. Division by zero gives all ones and the dividend; overflow gives the dividend and 0
// (unprivileged manual, M, table 11).
#ifndef TL_ISA_RV_EXEC_M_H
#define TL_ISA_RV_EXEC_M_H

#include "isa/rv/exec_i.h"

__extension__ typedef __int128 tl_int128;
__extension__ typedef unsigned __int128 tl_uint128;

BODY(mul, RS1 *RS2)
BODY(mulh, (uint64_t)(((tl_int128)(int64_t)RS1 * (int64_t)RS2) >> 64))
BODY(mulhsu, (uint64_t)(((tl_int128)(int64_t)RS1 * (tl_int128)RS2) >> 64))
BODY(mulhu, (uint64_t)(((tl_uint128)RS1 * RS2) >> 64))
BODY(mulw, SEXT32(RS1 *RS2))

// The quotient by -1 is written as a negation: the host's own division traps on overflow.
EXEC(div) {
    const int64_t a = (int64_t)RS1, b = (int64_t)RS2;
    RD = TL_UNLIKELY(b == 0) ? UINT64_MAX : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
    return true;
}
EXEC(divu) {
    const uint64_t a = RS1, b = RS2;
    RD = TL_UNLIKELY(b == 0) ? UINT64_MAX : a / b;
    return true;
}
EXEC(rem) {
    const int64_t a = (int64_t)RS1, b = (int64_t)RS2;
    RD = TL_UNLIKELY(b == 0) ? (uint64_t)a : b == -1 ? 0 : (uint64_t)(a % b);
    return true;
}
EXEC(remu) {
    const uint64_t a = RS1, b = RS2;
    RD = TL_UNLIKELY(b == 0) ? a : a % b;
    return true;
}
EXEC(divw) {
    const int32_t a = (int32_t)RS1, b = (int32_t)RS2;
    RD = TL_UNLIKELY(b == 0) ? UINT64_MAX : SEXT32((int64_t)a / b);
    return true;
}
EXEC(divuw) {
    const uint32_t a = (uint32_t)RS1, b = (uint32_t)RS2;
    RD = TL_UNLIKELY(b == 0) ? UINT64_MAX : SEXT32(a / b);
    return true;
}
EXEC(remw) {
    const int32_t a = (int32_t)RS1, b = (int32_t)RS2;
    RD = TL_UNLIKELY(b == 0) ? SEXT32(a) : SEXT32((int64_t)a % b);
    return true;
}
EXEC(remuw) {
    const uint32_t a = (uint32_t)RS1, b = (uint32_t)RS2;
    RD = TL_UNLIKELY(b == 0) ? SEXT32(a) : SEXT32(a % b);
    return true;
}

#endif
