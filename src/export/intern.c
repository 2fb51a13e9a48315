// SPDX-License-Identifier: MIT
// A hash table of texts (FNV-1a, linear probing, at most half full).
#include "export/intern.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(const char *text) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return h;
}

// The place of a text, or the empty one where it belongs.
static uint32_t *place_of(const tl_intern *in, const char *text) {
    uint32_t i = (uint32_t)hash(text) & (in->n_places - 1);
    while (in->places[i] != 0 && strcmp(in->texts[in->places[i] - 1], text) != 0)
        i = (i + 1) & (in->n_places - 1);
    return &in->places[i];
}

static bool grow(tl_intern *in) {
    const uint32_t n_places = in->n_places ? 2 * in->n_places : 64;
    const char **texts = n_places == 0 ? NULL : realloc(in->texts, n_places / 2 * sizeof *texts);
    if (!texts)
        return false;
    in->texts = texts;
    uint32_t *places = calloc(n_places, sizeof *places);
    if (!places)
        return false;
    free(in->places);
    in->places = places;
    in->n_places = n_places;
    for (uint32_t i = 0; i < in->n_texts; i++)
        *place_of(in, in->texts[i]) = i + 1;
    return true;
}

uint32_t tl_intern_text(tl_intern *in, const char *text, bool *ret_is_new) {
    if (ret_is_new)
        *ret_is_new = false;
    if (in->has_failed)
        return 0;
    if (2 * in->n_texts >= in->n_places && !grow(in)) {
        in->has_failed = true;
        return 0;
    }
    uint32_t *place = place_of(in, text);
    if (*place != 0)
        return *place - 1;
    const char *copy = tl_arena_strdup(&in->arena, text);
    if (!copy) {
        in->has_failed = true;
        return 0;
    }
    in->texts[in->n_texts] = copy;
    *place = ++in->n_texts;
    if (ret_is_new)
        *ret_is_new = true;
    return *place - 1;
}

uint32_t tl_intern_textf(tl_intern *in, bool *ret_is_new, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char text[512];
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < (int)sizeof text)
        return tl_intern_text(in, text, ret_is_new);
    char *longer = malloc((size_t)n + 1);
    if (!longer) {
        in->has_failed = true;
        return tl_intern_text(in, "", ret_is_new);
    }
    va_start(args, format);
    vsnprintf(longer, (size_t)n + 1, format, args);
    va_end(args);
    const uint32_t number = tl_intern_text(in, longer, ret_is_new);
    free(longer);
    return number;
}

void tl_intern_done(tl_intern *in) {
    free(in->texts);
    free(in->places);
    tl_arena_done(&in->arena);
    *in = (tl_intern){0};
}
