// SPDX-License-Identifier: MIT
// The rows of config_keys.def as a table, and what one row can check by itself.
#include "model/config_keys.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

static const char *const replacements[] = {"lru", "plru", "fifo", "random", NULL};
static const char *const prefetchers[] = {"none", "next_line", NULL};
static const char *const pmu_presets[] = {"linux", "u74", "none", NULL};
static const char *const hpc_modes[] = {"none", "timed", "functional", NULL};
static const char *const hpc_samplings[] = {"live", "snapshot", NULL};
static const char *const hpc_ctxsws[] = {"trap", "satp", "ecall", "never", NULL};
static const char *const switches[] = {"off", "on", NULL};
static const char *const hpc_grants[] = {"denied", "granted", "until_exec", NULL};
static const char *const grants[] = {"denied", "granted", NULL};
static const char *const bp_kinds[] = {"bht", "gshare", "btfn", "not_taken", NULL};

const tl_key tl_keys[] = {
#define NUMBER(key, field, bits, how, least, most, what, beyond, sentence) \
    {.path = #key,                                                         \
     .kind = TL_KEY_##bits,                                                \
     .scale = TL_SCALE_##how,                                              \
     .min = least,                                                         \
     .max = most,                                                          \
     .unit = what,                                                         \
     .rule = beyond,                                                       \
     .meaning = sentence,                                                  \
     .offset = offsetof(tl_config, field)},
#define CHOICE(key, field, names, sentence) \
    {.path = #key,                          \
     .kind = TL_KEY_CHOICE,                 \
     .max = TL_COUNT_OF(names) - 2,         \
     .unit = "",                            \
     .choices = names,                      \
     .meaning = sentence,                   \
     .offset = offsetof(tl_config, field)},
#define TEXT(key, field, least, most, sentence) \
    {.path = #key, .kind = TL_KEY_TEXT, .min = least, .max = most, .unit = "", .meaning = sentence, .offset = offsetof(tl_config, field)},
#include "model/config_keys.def"
#undef NUMBER
#undef CHOICE
#undef TEXT
};
const uint32_t tl_n_keys = TL_COUNT_OF(tl_keys);

// Every enum of tl_config is read and written as an unsigned of its size.
static_assert(sizeof(tl_replacement) == 4 && sizeof(tl_prefetch) == 4 && sizeof(tl_bp_kind) == 4 && sizeof(tl_pmu_preset_name) == 4 &&
                  sizeof(tl_hpc_mode) == 4 && sizeof(tl_grant) == 4 && sizeof(tl_hpc_sampling) == 4 && sizeof(tl_hpc_ctxsw) == 4 &&
                  sizeof(tl_switch) == 4,
              "enums are four bytes");

const tl_key *tl_key_find(const char *path) {
    for (uint32_t i = 0; i < tl_n_keys; i++)
        if (strcmp(tl_keys[i].path, path) == 0)
            return &tl_keys[i];
    return NULL;
}

uint64_t tl_key_number(const tl_key *key, const tl_config *config) {
    const char *field = (const char *)config + key->offset;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    switch (key->kind) {
    case TL_KEY_U64: memcpy(&wide, field, sizeof wide); return wide;
    case TL_KEY_U32:
    case TL_KEY_CHOICE: memcpy(&narrow, field, sizeof narrow); return narrow;
    case TL_KEY_TEXT: break;
    }
    return 0;
}

const char *tl_key_text(const tl_key *key, const tl_config *config) {
    return key->kind == TL_KEY_TEXT ? (const char *)config + key->offset : NULL;
}

tl_status tl_key_check_number(const tl_key *key, uint64_t value, tl_error *err) {
    if (value >= key->min && value <= key->max)
        return TL_OK;
    char min[32], max[32];
    tl_format_u64(key->min, key->scale, min);
    tl_format_u64(key->max, key->scale, max);
    return tl_fail(err, TL_EINVAL, "must be between %s and %s", min, max);
}

void tl_key_set_number(const tl_key *key, tl_config *config, uint64_t value) {
    char *field = (char *)config + key->offset;
    uint32_t narrow = (uint32_t)value;
    switch (key->kind) {
    case TL_KEY_U64: memcpy(field, &value, sizeof value); break;
    case TL_KEY_U32:
    case TL_KEY_CHOICE: memcpy(field, &narrow, sizeof narrow); break;
    case TL_KEY_TEXT: break;
    }
}
