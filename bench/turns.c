// SPDX-License-Identifier: MIT
// A recorder of turns. turns.py links it into a copy of tally with -Wl,--wrap for tl_blocks_run and
// tl_memory_new. A turn is what one hart executes before another one does. Its *prefix* ends with
// the first request of the L2, the first trap, or the first access that waits. A prefix depends on
// no other hart, but for lines that a turn before it takes from the hart: a request for such a
// line shows that a prefix tried earlier would have been undone.
//
// At the end of the process the recorder writes a header and one `turn` for each turn to the file
// that TURNS_OUT names. With TURNS_LOG, each prefix begins with no writable slot, so that the lines
// that it stores to can be counted. With TURNS_COPY, each turn begins with a copy of all state that
// undoing a prefix needs. No tally depends on either.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "isa/rv/hart.h"
#include "mem/memory.h"
#include "model/engine.h"

enum { HAS_REQUEST = 1, HAS_TRAP = 2, HAS_WAITED = 4 };
typedef struct turn { // turns.py reads it
    uint32_t insns, cycles, prefix_cycles, requests;
    uint32_t ticks, prefix_ticks, copy_ticks; // of the host's time stamp counter
    // The prefix, tried since this many turns, would have been undone; 0: never.
    uint32_t undone_turns_ago;
    uint16_t n_changed_lines, n_stored_lines; // of the L1D: in M as the turn began; stored to by the prefix
    uint16_t n_calls;                         // of the memory port, in the prefix
    uint8_t hart, flags;
} turn;
_Static_assert(sizeof(turn) == 40, "turns.py");

tl_stop __real_tl_blocks_run(tl_hart *h);
tl_stop __wrap_tl_blocks_run(tl_hart *h);
tl_status __real_tl_memory_new(const tl_config *config, tl_arena *arena, tl_hart *const *harts, uint8_t *ram, uint64_t *const *shared_tally,
                               tl_memory **ret_memory, tl_error *err);
tl_status __wrap_tl_memory_new(const tl_config *config, tl_arena *arena, tl_hart *const *harts, uint8_t *ram, uint64_t *const *shared_tally,
                               tl_memory **ret_memory, tl_error *err);

enum { MOST_TURNS = 500000, MOST_TAKEN = 4096, MOST_COPIED = 256 << 10 };
// A turn takes a line from a hart that does not run.
typedef struct taken {
    uint64_t line;
    uint32_t turn;
    bool is_fetch;
} taken;
typedef struct lost {
    taken lines[MOST_TAKEN];
    uint32_t n;
} lost;

static turn *turns, now;
static uint32_t n_turns;
static uint64_t n_left_out, n_taken;
static lost lost_of[TL_MAX_HARTS];
static tl_hart *running;
static tl_memory *memory;
static const tl_mem_port *inner;
static tl_mem_port outer;
static bool is_prefix, wants_log, wants_copy;
static uint64_t turn_start, first_tick, begin_cycle, spent_ticks; // spent by the recorder in this turn
static struct timespec first_time;
static uint8_t changed_ways[1 << 14];
static uint8_t copy[MOST_COPIED];
static uint32_t copied_bytes, most_copied_bytes;

static uint64_t requests(void) { return memory->l2.noc[TL_NOC_REQUEST]; }

// ---- what undoing needs

static void copy_some(const void *from, size_t bytes) {
    if (copied_bytes + bytes > sizeof copy)
        return;
    memcpy(copy + copied_bytes, from, bytes);
    copied_bytes += (uint32_t)bytes;
}

// Registers, predictor, stamps of lines and pages, tallies, bytes of the lines that stores may hit.
// Counts of blocks are not in it: a prefix that is replayed tells what it had added.
static void copy_state(tl_hart *h) {
    tl_hart_mem *hm = tl_mem_of(h);
    const tl_rv_hart *rv = tl_rv(h);
    const uint32_t n_stamps =
        1 + tl_cache_n_ways(&hm->l1d.cache) + tl_cache_n_ways(&hm->l1i.cache) + memory->config.dtlb.entries + memory->config.itlb.entries;
    copied_bytes = 0;
    copy_some(h, offsetof(tl_hart, data_slot));
    copy_some(rv->x, sizeof rv->x);
    copy_some(rv->f, sizeof rv->f);
    copy_some(h->tally, TL_S_N_CELLS * sizeof *h->tally);
    copy_some(h->stamps, n_stamps * sizeof *h->stamps);
    copy_some(h->bp.counters, h->bp.counter_mask + 1);
    copy_some(h->bp.btb, (h->bp.btb_mask + 1) * sizeof *h->bp.btb);
    copy_some(h->bp.ras, h->bp.ras_entries * sizeof *h->bp.ras);
    for (uint32_t way = 0; way < tl_cache_n_ways(&hm->l1d.cache); way++)
        if (hm->l1d.lines[way].state == TL_LINE_M)
            copy_some(tl_host_of(memory, tl_cache_line(&hm->l1d.cache, way)), tl_line_bytes(memory));
    most_copied_bytes = copied_bytes > most_copied_bytes ? copied_bytes : most_copied_bytes;
}

static bool may_store(const tl_hart_mem *hm, uint32_t way) {
    const tl_data_slot *slot = &hm->h->data_slot[hm->l1d.lines[way].slot];
    return slot->line_stamp == hm->l1d.first_stamp + way && slot->write_tag != TL_NO_LINE;
}

static void begin_log(tl_hart_mem *hm) {
    now.n_changed_lines = 0;
    for (uint32_t way = 0; way < tl_cache_n_ways(&hm->l1d.cache); way++) {
        changed_ways[way] = hm->l1d.lines[way].state == TL_LINE_M;
        now.n_changed_lines += changed_ways[way];
        if (wants_log && changed_ways[way] && may_store(hm, way))
            hm->h->data_slot[hm->l1d.lines[way].slot].write_tag = TL_NO_LINE;
    }
}

static void end_log(tl_hart_mem *hm) {
    for (uint32_t way = 0; way < tl_cache_n_ways(&hm->l1d.cache); way++)
        now.n_stored_lines += hm->l1d.lines[way].state == TL_LINE_M && (!changed_ways[way] || may_store(hm, way));
}

// ---- turns

static void end_prefix(uint8_t why, uint64_t tick, uint64_t cycle) {
    if (!is_prefix)
        return;
    const uint64_t start = __rdtsc();
    is_prefix = false;
    now.prefix_ticks = (uint32_t)(tick - turn_start - spent_ticks);
    now.prefix_cycles = (uint32_t)(cycle - begin_cycle);
    now.flags |= why;
    if (wants_log)
        end_log(tl_mem_of(running));
    spent_ticks += __rdtsc() - start;
}

static void end_turn(void) {
    if (!running || now.insns == 0)
        return;
    end_prefix(0, __rdtsc(), running->now);
    now.ticks = (uint32_t)(__rdtsc() - turn_start - spent_ticks);
    lost_of[running->id].n = 0;
    if (n_turns == MOST_TURNS)
        n_left_out += 1;
    else
        turns[n_turns++] = now;
}

static void begin_turn(tl_hart *h) {
    end_turn();
    const uint64_t start = __rdtsc();
    running = h;
    now = (turn){.hart = (uint8_t)h->id};
    begin_cycle = h->now;
    if (wants_copy) {
        copy_state(h);
        now.copy_ticks = (uint32_t)(__rdtsc() - start);
    }
    if (wants_log)
        begin_log(tl_mem_of(h));
    is_prefix = true;
    spent_ticks = 0;
    turn_start = __rdtsc();
}

static void print(void) {
    const char *path = getenv("TURNS_OUT");
    FILE *out = path ? fopen(path, "wb") : NULL;
    if (!out)
        return;
    struct timespec end; // the last turn is left out, because its machine is gone
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double ns = (double)(end.tv_sec - first_time.tv_sec) * 1e9 + (double)(end.tv_nsec - first_time.tv_nsec);
    const uint64_t picoseconds_a_tick = (uint64_t)(1000 * ns / (double)(__rdtsc() - first_tick));
    const uint64_t header[] = {n_turns, n_left_out, picoseconds_a_tick, most_copied_bytes, n_taken};
    fwrite(header, sizeof header, 1, out);
    fwrite(turns, sizeof *turns, n_turns, out);
    fclose(out);
}

tl_stop __wrap_tl_blocks_run(tl_hart *h) {
    if (running != h)
        begin_turn(h);
    const uint64_t insns = h->instret, cycles = h->now, asked = requests();
    const tl_stop stop = __real_tl_blocks_run(h);
    now.insns += (uint32_t)(h->instret - insns);
    now.cycles += (uint32_t)(h->now - cycles);
    now.requests += (uint32_t)(requests() - asked);
    if (stop == TL_STOP_TRAP || stop == TL_STOP_WAIT)
        end_prefix(stop == TL_STOP_TRAP ? HAS_TRAP : HAS_WAITED, __rdtsc(), h->now);
    return stop;
}

// ---- what happens within a turn

typedef struct before { // an access
    uint64_t requests, walks, tick, cycle;
} before;

static before begin_access(tl_hart *h) {
    now.n_calls += is_prefix && now.n_calls < UINT16_MAX;
    return (before){.requests = requests(), .walks = h->tally[TL_S_L1D_WALK_MISS], .tick = is_prefix ? __rdtsc() : 0, .cycle = h->now};
}

// The first request is of this access. That of a walk is of no line that another hart takes.
static void first_request(tl_hart *h, const before *b, uint64_t vaddr, bool is_fetch) {
    uint64_t paddr;
    end_prefix(HAS_REQUEST, b->tick, b->cycle);
    const uint64_t start = __rdtsc();
    if (h->tally[TL_S_L1D_WALK_MISS] == b->walks && tl_memory_translate(memory, h, vaddr, &paddr)) {
        const lost *of = &lost_of[h->id];
        for (uint32_t i = 0; i < of->n; i++)
            if (of->lines[i].line == (paddr & h->line_mask) && of->lines[i].is_fetch == is_fetch)
                now.undone_turns_ago = n_turns + (uint32_t)n_left_out - of->lines[i].turn;
    }
    spent_ticks += __rdtsc() - start;
}

static void end_access(tl_hart *h, const before *b, uint64_t vaddr, bool is_fetch) {
    if (is_prefix && requests() != b->requests)
        first_request(h, b, vaddr, is_fetch);
}

#define ACCESS(type, name, is_fetch, parameters, ...) \
    static type name parameters {                     \
        const before b = begin_access(h);             \
        const type result = inner->name(__VA_ARGS__); \
        end_access(h, &b, vaddr, is_fetch);           \
        return result;                                \
    }
typedef uint8_t *bytes;
ACCESS(bool, load, false, (tl_hart * h, uint64_t vaddr, uint32_t size), h, vaddr, size)
ACCESS(bool, store, false, (tl_hart * h, uint64_t vaddr, uint32_t size, uint64_t value), h, vaddr, size, value)
ACCESS(bytes, reach_load, false, (tl_hart * h, uint64_t vaddr, uint64_t last), h, vaddr, last)
ACCESS(bytes, reach_store, false, (tl_hart * h, uint64_t vaddr, uint64_t last), h, vaddr, last)
ACCESS(bool, look_up, false, (tl_hart * h, uint64_t vaddr, uint32_t size, bool is_store), h, vaddr, size, is_store)
ACCESS(bool, amo, false, (tl_hart * h, uint64_t vaddr, uint32_t size, tl_amo amo, uint64_t operand), h, vaddr, size, amo, operand)
ACCESS(bool, load_reserved, false, (tl_hart * h, uint64_t vaddr, uint32_t size), h, vaddr, size)
ACCESS(bool, store_conditional, false, (tl_hart * h, uint64_t vaddr, uint32_t size, uint64_t value), h, vaddr, size, value)
ACCESS(bool, fetch, true, (tl_hart * h, uint64_t vaddr), h, vaddr)
#undef ACCESS

static bool probe(tl_l2_client *client, uint64_t line, uint8_t keep) {
    const tl_l1 *l1 = (const tl_l1 *)client;
    lost *of = &lost_of[l1->hm->h->id];
    if (running && l1->hm->h != running) {
        n_taken += 1;
        if (of->n < MOST_TAKEN)
            of->lines[of->n++] = (taken){.line = line, .turn = n_turns + (uint32_t)n_left_out, .is_fetch = l1 == &l1->hm->l1i};
    }
    return (l1 == &l1->hm->l1i ? &tl_l1i_client : &tl_l1d_client)->probe(client, line, keep);
}

tl_status __wrap_tl_memory_new(const tl_config *config, tl_arena *arena, tl_hart *const *harts, uint8_t *ram, uint64_t *const *shared_tally,
                               tl_memory **ret_memory, tl_error *err) {
    static tl_l2_client_type data_client, fetch_client;
    const tl_status status = __real_tl_memory_new(config, arena, harts, ram, shared_tally, ret_memory, err);
    if (status != TL_OK)
        return status;
    memory = *ret_memory;
    wants_log = getenv("TURNS_LOG") != NULL;
    wants_copy = getenv("TURNS_COPY") != NULL;
    turns = malloc(MOST_TURNS * sizeof *turns);
    inner = harts[0]->port;
    outer = *inner;
    outer.load = load, outer.store = store, outer.reach_load = reach_load, outer.reach_store = reach_store;
    outer.look_up = look_up, outer.amo = amo, outer.load_reserved = load_reserved, outer.store_conditional = store_conditional;
    outer.fetch = fetch;
    data_client = tl_l1d_client, fetch_client = tl_l1i_client;
    data_client.probe = fetch_client.probe = probe;
    for (uint32_t i = 0; i < config->n_harts; i++) {
        harts[i]->port = &outer;
        memory->harts[i].l1d.client.type = &data_client;
        memory->harts[i].l1i.client.type = &fetch_client;
    }
    clock_gettime(CLOCK_MONOTONIC, &first_time);
    first_tick = __rdtsc();
    (void)atexit(print);
    return turns ? TL_OK : tl_fail(err, TL_ENOMEM, "no memory for turns");
}
