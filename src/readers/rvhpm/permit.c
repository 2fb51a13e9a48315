// SPDX-License-Identifier: MIT
// Grants and trials of the counters of a hart: mcounteren and scounteren, as the privileged manual
// says.
#include "isa/rv/arch.h"
#include "readers/rvhpm/compare.h"

enum {
    CSR_MCOUNTEREN = 0x306,
    CSR_SCOUNTEREN = 0x106,
    CSR_MCOUNTINHIBIT = 0x320,
    CSR_MHPMEVENT3 = 0x323,
    CSR_MHPMCOUNTER3 = 0xb03,
    CSR_HPMCOUNTER3 = 0xc03,
    COUNTER3 = 1 << 3,
    // Conditions of a trial. Without READ_MACHINE and WRITE_EVENT the trial reads the counter's
    // shadow for lower modes.
    MCOUNTEREN = 1,
    SCOUNTEREN = 2,
    READ_MACHINE = 4,
    WRITE_EVENT = 8,
};

void tl_rvhpm_write_grant(tl_assembler *a, const tl_testbench *testbench) {
    (void)testbench;
    tl_asm_load_constant(a, TL_A1, UINT32_MAX);
    tl_asm_ecall(a);
    tl_asm_csrw(a, CSR_SCOUNTEREN, TL_A1);
}

const tl_trial tl_rvhpm_trials[TL_RVHPM_TRIALS] = {
    {"M", TL_PRIV_M, "mcounteren=0", "csrr mhpmcounter3", false, READ_MACHINE},
    {"S", TL_PRIV_S, "mcounteren=0", "csrr hpmcounter3", false, 0},
    {"S", TL_PRIV_S, "mcounteren=1", "csrr hpmcounter3", false, MCOUNTEREN},
    {"S", TL_PRIV_S, "mcounteren=1", "csrr mhpmcounter3", false, READ_MACHINE | MCOUNTEREN},
    {"S", TL_PRIV_S, "mcounteren=1", "csrw mhpmevent3", false, WRITE_EVENT | MCOUNTEREN},
    {"U", TL_PRIV_U, "mcounteren=0, scounteren=0", "csrr hpmcounter3", false, 0},
    {"U", TL_PRIV_U, "mcounteren=1, scounteren=0", "csrr hpmcounter3", false, MCOUNTEREN},
    {"U", TL_PRIV_U, "mcounteren=0, scounteren=1", "csrr hpmcounter3", false, SCOUNTEREN},
    {"U", TL_PRIV_U, "mcounteren=1, scounteren=1", "csrr hpmcounter3", false, MCOUNTEREN | SCOUNTEREN},
    {"U", TL_PRIV_U, "mcounteren=1, scounteren=1", "csrw mhpmevent3", false, WRITE_EVENT | MCOUNTEREN | SCOUNTEREN},
    {"another process", TL_PRIV_U, "scounteren stays 1", "csrr hpmcounter3", true, MCOUNTEREN | SCOUNTEREN},
    {"another process", TL_PRIV_U, "kernel clears scounteren", "csrr hpmcounter3", true, MCOUNTEREN},
};

tl_status tl_rvhpm_permit_trial(tl_testbench *s, const tl_trial *t, tl_error *err) {
    tl_status status = tl_testbench_set_csr(s, CSR_MCOUNTINHIBIT, TL_REG_SET, COUNTER3, err);
    if (status == TL_OK)
        status = tl_testbench_set_csr(s, CSR_MHPMCOUNTER3, TL_REG_WRITE, TL_TRIAL_SECRET, err);
    if (status == TL_OK)
        status = tl_testbench_set_csr(s, CSR_MCOUNTEREN, TL_REG_WRITE, t->how & MCOUNTEREN ? COUNTER3 : 0, err);
    return status == TL_OK ? tl_testbench_set_csr(s, CSR_SCOUNTEREN, TL_REG_WRITE, t->how & SCOUNTEREN ? COUNTER3 : 0, err) : status;
}

void tl_rvhpm_write_trial(tl_assembler *a, const tl_testbench *s, const tl_trial *t) {
    (void)s;
    if (t->how & WRITE_EVENT)
        tl_asm_csrw(a, CSR_MHPMEVENT3, TL_X0);
    else
        tl_asm_csrr(a, TL_TESTBENCH_VALUE, t->how & READ_MACHINE ? CSR_MHPMCOUNTER3 : CSR_HPMCOUNTER3);
}
