// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104) without memory of their own. Firmware that must
// not allocate verifies requests with these, because a cryptographic library allocates in each
// call.
#ifndef TL_SEALED_HASH_H
#define TL_SEALED_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TL_SHA256_BYTES = 32, TL_SHA256_BLOCK_BYTES = 64 };

typedef struct tl_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t block[TL_SHA256_BLOCK_BYTES];
} tl_sha256;

void tl_sha256_init(tl_sha256 *hash);
void tl_sha256_add(tl_sha256 *hash, const void *bytes, size_t n_bytes);
void tl_sha256_end(tl_sha256 *hash, uint8_t ret_digest[TL_SHA256_BYTES]);

typedef struct tl_hmac {
    tl_sha256 inner, outer;
} tl_hmac;

void tl_hmac_init(tl_hmac *mac, const uint8_t *key, size_t n_key); // a key of any length
void tl_hmac_add(tl_hmac *mac, const void *bytes, size_t n_bytes);
void tl_hmac_end(tl_hmac *mac, uint8_t ret_code[TL_SHA256_BYTES]);

// Takes the same time for every pair of contents.
bool tl_bytes_equal(const void *a, const void *b, size_t n_bytes);
// Zeroes a secret. The compiler does not remove it.
void tl_wipe(void *secret, size_t n_bytes);

#endif
