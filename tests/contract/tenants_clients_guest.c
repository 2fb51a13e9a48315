// SPDX-License-Identifier: MIT
// Clients of the monitor on a chip: programs of contexts read their own blocks by loads, the access
// matrix holds for code of each identity, and the mailbox answers while harts run and stand.
//
// TL_GUESTS names the folder of the programs. The truth of an instant is what the machine's own
// totals say when harts stand still; the matrix is written here by hand from specification 16.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/smpm/service.h"
#include "pmu/smpm/smpm.h"
#include "session/tenants.h"
#include "session/tenants_state.h"

enum { MAX_STOPS = 512, MAX_EVENTS = 512, MAX_OUTPUT = 1 << 20, MAX_ASKS = 64, PERIOD = 65536 };
#define REAL (&tl_smpm_chip_monitor)

static char folder[] = "/tmp/tally-clients-XXXXXX", text[16384];

// ---- The truth, noted whenever a context loses its harts.

static struct watch {
    tl_tenants *tenants;
    tl_chip_monitor *monitor;
    struct stop {
        uint32_t partition, account;
        uint64_t begin, end; // of the switch
        uint64_t truth[MAX_EVENTS];
    } stops[MAX_STOPS];
    uint32_t n_stops;
    uint64_t asked[MAX_ASKS]; // instructions of the partition when it asked for a snapshot
    uint32_t n_asked;
} seen;

static uint64_t truth_of(uint32_t account, const tl_monitor_event *event) {
    const tl_probe *units = &seen.tenants->parts[0].machine->probe;
    return event->is_shared ? 0 : tl_tenants_sum(units, seen.tenants->accounts[account].cells, event->unit, event->signal);
}

static void watch_halt(tl_chip_monitor *m, uint32_t partition, uint64_t cycle, uint32_t vm, uint32_t context) {
    seen.monitor = m;
    if (seen.n_stops < MAX_STOPS) {
        struct stop *s = &seen.stops[seen.n_stops++];
        s->partition = partition;
        s->account = seen.tenants->parts[partition].account;
        s->begin = cycle;
        s->end = UINT64_MAX;
        for (uint32_t i = 0; i < REAL->n_events(m) && i < MAX_EVENTS; i++)
            s->truth[i] = truth_of(s->account, REAL->event(m, i));
    }
    REAL->halt(m, partition, cycle, vm, context);
}

static tl_status watch_reach(tl_chip_monitor *m, uint64_t cycle, tl_error *err) {
    const tl_status status = REAL->reach(m, cycle, err);
    for (uint32_t i = 0; i < seen.n_stops; i++) {
        tl_monitor_switch done;
        REAL->last_switch(m, seen.stops[i].partition, &done);
        if (done.n_done > 0 && done.begin_cycle == seen.stops[i].begin)
            seen.stops[i].end = done.end_cycle;
    }
    return status;
}

static bool watch_store(tl_chip_monitor *m, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    const tl_machine *machine = seen.tenants->parts[client->partition].machine;
    seen.monitor = m;
    if (offset == 8 && value == 1 && seen.n_asked < MAX_ASKS) {
        for (uint32_t i = 0; i < machine->n_harts; i++)
            seen.asked[seen.n_asked] += machine->harts[i]->instret;
        seen.n_asked++;
    }
    return REAL->store(m, client, offset, size_bytes, value);
}

// ---- Runs.

static void begin_file(const char *profile) {
    snprintf(text, sizeof text, "machine: cloud4\nprofile: %s\nmonitor: smpm\nmax_cycles: 9000000\nvms:\n", profile);
}
static void __attribute__((format(printf, 1, 2))) add(const char *format, ...) {
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, sizeof text - n, format, args);
    va_end(args);
}
static void add_vm(uint32_t partition, const char *rules) { add("  - partition: %u\n%s    contexts:\n", partition, rules); }
static void add_context(const char *name, const char *program, const char *words, const char *more) {
    add("      - {name: %s, program: %s/%s, args: [%s], quantum: 300000, stdout: %s/%s, stderr: none%s}\n", name, getenv("TL_GUESTS"),
        program, words, folder, name, more);
}

static tl_tenants *open_file(const tl_chip_monitor_type *type, tl_engine engine) {
    char path[64];
    tl_tenants_options options;
    tl_tenants *tenants = NULL;
    tl_error err = {0};
    snprintf(path, sizeof path, "%s/tenants.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
    tl_tenants_init(&options);
    options.file = path;
    options.engine = engine;
    if (tl_tenants_open_with(&options, type, &tenants, &err) != TL_OK)
        fail_msg("%s", err.text);
    return tenants;
}

static tl_tenants_counts *run_to_end(tl_tenants *tenants) {
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

// A burst is late if the monitor has answered a load of a later cycle without it.
static uint64_t presented_cycle;
static uint32_t n_bursts, n_late_bursts;
static void watch_present(tl_chip_monitor *m, uint64_t cycle) {
    presented_cycle = cycle;
    REAL->present(m, cycle);
}
static void watch_moved(tl_chip_monitor *m, uint64_t cycle, uint32_t tag) {
    n_bursts++;
    n_late_bursts += cycle < presented_cycle;
    REAL->moved(m, cycle, tag);
}

static uint32_t n_polls, polls_per_stop; // 0: no stop
static bool stops(void *ctx) { return (void)ctx, polls_per_stop && ++n_polls % polls_per_stop == 0; }

// Runs the file and keeps the run, so that the monitor can be asked.
static tl_tenants *run(tl_engine engine) {
    tl_chip_monitor_type type = *REAL;
    type.halt = watch_halt;
    type.reach = watch_reach;
    type.store = watch_store;
    type.present = watch_present;
    type.moved = watch_moved;
    presented_cycle = n_late_bursts = n_bursts = 0;
    memset(&seen, 0, sizeof seen);
    static tl_chip_monitor_type kept;
    kept = type;
    tl_tenants *tenants = seen.tenants = open_file(&kept, engine);
    tenants->options.wants_stop = stops;
    tl_tenants_release(run_to_end(tenants)); // blocks equal the truth
    return tenants;
}

static char *output_of(const char *name) {
    static char bytes[MAX_OUTPUT];
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, bytes, sizeof bytes - 1) : -1;
    assert_true(n >= 0);
    close(fd);
    bytes[n] = '\0';
    return bytes;
}

// ---- A reader inside of a context.

static const struct stop *stop_at(uint32_t account, uint64_t commit) {
    const struct stop *last = NULL;
    for (uint32_t i = 0; i < seen.n_stops; i++)
        if (seen.stops[i].account == account && seen.stops[i].begin <= commit)
            last = &seen.stops[i];
    return last;
}

// The cycle in which the context of this stop got the harts again; or 0. Until the next periodic
// trigger its block keeps what the stop left there, but for shared units.
static uint64_t end_of_absence(const struct stop *at) {
    for (const struct stop *s = at + 1; s < seen.stops + seen.n_stops; s++)
        if (s->partition == at->partition)
            return s->end;
    return 0;
}

static int64_t event_named(const char *name) {
    for (uint32_t i = 0; i < REAL->n_events(seen.monitor); i++)
        if (strcmp(REAL->event(seen.monitor, i)->name, name) == 0)
            return i;
    return -1;
}

// Compares samples of a reader that a switch committed with what its account held at that switch.
// Returns how many counts were compared and are not 0.
static uint32_t check_samples(const char *name, uint32_t account, uint32_t *ret_n_samples) {
    static const char ending[] = ".remainder";
    uint64_t told[MAX_EVENTS] = {0};
    bool is_told[MAX_EVENTS] = {false};
    const struct stop *at = NULL;
    uint32_t n = 0;
    *ret_n_samples = 0;
    char *rest = output_of(name);
    for (char *line; (line = strsep(&rest, "\n"));) {
        uint64_t commit, value;
        char metric[64];
        const bool is_sample = sscanf(line, "sample %*d gen %*u commit %" SCNu64, &commit) == 1;
        for (uint32_t i = 0; (is_sample || !*line) && at && i < MAX_EVENTS; i++) {
            if (is_told[i] && told[i] != at->truth[i])
                fail_msg("%s reads %s = %" PRIu64 ", the truth is %" PRIu64, name, REAL->event(seen.monitor, i)->name, told[i],
                         at->truth[i]);
            n += is_told[i] && told[i] != 0;
            told[i] = 0;
            is_told[i] = false;
        }
        if (is_sample) {
            at = stop_at(account, commit);
            at = at && commit < end_of_absence(at) + PERIOD ? at : NULL;
            *ret_n_samples += at != NULL;
        } else if (sscanf(line, "%63s %" SCNu64, metric, &value) == 2) {
            char *dot = strstr(metric, ending);
            if (dot)
                *dot = '\0';
            const int64_t event = event_named(metric);
            assert_true(event >= 0);
            if (REAL->event(seen.monitor, (uint32_t)event)->is_shared)
                continue;
            told[event] += value;
            is_told[event] = true;
        }
    }
    return n;
}

static void write_readers(const char *profile, const char *neighbor, const char *words) {
    begin_file(profile);
    add_vm(0, "");
    add_context("reader", "smpm_reader", "\"8\", sleep, all", ", client: context");
    add_context("sort", "kernel_sort", "\"4\"", "");
    add_vm(1, "");
    add_context("asker", "smpm_reader", "\"4\", snapshot", ", client: context");
    add_vm(2, "");
    add_context("neighbor", neighbor, words, ", client: context");
}

static void test_a_reader_finds_the_truth_of_its_instants(void **state) {
    (void)state;
    uint32_t n_samples;
    write_readers("SAFE", "kernel_chase", "\"1\"");
    tl_tenants *tenants = run(TL_ENGINE_FASTEST);
    const uint32_t n = check_samples("reader", tenants->vms[0].first_account, &n_samples);
    assert_true(n_samples >= 4);
    assert_true(n > n_samples * 25);
    tl_tenants_close(tenants);
}

static uint64_t number_after(const char *line, const char *word) {
    const char *at = strstr(line, word);
    assert_non_null(at);
    return strtoull(at + strlen(word), NULL, 10);
}

// A multi-bit input keeps up to 31 units in each of the two harts until a switch.
static void test_a_snapshot_has_what_came_before_it(void **state) {
    (void)state;
    write_readers("SAFE", "kernel_chase", "\"1\"");
    tl_tenants *tenants = run(TL_ENGINE_FASTEST);
    char *rest = output_of("asker");
    uint64_t last = 0;
    uint32_t n = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line; n++) {
        const uint64_t value = number_after(line, "hart.instret ");
        assert_true(n < seen.n_asked);
        // A refused request may come before an accepted one.
        assert_true(value + 2 * 31 >= seen.asked[n] && value > last);
        last = value;
    }
    assert_int_equal(n, 4);
    tl_tenants_close(tenants);
}

static void test_engines_and_neighbors_do_not_show_to_a_reader(void **state) {
    (void)state;
    static const struct {
        tl_engine engine;
        const char *neighbor, *words;
    } rows[] = {{TL_ENGINE_FASTEST, "kernel_chase", "\"1\""},
                {TL_ENGINE_INTERP, "kernel_chase", "\"1\""},
                {TL_ENGINE_STEP, "kernel_chase", "\"1\""},
                {TL_ENGINE_FASTEST, "sockets_local", ""},
                {TL_ENGINE_FASTEST, "smpm_reader", "\"6\", snapshot"}};
    static char first[2][MAX_OUTPUT];
    static const char *const names[] = {"reader", "asker"};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        write_readers("SAFE", rows[i].neighbor, rows[i].words);
        tl_tenants *tenants = run(rows[i].engine);
        for (size_t k = 0; k < TL_COUNT_OF(names); k++) {
            const char *now = output_of(names[k]);
            if (i == 0)
                strcpy(first[k], now);
            else if (strcmp(first[k], now) != 0)
                fail_msg("row %zu: %s reads something else", i, names[k]);
        }
        tl_tenants_close(tenants);
    }
}

// Stops come anywhere, also while a load waits for the neighbors.
static void test_stops_do_not_show_to_a_reader(void **state) {
    (void)state;
    static const uint32_t rows[] = {0, 2, 5, 7, 11};
    static char first[2][MAX_OUTPUT];
    static const char *const names[] = {"reader", "asker"};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        write_readers("SAFE", "sockets_local", "");
        polls_per_stop = rows[i];
        tl_tenants *tenants = run(TL_ENGINE_FASTEST);
        polls_per_stop = 0;
        assert_true(n_bursts > 1000 && n_late_bursts == 0);
        for (size_t k = 0; k < TL_COUNT_OF(names); k++) {
            if (i == 0)
                strcpy(first[k], output_of(names[k]));
            else if (strcmp(first[k], output_of(names[k])) != 0)
                fail_msg("a stop each %u polls: %s reads something else", rows[i], names[k]);
        }
        tl_tenants_close(tenants);
    }
}

// ---- The access matrix.

typedef enum object { OWN_CTX, OTHER_CTX, VM_BLOCK, STRANGE_CTX, STRANGE_VM, VM0, DEV, REGISTERS, FILTERS, KEYS, AUDIT, N_OBJECTS } object;
static const char *const object_names[] = {
    "own context", "other context", "VM", "context of another VM", "another VM", "VM0", "device", "registers", "filters", "keys", "audit"};

// Numbers of blocks: VM0, D, VM 1, its contexts 0 to 2, VM 2, its context, VM 3, its context.
enum { BLOCK_VM1 = 2, BLOCK_VM2 = 6, N_BLOCKS = 10, N_CONTEXTS_1 = 3 };

static uint64_t place_of(object o, uint32_t context) {
    static const uint32_t numbers[] = {
        [OTHER_CTX] = BLOCK_VM1 + 2, [VM_BLOCK] = BLOCK_VM1, [STRANGE_CTX] = BLOCK_VM2 + 1, [STRANGE_VM] = BLOCK_VM2, [VM0] = 0, [DEV] = 1};
    if (o >= REGISTERS)
        return TL_SMPM_BLOCKS_AT + N_BLOCKS * (uint64_t)TL_SMPM_STRIDE_BYTES + (o - REGISTERS) * (uint64_t)TL_SMPM_PAGE_BYTES;
    return TL_SMPM_BLOCKS_AT + (o == OWN_CTX ? BLOCK_VM1 + 1 + context : numbers[o]) * (uint64_t)TL_SMPM_STRIDE_BYTES;
}

// An identity and the objects that it may load: one letter for each, in their order. Nobody may
// store.
// Status of a filter request: 1 denied, 3 the manager is busy.
typedef struct matrix_row {
    const char *who, *profile, *rules, *client;
    const char *loads;
    uint32_t filter_status;
} matrix_row;

static const matrix_row matrix[] = {
    //                                                                            own other VM str strVM VM0 D reg filt key audit
    {"a context", "SAFE", "", "context", "y..........", 1},
    {"a context with the block of its VM", "SAFE", "    contexts_read_vm: on\n", "context", "y.y........", 1},
    {"a context of a confidential VM", "SAFE", "    confidential: on\n", "context", "y..........", 1},
    {"the system of a VM", "SAFE", "", "system", "yyy.......y", 3},
    {"the system of a confidential VM", "SAFE", "    confidential: on\n", "system", "yyy.......y", 3},
    {"the hypervisor", "SAFE", "", "hypervisor", "yyyyyy....y", 3},
    {"the hypervisor, LITERAL", "LITERAL", "", "hypervisor", ".....y....y", 3},
    {"the hypervisor beside a confidential VM", "SAFE", "    confidential: on\n", "hypervisor", "...yyy....y", 3},
};

static void write_matrix(const matrix_row *row) {
    char words[1024] = "", more[64];
    for (object o = 0; o < N_OBJECTS; o++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "r%" PRIx64 ", w%" PRIx64 ", ", place_of(o, 0), place_of(o, 0));
    strcat(words, "c2");
    snprintf(more, sizeof more, ", client: %s", row->client);
    begin_file(row->profile);
    add_vm(0, row->rules);
    add_context("probe", "smpm_probe", words, more);
    add_context("second", "kernel_chase", "\"1\"", "");
    add_context("third", "smpm_probe", "r28", ", client: none");
    add_vm(1, "");
    add_context("strange", "lang_cxx", "", "");
    add_vm(2, "");
    add_context("fourth", "lang_cxx", "", "");
}

static bool answers(const char *output, const char *word, const char *answer) {
    char line[96];
    snprintf(line, sizeof line, "%s %s\n", word, answer);
    return strstr(output, line) != NULL;
}

static void check_row(const matrix_row *row, const char *output, uint32_t *ret_n_refused) {
    char word[32];
    for (object o = 0; o < N_OBJECTS; o++) {
        const bool may_load = row->loads[o] == 'y';
        snprintf(word, sizeof word, "r%" PRIx64, place_of(o, 0));
        char line[64];
        snprintf(line, sizeof line, "%s ", word);
        if (!strstr(output, line) || answers(output, word, "fault") == may_load)
            fail_msg("%s: a load of %s must %s", row->who, object_names[o], may_load ? "answer" : "fault");
        snprintf(word, sizeof word, "w%" PRIx64, place_of(o, 0));
        if (!answers(output, word, "fault"))
            fail_msg("%s: a store to %s must fault", row->who, object_names[o]);
        *ret_n_refused += may_load ? 1 : 2;
    }
    char status[16];
    snprintf(status, sizeof status, "%u", row->filter_status);
    if (!answers(output, "c2", status))
        fail_msg("%s: a request for a filter must answer %u", row->who, row->filter_status);
    *ret_n_refused += row->filter_status == 1;
}

// The controller and the copy engine, on the same machine.
static void check_firmware(bool is_confidential) {
    static uint64_t words[TL_SMPM_MAX_BLOCK_WORDS];
    tl_smpm_mcu *mcu = tl_smpm_service_mcu(tl_smpm_chip_service(seen.monitor));
    static const tl_smpm_object objects[] = {
        {TL_SMPM_OBJECT_CTX, 1, 0}, {TL_SMPM_OBJECT_VM, 1, TL_SMPM_NO_CTX}, {TL_SMPM_OBJECT_VM0, 0, 0}, {TL_SMPM_OBJECT_DEV, 0, 0}};
    const tl_smpm_identity controller = {TL_SMPM_CONTROLLER, TL_SMPM_NO_VM, TL_SMPM_NO_CTX};
    mcu->policy.has_key = 1u << 1;
    for (uint32_t i = 0; i < TL_COUNT_OF(objects); i++) {
        assert_int_equal(tl_smpm_mcu_view(mcu, &controller, &objects[i], words, TL_SMPM_MAX_BLOCK_WORDS), TL_SMPM_REPLY_OK);
        for (uint32_t vm = 1; vm <= 2; vm++) { // whose key the copy engine uses
            const tl_smpm_identity engine = {TL_SMPM_COPY_ENGINE, vm, TL_SMPM_NO_CTX};
            const uint64_t n_before = mcu->audit.n_entries;
            const bool may = vm == 1 && i < 2;
            assert_int_equal(tl_smpm_mcu_view(mcu, &engine, &objects[i], words, TL_SMPM_MAX_BLOCK_WORDS),
                             may ? TL_SMPM_REPLY_OK : TL_SMPM_REPLY_DENIED);
            assert_int_equal(mcu->audit.n_entries, n_before + !may);
        }
    }
    assert_true((mcu->policy.confidential != 0) == is_confidential);
}

static void test_each_cell_of_the_access_matrix(void **state) {
    (void)state;
    for (size_t i = 0; i < TL_COUNT_OF(matrix); i++) {
        write_matrix(&matrix[i]);
        tl_tenants *tenants = run(TL_ENGINE_FASTEST);
        uint32_t n_refused = 0;
        check_row(&matrix[i], output_of("probe"), &n_refused);
        if (REAL->n_refused(seen.monitor) != n_refused)
            fail_msg("%s: the audit log has %" PRIu64 " entries, not %u", matrix[i].who, REAL->n_refused(seen.monitor), n_refused);
        assert_string_equal(output_of("third"), "no device\n");
        check_firmware(strstr(matrix[i].rules, "confidential") != NULL);
        tl_tenants_close(tenants);
    }
}

// Sizes, borders, and registers that are read-only.
static void test_odd_accesses_fault_or_answer(void **state) {
    (void)state;
    begin_file("SAFE");
    add_vm(0, "");
    // The block's header: magic in 4 bytes, version in 2, kind in 2.
    add_context("probe", "smpm_probe", "r20, r28, \"r40000:4\", \"r40004:2\", \"r40006:2\", \"r20:4\", r40, wff8, c9, r4fff8, r1000, w1000",
                ", client: context");
    tl_tenants *tenants = run(TL_ENGINE_FASTEST);
    const char *output = output_of("probe");
    assert_true(answers(output, "r20", "1"));
    assert_true(answers(output, "r40000:4", "1297108307"));
    assert_true(answers(output, "r40004:2", "1"));
    assert_true(answers(output, "r40006:2", "2"));
    assert_true(answers(output, "r20:4", "fault"));
    assert_true(answers(output, "r40", "fault"));
    assert_true(answers(output, "wff8", "fault"));
    assert_true(answers(output, "c9", "1"));
    assert_true(answers(output, "r4fff8", "fault"));
    assert_true(answers(output, "w1000", "fault"));
    tl_tenants_close(tenants);
}

// ---- The mailbox on a machine whose harts stand still (T-OOB-1, T-OOB-2).

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif
static bool forbids_memory;
#if !defined(IS_SANITIZED) && !defined(__SANITIZE_ADDRESS__)
extern void *__libc_malloc(size_t n_bytes);
extern void *__libc_calloc(size_t n, size_t n_bytes);
extern void *__libc_realloc(void *block, size_t n_bytes);
void *malloc(size_t n_bytes) { return forbids_memory ? abort(), NULL : __libc_malloc(n_bytes); }
void *calloc(size_t n, size_t n_bytes) { return forbids_memory ? abort(), NULL : __libc_calloc(n, n_bytes); }
void *realloc(void *block, size_t n_bytes) { return forbids_memory ? abort(), NULL : __libc_realloc(block, n_bytes); }
#endif

static uint32_t access_register(bool is_write, uint32_t offset, uint32_t value) {
    uint8_t message[TL_MONITOR_MESSAGE_BYTES] = {is_write, (uint8_t)offset, 0, 0}, answer[TL_MONITOR_MESSAGE_BYTES];
    for (int i = 0; i < 4; i++)
        message[4 + i] = (uint8_t)(value >> 8 * i);
    REAL->oob_answer(seen.monitor, message, answer);
    assert_int_equal(answer[0], 0);
    return answer[4] | (uint32_t)answer[5] << 8 | (uint32_t)answer[6] << 16 | (uint32_t)answer[7] << 24;
}

static uint64_t value_out(void) {
    return access_register(false, TL_SMPM_OOB_DATA_OUT, 0) | (uint64_t)access_register(false, TL_SMPM_OOB_EXT_OUT, 0) << 32;
}

static uint32_t command(uint32_t cmd, uint32_t data_in, const uint32_t *auth) {
    access_register(true, TL_SMPM_OOB_DATA_IN, data_in);
    for (uint32_t i = 0; auth && i < 4; i++)
        access_register(true, TL_SMPM_OOB_AUTH + 4 * i, auth[i]);
    access_register(true, TL_SMPM_OOB_CMD, cmd);
    return TL_SMPM_OOB_STATUS_OF(access_register(false, TL_SMPM_OOB_CMD, 0));
}

static uint8_t session[32];
static uint64_t n_codes;
static uint32_t coded(uint32_t cmd, uint32_t data_in) {
    uint32_t auth[4];
    tl_smpm_oob_code(session, n_codes++, cmd, data_in, auth);
    return command(cmd, data_in, auth);
}

static void open_session(const uint8_t *key) {
    uint32_t proof[4];
    assert_int_equal(command(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 0, 0), TL_SMPM_OPERATOR, NULL), TL_SMPM_OOB_SUCCESS);
    const uint64_t value = value_out();
    const uint32_t challenge[2] = {(uint32_t)value, (uint32_t)(value >> 32)};
    tl_smpm_oob_proof(key, TL_SMPM_OPERATOR, challenge, proof);
    tl_smpm_oob_session(key, challenge, session);
    n_codes = 0;
    assert_int_equal(command(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 1, 0), 0, proof), TL_SMPM_OOB_SUCCESS);
}

// Counter 0 of harts is their cycles.
static uint64_t cycles_latched(bool is_coded) {
    const uint32_t cmd = TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_READ64, 0, 0);
    assert_int_equal(is_coded ? coded(cmd, 0) : command(cmd, 0, NULL), TL_SMPM_OOB_SUCCESS);
    return value_out();
}

static void test_the_mailbox_answers_while_all_harts_stand(void **state) {
    (void)state;
    static const uint8_t key[TL_SMPM_KEY_BYTES] = {7, 3};
    const uint32_t latch = TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_LATCH, 0, 0);
    write_readers("SAFE", "kernel_chase", "\"1\"");
    tl_tenants *tenants = run(TL_ENGINE_FASTEST);
    const tl_tenants_vm *vm = &tenants->vms[0];
    const tl_monitor_event *cycles = REAL->event(seen.monitor, (uint32_t)event_named("hart.cycle"));
    uint64_t truth = 0, of_vm = 0;
    for (uint32_t i = 0; i < tenants->n_accounts; i++)
        truth += i < tenants->parts[0].idle ? truth_of(i, cycles) : 0;
    for (uint32_t i = 0; i < TL_N_OWN_ACCOUNTS; i++) // nobody counts within switches
        for (uint32_t v = 0; v < tenants->plan.n_vms; v++)
            truth -= i == TL_SWITCHING ? truth_of(tenants->vms[v].first_account + tenants->plan.vms[v].n_contexts + i, cycles) : 0;
    for (uint32_t i = 0; i < vm->plan->n_contexts; i++)
        of_vm += truth_of(vm->first_account + i, cycles);
    tl_smpm_mcu *mcu = tl_smpm_service_mcu(tl_smpm_chip_service(seen.monitor));
    tl_smpm_requester operator_ = {.id = TL_SMPM_OPERATOR, .rights = TL_SMPM_RIGHT_LATCH_VM | TL_SMPM_RIGHT_CONFIGURE, .vms = UINT64_MAX};
    memcpy(operator_.key, key, sizeof key);
    assert_true(tl_smpm_mcu_enroll(mcu, &operator_));
    forbids_memory = true;
    assert_int_equal(command(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_ID, 0, 0), 0, NULL), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(command(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_STATUS, 0, 0), 0, NULL), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(value_out() >> 8, 0); // no partition is in use any more
    assert_int_equal(command(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_IDLE, 0, 0), 0, NULL), TL_SMPM_OOB_SUCCESS);
    assert_true(value_out() << 32 != 0 && (uint32_t)value_out() < value_out() >> 32);
    assert_int_equal(command(latch, 0, NULL), TL_SMPM_OOB_SUCCESS);
    assert_true(cycles_latched(false) == truth);
    assert_int_equal(command(latch, TL_SMPM_OOB_SCOPE(1, 1, 0), NULL), TL_SMPM_OOB_DENIED);
    open_session(key);
    assert_int_equal(coded(latch, TL_SMPM_OOB_SCOPE(1, 1, 0)), TL_SMPM_OOB_SUCCESS);
    assert_true(cycles_latched(true) == of_vm);
    assert_int_equal(coded(latch, TL_SMPM_OOB_SCOPE(2, 1, 1)), TL_SMPM_OOB_SUCCESS);
    assert_true(cycles_latched(true) == truth_of(vm->first_account + 1, cycles));
    assert_int_equal(coded(latch, TL_SMPM_OOB_SCOPE(1, 9, 0)), TL_SMPM_OOB_BAD_ARG);
    assert_int_equal(coded(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_CONFIG, TL_SMPM_CONFIG_HV_READS_VM, 0), 0), TL_SMPM_OOB_SUCCESS);
    assert_false(mcu->policy.hv_reads_vm);
    for (uint32_t ulc = 0; ulc < 16; ulc++) // the device's block would lose each of them
        assert_int_equal(coded(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_CONFIG, TL_SMPM_CONFIG_MASK, 0), ulc), TL_SMPM_OOB_DENIED);
    REAL->oob_hang_up(seen.monitor);
    assert_int_equal(command(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_READ64, 0, 0), 0, NULL), TL_SMPM_OOB_STALE);
    assert_int_equal(coded(latch, TL_SMPM_OOB_SCOPE(1, 1, 0)), TL_SMPM_OOB_DENIED);
    forbids_memory = false;
    tl_tenants_close(tenants);
}

// ---- As many VMs as a file may list.

enum { N_FAR = TL_MAX_VMS };

// Each VM has one context, and their blocks follow VM0 and D in pairs.
static uint64_t block_of(uint32_t vm, bool is_context) {
    return TL_SMPM_BLOCKS_AT + (2 + 2 * (vm - 1) + is_context) * (uint64_t)TL_SMPM_STRIDE_BYTES;
}

static void write_far_vms(void) {
    char words[3][96];
    const uint64_t audit = TL_SMPM_BLOCKS_AT + (2 + 2 * N_FAR) * (uint64_t)TL_SMPM_STRIDE_BYTES + 3 * (uint64_t)TL_SMPM_PAGE_BYTES;
    snprintf(words[0], sizeof words[0], "r%" PRIx64 ", r%" PRIx64, block_of(17, false), block_of(32, true));
    snprintf(words[1], sizeof words[1], "r20, r%" PRIx64 ", r%" PRIx64 ", c1", block_of(17, true), block_of(32, true));
    snprintf(words[2], sizeof words[2], "r%" PRIx64 ", r%" PRIx64 ", r%" PRIx64, block_of(32, false), block_of(17, false), audit);
    begin_file("SAFE");
    for (uint32_t vm = 1; vm <= N_FAR; vm++) {
        const uint32_t row = vm == 1 ? 0 : vm == 17 ? 1 : 2;
        static const char *const clients[] = {", client: hypervisor", ", client: context", ", client: system"};
        const bool has_role = vm == 1 || vm == 17 || vm == N_FAR;
        char name[16];
        snprintf(name, sizeof name, "far%u", vm);
        add_vm(vm % 4, vm == 17 ? "    quantum: 100000\n    confidential: on\n" : "    quantum: 100000\n");
        add_context(name, "smpm_probe", has_role ? words[row] : "r20", has_role ? clients[row] : "");
    }
}

static void test_the_last_vm_has_the_rights_of_the_first(void **state) {
    (void)state;
    static const uint8_t key[TL_SMPM_KEY_BYTES] = {9};
    const uint32_t latch = TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_LATCH, 0, 0);
    char word[32];
    write_far_vms();
    tl_tenants *tenants = run(TL_ENGINE_FASTEST);
    // The hypervisor: VM 17 is confidential, VM 32 is not.
    const char *output = output_of("far1");
    snprintf(word, sizeof word, "r%" PRIx64, block_of(17, false));
    assert_true(answers(output, word, "fault"));
    snprintf(word, sizeof word, "r%" PRIx64, block_of(32, true));
    assert_true(strstr(output, word) && !answers(output, word, "fault"));
    // A context of VM 17.
    output = output_of("far17");
    assert_true(answers(output, "r20", "17"));
    assert_true(answers(output, word, "fault"));
    snprintf(word, sizeof word, "r%" PRIx64, block_of(17, true));
    assert_true(strstr(output, word) && !answers(output, word, "fault"));
    assert_true(answers(output, "c1", "0"));
    // The system of VM 32.
    output = output_of("far32");
    snprintf(word, sizeof word, "r%" PRIx64, block_of(32, false));
    assert_true(strstr(output, word) && !answers(output, word, "fault"));
    snprintf(word, sizeof word, "r%" PRIx64, block_of(17, false));
    assert_true(answers(output, word, "fault"));
    tl_smpm_mcu *mcu = tl_smpm_service_mcu(tl_smpm_chip_service(seen.monitor));
    assert_int_equal(mcu->audit.n_of_subject[17], 1);
    assert_int_equal(mcu->audit.n_of_subject[32], 1);
    assert_int_equal(mcu->audit.n_of_subject[TL_SMPM_AUDIT_HYPERVISOR], 1);
    // The operator.
    tl_smpm_requester operator_ = {.id = TL_SMPM_OPERATOR, .rights = TL_SMPM_RIGHT_LATCH_VM, .vms = UINT64_MAX};
    memcpy(operator_.key, key, sizeof key);
    assert_true(tl_smpm_mcu_enroll(mcu, &operator_));
    open_session(key);
    assert_int_equal(coded(latch, TL_SMPM_OOB_SCOPE(1, 17, 0)), TL_SMPM_OOB_DENIED);
    assert_int_equal(coded(latch, TL_SMPM_OOB_SCOPE(2, 32, 0)), TL_SMPM_OOB_SUCCESS);
    const tl_monitor_event *cycles = REAL->event(seen.monitor, (uint32_t)event_named("hart.cycle"));
    assert_true(cycles_latched(true) == truth_of(tenants->vms[31].first_account, cycles));
    REAL->oob_hang_up(seen.monitor);
    tl_tenants_close(tenants);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state) {
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reader_finds_the_truth_of_its_instants),
        cmocka_unit_test(test_a_snapshot_has_what_came_before_it),
        cmocka_unit_test(test_engines_and_neighbors_do_not_show_to_a_reader),
        cmocka_unit_test(test_stops_do_not_show_to_a_reader),
        cmocka_unit_test(test_each_cell_of_the_access_matrix),
        cmocka_unit_test(test_odd_accesses_fault_or_answer),
        cmocka_unit_test(test_the_mailbox_answers_while_all_harts_stand),
        cmocka_unit_test(test_the_last_vm_has_the_rights_of_the_first),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder) == 0 ? 0 : 1;
}
