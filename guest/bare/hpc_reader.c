/* SPDX-License-Identifier: MIT
 * The distributed counters read by real instructions, in machine mode: what there is (directory, discovery), the registers in each order
 * that matters, every reader of tally/hpc.h against mcycle and minstret, counters against code whose events are known, and that reading
 * into registers leaves the L1D and the bus alone. */
#include "bare.h"

#include <tally/hpc.h>

enum { HPCC = TALLY_HPCC, HPCM = TALLY_HPCM, HPCR = TALLY_HPCR };
/* Bits of a core's base page. */
enum {
    CYCLE,
    INSTRET,
    L1I_READ,
    L1I_MISS,
    L1D_READ,
    L1D_READMISS,
    L1D_WRITE,
    L1D_WRITEMISS,
    BR_COND = 19,
    BR_TAKEN,
    UNC_READ = 26,
    UNC_WRITE
};
static const u32 CORE = TALLY_HPC_ID(TALLY_HPC_CORE, 0, 0), NOBODY = TALLY_HPC_ID(6, 3, 1);
static const u64 FLAGS = TALLY_HPC_INTERRUPTED | TALLY_HPC_EMPTY | TALLY_HPC_READERROR | TALLY_HPC_TRIGGER;

static u64 status(void) { return TALLY_HPC_CSRR(TALLY_HPCC) & FLAGS; }
static void wait(void) {
    while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER)
        ;
}
static void request(u32 id, u64 bitmap) {
    tally_hpc_start(id, bitmap);
    wait();
}
static u64 drain(void) {
    u64 n = 0;
    for (; !(TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_EMPTY); n++)
        (void)TALLY_HPC_CSRR(TALLY_HPCR);
    return n;
}

/* -- what there is */
static void test_directory(void) {
    static const u32 classes[] = {TALLY_HPC_CORE, TALLY_HPC_LLC, TALLY_HPC_MEM, TALLY_HPC_FABRIC, TALLY_HPC_DIRECTORY};
    for (u32 i = 0; i < sizeof classes / sizeof *classes; i++) {
        u32 class = classes[i];
        u64 n = tally_hpc_instances((int)class);
        check_context = class + 1;
        CHECK_TRUE(n >= 1 && n <= 64);
        for (u64 instance = 0; instance < n; instance++)
            CHECK_TRUE(tally_hpc_discover(TALLY_HPC_ID(class, instance, 0)) != 0);
        CHECK(tally_hpc_discover(TALLY_HPC_ID(class, n, 0)), 0);
    }
    check_context = 0;
    CHECK(tally_hpc_instances(TALLY_HPC_CORE), 1); /* harts of this run */
    CHECK(tally_hpc_instances(6), 0);
    u64 core = tally_hpc_discover(CORE), base = BIT(CYCLE) | BIT(INSTRET) | BIT(L1D_READ) | BIT(L1D_WRITE) | BIT(BR_COND) | BIT(BR_TAKEN);
    CHECK(core & base, base);
    CHECK(drain(), core >> 63); /* discovery asks for one counter after the other; the last one's value is left */
    request(CORE, ~UINT64_C(0));
    CHECK(TALLY_HPC_CSRR(TALLY_HPCM), core); /* all at once says the same, where the FIFO has room */
    CHECK(drain(), (u64)tally_hpc_count(core));
}

/* -- registers: T-03, T-04, T-05, T-06, T-10, T-11 on instructions of a program */
static void test_registers(void) {
    u64 three = BIT(CYCLE) | BIT(INSTRET) | BIT(L1D_READ);
    /* start clears hpcm, each receipt sets its bit */
    request(CORE, three);
    CHECK(TALLY_HPC_CSRR(TALLY_HPCM), three);
    CHECK(status(), 0);
    /* T-03: a write of hpcr traps, in each form, and takes nothing away */
    static const u32 kinds[] = {CSRRW, CSRRS, CSRRC, CSRRWI, CSRRSI, CSRRCI};
    for (u32 i = 0; i < 6; i++) {
        check_context = kinds[i];
        outcome *o = run_insn(MODE_M, csr_insn(kinds[i], HPCR, 0, 11), 0, 1); /* a1, or the immediate 11 */
        CHECK(o->trapped, 1);
        CHECK(o->cause, CAUSE_ILLEGAL);
    }
    check_context = 0;
    CHECK(status(), TALLY_HPC_INTERRUPTED); /* they were traps */
    CHECK(TALLY_HPC_CSRR(TALLY_HPCM), three);
    /* T-04: csrrs x0, hpcr, x0 reads and removes one value, as the immediate forms with 0 do */
    __asm__ volatile("csrrs x0, 0xce0, x0" ::: "memory");
    __asm__ volatile("csrrsi x0, 0xce0, 0" ::: "memory");
    CHECK(status(), TALLY_HPC_INTERRUPTED);
    __asm__ volatile("csrrci x0, 0xce0, 0" ::: "memory");
    CHECK(status(), TALLY_HPC_INTERRUPTED | TALLY_HPC_EMPTY);
    /* T-05: a read too many gives the last value and says so; hpcm wipes both */
    request(CORE, BIT(CYCLE));
    u64 last = TALLY_HPC_CSRR(TALLY_HPCR);
    CHECK(TALLY_HPC_CSRR(TALLY_HPCR), last);
    CHECK(status(), TALLY_HPC_EMPTY | TALLY_HPC_READERROR);
    TALLY_HPC_CSRW(TALLY_HPCM, 0);
    CHECK(status(), TALLY_HPC_EMPTY);
    CHECK(TALLY_HPC_CSRR(TALLY_HPCR), 0);
    CHECK(status(), TALLY_HPC_EMPTY | TALLY_HPC_READERROR);
    /* T-10: no bit, and no such manager: complete, and the FIFO is empty */
    request(CORE, 0);
    CHECK(status(), TALLY_HPC_EMPTY);
    CHECK(TALLY_HPC_CSRR(TALLY_HPCM), 0);
    request(NOBODY, ~UINT64_C(0));
    CHECK(status(), TALLY_HPC_EMPTY);
    CHECK(TALLY_HPC_CSRR(TALLY_HPCM), 0);
    /* T-11: counters that are not built are left out, the others come in their order */
    u64 directory = tally_hpc_discover(TALLY_HPC_ID(TALLY_HPC_DIRECTORY, 0, 0));
    CHECK(directory & BIT(6), 0);
    request(TALLY_HPC_ID(TALLY_HPC_DIRECTORY, 0, 0), BIT(TALLY_HPC_FABRIC) | BIT(6) | BIT(TALLY_HPC_DIRECTORY) | BIT(40));
    CHECK(TALLY_HPC_CSRR(TALLY_HPCM), BIT(TALLY_HPC_FABRIC) | BIT(TALLY_HPC_DIRECTORY));
    CHECK(drain(), 2);
    request(TALLY_HPC_ID(TALLY_HPC_DIRECTORY, 0, 0), BIT(6) | BIT(40)); /* none of them */
    CHECK(TALLY_HPC_CSRR(TALLY_HPCM), 0);
    CHECK(status(), TALLY_HPC_EMPTY);
}

/* -- user mode: a start is refused without useren and changes nothing, everything else is open */
static void test_user(void) {
    u64 start = (u64)CORE << TALLY_HPC_ID_LSB | TALLY_HPC_TRIGGER;
    u32 insns[] = {csr_insn(CSRRW, HPCC, 0, 10), csr_insn(CSRRS, HPCC, 0, 10), csr_insn(CSRRWI, HPCC, 0, 1), csr_insn(CSRRSI, HPCC, 0, 1)};
    TALLY_HPC_CSRC(TALLY_HPCC, TALLY_HPC_USEREN);
    TALLY_HPC_CSRW(TALLY_HPCM, BIT(CYCLE));
    for (u32 i = 0; i < 4; i++) {
        check_context = i + 1;
        outcome *o = run_insn(MODE_U, insns[i], start, 0);
        CHECK(o->trapped, 1);
        CHECK(o->cause, CAUSE_ILLEGAL);
        CHECK(TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER, 0);
        CHECK(TALLY_HPC_CSRR(TALLY_HPCM), BIT(CYCLE));
        CHECK(run_insn(MODE_U, csr_insn(CSRRCI, HPCC, 0, 1), 0, 0)->trapped, 0);
        TALLY_HPC_CSRS(TALLY_HPCC, TALLY_HPC_USEREN);
        CHECK(run_insn(MODE_U, insns[i], start, 0)->trapped, 0);
        wait();
        CHECK(drain(), 1);
        CHECK(TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_USEREN, TALLY_HPC_USEREN); /* user mode cannot take it away */
        TALLY_HPC_CSRC(TALLY_HPCC, TALLY_HPC_USEREN);
        TALLY_HPC_CSRW(TALLY_HPCM, BIT(CYCLE));
    }
    check_context = 0;
}

/* -- the readers: values lie between readings of mcycle and minstret before and after */
enum { N_READERS = 4 };
static int read_with(u32 reader, u64 bitmap, u64 *out) {
    u64 received = 0;
    switch (reader) {
    case 0: {
        int n = tally_hpc_read(CORE, bitmap, out, 64, &received, 0);
        CHECK(received, bitmap);
        return n;
    }
    case 1: return tally_hpc_empty_poll(CORE, bitmap, out);
    case 2: return tally_hpc_trigger_poll(CORE, bitmap, out);
    default: return tally_hpc_burst(CORE, bitmap, tally_hpc_count(bitmap), out);
    }
}
static void test_readers(void) {
    static u64 out[64];
    static const u64 bitmaps[] = {BIT(CYCLE) | BIT(INSTRET), BIT(CYCLE) | BIT(INSTRET) | BIT(L1I_READ) | BIT(L1D_READ) | BIT(L1D_WRITE),
                                  0}; /* 0: all that are built */
    u64 all = tally_hpc_discover(CORE), spread_cycle = 0, spread_instret = 0;
    for (u32 reader = 0; reader < N_READERS; reader++)
        for (u32 k = 0; k < 3; k++)
            for (u32 round = 0; round < 20; round++) {
                u64 bitmap = bitmaps[k] ? bitmaps[k] : all;
                check_context = reader << 8 | k;
                u64 instret = csr_read(minstret), cycle = csr_read(mcycle);
                int n = read_with(reader, bitmap, out);
                u64 cycle_after = csr_read(mcycle), instret_after = csr_read(minstret);
                CHECK((u64)n, (u64)tally_hpc_count(bitmap));
                CHECK_TRUE(out[0] > cycle && out[0] < cycle_after);
                CHECK_TRUE(out[1] > instret && out[1] < instret_after);
                if (round == 19) {
                    print(k == 0 && reader == 0 ? "cycles per read:" : "");
                    print(" ");
                    print_number(cycle_after - cycle);
                    spread_cycle += out[0] - cycle;
                    spread_instret += out[1] - instret;
                }
            }
    check_context = 0;
    print("\nfrom mcycle to the first beat, sum: ");
    print_number(spread_cycle);
    print(", instructions: ");
    print_number(spread_instret);
    print("\n");
}

/* -- known code between two readings that execute neither branch nor load nor store of their own */
#define READ_8(bitmap, v)                                                               \
    TALLY_HPC_CSRW(TALLY_HPCM, bitmap);                                                 \
    TALLY_HPC_CSRW(TALLY_HPCC, (u64)CORE << TALLY_HPC_ID_LSB | TALLY_HPC_TRIGGER);      \
    __asm__ volatile(".rept 64\n nop\n .endr" ::: "memory"); /* longer than it takes */ \
    TALLY_HPC_TAKE_8(v##0, v##1, v##2, v##3, v##4, v##5, v##6, v##7)
static void test_known_code(void) {
    static u64 word;
    u64 bitmap =
        BIT(INSTRET) | BIT(L1D_READ) | BIT(L1D_READMISS) | BIT(L1D_WRITE) | BIT(L1D_WRITEMISS) | BIT(BR_COND) | BIT(BR_TAKEN) | BIT(CYCLE);
    for (u32 round = 0; round < 2; round++) { /* the first fills the caches */
        u64 v0, v1, v2, v3, v4, v5, v6, v7, w0, w1, w2, w3, w4, w5, w6, w7;
        READ_8(bitmap, v);
        __asm__ volatile(".rept 37\n ld t0, (%0)\n .endr\n .rept 11\n sd t0, (%0)\n .endr\n"
                         "amoadd.d zero, zero, (%0)\n" /* a load and a store in one */
                         "li t0, 500\n 1: addi t0, t0, -1\n bnez t0, 1b" ::"r"(&word)
                         : "t0", "memory");
        READ_8(bitmap, w);
        if (round == 0)
            continue;
        CHECK(status(), TALLY_HPC_EMPTY);
        CHECK_TRUE(RETIRES * (w0 - v0) >= w1 - v1);
        CHECK_TRUE(w1 - v1 >= 37 + 11 + 1 + 1000); /* and what the reading takes */
        CHECK_TRUE(w1 - v1 <= 37 + 11 + 1 + 1000 + 120);
        CHECK(w2 - v2, 38);
        CHECK(w3 - v3, 0);
        CHECK(w4 - v4, 12);
        CHECK(w5 - v5, 0);
        CHECK(w6 - v6, 500);
        CHECK(w7 - v7, 499);
        print("known code: ");
        print_number(w0 - v0);
        print(" cycles, ");
        print_number(w1 - v1);
        print(" instructions\n");
    }
}

/* -- T-32, D8: reads into registers access no L1D and no bus; an array in the loop does */
static void test_no_disturbance(void) {
    static u64 out[8];
    u64 bitmap = BIT(L1D_READ) | BIT(L1D_READMISS) | BIT(L1D_WRITE) | BIT(L1D_WRITEMISS) | BIT(UNC_READ) | BIT(UNC_WRITE) | BIT(L1I_READ) |
                 BIT(L1I_MISS);
    u64 start = (u64)CORE << TALLY_HPC_ID_LSB | TALLY_HPC_TRIGGER;
    CHECK(tally_hpc_discover(CORE) & bitmap, bitmap);
    (void)drain();
#define TRIGGER_POLL(v)                                    \
    TALLY_HPC_CSRW(TALLY_HPCM, bitmap);                    \
    TALLY_HPC_CSRW(TALLY_HPCC, start);                     \
    while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER) \
        ;                                                  \
    TALLY_HPC_TAKE_8(v##0, v##1, v##2, v##3, v##4, v##5, v##6, v##7)
    u64 v0, v1, v2, v3, v4, v5, v6, v7, w0, w1, w2, w3, w4, w5, w6, w7;
    TRIGGER_POLL(v);
    TRIGGER_POLL(w);
    CHECK(w2 - v2, 0); /* l1d_read: bits 2, 3, 4, 5, 6, 7, 26, 27 in this order */
    CHECK(w3 - v3, 0);
    CHECK(w4 - v4, 0);
    CHECK(w5 - v5, 0);
    CHECK(w6 - v6, 0);
    CHECK(w7 - v7, 0);
    /* the same eight by the corrected loop of Algorithm 1: eight stores, and no more */
    TRIGGER_POLL(v);
    (void)tally_hpc_empty_poll(CORE, bitmap, out);
    TRIGGER_POLL(w);
    CHECK(w4 - v4, 8);
    CHECK(w2 - v2, 0);
    CHECK(w6 - v6, 0);
    CHECK(w7 - v7, 0);
    /* the library's trigger-poll stores after the last value, so its values exclude the stores */
    TRIGGER_POLL(v);
    (void)tally_hpc_trigger_poll(CORE, bitmap, out);
    CHECK(out[4], v4);
    CHECK(out[2], v2);
    /* for comparison, a counter on the bus: each read of mtime is an uncached load */
    TRIGGER_POLL(v);
    (void)MTIME;
    TRIGGER_POLL(w);
    CHECK(w6 - v6, 1);
    CHECK(w7 - v7, 0);
    (void)w0, (void)w1, (void)v0, (void)v1;
}

int main(void) {
    CHECK(TALLY_HPC_CSRR(TALLY_HPCC), TALLY_HPC_EMPTY); /* T-01 */
    CHECK(TALLY_HPC_CSRR(TALLY_HPCM), 0);
    test_directory();
    test_registers();
    test_user();
    test_readers();
    test_known_code();
    test_no_disturbance();
    return 0;
}
