// SPDX-License-Identifier: MIT
// Keys that count their records: no pair of key and nonce occurs twice.
#include <string.h>

#include "sealed/crypto.h"
#include "sealed/hash.h"

void tl_seal_key_init(tl_seal_key *key, const uint8_t bytes[TL_KEY_BYTES], const uint8_t iv_mask[TL_NONCE_BYTES], uint64_t *witness) {
    *key = (tl_seal_key){.limit = TL_SEAL_LIMIT, .witness = witness, .self = key};
    memcpy(key->key, bytes, TL_KEY_BYTES);
    memcpy(key->iv_mask, iv_mask, TL_NONCE_BYTES);
    if (witness)
        *witness = 0;
}

void tl_seal_key_done(tl_seal_key *key) { tl_wipe(key, sizeof *key); }

void tl_seal_nonce(const uint8_t iv_mask[TL_NONCE_BYTES], uint64_t seq, uint8_t ret_nonce[TL_NONCE_BYTES]) {
    memcpy(ret_nonce, iv_mask, TL_NONCE_BYTES);
    for (unsigned i = 0; i < 8; i++)
        ret_nonce[4 + i] = (uint8_t)(ret_nonce[4 + i] ^ seq >> (56 - 8 * i));
}

tl_status tl_seal_key_step(tl_seal_key *key, uint8_t ret_nonce[TL_NONCE_BYTES]) {
    static const uint8_t zeros[TL_KEY_BYTES];
    bool is_usable = key->self == key && key->witness && *key->witness == key->seq && key->seq < key->limit;
    if (!is_usable || tl_bytes_equal(key->key, zeros, sizeof zeros)) {
        tl_seal_key_done(key);
        return TL_EACCESS;
    }
    *key->witness = ++key->seq;
    tl_seal_nonce(key->iv_mask, key->seq, ret_nonce);
    return TL_OK;
}
