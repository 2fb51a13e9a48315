// SPDX-License-Identifier: MIT
// A file that holds bytes as hexadecimal digits, such as a key.
#ifndef TL_BASE_HEX_FILE_H
#define TL_BASE_HEX_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Two digits a byte, and white space around them. TL_EFORMAT: there are more, fewer, or others.
// TL_ENOENT, TL_EACCESS, TL_EIO: the file cannot be read. `what` names the bytes in messages.
TL_MUST_CHECK tl_status tl_hex_file_read(const char *path, const char *what, uint8_t *ret_bytes, size_t n_bytes, tl_error *err);

#endif
