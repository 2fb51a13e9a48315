// SPDX-License-Identifier: MIT
// Every cause stops a hart at every instruction of a stretch of code. Causes are limits,
// breakpoints, faults of every kind, illegal instructions, the end of a time slice, interrupts and
// counters that overflow. The fast front-ends are warm, because they have run the stretch before.
// They must stop where the stepping one stops, with equal registers, clock and tallies. From there
// they must go on to the same end. Code runs as a user program under the modeled kernel and in the
// three privilege modes, with page tables where there are any.
#include <assert.h>

#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "lockstep.h"
#include "straight_code.h"

typedef enum world { MODELED, USER, SUPERVISOR, MACHINE, N_WORLDS } world;
static const char *const world_names[] = {"modeled kernel", "user mode", "supervisor mode", "machine mode"};

enum {
    CODE_PAGES = 2,
    DATA_OFFSET = 1 << 20,
    HOLE_OFFSET = 3 << 20, // forbidden by memory protection
    TABLES_OFFSET = 2 << 20,
    FIRST_DATA_PAGE = 16, // of the region at REGION; up to the first that is not mapped
    UNMAPPED_PAGE = 48,
    OUTSIDE_PAGE, // mapped to where nothing is
    READ_ONLY_PAGE,
    OLD_PAGE,       // neither accessed nor dirty
    FORBIDDEN_PAGE, // to HOLE_OFFSET
    FOREIGN_PAGE,   // of the supervisor, or for it of users
    EXECUTE_PAGE,   // only
    MAX_TRACE = 512,
};
static const uint64_t REGION = UINT64_C(0x40000000), CODE_PADDR = TL_RAM_BASE_PADDR + 0x10000;

typedef struct bench {
    pair p;
    world world;
    uint32_t code_at; // offset of the stretch in the first code page
    straight_code code;
    uint64_t x[32], f[32];
    uint8_t frm;
    uint64_t trace[MAX_TRACE]; // where the hart stood before each instruction of an undisturbed run
    uint32_t n_trace;
    uint64_t cycles; // of an undisturbed run, the last time
} bench;

static uint64_t code_start(const bench *b) { return (b->world == MACHINE ? CODE_PADDR : REGION) + b->code_at; }

static uint64_t page(const bench *b, uint32_t number) {
    if (b->world != MACHINE)
        return REGION + (uint64_t)number * 4096;
    if (number < UNMAPPED_PAGE)
        return TL_RAM_BASE_PADDR + DATA_OFFSET + (uint64_t)(number - FIRST_DATA_PAGE) * 4096;
    // Nothing is mapped there.
    return number == FORBIDDEN_PAGE ? TL_RAM_BASE_PADDR + HOLE_OFFSET : UINT64_C(0x70000000);
}

static void set_csr(tl_hart *h, uint32_t csr, uint64_t value) { // as firmware would, from outside
    tl_priv priv = h->priv;
    h->priv = TL_PRIV_M;
    if (!tl_csr_write(h, csr, value))
        fail_msg("csr %x cannot be written", csr);
    h->priv = priv;
    if (h->has_after)
        tl_hart_retired(h);
}

static void map_page(const bench *b, uint32_t number, uint64_t paddr, uint64_t flags) {
    pair_put64(&b->p, TL_RAM_BASE_PADDR + TABLES_OFFSET + 0x2000 + number * 8, paddr >> 12 << 10 | flags);
}

static void build_tables(const bench *b) { // Sv39
    // The bits are V, R, W, A, D.
    const uint64_t root = TL_RAM_BASE_PADDR + TABLES_OFFSET, user = b->world == SUPERVISOR ? 0 : 0x10, all = 0xc7 | user;
    pair_put64(&b->p, root + (REGION >> 30) * 8, (root + 0x1000) >> 12 << 10 | 1);
    pair_put64(&b->p, root + 0x1000, (root + 0x2000) >> 12 << 10 | 1);
    for (uint32_t k = 0; k < CODE_PAGES; k++)
        map_page(b, k, CODE_PADDR + k * 4096, 0x4b | user);
    for (uint32_t k = FIRST_DATA_PAGE; k < UNMAPPED_PAGE; k++)
        map_page(b, k, TL_RAM_BASE_PADDR + DATA_OFFSET + (k - FIRST_DATA_PAGE) * 4096, all);
    uint64_t other = TL_RAM_BASE_PADDR + DATA_OFFSET + (1 << 18);
    map_page(b, OUTSIDE_PAGE, 0x70000000, all);
    map_page(b, READ_ONLY_PAGE, other, 0x43 | user);
    map_page(b, OLD_PAGE, other + 4096, 0x07 | user);
    map_page(b, FORBIDDEN_PAGE, TL_RAM_BASE_PADDR + HOLE_OFFSET, all);
    map_page(b, FOREIGN_PAGE, other + 8192, all ^ 0x10);
    map_page(b, EXECUTE_PAGE, other + 12288, 0x49 | user);
}

static void set_up_hart(const bench *b, tl_machine *machine) {
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_U, TL_PRIV_S, TL_PRIV_M};
    tl_hart *h = machine->harts[0];
    uint64_t satp = UINT64_C(8) << 60 | (TL_RAM_BASE_PADDR + TABLES_OFFSET) >> 12;
    if (b->world == MODELED) {
        tl_memory_switch_context(h, satp);
        return;
    }
    tl_privileged_reset(h);
    set_csr(h, 0x305, TL_RAM_BASE_PADDR + 0x8000);
    set_csr(h, 0x306, 0xffffffff);
    set_csr(h, 0x106, 0xffffffff);
    set_csr(h, 0x300, TL_MSTATUS_FS | (b->world == MACHINE ? TL_MSTATUS_MIE : 0));
    set_csr(h, 0x304, UINT64_C(1) << TL_IRQ_MTI | UINT64_C(1) << TL_IRQ_LCOFI);
    set_csr(h, 0x3b0, (TL_RAM_BASE_PADDR + HOLE_OFFSET) >> 2 | 0x1ff);
    set_csr(h, 0x3b1, UINT64_MAX);
    set_csr(h, 0x3a0, 0x1f98); // locked, so that it binds machine mode, too
    if (b->world != MACHINE)
        set_csr(h, 0x180, satp);
    tl_hart_set_priv(h, privs[b->world]);
}

// ---- one run after another ----

static void reset_hart(const bench *b, tl_hart *h) {
    memcpy(tl_rv(h)->x, b->x, sizeof b->x);
    memcpy(tl_rv(h)->f, b->f, sizeof b->f);
    tl_rv(h)->frm = b->frm;
    h->pc = code_start(b);
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->skip_break = false;
    h->horizon = h->insn_limit = UINT64_MAX;
}

static void reset(const bench *b) {
    reset_hart(b, b->p.fast->harts[0]);
    reset_hart(b, b->p.slow->harts[0]);
}

// Both run until instruction and cycle from here; UINT64_MAX: for ever.
static tl_stop go(const bench *b, uint64_t n_insns, uint64_t n_cycles) {
    tl_hart *fast = b->p.fast->harts[0], *slow = b->p.slow->harts[0];
    fast->insn_limit = slow->insn_limit = n_insns == UINT64_MAX ? UINT64_MAX : slow->instret + n_insns;
    fast->horizon = slow->horizon = n_cycles == UINT64_MAX ? UINT64_MAX : slow->now + n_cycles;
    tl_stop stop = slow->engine->run(slow), fast_stop = fast->engine->run(fast);
    if (fast_stop != stop)
        fail_msg("%s: %s stopped for %d at %" PRIx64 ", step for %d at %" PRIx64, b->p.where, fast->engine->name, fast_stop, fast->pc, stop,
                 slow->pc);
    if (stop == TL_STOP_TRAP) {
        assert_int_equal(fast->trap_cause, slow->trap_cause);
        assert_int_equal(fast->trap_value, slow->trap_value);
    }
    pair_same(&b->p, true);
    return stop;
}

static bool is_at_end(const bench *b) {
    const tl_hart *h = b->p.slow->harts[0];
    return h->pc == code_start(b) + b->code.n_bytes - 4 &&
           (h->trap_cause == TL_CAUSE_ECALL_U || h->trap_cause == TL_CAUSE_ECALL_S || h->trap_cause == TL_CAUSE_ECALL_M);
}

static void go_to_end(const bench *b) {
    if (go(b, UINT64_MAX, UINT64_MAX) != TL_STOP_TRAP || !is_at_end(b))
        fail_msg("%s: ended at %" PRIx64 ", cause %" PRIu64, b->p.where, b->p.slow->harts[0]->pc, b->p.slow->harts[0]->trap_cause);
}

static void set_x(bench *b, uint32_t reg, uint64_t value) {
    tl_rv(b->p.fast->harts[0])->x[reg] = tl_rv(b->p.slow->harts[0])->x[reg] = value;
}

// Places the stretch at `offset` of the code page.
static void place(bench *b, uint32_t start, uint32_t offset) {
    (void)start;
    b->code_at = offset;
    pair_put(&b->p, CODE_PADDR + offset, b->code.bytes, b->code.n_bytes);
    pair_code_changed(&b->p, CODE_PADDR);
    pair_code_changed(&b->p, CODE_PADDR + 4096);
}

// Registers with which every access hits or misses, none faults.
static void choose_registers(bench *b, rng *r) {
    for (int i = 0; i < 32; i++) {
        b->x[i] = next(r) >> below(r, 64);
        b->f[i] = below(r, 2)   ? next(r)
                  : below(r, 2) ? UINT64_C(0xffffffff00000000) | next(r) >> 32
                                : UINT64_C(0x3ff0000000000000) + below(r, 99);
    }
    b->x[0] = 0;
    b->x[ROUNDS_REG] = 1 + below(r, 3);
    b->frm = (uint8_t)(below(r, 3) == 0 ? below(r, 5) : 0);
    for (uint32_t i = 0; i < b->code.n_insns; i++) {
        const straight_insn *insn = &b->code.insns[i];
        if (insn->size_bytes == 0)
            continue;
        uint64_t target =
            page(b, FIRST_DATA_PAGE + 1 + below(r, 8)) + (uint64_t)below(r, 64) * 64 + below(r, 64 / insn->size_bytes) * insn->size_bytes;
        b->x[insn->decoded.rs1] = target - (uint64_t)(int64_t)insn->decoded.imm * (tl_insn_rows[insn->decoded.opc].cls != TL_CLASS_AMO);
    }
}

static void bench_new(bench *b, const tl_config *config, const fast_engine *engine, world w, rng *r) {
    *b = (bench){.p = pair_new(config, engine), .world = w};
    for (uint32_t i = 0; i < 1 << 18; i += 8)
        pair_put64(&b->p, TL_RAM_BASE_PADDR + DATA_OFFSET + i, next(r));
    build_tables(b);
    set_up_hart(b, b->p.fast);
    set_up_hart(b, b->p.slow);
}

// A new stretch, run often enough to be translated and linked; its trace.
static void new_stretch(bench *b, rng *r) {
    for (;;) {
        straight_fill(r, &b->code, 10 + below(r, 40));
        place(b, 0, below(r, 8) == 0 ? 4096 - 2 * (1 + below(r, 40)) : 2 * below(r, 1024));
        choose_registers(b, r);
        b->n_trace = 0;
        reset(b);
        tl_stop stop = TL_STOP_LIMIT;
        for (uint64_t now = b->p.slow->harts[0]->now; stop == TL_STOP_LIMIT && b->n_trace < MAX_TRACE;) {
            b->trace[b->n_trace++] = b->p.slow->harts[0]->pc;
            stop = go(b, 1, UINT64_MAX);
            b->cycles = b->p.slow->harts[0]->now - now;
        }
        if (stop == TL_STOP_TRAP && is_at_end(b)) // not a rounding mode that does not exist, say
            break;
    }
    b->n_trace--; // the ECALL
    for (int i = 0; i < 3; i++) {
        reset(b);
        go_to_end(b);
    }
}

// ---- what is tried ----

static void limits_at_every_place(bench *b) {
    for (uint32_t k = 0; k <= b->n_trace; k++) {
        snprintf(b->p.where, sizeof b->p.where, "%s, limit of %u instructions", world_names[b->world], k);
        reset(b);
        // A program that reads the clock may take another branch this time.
        if (go(b, k, UINT64_MAX) == TL_STOP_LIMIT)
            go_to_end(b);
    }
}

static void slices_end_at_every_cycle(bench *b, rng *r) {
    uint32_t step = 1 + below(r, 3);
    for (uint64_t cycles = 0; cycles <= b->cycles; cycles += step) {
        snprintf(b->p.where, sizeof b->p.where, "%s, slice of %" PRIu64 " cycles", world_names[b->world], cycles);
        reset(b);
        if (go(b, UINT64_MAX, cycles) == TL_STOP_HORIZON)
            go_to_end(b);
    }
}

static void breakpoints_at_every_place(bench *b) {
    tl_hart *fast = b->p.fast->harts[0], *slow = b->p.slow->harts[0];
    for (uint32_t i = 0; i < b->code.n_insns; i++) {
        uint64_t pc = code_start(b) + b->code.insns[i].offset;
        snprintf(b->p.where, sizeof b->p.where, "%s, breakpoint at instruction %u", world_names[b->world], i);
        fast->break_pc[0] = slow->break_pc[0] = pc;
        reset(b);
        tl_stop stop;
        while ((stop = go(b, UINT64_MAX, UINT64_MAX)) == TL_STOP_BREAK) {
            assert_int_equal(slow->pc, pc);
            fast->skip_break = slow->skip_break = true;
        }
        assert_int_equal(stop, TL_STOP_TRAP);
        fast->break_pc[0] = slow->break_pc[0] = TL_NO_LINE;
    }
}

static void illegal_instructions_at_every_place(bench *b) {
    for (uint32_t i = 0; i < b->code.n_insns; i++) {
        const straight_insn *insn = &b->code.insns[i];
        uint64_t paddr = CODE_PADDR + b->code_at + insn->offset;
        snprintf(b->p.where, sizeof b->p.where, "%s, illegal instruction %u", world_names[b->world], i);
        static const uint8_t zeros[4] = {0};
        pair_put(&b->p, paddr, zeros, insn->decoded.len);
        pair_code_changed(&b->p, paddr);
        pair_code_changed(&b->p, paddr + insn->decoded.len - 1);
        reset(b);
        assert_int_equal(go(b, UINT64_MAX, UINT64_MAX), TL_STOP_TRAP);
        bool is_reached = b->p.slow->harts[0]->pc == code_start(b) + insn->offset;
        assert_true(!is_reached || b->p.slow->harts[0]->trap_cause == TL_CAUSE_ILLEGAL);
        pair_put(&b->p, paddr, b->code.bytes + insn->offset, insn->decoded.len);
        pair_code_changed(&b->p, paddr);
        pair_code_changed(&b->p, paddr + insn->decoded.len - 1);
        if (is_reached)
            go_to_end(b); // the handler has repaired it
    }
}

// Each access in turn is sent where it traps, or only takes the long way. Then it is repaired and
// the run goes on.
static uint32_t faults_at_every_access(bench *b) {
    const struct {
        const char *what;
        uint64_t target;
        bool always_traps;
    } bad[] = {
        {"a page that is not mapped", page(b, UNMAPPED_PAGE) + 64, true},
        {"nothing", page(b, OUTSIDE_PAGE) + 128, true},
        {"a page to read", page(b, READ_ONLY_PAGE) + 192, b->world == MACHINE},
        {"a page not used before", page(b, OLD_PAGE) + 256, b->world == MACHINE},
        {"a forbidden page", page(b, FORBIDDEN_PAGE) + 320, b->world != MODELED},
        {"somebody else's page", page(b, FOREIGN_PAGE) + 320, true},
        {"a page to execute", page(b, EXECUTE_PAGE) + 320, true},
        {"the last byte that is mapped", page(b, UNMAPPED_PAGE - 1) + 4095, false},
        {"two pages", page(b, FIRST_DATA_PAGE + 3) + 4095, false},
        {"two lines", page(b, FIRST_DATA_PAGE + 3) + 63, false},
        {"an odd address", page(b, FIRST_DATA_PAGE + 3) + 1, false},
        {"no address", UINT64_C(0x123456789abcdef8), true},
        {"a line never seen", 0, false},
    };
    uint32_t n_traps = 0;
    for (uint32_t i = 0; i < b->code.n_insns; i++) {
        const straight_insn *insn = &b->code.insns[i];
        if (insn->size_bytes == 0)
            continue;
        uint32_t reg = insn->decoded.rs1;
        int64_t imm = insn->decoded.opc == TL_OPC_ILLEGAL || tl_insn_rows[insn->decoded.opc].cls >= TL_CLASS_AMO ? 0 : insn->decoded.imm;
        for (uint32_t k = 0; k < TL_COUNT_OF(bad); k++) {
            uint64_t target = bad[k].target ? bad[k].target : page(b, FIRST_DATA_PAGE + 12) + (i & 15) * 256;
            snprintf(b->p.where, sizeof b->p.where, "%s, instruction %u reaches %s", world_names[b->world], i, bad[k].what);
            reset(b);
            set_x(b, reg, target - (uint64_t)imm);
            assert_int_equal(go(b, UINT64_MAX, UINT64_MAX), TL_STOP_TRAP);
            bool is_here = b->p.slow->harts[0]->pc == code_start(b) + insn->offset;
            n_traps += is_here;
            bool is_run = false;
            for (uint32_t t = 0; t < b->n_trace; t++)
                is_run |= b->trace[t] == code_start(b) + insn->offset;
            if (bad[k].always_traps && is_run && !is_here)
                fail_msg("%s: no trap", b->p.where);
            set_x(b, reg, b->x[reg]);
            if (is_here)
                go_to_end(b);
        }
    }
    return n_traps;
}

// ---- interrupts ----

// Returns as MRET would, with the cause of the interrupt gone.
static void return_from_handler(tl_hart *h, tl_priv priv) {
    set_csr(h, 0x344, 0);
    tl_hart_set_irq(h, TL_IRQ_MTI, false);
    tl_hart_set_priv(h, priv);
    set_csr(h, 0x300, TL_MSTATUS_FS | (priv == TL_PRIV_M ? TL_MSTATUS_MIE : 0));
    h->pc = tl_rv(h)->csr.mepc;
    h->is_interrupted = false;
}

static void timer_interrupts_at_every_cycle(bench *b, rng *r) {
    tl_hart *fast = b->p.fast->harts[0], *slow = b->p.slow->harts[0];
    tl_priv priv = slow->priv;
    uint32_t step = 1 + below(r, 4);
    for (uint64_t cycles = 0; cycles <= b->cycles; cycles += step) {
        snprintf(b->p.where, sizeof b->p.where, "%s, timer interrupt after %" PRIu64 " cycles", world_names[b->world], cycles);
        reset(b);
        if (go(b, UINT64_MAX, cycles) != TL_STOP_HORIZON)
            continue;
        tl_hart *const harts[] = {fast, slow};
        for (int i = 0; i < 2; i++) {
            tl_irq irq;
            tl_hart_set_irq(harts[i], TL_IRQ_MTI, true);
            assert_true(tl_next_interrupt(harts[i], &irq) && irq == TL_IRQ_MTI);
            tl_take_interrupt(harts[i], irq);
        }
        pair_same(&b->p, true);
        return_from_handler(fast, priv);
        return_from_handler(slow, priv);
        go_to_end(b);
    }
}

static uint32_t overflows_at_every_event(bench *b, rng *r) {
    // Selectors of pmu/rvhpm: instructions, cycles, branches; accesses and misses of caches and
    // TLBs.
    static const uint64_t events[] = {2, 1, 5, 6, 0x10000, 0x10001, 0x10002, 0x10003, 0x10009, 0x10019, 0x10021};
    tl_hart *fast = b->p.fast->harts[0], *slow = b->p.slow->harts[0];
    tl_priv priv = slow->priv;
    uint32_t n_interrupts = 0;
    for (uint32_t e = 0; e < TL_COUNT_OF(events); e++) {
        uint64_t most = e == 0 ? b->n_trace + 1 : e == 1 ? b->cycles : 12;
        for (uint64_t left = 1; left <= most; left += 1 + (e == 1 ? below(r, 4) : 0)) {
            snprintf(b->p.where, sizeof b->p.where, "%s, event %" PRIx64 " overflows after %" PRIu64, world_names[b->world], events[e],
                     left);
            reset(b);
            tl_hart *const harts[] = {fast, slow};
            bool is_taken[2];
            for (int i = 0; i < 2; i++) {
                set_csr(harts[i], 0x323, events[e]);
                set_csr(harts[i], 0xb03, -left);
                is_taken[i] = run_to_overflow(harts[i]);
            }
            if (is_taken[0] != is_taken[1])
                fail_msg("%s: %s has %s interrupt", b->p.where, fast->engine->name, is_taken[0] ? "an" : "no");
            pair_same(&b->p, false);
            n_interrupts += is_taken[0];
            for (int i = 0; i < 2; i++)
                set_csr(harts[i], 0x323, 0);
            if (!is_taken[0])
                continue;
            return_from_handler(fast, priv);
            return_from_handler(slow, priv);
            go_to_end(b);
        }
    }
    return n_interrupts;
}

// ---- worlds and machines ----

static void try_everything(const tl_config *config, world w, uint64_t seed, uint32_t n_stretches) {
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++) {
        rng r = {(seed + w * 1000) * UINT64_C(0x9e3779b97f4a7c15) + 1};
        bench *b = malloc(sizeof *b);
        assert_non_null(b);
        bench_new(b, config, &fast_engines[e], w, &r);
        uint32_t n_traps = 0, n_interrupts = 0;
        for (uint32_t i = 0; i < n_stretches; i++) {
            new_stretch(b, &r);
            limits_at_every_place(b);
            slices_end_at_every_cycle(b, &r);
            breakpoints_at_every_place(b);
            illegal_instructions_at_every_place(b);
            n_traps += faults_at_every_access(b);
            if (w != MODELED) {
                timer_interrupts_at_every_cycle(b, &r);
                n_interrupts += overflows_at_every_event(b, &r);
            }
        }
        assert_true(n_traps > 10 * n_stretches);
        assert_true(w == MODELED || n_interrupts > 10 * n_stretches);
        pair_free(&b->p);
        free(b);
    }
}

static void test_every_point_agrees_in(world w) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    try_everything(&config, w, 1, lockstep_rounds(4));
    config_small(&config);
    try_everything(&config, w, 2, lockstep_rounds(2));
    config.code_cache_bytes = TL_MIN_CODE_CACHE_BYTES;
    config.l1d.prefetch = config.l1i.prefetch = TL_PREFETCH_NEXT_LINE;
    config.bp.kind = TL_BP_BHT;
    try_everything(&config, w, 3, lockstep_rounds(2));
}

static void test_every_point_agrees_under_the_modeled_kernel(void **state) {
    (void)state;
    test_every_point_agrees_in(MODELED);
}

static void test_every_point_agrees_in_user_mode(void **state) {
    (void)state;
    test_every_point_agrees_in(USER);
}

static void test_every_point_agrees_in_supervisor_mode(void **state) {
    (void)state;
    test_every_point_agrees_in(SUPERVISOR);
}

static void test_every_point_agrees_in_machine_mode(void **state) {
    (void)state;
    test_every_point_agrees_in(MACHINE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_point_agrees_under_the_modeled_kernel),
    cmocka_unit_test(test_every_point_agrees_in_user_mode),
    cmocka_unit_test(test_every_point_agrees_in_supervisor_mode),
    cmocka_unit_test(test_every_point_agrees_in_machine_mode),
};
TL_TEST_MAIN(tests)
