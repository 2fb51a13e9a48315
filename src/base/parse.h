// SPDX-License-Identifier: MIT
// Numbers as people write them, checked: the whole text must be one number, in range, whatever the
// locale. Messages name the text and the remedy ("'32KB': write KiB for 1024 bytes"); callers put
// file, key or option in front.
#ifndef TL_BASE_PARSE_H
#define TL_BASE_PARSE_H

#include <stdint.h>

#include "base/status.h"

typedef enum tl_scale {
    // Accepts k M G T (powers of 1000), Ki Mi Gi Ti (powers of 1024): 10M, 64Ki; lower-case k m g
    // t, too.
    TL_SCALE_COUNT,
    // Accepts K M G T, KiB MiB GiB TiB, B: all powers of 1024. Refuses KB, MB ... as ambiguous.
    TL_SCALE_BYTES,
    TL_SCALE_HZ, // Hz kHz MHz GHz
    TL_SCALE_NS, // ns us ms s, min
} tl_scale;

// Decimal with optional fraction (1.5GHz) as long as the result is whole; 0x hexadecimal without
// suffix; digits may be grouped by _. No sign.
TL_MUST_CHECK tl_status tl_parse_u64(const char *text, tl_scale scale, uint64_t *ret_value, tl_error *err);
TL_MUST_CHECK tl_status tl_parse_double(const char *text, double *ret_value, tl_error *err);
// "+1%", "0.5%", "-3 %", or a plain ratio "0.01": yields 0.01, 0.005, -0.03, 0.01.
TL_MUST_CHECK tl_status tl_parse_ratio(const char *text, double *ret_ratio, tl_error *err);

// The exact spelling in the largest unit that divides the value: 32768 bytes -> "32KiB", 1000000000
// Hz -> "1GHz"; counts are digits. It reads back as the same value.
void tl_format_u64(uint64_t value, tl_scale scale, char ret_text[32]);
// The shortest decimal that reads back as the same double, with a point in every locale; "nan",
// "inf", "-inf".
void tl_format_double(double value, char ret_text[32]);

#endif
