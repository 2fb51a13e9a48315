// SPDX-License-Identifier: MIT
// Symbols of Rust. Legacy: the identifiers of a nested C++ name with escapes, the last a hash. v0
// (RFC 2603): a grammar of its own, printed while it is read; a back reference reads again from
// where it points, which is always before it.
#include <ctype.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/demangle_parts.h"

// ---- Legacy.

typedef struct escape {
    const char *name, *text;
} escape;

static const escape escapes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"}, {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};

// At '$'; returns the bytes read, 0: no escape.
static size_t put_escape(const char *at, size_t n, tl_demangle_out *out) {
    const char *end = n > 1 ? memchr(at + 1, '$', n - 1) : NULL;
    if (!end)
        return 0;
    size_t length = (size_t)(end - at) - 1;
    for (size_t i = 0; i < TL_COUNT_OF(escapes); i++) {
        if (strlen(escapes[i].name) == length && !memcmp(at + 1, escapes[i].name, length)) {
            tl_demangle_puts(out, escapes[i].text);
            return length + 2;
        }
    }
    uint32_t code = 0;
    if (length < 2 || length > 7 || at[1] != 'u')
        return 0;
    for (size_t i = 2; i <= length; i++) {
        if (!isxdigit((unsigned char)at[i]) || isupper((unsigned char)at[i]))
            return 0;
        code = code * 16 + (uint32_t)(isdigit((unsigned char)at[i]) ? at[i] - '0' : at[i] - 'a' + 10);
    }
    if (code < 0x20 || code > 0x7e)
        return 0;
    char c = (char)code;
    tl_demangle_put(out, &c, 1);
    return length + 2;
}

static bool put_legacy(const char *name, size_t n, tl_demangle_out *out) {
    size_t i = n > 1 && name[0] == '_' && name[1] == '$' ? 1 : 0;
    while (i < n) {
        size_t taken = 1;
        if (name[i] == '$') {
            taken = put_escape(name + i, n - i, out);
            if (taken == 0)
                return false;
        } else if (name[i] == '.' && i + 1 < n && name[i + 1] == '.') {
            tl_demangle_puts(out, "::");
            taken = 2;
        } else {
            tl_demangle_put(out, name + i, 1);
        }
        i += taken;
    }
    return true;
}

// "17h" and 16 hexadecimal digits, of which some differ.
static bool is_hash(const char *name, size_t n) {
    uint32_t seen = 0;
    if (n != 17 || name[0] != 'h')
        return false;
    for (size_t i = 1; i < n; i++) {
        if (!isxdigit((unsigned char)name[i]) || isupper((unsigned char)name[i]))
            return false;
        seen |= 1u << (isdigit((unsigned char)name[i]) ? name[i] - '0' : name[i] - 'a' + 10);
    }
    uint32_t n_seen = 0;
    for (; seen; seen &= seen - 1)
        n_seen++;
    return n_seen >= 5;
}

bool tl_demangle_rust_legacy(tl_demangle_text *in, tl_demangle_out *out) {
    const char *from = in->at;
    // The first pass finds the hash at the end, the second pass writes.
    for (int pass = 0; pass < 2; pass++) {
        bool is_first = true;
        in->at = from;
        for (;;) {
            uint32_t n;
            if (!tl_demangle_number(in, 10, &n) || n == 0 || n > (size_t)(in->end - in->at))
                return false;
            const char *name = in->at;
            in->at += n;
            bool is_last = tl_demangle_peek(in, 0) == 'E';
            if (is_last && (!is_hash(name, n) || is_first))
                return false;
            if (is_last)
                break;
            if (pass == 1) {
                tl_demangle_puts(out, is_first ? "" : "::");
                if (!put_legacy(name, n, out))
                    return false;
            }
            is_first = false;
        }
        in->at++;
        if (in->at < in->end && *in->at != '.') // suffixes of LLVM are no part of the name
            return false;
    }
    return true;
}

// ---- v0.

enum { MAX_DEPTH = 200, MAX_STEPS = 20000 };

typedef struct v0 {
    tl_demangle_text in;
    const char *begin; // behind "_R": back references count from here
    tl_demangle_out *out;
    bool is_silent; // parts are read without output
    uint32_t n_bound, depth, n_steps;
} v0;

static void put(v0 *r, const char *text) {
    if (!r->is_silent)
        tl_demangle_puts(r->out, text);
}

static void put_u64(v0 *r, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put(r, text);
}

static bool take(v0 *r, char c) {
    if (tl_demangle_peek(&r->in, 0) != c || c == '\0')
        return false;
    r->in.at++;
    return true;
}

// "_" is 0, "0_" is 1.
static bool base62(v0 *r, uint64_t *ret_value) {
    uint64_t value = 0;
    if (take(r, '_')) {
        *ret_value = 0;
        return true;
    }
    while (!take(r, '_')) {
        char c = tl_demangle_peek(&r->in, 0);
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'z' ? (uint64_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'Z' ? (uint64_t)(c - 'A') + 36
                                                : 62;
        if (digit == 62 || value > (UINT64_MAX - digit) / 62)
            return false;
        value = value * 62 + digit;
        r->in.at++;
    }
    *ret_value = value + 1;
    return true;
}

static bool optional_base62(v0 *r, char tag, uint64_t *ret_value) {
    *ret_value = 0;
    if (!take(r, tag))
        return true;
    if (!base62(r, ret_value))
        return false;
    *ret_value += 1;
    return true;
}

typedef struct ident {
    const char *text;
    size_t n;
    bool is_punycode;
    uint64_t disambiguator;
} ident;

static bool undisambiguated(v0 *r, ident *ret_ident) {
    uint32_t n;
    ret_ident->is_punycode = take(r, 'u');
    if (tl_demangle_peek(&r->in, 0) == '0') { // no leading zeros
        n = 0;
        r->in.at++;
    } else if (!tl_demangle_number(&r->in, 10, &n)) {
        return false;
    }
    (void)take(r, '_');
    if (n > (size_t)(r->in.end - r->in.at))
        return false;
    ret_ident->text = r->in.at;
    ret_ident->n = n;
    r->in.at += n;
    return true;
}

static bool identifier(v0 *r, ident *ret_ident) {
    return optional_base62(r, 's', &ret_ident->disambiguator) && undisambiguated(r, ret_ident);
}

static void put_utf8(v0 *r, uint32_t code) {
    char text[5] = "";
    if (code < 0x80) {
        text[0] = (char)code;
    } else if (code < 0x800) {
        text[0] = (char)(0xc0 | code >> 6);
        text[1] = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        text[0] = (char)(0xe0 | code >> 12);
        text[1] = (char)(0x80 | (code >> 6 & 63));
        text[2] = (char)(0x80 | (code & 63));
    } else {
        text[0] = (char)(0xf0 | code >> 18);
        text[1] = (char)(0x80 | (code >> 12 & 63));
        text[2] = (char)(0x80 | (code >> 6 & 63));
        text[3] = (char)(0x80 | (code & 63));
    }
    put(r, text);
}

// RFC 3492 with '_' for the last '-'.
static bool put_punycode(v0 *r, const ident *name) {
    enum { MAX_CODES = 256 };
    uint32_t codes[MAX_CODES], n_codes = 0;
    size_t at = 0;
    for (size_t i = name->n; i-- > 0;) {
        if (name->text[i] == '_') {
            if (i > MAX_CODES)
                return false;
            for (; n_codes < i; n_codes++)
                codes[n_codes] = (unsigned char)name->text[n_codes];
            at = i + 1;
            break;
        }
    }
    if (at == name->n)
        return false;
    uint64_t damp = 700, bias = 72, i = 0, code = 0x80;
    while (at < name->n) {
        uint64_t delta = 0, weight = 1;
        for (uint64_t k = 36;; k += 36) {
            uint64_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
            if (at == name->n)
                return false;
            char c = name->text[at++];
            uint64_t digit = c >= 'a' && c <= 'z' ? (uint64_t)(c - 'a') : c >= '0' && c <= '9' ? (uint64_t)(c - '0') + 26 : 36;
            if (digit == 36 || delta > UINT32_MAX || weight > UINT32_MAX)
                return false;
            delta += digit * weight;
            if (digit < t)
                break;
            weight *= 36 - t;
        }
        i += delta;
        if (n_codes == MAX_CODES)
            return false;
        code += i / (n_codes + 1);
        i %= n_codes + 1;
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
        memmove(codes + i + 1, codes + i, (n_codes - i) * sizeof *codes);
        codes[i++] = (uint32_t)code;
        n_codes++;
        delta /= damp;
        damp = 2;
        delta += delta / n_codes;
        uint64_t k = 0;
        for (; delta > 455; k += 36)
            delta /= 35;
        bias = k + 36 * delta / (delta + 38);
    }
    for (uint32_t k = 0; k < n_codes; k++)
        put_utf8(r, codes[k]);
    return true;
}

static bool put_ident(v0 *r, const ident *name) {
    if (r->is_silent)
        return true;
    if (name->is_punycode)
        return put_punycode(r, name);
    tl_demangle_put(r->out, name->text, name->n);
    return true;
}

static bool path(v0 *r, bool is_value);
static bool type(v0 *r);
static bool constant(v0 *r);

typedef bool read_fn(v0 *r);
static bool path_of_type(v0 *r) { return path(r, false); }
static bool path_of_value(v0 *r) { return path(r, true); }

static bool enter(v0 *r) { return ++r->depth <= MAX_DEPTH && ++r->n_steps <= MAX_STEPS && !r->out->has_failed; }

// At the number behind 'B'.
static bool back_reference(v0 *r, read_fn *read) {
    uint64_t offset;
    const char *from = r->in.at - 1;
    if (!base62(r, &offset) || offset >= (uint64_t)(from - r->begin))
        return false;
    if (r->is_silent)
        return true;
    const char *after = r->in.at;
    r->in.at = r->begin + offset;
    bool is_fine = read(r);
    r->in.at = after;
    return is_fine;
}

static void put_lifetime(v0 *r, uint64_t index) {
    if (index == 0) {
        put(r, "'_");
    } else if (index > r->n_bound) {
        r->out->has_failed = true;
    } else {
        uint64_t depth = r->n_bound - index;
        char text[3] = {'\'', (char)('a' + depth % 26), '\0'};
        put(r, depth < 26 ? text : "'z");
        if (depth >= 26)
            put_u64(r, depth - 25);
    }
}

// "for<'a, 'b> ", if 'G' says so. The caller takes ret_n from n_bound again.
static bool binder(v0 *r, uint32_t *ret_n) {
    uint64_t n;
    *ret_n = 0;
    if (!optional_base62(r, 'G', &n) || n > 100)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        put(r, i ? ", " : "for<");
        r->n_bound++;
        put_lifetime(r, 1);
    }
    put(r, n ? "> " : "");
    *ret_n = (uint32_t)n;
    return true;
}

static bool generic_argument(v0 *r) {
    uint64_t index;
    if (take(r, 'L')) {
        if (!base62(r, &index))
            return false;
        put_lifetime(r, index);
        return true;
    }
    return take(r, 'K') ? constant(r) : type(r);
}

static bool generic_arguments(v0 *r) {
    for (bool is_first = true; !take(r, 'E'); is_first = false) {
        put(r, is_first ? "" : ", ");
        if (!generic_argument(r))
            return false;
    }
    return true;
}

// The path of an impl itself is not shown.
static bool impl_path(v0 *r) {
    uint64_t unused;
    bool was_silent = r->is_silent;
    r->is_silent = true;
    bool is_fine = optional_base62(r, 's', &unused) && path(r, false);
    r->is_silent = was_silent;
    return is_fine;
}

static bool nested_path(v0 *r, bool is_value) {
    ident name;
    char space = tl_demangle_peek(&r->in, 0);
    if (!isalpha((unsigned char)space))
        return false;
    r->in.at++;
    if (!path(r, is_value) || !identifier(r, &name))
        return false;
    if (islower((unsigned char)space)) {
        put(r, name.n ? "::" : "");
        return put_ident(r, &name);
    }
    char other[2] = {space, '\0'};
    put(r, "::{");
    put(r, space == 'C' ? "closure" : space == 'S' ? "shim" : other);
    put(r, name.n ? ":" : "");
    if (!put_ident(r, &name))
        return false;
    put(r, "#");
    put_u64(r, name.disambiguator);
    put(r, "}");
    return true;
}

static bool path_body(v0 *r, bool is_value) {
    ident name;
    char tag = tl_demangle_peek(&r->in, 0);
    r->in.at += tag != '\0';
    switch (tag) {
    case 'C': return identifier(r, &name) && put_ident(r, &name);
    case 'N': return nested_path(r, is_value);
    case 'M':
    case 'X':
    case 'Y':
        if (tag != 'Y' && !impl_path(r))
            return false;
        put(r, "<");
        if (!type(r))
            return false;
        if (tag != 'M') {
            put(r, " as ");
            if (!path(r, false))
                return false;
        }
        put(r, ">");
        return true;
    case 'I':
        if (!path(r, is_value))
            return false;
        put(r, is_value ? "::<" : "<");
        if (!generic_arguments(r))
            return false;
        put(r, ">");
        return true;
    case 'B': return back_reference(r, is_value ? path_of_value : path_of_type);
    default: return false;
    }
}

static bool path(v0 *r, bool is_value) {
    bool is_fine = enter(r) && path_body(r, is_value);
    r->depth--;
    return is_fine;
}

static const char *const basic_types[26] = {
    ['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",  ['d' - 'a'] = "f64", ['e' - 'a'] = "str", ['f' - 'a'] = "f32",
    ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize", ['l' - 'a'] = "i32", ['m' - 'a'] = "u32", ['n' - 'a'] = "i128",
    ['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",   ['t' - 'a'] = "u16", ['u' - 'a'] = "()",  ['v' - 'a'] = "...",
    ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!",
};

static bool function_type(v0 *r) {
    uint32_t n_bound;
    ident abi;
    bool is_fine = binder(r, &n_bound);
    if (is_fine && take(r, 'U'))
        put(r, "unsafe ");
    if (is_fine && take(r, 'K')) {
        put(r, "extern \"");
        if (take(r, 'C')) {
            put(r, "C");
        } else {
            is_fine = undisambiguated(r, &abi) && !abi.is_punycode;
            for (size_t i = 0; is_fine && i < abi.n; i++) {
                char c[2] = {abi.text[i] == '_' ? '-' : abi.text[i], '\0'};
                put(r, c);
            }
        }
        put(r, "\" ");
    }
    put(r, "fn(");
    for (bool is_first = true; is_fine && !take(r, 'E'); is_first = false) {
        put(r, is_first ? "" : ", ");
        is_fine = type(r);
    }
    put(r, ")");
    if (is_fine && !take(r, 'u')) { // no result is not written
        put(r, " -> ");
        is_fine = type(r);
    }
    r->n_bound -= n_bound;
    return is_fine;
}

// "Trait<A, Name = B>": names of associated types go into the list of arguments.
static bool dyn_trait(v0 *r) {
    bool is_open = false;
    if (take(r, 'I')) {
        if (!path(r, false))
            return false;
        put(r, "<");
        is_open = true;
        if (!generic_arguments(r))
            return false;
    } else if (!path(r, false)) {
        return false;
    }
    while (take(r, 'p')) {
        ident name;
        put(r, is_open ? ", " : "<");
        is_open = true;
        if (!undisambiguated(r, &name) || !put_ident(r, &name))
            return false;
        put(r, " = ");
        if (!type(r))
            return false;
    }
    put(r, is_open ? ">" : "");
    return true;
}

static bool dyn_type(v0 *r) {
    uint32_t n_bound;
    uint64_t index;
    put(r, "dyn ");
    bool is_fine = binder(r, &n_bound);
    for (bool is_first = true; is_fine && !take(r, 'E'); is_first = false) {
        put(r, is_first ? "" : " + ");
        is_fine = dyn_trait(r);
    }
    r->n_bound -= n_bound;
    if (!is_fine || !take(r, 'L') || !base62(r, &index))
        return false;
    if (index) {
        put(r, " + ");
        put_lifetime(r, index);
    }
    return true;
}

static bool type_body(v0 *r) {
    uint64_t index;
    char tag = tl_demangle_peek(&r->in, 0);
    if (islower((unsigned char)tag) && basic_types[tag - 'a']) {
        r->in.at++;
        put(r, basic_types[tag - 'a']);
        return true;
    }
    r->in.at += tag != '\0';
    switch (tag) {
    case 'R':
    case 'Q':
        put(r, "&");
        if (take(r, 'L')) {
            if (!base62(r, &index))
                return false;
            if (index) {
                put_lifetime(r, index);
                put(r, " ");
            }
        }
        put(r, tag == 'Q' ? "mut " : "");
        return type(r);
    case 'P': put(r, "*const "); return type(r);
    case 'O': put(r, "*mut "); return type(r);
    case 'A':
    case 'S':
        put(r, "[");
        if (!type(r))
            return false;
        if (tag == 'A') {
            put(r, "; ");
            if (!constant(r))
                return false;
        }
        put(r, "]");
        return true;
    case 'T': {
        uint32_t n = 0;
        put(r, "(");
        for (; !take(r, 'E'); n++) {
            put(r, n ? ", " : "");
            if (!type(r))
                return false;
        }
        put(r, n == 1 ? ",)" : ")");
        return true;
    }
    case 'F': return function_type(r);
    case 'D': return dyn_type(r);
    case 'B': return back_reference(r, type);
    default: r->in.at -= tag != '\0'; return path(r, false);
    }
}

static bool type(v0 *r) {
    bool is_fine = enter(r) && type_body(r);
    r->depth--;
    return is_fine;
}

static bool hex(v0 *r, uint64_t *ret_value, const char **ret_digits, size_t *ret_n) {
    uint64_t value = 0;
    *ret_digits = r->in.at;
    while (!take(r, '_')) {
        char c = tl_demangle_peek(&r->in, 0);
        if (!isdigit((unsigned char)c) && !(c >= 'a' && c <= 'f'))
            return false;
        value = value * 16 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
        r->in.at++;
    }
    *ret_n = (size_t)(r->in.at - *ret_digits) - 1;
    *ret_value = value;
    return *ret_n > 0;
}

static bool put_char(v0 *r, uint64_t code) {
    char text[24];
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    put(r, "'");
    if (code == '\t' || code == '\n' || code == '\r' || code == '\'' || code == '\\') {
        put(r, code == '\t' ? "\\t" : code == '\n' ? "\\n" : code == '\r' ? "\\r" : code == '\'' ? "\\'" : "\\\\");
    } else if (code >= 0x20 && code < 0x7f) {
        put_utf8(r, (uint32_t)code);
    } else {
        snprintf(text, sizeof text, "\\u{%llx}", (unsigned long long)code);
        put(r, text);
    }
    put(r, "'");
    return true;
}

static bool constant_body(v0 *r) {
    uint64_t value;
    const char *digits;
    size_t n;
    if (take(r, 'B'))
        return back_reference(r, constant);
    char tag = tl_demangle_peek(&r->in, 0);
    r->in.at += tag != '\0';
    if (tag == 'p') {
        put(r, "_");
        return true;
    }
    if (tag == '\0' || !strchr("hjmotyailnsxbc", tag))
        return false;
    if (strchr("ailnsx", tag) && take(r, 'n'))
        put(r, "-");
    if (!hex(r, &value, &digits, &n))
        return false;
    if (tag == 'b') {
        put(r, value ? "true" : "false");
        return value < 2;
    }
    if (tag == 'c')
        return put_char(r, value);
    if (n <= 16) {
        put_u64(r, value);
    } else if (!r->is_silent) {
        put(r, "0x");
        tl_demangle_put(r->out, digits, n);
    }
    return true;
}

static bool constant(v0 *r) {
    bool is_fine = enter(r) && constant_body(r);
    r->depth--;
    return is_fine;
}

bool tl_demangle_rust_v0(tl_demangle_text *in, tl_demangle_out *out) {
    v0 r = {.in = *in, .begin = in->at, .out = out};
    if (!isupper((unsigned char)tl_demangle_peek(in, 0)) || !path(&r, true))
        return false;
    if (r.in.at < r.in.end && *r.in.at != '.') { // the crate that asked for it
        r.is_silent = true;
        if (!path(&r, false))
            return false;
    }
    return r.in.at == r.in.end || *r.in.at == '.';
}
