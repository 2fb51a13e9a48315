// SPDX-License-Identifier: MIT
// Counts as Linux perf would report them. A design's driver (src/readers/<design>/source.c)
// programs each hart's counters through registers alone, as firmware and kernel do, and reads them
// back. If the events are more than the counters, they are multiplexed as perf does it. Events
// stand in a list, and the first ones that fit are on counters. The list rotates by one every 4 ms
// of simulated time; {a,b} is one entry. A count is scaled by the time enabled over the time on a
// counter.
//
// The driver costs the machine no cycle. perf's own cost is absent, therefore the error is the
// PMU's alone.
#ifndef TL_SESSION_PERF_H
#define TL_SESSION_PERF_H

#include "machine/machine.h"
#include "names/catalogue.h"
#include "result/outline.h"
#include "session/source.h"

enum { TL_PERF_TURN_NS = 4000000 }; // perf_event_mux_interval_ms of Linux

// A design whose counters perf can share out. Presets have a tree: what perf's names select.
enum { TL_PERF_COUNTERS = 32 };
typedef struct tl_perf_driver {
    const tl_pmu_type *pmu;
    const char *preset_key;  // of the description: names a preset
    uint32_t fixed_counters; // bit n: counter n counts one event only
    bool reads_in_turns;     // counters may wrap between two reads of a report
    // Finds the counters of a hart. Bit n of the result: counter n exists; ret_masks[n]: its bits.
    uint32_t (*find)(tl_pmu *pmu, tl_hart *h, uint64_t ret_masks[TL_PERF_COUNTERS]);
    bool (*prefers_fixed)(const tl_pmu_preset *preset);
    void (*start)(tl_pmu *pmu, tl_hart *h, uint32_t counter, uint64_t selector);
    void (*stop)(tl_pmu *pmu, tl_hart *h, uint32_t counter);
    uint64_t (*read)(tl_pmu *pmu, tl_hart *h, uint32_t counter);
    // Sampling; NULL: no counter interrupts.
    bool (*has_interrupts)(const tl_pmu_preset *preset);
    tl_irq irq;
    uint32_t silent_counters; // bit n: counter n does not interrupt
    // A stopped counter counts from `value` and interrupts when it wraps.
    void (*start_from)(tl_pmu *pmu, tl_hart *h, uint32_t counter, uint64_t selector, uint64_t value);
    // Bit n: counter n has wrapped since start_from. Clears the interrupt.
    uint32_t (*overflowed)(tl_pmu *pmu, tl_hart *h);
} tl_perf_driver;

typedef struct tl_perf_event {
    tl_counted counted; // rows describe it; tl_perf_bind finds its cells
    // Events between braces have one number. They are on counters together or not at all.
    uint32_t group;
    bool has_selector; // else a fixed counter counts it
    uint64_t selector; // of the register that chooses events
    uint32_t counters; // bit n: counter n can count it
} tl_perf_event;

typedef struct tl_perf_plan {
    const tl_perf_driver *driver;
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    const char *name; // "NAME:PRESET"
    tl_perf_event *events;
    const tl_counted **counted; // of the events
    uint32_t n_events, n_groups, n_harts;
    uint64_t clock_hz;
} tl_perf_plan;

// Resolves a comma-separated list: the PMU's own names, perf's names where the PMU's device tree
// has a selector for them, rHEX for a raw selector. TL_ENOENT: no such event; TL_EINVAL: this PMU
// cannot count it.
TL_MUST_CHECK tl_status tl_perf_resolve(const tl_perf_driver *driver, const char *pmu, const char *names, const tl_config *config,
                                        tl_catalogue *catalogue, tl_arena *arena, tl_perf_plan **ret_plan, tl_error *err);
// Finds the totals behind selectors.
TL_MUST_CHECK tl_status tl_perf_bind(tl_perf_plan *plan, const tl_probe *probe, tl_arena *arena, tl_error *err);

typedef struct tl_perf tl_perf; // lives in the arena

TL_MUST_CHECK tl_status tl_perf_new(const tl_perf_plan *plan, tl_machine *machine, tl_arena *arena, tl_perf **ret_perf, tl_error *err);
void tl_perf_enable(tl_perf *perf);
void tl_perf_disable(tl_perf *perf);
void tl_perf_turn(tl_perf *perf); // 4 ms have passed
// Machine cycle at which to call tl_perf_turn next; UINT64_MAX: everything fits, or nothing is
// enabled.
uint64_t tl_perf_next_turn(const tl_perf *perf);
const tl_perf_count *tl_perf_read(tl_perf *perf); // up to now

// Of these counters: a fixed one if the driver prefers it and there is one, otherwise a
// programmable one. -1: none counts the event.
int tl_perf_choose(const tl_perf_plan *plan, const tl_perf_event *event, uint32_t counters);

// Members of a design's tl_source_type. The first two want the driver besides. preset NULL: the
// description stays as it is.
TL_MUST_CHECK tl_status tl_perf_source_configure(const tl_perf_driver *driver, const tl_pmu_preset *preset, tl_config *config,
                                                 tl_error *err);
TL_MUST_CHECK tl_status tl_perf_source_resolve(const tl_perf_driver *driver, const tl_run_options *options, const tl_config *config,
                                               tl_catalogue *catalogue, tl_arena *arena, tl_source **ret_source, tl_error *err);
TL_MUST_CHECK tl_status tl_perf_source_attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run,
                                              void **ret_reader, tl_error *err);
void tl_perf_source_enable(void *reader);
void tl_perf_source_disable(void *reader);
uint64_t tl_perf_source_next_turn(const void *reader);
void tl_perf_source_turn(void *reader);
const tl_perf_count *tl_perf_source_read(void *reader, uint32_t *ret_n);
// Of drivers with has_interrupts: perf_sampling.c.
TL_MUST_CHECK tl_status tl_perf_sampling_attach(tl_source *source, tl_machine *machine, const tl_sample_taker *sampling,
                                                tl_arena *of_outline, tl_arena *of_run, void **ret_sampler, tl_error *err);
void tl_perf_sampling_begin(void *sampler);
void tl_perf_sampling_interrupted(void *sampler, tl_hart *h);
const char *tl_perf_sampling_method(const tl_source *source, uint32_t event);
tl_perf_plan *tl_perf_source_plan(tl_source *source);

// These members, where they need no driver.
#define TL_PERF_SOURCE_MEMBERS                                                                                                         \
    .takes_selectors = true, .attach = tl_perf_source_attach, .enable = tl_perf_source_enable, .disable = tl_perf_source_disable,      \
    .next_turn = tl_perf_source_next_turn, .turn = tl_perf_source_turn, .read = tl_perf_source_read,                                   \
    .attach_sampling = tl_perf_sampling_attach, .begin_sampling = tl_perf_sampling_begin, .interrupted = tl_perf_sampling_interrupted, \
    .sampling_method = tl_perf_sampling_method

#endif
