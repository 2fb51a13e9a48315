// SPDX-License-Identifier: MIT
// The provider of OpenSSL 3 (libcrypto): EVP functions with software fallbacks on every host.
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <limits.h>
#include <string.h>

#include "sealed/crypto.h"
#include "sealed/hash.h"

static tl_status raw_pair(EVP_PKEY *key, uint8_t *ret_secret, uint8_t *ret_public) {
    size_t n_secret = TL_KEY_BYTES, n_public = TL_KEY_BYTES;
    bool is_good = key && (!ret_secret || (EVP_PKEY_get_raw_private_key(key, ret_secret, &n_secret) == 1 && n_secret == TL_KEY_BYTES)) &&
                   EVP_PKEY_get_raw_public_key(key, ret_public, &n_public) == 1 && n_public == TL_KEY_BYTES;
    EVP_PKEY_free(key);
    return is_good ? TL_OK : TL_EIO;
}

static tl_status keygen(uint8_t ret_secret[TL_KEY_BYTES], uint8_t ret_public[TL_KEY_BYTES]) {
    return raw_pair(EVP_PKEY_Q_keygen(NULL, NULL, "X25519"), ret_secret, ret_public);
}

static tl_status public_of(const uint8_t secret[TL_KEY_BYTES], uint8_t ret_public[TL_KEY_BYTES]) {
    return raw_pair(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, TL_KEY_BYTES), NULL, ret_public);
}

static tl_status agree(const uint8_t secret[TL_KEY_BYTES], const uint8_t peer[TL_KEY_BYTES], uint8_t ret_shared[TL_KEY_BYTES]) {
    static const uint8_t zeros[TL_KEY_BYTES];
    EVP_PKEY *mine = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, TL_KEY_BYTES);
    EVP_PKEY *theirs = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, peer, TL_KEY_BYTES);
    EVP_PKEY_CTX *ctx = mine ? EVP_PKEY_CTX_new(mine, NULL) : NULL;
    size_t n = TL_KEY_BYTES;
    tl_status status = TL_EIO;
    if (ctx && theirs && EVP_PKEY_derive_init(ctx) == 1 && EVP_PKEY_derive_set_peer(ctx, theirs) == 1) {
        bool is_good = EVP_PKEY_derive(ctx, ret_shared, &n) == 1 && n == TL_KEY_BYTES && !tl_bytes_equal(ret_shared, zeros, n);
        status = is_good ? TL_OK : TL_EACCESS; // the library itself fails on keys of small order
    }
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(mine);
    EVP_PKEY_free(theirs);
    return status;
}

static tl_status kdf(const uint8_t *secret, size_t n_secret, const uint8_t *salt, size_t n_salt, const uint8_t *info, size_t n_info,
                     uint8_t *ret_bytes, size_t n_bytes) {
    EVP_KDF *method = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *ctx = method ? EVP_KDF_CTX_new(method) : NULL;
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)secret, n_secret),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)salt, n_salt),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info, n_info),
        OSSL_PARAM_construct_end(),
    };
    bool is_good = ctx && EVP_KDF_derive(ctx, ret_bytes, n_bytes, params) == 1;
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(method);
    return is_good ? TL_OK : TL_EIO;
}

static bool gcm_begin(EVP_CIPHER_CTX *ctx, bool seals, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t n_aad) {
    int n;
    return ctx && n_aad <= INT_MAX && EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce, seals) == 1 &&
           (n_aad == 0 || EVP_CipherUpdate(ctx, NULL, &n, aad, (int)n_aad) == 1);
}

static tl_status gcm_seal(const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t n_aad, const uint8_t *plain, size_t n_plain,
                          uint8_t *ret_cipher, uint8_t ret_tag[TL_TAG_BYTES]) {
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0;
    uint8_t nothing[16];
    bool is_good = n_plain <= INT_MAX && gcm_begin(ctx, true, key, nonce, aad, n_aad) &&
                   (n_plain == 0 || EVP_CipherUpdate(ctx, ret_cipher, &n, plain, (int)n_plain) == 1) && (size_t)n == n_plain &&
                   EVP_CipherFinal_ex(ctx, nothing, &n) == 1 && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TL_TAG_BYTES, ret_tag) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return is_good ? TL_OK : TL_EIO;
}

static tl_status seal(tl_seal_key *key, uint8_t *aad, size_t n_aad, size_t seq_at, const uint8_t *plain, size_t n_plain,
                      uint8_t *ret_cipher, uint8_t ret_tag[TL_TAG_BYTES]) {
    uint8_t nonce[TL_NONCE_BYTES];
    tl_status status = n_aad >= 8 && seq_at <= n_aad - 8 ? tl_seal_key_step(key, nonce) : TL_EINVAL;
    if (status != TL_OK)
        return status;
    for (unsigned i = 0; i < 8; i++)
        aad[seq_at + i] = (uint8_t)(key->seq >> 8 * i);
    return gcm_seal(key->key, nonce, aad, n_aad, plain, n_plain, ret_cipher, ret_tag);
}

static tl_status unseal(const tl_seal_key *key, uint64_t seq, const uint8_t *aad, size_t n_aad, const uint8_t *cipher, size_t n_cipher,
                        const uint8_t tag[TL_TAG_BYTES], uint8_t *ret_plain) {
    uint8_t nonce[TL_NONCE_BYTES], wanted[TL_TAG_BYTES], nothing[16];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0;
    tl_seal_nonce(key->iv_mask, seq, nonce);
    memcpy(wanted, tag, sizeof wanted);
    tl_status status = TL_EIO;
    if (n_cipher <= INT_MAX && gcm_begin(ctx, false, key->key, nonce, aad, n_aad) &&
        (n_cipher == 0 || EVP_CipherUpdate(ctx, ret_plain, &n, cipher, (int)n_cipher) == 1) &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TL_TAG_BYTES, wanted) == 1)
        status = EVP_CipherFinal_ex(ctx, nothing, &n) == 1 ? TL_OK : TL_EACCESS;
    if (status != TL_OK)
        tl_wipe(ret_plain, n_cipher);
    EVP_CIPHER_CTX_free(ctx);
    return status;
}

static tl_status sign(const uint8_t secret[TL_KEY_BYTES], const uint8_t *bytes, size_t n_bytes, uint8_t ret_signature[TL_SIGNATURE_BYTES]) {
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, TL_KEY_BYTES);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t n = TL_SIGNATURE_BYTES;
    bool is_good = key && ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
                   EVP_DigestSign(ctx, ret_signature, &n, bytes, n_bytes) == 1 && n == TL_SIGNATURE_BYTES;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    return is_good ? TL_OK : TL_EIO;
}

static tl_status verify(const uint8_t public_key[TL_KEY_BYTES], const uint8_t *bytes, size_t n_bytes,
                        const uint8_t signature[TL_SIGNATURE_BYTES]) {
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, TL_KEY_BYTES);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    tl_status status = TL_EIO;
    if (key && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1)
        status = EVP_DigestVerify(ctx, signature, TL_SIGNATURE_BYTES, bytes, n_bytes) == 1 ? TL_OK : TL_EACCESS;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    return status;
}

static tl_status chance(uint8_t *ret_bytes, size_t n_bytes) {
    return n_bytes <= INT_MAX && RAND_bytes(ret_bytes, (int)n_bytes) == 1 ? TL_OK : TL_EIO;
}

// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 13 and 14: a key, a nonce
// and 16 bytes of zeros.
static bool knows_answers(void) {
    static const uint8_t zeros[TL_KEY_BYTES];
    static const uint8_t cipher[16] = {0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60, 0x6b, 0x6e, 0x07, 0x4e, 0xc5, 0xd3, 0xba, 0xf3, 0x9d, 0x18};
    static const uint8_t tag[16] = {0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99, 0x6b, 0xf0, 0x26, 0x5b, 0x98, 0xb5, 0xd4, 0x8a, 0xb9, 0x19};
    static const uint8_t tag_of_none[16] = {0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45, 0x36, 0xb9, 0xa9, 0x63, 0xb4, 0xf1, 0xc4, 0xcb, 0x73, 0x8b};
    uint8_t text[16], code[TL_TAG_BYTES];
    if (gcm_seal(zeros, zeros, NULL, 0, NULL, 0, text, code) != TL_OK || memcmp(code, tag_of_none, sizeof code) != 0)
        return false;
    return gcm_seal(zeros, zeros, NULL, 0, zeros, 16, text, code) == TL_OK && memcmp(text, cipher, sizeof text) == 0 &&
           memcmp(code, tag, sizeof code) == 0;
}

static const tl_crypto provider = {
    .name = "OpenSSL",
    .keygen = keygen,
    .agree = agree,
    .kdf = kdf,
    .seal = seal,
    .open = unseal,
    .sign = sign,
    .verify = verify,
    .public_of = public_of,
    .random = chance,
};

tl_status tl_crypto_get(const tl_crypto **ret_crypto, tl_error *err) {
    if (!knows_answers())
        return tl_fail(err, TL_EIO,
                       "libcrypto fails the known answers of AES-256-GCM, so nothing is sealed or opened; repair the host's OpenSSL");
    *ret_crypto = &provider;
    return TL_OK;
}
