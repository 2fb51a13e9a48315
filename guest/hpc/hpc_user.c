/* SPDX-License-Identifier: MIT
 * A user program reads the distributed counters: with the grant its own clock and instructions agree with rdcycle and rdinstret; without
 * it a start is an illegal instruction, which changes nothing, while the registers can still be looked at; on a machine that has
 * none every access is illegal. The argument says which of the three it must be, or that the counters there are to be discovered, with a
 * FIFO of any depth. */
#include "check.h"

#include <setjmp.h>
#include <signal.h>

#define TALLY_HPC_USER
#include <tally/hpc.h>

static const uint32_t CORE = TALLY_HPC_ID(TALLY_HPC_CORE, 0, 0);
static sigjmp_buf recovery;

static void recover(int number) { siglongjmp(recovery, number); }

/* Does this statement end in SIGILL? */
#define IS_ILLEGAL(statement) (sigsetjmp(recovery, 1) ? 1 : ((statement), 0))

static uint64_t rdcycle(void) {
    uint64_t value;
    __asm__ volatile("rdcycle %0" : "=r"(value) : : "memory");
    return value;
}
static uint64_t rdinstret(void) {
    uint64_t value;
    __asm__ volatile("rdinstret %0" : "=r"(value) : : "memory");
    return value;
}
static uint64_t csrr_hpcc(void) { return TALLY_HPC_CSRR(TALLY_HPCC); }
static void start(void) { TALLY_HPC_CSRW(TALLY_HPCC, (uint64_t)CORE << TALLY_HPC_ID_LSB | TALLY_HPC_TRIGGER); }
static void set_trigger(void) { TALLY_HPC_CSRS(TALLY_HPCC, TALLY_HPC_TRIGGER); }
static void set_useren(void) { TALLY_HPC_CSRS(TALLY_HPCC, TALLY_HPC_USEREN); }
static void write_hpcm(void) { TALLY_HPC_CSRW(TALLY_HPCM, 3); }
static void read_hpcr(void) { (void)TALLY_HPC_CSRR(TALLY_HPCR); }
static void write_hpcr(void) { TALLY_HPC_CSRW(TALLY_HPCR, 0); }

static void absent(void) {
    CHECK_EQ(IS_ILLEGAL(csrr_hpcc()), 1);
    CHECK_EQ(IS_ILLEGAL(start()), 1);
    CHECK_EQ(IS_ILLEGAL(write_hpcm()), 1);
    CHECK_EQ(IS_ILLEGAL(read_hpcr()), 1);
    puts("absent: every access is illegal");
}

static void denied(void) {
    CHECK_EQ(csrr_hpcc() & TALLY_HPC_USEREN, 0);
    CHECK_EQ(IS_ILLEGAL(set_useren()), 0); /* without effect */
    CHECK_EQ(csrr_hpcc() & TALLY_HPC_USEREN, 0);
    CHECK_EQ(IS_ILLEGAL(write_hpcm()), 0);
    CHECK_EQ(IS_ILLEGAL(start()), 1);
    CHECK_EQ(IS_ILLEGAL(set_trigger()), 1);
    CHECK_EQ(csrr_hpcc() & TALLY_HPC_TRIGGER, 0);
    CHECK_EQ(TALLY_HPC_CSRR(TALLY_HPCM), 3);
    CHECK_EQ(csrr_hpcc() & TALLY_HPC_EMPTY, TALLY_HPC_EMPTY);
    CHECK_EQ(IS_ILLEGAL(read_hpcr()), 0);
    puts("denied: a start is illegal and changes nothing");
}

static void granted(void) {
    CHECK_EQ(IS_ILLEGAL(write_hpcr()), 1); /* read-only for everybody */
    CHECK_EQ(csrr_hpcc() & TALLY_HPC_USEREN, TALLY_HPC_USEREN);
    uint64_t n_harts = tally_hpc_instances(TALLY_HPC_CORE);
    CHECK(n_harts >= 1);
    uint64_t cycle_before = 0, instret_before = 0, seen_cycle = 0, seen_instret = 0;
    uint64_t built = tally_hpc_discover(CORE);
    CHECK_EQ(built & 3, 3);
    for (int round = 0; round < 1000; round++) {
        uint64_t out[64], received = 0, cycle = rdcycle(), instret = rdinstret();
        int n = tally_hpc_read(CORE, round % 2 ? built : 3, out, 64, &received, 100);
        uint64_t cycle_after = rdcycle(), instret_after = rdinstret();
        CHECK_EQ(n, tally_hpc_count(received));
        CHECK_EQ(received, round % 2 ? built : 3);
        CHECK(out[0] > cycle && out[0] < cycle_after);
        CHECK(out[1] > instret && out[1] < instret_after);
        if (round > 0) { /* what passed between two readings is the same by both, but for where in the reading they looked */
            int64_t cycles_apart = (int64_t)(out[0] - seen_cycle) - (int64_t)(cycle - cycle_before);
            int64_t insns_apart = (int64_t)(out[1] - seen_instret) - (int64_t)(instret - instret_before);
            CHECK(cycles_apart < (int64_t)(cycle_after - cycle) && -cycles_apart < (int64_t)(cycle_after - cycle_before));
            CHECK(insns_apart < (int64_t)(instret_after - instret) && -insns_apart < (int64_t)(instret_after - instret_before));
        }
        cycle_before = cycle, instret_before = instret, seen_cycle = out[0], seen_instret = out[1];
    }
    CHECK_EQ(csrr_hpcc() & TALLY_HPC_USEREN, TALLY_HPC_USEREN);
    puts("granted: cycle and instret agree with rdcycle and rdinstret");
}

/* With a FIFO of any depth: the same counters as asked for one by one. */
static void discovered(void) {
    uint64_t built = tally_hpc_discover(CORE), one_by_one = 0, out[1], received;
    for (int k = 0; k < 64; k++) {
        CHECK(tally_hpc_read(CORE, UINT64_C(1) << k, out, 1, &received, 100) >= 0);
        one_by_one |= received;
    }
    CHECK_EQ(built & 3, 3);
    CHECK_EQ(built, one_by_one);
    CHECK_EQ(tally_hpc_discover(TALLY_HPC_ID(6, 0, 0)), 0);
    puts("discovered");
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = recover};
    CHECK_EQ(argc, 2);
    CHECK_OK(sigaction(SIGILL, &action, NULL));
    if (strcmp(argv[1], "absent") == 0)
        absent();
    else if (strcmp(argv[1], "denied") == 0)
        denied();
    else if (strcmp(argv[1], "discovered") == 0)
        discovered();
    else
        granted();
    return 0;
}
