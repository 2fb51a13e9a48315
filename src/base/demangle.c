// SPDX-License-Identifier: MIT
// Tells the manglings apart and puts suffixes of compilers behind the name.
#include "base/demangle.h"

#include <ctype.h>

#include "base/demangle_parts.h"

static bool is_suffix_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$'; }

// ".constprop.0.cold" -> " [clone .constprop.0] [clone .cold]": a clone is letters, or digits, and
// numbers behind them.
static bool put_clones(tl_demangle_text *in, tl_demangle_out *out, bool is_wanted) {
    while (in->at < in->end) {
        const char *from = in->at;
        if (*in->at++ != '.' || in->at == in->end)
            return false;
        bool begins_with_digit = isdigit((unsigned char)*in->at);
        while (in->at < in->end &&
               (begins_with_digit ? isdigit((unsigned char)*in->at) : isalpha((unsigned char)*in->at) || *in->at == '_'))
            in->at++;
        while (in->end - in->at >= 2 && in->at[0] == '.' && isdigit((unsigned char)in->at[1])) {
            in->at++;
            while (in->at < in->end && isdigit((unsigned char)*in->at))
                in->at++;
        }
        if (in->at == from + 1)
            return false;
        if (is_wanted) {
            tl_demangle_puts(out, " [clone ");
            tl_demangle_put(out, from, (size_t)(in->at - from));
            tl_demangle_puts(out, "]");
        }
    }
    return true;
}

bool tl_demangle(const char *symbol, tl_demangle_form form, char ret_text[TL_DEMANGLE_BYTES]) {
    enum { MAX_SYMBOL_BYTES = 8192 };
    tl_demangle_text in = {symbol, symbol + strnlen(symbol, MAX_SYMBOL_BYTES + 1)};
    tl_demangle_out out = {.text = ret_text};
    if (in.end - in.at > MAX_SYMBOL_BYTES)
        return false;
    for (const char *p = in.at; p < in.end; p++) {
        if (!is_suffix_char(*p) && *p != '@' && *p != '-')
            return false;
    }
    const char *version = memchr(in.at, '@', (size_t)(in.end - in.at)); // "name@@GLIBCXX_3.4"
    in.end = version ? version : in.end;
    bool is_done = false;
    if (tl_demangle_take(&in, "_R")) {
        is_done = tl_demangle_rust_v0(&in, &out);
    } else if (tl_demangle_take(&in, "_ZN")) {
        is_done = tl_demangle_rust_legacy(&in, &out);
        if (!is_done) {
            out.n = 0;
            out.has_failed = false;
            in.at = symbol + 2;
            is_done = tl_demangle_cxx(&in, form, &out) && put_clones(&in, &out, form == TL_DEMANGLE_FULL);
        }
    } else if (tl_demangle_take(&in, "_Z")) {
        is_done = tl_demangle_cxx(&in, form, &out) && put_clones(&in, &out, form == TL_DEMANGLE_FULL);
    }
    if (!is_done || out.has_failed || out.n == 0)
        return false;
    ret_text[out.n] = '\0';
    return true;
}
