// SPDX-License-Identifier: MIT
// Markers wherever they can stand. They are in the middle of a line, across two lines, across two
// pages whose frames lie apart, first and last in a block, one behind the other. One to four harts
// run the same code at the same time and contend for a line. Each engine must tell of the same
// markers in the same order, with the same clock and tallies. Their instructions, addresses and
// names are known beforehand, because nothing in the code depends on data.
#include "isa/rv/hart.h"
#include "lockstep.h"
#include "random_code.h"

enum {
    N_PAGES = 3,
    MAX_INSNS = N_PAGES * 2048,
    MAX_MARKERS = 2000, // in the code
    MAX_LOG = 200000,
    CODE_OFFSET = 1 << 20, // of RAM; the pages of the code lie CODE_STRIDE apart
    CODE_STRIDE = 3 << 12,
    SHARED_OFFSET = 2 << 20,
    TABLES_OFFSET = 4 << 20, // page tables
    N_ROUNDS = 20,
};
static const uint64_t CODE_VADDR = UINT64_C(0x40000000), SHARED_VADDR = UINT64_C(0x40100000);

typedef struct marker { // in the code
    tl_mark mark;
    uint32_t number, at, index; // offset, and how many instructions stand before it
    uint32_t sum;               // what a0 has become since the round began
} marker;

typedef struct event {
    uint32_t hart, number;
    tl_mark mark;
    uint64_t name_vaddr, pc, instret, now, digest; // digest: of all tallies
} event;

typedef struct event_log {
    tl_machine *machine;
    event *events;
    uint32_t n;
} event_log;

typedef struct march {
    pair p;
    rng r;
    uint32_t line_bytes;
    uint8_t code[N_PAGES * 4096];
    uint32_t at, n_insns, sum;
    marker markers[MAX_MARKERS];
    uint32_t n_markers, n_across_lines, n_across_pages;
    event_log fast, slow;
} march;

static void take_mark(void *ctx, const tl_hart *hart, tl_mark mark, uint32_t number, uint64_t name_vaddr) {
    event_log *log = ctx;
    assert_true(log->n < MAX_LOG);
    tl_machine_sync(log->machine);
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < log->machine->probe.n_cells; i++)
        digest = (digest ^ log->machine->tally[i]) * UINT64_C(0x100000001b3);
    log->events[log->n++] = (event){.hart = hart->id,
                                    .number = number,
                                    .mark = mark,
                                    .name_vaddr = mark == TL_MARK_NAME ? name_vaddr : 0,
                                    .pc = hart->pc,
                                    .instret = hart->instret,
                                    .now = hart->now,
                                    .digest = digest};
}

// ---- the code ----

static void put(march *t, uint32_t bits, uint32_t n_bytes) {
    memcpy(t->code + t->at, &bits, n_bytes);
    t->at += n_bytes;
    t->n_insns++;
}

static void put_half(march *t) {
    uint32_t imm = 1 + below(&t->r, 31);
    put(t, 0x0501 | imm << 2, 2); // c.addi a0, imm
    t->sum += imm;
}

static void put_marker(march *t) {
    assert_true(t->n_markers < MAX_MARKERS);
    marker *m = &t->markers[t->n_markers++];
    *m = (marker){(tl_mark)below(&t->r, 3), below(&t->r, TL_MAX_MARKERS), t->at, t->n_insns, t->sum};
    t->n_across_lines += t->at % t->line_bytes == t->line_bytes - 2;
    t->n_across_pages += t->at % 4096 == 4094;
    uint32_t rs1 = m->mark == TL_MARK_NAME ? 10 : 0;
    // The word is slti x0, with x0 or a0.
    put(t, (0x500 + (uint32_t)m->mark * TL_MAX_MARKERS + m->number) << 20 | rs1 << 15 | 2 << 12 | 0x13, 4);
}

// Instructions that are not markers but resemble them, accesses to the line that all share, and
// others.
static void put_other(march *t) {
    static const uint32_t words[] = {
        0x50002593, // slti a1, x0, 0x500
        0x50052013, // slti x0, a0, 0x500: no START, because its source is a0
        0x4ff02013, // slti x0, x0, 0x4ff
        0x5c002013, // slti x0, x0, 0x5c0
        0x00ba202f, // amoadd.w x0, a1, (s4)
        0x000a2603, // lw a2, 0(s4)
        0x00ba2223, // sw a1, 4(s4)
        0x02c58633, // mul a2, a1, a2
        0x00c585b3, // add a1, a1, a2
    };
    put(t, words[below(&t->r, TL_COUNT_OF(words))], 4);
}

static void build_code(march *t) {
    put_marker(t);
    while (t->at < N_PAGES * 4096 - 64) {
        uint32_t in_page = t->at % 4096, in_line = t->at % t->line_bytes;
        if (in_page == 4094 || (in_line == t->line_bytes - 2 && below(&t->r, 2)))
            put_marker(t);
        else if (in_page == 4092 || in_line == t->line_bytes - 4 || below(&t->r, 3) == 0)
            put_half(t);
        else if (below(&t->r, 8) == 0)
            put_marker(t);
        else
            put_other(t);
    }
    put(t, 0xffff8f93, 4); // addi x31, x31, -1
    put_marker(t);
    put(t, 0x000f8463, 4); // beqz x31, +8
    uint32_t i = 0u - t->at;
    // The word jumps to the start.
    put(t, 0x6f | (i >> 20 & 1) << 31 | (i >> 1 & 0x3ff) << 21 | (i >> 11 & 1) << 20 | (i >> 12 & 0xff) << 12, 4);
    memcpy(t->code + t->at, &(uint32_t){0x00100073}, 4); // ebreak
    assert_true(t->n_across_lines > 20 && t->n_across_pages == N_PAGES - 1);
}

// ---- the run ----

static void map(const march *t, uint64_t vaddr, uint64_t paddr) { // V R W X U A D
    pair_put64(&t->p, TL_RAM_BASE_PADDR + TABLES_OFFSET + 0x2000 + (vaddr >> 12 & 511) * 8, paddr >> 12 << 10 | 0xdf);
}

static void set_up(march *t) {
    const uint64_t root = TL_RAM_BASE_PADDR + TABLES_OFFSET;
    pair_put64(&t->p, root + (CODE_VADDR >> 30) * 8, (root + 0x1000) >> 12 << 10 | 1);
    pair_put64(&t->p, root + 0x1000, (root + 0x2000) >> 12 << 10 | 1);
    for (uint32_t k = 0; k < N_PAGES; k++) {
        // The next page lies before this one.
        uint64_t frame = TL_RAM_BASE_PADDR + CODE_OFFSET + (N_PAGES - k) * CODE_STRIDE;
        pair_put(&t->p, frame, t->code + k * 4096, 4096);
        map(t, CODE_VADDR + k * 4096, frame);
    }
    map(t, SHARED_VADDR, TL_RAM_BASE_PADDR + SHARED_OFFSET);
    event_log *logs[] = {&t->fast, &t->slow};
    for (uint32_t m = 0; m < 2; m++) {
        tl_machine *machine = m == 0 ? t->p.fast : t->p.slow;
        *logs[m] = (event_log){machine, calloc(MAX_LOG, sizeof(event)), 0};
        assert_non_null(logs[m]->events);
        for (uint32_t i = 0; i < machine->n_harts; i++) {
            tl_hart *h = machine->harts[i];
            tl_memory_switch_context(h, UINT64_C(8) << 60 | root >> 12);
            h->pc = CODE_VADDR;
            tl_rv(h)->x[20] = SHARED_VADDR;
            tl_rv(h)->x[31] = N_ROUNDS + i; // they end one after the other
            h->mark = take_mark;
            h->mark_ctx = logs[m];
        }
    }
}

static void compare_events(march *t) {
    if (t->fast.n != t->slow.n)
        fail_msg("%s: %u markers, %u by step", t->p.where, t->fast.n, t->slow.n);
    for (uint32_t i = 0; i < t->fast.n; i++) {
        const event *a = &t->fast.events[i], *b = &t->slow.events[i];
        if (memcmp(a, b, sizeof *a) != 0)
            fail_msg("%s: marker %u is hart %u, kind %d, number %u, pc %" PRIx64 ", instret %" PRIu64 ", now %" PRIu64 ", tallies %" PRIx64
                     "; by step hart %u, kind %d, number %u, pc %" PRIx64 ", instret %" PRIu64 ", now %" PRIu64 ", tallies %" PRIx64,
                     t->p.where, i, a->hart, a->mark, a->number, a->pc, a->instret, a->now, a->digest, b->hart, b->mark, b->number, b->pc,
                     b->instret, b->now, b->digest);
    }
}

// Each hart meets all markers of the code in each of its rounds, in their order.
static void check_events(const march *t, uint32_t hart) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->slow.n; i++) {
        const event *got = &t->slow.events[i];
        if (got->hart != hart)
            continue;
        const marker *m = &t->markers[n % t->n_markers];
        uint64_t round = n / t->n_markers;
        // The last jump of a round is not in it yet when the round's last marker comes; START has
        // retired.
        bool is_start = m->mark == TL_MARK_START;
        assert_int_equal(got->mark, m->mark);
        assert_int_equal(got->number, m->number);
        assert_int_equal(got->instret, round * t->n_insns + m->index + is_start);
        assert_int_equal(got->pc, CODE_VADDR + m->at + (is_start ? 4 : 0));
        assert_int_equal(got->name_vaddr, m->mark == TL_MARK_NAME ? round * t->sum + m->sum : 0);
        n++;
    }
    assert_int_equal(n, (N_ROUNDS + hart) * t->n_markers);
}

static void run_march(const fast_engine *engine, const tl_config *config, uint64_t seed) {
    march *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->p = pair_new(config, engine);
    t->r.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    t->line_bytes = config->l1i.line_bytes;
    snprintf(t->p.where, sizeof t->p.where, "%s, seed %" PRIu64, engine->name, seed);
    build_code(t);
    set_up(t);
    for (uint32_t going = (1u << config->n_harts) - 1; going != 0;) {
        tl_turn turn_a = tl_machine_next(t->p.fast, going), turn_b = tl_machine_next(t->p.slow, going);
        tl_hart *a = turn_a.hart, *b = turn_b.hart;
        uint64_t more = below(&t->r, 4) == 0 ? below(&t->r, 400) : UINT64_MAX / 2;
        a->insn_limit = a->instret + more;
        b->insn_limit = b->instret + more;
        tl_stop stop_b = tl_turn_run(&turn_b), stop_a = tl_turn_run(&turn_a);
        // A line may be looked up once more where a block begins with a marker.
        pair_same_hart(&t->p, a, b, false);
        assert_int_equal(stop_a, stop_b);
        if (stop_b != TL_STOP_TRAP)
            continue;
        assert_int_equal(b->trap_cause, TL_CAUSE_BREAKPOINT);
        going &= ~(1u << b->id);
    }
    compare_events(t);
    pair_same(&t->p, false);
    for (uint32_t i = 0; i < config->n_harts; i++)
        check_events(t, i);
    pair_free(&t->p);
    free(t->fast.events);
    free(t->slow.events);
    free(t);
}

static void march_every_engine(bool is_small, uint32_t n_harts) {
    tl_config config;
    tl_config_default(&config);
    if (is_small)
        config_small(&config);
    config.n_harts = n_harts;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            run_march(&fast_engines[e], &config, seed);
}

static void test_markers_stand_anywhere(void **state) {
    (void)state;
    march_every_engine(false, 1);
    march_every_engine(true, 1);
}

static void test_harts_meet_markers_at_once(void **state) {
    (void)state;
    march_every_engine(false, 4);
    march_every_engine(true, 2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_markers_stand_anywhere),
    cmocka_unit_test(test_harts_meet_markers_at_once),
};

TL_TEST_MAIN(tests)
