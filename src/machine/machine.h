// SPDX-License-Identifier: MIT
// A machine: harts, memory system, one flat array of tallies and the names of its cells, built from
// a tl_config and nothing else. Two machines share nothing; one host thread at a time per machine.
// The owner of the harts (linux/, board/) runs them one turn at a time. tl_machine_next picks the
// hart that is furthest behind in time.
#ifndef TL_MACHINE_MACHINE_H
#define TL_MACHINE_MACHINE_H

#include "base/arena.h"
#include "machine/chip_memory.h"
#include "model/engine.h"
#include "model/mem.h"
#include "model/pmu.h"

enum { TL_MAX_PMUS = 16 };

typedef struct tl_machine_pmu {
    const tl_pmu_type *type;
    const void *settings; // of the design's type
    // The instance; of TL_PMU_OF_HART that of hart 0. NULL: the machine has none.
    tl_pmu *pmu;
    tl_pmu *of_hart[TL_MAX_HARTS]; // its registers in each hart; NULL: not in harts
} tl_machine_pmu;

typedef struct tl_machine {
    tl_config config;
    tl_arena arena;
    uint8_t *ram;           // config.ram_bytes, untouched pages cost nothing
    tl_chip_memory own_ram; // zeroed if the machine has a window of a chip's memory
    tl_hart *harts[TL_MAX_HARTS];
    uint32_t n_harts;
    tl_probe probe;
    uint64_t *tally;
    tl_memory *memory;
    const tl_engine_type *engine;          // that built the machine
    const tl_engine_type *forwarder;       // another one for the same harts; NULL: there is none
    bool is_forwarding;                    // the forwarder runs
    void *idle_state[TL_MAX_HARTS];        // engine_state of the engine that does not run
    uint64_t forwarded_from[TL_MAX_HARTS]; // instret when the forwarder began
    tl_pmu_host pmu_host;
    tl_machine_pmu pmus[TL_MAX_PMUS]; // a row for each design of tl_pmu_types
    uint32_t n_pmus;
    tl_pmu *ticking[TL_MAX_PMUS * TL_MAX_HARTS]; // instances that want cycles of their own
    uint32_t n_ticking;
    tl_bus own_bus;                               // see tl_machine_own_bus
    void (*watch_context)(void *ctx, tl_hart *h); // see tl_machine_watch_contexts
    void *watch_ctx;
} tl_machine;

// `core` is the engine of all harts. tl_machine_new checks the config. TL_EINVAL: an impossible
// geometry.
TL_MUST_CHECK tl_status tl_machine_new(const tl_config *config, const tl_engine_type *core, tl_machine **ret_machine, tl_error *err);
// tl_machine_new for a partition: `ram` is its window of the chip's memory, zeroed, and borrowed.
TL_MUST_CHECK tl_status tl_machine_new_in(const tl_config *config, const tl_engine_type *core, uint8_t *ram, tl_machine **ret_machine,
                                          tl_error *err);
// Gives a machine with a detailed core a second engine, which executes fast and keeps caches, TLBs
// and predictors warm.
TL_MUST_CHECK tl_status tl_machine_add_forwarder(tl_machine *machine, const tl_engine_type *forwarder, tl_error *err);
// Between two runs: the forwarder runs from now on; false: the detailed core does. Instructions in
// flight are taken back (docs/detailed-core.md, section 8).
void tl_machine_forward(tl_machine *machine, bool is_forwarding);
// tl_engine_type.tap of the detailed core of every hart, whoever runs. Cycles of the forwarder are
// TL_TAP_OUTSIDE.
struct tl_tap;
TL_MUST_CHECK tl_status tl_machine_tap(tl_machine *machine, struct tl_tap *tap, tl_error *err);
// tl_engine_type.clock_tap of the detailed core of one hart, whoever runs.
struct tl_clock_tap;
TL_MUST_CHECK tl_status tl_machine_clock_tap(tl_machine *machine, uint32_t hart, struct tl_clock_tap *tap, tl_error *err);
void tl_machine_free(tl_machine *machine); // NULL is fine
// Part of tl_machine_new.
TL_MUST_CHECK tl_status tl_machine_attach_pmus(tl_machine *machine, tl_error *err);
// Registers of PMUs become as after power-on. The tallies go on.
void tl_machine_reset_pmus(tl_machine *machine);
// The registers of a design in one hart, or its one instance with hart 0. NULL: this machine has no
// such PMU.
tl_pmu *tl_machine_pmu_of(const tl_machine *machine, const tl_pmu_type *type, uint32_t hart);
// The instance behind window k of a design and the address of that window. NULL: there is no window
// k.
tl_pmu *tl_machine_pmu_window(const tl_machine *machine, const tl_pmu_type *type, uint32_t k, uint64_t *ret_paddr);
// A process gets this hart that does not trust the last one: every design that knows clients wipes
// what is left. Bit i of `granted` says whether the newcomer may use the design of row i of
// machine->pmus.
void tl_machine_hand_over(tl_machine *machine, tl_hart *h, uint64_t process, uint32_t granted);
// Called when software has named an address space, perhaps the present one, in the instruction
// under way. NULL: nobody is told.
void tl_machine_watch_contexts(tl_machine *machine, void (*watch)(void *ctx, tl_hart *h), void *ctx);
// The PMU of hart 0 that Linux perf would use; NULL: none.
const tl_pmu *tl_machine_perf_pmu(const tl_machine *machine);
// The device-tree rows of the harts' PMUs; NULL: they have none.
const tl_pmu_tree *tl_machine_pmu_tree(const tl_machine *machine);
// Folds everything into tally[]; call before reading, cheap enough for intervals.
void tl_machine_sync(tl_machine *machine);

// All harts stand still since `now_cycles`. Caches, TLBs, rows of DRAM and branch predictors become
// empty, so past software does not show in later times. Memory is free tl_machine_flush_cycles
// later.
void tl_machine_flush(tl_machine *machine, uint64_t now_cycles);
uint64_t tl_machine_flush_cycles(const tl_config *config);

// A bus with nothing but the windows of PMUs, for who makes no board; NULL: there are none.
const tl_bus *tl_machine_own_bus(tl_machine *machine);
// Accesses outside RAM go there from now on, past PMUs that watch the bus; NULL: they fault.
// Borrowed.
void tl_machine_set_bus(tl_machine *machine, const tl_bus *bus);
// PMUs do what is due up to `now`. Returns the next cycle in which one of them has something to do;
// UINT64_MAX: none in sight.
uint64_t tl_machine_tick(tl_machine *machine, uint64_t now);

// A turn, in which one hart runs while the others stand still (docs/model.md 1.4, 1.5).
typedef struct tl_turn {
    tl_hart *hart;         // NULL: no hart has the turn
    uint64_t first_until;  // as in tl_hart
    uint64_t access_until; // as in tl_hart; not later than end
    uint64_t end;          // the first fetch run that ends in this cycle or later is the last one
} tl_turn;

// The next turn is that of the hart of `candidates` (bit k: hart k takes part) with the smallest
// now, lowest id first. Without a candidate, turn->hart is NULL.
tl_turn tl_machine_next(tl_machine *machine, uint32_t candidates);
// Runs the hart up to h->horizon, which the caller has set to turn->end at most. turn->hart is NULL
// when the turn is over.
tl_stop tl_turn_run(tl_turn *turn);

// Turns one after the other, while the caller has no other work with the harts. The caller fills
// the fields and keeps them current.
typedef struct tl_turns {
    // Bit k: hart k takes part in turns; changes only when the caller says so, or with
    // *has_changed.
    uint32_t running;
    uint32_t steady; // bit k: hart k may run up to until[k]
    // Bit k: the same for the next group only, of an engine that runs groups.
    uint32_t attended;
    uint64_t until[TL_MAX_HARTS]; // a horizon; no turn begins there
    uint64_t n_insns;             // may retire on all harts
    uint64_t *now;                // receives the clock of the running hart; NULL: not wanted
    const uint64_t *next_event;   // a horizon for all that harts may move; NULL: none
    // True: another hart may have the next turn, so no turn begins; NULL: never.
    const bool *has_changed;
} tl_turns;

// Runs `turn`, and turns of harts in `steady` after it. Returns why the last one stopped; *ret_hart
// had it. turn->hart is NULL when the last turn is over.
tl_stop tl_machine_run_turns(tl_machine *machine, tl_turns *turns, tl_turn *turn, tl_hart **ret_hart);

// Harts outside `running` have nothing to run until this cycle.
void tl_machine_settle(tl_machine *machine, uint32_t running, uint64_t cycle);
uint64_t tl_machine_now_cycles(const tl_machine *machine); // the furthest hart's

static inline uint8_t *tl_machine_ram(const tl_machine *machine, uint64_t paddr) { return machine->ram + (paddr - TL_RAM_BASE_PADDR); }

// Sums of a signal over all harts: for tests and identities.
uint64_t tl_machine_sum(const tl_machine *machine, enum tl_hart_cell cell);
// Checks the conservation identities of docs/model.md on synced tallies; TL_EINVAL with the first
// broken one.
TL_MUST_CHECK tl_status tl_machine_check_identities(const tl_machine *machine, tl_error *err);

#endif
