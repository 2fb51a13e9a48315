// SPDX-License-Identifier: MIT
// The snooper on a bus with a block of three counters, whose registers are plain memory here, and
// another device beside it.
#include "pmu/ccache/snooper.h"

#include "base/bits.h"
#include "base/testing.h"

enum { SELECT = 0x100, COUNTER = 0x200, WINDOW_BYTES = 0x1000 };
static const uint64_t BLOCK = 0x2010000, OTHER = 0x10000000;

static const tl_field whole[] = {{.name = "VALUE", .width_bits = 64, .access = TL_RW, .meaning = "Anything."}};
static const tl_reg regs[] = {
    {.name = "select#", .addr = SELECT, .high_addr = SELECT + 4, .count = 3, .stride = 8, .width_bits = 64, .n_fields = 1, .fields = whole},
    {.name = "counter#",
     .addr = COUNTER,
     .high_addr = COUNTER + 4,
     .count = 3,
     .stride = 8,
     .width_bits = 64,
     .n_fields = 1,
     .fields = whole},
};
static const tl_regmap map = {.space = "MMIO", .regs = regs, .n_regs = TL_COUNT_OF(regs)};
static const tl_pmu_type type = {.name = "block", .regmap = &map, .window_bytes = WINDOW_BYTES};

typedef struct rig {
    tl_arena arena;
    tl_pmu pmu;
    uint64_t stored[6], tally[2];
    tl_bus board;
    const tl_bus *bus;
    tl_snooper *snooper;
    const tl_snooper_log *log;
} rig;

static const tl_agent HART = {.kind = TL_AGENT_HART_DATA};

static bool board_read(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    assert_ptr_equal(agent, &HART); // the device learns the agent
    *ret_value = 0x55;
    return paddr == OTHER || tl_pmu_load(ctx, paddr - BLOCK, size_bytes, ret_value);
}

static bool board_write(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    assert_ptr_equal(agent, &HART); // the device learns the agent
    return paddr == OTHER || tl_pmu_store(ctx, paddr - BLOCK, size_bytes, value);
}

static void start(rig *r, uint64_t period_cycles) {
    tl_error err = {0};
    *r = (rig){.pmu = {.type = &type}};
    r->pmu.file = (tl_regfile){.map = &map, .stored = r->stored, .access_bits = 64};
    r->board = (tl_bus){.ctx = &r->pmu, .read = board_read, .write = board_write};
    const tl_snooper_target target = {.pmu = &r->pmu,
                                      .paddr = BLOCK,
                                      .select_offset = SELECT,
                                      .counter_offset = COUNTER,
                                      .n_counters = 3,
                                      .watched_tally = &r->tally[0],
                                      .read_tally = &r->tally[1]};
    if (tl_snooper_new(&target, period_cycles, &r->arena, &r->snooper, &err) != TL_OK)
        fail_msg("%s", err.text);
    r->bus = tl_snooper_watch(r->snooper, &r->board);
    r->log = tl_snooper_log_of(r->snooper);
}

static uint64_t read(rig *r, uint64_t paddr, uint32_t size_bytes) {
    uint64_t value = 0;
    assert_true(r->bus->read(r->bus->ctx, &HART, paddr, size_bytes, &value));
    return value;
}

static void write(rig *r, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    assert_true(r->bus->write(r->bus->ctx, &HART, paddr, size_bytes, value));
}

static void test_every_answer_on_the_bus_is_seen_and_unchanged(void **state) {
    (void)state;
    rig r;
    start(&r, 1000);
    write(&r, BLOCK + SELECT + 8, 8, 0x4001);
    r.stored[3 + 1] = 77; // the counter has counted
    assert_int_equal(read(&r, BLOCK + COUNTER + 8, 8), 77);
    assert_int_equal(read(&r, BLOCK + COUNTER + 8, 8), 77);
    assert_int_equal(read(&r, OTHER, 4), 0x55);
    write(&r, OTHER, 4, 9);
    uint64_t value;
    // No device answers, so there is nothing to see.
    assert_false(r.bus->read(r.bus->ctx, &HART, BLOCK + WINDOW_BYTES, 8, &value));
    assert_false(r.bus->write(r.bus->ctx, &HART, BLOCK + COUNTER, 2, 0));
    assert_int_equal(r.log->n_beats, 5);
    assert_int_equal(r.tally[0], 5);
    assert_int_equal(r.log->n_watched, 2);
    assert_int_equal(r.log->n_watched_new, 1); // the second reading found nothing new
    assert_int_equal(r.log->n_configured, 1);
    assert_int_equal(r.log->selects[1], 0x4001);
    assert_int_equal(r.log->values[1], 77);
    assert_int_equal(r.log->known, 2);
    assert_int_equal(r.log->n_read + r.tally[1], 0); // no reading yet
    tl_arena_done(&r.arena);
}

static void test_halves_are_put_together(void **state) {
    (void)state;
    rig r;
    start(&r, 1000);
    r.stored[3 + 2] = UINT64_C(0x1122334455667788);
    assert_int_equal(read(&r, BLOCK + COUNTER + 16, 4), 0x55667788);
    assert_int_equal(read(&r, BLOCK + COUNTER + 20, 4), 0x11223344);
    assert_int_equal(r.log->values[2], UINT64_C(0x1122334455667788));
    assert_int_equal(r.log->n_watched_new, 2);
    write(&r, BLOCK + COUNTER + 20, 4, 7); // a hart's write is known, too, but is no answer
    assert_int_equal(r.log->values[2], UINT64_C(0x755667788));
    assert_int_equal(r.log->n_watched, 2);
    tl_arena_done(&r.arena);
}

static void test_it_reads_what_counts_without_anybody_asking(void **state) {
    (void)state;
    rig r;
    start(&r, 100);
    assert_int_equal(tl_snooper_look(r.snooper, 0), 100);
    assert_int_equal(tl_snooper_look(r.snooper, 99), 100);
    assert_int_equal(r.log->n_looks, 0);
    r.stored[0] = 0x4001;
    r.stored[2] = 0x2002;
    r.stored[3] = 5;
    assert_int_equal(tl_snooper_look(r.snooper, 100), 200);
    assert_int_equal(r.log->n_looks, 1);
    assert_int_equal(r.log->n_read, 2); // counters 0 and 2; 1 is stopped
    assert_int_equal(r.log->n_read_new, 2);
    assert_int_equal(r.tally[1], 5); // three selectors, two counters
    r.stored[3] = 6;
    assert_int_equal(tl_snooper_look(r.snooper, 250), 300);
    assert_int_equal(r.log->n_read, 4);
    assert_int_equal(r.log->n_read_new, 3);
    assert_int_equal(r.log->values[0], 6);
    assert_int_equal(r.log->selects[2], 0x2002);
    tl_arena_done(&r.arena);
}

static void test_looks_that_nobody_made_in_time_are_made_up_for(void **state) {
    (void)state;
    rig late, prompt;
    start(&late, 100);
    start(&prompt, 100);
    late.stored[0] = prompt.stored[0] = 0x4001;
    for (uint64_t now = 0; now <= 1050; now++)
        (void)tl_snooper_look(prompt.snooper, now);
    assert_int_equal(tl_snooper_look(late.snooper, 1050), 1100);
    assert_int_equal(late.log->n_looks, 10);
    assert_memory_equal(late.log, prompt.log, sizeof *late.log);
    assert_int_equal(late.tally[1], prompt.tally[1]);
    tl_arena_done(&late.arena);
    tl_arena_done(&prompt.arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_answer_on_the_bus_is_seen_and_unchanged),
    cmocka_unit_test(test_halves_are_put_together),
    cmocka_unit_test(test_it_reads_what_counts_without_anybody_asking),
    cmocka_unit_test(test_looks_that_nobody_made_in_time_are_made_up_for),
};
TL_TEST_MAIN(tests)
