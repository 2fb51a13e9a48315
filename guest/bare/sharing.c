/* SPDX-License-Identifier: MIT
 * Harts use memory in the way that KIND names, as the threads of ../sharing/sharing.c do: a counter for each hart, all in one line
 * (false_sharing) or each in its own (padded); a ball that goes round (ping_pong); a total behind a lock of AMOs or of LR and SC (spinlock,
 * reservation_lock). The result is checked. tests/bare/sharing.py compares the counts of such runs.
 *
 * HARTS of them take part, 4 unless it is given. With PAGED they do it in supervisor mode. Each hart has page tables of its own then, which
 * show the shared pages SHIFT above their physical addresses. */
#include "bare.h"

#ifndef HARTS
#define HARTS 4
#endif
enum { N = HARTS };

#ifdef PAGED
#define SHIFT UINT64_C(0x100000000)
#define SEEN(what) (*(__typeof__(what) *)((u64) & (what) + SHIFT))
#else
#define SEEN(what) (what)
#endif

static struct { volatile u64 count[N]; } together __attribute__((aligned(64)));
static struct { volatile u64 count __attribute__((aligned(64))); } apart[N];
static volatile u64 ball __attribute__((aligned(64))), total __attribute__((aligned(64)));
static u32 lock __attribute__((aligned(64)));
static u64 n_ready __attribute__((aligned(64))), n_done __attribute__((aligned(64)));
static volatile u64 sinks[N * 8] __attribute__((aligned(64)));

/* work on nothing but registers */
static u64 compute(u64 seed, u64 n_steps) {
    for (u64 i = 0; i < n_steps; i++)
        seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

/* -- kinds; ROUNDS_OF_ is what each hart does */
enum {
    ROUNDS_OF_false_sharing = 2000,
    ROUNDS_OF_padded = 2000,
    ROUNDS_OF_ping_pong = 500,
    ROUNDS_OF_spinlock = 400,
    ROUNDS_OF_reservation_lock = 400
};

static void count_up(volatile u64 *counter) {
    for (u64 i = 0; i < ROUNDS_OF_false_sharing; i++)
        *counter += i & 3;
}
static void false_sharing(u64 me) { count_up(&SEEN(together).count[me]); }
static void padded(u64 me) { count_up(&SEEN(apart)[me].count); }

static void ping_pong(u64 me) {
    for (u64 i = 0; i < ROUNDS_OF_ping_pong; i++) {
        while (SEEN(ball) % N != me)
            ;
        SEEN(ball) = SEEN(ball) + 1;
    }
}

static void work_locked(u64 me, void (*take)(void)) {
    u64 own = me;
    for (u64 i = 0; i < ROUNDS_OF_spinlock; i++) {
        take();
        SEEN(total) = SEEN(total) + 1;
        __asm__ volatile("amoswap.w.rl zero, zero, (%0)" ::"r"(&SEEN(lock)) : "memory");
        own = compute(own, 20 + 10 * (i & 7));
    }
    sinks[me * 8] = own;
}
static void take_by_amo(void) {
    u32 was;
    do {
        while (*(volatile u32 *)&SEEN(lock))
            ;
        __asm__ volatile("amoswap.w.aq %0, %1, (%2)" : "=r"(was) : "r"(1), "r"(&SEEN(lock)) : "memory");
    } while (was);
}
static void take_by_reservation(void) {
    u64 failed;
    __asm__ volatile("1: lr.w.aq %0, (%1)\n bnez %0, 1b\n sc.w %0, %2, (%1)\n bnez %0, 1b"
                     : "=&r"(failed)
                     : "r"(&SEEN(lock)), "r"(1)
                     : "memory");
}
static void spinlock(u64 me) { work_locked(me, take_by_amo); }
static void reservation_lock(u64 me) { work_locked(me, take_by_reservation); }

static u64 sum_of_counts(void) {
    u64 sum = 0;
    for (u32 i = 0; i < N; i++)
        sum += together.count[i] + apart[i].count;
    return sum;
}

#ifdef PAGED
static u64 *roots[N], n_trapped;

static void show(u64 *root, volatile void *what, u64 size) {
    for (u64 page = (u64)what & ~UINT64_C(4095); page < (u64)what + size; page += 4096)
        map(root, 3, page + SHIFT, page, 0, PTE_RW);
}
static void make_tables(void) {
    for (u64 hart = 0; hart < N; hart++) {
        roots[hart] = standard_map();
        show(roots[hart], &together, sizeof together);
        show(roots[hart], apart, sizeof apart);
        show(roots[hart], &ball, sizeof ball);
        show(roots[hart], &total, sizeof total);
        show(roots[hart], &lock, sizeof lock);
    }
}
static void work(u64 me) {
    if (run(MODE_S, (void (*)(void))(u64)KIND, me, 0)->trapped)
        __atomic_fetch_add(&n_trapped, 1, __ATOMIC_SEQ_CST);
}
static void enter_tables(u64 me) {
    csr_write(satp, satp_of(roots[me], SATP_SV39));
    sfence();
}
#else
static void make_tables(void) {}
static void work(u64 me) { KIND(me); }
static void enter_tables(u64 me) { (void)me; }
#endif

static void everything(u64 me) {
    enter_tables(me);
    __atomic_fetch_add(&n_ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&n_ready, __ATOMIC_SEQ_CST) != N)
        ;
    work(me);
    __atomic_fetch_add(&n_done, 1, __ATOMIC_SEQ_CST);
}

int main(void) {
    static void (*const kinds[])(u64) = {false_sharing, padded, ping_pong, spinlock, reservation_lock};
    make_tables();
    for (u64 hart = 1; hart < N; hart++)
        hart_start(hart, everything);
    everything(0);
    while (__atomic_load_n(&n_done, __ATOMIC_SEQ_CST) != N)
        ;
    void (*kind)(u64) = KIND;
    bool is_count = kind == kinds[0] || kind == kinds[1], is_ball = kind == kinds[2], is_lock = !is_count && !is_ball;
    CHECK(sum_of_counts(), is_count ? N * ROUNDS_OF_false_sharing / 4 * 6 : 0);
    CHECK(ball, is_ball ? N * ROUNDS_OF_ping_pong : 0);
    CHECK(total, is_lock ? N * ROUNDS_OF_spinlock : 0);
#ifdef PAGED
    CHECK(n_trapped, 0);
#endif
    return 0;
}
