// SPDX-License-Identifier: MIT
// Tenants under a monitor. Blocks of device, VM and context hold what the machine counted for each.
// A switch lets no instruction retire. Counting changes nothing but the time of switches. A
// neighbor does not show in profile SAFE, and does in LITERAL.
//
// TL_GUESTS names the folder of the programs. None of them writes files of the host, which
// partitions would share.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/smpm/smpm.h"
#include "session/tenants.h"
#include "session/tenants_state.h"

enum { MAX_SWITCHES = 4096, N_PARTITIONS = 4 };
static const uint64_t NOT_ENDED = UINT64_C(1) << 60; // before the run did

typedef struct switch_of {
    uint32_t partition;
    uint64_t begin, end;
} switch_of;

// ---- The monitor of the design, watched.

static struct watch {
    tl_tenants *tenants;
    switch_of switches[MAX_SWITCHES];
    uint32_t n_switches;
    uint64_t instret[N_PARTITIONS]; // when harts stood still
    bool ends[N_PARTITIONS];
    uint32_t n_retired; // switches in which an instruction retired (I13)
    uint32_t n_early;   // newcomers whose harts were before the end of the switch
    uint64_t resumes[N_PARTITIONS];
    bool is_early[N_PARTITIONS]; // with lets_run: the newcomer gets the harts next
    uint64_t halted[N_PARTITIONS];
    bool lets_run; // wrong: harts go on when the request is made
} seen;

#define REAL (&tl_smpm_chip_monitor)

static uint64_t retired(uint32_t partition) {
    tl_machine *machine = seen.tenants->parts[partition].machine;
    tl_machine_sync(machine);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        sum += machine->harts[i]->instret;
    return sum;
}

static void watch_halt(tl_chip_monitor *m, uint32_t partition, uint64_t cycle, uint32_t vm, uint32_t context) {
    seen.instret[partition] = retired(partition);
    seen.ends[partition] = vm == TL_MONITOR_NONE;
    seen.is_early[partition] = true;
    seen.halted[partition] = cycle;
    if (seen.n_switches < MAX_SWITCHES)
        seen.switches[seen.n_switches++] = (switch_of){partition, cycle, NOT_ENDED};
    REAL->halt(m, partition, cycle, vm, context);
}

static void note_end(uint32_t partition, const tl_monitor_switch *done) {
    seen.n_retired += retired(partition) != seen.instret[partition];
    seen.resumes[partition] = seen.ends[partition] || seen.tenants->has_ended ? 0 : done->end_cycle;
    for (uint32_t i = 0; i < seen.n_switches; i++)
        if (seen.switches[i].partition == partition && seen.switches[i].begin == done->begin_cycle)
            seen.switches[i].end = done->end_cycle;
}

static tl_status watch_reach(tl_chip_monitor *m, uint64_t cycle, tl_error *err) {
    bool were_switching[N_PARTITIONS];
    for (uint32_t p = 0; p < N_PARTITIONS; p++)
        were_switching[p] = REAL->is_switching(m, p);
    const tl_status status = REAL->reach(m, cycle, err);
    for (uint32_t p = 0; p < N_PARTITIONS; p++) {
        tl_monitor_switch done;
        seen.is_early[p] = false;
        if (!were_switching[p] || REAL->is_switching(m, p))
            continue;
        REAL->last_switch(m, p, &done);
        note_end(p, &done);
    }
    return status;
}

static bool watch_is_switching(const tl_chip_monitor *m, uint32_t partition) {
    return seen.lets_run ? seen.is_early[partition] : REAL->is_switching(m, partition);
}

static void watch_last_switch(const tl_chip_monitor *m, uint32_t partition, tl_monitor_switch *ret_switch) {
    REAL->last_switch(m, partition, ret_switch);
    if (seen.lets_run)
        *ret_switch = (tl_monitor_switch){.begin_cycle = seen.halted[partition], .end_cycle = seen.halted[partition] + 1};
}

// Asked again once newcomers have their harts, and before anything runs.
static uint64_t watch_next(const tl_chip_monitor *m) {
    for (uint32_t p = 0; p < N_PARTITIONS; p++) {
        for (uint32_t i = 0; seen.resumes[p] != 0 && i < 2; i++)
            seen.n_early += seen.tenants->parts[p].machine->harts[i]->now < seen.resumes[p];
        seen.resumes[p] = 0;
    }
    return REAL->next(m);
}

static tl_chip_monitor_type watched(void) {
    tl_chip_monitor_type type = *REAL;
    type.halt = watch_halt;
    type.reach = watch_reach;
    type.is_switching = watch_is_switching;
    type.last_switch = watch_last_switch;
    type.next = watch_next;
    return type;
}

// ---- A monitor that counts nothing. Its switches take as long as those that were seen.

static struct {
    bool is_switching[N_PARTITIONS], flushes_caches;
    tl_monitor_switch last[N_PARTITIONS];
    uint32_t n_wrong; // switches that begin in another cycle
} replay;

static tl_status replay_create(const tl_monitor_plan *plan, tl_arena *arena, tl_chip_monitor **ret_monitor, tl_error *err) {
    (void)arena, (void)err;
    *ret_monitor = (tl_chip_monitor *)(void *)&replay;
    memset(&replay, 0, sizeof replay);
    replay.flushes_caches = plan->is_safe;
    return TL_OK;
}
static tl_status replay_start(tl_chip_monitor *m, uint32_t partition, uint32_t vm, uint32_t context, tl_error *err) {
    (void)m, (void)partition, (void)vm, (void)context, (void)err;
    return TL_OK;
}
static void replay_halt(tl_chip_monitor *m, uint32_t partition, uint64_t cycle, uint32_t vm, uint32_t context) {
    (void)m, (void)vm, (void)context;
    replay.is_switching[partition] = true;
    replay.last[partition] = (tl_monitor_switch){.begin_cycle = cycle, .end_cycle = UINT64_MAX};
    for (uint32_t i = 0; i < seen.n_switches; i++)
        if (seen.switches[i].partition == partition && seen.switches[i].begin == cycle)
            replay.last[partition].end_cycle = seen.switches[i].end;
    if (replay.last[partition].end_cycle == UINT64_MAX) {
        replay.n_wrong++;
        replay.last[partition].end_cycle = NOT_ENDED;
    }
}
static uint64_t replay_next(const tl_chip_monitor *m) {
    uint64_t next = UINT64_MAX;
    (void)m;
    for (uint32_t p = 0; p < N_PARTITIONS; p++)
        if (replay.is_switching[p])
            next = tl_lesser(next, replay.last[p].end_cycle - 1);
    return next;
}
static uint64_t replay_next_of(const tl_chip_monitor *m, uint32_t partition) {
    (void)m;
    return replay.is_switching[partition] ? replay.last[partition].end_cycle - 1 : UINT64_MAX;
}
static tl_status replay_reach(tl_chip_monitor *m, uint64_t cycle, tl_error *err) {
    (void)m, (void)err;
    for (uint32_t p = 0; p < N_PARTITIONS; p++)
        if (replay.is_switching[p] && replay.last[p].end_cycle <= cycle + 1)
            replay.is_switching[p] = false;
    return TL_OK;
}
static bool replay_flushes_caches(const tl_chip_monitor *m) { return (void)m, replay.flushes_caches; }
static bool replay_is_switching(const tl_chip_monitor *m, uint32_t partition) { return (void)m, replay.is_switching[partition]; }
static void replay_last_switch(const tl_chip_monitor *m, uint32_t partition, tl_monitor_switch *ret_switch) {
    (void)m;
    *ret_switch = replay.last[partition];
}
static void replay_moved(tl_chip_monitor *m, uint64_t cycle, uint32_t tag) { (void)m, (void)cycle, (void)tag; }
static void replay_unseen(tl_chip_monitor *m, uint64_t until) { (void)m, (void)until; }
static uint64_t replay_lag(const tl_chip_monitor *m) { return (void)m, 0; }
static uint64_t replay_completes(tl_chip_monitor *m) { return (void)m, 0; }
static bool replay_is_writing(const tl_chip_monitor *m) { return (void)m, false; }
static uint32_t replay_n_events(const tl_chip_monitor *m) { return (void)m, 0; }
static tl_status replay_read(const tl_chip_monitor *m, uint32_t vm, uint32_t context, tl_monitor_block *ret_block,
                             tl_monitor_value *ret_values, tl_error *err) {
    (void)m, (void)vm, (void)context, (void)ret_values, (void)err;
    *ret_block = (tl_monitor_block){0};
    return TL_OK;
}
static const tl_chip_monitor_type replayed = {
    .create = replay_create,
    .start = replay_start,
    .halt = replay_halt,
    .next = replay_next,
    .next_of = replay_next_of,
    .reach = replay_reach,
    .moved = replay_moved,
    .unseen = replay_unseen,
    .lag = replay_lag,
    .flushes_caches = replay_flushes_caches,
    .is_switching = replay_is_switching,
    .last_switch = replay_last_switch,
    .completes = replay_completes,
    .is_writing = replay_is_writing,
    .n_events = replay_n_events,
    .read = replay_read,
};

// ---- Runs.

static char text[16384]; // of a tenants file

static void begin_file(const char *profile, uint64_t max_cycles) {
    snprintf(text, sizeof text, "machine: cloud4\nprofile: %s\nmonitor: smpm\nmax_cycles: %" PRIu64 "\nvms:\n", profile, max_cycles);
}
static void __attribute__((format(printf, 1, 2))) add(const char *format, ...) {
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, sizeof text - n, format, args);
    va_end(args);
}
static void add_vm(uint32_t partition, uint32_t quantum) {
    add("  - partition: %u\n", partition);
    if (quantum != 0)
        add("    quantum: %u\n", quantum);
    add("    contexts:\n");
}
static void add_context(const char *program, const char *words, uint32_t quantum) {
    static uint32_t n;
    add("      - {name: c%u, program: %s/%s, args: [%s], quantum: %u, stdout: none, stderr: none}\n", n++, getenv("TL_GUESTS"), program,
        words, quantum);
}

static tl_tenants *open_file(const tl_chip_monitor_type *type, const char *const *overrides, uint64_t interval_cycles) {
    char path[] = "/tmp/tally-tenants-XXXXXX";
    tl_tenants_options options;
    tl_tenants *tenants = NULL;
    tl_error err = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    tl_tenants_init(&options);
    options.file = path;
    options.overrides = overrides;
    if (interval_cycles != 0) {
        options.interval = TL_INTERVAL_CYCLES;
        options.interval_length = interval_cycles;
    }
    const tl_status status = tl_tenants_open_with(&options, type, &tenants, &err);
    unlink(path);
    if (status != TL_OK)
        fail_msg("%s", err.text);
    return tenants;
}

static tl_tenants_counts *counts_at_end(tl_tenants *tenants) {
    tl_tenants_counts *counts = NULL;
    tl_run_state state = TL_RUN_GOING;
    tl_error err = {0};
    while (state != TL_RUN_ENDED)
        if (tl_tenants_run(tenants, &state, &err) != TL_OK)
            fail_msg("%s", err.text);
    if (tl_tenants_count(tenants, false, &counts, &err) != TL_OK)
        fail_msg("%s", err.text);
    return counts;
}

static tl_tenants_counts *run(const tl_chip_monitor_type *type, const char *const *overrides) {
    memset(&seen, 0, offsetof(struct watch, lets_run));
    tl_tenants *tenants = seen.tenants = open_file(type, overrides, 0);
    tl_tenants_counts *counts = counts_at_end(tenants);
    tl_tenants_close(tenants);
    return counts;
}

// ---- Blocks beside the truth.

// Total of an event in the signals of a view, summed here from the machine's paths.
static uint64_t total_in(const tl_tenants_counts *c, uint32_t row, const tl_event *event, uint32_t partition) {
    static const char *const formats[] = {"hart%u.%s", "l2.%u.%s", "mem%u.%s"};
    const tl_smpm_unit_kind kind = tl_smpm_event_kind(event);
    const bool is_device = c->rows[row].view.kind == TL_TENANTS_DEVICE;
    uint64_t sum = 0;
    assert_true(kind < TL_COUNT_OF(formats));
    const char *rest = event->sources;
    for (const char *prefix = kind == TL_SMPM_UNIT_HART ? "hart."
                              : kind == TL_SMPM_UNIT_L2 ? "l2."
                                                        : "mem.";
         strncmp(rest, prefix, strlen(prefix)) == 0;)
        rest += strlen(prefix);
    for (uint32_t unit = 0; unit < 2; unit++) {
        char path[96], whole[112];
        uint64_t value;
        snprintf(path, sizeof path, formats[kind], unit, rest);
        snprintf(whole, sizeof whole, "p%u.%s", partition, path);
        if (tl_tenants_signal(c, row, is_device ? whole : path, &value, NULL) == TL_OK)
            sum += value;
    }
    return sum;
}

static const tl_event *event_named(const char *name) {
    for (uint32_t i = 0; i < tl_smpm_n_events; i++)
        if (strcmp(tl_smpm_events[i].name, name) == 0 && !tl_smpm_event_is_left_out(&tl_smpm_events[i]))
            return &tl_smpm_events[i];
    return NULL;
}

// The truth of a view, from other rows where the view is a sum of them. Shared events are left to
// the sums of filtered ones.
static uint64_t truth_of(const tl_tenants_counts *c, const tl_tenants_row *row, const tl_event *event) {
    uint64_t sum = 0;
    for (uint32_t r = 0; r < c->n_rows; r++) {
        const tl_tenants_view *view = &c->rows[r].view;
        const bool is_counted = view->kind == TL_TENANTS_CONTEXT || view->kind == TL_TENANTS_NO_CONTEXT;
        const bool is_within =
            row->view.kind == TL_TENANTS_DEVICE || (row->view.kind == TL_TENANTS_VM && view->vm == row->view.vm) || &c->rows[r] == row;
        if (is_counted && is_within)
            sum += total_in(c, r, event, view->partition);
    }
    return sum;
}

// Checks every block. Returns how many counts are not 0.
static uint32_t check_blocks(const tl_tenants_counts *c) {
    uint32_t n = 0;
    assert_true(c->n_events > 60);
    for (uint32_t r = 0; r < c->n_rows; r++) {
        const tl_tenants_row *row = &c->rows[r];
        for (uint32_t i = 0; row->values && i < c->n_events; i++) {
            const tl_tenants_block_value *value = &row->values[i];
            const tl_event *event = event_named(c->events[i].name);
            if (value->flags & TL_TENANTS_UNAVAILABLE)
                continue;
            const uint64_t truth = event ? truth_of(c, row, event) : value->truth;
            if (value->truth != truth || value->count + value->remainder != truth || value->error != 0 || value->flags != 0)
                fail_msg("%s %u.%u: %s = %" PRIu64 " and %" PRIu64 ", truth %" PRIu64 ", flags %x", tl_tenants_kind_name(row->view.kind),
                         row->view.vm, row->view.context, c->events[i].name, value->count, value->remainder, truth, value->flags);
            if (!c->is_literal && event)
                assert_true(value->remainder == 0);
            n += value->count != 0;
        }
    }
    return n;
}

static void write_mixed(const char *profile, uint64_t max_cycles) {
    begin_file(profile, max_cycles);
    add_vm(0, 0);
    add_context("threads_sync", "", 300000);
    add_context("kernel_sort", "\"1\"", 200000);
    add_vm(1, 0);
    add_context("sockets_local", "", 150000);
    add_context("kernel_huffman", "\"1\"", 250000);
    add_context("process_pipes", "", 100000);
    add_vm(2, 400000);
    add_context("kernel_chase", "\"1\"", 400000);
    add_vm(2, 300000);
    add_context("lang_cxx", "", 100000);
    add_context("memory_change", "", 100000);
}

static void test_blocks_hold_what_each_context_did(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        write_mixed(i == 0 ? "SAFE" : "LITERAL", 6000000);
        const tl_chip_monitor_type type = watched();
        tl_tenants_counts *c = run(&type, NULL);
        assert_true(check_blocks(c) > 400);
        assert_true(seen.n_switches > 30);
        assert_int_equal(seen.n_retired, 0); // I13
        assert_int_equal(seen.n_early, 0);
        tl_tenants_release(c);
    }
}

// ---- Counting does not disturb (I9).

static void expect_equal_counts(const tl_tenants_counts *a, const tl_tenants_counts *b) {
    assert_int_equal(a->n_rows, b->n_rows);
    assert_true(a->end_cycle == b->end_cycle);
    for (uint32_t r = 0; r < a->n_rows; r++) {
        const uint32_t n_parts = a->rows[r].view.kind == TL_TENANTS_DEVICE ? a->n_partitions : 1;
        assert_memory_equal(a->rows[r].cells, b->rows[r].cells, n_parts * a->units.n_cells * sizeof(uint64_t));
        assert_memory_equal(a->rows[r].shared, b->rows[r].shared, a->shared_units.n_cells * sizeof(uint64_t));
        assert_true(a->rows[r].view.active_cycles == b->rows[r].view.active_cycles);
        assert_true(a->rows[r].view.late_bytes == b->rows[r].view.late_bytes);
    }
}

static void test_counting_changes_nothing_but_the_time_of_switches(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        write_mixed(i == 0 ? "SAFE" : "LITERAL", 5000000);
        const tl_chip_monitor_type type = watched();
        tl_tenants_counts *with = run(&type, NULL);
        // This run replays the times of switches and has no monitor.
        tl_tenants *tenants = seen.tenants = open_file(&replayed, NULL, 0);
        tl_tenants_counts *without = counts_at_end(tenants);
        assert_int_equal(replay.n_wrong, 0);
        expect_equal_counts(with, without);
        tl_tenants_close(tenants);
        tl_tenants_release(with);
        tl_tenants_release(without);
    }
}

// Programs that end, alone on their partitions: nobody switches before they end.
static void test_the_period_of_triggers_changes_no_program(void **state) {
    (void)state;
    static const char *const periods[][2] = {{"smpm.tb_period=65536"}, {"smpm.tb_period=50000"}, {"smpm.tb_period=300000"}};
    tl_tenants_counts *first = NULL;
    begin_file("SAFE", 100000000);
    add_vm(0, 0);
    add_context("threads_sync", "", 1000000000);
    add_vm(1, 0);
    add_context("lang_cxx", "", 1000000000);
    for (uint32_t i = 0; i <= TL_COUNT_OF(periods); i++) {
        tl_tenants_counts *c = run(NULL, i < TL_COUNT_OF(periods) ? periods[i] : (const char *const[]){"smpm.ulc_period=450", NULL});
        assert_true(check_blocks(c) > 100);
        for (uint32_t r = 0; first && r < c->n_rows; r++)
            if (c->rows[r].view.kind == TL_TENANTS_CONTEXT)
                assert_memory_equal(c->rows[r].cells, first->rows[r].cells, c->units.n_cells * sizeof(uint64_t));
        if (first)
            tl_tenants_release(c);
        else
            first = c;
    }
    tl_tenants_release(first);
}

// ---- Harts that go on during a switch are noticed (CS1 left out).

static void test_harts_that_run_on_are_caught(void **state) {
    (void)state;
    tl_tenants_counts *counts = NULL;
    tl_run_state run_state = TL_RUN_GOING;
    tl_error err = {0};
    begin_file("SAFE", 4000000);
    add_vm(0, 0);
    add_context("kernel_matrix", "\"4\"", 2500000);
    add_context("kernel_sort", "\"4\"", 2500000);
    const tl_chip_monitor_type type = watched();
    for (uint32_t i = 0; i < 2; i++) {
        memset(&seen, 0, sizeof seen);
        seen.lets_run = i == 1;
        tl_tenants *tenants = seen.tenants = open_file(&type, NULL, 0);
        assert_int_equal(tl_tenants_run(tenants, &run_state, &err), TL_OK);
        assert_int_equal(run_state, TL_RUN_ENDED);
        const tl_status status = tl_tenants_count(tenants, false, &counts, &err);
        assert_int_equal(seen.n_retired, i); // I13
        assert_int_equal(status, i == 0 ? TL_OK : TL_EINVAL);
        if (i == 1)
            assert_non_null(strstr(err.text, "this is a defect of tally"));
        else
            tl_tenants_release(counts);
        tl_tenants_close(tenants);
    }
    seen.lets_run = false;
}

// ---- A neighbor does not show (L1).

enum { MAX_LOOKS = 64, LOOK_CYCLES = 150000 };

typedef struct look { // at all blocks of VM 1, in one cycle
    uint64_t gen[3], commit_cycle[3], active_cycles[3], sum[3], late[3];
    uint32_t flags[3];
} look;

static uint32_t look_at_vm_1(const char *const *overrides, look *ret_looks, switch_of *ret_switches, uint32_t *ret_n_switches) {
    const tl_chip_monitor_type type = watched();
    tl_run_state state = TL_RUN_GOING;
    tl_error err = {0};
    uint32_t n = 0;
    memset(&seen, 0, sizeof seen);
    memset(ret_looks, 0, MAX_LOOKS * sizeof *ret_looks);
    tl_tenants *tenants = seen.tenants = open_file(&type, overrides, LOOK_CYCLES);
    while (state != TL_RUN_ENDED && n < MAX_LOOKS) {
        tl_tenants_counts *c = NULL;
        assert_int_equal(tl_tenants_run(tenants, &state, &err), TL_OK);
        if (tl_tenants_count(tenants, false, &c, &err) != TL_OK)
            fail_msg("%s", err.text);
        for (uint32_t r = 0, k = 0; r < c->n_rows && state != TL_RUN_ENDED; r++) {
            const tl_tenants_row *row = &c->rows[r];
            if (!row->values || row->view.vm != 1)
                continue;
            look *l = &ret_looks[n];
            l->gen[k] = row->block.gen;
            l->commit_cycle[k] = row->block.commit_cycle;
            l->active_cycles[k] = row->block.active_cycles;
            l->flags[k] = row->block.flags;
            // Each value has a weight of its own, because two differences must not cancel.
            for (uint32_t i = 0; i < c->n_events; i++) {
                l->sum[k] = l->sum[k] * 31 + row->values[i].count;
                l->late[k] = l->late[k] * 31 + row->values[i].late;
            }
            k++;
        }
        n++;
        tl_tenants_release(c);
    }
    *ret_n_switches = 0;
    for (uint32_t i = 0; i < seen.n_switches; i++)
        if (seen.switches[i].partition == 0 && seen.switches[i].end != NOT_ENDED)
            ret_switches[(*ret_n_switches)++] = seen.switches[i];
    tl_tenants_close(tenants);
    return n;
}

static void write_neighbors(const char *profile, const char *program, const char *words, uint32_t quantum) {
    begin_file(profile, 4000000);
    add_vm(0, 0);
    add_context("process_pipes", "", 130000);
    add_context("kernel_sort", "\"1\"", 170000);
    add_vm(1, 0);
    add_context(program, words, quantum);
    add_context("sockets_local", "", quantum / 3);
    add_context("kernel_chase", "\"1\"", quantum);
}

// true: VM 1 sees the same blocks and switches beside two neighbors.
static bool is_blind(const char *profile, const char *const *overrides) {
    static look first[MAX_LOOKS], second[MAX_LOOKS];
    static switch_of switches[2][MAX_SWITCHES];
    uint32_t n_switches[2];
    write_neighbors(profile, "kernel_matrix", "\"1\"", 300000);
    const uint32_t n = look_at_vm_1(overrides, first, switches[0], &n_switches[0]);
    write_neighbors(profile, "lang_cxx", "", 45000);
    assert_int_equal(look_at_vm_1(overrides, second, switches[1], &n_switches[1]), n);
    assert_true(n > 20 && n_switches[0] > 5);
    return memcmp(first, second, sizeof first) == 0 && n_switches[0] == n_switches[1] &&
           memcmp(switches[0], switches[1], n_switches[0] * sizeof switches[0][0]) == 0;
}

// The least slot, and others. In those below 16,000 a neighbor's flush would still run at a pulse.
static void test_a_neighbor_shows_in_literal_only(void **state) {
    (void)state;
    static const char *const slots[] = {"0", "10347", "10447", "11090", "12036", "13106", "14363", "15123", "20000", "30011"};
    for (size_t i = 0; i < TL_COUNT_OF(slots); i++) {
        char slot[40];
        snprintf(slot, sizeof slot, "smpm.shared_slot=%s", slots[i]);
        if (!is_blind("SAFE", (const char *const[]){slot, NULL}))
            fail_msg("a neighbor shows with %s", slot);
    }
    assert_false(is_blind("LITERAL", NULL));
}

// ---- Caches at a change of the VM.

typedef struct spied {
    tl_tenants_counts *counts;
    const uint64_t *cells; // of the first VM's context
    uint64_t n_misses;     // of them: requests of the L2 to memory
    uint64_t n_switches, longest_cycles, shortest_cycles;
    uint64_t n_written; // lines, in switches of the first VM
} spied;

// A program shares its partition with another one. Neither ends.
static spied spy_on(const char *victim, const char *flush) {
    const char *const overrides[] = {flush, NULL};
    spied s = {0};
    begin_file("SAFE", 8000000);
    add_vm(0, 300000);
    add_context("kernel_sort", "\"100\"", 100000000);
    add_vm(0, 300000);
    add_context(victim, "\"1000\"", 100000000);
    const tl_tenants_counts *c = s.counts = run(NULL, overrides);
    for (uint32_t r = 0; r < c->n_rows; r++) {
        const tl_tenants_row *row = &c->rows[r];
        if (row->view.vm != 1)
            continue;
        if (row->view.kind == TL_TENANTS_SWITCHING) {
            s.n_written = tl_tenants_sum(&c->units, row->cells, "mem", "write");
        } else if (row->view.kind == TL_TENANTS_VM) {
            s.longest_cycles = row->view.switch_max_cycles;
            s.shortest_cycles = row->view.switch_min_cycles;
        } else if (row->view.kind == TL_TENANTS_CONTEXT) {
            s.n_switches = row->view.n_switches;
            s.cells = row->cells;
            s.n_misses = tl_tenants_sum(&c->units, row->cells, "l2", "readmiss");
        }
    }
    return s;
}

// All counts of a program stay, whatever ran in between: it cannot tell victims apart (L6).
// 512 KiB of L2 are 8192 lines, and the channel of cloud4 is busy for 10 cycles with each.
static void test_emptied_caches_tell_nothing_of_the_vm_before(void **state) {
    (void)state;
    enum { FLUSH_CYCLES = 8192 * 10 };
    const spied one = spy_on("kernel_automaton", "smpm.vm_switch_flush=on"), other = spy_on("kernel_chase", "smpm.vm_switch_flush=on");
    const spied open_one = spy_on("kernel_automaton", "smpm.vm_switch_flush=off"),
                open_other = spy_on("kernel_chase", "smpm.vm_switch_flush=off");
    assert_true(one.n_switches >= 8 && one.n_written > 1000);
    assert_true(one.n_switches == other.n_switches && one.n_written == other.n_written);
    assert_memory_equal(one.cells, other.cells, one.counts->units.n_cells * sizeof *one.cells);
    assert_true(one.shortest_cycles > FLUSH_CYCLES && other.shortest_cycles > FLUSH_CYCLES);
    // Caches that stay full show the victim, and switches are short.
    assert_true(open_one.n_misses != open_other.n_misses && open_one.n_misses < one.n_misses);
    assert_true(open_one.n_written == 0 && open_one.longest_cycles < FLUSH_CYCLES);
    tl_tenants_release(one.counts);
    tl_tenants_release(other.counts);
    tl_tenants_release(open_one.counts);
    tl_tenants_release(open_other.counts);
}

// ---- Many contexts, and any contexts.

static void test_two_to_thirty_two_contexts_have_their_own_blocks(void **state) {
    (void)state;
    static const char *const many[] = {"smpm.filters=32", "smpm.rcb_shared_depth=4096", NULL};
    static const struct {
        uint32_t n_vms, n_contexts;
        const char *const *overrides;
        uint32_t n_unheard; // contexts without a filter
    } rows[] = {{1, 2, NULL, 0}, {4, 2, NULL, 0}, {4, 8, many, 0}, {4, 8, NULL, 24}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        begin_file("SAFE", 12000000);
        for (uint32_t v = 0; v < rows[i].n_vms; v++) {
            add_vm(v, 0);
            for (uint32_t k = 0; k < rows[i].n_contexts; k++)
                add_context(k % 2 ? "lang_cxx" : "kernel_sort", k % 2 ? "" : "\"1\"", 60000 + 7000 * k);
        }
        tl_tenants_counts *c = run(NULL, rows[i].overrides);
        uint32_t n_unheard = 0, n_blocks = 0;
        assert_true(check_blocks(c) > 40 * rows[i].n_vms * rows[i].n_contexts);
        for (uint32_t r = 0; r < c->n_rows; r++) {
            if (c->rows[r].view.kind != TL_TENANTS_CONTEXT)
                continue;
            n_blocks++;
            assert_true(c->rows[r].view.active_cycles > 0);
            for (uint32_t e = 0; e < c->n_events; e++)
                if (strcmp(c->events[e].name, "dma.filtered.busy") == 0)
                    n_unheard += (c->rows[r].values[e].flags & TL_TENANTS_UNAVAILABLE) != 0;
        }
        assert_int_equal(n_blocks, rows[i].n_vms * rows[i].n_contexts);
        assert_int_equal(n_unheard, rows[i].n_unheard);
        tl_tenants_release(c);
    }
}

static void test_parameters_of_the_hardware_keep_the_truth(void **state) {
    (void)state;
    static const char *const rows[][3] = {{"smpm.zero_frames=on"},    {"smpm.snap_mode=rolling"}, {"smpm.residue_policy=drop"},
                                          {"smpm.arb=round_robin"},   {"smpm.ccu_thr=100000"},    {"smpm.mb_inputs=8"},
                                          {"smpm.filters=1"},         {"smpm.gate_at_pause=off"}, {"smpm.fanin=4"},
                                          {"smpm.mb_max=16"},         {"smpm.ulc_ctrs=30"},       {"smpm.manager_cycles=600"},
                                          {"partitions=7", "harts=8"}};
    begin_file("SAFE", 1500000);
    add_vm(0, 0);
    add_context("kernel_sort", "\"1\"", 100000);
    add_context("threads_sync", "", 130000);
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_tenants_counts *c = run(NULL, rows[i]); // which ends with an error if a count differs
        for (uint32_t r = 0; r < c->n_rows; r++)
            for (uint32_t e = 0; c->rows[r].values && e < c->n_events; e++)
                if (c->rows[r].values[e].error != 0 || c->rows[r].block.flags != 0)
                    fail_msg("%s: %s differs, or flags %x", rows[i][0], c->events[e].name, c->rows[r].block.flags);
        assert_true(c->rows[1].values[2].count > 1000); // instructions of the VM
        tl_tenants_release(c);
    }
}

static uint64_t seed;
static uint32_t draw(uint32_t n) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((seed >> 33) % n);
}

static void write_random(void) {
    static const struct {
        const char *program, *words;
    } programs[] = {{"kernel_sort", "\"1\""}, {"kernel_chase", "\"1\""}, {"kernel_strings", "\"1\""}, {"lang_cxx", ""},
                    {"sockets_local", ""},    {"process_pipes", ""},     {"process_wait", ""},        {"threads_futex", ""},
                    {"threads_basic", ""},    {"random_all_1", ""},      {"signals_timers", ""},      {"crash_null", ""}};
    begin_file(draw(2) ? "SAFE" : "LITERAL", 500000 + draw(2500000));
    uint32_t n = 0;
    for (uint32_t p = 0; p < N_PARTITIONS; p++) {
        const uint32_t n_vms = draw(3) + (p == 3 && n == 0);
        for (uint32_t v = 0; v < n_vms; v++, n++) {
            add_vm(p, n_vms > 1 ? 20000 + draw(200000) : 0);
            for (uint32_t k = 0, n_contexts = 1 + draw(3); k < n_contexts; k++) {
                const uint32_t program = draw(TL_COUNT_OF(programs));
                add_context(programs[program].program, programs[program].words, 1000 + draw(300000));
            }
        }
    }
}

static void test_any_tenants_find_the_truth_in_their_blocks(void **state) {
    (void)state;
    const char *asked = getenv("TL_TENANTS_SEEDS");
    const uint32_t n = asked ? (uint32_t)strtoul(asked, NULL, 10) : 6;
    const tl_chip_monitor_type type = watched();
    for (uint32_t i = 0; i < n; i++) {
        seed = i;
        write_random();
        tl_tenants_counts *c = run(&type, NULL);
        if (check_blocks(c) == 0 || seen.n_retired + seen.n_early != 0)
            fail_msg("seed %u: %u switches with instructions, %u early", i, seen.n_retired, seen.n_early);
        tl_tenants_release(c);
    }
}

// ---- Looks change nothing.

static void expect_equal_blocks(const tl_tenants_counts *a, const tl_tenants_counts *b) {
    for (uint32_t r = 0; r < a->n_rows; r++) {
        const tl_tenants_row *x = &a->rows[r], *y = &b->rows[r];
        assert_true(x->view.switch_min_cycles == y->view.switch_min_cycles &&
                    x->view.switch_median_cycles == y->view.switch_median_cycles && x->view.switch_max_cycles == y->view.switch_max_cycles);
        if (!x->values)
            continue;
        assert_memory_equal(&x->block, &y->block, sizeof x->block);
        assert_memory_equal(x->values, y->values, a->n_events * sizeof *x->values);
    }
}

static uint32_t n_polls, stop_at_poll;
static bool stops(void *ctx) { return (void)ctx, ++n_polls == stop_at_poll; }

// The last counts of a run; intervals are looked at. With stop_at_poll the run is stopped once.
static tl_tenants_counts *run_with_looks(uint64_t interval_cycles, uint64_t *ret_lag_cycles) {
    tl_tenants *tenants = open_file(NULL, NULL, interval_cycles);
    tl_tenants_counts *c = NULL;
    tl_run_state state = TL_RUN_GOING;
    tl_error err = {0};
    n_polls = 0;
    *ret_lag_cycles = 0;
    tenants->options.wants_stop = stops;
    while (state != TL_RUN_ENDED) {
        assert_int_equal(tl_tenants_run(tenants, &state, &err), TL_OK);
        if (state == TL_RUN_ENDED || (interval_cycles == 0 && n_polls < stop_at_poll))
            break;
        if (tl_tenants_count(tenants, false, &c, &err) != TL_OK)
            fail_msg("%s", err.text);
        for (uint32_t e = 0; e < c->n_events; e++)
            if (strcmp(c->events[e].name, "hart.cycle") == 0)
                *ret_lag_cycles = c->rows[0].values[e].truth - c->rows[0].values[e].count;
        tl_tenants_release(c);
    }
    if (tl_tenants_count(tenants, false, &c, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_tenants_close(tenants);
    return c;
}

// The monitor leaves out what nobody could see. Whoever looks, at intervals or at a stop, sees what
// it would have seen anyway.
static void test_looks_change_nothing(void **state) {
    (void)state;
    static const uint64_t intervals[] = {37000, 1300000};
    uint64_t lag;
    for (uint32_t i = 0; i < 4; i++) {
        seed = 100 + i;
        if (i == 0)
            write_mixed("SAFE", 9000000);
        else
            write_random();
        stop_at_poll = 0;
        tl_tenants_counts *first = run_with_looks(0, &lag);
        for (uint32_t k = 0; k < TL_COUNT_OF(intervals); k++) {
            tl_tenants_counts *c = run_with_looks(intervals[k], &lag);
            expect_equal_counts(first, c);
            expect_equal_blocks(first, c);
            tl_tenants_release(c);
        }
        tl_tenants_release(first);
    }
}

static void test_a_stop_shows_blocks_of_the_present(void **state) {
    (void)state;
    uint64_t lag;
    begin_file("SAFE", 40000000);
    add_vm(0, 0);
    add_context("kernel_matrix", "\"20\"", 1000000000);
    stop_at_poll = 0;
    tl_tenants_counts *first = run_with_looks(0, &lag);
    stop_at_poll = n_polls / 2;
    tl_tenants_counts *c = run_with_looks(0, &lag);
    assert_true(stop_at_poll > 2);
    assert_in_range(lag, 1, 3 * 65536); // a period, a drain, and the time to the device's commit
    expect_equal_counts(first, c);
    expect_equal_blocks(first, c);
    tl_tenants_release(c);
    tl_tenants_release(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks_change_nothing),
        cmocka_unit_test(test_a_stop_shows_blocks_of_the_present),
        cmocka_unit_test(test_blocks_hold_what_each_context_did),
        cmocka_unit_test(test_counting_changes_nothing_but_the_time_of_switches),
        cmocka_unit_test(test_the_period_of_triggers_changes_no_program),
        cmocka_unit_test(test_harts_that_run_on_are_caught),
        cmocka_unit_test(test_a_neighbor_shows_in_literal_only),
        cmocka_unit_test(test_emptied_caches_tell_nothing_of_the_vm_before),
        cmocka_unit_test(test_two_to_thirty_two_contexts_have_their_own_blocks),
        cmocka_unit_test(test_parameters_of_the_hardware_keep_the_truth),
        cmocka_unit_test(test_any_tenants_find_the_truth_in_their_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
