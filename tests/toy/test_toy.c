// SPDX-License-Identifier: MIT
// A machine with the toy: its CSR, its window on the bus, its ticks and the record that they write.
#include <string.h>

#include "base/testing.h"
#include "isa/rv/csr.h"
#include "machine/keys.h"
#include "machine/machine.h"
#include "toy.h"

enum { TOY_WINDOW = TOY_WINDOW_PADDR + TOY_WINDOW_COUNT, RAM_BYTES = 16 << 20 };

static const tl_agent HART = {.kind = TL_AGENT_HART_DATA};

static tl_machine *machine_with(uint32_t period, uint32_t n_harts) {
    tl_config config;
    tl_error err;
    tl_machine *machine;
    tl_config_default(&config);
    config.n_harts = n_harts;
    config.ram_bytes = RAM_BYTES;
    tl_keys_set(&config, "toy.period", period);
    if (tl_machine_new(&config, &tl_engine_step, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < n_harts; i++)
        machine->harts[i]->priv = TL_PRIV_M;
    return machine;
}

static void test_a_machine_without_it_has_nothing_of_it(void **state) {
    (void)state;
    uint64_t value;
    tl_machine *machine = machine_with(0, 1);
    assert_null(tl_machine_pmu_of(machine, &tl_pmu_toy, 0));
    assert_false(tl_csr_read(machine->harts[0], TOY_CSR, &value));
    assert_null(tl_machine_own_bus(machine));
    assert_true(tl_machine_tick(machine, UINT64_C(1) << 40) == UINT64_MAX);
    tl_machine_free(machine);
}

static void test_each_hart_reads_its_own_counter_by_csr(void **state) {
    (void)state;
    uint64_t value;
    tl_machine *machine = machine_with(100, 2);
    machine->harts[0]->tally[TL_S_HART_INSN_STORE] = 7;
    machine->harts[1]->tally[TL_S_HART_INSN_STORE] = 11;
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(tl_csr_read(machine->harts[i], TOY_CSR, &value));
        assert_int_equal(value, i == 0 ? 7 : 11);
    }
    tl_machine_free(machine);
}

static void test_the_window_stands_on_the_bus(void **state) {
    (void)state;
    uint64_t value = 0;
    tl_machine *machine = machine_with(100, 1);
    const tl_bus *bus = tl_machine_own_bus(machine);
    machine->harts[0]->tally[TL_S_HART_INSN_STORE] = 13;
    assert_non_null(bus);
    assert_true(bus->read(bus->ctx, &HART, TOY_WINDOW, 8, &value));
    assert_int_equal(value, 13);
    assert_false(bus->read(bus->ctx, &HART, TOY_WINDOW + 8, 8, &value)); // behind its end
    assert_false(bus->read(bus->ctx, &HART, TOY_WINDOW - 16, 8, &value));
    tl_machine_free(machine);
}

static void test_ticks_write_records_as_a_bus_master(void **state) {
    (void)state;
    uint64_t record[2];
    tl_machine *machine = machine_with(100, 1);
    tl_cell written;
    assert_int_equal(tl_probe_resolve(&machine->probe, "l2.0.dma_write", &written), TL_OK);
    assert_int_equal(tl_machine_tick(machine, 99), 100); // not yet
    assert_int_equal(machine->tally[written], 0);
    machine->harts[0]->tally[TL_S_HART_INSN_STORE] = 17;
    assert_int_equal(tl_machine_tick(machine, 250), 300); // two of them
    memcpy(record, machine->ram + RAM_BYTES - TOY_RECORDS_BYTES, sizeof record);
    assert_int_equal(record[0], 200);
    assert_int_equal(record[1], 17);
    tl_machine_sync(machine);
    assert_int_equal(machine->tally[written], 2);
    tl_machine_free(machine);
}

static void test_the_counter_of_each_hart_ticks(void **state) {
    (void)state;
    uint64_t records[2][2];
    tl_machine *machine = machine_with(100, 2);
    machine->harts[0]->tally[TL_S_HART_INSN_STORE] = 19;
    machine->harts[1]->tally[TL_S_HART_INSN_STORE] = 23;
    assert_int_equal(tl_machine_tick(machine, 100), 200);
    memcpy(records, machine->ram + RAM_BYTES - TOY_RECORDS_BYTES, sizeof records);
    assert_int_equal(records[0][0], 100);
    assert_int_equal(records[0][1], 19);
    assert_int_equal(records[1][0], 100);
    assert_int_equal(records[1][1], 23);
    tl_machine_free(machine);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_machine_without_it_has_nothing_of_it), cmocka_unit_test(test_each_hart_reads_its_own_counter_by_csr),
    cmocka_unit_test(test_the_window_stands_on_the_bus),           cmocka_unit_test(test_ticks_write_records_as_a_bus_master),
    cmocka_unit_test(test_the_counter_of_each_hart_ticks),
};
TL_TEST_MAIN(tests)
