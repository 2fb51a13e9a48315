/* SPDX-License-Identifier: MIT
 * The devices as small teaching kernels for QEMU drive them: from S, by interrupts, with few
 * registers. The disk's transport must show QEMU's vendor and VERSION; a driver of version 2
 * negotiates the low features and FEATURES_OK. The serial handler reads LSR and never IIR. */
#include "bare.h"

#ifndef VERSION
#define VERSION 2
#endif

enum { DISK_IRQ = 1, UART_IRQ = 10, S_CONTEXT = 1, N_DESCRIPTORS = 8, PAGE = 4096, SECTOR = 512, N_SECTORS = 8 };
#define PRIORITY(source) MMIO32(PLIC_BASE + 4 * (source))
#define ENABLE(context) MMIO32(PLIC_BASE + 0x2000 + 0x80 * (context))
#define THRESHOLD(context) MMIO32(PLIC_BASE + 0x200000 + 0x1000 * (context))
#define CLAIM(context) MMIO32(PLIC_BASE + 0x200004 + 0x1000 * (context))
#define UART(reg) MMIO8(UART_BASE + (reg))
#define DISK(reg) MMIO32(UINT64_C(0x10001000) + (reg))
enum { DATA = 0, IER = 1, FCR = 2, LCR = 3, LSR = 5 };
enum { NEXT = 1, WRITE = 2 };

typedef struct descriptor {
    u64 paddr;
    u32 n_bytes;
    uint16_t flags, next;
} descriptor;
static struct {
    descriptor table[N_DESCRIPTORS];
    struct {
        uint16_t flags, index, ring[N_DESCRIPTORS];
    } available;
    char used_is_on_the_next_page[PAGE - sizeof(descriptor[N_DESCRIPTORS]) - 4 - 2 * N_DESCRIPTORS];
    struct {
        uint16_t flags, index;
        struct {
            u32 id, n_bytes;
        } ring[N_DESCRIPTORS];
    } used;
} volatile queue __attribute__((aligned(PAGE)));

static const char message[] = "teaching: this line goes out one interrupt at a time\n";
static volatile u64 n_sent, n_uart, n_disk, n_other;
static volatile uint16_t n_used;

static void send_more(void) {
    while (n_sent < sizeof message - 1) {
        if (!(UART(LSR) & 0x20))
            return;
        UART(DATA) = (uint8_t)message[n_sent];
        n_sent = n_sent + 1;
        if (n_sent % 2) /* as if there were room for two; the interrupt brings the next */
            return;
    }
}

static void on_uart(void) {
    n_uart = n_uart + 1;
    while (UART(LSR) & 1)
        (void)UART(DATA);
    send_more();
}

static void on_disk(void) {
    n_disk = n_disk + 1;
    DISK(0x64) = DISK(0x60) & 3;
    n_used = queue.used.index;
}

__asm__(
    ".text\n .balign 4\n"
    "handler: addi sp, sp, -128\n"
    " sd ra, 0(sp)\n sd t0, 8(sp)\n sd t1, 16(sp)\n sd t2, 24(sp)\n sd t3, 32(sp)\n sd t4, 40(sp)\n sd t5, 48(sp)\n sd t6, 56(sp)\n"
    " sd a0, 64(sp)\n sd a1, 72(sp)\n sd a2, 80(sp)\n sd a3, 88(sp)\n sd a4, 96(sp)\n sd a5, 104(sp)\n sd a6, 112(sp)\n sd a7, 120(sp)\n"
    " call interrupt\n"
    " ld ra, 0(sp)\n ld t0, 8(sp)\n ld t1, 16(sp)\n ld t2, 24(sp)\n ld t3, 32(sp)\n ld t4, 40(sp)\n ld t5, 48(sp)\n ld t6, 56(sp)\n"
    " ld a0, 64(sp)\n ld a1, 72(sp)\n ld a2, 80(sp)\n ld a3, 88(sp)\n ld a4, 96(sp)\n ld a5, 104(sp)\n ld a6, 112(sp)\n ld a7, 120(sp)\n"
    " addi sp, sp, 128\n sret\n");
extern char handler[];
void interrupt(void);
void interrupt(void) {
    u32 source = CLAIM(S_CONTEXT);
    if (source == UART_IRQ)
        on_uart();
    else if (source == DISK_IRQ)
        on_disk();
    else
        n_other = n_other + 1;
    if (source)
        CLAIM(S_CONTEXT) = source;
}

static void begin_disk(void) {
    CHECK(DISK(0x00), 0x74726976);
    CHECK(DISK(0x04), VERSION);
    CHECK(DISK(0x08), 2);
    CHECK(DISK(0x0c), 0x554d4551);
    DISK(0x70) = 0;
    DISK(0x70) = 1;
    DISK(0x70) = 3;
    u32 features = DISK(0x10);
    features &= ~(1u << 5 | 1u << 7 | 1u << 11 | 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29); /* read-only, SCSI, caches, queues, layouts */
    DISK(0x20) = features;
    u32 status = 3;
    if (VERSION == 2) {
        DISK(0x70) = 11;
        status = DISK(0x70);
        CHECK(status, 11);
    } else {
        DISK(0x28) = PAGE;
    }
    DISK(0x30) = 0;
    CHECK_TRUE(DISK(0x34) >= N_DESCRIPTORS);
    DISK(0x38) = N_DESCRIPTORS;
    if (VERSION == 2) {
        CHECK(DISK(0x44), 0);
        DISK(0x80) = (u32)(u64)queue.table;
        DISK(0x84) = 0;
        DISK(0x90) = (u32)(u64)&queue.available;
        DISK(0x94) = 0;
        DISK(0xa0) = (u32)(u64)&queue.used;
        DISK(0xa4) = 0;
        DISK(0x44) = 1;
        CHECK(DISK(0x44), 1);
    } else {
        CHECK(DISK(0x40), 0);
        DISK(0x40) = (u32)((u64)&queue / PAGE);
        CHECK(DISK(0x40), (u64)&queue / PAGE);
    }
    DISK(0x70) = status | 4;
    CHECK(DISK(0x70), status | 4);
}

static struct {
    u32 type, reserved;
    u64 sector;
} volatile header;
static volatile uint8_t data[2 * SECTOR], status_byte;

static void transfer(u32 type, u64 sector) {
    header.type = type;
    header.sector = sector;
    status_byte = 0xff;
    const descriptor chain[] = {
        {(u64)&header, 16, NEXT, 1}, {(u64)data, sizeof data, (uint16_t)(NEXT | (type ? 0 : WRITE)), 2}, {(u64)&status_byte, 1, WRITE, 0}};
    for (u32 i = 0; i < 3; i++) {
        queue.table[i].paddr = chain[i].paddr;
        queue.table[i].n_bytes = chain[i].n_bytes;
        queue.table[i].flags = chain[i].flags;
        queue.table[i].next = chain[i].next;
    }
    queue.available.ring[queue.available.index % N_DESCRIPTORS] = 0;
    __asm__ volatile("fence" ::: "memory");
    uint16_t want = (uint16_t)(queue.available.index + 1);
    queue.available.index = want;
    __asm__ volatile("fence" ::: "memory");
    DISK(0x50) = 0;
    for (u64 i = 0; i < 200000000 && n_used != want; i++)
        ;
    CHECK(n_used, want);
    CHECK(queue.used.ring[(want - 1) % N_DESCRIPTORS].id, 0);
    CHECK(status_byte, 0);
}

/* The runner's disk: every byte of a sector is the sector's number, times three. */
static void test_disk(void) {
    begin_disk();
    for (u64 round = 0; round < 20; round++) {
        u64 sector = round % (N_SECTORS / 2) * 2;
        check_context = round;
        transfer(0, sector);
        CHECK(data[0], sector * 3);
        CHECK(data[SECTOR - 1], sector * 3);
        CHECK(data[2 * SECTOR - 1], (sector + 1) * 3);
    }
    for (u32 i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    transfer(1, 4);
    for (u32 i = 0; i < sizeof data; i++)
        data[i] = 0;
    transfer(0, 4);
    u64 n_wrong = 0;
    for (u32 i = 0; i < sizeof data; i++)
        n_wrong += data[i] != (uint8_t)(i * 7);
    CHECK(n_wrong, 0);
    CHECK(n_disk, 22); /* one interrupt for each request */
    check_context = 0;
}

static void test_uart(void) {
    UART(IER) = 0;
    UART(LCR) = 0x80;
    UART(0) = 3;
    UART(1) = 0;
    UART(LCR) = 3;
    UART(FCR) = 7;
    UART(IER) = 3; /* both interrupts, for good */
    for (u64 i = 0; i < 200000000 && n_sent < sizeof message - 1; i++)
        ;
    CHECK(n_sent, sizeof message - 1);
    for (u64 i = 0; i < 2000000; i++) /* several characters' time: no interrupt repeats for ever */
        __asm__ volatile("nop");
    CHECK_TRUE(n_uart >= sizeof message / 2 && n_uart <= 2 * sizeof message + 4);
    UART(IER) = 0;
}

static void kernel(void) {
    csr_write(stvec, (u64)handler);
    PRIORITY(UART_IRQ) = 1;
    PRIORITY(DISK_IRQ) = 1;
    ENABLE(S_CONTEXT) = 1u << UART_IRQ | 1u << DISK_IRQ;
    THRESHOLD(S_CONTEXT) = 0;
    csr_set(sie, BIT(IRQ_SEI));
    csr_set(sstatus, MSTATUS_SIE);
    test_disk();
    test_uart();
    csr_clear(sstatus, MSTATUS_SIE);
    CHECK(n_other, 0);
}

int main(void) {
    csr_write(medeleg, 0);
    csr_write(mideleg, BIT(IRQ_SEI));
    outcome *o = run(MODE_S, kernel, 0, 0);
    CHECK(o->trapped, 0);
    return 0;
}
