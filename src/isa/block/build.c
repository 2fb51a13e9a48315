// SPDX-License-Identifier: MIT
// Decoding one block; see build.h.
#include "isa/block/build.h"

#include <assert.h>

#include "isa/block/code.h"
#include "isa/block/stops.h"
#include "isa/block/store.h"

typedef struct fetch_run { // as it is decoded
    uint8_t code[2 * 128 + 4];
    tl_op ops[TL_MAX_BLOCK_INSNS];
    uint16_t opc[TL_MAX_BLOCK_INSNS];
    uint8_t offset[TL_MAX_BLOCK_INSNS + 1]; // from pc; [n_insns] = n_bytes
    // Pipe time before each instruction; [n_insns] is the time of all.
    uint32_t before[TL_MAX_BLOCK_INSNS + 1];
    tl_static_count statics[TL_MAX_BLOCK_STATICS];
    tl_scoreboard board; // behind the last instruction
    uint32_t n_insns, n_statics;
    uint32_t n_bytes;    // of all instructions
    uint32_t n_deciding; // bytes behind the last instruction that said where the run ends
    bool is_straddling, has_fp, has_marker, begins_with_marker, is_private;
    bool has_transfer; // the last instruction is one
} fetch_run;

// Copies the code from pc to the end of its last line; returns how many bytes. The first
// instruction may straddle.
static uint32_t copy_code(const tl_hart *h, uint64_t pc, uint64_t pline, uint64_t pline2, fetch_run *run) {
    uint64_t line_bytes = ~h->line_mask + 1, offset = pc & ~h->line_mask;
    uint32_t n = (uint32_t)(line_bytes - offset);
    memcpy(run->code, tl_code_at(h, pline + offset), n);
    if (run->is_straddling) {
        memcpy(run->code + n, tl_code_at(h, pline2), line_bytes);
        n += (uint32_t)line_bytes;
    }
    return n;
}

static void add_static(fetch_run *run, uint32_t cell, uint32_t amount) {
    if (amount == 0)
        return;
    for (uint32_t i = 0; i < run->n_statics; i++)
        if (run->statics[i].cell == cell) {
            run->statics[i].amount += amount;
            return;
        }
    assert(run->n_statics < TL_MAX_BLOCK_STATICS);
    run->statics[run->n_statics++] = (tl_static_count){.cell = (uint16_t)cell, .amount = amount};
}

// Returns whether the run ends with the instruction.
static bool decode_insn(const tl_blocks *store, fetch_run *run, uint32_t bits) {
    tl_block_insn insn;
    store->isa->decode(store->hart, bits, &insn);
    run->ops[run->n_insns] = insn.op;
    run->opc[run->n_insns] = insn.opc;
    run->offset[run->n_insns] = (uint8_t)run->n_bytes;
    run->before[run->n_insns] = (uint32_t)run->board.time;
    run->has_fp |= insn.is_fp;
    run->has_transfer = insn.pipe.cls == TL_CLASS_BRANCH || insn.pipe.cls == TL_CLASS_JAL || insn.pipe.cls == TL_CLASS_JALR;
    run->is_private &= insn.is_private;
    if (TL_UNLIKELY(insn.is_marker)) {
        run->has_marker = true;
        run->begins_with_marker |= run->n_insns == 0;
    }
    tl_scoreboard_issue(&run->board, &insn.pipe);
    for (uint32_t i = 0; i < insn.n_counts; i++)
        add_static(run, insn.counts[i].cell, insn.counts[i].amount);
    run->n_bytes += insn.len;
    run->n_insns += 1;
    return insn.ends_run;
}

static void decode_run(const tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2, fetch_run *run) {
    const tl_hart *h = store->hart;
    run->is_straddling = tl_code_straddles(h, pc, pline);
    run->is_private = true;
    run->n_insns = run->n_statics = run->n_bytes = run->n_deciding = 0;
    run->has_fp = run->has_marker = run->begins_with_marker = run->has_transfer = false;
    uint32_t n_code = copy_code(h, pc, pline, pline2, run);
    tl_scoreboard_start(&run->board, &h->config->pipeline, h->pend);
    while (run->n_bytes + 2 <= n_code && run->n_insns < TL_MAX_BLOCK_INSNS) {
        if (store->isa->has_short_insns && (tl_code_half(run->code + run->n_bytes) & 3) == 3 && run->n_bytes + 4 > n_code) {
            run->n_deciding = 2;
            break; // straddles: a run of its own
        }
        if (decode_insn(store, run, tl_code_bits(store->isa, run->code, run->n_bytes, n_code)))
            break;
    }
    run->before[run->n_insns] = (uint32_t)run->board.time;
    run->offset[run->n_insns] = (uint8_t)run->n_bytes;
    for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
        add_static(run, tl_pipe_cause_cell[c], run->board.lost[c]);
    uint32_t look_ups = run->is_straddling ? 2 : 1;
    add_static(run, TL_S_HART_FETCH_RUN, 1);
    add_static(run, TL_S_L1I_ACCESS, look_ups);
    add_static(run, TL_S_ITLB_ACCESS, look_ups);
    add_static(run, TL_S_L1I_READ, tl_fetch_groups(h, pc, pc + run->n_bytes));
}

static void *take(tl_blocks *store, size_t size_bytes) {
    void *piece = store->memory + store->used_bytes;
    store->used_bytes += tl_align_up(size_bytes, 8);
    return piece;
}

// The run as a block of the store, whose memory is made free if need be. It has no handlers yet and
// is in no bucket.
static tl_block *place(tl_blocks *store, const fetch_run *run, uint64_t pc, uint64_t pline, uint64_t pline2) {
    const tl_hart *h = store->hart;
    uint32_t n = run->n_insns, n_bytes = run->n_bytes + run->n_deciding;
    size_t need = sizeof(tl_block) + (n + 1) * sizeof(tl_op) + n * sizeof(uint16_t) + (n + 1) * (sizeof(uint32_t) + sizeof(uint8_t)) +
                  n_bytes + run->n_statics * sizeof(tl_static_count) + sizeof(tl_block_transfer) + 80 + TL_BLOCK_ALIGN_BYTES;
    if (store->used_bytes + need > store->memory_bytes || store->n_blocks == TL_MAX_BLOCKS)
        tl_blocks_flush(store);
    store->used_bytes = tl_align_up(store->used_bytes, TL_BLOCK_ALIGN_BYTES);
    tl_block *block = take(store, sizeof *block);
    *block = (tl_block){
        .vline = pc & h->line_mask,
        .enter_key = run->is_straddling || run->has_fp || run->begins_with_marker || tl_blocks_has_break(store, pc)
                         ? TL_NEVER_KEY
                         : tl_fetch_key(pc, pline - TL_RAM_BASE_PADDR),
        .pline = pline,
        .pline2 = run->is_straddling ? pline2 : TL_NO_LINE,
        .pc = pc,
        .end_pc = pc + run->n_bytes,
        .ops = take(store, (n + 1) * sizeof(tl_op)),
        .cycles = (uint32_t)run->board.time,
        .n_insns = (uint16_t)n,
        .is_straddling = run->is_straddling,
        .is_private = run->is_private && !run->has_marker,
        .has_fp = run->has_fp,
        .has_marker = run->has_marker,
        .begins_with_marker = run->begins_with_marker,
        .view = (uint8_t)h->view,
        .count = &store->counts[store->n_blocks],
        .in = h->pend,
        .exit_pend = tl_scoreboard_pend(&run->board, store->pends),
        .link = {&store->nowhere, &store->nowhere},
        .statics = take(store, run->n_statics * sizeof *run->statics),
        .n_statics = (uint16_t)run->n_statics,
        .n_bytes = (uint16_t)n_bytes,
        .generation = h->code_generation,
        .opc = take(store, n * sizeof(uint16_t)),
        .offset = take(store, n + 1),
        .before = take(store, (n + 1) * sizeof(uint32_t)),
        .bytes = take(store, n_bytes),
    };
    if (TL_UNLIKELY(h->attribution != NULL) && run->has_transfer) {
        store->used_bytes = tl_align_up(store->used_bytes, 16);
        block->transfer = take(store, sizeof *block->transfer);
        *block->transfer = (tl_block_transfer){0};
    }
    memcpy(block->statics, run->statics, run->n_statics * sizeof *run->statics);
    memcpy(block->ops, run->ops, n * sizeof *run->ops);
    block->ops[n] = (tl_op){.handler = NULL};
    memcpy(block->opc, run->opc, n * sizeof *run->opc);
    memcpy(block->offset, run->offset, n + 1);
    memcpy(block->before, run->before, (n + 1) * sizeof *run->before);
    memcpy(block->bytes, run->code, n_bytes);
    return block;
}

tl_block *tl_blocks_build(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2) {
    fetch_run run;
    decode_run(store, pc, pline, pline2, &run);
    tl_block *block = place(store, &run, pc, pline, pline2);
    store->type->prepare(store, block);
    uint32_t bucket = tl_blocks_bucket(block->vline);
    block->next_on_line = store->buckets[bucket];
    store->buckets[bucket] = block;
    store->by_number[store->n_blocks++] = block;
    if (block->cycles > store->max_cycles)
        store->max_cycles = block->cycles;
    return block;
}
