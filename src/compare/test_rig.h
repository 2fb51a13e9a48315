// SPDX-License-Identifier: MIT
// A program to be watched, made here so that no compiler for the guest is needed: it walks over a
// buffer larger than a first-level cache, loads, adds, stores, and every other round over a part of
// it only.
#ifndef TL_COMPARE_TEST_RIG_H
#define TL_COMPARE_TEST_RIG_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"
#include "compare/compare.h"
#include "isa/rv/assemble.h"
#include "model/pmu.h"

// Indexes of tl_compare_designs, as test_setup.c finds them.
enum { U74, CCACHE, DHPC, N_DESIGNS };

enum { TEST_BASE = 0x10000, TEST_CODE_AT = 0x78, TEST_BUFFER_AT = 0x1000, TEST_BUFFER_BYTES = 0x10000, TEST_SYS_EXIT = 93 };

static inline const tl_event *test_event_by_selector(const tl_event *events, uint32_t n, uint64_t selector) {
    for (uint32_t i = 0; i < n; i++)
        if (events[i].selector == selector)
            return &events[i];
    fail_msg("no event has selector 0x%llx", (unsigned long long)selector);
    return NULL;
}

static inline void test_put(uint8_t *at, uint64_t value, size_t n) {
    for (size_t i = 0; i < n; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

// Gives every register from x10 on a value of its own, so that a reader which leaves another one
// behind, or takes one for its own, is found.
static inline void test_fill_registers(tl_assembler *a) {
    for (uint32_t i = TL_A0; i <= TL_T6; i++)
        tl_asm_addi(a, i, TL_X0, (int32_t)(1000 + i));
}

// A register that has changed makes the program go on for a while, so that its instructions differ.
static inline void test_check_registers(tl_assembler *a) {
    for (uint32_t i = TL_A0; i <= TL_T6; i++) {
        tl_asm_addi(a, TL_T0, TL_X0, (int32_t)(1000 + i));
        uint32_t is_good = tl_asm_branch(a, TL_ASM_EQ, TL_T0, i);
        tl_asm_load_constant(a, TL_T1, 10000);
        uint64_t again = tl_asm_here(a);
        tl_asm_addi(a, TL_T1, TL_T1, -1);
        tl_asm_branch_to(a, TL_ASM_NE, TL_T1, TL_X0, again);
        tl_asm_bind(a, is_good);
    }
}

static inline void test_write_code(tl_assembler *a, int32_t n_rounds) {
    test_fill_registers(a);
    tl_asm_load_constant(a, TL_S1, (uint64_t)n_rounds);
    uint64_t round = tl_asm_here(a);
    tl_asm_load_constant(a, TL_S0, TEST_BASE + TEST_BUFFER_AT);
    tl_asm_addi(a, TL_T1, TL_X0, 600);
    tl_asm_andi(a, TL_T2, TL_S1, 8);
    uint32_t is_long = tl_asm_branch(a, TL_ASM_NE, TL_T2, TL_X0);
    tl_asm_addi(a, TL_T1, TL_X0, 100);
    tl_asm_bind(a, is_long);
    uint64_t walk = tl_asm_here(a);
    tl_asm_ld(a, TL_T0, TL_S0, 0);
    tl_asm_op(a, TL_ASM_ADD, TL_T0, TL_T0, TL_S1);
    tl_asm_sd(a, TL_T0, TL_S0, 8);
    tl_asm_op(a, TL_ASM_MUL, TL_T0, TL_T0, TL_T1);
    tl_asm_addi(a, TL_S0, TL_S0, 64);
    tl_asm_addi(a, TL_T1, TL_T1, -1);
    tl_asm_branch_to(a, TL_ASM_NE, TL_T1, TL_X0, walk);
    tl_asm_addi(a, TL_S1, TL_S1, -1);
    tl_asm_branch_to(a, TL_ASM_NE, TL_S1, TL_X0, round);
    test_check_registers(a);
    tl_asm_addi(a, TL_A0, TL_X0, 0);
    tl_asm_addi(a, TL_A7, TL_X0, TEST_SYS_EXIT);
    tl_asm_ecall(a);
}

// Every round executes a load, a store, a multiplication, two additions and a branch, on one line
// of the cache.
static inline void test_write_steady_code(tl_assembler *a, int32_t n_rounds) {
    test_fill_registers(a);
    tl_asm_load_constant(a, TL_S1, (uint64_t)n_rounds);
    tl_asm_load_constant(a, TL_S0, TEST_BASE + TEST_BUFFER_AT);
    uint64_t round = tl_asm_here(a);
    tl_asm_ld(a, TL_T0, TL_S0, 0);
    tl_asm_op(a, TL_ASM_MUL, TL_T0, TL_T0, TL_S1);
    tl_asm_addi(a, TL_T0, TL_T0, 1);
    tl_asm_sd(a, TL_T0, TL_S0, 8);
    tl_asm_addi(a, TL_S1, TL_S1, -1);
    tl_asm_branch_to(a, TL_ASM_NE, TL_S1, TL_X0, round);
    test_check_registers(a);
    tl_asm_addi(a, TL_A0, TL_X0, 0);
    tl_asm_addi(a, TL_A7, TL_X0, TEST_SYS_EXIT);
    tl_asm_ecall(a);
}

typedef void test_code_fn(tl_assembler *a, int32_t n_rounds);

static inline void test_write_program_of(test_code_fn *write_code, int32_t n_rounds, char ret_path[64]) {
    uint8_t b[0x800] = {0};
    tl_assembler a;
    tl_asm_init(&a, b + TEST_CODE_AT, sizeof b - TEST_CODE_AT, TEST_BASE + TEST_CODE_AT);
    write_code(&a, n_rounds);
    assert_false(a.is_full);
    memcpy(b, "\177ELF\2\1\1", 7);
    test_put(b + 16, 2, 2);
    test_put(b + 18, 243, 2);
    test_put(b + 24, TEST_BASE + TEST_CODE_AT, 8);
    test_put(b + 32, 64, 8);
    test_put(b + 48, 4, 4);
    test_put(b + 54, 56, 2);
    test_put(b + 56, 1, 2);
    test_put(b + 64, 1, 4); // one segment that may be read, written and executed
    test_put(b + 68, 7, 4);
    test_put(b + 80, TEST_BASE, 8);
    test_put(b + 96, sizeof b, 8);
    test_put(b + 104, TEST_BUFFER_AT + TEST_BUFFER_BYTES, 8);
    test_put(b + 112, 4096, 8);
    snprintf(ret_path, 64, "/tmp/tally-test-compare-XXXXXX");
    int fd = mkstemp(ret_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, b, sizeof b), (ssize_t)sizeof b);
    fchmod(fd, 0700);
    close(fd);
}

// The caller removes the files.
static inline void test_write_program(int32_t n_rounds, char ret_path[64]) { test_write_program_of(test_write_code, n_rounds, ret_path); }
static inline void test_write_steady_program(int32_t n_rounds, char ret_path[64]) {
    test_write_program_of(test_write_steady_code, n_rounds, ret_path);
}

static inline tl_compare_options test_options(const char *path) {
    tl_compare_options options;
    tl_compare_init(&options);
    options.run.program = path;
    options.run.max_insns = 400000;
    options.interval_cycles = 20000;
    options.n_phases = 3;
    return options;
}

static inline tl_comparison *test_compare(const tl_compare_options *options) {
    tl_comparison *comparison = NULL;
    tl_error err = {0};
    if (tl_compare_run(options, &comparison, &err) != TL_OK)
        fail_msg("%s", err.text);
    return comparison;
}

#endif
