// SPDX-License-Identifier: MIT
// The targets mailbox and capability share this device, whose blocks carry their own identity in
// every value. It has three requesters.
#ifndef TL_FUZZ_CONTROLLER_H
#define TL_FUZZ_CONTROLLER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmu/smpm/mcu.h"

enum { N_METRICS = 66, VMS = 3, CTXS = 2, BLOCK_WORDS = 8 + 3 * N_METRICS + 2, OWNER = 1, OPERATOR = 2, STRANGER = 3, N_REQUESTERS = 4 };

typedef struct input {
    const uint8_t *at, *end;
} input;

typedef struct fake_device {
    uint64_t words[1 + VMS + VMS * CTXS][BLOCK_WORDS];
    tl_smpm_counts counts;
    bool is_switching;
    tl_smpm_coverage coverage;
} fake_device;

static inline void require(bool is_so) {
    if (!is_so)
        abort();
}

static inline uint64_t take(input *in, uint32_t n_bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < n_bytes && in->at < in->end; i++)
        value |= (uint64_t)*in->at++ << 8 * i;
    return value;
}

// Block 0 is D; then VMs; then contexts.
static inline unsigned number_of(tl_smpm_kind kind, uint32_t vm, uint32_t ctx) {
    if (kind == TL_SMPM_DEV)
        return 0;
    if (vm >= VMS || (kind == TL_SMPM_CTX && ctx >= CTXS) || kind == TL_SMPM_VM0)
        return UINT32_MAX;
    return kind == TL_SMPM_VM ? 1 + vm : 1 + VMS + vm * CTXS + ctx;
}

static inline uint64_t value_of(unsigned number, uint32_t index) { return UINT64_C(0x7e57000000000000) | (uint64_t)number << 32 | index; }

static inline tl_smpm_copied fake_read(void *device, tl_smpm_kind kind, uint32_t vm, uint32_t ctx, uint64_t *ret_words, uint32_t n_words) {
    fake_device *d = device;
    unsigned number = number_of(kind, vm, ctx);
    if (d->is_switching)
        return TL_SMPM_BUSY;
    if (number == UINT32_MAX)
        return TL_SMPM_NO_BLOCK;
    return tl_smpm_block_copy(d->words[number], n_words < BLOCK_WORDS ? n_words : BLOCK_WORDS, 2, ret_words);
}
static inline void fake_counts(void *device, tl_smpm_counts *ret_counts) { *ret_counts = ((fake_device *)device)->counts; }
static inline bool fake_snapshot(void *device, uint32_t vm) { return vm < VMS && !((fake_device *)device)->is_switching; }
static inline tl_smpm_configured fake_configure(void *device, uint32_t key, uint32_t value) {
    fake_device *d = device;
    tl_smpm_coverage after = d->coverage;
    if (key > 1 || value >= 64)
        return TL_SMPM_CONFIGURE_INVALID;
    after.bits[0] = key ? after.bits[0] | UINT64_C(1) << value : after.bits[0] & ~(UINT64_C(1) << value);
    if (!tl_smpm_coverage_is_kept(&d->coverage, &after))
        return TL_SMPM_CONFIGURE_REFUSED;
    d->coverage = after;
    return TL_SMPM_CONFIGURED;
}

static inline const char *fake_name(void *device, uint32_t metric) { return (void)device, metric == 1 ? NULL : "a.metric"; }

static inline void fill(uint64_t *words, tl_smpm_kind kind, uint32_t vm, uint32_t ctx) {
    unsigned number = number_of(kind, vm, ctx);
    tl_smpm_block_format(words, &(tl_smpm_shape){kind, vm, ctx, N_METRICS, tl_smpm_safe_parts(kind)});
    tl_smpm_block_begin(words);
    for (uint32_t i = 0; i < N_METRICS; i++) {
        tl_smpm_block_set_available(words, i, i != 1);
        tl_smpm_block_add(words, TL_SMPM_CTR, i, value_of(number, i));
    }
    tl_smpm_block_end(words, 9);
}

static inline void key_of(uint32_t requester, uint8_t ret_key[TL_SMPM_KEY_BYTES]) {
    memset(ret_key, (int)(requester * 16 + 1), TL_SMPM_KEY_BYTES);
}

static inline void begin(fake_device *d, tl_smpm_source *source, tl_smpm_mcu *mcu) {
    const uint8_t secret[TL_SMPM_KEY_BYTES] = {3};
    memset(d, 0, sizeof *d);
    fill(d->words[0], TL_SMPM_DEV, 0, TL_SMPM_NO_CTX);
    for (uint32_t vm = 0; vm < VMS; vm++) {
        fill(d->words[1 + vm], TL_SMPM_VM, vm, TL_SMPM_NO_CTX);
        for (uint32_t ctx = 0; ctx < CTXS; ctx++)
            fill(d->words[1 + VMS + vm * CTXS + ctx], TL_SMPM_CTX, vm, ctx);
    }
    d->counts = (tl_smpm_counts){.now_cycles = 1, .n_metrics = N_METRICS, .n_blocks = 1 + VMS + VMS * CTXS, .n_partitions = VMS};
    d->coverage.bits[0] = 0xff;
    *source = (tl_smpm_source){d, fake_read, fake_counts, fake_snapshot, fake_configure, fake_name};
    tl_smpm_mcu_init(mcu, source, false, secret);
    static const tl_smpm_requester rows[] = {{.id = OWNER, .rights = TL_SMPM_RIGHT_GRANT, .vms = 1 << 0 | 1 << 1},
                                             {.id = OPERATOR, .rights = TL_SMPM_RIGHT_LATCH_VM | TL_SMPM_RIGHT_CONFIGURE, .vms = 1 << 0},
                                             {.id = STRANGER, .rights = TL_SMPM_RIGHT_GRANT, .vms = 1 << 2}};
    for (unsigned i = 0; i < 3; i++) {
        tl_smpm_requester requester = rows[i];
        key_of(requester.id, requester.key);
        require(tl_smpm_mcu_enroll(mcu, &requester));
    }
}

#endif
