// SPDX-License-Identifier: MIT
// The read window: regions follow one another, parts of words are cut out of them, writes fault.
#include "dev/test_rig.h"

static const uint64_t UNKNOWN = UINT64_MAX;

static struct {
    uint32_t region;
    uint64_t offset, cycle;
} asked;

static const uint64_t REFUSED = UINT64_MAX - 1;

static tl_window_answer answer(void *ctx, uint32_t region, uint64_t offset, uint64_t cycle, uint64_t *ret_word) {
    asked.region = region;
    asked.offset = offset;
    asked.cycle = cycle;
    *ret_word = *(const uint64_t *)ctx;
    return *ret_word == UNKNOWN ? TL_WINDOW_LATER : *ret_word == REFUSED ? TL_WINDOW_REFUSED : TL_WINDOW_DONE;
}

// Stores what was stored, plus the region.
static tl_window_answer take(void *ctx, uint32_t region, uint64_t offset, uint64_t cycle, uint64_t word) {
    uint64_t unused;
    const tl_window_answer how = answer(ctx, region, offset, cycle, &unused);
    if (how == TL_WINDOW_DONE)
        *(uint64_t *)ctx = word + region;
    return how;
}

static void start(tl_rig *rig, uint64_t *word) {
    static const tl_read_region regions[] = {{"one", 0x1000}, {"two", 0x3000}};
    const tl_read_window what = {.regions = regions, .n_regions = 2, .ctx = word, .read = answer, .write = take};
    tl_rig_start(rig);
    tl_device_place place = tl_rig_place(rig, 0x7000000, 0);
    assert_int_equal(tl_read_window_new(&place, &what, &rig->device, NULL), TL_OK);
}

static void test_an_offset_names_its_region(void **state) {
    (void)state;
    uint64_t word = 0;
    tl_rig rig;
    start(&rig, &word);
    assert_true(rig.device->size_bytes == 0x4000);
    const struct {
        uint64_t offset, within;
        uint32_t region;
    } rows[] = {{0, 0, 0}, {0xff8, 0xff8, 0}, {0x1000, 0, 1}, {0x1008, 8, 1}, {0x3ff8, 0x2ff8, 1}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        rig.now = 1000 + i;
        (void)tl_rig_read(&rig, rows[i].offset, 8);
        assert_int_equal(asked.region, rows[i].region);
        assert_true(asked.offset == rows[i].within && asked.cycle == 1000 + i);
    }
    tl_rig_stop(&rig);
}

static void test_parts_of_a_word_are_cut_out_of_it(void **state) {
    (void)state;
    uint64_t word = UINT64_C(0x8877665544332211);
    tl_rig rig;
    start(&rig, &word);
    assert_true(tl_rig_read(&rig, 8, 8) == word);
    assert_true(tl_rig_read(&rig, 8, 4) == 0x44332211);
    assert_true(tl_rig_read(&rig, 12, 4) == 0x88776655);
    assert_true(tl_rig_read(&rig, 10, 2) == 0x4433);
    assert_true(tl_rig_read(&rig, 15, 1) == 0x88);
    assert_true(asked.offset == 8);
    tl_rig_stop(&rig);
}

static void test_a_word_that_nobody_knows_yet_lets_the_hart_wait(void **state) {
    (void)state;
    uint64_t word = UNKNOWN, value = 0;
    tl_rig rig;
    start(&rig, &word);
    assert_false(rig.device->type->read(rig.device, 0x1010, 8, &value));
    assert_int_equal(rig.n_waits, 1);
    word = 5;
    assert_true(tl_rig_read(&rig, 0x1010, 8) == 5);
    assert_int_equal(rig.n_waits, 1);
    tl_rig_stop(&rig);
}

static void test_a_store_is_answered_or_waits_or_faults(void **state) {
    (void)state;
    uint64_t word = 0;
    tl_rig rig;
    start(&rig, &word);
    assert_true(rig.device->type->write(rig.device, 0x1018, 8, 40));
    assert_true(word == 41 && asked.region == 1 && asked.offset == 0x18);
    assert_false(rig.device->type->write(rig.device, 0x1018, 4, 40)); // a word is 8 bytes
    word = UNKNOWN;
    assert_false(rig.device->type->write(rig.device, 8, 8, 1));
    assert_int_equal(rig.n_waits, 1);
    word = REFUSED;
    assert_false(rig.device->type->write(rig.device, 8, 8, 1));
    assert_int_equal(rig.n_waits, 1);
    assert_true(word == REFUSED);
    tl_rig_stop(&rig);
}

static void test_a_window_without_a_writer_refuses_stores(void **state) {
    (void)state;
    static const tl_read_region regions[] = {{"one", 0x1000}};
    uint64_t word = 0, value = 0;
    const tl_read_window what = {.regions = regions, .n_regions = 1, .ctx = &word, .read = answer};
    tl_rig rig;
    tl_rig_start(&rig);
    tl_device_place place = tl_rig_place(&rig, 0x7000000, 0);
    assert_int_equal(tl_read_window_new(&place, &what, &rig.device, NULL), TL_OK);
    assert_false(rig.device->type->write(rig.device, 0, 8, 1));
    word = REFUSED;
    assert_false(rig.device->type->read(rig.device, 0, 8, &value));
    assert_int_equal(rig.n_waits, 0);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_offset_names_its_region),
    cmocka_unit_test(test_parts_of_a_word_are_cut_out_of_it),
    cmocka_unit_test(test_a_word_that_nobody_knows_yet_lets_the_hart_wait),
    cmocka_unit_test(test_a_store_is_answered_or_waits_or_faults),
    cmocka_unit_test(test_a_window_without_a_writer_refuses_stores),
};
TL_TEST_MAIN(tests)
