/* SPDX-License-Identifier: MIT
 * User-level control and status registers: fflags, frm and fcsr are three views of one register,
 * written by all six CSR instructions; flags are sticky; cycle, time and instret move forward and,
 * for instret, by exact steps. */
#include "check.h"

#include <setjmp.h>
#include <signal.h>

#define READ(csr)                                                   \
    __extension__({                                                 \
        uint64_t value;                                             \
        __asm__ volatile("csrr %0, " #csr : "=r"(value)::"memory"); \
        value;                                                      \
    })
#define SWAP(op, csr, given)                                                                       \
    __extension__({                                                                                \
        uint64_t old;                                                                              \
        __asm__ volatile(#op " %0, " #csr ", %1" : "=r"(old) : "r"((uint64_t)(given)) : "memory"); \
        old;                                                                                       \
    })
#define SWAP_IMM(op, csr, given)                                              \
    __extension__({                                                           \
        uint64_t old;                                                         \
        __asm__ volatile(#op " %0, " #csr ", " #given : "=r"(old)::"memory"); \
        old;                                                                  \
    })

static void test_three_views_of_fcsr(void) {
    SWAP(csrrw, fcsr, 0);
    CHECK_EQ(SWAP(csrrw, fcsr, 0xa5), 0);
    CHECK_EQ(READ(fcsr), 0xa5);
    CHECK_EQ(READ(fflags), 0x05);
    CHECK_EQ(READ(frm), 0x5);
    CHECK_EQ(SWAP(csrrw, fflags, 0x1f), 0x05);
    CHECK_EQ(READ(fcsr), 0xbf);
    CHECK_EQ(SWAP(csrrw, frm, 0x3), 0x5);
    CHECK_EQ(READ(fcsr), 0x7f);
    SWAP(csrrw, fcsr, ~0UL);
    CHECK_EQ(READ(fcsr), 0xff); /* only eight bits exist */
    SWAP(csrrw, fflags, ~0UL);
    CHECK_EQ(READ(fflags), 0x1f);
    SWAP(csrrw, frm, 0xf8 | 2);
    CHECK_EQ(READ(frm), 2);
    section("views");
}

static void test_set_and_clear(void) {
    SWAP(csrrw, fcsr, 0x41);
    CHECK_EQ(SWAP(csrrs, fcsr, 0x0a), 0x41);
    CHECK_EQ(SWAP(csrrc, fcsr, 0x03), 0x4b);
    CHECK_EQ(READ(fcsr), 0x48);
    CHECK_EQ(SWAP_IMM(csrrwi, fflags, 21), 0x08);
    CHECK_EQ(SWAP_IMM(csrrsi, fflags, 10), 21);
    CHECK_EQ(SWAP_IMM(csrrci, fflags, 17), 31);
    CHECK_EQ(READ(fflags), 14);
    CHECK_EQ(SWAP_IMM(csrrwi, frm, 4), 2);
    CHECK_EQ(READ(fcsr), 0x8e);
    SWAP_IMM(csrrsi, fcsr, 0); /* no bits: no write */
    SWAP_IMM(csrrci, fcsr, 0);
    CHECK_EQ(READ(fcsr), 0x8e);
    uint64_t same = 0x22; /* source and destination in one register */
    __asm__ volatile("csrrw %0, fcsr, %0" : "+r"(same));
    CHECK_EQ(same, 0x8e);
    CHECK_EQ(READ(fcsr), 0x22);
    __asm__ volatile("csrrw x0, fcsr, %0" : : "r"(0x61UL));
    CHECK_EQ(READ(fcsr), 0x61);
    section("set and clear");
}

static void test_flags_are_sticky(void) {
    volatile double zero = 0, one = 1, three = 3, r;
    SWAP(csrrw, fcsr, 0);
    r = one / three;
    CHECK_EQ(READ(fflags), 0x01); /* NX */
    r = one / zero;
    CHECK_EQ(READ(fflags), 0x09); /* DZ */
    r = zero / zero;
    CHECK_EQ(READ(fflags), 0x19); /* NV */
    r = one + one;
    CHECK_EQ(READ(fflags), 0x19);
    volatile double most = 1.7976931348623157e308, least = 2.2250738585072014e-308;
    SWAP(csrrw, fflags, 0);
    r = most * most;
    CHECK_EQ(READ(fflags), 0x05); /* OF NX */
    SWAP(csrrw, fflags, 0);
    r = least / three;
    CHECK_EQ(READ(fflags), 0x03); /* UF NX */
    SWAP(csrrw, fflags, 0);
    r = least / 4; /* subnormal but exact */
    CHECK_EQ(READ(fflags), 0x00);
    SWAP(csrrw, fcsr, 0);
    (void)r;
    section("sticky flags");
}

static void test_counters_move(void) {
    uint64_t before[3] = {READ(cycle), READ(time), READ(instret)};
    for (volatile int i = 0; i < 20000; i++)
        ;
    CHECK(READ(cycle) > before[0]);
    CHECK(READ(time) >= before[1]);
    CHECK(READ(instret) > before[2]);
    section("counters");
}

static sigjmp_buf recovery;
static void on_illegal(int number) { siglongjmp(recovery, number); }

/* Writing a read-only register, or naming one above user level, is an illegal instruction. */
#define TRAPS(text) (sigsetjmp(recovery, 1) ? 1 : (__extension__({ __asm__ volatile(text::: "t0", "memory"); }), 0))

static void test_access_rights(void) {
    signal(SIGILL, on_illegal);
    CHECK(TRAPS("csrw cycle, zero"));
    CHECK(TRAPS("csrrwi t0, time, 1"));
    CHECK(TRAPS("li t0, 1\n csrrs t0, instret, t0"));
    CHECK(TRAPS("csrsi cycle, 1"));
    CHECK(!TRAPS("csrrs t0, cycle, zero"));
    CHECK(!TRAPS("csrrsi t0, cycle, 0")); /* no bits: no write, no trap */
    CHECK(!TRAPS("csrrci t0, instret, 0"));
    CHECK(TRAPS("csrr t0, mstatus"));
    CHECK(TRAPS("csrr t0, sstatus"));
    CHECK(TRAPS("csrr t0, satp"));
    CHECK(TRAPS("csrr t0, mhartid"));
    CHECK(TRAPS("csrr t0, 0x7ff"));  /* nobody's */
    CHECK(TRAPS("csrr t0, cycleh")); /* upper halves exist on 32-bit machines only */
    section("access rights");
}

static void test_invalid_rounding_mode(void) {
    for (volatile uint64_t mode = 0; mode < 8; mode++) {
        SWAP(csrrw, frm, mode);
        CHECK_EQ(TRAPS("fadd.d ft0, ft0, ft0, dyn"), mode > 4);
        CHECK_EQ(TRAPS("fadd.d ft0, ft0, ft0, rtz"), 0); /* not used: no matter */
        CHECK_EQ(TRAPS("fsgnj.d ft0, ft0, ft0"), 0);
    }
    SWAP(csrrw, fcsr, 0);
    section("invalid rounding modes");
}

int main(void) {
    test_three_views_of_fcsr();
    test_set_and_clear();
    test_flags_are_sticky();
    test_counters_move();
    test_access_rights();
    test_invalid_rounding_mode();
    CHECK_END;
}
