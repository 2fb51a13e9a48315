/* SPDX-License-Identifier: MIT
 *
 * Every compressed instruction of RV64C, written as such, with border immediates and border values
 * in the registers it can name. The assembler is told to use the compressed form or fail. */
#include "isa.h"

static const uint64_t values[] = {
    0,
    1,
    2,
    31,
    63,
    0x7ff,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x123456789abcdef0,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffff80000000,
    0xffffffffffffffff,
};

/* Each case is one compressed instruction: operands in a0 and a1, result in a0. */
#define RUN(text)                                           \
    {                                                       \
        register uint64_t a0 __asm__("a0") = a;             \
        register uint64_t a1 __asm__("a1") = b;             \
        __asm__ volatile(text : "+r"(a0) : "r"(a1) : "t0"); \
        dump_case(a, b, 0, a0, 0);                          \
    }
#define GROUP(name, ...)                               \
    dump_begin(name);                                  \
    for (unsigned i = 0; i < COUNT(values); i++)       \
        for (unsigned j = 0; j < COUNT(values); j++) { \
            uint64_t a = values[i], b = values[j];     \
            __VA_ARGS__                                \
        }                                              \
    dump_end();

static void dump_register_forms(void) {
    GROUP("c.mv", RUN("c.mv a0, a1"))
    GROUP("c.add", RUN("c.add a0, a1"))
    GROUP("c.sub", RUN("c.sub a0, a1"))
    GROUP("c.xor", RUN("c.xor a0, a1"))
    GROUP("c.or", RUN("c.or a0, a1"))
    GROUP("c.and", RUN("c.and a0, a1"))
    GROUP("c.addw", RUN("c.addw a0, a1"))
    GROUP("c.subw", RUN("c.subw a0, a1"))
    GROUP("c.nop", RUN("c.nop"))
}

static void dump_immediate_forms(void) {
    GROUP("c.addi", RUN("c.addi a0, 1") RUN("c.addi a0, 31") RUN("c.addi a0, -1") RUN("c.addi a0, -32") RUN("c.addi a0, 16"))
    GROUP("c.addiw", RUN("c.addiw a0, 0") RUN("c.addiw a0, 1") RUN("c.addiw a0, 31") RUN("c.addiw a0, -1") RUN("c.addiw a0, -32"))
    GROUP("c.li", RUN("c.li a0, 0") RUN("c.li a0, 1") RUN("c.li a0, 31") RUN("c.li a0, -1") RUN("c.li a0, -32"))
    GROUP("c.lui", RUN("c.lui a0, 1") RUN("c.lui a0, 31") RUN("c.lui a0, 0xfffe0") RUN("c.lui a0, 0xfffff") RUN("c.lui a0, 16"))
    GROUP("c.andi", RUN("c.andi a0, 0") RUN("c.andi a0, 1") RUN("c.andi a0, 31") RUN("c.andi a0, -1") RUN("c.andi a0, -32"))
    GROUP("c.slli", RUN("c.slli a0, 1") RUN("c.slli a0, 31") RUN("c.slli a0, 32") RUN("c.slli a0, 63"))
    GROUP("c.srli", RUN("c.srli a0, 1") RUN("c.srli a0, 31") RUN("c.srli a0, 32") RUN("c.srli a0, 63"))
    GROUP("c.srai", RUN("c.srai a0, 1") RUN("c.srai a0, 31") RUN("c.srai a0, 32") RUN("c.srai a0, 63"))
}

/* Stack-pointer forms change sp briefly. The result adds a1, so it does not depend on sp. */
static void dump_stack_pointer_forms(void) {
#define SP(text) RUN("mv t0, sp\n mv sp, a1\n " text "\n mv a0, sp\n mv sp, t0")
    GROUP("c.addi16sp", SP("c.addi16sp sp, 16") SP("c.addi16sp sp, 496") SP("c.addi16sp sp, -16") SP("c.addi16sp sp, -512"))
    GROUP("c.addi4spn",
          RUN("mv t0, sp\n mv sp, a1\n c.addi4spn a0, sp, 4\n mv sp, t0") RUN("mv t0, sp\n mv sp, a1\n c.addi4spn a0, sp, 1020\n mv sp, t0")
              RUN("mv t0, sp\n mv sp, a1\n c.addi4spn a0, sp, 512\n mv sp, t0"))
}

static uint64_t area[128] __attribute__((aligned(64)));

static uint64_t hash_area(void) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < COUNT(area); i++)
        hash = (hash ^ area[i]) * 0x9e3779b97f4a7c15;
    return hash;
}

/* a1 points into the area (or sp does, for a moment), a0 is loaded or stored. */
#define MEMORY(text)                                                                                                        \
    {                                                                                                                       \
        for (unsigned i = 0; i < COUNT(area); i++)                                                                          \
            area[i] = (uint64_t)i * 0x0123456789abcdef + 0x8080808080808080;                                                \
        register uint64_t a0 __asm__("a0") = 0xfedcba9876543210;                                                            \
        register uint64_t *a1 __asm__("a1") = area;                                                                         \
        __asm__ volatile("fmv.d.x fa0, a0\n mv t0, sp\n" text "\n mv sp, t0" : "+r"(a0) : "r"(a1) : "memory", "t0", "fa0"); \
        dump_case(0, 0, 0, a0, hash_area());                                                                                \
    }
#define ON_SP(text) MEMORY("mv sp, a1\n " text)

static void dump_memory_forms(void) {
    dump_begin("c.lw");
    MEMORY("c.lw a0, 0(a1)") MEMORY("c.lw a0, 4(a1)") MEMORY("c.lw a0, 64(a1)") MEMORY("c.lw a0, 124(a1)") dump_end();
    dump_begin("c.ld");
    MEMORY("c.ld a0, 0(a1)") MEMORY("c.ld a0, 8(a1)") MEMORY("c.ld a0, 128(a1)") MEMORY("c.ld a0, 248(a1)") dump_end();
    dump_begin("c.fld");
    MEMORY("c.fld fa0, 0(a1)\n fmv.x.d a0, fa0")
    MEMORY("c.fld fa0, 64(a1)\n fmv.x.d a0, fa0") MEMORY("c.fld fa0, 248(a1)\n fmv.x.d a0, fa0") dump_end();
    dump_begin("c.sw");
    MEMORY("c.sw a0, 0(a1)") MEMORY("c.sw a0, 4(a1)") MEMORY("c.sw a0, 64(a1)") MEMORY("c.sw a0, 124(a1)") dump_end();
    dump_begin("c.sd");
    MEMORY("c.sd a0, 0(a1)") MEMORY("c.sd a0, 8(a1)") MEMORY("c.sd a0, 128(a1)") MEMORY("c.sd a0, 248(a1)") dump_end();
    dump_begin("c.fsd");
    MEMORY("c.fsd fa0, 0(a1)") MEMORY("c.fsd fa0, 64(a1)") MEMORY("c.fsd fa0, 248(a1)") dump_end();
    dump_begin("c.lwsp");
    ON_SP("c.lwsp a0, 0(sp)") ON_SP("c.lwsp a0, 4(sp)") ON_SP("c.lwsp a0, 64(sp)") ON_SP("c.lwsp a0, 252(sp)") dump_end();
    dump_begin("c.ldsp");
    ON_SP("c.ldsp a0, 0(sp)") ON_SP("c.ldsp a0, 8(sp)") ON_SP("c.ldsp a0, 256(sp)") ON_SP("c.ldsp a0, 504(sp)") dump_end();
    dump_begin("c.fldsp");
    ON_SP("c.fldsp fa0, 0(sp)\n fmv.x.d a0, fa0")
    ON_SP("c.fldsp fa0, 64(sp)\n fmv.x.d a0, fa0") ON_SP("c.fldsp fa0, 504(sp)\n fmv.x.d a0, fa0") dump_end();
    dump_begin("c.swsp");
    ON_SP("c.swsp a0, 0(sp)") ON_SP("c.swsp a0, 4(sp)") ON_SP("c.swsp a0, 64(sp)") ON_SP("c.swsp a0, 252(sp)") dump_end();
    dump_begin("c.sdsp");
    ON_SP("c.sdsp a0, 0(sp)") ON_SP("c.sdsp a0, 8(sp)") ON_SP("c.sdsp a0, 256(sp)") ON_SP("c.sdsp a0, 504(sp)") dump_end();
    dump_begin("c.fsdsp");
    ON_SP("c.fsdsp fa0, 0(sp)") ON_SP("c.fsdsp fa0, 64(sp)") ON_SP("c.fsdsp fa0, 504(sp)") dump_end();
}

static void dump_jumps(void) {
    GROUP("c.beqz", RUN("c.beqz a0, 1f\n c.li a0, 5\n c.j 2f\n1: c.li a0, 6\n2:"))
    GROUP("c.bnez", RUN("c.bnez a0, 1f\n c.li a0, 5\n c.j 2f\n1: c.li a0, 6\n2:"))
    /* backward, and with the farthest offset a branch has: -256 */
    GROUP("c.j", RUN("c.j 2f\n1: c.addi a0, 1\n c.j 3f\n2: c.addi a0, 2\n c.j 1b\n3:"))
    GROUP("far branch", RUN("j 2f\n1: c.addi a0, 7\n j 3f\n .rept 124\n c.nop\n .endr\n2: c.bnez a0, 1b\n3:"))
    dump_begin("c.jr c.jalr");
    uint64_t link, base, path;
    __asm__ volatile("lla t1, 1f\n li %2, 0\n c.jr t1\n ori %2, %2, 1\n"
                     "1: lla t1, 3f\n lla %1, 2f\n c.jalr t1\n"
                     "2: ori %2, %2, 2\n c.j 4f\n"
                     "3: mv %0, ra\n c.jr ra\n"
                     "4:"
                     : "=&r"(link), "=&r"(base), "=&r"(path)::"ra", "t1");
    dump_case(0, 0, 0, link - base, path); /* the link is two bytes after a compressed call */
    dump_end();
}

int main(int argc, char **argv) {
    dump_options(argc, argv);
    dump_register_forms();
    dump_immediate_forms();
    dump_stack_pointer_forms();
    dump_memory_forms();
    dump_jumps();
    return 0;
}
