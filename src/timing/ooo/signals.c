// SPDX-License-Identifier: MIT
// The rows of core_signals.def as a unit type, and the identities that hold between them.
#include "timing/ooo/ooo.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bits.h"

static const tl_signal signals[] = {
#define SIGNAL(id, name, measure, max_step, meaning) {#name, meaning, TL_MEASURE_##measure, max_step},
#include "timing/ooo/core_signals.def"
#undef SIGNAL
};

static const tl_unit_type core_type = {
    .name = "core",
    .meaning = "The detailed core: fetch along predicted paths, reorder buffer, ports, replay, store buffers.",
    .signals = signals,
    .n_signals = TL_COUNT_OF(signals),
};

uint32_t tl_core_n_units(const tl_config *config) { return config->core.kind == TL_CORE_OUT_OF_ORDER ? config->n_harts : 0; }

const tl_unit_type *tl_core_unit_at(uint32_t index, char *ret_path, size_t size_bytes) {
    snprintf(ret_path, size_bytes, "hart%u.core", index);
    return &core_type;
}

typedef struct identity {
    const char *what;
    uint64_t left, right;
} identity;

static uint64_t sum(const uint64_t *t, uint32_t first, uint32_t last) {
    uint64_t total = 0;
    for (uint32_t i = first; i <= last; i++)
        total += t[i];
    return total;
}

// DTLB entries that the other thread has replaced, its own ones among them.
static uint64_t other_evictions(const tl_core *core) {
    const core_shared *shared = core->shared;
    return shared->n_threads == 1 ? 0 : shared->threads[1 - core->thread]->h->tally[TL_S_DTLB_EVICT];
}

tl_status tl_core_check(const tl_core *core, tl_error *err) {
    const uint64_t *t = core->tally, *h = core->h->tally;
    const uint64_t waiting = core->memory_used + core->general_used;
    const uint64_t traced = core->shared->traces ? t[CORE_FETCH_INSN] : 0;
    const identity equal[] = {
        {"fetched instructions are retired, taken back or in flight", t[CORE_FETCH_INSN],
         t[CORE_RETIRE_INSN] + t[CORE_TAKEN_BACK_INSN] + core->fetched - core->retired},
        {"core.retire_insn + core.alone + core.forward_insn equals instret", t[CORE_RETIRE_INSN] + t[CORE_ALONE] + t[CORE_FORWARD_INSN],
         h[TL_S_HART_INSTRET]},
        {"renamed uops are retired, taken back or in flight", t[CORE_RENAME_UOP],
         t[CORE_RETIRE_UOP] + t[CORE_TAKEN_BACK_UOP] + core->rob_used},
        {"core.trace_insn + core.build_insn is core.fetch_insn, if there is a trace cache", t[CORE_TRACE_INSN] + t[CORE_BUILD_INSN],
         traced},
        {"core.dispatch is first dispatches and replays", t[CORE_DISPATCH], t[CORE_DISPATCH_FIRST] + t[CORE_REPLAY]},
        {"dispatches by port sum to core.dispatch", sum(t, CORE_PORT_0, CORE_PORT_7), t[CORE_DISPATCH]},
        {"dispatches by class sum to core.dispatch", sum(t, CORE_DISPATCH_ALU, CORE_DISPATCH_DATA), t[CORE_DISPATCH]},
        {"renamed uops are dispatched, waiting or taken back", t[CORE_RENAME_UOP],
         t[CORE_DISPATCH_FIRST] + waiting + t[CORE_TAKEN_BACK_UOP] - t[CORE_TAKEN_BACK_FIRST]},
        {"causes of dispatches in vain sum to core.in_vain", sum(t, CORE_IN_VAIN_SOURCE, CORE_IN_VAIN_STORE), t[CORE_IN_VAIN]},
        {"core.resolve is branches, returns and indirect jumps", t[CORE_RESOLVE], sum(t, CORE_RESOLVE_COND, CORE_RESOLVE_INDIRECT)},
        {"cycles of fetch and of its waits sum to core.run_cycle", sum(t, CORE_FETCH_CYCLE, CORE_FETCH_ALONE) + t[CORE_FETCH_OTHER],
         t[CORE_RUN_CYCLE]},
        {"renamed uops and empty slots fill core.run_cycle", t[CORE_RENAME_UOP] + sum(t, CORE_SLOT_FETCH, CORE_SLOT_OTHER),
         t[CORE_RUN_CYCLE] * core->config->rename_width},
        {"core.slot_other is the slots of core.rename_other", t[CORE_SLOT_OTHER], t[CORE_RENAME_OTHER] * core->config->rename_width},
        {"renamed loads are retired, taken back or in a load buffer", t[CORE_RENAME_LOAD],
         t[CORE_RETIRE_LOAD] + t[CORE_TAKEN_BACK_LOAD] + core->loads_used},
        {"renamed stores are retired, taken back or in a store buffer", t[CORE_RENAME_STORE],
         t[CORE_RETIRE_STORE] + t[CORE_TAKEN_BACK_STORE] + core->end_store - core->senior_store},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(equal); i++)
        if (equal[i].left != equal[i].right)
            return tl_fail(err, TL_EINVAL,
                           "the counts of hart%u do not add up: %s, but %" PRIu64 " is not %" PRIu64
                           "; this is a defect of tally, please report it",
                           core->h->id, equal[i].what, equal[i].left, equal[i].right);
    const identity at_most[] = {
        {"core.replay <= core.in_vain", t[CORE_REPLAY], t[CORE_IN_VAIN]},
        {"core.trace_hit <= core.trace_lookup", t[CORE_TRACE_HIT], t[CORE_TRACE_LOOKUP]},
        {"core.trace_left <= core.trace_hit", t[CORE_TRACE_LEFT], t[CORE_TRACE_HIT]},
        {"core.trace_evict <= core.trace_fill", t[CORE_TRACE_EVICT], t[CORE_TRACE_FILL]},
        {"core.trace_cycle <= core.fetch_cycle", t[CORE_TRACE_CYCLE], t[CORE_FETCH_CYCLE]},
        {"core.load_miss <= core.load_lookup", t[CORE_LOAD_MISS], t[CORE_LOAD_LOOKUP]},
        {"core.load_dtlb_miss <= core.load_lookup", t[CORE_LOAD_DTLB_MISS], t[CORE_LOAD_LOOKUP]},
        {"core.execute_single + core.execute_double <= core.dispatch_fp + core.dispatch_fp_div",
         t[CORE_EXECUTE_SINGLE] + t[CORE_EXECUTE_DOUBLE], t[CORE_DISPATCH_FP] + t[CORE_DISPATCH_FP_DIV]},
        {"core.execute_fp_load <= core.dispatch_load", t[CORE_EXECUTE_FP_LOAD], t[CORE_DISPATCH_LOAD]},
        {"core.load_split_wrong <= core.load_split", t[CORE_LOAD_SPLIT_WRONG], t[CORE_LOAD_SPLIT]},
        {"core.store_dtlb_miss <= core.rename_store", t[CORE_STORE_DTLB_MISS], t[CORE_RENAME_STORE]},
        {"core.store_dtlb_miss_wrong <= core.store_dtlb_miss", t[CORE_STORE_DTLB_MISS_WRONG], t[CORE_STORE_DTLB_MISS]},
        {"core.load_split <= core.load_lookup", t[CORE_LOAD_SPLIT], t[CORE_LOAD_LOOKUP]},
        {"loads that waited for stores by cause <= core.in_vain_store", sum(t, CORE_STORE_ADDRESS_WAIT, CORE_STORE_PART_WAIT),
         t[CORE_IN_VAIN_STORE]},
        {"core.store_split <= core.store_drain", t[CORE_STORE_SPLIT], t[CORE_STORE_DRAIN]},
        {"core.load_lookup <= l1d.load", t[CORE_LOAD_LOOKUP], h[TL_S_L1D_LOAD]},
        {"core.both_cycle <= cycle", t[CORE_BOTH_CYCLE], h[TL_S_HART_CYCLE]},
        {"core.retire_full <= core.retire_cycle", t[CORE_RETIRE_FULL], t[CORE_RETIRE_CYCLE]},
        {"core.miss_any <= core.miss_cycles", t[CORE_MISS_ANY], t[CORE_MISS_CYCLES]},
        {"core.taken_back_done <= core.taken_back_first", t[CORE_TAKEN_BACK_DONE], t[CORE_TAKEN_BACK_FIRST]},
        {"core.taken_back_branch + core.retire_branch <= core.rename_branch", t[CORE_TAKEN_BACK_BRANCH] + t[CORE_RETIRE_BRANCH],
         t[CORE_RENAME_BRANCH]},
        {"core.rob_uops <= core.rob * core.run_cycle", t[CORE_ROB_UOPS], t[CORE_RUN_CYCLE] * core->config->rob_uops},
        {"core.loads_held <= core.loads * core.run_cycle", t[CORE_LOADS_HELD], t[CORE_RUN_CYCLE] * core->config->load_buffers},
        {"core.stores_held <= core.stores * core.run_cycle", t[CORE_STORES_HELD], t[CORE_RUN_CYCLE] * core->config->store_buffers},
        {"core.memory_queue_uops <= core.memory_queue * core.run_cycle", t[CORE_MEMORY_QUEUE_UOPS],
         t[CORE_RUN_CYCLE] * core->config->memory_queue},
        {"core.general_queue_uops <= core.general_queue * core.run_cycle", t[CORE_GENERAL_QUEUE_UOPS],
         t[CORE_RUN_CYCLE] * core->config->general_queue},
        {"core.front_insns <= front end * core.run_cycle", t[CORE_FRONT_INSNS], t[CORE_RUN_CYCLE] * core->front_capacity},
        {"core.dtlb_lost <= dtlb.evict of the other thread", t[CORE_DTLB_LOST], other_evictions(core)},
        {"core.run_cycle <= hart.cycle", t[CORE_RUN_CYCLE], h[TL_S_HART_CYCLE]},
        {"core.store_drain <= retired stores", t[CORE_STORE_DRAIN], h[TL_S_HART_INSN_STORE] + h[TL_S_HART_INSN_FP_STORE]},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(at_most); i++)
        if (at_most[i].left > at_most[i].right)
            return tl_fail(err, TL_EINVAL,
                           "the counts of hart%u do not add up: %s, but %" PRIu64 " is more than %" PRIu64
                           "; this is a defect of tally, please report it",
                           core->h->id, at_most[i].what, at_most[i].left, at_most[i].right);
    return TL_OK;
}
