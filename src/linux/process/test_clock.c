// SPDX-License-Identifier: MIT
#include <string.h>

#include "linux/process/clock.h"
#include "linux/test_rig.h"
#include "machine/test_rig.h"

enum { N_HARTS = 4, OWN = 1000, OTHER = 1001 };

// Harts that stand at different cycles, each with a thread of one of two processes or without one.
typedef struct rig {
    tl_os os;
    tl_process own, other;
    tl_thread threads[N_HARTS];
} rig;

static rig *rig_new(void) {
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->os.machine = tl_test_machine(N_HARTS);
    r->own.pid = OWN;
    r->other.pid = OTHER;
    r->own.next = &r->other;
    r->os.processes = &r->own;
    return r;
}

static void rig_free(rig *r) {
    tl_machine_free(r->os.machine);
    free(r);
}

static void put_on(rig *r, uint32_t hart, tl_process *process, uint64_t now) {
    r->threads[hart] = (tl_thread){.process = process};
    r->os.machine->harts[hart]->client = process ? &r->threads[hart] : NULL;
    r->os.machine->harts[hart]->now = now;
}

// The first cycle by which the harts have counted `left` cycles more, each from its own clock. The
// test tries cycles one by one.
static uint64_t due_by_trial(const rig *r, uint64_t left) {
    for (uint64_t cycle = 0;; cycle++) {
        uint64_t counted = 0;
        for (uint32_t i = 0; i < N_HARTS; i++) {
            const tl_hart *h = r->os.machine->harts[i];
            if (h->client && r->threads[i].process == &r->own && cycle > h->now)
                counted += cycle - h->now;
        }
        if (counted >= left)
            return cycle;
    }
}

static void test_a_cpu_clock_is_due_when_its_harts_have_counted(void **state) {
    (void)state;
    rig *r = rig_new();
    const tl_clock clock = {.kind = TL_CLOCK_PROCESS_CPU, .id = OWN};
    uint64_t random = 11;
    for (int round = 0; round < 5000; round++) {
        for (uint32_t i = 0; i < N_HARTS; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint32_t kind = (uint32_t)(random >> 60);
            put_on(r, i, i == 0 || kind < 8 ? &r->own : kind < 12 ? &r->other : NULL, 1000 + (random >> 33) % 400);
        }
        uint64_t left = 1 + (random >> 20) % 300;
        r->own.user_cycles = 70;
        r->own.system_cycles = 7;
        assert_int_equal(tl_clock_cpu_due(&r->os, &clock, 77 + left), due_by_trial(r, left));
    }
    rig_free(r);
}

// The hart that stands far ahead has counted what it ran already: it adds nothing before the others
// reach it.
static void test_a_hart_ahead_of_the_moment_does_not_delay_it(void **state) {
    (void)state;
    rig *r = rig_new();
    const tl_clock clock = {.kind = TL_CLOCK_PROCESS_CPU, .id = OWN};
    put_on(r, 0, &r->own, 100);
    put_on(r, 1, &r->own, 5000);
    put_on(r, 2, &r->own, 103);
    put_on(r, 3, &r->other, 0);
    assert_int_equal(tl_clock_cpu_due(&r->os, &clock, 13), 108);
    assert_int_equal(tl_clock_cpu_due(&r->os, &clock, 2), 102);
    assert_int_equal(tl_clock_cpu_due(&r->os, &clock, 10001), 5068); // 4968, 68 and 4965
    rig_free(r);
}

static void test_a_cpu_clock_without_a_hart_stands(void **state) {
    (void)state;
    rig *r = rig_new();
    const tl_clock clock = {.kind = TL_CLOCK_PROCESS_CPU, .id = OWN};
    put_on(r, 0, &r->other, 100);
    assert_true(tl_clock_cpu_due(&r->os, &clock, 13) == UINT64_MAX);
    put_on(r, 0, &r->own, 100);
    assert_true(tl_clock_cpu_due(&r->os, &clock, UINT64_MAX) == UINT64_MAX);
    rig_free(r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_cpu_clock_is_due_when_its_harts_have_counted),
    cmocka_unit_test(test_a_hart_ahead_of_the_moment_does_not_delay_it),
    cmocka_unit_test(test_a_cpu_clock_without_a_hart_stands),
};

TL_TEST_MAIN(tests)
