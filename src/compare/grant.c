// SPDX-License-Identifier: MIT
// Firmware, kernel and process of a grant; see grant.h.
#include "compare/grant.h"

#include "compare/design.h"
#include "compare/handler.h"
#include "isa/rv/arch.h"

enum { CSR_MCOUNTEREN = 0x306 };

// a1: mcounteren as the kernel requests it.
static void write_firmware(tl_assembler *a) {
    tl_handler_enter(a, TL_PRIV_M, TL_T1);
    tl_asm_csrw(a, CSR_MCOUNTEREN, TL_A1);
    tl_handler_skip_call(a, TL_PRIV_M);
    tl_handler_leave(a, TL_PRIV_M, TL_T1);
}

static void write_kernel(tl_assembler *a, const tl_stage *stage) {
    tl_handler_enter(a, TL_PRIV_S, TL_T1);
    stage->design->write_grant(a, stage);
    tl_handler_skip_call(a, TL_PRIV_S);
    tl_handler_leave(a, TL_PRIV_S, TL_T1);
}

static void write_process(tl_assembler *a, uint32_t n_calls) {
    for (uint32_t call = 0; call < n_calls; call++) {
        tl_asm_addi(a, TL_A7, TL_X0, (int32_t)call);
        tl_asm_ecall(a);
    }
}

tl_status tl_grant_run(tl_stage *stage, tl_stage_cost *ret_cost, tl_error *err) {
    int cause = TL_STAGE_NO_TRAP;
    tl_piece firmware = tl_stage_begin(stage, TL_PRIV_M);
    write_firmware(&firmware.code);
    tl_status status = tl_stage_end(stage, &firmware, err);
    tl_piece kernel = tl_stage_begin(stage, TL_PRIV_S);
    write_kernel(&kernel.code, stage);
    if (status == TL_OK)
        status = tl_stage_end(stage, &kernel, err);
    tl_piece process = tl_stage_begin(stage, TL_PRIV_U);
    write_process(&process.code, stage->design->n_grant_calls);
    if (status == TL_OK)
        status = tl_stage_end(stage, &process, err);
    if (status != TL_OK)
        return status;
    tl_stage_take_calls(stage, &kernel, &firmware);
    status = tl_stage_run(stage, &process, &cause, ret_cost, err);
    if (status == TL_OK && cause != TL_STAGE_NO_TRAP)
        return tl_fail(err, TL_EIO, "the process that asked for the counters of %s trapped with cause %d", stage->design->name, cause);
    return status;
}
