// SPDX-License-Identifier: MIT
// "Did you mean": keeps the closest of the names offered, by edit distance (insert, delete,
// replace, swap of neighbors; case, and one separator for another, count a quarter). Names further
// away than a third of their length are not suggested.
#ifndef TL_BASE_NEAREST_H
#define TL_BASE_NEAREST_H

#include <stddef.h>
#include <stdint.h>

enum { TL_NEAREST_MAX = 3, TL_NEAREST_NAME_BYTES = 64 };

typedef struct tl_nearest {
    char wanted[TL_NEAREST_NAME_BYTES];
    uint32_t n_found;
    struct {
        char name[TL_NEAREST_NAME_BYTES];
        uint32_t distance;   // in quarters of an edit
    } found[TL_NEAREST_MAX]; // closest first; of equals, the one offered first
} tl_nearest;

void tl_nearest_init(tl_nearest *nearest, const char *wanted);
// Copies the name. A name offered twice counts once.
void tl_nearest_offer(tl_nearest *nearest, const char *name);
// "; did you mean l1d.load or l1d.load_miss?", or "" when nothing is near. Meant to end a sentence.
const char *tl_nearest_text(const tl_nearest *nearest, char *ret_text, size_t size_bytes);

#endif
