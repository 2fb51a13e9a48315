/* SPDX-License-Identifier: MIT
 * CSRs: existence by mode, writable bits, values read back, and registers that are views of others.
 * The tests follow privileged manual 1.12 for a machine with M, S, U, 16 PMP entries and IMAFDC. */
#include "bare.h"

/* Writes a value, reads it back, restores the register; no memory access, so any CSR is safe. */
typedef struct warl {
    u64 first, second;
} warl;
#define TRY(csr)                                                                                                   \
    static void try_##csr(u64 value, warl *ret) {                                                                  \
        u64 old, first, second;                                                                                    \
        __asm__ volatile("csrrw %0, " #csr ", %3\n csrr %1, " #csr "\n csrw " #csr ", %1\n csrrw %2, " #csr ", %0" \
                         : "=&r"(old), "=&r"(first), "=&r"(second)                                                 \
                         : "r"(value)                                                                              \
                         : "memory");                                                                              \
        ret->first = first;                                                                                        \
        ret->second = second;                                                                                      \
    }
/* clang-format off */
#define EACH_REGISTER(R)                                                                                                                 \
    R(mstatus) R(misa) R(medeleg) R(mideleg) R(mie) R(mtvec) R(mcounteren) R(menvcfg) R(mcountinhibit) R(mscratch) R(mepc) R(mcause)     \
    R(mtval) R(mip) R(sstatus) R(sie) R(stvec) R(scounteren) R(senvcfg) R(sscratch) R(sepc) R(scause) R(stval) R(sip) R(satp)            \
    R(pmpaddr0) R(pmpaddr1) R(pmpaddr7) R(pmpaddr14) R(mhpmevent3) R(mhpmevent31)
/* clang-format on */
EACH_REGISTER(TRY)

static void test_every_register_is_idempotent(void) {
    static void (*const attempts[])(u64, warl *) = {
#define ENTRY(csr) try_##csr,
        EACH_REGISTER(ENTRY)};
    static const u64 values[] = {0,
                                 ~UINT64_C(0),
                                 0x5555555555555555,
                                 0xaaaaaaaaaaaaaaaa,
                                 0x0123456789abcdef,
                                 0xfedcba9876543210,
                                 0x8000000000000007,
                                 0x8000000000080123,
                                 0x6000000000000000,
                                 0x1f1f1f1f1f1f1f1f,
                                 1,
                                 2,
                                 4,
                                 8,
                                 16,
                                 32};
    for (u32 r = 0; r < sizeof attempts / sizeof *attempts; r++)
        for (u32 v = 0; v < sizeof values / sizeof *values; v++) {
            warl is = {0, 0};
            attempts[r](values[v], &is);
            check_context = r << 8 | v;
            CHECK(is.second, is.first);
        }
    check_context = 0;
}

static void test_plain_registers_hold_every_bit(void) {
    static const u64 values[] = {0, ~UINT64_C(0), 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x0123456789abcdef};
    for (u32 v = 0; v < sizeof values / sizeof *values; v++) {
        warl is;
        try_mscratch(values[v], &is);
        CHECK(is.first, values[v]);
        try_sscratch(values[v], &is);
        CHECK(is.first, values[v]);
        try_mepc(values[v], &is);
        CHECK(is.first & ~UINT64_C(1), values[v] & ~UINT64_C(1)); /* IALIGN is 16 */
        CHECK_BUT_QEMU("QEMU keeps bit 0", is.first & 1, 0);
        try_sepc(values[v], &is);
        CHECK(is.first & ~UINT64_C(1), values[v] & ~UINT64_C(1));
        CHECK_BUT_QEMU("QEMU keeps bit 0", is.first & 1, 0);
        try_mtval(values[v], &is);
        CHECK(is.first, values[v]);
        try_stval(values[v], &is);
        CHECK(is.first, values[v]);
    }
    static const u64 causes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, BIT(63) | 1, BIT(63) | 5, BIT(63) | 9, BIT(63) | 13};
    for (u32 v = 0; v < sizeof causes / sizeof *causes; v++) {
        warl is;
        try_mcause(causes[v], &is);
        CHECK(is.first, causes[v]);
        try_scause(causes[v], &is);
        CHECK(is.first, causes[v]);
    }
}

static void test_identity(void) {
    CHECK(csr_read(mhartid), 0);
    CHECK(contexts[0].boot_a0, 0);
    CHECK(MMIO32(contexts[0].boot_a1), 0xedfe0dd0); /* a1: a device tree, big-endian */
    u64 misa = csr_read(misa);
    CHECK(misa >> 62, 2);
    const char *letters = "IMAFDCSU";
    for (u32 i = 0; letters[i]; i++)
        CHECK(misa >> (letters[i] - 'A') & 1, 1);
    CHECK(misa >> 26 & ((UINT64_C(1) << 36) - 1), 0);
}

static void test_fields(void) {
    warl is;
    /* xtvec: direct and vectored */
    try_mtvec(0x80001000, &is);
    CHECK(is.first, 0x80001000);
    try_mtvec(0x80001001, &is);
    CHECK(is.first, 0x80001001);
    try_stvec(0xffffffc080001000, &is);
    CHECK(is.first, 0xffffffc080001000);
    try_stvec(0xffffffc080001001, &is);
    CHECK(is.first, 0xffffffc080001001);
    /* delegation */
    try_medeleg(~UINT64_C(0), &is);
    CHECK(is.first & 0xb3ff, 0xb3ff);
    CHECK_BUT_QEMU("QEMU has the bits of the hypervisor extension also without it", is.first >> 10 & 1, 0);
    CHECK(is.first >> 14 & 1, 0);
    CHECK_BUT_QEMU("QEMU lets bit 11 be set", is.first >> 11 & 1, 0);
    try_mideleg(~UINT64_C(0), &is);
    CHECK_BUT_QEMU("as for medeleg", is.first & 0x444, 0);
    CHECK(is.first & 0xbbb, 0x222);
    try_mie(~UINT64_C(0), &is);
    CHECK_BUT_QEMU("as for medeleg", is.first & 0x444, 0);
    CHECK(is.first & 0xbbb, 0xaaa);
    /* mip: what software may set */
    MTIMECMP(0) = NEVER;
    MSIP(0) = 0;
    try_mip(~UINT64_C(0), &is);
    CHECK_BUT_QEMU("as for medeleg", is.first & 0x444, 0);
    CHECK(is.first & 0xbbb, 0x222);
    try_mip(0, &is);
    CHECK(is.first & 0xfff, 0);
    /* satp */
    try_satp(UINT64_C(8) << 60 | 0xfffffffffff, &is);
    CHECK(is.first, UINT64_C(8) << 60 | 0xfffffffffff);
    try_satp(UINT64_C(9) << 60 | 0x12345, &is);
    CHECK(is.first, UINT64_C(9) << 60 | 0x12345);
    for (u64 mode = 1; mode < 8; mode++) { /* a write with a mode that is not there changes nothing */
        csr_write(satp, UINT64_C(8) << 60 | 0x777);
        try_satp(mode << 60 | 0x123, &is);
        CHECK(is.first, UINT64_C(8) << 60 | 0x777);
    }
    csr_write(satp, 0);
    /* mstatus: fields one by one */
    static const u64 bits[] = {MSTATUS_SIE, MSTATUS_MIE, MSTATUS_SPIE, MSTATUS_MPIE, MSTATUS_SPP, MSTATUS_SUM,
                               MSTATUS_MXR, MSTATUS_TVM, MSTATUS_TW,   MSTATUS_TSR,  MSTATUS_MPRV};
    u64 old = csr_read(mstatus);
    csr_write(mie, 0);
    for (u32 i = 0; i < sizeof bits / sizeof *bits; i++) {
        check_context = bits[i];
        try_mstatus(old | MSTATUS_MPP | bits[i], &is);
        CHECK(is.first & bits[i], bits[i]);
        try_mstatus((old | MSTATUS_MPP) & ~bits[i], &is);
        CHECK(is.first & bits[i], 0);
        try_sstatus(~UINT64_C(0), &is);
        bool is_supervisors = bits[i] & (MSTATUS_SIE | MSTATUS_SPIE | MSTATUS_SPP | MSTATUS_SUM | MSTATUS_MXR);
        CHECK(is.first & bits[i], is_supervisors ? bits[i] : 0);
    }
    check_context = 0;
    for (u64 mpp = 0; mpp < 4; mpp++) {
        try_mstatus((old & ~MSTATUS_MPP) | mpp << 11, &is);
        if (mpp != 2)
            CHECK(is.first >> 11 & 3, mpp);
        else
            CHECK_BUT_QEMU("QEMU keeps the reserved MPP", (is.first >> 11 & 3) != 2, 1);
    }
    CHECK(old >> 34 & 3, 2); /* SXL, UXL: 64 bits */
    CHECK(old >> 32 & 3, 2);
    CHECK(csr_read(sstatus) >> 32 & 3, 2);
    for (u64 bit = 36; bit < 38; bit++) { /* SBE, MBE: little-endian only, or both */
        try_mstatus(old, &is);
        CHECK(is.first >> bit & 1, 0);
    }
}

static void test_supervisor_views(void) {
    csr_write(mideleg, 0);
    csr_write(mie, 0xaaa);
    CHECK(csr_read(sie) & 0xfff, 0);
    csr_write(sie, 0);
    CHECK(csr_read(mie) & 0xfff, 0xaaa);
    csr_write(mideleg, 0x222);
    CHECK(csr_read(sie) & 0xfff, 0x222);
    csr_write(sie, 0x020);
    CHECK(csr_read(mie) & 0xfff, 0x8a8);
    csr_write(sie, ~UINT64_C(0));
    CHECK(csr_read(mie) & 0xfff, 0xaaa);
    csr_write(mideleg, 0x200);
    CHECK(csr_read(sie) & 0xfff, 0x200);
    csr_write(mie, 0);
    /* sip: only SSIP can be written, and only when delegated */
    csr_write(mideleg, 0x222);
    csr_write(mip, 0);
    csr_write(sip, 0x222);
    CHECK(csr_read(mip) & 0x222, 0x002);
    csr_write(mip, 0x222);
    CHECK(csr_read(sip) & 0x222, 0x222);
    csr_write(sip, 0);
    CHECK(csr_read(mip) & 0x222, 0x220);
    csr_write(mideleg, 0);
    CHECK(csr_read(sip) & 0x222, 0);
    csr_write(mip, 0);
    csr_write(sip, 0x002);
    CHECK(csr_read(mip) & 0x222, 0);
    /* sstatus and mstatus are one register */
    csr_write(sstatus, MSTATUS_SUM | MSTATUS_FS);
    CHECK(csr_read(mstatus) & (MSTATUS_SUM | MSTATUS_MXR), MSTATUS_SUM);
    csr_set(mstatus, MSTATUS_MXR);
    CHECK(csr_read(sstatus) & (MSTATUS_SUM | MSTATUS_MXR), MSTATUS_SUM | MSTATUS_MXR);
    CHECK(csr_read(sstatus) & (MSTATUS_MIE | MSTATUS_MPIE | MSTATUS_MPP | MSTATUS_MPRV), 0);
    csr_clear(sstatus, MSTATUS_SUM | MSTATUS_MXR);
    CHECK(csr_read(mstatus) & (MSTATUS_SUM | MSTATUS_MXR), 0);
}

/* Access by mode and CSR number. */
static bool is_in(u32 csr, u32 first, u32 last) { return csr >= first && csr <= last; }
static bool exists(u32 csr) {
    static const u32 single[] = {0x001, 0x002, 0x003, 0x100, 0x104, 0x105, 0x106, 0x10a, 0x140, 0x141, 0x142, 0x143, 0x144, 0x180, 0x300,
                                 0x301, 0x302, 0x303, 0x304, 0x305, 0x306, 0x30a, 0x320, 0x340, 0x341, 0x342, 0x343, 0x344, 0x3a0, 0x3a2};
    for (u32 i = 0; i < sizeof single / sizeof *single; i++)
        if (single[i] == csr)
            return true;
    return is_in(csr, 0x323, 0x33f) || is_in(csr, 0x3b0, 0x3bf) || csr == 0xb00 || is_in(csr, 0xb02, 0xb1f) || is_in(csr, 0xf11, 0xf15);
}
static bool is_absent(u32 csr) { /* and must trap: unassigned, of other extensions that are not there, of RV32 */
    static const u32 single[] = {0x000, 0x004, 0x005, 0x040, 0x041, 0x102, 0x103, 0x145, 0x181, 0x310, 0x31a, 0x3a1, 0x3a3, 0x5c0,
                                 0x7b0, 0x7b1, 0x7b2, 0x7b3, 0x7c0, 0x800, 0x8ff, 0x9c0, 0xb01, 0xcc0, 0xdc0, 0xf10, 0xfc0, 0xfff};
    for (u32 i = 0; i < sizeof single / sizeof *single; i++)
        if (single[i] == csr)
            return true;
    return is_in(csr, 0xb80, 0xb9f) || is_in(csr, 0xc80, 0xc9f);
}

static void test_access_matrix(void) {
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    csr_write(mcounteren, 0);
    csr_write(scounteren, 0);
    for (u32 csr = 0; csr < 4096; csr++) {
        if (!exists(csr) && !is_absent(csr))
            continue;
        for (u32 m = 0; m < 3; m++) {
            u64 mode = modes[m];
            bool is_readable = exists(csr) && mode >= (csr >> 8 & 3), is_writable = is_readable && csr >> 10 != 3;
            check_context = mode << 16 | csr;
            u32 read = csr_insn(CSRRS, csr, 10, 0);
            outcome *o = run_insn(mode, read, 0, 0);
            CHECK(has_csr_trap(o), !is_readable);
            if (o->trapped) {
                CHECK(o->tval, read);
                CHECK(o->mode, MODE_M);
            }
            u64 value = o->x[10];
            /* sets no bit, yet writes because rs1 is not x0. QEMU 7.2 reads read-only CSRs */
            u32 write = csr_insn(CSRRS, csr, 10, 11);
            o = run_insn(mode, write, 0, 0);
            if (!is_readable || is_writable)
                CHECK(has_csr_trap(o), !is_writable);
            else
                CHECK_BUT_QEMU("QEMU takes a set of no bits for a read", has_csr_trap(o), 1);
            if (is_readable && !is_writable) { /* what it holds already */
                o = run_insn(mode, csr_insn(CSRRW, csr, 0, 10), value, 0);
                CHECK(has_csr_trap(o), true);
                o = run_insn(mode, csr_insn(CSRRSI, csr, 10, 0), 0, 0);
                CHECK(has_csr_trap(o), false);
                o = run_insn(mode, csr_insn(CSRRCI, csr, 10, 0), 0, 0);
                CHECK(has_csr_trap(o), false);
                o = run_insn(mode, csr_insn(CSRRWI, csr, 0, 0), 0, 0);
                CHECK(has_csr_trap(o), true);
                o = run_insn(mode, csr_insn(CSRRCI, csr, 0, 1), 0, 0);
                CHECK(has_csr_trap(o), true);
            }
        }
    }
    check_context = 0;
}

/* All six forms on one register: what is returned and what stays. */
static void test_csr_forms(void) {
    static const struct {
        u32 kind;
        u64 want;
    } forms[] = {{CSRRW, 0x0f}, {CSRRS, 0x3f}, {CSRRC, 0x30}, {CSRRWI, 0x0a}, {CSRRSI, 0x3f & (0x35 | 0x0a)}, {CSRRCI, 0x35 & ~0x0a}};
    for (u32 i = 0; i < 6; i++) {
        bool is_immediate = forms[i].kind >= CSRRWI;
        u64 start = is_immediate ? 0x35 : 0x33;
        csr_write(stval, start);
        check_context = forms[i].kind;
        outcome *o =
            run_insn(MODE_S, csr_insn(forms[i].kind, 0x143, 10, is_immediate ? 0x0a : 11), 0, forms[i].kind == CSRRS ? 0x0c : 0x0f);
        CHECK(o->trapped, 0);
        CHECK(o->x[10], start);
        u64 want = forms[i].kind == CSRRS ? 0x3f : forms[i].kind == CSRRC ? 0x30 : forms[i].want;
        CHECK(csr_read(stval), want);
    }
    check_context = 0;
}

int main(void) {
    test_identity();
    test_every_register_is_idempotent();
    test_plain_registers_hold_every_bit();
    test_fields();
    test_supervisor_views();
    test_access_matrix();
    test_csr_forms();
    return 0;
}
