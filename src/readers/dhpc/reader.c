// SPDX-License-Identifier: MIT
// The reader is the corrected Algorithm 1 of the paper (docs/dhpc.md, section 9). For each manager
// it writes hpcm and hpcc, and reads `empty` before every value. It stops when the request is
// complete and drained. Values stay in registers until the last has come, then go to memory. The
// machine's own front-end executes the reader, and no cost is estimated. Passes repeat until one
// causes no miss, often the second. The caches then hold code and results, and only the reader's
// own instructions move counters. The last pass counts.
//
// The truth of a value is the machine's tally at the first instruction boundary at or after the
// cycle of sampling. The cycle of sampling follows from the fabric's latencies and the cycle of the
// write that started the request. The fabric's own state is not used.
#include "readers/dhpc/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "isa/rv/assemble.h"
#include "isa/rv/hart.h"
#include "pmu/dhpc/dhpc.h"
#include "readers/dhpc/on.h"

enum {
    X0 = 0,
    X_BUFFER = 3,
    X_T0 = 5,
    X_T1 = 6,
    X_T2 = 7,
    X_FIRST_VALUE = 8,
    MAX_VALUES = 24, // of one request: registers that are left
    CODE_BYTES = TL_READER_BYTES / 4 * 3,
    MAX_STEPS = 1000000, // a reader takes some hundreds
    // One pass to warm is enough unless replacement is unlucky or the caches are too small.
    MAX_PASSES = 16,
};

// ---- What is read.

typedef struct column {
    uint32_t bit;
    const char *unit;   // a format of the instance
    const char *event;  // as in the table
    const char *signal; // the tally that says the truth
    int side;           // of identity I1: 1 L1 misses, 2 L2 reads, 0 none
} column;

static const column core_columns[] = {
    {0, "hart%u", "cycles", "hart%u.cycle", 0},
    {1, "hart%u", "instructions", "hart%u.instret", 0},
    {2, "hart%u.l1i", "reads", "hart%u.l1i.read", 0},
    {3, "hart%u.l1i", "readmisses", "hart%u.l1i.miss", 1},
    {4, "hart%u.l1d", "reads", "hart%u.l1d.load", 0},
    {5, "hart%u.l1d", "readmisses", "hart%u.l1d.load_miss", 1},
    {6, "hart%u.l1d", "writes", "hart%u.l1d.store", 0},
    {7, "hart%u.l1d", "writemisses", "hart%u.l1d.store_miss", 1},
    {8, "hart%u.l1d", "writebacks", "hart%u.l1d.writeback", 0},
    {31, "hart%u.l1d", "prefetches", "hart%u.l1d.prefetch", 1},
    {33, "hart%u.l1i", "prefetches", "hart%u.l1i.prefetch", 1},
};
static const column slice_columns[] = {
    {0, "l2.%u", "reads", "l2.%u.read", 2},           {1, "l2.%u", "readmisses", "l2.%u.readmiss", 0},
    {2, "l2.%u", "writes", "l2.%u.write", 0},         {3, "l2.%u", "writemisses", "l2.%u.writemiss", 0},
    {4, "l2.%u", "writebacks", "l2.%u.writeback", 0}, {8, "l2.%u", "uncached reads", "l2.%u.unc_read", 1},
};

typedef struct request {
    uint32_t id;
    uint64_t bitmap;
    uint32_t first_value, n_values; // in the reading
    uint64_t trigger_pc;            // of the write that starts it
    // Index in the buffer, in double words: values, then hpcm, then hpcc.
    uint32_t first_result;
} request;

typedef enum clock_kind { NO_CLOCK, CLOCK_CYCLE, CLOCK_IDLE } clock_kind;

typedef struct reader {
    tl_machine *machine;
    tl_reading *reading;
    const tl_dhpc_config *config;
    tl_assembler code;          // in RAM
    uint64_t base, end, buffer; // physical addresses
    request *requests;
    uint32_t n_requests, n_results;
    // For each value the tallies whose sum is its truth; none: the fabric alone counts it.
    tl_sources *sources;
    uint64_t *samples;  // cycle in which each value is sampled, UINT64_MAX: not known yet
    bool *is_known;     // its truth
    clock_kind *clocks; // signals that are known in any cycle
} reader;

// ---- The code.

static void write_request(reader *r, request *q) {
    const tl_dhpc_config *c = r->config;
    tl_assembler *a = &r->code;
    tl_asm_load_constant(a, X_T0, q->bitmap);
    tl_asm_load_constant(a, X_T1, (uint64_t)q->id << TL_DHPC_ID_LSB | TL_DHPC_TRIGGER);
    tl_asm_csrr(a, X_T2, c->hpcc); // D9: useren stays
    tl_asm_load_constant(a, X_BUFFER, TL_DHPC_USEREN);
    tl_asm_op(a, TL_ASM_AND, X_T2, X_T2, X_BUFFER);
    tl_asm_op(a, TL_ASM_OR, X_T1, X_T1, X_T2);
    tl_asm_load_constant(a, X_BUFFER, r->buffer + 8 * (uint64_t)q->first_result);
    tl_asm_csrci(a, c->hpcc, 1);   // whatever is left
    tl_asm_csrw(a, c->hpcm, X_T0); // D3
    q->trigger_pc = tl_asm_here(a);
    tl_asm_csrw(a, c->hpcc, X_T1); // D1, D2
    uint32_t drained[MAX_VALUES];
    for (uint32_t i = 0; i < q->n_values; i++) {
        uint64_t look = tl_asm_here(a);
        tl_asm_csrr(a, X_T0, c->hpcc);
        tl_asm_andi(a, X_T1, X_T0, TL_DHPC_EMPTY);
        uint32_t take = tl_asm_branch(a, TL_ASM_EQ, X_T1, X0); // something is there
        tl_asm_andi(a, X_T1, X_T0, TL_DHPC_TRIGGER);
        tl_asm_branch_to(a, TL_ASM_NE, X_T1, X0, look);
        drained[i] = tl_asm_branch(a, TL_ASM_EQ, X0, X0); // D4, D5: complete and drained
        tl_asm_bind(a, take);
        tl_asm_csrr(a, X_FIRST_VALUE + i, c->hpcr);
    }
    for (uint32_t i = 0; i < q->n_values; i++)
        tl_asm_bind(a, drained[i]);
    tl_asm_csrr(a, X_T1, c->hpcm);
    tl_asm_csrr(a, X_T0, c->hpcc);
    for (uint32_t i = 0; i < q->n_values; i++) // D8: not before the last is read
        tl_asm_sd(a, X_FIRST_VALUE + i, X_BUFFER, 8 * (int32_t)i);
    tl_asm_sd(a, X_T1, X_BUFFER, 8 * (int32_t)q->n_values);
    tl_asm_sd(a, X_T0, X_BUFFER, 8 * (int32_t)q->n_values + 8);
}

// ---- Requests.

static request *new_request(reader *r, const tl_dhpc_manager *manager) {
    request *q = &r->requests[r->n_requests++];
    *q = (request){.id = manager->id, .first_value = r->reading->n_values, .first_result = r->n_results};
    r->n_results += 2;
    return q;
}

static tl_status add_value(reader *r, request *q, uint32_t bit, const char *unit, const char *event, tl_error *err) {
    tl_reading *reading = r->reading;
    tl_reading_value *value = &reading->values[reading->n_values++];
    *value = (tl_reading_value){.unit = tl_arena_strdup(&reading->arena, unit), .event = event, .manager = q->id, .bit = bit};
    q->bitmap |= UINT64_C(1) << bit;
    q->n_values++;
    r->n_results++;
    return value->unit ? TL_OK : tl_no_memory(err);
}

static tl_status add_columns(reader *r, const tl_dhpc_manager *manager, const column *columns, size_t n_columns, tl_error *err) {
    tl_reading *reading = r->reading;
    uint32_t instance = tl_dhpc_instance_of(manager->id);
    request *q = new_request(r, manager);
    for (size_t i = 0; i < n_columns; i++) {
        const column *c = &columns[i];
        if (!(manager->implemented >> c->bit & 1)) {
            reading->has_identity &= c->side == 0;
            continue;
        }
        char path[64];
        snprintf(path, sizeof path, c->signal, instance);
        tl_sources *sources = &r->sources[reading->n_values];
        *sources = (tl_sources){.cells = tl_arena_alloc(&reading->arena, sizeof *sources->cells), .n_cells = 1};
        if (!sources->cells)
            return tl_no_memory(err);
        if (tl_probe_resolve(&r->machine->probe, path, sources->cells) != TL_OK)
            return tl_fail(err, TL_EINVAL, "the machine counts no %s, so nothing could be compared with manager 0x%x", path, manager->id);
        r->clocks[reading->n_values] = c->bit == 0 && columns == core_columns ? CLOCK_CYCLE : NO_CLOCK;
        snprintf(path, sizeof path, c->unit, instance);
        tl_status status = add_value(r, q, c->bit, path, c->event, err);
        if (status != TL_OK)
            return status;
    }
    if (q->n_values > r->config->fifo_depth)
        return tl_fail(err, TL_EINVAL, "dhpc.fifo_depth = %u: the reader asks for %u counters of a unit at once; give it more",
                       r->config->fifo_depth, q->n_values);
    return TL_OK;
}

// As many requests as it takes: the values of one lie in the FIFO, and then in registers, all at
// once.
static tl_status add_chosen(reader *r, const tl_dhpc_manager *manager, const bool *is_chosen, tl_error *err) {
    uint32_t most = r->config->fifo_depth < MAX_VALUES ? r->config->fifo_depth : MAX_VALUES;
    uint32_t class = tl_dhpc_class_of(manager->id), instance = tl_dhpc_instance_of(manager->id);
    request *q = NULL;
    tl_status status = TL_OK;
    for (uint32_t e = 0; e < tl_dhpc_n_events && status == TL_OK; e++) {
        const tl_event *event = &tl_dhpc_events[e];
        uint32_t bit = (uint32_t)(event->selector & 63), k = r->reading->n_values;
        if (!is_chosen[e] || event->selector >> 6 != TL_DHPC_ID(class, 0, tl_dhpc_extend_of(manager->id)) ||
            !(manager->implemented >> bit & 1))
            continue;
        char unit[64] = "dhpc";
        if (class == TL_DHPC_CORE)
            snprintf(unit, sizeof unit, "hart%u", instance);
        if (strncmp(event->sources, "dhpc.", 5) != 0) {
            tl_probe own = tl_dhpc_probe_of(&r->machine->probe, class, instance);
            status = tl_sources_resolve(event->sources, &own, instance, &r->reading->arena, &r->sources[k], err);
            if (status == TL_OK && class != TL_DHPC_CORE)
                snprintf(unit, sizeof unit, "%s", own.units[0].path);
        }
        r->clocks[k] = strcmp(event->sources, "hart.cycle") == 0        ? CLOCK_CYCLE
                       : strcmp(event->sources, "hart.idle_cycle") == 0 ? CLOCK_IDLE
                                                                        : NO_CLOCK;
        if (!q || q->n_values == most)
            q = new_request(r, manager);
        if (status == TL_OK)
            status = add_value(r, q, bit, unit, event->name, err);
    }
    return status;
}

static tl_status make_requests(reader *r, const tl_reader_choice *choice, tl_error *err) {
    uint32_t n;
    // Cores come before slices.
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(r->machine), &n);
    // Each request has one counter at least.
    size_t room = (size_t)n * TL_DHPC_COUNTERS;
    r->requests = tl_arena_alloc(&r->reading->arena, room * sizeof *r->requests);
    r->sources = tl_arena_alloc(&r->reading->arena, room * sizeof *r->sources);
    r->clocks = tl_arena_alloc(&r->reading->arena, room * sizeof *r->clocks);
    r->samples = tl_arena_alloc(&r->reading->arena, room * sizeof *r->samples);
    r->is_known = tl_arena_alloc(&r->reading->arena, room * sizeof *r->is_known);
    r->reading->values = tl_arena_alloc(&r->reading->arena, room * sizeof *r->reading->values);
    if (!r->requests || !r->sources || !r->clocks || !r->samples || !r->is_known || !r->reading->values)
        return tl_no_memory(err);
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < n && status == TL_OK; i++) {
        if (choice)
            status = add_chosen(r, &managers[i], choice->is_chosen, err);
        else if (tl_dhpc_extend_of(managers[i].id) != 0)
            continue;
        else if (tl_dhpc_class_of(managers[i].id) == TL_DHPC_CORE)
            status = add_columns(r, &managers[i], core_columns, TL_COUNT_OF(core_columns), err);
        else if (tl_dhpc_class_of(managers[i].id) == TL_DHPC_LLC)
            status = add_columns(r, &managers[i], slice_columns, TL_COUNT_OF(slice_columns), err);
    }
    return status;
}

static tl_status make_code(reader *r, tl_error *err) {
    for (uint32_t i = 0; i < r->n_requests; i++)
        write_request(r, &r->requests[i]);
    r->end = tl_asm_here(&r->code);
    tl_asm_mret(&r->code);
    if (r->code.is_full || r->n_results * 8 > TL_READER_BYTES - CODE_BYTES)
        return tl_fail(err, TL_EINVAL, "a reader of %u units does not fit into its place; give the machine fewer harts or slices",
                       r->n_requests);
    return TL_OK;
}

// ---- Running it.

static const request *request_at(const reader *r, uint64_t pc) {
    for (uint32_t i = 0; i < r->n_requests; i++)
        if (r->requests[i].trigger_pc == pc)
            return &r->requests[i];
    return NULL;
}

static void note_start(reader *r, const request *q, uint64_t cycle) {
    const tl_dhpc_config *c = r->config;
    for (uint32_t i = 0; i < q->n_values; i++)
        r->samples[q->first_value + i] =
            cycle + c->t_req + c->t_grant + (c->sampling == TL_DHPC_LIVE ? c->t_lookup + (uint64_t)i * c->beat : 0);
}

static uint64_t total_of(const reader *r, uint32_t index) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < r->sources[index].n_cells; i++)
        total += r->machine->tally[r->sources[index].cells[i]];
    return total;
}

static void note_truths(reader *r, const tl_hart *h) {
    for (uint32_t i = 0; i < r->reading->n_values; i++) {
        if (r->is_known[i] || r->samples[i] > h->now)
            continue;
        tl_reading_value *value = &r->reading->values[i];
        value->truth = total_of(r, i);
        if (r->clocks[i] != NO_CLOCK) { // a hart that has work has cycles; time of another is idle
            const tl_hart *counted = r->machine->harts[tl_dhpc_instance_of(value->manager)];
            uint64_t cycle = (counted == h || counted->client ? r->samples[i] : counted->now) - counted->idle_cycles;
            value->truth = r->clocks[i] == CLOCK_CYCLE ? cycle : r->samples[i] - cycle;
        }
        r->is_known[i] = true;
    }
}

// A hart that was idle while the reader ran gets the reading hart's time.
static void settle(reader *r, const tl_hart *reading_hart) {
    for (uint32_t i = 0; i < r->machine->n_harts; i++)
        if (r->machine->harts[i] != reading_hart && !r->machine->harts[i]->client)
            tl_hart_idle_until(r->machine->harts[i], reading_hart->now);
    tl_machine_sync(r->machine);
}

static tl_status run_code(reader *r, tl_hart *h, tl_error *err) {
    h->pc = r->base;
    h->run_vline = TL_NO_LINE; // whatever was fetched, it was not this
    for (uint32_t n = 0; h->pc != r->end; n++) {
        const request *q = request_at(r, h->pc);
        uint64_t pc = h->pc, before = h->now;
        h->horizon = UINT64_MAX;
        h->insn_limit = h->instret + 1;
        tl_hart_limit_to_deadline(h, &h->insn_limit);
        tl_stop stop = r->machine->engine->run(h);
        if (q) // a write acts in the cycle in which it issues
            note_start(r, q, before);
        (void)tl_hart_poll(h);
        if (stop == TL_STOP_TRAP || n == MAX_STEPS)
            return tl_fail(err, TL_EIO, "the reader of the distributed counters %s at 0x%llx", n == MAX_STEPS ? "does not end" : "trapped",
                           (unsigned long long)pc);
        tl_machine_sync(r->machine);
        note_truths(r, h);
    }
    return TL_OK;
}

typedef struct footprint {
    uint64_t instructions, cycles, l1d_reads, l1d_writes, l1d_misses, l1i_misses;
} footprint;

static footprint footprint_of(const tl_hart *h) {
    return (footprint){.instructions = h->instret,
                       .cycles = h->now,
                       .l1d_reads = h->tally[TL_S_L1D_LOAD],
                       .l1d_writes = h->tally[TL_S_L1D_STORE],
                       .l1d_misses = h->tally[TL_S_L1D_LOAD_MISS] + h->tally[TL_S_L1D_STORE_MISS],
                       .l1i_misses = h->tally[TL_S_L1I_MISS]};
}

static uint64_t misses_between(const footprint *a, const footprint *b) {
    return b->l1d_misses - a->l1d_misses + b->l1i_misses - a->l1i_misses;
}

// Enters machine mode as an interrupt would, on physical addresses. Passes repeat until one causes
// no miss, and that one counts.
static tl_status run_passes(reader *r, tl_hart *h, uint64_t *ret_cycles, tl_error *err) {
    tl_hart_notice(h, TL_NOTICE_TRAP_ENTRY);
    h->now += h->config->pipeline.trap_cycles;
    h->tally[TL_S_HART_CYC_TRAP] += h->config->pipeline.trap_cycles;
    ++h->tally[TL_S_HART_FLUSH_OTHER];
    tl_machine_sync(r->machine);
    footprint first = footprint_of(h), begin = first, end = first;
    for (uint32_t pass = 0; pass == 0 || (pass < MAX_PASSES && misses_between(&begin, &end) != 0); pass++) {
        for (uint32_t i = 0; i < r->reading->n_values; i++) {
            r->is_known[i] = false;
            r->samples[i] = UINT64_MAX;
        }
        begin = end;
        tl_status status = run_code(r, h, err);
        if (status != TL_OK)
            return status;
        end = footprint_of(h);
    }
    *ret_cycles = end.cycles - first.cycles;
    r->reading->cost = (tl_reading_cost){.instructions = end.instructions - begin.instructions,
                                         .cycles = end.cycles - begin.cycles,
                                         .requests = r->n_requests,
                                         .values = r->reading->n_values,
                                         .l1d_reads = end.l1d_reads - begin.l1d_reads,
                                         .l1d_writes = end.l1d_writes - begin.l1d_writes,
                                         .l1d_misses = end.l1d_misses - begin.l1d_misses,
                                         .l1i_misses = end.l1i_misses - begin.l1i_misses,
                                         .warm_instructions = begin.instructions - first.instructions,
                                         .warm_cycles = begin.cycles - first.cycles};
    return TL_OK;
}

// Back as every handler goes: an MRET that is fetched, issued, retired and drains the pipeline.
static tl_status leave(reader *r, tl_hart *h, uint64_t pc, tl_priv priv, tl_error *err) {
    const tl_privileged csr = tl_rv(h)->csr;
    tl_rv(h)->csr.mepc = pc;
    tl_rv(h)->csr.mstatus = (uint64_t)priv << 11;
    h->is_privileged = true; // for this one instruction there is machine mode
    h->insn_limit = h->instret + 1;
    tl_stop stop = r->machine->engine->run(h);
    h->is_privileged = false;
    tl_rv(h)->csr = csr;
    if (stop == TL_STOP_TRAP || h->priv != priv || h->pc != pc)
        return tl_fail(err, TL_EIO, "the reader of the distributed counters does not return to 0x%llx", (unsigned long long)pc);
    return TL_OK;
}

static tl_status execute(reader *r, tl_error *err) {
    tl_hart *h = r->machine->harts[0];
    uint64_t x[TL_COUNT_OF(tl_rv(h)->x)], pc = h->pc, break_pc[2] = {h->break_pc[0], h->break_pc[1]};
    bool skip_break = h->skip_break;
    tl_priv priv = h->priv;
    memcpy(x, tl_rv(h)->x, sizeof x);
    h->pend = NULL;
    h->run_vline = h->reservation_paddr = h->break_pc[0] = h->break_pc[1] = TL_NO_LINE;
    tl_hart_set_priv(h, TL_PRIV_M);
    uint64_t before = h->now, in_passes = 0;
    tl_status status = run_passes(r, h, &in_passes, err);
    if (status == TL_OK)
        status = leave(r, h, pc, priv, err);
    tl_hart_set_priv(h, priv);
    r->reading->cost.trap_cycles = h->now - before - in_passes;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    memcpy(tl_rv(h)->x, x, sizeof x);
    h->pc = pc;
    h->break_pc[0] = break_pc[0];
    h->break_pc[1] = break_pc[1];
    h->skip_break = skip_break;
    settle(r, h);
    return status;
}

// ---- Results.

static uint64_t result_at(const reader *r, uint32_t index) {
    uint64_t value;
    memcpy(&value, tl_machine_ram(r->machine, r->buffer + 8 * (uint64_t)index), sizeof value);
    return value;
}

static int side_of(const tl_reading_value *value) {
    bool is_core = tl_dhpc_class_of(value->manager) == TL_DHPC_CORE;
    const column *columns = is_core ? core_columns : slice_columns;
    size_t n = is_core ? TL_COUNT_OF(core_columns) : TL_COUNT_OF(slice_columns);
    for (size_t i = 0; i < n; i++)
        if (columns[i].bit == value->bit)
            return columns[i].side;
    return 0;
}

static tl_status take_results(reader *r, tl_error *err) {
    tl_reading *reading = r->reading;
    for (uint32_t i = 0; i < r->n_requests; i++) {
        const request *q = &r->requests[i];
        uint64_t received = result_at(r, q->first_result + q->n_values), status = result_at(r, q->first_result + q->n_values + 1);
        if (received != q->bitmap || status & (TL_DHPC_INTERRUPTED | TL_DHPC_READERROR))
            return tl_fail(err, TL_EIO, "manager 0x%x answered counters 0x%llx of 0x%llx with status 0x%llx", q->id,
                           (unsigned long long)received, (unsigned long long)q->bitmap, (unsigned long long)status);
        for (uint32_t k = 0; k < q->n_values; k++) {
            tl_reading_value *value = &reading->values[q->first_value + k];
            value->value = result_at(r, q->first_result + k);
            if (r->sources[q->first_value + k].n_cells == 0) // only the fabric knows the value
                continue;
            uint64_t error = value->value > value->truth ? value->value - value->truth : value->truth - value->value;
            if (error > reading->largest_error)
                reading->largest_error = error;
            int side = reading->has_identity ? side_of(value) : 0;
            reading->l1_misses += side == 1 ? value->value : 0;
            reading->l2_reads += side == 2 ? value->value : 0;
        }
    }
    return TL_OK;
}

bool tl_reader_is_column(const tl_event *event) {
    const uint32_t manager = (uint32_t)(event->selector >> 6), bit = (uint32_t)(event->selector & 63);
    for (size_t i = 0; i < TL_COUNT_OF(core_columns); i++)
        if (manager == TL_DHPC_ID(TL_DHPC_CORE, 0, 0) && core_columns[i].bit == bit)
            return true;
    for (size_t i = 0; i < TL_COUNT_OF(slice_columns); i++)
        if (manager == TL_DHPC_ID(TL_DHPC_LLC, 0, 0) && slice_columns[i].bit == bit)
            return true;
    return false;
}

tl_status tl_reader_run(tl_machine *machine, const tl_reader_choice *choice, tl_reading *reading, tl_error *err) {
    if (!tl_dhpc_on(machine))
        return tl_fail(err, TL_EINVAL, "machine %s has no distributed counters; give it some with --set hpc=timed", machine->config.name);
    reader r = {.machine = machine, .reading = reading, .config = tl_dhpc_config_of(tl_dhpc_on(machine))};
    if (r.config->mode != TL_DHPC_TIMED)
        return tl_fail(err, TL_EINVAL, "the reader wants counters that take their time; use --set hpc=timed");
    r.base = TL_RAM_BASE_PADDR + machine->config.ram_bytes - TL_READER_BYTES;
    r.buffer = r.base + CODE_BYTES;
    tl_asm_init(&r.code, tl_machine_ram(machine, r.base), CODE_BYTES, r.base);
    reading->n_harts = machine->n_harts;
    reading->n_slices = machine->config.l2_slices;
    reading->has_identity = !choice;
    tl_machine_sync(machine);
    tl_status status = make_requests(&r, choice, err);
    for (uint32_t i = 0; i < reading->n_values && status == TL_OK; i++)
        reading->values[i].program = total_of(&r, i);
    if (status == TL_OK)
        status = make_code(&r, err);
    machine->harts[0]->code_generation++;
    if (status == TL_OK)
        status = execute(&r, err);
    if (status == TL_OK)
        status = take_results(&r, err);
    return status;
}
