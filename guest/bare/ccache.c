/* SPDX-License-Identifier: MIT
 * The MMIO counters of the L2: registers, exact counts of a few lines of fresh memory, the cost of
 * a read, and access by every mode that page tables and physical memory protection permit. */
#include "bare.h"

#define BASE UINT64_C(0x2010000)
#define CONFIG MMIO64(BASE)
#define SELECT(i) MMIO64(BASE + 0x2000 + 8 * (u64)(i))
#define FILTER MMIO64(BASE + 0x2800)
#define COUNTER(i) MMIO64(BASE + 0x3000 + 8 * (u64)(i))
#define EVENT(set, bit) (BIT((bit) + 8) | (set))
enum { N = 6, LINES = 24, NTOB = 6, NTOT = 7, RELEASE_TTON = 12, RELEASE_DATA_TTON = 15, NTOB_MISS = 0, NTOT_MISS = 1 };

static char fresh[3][LINES][128] __attribute__((aligned(4096))); /* never touched before; a line lies in each row */

static void test_registers(void) {
    u64 config = CONFIG, banks = config & 0xff, ways = config >> 8 & 0xff, sets = BIT(config >> 16 & 0xff),
        block = BIT(config >> 24 & 0xff);
    CHECK_TRUE(banks >= 1 && ways >= 1 && block >= 16 && block <= 128 && banks * ways * sets * block >= 1024);
    CONFIG = 0;
    CHECK(CONFIG, config);
    for (int i = 0; i < 64; i++) {
        check_context = (u64)i;
        COUNTER(i) = ~UINT64_C(0) - (u64)i;
        CHECK(COUNTER(i), i < N ? ~UINT64_C(0) - (u64)i : 0);
        SELECT(i) = EVENT(1, NTOB) | EVENT(1, 2); /* the second is none */
        CHECK(SELECT(i), i < N ? EVENT(1, NTOB) : 0);
        SELECT(i) = EVENT(5, NTOB);
        CHECK(SELECT(i), 0);
        COUNTER(i) = 0;
    }
    FILTER = ~UINT64_C(0);
    CHECK_TRUE(FILTER == 7 || FILTER == 0x1f); /* two caches of one hart or two, and devices */
    FILTER = 0;
    CHECK(MMIO64(BASE + 8), 0);
    MMIO64(BASE + 0x3ff8) = 1;
    CHECK(MMIO64(BASE + 0x3ff8), 0);
}

/* One access to each row of `rows`, with nothing in memory but that. Fences keep them behind the
 * device accesses before, and before those behind. */
static void touch(char (*rows)[128], bool is_store) {
    char *at = rows[0], *end = rows[LINES];
    __asm__ volatile("fence" ::: "memory");
    if (is_store)
        __asm__ volatile("1: sd zero, 0(%0)\n addi %0, %0, 128\n bltu %0, %1, 1b" : "+r"(at) : "r"(end) : "memory");
    else
        __asm__ volatile("1: ld t0, 0(%0)\n addi %0, %0, 128\n bltu %0, %1, 1b" : "+r"(at) : "r"(end) : "t0", "memory");
    __asm__ volatile("fence" ::: "memory");
}

/* Out of order, a wrong path behind the last row may load rows behind it. */
#define CHECK_LINES(got) CHECK((got) + RETIRES - 1 >= LINES && (got) <= LINES + RETIRES - 1 ? LINES : (got), LINES)

static void test_counts(void) {
    SELECT(0) = EVENT(1, NTOB);
    SELECT(1) = EVENT(1, NTOT);
    SELECT(2) = EVENT(3, NTOB_MISS) | EVENT(3, NTOT_MISS);
    SELECT(3) = EVENT(1, NTOB) | EVENT(1, NTOT);
    FILTER = 2;             /* not the instruction cache: its misses of memory are among event NTOB_MISS */
    touch(fresh[0], false); /* brings code and stack */
    for (int i = 0; i < 4; i++)
        COUNTER(i) = 0;
    touch(fresh[1], false);
    u64 loads = COUNTER(0), stores = COUNTER(1), misses = COUNTER(2), both = COUNTER(3);
    CHECK_LINES(loads);
    CHECK(stores, 0);
    CHECK_LINES(misses);
    CHECK_LINES(both);
    u64 before = COUNTER(1);
    touch(fresh[2], true);
    stores = COUNTER(1);
    CHECK_LINES(stores - before);
    FILTER = 1; /* not the data cache of hart 0 */
    before = COUNTER(1);
    touch(fresh[0], true);
    u64 filtered = COUNTER(1);
    FILTER = 0;
    CHECK(filtered, before);
    SELECT(0) = 0;
    before = COUNTER(0);
    touch(fresh[0], false);
    CHECK(COUNTER(0), before);
}

static void test_cost(void) {
    u64 cost[2] = {~UINT64_C(0), ~UINT64_C(0)};
    for (int i = 0; i < 8; i++) {
        u64 start = csr_read(mcycle);
        (void)COUNTER(0);
        u64 one = csr_read(mcycle);
        (void)COUNTER(0), (void)COUNTER(1), (void)COUNTER(2);
        u64 end = csr_read(mcycle);
        cost[0] = one - start < cost[0] ? one - start : cost[0];
        cost[1] = end - one < cost[1] ? end - one : cost[1];
    }
    CHECK_TRUE(cost[0] > 10); /* a cache would have it in two or three */
    u64 each = (cost[1] - cost[0]) / 2;
    CHECK(cost[1], cost[0] + 2 * each); /* no cheaper the second time */
    CHECK_TRUE(each > 10);
}

/* A U74 counts a read of these counters as a miss of the data cache. */
static void test_looks_are_misses_to_a_u74(void) {
    csr_write(0x323, 0x202);
    if (csr_read(0x323) != 0x202)
        return; /* other counters */
    (void)COUNTER(0);
    u64 before = csr_read(0xb03);
    (void)COUNTER(0), (void)COUNTER(1), (void)COUNTER(2), (void)COUNTER(3), (void)COUNTER(4);
    u64 after = csr_read(0xb03);
    CHECK(after - before, 5);
    csr_write(0x323, 0);
}

SNIPPET(load_byte, "lb a0, 0(a0)");
SNIPPET(load_half, "lh a0, 0(a0)");
SNIPPET(load_double, "ld a0, 0(a0)");
SNIPPET(store_byte, "sb a1, 0(a0)");
SNIPPET(store_double, "sd a1, 0(a0)");
SNIPPET(add_double, "amoadd.d a0, a1, (a0)");

static void test_who_can_look(void) {
    const u64 at = BASE + 0x3000;
    COUNTER(0) = 77;
    SELECT(0) = 0;
    CHECK(run(MODE_M, load_byte, at, 0)->cause, CAUSE_LOAD_ACCESS);
    CHECK(run(MODE_M, load_half, at, 0)->cause, CAUSE_LOAD_ACCESS);
    CHECK(run(MODE_M, store_byte, at, 1)->cause, CAUSE_STORE_ACCESS);
    CHECK(run(MODE_M, add_double, at, 1)->cause, CAUSE_STORE_ACCESS);
    CHECK(run(MODE_M, load_double, at + 4, 0)->cause, CAUSE_LOAD_MISALIGNED);
    CHECK(run(MODE_M, load_double, BASE + 0x4000, 0)->cause, CAUSE_LOAD_ACCESS);
    CHECK(COUNTER(0), 77);

    /* Counter-enable registers do not apply: a mode with access reads all counters. */
    CHECK(run(MODE_S, load_double, at, 0)->x[10], 77);
    CHECK(run(MODE_U, load_double, at, 0)->x[10], 77);
    const u64 seen = UINT64_C(0xc0000000); /* for user mode the counters, for supervisor mode the rest */
    u64 *root = standard_map();
    map(root, 3, seen, BASE, 0, PTE_RW);
    map(root, 3, seen + 0x3000, BASE + 0x3000, 0, PTE_RW | PTE_U);
    csr_write(satp, satp_of(root, SATP_SV39));
    sfence();
    CHECK(run(MODE_S, load_double, at, 0)->x[10], 77);
    alias = USER_ALIAS;
    CHECK(run(MODE_U, load_double, seen + 0x3000, 0)->x[10], 77);
    CHECK(run(MODE_U, load_double, seen, 0)->cause, CAUSE_LOAD_PAGE);
    CHECK(run(MODE_U, store_double, seen + 0x3000, 78)->trapped, 0);
    CHECK(COUNTER(0), 78);
    alias = 0;
    csr_write(satp, 0);
    sfence();
}

int main(void) {
    test_registers();
    test_counts();
    test_cost();
    test_looks_are_misses_to_a_u74();
    test_who_can_look();
    finish_all();
}
