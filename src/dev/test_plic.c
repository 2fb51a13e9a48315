// SPDX-License-Identifier: MIT
// Gateways, priorities, thresholds and claims of the PLIC specification 1.0.0.
#include "dev/test_rig.h"
#include "isa/rv/arch.h"

enum { PENDING = 0x1000, M0 = 0, S0 = 1, M1 = 2, S1 = 3 };

static void start(tl_rig *rig) {
    tl_rig_start(rig);
    tl_device_place place = tl_rig_place(rig, 0xc000000, 0);
    assert_int_equal(tl_plic_new(&place, 2, &rig->device, NULL), TL_OK);
}

static void set_priority(tl_rig *rig, uint32_t source, uint32_t priority) { tl_rig_write(rig, 4 * source, 4, priority); }
static void enable(tl_rig *rig, uint32_t context, uint32_t source) {
    uint64_t at = 0x2000 + 0x80 * context + source / 32 * 4;
    tl_rig_write(rig, at, 4, tl_rig_read(rig, at, 4) | 1u << source % 32);
}
static void disable_all(tl_rig *rig, uint32_t context) {
    for (uint32_t w = 0; w < 3; w++)
        tl_rig_write(rig, 0x2000 + 0x80 * context + 4 * w, 4, 0);
}
static void set_threshold(tl_rig *rig, uint32_t context, uint32_t value) { tl_rig_write(rig, 0x200000 + 0x1000 * context, 4, value); }
static uint64_t claim(tl_rig *rig, uint32_t context) { return tl_rig_read(rig, 0x200004 + 0x1000 * context, 4); }
static void complete(tl_rig *rig, uint32_t context, uint32_t source) { tl_rig_write(rig, 0x200004 + 0x1000 * context, 4, source); }
static bool is_pending(tl_rig *rig, uint32_t source) { return tl_rig_read(rig, PENDING + source / 32 * 4, 4) >> source % 32 & 1; }
static bool line(const tl_rig *rig, uint32_t context) { return rig->hart_line[context / 2][context % 2 == 0 ? TL_IRQ_MEI : TL_IRQ_SEI]; }

static void test_a_source_reaches_only_contexts_that_enable_it(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_priority(&rig, 10, 1);
    enable(&rig, S1, 10);
    tl_plic_set_source(rig.device, 10, true);
    assert_true(is_pending(&rig, 10));
    assert_true(line(&rig, S1));
    assert_false(line(&rig, M0) || line(&rig, S0) || line(&rig, M1));
    assert_int_equal(claim(&rig, M1), 0);
    assert_int_equal(claim(&rig, S1), 10);
    assert_false(line(&rig, S1));
    tl_rig_stop(&rig);
}

static void test_priority_zero_never_interrupts(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    enable(&rig, M0, 33);
    tl_plic_set_source(rig.device, 33, true);
    assert_true(is_pending(&rig, 33));
    assert_false(line(&rig, M0));
    assert_int_equal(claim(&rig, M0), 0);
    set_priority(&rig, 33, 1);
    assert_true(line(&rig, M0));
    tl_rig_stop(&rig);
}

static void test_claims_come_by_priority_and_then_by_number(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    const uint32_t sources[] = {95, 7, 40, 8}, priorities[] = {5, 3, 5, 7};
    for (uint32_t i = 0; i < 4; i++) {
        set_priority(&rig, sources[i], priorities[i]);
        enable(&rig, M0, sources[i]);
        tl_plic_set_source(rig.device, sources[i], true);
    }
    assert_int_equal(claim(&rig, M0), 8);
    assert_int_equal(claim(&rig, M0), 40); // ties: the lower number
    assert_int_equal(claim(&rig, M0), 95);
    assert_true(line(&rig, M0));
    assert_int_equal(claim(&rig, M0), 7);
    assert_false(line(&rig, M0));
    assert_int_equal(claim(&rig, M0), 0);
    tl_rig_stop(&rig);
}

static void test_threshold_hides_from_the_line_and_not_from_claims(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_priority(&rig, 3, 4);
    enable(&rig, S0, 3);
    tl_plic_set_source(rig.device, 3, true);
    for (uint32_t threshold = 0; threshold <= 7; threshold++) {
        set_threshold(&rig, S0, threshold);
        assert_int_equal(line(&rig, S0), threshold < 4);
    }
    assert_int_equal(claim(&rig, S0), 3); // sec. 8
    tl_rig_stop(&rig);
}

static void test_a_level_comes_again_after_completion(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_priority(&rig, 10, 1);
    enable(&rig, S0, 10);
    tl_plic_set_source(rig.device, 10, true);
    assert_int_equal(claim(&rig, S0), 10);
    assert_false(is_pending(&rig, 10)); // the gateway waits, though the level is still high
    assert_false(line(&rig, S0));
    tl_plic_set_source(rig.device, 10, false);
    tl_plic_set_source(rig.device, 10, true);
    assert_false(is_pending(&rig, 10));
    complete(&rig, S0, 10);
    assert_true(line(&rig, S0));
    assert_int_equal(claim(&rig, S0), 10);
    tl_plic_set_source(rig.device, 10, false);
    complete(&rig, S0, 10);
    assert_false(line(&rig, S0));
    assert_false(is_pending(&rig, 10));
    tl_rig_stop(&rig);
}

static void test_a_request_stays_pending_when_its_level_falls(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_priority(&rig, 1, 1);
    enable(&rig, M0, 1);
    tl_plic_set_source(rig.device, 1, true);
    tl_plic_set_source(rig.device, 1, false);
    assert_true(line(&rig, M0));
    assert_int_equal(claim(&rig, M0), 1);
    complete(&rig, M0, 1);
    assert_false(line(&rig, M0));
    tl_rig_stop(&rig);
}

static void test_one_of_two_contexts_wins_a_claim(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_priority(&rig, 10, 1);
    enable(&rig, S0, 10);
    enable(&rig, S1, 10);
    tl_plic_set_source(rig.device, 10, true);
    assert_true(line(&rig, S0) && line(&rig, S1));
    assert_int_equal(claim(&rig, S1), 10);
    assert_false(line(&rig, S0) || line(&rig, S1));
    assert_int_equal(claim(&rig, S0), 0);
    complete(&rig, S0, 10); // any context that enables it may complete it
    assert_true(line(&rig, S0) && line(&rig, S1));
    tl_rig_stop(&rig);
}

static void test_completions_that_do_not_fit_are_ignored(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_priority(&rig, 10, 1);
    enable(&rig, S0, 10);
    tl_plic_set_source(rig.device, 10, true);
    assert_int_equal(claim(&rig, S0), 10);
    complete(&rig, M0, 10); // not enabled there (sec. 9)
    complete(&rig, S0, 11);
    complete(&rig, S0, 0);
    complete(&rig, S0, 0xffffffff);
    assert_false(line(&rig, S0));
    disable_all(&rig, S0);
    complete(&rig, S0, 10);
    enable(&rig, S0, 10);
    assert_false(line(&rig, S0)); // disabled when it completed: still in service
    complete(&rig, S0, 10);
    assert_true(line(&rig, S0));
    tl_rig_stop(&rig);
}

static void test_registers_keep_only_what_exists(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set_priority(&rig, 95, 0xffffffff);
    assert_int_equal(tl_rig_read(&rig, 4 * 95, 4), 7);
    set_priority(&rig, 96, 7);
    assert_int_equal(tl_rig_read(&rig, 4 * 96, 4), 0);
    set_priority(&rig, 0, 7);
    assert_int_equal(tl_rig_read(&rig, 0, 4), 0);
    for (uint32_t w = 0; w < 4; w++)
        tl_rig_write(&rig, 0x2000 + 4 * w, 4, 0xffffffff);
    assert_int_equal(tl_rig_read(&rig, 0x2000, 4), 0xfffffffe); // source 0 means none
    assert_int_equal(tl_rig_read(&rig, 0x2004, 4), 0xffffffff);
    assert_int_equal(tl_rig_read(&rig, 0x2008, 4), 0xffffffff); // 64 .. 95
    assert_int_equal(tl_rig_read(&rig, 0x200c, 4), 0);
    set_threshold(&rig, M0, 0xff);
    assert_int_equal(tl_rig_read(&rig, 0x200000, 4), 7);
    tl_rig_write(&rig, PENDING, 4, 0xffffffff); // read-only
    assert_int_equal(tl_rig_read(&rig, PENDING, 4), 0);
    assert_int_equal(tl_rig_read(&rig, 0x2000 + 0x80 * 4, 4), 0); // no third hart
    assert_int_equal(claim(&rig, 4), 0);
    assert_true(tl_rig_refuses(&rig, 0x2000, 8));
    assert_true(tl_rig_refuses(&rig, 0x2000, 1));
    tl_plic_set_source(rig.device, 0, true);
    tl_plic_set_source(rig.device, 96, true);
    assert_int_equal(tl_rig_read(&rig, PENDING, 4) | tl_rig_read(&rig, PENDING + 12, 4), 0);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_source_reaches_only_contexts_that_enable_it),
    cmocka_unit_test(test_priority_zero_never_interrupts),
    cmocka_unit_test(test_claims_come_by_priority_and_then_by_number),
    cmocka_unit_test(test_threshold_hides_from_the_line_and_not_from_claims),
    cmocka_unit_test(test_a_level_comes_again_after_completion),
    cmocka_unit_test(test_a_request_stays_pending_when_its_level_falls),
    cmocka_unit_test(test_one_of_two_contexts_wins_a_claim),
    cmocka_unit_test(test_completions_that_do_not_fit_are_ignored),
    cmocka_unit_test(test_registers_keep_only_what_exists),
};
TL_TEST_MAIN(tests)
