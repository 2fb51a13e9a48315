// SPDX-License-Identifier: MIT
// What one PMU design provides, and all it may ask for. Counting belongs to the machine: it keeps running totals of every signal
// (model/unit.h). Meaning belongs to a PMU: its events are named sums of signals, its counters differences of totals, its registers rows
// of a register map. A design never sees the machine, so it can be tried with a host whose totals the test writes.
//
// Sources of events are written "hart.insn_load + l1d.load_miss": the unit's name and the signal's. A unit that every hart has is the own
// hart's; of the others all are summed ("l2.read": over all slices). # is the number of the own hart: "l2.read_hart#".
#ifndef TL_MODEL_PMU_H
#define TL_MODEL_PMU_H

#include "base/arena.h"
#include "base/status.h"
#include "model/counter.h"
#include "model/hart.h"
#include "model/pmu_tree.h"
#include "model/probe.h"
#include "model/regmap.h"

typedef enum tl_fidelity { TL_EXACT, TL_APPROXIMATE, TL_NOT_MODELED } tl_fidelity;

typedef struct tl_event {
    uint64_t selector;
    const char *name, *cite;
    const char *sources;  // NULL: not modeled
    tl_fidelity fidelity; // TL_NOT_MODELED: the selector reads back as none
    const char *note;     // how it differs from what the name promises; required unless exact
} tl_event;

// A variant of a design: which events, how many counters. A design's own struct begins with it.
typedef struct tl_pmu_preset {
    const char *name, *title; // "u74"
    const tl_event *events;
    uint32_t n_events;
    const char *selectors; // one sentence: how selectors are made up
    const tl_pmu_tree *tree;
} tl_pmu_preset;

// The machine as a PMU may see it. Calls are cheap but for sync.
typedef struct tl_pmu_host {
    void *ctx;
    const tl_probe *probe;
    const tl_config *config;                     // what the machine is made of; NULL: a host that is no machine
    void (*sync)(void *ctx, uint32_t hart);      // all totals of this hart are right, to the instruction before the one under way
    uint64_t (*cycle)(void *ctx, uint32_t hart); // signal hart.cycle, without sync
    // The same as it is in machine cycle `now`, which may lie before or behind where the hart has come: while a hart has nothing to run, its
    // cycles stand still.
    uint64_t (*cycle_in)(void *ctx, uint32_t hart, uint64_t now);
    uint64_t (*instret)(void *ctx, uint32_t hart); // signal hart.instret, without sync
    uint64_t (*time)(void *ctx, uint32_t hart);    // machine time, as CSR time shows it
    tl_priv (*privilege)(void *ctx, uint32_t hart);
    // Counters (bit n: counter n) that user mode may read although no system software is there to permit it; 0 when there is.
    uint32_t (*user_counters)(void *ctx, uint32_t hart);
    void (*set_irq)(void *ctx, uint32_t hart, tl_irq irq, bool level);
    void (*changed)(void *ctx, uint32_t hart); // what the port needs, or its deadline, may have changed: ask again soon
} tl_pmu_host;

typedef struct tl_pmu_type tl_pmu_type;

typedef struct tl_pmu {
    tl_regfile file;
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    const tl_pmu_host *host;
    uint32_t hart;
    tl_pmu_port port; // filled by attach
} tl_pmu;

struct tl_pmu_type {
    const char *name, *title, *cite; // "rvhpm"
    const tl_regmap *regmap;
    const tl_pmu_preset *const *presets; // NULL-terminated; the first is the default
    size_t state_size;                   // of the design's struct, tl_pmu first
    uint64_t window_bytes;               // reached by loads and stores: its registers' addresses are offsets in so many bytes; 0: by CSRs
    TL_MUST_CHECK tl_status (*attach)(tl_pmu *pmu, tl_arena *arena, tl_error *err);
    void (*reset)(tl_pmu *pmu); // power-on state; totals go on
};

extern const tl_pmu_type *const tl_pmu_types[]; // every design, NULL-terminated: src/meson.build names them

const tl_pmu_type *tl_pmu_find(const char *name);                                   // NULL: no design of that name
const tl_pmu_preset *tl_pmu_find_preset(const tl_pmu_type *type, const char *name); // NULL: none of that name
// A PMU of one hart in its reset state. `host` is borrowed. access_bits is the hart's XLEN.
TL_MUST_CHECK tl_status tl_pmu_new(const tl_pmu_type *type, const tl_pmu_preset *preset, uint32_t access_bits, const tl_pmu_host *host,
                                   uint32_t hart, tl_arena *arena, tl_pmu **ret_pmu, tl_error *err);

// A PMU with a window, as the bus sees it: aligned accesses of 4 or 8 bytes, halves of wider registers where high_addr says. What no
// register answers reads 0 and ignores writes. false: not an access it knows.
bool tl_pmu_load(tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value);
bool tl_pmu_store(tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, uint64_t value);

// An event on one machine: the totals it sums.
typedef struct tl_sources {
    tl_slot *slots;
    uint32_t n_slots;
    uint32_t max_step; // most it can grow in one cycle
    bool needs_sync;   // some total is held back by front-ends; hart.cycle and hart.instret are not, the host knows them
    bool is_slow;      // grows only where an access takes a slow path or a trap is taken: there the port is polled
    bool is_jumpy;     // can grow there: in the middle of what front-ends count as a whole
    bool is_retired;   // grows by max_step at most with each instruction that retires, and not otherwise
} tl_sources;

// TL_ENOENT: this machine has no such signal.
TL_MUST_CHECK tl_status tl_sources_resolve(const char *text, const tl_probe *probe, uint32_t hart, tl_arena *arena, tl_sources *ret_sources,
                                           tl_error *err);
const char *tl_fidelity_name(tl_fidelity fidelity); // "not modeled"

#endif
