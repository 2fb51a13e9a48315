// SPDX-License-Identifier: MIT
// Bytes as hexadecimal digits; see hex_file.h.
#include "base/hex_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int digit_of(int c) { return c >= '0' && c <= '9' ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1; }

tl_status tl_hex_file_read(const char *path, const char *what, uint8_t *ret_bytes, size_t n_bytes, tl_error *err) {
    FILE *file = fopen(path, "rbe");
    size_t n_digits = 0;
    int c;
    if (!file)
        return tl_fail(err, errno == ENOENT ? TL_ENOENT : errno == EACCES ? TL_EACCESS : TL_EIO, "%.200s: %s", path, strerror(errno));
    memset(ret_bytes, 0, n_bytes);
    while ((c = getc(file)) != EOF) {
        if (isspace(c))
            continue;
        const int digit = digit_of(c);
        if (digit < 0 || n_digits == 2 * n_bytes) {
            n_digits = SIZE_MAX;
            break;
        }
        ret_bytes[n_digits / 2] = (uint8_t)(ret_bytes[n_digits / 2] << 4 | digit);
        n_digits++;
    }
    const bool has_failed = ferror(file) != 0;
    fclose(file);
    if (has_failed)
        return tl_fail(err, TL_EIO, "%.200s: cannot be read", path);
    return n_digits == 2 * n_bytes ? TL_OK : tl_fail(err, TL_EFORMAT, "%.200s: %s is %zu hexadecimal digits", path, what, 2 * n_bytes);
}
