// SPDX-License-Identifier: MIT
// Lists units in the order of machine/assemble.c: each hart's units, then the shared ones.
#include "session/machine_names.h"

#include <stdio.h>

#include "machine/keys.h"
#include "model/core.h"
#include "session/source.h"

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "no memory for the catalogue of names"); }

// Every number of the description is machine.KEY in formulas.
static uint32_t list_constants(const tl_config *config, tl_catalogue_constant ret_constants[TL_MAX_KEYS]) {
    tl_key_list list;
    uint32_t n = 0;
    tl_key_list_init(&list);
    for (uint32_t i = 0; i < list.n; i++) {
        if (list.keys[i]->kind != TL_KEY_TEXT)
            ret_constants[n++] = (tl_catalogue_constant){list.keys[i]->path, tl_key_number(list.keys[i], config)};
    }
    return n;
}

// The first design that takes selectors as they are, for examples.
static const char *selecting_pmu(void) {
    const tl_source_type *const *type = tl_source_types;
    while (*type && !(*type)->takes_selectors)
        type++;
    return *type ? (*type)->pmu->name : "NAME";
}

static tl_status make(const tl_config *config, const tl_unit *units, uint32_t n_units, uint32_t n_cells, tl_catalogue **ret_catalogue,
                      tl_error *err) {
    tl_catalogue_constant constants[TL_MAX_KEYS];
    const tl_catalogue_of of = {.units = units,
                                .n_units = n_units,
                                .n_cells = n_cells,
                                .n_harts = config->n_harts,
                                .constants = constants,
                                .n_constants = list_constants(config, constants),
                                .selecting_pmu = selecting_pmu()};
    return tl_catalogue_new(&of, ret_catalogue, err);
}

static tl_status list_units(const tl_config *config, tl_arena *arena, tl_unit *units, uint32_t *ret_n_cells, tl_error *err) {
    tl_unit *unit = units;
    for (uint32_t hart = 0; hart < config->n_harts; hart++) {
        for (uint32_t i = 0; i < TL_N_HART_UNITS; i++, unit++) {
            char path[32];
            snprintf(path, sizeof path, tl_hart_units[i].path_format, hart);
            *unit = (tl_unit){.type = &tl_hart_units[i].type,
                              .path = tl_arena_strdup(arena, path),
                              .first_cell = hart * TL_S_N_CELLS + tl_hart_units[i].first_cell};
            if (!unit->path)
                return no_memory(err);
        }
    }
    tl_cell cell = config->n_harts * TL_S_N_CELLS;
    for (uint32_t i = 0; i < tl_memory_n_units(config); i++, unit++) {
        tl_memory_unit shared;
        tl_memory_unit_at(config, i, &shared);
        *unit = (tl_unit){.type = shared.type, .path = tl_arena_strdup(arena, shared.path), .first_cell = cell};
        if (!unit->path)
            return no_memory(err);
        cell += shared.type->n_signals;
    }
    for (uint32_t i = 0; i < tl_core_n_units(config); i++, unit++) {
        char path[32];
        const tl_unit_type *type = tl_core_unit_at(i, path, sizeof path);
        *unit = (tl_unit){.type = type, .path = tl_arena_strdup(arena, path), .first_cell = cell};
        if (!unit->path)
            return no_memory(err);
        cell += type->n_signals;
    }
    *ret_n_cells = cell;
    return TL_OK;
}

tl_status tl_machine_names_new(const tl_config *config, tl_catalogue **ret_catalogue, tl_error *err) {
    tl_status status = tl_keys_check(config, err);
    if (status != TL_OK)
        return status;
    tl_arena arena = {0};
    uint32_t n_units = config->n_harts * TL_N_HART_UNITS + tl_memory_n_units(config) + tl_core_n_units(config), n_cells = 0;
    tl_unit *units = tl_arena_alloc(&arena, n_units * sizeof *units);
    status = units ? list_units(config, &arena, units, &n_cells, err) : no_memory(err);
    if (status == TL_OK)
        status = make(config, units, n_units, n_cells, ret_catalogue, err);
    tl_arena_done(&arena);
    return status;
}

tl_status tl_machine_names_new_of(const tl_machine *machine, tl_catalogue **ret_catalogue, tl_error *err) {
    const tl_probe *probe = &machine->probe;
    return make(&machine->config, probe->units, probe->n_units, probe->n_cells, ret_catalogue, err);
}

tl_status tl_machine_names_new_of_pairs(tl_catalogue **ret_catalogue, tl_error *err) {
    tl_config config;
    tl_config_default(&config);
    config.n_harts = config.l2_slices = config.mem_channels = 2;
    return tl_machine_names_new(&config, ret_catalogue, err);
}
