// SPDX-License-Identifier: MIT
// Tables beside the watched runs: access rights, read cost and capacity of each design. Expected
// values come from the privileged manual (mcounteren, scounteren, page and PMP faults), from
// docs/dhpc.md (useren) and from the latencies in the machine's description.
#include "compare/accesses.h"
#include "compare/privileges.h"
#include "compare/setup.h"
#include "compare/test_rig.h"

static char path[64];
static tl_comparison *comparison;

static int compare_once(void **state) {
    (void)state;
    test_write_program(40, path);
    tl_compare_options options = test_options(path);
    options.n_phases = 1;
    comparison = test_compare(&options);
    return 0;
}

static int forget(void **state) {
    (void)state;
    tl_comparison_release(comparison);
    return unlink(path);
}

static void test_who_can_read(void **state) {
    (void)state;
    static const struct {
        uint32_t design;
        const char *mode, *grant, *what;
        tl_compare_outcome outcome;
    } rows[] = {
        {U74, "M", "mcounteren=0", "csrr mhpmcounter3", TL_COMPARE_VALUE},
        {U74, "S", "mcounteren=0", "csrr hpmcounter3", TL_COMPARE_ILLEGAL},
        {U74, "S", "mcounteren=1", "csrr hpmcounter3", TL_COMPARE_VALUE},
        {U74, "S", "mcounteren=1", "csrr mhpmcounter3", TL_COMPARE_ILLEGAL},
        {U74, "S", "mcounteren=1", "csrw mhpmevent3", TL_COMPARE_ILLEGAL},
        {U74, "U", "mcounteren=0, scounteren=0", "csrr hpmcounter3", TL_COMPARE_ILLEGAL},
        {U74, "U", "mcounteren=1, scounteren=0", "csrr hpmcounter3", TL_COMPARE_ILLEGAL},
        {U74, "U", "mcounteren=0, scounteren=1", "csrr hpmcounter3", TL_COMPARE_ILLEGAL},
        {U74, "U", "mcounteren=1, scounteren=1", "csrr hpmcounter3", TL_COMPARE_VALUE},
        {U74, "U", "mcounteren=1, scounteren=1", "csrw mhpmevent3", TL_COMPARE_ILLEGAL},
        {U74, "another process", "scounteren stays 1", "csrr hpmcounter3", TL_COMPARE_OTHERS_VALUE},
        {U74, "another process", "kernel clears scounteren", "csrr hpmcounter3", TL_COMPARE_ILLEGAL},
        {CCACHE, "M", "physical address", "load counter 0", TL_COMPARE_VALUE},
        {CCACHE, "M", "locked PMP entry denies", "load counter 0", TL_COMPARE_ACCESS_FAULT},
        {CCACHE, "S", "page mapped for S", "load counter 0", TL_COMPARE_VALUE},
        {CCACHE, "S", "page not mapped", "load counter 0", TL_COMPARE_PAGE_FAULT},
        {CCACHE, "S", "page mapped for S, PMP denies", "load counter 0", TL_COMPARE_ACCESS_FAULT},
        {CCACHE, "U", "page not mapped", "load counter 0", TL_COMPARE_PAGE_FAULT},
        {CCACHE, "U", "page mapped for U", "load counter 0", TL_COMPARE_VALUE},
        {CCACHE, "U", "page mapped for U, PMP denies", "load counter 0", TL_COMPARE_ACCESS_FAULT},
        {CCACHE, "another process", "page mapped for it, too", "load counter 0", TL_COMPARE_OTHERS_VALUE},
        {CCACHE, "another process", "page not mapped for it", "load counter 0", TL_COMPARE_PAGE_FAULT},
        {DHPC, "M", "useren=0", "request, csrr hpcr", TL_COMPARE_VALUE},
        {DHPC, "S", "useren=0", "request, csrr hpcr", TL_COMPARE_VALUE},
        {DHPC, "U", "useren=0", "request, csrr hpcr", TL_COMPARE_ILLEGAL},
        {DHPC, "U", "useren=1", "request, csrr hpcr", TL_COMPARE_VALUE},
        {DHPC, "another process", "useren=0", "request, csrr hpcr", TL_COMPARE_ILLEGAL},
        {DHPC, "another process", "useren=0, values left in the FIFO", "csrr hpcr", TL_COMPARE_OTHERS_VALUE},
        {DHPC, "another process", "useren=0, kernel writes hpcm at the switch", "csrr hpcr", TL_COMPARE_NOTHING},
    };
    assert_int_equal(comparison->n_privileges, sizeof rows / sizeof rows[0]);
    for (uint32_t i = 0; i < comparison->n_privileges; i++) {
        const tl_compare_privilege_row *row = &comparison->privileges[i];
        assert_int_equal(row->design, rows[i].design);
        assert_string_equal(row->mode, rows[i].mode);
        assert_string_equal(row->grant, rows[i].grant);
        assert_string_equal(row->what, rows[i].what);
        if (row->outcome != rows[i].outcome)
            fail_msg("%s, %s, %s: %s", row->mode, row->grant, row->what, tl_comparison_outcome_text(row->outcome));
    }
}

static const tl_compare_access_row *access_of(const char *method, uint32_t n_asked) {
    for (uint32_t i = 0; i < comparison->n_accesses; i++)
        if (!strcmp(comparison->accesses[i].method, method) && comparison->accesses[i].n_asked == n_asked)
            return &comparison->accesses[i];
    fail_msg("no row of %s for %u", method, n_asked);
    return NULL;
}

static uint64_t setup_cycles_of(uint32_t design) {
    for (uint32_t i = 0; i < comparison->n_accesses; i++)
        if (comparison->accesses[i].design == design)
            return comparison->accesses[i].first_setup_cycles;
    return 0;
}

// Each way to read that a design has, for 1, 8 and 64 counters, or as many as there are: 4 and 6 on
// this machine.
static void test_every_way_to_read_is_there_once(void **state) {
    (void)state;
    static const struct {
        uint32_t design;
        const char *method;
        uint32_t most;
    } rows[] = {{U74, "csrr", 4}, {CCACHE, "load", 6}, {DHPC, "empty-poll", 64}, {DHPC, "trigger-poll", 64}, {DHPC, "burst-read", 64}};
    static const uint32_t asked[] = {1, 8, 64};
    assert_int_equal(comparison->n_accesses, 5 * 3);
    for (uint32_t i = 0; i < 5 * 3; i++) {
        const tl_compare_access_row *row = &comparison->accesses[i];
        assert_int_equal(row->size, sizeof *row);
        assert_int_equal(row->design, rows[i / 3].design);
        assert_string_equal(row->method, rows[i / 3].method);
        assert_string_equal(row->mode, "user");
        assert_int_equal(row->n_asked, asked[i % 3]);
        assert_int_equal(row->n_counters, asked[i % 3] < rows[i / 3].most ? asked[i % 3] : rows[i / 3].most);
        assert_int_equal(row->l1d_misses + row->l1i_misses, 0); // of later reads
        assert_int_equal(row->uncached, row->design == CCACHE ? row->n_counters : 0);
        assert_true(row->first_cycles > row->first_setup_cycles + row->next_cycles);
    }
}

static void test_a_read_takes_what_the_machine_says(void **state) {
    (void)state;
    // Four counters take an instruction each, and the drain of 4 cycles.
    const tl_compare_access_row *row = access_of("csrr", 8);
    assert_int_equal(row->n_counters, 4);
    assert_int_equal(row->next_instructions, 4);
    assert_int_equal(row->next_cycles, 4 * (1 + 4));
    assert_int_equal(row->l1d_accesses, 0);
    row = access_of("load", 8); // six counters; four instructions make the address
    assert_int_equal(row->n_counters, 6);
    assert_int_equal(row->uncached, 6);
    assert_int_equal(row->next_cycles, row->next_instructions + 6 * 40);
    assert_int_equal(row->dtlb_accesses, 6);
    assert_true(row->first_cycles > row->next_cycles + row->first_setup_cycles);
    assert_int_equal(row->first_instructions, row->next_instructions + row->first_setup_instructions);
    // A granted process has executed the grant: a trap of 5 cycles, CSRs of 4 more.
    for (uint32_t i = 0; i < comparison->n_accesses; i++) {
        row = &comparison->accesses[i];
        assert_true(row->first_setup_instructions >= 13);
        assert_true(row->first_setup_cycles > row->first_setup_instructions + 5 + 5 * 4);
        // The cost does not depend on the design that is read.
        assert_int_equal(row->first_setup_cycles, setup_cycles_of(row->design));
    }
    // T-32 of the specification: the unit reads nothing but its registers.
    row = access_of("burst-read", 8);
    assert_int_equal(row->n_counters, 8);
    assert_int_equal(row->l1d_accesses + row->uncached + row->dtlb_accesses, 0);
    assert_true(row->next_cycles < access_of("empty-poll", 8)->next_cycles);
    row = access_of("trigger-poll", 64);
    assert_int_equal(row->n_counters, 64);
    assert_int_equal(row->l1d_accesses, 60); // three times twenty values make room
}

static void test_what_each_design_offers(void **state) {
    (void)state;
    const tl_compare_design_row *core = &comparison->designs[0], *bus = &comparison->designs[1], *fabric = &comparison->designs[2];
    assert_int_equal(core->events_at_once, 4);
    // The CSRs: 4 machine counters, their 4 shadows and time, 2 selectors, inhibit and two enables.
    assert_int_equal(core->n_csrs, 14);
    assert_int_equal(core->csrs_per_event, 3);
    assert_int_equal(core->address_bytes, 0);
    assert_int_equal(bus->events_at_once, 6);
    assert_int_equal(bus->n_csrs, 0);
    assert_int_equal(bus->address_bytes, 0x4000);
    assert_int_equal(bus->address_bytes_per_event, 16);
    assert_true(fabric->events_at_once > 100);
    assert_int_equal(fabric->n_csrs, 3);
    assert_int_equal(fabric->csrs_per_event + fabric->address_bytes, 0);
    assert_int_equal(comparison->n_states, 5);
    // Each event has a counter and a selector.
    assert_int_equal(comparison->states[1].n_csrs, 2 * fabric->events_at_once);
    assert_int_equal(comparison->states[3].address_bytes, 8 * fabric->events_at_once);
    for (uint32_t i = 0; i < comparison->n_states; i++)
        assert_true(comparison->states[i].state_bits >= comparison->states[i].counter_bits);
    assert_int_equal(comparison->states[4].counter_bits, 64 * fabric->events_at_once);
}

static void test_tables_tell_of_the_designs_asked_for(void **state) {
    (void)state;
    static const uint32_t n_privileges[] = {12, 10, 7}, n_ways[] = {1, 1, 3};
    static const char *const names[] = {"u74", "ccache", "dhpc"};
    for (uint32_t design = 0; design < N_DESIGNS; design++) {
        tl_compare_options options = test_options("unused");
        options.designs = names[design];
        tl_compare_setup setup;
        tl_comparison c = {0};
        tl_error err = {0};
        assert_int_equal(tl_compare_prepare(&options, &setup, &err), TL_OK);
        assert_int_equal(tl_compare_privileges(&setup, &c, &err), TL_OK);
        assert_int_equal(tl_compare_accesses(&setup, &c, &err), TL_OK);
        assert_int_equal(c.n_privileges, n_privileges[design]);
        assert_int_equal(c.n_accesses, 3 * n_ways[design]);
        for (uint32_t i = 0; i < c.n_privileges; i++)
            assert_int_equal(c.privileges[i].design, design);
        for (uint32_t i = 0; i < c.n_accesses; i++)
            assert_int_equal(c.accesses[i].design, design);
        tl_arena_done(&c.arena);
        tl_compare_setup_done(&setup);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_can_read),
        cmocka_unit_test(test_every_way_to_read_is_there_once),
        cmocka_unit_test(test_a_read_takes_what_the_machine_says),
        cmocka_unit_test(test_what_each_design_offers),
        cmocka_unit_test(test_tables_tell_of_the_designs_asked_for),
    };
    return cmocka_run_group_tests(tests, compare_once, forget) == 0 ? 0 : 1;
}
