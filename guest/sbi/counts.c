/* SPDX-License-Identifier: MIT
 * Counters that the firmware has configured, started and stopped count exactly what a piece of code does: its instructions, worked out
 * below, and the COUNTED_INSNS that stand between the two calls. With mode filters nothing of the firmware counts and results are absolute;
 * without them (U74) the firmware's way in and out counts, too, but always the same, so that the difference of two pieces is exact. */
#include "sbi.h"

COUNTED_CODE(nothing, "");
COUNTED_CODE(nops_100, " .rept 100\n nop\n .endr");
COUNTED_CODE(nops_200, " .rept 200\n nop\n .endr");
COUNTED_CODE(mixture, " .rept 7\n ld t0, 0(a0)\n .endr\n .rept 11\n sd t0, 8(a0)\n .endr\n .rept 13\n mul t1, t0, t0\n .endr\n"
                      " .rept 3\n div t1, t0, t0\n .endr\n li t2, 5\n 1: addi t2, t2, -1\n bnez t2, 1b\n .rept 2\n j 2f\n 2:\n .endr\n"
                      " .rept 4\n amoadd.d t0, zero, (a0)\n .endr\n lr.d t0, (a0)\n sc.d t1, t0, (a0)\n sc.d t1, t0, (a0)\n"
                      " .rept 6\n fadd.d fa0, fa0, fa0\n .endr\n fence\n fence.i\n .rept 2\n frflags t0\n .endr");
enum {
    LOADS = 7,
    STORES = 11,
    MULS = 13,
    DIVS = 3,
    TURNS = 5,
    JUMPS = 2,
    AMOS = 4,
    LRS = 1,
    SCS = 2,
    FADDS = 6,
    FENCES = 1,
    FENCES_I = 1,
    CSRS = 2
};
enum { ALU = 1 + TURNS, RETURNS = 1 }; /* the return is compressed, nothing else is */
enum { MIXTURE = LOADS + STORES + MULS + DIVS + ALU + TURNS + JUMPS + AMOS + LRS + SCS + FADDS + FENCES + FENCES_I + CSRS + RETURNS };
COUNTED_CODE(load_lines, " li t0, 64\n 1: ld t1, 0(a0)\n add a0, a0, a1\n addi t0, t0, -1\n bnez t0, 1b");
COUNTED_CODE(store_lines, " li t0, 64\n 1: sd t1, 0(a0)\n add a0, a0, a1\n addi t0, t0, -1\n bnez t0, 1b");
enum { N_LINES = 64, LINE_BYTES = 64 };
static u64 cells[N_LINES * 8] __attribute__((aligned(64)));
/* The count of one counter, configured and stopped. */
static u64 count(u64 n, void (*code)(void), u64 a0, u64 a1) {
    CHECK(counted(n, 1, code, a0, a1), 0);
    return counter(n);
}
static u64 count_event(u64 event, u64 data, void (*code)(void), u64 a0, u64 a1) {
    u64 n = configured(hpm_mask, 0, event, data);
    u64 value = count(n, code, a0, a1);
    CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
    return value;
}

typedef struct expectation {
    u64 event, data, of_nothing, of_mixture;
} expectation;
enum { FRAME = COUNTED_INSNS + RETURNS }; /* around every piece of code, and its return */

#ifdef U74
/* Class 0: single kinds, sums of two, all. Differences cancel the firmware's unknown share. */
static const expectation expected[] = {
    {EVENT_RAW, 0x200, 0, LOADS},
    {EVENT_RAW, 0x400, 0, STORES},
    {EVENT_RAW, 0x800, 0, AMOS + LRS + SCS},
    {EVENT_RAW, 0x1000, 0, CSRS},
    {EVENT_RAW, 0x2000, 0, ALU},
    {EVENT_RAW, 0x4000, 0, TURNS},
    {EVENT_RAW, 0x8000, 0, JUMPS},
    {EVENT_RAW, 0x10000, 0, 0}, /* both return */
    {EVENT_RAW, 0x20000, 0, MULS},
    {EVENT_RAW, 0x40000, 0, DIVS},
    {EVENT_RAW, 0x200000, 0, FADDS},
    {EVENT_RAW, 0x600, 0, LOADS + STORES},
    {EVENT_RAW, 0x60000, 0, MULS + DIVS},
    {EVENT_RAW, 0x4200, 0, LOADS + TURNS},
    {EVENT_RAW, 0x1f000, 0, CSRS + ALU + TURNS + JUMPS},
    {EVENT_RAW, 0x3fffe00, 0, MIXTURE - FENCES - FENCES_I - RETURNS}, /* all but exceptions; fences are in no class */
    {EVENT_BRANCHES, 0, 0, TURNS + JUMPS},
};
#else
static const expectation expected[] = {
    {EVENT_INSTRUCTIONS, 0, FRAME, MIXTURE + COUNTED_INSNS},
    {EVENT_BRANCHES, 0, COUNTED_JALR + RETURNS, TURNS + JUMPS + COUNTED_JALR + RETURNS},
    {EVENT_RAW, 0x100005, FRAME, MIXTURE + COUNTED_INSNS}, /* instret */
    {EVENT_RAW, 0x100006, 0, 0},                           /* instret_u */
    {EVENT_RAW, 0x100007, FRAME, MIXTURE + COUNTED_INSNS}, /* instret_s */
    {EVENT_RAW, 0x100008, 0, 0},                           /* instret_m */
    {EVENT_RAW, 0x100009, COUNTED_ALU, ALU + COUNTED_ALU},
    {EVENT_RAW, 0x10000b, 0, MULS},
    {EVENT_RAW, 0x10000c, 0, DIVS},
    {EVENT_RAW, 0x10000d, 0, LOADS},
    {EVENT_RAW, 0x10000e, 0, STORES},
    {EVENT_RAW, 0x100011, 0, TURNS},
    {EVENT_RAW, 0x100012, 0, JUMPS},
    {EVENT_RAW, 0x100013, COUNTED_JALR + RETURNS, COUNTED_JALR + RETURNS},
    {EVENT_RAW, 0x100014, 0, AMOS},
    {EVENT_RAW, 0x100015, 0, LRS},
    {EVENT_RAW, 0x100016, 0, SCS},
    {EVENT_RAW, 0x100017, 0, FADDS},
    {EVENT_RAW, 0x10001f, 0, CSRS},
    {EVENT_RAW, 0x100020, 0, FENCES},
    {EVENT_RAW, 0x100021, 0, FENCES_I},
    {EVENT_RAW, 0x100023, RETURNS, RETURNS},           /* compressed */
    {EVENT_RAW, 0x100024, COUNTED_JALR, COUNTED_JALR}, /* calls */
    {EVENT_RAW, 0x100025, RETURNS, RETURNS},
    {EVENT_RAW, 0x100026, 0, TURNS - 1}, /* taken */
    {EVENT_RAW, 0x10002c, 0, 1},         /* SC that found its reservation, and one that had none */
    {EVENT_RAW, 0x10002d, 0, 1},
    {EVENT_RAW, 0x100033, 1, 1}, /* the ECALL that asks to stop: an exception belongs to the mode that raised it */
    {EVENT_RAW, 0x100034, 0, 0}, /* illegal instructions */
};
#endif
enum { N_EXPECTED = sizeof expected / sizeof *expected };

static void check_counts(const expectation *e, u64 of_nothing, u64 of_mixture) {
#ifdef U74
    CHECK(of_mixture - of_nothing, e->of_mixture - e->of_nothing);
#else
    CHECK(of_nothing, e->of_nothing);
    CHECK(of_mixture, e->of_mixture);
#endif
}

static void test_each_event(void) {
    for (u32 i = 0; i < N_EXPECTED; i++) {
        const expectation *e = &expected[i];
        check_context = e->event << 32 | e->data;
        u64 of_nothing = count_event(e->event, e->data, nothing, 0, 0);
        check_counts(e, of_nothing, count_event(e->event, e->data, mixture, (u64)cells, 0));
    }
    check_context = 0;
}

/* All counters at once, started by one call and stopped by one call: they have seen the same. */
static void test_all_at_once(void) {
    u64 numbers[29], of_nothing[29], mask = 0;
    for (u32 i = 0; i < n_hpm; i++) {
        numbers[i] = configured(hpm_mask, 0, expected[i].event, expected[i].data);
        mask |= BIT(numbers[i]);
    }
    CHECK(mask, hpm_mask);
    CHECK(counted(3, mask >> 3, nothing, 0, 0), 0);
    for (u32 i = 0; i < n_hpm; i++)
        of_nothing[i] = counter(numbers[i]);
    CHECK(counted(3, mask >> 3, mixture, (u64)cells, 0), 0);
    for (u32 i = 0; i < n_hpm; i++) {
        check_context = numbers[i];
        check_counts(&expected[i], of_nothing[i], counter(numbers[i]));
    }
    check_context = 0;
    CHECK(pmu_stop(3, mask >> 3, STOP_RESET), ALREADY_STOPPED);
}

/* instret and cycle have no filters, so differences count. A nop without a miss takes a cycle. The
 * firmware's jumps share the branch target buffer with the counted code, so the firmware's own cycles
 * vary with addresses. Cycles of supervisor mode do not. */
enum { FIRMWARE_VARIES = 8, RAW_CYCLE_S = 0x100002 };
static void test_fixed_counters(void) {
    CHECK(pmu_stop(0, 5, 0), 0);
    u64 cycles[2], instructions[2];
    for (u32 i = 0; i < 3; i++) { /* the last round counts: caches and predictors know all */
        instructions[0] = count(2, nops_100, 0, 0);
        instructions[1] = count(2, nops_200, 0, 0);
        cycles[0] = count(0, nops_100, 0, 0);
        cycles[1] = count(0, nops_200, 0, 0);
        CHECK(instructions[1] - instructions[0], 100);
    }
    CHECK(count(2, mixture, (u64)cells, 0) - count(2, nothing, 0, 0), MIXTURE - RETURNS);
    CHECK_BUT_QEMU("its cycles are nanoseconds, and counters 0 and 2 the same",
                   cycles[1] - cycles[0] + FIRMWARE_VARIES - 100 <= 2 * FIRMWARE_VARIES, 1);
    CHECK_BUT_QEMU("its cycles are nanoseconds", cycles[0] > instructions[0], 1);
#ifndef U74
    for (u32 i = 0; i < 3 && !is_qemu; i++) { /* QEMU has no such event; the last round counts */
        cycles[0] = count_event(EVENT_RAW, RAW_CYCLE_S, nops_100, 0, 0);
        cycles[1] = count_event(EVENT_RAW, RAW_CYCLE_S, nops_200, 0, 0);
    }
    CHECK_BUT_QEMU("it has no such event", cycles[1] - cycles[0], 100);
#endif
    CHECK(pmu_start(0, 5, 0, 0), 0);
}

static u64 fresh = FRESH_MEMORY;
static u64 fresh_lines(void) {
    u64 at = fresh;
    fresh += N_LINES * LINE_BYTES;
    return at;
}

#ifdef U74
/* Class 2: data cache misses, of loads and stores alike. The replacement of a U74 is random; what new lines evict of the firmware's data
 * adds misses now and then and never takes any away: of some attempts with few lines, the least is that of the code. */
enum { N_FEW = 8 };
COUNTED_CODE(load_few, ".set at, 0\n .rept 8\n ld t0, at(a0)\n .set at, at + 64\n .endr");
COUNTED_CODE(store_few, ".set at, 0\n .rept 8\n sd t0, at(a0)\n .set at, at + 64\n .endr");
static void test_misses(void) {
    static void (*const codes[])(void) = {load_few, store_few};
    u64 n = configured(hpm_mask, 0, EVENT_RAW, 0x202);
    for (u32 i = 0; i < 2; i++) {
        check_context = i + 1;
        u64 of_new_lines = UINT64_MAX, of_known_lines = UINT64_MAX;
        for (u32 attempt = 0; attempt < 8; attempt++) {
            u64 at = fresh_lines(), now = count(n, codes[i], at, 0);
            of_new_lines = now < of_new_lines ? now : of_new_lines;
            now = count(n, codes[i], at, 0);
            of_known_lines = now < of_known_lines ? now : of_known_lines;
        }
        CHECK(of_new_lines - of_known_lines, N_FEW);
    }
    check_context = 0;
    CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
}
#else
static void test_cycles(void) {
    static const u64 same[] = {0x100000, 0x100002}; /* hart.cycle, hart.cycle_s */
    u64 a = configured(hpm_mask, 0, EVENT_CYCLES, 0), mask = BIT(a), numbers[2];
    for (u32 i = 0; i < 2; i++) {
        numbers[i] = configured(hpm_mask, 0, EVENT_RAW, same[i]);
        mask |= BIT(numbers[i]);
    }
    u64 issue = configured(hpm_mask, 0, EVENT_RAW, 0x10003a), front = configured(hpm_mask, 0, 8, 0), back = configured(hpm_mask, 0, 9, 0);
    mask |= BIT(issue) | BIT(front) | BIT(back);
    for (u32 i = 0; i < 4; i++) {
        check_context = i + 1;
        u64 short_one, stalls;
        CHECK(counted(0, mask, nops_100, 0, 0), 0);
        short_one = counter(a);
        stalls = counter(front) + counter(back);
        CHECK(counter(numbers[0]), short_one);
        CHECK(counter(numbers[1]), short_one);
        CHECK(counter(issue), 100 + COUNTED_INSNS + RETURNS); /* single issue: a cycle for each instruction, the rest stalls */
        CHECK(counter(issue) + stalls, short_one);
        CHECK(counted(0, mask, nops_200, 0, 0), 0);
        CHECK(counter(issue) + counter(front) + counter(back), counter(a));
        if (i >= 2)
            CHECK(counter(a) - short_one, 100);
    }
    check_context = 0;
    CHECK(pmu_stop(0, mask, STOP_RESET), ALREADY_STOPPED);
}

/* The first pass of a stride touches only new lines; the second pass hits all of them. */
static void test_caches(void) {
    static const struct {
        u64 event, of_new_lines, of_known_lines;
    } reads[] = {{EVENT_L1D_READ, N_LINES, N_LINES},
                 {EVENT_L1D_READ_MISS, N_LINES, 0},
                 {EVENT_L1D_WRITE, 0, 0},
                 {EVENT_L1D_WRITE_MISS, 0, 0},
                 {EVENT_CACHE_REFERENCES, N_LINES, 0},
                 {EVENT_CACHE_MISSES, N_LINES, 0},
                 {0x10010, N_LINES, 0},
                 {0x10011, N_LINES, 0},
                 {0x10009, 0, 0}};
    static const struct {
        u64 event, of_new_lines, of_known_lines;
    } writes[] = {{EVENT_L1D_WRITE, N_LINES, N_LINES}, {EVENT_L1D_WRITE_MISS, N_LINES, 0},   {EVENT_L1D_READ, 0, 0},
                  {EVENT_L1D_READ_MISS, 0, 0},         {EVENT_CACHE_REFERENCES, N_LINES, 0}, {EVENT_CACHE_MISSES, N_LINES, 0}};
    for (u32 i = 0; i < sizeof reads / sizeof *reads; i++) {
        check_context = reads[i].event;
        u64 at = fresh_lines();
        count_event(reads[i].event, 0, load_lines, (u64)cells, LINE_BYTES); /* the code is known from here on */
        CHECK(count_event(reads[i].event, 0, load_lines, at, LINE_BYTES), reads[i].of_new_lines);
        CHECK(count_event(reads[i].event, 0, load_lines, at, LINE_BYTES), reads[i].of_known_lines);
    }
    for (u32 i = 0; i < sizeof writes / sizeof *writes; i++) {
        check_context = writes[i].event << 4 | 1;
        u64 at = fresh_lines();
        count_event(writes[i].event, 0, store_lines, (u64)cells, LINE_BYTES);
        CHECK(count_event(writes[i].event, 0, store_lines, at, LINE_BYTES), writes[i].of_new_lines);
        CHECK(count_event(writes[i].event, 0, store_lines, at, LINE_BYTES), writes[i].of_known_lines);
    }
    check_context = 0;
}

/* 64 pages of 4 KiB, each touched for the first time since SFENCE.VMA. */
static void test_translation(void) {
    u64 *root = payload_map();
    const u64 window = UINT64_C(0x200000000);
    for (u32 i = 0; i < N_LINES; i++)
        map(root, 3, window + i * 4096, FRESH_MEMORY + i * 4096, 0, PTE_RW);
    csr_write(satp, satp_of(root, SATP_SV39));
    static const struct {
        u64 event, of_loads, of_stores;
    } rows[] = {{EVENT_DTLB_READ_MISS, N_LINES, 0}, {EVENT_DTLB_WRITE_MISS, 0, N_LINES}, {EVENT_ITLB_MISS, 0, 0}};
    for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
        for (u32 is_store = 0; is_store < 2; is_store++) {
            check_context = rows[i].event << 4 | is_store;
            u64 n = configured(hpm_mask, 0, rows[i].event, 0);
            sfence();
            count(n, is_store ? store_lines : load_lines, (u64)cells, LINE_BYTES);
            CHECK(count(n, is_store ? store_lines : load_lines, window, 4096), is_store ? rows[i].of_stores : rows[i].of_loads);
            CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
        }
    csr_write(satp, 0);
    sfence();
    check_context = 0;
}

/* Counts twice without a new start value; the counter continues from its value. */
static void test_going_on(void) {
    u64 n = configured(hpm_mask, 0, EVENT_RAW, 0x10000b);
    CHECK(count(n, mixture, (u64)cells, 0), MULS);
    CHECK(pmu_start(n, 1, 0, 0), 0);
    {
        register u64 a0 __asm__("a0") = (u64)cells;
        __asm__ volatile("call mixture" : "+r"(a0)::"ra", "t0", "t1", "t2", "fa0", "memory");
    }
    CHECK(counter(n), 2 * MULS); /* while it runs */
    CHECK(pmu_stop(n, 1, 0), 0);
    CHECK(counter(n), 2 * MULS);
    CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
}
#endif

int main(void) {
    find_counters();
    test_fixed_counters();
    if (!is_qemu) { /* which knows no raw event, and counts M in spite of the filter */
        test_each_event();
        test_all_at_once();
#ifdef U74
        test_misses();
#else
        test_cycles();
        test_caches();
        test_translation();
        test_going_on();
#endif
    }
    return 0;
}
