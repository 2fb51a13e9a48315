// SPDX-License-Identifier: MIT
// Boards on partitions of one chip. Their contexts are address spaces. Blocks of device, VM and
// space hold what the machine counted. A space that reads its own block in the read window gets
// exactly the truth of its last switch. No board shows in another one.
//
// The boards run guest/bare/spaces.c, which logs what it read. TL_BARE names the folder of bare
// programs, TL_GUESTS that of Linux programs.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/smpm/block.h"
#include "pmu/smpm/smpm.h"
#include "session/tenants.h"
#include "session/tenants_state.h"

// Of guest/bare/spaces.c.
enum { N_SPACES = 3, N_TURNS = 4, N_READS = N_SPACES * (N_TURNS - 1), LOG_WORDS = 4, HEADER_WORDS = 4 };
static const uint64_t LOG = UINT64_C(0x80400000), PATTERN = UINT64_C(0x80300000), NO_VALUE = UINT64_MAX;
enum { MAX_VMS = 4, MAX_LOG_WORDS = LOG_WORDS + N_READS * (HEADER_WORDS + TL_SMPM_MAX_METRICS), MAX_LIST_WORDS = 8 + 8 * 256 };

#define REAL (&tl_smpm_chip_monitor)

// ---- The monitor of the design, watched: the truth of a space whenever it loses its hart.

static struct watch {
    tl_tenants *tenants;
    uint64_t *cells[MAX_VMS][N_SPACES + 1][N_TURNS + 1]; // [VM][context][switch away]
    uint32_t n_halts[MAX_VMS][N_SPACES + 1];
    uint64_t began[MAX_VMS][N_SPACES + 1][N_TURNS + 1]; // cycle of that switch
    uint64_t instret[4];
    uint32_t n_retired; // switches in which an instruction retired (I13)
    uint64_t list[MAX_LIST_WORDS];
} seen;

static uint64_t retired(uint32_t partition) {
    const tl_machine *machine = seen.tenants->parts[partition].machine;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        sum += machine->harts[i]->instret;
    return sum;
}

static void watch_halt(tl_chip_monitor *m, uint32_t partition, uint64_t cycle, uint32_t vm, uint32_t context) {
    const tl_tenants_part *p = &seen.tenants->parts[partition];
    const tl_tenants_vm *from = p->vms[p->running];
    const uint32_t number = (uint32_t)(from - seen.tenants->vms) + 1, out = p->account - from->first_account;
    seen.instret[partition] = retired(partition);
    if (number < MAX_VMS && out <= N_SPACES && seen.n_halts[number][out] <= N_TURNS) {
        const uint32_t k = seen.n_halts[number][out]++;
        const size_t n_bytes = p->machine->probe.n_cells * sizeof(uint64_t);
        seen.began[number][out][k] = cycle;
        seen.cells[number][out][k] = malloc(n_bytes);
        assert_non_null(seen.cells[number][out][k]);
        memcpy(seen.cells[number][out][k], seen.tenants->accounts[p->account].cells, n_bytes);
    }
    REAL->halt(m, partition, cycle, vm, context);
}

static tl_status watch_reach(tl_chip_monitor *m, uint64_t cycle, tl_error *err) {
    bool were_switching[4];
    for (uint32_t p = 0; p < 4; p++)
        were_switching[p] = REAL->is_switching(m, p);
    const tl_status status = REAL->reach(m, cycle, err);
    for (uint32_t p = 0; p < 4; p++)
        seen.n_retired += were_switching[p] && !REAL->is_switching(m, p) && retired(p) != seen.instret[p];
    return status;
}

static void forget(void) {
    for (uint32_t v = 0; v < MAX_VMS; v++)
        for (uint32_t c = 0; c <= N_SPACES; c++)
            for (uint32_t k = 0; k <= N_TURNS; k++)
                free(seen.cells[v][c][k]);
    memset(&seen, 0, sizeof seen);
}

// ---- Runs.

static char text[16384]; // of a tenants file
static void __attribute__((format(printf, 1, 2))) add(const char *format, ...) {
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, sizeof text - n, format, args);
    va_end(args);
}
static void begin_file(const char *profile, const char *monitor) {
    snprintf(text, sizeof text, "machine: cloud4\nprofile: %s\nmonitor: %s\nvms:\n", profile, monitor);
}
static void add_board(uint32_t partition, const char *program, const char *keys) {
    add("  - partition: %u\n    board: {program: %s/%s.elf, console: none%s}\n", partition, getenv("TL_BARE"), program, keys);
}
static void add_program(uint32_t partition, const char *program, const char *words) {
    add("  - partition: %u\n    contexts: [{program: %s/%s, args: [%s], stdout: none, stderr: none}]\n", partition, getenv("TL_GUESTS"),
        program, words);
}

// No commit but those of switches.
static const char *const LONG_PERIOD[] = {"smpm.tb_period=4000000", NULL};

typedef struct outcome {
    tl_tenants_counts *counts;
    uint64_t log[MAX_VMS][MAX_LOG_WORDS];
    uint64_t pattern[MAX_VMS]; // word 5 of each
} outcome;

static void take_log(const tl_tenants *t, outcome *to) {
    for (uint32_t v = 0; v < t->plan.n_vms && v + 1 < MAX_VMS; v++) {
        const tl_machine *machine = t->parts[t->plan.vms[v].partition].machine;
        memcpy(to->log[v + 1], tl_machine_ram(machine, LOG), sizeof to->log[v + 1]);
        // Where the window of the partition has it in the chip's memory.
        const uint64_t first = t->memory.first[t->plan.vms[v].partition];
        memcpy(&to->pattern[v + 1], t->memory.bytes + first + (PATTERN - TL_RAM_BASE_PADDR) + 5 * sizeof(uint64_t),
               sizeof to->pattern[v + 1]);
    }
}

static void run(const tl_chip_monitor_type *type, const char *const *overrides, tl_engine engine, outcome *to) {
    char path[] = "/tmp/tally-boards-XXXXXX";
    tl_tenants_options options;
    tl_tenants *tenants = NULL;
    tl_run_state state = TL_RUN_GOING;
    tl_error err = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    tl_tenants_init(&options);
    options.file = path;
    options.overrides = overrides;
    options.engine = engine;
    forget();
    const tl_status status = tl_tenants_open_with(&options, type, &tenants, &err);
    unlink(path);
    if (status != TL_OK)
        fail_msg("%s", err.text);
    seen.tenants = tenants;
    while (state != TL_RUN_ENDED)
        if (tl_tenants_run(tenants, &state, &err) != TL_OK)
            fail_msg("%s", err.text);
    if (tl_tenants_count(tenants, false, &to->counts, &err) != TL_OK)
        fail_msg("%s", err.text);
    take_log(tenants, to);
    if (tenants->monitor && tenants->monitor_type->list) {
        uint32_t n_words;
        const uint64_t *list = tenants->monitor_type->list(tenants->monitor, &n_words);
        assert_true(n_words <= MAX_LIST_WORDS);
        memcpy(seen.list, list, n_words * sizeof *list);
    }
    tl_tenants_close(tenants);
}

static tl_chip_monitor_type watched(void) {
    tl_chip_monitor_type type = *REAL;
    type.halt = watch_halt;
    type.reach = watch_reach;
    return type;
}

static const tl_tenants_row *row_of(const tl_tenants_counts *c, tl_tenants_view_kind kind, uint32_t vm, uint32_t context) {
    for (uint32_t r = 0; r < c->n_rows; r++) {
        const tl_tenants_view *view = &c->rows[r].view;
        if (view->kind == kind && view->vm == vm && (kind != TL_TENANTS_CONTEXT || view->context == context))
            return &c->rows[r];
    }
    fail_msg("no row of kind %d, VM %u, context %u", (int)kind, vm, context);
    return NULL;
}

static uint64_t signal_of(const tl_tenants_counts *c, const tl_tenants_row *row, const char *path) {
    uint64_t value = 0;
    tl_error err;
    if (tl_tenants_signal(c, (uint32_t)(row - c->rows), path, &value, &err) != TL_OK)
        fail_msg("%s", err.text);
    return value;
}

static void expect_success(const tl_tenants_counts *c, uint32_t vm) {
    const tl_tenants_view *view = &row_of(c, TL_TENANTS_CONTEXT, vm, 0)->view;
    if (view->reason != TL_END_EXITED || view->status != 0)
        fail_msg("VM %u ended with status %d: %s", vm, view->status, view->message);
}

// Every block equals the truth, without a flag. Returns how many counts are not 0.
static uint32_t check_blocks(const tl_tenants_counts *c) {
    uint32_t n = 0;
    assert_true(c->n_events > 60);
    for (uint32_t r = 0; r < c->n_rows; r++)
        for (uint32_t i = 0; c->rows[r].values && i < c->n_events; i++) {
            const tl_tenants_block_value *value = &c->rows[r].values[i];
            if (value->flags & TL_TENANTS_UNAVAILABLE)
                continue;
            if (value->error != 0 || value->flags != 0)
                fail_msg("%s %u.%u: %s: error %" PRId64 ", flags %x", tl_tenants_kind_name(c->rows[r].view.kind), c->rows[r].view.vm,
                         c->rows[r].view.context, c->events[i].name, value->error, value->flags);
            n += value->count != 0;
        }
    return n;
}

// ---- A space reads what was counted for it.

// The value of a metric among those that a guest read; the list says where it stands.
static uint64_t value_named(const uint64_t *values, uint64_t n, const char *name) {
    for (uint64_t i = 0; i < seen.list[1]; i++) {
        const uint64_t *row = seen.list + 8 + 8 * i;
        const uint32_t scale = (uint32_t)row[7], index = (uint32_t)(row[7] >> 32);
        if (strcmp((const char *)row, name) != 0)
            continue;
        assert_true(index < n);
        return values[index] == NO_VALUE ? NO_VALUE : values[index] * scale;
    }
    return NO_VALUE;
}

static uint64_t units_read(const uint64_t *values, uint64_t n, const char *name) {
    char remainder[80];
    const uint64_t whole = value_named(values, n, name);
    snprintf(remainder, sizeof remainder, "%.56s.remainder", name);
    const uint64_t rest = value_named(values, n, remainder);
    return whole == NO_VALUE ? NO_VALUE : whole + (rest == NO_VALUE ? 0 : rest);
}

// Compares an entry of the log with the truth of the space's switch before. Returns how many counts
// are not 0.
static uint32_t check_entry(const tl_tenants_counts *c, uint32_t vm, const uint64_t *entry, uint64_t n_values) {
    const uint32_t context = (uint32_t)(entry[0] >> 32);
    const uint64_t turn = entry[3];
    uint32_t n = 0;
    assert_int_equal((uint32_t)entry[0], vm);
    assert_true(context >= 1 && context <= N_SPACES && turn >= 1 && turn < N_TURNS);
    const uint64_t *cells = seen.cells[vm][context][turn - 1];
    assert_non_null(cells);
    assert_true(entry[2] > seen.began[vm][context][turn - 1]); // its own commit
    for (uint32_t i = 0; i < c->n_events; i++) {
        const tl_event *event = NULL;
        for (uint32_t k = 0; k < tl_smpm_n_events && !event; k++)
            if (strcmp(tl_smpm_events[k].name, c->events[i].name) == 0 && tl_smpm_event_kind(&tl_smpm_events[k]) < TL_SMPM_UNIT_ROOT)
                event = &tl_smpm_events[k];
        if (!event)
            continue; // of a shared unit, which no board uses
        char unit[24];
        const char *dot = strchr(event->sources, '.');
        snprintf(unit, sizeof unit, "%.*s", (int)(dot - event->sources), event->sources);
        const uint64_t truth = tl_tenants_sum(&c->units, cells, unit, dot + 1);
        const uint64_t got = units_read(entry + HEADER_WORDS, n_values, c->events[i].name);
        if (got != truth)
            fail_msg("VM %u, space %u, turn %" PRIu64 ": %s: read %" PRIu64 ", truth %" PRIu64, vm, context, turn, c->events[i].name, got,
                     truth);
        n += truth != 0;
    }
    return n;
}

static void check_log(const outcome *o, uint32_t vm) {
    const uint64_t *log = o->log[vm], n_values = log[1];
    assert_int_equal(log[0], N_READS);
    assert_true(n_values > 100 && n_values < TL_SMPM_MAX_METRICS);
    for (uint32_t i = 0; i < N_READS; i++)
        assert_true(check_entry(o->counts, vm, log + LOG_WORDS + i * (HEADER_WORDS + n_values), n_values) > 15);
}

static outcome first, second;

static void test_a_space_reads_the_truth_of_its_last_switch(void **state) {
    (void)state;
    const tl_chip_monitor_type type = watched();
    begin_file("SAFE", "smpm");
    add_board(2, "spaces", "");
    add_program(1, "kernel_chase", "\"1\"");
    add_board(0, "spaces", ", ram: 64MiB");
    run(&type, LONG_PERIOD, TL_ENGINE_FASTEST, &first);
    assert_int_equal(seen.n_retired, 0);
    assert_true(check_blocks(first.counts) > 300);
    for (uint32_t vm = 1; vm <= 3; vm += 2) {
        expect_success(first.counts, vm);
        check_log(&first, vm);
        // Both boards wrote the same addresses.
        assert_true(first.pattern[vm] == 5 * (2 * vm + 3));
        for (uint32_t k = 1; k <= N_SPACES; k++)
            assert_int_equal(row_of(first.counts, TL_TENANTS_CONTEXT, vm, k)->view.n_switches, N_TURNS);
        assert_true(signal_of(first.counts, row_of(first.counts, TL_TENANTS_VM, vm, 0), "hart1.instret") == 0);
    }
    tl_tenants_release(first.counts);
}

// ---- A program on a board reads its VM's block if the owner permits it, the system always.

static void test_the_monitor_asks_who_reads_the_block_of_the_vm(void **state) {
    (void)state;
    enum { PROGRAM_AND_VM = 1 << 5 };
    begin_file("SAFE", "smpm");
    add_board(0, "spaces", "");
    add_board(1, "spaces", "");
    add("    contexts_read_vm: on\n");
    add_board(2, "spaces", "");
    add("    contexts_read_vm: off\n");
    run(REAL, NULL, TL_ENGINE_FASTEST, &first);
    for (uint32_t vm = 1; vm <= 3; vm++) {
        expect_success(first.counts, vm);
        assert_int_equal(first.log[vm][0], N_READS);
        assert_int_equal(first.log[vm][3], vm == 2 ? 0 : PROGRAM_AND_VM);
    }
    tl_tenants_release(first.counts);
}

// ---- Equal on every engine, and in each run.

static void expect_equal(const outcome *a, const outcome *b, uint32_t vm) {
    assert_memory_equal(a->log[vm], b->log[vm], sizeof a->log[vm]);
    for (uint32_t r = 0; r < a->counts->n_rows; r++) {
        const tl_tenants_row *row = &a->counts->rows[r];
        if (row->view.vm != vm || row->view.kind == TL_TENANTS_DEVICE || row->view.kind == TL_TENANTS_IDLE)
            continue;
        const tl_tenants_row *other = row_of(b->counts, row->view.kind, vm, row->view.context);
        assert_memory_equal(row->cells, other->cells, a->counts->units.n_cells * sizeof *row->cells);
        assert_true(row->view.active_cycles == other->view.active_cycles);
        assert_int_equal(row->view.n_switches, other->view.n_switches);
    }
}

static void test_engines_agree_on_counts_and_reads(void **state) {
    (void)state;
    static const tl_engine engines[] = {TL_ENGINE_FASTEST, TL_ENGINE_INTERP, TL_ENGINE_STEP};
    begin_file("SAFE", "smpm");
    add_board(0, "spaces", "");
    add_board(3, "spaces", "");
    run(NULL, NULL, TL_ENGINE_FASTEST, &first);
    for (uint32_t i = 0; i < TL_COUNT_OF(engines); i++) {
        run(NULL, NULL, engines[i], &second);
        expect_success(second.counts, 1);
        expect_success(second.counts, 2);
        assert_true(check_blocks(second.counts) > 300);
        assert_true(second.log[1][2] > 2); // commits that the guest saw in their cycles
        expect_equal(&first, &second, 1);
        expect_equal(&first, &second, 2);
        tl_tenants_release(second.counts);
    }
    tl_tenants_release(first.counts);
}

// ---- Requests and refusals (guest/bare/requests.c checks the rest).

enum { N_SNAPSHOTS = 3, N_REFUSED = 5 };
static struct {
    tl_chip_monitor *monitor;
    uint64_t instret[MAX_VMS][N_SNAPSHOTS]; // of the board when it asked
    uint32_t n[MAX_VMS];
} asked;

static bool watch_store(tl_chip_monitor *m, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    asked.monitor = m;
    if (offset == 8 && value == 1 && asked.n[client->vm] < N_SNAPSHOTS)
        asked.instret[client->vm][asked.n[client->vm]++] = retired(client->partition);
    return REAL->store(m, client, offset, size_bytes, value);
}

static uint64_t n_refused;
static tl_status count_refused(const tl_chip_monitor *m, uint32_t vm, uint32_t context, tl_monitor_block *ret_block,
                               tl_monitor_value *ret_values, tl_error *err) {
    n_refused = REAL->n_refused(m);
    return REAL->read(m, vm, context, ret_block, ret_values, err);
}

static void test_a_board_asks_for_snapshots_and_reads_its_audit(void **state) {
    (void)state;
    static const tl_engine engines[] = {TL_ENGINE_FASTEST, TL_ENGINE_INTERP, TL_ENGINE_STEP};
    static outcome now;
    for (uint32_t e = 0; e < TL_COUNT_OF(engines); e++) {
        tl_chip_monitor_type type = *REAL;
        type.store = watch_store;
        type.read = count_refused;
        memset(&asked, 0, sizeof asked);
        begin_file("SAFE", "smpm");
        add_board(0, "requests", "");
        add_board(1, "spaces", ""); // a neighbor
        add_board(3, "requests", "");
        run(&type, NULL, engines[e], e == 0 ? &first : &now);
        const outcome *o = e == 0 ? &first : &now;
        assert_true(check_blocks(o->counts) > 200);
        assert_true(n_refused == 2 * N_REFUSED + 1); // one by the neighbor (note_refused)
        for (uint32_t vm = 1; vm <= 3; vm += 2) {
            expect_success(o->counts, vm);
            assert_int_equal(o->log[vm][0], N_SNAPSHOTS);
            // A multi-bit input keeps up to 31 units until a switch.
            for (uint32_t i = 0; i < N_SNAPSHOTS; i++)
                assert_true(o->log[vm][1 + i] + 31 >= asked.instret[vm][i] && o->log[vm][1 + i] > (i ? o->log[vm][i] : 1000));
            if (e > 0)
                expect_equal(&first, &now, vm);
        }
        expect_success(o->counts, 2);
        if (e > 0)
            tl_tenants_release(now.counts);
    }
    tl_tenants_release(first.counts);
}

// ---- A neighbor does not show, neither in counts nor in what a space reads and when.

static void write_neighbor(const char *profile, uint32_t kind) {
    begin_file(profile, "smpm");
    add_board(0, "spaces", "");
    if (kind == 1)
        add_board(1, "spaces", "");
    else if (kind == 2)
        add_program(1, "kernel_chase", "\"1\"");
}

static void test_neighbors_do_not_show(void **state) {
    (void)state;
    write_neighbor("SAFE", 0);
    run(NULL, NULL, TL_ENGINE_FASTEST, &first);
    assert_int_equal(first.log[1][0], N_READS);
    for (uint32_t kind = 1; kind <= 2; kind++) {
        write_neighbor("SAFE", kind);
        run(NULL, NULL, TL_ENGINE_FASTEST, &second);
        expect_equal(&first, &second, 1);
        tl_tenants_release(second.counts);
    }
    tl_tenants_release(first.counts);
}

// ---- Spaces beyond those that have a context, several harts, no monitor.

static void test_spaces_without_a_context_share_the_last_one(void **state) {
    (void)state;
    begin_file("SAFE", "none");
    add_board(0, "spaces", ", spaces: 3"); // no space, the first one, all others
    run(NULL, NULL, TL_ENGINE_FASTEST, &first);
    begin_file("SAFE", "none");
    add_board(0, "spaces", "");
    run(NULL, NULL, TL_ENGINE_FASTEST, &second);
    expect_success(first.counts, 1);
    assert_int_equal(row_of(first.counts, TL_TENANTS_CONTEXT, 1, 1)->view.n_switches, N_TURNS);
    assert_int_equal(row_of(first.counts, TL_TENANTS_CONTEXT, 1, 2)->view.n_switches, N_TURNS + 1);
    assert_string_equal(row_of(first.counts, TL_TENANTS_CONTEXT, 1, 2)->view.program, "other spaces");
    assert_string_equal(row_of(second.counts, TL_TENANTS_CONTEXT, 1, 2)->view.program, "space 0x8000100000080100");
    const uint64_t shared = signal_of(first.counts, row_of(first.counts, TL_TENANTS_CONTEXT, 1, 2), "hart0.instret");
    uint64_t sum = 0;
    for (uint32_t k = 2; k <= 5; k++) // the last two of them check ASIDs
        sum += signal_of(second.counts, row_of(second.counts, TL_TENANTS_CONTEXT, 1, k), "hart0.instret");
    assert_true(shared == sum && sum > 0);
    tl_tenants_release(first.counts);
    tl_tenants_release(second.counts);
}

static void test_a_board_of_several_harts_is_one_context(void **state) {
    (void)state;
    begin_file("SAFE", "smpm");
    add_board(0, "harts", ", harts: 2");
    run(NULL, NULL, TL_ENGINE_FASTEST, &first);
    expect_success(first.counts, 1);
    assert_true(check_blocks(first.counts) > 50);
    const tl_tenants_row *vm = row_of(first.counts, TL_TENANTS_VM, 1, 0);
    assert_int_equal(vm->view.n_switches, 0);
    assert_true(signal_of(first.counts, vm, "hart1.instret") > 0);
    tl_tenants_release(first.counts);
}

static void test_literal_blocks_hold_the_truth_but_for_remainders(void **state) {
    (void)state;
    begin_file("LITERAL", "smpm");
    add_board(0, "spaces", "");
    add_board(1, "spaces", "");
    run(NULL, NULL, TL_ENGINE_FASTEST, &first);
    expect_success(first.counts, 1);
    expect_success(first.counts, 2);
    assert_true(check_blocks(first.counts) > 300);
    tl_tenants_release(first.counts);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_space_reads_the_truth_of_its_last_switch),
    cmocka_unit_test(test_the_monitor_asks_who_reads_the_block_of_the_vm),
    cmocka_unit_test(test_engines_agree_on_counts_and_reads),
    cmocka_unit_test(test_a_board_asks_for_snapshots_and_reads_its_audit),
    cmocka_unit_test(test_neighbors_do_not_show),
    cmocka_unit_test(test_spaces_without_a_context_share_the_last_one),
    cmocka_unit_test(test_a_board_of_several_harts_is_one_context),
    cmocka_unit_test(test_literal_blocks_hold_the_truth_but_for_remainders),
};
TL_TEST_MAIN(tests)
