// SPDX-License-Identifier: MIT
// A memory channel: rows, banks, and one line at a time. tl_rig_config(): 4 banks, rows of 1024
// bytes, hit 100, miss 200, conflict 400, busy 7.
#include "mem/dram.h"
#include "mem/test_rig.h"

static const uint64_t ROW = 1024, BANKS = 4;
static const tl_agent READER = {.kind = TL_AGENT_HART_DATA};

static void test_rows_hit_miss_and_conflict(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_dram *dram = &rig.memory->l2.dram;
    uint64_t *tally = rig.shared_tally[2], base = TL_RAM_BASE_PADDR;
    assert_int_equal(tl_dram_read(dram, &READER, base, 0), 200); // nothing open
    // The row's last line.
    assert_int_equal(tl_dram_read(dram, &READER, base + ROW - 64, 1000), 100);
    assert_int_equal(tl_dram_read(dram, &READER, base + ROW, 2000), 200); // the next bank
    assert_int_equal(tl_dram_read(dram, &READER, base, 3000), 100);       // still open
    // Another row there.
    assert_int_equal(tl_dram_read(dram, &READER, base + ROW * BANKS, 4000), 400);
    assert_int_equal(tl_dram_read(dram, &READER, base, 5000), 400); // and back
    // A write opens it.
    tl_dram_write(dram, &READER, base + ROW * BANKS, 6000);
    assert_int_equal(tl_dram_read(dram, &READER, base + ROW * BANKS + 128, 7000), 100);
    assert_int_equal(tally[TL_MEM_READ], 7);
    assert_int_equal(tally[TL_MEM_WRITE], 1);
    assert_int_equal(tally[TL_MEM_ROW_HIT], 3);
    assert_int_equal(tally[TL_MEM_ROW_MISS], 2);
    assert_int_equal(tally[TL_MEM_ROW_CONFLICT], 3);
    assert_int_equal(tally[TL_MEM_BUSY], 0);
    tl_rig_stop(&rig);
}

static void test_lines_are_dealt_out_to_channels(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.mem_channels = 2;
    tl_rig_start(&rig, &config);
    tl_dram *dram = &rig.memory->l2.dram;
    uint64_t base = TL_RAM_BASE_PADDR;
    // A row holds 16 lines of its own channel, so it spans 32 lines of memory.
    assert_int_equal(tl_dram_read(dram, &READER, base, 0), 200);
    // The other channel has no wait and rows of its own.
    assert_int_equal(tl_dram_read(dram, &READER, base + 64, 0), 200);
    assert_int_equal(tl_dram_read(dram, &READER, base + 30 * 64, 1000), 100);
    assert_int_equal(tl_dram_read(dram, &READER, base + 32 * 64, 2000), 200); // next row, next bank
    assert_int_equal(rig.shared_tally[2][TL_MEM_READ], 3);
    assert_int_equal(rig.shared_tally[3][TL_MEM_READ], 1);
    tl_rig_stop(&rig);
}

static void test_busy_channel_is_waited_for(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_dram *dram = &rig.memory->l2.dram;
    uint64_t *tally = rig.shared_tally[2], base = TL_RAM_BASE_PADDR;
    assert_int_equal(tl_dram_read(dram, &READER, base, 1000), 200);     // busy until 1007
    assert_int_equal(tl_dram_read(dram, &READER, base, 1003), 4 + 100); // served from 1007 to 1014
    // The write takes 1014 to 1021, and nobody waits for it.
    tl_dram_write(dram, &READER, base, 1010);
    assert_int_equal(tally[TL_MEM_BUSY], 4);
    // A prefetch, for which nobody waits.
    assert_int_equal(tl_dram_read_aside(dram, &READER, base, 1020), 1 + 100);
    assert_int_equal(tally[TL_MEM_BUSY], 4);
    assert_int_equal(tl_dram_read(dram, &READER, base, 1028), 100); // free since then
    // An access from before the last one does not wait.
    assert_int_equal(tl_dram_read(dram, &READER, base, 1027), 100);
    assert_int_equal(tally[TL_MEM_BUSY], 4);
    tl_rig_stop(&rig);
}

static void test_miss_reads_before_it_writes_back(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.l2 = (tl_cache_config){.size_bytes = 256, .ways = 1, .line_bytes = 64};
    tl_rig_start(&rig, &config);
    tl_hart *h = rig.harts[0];
    uint64_t *tally = rig.shared_tally[2], base = TL_RAM_BASE_PADDR;
    assert_true(h->port->store(h, base, 8, 1)); // row 0 of bank 0: miss, 11 + 200
    assert_int_equal(h->now, 211);
    // Displaces it in L1 and L2. Row 1 is read: a conflict.
    assert_true(h->port->load(h, base + ROW * BANKS, 8));
    assert_int_equal(h->now, 211 + 411);
    assert_int_equal(tally[TL_MEM_WRITE], 1); // then row 0 is written: conflict
    assert_int_equal(tally[TL_MEM_ROW_CONFLICT], 2);
    assert_true(h->port->load(h, base + 64, 8)); // so row 0 is open
    assert_int_equal(h->now, 211 + 411 + 111);
    tl_rig_stop(&rig);
}

static void test_row_as_large_as_memory_is_open_after_its_first_line(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    config.mem.mem_row_bytes = 512 << 20; // RAM begins in row 4, which is the second row of bank 0
    tl_rig_start(&rig, &config);
    assert_int_equal(tl_dram_read(&rig.memory->l2.dram, &READER, TL_RAM_BASE_PADDR, 0), 200);
    assert_int_equal(tl_dram_read(&rig.memory->l2.dram, &READER, tl_rig_paddr(config.ram_bytes - 64), 1000), 100);
    assert_int_equal(rig.shared_tally[2][TL_MEM_ROW_HIT], 1);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows_hit_miss_and_conflict),
    cmocka_unit_test(test_lines_are_dealt_out_to_channels),
    cmocka_unit_test(test_busy_channel_is_waited_for),
    cmocka_unit_test(test_miss_reads_before_it_writes_back),
    cmocka_unit_test(test_row_as_large_as_memory_is_open_after_its_first_line),
};

TL_TEST_MAIN(tests)
