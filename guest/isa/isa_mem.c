/* SPDX-License-Identifier: MIT
 * Loads and stores of every width, integer and floating point, at every offset across a 64-byte
 * line border and a 4096-byte page border (misaligned ones included: Linux user programs may rely
 * on them), with immediates of both signs; stores are checked byte by byte around their target.
 * Also fence in all its forms, which must only do nothing. */
#include "isa.h"

#include <sys/mman.h>

static unsigned char *memory; /* two pages; the page border is in the middle */
enum { PAGE = 4096, LINE = 64 };

static void fill(void) {
    random_state = 88172645463325252;
    for (int i = 0; i < 2 * PAGE; i++)
        memory[i] = (unsigned char)(random_bits() >> 56);
}

static uint64_t hash_around(const unsigned char *at) {
    uint64_t hash = 0;
    for (const unsigned char *byte = at - 16; byte < at + 24; byte++)
        hash = (hash ^ *byte) * 0x100000001b3;
    return hash;
}

/* The immediate is part of the instruction, so each offset is its own function. */
#define LOAD_LIST(X) X(lb) X(lbu) X(lh) X(lhu) X(lw) X(lwu) X(ld)
#define LOAD_ONE(op, suffix, offset)                                                            \
    static uint64_t op##suffix(const unsigned char *at) {                                       \
        uint64_t r;                                                                             \
        __asm__ volatile(#op " %0, " #offset "(%1)" : "=r"(r) : "r"(at - (offset)) : "memory"); \
        return r;                                                                               \
    }
#define FLOAD_ONE(op, suffix, offset)                                                                                     \
    static uint64_t op##suffix(const unsigned char *at) {                                                                 \
        uint64_t r;                                                                                                       \
        __asm__ volatile(#op " ft0, " #offset "(%1)\n fmv.x.d %0, ft0" : "=r"(r) : "r"(at - (offset)) : "memory", "ft0"); \
        return r;                                                                                                         \
    }
#define STORE_LIST(X) X(sb) X(sh) X(sw) X(sd)
#define STORE_ONE(op, suffix, offset)                                                               \
    static void op##suffix(unsigned char *at, uint64_t value) {                                     \
        __asm__ volatile(#op " %0, " #offset "(%1)" : : "r"(value), "r"(at - (offset)) : "memory"); \
    }
#define FSTORE_ONE(op, suffix, offset)                                                                                           \
    static void op##suffix(unsigned char *at, uint64_t value) {                                                                  \
        __asm__ volatile("fmv.d.x ft0, %0\n " #op " ft0, " #offset "(%1)" : : "r"(value), "r"(at - (offset)) : "memory", "ft0"); \
    }
#define FOUR(ONE, op) ONE(op, _0, 0) ONE(op, _min, -2048) ONE(op, _max, 2047) ONE(op, _1, -1)
#define LOAD_FUNCTIONS(op) FOUR(LOAD_ONE, op)
#define FLOAD_FUNCTIONS(op) FOUR(FLOAD_ONE, op)
#define STORE_FUNCTIONS(op) FOUR(STORE_ONE, op)
#define FSTORE_FUNCTIONS(op) FOUR(FSTORE_ONE, op)
LOAD_LIST(LOAD_FUNCTIONS)
FLOAD_FUNCTIONS(flw)
FLOAD_FUNCTIONS(fld)
STORE_LIST(STORE_FUNCTIONS)
FSTORE_FUNCTIONS(fsw)
FSTORE_FUNCTIONS(fsd)

#define ROW(op) {#op, {op##_0, op##_min, op##_max, op##_1}},
static const struct {
    const char *name;
    uint64_t (*run[4])(const unsigned char *at);
} loads[] = {LOAD_LIST(ROW) ROW(flw) ROW(fld)};
static const struct {
    const char *name;
    void (*run[4])(unsigned char *at, uint64_t value);
} stores[] = {STORE_LIST(ROW) ROW(fsw) ROW(fsd)};

static void dump_fences(void) {
    uint64_t r = 5;
    dump_begin("fence");
    __asm__ volatile("fence\n fence r, w\n fence w, r\n fence rw, rw\n fence iorw, iorw\n fence i, o\n fence.tso\n fence.i\n"
                     ".4byte 0x8330000f\n" /* fence.tso */
                     ".4byte 0x0100000f\n" /* pause: fence w, none */
                     ".4byte 0x0ff0878f\n" /* fence with rd and rs1 set: still a fence */
                     "addi %0, %0, 1"
                     : "+r"(r)
                     :
                     : "memory");
    dump_case(0, 0, 0, r, 0);
    dump_end();
}

int main(int argc, char **argv) {
    dump_options(argc, argv);
    memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memory += PAGE; /* offsets reach one page further on each side */
    static const int borders[] = {LINE * 5, PAGE};
    for (unsigned op = 0; op < COUNT(loads); op++) {
        fill();
        dump_begin(loads[op].name);
        for (unsigned border = 0; border < COUNT(borders); border++)
            for (int offset = -LINE; offset <= LINE; offset++)
                for (unsigned form = 0; form < 4; form++) {
                    const unsigned char *at = memory + borders[border] + offset;
                    dump_case((uint64_t)offset, border, form, loads[op].run[form](at), 0);
                }
        dump_end();
    }
    for (unsigned op = 0; op < COUNT(stores); op++) {
        fill();
        dump_begin(stores[op].name);
        for (unsigned border = 0; border < COUNT(borders); border++)
            for (int offset = -LINE; offset <= LINE; offset++)
                for (unsigned form = 0; form < 4; form++) {
                    unsigned char *at = memory + borders[border] + offset;
                    uint64_t value = random_bits();
                    stores[op].run[form](at, value);
                    dump_case((uint64_t)offset, border, value, hash_around(at), form);
                }
        dump_end();
    }
    dump_fences();
    return 0;
}
