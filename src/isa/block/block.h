// SPDX-License-Identifier: MIT
// Blocks as data. A block is one fetch run (model/engine.h), decoded from one entry point.
// It holds operations in executable form, sums of all that is static, and links to its successors.
// Functions on blocks stand in build.h, store.h, enter.h, execute.h, fold.h, stops.h and run.h.
// row.h says what an instruction set brings. Its own folder has the threaded code.
//
// A block is decoded for the results in flight at its beginning (`in`), because they decide how
// long its instructions wait. Therefore tl_block.cycles is a constant. tl_block.exit_pend is known,
// too, so a link leads to the right one of several blocks at one pc.
//
// A block proves itself by the fetch slot of its line. The slot names the virtual and the physical
// line that ITLB and L1I hold. The memory system clears slots when code or mappings change. The
// first fetch of a line afterwards compares the bytes of its blocks (tl_blocks_validate). Stale
// blocks never match a slot again.
#ifndef TL_ISA_BLOCK_BLOCK_H
#define TL_ISA_BLOCK_BLOCK_H

#include "isa/block/row.h"
#include "model/engine.h"

typedef struct tl_block tl_block;

// Cells that translated code counts off the straight path of a control transfer: TL_S_*.
enum { TL_N_TRANSFER_CELLS = 7 };
extern const uint16_t tl_transfer_cells[TL_N_TRANSFER_CELLS];

// Counts of a control transfer in translated code that no row has yet.
typedef struct tl_block_transfer {
    _Alignas(16) uint32_t outcomes[TL_N_BRANCH_COUNTS]; // as tl_bpred.counts
    uint64_t counts[TL_N_TRANSFER_CELLS];               // of tl_transfer_cells
} tl_block_transfer;

enum { TL_BLOCK_ALIGN_BYTES = 64 }; // a line of the host
struct tl_block {
    // First the host line that proves a block and finds it in its bucket. Large programs have more
    // blocks than the host's caches have room for.
    //
    // The fetch slot must hold enter_key. TL_NEVER_KEY: threaded code never enters by its fast
    // path.
    _Alignas(TL_BLOCK_ALIGN_BYTES) uint64_t vline;
    uint64_t enter_key;
    uint64_t pc;
    const tl_pend *in; // results in flight at its beginning
    uint64_t pline, pline2;
    tl_block *next_on_line; // chain of the line's bucket
    uint32_t generation;    // code_generation at which the bytes were last compared
    // The view whose slots it was decoded for. A block belongs to one privilege mode.
    uint8_t view;
    bool is_straddling; // the first instruction reaches into a second line, pline2
    bool is_stale;
    bool is_private; // accesses no data (tl_step_run_is_private)

    uint64_t *count; // executions not folded yet: in tl_blocks.counts
    tl_op *ops;      // n_insns operations, then one that ends the block
    // Entries of translated code. code: compares the fetch slot. near: entered from a branch on one
    // line with the block (tl_block_is_near). start: after the look-up. body: after the counting of
    // the run; NULL while the block is not translated.
    void *code, *near, *start, *body;
    const tl_pend *exit_pend; // results in flight at its end
    // Handler of ops[0], while ops[0] calls tl_blocks_type.heat before each run.
    tl_op_handler *first;
    // Handler of ops[0], while ops[0] counts the block for its calling context before.
    tl_op_handler *counted;
    tl_block *link[2];    // fall-through or jump, taken; never NULL (tl_blocks.nowhere)
    uint32_t n_cold_runs; // runs of the block before its translation
    uint32_t cycles;
    uint16_t n_insns;
    bool has_fp;             // must not be entered while h->is_fp_off
    bool has_marker;         // some instruction is a marker, and hart->mark is set
    bool begins_with_marker; // is never entered
    uint64_t end_pc;
    tl_static_count *statics;
    uint16_t n_statics;
    uint16_t n_bytes;
    uint16_t *opc;    // per instruction
    uint8_t *offset;  // per instruction: from pc; [n_insns] = bytes of all
    uint32_t *before; // per instruction: pipe time before it; [n_insns] = cycles
    // While h->attribution is set and the block ends with a control transfer; else NULL.
    tl_block_transfer *transfer;
    // Code as decoded, n_bytes. Two more bytes follow where a straddling instruction ended the run.
    uint8_t *bytes;
};
_Static_assert(offsetof(tl_block, count) == TL_BLOCK_ALIGN_BYTES, "what proves a block is one line");

enum { TL_BLOCK_BUCKETS_LOG2 = 16, TL_BLOCK_BUCKETS = 1 << TL_BLOCK_BUCKETS_LOG2, TL_JUMP_CACHE = 1 << 13, TL_MAX_BLOCKS = 1 << 17 };
// The longest line of compressed instructions, and a straddling instruction.
enum { TL_MAX_BLOCK_INSNS = 128 / 2 + 2 };
enum { TL_MAX_BLOCK_STATICS = 96 };

// Counts of instructions k.. of a block, as fold.c has found them out. is_fetched: without those of
// the fetch of k.
enum { TL_BLOCK_RESTS = 64 };
typedef struct tl_block_rest {
    const tl_block *block; // NULL: empty
    uint16_t k, n_counts;
    bool is_fetched;
    tl_static_count counts[TL_MAX_BLOCK_STATICS];
} tl_block_rest;

// A cell of the jump cache: the target of an indirect jump to pc with these results in flight.
typedef struct tl_jump_cell {
    uint64_t pc;
    const tl_pend *in;
    void *code; // block->code
    tl_block *block;
} tl_jump_cell;

typedef struct tl_blocks tl_blocks;
typedef enum tl_block_why { TL_BLOCK_GO_ON, TL_BLOCK_TRAP, TL_BLOCK_BREAK, TL_BLOCK_WAIT, TL_BLOCK_LATE } tl_block_why;

typedef struct tl_blocks_type { // hooks of a front-end over blocks
    const tl_block_isa *isa;
    void (*prepare)(tl_blocks *store, tl_block *block); // makes a new block executable
    // Runs from hart->pc, or resumes the run that waits. Returns when a tl_block* function says
    // stop, which sets store->why.
    void (*run)(tl_blocks *store);
    void (*forget)(tl_blocks *store); // all blocks are about to go; may be NULL
    // A block that threaded code has entered and counted is about to run. True: threaded code stops
    // here. May be NULL.
    bool (*heat)(tl_blocks *store, tl_block *block);
    // Called when the block must not be entered again; may be NULL.
    void (*stale)(tl_blocks *store, tl_block *block);
} tl_blocks_type;

struct tl_blocks {                                      // the store of one hart; h->engine_state
    tl_jump_cell jump_cache[TL_N_VIEWS][TL_JUMP_CACHE]; // by target
    tl_block nowhere;                                   // matches no fetch slot
    tl_hart *hart;
    const tl_blocks_type *type;
    const tl_block_isa *isa; // type->isa
    uint64_t misaligned_pc;  // isa->misaligned_pc
    tl_pend_table *pends;
    tl_block_why why; // execution stopped; hart->pc says where
    bool must_step;   // with GO_ON: the next instruction is to be stepped
    bool is_running;  // blocks are being executed
    bool must_flush;  // between two blocks: no room for another one
    // Both horizons are 0 because the block under way lost its line: the next one must prove
    // itself.
    bool must_recheck;
    uint64_t run_horizon, run_ahead_horizon; // fast_horizon and ahead_horizon without must_recheck
    // No block has been executed since the counts were folded.
    bool is_folded;
    // Cycles of the longest block. A run without a slow path overshoots its horizon by less.
    uint32_t max_cycles;
    // The block whose instruction under_way_k is being executed by its full body, or NULL.
    tl_block *under_way;
    uint32_t under_way_k;
    // Instruction under_way_k has not begun: tallies are read between two instructions.
    bool is_before;
    // Instruction under_way_k waits for other harts, and is_before: tl_blocks_resume goes on.
    bool is_waiting;
    // Instructions from under_way_k on are out of the tallies, which were read meanwhile.
    bool is_taken_back;
    // A count for each block, dense, in order of creation. Folding scans 8 bytes for each block.
    uint64_t *counts;
    uint64_t *held; // of each block: executions that are folded, but in no row yet
    uint32_t n_blocks;
    tl_block **by_number;
    uint64_t break_pc[2];      // blocks are decoded for these breakpoints,
    const tl_breaks *breaks;   // for these breakpoints,
    uint32_t break_generation; // and for this generation of breaks
    uint8_t *memory;
    size_t memory_bytes, used_bytes;
    uint64_t n_flushes;
    struct tl_attribution *attribution; // for which blocks were made: h->attribution
    uint32_t graph_generation;          // of the call graph for which blocks were made
    // h->bp.counts that calling contexts have.
    uint32_t counted_outcomes[TL_N_BRANCH_COUNTS];
    uint64_t poured_cycle; // in which counts of transfers went into rows last
    void *translator;      // translate/'s own
    tl_block_rest rests[TL_BLOCK_RESTS];
    tl_block *buckets[TL_BLOCK_BUCKETS];
    // The code_generation at which all blocks of the bucket were compared.
    uint32_t checked[TL_BLOCK_BUCKETS];
};

#endif
