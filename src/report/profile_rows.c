// SPDX-License-Identifier: MIT
// Rows of a table over a profile; see profile_rows.h.
#include "report/profile_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "names/catalogue.h"
#include "profile/contexts.h"

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
    uint32_t n_slots; // a power of two
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
        while (slots[slot & (index->n_slots - 1)] != 0)
            slot++;
        slots[slot & (index->n_slots - 1)] = i + 1;
    }
    return true;
}

static tl_profile_row *row_of(tl_profile_rows *rows, row_index *index, const uint64_t ids[TL_PROFILE_N_KEYS], uint32_t insn) {
    if (rows->n == rows->room && !widen(rows, index))
        return NULL;
    uint64_t slot = hash_ids(ids);
    for (; index->slots[slot & (index->n_slots - 1)] != 0; slot++) {
        tl_profile_row *row = &rows->rows[index->slots[slot & (index->n_slots - 1)] - 1];
        if (memcmp(row->ids, ids, sizeof row->ids) == 0)
            return row;
    }
    tl_profile_row *row = &rows->rows[rows->n];
    *row = (tl_profile_row){.first_insn = insn, .first_sum = rows->n * rows->n_used};
    memcpy(row->ids, ids, sizeof row->ids);
    memset(rows->sums + row->first_sum, 0, rows->n_used * sizeof *rows->sums);
    if (rows->selves)
        memset(rows->selves + row->first_sum, 0, rows->n_used * sizeof *rows->selves);
    index->slots[slot & (index->n_slots - 1)] = ++rows->n;
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

// The context that names the row to which a context and its callees belong; TL_PROFILE_NONE: none.
static uint32_t row_context(const tl_profile_rows *rows, const tl_profile_calls *calls, uint32_t context) {
    const tl_profile_context *c = &rows->profile->contexts[context];
    const uint32_t parent = c->parent;
    switch (calls->kind) {
    case TL_PROFILE_CALLERS: return calls->is_named[c->function] ? parent : TL_PROFILE_NONE;
    case TL_PROFILE_CALLEES:
        return parent != TL_PROFILE_NONE && calls->is_named[rows->profile->contexts[parent].function] ? context : TL_PROFILE_NONE;
    case TL_PROFILE_CHILDREN:
    case TL_PROFILE_SELF: break;
    }
    return context;
}

typedef struct context_sums { // of the contexts on the path of a walk
    uint32_t *rows;           // by depth; TL_PROFILE_NONE: none
    uint64_t *sums;           // [depth][n_used]: of the context and of its callees so far
    uint32_t room;
} context_sums;

static bool deepen(context_sums *open, uint32_t depth, uint32_t n_used) {
    if (depth < open->room)
        return true;
    const uint32_t room = open->room == 0 ? 64 : 2 * open->room;
    uint32_t *rows = realloc(open->rows, room * sizeof *rows);
    if (rows)
        open->rows = rows;
    uint64_t *sums = realloc(open->sums, ((size_t)room * n_used + 1) * sizeof *sums);
    if (sums)
        open->sums = sums;
    open->room = room;
    return rows && sums;
}

static bool enter_context(tl_profile_rows *rows, row_index *index, const tl_profile_calls *calls, const uint32_t *slot_of_event,
                          uint32_t context, uint32_t depth, context_sums *open) {
    const tl_profile *p = rows->profile;
    const tl_profile_context *c = &p->contexts[context];
    if (!deepen(open, depth, rows->n_used))
        return false;
    uint64_t *sums = &open->sums[(size_t)depth * rows->n_used];
    memset(sums, 0, rows->n_used * sizeof *sums);
    for (uint32_t k = c->first_count; k < c->first_count + c->n_counts; k++) {
        const uint32_t slot = slot_of_event[p->context_counts[k].event];
        if (slot != TL_PROFILE_NONE)
            sums[slot] += p->context_counts[k].n;
    }
    open->rows[depth] = TL_PROFILE_NONE;
    const uint32_t named_by = row_context(rows, calls, context);
    if (named_by == TL_PROFILE_NONE)
        return true;
    uint64_t ids[TL_PROFILE_N_KEYS] = {0};
    context_ids(rows, named_by, ids);
    tl_profile_row *row = row_of(rows, index, ids, 0);
    if (!row)
        return false;
    row->n_open++;
    row->n_calls += c->n_calls;
    open->rows[depth] = (uint32_t)(row - rows->rows);
    for (uint32_t i = 0; i < rows->n_used; i++)
        rows->selves[row->first_sum + i] += sums[i];
    return true;
}

// Counts belong to the outermost of nested contexts of one row, so a recursive call adds nothing.
static void leave_context(tl_profile_rows *rows, uint32_t depth, context_sums *open) {
    const uint64_t *sums = &open->sums[(size_t)depth * rows->n_used];
    tl_profile_row *row = open->rows[depth] == TL_PROFILE_NONE ? NULL : &rows->rows[open->rows[depth]];
    if (row && --row->n_open == 0)
        for (uint32_t i = 0; i < rows->n_used; i++)
            rows->sums[row->first_sum + i] += sums[i];
    for (uint32_t i = 0; depth > 0 && i < rows->n_used; i++)
        open->sums[(size_t)(depth - 1) * rows->n_used + i] += sums[i];
}

static bool sum_up_contexts(tl_profile_rows *rows, const tl_profile_calls *calls, const uint32_t *slot_of_event) {
    const tl_profile *p = rows->profile;
    row_index index = {0};
    context_sums open = {0};
    tl_profile_walk walk = {0};
    rows->selves = calloc(1, sizeof *rows->selves);
    bool is_good = rows->selves && widen(rows, &index) && tl_profile_walk_init(p, &walk, NULL) == TL_OK;
    for (uint32_t i = 0; i < p->n_events; i++)
        if (p->events[i].kind == TL_PROFILE_SIGNAL)
            rows->totals[i] = p->events[i].total;
    tl_profile_step step;
    uint32_t context;
    while (is_good && (step = tl_profile_walk_step(p, &walk, &context)) != TL_PROFILE_ENDS) {
        if (step == TL_PROFILE_ENTERS)
            is_good = enter_context(rows, &index, calls, slot_of_event, context, walk.n_path - 1, &open);
        else
            leave_context(rows, walk.n_path, &open);
    }
    tl_profile_walk_done(&walk);
    free(open.rows);
    free(open.sums);
    free(index.slots);
    return is_good;
}

// Columns read events that were counted by context.
static tl_status check_contexts(const tl_profile_rows *rows, const char *option, tl_error *err) {
    const tl_profile *p = rows->profile;
    if (p->n_contexts == 0)
        return tl_fail(err, TL_EINVAL, "%s: the profile has no call graph; record it with tally record -g", option);
    for (uint32_t i = 0; i < rows->n_keys; i++)
        if (rows->keys[i] == TL_PROFILE_KEY_LINE || rows->keys[i] == TL_PROFILE_KEY_INSN)
            return tl_fail(err, TL_EINVAL, "--sort %s: calls are of functions; with %s the keys are dso, symbol, thread and process",
                           keys[rows->keys[i]].name, option);
    for (uint32_t i = 0; i < rows->n_used; i++) {
        const uint32_t event = rows->used[i];
        const uint64_t sum = tl_profile_context_total(p, event);
        if (p->events[event].kind == TL_PROFILE_SIGNAL && sum != p->events[event].total)
            return tl_fail(err, TL_EINVAL, "%s: %s was not counted by call; name it with -e of tally record -g", option,
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

// "ns::f(int)" is found by "ns::f", too.
bool tl_profile_function_is(const tl_profile *profile, uint32_t function, const char *wanted) {
    const char *name = profile->functions[function].name;
    const size_t n = strlen(wanted);
    return strcmp(profile->functions[function].symbol, wanted) == 0 ||
           (strncmp(name, wanted, n) == 0 && (name[n] == '\0' || name[n] == '(' || name[n] == '@'));
}

const char *tl_profile_causes(const tl_profile *profile, const uint64_t *sums, char ret_text[TL_PROFILE_CELL_BYTES]) {
    enum { MAX_CAUSES = 3 };
    static const char prefix[] = "hart.cyc_";
    const size_t n_prefix = sizeof prefix - 1;
    uint64_t cycles = 0, last = UINT64_MAX;
    uint32_t last_event = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < profile->n_events; i++)
        if (strncmp(profile->events[i].name, prefix, n_prefix) == 0)
            cycles += sums[i];
    *ret_text = '\0';
    for (uint32_t k = 0; k < MAX_CAUSES && cycles > 0; k++) {
        uint32_t best = TL_PROFILE_NONE;
        for (uint32_t i = 0; i < profile->n_events; i++) {
            const bool is_next = sums[i] < last || (sums[i] == last && i > last_event && k > 0);
            if (strncmp(profile->events[i].name, prefix, n_prefix) == 0 && is_next && (best == TL_PROFILE_NONE || sums[i] > sums[best]))
                best = i;
        }
        if (best == TL_PROFILE_NONE || 100.0 * (double)sums[best] < 1.0 * (double)cycles)
            break;
        last = sums[best];
        last_event = best;
        n += (size_t)snprintf(ret_text + n, TL_PROFILE_CELL_BYTES - n, "%s%.100s %.0f%%", k > 0 ? ", " : "",
                              profile->events[best].name + n_prefix, 100.0 * (double)sums[best] / (double)cycles);
    }
    return ret_text;
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

// The column that sorts. One that is not shown becomes the last one.
static tl_status find_order(tl_profile_rows *rows, const char *order, uint32_t *ret_column, tl_error *err) {
    uint32_t column = 0;
    while (order && column < rows->columns.n && strcmp(order, rows->columns.items[column].name) != 0)
        column++;
    *ret_column = column;
    return column < rows->columns.n ? TL_OK : tl_profile_columns_add(rows->profile, &rows->columns, order, err);
}

static void sort_rows(tl_profile_rows *rows, uint32_t column) {
    for (uint32_t i = 0; i < rows->n; i++)
        rows->rows[i].rank = tl_profile_real(tl_profile_rows_value(rows, &rows->rows[i], column));
    qsort(rows->rows, rows->n, sizeof *rows->rows, by_rank);
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

static const char *const call_options[] = {
    [TL_PROFILE_CHILDREN] = "--children", [TL_PROFILE_CALLERS] = "--callers", [TL_PROFILE_CALLEES] = "--callees"};

// Marks the functions of the name. TL_ENOENT offers the nearest names.
static tl_status find_functions(const tl_profile *p, tl_profile_calls *calls, tl_error *err) {
    tl_nearest nearest;
    char text[256];
    bool is_found = false;
    calls->is_named = calloc((size_t)p->n_functions + 1, sizeof *calls->is_named);
    if (!calls->is_named)
        return no_table_memory(err);
    tl_nearest_init(&nearest, calls->function);
    for (uint32_t i = 0; i < p->n_functions; i++) {
        calls->is_named[i] = tl_profile_function_is(p, i, calls->function);
        is_found |= calls->is_named[i];
        tl_nearest_offer(&nearest, p->functions[i].name);
    }
    if (is_found)
        return TL_OK;
    return tl_fail(err, TL_ENOENT, "%s %.100s: no function of the profile has this name%s", call_options[calls->kind], calls->function,
                   tl_nearest_text(&nearest, text, sizeof text));
}

static tl_status sum_up_calls(tl_profile_rows *rows, const tl_profile_calls *wanted, const uint32_t *slot_of_event, tl_error *err) {
    tl_profile_calls calls = *wanted;
    rows->has_calls = calls.kind == TL_PROFILE_CALLERS || calls.kind == TL_PROFILE_CALLEES;
    tl_status status = check_contexts(rows, call_options[calls.kind], err);
    if (status == TL_OK && calls.kind != TL_PROFILE_CHILDREN)
        status = find_functions(rows->profile, &calls, err);
    if (status == TL_OK && !sum_up_contexts(rows, &calls, slot_of_event))
        status = no_table_memory(err);
    free(calls.is_named);
    return status;
}

tl_status tl_profile_rows_init(const tl_profile *profile, const char *sort, const char *events, const char *order,
                               const tl_profile_calls *calls, tl_profile_rows *ret_rows, tl_error *err) {
    tl_profile_rows *rows = ret_rows;
    const size_t n_events = (size_t)profile->n_events + 1;
    *rows = (tl_profile_rows){.profile = profile};
    tl_status status = read_keys(sort, rows, err);
    if (status == TL_OK)
        status = tl_profile_columns_init(profile, events, &rows->columns, err);
    if (status != TL_OK)
        return status;
    const uint32_t n_shown = rows->columns.n;
    uint32_t order_column;
    status = find_order(rows, order, &order_column, err);
    if (status != TL_OK) {
        tl_profile_columns_done(&rows->columns);
        return status;
    }
    uint32_t *slot_of_event = malloc(n_events * sizeof *slot_of_event);
    bool *marked = calloc(n_events, sizeof *marked);
    rows->values = calloc(n_events, sizeof *rows->values);
    rows->totals = calloc(n_events, sizeof *rows->totals);
    if (!slot_of_event || !marked || !rows->values || !rows->totals || !find_used(rows, slot_of_event, marked))
        status = no_table_memory(err);
    if (status == TL_OK && calls->kind != TL_PROFILE_SELF)
        status = sum_up_calls(rows, calls, slot_of_event, err);
    else if (status == TL_OK && !sum_up(rows, slot_of_event))
        status = no_table_memory(err);
    free(slot_of_event);
    free(marked);
    if (status == TL_OK) {
        sort_rows(rows, order_column);
        rows->columns.n = n_shown;
    } else {
        tl_profile_rows_done(rows);
    }
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
