// SPDX-License-Identifier: MIT
// Making a PMU, and resolving the signals that its events count. See pmu.h.
#include "model/pmu.h"

#include <stdio.h>
#include <string.h>

const tl_pmu_preset *tl_pmu_find_preset(const tl_pmu_type *type, const char *name) {
    for (const tl_pmu_preset *const *preset = type->presets; *preset; preset++)
        if (strcmp((*preset)->name, name) == 0)
            return *preset;
    return NULL;
}

// The port of a design whose CSRs do nothing but what its register map says.

static bool plain_find(const void *ctx, uint32_t number, tl_reg_at *ret_at) {
    return tl_regfile_find(&((const tl_pmu *)ctx)->file, number, ret_at);
}

static uint64_t plain_read(void *ctx, tl_hart *h, const tl_reg_at *at) { return (void)h, tl_regfile_value_at(&((tl_pmu *)ctx)->file, at); }
static void plain_was_read(void *ctx, tl_hart *h, const tl_reg_at *at) { (void)h, tl_regfile_was_read_at(&((tl_pmu *)ctx)->file, at); }

static void plain_write(void *ctx, tl_hart *h, const tl_reg_at *at, uint64_t value) {
    (void)h;
    tl_regfile_write_at(&((tl_pmu *)ctx)->file, at, value);
}

static void plain_retired(void *ctx, tl_hart *h) { (void)ctx, (void)h; }

static uint64_t plain_deadline(void *ctx, tl_hart *h) {
    (void)ctx, (void)h;
    return UINT64_MAX;
}

static const tl_pmu_port plain_port = {.find = plain_find,
                                       .read = plain_read,
                                       .was_read = plain_was_read,
                                       .write = plain_write,
                                       .retired = plain_retired,
                                       .deadline = plain_deadline,
                                       .poll = plain_retired};

bool tl_port_read(const tl_pmu_port *port, tl_hart *h, uint32_t number, uint64_t *ret_value) {
    tl_reg_at at;
    if (!port->find || !port->find(port->ctx, number, &at))
        return false;
    if (port->permits && !port->permits(port->ctx, h, &at, TL_REG_READ, 0))
        return false;
    *ret_value = port->read(port->ctx, h, &at);
    if (port->was_read)
        port->was_read(port->ctx, h, &at);
    return true;
}

bool tl_port_write(const tl_pmu_port *port, tl_hart *h, uint32_t number, uint64_t value) {
    tl_reg_at at;
    if (!port->find || !port->find(port->ctx, number, &at))
        return false;
    if (port->permits && !port->permits(port->ctx, h, &at, TL_REG_WRITE, value))
        return false;
    port->write(port->ctx, h, &at, value);
    return true;
}

tl_status tl_pmu_new(const tl_pmu_type *type, const tl_pmu_preset *preset, uint32_t access_bits, const tl_pmu_host *host, uint32_t hart,
                     tl_arena *arena, tl_pmu **ret_pmu, tl_error *err) {
    tl_pmu *pmu = tl_arena_alloc(arena, type->state_size);
    uint64_t *stored = tl_arena_alloc(arena, tl_regmap_n_cells(type->regmap) * sizeof *stored);
    if (!pmu || !stored)
        return tl_fail(err, TL_ENOMEM, "no memory for the registers of pmu %s", type->name);
    *pmu = (tl_pmu){
        .file = {.map = type->regmap, .stored = stored, .access_bits = access_bits},
        .type = type,
        .preset = preset,
        .host = host,
        .settings = host->settings ? host->settings(host->ctx, type) : type->default_settings,
        .hart = hart,
    };
    tl_status status = type->attach(pmu, arena, err);
    if (status != TL_OK)
        return status;
    if (!pmu->port.find) {
        pmu->port = plain_port;
        pmu->port.ctx = pmu;
    }
    type->reset(pmu);
    *ret_pmu = pmu;
    return TL_OK;
}

static bool is_access(const tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, bool is_write, bool *ret_is_silent) {
    uint64_t window = pmu->type->window_bytes;
    *ret_is_silent = false;
    if ((size_bytes != 4 && size_bytes != 8) || offset % size_bytes != 0 || offset >= window || size_bytes > window - offset)
        return false;
    return !pmu->type->permits_window || pmu->type->permits_window(pmu, (uint32_t)offset, size_bytes, is_write, ret_is_silent);
}

bool tl_pmu_load(tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const uint32_t access_bits = pmu->file.access_bits;
    bool is_silent;
    if (!is_access(pmu, offset, size_bytes, false, &is_silent))
        return false;
    pmu->file.access_bits = 8 * size_bytes;
    *ret_value = 0;
    if (!is_silent)
        (void)tl_regfile_read(&pmu->file, (uint32_t)offset, ret_value);
    pmu->file.access_bits = access_bits;
    return true;
}

bool tl_pmu_store(tl_pmu *pmu, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    const uint32_t access_bits = pmu->file.access_bits;
    bool is_silent;
    if (!is_access(pmu, offset, size_bytes, true, &is_silent))
        return false;
    pmu->file.access_bits = 8 * size_bytes;
    if (!is_silent)
        (void)tl_regfile_write(&pmu->file, (uint32_t)offset, value);
    pmu->file.access_bits = access_bits;
    return true;
}

static const tl_hart_unit_row *hart_unit_of(const tl_unit *unit) {
    for (uint32_t i = 0; i < TL_N_HART_UNITS; i++)
        if (unit->type == &tl_hart_units[i].type)
            return &tl_hart_units[i];
    return NULL;
}

static bool is_concerned(const tl_unit *unit, uint32_t hart) {
    const tl_hart_unit_row *row = hart_unit_of(unit);
    char path[32];
    if (!row)
        return true;
    snprintf(path, sizeof path, row->path_format, hart);
    return strcmp(unit->path, path) == 0;
}

static uint32_t max_step_of(const tl_unit *unit, const tl_signal *signal, const tl_probe *probe) {
    const bool is_scalar = probe->width == 0 || signal->measure == TL_MEASURE_CYCLES || strcmp(unit->type->name, "core") == 0;
    return is_scalar ? signal->max_step : signal->max_step * probe->width;
}

// Adds the cells of one term; with cells NULL only counts them.
static uint32_t add_term(const char *unit_name, const char *signal, const tl_probe *probe, uint32_t hart, tl_cell *cells,
                         tl_sources *sources) {
    uint32_t n = 0;
    for (uint32_t u = 0; u < probe->n_units; u++) {
        const tl_unit *unit = &probe->units[u];
        if (strcmp(unit->type->name, unit_name) != 0 || !is_concerned(unit, hart))
            continue;
        const tl_hart_unit_row *row = hart_unit_of(unit);
        for (uint32_t s = 0; s < unit->type->n_signals; s++) {
            if (strcmp(unit->type->signals[s].name, signal) != 0)
                continue;
            tl_signal_kind kind = row ? tl_hart_signal_kind((enum tl_hart_cell)(row->first_cell + s)) : TL_SIGNAL_SLOW;
            if (cells)
                cells[n] = unit->first_cell + s;
            n += 1;
            sources->max_step += max_step_of(unit, &unit->type->signals[s], probe);
            uint32_t cell = row ? row->first_cell + s : 0;
            bool is_hosts = row && (cell == TL_S_HART_CYCLE || cell == TL_S_HART_INSTRET);
            sources->needs_sync |= kind == TL_SIGNAL_HELD || (kind == TL_SIGNAL_CLOCK && !is_hosts);
            // Waiting is between two runs.
            sources->is_slow &= kind == TL_SIGNAL_SLOW || (row && cell == TL_S_HART_IDLE_CYCLE);
            sources->is_retired &= row && tl_hart_signal_is_retired((enum tl_hart_cell)cell);
            sources->is_jumpy |= kind == TL_SIGNAL_SLOW || (row && tl_hart_signal_is_jumpy((enum tl_hart_cell)cell));
        }
    }
    return n;
}

// "l2.read_hart#" of hart 3 into "l2" and "read_hart3". Returns what follows the term and its " +
// ", or NULL: not well formed.
static const char *next_term(const char *text, uint32_t hart, char unit[static 32], char signal[static 64]) {
    size_t n_unit = strcspn(text, ". +");
    if (n_unit == 0 || n_unit >= 32 || text[n_unit] != '.')
        return NULL;
    memcpy(unit, text, n_unit);
    unit[n_unit] = '\0';
    text += n_unit + 1;
    size_t n_signal = strcspn(text, " +");
    if (n_signal == 0 || n_signal >= 48)
        return NULL;
    const char *mark = memchr(text, '#', n_signal);
    if (mark)
        snprintf(signal, 64, "%.*s%u%.*s", (int)(mark - text), text, hart, (int)(text + n_signal - mark - 1), mark + 1);
    else
        snprintf(signal, 64, "%.*s", (int)n_signal, text);
    text += n_signal;
    return strncmp(text, " + ", 3) == 0 ? text + 3 : *text == '\0' ? text : NULL;
}

tl_status tl_sources_resolve(const char *text, const tl_probe *probe, uint32_t hart, tl_arena *arena, tl_sources *ret_sources,
                             tl_error *err) {
    tl_sources sources = {.is_slow = true, .is_retired = true};
    for (int is_second = 0; is_second < 2; is_second++) {
        uint32_t n = 0;
        if (is_second) {
            sources.cells = tl_arena_alloc(arena, sources.n_cells * sizeof *sources.cells);
            if (!sources.cells)
                return tl_fail(err, TL_ENOMEM, "no memory for the sources of '%s'", text);
            sources.max_step = 0;
        }
        for (const char *at = text; at != NULL && *at != '\0';) {
            char unit[32], signal[64];
            at = next_term(at, hart, unit, signal);
            if (!at)
                return tl_fail(err, TL_EINVAL, "'%s': sources are written unit.signal + unit.signal", text);
            uint32_t n_found = add_term(unit, signal, probe, hart, is_second ? sources.cells + n : NULL, &sources);
            if (n_found == 0)
                return tl_fail(err, TL_ENOENT, "'%s': this machine has no signal %s.%s", text, unit, signal);
            n += n_found;
        }
        sources.n_cells = n;
    }
    *ret_sources = sources;
    return TL_OK;
}

const char *tl_fidelity_name(tl_fidelity fidelity) {
    switch (fidelity) {
    case TL_EXACT: return "exact";
    case TL_APPROXIMATE: return "approximate";
    case TL_NOT_MODELED: break;
    }
    return "not modeled";
}
