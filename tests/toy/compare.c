// SPDX-License-Identifier: MIT
// The toy in a comparison: a process loads from its window. It counts one event and brings neither
// trials nor ways to read nor an account.
#include <string.h>

#include "compare/design.h"
#include "machine/keys.h"
#include "toy.h"

extern const tl_compare_design_type tl_compare_toy;
enum { TOY_WINDOW = 0x8 };

typedef struct own {
    uint64_t load_pc, truth;
    const tl_sources *stores; // NULL: no request
    tl_watched *event;
} own;

static bool counts(const tl_watchable *event) { return strcmp(event->name, "integer_store") == 0; }

static tl_status complete(tl_compare_setup *setup, tl_error *err) {
    return tl_keys_get(&setup->config, "toy.period") != 0 ? TL_OK : tl_compare_add_setting(setup, "toy.period=100000", err);
}

static tl_status prepare(tl_watch *w, tl_error *err) {
    own *o = tl_arena_alloc(&w->arena, sizeof *o);
    if (!o)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    *o = (own){0};
    w->own = o;
    for (uint32_t i = 0; i < w->environment.setup->n_events; i++) {
        w->result->events[i] = (tl_watched){.reason = "the toy counts stores"};
        if (!counts(w->environment.setup->events[i]))
            continue;
        w->result->events[i] = (tl_watched){.has_value = true, .reason = "", .time_counted = 1};
        o->event = &w->result->events[i];
        o->stores = &w->truths[i];
    }
    tl_status status = tl_watch_make_upcall(w, err);
    tl_assembler a = tl_watch_code(w, TL_WATCH_USER, TL_WATCH_USER_DATA - TL_WATCH_USER);
    tl_watch_save(&a, TL_S0, TL_S0);
    tl_asm_load_constant(&a, TL_T1, TL_WATCH_VADDR + TL_WATCH_WINDOW + TOY_WINDOW);
    o->load_pc = tl_asm_here(&a);
    tl_asm_ld(&a, TL_S0, TL_T1, 0);
    tl_asm_load_constant(&a, TL_T2, TL_WATCH_VADDR + TL_WATCH_RESULTS);
    tl_asm_sd(&a, TL_S0, TL_T2, 0);
    tl_watch_restore(&a, TL_S0, TL_S0);
    tl_asm_ecall(&a);
    return status == TL_OK && a.is_full ? tl_watch_no_room(err) : status;
}

static void after(tl_watch *w, uint64_t pc, uint64_t cycle) {
    own *o = w->own;
    (void)cycle;
    if (pc != o->load_pc || !o->stores)
        return;
    tl_machine_sync(w->environment.machine);
    o->truth = tl_watch_truth(w, o->stores);
}

static tl_status finish(tl_watch *w, tl_error *err) {
    const own *o = w->own;
    (void)err;
    if (o->event) {
        o->event->value = tl_watch_word(w, TL_WATCH_RESULTS);
        o->event->truth = o->truth;
    }
    return TL_OK;
}

static const tl_watch_type watch = {.prepare = prepare, .after = after, .finish = finish};

const tl_compare_design_type tl_compare_toy = {
    .name = "toy",
    .title = "A counter of stores",
    .meaning = "A counter of each hart's stores, in a window.",
    .pmu = &tl_pmu_toy,
    .complete = complete,
    .counts = counts,
    .watch = &watch,
};
