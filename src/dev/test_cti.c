// SPDX-License-Identifier: MIT
// Cross-trigger interfaces of three cores in one matrix (DDI 0487, H5): outputs that stay until
// they are acknowledged, pulses, gates, levels of software, and the software lock.
#include "dev/test_rig.h"
#include "model/coresight.h"

enum { N = 3, CONTROL = 0, INTACK = 0x10, APPSET = 0x14, APPCLEAR = 0x18, APPPULSE = 0x1c, INEN0 = 0x20, OUTEN0 = 0xa0, OUTEN1 = 0xa4 };
enum { TRIGIN = 0x130, TRIGOUT = 0x134, CHIN = 0x138, CHOUT = 0x13c, GATE = 0x140, CLAIMSET = 0xfa0, CLAIMCLR = 0xfa4 };

static struct {
    bool level[8];
    uint32_t n_rises[8];
} cores[N];

static void output(void *ctx, uint32_t core, uint32_t trigger, bool level) {
    (void)ctx;
    cores[core].n_rises[trigger] += level;
    cores[core].level[trigger] = level;
}
static uint32_t authentication(void *ctx, uint32_t core) { return (void)ctx, (void)core, 0xff; }
static uint64_t affinity(void *ctx, uint32_t core) { return (void)ctx, 0x80000000 | core; }
static const tl_cti_core core = {.output = output, .authentication = authentication, .affinity = affinity};

static tl_device *ctis[N];
static uint32_t get(uint32_t i, uint64_t offset) {
    uint64_t value = 0;
    assert_true(ctis[i]->type->read(ctis[i], offset, 4, &value));
    return (uint32_t)value;
}
static void set(uint32_t i, uint64_t offset, uint32_t value) { assert_true(ctis[i]->type->write(ctis[i], offset, 4, value)); }

// All are open and on, halt on channel 0 and restart on channel 1. No interface sends to the
// matrix.
static void start(tl_rig *rig) {
    tl_rig_start(rig);
    memset(cores, 0, sizeof cores);
    for (uint32_t i = 0; i < N; i++) {
        const tl_device_place place = tl_rig_place(rig, 0xb020000 + i * 0x100000, 0);
        assert_int_equal(tl_cti_new(&place, &core, i, i == 0 ? NULL : ctis[i - 1], &ctis[i], NULL), TL_OK);
        set(i, TL_CORESIGHT_LAR, TL_CORESIGHT_KEY);
        set(i, CONTROL, 1);
        set(i, GATE, 0);
        set(i, OUTEN0, 1);
        set(i, OUTEN1, 2);
    }
}

static void test_a_halt_request_stays_until_it_is_acknowledged(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set(1, APPPULSE, 1);
    assert_true(cores[1].level[TL_CTI_HALT]);
    assert_false(cores[0].level[TL_CTI_HALT] || cores[2].level[TL_CTI_HALT]);
    assert_int_equal(get(1, TRIGOUT), 1);
    set(1, INTACK, 2); // another one
    assert_int_equal(get(1, TRIGOUT), 1);
    set(1, INTACK, 1);
    assert_int_equal(get(1, TRIGOUT), 0);
    assert_false(cores[1].level[TL_CTI_HALT]);
    assert_int_equal(cores[1].n_rises[TL_CTI_HALT], 1);
    tl_rig_stop(&rig);
}

static void test_a_restart_is_a_pulse(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    for (uint32_t i = 1; i <= 3; i++) {
        set(0, APPPULSE, 2);
        assert_int_equal(cores[0].n_rises[TL_CTI_RESTART], i);
        assert_int_equal(get(0, TRIGOUT), 0);
    }
    tl_rig_stop(&rig);
}

static void test_gates_decide_which_cores_a_channel_reaches(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set(0, GATE, 1);
    set(2, GATE, 3);
    set(1, OUTEN0, 0);
    set(0, APPPULSE, 1);
    assert_true(cores[0].level[TL_CTI_HALT] && !cores[1].level[TL_CTI_HALT] && cores[2].level[TL_CTI_HALT]);
    set(0, APPPULSE, 2); // channel 1 does not pass the first gate
    assert_int_equal(cores[0].n_rises[TL_CTI_RESTART], 1);
    assert_int_equal(cores[1].n_rises[TL_CTI_RESTART], 0);
    assert_int_equal(cores[2].n_rises[TL_CTI_RESTART], 0);
    set(2, APPPULSE, 2); // the gate of the receiver is closed
    assert_int_equal(cores[1].n_rises[TL_CTI_RESTART], 1);
    tl_rig_stop(&rig);
}

static void test_a_level_of_software_drives_until_it_is_cleared(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set(0, GATE, 1);
    set(1, GATE, 1);
    set(0, APPSET, 1);
    assert_int_equal(get(0, APPSET), 1);
    assert_int_equal(get(0, CHOUT), 1);
    assert_int_equal(get(0, CHIN), 0);
    assert_int_equal(get(1, CHIN), 1);
    assert_int_equal(get(1, CHOUT), 0);
    set(1, INTACK, 1); // still driven
    assert_true(cores[1].level[TL_CTI_HALT]);
    set(0, APPCLEAR, 1);
    assert_true(cores[1].level[TL_CTI_HALT]); // and held
    set(1, INTACK, 1);
    assert_false(cores[1].level[TL_CTI_HALT]);
    tl_rig_stop(&rig);
}

static void test_a_core_that_halts_halts_the_others(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    for (uint32_t i = 0; i < N; i++)
        set(i, GATE, 4);
    set(0, INEN0, 4);
    set(2, OUTEN0, 4);
    tl_cti_set_input(ctis[0], TL_CTI_CROSS_HALT, true);
    assert_int_equal(get(0, TRIGIN), 1);
    tl_cti_set_input(ctis[0], TL_CTI_CROSS_HALT, false);
    assert_false(cores[0].level[TL_CTI_HALT] || cores[1].level[TL_CTI_HALT]);
    assert_true(cores[2].level[TL_CTI_HALT]);
    tl_rig_stop(&rig);
}

static void test_nothing_happens_while_the_interface_is_off(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    set(0, APPPULSE, 1);
    set(0, CONTROL, 0); // drops what is held
    assert_false(cores[0].level[TL_CTI_HALT]);
    set(0, APPPULSE, 3);
    assert_int_equal(cores[0].n_rises[TL_CTI_HALT], 1);
    assert_int_equal(cores[0].n_rises[TL_CTI_RESTART], 0);
    tl_rig_stop(&rig);
}

// Every register: what a write of all ones leaves, with the lock open and set.
static void test_registers_follow_the_software_lock(void **state) {
    (void)state;
    static const struct {
        uint16_t offset;
        uint8_t open; // what it reads after a write of all ones; 0 elsewhere
    } rows[] = {{CONTROL, 1},  {APPSET, 0xf},      {INEN0, 0xf}, {INEN0 + 28, 0xf},
                {OUTEN0, 0xf}, {OUTEN0 + 28, 0xf}, {GATE, 0xf},  {CLAIMCLR, 0}};
    tl_rig rig;
    for (uint32_t is_locked = 0; is_locked < 2; is_locked++)
        for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
            start(&rig);
            set(0, rows[i].offset, 0);
            set(0, APPCLEAR, 0xf);
            const uint32_t before = get(0, rows[i].offset);
            set(0, TL_CORESIGHT_LAR, is_locked ? 0 : TL_CORESIGHT_KEY);
            assert_int_equal(get(0, TL_CORESIGHT_LSR), 1 | is_locked << 1);
            set(0, rows[i].offset, UINT32_MAX);
            assert_int_equal(get(0, rows[i].offset), is_locked ? before : rows[i].open);
            tl_rig_stop(&rig);
        }
    start(&rig);
    set(0, CLAIMSET, 6);
    assert_int_equal(get(0, CLAIMSET), 0xf);
    set(0, CLAIMCLR, 2);
    assert_int_equal(get(0, CLAIMCLR), 4);
    uint64_t value;
    assert_false(ctis[0]->type->read(ctis[0], GATE, 8, &value) || ctis[0]->type->write(ctis[0], GATE, 2, 0));
    assert_int_equal(get(0, TL_CORESIGHT_DEVID), 0x40800);
    assert_int_equal(get(2, TL_CORESIGHT_DEVAFF0), 0x80000002);
    assert_int_equal(get(0, TL_CORESIGHT_AUTHSTATUS), 0xf);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_halt_request_stays_until_it_is_acknowledged),
    cmocka_unit_test(test_a_restart_is_a_pulse),
    cmocka_unit_test(test_gates_decide_which_cores_a_channel_reaches),
    cmocka_unit_test(test_a_level_of_software_drives_until_it_is_cleared),
    cmocka_unit_test(test_a_core_that_halts_halts_the_others),
    cmocka_unit_test(test_nothing_happens_while_the_interface_is_off),
    cmocka_unit_test(test_registers_follow_the_software_lock),
};
TL_TEST_MAIN(tests)
