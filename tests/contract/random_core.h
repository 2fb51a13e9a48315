// SPDX-License-Identifier: MIT
// Random programs for detailed cores.
#ifndef TL_TESTS_RANDOM_CORE_H
#define TL_TESTS_RANDOM_CORE_H

#include "isa/rv/hart.h"
#include "machine/machine.h"
#include "random_code.h"
#include "random_structure.h"

enum { CODE_BYTES = 48 << 10, DATA_BYTES = 256 << 10, DATA_OFFSET = 1 << 20 };

// The hart goes to a random place of the code at `code`, with pointers into the data behind `data`;
// both count from the start of RAM.
static inline void point(tl_hart *h, rng *r, uint64_t code, uint64_t data) {
    tl_rv_hart *rv = tl_rv(h);
    rv->x[2] = TL_RAM_BASE_PADDR + data + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 2000) * 16;
    rv->x[8] = TL_RAM_BASE_PADDR + data + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 5000) * 8;
    rv->x[9] = TL_RAM_BASE_PADDR + code + 4096 + (uint64_t)below(r, CODE_BYTES - 8192);
    rv->x[1] = rv->x[9];
    h->pc = TL_RAM_BASE_PADDR + code + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64);
    for (int i = 0; i < 4; i++)
        rv->x[11 + below(r, 20)] = next(r) >> below(r, 64);
    for (int i = 0; i < 4; i++)
        rv->f[below(r, 32)] = below(r, 2) ? next(r) : UINT64_C(0xffffffff00000000) | next(r) >> 32;
}

// Every second program accesses few bytes. Loads meet stores in flight, of all sizes, in part and
// as a whole, on paths that are taken back.
static inline void fill_code(rng *r, uint8_t *code, uint32_t n_bytes, bool is_dense) {
    static const uint16_t csrs[] = {0x001, 0x002, 0x003, 0xc02, 0xc03};
    fill_with(r, code, n_bytes, csrs, TL_COUNT_OF(csrs), 8);
    for (uint32_t at = 0; is_dense && at < n_bytes; at += 4) {
        const uint32_t is_store = below(r, 2) * 0x20, base = below(r, 4) ? 8 : 2, funct3 = is_store ? below(r, 4) : below(r, 7);
        uint32_t bits = random_word(r, csrs, TL_COUNT_OF(csrs), 8);
        if (below(r, 3) == 0)
            bits = below(r, 32) << 20 | base << 15 | funct3 << 12 | (is_store ? below(r, 16) : 11 + below(r, 20)) << 7 | is_store | 0x03;
        else if ((bits & 0x5b) == 0x03)
            bits &= ~(0x7fu << 25);
        memcpy(code + at, &bits, 4);
    }
}

#endif
