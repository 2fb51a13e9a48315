// SPDX-License-Identifier: MIT
// The hierarchical counters in the account: storage part by part, then activity beside six other
// ways to count the same events. Figures and rules: src/pmu/smpm/cost.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "machine/keys.h"
#include "pmu/smpm/cost.h"
#include "pmu/smpm/metered.h"
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
        return tl_no_memory(err);
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

// Lines of a picture come first; it has room for six.
static const tl_smpm_way curve_ways[CURVE_COLUMNS] = {TL_SMPM_WAY_HIERARCHY, TL_SMPM_WAY_FLAT64, TL_SMPM_WAY_FLAT64_SR, TL_SMPM_WAY_HYB12,
                                                      TL_SMPM_WAY_CLASS44,   TL_SMPM_WAY_POLL,   TL_SMPM_WAY_FLAT48};

// The curve, then from which rate on the hierarchy takes less. ret_table: of the curve.
static tl_status put_curve(tl_cost *cost, const tl_smpm_curve *curve, tl_cost_table **ret_table, tl_error *err) {
    const char **rows;
    double *values, *x = tl_arena_alloc(&cost->arena, TL_SMPM_CURVE_POINTS * sizeof *x);
    tl_cost_table *table = *ret_table = add_table(cost, TL_SMPM_CURVE_POINTS, CURVE_COLUMNS, &rows, &values);
    if (!table || !x)
        return tl_no_memory(err);
    table->name = "curve";
    table->corner = "events in a million cycles";
    table->y_label = "energy";
    table->x = x;
    for (uint32_t k = 0; k < CURVE_COLUMNS; k++)
        table->columns[k] = tl_smpm_way_names[curve_ways[k]];
    for (uint32_t i = 0; i < TL_SMPM_CURVE_POINTS; i++) {
        x[i] = curve->events_per_million[i];
        rows[i] = tl_arena_printf(&cost->arena, "%u", curve->events_per_million[i]);
        if (!rows[i])
            return tl_no_memory(err);
        for (uint32_t k = 0; k < CURVE_COLUMNS; k++)
            values[i * CURVE_COLUMNS + k] = curve->energy[curve_ways[k]][i];
    }
    table = add_table(cost, 1, N_OTHERS, &rows, &values);
    if (!table)
        return tl_no_memory(err);
    table->name = "break_even";
    table->title = "Events in a million cycles from which the hierarchy takes less energy than another way.";
    table->corner = "";
    rows[0] = "hierarchy wins from";
    for (uint32_t k = 0; k < N_OTHERS; k++) {
        table->columns[k] = tl_smpm_way_names[k + 1];
        values[k] = tl_smpm_break_even(curve, k + 1);
    }
    return TL_OK;
}

static tl_status add_curve(tl_cost *cost, const tl_smpm_config *config, tl_error *err) {
    tl_smpm_curve curve;
    tl_cost_table *table;
    tl_status status = tl_smpm_curve_of(config, &tl_smpm_default_weights, 0, true, &curve, err);
    if (status == TL_OK)
        status = put_curve(cost, &curve, &table, err);
    if (status != TL_OK)
        return status;
    table->name = "energy";
    table->title = "Energy of a unit in 1,000 cycles, in toggles of a flip-flop; captured counters are sent by a selector.";
    return TL_OK;
}

static tl_smpm_load load_of(const tl_smpm_config *config, bool is_selected) {
    return (tl_smpm_load){.n_units = config->ccu_ulcs,
                          .n_ctrs = config->ulc_ctrs,
                          .events_per_million = LOAD_RATE,
                          .n_epochs = LOAD_EPOCHS,
                          .is_selected = is_selected};
}

// activity: of TL_SMPM_N_WAYS.
static tl_status put_sensitivity(tl_cost *cost, const tl_smpm_activity *activity, const char *title, tl_error *err) {
    const char **rows;
    double *values;
    tl_cost_table *table = add_table(cost, 1 + 2 * TL_SMPM_N_WEIGHTS, N_OTHERS, &rows, &values);
    if (!table)
        return tl_no_memory(err);
    table->name = "sensitivity";
    table->title = title;
    table->corner = "weights";
    table->n_decimals = 2;
    rows[0] = "as they are";
    for (uint32_t w = 0; w < TL_SMPM_N_WEIGHTS; w++) {
        rows[1 + 2 * w] = tl_arena_printf(&cost->arena, "%s / 4", tl_smpm_weight_names[w]);
        rows[2 + 2 * w] = tl_arena_printf(&cost->arena, "%s x 4", tl_smpm_weight_names[w]);
        if (!rows[1 + 2 * w] || !rows[2 + 2 * w])
            return tl_no_memory(err);
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

static tl_status add_sensitivity(tl_cost *cost, const tl_smpm_config *config, tl_error *err) {
    const tl_smpm_load load = load_of(config, true);
    tl_smpm_activity activity[TL_SMPM_N_WAYS];
    tl_status status = tl_smpm_load_run(config, &load, activity, err);
    if (status != TL_OK)
        return status;
    return put_sensitivity(cost, activity, "Energy of the hierarchy divided by that of another way, at 10,000 events in a million cycles.",
                           err);
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
        return tl_no_memory(err);
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
        return tl_no_memory(err);
    status = add_curve(cost, &hw.config, err);
    if (status == TL_OK)
        status = add_sensitivity(cost, &hw.config, err);
    return status == TL_OK ? add_ablations(cost, &hw.config, err) : status;
}

// ---- a measured run

static tl_status add_run_table(tl_cost *cost, const tl_smpm_meter *meter, const tl_smpm_activity *all, tl_error *err) {
    static const char *const columns[] = {"cycles", "events", "frames", "records", "commits", "switches", "bits moved"};
    const double facts[TL_COUNT_OF(columns)] = {(double)meter->n_cycles,
                                                (double)meter->n_events,
                                                (double)meter->n_frames,
                                                (double)meter->n_records,
                                                (double)meter->n_commits,
                                                (double)meter->n_switches,
                                                (double)(all[TL_SMPM_WAY_HIERARCHY].noc + all[TL_SMPM_WAY_HIERARCHY].mem)};
    const char **rows;
    double *values;
    tl_cost_table *table = add_table(cost, 1, TL_COUNT_OF(columns), &rows, &values);
    if (!table)
        return tl_no_memory(err);
    table->name = "measured";
    table->title = "What the hierarchy did. Bits moved are those of records for each hop, and those added to memory.";
    table->corner = "";
    rows[0] = tl_smpm_way_names[TL_SMPM_WAY_HIERARCHY];
    memcpy(table->columns, columns, sizeof columns);
    memcpy(values, facts, sizeof facts);
    return TL_OK;
}

static tl_cost_table *add_ways(tl_cost *cost, const char *name, const char *title, const char *const *columns, uint32_t n_columns,
                               double **ret_values) {
    const char **rows;
    tl_cost_table *table = add_table(cost, TL_SMPM_N_WAYS, n_columns, &rows, ret_values);
    if (!table)
        return NULL;
    table->name = name;
    table->title = title;
    table->corner = "";
    memcpy(table->columns, columns, n_columns * sizeof *columns);
    memcpy(rows, tl_smpm_way_names, sizeof tl_smpm_way_names);
    return table;
}

static tl_status add_activity(tl_cost *cost, const tl_smpm_activity *all, tl_error *err) {
    static const char *const columns[] = {"clocked", "gated", "toggles", "wire", "array", "records", "memory", "host"};
    static const char *const parts[] = {"clocked", "toggles", "wire", "array", "records", "memory", "host", "sum"};
    enum { N = TL_COUNT_OF(columns) };
    _Static_assert((int)N == (int)TL_COUNT_OF(parts), "one row of each");
    const tl_smpm_weights *w = &tl_smpm_default_weights;
    double *counts, *energies;
    if (!add_ways(cost, "activity", "Activity of the run: bits, of which clocked ones without and with gates, and bytes of the host.",
                  columns, N, &counts))
        return tl_no_memory(err);
    tl_cost_table *table =
        add_ways(cost, "energy", "Energy of the run: activity times weights, in toggles of a flip-flop.", parts, N, &energies);
    if (!table)
        return tl_no_memory(err);
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++) {
        const tl_smpm_activity *a = &all[way];
        const double raw[N] = {(double)a->clk,  (double)a->gated, (double)a->tog, (double)a->wire,
                               (double)a->sram, (double)a->noc,   (double)a->mem, (double)a->host};
        const double weighted[N] = {w->clk * (w->is_gated ? raw[1] : raw[0]),
                                    w->tog * raw[2],
                                    w->wire * raw[3],
                                    w->sram * raw[4],
                                    w->noc * raw[5],
                                    w->mem * raw[6],
                                    w->host * raw[7],
                                    tl_smpm_energy(a, w)};
        memcpy(&counts[way * N], raw, sizeof raw);
        memcpy(&energies[way * N], weighted, sizeof weighted);
    }
    return TL_OK;
}

static double per(double sum, double n) { return n > 0 ? sum / n : 0; }

static tl_status add_shares(tl_cost *cost, const tl_smpm_meter *meter, const tl_smpm_activity *all, tl_error *err) {
    static const char *const columns[] = {"of an event", "1000 cycles", "and a unit", "a switch", "SMPM to it"};
    enum { N = TL_COUNT_OF(columns) };
    double *values;
    tl_cost_table *table =
        add_ways(cost, "shares", "Energy of an event, of 1,000 cycles, of those in a unit, and of a switch.", columns, N, &values);
    if (!table)
        return tl_no_memory(err);
    table->n_decimals = 2;
    const double hierarchy = tl_smpm_energy(&all[TL_SMPM_WAY_HIERARCHY], &tl_smpm_default_weights);
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++) {
        const double energy = tl_smpm_energy(&all[way], &tl_smpm_default_weights);
        const double of_switches = tl_smpm_energy(&meter->in_switches[way], &tl_smpm_default_weights);
        const double kilocycles = (double)meter->n_cycles / 1000;
        const double shares[N] = {per(energy, (double)meter->n_events), per(energy, kilocycles),
                                  per(energy, kilocycles * meter->layout->n_ulcs), per(of_switches, (double)meter->n_switches),
                                  per(hierarchy, energy)};
        memcpy(&values[way * N], shares, sizeof shares);
    }
    return TL_OK;
}

// One sentence for each side.
static tl_status tell_losses(tl_cost *cost, const tl_smpm_activity *all, tl_error *err) {
    const double own = tl_smpm_energy(&all[TL_SMPM_WAY_HIERARCHY], &tl_smpm_default_weights);
    char more[120] = "", less[120] = "";
    for (tl_smpm_way way = TL_SMPM_WAY_HIERARCHY + 1; way < TL_SMPM_N_WAYS; way++) {
        char *list = own > tl_smpm_energy(&all[way], &tl_smpm_default_weights) ? more : less;
        const size_t n = strlen(list);
        snprintf(list + n, sizeof more - n, "%s%s", n ? ", " : "", tl_smpm_way_names[way]);
    }
    cost->remark = tl_arena_printf(&cost->arena, "The hierarchy takes more energy than: %s. It takes less than: %s.", *more ? more : "none",
                                   *less ? less : "none");
    return cost->remark ? TL_OK : tl_no_memory(err);
}

// Groups like those of the chip: as many counters in a unit as its units have on average.
static tl_status add_run_curve(tl_cost *cost, const tl_smpm_meter *meter, const tl_smpm_activity *all, tl_error *err) {
    const uint32_t n_ulcs = meter->layout->n_ulcs, n_signals = tl_smpm_meter_n_signals(meter);
    const tl_smpm_load load = {
        .n_units = meter->config->ccu_ulcs, .n_ctrs = (n_signals + n_ulcs / 2) / n_ulcs, .is_selected = meter->is_selected};
    tl_smpm_curve curve;
    tl_cost_table *table;
    tl_status status = tl_smpm_curve_like(meter->config, &tl_smpm_default_weights, &load, &curve, err);
    if (status == TL_OK)
        status = put_curve(cost, &curve, &table, err);
    if (status != TL_OK)
        return status;
    const double rate = per((double)meter->n_events * 1e6, (double)meter->n_cycles * n_signals);
    table->mark = "this run";
    table->mark_x = rate < 1 ? 1 : rate; // as the axis begins
    table->mark_y = per(tl_smpm_energy(&all[TL_SMPM_WAY_HIERARCHY], &tl_smpm_default_weights), (double)meter->n_cycles / 1000 * n_ulcs);
    table->title =
        tl_arena_printf(&cost->arena, "Energy of a unit of %u counters in 1,000 cycles; this run has %.0f events a counter in a million.",
                        load.n_ctrs, rate);
    return table->title ? TL_OK : tl_no_memory(err);
}

static tl_status fill_run(tl_chip_monitor *monitor, tl_cost *cost, tl_error *err) {
    const tl_smpm_meter *meter = tl_smpm_metered_now(tl_smpm_chip_metered(monitor));
    tl_smpm_activity all[TL_SMPM_N_WAYS];
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++)
        all[way] = tl_smpm_activity_sum(&meter->all[way], &meter->in_switches[way]);
    cost->n_holders = meter->layout->n_ulcs;
    cost->n_counters = tl_smpm_meter_n_signals(meter);
    tl_status status = tell_losses(cost, all, err);
    if (status == TL_OK)
        status = add_run_table(cost, meter, all, err);
    if (status == TL_OK)
        status = add_activity(cost, all, err);
    if (status == TL_OK)
        status = add_shares(cost, meter, all, err);
    if (status == TL_OK)
        status = put_sensitivity(cost, all, "Energy of the hierarchy divided by that of another way, in this run, as weights differ.", err);
    return status == TL_OK ? add_run_curve(cost, meter, all, err) : status;
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
    .fill_run = fill_run,
};

const tl_account_type tl_account_smpm = {
    .pmu = &tl_pmu_smpm,
    .complete = complete,
    .of_machine = of_machine,
    .kind = "hierarchical",
    .page = &page,
};
