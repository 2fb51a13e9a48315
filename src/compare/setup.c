// SPDX-License-Identifier: MIT
// Turns options into a setup. Settings of the description add missing designs to the machine. All
// runs share the additions, because unread counters change nothing.
#include "compare/setup.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/nearest.h"
#include "compare/design.h"
#include "compare/interval.h"
#include "session/description.h"
#include "session/plan.h"
#include "session/run.h"

enum { DEFAULT_MAX_INSNS = 200000000, DEFAULT_PHASES = 8, MAX_PHASES = 64 };

enum { MAX_SWEEP_PHASES = 4, MAX_SWEEP_INSNS = 50000000 }; // some forty runs: each is kept short

bool tl_compare_has_design(const tl_compare_setup *setup, uint32_t design) {
    for (uint32_t i = 0; i < setup->n_designs; i++)
        if (setup->designs[i] == design)
            return true;
    return false;
}

// "a, b and c", of all designs of the list.
static void write_names(char *ret_text, size_t size_bytes) {
    size_t n = 0;
    for (uint32_t i = 0; tl_compare_designs[i] && n < size_bytes; i++) {
        const char *before = i == 0 ? "" : tl_compare_designs[i + 1] ? ", " : " and ";
        n += (size_t)snprintf(ret_text + n, size_bytes - n, "%s%s", before, tl_compare_designs[i]->name);
    }
}

static tl_status add_design(tl_compare_setup *s, const char *name, tl_error *err) {
    tl_nearest nearest;
    char text[128], names[128] = "";
    tl_nearest_init(&nearest, name);
    for (uint32_t i = 0; tl_compare_designs[i]; i++) {
        tl_nearest_offer(&nearest, tl_compare_designs[i]->name);
        if (strcmp(tl_compare_designs[i]->name, name) != 0)
            continue;
        if (tl_compare_has_design(s, i))
            return tl_fail(err, TL_EINVAL, "%s is named twice; name each design once", name);
        s->designs[s->n_designs++] = i;
        return TL_OK;
    }
    write_names(names, sizeof names);
    return tl_fail(err, TL_ENOENT, "%s is none of the designs that are compared, %s%s", name, names,
                   tl_nearest_text(&nearest, text, sizeof text));
}

static tl_status add_event(tl_compare_setup *s, const char *name, tl_error *err) {
    const tl_watchable *event = tl_watchable_find(name);
    if (!event) {
        tl_nearest nearest;
        char text[128];
        tl_nearest_init(&nearest, name);
        for (uint32_t i = 0; i < tl_n_watchables; i++)
            tl_nearest_offer(&nearest, tl_watchables[i].name);
        return tl_fail(err, TL_ENOENT, "no event that can be compared is called %s%s", name, tl_nearest_text(&nearest, text, sizeof text));
    }
    for (uint32_t i = 0; i < s->n_events; i++)
        if (s->events[i] == event)
            return tl_fail(err, TL_EINVAL, "event %s is named twice; name each once", name);
    s->events[s->n_events++] = event;
    return TL_OK;
}

typedef tl_status add_fn(tl_compare_setup *s, const char *name, tl_error *err);

static tl_status add_list(tl_compare_setup *s, const char *what, const char *names, add_fn *add, tl_error *err) {
    char *list = tl_arena_strdup(&s->arena, names), *rest = NULL;
    uint32_t n = 0;
    if (!list)
        return tl_no_memory(err);
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest), n++) {
        tl_status status = add(s, name, err);
        if (status != TL_OK)
            return status;
    }
    return n > 0 ? TL_OK : tl_fail(err, TL_EINVAL, "the list of %s is empty", what);
}

static tl_status choose_designs(tl_compare_setup *s, const char *names, tl_error *err) {
    if (tl_compare_count_designs() > TL_COMPARE_MAX_DESIGNS)
        return tl_fail(err, TL_EINVAL, "this build compares more than %d designs", TL_COMPARE_MAX_DESIGNS);
    if (names)
        return add_list(s, "designs", names, add_design, err);
    while (tl_compare_designs[s->n_designs]) {
        s->designs[s->n_designs] = s->n_designs;
        s->n_designs++;
    }
    return TL_OK;
}

static tl_status choose_events(tl_compare_setup *s, const char *names, tl_error *err) {
    if (names)
        return add_list(s, "events", names, add_event, err);
    for (uint32_t i = 0; i < tl_n_watchables; i++)
        if (tl_watchables[i].is_default)
            s->events[s->n_events++] = &tl_watchables[i];
    return TL_OK;
}

tl_status tl_compare_add_setting(tl_compare_setup *s, const char *setting, tl_error *err) {
    s->added = tl_arena_printf(&s->arena, "%s%s%s", s->added, *s->added ? ", " : "", setting);
    return s->added ? tl_config_set(&s->config, setting, err) : tl_no_memory(err);
}

// Counters first, then access rights; within both, designs with hart registers before designs with
// a window.
static tl_status complete_machine(tl_compare_setup *s, tl_error *err) {
    tl_status status = TL_OK;
    s->added = "";
    for (int is_grant = 0; is_grant <= 1; is_grant++)
        for (int has_window = 0; has_window <= 1; has_window++)
            for (const tl_compare_design_type *const *design = tl_compare_designs; *design; design++) {
                tl_compare_add_fn *add = is_grant ? (*design)->permit : (*design)->complete;
                if (status == TL_OK && add && ((*design)->pmu->window_bytes != 0) == has_window)
                    status = add(s, err);
            }
    return status;
}

static tl_status check_designs(const tl_compare_setup *s, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < s->n_designs && status == TL_OK; i++) {
        const tl_compare_design_type *design = tl_compare_designs[s->designs[i]];
        status = design->check ? design->check(s, err) : TL_OK;
    }
    return status;
}

static tl_status choose_program(tl_compare_setup *s, tl_error *err) {
    static const char *const nothing[] = {NULL};
    if (s->run.kind != TL_RUN_USER)
        return tl_fail(err, TL_EINVAL, "only Linux programs can be compared; in a system the counters belong to the guest");
    if (!s->run.program || !*s->run.program)
        return tl_fail(err, TL_EINVAL, "no program was named");
    if (s->run.pmu || s->run.metrics || s->run.roi_start || s->run.interval != TL_INTERVAL_NONE)
        return tl_fail(err, TL_EINVAL, "a comparison has no region of interest, no intervals and no metrics");
    if (!s->run.argv) {
        const char *slash = strrchr(s->run.program, '/');
        const char **argv = tl_arena_alloc(&s->arena, 2 * sizeof *argv);
        if (!argv)
            return tl_no_memory(err);
        argv[0] = slash ? tl_arena_printf(&s->arena, ".%s", slash) : s->run.program;
        s->run.argv = argv;
        if (!argv[0])
            return tl_no_memory(err);
    }
    if (!s->run.env)
        s->run.env = nothing;
    return TL_OK;
}

static tl_status prepare(const tl_compare_options *o, tl_compare_setup *s, tl_error *err) {
    tl_status status = choose_program(s, err);
    if (status == TL_OK)
        status = choose_designs(s, o->designs, err);
    if (status == TL_OK)
        status = choose_events(s, o->events, err);
    if (status == TL_OK)
        status = tl_plan_config(s->run.machine ? s->run.machine : "lowrisc2", s->run.overrides, &s->config, err);
    if (status == TL_OK)
        status = complete_machine(s, err);
    if (status == TL_OK)
        status = tl_keys_check(&s->config, err);
    s->with_sweeps = o->with_sweeps;
    if (status == TL_OK)
        status = check_designs(s, err);
    if (status != TL_OK)
        return status;
    if (o->interval_cycles != 0 && o->interval_cycles < TL_COMPARE_LEAST_INTERVAL)
        return tl_fail(err, TL_EINVAL, "an interval of %llu cycles leaves the program no time between two looks; choose at least %d",
                       (unsigned long long)o->interval_cycles, TL_COMPARE_LEAST_INTERVAL);
    if (o->n_phases > MAX_PHASES)
        return tl_fail(err, TL_EINVAL, "%u phases are too many; choose at most %d", o->n_phases, MAX_PHASES);
    if (s->config.isa != TL_ISA_RISCV64)
        return tl_fail(err, TL_EINVAL,
                       "machine %s executes AArch64 instructions, and all designs have readers for RISC-V; choose another machine",
                       s->config.name);
    s->engine = tl_session_engine(s->run.engine, s->config.isa);
    if (!s->engine)
        return tl_session_no_engine(&s->config, err);
    s->max_insns = s->run.max_insns ? s->run.max_insns : DEFAULT_MAX_INSNS;
    s->interval_cycles = o->interval_cycles;
    s->n_phases = o->n_phases ? o->n_phases : DEFAULT_PHASES;
    s->sweep_insns = s->max_insns < MAX_SWEEP_INSNS ? s->max_insns : MAX_SWEEP_INSNS;
    s->n_sweep_phases = s->n_phases < MAX_SWEEP_PHASES ? s->n_phases : MAX_SWEEP_PHASES;
    return TL_OK;
}

tl_status tl_compare_prepare(const tl_compare_options *given, tl_compare_setup *ret_setup, tl_error *err) {
    tl_compare_options options = {0};
    if (given->size < offsetof(tl_compare_options, designs))
        return tl_fail(err, TL_EINVAL, "the size of tl_compare_options is %u: call tl_compare_options_init first", given->size);
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    *ret_setup = (tl_compare_setup){.run = options.run, .progress = options.progress};
    tl_status status = prepare(&options, ret_setup, err);
    if (status != TL_OK)
        tl_compare_setup_done(ret_setup);
    return status;
}

void tl_compare_setup_done(tl_compare_setup *setup) { tl_arena_done(&setup->arena); }
