/* SPDX-License-Identifier: MIT
 * Integer instructions that work on registers: RV64I, M, Zba, Zbb, Zbs. Every register-register
 * instruction with all pairs of the values below and some random pairs, every immediate form with
 * border immediates and all shift amounts. */
#include "isa.h"

/* clang-format off */
static const uint64_t values[] = {
    0, 1, 2, 3, 7, 10, 31, 32, 63, 64, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
    0x80000001, 0xfffffffe, 0xffffffff, 0x100000000, 0x123456789abcdef0, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa,
    0x00ff00ff00ff00ff, 0x0000800000000000, 0x7ffffffffffffffe, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
    0xffffffff00000000, 0xffffffff7fffffff, 0xffffffff80000000, 0xffffffffffff8000, 0xffffffffffffff80, 0xfffffffffffffff9,
    0xfffffffffffffffe, 0xffffffffffffffff,
};
/* clang-format on */

/* -- register, register -- */
#define RR(id, op)                                                     \
    static uint64_t rr_##id(uint64_t a, uint64_t b) {                  \
        uint64_t r;                                                    \
        __asm__ volatile(op " %0, %1, %2" : "=r"(r) : "r"(a), "r"(b)); \
        return r;                                                      \
    }
#include "isa_int.def"
static const struct {
    const char *name;
    uint64_t (*run)(uint64_t a, uint64_t b);
} rr_rows[] = {
#define RR(id, op) {op, rr_##id},
#include "isa_int.def"
};

/* -- register only -- */
#define R(id, op)                                          \
    static uint64_t r_##id(uint64_t a) {                   \
        uint64_t r;                                        \
        __asm__ volatile(op " %0, %1" : "=r"(r) : "r"(a)); \
        return r;                                          \
    }
#include "isa_int.def"
static const struct {
    const char *name;
    uint64_t (*run)(uint64_t a);
} r_rows[] = {
#define R(id, op) {op, r_##id},
#include "isa_int.def"
};

static void one_operand(unsigned op, uint64_t a) {
    /* qemu 7.2 gets ctzw wrong when only the upper half has bits; isa_strict checks those. */
    if (strcmp(r_rows[op].name, "ctzw") == 0 && (uint32_t)a == 0)
        a = 0;
    dump_case(a, 0, 0, r_rows[op].run(a), 0);
}

/* -- register, immediate: each immediate is an instruction of its own -- */
/* clang-format off */
#define IMM(Y, op) \
    Y(op, -2048) Y(op, -2047) Y(op, -1025) Y(op, -1024) Y(op, -129) Y(op, -128) Y(op, -33) Y(op, -32) Y(op, -2) Y(op, -1) Y(op, 0) \
    Y(op, 1) Y(op, 2) Y(op, 7) Y(op, 31) Y(op, 32) Y(op, 63) Y(op, 64) Y(op, 127) Y(op, 255) Y(op, 256) Y(op, 1023) Y(op, 1024) \
    Y(op, 2046) Y(op, 2047)
#define SHIFT32(Y, op) \
    Y(op, 0) Y(op, 1) Y(op, 2) Y(op, 3) Y(op, 4) Y(op, 5) Y(op, 7) Y(op, 8) Y(op, 9) Y(op, 12) Y(op, 15) Y(op, 16) Y(op, 17) Y(op, 20) \
    Y(op, 23) Y(op, 24) Y(op, 25) Y(op, 28) Y(op, 29) Y(op, 30) Y(op, 31)
#define SHIFT64(Y, op) \
    SHIFT32(Y, op) Y(op, 32) Y(op, 33) Y(op, 34) Y(op, 39) Y(op, 40) Y(op, 44) Y(op, 47) Y(op, 48) Y(op, 52) Y(op, 55) Y(op, 56) \
    Y(op, 59) Y(op, 60) Y(op, 61) Y(op, 62) Y(op, 63)
/* clang-format on */

#define RI_CASE(op, imm)                                      \
    __asm__ volatile(op " %0, %1, " #imm : "=r"(r) : "r"(a)); \
    dump_case(a, (uint64_t)(imm), 0, r, 0);
#define RI(id, op, list)              \
    static void ri_##id(uint64_t a) { \
        uint64_t r;                   \
        list(RI_CASE, op)             \
    }
#include "isa_int.def"
static const struct {
    const char *name;
    void (*run)(uint64_t a); /* with each immediate of its list */
} ri_rows[] = {
#define RI(id, op, list) {op, ri_##id},
#include "isa_int.def"
};

/* -- upper immediates; auipc is measured against the address of the instruction itself -- */
/* clang-format off */
#define UPPER(Y) Y(0) Y(1) Y(2) Y(0x7f) Y(0x80) Y(0x7ffff) Y(0x80000) Y(0x80001) Y(0xaaaaa) Y(0x55555) Y(0xffffe) Y(0xfffff)
/* clang-format on */
#define LUI_CASE(imm)                            \
    __asm__ volatile("lui %0, " #imm : "=r"(r)); \
    dump_case(imm, 0, 0, r, 0);
#define AUIPC_CASE(imm)                                                                                                      \
    __asm__ volatile("lla %1, 1f\n.option push\n.option norvc\n1: auipc %0, " #imm "\n.option pop" : "=&r"(r), "=&r"(here)); \
    dump_case(imm, 0, 0, r - here, 0);

static void dump_upper(void) {
    uint64_t r, here;
    dump_begin("lui");
    UPPER(LUI_CASE)
    dump_end();
    dump_begin("auipc");
    UPPER(AUIPC_CASE)
    dump_end();
}

/* -- branches and jumps: taken or not, forward and backward, and the relative link value -- */
#define BRANCH(op)                                                   \
    static uint64_t branch_##op(uint64_t a, uint64_t b) {            \
        uint64_t r;                                                  \
        __asm__ volatile("   li %0, 0\n   " #op " %1, %2, 2f\n"      \
                         "1: ori %0, %0, 2\n   j 3f\n"               \
                         "2: ori %0, %0, 1\n   " #op " %1, %2, 1b\n" \
                         "3:"                                        \
                         : "=&r"(r)                                  \
                         : "r"(a), "r"(b));                          \
        return r;                                                    \
    }
#include "isa_int.def"
static const struct {
    const char *name;
    uint64_t (*run)(uint64_t a, uint64_t b);
} branch_rows[] = {
#define BRANCH(op) {#op, branch_##op},
#include "isa_int.def"
};

static void dump_jumps(void) {
    uint64_t link, base, path;
    dump_begin("jal");
    __asm__ volatile(".option push\n.option norvc\n"
                     "   lla %1, 1f\n   li %2, 0\n"
                     "1: jal %0, 3f\n   ori %2, %2, 1\n"
                     "2: ori %2, %2, 2\n   j 4f\n"
                     "3: ori %2, %2, 4\n   jal x0, 2b\n"
                     "4:\n.option pop"
                     : "=&r"(link), "=&r"(base), "=&r"(path));
    dump_case(0, 0, 0, link - base, path);
    dump_end();
    dump_begin("jalr");
    /* An odd target loses bit 0; the source may be the link register; offsets of both signs. */
    __asm__ volatile(".option push\n.option norvc\n"
                     "   lla %1, 1f\n   lla %0, 2f\n   li %2, 0\n   addi %0, %0, 17\n"
                     "1: jalr %0, -16(%0)\n   ori %2, %2, 1\n"
                     "2: ori %2, %2, 2\n.option pop"
                     : "=&r"(link), "=&r"(base), "=&r"(path));
    dump_case(0, 0, 0, link - base, path);
    __asm__ volatile(".option push\n.option norvc\n"
                     "   lla %1, 2f\n   li %2, 0\n   li t0, 2047\n   sub t0, %1, t0\n"
                     "1: jalr %0, 2047(t0)\n   ori %2, %2, 1\n"
                     "2: ori %2, %2, 2\n.option pop"
                     : "=&r"(link), "=&r"(base), "=&r"(path)::"t0");
    dump_case(0, 0, 0, link - base, path);
    dump_end();
}

/* Writes to x0 vanish, and x0 reads as zero everywhere. */
static void dump_zero_register(void) {
    uint64_t r, a = 0x123456789;
    dump_begin("x0");
    __asm__ volatile("add x0, %1, %1\n mul x0, %1, %1\n lui x0, 5\n addi x0, %1, 3\n jal x0, 1f\n nop\n1: add %0, x0, x0"
                     : "=r"(r)
                     : "r"(a));
    dump_case(a, 0, 0, r, 0);
    __asm__ volatile("ld x0, 0(%1)\n sub %0, x0, %2" : "=r"(r) : "r"(&a), "r"(a));
    dump_case(a, 0, 0, r, 0);
    dump_end();
}

int main(int argc, char **argv) {
    dump_options(argc, argv);
    for (unsigned op = 0; op < COUNT(rr_rows); op++) {
        dump_begin(rr_rows[op].name);
        for (unsigned i = 0; i < COUNT(values); i++)
            for (unsigned j = 0; j < COUNT(values); j++)
                dump_case(values[i], values[j], 0, rr_rows[op].run(values[i], values[j]), 0);
        for (int i = 0; i < 400; i++) {
            uint64_t a = i % 2 ? random_bits() : random_runs(), b = i % 3 ? random_bits() : random_runs();
            b >>= i % 64;
            dump_case(a, b, 0, rr_rows[op].run(a, b), 0);
        }
        dump_end();
    }
    for (unsigned op = 0; op < COUNT(r_rows); op++) {
        dump_begin(r_rows[op].name);
        for (unsigned i = 0; i < COUNT(values); i++)
            one_operand(op, values[i]);
        for (int i = 0; i < 64; i++) {
            one_operand(op, 1UL << i);
            one_operand(op, -1UL << i);
            one_operand(op, random_runs());
        }
        dump_end();
    }
    for (unsigned op = 0; op < COUNT(ri_rows); op++) {
        dump_begin(ri_rows[op].name);
        for (unsigned i = 0; i < COUNT(values); i++)
            ri_rows[op].run(values[i]);
        for (int i = 0; i < 20; i++)
            ri_rows[op].run(random_runs());
        dump_end();
    }
    dump_upper();
    for (unsigned op = 0; op < COUNT(branch_rows); op++) {
        dump_begin(branch_rows[op].name);
        for (unsigned i = 0; i < COUNT(values); i++)
            for (unsigned j = 0; j < COUNT(values); j++)
                dump_case(values[i], values[j], 0, branch_rows[op].run(values[i], values[j]), 0);
        dump_end();
    }
    dump_jumps();
    dump_zero_register();
    return 0;
}
