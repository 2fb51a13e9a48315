// SPDX-License-Identifier: MIT
// A chip of units without a machine. The value of an input is a pure function of seed, ULC and
// cycle, so a test knows the truth without the model. Truth is kept per counter and
// tenant, from the cycles in which the rules of docs/smpm.md enable a ULC.
#ifndef TL_PMU_SMPM_TEST_RIG_H
#define TL_PMU_SMPM_TEST_RIG_H

#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "pmu/smpm/state.h"

static inline uint64_t mix(uint64_t x) { // splitmix64, finalizer
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
static inline uint64_t next_random(uint64_t *random) { return mix((*random)++); }
static inline uint32_t below(uint64_t *random, uint32_t n) { return (uint32_t)(next_random(random) >> 33) % n; }

enum { RIG_MAX_ULCS = 96 };

typedef struct rig_totals { // of one ULC, advanced cycle by cycle
    uint64_t cycle;
    tl_smpm_totals totals;
} rig_totals;

typedef struct rig {
    tl_arena arena;
    tl_smpm_plan plan;
    tl_smpm_config config;
    tl_smpm_layout layout;
    tl_smpm *model;
    uint64_t seed;
    // NULL: random inputs of `seed`. Else what ULC `ulc` hears in `cycle`.
    void (*inputs)(struct rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs);
    rig_totals totals[RIG_MAX_ULCS];
    void *user;
} rig;

// Some cycles are silent, some full, most mixed.
static inline void random_inputs(const rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    uint64_t mood = mix(r->seed ^ (uint64_t)ulc << 40 ^ cycle >> 6), x = mix(r->seed ^ (uint64_t)ulc << 48 ^ cycle * 3);
    *ret_inputs = (tl_smpm_inputs){0};
    if (mood % 8 == 0)
        return;
    ret_inputs->bits = mood % 8 == 1 ? UINT64_MAX : mood % 8 < 4 ? x & mix(x) : x;
    for (uint32_t i = 0; i < r->config.mb_inputs; i++)
        ret_inputs->multi[i] = (uint8_t)(mood % 8 == 1 ? r->config.mb_max : mix(x + i) % 3 ? 0 : mix(x ^ i) % (r->config.mb_max + 1));
}

static inline void rig_inputs(void *ctx, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    rig *r = ctx;
    *ret_inputs = (tl_smpm_inputs){0};
    if (r->inputs)
        r->inputs(r, ulc, cycle, ret_inputs);
    else
        random_inputs(r, ulc, cycle, ret_inputs);
}

static inline void rig_totals_at(void *ctx, uint32_t ulc, uint64_t cycle, tl_smpm_totals *ret_totals) {
    rig *r = ctx;
    rig_totals *t = &r->totals[ulc];
    if (cycle < t->cycle)
        fail_msg("totals of ULC %u in cycle %llu are asked for after cycle %llu", ulc, (unsigned long long)cycle,
                 (unsigned long long)t->cycle);
    for (; t->cycle < cycle; t->cycle++) {
        tl_smpm_inputs in;
        rig_inputs(r, ulc, t->cycle, &in);
        for (uint32_t i = 0; i < TL_SMPM_MAX_CTRS; i++)
            t->totals.bits[i] += in.bits >> i & 1;
        for (uint32_t i = 0; i < TL_SMPM_MAX_MULTI; i++) {
            t->totals.sums[i] += in.multi[i];
            t->totals.nonzero[i] += in.multi[i] != 0;
        }
    }
    *ret_totals = t->totals;
}

// The smallest resolved configuration that the tests share; each test changes what it is about.
static inline tl_smpm_config rig_config(tl_smpm_profile profile, uint32_t n, uint32_t bits, uint32_t period, uint32_t lanes) {
    tl_smpm_config c = tl_smpm_config_default(profile);
    c.ulc_ctrs = n;
    c.ulc_bits = bits;
    c.ulc_period = period;
    c.ulc_lanes = lanes;
    c.mb_inputs = 0;
    c.ccu_ulcs = 4;
    c.tb_period = 100000;
    c.tb_timeout = 0;
    c.save_cycles = 20;
    c.load_cycles = 20;
    c.shared_slot = 4096;
    return c;
}

// `n_partitions` of `n_units` units of one type with counters on one-bit signals 0, 1, 2 and so on;
// pulses of multi-bit input i at counter N - 1 - i.
static inline void rig_layout(rig *r, uint32_t n_partitions, uint32_t n_units) {
    tl_smpm_layout *l = &r->layout;
    const tl_smpm_config *c = &r->config;
    uint32_t n_rows = tl_smpm_ctr_rows(c), n_residue_rows = tl_smpm_residue_rows(c);
    memset(l, 0, sizeof *l);
    l->n_types = 1;
    l->n_partitions = l->n_ccus = n_partitions;
    strcpy(l->types[0].name, "unit");
    l->types[0].n_bits = (uint8_t)(c->ulc_ctrs - c->mb_inputs);
    l->types[0].n_multi = (uint8_t)c->mb_inputs;
    for (uint32_t i = 0; i < c->ulc_ctrs; i++)
        l->types[0].ctrs[i] = i < c->ulc_ctrs - c->mb_inputs
                                  ? (tl_smpm_ctr){.feed = TL_SMPM_FEED_BIT, .input = (uint8_t)i}
                                  : (tl_smpm_ctr){.feed = TL_SMPM_FEED_PULSE, .input = (uint8_t)(c->ulc_ctrs - 1 - i)};
    for (uint32_t p = 0; p < n_partitions; p++) {
        l->partitions[p] = (tl_smpm_partition){.channel = (uint8_t)(n_partitions - p), .chip_partition = (uint8_t)p, .n_harts = 1};
        l->ccus[p] =
            (tl_smpm_ccu){.partition = (uint8_t)p, .n_ulcs = (uint8_t)n_units, .n_rows = (uint16_t)(n_units * (n_rows + n_residue_rows))};
        for (uint32_t u = 0; u < n_units; u++) {
            uint16_t ulc = (uint16_t)l->n_ulcs++;
            l->units[l->n_units] = (tl_smpm_unit){.chip_partition = (uint8_t)p, .instance = (uint16_t)u};
            l->ulcs[ulc] = (tl_smpm_ulc){
                .unit = (uint16_t)l->n_units++,
                .partition = (uint8_t)p,
                .ccu = (uint8_t)p,
                .line = (uint8_t)u,
                .first_row = (uint16_t)(u * n_rows),
                .first_residue_row = (uint16_t)(n_units * n_rows + u * n_residue_rows),
                .route = {.target = TL_SMPM_TO_CURRENT, .channel = (uint8_t)(n_partitions - p), .to_d = true},
            };
            l->ccus[p].ulcs[u] = ulc;
        }
    }
}

static inline void rig_open(rig *r) { // after r->config, r->layout and parts of r->plan are set
    tl_error err;
    r->plan.config = r->config;
    r->plan.layout = &r->layout;
    r->plan.host = (tl_smpm_host){.ctx = r, .totals = rig_totals_at, .inputs = rig_inputs};
    if (r->plan.n_blocks == 0)
        r->plan.n_blocks = 16;
    if (tl_smpm_new(&r->plan, &r->arena, &r->model, &err) != TL_OK)
        fail_msg("%s", err.text);
}
static inline void rig_close(rig *r) { tl_arena_done(&r->arena); }

static inline void must(tl_status status, const tl_error *err) {
    if (status != TL_OK)
        fail_msg("%s", err->text);
}
#define MUST(call_with_err)          \
    do {                             \
        tl_error err;                \
        must((call_with_err), &err); \
    } while (0)

// Makes VM 1 on partition 0 and VM 2 on partition 1, each with contexts 1 and 2, and starts context
// 1 of both.
static inline void start_two_vms(tl_smpm *m) {
    for (uint32_t vm = 1; vm <= 2; vm++) {
        MUST(tl_smpm_vm_new(m, vm, &err));
        for (uint32_t ctx = 1; ctx <= 2; ctx++)
            MUST(tl_smpm_ctx_new(m, vm, ctx, &err));
        MUST(tl_smpm_start(m, vm - 1, vm, 1, &err));
    }
}

static inline uint64_t word_of(const tl_smpm *m, uint32_t vm, uint32_t ctx, tl_smpm_part part, uint32_t index) {
    uint32_t n_words = 0, block = vm == TL_SMPM_NO_VM ? (ctx == TL_SMPM_NO_CTX ? 0 : 1) : tl_smpm_block_of(m, vm, ctx);
    const uint64_t *words = tl_smpm_block_words(m, block, &n_words);
    assert_non_null(words);
    uint32_t at = tl_smpm_block_part_at((uint32_t)words[5], (uint32_t)words[7], part);
    return at == 0 ? 0 : words[at + index];
}
static inline uint64_t vm0_word(const tl_smpm *m, tl_smpm_part part, uint32_t index) {
    return word_of(m, TL_SMPM_NO_VM, TL_SMPM_NO_CTX, part, index);
}
static inline uint64_t device_word(const tl_smpm *m, uint32_t index) { return word_of(m, TL_SMPM_NO_VM, 0, TL_SMPM_CTR, index); }
static inline uint32_t flags_of(const tl_smpm *m, uint32_t vm, uint32_t ctx) {
    uint32_t n_words = 0, block = tl_smpm_block_of(m, vm, ctx);
    return (uint32_t)(tl_smpm_block_words(m, block, &n_words)[5] >> 32);
}

// Runs until no switch is in progress in the partition.
static inline void run_switch(tl_smpm *m, uint32_t partition, uint64_t at_most_cycles) {
    uint64_t until = tl_smpm_now(m) + at_most_cycles;
    tl_smpm_switched s;
    do {
        tl_smpm_run(m, tl_smpm_now(m) + 1);
        tl_smpm_switched_get(m, partition, &s);
    } while ((s.step != TL_SMPM_IDLE || s.n_queued) && tl_smpm_now(m) < until);
}

#endif
