// SPDX-License-Identifier: MIT
// Edit distance by the usual table, three rows of it, over names cut to TL_NEAREST_NAME_BYTES.
#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { EDIT = 4, CASE = 1 }; // cost in quarters

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static uint32_t min_of(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t replace_cost(char a, char b) {
    if (a == b)
        return 0;
    if (lower(a) == lower(b))
        return CASE;
    bool is_separator_a = a == '-' || a == '_' || a == '.', is_separator_b = b == '-' || b == '_' || b == '.';
    return is_separator_a && is_separator_b ? CASE : EDIT;
}

static uint32_t distance(const char *a, const char *b) {
    uint32_t rows[3][TL_NEAREST_NAME_BYTES];
    size_t n_a = strlen(a), n_b = strlen(b);
    for (size_t j = 0; j <= n_b; j++)
        rows[0][j] = (uint32_t)j * EDIT;
    for (size_t i = 1; i <= n_a; i++) {
        uint32_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (uint32_t)i * EDIT;
        for (size_t j = 1; j <= n_b; j++) {
            row[j] = min_of(above[j - 1] + replace_cost(a[i - 1], b[j - 1]), min_of(above[j], row[j - 1]) + EDIT);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_of(row[j], above2[j - 2] + EDIT);
        }
    }
    return rows[n_a % 3][n_b];
}

// Bytes behind the last '.', if both names have equal ones: they say nothing about the rest.
static size_t common_leaf(const char *a, const char *b) {
    const char *leaf_a = strrchr(a, '.'), *leaf_b = strrchr(b, '.');
    return leaf_a && leaf_b && strcmp(leaf_a, leaf_b) == 0 ? strlen(leaf_a) : 0;
}

void tl_nearest_init(tl_nearest *nearest, const char *wanted) {
    *nearest = (tl_nearest){0};
    snprintf(nearest->wanted, sizeof nearest->wanted, "%s", wanted);
}

void tl_nearest_offer(tl_nearest *nearest, const char *name) {
    char copy[TL_NEAREST_NAME_BYTES];
    if (snprintf(copy, sizeof copy, "%s", name) >= (int)sizeof copy)
        return;
    size_t n_wanted = strlen(nearest->wanted), n_name = strlen(copy), n_longer = n_wanted > n_name ? n_wanted : n_name;
    size_t n_apart = n_longer - (n_wanted < n_name ? n_wanted : n_name);
    uint32_t limit = (uint32_t)((n_longer - common_leaf(nearest->wanted, copy)) * EDIT) / 3;
    if (limit < EDIT)
        limit = EDIT; // one edit of a very short name
    if (n_apart * EDIT > limit)
        return;
    uint32_t d = distance(nearest->wanted, copy);
    if (d > limit || d >= n_longer * EDIT)
        return;
    uint32_t place = nearest->n_found;
    for (uint32_t i = 0; i < nearest->n_found; i++)
        if (strcmp(nearest->found[i].name, copy) == 0)
            return;
    while (place > 0 && nearest->found[place - 1].distance > d)
        place--;
    if (place == TL_NEAREST_MAX)
        return;
    if (nearest->n_found < TL_NEAREST_MAX)
        nearest->n_found++;
    for (uint32_t i = nearest->n_found - 1; i > place; i--)
        nearest->found[i] = nearest->found[i - 1];
    memcpy(nearest->found[place].name, copy, sizeof copy);
    nearest->found[place].distance = d;
}

const char *tl_nearest_text(const tl_nearest *nearest, char *ret_text, size_t size_bytes) {
    const char *a = nearest->found[0].name, *b = nearest->found[1].name, *c = nearest->found[2].name;
    switch (nearest->n_found) {
    case 0: snprintf(ret_text, size_bytes, "%s", ""); break;
    case 1: snprintf(ret_text, size_bytes, "; did you mean %s?", a); break;
    case 2: snprintf(ret_text, size_bytes, "; did you mean %s or %s?", a, b); break;
    default: snprintf(ret_text, size_bytes, "; did you mean %s, %s or %s?", a, b, c); break;
    }
    return ret_text;
}
