// SPDX-License-Identifier: MIT
// Call graph: exact counts by calling context. A shadow stack for each space of an attribution
// follows calls and returns. A context is a function, called from one instruction of another
// context. Counts that the attribution books go to the context under way, so that contexts sum up
// to the totals, too.
//
// No frame pointer and no symbol is read. A call writes a link register. A return goes where a call
// said, with the stack pointer of that call. Another way back up the stack (longjmp, an exception)
// drops all frames below the stack pointer. A stack pointer beyond the stack under way
// is another stack, as coroutines have them. A jump to an address that was called before is a tail
// call: the context is replaced by its neighbor. Stacks of system software: callgraph_machine.h.
//
// Recursion: a function that an outer context of the path has, called from one instruction in both,
// is that outer context again. Memory follows contexts, not depth and not the length of a run.
#ifndef TL_MODEL_CALLGRAPH_H
#define TL_MODEL_CALLGRAPH_H

#include "base/status.h"
#include "model/attribution.h"

typedef struct tl_callgraph tl_callgraph;

static const uint32_t TL_NO_CONTEXT = UINT32_MAX;

typedef struct tl_call_context {
    uint64_t space;
    uint64_t entry_pc; // of the function; of a root, the first instruction of its stack
    uint64_t call_pc;  // the call, or the instruction that a signal interrupted; 0: of a root
    uint32_t parent;   // has a smaller number; TL_NO_CONTEXT: a root
    bool is_trap;      // entry_pc is a handler of traps
    uint64_t n_calls;  // how often it was entered, by recursion, too
    uint64_t counts[]; // by event: what it caused itself
} tl_call_context;

// Before the first run. event_of[cell] is the event that a cell of the probe counts for, below
// n_events, or TL_NO_EVENT. executed_event: that of executed instructions, or TL_NO_EVENT.
// TL_ENOMEM.
TL_MUST_CHECK tl_status tl_callgraph_new(tl_attribution *attribution, const tl_probe *probe, const uint8_t *event_of, uint32_t n_events,
                                         uint8_t executed_event, tl_callgraph **ret_graph, tl_error *err);
void tl_callgraph_free(tl_callgraph *graph); // NULL is fine
// For system software, after tl_callgraph_new: stacks belong to tasks that any hart may run, and
// not to spaces (callgraph_machine.h). process_of says which spaces are of one process. TL_ENOMEM.
TL_MUST_CHECK tl_status tl_callgraph_follow_machine(tl_callgraph *graph, uint64_t (*process_of)(const void *ctx, uint64_t space),
                                                    const void *ctx, tl_error *err);

// Contexts in order of their first call. Rows must have been asked for after the run
// (tl_attribution_rows), which books what is held back.
uint32_t tl_callgraph_n_contexts(const tl_callgraph *graph);
const tl_call_context *tl_callgraph_context(const tl_callgraph *graph, uint32_t number);
// TL_ENOMEM: the host had no memory for a context. TL_EINVAL: contexts do not sum up to the rows.
TL_MUST_CHECK tl_status tl_callgraph_check(tl_callgraph *graph, tl_error *err);

// For engines: the instruction at pc retired and was counted, the next one is that at target. sp is
// the stack pointer.
void tl_callgraph_call(tl_callgraph *graph, uint32_t hart, uint64_t pc, uint64_t target, uint64_t return_pc, uint64_t sp);
void tl_callgraph_return(tl_callgraph *graph, uint32_t hart, uint64_t target, uint64_t sp);
void tl_callgraph_jump(tl_callgraph *graph, uint32_t hart, uint64_t target, uint64_t sp);
// Whether a direct jump to target must be told now. An engine that keeps the answer asks again when
// the generation has changed.
bool tl_callgraph_wants_jump(tl_callgraph *graph, uint64_t target);
uint32_t tl_callgraph_generation(const tl_callgraph *graph);
// One of these for an unconditional jump. return_pc: behind it.
typedef struct tl_call_jump {
    uint64_t pc, target, return_pc, sp;
    bool is_call, is_return, is_indirect;
} tl_call_jump;
static inline void tl_callgraph_tell_jump(tl_callgraph *graph, uint32_t hart, const tl_call_jump *jump) {
    if (jump->is_call)
        tl_callgraph_call(graph, hart, jump->pc, jump->target, jump->return_pc, jump->sp);
    else if (jump->is_return)
        tl_callgraph_return(graph, hart, jump->target, jump->sp);
    else if (jump->is_indirect || tl_callgraph_wants_jump(graph, jump->target))
        tl_callgraph_jump(graph, hart, jump->target, jump->sp);
}

// For cores that book later what a context caused (callgraph_flight.h).
uint32_t tl_callgraph_n_events(const tl_callgraph *graph);
uint32_t tl_callgraph_under_way(const tl_callgraph *graph, uint32_t hart);
// Where counts of a context go now; those of TL_NO_CONTEXT are lost. It changes when the recorded
// part of the run begins or ends.
uint64_t *tl_callgraph_counts(tl_callgraph *graph, uint32_t context);
// Where counts go now outside of the recorded part of the run. NULL: it is being recorded.
uint64_t *tl_callgraph_outside_counts(tl_callgraph *graph);
// Adds n_events counts, which are of the recorded part of the run.
void tl_callgraph_add(tl_callgraph *graph, uint32_t context, const uint64_t *counts);

// For instruction sets: the hart is about to execute the handler.
typedef struct tl_call_trap {
    uint64_t pc, sp; // where the hart was
    uint64_t handler_pc;
    uint32_t old_priv, priv; // before, and of the handler; 0: of user programs
    bool is_interrupt;
} tl_call_trap;
void tl_callgraph_trap(tl_callgraph *graph, uint32_t hart, const tl_call_trap *trap);
// A return from a trap retired and was counted. sp and priv are those of the next instruction.
void tl_callgraph_trap_return(tl_callgraph *graph, uint32_t hart, uint64_t target, uint64_t sp, uint32_t priv);
// tl_callgraph_trap and tl_callgraph_trap_return for the graph of the hart, if there is one. The
// return is to h->pc, in h->priv.
void tl_callgraph_tell_trap(tl_hart *h, const tl_call_trap *trap);
void tl_callgraph_tell_trap_return(tl_hart *h);
// For the personality: a signal interrupted the hart at pc. Its handler returns to return_pc.
void tl_callgraph_signal(tl_callgraph *graph, uint32_t hart, uint64_t pc, uint64_t handler, uint64_t return_pc, uint64_t sp);

#endif
