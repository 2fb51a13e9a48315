// SPDX-License-Identifier: MIT
// The distributed counters on a machine: values that depend on how far its harts have come.
#include "isa/rv/arch.h"
#include "machine/test_rig.h"
#include "pmu/dhpc/dhpc.h"
#include "readers/dhpc/on.h"

static uint64_t access_csr(tl_machine *machine, uint64_t now, uint32_t csr, tl_reg_use op, uint64_t operand) {
    uint64_t old = 0;
    const tl_dhpc_access access = {.csr = csr, .op = op, .operand = operand, .is_rs1_x0 = op == TL_REG_SET, .priv = TL_PRIV_M};
    assert_true(tl_dhpc_execute(tl_dhpc_on(machine), 0, now, &access, &old));
    return old;
}

// Hart 0 asks what hart 1 counts, which had a thread up to cycle 300 and none since.
static void test_idle_time_of_a_sleeping_hart_goes_on_in_the_distributed_counters(void **state) {
    (void)state;
    tl_config config = tl_test_config(2);
    tl_keys_set(&config, "hpc", TL_DHPC_KEY_TIMED);
    tl_machine *machine = tl_test_machine_of(&config);
    const tl_dhpc_config *how = tl_dhpc_config_of(tl_dhpc_on(machine));
    machine->harts[1]->now = 300;
    for (uint64_t now = 1000; now <= 3000; now += 1000) {
        machine->harts[0]->now = now;
        (void)access_csr(machine, now, how->hpcm, TL_REG_WRITE, UINT64_C(1) << 32 | 1);
        (void)access_csr(machine, now + 1, how->hpcc, TL_REG_WRITE, (uint64_t)TL_DHPC_ID(TL_DHPC_CORE, 1, 0) << TL_DHPC_ID_LSB | 1);
        uint64_t beat = now + 1 + how->t_req + how->t_grant + how->t_lookup;
        assert_int_equal(access_csr(machine, now + 100, how->hpcr, TL_REG_SET, 0), 300);
        assert_int_equal(access_csr(machine, now + 101, how->hpcr, TL_REG_SET, 0), beat + how->beat - 300);
    }
    tl_machine_free(machine);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_idle_time_of_a_sleeping_hart_goes_on_in_the_distributed_counters),
};
TL_TEST_MAIN(tests)
