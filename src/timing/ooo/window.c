// SPDX-License-Identifier: MIT
// The window: rename, wake-up, dispatch to ports, replay, and taking back. Each clock looks at bits
// of ready nodes and at one bucket of the wheel; nothing walks all instructions in flight.
#include "timing/ooo/ooo.h"

#define BIT(n) (1u << (n))

// ---- The wheel and the ready masks.

TL_ALWAYS_INLINE void wheel_add(tl_core *core, uint32_t node, uint64_t half) {
    const uint32_t bucket = (uint32_t)half & (WHEEL - 1), first = core->wheel[bucket];
    core->ready_at[node] = half;
    core->state[node] = NODE_TIMED;
    core->next[node] = first;
    core->previous[node] = NO_LINK;
    if (first != NO_LINK)
        core->previous[first] = node;
    core->wheel[bucket] = node;
    core->wheel_used[bucket / 64] |= UINT64_C(1) << bucket % 64;
}

static void wheel_remove(tl_core *core, uint32_t node) {
    const uint32_t bucket = (uint32_t)core->ready_at[node] & (WHEEL - 1), next = core->next[node], previous = core->previous[node];
    if (next != NO_LINK)
        core->previous[next] = previous;
    if (previous != NO_LINK)
        core->next[previous] = next;
    else
        core->wheel[bucket] = next;
    if (core->wheel[bucket] == NO_LINK)
        core->wheel_used[bucket / 64] &= ~(UINT64_C(1) << bucket % 64);
}

TL_ALWAYS_INLINE void set_ready(tl_core *core, uint32_t node) {
    const uint32_t entry = node & core->ring_mask, issue = core->issue[node];
    core->state[node] = NODE_READY;
    core->ready[issue][entry / 64] |= UINT64_C(1) << entry % 64;
    core->n_ready[issue] += 1;
    core->ready_issues |= BIT(issue);
}

TL_ALWAYS_INLINE void clear_ready(tl_core *core, uint32_t node) {
    const uint32_t entry = node & core->ring_mask, issue = core->issue[node];
    core->ready[issue][entry / 64] &= ~(UINT64_C(1) << entry % 64);
    if (--core->n_ready[issue] == 0)
        core->ready_issues &= ~BIT(issue);
}

static void schedule(tl_core *core, uint32_t node, uint64_t half) {
    if (half < core->wheel_time)
        set_ready(core, node);
    else
        wheel_add(core, node, half);
}

static TL_NOINLINE void empty_bucket(tl_core *core, uint32_t bucket, uint64_t half) {
    uint32_t node = core->wheel[bucket];
    core->wheel[bucket] = NO_LINK;
    core->wheel_used[bucket / 64] &= ~(UINT64_C(1) << bucket % 64);
    while (node != NO_LINK) {
        const uint32_t next = core->next[node];
        if (TL_LIKELY(core->ready_at[node] <= half))
            set_ready(core, node);
        else
            wheel_add(core, node, core->ready_at[node]); // a later round
        node = next;
    }
}

TL_ALWAYS_INLINE bool is_used(const tl_core *core, uint32_t bucket) { return core->wheel_used[bucket / 64] >> bucket % 64 & 1; }

// Behind a stretch of skipped cycles.
static TL_NOINLINE void collect_many(tl_core *core, uint64_t half) {
    const uint64_t n = tl_lesser(half + 1 - core->wheel_time, WHEEL);
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t bucket = (uint32_t)(core->wheel_time + i) & (WHEEL - 1);
        if (is_used(core, bucket))
            empty_bucket(core, bucket, half);
    }
    core->wheel_time = half + 1;
}

// Nodes whose time has come, up to `half`.
TL_ALWAYS_INLINE void collect(tl_core *core, uint64_t half) {
    const uint32_t bucket = (uint32_t)half & (WHEEL - 1);
    if (TL_UNLIKELY(core->wheel_time != half)) {
        collect_many(core, half);
        return;
    }
    if (is_used(core, bucket))
        empty_bucket(core, bucket, half);
    core->wheel_time = half + 1;
}

uint64_t window_next_time(const tl_core *core) {
    bool has_later = false;
    for (uint32_t i = 0; i < WHEEL;) {
        const uint32_t bucket = (uint32_t)(core->wheel_time + i) & (WHEEL - 1);
        const uint64_t word = core->wheel_used[bucket / 64] >> bucket % 64;
        if (word == 0) {
            i += 64 - bucket % 64;
            continue;
        }
        const uint32_t skipped = (uint32_t)__builtin_ctzll(word);
        i += skipped;
        if (i >= WHEEL)
            break;
        for (uint32_t node = core->wheel[(bucket + skipped) & (WHEEL - 1)]; node != NO_LINK; node = core->next[node])
            if (core->ready_at[node] <= core->wheel_time + i)
                return core->wheel_time + i;
        has_later = true;
        i += 1;
    }
    return has_later ? core->wheel_time + WHEEL : NEVER;
}

void window_wake_consumers(tl_core *core, uint32_t entry, uint64_t wake) {
    for (uint32_t link = core->consumers[entry]; link != NO_LINK;) {
        const uint32_t node = link / N_SOURCES, k = link % N_SOURCES;
        link = core->link[node][k];
        if (core->ready_at[node] < wake)
            core->ready_at[node] = wake;
        if (--core->n_pending[node] == 0)
            schedule(core, node, core->ready_at[node]);
    }
    core->consumers[entry] = NO_LINK;
}

void window_retry(tl_core *core, uint32_t node, uint64_t half) { wheel_add(core, node, half); }

// ---- Rename.

static const uint8_t issue_of_class[TL_N_CLASSES] = {
    [TL_CLASS_LOAD] = ISSUE_LOAD,     [TL_CLASS_FP_LOAD] = ISSUE_LOAD,  [TL_CLASS_STORE] = ISSUE_STORE,   [TL_CLASS_FP_STORE] = ISSUE_STORE,
    [TL_CLASS_BRANCH] = ISSUE_BRANCH, [TL_CLASS_JAL] = ISSUE_BRANCH,    [TL_CLASS_JALR] = ISSUE_BRANCH,   [TL_CLASS_MUL] = ISSUE_MUL,
    [TL_CLASS_DIV] = ISSUE_DIV,       [TL_CLASS_FP_ADD] = ISSUE_FP,     [TL_CLASS_FP_MUL] = ISSUE_FP,     [TL_CLASS_FP_FMA] = ISSUE_FP,
    [TL_CLASS_FP_CONVERT] = ISSUE_FP, [TL_CLASS_FP_COMPARE] = ISSUE_FP, [TL_CLASS_FP_DIV] = ISSUE_FP_DIV, [TL_CLASS_FP_SQRT] = ISSUE_FP_DIV,
    [TL_CLASS_FP_MOVE] = ISSUE_MOVE,
}; // all others: ISSUE_ALU

TL_ALWAYS_INLINE bool is_memory_queue(uint32_t issue) { return issue - ISSUE_LOAD <= ISSUE_STORE - ISSUE_LOAD; }

// NEVER is not.
TL_ALWAYS_INLINE bool is_in_flight(const tl_core *core, uint64_t writer) { return writer - core->retired < core->ring; }

TL_ALWAYS_INLINE void add_node(tl_core *core, uint32_t node, uint64_t seq, const uint8_t *registers, uint32_t n_registers) {
    uint64_t ready = 2 * (core->h->now + 1);
    uint32_t n_pending = 0;
    core->node_seq[node] = seq;
    core->was_dispatched[node] = false;
    core->state[node] = NODE_PENDING;
    for (uint32_t k = 0; k < N_SOURCES; k++) {
        core->source[node][k] = NEVER;
        if (k >= n_registers || registers[k] == TL_NO_REG)
            continue;
        const uint64_t writer = core->last_writer[registers[k]];
        if (!is_in_flight(core, writer))
            continue;
        const uint32_t producer = entry_of(core, writer);
        const uint64_t wake = core->wake[producer];
        core->source[node][k] = writer;
        if (wake == NEVER) {
            core->link[node][k] = core->consumers[producer];
            core->consumers[producer] = node * N_SOURCES + k;
            n_pending += 1;
        } else if (ready < wake) {
            ready = wake;
        }
    }
    core->ready_at[node] = ready;
    core->n_pending[node] = (uint8_t)n_pending;
    if (n_pending == 0)
        schedule(core, node, ready);
}

// Returns the cell of what is full, or NEVER. A thread that gets company may hold more than its
// half.
TL_ALWAYS_INLINE uint64_t full_of(const tl_core *core, uint32_t issue) {
    const core_limits *c = &core->limits;
    const bool is_store = issue == ISSUE_STORE;
    if (core->rob_used + 1 + is_store > c->rob_uops)
        return CORE_STALL_ROB;
    if (is_memory_queue(issue) && core->memory_used >= c->memory_queue)
        return CORE_STALL_MEMORY_QUEUE;
    if ((is_store || !is_memory_queue(issue)) && core->general_used >= c->general_queue)
        return CORE_STALL_GENERAL_QUEUE;
    if (issue == ISSUE_LOAD && core->loads_used >= c->load_buffers)
        return CORE_STALL_LOADS;
    return is_store && core->stores_used >= c->store_buffers ? CORE_STALL_STORES : NEVER;
}

TL_ALWAYS_INLINE void rename_one(tl_core *core, uint32_t entry, uint32_t issue) {
    const tl_flow_insn *insn = &core->insn[entry];
    const uint64_t seq = core->renamed++;
    core->wake[entry] = core->valid[entry] = NEVER;
    core->data_valid[entry] = 0;
    core->data_at[entry] = NEVER;
    core->consumers[entry] = NO_LINK;
    core->wait[entry] = LOAD_HITS;
    core->is_accessed[entry] = core->has_missed[entry] = core->has_missed_dtlb[entry] = false;
    core->is_split[entry] = core->has_aliased[entry] = false;
    core->store_number[entry] = core->end_store;
    core->n_uops[entry] = issue == ISSUE_STORE ? 2 : 1;
    core->rob_used += core->n_uops[entry];
    count_class(core, CORE_RENAME_LOAD, issue);
    if (issue == ISSUE_STORE) {
        const uint32_t store = core->end_store++ % TL_MAX_STORE_BUFFERS;
        core->stores_used += 1;
        core->store_vaddr[store] = insn->vaddr;
        core->store_paddr[store] = insn->paddr;
        core->store_size[store] = insn->pipe.size_bytes;
        core->store_at[store] = core->store_data_at[store] = core->data_valid[entry] = NEVER;
        core->store_seq[store] = seq;
        memory_note_store(core, store, 1);
        core->memory_used += 1;
        core->general_used += 1;
        core->issue[core->ring + entry] = ISSUE_DATA;
        add_node(core, entry, seq, &insn->pipe.src[0], 1);
        add_node(core, core->ring + entry, seq, &insn->pipe.src[1], 1);
    } else {
        core->loads_used += issue == ISSUE_LOAD;
        *(issue == ISSUE_LOAD ? &core->memory_used : &core->general_used) += 1;
        add_node(core, entry, seq, insn->pipe.src, N_SOURCES);
    }
    const uint8_t dest = insn->pipe.dest;
    if (dest == TL_NO_REG)
        return;
    core->previous_writer[entry] = core->last_writer[dest];
    core->last_writer[dest] = seq;
}

// The cell of slots that rename leaves empty in this cycle.
static uint32_t slot_cell(const tl_core *core) {
    if (core->room_cell != NEVER)
        return CORE_SLOT_FULL;
    uint32_t cause = core->front_cause;
    if (core->renamed < core->fetched) {
        const uint32_t entry = entry_of(core, core->renamed);
        if (core->arrives[entry] <= core->h->now)
            return CORE_SLOT_PARTED;
        cause = core->late_cause[entry];
    } else if (core->is_alone) {
        return CORE_SLOT_ALONE;
    }
    switch (cause) {
    case TL_S_HART_CYC_FETCH:
    case TL_S_HART_CYC_ITLB:
    case TL_S_HART_CYC_REDIRECT: return CORE_SLOT_FETCH;
    case TL_S_HART_CYC_MISPREDICT:
    case TL_S_HART_CYC_TARGET: return CORE_SLOT_RESOLVE;
    default: return CORE_SLOT_ALONE;
    }
}

uint64_t window_stall_cell(const tl_core *core) {
    return window_has_arrived(core) ? full_of(core, core->issue[entry_of(core, core->renamed)]) : NEVER;
}

static bool may_rename(tl_core *core) {
    core->room_cell = window_stall_cell(core);
    return window_has_arrived(core) && core->room_cell == NEVER;
}

bool window_yield(tl_core *core) {
    if (TL_UNLIKELY(core->owner_tap != NULL))
        tap_rename(core->owner_tap);
    const bool loses = may_rename(core);
    core->tally[CORE_RENAME_OTHER] += loses;
    core->slots_left = core->config->rename_width;
    core->slot_cell = loses ? CORE_SLOT_OTHER : slot_cell(core);
    return loses;
}

bool window_rename(tl_core *core) {
    if (TL_UNLIKELY(core->owner_tap != NULL))
        tap_rename(core->owner_tap);
    uint32_t n = 0;
    while (core->renamed < core->fetched) {
        const uint32_t entry = entry_of(core, core->renamed), issue = core->issue[entry];
        const uint32_t n_uops = 1 + (issue == ISSUE_STORE);
        if (core->arrives[entry] > core->h->now || n + n_uops > core->config->rename_width)
            break;
        core->room_cell = full_of(core, issue);
        if (core->room_cell != NEVER) {
            if (core->room_cell == CORE_STALL_STORES)
                core->late_cause[entry] = TL_S_HART_CYC_STORE_MISS;
            break;
        }
        rename_one(core, entry, issue);
        n += n_uops;
    }
    core->tally[CORE_RENAME_UOP] += n;
    core->slots_left = core->config->rename_width - n;
    core->slot_cell = core->slots_left == 0 ? CORE_SLOT_FETCH : slot_cell(core);
    return n > 0;
}

// ---- Taking back.

static void drop_node(tl_core *core, uint32_t node) {
    for (uint32_t k = N_SOURCES; k-- > 0;) {
        const uint64_t writer = core->source[node][k];
        if (!is_in_flight(core, writer))
            continue;
        // The youngest consumer is the first of the list.
        const uint32_t producer = entry_of(core, writer);
        if (core->consumers[producer] == node * N_SOURCES + k)
            core->consumers[producer] = core->link[node][k];
    }
    if (core->state[node] == NODE_TIMED)
        wheel_remove(core, node);
    else if (core->state[node] == NODE_READY)
        clear_ready(core, node);
    const bool is_done = core->state[node] == NODE_DONE;
    core->state[node] = NODE_NONE;
    core->tally[CORE_TAKEN_BACK_FIRST] += core->was_dispatched[node];
    core->tally[CORE_TAKEN_BACK_DONE] += is_done;
    if (!core->was_dispatched[node])
        *(is_memory_queue(core->issue[node]) ? &core->memory_used : &core->general_used) -= 1;
}

static void drop_renamed(tl_core *core, uint32_t entry) {
    const tl_flow_insn *insn = &core->insn[entry];
    const uint8_t dest = insn->pipe.dest;
    if (dest != TL_NO_REG)
        core->last_writer[dest] = core->previous_writer[entry];
    if (core->n_uops[entry] == 2) {
        drop_node(core, core->ring + entry);
        core->end_store -= 1;
        memory_note_store(core, core->end_store % TL_MAX_STORE_BUFFERS, -1);
        core->stores_used -= 1;
    }
    core->loads_used -= core->issue[entry] == ISSUE_LOAD;
    drop_node(core, entry);
    core->rob_used -= core->n_uops[entry];
    core->tally[CORE_TAKEN_BACK_UOP] += core->n_uops[entry];
    count_class(core, CORE_TAKEN_BACK_LOAD, core->issue[entry]);
    core->tally[CORE_LOAD_LOOKUP_WRONG] += core->is_accessed[entry];
    if (TL_UNLIKELY(core->watches_loads) && core->is_accessed[entry])
        memory_note_load(core, entry, -1);
    core->tally[CORE_LOAD_MISS_WRONG] += core->has_missed[entry];
    const bool is_store = core->issue[entry] == ISSUE_STORE;
    core->tally[is_store ? CORE_STORE_DTLB_MISS_WRONG : CORE_LOAD_DTLB_MISS_WRONG] += core->has_missed_dtlb[entry];
    core->tally[CORE_LOAD_SPLIT_WRONG] += core->is_split[entry] && !is_store;
}

void window_squash(tl_core *core, uint64_t first, bool knows_flow) {
    const checkpoint *before = NULL; // the oldest control transfer
    while (core->fetched > first) {
        const uint32_t entry = entry_of(core, --core->fetched);
        if (is_control(&core->insn[entry]))
            before = &core->before[entry];
        // First, because a tap takes what is counted next for this instruction's.
        if (!knows_flow)
            core->flow->take_back(core->flow, entry);
        core->tally[CORE_TAKEN_BACK_INSN] += 1;
        if (core->renamed > core->fetched) {
            drop_renamed(core, entry);
            core->renamed -= 1;
        }
    }
    if (before)
        predictor_restore(&core->predictor, before);
    uint32_t n = 0;
    for (uint32_t i = 0; i < core->n_resolving; i++)
        if (core->resolving[i] < first)
            core->resolving[n++] = core->resolving[i];
    core->n_resolving = n;
}

// ---- Dispatch.

void window_set_timings(tl_core *core) {
    const tl_pipeline_config *l = core->latency;
    const tl_core_config *c = core->config;
    for (uint32_t is_double = 0; is_double < 2; is_double++) {
        uint32_t *half_cycles = core->half_cycles + is_double * TL_FLOW_DOUBLE;
        uint8_t *first_issue = core->first_issue + is_double * TL_FLOW_DOUBLE;
        for (uint32_t i = 0; i < TL_N_CLASSES; i++)
            half_cycles[i] = issue_of_class[i] == ISSUE_ALU ? c->alu_half_cycles : 2;
        memcpy(first_issue, issue_of_class, TL_N_CLASSES);
        first_issue[TL_FLOW_SHIFT] = ISSUE_SHIFT;
        half_cycles[TL_FLOW_SHIFT] = 2 * c->shift_cycles;
        half_cycles[TL_CLASS_MUL] = 2 * l->mul_cycles;
        half_cycles[TL_CLASS_DIV] = 2 * (is_double ? l->div_cycles : l->div_word_cycles);
        half_cycles[TL_CLASS_LOAD] = 2 * l->load_use_cycles;
        half_cycles[TL_CLASS_FP_LOAD] = 2 * l->fp_load_use_cycles;
        half_cycles[TL_CLASS_FP_ADD] = 2 * l->fp_add_cycles;
        half_cycles[TL_CLASS_FP_MUL] = 2 * l->fp_mul_cycles;
        half_cycles[TL_CLASS_FP_FMA] = 2 * l->fp_fma_cycles;
        half_cycles[TL_CLASS_FP_CONVERT] = 2 * l->fp_convert_cycles;
        half_cycles[TL_CLASS_FP_COMPARE] = 2 * l->fp_compare_cycles;
        half_cycles[TL_CLASS_FP_MOVE] = 2 * l->fp_move_cycles;
        half_cycles[TL_CLASS_FP_DIV] = 2 * (is_double ? l->fp_div_double_cycles : l->fp_div_single_cycles);
        half_cycles[TL_CLASS_FP_SQRT] = 2 * (is_double ? l->fp_sqrt_double_cycles : l->fp_sqrt_single_cycles);
    }
}

// Returns the producer whose value is not there yet, or NEVER.
TL_ALWAYS_INLINE uint64_t invalid_source(const tl_core *core, uint32_t node, uint64_t half) {
    for (uint32_t k = 0; k < N_SOURCES; k++) {
        const uint64_t writer = core->source[node][k];
        if (is_in_flight(core, writer) && core->valid[entry_of(core, writer)] > half)
            return writer;
    }
    return NEVER;
}

TL_ALWAYS_INLINE void count_arithmetic(tl_core *core, uint32_t entry) {
    core->tally[core->insn[entry].pipe.size_bytes == 8 ? CORE_EXECUTE_DOUBLE : CORE_EXECUTE_SINGLE] += 1;
}

TL_ALWAYS_INLINE void dispatch(tl_core *core, uint32_t node, uint64_t half) {
    const uint32_t entry = node & core->ring_mask;
    const tl_issue issue = (tl_issue)core->issue[node];
    const uint32_t latency = latency_of(core, &core->insn[entry]);
    clear_ready(core, node);
    core->tally[CORE_DISPATCH] += 1;
    core->tally[CORE_DISPATCH_ALU + issue] += 1;
    core->tally[core->was_dispatched[node] ? CORE_REPLAY : CORE_DISPATCH_FIRST] += 1;
    if (!core->was_dispatched[node]) {
        core->was_dispatched[node] = true;
        *(is_memory_queue(issue) ? &core->memory_used : &core->general_used) -= 1;
    }
    // Without a replay loop, dependents are told when the value is there.
    const uint64_t missing = core->config->replay_miss_cycles == 0 ? NEVER : invalid_source(core, node, half);
    if (TL_UNLIKELY(missing != NEVER)) {
        core->tally[CORE_IN_VAIN] += 1;
        core->tally[CORE_IN_VAIN_SOURCE] += 1;
        const load_wait wait = core->wait[entry_of(core, missing)] == LOAD_WAITS_MISS ? LOAD_WAITS_MISS : LOAD_WAITS_SOURCE;
        if (node == entry)
            core->wait[entry] = (uint8_t)wait;
        if (node == entry && core->wake[entry] == NEVER)
            window_wake(core, entry, half + latency);
        const uint32_t round = wait == LOAD_WAITS_MISS ? core->config->replay_miss_cycles : core->config->replay_cycles;
        window_retry(core, node, half + 2 * (uint64_t)round);
        return;
    }
    if (issue == ISSUE_LOAD) {
        memory_load(core, node, half);
        return;
    }
    if (issue == ISSUE_STORE) {
        memory_store(core, node, half);
        return;
    }
    core->state[node] = NODE_DONE;
    if (issue == ISSUE_DATA) {
        core->data_valid[entry] = half + latency;
        core->store_data_at[core->store_number[entry] % TL_MAX_STORE_BUFFERS] = half + latency;
        return;
    }
    core->valid[entry] = half + latency;
    if (core->wake[entry] == NEVER)
        window_wake(core, entry, half + latency);
    switch (issue) {
    case ISSUE_DIV: core->shared->div_until = half + latency; break;
    case ISSUE_FP_DIV:
        core->shared->fp_div_until = half + latency;
        count_arithmetic(core, entry);
        break;
    case ISSUE_FP: count_arithmetic(core, entry); break;
    case ISSUE_MOVE: core->tally[CORE_EXECUTE_FP_MOVE] += 1; break;
    case ISSUE_BRANCH:
        if (core->is_mispredicted[entry])
            core->resolving[core->n_resolving++] = core->node_seq[node];
        break;
    default: break;
    }
}

// The oldest ready node of these classes, one of which has one.
TL_ALWAYS_INLINE uint32_t oldest(const tl_core *core, uint32_t issues) {
    const uint32_t start = entry_of(core, core->retired), first_word = start / 64, last_word = core->n_words - 1;
    uint64_t mask = ~UINT64_C(0) << start % 64;
    if ((issues & (issues - 1)) == 0) {
        const uint32_t issue = (uint32_t)__builtin_ctz(issues);
        uint32_t word = first_word;
        uint64_t bits = core->ready[issue][word] & mask;
        while (bits == 0) { // comes round to the first word, whose low bits are the youngest
            word = (word + 1) & last_word;
            bits = core->ready[issue][word];
        }
        return word * 64 + (uint32_t)__builtin_ctzll(bits) + (issue == ISSUE_DATA ? core->ring : 0);
    }
    for (uint32_t i = 0; i <= core->n_words; i++, mask = ~UINT64_C(0)) {
        const uint32_t word = (first_word + i) & last_word;
        uint64_t bits = 0;
        for (uint32_t left = issues; left != 0; left &= left - 1)
            bits |= core->ready[__builtin_ctz(left)][word];
        bits &= mask;
        if (bits == 0)
            continue;
        const uint32_t bit = (uint32_t)__builtin_ctzll(bits), entry = word * 64 + bit;
        if (issues >> ISSUE_DATA == 0)
            return entry;
        const bool is_data = core->ready[ISSUE_DATA][word] >> bit & 1;
        const bool is_main = core->state[entry] == NODE_READY && (issues >> core->issue[entry] & 1);
        return is_data && !is_main ? core->ring + entry : entry;
    }
    return NO_LINK;
}

// The port takes the oldest ready node of these classes. Returns the classes that may still go.
TL_ALWAYS_INLINE uint32_t take(tl_core *core, uint32_t port, uint32_t issues, uint32_t classes, uint64_t half) {
    const uint32_t node = oldest(core, issues), issue = core->issue[node];
    if (TL_UNLIKELY(core->owner_tap != NULL))
        tap_own(core->owner_tap, node & core->ring_mask);
    core->tally[CORE_PORT_0 + port] += 1;
    dispatch(core, node, half);
    if (TL_UNLIKELY(core->tap != NULL))
        tap_dispatch(core->tap, node);
    // Each of the two dividers exists once.
    return issue == ISSUE_DIV || issue == ISSUE_FP_DIV ? classes & ~BIT(issue) : classes;
}

static uint32_t dispatch_half(tl_core *core, uint64_t half, uint32_t classes, uint32_t *ret_ports, uint32_t room) {
    if (core->shared->div_until > half)
        classes &= ~BIT(ISSUE_DIV);
    if (core->shared->fp_div_until > half)
        classes &= ~BIT(ISSUE_FP_DIV);
    uint32_t n = 0, ports = *ret_ports & core->issues_ports[classes & core->ready_issues];
    // The oldest of all comes first if not every port may take a uop, because younger ones that are
    // dispatched in vain could keep it waiting for ever.
    if (TL_UNLIKELY(room < core->n_ports) && room > 0 && (uint32_t)__builtin_popcount(ports) > room) {
        const uint32_t issue = core->issue[oldest(core, classes & core->ready_issues)];
        // The other thread may have taken all.
        const uint32_t left = core->issues_ports[BIT(issue)] & ports;
        if (left != 0) {
            const uint32_t port = (uint32_t)__builtin_ctz(left);
            classes = take(core, port, BIT(issue), classes, half);
            ports &= ~BIT(port);
            *ret_ports &= ~BIT(port);
            n = 1;
        }
    }
    for (; ports != 0 && n < room; ports &= ports - 1) {
        const uint32_t port = (uint32_t)__builtin_ctz(ports);
        const uint32_t issues = core->port_issues[port] & core->ready_issues & classes;
        if (issues == 0)
            continue;
        classes = take(core, port, issues, classes, half);
        *ret_ports &= ~BIT(port);
        n += 1;
    }
    return n;
}

bool window_dispatch(tl_core *core, port_budget *budget) {
    const uint64_t half = 2 * core->h->now;
    const uint32_t room = budget->room;
    collect(core, half);
    if (core->ready_issues != 0)
        budget->room -= dispatch_half(core, half, BIT(N_ISSUES) - 1, &budget->ports[0], budget->room);
    collect(core, half + 1);
    if (core->ready_issues >> ISSUE_ALU & 1)
        budget->room -= dispatch_half(core, half + 1, BIT(ISSUE_ALU), &budget->ports[1], budget->room);
    return budget->room < room;
}
