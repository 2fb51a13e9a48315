// SPDX-License-Identifier: MIT
// The memory of translated code. The memory is mapped twice, once to write and once to execute,
// because no page may be both. The thunks between translated code and C stand at its beginning.
#if defined(__x86_64__) && defined(__linux__)

#include <sys/mman.h>
#include <unistd.h>

#include "isa/block/execute.h"
#include "isa/rv/translate/translator.h"
#include "model/attribution.h"

bool tl_code_map(tl_translator *t) {
    int fd = memfd_create("tally code", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    void *write = MAP_FAILED, *exec = MAP_FAILED;
    if (ftruncate(fd, (off_t)t->code_bytes) == 0) {
        write = mmap(NULL, t->code_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        exec = mmap(NULL, t->code_bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (write != MAP_FAILED && exec != MAP_FAILED) {
        t->write = write;
        t->exec = exec;
        return true;
    }
    if (write != MAP_FAILED)
        munmap(write, t->code_bytes);
    if (exec != MAP_FAILED)
        munmap(exec, t->code_bytes);
    return false;
}

void tl_code_unmap(tl_translator *t) {
    munmap(t->write, t->code_bytes);
    munmap(t->exec, t->code_bytes);
}

// Every thunk saves these vectors before it calls C, because C code may clobber them.
static void spill_vectors(tl_translator *t) {
    x86_movq_store(&t->e, TL_HART(instret), XMM7);
    x86_movaps_store(&t->e, TL_HART(bp.counts), XMM6);
}

static void reload_vectors(tl_translator *t) {
    x86_movq_load(&t->e, XMM7, TL_HART(instret));
    x86_movaps_load(&t->e, XMM6, TL_HART(bp.counts));
}

static void spill(tl_translator *t) {
    tl_reg_spill(t);
    x86_store(&t->e, TL_HART(now), R13);
    x86_store(&t->e, TL_HART(stamp), RBP);
    spill_vectors(t);
}

static void reload(tl_translator *t) {
    x86_load(&t->e, R13, TL_HART(now));
    x86_load(&t->e, RBP, TL_HART(stamp));
    reload_vectors(t);
    tl_reg_reload(t);
}

// function(store, rax, rdx, rcx)
static void emit_call_of_store(tl_translator *t, uintptr_t function) {
    x86 *e = &t->e;
    spill(t);
    x86_load(e, RDI, TL_HART(engine_state));
    x86_mov_rr(e, RSI, RAX);
    x86_call_c(e, function);
    reload(t);
}

// A thunk that is jumped to with arguments in rax, rdx, rcx. Goes on at the address that the
// function returns.
static uint8_t *emit_enter(tl_translator *t, tl_enter_fn *function) {
    x86 *e = &t->e;
    uint8_t *thunk = e->at;
    emit_call_of_store(t, (uintptr_t)function);
    x86_jmp_r(e, RAX);
    return thunk;
}

// A thunk that is called. NULL from the function: the thunk returns to the caller. The host
// predicts this return, but not the jump of emit_enter.
static uint8_t *emit_enter_call(tl_translator *t, tl_enter_fn *function) {
    x86 *e = &t->e;
    uint8_t *thunk = e->at;
    x86_sub_ri(e, RSP, 8);
    emit_call_of_store(t, (uintptr_t)function);
    x86_add_ri(e, RSP, 8);
    x86_test_rr(e, true, RAX, RAX);
    uint8_t *elsewhere = x86_jcc(e, CC_NE);
    x86_ret(e);
    x86_patch(elsewhere, e->at);
    x86_add_ri(e, RSP, 8); // the return address
    x86_jmp_r(e, RAX);
    return thunk;
}

static uint8_t *emit_slow(tl_translator *t) {
    x86 *e = &t->e;
    uint8_t *thunk = e->at;
    x86_sub_ri(e, RSP, 8);
    emit_call_of_store(t, t->is_booked ? (uintptr_t)tl_block_execute_booked : (uintptr_t)tl_block_execute);
    x86_add_ri(e, RSP, 8);
    x86_test8_rr(e, RAX, RAX);
    uint8_t *trapped = x86_jcc(e, CC_E);
    x86_ret(e);
    x86_patch(trapped, e->at);
    x86_add_ri(e, RSP, 8); // the return address
    x86_jmp_to(e, t->exit_thunk);
    return thunk;
}

static bool execute_at(tl_blocks *store, uintptr_t block_at, uint32_t k) {
    return tl_block_execute(store, (tl_block *)(void *)(store->memory + block_at), k);
}

static bool execute_booked_at(tl_blocks *store, uintptr_t block_at, uint32_t k) {
    return tl_block_execute_booked(store, (tl_block *)(void *)(store->memory + block_at), k);
}

static void line_lost_at(tl_blocks *store, uintptr_t block_at) {
    tl_block_line_lost(store, (const tl_block *)(void *)(store->memory + block_at));
}

static void own_at(tl_blocks *store, uintptr_t block_at, uint32_t k) {
    const tl_block *block = (const tl_block *)(void *)(store->memory + block_at);
    tl_attribution_own_access(store->hart, block->pc + block->offset[k]);
}

enum { PAD = 0, WORD = 8, BLOCK = 16, FRAME = 24 }; // of a reach thunk, on the stack

static void emit_insn_number(tl_translator *t) { // edx = k
    x86_load32(&t->e, RDX, at_base(RSP, WORD));
    x86_shr32_ri(&t->e, RDX, TL_REACH_INSN_SHIFT);
    x86_and32_ri(&t->e, RDX, (1 << (TL_REACH_REST_SHIFT - TL_REACH_INSN_SHIFT)) - 1);
}

// In a reach thunk, whose registers are spilled: its access owns what is counted next. Keeps rax
// and ecx.
static void emit_own(tl_translator *t) {
    x86 *e = &t->e;
    x86_store(e, at_base(RSP, PAD), RAX);
    x86_load(e, RDI, TL_HART(engine_state));
    x86_load(e, RSI, at_base(RSP, BLOCK));
    emit_insn_number(t);
    x86_call_c(e, (uintptr_t)own_at);
    x86_load(e, RAX, at_base(RSP, PAD));
    x86_load32(e, RCX, at_base(RSP, WORD));
}

// A thunk for an access that missed its data slot. Calls tl_mem_port.reach_load or reach_store at
// the cycle of the access. Spills only registers that C may clobber. Does not update instret,
// because the callee does not read it. NULL from the port: the thunk calls tl_block_execute. It
// then returns five bytes later, after a jump.
static uint8_t *emit_reach(tl_translator *t, size_t reach_at) {
    x86 *e = &t->e;
    uint8_t *back = e->at; // common end of both paths
    tl_reg_reload_lost(t);
    reload_vectors(t);
    x86_load32(e, R13, at_base(RSP, WORD));
    x86_shr32_ri(e, R13, TL_REACH_REST_SHIFT);
    x86_add_rm(e, R13, TL_HART(now));
    uint8_t *slow = e->at;
    spill(t);
    x86_load(e, RDI, TL_HART(engine_state));
    x86_load(e, RSI, at_base(RSP, BLOCK));
    emit_insn_number(t);
    x86_call_c(e, t->is_booked ? (uintptr_t)execute_booked_at : (uintptr_t)execute_at);
    reload(t);
    x86_add_ri(e, RSP, FRAME);
    x86_test8_rr(e, RAX, RAX);
    uint8_t *trapped = x86_jcc(e, CC_E);
    x86_add_mi(e, at_base(RSP, 0), 5);
    x86_ret(e);
    x86_patch(trapped, e->at);
    x86_add_ri(e, RSP, 8); // the return address
    x86_jmp_to(e, t->exit_thunk);

    uint8_t *lost = e->at;
    x86_store(e, at_base(RSP, PAD), RAX);
    x86_load(e, RDI, TL_HART(engine_state));
    x86_load(e, RSI, at_base(RSP, BLOCK));
    x86_call_c(e, (uintptr_t)line_lost_at);
    x86_load(e, RAX, at_base(RSP, PAD));
    uint8_t *after = x86_jmp(e);

    uint8_t *thunk = e->at;
    x86_push_r(e, RDX);
    x86_push_r(e, RCX);
    x86_sub_ri(e, RSP, 8);
    x86_cmp8_mi(e, TL_HART(has_slow_watch), 0);
    x86_patch(x86_jcc(e, CC_NE), slow);
    tl_reg_spill_lost(t);
    x86_store(e, TL_HART(stamp), RBP);
    spill_vectors(t);
    if (t->is_booked)
        emit_own(t);
    x86_zext32_rr(e, RDX, RCX);
    x86_and32_ri(e, RDX, 7);
    x86_shr32_ri(e, RCX, TL_REACH_REST_SHIFT);
    x86_sub_rr(e, R13, RCX);
    x86_store(e, TL_HART(now), R13);
    x86_lea(e, RDI, at_base(RBX, -TL_HART_BIAS));
    x86_mov_rr(e, RSI, RAX);
    x86_load(e, RAX, TL_HART(port));
    x86_call_m(e, at_base(RAX, (int64_t)reach_at));
    x86_test_rr(e, true, RAX, RAX);
    x86_patch(x86_jcc(e, CC_E), back);
    x86_cmp8_mi(e, TL_HART(has_lost_fetch), 0);
    x86_patch(x86_jcc(e, CC_NE), lost);
    x86_patch(after, e->at);
    x86_load32(e, R13, at_base(RSP, WORD));
    x86_shr32_ri(e, R13, TL_REACH_REST_SHIFT);
    x86_add_rm(e, R13, TL_HART(now));
    x86_load(e, RBP, TL_HART(stamp));
    reload_vectors(t);
    tl_reg_reload_lost(t);
    x86_add_ri(e, RSP, FRAME);
    x86_ret(e);
    return thunk;
}

static uint8_t *emit_body(tl_translator *t) {
    x86 *e = &t->e;
    uint8_t *thunk = e->at;
    x86_sub_ri(e, RSP, 8);
    spill(t);
    x86_lea(e, RDI, at_base(RBX, -TL_HART_BIAS));
    x86_mov_rr(e, RSI, RAX);
    x86_call_r(e, RCX);
    reload(t);
    x86_add_ri(e, RSP, 8);
    x86_test8_rr(e, RAX, RAX);
    x86_ret(e);
    return thunk;
}

static uint8_t *emit_call(tl_translator *t) {
    x86 *e = &t->e;
    uint8_t *thunk = e->at;
    x86_push_r(e, RAX);
    spill(t);
    x86_lea(e, RDI, at_base(RBX, -TL_HART_BIAS));
    x86_mov_rr(e, RSI, RDX);
    x86_mov_rr(e, RDX, RAX);
    x86_call_r(e, RCX);
    reload(t);
    x86_pop_r(e, RAX);
    x86_ret(e);
    return thunk;
}

void tl_code_thunks(tl_translator *t, const tl_enters *enters) {
    t->is_booked = t->store->attribution != NULL;
    static const uint8_t saved[] = {RBX, RBP, R12, R13, R14, R15};
    t->e = (x86){.at = t->write, .exec_minus_write = t->exec - t->write};
    x86 *e = &t->e;
    void *run = tl_exec_of(t, e->at);
    memcpy(&t->run, &run, sizeof run);
    for (uint32_t i = 0; i < TL_COUNT_OF(saved); i++)
        x86_push_r(e, saved[i]);
    x86_sub_ri(e, RSP, 8);
    x86_mov_rr(e, RAX, RSI);
    x86_lea(e, RBX, at_base(RDI, TL_HART_BIAS));
    x86_load(e, R14, TL_HART(stamps));
    reload(t);
    x86_jmp_r(e, RAX);

    t->exit_thunk = e->at; // memory is current, because every jump here follows a call of C code
    x86_add_ri(e, RSP, 8);
    for (uint32_t i = TL_COUNT_OF(saved); i-- > 0;)
        x86_pop_r(e, saved[i]);
    x86_ret(e);

    t->slow_thunk = emit_slow(t);
    t->reach_thunks[false] = emit_reach(t, offsetof(tl_mem_port, reach_load));
    t->reach_thunks[true] = emit_reach(t, offsetof(tl_mem_port, reach_store));
    t->body_thunk = emit_body(t);
    t->call_thunk = emit_call(t);
    t->stop_thunk = e->at;
    spill(t);
    x86_load(e, RDI, TL_HART(engine_state));
    x86_mov_rr(e, RSI, RAX);
    x86_call_c(e, (uintptr_t)tl_block_stop_before);
    x86_jmp_to(e, t->exit_thunk);
    t->link_thunk = emit_enter(t, enters->link);
    t->indirect_thunk = emit_enter(t, enters->indirect);
    t->again_thunk = emit_enter(t, enters->again);
    t->cold_thunk = emit_enter(t, enters->cold);
    t->trap_thunk = emit_enter(t, enters->handler);
    t->trap_return_thunk = emit_enter(t, enters->returned);
    t->fetch_thunk = emit_enter_call(t, t->is_booked ? enters->fetch_booked : enters->fetch);
    tl_emit_transfer_thunks(t);
    tl_emit_trap_thunks(t);
    e->at = (uint8_t *)tl_align_up((uintptr_t)e->at, 16);
    t->small_numbers = tl_exec_of(t, e->at);
    for (uint64_t i = 0; i <= TL_MAX_BLOCK_INSNS; i++) {
        x86_u64(e, i);
        x86_u64(e, 0);
    }
    t->first_hot = t->hot = (uint8_t *)tl_align_up((uintptr_t)e->at, 16);
    t->cold = t->write + t->hot_bytes;
}

#endif
