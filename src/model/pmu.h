// SPDX-License-Identifier: MIT
// The contract between a PMU design and its host. The machine keeps a tally of every signal
// (model/unit.h). The events of a design are named sums of signals. Its counters are differences of
// tallies. Its registers are rows of a register map. A design never includes the machine, so tests
// run it with a host whose tallies they write.
//
// A source text is "hart.insn_load + l1d.load_miss": names of units and signals. A unit that every
// hart has means the unit of the PMU's hart. Other units are summed: "l2.read" sums all slices. #
// stands for the number of the PMU's hart: "l2.read_hart#".
#ifndef TL_MODEL_PMU_H
#define TL_MODEL_PMU_H

#include "base/arena.h"
#include "base/status.h"
#include "model/bus.h"
#include "model/chip_monitor.h"
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
    const char *sources;  // NULL: not modeled; "": the design counts it by itself
    tl_fidelity fidelity; // TL_NOT_MODELED: the selector register reads back as no event
    const char *note;     // difference between the count and its name; required unless exact
} tl_event;

// A variant of a design: its events and counters. The preset struct of a design begins with
// tl_pmu_preset.
typedef struct tl_pmu_preset {
    const char *name, *title; // "linux"
    const tl_event *events;
    uint32_t n_events;
    const char *selectors; // one sentence: the format of selectors
    const tl_pmu_tree *tree;
} tl_pmu_preset;

typedef struct tl_pmu_type tl_pmu_type;
struct tl_clock_tap;

// The machine as a PMU may see it. All calls but sync are cheap.
typedef struct tl_pmu_host {
    void *ctx;
    const tl_probe *probe;
    const tl_config *config; // the machine description; NULL: a host that is no machine
    uint32_t n_harts;        // 0: a host that is no machine
    // Returns the settings of this design, settings_size bytes, from the machine description. NULL:
    // default_settings.
    const void *(*settings)(void *ctx, const tl_pmu_type *type);
    // Makes all tallies of this hart exact up to the instruction before the one under way.
    void (*sync)(void *ctx, uint32_t hart);
    uint64_t (*cycle)(void *ctx, uint32_t hart); // signal hart.cycle, without sync
    // Returns signal hart.cycle as of machine cycle `now`, which may lie before or after the hart's
    // clock. hart.cycle stands still while the hart has nothing to run.
    uint64_t (*cycle_in)(void *ctx, uint32_t hart, uint64_t now);
    uint64_t (*instret)(void *ctx, uint32_t hart); // signal hart.instret, without sync
    uint64_t (*time)(void *ctx, uint32_t hart);    // machine time, as CSR time shows it
    tl_priv (*privilege)(void *ctx, uint32_t hart);
    // Returns counters (bit n: counter n) that user mode may read without system software. 0:
    // system software runs and permits them.
    uint32_t (*user_counters)(void *ctx, uint32_t hart);
    uint32_t (*state)(void *ctx, uint32_t hart, tl_priv priv); // tl_isa.pmu_state
    void (*refused)(void *ctx, uint32_t hart);                 // tl_isa.pmu_refused
    void (*set_irq)(void *ctx, uint32_t hart, tl_irq irq, bool level);
    // Writes bytes into RAM as a bus master does: coherent with the caches and counted in unit dma.
    // false: the range is not all RAM.
    bool (*dma)(void *ctx, uint64_t paddr, const void *bytes, uint64_t size_bytes, uint64_t now);
    // Reads or writes bytes of RAM at addresses of a hart's supervisor, in no time. Writes are
    // those of `dma`. false: an address is not mapped, not RAM or protected.
    bool (*transfer)(void *ctx, uint32_t hart, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write);
    // Returns the physical address of data of a hart at its present level, in no time and counted
    // nowhere. false: it is not mapped to RAM.
    bool (*locate)(void *ctx, uint32_t hart, uint64_t vaddr, uint64_t *ret_paddr);
    uint64_t (*now)(void *ctx, uint32_t hart); // machine cycle that the hart has reached
    // Attaches a tap for clocks (model/tap.h) at any time; NULL: detaches. TL_EINVAL: the hart has
    // no detailed core.
    tl_status (*clock_tap)(void *ctx, uint32_t hart, struct tl_clock_tap *tap, tl_error *err);
    // A needs_* member or the deadline of the port may have changed. The machine asks again soon.
    void (*changed)(void *ctx, uint32_t hart);
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

// A design has one instance for each hart, or one for the whole machine.
typedef enum tl_pmu_scope { TL_PMU_OF_HART, TL_PMU_OF_MACHINE } tl_pmu_scope;

// The permission of a kernel for programs under the user-mode personality to use a design.
typedef enum tl_grant { TL_DENIED, TL_GRANTED, TL_GRANTED_UNTIL_EXEC } tl_grant;

// The device-tree node of a design with a window. The board adds address and size.
enum { TL_PMU_NODE_NUMBERS = 4 };
typedef struct tl_pmu_node {
    const char *name;          // "cache-controller"
    const char *compatible;    // strings one after the other, each with its NUL
    uint32_t compatible_bytes; // with all NULs
    bool is_l2_cache;          // the node also describes the second-level cache
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
    uint32_t isas;     // bit n: harts of tl_isa_number n can have it; 0: all harts can
    size_t state_size; // of the design's struct, tl_pmu first

    // Keys of a machine description. A row names a value of the design's settings.
    const tl_key *keys; // the path of the last row is NULL; NULL: no keys
    const void *default_settings;
    size_t settings_size;
    // "Distributed counters": the heading of changed settings in reports. NULL: reports omit them.
    const char *settings_title;
    // Checks rules that span several keys.
    TL_MUST_CHECK tl_status (*check)(const void *settings, tl_error *err);
    // Called before programs run under the user-mode personality. Fails when a granted resource
    // does not exist.
    TL_MUST_CHECK tl_status (*check_grant)(const void *settings, tl_error *err);
    // Returns the preset for these settings; NULL: the machine has no such PMU.
    const tl_pmu_preset *(*choose)(const void *settings);
    tl_grant (*grant)(const void *settings); // NULL hook: TL_DENIED
    // With `grant`: the key os.<grant_name> sets the grant.
    const char *grant_name;

    // Window: loads and stores reach the registers, whose addresses are offsets in the window.
    // window_bytes 0: CSR instructions reach the registers. A design of TL_PMU_OF_HART has a window
    // for each hart, window_stride bytes after that of the hart before.
    uint64_t window_paddr, window_bytes, window_stride;
    // Called before an access to the window. *ret_is_silent: the access moves nothing and reads 0.
    // false: the bus answers with an error. NULL: every aligned access of 4 or 8 bytes is done.
    bool (*permits_window)(const tl_pmu *pmu, uint32_t offset, uint32_t size_bytes, bool is_write, bool *ret_is_silent);
    // For designs with a window; NULL: no node.
    void (*describe_node)(const tl_pmu *pmu, tl_pmu_node *ret_node);
    // A granted program maps the window from /dev/NAME; NULL: no device file.
    const char *device_name;
    uint32_t device_minor; // of device_name; the major number is 10

    // Fills pmu->port. An empty port reaches the rows of the register map by address in every mode.
    TL_MUST_CHECK tl_status (*attach)(tl_pmu *pmu, tl_arena *arena, tl_error *err);
    void (*reset)(tl_pmu *pmu); // sets the power-on state; tallies go on
    // TL_PMU_OF_MACHINE: returns the registers and the port of one hart. NULL: the instance has no
    // port in harts.
    tl_pmu *(*of_hart)(tl_pmu *pmu, uint32_t hart);
    // A bit for each interrupt line of a hart that the design may raise.
    uint64_t (*irqs)(const tl_pmu *pmu);
    void (*notice)(tl_pmu *pmu, const tl_hart *h, tl_notice notice); // the context may have changed
    // At the end of a run: one sentence about what software of the guest lost. false: nothing.
    bool (*tell_loss)(const tl_pmu *pmu, char *ret_sentence, size_t size_bytes);
    // A process gets this hart and does not trust the process before it. `process` is its ID under
    // the personality. is_granted: it may use the design.
    void (*hand_over)(tl_pmu *pmu, uint32_t hart, uint64_t now, uint64_t process, bool is_granted);
    // Linux perf: returns the source texts of an event. is_sbi: selector is an event_idx of the SBI
    // PMU extension. Otherwise selector is a raw selector of this design. Returns the number of
    // texts, at most TL_PMU_MAX_TEXTS; 0: no such event.
    uint32_t (*perf_sources)(const tl_pmu *pmu, bool is_sbi, uint64_t selector, const char *ret_texts[]);
    // Does the work due up to `now`. Returns the next cycle with work.
    uint64_t (*tick)(tl_pmu *pmu, uint64_t now);
    // Returns a bus that passes device accesses of harts to `below`, which is borrowed. The design
    // sees each access.
    const tl_bus *(*watch_bus)(tl_pmu *pmu, const tl_bus *below);
    // chip_monitor: the design can also monitor a chip of several partitions; NULL: it cannot.
    const tl_chip_monitor_type *chip_monitor;
};

// Every design, NULL-terminated. src/meson.build names them.
extern const tl_pmu_type *const tl_pmu_types[];

// NULL: no design has that name.
const tl_pmu_type *tl_pmu_find(const char *name);
// NULL: none has that name.
const tl_pmu_preset *tl_pmu_find_preset(const tl_pmu_type *type, const char *name);
// A PMU of one hart, or the machine's with hart 0, in its reset state. `host` is borrowed.
// access_bits is the hart's XLEN.
TL_MUST_CHECK tl_status tl_pmu_new(const tl_pmu_type *type, const tl_pmu_preset *preset, uint32_t access_bits, const tl_pmu_host *host,
                                   uint32_t hart, tl_arena *arena, tl_pmu **ret_pmu, tl_error *err);

// Read or write a register of a port by its number, as an instruction does. The caller calls
// `retired`. false: the port has no such register, or refuses the access.
bool tl_port_read(const tl_pmu_port *port, tl_hart *h, uint32_t number, uint64_t *ret_value);
bool tl_port_write(const tl_pmu_port *port, tl_hart *h, uint32_t number, uint64_t value);

// Accesses to the window of a PMU. Accesses are aligned and have 4 or 8 bytes, unless
// permits_window has other rules. high_addr gives the
// address of the upper half of a wider register. Addresses without a register read 0 and ignore
// writes. false: an unsupported access.
bool tl_pmu_load(tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value);
bool tl_pmu_store(tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, uint64_t value);

// The cells that an event sums on one machine.
typedef struct tl_sources {
    tl_cell *cells;
    uint32_t n_cells;
    uint32_t max_step; // most that the sum can grow in one cycle
    // Front-ends hold back some cell. The host knows hart.cycle and hart.instret, so they are
    // exact.
    bool needs_sync;
    bool is_slow;    // grows only in slow paths and traps, after which the port is polled
    bool is_jumpy;   // can grow in a slow path: in the middle of a block
    bool is_retired; // grows only when an instruction retires, by max_step at most
} tl_sources;

// TL_ENOENT: this machine has no such signal.
TL_MUST_CHECK tl_status tl_sources_resolve(const char *text, const tl_probe *probe, uint32_t hart, tl_arena *arena, tl_sources *ret_sources,
                                           tl_error *err);
const char *tl_fidelity_name(tl_fidelity fidelity); // "not modeled"

#endif
