// SPDX-License-Identifier: MIT
// Runs one Linux program on two machines, by the front-end named (block, translate) and by the
// stepping one. After each chunk of instructions it compares the clock, the registers of every hart
// and every tally. Usage: lockstep_guest ENGINE HARTS CHUNK PROGRAM [ARG...]; output of the program
// is discarded. Exit status: 0 they agree to the end, 1 they do not, 2 usage, 77 no such engine
// here. In the environment: TL_LOCKSTEP_INSNS, how far at most; TL_LOCKSTEP_CODE_CACHE, bytes of
// code memory; TL_LOCKSTEP_MAY_SKIP, a program that is not there is no failure;
// TL_LOCKSTEP_ROWS, rows of an attribution are compared, too; TL_LOCKSTEP_CONTEXTS with it, those
// of a call graph. TL_LOCKSTEP_AHEAD: both machines have the front-end named, chunks are cycles,
// and the first one begins each run ahead of tl_os_run.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attributions.h"
#include "engines.h"
#include "isa/rv/hart.h"
#include "linux/os.h"
#include "model/callgraph.h"

typedef struct side {
    tl_machine *machine;
    tl_os *os;
    tl_os_report report;
    tl_attribution *attribution; // NULL: none
    tl_callgraph *graph;
    bool tells_transfers, begins_ahead; // options of the kernel; tl_os_begin_ahead
    uint64_t n_begun;
} side;

static int set_up(side *s, const tl_config *config, const fast_engine *engine, char **argv, int null_fd) {
    static char *const no_env[] = {NULL};
    tl_error err = {0};
    tl_os_options options = {
        .program = argv[0], .argv = argv, .envp = no_env, .std_fd = {null_fd, null_fd, null_fd}, .reports_transfers = s->tells_transfers};
    if (machine_with(engine, config, &s->machine, &err) != TL_OK || tl_os_new(s->machine, &options, &s->os, &err) != TL_OK) {
        fprintf(stderr, "lockstep_guest: %s\n", err.text);
        return 1;
    }
    return 0;
}

static int advance(side *s, uint64_t until_cycle, uint64_t until_instret) {
    tl_error err = {0};
    tl_os_limits limits = {.until_cycle = until_cycle, .until_instret = until_instret, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    if (s->begins_ahead && tl_os_begin_ahead(s->os, &limits)) {
        tl_os_run_ahead(s->os);
        s->n_begun += 1;
    }
    if (tl_os_run(s->os, &limits, &s->report, &err) != TL_OK) {
        fprintf(stderr, "lockstep_guest: %s\n", err.text);
        return 1;
    }
    tl_machine_sync(s->machine);
    return 0;
}

static int compare(const side *a, const side *b, uint64_t at) {
    int n_different = 0;
    const tl_probe *probe = &a->machine->probe;
    for (uint32_t cell = 0; cell < probe->n_cells && n_different < 20; cell++)
        if (a->machine->tally[cell] != b->machine->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(probe, cell);
            fprintf(stderr, "at %" PRIu64 ": %s.%s is %" PRIu64 " by the fast one, %" PRIu64 " by step\n", at, unit->path,
                    unit->type->signals[cell - unit->first_cell].name, a->machine->tally[cell], b->machine->tally[cell]);
            n_different += 1;
        }
    for (uint32_t i = 0; i < a->machine->n_harts; i++) {
        const tl_hart *x = a->machine->harts[i], *y = b->machine->harts[i];
        bool is_same = x->pc == y->pc && x->now == y->now && x->instret == y->instret && x->stamp == y->stamp &&
                       tl_rv(x)->fflags == tl_rv(y)->fflags && memcmp(tl_rv(x)->x, tl_rv(y)->x, 32 * sizeof tl_rv(x)->x[0]) == 0 &&
                       memcmp(tl_rv(x)->f, tl_rv(y)->f, sizeof tl_rv(x)->f) == 0;
        if (!is_same) {
            fprintf(stderr,
                    "at %" PRIu64 ": hart%u differs: pc %" PRIx64 " %" PRIx64 ", now %" PRIu64 " %" PRIu64 ", instret %" PRIu64 " %" PRIu64
                    "\n",
                    at, i, x->pc, y->pc, x->now, y->now, x->instret, y->instret);
            n_different += 1;
        }
    }
    return n_different;
}

static int by_space_and_pc(const void *a_at, const void *b_at) {
    const tl_attribution_row *a = *(const tl_attribution_row *const *)a_at, *b = *(const tl_attribution_row *const *)b_at;
    return a->space != b->space ? (a->space > b->space) - (a->space < b->space) : (a->pc > b->pc) - (a->pc < b->pc);
}

// Rows with any count, in order. The caller frees them.
static const tl_attribution_row **sorted_rows(tl_attribution *attribution, uint32_t *ret_n) {
    uint32_t n_rows, n = 0;
    const tl_attribution_row *rows = tl_attribution_rows(attribution, &n_rows);
    const tl_attribution_row **sorted = calloc(n_rows + 1, sizeof *sorted);
    for (uint32_t i = 0; sorted && i < n_rows; i++) {
        bool is_empty = rows[i].n_executed == 0;
        for (uint32_t k = 0; k < rows[i].n_counts; k++)
            is_empty &= rows[i].counts[k].n == 0;
        if (!is_empty)
            sorted[n++] = &rows[i];
    }
    if (sorted)
        qsort(sorted, n, sizeof *sorted, by_space_and_pc);
    *ret_n = n;
    return sorted;
}

static int compare_rows(const side *a, const side *b) {
    uint32_t n[2];
    tl_error err = {0};
    const tl_attribution_row **rows[] = {sorted_rows(a->attribution, &n[0]), sorted_rows(b->attribution, &n[1])};
    int n_different = n[0] != n[1] || !rows[0] || !rows[1];
    if (n_different)
        fprintf(stderr, "%" PRIu32 " rows by the fast one, %" PRIu32 " by step\n", n[0], n[1]);
    for (uint32_t i = 0; i < n[0] && n_different == 0; i++) {
        const tl_attribution_row *x = rows[0][i], *y = rows[1][i];
        if (x->space != y->space || x->pc != y->pc || x->n_executed != y->n_executed) {
            fprintf(stderr, "row %" PRIx64 " executed %" PRIu64 " times by the fast one, %" PRIx64 " %" PRIu64 " times by step\n", x->pc,
                    x->n_executed, y->pc, y->n_executed);
            n_different = 1;
        }
        for (tl_cell cell = 0; cell < a->machine->probe.n_cells && n_different == 0; cell++)
            if (count_of(x, cell) != count_of(y, cell)) {
                const tl_unit *unit = tl_probe_unit_of(&a->machine->probe, cell);
                fprintf(stderr, "row %" PRIx64 ": %s.%s is %" PRIu64 " by the fast one, %" PRIu64 " by step\n", x->pc, unit->path,
                        unit->type->signals[cell - unit->first_cell].name, count_of(x, cell), count_of(y, cell));
                n_different = 1;
            }
    }
    free(rows[0]);
    free(rows[1]);
    if (tl_attribution_check(a->attribution, &err) != TL_OK || tl_attribution_check(b->attribution, &err) != TL_OK) {
        fprintf(stderr, "lockstep_guest: %s\n", err.text);
        n_different = 1;
    }
    return n_different;
}

// Every signal is an event, summed over harts.
static int add_graph(side *s) {
    const tl_probe *probe = &s->machine->probe;
    uint8_t *event_of = malloc(probe->n_cells);
    tl_error err = {0};
    for (tl_cell cell = 0; event_of && cell < probe->n_cells; cell++)
        event_of[cell] = (uint8_t)(cell < s->machine->n_harts * TL_S_N_CELLS ? cell % TL_S_N_CELLS : TL_NO_EVENT - 1);
    int status = !event_of || tl_callgraph_new(s->attribution, probe, event_of, TL_NO_EVENT, TL_NO_EVENT - 2, &s->graph, &err) != TL_OK;
    free(event_of);
    return status;
}

static int compare_contexts(const side *a, const side *b) {
    const uint32_t n = tl_callgraph_n_contexts(a->graph), n_slow = tl_callgraph_n_contexts(b->graph);
    tl_error err = {0};
    int n_different = n != n_slow;
    if (n_different)
        fprintf(stderr, "%" PRIu32 " contexts by the fast one, %" PRIu32 " by step\n", n, n_slow);
    for (uint32_t i = 0; i < n && i < n_slow && n_different < 2; i++) {
        const tl_call_context *x = tl_callgraph_context(a->graph, i), *y = tl_callgraph_context(b->graph, i);
        if (x->space != y->space || x->entry_pc != y->entry_pc || x->call_pc != y->call_pc || x->parent != y->parent ||
            x->n_calls != y->n_calls) {
            fprintf(stderr,
                    "context %" PRIu32 " is %" PRIx64 " from %" PRIx64 " %" PRIu64 " times, %" PRIx64 " from %" PRIx64 " %" PRIu64
                    " times by step\n",
                    i, x->entry_pc, x->call_pc, x->n_calls, y->entry_pc, y->call_pc, y->n_calls);
            n_different += 1;
        }
        for (uint32_t event = 0; event < TL_NO_EVENT && n_different < 2; event++)
            if (x->counts[event] != y->counts[event]) {
                fprintf(stderr, "context %" PRIu32 " at %" PRIx64 ": event %" PRIu32 " is %" PRIu64 ", %" PRIu64 " by step\n", i,
                        x->entry_pc, event, x->counts[event], y->counts[event]);
                n_different += 1;
            }
    }
    if (tl_callgraph_check(a->graph, &err) != TL_OK || tl_callgraph_check(b->graph, &err) != TL_OK) {
        fprintf(stderr, "lockstep_guest: %s\n", err.text);
        n_different += 1;
    }
    return n_different;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: lockstep_guest interp|translate|mixed HARTS CHUNK PROGRAM [ARG...]\n");
        return 2;
    }
    const fast_engine *engine = engine_named(argv[1]);
    if (!engine) {
        fprintf(stderr, "lockstep_guest: no engine %s here\n", argv[1]);
        return 77; // meson: skipped
    }
    if (getenv("TL_LOCKSTEP_MAY_SKIP") && access(argv[4], R_OK) != 0) {
        printf("skipped: there is no %s\n", argv[4]);
        return 77;
    }
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    tl_config config;
    tl_config_default(&config);
    config.n_harts = (uint32_t)strtoul(argv[2], NULL, 10);
    uint64_t chunk = strtoull(argv[3], NULL, 10);
    const char *most = getenv("TL_LOCKSTEP_INSNS"), *cache = getenv("TL_LOCKSTEP_CODE_CACHE");
    if (cache)
        config.code_cache_bytes = (uint32_t)strtoul(cache, NULL, 10);
    uint64_t limit = most ? strtoull(most, NULL, 10) : UINT64_C(3000000);
    const bool is_ahead = getenv("TL_LOCKSTEP_AHEAD") != NULL;
    if (is_ahead)
        config.os.slice_cycles = 5000; // threads take turns often
    side fast = {.begins_ahead = is_ahead, .tells_transfers = is_ahead}, slow = {.tells_transfers = is_ahead};
    int status =
        set_up(&fast, &config, engine, argv + 4, null_fd) || set_up(&slow, &config, is_ahead ? engine : &step_engine, argv + 4, null_fd);
    if (status == 0 && getenv("TL_LOCKSTEP_ROWS")) {
        fast.attribution = attribute(fast.machine);
        slow.attribution = attribute(slow.machine);
        if (getenv("TL_LOCKSTEP_CONTEXTS"))
            status = add_graph(&fast) || add_graph(&slow);
    }
    uint64_t at = 0;
    while (status == 0 && at < limit) {
        at += fast.report.stop == TL_OS_TRANSFER ? 0 : chunk;
        const uint64_t until_cycle = is_ahead ? at : UINT64_MAX, until_instret = is_ahead ? UINT64_MAX : at;
        status = advance(&fast, until_cycle, until_instret) || advance(&slow, until_cycle, until_instret);
        if (status != 0)
            break;
        if (fast.report.stop != slow.report.stop || fast.report.cycle != slow.report.cycle) {
            fprintf(stderr, "at %" PRIu64 ": the fast one stopped for %d, the other for %d, at %" PRIu64 " and %" PRIu64 "\n", at,
                    (int)fast.report.stop, (int)slow.report.stop, fast.report.cycle, slow.report.cycle);
            status = 1;
        }
        status |= compare(&fast, &slow, at) != 0;
        if (fast.attribution)
            status |= compare_rows(&fast, &slow) != 0;
        if (fast.graph)
            status |= compare_contexts(&fast, &slow) != 0;
        if (fast.report.stop != TL_OS_LIMIT && fast.report.stop != TL_OS_TRANSFER)
            break;
    }
    if (status == 0 && is_ahead && fast.n_begun == 0) {
        fprintf(stderr, "lockstep_guest: no run began ahead\n");
        status = 1;
    }
    tl_error err = {0};
    if (status == 0 && tl_machine_check_identities(fast.machine, &err) != TL_OK) {
        fprintf(stderr, "lockstep_guest: %s\n", err.text);
        status = 1;
    }
    tl_callgraph_free(fast.graph);
    tl_callgraph_free(slow.graph);
    tl_attribution_free(fast.attribution);
    tl_attribution_free(slow.attribution);
    tl_os_free(fast.os);
    tl_os_free(slow.os);
    tl_machine_free(fast.machine);
    tl_machine_free(slow.machine);
    close(null_fd);
    return status;
}
