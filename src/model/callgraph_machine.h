// SPDX-License-Identifier: MIT
// Shadow stacks of system software, for model/callgraph.c. A stack is one of a task: frames of a
// program, of the trap that interrupted it, and of the kernel that serves the trap. Any hart may
// go on with it.
//
// A trap is a call from the instruction that trapped. An interrupt has no caller: it is a root. A
// return from a trap with the address and stack pointer of the trap goes on below it. Other ones
// go on with the stack that waits in a trap at that address and stack pointer, or begin a stack.
// A return that no frame of the stack waits for goes on with the stack that waits for it, as task
// switches do, or begins a stack.
//
// Contexts are in the space of the hart. When the space changes under a stack, its path is carried
// into the tree of the new space: from the last trap on, if that is another process.
#ifndef TL_MODEL_CALLGRAPH_MACHINE_H
#define TL_MODEL_CALLGRAPH_MACHINE_H

#include "model/callgraph.h"

typedef struct tl_call_machine tl_call_machine;

// NULL: no memory.
tl_call_machine *tl_call_machine_new(tl_callgraph *graph, uint64_t (*process_of)(const void *ctx, uint64_t space), const void *ctx);
void tl_call_machine_free(tl_call_machine *machine); // NULL is fine
// As the functions of callgraph.h, and the hooks of its sink.
void tl_call_machine_space(tl_call_machine *m, uint32_t hart, uint64_t space);
void tl_call_machine_began(tl_call_machine *m, uint32_t hart, uint64_t pc);
void tl_call_machine_call(tl_call_machine *m, uint32_t hart, uint64_t pc, uint64_t target, uint64_t return_pc, uint64_t sp);
void tl_call_machine_return(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp);
void tl_call_machine_jump(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp);
void tl_call_machine_trap(tl_call_machine *m, uint32_t hart, const tl_call_trap *trap);
void tl_call_machine_trap_return(tl_call_machine *m, uint32_t hart, uint64_t target, uint64_t sp, uint32_t priv);

// The tree, which callgraph.c gives. TL_NO_CONTEXT: no memory, and tl_callgraph_check says so.

uint32_t tl_callgraph_root(tl_callgraph *graph, uint64_t space, uint64_t entry_pc);
// The context to which a call or a trap of `from` leads.
uint32_t tl_callgraph_callee(tl_callgraph *graph, uint32_t from, uint64_t call_pc, uint64_t entry_pc);
void tl_callgraph_count_call(tl_callgraph *graph, uint32_t context); // TL_NO_CONTEXT is fine
void tl_callgraph_mark_trap(tl_callgraph *graph, uint32_t context);  // the same
// The context is under way on the hart.
void tl_callgraph_set_current(tl_callgraph *graph, uint32_t hart, uint32_t context);
// A root that was made before its first instruction was known.
void tl_callgraph_name_root(tl_callgraph *graph, uint32_t context, uint64_t entry_pc);
bool tl_callgraph_is_entry(tl_callgraph *graph, uint64_t pc); // it was called
void tl_callgraph_lack_memory(tl_callgraph *graph);
// Makes room for item n of an array made by malloc. *room grows. false: the host has no memory.
bool tl_callgraph_grow(void **items, uint32_t n, uint32_t *room, size_t item_bytes);

#endif
