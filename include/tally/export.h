// SPDX-License-Identifier: MIT
// Profiles as other tools' viewers read them.
//
//   tl_profile_view_open("tally.profile", &view, &err)
//   tl_profile_export(view, "callgrind", NULL, stream, &err)
//   tl_profile_view_close(view)
#ifndef TALLY_EXPORT_H
#define TALLY_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>
#include <tally/profile.h>

TL_BEGIN_DECLS

typedef struct tl_export_row {
    uint32_t size;       // set by the caller to sizeof(tl_export_row)
    const char *name;    // "callgrind"
    const char *file;    // default name of a file
    const char *meaning; // one sentence: what is written, and who opens it
    bool is_binary;
    const char *companion; // a format that readers expect beside this one in a folder, or NULL
} tl_export_row;

TL_API uint32_t tl_export_n_rows(void);
TL_API void tl_export_row_at(uint32_t index, tl_export_row *ret_row);

// Writes the events of a comma-separated list in a format; NULL: the events that reports show.
// TL_ENOENT: no such format or event. TL_EINVAL: an event does not add up over instructions.
// TL_EIO: the stream failed.
TL_MUST_CHECK TL_API tl_status tl_profile_export(const tl_profile_view *view, const char *format, const char *events, FILE *stream,
                                                 tl_error *err);

TL_END_DECLS

#endif
