// SPDX-License-Identifier: MIT
// Statuses and their sentences; see status.h.
#include "base/status.h"

#include <stdio.h>

tl_status tl_vfail(tl_error *err, tl_status status, const char *format, va_list args) {
    if (err) {
        err->status = status;
        vsnprintf(err->text, sizeof err->text, format, args);
    }
    return status;
}

tl_status tl_fail(tl_error *err, tl_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tl_vfail(err, status, format, args);
    va_end(args);
    return status;
}
