// SPDX-License-Identifier: MIT
// Every cell is planned as its run would be, before anything runs. A wrong key shows at once,
// because no cell can be planned; an impossible combination fails its cell alone. The plan gives
// the cell's digest, too: all settings of the machine, events, program and arguments.
#include "session/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "session/digest.h"
#include "session/plan.h"
#include "session/pmus.h"

// Key pmu of machine descriptions has presets of one design as values; names of designs mean option
// pmu instead.
static bool has_design(const char *const *values, uint32_t n) {
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    bool has = false;
    for (uint32_t i = 0; i < n; i++)
        has = has || tl_pmus_find(values[i], &type, &preset, NULL) == TL_OK;
    return has;
}

static tl_sweep_varied varied_by(const char *name, const char *const *values, uint32_t n) {
    if (!strcmp(name, "machine"))
        return TL_SWEEP_OF_MACHINE;
    return !strcmp(name, "pmu") && has_design(values, n) ? TL_SWEEP_OF_PMU : TL_SWEEP_OF_DESCRIPTION;
}

// "KEY=V,V" or "KEY=V;V".
static tl_status parse_key(tl_arena *arena, const char *text, tl_sweep_key *ret, tl_error *err) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return tl_fail(err, TL_EINVAL, "--vary %s: write KEY=VALUE,VALUE..., as in l1d.size=8KiB,16KiB", text);
    const char separator = strchr(equals, ';') ? ';' : ',';
    uint32_t n = 1;
    for (const char *at = equals; *at; at++)
        n += *at == separator;
    char *name = tl_arena_printf(arena, "%.*s", (int)(equals - text), text), *rest = tl_arena_strdup(arena, equals + 1);
    const char **values = tl_arena_alloc(arena, n * sizeof *values);
    if (!name || !rest || !values)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        values[i] = rest;
        rest = strchr(rest, separator);
        if (rest)
            *rest++ = '\0';
        if (!*values[i])
            return tl_fail(err, TL_EINVAL, "--vary %s: one of the values is empty", text);
        for (uint32_t k = 0; k < i; k++) {
            if (!strcmp(values[k], values[i]))
                return tl_fail(err, TL_EINVAL, "--vary %s: the value %s stands there twice", text, values[i]);
        }
    }
    *ret = (tl_sweep_key){.name = name, .varied = varied_by(name, values, n), .values = values, .n_values = n};
    return TL_OK;
}

static tl_status parse_keys(tl_sweep *sweep, const char *const *varies, tl_error *err) {
    uint64_t n_cells = 1;
    for (; *varies; varies++) {
        if (sweep->n_keys == TL_SWEEP_MAX_KEYS)
            return tl_fail(err, TL_EINVAL, "--vary %s: a sweep has at most %d keys", *varies, TL_SWEEP_MAX_KEYS);
        tl_sweep_key *key = &sweep->keys[sweep->n_keys];
        tl_status status = parse_key(&sweep->arena, *varies, key, err);
        if (status != TL_OK)
            return status;
        for (uint32_t k = 0; k < sweep->n_keys; k++) {
            if (!strcmp(sweep->keys[k].name, key->name))
                return tl_fail(err, TL_EINVAL, "--vary %s: this key varies already; write all its values into one --vary", *varies);
        }
        sweep->n_keys++;
        n_cells *= key->n_values;
        if (n_cells > TL_SWEEP_MAX_CELLS)
            return tl_fail(err, TL_EINVAL, "--vary %s: with it the sweep has more than %d cells; leave out values", *varies,
                           TL_SWEEP_MAX_CELLS);
    }
    if (sweep->n_keys == 0)
        return tl_fail(err, TL_EINVAL, "nothing varies; write --vary KEY=VALUE,VALUE");
    sweep->n_cells = (uint32_t)n_cells;
    return TL_OK;
}

static bool has_varied(const tl_sweep *sweep, tl_sweep_varied varied) {
    bool does = false;
    for (uint32_t k = 0; k < sweep->n_keys; k++)
        does = does || sweep->keys[k].varied == varied;
    return does;
}

static tl_status fill_cell(tl_sweep *sweep, uint32_t index, tl_error *err) {
    tl_sweep_row *cell = &sweep->cells[index];
    uint32_t n = 0;
    while (sweep->options.overrides && sweep->options.overrides[n])
        n++;
    const char **overrides = tl_arena_alloc(&sweep->arena, (n + sweep->n_keys + 1) * sizeof *overrides);
    const char *title = "";
    if (!overrides)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        overrides[i] = sweep->options.overrides[i];
    cell->machine = sweep->options.machine;
    cell->pmu = sweep->options.pmu;
    for (uint32_t k = 0; k < sweep->n_keys; k++) {
        const char *value = sweep->keys[k].values[tl_sweep_value_index(sweep, index, k)];
        const char *setting = tl_arena_printf(&sweep->arena, "%s=%s", sweep->keys[k].name, value);
        title = setting ? tl_arena_printf(&sweep->arena, "%s%s%s", title, *title ? " " : "", setting) : NULL;
        if (!title)
            return tl_no_memory(err);
        switch (sweep->keys[k].varied) {
        case TL_SWEEP_OF_MACHINE: cell->machine = value; break;
        case TL_SWEEP_OF_PMU: cell->pmu = value; break;
        case TL_SWEEP_OF_DESCRIPTION: overrides[n++] = setting; break;
        }
    }
    cell->overrides = overrides;
    cell->title = title;
    return TL_OK;
}

static void add_field(tl_strbuf *text, const char *value) {
    tl_strbuf_add(text, value ? value : "-");
    tl_strbuf_add_char(text, '\n');
}

// All that the counts depend on, but for files that the program opens.
static tl_status name_cell(tl_sweep *sweep, uint32_t index, const tl_plan *plan, tl_error *err) {
    const tl_run_options *o = &sweep->options;
    const tl_header *header = &plan->outline->header;
    tl_strbuf text = {0};
    add_field(&text, header->version);
    add_field(&text, sweep->digest);
    add_field(&text, header->kind);
    for (uint32_t i = 0; i < header->n_settings; i++) {
        // The name and summary of a machine say nothing about it.
        if (strcmp(header->settings[i].key, "name") != 0 && strcmp(header->settings[i].key, "summary") != 0) {
            add_field(&text, header->settings[i].key);
            add_field(&text, header->settings[i].value);
        }
    }
    for (uint32_t i = 0; header->argv[i]; i++)
        add_field(&text, header->argv[i]);
    add_field(&text, "");
    for (uint32_t i = 0; header->env[i]; i++)
        add_field(&text, header->env[i]);
    add_field(&text, "");
    add_field(&text, o->events);
    add_field(&text, o->metrics);
    if (header->pmu)
        add_field(&text, header->pmu);
    add_field(&text, o->root);
    add_field(&text, o->sysroot);
    tl_strbuf_addf(&text, "%llu %d %d\n", (unsigned long long)o->max_insns, o->host_paths, o->allow_network);
    const bool has_failed = text.has_failed;
    const uint64_t digest = tl_digest(tl_strbuf_text(&text), text.n_bytes);
    tl_strbuf_done(&text);
    sweep->cells[index].name = has_failed ? NULL : tl_arena_printf(&sweep->arena, "%016llx", (unsigned long long)digest);
    return sweep->cells[index].name ? TL_OK : tl_no_memory(err);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const tl_sweep_row *const *)a)->name, (*(const tl_sweep_row *const *)b)->name);
}

// Two cells of one name would be one run with two titles: an option or a later key undoes a key.
static tl_status check_names(tl_sweep *sweep, tl_error *err) {
    tl_sweep_row **rows = calloc(sweep->n_cells, sizeof(*rows));
    tl_status status = rows ? TL_OK : tl_no_memory(err);
    for (uint32_t i = 0; rows && i < sweep->n_cells; i++)
        rows[i] = &sweep->cells[i];
    if (rows)
        qsort(rows, sweep->n_cells, sizeof(*rows), by_name);
    for (uint32_t i = 1; status == TL_OK && i < sweep->n_cells; i++) {
        const tl_sweep_row *const a = rows[i - 1] < rows[i] ? rows[i - 1] : rows[i], *const b = a == rows[i] ? rows[i - 1] : rows[i];
        if (*a->name && !strcmp(a->name, b->name))
            status = tl_fail(err, TL_EINVAL, "--vary: '%s' and '%s' are the same machine; leave out what another option or key sets",
                             a->title, b->title);
    }
    free(rows);
    return status;
}

// Fails with the first cell's sentence if no cell is possible.
static tl_status plan_cells(tl_sweep *sweep, tl_error *err) {
    tl_error first = {0};
    tl_status first_status = TL_OK;
    const bool varies_machine = has_varied(sweep, TL_SWEEP_OF_MACHINE);
    bool has_one = false;
    for (uint32_t i = 0; i < sweep->n_cells; i++) {
        tl_run_options options;
        tl_plan *plan = NULL;
        tl_error wrong = {0};
        tl_status status = fill_cell(sweep, i, err);
        if (status != TL_OK)
            return status;
        tl_sweep_fill_options(sweep, i, &options);
        status = tl_plan_new(&options, &plan, &wrong);
        if (status == TL_ENOMEM)
            return tl_no_memory(err);
        if (status != TL_OK) {
            tl_sweep_put_failure(sweep, i, wrong.text);
            sweep->cells[i].name = "";
            if (first_status == TL_OK) {
                first_status = status;
                first = wrong;
            }
            continue;
        }
        if (!has_one) {
            sweep->machine = varies_machine ? NULL : tl_arena_strdup(&sweep->arena, plan->outline->header.machine);
            sweep->pmu = has_varied(sweep, TL_SWEEP_OF_PMU) ? NULL : sweep->options.pmu;
            sweep->version = tl_arena_strdup(&sweep->arena, plan->outline->header.version);
            sweep->program = tl_arena_strdup(&sweep->arena, plan->outline->header.program);
        }
        status = name_cell(sweep, i, plan, err);
        tl_plan_free(plan);
        if (status != TL_OK)
            return status;
        has_one = true;
    }
    if (!has_one)
        return tl_fail(err, first_status, "%s", first.text);
    const tl_status status = check_names(sweep, err);
    if (status != TL_OK)
        return status;
    return sweep->program && sweep->version && (sweep->machine || varies_machine) ? TL_OK : tl_no_memory(err);
}

static tl_status check_options(const tl_run_options *options, tl_error *err) {
    if (options->kind == TL_RUN_BOOT)
        return tl_fail(err, TL_EINVAL, "a sweep runs programs; kernels are not swept");
    if (options->interval != TL_INTERVAL_NONE || options->n_regions > 0 || options->roi_start || options->markers)
        return tl_fail(err, TL_EINVAL, "a sweep counts whole runs: it has no intervals and no regions");
    return TL_OK;
}

void tl_sweep_fill_options(const tl_sweep *sweep, uint32_t cell, tl_run_options *ret_options) {
    *ret_options = sweep->options;
    ret_options->machine = sweep->cells[cell].machine;
    ret_options->pmu = sweep->cells[cell].pmu;
    ret_options->overrides = sweep->cells[cell].overrides;
}

tl_status tl_sweep_plan(const tl_run_options *options, const char *const *varies, tl_sweep **ret_sweep, tl_error *err) {
    tl_sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return tl_no_memory(err);
    sweep->options = *options;
    tl_status status = check_options(options, err);
    if (status == TL_OK)
        status = parse_keys(sweep, varies, err);
    // A PMU has columns of its own, which are none of a metric.
    const bool has_pmu = options->pmu || has_varied(sweep, TL_SWEEP_OF_PMU);
    if (!options->events && !options->metrics && !has_pmu) {
        sweep->options.events = "cycles,instructions";
        sweep->options.metrics = "cpi";
    }
    char digest[TL_DIGEST_BYTES];
    if (status == TL_OK)
        status = tl_digest_file(options->kind == TL_RUN_USER ? options->root : NULL, options->program, digest, err);
    if (status == TL_OK) {
        sweep->cells = tl_arena_alloc(&sweep->arena, sweep->n_cells * sizeof *sweep->cells);
        sweep->digest = tl_arena_strdup(&sweep->arena, digest);
        status = sweep->cells && sweep->digest ? plan_cells(sweep, err) : tl_no_memory(err);
    }
    if (status == TL_OK)
        *ret_sweep = sweep;
    else
        tl_sweep_release(sweep);
    return status;
}

void tl_sweep_release(tl_sweep *sweep) {
    if (sweep)
        tl_arena_done(&sweep->arena);
    free(sweep);
}
