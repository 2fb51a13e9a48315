// SPDX-License-Identifier: MIT
// Code that stays neither in the instruction cache nor, with its pages, in the ITLB. It has small
// pieces, more of them than ways. A random table gives the order of visits, often straight after
// one another. Each single look-up therefore decides which way is replaced next. Some pieces begin
// with an instruction that straddles two lines. Some run on through several lines, some jump
// directly to others. Pages are mapped to other frames meanwhile, in which what straddled is short,
// and back.
#include "isa/rv/hart.h"
#include "lockstep.h"
#include "random_code.h"

enum {
    CODE_OFFSET = 1 << 20, // of RAM
    N_PAGES = 80,
    N_PIECES = 400,
    N_VISITS = 6000,
    TABLE_OFFSET = 2 << 20,
    TABLE_PAGES = (N_VISITS * 8 + 4095) / 4096,
    TABLES_OFFSET = 4 << 20, // page tables
    // Here the pieces of CODE_OFFSET stand again. A piece that began with a straddling instruction
    // begins with two short instructions.
    SHORT_OFFSET = 5 << 20,
};
static const uint64_t CODE_VADDR = UINT64_C(0x40000000), TABLE_VADDR = UINT64_C(0x40100000);

typedef struct maze {
    pair p;
    rng r;
    uint32_t line_bytes;
    uint8_t code[N_PAGES * 4096];
    uint64_t frames[N_PAGES];  // where each page is, of RAM
    uint32_t pieces[N_PIECES]; // where each begins
} maze;

static void put16(maze *t, uint32_t *at, uint32_t half) {
    t->code[(*at)++] = (uint8_t)half;
    t->code[(*at)++] = (uint8_t)(half >> 8);
}

static void put32(maze *t, uint32_t *at, uint32_t word) {
    put16(t, at, word & 0xffff);
    put16(t, at, word >> 16);
}

// Lines of few sets: in every page the same places. The last one may be the very end of the page.
static void build_piece(maze *t, uint32_t number) {
    uint32_t per_page = N_PIECES / N_PAGES, page = number / per_page;
    uint32_t at = page * 4096 + 128 + (number % per_page) * (4096 / per_page & ~127u);
    uint32_t kind = below(&t->r, 4), n = below(&t->r, 3 * t->line_bytes / 2 - 8);
    if (kind == 0)
        at = number % per_page == per_page - 1 && page < N_PAGES - 1 ? page * 4096 + 4094 : at + t->line_bytes - 2;
    t->pieces[number] = at;
    put32(t, &at, 0x00150513); // addi a0, a0, 1: straddles two lines, or begins one
    for (; kind == 1 && n > 0; n--)
        put16(t, &at, 0x0505); // c.addi a0, 1
    if (kind == 2 && number > 0) {
        uint32_t i = t->pieces[below(&t->r, number)] - at;
        // The word is jal x0.
        put32(t, &at, 0x6f | (i >> 20 & 1) << 31 | (i >> 1 & 0x3ff) << 21 | (i >> 11 & 1) << 20 | (i >> 12 & 0xff) << 12);
        return;
    }
    put16(t, &at, 0x6080); // c.ld s0, 0(s1)
    put16(t, &at, 0x04a1); // c.addi s1, 8
    put16(t, &at, 0x8402); // c.jr s0
}

static void map_page(const pair *p, uint64_t vaddr, uint64_t paddr) {
    uint64_t flags = 0xdf; // V R W X U A D
    pair_put64(p, TL_RAM_BASE_PADDR + TABLES_OFFSET + 0x2000 + (vaddr >> 12 & 511) * 8, paddr >> 12 << 10 | flags);
}

static void map_code(maze *t, uint32_t page, bool is_short) {
    t->frames[page] = (is_short ? SHORT_OFFSET : CODE_OFFSET) + page * 4096;
    map_page(&t->p, CODE_VADDR + page * 4096, TL_RAM_BASE_PADDR + t->frames[page]);
}

// Pages that left the ITLB long ago, as a rule: what was decoded of them was not looked at since.
static void map_others(maze *t) {
    tl_hart *a = t->p.fast->harts[0], *b = t->p.slow->harts[0];
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t page = below(&t->r, N_PAGES);
        map_code(t, page, t->frames[page] < SHORT_OFFSET);
        a->port->flush_translation(a, CODE_VADDR + page * 4096, false);
        b->port->flush_translation(b, CODE_VADDR + page * 4096, false);
    }
}

static void map_all(maze *t) {
    const pair *p = &t->p;
    const uint64_t root = TL_RAM_BASE_PADDR + TABLES_OFFSET;
    pair_put64(p, root + (CODE_VADDR >> 30) * 8, (root + 0x1000) >> 12 << 10 | 1);
    pair_put64(p, root + 0x1000 + (CODE_VADDR >> 21 & 511) * 8, (root + 0x2000) >> 12 << 10 | 1);
    for (uint32_t i = 0; i < N_PAGES; i++)
        map_code(t, i, below(&t->r, 2) == 0);
    for (uint32_t i = 0; i < TABLE_PAGES; i++)
        map_page(p, TABLE_VADDR + i * 4096, TL_RAM_BASE_PADDR + TABLE_OFFSET + i * 4096);
    tl_memory_switch_context(p->fast->harts[0], UINT64_C(8) << 60 | root >> 12);
    tl_memory_switch_context(p->slow->harts[0], UINT64_C(8) << 60 | root >> 12);
}

static void put_code(maze *t) {
    pair_put(&t->p, TL_RAM_BASE_PADDR + CODE_OFFSET, t->code, sizeof t->code);
    for (uint32_t i = 0; i < N_PIECES; i++) {
        uint32_t at = t->pieces[i];
        if (at % t->line_bytes == t->line_bytes - 2) {
            put16(t, &at, 0x0505); // c.addi a0, 1
            // The short half is c.addi x0, 9. Behind the long half of another frame it is addi a0,
            // a0, 2.
            put16(t, &at, 0x0025);
        }
    }
    pair_put(&t->p, TL_RAM_BASE_PADDR + SHORT_OFFSET, t->code, sizeof t->code);
}

static void run_maze(const fast_engine *engine, const tl_config *config, uint64_t seed, bool is_mapped_anew) {
    maze t = {.p = pair_new(config, engine), .r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1}, .line_bytes = config->l1i.line_bytes};
    snprintf(t.p.where, sizeof t.p.where, "%s, seed %" PRIu64, engine->name, seed);
    for (uint32_t i = 0; i < N_PIECES; i++)
        build_piece(&t, i);
    put_code(&t);
    for (uint32_t i = 0, near = 0; i < N_VISITS; i++) {
        uint32_t piece = below(&t.r, 3) ? (near + below(&t.r, 20)) % N_PIECES : below(&t.r, N_PIECES);
        if (below(&t.r, 40) == 0)
            near = below(&t.r, N_PIECES);
        pair_put64(&t.p, TL_RAM_BASE_PADDR + TABLE_OFFSET + i * 8, CODE_VADDR + t.pieces[piece]);
    }
    map_all(&t);
    tl_hart *a = t.p.fast->harts[0], *b = t.p.slow->harts[0];
    tl_rv(a)->x[9] = tl_rv(b)->x[9] = TABLE_VADDR;
    a->pc = b->pc = CODE_VADDR + t.pieces[0];
    tl_stop stop;
    do { // ends behind the table, where there is no code at address 0
        a->horizon = b->horizon = a->now + below(&t.r, 20000);
        a->insn_limit = b->insn_limit = UINT64_MAX;
        stop = a->engine->run(a);
        assert_int_equal(stop, b->engine->run(b));
        pair_same(&t.p, true);
        if (is_mapped_anew)
            map_others(&t);
    } while (stop == TL_STOP_HORIZON);
    assert_int_equal(stop, TL_STOP_TRAP);
    assert_int_equal(a->pc, 0);
    assert_true(a->tally[TL_S_L1I_MISS] > N_VISITS / 4 && a->tally[TL_S_ITLB_MISS] > N_VISITS / 8);
    pair_free(&t.p);
}

// With an even seed, pages are mapped anew at each stop.
static void run_all(const tl_config *config, uint64_t seed) {
    for (size_t i = 0; i < TL_COUNT_OF(fast_engines); i++)
        run_maze(&fast_engines[i], config, seed, seed % 2 == 0);
}

static void test_fetches_agree_with_caches_of_the_fixed_geometry(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    for (uint32_t seed = 1; seed <= lockstep_rounds(3); seed++)
        run_all(&config, seed);
    config.itlb.entries = config.itlb.ways = 8; // lines stay, but their pages leave
    for (uint32_t seed = 11; seed <= 10 + lockstep_rounds(2); seed++)
        run_all(&config, seed);
    config.l2.size_bytes = 64 << 10; // lines leave the L2 and take their copies along
    for (uint32_t seed = 21; seed <= 20 + lockstep_rounds(2); seed++)
        run_all(&config, seed);
}

static void test_fetches_agree_with_a_prefetcher(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1i.prefetch = TL_PREFETCH_NEXT_LINE;
    for (uint32_t seed = 31; seed <= 30 + lockstep_rounds(2); seed++)
        run_all(&config, seed);
}

static void test_fetches_agree_on_a_small_machine(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config_small(&config);
    config.ram_bytes = 16 << 20;
    for (uint32_t seed = 41; seed <= 40 + lockstep_rounds(2); seed++)
        run_all(&config, seed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_fetches_agree_with_caches_of_the_fixed_geometry),
    cmocka_unit_test(test_fetches_agree_with_a_prefetcher),
    cmocka_unit_test(test_fetches_agree_on_a_small_machine),
};
TL_TEST_MAIN(tests)
