// SPDX-License-Identifier: MIT
// Glob matching with one point of return: after a mismatch only the latest `*` can still take one
// more character.
#include "base/glob.h"

#include <string.h>

// Matches one element of the pattern (not `*`) against c; *ret_next is the pattern behind the
// element.
static bool match_one(const char *pattern, char c, const char **ret_next) {
    *ret_next = pattern + 1;
    if (*pattern == '?')
        return true;
    if (*pattern != '[')
        return *pattern == c;
    const char *p = pattern + 1;
    bool is_negated = *p == '!' || *p == '^';
    if (is_negated)
        p++;
    const char *first = p;
    bool is_in = false;
    for (; *p && (*p != ']' || p == first); p++) {
        unsigned char low = (unsigned char)*p, high = low;
        if (p[1] == '-' && p[2] && p[2] != ']') {
            high = (unsigned char)p[2];
            p += 2;
        }
        is_in = is_in || ((unsigned char)c >= low && (unsigned char)c <= high);
    }
    if (!*p) // no closing bracket: an ordinary character
        return c == '[';
    *ret_next = p + 1;
    return is_in != is_negated;
}

bool tl_glob_match(const char *pattern, const char *text) {
    const char *star = NULL, *star_text = NULL;
    while (*text) {
        const char *next;
        if (*pattern == '*') {
            star = ++pattern;
            star_text = text;
        } else if (*pattern && match_one(pattern, *text, &next)) {
            pattern = next;
            text++;
        } else if (star) {
            pattern = star;
            text = ++star_text;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool tl_glob_is_pattern(const char *text) { return strpbrk(text, "*?[") != NULL; }
