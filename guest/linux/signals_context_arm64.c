/* SPDX-License-Identifier: MIT
 * A handler is invisible to the code it interrupts: x0 to x30, v0 to v31, the flags, FPCR and FPSR
 * come back as they were, although the handler spoils them. A handler that edits the saved context
 * is obeyed, and the frame has the records that Linux puts there (asm/sigcontext.h). */
#include "check.h"

#include <asm/sigcontext.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

enum { N_X = 31, N_V = 32 };
static volatile int n_calls;

/* Everything a call may change, and more. */
static void spoil(void) {
    __asm__ volatile("mov x0, #-1\n mov x1, #-1\n mov x2, #-1\n mov x3, #-1\n mov x8, #-1\n mov x9, #-1\n mov x15, #-1\n"
                     "mov x16, #-1\n mov x17, #-1\n movi v0.16b, #0xff\n movi v7.16b, #0xff\n movi v16.16b, #0xff\n"
                     "movi v31.16b, #0xff\n movi v8.16b, #0xff\n msr nzcv, x9\n mov x9, #0x0f\n msr fpsr, x9\n"
                     "mov x9, #0xc00000\n msr fpcr, x9\n" ::
                         : "x0", "x1", "x2", "x3", "x8", "x9", "x15", "x16", "x17", "v0", "v7", "v8", "v16", "v31", "cc", "memory");
}

static void on_signal(int number) {
    (void)number;
    n_calls++;
    spoil();
}

typedef struct everything { /* offsets are used in assembler */
    uint64_t x[N_X], nzcv;  /* 0, 248 */
    uint64_t v[N_V][2];     /* 256 */
    uint64_t fpcr, fpsr;    /* 768, 776 */
    uint64_t saved[12];     /* 784 */
} everything;

/* Fills every register with its own pattern, sends a signal to this thread from assembler, and
 * stores every register. x0 to x2 and x8 are those of the call, x28 holds `all`. */
static void __attribute__((noinline)) fill_call_and_store(everything *all, long pid, long tid) {
    register everything *x28 __asm__("x28") = all;
    register long x0 __asm__("x0") = pid;
    register long x1 __asm__("x1") = tid;
    __asm__ volatile("str x29, [x28, #784]\n str x30, [x28, #792]\n str x18, [x28, #800]\n str x19, [x28, #808]\n"
                     ".irp n,3,4,5,6,7,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,29,30\n"
                     "  mov x\\n, #0x4100 + \\n\n"
                     ".endr\n"
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                     "  mov x2, #0x5200 + \\n\n  mov v\\n\\().d[0], x2\n  mvn x2, x2\n  mov v\\n\\().d[1], x2\n"
                     ".endr\n"
                     "mov x2, #0x400000\n msr fpcr, x2\n mov x2, #0x11\n msr fpsr, x2\n mov x2, #0xa0000000\n msr nzcv, x2\n"
                     "mov x8, #131\n mov x2, #10\n svc #0\n" /* tgkill(pid, tid, SIGUSR1) */
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n"
                     "  str x\\n, [x28, #8*\\n]\n"
                     ".endr\n"
                     "mrs x2, nzcv\n str x2, [x28, #248]\n"
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                     "  str q\\n, [x28, #256 + 16*\\n]\n"
                     ".endr\n"
                     "mrs x2, fpcr\n str x2, [x28, #768]\n mrs x2, fpsr\n str x2, [x28, #776]\n msr fpcr, xzr\n msr fpsr, xzr\n"
                     "ldr x29, [x28, #784]\n ldr x30, [x28, #792]\n ldr x18, [x28, #800]\n ldr x19, [x28, #808]\n"
                     : "+r"(x0), "+r"(x1)
                     : "r"(x28)
                     : "memory", "cc", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
                       "x17", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
                       "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
                       "v26", "v27", "v28", "v29", "v30", "v31");
}

static void test_registers_survive(void) {
    static everything all;
    signal(SIGUSR1, on_signal);
    n_calls = 0;
    fill_call_and_store(&all, getpid(), gettid());
    CHECK_EQ(n_calls, 1);
    CHECK_EQ(all.x[0], 0); /* the call succeeded */
    CHECK_EQ(all.x[1], gettid());
    CHECK_EQ(all.x[2], SIGUSR1);
    CHECK_EQ(all.x[8], 131);
    CHECK(all.x[28] == (uint64_t)(uintptr_t)&all);
    for (unsigned i = 3; i < N_X; i++)
        if (i != 8 && i != 28)
            CHECK_EQ(all.x[i], 0x4100 + i);
    for (unsigned i = 0; i < N_V; i++) {
        CHECK_EQ(all.v[i][0], 0x5200 + i);
        CHECK_EQ(all.v[i][1], ~(0x5200ul + i));
    }
    CHECK_EQ(all.nzcv, 0xa0000000);
    CHECK_EQ(all.fpcr, 0x400000);
    CHECK_EQ(all.fpsr, 0x11);
    section("registers survive a handler");
}

static const struct fpsimd_context *find_fpsimd(const ucontext_t *uc) {
    const struct fpsimd_context *first = (const void *)uc->uc_mcontext.__reserved;
    CHECK_EQ(first->head.magic, FPSIMD_MAGIC);
    CHECK_EQ(first->head.size, sizeof *first);
    return first;
}

extern char landing[];
static void edit_context(int number, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    struct fpsimd_context *fp = (void *)(uintptr_t)find_fpsimd(uc);
    (void)number;
    CHECK_EQ(info->si_code, TRAP_BRKPT);
    CHECK(info->si_addr == (void *)(uintptr_t)uc->uc_mcontext.pc);
    CHECK_EQ(uc->uc_mcontext.regs[20], 0x5151);
    CHECK_EQ(uc->uc_mcontext.pstate & 0xf0000000, 0x60000000);
    CHECK((uint64_t)fp->vregs[9] == 0x4045000000000000);
    CHECK_EQ(fp->fpcr, 0x800000);
    uc->uc_mcontext.regs[20] = 0x6262;
    uc->uc_mcontext.pstate = (uc->uc_mcontext.pstate & ~0xf0000000ull) | 0x90000000;
    fp->vregs[9] = 0x3ff8000000000000; /* 1.5 */
    fp->fpcr = 0xc00000;
    fp->fpsr = 0x10;
    uc->uc_mcontext.pc = (uintptr_t)landing;
    sigaddset(&uc->uc_sigmask, SIGUSR2); /* takes effect on return */
}

static void test_edited_context_is_obeyed(void) {
    struct sigaction action = {.sa_sigaction = edit_context, .sa_flags = SA_SIGINFO};
    uint64_t x20, d9, path, fpcr, fpsr, nzcv;
    CHECK_OK(sigaction(SIGTRAP, &action, NULL));
    __asm__ volatile("mov x20, #0x5151\n mov x9, #0x4045000000000000\n fmov d9, x9\n mov x9, #0x800000\n msr fpcr, x9\n"
                     "mov x9, #0x60000000\n msr nzcv, x9\n mov %2, #1\n brk #7\n mov %2, #2\n b 1f\n"
                     ".globl landing\n landing: add %2, %2, #10\n"
                     "1: mov %0, x20\n fmov %1, d9\n mrs %3, fpcr\n mrs %4, fpsr\n mrs %5, nzcv\n msr fpcr, xzr\n msr fpsr, xzr"
                     : "=&r"(x20), "=&r"(d9), "=&r"(path), "=&r"(fpcr), "=&r"(fpsr), "=&r"(nzcv)::"x20", "v9", "x9", "cc", "memory");
    CHECK_EQ(x20, 0x6262);
    CHECK_EQ(d9, 0x3ff8000000000000);
    CHECK_EQ(path, 11);
    CHECK_EQ(fpcr, 0xc00000);
    CHECK_EQ(fpsr, 0x10);
    CHECK_EQ(nzcv, 0x90000000);
    sigset_t mask;
    CHECK_OK(sigprocmask(SIG_BLOCK, NULL, &mask));
    CHECK_EQ(sigismember(&mask, SIGUSR2), 1);
    CHECK_EQ(sigismember(&mask, SIGTRAP), 0);
    section("edited context");
}

static char *wanted_fault;
static void skip_fault(int number, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    (void)number;
    n_calls++;
    CHECK(info->si_addr == wanted_fault);
    CHECK(uc->uc_mcontext.fault_address == (uint64_t)(uintptr_t)wanted_fault);
    uc->uc_mcontext.pc += 4;
}

static void test_fault_address_is_in_the_context(void) {
    struct sigaction action = {.sa_sigaction = skip_fault, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGSEGV, &action, NULL));
    n_calls = 0;
    wanted_fault = (char *)0x4560;
    __asm__ volatile("str xzr, [%0]" : : "r"(wanted_fault) : "memory");
    __asm__ volatile("ldr x9, [%0]" : : "r"(wanted_fault) : "x9", "memory");
    CHECK_EQ(n_calls, 2);
    section("fault address");
}

/* The handler begins with x29 at a frame record that leads to the code it interrupted. */
static void check_frame(int number, siginfo_t *info, void *context) {
    const ucontext_t *uc = context;
    const uint64_t *frame = __builtin_frame_address(0);
    (void)number;
    n_calls++;
    uintptr_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    CHECK_EQ(sp % 16, 0);
    CHECK_EQ((uintptr_t)info % 16, 0);
    CHECK_EQ((uintptr_t)context % 16, 0);
    const uint64_t *of_signal = (const uint64_t *)(uintptr_t)frame[0];
    CHECK_EQ(of_signal[0], uc->uc_mcontext.regs[29]);
    CHECK_EQ(of_signal[1], uc->uc_mcontext.regs[30]);
}

static void test_frame_is_aligned_and_chained(void) {
    struct sigaction action = {.sa_sigaction = check_frame, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    n_calls = 0;
    for (volatile int i = 0; i < 4; i++)
        raise(SIGUSR1);
    CHECK_EQ(n_calls, 4);
    section("frame");
}

int main(void) {
    test_registers_survive();
    test_edited_context_is_obeyed();
    test_fault_address_is_in_the_context();
    test_frame_is_aligned_and_chained();
    CHECK_END;
}
