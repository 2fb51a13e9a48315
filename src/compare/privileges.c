// SPDX-License-Identifier: MIT
// The privilege matrix. A case is a row: who tries, what was permitted before by machine mode, what is executed. What came of it, a value or
// which trap, is found by executing it. For "another process" a first process has used the counters; then the kernel does or does not do
// what its row says, and a second process, in the same mode, reads.
#include "compare/privileges.h"

#include "base/bits.h"
#include "compare/fabric_reader.h"
#include "compare/stage.h"
#include "pmu/ccache/ccache.h"
#include "readers/dhpc/on.h"

enum {
    CSR_MCOUNTEREN = 0x306,
    CSR_SCOUNTEREN = 0x106,
    CSR_MCOUNTINHIBIT = 0x320,
    CSR_MHPMEVENT3 = 0x323,
    CSR_MHPMCOUNTER3 = 0xb03,
    CSR_HPMCOUNTER3 = 0xc03,
    CSR_PMPCFG0 = 0x3a0,
    CSR_PMPADDR0 = 0x3b0,
    COUNTER3 = 1 << 3,
    SECRET = 0x123456, // what the counter holds
    NOT_READ = 0x5a5,  // what the register holds before
};

typedef enum action { READ_SHADOW, READ_MACHINE, WRITE_EVENT, LOAD, REQUEST, READ_LEFT } action;

typedef struct trial {
    tl_compare_design design;
    const char *mode_name;
    tl_priv mode;
    const char *grant, *what;
    action action;
    bool mcounteren, scounteren;           // u74
    bool is_mapped, is_locked, pmp_denies; // ccache
    bool useren, asks_first, is_wiped;     // dhpc: a first process has asked, and left the value; the kernel has written hpcm
} trial;

#define U74(who, priv, how, tried, does, ...) \
    { TL_COMPARE_U74, who, priv, how, tried, .action = does, __VA_ARGS__ }
#define CCACHE(who, priv, how, ...) \
    { TL_COMPARE_CCACHE, who, priv, how, "load counter 0", .action = LOAD, __VA_ARGS__ }
#define DHPC(who, priv, how, tried, does, ...) \
    { TL_COMPARE_DHPC, who, priv, how, tried, .action = does, __VA_ARGS__ }

static const trial trials[] = {
    U74("M", TL_PRIV_M, "mcounteren=0", "csrr mhpmcounter3", READ_MACHINE, .mcounteren = false),
    U74("S", TL_PRIV_S, "mcounteren=0", "csrr hpmcounter3", READ_SHADOW, .mcounteren = false),
    U74("S", TL_PRIV_S, "mcounteren=1", "csrr hpmcounter3", READ_SHADOW, .mcounteren = true),
    U74("S", TL_PRIV_S, "mcounteren=1", "csrr mhpmcounter3", READ_MACHINE, .mcounteren = true),
    U74("S", TL_PRIV_S, "mcounteren=1", "csrw mhpmevent3", WRITE_EVENT, .mcounteren = true),
    U74("U", TL_PRIV_U, "mcounteren=0, scounteren=0", "csrr hpmcounter3", READ_SHADOW, .mcounteren = false),
    U74("U", TL_PRIV_U, "mcounteren=1, scounteren=0", "csrr hpmcounter3", READ_SHADOW, .mcounteren = true),
    U74("U", TL_PRIV_U, "mcounteren=0, scounteren=1", "csrr hpmcounter3", READ_SHADOW, .scounteren = true),
    U74("U", TL_PRIV_U, "mcounteren=1, scounteren=1", "csrr hpmcounter3", READ_SHADOW, .mcounteren = true, .scounteren = true),
    U74("U", TL_PRIV_U, "mcounteren=1, scounteren=1", "csrw mhpmevent3", WRITE_EVENT, .mcounteren = true, .scounteren = true),
    U74("another process", TL_PRIV_U, "scounteren stays 1", "csrr hpmcounter3", READ_SHADOW, .mcounteren = true, .scounteren = true),
    U74("another process", TL_PRIV_U, "kernel clears scounteren", "csrr hpmcounter3", READ_SHADOW, .mcounteren = true),
    CCACHE("M", TL_PRIV_M, "physical address", .is_mapped = true),
    CCACHE("M", TL_PRIV_M, "locked PMP entry denies", .is_mapped = true, .pmp_denies = true, .is_locked = true),
    CCACHE("S", TL_PRIV_S, "page mapped for S", .is_mapped = true),
    CCACHE("S", TL_PRIV_S, "page not mapped", .is_mapped = false),
    CCACHE("S", TL_PRIV_S, "page mapped for S, PMP denies", .is_mapped = true, .pmp_denies = true),
    CCACHE("U", TL_PRIV_U, "page not mapped", .is_mapped = false),
    CCACHE("U", TL_PRIV_U, "page mapped for U", .is_mapped = true),
    CCACHE("U", TL_PRIV_U, "page mapped for U, PMP denies", .is_mapped = true, .pmp_denies = true),
    CCACHE("another process", TL_PRIV_U, "page mapped for it, too", .is_mapped = true),
    CCACHE("another process", TL_PRIV_U, "page not mapped for it", .is_mapped = false),
    DHPC("M", TL_PRIV_M, "useren=0", "request, csrr hpcr", REQUEST, .useren = false),
    DHPC("S", TL_PRIV_S, "useren=0", "request, csrr hpcr", REQUEST, .useren = false),
    DHPC("U", TL_PRIV_U, "useren=0", "request, csrr hpcr", REQUEST, .useren = false),
    DHPC("U", TL_PRIV_U, "useren=1", "request, csrr hpcr", REQUEST, .useren = true),
    DHPC("another process", TL_PRIV_U, "useren=0", "request, csrr hpcr", REQUEST, .asks_first = true),
    DHPC("another process", TL_PRIV_U, "useren=0, values left in the FIFO", "csrr hpcr", READ_LEFT, .asks_first = true),
    DHPC("another process", TL_PRIV_U, "useren=0, kernel writes hpcm at the switch", "csrr hpcr", READ_LEFT, .asks_first = true,
         .is_wiped = true),
};

static tl_status grant_u74(tl_stage *s, const trial *t, tl_error *err) {
    tl_status status = tl_stage_set_csr(s, CSR_MCOUNTINHIBIT, TL_CSR_SET, COUNTER3, err);
    if (status == TL_OK)
        status = tl_stage_set_csr(s, CSR_MHPMCOUNTER3, TL_CSR_WRITE, SECRET, err);
    if (status == TL_OK)
        status = tl_stage_set_csr(s, CSR_MCOUNTEREN, TL_CSR_WRITE, t->mcounteren ? COUNTER3 : 0, err);
    return status == TL_OK ? tl_stage_set_csr(s, CSR_SCOUNTEREN, TL_CSR_WRITE, t->scounteren ? COUNTER3 : 0, err) : status;
}

static tl_status run_in(tl_stage *s, tl_piece *piece, int *ret_cause, tl_error *err) {
    tl_status status = tl_stage_end(s, piece, err);
    return status == TL_OK ? tl_stage_run(s, piece, ret_cause, NULL, err) : status;
}

static tl_status grant_ccache(tl_stage *s, const trial *t, tl_error *err) {
    tl_piece piece = tl_stage_begin(s, TL_PRIV_M); // counter 0 stands still at what it is told
    int cause;
    tl_asm_load_constant(&piece.code, TL_T0, SECRET);
    tl_asm_load_constant(&piece.code, TL_T1, TL_CCACHE_PADDR + TL_CCACHE_COUNTER);
    tl_asm_sd(&piece.code, TL_T0, TL_T1, 0);
    tl_status status = run_in(s, &piece, &cause, err);
    if (status != TL_OK || !t->pmp_denies)
        return status;
    uint64_t napot = TL_CCACHE_PADDR >> 2 | (TL_CCACHE_WINDOW_BYTES / 8 - 1);
    status = tl_stage_set_csr(s, CSR_PMPADDR0, TL_CSR_WRITE, napot, err);
    return status == TL_OK ? tl_stage_set_csr(s, CSR_PMPCFG0, TL_CSR_SET, t->is_locked ? 0x98 : 0x18, err) : status;
}

// How many instructions this hart has retired: asked of its base page, and one instruction waits for the answer.
static void write_request(tl_assembler *a, const tl_dhpc_config *c, bool reads) {
    tl_asm_csrci(a, c->hpcc, 1);
    tl_asm_addi(a, TL_T0, TL_X0, 2);
    tl_asm_csrw(a, c->hpcm, TL_T0);
    tl_asm_load_constant(a, TL_T0, (uint64_t)TL_DHPC_ID(TL_DHPC_CORE, 0, 0) << TL_DHPC_ID_LSB | TL_DHPC_TRIGGER);
    tl_asm_csrs(a, c->hpcc, TL_T0); // keeps useren, in every mode
    tl_hpc_write_wait(a, c, TL_DHPC_TRIGGER);
    if (reads)
        tl_asm_csrr(a, TL_STAGE_VALUE, c->hpcr);
}

static tl_status grant_dhpc(tl_stage *s, const trial *t, tl_error *err) {
    const tl_dhpc_config *c = tl_dhpc_config_of(tl_dhpc_on(s->machine));
    int cause = TL_STAGE_NO_TRAP;
    tl_status status = tl_stage_set_csr(s, c->hpcc, t->useren || t->asks_first ? TL_CSR_SET : TL_CSR_CLEAR, TL_DHPC_USEREN, err);
    if (status != TL_OK || !t->asks_first)
        return status;
    tl_piece piece = tl_stage_begin(s, TL_PRIV_U);
    write_request(&piece.code, c, false);
    status = run_in(s, &piece, &cause, err);
    if (status == TL_OK && cause != TL_STAGE_NO_TRAP)
        status = tl_fail(err, TL_EIO, "the process that may use the distributed counters could not");
    if (status == TL_OK && t->is_wiped)
        status = tl_stage_set_csr(s, c->hpcm, TL_CSR_WRITE, 0, err);
    return status == TL_OK ? tl_stage_set_csr(s, c->hpcc, TL_CSR_CLEAR, TL_DHPC_USEREN, err) : status;
}

static void write_action(tl_assembler *a, const tl_dhpc_config *c, const trial *t) {
    tl_asm_addi(a, TL_STAGE_VALUE, TL_X0, NOT_READ);
    switch (t->action) {
    case READ_SHADOW: tl_asm_csrr(a, TL_STAGE_VALUE, CSR_HPMCOUNTER3); break;
    case READ_MACHINE: tl_asm_csrr(a, TL_STAGE_VALUE, CSR_MHPMCOUNTER3); break;
    case WRITE_EVENT: tl_asm_csrw(a, CSR_MHPMEVENT3, TL_X0); break;
    case LOAD:
        tl_asm_load_constant(a, TL_T1,
                             (!t->is_mapped          ? TL_STAGE_NOWHERE
                              : t->mode == TL_PRIV_M ? TL_CCACHE_PADDR
                              : t->mode == TL_PRIV_S ? TL_STAGE_WINDOW_SUPERVISOR
                                                     : TL_STAGE_WINDOW_USER) +
                                 TL_CCACHE_COUNTER);
        tl_asm_ld(a, TL_STAGE_VALUE, TL_T1, 0);
        break;
    case REQUEST: write_request(a, c, true); break;
    case READ_LEFT: tl_asm_csrr(a, TL_STAGE_VALUE, c->hpcr); break;
    }
}

static tl_compare_outcome judge(const tl_stage *s, const trial *t, int cause) {
    switch (cause) {
    case TL_STAGE_NO_TRAP: break;
    case TL_CAUSE_LOAD_PAGE: return TL_COMPARE_PAGE_FAULT;
    case TL_CAUSE_LOAD_ACCESS: return TL_COMPARE_ACCESS_FAULT;
    default: return TL_COMPARE_ILLEGAL;
    }
    uint64_t value = s->hart->x[TL_STAGE_VALUE];
    bool is_value = t->design == TL_COMPARE_DHPC ? value != 0 && value != NOT_READ && value <= s->hart->instret : value == SECRET;
    if (!is_value)
        return TL_COMPARE_NOTHING;
    bool is_anothers = t->mode_name[0] == 'a' && t->action != REQUEST;
    return is_anothers ? TL_COMPARE_OTHERS_VALUE : TL_COMPARE_VALUE;
}

static tl_status try_one(const tl_compare_setup *setup, const trial *t, tl_compare_outcome *ret_outcome, tl_error *err) {
    tl_stage s;
    int cause = TL_STAGE_NO_TRAP;
    tl_status status = tl_stage_open(setup, &s, err);
    if (status != TL_OK)
        return status;
    switch (t->design) {
    case TL_COMPARE_U74: status = grant_u74(&s, t, err); break;
    case TL_COMPARE_CCACHE: status = grant_ccache(&s, t, err); break;
    default: status = grant_dhpc(&s, t, err); break;
    }
    tl_piece piece = tl_stage_begin(&s, t->mode);
    write_action(&piece.code, tl_dhpc_config_of(tl_dhpc_on(s.machine)), t);
    if (status == TL_OK)
        status = run_in(&s, &piece, &cause, err);
    *ret_outcome = judge(&s, t, cause);
    tl_stage_close(&s);
    return status;
}

tl_status tl_compare_privileges(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    c->privileges = tl_arena_alloc(&c->arena, sizeof *c->privileges * TL_COUNT_OF(trials));
    if (!c->privileges)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < TL_COUNT_OF(trials) && status == TL_OK; i++) {
        const trial *t = &trials[i];
        if (!tl_compare_has_design(setup, t->design))
            continue;
        tl_compare_privilege_row *row = &c->privileges[c->n_privileges++];
        *row =
            (tl_compare_privilege_row){.size = sizeof *row, .design = t->design, .mode = t->mode_name, .grant = t->grant, .what = t->what};
        status = try_one(setup, t, &row->outcome, err);
    }
    return status;
}
