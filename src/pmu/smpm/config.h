// SPDX-License-Identifier: MIT
// Parameters of hierarchical, secure, multi-client performance monitoring (SMPM), as a machine
// description sets them. Source: US 12,468,616 B2 (2025), by paragraph of its description [P n];
// what it leaves open is a parameter. docs/smpm.md names each decision.
//
// Two profiles exist. LITERAL does what the source states, with the simplest hardware where the
// source is silent. SAFE adds what keeps tenants apart. A choice that a profile makes is BY_PROFILE
// in a description; tl_smpm_config_resolve replaces it, and models take resolved values only.
//
// All times are cycles of the monitoring clock (PM cycles).
#ifndef TL_PMU_SMPM_CONFIG_H
#define TL_PMU_SMPM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// NONE: the machine has no such PMU.
typedef enum tl_smpm_profile { TL_SMPM_NONE, TL_SMPM_SAFE, TL_SMPM_LITERAL } tl_smpm_profile;

// Choices. BY_PROFILE is replaced by tl_smpm_config_resolve.
typedef enum tl_smpm_switch { TL_SMPM_SWITCH_BY_PROFILE, TL_SMPM_OFF, TL_SMPM_ON } tl_smpm_switch;
typedef enum tl_smpm_residue { TL_SMPM_RESIDUE_BY_PROFILE, TL_SMPM_DROP, TL_SMPM_EXPORT } tl_smpm_residue;
typedef enum tl_smpm_arb { TL_SMPM_ARB_BY_PROFILE, TL_SMPM_TDM, TL_SMPM_ROUND_ROBIN } tl_smpm_arb;
typedef enum tl_smpm_ovf { TL_SMPM_SATURATE, TL_SMPM_WRAP } tl_smpm_ovf;
typedef enum tl_smpm_snap { TL_SMPM_ATOMIC, TL_SMPM_ROLLING } tl_smpm_snap;
typedef enum tl_smpm_channels { TL_SMPM_PER_PARTITION, TL_SMPM_PER_HART } tl_smpm_channels;

// Plain values of four bytes, so that keys.def can name each of them.
typedef struct tl_smpm_config {
    uint32_t profile; // tl_smpm_profile

    // Unit-level counter (ULC).
    uint32_t ulc_ctrs;       // N [P 57]
    uint32_t ulc_bits;       // W [P 57]
    uint32_t ulc_period;     // T, cycles of a window [P 57]; at most 2^W - 1
    uint32_t ulc_lanes;      // L, data wires of the serial line [P 57]
    uint32_t mb_max;         // most that a multi-bit input can tell in a cycle [P 56]
    uint32_t mb_acc_bits;    // of its accumulator [P 56]; 0: resolved to log2(scale) + 1
    uint32_t mb_inputs;      // M, of each ULC
    uint32_t ovf_policy;     // tl_smpm_ovf
    uint32_t snap_mode;      // tl_smpm_snap
    uint32_t residue_policy; // tl_smpm_residue
    uint32_t frame_flags;    // tl_smpm_switch: the payload carries OVF and FINAL
    uint32_t frame_parity;   // tl_smpm_switch: the payload ends with even parity
    uint32_t zero_frames;    // tl_smpm_switch: a window without events is START, END

    // Counter collection unit (CCU).
    uint32_t ccu_ulcs;  // U, ULCs of a CCU at most [P 58]
    uint32_t ccu_bits;  // C [P 59]
    uint32_t ccu_banks; // 2 [P 62]
    uint32_t ccu_thr;   // value that triggers a drain (THR); 0: none
    uint32_t fanin;     // ULCs of one type that may share the rows of a CCU
    uint32_t rec_ctrs;  // 8, counters of a record [P 61]

    // Trigger block (TB).
    uint32_t tb_period;  // cycles between EXT triggers [P 61]
    uint32_t tb_timeout; // of a flush, cycles; 0: none
    // Cycles for which the shared TB serves one partition (SAFE). 0 becomes the least bound.
    uint32_t shared_slot;

    // Reduction channel buffer (RCB), channels, arbiter.
    uint32_t rcb_depth;        // records of a FIFO of a partition
    uint32_t rcb_shared_depth; // records of a FIFO of the shared CCUs
    uint32_t noc_cycles;       // from a CCU to its FIFO
    uint32_t rc_bits;          // 64, S [P 63]
    uint32_t channels;         // tl_smpm_channels
    uint32_t arb;              // tl_smpm_arb, of channels and of the arbiter
    // tl_smpm_switch: late records of shared units reach the LATE part of their context.
    uint32_t fixed_routing;
    uint32_t skip_zeros; // tl_smpm_switch: a commit leaves out indices that are 0
    uint32_t mem_cycles; // from the last add to commit_done

    // Switch manager and policies.
    uint32_t manager_cycles; // between two commands
    // tl_smpm_switch: CS2 lowers enable; off: it only stops transfers.
    uint32_t gate_at_pause;
    uint32_t save_cycles, load_cycles; // of CS8
    uint32_t filters;                  // ULCs with a filter on each shared unit
    // tl_smpm_switch: traffic of CS8 counts in the SWITCH part of the VM0 block.
    uint32_t count_switch;
    uint32_t snapshot_cycles; // least distance of two snapshot requests of one partition
    uint32_t record_cycles;   // between two sealed records of a confidential VM
    uint32_t hv_reads_vm;     // tl_smpm_switch: the hypervisor may read VM blocks
    // tl_smpm_switch: private caches are flushed when a partition changes its VM.
    uint32_t vm_switch_flush;
} tl_smpm_config;

// Fixed by the design: no parameter may change them.
enum {
    TL_SMPM_REC_CTRS = 8,         // counters of a record
    TL_SMPM_REC_HEADER_BITS = 32, // of a record, before its values
    TL_SMPM_REC_VALUE_BITS = 28,  // of a value in a record; ccu_bits is at most that
    TL_SMPM_BANKS = 2,
    TL_SMPM_MARK_CYCLES = 2,    // START and END of a frame
    TL_SMPM_LATCH_BYTES = 4096, // of the latch that holds a copy of the D block
    TL_SMPM_BLOCK_HEADER_BYTES = 64,
    TL_SMPM_LATCH_VALUES = (TL_SMPM_LATCH_BYTES - TL_SMPM_BLOCK_HEADER_BYTES) / 8,
};

// Resolved defaults of a profile, TL_SMPM_SAFE or TL_SMPM_LITERAL.
tl_smpm_config tl_smpm_config_default(tl_smpm_profile profile);
// Replaces every BY_PROFILE and mb_acc_bits 0. shared_slot 0 stays, because the layout decides it
// (layout.h, tl_smpm_layout_resolve).
void tl_smpm_config_resolve(tl_smpm_config *config);
// Every rule that needs no layout. TL_EINVAL names the key and the remedy. Takes resolved and
// unresolved values.
TL_MUST_CHECK tl_status tl_smpm_config_check(const tl_smpm_config *config, tl_error *err);

// ---- Derived numbers, of resolved values ----

static inline bool tl_smpm_is_on(uint32_t value) { return value == TL_SMPM_ON; }
static inline uint32_t tl_smpm_bits_for(uint32_t n) { // bits that number n things: ceil(log2 n)
    uint32_t bits = 0;
    while ((UINT64_C(1) << bits) < n)
        bits++;
    return bits;
}
// log2 of what one pulse of a multi-bit input stands for; the residue has as many bits.
static inline uint32_t tl_smpm_scale_log2(const tl_smpm_config *config) { return tl_smpm_bits_for(config->mb_max); }
static inline uint64_t tl_smpm_ulc_max(const tl_smpm_config *config) { return (UINT64_C(1) << config->ulc_bits) - 1; }
static inline uint64_t tl_smpm_ccu_max(const tl_smpm_config *config) { return (UINT64_C(1) << config->ccu_bits) - 1; }
static inline bool tl_smpm_exports(const tl_smpm_config *config) {
    return config->residue_policy == TL_SMPM_EXPORT && config->mb_inputs > 0;
}
// Bits between START and END: counters, in a final frame residues, OVF, FINAL, parity.
static inline uint32_t tl_smpm_payload_bits(const tl_smpm_config *config, bool is_final) {
    return config->ulc_ctrs * config->ulc_bits +
           (is_final && tl_smpm_exports(config) ? config->mb_inputs * tl_smpm_scale_log2(config) : 0) +
           (tl_smpm_is_on(config->frame_flags) ? 2 : 0) + (tl_smpm_is_on(config->frame_parity) ? 1 : 0);
}
// D. A final frame with residues is longer than others, because FINAL stands elsewhere in it. On
// several lanes both could be as long. A CCU would then take the parity bit of one for FINAL.
static inline uint32_t tl_smpm_data_cycles(const tl_smpm_config *config, bool is_final) {
    const uint32_t n_bits = tl_smpm_payload_bits(config, is_final), n_periodic = tl_smpm_payload_bits(config, false);
    const uint32_t cycles = (n_bits + config->ulc_lanes - 1) / config->ulc_lanes;
    return cycles + (n_bits > n_periodic && cycles == (n_periodic + config->ulc_lanes - 1) / config->ulc_lanes);
}
// START in cycle t, END in t + frame_cycles - 1. The next frame may start in t + frame_cycles.
// The frame takes F = D + 2 cycles.
static inline uint32_t tl_smpm_frame_cycles(const tl_smpm_config *config, bool is_final) {
    return tl_smpm_data_cycles(config, is_final) + TL_SMPM_MARK_CYCLES;
}
// Rows of one ULC that hold counters.
static inline uint32_t tl_smpm_ctr_rows(const tl_smpm_config *config) {
    return (config->ulc_ctrs + TL_SMPM_REC_CTRS - 1) / TL_SMPM_REC_CTRS;
}
// Rows of one ULC that hold residues.
static inline uint32_t tl_smpm_residue_rows(const tl_smpm_config *config) {
    return tl_smpm_exports(config) ? (config->mb_inputs + TL_SMPM_REC_CTRS - 1) / TL_SMPM_REC_CTRS : 0;
}
// Indices of a channel and of a block: counters of type k begin at k * N, residues of type k at
// n_types * N + k * M.
static inline uint32_t tl_smpm_n_metrics(const tl_smpm_config *config, uint32_t n_types) { // K
    return n_types * (config->ulc_ctrs + (tl_smpm_exports(config) ? config->mb_inputs : 0));
}
static inline uint32_t tl_smpm_ctr_index(const tl_smpm_config *config, uint32_t type, uint32_t ctr) {
    return type * config->ulc_ctrs + ctr;
}
static inline uint32_t tl_smpm_residue_index(const tl_smpm_config *config, uint32_t n_types, uint32_t type, uint32_t input) {
    return n_types * config->ulc_ctrs + type * config->mb_inputs + input;
}

#endif
