// SPDX-License-Identifier: MIT
// Front-ends that take traps themselves (tl_hart.takes_traps), against the stepping one, whose
// traps the test takes. A program in user mode makes system calls, reserves lines and stores there,
// and touches a page that is not its own. Handlers in supervisor and machine mode go on behind the
// instruction that trapped. All of this repeats without end.
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "lockstep.h"
#include "mem/memory.h"
#include "random_system.h"

enum {
    PROGRAM_AT = 0x10000, // of RAM, each a page; virtual addresses are physical
    SUPERVISOR_AT = 0x20000,
    MACHINE_AT = 0x30000,
    PROGRAM_DATA_AT = 0x40000,
    KERNEL_DATA_AT = 0x50000,
    TABLES_AT = 0x100000,
    N_PIECES = 40,
    N_TAIL = 16, // the code is entered behind its end when the instruction there was interrupted
    N_STOPS = 400,
    PTE_SUPERVISOR_CODE = 0xcb, // V R X A D
    PTE_SUPERVISOR_DATA = 0xc7,
    PTE_USER_CODE = 0xdb,
    PTE_USER_DATA = 0xd7,
    ECALL = 0x73,
    SRET = 0x10200073,
    MRET = 0x30200073,
};

static void put_tables(const pair *p) {
    static const struct {
        uint64_t at, flags;
    } pages[] = {{PROGRAM_AT, PTE_USER_CODE},
                 {SUPERVISOR_AT, PTE_SUPERVISOR_CODE},
                 {PROGRAM_DATA_AT, PTE_USER_DATA},
                 {KERNEL_DATA_AT, PTE_SUPERVISOR_DATA}};
    const uint64_t root = TL_RAM_BASE_PADDR + TABLES_AT;
    pair_put64(p, root + (TL_RAM_BASE_PADDR >> 30) * 8, (root + 0x1000) >> 12 << 10 | 1);
    pair_put64(p, root + 0x1000 + (TL_RAM_BASE_PADDR >> 21 & 511) * 8, (root + 0x2000) >> 12 << 10 | 1);
    for (uint32_t i = 0; i < TL_COUNT_OF(pages); i++)
        pair_put64(p, root + 0x2000 + (pages[i].at >> 12) * 8, (TL_RAM_BASE_PADDR + pages[i].at) >> 12 << 10 | pages[i].flags);
}

// gp has the program's data, tp the kernel's, x5 another line of the former, x6 another word, x7 a
// misaligned one.
static const uint32_t common[] = {
    0x00150513, // addi a0, a0, 1
    0x00a58633, // add a2, a1, a0
    0x0040006f, // j .+4
    0x00a12023, // sw a0, 0(sp): the page of both
    0x023170d3, // fadd.d ft1, ft2, ft3, rounding by frm
    0x02a58633, // mul a2, a1, a0
};
static const uint32_t of_program[] = {
    ECALL,
    0x0001b583, // ld a1, 0(gp)
    0x00a1b423, // sd a0, 8(gp)
    0x1001b62f, // lr.d a2, (gp)
    0x18a1b6af, // sc.d a3, a0, (gp)
    0x1001a62f, // lr.w a2, (gp)
    0x18a1a6af, // sc.w a3, a0, (gp)
    0x18a2b6af, // sc.d a3, a0, (x5)
    0x18a336af, // sc.d a3, a0, (x6)
    0x1003b62f, // lr.d a2, (x7)
    0x18a3b6af, // sc.d a3, a0, (x7)
    0x1003a62f, // lr.w a2, (x7)
    0x18a3a6af, // sc.w a3, a0, (x7)
    0x00a1b5af, // amoadd.d a1, a0, (gp)
    0x00023703, // ld a4, 0(tp)
    0x00a23023, // sd a0, 0(tp)
    0x18a236af, // sc.d a3, a0, (tp)
    0x00000000, // no instruction
    0x00100073, // ebreak
    SRET,       MRET,
};
static const uint32_t of_supervisor[] = {
    0x14202f73, // csrr x30, scause
    0x14302f73, // csrr x30, stval
    0x10002f73, // csrr x30, sstatus
    0x10016073, // csrsi sstatus, SIE
    0x10017073, // csrci sstatus, SIE
    0x10092073, // csrs sstatus, x18
    0x10093073, // csrc sstatus, x18
    0x00a23023, // sd a0, 0(tp)
    0x1002362f, // lr.d a2, (tp)
    0x18a236af, // sc.d a3, a0, (tp)
    0x0001b583, // ld a1, 0(gp)
    ECALL,
};
static const uint32_t of_machine[] = {
    0x34202ff3, // csrr x31, mcause
    0x00a23023, // sd a0, 0(tp)
    0x1001b62f, // lr.d a2, (gp)
    0x18a1b6af, // sc.d a3, a0, (gp): untranslated
    0x18a236af, // sc.d a3, a0, (tp): untranslated, often of a line that was stored to
};

static uint32_t jump_back(uint32_t n_words) {
    const uint32_t by = (uint32_t)-4 * n_words;
    return 0x6f | (by >> 20 & 1) << 31 | (by >> 1 & 0x3ff) << 21 | (by >> 11 & 1) << 20 | (by >> 12 & 0xff) << 12;
}

// Random pieces, then the words that end them, then jumps back to the beginning.
static void put_code(const pair *p, rng *r, uint64_t at, uint32_t n_pieces, const uint32_t *own, uint32_t n_own, const uint32_t *end,
                     uint32_t n_end) {
    uint32_t words[N_PIECES + N_TAIL], n = 0;
    while (n < n_pieces) {
        if (own == of_program && n + 4 <= n_pieces && below(r, 5) == 0) { // the second store fails
            const uint32_t width = below(r, 2) << 12;
            words[n++] = 0x1001a62f | width; // lr.w or lr.d a2, (gp)
            words[n++] = 0x18a1a6af | width; // sc.w or sc.d a3, a0, (gp)
            words[n++] = 0x00d50533;         // add a0, a0, a3
            words[n++] = 0x18a1a6af | width;
        } else {
            words[n++] = own[0] == ECALL && below(r, 8) == 0 ? ECALL
                         : below(r, 3)                       ? own[below(r, n_own)]
                                                             : common[below(r, TL_COUNT_OF(common))];
        }
    }
    for (uint32_t i = 0; i < n_end; i++)
        words[n++] = end[i];
    for (; n < n_pieces + N_TAIL; n++)
        words[n] = jump_back(n);
    pair_put(p, TL_RAM_BASE_PADDR + at, words, n * sizeof words[0]);
}

static void put_all_code(const pair *p, rng *r) {
    // csrr x30, sepc; addi x30, x30, 4; csrw sepc, x30; and the same of machine mode with x31
    static const uint32_t from_supervisor[] = {0x14102f73, 0x004f0f13, 0x141f1073, SRET};
    // from_load has ld a1, 0(tp) besides, whose result is in flight at the return.
    static const uint32_t from_load[] = {0x14102f73, 0x004f0f13, 0x141f1073, 0x00023583, SRET};
    const bool has_load = below(r, 2) == 0;
    static const uint32_t from_machine[] = {0x34102ff3, 0x004f8f93, 0x341f9073, MRET};
    static const uint32_t by_sret[] = {0x34102ff3, 0x004f8f93, 0x141f9073, SRET};
    const bool has_sret = below(r, 4) == 0;
    put_code(p, r, PROGRAM_AT, 1 + below(r, N_PIECES), of_program, TL_COUNT_OF(of_program), NULL, 0);
    put_code(p, r, SUPERVISOR_AT, below(r, 20), of_supervisor, TL_COUNT_OF(of_supervisor), has_load ? from_load : from_supervisor,
             has_load ? TL_COUNT_OF(from_load) : TL_COUNT_OF(from_supervisor));
    put_code(p, r, MACHINE_AT, below(r, 6), of_machine, TL_COUNT_OF(of_machine), has_sret ? by_sret : from_machine,
             has_sret ? TL_COUNT_OF(by_sret) : TL_COUNT_OF(from_machine));
}

// Counters count, some of them in few modes only. They wait for an overflow, or nobody does.
static void change_counters(tl_hart *h, rng *r) {
    // The last four count traps: all of them, those of ECALL, their cycles and their flushes.
    static const uint64_t events[] = {1, 2, 3, 5, 6, 0x10000, 0x10001, 0x10019, 0x100031, 0x100033, 0x10004d, 0x100051};
    const uint64_t is_off = below(r, 3) ? UINT64_C(1) << 63 : 0;
    for (uint32_t i = 3; i < 7; i++) {
        const uint64_t filter = below(r, 3) == 0 ? (next(r) & 7) << 60 : 0;
        set_csr(h, 0x320 + i, events[below(r, TL_COUNT_OF(events))] | filter | is_off);
        set_csr(h, 0xb00 + i, UINT64_MAX - below(r, below(r, 2) ? 3000 : 20));
    }
}

// Changes of the mode that somebody is told of: where the hart stood, in one number.
static void note(void *ctx, const tl_hart *h, tl_notice notice) {
    uint64_t *notes = ctx;
    *notes = (*notes ^ (h->now << 8 | h->instret << 4 | (uint64_t)notice << 2 | h->priv)) * UINT64_C(0x9e3779b97f4a7c15);
}

// Other rights and delegations, and other interrupts that wait. Goes on at the program.
static void change(tl_hart *h, rng *r) {
    const uint64_t delegated = below(r, 3) ? UINT64_MAX : next(r);
    set_csr(h, 0x302, delegated & ~(UINT64_C(1) << TL_CAUSE_ECALL_S));
    set_csr(h, 0x303, next(r));
    set_csr(
        h, 0x300,
        (next(r) & (TL_MSTATUS_SIE | TL_MSTATUS_MIE | TL_MSTATUS_SPIE | TL_MSTATUS_SPP | TL_MSTATUS_FS | TL_MSTATUS_SUM | TL_MSTATUS_MXR)) |
            (below(r, 8) == 0 ? TL_MSTATUS_TSR : 0) | (below(r, 8) == 0 ? TL_MSTATUS_MPRV : 0));
    set_csr(h, 0x305, TL_RAM_BASE_PADDR + MACHINE_AT);
    set_csr(h, 0x105, TL_RAM_BASE_PADDR + SUPERVISOR_AT + below(r, 2));
    h->irqs_enabled = below(r, 3) == 0 ? UINT64_C(1) << TL_IRQ_SSI | UINT64_C(1) << TL_IRQ_SEI : 0;
    h->irqs_enabled |= (uint64_t)(below(r, 2) == 0) << TL_IRQ_LCOFI;
    h->irqs_pending = below(r, 2) ? UINT64_C(1) << TL_IRQ_SSI : 0;
    h->irq_lines = below(r, 2) ? UINT64_C(1) << TL_IRQ_SEI : 0;
    change_counters(h, r);
    h->notice = below(r, 4) == 0 ? note : NULL;
    tl_hart_idle_until(h, h->now + below(r, 2) * below(r, 100));
    tl_rv(h)->x[2] = TL_RAM_BASE_PADDR + PROGRAM_DATA_AT + 512;
    tl_rv(h)->x[3] = TL_RAM_BASE_PADDR + PROGRAM_DATA_AT;
    tl_rv(h)->x[4] = TL_RAM_BASE_PADDR + KERNEL_DATA_AT;
    tl_rv(h)->x[5] = tl_rv(h)->x[3] + 64;
    tl_rv(h)->x[6] = tl_rv(h)->x[3] + 16;
    tl_rv(h)->x[7] = tl_rv(h)->x[3] + 4;
    tl_rv(h)->x[10] = next(r); // what is stored: all bits of words and double words
    tl_rv(h)->x[18] = below(r, 4) == 0 ? next(r) : TL_MSTATUS_SPIE | TL_MSTATUS_SUM;
    tl_hart_set_priv(h, TL_PRIV_U);
    h->pc = TL_RAM_BASE_PADDR + PROGRAM_AT;
    h->run_vline = TL_NO_LINE;
    h->pend = NULL;
}

static void begin(tl_hart *h) {
    tl_privileged_reset(h);
    set_csr(h, 0x3b0, UINT64_MAX);
    set_csr(h, 0x3a0, 0x1f);
    set_csr(h, 0x180, UINT64_C(8) << 60 | (TL_RAM_BASE_PADDR + TABLES_AT) >> 12);
}

// As the board runs a hart, up to an instruction or to the end of a fetch run in or behind a cycle.
// Returns how many traps the front-end left to the test.
static uint64_t run_until(tl_hart *h, uint64_t instret, uint64_t horizon) {
    for (uint64_t n_traps = 0;;) {
        tl_irq irq;
        if (take_due_interrupt(h, &irq))
            continue;
        h->is_interrupted = false;
        h->horizon = horizon;
        h->insn_limit = instret;
        tl_hart_limit_to_deadline(h, &h->insn_limit);
        const tl_stop stop = h->engine->run(h);
        n_traps += stop == TL_STOP_TRAP;
        if (stop == TL_STOP_TRAP)
            h->isa->take_exception(h);
        (void)tl_hart_poll(h);
        if (stop != TL_STOP_TRAP && (h->instret >= instret || (h->run_vline == TL_NO_LINE && h->now >= horizon)))
            return n_traps;
    }
}

// The pages of the DTLB were used in the same order.
static void compare_uses(const pair *p) {
    tl_hart *a = p->fast->harts[0], *b = p->slow->harts[0];
    const uint32_t first = tl_mem_of(a)->dtlb.first_stamp, end = first + tl_mem_of(a)->dtlb.tlb.entries;
    for (uint32_t i = first; i < end; i++)
        for (uint32_t k = first; k < i; k++)
            if ((a->stamps[i] < a->stamps[k]) != (b->stamps[i] < b->stamps[k]))
                fail_msg("%s: uses of pages differ", p->where);
}

static void compare(const pair *p) {
    pair_same(p, false);
    compare_uses(p);
    for (uint32_t csr = 0xb03; csr < 0xb07; csr++)
        if (tl_csr_value(p->fast->harts[0], csr) != tl_csr_value(p->slow->harts[0], csr))
            fail_msg("%s: counter %x differs", p->where, csr);
}

// A PMU that counts nothing, behind the one of the machine.
static void ignore(void *ctx, tl_hart *h) { (void)ctx, (void)h; }
static const tl_pmu_port quiet_port = {.retired = ignore, .is_quiet = true};

// Returns how many traps the fast front-end took itself. In some runs it must leave all of them.
static uint64_t run_seed(const fast_engine *engine, uint64_t seed) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    if (seed % 4 == 0)
        config_small(&config);
    pair p = pair_new(&config, engine);
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_hart *a = p.fast->harts[0], *b = p.slow->harts[0];
    assert_true(a->n_pmus > 0);
    if (seed % 2 == 0 && !(tl_hart_hang_pmu(a, &quiet_port, false) && tl_hart_hang_pmu(b, &quiet_port, false)))
        fail_msg("no room for a PMU");
    put_tables(&p);
    put_all_code(&p, &r);
    begin(a);
    begin(b);
    a->takes_traps = seed % 8 != 0;
    uint64_t n_left = 0, notes[2] = {0};
    a->notice_ctx = &notes[0];
    b->notice_ctx = &notes[1];
    for (uint32_t i = 0; i < N_STOPS; i++) {
        snprintf(p.where, sizeof p.where, "%s, seed %" PRIu64 ", stop %u", engine->name, seed, i);
        if (i % 8 == 0) {
            rng again = r;
            change(a, &r);
            change(b, &again);
        }
        const uint64_t instret = a->instret + 1 + below(&r, below(&r, 2) ? 20 : 1000), horizon = a->now + 1 + below(&r, 3000);
        n_left += run_until(a, instret, horizon);
        (void)run_until(b, instret, horizon);
        compare(&p);
        if (notes[0] != notes[1])
            fail_msg("%s: notices differ", p.where);
    }
    const uint64_t n_taken = a->tally[TL_S_HART_EXCEPTION] - n_left;
    if (!a->takes_traps && n_taken != 0)
        fail_msg("%s: a trap was not left to the test", p.where);
    pair_free(&p);
    return n_taken;
}

static void test_traps_that_front_ends_take_agree(void **state) {
    (void)state;
    for (uint32_t i = 0; i < TL_COUNT_OF(fast_engines); i++) {
        uint64_t n_taken = 0;
        const uint32_t n_seeds = lockstep_rounds(60);
        for (uint32_t seed = 1; seed <= n_seeds; seed++)
            n_taken += run_seed(&fast_engines[i], seed);
        print_message("%s takes %" PRIu64 " traps\n", fast_engines[i].name, n_taken);
        assert_true(n_taken > n_seeds * 500);
    }
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_traps_that_front_ends_take_agree)};
TL_TEST_MAIN(tests)
