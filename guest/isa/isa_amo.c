/* SPDX-License-Identifier: MIT
 * Atomic memory operations on words and doublewords in all orderings, with all pairs of border
 * values: the value returned, the value stored, and that the neighbors stay. Then LR and SC:
 * success, and failure without a reservation, after another SC, and for another address. Whether SC
 * fails is printed as 0 or 1, not its failure code. */
#include "isa.h"

static const uint64_t values[] = {
    0,
    1,
    2,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x5555555555555555,
    0x123456789abcdef0,
    0x7fffffffffffffff,
    0x8000000000000000,
    0x80000000ffffffff,
    0xffffffff80000000,
    0xfffffffffffffffe,
    0xffffffffffffffff,
};
static uint64_t line[8] __attribute__((aligned(64)));

#define ORDER_LIST(X, id, op) X(id, op) X(id##_aq, op ".aq") X(id##_rl, op ".rl") X(id##_aqrl, op ".aqrl")
#define AMO_LIST(X, width)                         \
    ORDER_LIST(X, swap_##width, "amoswap." #width) \
    ORDER_LIST(X, add_##width, "amoadd." #width)   \
    ORDER_LIST(X, and_##width, "amoand." #width)   \
    ORDER_LIST(X, or_##width, "amoor." #width)     \
    ORDER_LIST(X, xor_##width, "amoxor." #width)   \
    ORDER_LIST(X, min_##width, "amomin." #width)   \
    ORDER_LIST(X, max_##width, "amomax." #width)   \
    ORDER_LIST(X, minu_##width, "amominu." #width) ORDER_LIST(X, maxu_##width, "amomaxu." #width)

#define AMO_FUNCTION(id, op)                                                                \
    static uint64_t id(void *at, uint64_t value) {                                          \
        uint64_t old;                                                                       \
        __asm__ volatile(op " %0, %2, (%1)" : "=&r"(old) : "r"(at), "r"(value) : "memory"); \
        return old;                                                                         \
    }
#define AMO_ROW(id, op) {op, id},
AMO_LIST(AMO_FUNCTION, w)
AMO_LIST(AMO_FUNCTION, d)
static const struct {
    const char *name;
    uint64_t (*run)(void *at, uint64_t value);
} rows[] = {AMO_LIST(AMO_ROW, w) AMO_LIST(AMO_ROW, d)};

static uint64_t hash_line(void) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < COUNT(line); i++)
        hash = (hash ^ line[i]) * 0x9e3779b97f4a7c15;
    return hash;
}

static void dump_amos(void) {
    for (unsigned op = 0; op < COUNT(rows); op++) {
        dump_begin(rows[op].name);
        for (unsigned i = 0; i < COUNT(values); i++)
            for (unsigned j = 0; j < COUNT(values); j++)
                for (unsigned half = 0; half < 2; half++) {
                    memset(line, 0xa5, sizeof line);
                    line[3] = values[i];
                    /* words also at the upper half of a doubleword */
                    char *at = (char *)&line[3] + (strstr(rows[op].name, ".w") ? 4 * half : 0);
                    uint64_t old = rows[op].run(at, values[j]);
                    dump_case(values[i], values[j], half, old, hash_line());
                }
        dump_end();
    }
    /* The result register may be the value or the address register, or x0. */
    dump_begin("amo aliases");
    for (unsigned i = 0; i < COUNT(values); i++) {
        uint64_t value = values[i];
        line[3] = 1000;
        __asm__ volatile("amoadd.d %0, %0, (%1)" : "+r"(value) : "r"(&line[3]) : "memory");
        dump_case(values[i], 0, 0, value, line[3]);
        uint64_t at = (uint64_t)&line[3];
        __asm__ volatile("amoswap.w %0, %1, (%0)" : "+r"(at) : "r"(values[i]) : "memory");
        dump_case(values[i], 1, 0, at, line[3]);
        __asm__ volatile("amoxor.d x0, %1, (%0)" : : "r"(&line[3]), "r"(values[i]) : "memory");
        dump_case(values[i], 2, 0, 0, line[3]);
    }
    dump_end();
}

/* A trap between LR and SC may end the reservation, so an SC gets a few tries. */
enum { TRIES = 100 };

#define LR_SC_FUNCTION(width, order)                                                               \
    static void lr_sc_##width##order(const char *name) {                                           \
        uint64_t loaded, failed, again;                                                            \
        dump_begin(name);                                                                          \
        for (unsigned i = 0; i < COUNT(values); i++) {                                             \
            for (int tries = 0; tries < TRIES; tries++) {                                          \
                memset(line, 0x5a, sizeof line);                                                   \
                line[2] = values[i];                                                               \
                __asm__ volatile("lr." #width ORDER_##order " %0, (%3)\n sc." #width ORDER_##order \
                                 " %1, %4, (%3)\n"                                                 \
                                 "sc." #width " %2, %3, (%3)" /* the reservation is used up */     \
                                 : "=&r"(loaded), "=&r"(failed), "=&r"(again)                      \
                                 : "r"(&line[2]), "r"(values[COUNT(values) - 1 - i])               \
                                 : "memory");                                                      \
                if (!failed)                                                                       \
                    break;                                                                         \
            }                                                                                      \
            dump_case(values[i], 0, 0, loaded, hash_line());                                       \
            dump_case(values[i], 0, 1, failed != 0, again != 0);                                   \
        }                                                                                          \
        dump_end();                                                                                \
    }
#define ORDER_
#define ORDER_aq ".aq"
#define ORDER_rl ".rl"
#define ORDER_aqrl ".aqrl"
LR_SC_FUNCTION(w, )
LR_SC_FUNCTION(w, aqrl)
LR_SC_FUNCTION(d, )
LR_SC_FUNCTION(d, aqrl)

static void dump_sc_failures(void) {
    uint64_t loaded, failed;
    dump_begin("sc elsewhere");
    for (unsigned distance = 1; distance < 6; distance++) { /* a reservation for one address does not serve another line */
        static uint64_t two[2][8] __attribute__((aligned(64)));
        two[0][0] = two[1][distance] = 7;
        __asm__ volatile("lr.d %0, (%2)\n sc.d %1, %4, (%3)"
                         : "=&r"(loaded), "=&r"(failed)
                         : "r"(&two[0][0]), "r"(&two[1][distance]), "r"(distance)
                         : "memory");
        dump_case(distance, 0, 0, failed != 0, two[1][distance]);
    }
    dump_end();
    dump_begin("sc repeated");
    line[0] = 0;
    for (int i = 0; i < 100; i++) { /* a plain loop always gets through, and the count is exact */
        __asm__ volatile("1: lr.d %0, (%2)\n addi %0, %0, 3\n sc.d %1, %0, (%2)\n bnez %1, 1b"
                         : "=&r"(loaded), "=&r"(failed)
                         : "r"(&line[0])
                         : "memory");
    }
    dump_case(0, 0, 0, line[0], failed);
    dump_end();
    dump_begin("sc after lr lr"); /* only the last reservation counts */
    for (int tries = 0; tries < TRIES; tries++) {
        line[0] = line[4] = 1;
        __asm__ volatile("lr.d %0, (%2)\n lr.d %0, (%3)\n sc.d %1, %0, (%3)"
                         : "=&r"(loaded), "=&r"(failed)
                         : "r"(&line[0]), "r"(&line[4])
                         : "memory");
        if (!failed)
            break;
    }
    dump_case(0, 0, 0, failed != 0, line[4]);
    dump_end();
}

int main(int argc, char **argv) {
    dump_options(argc, argv);
    dump_amos();
    lr_sc_w("lr sc w");
    lr_sc_waqrl("lr sc w aqrl");
    lr_sc_d("lr sc d");
    lr_sc_daqrl("lr sc d aqrl");
    dump_sc_failures();
    return 0;
}
