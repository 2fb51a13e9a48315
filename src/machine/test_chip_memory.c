// SPDX-License-Identifier: MIT
// Windows of partitions in the memory of a chip, and machines that have them as their RAM.
#include <string.h>

#include "machine/chip_memory.h"
#include "machine/test_rig.h"

static const uint64_t MIB = 1 << 20;

static void test_windows_follow_one_another_and_do_not_overlap(void **state) {
    (void)state;
    const uint64_t ram_bytes[] = {3 * MIB, 16 * MIB, 2 * MIB}, wanted[] = {0, 4 * MIB, 20 * MIB, 22 * MIB};
    tl_chip_memory memory;
    assert_int_equal(tl_chip_memory_init(ram_bytes, 3, &memory, NULL), TL_OK);
    assert_memory_equal(memory.first, wanted, sizeof wanted);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(((uintptr_t)tl_chip_memory_window(&memory, i)) % (2 * MIB), 0);
    tl_chip_memory_done(&memory);
    tl_chip_memory_done(&memory);
}

static void test_machines_at_one_address_reach_their_own_windows(void **state) {
    (void)state;
    tl_config config = tl_test_config(1);
    const uint64_t ram_bytes[] = {config.ram_bytes, config.ram_bytes};
    tl_chip_memory memory;
    tl_machine *machines[2];
    assert_int_equal(tl_chip_memory_init(ram_bytes, 2, &memory, NULL), TL_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(tl_machine_new_in(&config, &tl_engine_step, tl_chip_memory_window(&memory, i), &machines[i], NULL), TL_OK);
    const uint64_t last = TL_RAM_BASE_PADDR + config.ram_bytes - 8;
    for (uint32_t i = 0; i < 2; i++) {
        tl_hart *h = machines[i]->harts[0];
        h->port->store(h, TL_RAM_BASE_PADDR + 64, 8, 7 + i);
        h->port->store(h, last, 8, 11 + i);
        assert_false(h->port->store(h, last + 8, 8, 99)); // no address leads beyond the window
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t word;
        memcpy(&word, memory.bytes + memory.first[i] + 64, sizeof word);
        assert_int_equal(word, 7 + i);
        memcpy(&word, memory.bytes + memory.first[i] + config.ram_bytes - 8, sizeof word);
        assert_int_equal(word, 11 + i);
        tl_machine_free(machines[i]); // leaves the chip's memory alone
    }
    assert_int_equal(memory.bytes[memory.first[1] + 64], 8);
    tl_chip_memory_done(&memory);
}

static void test_more_than_the_host_has_is_refused(void **state) {
    (void)state;
    const uint64_t ram_bytes[] = {UINT64_C(1) << 62};
    tl_chip_memory memory;
    tl_error err;
    assert_int_equal(tl_chip_memory_init(ram_bytes, 1, &memory, &err), TL_ENOMEM);
    assert_non_null(strstr(err.text, "choose a smaller ram"));
    tl_chip_memory_done(&memory);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_windows_follow_one_another_and_do_not_overlap),
    cmocka_unit_test(test_machines_at_one_address_reach_their_own_windows),
    cmocka_unit_test(test_more_than_the_host_has_is_refused),
};
TL_TEST_MAIN(tests)
