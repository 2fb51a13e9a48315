// SPDX-License-Identifier: MIT
// Programs of a few instructions, assembled by the tests themselves, so that no guest compiler is
// needed.
#ifndef TL_OS_TEST_PROGRAM_H
#define TL_OS_TEST_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"

enum { BASE = 0x10000, CODE_AT = 0x78, SYS_EXIT = 93, SYS_FUTEX = 98, SYS_NANOSLEEP = 101, SYS_CLONE = 220, SYS_YIELD = 124 };
enum { ZERO = 0, SP = 2, T0 = 5, A0 = 10, A1, A2, A3, A4, A5, A7 = 17 };

typedef struct program {
    uint8_t bytes[4096];
    size_t n_code; // bytes
    char path[64];
} program;

static inline void emit(program *p, uint32_t insn) {
    memcpy(p->bytes + CODE_AT + p->n_code, &insn, sizeof insn);
    p->n_code += sizeof insn;
}
static inline void li(program *p, uint32_t rd, int32_t value) { // -2048 .. 2047
    emit(p, (uint32_t)value << 20 | ZERO << 15 | rd << 7 | 0x13);
}
static inline void addi(program *p, uint32_t rd, uint32_t rs, int32_t value) { emit(p, (uint32_t)value << 20 | rs << 15 | rd << 7 | 0x13); }
static inline void lui(program *p, uint32_t rd, uint32_t value) { emit(p, value << 12 | rd << 7 | 0x37); }
static inline void load_word(program *p, uint32_t rd, uint32_t rs) { emit(p, rs << 15 | 2u << 12 | rd << 7 | 0x03); }
static inline void store_word(program *p, uint32_t rs2, uint32_t rs1) { emit(p, rs2 << 20 | rs1 << 15 | 2u << 12 | 0x23); }
static inline void jump(program *p, int32_t offset) { // a multiple of 4 within 2 KiB either way
    uint32_t o = (uint32_t)offset;
    emit(p, (o >> 20 & 1) << 31 | (o >> 1 & 0x3ff) << 21 | (o >> 11 & 1) << 20 | (o >> 12 & 0xff) << 12 | 0x6f);
}
static inline void bnez(program *p, uint32_t rs, int32_t offset) {
    uint32_t o = (uint32_t)offset;
    emit(p, (o >> 12 & 1) << 31 | (o >> 5 & 0x3f) << 25 | rs << 15 | 1u << 12 | (o >> 1 & 15) << 8 | (o >> 11 & 1) << 7 | 0x63);
}
static inline void ecall(program *p, int32_t number) {
    li(p, A7, number);
    emit(p, 0x73);
}

static inline void put(uint8_t *at, uint64_t value, size_t n) {
    for (size_t i = 0; i < n; ++i)
        at[i] = (uint8_t)(value >> (8 * i));
}

// Writes the file: one segment that may be read and executed.
static inline void finish(program *p) {
    uint8_t *b = p->bytes;
    memcpy(b, "\177ELF\2\1\1", 7);
    put(b + 16, 2, 2);
    put(b + 18, 243, 2);
    put(b + 24, BASE + CODE_AT, 8);
    put(b + 32, 64, 8);
    put(b + 48, 4, 4);
    put(b + 54, 56, 2);
    put(b + 56, 1, 2);
    put(b + 64, 1, 4);
    put(b + 68, 5, 4);
    put(b + 80, BASE, 8);
    put(b + 96, CODE_AT + p->n_code, 8);
    put(b + 104, CODE_AT + p->n_code, 8);
    put(b + 112, 4096, 8);
    snprintf(p->path, sizeof p->path, "/tmp/tally-test-os-XXXXXX");
    int fd = mkstemp(p->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, b, CODE_AT + p->n_code), (ssize_t)(CODE_AT + p->n_code));
    fchmod(fd, 0700);
    close(fd);
}

#endif
