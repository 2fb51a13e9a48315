// SPDX-License-Identifier: MIT
// The NetBurst PMU on a machine: random code on both threads of a core, counted by MSRs as software
// writes them, against the machine's own totals.
#include <inttypes.h>
#include <stdio.h>

#include "base/testing.h"
#include "isa/rv/hart.h"
#include "machine/machine.h"
#include "pmu/netburst/netburst.h"
#include "random_code.h"
#include "session/description.h"

enum { CODE_BYTES = 48 << 10, DATA_OFFSET = 1 << 20, DATA_BYTES = 256 << 10, N = 2, BOTH = 3 };

static tl_machine *open_machine(uint64_t seed) {
    tl_config config;
    tl_machine *machine;
    tl_error err;
    if (tl_description_open("netburst", &config, &err) != TL_OK || tl_config_set(&config, "pentium4=on", &err) != TL_OK)
        fail_msg("%s", err.text);
    config.ram_bytes = 16 << 20;
    if (tl_machine_new(&config, &tl_engine_ooo, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    static const uint16_t csrs[] = {0x001, 0x002, 0x003};
    rng r = {seed};
    fill_with(&r, machine->ram, CODE_BYTES, csrs, TL_COUNT_OF(csrs), 8);
    for (uint32_t i = 0; i < DATA_BYTES; i += 8) {
        const uint64_t value = next(&r);
        memcpy(machine->ram + DATA_OFFSET + i, &value, 8);
    }
    return machine;
}

static void point(tl_hart *h, uint64_t number) {
    rng r = {number * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_rv_hart *rv = tl_rv(h);
    rv->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(&r, 2000) * 16;
    rv->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(&r, 5000) * 8;
    rv->x[9] = rv->x[1] = TL_RAM_BASE_PADDR + 4096 + (uint64_t)below(&r, CODE_BYTES - 8192);
    h->pc = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(&r, CODE_BYTES / 2 - 64);
}

// A thread goes on elsewhere after a trap, as a kernel would let it after some time.
static void leave_trap(tl_hart *h) {
    h->now += 150;
    h->tally[TL_S_HART_CYC_SWITCH] += 150;
    point(h, h->now);
}

// Runs the threads of `running` for n cycles. chop: stops after each cycle.
static void run_threads(tl_machine *machine, uint32_t running, uint64_t n, bool chop) {
    static int program;
    const uint64_t now = tl_machine_now_cycles(machine), end = now + n;
    for (uint32_t i = 0; i < N; i++) {
        tl_hart_idle_until(machine->harts[i], now);
        machine->harts[i]->insn_limit = UINT64_MAX;
        machine->harts[i]->client = running >> i & 1 ? &program : NULL; // it has something to run
    }
    while (running != 0) {
        uint64_t least = UINT64_MAX, n_insns = UINT64_MAX;
        for (uint32_t i = 0; i < N; i++)
            least = running >> i & 1 ? tl_lesser(least, machine->harts[i]->now) : least;
        machine->harts[0]->horizon = machine->harts[1]->horizon = chop ? least + 1 : end;
        tl_hart *h;
        if (machine->engine->run_group(machine->harts, N, running, running, &n_insns, &h) == TL_STOP_TRAP)
            leave_trap(h);
        for (uint32_t i = 0; i < N; i++)
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

static void wrmsr(tl_netburst *n, uint32_t msr, uint64_t value) { assert_int_equal(tl_netburst_wrmsr(n, 0, msr, value), TL_OK); }
static uint64_t rdmsr(tl_netburst *n, uint32_t msr) {
    uint64_t value = 0;
    assert_int_equal(tl_netburst_rdmsr(n, 0, msr, &value), TL_OK);
    return value;
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
    {"branch_retired", 0x3cc, 5, 13, 0x06, 15, "core.retire_branch", NULL},
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
    {"split loads", 0x3ae, 2, 8, 0x04, 2, "core.load_split", NULL},
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
    for (uint32_t t = 0; t < N; t++) {
        const uint32_t threads = t == 0 ? TL_ESCR_T0_USR | TL_ESCR_T0_OS : TL_ESCR_T1_USR | TL_ESCR_T1_OS;
        wrmsr(n, row->msr + t, (uint64_t)row->event << TL_ESCR_EVENT_LSB | row->mask << TL_ESCR_MASK_LSB | threads);
        wrmsr(n, TL_MSR_CCCR + counter_of(row, t), TL_CCCR_ENABLE | row->select << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
    }
}

// Both threads have nothing to run, until the same clock.
static void halt(tl_machine *machine, uint64_t n) {
    const uint64_t now = tl_machine_now_cycles(machine);
    for (uint32_t i = 0; i < N; i++) {
        machine->harts[i]->client = NULL;
        tl_hart_idle_until(machine->harts[i], now + n);
    }
}

static void run_phases(tl_machine *machine, bool chop) {
    static const uint32_t running[] = {BOTH, 1, BOTH, 2};
    for (uint32_t phase = 0; phase < 8; phase++)
        run_threads(machine, running[phase % 4], 5000 + 7 * phase, chop);
    // What was taken back last is reported as bogus by and by.
    halt(machine, 1000);
}

static void test_counts_of_both_threads_are_the_machines_own(void **state) {
    (void)state;
    for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++) {
        tl_machine *machine = open_machine(4711 + k);
        tl_netburst *n = pmu_of(machine, 1);
        uint64_t before[N];
        point(machine->harts[0], k);
        point(machine->harts[1], k + 100);
        run_threads(machine, BOTH, 100, false);
        halt(machine, 0);
        start(n, &rows[k]);
        for (uint32_t i = 0; i < N; i++)
            before[i] = truth_of(machine, &rows[k], i);
        run_phases(machine, false);
        for (uint32_t i = 0; i < N; i++) {
            const uint64_t want = truth_of(machine, &rows[k], i) - before[i];
            const uint64_t has = rdmsr(n, TL_MSR_COUNTER + counter_of(&rows[k], i));
            if (has != want)
                fail_msg("%s of thread %u: %" PRIu64 ", truth is %" PRIu64, rows[k].name, i, has, want);
        }
        tl_machine_free(machine);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_counts_of_both_threads_are_the_machines_own),
};
TL_TEST_MAIN(tests)
