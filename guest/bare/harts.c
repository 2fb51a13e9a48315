/* SPDX-License-Identifier: MIT
 * Two harts: software interrupts both ways, locks of AMOs and of LR/SC, a reservation that the
 * other hart breaks, ordered messages, code that the other hart writes, remote TLB shootdown. */
#include "bare.h"

static void barrier(void) {
    static u64 arrived;
    u64 phase = __atomic_load_n(&arrived, __ATOMIC_SEQ_CST) / 2;
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) / 2 == phase)
        ;
}

/* -- ping-pong by msip: each hart waits in WFI with MSI enabled in mie, without a trap */
enum { N_PINGS = 200 };
static u64 n_pings[2], order_errors;
static volatile u64 turn;
static void ping_pong(u64 me) {
    u64 other = 1 - me;
    csr_write(mie, BIT(IRQ_MSI));
    for (u64 i = 0; i < N_PINGS; i++) {
        if (me == 0) {
            turn = i * 2 + 1;
            __asm__ volatile("fence" ::: "memory");
            MSIP(other) = 1;
        }
        while (!(csr_read(mip) >> IRQ_MSI & 1))
            __asm__ volatile("wfi");
        MSIP(me) = 0;
        while (csr_read(mip) >> IRQ_MSI & 1)
            ;
        __asm__ volatile("fence" ::: "memory");
        if (turn != i * 2 + (me == 0 ? 2 : 1))
            order_errors += 1;
        n_pings[me] += 1;
        if (me == 1) {
            turn = i * 2 + 2;
            __asm__ volatile("fence" ::: "memory");
            MSIP(other) = 1;
        }
    }
    csr_write(mie, 0);
}

/* -- locks */
enum { N_TURNS = 3000 };
static u32 amo_lock;
static u64 shared_a, shared_b, lrsc_counter;
static void take(u32 *lock) {
    u32 was;
    do
        __asm__ volatile("amoswap.w.aq %0, %1, (%2)" : "=r"(was) : "r"(1), "r"(lock) : "memory");
    while (was);
}
static void give(u32 *lock) { __asm__ volatile("amoswap.w.rl zero, zero, (%0)" ::"r"(lock) : "memory"); }
static void count_with_locks(u64 me) {
    for (u32 i = 0; i < N_TURNS; i++) {
        take(&amo_lock);
        u64 a = *(volatile u64 *)&shared_a;
        *(volatile u64 *)&shared_a = a + 1;
        *(volatile u64 *)&shared_b = *(volatile u64 *)&shared_b + me + 1;
        give(&amo_lock);
        u64 old, failed;
        do
            __asm__ volatile("lr.d %0, (%2)\n addi %0, %0, 1\n sc.d %1, %0, (%2)"
                             : "=&r"(old), "=&r"(failed)
                             : "r"(&lrsc_counter)
                             : "memory");
        while (failed);
    }
}

/* -- a reservation is broken by the other hart's store */
static volatile u64 reserved_word __attribute__((aligned(64))), step;
static u64 sc_failed;
static void break_reservation(u64 me) {
    if (me == 0) {
        u64 failed;
        __asm__ volatile("lr.d t0, (%1)\n li t0, 1\n sd t0, 0(%2)\n 1: ld t0, 0(%2)\n li t1, 2\n bne t0, t1, 1b\n sc.d %0, t0, (%1)"
                         : "=&r"(failed)
                         : "r"(&reserved_word), "r"(&step)
                         : "t0", "t1", "memory");
        sc_failed = failed;
    } else {
        while (step != 1)
            ;
        reserved_word = 77;
        __asm__ volatile("fence" ::: "memory");
        step = 2;
    }
}

/* -- messages: data, then a flag behind a fence */
enum { N_MESSAGES = 1000 };
static volatile u64 message, flag, ack;
static u64 wrong_messages;
static void send_messages(u64 me) {
    for (u64 i = 1; i <= N_MESSAGES; i++) {
        if (me == 0) {
            message = i * 3;
            __asm__ volatile("fence w, w" ::: "memory");
            flag = i;
            while (ack != i)
                ;
        } else {
            while (flag != i)
                ;
            __asm__ volatile("fence r, r" ::: "memory");
            if (message != i * 3)
                wrong_messages += 1;
            ack = i;
        }
    }
}

/* -- code written by one hart and run by the other */
static u32 remote_code[2] = {0x00000513, 0x00008067};
static u64 wrong_code;
static volatile u64 code_ready, code_done;
static void run_remote_code(u64 me) {
    for (u64 i = 1; i <= 200; i++) {
        if (me == 0) {
            *(volatile u32 *)remote_code = (u32)(i << 20) | 0x513;
            __asm__ volatile("fence" ::: "memory");
            code_ready = i;
            while (code_done != i)
                ;
        } else {
            while (code_ready != i)
                ;
            fence_i();
            if (((u64(*)(void))(u64)remote_code)() != i)
                wrong_code += 1;
            code_done = i;
        }
    }
}

/* -- hart 0 changes a mapping of hart 1; an interrupt tells hart 1 to flush the old one */
static u64 *root;
static u64 page_a[512] __attribute__((aligned(4096))), page_b[512] __attribute__((aligned(4096)));
static const u64 WINDOW = UINT64_C(0x180000000);
static volatile u64 shot, seen;
static u64 wrong_views;
SNIPPET(loads, "ld a0, 0(a0)");
static void shoot_down(u64 me) {
    for (u64 i = 1; i <= 50; i++) {
        if (me == 0) {
            *pte_of(root, 3, WINDOW, 0) = pte(i & 1 ? (u64)page_b : (u64)page_a, PTE_RW);
            __asm__ volatile("fence" ::: "memory");
            shot = i;
            MSIP(1) = 1;
            while (seen != i)
                ;
        } else {
            while (!(csr_read(mip) >> IRQ_MSI & 1))
                ;
            MSIP(1) = 0;
            while (csr_read(mip) >> IRQ_MSI & 1)
                ;
            sfence_page(WINDOW);
            outcome *o = run(MODE_S, loads, WINDOW, 0);
            if (o->trapped || o->x[10] != (shot & 1 ? 0xbb : 0xaa))
                wrong_views += 1;
            seen = i;
        }
    }
}

static u64 boot_ids[2];
static void (*const parts[])(u64) = {ping_pong, count_with_locks, break_reservation, send_messages, run_remote_code, shoot_down};
static void everything(u64 me) {
    boot_ids[me] = contexts[me].boot_a0 << 8 | hart_id();
    csr_write(satp, satp_of(root, SATP_SV39));
    sfence();
    for (u32 i = 0; i < sizeof parts / sizeof *parts; i++) {
        barrier();
        parts[i](me);
    }
    barrier();
}

int main(void) {
    root = standard_map();
    page_a[0] = 0xaa;
    page_b[0] = 0xbb;
    map(root, 3, WINDOW, (u64)page_a, 0, PTE_RW);
    hart_start(1, everything);
    everything(0);
    CHECK(boot_ids[0], 0);
    CHECK(boot_ids[1], 0x101);
    CHECK(n_pings[0], N_PINGS);
    CHECK(n_pings[1], N_PINGS);
    CHECK(order_errors, 0);
    CHECK(shared_a, 2 * N_TURNS);
    CHECK(shared_b, 3 * N_TURNS);
    CHECK(lrsc_counter, 2 * N_TURNS);
    CHECK(sc_failed, 1);
    CHECK(reserved_word, 77);
    CHECK(wrong_messages, 0);
    CHECK(wrong_code, 0);
    CHECK(wrong_views, 0);
    /* a device register of one hart, seen from the other */
    MTIMECMP(1) = 0x1234567890;
    CHECK(MTIMECMP(1), 0x1234567890);
    MSIP(1) = 1;
    CHECK(MSIP(1), 1);
    MSIP(1) = 0;
    CHECK(MSIP(1), 0);
    return 0;
}
