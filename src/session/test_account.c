// SPDX-License-Identifier: MIT
// The account of designs on machines of known size, worked out on paper, and that chips of other
// sizes are accounted for alike.
#include "base/testing.h"
#include "pmu/smpm/smpm.h"
#include "readers/ccache/on.h"
#include "readers/dhpc/on.h"
#include "readers/rvhpm/on.h"
#include "session/account.h"
#include "session/cost_maker.h"
#include "session/plan.h"

static tl_machine *machine_of(const char *name, const char *const *overrides) {
    tl_config config;
    tl_machine *machine = NULL;
    tl_error err = {0};
    assert_int_equal(tl_plan_config(name, overrides, &config, &err), TL_OK);
    tl_account_complete(&config);
    if (tl_machine_new(&config, &tl_engine_step, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    return machine;
}

static tl_account account_on(const tl_machine *machine, const tl_pmu_type *pmu) {
    tl_account account;
    tl_error err = {0};
    if (tl_account_find(pmu)->of_machine(machine, &account, &err) != TL_OK)
        fail_msg("%s", err.text);
    return account;
}

static tl_account account_of(const tl_pmu_type *pmu, uint32_t n_counters, uint32_t n_harts) {
    return tl_account_find(pmu)->of_counters(n_counters, n_harts);
}

static void test_the_u74_s_registers_are_those_of_its_map(void **state) {
    (void)state;
    static const char *const harts[] = {"harts=1", "harts=4"};
    for (uint32_t n = 1; n <= 4; n += 3) {
        const char *const overrides[] = {harts[n / 4], NULL};
        tl_machine *machine = machine_of("u74", overrides);
        tl_account a = account_on(machine, &tl_pmu_rvhpm);
        assert_int_equal(a.n_counters, n * 4);
        assert_int_equal(a.n_at_once, 4);
        assert_int_equal(a.counter_bits, n * (2 * 64 + 2 * 40));
        // The terms: counters, selectors, inhibit and two enables.
        assert_int_equal(a.state_bits, n * (208 + 40 + 14));
        assert_int_equal(a.wires, n * 35);
        // The CSRs: 4 machine counters, their 4 shadows and time, 2 selectors, inhibit and two
        // enables.
        assert_int_equal(a.n_csrs, 14);
        assert_int_equal(a.csrs_per_event, 3);
        assert_int_equal(a.address_bytes + a.address_bytes_per_event, 0);
        tl_machine_free(machine);
    }
}

static void test_the_block_has_two_registers_for_each_counter(void **state) {
    (void)state;
    static const char *const overrides[] = {"l2.counters=9", "harts=2", NULL};
    tl_machine *machine = machine_of("u74", overrides);
    tl_account a = account_on(machine, &tl_pmu_ccache), usual;
    assert_int_equal(a.n_counters, 9);
    assert_int_equal(a.n_at_once, 9);
    assert_int_equal(a.counter_bits, 9 * 64);
    assert_int_equal(a.n_csrs + a.csrs_per_event, 0);
    assert_int_equal(a.address_bytes, 0x4000);
    assert_int_equal(a.address_bytes_per_event, 16);
    tl_machine_free(machine);
    machine = machine_of("u74", overrides + 1); // has none: gets six
    usual = account_on(machine, &tl_pmu_ccache);
    assert_int_equal(usual.n_counters, 6);
    // Three counters more are so many selectors and values; the filter, two clients a hart and one,
    // stays.
    uint64_t of_one = (a.state_bits - usual.state_bits) / 3;
    assert_int_equal(a.state_bits, 9 * of_one + 2 * 2 + 1);
    assert_int_equal(usual.state_bits, 6 * of_one + 2 * 2 + 1);
    tl_machine_free(machine);
}

// Six units of 45 counters on one hart's machine, in one partition: 49 values of each type.
static void test_the_hierarchy_is_units_a_collection_unit_and_three_channels(void **state) {
    (void)state;
    static const char *const overrides[] = {"smpm.profile=literal", NULL};
    tl_machine *machine = machine_of("rocket", NULL);
    tl_account a = account_on(machine, &tl_pmu_smpm);
    // 45 of the hart, 4 of slice and memory channel, 3, 4 and 3 of interconnect, bus and devices.
    assert_int_equal(a.n_counters, 63);
    assert_int_equal(a.n_at_once, 63);
    assert_int_equal(a.counter_bits, 6 * 405 + 6 * 6 * 448 + 5 * 6 * 49 * 64);
    assert_int_equal(a.wires, 6 * 2 + 1 + 258);
    assert_int_equal(a.n_csrs + a.csrs_per_event + a.address_bytes + a.address_bytes_per_event, 0);
    tl_machine_free(machine);
    machine = machine_of("rocket", overrides); // without residues
    a = account_on(machine, &tl_pmu_smpm);
    assert_int_equal(a.counter_bits, 6 * 405 + 6 * 6 * 448 + 5 * 6 * 45 * 64);
    tl_machine_free(machine);
}

static void test_what_is_wired_is_no_counter(void **state) {
    (void)state;
    tl_machine *machine = machine_of("lowrisc2", NULL);
    tl_account a = account_on(machine, &tl_pmu_dhpc);
    tl_cost *cost;
    tl_error err = {0};
    uint32_t n_managers, n = 0, n_numbers = 0;
    assert_int_equal(tl_cost_new("dhpc", "lowrisc2", NULL, 8, 16, &cost, &err), TL_OK);
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(machine), &n_managers);
    for (uint32_t i = 0; i < n_managers; i++)
        for (int bit = 0; bit < 64; bit++)
            n += (managers[i].implemented >> bit & 1) && managers[i].counters[bit].origin != TL_DHPC_CONSTANT;
    for (uint32_t i = 0; i < n_managers; i++)
        n_numbers += (uint32_t)__builtin_popcountll(managers[i].implemented);
    assert_int_equal(a.n_counters, n);
    assert_int_equal(a.n_at_once, n);
    assert_int_equal(a.counter_bits, 64 * n);
    assert_int_equal(cost->n_counters, n);
    assert_int_equal(cost->n_holders, n_managers);
    assert_true(cost->n_wired > 0);
    assert_int_equal(cost->n_wired, n_numbers - n);
    assert_non_null(strstr(cost->remark, "are wired, and not in it"));
    assert_int_equal(a.n_csrs, 3); // hpcc, hpcm, hpcr; the upper halves are 32-bit harts'
    assert_int_equal(a.csrs_per_event + a.address_bytes + a.address_bytes_per_event, 0);
    tl_machine_free(machine);
    tl_cost_free(cost);
}

static void test_designs_of_equal_reach_have_a_counter_for_each_event(void **state) {
    (void)state;
    tl_account in_core = account_of(&tl_pmu_rvhpm, 100, 2), on_bus = account_of(&tl_pmu_ccache, 100, 2);
    assert_null(tl_account_find(&tl_pmu_dhpc)->of_counters);
    assert_int_equal(in_core.n_counters, 100);
    assert_int_equal(in_core.n_at_once, 100);
    assert_int_equal(in_core.state_bits, 100 * 2 * 128);
    assert_int_equal(in_core.counter_bits, 6400);
    assert_int_equal(in_core.wires, 200);
    assert_int_equal(in_core.n_csrs, 200);
    assert_int_equal(in_core.address_bytes, 0);
    assert_int_equal(on_bus.state_bits, 6400);
    assert_int_equal(on_bus.counter_bits, 6400);
    assert_int_equal(on_bus.address_bytes, 800);
    assert_int_equal(on_bus.n_csrs, 0);
    assert_int_equal(on_bus.wires, 100 + 64 + 64 + 40);
}

static void test_what_a_description_lacks_is_added(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    tl_keys_set(&config, "hpc", TL_DHPC_KEY_NONE);
    tl_keys_set(&config, "l2.counters", 0);
    tl_account_complete(&config);
    assert_int_equal(tl_keys_get(&config, "hpc"), TL_DHPC_KEY_TIMED);
    assert_int_equal(tl_keys_get(&config, "l2.counters"), 6);
    assert_ptr_equal(tl_rvhpm_preset_of(&config), &tl_rvhpm_u74);
    tl_keys_set(&config, "hpc", TL_DHPC_KEY_FUNCTIONAL);
    tl_keys_set(&config, "l2.counters", 11);
    tl_account_complete(&config);
    assert_int_equal(tl_keys_get(&config, "hpc"), TL_DHPC_KEY_FUNCTIONAL);
    assert_int_equal(tl_keys_get(&config, "l2.counters"), 11);
}

static void test_the_cost_holds_every_design_of_the_account(void **state) {
    (void)state;
    tl_cost *cost;
    tl_error err = {0};
    assert_int_equal(tl_cost_new("dhpc", "lowrisc2", NULL, 8, 16, &cost, &err), TL_OK);
    tl_machine *machine = machine_of("lowrisc2", NULL);
    tl_account accounts[5] = {account_on(machine, &tl_pmu_dhpc)};
    accounts[1] = account_of(&tl_pmu_rvhpm, (uint32_t)accounts[0].n_counters, 2);
    accounts[2] = account_of(&tl_pmu_ccache, (uint32_t)accounts[0].n_counters, 2);
    accounts[3] = account_on(machine, &tl_pmu_rvhpm);
    accounts[4] = account_on(machine, &tl_pmu_ccache);
    assert_int_equal(cost->n_counters, accounts[0].n_counters);
    assert_int_equal(cost->n_kinds, 3);
    assert_int_equal(cost->n_designs, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(cost->designs[i].state_bits, accounts[i].state_bits);
        assert_int_equal(cost->designs[i].wires, accounts[i].wires);
        assert_int_equal(cost->designs[i].n_csrs, accounts[i].n_csrs);
        assert_int_equal(cost->designs[i].address_bytes, accounts[i].address_bytes);
        assert_int_equal(cost->designs[i].n_at_once, accounts[i].n_at_once);
    }
    assert_int_equal(cost->n_sizes, 1);
    assert_int_equal(cost->sizes[0].designs[0].n_at_once, 8 * 16);
    assert_int_equal(cost->sizes[0].designs[0].n_csrs, 3);
    assert_int_equal(cost->sizes[0].designs[1].n_csrs, 2 * 8 * 16);
    assert_int_equal(cost->sizes[0].designs[2].address_bytes, 8 * 8 * 16);
    tl_machine_free(machine);
    tl_cost_free(cost);
}

static void test_a_design_without_a_page_is_named_beside_those_with_one(void **state) {
    (void)state;
    tl_cost *cost;
    tl_error err = {0};
    assert_int_equal(tl_cost_new("rvhpm", "lowrisc2", NULL, 0, 0, &cost, &err), TL_EINVAL);
    assert_string_equal(err.text, "pmu rvhpm has no page of its cost; there is one of dhpc, smpm");
    assert_int_equal(tl_cost_new("dhpc:timed", "lowrisc2", NULL, 0, 0, &cost, &err), TL_EINVAL);
    assert_string_equal(err.text, "dhpc:timed: the cost is of a design as the machine has it; write dhpc");
    assert_int_equal(tl_cost_new("abacus", "lowrisc2", NULL, 0, 0, &cost, &err), TL_ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_u74_s_registers_are_those_of_its_map),
        cmocka_unit_test(test_the_block_has_two_registers_for_each_counter),
        cmocka_unit_test(test_the_hierarchy_is_units_a_collection_unit_and_three_channels),
        cmocka_unit_test(test_what_is_wired_is_no_counter),
        cmocka_unit_test(test_designs_of_equal_reach_have_a_counter_for_each_event),
        cmocka_unit_test(test_what_a_description_lacks_is_added),
        cmocka_unit_test(test_the_cost_holds_every_design_of_the_account),
        cmocka_unit_test(test_a_design_without_a_page_is_named_beside_those_with_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
