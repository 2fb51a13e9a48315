// SPDX-License-Identifier: MIT
// Rows of a table over a profile; see profile_rows.h.
#include "report/profile_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "names/catalogue.h"

static const struct {
    const char *name, *alias;
} keys[TL_PROFILE_N_KEYS] = {
    [TL_PROFILE_KEY_OBJECT] = {"dso", "object"}, [TL_PROFILE_KEY_SYMBOL] = {"symbol", "sym"},
    [TL_PROFILE_KEY_LINE] = {"srcline", "line"}, [TL_PROFILE_KEY_INSN] = {"insn", "instruction"},
    [TL_PROFILE_KEY_THREAD] = {"thread", "tid"}, [TL_PROFILE_KEY_PROCESS] = {"process", "pid"},
};

const char *tl_profile_key_name(tl_profile_key key) { return keys[key].name; }

static tl_status read_keys(const char *sort, tl_profile_rows *rows, tl_error *err) {
    char name[64];
    while (tl_next_name(&sort, name, sizeof name)) {
        uint32_t key = 0;
        while (key < TL_PROFILE_N_KEYS && strcmp(name, keys[key].name) != 0 && strcmp(name, keys[key].alias) != 0)
            key++;
        if (key == TL_PROFILE_N_KEYS)
            return tl_fail(err, TL_EINVAL, "--sort %s: the keys are dso, symbol, srcline, insn, thread and process", name);
        for (uint32_t i = 0; i < rows->n_keys; i++)
            if (rows->keys[i] == (tl_profile_key)key)
                return tl_fail(err, TL_EINVAL, "--sort %s: this key is given twice", name);
        rows->keys[rows->n_keys++] = (tl_profile_key)key;
    }
    return rows->n_keys > 0 ? TL_OK : tl_fail(err, TL_EINVAL, "--sort: no key; write --sort dso,symbol, say");
}

static uint64_t id_of(const tl_profile *p, tl_profile_key key, const tl_profile_insn *insn, uint32_t thread) {
    switch (key) {
    case TL_PROFILE_KEY_OBJECT: return insn->object;
    // Functions that are not known are one for each object.
    case TL_PROFILE_KEY_SYMBOL: return insn->function != TL_PROFILE_NONE ? insn->function : (UINT64_C(1) << 32) + insn->object;
    case TL_PROFILE_KEY_LINE:
        return insn->source != TL_PROFILE_NONE && insn->line > 0 ? (uint64_t)insn->source << 32 | insn->line : UINT64_MAX;
    case TL_PROFILE_KEY_INSN: return (uint64_t)(insn - p->insns);
    case TL_PROFILE_KEY_THREAD: return thread;
    case TL_PROFILE_KEY_PROCESS: return p->threads[thread].process;
    case TL_PROFILE_N_KEYS: break;
    }
    return 0;
}

typedef struct row_index { // hash table of row numbers + 1
    uint32_t *slots;
    uint32_t n_slots;
} row_index;

static uint64_t hash_ids(const uint64_t ids[TL_PROFILE_N_KEYS]) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < TL_PROFILE_N_KEYS; i++) {
        hash = (hash ^ ids[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool widen(tl_profile_rows *rows, row_index *index) {
    const uint32_t room = rows->room == 0 ? 256 : 2 * rows->room;
    tl_profile_row *larger = realloc(rows->rows, room * sizeof *larger);
    if (larger)
        rows->rows = larger;
    uint64_t *sums = realloc(rows->sums, ((size_t)room * rows->n_used + 1) * sizeof *sums);
    if (sums)
        rows->sums = sums;
    bool is_good = true;
    if (rows->selves) {
        uint64_t *selves = realloc(rows->selves, ((size_t)room * rows->n_used + 1) * sizeof *selves);
        is_good = selves != NULL;
        if (selves)
            rows->selves = selves;
    }
    uint32_t *slots = calloc(4 * (size_t)room, sizeof *slots);
    if (!larger || !sums || !slots || !is_good) {
        free(slots);
        return false;
    }
    free(index->slots);
    *index = (row_index){slots, 4 * room};
    rows->room = room;
    for (uint32_t i = 0; i < rows->n; i++) {
        uint64_t slot = hash_ids(rows->rows[i].ids);
        while (slots[slot % index->n_slots] != 0)
            slot++;
        slots[slot % index->n_slots] = i + 1;
    }
    return true;
}

static tl_profile_row *row_of(tl_profile_rows *rows, row_index *index, const uint64_t ids[TL_PROFILE_N_KEYS], uint32_t insn) {
    if (rows->n == rows->room && !widen(rows, index))
        return NULL;
    uint64_t slot = hash_ids(ids);
    for (; index->slots[slot % index->n_slots] != 0; slot++) {
        tl_profile_row *row = &rows->rows[index->slots[slot % index->n_slots] - 1];
        if (memcmp(row->ids, ids, sizeof row->ids) == 0)
            return row;
    }
    tl_profile_row *row = &rows->rows[rows->n];
    *row = (tl_profile_row){.first_insn = insn, .first_sum = rows->n * rows->n_used};
    memcpy(row->ids, ids, sizeof row->ids);
    memset(rows->sums + row->first_sum, 0, rows->n_used * sizeof *rows->sums);
    if (rows->selves)
        memset(rows->selves + row->first_sum, 0, rows->n_used * sizeof *rows->selves);
    index->slots[slot % index->n_slots] = ++rows->n;
    return row;
}

static bool sum_up(tl_profile_rows *rows, const uint32_t *slot_of_event) {
    const tl_profile *p = rows->profile;
    row_index index = {0};
    bool is_good = widen(rows, &index);
    for (uint32_t i = 0; i < p->n_insns && is_good; i++) {
        const tl_profile_insn *insn = &p->insns[i];
        uint32_t thread = TL_PROFILE_NONE;
        tl_profile_row *row = NULL;
        for (uint32_t k = insn->first_count; k < insn->first_count + insn->n_counts && is_good; k++) {
            const tl_profile_count *count = &p->counts[k];
            rows->totals[count->event] += count->n;
            if (slot_of_event[count->event] == TL_PROFILE_NONE)
                continue;
            if (thread != count->thread) {
                uint64_t ids[TL_PROFILE_N_KEYS] = {0};
                thread = count->thread;
                for (uint32_t key = 0; key < rows->n_keys; key++)
                    ids[key] = id_of(p, rows->keys[key], insn, thread);
                row = row_of(rows, &index, ids, i);
                is_good = row != NULL;
            }
            if (row)
                rows->sums[row->first_sum + slot_of_event[count->event]] += count->n;
        }
    }
    free(index.slots);
    return is_good;
}

static void context_ids(const tl_profile_rows *rows, uint32_t context, uint64_t ids[TL_PROFILE_N_KEYS]) {
    const tl_profile *p = rows->profile;
    const tl_profile_context *c = &p->contexts[context];
    for (uint32_t key = 0; key < rows->n_keys; key++) {
        switch (rows->keys[key]) {
        case TL_PROFILE_KEY_OBJECT: ids[key] = p->functions[c->function].object; break;
        case TL_PROFILE_KEY_SYMBOL: ids[key] = c->function; break;
        case TL_PROFILE_KEY_THREAD: ids[key] = c->thread; break;
        case TL_PROFILE_KEY_PROCESS: ids[key] = p->threads[c->thread].process; break;
        default: break;
        }
    }
}

// Counts of a context go to each row on its path, once.
static bool sum_up_contexts(tl_profile_rows *rows, const uint32_t *slot_of_event) {
    const tl_profile *p = rows->profile;
    row_index index = {0};
    rows->selves = calloc(1, sizeof *rows->selves);
    bool is_good = rows->selves && widen(rows, &index);
    for (uint32_t i = 0; i < p->n_events; i++)
        if (p->events[i].kind == TL_PROFILE_SIGNAL)
            rows->totals[i] = p->events[i].total;
    for (uint32_t c = 0; c < p->n_contexts && is_good; c++) {
        const tl_profile_context *context = &p->contexts[c];
        const tl_profile_tally *counts = &p->context_counts[context->first_count];
        for (uint32_t at = c; at != TL_PROFILE_NONE && is_good; at = p->contexts[at].parent) {
            uint64_t ids[TL_PROFILE_N_KEYS] = {0};
            context_ids(rows, at, ids);
            tl_profile_row *row = row_of(rows, &index, ids, 0);
            is_good = row != NULL;
            if (!row || row->seen_by == c + 1)
                continue;
            row->seen_by = c + 1;
            for (uint32_t k = 0; k < context->n_counts; k++) {
                const uint32_t slot = slot_of_event[counts[k].event];
                if (slot == TL_PROFILE_NONE)
                    continue;
                rows->sums[row->first_sum + slot] += counts[k].n;
                if (at == c)
                    rows->selves[row->first_sum + slot] += counts[k].n;
            }
        }
    }
    free(index.slots);
    return is_good;
}

// Columns read events that were counted by context.
static tl_status check_contexts(const tl_profile_rows *rows, tl_error *err) {
    const tl_profile *p = rows->profile;
    if (p->n_contexts == 0)
        return tl_fail(err, TL_EINVAL, "--children: the profile has no call graph; record it with tally record -g");
    for (uint32_t i = 0; i < rows->n_keys; i++)
        if (rows->keys[i] == TL_PROFILE_KEY_LINE || rows->keys[i] == TL_PROFILE_KEY_INSN)
            return tl_fail(err, TL_EINVAL,
                           "--sort %s: calls are of functions; with --children the keys are dso, symbol, thread and process",
                           keys[rows->keys[i]].name);
    for (uint32_t i = 0; i < rows->n_used; i++) {
        const uint32_t event = rows->used[i];
        uint64_t sum = 0;
        for (uint32_t k = 0; k < p->n_context_counts; k++)
            if (p->context_counts[k].event == event)
                sum += p->context_counts[k].n;
        if (p->events[event].kind == TL_PROFILE_SIGNAL && sum != p->events[event].total)
            return tl_fail(err, TL_EINVAL, "--children: %s was not counted by call; name it with -e of tally record -g",
                           p->events[event].name);
    }
    return TL_OK;
}

tl_value tl_profile_rows_self(const tl_profile_rows *rows, const tl_profile_row *row, uint32_t column) {
    for (uint32_t i = 0; i < rows->n_used; i++)
        rows->values[rows->used[i]] = rows->selves[row->first_sum + i];
    return tl_formula_eval(rows->columns.items[column].formula, rows->values, TL_ALL_HARTS);
}

tl_value tl_profile_rows_value(const tl_profile_rows *rows, const tl_profile_row *row, uint32_t column) {
    for (uint32_t i = 0; i < rows->n_used; i++)
        rows->values[rows->used[i]] = rows->sums[row->first_sum + i];
    return tl_formula_eval(rows->columns.items[column].formula, rows->values, TL_ALL_HARTS);
}

tl_value tl_profile_rows_total(const tl_profile_rows *rows, uint32_t column) {
    return tl_formula_eval(rows->columns.items[column].formula, rows->totals, TL_ALL_HARTS);
}

double tl_profile_real(tl_value value) {
    return value.kind == TL_VALUE_MISSING ? 0 : value.kind == TL_VALUE_INTEGER ? (double)value.integer : value.real;
}

const char *tl_profile_number(tl_value value, char ret_text[TL_NUMBER_BYTES]) {
    if (value.kind == TL_VALUE_MISSING)
        return "-";
    return value.kind == TL_VALUE_INTEGER ? tl_format_grouped(value.integer, ret_text) : tl_format_metric(value.real, ret_text);
}

static int by_rank(const void *a, const void *b) {
    const tl_profile_row *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    for (uint32_t i = 0; i < TL_PROFILE_N_KEYS; i++)
        if (x->ids[i] != y->ids[i])
            return x->ids[i] < y->ids[i] ? -1 : 1;
    return 0;
}

static tl_status sort_rows(tl_profile_rows *rows, const char *order, tl_error *err) {
    uint32_t column = 0;
    while (order && column < rows->columns.n && strcmp(order, rows->columns.items[column].name) != 0)
        column++;
    if (column == rows->columns.n)
        return tl_fail(err, TL_EINVAL, "--order %s: no column has this name; name it with -e, too", order);
    for (uint32_t i = 0; i < rows->n; i++)
        rows->rows[i].rank = tl_profile_real(tl_profile_rows_value(rows, &rows->rows[i], column));
    qsort(rows->rows, rows->n, sizeof *rows->rows, by_rank);
    return TL_OK;
}

// The events that columns read, one for each slot of the sums.
static bool find_used(tl_profile_rows *rows, uint32_t *slot_of_event, bool *marked) {
    const uint32_t n_events = rows->profile->n_events;
    rows->used = malloc(((size_t)n_events + 1) * sizeof *rows->used);
    for (uint32_t i = 0; rows->used && i < n_events; i++) {
        marked[i] = true;
        slot_of_event[i] = TL_PROFILE_NONE;
        for (uint32_t c = 0; c < rows->columns.n && slot_of_event[i] == TL_PROFILE_NONE; c++)
            if (tl_formula_uses(rows->columns.items[c].formula, marked)) {
                slot_of_event[i] = rows->n_used;
                rows->used[rows->n_used++] = i;
            }
        marked[i] = false;
    }
    return rows->used != NULL;
}

static tl_status no_table_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for the table"); }

tl_status tl_profile_rows_init(const tl_profile *profile, const char *sort, const char *events, const char *order, bool with_children,
                               tl_profile_rows *ret_rows, tl_error *err) {
    tl_profile_rows *rows = ret_rows;
    const size_t n_events = (size_t)profile->n_events + 1;
    *rows = (tl_profile_rows){.profile = profile};
    tl_status status = read_keys(sort, rows, err);
    if (status == TL_OK)
        status = tl_profile_columns_init(profile, events, &rows->columns, err);
    if (status != TL_OK)
        return status;
    uint32_t *slot_of_event = malloc(n_events * sizeof *slot_of_event);
    bool *marked = calloc(n_events, sizeof *marked);
    rows->values = calloc(n_events, sizeof *rows->values);
    rows->totals = calloc(n_events, sizeof *rows->totals);
    if (!slot_of_event || !marked || !rows->values || !rows->totals || !find_used(rows, slot_of_event, marked))
        status = no_table_memory(err);
    if (status == TL_OK && with_children)
        status = check_contexts(rows, err);
    if (status == TL_OK && !(with_children ? sum_up_contexts(rows, slot_of_event) : sum_up(rows, slot_of_event)))
        status = no_table_memory(err);
    free(slot_of_event);
    free(marked);
    if (status == TL_OK)
        status = sort_rows(rows, order, err);
    if (status != TL_OK)
        tl_profile_rows_done(rows);
    return status;
}

void tl_profile_rows_done(tl_profile_rows *rows) {
    tl_profile_columns_done(&rows->columns);
    free(rows->used);
    free(rows->rows);
    free(rows->sums);
    free(rows->selves);
    free(rows->values);
    free(rows->totals);
    *rows = (tl_profile_rows){0};
}

void tl_profile_rows_text(const tl_profile_rows *rows, const tl_profile_row *row, uint32_t key, char ret_text[TL_PROFILE_CELL_BYTES]) {
    const tl_profile *p = rows->profile;
    const uint64_t id = row->ids[key];
    const tl_profile_insn *insn = &p->insns[row->first_insn];
    const size_t size = TL_PROFILE_CELL_BYTES;
    switch (rows->keys[key]) {
    case TL_PROFILE_KEY_OBJECT: snprintf(ret_text, size, "%s", tl_base_name(p->objects[id].path)); break;
    case TL_PROFILE_KEY_SYMBOL: snprintf(ret_text, size, "%s", id < p->n_functions ? p->functions[id].name : "[no symbol]"); break;
    case TL_PROFILE_KEY_LINE:
        if (id == UINT64_MAX)
            snprintf(ret_text, size, "[no line]");
        else
            snprintf(ret_text, size, "%s:%" PRIu64, tl_base_name(p->sources[id >> 32].path), id & UINT32_MAX);
        break;
    case TL_PROFILE_KEY_INSN: snprintf(ret_text, size, "%" PRIx64 "  %s", insn->address, insn->disassembly); break;
    case TL_PROFILE_KEY_THREAD: snprintf(ret_text, size, "%" PRId32 " %s", p->threads[id].tid, p->threads[id].name); break;
    case TL_PROFILE_KEY_PROCESS: snprintf(ret_text, size, "%" PRId32 " %s", p->processes[id].pid, p->processes[id].name); break;
    case TL_PROFILE_N_KEYS: break;
    }
}
