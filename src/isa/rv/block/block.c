// SPDX-License-Identifier: MIT
// Building, finding, checking and folding blocks; see block.h. Nothing here runs per instruction.
#include "isa/rv/block/block.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "isa/rv/fp.h"
#include "isa/rv/marker.h"
#include "isa/rv/step/step.h"

enum {
    INDEX_BYTES = TL_MAX_BLOCKS * (sizeof(uint64_t) + sizeof(tl_block *)),
    MAX_BLOCK_STATICS = 96,
    MAX_UNFOLDED_CYCLES = 1 << 30, // tl_bpred_fold
};

bool tl_blocks_has_break(const tl_blocks *store, uint64_t pc) {
    return pc == store->break_pc[0] || pc == store->break_pc[1] ||
           (TL_UNLIKELY(store->breaks != NULL) && tl_breaks_have(store->breaks, pc));
}

// The blocks are for other breakpoints than there are now.
static bool has_other_breaks(const tl_blocks *store) {
    const tl_hart *h = store->hart;
    return store->break_pc[0] != h->break_pc[0] || store->break_pc[1] != h->break_pc[1] || store->breaks != h->breaks ||
           (h->breaks && store->break_generation != h->breaks->generation);
}

static void forget_all(tl_blocks *store) {
    for (uint32_t i = 0; i < TL_BLOCK_BUCKETS; i++)
        store->buckets[i] = NULL;
    for (uint32_t view = 0; view < TL_N_VIEWS; view++)
        for (uint32_t i = 0; i < TL_JUMP_CACHE; i++)
            store->jump_cache[view][i] = (tl_jump_cell){.pc = TL_NO_LINE, .block = &store->nowhere};
    store->n_blocks = 0;
    store->used_bytes = 0;
    store->hart->block = &store->nowhere;
}

tl_status tl_blocks_attach(tl_hart *h, const tl_blocks_type *type, tl_arena *arena, tl_error *err) {
    tl_blocks *store = tl_arena_alloc(arena, sizeof *store);
    if (!store)
        return tl_fail(err, TL_ENOMEM, "no memory for decoded code");
    store->hart = h;
    store->type = type;
    store->pends = tl_pend_table_new(arena);
    store->memory_bytes = h->config->code_cache_bytes; // blocks of a 2 MiB program take about 12 MiB
    void *memory =
        mmap(NULL, store->memory_bytes + INDEX_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!store->pends || memory == MAP_FAILED) {
        if (memory != MAP_FAILED)
            munmap(memory, store->memory_bytes + INDEX_BYTES);
        return tl_fail(err, TL_ENOMEM, "no memory for decoded code: %zu KiB are needed for each hart", store->memory_bytes >> 10);
    }
    store->memory = memory;
    store->counts = (uint64_t *)(void *)(store->memory + store->memory_bytes);
    store->by_number = (tl_block **)(void *)(store->counts + TL_MAX_BLOCKS);
    store->nowhere = (tl_block){.vline = TL_NO_LINE, .enter_key = TL_NEVER_KEY, .pline = TL_NO_LINE, .pc = TL_NO_LINE, .is_stale = true};
    store->break_pc[0] = store->break_pc[1] = TL_NO_LINE;
    forget_all(store);
    h->engine = store;
    return TL_OK;
}

void tl_blocks_detach(tl_blocks *store) {
    if (!store)
        return;
    tl_pend_table_done(store->pends);
    munmap(store->memory, store->memory_bytes + INDEX_BYTES);
}

void tl_blocks_fold(tl_blocks *store) {
    uint64_t *tally = store->hart->tally;
    if (store->is_folded) // instructions were stepped since: who waits for an overflow asks after each
        return;
    store->is_folded = !store->is_running;
    tl_bpred_fold(&store->hart->bp, tally);
    for (uint32_t number = 0; number < store->n_blocks; number++) {
        uint64_t count = store->counts[number];
        if (TL_LIKELY(count == 0))
            continue;
        const tl_block *block = store->by_number[number];
        store->counts[number] = 0;
        for (uint32_t i = 0; i < block->n_statics; i++)
            tally[block->statics[i].slot] += count * block->statics[i].amount;
    }
}

static void abandon(tl_blocks *store);

void tl_blocks_flush(tl_blocks *store) {
    if (store->is_waiting)
        abandon(store);
    tl_blocks_fold(store);
    if (store->type->forget)
        store->type->forget(store);
    forget_all(store);
    store->n_flushes += 1;
}

void tl_blocks_flush_soon(tl_blocks *store) {
    store->must_flush = store->must_recheck = true;
    store->hart->fast_horizon = store->hart->ahead_horizon = 0;
}

static void *take(tl_blocks *store, size_t size_bytes) {
    void *piece = store->memory + store->used_bytes;
    store->used_bytes += tl_align_up(size_bytes, 8);
    return piece;
}

static uint32_t fetch_groups(const tl_hart *h, uint64_t from, uint64_t end) {
    uint64_t group = h->config->pipeline.fetch_bytes;
    return from == end ? 0 : (uint32_t)((end - 1) / group - from / group + 1);
}

static const uint8_t *host_of(const tl_hart *h, uint64_t paddr) { return h->ram + (paddr - TL_RAM_BASE_PADDR); }

static uint32_t read_half(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }

static bool straddles(const tl_hart *h, uint64_t pc, uint64_t pline) {
    uint64_t offset = pc & ~h->line_mask;
    return offset == ~h->line_mask - 1 && (read_half(host_of(h, pline + offset)) & 3) == 3;
}

// Copies the code from pc to the end of its last line into `bytes`; returns how many. The first instruction may straddle.
static uint32_t copy_code(const tl_hart *h, uint64_t pc, uint64_t pline, uint64_t pline2, bool is_straddling, uint8_t *bytes) {
    uint64_t line_bytes = ~h->line_mask + 1, offset = pc & ~h->line_mask;
    uint32_t n = (uint32_t)(line_bytes - offset);
    memcpy(bytes, host_of(h, pline + offset), n);
    if (is_straddling) {
        memcpy(bytes + n, host_of(h, pline2), line_bytes);
        n += (uint32_t)line_bytes;
    }
    return n;
}

static uint32_t bits_at(const uint8_t *bytes, uint32_t at, uint32_t n) {
    uint32_t low = read_half(bytes + at);
    return (low & 3) == 3 && at + 4 <= n ? low | read_half(bytes + at + 2) << 16 : low;
}

static void add_static(tl_static_count *statics, uint32_t *n_statics, uint32_t slot, uint32_t amount) {
    if (amount == 0)
        return;
    for (uint32_t i = 0; i < *n_statics; i++)
        if (statics[i].slot == slot) {
            statics[i].amount += amount;
            return;
        }
    assert(*n_statics < MAX_BLOCK_STATICS);
    statics[(*n_statics)++] = (tl_static_count){.slot = (uint16_t)slot, .amount = amount};
}

static bool is_marker(const tl_decoded *insn) {
    tl_mark mark;
    uint32_t number;
    return tl_insn_marker(insn, &mark, &number);
}

static tl_block *build(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2) {
    tl_hart *h = store->hart;
    uint8_t bytes[2 * 128 + 4];
    bool is_straddling = straddles(h, pc, pline);
    uint32_t n_code = copy_code(h, pc, pline, pline2, is_straddling, bytes);

    tl_decoded insns[TL_MAX_BLOCK_INSNS];
    uint32_t before[TL_MAX_BLOCK_INSNS + 1];
    tl_static_count statics[MAX_BLOCK_STATICS];
    uint32_t n_insns = 0, at = 0, n_statics = 0;
    uint32_t n_deciding = 0; // bytes behind the last instruction that said where the run ends
    bool has_fp = false, has_marker = false, begins_with_marker = false, is_private = true;
    tl_scoreboard board;
    tl_scoreboard_start(&board, &h->config->pipeline, h->pend);
    while (at + 2 <= n_code && n_insns < TL_MAX_BLOCK_INSNS) {
        if ((read_half(bytes + at) & 3) == 3 && at + 4 > n_code) {
            n_deciding = 2;
            break; // straddles: a run of its own
        }
        tl_decoded *insn = &insns[n_insns];
        tl_decode(bits_at(bytes, at, n_code), insn);
        before[n_insns] = (uint32_t)board.time;
        has_fp |= h->is_privileged && tl_insn_is_fp(insn);
        is_private &= tl_insn_is_private(insn);
        if (TL_UNLIKELY(h->mark != NULL) && is_marker(insn)) {
            has_marker = true;
            begins_with_marker |= n_insns == 0;
        }
        tl_pipe_insn pipe;
        tl_insn_pipe(insn, &pipe);
        tl_scoreboard_issue(&board, &pipe);
        tl_static_count counts[TL_MAX_STATIC];
        uint32_t n = tl_insn_static(insn, counts);
        for (uint32_t i = 0; i < n; i++)
            add_static(statics, &n_statics, counts[i].slot, counts[i].amount);
        at += insn->len;
        n_insns += 1;
        if (tl_insn_ends_run(insn))
            break;
    }
    before[n_insns] = (uint32_t)board.time;
    for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
        add_static(statics, &n_statics, tl_pipe_cause_slot[c], board.lost[c]);
    uint32_t look_ups = is_straddling ? 2 : 1;
    add_static(statics, &n_statics, TL_S_HART_FETCH_RUN, 1);
    add_static(statics, &n_statics, TL_S_L1I_ACCESS, look_ups);
    add_static(statics, &n_statics, TL_S_ITLB_ACCESS, look_ups);
    add_static(statics, &n_statics, TL_S_L1I_READ, fetch_groups(h, pc, pc + at));

    size_t need = sizeof(tl_block) + (n_insns + 1) * sizeof(tl_op) + n_insns * sizeof(uint16_t) + (n_insns + 1) * sizeof(uint32_t) + at +
                  n_deciding + n_statics * sizeof(tl_static_count) + 64;
    if (store->used_bytes + need > store->memory_bytes || store->n_blocks == TL_MAX_BLOCKS)
        tl_blocks_flush(store);
    tl_block *block = take(store, sizeof *block);
    *block = (tl_block){
        .vline = pc & h->line_mask,
        .enter_key = is_straddling || has_fp || begins_with_marker || tl_blocks_has_break(store, pc)
                         ? TL_NEVER_KEY
                         : tl_fetch_key(pc, pline - TL_RAM_BASE_PADDR),
        .pline = pline,
        .pline2 = is_straddling ? pline2 : TL_NO_LINE,
        .pc = pc,
        .end_pc = pc + at,
        .ops = take(store, (n_insns + 1) * sizeof(tl_op)),
        .cycles = (uint32_t)board.time,
        .n_insns = (uint16_t)n_insns,
        .is_straddling = is_straddling,
        .is_private = is_private && !has_marker,
        .has_fp = has_fp,
        .has_marker = has_marker,
        .begins_with_marker = begins_with_marker,
        .view = (uint8_t)h->view,
        .count = &store->counts[store->n_blocks],
        .in = h->pend,
        .exit_pend = tl_scoreboard_pend(&board, store->pends),
        .link = {&store->nowhere, &store->nowhere},
        .statics = take(store, n_statics * sizeof *statics),
        .n_statics = (uint16_t)n_statics,
        .n_bytes = (uint16_t)(at + n_deciding),
        .generation = h->code_generation,
        .opc = take(store, n_insns * sizeof(uint16_t)),
        .before = take(store, (n_insns + 1) * sizeof(uint32_t)),
        .bytes = take(store, at + n_deciding),
    };
    memcpy(block->statics, statics, n_statics * sizeof *statics);
    memcpy(block->before, before, (n_insns + 1) * sizeof *before);
    memcpy(block->bytes, bytes, at + n_deciding);
    uint32_t offset = 0;
    for (uint32_t k = 0; k < n_insns; k++) {
        tl_op_from_decoded(&insns[k], &block->ops[k]);
        block->ops[k].offset = (uint8_t)offset;
        block->opc[k] = insns[k].opc;
        offset += insns[k].len;
    }
    block->ops[n_insns] = (tl_op){.offset = (uint8_t)offset};
    store->type->prepare(store, block);

    uint32_t bucket = tl_blocks_bucket(block->vline);
    block->next_on_line = store->buckets[bucket];
    store->buckets[bucket] = block;
    store->by_number[store->n_blocks++] = block;
    if (block->cycles > store->max_cycles)
        store->max_cycles = block->cycles;
    return block;
}

static bool bytes_are_current(const tl_hart *h, const tl_block *block) {
    uint32_t n_first = (uint32_t)(~h->line_mask + 1 - (block->pc & ~h->line_mask));
    if (n_first > block->n_bytes)
        n_first = block->n_bytes;
    return memcmp(block->bytes, host_of(h, block->pline + (block->pc & ~h->line_mask)), n_first) == 0 &&
           (n_first == block->n_bytes || memcmp(block->bytes + n_first, host_of(h, block->pline2), block->n_bytes - n_first) == 0);
}

static void make_stale(tl_blocks *store, tl_block *block) {
    if (store->type->stale)
        store->type->stale(store, block);
    block->is_stale = true;
    block->vline = TL_NO_LINE;
    block->enter_key = TL_NEVER_KEY; // links to it end in the slow path from now on
}

// A line is about to become fetchable: compares the bytes of its blocks, and of its neighbors in the bucket, once per change of code.
static void validate(tl_blocks *store, uint64_t vline) {
    tl_hart *h = store->hart;
    uint32_t bucket = tl_blocks_bucket(vline);
    if (TL_LIKELY(store->checked[bucket] == h->code_generation))
        return; // blocks made since then are of this generation
    store->checked[bucket] = h->code_generation;
    for (tl_block **at = &store->buckets[bucket]; *at;) {
        tl_block *block = *at;
        if (block->generation != h->code_generation && !bytes_are_current(h, block)) {
            *at = block->next_on_line;
            make_stale(store, block);
            continue;
        }
        block->generation = h->code_generation;
        at = &block->next_on_line;
    }
}

// The valid block for hart->pend at pc whose first line is at pline (and second at pline2 when straddling), decoded if need be.
static tl_block *get(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2) {
    tl_hart *h = store->hart;
    uint64_t vline = pc & h->line_mask;
    for (tl_block **at = &store->buckets[tl_blocks_bucket(vline)]; *at; at = &(*at)->next_on_line) {
        tl_block *block = *at;
        if (block->pc != pc || block->in != h->pend || block->view != h->view || block->vline != vline || block->pline != pline ||
            (block->is_straddling && block->pline2 != pline2))
            continue;
        if (block->generation != h->code_generation) {
            if (!bytes_are_current(h, block)) {
                *at = block->next_on_line;
                make_stale(store, block);
                break;
            }
            block->generation = h->code_generation;
        }
        return block;
    }
    uint8_t phase = h->host_phase; // blocks are run in two ways
    h->host_phase = TL_HOST_BUILDING;
    tl_block *built = build(store, pc, pline, pline2);
    h->host_phase = phase;
    return built;
}

// The walk over the first k instructions.
static void walk(const tl_blocks *store, const tl_block *block, uint32_t k, tl_scoreboard *ret_board) {
    tl_scoreboard_start(ret_board, &store->hart->config->pipeline, block->in);
    for (uint32_t i = 0, at = 0; i < k; i++) {
        tl_decoded insn;
        tl_pipe_insn pipe;
        tl_decode(bits_at(block->bytes, at, block->n_bytes), &insn);
        tl_insn_pipe(&insn, &pipe);
        tl_scoreboard_issue(ret_board, &pipe);
        at += insn.len;
    }
}

// Takes instructions k.. of an execution back out of the tallies (or with `is_undo` puts them in again); the one at k was fetched when
// `is_fetched`.
static void take_back(tl_blocks *store, const tl_block *block, uint32_t k, bool is_fetched, bool is_undo) {
    tl_hart *h = store->hart;
    const uint64_t sign = is_undo ? 1 : UINT64_MAX;
    tl_scoreboard all, done;
    walk(store, block, block->n_insns, &all);
    walk(store, block, k, &done);
    for (uint32_t c = 0; c < TL_N_PIPE_CAUSES; c++)
        h->tally[tl_pipe_cause_slot[c]] += sign * (all.lost[c] - done.lost[c]);
    uint64_t fetched_end = block->pc + block->ops[k].offset;
    for (uint32_t i = k, at = block->ops[k].offset; i < block->n_insns; i++) {
        tl_decoded insn;
        tl_static_count counts[TL_MAX_STATIC];
        tl_decode(bits_at(block->bytes, at, block->n_bytes), &insn);
        uint32_t n = tl_insn_static(&insn, counts);
        for (uint32_t s = 0; s < n; s++)
            h->tally[counts[s].slot] += sign * counts[s].amount;
        at += insn.len;
        if (i == k && is_fetched)
            fetched_end += insn.len;
    }
    h->tally[TL_S_L1I_READ] += sign * (fetch_groups(h, block->pc, block->end_pc) - fetch_groups(h, block->pc, fetched_end));
}

static void stop_with_trap(tl_blocks *store, uint64_t pc) {
    tl_hart *h = store->hart;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->pc = pc;
    store->why = TL_BLOCK_TRAP;
}

// One line look-up at the start of a run.
static bool look_up(tl_blocks *store, uint64_t vaddr, uint64_t *ret_pline) {
    tl_hart *h = store->hart;
    tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    uint64_t vline = vaddr & h->line_mask;
    if (tl_fetch_slot_shows(slot, vaddr)) {
        uint64_t stamp = ++h->stamp;
        h->stamps[slot->line_stamp] = stamp;
        h->stamps[slot->page_stamp] = stamp;
    } else {
        if (!h->port->fetch(h, vaddr))
            return false;
        validate(store, vline);
        if (TL_UNLIKELY(h->has_slow_watch))
            store->must_step = true; // the instruction that missed is the last before an interrupt
    }
    *ret_pline = tl_fetch_slot_paddr(slot, vline);
    return true;
}

// Whether a run at pc may access data, once fast_horizon is reached.
static bool may_access(const tl_blocks *store, uint64_t pc, const tl_block *guess) {
    tl_hart *h = store->hart;
    if (tl_fetch_slot_of(h, pc)->key == guess->enter_key && guess->pc == pc && guess->generation == h->code_generation)
        return !guess->is_private;
    return !tl_step_run_is_private(h, pc);
}

tl_block *tl_blocks_enter(tl_blocks *store, uint64_t pc, tl_block *guess) {
    tl_hart *h = store->hart;
    if (TL_UNLIKELY(store->must_recheck)) {
        store->must_recheck = false;
        if (h->horizon != 0 && !store->must_flush) { // else to stop soon
            h->fast_horizon = store->run_horizon;
            h->ahead_horizon = store->run_ahead_horizon;
        }
    }
    bool is_late = h->now >= h->ahead_horizon || (h->now >= h->fast_horizon && may_access(store, pc, guess));
    if (is_late || TL_UNLIKELY(tl_blocks_has_break(store, pc))) {
        store->why = !is_late ? TL_BLOCK_BREAK : h->now >= h->ahead_horizon ? TL_BLOCK_GO_ON : TL_BLOCK_LATE;
        h->pc = pc;
        return NULL;
    }
    uint64_t pline;
    return look_up(store, pc, &pline) ? tl_blocks_enter_line(store, pc, pline, guess) : tl_blocks_refuse(store, pc);
}

tl_block *tl_blocks_enter_line(tl_blocks *store, uint64_t pc, uint64_t pline, tl_block *guess) {
    uint64_t pline2 = TL_NO_LINE;
    if (straddles(store->hart, pc, pline) && !look_up(store, pc + 2, &pline2))
        return tl_blocks_refuse_second(store, pc);
    return tl_blocks_enter_found(store, pc, pline, pline2, guess);
}

tl_block *tl_blocks_refuse(tl_blocks *store, uint64_t pc) {
    tl_hart *h = store->hart;
    if (h->trap_cause == TL_TRAP_NOT_YET) {
        h->run_vline = TL_NO_LINE;
        h->pc = pc;
        store->why = TL_BLOCK_WAIT;
    } else {
        stop_with_trap(store, pc);
    }
    return NULL;
}

tl_block *tl_blocks_refuse_second(tl_blocks *store, uint64_t pc) {
    tl_hart *h = store->hart;
    if (h->trap_cause != TL_TRAP_NOT_YET) {
        h->tally[TL_S_HART_FETCH_RUN] += 1;
        h->tally[TL_S_L1I_ACCESS] += 1;
        h->tally[TL_S_ITLB_ACCESS] += 1;
        h->tally[TL_S_L1I_READ] += fetch_groups(h, pc, pc + 2);
    }
    return tl_blocks_refuse(store, pc);
}

tl_block *tl_blocks_enter_found(tl_blocks *store, uint64_t pc, uint64_t pline, uint64_t pline2, tl_block *guess) {
    tl_hart *h = store->hart;
    if (TL_UNLIKELY(store->must_step)) {
        store->why = TL_BLOCK_GO_ON;
        h->pc = pc;
        return NULL;
    }
    tl_block *block = guess;
    uint32_t max_cycles = store->max_cycles;
    if (guess->pc != pc || guess->in != h->pend || guess->view != h->view || guess->pline != pline || guess->pline2 != pline2 ||
        guess->is_stale || guess->generation != h->code_generation)
        block = get(store, pc, pline, pline2);
    if (TL_UNLIKELY(h->has_deadline && store->max_cycles != max_cycles)) {
        store->why = TL_BLOCK_GO_ON; // longer than any before: what may be run before the deadline has to be said anew
        h->insn_limit = 0;
        h->pc = pc;
        return NULL;
    }
    if (TL_UNLIKELY((block->has_fp && tl_rv(h)->is_fp_off) || block->begins_with_marker)) {
        store->why = TL_BLOCK_GO_ON;
        store->must_step = true;
        h->pc = pc;
        return NULL;
    }
    return block;
}

tl_jump_cell *tl_blocks_cell(tl_blocks *store, uint64_t pc) {
    return &store->jump_cache[store->hart->view][(pc >> 1) & (TL_JUMP_CACHE - 1)];
}

tl_block *tl_blocks_enter_cell(tl_blocks *store, uint64_t pc) {
    tl_jump_cell *cell = tl_blocks_cell(store, pc);
    tl_block *block = tl_blocks_enter(store, pc, cell->block);
    if (block)
        *cell = (tl_jump_cell){.pc = pc, .in = block->in, .code = block->code, .block = block};
    return block;
}

// The fetch run under way is that of this block.
static void note_run(tl_hart *h, const tl_block *block) {
    h->run_vline = block->is_straddling ? block->vline + (~h->line_mask + 1) : block->vline;
    h->run_pline = block->is_straddling ? block->pline2 : block->pline;
}

// The rest of the run has not happened: out of the clock and the tallies with it.
static void stop_before(tl_blocks *store, tl_block *block, uint32_t k, tl_block_why why) {
    tl_hart *h = store->hart;
    tl_scoreboard board;
    walk(store, block, k, &board);
    h->now -= block->cycles - board.time;
    h->instret -= block->n_insns - k;
    take_back(store, block, k, false, false);
    h->pend = tl_scoreboard_pend(&board, store->pends);
    note_run(h, block);
    if (k == block->n_insns)
        h->run_vline = TL_NO_LINE;
    h->pc = block->pc + block->ops[k].offset;
    store->why = why;
}

// Instruction k, which has not begun, waits for other harts; the clock stands before it. A run that begins with it begins anew. Any other
// goes on where it was (resume); its rest stays counted until somebody looks, or abandon takes it back.
static void stop_to_wait(tl_blocks *store, tl_block *block, uint32_t k) {
    tl_hart *h = store->hart;
    h->pc = block->pc + block->ops[k].offset;
    store->why = TL_BLOCK_WAIT;
    if (k == 0) {
        *block->count -= 1;
        h->pend = block->in;
        h->run_vline = TL_NO_LINE;
        return;
    }
    note_run(h, block);
    store->under_way = block;
    store->under_way_k = k;
    store->is_before = store->is_waiting = true;
}

// Forgets the run that waits: as if it had stopped before its next instruction like any other.
static void abandon(tl_blocks *store) {
    tl_hart *h = store->hart;
    const tl_block *block = store->under_way;
    if (h->run_vline != TL_NO_LINE) { // else the hart was called away, which drained its pipeline
        tl_scoreboard board;
        walk(store, block, store->under_way_k, &board);
        h->pend = tl_scoreboard_pend(&board, store->pends);
    }
    if (!store->is_taken_back)
        take_back(store, block, store->under_way_k, false, false);
    store->is_taken_back = store->is_before = store->is_waiting = false;
    store->under_way = NULL;
}

// Whether the run that waits may go on with the block as it was decoded, up to its end.
static bool may_resume(const tl_blocks *store) {
    const tl_hart *h = store->hart;
    return h->run_vline != TL_NO_LINE && store->under_way->generation == h->code_generation && !store->must_flush && !store->must_step &&
           !h->skip_break && h->insn_limit - h->instret > TL_MAX_BLOCK_INSNS;
}

tl_block *tl_blocks_resume(tl_blocks *store, uint32_t *ret_k) {
    tl_hart *h = store->hart;
    tl_block *block = store->under_way;
    uint32_t k = store->under_way_k;
    if (store->is_taken_back)
        take_back(store, block, k, false, true);
    store->is_taken_back = store->is_before = store->is_waiting = false;
    store->under_way = NULL;
    h->run_vline = TL_NO_LINE;
    h->pend = block->exit_pend;
    h->now += block->cycles - block->before[k];
    h->instret += block->n_insns - k;
    *ret_k = k;
    return block;
}

void tl_block_stop_before(tl_blocks *store, tl_block *block, uint32_t k) {
    bool is_break = tl_blocks_has_break(store, block->pc + block->ops[k].offset);
    stop_before(store, block, k, is_break ? TL_BLOCK_BREAK : TL_BLOCK_GO_ON); // a marker is stepped, since the run has begun
}

void tl_blocks_sync(tl_blocks *store) {
    tl_blocks_fold(store);
    tl_hart_sync_clock(store->hart);
    if (store->under_way && !store->is_taken_back) { // counted as a whole when it began
        take_back(store, store->under_way, store->under_way_k, !store->is_before, false);
        store->is_taken_back = true;
    }
}

// Instruction k - 1 took a slow path, and some counter waits for its overflow: PMUs look at the books as they stand before instruction k.
static TL_NOINLINE bool watch(tl_blocks *store, tl_block *block, uint32_t k) {
    tl_hart *h = store->hart;
    uint64_t rest_insns = block->n_insns - k, rest_cycles = block->cycles - block->before[k];
    h->now -= rest_cycles;
    h->instret -= rest_insns;
    store->under_way = block;
    store->under_way_k = k;
    store->is_before = true;
    bool is_noticed = tl_hart_poll(h);
    bool is_late = rest_insns > 0 && h->now >= h->fast_horizon; // an overflow may come before the end of the run: one by one from here
    if (store->is_taken_back)
        take_back(store, block, k, false, true);
    store->is_taken_back = store->is_before = false;
    store->under_way = NULL;
    h->now += rest_cycles;
    h->instret += rest_insns;
    if (is_noticed || is_late)
        stop_before(store, block, k, TL_BLOCK_GO_ON);
    return !is_noticed && !is_late;
}

bool tl_block_is_near(const tl_blocks *store, const tl_block *block, uint64_t pc) {
    return !block->is_straddling && (pc & store->hart->line_mask) == block->vline;
}

void tl_block_line_lost(tl_blocks *store, const tl_block *block) {
    tl_hart *h = store->hart;
    h->has_lost_fetch = false;
    if (!tl_fetch_slot_shows(tl_fetch_slot_of(h, block->vline), block->vline)) {
        store->must_recheck = true;
        h->fast_horizon = h->ahead_horizon = 0;
    }
}

bool tl_block_execute(tl_blocks *store, tl_block *block, uint32_t k) {
    tl_hart *h = store->hart;
    const tl_op *op = &block->ops[k];
    uint64_t pc = block->pc + op->offset;
    uint64_t rest_cycles = block->cycles - block->before[k];
    uint64_t rest_insns = block->n_insns - k;
    h->now -= rest_cycles;
    h->instret -= rest_insns;
    store->under_way = block;
    store->under_way_k = k;
    bool is_done = tl_exec_full[block->opc[k]](h, op, pc);
    store->under_way = NULL;
    if (TL_UNLIKELY(!is_done)) {
        if (h->trap_cause == TL_TRAP_NOT_YET) {
            stop_to_wait(store, block, k);
            return false;
        }
        if (!store->is_taken_back)
            take_back(store, block, k, true, false);
        store->is_taken_back = false;
        stop_with_trap(store, pc);
        return false;
    }
    if (TL_UNLIKELY(store->is_taken_back)) {
        take_back(store, block, k, true, true);
        store->is_taken_back = false;
    }
    tl_block_line_lost(store, block);
    if (TL_UNLIKELY(h->has_slow_watch) && !h->has_after) {
        h->now += rest_cycles;
        h->instret += rest_insns;
        return watch(store, block, k + 1);
    }
    h->now += rest_cycles;
    h->instret += rest_insns;
    if (TL_UNLIKELY(h->has_after))
        tl_hart_retired(h); // it ended its block
    return true;
}

uint64_t tl_blocks_overshoot_cycles(const tl_hart *h) {
    const tl_blocks *store = h->engine;
    const tl_pipeline_config *pipe = &h->config->pipeline;
    return (uint64_t)store->max_cycles +
           (pipe->mispredict_cycles > pipe->redirect_cycles ? pipe->mispredict_cycles : pipe->redirect_cycles) + 1;
}

bool tl_blocks_stops_at(const tl_blocks *store, const tl_block *block, uint32_t k) {
    uint32_t at = block->ops[k].offset;
    if (tl_blocks_has_break(store, block->pc + at))
        return true;
    if (TL_LIKELY(!block->has_marker))
        return false;
    tl_decoded insn;
    tl_decode(bits_at(block->bytes, at, block->n_bytes), &insn);
    return is_marker(&insn);
}

// One instruction. The line it was fetched from may be blocks' business next, without another look at their bytes.
static tl_step step(tl_blocks *store) {
    tl_hart *h = store->hart;
    uint64_t pc = h->pc;
    tl_step result = tl_step_one(h, store->pends);
    validate(store, pc & h->line_mask);
    validate(store, (pc + 2) & h->line_mask);
    return result;
}

tl_stop tl_blocks_run(tl_hart *h) {
    tl_blocks *store = h->engine;
    if (has_other_breaks(store)) {
        store->break_pc[0] = h->break_pc[0];
        store->break_pc[1] = h->break_pc[1];
        store->breaks = h->breaks;
        store->break_generation = h->breaks ? h->breaks->generation : 0;
        tl_blocks_flush(store);
    }
    tl_fp_saved saved;
    tl_stop stop;
    tl_fp_enter(h, &saved);
    for (;;) {
        if (h->instret >= h->insn_limit) {
            stop = TL_STOP_LIMIT;
            break;
        }
        bool may_stop = h->run_vline == TL_NO_LINE && !store->must_step;
        if (may_stop && (h->now >= h->horizon || (h->now >= h->access_until && !tl_step_run_is_private(h, h->pc)))) {
            stop = TL_STOP_HORIZON;
            break;
        }
        uint64_t left = h->insn_limit - h->instret;
        if (store->is_waiting && !may_resume(store))
            abandon(store);
        if ((h->run_vline != TL_NO_LINE && !store->is_waiting) || h->skip_break || left <= TL_MAX_BLOCK_INSNS || store->must_step) {
            store->must_step = false;
            h->host_phase = TL_HOST_STEPPING;
            tl_step result = step(store);
            if (result == TL_STEP_RETIRED)
                continue;
            stop = tl_step_stop(result);
            break;
        }
        if (TL_UNLIKELY(store->must_flush)) {
            store->must_flush = false;
            tl_blocks_flush(store);
        }
        // An instruction takes a cycle or more, so this clock bounds the instructions, too, and with them the counts of branches.
        tl_bpred_fold(&h->bp, h->tally);
        uint64_t bound = left - TL_MAX_BLOCK_INSNS;
        bound = bound < MAX_UNFOLDED_CYCLES ? bound : MAX_UNFOLDED_CYCLES;
        h->ahead_horizon = h->horizon <= h->now || bound >= h->horizon - h->now ? h->horizon : h->now + bound;
        h->fast_horizon = h->ahead_horizon < h->access_until ? h->ahead_horizon : h->access_until;
        store->run_horizon = h->fast_horizon;
        store->run_ahead_horizon = h->ahead_horizon;
        store->must_recheck = false;
        store->is_folded = false;
        store->is_running = true;
        h->host_phase = TL_HOST_RUNNING;
        store->type->run(store);
        store->is_running = false;
        if (store->why == TL_BLOCK_LATE && h->instret < h->insn_limit) {
            stop = TL_STOP_HORIZON;
            break;
        }
        if (store->why != TL_BLOCK_GO_ON && store->why != TL_BLOCK_LATE) {
            stop = store->why == TL_BLOCK_TRAP ? TL_STOP_TRAP : store->why == TL_BLOCK_WAIT ? TL_STOP_WAIT : TL_STOP_BREAK;
            break;
        }
    }
    h->host_phase = TL_HOST_ELSEWHERE;
    tl_fp_leave(h, &saved);
    return stop;
}
