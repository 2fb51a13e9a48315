// SPDX-License-Identifier: MIT
// Loads and stores. Caches and TLBs are those of mem/, which answers "when" for one access; here
// accesses overlap. A line that was asked for is in the tags at once, so the lines on their way are
// remembered, and a later load of such a line waits for it.
#include "timing/ooo/ooo.h"

static const uint16_t stall_cells[] = {TL_S_HART_CYC_MISALIGNED, TL_S_HART_CYC_FETCH, TL_S_HART_CYC_ITLB, TL_S_HART_CYC_LOAD_MISS,
                                       TL_S_HART_CYC_STORE_MISS, TL_S_HART_CYC_DTLB,  TL_S_HART_CYC_MMIO};
enum { ITLB_CELL = 2, DTLB_CELL = 5 };

void port_call_begin(const tl_core *core, port_call *ret_call) {
    _Static_assert(TL_COUNT_OF(stall_cells) == TL_COUNT_OF(ret_call->cells), "each cell is kept");
    ret_call->now = core->h->now;
    for (uint32_t i = 0; i < TL_COUNT_OF(stall_cells); i++)
        ret_call->cells[i] = core->h->tally[stall_cells[i]];
}

uint64_t port_call_end(tl_core *core, const port_call *call, uint64_t *ret_translation) {
    tl_hart *h = core->h;
    const uint64_t cycles = h->now - call->now;
    h->now = call->now;
    *ret_translation = 0;
    if (cycles == 0)
        return 0;
    *ret_translation = h->tally[TL_S_HART_CYC_ITLB] - call->cells[ITLB_CELL] + h->tally[TL_S_HART_CYC_DTLB] - call->cells[DTLB_CELL];
    for (uint32_t i = 0; i < TL_COUNT_OF(stall_cells); i++)
        h->tally[stall_cells[i]] = call->cells[i];
    return cycles;
}

// ---- Lines on their way.

static uint64_t line_of(const tl_core *core, uint64_t vaddr) { return vaddr & core->h->line_mask; }

static void note_line(tl_core *core, uint64_t line, uint64_t until) {
    core->line[core->next_line] = line;
    core->line_until[core->next_line] = until;
    core->next_line = (core->next_line + 1) % MAX_LINES;
}

static uint64_t line_arrives(const tl_core *core, uint64_t line) {
    uint64_t until = 0;
    for (uint32_t i = 0; i < MAX_LINES; i++)
        if (core->line[i] == line && core->line_until[i] > until)
            until = core->line_until[i];
    return until;
}

// A miss takes a buffer from now on; without a free one it waits for the first. Returns the cycles
// it waits.
static uint64_t take_buffer(uint64_t *buffers, uint32_t n, uint64_t now, uint64_t cycles) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < n; i++)
        if (buffers[i] < buffers[first])
            first = i;
    const uint64_t wait = buffers[first] > now ? buffers[first] - now : 0;
    buffers[first] = now + wait + cycles;
    return wait;
}

// ---- Loads.

// Looks the load up in DTLB and L1D. Returns the cycle in which the data is in the L1D.
static uint64_t look_up(tl_core *core, uint32_t entry) {
    tl_hart *h = core->h;
    const tl_flow_insn *insn = &core->insn[entry];
    const uint64_t now = h->now, line = line_of(core, insn->vaddr);
    port_call call;
    uint64_t translation;
    port_call_begin(core, &call);
    if (h->port->load(h, insn->vaddr, insn->pipe.size_bytes)) {
        h->tally[TL_S_DTLB_ACCESS] += 1;
        h->tally[TL_S_L1D_LOAD] += 1;
    }
    core->tally[CORE_LOAD_LOOKUP] += 1;
    const uint64_t cycles = port_call_end(core, &call, &translation);
    core->wait[entry] = cycles == 0 ? LOAD_HITS : translation > cycles - translation ? LOAD_WAITS_TLB : LOAD_WAITS_MISS;
    if (cycles > translation) {
        const uint64_t wait = take_buffer(core->miss_until, core->config->misses, now, cycles);
        const uint64_t until = now + wait + cycles;
        note_line(core, line, until);
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
    const uint64_t arrives = line_arrives(core, line);
    if (arrives > now + cycles) {
        core->wait[entry] = LOAD_WAITS_MISS;
        core->tally[CORE_LOAD_LINE_WAIT] += 1;
        return arrives;
    }
    return now + cycles;
}

typedef enum older_store { NO_STORE, STORE_FORWARDS, STORE_BLOCKS } older_store;

static older_store find_store(const tl_core *core, uint32_t entry, uint64_t half) {
    const tl_flow_insn *insn = &core->insn[entry];
    const uint64_t vaddr = insn->vaddr, size = insn->pipe.size_bytes;
    for (uint32_t n = core->store_number[entry]; n != core->first_store; n--) {
        const uint32_t store = (n - 1) % TL_MAX_STORE_BUFFERS;
        const uint64_t start = core->store_vaddr[store], end = start + core->store_size[store];
        if (vaddr >= end || start >= vaddr + size)
            continue;
        const bool has_all = start <= vaddr && vaddr + size <= end;
        return has_all && core->store_at[store] <= half && core->store_data_at[store] <= half ? STORE_FORWARDS : STORE_BLOCKS;
    }
    return NO_STORE;
}

static void finish(tl_core *core, uint32_t node, uint64_t valid) {
    core->state[node] = NODE_DONE;
    core->valid[node] = valid;
    if (core->wake[node] == NEVER)
        window_wake(core, node, valid);
}

// The load goes round, and with a replay loop its dependents are told as if it had hit.
static void go_round(tl_core *core, uint32_t node, uint64_t half, uint32_t latency, uint32_t round_cycles) {
    static const uint8_t cells[] = {
        [LOAD_WAITS_TLB] = CORE_IN_VAIN_TLB, [LOAD_WAITS_MISS] = CORE_IN_VAIN_MISS, [LOAD_WAITS_STORE] = CORE_IN_VAIN_STORE};
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
    const tl_pipeline_config *l = core->latency;
    const uint32_t latency = 2 * (insn->pipe.cls == TL_CLASS_FP_LOAD ? l->fp_load_use_cycles : l->load_use_cycles);
    if (insn->is_redone) {
        finish(core, node, half + latency);
        return;
    }
    switch (find_store(core, node, half)) {
    case STORE_FORWARDS:
        core->wait[node] = LOAD_HITS;
        core->tally[CORE_LOAD_FORWARD] += 1;
        finish(core, node, half + 2 * (uint64_t)c->forward_cycles);
        return;
    case STORE_BLOCKS:
        core->wait[node] = LOAD_WAITS_STORE;
        go_round(core, node, half, latency, c->replay_cycles);
        return;
    case NO_STORE: break;
    }
    if (!core->is_accessed[node]) {
        core->is_accessed[node] = true;
        core->data_at[node] = look_up(core, node);
    }
    if (core->data_at[node] <= half / 2) {
        finish(core, node, half + latency);
    } else if (c->replay_miss_cycles == 0) {
        finish(core, node, 2 * core->data_at[node] + latency);
    } else {
        go_round(core, node, half, latency, core->wait[node] == LOAD_WAITS_TLB ? c->replay_cycles : c->replay_miss_cycles);
    }
}

// ---- Stores.

bool memory_is_drained(const tl_core *core) {
    if (core->first_store != core->end_store)
        return false;
    for (uint32_t i = 0; i < core->config->store_misses; i++)
        if (core->drain_until[i] > core->h->now)
            return false;
    return true;
}

static uint64_t first_free(const tl_core *core) {
    uint64_t first = NEVER;
    for (uint32_t i = 0; i < core->config->store_misses; i++)
        first = tl_lesser(first, core->drain_until[i]);
    return first;
}

uint64_t memory_next_drain(const tl_core *core) {
    if (core->first_store != core->senior_store)
        return first_free(core);
    uint64_t last = 0;
    for (uint32_t i = 0; i < core->config->store_misses; i++)
        last = core->drain_until[i] > last ? core->drain_until[i] : last;
    return last > core->h->now ? last : NEVER;
}

// The oldest retired store goes to the L1D. Its bytes are in memory already: memory is given what
// it has.
bool memory_drain(tl_core *core) {
    tl_hart *h = core->h;
    if (core->first_store == core->senior_store || first_free(core) > h->now)
        return false;
    const uint32_t store = core->first_store % TL_MAX_STORE_BUFFERS;
    const uint64_t vaddr = core->store_vaddr[store];
    const uint32_t size = core->store_size[store];
    port_call call;
    uint64_t translation;
    port_call_begin(core, &call);
    if (h->port->store(h, vaddr, size, core->flow->peek(core->flow, vaddr, size))) {
        h->tally[TL_S_DTLB_ACCESS] += 1;
        h->tally[TL_S_L1D_STORE] += 1;
    }
    const uint64_t cycles = port_call_end(core, &call, &translation);
    core->tally[CORE_STORE_DRAIN] += 1;
    core->tally[CORE_STORE_DRAIN_MISS] += cycles > 0;
    if (cycles > 0) {
        (void)take_buffer(core->drain_until, core->config->store_misses, h->now, cycles);
        note_line(core, line_of(core, vaddr), h->now + cycles);
    }
    core->first_store += 1;
    core->stores_used -= 1;
    return true;
}
