// SPDX-License-Identifier: MIT
// Failures of work on the host: a negative status and one sentence for people. A guest's mistake is
// a trap, an ordinary value that never passes through here. The types are the public ones, so that
// an error reaches the user unchanged.
#ifndef TL_BASE_STATUS_H
#define TL_BASE_STATUS_H

#include <stdarg.h>

#include <tally/error.h>

#define TL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

// Fills `err` (when not NULL) and returns `status`, so that failing is one line: return
// tl_fail(err, TL_EINVAL, "...").
tl_status tl_fail(tl_error *err, tl_status status, const char *format, ...) TL_PRINTF(3, 4);
static inline tl_status tl_no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left"); }
tl_status tl_vfail(tl_error *err, tl_status status, const char *format, va_list args);

#endif
