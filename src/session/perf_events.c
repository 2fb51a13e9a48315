// SPDX-License-Identifier: MIT
// From names to selectors. perf's names are numbers of the SBI extension PMU, which the PMU's part
// of the device tree turns into selectors: the way of a name through Linux and OpenSBI.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/nearest.h"
#include "session/perf.h"
#include "session/pmus.h"

enum { MAX_EVENTS = 256, MAX_PARTS = 64 };

// SBI event_idx of perf's generic events: Linux, drivers/perf/riscv_pmu_sbi.c.
static const struct {
    const char *name;
    uint32_t index;
} generic[] = {
    {"cycles", 1},
    {"cpu-cycles", 1},
    {"instructions", 2},
    {"cache-references", 3},
    {"cache-misses", 4},
    {"branches", 5},
    {"branch-instructions", 5},
    {"branch-misses", 6},
    {"bus-cycles", 7},
    {"stalled-cycles-frontend", 8},
    {"idle-cycles-frontend", 8},
    {"stalled-cycles-backend", 9},
    {"idle-cycles-backend", 9},
    {"ref-cycles", 10},
};
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
static const char *const accesses[] = {"-loads", "-load-misses", "-stores", "-store-misses", "-prefetches", "-prefetch-misses"};

static uint32_t index_of_name(const char *name) { // 0: none
    for (size_t i = 0; i < TL_COUNT_OF(generic); i++) {
        if (!strcmp(generic[i].name, name))
            return generic[i].index;
    }
    for (uint32_t cache = 0; cache < TL_COUNT_OF(caches); cache++) {
        size_t length = strlen(caches[cache]);
        for (uint32_t access = 0; !strncmp(name, caches[cache], length) && access < TL_COUNT_OF(accesses); access++) {
            if (!strcmp(name + length, accesses[access]))
                return 0x10000 | cache << 3 | access;
        }
    }
    return 0;
}

static uint32_t counters_of_index(const tl_pmu_tree *tree, uint32_t index) {
    uint32_t counters = 0;
    for (uint32_t i = 0; i < tree->n_counters; i++) {
        if (index >= tree->counters[i].first_event && index <= tree->counters[i].last_event)
            counters |= tree->counters[i].counters;
    }
    return counters;
}

static uint32_t counters_of_raw(const tl_pmu_tree *tree, uint64_t selector) {
    uint32_t counters = 0;
    for (uint32_t i = 0; i < tree->n_raw; i++) {
        if ((selector & tree->raw[i].mask) == tree->raw[i].match)
            counters |= tree->raw[i].counters;
    }
    return counters;
}

static void use_index(const tl_pmu_tree *tree, uint32_t index, tl_perf_event *event) {
    event->counters = counters_of_index(tree, index);
    for (uint32_t i = 0; i < tree->n_events && !event->has_selector; i++) {
        event->has_selector = tree->events[i].event == index;
        if (event->has_selector)
            event->selector = tree->events[i].selector;
    }
}

static void use_selector(const tl_pmu_tree *tree, uint64_t selector, tl_perf_event *event) {
    event->has_selector = true;
    event->selector = selector;
    event->counters = counters_of_raw(tree, selector);
    for (uint32_t i = 0; i < tree->n_events; i++) {
        if (tree->events[i].selector == selector)
            event->counters |= counters_of_index(tree, tree->events[i].event);
    }
}

static const tl_event *event_named(const tl_pmu_preset *preset, const char *name) {
    for (uint32_t i = 0; i < preset->n_events; i++) {
        if (!strcmp(preset->events[i].name, name))
            return &preset->events[i];
    }
    return NULL;
}

// The events that a selector stands for: one, or those of a class whose bits it has. 0: it means
// nothing.
static uint32_t parts_of(const tl_pmu_preset *preset, uint64_t selector, const tl_event *ret_parts[MAX_PARTS]) {
    uint64_t found = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < preset->n_events; i++) {
        if (preset->events[i].selector == selector) {
            ret_parts[0] = &preset->events[i];
            return 1;
        }
    }
    for (uint32_t i = 0; i < preset->n_events && n < MAX_PARTS; i++) {
        const tl_event *event = &preset->events[i];
        if ((event->selector & 0xff) == (selector & 0xff) && event->selector >> 8 != 0 && !(event->selector & ~selector)) {
            found |= event->selector;
            ret_parts[n++] = event;
        }
    }
    return found == selector ? n : 0;
}

static bool read_raw(const char *name, uint64_t *ret_selector) {
    size_t n_digits = *name == 'r' ? strspn(name + 1, "0123456789abcdefABCDEF") : 0;
    if (n_digits == 0 || n_digits > 14 || name[1 + n_digits]) // 56 bits
        return false;
    *ret_selector = strtoull(name + 1, NULL, 16);
    return true;
}

static tl_status unknown(const tl_perf_plan *plan, const char *name, bool has_truth, tl_error *err) {
    tl_nearest nearest;
    char text[256];
    if (has_truth || index_of_name(name))
        return tl_fail(err, TL_EINVAL, "pmu %s cannot count %s; tally list events -P %s shows what it can", plan->name, name, plan->name);
    tl_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < plan->preset->n_events; i++)
        tl_nearest_offer(&nearest, plan->preset->events[i].name);
    for (size_t i = 0; i < TL_COUNT_OF(generic); i++)
        tl_nearest_offer(&nearest, generic[i].name);
    for (size_t i = 0; i < TL_COUNT_OF(caches) * TL_COUNT_OF(accesses); i++) {
        snprintf(text, sizeof text, "%s%s", caches[i / TL_COUNT_OF(accesses)], accesses[i % TL_COUNT_OF(accesses)]);
        tl_nearest_offer(&nearest, text);
    }
    return tl_fail(err, TL_ENOENT, "no event of pmu %s is called %s%s", plan->name, name, tl_nearest_text(&nearest, text, sizeof text));
}

static tl_status resolve_one(const tl_perf_plan *plan, const char *name, tl_catalogue *catalogue, tl_perf_event *event, tl_error *err) {
    const tl_pmu_tree *tree = plan->preset->tree;
    const tl_event *named = event_named(plan->preset, name);
    const tl_event *parts[MAX_PARTS];
    uint64_t selector;
    *event = (tl_perf_event){.counted = {.name = name, .unit = "", .meaning = ""}};
    if (strchr(name, ':'))
        return tl_fail(err, TL_EINVAL, "%s: with -P events have no modifiers; the kernel under a program is not in a mode of its own",
                       name);
    if (named && named->fidelity == TL_NOT_MODELED)
        return tl_fail(err, TL_EINVAL, "pmu %s: %s is not modeled%s%s", plan->name, name, named->note ? ": " : "",
                       named->note ? named->note : "");
    tl_quantities found = {0};
    bool has_truth =
        !named && !read_raw(name, &selector) && !strpbrk(name, "*?[") && tl_catalogue_events(catalogue, name, &found, NULL) == TL_OK;
    if (has_truth && found.n_items == 1) {
        event->counted.truth = found.items[0].formula;
        event->counted.unit = found.items[0].unit;
        event->counted.meaning = found.items[0].meaning;
    }
    tl_quantities_done(&found);
    if (named)
        use_selector(tree, named->selector, event);
    else if (index_of_name(name))
        use_index(tree, index_of_name(name), event);
    else if (read_raw(name, &selector))
        use_selector(tree, selector, event);
    const uint32_t n_parts = event->has_selector ? parts_of(plan->preset, event->selector, parts) : 0;
    for (uint32_t i = 0; i < n_parts; i++)
        if (parts[i]->fidelity == TL_NOT_MODELED)
            return tl_fail(err, TL_EINVAL, "pmu %s: %s is not modeled: %s", plan->name, name, parts[i]->note);
    for (uint32_t i = 0; i < n_parts; i++)
        if (*parts[i]->sources == '\0')
            return tl_fail(err, TL_EINVAL, "pmu %s: no signal stands beside %s; only software on the machine can count it", plan->name,
                           name);
    if (event->has_selector && n_parts == 0)
        return tl_fail(err, TL_EINVAL, "%s: selector 0x%llx means nothing to pmu %s", name, (unsigned long long)event->selector,
                       plan->name);
    return event->counters ? TL_OK : unknown(plan, name, has_truth, err);
}

// Cuts the braces of a group off one of its names.
static tl_status take_braces(char **name, const char *names, bool is_inside, bool *ret_begins, bool *ret_ends, tl_error *err) {
    *name += strspn(*name, " \t");
    *ret_begins = **name == '{';
    *name += *ret_begins + strspn(*name + *ret_begins, " \t");
    size_t n = strlen(*name);
    while (n > 0 && strchr(" \t", (*name)[n - 1]))
        (*name)[--n] = '\0';
    *ret_ends = n > 0 && (*name)[n - 1] == '}';
    if (*ret_ends)
        (*name)[n - 1] = '\0';
    if ((*ret_begins && is_inside) || (*ret_ends && !is_inside && !*ret_begins) || strpbrk(*name, "{}"))
        return tl_fail(err, TL_EINVAL, "-e %s: the braces of a group do not match; write {a,b}", names);
    return **name ? TL_OK : tl_fail(err, TL_EINVAL, "-e %s: the name of an event is missing; write {a,b}", names);
}

// "cpu/cycles/" is cycles, "cpu/event=0x4200/" is r4200, as in perf.
static tl_status take_slashes(char **name, tl_arena *arena, tl_error *err) {
    static const char event[] = "event=";
    size_t n = strlen(*name);
    if (!strchr(*name, '/'))
        return TL_OK;
    if (strncmp(*name, "cpu/", 4) != 0 || n < 6 || (*name)[n - 1] != '/' || strchr(*name + 4, '/') != *name + n - 1)
        return tl_fail(err, TL_EINVAL, "%s: write cpu/NAME/ or cpu/event=0xHEX/", *name);
    (*name)[n - 1] = '\0';
    *name += 4;
    if (strncmp(*name, event, strlen(event)) != 0)
        return TL_OK;
    char *digits = *name + strlen(event);
    digits += !strncmp(digits, "0x", 2) ? 2 : 0;
    *name = tl_arena_printf(arena, "r%s", digits);
    return *name ? TL_OK : tl_no_memory(err);
}

tl_status tl_perf_resolve(const tl_perf_driver *driver, const char *pmu, const char *names, const tl_config *config,
                          tl_catalogue *catalogue, tl_arena *arena, tl_perf_plan **ret_plan, tl_error *err) {
    tl_perf_plan *plan = tl_arena_alloc(arena, sizeof *plan);
    tl_perf_event *events = tl_arena_alloc(arena, MAX_EVENTS * sizeof *events);
    const tl_counted **counted = tl_arena_alloc(arena, MAX_EVENTS * sizeof *counted);
    char *list = tl_arena_strdup(arena, names), *rest = NULL;
    if (!plan || !events || !counted || !list)
        return tl_no_memory(err);
    *plan =
        (tl_perf_plan){.driver = driver, .events = events, .counted = counted, .n_harts = config->n_harts, .clock_hz = config->clock_hz};
    tl_status status = tl_pmus_find(pmu, &plan->type, &plan->preset, err);
    if (status != TL_OK)
        return status;
    if (!plan->preset)
        plan->preset = plan->type->presets[0];
    plan->name = tl_arena_printf(arena, "%s:%s", plan->type->name, plan->preset->name);
    if (!plan->name)
        return tl_no_memory(err);
    bool is_inside = false; // of braces
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        bool begins, ends;
        if (plan->n_events == MAX_EVENTS)
            return tl_fail(err, TL_EINVAL, "-e: more than %d events", MAX_EVENTS);
        status = take_braces(&name, names, is_inside, &begins, &ends, err);
        if (status == TL_OK)
            status = take_slashes(&name, arena, err);
        if (status == TL_OK)
            status = resolve_one(plan, name, catalogue, &events[plan->n_events], err);
        if (status != TL_OK)
            return status;
        plan->n_groups += !is_inside;
        events[plan->n_events].group = plan->n_groups - 1;
        counted[plan->n_events] = &events[plan->n_events].counted;
        plan->n_events++;
        is_inside = (is_inside || begins) && !ends;
    }
    if (is_inside)
        return tl_fail(err, TL_EINVAL, "-e %s: a group is not closed; write {a,b}", names);
    if (plan->n_events == 0)
        return tl_fail(err, TL_EINVAL, "-e: an empty list of events");
    *ret_plan = plan;
    return TL_OK;
}

tl_status tl_perf_bind(tl_perf_plan *plan, const tl_probe *probe, tl_arena *arena, tl_error *err) {
    for (uint32_t e = 0; e < plan->n_events; e++) {
        tl_perf_event *event = &plan->events[e];
        const tl_event *parts[MAX_PARTS];
        uint32_t n_parts = event->has_selector ? parts_of(plan->preset, event->selector, parts) : 0;
        const tl_cell **of_hart = tl_arena_alloc(arena, plan->n_harts * sizeof *of_hart);
        uint32_t *n_of_hart = tl_arena_alloc(arena, plan->n_harts * sizeof *n_of_hart);
        if (!of_hart || !n_of_hart)
            return tl_no_memory(err);
        event->counted.cells = of_hart;
        event->counted.n_cells = n_of_hart;
        for (uint32_t hart = 0; !event->counted.truth && hart < plan->n_harts; hart++) {
            tl_sources sources[MAX_PARTS];
            uint32_t n = 0;
            for (uint32_t i = 0; i < n_parts; i++) {
                tl_status status = tl_sources_resolve(parts[i]->sources ? parts[i]->sources : "", probe, hart, arena, &sources[i], err);
                if (status != TL_OK)
                    return status;
                n += sources[i].n_cells;
            }
            tl_cell *cells = tl_arena_alloc(arena, (n + 1) * sizeof *cells);
            if (!cells)
                return tl_no_memory(err);
            of_hart[hart] = cells;
            for (uint32_t i = 0; i < n_parts; i++) {
                if (sources[i].n_cells > 0)
                    memcpy(cells + n_of_hart[hart], sources[i].cells, sources[i].n_cells * sizeof *cells);
                n_of_hart[hart] += sources[i].n_cells;
            }
        }
    }
    return TL_OK;
}
