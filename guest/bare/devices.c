/* SPDX-License-Identifier: MIT
 * The serial port and the PLIC: priorities, thresholds, enables, claim and complete, for M and S of
 * hart 0; interrupts of transmitter and receiver (by loopback), up to the handler in S. */
#include "bare.h"

enum { UART_IRQ = 10, M_CONTEXT = 0, S_CONTEXT = 1 };
#define PRIORITY(source) MMIO32(PLIC_BASE + 4 * (source))
#define PENDING(word) MMIO32(PLIC_BASE + 0x1000 + 4 * (word))
#define ENABLE(context, word) MMIO32(PLIC_BASE + 0x2000 + 0x80 * (context) + 4 * (word))
#define THRESHOLD(context) MMIO32(PLIC_BASE + 0x200000 + 0x1000 * (context))
#define CLAIM(context) MMIO32(PLIC_BASE + 0x200004 + 0x1000 * (context))
enum { DATA = 0, IER = 1, IIR = 2, FCR = 2, LCR = 3, MCR = 4, LSR = 5, MSR = 6, SCR = 7 };
#define UART(reg) MMIO8(UART_BASE + (reg))
enum { IER_RX = 1, IER_TX = 2, LSR_READY = 1, LSR_EMPTY = 0x60, MCR_OUT2 = 8, MCR_LOOP = 0x10 };

static bool is_up(u64 irq, bool want) { /* lines move without delay, or nearly so */
    for (u32 i = 0; i < 10000; i++)
        if ((csr_read(mip) >> irq & 1) == want)
            return want;
    return !want;
}

static void test_uart_registers(void) {
    UART(SCR) = 0x5a;
    CHECK(UART(SCR), 0x5a);
    UART(SCR) = 0xa5;
    CHECK(UART(SCR), 0xa5);
    UART(LCR) = 0x83; /* the divisor's latch */
    UART(0) = 0x12;
    UART(1) = 0x00;
    CHECK(UART(0), 0x12);
    CHECK(UART(1), 0x00);
    UART(LCR) = 0x03;
    CHECK(UART(LCR), 0x03);
    UART(IER) = 0;
    CHECK(UART(IER), 0);
    CHECK(UART(LSR) & LSR_EMPTY, LSR_EMPTY);
    CHECK(UART(LSR) & LSR_READY, 0);
    CHECK(UART(IIR) & 0xf, 1); /* nothing to say */
    UART(IER) = IER_TX;
    CHECK(UART(IER), IER_TX);
    CHECK(UART(IIR) & 0xf, 2); /* the transmitter is empty */
    CHECK(UART(IIR) & 0xf, 1); /* reading that takes it back */
    UART(IER) = 0;
}

static void test_plic_registers(void) {
    PRIORITY(UART_IRQ) = 7;
    CHECK(PRIORITY(UART_IRQ), 7);
    PRIORITY(UART_IRQ) = 0;
    CHECK(PRIORITY(UART_IRQ), 0);
    CHECK(PRIORITY(0), 0);
    for (u32 context = M_CONTEXT; context <= S_CONTEXT; context++) {
        ENABLE(context, 0) = 1u << UART_IRQ | 1u << 1;
        CHECK(ENABLE(context, 0), 1u << UART_IRQ | 1u << 1);
        ENABLE(context, 0) = 0;
        THRESHOLD(context) = 5;
        CHECK(THRESHOLD(context), 5);
        THRESHOLD(context) = 0;
        CHECK(CLAIM(context), 0); /* nothing pending */
    }
}

static void settle(void) { /* no source, nothing claimed, nothing pending */
    UART(IER) = 0;
    for (u32 context = M_CONTEXT; context <= S_CONTEXT; context++) {
        ENABLE(context, 0) = 1u << UART_IRQ;
        u32 source = CLAIM(context);
        CLAIM(context) = source ? source : UART_IRQ;
        ENABLE(context, 0) = 0;
        THRESHOLD(context) = 0;
    }
}

/* QEMU 7.2 evaluates enables and steady sources only when a source changes. */
static void nudge_qemu(void) {
    if (is_qemu) {
        UART(IER) = 0;
        UART(IER) = IER_TX;
    }
}

static void test_from_source_to_line(void) {
    static const u64 irq_of[] = {IRQ_MEI, IRQ_SEI};
    for (u32 context = M_CONTEXT; context <= S_CONTEXT; context++) {
        u64 irq = irq_of[context];
        settle();
        check_context = context + 1;
        PRIORITY(UART_IRQ) = 3;
        UART(IER) = IER_TX;
        CHECK(is_up(irq, false), 0); /* not enabled here */
        CHECK(PENDING(0) >> UART_IRQ & 1, 1);
        ENABLE(context, 0) = 1u << UART_IRQ;
        nudge_qemu();
        CHECK(is_up(irq, true), 1);
        CHECK(csr_read(mip) & (BIT(IRQ_MEI) | BIT(IRQ_SEI)), BIT(irq)); /* the other context has nothing */
        THRESHOLD(context) = 3;                                         /* not above it */
        CHECK(is_up(irq, false), 0);
        THRESHOLD(context) = 2;
        CHECK(is_up(irq, true), 1);
        PRIORITY(UART_IRQ) = 0; /* never */
        THRESHOLD(context) = 0;
        CHECK(is_up(irq, false), 0);
        PRIORITY(UART_IRQ) = 1;
        CHECK(is_up(irq, true), 1);
        CHECK(CLAIM(context), UART_IRQ);
        CHECK(is_up(irq, false), 0); /* claimed: the line falls, though the port still asks */
        CHECK(PENDING(0) >> UART_IRQ & 1, 0);
        CHECK(CLAIM(context), 0);
        CLAIM(context) = UART_IRQ; /* completed: it asks again */
        nudge_qemu();
        CHECK(is_up(irq, true), 1);
        CHECK(CLAIM(context), UART_IRQ);
        UART(IER) = 0;
        CLAIM(context) = UART_IRQ;
        CHECK(is_up(irq, false), 0);
        CHECK(CLAIM(context), 0);
    }
    settle();
    check_context = 0;
}

/* A byte that comes back through the loop, with a handler for it in S */
SNIPPET(waits_for_it, "1: addi a0, a0, -1\n bnez a0, 1b");
static void test_loop(void) {
    settle();
    UART(FCR) = 0x07; /* FIFOs on and empty */
    UART(MCR) = MCR_LOOP | MCR_OUT2;
    PRIORITY(UART_IRQ) = 1;
    ENABLE(S_CONTEXT, 0) = 1u << UART_IRQ;
    UART(IER) = IER_RX;
    csr_write(mideleg, BIT(IRQ_SEI));
    csr_write(mie, BIT(IRQ_SEI));
    for (u32 i = 0; i < 20; i++) {
        check_context = i;
        CHECK(UART(LSR) & LSR_READY, 0);
        CHECK(csr_read(mip) >> IRQ_SEI & 1, 0);
        UART(DATA) = (uint8_t)(i * 37);
        outcome *o = run(MODE_U, waits_for_it, 1000000, 0);
        CHECK(o->trapped, 1);
        CHECK(o->mode, MODE_S);
        CHECK(o->cause, CAUSE_IRQ(IRQ_SEI));
        CHECK(CLAIM(S_CONTEXT), UART_IRQ);
        CHECK(UART(IIR) & 4, 4); /* data, or data that waits */
        CHECK(UART(LSR) & LSR_READY, LSR_READY);
        CHECK(UART(DATA), i * 37 & 0xff);
        CLAIM(S_CONTEXT) = UART_IRQ;
    }
    csr_write(mie, 0);
    csr_write(mideleg, 0);
    UART(IER) = 0;
    UART(MCR) = 0;
    settle();
    check_context = 0;
}

int main(void) {
    csr_write(stvec, (u64)s_trap);
    test_uart_registers();
    test_plic_registers();
    test_from_source_to_line();
    test_loop();
    return 0;
}
