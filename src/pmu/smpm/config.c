// SPDX-License-Identifier: MIT
// Rows of keys.def, the two profiles, and the rules of parameters among each other. Rules that need
// to know which units exist stand in layout.c.
#include "base/bits.h"
#include "pmu/smpm/smpm.h"

static const char *const profiles[] = {"none", "safe", "literal", NULL};
static const char *const overflows[] = {"saturate", "wrap", NULL};
static const char *const snaps[] = {"atomic", "rolling", NULL};
static const char *const residues[] = {"by_profile", "drop", "export", NULL};
static const char *const switches[] = {"by_profile", "off", "on", NULL};
static const char *const groups[] = {"per_partition", "per_hart", NULL};
static const char *const arbiters[] = {"by_profile", "tdm", "round_robin", NULL};

const tl_key tl_smpm_keys[] = {
#define NUMBER(...) TL_KEY_NUMBER(tl_smpm_config, __VA_ARGS__)
#define CHOICE(...) TL_KEY_NAMED(tl_smpm_config, __VA_ARGS__)
#include "pmu/smpm/keys.def"
#undef NUMBER
#undef CHOICE
    {.path = NULL},
};

const tl_smpm_config tl_smpm_default_settings = {
    .profile = TL_SMPM_NONE,
    .ulc_ctrs = 45,
    .ulc_bits = 9,
    .ulc_period = 511,
    .ulc_lanes = 1,
    .mb_max = 32,
    .mb_inputs = 4,
    .ccu_ulcs = 48,
    .ccu_bits = 28,
    .ccu_banks = TL_SMPM_BANKS,
    .fanin = 1,
    .rec_ctrs = TL_SMPM_REC_CTRS,
    .tb_period = 65536,
    .rcb_depth = 64,
    .rcb_shared_depth = 1024,
    .noc_cycles = 4,
    .rc_bits = 64,
    .mem_cycles = 8,
    .manager_cycles = 4,
    .save_cycles = 100,
    .load_cycles = 100,
    .filters = 8,
    .snapshot_cycles = 10000,
    .record_cycles = 1000000,
};

// A choice that the description leaves to the profile.
static void settle(uint32_t *value, const tl_smpm_config *config, uint32_t if_safe, uint32_t if_literal) {
    if (*value == 0)
        *value = config->profile == TL_SMPM_LITERAL ? if_literal : if_safe;
}

void tl_smpm_config_resolve(tl_smpm_config *config) {
    settle(&config->residue_policy, config, TL_SMPM_EXPORT, TL_SMPM_DROP);
    settle(&config->frame_flags, config, TL_SMPM_ON, TL_SMPM_ON);
    settle(&config->frame_parity, config, TL_SMPM_ON, TL_SMPM_OFF);
    settle(&config->zero_frames, config, TL_SMPM_OFF, TL_SMPM_OFF);
    settle(&config->arb, config, TL_SMPM_TDM, TL_SMPM_ROUND_ROBIN);
    settle(&config->fixed_routing, config, TL_SMPM_ON, TL_SMPM_OFF);
    settle(&config->skip_zeros, config, TL_SMPM_OFF, TL_SMPM_OFF);
    settle(&config->gate_at_pause, config, TL_SMPM_ON, TL_SMPM_OFF);
    settle(&config->count_switch, config, TL_SMPM_ON, TL_SMPM_ON);
    settle(&config->hv_reads_vm, config, TL_SMPM_ON, TL_SMPM_OFF);
    settle(&config->vm_switch_flush, config, TL_SMPM_ON, TL_SMPM_OFF);
    if (config->mb_acc_bits == 0)
        config->mb_acc_bits = tl_smpm_scale_log2(config) + 1;
}

tl_smpm_config tl_smpm_config_default(tl_smpm_profile profile) {
    tl_smpm_config config = tl_smpm_default_settings;
    config.profile = profile;
    tl_smpm_config_resolve(&config);
    return config;
}

// ---- rules

const tl_key *tl_smpm_key_of(const tl_smpm_config *config, const uint32_t *value) {
    const tl_key *key = tl_smpm_keys;
    while (key->offset != (size_t)((const char *)value - (const char *)config))
        key++;
    return key;
}

#define REFUSE(field, ...) tl_key_refuse(tl_smpm_key_of(config, &config->field), config->field, err, __VA_ARGS__)

static tl_status check_ranges(const tl_smpm_config *config, tl_error *err) {
    for (const tl_key *key = tl_smpm_keys; key->path; key++) {
        tl_error why;
        const uint64_t value = tl_key_read(key, config);
        if (tl_key_check_number(key, value, &why) != TL_OK)
            return tl_key_refuse(key, value, err, "%s", why.text);
    }
    return TL_OK;
}

// Fewest lanes with which a frame fits its window; 0: eight do not suffice.
static uint32_t lanes_needed(const tl_smpm_config *config) {
    tl_smpm_config with = *config;
    for (with.ulc_lanes = 1; with.ulc_lanes <= 8; with.ulc_lanes++)
        if (tl_smpm_frame_cycles(&with, false) < config->ulc_period)
            return with.ulc_lanes;
    return 0;
}

static tl_status check_windows(const tl_smpm_config *config, tl_error *err) {
    const uint32_t frame = tl_smpm_frame_cycles(config, false), lanes = lanes_needed(config);
    if (config->ulc_period > tl_smpm_ulc_max(config))
        return REFUSE(ulc_period,
                      "a counter of %u bits would overflow in a window that long; set it to at most %llu, or raise smpm.ulc_bits",
                      config->ulc_bits, (unsigned long long)tl_smpm_ulc_max(config));
    if (config->ulc_period > frame)
        return TL_OK;
    if (lanes != 0)
        return REFUSE(ulc_period, "a frame takes %u cycles on %u lane%s; set it to at least %u, or smpm.ulc_lanes to %u", frame,
                      config->ulc_lanes, config->ulc_lanes == 1 ? "" : "s", frame + 1, lanes);
    return REFUSE(ulc_period,
                  "a frame takes %u cycles and does not fit on 8 lanes either; lower smpm.ulc_ctrs or raise smpm.ulc_bits with it", frame);
}

static tl_status check_inputs(const tl_smpm_config *config, tl_error *err) {
    const uint32_t bits = tl_smpm_scale_log2(config) + 1;
    if (config->mb_acc_bits != 0 && config->mb_acc_bits != bits)
        return REFUSE(mb_acc_bits, "an input of at most %u in a cycle needs %u bits; set it to %u, or to 0", config->mb_max, bits, bits);
    if (config->mb_inputs > config->ulc_ctrs)
        return REFUSE(mb_inputs, "each input takes a counter, and there are %u; set it to at most that, or raise smpm.ulc_ctrs",
                      config->ulc_ctrs);
    if (config->fanin > config->ccu_ulcs)
        return REFUSE(fanin, "a collection unit serves only %u units; set it to at most that, or raise smpm.ccu_ulcs", config->ccu_ulcs);
    return TL_OK;
}

tl_status tl_smpm_config_check(const tl_smpm_config *config, tl_error *err) {
    tl_smpm_config resolved = *config;
    tl_status status = check_ranges(config, err);
    if (status != TL_OK || config->profile == TL_SMPM_NONE)
        return status;
    tl_smpm_config_resolve(&resolved);
    status = check_windows(&resolved, err);
    return status == TL_OK ? check_inputs(&resolved, err) : status;
}
