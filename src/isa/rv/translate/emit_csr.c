// SPDX-License-Identifier: MIT
// Accesses of control and status registers that are plain words (isa/rv/csr.h), and of sstatus.
// Kernels make several in each trap.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/csr.h"
#include "isa/rv/translate/translator.h"

typedef struct access {
    const tl_op *op;
    bool is_immediate, is_move, is_clear, writes;
} access;

static access access_of(const tl_op *op, uint16_t opc) {
    const bool is_immediate = opc == TL_OPC_csrrwi || opc == TL_OPC_csrrsi || opc == TL_OPC_csrrci;
    const bool is_move = opc == TL_OPC_csrrw || opc == TL_OPC_csrrwi, is_clear = opc == TL_OPC_csrrc || opc == TL_OPC_csrrci;
    return (access){op, is_immediate, is_move, is_clear, is_move || op->rs1 != 0};
}

// rcx = the value that the access of a register with the value rax writes
static void emit_value(tl_translator *t, const access *a) {
    x86 *e = &t->e;
    if (a->is_immediate)
        x86_mov_ri(e, RCX, a->op->rs1);
    else
        tl_reg_load(t, RCX, a->op->rs1);
    if (a->is_clear) {
        x86_not_r(e, RCX);
        x86_op_rr(e, true, X_AND, RCX, RAX);
    } else if (!a->is_move) {
        x86_or_rr(e, RCX, RAX);
    }
}

static void emit_word(tl_translator *t, const access *a, const tl_csr_word *word) {
    const x86_mem at = at_base(RBX, (int64_t)word->offset_bytes - TL_HART_BIAS);
    x86_load(&t->e, RAX, at);
    if (a->writes) {
        emit_value(t, a);
        assert(fits_s32((int64_t)word->mask));
        if (word->mask != UINT64_MAX)
            x86_op_ri(&t->e, true, X_AND, RCX, (int32_t)word->mask);
        x86_store(&t->e, at, RCX);
    }
    tl_reg_set(t, a->op->rd, RAX);
}

// rcx = the new status. FS has the values off and dirty, as in set_mstatus of isa/rv/csr.c.
static void emit_fp_state(tl_translator *t) {
    x86 *e = &t->e;
    x86_mov_rr(e, RDX, RCX);
    x86_op_ri(e, true, X_AND, RDX, (int32_t)TL_MSTATUS_FS);
    x86_set_r(e, CC_E, RDX);
    x86_store8(e, TL_HART(is_fp_off), RDX);
    uint8_t *is_off = x86_jcc(e, CC_E);
    x86_op_ri(e, true, X_OR, RCX, (int32_t)TL_MSTATUS_FS);
    x86_patch(is_off, e->at);
}

// A write is slow if it changes rights, or if an interrupt waits that it may let in. Returns the
// number of jumps to the slow path.
static uint32_t emit_sstatus(tl_translator *t, const access *a, uint8_t **slow) {
    x86 *e = &t->e;
    uint32_t n = 0;
    const x86_mem at = TL_RV_HART(csr.mstatus);
    x86_load(e, RAX, at);
    if (a->writes) {
        emit_value(t, a);
        x86_op_rr(e, true, X_XOR, RCX, RAX);
        x86_op_ri(e, true, X_AND, RCX, (int32_t)TL_SSTATUS_WRITABLE); // the bits that change
        x86_mov_rr(e, RDX, RCX);
        x86_op_ri(e, true, X_AND, RDX, (int32_t)(TL_MSTATUS_SUM | TL_MSTATUS_MXR));
        slow[n++] = x86_jcc(e, CC_NE);
        x86_load(e, RDX, TL_HART(irqs_pending));
        x86_op_rm(e, true, X_OR, RDX, TL_HART(irq_lines));
        x86_op_rm(e, true, X_AND, RDX, TL_HART(irqs_enabled));
        slow[n++] = x86_jcc(e, CC_NE);
        x86_op_rr(e, true, X_XOR, RCX, RAX);
        if (a->is_move || !a->is_immediate) // else FS stays
            emit_fp_state(t);
        x86_store(e, at, RCX);
    }
    if (a->op->rd < 32) {
        x86_mov_ri(e, RCX, TL_SSTATUS_WRITABLE | TL_MSTATUS_UXL);
        x86_op_rr(e, true, X_AND, RAX, RCX);
        x86_mov_rr(e, RCX, RAX); // SD, because FS is off or dirty
        x86_op_ri(e, true, X_AND, RCX, 1 << TL_MSTATUS_FS_LSB);
        x86_shift_ri(e, true, X_SHL, RCX, 63 - TL_MSTATUS_FS_LSB);
        x86_or_rr(e, RAX, RCX);
        tl_reg_set(t, a->op->rd, RAX);
    }
    return n;
}

bool tl_emit_csr(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    const uint16_t opc = t->block->opc[k];
    const uint32_t csr = (uint32_t)op->imm;
    tl_csr_word word;
    if (tl_insn_rows[opc].cls != TL_CLASS_CSR)
        return false;
    const bool is_word = tl_csr_word_of(csr, &word);
    if (!is_word && csr != TL_CSR_SSTATUS)
        return false;
    const access a = access_of(op, opc);
    uint8_t *slow[3];
    uint32_t n = 0;
    // A block is not tied to a privilege mode. An access from too low a mode traps.
    x86_op_mi(&t->e, false, X_CMP, TL_HART(priv), (int32_t)tl_csr_lowest_priv(csr));
    slow[n++] = x86_jcc(&t->e, CC_B);
    if (is_word)
        emit_word(t, &a, &word);
    else
        n += emit_sstatus(t, &a, slow + n);
    tl_emit_slow(t, k, slow, n);
    return true;
}

#endif
