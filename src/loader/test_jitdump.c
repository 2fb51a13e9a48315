// SPDX-License-Identifier: MIT
// Files are written here byte by byte, as the specification orders them.
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "loader/jitdump.h"

typedef struct file {
    uint8_t bytes[4096];
    size_t n;
} file;

static void put(file *f, uint64_t value, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++)
        f->bytes[f->n++] = (uint8_t)(value >> 8 * i);
}

static void put_text(file *f, const char *text) {
    memcpy(f->bytes + f->n, text, strlen(text) + 1);
    f->n += strlen(text) + 1;
}

static void begin(file *f) {
    *f = (file){.n = 0};
    put(f, 0x4a695444, 4);
    put(f, 1, 4);
    put(f, 40, 4);
    put(f, 243, 4);
    put(f, 0, 4);
    put(f, 1000, 4);
    put(f, 7, 8);
    put(f, 0, 8);
}

static size_t begin_record(file *f, uint32_t id) {
    put(f, id, 4);
    put(f, 0, 4); // the size
    put(f, 9, 8);
    return f->n - 16;
}

static void end_record(file *f, size_t at) {
    const size_t n = f->n;
    f->n = at + 4;
    put(f, n - at, 4);
    f->n = n;
}

static void put_load(file *f, uint64_t address, uint64_t index, const char *name, const char *code) {
    const size_t at = begin_record(f, 0);
    put(f, 1000, 4);
    put(f, 1000, 4);
    put(f, address, 8);
    put(f, address, 8);
    put(f, strlen(code), 8);
    put(f, index, 8);
    put_text(f, name);
    memcpy(f->bytes + f->n, code, strlen(code));
    f->n += strlen(code);
    end_record(f, at);
}

static void put_move(file *f, uint64_t from, uint64_t to, uint64_t size, uint64_t index) {
    const size_t at = begin_record(f, 1);
    put(f, 1000, 4);
    put(f, 1000, 4);
    put(f, to, 8);
    put(f, from, 8);
    put(f, to, 8);
    put(f, size, 8);
    put(f, index, 8);
    end_record(f, at);
}

static void put_lines(file *f, uint64_t address) {
    const size_t at = begin_record(f, 2);
    put(f, address, 8);
    put(f, 3, 8);
    for (uint64_t i = 0; i < 3; i++) {
        put(f, address + 4 * i, 8);
        put(f, 10 + i, 4);
        put(f, 0, 4);
        put_text(f, i == 1 ? "\377" : i == 0 ? "/src/a.lua" : "/src/b.lua");
    }
    end_record(f, at);
}

static tl_jitdump read(const file *f) {
    tl_jitdump dump;
    tl_error err = {0};
    if (tl_jitdump_read(f->bytes, f->n, &dump, &err) != TL_OK)
        fail_msg("%s", err.text);
    return dump;
}

static void test_functions_have_names_bytes_and_lines(void **state) {
    (void)state;
    file f;
    begin(&f);
    put_lines(&f, 0x4000);
    put_load(&f, 0x4000, 1, "hot", "abcdefghijkl");
    put_load(&f, 0x5000, 2, "cold", "xyz");
    put_move(&f, 0x4000, 0x6000, 12, 1);
    put_move(&f, 0x9000, 0xa000, 12, 1); // of code that is not there
    end_record(&f, begin_record(&f, 3));
    tl_jitdump dump = read(&f);
    assert_int_equal(dump.n_codes, 3);
    assert_string_equal(dump.codes[0].name, "hot");
    assert_true(dump.codes[0].address == 0x4000 && dump.codes[0].size_bytes == 12 && memcmp(dump.codes[0].bytes, "abcdefghijkl", 12) == 0);
    assert_int_equal(tl_jitdump_line_at(&dump, &dump.codes[0], 0x4003)->line, 10);
    assert_int_equal(tl_jitdump_line_at(&dump, &dump.codes[0], 0x4004)->line, 11);
    assert_string_equal(tl_jitdump_line_at(&dump, &dump.codes[0], 0x4004)->path, "/src/a.lua");
    assert_string_equal(tl_jitdump_line_at(&dump, &dump.codes[0], 0x400b)->path, "/src/b.lua");
    assert_null(tl_jitdump_line_at(&dump, &dump.codes[1], 0x5000));
    assert_string_equal(dump.codes[2].name, "hot");
    assert_int_equal(dump.codes[2].address, 0x6000);
    assert_int_equal(tl_jitdump_line_at(&dump, &dump.codes[2], 0x6004)->line, 11);
    tl_jitdump_done(&dump);
}

static void test_what_is_no_jitdump_is_refused(void **state) {
    (void)state;
    file f;
    tl_jitdump dump;
    begin(&f);
    assert_int_equal(tl_jitdump_read(f.bytes, 39, &dump, NULL), TL_EFORMAT);
    f.bytes[0] ^= 1;
    assert_int_equal(tl_jitdump_read(f.bytes, f.n, &dump, NULL), TL_EFORMAT);
    begin(&f);
    f.bytes[8] = 39; // size of the header
    assert_int_equal(tl_jitdump_read(f.bytes, f.n, &dump, NULL), TL_EFORMAT);
    f.bytes[8] = 41;
    assert_int_equal(tl_jitdump_read(f.bytes, f.n, &dump, NULL), TL_EFORMAT);
    begin(&f);
    dump = read(&f);
    assert_int_equal(dump.n_codes, 0);
    tl_jitdump_done(&dump);
}

// Every prefix, and every file with one byte wrong, is read within its bytes.
static void test_no_length_is_trusted(void **state) {
    (void)state;
    file f;
    begin(&f);
    put_lines(&f, 0x4000);
    put_load(&f, 0x4000, 1, "hot", "abcdefghijkl");
    put_move(&f, 0x4000, 0x6000, 12, 1);
    put_load(&f, 0x5000, 2, "cold", "xyz");
    for (size_t n = 40; n <= f.n; n++) {
        uint8_t *exact = malloc(n); // so that a sanitizer sees what lies behind
        tl_jitdump dump;
        memcpy(exact, f.bytes, n);
        assert_int_equal(tl_jitdump_read(exact, n, &dump, NULL), TL_OK);
        assert_int_equal(dump.n_codes, n == f.n ? 3 : dump.n_codes);
        assert_true(dump.n_codes < 3 || n == f.n);
        tl_jitdump_done(&dump);
        free(exact);
    }
    for (size_t at = 0; at < f.n; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            tl_jitdump dump;
            f.bytes[at] ^= (uint8_t)(1 << bit);
            if (tl_jitdump_read(f.bytes, f.n, &dump, NULL) == TL_OK) {
                for (uint32_t i = 0; i < dump.n_codes; i++)
                    assert_true(dump.codes[i].bytes + dump.codes[i].size_bytes <= f.bytes + f.n && dump.codes[i].n_lines <= dump.n_lines);
                tl_jitdump_done(&dump);
            }
            f.bytes[at] ^= (uint8_t)(1 << bit);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_functions_have_names_bytes_and_lines),
    cmocka_unit_test(test_what_is_no_jitdump_is_refused),
    cmocka_unit_test(test_no_length_is_trusted),
};

TL_TEST_MAIN(tests)
