// SPDX-License-Identifier: MIT
// The NetBurst PMU on a machine: random code on both threads of a core, counted by MSRs as software
// writes them, against the machine's own totals.
#include <inttypes.h>
#include <stdio.h>

#include "base/testing.h"
#include "core_kernel.h"
#include "isa/rv/hart.h"
#include "isa/rv/privileged.h"
#include "machine/machine.h"
#include "machine/snapshot.h"
#include "pmu/netburst/catalogue.h"
#include "pmu/netburst/state.h"
#include "random_counters.h"
#include "random_threads.h"
#include "readers/netburst/l1miss_program.h"
#include "session/description.h"

static tl_machine *open_machine(uint64_t seed) {
    tl_config config;
    tl_machine *machine;
    tl_error err;
    if (tl_description_open("netburst", &config, &err) != TL_OK || tl_config_set(&config, "pentium4=on", &err) != TL_OK)
        fail_msg("%s", err.text);
    config.ram_bytes = 16 << 20;
    if (tl_machine_new(&config, &tl_engine_ooo, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    fill_ram(&(rng){seed}, machine);
    return machine;
}

// Runs the threads of `running` for n cycles. chop: stops after each cycle.
static void run_threads(tl_machine *machine, uint32_t running, uint64_t n, bool chop) {
    static int program;
    const uint64_t now = tl_machine_now_cycles(machine), end = now + n;
    for (uint32_t i = 0; i < N_THREADS; i++) {
        tl_hart_idle_until(machine->harts[i], now);
        machine->harts[i]->insn_limit = UINT64_MAX;
        machine->harts[i]->client = running >> i & 1 ? &program : NULL; // it has something to run
    }
    while (running != 0) {
        uint64_t least = UINT64_MAX, n_insns = UINT64_MAX;
        for (uint32_t i = 0; i < N_THREADS; i++)
            least = running >> i & 1 ? tl_lesser(least, machine->harts[i]->now) : least;
        machine->harts[0]->horizon = machine->harts[1]->horizon = chop ? least + 1 : end;
        tl_hart *h;
        if (machine->engine->run_group(machine->harts, N_THREADS, running, running, &n_insns, &h) == TL_STOP_TRAP)
            leave_trap(h);
        for (uint32_t i = 0; i < N_THREADS; i++)
            if (machine->harts[i]->now >= end)
                running &= ~(1u << i);
    }
}

static tl_netburst *pmu_of(tl_machine *machine, uint32_t hart) {
    uint32_t thread;
    tl_netburst *n = tl_netburst_of(tl_machine_pmu_of(machine, &tl_pmu_netburst, hart), &thread);
    assert_non_null(n);
    assert_int_equal(thread, hart % 2);
    return n;
}

// An event, the ESCR of its pair for thread 0, a counter of it, and signals of the hart: sums.
typedef struct counted {
    const char *name;
    uint32_t msr, select, counter, event, mask;
    const char *more, *less;
} counted;
static const counted rows[] = {
    {"instr_retired", 0x3b8, 4, 12, 0x02, 3, "hart.instret", NULL},
    {"uops_retired", 0x3b8, 4, 12, 0x01, 1, "core.retire_uop + core.alone", NULL},
    {"uops_retired.bogus", 0x3b8, 4, 12, 0x01, 2, "core.taken_back_uop", NULL},
    {"branch_retired", 0x3cc, 5, 13, 0x06, 15, "hart.insn_branch + hart.insn_jal + hart.insn_jalr", NULL},
    {"branch_retired.taken", 0x3cc, 5, 13, 0x06, 12, "hart.branch_taken + hart.insn_jal + hart.insn_jalr", NULL},
    {"branch_retired.mispredicted", 0x3cc, 5, 13, 0x06, 10, "bp.cond_miss + bp.target_miss", NULL},
    {"mispred_branch_retired", 0x3b8, 4, 16, 0x03, 1, "bp.cond_miss + bp.target_miss", NULL},
    {"conditional", 0x3c2, 2, 4, 0x04, 2, "hart.insn_branch", NULL},
    {"mispredicted conditional", 0x3c2, 2, 5, 0x05, 2, "bp.cond_miss", NULL},
    {"unconditional", 0x3c2, 2, 4, 0x04, 1, "hart.insn_jal", NULL},
    {"indirect", 0x3c2, 2, 4, 0x04, 16, "hart.insn_jalr", NULL},
    {"return", 0x3c2, 2, 4, 0x04, 8, "hart.return", NULL},
    {"trace cache misses", 0x3b2, 0, 0, 0x03, 1, "core.trace_lookup", "core.trace_hit"},
    {"running clocks", 0x3a2, 6, 0, 0x13, 1, "hart.cycle", NULL},
    {"store buffers full", 0x3ca, 1, 12, 0x01, 1 << 5, "core.stall_stores", NULL},
    {"split loads", 0x3ae, 2, 8, 0x08, 1, "core.load_split", NULL},
    {"replays of split loads", 0x3ae, 2, 8, 0x04, 2, "core.in_vain_split", NULL},
    {"MOB replays", 0x3aa, 2, 0, 0x03, 16, "core.in_vain_store", NULL},
};

static uint64_t sum_of(tl_machine *machine, const char *text, uint32_t hart) {
    uint64_t sum = 0;
    char words[256], *rest = NULL, path[64];
    tl_machine_sync(machine);
    snprintf(words, sizeof words, "%s", text ? text : "");
    for (char *word = strtok_r(words, " +", &rest); word; word = strtok_r(NULL, " +", &rest)) {
        tl_cell cell;
        snprintf(path, sizeof path, "hart%u.%s", hart, strncmp(word, "hart.", 5) ? word : word + 5);
        if (tl_probe_resolve(&machine->probe, path, &cell) != TL_OK)
            fail_msg("no signal %s", path);
        sum += tl_probe_read(&machine->probe, cell);
    }
    return sum;
}

static uint64_t truth_of(tl_machine *machine, const counted *row, uint32_t hart) {
    return sum_of(machine, row->more, hart) - sum_of(machine, row->less, hart);
}

static uint32_t counter_of(const counted *row, uint32_t thread) { return row->counter + thread * (row->counter == 16 ? 1 : 2); }

static void start(tl_netburst *n, const counted *row) {
    for (uint32_t t = 0; t < N_THREADS; t++) {
        const uint32_t threads = t == 0 ? TL_ESCR_T0_USR | TL_ESCR_T0_OS : TL_ESCR_T1_USR | TL_ESCR_T1_OS;
        wrmsr(n, row->msr + t, (uint64_t)row->event << TL_ESCR_EVENT_LSB | row->mask << TL_ESCR_MASK_LSB | threads);
        wrmsr(n, TL_MSR_CCCR + counter_of(row, t), TL_CCCR_ENABLE | row->select << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
    }
}

// Both threads have nothing to run, until the same clock.
static void halt(tl_machine *machine, uint64_t n) {
    const uint64_t now = tl_machine_now_cycles(machine);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        machine->harts[i]->client = NULL;
        tl_hart_idle_until(machine->harts[i], now + n);
    }
}

static void run_phases(tl_machine *machine, bool chop) {
    static const uint32_t running[] = {BOTH_THREADS, 1, BOTH_THREADS, 2};
    for (uint32_t phase = 0; phase < 8; phase++)
        run_threads(machine, running[phase % 4], 5000 + 7 * phase, chop);
    // Uops that were taken back last are reported as bogus by and by.
    halt(machine, 1000);
}

// tags: some uops get tags that nothing counts. The core tells every uop then.
static void check_both_threads(uint32_t k, bool tags) {
    tl_machine *machine = open_machine(4711 + k);
    tl_netburst *n = pmu_of(machine, 1);
    uint64_t before[N_THREADS];
    point(machine->harts[0], k);
    point(machine->harts[1], k + 100);
    run_threads(machine, BOTH_THREADS, 100, false);
    halt(machine, 0);
    if (tags) // event uop_type: loads and stores of both threads
        wrmsr(n, 0x3bc, 0x02ull << TL_ESCR_EVENT_LSB | 6 << TL_ESCR_MASK_LSB | 15);
    start(n, &rows[k]);
    for (uint32_t i = 0; i < N_THREADS; i++)
        before[i] = truth_of(machine, &rows[k], i);
    run_phases(machine, false);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        const uint64_t want = truth_of(machine, &rows[k], i) - before[i];
        const uint64_t has = rdmsr(n, TL_MSR_COUNTER + counter_of(&rows[k], i));
        if (has != want)
            fail_msg("%s of thread %u%s: %" PRIu64 ", truth is %" PRIu64, rows[k].name, i, tags ? " beside tags" : "", has, want);
    }
    tl_machine_free(machine);
}

static void test_counts_of_both_threads_are_the_machines_own(void **state) {
    (void)state;
    for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++) {
        check_both_threads(k, false);
        check_both_threads(k, true);
    }
}

// Counts of the FIRM of both threads: floating-point uops that executed.
static uint64_t count_firm(uint32_t event, uint32_t mask, bool tags) {
    tl_machine *machine = open_machine(77);
    tl_netburst *n = pmu_of(machine, 0);
    point(machine->harts[0], 3);
    point(machine->harts[1], 103);
    run_threads(machine, BOTH_THREADS, 100, false);
    halt(machine, 0);
    if (tags)
        wrmsr(n, 0x3bc, 0x02ull << TL_ESCR_EVENT_LSB | 6 << TL_ESCR_MASK_LSB | 15);
    wrmsr(n, 0x3a4, (uint64_t)event << TL_ESCR_EVENT_LSB | mask << TL_ESCR_MASK_LSB | 15);
    wrmsr(n, TL_MSR_CCCR + 8, TL_CCCR_ENABLE | 1 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
    run_phases(machine, false);
    const uint64_t count = rdmsr(n, TL_MSR_COUNTER + 8);
    tl_machine_free(machine);
    return count;
}

// The core tells dispatches of floating-point classes with effect alone, or all of them.
static void test_floating_point_counts_the_same_beside_tags(void **state) {
    (void)state;
    // Double precision, single precision, moves and stores, loads.
    static const struct { uint32_t event, mask; } events[] = {{0x0e, 1 << 15}, {0x0a, 1 << 15}, {0x2e, 1 << 3}, {0x2e, 1 << 4}};
    for (uint32_t k = 0; k < TL_COUNT_OF(events); k++) {
        const uint64_t alone = count_firm(events[k].event, events[k].mask, false);
        assert_true(alone > 0);
        assert_int_equal(alone, count_firm(events[k].event, events[k].mask, true));
    }
}

// A19: a core that stops in each cycle does what one does that skips idle ones.
static void test_skipped_clocks_count_as_clocks_do(void **state) {
    (void)state;
    static const uint32_t chosen[] = {0, 2, 13};
    for (uint32_t k = 0; k < TL_COUNT_OF(chosen); k++) {
        const counted *row = &rows[chosen[k]];
        uint64_t has[2][N_THREADS];
        for (uint32_t chop = 0; chop < 2; chop++) {
            tl_machine *machine = open_machine(99 + k);
            tl_netburst *n = pmu_of(machine, 0);
            point(machine->harts[0], k);
            point(machine->harts[1], k + 50);
            start(n, row);
            run_phases(machine, chop);
            for (uint32_t i = 0; i < N_THREADS; i++)
                has[chop][i] = rdmsr(n, TL_MSR_COUNTER + counter_of(row, i));
            tl_machine_free(machine);
        }
        assert_true(has[0][0] + has[0][1] > 0);
        assert_memory_equal(has[0], has[1], sizeof has[0]);
    }
}

// ---- Many clocks at once.

// Rows of many clocks count what the clocks do one by one. Most programs count only what rows take,
// because any other counter would end them.
static void test_rows_count_as_clocks_do(void **state) {
    (void)state;
    enum { ANY_EVENT = 12, PROGRAMS = 160 };
    for (uint32_t program = 0; program < PROGRAMS; program++) {
        rng r[2];
        tl_machine *machines[2];
        tl_netburst *n[2];
        for (uint32_t i = 0; i < 2; i++) {
            r[i] = (rng){program + 1000};
            machines[i] = open_machine(program + 300);
            n[i] = pmu_of(machines[i], 0);
            n[i]->is_eager = i == 1;
            point(machines[i]->harts[0], program);
            point(machines[i]->harts[1], program + 50);
            if (program % 4 == 3) // tags for some uops
                wrmsr(n[i], 0x3bc, 0x02ull << TL_ESCR_EVENT_LSB | 6 << TL_ESCR_MASK_LSB | 15);
        }
        for (uint32_t phase = 0; phase < 12; phase++) {
            static const uint32_t running[] = {1, 1, BOTH_THREADS, 2};
            for (uint32_t i = 0; i < 2; i++) {
                for (uint32_t k = program % 2 ? 2 : phase == 0 ? 20 : below(&r[i], 3); k > 0; k--)
                    write_random_counter(&r[i], n[i], program >= ANY_EVENT);
                run_threads(machines[i], running[(program + phase) % 4], 3000 + 7 * phase, false);
            }
            check_same(n[0], n[1], program, phase);
        }
        for (uint32_t i = 0; i < 2; i++)
            tl_machine_free(machines[i]);
    }
}

// ---- Tags.

// A12: from a trap to a trap, so that nothing is in flight at either end.
static void run_to_traps(tl_machine *machine, uint32_t n_traps) {
    tl_hart *h = machine->harts[0];
    static int program;
    h->client = &program;
    while (n_traps > 0) {
        h->horizon = h->now + 3000; // code may loop for ever
        h->insn_limit = UINT64_MAX;
        n_traps -= h->engine->run(h) == TL_STOP_TRAP;
        leave_trap(h);
    }
}

// A set-up of tags, and signals of what it tags.
typedef struct tagging {
    struct {
        uint32_t msr;
        uint64_t value;
    } writes[2];
    uint64_t code, nbogus, bogus;              // of the event that counts the group
    const char *retired, *no_tag, *bogus_uops; // retired: NULL if no signal says it
    const char *tagged;                        // NULL: what retires and what is taken back
} tagging;

static void test_each_tagged_uop_is_retired_or_bogus(void **state) {
    (void)state;
    static const tagging groups[] = {
        {{{0x3bc, 0x0400040c}}, 0x08, 1, 2, "hart.insn_load + hart.insn_fp_load", "hart.unc_read", "core.taken_back_load", NULL},
        // A store is two uops, of which the address is tagged.
        {{{0x3bc, 0x0400080c}}, 0x08, 1, 2, "hart.insn_store + hart.insn_fp_store", "hart.unc_write", "core.taken_back_store", NULL},
        {{{TL_MSR_PEBS_MATRIX_VERT, 1}, {TL_MSR_PEBS_ENABLE, 0x01000001}},
         0x09,
         1,
         2,
         "core.load_miss",
         "core.load_miss_wrong",
         "core.load_miss_wrong",
         "core.load_miss"},
        {{{0x3a4, 0x1d00003c}, {TL_MSR_CCCR + 8, 0x00033000}}, 0x0c, 1, 1 << 4, NULL, NULL, NULL, "core.execute_double"},
    };
    for (uint32_t k = 0; k < TL_COUNT_OF(groups); k++) {
        const tagging *g = &groups[k];
        tl_machine *machine = open_machine(321 + k);
        tl_netburst *n = pmu_of(machine, 0);
        point(machine->harts[0], 5);
        run_to_traps(machine, 1);
        for (uint32_t i = 0; i < TL_COUNT_OF(g->writes) && g->writes[i].msr != 0; i++)
            wrmsr(n, g->writes[i].msr, g->writes[i].value);
        wrmsr(n, 0x3cc, g->code << TL_ESCR_EVENT_LSB | g->nbogus << TL_ESCR_MASK_LSB | 12);
        wrmsr(n, 0x3cd, g->code << TL_ESCR_EVENT_LSB | g->bogus << TL_ESCR_MASK_LSB | 12);
        wrmsr(n, TL_MSR_CCCR + 12, 0x0003b000);
        wrmsr(n, TL_MSR_CCCR + 14, 0x0003b000);
        uint64_t retired = sum_of(machine, g->retired, 0) - sum_of(machine, g->no_tag, 0), bogus = sum_of(machine, g->bogus_uops, 0);
        uint64_t tagged = sum_of(machine, g->tagged, 0);
        run_to_traps(machine, 1000);
        halt(machine, 1000);
        retired = sum_of(machine, g->retired, 0) - sum_of(machine, g->no_tag, 0) - retired;
        bogus = sum_of(machine, g->bogus_uops, 0) - bogus;
        tagged = g->tagged ? sum_of(machine, g->tagged, 0) - tagged : retired + bogus;
        const uint64_t counts[] = {rdmsr(n, TL_MSR_COUNTER + 12), rdmsr(n, TL_MSR_COUNTER + 14)};
        assert_true(counts[0] > 20 && counts[1] > 20);
        assert_int_equal(counts[0] + counts[1], tagged);
        if (g->retired) {
            assert_int_equal(counts[0], retired);
            assert_int_equal(counts[1], bogus);
        }
        tl_machine_free(machine);
    }
}

// A13: data that only wrong paths touch. A0 of two pointers is chosen without a branch: the line
// that is cached if the branch falls through to the load, else one that never is.
static void test_untagged_misses_are_those_of_wrong_paths(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", NULL};
    enum { HOT = 13, FAR = 14, BOTH = 15, CHOICE = 28, CHOSEN = 29, ONE = 30, LATE = 31, STEP = 640, ITERATIONS = 2000 };
    kernel k;
    open_kernel(&k, "netburst", on);
    k.h->client = &k;
    k.rv->x[A1] = UINT64_C(6364136223846793005);
    k.rv->x[ONE] = 1;
    k.rv->x[HOT] = TL_RAM_BASE_PADDR + DATA;
    k.rv->x[FAR] = TL_RAM_BASE_PADDR + 2 * DATA;
    emit(&k, mul(T2, T2, A1));
    emit(&k, addi(T2, T2, 1));
    emit(&k, addi(FAR, FAR, STEP));
    emit(&k, xori(BOTH, FAR, 0));
    emit(&k, HOT << 20 | BOTH << 15 | 4 << 12 | BOTH << 7 | 0x33);      // xor: far ^ hot
    emit(&k, 0x43fu << 20 | T2 << 15 | 5 << 12 | CHOICE << 7 | 0x13);   // srai 63
    emit(&k, BOTH << 20 | CHOICE << 15 | 7 << 12 | CHOICE << 7 | 0x33); // and
    // XOR: hot, or far if negative.
    emit(&k, HOT << 20 | CHOICE << 15 | 4 << 12 | CHOSEN << 7 | 0x33);
    // The branch knows later than the load.
    emit(&k, mul(LATE, T2, ONE));
    emit(&k, mul(LATE, LATE, ONE));
    emit(&k, branch(4, LATE, 0, 8)); // negative: no load
    emit(&k, ld(T1, CHOSEN, 0));
    (void)warm_loop(&k);
    tl_netburst *n = pmu_of(k.machine, 0);
    wrmsr(n, TL_MSR_PEBS_MATRIX_VERT, 1);
    wrmsr(n, TL_MSR_PEBS_ENABLE, 0x01000001);
    // Event replay_event, NBOGUS.
    wrmsr(n, 0x3cc, 0x1200020c);
    // Reads of the second level.
    wrmsr(n, 0x3a0, 0x0cull << TL_ESCR_EVENT_LSB | 0x107ull << TL_ESCR_MASK_LSB | 12);
    wrmsr(n, TL_MSR_CCCR + 16, 0x0003b000);
    wrmsr(n, TL_MSR_CCCR + 0, 0x0003f000);
    const uint64_t wrong = read_signal(&k, "hart0.core.load_miss_wrong"), all = read_signal(&k, "hart0.core.load_miss");
    (void)run_iterations(&k, ITERATIONS);
    const uint64_t bogus = read_signal(&k, "hart0.core.load_miss_wrong") - wrong;
    const uint64_t committed = read_signal(&k, "hart0.core.load_miss") - all - bogus;
    const uint64_t tagged = rdmsr(n, TL_MSR_COUNTER + 16), untagged = rdmsr(n, TL_MSR_COUNTER + 0);
    assert_true(bogus > ITERATIONS / 10);
    assert_true(tagged <= committed + 2 && committed <= tagged + 2); // some are in flight
    assert_true(untagged > 10 * (tagged + 1));
    close_kernel(&k);
}

// A store that crosses a line is tagged, and none that touches only the first or the last bytes of
// one.
static void test_only_stores_across_lines_have_the_tag_of_split_stores(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", NULL};
    enum { FIRST = 13, LAST = 14, SPLIT = 15, BYTE = 1, LINE_BYTES = 64, SPLITS = 2, ITERATIONS = 300 };
    for (uint32_t second = 0; second < 2; second++) { // either detector lets the cause tag
        kernel k;
        open_kernel(&k, "netburst", on);
        k.h->client = &k;
        k.rv->x[FIRST] = TL_RAM_BASE_PADDR + DATA;
        k.rv->x[LAST] = TL_RAM_BASE_PADDR + DATA + LINE_BYTES - 8;
        k.rv->x[SPLIT] = TL_RAM_BASE_PADDR + DATA + 2 * LINE_BYTES - BYTE;
        emit(&k, store(A1, FIRST, 3));
        emit(&k, store(A1, LAST, 3));
        emit_n(&k, SPLITS, store(A1, SPLIT, 1)); // one byte in each line
        (void)warm_loop(&k);
        tl_netburst *n = pmu_of(k.machine, 0);
        wrmsr(n, 0x3ae + second, 0x0a00040c); // store_port_replay, SPLIT_ST
        wrmsr(n, TL_MSR_CCCR + 8 + 2 * second, 0x00035000);
        wrmsr(n, TL_MSR_PEBS_MATRIX_VERT, 2);
        wrmsr(n, TL_MSR_PEBS_ENABLE, 0x01000400);
        wrmsr(n, 0x3cc, 0x1200020c); // replay_event, NBOGUS
        wrmsr(n, TL_MSR_CCCR + 12, 0x0003b000);
        (void)run_iterations(&k, 20); // so that nothing is in flight that was not seen
        const uint64_t before = rdmsr(n, TL_MSR_COUNTER + 12);
        (void)run_iterations(&k, ITERATIONS);
        assert_in_range(rdmsr(n, TL_MSR_COUNTER + 12) - before, SPLITS * ITERATIONS - 3, SPLITS * ITERATIONS + 3);
        close_kernel(&k);
    }
}

// A14: execution tags of both detectors at once.
static void test_execution_tags_tell_classes_apart(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", NULL};
    enum { DOUBLES = 3, SINGLES = 2, ITERATIONS = 500 };
    kernel k;
    open_kernel(&k, "netburst", on);
    k.h->client = &k;
    emit_n(&k, DOUBLES, fadd(1, 2, 3));
    emit_n(&k, SINGLES, fadd(4, 5, 6) & ~UINT32_C(0x02000000));
    (void)warm_loop(&k);
    tl_netburst *n = pmu_of(k.machine, 0);
    // Doubles: tag 0.
    wrmsr(n, 0x3a4, 0x0eull << TL_ESCR_EVENT_LSB | 1u << 24 | 1 << TL_ESCR_TAG_VALUE_LSB | TL_ESCR_TAG_ENABLE | 12);
    // Singles: tag 2.
    wrmsr(n, 0x3a5, 0x0aull << TL_ESCR_EVENT_LSB | 1u << 24 | 4 << TL_ESCR_TAG_VALUE_LSB | TL_ESCR_TAG_ENABLE | 12);
    // NBOGUS0.
    wrmsr(n, 0x3cc, 0x0cull << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB | 12);
    // NBOGUS2.
    wrmsr(n, 0x3cd, 0x0cull << TL_ESCR_EVENT_LSB | 4 << TL_ESCR_MASK_LSB | 12);
    wrmsr(n, TL_MSR_CCCR + 8, 0x00033000);
    wrmsr(n, TL_MSR_CCCR + 10, 0x00033000);
    wrmsr(n, TL_MSR_CCCR + 12, 0x0003b000);
    wrmsr(n, TL_MSR_CCCR + 14, 0x0003b000);
    const uint64_t seconds = 20; // so that nothing is in flight that was not seen
    (void)run_iterations(&k, seconds);
    const uint64_t doubles = rdmsr(n, TL_MSR_COUNTER + 12), singles = rdmsr(n, TL_MSR_COUNTER + 14);
    (void)run_iterations(&k, ITERATIONS);
    assert_in_range(rdmsr(n, TL_MSR_COUNTER + 12) - doubles, DOUBLES * ITERATIONS - 3, DOUBLES * ITERATIONS + 3);
    assert_in_range(rdmsr(n, TL_MSR_COUNTER + 14) - singles, SINGLES * ITERATIONS - 3, SINGLES * ITERATIONS + 3);
    close_kernel(&k);
}

// ---- Precise samples.

enum { A2 = 12, CELLS = 8, CELL_STRIDE = 8192, HITS = 127, AREA = 1 << 19, RECORDS = 1 << 21, RECORD_BYTES = 40, MAX_RECORDS = 1000 };

// A loop whose first load misses the L1D, because eight lines want four ways, and whose other loads
// hit. A2 has the address of a cell, which holds that of the next one.
static void open_misses(kernel *k, const char *const *overrides) {
    open_kernel(k, "netburst", overrides);
    const uint64_t cells = TL_RAM_BASE_PADDR + DATA + 0x3c0;
    for (uint64_t i = 0; i < CELLS; i++)
        put64(k, cells + i * CELL_STRIDE, cells + (i + 1) % CELLS * CELL_STRIDE);
    put64(k, cells + 64, cells + 64);
    k->rv->x[A2] = cells;
    k->rv->x[T1] = cells + 64;
    emit(k, ld(A2, A2, 0));
    emit_n(k, HITS, ld(T1, T1, 0));
}

static void put32(const kernel *k, uint64_t paddr, uint64_t value) { memcpy(tl_machine_ram(k->machine, paddr), &value, 4); }
static uint32_t get32(const kernel *k, uint64_t paddr) {
    uint32_t value;
    memcpy(&value, tl_machine_ram(k->machine, paddr), sizeof value);
    return value;
}

// Samples the thread's misses, one of `period` + 1, into an area for n records.
static void sample_misses(const kernel *k, tl_netburst *n, uint64_t period, uint32_t n_records) {
    const uint64_t area = TL_RAM_BASE_PADDR + AREA, records = TL_RAM_BASE_PADDR + RECORDS;
    put32(k, area + 0x10, records);
    put32(k, area + 0x14, records);
    put32(k, area + 0x18, records + n_records * RECORD_BYTES);
    put32(k, area + 0x1c, records + (n_records - 1) * RECORD_BYTES);
    put64(k, area + 0x20, -period & TL_NETBURST_VALUE);
    wrmsr(n, TL_MSR_DS_AREA, area);
    wrmsr(n, 0x3cc, 0x1200020c); // replay_event, NBOGUS, thread 0
    wrmsr(n, TL_MSR_PEBS_MATRIX_VERT, 1);
    wrmsr(n, TL_MSR_PEBS_ENABLE, 0x03000001);
    wrmsr(n, TL_MSR_COUNTER + 16, -period & TL_NETBURST_VALUE);
    wrmsr(n, TL_MSR_CCCR + 16, 0x0403b000);
}

static void test_samples_name_the_load_that_missed_and_the_registers_before_it(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", NULL};
    kernel k;
    open_misses(&k, on);
    tl_netburst *n = pmu_of(k.machine, 0);
    k.h->client = &k;
    (void)warm_loop(&k);
    const uint64_t missed = read_signal(&k, "hart0.core.load_miss");
    sample_misses(&k, n, 10, MAX_RECORDS);
    (void)run_iterations(&k, 885); // the first load may be in flight already, without a tag
    assert_in_range(read_signal(&k, "hart0.core.load_miss") - missed, 884, 886);
    const uint64_t records = TL_RAM_BASE_PADDR + RECORDS, cell = TL_RAM_BASE_PADDR + DATA + 0x3c0;
    const uint64_t n_records = (get32(&k, TL_RAM_BASE_PADDR + AREA + 0x14) - records) / RECORD_BYTES;
    assert_int_equal(n_records, 880 / 11);
    assert_int_equal(tl_netburst_samples_of(n, 0).n_stored, n_records);
    for (uint64_t i = 0; i < n_records; i++) {
        const uint64_t at = records + i * RECORD_BYTES;
        assert_int_equal(get32(&k, at + 4), TL_RAM_BASE_PADDR); // the first load of the loop
        // Eleven misses are three cells further, each time.
        assert_int_equal((get32(&k, at + 16) - cell) / CELL_STRIDE, ((get32(&k, records + 16) - cell) / CELL_STRIDE + 3 * i) % CELLS);
    }
    close_kernel(&k);
}

// Step 6 of section 9.5: with 1000 clocks more, each of the samples takes 1000 clocks more.
static void test_an_assist_takes_its_clocks(void **state) {
    (void)state;
    enum { LOOPS = 200, PERIOD = 40 };
    static const char *const clocks[] = {"netburst.assist_clocks=300", "netburst.assist_clocks=1300"};
    uint64_t cycles[3], n_samples[3];
    for (uint32_t i = 0; i < 3; i++) {
        const char *const overrides[] = {"pentium4=on", i < 2 ? clocks[i] : NULL, NULL};
        kernel k;
        open_misses(&k, overrides);
        tl_netburst *n = pmu_of(k.machine, 0);
        k.h->client = &k;
        const uint64_t begin = warm_loop(&k);
        sample_misses(&k, n, PERIOD, MAX_RECORDS);
        const uint64_t left = k.rv->x[A0];
        cycles[i] = run_iterations(&k, LOOPS) - begin;
        // A captured instruction retires once: iterations have no more of them.
        assert_int_equal(left - k.rv->x[A0], LOOPS);
        n_samples[i] = tl_netburst_samples_of(n, 0).n_stored;
        close_kernel(&k);
    }
    assert_in_range(n_samples[0], LOOPS / PERIOD - 1, LOOPS / PERIOD);
    assert_int_equal(n_samples[1], n_samples[0]);
    assert_int_equal(cycles[1], cycles[0] + 1000 * n_samples[0]);
    assert_int_equal(cycles[2], cycles[0]); // 300 is the default
}

// A20: the machine is saved and put back while a sample is armed, and while one is stored.
static void test_a_snapshot_holds_a_sample_under_way(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", NULL};
    for (uint32_t stored = 0; stored < 2; stored++) {
        uint64_t found[2][4];
        kernel k;
        open_misses(&k, on);
        k.h->client = &k;
        tl_netburst *n = pmu_of(k.machine, 0);
        (void)warm_loop(&k);
        sample_misses(&k, n, 10, MAX_RECORDS);
        tl_snapshot *snapshot = NULL;
        tl_error err;
        while (stored ? tl_netburst_samples_of(n, 0).n_stored == 0 : !(rdmsr(n, TL_MSR_CCCR + 16) & TL_CCCR_OVF)) {
            k.h->horizon = k.h->now + 1;
            k.h->insn_limit = UINT64_MAX;
            (void)k.h->engine->run(k.h);
        }
        if (tl_snapshot_take(k.machine, &snapshot, &err) != TL_OK)
            fail_msg("%s", err.text);
        for (uint32_t i = 0; i < 2; i++) {
            (void)run_iterations(&k, 300);
            found[i][0] = k.h->now;
            found[i][1] = rdmsr(n, TL_MSR_COUNTER + 16);
            found[i][2] = get32(&k, TL_RAM_BASE_PADDR + AREA + 0x14);
            found[i][3] = tl_netburst_samples_of(n, 0).n_stored;
            tl_snapshot_restore(snapshot);
        }
        assert_true(found[0][3] > 20);
        assert_memory_equal(found[0], found[1], sizeof found[0]);
        tl_snapshot_free(snapshot);
        close_kernel(&k);
    }
}

// ---- Interrupts.

enum { FAR_LINES = 1 << 14, FAR_STRIDE = 640, MANY_CLOCKS = 200000 };

// A chain of loads that all go to DRAM, and a branch that nobody can predict.
static void open_chain(kernel *k, const char *const *overrides) {
    open_kernel(k, "netburst", overrides);
    k->h->client = k;
    put_ring(k, FAR_LINES, FAR_STRIDE);
    emit(k, ld(T0, T0, 0));
    k->rv->x[A1] = UINT64_C(6364136223846793005);
    emit(k, mul(T2, T2, A1));
    emit(k, addi(T2, T2, 1));
    emit(k, branch(4, T2, 0, 8)); // negative
    emit_n(k, 7, add(T1, T1, T0));
    (void)warm_loop(k);
}

// A counter that interrupts thread 0 at event n.
typedef struct interrupting {
    const char *name;
    uint32_t escr, counter;
    uint64_t escr_value, cccr, n;
} interrupting;
static const interrupting interrupts[] = {
    {"instructions", 0x3b8, 12, 0x0400060c, 0x00039000, 1000}, {"misses", 0x3cc, 16, 0x1200020c, 0x0003b000, 7},
    {"running clocks", 0x3a2, 0, 0x2600020c, 0x0003d000, 777}, {"clocks of at most 15 uops", 0x3b8, 12, 0x0200020c, 0x00ff9000, 901},
    {"bogus uops", 0x3b8, 12, 0x0200040c, 0x00039000, 5},      {"clocks with more than one uop", 0x3b8, 12, 0x0200020c, 0x00179000, 40},
};

static void interrupt_at(tl_netburst *n, const interrupting *row) {
    wrmsr(n, TL_MSR_PEBS_MATRIX_VERT, 1);
    wrmsr(n, TL_MSR_PEBS_ENABLE, 0x01000001);
    wrmsr(n, row->escr, row->escr_value);
    wrmsr(n, TL_MSR_COUNTER + row->counter, (1 - row->n) & TL_NETBURST_VALUE);
    tl_netburst_set_lvt(n, 0, 0);
    wrmsr(n, TL_MSR_CCCR + row->counter, row->cccr | TL_CCCR_OVF_PMI_T0);
}

// Runs to the cycle in which the interrupt is there. chop: cycle by cycle.
static uint64_t run_to_interrupt(kernel *k, bool chop) {
    const uint64_t end = k->h->now + MANY_CLOCKS;
    while (!(k->h->irqs_pending >> 13 & 1)) {
        k->h->horizon = chop ? k->h->now + 1 : UINT64_MAX;
        k->h->insn_limit = UINT64_MAX;
        tl_hart_limit_to_deadline(k->h, &k->h->insn_limit);
        (void)k->h->engine->run(k->h);
        (void)tl_hart_poll(k->h);
        if (k->h->now > end)
            fail_msg("no interrupt");
    }
    return k->h->now;
}

// The clock of event n, found by reading the counter in each cycle.
static uint64_t clock_of_event(kernel *k, tl_netburst *n, const interrupting *row) {
    const uint64_t end = k->h->now + MANY_CLOCKS;
    do {
        k->h->horizon = k->h->now + 1;
        k->h->insn_limit = UINT64_MAX;
        (void)k->h->engine->run(k->h);
        assert_true(k->h->now < end);
    } while (rdmsr(n, TL_MSR_COUNTER + row->counter) - 1 >= TL_NETBURST_VALUE >> 1);
    return k->h->now - 1; // the read has the clocks before its own
}

static void test_interrupts_arrive_in_their_cycle(void **state) {
    (void)state;
    static const char *const latencies[] = {"netburst.pmi_latency=2", "netburst.pmi_latency=138", "netburst.pmi_latency=1000"};
    static const uint64_t cycles[] = {2, 138, 1000};
    for (uint32_t r = 0; r < TL_COUNT_OF(interrupts); r++)
        for (uint32_t l = 0; l < TL_COUNT_OF(latencies); l++) {
            const char *const overrides[] = {"pentium4=on", latencies[l], NULL};
            uint64_t when[3];
            for (uint32_t i = 0; i < 3; i++) {
                kernel k;
                open_chain(&k, overrides);
                tl_netburst *n = pmu_of(k.machine, 0);
                interrupt_at(n, &interrupts[r]);
                when[i] = i == 0 ? clock_of_event(&k, n, &interrupts[r]) : run_to_interrupt(&k, i == 1);
                close_kernel(&k);
            }
            if (when[1] != when[0] + cycles[l] || when[2] != when[1])
                fail_msg("%s, %s: event in %" PRIu64 ", interrupt %" PRIu64 " cycles later, cycle by cycle %" PRIu64, interrupts[r].name,
                         latencies[l], when[0], when[2] - when[0], when[1] - when[0]);
        }
}

// The entry of the vector table is masked, so no second interrupt comes. Both threads are told how
// far they were.
static void test_an_overflow_interrupts_once_and_is_dated_for_both_threads(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", NULL};
    kernel k;
    open_chain(&k, on);
    tl_netburst *n = pmu_of(k.machine, 0);
    k.machine->harts[1]->instret = 123456; // it does not run
    interrupt_at(n, &interrupts[0]);
    const uint64_t insns = k.h->instret;
    (void)run_to_interrupt(&k, false);
    assert_in_range(tl_netburst_overflow_insns(n, 0, interrupts[0].counter), insns + interrupts[0].n - 10, insns + interrupts[0].n + 10);
    assert_int_equal(tl_netburst_overflow_insns(n, 1, interrupts[0].counter), 123456);
    tl_hart_set_irq(k.h, 13, false);
    for (uint32_t i = 0; i < 10; i++) {
        (void)run_iterations(&k, 10);
        (void)tl_hart_poll(k.h);
        assert_int_equal(k.h->irqs_pending >> 13 & 1, 0);
    }
    k.machine->harts[1]->instret = 0;
    close_kernel(&k);
}

// A hart without overflows pays nothing, and one that waits for an interrupt runs freely up to it.
static void test_few_runs_lead_to_an_interrupt(void **state) {
    (void)state;
    static const char *const overrides[] = {"pentium4=on", "netburst.pmi_latency=1000", NULL};
    kernel k;
    open_chain(&k, overrides);
    interrupt_at(pmu_of(k.machine, 0), &interrupts[0]);
    uint32_t n_runs = 0;
    for (; !(k.h->irqs_pending >> 13 & 1); n_runs++) {
        k.h->horizon = k.h->insn_limit = UINT64_MAX;
        tl_hart_limit_to_deadline(k.h, &k.h->insn_limit);
        (void)k.h->engine->run(k.h);
        (void)tl_hart_poll(k.h);
    }
    assert_int_equal(n_runs, 2); // to the overflow, to the arrival
    close_kernel(&k);
}

static void test_erratum_of_branch_types_counts_what_is_taken_back(void **state) {
    (void)state;
    for (uint32_t is_on = 0; is_on < 2; is_on++) {
        const char *const overrides[] = {"pentium4=on", is_on ? "netburst.branch_type_overcount=on" : "netburst.errata=none", NULL};
        kernel k;
        open_chain(&k, overrides);
        tl_netburst *n = pmu_of(k.machine, 0);
        // Without anything in flight that was not seen.
        k.h->pc = TL_RAM_BASE_PADDR;
        (void)run_iterations(&k, 1);
        wrmsr(n, 0x3c2, 0x04ull << 25 | 2 << 9 | 12);
        wrmsr(n, TL_MSR_CCCR + 4, 0x00035000);
        const uint64_t before = read_signal(&k, "hart0.insn_branch"), back = read_signal(&k, "hart0.core.taken_back_branch");
        (void)run_iterations(&k, 500);
        const uint64_t retired = read_signal(&k, "hart0.insn_branch") - before;
        const uint64_t taken_back = read_signal(&k, "hart0.core.taken_back_branch") - back;
        assert_true(taken_back > 50);
        // Of the clock under way nothing has been counted yet.
        const uint64_t want = retired + (is_on ? taken_back : 0);
        assert_in_range(rdmsr(n, TL_MSR_COUNTER + 4), want - 3, want);
        close_kernel(&k);
    }
}

static bool read_device(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    (void)ctx, (void)agent, (void)paddr, (void)size_bytes;
    *ret_value = 7;
    return true;
}

// SDM: an access of a device is never tagged. It executes alone.
static void test_a_load_of_a_device_has_no_tag(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", NULL};
    enum { DEVICE_PADDR = 0x10000000, DEVICE = 13, MEMORY_LOADS = 2, ITERATIONS = 50 };
    const tl_bus bus = {.read = read_device};
    kernel k;
    open_kernel(&k, "netburst", on);
    k.h->client = &k;
    tl_machine_set_bus(k.machine, &bus);
    k.rv->x[DEVICE] = DEVICE_PADDR;
    k.rv->x[T1] = TL_RAM_BASE_PADDR + DATA;
    put64(&k, TL_RAM_BASE_PADDR + DATA, TL_RAM_BASE_PADDR + DATA);
    emit(&k, ld(T2, DEVICE, 0));
    emit_n(&k, MEMORY_LOADS, ld(T1, T1, 0));
    (void)warm_loop(&k);
    tl_netburst *n = pmu_of(k.machine, 0);
    wrmsr(n, 0x3bc, 0x0400040c); // uop_type, loads
    wrmsr(n, 0x3cc, 0x1000020c); // front_end_event, NBOGUS
    wrmsr(n, 0x3b8, 0x0400040c); // instr_retired, with the tag
    wrmsr(n, TL_MSR_CCCR + 12, 0x0003b000);
    wrmsr(n, TL_MSR_CCCR + 13, 0x00039000);
    const uint64_t devices = read_signal(&k, "hart0.unc_read");
    (void)run_iterations(&k, ITERATIONS);
    assert_int_equal(read_signal(&k, "hart0.unc_read") - devices, ITERATIONS);
    assert_in_range(rdmsr(n, TL_MSR_COUNTER + 12), MEMORY_LOADS * (ITERATIONS - 1), MEMORY_LOADS * ITERATIONS);
    assert_int_equal(rdmsr(n, TL_MSR_COUNTER + 13), rdmsr(n, TL_MSR_COUNTER + 12));
    close_kernel(&k);
}

// Counter 12 samples instructions in extended records. They name the load and where it reads.
static void test_extended_records_say_what_a_load_did(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", "netburst.nbx=on", NULL};
    enum { PERIOD = 211, LONG_RECORD = RECORD_BYTES + TL_NBX_RECORD_BYTES, ROOT = 0x1234 };
    kernel k;
    uint32_t n_misses = 0, n_hits = 0;
    open_misses(&k, on);
    tl_netburst *n = pmu_of(k.machine, 0);
    k.h->client = &k;
    k.h->context = ROOT;
    (void)warm_loop(&k);
    sample_misses(&k, n, PERIOD, MAX_RECORDS);
    put32(&k, TL_RAM_BASE_PADDR + AREA + 0x18, TL_RAM_BASE_PADDR + RECORDS + MAX_RECORDS * LONG_RECORD);
    put32(&k, TL_RAM_BASE_PADDR + AREA + 0x1c, UINT32_MAX);
    wrmsr(n, TL_MSR_CCCR + 16, 0);
    wrmsr(n, TL_MSR_NBX_CONTROL, TL_NBX_EXTENDED | TL_NBX_BY_ROOT);
    wrmsr(n, 0x3b8, 0x0400060c); // instr_retired, NBOGUS
    wrmsr(n, TL_MSR_NBX_SAMPLE, 1 << 12);
    wrmsr(n, TL_MSR_NBX_PRESET + 12, -(uint64_t)PERIOD & TL_NETBURST_VALUE);
    wrmsr(n, TL_MSR_COUNTER + 12, -(uint64_t)PERIOD & TL_NETBURST_VALUE);
    wrmsr(n, TL_MSR_CCCR + 12, 0x04039000);
    const uint64_t before = k.h->instret;
    (void)run_iterations(&k, 1200);
    const uint64_t n_records = tl_netburst_samples_of(n, 0).n_stored, insns = k.h->instret - before;
    // The sampled instruction counts again: the period is PERIOD.
    assert_in_range(n_records, insns / PERIOD - 1, insns / PERIOD);
    for (uint64_t i = 0; i < n_records && i < MAX_RECORDS; i++) {
        const uint64_t at = TL_RAM_BASE_PADDR + RECORDS + i * LONG_RECORD, more = at + RECORD_BYTES;
        const uint32_t pc = get32(&k, at + 4) - (uint32_t)TL_RAM_BASE_PADDR, flags = get32(&k, more + 24) >> 24;
        const uint32_t level = get32(&k, more + 24) >> 16 & 0xff, latency = get32(&k, more + 48);
        assert_int_equal(get32(&k, more + 16), ROOT);
        assert_int_equal(get32(&k, more + 24) & 0xffff, 12 << 8);
        assert_int_equal(get32(&k, more + 56), PERIOD);
        assert_int_equal(get32(&k, more + 8) - (i == 0 ? get32(&k, more + 8) : get32(&k, more + 8 - LONG_RECORD)), i == 0 ? 0 : PERIOD);
        assert_int_equal(flags & TL_NBX_IS_PRECISE, TL_NBX_IS_PRECISE);
        assert_int_equal((flags & TL_NBX_HAS_DATA) != 0, pc < 4 * (HITS + 1));
        if (!(flags & TL_NBX_HAS_DATA))
            continue;
        assert_int_equal(flags & TL_NBX_HAS_PHYSICAL, TL_NBX_HAS_PHYSICAL);
        // A2 or T1 has the address before the load.
        const uint32_t wanted = pc == 0 ? get32(&k, at + 16) : (uint32_t)(TL_RAM_BASE_PADDR + DATA + 0x3c0 + 64);
        assert_int_equal(get32(&k, more + 32), wanted);
        assert_int_equal(get32(&k, more + 40), wanted);
        // A load that an assist has taken back may find its line there. A period is longer than the
        // reorder buffer, so most loads are not.
        assert_true(level == 1 || (level == 2 && pc == 0));
        n_misses += level == 2;
        n_hits += level == 1;
        if (flags & TL_NBX_HAS_LATENCY)
            assert_true(latency > (level == 2 ? 5 : 0));
    }
    assert_true(n_misses > 0 && n_hits > 100);
    close_kernel(&k);
}

// ---- Two tasks.

// A guest that knows nothing of the extension writes satp between slices of irregular length. An
// instruction belongs to the task whose root was in effect when it retired, so its address names
// the task: the write of satp itself is of the task that goes.
enum { TASKS = 2, SLICES = 6, MAX_TASK_WORDS = 512, TABLES = 3 << 20, PAGE = 4096 };
static const uint32_t slice_insns[SLICES] = {37, 90, 7, 25, 111, 64};
static uint64_t root_of(uint32_t task) { return UINT64_C(8) << 60 | ((TL_RAM_BASE_PADDR + TABLES) / PAGE + task); }

typedef struct two_tasks {
    kernel k;
    uint8_t task_at[MAX_TASK_WORDS]; // by word of the loop
    uint64_t n_insns[TASKS];         // of an iteration
} two_tasks;

static void emit_task(two_tasks *t, uint32_t task, uint32_t word) {
    t->task_at[t->k.n] = (uint8_t)task;
    t->n_insns[task] += 1;
    emit(&t->k, word);
}

static uint32_t write_satp(uint32_t rs) { return 0x180u << 20 | rs << 15 | 1 << 12 | 0x73; }

// Both tables map 1 GiB of RAM to itself, where the debug store area is. The PMP permits all.
static void open_memory(kernel *k) {
    enum { LEAF = 0xcf, INDEX = TL_RAM_BASE_PADDR >> 30, ALL = 0x1f };
    for (uint32_t task = 0; task < TASKS; task++)
        put64(k, TL_RAM_BASE_PADDR + TABLES + task * PAGE + 8 * INDEX, TL_RAM_BASE_PADDR >> 12 << 10 | LEAF);
    k->rv->csr.pmpcfg[0] = ALL;
    k->rv->csr.pmpaddr[0] = (UINT64_C(1) << 54) - 1;
    k->rv->csr.pmp_generation += 1;
}

static tl_netburst *open_tasks(two_tasks *t) {
    static const char *const on[] = {"pentium4=on", "netburst.nbx=on", NULL};
    *t = (two_tasks){.n_insns = {0}};
    open_kernel(&t->k, "netburst", on);
    tl_privileged_reset(t->k.h);
    open_memory(&t->k);
    t->k.h->pc = TL_RAM_BASE_PADDR;
    t->k.h->client = t;
    t->k.rv->x[T0] = root_of(0);
    t->k.rv->x[T1] = root_of(1);
    t->k.rv->x[A2] = TL_RAM_BASE_PADDR + DATA;
    for (uint32_t i = 0; i < SLICES; i++) {
        emit_task(t, (i + 1) % TASKS, write_satp(i % TASKS == 0 ? T0 : T1));
        for (uint32_t k = 0; k < slice_insns[i]; k++)
            emit_task(t, i % TASKS, ld(T2, A2, 0));
    }
    t->task_at[t->k.n] = t->task_at[t->k.n + 1] = 1; // the end of the loop
    t->n_insns[1] += 2;
    (void)warm_loop(&t->k);
    return pmu_of(t->k.machine, 0);
}

// Counter 12 has all instructions, 13 those of the first task, 14 a bank for each.
static void count_tasks(tl_netburst *n) {
    wrmsr(n, TL_MSR_NBX_CONTROL, TL_NBX_EXTENDED | TL_NBX_BY_ROOT);
    wrmsr(n, TL_MSR_NBX_FILTER + 13, root_of(0));
    wrmsr(n, TL_MSR_NBX_FILTER_MASK + 13, UINT64_MAX);
    wrmsr(n, 0x3b8, 0x0400060c); // instr_retired
    wrmsr(n, 0x3b9, 0x0400060c);
    for (uint32_t counter = 12; counter < 15; counter++)
        wrmsr(n, TL_MSR_CCCR + counter, 0x00039000);
}

static uint64_t bank_of(tl_netburst *n, uint64_t tag, uint32_t counter) {
    for (uint64_t bank = 0; bank < (rdmsr(n, TL_MSR_NBX_BANK_STATUS) & 0xff); bank++) {
        wrmsr(n, TL_MSR_NBX_BANK, bank);
        if (rdmsr(n, TL_MSR_NBX_BANK_TAG) == tag)
            return rdmsr(n, TL_MSR_NBX_BANK_COUNTER + counter);
    }
    return 0;
}

static void run_tasks(two_tasks *t, uint64_t n_insns) {
    t->k.h->horizon = UINT64_MAX;
    t->k.h->insn_limit = t->k.h->instret + n_insns;
    assert_int_equal(t->k.h->engine->run(t->k.h), TL_STOP_LIMIT);
}

// Instructions that are no loads: writes of satp, and the end of the loop. The run ends among loads
// of the first task, so a write that is booked on the wrong side of a switch shows.
static void test_a_write_of_the_root_switches_the_context(void **state) {
    (void)state;
    enum { ITERATIONS = 40, MORE = 20, WRITES = SLICES / TASKS, LOOP_END = 2 };
    two_tasks t;
    tl_netburst *n = open_tasks(&t);
    const uint64_t n_loop = t.n_insns[0] + t.n_insns[1];
    count_tasks(n);
    wrmsr(n, 0x3bc, 0x0400040c); // uop_type, loads
    wrmsr(n, 0x3b8, 0x0400020c); // without the tag
    wrmsr(n, 0x3b9, 0x0400020c);
    run_tasks(&t, n_loop); // the tag is known with the first switch
    for (uint32_t counter = 12; counter < 15; counter++)
        wrmsr(n, TL_MSR_COUNTER + counter, 0);
    wrmsr(n, TL_MSR_NBX_BANK_STATUS, 0);
    wrmsr(n, TL_MSR_NBX_BANKED, 1 << 14);
    run_tasks(&t, ITERATIONS * n_loop + 1 + MORE);
    assert_int_equal(rdmsr(n, TL_MSR_COUNTER + 13), WRITES * ITERATIONS);
    assert_int_equal(bank_of(n, root_of(0), 14), WRITES * ITERATIONS);
    // The last clock of the run before is the second task's, and may be counted here.
    assert_in_range(bank_of(n, root_of(1), 14), (WRITES + LOOP_END) * ITERATIONS + 1, (WRITES + LOOP_END) * ITERATIONS + 1 + LOOP_END);
    assert_int_equal(bank_of(n, root_of(0), 14) + bank_of(n, root_of(1), 14), rdmsr(n, TL_MSR_COUNTER + 12));
    assert_int_equal(rdmsr(n, TL_MSR_NBX_BANK_STATUS), TASKS);
    close_kernel(&t.k);
}

// Section 14.2 of the specification. The area holds more records than a slice gives. A handler that
// books them on the task that runs then is wrong for some; the tag of each record is right.
static void test_records_of_two_tasks_are_told_apart(void **state) {
    (void)state;
    enum { PERIOD = 23, ROOM = 48, LONG_RECORD = RECORD_BYTES + TL_NBX_RECORD_BYTES };
    two_tasks t;
    uint32_t of_task[TASKS] = {0}, n_wrong = 0, n_late = 0;
    tl_netburst *n = open_tasks(&t);
    const uint64_t area = TL_RAM_BASE_PADDR + AREA, records = TL_RAM_BASE_PADDR + RECORDS;
    sample_misses(&t.k, n, PERIOD, MAX_RECORDS);
    put32(&t.k, area + 0x18, records + MAX_RECORDS * LONG_RECORD);
    put32(&t.k, area + 0x1c, UINT32_MAX);
    wrmsr(n, TL_MSR_CCCR + 16, 0);
    count_tasks(n);
    wrmsr(n, TL_MSR_NBX_SAMPLE, 1 << 16);
    wrmsr(n, TL_MSR_NBX_PRESET + 16, -(uint64_t)PERIOD & TL_NETBURST_VALUE);
    wrmsr(n, TL_MSR_CCCR + 16, 0x04039000);
    (void)run_iterations(&t.k, 30);
    const uint64_t n_records = tl_netburst_samples_of(n, 0).n_stored;
    assert_in_range(n_records, 300, MAX_RECORDS);
    for (uint64_t i = 0; i < n_records; i++) {
        const uint64_t at = records + i * LONG_RECORD,
                       tag = get32(&t.k, at + RECORD_BYTES + 16) | (uint64_t)get32(&t.k, at + RECORD_BYTES + 20) << 32;
        // The handler runs behind this one.
        const uint64_t last = records + (i / ROOM * ROOM + ROOM - 1) * LONG_RECORD;
        const uint32_t task = t.task_at[(get32(&t.k, at + 4) - TL_RAM_BASE_PADDR) / 4];
        of_task[task] += 1;
        n_wrong += tag != root_of(task);
        // Writes of satp execute alone, and count, unless the counter is armed.
        assert_int_equal(get32(&t.k, at + RECORD_BYTES + 56), i == 0 ? get32(&t.k, at + RECORD_BYTES + 56) : PERIOD);
        if (i > 0)
            assert_in_range(get32(&t.k, at + RECORD_BYTES + 8) - get32(&t.k, at + RECORD_BYTES + 8 - LONG_RECORD), PERIOD, PERIOD + 1);
        if ((last - records) / LONG_RECORD < n_records)
            n_late += t.task_at[(get32(&t.k, last + 4) - TL_RAM_BASE_PADDR) / 4] != task;
    }
    assert_int_equal(n_wrong, 0);
    assert_true(of_task[0] > 100 && of_task[1] > 100);
    print_message("booked on the task that runs when the handler does: %u of %u records wrong\n", n_late, (uint32_t)n_records);
    assert_true(n_late > n_records / 5);
    close_kernel(&t.k);
}

// ---- Privileges.

static uint32_t write_mepc(uint32_t rs) { return 0x341u << 20 | rs << 15 | 1 << 12 | 0x73; }

// Machine mode returns to user mode, whose ECALL the test answers at once. The hart counts cycles
// of user mode by itself.
static void test_clocks_of_each_privilege_are_the_machines_own(void **state) {
    (void)state;
    enum { MRET = 0x30200073, ECALL = 0x73, HANDLER_INSNS = 5, SWITCHES = 100, ALL = 0x1f };
    static const char *const on[] = {"pentium4=on", NULL};
    kernel k;
    open_kernel(&k, "netburst", on);
    tl_privileged_reset(k.h);
    k.h->pc = TL_RAM_BASE_PADDR;
    k.h->client = &k;
    k.rv->csr.pmpcfg[0] = ALL;
    k.rv->csr.pmpaddr[0] = (UINT64_C(1) << 54) - 1;
    k.rv->csr.pmp_generation += 1;
    put_ring(&k, FAR_LINES, FAR_STRIDE);
    k.rv->csr.mtvec = TL_RAM_BASE_PADDR;
    emit_n(&k, HANDLER_INSNS, divide(T2, T2, T1));
    emit(&k, write_mepc(A1));
    emit(&k, MRET);
    const uint64_t user = TL_RAM_BASE_PADDR + 4 * k.n;
    emit(&k, ld(T0, T0, 0));
    emit_n(&k, HANDLER_INSNS, add(T2, T2, T0));
    emit(&k, ECALL);
    memcpy(k.machine->ram, k.words, k.n * sizeof k.words[0]);
    k.rv->x[A1] = user;
    tl_netburst *n = pmu_of(k.machine, 0);
    wrmsr(n, 0x3a2, 0x26000204); // running clocks of user mode
    wrmsr(n, 0x3a3, 0x26000208); // of the others
    wrmsr(n, TL_MSR_CCCR + 0, 0x0003d000);
    wrmsr(n, TL_MSR_CCCR + 2, 0x0003d000);
    for (uint32_t n_switches = 0; n_switches < SWITCHES;) {
        k.h->horizon = k.h->insn_limit = UINT64_MAX;
        assert_int_equal(k.h->engine->run(k.h), TL_STOP_TRAP);
        assert_int_equal(k.h->trap_cause, TL_CAUSE_ECALL_U);
        tl_take_exception(k.h);
        n_switches += 1;
        const uint64_t of_user = read_signal(&k, "hart0.cycle_u"), all = read_signal(&k, "hart0.cycle");
        assert_int_equal(rdmsr(n, TL_MSR_COUNTER + 0), of_user);
        assert_int_equal(rdmsr(n, TL_MSR_COUNTER + 2), all - of_user);
    }
    close_kernel(&k);
}

// Section 3.6 of the specification: RDPMC of user mode faults without CR4.PCE. Other modes may
// always read.
static void test_user_mode_reads_counters_by_permission(void **state) {
    (void)state;
    enum { CSR_CR4 = 0x5c3, CSR_PMC = 0xcc0, CSR_PMC_LOW = 0xce8, PCE = 1 << 8, ALL_BUT_PCE = 0xfeff };
    static const struct {
        uint64_t value;
        bool permits;
    } values[] = {{0, false}, {PCE, true}, {ALL_BUT_PCE, false}, {ALL_BUT_PCE | PCE, true}};
    static const uint32_t csrs[] = {CSR_PMC, CSR_PMC + 17, CSR_PMC_LOW, CSR_PMC_LOW + 17};
    tl_machine *machine = open_machine(1);
    const tl_pmu *pmu = tl_machine_pmu_of(machine, &tl_pmu_netburst, 1);
    const tl_pmu_port *port = &pmu->port;
    tl_hart *h = machine->harts[1];
    tl_reg_at cr4, at;
    assert_true(port->find(port->ctx, CSR_CR4, &cr4));
    h->is_privileged = true; // no personality grants anything
    for (uint32_t i = 0; i < TL_COUNT_OF(values); i++) {
        port->write(port->ctx, h, &cr4, values[i].value);
        assert_int_equal(port->read(port->ctx, h, &cr4), values[i].value & PCE);
        for (uint32_t k = 0; k < TL_COUNT_OF(csrs); k++) {
            assert_true(port->find(port->ctx, csrs[k], &at));
            h->priv = TL_PRIV_U;
            assert_int_equal(port->permits(port->ctx, h, &at, TL_REG_READ, 0), values[i].permits);
            h->priv = TL_PRIV_S;
            assert_true(port->permits(port->ctx, h, &at, TL_REG_READ, 0));
            assert_false(port->permits(port->ctx, h, &at, TL_REG_WRITE, 0));
        }
    }
    tl_machine_free(machine);
}

// The tag of a process is in effect from its first clock on.
static void test_a_process_is_the_tag_of_its_thread(void **state) {
    (void)state;
    enum { PROCESS = 77, NEXT = 78 };
    static const char *const on[] = {"pentium4=on", "netburst.nbx=on", NULL};
    kernel k;
    open_kernel(&k, "netburst", on);
    tl_netburst *n = pmu_of(k.machine, 0);
    tl_pmu *pmu = tl_machine_pmu_of(k.machine, &tl_pmu_netburst, 0);
    k.h->client = &k;
    k.h->context = 5; // the root of the page tables, which a personality does not have
    emit_n(&k, 9, add(T1, T1, T2));
    (void)warm_loop(&k);
    wrmsr(n, TL_MSR_NBX_CONTROL, TL_NBX_BY_ROOT);
    wrmsr(n, 0x3b8, 0x0400060c); // instr_retired
    wrmsr(n, TL_MSR_CCCR + 12, 0x00039000);
    (void)run_iterations(&k, 10);
    assert_int_equal(rdmsr(n, TL_MSR_NBX_CONTEXT), 5);
    for (uint32_t process = PROCESS; process <= NEXT; process++) {
        tl_pmu_netburst.hand_over(pmu, 0, k.h->now, process, true);
        (void)run_iterations(&k, 10);
        assert_int_equal(rdmsr(n, TL_MSR_NBX_CONTEXT), process);
    }
    close_kernel(&k);
}

// ---- One counter that begins in the middle.

// A single write starts it, so nothing of before may count.
static void test_a_counter_that_begins_late_counts_from_there(void **state) {
    (void)state;
    for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++) {
        const counted *row = &rows[k];
        tl_machine *machine = open_machine(815 + k);
        tl_netburst *n = pmu_of(machine, 0);
        point(machine->harts[0], k);
        run_threads(machine, 1, 20000, false);
        halt(machine, 1000);
        wrmsr(n, row->msr, (uint64_t)row->event << TL_ESCR_EVENT_LSB | row->mask << TL_ESCR_MASK_LSB | TL_ESCR_T0_USR | TL_ESCR_T0_OS);
        wrmsr(n, TL_MSR_CCCR + row->counter, TL_CCCR_ENABLE | row->select << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
        const uint64_t before = truth_of(machine, row, 0);
        run_threads(machine, 1, 5000, false);
        halt(machine, 1000);
        const uint64_t want = truth_of(machine, row, 0) - before, has = rdmsr(n, TL_MSR_COUNTER + row->counter);
        if (has != want)
            fail_msg("%s: %" PRIu64 ", truth is %" PRIu64, row->name, has, want);
        tl_machine_free(machine);
    }
}

// Mask bits DI and BI of TC_deliver_mode, because thread 1 is idle, against signals that are read
// in each cycle.
static void test_modes_of_fetch_are_those_of_each_cycle(void **state) {
    (void)state;
    enum { DI = 1 << 2, BI = 1 << 5, CYCLES = 20000 };
    tl_machine *machine = open_machine(31);
    tl_netburst *n = pmu_of(machine, 0);
    uint64_t want[2] = {0, 0}, last[2];
    point(machine->harts[0], 5);
    wrmsr(n, 0x3c4, 1ull << TL_ESCR_EVENT_LSB | DI << TL_ESCR_MASK_LSB | 15);
    wrmsr(n, 0x3c5, 1ull << TL_ESCR_EVENT_LSB | BI << TL_ESCR_MASK_LSB | 15);
    wrmsr(n, TL_MSR_CCCR + 4, TL_CCCR_ENABLE | 1 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
    wrmsr(n, TL_MSR_CCCR + 6, TL_CCCR_ENABLE | 1 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
    last[0] = sum_of(machine, "core.trace_insn", 0);
    last[1] = sum_of(machine, "core.build_insn", 0);
    for (uint32_t i = 0; i < CYCLES; i++) {
        run_threads(machine, 1, 1, true);
        const uint64_t delivered = sum_of(machine, "core.trace_insn", 0), built = sum_of(machine, "core.build_insn", 0);
        want[0] += delivered > last[0];
        want[1] += delivered == last[0] && built > last[1];
        last[0] = delivered;
        last[1] = built;
    }
    halt(machine, 10);
    assert_true(want[0] > 100 && want[1] > 100);
    assert_int_equal(rdmsr(n, TL_MSR_COUNTER + 4), want[0]);
    assert_int_equal(rdmsr(n, TL_MSR_COUNTER + 6), want[1]);
    tl_machine_free(machine);
}

// The 64-bit format: registers that the loop leaves alone have their number.
static void test_records_of_64_bits_have_their_registers(void **state) {
    (void)state;
    enum { PERIOD = 20, RECORDS_64 = 8, VALUES = TL_NETBURST_RECORD_VALUES };
    static const char *const on[] = {"pentium4=on", "netburst.ds64=on", NULL};
    static const uint8_t registers[VALUES - 2] = {10, 11, 12, 13, 14, 15, 8, 2, 16, 17, 5, 6, 7, 28, 29, 30};
    static const uint8_t used[] = {T0, A0};
    kernel k;
    open_kernel(&k, "netburst", on);
    k.h->client = &k;
    for (uint32_t i = 1; i < 32; i++)
        k.rv->x[i] = i * UINT64_C(0x1000000010);
    put_ring(&k, 64, 4096);
    emit(&k, ld(T0, T0, 0));
    (void)warm_loop(&k);
    tl_netburst *n = pmu_of(k.machine, 0);
    const uint64_t area = TL_RAM_BASE_PADDR + AREA, first = TL_RAM_BASE_PADDR + RECORDS, reset = (0 - (uint64_t)PERIOD) & TL_NETBURST_VALUE;
    const uint64_t words[] = {first, first, first + RECORDS_64 * 8 * VALUES, UINT64_MAX, reset};
    for (uint32_t i = 0; i < TL_COUNT_OF(words); i++)
        put64(&k, area + 0x20 + 8 * i, words[i]);
    wrmsr(n, TL_MSR_DS_AREA, area);
    wrmsr(n, 0x3bc, 0x0400040c); // uop_type, loads
    wrmsr(n, 0x3cc, 0x1000020c); // front_end_event, NBOGUS
    wrmsr(n, TL_MSR_PEBS_ENABLE, 0x02000000);
    wrmsr(n, TL_MSR_COUNTER + 16, reset);
    wrmsr(n, TL_MSR_CCCR + 16, 0x0403b000);
    (void)run_iterations(&k, 2 * PERIOD * RECORDS_64);
    assert_int_equal(tl_netburst_samples_of(n, 0).n_stored, RECORDS_64);
    for (uint32_t i = 0; i < RECORDS_64; i++) {
        uint64_t record[VALUES];
        memcpy(record, tl_machine_ram(k.machine, first + i * sizeof record), sizeof record);
        assert_int_equal(record[1], TL_RAM_BASE_PADDR);
        for (uint32_t r = 0; r < TL_COUNT_OF(registers); r++)
            if (registers[r] != used[0] && registers[r] != used[1])
                assert_int_equal(record[2 + r], registers[r] * UINT64_C(0x1000000010));
    }
    close_kernel(&k);
}

// ---- The experiment on sampling.

// A pass has 128 loads of two bytes, then instructions of four, and one at the begin of the loop
// belongs to the next pass. The distance counts instructions.
static void test_distances_count_instructions_of_a_pass(void **state) {
    (void)state;
    enum { BEFORE = 3, BEHIND = 6 };
    const uint64_t loads_end = L1MISS_FIRST_LOAD + 2 * L1MISS_LOADS;
    const l1miss_program program = {.loop = L1MISS_FIRST_LOAD - 4 * BEFORE, .loop_end = loads_end + 4 * BEHIND};
    uint32_t distance = 0;
    for (uint64_t pc = L1MISS_FIRST_LOAD; pc < loads_end; pc += 2)
        assert_int_equal(l1miss_distance(&program, pc), distance++);
    for (uint64_t pc = loads_end; pc < program.loop_end; pc += 4)
        assert_int_equal(l1miss_distance(&program, pc), distance++);
    for (uint64_t pc = program.loop; pc < L1MISS_FIRST_LOAD; pc += 4)
        assert_int_equal(l1miss_distance(&program, pc), distance++);
    assert_int_equal(distance, 128 + BEFORE + BEHIND);
    assert_int_equal(l1miss_distance(&program, program.loop - 4), TL_L1MISS_DISTANCES);
    assert_int_equal(l1miss_distance(&program, program.loop_end), TL_L1MISS_DISTANCES);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_clocks_of_each_privilege_are_the_machines_own),
    cmocka_unit_test(test_user_mode_reads_counters_by_permission),
    cmocka_unit_test(test_a_process_is_the_tag_of_its_thread),
    cmocka_unit_test(test_only_stores_across_lines_have_the_tag_of_split_stores),
    cmocka_unit_test(test_an_assist_takes_its_clocks),
    cmocka_unit_test(test_distances_count_instructions_of_a_pass),
    cmocka_unit_test(test_a_counter_that_begins_late_counts_from_there),
    cmocka_unit_test(test_modes_of_fetch_are_those_of_each_cycle),
    cmocka_unit_test(test_records_of_64_bits_have_their_registers),
    cmocka_unit_test(test_a_write_of_the_root_switches_the_context),
    cmocka_unit_test(test_records_of_two_tasks_are_told_apart),
    cmocka_unit_test(test_a_load_of_a_device_has_no_tag),
    cmocka_unit_test(test_extended_records_say_what_a_load_did),
    cmocka_unit_test(test_skipped_clocks_count_as_clocks_do),
    cmocka_unit_test(test_rows_count_as_clocks_do),
    cmocka_unit_test(test_each_tagged_uop_is_retired_or_bogus),
    cmocka_unit_test(test_untagged_misses_are_those_of_wrong_paths),
    cmocka_unit_test(test_execution_tags_tell_classes_apart),
    cmocka_unit_test(test_a_snapshot_holds_a_sample_under_way),
    cmocka_unit_test(test_erratum_of_branch_types_counts_what_is_taken_back),
    cmocka_unit_test(test_interrupts_arrive_in_their_cycle),
    cmocka_unit_test(test_few_runs_lead_to_an_interrupt),
    cmocka_unit_test(test_an_overflow_interrupts_once_and_is_dated_for_both_threads),
    cmocka_unit_test(test_samples_name_the_load_that_missed_and_the_registers_before_it),
    cmocka_unit_test(test_counts_of_both_threads_are_the_machines_own),
    cmocka_unit_test(test_floating_point_counts_the_same_beside_tags),
};
TL_TEST_MAIN(tests)
