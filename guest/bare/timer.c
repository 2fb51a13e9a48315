/* SPDX-License-Identifier: MIT
 * The machine timer: mtime, its shadow `time`, mtimecmp, MTIP. MTIP is clear if mtime < mtimecmp.
 * Else MTIP is set at once on a machine with its own clock; QEMU's host clock is late. */
#include "bare.h"

static void test_time_goes_on_and_has_two_faces(void) {
    csr_write(mcounteren, 2);
    u64 last = MTIME;
    for (u32 i = 0; i < 1000; i++) {
        u64 before = MTIME, shadow = csr_read(time), after = MTIME;
        CHECK(before <= shadow && shadow <= after, 1);
        CHECK(last <= before, 1);
        last = after;
    }
    u64 start = MTIME;
    while (MTIME - start < 100)
        ;
    /* halves */
    u32 low = MMIO32(CLINT_BASE + 0xbff8), high = MMIO32(CLINT_BASE + 0xbffc);
    CHECK(((u64)high << 32 | low) - start < UINT64_C(10000000) * 60, 1);
}

static void test_mtip_is_a_level(void) {
    MTIMECMP(0) = NEVER;
    CHECK(MTIMECMP(0), NEVER);
    CHECK(csr_read(mip) >> IRQ_MTI & 1, 0);
    MTIMECMP(0) = 0;
    for (u32 i = 0; i < 100000 && !(csr_read(mip) >> IRQ_MTI & 1); i++)
        ;
    CHECK(csr_read(mip) >> IRQ_MTI & 1, 1);
    csr_write(mip, 0); /* software cannot */
    CHECK(csr_read(mip) >> IRQ_MTI & 1, 1);
    MTIMECMP(0) = NEVER;
    CHECK(csr_read(mip) >> IRQ_MTI & 1, 0);
    MMIO32(CLINT_BASE + 0x4004) = 0x12345678; /* by halves */
    MMIO32(CLINT_BASE + 0x4000) = 0x9abcdef0;
    CHECK(MTIMECMP(0), 0x123456789abcdef0);
    CHECK(MMIO32(CLINT_BASE + 0x4000), 0x9abcdef0);
    CHECK(MMIO32(CLINT_BASE + 0x4004), 0x12345678);
    MTIMECMP(0) = NEVER;
}

static void test_mtip_rises_when_time_comes(void) {
    for (u32 i = 0; i < 200; i++) {
        u64 due = MTIME + 1 + i * 7;
        MTIMECMP(0) = due;
        u64 before, after, n_late = 0;
        bool is_pending;
        do {
            before = MTIME;
            is_pending = csr_read(mip) >> IRQ_MTI & 1;
            after = MTIME;
            if (is_pending)
                CHECK(after >= due, 1);
            else
                n_late += before >= due;
        } while (!is_pending);
        CHECK_BUT_QEMU("QEMU's timer is late", n_late <= 1, 1); /* the manual says "eventually": by the next read */
        MTIMECMP(0) = NEVER;
        CHECK(csr_read(mip) >> IRQ_MTI & 1, 0);
    }
}

SNIPPET(spins, "1: addi a0, a0, 1\n j 1b");
static void test_interrupts_come_in_time_and_in_order(void) {
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    u64 last = MTIME;
    csr_write(mie, BIT(IRQ_MTI));
    for (u32 i = 0; i < 150; i++) {
        csr_set(mstatus, MSTATUS_MPIE);
        u64 due = MTIME + 20 + i;
        MTIMECMP(0) = due;
        outcome *o = run(modes[i % 3], spins, 0, 0);
        u64 now = MTIME;
        check_context = i;
        CHECK(o->cause, CAUSE_IRQ(IRQ_MTI));
        CHECK(o->epc - (u64)spins < 8, 1);
        CHECK(now >= due && due > last, 1);
        if (i >= 3) /* the first ones find the caches empty */
            CHECK_BUT_QEMU("host time", now - due <= 3 + 500 / cycles_per_tick(), 1);
        last = due;
        MTIMECMP(0) = NEVER;
    }
    csr_write(mie, 0);
    check_context = 0;
}

int main(void) {
    test_time_goes_on_and_has_two_faces();
    test_mtip_is_a_level();
    test_mtip_rises_when_time_comes();
    test_interrupts_come_in_time_and_in_order();
    return 0;
}
