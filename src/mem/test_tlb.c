// SPDX-License-Identifier: MIT
// TLBs: pages of every size in one array, and the translation path through both levels, by hand.
// Latencies: tl_rig_config().
#include "isa/rv/arch.h"
#include "mem/test_rig.h"

static const uint64_t MIB = 1 << 20;

typedef struct fixture {
    tl_arena arena;
    tl_tlb tlb;
    uint64_t stamps[16], clock;
} fixture;

static void start(fixture *f, uint32_t entries, uint32_t ways) {
    *f = (fixture){.clock = 0};
    assert_true(tl_tlb_init(&f->tlb, &f->arena, entries, ways, 4, TL_REPLACE_LRU, f->stamps, &f->clock, 1));
}

static uint32_t add(fixture *f, uint64_t vaddr, uint32_t level) {
    tl_page page = {.vaddr = vaddr, .paddr = vaddr, .level = (uint8_t)level, .flags = TL_RIG_RW};
    uint32_t entry = tl_tlb_choose(&f->tlb, &page);
    if (tl_tlb_is_valid(&f->tlb, entry))
        tl_tlb_drop(&f->tlb, entry);
    tl_tlb_fill(&f->tlb, entry, &page);
    return entry;
}

static void test_pages_of_every_size_are_found_side_by_side(void **state) {
    (void)state;
    static const uint32_t ways[] = {8, 2};
    for (int i = 0; i < 2; i++) { // fully associative and set-associative
        fixture f;
        start(&f, 8, ways[i]);
        uint32_t small = add(&f, 0x5000, 0), large = add(&f, 6 * MIB, 1), giant = add(&f, UINT64_C(3) << 30, 2);
        assert_int_equal(tl_tlb_find(&f.tlb, 0x5fff), small);
        assert_int_equal(tl_tlb_find(&f.tlb, 6 * MIB + 0x12345), large);
        assert_int_equal(tl_tlb_find(&f.tlb, 8 * MIB - 1), large);
        assert_int_equal(tl_tlb_find(&f.tlb, (UINT64_C(4) << 30) - 1), giant);
        assert_int_equal(tl_tlb_find(&f.tlb, 0x4fff), TL_NO_ENTRY);
        assert_int_equal(tl_tlb_find(&f.tlb, 0x6000), TL_NO_ENTRY);
        assert_int_equal(tl_tlb_find(&f.tlb, 8 * MIB), TL_NO_ENTRY);
        tl_arena_done(&f.arena);
    }
}

static void test_dropped_entry_is_not_found_by_its_hint(void **state) {
    (void)state;
    fixture f;
    start(&f, 4, 4);
    uint32_t entry = add(&f, 0x5000, 0);
    assert_int_equal(tl_tlb_find(&f.tlb, 0x5000), entry);
    tl_tlb_drop(&f.tlb, entry);
    assert_int_equal(tl_tlb_find(&f.tlb, 0x5000), TL_NO_ENTRY);
    assert_int_equal(add(&f, 0x9000, 0), entry);
    assert_int_equal(tl_tlb_find(&f.tlb, 0x5000), TL_NO_ENTRY);
    tl_arena_done(&f.arena);
}

static void test_overlap_is_seen_from_the_small_and_from_the_large_page(void **state) {
    (void)state;
    fixture f;
    start(&f, 8, 2);
    uint32_t small = add(&f, 2 * MIB + 0x7000, 0);
    tl_page large = {.vaddr = 2 * MIB, .level = 1, .flags = TL_RIG_RW}, inside = {.vaddr = 4 * MIB + 0x1000, .flags = TL_RIG_RW};
    assert_int_equal(tl_tlb_overlap(&f.tlb, &large), small);
    assert_int_equal(tl_tlb_overlap(&f.tlb, &inside), TL_NO_ENTRY);
    uint32_t entry = add(&f, 4 * MIB, 1);
    assert_int_equal(tl_tlb_overlap(&f.tlb, &inside), entry);
    tl_arena_done(&f.arena);
}

static void test_set_of_a_page_comes_from_its_own_page_number(void **state) {
    (void)state;
    fixture f;
    start(&f, 8, 2);                              // four sets
    assert_int_equal(add(&f, 0x1000, 0) / 2, 1);  // page number 1
    assert_int_equal(add(&f, 6 * MIB, 1) / 2, 3); // 2 MiB page number 3
    assert_int_equal(add(&f, 0x5000, 0) / 2, 1);
    add(&f, 0x9000, 0); // third in a set of two: the first one goes
    assert_int_equal(tl_tlb_find(&f.tlb, 0x1000), TL_NO_ENTRY);
    assert_int_not_equal(tl_tlb_find(&f.tlb, 0x5000), TL_NO_ENTRY);
    tl_arena_done(&f.arena);
}

// ---- both levels, through the port ----

typedef struct space {
    tl_rig rig;
    tl_hart *h;
    tl_rig_tables tables;
} space;

// Pages of RAM from 4 MiB on, mapped at 0, each in a line of its own of the L1D.
static void start_space(space *s, const tl_config *config, uint64_t flags) {
    tl_rig_start(&s->rig, config);
    s->h = s->rig.harts[0];
    s->tables = tl_rig_tables_at(s->rig.ram, TL_RAM_BASE_PADDR);
    for (uint64_t page = 0; page < 64; page++)
        tl_rig_map(&s->tables, page * 4096, tl_rig_paddr(4 * MIB + page * 4096), 0, flags);
    tl_memory_switch_context(s->h, tl_rig_satp(&s->tables));
}

// Stays away from the lines of the tables.
static uint64_t page_address(uint64_t page) { return page * 4096 + 1024 + page % 4 * 64; }

static void touch(space *s, uint64_t page) { // a load, as a front-end makes it
    if (!tl_read_hit(s->h, page_address(page), 8))
        assert_true(s->h->port->load(s->h, page_address(page), 8));
}

static void test_use_through_a_slot_keeps_the_page_young(void **state) {
    (void)state;
    space s;
    tl_config config = tl_rig_config();
    config.l1d.size_bytes = 4096; // so that only TLBs evict
    config.l2.size_bytes = 65536;
    start_space(&s, &config, TL_RIG_RW);
    uint64_t *tally = s.h->tally;
    touch(&s, 0);
    touch(&s, 1);
    assert_non_null(tl_read_hit(s.h, page_address(0), 8)); // page 1 is now the older one
    touch(&s, 2);
    assert_int_equal(tally[TL_S_DTLB_EVICT], 1);
    assert_non_null(tl_read_hit(s.h, page_address(0), 8));
    // The slot went with the entry, though the line is still in the L1D.
    assert_null(tl_read_hit(s.h, page_address(1), 8));
    assert_int_equal(tl_memory_l1d_state(s.rig.memory, 0, tl_rig_paddr(4 * MIB) + page_address(1)), 'E');
    tl_rig_stop(&s.rig);
}

static void test_second_level_hit_costs_its_latency_and_no_walk(void **state) {
    (void)state;
    space s;
    tl_config config = tl_rig_config();
    config.l1d.size_bytes = 4096;
    config.l2.size_bytes = 65536;
    start_space(&s, &config, TL_RIG_RW);
    uint64_t *tally = s.h->tally;
    for (uint64_t page = 0; page < 3; page++)
        touch(&s, page);
    assert_int_equal(tally[TL_S_PTW_WALK], 3);
    uint64_t before = s.h->now, dtlb_before = tally[TL_S_HART_CYC_DTLB];
    // Evicted from the DTLB of two, still in the L2 TLB of eight. Its line is in the L1D.
    touch(&s, 0);
    assert_int_equal(s.h->now - before, 5);
    assert_int_equal(tally[TL_S_HART_CYC_DTLB] - dtlb_before, 5);
    assert_int_equal(tally[TL_S_PTW_WALK], 3);
    assert_int_equal(tally[TL_S_DTLB_MISS], 4);
    assert_int_equal(tally[TL_S_DTLB_LOAD_MISS], 4);
    assert_int_equal(tally[TL_S_L2TLB_ACCESS], 4);
    assert_int_equal(tally[TL_S_L2TLB_MISS], 3);
    assert_int_equal(tally[TL_S_DTLB_EVICT], 2);
    tl_rig_stop(&s.rig);
}

static void test_first_store_to_a_clean_page_walks_again_and_sets_dirty(void **state) {
    (void)state;
    space s;
    tl_config config = tl_rig_config();
    config.l1d.size_bytes = 4096;
    config.l2.size_bytes = 65536;
    start_space(&s, &config, TL_PTE_V | TL_PTE_U | TL_PTE_R | TL_PTE_W);
    uint64_t *tally = s.h->tally, pte_paddr = tl_rig_pte_paddr(&s.tables, 0, 0);
    touch(&s, 0);
    assert_int_equal(tl_rig_read_u64(s.rig.ram, pte_paddr) & (TL_PTE_A | TL_PTE_D), TL_PTE_A);
    assert_int_equal(tally[TL_S_PTW_WRITE], 1);
    assert_true(s.h->port->store(s.h, 0, 8, 1));
    assert_int_equal(tl_rig_read_u64(s.rig.ram, pte_paddr) & (TL_PTE_A | TL_PTE_D), TL_PTE_A | TL_PTE_D);
    assert_int_equal(tally[TL_S_PTW_WALK], 2);
    assert_int_equal(tally[TL_S_PTW_WRITE], 2);
    assert_int_equal(tally[TL_S_L2TLB_MISS], 2);
    assert_int_equal(tally[TL_S_DTLB_LOAD_MISS], 1);
    assert_int_equal(tally[TL_S_DTLB_STORE_MISS], 1);
    assert_int_equal(tally[TL_S_DTLB_EVICT], 0); // the entry was replaced in place
    assert_non_null(tl_write_hit(s.h, 0, 8));
    tl_rig_stop(&s.rig);
}

static void test_flush_of_one_page_leaves_the_others(void **state) {
    (void)state;
    space s;
    tl_config config = tl_rig_config();
    start_space(&s, &config, TL_RIG_RW);
    touch(&s, 0);
    touch(&s, 1);
    s.h->port->flush_translation(s.h, 0x123, false);
    assert_int_equal(s.h->tally[TL_S_DTLB_FLUSH], 1);
    assert_int_equal(s.h->tally[TL_S_L2TLB_FLUSH], 1);
    assert_null(tl_read_hit(s.h, page_address(0), 8));
    assert_non_null(tl_read_hit(s.h, page_address(1), 8));
    s.h->port->flush_translation(s.h, 0, true);
    assert_int_equal(s.h->tally[TL_S_DTLB_FLUSH], 2);
    assert_int_equal(s.h->tally[TL_S_L2TLB_FLUSH], 2);
    assert_null(tl_read_hit(s.h, page_address(1), 8));
    tl_rig_stop(&s.rig);
}

// Decoded code is looked at again when a fetch may go elsewhere.
static void test_flush_that_reaches_the_itlb_changes_the_generation_of_code(void **state) {
    (void)state;
    space s;
    tl_config config = tl_rig_config();
    start_space(&s, &config, TL_RIG_RX);
    touch(&s, 0);
    assert_true(tl_rig_fetch(s.h, 4096));
    uint32_t generation = s.h->code_generation;
    s.h->port->flush_translation(s.h, 0, false); // no fetch used it
    assert_int_equal(s.h->code_generation, generation);
    assert_int_equal(s.h->tally[TL_S_ITLB_FLUSH], 0);
    s.h->port->flush_translation(s.h, 4096, false);
    assert_int_equal(s.h->code_generation, generation + 1);
    assert_int_equal(s.h->tally[TL_S_ITLB_FLUSH], 1);
    s.h->port->flush_translation(s.h, 0, true); // nothing is left to drop
    assert_int_equal(s.h->code_generation, generation + 2);
    tl_rig_stop(&s.rig);
}

static void test_second_level_counts_what_it_replaces(void **state) {
    (void)state;
    space s;
    tl_config config = tl_rig_config();
    start_space(&s, &config, TL_RIG_RW);
    uint64_t *tally = s.h->tally;
    for (uint64_t page = 0; page < 8; page++) // eight entries in four sets of two
        touch(&s, page);
    assert_int_equal(tally[TL_S_L2TLB_EVICT], 0);
    touch(&s, 9);
    assert_int_equal(tally[TL_S_L2TLB_EVICT], 1); // page 1
    touch(&s, 13);
    assert_int_equal(tally[TL_S_L2TLB_EVICT], 2); // page 5
    assert_int_equal(tally[TL_S_L2TLB_MISS], 10);
    touch(&s, 0);
    assert_int_equal(tally[TL_S_L2TLB_MISS], 10);
    touch(&s, 1);
    assert_int_equal(tally[TL_S_L2TLB_MISS], 11);
    tl_rig_stop(&s.rig);
}

static void test_two_names_of_one_line_share_it(void **state) {
    (void)state;
    space s;
    tl_config config = tl_rig_config();
    start_space(&s, &config, TL_RIG_RW);
    tl_rig_map(&s.tables, 40 * 4096, tl_rig_paddr(4 * MIB), 0, TL_RIG_RW);
    assert_true(s.h->port->store(s.h, 0, 8, 77));
    assert_true(s.h->port->load(s.h, 40 * 4096, 8));
    assert_int_equal(s.h->mem_value, 77);
    assert_non_null(tl_read_hit(s.h, 40 * 4096, 8));
    assert_null(tl_read_hit(s.h, 0, 8)); // a way is shown by one slot: the older name asks again,
    uint64_t before = s.h->now;
    assert_true(s.h->port->load(s.h, 0, 8)); // and hits
    assert_int_equal(s.h->now, before);
    tl_rig_stop(&s.rig);
}

static uint32_t draw(uint64_t *random, uint32_t below) {
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % below;
}

static void test_remembered_oldest_is_the_victim_of_a_search(void **state) {
    (void)state;
    for (uint32_t ways = 8; ways <= 32; ways *= 2) {
        tl_arena arena = {0};
        tl_tlb tlb;
        uint64_t stamps[32] = {0}, clock = 0, random = ways, unused = 1;
        assert_true(tl_tlb_init(&tlb, &arena, ways, ways, 4, TL_REPLACE_LRU, stamps, &clock, 1));
        assert_int_equal(tlb.n_eights, ways / 8);
        for (uint64_t i = 0; i < 20000; i++) {
            tl_page page = {.vaddr = i << TL_PAGE_BITS, .flags = TL_RIG_RW};
            uint32_t entry = tl_tlb_choose(&tlb, &page);
            if (tlb.n_invalid == 0)
                assert_int_equal(entry, tl_replacement_victim(TL_REPLACE_LRU, stamps, ways, &unused));
            if (!tl_tlb_is_valid(&tlb, entry)) {
                tl_tlb_fill(&tlb, entry, &page);
            } else if (tl_tlb_is_plain(&tlb) && draw(&random, 2)) {
                tl_tlb_replace_small(&tlb, entry, &page);
            } else {
                tl_tlb_drop(&tlb, entry);
                tl_tlb_fill(&tlb, entry, &page);
            }
            assert_int_equal(tl_tlb_find(&tlb, page.vaddr + 8), entry);
            for (uint32_t n = draw(&random, 4); n > 0; n--) // uses through slots, which tell nobody
                stamps[draw(&random, ways)] = ++clock;
            uint32_t gone = draw(&random, 16 * ways);
            if (gone < ways && tl_tlb_is_valid(&tlb, gone))
                tl_tlb_drop(&tlb, gone);
        }
        tl_arena_done(&arena);
    }
}

typedef struct naive_entry {
    uint64_t page, used_at, filled_at;
    uint32_t thread;
    bool is_valid;
} naive_entry;

// A list of entries with the thread in each.
static naive_entry *naive_access(naive_entry *set, uint32_t ways, uint32_t thread, uint64_t page, bool is_fifo, bool *ret_hits) {
    naive_entry *victim = NULL;
    *ret_hits = true;
    for (naive_entry *e = set; e < set + ways; e++)
        if (e->is_valid && e->thread == thread && e->page == page)
            return e;
    *ret_hits = false;
    for (naive_entry *e = set; e < set + ways; e++)
        if (!e->is_valid)
            return e;
    for (naive_entry *e = set; e < set + ways; e++)
        if (!victim || (is_fifo ? e->filled_at < victim->filled_at : e->used_at < victim->used_at))
            victim = e;
    return victim;
}

static void share_entries(uint32_t ways, tl_replacement policy) {
    enum { ENTRIES = 8 };
    tl_arena arena = {0};
    tl_tlb tlbs[2];
    uint64_t stamps[ENTRIES] = {0}, clock = 0, random = ways;
    naive_entry naive[ENTRIES] = {0};
    for (uint32_t i = 0; i < 2; i++)
        assert_true(tl_tlb_init(&tlbs[i], &arena, ENTRIES, ways, 4, policy, stamps, &clock, 1));
    tl_tlb_share(&tlbs[1], &tlbs[0]);
    for (uint64_t i = 0; i < 20000; i++) {
        const uint32_t thread = draw(&random, 2);
        const uint64_t page = draw(&random, 12), vaddr = page << TL_PAGE_BITS;
        bool hits;
        naive_entry *e = naive_access(naive + page % (ENTRIES / ways) * ways, ways, thread, page, policy == TL_REPLACE_FIFO, &hits);
        uint32_t entry = tl_tlb_find(&tlbs[thread], vaddr + 8);
        assert_int_equal(entry != TL_NO_ENTRY, hits);
        if (!hits) {
            const tl_page filled = {.vaddr = vaddr, .flags = TL_RIG_RW};
            entry = tl_tlb_choose(&tlbs[thread], &filled);
            for (uint32_t k = 0; k < 2; k++) {
                assert_int_equal(tl_tlb_is_valid(&tlbs[k], entry), e->is_valid && e->thread == k);
                if (tl_tlb_is_valid(&tlbs[k], entry))
                    tl_tlb_drop(&tlbs[k], entry);
            }
            tl_tlb_fill(&tlbs[thread], entry, &filled);
            *e = (naive_entry){.page = page, .thread = thread, .is_valid = true, .filled_at = i};
        }
        assert_int_equal(entry, e - naive);
        tl_tlb_touch(&tlbs[thread], entry);
        e->used_at = i;
        const uint32_t gone = draw(&random, 16 * ENTRIES);
        if (gone < ENTRIES && naive[gone].is_valid) {
            tl_tlb_drop(&tlbs[naive[gone].thread], gone);
            naive[gone].is_valid = false;
        }
    }
    tl_arena_done(&arena);
}

static void test_two_harts_share_the_entries_and_no_page(void **state) {
    (void)state;
    for (uint32_t ways = 2; ways <= 8; ways *= 2) {
        share_entries(ways, TL_REPLACE_LRU);
        share_entries(ways, TL_REPLACE_FIFO);
    }
}

// Both draw from one sequence, so that they draw as one TLB would.
static void test_two_harts_share_the_draws(void **state) {
    (void)state;
    tl_arena arena = {0};
    tl_tlb tlbs[2], alone;
    uint64_t stamps[8] = {0}, clock = 0;
    assert_true(tl_tlb_init(&tlbs[0], &arena, 8, 8, 4, TL_REPLACE_RANDOM, stamps, &clock, 7));
    assert_true(tl_tlb_init(&tlbs[1], &arena, 8, 8, 4, TL_REPLACE_RANDOM, stamps, &clock, 9));
    assert_true(tl_tlb_init(&alone, &arena, 8, 8, 4, TL_REPLACE_RANDOM, stamps, &clock, 7));
    tl_tlb_share(&tlbs[1], &tlbs[0]);
    for (uint64_t i = 0; i < 200; i++) {
        const tl_page page = {.vaddr = i << TL_PAGE_BITS, .flags = TL_RIG_RW};
        const uint32_t entry = tl_tlb_choose(&tlbs[i % 2], &page), wanted = tl_tlb_choose(&alone, &page);
        assert_int_equal(entry, wanted);
        if (tl_tlb_is_valid(&alone, entry))
            tl_tlb_drop(&alone, entry);
        for (uint32_t k = 0; k < 2; k++)
            if (tl_tlb_is_valid(&tlbs[k], entry))
                tl_tlb_drop(&tlbs[k], entry);
        tl_tlb_fill(&alone, entry, &page);
        tl_tlb_fill(&tlbs[i % 2], entry, &page);
    }
    tl_arena_done(&arena);
}

static void test_set_of_four_is_searched_at_once(void **state) {
    (void)state;
    fixture f;
    start(&f, 16, 4);
    const uint64_t high = UINT64_C(1) << 44; // half of an address alone is no match
    for (uint64_t i = 0; i < 4; i++)
        add(&f, 0x3000 + (i << 16), 0);
    for (uint64_t i = 0; i < 4; i++) {
        uint32_t entry = tl_tlb_search(&f.tlb, 0x3000 + (i << 16));
        assert_int_not_equal(entry, TL_NO_ENTRY);
        assert_int_equal(tl_tlb_find_in_four(&f.tlb, 0x3000 + (i << 16)), entry);
        assert_int_equal(tl_tlb_find_in_four(&f.tlb, high + 0x3000 + (i << 16)), TL_NO_ENTRY);
    }
    assert_int_equal(tl_tlb_find_in_four(&f.tlb, 0x3000 + (UINT64_C(4) << 16)), TL_NO_ENTRY);
    tl_arena_done(&f.arena);
}

// An access as a front-end makes it that asks tl_mem_port.reach_* first, or never does.
static void use(tl_hart *h, uint64_t vaddr, bool is_store, bool asks) {
    if (is_store ? tl_write_hit(h, vaddr, 8) != NULL : tl_read_hit(h, vaddr, 8) != NULL)
        return;
    if (asks && (is_store ? h->port->reach_store(h, vaddr, 7) : h->port->reach_load(h, vaddr, 7)) != NULL)
        return;
    assert_true(is_store ? h->port->store(h, vaddr, 8, 0) : h->port->load(h, vaddr, 8));
}

// The short way of a machine of the fixed geometry against the long way of the same machine.
static void expect_short_way_as_long_way(uint32_t l2tlb_entries, uint32_t l2tlb_ways) {
    tl_config config = tl_rig_config();
    config.l1d = (tl_cache_config){.size_bytes = 2048, .ways = 8, .line_bytes = 64};
    config.l2 = (tl_cache_config){.size_bytes = 4096, .ways = 8, .line_bytes = 64};
    config.dtlb = (tl_tlb_config){.entries = 16, .ways = 16};
    config.l2tlb = (tl_tlb_config){.entries = l2tlb_entries, .ways = l2tlb_ways};
    space brief, full;
    start_space(&brief, &config, TL_RIG_RW);
    start_space(&full, &config, TL_RIG_RW);
    assert_true(brief.rig.memory->is_fixed);
    full.rig.memory->is_fixed = false;
    full.h->port = &tl_memory_port;
    full.rig.memory->harts[0].dtlb.tlb.n_eights = 0; // not plain
    uint64_t random = 1;
    for (uint32_t i = 0; i < 60000; i++) {
        uint64_t vaddr = draw(&random, i % 1000 < 500 ? 24 : 48) * UINT64_C(4096) + draw(&random, 40) * 8;
        bool is_store = draw(&random, 3) == 0;
        use(brief.h, vaddr, is_store, true);
        use(full.h, vaddr, is_store, false);
        if (draw(&random, 500) == 0) {
            bool is_all = draw(&random, 4) == 0;
            brief.h->port->flush_translation(brief.h, vaddr, is_all);
            full.h->port->flush_translation(full.h, vaddr, is_all);
        }
        assert_int_equal(brief.h->now, full.h->now);
        assert_int_equal(brief.h->stamp, full.h->stamp);
    }
    assert_memory_equal(brief.h->tally, full.h->tally, TL_S_N_CELLS * sizeof(uint64_t));
    for (uint32_t k = 0; k < brief.rig.n_shared; k++) {
        tl_memory_unit unit;
        tl_memory_unit_at(&config, k, &unit);
        assert_memory_equal(brief.rig.shared_tally[k], full.rig.shared_tally[k], unit.type->n_signals * sizeof(uint64_t));
    }
    assert_true(brief.h->tally[TL_S_DTLB_EVICT] > 1000 && brief.h->tally[TL_S_L1D_EVICT_DIRTY] > 1000);
    tl_rig_stop(&brief.rig);
    tl_rig_stop(&full.rig);
}

static void test_short_way_of_a_miss_is_the_long_way(void **state) {
    (void)state;
    expect_short_way_as_long_way(32, 4);
    expect_short_way_as_long_way(32, 2); // no sets of four: the short way is that of hits alone
    expect_short_way_as_long_way(0, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_remembered_oldest_is_the_victim_of_a_search),
    cmocka_unit_test(test_two_harts_share_the_entries_and_no_page),
    cmocka_unit_test(test_two_harts_share_the_draws),
    cmocka_unit_test(test_set_of_four_is_searched_at_once),
    cmocka_unit_test(test_short_way_of_a_miss_is_the_long_way),
    cmocka_unit_test(test_pages_of_every_size_are_found_side_by_side),
    cmocka_unit_test(test_dropped_entry_is_not_found_by_its_hint),
    cmocka_unit_test(test_overlap_is_seen_from_the_small_and_from_the_large_page),
    cmocka_unit_test(test_set_of_a_page_comes_from_its_own_page_number),
    cmocka_unit_test(test_use_through_a_slot_keeps_the_page_young),
    cmocka_unit_test(test_second_level_hit_costs_its_latency_and_no_walk),
    cmocka_unit_test(test_first_store_to_a_clean_page_walks_again_and_sets_dirty),
    cmocka_unit_test(test_flush_of_one_page_leaves_the_others),
    cmocka_unit_test(test_flush_that_reaches_the_itlb_changes_the_generation_of_code),
    cmocka_unit_test(test_second_level_counts_what_it_replaces),
    cmocka_unit_test(test_two_names_of_one_line_share_it),
};

TL_TEST_MAIN(tests)
