// SPDX-License-Identifier: MIT
// Rows of a listing, copied out of the catalogue so that they live by themselves.
#include "session/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "session/catalogue.h"
#include "session/description.h"
#include "session/metrics.h"
#include "session/plan.h"

typedef struct builder {
    tl_list *list;
    const char *glob;
    tl_nearest nearest;
    uint32_t capacity;
    bool has_failed;
} builder;

const char *tl_listing_kind_name(tl_list_kind kind) {
    static const char *const names[] = {"machine", "signal", "event", "metric"};
    return (size_t)kind < TL_COUNT_OF(names) ? names[kind] : "";
}

// The row that `name` gets, or NULL: not selected, or no memory. Name and all other cells are copied.
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

// A signal is listed once, by the name that sums it, with the paths of its instances. A pattern with a unit's path selects paths.
static void add_signals(builder *b, const tl_catalogue *catalogue) {
    bool wants_paths = b->glob && (!strncmp(b->glob, "hart0", 5) || strpbrk(b->glob, "0123456789")) && strncmp(b->glob, "l", 1) != 0;
    uint32_t n_slots = tl_catalogue_n_slots(catalogue);
    for (tl_slot slot = 0; slot < n_slots; slot++) {
        tl_catalogue_signal signal = tl_catalogue_signal_at(catalogue, slot);
        tl_listing_row row = {
            .group = signal.type->name, .unit = tl_measure_unit(signal.signal->measure), .meaning = signal.signal->meaning};
        if (wants_paths && tl_glob_match(b->glob, signal.path)) {
            row.name = signal.path;
            row.definition = signal.event;
            add(b, row);
            continue;
        }
        bool is_first = true;
        for (tl_slot before = 0; before < slot && is_first; before++)
            is_first = strcmp(tl_catalogue_signal_at(catalogue, before).event, signal.event) != 0;
        if (!is_first)
            continue;
        tl_strbuf paths = {0};
        for (tl_slot other = slot; other < n_slots; other++) {
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
        add(b, (tl_listing_row){alias->name, "alias", alias->unit, alias->formula, alias->meaning});
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
            add(b, (tl_listing_row){metric->name, group->name, metric->unit, metric->formula, metric->meaning});
        }
        b->glob = glob;
        tl_nearest_offer(&b->nearest, group->name);
    }
}

tl_status tl_listing_new(tl_list_kind kind, const char *glob, const char *machine, const char *const *overrides, tl_list **ret_list,
                         tl_error *err) {
    tl_config config;
    tl_catalogue *catalogue = NULL;
    tl_status status = tl_plan_config(machine, overrides, &config, err);
    if (status == TL_OK && kind != TL_LIST_MACHINES)
        status = tl_catalogue_new(&config, &catalogue, err);
    if (status != TL_OK)
        return status;
    builder b = {.list = calloc(1, sizeof *b.list), .glob = glob};
    if (!b.list) {
        tl_catalogue_free(catalogue);
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    }
    b.list->kind = kind;
    tl_nearest_init(&b.nearest, glob ? glob : "");
    switch (kind) {
    case TL_LIST_MACHINES: status = add_machines(&b, err); break;
    case TL_LIST_SIGNALS: add_signals(&b, catalogue); break;
    case TL_LIST_EVENTS: add_events(&b, catalogue); break;
    case TL_LIST_METRICS: add_metrics(&b, catalogue); break;
    case TL_N_LIST_KINDS: status = tl_fail(err, TL_EINVAL, "there is no such kind of list"); break;
    }
    if (status == TL_OK && b.has_failed)
        status = tl_fail(err, TL_ENOMEM, "the host has no memory left");
    if (status == TL_OK && b.list->n_rows == 0) {
        char text[256];
        status = tl_fail(err, TL_ENOENT, "no %s is called %s%s", tl_listing_kind_name(kind), glob ? glob : "anything",
                         tl_nearest_text(&b.nearest, text, sizeof text));
    }
    tl_catalogue_free(catalogue);
    if (status != TL_OK) {
        tl_listing_free(b.list);
        return status;
    }
    *ret_list = b.list;
    return TL_OK;
}

void tl_listing_free(tl_list *list) {
    if (!list)
        return;
    tl_arena_done(&list->arena);
    free(list->rows);
    free(list);
}
