// SPDX-License-Identifier: MIT
// A machine: harts, memory system, one flat array of tallies and the names of its cells, built from a tl_config and nothing else.
// Two machines share nothing; one host thread at a time per machine. Who decides what the harts execute (os/, later firmware)
// drives them one run at a time: tl_machine_next picks the hart that is furthest behind in time.
#ifndef TL_MACHINE_MACHINE_H
#define TL_MACHINE_MACHINE_H

#include "base/arena.h"
#include "model/core.h"
#include "model/mem.h"
#include "model/pmu.h"

typedef struct tl_machine {
    tl_config config;
    tl_arena arena;
    uint8_t *ram;     // config.ram_bytes, untouched pages cost nothing
    void *ram_mapped; // the host's mapping that holds it
    size_t ram_mapped_bytes;
    tl_hart *harts[TL_MAX_HARTS];
    uint32_t n_harts;
    tl_probe probe;
    uint64_t *tally;
    tl_memory *memory;
    const tl_core_type *core;
    tl_pmu *pmus[TL_MAX_HARTS]; // of each hart, as config.pmu says
    tl_pmu_host pmu_host;
    struct tl_dhpc *hpc;          // the distributed counters, or NULL
    tl_pmu *l2_counters;          // in a window on the bus, at TL_L2_COUNTERS_PADDR of whatever bus there is; or NULL
    const struct tl_bus *own_bus; // with nothing but these, for who makes no board; or NULL
    struct tl_snooper *snooper;   // the hostile device on that bus, or NULL: dev/snooper.h
} tl_machine;

static const uint64_t TL_L2_COUNTERS_PADDR = UINT64_C(0x2010000); // where SiFive's boards have them

// `core`: tl_core_block or tl_core_step. The config is checked (impossible geometry is TL_EINVAL with a sentence).
TL_MUST_CHECK tl_status tl_machine_new(const tl_config *config, const tl_core_type *core, tl_machine **ret_machine, tl_error *err);
void tl_machine_free(tl_machine *machine);                                          // NULL is fine
TL_MUST_CHECK tl_status tl_machine_attach_pmus(tl_machine *machine, tl_error *err); // part of tl_machine_new
void tl_machine_reset_pmus(tl_machine *machine);                                    // their registers as after power-on; the tallies go on
// Somebody else gets this hart: what runs in its distributed counters is cancelled, their values are wiped and useren is set as said.
void tl_machine_hand_over_hpc(tl_machine *machine, tl_hart *h, bool is_granted);
void tl_machine_sync(tl_machine *machine); // folds everything into tally[]; call before reading, cheap enough for intervals

// Accesses outside RAM go there from now on, under the eyes of the snooper if there is one; NULL: they fault. Borrowed.
void tl_machine_set_bus(tl_machine *machine, const struct tl_bus *bus);
// Called before a hart runs: machine time is at least `now`. The snooper does what it wants to have done by then; it wants to be asked again in
// the cycle returned. UINT64_MAX: never. Nothing in the machine depends on it.
uint64_t tl_machine_snoop(tl_machine *machine, uint64_t now);

// A turn, in which one hart runs while the others stand still (docs/model.md 1.4, 1.5).
typedef struct tl_turn {
    tl_hart *hart;        // NULL: nobody's
    uint64_t first_until; // as in tl_hart
    uint64_t end;         // the first fetch run that ends in this cycle or later is the last one
} tl_turn;

// The next turn is that of the hart of `candidates` (bit k: hart k takes part) with the smallest now, lowest id first. No candidate: nobody's.
tl_turn tl_machine_next(tl_machine *machine, uint32_t candidates);
// The hart runs up to its horizon, which the caller has set, turn->end being the latest. TL_STOP_WAIT: the turn is over before that.
tl_stop tl_turn_run(tl_turn *turn);

static inline uint8_t *tl_machine_ram(const tl_machine *machine, uint64_t paddr) { return machine->ram + (paddr - TL_RAM_BASE_PADDR); }

// Sums of a signal over all harts: for tests and identities.
uint64_t tl_machine_sum(const tl_machine *machine, enum tl_hart_slot slot);
// Checks the conservation identities of docs/model.md on synced tallies; TL_EINVAL with the first broken one.
TL_MUST_CHECK tl_status tl_machine_check_identities(const tl_machine *machine, tl_error *err);

#endif
