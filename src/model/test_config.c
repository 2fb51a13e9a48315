// SPDX-License-Identifier: MIT
#include "model/config.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "model/config_keys.h"

static void set(tl_config *config, const char *path, uint64_t value) {
    const tl_key *key = tl_config_keys;
    while (key < tl_config_keys + tl_n_config_keys && strcmp(key->path, path) != 0)
        key++;
    assert_true(key < tl_config_keys + tl_n_config_keys);
    tl_key_store(key, config, value);
}

static void test_default_machine_is_possible(void **state) {
    (void)state;
    tl_config config;
    tl_error err = {0};
    tl_config_default(&config);
    if (tl_config_check(&config, &err) != TL_OK)
        fail_msg("%s", err.text);
}

// Up to three values that together cannot be, and what is said about them.
static void test_impossible_machines_are_refused_with_a_remedy(void **state) {
    (void)state;
    static const struct {
        int line;
        struct {
            const char *path;
            uint64_t value;
        } set[3];
        const char *sentence;
    } rows[] = {
        {__LINE__, {{"harts", 0}}, "harts = 0: must be between 1 and 8"},
        {__LINE__, {{"harts", 9}}, "harts = 9: must be between 1 and 8"},
        {__LINE__, {{"clock", 1}}, "clock = 1Hz: must be between 1MHz and 100GHz"},
        {__LINE__, {{"ram", (UINT64_C(17) << 20) + 4096}}, "ram = 17412KiB: must be a multiple of 1MiB"},
        {__LINE__, {{"ram", UINT64_C(1) << 37}}, "ram = 128GiB: must be between 16MiB and 64GiB"},
        {__LINE__, {{"interleave_cycles", 0}}, "interleave_cycles = 0: must be between 1 and 1000000"},
        {__LINE__, {{"pipeline.load_use", 0}}, "pipeline.load_use = 0: must be between 1 and 64"},
        {__LINE__, {{"pipeline.fetch_bytes", 6}}, "pipeline.fetch_bytes = 6: must be 4 or 8"},
        {__LINE__, {{"bp.counters", 500}}, "bp.counters = 500: must be a power of two, such as 256 or 512"},
        {__LINE__, {{"bp.history_bits", 10}}, "bp.history_bits = 10: must be at most 9, since bp.counters = 512"},
        {__LINE__, {{"bp.btb_entries", 62}}, "bp.btb_entries = 62: must be a power of two, such as 32 or 64"},
        {__LINE__, {{"bp.kind", 5}}, "bp.kind = 5: must be between 0 and 4"},
        {__LINE__, {{"bp.kind", 4}}, "bp.kind = tage: needs core.kind: out_of_order; choose bht or gshare for a core in order"},
        {__LINE__, {{"bp.kind", 4}, {"core.kind", 1}}, NULL},
        {__LINE__,
         {{"bp.kind", 4}, {"core.kind", 1}, {"bp.max_history", 14}},
         "bp.max_history = 14: must be at least 15, since bp.min_history = 4 and bp.tables = 12"},
        {__LINE__, {{"bp.table_entries", 1000}}, "bp.table_entries = 1000: must be a power of two, such as 512 or 1024"},
        {__LINE__, {{"l1d.line", 24}}, "l1d.line = 24: must be a power of two, such as 16 or 32"},
        {__LINE__, {{"l1d.line", 8}}, "l1d.line = 8: must be between 16 and 128"},
        {__LINE__, {{"l1i.line", 24}}, "l1i.line = 24: must be a power of two, such as 16 or 32"},
        {__LINE__, {{"l2.line", 48}}, "l2.line = 48: must be a power of two, such as 32 or 64"},
        {__LINE__,
         {{"l1d.line", 32}},
         "l1d.line = 32: l1i and l2 have lines of 64 bytes, and all caches of a machine share one size; set l1i.line=32 and l2.line=32, too"},
        {__LINE__,
         {{"l1i.line", 32}},
         "l1i.line = 32: l1d and l2 have lines of 64 bytes, and all caches of a machine share one size; set l1d.line=32 and l2.line=32, too"},
        {__LINE__,
         {{"l2.line", 128}},
         "l2.line = 128: l1d and l1i have lines of 64 bytes, and all caches of a machine share one size; set l1d.line=128 and l1i.line=128, "
         "too"},
        {__LINE__,
         {{"l1d.line", 16}, {"l2.line", 128}},
         "l1d.line = 16: l1i.line is 64 and l2.line is 128, but all caches of a machine have lines of one size"},
        {__LINE__, {{"l1d.ways", 65}}, "l1d.ways = 65: must be between 1 and 64"},
        {__LINE__, {{"l1d.ways", 3}}, "l1d.size = 32KiB: must be 3 ways of 64-byte lines times a power of two, such as 24KiB or 48KiB"},
        {__LINE__, {{"l1i.size", 256}}, "l1i.size = 256: must be 8 ways of 64-byte lines times a power of two, at least 512"},
        {__LINE__,
         {{"l1d.replacement", TL_REPLACE_PLRU}, {"l1d.ways", 3}, {"l1d.size", 24 << 10}},
         "l1d.ways = 3: must be a power of two for plru; choose l1d.replacement: lru, fifo or random otherwise"},
        {__LINE__, {{"l2.slices", 3}}, "l2.slices = 3: must be a power of two, such as 2 or 4"},
        {__LINE__,
         {{"l2.size", 4096}, {"l2.slices", 16}},
         "l2.size = 4KiB: must be 8 ways of 64-byte lines in 16 slices times a power of two, at least 8KiB"},
        {__LINE__,
         {{"l2.size", 16 << 10}},
         "l2.size = 16KiB: must be at least l1i.size = 32KiB, since the second level holds every line of the first"},
        {__LINE__,
         {{"l1d.size", 1 << 20}},
         "l2.size = 512KiB: must be at least l1d.size = 1MiB, since the second level holds every line of the first"},
        {__LINE__, {{"l2.size", 16 << 10}, {"l2.fill", TL_FILL_EVICT}}, NULL}, // not inclusive
        {__LINE__, {{"l2.size", 32 << 10}}, NULL},                             // as large as l1i and l1d each: possible
        {__LINE__, {{"itlb.entries", 0}}, "itlb.entries = 0: must be between 1 and 512"},
        {__LINE__, {{"itlb.ways", 5}}, "itlb.entries = 32: must be 5 ways times a power of two, such as 20 or 40"},
        {__LINE__, {{"l2tlb.ways", 3}}, "l2tlb.entries = 1024: must be 3 ways times a power of two, such as 768 or 1536"},
        {__LINE__, {{"mem.channels", 3}}, "mem.channels = 3: must be a power of two, such as 2 or 4"},
        {__LINE__, {{"mem.banks", 5}}, "mem.banks = 5: must be a power of two, such as 4 or 8"},
        {__LINE__, {{"l1i.line", 128}, {"l1d.line", 128}, {"l2.line", 128}}, NULL}, // possible: rows are longer
        {__LINE__, {{"os.slice", 10}}, "os.slice = 10: must be between 1000 and 1000000000"},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_config config;
        tl_error err = {0};
        tl_config_default(&config);
        for (size_t k = 0; k < 3 && rows[i].set[k].path; k++)
            set(&config, rows[i].set[k].path, rows[i].set[k].value);
        tl_status status = tl_config_check(&config, &err);
        if (status != (rows[i].sentence ? TL_EINVAL : TL_OK) || strcmp(err.text, rows[i].sentence ? rows[i].sentence : "") != 0)
            fail_msg("line %d: status %d, \"%s\"", rows[i].line, status, err.text);
    }
}

static void test_memory_rows_hold_a_line(void **state) {
    (void)state;
    tl_config config;
    tl_error err = {0};
    tl_config_default(&config);
    config.mem.mem_row_bytes = 64;
    assert_int_equal(tl_config_check(&config, &err), TL_OK);
    config.l1i.line_bytes = config.l1d.line_bytes = config.l2.line_bytes = 128;
    assert_int_equal(tl_config_check(&config, &err), TL_EINVAL);
    assert_string_equal(err.text, "mem.row_bytes = 64: must be at least l2.line = 128");
}

static void test_names_and_summaries_are_one_line_of_text(void **state) {
    (void)state;
    static const char *const bad_names[] = {"", "a b", "a/b", "na\xc3\xafve", "`", "{", "@", "[", "/", ":", ","};
    static const char *const bad_summaries[] = {"", "two\nlines", "bell\a", "\xc2\x85", "\xff"};
    tl_config config;
    for (size_t i = 0; i < TL_COUNT_OF(bad_names); i++) {
        tl_config_default(&config);
        strcpy(config.name, bad_names[i]);
        assert_int_equal(tl_config_check(&config, NULL), TL_EINVAL);
    }
    tl_config_default(&config);
    strcpy(config.name, "azAZ09._-"); // the ends of what is permitted
    assert_int_equal(tl_config_check(&config, NULL), TL_OK);
    for (size_t i = 0; i < TL_COUNT_OF(bad_summaries); i++) {
        tl_config_default(&config);
        strcpy(config.summary, bad_summaries[i]);
        assert_int_equal(tl_config_check(&config, NULL), TL_EINVAL);
    }
    tl_config_default(&config);
    memset(config.name, 'a', sizeof config.name); // without an end
    assert_int_equal(tl_config_check(&config, NULL), TL_EINVAL);
}

static void test_rows_of_keys_are_sound(void **state) {
    (void)state;
    tl_config config;
    bool is_used[sizeof config] = {0};
    for (uint32_t i = 0; i < tl_n_config_keys; i++) {
        const tl_key *key = &tl_config_keys[i];
        size_t n = key->kind == TL_KEY_TEXT ? key->max + 1 : key->kind == TL_KEY_U64 ? 8 : 4, n_meaning = strlen(key->meaning);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(tl_config_keys[k].path, key->path);
        assert_true(key->offset + n <= sizeof config);
        for (size_t k = 0; k < n; k++) {
            assert_false(is_used[key->offset + k]); // two keys for one field
            is_used[key->offset + k] = true;
        }
        assert_true(key->min <= key->max);
        assert_true(n_meaning > 10 && key->meaning[n_meaning - 1] == '.');
        tl_config_default(&config);
        if (key->kind == TL_KEY_U32 || key->kind == TL_KEY_U64) {
            tl_key_store(key, &config, key->max);
            assert_true(tl_key_read(key, &config) == key->max);
        }
    }
    // The host's own, and members of other keys.
    size_t n_used = sizeof config.code_cache_bytes + sizeof config.n_cold_runs + sizeof config.sparse_code_bytes +
                    sizeof config.repeated_part + sizeof config.pmu;
    for (size_t k = 0; k < sizeof config; k++)
        n_used += is_used[k];
    assert_true(n_used >= sizeof config - 16); // all but padding: no field without a key
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_default_machine_is_possible), cmocka_unit_test(test_impossible_machines_are_refused_with_a_remedy),
    cmocka_unit_test(test_memory_rows_hold_a_line),     cmocka_unit_test(test_names_and_summaries_are_one_line_of_text),
    cmocka_unit_test(test_rows_of_keys_are_sound),
};
TL_TEST_MAIN(tests)
