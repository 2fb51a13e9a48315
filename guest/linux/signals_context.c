/* SPDX-License-Identifier: MIT
 * A handler is invisible to the code it interrupts: all 31 integer and 32 floating point registers
 * and fcsr come back as they were, although the handler spoils them; and a handler that edits the
 * saved context is obeyed. */
#include "check.h"

#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

static volatile int n_calls, n_ticks;

/* Everything a call may change, and fcsr. */
static void spoil(void) {
    __asm__ volatile("li t0, -1\n li t1, -1\n li t2, -1\n li a0, -1\n li a1, -1\n li a2, -1\n li a3, -1\n li a4, -1\n"
                     "li a5, -1\n li a6, -1\n li a7, -1\n li t3, -1\n li t4, -1\n li t5, -1\n li t6, -1\n"
                     "fmv.d.x ft0, t0\n fmv.d.x ft1, t0\n fmv.d.x fa0, t0\n fmv.d.x fa7, t0\n fmv.d.x ft11, t0\n"
                     "fmv.d.x fs0, t0\n fmv.d.x fs11, t0\n"
                     "li t0, 0x5f\n fscsr t0\n" ::
                         : "t0", "t1", "t2", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t3", "t4", "t5", "t6", "ft0", "ft1", "fa0",
                           "fa7", "ft11", "fs0", "fs11", "memory");
}

static void on_signal(int number) {
    (void)number;
    n_calls++;
    spoil();
}

static void on_tick(int number) {
    (void)number;
    n_ticks++;
    spoil();
}

static unsigned get_fcsr(void) {
    unsigned value;
    __asm__ volatile("frcsr %0" : "=r"(value));
    return value;
}

/* Fills every register with its own pattern, sends SIGUSR1 to this thread from assembler, and stores every register.
 * Only a0 (the result of the call) may differ; ra, sp, gp, tp, and the call's own a0 to a2 and a7 are checked apart. */
static void fill_call_and_store(uint64_t x[32], uint64_t f[32], long pid, long tid) {
    static uint64_t saved_s[2]; /* s0 and s1: the compiler may not let them be clobbered */
    register long a0 __asm__("a0") = pid;
    register long a1 __asm__("a1") = tid;
    register uint64_t *a3 __asm__("a3") = x;
    register uint64_t *a4 __asm__("a4") = f;
    register uint64_t *a5 __asm__("a5") = saved_s;
    __asm__ volatile("sd s0, 0(a5)\n sd s1, 8(a5)\n"
                     "li t0, 0x105\n li t1, 0x106\n li t2, 0x107\n li s1, 0x109\n"
                     "li a6, 0x110\n li s2, 0x112\n li s3, 0x113\n li s4, 0x114\n li s5, 0x115\n li s6, 0x116\n"
                     "li s7, 0x117\n li s8, 0x118\n li s9, 0x119\n li s10, 0x11a\n li s11, 0x11b\n li t3, 0x11c\n"
                     "li t4, 0x11d\n li t5, 0x11e\n li t6, 0x11f\n"
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                     "  li a7, 0x7ff0123456000000 + \\n\n  fmv.d.x f\\n, a7\n"
                     ".endr\n"
                     "li a7, 131\n li a2, 10\n ecall\n" /* tgkill(pid, tid, SIGUSR1) */
                     ".irp n,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                     "  sd x\\n, 8*\\n(a3)\n"
                     ".endr\n"
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                     "  fsd f\\n, 8*\\n(a4)\n"
                     ".endr\n"
                     "ld s0, 0(a5)\n ld s1, 8(a5)\n"
                     : "+r"(a0)
                     : "r"(a1), "r"(a3), "r"(a4), "r"(a5)
                     : "memory", "t0", "t1", "t2", "a2", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3",
                       "t4", "t5", "t6", "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3",
                       "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9",
                       "ft10", "ft11");
}

static void test_registers_survive(void) {
    uint64_t x[32] = {0}, f[32] = {0};
    signal(SIGUSR1, on_signal);
    __asm__ volatile("li t0, 0x31\n fscsr t0" ::: "t0"); /* round to zero, inexact */
    fill_call_and_store(x, f, getpid(), gettid());
    CHECK_EQ(get_fcsr(), 0x31);
    CHECK_EQ(n_calls, 1);
    CHECK_EQ(x[10], 0); /* the call succeeded */
    CHECK_EQ(x[11], gettid());
    CHECK_EQ(x[12], SIGUSR1);
    CHECK_EQ(x[17], 131);
    static const int patterned[] = {5, 6, 7, 9, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    for (unsigned i = 0; i < sizeof patterned / sizeof *patterned; i++)
        CHECK_EQ(x[patterned[i]], 0x100 + patterned[i]);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQ(f[i], 0x7ff0123456000000 + i);
    __asm__ volatile("fscsr zero");
    section("registers survive a handler");
}

/* Long computations must not notice asynchronous handlers. */
static void test_computation_is_not_disturbed(void) {
    struct itimerval often = {{0, 500}, {0, 500}}, stop = {{0, 0}, {0, 0}};
    double sums[2] = {0, 0};
    uint64_t hashes[2] = {0, 0};
    signal(SIGALRM, on_tick);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            CHECK_OK(setitimer(ITIMER_REAL, &often, NULL));
        for (uint32_t i = 1; i < 300000 || (pass == 1 && n_ticks < 5 && i < 3000000000u); i++) {
            if (i >= 300000)
                continue; /* keep running until some ticks have come */
            sums[pass] += 1.0 / i * (i % 3 - 1.0);
            hashes[pass] = (hashes[pass] ^ i) * 0x9e3779b97f4a7c15 + (hashes[pass] >> 29);
        }
    }
    CHECK_OK(setitimer(ITIMER_REAL, &stop, NULL));
    CHECK(n_ticks >= 5);
    CHECK(sums[0] == sums[1]);
    CHECK_EQ(hashes[0], hashes[1]);
    section("computation under fire");
}

extern char landing[];
static void edit_context(int number, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    (void)number;
    (void)info;
    CHECK_EQ(uc->uc_mcontext.__gregs[18], 0x5151); /* s2 as the code had it */
    CHECK_EQ(uc->uc_mcontext.__fpregs.__d.__f[9], 0x4045000000000000);
    CHECK_EQ(uc->uc_mcontext.__fpregs.__d.__fcsr & 0xff, 0x60);
    uc->uc_mcontext.__gregs[18] = 0x6262;
    uc->uc_mcontext.__fpregs.__d.__f[9] = 0x3ff8000000000000; /* 1.5 */
    uc->uc_mcontext.__fpregs.__d.__fcsr = 0x22;
    uc->uc_mcontext.__gregs[REG_PC] = (unsigned long)landing;
    sigaddset(&uc->uc_sigmask, SIGUSR2); /* takes effect on return */
}

static void test_edited_context_is_obeyed(void) {
    struct sigaction action = {.sa_sigaction = edit_context, .sa_flags = SA_SIGINFO};
    uint64_t s2, fs1, path;
    unsigned fcsr;
    CHECK_OK(sigaction(SIGTRAP, &action, NULL));
    __asm__ volatile("li s2, 0x5151\n li t0, 0x4045000000000000\n fmv.d.x fs1, t0\n li t0, 0x60\n fscsr t0\n"
                     "li %2, 1\n ebreak\n li %2, 2\n j 1f\n"
                     ".globl landing\n landing: addi %2, %2, 10\n"
                     "1: mv %0, s2\n fmv.x.d %1, fs1\n frcsr %3\n fscsr zero"
                     : "=&r"(s2), "=&r"(fs1), "=&r"(path), "=&r"(fcsr)::"s2", "fs1", "t0", "memory");
    CHECK_EQ(s2, 0x6262);
    CHECK_EQ(fs1, 0x3ff8000000000000);
    CHECK_EQ(path, 11);
    CHECK_EQ(fcsr, 0x22);
    sigset_t mask;
    CHECK_OK(sigprocmask(SIG_BLOCK, NULL, &mask));
    CHECK_EQ(sigismember(&mask, SIGUSR2), 1);
    CHECK_EQ(sigismember(&mask, SIGTRAP), 0);
    section("edited context");
}

static void check_alignment(int number, siginfo_t *info, void *context) {
    (void)number;
    n_calls++;
    uintptr_t sp;
    __asm__ volatile("mv %0, sp" : "=r"(sp));
    CHECK_EQ(sp % 16, 0);
    CHECK_EQ((uintptr_t)info % 8, 0);
    CHECK_EQ((uintptr_t)context % 16, 0);
}

static void test_frame_is_aligned(void) {
    struct sigaction action = {.sa_sigaction = check_alignment, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    n_calls = 0;
    for (volatile int i = 0; i < 4; i++) {
        volatile char pad[16];
        pad[i] = (char)i;
        raise(SIGUSR1);
        CHECK_EQ(pad[i], i);
    }
    CHECK_EQ(n_calls, 4);
    section("frame alignment");
}

int main(void) {
    test_registers_survive();
    test_computation_is_not_disturbed();
    test_edited_context_is_obeyed();
    test_frame_is_aligned();
    CHECK_END;
}
