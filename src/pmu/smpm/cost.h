// SPDX-License-Identifier: MIT
// Cost of the hierarchy beside flat counters: storage bits, and activity counted exactly from
// frames, records and commits. Six other ways to count get the same events and deliver to the same
// clients. Figures of power are sums of activity times weights, which are orders of magnitude only;
// the activity itself is exact under the rules below.
//
// Rules of activity
//   clk     flip-flop bits times cycles in which they are clocked, without any clock gate
//   gated   the same with a clock gate for each register, which opens when it changes
//   tog     bits of counters, snapshots and shift registers that change. A binary counter from 0 to
//           c changes sum(c >> b) bits over its bits b
//   wire    transitions on data, mark and bus wires times their length, 1 within a partition and 4
//           across it. A CCU stands in the middle of its partition
//   sram    bits read and written in memory arrays: rows of a CCU, buffers, accumulators
//   noc     bits of records times hops, 1 to the own channel and 2 to channels 0 and D
//   mem     bits of adds to memory blocks, of their headers, and of registers saved there
//   host    bytes that software reads
// Residues of multi-bit inputs, triggers and arbiters change few bits, which are in clk alone.
//
// Other ways (one block of counters in each unit, the same length of wires)
//   FLAT64     64-bit counters and a snapshot register; hardware sends each word over a 64-bit bus
//              and adds it to the blocks of device, VM and context
//   FLAT64-SR  64-bit counters that a switch saves and restores; software reads them for the views
//              of device and VM
//   FLAT48     FLAT64 with 48 bits
//   CLASS44    44-bit counters for half of the events at a time; the other half is not counted
//   HYB12      12 bits in flip-flops, 52 in an array that is written at each carry
//   POLL       FLAT64 counters that software reads in each period of the trigger block
#ifndef TL_PMU_SMPM_COST_H
#define TL_PMU_SMPM_COST_H

#include "pmu/smpm/layout.h"

typedef enum tl_smpm_way {
    TL_SMPM_WAY_HIERARCHY,
    TL_SMPM_WAY_FLAT64,
    TL_SMPM_WAY_FLAT64_SR,
    TL_SMPM_WAY_FLAT48,
    TL_SMPM_WAY_CLASS44,
    TL_SMPM_WAY_HYB12,
    TL_SMPM_WAY_POLL,
    TL_SMPM_N_WAYS
} tl_smpm_way;
extern const char *const tl_smpm_way_names[TL_SMPM_N_WAYS];    // "FLAT64"
extern const char *const tl_smpm_way_meanings[TL_SMPM_N_WAYS]; // one sentence each

// ---- storage ----

typedef struct tl_smpm_storage {
    // Flip-flops of all ULCs: counters; shadow or shift register; sticky flags and their shadow;
    // window counters; residues; serializer and enable.
    uint64_t ulc_ctrs, ulc_shadow, ulc_ovf, ulc_ovf_shadow, ulc_wcnt, ulc_residues, ulc_control;
    uint64_t ccu_control, tb;            // flip-flops
    uint64_t ccu_rows, ccu_residue_rows; // array bits of both banks
    // Array bits that hold a frame until its parity is known.
    uint64_t frame_values, frame_rest;
    uint64_t fifos, accumulators;                      // array bits of channels
    uint64_t blocks;                                   // bits of device memory
    uint64_t serial_wires, enable_wires, record_wires; // record_wires: CCU to network
    uint64_t ff_bits, sram_bits, mem_bits, wires;      // sums
} tl_smpm_storage;

// Storage of a whole chip. n_blocks: VM and context blocks that exist at once.
tl_smpm_storage tl_smpm_storage_of(const tl_smpm_config *config, const tl_smpm_layout *layout, uint32_t n_blocks);
// Storage of one full group: ccu_ulcs ULCs and their CCU, without channels and memory.
tl_smpm_storage tl_smpm_storage_of_group(const tl_smpm_config *config);
// Storage of a chip of one partition, which has `n_units` units of one type and the channels.
// Memory is not in it.
tl_smpm_storage tl_smpm_storage_of_size(const tl_smpm_config *config, uint32_t n_units);
// Flip-flop and array bits of another way for so many events.
void tl_smpm_storage_of_way(tl_smpm_way way, uint64_t n_ctrs, uint64_t *ret_ff_bits, uint64_t *ret_sram_bits);

// ---- activity ----

typedef struct tl_smpm_activity {
    uint64_t clk, gated, tog, wire, sram, noc, mem, host;
} tl_smpm_activity;

typedef struct tl_smpm_weights {
    double clk, tog, wire, sram, noc, mem, host; // clk: of clk or gated
    bool is_gated;
} tl_smpm_weights;
enum { TL_SMPM_N_WEIGHTS = 7 };
extern const tl_smpm_weights tl_smpm_default_weights;
extern const char *const tl_smpm_weight_names[TL_SMPM_N_WEIGHTS];

// Lines "name value" and "gated yes"; # begins a comment. Missing names keep their default.
// TL_EFORMAT names `path` and the line.
TL_MUST_CHECK tl_status tl_smpm_weights_parse(const char *text, const char *path, tl_smpm_weights *ret_weights, tl_error *err);
double tl_smpm_energy(const tl_smpm_activity *activity, const tl_smpm_weights *weights);
tl_smpm_activity tl_smpm_activity_sum(const tl_smpm_activity *a, const tl_smpm_activity *b);

// How the energy of the hierarchy compares with another way: the ratio, and what it becomes when
// one weight is a quarter of itself or four times itself.
typedef struct tl_smpm_sensitivity {
    double ratio;
    double quarter[TL_SMPM_N_WEIGHTS], fourfold[TL_SMPM_N_WEIGHTS];
} tl_smpm_sensitivity;
tl_smpm_sensitivity tl_smpm_sensitivity_of(const tl_smpm_activity *hierarchy, const tl_smpm_activity *other,
                                           const tl_smpm_weights *weights);

// ---- meter: fed with what happens, it counts the activity of all ways ----

enum { TL_SMPM_MAX_PAYLOAD_BITS = TL_SMPM_MAX_CTRS * 16 + TL_SMPM_MAX_MULTI * 5 + 3 };

typedef struct tl_smpm_meter {
    const tl_smpm_config *config; // borrowed
    const tl_smpm_layout *layout;
    tl_smpm_activity all[TL_SMPM_N_WAYS], in_switches[TL_SMPM_N_WAYS];
    uint64_t n_events, n_frames, n_records, n_commits, n_switches, n_cycles;
    uint64_t ff_bits[TL_SMPM_N_WAYS];
    // The captured counters stand still, and a selector sends bit by bit; set after init.
    bool is_selected;
    bool is_in_switch;                                   // what comes now belongs to a switch
    uint32_t phases[TL_SMPM_MAX_CCUS];                   // of CLASS44: the events that it counts
    uint64_t counts[TL_SMPM_MAX_ULCS][TL_SMPM_MAX_CTRS]; // so far
    uint64_t class_counts[TL_SMPM_MAX_ULCS][TL_SMPM_MAX_CTRS];
    uint64_t snapshots[TL_SMPM_MAX_ULCS][TL_SMPM_MAX_CTRS];      // held in snapshot registers
    uint64_t bus[TL_SMPM_MAX_CCUS], class_bus[TL_SMPM_MAX_CCUS]; // last word on each read bus
    // Bits of the last payload, with is_selected.
    uint8_t captured[TL_SMPM_MAX_ULCS][TL_SMPM_MAX_PAYLOAD_BITS];
} tl_smpm_meter;

// ret_meter is large; the caller allocates it. config is resolved.
void tl_smpm_meter_init(const tl_smpm_config *config, const tl_smpm_layout *layout, tl_smpm_meter *ret_meter);
// n_cycles more cycles have passed.
void tl_smpm_meter_cycles(tl_smpm_meter *meter, uint64_t n_cycles);
// A ULC has sent a frame. values: ulc_ctrs counters. residues: of a final frame, may be NULL.
void tl_smpm_meter_frame(tl_smpm_meter *meter, uint32_t ulc, bool is_final, const uint16_t *values, const uint16_t *residues);
// A record has reached the channels of its route. has_data: no EMPTY record.
void tl_smpm_meter_record(tl_smpm_meter *meter, const tl_smpm_route *route, bool has_data);
// A channel has committed: read and cleared so many accumulators, made so many adds to memory, and
// written so many headers of blocks.
void tl_smpm_meter_commit(tl_smpm_meter *meter, uint64_t n_indices, uint64_t n_adds, uint32_t n_blocks);
// A channel has added past its accumulators: so many adds and headers of blocks.
void tl_smpm_meter_add(tl_smpm_meter *meter, uint64_t n_adds, uint32_t n_blocks);
// A trigger of one CCU, after its frames: other ways deliver to their clients now. A switch is
// everything between meter_switch true and false.
void tl_smpm_meter_deliver(tl_smpm_meter *meter, uint32_t ccu);
// A trigger of the units of a CCU that a filter routes to one channel alone, after its frames.
void tl_smpm_meter_deliver_fixed(tl_smpm_meter *meter, uint32_t ccu, uint32_t channel);
// Counters that have a signal, of all units.
uint32_t tl_smpm_meter_n_signals(const tl_smpm_meter *meter);
void tl_smpm_meter_switch(tl_smpm_meter *meter, bool is_in_switch);

// ---- synthetic load: a group of units whose signals are 1 in `events_per_million` of cycles ----

typedef struct tl_smpm_load {
    uint32_t n_units, n_ctrs;    // counters of each unit that have a signal
    uint32_t events_per_million; // of cycles, for each counter
    uint32_t n_epochs;           // periods of the trigger block
    uint32_t switch_every;       // epochs between two switches; 0: none
    bool is_selected;            // as in tl_smpm_meter
} tl_smpm_load;

// ret_activity has TL_SMPM_N_WAYS. TL_EINVAL: the configuration does not hold the load; TL_ENOMEM.
TL_MUST_CHECK tl_status tl_smpm_load_run(const tl_smpm_config *config, const tl_smpm_load *load, tl_smpm_activity *ret_activity,
                                         tl_error *err);

// Energy for 1000 cycles and unit at each of these rates: the break-even curve.
enum { TL_SMPM_CURVE_POINTS = 11 };
typedef struct tl_smpm_curve {
    uint32_t events_per_million[TL_SMPM_CURVE_POINTS];
    double energy[TL_SMPM_N_WAYS][TL_SMPM_CURVE_POINTS];
} tl_smpm_curve;
TL_MUST_CHECK tl_status tl_smpm_curve_of(const tl_smpm_config *config, const tl_smpm_weights *weights, uint32_t switch_every,
                                         bool is_selected, tl_smpm_curve *ret_curve, tl_error *err);
// The curve of groups like `load`, whose rate and epochs are not used.
TL_MUST_CHECK tl_status tl_smpm_curve_like(const tl_smpm_config *config, const tl_smpm_weights *weights, const tl_smpm_load *load,
                                           tl_smpm_curve *ret_curve, tl_error *err);
// Least rate at which the hierarchy takes less energy than `way`, by straight lines between points;
// -1: never; 0: always.
double tl_smpm_break_even(const tl_smpm_curve *curve, tl_smpm_way way);

// Ablations: one parameter changed, everything else as given.
typedef struct tl_smpm_ablation {
    const char *name; // "rolling snapshot"
    tl_smpm_config config;
    bool is_selected; // as in tl_smpm_load
} tl_smpm_ablation;
enum { TL_SMPM_MAX_ABLATIONS = 24 };
// Returns how many there are. Each passes tl_smpm_config_check.
uint32_t tl_smpm_ablations_of(const tl_smpm_config *config, tl_smpm_ablation *ret_ablations);

#endif
