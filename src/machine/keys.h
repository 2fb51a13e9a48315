// SPDX-License-Identifier: MIT
// Every key of a machine description: those of tl_config and those of each PMU design
// (tl_pmu_types). Values of a design's keys are in tl_config.pmu; tl_pmu_settings_of gives them as
// the design's own struct.
#ifndef TL_MACHINE_KEYS_H
#define TL_MACHINE_KEYS_H

#include "model/config_keys.h"
#include "model/pmu.h"

enum { TL_MAX_KEYS = 512 };

// Keys in the order of listings. Keys of one section ("l2.") stand together. Keys of a design
// follow those of the machine.
typedef struct tl_key_list {
    const tl_key *keys[TL_MAX_KEYS];
    uint32_t n;
} tl_key_list;
void tl_key_list_init(tl_key_list *ret_list);
// Those that say something about one machine: without keys that no part of it reads
// (tl_config_key_applies) and that have the value of the default machine.
void tl_key_list_of(const tl_config *config, tl_key_list *ret_list);

// Whether some key's path begins with this section, such as "l2".
bool tl_key_is_section(const char *name);
const tl_key *tl_key_find(const char *path); // NULL: no such key
// Of TL_KEY_CHOICE the index; of text 0.
uint64_t tl_key_number(const tl_key *key, const tl_config *config);
// NULL unless the kind is TL_KEY_TEXT.
const char *tl_key_text(const tl_key *key, const tl_config *config);
// The value has been checked.
void tl_key_set_number(const tl_key *key, tl_config *config, uint64_t value);
// The value of the key with this path. The path must be that of a key.
uint64_t tl_keys_get(const tl_config *config, const char *path);
void tl_keys_set(tl_config *config, const char *path, uint64_t value);
// The design whose key it is; NULL: the machine's own.
const tl_pmu_type *tl_key_pmu(const tl_key *key);

// The design's settings, type->settings_size bytes.
void tl_pmu_settings_of(const tl_pmu_type *type, const tl_config *config, void *ret_settings);

// The preset of a design that the machine has; NULL: it has no such PMU.
const tl_pmu_preset *tl_pmu_chosen(const tl_pmu_type *type, const tl_config *config);

// tl_config_check, then every rule of the designs' keys. TL_EINVAL names the key.
TL_MUST_CHECK tl_status tl_keys_check(const tl_config *config, tl_error *err);
// Every PMU that programs under the user-mode personality are permitted to use is there.
TL_MUST_CHECK tl_status tl_keys_check_grants(const tl_config *config, tl_error *err);

#endif
