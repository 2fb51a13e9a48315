// SPDX-License-Identifier: MIT
// Counting of the block. No event costs anything, because a counter is a difference of running
// totals (model/counter.h). A counter is updated when software reads it and when its selector or
// filter changes. Each total belongs to a client, and the filter omits whole totals.
#include "pmu/ccache/ccache.h"

#include <string.h>

#include "base/bits.h"
#include "pmu/ccache/snooper.h"

// ---- selectors and filter ----

static uint64_t total_of(const tl_ccache *p, uint64_t select) {
    const tl_ccache_event *set = p->events[select & 0xff]; // legal: a set, or 0 without events
    uint64_t total = 0;
    for (uint64_t left = select >> 8; left != 0; left &= left - 1) {
        const tl_ccache_event *event = &set[__builtin_ctzll(left)];
        for (uint32_t i = 0; i < event->n_parts; i++) {
            uint32_t client = event->parts[i].client;
            if (client == TL_CCACHE_NO_CLIENT || !(p->filter >> client & 1))
                total += tl_probe_read(p->pmu.host->probe, event->parts[i].cell);
        }
    }
    return total;
}

static void update(tl_ccache *p, uint32_t index) { (void)tl_counter_fold(&p->counters[index], total_of(p, p->selects[index])); }

uint64_t tl_ccache_legal_select(const tl_ccache *p, uint64_t wanted) {
    uint64_t set = wanted & 0xff, legal = 0;
    if (set < 1 || set > TL_CCACHE_SETS)
        return 0;
    for (uint32_t bit = 0; bit < TL_CCACHE_BITS; bit++)
        if (p->events[set][bit].n_parts > 0)
            legal |= wanted & UINT64_C(1) << (bit + 8);
    return legal != 0 ? legal | set : 0;
}

uint64_t tl_ccache_clients(const tl_ccache *p) { return (UINT64_C(1) << p->n_clients) - 1; }

uint64_t tl_ccache_counter(tl_ccache *p, uint32_t index) {
    update(p, index);
    return p->counters[index].value;
}

void tl_ccache_set_counter(tl_ccache *p, uint32_t index, uint64_t value) {
    tl_counter_set(&p->counters[index], value, total_of(p, p->selects[index]));
}

void tl_ccache_set_select(tl_ccache *p, uint32_t index, uint64_t select) {
    update(p, index);
    p->selects[index] = select;
    tl_counter_skip(&p->counters[index], total_of(p, select));
}

void tl_ccache_set_filter(tl_ccache *p, uint64_t filter) {
    for (uint32_t i = 0; i < p->n_counters; i++)
        update(p, i);
    p->filter = filter;
    for (uint32_t i = 0; i < p->n_counters; i++)
        tl_counter_skip(&p->counters[i], total_of(p, p->selects[i]));
}

uint64_t tl_ccache_geometry(const tl_ccache *p) {
    const tl_config *config = p->pmu.host->config;
    if (!config)
        return 0;
    uint64_t sets = config->l2.size_bytes / config->l2.ways / config->l2.line_bytes / config->l2_slices;
    return config->l2_slices | config->l2.ways << 8 | (uint64_t)tl_log2(sets) << 16 | (uint64_t)tl_log2(config->l2.line_bytes) << 24;
}

// ---- the design ----

static uint32_t hart_of_link(const tl_unit *unit) { // "link3"
    uint32_t hart = 0;
    for (const char *p = unit->path + strlen("link"); *p >= '0' && *p <= '9'; p++)
        hart = hart * 10 + (uint32_t)(*p - '0');
    return hart;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

// Client that sends or receives what this total counts.
static uint8_t client_of(const tl_ccache *p, tl_cell cell) {
    const tl_probe *probe = p->pmu.host->probe;
    for (uint32_t u = 0; u < probe->n_units; u++) {
        const tl_unit *unit = &probe->units[u];
        if (cell - unit->first_cell >= unit->type->n_signals)
            continue;
        const char *signal = unit->type->signals[cell - unit->first_cell].name;
        if (strcmp(unit->type->name, "link") == 0)
            return (uint8_t)(2 * hart_of_link(unit) + (begins(signal, "get_") || strcmp(signal, "probe_i") == 0));
        return begins(signal, "dma_") ? (uint8_t)(p->n_clients - 1) : TL_CCACHE_NO_CLIENT;
    }
    return TL_CCACHE_NO_CLIENT;
}

static tl_status resolve(tl_ccache *p, const tl_event *row, tl_arena *arena, tl_error *err) {
    tl_sources sources;
    tl_status status = tl_sources_resolve(row->sources, p->pmu.host->probe, p->pmu.hart, arena, &sources, err);
    if (status != TL_OK)
        return status == TL_ENOENT ? TL_OK : status; // not on this machine: the bit reads back as 0
    tl_ccache_part *parts = tl_arena_alloc(arena, sources.n_cells * sizeof *parts);
    if (!parts)
        return tl_fail(err, TL_ENOMEM, "no memory for the events of pmu %s", p->pmu.type->name);
    for (uint32_t i = 0; i < sources.n_cells; i++)
        parts[i] = (tl_ccache_part){.cell = sources.cells[i], .client = client_of(p, sources.cells[i])};
    p->events[row->selector & 0xff][__builtin_ctzll(row->selector >> 8)] = (tl_ccache_event){parts, sources.n_cells};
    return TL_OK;
}

static void reset(tl_pmu *pmu) {
    tl_ccache *p = tl_ccache_of(&pmu->file);
    tl_regfile_reset(&pmu->file);
    p->filter = 0;
    for (uint32_t i = 0; i < TL_CCACHE_MAX_COUNTERS; i++) {
        p->selects[i] = 0;
        p->counters[i] = (tl_counter){.width_bits = 64};
    }
}

static const tl_ccache_settings *settings_of(const tl_pmu *pmu) { return pmu->settings; }

// The snooper counts in unit bus. A test host without that unit gets no snooper.
static tl_status add_snooper(tl_ccache *p, tl_arena *arena, tl_error *err) {
    const tl_ccache_settings *settings = settings_of(&p->pmu);
    if (settings->snooper_cycles == 0)
        return TL_OK;
    const tl_probe *probe = p->pmu.host->probe;
    tl_cell watched, read;
    tl_status status = tl_probe_resolve(probe, "bus.snooped_beat", &watched);
    if (status == TL_OK)
        status = tl_probe_resolve(probe, "bus.master_read", &read);
    if (status != TL_OK)
        return tl_fail(err, status, "l2.snooper: this machine has no bus whose accesses could be counted");
    const tl_snooper_target target = {
        .pmu = &p->pmu,
        .paddr = TL_CCACHE_PADDR,
        .select_offset = TL_CCACHE_SELECT,
        .counter_offset = TL_CCACHE_COUNTER,
        .n_counters = p->n_counters,
        .watched_tally = &probe->tally[watched],
        .read_tally = &probe->tally[read],
    };
    return tl_snooper_new(&target, settings->snooper_cycles, arena, &p->snooper, err);
}

static tl_status attach(tl_pmu *pmu, tl_arena *arena, tl_error *err) {
    tl_ccache *p = tl_ccache_of(&pmu->file);
    const tl_pmu_preset *preset = pmu->preset;
    p->n_counters = pmu->host->settings ? settings_of(pmu)->n_counters : TL_CCACHE_MAX_COUNTERS;
    p->n_clients = 1;
    for (uint32_t u = 0; u < pmu->host->probe->n_units; u++)
        if (strcmp(pmu->host->probe->units[u].type->name, "link") == 0)
            p->n_clients += 2;
    tl_status status = TL_OK;
    for (uint32_t i = 0; status == TL_OK && i < preset->n_events; i++)
        if (preset->events[i].fidelity != TL_NOT_MODELED)
            status = resolve(p, &preset->events[i], arena, err);
    return status == TL_OK ? add_snooper(p, arena, err) : status;
}

static uint64_t tick(tl_pmu *pmu, uint64_t now) {
    const tl_ccache *p = tl_ccache_of(&pmu->file);
    return p->snooper ? tl_snooper_look(p->snooper, now) : UINT64_MAX;
}

static const tl_bus *watch_bus(tl_pmu *pmu, const tl_bus *below) {
    const tl_ccache *p = tl_ccache_of(&pmu->file);
    return p->snooper ? tl_snooper_watch(p->snooper, below) : below;
}

static void describe_node(const tl_pmu *pmu, tl_pmu_node *ret_node) {
    static const char compatible[] = "sifive,ccache0\0cache";
    *ret_node = (tl_pmu_node){
        .name = "cache-controller",
        .compatible = compatible,
        .compatible_bytes = sizeof compatible,
        .is_l2_cache = true,
        .numbers = {{"sifive,perfmon-counters", tl_ccache_of(&pmu->file)->n_counters}},
        .n_numbers = 1,
    };
}

static const char *const grants[] = {"denied", "granted", NULL};
static const tl_key keys[] = {
#define NUMBER(...) TL_KEY_NUMBER(tl_ccache_settings, __VA_ARGS__)
#define CHOICE(...) TL_KEY_NAMED(tl_ccache_settings, __VA_ARGS__)
#include "pmu/ccache/keys.def"
#undef NUMBER
#undef CHOICE
    {.path = NULL},
};
static const tl_ccache_settings default_settings = {.n_counters = 0};

static tl_status check(const void *settings, tl_error *err) {
    const tl_ccache_settings *s = settings;
    if (s->snooper_cycles != 0 && s->n_counters == 0)
        return tl_fail(err, TL_EINVAL, "l2.snooper = %u: there is nothing to read; set l2.counters, to 6 for example, or l2.snooper to 0",
                       s->snooper_cycles);
    if (s->grant == TL_GRANTED && s->n_counters == 0)
        return tl_fail(err, TL_EINVAL, "os.ccache = granted: this machine has no counters of the second level; set l2.counters=6");
    return TL_OK;
}

static const tl_pmu_preset *choose(const void *settings) {
    return ((const tl_ccache_settings *)settings)->n_counters == 0 ? NULL : tl_ccache_presets[0];
}

static tl_grant grant(const void *settings) { return (tl_grant)((const tl_ccache_settings *)settings)->grant; }

const tl_pmu_type tl_pmu_ccache = {
    .name = "ccache",
    .title = "Counters of the shared second-level cache on the bus",
    .cite = "SiFive composable cache",
    .regmap = &tl_ccache_regmap,
    .presets = tl_ccache_presets,
    .scope = TL_PMU_OF_MACHINE,
    .state_size = sizeof(tl_ccache),
    .keys = keys,
    .default_settings = &default_settings,
    .settings_size = sizeof default_settings,
    .check = check,
    .choose = choose,
    .grant = grant,
    .grant_name = "ccache",
    .window_paddr = TL_CCACHE_PADDR,
    .window_bytes = TL_CCACHE_WINDOW_BYTES,
    .describe_node = describe_node,
    .device_name = "ccache",
    .device_minor = 60,
    .attach = attach,
    .reset = reset,
    .tick = tick,
    .watch_bus = watch_bus,
};
