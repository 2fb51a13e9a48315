// SPDX-License-Identifier: MIT
// The hierarchical counters in the account: storage part by part, then activity beside six other
// ways to count the same events. Figures and rules: src/pmu/smpm/cost.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "machine/keys.h"
#include "pmu/smpm/cost.h"
#include "pmu/smpm/smpm.h"
#include "session/account.h"
#include "session/cost_maker.h"

extern const tl_account_type tl_account_smpm;
enum { N_OTHERS = TL_SMPM_N_WAYS - 1, LOAD_RATE = 10000, LOAD_EPOCHS = 2, N_COMPONENTS = 7, N_BLOCKS = 2, CURVE_COLUMNS = N_OTHERS + 1 };

// A description needs nothing: the hardware follows from its keys and from the machine's units.
static void complete(tl_config *config) { (void)config; }

static tl_smpm_config config_of(const tl_machine *machine) {
    tl_smpm_config config;
    tl_pmu_settings_of(&tl_pmu_smpm, &machine->config, &config);
    if (config.profile == TL_SMPM_NONE)
        config.profile = TL_SMPM_SAFE;
    tl_smpm_config_resolve(&config);
    return config;
}

typedef struct hardware {
    tl_smpm_config config;
    tl_smpm_layout *layout; // the caller frees it
    tl_smpm_storage storage;
} hardware;

static tl_status hardware_of(const tl_machine *machine, hardware *ret_hardware, tl_error *err) {
    tl_smpm_config *config = &ret_hardware->config;
    *config = config_of(machine);
    const tl_smpm_chip chip = {.n_partitions = 1,
                               .n_harts = machine->n_harts,
                               .n_slices = machine->config.l2_slices,
                               .n_mem_channels = machine->config.mem_channels};
    tl_smpm_layout *layout = malloc(sizeof *layout);
    if (!layout)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    tl_status status = tl_smpm_layout_new(config, &chip, layout, err);
    if (status == TL_OK)
        status = tl_smpm_layout_resolve(config, layout, err);
    if (status != TL_OK) {
        free(layout);
        return status;
    }
    ret_hardware->layout = layout;
    ret_hardware->storage = tl_smpm_storage_of(config, layout, N_BLOCKS);
    return TL_OK;
}

static uint32_t n_ctrs_of(const tl_smpm_config *config, const tl_smpm_layout *layout) {
    uint32_t n = 0;
    for (uint32_t u = 0; u < layout->n_ulcs; u++)
        for (uint32_t i = 0; i < config->ulc_ctrs; i++)
            n += layout->types[layout->ulcs[u].type].ctrs[i].feed != TL_SMPM_FEED_NONE;
    return n;
}

static tl_account account_of(const tl_smpm_storage *s, uint64_t n_ctrs) {
    return (tl_account){.n_counters = n_ctrs,
                        .n_at_once = n_ctrs,
                        .state_bits = s->ff_bits + s->sram_bits,
                        .counter_bits = s->ulc_ctrs + s->ccu_rows + s->accumulators,
                        .wires = s->wires};
}

static tl_status of_machine(const tl_machine *machine, tl_account *ret_account, tl_error *err) {
    hardware hw;
    tl_status status = hardware_of(machine, &hw, err);
    if (status != TL_OK)
        return status;
    *ret_account = account_of(&hw.storage, n_ctrs_of(&hw.config, hw.layout));
    free(hw.layout);
    return TL_OK;
}

// ---- the page

static void add_parts(tl_cost *cost, const tl_smpm_config *config, const tl_smpm_layout *layout, const tl_smpm_storage *s) {
    const uint64_t n = layout->n_ulcs, ccus = layout->n_ccus, channels = layout->n_partitions + 2;
    const struct {
        const char *name;
        uint64_t n, sum;
    } parts[] = {
        {"units: counters", n, s->ulc_ctrs},
        {config->snap_mode == TL_SMPM_ATOMIC ? "units: captured counters" : "units: shift register", n, s->ulc_shadow},
        {"units: overflow flags", n, s->ulc_ovf + s->ulc_ovf_shadow},
        {"units: window counters", n, s->ulc_wcnt},
        {"units: residues", n, s->ulc_residues},
        {"units: control", n, s->ulc_control},
        {"collection: control", ccus, s->ccu_control},
        {"collection: rows, in arrays", ccus, s->ccu_rows},
        {"collection: residues, in arrays", ccus, s->ccu_residue_rows},
        {"collection: frames, in arrays", ccus, s->frame_values + s->frame_rest},
        {"trigger blocks", layout->n_partitions, s->tb},
        {"channels: FIFOs, in arrays", channels, s->fifos},
        {"channels: sums, in arrays", channels, s->accumulators},
    };
    for (size_t i = 0; i < TL_COUNT_OF(parts); i++)
        tl_cost_add_part(cost, parts[i].name, false, parts[i].sum / parts[i].n, parts[i].n, parts[i].sum);
    tl_cost_add_part(cost, "serial lines", true, s->serial_wires / n, n, s->serial_wires);
    tl_cost_add_part(cost, "enable lines", true, s->enable_wires / ccus, ccus, s->enable_wires);
    tl_cost_add_part(cost, "records", true, s->record_wires / ccus, ccus, s->record_wires);
}

// A table of the arena, with room for so many rows.
static tl_cost_table *add_table(tl_cost *cost, uint32_t n_rows, uint32_t n_columns, const char ***ret_rows, double **ret_values) {
    *ret_rows = tl_arena_alloc(&cost->arena, n_rows * sizeof **ret_rows);
    *ret_values = tl_arena_alloc(&cost->arena, (size_t)n_rows * n_columns * sizeof **ret_values);
    if (!*ret_rows || !*ret_values || cost->n_tables == TL_COST_MAX_TABLES)
        return NULL;
    tl_cost_table *table = &cost->tables[cost->n_tables++];
    *table = (tl_cost_table){.n_rows = n_rows, .n_columns = n_columns, .rows = *ret_rows, .values = *ret_values};
    return table;
}

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left"); }

// Lines of a picture come first; it has room for six.
static const tl_smpm_way curve_ways[CURVE_COLUMNS] = {TL_SMPM_WAY_HIERARCHY, TL_SMPM_WAY_FLAT64, TL_SMPM_WAY_FLAT64_SR, TL_SMPM_WAY_HYB12,
                                                      TL_SMPM_WAY_CLASS44,   TL_SMPM_WAY_POLL,   TL_SMPM_WAY_FLAT48};

static tl_status add_curve(tl_cost *cost, const tl_smpm_config *config, tl_error *err) {
    tl_smpm_curve curve;
    const char **rows;
    double *values, *x = tl_arena_alloc(&cost->arena, TL_SMPM_CURVE_POINTS * sizeof *x);
    tl_cost_table *table = add_table(cost, TL_SMPM_CURVE_POINTS, CURVE_COLUMNS, &rows, &values);
    if (!table || !x)
        return no_memory(err);
    tl_status status = tl_smpm_curve_of(config, &tl_smpm_default_weights, 0, true, &curve, err);
    if (status != TL_OK)
        return status;
    table->name = "energy";
    table->title = "Energy of a unit in 1,000 cycles, in toggles of a flip-flop; captured counters are sent by a selector.";
    table->corner = "events in a million cycles";
    table->y_label = "energy";
    table->x = x;
    for (uint32_t k = 0; k < CURVE_COLUMNS; k++)
        table->columns[k] = tl_smpm_way_names[curve_ways[k]];
    for (uint32_t i = 0; i < TL_SMPM_CURVE_POINTS; i++) {
        x[i] = curve.events_per_million[i];
        rows[i] = tl_arena_printf(&cost->arena, "%u", curve.events_per_million[i]);
        if (!rows[i])
            return no_memory(err);
        for (uint32_t k = 0; k < CURVE_COLUMNS; k++)
            values[i * CURVE_COLUMNS + k] = curve.energy[curve_ways[k]][i];
    }
    table = add_table(cost, 1, N_OTHERS, &rows, &values);
    if (!table)
        return no_memory(err);
    table->name = "break_even";
    table->title = "Events in a million cycles from which the hierarchy takes less energy than another way.";
    table->corner = "";
    rows[0] = "hierarchy wins from";
    for (uint32_t k = 0; k < N_OTHERS; k++) {
        table->columns[k] = tl_smpm_way_names[k + 1];
        values[k] = tl_smpm_break_even(&curve, k + 1);
    }
    return TL_OK;
}

static tl_smpm_load load_of(const tl_smpm_config *config, bool is_selected) {
    return (tl_smpm_load){.n_units = config->ccu_ulcs,
                          .n_ctrs = config->ulc_ctrs,
                          .events_per_million = LOAD_RATE,
                          .n_epochs = LOAD_EPOCHS,
                          .is_selected = is_selected};
}

static tl_status add_sensitivity(tl_cost *cost, const tl_smpm_config *config, tl_error *err) {
    const tl_smpm_load load = load_of(config, true);
    tl_smpm_activity activity[TL_SMPM_N_WAYS];
    const char **rows;
    double *values;
    tl_cost_table *table = add_table(cost, 1 + 2 * TL_SMPM_N_WEIGHTS, N_OTHERS, &rows, &values);
    if (!table)
        return no_memory(err);
    tl_status status = tl_smpm_load_run(config, &load, activity, err);
    if (status != TL_OK)
        return status;
    table->name = "sensitivity";
    table->title = "Energy of the hierarchy divided by that of another way, at 10,000 events in a million cycles.";
    table->corner = "weights";
    table->n_decimals = 2;
    rows[0] = "as they are";
    for (uint32_t w = 0; w < TL_SMPM_N_WEIGHTS; w++) {
        rows[1 + 2 * w] = tl_arena_printf(&cost->arena, "%s / 4", tl_smpm_weight_names[w]);
        rows[2 + 2 * w] = tl_arena_printf(&cost->arena, "%s x 4", tl_smpm_weight_names[w]);
        if (!rows[1 + 2 * w] || !rows[2 + 2 * w])
            return no_memory(err);
    }
    for (uint32_t k = 0; k < N_OTHERS; k++) {
        const tl_smpm_sensitivity s = tl_smpm_sensitivity_of(&activity[0], &activity[k + 1], &tl_smpm_default_weights);
        table->columns[k] = tl_smpm_way_names[k + 1];
        values[k] = s.ratio;
        for (uint32_t w = 0; w < TL_SMPM_N_WEIGHTS; w++) {
            values[(1 + 2 * w) * N_OTHERS + k] = s.quarter[w];
            values[(2 + 2 * w) * N_OTHERS + k] = s.fourfold[w];
        }
    }
    return TL_OK;
}

static tl_status add_ablations(tl_cost *cost, const tl_smpm_config *config, tl_error *err) {
    static const char *const columns[N_COMPONENTS] = {"energy",     "clocked bits", "toggles",    "wire",
                                                      "array bits", "record bits",  "memory bits"};
    tl_smpm_ablation list[TL_SMPM_MAX_ABLATIONS];
    const uint32_t n = tl_smpm_ablations_of(config, list);
    const char **rows;
    double *values;
    tl_cost_table *table = add_table(cost, n, N_COMPONENTS, &rows, &values);
    if (!table)
        return no_memory(err);
    table->name = "ablations";
    table->title = "Activity for each event, at 10,000 events in a million cycles, with one thing changed.";
    table->corner = "changed";
    table->n_decimals = 1;
    memcpy(table->columns, columns, sizeof columns);
    for (uint32_t i = 0; i < n; i++) {
        const tl_smpm_config *with = &list[i].config;
        const tl_smpm_load load = load_of(with, list[i].is_selected);
        tl_smpm_activity activity[TL_SMPM_N_WAYS];
        tl_status status = tl_smpm_load_run(with, &load, activity, err);
        if (status != TL_OK)
            return status;
        const tl_smpm_activity *a = &activity[TL_SMPM_WAY_HIERARCHY];
        const double n_cycles = (double)LOAD_EPOCHS * (with->tb_period / with->ulc_period) * with->ulc_period;
        const double n_events = n_cycles * load.n_units * load.n_ctrs * LOAD_RATE / 1e6;
        const double sums[N_COMPONENTS] = {tl_smpm_energy(a, &tl_smpm_default_weights),
                                           (double)a->gated,
                                           (double)a->tog,
                                           (double)a->wire,
                                           (double)a->sram,
                                           (double)a->noc,
                                           (double)a->mem};
        rows[i] = list[i].name;
        for (uint32_t k = 0; k < N_COMPONENTS; k++)
            values[i * N_COMPONENTS + k] = sums[k] / n_events;
    }
    return TL_OK;
}

static tl_status fill(const tl_machine *machine, tl_cost *cost, tl_error *err) {
    hardware hw;
    tl_status status = hardware_of(machine, &hw, err);
    if (status != TL_OK)
        return status;
    cost->n_holders = hw.layout->n_ulcs;
    cost->n_counters = n_ctrs_of(&hw.config, hw.layout);
    add_parts(cost, &hw.config, hw.layout, &hw.storage);
    free(hw.layout);
    cost->remark = tl_arena_printf(&cost->arena, "Blocks in memory are not in it: %llu bits for the device, a VM and a context.",
                                   (unsigned long long)hw.storage.blocks);
    if (!cost->remark)
        return no_memory(err);
    status = add_curve(cost, &hw.config, err);
    if (status == TL_OK)
        status = add_sensitivity(cost, &hw.config, err);
    return status == TL_OK ? add_ablations(cost, &hw.config, err) : status;
}

// Units of one type in one partition, with as many lanes as their frames need.
static tl_status of_units(const tl_machine *machine, uint32_t n_units, uint32_t n_counters, tl_account *ret_account, tl_error *err) {
    tl_smpm_config config = config_of(machine);
    config.ulc_ctrs = n_counters;
    if (config.mb_inputs > n_counters)
        config.mb_inputs = n_counters;
    while (config.ulc_lanes < 8 && tl_smpm_frame_cycles(&config, false) >= config.ulc_period)
        config.ulc_lanes++;
    const tl_smpm_storage s = tl_smpm_storage_of_size(&config, n_units);
    (void)err;
    *ret_account = account_of(&s, (uint64_t)n_units * n_counters);
    return TL_OK;
}

static const tl_account_page page = {
    .title = "Hierarchical counters",
    .holders = "units",
    .fill = fill,
    .of_units = of_units,
};

const tl_account_type tl_account_smpm = {
    .pmu = &tl_pmu_smpm,
    .complete = complete,
    .of_machine = of_machine,
    .kind = "hierarchical",
    .page = &page,
};
