// SPDX-License-Identifier: MIT
// Bodies of Zicsr, by its table of what reads and what writes: CSRRW with rd = x0 does not read,
// CSRRS and CSRRC do not write when their operand is x0 (or 0). It matters where an access has an
// effect: reads may take a datum out of a queue, a register may be read-only.
#ifndef TL_ISA_RV_EXEC_ZICSR_H
#define TL_ISA_RV_EXEC_ZICSR_H

#include "isa/rv/csr.h"
#include "isa/rv/exec_i.h"

// `value` may use `old`, which is 0 if nothing was read.
#define CSR_BODY(name, reads, writes, how, operand, value)     \
    EXEC_SLOW(name) {                                          \
        const uint32_t csr = (uint32_t)op->imm;                \
        uint64_t old = 0;                                      \
        if ((writes) && !tl_csr_permits(h, csr, how, operand)) \
            return tl_exec_illegal(h, op, TL_OPC_##name);      \
        if ((reads) && !tl_csr_read(h, csr, &old))             \
            return tl_exec_illegal(h, op, TL_OPC_##name);      \
        if (writes)                                            \
            tl_csr_set(h, csr, value);                         \
        RD = old;                                              \
        return true;                                           \
    }
#define HAS_RD (op->rd != 32) // writes of x0 go to x[32]
CSR_BODY(csrrw, HAS_RD, true, TL_REG_WRITE, RS1, RS1)
CSR_BODY(csrrs, true, op->rs1 != 0, TL_REG_SET, RS1, tl_csr_own(h, csr, old) | RS1)
CSR_BODY(csrrc, true, op->rs1 != 0, TL_REG_CLEAR, RS1, tl_csr_own(h, csr, old) & ~RS1)
CSR_BODY(csrrwi, HAS_RD, true, TL_REG_WRITE, op->rs1, op->rs1)
CSR_BODY(csrrsi, true, op->rs1 != 0, TL_REG_SET, op->rs1, tl_csr_own(h, csr, old) | op->rs1)
CSR_BODY(csrrci, true, op->rs1 != 0, TL_REG_CLEAR, op->rs1, tl_csr_own(h, csr, old) & ~(uint64_t)op->rs1)
#undef HAS_RD

#endif
