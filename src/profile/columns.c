// SPDX-License-Identifier: MIT
// Columns of a table over a profile; see columns.h.
#include "profile/columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "names/catalogue.h"

enum { MAX_DEPTH = 16, MAX_NAMES = 10000 }; // of names inside formulas; of all of them in one

typedef struct formula_scope {
    const tl_profile *profile;
    tl_arena *arena;
    int depth;
    bool is_asked;        // why a formula has no meaning; the words for a wrong name take time
    uint32_t *n_names;    // so far
    const char **refusal; // of the formula as a whole; NULL: none yet
} formula_scope;

static tl_status compile(const formula_scope *scope, const char *text, const tl_formula **ret_formula, tl_error *err);

static tl_status no_such_name(const tl_profile *profile, const char *name, tl_error *err) {
    tl_nearest nearest;
    char text[256];
    tl_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < profile->n_events; i++)
        tl_nearest_offer(&nearest, profile->events[i].name);
    return tl_fail(err, TL_ENOENT, "%.100s: the profile has no event of this name%s", name, tl_nearest_text(&nearest, text, sizeof text));
}

static tl_status find_leaf(void *ctx, const char *name, tl_leaf *ret_leaf, tl_error *err) {
    const formula_scope *scope = ctx;
    if (++*scope->n_names > MAX_NAMES) {
        *scope->refusal = "uses too many names with all that it is made of";
        return tl_fail(err, TL_EFORMAT, "%.100s: the formula around it %s", name, *scope->refusal);
    }
    const uint32_t number = tl_profile_find_event(scope->profile, name);
    if (number == TL_PROFILE_NONE)
        return scope->is_asked ? no_such_name(scope->profile, name, err) : TL_ENOENT;
    const tl_profile_event *event = &scope->profile->events[number];
    if (event->kind == TL_PROFILE_CONSTANT) {
        *ret_leaf = (tl_leaf){.kind = TL_LEAF_CONSTANT, .constant = event->total, .hart_constant = event->total};
        return TL_OK;
    }
    if (event->kind == TL_PROFILE_SIGNAL) {
        tl_cell *cell = tl_arena_alloc(scope->arena, sizeof *cell);
        if (!cell)
            return tl_no_memory(err);
        *cell = number;
        *ret_leaf = (tl_leaf){.kind = TL_LEAF_SLOTS, .cells = cell, .n_cells = 1};
        return TL_OK;
    }
    if (scope->depth == MAX_DEPTH) {
        *scope->refusal = "uses itself, or formulas in each other without end";
        return tl_fail(err, TL_EFORMAT, "%.100s: its formula %s", name, *scope->refusal);
    }
    formula_scope inner = {scope->profile, scope->arena, scope->depth + 1, scope->is_asked, scope->n_names, scope->refusal};
    *ret_leaf = (tl_leaf){.kind = TL_LEAF_FORMULA};
    tl_error why = {0};
    const tl_status status = compile(&inner, event->formula, &ret_leaf->formula, &why);
    // A heading for each level would leave no room for the reason, so the outermost alone has one.
    if (status == TL_EFORMAT && *scope->refusal)
        return tl_fail(err, status, "%.100s: its formula %s", name, *scope->refusal);
    return status == TL_OK ? TL_OK : tl_fail(err, status, "%s", why.text);
}

static tl_status compile(const formula_scope *scope, const char *text, const tl_formula **ret_formula, tl_error *err) {
    formula_scope copy = *scope;
    return tl_formula_compile(text, scope->arena, find_leaf, &copy, ret_formula, err);
}

tl_status tl_profile_formula(const tl_profile *profile, const char *text, tl_arena *arena, const tl_formula **ret_formula, tl_error *err) {
    uint32_t n_names = 0;
    const char *refusal = NULL;
    return compile(&(formula_scope){profile, arena, 0, err != NULL, &n_names, &refusal}, text, ret_formula, err);
}

tl_status tl_profile_columns_add(const tl_profile *profile, tl_profile_columns *columns, const char *name, tl_error *err) {
    const uint32_t number = tl_profile_find_event(profile, name);
    tl_profile_column column = {.name = tl_arena_strdup(&columns->arena, name), .unit = "", .meaning = ""};
    tl_profile_column *larger = realloc(columns->items, (columns->n + 1) * sizeof *larger);
    if (larger)
        columns->items = larger;
    if (!column.name || !larger)
        return tl_no_memory(err);
    if (number != TL_PROFILE_NONE) {
        column.unit = profile->events[number].unit;
        column.meaning = profile->events[number].meaning;
    } else if (!strpbrk(name, "+*/() ")) {
        return no_such_name(profile, name, err);
    }
    const tl_status status = tl_profile_formula(profile, name, &columns->arena, &column.formula, err);
    if (status == TL_OK)
        columns->items[columns->n++] = column;
    return status;
}

// In order of their places.
static tl_status add_shown(const tl_profile *profile, tl_profile_columns *columns, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t last = 0; status == TL_OK;) {
        uint32_t next = TL_PROFILE_NONE;
        for (uint32_t i = 0; i < profile->n_events; i++)
            if (profile->events[i].place > last && (next == TL_PROFILE_NONE || profile->events[i].place < profile->events[next].place))
                next = i;
        if (next == TL_PROFILE_NONE)
            break;
        last = profile->events[next].place;
        status = tl_profile_columns_add(profile, columns, profile->events[next].name, err);
    }
    return status;
}

tl_status tl_profile_columns_init(const tl_profile *profile, const char *names, tl_profile_columns *ret_columns, tl_error *err) {
    *ret_columns = (tl_profile_columns){.n = 0};
    tl_status status = TL_OK;
    char name[256];
    if (!names)
        status = add_shown(profile, ret_columns, err);
    while (names && status == TL_OK && tl_next_name(&names, name, sizeof name))
        status = tl_profile_columns_add(profile, ret_columns, name, err);
    if (status == TL_OK && ret_columns->n == 0)
        status = tl_fail(err, TL_EINVAL, "no event is named; write -e cycles, say");
    if (status != TL_OK)
        tl_profile_columns_done(ret_columns);
    return status;
}

void tl_profile_columns_done(tl_profile_columns *columns) {
    free(columns->items);
    tl_arena_done(&columns->arena);
    *columns = (tl_profile_columns){.n = 0};
}
