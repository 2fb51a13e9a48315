// SPDX-License-Identifier: MIT
// PL011, PL031 and PL061 by their manuals: what drivers do with them.
#include "dev/test_rig.h"

enum { IRQ = 33 };
static void start_uart(tl_rig *rig) {
    tl_rig_start(rig);
    const tl_device_place place = tl_rig_place(rig, 0x9000000, IRQ);
    assert_int_equal(tl_pl011_new(&place, &rig->device, NULL), TL_OK);
    tl_rig_tick(rig);
}

static void test_the_uart_sends_while_it_is_enabled(void **state) {
    (void)state;
    tl_rig rig;
    start_uart(&rig);
    tl_rig_write(&rig, 0x00, 4, 'x');
    assert_int_equal(rig.n_output, 0);
    tl_rig_write(&rig, 0x30, 4, 0x301);
    tl_rig_write(&rig, 0x00, 1, 'o');
    tl_rig_write(&rig, 0x00, 4, 'k');
    assert_string_equal(rig.output, "ok");
    assert_int_equal(tl_rig_read(&rig, 0x18, 4) & 0xb8, 0x90); // empty both ways, not busy
    assert_int_equal(tl_rig_read(&rig, 0x3c, 4), 0x20);
    assert_false(rig.line[IRQ]);
    tl_rig_write(&rig, 0x38, 4, 0x20);
    assert_true(rig.line[IRQ]);
    tl_rig_write(&rig, 0x44, 4, 0x20);
    assert_false(rig.line[IRQ]);
    tl_rig_stop(&rig);
}

static void test_the_uart_receives_what_the_host_has(void **state) {
    (void)state;
    tl_rig rig;
    start_uart(&rig);
    rig.input = "abcde";
    tl_rig_write(&rig, 0x2c, 4, 0x10);   // FIFOs
    tl_rig_write(&rig, 0x34, 4, 1 << 3); // the receiver at a quarter: four bytes
    tl_rig_write(&rig, 0x38, 4, 0x50);
    tl_rig_write(&rig, 0x30, 4, 0x301);
    tl_rig_advance(&rig, TL_RIG_CLOCK_HZ / 500);
    assert_true(rig.line[IRQ]);
    assert_int_equal(tl_rig_read(&rig, 0x40, 4) & 0x10, 0x10);
    for (const char *c = "abcde"; *c; c++)
        assert_int_equal(tl_rig_read(&rig, 0x00, 4), *c);
    assert_int_equal(tl_rig_read(&rig, 0x18, 4) & 0x10, 0x10);
    assert_false(rig.line[IRQ]);
    tl_rig_stop(&rig);
}

static void test_a_lone_byte_raises_the_timeout(void **state) {
    (void)state;
    tl_rig rig;
    start_uart(&rig);
    rig.input = "z";
    tl_rig_write(&rig, 0x24, 4, 13); // 115200 baud
    tl_rig_write(&rig, 0x2c, 4, 0x10);
    tl_rig_write(&rig, 0x38, 4, 0x40);
    tl_rig_write(&rig, 0x30, 4, 0x301);
    tl_rig_advance(&rig, TL_RIG_CLOCK_HZ / 100);
    assert_int_equal(tl_rig_read(&rig, 0x40, 4), 0x40);
    assert_true(rig.line[IRQ]);
    assert_int_equal(tl_rig_read(&rig, 0x00, 4), 'z');
    assert_false(rig.line[IRQ]);
    tl_rig_stop(&rig);
}

static void test_the_clock_counts_seconds_and_has_an_alarm(void **state) {
    (void)state;
    tl_rig rig;
    tl_rig_start(&rig);
    const tl_device_place place = tl_rig_place(&rig, 0x9010000, IRQ);
    assert_int_equal(tl_pl031_new(&place, 1000, &rig.device, NULL), TL_OK);
    tl_rig_tick(&rig);
    tl_rig_advance(&rig, UINT64_C(3) * TL_RIG_CLOCK_HZ);
    assert_int_equal(tl_rig_read(&rig, 0x00, 4), 1003);
    tl_rig_write(&rig, 0x10, 4, 1);
    tl_rig_write(&rig, 0x04, 4, 1005);
    tl_rig_advance(&rig, UINT64_C(5) * TL_RIG_CLOCK_HZ - 1);
    assert_false(rig.line[IRQ]);
    tl_rig_advance(&rig, UINT64_C(5) * TL_RIG_CLOCK_HZ);
    assert_true(rig.line[IRQ]);
    tl_rig_write(&rig, 0x1c, 4, 1);
    assert_false(rig.line[IRQ]);
    tl_rig_write(&rig, 0x08, 4, 5000);
    assert_int_equal(tl_rig_read(&rig, 0x00, 4), 5000);
    tl_rig_stop(&rig);
}

static void test_power_control_acts_on_outputs(void **state) {
    (void)state;
    tl_rig rig;
    tl_rig_start(&rig);
    const tl_device_place place = tl_rig_place(&rig, 0x90b0000, 0);
    assert_int_equal(tl_pl061_new(&place, &rig.device, NULL), TL_OK);
    tl_rig_write(&rig, 0x3fc, 4, 0xff); // inputs
    assert_false(rig.has_finished || rig.has_reset);
    assert_int_equal(tl_rig_read(&rig, 0x3fc, 4), 0);
    tl_rig_write(&rig, 0x400, 4, 3);
    tl_rig_write(&rig, 2 << 2, 4, 0xff);
    assert_true(rig.has_reset && !rig.has_finished);
    tl_rig_write(&rig, 1 << 2, 4, 0xff);
    assert_true(rig.has_finished);
    assert_int_equal(rig.finish_status, 0);
    assert_int_equal(tl_rig_read(&rig, 0x3fc, 4), 3);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_uart_sends_while_it_is_enabled), cmocka_unit_test(test_the_uart_receives_what_the_host_has),
    cmocka_unit_test(test_a_lone_byte_raises_the_timeout),     cmocka_unit_test(test_the_clock_counts_seconds_and_has_an_alarm),
    cmocka_unit_test(test_power_control_acts_on_outputs),
};
TL_TEST_MAIN(tests)
