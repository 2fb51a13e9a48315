// SPDX-License-Identifier: MIT
// Bodies of RV64I and Zifencei. Jumps are the front-ends' own; see exec.h for the notation.
#ifndef TL_ISA_RV_EXEC_I_H
#define TL_ISA_RV_EXEC_I_H

#include "isa/rv/exec.h"
#include "isa/rv/regime.h"

#define RD tl_rv(h)->x[op->rd]
#define RS1 tl_rv(h)->x[op->rs1]
#define RS2 tl_rv(h)->x[op->rs2]
#define IMM ((uint64_t)(int64_t)op->imm)
#define SEXT32(value) ((uint64_t)(int64_t)(int32_t)(uint32_t)(value))
#define BODY(name, value) \
    EXEC(name) {          \
        RD = (value);     \
        return true;      \
    }

BODY(lui, IMM)
BODY(auipc, pc + IMM)
BODY(addi, RS1 + IMM)
BODY(slti, (int64_t)RS1 < (int64_t)IMM)
BODY(sltiu, RS1 < IMM)
BODY(xori, RS1 ^ IMM)
BODY(ori, RS1 | IMM)
BODY(andi, RS1 &IMM)
BODY(slli, RS1 << op->imm)
BODY(srli, RS1 >> op->imm)
BODY(srai, (uint64_t)((int64_t)RS1 >> op->imm))
BODY(addiw, SEXT32(RS1 + IMM))
BODY(slliw, SEXT32(RS1 << op->imm))
BODY(srliw, SEXT32((uint32_t)RS1 >> op->imm))
BODY(sraiw, SEXT32((int32_t)RS1 >> op->imm))
BODY(add, RS1 + RS2)
BODY(sub, RS1 - RS2)
BODY(sll, RS1 << (RS2 & 63))
BODY(slt, (int64_t)RS1 < (int64_t)RS2)
BODY(sltu, RS1 < RS2)
BODY(xor, RS1 ^ RS2)
BODY(srl, RS1 >> (RS2 & 63))
BODY(sra, (uint64_t)((int64_t)RS1 >> (RS2 & 63)))
BODY(or, RS1 | RS2)
BODY(and, RS1 &RS2)
BODY(addw, SEXT32(RS1 + RS2))
BODY(subw, SEXT32(RS1 - RS2))
BODY(sllw, SEXT32(RS1 << (RS2 & 31)))
BODY(srlw, SEXT32((uint32_t)RS1 >> (RS2 & 31)))
BODY(sraw, SEXT32((int32_t)RS1 >> (RS2 & 31)))

TAKEN(beq) { return RS1 == RS2; }
TAKEN(bne) { return RS1 != RS2; }
TAKEN(blt) { return (int64_t)RS1 < (int64_t)RS2; }
TAKEN(bge) { return (int64_t)RS1 >= (int64_t)RS2; }
TAKEN(bltu) { return RS1 < RS2; }
TAKEN(bgeu) { return RS1 >= RS2; }

#define LOAD_BODY(name, type)                                               \
    EXEC(name) {                                                            \
        uint64_t value;                                                     \
        if (TL_UNLIKELY(!tl_exec_read(h, RS1 + IMM, sizeof(type), &value))) \
            return false;                                                   \
        RD = (uint64_t)(int64_t)(type)value;                                \
        return true;                                                        \
    }
LOAD_BODY(lb, int8_t)
LOAD_BODY(lh, int16_t)
LOAD_BODY(lw, int32_t)
LOAD_BODY(ld, int64_t)
LOAD_BODY(lbu, uint8_t)
LOAD_BODY(lhu, uint16_t)
LOAD_BODY(lwu, uint32_t)

EXEC(sb) { return tl_exec_write(h, RS1 + IMM, 1, RS2); }
EXEC(sh) { return tl_exec_write(h, RS1 + IMM, 2, RS2); }
EXEC(sw) { return tl_exec_write(h, RS1 + IMM, 4, RS2); }
EXEC(sd) { return tl_exec_write(h, RS1 + IMM, 8, RS2); }

EXEC(fence) { return true; } // harts take turns, so memory is always in order

EXEC_SLOW(fence_i) {
    h->port->drop_code(h);
    return true;
}
EXEC_SLOW(ecall) { return tl_trap(h, TL_CAUSE_ECALL_U + h->priv, 0); }
EXEC_SLOW(ebreak) { return tl_trap(h, TL_CAUSE_BREAKPOINT, pc); }

// Returns from traps (privileged manual, sec. 3.1.6.1, 3.3.2). h->pc says where to; the mode
// changes when the instruction has been counted.
EXEC_SLOW(mret) {
    uint64_t old = tl_rv(h)->csr.mstatus, status = old;
    if (!h->is_privileged || h->priv != TL_PRIV_M)
        return tl_exec_illegal(h, op, TL_OPC_mret);
    h->new_priv = (tl_priv)(old >> 11 & 3);
    status &= ~(TL_MSTATUS_MIE | TL_MSTATUS_MPP);
    status |= (old & TL_MSTATUS_MPIE ? TL_MSTATUS_MIE : 0) | TL_MSTATUS_MPIE;
    if (h->new_priv != TL_PRIV_M)
        status &= ~TL_MSTATUS_MPRV;
    tl_rv(h)->csr.mstatus = status;
    tl_rv_status_changed(h, old);
    h->pc = tl_rv(h)->csr.mepc;
    return h->changes_priv = h->has_after = true;
}
EXEC_SLOW(sret) {
    uint64_t old = tl_rv(h)->csr.mstatus, status = old;
    if (!h->is_privileged || h->priv == TL_PRIV_U || (h->priv == TL_PRIV_S && (old & TL_MSTATUS_TSR)))
        return tl_exec_illegal(h, op, TL_OPC_sret);
    h->new_priv = old & TL_MSTATUS_SPP ? TL_PRIV_S : TL_PRIV_U;
    status &= ~(TL_MSTATUS_SIE | TL_MSTATUS_SPP | TL_MSTATUS_MPRV);
    status |= (old & TL_MSTATUS_SPIE ? TL_MSTATUS_SIE : 0) | TL_MSTATUS_SPIE;
    tl_rv(h)->csr.mstatus = status;
    tl_rv_status_changed(h, old);
    h->pc = tl_rv(h)->csr.sepc;
    return h->changes_priv = h->has_after = true;
}
// Sec. 3.3.3. In user mode it would not end in bounded time, so it is illegal there.
EXEC_SLOW(wfi) {
    if (!h->is_privileged || h->priv == TL_PRIV_U || (h->priv == TL_PRIV_S && (tl_rv(h)->csr.mstatus & TL_MSTATUS_TW)))
        return tl_exec_illegal(h, op, TL_OPC_wfi);
    if (tl_hart_pending(h) == 0) { // else it is a no-operation: what is pending but masked stays so
        h->is_waiting = true;
        tl_hart_stop_soon(h);
    }
    return true;
}
EXEC_SLOW(sfence_vma) {
    if (!h->is_privileged || h->priv == TL_PRIV_U || (h->priv == TL_PRIV_S && (tl_rv(h)->csr.mstatus & TL_MSTATUS_TVM)))
        return tl_exec_illegal(h, op, TL_OPC_sfence_vma);
    // TLBs have no ASIDs, so rs2 does not matter.
    h->port->flush_translation(h, op->rs1 == 0 ? 0 : RS1, op->rs1 == 0);
    return true;
}

#endif
