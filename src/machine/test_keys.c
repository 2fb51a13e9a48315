// SPDX-License-Identifier: MIT
// Keys of the machine and of its designs as one list, over the designs of this build.
#include "machine/keys.h"

#include <string.h>

#include "base/testing.h"

static size_t section_length(const char *path) {
    size_t n = strcspn(path, ".");
    return path[n] ? n : 0;
}

static bool is_same_section(const char *a, const char *b) {
    size_t n = section_length(a);
    return n > 0 && n == section_length(b) && strncmp(a, b, n) == 0;
}

static void test_the_list_has_every_key_once_and_sections_in_one_piece(void **state) {
    (void)state;
    tl_key_list list;
    uint32_t n = tl_n_config_keys;
    tl_key_list_init(&list);
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
        for (const tl_key *key = (*type)->keys; key && key->path; key++, n++)
            assert_ptr_equal(tl_key_pmu(key), *type);
    assert_int_equal(list.n, n);
    assert_true(n - tl_n_config_keys <= TL_MAX_PMU_KEYS);
    for (uint32_t i = 0; i < list.n; i++) {
        assert_ptr_equal(tl_key_find(list.keys[i]->path), list.keys[i]); // no two have one path
        bool has_left = false;
        for (uint32_t k = i + 1; k < list.n; k++) {
            bool is_same = is_same_section(list.keys[i]->path, list.keys[k]->path);
            assert_false(has_left && is_same);
            has_left |= !is_same;
        }
    }
    assert_null(tl_key_find("no.such.key"));
    assert_null(tl_key_pmu(tl_key_find("l1d.ways")));
}

static bool has_key(const tl_key_list *list, const char *path) {
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->keys[i]->path, path) == 0)
            return true;
    return false;
}

static void test_keys_that_no_part_reads_are_listed_only_if_they_were_set(void **state) {
    (void)state;
    tl_key_list all, list;
    tl_config config;
    tl_key_list_init(&all);
    tl_config_default(&config);
    tl_key_list_of(&config, &list);
    uint32_t n_core = 0;
    for (uint32_t i = 0; i < all.n; i++)
        n_core += strncmp(all.keys[i]->path, "core.", 5) == 0;
    // These are all keys of section core but core.kind, those of tage, dtlb.shared, and seven of
    // the memory behind a detailed core.
    assert_int_equal(list.n, all.n - (n_core - 1) - 5 - 1 - 7);
    assert_true(has_key(&list, "core.kind") && has_key(&list, "bp.history_bits") && has_key(&list, "bp.btb_entries"));
    assert_false(has_key(&list, "core.fetch") || has_key(&list, "core.data_ports") || has_key(&list, "bp.tables") ||
                 has_key(&list, "l1d.write") || has_key(&list, "mem.queue") || has_key(&list, "dtlb.shared"));
    config.core.rob_uops = 64;
    tl_key_list_of(&config, &list);
    assert_true(has_key(&list, "core.rob"));
    config.core.kind = TL_CORE_OUT_OF_ORDER;
    tl_key_list_of(&config, &list);
    assert_int_equal(list.n, all.n - 5);
    config.bp.kind = TL_BP_TAGE;
    tl_key_list_of(&config, &list);
    assert_int_equal(list.n, all.n);
}

static void test_values_of_designs_are_apart_and_start_as_defaults(void **state) {
    (void)state;
    tl_key_list list;
    tl_config config;
    tl_key_list_init(&list);
    tl_config_default(&config);
    for (uint32_t i = 0; i < list.n; i++)
        if (tl_key_pmu(list.keys[i]))
            assert_int_equal(tl_key_number(list.keys[i], &config), tl_key_read(list.keys[i], tl_key_pmu(list.keys[i])->default_settings));
    for (uint32_t i = 0; i < list.n; i++) { // each gets a value of its own
        const tl_key *key = list.keys[i];
        uint64_t room = key->max - key->min;
        if (tl_key_pmu(key))
            tl_key_set_number(key, &config, key->min + (room == UINT64_MAX ? i : i % (room + 1)));
    }
    for (uint32_t i = 0; i < list.n; i++) {
        const tl_key *key = list.keys[i];
        uint64_t room = key->max - key->min;
        if (tl_key_pmu(key))
            assert_int_equal(tl_key_number(key, &config), key->min + (room == UINT64_MAX ? i : i % (room + 1)));
    }
}

static void test_rows_of_designs_are_sound(void **state) {
    (void)state;
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++) {
        bool is_used[1024] = {0};
        assert_true((*type)->settings_size <= sizeof is_used);
        for (const tl_key *key = (*type)->keys; key && key->path; key++) {
            size_t n = key->kind == TL_KEY_U64 ? 8 : 4, n_meaning = strlen(key->meaning);
            uint64_t value = tl_key_read(key, (*type)->default_settings);
            assert_int_not_equal(key->kind, TL_KEY_TEXT);
            assert_true(key->offset + n <= (*type)->settings_size);
            for (size_t k = 0; k < n; k++) {
                assert_false(is_used[key->offset + k]); // two keys for one value
                is_used[key->offset + k] = true;
            }
            assert_true(n_meaning > 10 && key->meaning[n_meaning - 1] == '.');
            assert_true(value >= key->min && value <= key->max);
            for (uint64_t k = 0; key->kind == TL_KEY_CHOICE && k <= key->max; k++)
                assert_non_null(key->choices[k]);
        }
    }
}

// The first key of a design with a range that can be left.
static const tl_key *bounded_key(void) {
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
        for (const tl_key *key = (*type)->keys; key && key->path; key++)
            if (key->kind == TL_KEY_U32 && key->max < UINT32_MAX && key->min > 0)
                return key;
    return NULL;
}

static void test_values_out_of_range_are_refused_by_path(void **state) {
    (void)state;
    const tl_key *key = bounded_key();
    tl_config config;
    tl_error err;
    assert_non_null(key);
    for (uint32_t is_above = 0; is_above < 2; is_above++) {
        tl_config_default(&config);
        assert_int_equal(tl_keys_check(&config, &err), TL_OK);
        tl_key_set_number(key, &config, is_above ? key->max + 1 : key->min - 1);
        assert_int_equal(tl_keys_check(&config, &err), TL_EINVAL);
        assert_int_equal(strncmp(err.text, key->path, strlen(key->path)), 0);
        tl_key_set_number(key, &config, is_above ? key->max : key->min);
        assert_int_equal(tl_keys_check(&config, &err), TL_OK);
    }
    tl_config_default(&config);
    tl_keys_set(&config, "l1d.ways", 3);
    assert_int_equal(tl_keys_check(&config, &err), TL_EINVAL); // the machine's own rules, too
}

static void test_sections_are_those_of_machine_and_designs(void **state) {
    (void)state;
    assert_true(tl_key_is_section("l1d"));
    assert_true(tl_key_is_section("dhpc")); // of a design alone
    assert_false(tl_key_is_section("l1d.ways"));
    assert_false(tl_key_is_section("l1"));
    assert_false(tl_key_is_section("pmu")); // a key without a section
    assert_false(tl_key_is_section(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections_are_those_of_machine_and_designs),
        cmocka_unit_test(test_the_list_has_every_key_once_and_sections_in_one_piece),
        cmocka_unit_test(test_keys_that_no_part_reads_are_listed_only_if_they_were_set),
        cmocka_unit_test(test_values_of_designs_are_apart_and_start_as_defaults),
        cmocka_unit_test(test_rows_of_designs_are_sound),
        cmocka_unit_test(test_values_out_of_range_are_refused_by_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
