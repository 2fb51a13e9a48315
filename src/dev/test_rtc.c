// SPDX-License-Identifier: MIT
// The clock: a date plus the machine's time, at 10 ns per cycle (test_rig.h), and its alarm.
#include "dev/test_rig.h"

enum {
    TIME_LOW = 0,
    TIME_HIGH = 4,
    ALARM_LOW = 8,
    ALARM_HIGH = 0xc,
    IRQ_ENABLED = 0x10,
    CLEAR_ALARM = 0x14,
    ALARM_STATUS = 0x18,
    CLEAR_INTERRUPT = 0x1c
};
enum { IRQ = 11 };
static const uint64_t START_S = 1704067200, NS = 1000000000;

static void start(tl_rig *rig) {
    tl_rig_start(rig);
    tl_device_place place = tl_rig_place(rig, 0x101000, IRQ);
    assert_int_equal(tl_rtc_new(&place, START_S, &rig->device, NULL), TL_OK);
}

static uint64_t read_time(tl_rig *rig) {
    uint64_t low = tl_rig_read(rig, TIME_LOW, 4);
    return low | tl_rig_read(rig, TIME_HIGH, 4) << 32;
}

static void set_alarm(tl_rig *rig, uint64_t ns) {
    tl_rig_write(rig, ALARM_HIGH, 4, ns >> 32);
    tl_rig_write(rig, ALARM_LOW, 4, ns & UINT32_MAX);
}

static void test_time_is_the_date_plus_what_has_run(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    assert_int_equal(read_time(&rig), START_S * NS);
    rig.now = 7 * (uint64_t)TL_RIG_CLOCK_HZ + 3;
    assert_int_equal(read_time(&rig), (START_S + 7) * NS + 30);
    tl_rig_stop(&rig);
}

static void test_low_half_latches_the_high_one(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    uint64_t low = tl_rig_read(&rig, TIME_LOW, 4);
    rig.now = 100 * (uint64_t)TL_RIG_CLOCK_HZ; // the high half grows every 4.3 s
    assert_int_equal(low | tl_rig_read(&rig, TIME_HIGH, 4) << 32, START_S * NS);
    tl_rig_stop(&rig);
}

static void test_time_can_be_set(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    rig.now = 1000;
    uint64_t wanted = UINT64_C(1999999999123456789);
    tl_rig_write(&rig, TIME_HIGH, 4, wanted >> 32);
    tl_rig_write(&rig, TIME_LOW, 4, wanted & UINT32_MAX);
    assert_int_equal(read_time(&rig), wanted);
    rig.now = 1005;
    assert_int_equal(read_time(&rig), wanted + 50);
    tl_rig_stop(&rig);
}

static void test_alarm_interrupts_in_its_cycle(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_alarm(&rig, START_S * NS + 12345); // cycle 1235 is the first at or after it
    tl_rig_write(&rig, IRQ_ENABLED, 4, 1);
    assert_int_equal(tl_rig_read(&rig, ALARM_STATUS, 4), 1);
    assert_int_equal(rig.next_tick, 1235);
    tl_rig_advance(&rig, 1234);
    assert_false(rig.line[IRQ]);
    tl_rig_advance(&rig, 1235);
    assert_true(rig.line[IRQ]);
    assert_int_equal(tl_rig_read(&rig, ALARM_STATUS, 4), 0);
    assert_int_equal(rig.next_tick, UINT64_MAX);
    tl_rig_write(&rig, CLEAR_INTERRUPT, 4, 0);
    assert_false(rig.line[IRQ]);
    tl_rig_stop(&rig);
}

static void test_an_alarm_in_the_past_rings_at_once(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_alarm(&rig, 5);
    assert_false(rig.line[IRQ]); // rung, but not enabled
    tl_rig_write(&rig, IRQ_ENABLED, 4, 1);
    assert_true(rig.line[IRQ]);
    tl_rig_write(&rig, IRQ_ENABLED, 4, 0);
    assert_false(rig.line[IRQ]);
    tl_rig_stop(&rig);
}

static void test_a_cleared_alarm_does_not_ring(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    tl_rig_write(&rig, IRQ_ENABLED, 4, 1);
    set_alarm(&rig, START_S * NS + 100);
    tl_rig_write(&rig, CLEAR_ALARM, 4, 1);
    assert_int_equal(rig.next_tick, UINT64_MAX);
    tl_rig_advance(&rig, 1000);
    assert_false(rig.line[IRQ]);
    set_alarm(&rig, UINT64_MAX); // beyond the clock's range, not in it by overflow
    assert_int_equal(rig.line[IRQ], false);
    assert_true(tl_rig_refuses(&rig, TIME_LOW, 8));
    assert_int_equal(tl_rig_read(&rig, 0x800, 4), 0);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_time_is_the_date_plus_what_has_run),
    cmocka_unit_test(test_low_half_latches_the_high_one),
    cmocka_unit_test(test_time_can_be_set),
    cmocka_unit_test(test_alarm_interrupts_in_its_cycle),
    cmocka_unit_test(test_an_alarm_in_the_past_rings_at_once),
    cmocka_unit_test(test_a_cleared_alarm_does_not_ring),
};
TL_TEST_MAIN(tests)
