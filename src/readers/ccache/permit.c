// SPDX-License-Identifier: MIT
// Grants and trials of the block on the bus: page tables and PMP.
#include "isa/rv/arch.h"
#include "readers/ccache/compare.h"
#include "readers/ccache/on.h"

enum {
    SFENCE_VMA = 0x12000073, // of all addresses
    IS_OPEN = 0x100,         // in the kernel's data
    CSR_PMPCFG0 = 0x3a0,
    CSR_PMPADDR0 = 0x3b0,
    // Conditions of a trial.
    IS_MAPPED = 1,
    IS_LOCKED = 2,
    PMP_DENIES = 4,
};

// a7 is 0 for open, 1 for mmap. A process that has not opened the device gets nothing mapped.
void tl_ccache_write_grant(tl_assembler *a, const tl_testbench *testbench) {
    (void)testbench;
    uint32_t is_map = tl_asm_branch(a, TL_ASM_NE, TL_A7, TL_X0);
    tl_asm_addi(a, TL_T0, TL_X0, 1);
    tl_asm_sd(a, TL_T0, TL_SP, IS_OPEN);
    uint32_t is_done = tl_asm_jump(a);
    tl_asm_bind(a, is_map);
    tl_asm_ld(a, TL_T0, TL_SP, IS_OPEN);
    uint32_t is_closed = tl_asm_branch(a, TL_ASM_EQ, TL_T0, TL_X0);
    tl_asm_load_constant(a, TL_T1, TL_TESTBENCH_LEAVES_SUPERVISOR + tl_testbench_leaf_of(TL_TESTBENCH_WINDOW_GRANTED));
    for (uint32_t at = 0; at < TL_CCACHE_WINDOW_BYTES; at += TL_TESTBENCH_PAGE_BYTES) {
        tl_asm_load_constant(a, TL_T0, tl_testbench_device_pte(TL_CCACHE_PADDR + at));
        tl_asm_sd(a, TL_T0, TL_T1, (int32_t)(8 * (at / TL_TESTBENCH_PAGE_BYTES)));
    }
    tl_asm_word(a, SFENCE_VMA);
    tl_asm_bind(a, is_closed);
    tl_asm_bind(a, is_done);
}

const tl_trial tl_ccache_trials[TL_CCACHE_TRIALS] = {
    {"M", TL_PRIV_M, "physical address", "load counter 0", false, IS_MAPPED},
    {"M", TL_PRIV_M, "locked PMP entry denies", "load counter 0", false, IS_MAPPED | PMP_DENIES | IS_LOCKED},
    {"S", TL_PRIV_S, "page mapped for S", "load counter 0", false, IS_MAPPED},
    {"S", TL_PRIV_S, "page not mapped", "load counter 0", false, 0},
    {"S", TL_PRIV_S, "page mapped for S, PMP denies", "load counter 0", false, IS_MAPPED | PMP_DENIES},
    {"U", TL_PRIV_U, "page not mapped", "load counter 0", false, 0},
    {"U", TL_PRIV_U, "page mapped for U", "load counter 0", false, IS_MAPPED},
    {"U", TL_PRIV_U, "page mapped for U, PMP denies", "load counter 0", false, IS_MAPPED | PMP_DENIES},
    {"another process", TL_PRIV_U, "page mapped for it, too", "load counter 0", true, IS_MAPPED},
    {"another process", TL_PRIV_U, "page not mapped for it", "load counter 0", true, 0},
};

tl_status tl_ccache_permit_trial(tl_testbench *s, const tl_trial *t, tl_error *err) {
    tl_piece piece = tl_testbench_begin(s, TL_PRIV_M); // counter 0 keeps the written value
    int cause;
    tl_asm_load_constant(&piece.code, TL_T0, TL_TRIAL_SECRET);
    tl_asm_load_constant(&piece.code, TL_T1, TL_CCACHE_PADDR + TL_CCACHE_COUNTER);
    tl_asm_sd(&piece.code, TL_T0, TL_T1, 0);
    tl_status status = tl_trial_run(s, &piece, &cause, err);
    if (status != TL_OK || !(t->how & PMP_DENIES))
        return status;
    uint64_t napot = TL_CCACHE_PADDR >> 2 | (TL_CCACHE_WINDOW_BYTES / 8 - 1);
    status = tl_testbench_set_csr(s, CSR_PMPADDR0, TL_REG_WRITE, napot, err);
    return status == TL_OK ? tl_testbench_set_csr(s, CSR_PMPCFG0, TL_REG_SET, t->how & IS_LOCKED ? 0x98 : 0x18, err) : status;
}

void tl_ccache_write_trial(tl_assembler *a, const tl_testbench *s, const tl_trial *t) {
    (void)s;
    uint64_t window = !(t->how & IS_MAPPED)  ? TL_TESTBENCH_NOWHERE
                      : t->mode == TL_PRIV_M ? TL_CCACHE_PADDR
                      : t->mode == TL_PRIV_S ? TL_TESTBENCH_WINDOW_SUPERVISOR
                                             : TL_TESTBENCH_WINDOW_USER;
    tl_asm_load_constant(a, TL_T1, window + TL_CCACHE_COUNTER);
    tl_asm_ld(a, TL_TESTBENCH_VALUE, TL_T1, 0);
}
