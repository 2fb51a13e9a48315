// SPDX-License-Identifier: MIT
// Keys of a machine description: a row says how a value is spelled, its range and what it means.
// Rows of config_keys.def name values of tl_config; each PMU design has a keys.def of its own,
// whose rows name values of the design's settings (model/pmu.h). machine/keys.h lists all of them,
// and the reader of descriptions, overrides, listings and docs/machines.md work from that list.
#ifndef TL_MODEL_CONFIG_KEYS_H
#define TL_MODEL_CONFIG_KEYS_H

#include <stddef.h>

#include "base/bits.h"
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
    // Offset of the value in the struct that holds it: 4 bytes, 8 (TL_KEY_U64) or text.
    size_t offset;
} tl_key;

// Rows of a .def file as elements of a tl_key array. `type` is the struct that holds the values.
#define TL_KEY_NUMBER(type, key, field, bits, how, least, most, what, beyond, sentence) \
    {.path = #key,                                                                      \
     .kind = TL_KEY_##bits,                                                             \
     .scale = TL_SCALE_##how,                                                           \
     .min = least,                                                                      \
     .max = most,                                                                       \
     .unit = what,                                                                      \
     .rule = beyond,                                                                    \
     .meaning = sentence,                                                               \
     .offset = offsetof(type, field)},
#define TL_KEY_NAMED(type, key, field, names, sentence) \
    {.path = #key,                                      \
     .kind = TL_KEY_CHOICE,                             \
     .max = TL_COUNT_OF(names) - 2,                     \
     .unit = "",                                        \
     .choices = names,                                  \
     .meaning = sentence,                               \
     .offset = offsetof(type, field)},

extern const tl_key tl_config_keys[]; // of tl_config
// false: no part of this machine reads the value, as the ports of a core in order. `key` is of
// tl_config_keys.
bool tl_config_key_applies(const tl_key *key, const tl_config *config);
extern const uint32_t tl_n_config_keys;

// The value in `holder`, the struct of the row's offset; of TL_KEY_CHOICE its index; 0 for text.
uint64_t tl_key_read(const tl_key *key, const void *holder);
// Not for text. The value has been checked.
void tl_key_store(const tl_key *key, void *holder, uint64_t value);
// Checks a number against its row alone: TL_EINVAL "must be between 1 and 64". The caller puts key
// and value in front.
TL_MUST_CHECK tl_status tl_key_check_number(const tl_key *key, uint64_t value, tl_error *err);
// Fails with TL_EINVAL and "l1d.ways = 3: " in front of the sentence.
TL_MUST_CHECK tl_status tl_key_refuse(const tl_key *key, uint64_t value, tl_error *err, const char *format, ...) TL_PRINTF(4, 5);

#endif
