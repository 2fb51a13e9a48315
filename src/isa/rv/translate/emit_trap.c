// SPDX-License-Identifier: MIT
// Changes of the privilege mode in line: ECALL of a program that supervisor mode handles, and SRET.
// Templates do what isa/rv/privileged.c and the bodies do where nobody is told of the change and
// no right changes. The next block comes from the jump cache of the new mode. Other traps and
// returns call C.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/block/fold.h"
#include "isa/rv/translate/translator.h"

_Static_assert((int)TL_VIEW_U == (int)TL_PRIV_U && (int)TL_VIEW_S == (int)TL_PRIV_S, "the view of a block names its mode");

static bool is_return(uint16_t opc) { return opc == TL_OPC_mret || opc == TL_OPC_sret; }

bool tl_changes_mode(const tl_translator *t, uint16_t opc) {
    return !t->is_booked && t->store->hart->is_privileged && (opc == TL_OPC_ecall || is_return(opc));
}

// Flag z: no interrupt waits, nobody is told of changes of the mode, and no PMU watches. Spends rax
// and rcx.
static void emit_unwatched_thunk(tl_translator *t) {
    x86 *e = &t->e;
    uint8_t *watched[4];
    t->unwatched_thunk = e->at;
    x86_load(e, RAX, TL_HART(irqs_pending));
    x86_op_rm(e, true, X_OR, RAX, TL_HART(irq_lines));
    x86_op_rm(e, true, X_AND, RAX, TL_HART(irqs_enabled));
    watched[0] = x86_jcc(e, CC_NE);
    x86_cmp_mi(e, TL_HART(notice), 0);
    watched[1] = x86_jcc(e, CC_NE);
    x86_load32(e, RCX, TL_HART(n_pmus));
    const uint8_t *next = e->at;
    x86_sub32_ri(e, RCX, 1);
    uint8_t *none_left = x86_jcc(e, CC_B);
    x86_load(e, RAX, at_index(RBX, RCX, 3, (int64_t)offsetof(tl_hart, pmus) - TL_HART_BIAS));
    x86_cmp8_mi(e, at_base(RAX, offsetof(tl_pmu_port, is_quiet)), true);
    watched[2] = x86_jcc(e, CC_NE);
    x86_cmp8_mi(e, at_base(RAX, offsetof(tl_pmu_port, needs_modes)), false);
    watched[3] = x86_jcc(e, CC_NE);
    x86_jmp_to(e, next);
    x86_patch(none_left, e->at);
    x86_zero_r(e, RAX);
    for (uint32_t i = 0; i < TL_COUNT_OF(watched); i++)
        x86_patch(watched[i], e->at);
    x86_ret(e);
}

// Adds what `clock` has grown since `start` to the sum of the mode that ends. rax = the clock.
// Spends rcx.
static void emit_sum(tl_translator *t, size_t start, size_t sum) {
    x86 *e = &t->e;
    x86_mov_rr(e, RCX, RAX);
    x86_op_rm(e, true, X_SUB, RCX, at_base(RBX, (int64_t)start - TL_HART_BIAS));
    x86_op_mr(e, true, X_ADD, at_base(RBX, (int64_t)sum - TL_HART_BIAS), RCX);
    x86_store(e, at_base(RBX, (int64_t)start - TL_HART_BIAS), RAX);
}

// As tl_hart_set_priv. hart->instret is current. Spends rax and rcx.
static void emit_set_priv(tl_translator *t, uint32_t from, uint32_t to) {
    x86 *e = &t->e;
    x86_mov_rr(e, RAX, R13);
    x86_op_rm(e, true, X_SUB, RAX, TL_HART(idle_cycles));
    emit_sum(t, offsetof(tl_hart, mode_start_cycle), offsetof(tl_hart, mode_cycles[from]));
    x86_load(e, RAX, TL_HART(instret));
    emit_sum(t, offsetof(tl_hart, mode_start_insn), offsetof(tl_hart, mode_insns[from]));
    x86_mov_ri(e, RAX, to);
    x86_store32(e, TL_HART(priv), RAX);
    x86_store32(e, TL_HART(view), RAX);
}

// Goes on at the block for rax = pc and rdx = results in flight.
static void emit_go_on(tl_translator *t, uint32_t view) {
    x86 *e = &t->e;
    uint8_t *miss[2];
    tl_emit_cell(t, view, miss);
    x86_jmp_m(e, at_base(RCX, offsetof(tl_jump_cell, code)));
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    x86_jmp_to(e, t->indirect_thunk);
}

// rax = the status without `cleared`, and with the bit `to` as the bit `from` was. rcx = the status
// before.
static void emit_status(tl_translator *t, uint64_t cleared, uint64_t from, uint64_t to) {
    x86 *e = &t->e;
    const int up = __builtin_ctzll(to) - __builtin_ctzll(from);
    x86_load(e, RCX, TL_RV_HART(csr.mstatus));
    x86_mov_rr(e, RAX, RCX);
    x86_and_ri(e, RAX, (int32_t) ~(uint32_t)(cleared | to));
    x86_and32_ri(e, RCX, (int32_t)from);
    x86_shift_ri(e, false, up > 0 ? X_SHL : X_SHR, RCX, (unsigned)(up > 0 ? up : -up));
    x86_or_rr(e, RAX, RCX);
}

// As tl_take_exception and its `enter`. The ECALL is out of the clock and the tallies, but not yet
// out of xmm7.
static void emit_call_thunk(tl_translator *t) {
    x86 *e = &t->e;
    const uint32_t cycles = t->store->hart->config->pipeline.trap_cycles;
    t->ecall_thunk = e->at;
    x86_store(e, TL_RV_HART(csr.sepc), RCX);
    x86_store_i(e, TL_RV_HART(csr.scause), TL_CAUSE_ECALL_U);
    x86_store_i(e, TL_RV_HART(csr.stval), 0);
    x86_store_i(e, TL_HART(reservation_paddr), (int32_t)TL_NO_LINE);
    emit_status(t, TL_MSTATUS_SIE | TL_MSTATUS_SPP, TL_MSTATUS_SIE, TL_MSTATUS_SPIE);
    x86_store(e, TL_RV_HART(csr.mstatus), RAX);
    x86_load(e, RAX, TL_HART(tally));
    x86_inc_m(e, at_base(RAX, 8 * TL_S_HART_EXCEPTION));
    x86_inc_m(e, at_base(RAX, 8 * TL_S_HART_EXC_ECALL));
    x86_inc_m(e, at_base(RAX, 8 * TL_S_HART_FLUSH_OTHER));
    x86_add_mi(e, at_base(RAX, 8 * TL_S_HART_CYC_TRAP), (int32_t)cycles);
    x86_movq_store(e, TL_HART(instret), XMM7);
    x86_add_mi(e, TL_HART(instret), -1);
    x86_movq_load(e, XMM7, TL_HART(instret));
    emit_set_priv(t, TL_VIEW_U, TL_VIEW_S);
    x86_add_ri(e, R13, (int32_t)cycles);
    x86_load(e, RAX, TL_RV_HART(csr.stvec));
    x86_and_ri(e, RAX, ~3);
    x86_zero_r(e, RDX);
    emit_go_on(t, TL_VIEW_S);
}

static void emit_return_to(tl_translator *t, uint32_t view) {
    x86 *e = &t->e;
    emit_status(t, TL_MSTATUS_SPP, TL_MSTATUS_SPIE, TL_MSTATUS_SIE);
    x86_or_ri(e, RAX, (int32_t)TL_MSTATUS_SPIE);
    x86_store(e, TL_RV_HART(csr.mstatus), RAX);
    emit_set_priv(t, TL_VIEW_S, view);
    x86_load(e, RAX, TL_RV_HART(csr.sepc));
    emit_go_on(t, view);
}

// As the body of SRET and tl_hart_retired. rdx is kept for the next block.
static void emit_sret_thunk(tl_translator *t) {
    x86 *e = &t->e;
    t->sret_thunk = e->at;
    x86_movq_store(e, TL_HART(instret), XMM7);
    x86_load(e, RCX, TL_RV_HART(csr.mstatus));
    x86_and32_ri(e, RCX, (int32_t)TL_MSTATUS_SPP);
    uint8_t *to_supervisor = x86_jcc(e, CC_NE);
    emit_return_to(t, TL_VIEW_U);
    x86_patch(to_supervisor, e->at);
    emit_return_to(t, TL_VIEW_S);
}

void tl_emit_trap_thunks(tl_translator *t) {
    emit_unwatched_thunk(t);
    emit_call_thunk(t);
    emit_sret_thunk(t);
}

static uint32_t emit_unwatched(tl_translator *t, uint8_t **slow) {
    x86_call_to(&t->e, t->unwatched_thunk);
    *slow = x86_jcc(&t->e, CC_NE);
    return 1;
}

// An ECALL of a program. It does not retire, so what it counted with the block is taken back.
static uint32_t emit_ecall(tl_translator *t, uint32_t k, uint8_t **slow) {
    x86 *e = &t->e;
    const tl_block *block = t->block;
    tl_static_count rest[TL_MAX_BLOCK_STATICS];
    uint32_t n = 0;
    assert(k + 1 == block->n_insns);
    x86_cmp8_mi(e, TL_HART(takes_traps), false);
    slow[n++] = x86_jcc(e, CC_E);
    x86_load(e, RAX, TL_RV_HART(csr.medeleg));
    x86_and32_ri(e, RAX, 1 << TL_CAUSE_ECALL_U);
    slow[n++] = x86_jcc(e, CC_E);
    n += emit_unwatched(t, slow + n);
    x86_load(e, RAX, TL_HART(tally));
    for (uint32_t i = tl_block_list_rest(t->store, block, k, true, rest); i-- > 0;)
        x86_add_mi(e, at_base(RAX, 8 * (int64_t)rest[i].cell), -(int32_t)rest[i].amount);
    x86_sub_ri(e, R13, (int32_t)(block->cycles - block->before[k]));
    x86_mov_ri(e, RCX, block->pc + block->offset[k]);
    x86_jmp_to(e, t->ecall_thunk);
    return n;
}

// An SRET of supervisor mode. MPRV is set by machine mode only, and its end changes rights.
static uint32_t emit_sret(tl_translator *t, uint8_t **slow) {
    x86 *e = &t->e;
    uint32_t n = 0;
    x86_load(e, RAX, TL_RV_HART(csr.mstatus));
    x86_and32_ri(e, RAX, (int32_t)(TL_MSTATUS_TSR | TL_MSTATUS_MPRV));
    slow[n++] = x86_jcc(e, CC_NE);
    n += emit_unwatched(t, slow + n);
    x86_mov_ri(e, RDX, (uintptr_t)t->block->exit_pend);
    x86_jmp_to(e, t->sret_thunk);
    return n;
}

void tl_emit_change_of_mode(tl_translator *t, uint32_t k) {
    x86 *e = &t->e;
    const uint16_t opc = t->block->opc[k];
    uint8_t *slow[3];
    uint32_t n = 0;
    if (opc == TL_OPC_ecall && t->block->view == TL_VIEW_U)
        n = emit_ecall(t, k, slow);
    else if (opc == TL_OPC_sret && t->block->view == TL_VIEW_S)
        n = emit_sret(t, slow);
    if (n > 0)
        tl_emit_elsewhere(t);
    for (uint32_t i = 0; i < n; i++)
        x86_patch(slow[i], e->at);
    x86_mov_ri(e, RAX, (uintptr_t)t->block);
    x86_mov_ri(e, RDX, k);
    x86_jmp_to(e, is_return(opc) ? t->trap_return_thunk : t->trap_thunk);
    if (n > 0)
        tl_emit_elsewhere(t);
}

#endif
