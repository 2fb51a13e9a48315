// SPDX-License-Identifier: MIT
// The table of system registers: lookup, permission, values and effects of the rows that are more
// than storage. Manual: D12, and D1.13 for the order of traps.
#include "isa/a64/sysreg.h"

#include <string.h>

#include "base/bits.h"
#include "isa/a64/debug.h"
#include "isa/a64/pstate.h"
#include "isa/a64/ram_read.h"
#include "isa/a64/regime.h"
#include "isa/a64/timer.h"

enum { EL0, EL1, EL3 = 3, NEVER }; // columns read, write
// The answer of a check names the level that takes the trap.
enum { VERDICT_OK, VERDICT_EL1, VERDICT_EL3 = 3, VERDICT_UNDEFINED, VERDICT_HALT };

typedef struct row {
    const char *name;
    uint64_t reset, mask;
    uint32_t number;
    uint16_t reg; // tl_a64_sysreg, TL_A64_R_NONE: reads as 0
    uint8_t read_el, write_el;
    uint32_t (*check)(const tl_hart *h, bool is_read);
    uint64_t (*value)(tl_hart *h, uint32_t reg); // NULL: the stored value
    // The effect of a write. NULL: the stored value changes under the mask.
    void (*effect)(tl_hart *h, uint32_t reg, uint64_t value);
} row;

static uint64_t *stored(tl_hart *h, uint32_t reg) { return &tl_a64(h)->sys.reg[reg]; }
static uint64_t reg_of(const tl_hart *h, uint32_t reg) { return tl_a64(h)->sys.reg[reg]; }

// -- Checks.

#define check_NONE NULL
static uint32_t at_el0(const tl_hart *h, bool is_permitted) { return h->priv != TL_A64_EL0 || is_permitted ? VERDICT_OK : VERDICT_EL1; }
static uint32_t check_UCT(const tl_hart *h, bool is_read) {
    return (void)is_read, at_el0(h, reg_of(h, TL_A64_R_SCTLR_EL1) & TL_A64_SCTLR_UCT);
}
static uint32_t check_UMA(const tl_hart *h, bool is_read) {
    return (void)is_read, at_el0(h, reg_of(h, TL_A64_R_SCTLR_EL1) & TL_A64_SCTLR_UMA);
}
static uint32_t check_CNTFRQ(const tl_hart *h, bool is_read) {
    const uint64_t any = TL_A64_CNTKCTL_EL0PCTEN | TL_A64_CNTKCTL_EL0VCTEN;
    return (void)is_read, at_el0(h, reg_of(h, TL_A64_R_CNTKCTL_EL1) & any);
}
static uint32_t check_CNTPCT(const tl_hart *h, bool is_read) {
    return (void)is_read, at_el0(h, reg_of(h, TL_A64_R_CNTKCTL_EL1) & TL_A64_CNTKCTL_EL0PCTEN);
}
static uint32_t check_CNTVCT(const tl_hart *h, bool is_read) {
    return (void)is_read, at_el0(h, reg_of(h, TL_A64_R_CNTKCTL_EL1) & TL_A64_CNTKCTL_EL0VCTEN);
}
static uint32_t check_CNTP(const tl_hart *h, bool is_read) {
    return (void)is_read, at_el0(h, reg_of(h, TL_A64_R_CNTKCTL_EL1) & TL_A64_CNTKCTL_EL0PTEN);
}
static uint32_t check_CNTV(const tl_hart *h, bool is_read) {
    return (void)is_read, at_el0(h, reg_of(h, TL_A64_R_CNTKCTL_EL1) & TL_A64_CNTKCTL_EL0VTEN);
}
// D12.8.13: EL3, and Secure EL1 where SCR_EL3.ST permits it.
static uint32_t check_CNTPS(const tl_hart *h, bool is_read) {
    const uint64_t scr = reg_of(h, TL_A64_R_SCR_EL3);
    (void)is_read;
    if (h->priv == TL_A64_EL3)
        return VERDICT_OK;
    if (scr & TL_A64_SCR_NS)
        return VERDICT_UNDEFINED;
    return scr & TL_A64_SCR_ST ? VERDICT_OK : VERDICT_EL3;
}
static uint32_t below_el3(const tl_hart *h, bool is_trapped) { return h->priv != TL_A64_EL3 && is_trapped ? VERDICT_EL3 : VERDICT_OK; }
static uint32_t check_TCPAC(const tl_hart *h, bool is_read) {
    return (void)is_read, below_el3(h, reg_of(h, TL_A64_R_CPTR_EL3) & TL_A64_CPTR_TCPAC);
}
static uint32_t check_TDA(const tl_hart *h, bool is_read) {
    return (void)is_read, below_el3(h, reg_of(h, TL_A64_R_MDCR_EL3) & TL_A64_MDCR_TDA);
}
static uint32_t check_TDOSA(const tl_hart *h, bool is_read) {
    return (void)is_read, below_el3(h, reg_of(h, TL_A64_R_MDCR_EL3) & TL_A64_MDCR_TDOSA);
}
// DLR_EL0 and DSPSR_EL0 exist in Debug state.
static uint32_t check_HALTED(const tl_hart *h, bool is_read) { return (void)is_read, h->is_halted ? VERDICT_OK : VERDICT_UNDEFINED; }
// D12.3: MDSCR_EL1.TDCC traps EL0. No register of the channel is trapped in Debug state.
static uint32_t check_TDCC(const tl_hart *h, bool is_read) {
    (void)is_read;
    if (h->is_halted)
        return VERDICT_OK;
    if (h->priv == TL_A64_EL0 && (reg_of(h, TL_A64_R_MDSCR_EL1) & TL_A64_MDSCR_TDCC))
        return VERDICT_EL1;
    return below_el3(h, reg_of(h, TL_A64_R_MDCR_EL3) & TL_A64_MDCR_TDA);
}
// H3.5: EDSCR.TDA makes the access of breakpoints and watchpoints a Software Access debug event.
static uint32_t check_MATCH(const tl_hart *h, bool is_read) {
    const uint32_t verdict = check_TDA(h, is_read);
    if (verdict == VERDICT_OK && (tl_a64(h)->debug.edscr & TL_A64_EDSCR_TDA) && !tl_a64_os_locked(h) && tl_a64_may_halt(h))
        return VERDICT_HALT;
    return verdict;
}
// C5.2.16: while the stack pointer in use is SP_EL0, the register is UNDEFINED.
static uint32_t check_SP_EL0(const tl_hart *h, bool is_read) {
    return (void)is_read, tl_a64(h)->sys.has_own_sp ? VERDICT_OK : VERDICT_UNDEFINED;
}
static uint32_t check_FP(const tl_hart *h, bool is_read) { return (void)is_read, tl_a64(h)->sys.fp_trap_el; }

// -- Values and effects.

#define value_STORED NULL
#define effect_STORED NULL

static uint64_t value_MPIDR(tl_hart *h, uint32_t reg) { return (void)reg, UINT64_C(0x80000000) | h->id; }
// PMUVer follows from the registers that the hart has.
static const tl_a64_route *route_of(const tl_hart *h, uint32_t number);
static uint64_t value_DFR0(tl_hart *h, uint32_t reg) {
    enum { PMCR_EL0 = 0xdce0, PMUVER_LSB = 8 };
    return reg_of(h, reg) | (uint64_t)(route_of(h, PMCR_EL0) != NULL) << PMUVER_LSB;
}
static uint64_t value_DCZID(tl_hart *h, uint32_t reg) { // DZP: DC ZVA is trapped here
    const bool is_trapped = h->priv == TL_A64_EL0 && !(reg_of(h, TL_A64_R_SCTLR_EL1) & TL_A64_SCTLR_DZE);
    return reg_of(h, reg) | (uint64_t)is_trapped << 4;
}
// Geometry of the cache that CSSELR_EL1 names: sets - 1, ways - 1, line. All of them write back and
// allocate; the instruction cache allocates on reads alone.
static uint64_t value_CCSIDR(tl_hart *h, uint32_t reg) {
    const tl_config *config = h->config;
    const uint64_t select = reg_of(h, TL_A64_R_CSSELR_EL1);
    const uint32_t level = (uint32_t)select >> 1, line_bytes = config->l1d.line_bytes;
    const bool is_l1i = level == 0 && (select & 1);
    (void)reg;
    if (level > 1 || (level == 1 && (select & 1)))
        return 0;
    const uint32_t ways = level == 1 ? config->l2.ways : is_l1i ? config->l1i.ways : config->l1d.ways;
    const uint64_t bytes = level == 1 ? config->l2.size_bytes : is_l1i ? config->l1i.size_bytes : config->l1d.size_bytes;
    const uint64_t sets = bytes / line_bytes / ways, attributes = is_l1i ? 2 : 7;
    return attributes << 28 | (sets - 1) << 13 | (uint64_t)(ways - 1) << 3 | (uint64_t)(__builtin_ctz(line_bytes) - 4);
}
static uint64_t value_L2CTLR(tl_hart *h, uint32_t reg) { return reg_of(h, reg) | (uint64_t)((h->config->n_harts - 1) & 3) << 24; }

static uint64_t value_SP(tl_hart *h, uint32_t reg) { return tl_a64_sp(h, reg == TL_A64_R_SP_EL1 ? TL_A64_EL1 : TL_A64_EL0); }
static void effect_SP(tl_hart *h, uint32_t reg, uint64_t value) {
    tl_a64_set_sp(h, reg == TL_A64_R_SP_EL1 ? TL_A64_EL1 : TL_A64_EL0, value);
}
static uint64_t value_SPSEL(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->sys.has_own_sp; }
static void effect_SPSEL(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64_select_sp(h, h->priv, value & 1);
}
static uint64_t value_EL(tl_hart *h, uint32_t reg) { return (void)reg, (uint64_t)h->priv << TL_A64_SPSR_EL_LSB; }
static uint64_t value_ISR(tl_hart *h, uint32_t reg) {
    // In Debug state, too.
    const uint64_t lines = (h->irqs_pending | h->irq_lines) & h->irqs_present;
    (void)reg;
    return (lines >> TL_A64_IRQ & 1) << 7 | (lines >> TL_A64_FIQ & 1) << 6 | (lines >> TL_A64_SERROR & 1) << 8;
}

static uint64_t value_NZCV(tl_hart *h, uint32_t reg) { return (void)reg, (uint64_t)tl_a64(h)->nzcv << TL_A64_NZCV_LSB; }
static void effect_NZCV(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64(h)->nzcv = (uint32_t)(value >> TL_A64_NZCV_LSB) & 15;
}
static uint64_t value_DAIF(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->sys.daif; }
static void effect_DAIF(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64_set_daif(h, (uint32_t)value & TL_A64_DAIF);
}
#define HELD(NAME, member, mask)                                                                    \
    static uint64_t value_##NAME(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->member; } \
    static void effect_##NAME(tl_hart *h, uint32_t reg, uint64_t value) {                           \
        (void)reg;                                                                                  \
        tl_a64(h)->member = value & (mask);                                                         \
    }
HELD(TPIDR, tpidr, UINT64_MAX)
HELD(TPIDRRO, tpidrro, UINT64_MAX)
#undef HELD
static uint64_t value_FPCR(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->fpcr; }
static void effect_FPCR(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64(h)->fpcr = (uint32_t)value & TL_A64_FPCR_BITS;
}
static uint64_t value_FPSR(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->fpsr; }
static void effect_FPSR(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64(h)->fpsr = (uint32_t)value & TL_A64_FPSR_BITS;
}

static uint64_t value_COUNT(tl_hart *h, uint32_t reg) { return (void)reg, tl_hart_time(h, h->now); }
static uint64_t value_CTL(tl_hart *h, uint32_t reg) { return tl_a64_timer_control(h, reg); }
static uint64_t value_TVAL(tl_hart *h, uint32_t reg) { return (uint32_t)(reg_of(h, tl_a64_timer_compare(reg)) - tl_hart_time(h, h->now)); }

static void timer_changed(tl_hart *h) {
    const tl_a64_host *host = tl_a64(h)->sys.host;
    if (host && host->timer_changed)
        host->timer_changed(host->ctx, h);
}
static void effect_TIMER(tl_hart *h, uint32_t reg, uint64_t value) {
    tl_a64_sysreg_store(h, reg, value);
    timer_changed(h);
}
static void effect_TVAL(tl_hart *h, uint32_t reg, uint64_t value) {
    *stored(h, tl_a64_timer_compare(reg)) = tl_hart_time(h, h->now) + (uint64_t)(int64_t)(int32_t)(uint32_t)value;
    timer_changed(h);
}

static void effect_REGIME(tl_hart *h, uint32_t reg, uint64_t value) {
    const uint64_t old = reg_of(h, reg);
    tl_a64_sysreg_store(h, reg, value);
    if (reg_of(h, reg) != old)
        tl_a64_regime_written(h, reg, old);
}
static void effect_TTBR(tl_hart *h, uint32_t reg, uint64_t value) {
    effect_REGIME(h, reg, value);
    if (reg == TL_A64_R_TTBR0_EL1) {
        h->context = reg_of(h, reg);
        tl_hart_notice(h, TL_NOTICE_CONTEXT);
    }
}

static void effect_CONTEXT_NAME(tl_hart *h, uint32_t reg, uint64_t value) {
    tl_a64_sysreg_store(h, reg, value);
    tl_hart_notice(h, TL_NOTICE_CONTEXT_NAME);
}
// Counting in Secure state may change here.
static void effect_MDCR(tl_hart *h, uint32_t reg, uint64_t value) {
    tl_a64_sysreg_store(h, reg, value);
    tl_hart_pmu_state_changed(h);
}

// -- Debug.

static void effect_OSLAR(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64_set_os_lock(h, value & 1);
}
static uint64_t value_CLAIMSET(tl_hart *h, uint32_t reg) { return (void)h, (void)reg, 0xff; }
void tl_a64_set_claim(tl_hart *h, uint8_t tags) {
    tl_a64(h)->sys.debug_claim = tags;
    *stored(h, TL_A64_R_DBGCLAIMCLR_EL1) = tags;
}
static void effect_CLAIMSET(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64_set_claim(h, tl_a64(h)->sys.debug_claim | (uint8_t)value);
}
static void effect_CLAIMCLR(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64_set_claim(h, tl_a64(h)->sys.debug_claim & (uint8_t)~value);
}
static uint64_t value_AUTHSTATUS(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64_authentication(h); }
static uint64_t value_MDRAR(tl_hart *h, uint32_t reg) {
    const tl_a64_host *host = tl_a64(h)->sys.host;
    enum { VALID = 3 };
    return (void)reg, host && host->rom_paddr ? host->rom_paddr | VALID : 0;
}
// Breakpoints and watchpoints.
static void effect_MATCH(tl_hart *h, uint32_t reg, uint64_t value) {
    tl_a64_sysreg_store(h, reg, value);
    tl_a64_debug_changed(h);
}
// Fields of EDSCR stand in MDSCR_EL1, and software writes them while the OS lock is set (D12.3.20).
static const uint32_t EDSCR_FIELDS = TL_A64_EDSCR_RXFULL | TL_A64_EDSCR_TXFULL | TL_A64_EDSCR_RXO | TL_A64_EDSCR_TXU |
                                     3u << TL_A64_EDSCR_INTDIS_LSB | TL_A64_EDSCR_TDA | TL_A64_EDSCR_HDE | TL_A64_EDSCR_ERR;
static uint64_t value_MDSCR(tl_hart *h, uint32_t reg) { return reg_of(h, reg) | (tl_a64(h)->debug.edscr & EDSCR_FIELDS); }
static void effect_MDSCR(tl_hart *h, uint32_t reg, uint64_t value) {
    uint32_t *edscr = &tl_a64(h)->debug.edscr;
    if (tl_a64_os_locked(h))
        *edscr = (*edscr & ~EDSCR_FIELDS) | ((uint32_t)value & EDSCR_FIELDS);
    effect_MATCH(h, reg, value);
}
static uint64_t value_MDCCSR(tl_hart *h, uint32_t reg) {
    return (void)reg, tl_a64(h)->debug.edscr & (TL_A64_EDSCR_RXFULL | TL_A64_EDSCR_TXFULL);
}
static uint64_t value_DTR(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64_dtr_read(h); }
static void effect_DTR(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64_dtr_write(h, value);
}
static uint64_t value_DTRX(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64_dtrrx_take(h); }
static void effect_DTRX(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64_dtrtx_put(h, (uint32_t)value);
}
// Save and restore by an operating system: no flag changes.
static uint64_t value_OSDTRRX(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->debug.dtrrx; }
static void effect_OSDTRRX(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64(h)->debug.dtrrx = (uint32_t)value;
}
static uint64_t value_OSDTRTX(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->debug.dtrtx; }
static void effect_OSDTRTX(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64(h)->debug.dtrtx = (uint32_t)value;
}
static uint64_t value_OSECCR(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64_os_locked(h) ? tl_a64(h)->debug.edeccr : 0; }
static void effect_OSECCR(tl_hart *h, uint32_t reg, uint64_t value) {
    enum { LEVELS = 1 << 1 | 1 << 3 | 1 << 5 };
    (void)reg;
    if (tl_a64_os_locked(h))
        tl_a64(h)->debug.edeccr = (uint32_t)value & LEVELS;
}
static uint64_t value_DLR(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->debug.dlr; }
static void effect_DLR(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64(h)->debug.dlr = value;
}
static uint64_t value_DSPSR(tl_hart *h, uint32_t reg) { return (void)reg, tl_a64(h)->debug.dspsr; }
static void effect_DSPSR(tl_hart *h, uint32_t reg, uint64_t value) {
    (void)reg;
    tl_a64(h)->debug.dspsr = (uint32_t)value;
}

static void effect_RAM(tl_hart *h, uint32_t reg, uint64_t value) {
    uint32_t data[4];
    tl_a64_read_ram(h, (tl_a64_ram)(reg - TL_A64_R_CDBGDCT_EL3), (uint32_t)value, data);
    for (uint32_t i = 0; i < 4; i++)
        *stored(h, TL_A64_R_CDBGDR0_EL3 + i) = data[i];
}
_Static_assert((int)TL_A64_R_CDBGTD_EL3 - (int)TL_A64_R_CDBGDCT_EL3 == (int)TL_A64_RAM_TLB, "rows in the order of tl_a64_ram");

// -- The table.

enum {
    ROW_NONE,
#define SYSREG(name, ...) ROW_##name,
#define RES0(name, ...) ROW_##name,
#include "isa/a64/sysreg.def"
#undef SYSREG
#undef RES0
    ROW_RESERVED_ID,
};
_Static_assert(ROW_RESERVED_ID < 256, "row_of_number");
_Static_assert((int)ROW_VMPIDR_EL2 == (int)TL_A64_R_VMPIDR_EL2, "a stored register has the number of its row");

static const row rows[] = {
#define SYSREG(id, op0, op1, crn, crm, op2, read, write, condition, at_reset, writable, get, set) \
    [ROW_##id] = {.name = #id,                                                                    \
                  .reset = at_reset,                                                              \
                  .mask = writable,                                                               \
                  .number = TL_A64_SYSREG_NUMBER(op0, op1, crn, crm, op2),                        \
                  .reg = TL_A64_R_##id,                                                           \
                  .read_el = read,                                                                \
                  .write_el = write,                                                              \
                  .check = check_##condition,                                                     \
                  .value = value_##get,                                                           \
                  .effect = effect_##set},
#define RES0(id, op1, crn, crm, op2) \
    [ROW_##id] = {.name = #id, .number = TL_A64_SYSREG_NUMBER(3, op1, crn, crm, op2), .read_el = EL3, .write_el = EL3},
#include "isa/a64/sysreg.def"
#undef SYSREG
#undef RES0
    [ROW_RESERVED_ID] = {.name = "reserved", .read_el = EL1, .write_el = NEVER},
};

enum { FIRST_NUMBER = 0x8000, N_NUMBERS = 0x8000 }; // op0 is 2 or 3
static const uint8_t row_of_number[N_NUMBERS] = {
#define SYSREG(id, op0, op1, crn, crm, op2, ...) [TL_A64_SYSREG_NUMBER(op0, op1, crn, crm, op2) - FIRST_NUMBER] = ROW_##id,
#define RES0(id, op1, crn, crm, op2) [TL_A64_SYSREG_NUMBER(3, op1, crn, crm, op2) - FIRST_NUMBER] = ROW_##id,
#include "isa/a64/sysreg.def"
#undef SYSREG
#undef RES0
};

static const row *row_of(uint32_t number) {
    const uint32_t first_id = TL_A64_SYSREG_NUMBER(3, 0, 0, 1, 0), last_id = TL_A64_SYSREG_NUMBER(3, 0, 0, 7, 7);
    const uint32_t at = number < FIRST_NUMBER ? ROW_NONE : row_of_number[number - FIRST_NUMBER];
    if (at == ROW_NONE && number >= first_id && number <= last_id)
        return &rows[ROW_RESERVED_ID];
    return at == ROW_NONE ? NULL : &rows[at];
}

static const tl_a64_route *route_of(const tl_hart *h, uint32_t number) {
    const tl_a64_system *sys = &tl_a64(h)->sys;
    for (uint32_t i = 0; i < sys->n_routes; i++)
        if (sys->routes[i].number == number)
            return &sys->routes[i];
    return NULL;
}

void tl_a64_route_sysregs(tl_hart *h) {
    tl_a64_system *sys = &tl_a64(h)->sys;
    sys->n_routes = 0;
    for (uint32_t i = 0; i < h->n_pmus; i++) {
        const tl_pmu_port *port = h->pmus[i];
        for (uint32_t number = FIRST_NUMBER; port->find && number < FIRST_NUMBER + N_NUMBERS; number++) {
            tl_a64_route *route = &sys->routes[sys->n_routes];
            if (sys->n_routes == TL_A64_MAX_ROUTES)
                return;
            if (row_of(number) || !port->find(port->ctx, number, &route->at) || route_of(h, number))
                continue;
            route->number = number;
            route->port = port;
            sys->n_routes += 1;
        }
    }
}

// ISS of a trapped MSR, MRS or system instruction, D12.2.36: its fields are those of the
// instruction, in another order.
static uint32_t system_iss(uint32_t bits) {
    const uint32_t op0 = bits >> 19 & 3, op1 = bits >> 16 & 7, crn = bits >> 12 & 15, crm = bits >> 8 & 15, op2 = bits >> 5 & 7;
    return op0 << 20 | op2 << 17 | op1 << 14 | crn << 10 | (bits & 31) << 5 | crm << 1 | (bits >> 21 & 1);
}

bool tl_a64_trap_system(tl_hart *h, uint32_t el, uint32_t bits) {
    if (!h->is_privileged)
        return tl_a64_undefined(h, bits);
    return tl_trap(h, TL_A64_CAUSE_TRAPPED, tl_a64_trapped(el, tl_a64_syndrome(TL_A64_EC_SYSTEM_REGISTER, system_iss(bits))));
}

bool tl_a64_sysreg_permits(tl_hart *h, uint32_t number, bool is_read, uint32_t bits) {
    const row *at = row_of(number);
    if (!at) {
        const tl_a64_route *route = route_of(h, number);
        const tl_reg_use use = is_read ? TL_REG_READ : TL_REG_WRITE;
        const uint64_t operand = is_read ? 0 : tl_a64(h)->x[bits & 31];
        if (!route)
            return tl_a64_undefined(h, bits);
        if (route->port->permits && !route->port->permits(route->port->ctx, h, &route->at, use, operand)) {
            const bool is_trap = route->port->traps && route->port->traps(route->port->ctx, h, &route->at, use);
            return is_trap ? tl_a64_trap_system(h, TL_A64_EL1, bits) : tl_a64_undefined(h, bits);
        }
        if (h->priv != TL_A64_EL3 && (reg_of(h, TL_A64_R_MDCR_EL3) & TL_A64_MDCR_TPM))
            return tl_a64_trap_system(h, TL_A64_EL3, bits);
        return true;
    }
    if (h->priv < (is_read ? at->read_el : at->write_el))
        return tl_a64_undefined(h, bits);
    const uint32_t verdict = at->check ? at->check(h, is_read) : VERDICT_OK;
    if (verdict == VERDICT_OK)
        return true;
    if (verdict == VERDICT_UNDEFINED)
        return tl_a64_undefined(h, bits);
    if (verdict == VERDICT_HALT)
        return tl_trap(h, TL_A64_CAUSE_SOFTWARE_ACCESS, bits);
    return at->check == check_FP ? tl_a64_trap_fp(h) : tl_a64_trap_system(h, verdict, bits);
}

uint64_t tl_a64_sysreg_value(tl_hart *h, uint32_t number) {
    const row *at = row_of(number);
    if (at)
        return at->value ? at->value(h, at->reg) : reg_of(h, at->reg);
    const tl_a64_route *route = route_of(h, number);
    const uint64_t value = route->port->read(route->port->ctx, h, &route->at);
    if (route->port->was_read)
        route->port->was_read(route->port->ctx, h, &route->at);
    return value;
}

void tl_a64_sysreg_store(tl_hart *h, uint32_t reg, uint64_t value) {
    uint64_t *cell = stored(h, reg);
    *cell = (*cell & ~rows[reg].mask) | (value & rows[reg].mask);
}

void tl_a64_sysreg_set(tl_hart *h, uint32_t number, uint64_t value) {
    const row *at = row_of(number);
    if (!at) {
        const tl_a64_route *route = route_of(h, number);
        route->port->write(route->port->ctx, h, &route->at, value);
        h->wrote_pmu = h->has_after = true;
    } else if (at->effect) {
        at->effect(h, at->reg, value);
    } else {
        tl_a64_sysreg_store(h, at->reg, value);
    }
}

const char *tl_a64_sysreg_name(uint32_t number) {
    const row *at = row_of(number);
    return at ? at->name : NULL;
}

void tl_a64_sysregs_reset(tl_hart *h) {
    for (uint32_t i = ROW_NONE + 1; i < ROW_RESERVED_ID; i++)
        *stored(h, rows[i].reg) = rows[i].reset;
    *stored(h, TL_A64_R_NONE) = 0;
}
