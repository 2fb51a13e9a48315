// SPDX-License-Identifier: MIT
// Every fast front-end against the stepping one on random system software: three privilege modes, traps and their returns, delegation,
// interrupts, page tables, memory protection, and counters that overflow while the code runs. Registers, clock, privileged state and all
// tallies must be equal whenever the same number of instructions has retired; the ways there differ.
#include <inttypes.h>
#include <stdio.h>

#include "base/testing.h"
#include "engines.h"
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "machine/machine.h"
#include "random_code.h"

enum {
    CODE_BYTES = 48 << 10,
    DATA_OFFSET = 1 << 20,
    DATA_BYTES = 64 << 10,
    TABLES_OFFSET = 2 << 20, // page tables
    MAX_TRAPS = 200,         // between two looks
};

static const uint16_t csrs[] = {
    0x001, 0x002, 0x003, 0x100, 0x104, 0x105, 0x106, 0x140, 0x141, 0x142, 0x143, 0x144, 0x180, 0x300, 0x302,
    0x303, 0x304, 0x305, 0x306, 0x320, 0x321, 0x322, 0x323, 0x324, 0x325, 0x340, 0x341, 0x342, 0x343, 0x344,
    0x3a0, 0x3b0, 0xb00, 0xb02, 0xb03, 0xb04, 0xb05, 0xc00, 0xc01, 0xc02, 0xc03, 0xc04, 0xda0, 0xf14,
};

static void set_csr(tl_hart *h, uint32_t csr, uint64_t value) { // as firmware would, from outside
    tl_priv priv = h->priv;
    h->priv = TL_PRIV_M;
    (void)tl_csr_write(h, csr, value);
    h->priv = priv;
    if (h->has_after)
        tl_hart_retired(h);
}

static void put64(tl_machine *machine, uint64_t offset, uint64_t value) { memcpy(machine->ram + offset, &value, sizeof value); }

// Two sets of tables, three levels, that map the first 4 MiB of RAM to themselves; pages with random permissions. A fourth level on top for Sv48.
static void build_tables(tl_machine *machine, rng *r) {
    const uint64_t base = TL_RAM_BASE_PADDR;
    for (uint32_t set = 0; set < 2; set++) {
        uint64_t root = TABLES_OFFSET + set * 0x10000, middle = root + 0x1000, leaf = root + 0x2000, top = root + 0x4000;
        put64(machine, top + ((base >> 39) & 511) * 8, (base + root) >> 12 << 10 | 1);
        put64(machine, root + ((base >> 30) & 511) * 8, (base + middle) >> 12 << 10 | 1);
        for (uint32_t k = 0; k < 2; k++)
            put64(machine, middle + k * 8, (base + leaf + k * 0x1000) >> 12 << 10 | 1);
        for (uint32_t k = 0; k < 1024; k++) {
            uint64_t flags = 0xcf; // V R W X A D
            if (below(r, 3) != 0)
                flags |= 0x10; // U
            if (below(r, 20) == 0)
                flags &= ~(UINT64_C(1) << below(r, 8));
            put64(machine, leaf + k * 8, (base + k * 0x1000) >> 12 << 10 | flags);
        }
        put64(machine, middle + 2 * 8, base >> 12 << 10 | 0xcf); // a large page that is an alias of the first: not aligned to itself? it is
    }
}

static void scatter(tl_hart *h, rng *r, bool has_counters) { // another situation altogether
    static const uint64_t modes[] = {0, 8, 8, 8, 9};
    uint32_t set = below(r, 2);
    uint64_t mode = modes[below(r, TL_COUNT_OF(modes))];
    uint64_t root = TL_RAM_BASE_PADDR + TABLES_OFFSET + set * 0x10000 + (mode == 9 ? 0x4000 : 0);
    set_csr(h, 0x180, mode << 60 | root >> 12);
    set_csr(h, 0x300, next(r) & 0x7ffffff);
    set_csr(h, 0x302, next(r));
    set_csr(h, 0x303, next(r));
    set_csr(h, 0x304, below(r, 2) ? next(r) : 0);
    set_csr(h, 0x305, TL_RAM_BASE_PADDR + (uint64_t)below(r, CODE_BYTES / 8) * 4 + below(r, 2));
    set_csr(h, 0x105, TL_RAM_BASE_PADDR + (uint64_t)below(r, CODE_BYTES / 8) * 4 + below(r, 2));
    set_csr(h, 0x341, TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64));
    set_csr(h, 0x141, TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64));
    set_csr(h, 0x306, next(r));
    set_csr(h, 0x106, next(r));
    set_csr(h, 0x344, below(r, 4) == 0 ? next(r) : 0);
    // Code is nobody's to write, be it with jumps into the middle of instructions: what runs after that without FENCE.I is not specified.
    // The rest is permitted to everybody, or two thirds of it.
    set_csr(h, 0x3b0, TL_RAM_BASE_PADDR >> 2 | (0x10000 / 8 - 1));
    set_csr(h, 0x3b1, (TL_RAM_BASE_PADDR + DATA_OFFSET + (uint64_t)below(r, 16) * 4096) >> 2 | 0x1ff);
    set_csr(h, 0x3b2, UINT64_MAX);
    set_csr(h, 0x3a0, (below(r, 3) == 0 ? UINT64_C(0x1f1800) | below(r, 8) << 8 : UINT64_C(0x1f1f00)) | 0x9d);
    if (has_counters) {
        static const uint64_t events[] = {1, 2, 3, 4, 5, 6, 0x10000, 0x10001, 0x10002, 0x10003, 0x10009, 0x10019, 0x10021};
        for (uint32_t i = 3; i < 9; i++) {
            uint64_t filter = below(r, 2) ? (next(r) & 7) << 60 : 0;
            set_csr(h, 0x320 + i, events[below(r, TL_COUNT_OF(events))] | filter | (uint64_t)(below(r, 3) == 0) << 63);
            set_csr(h, 0xb00 + i, UINT64_MAX - below(r, 300));
        }
        set_csr(h, 0x320, below(r, 2) ? next(r) & 0xff : 0);
    }
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_M};
    tl_hart_set_priv(h, privs[below(r, 3)]);
    h->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 1000) * 16;
    h->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 2000) * 8;
    h->x[9] = TL_RAM_BASE_PADDR + 4096 + (uint64_t)below(r, CODE_BYTES - 8192);
    h->x[1] = h->x[9];
    h->pc = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64);
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    for (int i = 0; i < 6; i++)
        h->x[11 + below(r, 20)] = next(r) >> below(r, 64);
}

// Runs until so many instructions have retired, or MAX_TRAPS traps were taken: returns how many.
static uint32_t run_until(tl_hart *h, uint64_t instret, uint64_t *n_overflows) {
    uint32_t n_traps = 0;
    while (h->instret < instret && n_traps < MAX_TRAPS) {
        tl_irq irq;
        if ((h->run_vline == TL_NO_LINE || h->is_interrupted) && tl_next_interrupt(h, &irq)) {
            tl_take_interrupt(h, irq);
            *n_overflows += irq == TL_IRQ_LCOFI;
            n_traps++;
        }
        h->is_interrupted = h->is_waiting = false;
        h->horizon = UINT64_MAX;
        h->insn_limit = instret;
        tl_hart_limit_to_deadline(h, &h->insn_limit);
        if (h->core->run(h) == TL_STOP_TRAP) {
            tl_take_exception(h);
            n_traps++;
        }
        (void)tl_hart_poll(h);
    }
    return n_traps;
}

#define SAME(what)                                                                                                                        \
    do {                                                                                                                                  \
        if (a->what != b->what)                                                                                                           \
            fail_msg("look %" PRIu64 ": " #what " is %" PRIx64 " by fast, %" PRIx64 " by step (pc %" PRIx64 ")", look, (uint64_t)a->what, \
                     (uint64_t)b->what, b->pc);                                                                                           \
    } while (0)

static void compare(tl_machine *fast, tl_machine *slow, uint64_t look) {
    const tl_hart *a = fast->harts[0], *b = slow->harts[0];
    SAME(pc);
    SAME(priv);
    SAME(now);
    SAME(instret);
    for (int i = 0; i < 32; i++)
        SAME(x[i]);
    for (int i = 0; i < 32; i++)
        SAME(f[i]);
    SAME(csr.mstatus);
    SAME(csr.mepc);
    SAME(csr.mcause);
    SAME(csr.mtval);
    SAME(csr.sepc);
    SAME(csr.scause);
    SAME(csr.stval);
    SAME(csr.mip);
    SAME(csr.mie);
    SAME(csr.mideleg);
    SAME(csr.medeleg);
    SAME(satp);
    SAME(fflags);
    SAME(frm);
    tl_machine_sync(fast);
    tl_machine_sync(slow);
    for (uint32_t slot = 0; slot < fast->probe.n_slots; slot++)
        if (fast->tally[slot] != slow->tally[slot]) {
            const tl_unit *unit = tl_probe_unit_of(&fast->probe, slot);
            fail_msg("look %" PRIu64 ": %s.%s is %" PRIu64 " by fast, %" PRIu64 " by step", look, unit->path,
                     unit->type->signals[slot - unit->first_slot].name, fast->tally[slot], slow->tally[slot]);
        }
}

static void run_pair(const fast_engine *engine, const tl_config *config, uint64_t seed, uint64_t n_looks) {
    tl_machine *fast, *slow;
    tl_error err = {0};
    assert_int_equal(machine_with(engine, config, &fast, &err), TL_OK);
    assert_int_equal(tl_machine_new(config, &tl_core_step, &slow, &err), TL_OK);
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    fill_with(&r, fast->ram, CODE_BYTES, csrs, TL_COUNT_OF(csrs), 2);
    build_tables(fast, &r);
    for (uint32_t i = 0; i < DATA_BYTES; i += 8)
        put64(fast, DATA_OFFSET + i, next(&r));
    memcpy(slow->ram, fast->ram, TABLES_OFFSET + 0x20000);
    tl_hart *a = fast->harts[0], *b = slow->harts[0];
    tl_privileged_reset(a);
    tl_privileged_reset(b);
    bool has_counters = a->n_pmus > 0;
    uint64_t n_traps = 0, n_overflows[2] = {0, 0};
    for (uint64_t look = 0; look < n_looks; look++) {
        if (look % 4 == 0) {
            rng again = r;
            scatter(a, &r, has_counters);
            scatter(b, &again, has_counters);
        }
        uint64_t more = 1 + below(&r, below(&r, 2) ? 20 : 700);
        uint32_t traps_a = run_until(a, a->instret + more, &n_overflows[0]), traps_b = run_until(b, b->instret + more, &n_overflows[1]);
        n_traps += traps_a;
        compare(fast, slow, look);
        if (traps_a != traps_b)
            fail_msg("look %" PRIu64 ": %u traps by fast, %u by step", look, traps_a, traps_b);
    }
    assert_memory_equal(fast->ram, slow->ram, TABLES_OFFSET + 0x20000);
    assert_true(n_traps > n_looks / 4);
    assert_int_equal(n_overflows[0], n_overflows[1]);
    if (getenv("TL_LOCKSTEP_STOPS"))
        printf("seed %" PRIu64 ": %" PRIu64 " traps, %" PRIu64 " overflow interrupts\n", seed, n_traps, n_overflows[0]);
    assert_true(n_overflows[0] > n_looks / 400);
    tl_machine_free(fast);
    tl_machine_free(slow);
}

static uint64_t n_looks(void) {
    const char *text = getenv("TL_LOCKSTEP_STOPS");
    return text ? strtoull(text, NULL, 10) : 4000;
}

static void run_all(const tl_config *config, uint64_t first_seed, uint64_t last_seed) {
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
            run_pair(&fast_engines[e], config, seed, n_looks());
    }
}

static void test_random_system_software_agrees(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    run_all(&config, 1, 3);
}

static void test_random_system_software_agrees_on_a_tiny_machine(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1i = (tl_cache_config){.size_bytes = 512, .ways = 1, .line_bytes = 16};
    config.l1d = (tl_cache_config){.size_bytes = 512, .ways = 2, .line_bytes = 16, .replacement = TL_REPLACE_FIFO};
    config.l2 = (tl_cache_config){.size_bytes = 4096, .ways = 4, .line_bytes = 16, .replacement = TL_REPLACE_RANDOM};
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 4, .ways = 4, .replacement = TL_REPLACE_PLRU};
    config.pipeline.fetch_bytes = 8;
    config.pipeline.mul_cycles = 9;
    run_all(&config, 11, 12);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_system_software_agrees),
    cmocka_unit_test(test_random_system_software_agrees_on_a_tiny_machine),
};
TL_TEST_MAIN(tests)
