// SPDX-License-Identifier: MIT
// Hardware of one chip's monitoring: which unit-level counters (ULCs) exist, what each counts,
// which collection unit (CCU) hears it, and where its values go. A layout is constant while a
// machine runs, except the filters of shared units, which are the state of a model. It is plain
// data without pointers, so a copy is a layout of its own.
//
// A unit belongs to one partition, or it is shared. All ULCs of a CCU belong to the same partition,
// or all are shared, because a CCU enables its ULCs with one line. A partition here is what a
// context switch stops: one trigger block (TB), its CCUs, one channel. With a channel for each hart
// every hart is such a partition, and the units that several harts use count as shared.
#ifndef TL_PMU_SMPM_LAYOUT_H
#define TL_PMU_SMPM_LAYOUT_H

#include "pmu/smpm/config.h"

enum {
    TL_SMPM_MAX_CTRS = 64,  // of a ULC
    TL_SMPM_MAX_MULTI = 16, // multi-bit inputs of a ULC
    TL_SMPM_MAX_TYPES = 16,
    TL_SMPM_MAX_UNITS = 256,
    TL_SMPM_MAX_ULCS = 384,
    TL_SMPM_MAX_CCU_ULCS = 48,
    TL_SMPM_MAX_CCUS = 16,
    TL_SMPM_MAX_ROWS = 512, // of a CCU: a record has 9 bits for its row
    TL_SMPM_MAX_PARTITIONS = 8,
    TL_SMPM_MAX_CHANNELS = TL_SMPM_MAX_PARTITIONS + 2, // 0, 1..n, D
    TL_SMPM_MAX_INDICES = TL_SMPM_LATCH_VALUES,        // K at most
};

// Numbers of partitions and tags.
enum {
    TL_SMPM_SHARED = 0xff,       // instead of a partition
    TL_SMPM_ANY = 0xffff,        // instead of a vm or a ctx of a filter
    TL_SMPM_CTX_SWITCH = 0xfffe, // ctx of the traffic of CS8
};

typedef enum tl_smpm_feed {
    TL_SMPM_FEED_NONE,    // a counter that stays 0
    TL_SMPM_FEED_BIT,     // one-bit signal `input` of the unit type
    TL_SMPM_FEED_PULSE,   // pulses of multi-bit input `input`: one for each `scale` units
    TL_SMPM_FEED_NONZERO, // cycles in which multi-bit input `input` is not 0
} tl_smpm_feed;

typedef struct tl_smpm_ctr {
    uint8_t feed; // tl_smpm_feed
    uint8_t input;
    bool counts_low; // polarity: counts cycles in which the signal is 0
} tl_smpm_ctr;

// All ULCs of one type count the same signals in the same order, because channels add them up by
// type and counter.
typedef struct tl_smpm_unit_type {
    char name[24];                   // "hart", "dma.filtered"
    uint8_t n_bits, n_multi;         // signals of one bit, multi-bit inputs
    uint16_t bits[TL_SMPM_MAX_CTRS]; // rows of tl_smpm_events
    uint16_t multi[TL_SMPM_MAX_MULTI];
    tl_smpm_ctr ctrs[TL_SMPM_MAX_CTRS]; // of ulc_ctrs counters; the rest is TL_SMPM_FEED_NONE
} tl_smpm_unit_type;

typedef struct tl_smpm_unit {
    char name[24];          // "p2.hart0", "dma"
    uint8_t type;           // index of its (unfiltered or first) unit type
    uint8_t chip_partition; // of the machine, or TL_SMPM_SHARED
    uint16_t instance;      // the unit's number in its partition
} tl_smpm_unit;

typedef enum tl_smpm_filter_kind {
    TL_SMPM_FILTER_ALL,   // no filter: counts everything
    TL_SMPM_FILTER_FREE,  // programmable and not programmed: counts nothing
    TL_SMPM_FILTER_MATCH, // counts events whose tag matches (vm, ctx)
    TL_SMPM_FILTER_REST,  // counts events that no filter of the unit matches
} tl_smpm_filter_kind;

// The most specific match counts an event: (vm, ctx) before (vm, any), both before REST.
typedef struct tl_smpm_filter {
    uint8_t kind;     // tl_smpm_filter_kind
    uint16_t vm, ctx; // TL_SMPM_FILTER_MATCH; TL_SMPM_ANY matches each
    uint16_t engine;  // which engine of the unit made the event; TL_SMPM_ANY
} tl_smpm_filter;

// Part of the blocks that a record's values reach. Channel 0 and, with to_d, channel D get every
// record, too.
typedef enum tl_smpm_target {
    // The VM's block and the block of the context that runs, through the accumulators of `channel`.
    TL_SMPM_TO_CURRENT,
    TL_SMPM_TO_FIXED,      // VM block and block of the filter's context, past the accumulators
    TL_SMPM_TO_UNASSIGNED, // U: only channels 0 and D; part UNASSIGNED of the VM0 block
    TL_SMPM_TO_SWITCH,     // only channels 0 and D; part SWITCH of the VM0 block
} tl_smpm_target;

typedef struct tl_smpm_route {
    uint8_t target;  // tl_smpm_target
    uint8_t channel; // 1..n; TL_SMPM_TO_CURRENT. With FIXED the channel that serves the filter's VM
    bool to_d;
} tl_smpm_route;

typedef struct tl_smpm_ulc {
    uint16_t unit;     // index into units
    uint8_t type;      // index into types
    uint8_t partition; // or TL_SMPM_SHARED
    uint8_t ccu, line; // index into ccus; its number there
    // First row of its counters in its CCU. Counter k is in row k / 8 from there, in lane k % 8.
    uint16_t first_row;
    // First row of its residues in its CCU, after the counters of all ULCs. Undefined without
    // residue rows.
    uint16_t first_residue_row;
    tl_smpm_filter filter; // at reset
    tl_smpm_route route;   // at reset; equal for all ULCs that share rows
} tl_smpm_ulc;

typedef struct tl_smpm_ccu {
    uint8_t partition; // or TL_SMPM_SHARED
    uint8_t id;        // its number within its TB: ccu_id of records
    uint8_t n_ulcs;
    uint16_t n_rows;
    uint16_t ulcs[TL_SMPM_MAX_CCU_ULCS]; // by line: indices into ulcs
} tl_smpm_ccu;

typedef struct tl_smpm_partition {
    uint8_t channel;             // 1..n; which channel serves which partition is a table
    uint8_t chip_partition;      // of the machine
    uint8_t first_hart, n_harts; // of that partition of the machine
} tl_smpm_partition;

// Channel 0 is the device's, 1..n_partitions are those of partitions, n_partitions + 1 is D.
typedef struct tl_smpm_layout {
    uint32_t n_types, n_units, n_ulcs, n_ccus, n_partitions;
    tl_smpm_unit_type types[TL_SMPM_MAX_TYPES];
    tl_smpm_unit units[TL_SMPM_MAX_UNITS];
    tl_smpm_ulc ulcs[TL_SMPM_MAX_ULCS];
    tl_smpm_ccu ccus[TL_SMPM_MAX_CCUS];
    tl_smpm_partition partitions[TL_SMPM_MAX_PARTITIONS];
} tl_smpm_layout;

// Bounds of a layout in cycles, each counted from the fixed time slots of its profile. LITERAL has
// no bound where round robin lets others pass; the fields hold what holds if all others are as
// busy as they can be.
typedef struct tl_smpm_bounds {
    uint32_t n_metrics;               // K
    uint32_t n_slots;                 // of the arbiter: n + 2
    uint64_t commit_vm, commit_0;     // adds of one commit of a VM channel, of channel 0 or D
    uint64_t fixed;                   // a VM channel is busy with FIXED records of one shared drain
    uint64_t drain[TL_SMPM_MAX_CCUS]; // from a trigger to the last record dequeued
    uint64_t drain_max;               // most of them
    uint64_t shared_service;          // a trigger and a flush of all shared CCUs
    uint64_t flush;                   // of a partition, from CS4 to the last EMPTY
} tl_smpm_bounds;

// Lanes of a row that an input feeds: bit i stands for counter first + i of the type, or for the
// residue of that input. Others are 0 always, so they are neither sent nor added to memory.
uint32_t tl_smpm_fed_lanes(const tl_smpm_config *config, const tl_smpm_unit_type *type, bool is_residue, uint32_t first);
// Returns the number of metrics that an input feeds, 1 to K.
uint32_t tl_smpm_n_fed(const tl_smpm_config *config, const tl_smpm_layout *layout);

// Units of a chip, the same in each partition.
typedef struct tl_smpm_chip {
    uint32_t n_partitions;                      // of the chip; a plain machine is one
    uint32_t n_harts, n_slices, n_mem_channels; // of each
    bool has_shared;                            // interconnect root, I/O bridge, DMA engine
    // 1..n for each partition of the layout; all 0: 1, 2, 3 ..
    uint8_t channel_of[TL_SMPM_MAX_PARTITIONS];
} tl_smpm_chip;

// Builds the layout of a chip. `config` is resolved but for shared_slot. TL_EINVAL: it does not
// fit.
TL_MUST_CHECK tl_status tl_smpm_layout_new(const tl_smpm_config *config, const tl_smpm_chip *chip, tl_smpm_layout *ret_layout,
                                           tl_error *err);
tl_smpm_bounds tl_smpm_layout_bounds(const tl_smpm_config *config, const tl_smpm_layout *layout);
// Checks all rules that span configuration and layout, those of layouts made by hand included, and
// resolves shared_slot. TL_EINVAL names the key and the remedy.
TL_MUST_CHECK tl_status tl_smpm_layout_resolve(tl_smpm_config *config, const tl_smpm_layout *layout, tl_error *err);

static inline uint32_t tl_smpm_channel_d(const tl_smpm_layout *layout) { return layout->n_partitions + 1; }

#endif
