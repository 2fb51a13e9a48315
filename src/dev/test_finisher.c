// SPDX-License-Identifier: MIT
// The finisher: words that end a run, and the status of the run.
#include "dev/test_rig.h"

static void start(tl_rig *rig) {
    tl_rig_start(rig);
    tl_device_place place = tl_rig_place(rig, 0x100000, 0);
    assert_int_equal(tl_finisher_new(&place, &rig->device, NULL), TL_OK);
    rig->finish_status = -1;
}

static void test_words_end_the_run_with_their_status(void **state) {
    (void)state;
    const struct {
        uint32_t value;
        int32_t status;
    } rows[] = {
        {0x5555, 0}, {0x00075555, 0}, {0x00033333, 3}, {0xffff3333, 65535}, {0x3333, 1}, // no code: failed all the same
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_rig rig;
        start(&rig);
        tl_rig_write(&rig, 0, 4, rows[i].value);
        assert_true(rig.has_finished && !rig.has_reset);
        assert_int_equal(rig.finish_status, rows[i].status);
        tl_rig_stop(&rig);
    }
}

static void test_reset_is_told_apart(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    tl_rig_write(&rig, 0, 2, 0x7777);
    assert_true(rig.has_reset && !rig.has_finished);
    tl_rig_stop(&rig);
}

static void test_other_words_do_nothing(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    tl_rig_write(&rig, 0, 4, 0);
    tl_rig_write(&rig, 0, 4, 0x5554);
    tl_rig_write(&rig, 0, 1, 0x55);
    tl_rig_write(&rig, 4, 4, 0x5555);
    assert_false(rig.has_reset || rig.has_finished);
    assert_int_equal(tl_rig_read(&rig, 0, 4), 0);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_words_end_the_run_with_their_status),
    cmocka_unit_test(test_reset_is_told_apart),
    cmocka_unit_test(test_other_words_do_nothing),
};
TL_TEST_MAIN(tests)
