// SPDX-License-Identifier: MIT
// Every member of a comparison's rows: its name to programs, and where it is. Names are interface:
// added, never renamed.
#include <stddef.h>

#include "base/bits.h"
#include "report/comparison.h"

#define FIELD(row, kind, member) \
    { #member, TL_MEMBER_##kind, offsetof(row, member), TL_MEMBER_ALWAYS, false }
#define KEY(row, kind, member) \
    { #member, TL_MEMBER_##kind, offsetof(row, member), TL_MEMBER_ALWAYS, true }
#define NAMED(row, kind, member, name) \
    { name, TL_MEMBER_##kind, offsetof(row, member), TL_MEMBER_ALWAYS, false }
#define IF(row, kind, member, guard) \
    { #member, TL_MEMBER_##kind, offsetof(row, member), offsetof(row, guard), false }

#define ROW tl_compare_facts
static const tl_member facts[] = {
    FIELD(ROW, TEXT, program),
    FIELD(ROW, TEXT, digest),
    FIELD(ROW, TEXT, machine),
    FIELD(ROW, TEXT, added),
    FIELD(ROW, U32, n_harts),
    FIELD(ROW, U32, n_slices),
    FIELD(ROW, U64, clock_hz),
    FIELD(ROW, U64, instructions),
    FIELD(ROW, U64, cycles),
    NAMED(ROW, END, reason, "end"),
    FIELD(ROW, U32, status),
    FIELD(ROW, U32, signal),
    FIELD(ROW, U64, max_insns),
    FIELD(ROW, U64, interval_cycles),
    FIELD(ROW, U32, n_phases),
    FIELD(ROW, U32, n_events),
    FIELD(ROW, U64, wanted_interval_cycles),
    FIELD(ROW, TEXT, outgrown_by_design),
    FIELD(ROW, U64, outgrown_by_cycles),
};
#undef ROW
#define ROW tl_compare_design_row
static const tl_member designs[] = {
    KEY(ROW, DESIGN, design),
    FIELD(ROW, TEXT, title),
    IF(ROW, U32, events_at_once, is_accounted),
    FIELD(ROW, U32, events_asked),
    FIELD(ROW, U32, events_counted),
    FIELD(ROW, U32, events_always),
    IF(ROW, U32, n_csrs, is_accounted),
    IF(ROW, U64, address_bytes, is_accounted),
    IF(ROW, U32, csrs_per_event, is_accounted),
    IF(ROW, U32, address_bytes_per_event, is_accounted),
    FIELD(ROW, U64, n_looks),
    NAMED(ROW, MILLI, look_instructions_x1000, "look_instructions"),
    NAMED(ROW, MILLI, look_cycles_x1000, "look_cycles"),
    FIELD(ROW, U64, first_look_cycles),
    NAMED(ROW, U64, by_reader.instructions, "reader_instructions"),
    NAMED(ROW, U64, by_reader.cycles, "reader_cycles"),
    NAMED(ROW, U64, by_reader.l1d_reads, "reader_l1d_reads"),
    NAMED(ROW, U64, by_reader.l1d_writes, "reader_l1d_writes"),
    NAMED(ROW, U64, by_reader.l1d_misses, "reader_l1d_misses"),
    NAMED(ROW, U64, by_reader.l1i_misses, "reader_l1i_misses"),
    NAMED(ROW, U64, by_reader.l2_reads, "reader_l2_reads"),
    NAMED(ROW, U64, by_reader.uncached, "reader_uncached"),
    FIELD(ROW, U64, run_instructions),
    FIELD(ROW, U64, run_cycles),
    FIELD(ROW, DOUBLE, slowdown),
    FIELD(ROW, DOUBLE, mean_error),
    FIELD(ROW, DOUBLE, largest_error),
    FIELD(ROW, U32, n_with_error),
    FIELD(ROW, U64, values_watched),
    FIELD(ROW, U64, values_read),
    FIELD(ROW, U64, selects_watched),
};
#undef ROW
#define ROW tl_compare_value_row
static const tl_member values[] = {
    KEY(ROW, DESIGN, design),
    KEY(ROW, TEXT, event),
    FIELD(ROW, TEXT, reason),
    IF(ROW, U64, value, has_value),
    IF(ROW, U64, truth, has_value),
    FIELD(ROW, U64, undisturbed),
    IF(ROW, DOUBLE, error, has_value),
    IF(ROW, DOUBLE, time_counted, has_value),
    IF(ROW, U32, n_phases, has_value),
    IF(ROW, DOUBLE, least, has_value),
    IF(ROW, DOUBLE, lower_quartile, has_value),
    IF(ROW, DOUBLE, median, has_value),
    IF(ROW, DOUBLE, upper_quartile, has_value),
    IF(ROW, DOUBLE, most, has_value),
    IF(ROW, DOUBLE, mean_absolute, has_value),
};
#undef ROW
#define ROW tl_compare_access_row
static const tl_member accesses[] = {
    KEY(ROW, DESIGN, design),
    KEY(ROW, TEXT, method),
    KEY(ROW, TEXT, mode),
    KEY(ROW, U32, n_asked),
    FIELD(ROW, U32, n_counters),
    FIELD(ROW, U64, first_instructions),
    FIELD(ROW, U64, first_cycles),
    FIELD(ROW, U64, first_setup_cycles),
    FIELD(ROW, U64, first_setup_instructions),
    FIELD(ROW, U64, next_instructions),
    FIELD(ROW, U64, next_cycles),
    FIELD(ROW, U64, l1d_accesses),
    FIELD(ROW, U64, l1d_misses),
    FIELD(ROW, U64, dtlb_accesses),
    FIELD(ROW, U64, uncached),
    FIELD(ROW, U64, l1i_misses),
};
#undef ROW
#define ROW tl_compare_privilege_row
static const tl_member privileges[] = {
    KEY(ROW, DESIGN, design), KEY(ROW, TEXT, what), KEY(ROW, TEXT, grant), KEY(ROW, TEXT, mode), FIELD(ROW, OUTCOME, outcome),
};
#undef ROW
#define ROW tl_compare_state_row
static const tl_member states[] = {
    KEY(ROW, DESIGN, design),      KEY(ROW, BOOL, is_as_built), FIELD(ROW, U32, n_counters), FIELD(ROW, U64, state_bits),
    FIELD(ROW, U64, counter_bits), FIELD(ROW, U64, wires),      FIELD(ROW, U64, n_csrs),     FIELD(ROW, U64, address_bytes),
};
#undef ROW
#define ROW tl_compare_fabric_row
static const tl_member fabrics[] = {
    KEY(ROW, U32, beat_cycles),
    KEY(ROW, U32, n_harts),
    KEY(ROW, U32, n_counters),
    NAMED(ROW, MILLI, empty_poll_x1000, "empty_poll_cycles"),
    NAMED(ROW, MILLI, trigger_poll_x1000, "trigger_poll_cycles"),
    NAMED(ROW, MILLI, burst_read_x1000, "burst_read_cycles"),
    FIELD(ROW, U64, max_wait_cycles),
    FIELD(ROW, U64, wait_bound_cycles),
    FIELD(ROW, TEXT, winner),
};
#undef ROW
#define ROW tl_compare_spread_row
static const tl_member spreads[] = {
    KEY(ROW, DESIGN, design),       KEY(ROW, U32, n_events),           FIELD(ROW, U32, n_counted),
    FIELD(ROW, DOUBLE, mean_error), FIELD(ROW, DOUBLE, largest_error), FIELD(ROW, U64, interval_cycles),
};
#undef ROW

#define SECTION(name, members, row) \
    { name, members, TL_COUNT_OF(members), sizeof(row) }
const tl_section tl_comparison_sections[] = {
    SECTION("run", facts, tl_compare_facts),
    SECTION("design", designs, tl_compare_design_row),
    SECTION("event", values, tl_compare_value_row),
    SECTION("access", accesses, tl_compare_access_row),
    SECTION("privilege", privileges, tl_compare_privilege_row),
    SECTION("state", states, tl_compare_state_row),
    SECTION("fabric", fabrics, tl_compare_fabric_row),
    SECTION("spread", spreads, tl_compare_spread_row),
};
const uint32_t tl_n_comparison_sections = TL_COUNT_OF(tl_comparison_sections);

const void *tl_comparison_rows(const tl_comparison *c, uint32_t section, uint32_t *ret_n) {
    const struct {
        const void *rows;
        uint32_t n;
    } all[] = {
        {&c->facts, 1},
        {c->designs, c->n_designs},
        {c->values, c->n_values},
        {c->accesses, c->n_accesses},
        {c->privileges, c->n_privileges},
        {c->states, c->n_states},
        {c->fabrics, c->n_fabrics},
        {c->spreads, c->n_spreads},
    };
    _Static_assert(TL_COUNT_OF(all) == TL_COUNT_OF(tl_comparison_sections), "a section has rows");
    *ret_n = all[section].n;
    return all[section].rows;
}

const char *tl_comparison_design_name(const tl_comparison *c, uint32_t design) {
    for (uint32_t i = 0; i < c->n_designs; i++)
        if (c->designs[i].design == design)
            return c->designs[i].name;
    return "";
}
