// SPDX-License-Identifier: MIT
// Copy engine of confidential mode: seals blocks of a VM and writes the records to a ring in memory
// that the host can reach. One record per interval, in a fixed order of blocks: cadence and size
// depend on the configuration only. A block that cannot be copied is sent as UNAVAILABLE, never
// left out. Specification section 15; the record is sealed/record.h.
#ifndef TL_PMU_SMPM_COPIER_H
#define TL_PMU_SMPM_COPIER_H

#include "pmu/smpm/mcu.h"
#include "sealed/record.h"
#include "sealed/session.h"

typedef struct tl_smpm_copier {
    tl_smpm_mcu *mcu;
    tl_sealed_device *device;
    tl_record_ring ring;
    uint32_t vm, n;  // metrics of a block
    uint32_t n_ctxs; // blocks in turn: the VM's, then contexts 0 to n_ctxs - 1
    bool is_literal;
    uint64_t interval_cycles;
    uint64_t next_cycle;
    uint32_t turn;
    bool is_stopped; // no key: closed until the next session
    uint64_t n_sent;
    uint8_t *record; // of the ring's slot_bytes; this and the rest is the caller's memory
    uint8_t *scratch;
    uint64_t *words, *values, *late;
    uint8_t *unavailable;
} tl_smpm_copier;

// Bytes of the caller's memory for n metrics, aligned to 8.
size_t tl_smpm_copier_bytes(uint32_t n, bool is_literal);
// `settings` gives mcu, device, ring, vm, n, n_ctxs, is_literal, interval_cycles. The ring's
// slot_bytes must be tl_record_bytes(n, is_literal), and the interval is not 0.
void tl_smpm_copier_init(tl_smpm_copier *copier, const tl_smpm_copier *settings, void *memory);
// Begins a session for the VM's own system; emission starts one interval from now. `sender` is who
// asks, by what the hardware says. Errors are those of tl_sealed_device_answer.
TL_MUST_CHECK tl_status tl_smpm_copier_answer(tl_smpm_copier *copier, const tl_smpm_identity *sender, uint64_t now_cycles,
                                              const uint8_t hello[TL_HELLO_BYTES], uint8_t ret_quote[TL_QUOTE_BYTES], tl_error *err);
// VM stop, device reset, restored checkpoint: erases the key.
void tl_smpm_copier_stop(tl_smpm_copier *copier);
// Sends what is due until now. Fails closed: without a key nothing is sent.
void tl_smpm_copier_tick(tl_smpm_copier *copier, uint64_t now_cycles);

#endif
