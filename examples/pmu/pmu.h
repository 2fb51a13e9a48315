/* SPDX-License-Identifier: MIT
 * A driver for the counters of the RISC-V privileged architecture, with overflow interrupts
 * (Sscofpmf) where there are any. docs/tutorials/pmu-driver.md writes it step by step. */
#ifndef EXAMPLES_PMU_H
#define EXAMPLES_PMU_H

#include <stdint.h>

#define READ(csr)                                                      \
    ({                                                                 \
        uint64_t value;                                                \
        __asm__ volatile("csrr %0, " #csr : "=r"(value) : : "memory"); \
        value;                                                         \
    })
#define WRITE(csr, value) __asm__ volatile("csrw " #csr ", %0" : : "r"((uint64_t)(value)) : "memory")
#define SET(csr, value) __asm__ volatile("csrs " #csr ", %0" : : "r"((uint64_t)(value)) : "memory")
#define CLEAR(csr, value) __asm__ volatile("csrc " #csr ", %0" : : "r"((uint64_t)(value)) : "memory")

/* Registers whose number is a part of the instruction need one instruction for each. */
/* clang-format off */
#define EACH(X) \
    X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) \
    X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
/* clang-format on */

static inline uint64_t counter_read(int n) {
    switch (n) {
#define CASE(k) \
    case k: return READ(mhpmcounter##k);
        EACH(CASE)
#undef CASE
    }
    return 0;
}

static inline void counter_write(int n, uint64_t value) {
    switch (n) {
#define CASE(k) \
    case k: WRITE(mhpmcounter##k, value); break;
        EACH(CASE)
#undef CASE
    }
}

static inline uint64_t event_read(int n) {
    switch (n) {
#define CASE(k) \
    case k: return READ(mhpmevent##k);
        EACH(CASE)
#undef CASE
    }
    return 0;
}

static inline void event_write(int n, uint64_t value) {
    switch (n) {
#define CASE(k) \
    case k: WRITE(mhpmevent##k, value); break;
        EACH(CASE)
#undef CASE
    }
}

#define EVENT_OF (UINT64_C(1) << 63) /* has overflowed */
#define LCOFI (UINT64_C(1) << 13)    /* the interrupt of an overflow */

typedef struct pmu {
    int n_counters, width_bits; /* from counter 3 on */
    int has_overflow;
} pmu;

/* Step 1: a counter that is there keeps what is written; one that is not reads 0. */
static inline pmu pmu_probe(void) {
    pmu found = {0, 0, 0};
    WRITE(mcountinhibit, ~UINT64_C(0)); /* nothing counts while we write */
    for (int n = 3; n < 32; n++) {
        counter_write(n, ~UINT64_C(0));
        const uint64_t kept = counter_read(n);
        counter_write(n, 0);
        if (!kept)
            break;
        found.n_counters++;
        found.width_bits = 64 - __builtin_clzll(kept);
    }
    if (found.n_counters) {
        event_write(3, EVENT_OF);
        found.has_overflow = (event_read(3) & EVENT_OF) != 0;
        event_write(3, 0);
    }
    return found;
}

/* Step 2: selects and starts. An event that the PMU does not have reads back as another. */
static inline int pmu_start(int n, uint64_t event) {
    SET(mcountinhibit, UINT64_C(1) << n);
    event_write(n, event);
    counter_write(n, 0);
    if (event_read(n) != event)
        return -1;
    CLEAR(mcountinhibit, UINT64_C(1) << n);
    return 0;
}

static inline uint64_t pmu_stop(int n) {
    SET(mcountinhibit, UINT64_C(1) << n);
    return counter_read(n);
}

/* Step 3: an interrupt after `period` events. The flag OF must be clear, or none comes. */
static inline void pmu_sample(const pmu *its, int n, uint64_t event, uint64_t period) {
    const uint64_t mask = its->width_bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << its->width_bits) - 1;
    SET(mcountinhibit, UINT64_C(1) << n);
    event_write(n, event);
    counter_write(n, -period & mask);
    CLEAR(mip, LCOFI);
    SET(mie, LCOFI);
    SET(mstatus, 1 << 3);
    CLEAR(mcountinhibit, UINT64_C(1) << n);
}

/* In the handler: what comes next counts toward the next sample. */
static inline void pmu_rearm(int n, uint64_t event, uint64_t period) {
    SET(mcountinhibit, UINT64_C(1) << n);
    counter_write(n, -period);
    event_write(n, event); /* clears OF */
    CLEAR(mip, LCOFI);
    CLEAR(mcountinhibit, UINT64_C(1) << n);
}

/* -- The serial port. */
static inline void put_text(const char *text) {
    for (; *text; text++)
        *(volatile uint8_t *)0x10000000 = (uint8_t)*text;
}

static inline void put_number(uint64_t value) {
    char digits[24], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    put_text(at);
}

static inline void put_line(const char *text, uint64_t value) {
    put_text(text);
    put_number(value);
    put_text("\n");
}

#endif
