// SPDX-License-Identifier: MIT
// The clock of an out-of-order core: in each cycle mispredicted paths are taken back, a store
// drains, instructions retire, uops are dispatched, renamed, fetched. The order of these steps is
// that of the pipeline from its end, so that nothing passes two stages in one cycle.
#include "timing/ooo/ooo.h"

#include <string.h>

TL_ALWAYS_INLINE void charge(tl_core *core, uint32_t cell, uint64_t cycles) { core->h->tally[cell] += cycles; }

// ---- Fetch.

static void fetch_alone(tl_core *core, uint64_t pc, tl_class cls) {
    core->is_alone = true;
    core->alone_pc = pc;
    core->alone_class = cls;
}

static void fetch_from(tl_core *core, uint64_t pc, uint32_t cause) {
    core->fetch_pc = pc;
    core->fetch_until = core->h->now;
    core->front_cause = cause;
    core->is_alone = core->waits_for_target = false;
    if (core->shared->traces)
        trace_redirect(core);
}

// Where fetch goes on behind a control transfer.
static prediction predict(tl_core *core, uint32_t entry) {
    const tl_flow_insn *insn = &core->insn[entry];
    const prediction is = predictor_predict(&core->predictor, insn, &core->before[entry]);
    if (insn->pipe.cls == TL_CLASS_BRANCH) {
        core->tally[CORE_COND_LOOKUP] += 1;
        core->tally[CORE_COND_TAKEN] += is.is_taken;
    } else if (insn->pipe.cls == TL_CLASS_JAL) {
        core->tally[CORE_DIRECT_LOOKUP] += 1;
    } else {
        core->tally[insn->is_return ? CORE_RETURN_LOOKUP : CORE_INDIRECT_LOOKUP] += 1;
    }
    core->tally[CORE_BTB_MISS] += is.misses_btb;
    return is;
}

// The line is looked up unless a fetch run goes on.
TL_ALWAYS_INLINE tl_flow_result fetch_untraced(tl_core *core, uint32_t entry, uint64_t *ret_cycles) {
    port_call call;
    uint64_t translation;
    core->isa_flow->is_traced = false;
    port_call_begin(core, &call);
    const tl_flow_result result = core->fetch_flow->fetch(core->fetch_flow, entry, core->fetch_pc, &core->insn[entry]);
    const uint64_t cycles = port_call_end(core, &call, &translation);
    if (cycles > 0)
        core->front_cause = translation > cycles - translation ? TL_S_HART_CYC_ITLB : TL_S_HART_CYC_FETCH;
    *ret_cycles = cycles;
    return result;
}

// Fetches one instruction. false: it was the last one of this cycle. *n_taken: control transfers.
// is_traced: from the trace cache.
TL_ALWAYS_INLINE bool fetch_one(tl_core *core, bool is_traced, uint32_t *n_taken, uint32_t *n_fetched) {
    tl_hart *h = core->h;
    const uint32_t entry = entry_of(core, core->fetched);
    const uint64_t pc = core->fetch_pc, now = h->now;
    tl_flow_insn *insn = &core->insn[entry];
    uint64_t cycles = 0;
    core->isa_flow->is_traced = is_traced;
    tl_flow_result result = is_traced ? core->fetch_flow->fetch(core->fetch_flow, entry, pc, insn) : TL_FLOW_UNTRACED;
    if (result == TL_FLOW_UNTRACED)
        result = fetch_untraced(core, entry, &cycles);
    core->fetch_until = now + cycles;
    if (result == TL_FLOW_ALONE) {
        fetch_alone(core, pc, (tl_class)insn->pipe.cls);
        return false;
    }
    core->fetched += 1;
    *n_fetched += 1;
    core->issue[entry] = core->first_issue[insn->timing];
    core->arrives[entry] = now + cycles + core->config->front_cycles;
    core->late_cause[entry] = (uint16_t)core->front_cause;
    core->front_cause = TL_S_HART_CYC_FETCH;
    const prediction is = is_control(insn) ? predict(core, entry) : (prediction){.next_pc = insn->next_pc};
    core->is_mispredicted[entry] = is.next_pc != insn->next_pc;
    core->is_redirected[entry] = is.misses_btb;
    if (is.next_pc == NEVER) {
        core->waits_for_target = true;
        core->front_cause = TL_S_HART_CYC_TARGET;
        return false;
    }
    core->fetch_pc = is.next_pc;
    if (is.misses_btb) {
        core->fetch_until = now + cycles + 1 + core->latency->redirect_cycles;
        core->front_cause = TL_S_HART_CYC_REDIRECT;
        return false;
    }
    *n_taken += is.is_taken;
    return cycles == 0;
}

// How many instructions may still be fetched.
static uint32_t front_room(const tl_core *core) {
    const uint64_t front = core->front_capacity - (core->fetched - core->renamed), ring = core->ring - (core->fetched - core->retired);
    return (uint32_t)tl_lesser(front, ring);
}

// Of a core with a trace cache. A line is delivered in one go or in several cycles; a cycle
// delivers or builds.
static bool fetch_traced(tl_core *core) {
    uint32_t n = 0, n_taken = 0, n_fetched = 0, n_traced = 0, width = core->config->fetch_width;
    bool goes_on = true, has_delivered = false;
    const uint32_t room = front_room(core);
    width = width < room ? width : room;
    if (TL_UNLIKELY(core->owner_tap != NULL))
        tap_own_fetch(core->owner_tap);
    while (goes_on && n < width) {
        const trace_mode mode = trace_next(core, core->fetch_pc, n == 0);
        if (mode == TRACE_WAITS && n == 0) {
            core->tally[CORE_TRACE_WAIT] += 1;
            core->fetch_until = core->trace.line_until;
        }
        if (mode == TRACE_WAITS)
            break;
        if (mode == TRACE_BUILDS)
            width = core->config->build_width < room ? core->config->build_width : room;
        const uint32_t entry = entry_of(core, core->fetched), n_before = n_fetched;
        goes_on = mode == TRACE_DELIVERS ? fetch_one(core, true, &n_taken, &n_fetched)
                                         : fetch_one(core, false, &n_taken, &n_fetched) && n_taken < core->config->fetch_taken;
        n += 1;
        has_delivered = mode == TRACE_DELIVERS;
        if (n_fetched == n_before)
            break;
        if (mode == TRACE_BUILDS) {
            trace_build(core, &core->insn[entry]);
        } else {
            core->trace.n_left -= 1;
            n_traced += 1;
        }
    }
    core->tally[CORE_FETCH_INSN] += n_fetched;
    core->tally[CORE_TRACE_INSN] += n_traced;
    core->tally[CORE_TRACE_CYCLE] += has_delivered;
    core->isa_flow->is_traced = false;
    return n > 0;
}

static bool fetch_group(tl_core *core) {
    uint32_t n = 0, n_taken = 0, n_fetched = 0;
    bool goes_on = true;
    if (core->shared->traces)
        return fetch_traced(core);
    const uint32_t room = front_room(core), width = core->config->fetch_width < room ? core->config->fetch_width : room;
    while (goes_on && n < width) {
        goes_on = fetch_one(core, false, &n_taken, &n_fetched) && n_taken < core->config->fetch_taken;
        n += 1;
    }
    core->tally[CORE_FETCH_INSN] += n_fetched;
    return n > 0;
}

static uint32_t cause_of_class(tl_class cls) {
    switch (cls) {
    case TL_CLASS_CSR: return TL_S_HART_CYC_CSR;
    case TL_CLASS_AMO:
    case TL_CLASS_LR:
    case TL_CLASS_SC: return TL_S_HART_CYC_AMO;
    case TL_CLASS_FENCE: return TL_S_HART_CYC_FENCE;
    default: return TL_S_HART_CYC_FLUSH;
    }
}

// ---- Misprediction.

static void resolve(tl_core *core, uint64_t seq) {
    const uint32_t entry = entry_of(core, seq);
    const tl_flow_insn *insn = &core->insn[entry];
    if (TL_UNLIKELY(core->owner_tap != NULL))
        tap_squash(core->owner_tap, entry);
    core->tally[CORE_RESOLVE] += 1;
    core->tally[insn->pipe.cls == TL_CLASS_BRANCH ? CORE_RESOLVE_COND : insn->is_return ? CORE_RESOLVE_RETURN : CORE_RESOLVE_INDIRECT] += 1;
    window_squash(core, seq + 1, false);
    predictor_restore(&core->predictor, &core->before[entry]);
    predictor_replay(&core->predictor, insn);
    fetch_from(core, insn->next_pc, insn->pipe.cls == TL_CLASS_BRANCH ? TL_S_HART_CYC_MISPREDICT : TL_S_HART_CYC_TARGET);
}

// The oldest first, because it takes the others back.
static bool resolve_all(tl_core *core) {
    bool has_any = false;
    for (;;) {
        uint64_t seq = NEVER;
        for (uint32_t i = 0; i < core->n_resolving; i++)
            if (core->resolving[i] < seq && core->valid[entry_of(core, core->resolving[i])] <= 2 * core->h->now)
                seq = core->resolving[i];
        if (seq == NEVER)
            return has_any;
        uint32_t n = 0;
        for (uint32_t i = 0; i < core->n_resolving; i++)
            if (core->resolving[i] != seq)
                core->resolving[n++] = core->resolving[i];
        core->n_resolving = n;
        resolve(core, seq);
        has_any = true;
    }
}

// ---- Retirement.

static bool is_break(const tl_hart *h) {
    return (h->pc == h->break_pc[0] || h->pc == h->break_pc[1] || (h->breaks && tl_breaks_have(h->breaks, h->pc))) && !h->skip_break;
}

// Bytes that a hart writes end reservations of the others.
static void break_reservations(const tl_core *core, uint64_t line) {
    for (uint32_t i = 0; i < core->n_peers; i++) {
        tl_hart *other = core->peers[i]->h;
        if (other != core->h && other->reservation_paddr == line)
            other->reservation_paddr = TL_NO_LINE;
    }
}

static void retire_one(tl_core *core, uint32_t entry) {
    tl_hart *h = core->h;
    const tl_flow_insn *insn = &core->insn[entry];
    core->flow->retire(core->flow, entry);
    if (TL_UNLIKELY(core->watches_loads)) {
        if (core->n_uops[entry] == 2)
            break_reservations(core, insn->paddr & h->line_mask);
        if (core->is_accessed[entry])
            memory_note_load(core, entry, -1);
    }
    if (is_control(insn)) {
        predictor_train(&core->predictor, insn, &core->before[entry], !core->is_mispredicted[entry], h->tally);
        h->tally[TL_S_BP_REDIRECT] += core->is_redirected[entry] && !core->is_mispredicted[entry];
    }
    h->pc = insn->next_pc;
    h->instret += 1;
    h->skip_break = false;
    core->senior_store += core->n_uops[entry] == 2;
    core->loads_used -= core->issue[entry] == ISSUE_LOAD;
    core->rob_used -= core->n_uops[entry];
    core->tally[CORE_RETIRE_INSN] += 1;
    core->tally[CORE_RETIRE_UOP] += core->n_uops[entry];
    count_class(core, CORE_RETIRE_LOAD, core->issue[entry]);
    core->retired += 1;
    core->n_retired += 1;
}

TL_ALWAYS_INLINE bool may_retire(const tl_core *core) {
    const uint32_t entry = entry_of(core, core->retired);
    const uint64_t end = 2 * core->h->now;
    return core->retired < core->renamed && core->valid[entry] <= end && core->data_valid[entry] <= end;
}

// false: the run stops within the cycle.
static bool retire(tl_core *core, tl_stop *ret_stop) {
    tl_hart *h = core->h;
    while (core->retired < core->renamed) {
        const uint32_t entry = entry_of(core, core->retired);
        const uint64_t end = 2 * h->now;
        if (core->valid[entry] > end || core->data_valid[entry] > end || core->n_uops[entry] > core->retire_left)
            return true;
        if (TL_UNLIKELY(core->insn[entry].is_redone)) {
            const tl_class cls = (tl_class)core->insn[entry].pipe.cls;
            if (TL_UNLIKELY(core->owner_tap != NULL))
                tap_squash(core->owner_tap, entry);
            core->tally[CORE_REDO] += 1;
            window_squash(core, core->retired, false);
            fetch_from(core, h->pc, TL_S_HART_CYC_FLUSH);
            fetch_alone(core, h->pc, cls);
            return true;
        }
        if (TL_UNLIKELY(is_break(h))) {
            *ret_stop = TL_STOP_BREAK;
            return false;
        }
        if (TL_UNLIKELY(core->tap != NULL) && tap_captures(core->tap, entry)) {
            window_squash(core, core->retired, false);
            fetch_from(core, h->pc, TL_S_HART_CYC_FLUSH);
            core->fetch_until = h->now + tap_assist(core->tap);
            return true;
        }
        core->retire_left -= core->n_uops[entry];
        retire_one(core, entry);
        if (TL_UNLIKELY(h->instret >= core->stop_at)) {
            *ret_stop = TL_STOP_LIMIT;
            return false;
        }
    }
    return true;
}

// ---- Alone.

static bool may_run_alone(const tl_core *core) {
    return core->is_alone && core->retired == core->fetched && core->fetch_until <= core->h->now && memory_is_drained(core);
}

// A hart that was interrupted stops before its next cycle, also if it has skipped that.
static void rewind_stopped(const tl_core *core, uint64_t cycle) {
    for (uint32_t i = 0; i < core->n_peers; i++) {
        tl_core *other = core->peers[i];
        const bool has_passed = other->shared == core->shared || other->h->id < core->h->id;
        if (other != core && other->is_member && other->h->horizon == 0)
            core_rewind(other, cycle + has_passed);
    }
}

// Executes what waited to be the oldest. false: the run stops.
static bool run_alone(tl_core *core, tl_stop *ret_stop) {
    tl_hart *h = core->h;
    const uint64_t cycle = h->now;
    h->pc = core->alone_pc;
    if (TL_UNLIKELY(core->owner_tap != NULL))
        tap_own_alone(core->owner_tap);
    if (core->shared->traces)
        trace_end(core);
    const bool has_retired = core->flow->alone(core->flow, ret_stop);
    if (core->n_peers > 1)
        rewind_stopped(core, cycle);
    fetch_from(core, h->pc, cause_of_class(core->alone_class));
    core->tally[has_retired ? CORE_ALONE : CORE_ALONE_TRAP] += 1;
    if (TL_UNLIKELY(core->watches_loads) && core->isa_flow->alone_paddr != NEVER) {
        break_reservations(core, core->isa_flow->alone_paddr & h->line_mask);
        memory_tell_peers(core, core->isa_flow->alone_paddr & h->line_mask);
    }
    if (!has_retired)
        return false;
    if (h->instret < core->stop_at && !h->is_waiting)
        return true;
    // A hart that halts stops the run, because its core is the other thread's from the next cycle
    // on.
    *ret_stop = h->instret < core->stop_at ? TL_STOP_HORIZON : TL_STOP_LIMIT;
    return false;
}

// ---- Causes.

static uint32_t cause_of_load(load_wait wait) {
    switch (wait) {
    case LOAD_WAITS_TLB: return TL_S_HART_CYC_DTLB;
    case LOAD_WAITS_MISS: return TL_S_HART_CYC_LOAD_MISS;
    case LOAD_WAITS_STORE: return TL_S_HART_CYC_STORE_MISS;
    case LOAD_WAITS_SPLIT: return TL_S_HART_CYC_MISALIGNED;
    default: return TL_S_HART_CYC_LOAD_USE;
    }
}

// Of a store, whose data may come later.
static bool waits_for_translation(const tl_core *core, uint32_t entry) {
    return core->wait[entry] == LOAD_WAITS_TLB && core->valid[entry] > 2 * core->h->now;
}

// The cell of a cycle in which nothing retired: what the oldest instruction waits for, or why there
// is none.
static uint32_t cause_now(const tl_core *core) {
    if (core->retired == core->renamed) {
        if (core->renamed < core->fetched)
            return window_stall_cell(core) == CORE_STALL_STORES ? TL_S_HART_CYC_STORE_MISS
                                                                : core->late_cause[entry_of(core, core->renamed)];
        return core->is_alone ? cause_of_class(core->alone_class) : core->front_cause;
    }
    const uint32_t entry = entry_of(core, core->retired);
    switch ((tl_issue)core->issue[entry]) {
    case ISSUE_LOAD: return cause_of_load((load_wait)core->wait[entry]);
    case ISSUE_STORE: return waits_for_translation(core, entry) ? TL_S_HART_CYC_DTLB : core->late_cause[entry];
    case ISSUE_MUL: return TL_S_HART_CYC_MUL;
    case ISSUE_DIV: return TL_S_HART_CYC_DIV;
    case ISSUE_FP:
    case ISSUE_MOVE: return TL_S_HART_CYC_FP;
    case ISSUE_FP_DIV: return TL_S_HART_CYC_FP_DIV;
    default: return core->late_cause[entry];
    }
}

// ---- The clock.

// The next cycle in which something may happen, after one in which nothing did.
static uint64_t next_cycle(const tl_core *core) {
    const uint64_t now = core->h->now;
    if (core->ready_issues != 0)
        return now + 1;
    uint64_t next = core->h->horizon;
    const uint64_t node = window_next_time(core);
    if (node != NEVER)
        next = tl_lesser(next, node / 2);
    const uint64_t drain = memory_next_drain(core);
    if (drain > now)
        next = tl_lesser(next, drain);
    if (core->fetch_until > now)
        next = tl_lesser(next, core->fetch_until);
    if (core->renamed < core->fetched && core->arrives[entry_of(core, core->renamed)] > now)
        next = tl_lesser(next, core->arrives[entry_of(core, core->renamed)]);
    if (core->retired < core->renamed) {
        const uint32_t entry = entry_of(core, core->retired);
        if (core->valid[entry] != NEVER && cycle_of(core->valid[entry]) > now)
            next = tl_lesser(next, cycle_of(core->valid[entry]));
        if (core->data_valid[entry] != NEVER && cycle_of(core->data_valid[entry]) > now)
            next = tl_lesser(next, cycle_of(core->data_valid[entry]));
    }
    for (uint32_t i = 0; i < core->n_resolving; i++)
        next = tl_lesser(next, cycle_of(core->valid[entry_of(core, core->resolving[i])]));
    return next > now ? next : now + 1;
}

// Counts a stretch of equal cycles. Only a stretch of one cycle does anything.
TL_ALWAYS_INLINE void count_idle(tl_core *core, const activity *did, uint64_t n) {
    uint64_t *t = core->tally;
    charge(core, did->cause, n);
    t[CORE_RUN_CYCLE] += n;
    t[CORE_ROB_UOPS] += did->rob_uops * n;
    t[CORE_LOADS_HELD] += core->loads_used * n;
    t[CORE_STORES_HELD] += core->stores_used * n;
    t[CORE_MEMORY_QUEUE_UOPS] += core->memory_used * n;
    t[CORE_GENERAL_QUEUE_UOPS] += core->general_used * n;
    t[CORE_FRONT_INSNS] += (core->fetched - core->renamed) * n;
    t[core->slot_cell] += core->slots_left * n;
    t[CORE_BOTH_CYCLE] += core->has_company ? n : 0;
    if (core->room_cell != NEVER)
        t[core->room_cell] += n;
    if (did->has_fetched)
        t[CORE_FETCH_CYCLE] += n;
    else if (core->is_alone)
        t[CORE_FETCH_ALONE] += n;
    else if (core->waits_for_target)
        t[CORE_FETCH_NO_TARGET] += n;
    else if (core->fetch_until > core->h->now)
        t[CORE_FETCH_STALL] += n;
    else if (did->has_lost_fetch)
        t[CORE_FETCH_OTHER] += n;
    else
        t[CORE_FETCH_FULL] += n;
}

// Another hart's stores have reached lines that loads in flight have read: they are read again.
static void clear_loads(tl_core *core) {
    const uint64_t seq = memory_oldest_snooped(core);
    if (seq == NEVER)
        return;
    const uint64_t pc = core->insn[entry_of(core, seq)].pc;
    if (TL_UNLIKELY(core->owner_tap != NULL))
        tap_squash(core->owner_tap, entry_of(core, seq));
    core->tally[CORE_MEMORY_CLEAR] += 1;
    window_squash(core, seq, false);
    fetch_from(core, pc, TL_S_HART_CYC_FLUSH);
    core->fetch_until = core->h->now + core->config->clear_cycles;
    core->spared_seq = seq;
}

// The cycle begins: paths are taken back, a store drains.
TL_ALWAYS_INLINE void begin(tl_core *core, bool may_drain) {
    if (core->is_mid_cycle)
        return;
    core->retire_left = core->config->retire_width;
    core->n_retired = 0;
    core->is_busy = core->n_resolving != 0 && resolve_all(core);
    core->has_snooped = core->n_snooped != 0;
    if (TL_UNLIKELY(core->has_snooped))
        clear_loads(core);
    if (may_drain && memory_may_drain(core)) {
        memory_drain(core);
        core->is_busy = true;
    }
    core->n_fetched = core->fetched;
    core->was_alone = core->is_alone;
    core->is_mid_cycle = true;
}

// Behind the last retirement of the cycle.
TL_ALWAYS_INLINE void note_retirement(tl_core *core) {
    core->is_mid_cycle = false;
    core->room_cell = NEVER;
    core->is_busy |= core->n_retired > 0 || core->fetched != core->n_fetched || core->is_alone != core->was_alone;
    core->did = (activity){.rob_uops = core->rob_used, .cause = core->n_retired > 0 ? TL_S_HART_CYC_ISSUE : cause_now(core)};
}

static bool may_fetch(const tl_core *core) {
    return !core->is_alone && !core->waits_for_target && core->fetch_until <= core->h->now && front_room(core) > 0;
}

TL_ALWAYS_INLINE bool needs_flow(const tl_core *core, bool is_turn) {
    return core->is_alone || (is_turn && !core->waits_for_target && core->fetch_until <= core->h->now);
}

// An instruction that executes alone takes the cycles it needs, and the cycle under way is its
// first. is_turn: the front end is this thread's. false: the run stops behind the cycle.
TL_ALWAYS_INLINE bool fetch(tl_core *core, bool is_turn, tl_stop *ret_stop) {
    if (!core->is_alone) {
        core->did.has_fetched = needs_flow(core, is_turn) && fetch_group(core);
    } else if (core->n_retired == 0 && may_run_alone(core)) {
        const uint64_t now = core->h->now;
        core->skips_from = NEVER;
        core->has_run_alone = true;
        const bool goes_on = run_alone(core, ret_stop);
        core->tally[CORE_BOTH_CYCLE] += core->has_company ? core->h->now - now : 0;
        return goes_on;
    }
    return true;
}

TL_ALWAYS_INLINE void end(tl_core *core, bool waits) {
    tl_hart *h = core->h;
    const activity *did = &core->did;
    if (core->has_run_alone) {
        core->has_run_alone = false;
        return;
    }
    const bool is_busy = core->is_busy || did->has_dispatched || did->has_renamed || did->has_fetched;
    if (TL_UNLIKELY(core->tap != NULL))
        tap_cycle(core->tap, did->cause, is_busy);
    const bool steps = is_busy || waits || core->has_snooped || core->n_snooped != 0;
    const uint64_t next = steps ? h->now + 1 : next_cycle(core);
    uint64_t *t = core->tally;
    t[CORE_RETIRE_CYCLE] += core->n_retired > 0;
    t[CORE_RETIRE_FULL] += core->n_retired > 0 && core->retire_left == 0;
    t[CORE_DISPATCH_CYCLE] += did->has_dispatched;
    t[CORE_RENAME_CYCLE] += did->has_renamed;
    count_idle(core, did, next - h->now);
    core->skips_from = steps ? NEVER : h->now + 1;
    h->now = next;
    if (TL_UNLIKELY(h->has_slow_watch))
        (void)tl_hart_poll(h);
}

// ---- A cycle.

static void begin_budget(const tl_core *core, port_budget *ret) {
    *ret = (port_budget){.ports = {~UINT32_C(0), core->config->fast_ports}, .room = core->config->issue_width};
}

bool core_cycle(tl_core *core, tl_stop *ret_stop) {
    port_budget budget;
    begin(core, true);
    if (may_retire(core) && !retire(core, ret_stop))
        return false;
    note_retirement(core);
    begin_budget(core, &budget);
    core->did.has_dispatched = window_dispatch(core, &budget);
    core->did.has_renamed = window_rename(core);
    const bool goes_on = fetch(core, true, ret_stop);
    end(core, false);
    return goes_on;
}

// The first thread that can retire does. A cycle that was cut short goes on with the thread that
// had begun.
static tl_core *retiring(tl_core *first, tl_core *second) {
    if (second->n_retired > 0)
        return second;
    return first->n_retired > 0 || may_retire(first) ? first : second;
}

// Takes both threads through fetch. Returns the thread that stops, or NULL. Two threads never trap
// in one cycle: the second one waits.
static tl_core *fetch_of_two(core_run *run, tl_core *first, tl_core *second, bool *waits, tl_stop *ret_stop) {
    tl_core *stopped = NULL;
    if (needs_flow(first, true)) {
        core_enter(run, first);
        if (!fetch(first, true, ret_stop))
            stopped = first;
    }
    if (stopped && *ret_stop == TL_STOP_TRAP && second->is_alone) {
        *waits = true;
        return stopped;
    }
    second->did.has_lost_fetch = first->did.has_fetched && may_fetch(second);
    *waits |= second->did.has_lost_fetch;
    const bool is_turn = !first->did.has_fetched;
    if (!needs_flow(second, is_turn))
        return stopped;
    core_enter(run, second);
    return fetch(second, is_turn, ret_stop) ? stopped : second;
}

tl_core *core_cycle_of_two(core_run *run, tl_core *first, tl_core *second, tl_stop *ret_stop) {
    const bool drains = memory_may_drain(first);
    bool waits = drains && memory_may_drain(second);
    begin(first, true);
    begin(second, !drains);
    tl_core *const retires = retiring(first, second);
    const uint64_t instret = retires->h->instret;
    const bool goes_on = retire(retires, ret_stop);
    *run->n_insns -= retires->h->instret - instret;
    if (!goes_on)
        return retires;
    const bool loses = retires == first && may_retire(second);
    if (TL_UNLIKELY(loses && second->owner_tap != NULL))
        tap_own(second->owner_tap, entry_of(second, second->retired));
    second->tally[CORE_RETIRE_OTHER] += loses;
    waits |= loses;
    note_retirement(first);
    note_retirement(second);
    port_budget budget;
    begin_budget(first, &budget);
    first->did.has_dispatched = window_dispatch(first, &budget);
    second->did.has_dispatched = window_dispatch(second, &budget);
    first->did.has_renamed = window_rename(first);
    if (!first->did.has_renamed) {
        second->did.has_renamed = window_rename(second);
    } else {
        waits |= window_yield(second);
    }
    core_set_stop(run, first);
    core_set_stop(run, second);
    const uint64_t before = first->h->instret + second->h->instret;
    tl_core *const stopped = fetch_of_two(run, first, second, &waits, ret_stop);
    *run->n_insns -= first->h->instret + second->h->instret - before;
    end(first, false);
    end(second, waits);
    return stopped;
}

// ---- Between cycles and runs.

void core_rewind(tl_core *core, uint64_t cycle) {
    tl_hart *h = core->h;
    const uint64_t to = cycle > core->skips_from ? cycle : core->skips_from;
    if (core->skips_from == NEVER || h->now <= to)
        return;
    const uint64_t now = h->now;
    h->now = core->skips_from - 1; // as when the cycles were counted
    if (TL_UNLIKELY(core->tap != NULL))
        tap_own_skipped(core->tap);
    count_idle(core, &core->did, to - now);
    h->now = to;
    if (TL_UNLIKELY(core->tap != NULL)) {
        tap_own_as_before(core->tap);
        tap_rewind(core->tap);
    }
}

static void forget(tl_core *core) {
    window_squash(core, core->retired, true);
    core->is_mid_cycle = false;
    core->n_snooped = 0;
    core->skips_from = NEVER;
    fetch_from(core, core->h->pc, TL_S_HART_CYC_FLUSH);
}

void core_resume(tl_core *core) {
    if (core->h->now != core->now_at_suspend)
        core->skips_from = NEVER;
    if (core->flow->resume(core->flow, core->retired, (uint32_t)(core->fetched - core->retired), core->ring_mask))
        return;
    forget(core);
}

void core_suspend(tl_core *core) {
    core->now_at_suspend = core->h->now;
    core->flow->suspend(core->flow, core->retired, (uint32_t)(core->fetched - core->retired), core->ring_mask);
}

void tl_core_hand_over(tl_core *core) {
    core->n_peers = 0; // they have nothing in flight
    core->flow->forget(core->flow);
    forget(core);
    memory_drain_now(core);
    predictor_give(&core->predictor, &core->h->bp);
}

void tl_core_take_over(tl_core *core, uint64_t n_insns) {
    core->tally[CORE_FORWARD_INSN] += n_insns;
    predictor_take(&core->predictor, &core->h->bp);
    forget(core);
}

void tl_core_sync(tl_core *core) { tl_hart_sync_clock(core->h); }

// ---- Life.

static void set_ports(tl_core *core) {
    const tl_core_config *c = core->config;
    const struct {
        uint32_t ports;
        tl_issue issue;
    } rows[] = {
        {c->alu_ports, ISSUE_ALU},   {c->shift_ports, ISSUE_SHIFT}, {c->branch_ports, ISSUE_BRANCH}, {c->mul_ports, ISSUE_MUL},
        {c->mul_ports, ISSUE_DIV},   {c->fp_ports, ISSUE_FP},       {c->fp_ports, ISSUE_FP_DIV},     {c->move_ports, ISSUE_MOVE},
        {c->load_ports, ISSUE_LOAD}, {c->store_ports, ISSUE_STORE}, {c->data_ports, ISSUE_DATA},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        for (uint32_t issues = 0; issues < TL_COUNT_OF(core->issues_ports); issues++)
            if (issues >> rows[i].issue & 1)
                core->issues_ports[issues] |= (uint8_t)rows[i].ports;
        for (uint32_t port = 0; port < TL_MAX_PORTS; port++)
            core->port_issues[port] |= (rows[i].ports >> port & 1) << rows[i].issue;
    }
    for (uint32_t port = 0; port < TL_MAX_PORTS; port++)
        core->n_ports += core->port_issues[port] != 0;
}

// The first thread of a core makes room for all.
static core_shared *join(tl_core *core, tl_core *leader, tl_arena *arena) {
    core_shared *shared = leader ? leader->shared : tl_arena_alloc(arena, sizeof *shared);
    if (!shared)
        return NULL;
    core->thread = shared->n_threads;
    shared->threads[shared->n_threads++] = core;
    return shared;
}

tl_status tl_core_new(tl_hart *h, tl_flow *flow, tl_core *leader, tl_arena *arena, tl_core **ret_core, tl_error *err) {
    tl_core *core = tl_arena_alloc(arena, sizeof *core);
    if (!core || !(core->shared = join(core, leader, arena)))
        return tl_fail(err, TL_ENOMEM, "no memory for the detailed core of hart%u", h->id);
    core->h = h;
    core->flow = core->fetch_flow = core->isa_flow = flow;
    core->arena = arena;
    core->config = &h->config->core;
    core->latency = &h->config->pipeline;
    core->front_capacity = core->config->fetch_width * (core->config->front_cycles + 2);
    core->ring = 64;
    while (core->ring < core->config->rob_uops + core->front_capacity)
        core->ring *= 2;
    core->ring_mask = core->ring - 1;
    core->tally = h->core_tally;
    h->dtlb_lost = &core->tally[CORE_DTLB_LOST];
    core->n_words = core->ring / 64;
    core->front_cause = TL_S_HART_CYC_FETCH;
    core->fetch_pc = NEVER;
    memset(core->wheel, 0xff, sizeof core->wheel);
    memset(core->last_writer, 0xff, sizeof core->last_writer);
    core->skips_from = core->spared_seq = NEVER;
    core->watches_loads = h->config->n_harts > 1;
    set_ports(core);
    window_set_timings(core);
    *ret_core = core;
    if (!leader && core->config->trace_uops != 0) {
        const tl_status status = trace_new(core->config, arena, &core->shared->traces, err);
        if (status != TL_OK)
            return status;
    }
    return predictor_init(&core->predictor, &h->bp, h->config, arena, err);
}
