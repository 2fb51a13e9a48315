// SPDX-License-Identifier: MIT
// The twin of the fixed geometry against the plain path, in lockstep. Two memory systems of one
// description get equal accesses, and the second must take the plain path. After each access both
// agree on its result, on all clocks and tallies. They agree on the contents of every cache, of the
// directory and of memory's rows. Now and then all slots and TLBs are compared.
#include "mem/fetch.h"
#include "mem/test_rig.h"

enum { N_STEPS = 60000, COMPARE_SLOTS_EVERY = 499, N_PAGES = 24 };
static const uint64_t DATA = UINT64_C(0x40000000), CODE = UINT64_C(0x50000000), FRAMES = UINT64_C(0x80200000);

typedef enum step_kind {
    LOAD,
    STORE,
    REACH_LOAD, // as translated code asks for a line that it uses several times
    REACH_STORE,
    MISALIGNED_LOAD,
    MISALIGNED_STORE,
    SWAP,
    RESERVE,
    CONDITIONAL,
    FETCH,
    FENCE,
    FLUSH,
    SWITCH,
    DEVICE_READ,
    DEVICE_WRITE,
    NEW_CODE,
    N_KINDS
} step_kind;

typedef struct step {
    step_kind kind;
    uint32_t hart;
    uint64_t cycles, address, bytes;
    bool is_ahead; // others may come before
} step;

typedef struct fixture {
    tl_rig fixed, plain;
    uint64_t satps[2];
    uint64_t reserved[TL_MAX_HARTS]; // the address of the last one that each hart reserved
    uint64_t random;
    uint64_t n_done[N_KINDS], n_refused, n_steps;
} fixture;

static uint32_t draw(fixture *f, uint32_t n) {
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return (uint32_t)((f->random >> 32) * n >> 32);
}

// Two address spaces with the same pages in another order; code and data share frames. Some pages
// are clean or were never used.
static void map_pages(fixture *f, tl_rig *rig) {
    for (uint32_t space = 0; space < 2; space++) {
        tl_rig_tables tables = tl_rig_tables_at(rig->ram, UINT64_C(0x80100000) + space * 0x10000);
        for (uint64_t page = 0; page < N_PAGES; page++) {
            uint64_t frame = FRAMES + (page * 5 + space) % N_PAGES * 4096;
            uint64_t unused = page % 4 == 1 ? TL_PTE_D : page % 4 == 2 ? TL_PTE_A | TL_PTE_D : 0;
            tl_rig_map(&tables, DATA + page * 4096, frame, 0, TL_RIG_RW & ~unused);
            tl_rig_map(&tables, CODE + page * 4096, frame, 0, TL_RIG_RX);
        }
        f->satps[space] = tl_rig_satp(&tables);
    }
}

static void start(fixture *f, const tl_config *config, uint64_t seed) {
    *f = (fixture){.random = seed};
    tl_rig_start(&f->fixed, config);
    tl_rig_start(&f->plain, config);
    map_pages(f, &f->fixed);
    map_pages(f, &f->plain);
    assert_true(f->fixed.memory->is_fixed && f->fixed.memory->is_fixed_fetch && f->fixed.memory->is_alone == (config->n_harts == 1));
    f->plain.memory->is_fixed = f->plain.memory->is_fixed_fetch = f->plain.memory->is_alone = false;
    for (uint32_t hart = 0; hart < config->n_harts; hart++)
        f->plain.harts[hart]->port = &tl_memory_port;
}

// The program is another one; now and then the pages are clean again, which entries of TLBs may
// contradict.
static void switch_space(fixture *f, tl_rig *rig, const step *s) {
    if (s->bytes % 4 == 0)
        map_pages(f, rig);
    tl_memory_switch_context(rig->harts[s->hart], s->bytes % 8 == 1 ? 0 : f->satps[s->bytes % 2]);
}

static bool do_one(fixture *f, tl_rig *rig, const step *s) {
    static const tl_agent device = {.kind = TL_AGENT_DEVICE};
    tl_hart *h = rig->harts[s->hart];
    uint64_t paddr = FRAMES + (s->address & (N_PAGES * 4096 - 1)), page = s->address & tl_page_mask(0);
    switch (s->kind) {
    case LOAD: return tl_rig_load(h, s->address, 8);
    case STORE: return tl_rig_store(h, s->address, 8, f->n_steps);
    case REACH_LOAD: return tl_read_hit(h, s->address, 8) || h->port->reach_load(h, s->address, 7);
    case REACH_STORE: return tl_write_hit(h, s->address, 8) || h->port->reach_store(h, s->address, 7);
    case MISALIGNED_LOAD: return tl_rig_load(h, s->address + 61, 8);
    case MISALIGNED_STORE: return tl_rig_store(h, s->address + 3, 8, f->n_steps);
    case SWAP: return h->port->amo(h, s->address, 8, TL_AMO_SWAP, f->n_steps);
    case RESERVE: return h->port->load_reserved(h, s->address, 8);
    case CONDITIONAL: return h->port->store_conditional(h, s->address, 8, f->n_steps);
    case FETCH: return tl_rig_fetch(h, s->address - DATA + CODE);
    case FENCE: h->port->drop_code(h); return true;
    case FLUSH: h->port->flush_translation(h, page, s->bytes % 4 == 0); return true;
    case SWITCH: switch_space(f, rig, s); return true;
    case DEVICE_READ: return tl_memory_dma(rig->memory, &device, paddr, s->bytes, false, h->now);
    case DEVICE_WRITE: return tl_memory_dma(rig->memory, &device, paddr, s->bytes, true, h->now);
    case NEW_CODE: tl_memory_code_changed(rig->memory, FRAMES + s->bytes % N_PAGES * 4096); return true;
    case N_KINDS: break;
    }
    return false;
}

#define SAME(a, b)                                                                                                 \
    if ((a) != (b))                                                                                                \
    fail_msg("step %llu: " #a " is %llu on the fixed path, %llu on the plain one", (unsigned long long)f->n_steps, \
             (unsigned long long)(a), (unsigned long long)(b))
#define SAME_BYTES(a, b, n_bytes)         \
    if (memcmp((a), (b), (n_bytes)) != 0) \
    fail_msg("step %llu: " #a " differ", (unsigned long long)f->n_steps)

static void compare_cache(const fixture *f, const tl_cache *a, const tl_cache *b) {
    SAME(a->n_invalid, b->n_invalid);
    SAME_BYTES(a->tags, b->tags, tl_cache_n_ways(a) * sizeof *a->tags);
    SAME_BYTES(a->stamps, b->stamps, tl_cache_n_ways(a) * sizeof *a->stamps);
}

static void compare_l1(const fixture *f, const tl_l1 *a, const tl_l1 *b) {
    compare_cache(f, &a->cache, &b->cache);
    for (uint32_t way = 0; way < tl_cache_n_ways(&a->cache); way++) {
        SAME(a->lines[way].state, b->lines[way].state);
        SAME(a->lines[way].l2_way, b->lines[way].l2_way);
        SAME(a->lines[way].slot, b->lines[way].slot);
        SAME(a->lines[way].is_contested, b->lines[way].is_contested);
    }
}

static void compare_server(const fixture *f, const tl_server *a, const tl_server *b) {
    SAME(a->start, b->start);
    SAME(a->until, b->until);
    SAME(a->front, b->front);
    SAME(a->n_calendar_cycles, b->n_calendar_cycles);
    if (a->calendar)
        SAME_BYTES(a->calendar, b->calendar, a->n_calendar_cycles / 8);
}

static void compare_below(const fixture *f, tl_l2 *a, tl_l2 *b) {
    SAME(a->clock, b->clock);
    compare_cache(f, &a->slices[0].cache, &b->slices[0].cache);
    compare_server(f, &a->slices[0].server, &b->slices[0].server);
    for (uint32_t way = 0; way < tl_cache_n_ways(&a->slices[0].cache); way++) {
        SAME(a->lines[way].sharers, b->lines[way].sharers);
        SAME(a->lines[way].is_owned, b->lines[way].is_owned);
        SAME(a->lines[way].is_dirty, b->lines[way].is_dirty);
        SAME(a->lines[way].is_contested, b->lines[way].is_contested);
        SAME(a->contested_at[way], b->contested_at[way]);
    }
    compare_server(f, &a->dram.channels[0].server, &b->dram.channels[0].server);
    SAME_BYTES(a->dram.channels[0].open_rows, b->dram.channels[0].open_rows, (a->dram.bank_mask + 1) * sizeof(uint64_t));
}

static void compare_slots(const fixture *f, const tl_hart *a, const tl_hart *b) {
    for (uint32_t i = 0; i < TL_N_VIEWS * TL_DATA_SLOTS; i++) {
        SAME(a->data_slot[i].read_tag, b->data_slot[i].read_tag);
        SAME(a->data_slot[i].write_tag, b->data_slot[i].write_tag);
    }
    for (uint32_t i = 0; i < TL_N_VIEWS * TL_FETCH_SLOTS; i++)
        SAME(a->fetch_slot[i].key, b->fetch_slot[i].key);
    const tl_hart_mem *of_a = a->mem, *of_b = b->mem;
    SAME_BYTES(of_a->dtlb.tlb.vaddrs, of_b->dtlb.tlb.vaddrs, of_a->dtlb.tlb.entries * sizeof(uint64_t));
    SAME_BYTES(of_a->itlb.tlb.vaddrs, of_b->itlb.tlb.vaddrs, of_a->itlb.tlb.entries * sizeof(uint64_t));
}

static void compare(fixture *f) {
    for (uint32_t hart = 0; hart < f->fixed.config.n_harts; hart++) {
        tl_hart *a = f->fixed.harts[hart], *b = f->plain.harts[hart];
        SAME(a->now, b->now);
        SAME(a->stamp, b->stamp);
        SAME(a->reservation_paddr, b->reservation_paddr);
        SAME(a->shared_cycle, b->shared_cycle);
        SAME(a->code_generation, b->code_generation);
        SAME_BYTES(a->tally, b->tally, TL_S_N_CELLS * sizeof(uint64_t));
        compare_l1(f, &tl_mem_of(a)->l1d, &tl_mem_of(b)->l1d);
        compare_l1(f, &tl_mem_of(a)->l1i, &tl_mem_of(b)->l1i);
        if (f->n_steps % COMPARE_SLOTS_EVERY == 0)
            compare_slots(f, a, b);
    }
    for (uint32_t k = 0; k < f->fixed.n_shared; k++) {
        tl_memory_unit unit;
        tl_memory_unit_at(&f->fixed.config, k, &unit);
        SAME_BYTES(f->fixed.shared_tally[k], f->plain.shared_tally[k], unit.type->n_signals * sizeof(uint64_t));
    }
    compare_below(f, &f->fixed.memory->l2, &f->plain.memory->l2);
}

// Mostly loads, stores and fetches; a few lines are hot on all harts, the others are anywhere.
static step next_step(fixture *f) {
    uint32_t kind = draw(f, 64), line = draw(f, 3) == 0 ? draw(f, 6) * 97 : draw(f, N_PAGES * 64);
    step s = {.hart = draw(f, f->fixed.config.n_harts), .cycles = draw(f, 4) == 0 ? draw(f, 900) : 1, .bytes = 1 + draw(f, 300)};
    s.kind = kind < 16 ? LOAD : kind < 32 ? STORE : kind < 46 ? FETCH : kind < 62 ? (step_kind)(REACH_LOAD + draw(f, 7)) : N_KINDS;
    if (s.kind == N_KINDS)
        s.kind = draw(f, 4) == 0 ? (step_kind)(FENCE + draw(f, 3)) : (step_kind)(DEVICE_READ + draw(f, 3));
    s.address = DATA + line * UINT64_C(64) + draw(f, 8) * 8;
    if (s.kind == CONDITIONAL && draw(f, 4) != 0 && f->reserved[s.hart] != 0)
        s.address = f->reserved[s.hart];
    if (s.kind == RESERVE)
        f->reserved[s.hart] = s.address;
    s.is_ahead = draw(f, 4) == 0;
    if (draw(f, 4000) == 0) // lines that are contested have time to become quiet
        s.cycles = 2 * TL_QUIET_CYCLES;
    return s;
}

// Both paths share the code that hides the lines of a page, so a comparison would show nothing.
static void expect_hidden(const fixture *f, tl_hart *h, uint64_t page) {
    for (uint64_t line = page; line < page + 4096; line += 64)
        if (tl_data_slot_of(h, line)->read_tag == line)
            fail_msg("step %llu: a slot shows a line of a page that was flushed", (unsigned long long)f->n_steps);
}

static void take_step(fixture *f) {
    step s = next_step(f);
    bool is_bare = f->fixed.harts[s.hart]->context == 0;
    if (is_bare && s.kind != SWITCH)
        s.address += FRAMES - (s.kind == FETCH ? CODE : DATA);
    tl_rig *rigs[] = {&f->fixed, &f->plain};
    bool is_done[2];
    for (int i = 0; i < 2; i++) {
        tl_hart *h = rigs[i]->harts[s.hart];
        h->now += s.cycles;
        h->first_until = s.is_ahead ? h->now - 1 : UINT64_MAX;
        h->trap_cause = 0;
        is_done[i] = do_one(f, rigs[i], &s);
        if (s.kind == FLUSH && !is_bare)
            expect_hidden(f, h, s.address & tl_page_mask(0));
    }
    const tl_hart *a = f->fixed.harts[s.hart], *b = f->plain.harts[s.hart];
    SAME(is_done[0], is_done[1]);
    SAME(a->trap_cause, b->trap_cause);
    SAME(a->mem_value, b->mem_value);
    f->n_done[s.kind] += is_done[0];
    f->n_refused += a->trap_cause == TL_TRAP_NOT_YET;
    compare(f);
}

static uint64_t sum(const fixture *f, enum tl_hart_cell slot) {
    uint64_t all = 0;
    for (uint32_t hart = 0; hart < f->fixed.config.n_harts; hart++)
        all += f->fixed.harts[hart]->tally[slot];
    return all;
}

// The stream must have met these cases often, or it shows nothing.
static void expect_coverage(const fixture *f) {
    const uint64_t *l2 = f->fixed.shared_tally[0];
    static const enum tl_hart_cell slots[] = {TL_S_L1D_LOAD_MISS, TL_S_L1D_STORE_MISS, TL_S_L1D_EVICT_DIRTY,
                                              TL_S_L1I_MISS,      TL_S_L1I_INVALIDATE, TL_S_PTW_WALK,
                                              TL_S_PTW_WRITE,     TL_S_DTLB_EVICT,     TL_S_L1D_PROBE_DATA};
    static const enum tl_mem_signal signals[] = {TL_L2_READMISS, TL_L2_EVICT_DIRTY,  TL_L2_BACK_INVALIDATE,
                                                 TL_L2_BUSY,     TL_L2_DMA_READ_HIT, TL_L2_DMA_WRITEMISS};
    for (size_t i = 0; i < TL_COUNT_OF(slots); i++)
        if (sum(f, slots[i]) < 50)
            fail_msg("signal %zu of the harts came %llu times", i, (unsigned long long)sum(f, slots[i]));
    for (size_t i = 0; i < TL_COUNT_OF(signals); i++)
        if (l2[signals[i]] < 50)
            fail_msg("signal %zu of the second level came %llu times", i, (unsigned long long)l2[signals[i]]);
    for (int kind = 0; kind < N_KINDS; kind++)
        if (f->n_done[kind] < 50)
            fail_msg("step %d was done %llu times", kind, (unsigned long long)f->n_done[kind]);
    if (f->fixed.config.n_harts > 1)
        assert_true(f->n_refused > 500 && l2[TL_L2_UPGRADE] > 500 && sum(f, TL_S_HART_SC_FAIL) > 50 && sum(f, TL_S_HART_SC_SUCCESS) > 50);
}

static void run(uint32_t n_harts, uint32_t l2_bytes, uint64_t seed) {
    fixture *f = malloc(sizeof *f);
    assert_non_null(f);
    tl_config config = tl_rig_config();
    config.n_harts = n_harts;
    config.l1i = config.l1d = (tl_cache_config){.size_bytes = 2048, .ways = 8, .line_bytes = 64};
    config.l2 = (tl_cache_config){.size_bytes = l2_bytes, .ways = 8, .line_bytes = 64};
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 8, .ways = 8};
    config.l2tlb = (tl_tlb_config){.entries = 16, .ways = 4};
    start(f, &config, seed);
    for (f->n_steps = 1; f->n_steps <= N_STEPS; f->n_steps++)
        take_step(f);
    expect_coverage(f);
    tl_rig_stop(&f->fixed);
    tl_rig_stop(&f->plain);
    free(f);
}

static void test_one_hart_is_the_same_on_both_paths(void **state) {
    (void)state;
    run(1, 4096, 1);
    run(1, 16384, 2);
}

static void test_several_harts_are_the_same_on_both_paths(void **state) {
    (void)state;
    run(2, 4096, 3); // evictions below reach the caches above
    run(4, 16384, 4);
    run(4, 65536, 5);
}

static uint64_t misses_of_fetch(tl_rig *rig, uint64_t vaddr) {
    tl_hart *h = rig->harts[0];
    uint64_t before = h->tally[TL_S_ITLB_MISS];
    assert_true(tl_rig_fetch(h, vaddr));
    return h->tally[TL_S_ITLB_MISS] - before;
}

// No slot shows the line that is fetched, so the fetch page answers, or the ITLB.
// is_crossing: as in the regimes of A64, where a view may fetch from pages of another one.
static void expect_fetch_pages_to_go(uint64_t flags, uint32_t level, tl_priv priv, bool is_crossing) {
    fixture *f = malloc(sizeof *f);
    assert_non_null(f);
    tl_config config = tl_rig_config();
    config.l1i = config.l1d = config.l2 = (tl_cache_config){.size_bytes = 4096, .ways = 8, .line_bytes = 64};
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 8, .ways = 8};
    start(f, &config, 1);
    tl_hart *h = f->fixed.harts[0];
    tl_rig_tables tables = tl_rig_tables_at(f->fixed.ram, UINT64_C(0x80180000));
    const uint64_t code = UINT64_C(0x60000000);
    tl_rig_map(&tables, code, UINT64_C(0x80400000), level, flags);
    tl_rig_set_priv(h, priv);
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    if (is_crossing) {
        h->regime.crosses_fetches = true;
        h->regime.rights[h->view][TL_ACCESS_FETCH] = (tl_rights){.any = TL_PAGE_EXECUTE};
    }
    assert_int_equal(misses_of_fetch(&f->fixed, code), 1);
    assert_int_equal(misses_of_fetch(&f->fixed, code + 64), 0);
    if (level > 0)
        assert_int_equal(misses_of_fetch(&f->fixed, code + 4096), 0);
    h->port->flush_translation(h, code, false);
    assert_int_equal(misses_of_fetch(&f->fixed, code + 128), 1);
    if (level > 0) {
        // The page of 4 KiB that is asked next is another one.
        h->port->flush_translation(h, code, false);
        assert_int_equal(misses_of_fetch(&f->fixed, code + 4096 + 64), 1);
    }
    assert_int_equal(misses_of_fetch(&f->fixed, code + 192), 0);
    tl_memory_switch_context(h, f->satps[0]);
    h->trap_cause = 0;
    assert_false(tl_rig_fetch(h, code + 256));
    tl_rig_stop(&f->fixed);
    tl_rig_stop(&f->plain);
    free(f);
}

static void test_fetch_pages_go_with_their_entries(void **state) {
    (void)state;
    for (uint32_t level = 0; level < 2; level++) {
        for (int is_user = 0; is_user < 2; is_user++) {
            uint64_t flags = is_user ? TL_RIG_RX : TL_RIG_RX & ~(uint64_t)TL_PTE_U;
            expect_fetch_pages_to_go(flags, level, is_user ? TL_PRIV_U : TL_PRIV_S, false);
            expect_fetch_pages_to_go(flags, level, TL_PRIV_U, true);
            expect_fetch_pages_to_go(flags, level, TL_PRIV_S, true);
        }
    }
}

// A device writes a page, which is new code if a hart fetched from the page.
static bool is_code_to_device(tl_rig *rig, uint64_t page) {
    static const tl_agent device = {.kind = TL_AGENT_DEVICE};
    uint32_t before = rig->harts[0]->code_generation;
    assert_true(tl_memory_dma(rig->memory, &device, FRAMES + page * 5 % N_PAGES * 4096, 64, true, rig->harts[0]->now));
    return rig->harts[0]->code_generation != before;
}

static void test_a_line_in_a_full_l1i_makes_its_page_code(void **state) {
    (void)state;
    for (uint32_t n_harts = 1; n_harts <= 2; n_harts++) {
        fixture *f = malloc(sizeof *f);
        assert_non_null(f);
        tl_config config = tl_rig_config();
        config.n_harts = n_harts;
        config.l1i = config.l1d = (tl_cache_config){.size_bytes = 2048, .ways = 8, .line_bytes = 64};
        config.l2 = (tl_cache_config){.size_bytes = 16384, .ways = 8, .line_bytes = 64};
        start(f, &config, 1);
        tl_hart *h = f->fixed.harts[0];
        tl_memory_switch_context(h, f->satps[0]);
        for (uint64_t line = 0; line < 4096; line += 64)
            assert_true(tl_rig_fetch(h, CODE + line));
        assert_int_equal(tl_mem_of(h)->l1i.cache.n_invalid, 0);
        assert_true(tl_rig_fetch(h, CODE + 4096));
        assert_true(is_code_to_device(&f->fixed, 1));
        assert_false(is_code_to_device(&f->fixed, 2));
        tl_rig_stop(&f->fixed);
        tl_rig_stop(&f->plain);
        free(f);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_one_hart_is_the_same_on_both_paths),
    cmocka_unit_test(test_several_harts_are_the_same_on_both_paths),
    cmocka_unit_test(test_fetch_pages_go_with_their_entries),
    cmocka_unit_test(test_a_line_in_a_full_l1i_makes_its_page_code),
};

TL_TEST_MAIN(tests)
