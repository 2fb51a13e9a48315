/* SPDX-License-Identifier: MIT
 * Synchronous traps as signals: address, code and program counter of each kind of fault, recovery
 * by siglongjmp, repair and retry, a handler that survives a bad stack pointer, faults inside
 * system calls, and what does not trap. */
#include "check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

static sigjmp_buf recovery;
static volatile siginfo_t seen;
static volatile int n_faults;

static void recover(int number, siginfo_t *info, void *context) {
    (void)context;
    seen = *info;
    n_faults++;
    siglongjmp(recovery, number);
}

static void install(int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(number, &action, NULL));
}

static void *map(size_t size, int prot) {
    void *page = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

/* An address the compiler knows nothing about. */
static char *at(uintptr_t address) {
    __asm__("" : "+r"(address));
    return (char *)address;
}

/* Runs a statement and evaluates to the signal it raised, or 0. */
#define TRY(statement)                       \
    __extension__({                          \
        int raised = sigsetjmp(recovery, 1); \
        if (raised == 0) {                   \
            statement;                       \
        }                                    \
        raised;                              \
    })

static void test_unmapped_addresses(void) {
    char *hole = map(3 * 4096, PROT_READ | PROT_WRITE);
    CHECK_OK(munmap(hole + 4096, 4096));
    hole[4095] = 1;
    hole[8192] = 1;
    CHECK_EQ(TRY(*(volatile char *)(hole + 4096) = 1), SIGSEGV);
    CHECK(seen.si_addr == hole + 4096);
    CHECK_EQ(seen.si_code, SEGV_MAPERR);
    CHECK_EQ(TRY((void)*(volatile char *)(hole + 8191)), SIGSEGV);
    CHECK(seen.si_addr == hole + 8191);
    CHECK_EQ(TRY((void)*(volatile long *)at(8)), SIGSEGV);
    CHECK(seen.si_addr == (void *)8);
    CHECK_EQ(seen.si_code, SEGV_MAPERR);
    CHECK_EQ(TRY(__atomic_fetch_add((int *)(hole + 4096), 1, __ATOMIC_SEQ_CST)), SIGSEGV);
    CHECK(seen.si_addr == hole + 4096);
    section("unmapped");
}

static void test_protection(void) {
    char *page = map(4096, PROT_READ);
    CHECK_EQ(TRY(*(volatile char *)(page + 123) = 1), SIGSEGV);
    CHECK(seen.si_addr == page + 123);
    CHECK_EQ(seen.si_code, SEGV_ACCERR);
    CHECK_EQ(TRY((void)*(volatile char *)page), 0); /* reading is fine */
    CHECK_OK(mprotect(page, 4096, PROT_NONE));
    CHECK_EQ(TRY((void)*(volatile char *)(page + 7)), SIGSEGV);
    CHECK_EQ(seen.si_code, SEGV_ACCERR);
    CHECK_OK(mprotect(page, 4096, PROT_READ | PROT_WRITE));
    CHECK_EQ(TRY(*(volatile char *)page = 1), 0);
    CHECK_EQ(TRY(((void (*)(void))page)()), SIGSEGV); /* not executable */
    CHECK(seen.si_addr == page);
    CHECK_EQ(seen.si_code, SEGV_ACCERR);
    section("protection");
}

static void test_file_mapping_past_the_end(void) {
    int fd = open("short-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(fd);
    CHECK_EQ(write(fd, "0123456789", 10), 10);
    char *file = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(file != MAP_FAILED);
    CHECK_EQ(file[9], '9');
    CHECK_EQ(file[10], 0); /* the rest of the last page reads as zero */
    CHECK_EQ(TRY((void)*(volatile char *)(file + 4096)), SIGBUS);
    CHECK(seen.si_addr == file + 4096);
    CHECK_EQ(seen.si_code, BUS_ADRERR);
    CHECK_OK(ftruncate(fd, 8192));
    CHECK_EQ(TRY((void)*(volatile char *)(file + 4096)), 0);
    munmap(file, 8192);
    close(fd);
    unlink("short-file");
    section("past the end of a file");
}

static char *broken_page;
static void repair(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    n_faults++;
    CHECK(info->si_addr == broken_page + 100);
    CHECK_OK(mprotect(broken_page, 4096, PROT_READ | PROT_WRITE));
}

static void test_repaired_access_is_retried(void) {
    broken_page = map(4096, PROT_NONE);
    install(SIGSEGV, repair);
    n_faults = 0;
    *(volatile char *)(broken_page + 100) = 77;
    CHECK_EQ(n_faults, 1);
    CHECK_EQ(broken_page[100], 77);
    install(SIGSEGV, recover);
    section("repair and retry");
}

static void test_system_calls_return_efault(void) {
    char *hole = map(2 * 4096, PROT_READ | PROT_WRITE);
    int fds[2];
    CHECK_OK(munmap(hole + 4096, 4096));
    CHECK_OK(pipe(fds));
    n_faults = 0;
    CHECK_FAILS(write(fds[1], hole + 4096, 1), EFAULT);
    CHECK_EQ(write(fds[1], "abcd", 4), 4);
    CHECK_FAILS(read(fds[0], at(16), 4), EFAULT);
    CHECK_FAILS(open(at(16), O_RDONLY), EFAULT);
    CHECK_EQ(n_faults, 0); /* an error, not a signal */
    close(fds[0]);
    close(fds[1]);
    section("EFAULT");
}

static void test_blocked_fault_kills(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        *(volatile char *)at(8) = 1; /* cannot wait: the process dies although a handler exists */
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(WTERMSIG(status), SIGSEGV);
    section("blocked fault");
}

#ifdef __riscv
static volatile long trap_pc;
static void skip(int number, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    (void)number;
    seen = *info;
    n_faults++;
    trap_pc = (long)uc->uc_mcontext.__gregs[REG_PC];
    uc->uc_mcontext.__gregs[REG_PC] += info->si_signo == SIGTRAP ? 2 : 4;
}

static void test_illegal_instruction_and_breakpoint(void) {
    long at;
    install(SIGILL, skip);
    install(SIGTRAP, skip);
    n_faults = 0;
    /* An unimplemented encoding of the custom-0 space. */
    __asm__ volatile("la %0, 1f\n.balign 4\n1: .4byte 0x0000000b" : "=&r"(at) : : "memory");
    CHECK_EQ(n_faults, 1);
    CHECK_EQ(seen.si_signo, SIGILL);
    CHECK_EQ(seen.si_code, ILL_ILLOPC);
    CHECK_EQ(trap_pc, at);
    CHECK_EQ((long)seen.si_addr, at);
    __asm__ volatile("la %0, 1f\n1: c.ebreak" : "=&r"(at) : : "memory");
    CHECK_EQ(n_faults, 2);
    CHECK_EQ(seen.si_signo, SIGTRAP);
    CHECK_EQ(seen.si_code, TRAP_BRKPT);
    CHECK_EQ(trap_pc, at);
    section("illegal instruction and breakpoint");
}

static void test_wild_jump_reports_the_target(void) {
    CHECK_EQ(TRY(((void (*)(void))at(0x8000))()), SIGSEGV);
    CHECK(seen.si_addr == (void *)0x8000);
    CHECK_EQ(seen.si_code, SEGV_MAPERR);
    CHECK_EQ(TRY(((void (*)(void))at(0x4000000000000000))()), SIGSEGV); /* outside the address space */
    section("wild jump");
}

static void test_division_does_not_trap(void) {
    volatile long zero = 0, minus_one = -1, lowest = INT64_MIN, seven = 7;
    long quotient, remainder;
    n_faults = 0;
    install(SIGFPE, recover);
    __asm__ volatile("div %0, %2, %3\n rem %1, %2, %3" : "=&r"(quotient), "=&r"(remainder) : "r"(seven), "r"(zero));
    CHECK_EQ(quotient, -1);
    CHECK_EQ(remainder, 7);
    __asm__ volatile("div %0, %2, %3\n rem %1, %2, %3" : "=&r"(quotient), "=&r"(remainder) : "r"(lowest), "r"(minus_one));
    CHECK_EQ(quotient, INT64_MIN);
    CHECK_EQ(remainder, 0);
    __asm__ volatile("divuw %0, %2, %3\n remuw %1, %2, %3" : "=&r"(quotient), "=&r"(remainder) : "r"(seven), "r"(zero));
    CHECK_EQ(quotient, -1);
    CHECK_EQ(remainder, 7);
    CHECK_EQ(n_faults, 0);
    section("division");
}
#endif

static void test_faults_on_the_alternate_stack(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) { /* without one, a fault with a bad stack pointer cannot be delivered */
        char *stack = map(65536, PROT_READ | PROT_WRITE);
        stack_t alternate = {.ss_sp = stack, .ss_size = 65536};
        struct sigaction action = {.sa_sigaction = recover, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        CHECK_OK(sigaltstack(&alternate, NULL));
        CHECK_OK(sigaction(SIGSEGV, &action, NULL));
        CHECK_EQ(TRY((void)*(volatile char *)at(16)), SIGSEGV);
        CHECK_OK(sigaltstack(NULL, &alternate));
        CHECK_EQ(alternate.ss_flags & SS_ONSTACK, 0); /* siglongjmp has left it */
        CHECK_EQ(TRY((void)*(volatile char *)at(32)), SIGSEGV);
        CHECK(seen.si_addr == (void *)32);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    section("faults on the alternate stack");
}

int main(void) {
    install(SIGSEGV, recover);
    install(SIGBUS, recover);
    test_unmapped_addresses();
    test_protection();
    test_file_mapping_past_the_end();
    test_repaired_access_is_retried();
    test_system_calls_return_efault();
    test_blocked_fault_kills();
#ifdef __riscv
    test_illegal_instruction_and_breakpoint();
    test_wild_jump_reports_the_target();
    test_division_does_not_trap();
#endif
    test_faults_on_the_alternate_stack();
    CHECK_END;
}
