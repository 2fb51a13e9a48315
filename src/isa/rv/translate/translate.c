// SPDX-License-Identifier: MIT
// The translating front-end. Each block (block/block.h) becomes x86-64 code with the models inlined
// on their hit paths. Static counts and cycles come from the block. Instructions that do not hit
// call tl_block_execute at the exact cycle. The templates therefore add no rule of the model to
// block/ and model/. tests/contract/test_lockstep.c compares every tally.
//
// A block first runs as threaded code (block/threaded.c), because translation pays only for blocks
// that run often. Links and cells of the jump cache lead to translated blocks only. The entry of a
// stale block is replaced by a jump to the look-up. When code memory or the block store is full,
// all blocks are forgotten at once.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/block/contexts.h"
#include "isa/block/enter.h"
#include "isa/block/execute.h"
#include "isa/block/fold.h"
#include "isa/block/run.h"
#include "isa/block/stops.h"
#include "isa/block/store.h"
#include "isa/rv/block/row.h"
#include "isa/rv/block/threaded.h"
#include "isa/rv/translate/translator.h"
#include "model/code_log.h"

static void emit_insn(tl_translator *t, uint32_t k) {
    if (tl_changes_mode(t, t->block->opc[k]))
        tl_emit_change_of_mode(t, k);
    else if (!tl_emit_int(t, k) && !tl_emit_mem(t, k) && !tl_emit_fp(t, k) && !tl_emit_branch(t, k) && !tl_emit_csr(t, k))
        tl_emit_call(t, k);
}

// ---- one block ----

static x86_mem fetch_slot(const tl_translator *t, uint64_t vline, size_t field) {
    uint64_t index = t->block->view * TL_FETCH_SLOTS + ((vline >> t->store->hart->line_log2) & (TL_FETCH_SLOTS - 1));
    return at_base(RBX, (int64_t)(offsetof(tl_hart, fetch_slot) + index * sizeof(tl_fetch_slot) + field) - TL_HART_BIAS);
}

static void emit_slot_compare(tl_translator *t, uint64_t vline, uint64_t pline) {
    x86 *e = &t->e;
    for (uint32_t left = tl_times(t, TL_CODE_FETCH_LOOK_UP);;) {
        x86_mov_ri(e, RAX, tl_fetch_key(vline, pline - TL_RAM_BASE_PADDR));
        x86_cmp_rm(e, RAX, fetch_slot(t, vline, offsetof(tl_fetch_slot, key)));
        if (--left == 0)
            return;
        uint8_t *on = x86_jcc_short(e, CC_NE);
        x86_patch_short(on, e->at);
    }
}

static uint8_t *emit_slot_check(tl_translator *t, uint64_t vline, uint64_t pline) {
    emit_slot_compare(t, vline, pline);
    return x86_jcc(&t->e, CC_NE);
}

static void emit_horizon_compare(tl_translator *t) {
    x86_cmp_rm(&t->e, R13, t->block->is_private ? TL_HART(ahead_horizon) : TL_HART(fast_horizon));
}

static void emit_stamps(tl_translator *t, uint64_t vline) {
    x86 *e = &t->e;
    x86_inc_r(e, RBP);
    for (uint32_t i = 0; i < tl_times(t, TL_CODE_FETCH_USE); i++) {
        x86_load32(e, RCX, fetch_slot(t, vline, offsetof(tl_fetch_slot, line_stamp)));
        x86_store(e, at_index(R14, RCX, 3, 0), RBP);
        x86_load32(e, RCX, fetch_slot(t, vline, offsetof(tl_fetch_slot, page_stamp)));
        x86_store(e, at_index(R14, RCX, 3, 0), RBP);
    }
}

// In dense code, emit_entry for a block of one line. Both failures share one long jump, which
// stands before the entry. Returns that jump.
static uint8_t *emit_dense_entry(tl_translator *t) {
    x86 *e = &t->e;
    tl_block *block = t->block;
    const uint8_t *fails = e->at;
    uint8_t *failed = x86_jmp(e);
    block->code = tl_exec_of(t, e->at);
    emit_horizon_compare(t);
    x86_patch_short(x86_jcc_short(e, CC_AE), fails);
    emit_slot_compare(t, block->vline, block->pline);
    x86_patch_short(x86_jcc_short(e, CC_NE), fails);
    emit_stamps(t, block->vline);
    return failed;
}

// Emits the proof that this block may run, as in block/threaded.c enter(). No block is entered at a
// breakpoint, so none is translated there. Returns the number of jumps to the failure path.
static uint32_t emit_entry(tl_translator *t, uint8_t *failed[8]) {
    x86 *e = &t->e;
    const tl_block *block = t->block;
    uint32_t n = 0;
    uint64_t second = block->vline + (~t->store->hart->line_mask + 1);
    emit_horizon_compare(t);
    failed[n++] = x86_jcc(e, CC_AE);
    failed[n++] = emit_slot_check(t, block->vline, block->pline);
    if (block->is_straddling) {
        failed[n++] = emit_slot_check(t, second, block->pline2);
        // Lines are checked one by one, but this block stands on two.
        x86_load32(e, RAX, TL_HART(code_generation));
        x86_mov_ri(e, RCX, (uintptr_t)&block->generation);
        x86_cmp32_rm(e, RAX, at_base(RCX, 0));
        failed[n++] = x86_jcc(e, CC_NE);
    }
    if (block->has_fp) {
        x86_cmp8_mi(e, TL_HART(is_fp_off), 0);
        failed[n++] = x86_jcc(e, CC_NE);
    }
    emit_stamps(t, block->vline);
    if (block->is_straddling)
        emit_stamps(t, second);
    return n;
}

// Names the two parts of the new block for profilers of the host. starts: the code of each
// instruction.
static TL_NOINLINE void publish(const tl_translator *t, const uint8_t *cold, uint8_t *const *starts, uint32_t n) {
    const tl_block *block = t->block;
    const tl_hart *h = t->store->hart;
    const uint8_t *hot = t->hot; // moves later
    tl_code_line lines[TL_CODE_MAX_LINES];
    for (uint32_t k = 0; k < n; k++)
        lines[k] = (tl_code_line){.offset_bytes = (uint32_t)(starts[k] - hot), .pc = block->pc + block->ops[k].offset};
    const tl_code_piece straight = {
        .code = tl_exec_of(t, hot), .n_bytes = (uint64_t)(t->other - hot), .pc = block->pc, .lines = lines, .n_lines = n};
    const tl_code_piece off = {.code = tl_exec_of(t, cold), .n_bytes = (uint64_t)(t->e.at - cold), .pc = block->pc, .is_cold = true};
    h->code_log->publish(h->code_log, h, &straight);
    h->code_log->publish(h->code_log, h, &off);
}

static void translate(tl_blocks *store, tl_block *block) {
    tl_translator *t = store->translator;
    t->store = store;
    t->block = block;
    t->e = (x86){.at = t->hot, .exec_minus_write = t->exec - t->write};
    t->other = t->cold;
    t->is_dense = t->hot - t->first_hot >= store->hart->config->sparse_code_bytes;
    x86 *e = &t->e;

    uint8_t *failed[8];
    uint32_t n_failed = 1;
    bool has_near = !block->is_straddling && !block->has_fp;
    if (!has_near) { // the link has counted a look-up
        block->near = tl_exec_of(t, e->at);
        x86_dec_r(e, RBP);
    }
    if (has_near && t->is_dense) {
        failed[0] = emit_dense_entry(t);
    } else {
        block->code = tl_exec_of(t, e->at);
        n_failed = emit_entry(t, failed);
    }
    block->start = tl_exec_of(t, e->at);
    if (has_near)
        block->near = block->start;
    tl_emit_count(t, block->count, RCX);
    if (TL_UNLIKELY(tl_blocks_sink(store) != NULL))
        tl_emit_context(t);
    x86_add_ri(e, R13, (int32_t)block->cycles);
    x86_paddq_ra(e, XMM7, t->small_numbers + 16 * block->n_insns);
    block->body = tl_exec_of(t, e->at);

    bool is_ended = false;
    uint8_t *starts[TL_CODE_MAX_LINES];
    uint32_t n_starts = 0;
    for (uint32_t k = 0; k < block->n_insns; k++) {
        if (k > 0 && tl_blocks_stops_at(store, block, k)) {
            x86_mov_ri(e, RAX, (uintptr_t)block);
            x86_mov_ri(e, RDX, k);
            x86_jmp_to(e, t->stop_thunk);
            is_ended = true;
            break;
        }
        starts[n_starts++] = e->at;
        emit_insn(t, k);
        if (tl_changes_mode(t, block->opc[k])) {
            is_ended = true;
            break;
        }
        if (block->opc[k] == TL_OPC_mret || block->opc[k] == TL_OPC_sret) {
            x86_load(e, RAX, TL_HART(pc));
            x86_mov_ri(e, RDX, (uintptr_t)block->exit_pend);
            x86_jmp_to(e, t->indirect_thunk);
            is_ended = true;
            break;
        }
        tl_class cls = (tl_class)tl_insn_rows[block->opc[k]].cls;
        is_ended = block->opc[k] != TL_OPC_ILLEGAL && (cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL || cls == TL_CLASS_JALR);
    }
    if (!is_ended)
        tl_emit_link(t, block->end_pc);

    tl_emit_elsewhere(t);
    for (uint32_t i = 0; i < n_failed; i++)
        x86_patch(failed[i], e->at);
    x86_mov_ri(e, RAX, (uintptr_t)block);
    if (block->has_fp) {
        x86_jmp_to(e, t->again_thunk);
    } else {
        x86_mov_ri(e, RDX, block->pc);
        x86_call_to(e, t->fetch_thunk);
        x86_jmp_to(e, tl_written_of(t, block->start));
    }
    if (store->hart->code_log)
        publish(t, t->cold, starts, n_starts);
    t->cold = e->at;
    t->hot = t->is_dense ? t->other : (uint8_t *)tl_align_up((uintptr_t)t->other, 16);
}

// ---- the run time ----

static void prepare(tl_blocks *store, tl_block *block) {
    const tl_translator *t = store->translator;
    tl_threaded_prepare(store, block);
    block->code = tl_exec_of(t, t->cold_thunk);
    block->n_cold_runs = store->hart->config->n_cold_runs;
}

static bool is_full(const tl_translator *t) {
    return t->hot + TL_BLOCK_ROOM_BYTES > t->write + t->hot_bytes || t->cold + TL_BLOCK_ROOM_BYTES > t->write + t->code_bytes;
}

// Threaded code is about to run a block.
static bool heat(tl_blocks *store, tl_block *block) {
    tl_translator *t = store->translator;
    tl_hart *h = store->hart;
    if (!block->body) {
        if (block->n_cold_runs > 0) {
            block->n_cold_runs -= 1;
            return false;
        }
        if (is_full(t)) {
            tl_blocks_flush_soon(store);
            return false;
        }
        h->host_phase = TL_HOST_BUILDING;
        translate(store, block);
    }
    t->target = block->body;
    return true;
}

// Returns the address to go on at. Translated code returns to run_mixed for untranslated blocks.
static void *go_on_at(tl_translator *t, tl_block *block) {
    if (block && block->body)
        return block->start;
    t->cold_block = block;
    return tl_exec_of(t, t->exit_thunk);
}

// Called from the end of a block that has no link to pc yet. Patches the displacement at `site`
// into a link.
static void *enter_by_link(tl_blocks *store, uintptr_t pc, uintptr_t site, uintptr_t block_left) {
    tl_translator *t = store->translator;
    const tl_block *from = (const tl_block *)block_left;
    bool is_near = tl_link_is_near(t, from, pc);
    uint64_t n_flushes = store->n_flushes;
    store->hart->pend = from->exit_pend;
    tl_block *block = tl_blocks_enter(store, pc, &store->nowhere);
    if (block && block->body && store->n_flushes == n_flushes)
        x86_patch((uint8_t *)site, tl_written_of(t, is_near ? block->near : block->code));
    return go_on_at(t, block);
}

// Called from a block that no fetch slot proves.
static void *enter_again(tl_blocks *store, uintptr_t a, uintptr_t unused_b, uintptr_t unused_c) {
    (void)unused_b, (void)unused_c;
    tl_block *block = (tl_block *)a;
    store->hart->pend = block->in;
    return go_on_at(store->translator, tl_blocks_enter(store, block->pc, block));
}

// Called from a block's fetch miss, for blocks that tl_blocks_reenter takes. NULL: continue after
// the call.
static void *enter_fetched(tl_blocks *store, uintptr_t a, uintptr_t pc, uintptr_t unused) {
    (void)unused;
    tl_block *block = (tl_block *)a;
    uint64_t n_flushes = store->n_flushes;
    store->hart->pend = block->in;
    tl_block *entered = tl_blocks_reenter(store, block, pc);
    if (TL_LIKELY(entered == block && store->n_flushes == n_flushes))
        return NULL;
    return go_on_at(store->translator, entered);
}

static void *enter_fetched_booked(tl_blocks *store, uintptr_t a, uintptr_t pc, uintptr_t unused) {
    (void)unused;
    tl_block *block = (tl_block *)a;
    uint64_t n_flushes = store->n_flushes;
    store->hart->pend = block->in;
    tl_block *entered = tl_blocks_reenter_booked(store, block, pc);
    if (TL_LIKELY(entered == block && store->n_flushes == n_flushes))
        return NULL;
    return go_on_at(store->translator, entered);
}

// Called from an indirect jump or a return from a trap.
static void *enter_indirect(tl_blocks *store, uintptr_t pc, uintptr_t pend, uintptr_t unused) {
    (void)unused;
    store->hart->pend = (const tl_pend *)pend;
    return go_on_at(store->translator, tl_blocks_enter_cell(store, pc));
}

// Called from an indirect jump whose cell names an untranslated block.
static void *enter_cold(tl_blocks *store, uintptr_t pc, uintptr_t unused_b, uintptr_t unused_c) {
    (void)unused_b, (void)unused_c;
    store->hart->pend = tl_blocks_cell(store, pc)->in;
    return go_on_at(store->translator, tl_blocks_enter_cell(store, pc));
}

// Called at an instruction that traps.
static void *enter_handler(tl_blocks *store, uintptr_t a, uintptr_t k, uintptr_t unused) {
    (void)unused;
    (void)tl_block_execute(store, (tl_block *)a, (uint32_t)k);
    const bool is_taken = store->hart->takes_traps && tl_blocks_take_trap(store);
    return go_on_at(store->translator, is_taken ? tl_blocks_enter_cell(store, store->hart->pc) : NULL);
}

// Called at a return from a trap.
static void *enter_returned(tl_blocks *store, uintptr_t a, uintptr_t k, uintptr_t unused) {
    (void)unused;
    tl_block *block = (tl_block *)a;
    if (!tl_block_execute(store, block, (uint32_t)k))
        return go_on_at(store->translator, NULL);
    store->hart->pend = block->exit_pend;
    return go_on_at(store->translator, tl_blocks_enter_cell(store, store->hart->pc));
}

static void run_mixed(tl_blocks *store) {
    tl_translator *t = store->translator;
    tl_hart *h = store->hart;
    tl_block *block = store->is_waiting ? store->under_way : tl_blocks_enter_cell(store, h->pc);
    while (block) {
        t->target = block->body && !store->is_waiting ? block->start : NULL;
        if (!t->target) {
            h->host_phase = TL_HOST_THREADED;
            if (store->is_waiting)
                tl_threaded_resume(store);
            else
                tl_threaded_run(store, block);
        }
        if (!t->target)
            return;
        h->host_phase = TL_HOST_RUNNING;
        t->cold_block = NULL;
        t->run(h, t->target);
        block = t->cold_block;
    }
}

static const tl_enters enters = {
    .link = enter_by_link,
    .indirect = enter_indirect,
    .again = enter_again,
    .fetch = enter_fetched,
    .fetch_booked = enter_fetched_booked,
    .cold = enter_cold,
    .handler = enter_handler,
    .returned = enter_returned,
};

static void forget(tl_blocks *store) {
    tl_translator *t = store->translator;
    if (!t)
        return;
    if (TL_UNLIKELY(t->is_booked != (store->attribution != NULL)))
        tl_code_thunks(t, &enters);
    t->hot = t->first_hot;
    t->cold = t->write + t->hot_bytes;
}

static void stale(tl_blocks *store, tl_block *block) {
    tl_translator *t = store->translator;
    if (!block->body)
        return;
    void *entries[] = {block->near, block->code};
    // An entry before `code` falls into it.
    for (int i = block->near == block->start ? 0 : 1; i < 2; i++) {
        x86 e = {.at = tl_written_of(t, entries[i])};
        if (i == 0)
            x86_dec_r(&e, RBP); // the link has counted a look-up
        x86_mov_ri(&e, RAX, (uintptr_t)block);
        // Takes at most 3 + 10 + 5 bytes, less than between the entries and less than what follows.
        x86_jmp_to(&e, t->again_thunk);
    }
}

static const tl_blocks_type translate_type = {
    .isa = &tl_rv_block_isa, .prepare = prepare, .run = run_mixed, .forget = forget, .heat = heat, .stale = stale};

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    tl_translator *t = tl_arena_alloc(arena, sizeof *t);
    if (!t)
        return tl_fail(err, TL_ENOMEM, "no memory for the tl_translator");
    t->code_bytes = h->config->code_cache_bytes;
    t->hot_bytes = tl_align_down(t->code_bytes / 24 * 13, 64);
    if (!tl_code_map(t))
        return tl_fail(err, TL_EACCESS, "the host grants no memory for translated code; use --engine interp");
    tl_status status = tl_blocks_attach(h, &translate_type, arena, err);
    if (status != TL_OK) {
        tl_code_unmap(t);
        return status;
    }
    t->has_fma = __builtin_cpu_supports("fma");
    t->store = h->engine_state;
    tl_code_thunks(t, &enters);
    ((tl_blocks *)h->engine_state)->translator = t;
    h->host_code = t->exec;
    h->host_code_bytes = t->code_bytes;
    return TL_OK;
}

static void detach(tl_hart *h) {
    tl_blocks *store = h->engine_state;
    if (!store)
        return;
    tl_translator *t = store->translator;
    tl_code_unmap(t);
    tl_blocks_detach(store);
    h->engine_state = NULL;
}

static void fold(tl_hart *h) { tl_blocks_sync(h->engine_state); }

const tl_engine_type tl_engine_translate = {
    .name = "translate",
    .title = "x86-64 code with the models inlined",
    .attach = attach,
    .detach = detach,
    .isa = &tl_isa_rv64,
    .run = tl_blocks_run,
    .sync = fold,
    .overshoot_cycles = tl_blocks_overshoot_cycles,
    .hand_over = tl_blocks_hand_over,
};

#endif
