// SPDX-License-Identifier: MIT
// Random code on hardware threads of a detailed core, each at places that a number stands for.
#ifndef TL_TESTS_RANDOM_THREADS_H
#define TL_TESTS_RANDOM_THREADS_H

#include "isa/rv/hart.h"
#include "machine/machine.h"
#include "random_code.h"

enum { CODE_BYTES = 48 << 10, DATA_OFFSET = 1 << 20, DATA_BYTES = 256 << 10, N_THREADS = 2, BOTH_THREADS = 3 };

static inline void fill_ram(rng *r, tl_machine *machine) {
    static const uint16_t csrs[] = {0x001, 0x002, 0x003};
    fill_with(r, machine->ram, CODE_BYTES, csrs, TL_COUNT_OF(csrs), 8);
    for (uint32_t i = 0; i < DATA_BYTES; i += 8) {
        const uint64_t value = next(r);
        memcpy(machine->ram + DATA_OFFSET + i, &value, 8);
    }
}

// The hart goes to the place of this number, with pointers into the data.
static inline void point(tl_hart *h, uint64_t number) {
    rng r = {number * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_rv_hart *rv = tl_rv(h);
    rv->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(&r, 2000) * 16;
    rv->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(&r, 5000) * 8;
    rv->x[9] = rv->x[1] = TL_RAM_BASE_PADDR + 4096 + (uint64_t)below(&r, CODE_BYTES - 8192);
    h->pc = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(&r, CODE_BYTES / 2 - 64);
}

// A thread goes on elsewhere after a trap, as a kernel would let it after some time. Its time says
// where, since a place may trap at once.
static inline void leave_trap(tl_hart *h) {
    h->now += 150;
    h->tally[TL_S_HART_CYC_SWITCH] += 150;
    point(h, h->now);
}

#endif
