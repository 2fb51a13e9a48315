// SPDX-License-Identifier: MIT
// Firmware, kernel and process of a grant; see grant.h.
#include "compare/grant.h"

#include "compare/fabric_reader.h"
#include "compare/handler.h"
#include "pmu/ccache/ccache.h"
#include "readers/dhpc/on.h"

enum {
    CSR_SCOUNTEREN = 0x106,
    CSR_MCOUNTEREN = 0x306,
    SFENCE_VMA = 0x12000073, // of all addresses
    CALL_OPEN = 0,
    CALL_LET_IN = 1, // mmap of ccache; of the others the only one
    IS_OPEN = 0x100, // in the kernel's data
};

// a1: what the kernel wants mcounteren to be.
static void write_firmware(tl_assembler *a) {
    tl_handler_enter(a, TL_PRIV_M, TL_T1);
    tl_asm_csrw(a, CSR_MCOUNTEREN, TL_A1);
    tl_handler_skip_call(a, TL_PRIV_M);
    tl_handler_leave(a, TL_PRIV_M, TL_T1);
}

static void let_in_u74(tl_assembler *a) {
    tl_asm_load_constant(a, TL_A1, UINT32_MAX);
    tl_asm_ecall(a);
    tl_asm_csrw(a, CSR_SCOUNTEREN, TL_A1);
}

static void let_in_dhpc(tl_assembler *a, const tl_dhpc_config *config) {
    tl_asm_load_constant(a, TL_T0, TL_DHPC_USEREN);
    tl_asm_csrs(a, config->hpcc, TL_T0);
}

// a7 says which call it is. A process that has not opened the device gets nothing mapped.
static void let_in_ccache(tl_assembler *a) {
    uint32_t is_map = tl_asm_branch(a, TL_ASM_NE, TL_A7, TL_X0);
    tl_asm_addi(a, TL_T0, TL_X0, 1);
    tl_asm_sd(a, TL_T0, TL_SP, IS_OPEN);
    uint32_t is_done = tl_asm_jump(a);
    tl_asm_bind(a, is_map);
    tl_asm_ld(a, TL_T0, TL_SP, IS_OPEN);
    uint32_t is_closed = tl_asm_branch(a, TL_ASM_EQ, TL_T0, TL_X0);
    tl_asm_load_constant(a, TL_T1, TL_STAGE_LEAVES_SUPERVISOR + tl_stage_leaf_of(TL_STAGE_WINDOW_GRANTED));
    for (uint32_t at = 0; at < TL_CCACHE_WINDOW_BYTES; at += TL_STAGE_PAGE_BYTES) {
        tl_asm_load_constant(a, TL_T0, tl_stage_device_pte(TL_CCACHE_PADDR + at));
        tl_asm_sd(a, TL_T0, TL_T1, (int32_t)(8 * (at / TL_STAGE_PAGE_BYTES)));
    }
    tl_asm_word(a, SFENCE_VMA);
    tl_asm_bind(a, is_closed);
    tl_asm_bind(a, is_done);
}

static void write_kernel(tl_assembler *a, tl_compare_design design, const tl_dhpc_config *config) {
    tl_handler_enter(a, TL_PRIV_S, TL_T1);
    switch (design) {
    case TL_COMPARE_U74: let_in_u74(a); break;
    case TL_COMPARE_CCACHE: let_in_ccache(a); break;
    default: let_in_dhpc(a, config); break;
    }
    tl_handler_skip_call(a, TL_PRIV_S);
    tl_handler_leave(a, TL_PRIV_S, TL_T1);
}

static void write_process(tl_assembler *a, tl_compare_design design) {
    for (int32_t call = design == TL_COMPARE_CCACHE ? CALL_OPEN : CALL_LET_IN; call <= CALL_LET_IN; call++) {
        tl_asm_addi(a, TL_A7, TL_X0, call);
        tl_asm_ecall(a);
    }
}

tl_status tl_grant_run(tl_stage *stage, tl_compare_design design, tl_stage_cost *ret_cost, tl_error *err) {
    int cause = TL_STAGE_NO_TRAP;
    tl_piece firmware = tl_stage_begin(stage, TL_PRIV_M);
    write_firmware(&firmware.code);
    tl_status status = tl_stage_end(stage, &firmware, err);
    tl_piece kernel = tl_stage_begin(stage, TL_PRIV_S);
    write_kernel(&kernel.code, design, tl_dhpc_config_of(tl_dhpc_on(stage->machine)));
    if (status == TL_OK)
        status = tl_stage_end(stage, &kernel, err);
    tl_piece process = tl_stage_begin(stage, TL_PRIV_U);
    write_process(&process.code, design);
    if (status == TL_OK)
        status = tl_stage_end(stage, &process, err);
    if (status != TL_OK)
        return status;
    tl_stage_take_calls(stage, &kernel, &firmware);
    status = tl_stage_run(stage, &process, &cause, ret_cost, err);
    if (status == TL_OK && cause != TL_STAGE_NO_TRAP)
        return tl_fail(err, TL_EIO, "the process that asked for the counters of %s trapped with cause %d", tl_compare_design_name(design),
                       cause);
    return status;
}
