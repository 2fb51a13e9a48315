// SPDX-License-Identifier: MIT
// The architectural state of two harts: registers, mode, interrupts, trap registers. Clocks and
// reservations are not part of it, because other harts and timings decide them.
#ifndef TL_TESTS_SAME_STATE_H
#define TL_TESTS_SAME_STATE_H

#include <inttypes.h>
#include <stdio.h>

#include "base/testing.h"
#include "isa/rv/hart.h"
#include "machine/machine.h"

typedef struct difference {
    char what[32];
    uint64_t of_first, of_second;
} difference;

static inline bool is_different(const char *name, int index, uint64_t of_first, uint64_t of_second, difference *ret) {
    if (of_first == of_second)
        return false;
    if (index < 0)
        snprintf(ret->what, sizeof ret->what, "%s", name);
    else
        snprintf(ret->what, sizeof ret->what, "%s%d", name, index);
    ret->of_first = of_first;
    ret->of_second = of_second;
    return true;
}

#define DIFFERS(member) is_different(#member, -1, a->member, b->member, ret)
#define DIFFERS_RV(member) is_different(#member, -1, ra->member, rb->member, ret)

// Returns whether there is one; *ret_difference is the first one.
static inline bool find_difference(const tl_hart *a, const tl_hart *b, difference *ret) {
    const tl_rv_hart *ra = tl_rv(a), *rb = tl_rv(b);
    for (int i = 0; i < 32; i++)
        if (is_different("x", i, ra->x[i], rb->x[i], ret) || is_different("f", i, ra->f[i], rb->f[i], ret))
            return true;
    return DIFFERS(pc) || DIFFERS(priv) || DIFFERS(instret) || DIFFERS(irqs_pending) || DIFFERS(irqs_enabled) || DIFFERS(context) ||
           DIFFERS_RV(fflags) || DIFFERS_RV(frm) || DIFFERS_RV(csr.mstatus) || DIFFERS_RV(csr.mepc) || DIFFERS_RV(csr.mcause) ||
           DIFFERS_RV(csr.mtval) || DIFFERS_RV(csr.sepc) || DIFFERS_RV(csr.scause) || DIFFERS_RV(csr.stval) || DIFFERS_RV(csr.mideleg) ||
           DIFFERS_RV(csr.medeleg) || DIFFERS_RV(csr.mtvec) || DIFFERS_RV(csr.stvec) || DIFFERS_RV(csr.mscratch) ||
           DIFFERS_RV(csr.sscratch);
}
#undef DIFFERS
#undef DIFFERS_RV

static inline bool has_same_state(const tl_hart *a, const tl_hart *b) {
    difference unused;
    return !find_difference(a, b, &unused);
}

// `stop` tells places of a seed apart.
static inline void assert_same_state(const tl_hart *a, const tl_hart *b, uint64_t seed, uint64_t stop) {
    difference d;
    if (find_difference(a, b, &d))
        fail_msg("seed %" PRIu64 ", stop %" PRIu64 ", hart%u: %s is %" PRIx64 ", by step %" PRIx64 " (pc %" PRIx64 ")", seed, stop, a->id,
                 d.what, d.of_first, d.of_second, b->pc);
}

// Every tally of two machines of one kind.
static inline void assert_same_tallies(tl_machine *a, tl_machine *b, uint64_t seed, uint64_t stop) {
    tl_machine_sync(a);
    tl_machine_sync(b);
    for (uint32_t cell = 0; cell < a->probe.n_cells; cell++)
        if (a->tally[cell] != b->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(&b->probe, cell);
            fail_msg("seed %" PRIu64 ", stop %" PRIu64 ": %s.%s is %" PRIu64 ", not %" PRIu64, seed, stop, unit->path,
                     unit->type->signals[cell - unit->first_cell].name, a->tally[cell], b->tally[cell]);
        }
}

#endif
