// SPDX-License-Identifier: MIT
// Bodies of A. All of them go through the memory system, which knows lines, owners and
// reservations. Harts take turns, so the aq and rl bits have nothing to order.
#ifndef TL_ISA_RV_EXEC_A_H
#define TL_ISA_RV_EXEC_A_H

#include "isa/rv/exec_i.h"

#define W_VALUE(value) SEXT32(value)
#define D_VALUE(value) (value)
#define AMO_BODY(name, size_bytes, kind, old_value)       \
    EXEC_SLOW(name) {                                     \
        if (!h->port->amo(h, RS1, size_bytes, kind, RS2)) \
            return false;                                 \
        RD = old_value(h->mem_value);                     \
        return true;                                      \
    }
AMO_BODY(amoswap_w, 4, TL_AMO_SWAP, W_VALUE)
AMO_BODY(amoadd_w, 4, TL_AMO_ADD, W_VALUE)
AMO_BODY(amoxor_w, 4, TL_AMO_XOR, W_VALUE)
AMO_BODY(amoand_w, 4, TL_AMO_AND, W_VALUE)
AMO_BODY(amoor_w, 4, TL_AMO_OR, W_VALUE)
AMO_BODY(amomin_w, 4, TL_AMO_MIN, W_VALUE)
AMO_BODY(amomax_w, 4, TL_AMO_MAX, W_VALUE)
AMO_BODY(amominu_w, 4, TL_AMO_MINU, W_VALUE)
AMO_BODY(amomaxu_w, 4, TL_AMO_MAXU, W_VALUE)
AMO_BODY(amoswap_d, 8, TL_AMO_SWAP, D_VALUE)
AMO_BODY(amoadd_d, 8, TL_AMO_ADD, D_VALUE)
AMO_BODY(amoxor_d, 8, TL_AMO_XOR, D_VALUE)
AMO_BODY(amoand_d, 8, TL_AMO_AND, D_VALUE)
AMO_BODY(amoor_d, 8, TL_AMO_OR, D_VALUE)
AMO_BODY(amomin_d, 8, TL_AMO_MIN, D_VALUE)
AMO_BODY(amomax_d, 8, TL_AMO_MAX, D_VALUE)
AMO_BODY(amominu_d, 8, TL_AMO_MINU, D_VALUE)
AMO_BODY(amomaxu_d, 8, TL_AMO_MAXU, D_VALUE)

EXEC_SLOW(lr_w) {
    if (!h->port->load_reserved(h, RS1, 4))
        return false;
    RD = SEXT32(h->mem_value);
    return true;
}
EXEC_SLOW(lr_d) {
    if (!h->port->load_reserved(h, RS1, 8))
        return false;
    RD = h->mem_value;
    return true;
}
EXEC_SLOW(sc_w) {
    if (!h->port->store_conditional(h, RS1, 4, RS2))
        return false;
    RD = h->mem_value;
    return true;
}
EXEC_SLOW(sc_d) {
    if (!h->port->store_conditional(h, RS1, 8, RS2))
        return false;
    RD = h->mem_value;
    return true;
}

#endif
