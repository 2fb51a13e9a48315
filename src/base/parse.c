// SPDX-License-Identifier: MIT
// Checked numbers of parse.h, by hand rather than with strtoull and strtod: those skip blanks, take
// signs, stop early and read the locale.
#include "base/parse.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct suffix {
    const char *name;
    uint64_t factor; // 0: refused as ambiguous
} suffix;

// Largest first: tl_format_u64 takes the first that divides. Spelling is exact except for the
// one-letter suffixes of counts and sizes.
static const suffix count_suffixes[] = {
    {"T", 1000000000000}, {"G", 1000000000}, {"M", 1000000},  {"k", 1000}, {"Ti", UINT64_C(1) << 40},
    {"Gi", 1 << 30},      {"Mi", 1 << 20},   {"Ki", 1 << 10}, {NULL, 0},
};
static const suffix bytes_suffixes[] = {
    {"TiB", UINT64_C(1) << 40},
    {"GiB", 1 << 30},
    {"MiB", 1 << 20},
    {"KiB", 1 << 10},
    {"Ti", UINT64_C(1) << 40},
    {"Gi", 1 << 30},
    {"Mi", 1 << 20},
    {"Ki", 1 << 10},
    {"T", UINT64_C(1) << 40},
    {"G", 1 << 30},
    {"M", 1 << 20},
    {"K", 1 << 10},
    {"TB", 0},
    {"GB", 0},
    {"MB", 0},
    {"KB", 0},
    {"kB", 0},
    {"B", 1},
    {NULL, 0},
};
static const suffix hz_suffixes[] = {{"GHz", 1000000000}, {"MHz", 1000000}, {"kHz", 1000}, {"Hz", 1}, {NULL, 0}};
static const suffix ns_suffixes[] = {{"min", 60000000000}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}, {NULL, 0}};

static const suffix *const suffixes_of[] = {
    [TL_SCALE_COUNT] = count_suffixes,
    [TL_SCALE_BYTES] = bytes_suffixes,
    [TL_SCALE_HZ] = hz_suffixes,
    [TL_SCALE_NS] = ns_suffixes,
};
static const char *const examples_of[] = {
    [TL_SCALE_COUNT] = "64, 10M or 64Ki",
    [TL_SCALE_BYTES] = "32768, 32KiB or 4GiB",
    [TL_SCALE_HZ] = "1GHz or 800MHz",
    [TL_SCALE_NS] = "10ms or 2s",
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const suffix *find_suffix(const char *text, tl_scale scale) {
    for (const suffix *row = suffixes_of[scale]; row->name; row++) {
        bool any_case = row->name[1] == '\0' && (scale == TL_SCALE_COUNT || scale == TL_SCALE_BYTES);
        if (strcmp(row->name, text) == 0 || (any_case && strcasecmp(row->name, text) == 0))
            return row;
    }
    return NULL;
}

static tl_status not_a_number(const char *text, tl_scale scale, tl_error *err) {
    if (*text == '\0')
        return tl_fail(err, TL_EINVAL, "a number is missing; write one such as %s", examples_of[scale]);
    return tl_fail(err, TL_EINVAL, "'%.40s' is not a number; write one such as %s", text, examples_of[scale]);
}

static tl_status too_large(const char *text, tl_error *err) { return tl_fail(err, TL_EINVAL, "'%.40s' does not fit into 64 bits", text); }

static tl_status parse_hex(const char *text, tl_scale scale, uint64_t *ret_value, tl_error *err) {
    uint64_t value = 0;
    const char *p = text + 2;
    for (; *p; p++) {
        char c = *p;
        uint64_t digit;
        if (is_digit(c))
            digit = (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint64_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = (uint64_t)(c - 'A' + 10);
        else
            break;
        if (value >> 60)
            return too_large(text, err);
        value = value << 4 | digit;
    }
    if (p == text + 2 || *p)
        return not_a_number(text, scale, err);
    *ret_value = value;
    return TL_OK;
}

tl_status tl_parse_u64(const char *text, tl_scale scale, uint64_t *ret_value, tl_error *err) {
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return parse_hex(text, scale, ret_value, err);
    if (!is_digit(text[0]))
        return not_a_number(text, scale, err);

    // whole and fraction / 10^n_fraction; all of it fits 128 bits since both are checked
    uint64_t whole = 0, fraction = 0, fraction_unit = 1;
    const char *p = text;
    for (; is_digit(*p) || (*p == '_' && is_digit(p[1])); p++) {
        if (*p == '_')
            continue;
        uint64_t digit = (uint64_t)(*p - '0');
        if (whole > (UINT64_MAX - digit) / 10)
            return too_large(text, err);
        whole = whole * 10 + digit;
    }
    if (*p == '.') {
        if (!is_digit(p[1]))
            return not_a_number(text, scale, err);
        for (p++; is_digit(*p); p++) {
            if (fraction_unit >= UINT64_C(1000000000000000000))
                return tl_fail(err, TL_EINVAL, "'%.40s' has too many digits after the point", text);
            fraction = fraction * 10 + (uint64_t)(*p - '0');
            fraction_unit *= 10;
        }
    }

    uint64_t factor = 1;
    if (*p) {
        const suffix *row = find_suffix(p, scale);
        if (!row)
            return tl_fail(err, TL_EINVAL, "'%.40s' has the unknown unit '%.20s'; write a number such as %s", text, p, examples_of[scale]);
        if (row->factor == 0)
            return tl_fail(err, TL_EINVAL, "'%.40s' is ambiguous; write %ciB, which is a power of 1024", text,
                           toupper((unsigned char)p[0]));
        factor = row->factor;
    }
    __extension__ typedef unsigned __int128 u128;
    u128 scaled = (u128)fraction * factor;
    if (scaled % fraction_unit != 0)
        return tl_fail(err, TL_EINVAL, "'%.40s' is not a whole number", text);
    u128 value = (u128)whole * factor + scaled / fraction_unit;
    if (value > UINT64_MAX)
        return too_large(text, err);
    *ret_value = (uint64_t)value;
    return TL_OK;
}

// Decimal text of the form that strtod accepts in the C locale, nothing else; then strtod with the
// point of the current locale.
tl_status tl_parse_double(const char *text, double *ret_value, tl_error *err) {
    const char *p = text;
    if (*p == '+' || *p == '-')
        p++;
    const char *digits = p;
    while (is_digit(*p))
        p++;
    size_t n_digits = (size_t)(p - digits), n_whole = (size_t)(p - text);
    bool has_point = *p == '.';
    if (has_point) {
        const char *fraction = ++p;
        while (is_digit(*p))
            p++;
        n_digits += (size_t)(p - fraction);
    }
    if (n_digits > 0 && (*p == 'e' || *p == 'E')) {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        if (!is_digit(*p))
            n_digits = 0;
        while (is_digit(*p))
            p++;
    }
    size_t n_text = (size_t)(p - text);
    if (n_digits == 0 || *p || n_text > 200)
        return tl_fail(err, TL_EINVAL, "'%.40s' is not a number; write one such as 0.5 or 1e6", text);

    // The text with the locale's decimal point, which is taken from printf's output for one half.
    char local[256];
    char half[32];
    snprintf(half, sizeof half, "%.1f", 0.5);
    size_t n_half = strlen(half), n_point = n_half >= 2 && n_half < 16 ? n_half - 2 : 1;
    memcpy(local, text, n_whole);
    size_t n = n_whole;
    if (has_point) {
        memcpy(local + n, half + 1, n_point);
        n += n_point;
        memcpy(local + n, text + n_whole + 1, n_text - n_whole - 1);
        n += n_text - n_whole - 1;
    } else {
        memcpy(local + n, text + n_whole, n_text - n_whole);
        n += n_text - n_whole;
    }
    local[n] = '\0';
    double value = strtod(local, NULL);
    if (!isfinite(value))
        return tl_fail(err, TL_EINVAL, "'%.40s' is too large", text);
    *ret_value = value;
    return TL_OK;
}

tl_status tl_parse_ratio(const char *text, double *ret_ratio, tl_error *err) {
    char number[64];
    size_t n = strlen(text);
    bool is_percent = n > 0 && text[n - 1] == '%';
    if (is_percent) {
        n--;
        while (n > 0 && text[n - 1] == ' ')
            n--;
    }
    double value;
    if (n >= sizeof number)
        return tl_fail(err, TL_EINVAL, "'%.40s' is not a number; write one such as 1%% or 0.01", text);
    memcpy(number, text, n);
    number[n] = '\0';
    if (tl_parse_double(number, &value, NULL) != TL_OK)
        return tl_fail(err, TL_EINVAL, "'%.40s' is not a ratio; write one such as 1%% or 0.01", text);
    *ret_ratio = is_percent ? value / 100 : value;
    return TL_OK;
}

void tl_format_u64(uint64_t value, tl_scale scale, char ret_text[32]) {
    if (scale != TL_SCALE_COUNT && value != 0)
        for (const suffix *row = suffixes_of[scale]; row->name && row->factor != 1; row++)
            if (row->factor != 0 && value % row->factor == 0) {
                snprintf(ret_text, 32, "%" PRIu64 "%s", value / row->factor, row->name);
                return;
            }
    static const char *const smallest[] = {[TL_SCALE_COUNT] = "", [TL_SCALE_BYTES] = "", [TL_SCALE_HZ] = "Hz", [TL_SCALE_NS] = "ns"};
    snprintf(ret_text, 32, "%" PRIu64 "%s", value, smallest[scale]);
}

void tl_format_double(double value, char ret_text[32]) {
    if (!isfinite(value)) {
        snprintf(ret_text, 32, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    char text[64];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) // same locale both ways
            break;
    }
    size_t n = 0;
    bool has_point = false;
    for (const char *p = text; *p && n < 31; p++) {
        if (is_digit(*p) || *p == '-' || *p == '+' || *p == 'e') {
            ret_text[n++] = *p;
        } else if (!has_point) { // the locale's point, one byte or several
            ret_text[n++] = '.';
            has_point = true;
        }
    }
    ret_text[n] = '\0';
}
