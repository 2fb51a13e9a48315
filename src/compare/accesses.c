// SPDX-License-Identifier: MIT
// Straight code in user mode on a quiet machine: run once with nothing in the caches, then until a
// run misses nowhere. Values end in registers, twenty at a time; before more are read they are
// stored.
#include "compare/accesses.h"

#include "base/bits.h"
#include "compare/design.h"
#include "compare/grant.h"
#include "isa/rv/arch.h"

enum { MAX_PASSES = 8 };
static const uint32_t asked[] = {1, 8, 64};

void tl_access_store(tl_assembler *a, uint32_t n) {
    tl_asm_load_constant(a, TL_T2, TL_TESTBENCH_DATA_USER);
    for (uint32_t i = 0; i < n; i++)
        tl_asm_sd(a, TL_ACCESS_FIRST_VALUE + i, TL_T2, 8 * (int32_t)i);
}

static tl_status measure(const tl_compare_setup *setup, const tl_compare_design_type *design, uint32_t method, uint32_t n,
                         tl_compare_access_row *row, tl_error *err) {
    tl_testbench s;
    tl_status status = tl_testbench_open(setup, design, &s, err);
    if (status != TL_OK)
        return status;
    tl_testbench_cost grant = {0}, first = {0}, next = {0};
    status = tl_grant_run(&s, &grant, err);
    tl_piece piece = tl_testbench_begin(&s, TL_PRIV_U);
    row->n_asked = n;
    row->n_counters = design->write_access(&piece.code, &s, method, n);
    if (status == TL_OK)
        status = tl_testbench_end(&s, &piece, err);
    int cause = TL_TESTBENCH_NO_TRAP;
    if (status == TL_OK)
        status = tl_testbench_run(&s, &piece, &cause, &first, err);
    for (uint32_t pass = 0; status == TL_OK && pass < MAX_PASSES && (pass == 0 || next.l1i_misses + next.l1d_misses != 0); pass++)
        status = tl_testbench_run(&s, &piece, &cause, &next, err);
    row->first_setup_instructions = grant.instructions;
    row->first_setup_cycles = grant.cycles;
    row->first_instructions = grant.instructions + first.instructions;
    row->first_cycles = grant.cycles + first.cycles;
    row->next_instructions = next.instructions;
    row->next_cycles = next.cycles;
    row->l1d_accesses = next.l1d_accesses;
    row->l1d_misses = next.l1d_misses;
    row->l1i_misses = next.l1i_misses;
    row->dtlb_accesses = next.dtlb_accesses;
    row->uncached = next.uncached;
    tl_testbench_close(&s);
    if (status == TL_OK && cause != TL_TESTBENCH_NO_TRAP)
        return tl_fail(err, TL_EIO, "reading %u counters of %s trapped with cause %d", n, design->name, cause);
    return status;
}

static uint32_t n_methods_of(const tl_compare_design_type *design) {
    uint32_t n = 0;
    while (design->methods && design->methods[n])
        n++;
    return n;
}

tl_status tl_compare_accesses(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    uint32_t n_methods = 0;
    for (uint32_t d = 0; d < setup->n_designs; d++)
        n_methods += n_methods_of(tl_compare_designs[setup->designs[d]]);
    c->accesses = tl_arena_alloc(&c->arena, sizeof *c->accesses * n_methods * TL_COUNT_OF(asked));
    if (!c->accesses)
        return tl_no_memory(err);
    tl_status status = TL_OK;
    for (uint32_t d = 0; d < setup->n_designs; d++) {
        const tl_compare_design_type *design = tl_compare_designs[setup->designs[d]];
        for (uint32_t m = 0; m < n_methods_of(design) && status == TL_OK; m++)
            for (uint32_t k = 0; k < TL_COUNT_OF(asked) && status == TL_OK; k++) {
                tl_compare_access_row *row = &c->accesses[c->n_accesses++];
                *row =
                    (tl_compare_access_row){.size = sizeof *row, .design = setup->designs[d], .method = design->methods[m], .mode = "user"};
                status = measure(setup, design, m, asked[k], row, err);
            }
    }
    return status;
}
