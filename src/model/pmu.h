// SPDX-License-Identifier: MIT
// What one PMU design provides, and all it may ask for. Counting belongs to the machine: it keeps
// running totals of every signal (model/unit.h). Meaning belongs to a PMU: its events are named
// sums of signals, its counters differences of totals, its registers rows of a register map. A
// design never sees the machine, so it can be tried with a host whose totals the test writes.
//
// Sources of events are written "hart.insn_load + l1d.load_miss": the unit's name and the signal's.
// A unit that every hart has is the own hart's; of the others all are summed ("l2.read": over all
// slices). # is the number of the own hart: "l2.read_hart#".
#ifndef TL_MODEL_PMU_H
#define TL_MODEL_PMU_H

#include "base/arena.h"
#include "base/status.h"
#include "model/bus.h"
#include "model/config_keys.h"
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
    const char *name, *title; // "linux"
    const tl_event *events;
    uint32_t n_events;
    const char *selectors; // one sentence: how selectors are made up
    const tl_pmu_tree *tree;
} tl_pmu_preset;

typedef struct tl_pmu_type tl_pmu_type;

// The machine as a PMU may see it. Calls are cheap but for sync.
typedef struct tl_pmu_host {
    void *ctx;
    const tl_probe *probe;
    const tl_config *config; // what the machine is made of; NULL: a host that is no machine
    uint32_t n_harts;        // 0: a host that is no machine
    // What the description says of this design, its settings_size bytes. NULL: its
    // default_settings.
    const void *(*settings)(void *ctx, const tl_pmu_type *type);
    void (*sync)(void *ctx, uint32_t hart);      // all totals of this hart are right, to the instruction before the one under way
    uint64_t (*cycle)(void *ctx, uint32_t hart); // signal hart.cycle, without sync
    // The same as it is in machine cycle `now`, which may lie before or behind where the hart has
    // come: while a hart has nothing to run, its cycles stand still.
    uint64_t (*cycle_in)(void *ctx, uint32_t hart, uint64_t now);
    uint64_t (*instret)(void *ctx, uint32_t hart); // signal hart.instret, without sync
    uint64_t (*time)(void *ctx, uint32_t hart);    // machine time, as CSR time shows it
    tl_priv (*privilege)(void *ctx, uint32_t hart);
    // Counters (bit n: counter n) that user mode may read although no system software is there to
    // permit it; 0 when there is.
    uint32_t (*user_counters)(void *ctx, uint32_t hart);
    void (*set_irq)(void *ctx, uint32_t hart, tl_irq irq, bool level);
    // Writes bytes into RAM as a bus master does: coherent with the caches and counted in unit dma.
    // false: not all of it is RAM.
    bool (*dma)(void *ctx, uint64_t paddr, const void *bytes, uint64_t size_bytes, uint64_t now);
    void (*changed)(void *ctx, uint32_t hart); // what the port needs, or its deadline, may have changed: ask again soon
} tl_pmu_host;

typedef struct tl_pmu {
    tl_regfile file;
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    const tl_pmu_host *host;
    const void *settings; // of the design's type
    uint32_t hart;
    tl_pmu_port port; // filled by attach
} tl_pmu;

enum { TL_PMU_MAX_TEXTS = 24 };

// One instance for each hart, or one for the whole machine.
typedef enum tl_pmu_scope { TL_PMU_OF_HART, TL_PMU_OF_MACHINE } tl_pmu_scope;

// Whether programs under the user-mode personality may use a design, as their kernel would permit
// it.
typedef enum tl_grant { TL_DENIED, TL_GRANTED, TL_GRANTED_UNTIL_EXEC } tl_grant;

// The device tree's node of a design with a window. The board adds address and size.
enum { TL_PMU_NODE_NUMBERS = 4 };
typedef struct tl_pmu_node {
    const char *name;          // "cache-controller"
    const char *compatible;    // strings one after the other, each with its NUL
    uint32_t compatible_bytes; // with all NULs
    bool is_l2_cache;          // the node is that of the second-level cache, too
    struct {
        const char *name;
        uint32_t value;
    } numbers[TL_PMU_NODE_NUMBERS];
    uint32_t n_numbers;
} tl_pmu_node;

// Hooks may be NULL unless attach or reset.
struct tl_pmu_type {
    const char *name, *title, *cite; // name: one word, as options take it
    const tl_regmap *regmap;
    const tl_pmu_preset *const *presets; // NULL-terminated; the first is the default
    tl_pmu_scope scope;
    size_t state_size; // of the design's struct, tl_pmu first

    // Keys of a machine description: rows name values of the design's settings.
    const tl_key *keys; // the last one's path is NULL; NULL: none
    const void *default_settings;
    size_t settings_size;
    const char *settings_title; // "Distributed counters": reports name settings that are not the default ones under it; NULL: they do not
    TL_MUST_CHECK tl_status (*check)(const void *settings, tl_error *err); // rules that span several keys
    // Asked before programs run under the user-mode personality: what is granted is there.
    TL_MUST_CHECK tl_status (*check_grant)(const void *settings, tl_error *err);
    const tl_pmu_preset *(*choose)(const void *settings); // of a machine with these settings; NULL: it has no such PMU
    tl_grant (*grant)(const void *settings);              // NULL hook: TL_DENIED
    const char *grant_name;                               // with grant: NAME of the key os.NAME, which says what is granted

    // Window: registers are reached by loads and stores; their addresses are offsets in it.
    // window_bytes 0: by CSRs.
    uint64_t window_paddr, window_bytes;
    void (*describe_node)(const tl_pmu *pmu, tl_pmu_node *ret_node); // of designs with a window; NULL: no node
    const char *device_name;                                         // a granted program maps the window from /dev/NAME; NULL: it cannot
    uint32_t device_minor;                                           // of that file; the major number is 10

    // A port that attach leaves empty reaches the rows of the register map by their addresses, in
    // every mode.
    TL_MUST_CHECK tl_status (*attach)(tl_pmu *pmu, tl_arena *arena, tl_error *err);
    void (*reset)(tl_pmu *pmu); // power-on state; totals go on
    // Of TL_PMU_OF_MACHINE: the registers of one hart and the port that hangs in it. NULL: the
    // instance has no port in harts.
    tl_pmu *(*of_hart)(tl_pmu *pmu, uint32_t hart);
    uint64_t (*irqs)(const tl_pmu *pmu);                             // a bit for each interrupt line of a hart that it may raise
    void (*notice)(tl_pmu *pmu, const tl_hart *h, tl_notice notice); // who runs may have changed
    // A process that does not trust the last one gets this hart; is_granted says whether it may use
    // the design.
    void (*hand_over)(tl_pmu *pmu, uint32_t hart, uint64_t now, bool is_granted);
    // Linux perf: what event it counts, as source texts of the machine's signals. SBI: an event_idx
    // of the SBI's PMU extension, else a raw selector of this design. Returns the number of texts,
    // at most TL_PMU_MAX_TEXTS; 0: no such event.
    uint32_t (*perf_sources)(const tl_pmu *pmu, bool is_sbi, uint64_t selector, const char *ret_texts[]);
    uint64_t (*tick)(tl_pmu *pmu, uint64_t now); // does what is due up to `now`; returns the next cycle in which something is
    // Accesses of harts to devices pass the design: a bus that answers as `below`, which is
    // borrowed.
    const tl_bus *(*watch_bus)(tl_pmu *pmu, const tl_bus *below);
};

extern const tl_pmu_type *const tl_pmu_types[]; // every design, NULL-terminated: src/meson.build names them

const tl_pmu_type *tl_pmu_find(const char *name);                                   // NULL: no design of that name
const tl_pmu_preset *tl_pmu_find_preset(const tl_pmu_type *type, const char *name); // NULL: none of that name
// A PMU of one hart, or the machine's with hart 0, in its reset state. `host` is borrowed.
// access_bits is the hart's XLEN.
TL_MUST_CHECK tl_status tl_pmu_new(const tl_pmu_type *type, const tl_pmu_preset *preset, uint32_t access_bits, const tl_pmu_host *host,
                                   uint32_t hart, tl_arena *arena, tl_pmu **ret_pmu, tl_error *err);

// A register of a port by its number, as an instruction reads and writes it; `retired` is the
// caller's. false: there is none, or it is refused.
bool tl_port_read(const tl_pmu_port *port, tl_hart *h, uint32_t number, uint64_t *ret_value);
bool tl_port_write(const tl_pmu_port *port, tl_hart *h, uint32_t number, uint64_t value);

// A PMU with a window, as the bus sees it: aligned accesses of 4 or 8 bytes, halves of wider
// registers where high_addr says. What no register answers reads 0 and ignores writes. false: not
// an access it knows.
bool tl_pmu_load(tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value);
bool tl_pmu_store(tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, uint64_t value);

// An event on one machine: the totals it sums.
typedef struct tl_sources {
    tl_cell *cells;
    uint32_t n_cells;
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
