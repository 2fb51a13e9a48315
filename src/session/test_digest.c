// SPDX-License-Identifier: MIT
// The checksum against known values of XXH64 (as xxhsum -H64 prints them), one for each path
// through the lengths.
#include "session/digest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/testing.h"

static void test_digest_equals_xxh64(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t hash;
    } known[] = {
        {"", UINT64_C(0xef46db3751d8e999)},
        {"a", UINT64_C(0xd24ec4f1a98c6e5b)},
        {"abc", UINT64_C(0x44bc2cf5ad770999)},
        {"Nobody inspects the spammish repetition", UINT64_C(0xfbcea83c8a378bf1)}, // 39 bytes: 32 + 4 + 3
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_int_equal(tl_digest(known[i].text, strlen(known[i].text)), known[i].hash);
}

static void test_digest_of_a_file_is_that_of_its_bytes(void **state) {
    (void)state;
    char path[] = "/tmp/test_digest_XXXXXX", text[TL_DIGEST_BYTES];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    tl_error err = {0};
    assert_int_equal(tl_digest_file(NULL, path, text, &err), TL_OK);
    assert_string_equal(text, "xxh64:ef46db3751d8e999"); // empty
    assert_int_equal(write(fd, "abc", 3), 3);
    close(fd);
    assert_int_equal(tl_digest_file(NULL, path, text, &err), TL_OK);
    assert_string_equal(text, "xxh64:44bc2cf5ad770999");
    unlink(path);
    assert_int_equal(tl_digest_file(NULL, path, text, &err), TL_ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(tl_digest_file(NULL, "/", text, &err), TL_EIO);
}

static void test_digest_below_a_root_is_that_of_the_file_there(void **state) {
    (void)state;
    char root[] = "/tmp/test_digest_XXXXXX", path[64], text[TL_DIGEST_BYTES];
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/passwd", root);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, "abc", 3), 3);
    close(fd);
    assert_int_equal(tl_digest_file(root, "/passwd", text, NULL), TL_OK);
    assert_string_equal(text, "xxh64:44bc2cf5ad770999");
    assert_int_equal(tl_digest_file(root, "../passwd", text, NULL), TL_OK); // nothing is above "/"
    assert_int_equal(tl_digest_file(root, "/etc/passwd", text, NULL), TL_ENOENT);
    assert_int_equal(tl_digest_file(path, "/passwd", text, NULL), TL_ENOENT); // not a folder
    unlink(path);
    rmdir(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_digest_equals_xxh64),
    cmocka_unit_test(test_digest_of_a_file_is_that_of_its_bytes),
    cmocka_unit_test(test_digest_below_a_root_is_that_of_the_file_there),
};

TL_TEST_MAIN(tests)
