// SPDX-License-Identifier: MIT
// Calling contexts of a detailed core, for model/callgraph.h. The graph follows instructions that
// retire, and an instruction counts events long before. Its counts are held back until it retires,
// and then go to the context under way.
//
// Counts of instructions that are taken back go where the wrong path began: to the instruction that
// was mispredicted, and with it to its context, or with it to an older one that was mispredicted.
// If there is no such instruction, the oldest that is taken back has all counts, because it is
// fetched again. An interrupt takes back all that is in flight, and the context that it interrupts
// has the counts.
#ifndef TL_MODEL_CALLGRAPH_FLIGHT_H
#define TL_MODEL_CALLGRAPH_FLIGHT_H

#include "model/callgraph.h"

typedef struct tl_call_flight tl_call_flight;

// The flight is freed before the graph. max_in_flight: a power of two. TL_ENOMEM.
TL_MUST_CHECK tl_status tl_call_flight_new(tl_callgraph *graph, uint32_t n_harts, uint32_t max_in_flight, tl_call_flight **ret_flight,
                                           tl_error *err);
void tl_call_flight_free(tl_call_flight *flight); // NULL is fine

// seq is a number in program order. Numbers of what was taken back are used again.

// Where counts of this instruction go now. It is in flight, or is the next one of fetch.
uint64_t *tl_call_flight_counts(tl_call_flight *flight, uint32_t hart, uint64_t seq);
// The instruction retires in the context under way, which gets the counts it has had so far.
// Returns the context.
uint32_t tl_call_flight_retire(tl_call_flight *flight, uint32_t hart, uint64_t seq);
// Instruction `to` gets the counts of all younger ones.
void tl_call_flight_squash(tl_call_flight *flight, uint32_t hart, uint64_t to);
// The run ends. Until the next one the context under way may change.
void tl_call_flight_suspend(tl_call_flight *flight, uint32_t hart);
// Counts of this instruction and of younger ones go to the context of the last suspension. Returns
// the context.
uint32_t tl_call_flight_drop(tl_call_flight *flight, uint32_t hart, uint64_t first);
// After the last run: no counts are held back from now on.
void tl_call_flight_finish(tl_call_flight *flight);

#endif
