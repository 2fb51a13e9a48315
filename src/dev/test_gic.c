// SPDX-License-Identifier: MIT
// GICv2 between two harts: targets of shared interrupts, software generated interrupts with their
// senders, edges, and the states of an interrupt (IHI 0048B, sec. 3.2). guest/bare/a64/interrupts.c
// checks one hart beside QEMU.
#include "dev/test_rig.h"

enum {
    D_CTLR = 0,
    D_ISENABLER = 0x100,
    D_ISPENDR = 0x200,
    D_ISACTIVER = 0x300,
    D_IPRIORITYR = 0x400,
    D_ITARGETSR = 0x800,
    D_ICFGR = 0xc00
};
enum { D_SGIR = 0xf00, C = 0x10000, C_CTLR = C, C_PMR = C + 4, C_IAR = C + 0xc, C_EOIR = C + 0x10, SPI = 40 };

static uint32_t accessing; // hart; Secure
static tl_requester requester(void *ctx) { return (void)ctx, (tl_requester){accessing, true}; }

static uint32_t read_by(tl_rig *rig, uint32_t hart, uint64_t offset) {
    accessing = hart;
    return (uint32_t)tl_rig_read(rig, offset, 4);
}
static void write_by(tl_rig *rig, uint32_t hart, uint64_t offset, uint32_t value) {
    accessing = hart;
    tl_rig_write(rig, offset, 4, value);
}

static void start(tl_rig *rig) {
    tl_rig_start(rig);
    rig->host.requester = requester;
    const tl_device_place place = tl_rig_place(rig, 0x8000000, 0);
    assert_int_equal(tl_gic_new(&place, 2, &rig->device, NULL), TL_OK);
    write_by(rig, 0, D_CTLR, 1);
    for (uint32_t hart = 0; hart < 2; hart++) {
        write_by(rig, hart, C_CTLR, 1);
        write_by(rig, hart, C_PMR, 0xf0);
        write_by(rig, hart, D_ISENABLER, 0xffff);
    }
    write_by(rig, 0, D_ISENABLER + 4, 1 << (SPI - 32));
}

static void test_a_shared_interrupt_reaches_its_targets(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    tl_gic_set_shared(rig.device, SPI, true);
    assert_false(rig.hart_line[0][0] || rig.hart_line[1][0]);
    accessing = 0;
    tl_rig_write(&rig, D_ITARGETSR + SPI, 1, 2);
    assert_true(!rig.hart_line[0][0] && rig.hart_line[1][0]);
    tl_rig_write(&rig, D_ITARGETSR + SPI, 1, 3);
    assert_true(rig.hart_line[0][0] && rig.hart_line[1][0]);
    assert_int_equal(read_by(&rig, 1, C_IAR), SPI);
    assert_false(rig.hart_line[0][0] || rig.hart_line[1][0]); // active: one hart has it
    assert_int_equal(read_by(&rig, 0, C_IAR), 1023);
    write_by(&rig, 1, C_EOIR, SPI); // the line is still up
    assert_true(rig.hart_line[0][0] && rig.hart_line[1][0]);
    tl_gic_set_shared(rig.device, SPI, false);
    assert_false(rig.hart_line[0][0] || rig.hart_line[1][0]);
    tl_rig_stop(&rig);
}

static void test_an_edge_stays_pending_until_it_is_acknowledged(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    accessing = 0;
    tl_rig_write(&rig, D_ITARGETSR + SPI, 1, 1);
    write_by(&rig, 0, D_ICFGR + SPI / 16 * 4, 2u << SPI % 16 * 2);
    tl_gic_set_shared(rig.device, SPI, true);
    tl_gic_set_shared(rig.device, SPI, false);
    assert_true(rig.hart_line[0][0]);
    assert_int_equal(read_by(&rig, 0, C_IAR), SPI);
    assert_int_equal(read_by(&rig, 0, D_ISPENDR + 4), 0);
    tl_gic_set_shared(rig.device, SPI, true); // active and pending
    assert_int_equal(read_by(&rig, 0, D_ISPENDR + 4), 1 << (SPI - 32));
    assert_false(rig.hart_line[0][0]);
    write_by(&rig, 0, C_EOIR, SPI);
    assert_true(rig.hart_line[0][0]);
    tl_rig_stop(&rig);
}

static void test_a_software_interrupt_names_its_sender(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    write_by(&rig, 0, D_SGIR, 2 << 16 | 5); // to hart 1
    write_by(&rig, 1, D_SGIR, 2 << 16 | 5);
    assert_true(!rig.hart_line[0][0] && rig.hart_line[1][0]);
    assert_int_equal(read_by(&rig, 1, C_IAR), 5); // from hart 0
    write_by(&rig, 1, C_EOIR, 5);
    assert_int_equal(read_by(&rig, 1, C_IAR), 1 << 10 | 5);
    write_by(&rig, 1, C_EOIR, 1 << 10 | 5);
    assert_int_equal(read_by(&rig, 1, C_IAR), 1023);
    write_by(&rig, 0, D_SGIR, 1 << 24 | 6); // to all but the sender
    assert_true(!rig.hart_line[0][0] && rig.hart_line[1][0]);
    tl_rig_stop(&rig);
}

static void test_private_interrupts_are_of_one_hart(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    write_by(&rig, 0, D_ISENABLER, 1u << 30);
    tl_gic_set_private(rig.device, 0, 30, true);
    tl_gic_set_private(rig.device, 1, 30, true);
    assert_true(rig.hart_line[0][0] && !rig.hart_line[1][0]);
    assert_int_equal(read_by(&rig, 1, D_ISPENDR), 1u << 30);
    assert_int_equal(read_by(&rig, 1, D_ISENABLER), 0xffff);
    tl_gic_set_private(rig.device, 0, 30, false);
    assert_false(rig.hart_line[0][0]);
    tl_rig_stop(&rig);
}

static void test_more_than_eight_harts_are_refused(void **state) {
    (void)state;
    tl_rig rig;
    tl_rig_start(&rig);
    const tl_device_place place = tl_rig_place(&rig, 0x8000000, 0);
    tl_error err;
    assert_int_equal(tl_gic_new(&place, 9, &rig.device, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "at most 8 harts"));
    tl_arena_done(&rig.arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_shared_interrupt_reaches_its_targets), cmocka_unit_test(test_an_edge_stays_pending_until_it_is_acknowledged),
    cmocka_unit_test(test_a_software_interrupt_names_its_sender),  cmocka_unit_test(test_private_interrupts_are_of_one_hart),
    cmocka_unit_test(test_more_than_eight_harts_are_refused),
};
TL_TEST_MAIN(tests)
