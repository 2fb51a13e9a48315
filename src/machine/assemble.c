// SPDX-License-Identifier: MIT
// Puts a machine together from its description: RAM, units and their tallies, harts, memory system,
// PMUs.
#include <stdio.h>
#include <stdlib.h>

#include "machine/keys.h"
#include "machine/machine.h"
#include "model/core.h"
#include "model/isa.h"

static tl_status name_units(tl_machine *machine, uint64_t **shared_tally, uint64_t **core_tally, tl_error *err) {
    const tl_config *config = &machine->config;
    uint32_t n_shared = tl_memory_n_units(config), n_cores = tl_core_n_units(config);
    uint32_t n_units = config->n_harts * TL_N_HART_UNITS + n_shared + n_cores;
    tl_unit *units = tl_arena_alloc(&machine->arena, n_units * sizeof *units);
    uint32_t n_cells = config->n_harts * TL_S_N_CELLS;
    for (uint32_t k = 0; k < n_shared; k++) {
        tl_memory_unit unit;
        tl_memory_unit_at(config, k, &unit);
        n_cells += unit.type->n_signals;
    }
    char core_path[32];
    for (uint32_t k = 0; k < n_cores; k++)
        n_cells += tl_core_unit_at(k, core_path, sizeof core_path)->n_signals;
    machine->tally = tl_arena_alloc(&machine->arena, n_cells * sizeof *machine->tally);
    if (!units || !machine->tally)
        return tl_fail(err, TL_ENOMEM, "no memory for %u tallies", n_cells);

    uint32_t u = 0, cell = 0;
    for (uint32_t i = 0; i < config->n_harts; i++)
        for (uint32_t k = 0; k < TL_N_HART_UNITS; k++, u++) {
            const tl_hart_unit_row *row = &tl_hart_units[k];
            cell = i * TL_S_N_CELLS + row->first_cell;
            char path[32];
            snprintf(path, sizeof path, row->path_format, i);
            units[u] = (tl_unit){
                .type = &row->type, .path = tl_arena_strdup(&machine->arena, path), .tally = machine->tally + cell, .first_cell = cell};
        }
    cell = config->n_harts * TL_S_N_CELLS;
    for (uint32_t k = 0; k < n_shared; k++, u++) {
        tl_memory_unit unit;
        tl_memory_unit_at(config, k, &unit);
        units[u] = (tl_unit){
            .type = unit.type, .path = tl_arena_strdup(&machine->arena, unit.path), .tally = machine->tally + cell, .first_cell = cell};
        shared_tally[k] = units[u].tally;
        cell += unit.type->n_signals;
    }
    for (uint32_t k = 0; k < n_cores; k++, u++) {
        const tl_unit_type *type = tl_core_unit_at(k, core_path, sizeof core_path);
        units[u] = (tl_unit){
            .type = type, .path = tl_arena_strdup(&machine->arena, core_path), .tally = machine->tally + cell, .first_cell = cell};
        core_tally[k] = units[u].tally;
        cell += type->n_signals;
    }
    for (uint32_t k = 0; k < n_units; k++)
        if (!units[k].path)
            return tl_fail(err, TL_ENOMEM, "no memory for the names of %u units", n_units);
    machine->probe =
        (tl_probe){.units = units, .n_units = n_units, .tally = machine->tally, .n_cells = n_cells, .width = tl_config_core_width(config)};
    return TL_OK;
}

static tl_status new_harts(tl_machine *machine, uint64_t *const *core_tally, tl_error *err) {
    for (uint32_t i = 0; i < machine->config.n_harts; i++) {
        tl_hart *h = tl_arena_alloc(&machine->arena, machine->engine->isa->hart_bytes);
        if (!h)
            return tl_fail(err, TL_ENOMEM, "no memory for hart%u", i);
        machine->harts[i] = h;
        h->isa = machine->engine->isa;
        h->isa->init(h);
        h->id = i;
        h->config = &machine->config;
        h->ram = machine->ram;
        h->tally = machine->tally + i * TL_S_N_CELLS;
        h->core_tally = core_tally[i];
        h->core_leader = machine->harts[i - i % tl_config_core_threads(&machine->config)];
        h->engine = machine->engine;
        h->run_vline = h->reservation_paddr = h->break_pc[0] = h->break_pc[1] = TL_NO_LINE;
        h->horizon = h->insn_limit = UINT64_MAX;
        tl_status status = tl_bpred_init(&h->bp, &machine->config, &machine->arena, err);
        if (status != TL_OK)
            return status;
    }
    machine->n_harts = machine->config.n_harts;
    return TL_OK;
}

static tl_status assemble(tl_machine *machine, tl_error *err) {
    uint64_t *shared_tally[TL_MAX_MEMORY_UNITS], *core_tally[TL_MAX_HARTS] = {NULL};
    tl_status status = TL_OK;
    if (!machine->ram) {
        status = tl_chip_memory_init(&machine->config.ram_bytes, 1, &machine->own_ram, err);
        machine->ram = machine->own_ram.bytes;
    }
    if (status == TL_OK)
        status = name_units(machine, shared_tally, core_tally, err);
    if (status == TL_OK)
        status = new_harts(machine, core_tally, err);
    if (status == TL_OK)
        status = tl_memory_new(&machine->config, &machine->arena, machine->harts, machine->ram, shared_tally, &machine->memory, err);
    for (uint32_t i = 0; status == TL_OK && i < machine->n_harts; i++)
        status = machine->engine->attach(machine->harts[i], &machine->arena, err);
    if (status == TL_OK)
        status = tl_machine_attach_pmus(machine, err);
    return status;
}

tl_status tl_machine_new(const tl_config *config, const tl_engine_type *core, tl_machine **ret_machine, tl_error *err) {
    return tl_machine_new_in(config, core, NULL, ret_machine, err);
}

tl_status tl_machine_new_in(const tl_config *config, const tl_engine_type *core, uint8_t *ram, tl_machine **ret_machine, tl_error *err) {
    tl_status status = tl_keys_check(config, err);
    if (status != TL_OK)
        return status;
    if ((config->core.kind == TL_CORE_OUT_OF_ORDER) != (core == &tl_engine_ooo))
        return tl_fail(err, TL_EINVAL,
                       "machine %s has %s core, which engine %s does not run; tally stat, record and boot find the engine of a machine, "
                       "and other commands run machines with core.kind: in_order only",
                       config->name, config->core.kind == TL_CORE_OUT_OF_ORDER ? "a detailed" : "an in-order", core->name);
    if (config->isa != core->isa->number)
        return tl_fail(err, TL_EINVAL, "machine %s has another instruction set than engine %s, which executes %s; choose another machine",
                       config->name, core->name, core->isa->name);
    tl_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        return tl_fail(err, TL_ENOMEM, "no memory for a machine");
    machine->config = *config;
    machine->engine = core;
    machine->ram = ram;
    status = assemble(machine, err);
    if (status != TL_OK) {
        tl_machine_free(machine);
        return status;
    }
    *ret_machine = machine;
    return TL_OK;
}

// TAGE learns from what the log says. Other predictors share their tables.
static bool add_log(const tl_machine *machine, tl_hart *h, tl_arena *arena) {
    if (machine->config.bp.kind != TL_BP_TAGE)
        return true;
    h->bp.log = tl_arena_alloc(arena, sizeof *h->bp.log);
    h->bp.fixed = TL_BPRED_LOGGED;
    return h->bp.log != NULL;
}

static void swap_state(tl_machine *machine, uint32_t i) {
    void *const state = machine->harts[i]->engine_state;
    machine->harts[i]->engine_state = machine->idle_state[i];
    machine->idle_state[i] = state;
}

tl_status tl_machine_add_forwarder(tl_machine *machine, const tl_engine_type *forwarder, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t i = 0; status == TL_OK && i < machine->n_harts; i++) {
        tl_hart *h = machine->harts[i];
        if (!add_log(machine, h, &machine->arena))
            return tl_fail(err, TL_ENOMEM, "no memory for the branches of hart%u", i);
        swap_state(machine, i);
        status = forwarder->attach(h, &machine->arena, err);
        swap_state(machine, i);
    }
    machine->forwarder = forwarder;
    return status;
}

void tl_machine_forward(tl_machine *machine, bool is_forwarding) {
    if (machine->is_forwarding == is_forwarding)
        return;
    const tl_engine_type *from = is_forwarding ? machine->engine : machine->forwarder;
    const tl_engine_type *to = is_forwarding ? machine->forwarder : machine->engine;
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        tl_hart *h = machine->harts[i];
        if (from->hand_over)
            from->hand_over(h);
        from->sync(h);
        h->run_vline = TL_NO_LINE;
        h->pend = NULL;
        swap_state(machine, i);
        h->engine = to;
        if (is_forwarding)
            machine->forwarded_from[i] = h->instret;
        if (to->take_over)
            to->take_over(h, is_forwarding ? 0 : h->instret - machine->forwarded_from[i]);
    }
    machine->is_forwarding = is_forwarding;
}

tl_status tl_machine_tap(tl_machine *machine, struct tl_tap *tap, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < machine->n_harts && status == TL_OK; i++) {
        if (machine->is_forwarding)
            swap_state(machine, i);
        status = machine->engine->tap(machine->harts[i], tap, err);
        if (machine->is_forwarding)
            swap_state(machine, i);
    }
    return status;
}

tl_status tl_machine_clock_tap(tl_machine *machine, uint32_t hart, struct tl_clock_tap *tap, tl_error *err) {
    if (machine->is_forwarding)
        swap_state(machine, hart);
    const tl_status status = machine->engine->clock_tap(machine->harts[hart], tap, err);
    if (machine->is_forwarding)
        swap_state(machine, hart);
    return status;
}

static void detach(tl_machine *machine) {
    tl_machine_forward(machine, false);
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        if (machine->harts[i]->engine_state)
            machine->engine->detach(machine->harts[i]);
        swap_state(machine, i);
        if (machine->harts[i]->engine_state)
            machine->forwarder->detach(machine->harts[i]);
    }
}

void tl_machine_free(tl_machine *machine) {
    if (!machine)
        return;
    detach(machine);
    tl_memory_done(machine->memory);
    tl_chip_memory_done(&machine->own_ram);
    tl_arena_done(&machine->arena);
    free(machine);
}
