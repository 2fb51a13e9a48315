// SPDX-License-Identifier: MIT
// Storage and activity of the hierarchy and of six other ways to count: cost.h has the rules.
#include "pmu/smpm/cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "pmu/smpm/smpm.h"

enum {
    REC_BITS = TL_SMPM_REC_HEADER_BITS + TL_SMPM_REC_CTRS * TL_SMPM_REC_VALUE_BITS,
    FLAT_BITS = 64,
    FLAT48_BITS = 48,
    CLASS_BITS = 44,
    N_CLASSES = 2,
    HYB_LOW_BITS = 12,
    HYB_HIGH_BITS = FLAT_BITS - HYB_LOW_BITS,
    NEAR_LENGTH = 1,
    FAR_LENGTH = 4,
    OWN_HOPS = 1,
    DEVICE_HOPS = 2,
    HEADER_WORDS = 4, // of a block that a commit writes: gen twice, t_commit, t_active
    N_VIEWS = 3,      // device, VM, context
    TB_REGISTERS = 8, // of 32 bits
};

const char *const tl_smpm_way_names[TL_SMPM_N_WAYS] = {"SMPM", "FLAT64", "FLAT64-SR", "FLAT48", "CLASS44", "HYB12", "POLL"};
const char *const tl_smpm_way_meanings[TL_SMPM_N_WAYS] = {
    "The hierarchy: few bits in units, more in collection units, 64 in channels.",
    "Counters of 64 bits in units with a snapshot register, sent and added by hardware.",
    "Counters of 64 bits in units that every switch saves and restores.",
    "Counters of 48 bits in units with a snapshot register, sent and added by hardware.",
    "Counters of 44 bits for half of the events at a time, read by software; the other half is not counted.",
    "Counters of 12 bits in units, continued in a memory array, sent and added by hardware.",
    "Counters of 64 bits in units that software reads in each period.",
};

// ---- storage

static uint64_t shadow_bits(const tl_smpm_config *config) {
    return config->snap_mode == TL_SMPM_ATOMIC ? config->ulc_ctrs * config->ulc_bits : config->ulc_bits;
}

static void add_ulcs(const tl_smpm_config *config, uint64_t n, tl_smpm_storage *s) {
    const uint64_t residues = (uint64_t)config->mb_inputs * tl_smpm_scale_log2(config), values = config->ulc_ctrs * config->ulc_bits;
    const uint64_t exported = tl_smpm_exports(config) ? residues : 0, flags = tl_smpm_is_on(config->frame_flags) ? 2 : 0;
    s->ulc_ctrs = n * values;
    s->ulc_shadow = n * shadow_bits(config);
    s->ulc_ovf = n * config->ulc_ctrs;
    s->ulc_ovf_shadow = n * (config->snap_mode == TL_SMPM_ATOMIC ? config->ulc_ctrs : 1);
    s->ulc_wcnt = n * config->ulc_bits;
    s->ulc_residues = n * residues;
    // enable, final request; position in the frame; residues and flags to be shifted; parity
    s->ulc_control = n * (2 + tl_smpm_bits_for(tl_smpm_frame_cycles(config, true) + 1) + exported + flags +
                          (tl_smpm_is_on(config->frame_parity) ? 1 : 0));
    s->frame_values = n * values;
    s->frame_rest = n * (exported + flags);
    s->serial_wires = n * (config->ulc_lanes + 1);
}

static void add_ccu(const tl_smpm_config *config, uint64_t n_ulcs, uint64_t n_ctr_rows, uint64_t n_residue_rows, tl_smpm_storage *s) {
    const uint64_t row_bits = (uint64_t)TL_SMPM_REC_CTRS * config->ccu_bits * TL_SMPM_BANKS;
    s->ccu_rows += n_ctr_rows * row_bits;
    s->ccu_residue_rows += n_residue_rows * row_bits;
    // of each line: position, final seen, mask; of each row and bank: OVF; sequence number, flush
    // id, row of the drain; pending triggers, bank, drain runs, enable; lossy of each bank
    s->ccu_control += n_ulcs * (tl_smpm_bits_for(tl_smpm_frame_cycles(config, true) + 1) + 2) +
                      (n_ctr_rows + n_residue_rows) * TL_SMPM_BANKS + 8 + 8 + 9 + 3 + 1 + 1 + 1 + TL_SMPM_BANKS;
    s->enable_wires += 1;
    s->record_wires += REC_BITS + 2; // valid, credit
}

static void add_sums(tl_smpm_storage *s) {
    s->ff_bits = s->ulc_ctrs + s->ulc_shadow + s->ulc_ovf + s->ulc_ovf_shadow + s->ulc_wcnt + s->ulc_residues + s->ulc_control +
                 s->ccu_control + s->tb;
    s->sram_bits = s->ccu_rows + s->ccu_residue_rows + s->frame_values + s->frame_rest + s->fifos + s->accumulators;
    s->mem_bits = s->blocks;
    s->wires = s->serial_wires + s->enable_wires + s->record_wires;
}

tl_smpm_storage tl_smpm_storage_of_group(const tl_smpm_config *config) {
    tl_smpm_storage s = {0};
    add_ulcs(config, config->ccu_ulcs, &s);
    add_ccu(config, config->ccu_ulcs, (uint64_t)config->ccu_ulcs * tl_smpm_ctr_rows(config),
            (uint64_t)config->ccu_ulcs * tl_smpm_residue_rows(config), &s);
    add_sums(&s);
    return s;
}

// Bits of a block: header, so many parts of K values, in SAFE the bitmap of what is unavailable.
static uint64_t block_bits(uint64_t n_metrics, uint64_t n_parts, bool has_bitmap) {
    return TL_SMPM_BLOCK_HEADER_BYTES * 8 + n_parts * n_metrics * 64 + (has_bitmap ? (n_metrics + 63) / 64 * 64 : 0);
}

tl_smpm_storage tl_smpm_storage_of(const tl_smpm_config *config, const tl_smpm_layout *layout, uint32_t n_blocks) {
    const uint64_t n = layout->n_partitions, k = tl_smpm_n_metrics(config, layout->n_types);
    const bool is_safe = config->profile == TL_SMPM_SAFE;
    bool has_shared = false;
    tl_smpm_storage s = {0};
    add_ulcs(config, layout->n_ulcs, &s);
    for (uint32_t i = 0; i < layout->n_ccus; i++) {
        const tl_smpm_ccu *ccu = &layout->ccus[i];
        const uint64_t per_group = tl_smpm_ctr_rows(config) + tl_smpm_residue_rows(config), groups = ccu->n_rows / per_group;
        add_ccu(config, ccu->n_ulcs, groups * tl_smpm_ctr_rows(config), groups * tl_smpm_residue_rows(config), &s);
        has_shared |= ccu->partition == TL_SMPM_SHARED;
    }
    const uint64_t shared_depth = has_shared ? config->rcb_shared_depth : 0;
    s.tb = (n + has_shared) * TB_REGISTERS * 32;
    s.fifos = (n * (config->rcb_depth + shared_depth) + 2 * (n * config->rcb_depth + shared_depth)) * REC_BITS;
    s.accumulators = (n + 3 + 1) * k * config->rc_bits; // channel 0 has three parts
    s.blocks = is_safe ? block_bits(k, 5, true) + block_bits(k, 1, true) + n_blocks * block_bits(k, 3, true)
                       : (2 + (uint64_t)n_blocks) * block_bits(k, 1, false);
    add_sums(&s);
    return s;
}

tl_smpm_storage tl_smpm_storage_of_size(const tl_smpm_config *config, uint32_t n_units) {
    const uint64_t k = tl_smpm_n_metrics(config, 1);
    tl_smpm_storage s = {.tb = TB_REGISTERS * 32};
    add_ulcs(config, n_units, &s);
    for (uint32_t left = n_units, n; left > 0; left -= n) {
        n = left < config->ccu_ulcs ? left : config->ccu_ulcs;
        add_ccu(config, n, (uint64_t)n * tl_smpm_ctr_rows(config), (uint64_t)n * tl_smpm_residue_rows(config), &s);
    }
    s.fifos = 3 * (uint64_t)config->rcb_depth * REC_BITS; // own channel, 0, D
    s.accumulators = (1 + 3 + 1) * k * config->rc_bits;
    add_sums(&s);
    return s;
}

void tl_smpm_storage_of_way(tl_smpm_way way, uint64_t n_ctrs, uint64_t *ret_ff_bits, uint64_t *ret_sram_bits) {
    uint64_t ff_bits = 0, sram_bits = 0;
    switch (way) {
    // The second register is the snapshot.
    case TL_SMPM_WAY_FLAT64: ff_bits = 2 * FLAT_BITS * n_ctrs; break;
    case TL_SMPM_WAY_FLAT48: ff_bits = 2 * FLAT48_BITS * n_ctrs; break;
    case TL_SMPM_WAY_FLAT64_SR:
    case TL_SMPM_WAY_POLL: ff_bits = FLAT_BITS * n_ctrs; break;
    case TL_SMPM_WAY_CLASS44: ff_bits = CLASS_BITS * ((n_ctrs + N_CLASSES - 1) / N_CLASSES); break;
    case TL_SMPM_WAY_HYB12:
        ff_bits = (HYB_LOW_BITS + 1) * n_ctrs; // the carry waits for the array
        sram_bits = HYB_HIGH_BITS * n_ctrs;
        break;
    case TL_SMPM_WAY_HIERARCHY:
    case TL_SMPM_N_WAYS: break;
    }
    *ret_ff_bits = ff_bits;
    *ret_sram_bits = sram_bits;
}

// ---- weights

const tl_smpm_weights tl_smpm_default_weights = {
    .clk = 0.2, .tog = 1, .wire = 2, .sram = 0.3, .noc = 2, .mem = 10, .host = 100, .is_gated = true};
const char *const tl_smpm_weight_names[TL_SMPM_N_WEIGHTS] = {"clk", "tog", "wire", "sram", "noc", "mem", "host"};

static double *weight_of(tl_smpm_weights *weights, uint32_t i) {
    double *const values[TL_SMPM_N_WEIGHTS] = {&weights->clk, &weights->tog, &weights->wire, &weights->sram,
                                               &weights->noc, &weights->mem, &weights->host};
    return values[i];
}

// A number of at most six digits and six decimals, without sign or exponent: independent of the
// locale.
static bool parse_weight(const char *text, double *ret_value) {
    double value = 0, unit = 1;
    uint32_t n_digits = 0, n_decimals = 0;
    bool has_point = false;
    for (; *text; text++) {
        if (*text == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (*text < '0' || *text > '9' || n_digits == 6 || n_decimals == 6)
            return false;
        if (has_point) {
            n_decimals++;
            unit /= 10;
            value += (*text - '0') * unit;
        } else {
            n_digits++;
            value = value * 10 + (*text - '0');
        }
    }
    *ret_value = value;
    return n_digits + n_decimals > 0;
}

static tl_status parse_line(char *line, const char *path, uint32_t number, tl_smpm_weights *weights, tl_error *err) {
    char *rest = line;
    line[strcspn(line, "#")] = '\0';
    const char *name = strtok_r(line, " \t\r", &rest), *value = strtok_r(NULL, " \t\r", &rest);
    if (!name)
        return TL_OK;
    if (!value || strtok_r(NULL, " \t\r", &rest))
        return tl_fail(err, TL_EFORMAT, "%s:%u: write a name and a value, as in 'wire 2'", path, number);
    if (strcmp(name, "gated") == 0) {
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
            return tl_fail(err, TL_EFORMAT, "%s:%u: gated is yes or no", path, number);
        weights->is_gated = value[0] == 'y';
        return TL_OK;
    }
    for (uint32_t i = 0; i < TL_SMPM_N_WEIGHTS; i++)
        if (strcmp(name, tl_smpm_weight_names[i]) == 0)
            return parse_weight(value, weight_of(weights, i))
                       ? TL_OK
                       : tl_fail(err, TL_EFORMAT, "%s:%u: %s needs a number like 2 or 0.25", path, number, name);
    return tl_fail(err, TL_EFORMAT, "%s:%u: %.40s is no weight; there are clk, tog, wire, sram, noc, mem, host and gated", path, number,
                   name);
}

tl_status tl_smpm_weights_parse(const char *text, const char *path, tl_smpm_weights *ret_weights, tl_error *err) {
    tl_smpm_weights weights = tl_smpm_default_weights;
    char line[200];
    for (uint32_t number = 1; *text; number++) {
        const size_t n = strcspn(text, "\n");
        if (n >= sizeof line)
            return tl_fail(err, TL_EFORMAT, "%s:%u: the line is longer than %zu bytes", path, number, sizeof line - 1);
        memcpy(line, text, n);
        line[n] = '\0';
        tl_status status = parse_line(line, path, number, &weights, err);
        if (status != TL_OK)
            return status;
        text += n + (text[n] == '\n');
    }
    *ret_weights = weights;
    return TL_OK;
}

double tl_smpm_energy(const tl_smpm_activity *a, const tl_smpm_weights *w) {
    return (double)(w->is_gated ? a->gated : a->clk) * w->clk + (double)a->tog * w->tog + (double)a->wire * w->wire +
           (double)a->sram * w->sram + (double)a->noc * w->noc + (double)a->mem * w->mem + (double)a->host * w->host;
}

tl_smpm_activity tl_smpm_activity_sum(const tl_smpm_activity *a, const tl_smpm_activity *b) {
    return (tl_smpm_activity){
        .clk = a->clk + b->clk,
        .gated = a->gated + b->gated,
        .tog = a->tog + b->tog,
        .wire = a->wire + b->wire,
        .sram = a->sram + b->sram,
        .noc = a->noc + b->noc,
        .mem = a->mem + b->mem,
        .host = a->host + b->host,
    };
}

tl_smpm_sensitivity tl_smpm_sensitivity_of(const tl_smpm_activity *hierarchy, const tl_smpm_activity *other,
                                           const tl_smpm_weights *weights) {
    tl_smpm_sensitivity s = {.ratio = tl_smpm_energy(hierarchy, weights) / tl_smpm_energy(other, weights)};
    for (uint32_t i = 0; i < TL_SMPM_N_WEIGHTS; i++) {
        tl_smpm_weights with = *weights;
        *weight_of(&with, i) /= 4;
        s.quarter[i] = tl_smpm_energy(hierarchy, &with) / tl_smpm_energy(other, &with);
        *weight_of(&with, i) *= 16;
        s.fourfold[i] = tl_smpm_energy(hierarchy, &with) / tl_smpm_energy(other, &with);
    }
    return s;
}

// ---- meter

static uint64_t ones(uint64_t value) { return (uint64_t)__builtin_popcountll(value); }

// Bits that change while a counter of unlimited width goes from 0 to c: the sum of c >> b.
static uint64_t changes(uint64_t c) { return 2 * c - ones(c); }
// Bits that change below bit `n_bits` while that counter goes from 0 to c.
static uint64_t changes_below(uint64_t c, uint32_t n_bits) { return changes(c) - changes(c >> n_bits); }

static uint32_t n_signals_of(const tl_smpm_meter *meter, const tl_smpm_ulc *ulc) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < meter->config->ulc_ctrs; i++)
        n += meter->layout->types[ulc->type].ctrs[i].feed != TL_SMPM_FEED_NONE;
    return n;
}

uint32_t tl_smpm_meter_n_signals(const tl_smpm_meter *meter) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < meter->layout->n_ulcs; i++)
        n += n_signals_of(meter, &meter->layout->ulcs[i]);
    return n;
}

void tl_smpm_meter_init(const tl_smpm_config *config, const tl_smpm_layout *layout, tl_smpm_meter *ret_meter) {
    memset(ret_meter, 0, sizeof *ret_meter);
    ret_meter->config = config;
    ret_meter->layout = layout;
    const uint64_t n_ctrs = tl_smpm_meter_n_signals(ret_meter);
    uint64_t sram_bits;
    ret_meter->ff_bits[TL_SMPM_WAY_HIERARCHY] = tl_smpm_storage_of(config, layout, 0).ff_bits;
    for (tl_smpm_way way = TL_SMPM_WAY_FLAT64; way < TL_SMPM_N_WAYS; way++)
        tl_smpm_storage_of_way(way, n_ctrs, &ret_meter->ff_bits[way], &sram_bits);
}

static tl_smpm_activity *activity_of(tl_smpm_meter *meter, tl_smpm_way way) {
    return meter->is_in_switch ? &meter->in_switches[way] : &meter->all[way];
}

void tl_smpm_meter_cycles(tl_smpm_meter *meter, uint64_t n_cycles) {
    meter->n_cycles += n_cycles;
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++)
        activity_of(meter, way)->clk += meter->ff_bits[way] * n_cycles;
}

static uint64_t length_of(const tl_smpm_ulc *ulc) { return ulc->partition == TL_SMPM_SHARED ? FAR_LENGTH : NEAR_LENGTH; }

// A payload as it lies in the shift register.
typedef struct payload {
    uint8_t bits[TL_SMPM_MAX_PAYLOAD_BITS];
    uint32_t n;
} payload;

static void put(payload *p, uint32_t value, uint32_t n_bits) {
    for (uint32_t b = 0; b < n_bits; b++)
        p->bits[p->n++] = value >> b & 1;
}

static void fill_payload(const tl_smpm_config *config, bool is_final, const uint16_t *values, const uint16_t *residues, payload *ret) {
    uint8_t parity = 0;
    ret->n = 0;
    for (uint32_t i = 0; i < config->ulc_ctrs; i++)
        put(ret, values[i], config->ulc_bits);
    for (uint32_t i = 0; is_final && tl_smpm_exports(config) && i < config->mb_inputs; i++)
        put(ret, residues ? residues[i] : 0, tl_smpm_scale_log2(config));
    if (tl_smpm_is_on(config->frame_flags))
        put(ret, is_final ? 2 : 0, 2); // OVF, FINAL
    for (uint32_t i = 0; i < ret->n; i++)
        parity ^= ret->bits[i];
    if (tl_smpm_is_on(config->frame_parity))
        put(ret, parity, 1);
}

// Transitions of one lane and its mark from idle to idle: START is 0, END is 1.
static uint64_t lane_transitions(const payload *p, uint32_t lane, uint32_t n_lanes) {
    uint64_t n = 0;
    uint8_t level = 0;
    for (uint32_t i = lane; i < p->n; i += n_lanes) {
        n += p->bits[i] != level;
        level = p->bits[i];
    }
    if (lane >= p->n % n_lanes && p->n % n_lanes != 0) { // padded with 0
        n += level != 0;
        level = 0;
    }
    return n + (level != 1) + 1;
}

// Changes in a register that is loaded from all zeros and shifted out with zeros behind: the border
// between cells i and i + 1 moves past i + 1 cells.
static uint64_t shift_changes(const uint8_t *bits, uint32_t n, uint32_t stride) {
    uint64_t n_changes = 0, cell = 0;
    for (uint32_t i = 0; i < n; i += stride, cell++) {
        const uint8_t next = i + stride < n ? bits[i + stride] : 0;
        n_changes += bits[i];
        n_changes += bits[i] != next ? cell + 1 : 0;
    }
    return n_changes;
}

// The register is loaded once; a counter of the position selects bit after bit.
static void select_out(const tl_smpm_config *config, const payload *p, uint8_t *captured, tl_smpm_activity *a) {
    const uint64_t n_cycles = (p->n + config->ulc_lanes - 1) / config->ulc_lanes;
    for (uint32_t i = 0; i < p->n; i++) {
        a->tog += captured[i] != p->bits[i];
        captured[i] = p->bits[i];
    }
    a->tog += 2 * n_cycles; // the position to the end and back
    a->gated += p->n + n_cycles * tl_smpm_bits_for((uint32_t)n_cycles + 1);
}

static void shift_out(const tl_smpm_config *config, const payload *p, tl_smpm_activity *a) {
    if (config->snap_mode == TL_SMPM_ROLLING) { // one counter after the other
        for (uint32_t i = 0; i < config->ulc_ctrs; i++)
            a->tog += shift_changes(p->bits + (size_t)i * config->ulc_bits, config->ulc_bits, 1);
        a->gated += (uint64_t)config->ulc_ctrs * config->ulc_bits * (config->ulc_bits + 1);
        return;
    }
    for (uint32_t lane = 0; lane < config->ulc_lanes && lane < p->n; lane++)
        a->tog += shift_changes(p->bits + lane, p->n - lane, config->ulc_lanes);
    a->gated += (uint64_t)p->n * ((p->n + config->ulc_lanes - 1) / config->ulc_lanes + 1);
}

static void meter_hierarchy(tl_smpm_meter *meter, const tl_smpm_ulc *ulc, bool is_final, const uint16_t *values, const uint16_t *residues) {
    const tl_smpm_config *config = meter->config;
    tl_smpm_activity *a = activity_of(meter, TL_SMPM_WAY_HIERARCHY);
    const uint64_t length = length_of(ulc), row_bits = (uint64_t)TL_SMPM_REC_CTRS * config->ccu_bits;
    uint64_t n_events = 0, n_nonzero = 0;
    payload p;
    for (uint32_t i = 0; i < config->ulc_ctrs; i++) {
        n_events += values[i];
        n_nonzero += values[i] != 0;
    }
    a->tog += 2 * n_events; // up to the value, then back to 0
    a->gated += (n_events + n_nonzero) * config->ulc_bits;
    if (!is_final) { // the window counter to T - 1 and back
        a->tog += 2 * ((uint64_t)config->ulc_period - 1);
        a->gated += (uint64_t)config->ulc_period * config->ulc_bits;
    }
    meter->n_events += n_events;
    // START and END are one pulse of mark and one of data.
    if (n_events == 0 && !is_final && tl_smpm_is_on(config->zero_frames)) {
        a->wire += (2 + 2 * (uint64_t)config->ulc_lanes) * length;
        return;
    }
    fill_payload(config, is_final, values, residues, &p);
    a->wire += 4 * length; // mark
    for (uint32_t lane = 0; lane < config->ulc_lanes; lane++)
        a->wire += lane_transitions(&p, lane, config->ulc_lanes) * length;
    if (meter->is_selected && config->snap_mode == TL_SMPM_ATOMIC)
        select_out(config, &p, meter->captured[ulc - meter->layout->ulcs], a);
    else
        shift_out(config, &p, a);
    a->sram += 2 * (uint64_t)p.n; // the frame is held until it is complete
    a->sram += 2 * row_bits * (tl_smpm_ctr_rows(config) + (is_final ? tl_smpm_residue_rows(config) : 0));
}

static void meter_event(tl_smpm_meter *meter, uint32_t ulc, uint32_t i, uint64_t n) {
    const uint64_t before = meter->counts[ulc][i], after = before + n, wide = changes(after) - changes(before);
    static const struct {
        tl_smpm_way way;
        uint32_t n_bits;
    } wides[] = {{TL_SMPM_WAY_FLAT64, FLAT_BITS},
                 {TL_SMPM_WAY_FLAT64_SR, FLAT_BITS},
                 {TL_SMPM_WAY_FLAT48, FLAT48_BITS},
                 {TL_SMPM_WAY_POLL, FLAT_BITS}};
    for (uint32_t k = 0; k < sizeof wides / sizeof *wides; k++) {
        activity_of(meter, wides[k].way)->tog += wide;
        activity_of(meter, wides[k].way)->gated += n * wides[k].n_bits;
    }
    tl_smpm_activity *hybrid = activity_of(meter, TL_SMPM_WAY_HYB12);
    hybrid->tog += changes_below(after, HYB_LOW_BITS) - changes_below(before, HYB_LOW_BITS);
    hybrid->gated += n * HYB_LOW_BITS;
    hybrid->sram += 2 * HYB_HIGH_BITS * ((after >> HYB_LOW_BITS) - (before >> HYB_LOW_BITS));
    if (i % N_CLASSES == meter->phases[meter->layout->ulcs[ulc].ccu]) {
        const uint64_t own = meter->class_counts[ulc][i];
        activity_of(meter, TL_SMPM_WAY_CLASS44)->tog += changes(own + n) - changes(own);
        activity_of(meter, TL_SMPM_WAY_CLASS44)->gated += n * CLASS_BITS;
        meter->class_counts[ulc][i] = own + n;
    }
    meter->counts[ulc][i] = after;
}

void tl_smpm_meter_frame(tl_smpm_meter *meter, uint32_t ulc, bool is_final, const uint16_t *values, const uint16_t *residues) {
    meter->n_frames++;
    meter_hierarchy(meter, &meter->layout->ulcs[ulc], is_final, values, residues);
    for (uint32_t i = 0; i < meter->config->ulc_ctrs; i++)
        if (values[i] != 0)
            meter_event(meter, ulc, i, values[i]);
}

void tl_smpm_meter_record(tl_smpm_meter *meter, const tl_smpm_route *route, bool has_data) {
    tl_smpm_activity *a = activity_of(meter, TL_SMPM_WAY_HIERARCHY);
    const bool is_own = route->target == TL_SMPM_TO_CURRENT || route->target == TL_SMPM_TO_FIXED;
    const uint64_t n_channels = (uint64_t)is_own + 1 + route->to_d;
    // Values of FIXED pass the accumulators by.
    const uint64_t n_sums = n_channels - (route->target == TL_SMPM_TO_FIXED);
    meter->n_records++;
    a->noc += (uint64_t)REC_BITS * ((is_own ? OWN_HOPS : 0u) + DEVICE_HOPS + (route->to_d ? DEVICE_HOPS : 0u));
    a->sram += 2 * REC_BITS * n_channels; // into the FIFO and out
    if (has_data)
        // The row is read and cleared.
        a->sram +=
            2 * (uint64_t)TL_SMPM_REC_CTRS * meter->config->ccu_bits + 2 * (uint64_t)TL_SMPM_REC_CTRS * meter->config->rc_bits * n_sums;
}

void tl_smpm_meter_commit(tl_smpm_meter *meter, uint64_t n_indices, uint64_t n_adds, uint32_t n_blocks) {
    tl_smpm_activity *a = activity_of(meter, TL_SMPM_WAY_HIERARCHY);
    meter->n_commits++;
    a->sram += 2 * n_indices * meter->config->rc_bits; // read and cleared
    tl_smpm_meter_add(meter, n_adds, n_blocks);
}

void tl_smpm_meter_add(tl_smpm_meter *meter, uint64_t n_adds, uint32_t n_blocks) {
    activity_of(meter, TL_SMPM_WAY_HIERARCHY)->mem += (n_adds + (uint64_t)n_blocks * HEADER_WORDS) * 64;
}

static void deliver_ctr(tl_smpm_meter *meter, uint32_t ccu, uint32_t ulc, uint32_t i) {
    const uint64_t c = meter->counts[ulc][i], length = length_of(&meter->layout->ulcs[ulc]);
    const uint64_t on_bus = ones(meter->bus[ccu] ^ c) * length, snapshot = ones(meter->snapshots[ulc][i] ^ c);
    tl_smpm_activity *of[TL_SMPM_N_WAYS];
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++)
        of[way] = activity_of(meter, way);
    for (tl_smpm_way way = TL_SMPM_WAY_FLAT64; way < TL_SMPM_N_WAYS; way++)
        if (way != TL_SMPM_WAY_CLASS44)
            of[way]->wire += on_bus;
    of[TL_SMPM_WAY_FLAT64]->tog += snapshot;
    of[TL_SMPM_WAY_FLAT64]->gated += FLAT_BITS;
    of[TL_SMPM_WAY_FLAT48]->tog += snapshot;
    of[TL_SMPM_WAY_FLAT48]->gated += FLAT48_BITS;
    of[TL_SMPM_WAY_FLAT64]->mem += N_VIEWS * 64;
    of[TL_SMPM_WAY_FLAT48]->mem += N_VIEWS * 64;
    of[TL_SMPM_WAY_HYB12]->mem += N_VIEWS * 64;
    of[TL_SMPM_WAY_HYB12]->sram += HYB_HIGH_BITS;
    of[TL_SMPM_WAY_POLL]->host += 8;
    if (meter->is_in_switch) {
        of[TL_SMPM_WAY_FLAT64_SR]->mem += 2 * 64;  // out and in
        of[TL_SMPM_WAY_FLAT64_SR]->wire += on_bus; // the word of the next context
        of[TL_SMPM_WAY_FLAT64_SR]->gated += FLAT_BITS;
    } else {
        of[TL_SMPM_WAY_FLAT64_SR]->host += 8;
    }
    if (i % N_CLASSES == meter->phases[ccu]) {
        of[TL_SMPM_WAY_CLASS44]->wire += ones(meter->class_bus[ccu] ^ meter->class_counts[ulc][i]) * length;
        of[TL_SMPM_WAY_CLASS44]->host += 8;
        meter->class_bus[ccu] = meter->class_counts[ulc][i];
    }
    meter->bus[ccu] = meter->snapshots[ulc][i] = c;
}

static void deliver_ulc(tl_smpm_meter *meter, uint32_t ccu, uint32_t ulc) {
    const tl_smpm_unit_type *type = &meter->layout->types[meter->layout->ulcs[ulc].type];
    for (uint32_t i = 0; i < meter->config->ulc_ctrs; i++)
        if (type->ctrs[i].feed != TL_SMPM_FEED_NONE)
            deliver_ctr(meter, ccu, ulc, i);
}

void tl_smpm_meter_deliver_fixed(tl_smpm_meter *meter, uint32_t ccu, uint32_t channel) {
    const tl_smpm_ccu *row = &meter->layout->ccus[ccu];
    for (uint32_t k = 0; k < row->n_ulcs; k++) {
        const tl_smpm_route *route = &meter->layout->ulcs[row->ulcs[k]].route;
        if (route->target == TL_SMPM_TO_FIXED && route->channel == channel)
            deliver_ulc(meter, ccu, row->ulcs[k]);
    }
}

void tl_smpm_meter_deliver(tl_smpm_meter *meter, uint32_t ccu) {
    const tl_smpm_ccu *row = &meter->layout->ccus[ccu];
    for (uint32_t k = 0; k < row->n_ulcs; k++)
        deliver_ulc(meter, ccu, row->ulcs[k]);
    meter->phases[ccu] = (meter->phases[ccu] + 1) % N_CLASSES;
}

void tl_smpm_meter_switch(tl_smpm_meter *meter, bool is_in_switch) {
    meter->n_switches += is_in_switch && !meter->is_in_switch;
    meter->is_in_switch = is_in_switch;
}

// ---- synthetic load

typedef struct rig { // of one run
    tl_smpm_layout layout;
    tl_smpm_meter meter;
    uint64_t now;
} rig;

static void make_group(const tl_smpm_config *config, const tl_smpm_load *load, tl_smpm_layout *l) {
    const uint32_t n_ctr_rows = tl_smpm_ctr_rows(config), n_residue_rows = tl_smpm_residue_rows(config);
    l->n_types = l->n_ccus = l->n_partitions = 1;
    l->n_units = l->n_ulcs = load->n_units;
    l->types[0].n_bits = (uint8_t)load->n_ctrs;
    for (uint32_t i = 0; i < load->n_ctrs; i++)
        l->types[0].ctrs[i] = (tl_smpm_ctr){.feed = TL_SMPM_FEED_BIT, .input = (uint8_t)i};
    l->partitions[0] = (tl_smpm_partition){.channel = 1, .n_harts = 1};
    l->ccus[0].n_ulcs = (uint8_t)load->n_units;
    const uint32_t n_groups = (load->n_units + config->fanin - 1) / config->fanin;
    l->ccus[0].n_rows = (uint16_t)(n_groups * (n_ctr_rows + n_residue_rows));
    for (uint32_t i = 0; i < load->n_units; i++) {
        l->ccus[0].ulcs[i] = (uint16_t)i;
        l->ulcs[i] = (tl_smpm_ulc){.unit = (uint16_t)i,
                                   .line = (uint8_t)i,
                                   .first_row = (uint16_t)(i / config->fanin * n_ctr_rows),
                                   .first_residue_row = (uint16_t)(n_groups * n_ctr_rows + i / config->fanin * n_residue_rows),
                                   .filter = {.kind = TL_SMPM_FILTER_ALL},
                                   .route = {.target = TL_SMPM_TO_CURRENT, .channel = 1, .to_d = true}};
    }
}

// Events of one counter before a cycle: evenly spread, each counter with a phase of its own.
static uint64_t events_before(const tl_smpm_load *load, uint32_t ulc, uint32_t ctr, uint64_t cycle) {
    return (cycle * load->events_per_million + (ulc * TL_SMPM_MAX_CTRS + ctr) * UINT64_C(7919) % 1000000) / 1000000;
}

static void send_frames(rig *r, const tl_smpm_load *load, uint64_t end, bool is_final) {
    uint16_t values[TL_SMPM_MAX_CTRS] = {0};
    for (uint32_t u = 0; u < load->n_units; u++) {
        for (uint32_t i = 0; i < load->n_ctrs; i++)
            values[i] = (uint16_t)(events_before(load, u, i, end) - events_before(load, u, i, r->now));
        tl_smpm_meter_frame(&r->meter, u, is_final, values, NULL);
    }
    tl_smpm_meter_cycles(&r->meter, end - r->now);
    r->now = end;
}

static void drain(rig *r) {
    for (uint32_t i = 0; i < r->layout.ccus[0].n_rows; i++)
        tl_smpm_meter_record(&r->meter, &r->layout.ulcs[0].route, true);
}

static void commit(rig *r) {
    const uint64_t k = tl_smpm_n_metrics(r->meter.config, r->layout.n_types);
    tl_smpm_meter_commit(&r->meter, k, 2 * k, 2);     // VM and context
    tl_smpm_meter_commit(&r->meter, 3 * k, 3 * k, 1); // channel 0 with its parts
    tl_smpm_meter_commit(&r->meter, k, k, 1);         // D
}

static void run_epoch(rig *r, const tl_smpm_load *load) {
    const uint32_t period = r->meter.config->ulc_period;
    for (uint32_t w = 0; w < r->meter.config->tb_period / period; w++)
        send_frames(r, load, r->now + period, false);
    drain(r);
    commit(r);
    tl_smpm_meter_deliver(&r->meter, 0);
}

// Final frames, the drains of trigger and flush, EMPTY, commit.
static void run_switch(rig *r, const tl_smpm_load *load) {
    tl_smpm_meter_switch(&r->meter, true);
    send_frames(r, load, r->now + r->meter.config->ulc_period / 2, true);
    drain(r);
    drain(r);
    tl_smpm_meter_record(&r->meter, &r->layout.ulcs[0].route, false);
    commit(r);
    tl_smpm_meter_deliver(&r->meter, 0);
    tl_smpm_meter_switch(&r->meter, false);
}

static tl_status check_load(const tl_smpm_config *config, const tl_smpm_load *load, tl_error *err) {
    if (load->n_units == 0 || load->n_units > config->ccu_ulcs)
        return tl_fail(err, TL_EINVAL, "a group of %u units does not fit a collection unit of %u; take 1 to %u", load->n_units,
                       config->ccu_ulcs, config->ccu_ulcs);
    if (load->n_ctrs > config->ulc_ctrs)
        return tl_fail(err, TL_EINVAL, "a unit has %u counters and not %u; take fewer signals", config->ulc_ctrs, load->n_ctrs);
    if (load->events_per_million > 1000000)
        return tl_fail(err, TL_EINVAL, "%u events in a million cycles are more than one a cycle; take at most 1000000",
                       load->events_per_million);
    return tl_smpm_config_check(config, err);
}

tl_status tl_smpm_load_run(const tl_smpm_config *config, const tl_smpm_load *load, tl_smpm_activity *ret_activity, tl_error *err) {
    tl_status status = check_load(config, load, err);
    rig *r = status == TL_OK ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return status != TL_OK ? status : tl_no_memory(err);
    make_group(config, load, &r->layout);
    tl_smpm_meter_init(config, &r->layout, &r->meter);
    r->meter.is_selected = load->is_selected;
    for (uint32_t e = 1; e <= load->n_epochs; e++) {
        run_epoch(r, load);
        if (load->switch_every != 0 && e % load->switch_every == 0)
            run_switch(r, load);
    }
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++)
        ret_activity[way] = tl_smpm_activity_sum(&r->meter.all[way], &r->meter.in_switches[way]);
    free(r);
    return TL_OK;
}

tl_status tl_smpm_curve_of(const tl_smpm_config *config, const tl_smpm_weights *weights, uint32_t switch_every, bool is_selected,
                           tl_smpm_curve *ret_curve, tl_error *err) {
    const tl_smpm_load load = {
        .n_units = config->ccu_ulcs, .n_ctrs = config->ulc_ctrs, .switch_every = switch_every, .is_selected = is_selected};
    return tl_smpm_curve_like(config, weights, &load, ret_curve, err);
}

tl_status tl_smpm_curve_like(const tl_smpm_config *config, const tl_smpm_weights *weights, const tl_smpm_load *like,
                             tl_smpm_curve *ret_curve, tl_error *err) {
    static const uint32_t rates[TL_SMPM_CURVE_POINTS] = {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1000000};
    tl_smpm_curve curve;
    for (uint32_t i = 0; i < TL_SMPM_CURVE_POINTS; i++) {
        tl_smpm_load load = *like;
        load.events_per_million = rates[i];
        load.n_epochs = 2;
        tl_smpm_activity activity[TL_SMPM_N_WAYS];
        tl_status status = tl_smpm_load_run(config, &load, activity, err);
        if (status != TL_OK)
            return status;
        const double kilocycles = (double)load.n_epochs * (config->tb_period / config->ulc_period) * config->ulc_period / 1000;
        curve.events_per_million[i] = rates[i];
        for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++)
            curve.energy[way][i] = tl_smpm_energy(&activity[way], weights) / kilocycles / load.n_units;
    }
    *ret_curve = curve;
    return TL_OK;
}

double tl_smpm_break_even(const tl_smpm_curve *curve, tl_smpm_way way) {
    const double *own = curve->energy[TL_SMPM_WAY_HIERARCHY], *other = curve->energy[way];
    for (uint32_t i = 0; i < TL_SMPM_CURVE_POINTS; i++) {
        if (own[i] > other[i])
            continue;
        if (i == 0)
            return 0;
        const double before = own[i - 1] - other[i - 1], after = other[i] - own[i];
        const double from = curve->events_per_million[i - 1], to = curve->events_per_million[i];
        return from + (to - from) * before / (before + after);
    }
    return -1;
}

// ---- ablations

static void add_ablation(tl_smpm_ablation *list, uint32_t *n, const char *name, const tl_smpm_config *config) {
    if (tl_smpm_config_check(config, NULL) == TL_OK)
        list[(*n)++] = (tl_smpm_ablation){.name = name, .config = *config};
}

uint32_t tl_smpm_ablations_of(const tl_smpm_config *config, tl_smpm_ablation *ret_ablations) {
    static const struct {
        uint32_t bits, n_lanes, n_ctrs;
        const char *name;
    } widths[] = {{4, 8, 8, "4 bits, 8 lanes, 8 counters"},
                  {5, 8, 20, "5 bits, 8 lanes, 20 counters"},
                  {6, 5, 45, "6 bits, 5 lanes"},
                  {7, 3, 45, "7 bits, 3 lanes"},
                  {8, 2, 45, "8 bits, 2 lanes"},
                  {10, 1, 45, "10 bits"},
                  {11, 1, 45, "11 bits"},
                  {12, 1, 45, "12 bits"}};
    static const struct {
        uint32_t epoch;
        const char *name;
    } epochs[] = {{16384, "trigger every 16,384"}, {262144, "trigger every 262,144"}};
    uint32_t n = 0;
    tl_smpm_config with = *config;
    add_ablation(ret_ablations, &n, "as configured", &with);
    with.snap_mode = config->snap_mode == TL_SMPM_ATOMIC ? TL_SMPM_ROLLING : TL_SMPM_ATOMIC;
    add_ablation(ret_ablations, &n, with.snap_mode == TL_SMPM_ROLLING ? "rolling snapshot" : "atomic snapshot", &with);
    with = *config;
    with.snap_mode = TL_SMPM_ATOMIC;
    add_ablation(ret_ablations, &n, "atomic snapshot, bits selected", &with);
    ret_ablations[n - 1].is_selected = true;
    with = *config;
    with.zero_frames = TL_SMPM_ON;
    add_ablation(ret_ablations, &n, "zero frames", &with);
    for (uint32_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        with = *config;
        with.ulc_bits = widths[i].bits;
        with.ulc_lanes = widths[i].n_lanes;
        with.ulc_ctrs = widths[i].n_ctrs;
        with.ulc_period = (1u << widths[i].bits) - 1;
        add_ablation(ret_ablations, &n, widths[i].name, &with);
    }
    with = *config;
    with.ulc_period = tl_smpm_frame_cycles(config, false) + 1;
    add_ablation(ret_ablations, &n, "shortest window", &with);
    with = *config;
    with.ulc_lanes = 8;
    add_ablation(ret_ablations, &n, "8 lanes", &with);
    with = *config;
    with.fanin = config->ccu_ulcs;
    add_ablation(ret_ablations, &n, "one row for all units", &with);
    for (uint32_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        with = *config;
        with.tb_period = epochs[i].epoch;
        add_ablation(ret_ablations, &n, epochs[i].name, &with);
    }
    return n;
}
