// SPDX-License-Identifier: MIT
// The privilege matrix. Executing a case yields an outcome: a value or a trap. For "another
// process" a first process has used the counters. The kernel then follows the row, and a second
// process reads in that mode.
#include "compare/privileges.h"

#include "compare/design.h"
#include "isa/rv/hart.h"

tl_status tl_trial_run(tl_testbench *testbench, tl_piece *piece, int *ret_cause, tl_error *err) {
    tl_status status = tl_testbench_end(testbench, piece, err);
    return status == TL_OK ? tl_testbench_run(testbench, piece, ret_cause, NULL, err) : status;
}

static tl_compare_outcome judge(const tl_testbench *s, const tl_trial *t, int cause) {
    switch (cause) {
    case TL_TESTBENCH_NO_TRAP: break;
    case TL_CAUSE_LOAD_PAGE: return TL_COMPARE_PAGE_FAULT;
    case TL_CAUSE_LOAD_ACCESS: return TL_COMPARE_ACCESS_FAULT;
    default: return TL_COMPARE_ILLEGAL;
    }
    uint64_t value = tl_rv(s->hart)->x[TL_TESTBENCH_VALUE];
    if (!(s->design->is_value ? s->design->is_value(s, value) : value == TL_TRIAL_SECRET))
        return TL_COMPARE_NOTHING;
    return t->is_anothers ? TL_COMPARE_OTHERS_VALUE : TL_COMPARE_VALUE;
}

static tl_status try_one(const tl_compare_setup *setup, const tl_compare_design_type *design, const tl_trial *t,
                         tl_compare_outcome *ret_outcome, tl_error *err) {
    tl_testbench s;
    int cause = TL_TESTBENCH_NO_TRAP;
    tl_status status = tl_testbench_open(setup, design, &s, err);
    if (status != TL_OK)
        return status;
    status = design->permit_trial(&s, t, err);
    tl_piece piece = tl_testbench_begin(&s, t->mode);
    tl_asm_addi(&piece.code, TL_TESTBENCH_VALUE, TL_X0, TL_TRIAL_NOT_READ);
    design->write_trial(&piece.code, &s, t);
    if (status == TL_OK)
        status = tl_trial_run(&s, &piece, &cause, err);
    *ret_outcome = judge(&s, t, cause);
    tl_testbench_close(&s);
    return status;
}

tl_status tl_compare_privileges(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    uint32_t n = 0;
    for (uint32_t d = 0; tl_compare_designs[d]; d++)
        n += tl_compare_has_design(setup, d) ? tl_compare_designs[d]->n_trials : 0;
    c->privileges = tl_arena_alloc(&c->arena, sizeof *c->privileges * n);
    if (!c->privileges)
        return tl_no_memory(err);
    tl_status status = TL_OK;
    for (uint32_t d = 0; tl_compare_designs[d]; d++)
        for (uint32_t i = 0; tl_compare_has_design(setup, d) && i < tl_compare_designs[d]->n_trials && status == TL_OK; i++) {
            const tl_trial *t = &tl_compare_designs[d]->trials[i];
            tl_compare_privilege_row *row = &c->privileges[c->n_privileges++];
            *row = (tl_compare_privilege_row){.size = sizeof *row, .design = d, .mode = t->who, .grant = t->grant, .what = t->what};
            status = try_one(setup, tl_compare_designs[d], t, &row->outcome, err);
        }
    return status;
}
