// SPDX-License-Identifier: MIT
// Straight code in user mode on a quiet machine: run once with nothing in the caches, then until a run misses nowhere. Values end in
// registers, twenty at a time; before more are read they are stored.
#include "compare/accesses.h"

#include "base/bits.h"
#include "pmu/ccache/ccache.h"

enum {
    FIRST_VALUE = TL_S0,
    MAX_VALUES = 20,
    MAX_PASSES = 8,
    CSR_MCOUNTEREN = 0x306,
    CSR_SCOUNTEREN = 0x106,
    MAP_CALLS = 2, // open and mmap
    MAX_COUNTERS = 64,
};
static const uint32_t asked[] = {1, 8, 64};
static const uint32_t core_counters[] = {0xc00, 0xc02, 0xc03, 0xc04}; // cycle, instret and the programmable ones

const char *const tl_hpc_method_names[TL_HPC_N_METHODS] = {
    [TL_HPC_EMPTY_POLL] = "empty-poll", [TL_HPC_TRIGGER_POLL] = "trigger-poll", [TL_HPC_BURST_READ] = "burst-read"};

static void wait_while(tl_assembler *a, const tl_dhpc_config *c, uint64_t bit) {
    uint64_t look = tl_asm_here(a);
    tl_asm_csrr(a, TL_T0, c->hpcc);
    tl_asm_andi(a, TL_T1, TL_T0, (int32_t)bit);
    tl_asm_branch_to(a, TL_ASM_NE, TL_T1, TL_X0, look);
}

void tl_hpc_write_read(tl_assembler *a, const tl_dhpc_config *c, tl_hpc_method method, uint32_t manager, uint64_t bitmap) {
    uint32_t n = (uint32_t)__builtin_popcountll(bitmap);
    tl_asm_load_constant(a, TL_T0, bitmap);
    tl_asm_load_constant(a, TL_T1, (uint64_t)manager << TL_DHPC_ID_LSB | TL_DHPC_TRIGGER);
    tl_asm_csrw(a, c->hpcm, TL_T0);
    tl_asm_csrw(a, c->hpcc, TL_T1);
    if (method == TL_HPC_TRIGGER_POLL)
        wait_while(a, c, TL_DHPC_TRIGGER);
    else if (method == TL_HPC_BURST_READ)
        wait_while(a, c, TL_DHPC_EMPTY);
    for (uint32_t i = 0; i < n; i++) {
        if (method == TL_HPC_EMPTY_POLL)
            wait_while(a, c, TL_DHPC_EMPTY);
        tl_asm_csrr(a, FIRST_VALUE + i, c->hpcr);
    }
    if (method == TL_HPC_BURST_READ) { // were they all there in time?
        tl_asm_csrr(a, TL_T0, c->hpcc);
        tl_asm_andi(a, TL_T0, TL_T0, TL_DHPC_READERROR);
        uint32_t is_good = tl_asm_branch(a, TL_ASM_EQ, TL_T0, TL_X0);
        tl_asm_csrci(a, c->hpcc, 1); // the fabric is too slow for that: again, looking before every value
        tl_hpc_write_read(a, c, TL_HPC_EMPTY_POLL, manager, bitmap);
        tl_asm_bind(a, is_good);
    }
}

static void store_values(tl_assembler *a, uint32_t n) {
    tl_asm_load_constant(a, TL_T2, TL_STAGE_DATA_USER);
    for (uint32_t i = 0; i < n; i++)
        tl_asm_sd(a, FIRST_VALUE + i, TL_T2, 8 * (int32_t)i);
}

static uint32_t write_core(tl_assembler *a, uint32_t n) {
    uint32_t most = TL_COUNT_OF(core_counters);
    for (uint32_t i = 0; i < n && i < most; i++)
        tl_asm_csrr(a, FIRST_VALUE + i, core_counters[i]);
    return n < most ? n : most;
}

static uint32_t write_bus(tl_assembler *a, const tl_stage *s, uint32_t n) {
    uint32_t most = s->machine->config.l2_counters;
    n = n < most ? n : most;
    tl_asm_load_constant(a, TL_T0, TL_STAGE_WINDOW_USER + TL_CCACHE_COUNTER);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && i % MAX_VALUES == 0)
            store_values(a, MAX_VALUES);
        tl_asm_ld(a, FIRST_VALUE + i % MAX_VALUES, TL_T0, 8 * (int32_t)i);
    }
    return n;
}

// Manager by manager, as many counters of each as there are.
static uint32_t write_fabric(tl_assembler *a, const tl_stage *s, tl_hpc_method method, uint32_t n) {
    const tl_dhpc_config *config = tl_dhpc_config_of(s->machine->hpc);
    uint32_t n_managers, n_read = 0;
    const tl_dhpc_manager *managers = tl_dhpc_managers(s->machine->hpc, &n_managers);
    for (uint32_t m = 0; m < n_managers && n_read < n; m++) {
        uint64_t left = managers[m].implemented;
        while (left != 0 && n_read < n) {
            uint64_t bitmap = 0;
            uint32_t k = 0;
            for (; k < MAX_VALUES && left != 0 && n_read + k < n; k++, left &= left - 1)
                bitmap |= left & -left;
            if (n_read > 0)
                store_values(a, MAX_VALUES);
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
    if (design == TL_COMPARE_DHPC)
        status = tl_stage_set_csr(&s, tl_dhpc_config_of(s.machine->hpc)->hpcc, TL_CSR_SET, TL_DHPC_USEREN, err);
    else if (design == TL_COMPARE_U74)
        status = tl_stage_set_csr(&s, CSR_MCOUNTEREN, TL_CSR_WRITE, UINT32_MAX, err);
    if (status == TL_OK && design == TL_COMPARE_U74)
        status = tl_stage_set_csr(&s, CSR_SCOUNTEREN, TL_CSR_WRITE, UINT32_MAX, err);
    tl_piece piece = tl_stage_begin(&s, TL_PRIV_U);
    row->n_asked = n;
    row->n_counters = design == TL_COMPARE_U74      ? write_core(&piece.code, n)
                      : design == TL_COMPARE_CCACHE ? write_bus(&piece.code, &s, n)
                                                    : write_fabric(&piece.code, &s, method, n);
    if (status == TL_OK)
        status = tl_stage_end(&s, &piece, err);
    tl_stage_cost first = {0}, next = {0};
    int cause = TL_STAGE_NO_TRAP;
    if (status == TL_OK)
        status = tl_stage_run(&s, &piece, &cause, &first, err);
    for (uint32_t pass = 0; status == TL_OK && pass < MAX_PASSES && (pass == 0 || next.l1i_misses + next.l1d_misses != 0); pass++)
        status = tl_stage_run(&s, &piece, &cause, &next, err);
    const tl_config *config = &s.machine->config;
    if (design == TL_COMPARE_CCACHE)
        row->first_setup_cycles = MAP_CALLS * (config->os.syscall_cycles + config->pipeline.trap_cycles);
    row->first_instructions = first.instructions;
    row->first_cycles = first.cycles + row->first_setup_cycles;
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
