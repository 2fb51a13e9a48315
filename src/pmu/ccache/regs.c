// SPDX-License-Identifier: MIT
// Registers of the block. Each is 64 bits wide; a 32-bit access moves one half. Addresses between
// registers read 0.
#include "base/bits.h"
#include "pmu/ccache/ccache.h"

static const char FU740[] = "SiFive FU740-C000 manual, L2 cache controller", DRIVER[] = "Linux drivers/perf/sifive_ccache_pmu.c", TREE[] = "Devicetree binding sifive,ccache0";

static tl_presence if_counter(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)is_high;
    return index < tl_ccache_of(file)->n_counters ? TL_PRESENT : TL_ZERO;
}

static uint64_t read_config(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return tl_ccache_geometry(tl_ccache_of(file));
}
static uint64_t known_events(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    (void)index, (void)old;
    return tl_ccache_legal_select(tl_ccache_of(file), wanted);
}
static void select_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)old;
    tl_ccache_set_select(tl_ccache_of(file), index, value);
}
static uint64_t existing_clients(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    (void)index, (void)old;
    return wanted & tl_ccache_clients(tl_ccache_of(file));
}
static void filter_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)index, (void)old;
    tl_ccache_set_filter(tl_ccache_of(file), value);
}
static uint64_t read_counter(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)stored;
    return tl_ccache_counter(tl_ccache_of(file), index);
}
static void counter_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)old;
    tl_ccache_set_counter(tl_ccache_of(file), index, value);
}

static const tl_field config_fields[] = {
    {.name = "BANKS",    .lsb = 0,  .width_bits = 8,  .access = TL_RO,   .meaning = "Number of banks: the slices of the cache."},
    {.name = "WAYS",     .lsb = 8,  .width_bits = 8,  .access = TL_RO,   .meaning = "Ways of each set."},
    {.name = "LGSETS",   .lsb = 16, .width_bits = 8,  .access = TL_RO,   .meaning = "Base-2 logarithm of the sets of a bank."},
    {.name = "LGBLOCK",  .lsb = 24, .width_bits = 8,  .access = TL_RO,   .meaning = "Base-2 logarithm of the bytes of a line."},
    {.name = "RESERVED", .lsb = 32, .width_bits = 32, .access = TL_WPRI, .meaning = "Reserved."},
};
static const tl_field select_fields[] = {
    {.name = "SELECT", .lsb = 0, .width_bits = 64, .access = TL_WARL, .legalize = known_events, .meaning = "Set in bits 7:0, events of it from bit 8 up; 0 stops the counter, and events that are not modeled read back as 0."},
};
static const tl_field filter_fields[] = {
    {.name = "FILTER", .lsb = 0, .width_bits = 64, .access = TL_WARL, .legalize = existing_clients, .meaning = "Bit c: no counter counts what client c says or is told; clients that do not exist read back as 0."},
};
static const tl_field counter_fields[] = {
    {.name = "COUNT", .lsb = 0, .width_bits = 64, .access = TL_RW, .meaning = "Counts up, and from what was written."},
};

#define FIELDS(table) .fields = table, .n_fields = TL_COUNT_OF(table)

static const tl_reg regs[] = {
    {.name = "config", .addr = TL_CCACHE_CONFIG, .high_addr = TL_CCACHE_CONFIG + 4, .width_bits = 64, FIELDS(config_fields), .read = read_config,
     .cite = FU740, .meaning = "What the cache is made of."},
    {.name = "select#", .addr = TL_CCACHE_SELECT, .high_addr = TL_CCACHE_SELECT + 4, .count = TL_CCACHE_MAX_COUNTERS, .stride = 8, .width_bits = 64,
     FIELDS(select_fields), .presence = if_counter, .written = select_written, .cite = DRIVER, .meaning = "What the counter of the same number counts."},
    {.name = "filter", .addr = TL_CCACHE_FILTER, .high_addr = TL_CCACHE_FILTER + 4, .width_bits = 64, FIELDS(filter_fields),
     .written = filter_written, .cite = DRIVER, .meaning = "Clients that no counter counts; 0 after reset: everybody is counted."},
    {.name = "counter#", .addr = TL_CCACHE_COUNTER, .high_addr = TL_CCACHE_COUNTER + 4, .count = TL_CCACHE_MAX_COUNTERS, .stride = 8, .width_bits = 64,
     FIELDS(counter_fields), .presence = if_counter, .read = read_counter, .written = counter_written, .cite = TREE,
     .meaning = "A counter; as many as property sifive,perfmon-counters says, the others read 0."},
};

const tl_regmap tl_ccache_regmap = {.space = "MMIO", .regs = regs, .n_regs = TL_COUNT_OF(regs)};
