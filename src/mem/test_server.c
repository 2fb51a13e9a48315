// SPDX-License-Identifier: MIT
// A server with a calendar, beside a model that has a byte for each cycle.
#include "mem/server.h"

#include <string.h>

#include "base/testing.h"

enum { N_CYCLES = 1 << 20, N_CALENDAR = 1 << 12 };

static uint64_t next_random(uint64_t *state) { // xorshift64
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static tl_server server_with_calendar(uint64_t *bits) {
    memset(bits, 0, N_CALENDAR / 8);
    tl_server server;
    tl_server_take_calendar(&server, bits, N_CALENDAR);
    return server;
}

static void test_a_late_request_takes_the_first_gap(void **state) {
    (void)state;
    uint64_t bits[N_CALENDAR / 64];
    tl_server server = server_with_calendar(bits);
    assert_int_equal(tl_server_occupy(&server, 100, 10), 0);
    assert_int_equal(tl_server_occupy(&server, 105, 10), 5);    // behind it: 110 to 119
    assert_int_equal(tl_server_occupy(&server, 130, 10), 0);    // 130 to 139
    assert_int_equal(tl_server_occupy(&server, 112, 10), 8);    // 120 to 129, just long enough
    assert_int_equal(tl_server_occupy(&server, 95, 10), 45);    // five cycles are too few
    assert_int_equal(tl_server_occupy(&server, 90, 10), 0);     // ten are enough
    assert_int_equal(tl_server_occupy(&server, 90, 3), 60);     // 150 to 152
    assert_int_equal(tl_server_occupy(&server, 1000, 10), 0);   // a gap that spans words
    assert_int_equal(tl_server_occupy(&server, 153, 200), 0);   // a long request in it
    assert_int_equal(tl_server_occupy(&server, 153, 648), 857); // one cycle too long
}

static void test_a_request_from_beyond_the_calendar_does_not_wait(void **state) {
    (void)state;
    uint64_t bits[N_CALENDAR / 64];
    tl_server server = server_with_calendar(bits);
    (void)tl_server_occupy(&server, 0, 10);
    (void)tl_server_occupy(&server, N_CALENDAR - 64 - 10, 10);
    assert_int_equal(tl_server_occupy(&server, 0, 10), 10); // until is N_CALENDAR - 64: within
    (void)tl_server_occupy(&server, N_CALENDAR - 64, 1);
    assert_int_equal(tl_server_occupy(&server, 0, 10), 0);
    assert_int_equal(tl_server_occupy(&server, 20, 10), 0);
}

static void test_random_requests_equal_a_byte_for_each_cycle(void **state) {
    (void)state;
    static uint8_t busy[N_CYCLES];
    uint64_t bits[N_CALENDAR / 64];
    for (uint32_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        tl_server server = server_with_calendar(bits);
        memset(busy, 0, sizeof busy);
        uint64_t front = N_CALENDAR, until = 0;
        while (front < N_CYCLES - 4 * N_CALENDAR) {
            const uint64_t r = next_random(&random), lag = r >> 8 & (N_CALENDAR / 2 - 1);
            const uint32_t n = (uint32_t)(r >> 24) % (seed % 2 ? 12 : 150) + 1;
            front += r % 16 == 0 ? r >> 40 & (2 * N_CALENDAR - 1) : r >> 40 & 63;
            const uint64_t time = front - lag;
            if (until > time && until - time > N_CALENDAR - 64) {
                assert_int_equal(tl_server_occupy(&server, time, n), 0);
                continue;
            }
            uint64_t at = time;
            for (uint32_t free = 0; free < n;)
                if (busy[at + free])
                    at += free + 1, free = 0;
                else
                    free++;
            assert_int_equal(tl_server_occupy(&server, time, n), at - time);
            memset(busy + at, 1, n);
            until = at + n > until ? at + n : until;
        }
    }
}

static void test_calendars_are_long_enough_for_leads(void **state) {
    (void)state;
    assert_int_equal(tl_server_calendar_cycles(1), 1024);
    assert_int_equal(tl_server_calendar_cycles(512), 1024);
    assert_int_equal(tl_server_calendar_cycles(513), 2048);
    assert_int_equal(tl_server_calendar_cycles(32000), 65536);
    assert_int_equal(tl_server_calendar_cycles(32000000), 1 << 18);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_late_request_takes_the_first_gap),
    cmocka_unit_test(test_a_request_from_beyond_the_calendar_does_not_wait),
    cmocka_unit_test(test_random_requests_equal_a_byte_for_each_cycle),
    cmocka_unit_test(test_calendars_are_long_enough_for_leads),
};

TL_TEST_MAIN(tests)
