// SPDX-License-Identifier: MIT
// Numbers and names as people type them. Nothing is guessed: a text is read whole or refused.
#include <string.h>

#include "options.h"

// Reads digits with an optional fraction as a mantissa and a number of decimals. Returns the rest
// of the text, or NULL.
static const char *read_decimal(const char *text, uint64_t *ret_mantissa, unsigned *ret_decimals) {
    uint64_t mantissa = 0;
    unsigned decimals = 0, n_digits = 0;
    bool has_point = false;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !has_point); text++) {
        if (*text == '.') {
            has_point = true;
            continue;
        }
        if (__builtin_mul_overflow(mantissa, 10u, &mantissa) || __builtin_add_overflow(mantissa, (uint64_t)(*text - '0'), &mantissa))
            return NULL;
        decimals += has_point;
        n_digits++;
    }
    if (n_digits == 0 || (has_point && decimals == 0))
        return NULL;
    *ret_mantissa = mantissa;
    *ret_decimals = decimals;
    return text;
}

// mantissa * unit / 10^decimals, exactly or not at all.
static bool scale(uint64_t mantissa, unsigned decimals, uint64_t unit, uint64_t *ret_value) {
    uint64_t value;
    if (__builtin_mul_overflow(mantissa, unit, &value))
        return false;
    for (; decimals > 0; decimals--) {
        if (value % 10)
            return false;
        value /= 10;
    }
    *ret_value = value;
    return true;
}

static const char *read_multiple(const char *text, bool allow_binary, uint64_t *ret_unit) {
    static const char letters[] = "kMG";
    uint64_t step = 1000, unit = 1;
    const char *letter = *text == 'K' ? letters : *text ? strchr(letters, *text) : NULL;
    if (letter) {
        text++;
        if (allow_binary && *text == 'i') {
            step = 1024;
            text++;
        }
        for (const char *at = letters; at <= letter; at++)
            unit *= step;
    }
    *ret_unit = unit;
    return text;
}

bool cli_parse_count(const char *text, uint64_t *ret_value) {
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        uint64_t value = 0;
        size_t n_digits = strspn(text + 2, "0123456789abcdefABCDEF");
        if (n_digits == 0 || n_digits > 16 || text[2 + n_digits])
            return false;
        for (const char *at = text + 2; *at; at++)
            value = value << 4 | (uint64_t)(*at <= '9' ? *at - '0' : (*at | 0x20) - 'a' + 10);
        *ret_value = value;
        return true;
    }
    uint64_t mantissa, unit;
    unsigned decimals;
    const char *rest = read_decimal(text, &mantissa, &decimals);
    if (!rest)
        return false;
    rest = read_multiple(rest, true, &unit);
    return !*rest && scale(mantissa, decimals, unit, ret_value);
}

bool cli_parse_size(const char *text, uint64_t *ret_bytes) {
    static const char letters[] = "KMG";
    uint64_t mantissa, unit = 1;
    unsigned decimals;
    const char *rest = read_decimal(text, &mantissa, &decimals);
    if (!rest)
        return false;
    const char *letter = *rest == 'k' ? letters : *rest ? strchr(letters, *rest) : NULL;
    if (letter) {
        unit = UINT64_C(1024) << 10 * (letter - letters);
        rest += !strcmp(rest + 1, "iB") ? 3 : 1;
    }
    return !*rest && scale(mantissa, decimals, unit, ret_bytes);
}

bool cli_parse_duration_ms(const char *text, uint64_t *ret_ms) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60000}, {"h", 3600000}};
    uint64_t mantissa;
    unsigned decimals;
    const char *rest = read_decimal(text, &mantissa, &decimals);
    for (size_t i = 0; rest && i < sizeof units / sizeof units[0]; i++) {
        if (!strcmp(rest, units[i].name))
            return scale(mantissa, decimals, units[i].ms, ret_ms);
    }
    return false;
}

bool cli_parse_interval(const char *text, tl_interval *ret_kind, uint64_t *ret_length) {
    static const struct {
        const char *name;
        tl_interval kind;
        uint64_t unit;
    } units[] = {
        {"s", TL_INTERVAL_NS, 1000000000},      {"ms", TL_INTERVAL_NS, 1000000},
        {"us", TL_INTERVAL_NS, 1000},           {"ns", TL_INTERVAL_NS, 1},
        {"i", TL_INTERVAL_INSTRUCTIONS, 1},     {"insn", TL_INTERVAL_INSTRUCTIONS, 1},
        {"insns", TL_INTERVAL_INSTRUCTIONS, 1}, {"c", TL_INTERVAL_CYCLES, 1},
        {"cycles", TL_INTERVAL_CYCLES, 1},
    };
    uint64_t mantissa, multiple, length;
    unsigned decimals;
    const char *rest = read_decimal(text, &mantissa, &decimals);
    if (!rest)
        return false;
    bool is_bare = !*rest;
    rest = read_multiple(rest, false, &multiple); // so that 1Mi is a million instructions
    tl_interval kind = is_bare ? TL_INTERVAL_NS : TL_INTERVAL_INSTRUCTIONS;
    uint64_t unit = is_bare ? 1000000 : 1;
    if (*rest) {
        size_t i = 0;
        while (i < sizeof units / sizeof units[0] && strcmp(rest, units[i].name))
            i++;
        if (i == sizeof units / sizeof units[0] || (units[i].kind == TL_INTERVAL_NS && multiple != 1))
            return false;
        kind = units[i].kind;
        unit = units[i].unit;
    }
    if (__builtin_mul_overflow(unit, multiple, &unit) || !scale(mantissa, decimals, unit, &length) || length == 0)
        return false;
    *ret_kind = kind;
    *ret_length = length;
    return true;
}

enum { MAX_WORD = 48 };

// Edits (insert, delete, replace) that make one word of the other; long words are never near.
static size_t distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), row[MAX_WORD + 1];
    if (n > MAX_WORD || m > MAX_WORD)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replace = diagonal + (a[i - 1] != b[j - 1]), remove = row[j] + 1, insert = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = replace < remove ? replace : remove;
            if (insert < row[j])
                row[j] = insert;
        }
    }
    return row[m];
}

const char *cli_nearest(const char *word, const char *const *names, size_t n_names) {
    const char *nearest = NULL;
    size_t best = strlen(word) / 3 + 1; // one edit in three letters
    for (size_t i = 0; i < n_names; i++) {
        size_t d = distance(word, names[i]);
        if (d <= best && (!nearest || d < best)) {
            best = d;
            nearest = names[i];
        }
    }
    return nearest;
}
