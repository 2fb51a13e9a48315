// SPDX-License-Identifier: MIT
// Key files: round trips, and a sentence with the line for every mistake.
#include "base/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sealed/key_file.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define IV "a0a1a2a3a4a5A6A7A8A9AAAB"
#define REST "key: " KEY "\niv: " IV "\n"

static tl_status read_text(const char *text, tl_key_file *ret_file, tl_error *err) {
    FILE *stream = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(stream);
    tl_status status = tl_key_file_read(stream, "k", ret_file, err);
    fclose(stream);
    return status;
}

static void test_names_in_any_order_with_comments(void **state) {
    (void)state;
    tl_key_file file;
    assert_int_equal(
        read_text("# a key\n\n  values :  70 # per record\r\nepoch: 7\n" REST "vm: 2\ndevice: 0x1122334455667788", &file, NULL), TL_OK);
    assert_int_equal(file.device, 0x1122334455667788);
    assert_true(file.vm == 2 && file.epoch == 7 && file.n_values == 70 && !file.is_literal);
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(file.key[i], i);
    for (unsigned i = 0; i < 12; i++)
        assert_int_equal(file.iv_mask[i], 0xa0 + i);
}

static void test_what_is_written_reads_back(void **state) {
    (void)state;
    for (unsigned is_literal = 0; is_literal < 2; is_literal++) {
        tl_key_file file = {.device = UINT64_MAX, .vm = UINT32_MAX, .epoch = 3, .n_values = 4096, .is_literal = is_literal}, again;
        memset(file.key, 0xf9, sizeof file.key);
        memset(file.iv_mask, 0x0c, sizeof file.iv_mask);
        char *text = NULL;
        size_t n;
        FILE *stream = open_memstream(&text, &n);
        assert_true(tl_key_file_write(&file, stream));
        fclose(stream);
        assert_int_equal(read_text(text, &again, NULL), TL_OK);
        free(text);
        assert_true(again.device == file.device && again.vm == file.vm && again.epoch == file.epoch && again.n_values == file.n_values &&
                    again.is_literal == file.is_literal);
        assert_memory_equal(again.key, file.key, sizeof file.key);
        assert_memory_equal(again.iv_mask, file.iv_mask, sizeof file.iv_mask);
    }
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    assert_false(tl_key_file_write(&(tl_key_file){0}, full));
    fclose(full);
}

static void test_mistakes_are_named(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"device: 1\nvm: 2\nepoch: 3\n" REST, "k: values is missing"},
        {"device: 1\nvm: 2\nepoch: 3\nvalues: 0\n" REST, "k:4: values: must be 1 to 4096"},
        {"device: 1\nvm: 2\nepoch: 3\nvalues: 4097\n" REST, "k:4: values: must be 1 to 4096"},
        {"device: 1\nvm: 4294967296\n", "k:2: vm: must be a number of 32 bits"},
        {"epoch: -1\n", "k:1: epoch: must be a number of 32 bits"},
        {"device: x\n", "k:1: device: must be a number of 64 bits"},
        {"vm: 1\nvm: 1\n", "k:2: vm is there twice; remove one"},
        {"colour: red\n", "k:1: colour is unknown"},
        {"form: none\n", "k:1: form: must be inner or literal"},
        {"key: 00\n", "k:1: key: must be 64 hexadecimal digits"},
        {"iv: a0a1a2a3a4a5a6a7a8a9aaag\n", "k:1: iv: must be 24 hexadecimal digits"},
        {"iv: a0a1a2a3a4a5a6a7a8a9aaa\n", "k:1: iv: must be 24 hexadecimal digits"},
        {"device\n", "k:1: no \"name: value\""},
        {"# nothing\n", "k: device is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_key_file file = {.vm = 77};
        tl_error err = {0};
        assert_int_equal(read_text(rows[i][0], &file, &err), TL_EFORMAT);
        if (strncmp(err.text, rows[i][1], strlen(rows[i][1])) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(file.vm, 77);
    }
    char line[600];
    tl_key_file file;
    tl_error err = {0};
    memset(line, ' ', sizeof line);
    line[598] = '\n';
    line[599] = '\0';
    assert_int_equal(read_text(line, &file, &err), TL_EFORMAT);
    assert_non_null(strstr(err.text, "too long"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names_in_any_order_with_comments),
    cmocka_unit_test(test_what_is_written_reads_back),
    cmocka_unit_test(test_mistakes_are_named),
};

TL_TEST_MAIN(tests)
