/* SPDX-License-Identifier: MIT
 * mstatus.FS: with FS off every floating-point instruction and CSR access is illegal in every mode.
 * Changes of the state set FS and SD to dirty. Kernels use FS lazily: off, trap into S, on. */
#include "bare.h"

SNIPPET(fp_add, ".globl fp_add_at\n fp_add_at: fadd.d fa0, fa0, fa1");
SNIPPET(fp_load, "fld fa0, 0(a0)");
SNIPPET(fp_store, "fsd fa0, 0(a0)");
SNIPPET(fp_load_short, ".option push\n .option rvc\n c.fld fa0, 0(a0)\n .option pop");
SNIPPET(fp_move, "fmv.d.x fa0, a0");
SNIPPET(fp_move_back, "fmv.x.d a0, fa0");
SNIPPET(fp_compare, "flt.d a0, fa0, fa1");
SNIPPET(fp_single, "fmul.s fa0, fa0, fa1");
SNIPPET(fp_fused, "fmadd.d fa0, fa0, fa1, fa2");
SNIPPET(fp_to_int, "fcvt.w.d a0, fa0, rtz");
SNIPPET(fp_csr_read, "frflags a0");
SNIPPET(fp_csr_write, "fsflags a0");
SNIPPET(fp_frm_write, "fsrm a0");
SNIPPET(fp_csr_all, "frcsr a0");
static u64 memory = 0x3ff0000000000000;

static void set_fs(u64 fs) {
    csr_clear(mstatus, MSTATUS_FS);
    csr_set(mstatus, fs << 13);
}

static void test_off_is_illegal(void) {
    static void (*const all[])(void) = {fp_add,    fp_load,  fp_store,  fp_load_short, fp_move,      fp_move_back, fp_compare,
                                        fp_single, fp_fused, fp_to_int, fp_csr_read,   fp_csr_write, fp_frm_write, fp_csr_all};
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    for (u32 i = 0; i < sizeof all / sizeof *all; i++)
        for (u32 m = 0; m < 3; m++)
            for (u64 fs = 0; fs < 4; fs++) {
                u64 argument = all[i] == fp_csr_write || all[i] == fp_frm_write ? 0 : (u64)&memory;
                set_fs(fs);
                check_context = i << 16 | m << 8 | fs;
                u64 is_dirty = csr_read(mstatus) >> 63;
                CHECK(is_dirty, (csr_read(mstatus) & MSTATUS_FS) == MSTATUS_FS);
                CHECK(csr_read(sstatus) >> 63, is_dirty);
                CHECK((csr_read(mstatus) & MSTATUS_FS) != 0, fs != 0);
                outcome *o = run(modes[m], all[i], argument, 0);
                CHECK(o->trapped, fs == 0);
                if (fs == 0) {
                    CHECK(o->cause, CAUSE_ILLEGAL);
                    CHECK(o->epc, (u64)all[i]);
                    u32 insn = *(uint16_t *)all[i];
                    if ((insn & 3) == 3)
                        insn |= (u32) * ((uint16_t *)all[i] + 1) << 16;
                    CHECK(o->tval, insn);
                    CHECK(o->status & (MSTATUS_FS | MSTATUS_SD), 0);
                }
            }
    set_fs(3);
    check_context = 0;
}

static void test_changes_make_it_dirty(void) {
    static void (*const changing[])(void) = {fp_add, fp_load, fp_load_short, fp_move, fp_single, fp_fused, fp_csr_write, fp_frm_write};
    for (u32 i = 0; i < sizeof changing / sizeof *changing; i++)
        for (u64 fs = 1; fs < 3; fs++) {
            u64 argument = changing[i] == fp_csr_write || changing[i] == fp_frm_write ? 0 : (u64)&memory;
            set_fs(fs);
            check_context = i << 8 | fs;
            outcome *o = run(MODE_U, changing[i], argument, 0);
            CHECK(o->trapped, 0);
            CHECK(o->status & (MSTATUS_FS | MSTATUS_SD), MSTATUS_FS | MSTATUS_SD);
            CHECK(csr_read(sstatus) & (MSTATUS_FS | MSTATUS_SD), MSTATUS_FS | MSTATUS_SD);
        }
    set_fs(3);
    check_context = 0;
}

/* S turns FS on at the first use, and the instruction runs again. */
__asm__(
    ".text\n .balign 4\n lazy_handler: csrw sscratch, t0\n li t0, 0x6000\n csrs sstatus, t0\n csrr t0, sscratch\n addi a2, a2, 1\n sret\n");
SNIPPET(computes, "fmv.d.x fa0, a0\n fadd.d fa0, fa0, fa0\n fmv.x.d a0, fa0");
extern char lazy_handler[];
static void test_lazy_use(void) {
    csr_write(stvec, (u64)lazy_handler);
    csr_write(medeleg, BIT(CAUSE_ILLEGAL));
    for (u32 i = 0; i < 10; i++) {
        set_fs(0);
        outcome *o = run(MODE_U, computes, 0x3ff0000000000000 + i, 0);
        CHECK(o->trapped, 0);
        CHECK(o->x[10], 0x4000000000000000 + i);
        CHECK(o->status & (MSTATUS_FS | MSTATUS_SD), MSTATUS_FS | MSTATUS_SD);
    }
    csr_write(medeleg, 0);
    csr_write(stvec, (u64)s_trap);
}

/* Registers keep their values while it is off, and through traps. */
SNIPPET(fills,
        "fmv.d.x fs0, a0\n fmv.d.x ft11, a1\n fsflags zero\n fsrmi 3\n li t0, 0x7ff0000000000001\n fmv.d.x ft0, t0\n fadd.d ft0, ft0, ft0");
SNIPPET(empties, "fmv.x.d a0, fs0\n fmv.x.d a1, ft11\n frcsr a2");
static void test_values_stay(void) {
    run(MODE_U, fills, 0x1122334455667788, 0x99aabbccddeeff00);
    set_fs(0);
    run(MODE_S, fp_add, 0, 0);
    set_fs(3);
    outcome *o = run(MODE_S, empties, 0, 0);
    CHECK(o->x[10], 0x1122334455667788);
    CHECK(o->x[11], 0x99aabbccddeeff00);
    CHECK(o->x[12], 3 << 5 | 0x10); /* round up, invalid */
    csr_write(fcsr, 0);
}

/* A reserved rounding mode, static or in frm, is illegal. */
static void test_reserved_rounding(void) {
    outcome *o = run_insn(MODE_U, 0x02b55553, 0, 0); /* fadd.d fa0, fa0, fa1, with rm 5 */
    CHECK(o->cause, CAUSE_ILLEGAL);
    CHECK(o->tval, 0x02b55553);
    csr_write(frm, 5);
    o = run(MODE_U, fp_add, 0, 0);
    CHECK(o->trapped, 1);
    CHECK(o->cause, CAUSE_ILLEGAL);
    csr_write(frm, 0);
    CHECK(run(MODE_U, fp_add, 0, 0)->trapped, 0);
}

int main(void) {
    csr_write(stvec, (u64)s_trap);
    test_off_is_illegal();
    test_changes_make_it_dirty();
    test_lazy_use();
    test_values_stay();
    test_reserved_rounding();
    return 0;
}
