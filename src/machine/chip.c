// SPDX-License-Identifier: MIT
// Shared units and the order of events; see chip.h.
//
// Rule of the order: `bound` is the earliest cycle in which a partition may still do something.
// Bursts that begin before it move first. A partition that waits for a read does nothing before the
// read is done, and its channel serves nothing else meanwhile, so the wait does not hold others up.
#include "machine/chip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

enum { DEFAULT_AHEAD_CYCLES = 200000 };

#define UNIT(id, unit_name, what) static const tl_signal id##_signals[] = {
#define SIGNAL(id, name, measure, max_step, meaning) {#name, meaning, TL_MEASURE_##measure, max_step},
#define END_UNIT(id) \
    }                \
    ;
#include "machine/chip_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT

const tl_unit_type tl_chip_unit_types[TL_N_CHIP_UNITS] = {
#define UNIT(id, unit_name, what) {#unit_name, what, id##_signals, TL_COUNT_OF(id##_signals)},
#define SIGNAL(id, name, measure, max_step, meaning)
#define END_UNIT(id)
#include "machine/chip_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
};

const uint32_t tl_chip_first_cells[TL_N_CHIP_UNITS + 1] = {
    0,
    TL_COUNT_OF(NOC_signals),
    TL_COUNT_OF(NOC_signals) + TL_COUNT_OF(IO_signals),
    TL_COUNT_OF(NOC_signals) + TL_COUNT_OF(IO_signals) + TL_COUNT_OF(DMA_signals),
};
_Static_assert(TL_COUNT_OF(NOC_signals) + TL_COUNT_OF(IO_signals) + TL_COUNT_OF(DMA_signals) == TL_N_CHIP_CELLS, "every signal is a cell");

typedef struct job {
    tl_chip_job what;
    uint64_t submitted;
    uint64_t n_left; // bytes
    bool has_begun;
} job;

typedef enum part_state {
    RUNS,       // it has done everything before `cycle`
    SUBMITS,    // the job `wanted`, at `cycle`
    WAITS,      // for its read, the last job of its channel
    WAITS_ROOM, // for its channel to accept `wanted`
    SWITCHES,   // at `cycle`
    READS,      // at `cycle`
    STANDS,     // within a switch, until tl_chip_switched
    HAS_ENDED,  // at `cycle`
} part_state;

typedef struct part {
    part_state state;
    bool is_held; // its run is under way, and calls tl_chip_run
    uint64_t cycle;
    uint64_t port_cycle; // the channel takes no job before
    tl_chip_job wanted;
    uint32_t active_tag;   // TL_CHIP_NO_TAG: none
    uint64_t active_cycle; // from which on it is; a switch is under way before
    job *jobs;             // a ring
    uint32_t first, n;
    uint64_t n_bursts;   // of all jobs in the ring
    uint64_t free_cycle; // the next burst of the channel begins then at the earliest
} part;

typedef struct late {
    uint64_t n_bursts, n_bytes;
} late;

struct tl_chip {
    tl_chip_plan plan;
    tl_arena arena;
    uint32_t ring; // jobs of a channel
    part parts[TL_MAX_PARTITIONS];
    uint32_t last;       // LITERAL: the partition whose burst moved last
    uint64_t root_cycle; // LITERAL: the root is busy until then
    uint64_t tally[TL_N_CHIP_CELLS];
    uint64_t *tagged; // [tag][cell]
    late *lates;      // [tag]
};

tl_status tl_chip_new(const tl_chip_plan *plan, tl_chip **ret_chip, tl_error *err) {
    if (plan->n_partitions < 1 || plan->n_partitions > TL_MAX_PARTITIONS)
        return tl_fail(err, TL_EINVAL, "partitions = %u: must be 1 to %d", plan->n_partitions, TL_MAX_PARTITIONS);
    if (plan->n_tags < 1)
        return tl_fail(err, TL_EINVAL, "a chip needs at least one tag");
    tl_chip *chip = calloc(1, sizeof *chip);
    if (!chip)
        return tl_fail(err, TL_ENOMEM, "no memory for a chip");
    chip->plan = *plan;
    if (chip->plan.ahead_cycles == 0)
        chip->plan.ahead_cycles = DEFAULT_AHEAD_CYCLES;
    chip->last = plan->n_partitions - 1;
    chip->ring = plan->config.queue_bursts + 2; // each has a burst at least
    chip->tagged = tl_arena_alloc(&chip->arena, (size_t)plan->n_tags * TL_N_CHIP_CELLS * sizeof *chip->tagged);
    chip->lates = tl_arena_alloc(&chip->arena, plan->n_tags * sizeof *chip->lates);
    bool is_whole = chip->tagged && chip->lates;
    for (uint32_t i = 0; i < plan->n_partitions; i++) {
        chip->parts[i].active_tag = TL_CHIP_NO_TAG;
        chip->parts[i].jobs = tl_arena_alloc(&chip->arena, chip->ring * sizeof *chip->parts[i].jobs);
        is_whole = is_whole && chip->parts[i].jobs;
    }
    if (!is_whole) {
        tl_chip_free(chip);
        return tl_fail(err, TL_ENOMEM, "no memory for a chip");
    }
    *ret_chip = chip;
    return TL_OK;
}

void tl_chip_free(tl_chip *chip) {
    if (!chip)
        return;
    tl_arena_done(&chip->arena);
    free(chip);
}

void tl_chip_begin(tl_chip *chip, uint32_t partition, uint32_t tag) { chip->parts[partition].active_tag = tag; }

const uint64_t *tl_chip_tally(const tl_chip *chip) { return chip->tally; }
const uint64_t *tl_chip_tagged(const tl_chip *chip, uint32_t tag) { return chip->tagged + (size_t)tag * TL_N_CHIP_CELLS; }

void tl_chip_late(const tl_chip *chip, uint32_t tag, uint64_t *ret_n_bursts, uint64_t *ret_n_bytes) {
    *ret_n_bursts = chip->lates[tag].n_bursts;
    *ret_n_bytes = chip->lates[tag].n_bytes;
}

// ---- Bursts.

static void count(tl_chip *chip, uint32_t tag, enum tl_chip_cell cell, uint64_t n) {
    chip->tally[cell] += n;
    chip->tagged[(size_t)tag * TL_N_CHIP_CELLS + cell] += n;
}

// The first job of a channel could move a burst at this cycle; UINT64_MAX: it has no job.
static uint64_t ready_cycle(const tl_chip *chip, const part *p) {
    if (p->n == 0)
        return UINT64_MAX;
    const job *j = &p->jobs[p->first];
    uint64_t cycle = j->has_begun ? 0 : j->submitted + chip->plan.config.setup_cycles;
    return cycle > p->free_cycle ? cycle : p->free_cycle;
}

// Time slots follow one another from cycle 0, partition 0 first.
static uint64_t slot_from(const tl_chip *chip, uint32_t partition, uint64_t cycle) {
    uint64_t slot = chip->plan.config.slot_cycles, round = slot * chip->plan.n_partitions, begin = slot * partition;
    uint64_t n = cycle <= begin ? 0 : (cycle - begin + round - 1) / round;
    return begin + n * round;
}

// Moves one burst of the channel's first job at `begin`. The job leaves with its last burst. true:
// that was the read for which the partition waits, which goes on at *ret_cycle.
static bool move_burst(tl_chip *chip, uint32_t partition, uint64_t begin, uint64_t *ret_cycle) {
    part *p = &chip->parts[partition];
    const tl_chip_config *config = &chip->plan.config;
    job *j = &p->jobs[p->first];
    uint32_t tag = j->what.tag;
    uint64_t ready = ready_cycle(chip, p), end = begin + config->slot_cycles;
    uint64_t n_bytes = tl_lesser(j->n_left, config->burst_bytes);
    bool is_write = j->what.is_write;
    if (!j->has_begun) {
        count(chip, tag, is_write ? TL_CHIP_DMA_JOB_WRITE : TL_CHIP_DMA_JOB_READ, 1);
        count(chip, tag, TL_CHIP_DMA_WAIT, begin - j->submitted);
        j->has_begun = true;
    }
    count(chip, tag, is_write ? TL_CHIP_NOC_BURST_OUT : TL_CHIP_NOC_BURST_IN, 1);
    count(chip, tag, TL_CHIP_NOC_BUSY, config->slot_cycles);
    count(chip, tag, TL_CHIP_NOC_BLOCKED, begin - ready);
    count(chip, tag, is_write ? TL_CHIP_IO_WRITE : TL_CHIP_IO_READ, 1);
    count(chip, tag, is_write ? TL_CHIP_IO_BYTES_OUT : TL_CHIP_IO_BYTES_IN, n_bytes);
    count(chip, tag, is_write ? TL_CHIP_DMA_BYTES_WRITTEN : TL_CHIP_DMA_BYTES_READ, n_bytes);
    count(chip, tag, TL_CHIP_DMA_BUSY, config->slot_cycles);
    if (p->active_tag != tag || begin < p->active_cycle || (p->state == HAS_ENDED && begin >= p->cycle)) {
        chip->lates[tag].n_bursts += 1;
        chip->lates[tag].n_bytes += n_bytes;
    }
    if (chip->plan.runner.moved)
        chip->plan.runner.moved(chip->plan.runner.ctx, begin, tag);
    j->n_left -= n_bytes;
    p->n_bursts--;
    p->free_cycle = end;
    if (j->n_left > 0)
        return false;
    p->first = (p->first + 1) % chip->ring;
    p->n--;
    *ret_cycle = end;
    return p->state == WAITS && p->n == 0;
}

// Which burst is next, and when it begins; UINT64_MAX: none is there. Only jobs that are submitted
// count, so the answer holds for cycles before the next submission.
static uint64_t next_burst(const tl_chip *chip, uint32_t *ret_partition) {
    uint64_t first = UINT64_MAX;
    bool has_slots = chip->plan.profile == TL_CHIP_SAFE;
    for (uint32_t k = 0; k < chip->plan.n_partitions; k++) {
        uint32_t i = has_slots ? k : (chip->last + 1 + k) % chip->plan.n_partitions;
        uint64_t ready = ready_cycle(chip, &chip->parts[i]);
        if (ready == UINT64_MAX)
            continue;
        uint64_t begin = has_slots ? slot_from(chip, i, ready) : ready > chip->root_cycle ? ready : chip->root_cycle;
        if (begin < first) { // of those that could begin in one cycle, the one whose turn it is
            first = begin;
            *ret_partition = i;
        }
    }
    return first;
}

// ---- Partitions.

static bool has_room(const tl_chip *chip, const part *p) { return p->n_bursts < chip->plan.config.queue_bursts; }

static void resume(tl_chip *chip, uint32_t partition, uint64_t cycle) {
    part *p = &chip->parts[partition];
    p->state = RUNS;
    p->cycle = p->port_cycle = cycle;
    chip->plan.runner.resume(chip->plan.runner.ctx, partition, cycle);
}

// The channel takes the job that the partition wants, at p->cycle.
static void submit(tl_chip *chip, uint32_t partition) {
    part *p = &chip->parts[partition];
    if (p->wanted.is_write && !has_room(chip, p)) {
        p->state = WAITS_ROOM;
        return;
    }
    if (p->wanted.is_write && p->n_bursts + 1 == chip->plan.config.queue_bursts && p->free_cycle > p->cycle) {
        p->cycle = p->free_cycle; // the burst that is moving still has its place
        return;
    }
    uint64_t burst = chip->plan.config.burst_bytes;
    p->jobs[(p->first + p->n) % chip->ring] = (job){.what = p->wanted, .submitted = p->cycle, .n_left = p->wanted.n_bytes};
    p->n++;
    p->n_bursts += (p->wanted.n_bytes + burst - 1) / burst;
    if (p->wanted.is_write)
        resume(chip, partition, p->cycle);
    else
        p->state = WAITS;
}

// Moves bursts that begin before `bound`, until a partition goes on.
static bool move_bursts(tl_chip *chip, uint64_t bound) {
    for (;;) {
        uint32_t i = 0;
        uint64_t begin = next_burst(chip, &i), end = 0;
        if (begin >= bound)
            return false;
        part *p = &chip->parts[i];
        bool is_done = move_burst(chip, i, begin, &end);
        chip->last = i;
        chip->root_cycle = begin + chip->plan.config.slot_cycles;
        if (is_done) {
            resume(chip, i, end);
            return true;
        }
        if (p->state == WAITS_ROOM && has_room(chip, p)) {
            p->cycle = chip->root_cycle > p->cycle ? chip->root_cycle : p->cycle;
            submit(chip, i);
            return true;
        }
    }
}

// Partitions without a horizon run at most ahead_cycles further than what all have reached.
static uint64_t target_of(const tl_chip *chip, const part *p, uint64_t until) {
    return tl_lesser(p->cycle + chip->plan.ahead_cycles, until);
}

static void begin_others(const tl_chip *chip, uint32_t partition, uint64_t until) {
    for (uint32_t i = 0; i < chip->plan.n_partitions; i++) {
        const part *p = &chip->parts[i];
        if (i != partition && p->state == RUNS && !p->is_held && p->cycle < until)
            chip->plan.runner.begin(chip->plan.runner.ctx, i, target_of(chip, p, until));
    }
}

// *ret_stopped: tl_chip_run returns.
static tl_status run_partition(tl_chip *chip, uint32_t partition, uint64_t until, bool *ret_stopped, tl_error *err) {
    part *p = &chip->parts[partition];
    tl_chip_event event = {0};
    const tl_chip_runner *runner = &chip->plan.runner;
    uint64_t horizon = runner->horizon ? runner->horizon(runner->ctx, partition) : 0;
    if (horizon != 0 && horizon <= p->cycle) { // its owner has something to do there
        *ret_stopped = true;
        return TL_OK;
    }
    uint64_t target = target_of(chip, p, horizon != 0 ? horizon : until);
    if (runner->begin)
        begin_others(chip, partition, until);
    tl_status status = chip->plan.runner.run(chip->plan.runner.ctx, partition, target, &event, err);
    if (status != TL_OK)
        return status;
    switch (event.kind) {
    case TL_CHIP_RAN: p->cycle = event.cycle != 0 ? tl_lesser(event.cycle, target) : target; break;
    case TL_CHIP_SUBMIT:
        p->state = SUBMITS;
        p->wanted = event.job;
        p->cycle = event.cycle > p->port_cycle ? event.cycle : p->port_cycle;
        break;
    case TL_CHIP_SWITCH:
        p->state = SWITCHES;
        p->cycle = event.cycle > p->port_cycle ? event.cycle : p->port_cycle;
        break;
    case TL_CHIP_READ:
        p->state = READS;
        p->cycle = event.cycle > p->cycle ? event.cycle : p->cycle;
        break;
    case TL_CHIP_ENDED:
        p->state = HAS_ENDED;
        p->cycle = event.cycle;
        break;
    case TL_CHIP_STOPPED: *ret_stopped = true; break;
    }
    return TL_OK;
}

static tl_status answer(tl_chip *chip, uint32_t partition, tl_error *err) {
    part *p = &chip->parts[partition];
    p->state = RUNS;
    return chip->plan.runner.answer(chip->plan.runner.ctx, partition, p->cycle, err);
}

static tl_status switch_over(tl_chip *chip, uint32_t partition, tl_error *err) {
    part *p = &chip->parts[partition];
    uint64_t cycle = p->cycle;
    uint32_t tag = TL_CHIP_NO_TAG;
    tl_status status = chip->plan.runner.switch_over(chip->plan.runner.ctx, partition, p->cycle, &cycle, &tag, err);
    p->active_tag = tag;
    p->state = STANDS;
    if (cycle != TL_CHIP_LATER)
        tl_chip_switched(chip, partition, cycle, tag);
    return status;
}

void tl_chip_switched(tl_chip *chip, uint32_t partition, uint64_t cycle, uint32_t tag) {
    part *p = &chip->parts[partition];
    p->active_tag = tag;
    p->state = tag == TL_CHIP_NO_TAG ? HAS_ENDED : RUNS;
    p->cycle = p->active_cycle = cycle;
}

tl_status tl_chip_run(tl_chip *chip, uint64_t until, bool *ret_done, tl_error *err) {
    for (;;) {
        uint32_t next = 0;
        uint64_t bound = until;
        bool has_next = false, is_alive = false, is_stopped = false;
        for (uint32_t i = 0; i < chip->plan.n_partitions; i++) {
            const part *p = &chip->parts[i];
            is_alive = is_alive || p->state != HAS_ENDED;
            if (!p->is_held && (p->state == RUNS || p->state == SUBMITS || p->state == SWITCHES || p->state == READS) && p->cycle < bound) {
                bound = p->cycle;
                next = i;
                has_next = true;
            }
        }
        if (move_bursts(chip, bound))
            continue;
        if (!has_next) {
            uint32_t i;
            *ret_done = !is_alive && next_burst(chip, &i) == UINT64_MAX;
            return TL_OK;
        }
        tl_status status = TL_OK;
        part *p = &chip->parts[next];
        if (p->state == RUNS)
            status = run_partition(chip, next, until, &is_stopped, err);
        else if (p->state == SUBMITS)
            submit(chip, next);
        else if (p->state == READS)
            status = answer(chip, next, err);
        else
            status = switch_over(chip, next, err);
        if (status != TL_OK || is_stopped || p->state == STANDS) {
            *ret_done = false;
            return status;
        }
    }
}

void tl_chip_hold(tl_chip *chip, uint32_t partition, uint64_t cycle) {
    part *p = &chip->parts[partition];
    p->is_held = true;
    p->cycle = cycle > p->cycle ? cycle : p->cycle;
}

void tl_chip_release(tl_chip *chip, uint32_t partition) { chip->parts[partition].is_held = false; }

uint64_t tl_chip_now(const tl_chip *chip) {
    uint64_t now = 0;
    for (uint32_t i = 0; i < chip->plan.n_partitions; i++) {
        now = chip->parts[i].cycle > now ? chip->parts[i].cycle : now;
        now = chip->parts[i].free_cycle > now ? chip->parts[i].free_cycle : now;
    }
    return now;
}
