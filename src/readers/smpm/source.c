// SPDX-License-Identifier: MIT
// The hierarchical counters as the source of a report: once the program has ended, the host asks
// for a snapshot and reads the block of the only VM. A unit tells some events by pulses, each of
// which stands for mb_max.
#include <string.h>

#include "base/bits.h"
#include "machine/keys.h"
#include "pmu/smpm/attached.h"
#include "pmu/smpm/block.h"
#include "session/listed.h"

enum { TB_FLUSH = 0x00c, TB_STATUS = 0x020, STATUS_BUSY = 1, STEP_CYCLES = 1000, MAX_STEPS = 100000, N_PERIODS = 4 };
static const char default_events[] = "hart.cycle,hart.instret,hart.insn_load,hart.insn_store,hart.insn_branch,hart.bp_cond_miss";

static tl_smpm_attached *attached_on(const tl_machine *machine) {
    tl_pmu *pmu = tl_machine_pmu_of(machine, &tl_pmu_smpm, 0);
    return pmu ? tl_smpm_attached_of(&pmu->file) : NULL;
}

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    tl_smpm_config settings;
    tl_pmu_settings_of(&tl_pmu_smpm, config, &settings);
    if (options->interval != TL_INTERVAL_NONE || options->roi_start)
        return tl_fail(err, TL_EINVAL, "-P smpm reads the counters once, when the program has ended; it does not go with -I or --roi");
    if (preset)
        tl_keys_set(config, "smpm.profile", strcmp(preset->name, "literal") ? TL_SMPM_SAFE : TL_SMPM_LITERAL);
    else if (settings.profile == TL_SMPM_NONE)
        tl_keys_set(config, "smpm.profile", TL_SMPM_SAFE);
    return TL_OK;
}

static bool is_of_hart(const tl_event *event) { return (void)event, false; } // the block has sums

// The counter of an event. false: units of this machine do not tell it.
static bool find_counter(const tl_smpm_attached *a, const tl_event *event, uint32_t *ret_index, uint32_t *ret_scale) {
    for (uint32_t t = 0; t < a->layout.n_types; t++)
        for (uint32_t c = 0; c < a->config.ulc_ctrs; c++) {
            const tl_smpm_unit_type *type = &a->layout.types[t];
            const bool is_pulse = type->ctrs[c].feed == TL_SMPM_FEED_PULSE;
            if (type->ctrs[c].feed == TL_SMPM_FEED_NONE)
                continue;
            if (&tl_smpm_events[is_pulse ? type->multi[type->ctrs[c].input] : type->bits[type->ctrs[c].input]] != event)
                continue;
            *ret_index = tl_smpm_ctr_index(&a->config, t, c);
            *ret_scale = is_pulse ? a->config.mb_max : 1;
            return true;
        }
    return false;
}

static tl_status start(tl_machine *machine, const tl_listed *listed, tl_error *err) {
    uint32_t index, scale;
    for (uint32_t e = 0; e < listed->n_events; e++)
        if (!find_counter(attached_on(machine), listed->events[e], &index, &scale))
            return tl_fail(err, TL_EINVAL,
                           "machine %s has no counter %s: its units have %u counters and %u multi-bit inputs; set smpm.ulc_ctrs and "
                           "smpm.mb_inputs higher, and smpm.ulc_lanes with them",
                           machine->config.name, listed->events[e]->name, attached_on(machine)->config.ulc_ctrs,
                           attached_on(machine)->config.mb_inputs);
    return TL_OK;
}

// Brings all counts into the blocks: the units tell what is left, then a flush. Only the clock of
// the design goes on.
static void take_snapshot(const tl_machine *machine, tl_smpm_attached *a) {
    uint64_t status = STATUS_BUSY, now = a->base_cycle + tl_smpm_now(a->model);
    for (uint32_t hart = 0; hart < machine->n_harts; hart++)
        now = machine->harts[hart]->now > now ? machine->harts[hart]->now : now;
    (void)tl_pmu_smpm.tick(&a->pmu, now += N_PERIODS * a->config.ulc_period);
    (void)!tl_regfile_write(&a->pmu.file, TB_FLUSH, 1);
    for (uint32_t i = 0; i < MAX_STEPS && (status & STATUS_BUSY); i++) {
        (void)tl_pmu_smpm.tick(&a->pmu, now += STEP_CYCLES);
        (void)!tl_regfile_read(&a->pmu.file, TB_STATUS, &status);
    }
}

static uint64_t value(tl_machine *machine, const tl_listed *listed, uint32_t event, uint32_t hart) {
    static const uint32_t TRIES = 4;
    tl_smpm_attached *a = attached_on(machine);
    uint64_t copy[TL_SMPM_MAX_BLOCK_WORDS];
    tl_smpm_block decoded;
    uint32_t n_words, index = 0, scale = 1;
    (void)hart;
    if (machine->harts[0]->now == 0)
        return 0; // before the program
    if (event == 0)
        take_snapshot(machine, a);
    const uint64_t *words = tl_smpm_block_words(a->model, tl_smpm_block_of(a->model, TL_SMPM_ONLY_VM, TL_SMPM_NO_CTX), &n_words);
    if (!find_counter(a, listed->events[event], &index, &scale) || n_words > TL_COUNT_OF(copy) ||
        tl_smpm_block_copy(words, n_words, TRIES, copy) != TL_SMPM_COPIED || tl_smpm_block_decode(copy, n_words, &decoded, NULL) != TL_OK)
        return 0;
    return tl_smpm_block_value(&decoded, TL_SMPM_CTR, index).count * scale;
}

static const tl_listed_hooks hooks = {.is_of_hart = is_of_hart, .start = start, .value = value};

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    (void)catalogue;
    return tl_listed_resolve(&hooks, &tl_pmu_smpm, tl_pmu_chosen(&tl_pmu_smpm, config), default_events, options, arena, ret_source, err);
}

const tl_source_type tl_source_smpm = {
    .pmu = &tl_pmu_smpm,
    .configure = configure,
    .resolve = resolve,
    TL_LISTED_READER,
};
