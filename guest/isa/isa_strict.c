/* SPDX-License-Identifier: MIT
 *
 * Instructions that qemu 7.2 gets wrong, checked against the manual instead of against it. */
#include "check.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf recovery;
static void on_illegal(int number) { siglongjmp(recovery, number); }
#define TRAPS(text) (sigsetjmp(recovery, 1) ? 1 : (__extension__({ __asm__ volatile(text::: "t0", "memory"); }), 0))

/* The register's number decides whether CSRRS writes, not its value (Zicsr: "if rs1=x0"). */
static void test_zero_in_a_register_is_still_a_write(void) {
    signal(SIGILL, on_illegal);
    CHECK(TRAPS("li t0, 0\n csrrs t0, cycle, t0"));
    CHECK(TRAPS("li t0, 0\n csrrc t0, instret, t0"));
    section("writes of no bits");
}

/* The count of a word is 32 when the word is zero, whatever stands above it. */
static void test_ctzw_ignores_the_upper_half(void) {
    for (int bit = 0; bit < 64; bit++) {
        uint64_t operand = 1UL << bit, count;
        __asm__ volatile("ctzw %0, %1" : "=r"(count) : "r"(operand));
        CHECK_EQ(count, bit < 32 ? bit : 32);
        __asm__ volatile("ctzw %0, %1" : "=r"(count) : "r"(-operand));
        CHECK_EQ(count, bit < 32 ? bit : 32);
    }
    section("ctzw");
}

int main(void) {
    test_zero_in_a_register_is_still_a_write();
    test_ctzw_ignores_the_upper_half();
    CHECK_END;
}
