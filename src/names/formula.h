// SPDX-License-Identifier: MIT
// Formulas over tallies, for aliases and metrics. A text is compiled once against the names of one
// machine. Evaluation reads a flat array of totals or differences of totals, in cell order.
//
// Grammar, loosest first: `A if C else B`; `or`; `and`; < <= > >= == !=; + -; * / // (rounded
// down); unary -; numbers, names, parentheses, min(a, b, ...), max(a, b, ...), d_ratio(a, b) (a /
// b, or 0 when b is 0). Subtraction needs spaces, because a `-` with letters or digits on both
// sides belongs to the name (L1-dcache-loads). Sums, differences and products of totals are exact;
// a quotient is exact when it is whole. Division by zero makes the value missing, with a reason. An
// `if` evaluates the branch that it takes only.
#ifndef TL_NAMES_FORMULA_H
#define TL_NAMES_FORMULA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/probe.h"

typedef enum tl_value_kind { TL_VALUE_MISSING, TL_VALUE_INTEGER, TL_VALUE_REAL } tl_value_kind;

typedef struct tl_value {
    tl_value_kind kind;
    uint64_t integer; // TL_VALUE_INTEGER: exact
    double real;      // INTEGER and REAL; a negative value is REAL
    // Of TL_VALUE_MISSING: "division by zero: instructions is 0". Lives as long as the formula.
    const char *reason;
} tl_value;

typedef struct tl_formula tl_formula; // lives in the arena it was compiled into

enum { TL_ALL_HARTS = -1 };
// `values`: one number per cell. `hart` >= 0 counts that hart only; a formula that needs
// other counts is then missing.
tl_value tl_formula_eval(const tl_formula *formula, const uint64_t *values, int hart);

// Returns the cells of a formula that is a plain sum of totals, for printing per unit. 0: the
// formula is more than a sum.
uint32_t tl_formula_cells(const tl_formula *formula, const tl_cell **ret_cells);
// Whether it needs totals that no single hart answers for.
bool tl_formula_is_shared(const tl_formula *formula);

// Whether it reads a total whose cell is marked. marked: a bool for each cell.
bool tl_formula_uses(const tl_formula *formula, const bool *marked);

typedef struct tl_owned_cell {
    tl_cell cell;
    int hart;
} tl_owned_cell;

// Meaning of a name in a formula. All pointers lead to memory that outlives the formula.
typedef struct tl_leaf {
    enum { TL_LEAF_SLOTS, TL_LEAF_CONSTANT, TL_LEAF_FORMULA } kind;
    const tl_cell *cells; // SLOTS: summed
    uint32_t n_cells;
    const tl_owned_cell *hart_cells;  // the same by hart, where one hart's part is known
    uint32_t n_hart_cells;            // 0: it is not
    uint64_t constant, hart_constant; // CONSTANT: for all harts, for one
    const tl_formula *formula;
} tl_leaf;
// `ctx` comes from tl_formula_compile. TL_ENOENT: no such name.
typedef tl_status tl_leaf_fn(void *ctx, const char *name, tl_leaf *ret_leaf, tl_error *err);

// TL_EFORMAT: not a formula, with the column. Errors of `find` pass through.
TL_MUST_CHECK tl_status tl_formula_compile(const char *text, tl_arena *arena, tl_leaf_fn *find, void *ctx, const tl_formula **ret_formula,
                                           tl_error *err);

#endif
