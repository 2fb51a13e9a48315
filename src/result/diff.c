// SPDX-License-Identifier: MIT
// Differences, and gates on them. Whole numbers are compared as such: a change of one in 2^60 is
// seen.
#include "result/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "base/parse.h"

typedef enum limit_kind { GATE_VALUE, GATE_CHANGE, GATE_PERCENT } limit_kind;

typedef struct condition {
    const char *text;
    char name[128], scope[64];
    bool is_above, with_equal; // > and >=; else < and <=
    limit_kind kind;
    double limit;    // as given, in percent for GATE_PERCENT
    uint64_t n_rows; // that it names
} condition;

static char *trim(char *text) {
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static tl_status bad_gate(const char *text, const char *what, tl_error *err) {
    return tl_fail(err, TL_EINVAL, "gate '%s': %s; write NAME OP LIMIT, as in cycles>+1%%", text, what);
}

static tl_status parse_gate(const char *text, condition *ret_gate, tl_error *err) {
    condition gate = {.text = text};
    char copy[256];
    if (strlen(text) >= sizeof copy)
        return bad_gate("", "it is too long", err);
    strcpy(copy, text); // NOLINT: the length was checked
    char *op = strpbrk(copy, "<>");
    if (!op)
        return bad_gate(text, "there is no > or <", err);
    gate.is_above = *op == '>';
    gate.with_equal = op[1] == '=';
    *op = '\0';
    char *limit = trim(op + 1 + gate.with_equal), *name = trim(copy);
    char *colon = strchr(name, ':');
    const char *scope = "machine";
    if (colon) {
        *colon = '\0';
        scope = trim(name);
        name = trim(colon + 1);
    }
    if (!*name || !*scope)
        return bad_gate(text, "there is no name", err);
    if (strlen(name) >= sizeof gate.name || strlen(scope) >= sizeof gate.scope)
        return bad_gate(text, "the name is too long", err);
    strcpy(gate.name, name);   // NOLINT
    strcpy(gate.scope, scope); // NOLINT
    double sign = *limit == '-' ? -1 : 1;
    bool is_signed = *limit == '-' || *limit == '+';
    limit = trim(limit + is_signed);
    size_t length = strlen(limit);
    bool is_percent = length > 0 && limit[length - 1] == '%';
    if (is_percent) {
        limit[length - 1] = '\0';
        limit = trim(limit);
    }
    if (is_percent && !is_signed)
        return bad_gate(text, "a percentage needs a sign: +1% or -1%", err);
    double value;
    if (*limit < '0' || *limit > '9' || tl_parse_double(limit, &value, NULL) != TL_OK)
        return bad_gate(text, "the limit is not a number", err);
    gate.kind = is_percent ? GATE_PERCENT : is_signed ? GATE_CHANGE : GATE_VALUE;
    gate.limit = sign * value;
    *ret_gate = gate;
    return TL_OK;
}

static double change_of(const tl_diff_line *line) {
    const tl_value *before = &line->before->value, *after = &line->after->value;
    if (before->kind == TL_VALUE_INTEGER && after->kind == TL_VALUE_INTEGER)
        return after->integer >= before->integer ? (double)(after->integer - before->integer) : -(double)(before->integer - after->integer);
    return after->real - before->real;
}

static bool has_both(const tl_diff_line *line) {
    return line->before && line->after && line->before->value.kind != TL_VALUE_MISSING && line->after->value.kind != TL_VALUE_MISSING;
}

bool tl_diff_line_is_equal(const tl_diff_line *line) {
    if (!line->before || !line->after)
        return false;
    const tl_value *before = &line->before->value, *after = &line->after->value;
    if (before->kind == TL_VALUE_MISSING || after->kind == TL_VALUE_MISSING)
        return before->kind == after->kind;
    if (before->kind == TL_VALUE_INTEGER && after->kind == TL_VALUE_INTEGER)
        return before->integer == after->integer;
    return before->real == after->real;
}

static bool is_same_value(const tl_row *a, const tl_row *b) {
    if (!a || !b)
        return a == b;
    return a->value.kind == b->value.kind &&
           (a->value.kind == TL_VALUE_MISSING || (a->value.integer == b->value.integer && a->value.real == b->value.real));
}

double tl_diff_line_percent(const tl_diff_line *line) {
    if (!has_both(line))
        return NAN;
    if (tl_diff_line_is_equal(line))
        return 0;
    double before = line->before->value.real;
    return before != 0 ? 100 * change_of(line) / fabs(before) : change_of(line) > 0 ? INFINITY : -INFINITY;
}

static bool is_named(const condition *gate, const tl_row *row) {
    return (!strcmp(gate->name, row->name) || tl_glob_match(gate->name, row->name)) &&
           (!strcmp(gate->scope, row->scope) || tl_glob_match(gate->scope, row->scope));
}

static bool is_crossed(const condition *gate, const tl_diff_line *line) {
    double value = gate->kind == GATE_VALUE    ? line->after->value.real
                   : gate->kind == GATE_CHANGE ? change_of(line)
                                               : tl_diff_line_percent(line);
    if (value == gate->limit)
        return gate->with_equal;
    return gate->is_above ? value > gate->limit : value < gate->limit;
}

// A result and the region of its rows that name none.
typedef struct side {
    const tl_result *result;
    const char *region; // or NULL
    bool has_regions;   // rows name regions
} side;

static bool is_same_name(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static const char *region_of(const side *s, const tl_row *row) { return row->region ? row->region : s->region; }

// Rows of a report of several regions name theirs. The rows of a report of one region do not;
// beside such a report they take its name.
static tl_status init_sides(side sides[2], tl_arena *arena, tl_error *err) {
    for (int i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < sides[i].result->n_rows && !sides[i].has_regions; k++)
            sides[i].has_regions = sides[i].result->rows[k].region != NULL;
    }
    for (int i = 0; i < 2; i++) {
        const tl_header *header = sides[i].result->header;
        if (sides[i].has_regions || !sides[!i].has_regions || !header->roi_start)
            continue;
        sides[i].region = header->roi_stop ? tl_arena_printf(arena, "%s..%s", header->roi_start, header->roi_stop) : header->roi_start;
        if (!sides[i].region)
            return tl_no_memory(err);
    }
    return TL_OK;
}

static const tl_row *find_from(const side *s, uint32_t hint, const char *region, const tl_row *like) {
    const tl_result *result = s->result;
    if (hint < result->n_rows) { // reports of equal requests have equal order
        const tl_row *row = &result->rows[hint];
        if (row->is_metric == like->is_metric && !strcmp(row->name, like->name) && !strcmp(row->scope, like->scope) &&
            is_same_name(region_of(s, row), region))
            return row;
    }
    if (!region && s->region)
        return NULL;
    const char *own = region && s->region && !strcmp(region, s->region) ? NULL : region;
    return tl_result_row_of(result, own, like->is_metric, like->name, like->scope);
}

// The region of that name, made when it is new; the array has room for one of each line.
static tl_diff_region *region_named(tl_diff *diff, const char *name) {
    for (uint32_t i = diff->n_regions; i-- > 0;) { // lines of a region stand together
        if (is_same_name(diff->regions[i].name, name))
            return &diff->regions[i];
    }
    diff->regions[diff->n_regions] = (tl_diff_region){.name = name};
    return &diff->regions[diff->n_regions++];
}

static void match_regions(tl_diff *diff) {
    for (uint32_t i = 0; i < diff->n_lines; i++) {
        tl_diff_region *region = region_named(diff, diff->lines[i].region);
        region->is_in_before |= diff->lines[i].before != NULL;
        region->is_in_after |= diff->lines[i].after != NULL;
    }
    for (uint32_t i = 0; i < diff->n_lines; i++) {
        const tl_diff_region *region = region_named(diff, diff->lines[i].region);
        diff->lines[i].lacks_region = !region->is_in_before || !region->is_in_after;
    }
}

static tl_status apply_gate(tl_diff *diff, const char *text, tl_error *err) {
    condition gate;
    tl_status status = parse_gate(text, &gate, err);
    if (status != TL_OK)
        return status;
    tl_nearest nearest;
    tl_nearest_init(&nearest, gate.name);
    for (uint32_t i = 0; i < diff->n_lines; i++) {
        tl_diff_line *line = &diff->lines[i];
        const tl_row *row = line->after ? line->after : line->before;
        tl_nearest_offer(&nearest, row->name);
        if (!is_named(&gate, row) || !line->before || !line->after)
            continue;
        gate.n_rows++;
        // A value that has gone missing on one side cannot be vouched for: that fails, too. Missing
        // on both is equal.
        bool fails = has_both(line) ? is_crossed(&gate, line) : !tl_diff_line_is_equal(line);
        if (fails && !line->failed_gate) {
            line->failed_gate = tl_arena_strdup(&diff->arena, text);
            if (!line->failed_gate)
                return tl_no_memory(err);
            diff->n_failed++;
        }
    }
    if (gate.n_rows == 0) {
        char near[256];
        return tl_fail(err, TL_EINVAL, "gate '%s': the reports do not both have %s%s%s%s", text,
                       strcmp(gate.scope, "machine") ? gate.scope : "", strcmp(gate.scope, "machine") ? ":" : "", gate.name,
                       tl_nearest_text(&nearest, near, sizeof near));
    }
    return TL_OK;
}

// Terms of an event.
static uint32_t slots_of(tl_catalogue *catalogue, const char *name, const tl_cell **ret_cells) {
    tl_quantities found = {0};
    uint32_t n = 0;
    if (!tl_glob_is_pattern(name) && tl_catalogue_events(catalogue, name, &found, NULL) == TL_OK && found.n_items == 1)
        n = tl_formula_cells(found.items[0].formula, ret_cells);
    tl_quantities_done(&found);
    return n;
}

// Rows of one scope that have the same value on both sides and sum the same tallies are one counted
// thing.
static tl_status find_synonyms(tl_diff *diff, tl_catalogue *names, tl_error *err) {
    tl_status status = TL_OK;
    const tl_cell **cells = tl_arena_alloc(&diff->arena, (diff->n_lines + 1) * sizeof *cells);
    uint32_t *n_cells = tl_arena_alloc(&diff->arena, (diff->n_lines + 1) * sizeof *n_cells);
    if (!cells || !n_cells)
        status = tl_no_memory(err);
    for (uint32_t i = 0; status == TL_OK && i < diff->n_lines; i++) {
        tl_diff_line *line = &diff->lines[i];
        const tl_row *row = line->before ? line->before : line->after;
        if (row->is_metric)
            continue;
        n_cells[i] = slots_of(names, row->name, &cells[i]);
        for (uint32_t k = 0; n_cells[i] > 0 && k < i && !line->same_as; k++) {
            const tl_diff_line *other = &diff->lines[k];
            const tl_row *same = other->before ? other->before : other->after;
            if (n_cells[k] == n_cells[i] && !other->same_as && !memcmp(cells[k], cells[i], n_cells[i] * sizeof **cells) &&
                is_same_name(other->region, line->region) && !strcmp(same->scope, row->scope) &&
                is_same_value(line->before, other->before) && is_same_value(line->after, other->after))
                line->same_as = same->name;
        }
    }
    return status;
}

tl_status tl_diff_make(const tl_result *before, const tl_result *after, tl_catalogue *names, const char *const *gates, tl_diff **ret_diff,
                       tl_error *err) {
    tl_diff *diff = calloc(1, sizeof *diff);
    if (!diff)
        return tl_no_memory(err);
    diff->before = before;
    diff->after = after;
    tl_status status = TL_OK;
    size_t n_most = (size_t)before->n_rows + after->n_rows + 1;
    diff->lines = tl_arena_alloc(&diff->arena, n_most * sizeof *diff->lines);
    diff->regions = tl_arena_alloc(&diff->arena, n_most * sizeof *diff->regions);
    if (!diff->lines || !diff->regions)
        status = tl_no_memory(err);
    side sides[2] = {{.result = before}, {.result = after}};
    if (status == TL_OK)
        status = init_sides(sides, &diff->arena, err);
    for (uint32_t i = 0; status == TL_OK && i < before->n_rows; i++) {
        const tl_row *row = &before->rows[i];
        const char *region = region_of(&sides[0], row);
        diff->lines[diff->n_lines++] = (tl_diff_line){.before = row, .after = find_from(&sides[1], i, region, row), .region = region};
    }
    for (uint32_t i = 0; status == TL_OK && i < after->n_rows; i++) {
        const char *region = region_of(&sides[1], &after->rows[i]);
        if (!find_from(&sides[0], i, region, &after->rows[i]))
            diff->lines[diff->n_lines++] = (tl_diff_line){.after = &after->rows[i], .region = region};
    }
    if (status == TL_OK)
        match_regions(diff);
    if (status == TL_OK)
        status = find_synonyms(diff, names, err);
    for (; status == TL_OK && gates && *gates; gates++)
        status = apply_gate(diff, *gates, err);
    if (status != TL_OK) {
        tl_diff_release(diff);
        return status;
    }
    *ret_diff = diff;
    return TL_OK;
}

tl_status tl_diff_choose(tl_diff *diff, const char *names, tl_error *err) {
    char name[128], near[256];
    diff->has_selection = true;
    while (tl_next_name(&names, name, sizeof name)) {
        uint32_t n_found = 0;
        tl_nearest nearest;
        tl_nearest_init(&nearest, name);
        for (uint32_t i = 0; i < diff->n_lines; i++) {
            tl_diff_line *line = &diff->lines[i];
            const tl_row *row = line->after ? line->after : line->before;
            bool is_exact = !strcmp(name, row->name);
            tl_nearest_offer(&nearest, row->name);
            if (!is_exact && !tl_glob_match(name, row->name))
                continue;
            n_found++;
            line->is_wanted = line->is_wanted || is_exact || !line->same_as;
        }
        if (n_found == 0)
            return tl_fail(err, TL_ENOENT, "neither report has %s%s", name, tl_nearest_text(&nearest, near, sizeof near));
    }
    return TL_OK;
}

bool tl_diff_line_is_shown(const tl_diff *diff, const tl_diff_line *line, bool with_equal) {
    if (line->failed_gate)
        return true;
    return diff->has_selection ? line->is_wanted : !line->same_as && (with_equal || !tl_diff_line_is_equal(line));
}

void tl_diff_release(tl_diff *diff) {
    if (!diff)
        return;
    tl_arena_done(&diff->arena);
    free(diff);
}
