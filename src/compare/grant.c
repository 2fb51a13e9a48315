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

static void write_kernel(tl_assembler *a, const tl_testbench *testbench) {
    tl_handler_enter(a, TL_PRIV_S, TL_T1);
    testbench->design->write_grant(a, testbench);
    tl_handler_skip_call(a, TL_PRIV_S);
    tl_handler_leave(a, TL_PRIV_S, TL_T1);
}

static void write_process(tl_assembler *a, uint32_t n_calls) {
    for (uint32_t call = 0; call < n_calls; call++) {
        tl_asm_addi(a, TL_A7, TL_X0, (int32_t)call);
        tl_asm_ecall(a);
    }
}

tl_status tl_grant_run(tl_testbench *testbench, tl_testbench_cost *ret_cost, tl_error *err) {
    int cause = TL_TESTBENCH_NO_TRAP;
    tl_piece firmware = tl_testbench_begin(testbench, TL_PRIV_M);
    write_firmware(&firmware.code);
    tl_status status = tl_testbench_end(testbench, &firmware, err);
    tl_piece kernel = tl_testbench_begin(testbench, TL_PRIV_S);
    write_kernel(&kernel.code, testbench);
    if (status == TL_OK)
        status = tl_testbench_end(testbench, &kernel, err);
    tl_piece process = tl_testbench_begin(testbench, TL_PRIV_U);
    write_process(&process.code, testbench->design->n_grant_calls);
    if (status == TL_OK)
        status = tl_testbench_end(testbench, &process, err);
    if (status != TL_OK)
        return status;
    tl_testbench_take_calls(testbench, &kernel, &firmware);
    status = tl_testbench_run(testbench, &process, &cause, ret_cost, err);
    if (status == TL_OK && cause != TL_TESTBENCH_NO_TRAP)
        return tl_fail(err, TL_EIO, "the process that asked for the counters of %s trapped with cause %d", testbench->design->name, cause);
    return status;
}
