// SPDX-License-Identifier: MIT
// A bare program runs freely from one breakpoint to the next. Each stands at an instruction that
// has not executed before: behind returns from traps, in handlers, behind jumps, everywhere. The
// front-end named and the stepping one must both stop there. Instructions, registers, clock and
// tallies must be those of the stepped program. Usage: breaks_bare ENGINE HARTS ONE_IN PROGRAM. One
// in ONE_IN of the places gets its breakpoint, because code must be warm in between. Exit status: 0
// they agree, 1 they do not, 2 usage, 77 no such engine here.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/system.h"
#include "engines.h"
#include "isa/rv/hart.h"

enum { MAX_PLACES = 1 << 16, MAX_INSNS = 300000, MAX_BREAKS = 3000, SEEN_BITS = 20 };

typedef struct place {
    uint64_t pc, instret;
    bool is_return; // to a lower mode, or within machine mode by MRET
} place;

typedef struct side {
    tl_machine *machine;
    tl_system *system;
    tl_system_report report;
} side;

static place places[MAX_PLACES];
static uint8_t is_seen[1 << SEEN_BITS]; // by half word of RAM

static void die(const char *what) {
    fprintf(stderr, "breaks_bare: %s\n", what);
    exit(1);
}

static side start(const fast_engine *engine, uint32_t n_harts, const char *program) {
    tl_config config;
    tl_error err = {0};
    side s = {0};
    tl_system_options options = {.program = program, .console_in = -1, .console_out = -1};
    tl_config_default(&config);
    config.n_harts = n_harts;
    config.ram_bytes = 64 << 20;
    if (machine_with(engine, &config, &s.machine, &err) != TL_OK || tl_system_new(s.machine, &options, &s.system, &err) != TL_OK)
        die(err.text);
    return s;
}

static void finish(side *s) {
    tl_system_free(s->system);
    tl_machine_free(s->machine);
}

static uint64_t instret_of(const side *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->machine->n_harts; i++)
        sum += s->machine->harts[i]->instret;
    return sum;
}

static tl_system_stop advance(side *s, uint64_t until_instret, uint64_t break_pc) {
    tl_error err = {0};
    tl_system_limits limits = {.until_cycle = UINT64_MAX, .until_instret = until_instret, .break_pc = {break_pc, TL_NO_LINE}};
    if (tl_system_run(s->system, &limits, &s->report, &err) != TL_OK)
        die(err.text);
    return s->report.stop;
}

// Places that the program reaches, one instruction at a time; each place once.
static uint32_t trace(const fast_engine *step, uint32_t n_harts, const char *program) {
    side s = start(step, n_harts, program);
    uint32_t n = 0;
    uint64_t last[TL_MAX_HARTS] = {0};
    for (uint64_t at = 0; at < MAX_INSNS && n < MAX_PLACES; at++) {
        for (uint32_t i = 0; i < n_harts; i++) {
            const tl_hart *h = s.machine->harts[i];
            uint64_t cell = (h->pc - TL_RAM_BASE_PADDR) >> 1;
            bool is_here = h->pc != last[i] && cell < sizeof is_seen && !is_seen[cell] && n < MAX_PLACES;
            last[i] = h->pc;
            if (!is_here)
                continue;
            is_seen[cell] = 1;
            places[n++] =
                (place){.pc = h->pc, .instret = instret_of(&s), .is_return = h->pc == tl_rv(h)->csr.mepc || h->pc == tl_rv(h)->csr.sepc};
        }
        if (advance(&s, at + 1, TL_NO_LINE) != TL_SYSTEM_LIMIT)
            break;
    }
    finish(&s);
    return n;
}

static void compare(const side *a, const side *b, const place *at) {
    for (uint32_t i = 0; i < a->machine->n_harts; i++) {
        const tl_hart *x = a->machine->harts[i], *y = b->machine->harts[i];
        if (x->pc != y->pc || x->now != y->now || x->instret != y->instret || x->priv != y->priv ||
            tl_rv(x)->csr.mstatus != tl_rv(y)->csr.mstatus || tl_rv(x)->csr.mepc != tl_rv(y)->csr.mepc ||
            tl_rv(x)->csr.sepc != tl_rv(y)->csr.sepc || x->irqs_pending != y->irqs_pending ||
            memcmp(tl_rv(x)->x, tl_rv(y)->x, 32 * sizeof tl_rv(x)->x[0]) != 0 ||
            memcmp(tl_rv(x)->f, tl_rv(y)->f, sizeof tl_rv(x)->f) != 0) {
            fprintf(stderr,
                    "breakpoint at %" PRIx64 ", hart%u: pc %" PRIx64 " %" PRIx64 ", now %" PRIu64 " %" PRIu64 ", instret %" PRIu64
                    " %" PRIu64 "\n",
                    at->pc, i, x->pc, y->pc, x->now, y->now, x->instret, y->instret);
            exit(1);
        }
    }
    tl_machine_sync(a->machine);
    tl_machine_sync(b->machine);
    const tl_probe *probe = &a->machine->probe;
    for (uint32_t cell = 0; cell < probe->n_cells; cell++)
        if (a->machine->tally[cell] != b->machine->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(probe, cell);
            fprintf(stderr, "breakpoint at %" PRIx64 ": %s.%s is %" PRIu64 " by %s, %" PRIu64 " by step\n", at->pc, unit->path,
                    unit->type->signals[cell - unit->first_cell].name, a->machine->tally[cell], a->machine->engine->name,
                    b->machine->tally[cell]);
            exit(1);
        }
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    const fast_engine *engine = engine_named(argv[1]);
    if (!engine)
        return 77;
    uint32_t n_harts = (uint32_t)strtoul(argv[2], NULL, 10), one_in = (uint32_t)strtoul(argv[3], NULL, 10);
    uint32_t n = trace(&step_engine, n_harts, argv[4]), n_breaks = 0, n_returns = 0, n_exact = 0;
    side fast = start(engine, n_harts, argv[4]), slow = start(&step_engine, n_harts, argv[4]);
    for (uint32_t i = 0; i < n && n_breaks < MAX_BREAKS; i++) {
        const place *at = &places[i];
        if (i % one_in != 0 && !at->is_return)
            continue;
        // Another hart had a reason to stop at once.
        if (at->instret <= instret_of(&slow) && i != 0)
            continue;
        tl_system_stop stop = advance(&slow, MAX_INSNS, at->pc), stop_fast = advance(&fast, MAX_INSNS, at->pc);
        if (stop != stop_fast || instret_of(&slow) != instret_of(&fast)) {
            fprintf(stderr, "breakpoint at %" PRIx64 ": stop %d after %" PRIu64 " instructions, %d after %" PRIu64 " by step\n", at->pc,
                    stop_fast, instret_of(&fast), stop, instret_of(&slow));
            return 1;
        }
        compare(&fast, &slow, at);
        if (stop != TL_SYSTEM_BREAK)
            break;
        n_breaks++;
        // Otherwise an interrupt came first, or another hart's turn.
        n_exact += instret_of(&slow) == at->instret;
        n_returns += at->is_return;
    }
    if (advance(&slow, 4 * MAX_INSNS, TL_NO_LINE) != advance(&fast, 4 * MAX_INSNS, TL_NO_LINE) ||
        slow.report.exit_status != fast.report.exit_status)
        die("the runs end in different ways");
    compare(&fast, &slow, &places[0]);
    printf("%u places, %u breakpoints, %u where expected, %u where a trap returned to; stop %d, status %d\n", n, n_breaks, n_exact,
           n_returns, slow.report.stop, slow.report.exit_status);
    finish(&fast);
    finish(&slow);
    return n_breaks > 20 && (n_harts > 1 || n_exact * 10 > n_breaks * 9) ? 0 : 1;
}
