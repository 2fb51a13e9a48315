// SPDX-License-Identifier: MIT
// C++ symbols of the Itanium C++ ABI, chapter 5.1. The symbol becomes a tree in a pool of fixed
// size, since types are written around what they belong to and substitutions repeat parts; then the
// tree is written. Every way that could not end is cut off by a count of steps or of depth.
#include <ctype.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/demangle_parts.h"

enum { MAX_NODES = 1024, MAX_SUBSTITUTIONS = 256, MAX_DEPTH = 100, MAX_STEPS = 20000 };

typedef uint16_t ref; // of a node; 0: none

typedef enum kind {
    NONE,
    TEXT,        // text
    TYPE,        // text: of a builtin type
    QUALIFIED,   // a::b
    TEMPLATE,    // a<b>
    LIST,        // a, then the list b
    PACK,        // the list a: arguments of a parameter pack
    EXPANSION,   // a for each element of the pack that a template parameter in it stands for
    CONSTRUCTOR, // named like class a
    DESTRUCTOR,  // ~ and the same
    CONVERSION,  // operator a
    TAGGED,      // a[abi:text]
    LOCAL,       // function a :: b
    DEFAULT,     // default argument `number` of function a, then b
    LAMBDA,      // parameters a, number
    UNNAMED,     // number
    // `number`: an argument of the template that is being written, or of a generic lambda.
    TEMPLATE_PARAMETER,
    POINTER,
    REFERENCE,   // &
    RREFERENCE,  // &&
    QUALIFIERS,  // type a, text such as " const"
    FUNCTION,    // type: returns a, takes list b; text such as " const &"
    ARRAY,       // of a; bound b or 0
    MEMBER,      // pointer to member of class a, type b
    ENCODING,    // name a of function type b
    SPECIAL,     // text, then a, then "-in-" b
    DECLTYPE,    // of expression a
    LITERAL,     // type a, digits in text
    PREFIX,      // operator text on a
    POSTFIX,     // the same behind
    BINARY,      // a text b
    CALL,        // a(list b)
    CAST,        // (a)(list b)
    SIZEOF,      // text (a)
    FOLD,        // (a text ...), number 1: (... text a)
    BRACED,      // a{list b}
    PARAMETER,   // of a function, in an expression: number
    GLOBAL,      // ::a
    CONDITIONAL, // a ? b : `number` as a node
    // Of type a. `b` is a list of two packs, placement and initializer. Number 1: it has the
    // latter.
    NEW,
} kind;

typedef struct node {
    uint8_t kind;
    ref a, b;
    uint16_t n; // bytes of text
    uint32_t number;
    const char *text;
} node;

// Meanings of template parameters while a function is written. The arguments belong to the
// enclosing scope.
typedef struct bindings {
    ref arguments; // a list
    const struct bindings *outer;
    int32_t outer_index; // pack_index there
} bindings;

typedef struct context {
    const bindings *bound; // NULL: outside of every template
    int32_t pack_index;    // element of the pack that is being written; -1: no expansion
} context;

typedef struct cxx {
    tl_demangle_text in;
    node nodes[MAX_NODES];
    uint32_t n_nodes;
    ref substitutions[MAX_SUBSTITUTIONS];
    uint32_t n_substitutions;
    bool is_conversion; // the type of a conversion is read: arguments behind it are the function's
    uint32_t depth, n_steps;
    tl_demangle_out *out; // while writing
    bool is_in_lambda;    // its parameters are being written
    context now;
} cxx;

typedef struct name_facts {
    bool ends_with_arguments, has_no_result; // constructors, destructors, conversions
    char qualifiers[40];                     // of the member function
} name_facts;

// ---- The tree.

static ref add(cxx *p, kind k, ref a, ref b) {
    if (p->n_nodes == MAX_NODES)
        return 0;
    p->nodes[p->n_nodes] = (node){.kind = (uint8_t)k, .a = a, .b = b, .text = ""};
    return (ref)p->n_nodes++;
}

static ref add_text(cxx *p, kind k, ref a, const char *text, size_t n) {
    ref r = n <= UINT16_MAX ? add(p, k, a, 0) : 0;
    if (r) {
        p->nodes[r].text = text;
        p->nodes[r].n = (uint16_t)n;
    }
    return r;
}

static ref add_word(cxx *p, kind k, ref a, const char *text) { return add_text(p, k, a, text, strlen(text)); }

static ref add_number(cxx *p, kind k, ref a, ref b, uint32_t number) {
    ref r = add(p, k, a, b);
    if (r)
        p->nodes[r].number = number;
    return r;
}

static bool remember(cxx *p, ref r) {
    if (!r || p->n_substitutions == MAX_SUBSTITUTIONS)
        return false;
    p->substitutions[p->n_substitutions++] = r;
    return true;
}

// A type or prefix that may be repeated.
static ref remembered(cxx *p, ref r) { return remember(p, r) ? r : 0; }

static ref wrap(cxx *p, kind k, ref a) { return a ? add(p, k, a, 0) : 0; }

static bool append(cxx *p, ref *list, ref *last, ref item) {
    ref r = item ? add(p, LIST, item, 0) : 0;
    if (!r)
        return false;
    if (*last)
        p->nodes[*last].b = r;
    else
        *list = r;
    *last = r;
    return true;
}

// ---- Reading.

static char peek(const cxx *p, size_t ahead) { return tl_demangle_peek(&p->in, ahead); }
static bool take(cxx *p, const char *word) { return tl_demangle_take(&p->in, word); }
static bool enter(cxx *p) { return ++p->depth <= MAX_DEPTH && ++p->n_steps <= MAX_STEPS; }

static ref read_type(cxx *p);
static ref read_name(cxx *p, name_facts *facts);
static ref read_encoding(cxx *p);
static ref read_expression(cxx *p);
static ref read_arguments(cxx *p);

// [number] "_": "_" is 0, "0_" is 1.
static bool read_sequence(cxx *p, uint32_t base, uint32_t *ret_value) {
    *ret_value = 0;
    if (take(p, "_"))
        return true;
    if (!tl_demangle_number(&p->in, base, ret_value) || !take(p, "_"))
        return false;
    *ret_value += 1;
    return true;
}

static ref read_source_name(cxx *p) {
    uint32_t n;
    if (!tl_demangle_number(&p->in, 10, &n) || n == 0 || n > (size_t)(p->in.end - p->in.at))
        return 0;
    const char *text = p->in.at;
    p->in.at += n;
    if (n >= 10 && !memcmp(text, "_GLOBAL_", 8) && strchr("._$", text[8]) && text[9] == 'N')
        return add_word(p, TEXT, 0, "(anonymous namespace)");
    return add_text(p, TEXT, 0, text, n);
}

static ref read_tags(cxx *p, ref name) {
    while (name && take(p, "B")) {
        uint32_t n;
        if (!tl_demangle_number(&p->in, 10, &n) || n == 0 || n > (size_t)(p->in.end - p->in.at))
            return 0;
        name = add_text(p, TAGGED, name, p->in.at, n);
        p->in.at += n;
    }
    return name;
}

typedef struct op {
    char code[3];
    uint8_t n_operands; // 0: not in expressions
    const char *text;
} op;

static const op ops[] = {
    {"aN", 2, "&="},        {"aS", 2, "="},   {"aa", 2, "&&"},   {"ad", 1, "&"},         {"an", 2, "&"},      {"cl", 0, "()"},
    {"cm", 2, ","},         {"co", 1, "~"},   {"dV", 2, "/="},   {"da", 0, " delete[]"}, {"de", 1, "*"},      {"dl", 0, " delete"},
    {"dv", 2, "/"},         {"eO", 2, "^="},  {"eo", 2, "^"},    {"eq", 2, "=="},        {"ge", 2, ">="},     {"gt", 2, ">"},
    {"ix", 2, "[]"},        {"lS", 2, "<<="}, {"le", 2, "<="},   {"ls", 2, "<<"},        {"lt", 2, "<"},      {"mI", 2, "-="},
    {"mL", 2, "*="},        {"mi", 2, "-"},   {"ml", 2, "*"},    {"mm", 1, "--"},        {"na", 0, " new[]"}, {"ne", 2, "!="},
    {"ng", 1, "-"},         {"nt", 1, "!"},   {"nw", 0, " new"}, {"oR", 2, "|="},        {"oo", 2, "||"},     {"or", 2, "|"},
    {"pL", 2, "+="},        {"pl", 2, "+"},   {"pm", 2, "->*"},  {"pp", 1, "++"},        {"ps", 1, "+"},      {"pt", 2, "->"},
    {"qu", 3, "?"},         {"rM", 2, "%="},  {"rS", 2, ">>="},  {"rm", 2, "%"},         {"rs", 2, ">>"},     {"ss", 2, "<=>"},
    {"aw", 1, " co_await"},
};

static const op *find_op(const cxx *p) {
    for (size_t i = 0; i < TL_COUNT_OF(ops); i++) {
        if (peek(p, 0) == ops[i].code[0] && peek(p, 1) == ops[i].code[1])
            return &ops[i];
    }
    return NULL;
}

static ref read_operator_name(cxx *p, name_facts *facts) {
    if (take(p, "cv")) {
        bool was_conversion = p->is_conversion;
        p->is_conversion = true;
        ref type = read_type(p);
        p->is_conversion = was_conversion;
        if (facts)
            facts->has_no_result = true;
        return wrap(p, CONVERSION, type);
    }
    if (take(p, "li")) {
        ref name = read_source_name(p);
        return name ? add_text(p, SPECIAL, name, "operator\"\" ", 11) : 0;
    }
    const op *o = find_op(p);
    if (!o)
        return 0;
    p->in.at += 2;
    ref text = add_word(p, TEXT, 0, o->text);
    return text ? add_text(p, SPECIAL, text, "operator", 8) : 0;
}

// Types until `E`, the end, or a suffix; "v" alone is an empty list. *ret_list 0: empty.
static bool read_types(cxx *p, ref *ret_list) {
    ref last = 0;
    *ret_list = 0;
    if (peek(p, 0) == 'v' && (peek(p, 1) == 'E' || peek(p, 1) == '\0' || peek(p, 1) == '.' || peek(p, 1) == '@' || peek(p, 1) == 'Q')) {
        p->in.at++;
        return true;
    }
    // A reference qualifier ends a function type.
    while (peek(p, 0) != '\0' && peek(p, 0) != 'E' && peek(p, 0) != '.' &&
           !((peek(p, 0) == 'R' || peek(p, 0) == 'O') && peek(p, 1) == 'E')) {
        if (!append(p, ret_list, &last, read_type(p)))
            return false;
    }
    return true;
}

static ref read_unnamed(cxx *p) {
    uint32_t number;
    if (take(p, "Ut")) {
        return read_sequence(p, 10, &number) ? add_number(p, UNNAMED, 0, 0, number + 1) : 0;
    }
    if (!take(p, "Ul"))
        return 0;
    ref list;
    bool is_fine = read_types(p, &list) && take(p, "E");
    return is_fine && read_sequence(p, 10, &number) ? add_number(p, LAMBDA, list, 0, number + 1) : 0;
}

static ref read_structured_binding(cxx *p) {
    ref list = 0, last = 0;
    while (!take(p, "E")) {
        if (!append(p, &list, &last, read_source_name(p)))
            return 0;
    }
    return list ? add_number(p, BRACED, 0, list, 1) : 0;
}

// `scope`: the class so far, which names constructors; 0: none.
static ref read_unqualified(cxx *p, ref scope, name_facts *facts) {
    ref r = 0;
    char c = peek(p, 0);
    if (c == 'L') {
        p->in.at++;
        c = peek(p, 0);
    }
    if (isdigit((unsigned char)c)) {
        r = read_source_name(p);
    } else if (c == 'U') {
        r = read_unnamed(p);
    } else if (c == 'D' && peek(p, 1) == 'C') {
        p->in.at += 2;
        r = read_structured_binding(p);
    } else if ((c == 'C' || c == 'D') && scope) {
        bool inherits = c == 'C' && peek(p, 1) == 'I';
        p->in.at += inherits ? 2 : 1;
        char which = peek(p, 0);
        if (which < '0' || which > '5')
            return 0;
        p->in.at++;
        ref class = inherits ? read_type(p) : scope;
        r = class ? add(p, c == 'C' ? CONSTRUCTOR : DESTRUCTOR, class, 0) : 0;
        if (facts)
            facts->has_no_result = true;
    } else if (islower((unsigned char)c)) {
        r = read_operator_name(p, facts);
    }
    return read_tags(p, r);
}

typedef struct standard {
    char letter;
    const char *text, *full, *last;
} standard;

static const standard standards[] = {
    {'a', "std::allocator", "std::allocator", "allocator"},
    {'b', "std::basic_string", "std::basic_string", "basic_string"},
    {'s', "std::string", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "basic_string"},
    {'i', "std::istream", "std::basic_istream<char, std::char_traits<char> >", "basic_istream"},
    {'o', "std::ostream", "std::basic_ostream<char, std::char_traits<char> >", "basic_ostream"},
    {'d', "std::iostream", "std::basic_iostream<char, std::char_traits<char> >", "basic_iostream"},
};

// At 'S', which "t" does not follow. The text of a standard abbreviation ends in its last part, for
// constructors.
static ref read_substitution(cxx *p) {
    uint32_t index;
    p->in.at++;
    for (size_t i = 0; i < TL_COUNT_OF(standards); i++) {
        const standard *s = &standards[i];
        if (peek(p, 0) != s->letter)
            continue;
        p->in.at++;
        bool names_class = peek(p, 0) == 'C' || peek(p, 0) == 'D';
        ref r = add_word(p, TEXT, 0, names_class ? s->full : s->text);
        if (r)
            p->nodes[r].b = add_word(p, TEXT, 0, s->last);
        return r ? read_tags(p, r) : 0;
    }
    if (!read_sequence(p, 36, &index) || index >= p->n_substitutions)
        return 0;
    return p->substitutions[index];
}

static ref read_template_parameter(cxx *p) {
    uint32_t index;
    p->in.at++; // T
    if (!read_sequence(p, 10, &index))
        return 0;
    return add_number(p, TEMPLATE_PARAMETER, 0, 0, index);
}

static bool take_qualifiers(cxx *p, char *text, size_t size) {
    size_t n = strlen(text), before = n;
    bool has_restrict = take(p, "r"), has_volatile = take(p, "V"), has_const = take(p, "K");
    n += (size_t)snprintf(text + n, size - n, "%s%s%s", has_const ? " const" : "", has_volatile ? " volatile" : "",
                          has_restrict ? " restrict" : "");
    return n > before;
}

static ref read_decltype(cxx *p) {
    p->in.at += 2;
    ref r = wrap(p, DECLTYPE, read_expression(p));
    return r && take(p, "E") ? r : 0;
}

static ref qualify(cxx *p, ref scope, ref name) { return !name ? 0 : scope ? add(p, QUALIFIED, scope, name) : name; }

static ref read_nested(cxx *p, name_facts *facts) {
    name_facts unused = {0};
    name_facts *f = facts ? facts : &unused;
    ref r = 0;
    bool is_pushed = false; // the last part is the last substitution
    p->in.at++;             // N
    (void)take_qualifiers(p, f->qualifiers, sizeof f->qualifiers);
    if (take(p, "R"))
        strcat(f->qualifiers, " &");
    else if (take(p, "O"))
        strcat(f->qualifiers, " &&");
    while (!take(p, "E")) {
        char c = peek(p, 0);
        if (!enter(p))
            return 0;
        p->depth--;
        is_pushed = true;
        if (c == 'S' && peek(p, 1) == 't' && !r) {
            p->in.at += 2;
            r = add_word(p, TEXT, 0, "std");
            is_pushed = false;
            if (!r)
                return 0;
            continue;
        }
        if (c == 'S' && !r) {
            r = read_substitution(p);
            is_pushed = false;
            if (!r)
                return 0;
            continue;
        }
        if (c == 'T' && !r) {
            r = read_template_parameter(p);
        } else if (c == 'D' && (peek(p, 1) == 't' || peek(p, 1) == 'T') && !r) {
            r = read_decltype(p);
        } else if (c == 'I' && r) {
            ref arguments = read_arguments(p);
            r = arguments ? add(p, TEMPLATE, r, p->nodes[arguments].a) : 0;
            f->ends_with_arguments = true;
            if (!remember(p, r))
                return 0;
            continue;
        } else if (c == 'M' && r) {
            p->in.at++; // the member whose initializer holds a lambda
            continue;
        } else {
            f->has_no_result = false;
            r = qualify(p, r, read_unqualified(p, r, f));
        }
        f->ends_with_arguments = false;
        if (!remember(p, r))
            return 0;
    }
    if (is_pushed)
        p->n_substitutions--;
    return is_pushed ? r : 0;
}

static ref read_local(cxx *p, name_facts *facts) {
    uint32_t number;
    p->in.at++; // Z
    ref function = read_encoding(p), entity;
    if (!function || !take(p, "E"))
        return 0;
    if (take(p, "s")) {
        entity = add_word(p, TEXT, 0, "string literal");
        if (take(p, "_") && !tl_demangle_number(&p->in, 10, &number))
            return 0;
        return entity ? add(p, LOCAL, function, entity) : 0;
    }
    if (take(p, "d")) {
        if (!read_sequence(p, 10, &number))
            return 0;
        entity = read_name(p, facts);
        return entity ? add_number(p, DEFAULT, function, entity, number + 1) : 0;
    }
    entity = read_name(p, facts);
    if (take(p, "_")) { // which of several of that name; it is not shown
        bool is_long = take(p, "_");
        if (!tl_demangle_number(&p->in, 10, &number) || (is_long && !take(p, "_")))
            return 0;
    }
    return entity ? add(p, LOCAL, function, entity) : 0;
}

static ref read_name_body(cxx *p, name_facts *facts) {
    if (peek(p, 0) == 'N')
        return read_nested(p, facts);
    if (peek(p, 0) == 'Z')
        return read_local(p, facts);
    ref r;
    bool is_substitution = peek(p, 0) == 'S' && peek(p, 1) != 't';
    if (is_substitution) {
        r = read_substitution(p);
    } else if (take(p, "St")) {
        ref scope = add_word(p, TEXT, 0, "std");
        r = qualify(p, scope, read_unqualified(p, 0, facts));
    } else {
        r = read_unqualified(p, 0, facts);
    }
    if (!r || peek(p, 0) != 'I')
        return is_substitution ? 0 : r;
    if (!is_substitution && !remember(p, r))
        return 0;
    ref arguments = read_arguments(p);
    if (facts)
        facts->ends_with_arguments = true;
    return arguments ? add(p, TEMPLATE, r, p->nodes[arguments].a) : 0;
}

static ref read_name(cxx *p, name_facts *facts) {
    ref r = enter(p) ? read_name_body(p, facts) : 0;
    p->depth--;
    return r;
}

// "L" type digits "E", or "L_Z" encoding "E".
static ref read_literal(cxx *p) {
    p->in.at++; // L
    if (take(p, "_Z")) {
        ref r = read_encoding(p);
        return r && take(p, "E") ? r : 0;
    }
    ref type = read_type(p);
    const char *text = p->in.at;
    while (isalnum((unsigned char)peek(p, 0)) && peek(p, 0) != 'E')
        p->in.at++;
    size_t n = (size_t)(p->in.at - text);
    return type && take(p, "E") ? add_text(p, LITERAL, type, text, n) : 0;
}

static ref read_argument(cxx *p) {
    if (take(p, "X")) {
        ref r = read_expression(p);
        return r && take(p, "E") ? r : 0;
    }
    if (peek(p, 0) == 'L')
        return read_literal(p);
    if (take(p, "J") || take(p, "I")) {
        ref list = 0, last = 0;
        while (!take(p, "E")) {
            if (!enter(p) || !append(p, &list, &last, read_argument(p)))
                return 0;
            p->depth--;
        }
        return add(p, PACK, list, 0);
    }
    return read_type(p);
}

// A PACK that holds the list.
static ref read_arguments(cxx *p) {
    ref list = 0, last = 0;
    bool was_conversion = p->is_conversion;
    p->in.at++; // I
    p->is_conversion = false;
    while (!take(p, "E")) {
        bool is_fine = enter(p) && append(p, &list, &last, read_argument(p));
        p->depth--;
        if (!is_fine)
            return 0;
    }
    p->is_conversion = was_conversion;
    return add(p, PACK, list, 0);
}

static const char *const builtins[26] = {
    ['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
    ['c' - 'a'] = "char",        ['d' - 'a'] = "double",
    ['e' - 'a'] = "long double", ['f' - 'a'] = "float",
    ['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
    ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
    ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
    ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
    ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
    ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
    ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
    ['z' - 'a'] = "...",
};

// At "F", behind "Do" and the like; `text` gets what stands behind the parameters.
static ref read_function_type(cxx *p, const char *text) {
    ref list;
    p->in.at++; // F
    (void)take(p, "Y");
    ref result = read_type(p);
    if (!result || !read_types(p, &list))
        return 0;
    ref r = add(p, FUNCTION, result, list);
    if (r && take(p, "R"))
        text = *text ? " & noexcept" : " &";
    else if (r && take(p, "O"))
        text = *text ? " && noexcept" : " &&";
    if (!r || !take(p, "E"))
        return 0;
    p->nodes[r].text = text;
    p->nodes[r].n = (uint16_t)strlen(text);
    return r;
}

static ref read_array_type(cxx *p) {
    ref bound = 0;
    p->in.at++; // A
    const char *digits = p->in.at;
    while (isdigit((unsigned char)peek(p, 0)))
        p->in.at++;
    if (p->in.at > digits)
        bound = add_text(p, TEXT, 0, digits, (size_t)(p->in.at - digits));
    else if (peek(p, 0) != '_' && !(bound = read_expression(p)))
        return 0;
    ref of = take(p, "_") ? read_type(p) : 0;
    return of ? add(p, ARRAY, of, bound) : 0;
}

// Types that begin with D; *ret_is_builtin: not to be remembered.
static ref read_d_type(cxx *p, bool *ret_is_builtin) {
    static const struct {
        char letter;
        const char *text;
    } words[] = {{'n', "decltype(nullptr)"}, {'a', "auto"},      {'c', "decltype(auto)"}, {'i', "char32_t"},  {'s', "char16_t"},
                 {'u', "char8_t"},           {'d', "decimal64"}, {'e', "decimal128"},     {'f', "decimal32"}, {'h', "half"}};
    char c = peek(p, 1);
    *ret_is_builtin = false;
    if (c == 't' || c == 'T')
        return read_decltype(p);
    p->in.at += 2;
    if (c == 'p')
        return wrap(p, EXPANSION, read_type(p));
    if (c == 'o' && peek(p, 0) == 'F')
        return read_function_type(p, " noexcept");
    if (c == 'F') {
        uint32_t bits;
        char text[24];
        if (!tl_demangle_number(&p->in, 10, &bits))
            return 0;
        snprintf(text, sizeof text, "_Float%u", bits);
        static const char *const floats[] = {"_Float16", "_Float32", "_Float64", "_Float128"};
        *ret_is_builtin = true;
        for (size_t i = 0; i < TL_COUNT_OF(floats); i++) {
            if (!strcmp(floats[i], text))
                return take(p, "_") ? add_word(p, TYPE, 0, floats[i]) : take(p, "x") && i > 0 ? add_word(p, TYPE, 0, floats[i]) : 0;
        }
        return 0;
    }
    for (size_t i = 0; i < TL_COUNT_OF(words); i++) {
        if (words[i].letter == c) {
            *ret_is_builtin = true;
            return add_word(p, TYPE, 0, words[i].text);
        }
    }
    return 0;
}

static ref read_type_body(cxx *p) {
    char c = peek(p, 0);
    bool is_builtin;
    if (islower((unsigned char)c) && c != 'r' && builtins[c - 'a']) {
        p->in.at++;
        return add_word(p, TYPE, 0, builtins[c - 'a']);
    }
    switch (c) {
    case 'r':
    case 'V':
    case 'K': {
        char text[40] = "";
        static const char *const texts[] = {" const",          " volatile",          " const volatile",         " restrict",
                                            " const restrict", " volatile restrict", " const volatile restrict"};
        (void)take_qualifiers(p, text, sizeof text);
        // The type of a member is one type with its qualifiers.
        ref type = peek(p, 0) == 'F' ? read_function_type(p, "") : read_type(p);
        for (size_t i = 0; type && i < TL_COUNT_OF(texts); i++) {
            if (!strcmp(texts[i], text))
                return remembered(p, add_word(p, QUALIFIERS, type, texts[i]));
        }
        return 0;
    }
    case 'P': p->in.at++; return remembered(p, wrap(p, POINTER, read_type(p)));
    case 'R': p->in.at++; return remembered(p, wrap(p, REFERENCE, read_type(p)));
    case 'O': p->in.at++; return remembered(p, wrap(p, RREFERENCE, read_type(p)));
    case 'C': {
        p->in.at++;
        ref type = read_type(p);
        return type ? remembered(p, add_word(p, QUALIFIERS, type, " _Complex")) : 0;
    }
    case 'F': return remembered(p, read_function_type(p, ""));
    case 'A': return remembered(p, read_array_type(p));
    case 'M': {
        p->in.at++;
        ref class = read_type(p), member = class ? read_type(p) : 0;
        return member ? remembered(p, add(p, MEMBER, class, member)) : 0;
    }
    case 'T': {
        char next = peek(p, 1);
        if (next == 's' || next == 'u' || next == 'e') {
            p->in.at += 2;
            return remembered(p, read_name(p, NULL));
        }
        ref r = remembered(p, read_template_parameter(p));
        if (!r || peek(p, 0) != 'I' || p->is_conversion)
            return r;
        ref arguments = read_arguments(p);
        return arguments ? remembered(p, add(p, TEMPLATE, r, p->nodes[arguments].a)) : 0;
    }
    case 'S':
        if (peek(p, 1) != 't') {
            ref r = read_substitution(p);
            if (!r || peek(p, 0) != 'I')
                return r;
            ref arguments = read_arguments(p);
            return arguments ? remembered(p, add(p, TEMPLATE, r, p->nodes[arguments].a)) : 0;
        }
        break;
    case 'D': {
        ref r = read_d_type(p, &is_builtin);
        return is_builtin ? r : remembered(p, r);
    }
    case 'u': {
        p->in.at++;
        return remembered(p, read_source_name(p));
    }
    default: break;
    }
    return remembered(p, read_name(p, NULL));
}

static ref read_type(cxx *p) {
    ref r = enter(p) ? read_type_body(p) : 0;
    p->depth--;
    return r;
}

// ---- Expressions: those that appear in the types of library functions.

static ref read_expressions(cxx *p, bool *ret_is_fine) {
    ref list = 0, last = 0;
    *ret_is_fine = true;
    while (*ret_is_fine && !take(p, "E"))
        *ret_is_fine = append(p, &list, &last, read_expression(p));
    return list;
}

static ref read_simple_name(cxx *p) {
    ref r = 0;
    if (take(p, "on"))
        r = read_operator_name(p, NULL);
    else if (isdigit((unsigned char)peek(p, 0)))
        r = read_tags(p, read_source_name(p));
    if (!r || peek(p, 0) != 'I')
        return r;
    ref arguments = read_arguments(p);
    return arguments ? add(p, TEMPLATE, r, p->nodes[arguments].a) : 0;
}

// Behind "sr": a type, or several names, then the name.
static ref read_scoped_name(cxx *p) {
    ref scope = 0;
    if (take(p, "N")) {
        scope = read_type(p);
        if (scope && peek(p, 0) == 'I') {
            ref arguments = read_arguments(p);
            scope = arguments ? add(p, TEMPLATE, scope, p->nodes[arguments].a) : 0;
        }
        while (scope && !take(p, "E"))
            scope = qualify(p, scope, read_simple_name(p));
    } else if (isdigit((unsigned char)peek(p, 0))) {
        do
            scope = qualify(p, scope, read_simple_name(p));
        while (scope && !take(p, "E"));
    } else {
        scope = read_type(p);
    }
    return scope ? qualify(p, scope, read_simple_name(p)) : 0;
}

static ref read_fold(cxx *p) { // after f
    bool is_left = peek(p, 0) == 'l';
    p->in.at++;
    const op *o = find_op(p);
    p->in.at += o ? 2 : 0;
    ref a = o ? read_expression(p) : 0, r = a ? add_word(p, FOLD, a, o->text) : 0;
    p->nodes[r].number = is_left;
    return r;
}

static ref read_function_parameter(cxx *p) { // after fp or fL
    uint32_t number = 0;
    char unused[40] = "";
    if (p->in.at[-1] == 'L' && (!tl_demangle_number(&p->in, 10, &number) || !take(p, "p")))
        return 0;
    (void)take_qualifiers(p, unused, sizeof unused);
    return read_sequence(p, 10, &number) ? add_number(p, PARAMETER, 0, 0, number + 1) : 0;
}

// Operators that look like a call, of a type or of an expression. *ret_is_one: whether it was one.
static ref read_query(cxx *p, bool *ret_is_one) {
    static const struct {
        const char *code, *text;
        bool of_type;
    } rows[] = {
        {"st", "sizeof ", true},   {"at", "alignof ", true},   {"sz", "sizeof ", false},
        {"az", "alignof ", false}, {"sZ", "sizeof...", false}, {"nx", "noexcept ", false},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        if (!take(p, rows[i].code))
            continue;
        *ret_is_one = true;
        ref a = rows[i].of_type ? read_type(p) : read_expression(p);
        return a ? add_word(p, SIZEOF, a, rows[i].text) : 0;
    }
    *ret_is_one = false;
    return 0;
}

static ref read_conversion(cxx *p) { // after cv
    ref a = read_type(p), b = 0, last = 0;
    bool is_fine = a != 0;
    if (is_fine && take(p, "_"))
        b = read_expressions(p, &is_fine);
    else if (is_fine)
        is_fine = append(p, &b, &last, read_expression(p));
    return is_fine ? add(p, CAST, a, b) : 0;
}

static ref read_braced(cxx *p) { // after tl or il
    bool has_type = p->in.at[-2] == 't';
    ref a = has_type ? read_type(p) : 0, b = 0;
    bool is_fine = a || !has_type;
    if (is_fine)
        b = read_expressions(p, &is_fine);
    return is_fine ? add(p, BRACED, a, b) : 0;
}

static ref read_new(cxx *p) { // after nw
    ref list = 0, last = 0, placement = 0, initial = 0;
    bool is_fine = true;
    while (is_fine && !take(p, "_"))
        is_fine = append(p, &placement, &last, read_expression(p));
    ref a = is_fine ? read_type(p) : 0;
    bool has_initial = take(p, "pi");
    if (has_initial)
        initial = read_expressions(p, &is_fine);
    else
        is_fine = take(p, "E");
    last = 0;
    is_fine = is_fine && a && append(p, &list, &last, add(p, PACK, placement, 0)) && append(p, &list, &last, add(p, PACK, initial, 0));
    return is_fine ? add_number(p, NEW, a, list, has_initial) : 0;
}

static ref read_member(cxx *p) { // after dt or pt
    const char *word = p->in.at[-2] == 'd' ? "." : "->";
    ref a = read_expression(p), b = a ? read_expression(p) : 0, r = b ? add(p, BINARY, a, b) : 0;
    if (r) {
        p->nodes[r].text = word;
        p->nodes[r].n = (uint16_t)strlen(word);
        p->nodes[r].number = 1; // written without parentheses
    }
    return r;
}

static ref read_operation(cxx *p) {
    const op *o = find_op(p);
    if (!o || o->n_operands == 0)
        return 0;
    p->in.at += 2;
    if (o->n_operands == 1) {
        bool is_prefix = take(p, "_") || strcmp(o->text, "++") == 0 || strcmp(o->text, "--") == 0 ? p->in.at[-1] == '_' : true;
        ref a = read_expression(p);
        return a ? add_word(p, is_prefix ? PREFIX : POSTFIX, a, o->text) : 0;
    }
    ref a = read_expression(p), b = a ? read_expression(p) : 0;
    if (!b)
        return 0;
    if (o->n_operands == 3) {
        ref third = read_expression(p);
        return third ? add_number(p, CONDITIONAL, a, b, third) : 0;
    }
    ref r = add_word(p, BINARY, a, o->text);
    if (r)
        p->nodes[r].b = b;
    return r;
}

static ref read_expression_body(cxx *p) {
    char c = peek(p, 0), next = c ? peek(p, 1) : '\0';
    bool is_fine;
    if (c == 'L')
        return read_literal(p);
    if (c == 'T')
        return read_template_parameter(p);
    if (take(p, "fpT"))
        return add_word(p, TEXT, 0, "this");
    if (c == 'f' && (next == 'l' || next == 'r'))
        return p->in.at++, read_fold(p);
    if (take(p, "fp") || take(p, "fL"))
        return read_function_parameter(p);
    if (take(p, "gs"))
        return wrap(p, GLOBAL, read_expression(p));
    if (take(p, "sr"))
        return read_scoped_name(p);
    if (take(p, "sp"))
        return wrap(p, EXPANSION, read_expression(p));
    if (take(p, "cl")) {
        ref a = read_expression(p), b = a ? read_expressions(p, &is_fine) : 0;
        return a && is_fine ? add(p, CALL, a, b) : 0;
    }
    if (take(p, "cv"))
        return read_conversion(p);
    if (take(p, "tl") || take(p, "il"))
        return read_braced(p);
    if (take(p, "nw"))
        return read_new(p);
    if (take(p, "dt") || take(p, "pt"))
        return read_member(p);
    ref query = read_query(p, &is_fine);
    if (is_fine)
        return query;
    if (isdigit((unsigned char)c) || (c == 'o' && next == 'n'))
        return read_simple_name(p);
    return read_operation(p);
}

static ref read_expression(cxx *p) {
    ref r = enter(p) ? read_expression_body(p) : 0;
    p->depth--;
    return r;
}

// ---- Functions and what belongs to them.

static bool skip_offset(cxx *p) {
    uint32_t number;
    bool is_virtual = peek(p, 0) == 'v';
    if (!is_virtual && peek(p, 0) != 'h')
        return false;
    p->in.at++;
    for (int i = 0; i < (is_virtual ? 2 : 1); i++) {
        (void)take(p, "n");
        if (!tl_demangle_number(&p->in, 10, &number) || !take(p, "_"))
            return false;
    }
    return true;
}

static ref read_special(cxx *p) {
    static const struct {
        const char *code, *text;
        char of; // t: type, n: name, e: encoding, o: offset and encoding, O: two offsets
    } rows[] = {
        {"TV", "vtable for ", 't'},
        {"TT", "VTT for ", 't'},
        {"TI", "typeinfo for ", 't'},
        {"TS", "typeinfo name for ", 't'},
        {"GV", "guard variable for ", 'n'},
        {"TW", "TLS wrapper function for ", 'n'},
        {"TH", "TLS init function for ", 'n'},
        {"Tv", "virtual thunk to ", 'o'},
        {"Th", "non-virtual thunk to ", 'o'},
        {"Tc", "covariant return thunk to ", 'O'},
        {"GTt", "transaction clone for ", 'e'},
        {"GTn", "non-transaction clone for ", 'e'},
        {"GA", "hidden alias for ", 'e'},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        if (!take(p, rows[i].code))
            continue;
        if (rows[i].of == 'o')
            p->in.at--;
        if ((rows[i].of == 'o' || rows[i].of == 'O') && !(skip_offset(p) && (rows[i].of == 'o' || skip_offset(p))))
            return 0;
        ref of = rows[i].of == 't' ? read_type(p) : rows[i].of == 'n' ? read_name(p, NULL) : read_encoding(p);
        return of ? add_word(p, SPECIAL, of, rows[i].text) : 0;
    }
    uint32_t number;
    if (take(p, "TC")) {
        ref derived = read_type(p);
        if (!derived || !tl_demangle_number(&p->in, 10, &number) || !take(p, "_"))
            return 0;
        ref base = read_type(p), r = base ? add_word(p, SPECIAL, base, "construction vtable for ") : 0;
        if (r)
            p->nodes[r].b = derived;
        return r;
    }
    if (take(p, "GR")) {
        ref name = read_name(p, NULL);
        if (!name || !read_sequence(p, 36, &number))
            return 0;
        return add_word(p, SPECIAL, name,
                        number == 0   ? "reference temporary #0 for "
                        : number == 1 ? "reference temporary #1 for "
                                      : "reference temporary for ");
    }
    return 0;
}

static const char *keep_qualifiers(const char *text) {
    static const char *const all[] = {"",
                                      " const",
                                      " volatile",
                                      " const volatile",
                                      " &",
                                      " &&",
                                      " const &",
                                      " const &&",
                                      " volatile &",
                                      " volatile &&",
                                      " const volatile &",
                                      " const volatile &&"};
    for (size_t i = 0; i < TL_COUNT_OF(all); i++) {
        if (!strcmp(all[i], text))
            return all[i];
    }
    return NULL;
}

static ref read_encoding_body(cxx *p) {
    name_facts facts = {0};
    if ((peek(p, 0) == 'T' && strchr("VTISWHvhcC", peek(p, 1)) && peek(p, 1)) ||
        (peek(p, 0) == 'G' && strchr("VRTA", peek(p, 1)) && peek(p, 1)))
        return read_special(p);
    ref name = read_name(p, &facts), result = 0, list;
    if (!name)
        return 0;
    char next = peek(p, 0);
    if (next == '\0' || next == 'E' || next == '.')
        return name; // not a function
    if (facts.ends_with_arguments && !facts.has_no_result && !(result = read_type(p)))
        return 0;
    const char *qualifiers = keep_qualifiers(facts.qualifiers);
    if (!qualifiers || !read_types(p, &list))
        return 0;
    ref type = add_word(p, FUNCTION, result, qualifiers);
    if (!type)
        return 0;
    p->nodes[type].b = list;
    return add(p, ENCODING, name, type);
}

static ref read_encoding(cxx *p) {
    ref r = enter(p) ? read_encoding_body(p) : 0;
    p->depth--;
    return r;
}

// ---- Writing.

static void write_node(cxx *p, ref r);
static void write_around(cxx *p, ref r);
static void write_left(cxx *p, ref r);
static void write_right(cxx *p, ref r);

static void put(cxx *p, const char *text) { tl_demangle_puts(p->out, text); }

static char last_char(const cxx *p) { return p->out->n ? p->out->text[p->out->n - 1] : '\0'; }

static void put_number(cxx *p, uint32_t number) {
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    put(p, text);
}

static bool may_write(cxx *p) {
    if (++p->n_steps > MAX_STEPS || p->depth >= MAX_DEPTH)
        p->out->has_failed = true;
    return !p->out->has_failed;
}

// The argument behind a template parameter, and with it the context to write it in. 0: there is
// none.
static ref resolve(cxx *p, ref r) {
    while (r && p->nodes[r].kind == TEMPLATE_PARAMETER && !p->is_in_lambda) {
        const bindings *s = p->now.bound;
        int32_t index = p->now.pack_index;
        ref list = s ? s->arguments : 0;
        for (uint32_t k = p->nodes[r].number; k > 0 && list; k--)
            list = p->nodes[list].b;
        if (!list) // there is no such argument
            p->out->has_failed = true;
        r = list ? p->nodes[list].a : 0;
        if (r && p->nodes[r].kind == PACK && index >= 0) {
            for (list = p->nodes[r].a; index > 0 && list; index--)
                list = p->nodes[list].b;
            r = list ? p->nodes[list].a : 0;
        }
        if (s)
            p->now = (context){s->outer, s->outer_index};
    }
    return r;
}

static ref resolved(cxx *p, ref r) {
    context saved = p->now;
    r = resolve(p, r);
    p->now = saved;
    return r;
}

// Is the type, or what its pointers point to, a function or an array? These are written on both
// sides.
static bool has_right(cxx *p, ref r, bool *ret_is_array) {
    context saved = p->now;
    r = resolve(p, r);
    while (r && p->nodes[r].kind == QUALIFIERS && ++p->n_steps < MAX_STEPS)
        r = resolve(p, p->nodes[r].a);
    p->now = saved;
    *ret_is_array = r && p->nodes[r].kind == ARRAY;
    return r && (p->nodes[r].kind == ARRAY || p->nodes[r].kind == FUNCTION);
}

static void write_list(cxx *p, ref list) {
    bool is_first = true;
    for (; list && may_write(p); list = p->nodes[list].b) {
        size_t before = p->out->n;
        put(p, is_first ? "" : ", ");
        size_t from = p->out->n;
        write_node(p, p->nodes[list].a);
        if (p->out->n == from) // an empty pack
            p->out->n = before;
        else
            is_first = false;
    }
}

static void write_arguments(cxx *p, ref list) {
    if (last_char(p) == '<')
        put(p, " ");
    put(p, "<");
    write_list(p, list);
    put(p, last_char(p) == '>' ? " >" : ">");
}

// The name of a class without scope and arguments.
static void write_class_name(cxx *p, ref r) {
    context saved = p->now;
    for (uint32_t i = 0; i < MAX_DEPTH; i++) {
        r = resolve(p, r);
        const node *n = &p->nodes[r];
        if (n->kind == QUALIFIED || n->kind == LOCAL)
            r = n->b;
        else if (n->kind == TEMPLATE || n->kind == TAGGED)
            r = n->a;
        else if (n->kind == TEXT && n->b)
            r = n->b;
        else
            break;
    }
    write_node(p, r);
    p->now = saved;
}

static ref find_pack(cxx *p, ref r) {
    if (!r || ++p->n_steps > MAX_STEPS || p->depth >= MAX_DEPTH)
        return 0;
    const node *n = &p->nodes[r];
    if (n->kind == TEMPLATE_PARAMETER) {
        context saved = p->now;
        p->now.pack_index = -1;
        r = resolve(p, r);
        p->now = saved;
        return r && p->nodes[r].kind == PACK ? r : 0;
    }
    if (n->kind == PACK || n->kind == EXPANSION || n->kind == LAMBDA || n->kind == TEXT || n->kind == TYPE || n->kind == LITERAL)
        return 0;
    p->depth++;
    ref found = find_pack(p, n->a);
    if (!found)
        found = find_pack(p, n->b);
    p->depth--;
    return found;
}

static void write_operand(cxx *p, ref r);

static void write_expansion(cxx *p, ref of) {
    ref pack = find_pack(p, of);
    if (!pack) {
        write_operand(p, of);
        put(p, "...");
        return;
    }
    int32_t saved = p->now.pack_index, index = 0;
    bool is_first = true;
    for (ref list = p->nodes[pack].a; list && may_write(p); list = p->nodes[list].b, index++) {
        put(p, is_first ? "" : ", ");
        p->now.pack_index = index;
        write_node(p, of);
        is_first = false;
    }
    p->now.pack_index = saved;
}

static void write_literal(cxx *p, const node *n) {
    static const struct {
        const char *type, *suffix;
    } plain[] = {{"int", ""},         {"unsigned int", "u"},        {"long", "l"}, {"unsigned long", "ul"},
                 {"long long", "ll"}, {"unsigned long long", "ull"}};
    const node *type = &p->nodes[resolved(p, n->a)];
    bool is_builtin = type->kind == TYPE, is_negative = n->n > 0 && n->text[0] == 'n';
    if (is_builtin && !strcmp(type->text, "bool") && n->n == 1 && (n->text[0] == '0' || n->text[0] == '1')) {
        put(p, n->text[0] == '1' ? "true" : "false");
        return;
    }
    const char *suffix = NULL;
    for (size_t i = 0; is_builtin && i < TL_COUNT_OF(plain); i++) {
        if (!strcmp(plain[i].type, type->text))
            suffix = plain[i].suffix;
    }
    if (!suffix) {
        put(p, "(");
        write_node(p, n->a);
        put(p, ")");
    }
    put(p, is_negative ? "-" : "");
    bool is_float = is_builtin && (!strcmp(type->text, "double") || !strcmp(type->text, "float") || !strcmp(type->text, "long double"));
    put(p, is_float ? "[" : "");
    tl_demangle_put(p->out, n->text + is_negative, n->n - (size_t)is_negative);
    put(p, is_float ? "]" : "");
    put(p, suffix ? suffix : "");
}

static void write_operand(cxx *p, ref r) {
    uint8_t k = p->nodes[resolved(p, r)].kind;
    bool is_plain = k == TEXT || (k == QUALIFIED && p->nodes[p->nodes[resolved(p, r)].b].kind != TEMPLATE) || k == PARAMETER || k == BRACED;
    put(p, is_plain ? "" : "(");
    write_node(p, r);
    put(p, is_plain ? "" : ")");
}

static void put_list(cxx *p, const char *open, ref list, const char *close) {
    put(p, open);
    write_list(p, list);
    put(p, close);
}

static void put_node(cxx *p, const char *open, ref r, const char *close) {
    put(p, open);
    write_node(p, r);
    put(p, close);
}

static void write_binary(cxx *p, const node *n) {
    bool is_index = n->n == 2 && n->text[0] == '[', is_greater = n->n == 1 && n->text[0] == '>';
    put(p, is_greater ? "(" : "");
    write_operand(p, n->a);
    tl_demangle_put(p->out, n->text, is_index ? 1 : n->n);
    if (is_index) {
        write_node(p, n->b);
        put(p, "]");
    } else {
        write_operand(p, n->b);
    }
    put(p, is_greater ? ")" : "");
}

static void write_fold(cxx *p, const node *n) {
    bool is_left = n->number != 0;
    put(p, is_left ? "(..." : "(");
    if (is_left)
        tl_demangle_put(p->out, n->text, n->n);
    write_operand(p, n->a);
    if (!is_left)
        tl_demangle_put(p->out, n->text, n->n);
    put(p, is_left ? ")" : "...)");
}

static void write_new(cxx *p, const node *n) {
    ref placement = p->nodes[n->b].a, initial = p->nodes[p->nodes[n->b].b].a;
    put(p, "new ");
    if (p->nodes[placement].a)
        put_node(p, "(", placement, ") ");
    write_node(p, n->a);
    if (n->number)
        put_node(p, "(", initial, ")");
}

static void write_expression(cxx *p, const node *n) {
    switch ((kind)n->kind) {
    case PREFIX:
        tl_demangle_put(p->out, n->text, n->n);
        write_operand(p, n->a);
        break;
    case POSTFIX:
        write_operand(p, n->a);
        tl_demangle_put(p->out, n->text, n->n);
        break;
    case BINARY: write_binary(p, n); break;
    case CONDITIONAL:
        write_operand(p, n->a);
        put(p, "?");
        write_operand(p, n->b);
        put(p, " : ");
        write_operand(p, (ref)n->number);
        break;
    case CALL:
        write_operand(p, n->a);
        put_list(p, "(", n->b, ")");
        break;
    case CAST:
        put_node(p, "(", n->a, ")");
        put_list(p, "(", n->b, ")");
        break;
    case FOLD: write_fold(p, n); break;
    case SIZEOF:
        tl_demangle_put(p->out, n->text, n->n);
        put_node(p, "(", n->a, ")");
        break;
    case BRACED:
        if (n->a)
            write_node(p, n->a);
        put_list(p, n->number ? "[" : "{", n->b, n->number ? "]" : "}");
        break;
    case NEW: write_new(p, n); break;
    case PARAMETER:
        put(p, "{parm#");
        put_number(p, n->number);
        put(p, "}");
        break;
    default:
        put(p, "::");
        write_node(p, n->a);
        break;
    }
}

static void write_name(cxx *p, const node *n) {
    switch ((kind)n->kind) {
    case QUALIFIED:
    case LOCAL:
        write_around(p, n->a);
        put(p, "::");
        write_node(p, n->b);
        break;
    case DEFAULT:
        write_around(p, n->a);
        put(p, "::{default arg#");
        put_number(p, n->number);
        put(p, "}::");
        write_node(p, n->b);
        break;
    case TEMPLATE:
        write_node(p, n->a);
        write_arguments(p, n->b);
        break;
    case CONSTRUCTOR: write_class_name(p, n->a); break;
    case DESTRUCTOR:
        put(p, "~");
        write_class_name(p, n->a);
        break;
    case CONVERSION:
        put(p, "operator ");
        write_node(p, n->a);
        break;
    case TAGGED:
        write_node(p, n->a);
        put(p, "[abi:");
        tl_demangle_put(p->out, n->text, n->n);
        put(p, "]");
        break;
    case LAMBDA: {
        bool was_in_lambda = p->is_in_lambda;
        p->is_in_lambda = true;
        put(p, "{lambda(");
        write_list(p, n->a);
        put(p, ")#");
        put_number(p, n->number);
        put(p, "}");
        p->is_in_lambda = was_in_lambda;
        break;
    }
    case UNNAMED:
        put(p, "{unnamed type#");
        put_number(p, n->number);
        put(p, "}");
        break;
    default: // a parameter of a generic lambda
        put(p, "auto:");
        put_number(p, n->number + 1);
        break;
    }
}

static void write_encoding(cxx *p, const node *n, bool has_result) {
    const node *type = &p->nodes[n->b], *name = &p->nodes[n->a];
    while (name->kind == LOCAL || name->kind == DEFAULT)
        name = &p->nodes[name->b];
    context saved = p->now;
    bool was_in_lambda = p->is_in_lambda;
    bindings own = {.arguments = name->b, .outer = saved.bound, .outer_index = saved.pack_index};
    if (name->kind == TEMPLATE)
        p->now = (context){&own, -1};
    p->is_in_lambda = false;
    has_result = has_result && type->a;
    if (has_result) {
        write_left(p, type->a);
        put(p, last_char(p) == ' ' ? "" : " ");
    }
    write_node(p, n->a);
    put(p, "(");
    write_list(p, type->b);
    put(p, ")");
    if (has_result)
        write_right(p, type->a);
    tl_demangle_put(p->out, type->text, type->n);
    p->now = saved;
    p->is_in_lambda = was_in_lambda;
}

// Writes the function that something is local to.
static void write_around(cxx *p, ref r) {
    if (p->nodes[r].kind == ENCODING)
        write_encoding(p, &p->nodes[r], false);
    else
        write_node(p, r);
}

// & of && is &, and so on. Leaves the context to write the result in.
static ref collapse(cxx *p, ref r, bool *ret_is_lvalue) {
    *ret_is_lvalue = p->nodes[r].kind == REFERENCE;
    ref of = resolve(p, p->nodes[r].a);
    while (of && (p->nodes[of].kind == REFERENCE || p->nodes[of].kind == RREFERENCE) && ++p->n_steps < MAX_STEPS) {
        *ret_is_lvalue |= p->nodes[of].kind == REFERENCE;
        of = resolve(p, p->nodes[of].a);
    }
    return of;
}

static void write_pointer_left(cxx *p, ref of, const char *mark, ref class) {
    bool is_array, is_around = has_right(p, of, &is_array);
    write_left(p, of);
    if (is_around)
        put(p, is_array ? " (" : "(");
    else if (class)
        put(p, " ");
    if (class)
        write_node(p, class);
    put(p, mark);
}

// "const" of a type that is a function, or const already.
static bool is_repeated(cxx *p, const node *n) {
    const node *of = &p->nodes[resolved(p, n->a)];
    return of->kind == FUNCTION || (of->kind == QUALIFIERS && of->n == n->n && !memcmp(of->text, n->text, n->n));
}

static void write_left_body(cxx *p, ref r) {
    const node *n = &p->nodes[r];
    bool is_lvalue;
    switch ((kind)n->kind) {
    case NONE: break;
    case TEXT:
    case TYPE: tl_demangle_put(p->out, n->text, n->n); break;
    case QUALIFIED:
    case TEMPLATE:
    case CONSTRUCTOR:
    case DESTRUCTOR:
    case CONVERSION:
    case TAGGED:
    case LOCAL:
    case DEFAULT:
    case LAMBDA:
    case UNNAMED:
    case TEMPLATE_PARAMETER: write_name(p, n); break;
    case LIST:
    case PACK: write_list(p, n->kind == PACK ? n->a : r); break;
    case EXPANSION: write_expansion(p, n->a); break;
    case POINTER: write_pointer_left(p, n->a, "*", 0); break;
    case REFERENCE:
    case RREFERENCE: {
        context saved = p->now;
        ref of = collapse(p, r, &is_lvalue);
        write_pointer_left(p, of, is_lvalue ? "&" : "&&", 0);
        p->now = saved;
        break;
    }
    case QUALIFIERS:
        write_left(p, n->a);
        if (!is_repeated(p, n)) // functions have them behind their parameters
            tl_demangle_put(p->out, n->text, n->n);
        break;
    case FUNCTION:
        if (n->a)
            write_left(p, n->a);
        // Absent in "void (*(*)())(int)".
        if (p->out->n < 2 || !strchr("*&", last_char(p)) || p->out->text[p->out->n - 2] != '(')
            put(p, " ");
        break;
    case ARRAY: write_left(p, n->a); break;
    case MEMBER: write_pointer_left(p, n->b, "::*", n->a); break;
    case ENCODING: write_encoding(p, n, true); break;
    case SPECIAL:
        tl_demangle_put(p->out, n->text, n->n);
        write_node(p, n->a);
        if (n->b) {
            put(p, "-in-");
            write_node(p, n->b);
        }
        break;
    case DECLTYPE:
        put(p, "decltype (");
        write_node(p, n->a);
        put(p, ")");
        break;
    case LITERAL: write_literal(p, n); break;
    case PREFIX:
    case POSTFIX:
    case BINARY:
    case CALL:
    case CAST:
    case SIZEOF:
    case FOLD:
    case BRACED:
    case PARAMETER:
    case GLOBAL:
    case NEW:
    case CONDITIONAL: write_expression(p, n); break;
    }
}

static void write_left(cxx *p, ref r) {
    if (!may_write(p))
        return;
    context saved = p->now;
    p->depth++;
    r = resolve(p, r);
    if (r)
        write_left_body(p, r);
    p->depth--;
    p->now = saved;
}

static void write_pointer_right(cxx *p, ref of) {
    bool is_array;
    if (has_right(p, of, &is_array))
        put(p, ")");
    write_right(p, of);
}

static void write_right(cxx *p, ref r) {
    bool is_lvalue;
    if (!may_write(p))
        return;
    context saved = p->now;
    p->depth++;
    r = resolve(p, r);
    const node *n = &p->nodes[r];
    switch (r ? (kind)n->kind : NONE) {
    case POINTER: write_pointer_right(p, n->a); break;
    case REFERENCE:
    case RREFERENCE: {
        ref of = collapse(p, r, &is_lvalue);
        write_pointer_right(p, of);
        break;
    }
    case MEMBER: write_pointer_right(p, n->b); break;
    case QUALIFIERS:
        write_right(p, n->a);
        if (p->nodes[resolved(p, n->a)].kind == FUNCTION)
            tl_demangle_put(p->out, n->text, n->n);
        break;
    case FUNCTION:
        put(p, "(");
        write_list(p, n->b);
        put(p, ")");
        if (n->a)
            write_right(p, n->a);
        tl_demangle_put(p->out, n->text, n->n);
        break;
    case ARRAY:
        put(p, last_char(p) == ']' ? "[" : " [");
        if (n->b)
            write_node(p, n->b);
        put(p, "]");
        write_right(p, n->a);
        break;
    default: break;
    }
    p->depth--;
    p->now = saved;
}

static void write_node(cxx *p, ref r) {
    write_left(p, r);
    write_right(p, r);
}

bool tl_demangle_cxx(tl_demangle_text *in, tl_demangle_form form, tl_demangle_out *out) {
    cxx p; // its tables are filled as far as they are used
    p.in = *in;
    p.n_nodes = 1;
    p.nodes[0] = (node){.kind = NONE, .text = ""};
    p.n_substitutions = 0;
    p.is_conversion = p.is_in_lambda = false;
    p.depth = p.n_steps = 0;
    p.out = out;
    p.now = (context){NULL, -1};
    ref r = read_encoding(&p);
    if (!r || (p.in.at < p.in.end && *p.in.at != '.'))
        return false;
    p.n_steps = p.depth = 0;
    if (p.nodes[r].kind == ENCODING && form == TL_DEMANGLE_NAME) {
        const node *name = &p.nodes[p.nodes[r].a]; // a conversion's type may be an argument
        bindings own = {.arguments = name->b, .outer = NULL, .outer_index = -1};
        if (name->kind == TEMPLATE)
            p.now.bound = &own;
        write_node(&p, p.nodes[r].a);
    } else {
        write_node(&p, r);
    }
    in->at = p.in.at;
    return !out->has_failed;
}
