// SPDX-License-Identifier: MIT
// The functional stream of a hart, as a detailed core asks for it. A flow executes each instruction
// in the moment of its fetch, along the path that the core predicts, with real values. The core
// decides when the instruction happens, and takes back what it fetched in vain.
//
// Entries. The core numbers instructions in flight and passes the number of the entry. Fetches come
// in order. take_back comes youngest first, retire oldest first. A flow keeps what it must know of
// each entry.
//
// Effects. Registers have the values of the youngest instruction between fetch and take_back.
// Memory changes when a store retires. An instruction that cannot be taken back is not executed by
// `fetch`: the core lets everything before it retire, and calls `alone`.
//
// isa/rv/flow implements the flow of RISC-V, timing/ooo uses it.
#ifndef TL_MODEL_FLOW_H
#define TL_MODEL_FLOW_H

#include "model/engine.h"
#include "model/pipeline.h"

typedef enum tl_flow_result {
    TL_FLOW_EXECUTED, // *ret_insn is complete
    // Nothing happened. The instruction, or its fetch, must be the oldest: call `alone`.
    TL_FLOW_ALONE,
    // Nothing happened. Of a traced fetch: the line must be looked up, so call `fetch` untraced.
    TL_FLOW_UNTRACED,
} tl_flow_result;

typedef struct tl_flow_pipe { // of tl_pipe_insn, in few bytes
    uint8_t cls, size_bytes, src[3], dest;
} tl_flow_pipe;

// How an instruction is timed. TL_FLOW_SHIFT is an ALU instruction that the simple ALUs do not
// have. All others have their class. Operands of eight bytes add TL_FLOW_DOUBLE.
enum { TL_FLOW_SHIFT = TL_N_CLASSES, TL_FLOW_DOUBLE, TL_N_FLOW_TIMINGS = 2 * TL_FLOW_DOUBLE };

typedef struct tl_flow_insn {
    uint64_t pc, next_pc;    // next_pc: as executed
    uint64_t target;         // of a direct control transfer
    uint64_t vaddr, paddr;   // of an access; paddr: valid unless is_redone
    tl_flow_pipe pipe;       // class, size, registers
    uint8_t len;             // bytes
    bool is_taken;           // a conditional branch
    bool is_call, is_return; // pushes onto, pops from the return-address stack
    uint8_t timing;          // below TL_N_FLOW_TIMINGS
    // The effect is not known before it is the oldest: call `alone` instead of `retire`.
    bool is_redone;
} tl_flow_insn;

typedef struct tl_flow tl_flow;
struct tl_flow {
    tl_hart *h;
    // The core sets it before `fetch`. The instruction comes from a trace cache, so its line is not
    // looked up, and the fetch takes no time.
    bool is_traced;
    // Looks the line up, which may advance h->now; then executes the instruction at pc as `entry`.
    tl_flow_result (*fetch)(tl_flow *flow, uint32_t entry, uint64_t pc, tl_flow_insn *ret_insn);
    void (*take_back)(tl_flow *flow, uint32_t entry);
    // The oldest instruction takes effect: bytes are stored, and its static share is counted.
    void (*retire)(tl_flow *flow, uint32_t entry);
    // Returns the instruction as encoded, also one that `alone` is to execute; 0: its fetch failed.
    uint32_t (*bits)(tl_flow *flow, uint32_t entry);
    // Executes the instruction at h->pc with nothing else in flight, and counts all of it. h->now
    // is later then. false: it did not retire, and *ret_stop says why.
    bool (*alone)(tl_flow *flow, tl_stop *ret_stop);
    // Address that the last call of `alone` wrote atomically, or may have; UINT64_MAX: none.
    uint64_t alone_paddr;
    // `suspend` gives the hart the state of the oldest entry, for who looks at the hart between two
    // runs. `resume` goes back to the state before `suspend`. false: the hart has changed since, so
    // every entry is forgotten. The n entries are (first + i) & ring_mask, oldest first.
    void (*suspend)(tl_flow *flow, uint64_t first, uint32_t n, uint32_t ring_mask);
    bool (*resume)(tl_flow *flow, uint64_t first, uint32_t n, uint32_t ring_mask);
    // Between two runs: every entry is forgotten, because another engine takes the hart over.
    void (*forget)(tl_flow *flow);
    // Called before the first fetch of a run: the host's registers become the guest's.
    void (*enter)(tl_flow *flow);
    void (*leave)(tl_flow *flow);                   // after the last one
    void (*follow)(tl_flow *flow, tl_flow *before); // as before->leave, then flow->enter
};
enum { TL_MAX_IN_FLIGHT = 1024 }; // entries of a flow; a power of two

#endif
