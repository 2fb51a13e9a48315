// SPDX-License-Identifier: MIT
// Hierarchical, secure, multi-client performance monitoring: the hardware of one chip, cycle by
// cycle. Unit-level counters (ULCs) send frames to collection units (CCUs). CCUs send records to
// channels. Channels add into memory blocks of the device, of each VM and of each context. The
// switch manager runs steps CS2 to CS13 of a context switch. docs/smpm.md states the rules.
// Source: US 12,468,616 B2, by paragraph [P n].
//
// Two implementations share everything behind the serial lines. The reference steps each cycle and
// sends each bit. The fast one computes windows from running totals and skips cycles. They agree in
// every frame, record, block and cycle stamp.
//
// Time is in PM cycles. tl_smpm_run simulates all cycles before `until`. Commands act in the first
// phase of the next cycle, tl_smpm_now. Nothing allocates after tl_smpm_new.
#ifndef TL_PMU_SMPM_MODEL_H
#define TL_PMU_SMPM_MODEL_H

#include "base/arena.h"
#include "pmu/smpm/access.h"
#include "pmu/smpm/block.h"
#include "pmu/smpm/layout.h"

#define TL_SMPM_NO_VM UINT32_MAX // nobody: the partition is not monitored
#define TL_SMPM_NEVER UINT64_MAX // a cycle that does not come
#define TL_SMPM_NO_BLOCK_ID UINT32_MAX

typedef struct tl_smpm tl_smpm;

// ---- host ----

// Inputs of one ULC in one cycle. Filters are applied by the host: a filtered ULC
// hears only the events of its filter (tl_smpm_filter_of).
typedef struct tl_smpm_inputs {
    uint64_t bits;                    // bit i: one-bit signal i of the unit type
    uint8_t multi[TL_SMPM_MAX_MULTI]; // units of each multi-bit input, at most mb_max
} tl_smpm_inputs;

// Running totals of the inputs of one ULC over all cycles before a given one. They never decrease.
typedef struct tl_smpm_totals {
    uint64_t bits[TL_SMPM_MAX_CTRS];     // cycles in which one-bit signal i was 1
    uint64_t sums[TL_SMPM_MAX_MULTI];    // units of multi-bit input i
    uint64_t nonzero[TL_SMPM_MAX_MULTI]; // cycles in which multi-bit input i was not 0
} tl_smpm_totals;

// Oldest cycle of a question about a shared unit, before the beginning of a run: a window and its
// frame, each of which has fewer than 65536 cycles.
enum { TL_SMPM_LATE_CYCLES = 2 * 65536 };

typedef struct tl_smpm_host {
    void *ctx;
    // The fast model asks in cycles that tl_smpm_next has named. For a ULC of a shared unit it may
    // ask for any cycle of a tl_smpm_run, and for TL_SMPM_LATE_CYCLES before. Cycles ascend for
    // each ULC.
    void (*totals)(void *ctx, uint32_t ulc, uint64_t cycle, tl_smpm_totals *ret_totals);
    // The reference asks in every cycle for every enabled ULC.
    void (*inputs)(void *ctx, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs);
} tl_smpm_host;

// ---- observers: all may be NULL. A frame observer makes the fast model visit every window. ----

typedef struct tl_smpm_frame {
    uint32_t ulc;
    uint64_t start, end; // cycles of the marks START and END
    bool is_final, has_ovf, is_dropped;
    uint16_t values[TL_SMPM_MAX_CTRS];
    uint16_t residues[TL_SMPM_MAX_MULTI]; // of a final frame
} tl_smpm_frame;

typedef enum tl_smpm_record_type { TL_SMPM_DATA = 1, TL_SMPM_EMPTY = 2, TL_SMPM_RESIDUE = 3 } tl_smpm_record_type;

// 256 bits as they travel [P 61]. header: bits 0..2 type, 3..10 ccu_id, 11..19 row, 20 OVF,
// 21 LOSSY, 22 FINAL, 23 even PARITY of all 256 bits, 24..31 seq. An EMPTY record carries the flush
// id in seq and the sequence number in lane 0.
typedef struct tl_smpm_record {
    uint32_t header;
    uint32_t lanes[TL_SMPM_REC_CTRS];
} tl_smpm_record;
enum { TL_SMPM_REC_OVF = 1 << 20, TL_SMPM_REC_LOSSY = 1 << 21, TL_SMPM_REC_FINAL = 1 << 22, TL_SMPM_REC_PARITY = 1 << 23 };

typedef enum tl_smpm_fate { // of a record that a channel dequeued
    TL_SMPM_TAKEN,
    TL_SMPM_STALE,     // older than the channel accepts
    TL_SMPM_BROKEN,    // wrong parity
    TL_SMPM_MISROUTED, // no route leads here
} tl_smpm_fate;

typedef struct tl_smpm_observer {
    void *ctx;
    void (*frame)(void *ctx, const tl_smpm_frame *frame); // in the cycle of END
    void (*record)(void *ctx, uint64_t cycle, uint32_t channel, uint32_t source, const tl_smpm_record *record, tl_smpm_fate fate);
    // A CCU swaps its banks. scope: only rows of this partition leave it; TL_SMPM_SHARED: all do.
    void (*drain)(void *ctx, uint32_t ccu, uint32_t scope);
    // Called in the cycle of the last add.
    void (*commit)(void *ctx, uint64_t begin_cycle, uint64_t end_cycle, uint32_t channel);
} tl_smpm_observer;

// ---- tests only ----

typedef enum tl_smpm_fault { // `index` of the question; a nonzero answer makes it happen
    TL_SMPM_LOSE_EXT,        // TB: the pulse reaches no CCU
    TL_SMPM_MUTE_CCU,        // CCU: it serves no trigger and drains nothing
    TL_SMPM_STALL_CHANNEL,   // channel: it dequeues nothing
    TL_SMPM_STALL_MANAGER,   // partition: no command in this cycle
    TL_SMPM_REFUSE_ADD,      // channel: memory refuses the add
    // ULC: inverts bit `answer` - 1 of data lanes, then mark. Reference only.
    TL_SMPM_FLIP_WIRE,
    TL_SMPM_FLIP_RECORD, // channel: bit answer - 1 of the record is inverted as it is dequeued
} tl_smpm_fault;

// Steps that are left out, and wrong designs that tests must notice. Bit n of `mutations`.
typedef enum tl_smpm_mutation {
    TL_SMPM_NO_CS2 = 2, // 2..13: step CSn is left out
    TL_SMPM_NO_CS5B = 14,
    TL_SMPM_SWAP_CS7_CS10, // the channel points to the incoming context before it commits
    TL_SMPM_M_ACC,         // the accumulator of a multi-bit input keeps its most significant bit
    TL_SMPM_M_ACK,         // a flush is acknowledged when EMPTY is sent
    TL_SMPM_M_BANK,        // banks swap while a drain runs
    TL_SMPM_M_RES,         // residues stay in place at a switch
    TL_SMPM_M_RESET,       // an accumulator is reset before memory has accepted the add
    TL_SMPM_M_BLIND,       // the event of a snapshot's cycle is lost
    TL_SMPM_M_STALE,       // channels accept records of any sequence number
    TL_SMPM_N_MUTATIONS
} tl_smpm_mutation;

typedef struct tl_smpm_test {
    void *ctx;
    uint32_t (*fault)(void *ctx, tl_smpm_fault kind, uint32_t index, uint64_t cycle); // NULL: none
    // Set of 1u << tl_smpm_mutation.
    uint32_t mutations;
    // Provenance: the set of tenants (bit numbers) whose events an input carries in a cycle. With
    // it every count keeps the set of tenants that contributed. Reference only; NULL: none kept.
    uint64_t (*tenants)(void *ctx, uint32_t ulc, uint64_t cycle);
    uint64_t (*owners)(void *ctx, uint32_t vm, uint32_t ctx_id); // tenants that a block may hold
} tl_smpm_test;

// ---- life ----

typedef struct tl_smpm_plan {
    tl_smpm_config config;        // resolved, shared_slot included
    const tl_smpm_layout *layout; // copied
    uint32_t n_blocks;            // capacity: VM and context blocks that exist at once
    uint32_t flush_cycles;        // CS8 takes so much longer if the VM changes
    bool is_reference;
    // never_switches promises that nobody calls tl_smpm_switch_to, which then refuses. LITERAL may
    // skip windows, too.
    bool never_switches;
    // stands_still promises that totals of a partition do not grow from tl_smpm_switch_to to the
    // end of that switch. The fast model may then ask for them in any cycle of a tl_smpm_run, and
    // LITERAL may skip windows of inputs that are counted high.
    bool stands_still;
    tl_smpm_host host;
    tl_smpm_observer observer;
    tl_smpm_test test; // all zero outside tests
} tl_smpm_plan;

// Cycle 0, everything disabled, blocks of device (VM0) and channel D formatted. Memory is of the
// arena. TL_EINVAL: configuration and layout contradict each other, in one sentence.
TL_MUST_CHECK tl_status tl_smpm_new(const tl_smpm_plan *plan, tl_arena *arena, tl_smpm **ret_model, tl_error *err);
// All that changes, as one run of bytes without pointers. A checkpoint is a copy; restoring it into
// a model of the same plan continues identically (F-23).
void *tl_smpm_state(tl_smpm *model, size_t *ret_n_bytes);

uint64_t tl_smpm_now(const tl_smpm *model);
// Simulates every cycle before `until`; a smaller `until` than now is harmless.
void tl_smpm_run(tl_smpm *model, uint64_t until);
// A cycle c: the fast model reads no total of a partition before c, and no switch ends before c.
// Call tl_smpm_run(model, c + 1) when the units have reached the beginning of cycle c, and ask
// again. At least tl_smpm_now. Commands change it. Blocks are read after tl_smpm_run(model,
// present).
uint64_t tl_smpm_next(const tl_smpm *model);
// As tl_smpm_next, of one partition alone: the fast model reads none of its totals before, and no
// switch of it ends before. Commands for other partitions do not bring it forward.
uint64_t tl_smpm_next_of(const tl_smpm *model, uint32_t partition);
// Promises that nobody looks at blocks before `until`; TL_SMPM_NEVER: not before a later call. The
// fast model then reads totals only for triggers whose values somebody may see, and passes whole
// periods at once. Cycle stamps, and blocks from `until` on, are those of the reference. A smaller
// `until` ends a promise: blocks are then right tl_smpm_lag cycles later. Initially 0.
void tl_smpm_unseen(tl_smpm *model, uint64_t until);
uint64_t tl_smpm_lag(const tl_smpm *model);
// Totals are read in each window, because values depend on how windows are cut.
bool tl_smpm_reads_windows(const tl_smpm *model);

// ---- commands: they act in cycle tl_smpm_now ----

// A VM or a context comes to be: its block is formatted. TL_EINVAL: it exists, or no block is free.
TL_MUST_CHECK tl_status tl_smpm_vm_new(tl_smpm *model, uint32_t vm, tl_error *err);
TL_MUST_CHECK tl_status tl_smpm_ctx_new(tl_smpm *model, uint32_t vm, uint32_t ctx, tl_error *err);
// The block is erased; a VM's totals go to part RETIRED of the VM0 block, and its contexts go with
// it. TL_EINVAL: it does not exist, it runs, or a switch to it is queued.
TL_MUST_CHECK tl_status tl_smpm_ctx_free(tl_smpm *model, uint32_t vm, uint32_t ctx, tl_error *err);
TL_MUST_CHECK tl_status tl_smpm_vm_free(tl_smpm *model, uint32_t vm, tl_error *err);

// First context of a partition: points its channel and enables its ULCs without a switch. With
// TL_SMPM_SHARED (vm and ctx unused) it enables the shared units. ctx TL_SMPM_NO_CTX: the VM runs,
// none of its contexts does. TL_EINVAL: it is enabled already, or no such block.
TL_MUST_CHECK tl_status tl_smpm_start(tl_smpm *model, uint32_t partition, uint32_t vm, uint32_t ctx, tl_error *err);
// The harts of the partition are halted and drained (CS1). CS2 follows in this cycle. vm
// TL_SMPM_NO_VM: the partition stays disabled. During a switch the request is queued (F-09).
// TL_EINVAL: no such block, or the queue is full.
TL_MUST_CHECK tl_status tl_smpm_switch_to(tl_smpm *model, uint32_t partition, uint32_t vm, uint32_t ctx, tl_error *err);
// Trigger, flush and commit without a pause. All events before the request are included, because
// the trigger waits for one window and one frame. false: refused by the rate limit or a switch;
// nothing happens.
bool tl_smpm_snapshot(tl_smpm *model, uint32_t partition);
// REG: software triggers one CCU. The pulse comes one window and one frame later, too.
void tl_smpm_trigger(tl_smpm *model, uint32_t ccu);
// Filter of a shared unit's ULC. Its CCU must be disabled. TL_EINVAL: two filters of one unit
// would count the same event.
TL_MUST_CHECK tl_status tl_smpm_filter_set(tl_smpm *model, uint32_t ulc, const tl_smpm_filter *filter, const tl_smpm_route *route,
                                           tl_error *err);
// Bit i: counter i is not added in the CCU [P 60]. The CCU must be disabled. TL_EINVAL: the mask
// would take counters from channel D.
TL_MUST_CHECK tl_status tl_smpm_mask_set(tl_smpm *model, uint32_t ulc, uint64_t mask, tl_error *err);

// Which ULCs feed channel D. No command takes one away (K6).
void tl_smpm_coverage_get(const tl_smpm *model, tl_smpm_coverage *ret_coverage);

// The ULC of a shared unit that counts an event with this tag and engine: the most specific
// filter, else the unit's REST; UINT32_MAX: none.
uint32_t tl_smpm_filter_of(const tl_smpm *model, uint32_t unit, uint32_t vm, uint32_t ctx, uint32_t engine);

// ---- state ----

typedef enum tl_smpm_step {
    TL_SMPM_IDLE,
    TL_SMPM_SNAPSHOT, // a snapshot request is being served
    TL_SMPM_CS2 = 2,  // 2..13: CSn is the next command
    TL_SMPM_CS13 = 13,
    TL_SMPM_CS5B = 14,
} tl_smpm_step;

// The last or the present switch of a partition.
typedef struct tl_smpm_switched {
    uint32_t step;     // tl_smpm_step; TL_SMPM_IDLE: done
    uint32_t n_queued; // switches that wait behind it
    uint32_t n_done;   // switches so far
    uint32_t missing;  // CCUs that did not answer the flush (F-05)
    uint64_t at[15];   // cycle of each step, by tl_smpm_step
} tl_smpm_switched;
void tl_smpm_switched_get(const tl_smpm *model, uint32_t partition, tl_smpm_switched *ret_switched);
bool tl_smpm_is_enabled(const tl_smpm *model, uint32_t partition);

// Blocks by number: 0 is VM0, 1 is channel D's, others by tl_smpm_block_of. Words are borrowed, in
// the layout of block.h, and change only in tl_smpm_run and in commands.
// ctx TL_SMPM_NO_CTX: the VM's block. Returns TL_SMPM_NO_BLOCK_ID if there is none.
uint32_t tl_smpm_block_of(const tl_smpm *model, uint32_t vm, uint32_t ctx);
const uint64_t *tl_smpm_block_words(const tl_smpm *model, uint32_t block, uint32_t *ret_n_words);

typedef struct tl_smpm_counters { // since cycle 0
    uint64_t bad_frames, coalesced, misroutes, stale, bad_records, lossy_epochs;
    // foreign: provenance found another tenant's units.
    uint64_t frames, records, adds, commits, refused_adds, snapshots, foreign;
} tl_smpm_counters;
void tl_smpm_counters_get(const tl_smpm *model, tl_smpm_counters *ret_counters);

// Units on their way (I8): everything sent or counted that no block holds yet, as exact sums of
// counter `ctr` (or residues of multi-bit input `ctr - TL_SMPM_MAX_CTRS`) of a ULC's type.
// Reference only.
uint64_t tl_smpm_in_flight(const tl_smpm *model, uint32_t type, uint32_t ctr);

#endif
