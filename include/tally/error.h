// SPDX-License-Identifier: MIT
// Errors of the library. A function that can fail returns a status. It fills a tl_error with a
// sentence if the caller passes one. The library never prints or exits. Faults of the simulated
// program are part of the result.
#ifndef TALLY_ERROR_H
#define TALLY_ERROR_H

#ifdef __cplusplus
#define TL_BEGIN_DECLS extern "C" {
#define TL_END_DECLS }
#else
#define TL_BEGIN_DECLS
#define TL_END_DECLS
#endif

#if defined(__GNUC__)
#define TL_API __attribute__((visibility("default")))
#define TL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TL_API
#define TL_MUST_CHECK
#endif

TL_BEGIN_DECLS

typedef enum tl_status {
    TL_OK = 0,
    TL_ENOMEM = -1,  // the host has no memory left
    TL_EINVAL = -2,  // a value from the caller is out of range or inconsistent
    TL_ENOENT = -3,  // a name, file or key does not exist
    TL_EFORMAT = -4, // a file or text does not follow its format
    TL_EIO = -5,     // the host's input or output failed
    TL_EACCESS = -6, // the host denied access, or a file is not executable
} tl_status;

// The caller owns the tl_error or passes NULL. Functions write it only when they fail.
typedef struct tl_error {
    tl_status status;
    char text[508]; // one sentence naming the file, key or address at fault, and the remedy
} tl_error;

TL_END_DECLS

#endif
