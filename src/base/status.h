// SPDX-License-Identifier: MIT
// How host-side work fails: a negative status and, for people, one sentence. What a guest does
// wrong is a trap, an ordinary value, and never passes through here. The types are the public ones,
// so that an error travels from the bottom to the user as it is.
#ifndef TL_BASE_STATUS_H
#define TL_BASE_STATUS_H

#include <stdarg.h>

#include <tally/error.h>

#define TL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

// Fills `err` (when not NULL) and returns `status`, so that failing is one line: return
// tl_fail(err, TL_EINVAL, "...").
tl_status tl_fail(tl_error *err, tl_status status, const char *format, ...) TL_PRINTF(3, 4);
tl_status tl_vfail(tl_error *err, tl_status status, const char *format, va_list args);

#endif
