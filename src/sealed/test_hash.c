// SPDX-License-Identifier: MIT
// SHA-256 and HMAC-SHA-256 against FIPS 180-4's example, RFC 4231, and OpenSSL where the build has
// it.
#include "base/testing.h"

#include <string.h>

#include "sealed/hash.h"
#ifdef TL_HAS_OPENSSL
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

static void digest(const void *bytes, size_t n, uint8_t ret_digest[32]) {
    tl_sha256 hash;
    tl_sha256_init(&hash);
    tl_sha256_add(&hash, bytes, n);
    tl_sha256_end(&hash, ret_digest);
}

static void code(const uint8_t *key, size_t n_key, const void *bytes, size_t n, uint8_t ret_code[32]) {
    tl_hmac mac;
    tl_hmac_init(&mac, key, n_key);
    tl_hmac_add(&mac, bytes, n);
    tl_hmac_end(&mac, ret_code);
}

static void test_published_answers(void **state) {
    (void)state;
    static const uint8_t abc[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                                    0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    static const uint8_t rfc_4231_case_1[32] = {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf,
                                                0xce, 0xaf, 0x0b, 0xf1, 0x2b, 0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83,
                                                0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7};
    uint8_t result[32], key[20];
    digest("abc", 3, result);
    assert_memory_equal(result, abc, 32);
    memset(key, 0x0b, sizeof key);
    code(key, sizeof key, "Hi There", 8, result);
    assert_memory_equal(result, rfc_4231_case_1, 32);
}

static void test_pieces_give_the_digest_of_the_whole(void **state) {
    (void)state;
    uint8_t bytes[300], whole[32], pieces[32];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    digest(bytes, sizeof bytes, whole);
    for (size_t step = 1; step < 140; step++) {
        tl_sha256 hash;
        tl_sha256_init(&hash);
        for (size_t at = 0; at < sizeof bytes; at += step)
            tl_sha256_add(&hash, bytes + at, step < sizeof bytes - at ? step : sizeof bytes - at);
        tl_sha256_end(&hash, pieces);
        assert_memory_equal(pieces, whole, 32);
    }
}

#ifdef TL_HAS_OPENSSL
static void test_every_length_equals_openssl(void **state) {
    (void)state;
    uint8_t bytes[200], key[150], mine[32], theirs[32];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 + 5);
    for (unsigned i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(i * 13 + 1);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        digest(bytes, n, mine);
        assert_int_equal(EVP_Digest(bytes, n, theirs, NULL, EVP_sha256(), NULL), 1);
        assert_memory_equal(mine, theirs, 32);
    }
    for (size_t n_key = 1; n_key <= sizeof key; n_key++) {
        code(key, n_key, bytes, n_key + 17, mine);
        assert_non_null(HMAC(EVP_sha256(), key, (int)n_key, bytes, n_key + 17, theirs, NULL));
        assert_memory_equal(mine, theirs, 32);
    }
}
#endif

static void test_equal_compares_every_byte(void **state) {
    (void)state;
    uint8_t a[16] = {0}, b[16] = {0};
    assert_true(tl_bytes_equal(a, b, 16));
    for (unsigned i = 0; i < 16; i++) {
        b[i] = 0x80;
        assert_false(tl_bytes_equal(a, b, 16));
        assert_true(tl_bytes_equal(a, b, i));
        b[i] = 0;
    }
    memset(a, 0xff, sizeof a);
    tl_wipe(a, 15);
    assert_memory_equal(a, b, 15);
    assert_int_equal(a[15], 0xff);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_published_answers),
    cmocka_unit_test(test_pieces_give_the_digest_of_the_whole),
#ifdef TL_HAS_OPENSSL
    cmocka_unit_test(test_every_length_equals_openssl),
#endif
    cmocka_unit_test(test_equal_compares_every_byte),
};

TL_TEST_MAIN(tests)
