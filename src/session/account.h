// SPDX-License-Identifier: MIT
// The hardware that each design of counters needs on one machine: the one account, of which tally
// describe and tally compare print parts. TL_COST_SENTENCE (session/cost_maker.h) says what is in
// it. All harts are in it, but CSRs and counters at once are those of one hart. A design brings its
// row as src/readers/<design>/account.c; a design without one is in no account.
#ifndef TL_SESSION_ACCOUNT_H
#define TL_SESSION_ACCOUNT_H

#include "base/status.h"
#include "machine/machine.h"
#include "model/chip_monitor.h"
#include "model/pmu.h"

struct tl_cost;

typedef struct tl_account {
    uint64_t n_counters, n_at_once; // of all harts; that count together whatever they are asked
    uint64_t state_bits, counter_bits, wires;
    uint64_t n_csrs, address_bytes; // found in the design's register map
    uint32_t csrs_per_event, address_bytes_per_event;
} tl_account;

// The design's own page, tally describe pmu NAME --cost (session/cost_maker.h).
typedef struct tl_account_page {
    const char *title;   // "Distributed counters"
    const char *holders; // name of the parts with counters: "managers"
    // Tells holders, counters, wired numbers, parts and remark of a machine that has the design.
    // TL_EINVAL: no counter of it is built there.
    TL_MUST_CHECK tl_status (*fill)(const tl_machine *machine, struct tl_cost *cost, tl_error *err);
    // The design on a chip of so many units with so many counters each, otherwise built as here.
    TL_MUST_CHECK tl_status (*of_units)(const tl_machine *machine, uint32_t n_units, uint32_t n_counters, tl_account *ret_account,
                                        tl_error *err);
    // Tells what a run cost whose monitor measured it (measures_cost): remark and tables. NULL: the
    // design does not measure.
    TL_MUST_CHECK tl_status (*fill_run)(tl_chip_monitor *monitor, struct tl_cost *cost, tl_error *err);
} tl_account_page;

typedef struct tl_account_type {
    const tl_pmu_type *pmu;
    // Gives a description counters of the design if it lacks them.
    void (*complete)(tl_config *config);
    // Account of a machine that has the design.
    TL_MUST_CHECK tl_status (*of_machine)(const tl_machine *machine, tl_account *ret_account, tl_error *err);
    // Account of the design with so many events at once. NULL: not available.
    tl_account (*of_counters)(uint32_t n_counters, uint32_t n_harts);
    const char *kind; // "in the core": where such a design has its counters
    // The name with the chip that has it, for pages of other designs; NULL: they omit it.
    const char *as_built;
    const tl_account_page *page; // NULL: there is none
} tl_account_type;

extern const tl_account_type *const tl_account_types[];         // NULL-terminated: src/readers
const tl_account_type *tl_account_find(const tl_pmu_type *pmu); // NULL: it is in no account

// Gives a description what it lacks of every design in the account.
void tl_account_complete(tl_config *config);

// For rows of designs. CSRs that are there and not merely read as zero, of one hart. Bytes of
// addresses that one more counter needs.
uint32_t tl_account_csrs(const tl_regfile *file);
uint32_t tl_account_bytes_per_event(const tl_regmap *map);

#endif
