// SPDX-License-Identifier: MIT
// The keys of a machine description: one row for each value of tl_config says how it is spelled, its range and what it means. The
// reader of descriptions, tl_config_check, overrides, listings and docs/machines.md all work from these rows.
#ifndef TL_MODEL_CONFIG_KEYS_H
#define TL_MODEL_CONFIG_KEYS_H

#include <stddef.h>

#include "base/parse.h"
#include "model/config.h"

typedef enum tl_key_kind { TL_KEY_U32, TL_KEY_U64, TL_KEY_CHOICE, TL_KEY_TEXT } tl_key_kind;

typedef struct tl_key {
    const char *path; // "l1d.ways"
    tl_key_kind kind;
    tl_scale scale;             // numbers: how the value may be written
    uint64_t min, max;          // numbers: the range; text: the shortest and the longest, in bytes
    const char *unit;           // "cycles", "bytes", "Hz" or ""
    const char *const *choices; // TL_KEY_CHOICE: names in order of the enum, NULL-terminated
    const char *rule;           // what must hold beyond the range, or NULL: "a power of two"
    const char *meaning;        // one sentence
    size_t offset;              // in tl_config
} tl_key;

extern const tl_key tl_keys[];
extern const uint32_t tl_n_keys;

const tl_key *tl_key_find(const char *path);                         // NULL: no such key
uint64_t tl_key_number(const tl_key *key, const tl_config *config);  // TL_KEY_U32, TL_KEY_U64; TL_KEY_CHOICE: the index; 0 for text
const char *tl_key_text(const tl_key *key, const tl_config *config); // TL_KEY_TEXT; else NULL
// Checks a number against its row alone: TL_EINVAL "must be between 1 and 64". The caller puts key and value in front.
TL_MUST_CHECK tl_status tl_key_check_number(const tl_key *key, uint64_t value, tl_error *err);
void tl_key_set_number(const tl_key *key, tl_config *config, uint64_t value); // value has been checked

#endif
