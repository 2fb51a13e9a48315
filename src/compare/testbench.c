// SPDX-License-Identifier: MIT
// Tables, pieces, and the loop that runs them; see testbench.h.
#include "compare/testbench.h"

#include <string.h>

#include "compare/design.h"
#include "isa/rv/privileged.h"

enum {
    ROOT = 0, // places from the start of RAM
    MIDDLE = 0x1000,
    LEAVES = 0x2000,
    DATA = 0x8000,
    KERNEL_DATA = 0x9000,
    FIRMWARE_DATA = 0xa000,
    CODE = 0x10000,
    RAM_MIB = 16,
    MAX_STEPS = 1000000, // only a reader that waits takes so many
    PTE_V = 1,
    PTE_R = 2,
    PTE_W = 4,
    PTE_X = 8,
    PTE_U = 16,
    PTE_AD = 0xc0,
    CSR_SATP = 0x180,
    CSR_PMPCFG0 = 0x3a0,
    CSR_PMPADDR0 = 0x3b0,
};
static const uint64_t VADDR = UINT64_C(0x2000000000), CODE_SUPERVISOR = UINT64_C(0x2000000000), CODE_USER = UINT64_C(0x2000040000);

static void put(const tl_testbench *s, uint32_t place, uint64_t value) {
    memcpy(tl_machine_ram(s->machine, TL_RAM_BASE_PADDR + place), &value, sizeof value);
}

uint64_t tl_testbench_leaf_of(uint64_t vaddr) { return (vaddr - VADDR) / TL_TESTBENCH_PAGE_BYTES * 8; }

uint64_t tl_testbench_device_pte(uint64_t paddr) { return paddr / TL_TESTBENCH_PAGE_BYTES << 10 | PTE_R | PTE_W | PTE_U | PTE_V | PTE_AD; }

static void map(const tl_testbench *s, uint64_t vaddr, uint32_t n_bytes, uint64_t paddr, uint64_t bits) {
    for (uint32_t at = 0; at < n_bytes; at += TL_TESTBENCH_PAGE_BYTES)
        put(s, LEAVES + (uint32_t)tl_testbench_leaf_of(vaddr + at), (paddr + at) / TL_TESTBENCH_PAGE_BYTES << 10 | bits | PTE_V | PTE_AD);
}

static void make_tables(const tl_testbench *s) {
    const uint64_t ram = TL_RAM_BASE_PADDR;
    put(s, ROOT + 8 * (uint32_t)(VADDR >> 30), (ram + MIDDLE) / TL_TESTBENCH_PAGE_BYTES << 10 | PTE_V);
    put(s, MIDDLE, (ram + LEAVES) / TL_TESTBENCH_PAGE_BYTES << 10 | PTE_V);
    map(s, CODE_SUPERVISOR, TL_TESTBENCH_CODE_BYTES, ram + CODE, PTE_R | PTE_X);
    map(s, CODE_USER, TL_TESTBENCH_CODE_BYTES, ram + CODE, PTE_R | PTE_X | PTE_U);
    map(s, TL_TESTBENCH_DATA_USER, TL_TESTBENCH_PAGE_BYTES, ram + DATA, PTE_R | PTE_W | PTE_U);
    map(s, TL_TESTBENCH_DATA_SUPERVISOR, TL_TESTBENCH_PAGE_BYTES, ram + KERNEL_DATA, PTE_R | PTE_W);
    map(s, TL_TESTBENCH_LEAVES_SUPERVISOR, TL_TESTBENCH_PAGE_BYTES, ram + LEAVES, PTE_R | PTE_W);
    map(s, TL_TESTBENCH_WINDOW_USER, (uint32_t)s->design->pmu->window_bytes, s->design->pmu->window_paddr, PTE_R | PTE_W | PTE_U);
    map(s, TL_TESTBENCH_WINDOW_SUPERVISOR, (uint32_t)s->design->pmu->window_bytes, s->design->pmu->window_paddr, PTE_R | PTE_W);
}

tl_status tl_testbench_open(const tl_compare_setup *setup, const tl_compare_design_type *design, tl_testbench *ret_testbench,
                            tl_error *err) {
    tl_config config = setup->config;
    tl_testbench s = {.setup = setup, .design = design};
    if (design->pmu->window_bytes > TL_TESTBENCH_WINDOW_BYTES)
        return tl_fail(err, TL_EINVAL, "the registers of %s take more addresses than a stage has for them", design->name);
    config.ram_bytes = (uint64_t)RAM_MIB << 20;
    tl_status status = tl_machine_new(&config, setup->engine, &s.machine, err);
    if (status != TL_OK)
        return status;
    s.hart = s.machine->harts[0];
    tl_machine_set_bus(s.machine, tl_machine_own_bus(s.machine));
    make_tables(&s);
    tl_privileged_reset(s.hart);
    // This is the last of two; it holds the rest.
    status = tl_testbench_set_csr(&s, CSR_PMPADDR0 + 1, TL_REG_WRITE, UINT64_MAX >> 10, err);
    if (status == TL_OK)
        status = tl_testbench_set_csr(&s, CSR_PMPCFG0, TL_REG_WRITE, 0x1f00, err);
    if (status == TL_OK)
        status =
            tl_testbench_set_csr(&s, CSR_SATP, TL_REG_WRITE, UINT64_C(8) << 60 | (TL_RAM_BASE_PADDR + ROOT) / TL_TESTBENCH_PAGE_BYTES, err);
    if (status != TL_OK) {
        tl_testbench_close(&s);
        return status;
    }
    *ret_testbench = s;
    return TL_OK;
}

void tl_testbench_close(tl_testbench *testbench) {
    if (testbench->machine)
        tl_machine_set_bus(testbench->machine, NULL);
    tl_machine_free(testbench->machine);
    *testbench = (tl_testbench){0};
}

tl_piece tl_testbench_begin(const tl_testbench *testbench, tl_priv mode) {
    uint64_t base = mode == TL_PRIV_M ? TL_RAM_BASE_PADDR + CODE : mode == TL_PRIV_S ? CODE_SUPERVISOR : CODE_USER;
    tl_piece piece = {.mode = mode, .begin = base + testbench->used_bytes};
    tl_asm_init(&piece.code, tl_machine_ram(testbench->machine, TL_RAM_BASE_PADDR + CODE + testbench->used_bytes),
                TL_TESTBENCH_CODE_BYTES - testbench->used_bytes, piece.begin);
    return piece;
}

tl_status tl_testbench_end(tl_testbench *testbench, tl_piece *piece, tl_error *err) {
    piece->end = tl_asm_here(&piece->code);
    tl_asm_ebreak(&piece->code); // never reached
    if (piece->code.is_full)
        return tl_fail(err, TL_EINVAL, "a piece of code does not fit; read fewer counters");
    uint32_t n_bytes = 4 * piece->code.n_words, line = testbench->machine->config.l1i.line_bytes;
    testbench->used_bytes += (n_bytes + line - 1) / line * line;
    for (uint32_t i = 0; i < testbench->machine->n_harts; i++)
        testbench->machine->harts[i]->code_generation++;
    return TL_OK;
}

void tl_testbench_take_calls(tl_testbench *testbench, const tl_piece *kernel, const tl_piece *firmware) {
    tl_hart *h = testbench->hart;
    testbench->takes_calls = true;
    tl_rv(h)->csr.stvec = kernel->begin;
    tl_rv(h)->csr.sscratch = TL_TESTBENCH_DATA_SUPERVISOR;
    tl_rv(h)->csr.mtvec = firmware->begin;
    tl_rv(h)->csr.mscratch = TL_RAM_BASE_PADDR + FIRMWARE_DATA;
    tl_rv(h)->csr.medeleg = UINT64_C(1) << TL_CAUSE_ECALL_U;
}

static tl_testbench_cost cost_of(const tl_hart *h) {
    const uint64_t *t = h->tally;
    return (tl_testbench_cost){.instructions = h->instret,
                               .cycles = h->now,
                               .l1d_accesses = t[TL_S_L1D_LOAD] + t[TL_S_L1D_STORE],
                               .l1d_misses = t[TL_S_L1D_LOAD_MISS] + t[TL_S_L1D_STORE_MISS],
                               .l1i_misses = t[TL_S_L1I_MISS],
                               .dtlb_accesses = t[TL_S_DTLB_ACCESS],
                               .uncached = t[TL_S_HART_UNC_READ] + t[TL_S_HART_UNC_WRITE]};
}

tl_status tl_testbench_run(tl_testbench *testbench, const tl_piece *piece, int *ret_cause, tl_testbench_cost *ret_cost, tl_error *err) {
    tl_hart *h = testbench->hart;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    tl_hart_set_priv(h, piece->mode);
    h->pc = piece->begin;
    tl_machine_sync(testbench->machine);
    tl_testbench_cost before = cost_of(h);
    *ret_cause = TL_TESTBENCH_NO_TRAP;
    for (uint32_t n = 0; h->pc != piece->end && *ret_cause == TL_TESTBENCH_NO_TRAP; n++) {
        if (n == MAX_STEPS)
            return tl_compare_too_slow(testbench->design, testbench->setup, "a read", err);
        h->horizon = UINT64_MAX;
        h->insn_limit = h->instret + 1;
        tl_hart_limit_to_deadline(h, &h->insn_limit);
        bool is_trap = h->engine->run(h) == TL_STOP_TRAP;
        if (is_trap && testbench->takes_calls && (h->trap_cause == TL_CAUSE_ECALL_U || h->trap_cause == TL_CAUSE_ECALL_S))
            tl_take_exception(h);
        else if (is_trap)
            *ret_cause = (int)h->trap_cause;
        (void)tl_hart_poll(h);
    }
    tl_machine_sync(testbench->machine);
    tl_testbench_cost after = cost_of(h);
    if (ret_cost)
        *ret_cost = (tl_testbench_cost){.instructions = after.instructions - before.instructions,
                                        .cycles = after.cycles - before.cycles,
                                        .l1d_accesses = after.l1d_accesses - before.l1d_accesses,
                                        .l1d_misses = after.l1d_misses - before.l1d_misses,
                                        .l1i_misses = after.l1i_misses - before.l1i_misses,
                                        .dtlb_accesses = after.dtlb_accesses - before.dtlb_accesses,
                                        .uncached = after.uncached - before.uncached};
    return TL_OK;
}

tl_status tl_testbench_set_csr(tl_testbench *testbench, uint32_t csr, tl_reg_use op, uint64_t value, tl_error *err) {
    tl_piece piece = tl_testbench_begin(testbench, TL_PRIV_M);
    int cause;
    tl_asm_load_constant(&piece.code, TL_T0, value);
    if (op == TL_REG_WRITE)
        tl_asm_csrw(&piece.code, csr, TL_T0);
    else if (op == TL_REG_SET)
        tl_asm_csrs(&piece.code, csr, TL_T0);
    else
        tl_asm_csrc(&piece.code, csr, TL_T0);
    tl_status status = tl_testbench_end(testbench, &piece, err);
    if (status == TL_OK)
        status = tl_testbench_run(testbench, &piece, &cause, NULL, err);
    if (status == TL_OK && cause != TL_TESTBENCH_NO_TRAP)
        return tl_fail(err, TL_EIO, "machine mode may not write register 0x%x", csr);
    return status;
}
