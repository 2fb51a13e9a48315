/* SPDX-License-Identifier: MIT
 * Two harts request from shared managers without a lock. Each gets its own values in order, waits
 * for at most one foreign request, and gets equal turns. A full FIFO blocks only its hart. */
#include "bare.h"

#include <tally/hpc.h>

enum { N_READS = 400, OVERHEAD = 200, APART = 1000 /* interleave_cycles: how far harts may be apart in the simulation */ };
static const u32 ids[] = {TALLY_HPC_ID(TALLY_HPC_CORE, 0, 0), TALLY_HPC_ID(TALLY_HPC_CORE, 1, 0), TALLY_HPC_ID(TALLY_HPC_LLC, 0, 0)};
enum { N_IDS = sizeof ids / sizeof *ids };
static u64 n_counters[N_IDS], bitmaps[N_IDS];
static u64 n_wrong[2], longest[2], sums[2];
static u32 arrived;

static void barrier(void) {
    u32 phase = __atomic_load_n(&arrived, __ATOMIC_SEQ_CST) / 2;
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) / 2 == phase)
        ;
}

/* One request for all counters, which the FIFO holds; tally_hpc_discover requests fewer. */
static u64 all_at_once(u32 id) {
    tally_hpc_start(id, ~UINT64_C(0));
    while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER)
        ;
    return TALLY_HPC_CSRR(TALLY_HPCM);
}

static void fight(u64 me) {
    static u64 outs[2][64], lasts[2][N_IDS][64], thens[2][N_IDS];
    u64 *out = outs[me];
    for (u32 round = 0; round < N_READS; round++)
        for (u32 k = 0; k < N_IDS; k++) {
            u64 *last = lasts[me][k], cycle = csr_read(mcycle), received;
            tally_hpc_start(ids[k], bitmaps[k]);
            while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER)
                ;
            u64 took = csr_read(mcycle) - cycle;
            received = TALLY_HPC_CSRR(TALLY_HPCM);
            tally_hpc_take(out, (int)n_counters[k]);
            u64 status = TALLY_HPC_CSRR(TALLY_HPCC);
            u64 after = csr_read(mcycle);
            bool is_wrong =
                received != bitmaps[k] || !(status & TALLY_HPC_EMPTY) || (status & (TALLY_HPC_READERROR | TALLY_HPC_INTERRUPTED));
            u64 passed = after - thens[me][k];
            thens[me][k] = after;
            for (u32 i = 0; i < n_counters[k]; i++) { /* counters only grow, and in no cycle by more than eight */
                is_wrong |= round != 0 && (out[i] < last[i] || out[i] - last[i] > 8 * (passed + 2 * APART));
                if (k < 2 && i == 0 && round != 0) /* a clock, which did not count while its hart waited to be started */
                    is_wrong |= out[0] - last[0] + 2 * APART + OVERHEAD < passed || out[0] - last[0] > passed + 2 * APART + OVERHEAD;
                last[i] = out[i];
            }
            if (k == me) /* my own clock */
                is_wrong |= out[0] <= cycle || out[0] >= after;
            n_wrong[me] += is_wrong;
            longest[me] = took > longest[me] ? took : longest[me];
            sums[me] += took;
        }
}

/* Hart 1 leaves 64 values in its FIFO and asks for more; hart 0 goes on. */
static volatile u64 is_stuck, is_done;
static void everything(u64 me) {
    barrier();
    fight(me);
    barrier();
    if (me == 1) {
        u64 id = (u64)ids[0] << TALLY_HPC_ID_LSB | TALLY_HPC_TRIGGER;
        TALLY_HPC_CSRCI(TALLY_HPCC, 1);
        TALLY_HPC_CSRW(TALLY_HPCM, bitmaps[0]);
        TALLY_HPC_CSRW(TALLY_HPCC, id);
        while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER)
            ;
        TALLY_HPC_CSRW(TALLY_HPCC, id | TALLY_HPC_TRIGGER); /* all that hpcm says was received: there is no room for as many again */
        is_stuck = 1;
        while (!is_done)
            ;
        n_wrong[1] += !(TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER); /* still waits, in its own client */
        for (u64 i = 0; i < 2 * n_counters[0]; i++) {
            while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_EMPTY)
                ;
            (void)TALLY_HPC_CSRR(TALLY_HPCR);
        }
        n_wrong[1] += (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER) != 0;
    } else {
        while (!is_stuck)
            ;
        u64 cycle = csr_read(mcycle);
        for (u32 i = 0; i < 20; i++)
            n_wrong[0] += all_at_once(ids[0]) != bitmaps[0];
        n_wrong[0] += csr_read(mcycle) - cycle > 20 * (64 + OVERHEAD);
        is_done = 1;
    }
    barrier();
}

int main(void) {
    u64 alone = 0;
    CHECK(tally_hpc_instances(TALLY_HPC_CORE), 2);
    u64 fabric[8];
    CHECK((u64)tally_hpc_empty_poll(TALLY_HPC_ID(TALLY_HPC_FABRIC, 0, 0), 0x1f, fabric), 5);
    for (u32 k = 0; k < N_IDS; k++) {
        u64 cycle = csr_read(mcycle);
        bitmaps[k] = all_at_once(ids[k]);
        u64 took = csr_read(mcycle) - cycle;
        alone = took > alone ? took : alone;
        n_counters[k] = (u64)tally_hpc_count(bitmaps[k]);
        CHECK_TRUE(n_counters[k] > 4);
    }
    CHECK_TRUE(n_counters[0] > 32); /* so that the FIFO has no room for twice as many */
    hart_start(1, everything);
    everything(0);
    for (u32 me = 0; me < 2; me++) {
        check_context = me + 1;
        CHECK(n_wrong[me], 0);
        /* at most one other request comes first: its beats and a grant; harts may be APART */
        CHECK_TRUE(longest[me] <= alone + 64 + 10 + OVERHEAD + APART);
        print("hart ");
        print_number(me);
        print(": longest request ");
        print_number(longest[me]);
        print(" cycles, on average ");
        print_number(sums[me] / (N_READS * N_IDS));
        print(" (alone at most ");
        print_number(alone);
        print(")\n");
    }
    check_context = 0;
    /* neither was starved: the same number of requests took the two about as long */
    u64 less = sums[0] < sums[1] ? sums[0] : sums[1], more = sums[0] < sums[1] ? sums[1] : sums[0];
    CHECK_TRUE(more <= 2 * less);
    u64 now[8];
    CHECK((u64)tally_hpc_empty_poll(TALLY_HPC_ID(TALLY_HPC_FABRIC, 0, 0), 0x1f, now), 5);
    /* requests and grants: two fights, 3 for all, the filling, 20 more, this one; none cancelled */
    u64 n_requests = 2 * N_READS * N_IDS + N_IDS + 2 + 20 + 1;
    CHECK(now[0] - fabric[0], n_requests);
    CHECK(now[1] - fabric[1], n_requests);
    CHECK(now[4] - fabric[4], 0);
    print("waited for each other: ");
    print_number(now[2] - fabric[2]);
    print(" cycles in ");
    print_number(n_requests);
    print(" requests\n");
    return 0;
}
