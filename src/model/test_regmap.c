// SPDX-License-Identifier: MIT
// The register engine: what each kind of access does, halves, arrays, hooks, and that the check of
// tables finds each mistake.
#include "model/regmap.h"

#include <string.h>

#include "base/bits.h"
#include "base/testing.h"

static uint64_t even(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    (void)file, (void)index;
    return wanted % 2 == 0 ? wanted : old;
}
static tl_presence third_is_zero_fourth_absent(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)file, (void)is_high;
    return index == 2 ? TL_ZERO : index == 3 ? TL_ABSENT : TL_PRESENT;
}
static uint64_t complement(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)file, (void)index;
    return ~stored;
}

static const tl_field kinds[] = {
    {.name = "RW", .lsb = 0, .width_bits = 8, .access = TL_RW, .reset = 0x11},
    {.name = "RO", .lsb = 8, .width_bits = 8, .access = TL_RO, .reset = 0x22},
    {.name = "WO", .lsb = 16, .width_bits = 8, .access = TL_WO, .reset = 0x33},
    {.name = "W1C", .lsb = 24, .width_bits = 8, .access = TL_W1C, .reset = 0xff},
    {.name = "W1S", .lsb = 32, .width_bits = 8, .access = TL_W1S, .reset = 0x01},
    {.name = "RC", .lsb = 40, .width_bits = 8, .access = TL_RC, .reset = 0x66},
    {.name = "WARL", .lsb = 48, .width_bits = 8, .access = TL_WARL, .reset = 0x04, .legalize = even},
    {.name = "WPRI", .lsb = 56, .width_bits = 8, .access = TL_WPRI},
};
static const tl_field across[] = {
    // each of the first two lies in both halves of its register
    {.name = "low", .lsb = 0, .width_bits = 24, .access = TL_RW},
    {.name = "event", .lsb = 24, .width_bits = 16, .access = TL_W1C, .reset = 0xffff},
    {.name = "high", .lsb = 40, .width_bits = 24, .access = TL_RW},
};
static const tl_field across_set[] = {
    {.name = "low", .lsb = 0, .width_bits = 24, .access = TL_RW},
    {.name = "event", .lsb = 24, .width_bits = 16, .access = TL_W1S},
    {.name = "high", .lsb = 40, .width_bits = 24, .access = TL_RW},
};
static const tl_field across_plain[] = {
    {.name = "low", .lsb = 0, .width_bits = 24, .access = TL_RO, .reset = 0x123456},
    {.name = "value", .lsb = 24, .width_bits = 16, .access = TL_RW},
    {.name = "counted", .lsb = 40, .width_bits = 24, .access = TL_RC, .reset = 0xabcdef},
};
static const tl_field whole[] = {{.name = "V", .lsb = 0, .width_bits = 64, .access = TL_RW, .reset = 5}};
#define FIELDS(table) .fields = table, .n_fields = TL_COUNT_OF(table)
static const tl_reg rows[] = {
    {.name = "kinds", .addr = 0x10, .high_addr = 0x90, .width_bits = 64, FIELDS(kinds)},
    {.name = "row#",
     .addr = 0x20,
     .count = 4,
     .stride = 8,
     .first = 3,
     .width_bits = 64,
     FIELDS(whole),
     .presence = third_is_zero_fourth_absent},
    {.name = "view", .addr = 0x60, .width_bits = 64, FIELDS(whole), .read = complement},
    {.name = "clear", .addr = 0x70, .high_addr = 0x74, .width_bits = 64, FIELDS(across)},
    {.name = "set", .addr = 0x78, .high_addr = 0x7c, .width_bits = 64, FIELDS(across_set)},
    {.name = "plain", .addr = 0x80, .high_addr = 0x84, .width_bits = 64, FIELDS(across_plain)},
};
static const tl_regmap map = {.space = "test", .regs = rows, .n_regs = TL_COUNT_OF(rows)};

static tl_regfile new_file(uint32_t access_bits) {
    static uint64_t cells[9];
    memset(cells, 0xa5, sizeof cells);
    assert_int_equal(tl_regmap_n_cells(&map), TL_COUNT_OF(cells));
    tl_regfile file = {.map = &map, .stored = cells, .access_bits = access_bits};
    tl_regfile_reset(&file);
    return file;
}

static uint64_t value_at(tl_regfile *file, uint32_t addr) {
    uint64_t value = 0;
    assert_true(tl_regfile_read(file, addr, &value));
    return value;
}

static void test_each_kind_of_access(void **state) {
    (void)state;
    tl_regfile file = new_file(64);
    assert_int_equal(value_at(&file, 0x10), UINT64_C(0x00046601ff002211)); // WO reads 0
    // RC has been cleared by the read.
    assert_int_equal(value_at(&file, 0x10), UINT64_C(0x00040001ff002211));
    assert_true(tl_regfile_write(&file, 0x10, UINT64_C(0xff06ff800f77aa99)));
    assert_int_equal(value_at(&file, 0x10), UINT64_C(0x00060081f0002299));
    assert_int_equal(file.stored[0] >> 16 & 0xff, 0x77); // WO took it
    assert_true(tl_regfile_write(&file, 0x10, UINT64_C(0x0007000000000000)));
    assert_int_equal(value_at(&file, 0x10) >> 48 & 0xff, 0x06); // not legal: the old one
}

static void test_a_wide_register_has_two_halves(void **state) {
    (void)state;
    tl_regfile file = new_file(32);
    assert_int_equal(value_at(&file, 0x10), 0xff002211);
    assert_int_equal(value_at(&file, 0x90), 0x00046601);
    assert_int_equal(value_at(&file, 0x90), 0x00040001);
    assert_true(tl_regfile_write(&file, 0x90, UINT64_C(0xdeadbeef000a0002)));
    assert_int_equal(value_at(&file, 0x90), 0x000a0003);
    assert_int_equal(value_at(&file, 0x10), 0xff002211); // W1C, RW of the other half: not written
    assert_true(tl_regfile_write(&file, 0x10, 0x01000044));
    assert_int_equal(value_at(&file, 0x10), 0xfe002244);
    assert_int_equal(value_at(&file, 0x90), 0x000a0003);
    tl_regfile wide = new_file(64);
    assert_false(tl_regfile_write(&wide, 0x90, 0)); // no halves where one access carries it
}

// A bit that an access does not carry is not written, whatever the kind of its field and whichever
// half it lies in.
static void test_a_half_writes_the_bits_of_a_field_that_it_carries(void **state) {
    (void)state;
    tl_regfile file = new_file(32);
    assert_true(tl_regfile_write(&file, 0x70, 0x81000000));
    assert_int_equal(file.stored[6], UINT64_C(0xff) << 32 | 0x7e000000);
    assert_true(tl_regfile_write(&file, 0x74, 0x00000042));
    assert_int_equal(file.stored[6], UINT64_C(0xbd) << 32 | 0x7e000000);

    assert_true(tl_regfile_write(&file, 0x78, 0x81000007));
    assert_int_equal(file.stored[7], 0x81000007);
    assert_true(tl_regfile_write(&file, 0x7c, 0x00000342));
    assert_int_equal(file.stored[7], UINT64_C(0x342) << 32 | 0x81000007);
    assert_true(tl_regfile_write(&file, 0x78, 0x18000002));
    assert_int_equal(file.stored[7], UINT64_C(0x342) << 32 | 0x99000002);

    assert_true(tl_regfile_write(&file, 0x80, 0xab000000));
    assert_true(tl_regfile_write(&file, 0x84, 0x000000cd));
    assert_int_equal(file.stored[8], UINT64_C(0xabcdefcdab123456));
    assert_true(tl_regfile_write(&file, 0x80, 0x12000000));
    assert_int_equal(file.stored[8], UINT64_C(0xabcdefcd12123456));
    // The lower half clears nothing that stands in the upper one.
    assert_int_equal(value_at(&file, 0x80), 0x12123456);
    assert_int_equal(value_at(&file, 0x84), 0xabcdefcd);
    assert_int_equal(value_at(&file, 0x84), 0x000000cd);
}

static void test_a_register_that_is_zero_or_absent_keeps_what_is_stored(void **state) {
    (void)state;
    tl_regfile file = new_file(64);
    assert_true(tl_regfile_write(&file, 0x30, 9));
    assert_int_equal(file.stored[3], 5); // its reset value: a write to read-only zero goes nowhere
    assert_false(tl_regfile_write(&file, 0x38, 9));
    assert_int_equal(file.stored[4], 5);
    assert_false(tl_regfile_write(&file, 0x1f, 9)); // one below the array
    assert_int_equal(value_at(&file, 0x20), 5);
}

static void test_arrays_and_what_is_not_there(void **state) {
    (void)state;
    tl_regfile file = new_file(64);
    char name[16];
    uint64_t value;
    assert_true(tl_regfile_write(&file, 0x28, 7));
    assert_int_equal(value_at(&file, 0x20), 5);
    assert_int_equal(value_at(&file, 0x28), 7);
    assert_true(tl_regfile_write(&file, 0x30, 9));
    assert_int_equal(value_at(&file, 0x30), 0); // read-only zero
    assert_false(tl_regfile_read(&file, 0x38, &value));
    assert_false(tl_regfile_write(&file, 0x38, 1));
    assert_false(tl_regfile_read(&file, 0x24, &value)); // between two
    assert_false(tl_regfile_read(&file, 0x40, &value)); // behind the last
    assert_int_equal(tl_regmap_cell_at(&map, 0x28), 2);
    tl_reg_name(&rows[1], 2, true, name, sizeof name);
    assert_string_equal(name, "row5h");
}

static void test_a_read_hook_is_what_is_read_and_what_a_write_starts_from(void **state) {
    (void)state;
    tl_regfile file = new_file(64);
    assert_int_equal(value_at(&file, 0x60), ~UINT64_C(5));
    assert_true(tl_regfile_write(&file, 0x60, 1));
    assert_int_equal(value_at(&file, 0x60), ~UINT64_C(1));
}

static void expect_bad(tl_reg reg, const char *text) {
    tl_regmap bad = {.space = "test", .regs = &reg, .n_regs = 1};
    tl_error err = {0};
    assert_int_equal(tl_regmap_check(&bad, &err), TL_EINVAL);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void test_mistakes_in_tables_are_found(void **state) {
    (void)state;
    static const tl_field gap[] = {{.name = "A", .lsb = 0, .width_bits = 3}, {.name = "B", .lsb = 4, .width_bits = 4}};
    static const tl_field overlap[] = {{.name = "A", .lsb = 0, .width_bits = 5}, {.name = "B", .lsb = 4, .width_bits = 4}};
    static const tl_field too_large[] = {{.name = "A", .lsb = 0, .width_bits = 8, .reset = 256}};
    static const tl_field not_warl[] = {{.name = "A", .lsb = 0, .width_bits = 8, .access = TL_RW, .legalize = even}};
    static const tl_field reserved[] = {{.name = "A", .lsb = 0, .width_bits = 8, .access = TL_WPRI, .reset = 1}};
    tl_error err = {0};
    assert_int_equal(tl_regmap_check(&map, &err), TL_OK);
    expect_bad((tl_reg){.name = "r", .addr = 1, .width_bits = 8, FIELDS(gap)}, "must begin at bit 3");
    expect_bad((tl_reg){.name = "r", .addr = 1, .width_bits = 8, FIELDS(overlap)}, "must begin at bit 5");
    expect_bad((tl_reg){.name = "r", .addr = 1, .width_bits = 9, FIELDS(too_large)}, "does not fit");
    expect_bad((tl_reg){.name = "r", .addr = 1, .width_bits = 8, FIELDS(not_warl)}, "only WARL");
    expect_bad((tl_reg){.name = "r", .addr = 1, .width_bits = 8, FIELDS(reserved)}, "reserved");
    expect_bad((tl_reg){.name = "r", .addr = 1, .width_bits = 65, FIELDS(whole)}, "1 to 64");
    expect_bad((tl_reg){.name = "r", .addr = 1, .width_bits = 32, FIELDS(whole)}, "end at bit 64 of 32");
    expect_bad((tl_reg){.name = "r", .addr = 1, .high_addr = 3, .count = 4, .width_bits = 64, FIELDS(whole)}, "given 2 times");
    static const tl_reg twins[] = {
        // only their upper halves stand in one place
        {.name = "a", .addr = 1, .high_addr = 9, .width_bits = 64, FIELDS(whole)},
        {.name = "b", .addr = 2, .high_addr = 8, .count = 2, .width_bits = 64, FIELDS(whole)},
    };
    const tl_regmap same_halves = {.space = "test", .regs = twins, .n_regs = TL_COUNT_OF(twins)};
    assert_int_equal(tl_regmap_check(&same_halves, &err), TL_EINVAL);
    assert_string_equal(err.text, "a: address 0x9 is given 2 times");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_each_kind_of_access),
    cmocka_unit_test(test_a_wide_register_has_two_halves),
    cmocka_unit_test(test_arrays_and_what_is_not_there),
    cmocka_unit_test(test_a_read_hook_is_what_is_read_and_what_a_write_starts_from),
    cmocka_unit_test(test_mistakes_in_tables_are_found),
    cmocka_unit_test(test_a_half_writes_the_bits_of_a_field_that_it_carries),
    cmocka_unit_test(test_a_register_that_is_zero_or_absent_keeps_what_is_stored),
};
TL_TEST_MAIN(tests)
