// SPDX-License-Identifier: MIT
// The layout that vectors_a64_guest.S and vectors_a64.c share: the place of a case's program and of
// its memory, and the bytes in the pipes.
#ifndef TL_TESTS_ISA_VECTORS_A64_H
#define TL_TESTS_ISA_VECTORS_A64_H

#include <stdint.h>

static const uint64_t VECTORS_PC = 0x80000100, VECTORS_DATA = 0x80020400;
enum { VECTORS_MAX_WORDS = 64, VECTORS_DATA_BYTES = 512 };

typedef struct vector_state {
    uint64_t x[31], sp, nzcv, fpcr, fpsr;
} vector_state;

typedef struct vector_case {
    uint64_t n_words; // 0: the program of the case before
    uint32_t words[VECTORS_MAX_WORDS];
    vector_state state;
    uint64_t v[32][2];
    uint8_t data[VECTORS_DATA_BYTES];
} vector_case;
_Static_assert(sizeof(vector_case) == 1568, "the guest knows offsets");

typedef enum vector_end {
    VECTOR_END,       // behind the program
    VECTOR_END_AFTER, // one instruction further on
    VECTOR_SIGNAL,    // `signal`; registers do not matter then
} vector_end;

typedef struct vector_result {
    uint64_t end, signal;
    vector_state state;
    uint64_t unused;
    uint64_t v[32][2];
    uint8_t data[VECTORS_DATA_BYTES];
} vector_result;
_Static_assert(sizeof(vector_result) == 1328, "the guest knows offsets");

#endif
