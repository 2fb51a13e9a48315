/* SPDX-License-Identifier: MIT
 *
 * The distributed performance counters from software: C99, RV64, header-only, for bare-metal
 * programs, kernels and user programs. Three registers, no memory, no system call: write which
 * counters you want to hpcm, whom you ask and the start bit to hpcc, and take the values from hpcr
 * in ascending order of counters. docs/dhpc.md says what the registers do and why the readers below
 * look as they do.
 *
 * In user mode a start is an illegal instruction unless a more privileged mode has set useren. The
 * readers preserve useren, so they are right in every mode. A program that runs in user mode only
 * may define TALLY_HPC_USER and saves one instruction per start.
 *
 * Use tally_hpc_read when other software shares the hart: it repeats an interrupted request and
 * never returns foreign values. tally_hpc_*_poll and tally_hpc_burst need a hart of their own; they
 * differ in how they wait, for comparison. */
#ifndef TALLY_HPC_H
#define TALLY_HPC_H

#include <stdint.h>

/* Numbers of the registers; a machine description may say otherwise. */
#ifndef TALLY_HPCC
#define TALLY_HPCC 0x8e0
#define TALLY_HPCM 0x8e1
#define TALLY_HPCR 0xce0
#endif

/* Bits of hpcc. */
#define TALLY_HPC_TRIGGER (UINT64_C(1) << 0)     /* 1 starts, 0 cancels; reads 1 while a request runs */
#define TALLY_HPC_INTERRUPTED (UINT64_C(1) << 1) /* other software may have used the unit since hpcm was written */
#define TALLY_HPC_EMPTY (UINT64_C(1) << 2)       /* nothing to read */
#define TALLY_HPC_READERROR (UINT64_C(1) << 3)   /* hpcr was read while there was nothing */
#define TALLY_HPC_ID_LSB 4
#define TALLY_HPC_USEREN (UINT64_C(1) << 21)

/* Managers: class, instance (which core, which slice), and extend, where an instance has more than
 * 64 counters. */
#define TALLY_HPC_CORE 0
#define TALLY_HPC_LLC 1
#define TALLY_HPC_MEM 2
#define TALLY_HPC_DEVICE 3
#define TALLY_HPC_MMIO 4
#define TALLY_HPC_FABRIC 5
#define TALLY_HPC_DIRECTORY 7
#define TALLY_HPC_ID(class_, instance, extend) ((uint32_t)(class_) << 14 | (uint32_t)(instance) << 7 | (uint32_t)(extend))

/* Results that are no count. */
#define TALLY_HPC_INTERRUPTED_TOO_OFTEN (-1)
#define TALLY_HPC_NO_SPACE (-2)

/* One CSR instruction each. A program that defines TALLY_HPC_CSRR must define all of them, because
 * tests run the readers against a model. */
#ifndef TALLY_HPC_CSRR
#define TALLY_HPC_CSRR(csr)                                                            \
    __extension__({                                                                    \
        uint64_t tally_hpc_value;                                                      \
        __asm__ volatile("csrr %0, %1" : "=r"(tally_hpc_value) : "i"(csr) : "memory"); \
        tally_hpc_value;                                                               \
    })
#define TALLY_HPC_CSRW(csr, value) __asm__ volatile("csrw %0, %1" : : "i"(csr), "r"((uint64_t)(value)) : "memory")
#define TALLY_HPC_CSRS(csr, value) __asm__ volatile("csrs %0, %1" : : "i"(csr), "r"((uint64_t)(value)) : "memory")
#define TALLY_HPC_CSRC(csr, value) __asm__ volatile("csrc %0, %1" : : "i"(csr), "r"((uint64_t)(value)) : "memory")
#define TALLY_HPC_CSRCI(csr, bits) __asm__ volatile("csrci %0, %1" : : "i"(csr), "i"(bits) : "memory")
/* Eight and four values without anything in between: memory is not touched before the last of them
 * is read. */
#define TALLY_HPC_TAKE_8(v0, v1, v2, v3, v4, v5, v6, v7)                                                      \
    __asm__ volatile("csrr %0, %8\n\tcsrr %1, %8\n\tcsrr %2, %8\n\tcsrr %3, %8\n\t"                           \
                     "csrr %4, %8\n\tcsrr %5, %8\n\tcsrr %6, %8\n\tcsrr %7, %8"                               \
                     : "=&r"(v0), "=&r"(v1), "=&r"(v2), "=&r"(v3), "=&r"(v4), "=&r"(v5), "=&r"(v6), "=&r"(v7) \
                     : "i"(TALLY_HPCR)                                                                        \
                     : "memory")
#define TALLY_HPC_TAKE_4(v0, v1, v2, v3)                                        \
    __asm__ volatile("csrr %0, %4\n\tcsrr %1, %4\n\tcsrr %2, %4\n\tcsrr %3, %4" \
                     : "=&r"(v0), "=&r"(v1), "=&r"(v2), "=&r"(v3)               \
                     : "i"(TALLY_HPCR)                                          \
                     : "memory")
#endif

static inline int tally_hpc_count(uint64_t bitmap) {
    int n = 0;
    for (; bitmap != 0; bitmap &= bitmap - 1)
        n++;
    return n;
}

/* Starts a request. hpcm is written, not set (D3); the id replaces the one before (D2); useren
 * stays (D9). */
static inline void tally_hpc_start(uint32_t id, uint64_t bitmap) {
    uint64_t start = (uint64_t)id << TALLY_HPC_ID_LSB | TALLY_HPC_TRIGGER;
#ifndef TALLY_HPC_USER
    start |= TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_USEREN;
#endif
    TALLY_HPC_CSRCI(TALLY_HPCC, 1); /* whatever is left: hpcm cannot be written while a request runs */
    TALLY_HPC_CSRW(TALLY_HPCM, bitmap);
    TALLY_HPC_CSRW(TALLY_HPCC, start);
}

/* The reference reader. Returns how many values stand in `out` (which has room for `max`), in
 * ascending order of counters; bit k of *received says that counter k is among them. A request that
 * was interrupted is repeated up to `max_retries` times. Counters that are not built are left out,
 * and a manager that is not there gives 0 values. */
static inline int tally_hpc_read(uint32_t id, uint64_t bitmap, uint64_t *out, int max, uint64_t *received, int max_retries) {
    if (tally_hpc_count(bitmap) > max)
        return TALLY_HPC_NO_SPACE;
    for (;;) {
        uint64_t status, got;
        int n = 0;
        tally_hpc_start(id, bitmap);
        for (;;) {
            status = TALLY_HPC_CSRR(TALLY_HPCC);
            if (status & TALLY_HPC_INTERRUPTED)
                break; /* D6: other software may have taken the data or the request */
            if (!(status & TALLY_HPC_EMPTY)) {
                uint64_t value = TALLY_HPC_CSRR(TALLY_HPCR);
                if (n < max) /* more come only if the unit is not ours any more, and then we shall see it */
                    out[n] = value;
                n++;
                continue;
            }
            if (!(status & TALLY_HPC_TRIGGER))
                break; /* D4, D5: complete and drained, however many they were */
        }
        got = TALLY_HPC_CSRR(TALLY_HPCM); /* before the last poll: an interruption between the two must be seen */
        status = TALLY_HPC_CSRR(TALLY_HPCC);
        if (!(status & (TALLY_HPC_INTERRUPTED | TALLY_HPC_READERROR))) {
            *received = got;
            return n;
        }
        if (max_retries-- <= 0)
            return TALLY_HPC_INTERRUPTED_TOO_OFTEN;
    }
}

/* Empty-poll: Algorithm 1 corrected. Polls hpcc before each value. For software that does not share
 * the hart. */
static inline int tally_hpc_empty_poll(uint32_t id, uint64_t bitmap, uint64_t *out) {
    int n = 0;
    tally_hpc_start(id, bitmap);
    for (;;) {
        uint64_t status = TALLY_HPC_CSRR(TALLY_HPCC);
        if (!(status & TALLY_HPC_EMPTY))
            out[n++] = TALLY_HPC_CSRR(TALLY_HPCR);
        else if (!(status & TALLY_HPC_TRIGGER))
            return n;
    }
}

/* Takes n values that are there. */
static inline void tally_hpc_take(uint64_t *out, int n) {
    uint64_t v0 = 0, v1 = 0, v2 = 0, v3 = 0, v4 = 0, v5 = 0, v6 = 0, v7 = 0;
    for (; n >= 8; n -= 8) {
        TALLY_HPC_TAKE_8(v0, v1, v2, v3, v4, v5, v6, v7);
        *out++ = v0, *out++ = v1, *out++ = v2, *out++ = v3, *out++ = v4, *out++ = v5, *out++ = v6, *out++ = v7;
    }
    if (n & 4)
        TALLY_HPC_TAKE_4(v0, v1, v2, v3);
    if (n & 2) {
        v4 = TALLY_HPC_CSRR(TALLY_HPCR);
        v5 = TALLY_HPC_CSRR(TALLY_HPCR);
    }
    if (n & 1)
        v6 = TALLY_HPC_CSRR(TALLY_HPCR);
    if (n & 4)
        *out++ = v0, *out++ = v1, *out++ = v2, *out++ = v3;
    if (n & 2)
        *out++ = v4, *out++ = v5;
    if (n & 1)
        *out++ = v6;
}

/* Trigger-poll: waits until all values are there, then reads them without polling. Up to eight
 * values it accesses no memory before the last read (D8). */
static inline int tally_hpc_trigger_poll(uint32_t id, uint64_t bitmap, uint64_t *out) {
    int n;
    tally_hpc_start(id, bitmap);
    while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER)
        continue;
    n = tally_hpc_count(TALLY_HPC_CSRR(TALLY_HPCM)); /* D5: those that were returned */
    tally_hpc_take(out, n);
    return n;
}

/* Burst-read: waits for the first value, then reads all without polling. If a read came before its
 * value, readerror is set and the reader requests the values again, one by one. n is the number of
 * counters of the bitmap that are built (tally_hpc_discover). */
static inline int tally_hpc_burst(uint32_t id, uint64_t bitmap, int n, uint64_t *out) {
    uint64_t status;
    tally_hpc_start(id, bitmap);
    do {
        status = TALLY_HPC_CSRR(TALLY_HPCC);
    } while ((status & (TALLY_HPC_EMPTY | TALLY_HPC_TRIGGER)) == (TALLY_HPC_EMPTY | TALLY_HPC_TRIGGER));
    if (status & TALLY_HPC_EMPTY)
        return 0; /* complete without data */
    tally_hpc_take(out, n);
    if (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_READERROR)
        return tally_hpc_empty_poll(id, bitmap, out);
    return n;
}

/* Which counters a manager has; 0: there is no such manager. Asks for one counter after the other,
 * because a request for more than the FIFO holds never leaves the hart, and no register tells how
 * many it holds. A request that was interrupted is repeated. */
static inline uint64_t tally_hpc_discover(uint32_t id) {
    uint64_t built = 0, bit = 1;
    while (bit != 0) {
        uint64_t status, got;
        tally_hpc_start(id, bit);
        do {
            status = TALLY_HPC_CSRR(TALLY_HPCC);
        } while ((status & (TALLY_HPC_TRIGGER | TALLY_HPC_INTERRUPTED)) == TALLY_HPC_TRIGGER);
        got = TALLY_HPC_CSRR(TALLY_HPCM); /* before the last poll, as in tally_hpc_read */
        if (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_INTERRUPTED)
            continue;
        built |= got;
        bit <<= 1;
    }
    return built;
}

/* How many instances of a class the chip has. */
static inline uint64_t tally_hpc_instances(int class_) {
    uint64_t n = 0;
    return tally_hpc_empty_poll(TALLY_HPC_ID(TALLY_HPC_DIRECTORY, 0, 0), UINT64_C(1) << class_, &n) == 1 ? n : 0;
}

/* For kernels, at a switch between processes that do not trust each other: ends what runs, wipes
 * FIFO and last value, and sets useren for the next process or not. Use only set and clear of
 * useren, because writing back a value read from hpcc may start a request. */
static inline void tally_hpc_switch(int may_read) {
    TALLY_HPC_CSRCI(TALLY_HPCC, 1);
    TALLY_HPC_CSRW(TALLY_HPCM, 0);
    if (may_read)
        TALLY_HPC_CSRS(TALLY_HPCC, TALLY_HPC_USEREN);
    else
        TALLY_HPC_CSRC(TALLY_HPCC, TALLY_HPC_USEREN);
}

/* ---- For study: the two published algorithms, word for word. They do not work; docs/dhpc.md says
 * at which lines, and why. ---- */

/* Algorithm 1, for one program on the hart. */
static inline void tally_hpc_published_1(uint64_t id, uint64_t bitmap, uint64_t *hpcs, int hpcnumber) {
    int i;
    TALLY_HPC_CSRS(TALLY_HPCM, bitmap);                                       /* D3: adds to what the last request left */
    TALLY_HPC_CSRS(TALLY_HPCC, (id << TALLY_HPC_ID_LSB) & TALLY_HPC_TRIGGER); /* D1: is 0; D2: would add to the last id */
    for (i = 0; i <= hpcnumber; i++) {                                        /* D4: one too many; D5: or as many as were not built */
        while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_EMPTY)
            continue;
        hpcs[i] = TALLY_HPC_CSRR(TALLY_HPCR); /* D8: memory */
    }
}

/* Algorithm 2, for several threads on the hart. */
static inline void tally_hpc_published_2(uint64_t id, uint64_t bitmap, uint64_t *hpcs, int hpcnumber) {
    do {
        TALLY_HPC_CSRC(TALLY_HPCC, TALLY_HPC_TRIGGER); /* D7: the text says all of hpcc */
        tally_hpc_published_1(id, bitmap, hpcs, hpcnumber);
    } while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_INTERRUPTED); /* D6: never reached once another thread has taken the data */
}

#endif
