// SPDX-License-Identifier: MIT
// Plan of a comparison, derived from options: the machine with every design's needs, events,
// designs and phases.
#ifndef TL_COMPARE_SETUP_H
#define TL_COMPARE_SETUP_H

#include "compare/events.h"
#include "machine/machine.h"
#include "result/comparison.h"

enum { TL_COMPARE_MAX_EVENTS = 64 };

typedef struct tl_compare_design_type tl_compare_design_type; // compare/design.h

typedef struct tl_compare_setup {
    tl_arena arena;
    tl_run_options run; // argv and env filled in; other strings are the caller's
    tl_config config;
    const tl_engine_type *engine;
    const tl_watchable *events[TL_COMPARE_MAX_EVENTS];
    uint32_t n_events;
    uint32_t designs[TL_COMPARE_MAX_DESIGNS]; // indexes of tl_compare_designs
    uint32_t n_designs;
    const char *added; // settings, "l2.counters=6, os.hpc=granted"
    uint64_t max_insns, interval_cycles;
    uint64_t wanted_interval_cycles; // before a reading outgrew it
    uint64_t sweep_insns;            // of each run of the sweep over events
    uint32_t n_phases, n_sweep_phases;
    bool with_sweeps;
    void (*progress)(void *ctx, const char *step); // or NULL
} tl_compare_setup;

TL_MUST_CHECK tl_status tl_compare_prepare(const tl_compare_options *options, tl_compare_setup *ret_setup, tl_error *err);
void tl_compare_setup_done(tl_compare_setup *setup);
bool tl_compare_has_design(const tl_compare_setup *setup, uint32_t design);
// Adds a setting to the machine, and to tl_compare_facts.added.
TL_MUST_CHECK tl_status tl_compare_add_setting(tl_compare_setup *setup, const char *setting, tl_error *err);

#endif
