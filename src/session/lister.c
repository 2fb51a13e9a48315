// SPDX-License-Identifier: MIT
// Rows of a listing, copied out of the catalogue so that they live by themselves.
#include "session/lister.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "names/catalogue.h"
#include "names/metrics.h"
#include "session/description.h"
#include "session/machine_names.h"
#include "session/plan.h"
#include "session/pmus.h"
#include "session/portable.h"

typedef struct builder {
    tl_list *list;
    const char *glob;
    tl_nearest nearest;
    uint32_t capacity;
    bool has_failed;
} builder;

// The row that `name` gets, or NULL: not selected, or no memory. Name and all other cells are
// copied.
static void add(builder *b, tl_listing_row row) {
    if (b->glob && strcmp(b->glob, row.name) != 0 && !tl_glob_match(b->glob, row.name)) {
        tl_nearest_offer(&b->nearest, row.name);
        return;
    }
    tl_list *list = b->list;
    if (list->n_rows == b->capacity) {
        uint32_t capacity = b->capacity ? 2 * b->capacity : 64;
        tl_listing_row *rows = realloc(list->rows, capacity * sizeof *rows);
        if (!rows) {
            b->has_failed = true;
            return;
        }
        list->rows = rows;
        b->capacity = capacity;
    }
    const char **cells[] = {&row.name, &row.group, &row.unit, &row.definition, &row.meaning};
    for (size_t i = 0; i < TL_COUNT_OF(cells); i++) {
        *cells[i] = tl_arena_strdup(&list->arena, *cells[i] ? *cells[i] : "");
        b->has_failed = b->has_failed || !*cells[i];
    }
    list->rows[list->n_rows++] = row;
}

static tl_status add_machines(builder *b, tl_error *err) {
    for (uint32_t i = 0; i < tl_description_n_builtins(); i++) {
        tl_config config;
        tl_builtin_machine machine = tl_description_builtin(i);
        tl_status status = tl_description_open(machine.name, &config, err);
        if (status != TL_OK)
            return status;
        tl_strbuf shape = {0};
        static const char *const keys[] = {"harts", "clock", "l1i.size", "l1d.size", "l2.size", "l2.slices"};
        for (size_t k = 0; k < TL_COUNT_OF(keys); k++) {
            const tl_key *key = tl_key_find(keys[k]);
            if (!key)
                continue;
            tl_strbuf value = {0};
            tl_key_format(key, &config, &value);
            tl_strbuf_addf(&shape, "%s%s=%s", shape.n_bytes ? " " : "", keys[k], tl_strbuf_text(&value));
            tl_strbuf_done(&value);
        }
        add(b, (tl_listing_row){.name = machine.name, .group = "machine", .definition = tl_strbuf_text(&shape), .meaning = config.summary});
        b->has_failed = b->has_failed || shape.has_failed;
        tl_strbuf_done(&shape);
    }
    return TL_OK;
}

// A signal is listed once, by the name that sums it, with the paths of its instances. A pattern
// with a unit's path selects paths.
static void add_signals(builder *b, const tl_catalogue *catalogue) {
    bool wants_paths = b->glob && (!strncmp(b->glob, "hart0", 5) || strpbrk(b->glob, "0123456789")) && strncmp(b->glob, "l", 1) != 0;
    uint32_t n_cells = tl_catalogue_n_cells(catalogue);
    for (tl_cell cell = 0; cell < n_cells; cell++) {
        tl_catalogue_signal signal = tl_catalogue_signal_at(catalogue, cell);
        tl_listing_row row = {
            .group = signal.type->name, .unit = tl_measure_unit(signal.signal->measure), .meaning = signal.signal->meaning};
        if (wants_paths && tl_glob_match(b->glob, signal.path)) {
            row.name = signal.path;
            row.definition = signal.event;
            add(b, row);
            continue;
        }
        bool is_first = true;
        for (tl_cell before = 0; before < cell && is_first; before++)
            is_first = strcmp(tl_catalogue_signal_at(catalogue, before).event, signal.event) != 0;
        if (!is_first)
            continue;
        tl_strbuf paths = {0};
        for (tl_cell other = cell; other < n_cells; other++) {
            tl_catalogue_signal instance = tl_catalogue_signal_at(catalogue, other);
            if (!strcmp(instance.event, signal.event))
                tl_strbuf_addf(&paths, "%s%s", paths.n_bytes ? " + " : "", instance.path);
        }
        row.name = signal.event;
        row.definition = tl_strbuf_text(&paths);
        add(b, row);
        b->has_failed = b->has_failed || paths.has_failed;
        tl_strbuf_done(&paths);
    }
}

static void add_events(builder *b, const tl_catalogue *catalogue) {
    for (uint32_t i = 0; i < tl_catalogue_n_aliases(catalogue); i++) {
        const tl_alias *alias = tl_catalogue_alias_at(catalogue, i);
        add(b, (tl_listing_row){
                   .name = alias->name, .group = "alias", .unit = alias->unit, .definition = alias->formula, .meaning = alias->meaning});
    }
}

static void add_metrics(builder *b, const tl_catalogue *catalogue) {
    for (uint32_t i = 0; i < tl_catalogue_n_groups(catalogue); i++) {
        const tl_metric_group *group = tl_catalogue_group_at(catalogue, i);
        bool is_whole = b->glob && !strcmp(b->glob, group->name);
        const char *glob = b->glob;
        b->glob = is_whole ? NULL : glob;
        for (uint32_t k = 0; k < group->n_metrics; k++) {
            const tl_metric_row *metric = &group->metrics[k];
            add(b, (tl_listing_row){.name = metric->name,
                                    .group = group->name,
                                    .unit = metric->unit,
                                    .definition = metric->formula,
                                    .meaning = metric->meaning});
        }
        b->glob = glob;
        tl_nearest_offer(&b->nearest, group->name);
    }
}

static void add_groups(builder *b, const tl_catalogue *catalogue) {
    for (uint32_t i = 0; i < tl_catalogue_n_groups(catalogue); i++) {
        const tl_metric_group *group = tl_catalogue_group_at(catalogue, i);
        tl_strbuf names = {0};
        for (uint32_t k = 0; k < group->n_metrics; k++)
            tl_strbuf_addf(&names, "%s%s", k ? " " : "", group->metrics[k].name);
        add(b, (tl_listing_row){
                   .name = group->name, .group = "group", .unit = "", .definition = tl_strbuf_text(&names), .meaning = group->title});
        b->has_failed = b->has_failed || names.has_failed;
        tl_strbuf_done(&names);
    }
}

static void add_keys(builder *b, const tl_config *config) {
    tl_key_list list;
    tl_key_list_init(&list);
    for (uint32_t i = 0; i < list.n; i++) {
        const tl_key *key = list.keys[i];
        const char *dot = strchr(key->path, '.');
        char group[32] = "machine";
        tl_strbuf value = {0};
        if (dot)
            snprintf(group, sizeof group, "%.*s", (int)(dot - key->path), key->path);
        tl_key_format(key, config, &value);
        add(b, (tl_listing_row){
                   .name = key->path, .group = group, .unit = key->unit, .definition = tl_strbuf_text(&value), .meaning = key->meaning});
        b->has_failed = b->has_failed || value.has_failed;
        tl_strbuf_done(&value);
    }
}

static void add_pmus(builder *b) {
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++) {
        for (const tl_pmu_preset *const *preset = (*type)->presets; *preset; preset++) {
            char name[64];
            snprintf(name, sizeof name, "%s:%s", (*type)->name, (*preset)->name);
            tl_listing_row row = {
                .name = name, .group = (*type)->name, .unit = "", .definition = (*type)->title, .meaning = (*preset)->title};
            for (uint32_t i = 0; i < (*preset)->n_events; i++)
                row.n_events[(*preset)->events[i].fidelity]++;
            add(b, row);
        }
    }
}

static void add_pmu_events(builder *b, const tl_pmu_type *type, const tl_pmu_preset *preset) {
    char group[64];
    snprintf(group, sizeof group, "%s:%s", type->name, preset->name);
    for (uint32_t i = 0; i < preset->n_events; i++) {
        const tl_event *event = &preset->events[i];
        tl_strbuf meaning = {0};
        tl_strbuf_addf(&meaning, "Selector 0x%llx, %s.%s%s", (unsigned long long)event->selector, tl_fidelity_name(event->fidelity),
                       event->note ? " " : "", event->note ? event->note : "");
        add(b, (tl_listing_row){
                   .name = event->name, .group = group, .unit = "", .definition = event->sources, .meaning = tl_strbuf_text(&meaning)});
        b->has_failed = b->has_failed || meaning.has_failed;
        tl_strbuf_done(&meaning);
    }
}

static void add_class(tl_listing_row *row, const tl_portable_type *type, uint32_t event) {
    row->designs[row->n_designs].design = type->pmu->name;
    row->designs[row->n_designs++].class = tl_portable_class_name(type->maps[event].class);
}

// The meaning, then the designs of each class.
static void add_portable(builder *b, uint32_t event) {
    const tl_portable_event *row_event = &tl_portable_events[event];
    const char *truth = *row_event->truth ? row_event->truth : row_event->core_truth;
    tl_strbuf meaning = {0};
    tl_listing_row row = {.name = row_event->name, .group = "portable", .unit = row_event->unit, .definition = truth};
    tl_strbuf_addf(&meaning, "%s", row_event->meaning);
    for (const tl_portable_type *const *type = tl_portable_types; *type && row.n_designs < TL_LISTING_MAX_DESIGNS; type++)
        add_class(&row, *type, event);
    for (uint32_t class = 0; class <= TL_PORTABLE_ESTIMATE; class ++) {
        const char *name = tl_portable_class_name((tl_portable_class)((class + 1) % (TL_PORTABLE_ESTIMATE + 1)));
        bool is_first = true;
        for (uint32_t k = 0; k < row.n_designs; k++) {
            if (strcmp(row.designs[k].class, name) != 0)
                continue;
            if (is_first)
                tl_strbuf_addf(&meaning, " %c%s: %s", *name - 'a' + 'A', name + 1, row.designs[k].design);
            else
                tl_strbuf_addf(&meaning, ", %s", row.designs[k].design);
            is_first = false;
        }
        tl_strbuf_addf(&meaning, "%s", is_first ? "" : ".");
    }
    row.meaning = tl_strbuf_text(&meaning);
    add(b, row);
    b->has_failed = b->has_failed || meaning.has_failed;
    tl_strbuf_done(&meaning);
}

// "Exact: hart.cycle." or "Impossible. No event tells it."
static void add_portable_of(builder *b, const tl_portable_type *type, uint32_t event) {
    const tl_portable_map *map = &type->maps[event];
    const char *name = tl_portable_class_name(map->class);
    tl_strbuf meaning = {0};
    tl_listing_row row = {.name = tl_portable_events[event].name,
                          .group = type->pmu->name,
                          .unit = tl_portable_events[event].unit,
                          .definition = map->counters};
    add_class(&row, type, event);
    tl_strbuf_addf(&meaning, "%c%s%s%s.%s%s", *name - 'a' + 'A', name + 1, map->counters ? ": " : "", map->counters ? map->counters : "",
                   map->note ? " " : "", map->note ? map->note : "");
    row.meaning = tl_strbuf_text(&meaning);
    add(b, row);
    b->has_failed = b->has_failed || meaning.has_failed;
    tl_strbuf_done(&meaning);
}

static tl_status begin(builder *b, tl_list_kind kind, const char *glob, tl_error *err) {
    *b = (builder){.list = calloc(1, sizeof *b->list), .glob = glob};
    if (!b->list)
        return tl_no_memory(err);
    b->list->kind = kind;
    tl_nearest_init(&b->nearest, glob ? glob : "");
    return TL_OK;
}

// The list, if all went well and something was found; `status` so far.
static tl_status finish(builder *b, tl_status status, tl_list **ret_list, tl_error *err) {
    if (status == TL_OK && b->has_failed)
        status = tl_no_memory(err);
    if (status == TL_OK && b->list->n_rows == 0) {
        char text[256];
        status = tl_fail(err, TL_ENOENT, "no %s is called %s%s", tl_listing_kind_name(b->list->kind), b->glob ? b->glob : "anything",
                         tl_nearest_text(&b->nearest, text, sizeof text));
    }
    if (status != TL_OK) {
        tl_listing_free(b->list);
        return status;
    }
    *ret_list = b->list;
    return TL_OK;
}

tl_status tl_listing_pmu_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err) {
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    builder b;
    tl_status status = tl_pmus_find(pmu, &type, &preset, err);
    if (status == TL_OK)
        status = begin(&b, TL_LIST_EVENTS, glob, err);
    if (status != TL_OK)
        return status;
    add_pmu_events(&b, type, preset ? preset : type->presets[0]);
    return finish(&b, TL_OK, ret_list, err);
}

tl_status tl_listing_portable_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err) {
    const tl_pmu_type *type = NULL;
    const tl_pmu_preset *preset;
    const tl_portable_type *portable = NULL;
    builder b;
    tl_status status = pmu ? tl_pmus_find(pmu, &type, &preset, err) : TL_OK;
    if (status == TL_OK && pmu && !(portable = tl_portable_type_find(type)))
        status = tl_fail(err, TL_EINVAL, "pmu %s has no map of portable events", type->name);
    if (status == TL_OK)
        status = begin(&b, TL_LIST_EVENTS, glob, err);
    if (status != TL_OK)
        return status;
    for (uint32_t event = 0; event < TL_N_PORTABLES; event++) {
        if (portable)
            add_portable_of(&b, portable, event);
        else
            add_portable(&b, event);
    }
    return finish(&b, TL_OK, ret_list, err);
}

tl_status tl_listing_new(tl_list_kind kind, const char *glob, const char *machine, const char *const *overrides, tl_list **ret_list,
                         tl_error *err) {
    tl_config config;
    tl_catalogue *catalogue = NULL;
    tl_status status = tl_plan_config(machine, overrides, &config, err);
    builder b;
    if (status == TL_OK)
        status = begin(&b, kind, glob, err);
    if (status != TL_OK)
        return status;
    if (kind != TL_LIST_MACHINES && kind != TL_LIST_PMUS && kind != TL_LIST_KEYS)
        status = tl_machine_names_new(&config, &catalogue, err);
    if (status != TL_OK)
        return finish(&b, status, ret_list, err);
    switch (kind) {
    case TL_LIST_MACHINES: status = add_machines(&b, err); break;
    case TL_LIST_SIGNALS: add_signals(&b, catalogue); break;
    case TL_LIST_EVENTS: add_events(&b, catalogue); break;
    case TL_LIST_METRICS: add_metrics(&b, catalogue); break;
    case TL_LIST_PMUS: add_pmus(&b); break;
    case TL_LIST_GROUPS: add_groups(&b, catalogue); break;
    case TL_LIST_KEYS: add_keys(&b, &config); break;
    case TL_N_LIST_KINDS: status = tl_fail(err, TL_EINVAL, "there is no such kind of list"); break;
    }
    tl_catalogue_free(catalogue);
    return finish(&b, status, ret_list, err);
}
