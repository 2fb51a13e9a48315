// SPDX-License-Identifier: MIT
// The second level alone. Its clients are stand-ins that write down their orders, so nothing here
// has a hart.
#include "mem/l2.h"

#include <string.h>

#include "base/testing.h"

// Two data caches of two agents, and the instruction cache of the first.
enum { N_CLIENTS = 3, LINE_LOG2 = 6 };

typedef struct stand_in {
    tl_l2_client client;
    uint64_t link[TL_LINK_N_SIGNALS];
    bool has_data; // what it answers to the next probe
    uint32_t n_probes, n_notes;
    uint64_t probed_line, noted_time;
    uint8_t keep;
} stand_in;

typedef struct fixture {
    tl_arena arena;
    tl_l2 l2;
    stand_in clients[N_CLIENTS];
    uint64_t tally[TL_L2_N_SIGNALS], noc[TL_NOC_N_SIGNALS], channel[TL_MEM_N_SIGNALS];
} fixture;

static const uint64_t X = UINT64_C(0x80000400);

static bool probe(tl_l2_client *client, uint64_t line, uint8_t keep) {
    stand_in *s = (stand_in *)client;
    s->n_probes += 1;
    s->probed_line = line;
    s->keep = keep;
    return s->has_data;
}

static bool used_lately(const tl_l2_client *client, uint64_t line, bool only_changed) {
    const stand_in *s = (const stand_in *)client;
    return line == X && (!only_changed || s->has_data);
}

static void note_sharing(tl_l2_client *client, uint64_t time) {
    stand_in *s = (stand_in *)client;
    s->n_notes += 1;
    s->noted_time = time;
}

// One slice of two sets and two ways. A hit takes 11 cycles, memory 200 when no row is open, a
// probe 17.
static void start(fixture *f) {
    static const tl_l2_client_type type = {.probe = probe, .used_lately = used_lately, .note_sharing = note_sharing};
    static const tl_agent agents[N_CLIENTS] = {
        {.kind = TL_AGENT_HART_DATA, .id = 0}, {.kind = TL_AGENT_HART_DATA, .id = 1}, {.kind = TL_AGENT_HART_FETCH, .id = 0}};
    memset(f, 0, sizeof *f);
    tl_l2 *l2 = &f->l2;
    l2->line_log2 = LINE_LOG2;
    l2->hit_cycles = 11;
    l2->probe_cycles = 17;
    l2->upgrade_cycles = 13;
    l2->lines = tl_arena_alloc(&f->arena, 4 * sizeof *l2->lines);
    l2->contested_at = tl_arena_alloc(&f->arena, 4 * sizeof *l2->contested_at);
    l2->noc = f->noc;
    l2->slices[0].tally = f->tally;
    uint64_t *stamps = tl_arena_alloc(&f->arena, 4 * sizeof *stamps);
    assert_true(l2->lines && l2->contested_at && stamps);
    assert_true(tl_cache_init(&l2->slices[0].cache, &f->arena, 2, 2, LINE_LOG2, LINE_LOG2, TL_REPLACE_LRU, stamps, &l2->clock, 1));
    l2->dram = (tl_dram){.line_log2 = LINE_LOG2, .row_shift = 20, .row_cycles = {100, 200, 400}};
    l2->dram.channels[0].tally = f->channel;
    l2->dram.channels[0].open_rows = tl_arena_alloc(&f->arena, sizeof(uint64_t));
    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        f->clients[i].client = (tl_l2_client){.type = &type, .link = f->clients[i].link, .agent = agents[i]};
        tl_l2_add_client(l2, &f->clients[i].client, i == 2 ? TL_L2_INSTRUCTION_CACHE : TL_L2_DATA_CACHE);
    }
}

static tl_l2_reply to_read(fixture *f, uint32_t i, uint64_t line, uint64_t time) {
    tl_l2_client *client = &f->clients[i].client;
    return tl_l2_acquire_to_read(client, &client->agent, line, tl_l2_find(&f->l2, line), time);
}

static tl_l2_reply to_write(fixture *f, uint32_t i, uint64_t line, uint64_t time) {
    tl_l2_client *client = &f->clients[i].client;
    return tl_l2_acquire_to_write(client, &client->agent, line, tl_l2_find(&f->l2, line), time);
}

static tl_l2_reply get(fixture *f, uint32_t i, uint64_t line, uint64_t time) {
    tl_l2_client *client = &f->clients[i].client;
    return tl_l2_get(client, &client->agent, line, tl_l2_find(&f->l2, line), time);
}

static void expect_probe(fixture *f, uint32_t i, uint64_t line, uint8_t keep) {
    assert_int_equal(f->clients[i].n_probes, 1);
    assert_int_equal(f->clients[i].probed_line, line);
    assert_int_equal(f->clients[i].keep, keep);
    f->clients[i].n_probes = 0;
}

static void test_owner_is_probed_and_keeps_a_copy(void **state) {
    (void)state;
    fixture f;
    start(&f);
    tl_l2_reply reply = to_write(&f, 0, X, 1000);
    assert_int_equal(reply.cycles, 11 + 200);
    assert_int_equal(reply.state, TL_LINE_M);
    f.clients[0].has_data = true;
    reply = to_read(&f, 1, X, 2000);
    assert_int_equal(reply.cycles, 11 + 17);
    assert_int_equal(reply.state, TL_LINE_S);
    assert_true(reply.is_contested);
    expect_probe(&f, 0, X, TL_LINE_S);
    assert_int_equal(f.clients[0].link[TL_LINK_PROBE_LOAD], 1);
    assert_int_equal(f.clients[0].link[TL_LINK_RELEASE_DATA_TB], 1);
    assert_int_equal(f.tally[TL_L2_WRITE], 1);
    for (uint32_t i = 0; i < 2; i++) { // who asked, and who was probed
        assert_int_equal(f.clients[i].n_notes, 1);
        assert_int_equal(f.clients[i].noted_time, 2000);
    }
    assert_int_equal(f.clients[2].n_notes, 0);
    tl_arena_done(&f.arena);
}

static void test_writer_takes_the_line_from_data_caches_alone(void **state) {
    (void)state;
    fixture f;
    start(&f);
    assert_int_equal(to_read(&f, 0, X, 1000).state, TL_LINE_E);
    (void)get(&f, 2, X, 2000);
    expect_probe(&f, 0, X, TL_LINE_S);         // it might have written
    assert_int_equal(f.clients[0].n_notes, 0); // both are caches of one hart
    tl_l2_reply reply = to_write(&f, 1, X, 3000);
    assert_int_equal(reply.cycles, 11 + 17);
    expect_probe(&f, 0, X, TL_LINE_I);
    assert_int_equal(f.clients[2].n_probes, 0);
    const tl_l2_line *entry = &f.l2.lines[reply.l2_way];
    assert_int_equal(entry->sharers, f.clients[1].client.bit | f.clients[2].client.bit);
    assert_true(entry->is_owned);
    tl_arena_done(&f.arena);
}

static void test_permission_costs_no_probe_when_nobody_else_has_the_line(void **state) {
    (void)state;
    fixture f;
    start(&f);
    tl_l2_client *first = &f.clients[0].client;
    (void)to_read(&f, 0, X, 1000);
    tl_l2_reply reply = to_read(&f, 1, X, 2000);
    tl_l2_release(&f.clients[1].client, reply.l2_way);
    assert_int_equal(f.clients[1].link[TL_LINK_RELEASE_BN], 1);
    assert_int_equal(tl_l2_acquire_permission(first, &first->agent, X, reply.l2_way, 3000), 13);
    assert_true(f.l2.lines[reply.l2_way].is_owned);
    assert_int_equal(f.clients[1].n_probes, 0);
    tl_arena_done(&f.arena);
}

static void test_eviction_and_device_take_every_copy(void **state) {
    (void)state;
    fixture f;
    start(&f);
    static const tl_agent device = {.kind = TL_AGENT_DEVICE};
    (void)get(&f, 2, X, 1000);
    (void)to_read(&f, 1, X, 2000);
    (void)to_read(&f, 0, X + 0x80, 3000); // the other way of the set
    (void)to_read(&f, 0, X + 0x100, 4000);
    expect_probe(&f, 1, X, TL_LINE_I);
    expect_probe(&f, 2, X, TL_LINE_I);
    assert_int_equal(f.tally[TL_L2_BACK_INVALIDATE], 2);
    assert_int_equal(tl_l2_find(&f.l2, X), TL_NO_WAY);
    f.clients[0].has_data = true;
    tl_l2_dma(&f.l2, &device, X + 0x80, TL_DMA_PUT_FULL, 5000);
    expect_probe(&f, 0, X + 0x80, TL_LINE_I);
    assert_int_equal(f.clients[0].link[TL_LINK_PROBE_TAKE], 1);
    assert_int_equal(f.l2.lines[tl_l2_find(&f.l2, X + 0x80)].sharers, 0);
    for (uint32_t i = 0; i < N_CLIENTS; i++)
        assert_int_equal(f.clients[i].n_notes, 0); // no hart asked for a line of another
    tl_arena_done(&f.arena);
}

// Requests of a walker go through the data cache of its hart, and are counted as its hart's.
static void test_request_is_counted_for_its_agent(void **state) {
    (void)state;
    fixture f;
    start(&f);
    static const tl_agent walker = {.kind = TL_AGENT_WALKER, .id = 3};
    tl_l2_reply reply = tl_l2_acquire_to_read(&f.clients[1].client, &walker, X, TL_NO_WAY, 1000);
    assert_int_equal(f.tally[TL_L2_READ_HART0 + 3], 1);
    assert_int_equal(f.tally[TL_L2_READMISS_HART0 + 3], 1);
    assert_int_equal(f.tally[TL_L2_READ_HART0 + 1], 0);
    assert_int_equal(f.l2.lines[reply.l2_way].sharers, f.clients[1].client.bit);
    assert_int_equal(f.clients[1].link[TL_LINK_ACQUIRE_NB_MISS], 1);
    tl_arena_done(&f.arena);
}

// Requests read and write an entry as one word.
static void test_word_of_an_entry_has_its_fields(void **state) {
    (void)state;
    assert_int_equal(((tl_l2_line){.sharers = TL_L2_ALL_CLIENTS}).word, TL_L2_ALL_CLIENTS);
    assert_int_equal(((tl_l2_line){.is_owned = true}).word, TL_L2_WORD_OWNED);
    assert_int_equal(((tl_l2_line){.is_contested = true}).word, TL_L2_WORD_CONTESTED);
    assert_true(tl_l2_is_free(&(tl_l2_line){.is_dirty = true, .is_prefetched = true, .is_present = true}));
    assert_true(tl_l2_is_free(&(tl_l2_line){.sharers = 1u << TL_L2_MAX_DATA_CACHES}));
    assert_false(tl_l2_is_free(&(tl_l2_line){.sharers = 1u << (TL_L2_MAX_DATA_CACHES - 1)}));
    assert_false(tl_l2_is_free(&(tl_l2_line){.is_contested = true}));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_owner_is_probed_and_keeps_a_copy),
    cmocka_unit_test(test_writer_takes_the_line_from_data_caches_alone),
    cmocka_unit_test(test_permission_costs_no_probe_when_nobody_else_has_the_line),
    cmocka_unit_test(test_eviction_and_device_take_every_copy),
    cmocka_unit_test(test_request_is_counted_for_its_agent),
    cmocka_unit_test(test_word_of_an_entry_has_its_fields),
};

TL_TEST_MAIN(tests)
