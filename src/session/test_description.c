// SPDX-License-Identifier: MIT
#include "session/description.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/test_docs.h"
#include "base/testing.h"

static tl_status read_text(const char *text, tl_config *config, tl_error *err) {
    return tl_description_read(text, strlen(text), "my.yaml", config, err);
}

static void assert_same(const tl_config *a, const tl_config *b) { // key by key: padding may differ
    tl_key_list list;
    tl_key_list_init(&list);
    for (uint32_t i = 0; i < list.n; i++) {
        tl_strbuf left = {0}, right = {0};
        tl_key_format(list.keys[i], a, &left);
        tl_key_format(list.keys[i], b, &right);
        if (strcmp(tl_strbuf_text(&left), tl_strbuf_text(&right)) != 0)
            fail_msg("%s: %s and %s", list.keys[i]->path, tl_strbuf_text(&left), tl_strbuf_text(&right));
        tl_strbuf_done(&left);
        tl_strbuf_done(&right);
    }
}

static void test_rocket_is_the_default_configuration(void **state) {
    (void)state;
    tl_config from_file, from_code;
    assert_int_equal(tl_description_open("rocket", &from_file, NULL), TL_OK);
    tl_config_default(&from_code);
    assert_same(&from_file, &from_code);
}

static void test_every_builtin_machine_is_valid_and_bears_its_name(void **state) {
    (void)state;
    static const char *const names[] = {"rocket", "lowrisc2", "u74", "tiny", "netburst", "ooo", "cloud4", "a53", "a53x4"};
    assert_int_equal(tl_description_n_builtins(), TL_COUNT_OF(names));
    for (uint32_t i = 0; i < TL_COUNT_OF(names); i++) {
        tl_config config;
        tl_error err = {0};
        assert_string_equal(tl_description_builtin(i).name, names[i]);
        if (tl_description_open(names[i], &config, &err) != TL_OK)
            fail_msg("%s", err.text);
        assert_string_equal(config.name, names[i]);
        assert_true(strncmp(config.summary, "A variant", 9) != 0);
    }
}

static void test_shapes_of_builtin_machines(void **state) {
    (void)state;
    tl_config lowrisc2, u74, tiny;
    assert_int_equal(tl_description_open("lowrisc2", &lowrisc2, NULL), TL_OK);
    assert_int_equal(tl_description_open("u74", &u74, NULL), TL_OK);
    assert_int_equal(tl_description_open("tiny", &tiny, NULL), TL_OK);
    assert_int_equal(lowrisc2.n_harts, 2);
    assert_int_equal(lowrisc2.l2_slices, 2);
    assert_int_equal(lowrisc2.l1d.size_bytes, 16384);
    assert_int_equal(lowrisc2.l2.size_bytes, 2 * 131072);
    assert_int_equal(u74.n_harts, 4);
    assert_int_equal(u74.dtlb.entries, 40);
    assert_int_equal(u74.l2tlb.ways, 1);
    assert_int_equal(u74.clock_hz, 1200000000);
    assert_int_equal(tiny.l1d.ways, 1);
    assert_int_equal(tiny.l1d.line_bytes, 16);
}

static void test_values_take_units_and_the_rest_comes_from_the_base(void **state) {
    (void)state;
    tl_config config, want;
    tl_error err = {0};
    const char *text = "# a comment\n"
                       "name: mine\n"
                       "base: tiny\n"
                       "clock: 1.5GHz\n"
                       "ram: 1GiB\n"
                       "seed: 0xffffffffffffffff\n"
                       "l1d: {size: '1KiB', replacement: \"fifo\"}\n"
                       "os.slice: 10k\n";
    if (read_text(text, &config, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(tl_description_open("tiny", &want, NULL), TL_OK);
    strcpy(want.name, "mine");
    strcpy(want.summary, "A variant of tiny.");
    want.clock_hz = 1500000000;
    want.ram_bytes = UINT64_C(1) << 30;
    want.seed = UINT64_MAX;
    want.l1d.size_bytes = 1024;
    want.l1d.replacement = TL_REPLACE_FIFO;
    want.os.slice_cycles = 10000;
    assert_same(&config, &want);
}

static void test_mistakes_are_named_with_line_key_value_and_remedy(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text, *sentence;
    } rows[] = {
        {__LINE__, "name: x\nl1d:\n  size: 24KiB\n  ways: 3\n  replacement: plru\n",
         "my.yaml:4: l1d.ways = 3: must be a power of two for plru; choose l1d.replacement: lru, fifo or random otherwise"},
        {__LINE__, "name: x\nl1d:\n  ways: 3\n",
         "my.yaml:3: with the l1d.size of rocket, l1d.size = 32KiB: must be 3 ways of 64-byte lines times a power of two, such as "
         "24KiB or 48KiB"},
        {__LINE__, "name: x\nl1d:\n  line: 32\n",
         "my.yaml:3: l1d.line = 32: l1i and l2 have lines of 64 bytes, and all caches of a machine share one size; set l1i.line=32 and "
         "l2.line=32, too"},
        {__LINE__, "name: x\n\nharts: 9\n", "my.yaml:3: harts = 9: must be between 1 and 8"},
        {__LINE__, "name: x\nharts: two\n", "my.yaml:2: harts = two: 'two' is not a number; write one such as 64, 10M or 64Ki"},
        {__LINE__, "name: x\nram: 4GB\n", "my.yaml:2: ram = 4GB: '4GB' is ambiguous; write GiB, which is a power of 1024"},
        {__LINE__, "name: x\nl1d:\n  replacement: LRU\n", "my.yaml:3: l1d.replacement = LRU: must be lru, plru, fifo or random"},
        {__LINE__, "name: x\nl1d:\n  way: 4\n", "my.yaml:3: l1d.way: unknown key; did you mean l1d.ways or l1i.ways?"},
        {__LINE__, "name: x\npipelin:\n  mul: 4\n", "my.yaml:2: pipelin: unknown key; did you mean pipeline?"},
        {__LINE__, "name: x\nqwertyuiop: 1\n", "my.yaml:2: qwertyuiop: unknown key; tally list keys names them all"},
        {__LINE__, "name: x\ncache:\n  ways: 4\n", "my.yaml:2: cache: unknown key; tally list keys names them all"},
        {__LINE__, "name: x\nways: 4\n", "my.yaml:2: ways: unknown key; did you mean one like l1i.ways, l1d.ways, l2.ways?"},
        {__LINE__, "name: x\nharts: 1\nharts: 2\n", "my.yaml:3: harts: given twice, first on line 2; remove one"},
        {__LINE__, "name: x\nl1d.ways: 4\nl1d:\n  ways: 8\n", "my.yaml:4: l1d.ways: given twice, first on line 2; remove one"},
        {__LINE__, "name: x\nl1d: 5\n", "my.yaml:2: l1d: is a section; write its keys below it, indented"},
        {__LINE__, "name: x\nharts: {n: 1}\n", "my.yaml:2: harts: must be one value, not a section"},
        {__LINE__, "name: x\nl1d:\n  ways:\n    a: 1\n", "my.yaml:3: l1d.ways: must be one value, not a section"},
        {__LINE__, "name: x\nharts: [1]\n", "my.yaml:2: harts: must be one value, not a list"},
        {__LINE__, "name: x\nharts:\n", "my.yaml:2: harts: has no value; write one, or remove the line"},
        {__LINE__, "name: x\nharts: ~\n", "my.yaml:2: harts: has no value; write one, or remove the line"},
        {__LINE__, "name: x\n? [a]\n: 1\n", "my.yaml:2: a list or a mapping cannot be a key; a key is one short word"},
        {__LINE__, "name: x\ntwo words: 1\n", "my.yaml:2: 'two words': not a key; a key is one short word"},
        {__LINE__, "harts: 1\n", "my.yaml: name: is missing; a description must name its machine"},
        {__LINE__, "name: a b\n", "my.yaml:1: name: may have letters, digits, dot, dash and underscore only"},
        {__LINE__, "name: x\nbase: tinny\n",
         "my.yaml:2: base = tinny: must be a built-in machine: rocket, lowrisc2, u74, tiny, netburst, ooo, cloud4, a53, a53x4"},
        {__LINE__, "", "my.yaml:1: empty; a machine description needs at least `name:`"},
        {__LINE__, "# nothing\n", "my.yaml:2: empty; a machine description needs at least `name:`"},
        {__LINE__, "- name\n",
         "my.yaml:1: not a machine description; it is a list of lines of the form `key: value`, the first of them `name:`"},
        {__LINE__, "name: x\n---\nname: y\n", "my.yaml:2: a second document begins here; one file describes one machine"},
        {__LINE__, "name: &n x\n", "my.yaml:1: anchors, aliases and tags are not supported; write the value itself"},
        {__LINE__, "name: x\nharts: *n\n", "my.yaml:2: anchors, aliases and tags are not supported; write the value itself"},
        {__LINE__, "name: !!int 3\n", "my.yaml:1: anchors, aliases and tags are not supported; write the value itself"},
        {__LINE__, "name: x\n  harts: 1\n", "my.yaml:2: not valid YAML: mapping values are not allowed in this context"},
        {__LINE__, "name: x\nharts: \"1\n", "my.yaml:3: not valid YAML: found unexpected end of stream"},
        {__LINE__, "name: \xff\n", "my.yaml: byte 6: invalid leading UTF-8 octet; a description is UTF-8 text"},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_config config;
        tl_error err = {0};
        memset(&config, 0x5a, sizeof config);
        tl_status status = read_text(rows[i].text, &config, &err);
        if (status != TL_EFORMAT || err.status != TL_EFORMAT || strcmp(err.text, rows[i].sentence) != 0)
            fail_msg("line %d: status %d, \"%s\"", rows[i].line, status, err.text);
        assert_int_equal(config.n_harts, 0x5a5a5a5a); // written on success only
    }
}

static void test_hostile_files_end_soon(void **state) {
    (void)state;
    static const char *const pieces[] = {"[", "{a: ", "- ", "a:\n", "&a [*a, ", "? ", "'", "#", "!", "- - "};
    for (size_t i = 0; i < TL_COUNT_OF(pieces); i++) {
        tl_strbuf text = {0};
        tl_config config;
        tl_error err = {0};
        while (text.n_bytes < 60000)
            tl_strbuf_add(&text, pieces[i]);
        assert_int_equal(tl_description_read(text.text, text.n_bytes, "my.yaml", &config, &err), TL_EFORMAT);
        assert_memory_equal(err.text, "my.yaml:", 8);
        tl_strbuf_done(&text);
    }
}

static void test_giant_files_are_not_read(void **state) {
    (void)state;
    tl_strbuf text = {0};
    tl_config config;
    tl_error err = {0};
    tl_strbuf_add(&text, "name: x\n#");
    while (text.n_bytes <= 64 * 1024)
        tl_strbuf_add_char(&text, 'x');
    assert_int_equal(tl_description_read(text.text, text.n_bytes, "my.yaml", &config, &err), TL_EFORMAT);
    assert_string_equal(err.text, "my.yaml: larger than 64 KiB; this cannot be a machine description");
    tl_strbuf_done(&text);
}

static void test_written_descriptions_read_back(void **state) {
    (void)state;
    static const char *const more[] = {"", "name: x\nbase: u74\nsummary: \"\\\"\\\\ caf\xc3\xa9 \\u20ac  \"\nseed: 18446744073709551615\n"};
    for (uint32_t i = 0; i < tl_description_n_builtins() + 1; i++) {
        tl_config config, again;
        tl_error err = {0};
        tl_strbuf text = {0};
        tl_status status = i < tl_description_n_builtins() ? tl_description_open(tl_description_builtin(i).name, &config, &err)
                                                           : read_text(more[1], &config, &err);
        assert_int_equal(status, TL_OK);
        tl_description_write(&config, &text);
        if (read_text(tl_strbuf_text(&text), &again, &err) != TL_OK)
            fail_msg("%s", err.text);
        assert_same(&config, &again);
        tl_strbuf_done(&text);
    }
}

static void test_overrides_change_one_value(void **state) {
    (void)state;
    tl_config config, want;
    tl_error err = {0};
    tl_config_default(&config);
    tl_config_default(&want);
    assert_int_equal(tl_config_set(&config, "l1d.ways=4", NULL), TL_OK);
    assert_int_equal(tl_config_set(&config, "ram=512MiB", NULL), TL_OK);
    assert_int_equal(tl_config_set(&config, "summary=a = b", NULL), TL_OK);
    want.l1d.ways = 4;
    want.ram_bytes = 512 << 20;
    strcpy(want.summary, "a = b");
    assert_same(&config, &want);

    static const struct {
        const char *assignment, *sentence;
        tl_status status;
    } rows[] = {
        {"l1d.ways", "'l1d.ways': write KEY=VALUE, such as l1d.ways=4", TL_EINVAL},
        {"=4", "'=4': write KEY=VALUE, such as l1d.ways=4", TL_EINVAL},
        {"l1d.way=4", "l1d.way: unknown key of a machine description; did you mean l1d.ways or l1i.ways?", TL_ENOENT},
        {"l1d.ways=", "l1d.ways = : a number is missing; write one such as 64, 10M or 64Ki", TL_EINVAL},
        {"l1d.ways=65", "l1d.ways = 65: must be between 1 and 64", TL_EINVAL},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        assert_int_equal(tl_config_set(&config, rows[i].assignment, &err), rows[i].status);
        assert_string_equal(err.text, rows[i].sentence);
    }
    assert_same(&config, &want);
}

static void test_cache_geometry_is_size_ways_line(void **state) {
    (void)state;
    tl_config config;
    tl_error err = {0};
    tl_config_default(&config);
    assert_int_equal(tl_config_set_cache(&config, "l1d", "16KiB,4,32", NULL), TL_OK);
    assert_int_equal(config.l1d.size_bytes, 16384);
    assert_int_equal(config.l1d.ways, 4);
    assert_int_equal(config.l1i.line_bytes, 32);
    assert_int_equal(config.l1d.line_bytes, 32);
    assert_int_equal(config.l2.line_bytes, 32);
    assert_int_equal(tl_config_set_cache(&config, "l2", "1048576,16", NULL), TL_OK);
    assert_int_equal(config.l2.ways, 16);
    assert_int_equal(tl_config_set_cache(&config, "l1i", "8192", NULL), TL_OK);
    assert_int_equal(config.l1i.size_bytes, 8192);
    assert_int_equal(tl_keys_check(&config, NULL), TL_OK);

    static const struct {
        const char *which, *geometry, *sentence;
    } rows[] = {
        {"l1d", "", "l1d = : write SIZE,WAYS,LINE, such as 32KiB,8,64"},
        {"l1d", "1KiB,,64", "l1d = 1KiB,,64: write SIZE,WAYS,LINE, such as 32KiB,8,64"},
        {"l1d", "1KiB,1,64,", "l1d = 1KiB,1,64,: write SIZE,WAYS,LINE, such as 32KiB,8,64"},
        {"l1d", "1KiB,0,64", "l1d = 1KiB,0,64: ways must be between 1 and 64"},
        {"l1d", "big,1,64", "l1d = big,1,64: size 'big' is not a number; write one such as 32768, 32KiB or 4GiB"},
        {"l3", "1KiB", "l3: no such cache; there are l1i, l1d and l2"},
    };
    tl_config before = config;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        assert_int_equal(tl_config_set_cache(&config, rows[i].which, rows[i].geometry, &err), TL_EINVAL);
        assert_string_equal(err.text, rows[i].sentence);
    }
    assert_same(&config, &before); // nothing half done
}

static void test_names_are_builtin_and_paths_are_files(void **state) {
    (void)state;
    char folder[] = "/tmp/tally-description-XXXXXX", path[64], folder_path[64];
    tl_config config;
    tl_error err = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/mine.yml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("name: mine\nharts: 3\n", file);
    fclose(file);
    assert_int_equal(tl_description_open(path, &config, &err), TL_OK);
    assert_int_equal(config.n_harts, 3);
    unlink(path);
    assert_int_equal(tl_description_open(path, &config, &err), TL_ENOENT);
    assert_non_null(strstr(err.text, "mine.yml: cannot open this machine description: No such file or directory"));
    snprintf(folder_path, sizeof folder_path, "%s/", folder);
    assert_int_equal(tl_description_open(folder_path, &config, &err), TL_EIO);
    rmdir(folder);

    assert_int_equal(tl_description_open("rokcet", &config, &err), TL_ENOENT);
    assert_string_equal(
        err.text,
        "unknown machine 'rokcet'; did you mean rocket? Built in are rocket, lowrisc2, u74, tiny, netburst, ooo, cloud4, a53, a53x4; a file is "
        "named with a slash or .yaml at the end");
    assert_int_equal(tl_description_open("none.yaml", &config, &err), TL_ENOENT);
    assert_int_equal(tl_description_open("", &config, &err), TL_ENOENT);
}

static void test_table_in_the_docs_is_current(void **state) {
    (void)state;
    tl_strbuf table = {0};
    tl_description_keys_markdown(&table);
    check_docs_table("docs/machines.md", "keys", tl_strbuf_text(&table));
    tl_strbuf_done(&table);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rocket_is_the_default_configuration),
    cmocka_unit_test(test_every_builtin_machine_is_valid_and_bears_its_name),
    cmocka_unit_test(test_shapes_of_builtin_machines),
    cmocka_unit_test(test_values_take_units_and_the_rest_comes_from_the_base),
    cmocka_unit_test(test_mistakes_are_named_with_line_key_value_and_remedy),
    cmocka_unit_test(test_hostile_files_end_soon),
    cmocka_unit_test(test_giant_files_are_not_read),
    cmocka_unit_test(test_written_descriptions_read_back),
    cmocka_unit_test(test_overrides_change_one_value),
    cmocka_unit_test(test_cache_geometry_is_size_ways_line),
    cmocka_unit_test(test_names_are_builtin_and_paths_are_files),
    cmocka_unit_test(test_table_in_the_docs_is_current),
};
TL_TEST_MAIN(tests)
