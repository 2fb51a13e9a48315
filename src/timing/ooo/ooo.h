// SPDX-License-Identifier: MIT
// The parts of an out-of-order core and their contracts, for the files of this folder.
//
// Instructions in flight have sequence numbers: retired < renamed <= fetched. An instruction lives
// in entry seq & ring_mask. Its uops are nodes: node `entry`, and node ring + entry for the data of
// a store. Arrays are indexed by entry or node.
//
// Times of results are in half cycles, because simple ALUs take half a cycle. A result has two
// times: wake[] is when dependents are told, valid[] is when the value is there. They differ when a
// load was taken for a hit and is none: dependents are dispatched for nothing and go round the
// replay loop with it.
#ifndef TL_TIMING_OOO_OOO_H
#define TL_TIMING_OOO_OOO_H

#include <string.h>

#include "model/core.h"
#include "timing/ooo/tage.h"

enum {
    MAX_RING = TL_MAX_IN_FLIGHT,
    MAX_NODES = 2 * MAX_RING,
    N_SOURCES = 3,
    WHEEL = 2048,    // half cycles; a later time goes round more than once
    MAX_LINES = 128, // misses of loads and of stores
    N_REGS = 64,
    N_FILTER = 256,
    MAX_SNOOPS = TL_MAX_HARTS,
};
enum core_cell {
#define SIGNAL(id, name, measure, max_step, meaning) CORE_##id,
#include "timing/ooo/core_signals.def"
#undef SIGNAL
};
static const uint64_t NEVER = UINT64_MAX;
static const uint32_t NO_LINK = UINT32_MAX;

typedef enum tl_issue { // what a node needs of a port
    ISSUE_ALU,
    ISSUE_SHIFT,
    ISSUE_BRANCH,
    ISSUE_MUL,
    ISSUE_DIV,
    ISSUE_FP,
    ISSUE_FP_DIV,
    ISSUE_MOVE,
    ISSUE_LOAD,
    ISSUE_STORE, // address
    ISSUE_DATA,  // of a store
    N_ISSUES
} tl_issue;

typedef enum node_state {
    NODE_NONE,    // not renamed
    NODE_PENDING, // a producer was not dispatched yet
    NODE_TIMED,   // in the wheel
    NODE_READY,   // in a mask of ready nodes
    NODE_DONE,    // dispatched for the last time
} node_state;

// Why a load is not done.
typedef enum load_wait { LOAD_HITS, LOAD_WAITS_TLB, LOAD_WAITS_MISS, LOAD_WAITS_STORE, LOAD_WAITS_SPLIT, LOAD_WAITS_SOURCE } load_wait;

typedef struct predictor {
    tl_bp_kind kind;
    tage *tage; // NULL: another kind
    uint8_t *counters;
    tl_btb_entry *btb;
    uint64_t *stack; // of return addresses, circular
    uint64_t counter_mask, history_mask, btb_mask, history;
    uint32_t stack_entries, stack_top, stack_used;
} predictor;

typedef struct checkpoint { // of the predictor, before the instruction
    uint64_t history;       // the bits themselves, or for TAGE how many were pushed
    uint64_t stack_value;
    uint32_t stack_top, stack_used, counter;
} checkpoint;

typedef struct prediction {
    uint64_t next_pc; // NEVER: unknown, so fetch waits
    bool is_taken, misses_btb;
} prediction;

typedef struct core_tap core_tap; // tap.c

typedef struct trace_cache trace_cache; // trace.c
typedef struct trace_line {
    uint64_t pc[TL_MAX_TRACE_LINE], used_at;
    uint8_t n_insns, n_uops, n_branches, thread; // n_insns: 0: invalid
} trace_line;
typedef struct trace_reader { // fetch of a thread
    trace_line line, built;   // delivered, under construction
    uint32_t n_left;          // instructions of `line` that were not delivered
    uint64_t line_until;      // no other line is delivered before
    uint32_t code_generation;
    uint64_t context;
} trace_reader;
typedef enum trace_mode { TRACE_WAITS, TRACE_DELIVERS, TRACE_BUILDS } trace_mode;

// Resources that the threads of a core have in common. Each thread is a tl_core.
typedef struct core_shared {
    tl_core *threads[TL_MAX_THREADS];
    uint32_t n_threads;
    uint64_t div_until, fp_div_until; // half cycles
    // Lines on their way into the L1D, and the buffers of misses.
    uint64_t line[MAX_LINES], line_until[MAX_LINES];
    // Misses of loads and of stores under way. A miss of a load has a buffer from miss_free_at on.
    // A miss of a store has one from drain_free_at on.
    uint64_t miss_until[MAX_LINES], drain_until[MAX_LINES], miss_free_at, drain_free_at;
    uint32_t n_lines;
    uint64_t last_line_until; // the latest of line_until
    trace_cache *traces;      // NULL: fetch reads the L1I
} core_shared;

typedef struct core_limits { // of a thread: all that the core has, or its share
    uint32_t rob_uops, load_buffers, store_buffers, memory_queue, general_queue;
} core_limits;

typedef struct activity { // of a thread in a cycle
    bool has_fetched, has_renamed, has_dispatched;
    bool has_lost_fetch;      // fetch could go on, and the other thread had its turn
    uint32_t rob_uops, cause; // when retirement is over
} activity;

typedef struct port_budget { // what threads may still dispatch in a cycle
    uint32_t ports[2];       // of each half
    uint32_t room;
} port_budget;

struct tl_core {
    tl_hart *h;
    tl_flow *isa_flow;         // that of the instruction set
    tl_flow *flow;             // that of the tap, which passes calls on, while there is one
    tl_flow *fetch_flow;       // that of the tap, if it asks for fetches
    core_tap *tap, *spare_tap; // NULL: none is attached, none ever was
    core_tap *owner_tap;       // NULL: nobody asks whose counts they are
    tl_arena *arena;
    core_shared *shared;
    uint32_t thread;       // number in the core
    tl_core *const *peers; // cores of all harts of the machine, while a run is under way
    uint32_t n_peers;
    bool is_member; // of the group of the run under way
    core_limits limits;
    bool watches_loads; // stores of other harts matter
    bool has_company;   // another thread of the core has something to run
    uint64_t now_at_suspend;
    const tl_core_config *config;
    const tl_pipeline_config *latency;
    uint32_t half_cycles[TL_N_FLOW_TIMINGS]; // latency
    uint8_t first_issue[TL_N_FLOW_TIMINGS];  // of the first uop
    uint32_t ring, ring_mask, n_words;

    // The window, by sequence number.
    uint64_t retired, renamed, fetched; // each: the first number that is not yet
    uint32_t rob_used, loads_used, stores_used, memory_used, general_used;

    // Clock. h->now is the cycle under way.
    bool is_mid_cycle; // the last run stopped while instructions retired
    bool is_busy;      // something happened in this cycle before that
    bool has_snooped;  // writes of other harts became known in this cycle
    uint32_t retire_left;
    uint32_t n_retired;  // in this cycle
    uint64_t n_fetched;  // `fetched` when the cycle began
    bool was_alone;      // is_alone when the cycle began
    activity did;        // in the last cycle or stretch of skipped cycles
    uint64_t skips_from; // the first skipped cycle; NEVER: it was a single cycle
    uint64_t stop_at;    // instret at which the run stops
    bool has_run_alone;  // in this cycle, whose end h->now has then passed

    // Fetch.
    uint64_t fetch_pc, fetch_until, alone_pc;
    bool is_alone;         // alone_pc waits to be the oldest
    bool waits_for_target; // the last fetched instruction goes nobody knows where
    uint32_t front_capacity;
    tl_class alone_class;
    uint32_t front_cause; // cell that cycles without instructions belong to
    predictor predictor;
    trace_reader trace;

    // Mispredicted instructions that have been dispatched: fetch is redirected at `valid`.
    uint32_t n_resolving;
    uint64_t resolving[MAX_RING];

    uint64_t last_writer[N_REGS]; // sequence number; `retired` and above are in flight

    // One element for each entry.
    tl_flow_insn insn[MAX_RING];
    checkpoint before[MAX_RING];
    uint64_t arrives[MAX_RING], previous_writer[MAX_RING], data_at[MAX_RING];
    uint64_t wake[MAX_RING], valid[MAX_RING], data_valid[MAX_RING]; // half cycles
    uint32_t consumers[MAX_RING];                                   // a list of links
    uint32_t store_number[MAX_RING];                                // stores renamed before it
    // Cell of the cycles in which it was missing.
    uint16_t late_cause[MAX_RING];
    uint8_t n_uops[MAX_RING], wait[MAX_RING];
    bool has_missed[MAX_RING], has_missed_dtlb[MAX_RING], is_split[MAX_RING], has_aliased[MAX_RING];
    bool is_mispredicted[MAX_RING], is_accessed[MAX_RING], is_redirected[MAX_RING];

    // One element for each node.
    uint64_t source[MAX_NODES][N_SOURCES]; // sequence numbers; NEVER: none
    uint64_t node_seq[MAX_NODES], ready_at[MAX_NODES];
    uint32_t link[MAX_NODES][N_SOURCES]; // next consumer of the same producer
    uint32_t next[MAX_NODES], previous[MAX_NODES];
    uint8_t n_pending[MAX_NODES], state[MAX_NODES], issue[MAX_NODES];
    bool was_dispatched[MAX_NODES];

    uint32_t wheel[WHEEL]; // lists of nodes
    uint64_t wheel_used[WHEEL / 64];
    uint64_t wheel_time; // half cycles before this are done
    uint64_t ready[N_ISSUES][MAX_RING / 64];
    uint32_t n_ready[N_ISSUES];
    uint32_t ready_issues; // bit i: n_ready[i] != 0
    uint32_t n_ports;      // that serve a class
    // Classes that a port serves; ports that serve any of these classes.
    uint32_t port_issues[TL_MAX_PORTS];
    uint8_t issues_ports[1 << N_ISSUES];

    // Stores, by number: renamed, then retired, then drained.
    uint32_t first_store, senior_store, end_store;
    uint64_t store_vaddr[TL_MAX_STORE_BUFFERS], store_paddr[TL_MAX_STORE_BUFFERS], store_at[TL_MAX_STORE_BUFFERS],
        store_data_at[TL_MAX_STORE_BUFFERS];
    uint64_t store_seq[TL_MAX_STORE_BUFFERS];
    uint8_t store_size[TL_MAX_STORE_BUFFERS];
    uint16_t store_filter[N_FILTER]; // stores by the eight bytes they touch, in low address bits
    uint64_t drained_at;             // the last miss of a store ends

    // Loads in flight that were looked up, by line; lines that other harts have written since the
    // last cycle; the load that is read again after a clear.
    uint16_t load_filter[N_FILTER];
    uint64_t snooped[MAX_SNOOPS], snooped_at[MAX_SNOOPS], spared_seq;
    uint32_t n_snooped;

    uint64_t *tally;         // of the unit `core`
    uint64_t miss_until_any; // a miss of a load is under way until this cycle at least
    uint64_t room_cell;      // why rename stopped in this cycle: a cell of `tally`, or NEVER
    // Rename slots without a uop in this cycle, and their cell of `tally`.
    uint32_t slots_left, slot_cell;
};

TL_ALWAYS_INLINE uint32_t entry_of(const tl_core *core, uint64_t seq) { return (uint32_t)seq & core->ring_mask; }
TL_ALWAYS_INLINE uint64_t cycle_of(uint64_t half_cycles) {
    return half_cycles / 2 + (half_cycles & 1);
} // the first cycle that begins then or later

// In half cycles, from dispatch to result. A load: of a hit.
TL_ALWAYS_INLINE uint32_t latency_of(const tl_core *core, const tl_flow_insn *insn) { return core->half_cycles[insn->timing]; }

// Only these change the history and the return stack, and have a checkpoint.
_Static_assert(TL_CLASS_JAL == TL_CLASS_BRANCH + 1 && TL_CLASS_JALR == TL_CLASS_JAL + 1, "control transfers are neighbors");
TL_ALWAYS_INLINE bool is_control(const tl_flow_insn *insn) {
    return (uint32_t)insn->pipe.cls - TL_CLASS_BRANCH <= (uint32_t)TL_CLASS_JALR - TL_CLASS_BRANCH;
}

// Counts an instruction in the first of three cells: loads, stores, branches.
TL_ALWAYS_INLINE void count_class(tl_core *core, uint32_t first, uint32_t issue) {
    if (issue == ISSUE_LOAD)
        core->tally[first] += 1;
    else if (issue == ISSUE_STORE)
        core->tally[first + 1] += 1;
    else if (issue == ISSUE_BRANCH)
        core->tally[first + 2] += 1;
}

// Calls of the memory system take their time by adding to h->now and to cells of the CPI stack. A
// core asks for the time and spends it otherwise.
typedef struct port_call {
    uint64_t now, device, cells[6];
} port_call;
static const uint32_t FIRST_CELL = TL_S_HART_CYC_MISALIGNED; // of the row of the CPI stack
TL_ALWAYS_INLINE void port_call_begin(const tl_core *core, port_call *ret_call) {
    ret_call->now = core->h->now;
    ret_call->device = core->h->tally[TL_S_HART_CYC_MMIO];
    memcpy(ret_call->cells, core->h->tally + FIRST_CELL, sizeof ret_call->cells);
}
// memory.c. The call took some time.
uint64_t port_call_take(tl_core *core, const port_call *call, uint64_t *ret_translation);
// Returns the cycles the call took, and how many of them were for translation.
TL_ALWAYS_INLINE uint64_t port_call_end(tl_core *core, const port_call *call, uint64_t *ret_translation) {
    *ret_translation = 0;
    return core->h->now == call->now ? 0 : port_call_take(core, call, ret_translation);
}

// predict.c
// Shares counters and BTB with `bp`.
tl_status predictor_init(predictor *p, const tl_bpred *bp, const tl_config *config, tl_arena *arena, tl_error *err);
// Of a control transfer, at its fetch.
prediction predictor_predict(predictor *p, const tl_flow_insn *insn, checkpoint *ret_before);
void predictor_restore(predictor *p, const checkpoint *before);
// Replays after a restore as if the prediction had been right.
void predictor_replay(predictor *p, const tl_flow_insn *insn);
void predictor_train(predictor *p, const tl_flow_insn *insn, const checkpoint *before, bool was_right, uint64_t *tally);

// Gives h->bp the history and the return stack, and takes them back with what was learned since.
void predictor_give(const predictor *p, tl_bpred *bp);
void predictor_take(predictor *p, tl_bpred *bp);

// trace.c: only while core->shared->traces is not NULL.
tl_status trace_new(const tl_core_config *config, tl_arena *arena, trace_cache **ret_traces, tl_error *err);
// Returns how fetch gets the instruction at pc in this cycle. is_first: it is the first one of the
// cycle, which may begin a line.
trace_mode trace_find(tl_core *core, uint64_t pc, bool is_first);
TL_ALWAYS_INLINE trace_mode trace_next(tl_core *core, uint64_t pc, bool is_first) {
    const trace_reader *trace = &core->trace;
    // Code and address space do not change within a cycle.
    if (!is_first && trace->n_left != 0 && trace->line.pc[trace->line.n_insns - trace->n_left] == pc)
        return TRACE_DELIVERS;
    return trace_find(core, pc, is_first);
}
void trace_build(tl_core *core, const tl_flow_insn *insn); // it was fetched so
// The line under construction is complete.
void trace_end(tl_core *core);
// Fetch goes on elsewhere, and drops the line under construction.
void trace_redirect(tl_core *core);

// window.c: rename, wake-up, dispatch.
void window_set_timings(tl_core *core);
bool window_rename(tl_core *core);
// The next instruction has come through the front end.
TL_ALWAYS_INLINE bool window_has_arrived(const tl_core *core) {
    return core->renamed < core->fetched && core->arrives[entry_of(core, core->renamed)] <= core->h->now;
}
// Takes from the budget what it dispatches.
bool window_dispatch(tl_core *core, port_budget *budget);
// Returns the cell of `tally` of what the next instruction finds full. NEVER: nothing, or none has
// arrived.
uint64_t window_stall_cell(const tl_core *core);
// Instead of window_rename, when the other thread has its turn. Returns whether rename could go on.
bool window_yield(tl_core *core);
// Takes back that instruction and all younger ones. knows_flow: the flow has forgotten them.
void window_squash(tl_core *core, uint64_t first, bool knows_flow);
// Half cycle of the next node in the wheel; NEVER: none.
uint64_t window_next_time(const tl_core *core);
void window_wake_consumers(tl_core *core, uint32_t entry, uint64_t wake);
TL_ALWAYS_INLINE void window_wake(tl_core *core, uint32_t entry, uint64_t wake) {
    core->wake[entry] = wake;
    if (core->consumers[entry] != NO_LINK)
        window_wake_consumers(core, entry, wake);
}
void window_retry(tl_core *core, uint32_t node, uint64_t half);

// tap.c: told only while core->tap is not NULL.
// Owners of the next counts, for tl_tap.owners, only while core->owner_tap is not NULL: a store
// that drains, an instruction in flight, the one that executes alone, the next one of fetch, the
// next one of renaming.
void tap_drain(const core_tap *tap);
void tap_own(const core_tap *tap, uint32_t entry);
void tap_own_alone(const core_tap *tap);
void tap_own_fetch(const core_tap *tap);
void tap_rename(const core_tap *tap);
// The instruction of the entry owns the next counts, and all younger ones are about to be taken
// back. It was mispredicted, or is taken back as the oldest one.
void tap_squash(core_tap *tap, uint32_t entry);
void tap_dispatch(core_tap *tap, uint32_t node); // the dispatch is over
// Called at the end of a cycle. !is_busy: nothing happened in it.
void tap_cycle(core_tap *tap, uint32_t cause, bool is_busy);
// The tap takes a sample of the oldest instruction, which must not retire.
bool tap_captures(core_tap *tap, uint32_t entry);
// All in flight was taken back. Returns the cycles that the sample takes.
uint32_t tap_assist(core_tap *tap);
// Before counts of skipped cycles are taken back, and behind that.
void tap_own_skipped(const core_tap *tap);
void tap_own_as_before(const core_tap *tap);
// h->now has gone back to an idle cycle that was skipped.
void tap_rewind(core_tap *tap);

// memory.c: loads and stores.
void memory_load(tl_core *core, uint32_t node, uint64_t half); // dispatches
// Dispatches the address of a store, which is looked up in the DTLB.
void memory_store(tl_core *core, uint32_t node, uint64_t half);
// One retired store goes to the L1D. Call it if memory_may_drain.
void memory_drain(tl_core *core);
void memory_drain_now(tl_core *core); // all retired stores
bool memory_is_drained(const tl_core *core);
static inline bool memory_may_drain(const tl_core *core) {
    return core->first_store != core->senior_store && core->shared->drain_free_at <= core->h->now;
}
uint64_t memory_next_drain(const tl_core *core); // cycle; NEVER: nothing to drain
// A store buffer is taken, or no longer.
void memory_note_store(tl_core *core, uint32_t store, int change);
// A load that was looked up is in flight from now on, or no longer.
void memory_note_load(tl_core *core, uint32_t entry, int change);
// The line was written for this hart in its cycle under way. Other harts find out in the next one.
void memory_tell_peers(const tl_core *core, uint64_t line);
// Returns the oldest load in flight that has read a line written before this cycle, or NEVER.
uint64_t memory_oldest_snooped(tl_core *core);

// core.c: cycles. A run of several harts:
typedef struct core_run {
    uint64_t *n_insns; // that may retire
    tl_core *entered;  // the host's floating-point environment is that of its flow
} core_run;
// A cycle, or a stretch of cycles in which nothing happens. false: the run stops.
bool core_cycle(tl_core *core, tl_stop *ret_stop);
// A cycle of two threads, with the turn of the first. Returns the thread that stops the run, or
// NULL.
tl_core *core_cycle_of_two(core_run *run, tl_core *first, tl_core *second, tl_stop *ret_stop);
void core_rewind(tl_core *core, uint64_t cycle); // to that cycle, if it was skipped
void core_resume(tl_core *core);
void core_suspend(tl_core *core);

// group.c
void core_enter(core_run *run, tl_core *core);
void core_set_stop(const core_run *run, tl_core *core);

#endif
