// SPDX-License-Identifier: MIT
// Rows of an attribution, and how far the tallies are booked; see attribution.h.
#include "model/attribution.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/hart_signals.h"

typedef struct own_hart {
    uint64_t space, transfer_pc;
    bool has_transfer;
} own_hart;

struct tl_attribution {
    const tl_probe *probe;
    uint32_t n_harts;
    uint64_t *started, *booked; // of each tally: at the beginning, and what rows have of it
    bool *is_clock;             // of each cell
    tl_attribution_row *rows;
    uint32_t n_rows, room;
    uint32_t *index; // hash table of row numbers + 1; 0: empty
    uint32_t index_mask;
    own_hart harts[TL_MAX_HARTS];
    uint64_t outside_space, outside_pc; // of the instruction that stopped the last run
    bool lacks_memory;
};

// Cells that predictions move (model/bpred.h).
static const uint16_t transfer_cells[] = {
    TL_S_HART_BRANCH_TAKEN, TL_S_BP_BTB_FILL,        TL_S_BP_REDIRECT,         TL_S_HART_CYC_REDIRECT,
    TL_S_BP_COND_MISS,      TL_S_BP_COND_MISS_TAKEN, TL_S_BP_RETURN_MISS,      TL_S_BP_INDIRECT_MISS,
    TL_S_BP_TARGET_MISS,    TL_S_HART_CYC_TARGET,    TL_S_HART_CYC_MISPREDICT,
};

tl_status tl_attribution_new(const tl_probe *probe, uint32_t n_harts, tl_attribution **ret_attribution, tl_error *err) {
    enum { FIRST_INDEX = 1 << 12 };
    tl_attribution *a = calloc(1, sizeof *a);
    *ret_attribution = a;
    if (a) {
        a->probe = probe;
        a->n_harts = n_harts;
        a->started = malloc(probe->n_cells * sizeof *a->started);
        a->booked = malloc(probe->n_cells * sizeof *a->booked);
        a->is_clock = calloc(probe->n_cells, sizeof *a->is_clock);
        a->index = calloc(FIRST_INDEX, sizeof *a->index);
        a->index_mask = FIRST_INDEX - 1;
    }
    if (!a || !a->started || !a->booked || !a->is_clock || !a->index) {
        tl_attribution_free(a);
        *ret_attribution = NULL;
        return tl_fail(err, TL_ENOMEM, "no memory for counts by instruction");
    }
    memcpy(a->started, probe->tally, probe->n_cells * sizeof *a->started);
    memcpy(a->booked, probe->tally, probe->n_cells * sizeof *a->booked);
    for (uint32_t cell = 0; cell < n_harts * TL_S_N_CELLS; cell++)
        a->is_clock[cell] = tl_hart_signal_kind(cell % TL_S_N_CELLS) == TL_SIGNAL_CLOCK;
    return TL_OK;
}

void tl_attribution_free(tl_attribution *a) {
    if (!a)
        return;
    for (uint32_t i = 0; i < a->n_rows; i++)
        free(a->rows[i].counts);
    free(a->rows);
    free(a->index);
    free(a->started);
    free(a->booked);
    free(a->is_clock);
    free(a);
}

static uint32_t slot_of(const tl_attribution *a, uint64_t space, uint64_t pc) {
    uint64_t key = (pc >> 1) * UINT64_C(0x9e3779b97f4a7c15) ^ space * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (uint32_t)(key ^ key >> 32) & a->index_mask;
}

static bool grow(tl_attribution *a) {
    const uint32_t room = a->room == 0 ? 1024 : 2 * a->room;
    tl_attribution_row *rows = realloc(a->rows, room * sizeof *rows);
    if (!rows)
        return false;
    a->rows = rows;
    uint32_t *index = calloc(4 * (size_t)room, sizeof *index); // at most a quarter is in use
    if (!index)
        return false;
    free(a->index);
    a->index = index;
    a->index_mask = 4 * room - 1;
    a->room = room;
    for (uint32_t i = 0; i < a->n_rows; i++) {
        uint32_t slot = slot_of(a, rows[i].space, rows[i].pc);
        while (index[slot] != 0)
            slot = (slot + 1) & a->index_mask;
        index[slot] = i + 1;
    }
    return true;
}

// NULL: the host has no memory.
static tl_attribution_row *row_of(tl_attribution *a, uint64_t space, uint64_t pc) {
    uint32_t slot = slot_of(a, space, pc);
    for (; a->index[slot] != 0; slot = (slot + 1) & a->index_mask) {
        tl_attribution_row *row = &a->rows[a->index[slot] - 1];
        if (row->pc == pc && row->space == space)
            return row;
    }
    if (a->n_rows == a->room) {
        if (!grow(a)) {
            a->lacks_memory = true;
            return NULL;
        }
        for (slot = slot_of(a, space, pc); a->index[slot] != 0;)
            slot = (slot + 1) & a->index_mask;
    }
    a->rows[a->n_rows] = (tl_attribution_row){.space = space, .pc = pc};
    a->index[slot] = ++a->n_rows;
    return &a->rows[a->n_rows - 1];
}

static void add_to_row(tl_attribution *a, tl_attribution_row *row, tl_cell cell, uint64_t n) {
    for (uint32_t i = 0; i < row->n_counts; i++)
        if (row->counts[i].cell == cell) {
            row->counts[i].n += n;
            return;
        }
    if (row->n_counts == row->room) {
        const uint32_t room = row->room == 0 ? 8 : 2 * row->room;
        tl_attribution_count *counts = realloc(row->counts, room * sizeof *counts);
        if (!counts) {
            a->lacks_memory = true;
            return;
        }
        row->counts = counts;
        row->room = room;
    }
    row->counts[row->n_counts++] = (tl_attribution_count){.cell = cell, .n = n};
}

static TL_NOINLINE void move_cell(tl_attribution *a, tl_attribution_row *row, tl_cell cell) {
    const uint64_t n = a->probe->tally[cell] - a->booked[cell];
    a->booked[cell] += n;
    if (n != 0 && !a->is_clock[cell] && row)
        add_to_row(a, row, cell, n);
}

static void book_all(tl_attribution *a, uint64_t space, uint64_t pc) {
    enum { AT_ONCE = 8 };
    const uint64_t *tally = a->probe->tally, *booked = a->booked;
    tl_attribution_row *row = NULL;
    for (uint32_t first = 0; first < a->probe->n_cells; first += AT_ONCE) {
        const uint32_t end = first + AT_ONCE < a->probe->n_cells ? first + AT_ONCE : a->probe->n_cells;
        uint64_t moved = 0;
        for (uint32_t cell = first; cell < end; cell++)
            moved |= tally[cell] ^ booked[cell];
        if (TL_LIKELY(moved == 0))
            continue;
        if (!row)
            row = row_of(a, space, pc);
        for (uint32_t cell = first; cell < end; cell++)
            move_cell(a, row, cell);
    }
}

void tl_attribution_set_space(tl_attribution *a, uint32_t hart, uint64_t space) { a->harts[hart].space = space; }

void tl_attribution_begin(tl_hart *h) { book_all(h->attribution, h->attribution->outside_space, h->attribution->outside_pc); }

void tl_attribution_end(tl_hart *h) {
    tl_attribution *a = h->attribution;
    tl_attribution_settle(h);
    a->outside_space = a->harts[h->id].space;
    a->outside_pc = h->pc;
}

void tl_attribution_settle(tl_hart *h) {
    tl_attribution *a = h->attribution;
    own_hart *own = &a->harts[h->id];
    if (!own->has_transfer)
        return;
    own->has_transfer = false;
    const tl_cell first = h->id * TL_S_N_CELLS;
    uint64_t moved = 0;
    for (uint32_t i = 0; i < TL_COUNT_OF(transfer_cells); i++)
        moved |= h->tally[transfer_cells[i]] ^ a->booked[first + transfer_cells[i]];
    if (moved == 0)
        return;
    tl_attribution_row *row = row_of(a, own->space, own->transfer_pc);
    for (uint32_t i = 0; i < TL_COUNT_OF(transfer_cells); i++)
        move_cell(a, row, first + transfer_cells[i]);
}

void tl_attribution_transfer(tl_hart *h, uint64_t pc) {
    own_hart *own = &h->attribution->harts[h->id];
    tl_attribution_settle(h);
    own->transfer_pc = pc;
    own->has_transfer = true;
}

void tl_attribution_book(tl_hart *h, uint64_t pc) { book_all(h->attribution, h->attribution->harts[h->id].space, pc); }

void tl_attribution_execute(tl_hart *h, uint64_t pc, int64_t n) {
    tl_attribution_row *row = row_of(h->attribution, h->attribution->harts[h->id].space, pc);
    if (row)
        row->n_executed += (uint64_t)n;
}

void tl_attribution_add(tl_hart *h, uint64_t pc, uint32_t cell, uint64_t n) {
    tl_attribution *a = h->attribution;
    tl_attribution_row *row = n != 0 ? row_of(a, a->harts[h->id].space, pc) : NULL;
    if (row)
        add_to_row(a, row, h->id * TL_S_N_CELLS + cell, n);
    a->booked[h->id * TL_S_N_CELLS + cell] += n;
}

const tl_attribution_row *tl_attribution_rows(const tl_attribution *a, uint32_t *ret_n_rows) {
    *ret_n_rows = a->n_rows;
    return a->rows;
}

static tl_status differs(const tl_attribution *a, tl_cell cell, uint64_t by_rows, uint64_t total, tl_error *err) {
    const tl_unit *unit = tl_probe_unit_of(a->probe, cell);
    return tl_fail(err, TL_EINVAL,
                   "%s.%s is %" PRIu64 ", but its counts by instruction sum up to %" PRIu64 "; this is a defect of tally, please report it",
                   unit->path, unit->type->signals[cell - unit->first_cell].name, total, by_rows);
}

tl_status tl_attribution_check(const tl_attribution *a, tl_error *err) {
    if (a->lacks_memory)
        return tl_fail(err, TL_ENOMEM, "no memory for counts by instruction: %u instructions have some", a->n_rows);
    uint64_t *sums = calloc(a->probe->n_cells, sizeof *sums);
    if (!sums)
        return tl_fail(err, TL_ENOMEM, "no memory to check counts by instruction");
    uint64_t n_executed = 0, instret = 0;
    for (uint32_t i = 0; i < a->n_rows; i++) {
        n_executed += a->rows[i].n_executed;
        for (uint32_t k = 0; k < a->rows[i].n_counts; k++)
            sums[a->rows[i].counts[k].cell] += a->rows[i].counts[k].n;
    }
    tl_status status = TL_OK;
    for (tl_cell cell = 0; status == TL_OK && cell < a->probe->n_cells; cell++) {
        const uint64_t total = a->probe->tally[cell] - a->started[cell];
        if (!a->is_clock[cell] && sums[cell] != total)
            status = differs(a, cell, sums[cell], total, err);
        if (a->is_clock[cell] && cell % TL_S_N_CELLS == TL_S_HART_INSTRET)
            instret += total;
    }
    if (status == TL_OK && n_executed != instret)
        status = differs(a, TL_S_HART_INSTRET, n_executed, instret, err);
    free(sums);
    return status;
}
