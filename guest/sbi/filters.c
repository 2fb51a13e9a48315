/* SPDX-License-Identifier: MIT
 * Mode filters as the caller of config_matching asks for them, with a program in user mode that calls supervisor mode, every instruction of
 * either worked out below. The firmware itself never counts where there are filters (it adds MINH); on a U74, which has none, the same
 * flags are accepted and change nothing: the SBI calls them hints. */
#include "sbi.h"

enum { N_CALLS = 10 };
/* As code for `counted`: a1 is the address of the program, a0 its number of calls. S: 7 instructions to get there, 7 and 2
 * multiplications for each call but the last one, 3 after that one. */
__asm__(".text\n .option push\n .option norvc\n .option norelax\n .balign 64\n"
        " .globl run_program\n run_program:\n"
        " csrw sepc, a1\n li t1, 0x100\n csrc sstatus, t1\n lla t0, answer\n csrrw t2, stvec, t0\n sret\n"
        " .balign 4\n answer:\n"
        " beqz a0, 1f\n csrr t0, sepc\n addi t0, t0, 4\n csrw sepc, t0\n mul t1, t0, t0\n mul t1, t0, t0\n sret\n"
        " 1: csrw stvec, t2\n ret\n"
        " .balign 64\n .globl program\n program:\n"
        " 1: .rept 16\n nop\n .endr\n .rept 3\n mul t0, a0, a0\n .endr\n addi a0, a0, -1\n ecall\n bnez a0, 1b\n"
        " .option pop");
void run_program(void);
extern char program[];
enum { S_INSNS = COUNTED_INSNS + 7 + 7 * (N_CALLS - 1) + 3, S_MULS = 2 * (N_CALLS - 1) };
enum { U_INSNS = 20 * N_CALLS + (N_CALLS - 1), U_MULS = 3 * N_CALLS };
/* perf's branches: conditional ones and jumps. S: BEQZ for each call, a call and a return. */
enum { S_BRANCHES = N_CALLS + COUNTED_JALR + 1, U_BRANCHES = N_CALLS - 1 };

static void run_counted(u64 mask) { CHECK(counted(0, mask, run_program, N_CALLS, (u64)program), 0); }

#ifdef U74
static void test_flags_are_hints(void) {
    for (u64 flags = 0; flags < 256; flags += 8) {
        check_context = flags;
        u64 n = configured(hpm_mask, flags, EVENT_RAW, 0x20000);
        run_counted(BIT(n));
        CHECK(counter(n), S_MULS + U_MULS);
        CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
    }
    check_context = 0;
}
#else
static u64 expected(u64 flags, u64 in_s, u64 in_u) { return (flags & CONFIG_SINH ? 0 : in_s) + (flags & CONFIG_UINH ? 0 : in_u); }

/* All flags by event. VUINH and VSINH name absent modes; the firmware always sets MINH. */
static void test_every_flag(void) {
    static const struct {
        u64 event, data, in_s, in_u;
    } events[] = {{EVENT_INSTRUCTIONS, 0, S_INSNS, U_INSNS},
                  {EVENT_BRANCHES, 0, S_BRANCHES, U_BRANCHES},
                  {EVENT_RAW, 0x100005, S_INSNS, U_INSNS},
                  {EVENT_RAW, 0x100006, 0, U_INSNS}, /* instret_u, instret_s, instret_m */
                  {EVENT_RAW, 0x100007, S_INSNS, 0},
                  {EVENT_RAW, 0x100008, 0, 0},
                  {EVENT_RAW, 0x10000b, S_MULS, U_MULS},
                  {EVENT_RAW, 0x100033, 1, N_CALLS}}; /* ECALLs: of the program, and the one that stops the counter */
    for (u64 flags = 0; flags < 256; flags += 8)
        for (u32 i = 0; i < sizeof events / sizeof *events; i++) {
            check_context = i << 12 | flags;
            u64 n = configured(hpm_mask, flags, events[i].event, events[i].data);
            run_counted(BIT(n));
            CHECK(counter(n), expected(flags, events[i].in_s, events[i].in_u));
            CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
        }
    check_context = 0;
}

/* Four filters of each of seven events in one run: counts of complementary filters add up. */
static void test_shares_add_up(void) {
    static const u64 filters[] = {0, CONFIG_UINH, CONFIG_SINH, CONFIG_UINH | CONFIG_SINH};
    static const u64 events[] = {EVENT_CYCLES, EVENT_INSTRUCTIONS, EVENT_BRANCHES, EVENT_BRANCH_MISSES, EVENT_L1D_READ, 8, 9};
    u64 numbers[7][4], mask = 0;
    for (u32 i = 0; i < 7; i++)
        for (u32 j = 0; j < 4; j++) {
            numbers[i][j] = configured(hpm_mask, filters[j], events[i], 0);
            mask |= BIT(numbers[i][j]);
        }
    run_counted(mask);
    for (u32 i = 0; i < 7; i++) {
        check_context = events[i];
        u64 both = counter(numbers[i][0]), s = counter(numbers[i][1]), u = counter(numbers[i][2]), none = counter(numbers[i][3]);
        CHECK(none, 0);
        CHECK(both, s + u);
        if (events[i] == EVENT_CYCLES)
            CHECK_TRUE(s >= S_INSNS && u >= U_INSNS);
        if (events[i] == EVENT_INSTRUCTIONS) {
            CHECK(s, S_INSNS);
            CHECK(u, U_INSNS);
        }
    }
    check_context = 0;
    CHECK(pmu_stop(0, mask, STOP_RESET), ALREADY_STOPPED);
}

/* A filter is the counter's, not the event's: configured anew, it is gone. */
static void test_filters_end_with_the_configuration(void) {
    for (u64 n = 3; n < n_hardware; n++) {
        check_context = n;
        CHECK(configured(BIT(n), CONFIG_UINH | CONFIG_SINH, EVENT_INSTRUCTIONS, 0), n);
        run_counted(BIT(n));
        CHECK(counter(n), 0);
        CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
        CHECK(configured(BIT(n), 0, EVENT_INSTRUCTIONS, 0), n);
        run_counted(BIT(n));
        CHECK(counter(n), S_INSNS + U_INSNS);
        CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
    }
    check_context = 0;
}
#endif

/* What user mode may read is up to scounteren alone: the firmware gives supervisor mode everything.
 * time is left out: where user mode may not read it, OpenSBI does so for it. */
static void test_user_access(void) {
    csr_write(scounteren, 0);
    for (u64 n = 0; n < 32; n++) {
        if (n == 1 || (is_qemu && n >= n_hardware)) /* QEMU 7.2 traps where read-only zero is asked for */
            continue;
        check_context = n;
        u32 insn = csr_insn(CSRRS, 0xc00 + (u32)n, 10, 0);
        CHECK(run_insn(MODE_S, insn, 0, 0)->trapped, 0);
        outcome *o = run_insn(MODE_U, insn, 0, 0);
        CHECK(o->trapped, 1);
        CHECK(o->cause, CAUSE_ILLEGAL);
        csr_write(scounteren, BIT(n));
        CHECK(run_insn(MODE_U, insn, 0, 0)->trapped, 0);
        csr_write(scounteren, ~BIT(n));
        CHECK(run_insn(MODE_U, insn, 0, 0)->trapped, 1);
        csr_write(scounteren, 0);
    }
    check_context = 0;
}

int main(void) {
    find_counters();
    if (!is_qemu) { /* QEMU 7.2 filters none of the events that it counts exactly */
#ifdef U74
        test_flags_are_hints();
#else
        test_every_flag();
        test_shares_add_up();
        test_filters_end_with_the_configuration();
#endif
    }
    test_user_access();
    return 0;
}
