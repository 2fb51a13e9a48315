// SPDX-License-Identifier: MIT
// A cryptographic library provides these: five functions for sealed records, two for identities,
// one for chance. Records are AES-256-GCM, keys come from X25519 and HKDF-SHA-256, identities are
// Ed25519. A build without a library has no provider; no provider leaves records unencrypted.
//
// A tl_seal_key counts its records. seal takes no nonce: it increments seq first and makes the
// nonce iv_mask XOR (0x00000000 || big-endian seq), as TLS 1.3 does (RFC 8446 section 5.3).
#ifndef TL_SEALED_CRYPTO_H
#define TL_SEALED_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TL_KEY_BYTES = 32, TL_NONCE_BYTES = 12, TL_TAG_BYTES = 16, TL_SIGNATURE_BYTES = 64 };
#define TL_SEAL_LIMIT (UINT64_C(1) << 24) // records per key

// One direction of one epoch. Two keys with equal bytes are an error, so copies do not work: seal
// refuses a key that was moved, and one whose seq is not what `witness` says.
typedef struct tl_seal_key {
    uint8_t key[TL_KEY_BYTES], iv_mask[TL_NONCE_BYTES];
    uint64_t seq; // of the last record
    uint64_t limit;
    uint64_t *witness; // last seq; lies outside of anything that checkpoints restore
    const struct tl_seal_key *self;
} tl_seal_key;

// `key` stays where it is until tl_seal_key_done. `witness` may be NULL: a key that only opens.
void tl_seal_key_init(tl_seal_key *key, const uint8_t bytes[TL_KEY_BYTES], const uint8_t iv_mask[TL_NONCE_BYTES], uint64_t *witness);
void tl_seal_key_done(tl_seal_key *key); // erases it
// For providers: the next seq, its nonce. TL_EACCESS: the key is zero, moved, behind its witness,
// or at its limit; it then seals nothing any more.
TL_MUST_CHECK tl_status tl_seal_key_step(tl_seal_key *key, uint8_t ret_nonce[TL_NONCE_BYTES]);
void tl_seal_nonce(const uint8_t iv_mask[TL_NONCE_BYTES], uint64_t seq, uint8_t ret_nonce[TL_NONCE_BYTES]);

// Functions return TL_EIO if the library fails, and TL_EACCESS where the input is refused.
typedef struct tl_crypto {
    const char *name;
    // X25519.
    tl_status (*keygen)(uint8_t ret_secret[TL_KEY_BYTES], uint8_t ret_public[TL_KEY_BYTES]);
    // TL_EACCESS: the peer's key gives a shared secret of zeros.
    tl_status (*agree)(const uint8_t secret[TL_KEY_BYTES], const uint8_t peer[TL_KEY_BYTES], uint8_t ret_shared[TL_KEY_BYTES]);
    tl_status (*kdf)(const uint8_t *secret, size_t n_secret, const uint8_t *salt, size_t n_salt, const uint8_t *info, size_t n_info,
                     uint8_t *ret_bytes, size_t n_bytes);
    // Writes the new seq, little-endian, at aad + seq_at before it authenticates `aad`.
    tl_status (*seal)(tl_seal_key *key, uint8_t *aad, size_t n_aad, size_t seq_at, const uint8_t *plain, size_t n_plain,
                      uint8_t *ret_cipher, uint8_t ret_tag[TL_TAG_BYTES]);
    // TL_EACCESS: the tag is wrong; ret_plain is zeroed.
    tl_status (*open)(const tl_seal_key *key, uint64_t seq, const uint8_t *aad, size_t n_aad, const uint8_t *cipher, size_t n_cipher,
                      const uint8_t tag[TL_TAG_BYTES], uint8_t *ret_plain);
    tl_status (*sign)(const uint8_t secret[TL_KEY_BYTES], const uint8_t *bytes, size_t n_bytes, uint8_t ret_signature[TL_SIGNATURE_BYTES]);
    tl_status (*verify)(const uint8_t public_key[TL_KEY_BYTES], const uint8_t *bytes, size_t n_bytes,
                        const uint8_t signature[TL_SIGNATURE_BYTES]);
    // Ed25519.
    tl_status (*public_of)(const uint8_t secret[TL_KEY_BYTES], uint8_t ret_public[TL_KEY_BYTES]);
    tl_status (*random)(uint8_t *ret_bytes, size_t n_bytes);
} tl_crypto;

// The provider of this build, after a self-test with known answers (NIST's GCM test cases 13 and
// 14). TL_ENOENT: the build has none; the sentence says how to get one. TL_EIO: the self-test
// failed.
TL_MUST_CHECK tl_status tl_crypto_get(const tl_crypto **ret_crypto, tl_error *err);

#endif
