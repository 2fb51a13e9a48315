// SPDX-License-Identifier: MIT
// How host-side work fails: a negative status and, for people, one sentence. What a guest does wrong is a trap, an ordinary
// value, and never passes through here.
#ifndef TL_BASE_STATUS_H
#define TL_BASE_STATUS_H

#include <stdarg.h>

#define TL_MUST_CHECK __attribute__((warn_unused_result))
#define TL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

typedef enum tl_status {
    TL_OK = 0,
    TL_ENOMEM = -1,  // the host has no memory left
    TL_EINVAL = -2,  // a value the caller gave is out of range or inconsistent
    TL_ENOENT = -3,  // a name, file or key does not exist
    TL_EFORMAT = -4, // a file or text does not follow its format
    TL_EIO = -5,     // the host's input or output failed
    TL_EACCESS = -6, // the host denied access, or a file is not executable
} tl_status;

typedef struct tl_error { // caller-owned, may be NULL; written only on failure
    tl_status status;
    char text[508]; // one sentence naming the file, key or address at fault, and the remedy
} tl_error;

// Fills `err` (when not NULL) and returns `status`, so that failing is one line: return tl_fail(err, TL_EINVAL, "...").
tl_status tl_fail(tl_error *err, tl_status status, const char *format, ...) TL_PRINTF(3, 4);
tl_status tl_vfail(tl_error *err, tl_status status, const char *format, va_list args);

#endif
