// SPDX-License-Identifier: MIT
// Layouts of chips, their bounds in cycles, and the rules that need to know which units exist.
//
// Bounds count the worst case of the clock rules (docs/smpm.md). A channel dequeues one record a
// cycle, from the source whose turn it is, and nothing while it commits. Each channel has one slot
// of the arbiter in n + 2.
#include "pmu/smpm/layout.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "pmu/smpm/smpm.h"

enum {
    PARTS_OF_VM0 = 3, // total, UNASSIGNED, SWITCH: adds of channel 0 for one index
    ADDS_OF_VM = 2,   // VM block, context block
    // A shared flush waits until a periodic pulse, for the drain of that, and for its own drain.
    SHARED_WAITS = 3,
    MAX_SHARED_DRAINS = 3, // that meet: a periodic one, a switch trigger and its flush
};

#define REFUSE(field, ...) tl_key_refuse(tl_smpm_key_of(config, &config->field), config->field, err, __VA_ARGS__)

// ---- building

typedef struct builder {
    const tl_smpm_config *config;
    const tl_smpm_chip *chip;
    tl_smpm_layout *layout;
    uint8_t types[TL_SMPM_N_UNIT_KINDS], device_types[TL_SMPM_N_UNIT_KINDS];
    tl_error *err;
} builder;

static void add_events(const tl_smpm_config *config, tl_smpm_unit_kind kind, tl_smpm_unit_type *type) {
    for (uint32_t i = 0; i < tl_smpm_n_events; i++) {
        const tl_event *event = &tl_smpm_events[i];
        if (tl_smpm_event_kind(event) != kind || tl_smpm_event_is_left_out(event))
            continue;
        if (!tl_smpm_event_is_multi(event) && type->n_bits < TL_SMPM_MAX_CTRS)
            type->bits[type->n_bits++] = (uint16_t)i;
        else if (tl_smpm_event_is_multi(event) && type->n_multi < config->mb_inputs)
            type->multi[type->n_multi++] = (uint16_t)i;
    }
}

// Counters from 0 on have signals of one bit. Counters from N - 1 down have the pulses of inputs 0,
// 1 and so on.
static void assign_ctrs(const tl_smpm_config *config, tl_smpm_unit_type *type) {
    const uint32_t n_left = config->ulc_ctrs - type->n_multi;
    if (type->n_bits > n_left)
        type->n_bits = (uint8_t)n_left;
    for (uint32_t i = 0; i < type->n_bits; i++)
        type->ctrs[i] = (tl_smpm_ctr){.feed = TL_SMPM_FEED_BIT, .input = (uint8_t)i};
    for (uint32_t i = 0; i < type->n_multi; i++)
        type->ctrs[config->ulc_ctrs - 1 - i] = (tl_smpm_ctr){.feed = TL_SMPM_FEED_PULSE, .input = (uint8_t)i};
}

// Returns the number of the type. `suffix` tells the type of the whole device from the other one.
static uint8_t add_type(builder *b, tl_smpm_unit_kind kind, const char *suffix) {
    assert(b->layout->n_types < TL_SMPM_MAX_TYPES); // two for each kind at most
    tl_smpm_unit_type *type = &b->layout->types[b->layout->n_types];
    snprintf(type->name, sizeof type->name, "%s%s", tl_smpm_unit_names[kind], suffix);
    add_events(b->config, kind, type);
    assign_ctrs(b->config, type);
    return (uint8_t)b->layout->n_types++;
}

static void add_shared_types(builder *b, tl_smpm_unit_kind kind) {
    b->types[kind] = add_type(b, kind, ".filtered");
    b->device_types[kind] = add_type(b, kind, ".device");
}

static bool is_per_hart(const builder *b) { return b->config->channels == TL_SMPM_PER_HART; }

// Only a machine that is no chip counts its own interconnect, bus and devices, because a latch has
// no room for more types of units.
static bool has_own_kinds(const builder *b) { return !b->chip->has_shared && !is_per_hart(b); }

static void add_types(builder *b) {
    b->types[TL_SMPM_UNIT_HART] = add_type(b, TL_SMPM_UNIT_HART, "");
    if (is_per_hart(b)) {
        add_shared_types(b, TL_SMPM_UNIT_L2);
        add_shared_types(b, TL_SMPM_UNIT_MEM);
    } else {
        b->types[TL_SMPM_UNIT_L2] = add_type(b, TL_SMPM_UNIT_L2, "");
        b->types[TL_SMPM_UNIT_MEM] = add_type(b, TL_SMPM_UNIT_MEM, "");
    }
    for (tl_smpm_unit_kind kind = TL_SMPM_UNIT_NOC; kind < TL_SMPM_UNIT_ROOT; kind++)
        if (has_own_kinds(b))
            b->types[kind] = add_type(b, kind, "");
    for (tl_smpm_unit_kind kind = TL_SMPM_UNIT_ROOT; kind < TL_SMPM_N_UNIT_KINDS; kind++)
        if (b->chip->has_shared)
            add_shared_types(b, kind);
}

// The last CCU of a partition if it has room, else a new one.
static tl_status open_ccu(builder *b, uint8_t partition, uint8_t *ret_ccu) {
    tl_smpm_layout *l = b->layout;
    uint32_t id = 0;
    for (uint32_t i = 0; i < l->n_ccus; i++) {
        if (l->ccus[i].partition != partition)
            continue;
        id++;
        if (l->ccus[i].n_ulcs < b->config->ccu_ulcs) {
            *ret_ccu = (uint8_t)i;
            return TL_OK;
        }
    }
    if (l->n_ccus == TL_SMPM_MAX_CCUS)
        return tl_fail(b->err, TL_EINVAL,
                       "smpm.ccu_ulcs = %u: the chip needs more than %d collection units; set it to %d, or lower smpm.filters",
                       b->config->ccu_ulcs, TL_SMPM_MAX_CCUS, TL_SMPM_MAX_CCU_ULCS);
    l->ccus[l->n_ccus] = (tl_smpm_ccu){.partition = partition, .id = (uint8_t)id};
    *ret_ccu = (uint8_t)l->n_ccus++;
    return TL_OK;
}

static tl_status add_ulc(builder *b, uint16_t unit, uint8_t type, uint8_t partition, tl_smpm_filter filter, tl_smpm_route route) {
    tl_smpm_layout *l = b->layout;
    uint8_t number = 0;
    tl_status status = open_ccu(b, partition, &number);
    if (status != TL_OK)
        return status;
    if (l->n_ulcs == TL_SMPM_MAX_ULCS)
        return tl_fail(b->err, TL_EINVAL, "smpm.filters = %u: the chip needs more than %d counter blocks; set it lower", b->config->filters,
                       TL_SMPM_MAX_ULCS);
    tl_smpm_ccu *ccu = &l->ccus[number];
    l->ulcs[l->n_ulcs] = (tl_smpm_ulc){
        .unit = unit, .type = type, .partition = partition, .ccu = number, .line = ccu->n_ulcs, .filter = filter, .route = route};
    ccu->ulcs[ccu->n_ulcs++] = (uint16_t)l->n_ulcs++;
    return TL_OK;
}

static tl_status add_unit(builder *b, tl_smpm_unit_kind kind, uint8_t chip_partition, uint32_t instance, uint16_t *ret_unit) {
    tl_smpm_layout *l = b->layout;
    if (l->n_units == TL_SMPM_MAX_UNITS)
        return tl_fail(b->err, TL_EINVAL, "a chip of more than %d units cannot be monitored; set smpm.profile = none, or build it smaller",
                       TL_SMPM_MAX_UNITS);
    tl_smpm_unit *unit = &l->units[l->n_units];
    *unit = (tl_smpm_unit){.type = b->types[kind], .chip_partition = chip_partition, .instance = (uint16_t)instance};
    const char *name = tl_smpm_unit_names[kind], *dot = kind == TL_SMPM_UNIT_L2 ? "." : "";
    char number[12] = "";
    if (kind == TL_SMPM_UNIT_HART || kind == TL_SMPM_UNIT_L2 || kind == TL_SMPM_UNIT_MEM)
        snprintf(number, sizeof number, "%s%u", dot, instance);
    if (chip_partition != TL_SMPM_SHARED && b->chip->n_partitions > 1)
        snprintf(unit->name, sizeof unit->name, "p%u.%s%s", chip_partition, name, number);
    else
        snprintf(unit->name, sizeof unit->name, "%s%s", name, number);
    *ret_unit = (uint16_t)l->n_units++;
    return TL_OK;
}

// A unit of one partition of the layout.
static tl_status add_own(builder *b, tl_smpm_unit_kind kind, uint32_t instance, uint8_t chip_partition, uint8_t partition) {
    const tl_smpm_filter all = {.kind = TL_SMPM_FILTER_ALL, .vm = TL_SMPM_ANY, .ctx = TL_SMPM_ANY, .engine = TL_SMPM_ANY};
    const tl_smpm_route route = {.target = TL_SMPM_TO_CURRENT, .channel = b->layout->partitions[partition].channel, .to_d = true};
    uint16_t unit = 0;
    tl_status status = add_unit(b, kind, chip_partition, instance, &unit);
    return status == TL_OK ? add_ulc(b, unit, b->types[kind], partition, all, route) : status;
}

// A shared unit: filters, what they leave, the traffic of switches, and all of it.
static tl_status add_shared(builder *b, tl_smpm_unit_kind kind, uint32_t instance, uint8_t chip_partition) {
    const tl_smpm_config *config = b->config;
    const uint8_t fixed = tl_smpm_is_on(config->fixed_routing) ? TL_SMPM_TO_FIXED : TL_SMPM_TO_UNASSIGNED;
    tl_smpm_filter filter = {.kind = TL_SMPM_FILTER_FREE, .vm = TL_SMPM_ANY, .ctx = TL_SMPM_ANY, .engine = TL_SMPM_ANY};
    uint16_t unit = 0;
    tl_status status = add_unit(b, kind, chip_partition, instance, &unit);
    for (uint32_t i = 0; i < config->filters && status == TL_OK; i++)
        status = add_ulc(b, unit, b->types[kind], TL_SMPM_SHARED, filter, (tl_smpm_route){.target = fixed, .to_d = true});
    filter.kind = TL_SMPM_FILTER_REST;
    if (status == TL_OK)
        status = add_ulc(b, unit, b->types[kind], TL_SMPM_SHARED, filter, (tl_smpm_route){.target = TL_SMPM_TO_UNASSIGNED, .to_d = true});
    filter.kind = TL_SMPM_FILTER_MATCH;
    filter.ctx = TL_SMPM_CTX_SWITCH;
    if (status == TL_OK && tl_smpm_is_on(config->count_switch))
        status = add_ulc(b, unit, b->types[kind], TL_SMPM_SHARED, filter, (tl_smpm_route){.target = TL_SMPM_TO_SWITCH, .to_d = true});
    filter = (tl_smpm_filter){.kind = TL_SMPM_FILTER_ALL, .vm = TL_SMPM_ANY, .ctx = TL_SMPM_ANY, .engine = TL_SMPM_ANY};
    if (status == TL_OK)
        status =
            add_ulc(b, unit, b->device_types[kind], TL_SMPM_SHARED, filter, (tl_smpm_route){.target = TL_SMPM_TO_UNASSIGNED, .to_d = true});
    return status;
}

// With a channel for each hart, units that several harts use are shared ones.
static tl_status add_instances(builder *b, tl_smpm_unit_kind kind, uint32_t n, uint8_t chip_partition) {
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < n && status == TL_OK; i++)
        status = is_per_hart(b) ? add_shared(b, kind, i, chip_partition) : add_own(b, kind, i, chip_partition, chip_partition);
    return status;
}

static tl_status add_chip_partition(builder *b, uint8_t p) {
    const tl_smpm_chip *chip = b->chip;
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < chip->n_harts && status == TL_OK; i++)
        status = add_own(b, TL_SMPM_UNIT_HART, i, p, is_per_hart(b) ? (uint8_t)(p * chip->n_harts + i) : p);
    if (status == TL_OK)
        status = add_instances(b, TL_SMPM_UNIT_L2, chip->n_slices, p);
    if (status == TL_OK)
        status = add_instances(b, TL_SMPM_UNIT_MEM, chip->n_mem_channels, p);
    for (tl_smpm_unit_kind kind = TL_SMPM_UNIT_NOC; kind < TL_SMPM_UNIT_ROOT && status == TL_OK; kind++)
        if (has_own_kinds(b))
            status = add_own(b, kind, 0, p, p);
    return status;
}

static void add_partitions(builder *b) {
    const tl_smpm_chip *chip = b->chip;
    tl_smpm_layout *l = b->layout;
    l->n_partitions = chip->n_partitions * (is_per_hart(b) ? chip->n_harts : 1);
    for (uint32_t i = 0; i < l->n_partitions; i++) {
        const uint32_t n = is_per_hart(b) ? chip->n_harts : 1;
        l->partitions[i] = (tl_smpm_partition){.channel = chip->channel_of[i] ? chip->channel_of[i] : (uint8_t)(i + 1),
                                               .chip_partition = (uint8_t)(i / n),
                                               .first_hart = (uint8_t)(i % n),
                                               .n_harts = (uint8_t)(is_per_hart(b) ? 1 : chip->n_harts)};
    }
}

static bool is_same_filter(const tl_smpm_filter *a, const tl_smpm_filter *b) {
    return a->kind == b->kind && a->vm == b->vm && a->ctx == b->ctx && a->engine == b->engine;
}

static bool is_same_route(const tl_smpm_route *a, const tl_smpm_route *b) {
    return a->target == b->target && a->channel == b->channel && a->to_d == b->to_d;
}

// Units of one type follow each other. Up to `fanin` of them share rows, unless they have filters.
static void assign_rows(const tl_smpm_config *config, tl_smpm_layout *l, tl_smpm_ccu *ccu) {
    const uint32_t n_ctr_rows = tl_smpm_ctr_rows(config), n_residue_rows = tl_smpm_residue_rows(config);
    uint32_t n_groups = 0, n_in_group = 0;
    for (uint32_t i = 0; i < ccu->n_ulcs; i++) {
        tl_smpm_ulc *ulc = &l->ulcs[ccu->ulcs[i]];
        const tl_smpm_ulc *before = i ? &l->ulcs[ccu->ulcs[i - 1]] : NULL;
        if (before && before->type == ulc->type && ccu->partition != TL_SMPM_SHARED && n_in_group < config->fanin) {
            n_in_group++;
        } else {
            n_groups++;
            n_in_group = 1;
        }
        ulc->first_row = (uint16_t)((n_groups - 1) * n_ctr_rows);
        // Residue rows begin at the end of the counters.
        ulc->first_residue_row = (uint16_t)((n_groups - 1) * n_residue_rows);
    }
    for (uint32_t i = 0; i < ccu->n_ulcs; i++) {
        tl_smpm_ulc *ulc = &l->ulcs[ccu->ulcs[i]];
        ulc->first_residue_row = (uint16_t)(ulc->first_residue_row + n_groups * n_ctr_rows);
    }
    ccu->n_rows = (uint16_t)(n_groups * (n_ctr_rows + n_residue_rows));
}

static tl_status check_chip(const tl_smpm_config *config, const tl_smpm_chip *chip, tl_error *err) {
    const uint32_t n = chip->n_partitions * (config->channels == TL_SMPM_PER_HART ? chip->n_harts : 1);
    if (chip->n_partitions == 0 || chip->n_harts == 0)
        return tl_fail(err, TL_EINVAL, "a chip without partitions or harts has nothing to monitor; set smpm.profile = none");
    if (n > TL_SMPM_MAX_PARTITIONS)
        return tl_fail(err, TL_EINVAL, "smpm.channels = %s: the chip would need %u channels; at most %d are there%s",
                       config->channels == TL_SMPM_PER_HART ? "per_hart" : "per_partition", n, TL_SMPM_MAX_PARTITIONS,
                       config->channels == TL_SMPM_PER_HART ? ", set it to per_partition" : "");
    return TL_OK;
}

tl_status tl_smpm_layout_new(const tl_smpm_config *config, const tl_smpm_chip *chip, tl_smpm_layout *ret_layout, tl_error *err) {
    builder b = {.config = config, .chip = chip, .layout = ret_layout, .err = err};
    tl_status status = check_chip(config, chip, err);
    if (status != TL_OK)
        return status;
    memset(ret_layout, 0, sizeof *ret_layout);
    add_types(&b);
    add_partitions(&b);
    for (uint32_t p = 0; p < chip->n_partitions && status == TL_OK; p++)
        status = add_chip_partition(&b, (uint8_t)p);
    for (tl_smpm_unit_kind kind = TL_SMPM_UNIT_ROOT; kind < TL_SMPM_N_UNIT_KINDS && status == TL_OK; kind++)
        if (chip->has_shared)
            status = add_shared(&b, kind, 0, TL_SMPM_SHARED);
    for (uint32_t i = 0; i < ret_layout->n_ccus && status == TL_OK; i++)
        assign_rows(config, ret_layout, &ret_layout->ccus[i]);
    return status;
}

// ---- bounds

uint32_t tl_smpm_fed_lanes(const tl_smpm_config *config, const tl_smpm_unit_type *type, bool is_residue, uint32_t first) {
    const uint32_t n = is_residue ? (tl_smpm_exports(config) ? config->mb_inputs : 0) : config->ulc_ctrs;
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < TL_SMPM_REC_CTRS && first + i < n; i++)
        lanes |= (uint32_t)(is_residue ? first + i < type->n_multi : type->ctrs[first + i].feed != TL_SMPM_FEED_NONE) << i;
    return lanes;
}

uint32_t tl_smpm_n_fed(const tl_smpm_config *config, const tl_smpm_layout *l) {
    uint32_t n = 0;
    for (uint32_t type = 0; type < l->n_types; type++)
        for (uint32_t first = 0; first < TL_SMPM_MAX_CTRS; first += TL_SMPM_REC_CTRS)
            n += (uint32_t)__builtin_popcount(tl_smpm_fed_lanes(config, &l->types[type], false, first)) +
                 (uint32_t)__builtin_popcount(tl_smpm_fed_lanes(config, &l->types[type], true, first));
    return n ? n : 1;
}

// Fed lanes of a row of a ULC, in the order of its counters' rows and its residues' rows.
static uint32_t lanes_of(const tl_smpm_config *config, const tl_smpm_layout *l, uint32_t ulc, uint32_t row) {
    const bool is_residue = row >= tl_smpm_ctr_rows(config);
    return tl_smpm_fed_lanes(config, &l->types[l->ulcs[ulc].type], is_residue,
                             TL_SMPM_REC_CTRS * (is_residue ? row - tl_smpm_ctr_rows(config) : row));
}

// Rows that drains of a partition send.
static uint32_t rows_of(const tl_smpm_config *config, const tl_smpm_layout *l, uint32_t partition) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_ulcs; i++) {
        const tl_smpm_ulc *ulc = &l->ulcs[i];
        bool is_first = ulc->partition == partition; // of those that share its rows
        for (uint32_t line = 0; is_first && line < ulc->line; line++)
            is_first = l->ulcs[l->ccus[ulc->ccu].ulcs[line]].first_row != ulc->first_row;
        for (uint32_t row = 0; is_first && row < tl_smpm_ctr_rows(config) + tl_smpm_residue_rows(config); row++)
            n += lanes_of(config, l, i, row) != 0;
    }
    return n;
}

// How long one VM's channel is busy with a drain of the shared units, if all that can go to one VM
// goes to that VM, past its accumulators.
static uint64_t fixed_of(const tl_smpm_config *config, const tl_smpm_layout *l) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < l->n_ulcs; i++)
        for (uint32_t row = 0; l->ulcs[i].route.target == TL_SMPM_TO_FIXED && row < tl_smpm_ctr_rows(config) + tl_smpm_residue_rows(config);
             row++) {
            const uint32_t n = (uint32_t)__builtin_popcount(lanes_of(config, l, i, row));
            // The channel serves two sources in turn.
            sum += n ? ((uint64_t)n * ADDS_OF_VM + 1) * (l->n_partitions + 2) + 2 : 0;
        }
    return sum;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

tl_smpm_bounds tl_smpm_layout_bounds(const tl_smpm_config *config, const tl_smpm_layout *l) {
    const uint64_t n_shared = rows_of(config, l, TL_SMPM_SHARED), fixed = fixed_of(config, l);
    const uint64_t sources_0 = l->n_partitions + (n_shared > 0), sources_vm = 1 + (fixed > 0);
    tl_smpm_bounds bounds = {.n_metrics = tl_smpm_n_metrics(config, l->n_types), .n_slots = l->n_partitions + 2};
    const uint64_t slots = bounds.n_slots, k = tl_smpm_n_fed(config, l);
    bounds.commit_vm = (ADDS_OF_VM * k + 1) * slots + config->mem_cycles;
    bounds.commit_0 = (PARTS_OF_VM0 * k + 1) * slots + config->mem_cycles;
    bounds.fixed = fixed;
    for (uint32_t i = 0; i < l->n_ccus; i++) {
        const bool is_shared = l->ccus[i].partition == TL_SMPM_SHARED;
        const uint64_t rows = rows_of(config, l, l->ccus[i].partition), waiting = is_shared ? rows : config->rcb_depth;
        const uint64_t at_0 = (waiting + rows) * sources_0 + bounds.commit_0;
        const uint64_t at_vm = is_shared ? 2 * bounds.fixed + bounds.commit_vm
                                         : (waiting + rows) * sources_vm + bounds.commit_vm + MAX_SHARED_DRAINS * bounds.fixed;
        bounds.drain[i] = config->noc_cycles + larger(at_0, at_vm);
        bounds.drain_max = larger(bounds.drain_max, bounds.drain[i]);
        if (!is_shared) // a frame in flight and the final one, then the drains of trigger and flush
            bounds.flush = larger(bounds.flush, 2 * (uint64_t)tl_smpm_frame_cycles(config, true) + 2 * bounds.drain[i]);
    }
    if (n_shared > 0)
        bounds.shared_service =
            SHARED_WAITS * (n_shared + 1) + config->noc_cycles +
            larger(MAX_SHARED_DRAINS * n_shared * sources_0 + 2 * bounds.commit_0, MAX_SHARED_DRAINS * bounds.fixed + 2 * bounds.commit_vm);
    return bounds;
}

// ---- rules

// Most ULCs that feed one counter of a CCU.
static uint32_t fanin_of(const tl_smpm_layout *l, const tl_smpm_ccu *ccu) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < ccu->n_ulcs; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < ccu->n_ulcs; k++)
            n += l->ulcs[ccu->ulcs[k]].first_row == l->ulcs[ccu->ulcs[i]].first_row;
        most = n > most ? n : most;
    }
    return most;
}

static tl_status check_wiring(const tl_smpm_config *config, const tl_smpm_layout *l, uint32_t number, tl_error *err) {
    const tl_smpm_ccu *ccu = &l->ccus[number];
    if (ccu->n_ulcs > config->ccu_ulcs)
        return REFUSE(ccu_ulcs, "collection unit %u serves %u units; set it to at least that", number, ccu->n_ulcs);
    if (ccu->n_rows > TL_SMPM_MAX_ROWS)
        return tl_fail(err, TL_EINVAL, "collection unit %u has %u rows; a record can name %d, so lower smpm.ccu_ulcs", number, ccu->n_rows,
                       TL_SMPM_MAX_ROWS);
    for (uint32_t i = 0; i < ccu->n_ulcs; i++) {
        const tl_smpm_ulc *ulc = &l->ulcs[ccu->ulcs[i]];
        if (ulc->partition != ccu->partition)
            return tl_fail(err, TL_EINVAL,
                           "counter block %u belongs to another partition than its collection unit %u; move it to one of its own",
                           ccu->ulcs[i], number);
        if (ulc->partition != TL_SMPM_SHARED &&
            (ulc->route.target != TL_SMPM_TO_CURRENT || ulc->route.channel != l->partitions[ulc->partition].channel))
            return tl_fail(err, TL_EINVAL,
                           "counter block %u is routed to another channel than that of its partition; route it to channel %u", ccu->ulcs[i],
                           l->partitions[ulc->partition].channel);
        for (uint32_t k = 0; k < i; k++) { // rows are one's own, or shared by what is routed alike
            const tl_smpm_ulc *other = &l->ulcs[ccu->ulcs[k]];
            if (other->first_row == ulc->first_row && (other->type != ulc->type || !is_same_route(&other->route, &ulc->route)))
                return tl_fail(err, TL_EINVAL, "counter blocks %u and %u share rows and differ in type or route; give each rows of its own",
                               ccu->ulcs[k], ccu->ulcs[i]);
        }
    }
    return TL_OK;
}

static tl_status check_filters(const tl_smpm_layout *l, tl_error *err) {
    for (uint32_t i = 0; i < l->n_ulcs; i++)
        for (uint32_t k = 0; k < i; k++) {
            const tl_smpm_ulc *a = &l->ulcs[i], *b = &l->ulcs[k];
            if (a->unit == b->unit && a->type == b->type && a->filter.kind != TL_SMPM_FILTER_FREE && is_same_filter(&a->filter, &b->filter))
                return tl_fail(err, TL_EINVAL,
                               "counter blocks %u and %u of unit %s have the same filter and would count events twice; free one", k, i,
                               l->units[a->unit].name);
        }
    return TL_OK;
}

static tl_status check_channels(const tl_smpm_layout *l, tl_error *err) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < l->n_partitions; i++) {
        const uint32_t channel = l->partitions[i].channel;
        if (channel == 0 || channel > l->n_partitions)
            return tl_fail(err, TL_EINVAL, "partition %u has channel %u; give it one of 1 to %u", i, channel, l->n_partitions);
        if (seen >> channel & 1)
            return tl_fail(err, TL_EINVAL, "channel %u serves two partitions; give partition %u one of its own", channel, i);
        seen |= 1u << channel;
    }
    return TL_OK;
}

// A counter of the CCU must not overflow between two swaps of its banks.
static tl_status check_epochs(const tl_smpm_config *config, const tl_smpm_layout *l, const tl_smpm_bounds *bounds, tl_error *err) {
    for (uint32_t i = 0; i < l->n_ccus; i++) {
        const uint64_t fanin = fanin_of(l, &l->ccus[i]), most = tl_smpm_ccu_max(config);
        // These may arrive after the trigger.
        const uint64_t rest = fanin * (config->ulc_period + bounds->drain[i]);
        if (rest + fanin * config->tb_period > most)
            return REFUSE(tb_period, "a counter of %u bits that %u unit%s feed%s overflows; set it to at most %llu, or raise smpm.ccu_bits",
                          config->ccu_bits, (unsigned)fanin, fanin == 1 ? "" : "s", fanin == 1 ? "s" : "",
                          (unsigned long long)(rest < most ? (most - rest) / fanin : 0));
        if (rest + config->ccu_thr > most)
            return REFUSE(ccu_thr, "a counter of %u bits overflows before it is sent; set it to at most %llu", config->ccu_bits,
                          (unsigned long long)(rest < most ? most - rest : 0));
    }
    return TL_OK;
}

static tl_status check_times(const tl_smpm_config *config, const tl_smpm_layout *l, const tl_smpm_bounds *bounds, tl_error *err) {
    const uint32_t n_shared = rows_of(config, l, TL_SMPM_SHARED);
    const bool is_tdm = config->arb == TL_SMPM_TDM;
    const uint64_t wheel = n_shared == 0 ? 0 : (is_tdm ? (uint64_t)config->shared_slot * l->n_partitions : 0) + bounds->shared_service;
    if (is_tdm && config->rcb_shared_depth < 2 * n_shared)
        return REFUSE(rcb_shared_depth, "two drains of the shared units take %u records; set it to at least that", 2 * n_shared);
    if (is_tdm && n_shared > 0 && config->shared_slot < bounds->shared_service)
        return REFUSE(shared_slot, "a trigger and a flush of the shared units take up to %llu cycles; set it to at least that, or to 0",
                      (unsigned long long)bounds->shared_service);
    if (is_tdm && n_shared > 0 && config->tb_period < 2 * n_shared + 3)
        return REFUSE(tb_period, "two drains of the shared units take %u cycles; set it to at least that", 2 * n_shared + 3);
    if (config->tb_timeout != 0 && config->tb_timeout < bounds->flush + wheel)
        return REFUSE(tb_timeout, "a flush takes up to %llu cycles; set it to at least that, or to 0",
                      (unsigned long long)(bounds->flush + wheel));
    return TL_OK;
}

tl_status tl_smpm_layout_resolve(tl_smpm_config *config, const tl_smpm_layout *l, tl_error *err) {
    const tl_smpm_bounds bounds = tl_smpm_layout_bounds(config, l);
    if (bounds.n_metrics > TL_SMPM_LATCH_VALUES)
        return REFUSE(ulc_ctrs, "%u types of units have %u values, and a latch holds %d; set it to at most %u, or lower smpm.mb_inputs",
                      l->n_types, bounds.n_metrics, TL_SMPM_LATCH_VALUES,
                      TL_SMPM_LATCH_VALUES / l->n_types - (tl_smpm_exports(config) ? config->mb_inputs : 0));
    if (config->shared_slot == 0 && bounds.shared_service <= UINT32_MAX)
        config->shared_slot = (uint32_t)bounds.shared_service;
    tl_status status = check_channels(l, err);
    for (uint32_t i = 0; i < l->n_ccus && status == TL_OK; i++)
        status = check_wiring(config, l, i, err);
    if (status == TL_OK)
        status = check_filters(l, err);
    if (status == TL_OK)
        status = check_epochs(config, l, &bounds, err);
    return status == TL_OK ? check_times(config, l, &bounds, err) : status;
}
