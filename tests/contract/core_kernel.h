// SPDX-License-Identifier: MIT
// Loops for detailed cores, assembled word by word. A loop runs 100 iterations to warm caches and
// predictor, then 100 more are timed.
#ifndef TL_TESTS_CORE_KERNEL_H
#define TL_TESTS_CORE_KERNEL_H

#include <inttypes.h>

#include "base/testing.h"
#include "isa/rv/hart.h"
#include "machine/machine.h"
#include "session/description.h"

enum { T0 = 5, T1 = 6, T2 = 7, A0 = 10, A1 = 11, DATA = 1 << 20, MAX_WORDS = 2048 };

static inline uint32_t addi(uint32_t rd, uint32_t rs1, int32_t imm) { return (uint32_t)imm << 20 | rs1 << 15 | rd << 7 | 0x13; }
static inline uint32_t add(uint32_t rd, uint32_t rs1, uint32_t rs2) { return rs2 << 20 | rs1 << 15 | rd << 7 | 0x33; }
static inline uint32_t sub(uint32_t rd, uint32_t rs1, uint32_t rs2) { return 1u << 30 | rs2 << 20 | rs1 << 15 | rd << 7 | 0x33; }
static inline uint32_t xori(uint32_t rd, uint32_t rs1, int32_t imm) { return (uint32_t)imm << 20 | rs1 << 15 | 4 << 12 | rd << 7 | 0x13; }
static inline uint32_t slli(uint32_t rd, uint32_t rs1, uint32_t by) { return by << 20 | rs1 << 15 | 1 << 12 | rd << 7 | 0x13; }
static inline uint32_t mul(uint32_t rd, uint32_t rs1, uint32_t rs2) { return 1u << 25 | rs2 << 20 | rs1 << 15 | rd << 7 | 0x33; }
static inline uint32_t divide(uint32_t rd, uint32_t rs1, uint32_t rs2) {
    return 1u << 25 | rs2 << 20 | rs1 << 15 | 4 << 12 | rd << 7 | 0x33;
}
static inline uint32_t ld(uint32_t rd, uint32_t rs1, int32_t imm) { return (uint32_t)imm << 20 | rs1 << 15 | 3 << 12 | rd << 7 | 0x03; }
static inline uint32_t jal(uint32_t rd, int32_t offset) {
    const uint32_t i = (uint32_t)offset;
    return (i >> 20 & 1) << 31 | (i >> 1 & 0x3ff) << 21 | (i >> 11 & 1) << 20 | (i >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}
static inline uint32_t jalr(uint32_t rd, uint32_t rs1) { return rs1 << 15 | rd << 7 | 0x67; }
static inline uint32_t store(uint32_t rs2, uint32_t rs1, uint32_t size_log2) { return rs2 << 20 | rs1 << 15 | size_log2 << 12 | 0x23; }
static inline uint32_t fadd(uint32_t rd, uint32_t rs1, uint32_t rs2) { return 0x02000053 | rs2 << 20 | rs1 << 15 | 7 << 12 | rd << 7; }
static inline uint32_t fmul(uint32_t rd, uint32_t rs1, uint32_t rs2) { return 0x12000053 | rs2 << 20 | rs1 << 15 | 7 << 12 | rd << 7; }
static inline uint32_t fdiv(uint32_t rd, uint32_t rs1, uint32_t rs2) { return 0x1a000053 | rs2 << 20 | rs1 << 15 | 7 << 12 | rd << 7; }
static inline uint32_t branch(uint32_t funct3, uint32_t rs1, uint32_t rs2, int32_t offset) {
    const uint32_t i = (uint32_t)offset;
    return (i >> 12 & 1) << 31 | (i >> 5 & 63) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (i >> 1 & 15) << 8 | (i >> 11 & 1) << 7 |
           0x63;
}
static inline uint32_t beq(uint32_t rs1, uint32_t rs2, int32_t offset) { return branch(0, rs1, rs2, offset); }
static inline uint32_t bne(uint32_t rs1, uint32_t rs2, int32_t offset) { return branch(1, rs1, rs2, offset); }

typedef struct kernel {
    tl_machine *machine;
    tl_hart *h;
    tl_rv_hart *rv;
    uint32_t words[MAX_WORDS], n, n_skipped; // words, and those that are jumped over
} kernel;

static inline void open_kernel(kernel *k, const char *machine, const char *const *overrides) {
    tl_config config;
    tl_error err;
    if (tl_description_open(machine, &config, &err) != TL_OK)
        fail_msg("%s", err.text);
    config.ram_bytes = 64 << 20;
    for (; overrides && *overrides; overrides++)
        if (tl_config_set(&config, *overrides, &err) != TL_OK)
            fail_msg("%s", err.text);
    *k = (kernel){0};
    if (tl_machine_new(&config, &tl_engine_ooo, &k->machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    k->h = k->machine->harts[0];
    k->rv = tl_rv(k->h);
    k->h->pc = TL_RAM_BASE_PADDR;
}

static inline void emit(kernel *k, uint32_t word) {
    assert_true(k->n < MAX_WORDS);
    k->words[k->n++] = word;
}

static inline void emit_n(kernel *k, uint32_t n, uint32_t word) {
    while (n-- > 0)
        emit(k, word);
}

static inline void put64(const kernel *k, uint64_t paddr, uint64_t value) {
    memcpy(tl_machine_ram(k->machine, paddr), &value, sizeof value);
}

static inline uint64_t run_iterations(kernel *k, uint64_t n) {
    k->h->horizon = UINT64_MAX;
    k->h->insn_limit = k->h->instret + n * (k->n - k->n_skipped);
    assert_int_equal(k->h->engine->run(k->h), TL_STOP_LIMIT);
    return k->h->now;
}

// Closes the loop and runs 100 iterations. Returns the cycles.
static inline uint64_t warm_loop(kernel *k) {
    emit(k, addi(A0, A0, -1));
    emit(k, bne(A0, 0, -4 * (int32_t)k->n));
    memcpy(k->machine->ram, k->words, k->n * sizeof k->words[0]);
    k->rv->x[A0] = 1 << 30;
    return run_iterations(k, 100);
}

// Closes the loop. Returns the cycles of 100 warm iterations.
static inline uint64_t time_loop(kernel *k) {
    const uint64_t start = warm_loop(k);
    return run_iterations(k, 100) - start;
}

// A ring of lines, each the pointer to the next, in T0.
static inline void put_ring(kernel *k, uint64_t n_lines, uint64_t stride) {
    const uint64_t base = TL_RAM_BASE_PADDR + DATA;
    for (uint64_t i = 0; i < n_lines; i++)
        put64(k, base + i * stride, base + (i + 1) % n_lines * stride);
    k->rv->x[T0] = base;
}

static inline uint64_t read_signal(kernel *k, const char *path) {
    tl_cell cell;
    tl_machine_sync(k->machine);
    assert_int_equal(tl_probe_resolve(&k->machine->probe, path, &cell), TL_OK);
    return tl_probe_read(&k->machine->probe, cell);
}

static inline void close_kernel(kernel *k) {
    tl_error err;
    tl_machine_sync(k->machine);
    if (tl_machine_check_identities(k->machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_machine_free(k->machine);
}

#endif
