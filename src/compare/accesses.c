// SPDX-License-Identifier: MIT
// Straight code in user mode on a quiet machine: run once with nothing in the caches, then until a run misses nowhere. Values end in
// registers, twenty at a time; before more are read they are stored.
#include "compare/accesses.h"

#include "base/bits.h"
#include "compare/fabric_reader.h"
#include "compare/grant.h"
#include "pmu/ccache/ccache.h"
#include "readers/ccache/on.h"
#include "readers/dhpc/on.h"

enum {
    MAX_PASSES = 8,
    MAX_COUNTERS = 64,
};
static const uint32_t asked[] = {1, 8, 64};
static const uint32_t core_counters[] = {0xc00, 0xc02, 0xc03, 0xc04}; // cycle, instret and the programmable ones

static void store_values(tl_assembler *a, uint32_t n) {
    tl_asm_load_constant(a, TL_T2, TL_STAGE_DATA_USER);
    for (uint32_t i = 0; i < n; i++)
        tl_asm_sd(a, TL_HPC_FIRST_VALUE + i, TL_T2, 8 * (int32_t)i);
}

static uint32_t write_core(tl_assembler *a, uint32_t n) {
    uint32_t most = TL_COUNT_OF(core_counters);
    for (uint32_t i = 0; i < n && i < most; i++)
        tl_asm_csrr(a, TL_HPC_FIRST_VALUE + i, core_counters[i]);
    return n < most ? n : most;
}

static uint32_t write_bus(tl_assembler *a, const tl_stage *s, uint32_t n) {
    uint32_t most = tl_ccache_on(s->machine)->n_counters;
    n = n < most ? n : most;
    tl_asm_load_constant(a, TL_T0, TL_STAGE_WINDOW_GRANTED + TL_CCACHE_COUNTER);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && i % TL_HPC_MAX_VALUES == 0)
            store_values(a, TL_HPC_MAX_VALUES);
        tl_asm_ld(a, TL_HPC_FIRST_VALUE + i % TL_HPC_MAX_VALUES, TL_T0, 8 * (int32_t)i);
    }
    return n;
}

// Manager by manager, as many counters of each as there are.
static uint32_t write_fabric(tl_assembler *a, const tl_stage *s, tl_hpc_method method, uint32_t n) {
    const tl_dhpc_config *config = tl_dhpc_config_of(tl_dhpc_on(s->machine));
    uint32_t n_managers, n_read = 0, at_once = tl_hpc_values_at_once(config);
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(s->machine), &n_managers);
    for (uint32_t m = 0; m < n_managers && n_read < n; m++) {
        uint64_t left = managers[m].implemented;
        while (left != 0 && n_read < n) {
            uint64_t bitmap = 0;
            uint32_t k = 0;
            for (; k < at_once && left != 0 && n_read + k < n; k++, left &= left - 1)
                bitmap |= left & -left;
            if (n_read > 0)
                store_values(a, at_once);
            tl_hpc_write_read(a, config, method, managers[m].id, bitmap);
            n_read += k;
        }
    }
    return n_read;
}

static tl_status measure(const tl_compare_setup *setup, tl_compare_design design, tl_hpc_method method, uint32_t n,
                         tl_compare_access_row *row, tl_error *err) {
    tl_stage s;
    tl_status status = tl_stage_open(setup, &s, err);
    if (status != TL_OK)
        return status;
    tl_stage_cost grant = {0}, first = {0}, next = {0};
    status = tl_grant_run(&s, design, &grant, err);
    tl_piece piece = tl_stage_begin(&s, TL_PRIV_U);
    row->n_asked = n;
    row->n_counters = design == TL_COMPARE_U74      ? write_core(&piece.code, n)
                      : design == TL_COMPARE_CCACHE ? write_bus(&piece.code, &s, n)
                                                    : write_fabric(&piece.code, &s, method, n);
    if (status == TL_OK)
        status = tl_stage_end(&s, &piece, err);
    int cause = TL_STAGE_NO_TRAP;
    if (status == TL_OK)
        status = tl_stage_run(&s, &piece, &cause, &first, err);
    for (uint32_t pass = 0; status == TL_OK && pass < MAX_PASSES && (pass == 0 || next.l1i_misses + next.l1d_misses != 0); pass++)
        status = tl_stage_run(&s, &piece, &cause, &next, err);
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
    tl_stage_close(&s);
    if (status == TL_OK && cause != TL_STAGE_NO_TRAP)
        return tl_fail(err, TL_EIO, "reading %u counters of %s trapped with cause %d", n, tl_compare_design_name(design), cause);
    return status;
}

tl_status tl_compare_accesses(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    c->accesses = tl_arena_alloc(&c->arena, sizeof *c->accesses * TL_COMPARE_N_DESIGNS * TL_HPC_N_METHODS * TL_COUNT_OF(asked));
    if (!c->accesses)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    tl_status status = TL_OK;
    for (uint32_t d = 0; d < setup->n_designs && status == TL_OK; d++) {
        tl_compare_design design = setup->designs[d];
        uint32_t n_methods = design == TL_COMPARE_DHPC ? TL_HPC_N_METHODS : 1;
        for (uint32_t m = 0; m < n_methods && status == TL_OK; m++)
            for (uint32_t k = 0; k < TL_COUNT_OF(asked) && status == TL_OK; k++) {
                tl_compare_access_row *row = &c->accesses[c->n_accesses++];
                *row = (tl_compare_access_row){.size = sizeof *row, .design = design, .mode = "user"};
                row->method = design == TL_COMPARE_DHPC ? tl_hpc_method_names[m] : design == TL_COMPARE_U74 ? "csrr" : "load";
                status = measure(setup, design, (tl_hpc_method)m, asked[k], row, err);
            }
    }
    return status;
}
