// SPDX-License-Identifier: MIT
// The timer falls due in the very cycle that shows its time; ten cycles are one tick (test_rig.h).
#include "dev/test_rig.h"
#include "isa/rv/arch.h"

enum { MTIMECMP = 0x4000, MTIME = 0xbff8 };

static void start(tl_rig *rig, uint32_t n_harts) {
    tl_rig_start(rig);
    tl_device_place place = tl_rig_place(rig, 0x2000000, 0);
    assert_int_equal(tl_clint_new(&place, n_harts, &rig->device, NULL), TL_OK);
    tl_rig_tick(rig);
}

static void test_nothing_is_pending_at_power_on(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig, 2);
    assert_int_equal(rig.next_tick, UINT64_MAX);
    for (uint32_t hart = 0; hart < 2; hart++) {
        assert_false(rig.hart_line[hart][TL_IRQ_MTI]);
        assert_false(rig.hart_line[hart][TL_IRQ_MSI]);
        assert_int_equal(tl_rig_read(&rig, MTIMECMP + 8 * hart, 8), UINT64_MAX);
    }
    assert_int_equal(tl_rig_read(&rig, MTIME, 8), 0);
    tl_rig_stop(&rig);
}

static void test_msip_is_the_software_interrupt_of_its_hart(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig, 3);
    tl_rig_write(&rig, 4, 4, 0xffffffff);
    assert_int_equal(tl_rig_read(&rig, 4, 4), 1); // the other bits are 0
    assert_true(rig.hart_line[1][TL_IRQ_MSI]);
    assert_false(rig.hart_line[0][TL_IRQ_MSI] || rig.hart_line[2][TL_IRQ_MSI]);
    tl_rig_write(&rig, 4, 4, 0xfffffffe);
    assert_false(rig.hart_line[1][TL_IRQ_MSI]);
    tl_rig_write(&rig, 12, 4, 1); // no such hart
    assert_int_equal(tl_rig_read(&rig, 12, 4), 0);
    tl_rig_stop(&rig);
}

static void test_timer_rises_in_the_cycle_that_shows_its_time(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig, 2);
    tl_rig_advance(&rig, 1234); // mtime 123
    assert_int_equal(tl_rig_read(&rig, MTIME, 8), 123);
    tl_rig_write(&rig, MTIMECMP + 8, 8, 130);
    assert_int_equal(rig.next_tick, 1300);
    tl_rig_advance(&rig, 1299);
    assert_int_equal(tl_rig_read(&rig, MTIME, 8), 129);
    assert_false(rig.hart_line[1][TL_IRQ_MTI]);
    tl_rig_advance(&rig, 1300);
    assert_int_equal(tl_rig_read(&rig, MTIME, 8), 130);
    assert_true(rig.hart_line[1][TL_IRQ_MTI]);
    assert_false(rig.hart_line[0][TL_IRQ_MTI]);
    tl_rig_write(&rig, MTIMECMP + 8, 8, 131); // acknowledges: the level is mtime >= mtimecmp
    assert_false(rig.hart_line[1][TL_IRQ_MTI]);
    assert_int_equal(rig.next_tick, 1310);
    tl_rig_write(&rig, MTIMECMP + 8, 8, 130); // in the past: at once
    assert_true(rig.hart_line[1][TL_IRQ_MTI]);
    tl_rig_stop(&rig);
}

static void test_earliest_timer_is_asked_for(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig, 3);
    tl_rig_write(&rig, MTIMECMP + 0, 8, 70);
    tl_rig_write(&rig, MTIMECMP + 8, 8, 50);
    tl_rig_write(&rig, MTIMECMP + 16, 8, 60);
    assert_int_equal(rig.next_tick, 500);
    tl_rig_advance(&rig, 550);
    assert_int_equal(rig.next_tick, 600);
    assert_true(!rig.hart_line[0][TL_IRQ_MTI] && rig.hart_line[1][TL_IRQ_MTI] && !rig.hart_line[2][TL_IRQ_MTI]);
    tl_rig_advance(&rig, 700);
    assert_true(rig.hart_line[0][TL_IRQ_MTI] && rig.hart_line[1][TL_IRQ_MTI] && rig.hart_line[2][TL_IRQ_MTI]);
    assert_int_equal(rig.n_ticks, 1 + 3 + 3); // at the start, after each write, when each fell due
    tl_rig_stop(&rig);
}

static void test_halves_are_registers_of_their_own(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig, 1);
    tl_rig_write(&rig, MTIMECMP + 4, 4, 0x11223344);
    tl_rig_write(&rig, MTIMECMP, 4, 0x55667788);
    assert_int_equal(tl_rig_read(&rig, MTIMECMP, 8), 0x1122334455667788);
    assert_int_equal(tl_rig_read(&rig, MTIMECMP, 4), 0x55667788);
    assert_int_equal(tl_rig_read(&rig, MTIMECMP + 4, 4), 0x11223344);
    tl_rig_write(&rig, MTIME + 4, 4, 5);
    assert_int_equal(tl_rig_read(&rig, MTIME, 8), 5ull << 32);
    assert_int_equal(tl_rig_read(&rig, MTIME + 4, 4), 5);
    tl_rig_stop(&rig);
}

static void test_writing_mtime_moves_the_clock_and_the_timers(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig, 1);
    tl_rig_write(&rig, MTIMECMP, 8, 1000);
    tl_rig_advance(&rig, 100);
    tl_rig_write(&rig, MTIME, 8, 900);
    assert_int_equal(rig.time_offset, 890); // CSR time shows it, too
    assert_int_equal(rig.next_tick, 100 + 1000);
    tl_rig_write(&rig, MTIME, 8, 1000);
    assert_true(rig.hart_line[0][TL_IRQ_MTI]);
    tl_rig_write(&rig, MTIME, 8, 3);
    assert_false(rig.hart_line[0][TL_IRQ_MTI]);
    assert_int_equal(rig.time_offset, (uint64_t)3 - 10);
    assert_int_equal(rig.next_tick, 100 + 9970);
    tl_rig_stop(&rig);
}

static void test_timer_falls_when_mtime_wraps(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig, 1);
    tl_rig_write(&rig, MTIMECMP, 8, 5);
    tl_rig_write(&rig, MTIME, 8, UINT64_MAX - 1);
    assert_true(rig.hart_line[0][TL_IRQ_MTI]);
    assert_int_equal(rig.next_tick, 20);
    tl_rig_advance(&rig, 20);
    assert_int_equal(tl_rig_read(&rig, MTIME, 8), 0);
    assert_false(rig.hart_line[0][TL_IRQ_MTI]);
    assert_int_equal(rig.next_tick, 70);
    tl_rig_write(&rig, MTIMECMP, 8, 0); // always due
    assert_true(rig.hart_line[0][TL_IRQ_MTI]);
    assert_int_equal(rig.next_tick, UINT64_MAX);
    tl_rig_stop(&rig);
}

static void test_sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig, 1);
    assert_true(tl_rig_refuses(&rig, 0, 8));
    assert_true(tl_rig_refuses(&rig, 0, 1));
    assert_true(tl_rig_refuses(&rig, MTIMECMP, 2));
    assert_int_equal(tl_rig_read(&rig, 0xbff0, 8), 0); // reserved, as for harts that are not there
    tl_rig_write(&rig, 0xfff8, 8, 1);
    assert_int_equal(rig.device->size_bytes, 0x10000);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_nothing_is_pending_at_power_on),
    cmocka_unit_test(test_msip_is_the_software_interrupt_of_its_hart),
    cmocka_unit_test(test_timer_rises_in_the_cycle_that_shows_its_time),
    cmocka_unit_test(test_earliest_timer_is_asked_for),
    cmocka_unit_test(test_halves_are_registers_of_their_own),
    cmocka_unit_test(test_writing_mtime_moves_the_clock_and_the_timers),
    cmocka_unit_test(test_timer_falls_when_mtime_wraps),
    cmocka_unit_test(test_sizes_that_do_not_fit_are_refused),
};
TL_TEST_MAIN(tests)
