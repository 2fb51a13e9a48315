// SPDX-License-Identifier: MIT
// A fabric without a machine. A test chooses the managers. Counter values encode the counter and
// the cycle of sampling. Each register instruction takes a cycle of its own.
#ifndef TL_PMU_DHPC_TEST_RIG_H
#define TL_PMU_DHPC_TEST_RIG_H

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "isa/rv/arch.h"
#include "pmu/dhpc/fabric.h"

enum { HPCC = 0x8e0, HPCM = 0x8e1, HPCMH = 0x8e2, HPCR = 0xce0, HPCRH = 0xce1 };
// Latency of the defaults: t_req + t_grant + t_lookup + t_resp.
enum { LATENCY = 4 };
#define ID_FULL TL_DHPC_ID(TL_DHPC_CORE, 0, 0)   // 64 counters
#define ID_SPARSE TL_DHPC_ID(TL_DHPC_CORE, 0, 1) // counters 0, 1, 3
#define ID_OTHER TL_DHPC_ID(TL_DHPC_LLC, 0, 0)   // counters 0 to 15
#define ID_FABRIC TL_DHPC_ID(TL_DHPC_FABRIC, 0, 0)
#define ID_NOBODY TL_DHPC_ID(6, 5, 4)
static const uint64_t SPARSE = 0xb;

// Value of a host counter: the cycle of sampling and the counter's number.
static inline uint64_t stamp(uint64_t cycle, uint32_t which) { return cycle << 16 | which; }
static inline uint64_t stamped(void *ctx, uint32_t which, uint32_t hart, uint64_t cycle) {
    (void)ctx, (void)hart;
    return stamp(cycle, which);
}
enum { WHICH_FULL = 0x000, WHICH_SPARSE = 0x100, WHICH_OTHER = 0x200 };

static inline tl_dhpc_manager stamped_manager(uint32_t id, uint32_t hart, uint64_t implemented, uint32_t first_which) {
    tl_dhpc_manager manager = {.id = id, .hart = hart, .implemented = implemented};
    for (uint32_t bit = 0; bit < TL_DHPC_COUNTERS; bit++)
        manager.counters[bit] = (tl_dhpc_counter){TL_DHPC_FROM_HOST, first_which + bit};
    return manager;
}

static inline uint32_t rig_managers(tl_dhpc_manager managers[static 4]) {
    managers[0] = stamped_manager(ID_FULL, 0, UINT64_MAX, WHICH_FULL);
    managers[1] = stamped_manager(ID_SPARSE, 0, SPARSE, WHICH_SPARSE);
    managers[2] = stamped_manager(ID_OTHER, TL_DHPC_NO_HART, 0xffff, WHICH_OTHER);
    managers[3] = (tl_dhpc_manager){.id = ID_FABRIC, .hart = TL_DHPC_NO_HART, .implemented = 0xff};
    for (uint32_t bit = 0; bit < 8; bit++)
        managers[3].counters[bit] = (tl_dhpc_counter){TL_DHPC_FROM_FABRIC, bit};
    return 4;
}

typedef struct rig {
    tl_arena arena;
    tl_dhpc *d;
    uint64_t now;  // cycle of the next instruction
    uint32_t hart; // that executes it
    tl_priv priv;
    bool has_trapped; // by the last instruction
} rig;

static inline void rig_init(rig *r, const tl_dhpc_config *config, uint32_t access_bits, uint32_t n_harts) {
    tl_dhpc_manager managers[4];
    uint32_t n = rig_managers(managers);
    tl_error err;
    *r = (rig){.now = 100, .priv = TL_PRIV_M};
    if (tl_dhpc_new(config, access_bits, n_harts, managers, n, stamped, NULL, &r->arena, &r->d, &err) != TL_OK)
        fail_msg("%s", err.text);
}
static inline void rig_done(rig *r) { tl_arena_done(&r->arena); }

static inline uint64_t rig_execute(rig *r, const tl_dhpc_access *access) {
    uint64_t old = 0xdead;
    r->has_trapped = !tl_dhpc_execute(r->d, r->hart, r->now, access, &old);
    r->now += 1;
    return old;
}
#define ACCESS(...) (&(tl_dhpc_access){.priv = r->priv, __VA_ARGS__})
static inline uint64_t csrrw(rig *r, uint32_t csr, uint64_t value) { return rig_execute(r, ACCESS(.csr = csr, .operand = value)); }
static inline void csrw(rig *r, uint32_t csr, uint64_t value) { rig_execute(r, ACCESS(.csr = csr, .operand = value, .is_rd_x0 = true)); }
static inline uint64_t csrrs(rig *r, uint32_t csr, uint64_t value) {
    return rig_execute(r, ACCESS(.csr = csr, .op = TL_REG_SET, .operand = value));
}
static inline uint64_t csrrc(rig *r, uint32_t csr, uint64_t value) {
    return rig_execute(r, ACCESS(.csr = csr, .op = TL_REG_CLEAR, .operand = value));
}
static inline uint64_t csrr(rig *r, uint32_t csr) { return rig_execute(r, ACCESS(.csr = csr, .op = TL_REG_SET, .is_rs1_x0 = true)); }
static inline uint64_t csrri(rig *r, tl_reg_use op, uint32_t csr, uint64_t value) {
    return rig_execute(r, ACCESS(.csr = csr, .op = op, .operand = value, .is_immediate = true));
}
static inline uint64_t go(uint32_t id) { return (uint64_t)id << TL_DHPC_ID_LSB | TL_DHPC_TRIGGER; }

// Starts a request. Returns the cycle of the write of trigger.
static inline uint64_t rig_start(rig *r, uint32_t id, uint64_t bitmap) {
    csrw(r, HPCM, bitmap);
    uint64_t started = r->now;
    csrw(r, HPCC, go(id));
    assert_false(r->has_trapped);
    return started;
}

// A small generator, because one seed must describe a whole test.
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

#endif
