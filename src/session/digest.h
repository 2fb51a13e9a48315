// SPDX-License-Identifier: MIT
// A name for a file's contents, so that a report says which program was counted without naming a
// place.
#ifndef TL_SESSION_DIGEST_H
#define TL_SESSION_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TL_DIGEST_BYTES = 24 };

// XXH64 with seed 0: a checksum, fast enough to cost nothing, not proof against forgery. xxhsum
// prints the same number.
uint64_t tl_digest(const void *bytes, size_t n_bytes);
// The file as the next function opens it, to be closed by the caller; -1: errno says why.
int tl_digest_open(const char *root, const char *path);
// "xxh64:0123456789abcdef" of a file; with `root`, of the file that a program has under that name
// to which `root` is "/". TL_ENOENT, TL_EACCESS, TL_EIO.
TL_MUST_CHECK tl_status tl_digest_file(const char *root, const char *path, char ret_text[TL_DIGEST_BYTES], tl_error *err);

#endif
