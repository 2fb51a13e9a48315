// SPDX-License-Identifier: MIT
// Rows of two machines that run one program on two engines, compared signal by signal.
#ifndef TL_TESTS_ATTRIBUTIONS_H
#define TL_TESTS_ATTRIBUTIONS_H

#include <inttypes.h>

#include "base/testing.h"
#include "machine/machine.h"
#include "model/attribution.h"

// Of a machine that has not run. Each hart is a space.
static inline tl_attribution *attribute(tl_machine *machine) {
    tl_attribution *attribution;
    tl_error err = {0};
    if (tl_attribution_new(&machine->probe, machine->n_harts, &attribution, &err) != TL_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        machine->harts[i]->attribution = attribution;
        tl_attribution_set_space(attribution, i, i);
    }
    return attribution;
}

static inline const tl_attribution_row *row_at(tl_attribution *attribution, uint64_t space, uint64_t pc) {
    uint32_t n_rows;
    const tl_attribution_row *rows = tl_attribution_rows(attribution, &n_rows);
    for (uint32_t i = 0; i < n_rows; i++)
        if (rows[i].pc == pc && rows[i].space == space)
            return &rows[i];
    return NULL;
}

static inline uint64_t count_of(const tl_attribution_row *row, tl_cell cell) {
    for (uint32_t i = 0; i < row->n_counts; i++)
        if (row->counts[i].cell == cell)
            return row->counts[i].n;
    return 0;
}

// `a` is the row of `fast`, `b` that of a machine on the stepping engine.
static inline void same_counts(const char *where, const tl_machine *fast, const tl_attribution_row *a, const tl_attribution_row *b) {
    if (a->n_executed != b->n_executed)
        fail_msg("%s: hart %" PRIu64 " executed %" PRIx64 " %" PRIu64 " times by %s, %" PRIu64 " by step", where, a->space, a->pc,
                 a->n_executed, fast->engine->name, b->n_executed);
    for (tl_cell cell = 0; cell < fast->probe.n_cells; cell++) {
        const tl_unit *unit = tl_probe_unit_of(&fast->probe, cell);
        if (count_of(a, cell) != count_of(b, cell))
            fail_msg("%s: %s.%s of %" PRIx64 " is %" PRIu64 " by %s, %" PRIu64 " by step", where, unit->path,
                     unit->type->signals[cell - unit->first_cell].name, a->pc, count_of(a, cell), fast->engine->name, count_of(b, cell));
    }
}

// Books what was counted since the last turn, and checks both sums. Tallies must be synced. Rows
// that only one engine has are empty.
static inline void same_rows(const char *where, const tl_machine *machine, tl_attribution *fast, tl_attribution *slow) {
    static const tl_attribution_row none = {0};
    tl_error err = {0};
    uint32_t n_rows;
    const tl_attribution_row *rows = tl_attribution_rows(fast, &n_rows);
    for (uint32_t i = 0; i < n_rows; i++) {
        const tl_attribution_row *other = row_at(slow, rows[i].space, rows[i].pc);
        same_counts(where, machine, &rows[i], other ? other : &none);
    }
    rows = tl_attribution_rows(slow, &n_rows);
    assert_true(n_rows > 30);
    for (uint32_t i = 0; i < n_rows; i++)
        if (!row_at(fast, rows[i].space, rows[i].pc))
            same_counts(where, machine, &none, &rows[i]);
    if (tl_attribution_check(fast, &err) != TL_OK || tl_attribution_check(slow, &err) != TL_OK)
        fail_msg("%s: %s", where, err.text);
}

#endif
