// SPDX-License-Identifier: MIT
// Keys of the machine and of its PMUs as one list: see keys.h.
#include "machine/keys.h"

#include <assert.h>
#include <string.h>

// Room for the settings of any design.
typedef union any_settings {
    uint64_t words[128];
    unsigned char bytes[1024];
} any_settings;

// `path` is of the section that the key is in.
static bool is_in_section(const tl_key *key, const char *path) {
    size_t n = strcspn(path, ".");
    return path[n] == '.' && strncmp(key->path, path, n + 1) == 0;
}

static void add(tl_key_list *list, const tl_key *key) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->keys[i] == key)
            return;
    // The designs' tables are constant; the contract test counts them.
    assert(list->n < TL_MAX_KEYS);
    list->keys[list->n++] = key;
}

// `after` NULL: all that are not in the list yet.
static void add_pmu_keys(tl_key_list *list, const tl_key *after) {
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
        for (const tl_key *key = (*type)->keys; key && key->path; key++)
            if (!after || is_in_section(key, after->path))
                add(list, key);
}

void tl_key_list_init(tl_key_list *ret_list) {
    ret_list->n = 0;
    for (uint32_t i = 0; i < tl_n_config_keys; i++) {
        const tl_key *key = &tl_config_keys[i];
        add(ret_list, key);
        if (i + 1 == tl_n_config_keys || !is_in_section(&tl_config_keys[i + 1], key->path))
            add_pmu_keys(ret_list, key);
    }
    add_pmu_keys(ret_list, NULL);
}

void tl_key_list_of(const tl_config *config, tl_key_list *ret_list) {
    tl_config plain;
    tl_config_default(&plain);
    tl_key_list all;
    tl_key_list_init(&all);
    ret_list->n = 0;
    for (uint32_t i = 0; i < all.n; i++) {
        const tl_key *key = all.keys[i];
        if (tl_key_pmu(key) || tl_config_key_applies(key, config) || tl_key_read(key, config) != tl_key_read(key, &plain))
            ret_list->keys[ret_list->n++] = key;
    }
}

// Returns the design of the key, and the index of its value in tl_config.pmu. NULL: a key of the
// machine.
static const tl_pmu_type *owner_of(const tl_key *key, uint32_t *ret_index) {
    uint32_t index = 0;
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
        for (const tl_key *own = (*type)->keys; own && own->path; own++, index++)
            if (own == key) {
                assert(index < TL_MAX_PMU_KEYS);
                *ret_index = index;
                return *type;
            }
    return NULL;
}

const tl_pmu_type *tl_key_pmu(const tl_key *key) {
    uint32_t index;
    return owner_of(key, &index);
}

static bool is_of_section(const tl_key *key, const char *name, size_t n) { return strncmp(key->path, name, n) == 0 && key->path[n] == '.'; }

bool tl_key_is_section(const char *name) {
    const size_t n = strlen(name);
    for (uint32_t i = 0; i < tl_n_config_keys; i++)
        if (is_of_section(&tl_config_keys[i], name, n))
            return true;
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
        for (const tl_key *key = (*type)->keys; key && key->path; key++)
            if (is_of_section(key, name, n))
                return true;
    return false;
}

const tl_key *tl_key_find(const char *path) {
    for (uint32_t i = 0; i < tl_n_config_keys; i++)
        if (strcmp(tl_config_keys[i].path, path) == 0)
            return &tl_config_keys[i];
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
        for (const tl_key *key = (*type)->keys; key && key->path; key++)
            if (strcmp(key->path, path) == 0)
                return key;
    return NULL;
}

uint64_t tl_key_number(const tl_key *key, const tl_config *config) {
    uint32_t index;
    const tl_pmu_type *type = owner_of(key, &index);
    if (!type)
        return tl_key_read(key, config);
    bool is_set = config->pmu.is_set[index / 64] >> index % 64 & 1;
    return is_set ? config->pmu.values[index] : tl_key_read(key, type->default_settings);
}

const char *tl_key_text(const tl_key *key, const tl_config *config) {
    return key->kind == TL_KEY_TEXT ? (const char *)config + key->offset : NULL;
}

void tl_key_set_number(const tl_key *key, tl_config *config, uint64_t value) {
    uint32_t index;
    if (!owner_of(key, &index)) {
        tl_key_store(key, config, value);
        return;
    }
    config->pmu.is_set[index / 64] |= UINT64_C(1) << index % 64;
    config->pmu.values[index] = value;
}

uint64_t tl_keys_get(const tl_config *config, const char *path) { return tl_key_number(tl_key_find(path), config); }

void tl_keys_set(tl_config *config, const char *path, uint64_t value) { tl_key_set_number(tl_key_find(path), config, value); }

void tl_pmu_settings_of(const tl_pmu_type *type, const tl_config *config, void *ret_settings) {
    if (type->settings_size > 0)
        memcpy(ret_settings, type->default_settings, type->settings_size);
    for (const tl_key *key = type->keys; key && key->path; key++)
        tl_key_store(key, ret_settings, tl_key_number(key, config));
}

static const void *settings_in(any_settings *room, const tl_pmu_type *type, const tl_config *config) {
    assert(type->settings_size <= sizeof *room); // a constant of the design; test_keys.c holds it
    tl_pmu_settings_of(type, config, room->bytes);
    return room->bytes;
}

const tl_pmu_preset *tl_pmu_chosen(const tl_pmu_type *type, const tl_config *config) {
    any_settings room;
    return type->choose ? type->choose(settings_in(&room, type, config)) : NULL;
}

static tl_status check_pmu(const tl_pmu_type *type, const tl_config *config, tl_error *err) {
    any_settings room;
    for (const tl_key *key = type->keys; key && key->path; key++) {
        uint64_t value = tl_key_number(key, config);
        tl_error why;
        if (tl_key_check_number(key, value, &why) != TL_OK)
            return tl_key_refuse(key, value, err, "%s", why.text);
    }
    const void *settings = settings_in(&room, type, config);
    if (type->isas != 0 && !(type->isas >> config->isa & 1) && type->choose && type->choose(settings))
        return tl_fail(err, TL_EINVAL, "%s = %s: harts with the instruction set of this machine cannot have these counters; set it to none",
                       type->keys[0].path, type->choose(settings)->name);
    return type->check ? type->check(settings, err) : TL_OK;
}

tl_status tl_keys_check(const tl_config *config, tl_error *err) {
    tl_status status = tl_config_check(config, err);
    for (const tl_pmu_type *const *type = tl_pmu_types; *type && status == TL_OK; type++)
        status = check_pmu(*type, config, err);
    return status;
}

tl_status tl_keys_check_grants(const tl_config *config, tl_error *err) {
    any_settings room;
    tl_status status = TL_OK;
    for (const tl_pmu_type *const *type = tl_pmu_types; *type && status == TL_OK; type++)
        if ((*type)->check_grant)
            status = (*type)->check_grant(settings_in(&room, *type, config), err);
    return status;
}
