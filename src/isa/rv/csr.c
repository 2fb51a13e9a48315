// SPDX-License-Identifier: MIT
// The core's own registers: floating-point control, and registers of the privileged architecture
// (manual 1.12). Every register is a row. Writes legalize fields that software cannot choose
// freely. Counters, and the registers that gate and inhibit them, belong to the PMU in the hart
// (model/hart.h). It gets accesses without a row here.
#include "isa/rv/csr.h"

#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "isa/rv/fp.h"
#include "isa/rv/regime.h"

typedef struct csr_row {
    uint32_t first, last; // numbers; several registers of one kind stand in one row
    uint64_t (*read)(tl_hart *h, uint32_t index);
    // NULL: writes are ignored, or illegal if the number is read-only.
    void (*write)(tl_hart *h, uint32_t index, uint64_t value);
} csr_row;

static uint64_t read_fflags(tl_hart *h, uint32_t index) {
    (void)index;
    tl_fp_harvest(h);
    return tl_rv(h)->fflags;
}
static void write_fflags(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    tl_fp_harvest(h); // the host's flags must not come back later
    tl_rv(h)->fflags = value & 31;
}
static uint64_t read_frm(tl_hart *h, uint32_t index) {
    (void)index;
    return tl_rv(h)->frm;
}
static void write_frm(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    tl_fp_set_rounding(h, value & 7);
}
static uint64_t read_fcsr(tl_hart *h, uint32_t index) { return read_frm(h, index) << 5 | read_fflags(h, index); }
static void write_fcsr(tl_hart *h, uint32_t index, uint64_t value) {
    write_fflags(h, index, value);
    write_frm(h, index, value >> 5);
}

static uint64_t masked(uint64_t old, uint64_t wanted, uint64_t mask) { return (old & ~mask) | (wanted & mask); }

// Registers that hold the written value, all of it or the bits that exist. X(name, mask)
static const uint64_t PC_MASK = ~UINT64_C(1); // IALIGN is 16
// Every exception of a less privileged mode; ECALL from M is none.
static const uint64_t MEDELEG_MASK = UINT64_C(0xb3ff), SUPERVISOR_IRQS = UINT64_C(0x2222);
static const uint64_t TVEC_MASK = ~UINT64_C(2);  // direct or vectored
static const uint64_t ENVCFG_MASK = UINT64_C(1); // FIOM; harts see memory in order anyway
#define PLAIN_ROWS(X)        \
    X(medeleg, MEDELEG_MASK) \
    X(mtvec, TVEC_MASK)      \
    X(mscratch, UINT64_MAX)  \
    X(mepc, PC_MASK)         \
    X(mcause, UINT64_MAX)    \
    X(mtval, UINT64_MAX)     \
    X(menvcfg, ENVCFG_MASK)  \
    X(stvec, TVEC_MASK)      \
    X(sscratch, UINT64_MAX)  \
    X(sepc, PC_MASK)         \
    X(scause, UINT64_MAX)    \
    X(stval, UINT64_MAX)     \
    X(senvcfg, ENVCFG_MASK)
#define PLAIN(name, mask)                                                                               \
    static uint64_t read_##name(tl_hart *h, uint32_t index) { return (void)index, tl_rv(h)->csr.name; } \
    static void write_##name(tl_hart *h, uint32_t index, uint64_t value) {                              \
        (void)index;                                                                                    \
        tl_rv(h)->csr.name = masked(tl_rv(h)->csr.name, value, mask);                                   \
    }
PLAIN_ROWS(PLAIN)
#undef PLAIN

static uint64_t read_zero(tl_hart *h, uint32_t index) { return (void)h, (void)index, 0; }
static uint64_t read_mvendorid(tl_hart *h, uint32_t index) { return (void)index, h->config->mvendorid; }
static uint64_t read_marchid(tl_hart *h, uint32_t index) { return (void)index, h->config->marchid; }
static uint64_t read_mimpid(tl_hart *h, uint32_t index) { return (void)index, h->config->mimpid; }
static uint64_t read_mhartid(tl_hart *h, uint32_t index) { return (void)index, h->id; }
static uint64_t read_misa(tl_hart *h, uint32_t index) {
    (void)h;
    (void)index;
    uint64_t letters = 0;
    for (const char *at = "ACDFIMSU"; *at; at++)
        letters |= UINT64_C(1) << (*at - 'A');
    return UINT64_C(2) << 62 | letters;
}

// mstatus. FS has the values Off and Dirty. Software that turns floating point on reads Dirty (sec.
// 3.1.6.6 permits it).
static const uint64_t MSTATUS_WRITABLE = TL_SSTATUS_WRITABLE | TL_MSTATUS_MIE | TL_MSTATUS_MPIE | TL_MSTATUS_MPP | TL_MSTATUS_MPRV |
                                         TL_MSTATUS_TVM | TL_MSTATUS_TW | TL_MSTATUS_TSR;

static uint64_t with_sd(uint64_t status) { return (status & TL_MSTATUS_FS) == TL_MSTATUS_FS ? status | TL_MSTATUS_SD : status; }

static void set_mstatus(tl_hart *h, uint64_t status) {
    uint64_t old = tl_rv(h)->csr.mstatus;
    if ((status & TL_MSTATUS_MPP) == UINT64_C(2) << 11)
        status = masked(status, old, TL_MSTATUS_MPP);
    if (status & TL_MSTATUS_FS)
        status |= TL_MSTATUS_FS;
    tl_rv(h)->csr.mstatus = status;
    h->is_fp_off = (status & TL_MSTATUS_FS) == 0;
    tl_rv_status_changed(h, old);
    if (tl_hart_pending(h) != 0)
        tl_hart_stop_soon(h);
}

static uint64_t read_mstatus(tl_hart *h, uint32_t index) { return (void)index, with_sd(tl_rv(h)->csr.mstatus); }
static void write_mstatus(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    set_mstatus(h, masked(tl_rv(h)->csr.mstatus, value, MSTATUS_WRITABLE));
}
static uint64_t read_sstatus(tl_hart *h, uint32_t index) {
    (void)index;
    return with_sd(tl_rv(h)->csr.mstatus & (TL_SSTATUS_WRITABLE | TL_MSTATUS_UXL));
}
static void write_sstatus(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    set_mstatus(h, masked(tl_rv(h)->csr.mstatus, value, TL_SSTATUS_WRITABLE));
}

// Interrupt enables and pending bits. The supervisor's view has the delegated ones.
static void look_again(tl_hart *h) {
    if (tl_hart_pending(h) != 0)
        tl_hart_stop_soon(h);
}
// Delegation decides which global enable bit an interrupt has (sec. 3.1.9).
static uint64_t read_mideleg(tl_hart *h, uint32_t index) { return (void)index, tl_rv(h)->csr.mideleg; }
static void write_mideleg(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    tl_rv(h)->csr.mideleg = value & SUPERVISOR_IRQS & h->irqs_present;
    look_again(h);
}
static uint64_t read_mie(tl_hart *h, uint32_t index) { return (void)index, h->irqs_enabled; }
static void write_mie(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    h->irqs_enabled = value & h->irqs_present;
    look_again(h);
}
static uint64_t read_mip(tl_hart *h, uint32_t index) {
    (void)index;
    return h->irqs_pending | h->irq_lines;
}
static void write_mip(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    h->irqs_pending = masked(h->irqs_pending, value, SUPERVISOR_IRQS & h->irqs_present);
    look_again(h);
}
static uint64_t read_sie(tl_hart *h, uint32_t index) { return (void)index, h->irqs_enabled & tl_rv(h)->csr.mideleg; }
static void write_sie(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    h->irqs_enabled = masked(h->irqs_enabled, value, tl_rv(h)->csr.mideleg);
    look_again(h);
}
static uint64_t read_sip(tl_hart *h, uint32_t index) { return read_mip(h, index) & tl_rv(h)->csr.mideleg; }
static void write_sip(tl_hart *h, uint32_t index, uint64_t value) {
    const uint64_t writable = UINT64_C(1) << TL_IRQ_SSI | UINT64_C(1) << TL_IRQ_LCOFI;
    (void)index;
    h->irqs_pending = masked(h->irqs_pending, value, writable & tl_rv(h)->csr.mideleg);
    look_again(h);
}

// satp: Bare, Sv39, Sv48. A write with another mode has no effect. ASIDLEN is 0 unless a board says
// otherwise.
static uint64_t read_satp(tl_hart *h, uint32_t index) { return (void)index, h->context; }
static void write_satp(tl_hart *h, uint32_t index, uint64_t value) {
    const uint64_t mode = value >> TL_SATP_MODE_LSB, mask = (UINT64_C(1) << (TL_SATP_ASID_LSB + tl_rv(h)->asid_bits)) - 1;
    (void)index;
    if (mode != TL_SATP_BARE && mode != TL_SATP_SV39 && mode != TL_SATP_SV48)
        return;
    tl_rv_set_satp(h, mode << TL_SATP_MODE_LSB | (value & mask));
    tl_hart_notice(h, TL_NOTICE_CONTEXT);
}

// Physical memory protection, in grains of 4 KiB (TL_PMP_GRAIN). NA4 does not exist, and addresses
// read as sec. 3.7.1 defines for the grain.
static uint8_t pmp_kind(uint8_t cfg) { return cfg >> TL_PMP_A_LSB & TL_PMP_A_MASK; }

static uint64_t read_pmpaddr(tl_hart *h, uint32_t index) {
    bool is_napot = pmp_kind(tl_rv(h)->csr.pmpcfg[index]) == TL_PMP_NAPOT;
    uint64_t value = tl_rv(h)->csr.pmpaddr[index];
    return is_napot ? value | ((UINT64_C(1) << (TL_PMP_GRAIN - 1)) - 1) : value & ~((UINT64_C(1) << TL_PMP_GRAIN) - 1);
}
static bool is_pmpaddr_locked(const tl_hart *h, uint32_t index) {
    const uint8_t *cfg = tl_rv(h)->csr.pmpcfg;
    return (cfg[index] & TL_PMP_L) || (index + 1 < TL_N_PMP && (cfg[index + 1] & TL_PMP_L) && pmp_kind(cfg[index + 1]) == TL_PMP_TOR);
}
static void write_pmpaddr(tl_hart *h, uint32_t index, uint64_t value) {
    if (is_pmpaddr_locked(h, index))
        return;
    tl_rv(h)->csr.pmpaddr[index] = value & ((UINT64_C(1) << 54) - 1);
    tl_rv(h)->csr.pmp_generation += 1;
    h->port->protection_changed(h);
}
static uint64_t read_pmpcfg(tl_hart *h, uint32_t index) { // pmpcfg0, pmpcfg2: eight entries each
    uint64_t value = 0;
    for (uint32_t i = 0; i < 8; i++)
        value |= (uint64_t)tl_rv(h)->csr.pmpcfg[index * 4 + i] << 8 * i;
    return value;
}
static void write_pmpcfg(tl_hart *h, uint32_t index, uint64_t value) {
    enum { RWX = TL_PMP_R | TL_PMP_W | TL_PMP_X, A = TL_PMP_A_MASK << TL_PMP_A_LSB };
    for (uint32_t i = 0; i < 8; i++) {
        uint8_t *cfg = &tl_rv(h)->csr.pmpcfg[index * 4 + i], wanted = (uint8_t)(value >> 8 * i) & (TL_PMP_L | A | RWX);
        if (*cfg & TL_PMP_L)
            continue;
        if ((wanted & (TL_PMP_R | TL_PMP_W)) == TL_PMP_W)
            wanted = (uint8_t)((wanted & ~RWX) | (*cfg & RWX)); // reserved
        if (pmp_kind(wanted) == TL_PMP_NA4)
            wanted = (uint8_t)((wanted & ~A) | (*cfg & A));
        *cfg = wanted;
    }
    tl_rv(h)->csr.pmp_generation += 1;
    h->port->protection_changed(h);
}

// tselect, tdata1 (type 0), tdata2 and tdata3 read zero, because there are no triggers; mconfigptr
// reads zero, too. X(name, first number, last number, read, write)
#define CSR_ROWS(X)                                                         \
    X(fflags, 0x001, 0x001, read_fflags, write_fflags)                      \
    X(frm, 0x002, 0x002, read_frm, write_frm)                               \
    X(fcsr, 0x003, 0x003, read_fcsr, write_fcsr)                            \
    X(sstatus, TL_CSR_SSTATUS, TL_CSR_SSTATUS, read_sstatus, write_sstatus) \
    X(sie, 0x104, 0x104, read_sie, write_sie)                               \
    X(stvec, 0x105, 0x105, read_stvec, write_stvec)                         \
    X(senvcfg, 0x10a, 0x10a, read_senvcfg, write_senvcfg)                   \
    X(sscratch, 0x140, 0x140, read_sscratch, write_sscratch)                \
    X(sepc, 0x141, 0x141, read_sepc, write_sepc)                            \
    X(scause, 0x142, 0x142, read_scause, write_scause)                      \
    X(stval, 0x143, 0x143, read_stval, write_stval)                         \
    X(sip, 0x144, 0x144, read_sip, write_sip)                               \
    X(satp, 0x180, 0x180, read_satp, write_satp)                            \
    X(mstatus, 0x300, 0x300, read_mstatus, write_mstatus)                   \
    X(misa, 0x301, 0x301, read_misa, NULL)                                  \
    X(medeleg, 0x302, 0x302, read_medeleg, write_medeleg)                   \
    X(mideleg, 0x303, 0x303, read_mideleg, write_mideleg)                   \
    X(mie, 0x304, 0x304, read_mie, write_mie)                               \
    X(mtvec, 0x305, 0x305, read_mtvec, write_mtvec)                         \
    X(menvcfg, 0x30a, 0x30a, read_menvcfg, write_menvcfg)                   \
    X(mscratch, 0x340, 0x340, read_mscratch, write_mscratch)                \
    X(mepc, 0x341, 0x341, read_mepc, write_mepc)                            \
    X(mcause, 0x342, 0x342, read_mcause, write_mcause)                      \
    X(mtval, 0x343, 0x343, read_mtval, write_mtval)                         \
    X(mip, 0x344, 0x344, read_mip, write_mip)                               \
    X(pmpcfg_3a0, 0x3a0, 0x3a0, read_pmpcfg, write_pmpcfg)                  \
    X(pmpcfg_3a2, 0x3a2, 0x3a2, read_pmpcfg, write_pmpcfg)                  \
    X(zero_3a4, 0x3a4, 0x3a4, read_zero, NULL)                              \
    X(zero_3a6, 0x3a6, 0x3a6, read_zero, NULL)                              \
    X(zero_3a8, 0x3a8, 0x3a8, read_zero, NULL)                              \
    X(zero_3aa, 0x3aa, 0x3aa, read_zero, NULL)                              \
    X(zero_3ac, 0x3ac, 0x3ac, read_zero, NULL)                              \
    X(zero_3ae, 0x3ae, 0x3ae, read_zero, NULL)                              \
    X(pmpaddr, 0x3b0, 0x3b0 + TL_N_PMP - 1, read_pmpaddr, write_pmpaddr)    \
    X(zero_pmp, 0x3b0 + TL_N_PMP, 0x3ef, read_zero, NULL)                   \
    X(zero_7a0, 0x7a0, 0x7a3, read_zero, NULL)                              \
    X(mvendorid, 0xf11, 0xf11, read_mvendorid, NULL)                        \
    X(marchid, 0xf12, 0xf12, read_marchid, NULL)                            \
    X(mimpid, 0xf13, 0xf13, read_mimpid, NULL)                              \
    X(mhartid, 0xf14, 0xf14, read_mhartid, NULL)                            \
    X(zero_f15, 0xf15, 0xf15, read_zero, NULL)

enum {
    ROW_NONE,
#define X(name, first, last, read, write) ROW_##name,
    CSR_ROWS(X)
#undef X
};

static const csr_row rows[] = {
#define X(name, first, last, read, write) [ROW_##name] = {first, last, read, write},
    CSR_ROWS(X)
#undef X
};

// The row of each number, because kernels and floating-point code access these registers often.
static const uint8_t row_of_number[4096] = {
#define X(name, first, last, read, write) [(first)...(last)] = ROW_##name,
    CSR_ROWS(X)
#undef X
};

// Registers that trap although the mode is high enough.
static bool is_trapped(const tl_hart *h, uint32_t csr) {
    if (csr <= 0x003)
        return h->is_privileged && h->is_fp_off;
    return csr == 0x180 && h->priv == TL_PRIV_S && (tl_rv(h)->csr.mstatus & TL_MSTATUS_TVM);
}

static const csr_row *row_of(uint32_t csr) { return &rows[row_of_number[csr & 0xfff]]; }
static bool is_own(uint32_t csr) { return row_of_number[csr & 0xfff] != ROW_NONE; }
static uint32_t index_in(const csr_row *row, uint32_t csr) { return row->read == read_pmpcfg ? csr - 0x3a0 : csr - row->first; }

// NULL: no PMU answers for this number.
static const tl_csr_route *route_of(const tl_hart *h, uint32_t csr) {
    const tl_rv_hart *rv = tl_rv(h);
    uint32_t route = rv->csr_route[csr & 0xfff];
    return route != 0 ? &rv->csr_routes[route - 1] : NULL;
}

void tl_rv_route_csrs(tl_hart *h) {
    tl_rv_hart *rv = tl_rv(h);
    uint32_t n = 0;
    memset(rv->csr_route, 0, sizeof rv->csr_route);
    for (uint32_t i = 0; i < h->n_pmus; i++) {
        const tl_pmu_port *port = h->pmus[i];
        for (uint32_t csr = 0; port->find && csr < TL_N_CSRS && n < TL_MAX_CSR_ROUTES; csr++) {
            if (is_own(csr) || rv->csr_route[csr] != 0 || !port->find(port->ctx, csr, &rv->csr_routes[n].at))
                continue;
            rv->csr_routes[n].port = port;
            rv->csr_route[csr] = (uint8_t)++n;
        }
    }
}

bool tl_csr_word_of(uint32_t csr, tl_csr_word *ret_word) {
    switch (row_of_number[csr & 0xfff]) {
#define PLAIN(name, mask) \
    case ROW_##name: *ret_word = (tl_csr_word){(uint32_t)offsetof(tl_rv_hart, csr.name), mask}; return true;
        PLAIN_ROWS(PLAIN)
#undef PLAIN
    default: return false;
    }
}

bool tl_csr_permits(const tl_hart *h, uint32_t csr, tl_reg_use use, uint64_t operand) {
    if (tl_csr_lowest_priv(csr) > h->priv || (use != TL_REG_READ && tl_csr_is_read_only(csr)))
        return false;
    if (TL_LIKELY(is_own(csr)))
        return !is_trapped(h, csr);
    const tl_csr_route *route = route_of(h, csr);
    return route && (!route->port->permits || route->port->permits(route->port->ctx, h, &route->at, use, operand));
}

uint64_t tl_csr_value(tl_hart *h, uint32_t csr) {
    const csr_row *row = row_of(csr);
    if (TL_LIKELY(is_own(csr)))
        return row->read(h, index_in(row, csr));
    const tl_csr_route *route = route_of(h, csr);
    return route->port->read(route->port->ctx, h, &route->at);
}

void tl_csr_was_read(tl_hart *h, uint32_t csr) {
    const tl_csr_route *route = route_of(h, csr);
    if (TL_UNLIKELY(route && route->port->was_read))
        route->port->was_read(route->port->ctx, h, &route->at);
}

void tl_csr_set(tl_hart *h, uint32_t csr, uint64_t value) {
    const csr_row *row = row_of(csr);
    if (TL_LIKELY(is_own(csr))) {
        if (row->write)
            row->write(h, index_in(row, csr), value);
        return;
    }
    const tl_csr_route *route = route_of(h, csr);
    route->port->write(route->port->ctx, h, &route->at, value);
    h->wrote_pmu = h->has_after = true;
}

bool tl_csr_read(tl_hart *h, uint32_t csr, uint64_t *ret_value) {
    if (!tl_csr_permits(h, csr, TL_REG_READ, 0))
        return false;
    *ret_value = tl_csr_value(h, csr);
    tl_csr_was_read(h, csr);
    return true;
}

bool tl_csr_write(tl_hart *h, uint32_t csr, uint64_t value) {
    if (!tl_csr_permits(h, csr, TL_REG_WRITE, value))
        return false;
    tl_csr_set(h, csr, value);
    return true;
}
