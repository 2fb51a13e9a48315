// SPDX-License-Identifier: MIT
// Two machines that must agree: one runs on a fast front-end, the other on the stepping one. Tests
// compare with pair_same after every stop: registers, clock, privileged state, results in flight,
// and all tallies of all units.
#ifndef TL_TESTS_LOCKSTEP_H
#define TL_TESTS_LOCKSTEP_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "board_turn.h"
#include "engines.h"
#include "isa/rv/hart.h"
#include "machine/machine.h"

typedef struct pair {
    tl_machine *fast, *slow;
    char where[160]; // for messages: what is being tried
} pair;

static inline pair pair_new(const tl_config *config, const fast_engine *engine) {
    pair p = {0};
    tl_error err = {0};
    if (machine_with(engine, config, &p.fast, &err) != TL_OK || tl_machine_new(config, &tl_engine_step, &p.slow, &err) != TL_OK)
        fail_msg("%s", err.text);
    return p;
}

static inline void pair_free(pair *p) {
    tl_machine_free(p->fast);
    tl_machine_free(p->slow);
}

static inline void pair_put(const pair *p, uint64_t paddr, const void *bytes, size_t n_bytes) {
    memcpy(tl_machine_ram(p->fast, paddr), bytes, n_bytes);
    memcpy(tl_machine_ram(p->slow, paddr), bytes, n_bytes);
}

static inline void pair_put64(const pair *p, uint64_t paddr, uint64_t value) { pair_put(p, paddr, &value, sizeof value); }

static inline void pair_code_changed(const pair *p, uint64_t paddr) {
    tl_memory_code_changed(p->fast->memory, tl_align_down(paddr, 4096));
    tl_memory_code_changed(p->slow->memory, tl_align_down(paddr, 4096));
}

#define PAIR_SAME_OF(a_has, b_has, what)                                                                                   \
    do {                                                                                                                   \
        if ((a_has)->what != (b_has)->what)                                                                                \
            fail_msg("%s, hart %u: " #what " is %" PRIx64 " by %s, %" PRIx64 " by step (pc %" PRIx64 ")", p->where, a->id, \
                     (uint64_t)(a_has)->what, p->fast->engine->name, (uint64_t)(b_has)->what, b->pc);                      \
    } while (0)
#define PAIR_SAME(what) PAIR_SAME_OF(a, b, what)
#define PAIR_SAME_RV(what) PAIR_SAME_OF(tl_rv(a), tl_rv(b), what)

// `is_same_way`: both were told to stop in the same way, so that even what is under way must be
// equal.
static inline void pair_same_hart(const pair *p, const tl_hart *a, const tl_hart *b, bool is_same_way) {
    PAIR_SAME(pc);
    PAIR_SAME(priv);
    PAIR_SAME(now);
    PAIR_SAME(instret);
    PAIR_SAME_RV(fflags);
    PAIR_SAME_RV(frm);
    for (int i = 0; i < 32; i++)
        PAIR_SAME_RV(x[i]);
    for (int i = 0; i < 32; i++)
        PAIR_SAME_RV(f[i]);
    PAIR_SAME(context);
    PAIR_SAME(reservation_paddr);
    PAIR_SAME_RV(csr.mstatus);
    PAIR_SAME(irqs_enabled);
    PAIR_SAME(irqs_pending);
    PAIR_SAME_RV(csr.mideleg);
    PAIR_SAME_RV(csr.medeleg);
    PAIR_SAME_RV(csr.mepc);
    PAIR_SAME_RV(csr.mcause);
    PAIR_SAME_RV(csr.mtval);
    PAIR_SAME_RV(csr.sepc);
    PAIR_SAME_RV(csr.scause);
    PAIR_SAME_RV(csr.stval);
    if (is_same_way) {
        PAIR_SAME(stamp);
        PAIR_SAME(run_vline);
    }
}

static inline void pair_same_tallies(const pair *p) {
    tl_machine_sync(p->fast);
    tl_machine_sync(p->slow);
    for (uint32_t cell = 0; cell < p->fast->probe.n_cells; cell++)
        if (p->fast->tally[cell] != p->slow->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(&p->fast->probe, cell);
            fail_msg("%s: %s.%s is %" PRIu64 " by %s, %" PRIu64 " by step", p->where, unit->path,
                     unit->type->signals[cell - unit->first_cell].name, p->fast->tally[cell], p->fast->engine->name, p->slow->tally[cell]);
        }
}

static inline void pair_same(const pair *p, bool is_same_way) {
    for (uint32_t i = 0; i < p->fast->n_harts; i++)
        pair_same_hart(p, p->fast->harts[i], p->slow->harts[i], is_same_way);
    pair_same_tallies(p);
}

// How long to go on: TL_LOCKSTEP_STOPS makes a short test a long one.
static inline uint32_t lockstep_rounds(uint32_t usual) {
    const char *text = getenv("TL_LOCKSTEP_STOPS");
    return text ? (uint32_t)strtoul(text, NULL, 10) : usual;
}

// The smallest caches and TLBs with the oddest policies, and latencies of their own.
static inline void config_small(tl_config *config) {
    config->l1i = (tl_cache_config){.size_bytes = 512, .ways = 1, .line_bytes = 16};
    config->l1d = (tl_cache_config){.size_bytes = 512, .ways = 2, .line_bytes = 16, .replacement = TL_REPLACE_FIFO};
    config->l2 = (tl_cache_config){.size_bytes = 4096, .ways = 4, .line_bytes = 16, .replacement = TL_REPLACE_RANDOM};
    config->itlb = config->dtlb = (tl_tlb_config){.entries = 4, .ways = 4, .replacement = TL_REPLACE_PLRU};
    config->pipeline.fetch_bytes = 8;
    config->pipeline.mul_cycles = 9;
    config->pipeline.fp_fma_cycles = 13;
    config->pipeline.fp_add_cycles = 7;
    config->bp.kind = TL_BP_BTFN;
}

// Runs as the board does: blocks while an overflow is far, single instructions near it. True: the
// interrupt is taken; false: a trap came first.
static inline bool run_to_overflow(tl_hart *h) {
    for (;;) {
        tl_irq irq;
        if (take_due_interrupt(h, &irq)) {
            assert_int_equal(irq, TL_IRQ_LCOFI);
            return true;
        }
        h->is_interrupted = false;
        h->horizon = h->insn_limit = UINT64_MAX;
        tl_hart_limit_to_deadline(h, &h->insn_limit);
        if (h->engine->run(h) == TL_STOP_TRAP)
            return false;
        (void)tl_hart_poll(h);
    }
}

#endif
