// SPDX-License-Identifier: MIT
// Functions of tl_mem_port: bytes, slots, crossings, atomics, traps, fences, prefetch. Latencies:
// tl_rig_config().
#include "isa/rv/arch.h"
#include "mem/test_rig.h"

static const uint64_t MIB = 1 << 20, BASE = UINT64_C(0x80000000);

static tl_hart *start(tl_rig *rig, const tl_config *config) {
    tl_rig_start(rig, config);
    return rig->harts[0];
}

static void test_bytes_arrive_in_every_size_and_alignment(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    for (uint32_t i = 0; i < 256; i++)
        rig.ram[i] = (uint8_t)(i * 7 + 1);
    for (uint32_t size = 1; size <= 8; size *= 2) {
        for (uint64_t offset = 0; offset < 192; offset++) {
            uint64_t expected = 0;
            memcpy(&expected, rig.ram + offset, size);
            assert_true(h->port->load(h, BASE + offset, size));
            assert_int_equal(h->mem_value, expected);
            assert_true(h->port->store(h, BASE + 1024 + offset, size, expected ^ 0x55));
            uint64_t written = 0;
            memcpy(&written, rig.ram + 1024 + offset, size);
            assert_int_equal(written, (expected ^ 0x55) & (size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1));
        }
    }
    tl_rig_stop(&rig);
}

static void test_slot_shows_what_hits_and_nothing_else(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    assert_null(tl_read_hit(h, BASE, 8));
    assert_true(h->port->load(h, BASE + 8, 8));
    assert_ptr_equal(tl_read_hit(h, BASE, 8), rig.ram);
    assert_ptr_equal(tl_read_hit(h, BASE + 63, 1), rig.ram + 63);
    assert_null(tl_read_hit(h, BASE + 1, 8));  // misaligned
    assert_null(tl_read_hit(h, BASE + 64, 8)); // another line
    assert_null(tl_write_hit(h, BASE, 8));     // not modified yet
    assert_true(h->port->store(h, BASE, 8, 1));
    assert_ptr_equal(tl_write_hit(h, BASE + 16, 8), rig.ram + 16);
    // The address is of the set that is full: the line leaves, and the slot with it.
    assert_true(h->port->load(h, BASE + 256, 8));
    assert_null(tl_read_hit(h, BASE, 8));
    assert_null(tl_write_hit(h, BASE, 8));
    tl_rig_stop(&rig);
}

static void test_misaligned_access_in_one_line_costs_its_penalty(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    assert_true(h->port->load(h, BASE, 8));
    uint64_t before = h->now;
    assert_true(h->port->load(h, BASE + 3, 8));
    assert_int_equal(h->now - before, 3);
    assert_int_equal(h->tally[TL_S_HART_CYC_MISALIGNED], 3);
    assert_int_equal(h->tally[TL_S_HART_MISALIGNED_LOAD], 1);
    assert_int_equal(h->tally[TL_S_HART_LINE_CROSS], 0);
    assert_int_equal(h->tally[TL_S_L1D_LOAD], 0); // no look-up beyond the one the front-end counts
    assert_int_equal(h->tally[TL_S_DTLB_ACCESS], 0);
    tl_rig_stop(&rig);
}

static void test_crossing_access_looks_up_both_lines(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    assert_true(h->port->store(h, BASE + 60, 8, UINT64_C(0x8877665544332211)));
    assert_int_equal(tl_rig_read_u64(rig.ram, BASE + 60), UINT64_C(0x8877665544332211));
    // 3 (penalty), then two misses: 11 + 200, and 11 + 100 from the row just opened.
    assert_int_equal(h->now, 3 + 211 + 111);
    assert_int_equal(h->tally[TL_S_HART_CYC_MISALIGNED], 3);
    assert_int_equal(h->tally[TL_S_HART_CYC_STORE_MISS], 322);
    assert_int_equal(h->tally[TL_S_L1D_STORE_MISS], 2);
    assert_int_equal(h->tally[TL_S_L1D_STORE], 1); // the second; the first is the front-end's
    assert_int_equal(h->tally[TL_S_DTLB_ACCESS], 1);
    assert_int_equal(h->tally[TL_S_HART_MISALIGNED_STORE], 1);
    assert_int_equal(h->tally[TL_S_HART_LINE_CROSS], 1);
    assert_non_null(tl_write_hit(h, BASE, 8));
    assert_non_null(tl_write_hit(h, BASE + 64, 8));
    tl_rig_stop(&rig);
}

static void test_crossing_access_that_traps_touches_no_data(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    tl_rig_tables tables = tl_rig_tables_at(rig.ram, BASE);
    tl_rig_map(&tables, 0, BASE + 4 * MIB, 0, TL_RIG_RW);
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    assert_false(h->port->store(h, 4092, 8, UINT64_MAX)); // the second page is not there
    assert_int_equal(h->trap_cause, TL_CAUSE_STORE_PAGE);
    assert_int_equal(h->trap_value, 4096); // the part that faulted
    assert_int_equal(tl_rig_read_u64(rig.ram, BASE + 4 * MIB + 4088), 0);
    // Both look-ups happened, and no front-end counts them.
    assert_int_equal(h->tally[TL_S_DTLB_ACCESS], 2);
    assert_int_equal(h->tally[TL_S_DTLB_MISS], 2);
    assert_int_equal(h->tally[TL_S_L1D_STORE], 0);
    assert_int_equal(h->tally[TL_S_HART_MISALIGNED_STORE], 0);
    assert_int_equal(h->tally[TL_S_HART_CYC_MISALIGNED], 0);
    // These pages are not neighbors in memory.
    tl_rig_map(&tables, 4096, BASE + 5 * MIB, 0, TL_RIG_RW);
    assert_true(h->port->store(h, 4092, 8, UINT64_C(0x8877665544332211)));
    assert_int_equal(tl_rig_read_u64(rig.ram, BASE + 4 * MIB + 4088), UINT64_C(0x4433221100000000));
    assert_int_equal(tl_rig_read_u64(rig.ram, BASE + 5 * MIB), 0x88776655);
    assert_true(h->port->load(h, 4092, 8));
    assert_int_equal(h->mem_value, UINT64_C(0x8877665544332211));
    tl_rig_stop(&rig);
}

static void test_atomics_compute_as_the_manual_says(void **state) {
    (void)state;
    static const struct {
        tl_amo amo;
        uint64_t old, operand, word, doubleword; // results
    } rows[] = {
        {TL_AMO_SWAP, 5, 9, 9, 9},
        {TL_AMO_ADD, 0xffffffff, 2, 1, 0x100000001},
        {TL_AMO_XOR, 0xff00ff00, 0x0ff00ff0, 0xf0f0f0f0, 0xf0f0f0f0},
        {TL_AMO_AND, 0xff00ff00, 0x0ff00ff0, 0x0f000f00, 0x0f000f00},
        {TL_AMO_OR, 0xff00ff00, 0x0ff00ff0, 0xfff0fff0, 0xfff0fff0},
        {TL_AMO_MIN, 0x80000000, 1, 0x80000000, 1}, // negative as a word
        {TL_AMO_MAX, 0x80000000, 1, 1, 0x80000000},
        {TL_AMO_MINU, 0x80000000, 1, 1, 1},
        {TL_AMO_MAXU, 0x80000000, 1, 0x80000000, 0x80000000},
        {TL_AMO_MIN, 7, UINT64_MAX, 0xffffffff, UINT64_MAX},
        {TL_AMO_MAXU, 7, UINT64_MAX, 0xffffffff, UINT64_MAX},
    };
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_rig_write_u64(rig.ram, BASE, rows[i].old);
        assert_true(h->port->amo(h, BASE, 8, rows[i].amo, rows[i].operand));
        assert_int_equal(h->mem_value, rows[i].old);
        assert_int_equal(tl_rig_read_u64(rig.ram, BASE), rows[i].doubleword);
        tl_rig_write_u64(rig.ram, BASE, rows[i].old | UINT64_C(0xabcd) << 32);
        assert_true(h->port->amo(h, BASE, 4, rows[i].amo, rows[i].operand));
        assert_int_equal(h->mem_value, rows[i].old & 0xffffffff);
        assert_int_equal(tl_rig_read_u64(rig.ram, BASE), rows[i].word | UINT64_C(0xabcd) << 32);
    }
    assert_int_equal(h->tally[TL_S_L1D_STORE_MISS], 1);
    assert_int_equal(h->tally[TL_S_L1D_AMO_MISS], 1);
    tl_rig_stop(&rig);
}

static void test_misaligned_atomics_trap_before_any_look_up(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    assert_false(h->port->amo(h, BASE + 4, 8, TL_AMO_ADD, 1));
    assert_int_equal(h->trap_cause, TL_CAUSE_STORE_MISALIGNED);
    assert_int_equal(h->trap_value, BASE + 4);
    assert_false(h->port->load_reserved(h, BASE + 2, 4));
    assert_int_equal(h->trap_cause, TL_CAUSE_LOAD_MISALIGNED);
    assert_false(h->port->store_conditional(h, BASE + 1, 4, 0));
    assert_int_equal(h->trap_cause, TL_CAUSE_STORE_MISALIGNED);
    assert_int_equal(h->tally[TL_S_DTLB_ACCESS], 0);
    assert_int_equal(h->now, 0);
    tl_rig_stop(&rig);
}

static void test_fence_i_empties_the_instruction_cache(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    assert_true(h->port->fetch(h, BASE));
    assert_true(h->port->fetch(h, BASE + 64));
    uint32_t generation = h->code_generation;
    h->port->drop_code(h);
    assert_int_equal(h->tally[TL_S_L1I_INVALIDATE], 2);
    assert_int_not_equal(h->code_generation, generation);
    assert_int_equal(tl_fetch_slot_of(h, BASE)->key, TL_NO_KEY);
    uint64_t before = h->now;
    assert_true(h->port->fetch(h, BASE)); // refilled from the L2
    assert_int_equal(h->now - before, 11);
    assert_int_equal(h->tally[TL_S_L1I_MISS], 3);
    tl_rig_stop(&rig);
}

static void test_changed_code_leaves_every_instruction_cache(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.n_harts = 2;
    tl_rig_start(&rig, &config);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(rig.harts[i]->port->fetch(rig.harts[i], BASE + 4096 + 64));
        assert_true(rig.harts[i]->port->fetch(rig.harts[i], BASE));
    }
    tl_memory_code_changed(rig.memory, BASE + 4096 + 123);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(rig.harts[i]->tally[TL_S_L1I_INVALIDATE], 1);
        assert_int_equal(rig.harts[i]->code_generation, 1);
        assert_int_equal(tl_fetch_slot_of(rig.harts[i], BASE + 4096 + 64)->key, TL_NO_KEY);
        assert_true(tl_fetch_slot_shows(tl_fetch_slot_of(rig.harts[i], BASE), BASE));
    }
    tl_rig_stop(&rig);
}

static void test_change_of_address_space_forgets_everything_translated(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.l1d.size_bytes = 4096; // so that tables and data do not meet
    config.l2.size_bytes = 65536;
    tl_hart *h = start(&rig, &config);
    tl_rig_tables tables = tl_rig_tables_at(rig.ram, BASE);
    const uint64_t data = BASE + 0x400;
    tl_rig_map(&tables, BASE, BASE + 4 * MIB, 0, TL_RIG_RW);
    tl_rig_map(&tables, BASE + 4096, BASE + 5 * MIB, 0, TL_RIG_RX);
    assert_true(h->port->load(h, data, 8)); // untranslated
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    assert_null(tl_read_hit(h, data, 8));
    assert_true(h->port->load(h, data, 8));
    assert_true(h->port->fetch(h, BASE + 4096));
    assert_ptr_equal(tl_read_hit(h, data, 8), rig.ram + 4 * MIB + 0x400);
    tl_memory_switch_context(h, 0);
    assert_int_equal(h->tally[TL_S_DTLB_FLUSH], 1);
    assert_int_equal(h->tally[TL_S_ITLB_FLUSH], 1);
    assert_int_equal(h->tally[TL_S_L2TLB_FLUSH], 2);
    assert_null(tl_read_hit(h, data, 8));
    assert_int_equal(tl_fetch_slot_of(h, BASE + 4096)->key, TL_NO_KEY);
    tl_rig_stop(&rig);
}

// Requests of a hart's caches and walker carry the hart and its address space.
static void test_agents_name_the_hart_and_its_address_space(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.n_harts = 2;
    start(&rig, &config);
    tl_rig_tables tables[] = {tl_rig_tables_at(rig.ram, BASE + 4 * MIB), tl_rig_tables_at(rig.ram, BASE + 5 * MIB)};
    const uint64_t first = tl_rig_satp(&tables[0]), second = tl_rig_satp(&tables[1]);
    tl_memory_switch_context(rig.harts[0], first);
    tl_rv_set_satp(rig.harts[1], first);
    tl_rv_set_satp(rig.harts[1], second); // of the same mode, so that nothing is forgotten
    for (uint32_t hart = 0; hart < 2; hart++) {
        const tl_hart_mem *hm = tl_mem_of(rig.harts[hart]);
        const tl_agent *agents[] = {&hm->l1d.client.agent, &hm->l1i.client.agent, &hm->walker};
        static const tl_agent_kind kinds[] = {TL_AGENT_HART_DATA, TL_AGENT_HART_FETCH, TL_AGENT_WALKER};
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(agents[i]->kind, kinds[i]);
            assert_int_equal(agents[i]->id, hart);
            assert_int_equal(agents[i]->partition, 0);
            assert_int_equal(*agents[i]->context, hart == 0 ? first : second);
        }
    }
    tl_rig_stop(&rig);
}

static void test_next_line_prefetch_follows_a_miss_for_free(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.l1d.prefetch = TL_PREFETCH_NEXT_LINE;
    tl_hart *h = start(&rig, &config);
    uint64_t *l2 = rig.shared_tally[0];
    assert_true(h->port->load(h, BASE, 8));
    assert_int_equal(h->now, 211); // the prefetch costs the hart nothing
    assert_int_equal(h->tally[TL_S_L1D_PREFETCH], 1);
    assert_int_equal(h->tally[TL_S_L1D_LOAD_MISS], 1);
    assert_int_equal(l2[TL_L2_READ], 2);
    assert_int_equal(l2[TL_L2_PREFETCH_READ], 1);
    assert_true(h->port->load(h, BASE + 64, 8));
    assert_int_equal(h->now, 211); // a hit, and no reason for another prefetch
    assert_int_equal(h->tally[TL_S_L1D_PREFETCH_HIT], 1);
    assert_true(h->port->load(h, BASE + 72, 8));
    assert_int_equal(h->tally[TL_S_L1D_PREFETCH_HIT], 1);
    assert_int_equal(h->tally[TL_S_L1D_PREFETCH], 1);
    // The last line of a page. The line behind may be anyone's.
    assert_true(h->port->load(h, BASE + 4096 - 8, 8));
    assert_int_equal(h->tally[TL_S_L1D_PREFETCH], 1);
    tl_rig_stop(&rig);
}

static void test_next_line_prefetch_of_instructions_is_used_once(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.l1i.prefetch = TL_PREFETCH_NEXT_LINE;
    tl_hart *h = start(&rig, &config);
    assert_true(h->port->fetch(h, BASE));
    assert_int_equal(h->now, 211);
    assert_int_equal(h->tally[TL_S_L1I_PREFETCH], 1);
    assert_int_equal(h->tally[TL_S_L1I_PREFETCH_HIT], 0);
    for (int i = 0; i < 2; i++) {
        assert_true(h->port->fetch(h, BASE + 64));
        assert_int_equal(h->now, 211);
        assert_int_equal(h->tally[TL_S_L1I_PREFETCH_HIT], 1);
    }
    assert_int_equal(h->tally[TL_S_L1I_MISS], 1);
    tl_rig_stop(&rig);
}

// The L2 has two ways: the second load evicts the line that was fetched.
static void test_a_load_that_takes_a_line_from_the_l1i_says_so(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    assert_true(h->port->fetch(h, BASE));
    assert_true(h->port->load(h, BASE + 512, 8));
    assert_false(h->has_lost_fetch);
    assert_true(h->port->load(h, BASE + 1024, 8));
    assert_true(h->has_lost_fetch);
    assert_int_equal(h->tally[TL_S_L1I_INVALIDATE], 1);
    tl_rig_stop(&rig);
}

static void test_prefetcher_of_the_l2_reads_memory_ahead(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.l2.prefetch = TL_PREFETCH_NEXT_LINE;
    tl_hart *h = start(&rig, &config);
    uint64_t *l2 = rig.shared_tally[0];
    assert_true(h->port->load(h, BASE, 8));
    assert_int_equal(h->now, 211);
    h->now = 1000;
    assert_true(h->port->load(h, BASE + 64, 8));
    assert_int_equal(h->now, 1011);
    assert_int_equal(l2[TL_L2_READ], 2);
    assert_int_equal(l2[TL_L2_READMISS], 1);
    assert_int_equal(l2[TL_L2_PREFETCH], 1);
    assert_int_equal(l2[TL_L2_PREFETCH_HIT], 1);
    assert_int_equal(rig.shared_tally[2][TL_MEM_READ], 2);
    assert_true(h->port->load(h, BASE + 4096 - 8, 8)); // the last line of a page
    assert_int_equal(l2[TL_L2_READMISS], 2);
    assert_int_equal(l2[TL_L2_PREFETCH], 1);
    assert_int_equal(rig.shared_tally[2][TL_MEM_READ], 3);
    tl_rig_stop(&rig);
}

static void test_impossible_geometry_is_refused_by_name(void **state) {
    (void)state;
    tl_config good = tl_rig_config();
    struct {
        tl_config config;
        const char *key;
    } rows[] = {{good, "l1d.ways"}, {good, "l1i.size_bytes"}, {good, "l2.line_bytes"}, {good, "dtlb.entries"}, {good, "l2.slices"},
                {good, "harts"},    {good, "mem.channels"},   {good, "mem.banks"},     {good, "l1d.prefetch"}, {good, "itlb.ways"}};
    rows[0].config.l1d.ways = 65;
    rows[1].config.l1i.size_bytes = 320;
    rows[2].config.l2.line_bytes = 32;
    rows[3].config.dtlb.entries = 3;
    rows[4].config.l2_slices = 3;
    rows[5].config.n_harts = 9;
    rows[6].config.mem_channels = 0;
    rows[7].config.mem.mem_banks = 5;
    rows[8].config.l1d = (tl_cache_config){.size_bytes = 256, .ways = 4, .line_bytes = 64, .prefetch = TL_PREFETCH_NEXT_LINE};
    rows[9].config.itlb = (tl_tlb_config){.entries = 3, .ways = 3, .replacement = TL_REPLACE_PLRU};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_error err = {TL_OK, ""};
        tl_memory *memory;
        assert_int_equal(tl_memory_new(&rows[i].config, NULL, NULL, NULL, NULL, &memory, &err), TL_EINVAL);
        if (!strstr(err.text, rows[i].key))
            fail_msg("\"%s\" does not name %s", err.text, rows[i].key);
    }
}

static void test_units_have_their_paths(void **state) {
    (void)state;
    tl_config config = tl_rig_config();
    config.l2_slices = 2;
    config.mem_channels = 2;
    config.n_harts = 2;
    static const char *const paths[] = {"l2.0", "l2.1", "noc", "mem0", "mem1", "bus", "dma", "link0", "link1"};
    assert_int_equal(tl_memory_n_units(&config), TL_COUNT_OF(paths));
    for (uint32_t i = 0; i < TL_COUNT_OF(paths); i++) {
        tl_memory_unit unit;
        tl_memory_unit_at(&config, i, &unit);
        assert_string_equal(unit.path, paths[i]);
    }
}

static void test_broken_identity_is_named(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_hart *h = start(&rig, &config);
    tl_error err;
    assert_true(h->port->load(h, BASE, 8));
    // No front-end counted the look-up.
    assert_int_equal(tl_memory_check_identities(rig.memory, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "L1D_LOAD_MISS"));
    h->tally[TL_S_L1D_LOAD] += 1;
    h->tally[TL_S_DTLB_ACCESS] += 1;
    assert_int_equal(tl_memory_check_identities(rig.memory, &err), TL_OK);
    rig.shared_tally[2][TL_MEM_READ] += 1;
    assert_int_equal(tl_memory_check_identities(rig.memory, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "mem.read"));
    tl_rig_stop(&rig);
}

// Two machines get equal accesses: one moves bytes, the other looks up. Clock and counts agree.
static void test_a_look_up_takes_the_time_of_its_access_and_moves_no_bytes(void **state) {
    (void)state;
    tl_rig moves, looks;
    tl_config config = tl_rig_config();
    tl_hart *a = start(&moves, &config), *b = start(&looks, &config);
    uint64_t random = 1;
    for (uint32_t i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const uint32_t size = 1u << (random >> 60 & 3);
        const bool is_store = random >> 59 & 1, is_aligned = random >> 57 & 3;
        const uint64_t offset = random >> 33 & 0x3fff, vaddr = BASE + (is_aligned ? offset & ~(uint64_t)(size - 1) : offset);
        const bool is_done = is_store ? a->port->store(a, vaddr, size, random) : a->port->load(a, vaddr, size);
        assert_int_equal(b->port->look_up(b, vaddr, size, is_store), is_done);
        assert_int_equal(a->now, b->now);
        assert_int_equal(a->stamp, b->stamp);
    }
    assert_memory_equal(a->tally, b->tally, TL_S_N_CELLS * sizeof *a->tally);
    assert_true(a->tally[TL_S_L1D_STORE_MISS] > 1000 && a->tally[TL_S_HART_LINE_CROSS] > 100);
    uint32_t n_written = 0;
    for (uint32_t i = 0; i < 0x4000; i++) {
        assert_int_equal(looks.ram[i], 0);
        n_written += moves.ram[i] != 0;
    }
    assert_true(n_written > 0x2000);
    tl_rig_stop(&moves);
    tl_rig_stop(&looks);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bytes_arrive_in_every_size_and_alignment),
    cmocka_unit_test(test_slot_shows_what_hits_and_nothing_else),
    cmocka_unit_test(test_misaligned_access_in_one_line_costs_its_penalty),
    cmocka_unit_test(test_crossing_access_looks_up_both_lines),
    cmocka_unit_test(test_crossing_access_that_traps_touches_no_data),
    cmocka_unit_test(test_atomics_compute_as_the_manual_says),
    cmocka_unit_test(test_a_look_up_takes_the_time_of_its_access_and_moves_no_bytes),
    cmocka_unit_test(test_misaligned_atomics_trap_before_any_look_up),
    cmocka_unit_test(test_fence_i_empties_the_instruction_cache),
    cmocka_unit_test(test_changed_code_leaves_every_instruction_cache),
    cmocka_unit_test(test_change_of_address_space_forgets_everything_translated),
    cmocka_unit_test(test_agents_name_the_hart_and_its_address_space),
    cmocka_unit_test(test_next_line_prefetch_follows_a_miss_for_free),
    cmocka_unit_test(test_next_line_prefetch_of_instructions_is_used_once),
    cmocka_unit_test(test_a_load_that_takes_a_line_from_the_l1i_says_so),
    cmocka_unit_test(test_prefetcher_of_the_l2_reads_memory_ahead),
    cmocka_unit_test(test_impossible_geometry_is_refused_by_name),
    cmocka_unit_test(test_units_have_their_paths),
    cmocka_unit_test(test_broken_identity_is_named),
};

TL_TEST_MAIN(tests)
