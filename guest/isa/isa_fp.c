/* SPDX-License-Identifier: MIT
 * Floating point: every F and D instruction with special values, border cases and random operands,
 * in all ten rounding modes (five from fcsr, five in the instruction with another one in fcsr),
 * results and exception flags. Operands are whole 64-bit register images, so single precision also
 * sees values that are not NaN-boxed. */
#include "isa.h"

/* clang-format off */
static const uint64_t singles[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x00800001, 0x3f800000, 0xbf800000,
    0x3f7fffff, 0x3f800001, 0x40000000, 0x40400000, 0x3f000000, 0x3effffff, 0x3fc00000, 0x4b000001, 0x4b7fffff, 0x4f000000,
    0xcf000000, 0x4effffff, 0x4f800000, 0x5effffff, 0x5f000000, 0xdf000000, 0x5f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffbfffff, 0x7fffffff, 0x33800000, 0x4b800001, 0xbf000000, 0xbf7fffff,
};
static const uint64_t doubles[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
    0x8010000000000000, 0x0010000000000001, 0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff, 0x3ff0000000000001,
    0x4000000000000000, 0x4008000000000000, 0x3fe0000000000000, 0x3fdfffffffffffff, 0x3ff8000000000000, 0x4330000000000001,
    0x433fffffffffffff, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000,
    0x41f0000000000000, 0x43dfffffffffffff, 0x43e0000000000000, 0xc3e0000000000000, 0xc3e0000000000001, 0x43f0000000000000,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000,
    0x7ff0000000000001, 0xfff7ffffffffffff, 0x7fffffffffffffff, 0xbfe0000000000000, 0xbfefffffffffffff,
    /* single precision: largest, too large, smallest normal, subnormal, half the smallest */
    0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000, 0x3810000000000000, 0x380fffffe0000000, 0x380ffffff0000000,
    0x36a0000000000000, 0x3690000000000000, 0x3690000000000001, 0x3ff0000010000000, 0x3ff0000030000000,
};
static const uint64_t integers[] = {
    0, 1, 2, 3, 0xffffff, 0x1000000, 0x1000001, 0x1000003, 0x7fffffff, 0x80000000, 0xffffffff, 0xffffff80, 0x100000000,
    0x1fffffffffffff, 0x20000000000001, 0x20000000000003, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
    0xffffffffffffffff, 0xfffffffffffffffe, 0xffffffff80000000, 0xffffffff7fffffff, 0xfffffffffeffffff, 0xfffffffffffffbff,
    0xfffffffffffffc00, 0x7ffffffffffffdff,
};
/* clang-format on */

static uint64_t box(uint64_t single) { return single | 0xffffffff00000000; }
static uint64_t frm; /* dynamic rounding mode for the next case */

/* Every instruction works on the same registers: ft3 or t1 from ft0, ft1, ft2 and t0. */
struct result {
    uint64_t f, x, flags;
};
#define RUN(text)                                                                                                       \
    struct result r;                                                                                                    \
    __asm__ volatile("fmv.d.x ft0, %3\n fmv.d.x ft1, %4\n fmv.d.x ft2, %5\n fmv.d.x ft3, zero\n mv t0, %3\n li t1, 0\n" \
                     "fsrm %6\n fsflags zero\n" text "\n frflags %2\n fsrm zero\n fmv.x.d %0, ft3\n mv %1, t1"          \
                     : "=&r"(r.f), "=&r"(r.x), "=&r"(r.flags)                                                           \
                     : "r"(a), "r"(b), "r"(c), "r"(frm)                                                                 \
                     : "t0", "t1", "ft0", "ft1", "ft2", "ft3");                                                         \
    return r;
typedef struct result run_fn(uint64_t a, uint64_t b, uint64_t c);
#define ONE(id, rm, text) \
    static struct result id##_##rm(uint64_t a, uint64_t b, uint64_t c) { RUN(text) }
#define SIX(id, text)          \
    ONE(id, dyn, text ", dyn") \
    ONE(id, rne, text ", rne") \
    ONE(id, rtz, text ", rtz") \
    ONE(id, rdn, text ", rdn") \
    ONE(id, rup, text ", rup") \
    ONE(id, rmm, text ", rmm")

enum kind { S, SS, SSS, D, DD, DDD, I };
#define ROUND(kind, id, text) SIX(id, text)
#define EXACT(kind, id, text) ONE(id, none, text)
#include "isa_fp.def"
static const struct row {
    const char *name;
    enum kind kind;
    run_fn *run[6]; /* dyn, then the static modes; the first alone when there is no mode */
} rows[] = {
#define ROUND(kind, id, text) {#id, kind, {id##_dyn, id##_rne, id##_rtz, id##_rdn, id##_rup, id##_rmm}},
#define EXACT(kind, id, text) {#id, kind, {id##_none}},
#include "isa_fp.def"
};

/* A random operand with any exponent, or near `center`, where sums cancel. */
static uint64_t random_operand(int is_double, int center) {
    uint64_t fraction = random_bits() & 1 ? random_bits() : random_runs(), sign = random_bits() & 1;
    int exponent = random_bits() % 4 ? center + (int)(random_bits() % 9) - 4 : (int)(random_bits() % 2048);
    if (is_double)
        return sign << 63 | (uint64_t)(exponent & 0x7ff) << 52 | fraction >> 12;
    return box(sign << 31 | (uint64_t)(exponent & 0xff) << 23 | fraction >> 41);
}

static void one_case(const struct row *row, int mode, uint64_t a, uint64_t b, uint64_t c) {
    struct result r = row->run[mode](a, b, c);
    dump_case(a, b, c, r.f ^ r.x, r.flags);
}

static uint64_t special(int is_double, unsigned i) {
    if (is_double)
        return doubles[i % COUNT(doubles)];
    if (i < COUNT(singles))
        return box(singles[i]);
    static const uint64_t unboxed[] = {0x3f800000, 0xfffffffe3f800000, 0x7fffffff3f800000, 0x40490fdb12345678, 0xffffffff00000000 - 1};
    return unboxed[(i - COUNT(singles)) % COUNT(unboxed)];
}

static void all_cases(const struct row *row, int mode) {
    int is_double = row->kind >= D, n_operands = row->kind == I ? 1 : (int)row->kind % 3 + 1;
    unsigned n_special = is_double ? COUNT(doubles) : COUNT(singles) + 5;
    if (row->kind == I) {
        for (unsigned i = 0; i < COUNT(integers); i++)
            one_case(row, mode, integers[i], 0, 0);
        for (int i = 0; i < 200; i++)
            one_case(row, mode, random_runs() >> i % 64, 0, 0);
        return;
    }
    for (unsigned i = 0; i < n_special; i++) {
        if (n_operands == 1)
            one_case(row, mode, special(is_double, i), 0, 0);
        for (unsigned j = 0; n_operands >= 2 && j < n_special; j++) {
            if (n_operands == 2)
                one_case(row, mode, special(is_double, i), special(is_double, j), 0);
            else if ((i + j) % 2 == 0) /* a third operand that walks with the other two keeps the number of cases bearable */
                for (unsigned k = (i * 7 + j) % 5; k < n_special; k += 5)
                    one_case(row, mode, special(is_double, i), special(is_double, j), special(is_double, k));
        }
    }
    int bias = is_double ? 1023 : 127, lowest = is_double ? 60 : 30;
    for (int i = 0; i < 600; i++) {
        /* centers: one, 2^31 and 2^63 for conversions, underflow, overflow */
        int centers[] = {bias, bias + 31, bias + 63, lowest, 2 * bias - 4, bias / 2, bias + bias / 2};
        int center = centers[i % 7];
        uint64_t a = random_operand(is_double, center), b = random_operand(is_double, i % 2 ? center : bias);
        one_case(row, mode, a, b, random_operand(is_double, i % 3 ? center : 2 * center - bias));
    }
}

int main(int argc, char **argv) {
    static const char *const mode_names[] = {"rne", "rtz", "rdn", "rup", "rmm"};
    char name[32];
    dump_options(argc, argv);
    for (const struct row *row = rows; row < rows + COUNT(rows); row++) {
        int n_modes = row->run[1] ? 10 : 1;
        for (int mode = 0; mode < n_modes; mode++) {
            int in_instruction = mode >= 5;
            snprintf(name, sizeof name, "%s%s%s", row->name,
                     n_modes == 1     ? ""
                     : in_instruction ? "."
                                      : ".dyn.",
                     n_modes == 1 ? "" : mode_names[mode % 5]);
            frm = (uint64_t)(in_instruction ? (mode + 2) % 5 : mode); /* static modes must win over fcsr */
            random_state = 88172645463325252;
            dump_begin(name);
            all_cases(row, in_instruction ? mode - 4 : 0);
            dump_end();
        }
    }
    return 0;
}
