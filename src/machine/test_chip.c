// SPDX-License-Identifier: MIT
// The chip against scripts instead of programs: each partition computes for a while, submits a job,
// switches, ends. Totals and latencies equal those of an oracle that steps every cycle.
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "machine/chip.h"

enum { MAX_STEPS = 64, MAX_TAGS = 16 };

typedef enum step_kind { COMPUTE, READ, WRITE, SWITCH } step_kind;
typedef struct step {
    step_kind kind;
    uint64_t n; // cycles, bytes, or the cost of the switch
    // Of a job: it comes at once, from a hart so many cycles behind the hart of the job before. Of
    // COMPUTE: not 0 is a read at the end that somebody answers, which takes no time.
    uint64_t back;
} step;

typedef struct script {
    step steps[MAX_STEPS];
    uint32_t n;
} script;

// The cycle of a partition after each step.
typedef struct trace {
    uint64_t done[MAX_STEPS];
} trace;

typedef struct outcome {
    trace traces[TL_MAX_PARTITIONS];
    uint64_t tally[TL_N_CHIP_CELLS];
    uint64_t tagged[MAX_TAGS][TL_N_CHIP_CELLS];
    uint64_t late[MAX_TAGS], late_bytes[MAX_TAGS];
    uint64_t n_answers;
} outcome;

// Partition p has tags 2p and 2p + 1, and switches between them.
static uint32_t tag_of(uint32_t partition, uint32_t n_switches) { return 2 * partition + n_switches % 2; }

// ---- A runner that plays scripts.

typedef struct player {
    const script *scripts;
    outcome *out;
    uint32_t at[TL_MAX_PARTITIONS], n_switches[TL_MAX_PARTITIONS];
    uint64_t now[TL_MAX_PARTITIONS], left[TL_MAX_PARTITIONS];
    bool has_begun[TL_MAX_PARTITIONS];

    // Switches whose end the owner of the chip tells later.
    bool ends_later, stands[TL_MAX_PARTITIONS];
    uint64_t ahead_cycles; // so far a partition runs beyond what all must reach

    bool has_job[TL_MAX_PARTITIONS], is_answered[TL_MAX_PARTITIONS];
    uint32_t n_answers, n_partitions;
} player;

static void step_done(player *p, uint32_t i) {
    p->out->traces[i].done[p->at[i]++] = p->now[i];
    p->has_begun[i] = false;
}

static tl_status play(void *ctx, uint32_t i, uint64_t until, tl_chip_event *ret_event, tl_error *err) {
    player *p = ctx;
    (void)err;
    for (;;) {
        if (p->at[i] == p->scripts[i].n) {
            *ret_event = (tl_chip_event){.kind = TL_CHIP_ENDED, .cycle = p->now[i]};
            return TL_OK;
        }
        const step *s = &p->scripts[i].steps[p->at[i]];
        if (s->kind == COMPUTE) {
            if (!p->has_begun[i])
                p->left[i] = s->n;
            p->has_begun[i] = true;
            uint64_t n = tl_lesser(p->left[i], until > p->now[i] ? until - p->now[i] : 0);
            p->now[i] += n;
            p->left[i] -= n;
            if (p->left[i] == 0 && s->back != 0 && !p->is_answered[i]) {
                *ret_event = (tl_chip_event){.kind = TL_CHIP_READ, .cycle = p->now[i]};
                return TL_OK;
            }
            if (p->left[i] == 0) {
                p->is_answered[i] = false;
                step_done(p, i);
                continue;
            }
            ret_event->kind = TL_CHIP_RAN;
            return TL_OK;
        }
        ret_event->cycle = p->now[i] - tl_lesser(s->back, p->now[i]);
        ret_event->kind = s->kind == SWITCH ? TL_CHIP_SWITCH : TL_CHIP_SUBMIT;
        p->has_job[i] = s->kind != SWITCH;
        ret_event->job = (tl_chip_job){.tag = tag_of(i, p->n_switches[i]), .n_bytes = s->n, .is_write = s->kind == WRITE};
        return TL_OK;
    }
}

static void resume(void *ctx, uint32_t i, uint64_t cycle) {
    player *p = ctx;
    p->now[i] = cycle;
    p->has_job[i] = false;
    step_done(p, i);
}

// A partition that has not come so far waits, or has ended.
static tl_status answer(void *ctx, uint32_t i, uint64_t cycle, tl_error *err) {
    player *p = ctx;
    (void)err;
    assert_int_equal(cycle, p->now[i]);
    for (uint32_t k = 0; k < p->n_partitions; k++)
        assert_true(p->now[k] >= cycle || p->has_job[k] || p->stands[k] || p->at[k] == p->scripts[k].n);
    p->is_answered[i] = true;
    p->n_answers++;
    return TL_OK;
}

static tl_status switch_over(void *ctx, uint32_t i, uint64_t cycle, uint64_t *ret_cycle, uint32_t *ret_tag, tl_error *err) {
    player *p = ctx;
    (void)err;
    assert_int_equal(cycle, p->now[i]);
    p->now[i] = *ret_cycle = cycle + p->scripts[i].steps[p->at[i]].n;
    *ret_tag = tag_of(i, ++p->n_switches[i]);
    step_done(p, i);
    p->stands[i] = p->ends_later;
    if (p->ends_later)
        *ret_cycle = TL_CHIP_LATER;
    if (p->ends_later)
        *ret_tag = TL_CHIP_NO_TAG;
    return TL_OK;
}

static uint64_t horizon(void *ctx, uint32_t i) {
    const player *p = ctx;
    return p->now[i] + p->ahead_cycles;
}

// The chip runs up to the next end of a switch, again and again.
static void run_with_ends(tl_chip *chip, player *p, uint32_t n) {
    bool is_done = false;
    while (!is_done) {
        uint32_t first = n;
        for (uint32_t i = 0; i < n; i++)
            if (p->stands[i] && (first == n || p->now[i] < p->now[first]))
                first = i;
        const uint64_t until = first == n ? UINT64_MAX : p->now[first];
        uint32_t n_standing = 0, n_before = 0;
        for (uint32_t i = 0; i < n; i++)
            n_before += p->stands[i];
        assert_int_equal(tl_chip_run(chip, until, &is_done, NULL), TL_OK);
        for (uint32_t i = 0; i < n; i++)
            n_standing += p->stands[i];
        if (first == n || n_standing != n_before) // another switch has begun, and may end sooner
            continue;
        p->stands[first] = false;
        tl_chip_switched(chip, first, until, tag_of(first, p->n_switches[first]));
    }
}

static const tl_chip_config USED = {.burst_bytes = 64, .slot_cycles = 8, .setup_cycles = 20, .queue_bursts = 6};

static void run_chip_so(const script *scripts, uint32_t n, tl_chip_profile profile, uint64_t ahead, uint64_t interval, bool ends_later,
                        outcome *out) {
    *out = (outcome){0};
    player p = {.scripts = scripts, .out = out, .ends_later = ends_later, .ahead_cycles = ahead, .n_partitions = n};
    const tl_chip_plan plan = {.config = USED,
                               .profile = profile,
                               .n_partitions = n,
                               .n_tags = 2 * n,
                               .ahead_cycles = ahead,
                               .runner = {&p, play, resume, switch_over, ends_later ? horizon : NULL, answer, NULL, NULL}};
    tl_chip *chip;
    assert_int_equal(tl_chip_new(&plan, &chip, NULL), TL_OK);
    for (uint32_t i = 0; i < n; i++)
        tl_chip_begin(chip, i, tag_of(i, 0));
    bool is_done = false;
    if (ends_later) {
        run_with_ends(chip, &p, n);
        is_done = true;
    }
    for (uint64_t until = interval ? interval : UINT64_MAX; !is_done; until = interval ? until + interval : until)
        assert_int_equal(tl_chip_run(chip, until, &is_done, NULL), TL_OK);
    memcpy(out->tally, tl_chip_tally(chip), sizeof out->tally);
    for (uint32_t t = 0; t < 2 * n; t++) {
        memcpy(out->tagged[t], tl_chip_tagged(chip, t), sizeof out->tagged[t]);
        tl_chip_late(chip, t, &out->late[t], &out->late_bytes[t]);
    }
    out->n_answers = p.n_answers;
    tl_chip_free(chip);
}

static void run_chip(const script *scripts, uint32_t n, tl_chip_profile profile, uint64_t ahead, uint64_t interval, outcome *out) {
    run_chip_so(scripts, n, profile, ahead, interval, false, out);
}

// ---- The oracle: every cycle of everything, with plain lists.

typedef struct oracle_job {
    uint32_t tag;
    uint64_t left, submitted;
    bool is_write, has_begun;
} oracle_job;

typedef struct oracle_part {
    uint32_t at, n_switches, n_jobs;
    oracle_job jobs[MAX_STEPS];
    uint64_t busy_until; // computing, or switching
    bool waits;          // for its read
    bool has_submitted;  // the step under way
    bool is_switching;
    uint64_t burst_ready; // cycle from which the next burst of the head may move
    int64_t active;       // tag; -1: none
} oracle_part;

static uint64_t bursts_of(const oracle_part *p) {
    uint64_t n = 0;
    for (uint32_t k = 0; k < p->n_jobs; k++)
        n += (p->jobs[k].left + USED.burst_bytes - 1) / USED.burst_bytes;
    return n;
}

static void add(outcome *out, uint32_t tag, uint32_t cell, uint64_t n) {
    out->tally[cell] += n;
    out->tagged[tag][cell] += n;
}

static void oracle(const script *scripts, uint32_t n, tl_chip_profile profile, outcome *out) {
    *out = (outcome){0};
    oracle_part parts[TL_MAX_PARTITIONS] = {0};
    uint32_t last = n - 1;
    uint64_t root_free = 0;
    int64_t moving[TL_MAX_PARTITIONS]; // cycle in which its burst under way ends; -1: none
    for (uint32_t i = 0; i < n; i++) {
        moving[i] = -1;
        parts[i].active = tag_of(i, 0);
    }
    for (uint64_t now = 0;; now++) {
        // Bursts end; then partitions act; then bursts begin.
        for (uint32_t i = 0; i < n; i++) {
            oracle_part *p = &parts[i];
            if (moving[i] != (int64_t)now)
                continue;
            moving[i] = -1;
            if (p->jobs[0].left == 0) {
                p->n_jobs--;
                memmove(p->jobs, p->jobs + 1, p->n_jobs * sizeof p->jobs[0]);
                if (p->waits && p->n_jobs == 0) {
                    p->waits = false;
                    out->traces[i].done[p->at++] = now;
                    p->has_submitted = false;
                }
            }
        }
        bool is_over = true;
        for (uint32_t i = 0; i < n; i++) {
            oracle_part *p = &parts[i];
            while (!p->waits && p->busy_until <= now && p->at < scripts[i].n) {
                const step *s = &scripts[i].steps[p->at];
                if (s->kind == COMPUTE || s->kind == SWITCH) {
                    if (p->has_submitted) { // over
                        if (s->kind == SWITCH)
                            p->active = tag_of(i, ++p->n_switches);
                        out->traces[i].done[p->at++] = now;
                        p->has_submitted = false;
                        continue;
                    }
                    p->has_submitted = true;
                    if (s->kind == SWITCH)
                        p->active = -1;
                    p->busy_until = now + s->n;
                    continue;
                }
                // A burst waits until it has moved.
                if (s->kind == WRITE && bursts_of(p) + (moving[i] >= 0) >= USED.queue_bursts)
                    break;
                p->jobs[p->n_jobs++] =
                    (oracle_job){.tag = tag_of(i, p->n_switches), .left = s->n, .submitted = now, .is_write = s->kind == WRITE};
                if (s->kind == WRITE)
                    out->traces[i].done[p->at++] = now;
                else
                    p->waits = true;
            }
            if (p->at == scripts[i].n)
                p->active = -1;
            is_over = is_over && p->at == scripts[i].n && p->n_jobs == 0 && moving[i] < 0;
        }
        if (is_over)
            return;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t i = profile == TL_CHIP_SAFE ? k : (last + 1 + k) % n;
            oracle_part *p = &parts[i];
            bool is_turn = profile == TL_CHIP_SAFE ? now / USED.slot_cycles % n == i && now % USED.slot_cycles == 0 : root_free <= now;
            if (p->n_jobs == 0 || moving[i] >= 0 || !is_turn)
                continue;
            oracle_job *j = &p->jobs[0];
            uint64_t ready = j->has_begun ? p->burst_ready : j->submitted + USED.setup_cycles;
            ready = ready > p->burst_ready ? ready : p->burst_ready;
            if (now < ready)
                continue;
            uint64_t bytes = j->left < USED.burst_bytes ? j->left : USED.burst_bytes;
            if (!j->has_begun) {
                add(out, j->tag, j->is_write ? TL_CHIP_DMA_JOB_WRITE : TL_CHIP_DMA_JOB_READ, 1);
                add(out, j->tag, TL_CHIP_DMA_WAIT, now - j->submitted);
            }
            j->has_begun = true;
            add(out, j->tag, j->is_write ? TL_CHIP_NOC_BURST_OUT : TL_CHIP_NOC_BURST_IN, 1);
            add(out, j->tag, TL_CHIP_NOC_BUSY, 8);
            add(out, j->tag, TL_CHIP_NOC_BLOCKED, now - ready);
            add(out, j->tag, j->is_write ? TL_CHIP_IO_WRITE : TL_CHIP_IO_READ, 1);
            add(out, j->tag, j->is_write ? TL_CHIP_IO_BYTES_OUT : TL_CHIP_IO_BYTES_IN, bytes);
            add(out, j->tag, j->is_write ? TL_CHIP_DMA_BYTES_WRITTEN : TL_CHIP_DMA_BYTES_READ, bytes);
            add(out, j->tag, TL_CHIP_DMA_BUSY, 8);
            if (p->active != (int64_t)j->tag) {
                out->late[j->tag]++;
                out->late_bytes[j->tag] += bytes;
            }
            j->left -= bytes;
            moving[i] = (int64_t)(now + USED.slot_cycles);
            p->burst_ready = now + USED.slot_cycles;
            last = i;
            root_free = now + USED.slot_cycles;
            if (profile == TL_CHIP_LITERAL)
                break;
        }
        assert_true(now < 10000000);
    }
}

// ---- Scripts.

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void make_script(uint64_t *seed, script *s) {
    s->n = 4 + (uint32_t)(next_random(seed) % (MAX_STEPS - 4));
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t what = next_random(seed) % 8;
        s->steps[i] = what < 3   ? (step){COMPUTE, 1 + next_random(seed) % 400, 0}
                      : what < 5 ? (step){READ, 1 + next_random(seed) % 1000, 0}
                      : what < 7 ? (step){WRITE, 1 + next_random(seed) % 600, 0}
                                 : (step){SWITCH, 1 + next_random(seed) % 60, 0};
        bool is_second = i > 0 && what >= 3 && what < 7 && (s->steps[i - 1].kind == READ || s->steps[i - 1].kind == WRITE);
        s->steps[i].back = is_second ? next_random(seed) % 20 : what == 0 ? 1 : 0;
    }
}

static void test_equals_an_oracle_that_steps_every_cycle(void **state) {
    (void)state;
    uint64_t seed = 7, n_late = 0, n_blocked = 0, n_answers = 0;
    for (uint32_t round = 0; round < 400; round++) {
        script scripts[TL_MAX_PARTITIONS];
        uint32_t n = 1 + round % TL_MAX_PARTITIONS;
        tl_chip_profile profile = round / TL_MAX_PARTITIONS % 2 ? TL_CHIP_LITERAL : TL_CHIP_SAFE;
        static outcome found, wanted;
        for (uint32_t i = 0; i < n; i++)
            make_script(&seed, &scripts[i]);
        run_chip(scripts, n, profile, 0, 0, &found);
        oracle(scripts, n, profile, &wanted);
        n_answers += found.n_answers;
        found.n_answers = 0; // the oracle knows no reads, which take no time
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < scripts[i].n; k++)
                if (found.traces[i].done[k] != wanted.traces[i].done[k])
                    fail_msg("round %u, partition %u, step %u: done in cycle %llu, not %llu", round, i, k,
                             (unsigned long long)found.traces[i].done[k], (unsigned long long)wanted.traces[i].done[k]);
        assert_memory_equal(&found, &wanted, sizeof found);
        n_late += found.late[0];
        n_blocked += found.tally[TL_CHIP_NOC_BLOCKED];
    }
    assert_true(n_late > 0 && n_blocked > 0 && n_answers > 1000); // or the scripts show nothing
}

static void test_how_far_a_partition_runs_ahead_changes_nothing(void **state) {
    (void)state;
    static const uint64_t aheads[] = {1, 3, 17, 250, 100000}, intervals[] = {0, 1, 100, 777};
    uint64_t seed = 11;
    for (uint32_t round = 0; round < 40; round++) {
        script scripts[4];
        static outcome first, other;
        for (uint32_t i = 0; i < 4; i++)
            make_script(&seed, &scripts[i]);
        run_chip(scripts, 4, round % 2 ? TL_CHIP_LITERAL : TL_CHIP_SAFE, 0, 0, &first);
        for (uint32_t a = 0; a < TL_COUNT_OF(aheads); a++)
            for (uint32_t k = 0; k < TL_COUNT_OF(intervals); k++) {
                run_chip(scripts, 4, round % 2 ? TL_CHIP_LITERAL : TL_CHIP_SAFE, aheads[a], intervals[k], &other);
                assert_memory_equal(&first, &other, sizeof first);
            }
    }
}

// A switch whose end is known later ends in the same cycle, and partitions run to horizons of their
// own.
static void test_an_end_that_is_told_later_changes_nothing(void **state) {
    (void)state;
    static const uint64_t aheads[] = {1, 40, 1000};
    uint64_t seed = 31;
    for (uint32_t round = 0; round < 60; round++) {
        script scripts[4];
        static outcome first, other;
        const tl_chip_profile profile = round % 2 ? TL_CHIP_LITERAL : TL_CHIP_SAFE;
        for (uint32_t i = 0; i < 4; i++)
            make_script(&seed, &scripts[i]);
        run_chip(scripts, 4, profile, 0, 0, &first);
        for (uint32_t a = 0; a < TL_COUNT_OF(aheads); a++) {
            run_chip_so(scripts, 4, profile, aheads[a], 0, true, &other);
            assert_memory_equal(&first, &other, sizeof first);
        }
    }
}

// ---- Horizons before `until`, and partitions that are held.

typedef struct walker {
    tl_chip *chip;
    uint64_t horizons[2], reached[2];
    uint64_t holds_at; // partition 0 calls the chip there, within its run; 0: it does not
    uint64_t other_reached;
} walker;

static tl_status walk(void *ctx, uint32_t i, uint64_t until, tl_chip_event *ret_event, tl_error *err) {
    walker *w = ctx;
    (void)err;
    if (i == 0 && w->holds_at != 0) {
        bool is_done;
        const uint64_t at = w->holds_at;
        w->holds_at = 0;
        tl_chip_hold(w->chip, 0, at);
        assert_int_equal(tl_chip_run(w->chip, at, &is_done, NULL), TL_OK);
        assert_false(is_done);
        w->other_reached = w->reached[1];
        tl_chip_release(w->chip, 0);
    }
    w->reached[i] = until;
    ret_event->kind = TL_CHIP_RAN;
    return TL_OK;
}

static uint64_t horizon_of_walker(void *ctx, uint32_t i) { return ((walker *)ctx)->horizons[i]; }

static void new_walk(walker *w) {
    const tl_chip_plan plan = {
        .config = USED, .n_partitions = 2, .n_tags = 1, .runner = {.ctx = w, .run = walk, .horizon = horizon_of_walker}};
    assert_int_equal(tl_chip_new(&plan, &w->chip, NULL), TL_OK);
}

static void test_a_partition_at_its_horizon_ends_the_run_of_the_chip(void **state) {
    walker w = {.horizons = {700, 5000}};
    bool is_done = true;
    (void)state;
    new_walk(&w);
    assert_int_equal(tl_chip_run(w.chip, 1000, &is_done, NULL), TL_OK);
    assert_false(is_done);
    assert_int_equal(w.reached[0], 700);
    w.horizons[0] = 2000;
    assert_int_equal(tl_chip_run(w.chip, 1000, &is_done, NULL), TL_OK);
    assert_int_equal(w.reached[0], 2000);
    assert_int_equal(w.reached[1], 5000);
    tl_chip_free(w.chip);
}

static void test_others_come_up_to_a_partition_that_is_held(void **state) {
    walker w = {.horizons = {1000, 600}, .holds_at = 600};
    bool is_done = true;
    (void)state;
    new_walk(&w);
    assert_int_equal(tl_chip_run(w.chip, 600, &is_done, NULL), TL_OK);
    assert_int_equal(w.other_reached, 600);
    assert_int_equal(w.reached[0], 1000);
    tl_chip_free(w.chip);
}

// Partition 1 shows nothing of the others.
static void test_safe_latencies_do_not_depend_on_other_partitions(void **state) {
    (void)state;
    uint64_t seed = 23;
    bool differs_in_literal = false;
    for (uint32_t round = 0; round < 50; round++) {
        script busy[3], idle[3] = {0};
        static outcome with, without, literal_with, literal_without;
        for (uint32_t i = 0; i < 3; i++)
            make_script(&seed, &busy[i]);
        idle[1] = busy[1];
        run_chip(busy, 3, TL_CHIP_SAFE, 0, 0, &with);
        run_chip(idle, 3, TL_CHIP_SAFE, 0, 0, &without);
        assert_memory_equal(&with.traces[1], &without.traces[1], sizeof with.traces[1]);
        assert_memory_equal(with.tagged[2], without.tagged[2], 2 * sizeof with.tagged[2]);
        assert_memory_equal(&with.late[2], &without.late[2], 2 * sizeof with.late[2]);
        run_chip(busy, 3, TL_CHIP_LITERAL, 0, 0, &literal_with);
        run_chip(idle, 3, TL_CHIP_LITERAL, 0, 0, &literal_without);
        differs_in_literal = differs_in_literal || memcmp(&literal_with.traces[1], &literal_without.traces[1], sizeof with.traces[1]) != 0;
    }
    assert_true(differs_in_literal); // or the scripts could not show it
}

static void test_one_read_takes_its_slots(void **state) {
    (void)state;
    // Two partitions, slots of 8 cycles: partition 1 has cycles 8..15, 24..31, 40..47. A job
    // submitted in cycle 1 is ready in cycle 21, so its bursts begin in cycles 24 and 40.
    script scripts[2] = {{.n = 0}, {.steps = {{COMPUTE, 1, 0}, {READ, 65, 0}}, .n = 2}};
    outcome found;
    run_chip(scripts, 2, TL_CHIP_SAFE, 0, 0, &found);
    assert_int_equal(found.traces[1].done[1], 48);
    assert_int_equal(found.tally[TL_CHIP_DMA_WAIT], 23);
    assert_int_equal(found.tally[TL_CHIP_NOC_BLOCKED], 3 + 8);
    assert_int_equal(found.tally[TL_CHIP_DMA_BYTES_READ], 65);
    run_chip(scripts, 2, TL_CHIP_LITERAL, 0, 0, &found); // nobody else: one after the other
    assert_int_equal(found.traces[1].done[1], 1 + 20 + 16);
    assert_int_equal(found.tally[TL_CHIP_NOC_BLOCKED], 0);
}

static void test_posted_write_is_late_after_a_switch(void **state) {
    (void)state;
    script scripts[1] = {{.steps = {{WRITE, 128, 0}, {SWITCH, 30, 0}, {COMPUTE, 500, 0}}, .n = 3}};
    outcome found;
    run_chip(scripts, 1, TL_CHIP_SAFE, 0, 0, &found);
    assert_int_equal(found.traces[0].done[1], 30); // it did not wait
    // Bursts begin in cycles 24 and 32, while 0 does not run.
    assert_int_equal(found.late[0], 2);
    assert_int_equal(found.late_bytes[0], 128);
    assert_int_equal(found.tagged[0][TL_CHIP_DMA_BYTES_WRITTEN], 128);
    assert_int_equal(found.tagged[1][TL_CHIP_DMA_BYTES_WRITTEN], 0);
}

static void test_a_channel_holds_as_many_jobs_as_may_wait(void **state) {
    (void)state;
    // Six writes of one burst fill the queue, and a read comes on top; then two more writes that
    // wait.
    script scripts[1] = {{.n = 0}};
    static outcome found, wanted;
    for (uint32_t i = 0; i < 6; i++)
        scripts[0].steps[scripts[0].n++] = (step){WRITE, 1 + i, 0};
    scripts[0].steps[scripts[0].n++] = (step){READ, 100, 0};
    for (uint32_t i = 0; i < 8; i++)
        scripts[0].steps[scripts[0].n++] = (step){WRITE, 10 + i, 0};
    for (int profile = 0; profile < 2; profile++) {
        run_chip(scripts, 1, (tl_chip_profile)profile, 0, 0, &found);
        oracle(scripts, 1, (tl_chip_profile)profile, &wanted);
        assert_memory_equal(&found, &wanted, sizeof found);
        assert_int_equal(found.traces[0].done[5], 0);
        assert_int_equal(found.tally[TL_CHIP_DMA_BYTES_WRITTEN], 21 + 8 * 10 + 28);
    }
}

static void test_impossible_chip_is_refused(void **state) {
    (void)state;
    tl_chip *chip;
    tl_error err;
    tl_chip_plan plan = {.config = USED, .n_partitions = TL_MAX_PARTITIONS + 1, .n_tags = 1};
    assert_int_equal(tl_chip_new(&plan, &chip, &err), TL_EINVAL);
    assert_string_equal(err.text, "partitions = 8: must be 1 to 7");
    plan.n_partitions = 1;
    plan.n_tags = 0;
    assert_int_equal(tl_chip_new(&plan, &chip, &err), TL_EINVAL);
}

static void test_units_have_their_cells(void **state) {
    (void)state;
    assert_int_equal(tl_chip_first_cells[TL_N_CHIP_UNITS], TL_N_CHIP_CELLS);
    assert_string_equal(tl_chip_unit_types[2].name, "dma");
    assert_string_equal(tl_chip_unit_types[2].signals[TL_CHIP_DMA_BUSY - tl_chip_first_cells[2]].name, "busy");
    assert_string_equal(tl_chip_unit_types[1].signals[TL_CHIP_IO_BYTES_OUT - tl_chip_first_cells[1]].name, "bytes_out");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_an_oracle_that_steps_every_cycle),
        cmocka_unit_test(test_how_far_a_partition_runs_ahead_changes_nothing),
        cmocka_unit_test(test_an_end_that_is_told_later_changes_nothing),
        cmocka_unit_test(test_a_partition_at_its_horizon_ends_the_run_of_the_chip),
        cmocka_unit_test(test_others_come_up_to_a_partition_that_is_held),
        cmocka_unit_test(test_safe_latencies_do_not_depend_on_other_partitions),
        cmocka_unit_test(test_one_read_takes_its_slots),
        cmocka_unit_test(test_posted_write_is_late_after_a_switch),
        cmocka_unit_test(test_a_channel_holds_as_many_jobs_as_may_wait),
        cmocka_unit_test(test_impossible_chip_is_refused),
        cmocka_unit_test(test_units_have_their_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
