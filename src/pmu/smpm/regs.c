// SPDX-License-Identifier: MIT
// Registers of the trigger block, of collection units and of channels. The switch manager and the
// secure controller reach them; no hart does, so they have no address on the bus of harts. Offsets
// of the trigger block are those of its specification; others follow.
#include "base/bits.h"
#include "pmu/smpm/attached.h"

static const char TB[] = "US 12,468,616 B2, par. 61, 71 to 74; offsets of this model", CCU[] = "US 12,468,616 B2, par. 58 to 62; offsets of this model",
                  RC[] = "US 12,468,616 B2, par. 63 to 67; offsets of this model";

static tl_smpm_switched switched_of(const tl_regfile *file) {
    tl_smpm_switched switched;
    tl_smpm_switched_get(tl_smpm_attached_at(file)->model, 0, &switched);
    return switched;
}

static tl_smpm_counters counters_of(const tl_regfile *file) {
    tl_smpm_counters counters;
    tl_smpm_counters_get(tl_smpm_attached_at(file)->model, &counters);
    return counters;
}

static uint64_t read_ctrl(tl_regfile *file, uint32_t index, uint64_t stored) {
    const tl_smpm_switched switched = switched_of(file);
    (void)index, (void)stored;
    const bool is_paused = switched.step == TL_SMPM_CS5B || (switched.step > 3 && switched.step <= 11);
    return tl_smpm_is_enabled(tl_smpm_attached_at(file)->model, 0) | (uint64_t)is_paused << 1;
}
static uint64_t read_period(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return tl_smpm_attached_at(file)->config.tb_period;
}
static uint64_t read_timeout(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return tl_smpm_attached_at(file)->config.tb_timeout;
}
static uint64_t read_expect(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)stored;
    return index == 0 ? (UINT64_C(1) << tl_smpm_attached_at(file)->layout.n_ccus) - 1 : 0;
}
static uint64_t read_status(tl_regfile *file, uint32_t index, uint64_t stored) {
    const tl_smpm_switched switched = switched_of(file);
    (void)index, (void)stored;
    return (uint64_t)(switched.step != TL_SMPM_IDLE) | (uint64_t)(switched.missing != 0) << 1;
}
static void trig_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    const tl_smpm_attached *a = tl_smpm_attached_at(file);
    (void)index, (void)old;
    for (uint32_t i = 0; (value & 1) && i < a->layout.n_ccus; i++)
        tl_smpm_trigger(a->model, i);
}
static void flush_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)index, (void)old;
    if (value & 1)
        (void)tl_smpm_snapshot(tl_smpm_attached_at(file)->model, 0); // refused: nothing happens
}

static tl_presence if_ccu(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)is_high;
    return index < tl_smpm_attached_at(file)->layout.n_ccus ? TL_PRESENT : TL_ZERO;
}
static void ccu_trig_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)old;
    if (value & 1)
        tl_smpm_trigger(tl_smpm_attached_at(file)->model, index);
}
static uint64_t read_units(tl_regfile *file, uint32_t index, uint64_t stored) {
    const tl_smpm_ccu *ccu = &tl_smpm_attached_at(file)->layout.ccus[index];
    (void)stored;
    return ccu->n_ulcs | (uint64_t)ccu->n_rows << 16;
}
static uint64_t read_threshold(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return tl_smpm_attached_at(file)->config.ccu_thr;
}
static uint64_t read_bad_frames(tl_regfile *file, uint32_t index, uint64_t stored) {
    return (void)index, (void)stored, counters_of(file).bad_frames & UINT32_MAX;
}
static uint64_t read_coalesced(tl_regfile *file, uint32_t index, uint64_t stored) {
    return (void)index, (void)stored, counters_of(file).coalesced & UINT32_MAX;
}
static uint64_t read_misroutes(tl_regfile *file, uint32_t index, uint64_t stored) {
    return (void)index, (void)stored, counters_of(file).misroutes & UINT32_MAX;
}
static uint64_t read_stale(tl_regfile *file, uint32_t index, uint64_t stored) {
    return (void)index, (void)stored, counters_of(file).stale & UINT32_MAX;
}
static uint64_t read_lossy(tl_regfile *file, uint32_t index, uint64_t stored) {
    return (void)index, (void)stored, counters_of(file).lossy_epochs & UINT32_MAX;
}

static const tl_field ctrl_fields[] = {
    {.name = "ENABLE",   .lsb = 0, .width_bits = 1,  .access = TL_RO,   .meaning = "The units of the partition count."},
    {.name = "PAUSE",    .lsb = 1, .width_bits = 1,  .access = TL_RO,   .meaning = "No periodic trigger comes, because a switch is under way."},
    {.name = "RESERVED", .lsb = 2, .width_bits = 30, .access = TL_WPRI, .meaning = "Reserved."},
};
static const tl_field period_fields[] = {
    {.name = "PERIOD", .lsb = 0, .width_bits = 32, .access = TL_RO, .meaning = "Cycles from one periodic trigger to the next."},
};
static const tl_field fire_fields[] = {
    {.name = "FIRE",     .lsb = 0, .width_bits = 1,  .access = TL_WO,   .meaning = "Writing 1 fires."},
    {.name = "RESERVED", .lsb = 1, .width_bits = 31, .access = TL_WPRI, .meaning = "Reserved."},
};
static const tl_field expect_fields[] = {
    {.name = "CCUS", .lsb = 0, .width_bits = 32, .access = TL_RO, .meaning = "Bit n: collection unit n has to answer a flush."},
};
static const tl_field status_fields[] = {
    {.name = "BUSY",     .lsb = 0, .width_bits = 1,  .access = TL_RO,   .meaning = "A switch or a snapshot is under way."},
    {.name = "TIMEOUT",  .lsb = 1, .width_bits = 1,  .access = TL_RO,   .meaning = "A collection unit did not answer the flush of the last switch."},
    {.name = "RESERVED", .lsb = 2, .width_bits = 30, .access = TL_WPRI, .meaning = "Reserved."},
};
static const tl_field timeout_fields[] = {
    {.name = "CYCLES", .lsb = 0, .width_bits = 32, .access = TL_RO, .meaning = "Cycles that a flush may take; 0 waits for ever."},
};
static const tl_field units_fields[] = {
    {.name = "UNITS", .lsb = 0,  .width_bits = 16, .access = TL_RO, .meaning = "Counter blocks that send to this collection unit."},
    {.name = "ROWS",  .lsb = 16, .width_bits = 16, .access = TL_RO, .meaning = "Records of one drain."},
};
static const tl_field threshold_fields[] = {
    {.name = "VALUE", .lsb = 0, .width_bits = 32, .access = TL_RO, .meaning = "A counter of this value triggers a drain; 0: none does."},
};
static const tl_field count_fields[] = {
    {.name = "COUNT", .lsb = 0, .width_bits = 32, .access = TL_RO, .meaning = "Counts up from the reset."},
};

#define FIELDS(table) .fields = table, .n_fields = TL_COUNT_OF(table)
static const tl_reg regs[] = {
    {.name = "tb_ctrl",     .cite = TB,  .addr = 0x000, .width_bits = 32, FIELDS(ctrl_fields), .read = read_ctrl,
     .meaning = "Whether the partition counts."},
    {.name = "tb_period",   .cite = TB,  .addr = 0x004, .width_bits = 32, FIELDS(period_fields), .read = read_period,
     .meaning = "Period of the trigger block."},
    {.name = "tb_trig",     .cite = TB,  .addr = 0x008, .width_bits = 32, FIELDS(fire_fields), .written = trig_written,
     .meaning = "Triggers every collection unit."},
    {.name = "tb_flush",    .cite = TB,  .addr = 0x00c, .width_bits = 32, FIELDS(fire_fields), .written = flush_written,
     .meaning = "Triggers, flushes and commits, unless a snapshot was taken shortly before."},
    {.name = "tb_expect#",  .cite = TB,  .addr = 0x010, .count = 2, .stride = 4, .width_bits = 32, FIELDS(expect_fields), .read = read_expect,
     .meaning = "Collection units that have to answer a flush; 0 has units 0 to 31."},
    {.name = "tb_status",   .cite = TB,  .addr = 0x020, .width_bits = 32, FIELDS(status_fields), .read = read_status,
     .meaning = "State of the switch manager."},
    {.name = "tb_timeout",  .cite = TB,  .addr = 0x024, .width_bits = 32, FIELDS(timeout_fields), .read = read_timeout,
     .meaning = "Limit of a flush."},
    {.name = "ccu#_trig",   .cite = CCU, .addr = 0x100, .count = TL_SMPM_MAX_CCUS, .stride = 16, .width_bits = 32, FIELDS(fire_fields), .presence = if_ccu, .written = ccu_trig_written,
     .meaning = "Triggers one collection unit."},
    {.name = "ccu#_units",  .cite = CCU, .addr = 0x104, .count = TL_SMPM_MAX_CCUS, .stride = 16, .width_bits = 32, FIELDS(units_fields), .presence = if_ccu, .read = read_units,
     .meaning = "What the collection unit serves."},
    {.name = "ccu#_thr",    .cite = CCU, .addr = 0x108, .count = TL_SMPM_MAX_CCUS, .stride = 16, .width_bits = 32, FIELDS(threshold_fields), .presence = if_ccu, .read = read_threshold,
     .meaning = "Threshold of the collection unit."},
    {.name = "ccu_bad_frames", .cite = CCU, .addr = 0x200, .width_bits = 32, FIELDS(count_fields), .read = read_bad_frames,
     .meaning = "Frames of wrong length or parity, which were dropped."},
    {.name = "ccu_coalesced",  .cite = CCU, .addr = 0x204, .width_bits = 32, FIELDS(count_fields), .read = read_coalesced,
     .meaning = "Triggers that came while one was waiting already."},
    {.name = "rcb_misroute",   .cite = RC,  .addr = 0x208, .width_bits = 32, FIELDS(count_fields), .read = read_misroutes,
     .meaning = "Records without a route, which count as unassigned."},
    {.name = "rc_stale",       .cite = RC,  .addr = 0x20c, .width_bits = 32, FIELDS(count_fields), .read = read_stale,
     .meaning = "Records older than a switch that gave up waiting for them."},
    {.name = "rc_lossy",       .cite = RC,  .addr = 0x210, .width_bits = 32, FIELDS(count_fields), .read = read_lossy,
     .meaning = "Epochs of collection units that lack a frame."},
};

const tl_regmap tl_smpm_regmap = {.space = "SMPM", .regs = regs, .n_regs = TL_COUNT_OF(regs)};
