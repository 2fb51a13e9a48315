/* SPDX-License-Identifier: MIT
 *
 * Shared by the instruction dumps. Each executes every instruction of a group with many operands
 * and prints one line per instruction: name, number of cases, hash over all results. Two machines
 * agree when the lines agree. When one differs,
 *     isa_int -v NAME
 * prints every case of that instruction, ready for diff. */
#ifndef GUEST_ISA_H
#define GUEST_ISA_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *verbose_name; /* the instruction to print in full, from -v */
static const char *dump_name;
static uint64_t dump_hash;
static unsigned long dump_count;

static inline void dump_options(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "-v") == 0)
        verbose_name = argv[2];
}

static inline void dump_begin(const char *name) {
    dump_name = name;
    dump_hash = 0xcbf29ce484222325;
    dump_count = 0;
}

static inline void dump_mix(uint64_t value) {
    dump_hash = (dump_hash ^ value) * 0x9e3779b97f4a7c15;
    dump_hash ^= dump_hash >> 32;
}

/* One case: up to three operands, a result, and a second result (flags, memory, whatever the group
 * says). */
static inline void dump_case(uint64_t a, uint64_t b, uint64_t c, uint64_t result, uint64_t second) {
    dump_mix(result);
    dump_mix(second);
    dump_count++;
    if (verbose_name && strcmp(verbose_name, dump_name) == 0)
        printf("  %s %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " -> %016" PRIx64 " %" PRIx64 "\n", dump_name, a, b, c, result, second);
}

static inline void dump_end(void) {
    if (!verbose_name)
        printf("%-14s %6lu %016" PRIx64 "\n", dump_name, dump_count, dump_hash);
}

/* xorshift64*: the same sequence everywhere. */
static uint64_t random_state = 88172645463325252;
static inline uint64_t random_bits(void) {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1d;
}

/* Bit patterns with long runs of equal bits, where carries, sign extensions and rounding go
 * wrong. */
static inline uint64_t random_runs(void) {
    uint64_t value = 0;
    for (unsigned at = 0; at < 64;) {
        unsigned length = 1 + (unsigned)(random_bits() % 20);
        if (random_bits() & 1)
            value |= (length >= 64 ? ~0UL : (1UL << length) - 1) << at;
        at += length;
    }
    return value;
}

#endif
