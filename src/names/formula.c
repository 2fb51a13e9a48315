// SPDX-License-Identifier: MIT
// Formulas: a recursive-descent parser builds a tree in the arena, and evaluation walks it.
// Intermediate integers are 128 bits wide, so sums and differences of totals are exact in any
// order. A number that does not fit becomes a double.
#include "names/formula.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/parse.h"

enum {
    MAX_TEXT_BYTES = 4096,
    MAX_NESTING = 64,
    MAX_NAME_BYTES = 64,
    MAX_ARGUMENTS = 8,
    MAX_STEPS = 100000, // of one evaluation; formulas that use formulas could double at each level
};

__extension__ typedef __int128 wide;

typedef enum operation {
    OP_LEAF,
    OP_NUMBER,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_WHOLE, // a // b
    OP_RATIO, // d_ratio
    OP_MIN,
    OP_MAX,
    OP_NEG,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_AND,
    OP_OR,
    OP_IF, // c ? a : b
} operation;

typedef struct number { // a value on its way
    tl_value_kind kind;
    wide integer;
    double real; // of both kinds
    const char *reason;
} number;

typedef struct node node;
struct node {
    operation op;
    const node *a, *b, *c;
    number number;
    tl_leaf leaf;
    const char *reason; // OP_DIV, OP_WHOLE: when b is 0. OP_LEAF: when one hart's part is not known
};

struct tl_formula {
    const node *root;
    const tl_cell *cells;
    uint32_t n_cells;
    uint32_t n_steps; // nodes that one evaluation visits, at most
    bool is_shared;
};

static number integer_of(wide value) { return (number){.kind = TL_VALUE_INTEGER, .integer = value, .real = (double)value}; }
static number real_of(double value) { return (number){.kind = TL_VALUE_REAL, .real = value}; }
static number missing(const char *reason) { return (number){.kind = TL_VALUE_MISSING, .reason = reason}; }
static bool is_true(const number *value) { return value->real != 0; }

static number eval(const node *n, const uint64_t *values, int hart);

static number eval_leaf(const node *n, const uint64_t *values, int hart) {
    const tl_leaf *leaf = &n->leaf;
    if (leaf->kind == TL_LEAF_CONSTANT)
        return integer_of(hart == TL_ALL_HARTS ? leaf->constant : leaf->hart_constant);
    if (leaf->kind == TL_LEAF_FORMULA)
        return eval(leaf->formula->root, values, hart);
    wide sum = 0;
    if (hart == TL_ALL_HARTS) {
        for (uint32_t i = 0; i < leaf->n_cells; i++)
            sum += values[leaf->cells[i]];
        return integer_of(sum);
    }
    if (leaf->n_hart_cells == 0)
        return missing(n->reason);
    for (uint32_t i = 0; i < leaf->n_hart_cells; i++)
        if (leaf->hart_cells[i].hart == hart)
            sum += values[leaf->hart_cells[i].cell];
    return integer_of(sum);
}

static number divide(const node *n, const number *a, const number *b) {
    if (!is_true(b))
        return n->op == OP_RATIO ? integer_of(0) : missing(n->reason);
    if (n->op == OP_WHOLE && a->kind == TL_VALUE_INTEGER && b->kind == TL_VALUE_INTEGER) {
        wide quotient = a->integer / b->integer;
        return integer_of(quotient - (a->integer % b->integer != 0 && (a->integer < 0) != (b->integer < 0)));
    }
    if (n->op == OP_WHOLE)
        return real_of(floor(a->real / b->real));
    if (a->kind == TL_VALUE_INTEGER && b->kind == TL_VALUE_INTEGER && a->integer % b->integer == 0)
        return integer_of(a->integer / b->integer);
    return real_of(a->real / b->real);
}

static number arithmetic(operation op, const number *a, const number *b) {
    bool is_exact = a->kind == TL_VALUE_INTEGER && b->kind == TL_VALUE_INTEGER;
    wide value = 0;
    switch (op) {
    case OP_ADD:
        return is_exact && !__builtin_add_overflow(a->integer, b->integer, &value) ? integer_of(value) : real_of(a->real + b->real);
    case OP_SUB:
        return is_exact && !__builtin_sub_overflow(a->integer, b->integer, &value) ? integer_of(value) : real_of(a->real - b->real);
    default: return is_exact && !__builtin_mul_overflow(a->integer, b->integer, &value) ? integer_of(value) : real_of(a->real * b->real);
    }
}

static int compare(const number *a, const number *b) {
    if (a->kind == TL_VALUE_INTEGER && b->kind == TL_VALUE_INTEGER)
        return (a->integer > b->integer) - (a->integer < b->integer);
    return (a->real > b->real) - (a->real < b->real);
}

static number eval(const node *n, const uint64_t *values, int hart) {
    if (n->op == OP_LEAF)
        return eval_leaf(n, values, hart);
    if (n->op == OP_NUMBER)
        return n->number;
    if (n->op == OP_IF) {
        number condition = eval(n->c, values, hart);
        if (condition.kind == TL_VALUE_MISSING)
            return condition;
        return eval(is_true(&condition) ? n->a : n->b, values, hart);
    }
    number a = eval(n->a, values, hart);
    if (a.kind == TL_VALUE_MISSING)
        return a;
    if (n->op == OP_NEG) {
        number zero = integer_of(0);
        return arithmetic(OP_SUB, &zero, &a);
    }
    if ((n->op == OP_AND && !is_true(&a)) || (n->op == OP_OR && is_true(&a)))
        return integer_of(n->op == OP_OR);
    number b = eval(n->b, values, hart);
    if (b.kind == TL_VALUE_MISSING)
        return b;
    switch (n->op) {
    case OP_DIV:
    case OP_WHOLE:
    case OP_RATIO: return divide(n, &a, &b);
    case OP_MIN: return compare(&a, &b) <= 0 ? a : b;
    case OP_MAX: return compare(&a, &b) >= 0 ? a : b;
    case OP_LT: return integer_of(compare(&a, &b) < 0);
    case OP_LE: return integer_of(compare(&a, &b) <= 0);
    case OP_GT: return integer_of(compare(&a, &b) > 0);
    case OP_GE: return integer_of(compare(&a, &b) >= 0);
    case OP_EQ: return integer_of(compare(&a, &b) == 0);
    case OP_NE: return integer_of(compare(&a, &b) != 0);
    case OP_AND:
    case OP_OR: return integer_of(is_true(&b));
    default: return arithmetic(n->op, &a, &b);
    }
}

tl_value tl_formula_eval(const tl_formula *formula, const uint64_t *values, int hart) {
    number value = eval(formula->root, values, hart);
    if (value.kind == TL_VALUE_MISSING)
        return (tl_value){.kind = TL_VALUE_MISSING, .reason = value.reason};
    if (value.kind == TL_VALUE_INTEGER && value.integer >= 0 && value.integer <= (wide)UINT64_MAX)
        return (tl_value){.kind = TL_VALUE_INTEGER, .integer = (uint64_t)value.integer, .real = value.real};
    if (!isfinite(value.real))
        return (tl_value){.kind = TL_VALUE_MISSING, .reason = "the value is too large"};
    return (tl_value){.kind = TL_VALUE_REAL, .real = value.real};
}

uint32_t tl_formula_cells(const tl_formula *formula, const tl_cell **ret_cells) {
    if (formula->n_cells > 0)
        *ret_cells = formula->cells;
    return formula->n_cells;
}

bool tl_formula_is_shared(const tl_formula *formula) { return formula->is_shared; }

// -- compiling

typedef struct parser {
    const char *text, *at;
    tl_arena *arena;
    tl_leaf_fn *find;
    void *ctx;
    tl_error *err;
    tl_status status; // of the first failure
    uint32_t nesting;
} parser;

static const node *parse_condition(parser *p);

static const node *fail(parser *p, const char *what) {
    if (p->status == TL_OK)
        p->status = tl_fail(p->err, TL_EFORMAT, "formula '%.200s': column %zu: %s", p->text, (size_t)(p->at - p->text) + 1, what);
    return NULL;
}

static const node *no_memory(parser *p) {
    if (p->status == TL_OK)
        p->status = tl_fail(p->err, TL_ENOMEM, "no memory for the formula '%.200s'", p->text);
    return NULL;
}

static const node *new_node(parser *p, const node *wanted) {
    node *n = tl_arena_alloc(p->arena, sizeof *n);
    if (!n)
        return no_memory(p);
    *n = *wanted;
    return n;
}

static const node *new_pair(parser *p, operation op, const node *a, const node *b) {
    if (!a || !b)
        return NULL;
    return new_node(p, &(node){.op = op, .a = a, .b = b});
}

static void skip_blanks(parser *p) { p->at += strspn(p->at, " \t"); }

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Length of the name or keyword at p->at, 0 if there is none.
static size_t word_length(const parser *p) {
    const char *s = p->at;
    if (!is_word(*s) || (*s >= '0' && *s <= '9'))
        return 0;
    size_t n = 1;
    while (is_word(s[n]) || s[n] == '.' || ((s[n] == '-' || s[n] == ':') && is_word(s[n - 1]) && is_word(s[n + 1])))
        n++;
    return n;
}

static bool take_word(parser *p, const char *word) {
    skip_blanks(p);
    size_t n = word_length(p);
    if (n != strlen(word) || strncmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool take(parser *p, const char *symbol) {
    skip_blanks(p);
    size_t n = strlen(symbol);
    if (strncmp(p->at, symbol, n) != 0)
        return false;
    p->at += n;
    return true;
}

static const node *parse_number(parser *p) {
    char text[64];
    size_t n = strspn(p->at, "0123456789.");
    if (p->at[n] == 'e' || p->at[n] == 'E') {
        size_t sign = p->at[n + 1] == '+' || p->at[n + 1] == '-';
        n += 1 + sign + strspn(p->at + n + 1 + sign, "0123456789");
    }
    if (n >= sizeof text)
        return fail(p, "the number is too long");
    memcpy(text, p->at, n);
    text[n] = '\0';
    number value;
    uint64_t whole;
    double real;
    if (tl_parse_u64(text, TL_SCALE_COUNT, &whole, NULL) == TL_OK)
        value = integer_of(whole);
    else if (tl_parse_double(text, &real, NULL) == TL_OK)
        // A real number is an integer where it is whole: 1e3 is 1000.
        value = real == floor(real) && real < 0x1p53 ? integer_of((wide)real) : real_of(real);
    else
        return fail(p, "not a number");
    p->at += n;
    return new_node(p, &(node){.op = OP_NUMBER, .number = value});
}

static const node *parse_call(parser *p, operation op) { // behind the name
    const node *result = NULL;
    uint32_t n = 0;
    if (!take(p, "("))
        return fail(p, "'(' is missing");
    do {
        const char *start = p->at;
        const node *argument = parse_condition(p);
        if (!argument)
            return NULL;
        if (++n > MAX_ARGUMENTS || (op == OP_RATIO && n > 2)) {
            p->at = start;
            return fail(p, op == OP_RATIO ? "d_ratio takes two values" : "too many values");
        }
        result = n == 1 ? argument : new_pair(p, op, result, argument);
    } while (take(p, ","));
    if (!take(p, ")"))
        return fail(p, "')' is missing");
    if (n < 2)
        return fail(p, "a second value is missing");
    return result;
}

static const node *parse_name(parser *p, size_t length) {
    char name[MAX_NAME_BYTES];
    node leaf = {.op = OP_LEAF};
    if (length >= sizeof name)
        return fail(p, "the name is too long");
    memcpy(name, p->at, length);
    name[length] = '\0';
    tl_error why;
    tl_status status = p->find(p->ctx, name, &leaf.leaf, &why);
    if (status != TL_OK) {
        // The formula is this name alone, so the message gives no column.
        bool is_all = length == strlen(p->text);
        if (p->status == TL_OK && is_all)
            p->status = tl_fail(p->err, status, "%s", why.text);
        else if (p->status == TL_OK)
            p->status = tl_fail(p->err, status, "formula '%.120s': column %zu: %.300s", p->text, (size_t)(p->at - p->text) + 1, why.text);
        return NULL;
    }
    p->at += length;
    leaf.reason = tl_arena_printf(p->arena, "%s belongs to all harts", name);
    return leaf.reason ? new_node(p, &leaf) : no_memory(p);
}

static const node *parse_primary(parser *p) {
    skip_blanks(p);
    size_t length = word_length(p);
    if (length > 0) {
        static const struct {
            const char *name;
            operation op;
        } calls[] = {{"min", OP_MIN}, {"max", OP_MAX}, {"d_ratio", OP_RATIO}};
        for (size_t i = 0; i < TL_COUNT_OF(calls); i++)
            if (take_word(p, calls[i].name))
                return parse_call(p, calls[i].op);
        return parse_name(p, length);
    }
    if ((*p->at >= '0' && *p->at <= '9') || *p->at == '.')
        return parse_number(p);
    if (take(p, "(")) {
        const node *inner = parse_condition(p);
        if (inner && !take(p, ")"))
            return fail(p, "')' is missing");
        return inner;
    }
    return fail(p, *p->at ? "a value is missing here" : "a value is missing at the end");
}

static const node *parse_unary(parser *p) {
    bool is_negative = false;
    while (take(p, "-"))
        is_negative = !is_negative;
    const node *value = parse_primary(p);
    return is_negative && value ? new_node(p, &(node){.op = OP_NEG, .a = value}) : value;
}

static const node *parse_product(parser *p) {
    const node *left = parse_unary(p);
    while (left) {
        operation op = take(p, "//") ? OP_WHOLE : take(p, "/") ? OP_DIV : OP_MUL;
        if (op == OP_MUL && !take(p, "*"))
            break;
        skip_blanks(p);
        const char *start = p->at;
        const node *right = parse_unary(p);
        if (!right)
            return NULL;
        const char *reason = NULL;
        if (op != OP_MUL) {
            reason = tl_arena_printf(p->arena, "division by zero: %.*s is 0", (int)(p->at - start), start);
            if (!reason)
                return no_memory(p);
        }
        left = new_node(p, &(node){.op = op, .a = left, .b = right, .reason = reason});
    }
    return left;
}

static const node *parse_sum(parser *p) {
    const node *left = parse_product(p);
    while (left) {
        if (take(p, "+"))
            left = new_pair(p, OP_ADD, left, parse_product(p));
        else if (take(p, "-"))
            left = new_pair(p, OP_SUB, left, parse_product(p));
        else
            break;
    }
    return left;
}

static const node *parse_comparison(parser *p) {
    static const struct {
        const char *symbol;
        operation op;
        // Longer symbols come first.
    } symbols[] = {{"<=", OP_LE}, {">=", OP_GE}, {"==", OP_EQ}, {"!=", OP_NE}, {"<", OP_LT}, {">", OP_GT}};
    const node *left = parse_sum(p);
    for (size_t i = 0; left && i < TL_COUNT_OF(symbols); i++)
        if (take(p, symbols[i].symbol))
            return new_pair(p, symbols[i].op, left, parse_sum(p));
    return left;
}

static const node *parse_and(parser *p) {
    const node *left = parse_comparison(p);
    while (left && take_word(p, "and"))
        left = new_pair(p, OP_AND, left, parse_comparison(p));
    return left;
}

static const node *parse_or(parser *p) {
    const node *left = parse_and(p);
    while (left && take_word(p, "or"))
        left = new_pair(p, OP_OR, left, parse_and(p));
    return left;
}

static const node *parse_condition(parser *p) {
    if (p->nesting == MAX_NESTING)
        return fail(p, "nested too deeply");
    p->nesting++;
    const node *value = parse_or(p);
    if (value && take_word(p, "if")) {
        const node *condition = parse_or(p);
        if (condition && !take_word(p, "else"))
            return fail(p, "'else' is missing");
        const node *otherwise = condition ? parse_condition(p) : NULL;
        value = otherwise ? new_node(p, &(node){.op = OP_IF, .a = value, .b = otherwise, .c = condition}) : NULL;
    }
    p->nesting--;
    return value;
}

static uint64_t count_steps(const node *n) {
    if (!n)
        return 0;
    if (n->op == OP_LEAF)
        return 1 + (n->leaf.kind == TL_LEAF_FORMULA ? n->leaf.formula->n_steps : n->leaf.n_cells);
    return 1 + count_steps(n->a) + count_steps(n->b) + count_steps(n->c);
}

// Adds the cells of a pure sum to `cells` (when not NULL). false: the formula is no pure sum.
static bool collect_cells(const node *n, tl_cell *cells, uint32_t *n_cells) {
    if (n->op == OP_ADD)
        return collect_cells(n->a, cells, n_cells) && collect_cells(n->b, cells, n_cells);
    if (n->op != OP_LEAF || n->leaf.kind == TL_LEAF_CONSTANT)
        return false;
    if (n->leaf.kind == TL_LEAF_FORMULA)
        return collect_cells(n->leaf.formula->root, cells, n_cells);
    if (cells)
        memcpy(cells + *n_cells, n->leaf.cells, n->leaf.n_cells * sizeof *cells);
    *n_cells += n->leaf.n_cells;
    return true;
}

static bool needs_shared(const node *n) {
    if (n->op == OP_LEAF) {
        if (n->leaf.kind == TL_LEAF_FORMULA)
            return n->leaf.formula->is_shared;
        return n->leaf.kind == TL_LEAF_SLOTS && n->leaf.n_hart_cells == 0;
    }
    return (n->a && needs_shared(n->a)) || (n->b && needs_shared(n->b)) || (n->c && needs_shared(n->c));
}

static bool uses(const node *n, const bool *marked) {
    for (uint32_t i = 0; n->op == OP_LEAF && n->leaf.kind == TL_LEAF_SLOTS && i < n->leaf.n_cells; i++)
        if (marked[n->leaf.cells[i]])
            return true;
    if (n->op == OP_LEAF)
        return n->leaf.kind == TL_LEAF_FORMULA && tl_formula_uses(n->leaf.formula, marked);
    return (n->a && uses(n->a, marked)) || (n->b && uses(n->b, marked)) || (n->c && uses(n->c, marked));
}

bool tl_formula_uses(const tl_formula *formula, const bool *marked) { return uses(formula->root, marked); }

tl_status tl_formula_compile(const char *text, tl_arena *arena, tl_leaf_fn *find, void *ctx, const tl_formula **ret_formula,
                             tl_error *err) {
    parser p = {.text = text, .at = text, .arena = arena, .find = find, .ctx = ctx, .err = err};
    if (strlen(text) > MAX_TEXT_BYTES)
        return tl_fail(err, TL_EFORMAT, "formula '%.60s ...': longer than %d bytes", text, MAX_TEXT_BYTES);
    const node *root = parse_condition(&p);
    skip_blanks(&p);
    if (root && *p.at)
        root = fail(&p, "nothing may follow here; an operator is missing, or a '-' needs blanks around it");
    if (!root)
        return p.status;
    uint64_t n_steps = count_steps(root);
    if (n_steps > MAX_STEPS)
        return tl_fail(err, TL_EFORMAT, "formula '%.200s': too large with all that it is made of", text);
    tl_formula *formula = tl_arena_alloc(arena, sizeof *formula);
    uint32_t n_cells = 0, n_filled = 0;
    tl_cell *cells = NULL;
    if (collect_cells(root, NULL, &n_cells) && n_cells > 0) {
        cells = tl_arena_alloc(arena, n_cells * sizeof *cells);
        if (cells)
            collect_cells(root, cells, &n_filled);
    } else {
        n_cells = 0;
    }
    if (!formula || (n_cells > 0 && !cells))
        return tl_fail(err, TL_ENOMEM, "no memory for the formula '%.200s'", text);
    *formula =
        (tl_formula){.root = root, .cells = cells, .n_cells = n_cells, .n_steps = (uint32_t)n_steps, .is_shared = needs_shared(root)};
    *ret_formula = formula;
    return TL_OK;
}
