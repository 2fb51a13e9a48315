// SPDX-License-Identifier: MIT
// The block on the bus, mapped into the program. The first reading configures it; every reading
// loads the counters. A counter starts at 0 when a selector is written.
//
// The truth of a value is the machine's count between the store that cleared the counter and the
// load that read it. A tap on the bus records the count at both accesses.
#include "readers/ccache/compare.h"

#include <string.h>

#include "model/bus.h"
#include "pmu/ccache/ccache.h"
#include "readers/ccache/on.h"

// STARTED is in the user's data, from sp.
enum { MAX_VALUES = 20, FIRST_VALUE = TL_S0, STARTED = 0x400, REGISTER_BYTES = 8 };

typedef struct own {
    tl_watch *watch;
    tl_bus bus;
    const tl_bus *below;
    uint32_t events[TL_CCACHE_MAX_COUNTERS]; // by counter
    uint32_t n_counters;
    uint64_t base[TL_CCACHE_MAX_COUNTERS], truth[TL_CCACHE_MAX_COUNTERS];
} own;

static bool is_counter(const own *o, uint64_t paddr, uint32_t *ret_counter) {
    uint64_t offset = paddr - TL_CCACHE_PADDR;
    *ret_counter = (uint32_t)((offset - TL_CCACHE_COUNTER) / REGISTER_BYTES);
    return offset >= TL_CCACHE_COUNTER && *ret_counter < o->n_counters;
}

static bool tap_read(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    own *o = ctx;
    uint32_t i;
    if (is_counter(o, paddr, &i))
        o->truth[i] = tl_watch_truth(o->watch, &o->watch->truths[o->events[i]]) - o->base[i];
    return o->below->read(o->below->ctx, agent, paddr, size_bytes, ret_value);
}

static bool tap_write(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    own *o = ctx;
    uint32_t i;
    if (is_counter(o, paddr, &i))
        o->base[i] = tl_watch_truth(o->watch, &o->watch->truths[o->events[i]]);
    return o->below->write(o->below->ctx, agent, paddr, size_bytes, value);
}

static void choose_events(tl_watch *w, own *o) {
    const tl_compare_setup *setup = w->environment.setup;
    for (uint32_t i = 0; i < setup->n_events; i++) {
        tl_watched *event = &w->result->events[i];
        *event = (tl_watched){.reason = ""};
        if (tl_ccache_selector_of(setup->events[i]) == 0) {
            event->reason = "not an event of the second level";
        } else if (o->n_counters == tl_ccache_settings_of(&setup->config).n_counters) {
            event->reason = "all counters of the block are taken; l2.counters says how many it has";
        } else {
            *event = (tl_watched){.has_value = true, .reason = "", .time_counted = 1};
            o->events[o->n_counters++] = i;
        }
    }
}

static void write_reader(tl_assembler *a, const own *o, const tl_compare_setup *setup) {
    uint32_t first = o->n_counters < MAX_VALUES ? o->n_counters : MAX_VALUES, last = FIRST_VALUE + (first > 0 ? first : 1) - 1;
    tl_watch_save(a, FIRST_VALUE, last);
    tl_asm_load_constant(a, TL_T1, TL_WATCH_VADDR + TL_WATCH_WINDOW + TL_CCACHE_COUNTER);
    tl_asm_ld(a, TL_T0, TL_SP, STARTED);
    uint32_t has_started = tl_asm_branch(a, TL_ASM_NE, TL_T0, TL_X0);
    tl_asm_load_constant(a, TL_T2, TL_WATCH_VADDR + TL_WATCH_WINDOW + TL_CCACHE_SELECT);
    for (uint32_t i = 0; i < o->n_counters; i++) {
        tl_asm_load_constant(a, TL_T0, tl_ccache_selector_of(setup->events[o->events[i]]));
        tl_asm_sd(a, TL_T0, TL_T2, REGISTER_BYTES * (int32_t)i);
        tl_asm_sd(a, TL_X0, TL_T1, REGISTER_BYTES * (int32_t)i);
    }
    tl_asm_addi(a, TL_T0, TL_X0, 1);
    tl_asm_sd(a, TL_T0, TL_SP, STARTED);
    tl_asm_bind(a, has_started);
    tl_asm_load_constant(a, TL_T2, TL_WATCH_VADDR + TL_WATCH_RESULTS);
    for (uint32_t from = 0; from < o->n_counters; from += MAX_VALUES) {
        uint32_t to = from + MAX_VALUES < o->n_counters ? from + MAX_VALUES : o->n_counters;
        for (uint32_t i = from; i < to; i++)
            tl_asm_ld(a, FIRST_VALUE + i - from, TL_T1, REGISTER_BYTES * (int32_t)i);
        for (uint32_t i = from; i < to; i++)
            tl_asm_sd(a, FIRST_VALUE + i - from, TL_T2, 8 * (int32_t)i);
    }
    tl_watch_restore(a, FIRST_VALUE, last);
    tl_asm_ecall(a);
}

static tl_status prepare(tl_watch *w, tl_error *err) {
    own *o = tl_arena_alloc(&w->arena, sizeof *o);
    if (!o)
        return tl_no_memory(err);
    *o = (own){.watch = w, .below = tl_machine_own_bus(w->environment.machine), .bus = {.ctx = o, .read = tap_read, .write = tap_write}};
    w->own = o;
    tl_machine_set_bus(w->environment.machine, &o->bus);
    choose_events(w, o);
    tl_status status = tl_watch_make_upcall(w, err);
    tl_assembler a = tl_watch_code(w, TL_WATCH_USER, TL_WATCH_USER_DATA - TL_WATCH_USER);
    write_reader(&a, o, w->environment.setup);
    if (status == TL_OK && a.is_full)
        status = tl_watch_no_room(err);
    return status;
}

static tl_status finish(tl_watch *w, tl_error *err) {
    const own *o = w->own;
    (void)err;
    for (uint32_t i = 0; i < o->n_counters; i++) {
        w->result->events[o->events[i]].value = tl_watch_word(w, TL_WATCH_RESULTS + 8 * i);
        w->result->events[o->events[i]].truth = o->truth[i];
    }
    return TL_OK;
}

const tl_watch_type tl_ccache_watch = {.prepare = prepare, .finish = finish};
