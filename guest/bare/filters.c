/* SPDX-License-Identifier: MIT
 * Mode filters of Sscofpmf and Smcntrpmf with known numbers of instructions in each mode, and the
 * registers under firmware's probes. Preset `linux` of the counters. */
#include "bare.h"

#define OF BIT(63)
#define MINH BIT(62)
#define SINH BIT(61)
#define UINH BIT(60)
enum { EVENT_CYCLES = 1, EVENT_INSTRUCTIONS = 2 };
#define mcyclecfg 0x321
#define minstretcfg 0x322
#define scountovf 0xda0
static u64 read_number(u32 csr) { return run_insn(MODE_M, csr_insn(CSRRS, csr, 10, 0), 0, 0)->x[10]; }
static void write_number(u32 csr, u64 value) { run_insn(MODE_M, csr_insn(CSRRW, csr, 0, 10), value, 0); }

/* OpenSBI's probe: counters by writing 1, width by all ones, extensions by reading a register. */
static void test_probing(void) {
    u32 n_counters = 0;
    for (u32 n = 3; n < 32; n++) {
        CHECK(read_number(0x320 + n), 0); /* reset: no event, so that nothing moves while firmware probes */
        CHECK(read_number(0xb00 + n), 0);
        write_number(0xb00 + n, 1);
        n_counters += read_number(0xb00 + n) == 1;
        write_number(0xb00 + n, 0);
    }
    CHECK(n_counters, 29);
    write_number(0xb03, ~UINT64_C(0));
    CHECK(read_number(0xb03), ~UINT64_C(0));
    write_number(0xb03, 0);
    static const u32 probes[] = {0x320, scountovf, mcyclecfg, minstretcfg};
    for (u32 i = 0; i < 4; i++)
        CHECK(run_insn(MODE_M, csr_insn(CSRRS, probes[i], 10, 0), 0, 0)->trapped, 0);
    CHECK(run_insn(MODE_M, csr_insn(CSRRW, scountovf, 0, 10), 0, 0)->cause, CAUSE_ILLEGAL);
    csr_write(mcountinhibit, 0xfffffff8);
    CHECK(csr_read(mcountinhibit), 0xfffffff8);
    csr_write(mcounteren, ~UINT64_C(0));
    CHECK(csr_read(mcounteren), 0xffffffff);
    csr_write(mcounteren, 0);
    csr_write(mideleg, BIT(IRQ_LCOFI));
    CHECK(csr_read(mideleg) >> IRQ_LCOFI & 1, 1);
    csr_write(mideleg, 0);
}

static void test_event_registers(void) {
    csr_write(mcountinhibit, ~UINT64_C(0));
    static const u64 selectors[] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 0x10000, 0x10001, 0x10019, 0x100000, 0x10000d, 0x100706};
    static const u64 unknown[] = {7, 11, 0x10012, 0x10030, 0x20000, 0xf0000, 0x100052, 0x100800, 0xffffffffffffff, 0x80000000000000};
    for (u32 n = 3; n < 32; n++) {
        for (u32 i = 0; i < sizeof selectors / sizeof *selectors; i++)
            for (u64 flags = 0; flags < 16; flags++) {
                check_context = n << 24 | i << 8 | flags;
                write_number(0x320 + n, selectors[i] | flags << 60);
                CHECK(read_number(0x320 + n), selectors[i] | flags << 60);
            }
        for (u32 i = 0; i < sizeof unknown / sizeof *unknown; i++) {
            check_context = n << 24 | 0x10000 | i;
            write_number(0x320 + n, unknown[i]);
            CHECK(read_number(0x320 + n), 0);
        }
        write_number(0x320 + n, UINT64_C(0x0f00000000000002)); /* VSINH, VUINH: no such modes; 57:56 are reserved */
        CHECK(read_number(0x320 + n) >> 56, 0);
        write_number(0x320 + n, 0);
    }
    check_context = 0;
    csr_write(mcyclecfg, ~UINT64_C(0));
    CHECK(csr_read(mcyclecfg), MINH | SINH | UINH);
    csr_write(minstretcfg, ~UINT64_C(0));
    CHECK(csr_read(minstretcfg), MINH | SINH | UINH);
    csr_write(mcyclecfg, 0);
    csr_write(minstretcfg, 0);
    csr_write(mcountinhibit, 0);
}

/* U calls S; S runs four instructions and returns. U retires 21 per call; ECALL does not retire. */
__asm__(".text\n .balign 4\n answers: csrrw t6, sepc, t6\n addi t6, t6, 4\n csrrw t6, sepc, t6\n sret\n");
/* It ends by an undelegated instruction because S would answer the harness's ECALL. */
SNIPPET(calls_and_stops,
        ".option push\n .option norvc\n 1: .rept 19\n nop\n .endr\n ecall\n addi a0, a0, -1\n bnez a0, 1b\n .4byte 0xffffffff\n"
        " .option pop");
SNIPPET(nops, ".option push\n .option norvc\n .rept 33\n nop\n .endr\n .option pop");
extern char answers[];
enum { U_PER_CALL = 19 + 2, S_PER_CALL = 4 };

static u64 counter(u32 n) { return read_number(0xb00 + n); }

/* Counters 3-10 count instructions, 11-18 cycles, with eight filters. mcountinhibit gates all. */
static void test_filters(void) {
    csr_write(mcountinhibit, ~UINT64_C(0));
    for (u32 i = 0; i < 16; i++) {
        write_number(0x323 + i, (i < 8 ? EVENT_INSTRUCTIONS : EVENT_CYCLES) | (u64)(i & 7) << 60);
        write_number(0xb03 + i, 0);
    }
    csr_write(stvec, (u64)answers);
    csr_write(medeleg, BIT(CAUSE_ECALL_U));
    csr_write(mcountinhibit, 0);
    outcome *o = run(MODE_U, calls_and_stops, 10, 0);
    csr_write(mcountinhibit, ~UINT64_C(0));
    CHECK(o->cause, CAUSE_ILLEGAL);
    csr_write(medeleg, 0);
    csr_write(stvec, (u64)s_trap);
    for (u32 half = 0; half < 2; half++) {
        u64 of[8];
        for (u32 i = 0; i < 8; i++)
            of[i] = counter(3 + half * 8 + i);
        /* bit 0 of i stops U, bit 1 S, bit 2 M */
        u64 u = of[6], s = of[5], m = of[3];
        check_context = half + 1;
        if (half == 0) {
            CHECK(u, 10 * U_PER_CALL);
            CHECK(s, 10 * S_PER_CALL);
            CHECK(m > 30 && m < 300, 1);
        } else {
            CHECK(u >= 10 * U_PER_CALL && s >= 10 * S_PER_CALL && m > 30, 1);
        }
        CHECK(of[7], 0);
        CHECK(of[0], u + s + m);
        CHECK(of[1], s + m);
        CHECK(of[2], u + m);
        CHECK(of[4], u + s);
    }
    check_context = 0;
    for (u32 n = 3; n < 19; n++) {
        write_number(0x320 + n, 0);
        write_number(0xb00 + n, 0);
    }
    csr_write(mcountinhibit, 0);
}

/* The two fixed counters obey their filters, too. */
static void test_fixed_counters(void) {
    for (u64 filters = 0; filters < 8; filters++)
        for (u64 mode = MODE_U; mode <= MODE_S; mode++) {
            check_context = filters << 8 | mode;
            csr_write(mcountinhibit, ~UINT64_C(0));
            csr_write(mcyclecfg, filters << 60);
            csr_write(minstretcfg, filters << 60);
            csr_write(mcycle, 0);
            csr_write(minstret, 0);
            csr_write(mcountinhibit, 0);
            run(mode, nops, 0, 0);
            csr_write(mcountinhibit, ~UINT64_C(0));
            u64 instret = csr_read(minstret), cycle = csr_read(mcycle);
            bool counts_mode = !(filters >> (mode == MODE_U ? 0 : 1) & 1), counts_m = !(filters >> 2 & 1);
            u64 known = counts_mode ? 34 : 0; /* 33 and the return */
            if (counts_m)
                CHECK(instret > known + 30 && instret < known + 300, 1);
            else
                CHECK(instret, known);
            CHECK(cycle * RETIRES >= instret, 1);
            if (!counts_m && !counts_mode)
                CHECK(cycle, 0);
        }
    csr_write(mcyclecfg, 0);
    csr_write(minstretcfg, 0);
    csr_write(mcountinhibit, 0);
    check_context = 0;
}

/* Known numbers of events, counted in U alone */
SNIPPET(
    mixture,
    ".option push\n .option norvc\n .rept 7\n ld t0, 0(a0)\n .endr\n .rept 11\n sd t0, 8(a0)\n .endr\n .rept 13\n mul t1, t0, t0\n .endr\n"
    " .rept 3\n div t1, t0, t0\n .endr\n li t2, 5\n 1: addi t2, t2, -1\n bnez t2, 1b\n .rept 2\n j 2f\n 2:\n .endr\n"
    " .rept 4\n amoadd.d t0, zero, (a0)\n .endr\n lr.d t0, (a0)\n sc.d t1, t0, (a0)\n sc.d t1, t0, (a0)\n .rept 6\n fadd.d fa0, fa0, fa0\n .endr\n"
    " fence\n fence.i\n .rept 2\n frflags t0\n .endr\n .option pop");
static u64 words[8] __attribute__((aligned(64)));
static void test_known_numbers(void) {
    static const struct {
        u32 raw;
        u64 want;
    } events[] = {
        {0x005, 7 + 11 + 13 + 3 + 1 + 10 + 2 + 4 + 3 + 6 + 2 + 2 + 1}, /* instret; the last one is the return */
        {0x007, 0},
        {0x008, 0},     /* instret_s, instret_m */
        {0x009, 1 + 5}, /* alu */
        {0x00b, 13},
        {0x00c, 3},
        {0x00d, 7},
        {0x00e, 11}, /* mul, div, load, store */
        {0x011, 5},
        {0x012, 2},
        {0x013, 1}, /* branch, jal, jalr */
        {0x014, 4},
        {0x015, 1},
        {0x016, 2}, /* amo, lr, sc */
        {0x017, 6},
        {0x01f, 2},
        {0x020, 1},
        {0x021, 1}, /* fadd, csr, fence, fence.i */
        {0x023, 1},
        {0x025, 1},
        {0x026, 4},
        {0x02c, 1},
        {0x02d, 1}, /* compressed (the return), return, taken, sc_success, sc_fail */
    };
    enum { N_EVENTS = sizeof events / sizeof *events };
    _Static_assert(N_EVENTS <= 29, "counters");
    csr_write(mcountinhibit, ~UINT64_C(0));
    for (u32 i = 0; i < N_EVENTS; i++) {
        write_number(0x323 + i, 0x100000 | events[i].raw | MINH | SINH);
        write_number(0xb03 + i, 0);
    }
    csr_write(mcountinhibit, 0);
    outcome *o = run(MODE_U, mixture, (u64)words, 0);
    csr_write(mcountinhibit, ~UINT64_C(0));
    CHECK(o->trapped, 0);
    for (u32 i = 0; i < N_EVENTS; i++) {
        check_context = 0x100000 | events[i].raw;
        CHECK(counter(3 + i), events[i].want);
        write_number(0x323 + i, 0);
        write_number(0xb03 + i, 0);
    }
    csr_write(mcountinhibit, 0);
    check_context = 0;
}

int main(void) {
    csr_write(stvec, (u64)s_trap);
    test_probing();
    test_event_registers();
    test_filters();
    test_fixed_counters();
    test_known_numbers();
    return 0;
}
