/* SPDX-License-Identifier: MIT
 * The window of the performance monitors, which QEMU's board lacks: identification, the software lock,
 * both views of one state, the OS lock, and the size of accesses. Numbers are the manual's. */
#include "a64.h"

enum { LC = 0x40, E = 1, SW_INCR = 0, EC_BRK = 0x3c };

#define WINDOW UINT64_C(0xb030000)
#define CTI UINT64_C(0xb020000)
int main(void) {
    enum { LDR_X0 = 0xf9400000, LDR_W0 = 0xb9400000, EC_DATA_ABORT = 0x25, EXTERNAL = 0x10 };
    msr(mdcr_el3, 1 << 17);
    msr(oslar_el1, 0); /* set by reset */
    CHECK(MMIO32(WINDOW + 0xfcc), 0x16);
    CHECK(MMIO32(WINDOW + 0xff4), 0x90);
    CHECK(MMIO32(WINDOW + 0xfa8), (u32)mrs(mpidr_el1));
    CHECK(MMIO32(WINDOW + 0xe04), (u32)mrs(pmcr_el0));
    CHECK(MMIO32(WINDOW + 0xfb4), 3);
    MMIO32(WINDOW + 8) = 55;
    CHECK(mrs(pmevcntr1_el0), 0);
    MMIO32(WINDOW + 0xfb0) = 0xc5acce55;
    CHECK(MMIO32(WINDOW + 0xfb4), 1);
    MMIO32(WINDOW + 8) = 55;
    CHECK(mrs(pmevcntr1_el0), 55);
    MMIO32(WINDOW + 0xfc) = 7;
    MMIO32(WINDOW + 0xf8) = 9;
    CHECK(mrs(pmccntr_el0), UINT64_C(7) << 32 | 9);
    MMIO32(WINDOW + 0xc00) = 1;
    MMIO32(WINDOW + 0x400) = SW_INCR;
    MMIO32(WINDOW + 0xe04) = LC | E;
    MMIO32(WINDOW + 0xca0) = 1;
    CHECK(mrs(pmevcntr0_el0), 1);
    MMIO32(WINDOW + 0xe04) = LC;
    const void *code = code_of(LDR_W0);
    outcome o = run(EL1H, code, WINDOW + 0xe04, 0);
    CHECK(o.esr >> 26, EC_BRK);
    msr(oslar_el1, 1);
    o = run(EL1H, code, WINDOW + 0xe04, 0);
    CHECK(o.esr >> 26, EC_DATA_ABORT);
    CHECK(o.esr & 0x3f, EXTERNAL);
    o = run(EL1H, code, WINDOW + 0xfb4, 0);
    CHECK(o.esr >> 26, EC_BRK);
    msr(oslar_el1, 0);
    o = run(EL1H, code_of(LDR_X0), WINDOW + 0xf8, 0); /* words only */
    CHECK(o.esr >> 26, EC_DATA_ABORT);
    /* The interrupt is input trigger 1 of the cross-trigger interface; channel 3 leads to output trigger 2. */
    MMIO32(CTI + 0xfb0) = 0xc5acce55;
    MMIO32(CTI + 0x024) = 8;
    MMIO32(CTI + 0x0a8) = 8;
    MMIO32(CTI + 0x000) = 1;
    MMIO32(WINDOW + 0xc40) = 2;
    MMIO32(WINDOW + 0xcc0) = 2;
    CHECK(MMIO32(CTI + 0x130), 0); /* PMCR_EL0.E is clear */
    MMIO32(WINDOW + 0xe04) = LC | E;
    CHECK(MMIO32(CTI + 0x130), 2);
    CHECK(MMIO32(CTI + 0x134), 4);
    MMIO32(WINDOW + 0xc80) = 2;
    CHECK(MMIO32(CTI + 0x130), 0);
    CHECK(MMIO32(CTI + 0x134), 4); /* until it is acknowledged */
    MMIO32(CTI + 0x010) = 4;
    CHECK(MMIO32(CTI + 0x134), 0);
    MMIO32(WINDOW + 0xfb0) = 0;
    CHECK(MMIO32(WINDOW + 0xfb4), 3);
    return 0;
}
