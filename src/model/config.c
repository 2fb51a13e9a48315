// SPDX-License-Identifier: MIT
// The default machine: a single in-order hart with Rocket-like latencies (Asanovic et al., "The
// Rocket Chip Generator", UCB/EECS-2016-17, gives the five-stage shape; latencies follow the public
// RTL's pipeline depths, rounded to whole cycles).
#include "model/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/utf8.h"
#include "model/config_keys.h"

void tl_config_default(tl_config *ret_config) {
    *ret_config = (tl_config){
        .name = "rocket",
        .summary = "One 5-stage in-order hart, 32 KiB L1 caches, 512 KiB L2.",
        .n_harts = 1,
        .n_partitions = 1,
        .chip = {.burst_bytes = 64, .slot_cycles = 8, .setup_cycles = 200, .queue_bursts = 256},
        .clock_hz = 1000000000,
        .ram_bytes = UINT64_C(4) << 30,
        .seed = 1,
        .interleave_cycles = 1000,
        .pipeline = {.load_use_cycles = 2,
                     .load_use_narrow_cycles = 3,
                     .fp_load_use_cycles = 2,
                     .mul_cycles = 4,
                     .div_cycles = 34,
                     .div_word_cycles = 18,
                     .fp_add_cycles = 4,
                     .fp_mul_cycles = 4,
                     .fp_fma_cycles = 4,
                     .fp_convert_cycles = 3,
                     .fp_compare_cycles = 3,
                     .fp_move_cycles = 2,
                     .fp_div_single_cycles = 20,
                     .fp_div_double_cycles = 33,
                     .fp_sqrt_single_cycles = 20,
                     .fp_sqrt_double_cycles = 33,
                     .csr_cycles = 4,
                     .fence_cycles = 4,
                     .fence_i_cycles = 20,
                     .amo_cycles = 3,
                     .misaligned_cycles = 4,
                     .mispredict_cycles = 3,
                     .redirect_cycles = 1,
                     .trap_cycles = 5,
                     .fetch_bytes = 4},
        .core = {.kind = TL_CORE_IN_ORDER,
                 .fetch_width = 4,
                 .fetch_taken = 1,
                 .rename_width = 4,
                 .issue_width = 8,
                 .retire_width = 4,
                 .front_cycles = 10,
                 .rob_uops = 192,
                 .load_buffers = 64,
                 .store_buffers = 48,
                 .memory_queue = 32,
                 .general_queue = 64,
                 .threads = 1,
                 .alu_half_cycles = 2,
                 .shift_cycles = 1,
                 .forward_cycles = 5,
                 .misses = 12,
                 .store_misses = 8,
                 .clear_cycles = 10,
                 .split_cycles = 4,
                 .trace_ways = 8,
                 .trace_line_uops = 6,
                 .trace_line_cycles = 2,
                 .trace_branches = 2,
                 .build_width = 1,
                 .alu_ports = 0x0f,
                 .shift_ports = 0x03,
                 .branch_ports = 0x09,
                 .mul_ports = 0x02,
                 .fp_ports = 0x03,
                 .move_ports = 0x07,
                 .load_ports = 0x30,
                 .store_ports = 0x40,
                 .data_ports = 0x80},
        .bp = {.kind = TL_BP_GSHARE,
               .counters = 512,
               .history_bits = 8,
               .tables = 12,
               .table_entries = 4096,
               .tag_bits = 9,
               .min_history = 4,
               .max_history = 640,
               .btb_entries = 32,
               .ras_entries = 6},
        .l1i = {.size_bytes = 32 << 10, .ways = 8, .line_bytes = 64, .replacement = TL_REPLACE_LRU},
        .l1d = {.size_bytes = 32 << 10, .ways = 8, .line_bytes = 64, .replacement = TL_REPLACE_LRU},
        .l2 = {.size_bytes = 512 << 10, .ways = 8, .line_bytes = 64, .replacement = TL_REPLACE_LRU},
        .l2_slices = 1,
        .bsq = {.sectors = 1, .stream_lines = 4},
        .itlb = {.entries = 32, .ways = 32, .replacement = TL_REPLACE_LRU},
        .dtlb = {.entries = 32, .ways = 32, .replacement = TL_REPLACE_LRU},
        .l2tlb = {.entries = 1024, .ways = 4, .replacement = TL_REPLACE_LRU},
        .walk_cache = {.ways = 4},
        .mem_channels = 1,
        .mem = {.l2_hit_cycles = 20,
                .l2_busy_cycles = 4,
                .probe_cycles = 12,
                .upgrade_cycles = 16,
                .l2tlb_hit_cycles = 4,
                .walk_step_cycles = 1,
                .mem_row_hit_cycles = 50,
                .mem_row_miss_cycles = 70,
                .mem_row_conflict_cycles = 90,
                .mem_busy_cycles = 10,
                .mem_banks = 8,
                .mem_row_bytes = 2048,
                .mmio_cycles = 40},
        .debug = {.dbgen = 1, .niden = 1, .spiden = 1, .spniden = 1},
        .virtio_version = 2,
        .os = {.slice_cycles = 1000000,
               .syscall_cycles = 200,
               .page_fault_cycles = 800,
               .switch_cycles = 1000,
               .signal_cycles = 600,
               .user_counters = 7},
        .code_cache_bytes = TL_CODE_CACHE_BYTES,
        .n_cold_runs = TL_COLD_RUNS,
        .sparse_code_bytes = TL_SPARSE_CODE_BYTES,
    };
}

const char *const tl_code_part_names[TL_N_CODE_PARTS] = {
    [TL_CODE_DATA_LOOK_UP] = "data-lookup",   [TL_CODE_LINE_USE] = "line-use",   [TL_CODE_PAGE_USE] = "page-use",
    [TL_CODE_FETCH_LOOK_UP] = "fetch-lookup", [TL_CODE_FETCH_USE] = "fetch-use", [TL_CODE_PREDICTION] = "prediction",
    [TL_CODE_HIT_PATH] = "hit-path",
};

static const tl_key *own_key(const char *path) {
    const tl_key *key = tl_config_keys;
    while (strcmp(key->path, path) != 0)
        key++;
    return key;
}

// "l1d.ways = 3: " in front of the sentence.
static tl_status TL_PRINTF(4, 5) bad(tl_error *err, const tl_config *config, const char *path, const char *format, ...) {
    char sentence[300];
    const tl_key *key = own_key(path);
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return tl_key_refuse(key, tl_key_read(key, config), err, "%s", sentence);
}

static tl_status check_ranges(const tl_config *config, tl_error *err) {
    for (uint32_t i = 0; i < tl_n_config_keys; i++) {
        const tl_key *key = &tl_config_keys[i];
        tl_error why;
        if (key->kind == TL_KEY_TEXT) {
            const char *text = (const char *)config + key->offset;
            size_t n = strnlen(text, key->max + 1);
            if (n < key->min || n > key->max)
                return tl_fail(err, TL_EINVAL, "%s: must have %" PRIu64 " to %" PRIu64 " bytes", key->path, key->min, key->max);
        } else if (tl_key_check_number(key, tl_key_read(key, config), &why) != TL_OK) {
            return bad(err, config, key->path, "%s", why.text);
        }
    }
    return TL_OK;
}

static tl_status check_pow2(const tl_config *config, const char *path, tl_error *err) {
    uint64_t value = tl_key_read(own_key(path), config), above = 1;
    if (tl_is_pow2(value))
        return TL_OK;
    while (above < value)
        above *= 2;
    return bad(err, config, path, "must be a power of two, such as %" PRIu64 " or %" PRIu64, above / 2, above);
}

// `unit` is all but the power of two: size / unit or entries / ways.
static tl_status check_sets(const tl_config *config, const char *path, uint64_t unit, const char *made_of, tl_error *err) {
    const tl_key *key = own_key(path);
    uint64_t value = tl_key_read(key, config), below = unit;
    if (value % unit == 0 && tl_is_pow2(value / unit))
        return TL_OK;
    while (below * 2 <= value)
        below *= 2;
    char low[32], high[32];
    tl_format_u64(below, key->scale, low);
    tl_format_u64(below * 2, key->scale, high);
    if (value < unit)
        return bad(err, config, path, "must be %s times a power of two, at least %s", made_of, low);
    return bad(err, config, path, "must be %s times a power of two, such as %s or %s", made_of, low, high);
}

static tl_status check_policy(const tl_config *config, const char *part, tl_replacement policy, uint32_t ways, tl_error *err) {
    char path[32];
    snprintf(path, sizeof path, "%s.ways", part);
    if (policy == TL_REPLACE_PLRU && !tl_is_pow2(ways))
        return bad(err, config, path, "must be a power of two for plru; choose %s.replacement: lru, fifo or random otherwise", part);
    return TL_OK;
}

static tl_status check_cache(const tl_config *config, const char *part, const tl_cache_config *cache, uint32_t slices, uint32_t sectors,
                             tl_error *err) {
    char path[32], made_of[80];
    tl_status status = check_policy(config, part, cache->replacement, cache->ways, err);
    if (status != TL_OK)
        return status;
    int n = snprintf(made_of, sizeof made_of, "%u way%s of %u-byte lines", cache->ways, cache->ways == 1 ? "" : "s", cache->line_bytes);
    if (sectors > 1)
        n += snprintf(made_of + n, sizeof made_of - (size_t)n, ", %u to a tag", sectors);
    if (slices > 1)
        snprintf(made_of + n, sizeof made_of - (size_t)n, " in %u slices", slices);
    snprintf(path, sizeof path, "%s.size", part);
    return check_sets(config, path, (uint64_t)cache->ways * cache->line_bytes * sectors * slices, made_of, err);
}

// All caches have lines of one size. The one that differs from the other two is named; if all
// differ, the first.
static tl_status check_lines(const tl_config *config, tl_error *err) {
    static const char *const names[] = {"l1d", "l1i", "l2"};
    const uint32_t lines[] = {config->l1d.line_bytes, config->l1i.line_bytes, config->l2.line_bytes};
    if (lines[0] == lines[1] && lines[1] == lines[2])
        return TL_OK;
    char path[32];
    for (uint32_t odd = 0; odd < 3; odd++) {
        uint32_t a = odd == 0 ? 1 : 0, b = odd == 2 ? 1 : 2;
        if (lines[a] != lines[b])
            continue;
        snprintf(path, sizeof path, "%s.line", names[odd]);
        return bad(err, config, path,
                   "%s and %s have lines of %u bytes, and all caches of a machine share one size; set %s.line=%u and %s.line=%u, too",
                   names[a], names[b], lines[a], names[a], lines[odd], names[b], lines[odd]);
    }
    return bad(err, config, "l1d.line", "l1i.line is %u and l2.line is %u, but all caches of a machine have lines of one size", lines[1],
               lines[2]);
}

static tl_status check_inclusion(const tl_config *config, const char *part, const tl_cache_config *l1, tl_error *err) {
    if (config->l2_fill == TL_FILL_EVICT || config->l2.size_bytes >= l1->size_bytes)
        return TL_OK;
    char size[32];
    tl_format_u64(l1->size_bytes, TL_SCALE_BYTES, size);
    return bad(err, config, "l2.size", "must be at least %s.size = %s, since the second level holds every line of the first", part, size);
}

static tl_status check_tlb(const tl_config *config, const char *part, const tl_tlb_config *tlb, tl_error *err) {
    char path[32], made_of[40];
    tl_status status = check_policy(config, part, tlb->replacement, tlb->ways, err);
    if (status != TL_OK || tlb->entries == 0)
        return status;
    snprintf(path, sizeof path, "%s.entries", part);
    snprintf(made_of, sizeof made_of, "%u way%s", tlb->ways, tlb->ways == 1 ? "" : "s");
    return check_sets(config, path, tlb->ways, made_of, err);
}

// Tags and walk caches are of AArch64. Prefetchers fill a second level that has what they fetch.
static tl_status check_structures(const tl_config *config, tl_error *err) {
    const bool is_arm = config->isa == TL_ISA_AARCH64;
    if (config->asid_bits != 0 && config->asid_bits != 16)
        return bad(err, config, "tlb.asid_bits", "must be 0 or 16");
    if (config->asid_bits != 0 && !is_arm)
        return bad(err, config, "tlb.asid_bits", "must be 0, because TLBs have tags with isa: aarch64 only");
    if (config->walk_cache.entries != 0 && !is_arm)
        return bad(err, config, "walk_cache.entries", "must be 0, because walks of isa: riscv64 have no walk cache");
    if (config->l2_fill == TL_FILL_MISS)
        return TL_OK;
    if (config->core.kind != TL_CORE_IN_ORDER)
        return bad(err, config, "l2.fill", "needs core.kind: in_order");
    if (config->l1i.prefetch != TL_PREFETCH_NONE || config->l1d.prefetch != TL_PREFETCH_NONE || config->l2.prefetch != TL_PREFETCH_NONE)
        return bad(err, config, "l2.fill", "needs l1i.prefetch, l1d.prefetch and l2.prefetch: none");
    return TL_OK;
}

static tl_status check_texts(const tl_config *config, tl_error *err) {
    for (const char *p = config->name; *p; p++) {
        bool is_fine = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("._-", *p);
        if (!is_fine)
            return tl_fail(err, TL_EINVAL, "name: may have letters, digits, dot, dash and underscore only");
    }
    size_t n_left = strlen(config->summary), length = 0;
    for (const char *p = config->summary; n_left > 0; p += length, n_left -= length) {
        uint32_t code = 0;
        length = tl_utf8_length(p, n_left, &code);
        if (length == 0 || tl_utf8_is_control(code))
            return tl_fail(err, TL_EINVAL, "summary: must be one line of UTF-8 text");
    }
    return TL_OK;
}

static tl_status check_core(const tl_config *config, tl_error *err) {
    const tl_core_config *core = &config->core;
    if (core->kind == TL_CORE_OUT_OF_ORDER && config->isa != TL_ISA_RISCV64)
        return bad(err, config, "isa", "must be riscv64, since core.kind is out_of_order; choose core.kind: in_order");
    if (core->kind == TL_CORE_IN_ORDER)
        return TL_OK;
    if (core->rob_uops < core->rename_width || core->rob_uops < core->retire_width)
        return bad(err, config, "core.rob", "must be at least core.rename = %u and core.retire = %u", core->rename_width,
                   core->retire_width);
    const struct {
        const char *key;
        uint32_t value, least;
    } shares[] = {{"core.rob", core->rob_uops, 2 * (core->rename_width > core->retire_width ? core->rename_width : core->retire_width)},
                  {"core.loads", core->load_buffers, 2},
                  {"core.stores", core->store_buffers, 2},
                  {"core.memory_queue", core->memory_queue, 2},
                  {"core.general_queue", core->general_queue, 2}};
    for (uint32_t i = 0; i < TL_COUNT_OF(shares) && core->threads > 1; i++)
        if (shares[i].value < shares[i].least)
            return bad(err, config, shares[i].key, "must be at least %u, because core.threads = %u and each has a half", shares[i].least,
                       core->threads);
    if (core->shares_dtlb != 0 && core->threads == 1)
        return bad(err, config, "dtlb.shared", "needs core.threads: 2, since a core of one thread shares with none; set dtlb.shared: 0");
    if ((core->replay_cycles == 0) != (core->replay_miss_cycles == 0))
        return bad(err, config, "core.replay", "core.replay_miss is %u, and either both are 0 or none is", core->replay_miss_cycles);
    if (core->alias_bits != 0 && core->alias_bits < 12)
        return bad(err, config, "core.alias_bits", "must be 0, or 12 and more, because a page has 12");
    const uint32_t trace_way = core->trace_ways * core->trace_line_uops;
    if (core->trace_uops % trace_way != 0 || (core->trace_uops != 0 && !tl_is_pow2(core->trace_uops / trace_way)))
        return bad(err, config, "core.trace", "must be 0, or core.trace_ways * core.trace_line = %u times a power of two", trace_way);
    if (core->fast_ports & ~core->alu_ports)
        return bad(err, config, "core.fast_ports", "must be part of core.alu_ports = %u", core->alu_ports);
    return TL_OK;
}

// An in-order hart waits for each access, so nothing of this would change a count.
static tl_status check_bsq(const tl_config *config, tl_error *err) {
    const tl_bsq_config *bsq = &config->bsq;
    const struct {
        const char *key;
        bool is_asked_for;
    } detailed[] = {{"l1d.write", bsq->l1d_write != TL_WRITE_BACK},
                    {"dtlb.shared", config->core.shares_dtlb != 0},
                    {"l2.sectors", bsq->sectors > 1},
                    {"l2.streams", bsq->streams != 0},
                    {"mem.queue", bsq->queue_entries != 0}};
    for (uint32_t i = 0; i < TL_COUNT_OF(detailed) && config->core.kind == TL_CORE_IN_ORDER; i++)
        if (detailed[i].is_asked_for)
            return bad(err, config, detailed[i].key, "needs core.kind: out_of_order, as machines netburst and ooo have");
    if (bsq->write_buffers != 0 && bsq->l1d_write != TL_WRITE_THROUGH)
        return bad(err, config, "l1d.write_buffers", "needs l1d.write: through, because other stores stay in the l1d");
    if (bsq->adjacent != 0 && bsq->sectors == 1)
        return bad(err, config, "l2.adjacent", "needs l2.sectors of 2 or more, because a tag of one line has no other");
    if (bsq->streams != 0 && config->l2.prefetch != TL_PREFETCH_NONE)
        return bad(err, config, "l2.streams", "needs l2.prefetch: none, because one prefetcher follows the misses");
    return TL_OK;
}

static tl_status check_predictor(const tl_config *config, tl_error *err) {
    const tl_bp_config *bp = &config->bp;
    if (bp->kind == TL_BP_GSHARE && bp->history_bits > tl_log2(bp->counters))
        return bad(err, config, "bp.history_bits", "must be at most %u, since bp.counters = %u", tl_log2(bp->counters), bp->counters);
    if (bp->kind != TL_BP_TAGE)
        return TL_OK;
    if (config->core.kind == TL_CORE_IN_ORDER)
        return bad(err, config, "bp.kind", "needs core.kind: out_of_order; choose bht or gshare for a core in order");
    if (bp->max_history < bp->min_history + bp->tables - 1)
        return bad(err, config, "bp.max_history", "must be at least %u, since bp.min_history = %u and bp.tables = %u",
                   bp->min_history + bp->tables - 1, bp->min_history, bp->tables);
    return TL_OK;
}

tl_status tl_config_check(const tl_config *config, tl_error *err) {
    static const char *const powers_of_two[] = {"bp.counters",  "bp.table_entries", "bp.btb_entries", "l2.slices",
                                                "mem.channels", "mem.banks",        "mem.row_bytes",  "l1d.line",
                                                "l1i.line",     "l2.line",          "l2.sectors",     "chip.burst"};
    tl_status status = check_ranges(config, err);
    if (status == TL_OK)
        status = check_texts(config, err);
    for (uint32_t i = 0; status == TL_OK && i < TL_COUNT_OF(powers_of_two); i++)
        status = check_pow2(config, powers_of_two[i], err);
    if (status != TL_OK)
        return status;

    if (config->ram_bytes % (1 << 20) != 0)
        return bad(err, config, "ram", "must be a multiple of 1MiB");
    if (config->pipeline.fetch_bytes != 4 && config->pipeline.fetch_bytes != 8)
        return bad(err, config, "pipeline.fetch_bytes", "must be 4 or 8");
    status = check_core(config, err);
    if (status != TL_OK)
        return status;
    status = check_predictor(config, err);
    if (status == TL_OK)
        status = check_bsq(config, err);
    if (status == TL_OK)
        status = check_lines(config, err);
    if (status == TL_OK)
        status = check_cache(config, "l1d", &config->l1d, 1, 1, err);
    if (status == TL_OK)
        status = check_cache(config, "l1i", &config->l1i, 1, 1, err);
    if (status == TL_OK)
        status = check_cache(config, "l2", &config->l2, config->l2_slices, config->bsq.sectors, err);
    if (status == TL_OK)
        status = check_inclusion(config, "l1i", &config->l1i, err);
    if (status == TL_OK)
        status = check_inclusion(config, "l1d", &config->l1d, err);
    if (status == TL_OK)
        status = check_tlb(config, "itlb", &config->itlb, err);
    if (status == TL_OK)
        status = check_tlb(config, "dtlb", &config->dtlb, err);
    if (status == TL_OK)
        status = check_tlb(config, "l2tlb", &config->l2tlb, err);
    if (status == TL_OK)
        status = check_tlb(config, "walk_cache", &config->walk_cache, err);
    if (status == TL_OK)
        status = check_structures(config, err);
    if (status == TL_OK && config->mem.mem_row_bytes < config->l2.line_bytes)
        status = bad(err, config, "mem.row_bytes", "must be at least l2.line = %u", config->l2.line_bytes);
    return status;
}
