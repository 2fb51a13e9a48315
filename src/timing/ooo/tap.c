// SPDX-License-Identifier: MIT
// Cycle records for a tap (model/tap.h). The core's flow is replaced by one that passes each call
// on, so fetch, retirement and taking back cost nothing without a tap. Renamed instructions are
// found by their numbers at the end of a cycle. Only dispatches and ends of cycles ask for a tap.
#include "model/tap.h"

#include <string.h>

#include "model/isa.h"
#include "timing/ooo/ooo.h"

// At most all in flight are taken back in a cycle, and widths are small.
enum { MAX_EVENTS = 2 * MAX_RING };

struct core_tap {
    tl_flow flow; // in front of `inner`
    tl_flow *inner;
    tl_core *core;
    tl_tap *tap; // NULL: detached
    tl_clock_tap *clocks;
    tl_clock_rows *rows; // for clocks without events; NULL: renames are not among the events yet
    uint64_t end;        // the cycle after the last one that was told, or that idles
    uint64_t idle_from;  // idle cycles that are not told yet: idle_from .. end
    uint32_t idle_cause;
    uint64_t first;   // instructions below were in flight at the attachment
    uint64_t renamed; // as tl_core.renamed, when the last cycle ended
    // For tl_tap.owners: the last instruction that retired, the first one of this cycle, and stores
    // that wait for their drain.
    tl_tap_owner retired, of_cycle, stores[TL_MAX_STORE_BUFFERS];
    tl_tap_owner counted;  // owner of the last cycle, and of those that were skipped behind it
    uint64_t squash_to;    // as tl_tap_owners.squash
    uint64_t sp[MAX_RING]; // behind a jump in flight
    bool sees_all;         // as tl_clock_tap.tells_all, or for `tap`
    uint64_t in_vain[TL_N_UOP_VAINS];
    // Of the cycle under way. steps: a bit for each tl_uop_step among its events.
    uint32_t n_events, steps;
    tl_uop_event events[MAX_EVENTS];
    uint64_t shown; // the event behind them is the RETIRE of this instruction
    bool was_dispatched[MAX_NODES];
};

static core_tap *tap_of(tl_flow *flow) { return (core_tap *)(void *)flow; }

// ---- Records.

static void tell(const core_tap *t, uint64_t cycle, uint64_t n_cycles, uint32_t cause, uint32_t n_events) {
    const tl_cycle_record record = {.h = t->core->h,
                                    .thread = t->core->thread,
                                    .cause = cause,
                                    .cycle = cycle,
                                    .n_cycles = n_cycles,
                                    .n_events = n_events,
                                    .events = t->events};
    if (t->tap)
        t->tap->record(t->tap, &record);
}

static bool is_store_full(const core_tap *t) { return t->core->room_cell == CORE_STALL_STORES; }

static bool is_unheard(const core_tap *t, const tl_clock_rows *rows) { return rows && (rows->unheard >> t->core->thread & 1); }

// A clock without events is a row, if rows take it.
TL_ALWAYS_INLINE bool takes_row(const core_tap *t, tl_clock_rows *rows) {
    const tl_core *core = t->core;
    if (!rows || TL_LIKELY(tl_clock_rows_take(rows, core->h, core->thread, core->h->now, is_store_full(t))))
        return rows != NULL;
    return tl_clock_rows_pass(rows, core->h, core->thread, core->h->now, is_store_full(t));
}

// All events are known: those that the owner ignores may be in a row.
static bool takes_known(const core_tap *t) {
    return t->clocks && (is_unheard(t, t->clocks->rows) || !(t->steps & ~t->clocks->ignored)) && takes_row(t, t->clocks->rows);
}

static void tell_clock(const core_tap *t, uint64_t cycle) {
    const tl_core *core = t->core;
    const tl_clock_record record = {.h = core->h,
                                    .thread = core->thread,
                                    .cycle = cycle,
                                    .is_store_full = is_store_full(t),
                                    .n_events = t->n_events,
                                    .events = t->events};
    if (t->clocks)
        t->clocks->clock(t->clocks, &record);
}

// Events stay: they are of the cycle under way.
static void tell_idle(core_tap *t) {
    const uint64_t from = t->idle_from;
    t->idle_from = t->end;
    if (from < t->end)
        tell(t, from, t->end - from, t->idle_cause, 0);
}

// Cycles up to `end` in which nothing happens.
static void idle_until(core_tap *t, uint64_t end, uint32_t cause) {
    if (end <= t->end)
        return;
    if (cause != t->idle_cause) {
        tell_idle(t);
        t->idle_cause = cause;
    }
    t->end = end;
}

// Idle cycles are told before the events of a later one.
static void tell_cycles(core_tap *t, uint64_t cycle, uint64_t n_cycles, uint32_t cause) {
    tell_idle(t);
    tell(t, cycle, n_cycles, cause, t->n_events);
    t->n_events = t->steps = 0;
    t->end = t->idle_from = cycle + n_cycles;
}

// ---- Owners of counts.

static const tl_tap_owner nobody = {.pc = NEVER};

// NULL: nobody asks.
static const tl_tap_owners *owners_of(const core_tap *t) { return t->tap ? t->tap->owners : NULL; }

static void own(const core_tap *t, const tl_tap_owner *owner) {
    const tl_tap_owners *owners = owners_of(t);
    if (owners)
        owners->own(t->tap, t->core->h, owner);
}

static tl_tap_owner in_flight(const tl_core *core, uint64_t seq) {
    return (tl_tap_owner){.pc = core->insn[entry_of(core, seq)].pc, .seq = seq};
}

static tl_tap_owner fetched_next(const tl_core *core) {
    return (tl_tap_owner){.pc = core->is_alone ? core->alone_pc : core->fetch_pc, .seq = core->fetched};
}

static uint64_t seq_of(const tl_core *core, uint32_t entry) { return core->retired + ((entry - core->retired) & core->ring_mask); }

void tap_drain(const core_tap *t) { own(t, &t->stores[t->core->first_store % TL_MAX_STORE_BUFFERS]); }

void tap_own(const core_tap *t, uint32_t entry) {
    const tl_tap_owner owner = in_flight(t->core, seq_of(t->core, entry));
    own(t, &owner);
}

void tap_own_alone(const core_tap *t) {
    const tl_tap_owner owner = {.pc = t->core->alone_pc, .seq = t->core->fetched};
    own(t, &owner);
}

void tap_own_fetch(const core_tap *t) {
    const tl_tap_owner owner = {.pc = t->core->fetch_pc, .seq = t->core->fetched};
    own(t, &owner);
}

// The next instruction, or the one that fetch waits for.
void tap_rename(const core_tap *t) {
    const tl_core *core = t->core;
    const tl_tap_owner owner =
        core->renamed < core->fetched ? in_flight(core, core->renamed) : (tl_tap_owner){.pc = core->fetch_pc, .seq = core->fetched};
    own(t, &owner);
}

void tap_squash(core_tap *t, uint32_t entry) {
    const tl_tap_owners *owners = owners_of(t);
    tap_own(t, entry);
    t->squash_to = seq_of(t->core, entry);
    if (owners)
        owners->squash(t->tap, t->core->h, t->squash_to);
}

// With an empty reorder buffer, cycles of fetch are the next instruction's. All others are due to
// the last one, whose outcome fetch had to wait for.
static tl_tap_owner owner_of_cycle(const core_tap *t, uint32_t cause) {
    const tl_core *core = t->core;
    if (t->of_cycle.pc != NEVER)
        return t->of_cycle;
    if (core->retired < core->renamed)
        return in_flight(core, core->retired);
    if (t->retired.pc != NEVER && cause != TL_S_HART_CYC_FETCH && cause != TL_S_HART_CYC_ITLB)
        return t->retired;
    return core->retired < core->fetched ? in_flight(core, core->retired) : fetched_next(core);
}

static void own_cycle(core_tap *t, uint32_t cause) {
    t->counted = owner_of_cycle(t, cause);
    own(t, &t->counted);
    t->of_cycle = nobody;
}

static void own_retirement(core_tap *t, uint32_t entry) {
    const tl_core *core = t->core;
    const tl_flow_insn *insn = &core->insn[entry];
    const tl_tap_owners *owners = owners_of(t);
    if (!owners)
        return;
    const tl_tap_retirement retirement = {.seq = core->retired,
                                          .pc = insn->pc,
                                          .next_pc = insn->next_pc,
                                          .cls = insn->pipe.cls,
                                          .return_pc = insn->pc + insn->len,
                                          .sp = t->sp[entry],
                                          .is_call = insn->is_call,
                                          .is_return = insn->is_return};
    t->retired = (tl_tap_owner){.pc = insn->pc, .seq = TL_TAP_RETIRED, .place = owners->retired(t->tap, core->h, &retirement)};
    if (t->of_cycle.pc == NEVER)
        t->of_cycle = t->retired;
    if (core->n_uops[entry] == 2)
        t->stores[core->senior_store % TL_MAX_STORE_BUFFERS] = t->retired;
}

// ---- Events.

static tl_uop_event *add(core_tap *t, tl_uop_step step, uint64_t seq) {
    const tl_flow_insn *insn = &t->core->insn[entry_of(t->core, seq)];
    tl_uop_event *event = &t->events[t->n_events++];
    t->steps |= 1u << step;
    *event = (tl_uop_event){.step = (uint8_t)step,
                            .seq = seq,
                            .pc = insn->pc,
                            .vaddr = insn->vaddr,
                            .cls = (uint8_t)insn->pipe.cls,
                            .size_bytes = insn->pipe.size_bytes};
    return event;
}

static uint64_t in_vain_of(const core_tap *t, tl_uop_vain vain) { return t->core->tally[CORE_IN_VAIN_SOURCE + vain - TL_UOP_NO_OPERAND]; }

static tl_uop_vain vain_of(core_tap *t) {
    tl_uop_vain found = TL_UOP_EFFECTIVE;
    for (tl_uop_vain vain = TL_UOP_NO_OPERAND; vain < TL_N_UOP_VAINS; vain++) {
        if (in_vain_of(t, vain) != t->in_vain[vain])
            found = vain;
        t->in_vain[vain] = in_vain_of(t, vain);
    }
    return found;
}

static TL_NOINLINE void dispatch(core_tap *t, uint32_t node) {
    const tl_core *core = t->core;
    const uint32_t entry = node & core->ring_mask;
    const uint64_t seq = core->node_seq[node];
    const tl_uop_vain vain = vain_of(t);
    if (seq < t->first)
        return;
    tl_uop_event *event = add(t, TL_UOP_DISPATCH, seq);
    event->uop = node != entry;
    event->vain = (uint8_t)vain;
    event->is_replay = t->was_dispatched[node];
    t->was_dispatched[node] = true;
    if (vain == TL_UOP_EFFECTIVE)
        event->done_half_cycles = event->uop ? core->data_valid[entry] : core->valid[entry];
}

void tap_dispatch(core_tap *t, uint32_t node) {
    if (t->sees_all)
        dispatch(t, node);
}

static void add_renamed(core_tap *t) {
    const tl_core *core = t->core;
    for (; t->renamed < core->renamed; t->renamed++) {
        const uint32_t entry = entry_of(core, t->renamed);
        t->was_dispatched[entry] = t->was_dispatched[core->ring + entry] = false;
        if (t->renamed >= t->first)
            add(t, TL_UOP_RENAME, t->renamed)->n_uops = core->n_uops[entry];
    }
}

// From now on the tap keeps what it did not keep before.
static void see(core_tap *t) {
    const bool all = t->tap || (t->clocks && t->clocks->tells_all);
    t->rows = t->clocks && !all ? t->clocks->rows : NULL;
    if (TL_LIKELY(all == t->sees_all))
        return;
    t->sees_all = all;
    (void)vain_of(t);
    memcpy(t->was_dispatched, t->core->was_dispatched, sizeof t->was_dispatched);
}

// Not inlined, so that a row costs as little as it can.
static TL_NOINLINE void tell_cycle(core_tap *t, uint32_t cause, bool is_busy) {
    const uint64_t now = t->core->h->now;
    bool is_row = false;
    see(t);
    if (t->sees_all) {
        add_renamed(t);
        is_row = takes_known(t);
    } else {
        t->renamed = t->core->renamed;
    }
    if (!is_row) {
        tell_clock(t, now);
        see(t);
    }
    if (!t->tap) {
        t->n_events = t->steps = 0;
        return;
    }
    idle_until(t, now, t->idle_cause);
    if (is_busy || t->n_events > 0)
        tell_cycles(t, now, 1, cause);
    else
        idle_until(t, now + 1, cause);
    own_cycle(t, cause);
}

void tap_cycle(core_tap *t, uint32_t cause, bool is_busy) {
    if (TL_LIKELY(t->n_events == 0 && takes_row(t, t->rows)))
        t->renamed = t->core->renamed;
    else
        tell_cycle(t, cause, is_busy);
}

void tap_own_skipped(const core_tap *t) {
    if (t->counted.pc != NEVER)
        own(t, &t->counted);
}

void tap_own_as_before(const core_tap *t) {
    const tl_tap_owners *owners = owners_of(t);
    if (t->counted.pc != NEVER && owners)
        owners->own_as_before(t->tap, t->core->h);
}

void tap_rewind(core_tap *t) {
    t->end = tl_lesser(t->end, t->core->h->now);
    t->idle_from = tl_lesser(t->idle_from, t->end);
}

// ---- The flow in front. The core asks isa_flow for enter, leave, follow and alone_paddr.

static bool is_jump(const tl_flow_insn *insn) { return insn->pipe.cls == TL_CLASS_JAL || insn->pipe.cls == TL_CLASS_JALR; }

static tl_flow_result fetch(tl_flow *flow, uint32_t entry, uint64_t pc, tl_flow_insn *ret_insn) {
    core_tap *t = tap_of(flow);
    tap_own_fetch(t);
    const tl_flow_result result = t->inner->fetch(t->inner, entry, pc, ret_insn);
    if (result == TL_FLOW_EXECUTED)
        add(t, TL_UOP_FETCH, t->core->fetched)->bits = t->inner->bits(t->inner, entry);
    if (is_jump(ret_insn))
        t->sp[entry] = tl_hart_register_value(t->core->h, TL_ROLE_STACK);
    return result;
}

static void note_back(core_tap *t, uint64_t seq) {
    const uint32_t n_uops = seq < t->renamed ? t->core->n_uops[entry_of(t->core, seq)] : 0;
    if (seq >= t->first && (n_uops > 0 || t->sees_all)) {
        tl_uop_event *event = add(t, TL_UOP_TAKE_BACK, seq);
        event->n_uops = (uint8_t)n_uops;
        event->has_missed = n_uops > 0 && t->core->has_missed[entry_of(t->core, seq)];
        event->has_missed_dtlb = n_uops > 0 && t->core->has_missed_dtlb[entry_of(t->core, seq)];
        event->is_split = n_uops > 0 && t->core->is_split[entry_of(t->core, seq)];
        event->is_mispredicted = n_uops > 0 && t->core->is_mispredicted[entry_of(t->core, seq)];
    }
    t->renamed = tl_lesser(t->renamed, seq);
    t->first = tl_lesser(t->first, seq);
}

static TL_NOINLINE void tell_back(core_tap *t, uint32_t entry) {
    const tl_tap_owner owner = {.pc = t->core->insn[entry].pc, .seq = t->squash_to};
    own(t, &owner);
    note_back(t, t->core->fetched);
}

// Most of what is taken back was only fetched.
static void take_back(tl_flow *flow, uint32_t entry) {
    core_tap *t = tap_of(flow);
    const uint64_t seq = t->core->fetched;
    if (t->sees_all || (seq < t->renamed && !is_unheard(t, t->rows))) {
        tell_back(t, entry);
    } else {
        t->renamed = tl_lesser(t->renamed, seq);
        t->first = tl_lesser(t->first, seq);
    }
    t->inner->take_back(t->inner, entry);
}

static void add_retired(core_tap *t, uint32_t entry) {
    const tl_core *core = t->core;
    tl_uop_event *event = add(t, TL_UOP_RETIRE, core->retired);
    event->n_uops = core->n_uops[entry];
    event->is_taken = core->insn[entry].is_taken;
    event->is_mispredicted = core->is_mispredicted[entry];
    event->is_call = core->insn[entry].is_call;
    event->is_return = core->insn[entry].is_return;
    event->has_missed = core->has_missed[entry];
    event->has_missed_dtlb = core->has_missed_dtlb[entry];
    event->is_split = core->is_split[entry];
}

// The event that a tap of clocks was shown has not changed since.
static void tell_shown_or_add(core_tap *t, uint32_t entry) {
    if (t->shown == t->core->retired)
        t->n_events += 1;
    else
        add_retired(t, entry);
}

static TL_NOINLINE void tell_retired(core_tap *t, uint32_t entry) {
    own_retirement(t, entry);
    t->inner->retire(t->inner, entry);
    if (t->core->retired >= t->first)
        tell_shown_or_add(t, entry);
}

static void retire(tl_flow *flow, uint32_t entry) {
    core_tap *t = tap_of(flow);
    if (t->sees_all || (is_control(&t->core->insn[entry]) && !is_unheard(t, t->rows)))
        tell_retired(t, entry);
    else
        t->inner->retire(t->inner, entry);
}

static TL_NOINLINE bool captures_sampled(core_tap *t, uint32_t entry) {
    add_retired(t, entry);
    t->n_events -= 1; // it has not retired yet
    const bool captures = !t->clocks->may_retire(t->clocks, t->core->h, t->core->thread, &t->events[t->n_events]);
    if (captures)
        tap_squash(t, entry);
    else
        t->shown = t->core->retired;
    return captures;
}

bool tap_captures(core_tap *t, uint32_t entry) {
    const tl_core *core = t->core;
    if (!t->clocks)
        return false;
    tl_clock_sampled *sampled = &t->clocks->sampled[core->thread];
    if (TL_LIKELY(sampled->classes == 0) || !(sampled->classes >> core->insn[entry].pipe.cls & 1) || core->retired < t->first)
        return false;
    if (TL_UNLIKELY(sampled->n_passed == 0))
        return captures_sampled(t, entry);
    sampled->n_passed -= 1;
    return false;
}

uint32_t tap_assist(core_tap *t) { return t->clocks->assist(t->clocks, t->core->h, t->core->thread); }

static uint32_t bits(tl_flow *flow, uint32_t entry) {
    core_tap *t = tap_of(flow);
    return t->inner->bits(t->inner, entry);
}

// The hart's own counts say what an instruction was that executed alone: the core has not seen it
// if its fetch failed.
static const struct {
    uint32_t cell;
    tl_class cls;
} alone_classes[] = {
    {TL_S_HART_INSN_LOAD, TL_CLASS_LOAD},         {TL_S_HART_INSN_FP_LOAD, TL_CLASS_FP_LOAD}, {TL_S_HART_INSN_STORE, TL_CLASS_STORE},
    {TL_S_HART_INSN_FP_STORE, TL_CLASS_FP_STORE}, {TL_S_HART_INSN_BRANCH, TL_CLASS_BRANCH},   {TL_S_HART_INSN_JAL, TL_CLASS_JAL},
    {TL_S_HART_INSN_JALR, TL_CLASS_JALR},
};
typedef struct alone_counts {
    uint64_t of_class[TL_COUNT_OF(alone_classes)], taken, calls, returns, mispredicted, devices;
} alone_counts;

static alone_counts count_alone(const tl_hart *h) {
    alone_counts counts = {.taken = h->tally[TL_S_HART_BRANCH_TAKEN],
                           .calls = h->tally[TL_S_HART_CALL],
                           .returns = h->tally[TL_S_HART_RETURN],
                           .mispredicted = h->tally[TL_S_BP_COND_MISS] + h->tally[TL_S_BP_TARGET_MISS],
                           .devices = h->tally[TL_S_HART_UNC_READ] + h->tally[TL_S_HART_UNC_WRITE]};
    for (uint32_t i = 0; i < TL_COUNT_OF(alone_classes); i++)
        counts.of_class[i] = h->tally[alone_classes[i].cell];
    return counts;
}

static void note_alone(tl_uop_event *event, const alone_counts *before, const alone_counts *after) {
    for (uint32_t i = 0; i < TL_COUNT_OF(alone_classes); i++)
        if (after->of_class[i] != before->of_class[i])
            event->cls = (uint8_t)alone_classes[i].cls;
    event->is_taken = after->taken != before->taken;
    event->is_call = after->calls != before->calls;
    event->is_return = after->returns != before->returns;
    event->is_mispredicted = after->mispredicted != before->mispredicted;
    event->is_device = after->devices != before->devices;
}

static bool alone(tl_flow *flow, tl_stop *ret_stop) {
    core_tap *t = tap_of(flow);
    const tl_core *core = t->core;
    const uint64_t now = core->h->now;
    tl_uop_event event = {.step = TL_UOP_ALONE,
                          .seq = core->fetched,
                          .pc = core->alone_pc,
                          .bits = t->inner->bits(t->inner, entry_of(core, core->fetched)),
                          .cls = (uint8_t)core->alone_class};
    const tl_tap_owners *owners = owners_of(t);
    if (owners) {
        const uint32_t place = owners->alone(t->tap, core->h, core->fetched, core->alone_pc);
        t->retired = (tl_tap_owner){.pc = core->alone_pc, .seq = TL_TAP_RETIRED, .place = place};
    }
    if (t->clocks)
        t->clocks->alone(t->clocks, core->h, core->thread, now);
    const alone_counts before = count_alone(core->h);
    event.has_retired = t->inner->alone(t->inner, ret_stop);
    if (!t->tap && !t->clocks) // it has detached them
        return event.has_retired;
    idle_until(t, now, t->idle_cause);
    if (event.has_retired) {
        const alone_counts after = count_alone(core->h);
        note_alone(&event, &before, &after);
    }
    t->events[t->n_events++] = event;
    tell_clock(t, now);
    see(t);
    tell_cycles(t, now, core->h->now - now, TL_S_HART_CYC_ISSUE);
    return event.has_retired;
}

// Cycles up to the end of a run are the core's, those up to the next run are not.
static void suspend(tl_flow *flow, uint64_t first, uint32_t n, uint32_t ring_mask) {
    core_tap *t = tap_of(flow);
    idle_until(t, t->core->h->now, t->idle_cause);
    if (t->clocks)
        t->clocks->suspend(t->clocks, t->core->h, t->core->thread);
    const tl_tap_owners *owners = owners_of(t);
    if (owners)
        owners->end(t->tap, t->core->h);
    t->inner->suspend(t->inner, first, n, ring_mask);
}

static void note_all_back(core_tap *t) {
    const tl_core *core = t->core;
    const tl_tap_owners *owners = owners_of(t);
    for (uint64_t seq = core->fetched; seq-- > core->retired;)
        note_back(t, seq);
    if (owners)
        owners->drop(t->tap, core->h, core->retired);
}

static bool resume(tl_flow *flow, uint64_t first, uint32_t n, uint32_t ring_mask) {
    core_tap *t = tap_of(flow);
    idle_until(t, t->core->h->now, TL_TAP_OUTSIDE);
    if (t->clocks)
        t->clocks->resume(t->clocks, t->core->h, t->core->thread);
    see(t);
    const bool goes_on = t->inner->resume(t->inner, first, n, ring_mask);
    if (!goes_on)
        note_all_back(t);
    const tl_tap_owners *owners = owners_of(t);
    if (owners)
        owners->begin(t->tap, t->core->h);
    return goes_on;
}

static void forget(tl_flow *flow) {
    core_tap *t = tap_of(flow);
    idle_until(t, t->core->h->now, TL_TAP_OUTSIDE);
    note_all_back(t);
    t->inner->forget(t->inner);
}

// ---- Attachment.

static core_tap *tap_new(tl_core *core) {
    core_tap *t = tl_arena_alloc(core->arena, sizeof *t);
    if (!t)
        return NULL;
    t->core = core;
    t->inner = core->isa_flow;
    t->flow = (tl_flow){.h = core->h,
                        .fetch = fetch,
                        .take_back = take_back,
                        .retire = retire,
                        .bits = bits,
                        .alone = alone,
                        .suspend = suspend,
                        .resume = resume,
                        .forget = forget};
    return t;
}

static void drop(tl_core *core) {
    core->flow = core->fetch_flow = core->isa_flow;
    core->tap = NULL;
}

// Only a tl_tap asks for owners and fetches.
static void set_tap(core_tap *t, tl_tap *tap) {
    t->tap = tap;
    t->core->fetch_flow = tap ? &t->flow : t->inner;
    t->core->owner_tap = tap && tap->owners ? t : NULL;
    see(t);
}

static void detach(tl_core *core) {
    core_tap *t = core->tap;
    if (!t || !t->tap)
        return;
    tell_idle(t);
    if (t->n_events > 0) // of a cycle that is not over; a clock tap is told at its end
        tell(t, core->h->now, 0, TL_S_HART_CYC_ISSUE, t->n_events);
    set_tap(t, NULL);
    if (!t->clocks)
        drop(core);
}

// The tap in front of the flow, begun now if it was not there.
static core_tap *begin(tl_core *core, tl_error *err) {
    if (core->tap)
        return core->tap;
    if (!core->spare_tap)
        core->spare_tap = tap_new(core);
    core_tap *t = core->spare_tap;
    if (!t) {
        (void)tl_fail(err, TL_ENOMEM, "no memory for the cycle records of hart%u", core->h->id);
        return NULL;
    }
    t->end = t->idle_from = core->h->now;
    t->idle_cause = TL_TAP_OUTSIDE;
    t->retired = t->of_cycle = t->counted = nobody;
    t->first = core->retired;
    t->renamed = core->renamed;
    t->n_events = t->steps = 0;
    t->shown = NEVER;
    memcpy(t->was_dispatched, core->was_dispatched, sizeof t->was_dispatched);
    (void)vain_of(t);
    core->flow = &t->flow;
    core->tap = t;
    return t;
}

tl_status tl_core_tap(tl_core *core, tl_tap *tap, tl_error *err) {
    detach(core);
    if (!tap)
        return TL_OK;
    core_tap *t = begin(core, err);
    if (!t)
        return TL_ENOMEM;
    set_tap(t, tap);
    t->retired = t->of_cycle = t->counted = nobody;
    t->end = t->idle_from = core->h->now;
    t->idle_cause = TL_TAP_OUTSIDE;
    t->first = core->fetched;
    return TL_OK;
}

tl_status tl_core_clock_tap(tl_core *core, tl_clock_tap *tap, tl_error *err) {
    core_tap *t = core->tap;
    if (tap) {
        t = begin(core, err);
        if (!t)
            return TL_ENOMEM;
        t->clocks = tap;
        tap->retired[core->thread] = &core->retired;
        tap->renamed[core->thread] = &t->renamed;
        see(t);
        tap->resume(tap, core->h, core->thread);
        return TL_OK;
    }
    if (t) {
        t->clocks = NULL;
        t->rows = NULL;
    }
    if (t && !t->tap)
        drop(core);
    return TL_OK;
}
