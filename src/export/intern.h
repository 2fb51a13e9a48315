// SPDX-License-Identifier: MIT
// Numbers for texts, in order of their first use: string tables of formats.
#ifndef TL_EXPORT_INTERN_H
#define TL_EXPORT_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct tl_intern { // a zeroed one is empty
    const char **texts;    // by number
    uint32_t n_texts;
    uint32_t *places; // open addressing: number + 1, or 0
    uint32_t n_places;
    tl_arena arena;
    bool has_failed; // the host had no memory; numbers are 0 from then on
} tl_intern;

// The number of a text. *ret_is_new, if not NULL: this is its first use.
uint32_t tl_intern_text(tl_intern *intern, const char *text, bool *ret_is_new);
uint32_t tl_intern_textf(tl_intern *intern, bool *ret_is_new, const char *format, ...) TL_PRINTF(3, 4);
void tl_intern_done(tl_intern *intern);

#endif
