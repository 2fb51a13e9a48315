// SPDX-License-Identifier: MIT
// The distributed counters, read in user mode. Each manager with a needed counter gets one request.
// Its values burst into registers and go to memory after the last has come (docs/dhpc.md, section
// 9). A value counts from reset, and the reader subtracts nothing.
//
// The truth of a value is the machine's tally at the first instruction boundary at or after the
// cycle of sampling. The cycle of sampling follows from the fabric's latencies and the cycle of the
// write that started the request.
#include "readers/dhpc/compare.h"
#include "readers/dhpc/fabric_reader.h"
#include "readers/dhpc/on.h"

#include <stdio.h>
#include <string.h>

enum {
    // As many as values, because the FIFO may hold one.
    MAX_REQUESTS = TL_COMPARE_MAX_EVENTS * TL_MAX_L2_SLICES,
    MAX_READINGS = TL_COMPARE_MAX_EVENTS * TL_MAX_L2_SLICES,
};

typedef struct reading {
    uint32_t event, manager, bit;
    tl_cell cells[8]; // the truth of this part
    uint32_t n_cells;
    bool is_clock;
    uint64_t sample_cycle, truth; // of the last reading
    bool is_known;
} reading;

typedef struct request {
    uint32_t manager, n_values, first_result;
    uint64_t bitmap;
    uint64_t trigger_pc[2];             // of the writes that start it: of burst-read, of empty-poll
    uint32_t values[TL_HPC_MAX_VALUES]; // index of the reading, in order of bits
} request;

typedef struct own {
    const tl_dhpc_config *config;
    reading readings[MAX_READINGS];
    request requests[MAX_REQUESTS];
    uint32_t n_readings, n_requests, n_results;
} own;

static tl_status too_many(tl_error *err) { return tl_fail(err, TL_EINVAL, "too many counters to read at once; watch fewer events"); }

static tl_status add_reading(tl_watch *w, uint32_t event, uint32_t manager, uint32_t bit, const tl_sources *truth, tl_error *err) {
    own *o = w->own;
    if (o->n_readings == MAX_READINGS || truth->n_cells > 8)
        return too_many(err);
    reading *r = &o->readings[o->n_readings++];
    *r = (reading){.event = event, .manager = manager, .bit = bit, .n_cells = truth->n_cells, .sample_cycle = UINT64_MAX};
    r->is_clock = manager == TL_DHPC_ID(TL_DHPC_CORE, 0, 0) && bit == 0;
    for (uint32_t i = 0; i < truth->n_cells; i++)
        r->cells[i] = truth->cells[i];
    return TL_OK;
}

static bool is_built(const tl_watch *w, uint32_t id, uint32_t bit) {
    uint32_t n;
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(w->environment.machine), &n);
    for (uint32_t i = 0; i < n; i++)
        if (managers[i].id == id)
            return managers[i].implemented >> bit & 1;
    return false;
}

// One counter of hart 0, or one in each slice.
static tl_status add_event(tl_watch *w, uint32_t index, tl_error *err) {
    const tl_compare_setup *setup = w->environment.setup;
    const tl_watchable *event = setup->events[index];
    uint64_t selector;
    if (!tl_dhpc_selector_of(event, &selector)) {
        w->result->events[index] = (tl_watched){.reason = "no distributed counter counts it"};
        return TL_OK;
    }
    uint32_t id = (uint32_t)(selector >> 6), bit = (uint32_t)(selector & 63);
    if (!is_built(w, id, bit)) {
        w->result->events[index] = (tl_watched){.reason = "its counter is not built: a key dhpc.*_events leaves it out"};
        return TL_OK;
    }
    w->result->events[index] = (tl_watched){.has_value = true, .reason = "", .time_counted = 1};
    if (tl_dhpc_class_of(id) == TL_DHPC_CORE)
        return add_reading(w, index, id, bit, &w->truths[index], err);
    for (uint32_t slice = 0; slice < setup->config.l2_slices; slice++) {
        char path[64];
        tl_cell cell;
        snprintf(path, sizeof path, "l2.%u.%s", slice, event->sources + strlen("l2."));
        if (tl_probe_resolve(&w->environment.machine->probe, path, &cell) != TL_OK)
            return tl_fail(err, TL_EINVAL, "the machine counts no %s", path);
        const tl_sources truth = {.cells = &cell, .n_cells = 1};
        tl_status status = add_reading(w, index, id | slice << 7, bit, &truth, err);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

static bool comes_before(const reading *a, const reading *b) {
    return a->manager != b->manager ? a->manager < b->manager : a->bit < b->bit;
}

// Sorts readings by manager and bit, in order of arrival, and splits them into requests.
static tl_status make_requests(own *o, tl_error *err) {
    for (uint32_t i = 1; i < o->n_readings; i++) {
        reading r = o->readings[i];
        uint32_t k = i;
        for (; k > 0 && comes_before(&r, &o->readings[k - 1]); k--)
            o->readings[k] = o->readings[k - 1];
        o->readings[k] = r;
    }
    request *q = NULL;
    uint32_t most = tl_hpc_values_at_once(o->config);
    for (uint32_t i = 0; i < o->n_readings; i++) {
        const reading *r = &o->readings[i];
        if (!q || q->manager != r->manager || q->n_values == most) {
            if (o->n_requests == MAX_REQUESTS)
                return too_many(err);
            q = &o->requests[o->n_requests++];
            *q = (request){.manager = r->manager, .first_result = o->n_results};
            o->n_results += 2; // received values and status
        }
        q->bitmap |= UINT64_C(1) << r->bit;
        q->values[q->n_values++] = i;
        o->n_results++;
    }
    return TL_OK;
}

// Burst-read. If the fabric is slower than the instructions, readerror is 1 and empty-poll repeats
// the request. The failed request is complete by then, and the next one leaves in the cycle of its
// write.
static void write_request(tl_assembler *a, const tl_dhpc_config *c, request *q) {
    q->trigger_pc[0] = tl_hpc_write_start(a, c, q->manager, q->bitmap);
    tl_hpc_write_takes(a, c, TL_HPC_BURST_READ, q->n_values);
    tl_asm_csrr(a, TL_T1, c->hpcm);
    tl_asm_csrr(a, TL_T0, c->hpcc);
    tl_asm_andi(a, TL_T2, TL_T0, TL_DHPC_READERROR);
    uint32_t is_good = tl_asm_branch(a, TL_ASM_EQ, TL_T2, TL_X0);
    tl_hpc_write_wait(a, c, TL_DHPC_TRIGGER);
    q->trigger_pc[1] = tl_hpc_write_start(a, c, q->manager, q->bitmap);
    tl_hpc_write_takes(a, c, TL_HPC_EMPTY_POLL, q->n_values);
    tl_asm_csrr(a, TL_T1, c->hpcm);
    tl_asm_csrr(a, TL_T0, c->hpcc);
    tl_asm_bind(a, is_good);
    tl_asm_load_constant(a, TL_T2, TL_WATCH_VADDR + TL_WATCH_RESULTS + 8 * (uint64_t)q->first_result);
    for (uint32_t i = 0; i < q->n_values; i++)
        tl_asm_sd(a, TL_HPC_FIRST_VALUE + i, TL_T2, 8 * (int32_t)i);
    tl_asm_sd(a, TL_T1, TL_T2, 8 * (int32_t)q->n_values);
    tl_asm_sd(a, TL_T0, TL_T2, 8 * (int32_t)q->n_values + 8);
}

static tl_status prepare(tl_watch *w, tl_error *err) {
    own *o = tl_arena_alloc(&w->arena, sizeof *o);
    if (!o)
        return tl_no_memory(err);
    w->own = o;
    o->config = tl_dhpc_config_of(tl_dhpc_on(w->environment.machine));
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < w->environment.setup->n_events && status == TL_OK; i++)
        status = add_event(w, i, err);
    if (status == TL_OK)
        status = make_requests(o, err);
    if (status == TL_OK)
        status = tl_watch_make_upcall(w, err);
    if (status != TL_OK)
        return status;
    uint32_t most = 0;
    for (uint32_t i = 0; i < o->n_requests; i++)
        most = o->requests[i].n_values > most ? o->requests[i].n_values : most;
    tl_assembler a = tl_watch_code(w, TL_WATCH_USER, TL_WATCH_USER_DATA - TL_WATCH_USER);
    tl_watch_save(&a, TL_HPC_FIRST_VALUE, TL_HPC_FIRST_VALUE + most - 1);
    // A request of the program's own would not let hpcm be written.
    tl_asm_csrci(&a, o->config->hpcc, 1);
    for (uint32_t i = 0; i < o->n_requests; i++)
        write_request(&a, o->config, &o->requests[i]);
    tl_watch_restore(&a, TL_HPC_FIRST_VALUE, TL_HPC_FIRST_VALUE + most - 1);
    tl_asm_ecall(&a);
    bool has_room = !a.is_full && TL_WATCH_RESULTS + 8 * o->n_results <= TL_WATCH_WINDOW;
    return has_room ? TL_OK : tl_watch_no_room(err);
}

static void note_start(own *o, const request *q, uint64_t cycle) {
    const tl_dhpc_config *c = o->config;
    // A snapshot is of the cycle in which the manager takes the request.
    bool is_live = c->sampling == TL_DHPC_LIVE;
    for (uint32_t i = 0; i < q->n_values; i++) {
        reading *r = &o->readings[q->values[i]];
        r->sample_cycle = cycle + c->t_req + c->t_grant + (is_live ? c->t_lookup + (uint64_t)i * c->beat : 0);
        r->is_known = false;
    }
}

static void after(tl_watch *w, uint64_t pc, uint64_t cycle) {
    own *o = w->own;
    for (uint32_t i = 0; i < o->n_requests; i++)
        if (o->requests[i].trigger_pc[0] == pc || o->requests[i].trigger_pc[1] == pc)
            note_start(o, &o->requests[i], cycle); // a write acts in the cycle in which it issues
    bool is_synced = false;
    for (uint32_t i = 0; i < o->n_readings; i++) {
        reading *r = &o->readings[i];
        if (r->is_known || r->sample_cycle > w->hart->now)
            continue;
        if (!is_synced)
            tl_machine_sync(w->environment.machine);
        is_synced = true;
        r->truth = 0;
        for (uint32_t k = 0; k < r->n_cells; k++)
            r->truth += w->environment.machine->tally[r->cells[k]];
        if (r->is_clock) // known to the cycle, not to the instruction
            r->truth = r->sample_cycle - w->hart->idle_cycles;
        r->is_known = true;
    }
}

static tl_status finish(tl_watch *w, tl_error *err) {
    own *o = w->own;
    for (uint32_t i = 0; i < o->n_requests; i++) {
        const request *q = &o->requests[i];
        uint32_t place = TL_WATCH_RESULTS + 8 * q->first_result;
        uint64_t received = tl_watch_word(w, place + 8 * q->n_values), status = tl_watch_word(w, place + 8 * q->n_values + 8);
        if (received != q->bitmap || status & (TL_DHPC_READERROR | TL_DHPC_INTERRUPTED))
            return tl_fail(err, TL_EIO, "manager 0x%x answered counters 0x%llx of 0x%llx with status 0x%llx", q->manager,
                           (unsigned long long)received, (unsigned long long)q->bitmap, (unsigned long long)status);
        for (uint32_t k = 0; k < q->n_values; k++) {
            const reading *r = &o->readings[q->values[k]];
            w->result->events[r->event].value += tl_watch_word(w, place + 8 * k);
            w->result->events[r->event].truth += r->truth;
        }
    }
    return TL_OK;
}

const tl_watch_type tl_dhpc_watch = {.prepare = prepare, .after = after, .finish = finish};
