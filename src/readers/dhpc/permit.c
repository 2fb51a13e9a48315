// SPDX-License-Identifier: MIT
// Grants and trials of the distributed counters: useren, and values that a process leaves behind
// (docs/dhpc.md).
#include "isa/rv/arch.h"
#include "readers/dhpc/compare.h"
#include "readers/dhpc/fabric_reader.h"
#include "readers/dhpc/on.h"

enum { // how a trial goes
    USEREN_SET = 1,
    ASKS_FIRST = 2, // a first process has asked, and left the value
    IS_WIPED = 4,   // then the kernel has written hpcm
    READ_LEFT = 8,  // without a request
};

void tl_dhpc_write_grant(tl_assembler *a, const tl_testbench *testbench) {
    tl_asm_load_constant(a, TL_T0, TL_DHPC_USEREN);
    tl_asm_csrs(a, tl_dhpc_config_of(tl_dhpc_on(testbench->machine))->hpcc, TL_T0);
}

const tl_trial tl_dhpc_trials[TL_DHPC_TRIALS] = {
    {"M", TL_PRIV_M, "useren=0", "request, csrr hpcr", false, 0},
    {"S", TL_PRIV_S, "useren=0", "request, csrr hpcr", false, 0},
    {"U", TL_PRIV_U, "useren=0", "request, csrr hpcr", false, 0},
    {"U", TL_PRIV_U, "useren=1", "request, csrr hpcr", false, USEREN_SET},
    {"another process", TL_PRIV_U, "useren=0", "request, csrr hpcr", false, ASKS_FIRST},
    {"another process", TL_PRIV_U, "useren=0, values left in the FIFO", "csrr hpcr", true, READ_LEFT | ASKS_FIRST},
    {"another process", TL_PRIV_U, "useren=0, kernel writes hpcm at the switch", "csrr hpcr", true, READ_LEFT | ASKS_FIRST | IS_WIPED},
};

// Reads the hart's retired instructions from its base page. One instruction waits for the answer.
static void write_request(tl_assembler *a, const tl_dhpc_config *c, bool reads) {
    tl_asm_csrci(a, c->hpcc, 1);
    tl_asm_addi(a, TL_T0, TL_X0, 2);
    tl_asm_csrw(a, c->hpcm, TL_T0);
    tl_asm_load_constant(a, TL_T0, (uint64_t)TL_DHPC_ID(TL_DHPC_CORE, 0, 0) << TL_DHPC_ID_LSB | TL_DHPC_TRIGGER);
    tl_asm_csrs(a, c->hpcc, TL_T0); // keeps useren, in every mode
    tl_hpc_write_wait(a, c, TL_DHPC_TRIGGER);
    if (reads)
        tl_asm_csrr(a, TL_TESTBENCH_VALUE, c->hpcr);
}

tl_status tl_dhpc_permit_trial(tl_testbench *s, const tl_trial *t, tl_error *err) {
    const tl_dhpc_config *c = tl_dhpc_config_of(tl_dhpc_on(s->machine));
    int cause = TL_TESTBENCH_NO_TRAP;
    tl_status status =
        tl_testbench_set_csr(s, c->hpcc, t->how & (USEREN_SET | ASKS_FIRST) ? TL_REG_SET : TL_REG_CLEAR, TL_DHPC_USEREN, err);
    if (status != TL_OK || !(t->how & ASKS_FIRST))
        return status;
    tl_piece piece = tl_testbench_begin(s, TL_PRIV_U);
    write_request(&piece.code, c, false);
    status = tl_trial_run(s, &piece, &cause, err);
    if (status == TL_OK && cause != TL_TESTBENCH_NO_TRAP)
        status = tl_fail(err, TL_EIO, "the process that may use the distributed counters could not");
    if (status == TL_OK && t->how & IS_WIPED)
        status = tl_testbench_set_csr(s, c->hpcm, TL_REG_WRITE, 0, err);
    return status == TL_OK ? tl_testbench_set_csr(s, c->hpcc, TL_REG_CLEAR, TL_DHPC_USEREN, err) : status;
}

void tl_dhpc_write_trial(tl_assembler *a, const tl_testbench *s, const tl_trial *t) {
    const tl_dhpc_config *c = tl_dhpc_config_of(tl_dhpc_on(s->machine));
    if (t->how & READ_LEFT)
        tl_asm_csrr(a, TL_TESTBENCH_VALUE, c->hpcr);
    else
        write_request(a, c, true);
}

// The counter counts instructions: a value is some number of those that have retired.
bool tl_dhpc_is_value(const tl_testbench *s, uint64_t value) {
    return value != 0 && value != TL_TRIAL_NOT_READ && value <= s->hart->instret;
}
