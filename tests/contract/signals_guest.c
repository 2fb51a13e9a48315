// SPDX-License-Identifier: MIT
// A signal is sent from outside at one instruction after the other of a Linux program. The program
// runs by the front-end named and by the stepping one. After delivery, handler and return, both
// must have equal registers, clock and tallies. The program checks that its computation comes out
// as undisturbed. Usage: signals_guest ENGINE SIGNALS PROGRAM. PROGRAM waits for so many signals
// and has a function `work`. MIN_PLACES of its instructions must have been interrupted. Exit
// status: 0 they agree, 1 they do not, 2 usage, 77 no such engine here.
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engines.h"
#include "isa/rv/hart.h"
#include "linux/os.h"
#include "linux/os_internal.h"

enum { MAX_WORK_BYTES = 2048, MIN_PLACES = 70, MAX_INSNS = 20000000 };

typedef struct side {
    tl_machine *machine;
    tl_os *os;
    tl_os_report report;
} side;

static void die(const char *what) {
    fprintf(stderr, "signals_guest: %s\n", what);
    exit(1);
}

static side start(const fast_engine *engine, char **argv, int null_fd) {
    static char *const no_env[] = {NULL};
    tl_config config;
    tl_error err = {0};
    side s = {0};
    tl_os_options options = {.program = argv[0], .argv = argv, .envp = no_env, .std_fd = {null_fd, null_fd, null_fd}};
    tl_config_default(&config);
    if (machine_with(engine, &config, &s.machine, &err) != TL_OK || tl_os_new(s.machine, &options, &s.os, &err) != TL_OK)
        die(err.text);
    return s;
}

static void advance(side *s, uint64_t until_instret) {
    tl_error err = {0};
    tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = until_instret, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    if (tl_os_run(s->os, &limits, &s->report, &err) != TL_OK)
        die(err.text);
    tl_machine_sync(s->machine);
}

static void compare(const side *a, const side *b, uint64_t n_sent) {
    const tl_hart *x = a->machine->harts[0], *y = b->machine->harts[0];
    const tl_probe *probe = &a->machine->probe;
    if (a->report.stop != b->report.stop || a->report.exit_status != b->report.exit_status)
        die("the runs end in different ways");
    for (uint32_t cell = 0; cell < probe->n_cells; cell++)
        if (a->machine->tally[cell] != b->machine->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(probe, cell);
            fprintf(stderr, "after %" PRIu64 " signals: %s.%s is %" PRIu64 " by %s, %" PRIu64 " by step\n", n_sent, unit->path,
                    unit->type->signals[cell - unit->first_cell].name, a->machine->tally[cell], a->machine->engine->name,
                    b->machine->tally[cell]);
            exit(1);
        }
    if (x->pc != y->pc || x->now != y->now || x->instret != y->instret || x->run_vline != y->run_vline ||
        tl_rv(x)->fflags != tl_rv(y)->fflags || tl_rv(x)->frm != tl_rv(y)->frm ||
        memcmp(tl_rv(x)->x, tl_rv(y)->x, 32 * sizeof tl_rv(x)->x[0]) != 0 || memcmp(tl_rv(x)->f, tl_rv(y)->f, sizeof tl_rv(x)->f) != 0) {
        fprintf(stderr, "after %" PRIu64 " signals: pc %" PRIx64 " %" PRIx64 ", now %" PRIu64 " %" PRIu64 "\n", n_sent, x->pc, y->pc,
                x->now, y->now);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    const fast_engine *engine = engine_named(argv[1]);
    if (!engine)
        return 77;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    char *args[] = {argv[3], argv[2], NULL};
    side fast = start(engine, args, null_fd), slow = start(&step_engine, args, null_fd);
    uint64_t work, n_sent = 0;
    tl_error err = {0};
    if (tl_os_symbol(slow.os, "work", NULL, &work, &err) != TL_OK)
        die(err.text);
    static bool is_interrupted[MAX_WORK_BYTES];
    // Runs until the program is at its computation with signals permitted.
    uint64_t at = 0;
    const uint64_t usr1 = UINT64_C(1) << (SIGUSR1 - 1);
    bool was_blocked = false;
    do {
        advance(&fast, at += 997);
        advance(&slow, at);
        bool is_blocked = (slow.os->first->threads->blocked & usr1) != 0;
        was_blocked |= is_blocked;
        if (was_blocked && !is_blocked)
            break;
    } while (at < MAX_INSNS && slow.report.stop == TL_OS_LIMIT);
    compare(&fast, &slow, 0);
    // The handler takes some hundred instructions; these distances have nothing in common with any
    // loop.
    while (slow.report.stop == TL_OS_LIMIT && at < MAX_INSNS) {
        uint64_t offset = slow.machine->harts[0]->pc - work;
        // A signal that comes within the handler waits for its end.
        tl_signal_send_thread(fast.os->first->threads, SIGUSR1, NULL);
        tl_signal_send_thread(slow.os->first->threads, SIGUSR1, NULL);
        n_sent++;
        if (offset < MAX_WORK_BYTES)
            is_interrupted[offset] = true;
        at += 211 + n_sent % 101;
        advance(&fast, at);
        advance(&slow, at);
        compare(&fast, &slow, n_sent);
    }
    uint32_t n_places = 0;
    for (uint32_t i = 0; i < MAX_WORK_BYTES; i++)
        n_places += is_interrupted[i];
    printf("%" PRIu64 " signals, %u instructions of work interrupted, %" PRIu64 " instructions\n", n_sent, n_places, at);
    if (slow.report.stop != TL_OS_EXITED || slow.report.exit_status != 0)
        die("the program did not end well");
    if (n_places < MIN_PLACES)
        die("too few places were interrupted");
    tl_os_free(fast.os);
    tl_os_free(slow.os);
    tl_machine_free(fast.machine);
    tl_machine_free(slow.machine);
    close(null_fd);
    return 0;
}
