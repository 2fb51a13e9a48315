// SPDX-License-Identifier: MIT
// Files of machines/, metrics/, docs/schema/ and src/report/page/ as the build put them into the
// library (tools/embed).
#ifndef TL_BASE_EMBEDDED_H
#define TL_BASE_EMBEDDED_H

#include <stddef.h>
#include <stdint.h>

typedef struct tl_embedded_file {
    const char *name, *text; // "tiny", the whole file
    size_t n_bytes;
} tl_embedded_file;

extern const tl_embedded_file tl_machine_files[], tl_metric_files[], tl_page_files[];
extern const uint32_t tl_machine_files_count, tl_metric_files_count, tl_page_files_count;

#endif
