// SPDX-License-Identifier: MIT
#include <string.h>

#include "linux/process/clock.h"
#include "linux/test_rig.h"

enum { N = 500 };

static void fire(tl_os *os, tl_timer *timer) {
    (void)os;
    (void)timer;
}

static uint64_t next_random(uint64_t *random) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random >> 32;
}

static tl_timer *take_first(tl_os *os) {
    tl_timer *timer = os->timers[1];
    tl_timer_cancel(os, timer);
    return timer;
}

static void test_timers_come_by_cycle_and_then_in_the_order_of_arming(void **state) {
    (void)state;
    tl_os *os = tl_test_os_new(16 << 20);
    static tl_timer timers[N];
    uint64_t random = 7;
    memset(timers, 0, sizeof timers);
    for (int i = 0; i < N; ++i)
        assert_true(tl_timer_arm(os, &timers[i], next_random(&random) % 40, fire));
    for (int i = 0; i < N; i += 3)
        tl_timer_cancel(os, &timers[i]);
    for (int i = 0; i < N; i += 6) // moved: as if armed now
        assert_true(tl_timer_arm(os, &timers[i], next_random(&random) % 40, fire));
    uint64_t cycle = 0, sequence = 0;
    uint32_t n = 0;
    for (; os->n_timers > 0; ++n) {
        const tl_timer *timer = take_first(os);
        assert_true(timer->cycle > cycle || (timer->cycle == cycle && timer->sequence > sequence));
        cycle = timer->cycle;
        sequence = timer->sequence;
        assert_int_equal(timer->heap_index, 0);
    }
    assert_int_equal(n, N - (N + 2) / 3 + (N + 5) / 6);
    tl_test_os_free(os);
}

static void test_a_timer_in_the_past_fires_now(void **state) {
    (void)state;
    tl_os *os = tl_test_os_new(16 << 20);
    tl_timer timer = {0};
    os->now = 100;
    assert_true(tl_timer_arm(os, &timer, 7, fire));
    assert_int_equal(timer.cycle, 100);
    tl_timer_cancel(os, &timer);
    tl_timer_cancel(os, &timer); // twice is fine
    assert_int_equal(os->n_timers, 0);
    tl_test_os_free(os);
}

static void test_a_timer_that_is_due_never_is_not_armed(void **state) {
    (void)state;
    tl_os *os = tl_test_os_new(16 << 20);
    tl_timer timer = {0};
    assert_true(tl_timer_arm(os, &timer, 7, fire));
    assert_true(tl_timer_arm(os, &timer, UINT64_MAX, fire));
    assert_int_equal(os->n_timers, 0);
    assert_int_equal(timer.heap_index, 0);
    tl_test_os_free(os);
}

static void test_deadlines_are_never_early_and_saturate(void **state) {
    (void)state;
    tl_os *os = tl_test_os_new(16 << 20);
    os->clock_hz = 3;
    os->now = 10;
    assert_int_equal(tl_os_deadline(os, 1, 1), 14); // 3.000000003 cycles
    assert_int_equal(tl_os_deadline(os, UINT64_MAX, 0), TL_NO_DEADLINE);
    assert_int_equal(tl_os_absolute_deadline(os, false, 2, 0), 10);
    assert_int_equal(tl_os_absolute_deadline(os, false, 5, 0), 15);
    assert_int_equal(tl_os_absolute_deadline(os, true, TL_REALTIME_START_S + 5, 0), 15);
    assert_int_equal(tl_os_absolute_deadline(os, true, 5, 0), 10);
    assert_int_equal(tl_os_cycles_to_ns(os, 3), 1000000000);
    assert_int_equal(tl_os_cycles_to_ns(os, UINT64_MAX), INT64_MAX);
    assert_int_equal(tl_os_ns_to_cycles(os, INT64_MAX), UINT64_MAX); // the clock does not get there
    assert_int_equal(tl_os_ns_to_cycles(os, UINT64_MAX), UINT64_MAX);
    os->clock_hz = 1000000000;
    assert_int_equal(tl_os_ns_to_cycles(os, (UINT64_C(1) << 62) - 1), (UINT64_C(1) << 62) - 1);
    assert_int_equal(tl_os_ns_to_cycles(os, UINT64_C(1) << 62), UINT64_MAX);
    os->now = UINT64_C(1) << 61;
    assert_int_equal(tl_os_deadline(os, 2305843009, 0), os->now + 2305843009000000000);
    assert_int_equal(tl_os_deadline(os, 2305843010, 0), TL_NO_DEADLINE);
    assert_int_equal(tl_next_expiry(7, 5, 3), 22);
    assert_int_equal(tl_next_expiry(7, UINT64_MAX, 1), UINT64_MAX);
    assert_int_equal(tl_next_expiry(7, UINT64_MAX / 2, 3), UINT64_MAX);
    tl_test_os_free(os);
}

static void test_waking_takes_the_oldest_first_and_forgets_all_its_queues(void **state) {
    (void)state;
    tl_os *os = tl_test_os_new(16 << 20);
    tl_process p = {.os = os, .vm = tl_vm_new(os)};
    tl_thread threads[3];
    tl_wait_queue a = {0}, b = {0};
    memset(threads, 0, sizeof threads);
    for (int i = 0; i < 3; ++i) {
        threads[i] = (tl_thread){.os = os, .process = &p, .state = TL_THREAD_SLEEPING, .last_hart = -1, .deadline = TL_NO_DEADLINE};
        tl_wait_on(&threads[i], &a, "a test");
        tl_wait_on(&threads[i], &b, "a test");
    }
    os->now = 77;
    assert_int_equal(tl_wake(os, &a, 2), 2);
    assert_int_equal(threads[0].state, TL_THREAD_READY); // no affinity: no hart takes it
    assert_int_equal(threads[1].state, TL_THREAD_READY);
    assert_int_equal(threads[2].state, TL_THREAD_SLEEPING);
    assert_int_equal(threads[1].ready_cycle, 77);
    assert_ptr_equal(os->sched.first, &threads[0]);
    assert_ptr_equal(b.first->thread, &threads[2]);
    assert_null(b.first->next);
    tl_wait_queue_done(os, &b);
    assert_null(a.first);
    assert_ptr_equal(os->sched.last, &threads[2]);
    while (os->free_entries) {
        tl_wait_entry *entry = os->free_entries;
        os->free_entries = entry->next_of_thread;
        free(entry);
    }
    tl_vm_unref(p.vm);
    tl_test_os_free(os);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_timers_come_by_cycle_and_then_in_the_order_of_arming),
    cmocka_unit_test(test_a_timer_in_the_past_fires_now),
    cmocka_unit_test(test_a_timer_that_is_due_never_is_not_armed),
    cmocka_unit_test(test_deadlines_are_never_early_and_saturate),
    cmocka_unit_test(test_waking_takes_the_oldest_first_and_forgets_all_its_queues),
};

TL_TEST_MAIN(tests)
