/* SPDX-License-Identifier: MIT
 * One loop for comparing speeds: the same code runs as a Linux program (-DLOOP_LINUX), in machine mode, and with -DLOOP_USER in user mode
 * through page tables. With -DLOOP_ARMED=SELECTOR a counter of that event waits all the time for an overflow that is far away. Integer work, a table in the L1D, a branch that is hard to foretell; LOOP_ROUNDS rounds of about 22 instructions. */
#include <stdint.h>

#ifndef LOOP_ROUNDS
#define LOOP_ROUNDS 1000000
#endif

static uint64_t table[512] __attribute__((aligned(4096)));

/* the same code whatever surrounds it */
__attribute__((noipa)) static uint64_t loop(uint64_t n_rounds) {
    uint64_t state = 88172645463325252, sum = 0;
    for (uint64_t i = 0; i < n_rounds; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t *slot = &table[state & 511];
        if (state & 0x1000)
            sum += *slot * 3;
        else
            sum ^= *slot;
        *slot += state >> 40;
    }
    return sum;
}

static uint64_t expected(uint64_t n_rounds) { /* of the number of rounds that tests use; others are not checked */
    return n_rounds == 1000000 ? UINT64_C(0x2bdad4ecdd3ba2) : 0;
}

#ifdef LOOP_LINUX
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    uint64_t n_rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : LOOP_ROUNDS, sum = loop(n_rounds), want = expected(n_rounds);
    printf("%#llx\n", (unsigned long long)sum);
    return want != 0 && sum != want;
}
#else
#include "bare.h"

static uint64_t in_lower_mode(uint64_t n_rounds) { return loop(n_rounds); }

int main(void) {
    u64 sum;
#ifdef LOOP_ARMED
    csr_write(mhpmevent3, LOOP_ARMED);
    csr_write(mhpmcounter3, -BIT(40));
    csr_write(mie, BIT(IRQ_LCOFI));
    csr_set(mstatus, MSTATUS_MIE);
#endif
#ifdef LOOP_USER
    csr_write(satp, satp_of(standard_map(), SATP_SV39));
    sfence();
    alias = USER_ALIAS;
    outcome *o = run_at(MODE_U, (u64)in_lower_mode, LOOP_ROUNDS, 0);
    CHECK(o->trapped, 0);
    sum = o->x[10];
#else
    sum = in_lower_mode(LOOP_ROUNDS);
#endif
    if (expected(LOOP_ROUNDS) != 0)
        CHECK(sum, expected(LOOP_ROUNDS));
#ifdef LOOP_ARMED
    CHECK(csr_read(mhpmevent3), LOOP_ARMED); /* it has not overflowed */
    CHECK(csr_read(mhpmcounter3) > -BIT(40), 1);
#endif
    return 0;
}
#endif
