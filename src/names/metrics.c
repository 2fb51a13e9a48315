// SPDX-License-Identifier: MIT
// Names made of formulas: aliases and metric groups. The library carries texts, and a user adds
// others.
#include "names/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/embedded.h"
#include "base/glob.h"
#include "names/catalogue_parts.h"

enum { MAX_NAME_BYTES = 64, MAX_FILE_BYTES = 64 * 1024, N_CELLS = 4 };

static const char ALIASES[] = "aliases"; // the one file that is not a group

typedef struct lines { // a text cut into lines in place
    char *rest;
    uint32_t number;
} lines;

static char *trim(char *text) {
    text += strspn(text, " \t\r");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1]))
        n--;
    text[n] = '\0';
    return text;
}

static char *next_line(lines *from) { // NULL at the end
    if (!from->rest)
        return NULL;
    char *line = from->rest, *end = strchr(line, '\n');
    from->rest = end && end[1] ? end + 1 : NULL;
    if (end)
        *end = '\0';
    from->number++;
    return line;
}

// -- tables of formulas

bool tl_definitions_find(const tl_definitions *table, const char *name, uint32_t *ret_index) {
    for (uint32_t i = 0; i < table->n_rows; i++)
        if (strcmp(table->rows[i].name, name) == 0) {
            *ret_index = i;
            return true;
        }
    return false;
}

tl_status tl_definition_compile(tl_catalogue *catalogue, tl_definitions *table, uint32_t index, uint32_t modes,
                                const tl_formula **ret_formula, tl_error *err) {
    tl_error why;
    if (modes == 0 && table->compiled[index]) {
        *ret_formula = table->compiled[index];
        return TL_OK;
    }
    const char *name = table->rows[index].name;
    if (table->is_compiling[index])
        return tl_fail(err, TL_EFORMAT, "%s is made of itself", name);
    table->is_compiling[index] = true;
    tl_status status = tl_catalogue_compile(catalogue, table->rows[index].formula, modes, ret_formula, &why);
    table->is_compiling[index] = false;
    if (status == TL_OK && modes == 0)
        table->compiled[index] = *ret_formula;
    // An unknown mode is the user's mistake.
    if (status == TL_OK || status == TL_ENOMEM || modes != 0)
        return status == TL_OK ? TL_OK : tl_fail(err, status, "%s", why.text);
    return tl_fail(err, TL_EFORMAT, "%.120s:%u: %s: %s", table->file_name, table->lines[index], name, why.text);
}

static tl_status allocate_rows(tl_arena *arena, tl_definitions *table, uint32_t capacity, tl_error *err) {
    table->rows = tl_arena_alloc(arena, capacity * sizeof *table->rows);
    table->lines = tl_arena_alloc(arena, capacity * sizeof *table->lines);
    table->compiled = tl_arena_alloc(arena, capacity * sizeof *table->compiled);
    table->is_compiling = tl_arena_alloc(arena, capacity * sizeof *table->is_compiling);
    bool has_memory = table->rows && table->lines && table->compiled && table->is_compiling;
    return has_memory ? TL_OK : tl_fail(err, TL_ENOMEM, "no memory for %s", table->file_name);
}

static bool is_name(const char *text) {
    size_t n = strlen(text);
    bool is_first_fine = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
    return is_first_fine && n < MAX_NAME_BYTES && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == n;
}

// name | unit | formula | meaning. `table` has room.
static tl_status add_row(tl_definitions *table, char *line, uint32_t number, tl_error *err) {
    char *cells[N_CELLS];
    uint32_t n_cells = 0, at;
    for (char *rest = line; rest; n_cells++) {
        char *bar = strchr(rest, '|');
        if (bar)
            *bar = '\0';
        if (n_cells < N_CELLS)
            cells[n_cells] = trim(rest);
        rest = bar ? bar + 1 : NULL;
    }
    if (n_cells != N_CELLS)
        return tl_fail(err, TL_EFORMAT, "%.200s:%u: %u cells; write name | unit | formula | meaning", table->file_name, number, n_cells);
    if (!is_name(cells[0]))
        return tl_fail(err, TL_EFORMAT, "%.200s:%u: '%.60s' is not a name; use letters, digits, underscore and dash", table->file_name,
                       number, cells[0]);
    if (!*cells[2] || !*cells[3])
        return tl_fail(err, TL_EFORMAT, "%.200s:%u: %s has no %s", table->file_name, number, cells[0], *cells[2] ? "meaning" : "formula");
    if (tl_definitions_find(table, cells[0], &at))
        return tl_fail(err, TL_EFORMAT, "%.200s:%u: %s is already on line %u", table->file_name, number, cells[0], table->lines[at]);
    table->rows[table->n_rows] = (tl_named_formula){.name = cells[0], .unit = cells[1], .formula = cells[2], .meaning = cells[3]};
    table->lines[table->n_rows++] = number;
    return TL_OK;
}

static char *copy_text(tl_arena *arena, const char *text, size_t n_bytes, const char *file_name, tl_error *err) {
    if (n_bytes > MAX_FILE_BYTES || memchr(text, '\0', n_bytes)) {
        (void)tl_fail(err, TL_EFORMAT, "%.200s: %s", file_name, n_bytes > MAX_FILE_BYTES ? "larger than 64 KiB" : "not a text file");
        return NULL;
    }
    char *copy = tl_arena_alloc(arena, n_bytes + 1);
    if (!copy) {
        (void)tl_fail(err, TL_ENOMEM, "no memory for %s", file_name);
        return NULL;
    }
    return memcpy(copy, text, n_bytes);
}

static uint32_t count_lines(const char *text) {
    uint32_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == '\n';
    return n;
}

static tl_status load_aliases(tl_catalogue *catalogue, const tl_embedded_file *file, tl_error *err) {
    tl_definitions *table = &catalogue->aliases;
    table->file_name = "metrics/aliases.txt";
    char *text = copy_text(&catalogue->arena, file->text, file->n_bytes, table->file_name, err);
    if (!text)
        return TL_ENOMEM;
    tl_status status = allocate_rows(&catalogue->arena, table, count_lines(text), err);
    lines from = {.rest = text};
    for (char *line; status == TL_OK && (line = next_line(&from));) {
        line = trim(line);
        if (*line && *line != '#')
            status = add_row(table, line, from.number, err);
    }
    return status;
}

// -- groups

typedef enum part { PART_NONE, PART_UNIT, PART_SHORT, PART_EVENTSET, PART_METRICS, PART_LONG, N_PARTS } part;
static const char *const part_names[N_PARTS] = {"", "UNIT", "SHORT", "EVENTSET", "METRICS", "LONG"};

// Returns the part that a line begins, PART_NONE if none; *ret_rest follows the word.
static part begins_part(char *line, char **ret_rest) {
    for (part p = PART_UNIT; p < N_PARTS; p++) {
        size_t n = strlen(part_names[p]);
        if (strncmp(line, part_names[p], n) == 0 && (line[n] == '\0' || strchr(" \t\r", line[n]))) {
            *ret_rest = trim(line + n);
            return p;
        }
    }
    return PART_NONE;
}

static tl_status read_group(tl_arena *arena, char *text, tl_group *group, tl_error *err) {
    const char *file_name = group->metrics.file_name;
    char *eventset = tl_arena_alloc(arena, strlen(text) + 1);
    tl_status status = allocate_rows(arena, &group->metrics, count_lines(text), err);
    if (status != TL_OK || !eventset)
        return tl_fail(err, TL_ENOMEM, "no memory for %s", file_name);
    lines from = {.rest = text};
    part now = PART_NONE;
    bool has[N_PARTS] = {0};
    for (char *line; status == TL_OK && (line = next_line(&from));) {
        char *rest = trim(line);
        part begun = begins_part(line, &rest);
        if (begun != PART_NONE && has[begun])
            return tl_fail(err, TL_EFORMAT, "%.200s:%u: a second %s", file_name, from.number, part_names[begun]);
        if (begun != PART_NONE) {
            now = begun;
            has[now] = true;
        }
        if (now == PART_LONG) { // the rest of the file, as it is
            if (*rest)
                return tl_fail(err, TL_EFORMAT, "%.200s:%u: LONG stands alone; its text follows below", file_name, from.number);
            group->face.text = from.rest ? from.rest + strspn(from.rest, " \t\r\n") : "";
            break;
        }
        if (*rest == '\0' || *rest == '#')
            continue;
        switch (now) {
        case PART_UNIT:
            if (begun != PART_UNIT || *rest == '\0' || strpbrk(rest, " \t"))
                return tl_fail(err, TL_EFORMAT, "%.200s:%u: UNIT is one word", file_name, from.number);
            group->unit = rest;
            break;
        case PART_SHORT:
            if (begun != PART_SHORT)
                return tl_fail(err, TL_EFORMAT, "%.200s:%u: SHORT is one line", file_name, from.number);
            group->face.title = rest;
            break;
        case PART_EVENTSET:
            strcat(eventset, *eventset ? "," : ""); // NOLINT: as long as the text
            strcat(eventset, rest);                 // NOLINT
            break;
        case PART_METRICS:
            if (begun == PART_METRICS)
                return tl_fail(err, TL_EFORMAT, "%.200s:%u: METRICS stands alone; its rows follow below", file_name, from.number);
            status = add_row(&group->metrics, rest, from.number, err);
            break;
        default:
            return tl_fail(err, TL_EFORMAT, "%.200s:%u: expected one of UNIT, SHORT, EVENTSET, METRICS and LONG", file_name, from.number);
        }
    }
    if (status != TL_OK)
        return status;
    const char *lacks = !group->face.title ? "SHORT" : group->metrics.n_rows == 0 ? "METRICS" : !has[PART_LONG] ? "LONG" : NULL;
    if (lacks)
        return tl_fail(err, TL_EFORMAT, "%.200s: %s is missing; docs/metrics.md shows the parts of a group", file_name, lacks);
    size_t n_text = strlen(group->face.text);
    char *end = (char *)(uintptr_t)group->face.text + n_text; // our own copy
    while (n_text > 0 && strchr(" \t\r\n", end[-1])) {
        *--end = '\0';
        n_text--;
    }
    group->face.eventset = eventset;
    group->face.metrics = group->metrics.rows;
    group->face.n_metrics = group->metrics.n_rows;
    return TL_OK;
}

static bool has_unit(const tl_catalogue *catalogue, const char *type) {
    for (uint32_t i = 0; i < catalogue->n_units; i++)
        if (strcmp(catalogue->units[i].type->name, type) == 0)
            return true;
    return false;
}

static tl_status check_new_names(const tl_catalogue *catalogue, const tl_group *group, tl_error *err) {
    tl_group *other;
    uint32_t at;
    if (tl_catalogue_group(catalogue, group->face.name))
        return tl_fail(err, TL_EINVAL, "%.200s: there is a group '%s' already; choose another name", group->metrics.file_name,
                       group->face.name);
    for (uint32_t i = 0; i < group->metrics.n_rows; i++) {
        const char *name = group->metrics.rows[i].name;
        if (tl_catalogue_find_metric(catalogue, name, &other, &at))
            return tl_fail(err, TL_EFORMAT, "%.200s:%u: %s is already a metric of group %s", group->metrics.file_name,
                           group->metrics.lines[i], name, other->face.name);
        if (tl_definitions_find(&catalogue->aliases, name, &at))
            return tl_fail(err, TL_EFORMAT, "%.200s:%u: %s is already an event", group->metrics.file_name, group->metrics.lines[i], name);
    }
    return TL_OK;
}

static tl_status add_group(tl_catalogue *catalogue, const char *name, const char *text, size_t n_bytes, const char *file_name,
                           tl_error *err) {
    tl_error why = {.status = TL_ENOMEM};
    tl_group *group = tl_arena_alloc(&catalogue->arena, sizeof *group);
    tl_group **groups = realloc(catalogue->groups, (catalogue->n_groups + 1) * sizeof *groups);
    if (groups)
        catalogue->groups = groups;
    if (!group || !groups)
        return tl_fail(err, TL_ENOMEM, "no memory for %s", file_name);
    if (!is_name(name))
        return tl_fail(err, TL_EINVAL, "'%.60s' is not a name for a group of metrics; use letters, digits, underscore and dash", name);
    group->face.name = tl_arena_strdup(&catalogue->arena, name);
    group->metrics.file_name = tl_arena_strdup(&catalogue->arena, file_name);
    char *copy = copy_text(&catalogue->arena, text, n_bytes, file_name, &why);
    if (!group->face.name || !group->metrics.file_name || !copy)
        return tl_fail(err, why.status, "%s", why.status == TL_EFORMAT ? why.text : "no memory for a group of metrics");
    tl_status status = read_group(&catalogue->arena, copy, group, err);
    if (status == TL_OK)
        status = check_new_names(catalogue, group, err);
    if (status != TL_OK)
        return status;
    if (group->unit && !has_unit(catalogue, group->unit)) {
        group->next_absent = catalogue->absent;
        catalogue->absent = group;
    } else {
        catalogue->groups[catalogue->n_groups++] = group;
    }
    return TL_OK;
}

tl_status tl_catalogue_load(tl_catalogue *catalogue, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t i = 0; status == TL_OK && i < tl_metric_files_count; i++) {
        const tl_embedded_file *file = &tl_metric_files[i];
        char file_name[MAX_NAME_BYTES];
        snprintf(file_name, sizeof file_name, "metrics/%.40s.txt", file->name);
        status = strcmp(file->name, ALIASES) == 0 ? load_aliases(catalogue, file, err)
                                                  : add_group(catalogue, file->name, file->text, file->n_bytes, file_name, err);
    }
    return status;
}

tl_status tl_catalogue_add_group(tl_catalogue *catalogue, const char *name, const char *text, size_t n_bytes, const char *file_name,
                                 tl_error *err) {
    const uint32_t n_before = catalogue->n_groups;
    tl_status status = add_group(catalogue, name, text, n_bytes, file_name, err);
    if (status != TL_OK)
        return status;
    if (catalogue->n_groups == n_before)
        return tl_fail(err, TL_ENOENT, "%.200s: its metrics need a unit %s, which this machine does not have", file_name,
                       catalogue->absent->unit);
    tl_group *group = catalogue->groups[n_before];
    const tl_formula *formula;
    for (uint32_t i = 0; status == TL_OK && i < group->metrics.n_rows; i++)
        status = tl_definition_compile(catalogue, &group->metrics, i, 0, &formula, err);
    if (status != TL_OK)
        catalogue->n_groups--;
    return status;
}

uint32_t tl_catalogue_n_aliases(const tl_catalogue *catalogue) { return catalogue->aliases.n_rows; }
const tl_alias *tl_catalogue_alias_at(const tl_catalogue *catalogue, uint32_t index) { return &catalogue->aliases.rows[index]; }
uint32_t tl_catalogue_n_groups(const tl_catalogue *catalogue) { return catalogue->n_groups; }
const tl_metric_group *tl_catalogue_group_at(const tl_catalogue *catalogue, uint32_t index) { return &catalogue->groups[index]->face; }

const tl_metric_group *tl_catalogue_group(const tl_catalogue *catalogue, const char *name) {
    for (uint32_t i = 0; i < catalogue->n_groups; i++)
        if (strcmp(catalogue->groups[i]->face.name, name) == 0)
            return &catalogue->groups[i]->face;
    return NULL;
}

bool tl_catalogue_find_metric(const tl_catalogue *catalogue, const char *name, tl_group **ret_group, uint32_t *ret_index) {
    for (uint32_t i = 0; i < catalogue->n_groups; i++)
        if (tl_definitions_find(&catalogue->groups[i]->metrics, name, ret_index)) {
            *ret_group = catalogue->groups[i];
            return true;
        }
    return false;
}

// -- lists of metrics

static tl_status add_metric(tl_catalogue *catalogue, tl_group *group, uint32_t index, tl_quantities *list, tl_error *err) {
    const tl_metric_row *row = &group->metrics.rows[index];
    tl_quantity quantity = {.name = row->name, .unit = row->unit, .meaning = row->meaning, .group = group->face.name, .is_metric = true};
    tl_status status = tl_definition_compile(catalogue, &group->metrics, index, 0, &quantity.formula, err);
    return status == TL_OK ? tl_quantities_add(list, &quantity, err) : status;
}

static tl_status unknown_metric(const tl_catalogue *catalogue, const char *name, tl_error *err) {
    tl_nearest nearest;
    char suggestion[256];
    uint32_t index;
    if (tl_definitions_find(&catalogue->aliases, name, &index) || strchr(name, '.'))
        return tl_fail(err, TL_ENOENT, "'%s' is %s, not a metric; ask for it with -e", name, strchr(name, '.') ? "a signal" : "an event");
    for (const tl_group *group = catalogue->absent; group; group = group->next_absent)
        if (strcmp(name, group->face.name) == 0 || tl_definitions_find(&group->metrics, name, &index))
            return tl_fail(err, TL_ENOENT, "'%s' needs a unit %s, which this machine does not have; choose a machine that has one", name,
                           group->unit);
    tl_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < catalogue->n_groups; i++) {
        tl_nearest_offer(&nearest, catalogue->groups[i]->face.name);
        for (uint32_t k = 0; k < catalogue->groups[i]->metrics.n_rows; k++)
            tl_nearest_offer(&nearest, catalogue->groups[i]->metrics.rows[k].name);
    }
    tl_nearest_text(&nearest, suggestion, sizeof suggestion);
    return tl_fail(err, TL_ENOENT, "unknown metric '%s'%s", name, *suggestion ? suggestion : "; tally list metrics shows them all");
}

// Groups of metrics by perf's names. `detailed`: of machines with a unit core, besides.
static const struct {
    const char *perf, *ours, *detailed;
} perf_groups[] = {{"TopdownL1", "topdown", NULL},
                   {"TopDownL1", "topdown", NULL},
                   {"TopdownL2", "topdown2", NULL},
                   {"TopDownL2", "topdown2", NULL},
                   {"--topdown", "topdown", "topdown2,slots,stalls"}};

tl_status tl_catalogue_metrics(tl_catalogue *catalogue, const char *names, tl_quantities *list, tl_error *err) {
    char name[MAX_NAME_BYTES];
    uint32_t n_before = list->n_items, n_names = 0;
    tl_status status = TL_OK;
    while (status == TL_OK && tl_next_name(&names, name, sizeof name)) {
        size_t more = 0;
        for (size_t i = 0; i < TL_COUNT_OF(perf_groups); i++)
            if (strcmp(name, perf_groups[i].perf) == 0)
                snprintf(name, sizeof name, "%s", perf_groups[more = i].ours);
        bool has_any = false, is_pattern = tl_glob_is_pattern(name), is_group = tl_catalogue_group(catalogue, name) != NULL;
        n_names++;
        for (uint32_t i = 0; i < catalogue->n_groups; i++) {
            tl_group *group = catalogue->groups[i];
            for (uint32_t k = 0; status == TL_OK && k < group->metrics.n_rows; k++) {
                const char *of = is_group ? group->face.name : group->metrics.rows[k].name;
                if (is_pattern ? !tl_glob_match(name, of) : strcmp(name, of) != 0)
                    continue;
                has_any = true;
                status = add_metric(catalogue, group, k, list, err);
            }
        }
        if (status == TL_OK && !has_any)
            status = unknown_metric(catalogue, name, err);
        if (status == TL_OK && perf_groups[more].detailed && has_unit(catalogue, "core"))
            status = tl_catalogue_metrics(catalogue, perf_groups[more].detailed, list, err);
    }
    if (status == TL_OK && n_names == 0)
        status = tl_fail(err, TL_EINVAL, "no metric is named; write some, such as ipc,mpki");
    if (status != TL_OK)
        list->n_items = n_before;
    return status;
}
