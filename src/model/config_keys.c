// SPDX-License-Identifier: MIT
// The rows of config_keys.def as a table, and what one row can check by itself.
#include "model/config_keys.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const replacements[] = {"lru", "plru", "fifo", "random", NULL};
static const char *const prefetchers[] = {"none", "next_line", NULL};
static const char *const l2_fills[] = {"miss", "evict", NULL};
static const char *const first_tlb_drops[] = {"matching", "all", NULL};
static const char *const write_policies[] = {"back", "through", NULL};
static const char *const isas[] = {"riscv64", "aarch64", NULL};
static const char *const core_kinds[] = {"in_order", "out_of_order", NULL};
static const char *const unpredictables[] = {"undefined", "nop", "executed", NULL};
static const char *const bp_kinds[] = {"bht", "gshare", "btfn", "not_taken", "tage", NULL};

const tl_key tl_config_keys[] = {
#define NUMBER(...) TL_KEY_NUMBER(tl_config, __VA_ARGS__)
#define CHOICE(...) TL_KEY_NAMED(tl_config, __VA_ARGS__)
#define TEXT(key, field, least, most, sentence) \
    {.path = #key, .kind = TL_KEY_TEXT, .min = least, .max = most, .unit = "", .meaning = sentence, .offset = offsetof(tl_config, field)},
#include "model/config_keys.def"
#undef NUMBER
#undef CHOICE
#undef TEXT
};
const uint32_t tl_n_config_keys = TL_COUNT_OF(tl_config_keys);

// Every enum of tl_config is read and written as an unsigned of its size.
static_assert(sizeof(tl_replacement) == 4 && sizeof(tl_prefetch) == 4 && sizeof(tl_bp_kind) == 4 && sizeof(tl_write_policy) == 4 &&
                  sizeof(tl_l2_fill) == 4 && sizeof(tl_first_tlb_drop) == 4,
              "enums are four bytes");

static bool is_within(const tl_key *key, size_t first, size_t end) { return key->offset >= first && key->offset < end; }

bool tl_config_key_applies(const tl_key *key, const tl_config *config) {
    if (is_within(key, offsetof(tl_config, core.threads), offsetof(tl_config, core) + sizeof config->core))
        return config->core.kind == TL_CORE_OUT_OF_ORDER;
    if (is_within(key, offsetof(tl_config, bsq), offsetof(tl_config, bsq) + sizeof config->bsq))
        return config->core.kind == TL_CORE_OUT_OF_ORDER;
    if (is_within(key, offsetof(tl_config, bp.tables), offsetof(tl_config, bp.btb_entries)))
        return config->bp.kind == TL_BP_TAGE;
    return true;
}

uint64_t tl_key_read(const tl_key *key, const void *holder) {
    const char *field = (const char *)holder + key->offset;
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

void tl_key_store(const tl_key *key, void *holder, uint64_t value) {
    char *field = (char *)holder + key->offset;
    uint32_t narrow = (uint32_t)value;
    switch (key->kind) {
    case TL_KEY_U64: memcpy(field, &value, sizeof value); break;
    case TL_KEY_U32:
    case TL_KEY_CHOICE: memcpy(field, &narrow, sizeof narrow); break;
    case TL_KEY_TEXT: break;
    }
}

tl_status tl_key_check_number(const tl_key *key, uint64_t value, tl_error *err) {
    if (value >= key->min && value <= key->max)
        return TL_OK;
    char min[32], max[32];
    tl_format_u64(key->min, key->scale, min);
    tl_format_u64(key->max, key->scale, max);
    return tl_fail(err, TL_EINVAL, "must be between %s and %s", min, max);
}

tl_status tl_key_refuse(const tl_key *key, uint64_t value, tl_error *err, const char *format, ...) {
    char sentence[300], text[32] = "";
    if (key->kind == TL_KEY_CHOICE && value <= key->max)
        snprintf(text, sizeof text, "%s", key->choices[value]);
    else if (key->kind != TL_KEY_TEXT)
        tl_format_u64(value, key->scale, text);
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return tl_fail(err, TL_EINVAL, "%s = %s: %s", key->path, text, sentence);
}
