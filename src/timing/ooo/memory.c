// SPDX-License-Identifier: MIT
// Loads and stores. Caches and TLBs are those of mem/, which answers "when" for one access; here
// accesses overlap. A line that was asked for is in the tags at once, so the lines on their way are
// remembered, and a later load of such a line waits for it.
#include "timing/ooo/ooo.h"

#include <string.h>

// Cells that port calls add to: a row of the CPI stack, and accesses of devices.
_Static_assert(TL_S_HART_CYC_FETCH == TL_S_HART_CYC_MISALIGNED + 1 && TL_S_HART_CYC_ITLB == TL_S_HART_CYC_MISALIGNED + 2 &&
                   TL_S_HART_CYC_LOAD_MISS == TL_S_HART_CYC_MISALIGNED + 3 && TL_S_HART_CYC_STORE_MISS == TL_S_HART_CYC_MISALIGNED + 4 &&
                   TL_S_HART_CYC_DTLB == TL_S_HART_CYC_MISALIGNED + 5 && TL_COUNT_OF(((port_call *)0)->cells) == 6,
               "the row has the cells of all port calls in memory");

uint64_t port_call_take(tl_core *core, const port_call *call, uint64_t *ret_translation) {
    tl_hart *h = core->h;
    const uint64_t all = h->now - call->now;
    h->now = call->now;
    // Misaligned accesses have a cost of the core's own.
    const uint64_t cycles = all - (h->tally[FIRST_CELL] - call->cells[0]);
    *ret_translation = h->tally[TL_S_HART_CYC_ITLB] - call->cells[TL_S_HART_CYC_ITLB - FIRST_CELL] + h->tally[TL_S_HART_CYC_DTLB] -
                       call->cells[TL_S_HART_CYC_DTLB - FIRST_CELL];
    memcpy(h->tally + FIRST_CELL, call->cells, sizeof call->cells);
    h->tally[TL_S_HART_CYC_MMIO] = call->device;
    return cycles;
}

// ---- Lines on their way.

static uint64_t line_of(const tl_core *core, uint64_t paddr) { return paddr & core->h->line_mask; }

// Lines that are here by now make room.
static void note_line(core_shared *shared, uint64_t line, uint64_t now, uint64_t until) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < shared->n_lines; i++) {
        shared->line[n] = shared->line[i];
        shared->line_until[n] = shared->line_until[i];
        n += shared->line_until[i] > now;
    }
    n -= n == MAX_LINES;
    shared->line[n] = line;
    shared->line_until[n] = until;
    shared->n_lines = n + 1;
    shared->last_line_until = until > shared->last_line_until ? until : shared->last_line_until;
}

// 0: it is not on its way.
static uint64_t line_arrives(const core_shared *shared, uint64_t line, uint64_t now) {
    uint64_t until = 0;
    if (shared->last_line_until <= now)
        return 0;
    for (uint32_t i = 0; i < shared->n_lines; i++)
        if (shared->line[i] == line && shared->line_until[i] > until)
            until = shared->line_until[i];
    return until;
}

// A miss takes the buffer that is free first, until that cycle. Returns when one is free from then
// on.
static uint64_t take_buffer(uint64_t *buffers, uint32_t n, uint64_t until) {
    uint32_t first = 0;
    uint64_t next = until;
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t later = buffers[i] < buffers[first] ? first : i;
        first = buffers[i] < buffers[first] ? i : first;
        next = tl_lesser(next, buffers[later]);
    }
    buffers[first] = until;
    return next;
}

// ---- Stores of other harts.

static uint32_t filter_of(const tl_core *core, uint64_t line) { return (uint32_t)(line >> core->h->line_log2) % N_FILTER; }

void memory_note_load(tl_core *core, uint32_t entry, int change) {
    uint16_t *n = &core->load_filter[filter_of(core, core->insn[entry].paddr)];
    *n = (uint16_t)(*n + change);
}

void memory_tell_peers(const tl_core *core, uint64_t line) {
    for (uint32_t i = 0; i < core->n_peers; i++) {
        tl_core *other = core->peers[i];
        if (other == core || other->load_filter[filter_of(core, line)] == 0 || other->n_snooped == MAX_SNOOPS)
            continue;
        other->snooped_at[other->n_snooped] = core->h->now;
        other->snooped[other->n_snooped++] = line;
        core_rewind(other, core->h->now + 1);
    }
}

static uint64_t oldest_load_of(const tl_core *core, uint64_t line) {
    for (uint64_t seq = core->retired; seq < core->renamed; seq++) {
        const uint32_t entry = entry_of(core, seq);
        if (core->is_accessed[entry] && seq != core->spared_seq && line_of(core, core->insn[entry].paddr) == line)
            return seq;
    }
    return NEVER;
}

uint64_t memory_oldest_snooped(tl_core *core) {
    uint64_t oldest = NEVER;
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < core->n_snooped; i++) {
        const uint64_t line = core->snooped[i], at = core->snooped_at[i];
        if (at < core->h->now) {
            oldest = tl_lesser(oldest, oldest_load_of(core, line));
            continue;
        }
        core->snooped[n_left] = line;
        core->snooped_at[n_left++] = at;
    }
    core->n_snooped = n_left;
    return oldest;
}

// ---- Loads.

// Looks the load up in DTLB and L1D. Returns the cycle in which the data is in the L1D.
static uint64_t look_up(tl_core *core, uint32_t entry) {
    tl_hart *h = core->h;
    const tl_flow_insn *insn = &core->insn[entry];
    const uint64_t now = h->now, line = line_of(core, insn->paddr), dtlb_misses = h->tally[TL_S_DTLB_LOAD_MISS];
    port_call call;
    uint64_t translation;
    // A miss asks for its line when it has a buffer.
    const uint64_t free_at = core->shared->miss_free_at, wait = free_at > now ? free_at - now : 0;
    h->now += wait;
    port_call_begin(core, &call);
    if (h->port->look_up(h, insn->vaddr, insn->pipe.size_bytes, false)) {
        h->tally[TL_S_DTLB_ACCESS] += 1;
        h->tally[TL_S_L1D_LOAD] += 1;
    }
    core->tally[CORE_LOAD_LOOKUP] += 1;
    const uint64_t cycles = port_call_end(core, &call, &translation);
    h->now = now;
    core->has_missed_dtlb[entry] = h->tally[TL_S_DTLB_LOAD_MISS] != dtlb_misses;
    core->tally[CORE_LOAD_DTLB_MISS] += core->has_missed_dtlb[entry];
    core->is_split[entry] = line_of(core, insn->paddr + insn->pipe.size_bytes - 1) != line;
    core->tally[CORE_LOAD_SPLIT] += core->is_split[entry];
    // The longer cause. Both may hold.
    core->wait[entry] = cycles == 0 ? LOAD_HITS : translation > cycles - translation ? LOAD_WAITS_TLB : LOAD_WAITS_MISS;
    if (cycles > translation) {
        const uint64_t until = now + wait + cycles;
        core->shared->miss_free_at = take_buffer(core->shared->miss_until, core->config->misses, until);
        note_line(core->shared, line, now, until);
        core->has_missed[entry] = true;
        core->tally[CORE_LOAD_MISS] += 1;
        core->tally[CORE_BUFFER_WAIT] += wait;
        core->tally[CORE_MISS_CYCLES] += until - now;
        const uint64_t from = core->miss_until_any > now ? core->miss_until_any : now;
        if (until > from) {
            core->tally[CORE_MISS_ANY] += until - from;
            core->miss_until_any = until;
        }
        return until;
    }
    const uint64_t arrives = line_arrives(core->shared, line, now);
    if (arrives > now + cycles) {
        core->wait[entry] = LOAD_WAITS_MISS;
        core->tally[CORE_LOAD_LINE_WAIT] += 1;
        return arrives;
    }
    if (cycles == 0 && core->is_split[entry]) {
        core->wait[entry] = LOAD_WAITS_SPLIT;
        return now + core->config->split_cycles;
    }
    return now + cycles;
}

typedef enum older_store { NO_STORE, STORE_FORWARDS, STORE_HAS_NO_ADDRESS, STORE_HAS_NO_DATA, STORE_HAS_PART, STORE_ALIASES } older_store;

// Address bits that a load and a store in flight are told apart by; all of them if the key is 0.
static uint64_t compared_bits(const tl_core *core) {
    return core->config->alias_bits == 0 ? UINT64_MAX : (UINT64_C(1) << core->config->alias_bits) - 1;
}

static uint16_t *store_filter_of(tl_core *core, uint64_t vaddr) { return &core->store_filter[vaddr >> 3 & (N_FILTER - 1)]; }

void memory_note_store(tl_core *core, uint32_t store, int change) {
    const uint64_t vaddr = core->store_vaddr[store];
    uint16_t *first = store_filter_of(core, vaddr), *last = store_filter_of(core, vaddr + core->store_size[store] - 1);
    *first = (uint16_t)(*first + change);
    if (last != first)
        *last = (uint16_t)(*last + change);
}

static older_store find_store(tl_core *core, uint32_t entry, uint64_t half) {
    const tl_flow_insn *insn = &core->insn[entry];
    const uint64_t vaddr = insn->vaddr, size = insn->pipe.size_bytes, bits = compared_bits(core);
    if (!(*store_filter_of(core, vaddr) | *store_filter_of(core, vaddr + size - 1)))
        return NO_STORE;
    for (uint32_t n = core->store_number[entry]; n != core->first_store; n--) {
        const uint32_t store = (n - 1) % TL_MAX_STORE_BUFFERS;
        const uint64_t start = core->store_vaddr[store], end = start + core->store_size[store];
        if (((vaddr - start) & bits) >= core->store_size[store] && ((start - vaddr) & bits) >= size)
            continue;
        if (vaddr >= end || start >= vaddr + size)
            return STORE_ALIASES;
        if (start > vaddr || vaddr + size > end)
            return STORE_HAS_PART;
        if (core->store_at[store] > half)
            return STORE_HAS_NO_ADDRESS;
        return core->store_data_at[store] > half ? STORE_HAS_NO_DATA : STORE_FORWARDS;
    }
    return NO_STORE;
}

static void finish(tl_core *core, uint32_t node, uint64_t valid) {
    core->state[node] = NODE_DONE;
    core->valid[node] = valid;
    core->tally[CORE_EXECUTE_FP_LOAD] += core->insn[node].pipe.cls == TL_CLASS_FP_LOAD;
    if (core->wake[node] == NEVER)
        window_wake(core, node, valid);
}

// The load goes round, and with a replay loop its dependents are told as if it had hit.
static void go_round(tl_core *core, uint32_t node, uint64_t half, uint32_t latency, uint32_t round_cycles) {
    static const uint8_t cells[] = {[LOAD_WAITS_TLB] = CORE_IN_VAIN_TLB,
                                    [LOAD_WAITS_MISS] = CORE_IN_VAIN_MISS,
                                    [LOAD_WAITS_STORE] = CORE_IN_VAIN_STORE,
                                    [LOAD_WAITS_SPLIT] = CORE_IN_VAIN_SPLIT};
    core->tally[CORE_IN_VAIN] += 1;
    core->tally[cells[core->wait[node]]] += 1;
    if (round_cycles == 0) {
        window_retry(core, node, half + 2);
        return;
    }
    if (core->wake[node] == NEVER)
        window_wake(core, node, half + latency);
    window_retry(core, node, half + 2 * (uint64_t)round_cycles);
}

void memory_load(tl_core *core, uint32_t node, uint64_t half) {
    const tl_flow_insn *insn = &core->insn[node];
    const tl_core_config *c = core->config;
    const uint32_t latency = latency_of(core, insn);
    if (insn->is_redone) {
        finish(core, node, half + latency);
        return;
    }
    const older_store older = find_store(core, node, half);
    switch (older) {
    case STORE_FORWARDS:
        core->wait[node] = LOAD_HITS;
        core->tally[CORE_LOAD_FORWARD] += 1;
        finish(core, node, half + 2 * (uint64_t)c->forward_cycles);
        return;
    case STORE_ALIASES:
        core->tally[CORE_LOAD_ALIAS] += !core->has_aliased[node];
        core->has_aliased[node] = true;
        core->wait[node] = LOAD_WAITS_STORE;
        go_round(core, node, half, latency, c->replay_cycles);
        return;
    case STORE_HAS_NO_ADDRESS:
    case STORE_HAS_NO_DATA:
    case STORE_HAS_PART:
        core->tally[CORE_STORE_ADDRESS_WAIT + older - STORE_HAS_NO_ADDRESS] += 1;
        core->wait[node] = LOAD_WAITS_STORE;
        go_round(core, node, half, latency, c->replay_cycles);
        return;
    case NO_STORE: break;
    }
    if (!core->is_accessed[node]) {
        core->is_accessed[node] = true;
        core->data_at[node] = look_up(core, node);
        if (TL_UNLIKELY(core->watches_loads))
            memory_note_load(core, node, 1);
    }
    if (core->data_at[node] <= half / 2) {
        finish(core, node, half + latency);
    } else if (c->replay_miss_cycles == 0) {
        finish(core, node, 2 * core->data_at[node] + latency);
    } else {
        go_round(core, node, half, latency, core->wait[node] == LOAD_WAITS_MISS ? c->replay_miss_cycles : c->replay_cycles);
    }
}

// ---- Stores.

bool memory_is_drained(const tl_core *core) { return core->first_store == core->end_store && core->drained_at <= core->h->now; }

uint64_t memory_next_drain(const tl_core *core) {
    if (core->first_store != core->senior_store)
        return core->shared->drain_free_at;
    return core->drained_at > core->h->now ? core->drained_at : NEVER;
}

// Looks the address up in the DTLB. Returns the cycle in which it is translated.
static uint64_t translate_store(tl_core *core, uint32_t entry) {
    tl_hart *h = core->h;
    const tl_flow_insn *insn = &core->insn[entry];
    const uint64_t now = h->now, dtlb_misses = h->tally[TL_S_DTLB_STORE_MISS];
    port_call call;
    uint64_t translation;
    port_call_begin(core, &call);
    (void)h->port->look_up_store_page(h, insn->vaddr, insn->pipe.size_bytes);
    const uint64_t cycles = port_call_end(core, &call, &translation);
    core->has_missed_dtlb[entry] = h->tally[TL_S_DTLB_STORE_MISS] != dtlb_misses;
    core->tally[CORE_STORE_DTLB_MISS] += core->has_missed_dtlb[entry];
    core->is_split[entry] = line_of(core, insn->paddr + insn->pipe.size_bytes - 1) != line_of(core, insn->paddr);
    return now + cycles;
}

void memory_store(tl_core *core, uint32_t node, uint64_t half) {
    const tl_flow_insn *insn = &core->insn[node];
    const uint32_t latency = latency_of(core, insn);
    uint64_t valid = half + latency;
    if (!insn->is_redone && core->data_at[node] == NEVER)
        core->data_at[node] = translate_store(core, node);
    if (TL_UNLIKELY(!insn->is_redone && core->data_at[node] > half / 2)) {
        core->wait[node] = LOAD_WAITS_TLB;
        if (core->config->replay_miss_cycles != 0) {
            go_round(core, node, half, latency, core->config->replay_cycles);
            return;
        }
        valid = 2 * core->data_at[node] + latency;
    }
    core->state[node] = NODE_DONE;
    core->valid[node] = valid;
    core->store_at[core->store_number[node] % TL_MAX_STORE_BUFFERS] = valid;
    core->tally[CORE_EXECUTE_FP_MOVE] += insn->pipe.cls == TL_CLASS_FP_STORE;
}

// The oldest retired store goes to the L1D. Its bytes are in memory already.
void memory_drain(tl_core *core) {
    tl_hart *h = core->h;
    const uint32_t store = core->first_store % TL_MAX_STORE_BUFFERS;
    const uint64_t paddr = core->store_paddr[store], line = line_of(core, paddr);
    const uint32_t size = core->store_size[store];
    port_call call;
    uint64_t translation;
    if (TL_UNLIKELY(core->owner_tap != NULL))
        tap_drain(core->owner_tap);
    port_call_begin(core, &call);
    h->port->look_up_store_lines(h, paddr, size);
    const uint64_t cycles = port_call_end(core, &call, &translation);
    core->tally[CORE_STORE_DRAIN] += 1;
    core->tally[CORE_STORE_DRAIN_MISS] += cycles > 0;
    core->tally[CORE_STORE_SPLIT] += line_of(core, paddr + size - 1) != line;
    if (cycles > 0) {
        core->shared->drain_free_at = take_buffer(core->shared->drain_until, core->config->store_misses, h->now + cycles);
        // A store that is written through leaves no line in the L1D.
        if (h->config->bsq.l1d_write == TL_WRITE_BACK)
            note_line(core->shared, line, h->now, h->now + cycles);
        core->drained_at = core->drained_at > h->now + cycles ? core->drained_at : h->now + cycles;
    }
    if (TL_UNLIKELY(core->watches_loads))
        memory_tell_peers(core, line);
    memory_note_store(core, store, -1);
    core->first_store += 1;
    core->stores_used -= 1;
}

void memory_drain_now(tl_core *core) {
    while (core->first_store != core->senior_store) {
        memset(core->shared->drain_until, 0, sizeof core->shared->drain_until);
        core->shared->drain_free_at = 0;
        memory_drain(core);
    }
    core->drained_at = core->h->now;
}
