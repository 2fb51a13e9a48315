// SPDX-License-Identifier: MIT
// Random system software: code of three privilege modes with everything that it may touch, and
// situations to begin it in.
#ifndef TL_TESTS_RANDOM_SYSTEM_H
#define TL_TESTS_RANDOM_SYSTEM_H

#include "board_turn.h"
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "machine/machine.h"
#include "random_code.h"

enum {
    CODE_BYTES = 48 << 10,
    DATA_OFFSET = 1 << 20,
    DATA_BYTES = 64 << 10,
    TABLES_OFFSET = 2 << 20, // page tables
    SYSTEM_BYTES = TABLES_OFFSET + 0x20000,
    REGION_BYTES = 8 << 20, // harts have regions of their own
};

static inline uint64_t region_of(const tl_hart *h) { return TL_RAM_BASE_PADDR + (uint64_t)h->id * REGION_BYTES; }

static const uint16_t system_csrs[] = {
    0x001, 0x002, 0x003, 0x100, 0x104, 0x105, 0x106, 0x140, 0x141, 0x142, 0x143, 0x144, 0x180, 0x300, 0x302,
    0x303, 0x304, 0x305, 0x306, 0x320, 0x321, 0x322, 0x323, 0x324, 0x325, 0x340, 0x341, 0x342, 0x343, 0x344,
    0x3a0, 0x3b0, 0xb00, 0xb02, 0xb03, 0xb04, 0xb05, 0xc00, 0xc01, 0xc02, 0xc03, 0xc04, 0xda0, 0xf14,
};

// Writes a CSR from outside, as firmware would.
static inline void set_csr(tl_hart *h, uint32_t csr, uint64_t value) {
    tl_priv priv = h->priv;
    h->priv = TL_PRIV_M;
    (void)tl_csr_write(h, csr, value);
    h->priv = priv;
    if (h->has_after)
        tl_hart_retired(h);
}

static inline void put64(tl_machine *machine, uint64_t offset, uint64_t value) { memcpy(machine->ram + offset, &value, sizeof value); }

// Two sets of tables, three levels, that map the first 4 MiB of the region to themselves; pages
// with random permissions. A fourth level on top for Sv48.
static inline void build_tables(tl_machine *machine, uint64_t region, rng *r) {
    const uint64_t base = TL_RAM_BASE_PADDR + region;
    for (uint32_t set = 0; set < 2; set++) {
        uint64_t root = region + TABLES_OFFSET + set * 0x10000, middle = root + 0x1000, leaf = root + 0x2000, top = root + 0x4000;
        uint64_t first = middle + ((base >> 21) & 511) * 8;
        put64(machine, top + ((base >> 39) & 511) * 8, (TL_RAM_BASE_PADDR + root) >> 12 << 10 | 1);
        put64(machine, root + ((base >> 30) & 511) * 8, (TL_RAM_BASE_PADDR + middle) >> 12 << 10 | 1);
        for (uint32_t k = 0; k < 2; k++)
            put64(machine, first + k * 8, (TL_RAM_BASE_PADDR + leaf + k * 0x1000) >> 12 << 10 | 1);
        for (uint32_t k = 0; k < 1024; k++) {
            uint64_t flags = 0xcf; // V R W X A D
            if (below(r, 3) != 0)
                flags |= 0x10; // U
            if (below(r, 20) == 0)
                flags &= ~(UINT64_C(1) << below(r, 8));
            put64(machine, leaf + k * 8, (base + k * 0x1000) >> 12 << 10 | flags);
        }
        // A large page that is an alias of the first. Its physical address need not be aligned.
        put64(machine, first + 2 * 8, base >> 12 << 10 | 0xcf);
    }
}

// Six counters count random events with random filters, and overflow soon.
static inline void arm_counters(tl_hart *h, rng *r, const uint64_t *events, uint32_t n_events) {
    for (uint32_t i = 3; i < 9; i++) {
        uint64_t filter = below(r, 2) ? (next(r) & 7) << 60 : 0;
        set_csr(h, 0x320 + i, events[below(r, n_events)] | filter | (uint64_t)(below(r, 3) == 0) << 63);
        set_csr(h, 0xb00 + i, UINT64_MAX - below(r, 300));
    }
    set_csr(h, 0x320, below(r, 2) ? next(r) & 0xff : 0);
}

// PMP rights: locked, a power of two, executed and read; and written.
enum { CODE_IS_READ_ONLY = 0x9d, CODE_IS_WRITABLE = 0x9f };

// Makes another situation altogether.
static inline void scatter(tl_hart *h, rng *r, bool has_counters, uint64_t code_rights) {
    static const uint64_t modes[] = {0, 8, 8, 8, 9};
    const uint64_t region = region_of(h);
    uint32_t set = below(r, 2);
    uint64_t mode = modes[below(r, TL_COUNT_OF(modes))];
    uint64_t root = region + TABLES_OFFSET + set * 0x10000 + (mode == 9 ? 0x4000 : 0);
    set_csr(h, 0x180, mode << 60 | root >> 12);
    set_csr(h, 0x300, next(r) & 0x7ffffff);
    set_csr(h, 0x302, next(r));
    set_csr(h, 0x303, next(r));
    set_csr(h, 0x304, below(r, 2) ? next(r) : 0);
    set_csr(h, 0x305, region + (uint64_t)below(r, CODE_BYTES / 8) * 4 + below(r, 2));
    set_csr(h, 0x105, region + (uint64_t)below(r, CODE_BYTES / 8) * 4 + below(r, 2));
    set_csr(h, 0x341, region + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64));
    set_csr(h, 0x141, region + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64));
    set_csr(h, 0x306, next(r));
    set_csr(h, 0x106, next(r));
    set_csr(h, 0x344, below(r, 4) == 0 ? next(r) : 0);
    // Read-only code stays as it is, even with jumps into the middle of instructions. Code that
    // runs after a store without FENCE.I is not specified. The rest is permitted to everybody, or
    // two thirds of it.
    set_csr(h, 0x3b0, region >> 2 | (0x10000 / 8 - 1));
    set_csr(h, 0x3b1, (region + DATA_OFFSET + (uint64_t)below(r, 16) * 4096) >> 2 | 0x1ff);
    set_csr(h, 0x3b2, UINT64_MAX);
    set_csr(h, 0x3a0, (below(r, 3) == 0 ? UINT64_C(0x1f1800) | below(r, 8) << 8 : UINT64_C(0x1f1f00)) | code_rights);
    if (has_counters) {
        static const uint64_t events[] = {1, 2, 3, 4, 5, 6, 0x10000, 0x10001, 0x10002, 0x10003, 0x10009, 0x10019, 0x10021};
        arm_counters(h, r, events, TL_COUNT_OF(events));
    }
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_M};
    tl_hart_set_priv(h, privs[below(r, 3)]);
    tl_rv(h)->x[2] = region + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 1000) * 16;
    tl_rv(h)->x[8] = region + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 2000) * 8;
    tl_rv(h)->x[9] = region + 4096 + (uint64_t)below(r, CODE_BYTES - 8192);
    tl_rv(h)->x[1] = tl_rv(h)->x[9];
    h->pc = region + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64);
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    for (int i = 0; i < 6; i++)
        tl_rv(h)->x[11 + below(r, 20)] = next(r) >> below(r, 64);
}

// Code that changes code, mostly with FENCE.I behind it, and goes there. It is entered at few
// places, so that what changes was executed before.
enum { SPOT_BYTES = 256, N_SPOTS = 16 };

static inline uint64_t random_spot(rng *r) { return (uint64_t)SPOT_BYTES * below(r, N_SPOTS); }

static inline void add_code_stores(uint8_t *code, rng *r) {
    for (uint32_t at = 0; at + 64 <= N_SPOTS * SPOT_BYTES; at += 2 + 2 * below(r, 60)) {
        uint32_t from = below(r, 512) * 8 - 2048, spot = (uint32_t)random_spot(r) - 2048, to = spot + 8 * below(r, 4),
                 funct3 = 1 + below(r, 3);
        const uint32_t words[] = {
            // The word is lX t0, from(s1).
            from << 20 | 9 << 15 | funct3 << 12 | 5 << 7 | 0x03,
            // The word is sX t0, to(s1).
            (to >> 5 & 127) << 25 | 5 << 20 | 9 << 15 | funct3 << 12 | (to & 31) << 7 | 0x23,
            below(r, 10) == 0 ? 0x13 : 0x100f, // fence.i
            // The word is jr spot(s1).
            spot << 20 | 9 << 15 | 0x67,
        };
        memcpy(code + at, words, (3 + below(r, 2)) * sizeof words[0]);
    }
}

// The situation of `scatter`, in such code.
static inline void gather(tl_hart *h, rng *r) {
    set_csr(h, 0x305, TL_RAM_BASE_PADDR + random_spot(r));
    set_csr(h, 0x105, TL_RAM_BASE_PADDR + random_spot(r));
    set_csr(h, 0x341, TL_RAM_BASE_PADDR + random_spot(r));
    set_csr(h, 0x141, TL_RAM_BASE_PADDR + random_spot(r));
    tl_rv(h)->x[9] = TL_RAM_BASE_PADDR + 2048;
    tl_rv(h)->x[1] = TL_RAM_BASE_PADDR + random_spot(r);
    h->pc = TL_RAM_BASE_PADDR + random_spot(r);
}

// All of a region that such software begins with. Its code accesses these registers.
static inline void fill_system_with(tl_machine *machine, uint64_t region, rng *r, const uint16_t *csrs, uint32_t n_csrs) {
    fill_with(r, machine->ram + region, CODE_BYTES, csrs, n_csrs, 2);
    build_tables(machine, region, r);
    for (uint32_t i = 0; i < DATA_BYTES; i += 8)
        put64(machine, region + DATA_OFFSET + i, next(r));
}

static inline void fill_system(tl_machine *machine, rng *r) { fill_system_with(machine, 0, r, system_csrs, TL_COUNT_OF(system_csrs)); }

#endif
