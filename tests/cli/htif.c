// SPDX-License-Identifier: MIT
// A bare-metal program that uses tohost and fromhost, as riscv-tests and riscv-pk do. CASE 0: a
// request block writes, gets the time, gets errors, and exits with 7. 1: console by bytes, input
// echoed to output until 'q', exit by an odd word. 2: an unknown request. 3: a request without an
// answer, because fromhost is missing. 4: the block of `exit_group`. 5: a handler exits, and the
// program in user mode goes on with system calls until the host looks.
#include <stdint.h>

typedef uint64_t u64;
volatile u64 tohost __attribute__((aligned(8)));
#if CASE != 3
volatile u64 fromhost __attribute__((aligned(8)));
#else
static volatile u64 answer; /* which nobody knows */
#define fromhost answer
#endif
static volatile u64 block[8] __attribute__((aligned(64)));
static u64 n_failed;

__asm__(".section .text.start, \"ax\"\n"
        ".globl _start\n_start: csrr t0, mhartid\n bnez t0, 1f\n la sp, stack_end\n call main\n1: wfi\n j 1b\n"
        ".bss\n.balign 16\n.space 4096\nstack_end:\n.text\n");

static void check(int is_right, u64 number) {
    if (!is_right && !n_failed)
        n_failed = number;
}

static u64 ask(u64 word) {
    fromhost = 0;
    tohost = word;
    for (u64 i = 0; i < 1000000; i++)
        if (fromhost)
            return fromhost;
    return 0;
}

static u64 call(u64 number, u64 a, u64 b, u64 c) {
    block[0] = number;
    block[1] = a;
    block[2] = b;
    block[3] = c;
    check(ask((u64)block) == 1, 100);
    return block[0];
}

static void leave(u64 status) {
    tohost = status << 1 | 1;
    for (;;)
        ;
}

void main(void) {
    static const char text[] = "a block: hello\n";
    static volatile u64 pair[2];
#if CASE == 0
    check(call(64, 1, (u64)text, sizeof text - 1) == sizeof text - 1, 1);
    check(call(64, 2, (u64)text + 3, 5) == 5, 2);
    check(call(64, 1, (u64)text, 0) == 0, 3);
    check(call(64, 0, (u64)text, 1) == (u64)-9, 4);
    check(call(64, 1, 0x1000, 1) == (u64)-14, 5);
    check(call(64, 1, (u64)-8, 16) == (u64)-14, 6);
    check(call(64, 1, 0x80000000 + ((u64)16 << 20) - 4, 8) == (u64)-14, 7); /* leaves RAM */
    u64 now = call(1062, (u64)pair, 0, 0);
    check(now == 1704067200 && pair[0] == now, 8);
    check(call(1062, 0, 0, 0) == now, 9);
    check(call(1062, 4, 0, 0) == (u64)-14, 10);
    u64 before, after;
    pair[1] = 77;
    __asm__ volatile("csrr %0, time" : "=r"(before)); /* 10 MHz */
    check(call(169, (u64)pair, 0, 0) == 0, 11);
    __asm__ volatile("csrr %0, time" : "=r"(after));
    check(pair[0] == now && pair[1] >= before / 10 && pair[1] <= after / 10, 12);
    __asm__ volatile("csrr %0, time" : "=r"(before));
    check(call(113, 0, (u64)pair, 0) == 0, 13);
    __asm__ volatile("csrr %0, time" : "=r"(after));
    check(pair[0] == now && pair[1] >= before * 100 && pair[1] <= after * 100, 14);
    check(call(113, 0, 0, 0) == (u64)-14, 15);
    if (n_failed)
        leave(n_failed);
    call(93, 7, 0, 0);
#elif CASE == 1
    for (;;) {
        u64 word = ask((u64)1 << 56);
        check(word >> 8 == ((u64)1 << 48 | 1), 1);
        u64 byte = word & 0xff;
        if (byte == 'q')
            leave(n_failed);
        check(ask((u64)0x0101 << 48 | byte) == ((u64)0x0101 << 48 | 0x100 | byte), 2);
    }
#elif CASE == 2
    check(call(63, 0, (u64)pair, 1) == (u64)-38, 1); /* read */
    check(ask((u64)2 << 56 | 6) == 0, 2);
    check(ask((u64)1 << 56 | (u64)5 << 48) == 0, 3);
    check(ask((u64)block + 4) == 0, 4);
    check(ask(0x1000) == 0, 5);
    for (u64 i = 0; i < 20; i++)
        call(1000 + i, 0, 0, 0);
    leave(n_failed);
#elif CASE == 3
    block[0] = 1062;
    tohost = (u64)block;
    while (block[0] == 1062)
        ;
    leave(block[0] == 1704067200 ? 0 : 1);
#elif CASE == 5
    __asm__ volatile(" li t0, -1\n csrw pmpaddr0, t0\n li t0, 0x1f\n csrw pmpcfg0, t0\n"
                     " la t0, handler\n csrw mtvec, t0\n la t0, program\n csrw mepc, t0\n csrw mstatus, zero\n mret\n"
                     " .balign 4\nhandler: csrr t0, mepc\n addi t0, t0, 4\n csrw mepc, t0\n addi s0, s0, 1\n li t0, 100\n bne s0, t0, 1f\n"
                     " la t0, tohost\n li t1, 3\n sd t1, (t0)\n1: mret\n"
                     " .balign 4\nprogram: .option push\n .option norvc\n li s0, 0\n2: ecall\n j 2b\n .option pop\n");
#else
    call(94, (u64)300 << 32 | 5, 0, 0);
#endif
}
