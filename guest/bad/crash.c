/* SPDX-License-Identifier: MIT
 *
 * Programs that die, one function each; -DCRASH=NAME picks the one that main calls. Each writes a
 * line first, so that a test also sees that output before the death is not lost. None returns. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __aarch64__
#define RET 0xd65f03c0
#define PRIVILEGED "mrs x9, sctlr_el1"
#define BREAKPOINT "brk #0"
#define BAD_STACK "mov x9, #64\n mov sp, x9\n str xzr, [sp]"
#define ATOMIC "ldaxr x9, [%0]\n stlxr w10, x9, [%0]"
#define RESERVATION "ldxr w9, [%0]"
#else
#define RET 0x00008067
#define PRIVILEGED "csrr t0, mstatus"
#define BREAKPOINT "ebreak"
#define BAD_STACK "li sp, 64\n sd zero, 0(sp)"
#define ATOMIC "amoadd.d zero, zero, (%0)"
#define RESERVATION "lr.w t0, (%0)"
#endif

#define CASE static __attribute__((unused)) void

/* An address the compiler knows nothing about. */
static char *at(uintptr_t address) {
    __asm__("" : "+r"(address));
    return (char *)address;
}

CASE crash_null(void) { *(volatile int *)at(0) = 1; }

CASE crash_read_unmapped(void) { (void)*(volatile int *)at(0x123456000); }

/* Not an address at all: bits above the 39 or 47 that user space has. */
CASE crash_read_noncanonical(void) { (void)*(volatile int *)at(0x8000000000000000); }

static const char constant[] = "constant";
CASE crash_write_readonly(void) { *(volatile char *)at((uintptr_t)constant) = 'C'; }

CASE crash_write_code(void) { *(volatile char *)at((uintptr_t)crash_write_code) = 0; }

CASE crash_jump_null(void) { ((void (*)(void))at(0))(); }

CASE crash_jump_wild(void) { ((void (*)(void))at(0x123456000))(); }

CASE crash_execute_data(void) {
    static uint32_t code[] = {RET}; /* in a page without execute permission */
    ((void (*)(void))at((uintptr_t)code))();
}

CASE crash_illegal(void) { __asm__ volatile(".4byte 0xffffffff"); }

CASE crash_illegal_compressed(void) { __asm__ volatile(".2byte 0"); }

CASE crash_illegal_zero(void) { __asm__ volatile(".4byte 0"); }

CASE crash_privileged(void) { __asm__ volatile(PRIVILEGED); }

CASE crash_ebreak(void) { __asm__ volatile(BREAKPOINT); }

CASE crash_abort(void) { abort(); }

CASE crash_kill_self(void) { kill(getpid(), SIGKILL); }

CASE crash_sigterm(void) { raise(SIGTERM); }

/* Returns its own argument through a frame per level; not a tail call, so the stack grows until it
 * hits the limit. */
static int __attribute__((noinline, noclone)) recurse(volatile int depth) {
    volatile char frame[4000];
    if (depth < 0)
        return 0;
    memset((char *)frame, depth, sizeof frame);
    return recurse(depth + 1) + frame[depth % 4000];
}
CASE crash_stack_overflow(void) { recurse(0); }

/* A thread's stack ends at a guard page. */
static void *overflow(void *arg) {
    recurse(0);
    return arg;
}
CASE crash_thread_stack_overflow(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, overflow, NULL);
    pthread_join(thread, NULL);
}

static void *fault(void *arg) {
    crash_null();
    return arg;
}
CASE crash_in_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, fault, NULL);
    for (;;)
        pause();
}

/* The second fault finds SIGSEGV blocked: no handler, death. */
static void fault_again(int number) {
    (void)number;
    crash_null();
}
CASE crash_in_handler(void) {
    signal(SIGSEGV, fault_again);
    crash_null();
}

/* No stack to put the signal frame on. */
CASE crash_bad_stack_pointer(void) {
    signal(SIGSEGV, fault_again);
    __asm__ volatile(BAD_STACK);
}

/* Misaligned atomics are not emulated by Linux. */
CASE crash_misaligned_atomic(void) {
    static long words[2];
    __asm__ volatile(ATOMIC : : "r"((char *)words + 1) : "memory");
}

CASE crash_misaligned_reservation(void) {
    static long words[2];
    __asm__ volatile(RESERVATION : : "r"((char *)words + 2) : "memory");
}

CASE crash_file_truncated(void) {
    int fd = memfd_create("short", 0);
    char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    (void)*(volatile char *)page;
}

int main(void) {
    if (write(1, "before\n", 7) != 7)
        return 1;
    CRASH();
    if (write(1, "still alive\n", 12) != 12)
        return 1;
    return 2;
}
