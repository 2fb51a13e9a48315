// SPDX-License-Identifier: MIT
// The engine of a detailed core: the flow of RISC-V on the core of timing/ooo.
#include "isa/rv/flow/flow.h"
#include "isa/rv/hart.h"
#include "model/core.h"

typedef struct ooo_engine {
    tl_flow *flow;
    tl_core *core;
} ooo_engine;

static ooo_engine *engine_of(const tl_hart *h) { return h->engine_state; }

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    ooo_engine *engine = tl_arena_alloc(arena, sizeof *engine);
    if (!engine)
        return tl_fail(err, TL_ENOMEM, "no memory for the detailed core of hart%u", h->id);
    h->engine_state = engine;
    tl_status status = tl_flow_new(h, arena, &engine->flow, err);
    if (status == TL_OK)
        status = tl_core_new(h, engine->flow, h->core_leader == h ? NULL : engine_of(h->core_leader)->core, arena, &engine->core, err);
    return status;
}

static void detach(tl_hart *h) {
    ooo_engine *engine = h->engine_state;
    tl_flow_free(engine->flow);
}

static tl_stop run_group(tl_hart *const *harts, uint32_t n_harts, uint32_t running, uint32_t group, uint64_t *n_insns, tl_hart **ret_hart) {
    tl_core *cores[TL_MAX_HARTS];
    for (uint32_t i = 0; i < n_harts; i++)
        cores[i] = engine_of(harts[i])->core;
    uint32_t index;
    const tl_stop stop = tl_core_run_group(cores, n_harts, running, group, n_insns, &index);
    *ret_hart = harts[index];
    return stop;
}

// The hart alone, while all others stand still.
static tl_stop run(tl_hart *h) {
    uint64_t n_insns = UINT64_MAX;
    tl_hart *stopped;
    return run_group(&h, 1, 1, 1, &n_insns, &stopped);
}

static void sync(tl_hart *h) {
    ooo_engine *engine = h->engine_state;
    tl_core_sync(engine->core);
}

static void hand_over(tl_hart *h) {
    const ooo_engine *engine = h->engine_state;
    tl_core_hand_over(engine->core);
}

static void take_over(tl_hart *h, uint64_t n_insns) {
    const ooo_engine *engine = h->engine_state;
    tl_core_take_over(engine->core, n_insns);
}

static tl_status check(const tl_hart *h, tl_error *err) {
    const ooo_engine *engine = h->engine_state;
    return tl_core_check(engine->core, err);
}

static tl_status tap(tl_hart *h, tl_tap *to, tl_error *err) {
    const ooo_engine *engine = h->engine_state;
    return tl_core_tap(engine->core, to, err);
}

static tl_status clock_tap(tl_hart *h, tl_clock_tap *to, tl_error *err) {
    const ooo_engine *engine = h->engine_state;
    return tl_core_clock_tap(engine->core, to, err);
}

// The bound holds for an instruction that executes alone.
static uint64_t overshoot_cycles(const tl_hart *h) { return h->config->pipeline.mispredict_cycles + 1000; }

static bool is_in_arena(const tl_hart *h) {
    (void)h;
    return true;
}

const tl_engine_type tl_engine_ooo = {
    .name = "ooo",
    .title = "the detailed core: out of order, with wrong paths",
    .attach = attach,
    .detach = detach,
    .isa = &tl_isa_rv64,
    .run = run,
    .run_group = run_group,
    .sync = sync,
    .check = check,
    .hand_over = hand_over,
    .take_over = take_over,
    .tap = tap,
    .clock_tap = clock_tap,
    .is_in_arena = is_in_arena,
    .overshoot_cycles = overshoot_cycles,
};
