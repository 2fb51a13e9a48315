// SPDX-License-Identifier: MIT
// A build without a cryptographic library.
#include "sealed/crypto.h"

tl_status tl_crypto_get(const tl_crypto **ret_crypto, tl_error *err) {
    (void)ret_crypto;
    return tl_fail(err, TL_ENOENT,
                   "this build of tally has no cryptography, which confidential mode and sealed records need: install libssl-dev and "
                   "configure with -Dcrypto=enabled");
}
