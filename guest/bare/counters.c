/* SPDX-License-Identifier: MIT
 * Counters: reads by mode for every mcounteren and scounteren, writes, mcountinhibit, and `instret`
 * around traps and returns. An absent counter and its selector read zero and stay disabled. */
#include "bare.h"

static u64 read_number(u32 csr) { return run_insn(MODE_M, csr_insn(CSRRS, csr, 10, 0), 0, 0)->x[10]; }
static void write_number(u32 csr, u64 value) { run_insn(MODE_M, csr_insn(CSRRW, csr, 0, 10), value, 0); }

static u64 present; /* counters that exist */

static void test_presence(void) {
    csr_write(mcountinhibit, ~UINT64_C(0));
    present = 7;
    u64 width = 0;
    for (u32 n = 3; n < 32; n++) {
        check_context = n;
        write_number(0x320 + n, 0); /* no event */
        write_number(0xb00 + n, 0);
        CHECK(read_number(0xb00 + n), 0);
        write_number(0xb00 + n, 1); /* as firmware probes */
        u64 value = read_number(0xb00 + n);
        CHECK(value <= 1, 1);
        write_number(0xb00 + n, ~UINT64_C(0));
        u64 ones = read_number(0xb00 + n);
        CHECK(ones & (ones + 1), 0); /* a run of ones from bit 0 */
        if (value == 0) {
            CHECK(ones, 0);
            write_number(0x320 + n, 2);
            CHECK(read_number(0x320 + n), 0);
        } else {
            present |= BIT(n);
            CHECK(ones, width == 0 ? ones : width); /* all of one width */
            width = ones;
            CHECK(ones >= 0xffffffff, 1);
        }
        write_number(0xb00 + n, 0);
    }
    check_context = 0;
    csr_write(mcountinhibit, 0);
}

static void test_gates(void) {
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    csr_write(mcounteren, ~UINT64_C(0));
    csr_write(scounteren, ~UINT64_C(0));
    u64 m_bits = csr_read(mcounteren), s_bits = csr_read(scounteren);
    CHECK(m_bits & 7, 7);
    CHECK(s_bits & 7, 7);
    CHECK(m_bits & present, present);
    CHECK_BUT_QEMU("QEMU keeps all 64 bits", m_bits >> 32, 0);
    for (u32 n = 0; n < 32; n++)
        for (u32 i = 0; i < 8; i++) {
            /* i: the two bits of this counter, and those of all others */
            u64 others = i & 4 ? ~BIT(n) & 0xffffffff : 0, wanted_m = others | (u64)(i & 1) << n,
                wanted_s = others | (u64)(i >> 1 & 1) << n;
            csr_write(mcounteren, wanted_m);
            csr_write(scounteren, wanted_s);
            bool m = csr_read(mcounteren) >> n & 1, s = csr_read(scounteren) >> n & 1;
            if (present >> n & 1) {
                CHECK(m, i & 1);
                CHECK(s, i >> 1 & 1);
            }
            for (u32 k = 0; k < 3; k++) {
                u64 mode = modes[k];
                check_context = n << 16 | i << 8 | mode;
                u32 insn = csr_insn(CSRRS, 0xc00 + n, 10, 0);
                outcome *o = run_insn(mode, insn, 0, 0);
                bool is_legal = mode == MODE_M || (m && (mode == MODE_S || s));
                CHECK(has_csr_trap(o), !is_legal);
                if (o->trapped)
                    CHECK(o->tval, insn);
                o = run_insn(mode, csr_insn(CSRRW, 0xc00 + n, 10, 11), 0, 0); /* read-only in any case */
                CHECK(has_csr_trap(o), 1);
                o = run_insn(mode, csr_insn(CSRRS, 0xb00 + n, 10, 0), 0, 0); /* M's own; there is no 0xb01 */
                CHECK(has_csr_trap(o), mode != MODE_M || n == 1);
            }
        }
    check_context = 0;
    csr_write(mcounteren, 0);
    csr_write(scounteren, 0);
}

static void test_written_values_stay(void) {
    static const u64 values[] = {0, 1, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0xffffffffffffffff, 0x8000000000000000};
    csr_write(mcountinhibit, ~UINT64_C(0));
    CHECK_BUT_QEMU("as above", csr_read(mcountinhibit) >> 32, 0);
    CHECK_BUT_QEMU("QEMU keeps the bit of time", csr_read(mcountinhibit) & 7, 5);
    CHECK(csr_read(mcountinhibit) & present & ~UINT64_C(2), present & ~UINT64_C(2));
    for (u32 i = 0; i < sizeof values / sizeof *values; i++) {
        csr_write(mcycle, values[i]);
        csr_write(minstret, ~values[i]);
        CHECK(csr_read(mcycle), values[i]); /* stopped: no instruction moves it */
        CHECK(csr_read(minstret), ~values[i]);
        CHECK(csr_read(cycle), values[i]); /* shadows */
        CHECK(csr_read(instret), ~values[i]);
        for (u32 n = 3; n < 32; n++)
            if (present >> n & 1) {
                check_context = n;
                write_number(0xb00 + n, values[i] + n);
                u64 got = read_number(0xb00 + n);
                write_number(0xb00 + n, ~UINT64_C(0));
                CHECK(got, (values[i] + n) & read_number(0xb00 + n));
                CHECK(read_number(0xc00 + n), read_number(0xb00 + n));
                write_number(0xb00 + n, 0);
            }
        check_context = 0;
    }
    csr_write(mcycle, 0);
    csr_write(minstret, 0);
    csr_write(mcountinhibit, 0);
}

static void test_they_run(void) {
    csr_write(mcountinhibit, 0);
    u64 last_cycle = csr_read(mcycle), last_instret = csr_read(minstret);
    for (u32 i = 0; i < 1000; i++) {
        u64 cycle = csr_read(mcycle), instret = csr_read(minstret);
        CHECK(cycle > last_cycle && instret > last_instret, 1);
        last_cycle = cycle;
        last_instret = instret;
    }
    csr_write(mcountinhibit, 4); /* one alone */
    u64 instret = csr_read(minstret), cycle = csr_read(mcycle);
    for (volatile u32 i = 0; i < 100; i++)
        ;
    CHECK_BUT_QEMU("QEMU's counters read 0 when they stop", csr_read(minstret), instret);
    CHECK(csr_read(mcycle) > cycle, 1);
    csr_write(mcountinhibit, 1);
    cycle = csr_read(mcycle);
    instret = csr_read(minstret);
    for (volatile u32 i = 0; i < 100; i++)
        ;
    CHECK(csr_read(minstret) > instret, 1);
    CHECK_BUT_QEMU("as above", csr_read(mcycle), cycle);
    csr_write(mcountinhibit, 0);
}

/* Exact instruction counts. The handler has four instructions: it skips four bytes and returns. */
__asm__(".text\n .balign 4\n skipping_handler: csrrw t6, mepc, t6\n addi t6, t6, 4\n csrrw t6, mepc, t6\n mret\n"
        ".balign 4\n s_skipping_handler: csrrw t6, sepc, t6\n addi t6, t6, 4\n csrrw t6, sepc, t6\n sret\n");
extern char skipping_handler[], s_skipping_handler[];
enum { HANDLER_INSNS = 4 };
/* minstret around a few instructions; they are 32 bits wide because handlers skip four bytes */
#define COUNT(...)                                                                                                                       \
    ({                                                                                                                                   \
        u64 count_before, count_after;                                                                                                   \
        __asm__ volatile(                                                                                                                \
            ".balign 4\n .option push\n .option norvc\n la t0, skipping_handler\n csrrw t1, mtvec, t0\n csrr %0, minstret\n" __VA_ARGS__ \
            "\n csrr %1, minstret\n csrw mtvec, t1\n .option pop"                                                                        \
            : "=&r"(count_before), "=&r"(count_after)::"t0", "t1", "t2", "t3", "t6", "memory");                                          \
        count_after - count_before;                                                                                                      \
    })
static void test_what_instret_counts(void) {
    CHECK_BUT_QEMU("QEMU's instret is not exact", COUNT(""), 1); /* the first read itself */
    CHECK_BUT_QEMU("as above", COUNT("nop"), 2);
    CHECK_BUT_QEMU("as above", COUNT(".rept 37\n nop\n .endr"), 38);
    CHECK_BUT_QEMU("as above", COUNT("li t2, 10\n 1: addi t2, t2, -1\n bnez t2, 1b"), 1 + 1 + 20);
    CHECK_BUT_QEMU("as above", COUNT("fence\n fence.i"), 3);
    CHECK_BUT_QEMU("as above", COUNT("csrr t2, mscratch\n csrr t2, mcycle\n csrr t2, minstret"), 4);
    /* what traps does not retire; the handler does, its MRET included */
    CHECK_BUT_QEMU("as above", COUNT("ecall"), 1 + HANDLER_INSNS);
    CHECK_BUT_QEMU("as above", COUNT("ebreak"), 1 + HANDLER_INSNS);
    CHECK_BUT_QEMU("as above", COUNT(".4byte 0xffffffff"), 1 + HANDLER_INSNS);
    CHECK_BUT_QEMU("as above", COUNT("csrw mhartid, zero"), 1 + HANDLER_INSNS);
    CHECK_BUT_QEMU("as above", COUNT("li t2, 0x7ffffffff000\n ld t2, 0(t2)"), COUNT("li t2, 0x7ffffffff000") + HANDLER_INSNS);
    CHECK_BUT_QEMU("as above", COUNT("li t2, 0x7ffffffff000\n sd t2, 0(t2)"), COUNT("li t2, 0x7ffffffff000") + HANDLER_INSNS);
    CHECK_BUT_QEMU("as above", COUNT("la t2, exit_stub\n addi t2, t2, 2\n lr.w t3, (t2)"), COUNT("la t2, exit_stub\n nop") + HANDLER_INSNS);
    CHECK_BUT_QEMU("as above", COUNT("ecall\n nop\n ecall\n nop\n nop"), 1 + 3 + 2 * HANDLER_INSNS);
    /* to S and back: MRET into S, an ECALL from there */
    CHECK_BUT_QEMU(
        "as above",
        COUNT("li t2, 3 << 11\n csrc mstatus, t2\n li t2, 1 << 11\n csrs mstatus, t2\n la t2, 1f\n csrw mepc, t2\n la t2, 2f\n"
              " csrrw t3, mtvec, t2\n mret\n .balign 4\n 1: nop\n ecall\n .balign 4\n 2: csrw mtvec, t3"),
        1 + COUNT("li t2, 3 << 11\n csrc mstatus, zero\n li t2, 1 << 11\n csrs mstatus, zero\n la t2, 1f\n csrr t2, mepc\n la t2, 2f\n"
                  " csrr t3, mtvec\n .balign 4\n 1: nop\n .balign 4\n 2: nop"));
}

static void test_writes_replace_the_count(void) {
    u64 a, b, c;
    __asm__ volatile("csrw minstret, %3\n csrr %0, minstret\n csrr %1, minstret"
                     : "=&r"(a), "=&r"(b), "=r"(c)
                     : "r"(UINT64_C(1000))
                     : "memory");
    CHECK_BUT_QEMU("as above", a, 1000); /* the write does not count itself */
    CHECK_BUT_QEMU("as above", b, 1001);
    u64 top = ~UINT64_C(0);
    __asm__ volatile("csrw minstret, %2\n csrr %0, minstret\n csrr %1, minstret" : "=&r"(a), "=&r"(b) : "r"(top) : "memory");
    CHECK_BUT_QEMU("as above", a, top);
    CHECK_BUT_QEMU("as above", b, 0); /* wraps */
    /* CSRRS and CSRRC write what they read: the increment of the instruction is lost */
    __asm__ volatile("csrw minstret, %3\n csrrs %0, minstret, %4\n csrr %1, minstret\n nop\n csrr %2, minstret"
                     : "=&r"(a), "=&r"(b), "=&r"(c)
                     : "r"(UINT64_C(64)), "r"(UINT64_C(128))
                     : "memory");
    CHECK_BUT_QEMU("as above", a, 64);
    CHECK_BUT_QEMU("as above", b, 64 | 128);
    CHECK_BUT_QEMU("as above", c, (64 | 128) + 2);
    /* the cycle counter restarts from what is written */
    __asm__ volatile("csrw mcycle, %1\n csrr %0, mcycle" : "=&r"(a) : "r"(UINT64_C(1) << 40) : "memory");
    CHECK_BUT_QEMU("host time", a - (UINT64_C(1) << 40) < 200, 1);
}

static void test_inhibit_acts_behind_its_instruction(void) {
    u64 a, b;
    csr_write(mcountinhibit, 0);
    __asm__ volatile(
        "csrw minstret, zero\n csrsi mcountinhibit, 4\n nop\n nop\n csrr %0, minstret\n csrci mcountinhibit, 4\n nop\n nop\n nop\n"
        " csrr %1, minstret"
        : "=&r"(a), "=&r"(b)::"memory");
    CHECK_BUT_QEMU("as above", a, 1);     /* the instruction that stops it still counts */
    CHECK_BUT_QEMU("as above", b, 1 + 3); /* the one that starts it does not */
}

int main(void) {
    test_presence();
    test_gates();
    test_written_values_stay();
    test_they_run();
    test_what_instret_counts();
    test_writes_replace_the_count();
    test_inhibit_acts_behind_its_instruction();
    return 0;
}
