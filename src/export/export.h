// SPDX-License-Identifier: MIT
// A profile as other tools' viewers read it.
#ifndef TL_EXPORT_EXPORT_H
#define TL_EXPORT_EXPORT_H

#include <stdio.h>

#include "base/status.h"
#include "profile/profile.h"

typedef struct tl_export_measures tl_export_measures;

typedef struct tl_export_format {
    const char *name;    // "callgrind"
    const char *file;    // default name of a file, without a folder
    const char *meaning; // one sentence: who opens it
    bool is_binary;
    tl_status (*write)(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err);
    const char *companion; // another format, whose file stands beside this one in a folder, or NULL
} tl_export_format;

extern const tl_export_format tl_export_formats[];
extern const uint32_t tl_export_n_formats;

const tl_export_format *tl_export_find_format(const char *name); // NULL: there is none

// Writes the events of the comma-separated list; NULL: those that reports show. TL_ENOENT: no such
// event, or no such glob. TL_EINVAL: an event does not add up over instructions. TL_EIO: the stream
// failed.
TL_MUST_CHECK tl_status tl_export_profile(const tl_profile *profile, const tl_export_format *format, const char *events, FILE *stream,
                                          tl_error *err);

#endif
