/* SPDX-License-Identifier: MIT
 * Misaligned loads and stores work for user programs under Linux and give the right data, inside a
 * line, across lines and across pages; when the second page is missing, the access faults as a
 * whole and stores nothing. */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static sigjmp_buf recovery;
static void *volatile fault_address;

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    fault_address = info->si_addr;
    siglongjmp(recovery, number);
}

static uint64_t load(const volatile void *at) {
    uint64_t value;
    __asm__ volatile("ld %0, 0(%1)" : "=r"(value) : "r"(at) : "memory");
    return value;
}

static void store(volatile void *at, uint64_t value) { __asm__ volatile("sd %1, 0(%0)" : : "r"(at), "r"(value) : "memory"); }

int main(void) {
    unsigned char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2 * PAGE; i++)
        pages[i] = (unsigned char)(i * 7);
    for (int offset = PAGE - 16; offset < PAGE + 16; offset++) {
        uint64_t want = 0;
        for (int i = 7; i >= 0; i--)
            want = want << 8 | pages[offset + i];
        CHECK_EQ(load(pages + offset), want);
        store(pages + offset, ~want);
        CHECK_EQ(load(pages + offset), ~want);
        CHECK_EQ(pages[offset - 1], (unsigned char)((offset - 1) * 7));
        CHECK_EQ(pages[offset + 8], (unsigned char)((offset + 8) * 7));
        store(pages + offset, want);
    }
    section("across pages");

    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGSEGV, &action, NULL));
    CHECK_OK(munmap(pages + 2 * PAGE, PAGE));
    if (sigsetjmp(recovery, 1) == 0) {
        store(pages + 2 * PAGE - 3, 0);
        CHECK(!"reached");
    }
    CHECK((char *)fault_address >= (char *)pages + 2 * PAGE - 3 && (char *)fault_address < (char *)pages + 2 * PAGE + 5);
    for (int i = 1; i <= 3; i++)
        CHECK_EQ(pages[2 * PAGE - i], (unsigned char)((2 * PAGE - i) * 7)); /* all or nothing */
    if (sigsetjmp(recovery, 1) == 0) {
        load(pages + 2 * PAGE - 1);
        CHECK(!"reached");
    }
    section("into a missing page");
    CHECK_END;
}
