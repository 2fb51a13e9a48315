/* SPDX-License-Identifier: MIT
 * Two harts at EL3: an SGI from one to the other, events, a lock of exclusives, and pairs of
 * words that change together. QEMU starts a second hart by PSCI alone, at EL1. */
#include "a64.h"

enum { SGI = 3, ROUNDS = 200, DONE = 0x600d };
static volatile u64 stage, counter, lock, seen[4];
static struct { u64 up, down; /* their sum is 0 */ } pair __attribute__((aligned(16)));
static volatile u64 n_torn[2];
#define GICD(offset) MMIO32(GICD_BASE + (offset))
#define GICC(offset) MMIO32(GICC_BASE + (offset))
void second(void);
void start_second(void (*code)(void));

static void enable(void) {
    GICD(0) = 1;
    GICC(0) = 1;
    GICC(4) = 0xf0;
    GICD(0x100) = 0xffff;
}
static void wait_for(u64 value) {
    while (stage < value)
        __asm__ volatile("wfe" ::: "memory");
}
static void reach(u64 value) {
    stage = value;
    dsb();
    __asm__ volatile("sev" ::: "memory");
}

static void take_lock(void) {
    u64 value;
    u32 failed;
    __asm__ volatile("   sevl\n"
                     "1: wfe\n"
                     "2: ldaxr %0, [%2]\n"
                     "   cbnz %0, 1b\n"
                     "   stxr %w1, %3, [%2]\n"
                     "   cbnz %w1, 2b"
                     : "=&r"(value), "=&r"(failed)
                     : "r"(&lock), "r"(UINT64_C(1))
                     : "memory");
}
static void drop_lock(void) { __asm__ volatile("stlr xzr, [%0]\n dsb sy\n sev" ::"r"(&lock) : "memory"); }
static void count(void) {
    for (u32 i = 0; i < ROUNDS; i++) {
        take_lock();
        counter = counter + 1;
        drop_lock();
    }
}

/* Both words change, or neither does. Hart 1 adds 1 and hart 0 adds 3. */
static void change_pair(u64 hart, u64 step) {
    for (u32 i = 0; i < 4 * ROUNDS; i++) {
        u64 up, down, next_up, next_down;
        u32 failed;
        do {
            __asm__ volatile("ldxp %0, %1, [%2]" : "=&r"(up), "=&r"(down) : "r"(&pair) : "memory");
            n_torn[hart] += up + down != 0;
            next_up = up + step;
            next_down = down - step;
            __asm__ volatile("stxp %w0, %1, %2, [%3]" : "=&r"(failed) : "r"(next_up), "r"(next_down), "r"(&pair) : "memory");
        } while (failed);
    }
}

/* The other hart's store takes the reservation. That is an event, so WFE does not wait (D1.17.1). */
static struct {
    volatile u64 told, is_ready, other_words[14]; /* 128 bytes, so that the two lie in two lines */
} taken[2] __attribute__((aligned(128)));
static void wait_without_sev(void) {
    u64 value;
    __asm__ volatile("sevl\n wfe" ::: "memory"); /* no event is left */
    __asm__ volatile("ldxr %0, [%1]" : "=r"(value) : "r"(&taken[0].told) : "memory");
    taken[1].is_ready = 1;
    while (taken[0].told == 0)
        ;
    __asm__ volatile("wfe" ::: "memory");
}

void second(void) {
    enable();
    seen[0] = mrs(mpidr_el1) & 0xffffff;
    reach(1);
    __asm__ volatile("wfi" ::: "memory"); /* the SGI, masked */
    seen[1] = GICC(0xc);
    GICC(0x10) = (u32)seen[1];
    reach(2);
    count();
    reach(3);
    wait_for(4);
    change_pair(1, 1);
    reach(5);
    wait_without_sev();
    reach(6);
    for (;;)
        __asm__ volatile("wfi");
}

int main(void) {
    enable();
    start_second(second);
    wait_for(1);
    CHECK(seen[0], 1);
    GICD(0xf00) = 1 << 17 | SGI;
    wait_for(2);
    CHECK(seen[1], SGI); /* from hart 0 */
    count();
    wait_for(3);
    CHECK(counter, 2 * ROUNDS);
    reach(4);
    change_pair(0, 3);
    wait_for(5);
    CHECK(n_torn[0], 0);
    CHECK(n_torn[1], 0);
    CHECK(pair.up, 4 * 4 * ROUNDS);
    CHECK(pair.up + pair.down, 0);
    while (taken[1].is_ready == 0)
        ;
    taken[0].told = 1;
    wait_for(6);
    return 0;
}
