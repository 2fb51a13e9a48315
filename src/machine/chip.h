// SPDX-License-Identifier: MIT
// A chip: partitions, and the units that they share. A partition is a whole tl_machine with harts,
// caches, memory channels and RAM of its own, so no access of one can reach another. Partitions
// meet in three shared units: the DMA engine, the I/O bridge, the interconnect root.
//
// The chip is simulated event by event. A partition runs alone until it submits a job, switches or
// ends; of all events the earliest is next, and of two in one cycle that of the lower partition.
// No result depends on how far a partition runs ahead before another is asked.
//
// docs/tenants.md describes the shared units. Each burst carries
// the tag (vm, ctx) of who caused it. In profile SAFE, bursts move in fixed time slots, one
// partition after another, so a partition's latencies depend on its own jobs only. In LITERAL the
// root serves partitions in turn, as they have bursts.
#ifndef TL_MACHINE_CHIP_H
#define TL_MACHINE_CHIP_H

#include "machine/machine.h"

typedef enum tl_chip_profile { TL_CHIP_SAFE, TL_CHIP_LITERAL } tl_chip_profile;

// Cells of the shared units.
enum tl_chip_cell {
#define UNIT(id, path, meaning)
#define SIGNAL(id, name, measure, max_step, meaning) TL_CHIP_##id,
#define END_UNIT(id)
#include "machine/chip_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
    TL_N_CHIP_CELLS
};
enum { TL_N_CHIP_UNITS = 3 };
// Units of the chip, in the order of their cells: "noc", "io", "dma". tally and first_cell of each
// are offsets only; the totals are tl_chip.tally.
extern const tl_unit_type tl_chip_unit_types[TL_N_CHIP_UNITS];
extern const uint32_t tl_chip_first_cells[TL_N_CHIP_UNITS + 1];

// A job of the DMA engine: bytes between a partition's memory and the outside.
typedef struct tl_chip_job {
    uint32_t tag; // of tl_chip_plan.n_tags
    uint64_t n_bytes;
    bool is_write; // out of the partition, and posted: who submits it goes on
} tl_chip_job;

typedef enum tl_chip_event_kind {
    TL_CHIP_RAN,     // up to `until` or further, or to `cycle` if that is not 0; nothing happened
    TL_CHIP_SUBMIT,  // `job`, at `cycle`
    TL_CHIP_SWITCH,  // the partition stands still at `cycle`
    TL_CHIP_READ,    // a hart stands before a read that `answer` makes possible, at `cycle`
    TL_CHIP_ENDED,   // at `cycle`; it is not asked again
    TL_CHIP_STOPPED, // it stands anywhere, because somebody outside wants the run to stop
} tl_chip_event_kind;

typedef struct tl_chip_event {
    tl_chip_event_kind kind;
    uint64_t cycle;
    tl_chip_job job;
} tl_chip_event;

// The programs of the partitions, as their owner runs them.
typedef struct tl_chip_runner {
    void *ctx;
    // Runs the partition until it has reached `until` everywhere, or until an event. Cycles of its
    // events do not decrease.
    TL_MUST_CHECK tl_status (*run)(void *ctx, uint32_t partition, uint64_t until, tl_chip_event *ret_event, tl_error *err);
    // The job is done (read), or accepted (write): who submitted it goes on at `cycle`.
    void (*resume)(void *ctx, uint32_t partition, uint64_t cycle);
    // All shared traffic before `cycle` has been counted. Switches the partition; returns the cycle
    // at which the newcomer runs, and its tag. TL_CHIP_LATER instead of a cycle: the partition
    // stands until tl_chip_switched.
    TL_MUST_CHECK tl_status (*switch_over)(void *ctx, uint32_t partition, uint64_t cycle, uint64_t *ret_cycle, uint32_t *ret_tag,
                                           tl_error *err);
    // A partition runs up to there instead of the `until` of tl_chip_run, which it may exceed. A
    // partition that is there already ends tl_chip_run. 0, or NULL: it runs to `until`.
    uint64_t (*horizon)(void *ctx, uint32_t partition);
    // Everybody has done everything before `cycle`, so the read of the partition can be answered.
    // NULL: there are no such reads.
    TL_MUST_CHECK tl_status (*answer)(void *ctx, uint32_t partition, uint64_t cycle, tl_error *err);
    // A burst of a tag began at `cycle`, and totals hold it. Cycles do not decrease. NULL: nobody
    // listens.
    void (*moved)(void *ctx, uint64_t cycle, uint32_t tag);
    // `run` of the partition with this `until` comes before anything else that concerns it, so its
    // owner may begin, but must do nothing that others could notice. Called again meanwhile. NULL:
    // nothing begins early.
    void (*begin)(void *ctx, uint32_t partition, uint64_t until);
} tl_chip_runner;

enum { TL_CHIP_NO_TAG = UINT32_MAX };
#define TL_CHIP_LATER UINT64_MAX

typedef struct tl_chip_plan {
    tl_chip_config config;
    tl_chip_profile profile;
    uint32_t n_partitions;
    uint32_t n_tags; // at least 1
    // A partition runs at most this far ahead of the others. No result depends on it. 0 takes the
    // default of chip.c.
    uint64_t ahead_cycles;
    tl_chip_runner runner;
} tl_chip_plan;

typedef struct tl_chip tl_chip;

// All partitions stand at cycle 0. TL_EINVAL: no partition or too many, no tag.
TL_MUST_CHECK tl_status tl_chip_new(const tl_chip_plan *plan, tl_chip **ret_chip, tl_error *err);
void tl_chip_free(tl_chip *chip); // NULL is fine
// The tag whose traffic is not late, from `cycle` on: of the first context that runs on a
// partition.
void tl_chip_begin(tl_chip *chip, uint32_t partition, uint32_t tag);
// The newcomer of a switch that was TL_CHIP_LATER runs from `cycle` on. tag TL_CHIP_NO_TAG: nobody
// does, and the partition has ended. `cycle` is not before the `until` of the last tl_chip_run.
void tl_chip_switched(tl_chip *chip, uint32_t partition, uint64_t cycle, uint32_t tag);
// Until every partition has reached `until`, ended or waits for tl_chip_switched, and shared units
// have done what they had to do before it. *ret_done: all have ended, and no burst waits. A
// partition that is TL_CHIP_STOPPED, or begins a switch that is TL_CHIP_LATER, ends the call, too.
// No burst has moved then that begins after that switch.
TL_MUST_CHECK tl_status tl_chip_run(tl_chip *chip, uint64_t until, bool *ret_done, tl_error *err);
// Within a run of this partition: it does nothing before `cycle`. tl_chip_run runs the others only
// until tl_chip_release.
void tl_chip_hold(tl_chip *chip, uint32_t partition, uint64_t cycle);
void tl_chip_release(tl_chip *chip, uint32_t partition);
// The first cycle after the last event, or the last burst, so far.
uint64_t tl_chip_now(const tl_chip *chip);

// Totals of the shared units: of all tags, and of one. Borrowed; they change in tl_chip_run.
const uint64_t *tl_chip_tally(const tl_chip *chip);
const uint64_t *tl_chip_tagged(const tl_chip *chip, uint32_t tag);
// Bursts of a tag that moved while it did not run, and their bytes.
void tl_chip_late(const tl_chip *chip, uint32_t tag, uint64_t *ret_n_bursts, uint64_t *ret_n_bytes);

#endif
