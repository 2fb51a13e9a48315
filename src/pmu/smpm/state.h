// SPDX-License-Identifier: MIT
// Inside of the model: its state and the steps of its parts. All that changes lies in one run of
// bytes, which holds indices and no pointers. `tl_smpm` has the constant tables and the pointers
// into that run.
//
// One cycle runs in phases: commands, ULCs, frames reach CCUs, triggers and drain, channels,
// arbiter, manager. A manager's command therefore acts on ULCs in the next cycle.
#ifndef TL_PMU_SMPM_STATE_H
#define TL_PMU_SMPM_STATE_H

#include "base/bits.h"
#include "pmu/smpm/model.h"

enum {
    TL_SMPM_PAYLOAD_WORDS = 16, // of 64 bits; counters, residues, flags and parity of one frame
    TL_SMPM_N_CH0_PARTS = 3,    // total, UNASSIGNED, SWITCH
    TL_SMPM_QUEUE = 4,          // switches that may wait in one partition
};

// ---- serial line ----

typedef struct tl_smpm_bitset { // of a payload, bit 0 first on the line
    uint64_t words[TL_SMPM_PAYLOAD_WORDS];
} tl_smpm_bitset;

typedef struct tl_smpm_wire { // what a line shows in one cycle
    uint8_t data;             // one bit for each lane
    bool mark;                // with data 0 START, with data 1 END
} tl_smpm_wire;

typedef struct tl_smpm_receiver { // CCU's end of one line
    bool is_receiving, began_after_fall;
    uint32_t n_bits;
    uint64_t start;
    tl_smpm_bitset bits;
} tl_smpm_receiver;

// ---- ULC ----

typedef struct tl_smpm_unit_counter { // reference
    bool is_enabled, has_request;     // request: the enable line fell
    bool is_sending, frame_has_ovf;
    uint32_t window_cycles; // wcnt
    uint32_t n_data;        // data cycles of the frame that is sent
    uint32_t n_captured;    // rolling: counters that the frame holds already
    uint64_t frame_start;
    uint64_t ovf;
    uint16_t counts[TL_SMPM_MAX_CTRS];
    uint16_t residues[TL_SMPM_MAX_MULTI];
    tl_smpm_bitset shift; // frame that is sent
    tl_smpm_receiver receiver;
} tl_smpm_unit_counter;

typedef struct tl_smpm_window { // fast: one ULC, its windows and the frame that waits for its END
    bool is_enabled, is_rising; // rising: the totals of the rising edge are not read yet
    bool is_capturing;          // rolling: `frame` is being read
    bool is_final, has_ovf;     // of `frame`
    uint32_t n_captured;
    uint64_t first_snap; // cycle of the first periodic snapshot; others follow every T cycles
    uint64_t end_snaps;  // no periodic snapshot from this cycle on; TL_SMPM_NEVER: they go on
    uint64_t final_snap; // TL_SMPM_NEVER: none
    uint64_t visited;    // latest snapshot that was read, or the rising edge
    uint64_t busy_end;   // last cycle of the latest frame that was read
    uint64_t frame_start;
    uint64_t base[TL_SMPM_MAX_CTRS];          // counts that frames have carried off
    uint64_t cleared_sums[TL_SMPM_MAX_MULTI]; // units of multi-bit inputs at the rising edge
    uint32_t frame[TL_SMPM_MAX_CTRS];
    uint16_t frame_residues[TL_SMPM_MAX_MULTI];
} tl_smpm_window;

// ---- CCU ----

typedef struct tl_smpm_collector {
    bool line;      // enable, to all ULCs of the CCU
    bool transfers; // LITERAL: the second broadcast line
    // THR does not fire: from CS2 to CS12. In SAFE it never does in a shared CCU, because the
    // traffic of one tenant would trigger a drain that all of them see.
    bool is_paused;
    bool is_draining, drain_is_flush;
    bool wants_plain, wants_switch, wants_flush;
    uint8_t active; // bank
    uint8_t seq, flush_id, wanted_flush_id;
    // Partition whose rows alone are sent; TL_SMPM_SHARED: all rows.
    uint8_t drain_scope, flush_scope;
    bool is_lossy[TL_SMPM_BANKS];
    // drain_at: next of m->sent. acked: channels that dequeued EMPTY of the present flush.
    uint16_t drain_at, acked;
    // is_ahead: the drain is computed, and channels have all its rows. It lasts until drain_end.
    bool is_ahead;
    bool idle_is_sent;         // fast: the idle bank keeps rows that channels have
    bool pulse_is_unseen;      // fast: no total was read for the trigger that waits
    bool holds[TL_SMPM_BANKS]; // false: each lane of the bank is 0
    uint64_t drain_cycle;      // no row before it
    uint64_t drain_end;        // cycle of the last row of a drain that is ahead
    uint64_t reg_at;           // REG pulse on its way
    uint64_t read_cycle;       // fast: last swap of a shared CCU that read all its ULCs
    // enabled: lines that were enabled as the enable line fell. seen: lines that have sent their
    // final frame.
    uint64_t enabled, seen;
} tl_smpm_collector;

// ---- trigger blocks, RCB ----

typedef struct tl_smpm_trigger_block {
    uint64_t ext_at; // next periodic EXT; TL_SMPM_NEVER: paused
    uint8_t flush_id;
    uint32_t expect, got; // CCUs
} tl_smpm_trigger_block;

typedef struct tl_smpm_service {           // flushes of the shared CCUs, on request of partitions
    uint32_t wanted, done;                 // partitions
    uint8_t order[TL_SMPM_MAX_PARTITIONS]; // LITERAL: first come, first served
    uint8_t n_waiting;
    uint8_t serves; // partition; TL_SMPM_SHARED: none
} tl_smpm_service;

typedef struct tl_smpm_entry {
    uint64_t arrival;
    tl_smpm_record record;
} tl_smpm_entry;

typedef struct tl_smpm_fifo {
    uint32_t head, n;
    // Fast: records that the channel has as one lump, and the cycle in which it dequeues the first.
    // A channel that serves sources in turn counts both on: records that are left, and the arrival
    // of the first of them.
    uint32_t lump_n;
    uint64_t lump_first;
} tl_smpm_fifo;

// ---- channels ----

typedef struct tl_smpm_channel {
    uint32_t vm, ctx, vm_block, ctx_block;
    uint64_t active_since;
    bool is_committing, is_held, commit_is_wanted, commit_was_wanted;
    bool holds; // false: each accumulator is 0
    bool has_fixed;
    uint8_t turn; // LITERAL: source served last
    // Of a channel that serves sources in turn. No source has records in its FIFO meanwhile.
    // lumps: turns with a lump. lumps_at: dequeues before it are done; TL_SMPM_NEVER: a commit
    // runs. lump_end: cycle of the next last dequeue.
    uint32_t lumps;
    uint64_t lumps_at, lump_end;
    uint32_t adds_done;  // of the commit or of the fixed record
    uint64_t busy_begin; // cycle in which the commit or the fixed record began
    uint64_t busy_end;   // cycle of its last add; fast only
    uint64_t commit_done;
    uint32_t done;  // CCUs whose epoch is complete
    uint32_t flags; // of blocks, gathered since the last commit
    uint32_t fixed_vm_block, fixed_ctx_block;
    uint8_t fixed_ccu, fixed_lanes; // lanes: a bit for each that counts something
    bool fixed_vm_runs, fixed_ctx_runs;
    uint8_t min_seq[TL_SMPM_MAX_CCUS];
    tl_smpm_record fixed;
} tl_smpm_channel;

// ---- manager ----

typedef struct tl_smpm_target_pair {
    uint32_t vm, ctx;
} tl_smpm_target_pair;

typedef struct tl_smpm_manager {
    uint32_t step;     // tl_smpm_step
    uint32_t substep;  // of a snapshot; 1 in CS6, CS7: polls
    uint64_t at;       // cycle of the next command or poll
    uint64_t flush_at; // cycle of the flush, for the timeout
    bool has_retried;
    uint32_t n_queued;
    tl_smpm_target_pair queue[TL_SMPM_QUEUE], incoming;
    uint64_t snapshot_at; // cycle of the latest accepted request
    uint32_t n_done, missing;
    uint64_t stamps[15];
} tl_smpm_manager;

typedef struct tl_smpm_slot { // of the memory of blocks
    bool is_used;
    uint16_t is_available; // channels whose metrics are marked as routed
    uint32_t n_open;       // commits in progress; several channels may serve one VM
    uint32_t vm, ctx;
} tl_smpm_slot;

typedef struct tl_smpm_row_route { // of a CCU's row
    uint16_t dests;                // channels
    uint8_t target;                // tl_smpm_target, as the profile takes it
    uint8_t channel;               // of CURRENT and FIXED
} tl_smpm_row_route;

typedef struct tl_smpm_core { // what changes, besides the arrays
    uint64_t now;
    uint64_t due, fast_due; // fast: trigger blocks, windows have nothing to do before; 0: unknown
    uint64_t front;         // fast: earliest cycle in which totals may still be read
    uint64_t unseen_until;  // fast: nobody looks at blocks before
    uint64_t device_at;     // SAFE: channels 0 and D commit
    uint64_t ahead_due;     // fast: earliest end of a drain that is ahead
    uint64_t lump_due;      // fast: earliest last dequeue of a lump
    uint64_t arb_at;        // fast, round robin: no add before it is missing
    uint32_t arb_turn;
    tl_smpm_service service;
    tl_smpm_counters counters;
    tl_smpm_collector ccus[TL_SMPM_MAX_CCUS];
    tl_smpm_trigger_block tbs[TL_SMPM_MAX_PARTITIONS + 1];
    tl_smpm_channel channels[TL_SMPM_MAX_CHANNELS];
    tl_smpm_manager managers[TL_SMPM_MAX_PARTITIONS];
    uint32_t waiting[TL_SMPM_MAX_CHANNELS]; // sources with records on their way or in the FIFO
    uint32_t draining;                      // CCUs that drain or have something to serve
    uint32_t replan;                        // fast: channels whose lumps have changed
    uint16_t ccu_dests[TL_SMPM_MAX_CCUS];
    uint16_t last_row[TL_SMPM_MAX_CCUS][TL_SMPM_MAX_CHANNELS];
    // first_sent: index into m->sent.
    uint16_t first_sent[TL_SMPM_MAX_CCUS][TL_SMPM_MAX_CHANNELS], last_sent[TL_SMPM_MAX_CCUS][TL_SMPM_MAX_CHANNELS];
    uint16_t n_rows_to[TL_SMPM_MAX_CCUS][TL_SMPM_MAX_CHANNELS];
    uint32_t has_fixed_rows; // channels of partitions that a FIXED row goes to
} tl_smpm_core;

// ---- constant tables ----

typedef struct tl_smpm_row { // of a CCU
    bool is_residue;
    uint8_t type, first, n; // counters or inputs first .. first + n - 1 of that unit type
    uint8_t lanes;          // those that an input feeds
    uint16_t ulc;           // one that uses it; NONE: no ULC does
} tl_smpm_row;

struct tl_smpm {
    tl_smpm_plan plan;
    tl_smpm_config config;
    tl_smpm_layout layout;
    // Sources are partitions, then the shared CCUs.
    uint32_t n_metrics, n_channels, n_sources, channel_d;
    uint32_t scale, scale_log2, n_residue_bits;
    uint32_t n_data, n_final_data; // data cycles of frames
    uint32_t lead_cycles;          // from a request to the pulse of a plain trigger
    uint64_t ulc_max, ccu_max, thr;
    uint64_t keep_cycles; // fast: triggers so long before a look are read
    // calm_cycles: a trigger, or a commit of the device, has no effect so long after it.
    // unread_cycles: counters of the CCU hold what comes in so long; 0: of a period. Both fast.
    uint64_t calm_cycles, unread_cycles[TL_SMPM_MAX_CCUS];
    bool is_safe, is_tdm, exports, has_fixed_routing, has_parity, has_flags, is_rolling, gates_at_pause;
    bool is_lazy;                    // fast: windows that no trigger ends are not visited
    uint64_t fed[TL_SMPM_MAX_TYPES]; // bit i: counter i of the unit type counts something
    bool sends_ahead;                // fast: drains are computed at their swap
    bool leaps;                      // fast: whole periods may pass at once
    uint32_t source_of_partition[TL_SMPM_MAX_PARTITIONS + 1];
    uint32_t ccus_of[TL_SMPM_MAX_PARTITIONS + 1]; // of a source
    uint32_t all_ccus;
    uint8_t ccu_of_id[TL_SMPM_MAX_PARTITIONS + 1][256]; // by source and ccu_id; 0xff: none
    uint8_t channel_source[TL_SMPM_MAX_CHANNELS];       // source of a VM channel
    uint32_t n_turns[TL_SMPM_MAX_CHANNELS];             // sources that a channel serves
    uint8_t turns[TL_SMPM_MAX_CHANNELS][TL_SMPM_MAX_PARTITIONS + 1];
    uint32_t fifo_depth[TL_SMPM_MAX_CHANNELS][TL_SMPM_MAX_PARTITIONS + 1];
    uint32_t fifo_first[TL_SMPM_MAX_CHANNELS][TL_SMPM_MAX_PARTITIONS + 1];
    uint32_t acc_first[TL_SMPM_MAX_CHANNELS], n_accs[TL_SMPM_MAX_CHANNELS], n_adds[TL_SMPM_MAX_CHANNELS];
    uint32_t bank_first[TL_SMPM_MAX_CCUS]; // first row of bank 0; bank 1 follows
    uint32_t row_first[TL_SMPM_MAX_CCUS];
    uint32_t n_blocks, n_block_words; // words of the largest block
    tl_smpm_row *rows;
    // sent: by row_first: rows of a drain in their order, which are those with fed lanes.
    uint16_t *sent;
    uint32_t n_sent[TL_SMPM_MAX_CCUS]; // of a drain
    // live: metrics that an input feeds, ascending: a commit adds these.
    uint16_t *live;
    uint32_t n_live;

    // State, in this order.
    void *state;
    size_t n_state_bytes;
    tl_smpm_core *core;
    tl_smpm_unit_counter *ulcs; // reference
    tl_smpm_window *windows;    // fast
    // For the fast model, by ULC. read_at: next cycle in which totals are read. end_at: END of the
    // frame that waits. TL_SMPM_NEVER: none.
    uint64_t *read_at, *end_at;
    uint32_t (*lanes)[TL_SMPM_REC_CTRS]; // rows of all banks
    uint8_t *row_ovf;
    tl_smpm_row_route *row_routes;
    tl_smpm_filter *filters; // by ULC
    tl_smpm_route *routes;
    uint64_t *masks, *freed_at; // by ULC; freed_at: cycle in which its filter was taken away
    tl_smpm_fifo (*fifos)[TL_SMPM_MAX_PARTITIONS + 1];
    tl_smpm_entry *entries;
    uint64_t *accs;
    tl_smpm_slot *slots;
    uint64_t *words;

    // Provenance: sets of tenants, one for each count. NULL without it.
    // For each ULC: counters, then residues.
    uint64_t (*count_tenants)[TL_SMPM_MAX_CTRS + TL_SMPM_MAX_MULTI];
    uint64_t (*frame_tenants)[TL_SMPM_MAX_CTRS + TL_SMPM_MAX_MULTI];
    uint64_t (*lane_tenants)[TL_SMPM_REC_CTRS];
    uint64_t (*entry_tenants)[TL_SMPM_REC_CTRS];
    uint64_t *acc_tenants;
    uint64_t (*fixed_tenants)[TL_SMPM_REC_CTRS]; // by channel
};

enum { TL_SMPM_NO_ULC = 0xffff };

static inline bool tl_smpm_mutates(const tl_smpm *m, tl_smpm_mutation what) { return TL_UNLIKELY(m->plan.test.mutations >> what & 1); }
static inline uint32_t tl_smpm_faulty(tl_smpm *m, tl_smpm_fault kind, uint32_t index) {
    return TL_UNLIKELY(m->plan.test.fault) ? m->plan.test.fault(m->plan.test.ctx, kind, index, m->core->now) : 0;
}
static inline uint64_t *tl_smpm_words_of(const tl_smpm *m, uint32_t block) { return &m->words[(size_t)block * m->n_block_words]; }
static inline uint32_t tl_smpm_bank_row(const tl_smpm *m, uint32_t ccu, uint32_t bank, uint32_t row) {
    return m->bank_first[ccu] + bank * m->layout.ccus[ccu].n_rows + row;
}
static inline uint32_t tl_smpm_source_of(const tl_smpm *m, uint32_t partition) {
    return partition == TL_SMPM_SHARED ? m->layout.n_partitions : partition;
}
// Returns whether a channel serves several sources, each as it has records.
static inline bool tl_smpm_takes_turns(const tl_smpm *m, uint32_t channel) { return !m->is_tdm && m->n_turns[channel] > 1; }
// Returns the first member of a set after `turn`.
static inline uint32_t tl_smpm_next_in_turn(uint32_t set, uint32_t turn) {
    const uint32_t after = set & ~((2u << turn) - 1);
    return (uint32_t)__builtin_ctz(after ? after : set);
}
// A drain for one partition sends the row.
static inline bool tl_smpm_row_is_of(const tl_smpm *m, const tl_smpm_row_route *route, uint32_t partition) {
    return route->target == TL_SMPM_TO_FIXED && route->channel == m->layout.partitions[partition].channel;
}
static inline bool tl_smpm_holds_units(const uint32_t *lanes) { // of a row or record
    uint32_t any = 0;
    for (uint32_t lane = 0; lane < TL_SMPM_REC_CTRS; lane++)
        any |= lanes[lane];
    return any != 0;
}
// Metric of lane 0.
static inline uint32_t tl_smpm_row_index(const tl_smpm *m, const tl_smpm_row *row) {
    return row->is_residue ? tl_smpm_residue_index(&m->config, m->layout.n_types, row->type, row->first)
                           : tl_smpm_ctr_index(&m->config, row->type, row->first);
}

//  ---- serial.c
void tl_smpm_bits_put(tl_smpm_bitset *set, uint32_t at, uint32_t n, uint64_t value);
uint64_t tl_smpm_bits_get(const tl_smpm_bitset *set, uint32_t at, uint32_t n);
bool tl_smpm_bits_parity(const tl_smpm_bitset *set, uint32_t n); // of the first n bits
// Ends a payload: flags, parity. `n` bits of counters and residues are there already.
void tl_smpm_frame_close(const tl_smpm *m, tl_smpm_bitset *set, bool is_final, bool has_ovf);
tl_smpm_wire tl_smpm_line_show(const tl_smpm *m, const tl_smpm_unit_counter *ulc, uint64_t cycle);
// One cycle at the CCU's end. true: a frame ended; ret_frame is what it says.
bool tl_smpm_line_receive(tl_smpm *m, uint32_t ulc, tl_smpm_wire wire, tl_smpm_frame *ret_frame);

//  ---- ulc.c, reference
void tl_smpm_ulc_step(tl_smpm *m, uint32_t ulc, bool line, bool transfers);
void tl_smpm_ulc_clear(tl_smpm *m, uint32_t ulc);
uint32_t tl_smpm_ulc_phase(const tl_smpm *m, uint32_t ulc); // wcnt at a rising edge

//  ---- ccu.c
// values: of a lump of frames, or NULL.
void tl_smpm_ccu_add(tl_smpm *m, const tl_smpm_frame *frame, const uint32_t *values);
void tl_smpm_ccu_line_set(tl_smpm *m, uint32_t ccu, bool line);
void tl_smpm_ccu_clear(tl_smpm *m, uint32_t ccu); // both banks
void tl_smpm_ccu_step(tl_smpm *m, uint32_t ccu);
// A row of the idle bank returns to the active one.
void tl_smpm_ccu_fold_back(tl_smpm *m, uint32_t ccu, uint32_t row);
// Returns a record of the drain. `at` is the row of the idle bank.
tl_smpm_record tl_smpm_ccu_record(const tl_smpm *m, uint32_t ccu, uint32_t row, uint32_t at);
static inline bool tl_smpm_ccu_is_busy(const tl_smpm_collector *c) {
    return c->is_draining || c->wants_plain || c->wants_flush || (c->wants_switch && (c->line || c->seen == c->enabled));
}

//  ---- tb.c
void tl_smpm_tb_step(tl_smpm *m);
void tl_smpm_tb_flush(tl_smpm *m, uint32_t source, uint32_t scope);
void tl_smpm_tb_ack(tl_smpm *m, uint32_t ccu, uint32_t channel, uint8_t flush_id);
void tl_smpm_service_request(tl_smpm *m, uint32_t partition);
bool tl_smpm_service_is_done(const tl_smpm *m, uint32_t partition);
uint64_t tl_smpm_service_next(const tl_smpm *m); // next cycle in which a service starts
uint64_t tl_smpm_tb_next(const tl_smpm *m);

//  ---- rcb.c
uint32_t tl_smpm_record_parity(const tl_smpm_record *record); // of all 256 bits
bool tl_smpm_rcb_has_credit(const tl_smpm *m, uint32_t source, uint32_t dests);
void tl_smpm_rcb_send(tl_smpm *m, uint32_t source, uint32_t channel, const tl_smpm_record *record, const uint64_t *tenants);
void tl_smpm_rcb_put(tl_smpm *m, uint32_t source, uint32_t channel, const tl_smpm_record *record,
                     uint64_t sent); // as if sent in that cycle
void tl_smpm_rcb_put_first(tl_smpm *m, uint32_t source, uint32_t channel, const tl_smpm_record *record, uint64_t sent);
// Takes the last record back, because it was not sent after all.
void tl_smpm_rcb_take_last(tl_smpm *m, uint32_t source, uint32_t channel);
// Drops entries of one CCU in every FIFO, but for those on their way.
void tl_smpm_rcb_drop(tl_smpm *m, uint32_t ccu);
// Called after a change of filters, routes or blocks.
void tl_smpm_routes_derive(tl_smpm *m);

//  ---- channel.c
void tl_smpm_channel_step(tl_smpm *m, uint32_t channel);
// Returns the next cycle in which it does something.
uint64_t tl_smpm_channel_next(const tl_smpm *m, uint32_t channel);
void tl_smpm_channel_point(tl_smpm *m, uint32_t channel, uint32_t vm, uint32_t ctx);
// Adds `sign` times the lanes of a row to the accumulators; sign is 1 or UINT64_MAX.
void tl_smpm_channel_add_row(tl_smpm *m, uint32_t channel, const tl_smpm_row *info, const tl_smpm_row_route *route, const uint32_t *lanes,
                             uint64_t sign);
void tl_smpm_channel_see_ovf(tl_smpm *m, uint32_t channel);
// Returns the least t >= from with t mod period == phase.
static inline uint64_t tl_smpm_next_slot(uint64_t from, uint64_t period, uint64_t phase) {
    uint64_t at = from % period;
    return from + (at <= phase ? phase - at : period - at + phase);
}

//  ---- arbiter.c
void tl_smpm_arbiter_step(tl_smpm *m); // reference: one add
// For the fast model with TDM: sets busy_end.
void tl_smpm_arbiter_plan(tl_smpm *m, uint32_t channel);
// For the fast model with TDM: does all adds before `until`.
void tl_smpm_arbiter_catch_up(tl_smpm *m, uint32_t channel, uint64_t until);
// For the fast model with round robin: does all adds before `until`.
void tl_smpm_arbiter_run(tl_smpm *m, uint64_t until);
// For the fast model with round robin: returns the cycle in which the next channel ends.
uint64_t tl_smpm_arbiter_next(const tl_smpm *m);
static inline bool tl_smpm_batches(const tl_smpm *m) {
    return !m->plan.is_reference && !m->plan.test.fault && !tl_smpm_is_on(m->config.skip_zeros);
}

//  ---- ahead.c: drains that are computed at their swap
// Called after a swap. false: the drain goes row by row.
bool tl_smpm_ahead_begin(tl_smpm *m, uint32_t ccu);
void tl_smpm_ahead_end(tl_smpm *m); // phase 4 of cycle ahead_due
void tl_smpm_lumps_end(tl_smpm *m); // phase 5 of cycle lump_due
// Takes back what has not happened before `cycle`. The drain then goes row by row.
void tl_smpm_ahead_settle(tl_smpm *m, uint32_t ccu, uint64_t cycle);
uint64_t tl_smpm_ahead_unsent(const tl_smpm *m); // records that are counted and not sent yet
// Returns how many records of the lump are not dequeued before `cycle`.
uint32_t tl_smpm_lump_left(const tl_smpm *m, uint32_t channel, uint32_t source, uint64_t cycle);
// Called before records reach FIFOs of channels: lumps of those that serve sources in turn become
// records. Dequeues before `cycle` are done.
void tl_smpm_ahead_unlump(tl_smpm *m, uint32_t channels, uint64_t cycle);
// A channel begins a commit. The rest of each lump waits, or becomes records if it holds units.
void tl_smpm_ahead_pause(tl_smpm *m, uint32_t channel);
// Returns the earliest arrival of a record behind the lump; 0: there is no lump.
uint64_t tl_smpm_lump_behind(const tl_smpm *m, uint32_t channel, uint32_t source);

//  ---- turns.c: lumps in channels that serve several sources in turn
// Adds a lump whose first record has an arrival. tl_smpm_turns_plan must follow in the same cycle.
void tl_smpm_turns_add(tl_smpm *m, uint32_t channel, uint32_t turn, uint32_t n_records, uint64_t arrival);
void tl_smpm_turns_plan(tl_smpm *m); // finds out when lumps end
// Does all dequeues before `until`.
void tl_smpm_turns_run(tl_smpm *m, uint32_t channel, uint64_t until);
void tl_smpm_turns_forget(tl_smpm *m, uint32_t channel); // no lump is left
// A commit begins and ends. No record is dequeued in between.
void tl_smpm_turns_pause(tl_smpm *m, uint32_t channel);
void tl_smpm_turns_resume(tl_smpm *m, uint32_t channel, uint64_t cycle);
// Returns the turn whose last record is dequeued in the present cycle; UINT32_MAX: none.
uint32_t tl_smpm_turns_end(tl_smpm *m, uint32_t channel);

//  ---- manager.c
void tl_smpm_manager_step(tl_smpm *m, uint32_t partition);
// A switch is under way somewhere.
bool tl_smpm_is_switching(const tl_smpm *m);
// Returns the next cycle in which it does something.
uint64_t tl_smpm_manager_next(const tl_smpm *m, uint32_t partition);
uint64_t tl_smpm_manager_soonest(const tl_smpm *m, uint32_t partition); // no switch ends before

//  ---- fast.c
// ULCs see the changed enable or transfer line from `cycle` on.
void tl_smpm_fast_line(tl_smpm *m, uint32_t ccu, uint64_t cycle);
// Called when pulses have moved or a request has come.
void tl_smpm_fast_plan(tl_smpm *m, uint32_t ccu);
// Called before a swap. Reads ULCs of a shared CCU whose rows the drain sends.
void tl_smpm_fast_swap(tl_smpm *m, uint32_t ccu, uint32_t scope);
// Whether every frame that has ended is accounted for.
bool tl_smpm_fast_has_read(const tl_smpm *m, uint32_t ccu);
// No total is read for the next pulse of a source.
bool tl_smpm_pulse_is_unseen(const tl_smpm *m, uint32_t source);
// Phases 2 and 3 of the present cycle.
void tl_smpm_fast_step(tl_smpm *m);
// Returns the next cycle in which a ULC of the CCU is read, or in which that may change.
uint64_t tl_smpm_fast_next_read(const tl_smpm *m, uint32_t ccu);
uint64_t tl_smpm_fast_next(const tl_smpm *m); // reads and ends of frames

//  ---- leap.c
// Passes as many whole periods as nobody sees, from the present cycle. They end before `until`.
void tl_smpm_leap(tl_smpm *m, uint64_t until);

//  ---- model.c
void tl_smpm_block_open(tl_smpm *m, uint32_t block);
void tl_smpm_block_close(tl_smpm *m, uint32_t block, uint64_t cycle);
uint32_t tl_smpm_find_block(const tl_smpm *m, uint32_t vm, uint32_t ctx);
// Metrics of the blocks that a channel points to become available.
void tl_smpm_make_available(tl_smpm *m, uint32_t channel);

#endif
