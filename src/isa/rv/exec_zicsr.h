// SPDX-License-Identifier: MIT
// Bodies of Zicsr. CSRRS and CSRRC write only when their operand is not x0 (or 0), so that read-only registers can be read.
#ifndef TL_ISA_RV_EXEC_ZICSR_H
#define TL_ISA_RV_EXEC_ZICSR_H

#include "isa/rv/csr.h"
#include "isa/rv/exec_i.h"

// `value` may use `old`.
#define CSR_BODY(name, writes, value)                                              \
    EXEC_SLOW(name) {                                                              \
        const uint32_t csr = (uint32_t)op->imm;                                    \
        uint64_t old;                                                              \
        if (((writes) && !tl_csr_may_write(h, csr)) || !tl_csr_read(h, csr, &old)) \
            return tl_exec_illegal(h, op, TL_OPC_##name);                          \
        if (writes)                                                                \
            tl_csr_write(h, csr, value);                                           \
        RD = old;                                                                  \
        return true;                                                               \
    }
CSR_BODY(csrrw, true, RS1)
CSR_BODY(csrrs, op->rs1 != 0, tl_csr_own(h, csr, old) | RS1)
CSR_BODY(csrrc, op->rs1 != 0, tl_csr_own(h, csr, old) & ~RS1)
CSR_BODY(csrrwi, true, op->rs1)
CSR_BODY(csrrsi, op->rs1 != 0, tl_csr_own(h, csr, old) | op->rs1)
CSR_BODY(csrrci, op->rs1 != 0, tl_csr_own(h, csr, old) & ~(uint64_t)op->rs1)

#endif
