// SPDX-License-Identifier: MIT
// The design on a machine that is no chip: one partition with one VM and one context, which have
// all harts. The model runs lazily. Its clock is the machine's, and the machine calls it in the
// cycles whose totals it needs.
#include "pmu/smpm/smpm.h"

#include <string.h>

#include "base/bits.h"
#include "pmu/smpm/attached.h"

static tl_smpm_attached *attached_of(tl_pmu *pmu) { return (tl_smpm_attached *)pmu; }

// ---- taps

// Total of a tap before a cycle, as exact as the present allows.
static uint64_t total_of(const tl_smpm_attached *a, const tl_smpm_tap *tap, uint32_t hart, uint64_t cycle) {
    const tl_pmu_host *host = a->pmu.host;
    uint64_t sum = 0;
    if (TL_LIKELY(tap->is_plain))
        return tl_probe_read(host->probe, tap->sources.cells[0]);
    if (tap->is_cycle || tap->is_idle) {
        const uint64_t busy = host->cycle_in(host->ctx, hart, cycle);
        return tap->is_cycle ? busy : cycle - busy;
    }
    if (tap->is_instret)
        return host->instret(host->ctx, hart);
    for (uint32_t i = 0; i < tap->sources.n_cells; i++)
        sum += tl_probe_read(host->probe, tap->sources.cells[i]);
    return sum;
}

static uint64_t present(const tl_smpm_attached *a, tl_smpm_tap *tap, uint32_t hart, uint64_t cycle, uint32_t step) {
    if (tap->sources.n_cells == 0)
        return 0;
    return tl_smpm_tap_show(tap, total_of(a, tap, hart, a->base_cycle + cycle) - tap->base, cycle, step);
}

static void totals(void *ctx, uint32_t ulc, uint64_t cycle, tl_smpm_totals *ret_totals) {
    tl_smpm_attached *a = ctx;
    const tl_smpm_ulc *row = &a->layout.ulcs[ulc];
    const tl_smpm_unit_type *type = &a->layout.types[row->type];
    const uint32_t hart = a->layout.units[row->unit].instance;
    tl_smpm_tap *taps = a->taps + (size_t)ulc * TL_SMPM_TAPS_OF_ULC;
    const bool is_hart = row->type == 0;
    *ret_totals = (tl_smpm_totals){0};
    if (is_hart)
        a->pmu.host->sync(a->pmu.host->ctx, hart);
    for (uint32_t i = 0; i < type->n_bits; i++)
        ret_totals->bits[i] = present(a, &taps[i], is_hart ? hart : 0, cycle, 1);
    for (uint32_t i = 0; i < type->n_multi; i++)
        ret_totals->sums[i] = present(a, &taps[TL_SMPM_MAX_CTRS + i], is_hart ? hart : 0, cycle, a->config.mb_max);
}

// ---- attaching

static uint32_t n_units_of(const tl_probe *probe, const char *name) {
    uint32_t n = 0;
    for (uint32_t u = 0; u < probe->n_units; u++)
        n += strcmp(probe->units[u].type->name, name) == 0;
    return n;
}

static tl_status attach_taps(tl_smpm_attached *a, tl_arena *arena, tl_error *err) {
    const tl_probe *probe = a->pmu.host->probe;
    a->taps = tl_smpm_taps_new(&a->layout, arena);
    if (!a->taps)
        return tl_fail(err, TL_ENOMEM, "no memory for the units of pmu smpm");
    tl_status status = TL_OK;
    for (uint32_t u = 0; u < a->layout.n_ulcs; u++) {
        const tl_smpm_unit_type *type = &a->layout.types[a->layout.ulcs[u].type];
        const uint32_t instance = a->layout.units[a->layout.ulcs[u].unit].instance;
        tl_smpm_tap *taps = a->taps + (size_t)u * TL_SMPM_TAPS_OF_ULC;
        for (uint32_t i = 0; i < type->n_bits && status == TL_OK; i++)
            status = tl_smpm_tap_attach_own(&taps[i], &tl_smpm_events[type->bits[i]], probe, instance, arena, err);
        for (uint32_t i = 0; i < type->n_multi && status == TL_OK; i++)
            status = tl_smpm_tap_attach_own(&taps[TL_SMPM_MAX_CTRS + i], &tl_smpm_events[type->multi[i]], probe, instance, arena, err);
    }
    return status;
}

static tl_status make_layout(tl_smpm_attached *a, tl_error *err) {
    const tl_probe *probe = a->pmu.host->probe;
    const tl_smpm_chip chip = {.n_partitions = 1,
                               .n_harts = n_units_of(probe, "hart"),
                               .n_slices = n_units_of(probe, "l2"),
                               .n_mem_channels = n_units_of(probe, "mem")};
    a->config = *(const tl_smpm_config *)a->pmu.settings;
    if (a->config.profile == TL_SMPM_NONE) // a host that is no machine
        a->config.profile = a->pmu.preset == tl_smpm_presets[1] ? TL_SMPM_LITERAL : TL_SMPM_SAFE;
    tl_smpm_config_resolve(&a->config);
    tl_status status = tl_smpm_layout_new(&a->config, &chip, &a->layout, err);
    return status == TL_OK ? tl_smpm_layout_resolve(&a->config, &a->layout, err) : status;
}

// One VM with one context, which run from now on.
static tl_status start(tl_smpm_attached *a, tl_error *err) {
    tl_status status = tl_smpm_vm_new(a->model, TL_SMPM_ONLY_VM, err);
    if (status == TL_OK)
        status = tl_smpm_ctx_new(a->model, TL_SMPM_ONLY_VM, TL_SMPM_ONLY_CTX, err);
    return status == TL_OK ? tl_smpm_start(a->model, 0, TL_SMPM_ONLY_VM, TL_SMPM_ONLY_CTX, err) : status;
}

static tl_status attach(tl_pmu *pmu, tl_arena *arena, tl_error *err) {
    tl_smpm_attached *a = attached_of(pmu);
    a->base_cycle = a->last_cycle = 0;
    tl_status status = make_layout(a, err);
    if (status == TL_OK)
        status = attach_taps(a, arena, err);
    if (status != TL_OK)
        return status;
    const tl_smpm_plan plan = {
        .config = a->config, .layout = &a->layout, .n_blocks = 2, .never_switches = true, .host = {.ctx = a, .totals = totals}};
    status = tl_smpm_new(&plan, arena, &a->model, err);
    if (status == TL_OK)
        status = start(a, err);
    if (status != TL_OK)
        return status;
    const void *state = tl_smpm_state(a->model, &a->n_state_bytes);
    a->first_state = tl_arena_alloc(arena, a->n_state_bytes);
    if (!a->first_state)
        return tl_fail(err, TL_ENOMEM, "no memory for the reset state of pmu smpm");
    memcpy(a->first_state, state, a->n_state_bytes);
    return TL_OK;
}

// Cycle 0 of the model is the cycle of the reset, and totals start there.
static void reset(tl_pmu *pmu) {
    tl_smpm_attached *a = attached_of(pmu);
    size_t n_bytes;
    tl_regfile_reset(&pmu->file);
    memcpy(tl_smpm_state(a->model, &n_bytes), a->first_state, a->n_state_bytes);
    a->base_cycle = a->last_cycle;
    for (uint32_t u = 0; u < a->layout.n_ulcs; u++) {
        const bool is_hart = a->layout.ulcs[u].type == 0;
        const uint32_t hart = is_hart ? a->layout.units[a->layout.ulcs[u].unit].instance : 0;
        tl_smpm_tap *taps = a->taps + (size_t)u * TL_SMPM_TAPS_OF_ULC;
        if (is_hart)
            pmu->host->sync(pmu->host->ctx, hart);
        for (uint32_t i = 0; i < TL_SMPM_TAPS_OF_ULC; i++) {
            taps[i].base = taps[i].sources.n_cells ? total_of(a, &taps[i], hart, a->base_cycle) : 0;
            taps[i].shown = taps[i].cycle = 0;
        }
    }
}

static uint64_t tick(tl_pmu *pmu, uint64_t now) {
    tl_smpm_attached *a = attached_of(pmu);
    const uint64_t present_cycle = now - a->base_cycle;
    uint64_t next;
    while ((next = tl_smpm_next(a->model)) <= present_cycle)
        tl_smpm_run(a->model, next + 1);
    tl_smpm_run(a->model, present_cycle); // nothing is read before `next`
    a->last_cycle = now;
    return next == TL_SMPM_NEVER ? UINT64_MAX : a->base_cycle + next;
}

// ---- the row

static tl_status check(const void *settings, tl_error *err) {
    const tl_smpm_config *config = settings;
    if (config->profile != TL_SMPM_NONE && config->channels == TL_SMPM_PER_HART)
        return tl_fail(err, TL_EINVAL,
                       "smpm.channels = per_hart: caches of this machine do not tell for which hart they work; set it to per_partition");
    return tl_smpm_config_check(config, err);
}

static const tl_pmu_preset *choose(const void *settings) {
    switch (((const tl_smpm_config *)settings)->profile) {
    case TL_SMPM_SAFE: return tl_smpm_presets[0];
    case TL_SMPM_LITERAL: return tl_smpm_presets[1];
    default: return NULL;
    }
}

const tl_pmu_type tl_pmu_smpm = {
    .name = "smpm",
    .title = "Hierarchical counters of device, VMs and contexts",
    .cite = "US 12,468,616 B2, 2025",
    .regmap = &tl_smpm_regmap,
    .presets = tl_smpm_presets,
    .scope = TL_PMU_OF_MACHINE,
    .state_size = sizeof(tl_smpm_attached),
    .keys = tl_smpm_keys,
    .default_settings = &tl_smpm_default_settings,
    .settings_size = sizeof(tl_smpm_config),
    .check = check,
    .choose = choose,
    .attach = attach,
    .reset = reset,
    .tick = tick,
    .chip_monitor = &tl_smpm_chip_monitor,
};
