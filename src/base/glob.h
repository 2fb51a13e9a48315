// SPDX-License-Identifier: MIT
// Patterns over names: `*` any run of characters (dots included), `?` one character, `[a-c]` and
// `[!a-c]` sets. No escapes; a `[` without `]` stands for itself. Time is at most pattern length
// times text length.
#ifndef TL_BASE_GLOB_H
#define TL_BASE_GLOB_H

#include <stdbool.h>

bool tl_glob_match(const char *pattern, const char *text);
bool tl_glob_is_pattern(const char *text); // has *, ? or [

#endif
