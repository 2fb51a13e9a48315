// SPDX-License-Identifier: MIT
// A device of blocks that tests write by hand, behind tl_smpm_source, and requesters with keys.
#ifndef TL_PMU_SMPM_TEST_DEVICE_H
#define TL_PMU_SMPM_TEST_DEVICE_H

#include "base/testing.h"

#include <string.h>

#include "pmu/smpm/mcu.h"

enum {
    N_METRICS = 70,
    VMS = 4,
    CTXS = 2,
    BLOCK_WORDS = 8 + 3 * N_METRICS + 2,
    VM0_WORDS = 8 + 5 * N_METRICS + 2,
    OWNER = 11,
    STRANGER = 12,
    OPERATOR = 13
};

typedef struct fake_device {
    uint64_t vm0[VM0_WORDS], dev[BLOCK_WORDS], vm[VMS][BLOCK_WORDS], ctx[VMS][CTXS][BLOCK_WORDS];
    tl_smpm_counts counts;
    bool is_switching; // snapshots and copies must wait
    unsigned n_snapshots[VMS], n_reads;
    tl_smpm_coverage coverage;
    uint32_t configured[4];
    unsigned n_configured;
} fake_device;

static inline tl_smpm_copied fake_read(void *device, tl_smpm_kind kind, uint32_t vm, uint32_t ctx, uint64_t *ret_words, uint32_t n_words) {
    fake_device *d = device;
    d->n_reads++;
    const uint64_t *words = NULL;
    if (kind == TL_SMPM_DEV)
        words = d->dev;
    else if (kind == TL_SMPM_VM && vm < VMS)
        words = d->vm[vm];
    else if (kind == TL_SMPM_CTX && vm < VMS && ctx < CTXS)
        words = d->ctx[vm][ctx];
    if (d->is_switching)
        return TL_SMPM_BUSY;
    if (kind == TL_SMPM_VM0)
        return tl_smpm_block_copy(d->vm0, n_words < VM0_WORDS ? n_words : VM0_WORDS, 4, ret_words);
    return words ? tl_smpm_block_copy(words, n_words < BLOCK_WORDS ? n_words : BLOCK_WORDS, 4, ret_words) : TL_SMPM_NO_BLOCK;
}

static inline void fake_counts(void *device, tl_smpm_counts *ret_counts) { *ret_counts = ((fake_device *)device)->counts; }

static inline bool fake_snapshot(void *device, uint32_t vm) {
    fake_device *d = device;
    if (d->is_switching)
        return false;
    d->n_snapshots[vm]++;
    return true;
}

// The switch manager. Key 0: a period. Key 1: clears the route of a ULC to D. Key 2: adds one.
static inline tl_smpm_configured fake_configure(void *device, uint32_t key, uint32_t value) {
    fake_device *d = device;
    if (key > 2 || value >= 64 * TL_SMPM_COVERAGE_WORDS)
        return TL_SMPM_CONFIGURE_INVALID;
    tl_smpm_coverage after = d->coverage;
    if (key == 1)
        after.bits[value / 64] &= ~(UINT64_C(1) << value % 64);
    else if (key == 2)
        after.bits[value / 64] |= UINT64_C(1) << value % 64;
    if (!tl_smpm_coverage_is_kept(&d->coverage, &after))
        return TL_SMPM_CONFIGURE_REFUSED;
    d->coverage = after;
    d->configured[key] = value;
    d->n_configured++;
    return TL_SMPM_CONFIGURED;
}

static inline uint64_t expected_value(unsigned block, unsigned index) { return (uint64_t)(block + 1) << 33 | (1000 * block + index); }

// Metric 3 is not routed anywhere.
static inline void fake_block(uint64_t *words, tl_smpm_kind kind, uint32_t vm, uint32_t ctx, unsigned number) {
    tl_smpm_block_format(words, &(tl_smpm_shape){kind, vm, ctx, N_METRICS, tl_smpm_safe_parts(kind)});
    tl_smpm_block_begin(words);
    for (uint32_t i = 0; i < N_METRICS; i++) {
        tl_smpm_block_set_available(words, i, i != 3);
        tl_smpm_block_add(words, TL_SMPM_CTR, i, expected_value(number, i));
        if (kind == TL_SMPM_CTX || kind == TL_SMPM_VM)
            tl_smpm_block_add(words, TL_SMPM_LATE, i, i + 1);
    }
    tl_smpm_block_end(words, 500 + number);
}

static inline void fake_init(fake_device *d) {
    memset(d, 0, sizeof *d);
    fake_block(d->vm0, TL_SMPM_VM0, 0, TL_SMPM_NO_CTX, 50);
    fake_block(d->dev, TL_SMPM_DEV, 0, TL_SMPM_NO_CTX, 0);
    for (uint32_t vm = 0; vm < VMS; vm++) {
        fake_block(d->vm[vm], TL_SMPM_VM, vm, TL_SMPM_NO_CTX, 10 + vm);
        for (uint32_t ctx = 0; ctx < CTXS; ctx++)
            fake_block(d->ctx[vm][ctx], TL_SMPM_CTX, vm, ctx, 20 + 2 * vm + ctx);
    }
    d->counts = (tl_smpm_counts){
        .now_cycles = 1000000,
        .idle_cycles = 5,
        .total_cycles = 1000000,
        .n_metrics = N_METRICS,
        .n_blocks = 1 + VMS + VMS * CTXS,
        .n_partitions = 3,
        .generation = 1,
        .is_driver_loaded = true,
    };
    d->coverage.bits[0] = 0xff;
}

// Metric 3 has no name, and metric 5 the longest.
static inline const char *fake_name(void *device, uint32_t metric) {
    static const char *const names[] = {"a", "hart.instret", "eight888", NULL, "nine99999", "123456789_123456789_123456789_123456789_123"};
    (void)device;
    return metric < 6 ? names[metric] : NULL;
}

static inline void fake_source(fake_device *d, tl_smpm_source *ret_source) {
    *ret_source = (tl_smpm_source){d, fake_read, fake_counts, fake_snapshot, fake_configure, fake_name};
}

static inline void key_of(uint32_t requester, uint8_t ret_key[TL_SMPM_KEY_BYTES]) {
    memset(ret_key, (int)(requester * 7), TL_SMPM_KEY_BYTES);
}

// OWNER administers VMs 1 and 2, STRANGER VM 3, OPERATOR configures and reads VM 1 out of band.
static inline void enroll_all(tl_smpm_mcu *mcu) {
    tl_smpm_requester owner = {.id = OWNER, .rights = TL_SMPM_RIGHT_GRANT, .vms = 6},
                      stranger = {.id = STRANGER, .rights = TL_SMPM_RIGHT_GRANT | TL_SMPM_RIGHT_LATCH_VM, .vms = 8},
                      operator_ = {.id = OPERATOR, .rights = TL_SMPM_RIGHT_CONFIGURE | TL_SMPM_RIGHT_LATCH_VM, .vms = 2};
    key_of(OWNER, owner.key);
    key_of(STRANGER, stranger.key);
    key_of(OPERATOR, operator_.key);
    assert_true(tl_smpm_mcu_enroll(mcu, &owner) && tl_smpm_mcu_enroll(mcu, &stranger) && tl_smpm_mcu_enroll(mcu, &operator_));
}

// A new device with its MCU, whose requesters are enrolled.
static inline void fake_begin(fake_device *d, tl_smpm_source *source, tl_smpm_mcu *mcu) {
    const uint8_t secret[TL_SMPM_KEY_BYTES] = {9};
    fake_init(d);
    fake_source(d, source);
    tl_smpm_mcu_init(mcu, source, false, secret);
    enroll_all(mcu);
}

#endif
