/* SPDX-License-Identifier: MIT
 *
 * Several threads on the same words, with exact totals: C11 atomics of each width, compare-exchange
 * loops, hand-written LR/SC loops on different words of one cache line, message passing with
 * release and acquire, and Dekker's handshake that only sequential consistency allows. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 4000 };

static void run_threads(int n, void *(*body)(void *)) {
    pthread_t threads[8];
    for (long i = 0; i < n; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* One cache line holds words of all widths: neighbors must not disturb each other. */
static struct {
    _Atomic uint64_t d;
    _Atomic uint32_t w;
    _Atomic uint16_t h;
    _Atomic uint8_t b;
    _Atomic uint8_t neighbor;
    _Atomic int64_t min, max;
    _Atomic uint64_t or, and, xor;
} line __attribute__((aligned(64)));

static void *fetch_and_op(void *arg) {
    long me = (long)arg;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&line.d, 0x100000001);
        atomic_fetch_sub_explicit(&line.w, 3, memory_order_relaxed);
        atomic_fetch_add(&line.h, 5);
        atomic_fetch_add_explicit(&line.b, 7, memory_order_acq_rel);
        atomic_fetch_xor(&line.xor, (uint64_t)(i + 1) << (8 * me));
    }
    atomic_fetch_or(&line.or, 1UL << (16 * me));
    atomic_fetch_and(&line.and, ~(1UL << (16 * me)));
    return NULL;
}

static void test_fetch_and_op(void) {
    uint64_t xored = 0;
    atomic_store(&line.and, ~0UL);
    atomic_store(&line.neighbor, 0xa5);
    run_threads(THREADS, fetch_and_op);
    for (long me = 0; me < THREADS; me++)
        for (int i = 0; i < ROUNDS; i++)
            xored ^= (uint64_t)(i + 1) << (8 * me);
    CHECK_EQ(line.d, 0x100000001UL * THREADS * ROUNDS);
    CHECK_EQ(line.w, (uint32_t)(-3 * THREADS * ROUNDS));
    CHECK_EQ(line.h, (uint16_t)(5 * THREADS * ROUNDS));
    CHECK_EQ(line.b, (uint8_t)(7 * THREADS * ROUNDS));
    CHECK_EQ(line.neighbor, 0xa5);
    CHECK_EQ(line.xor, xored);
    CHECK_EQ(line.or, 0x0001000100010001);
    CHECK_EQ(line.and, ~0x0001000100010001);
    section("fetch and op");
}

static void *compare_exchange(void *arg) {
    int64_t mine = (int64_t)arg * 1000;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t seen = atomic_load(&line.d);
        while (!atomic_compare_exchange_weak(&line.d, &seen, seen * 3 % 1000003 + 1))
            ;
        uint8_t byte = atomic_load(&line.b); /* byte-wide: an LR/SC loop around a word */
        while (!atomic_compare_exchange_strong(&line.b, &byte, (uint8_t)(byte + 1)))
            ;
        int64_t most = atomic_load(&line.max);
        while (most < mine + i && !atomic_compare_exchange_weak(&line.max, &most, mine + i))
            ;
    }
    return NULL;
}

static void test_compare_exchange(void) {
    uint64_t expected = 1;
    for (int i = 0; i < THREADS * ROUNDS; i++)
        expected = expected * 3 % 1000003 + 1;
    atomic_store(&line.d, 1);
    atomic_store(&line.b, 0);
    run_threads(THREADS, compare_exchange);
    CHECK_EQ(line.d, expected);
    CHECK_EQ(line.b, (uint8_t)(THREADS * ROUNDS));
    CHECK_EQ(line.max, (THREADS - 1) * 1000 + ROUNDS - 1);
    section("compare-exchange");
}

/* Each thread increments its own word of a line that all share, and one common word. */
static struct {
    uint64_t own[THREADS];
    uint32_t common, pad;
} shared_line __attribute__((aligned(64)));

static void *lr_sc_loop(void *arg) {
    uint64_t *own = &shared_line.own[(long)arg];
    for (int i = 0; i < ROUNDS; i++) {
#ifdef __riscv
        uint64_t value;
        int failed;
        __asm__ volatile("1: lr.d %0, (%2)\n   addi %0, %0, 1\n   sc.d %1, %0, (%2)\n   bnez %1, 1b"
                         : "=&r"(value), "=&r"(failed)
                         : "r"(own)
                         : "memory");
        __asm__ volatile("1: lr.w.aq %0, (%2)\n   addi %0, %0, 1\n   sc.w.rl %1, %0, (%2)\n   bnez %1, 1b"
                         : "=&r"(value), "=&r"(failed)
                         : "r"(&shared_line.common)
                         : "memory");
#else
        __atomic_fetch_add(own, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared_line.common, 1, __ATOMIC_ACQ_REL);
#endif
    }
    return NULL;
}

static void test_reservations_across_threads(void) {
    run_threads(THREADS, lr_sc_loop);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(shared_line.own[i], ROUNDS);
    CHECK_EQ(shared_line.common, THREADS * ROUNDS);
    section("reservations");
}

static long message[8];
static _Atomic int sequence;

static void *pass_messages(void *arg) {
    for (int round = 1; round <= 500; round++) {
        if ((long)arg == 0) {
            while (atomic_load_explicit(&sequence, memory_order_acquire) != 2 * round - 2)
                sched_yield();
            for (int i = 0; i < 8; i++)
                message[i] = round * 8 + i;
            atomic_store_explicit(&sequence, 2 * round - 1, memory_order_release);
        } else {
            while (atomic_load_explicit(&sequence, memory_order_acquire) != 2 * round - 1)
                sched_yield();
            for (int i = 0; i < 8; i++)
                CHECK_EQ(message[i], round * 8 + i);
            atomic_store_explicit(&sequence, 2 * round, memory_order_release);
        }
    }
    return NULL;
}

static void test_message_passing(void) {
    run_threads(2, pass_messages);
    section("message passing");
}

static _Atomic int flags[2], both_zero, phase;
static int seen[2];

static void *handshake(void *arg) {
    long me = (long)arg;
    for (int round = 1; round <= 1000; round++) {
        atomic_store(&flags[me], 1);
        seen[me] = atomic_load(&flags[1 - me]);
        atomic_fetch_add(&phase, 1);
        while (atomic_load(&phase) < 4 * round - 2)
            sched_yield();
        if (me == 0 && seen[0] == 0 && seen[1] == 0)
            both_zero++;
        atomic_fetch_add(&phase, 1);
        while (atomic_load(&phase) < 4 * round) /* no thread clears before both have read */
            sched_yield();
        atomic_store(&flags[me], 0);
        if (me == 0) {
            while (atomic_load(&flags[1]) != 0)
                sched_yield();
            atomic_store(&line.w, (uint32_t)round);
        } else {
            while (atomic_load(&line.w) != (uint32_t)round)
                sched_yield();
        }
    }
    return NULL;
}

static void test_sequential_consistency(void) {
    atomic_store(&line.w, 0);
    run_threads(2, handshake);
    CHECK_EQ(both_zero, 0);
    section("sequential consistency");
}

int main(void) {
    test_fetch_and_op();
    test_compare_exchange();
    test_reservations_across_threads();
    test_message_passing();
    test_sequential_consistency();
    CHECK_END;
}
