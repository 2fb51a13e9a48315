// SPDX-License-Identifier: MIT
// The address of the next instruction of A64 code, and the instructions that may run in Debug state
// (DDI 0487, C4 and H2.4).
#include "xcm.h"

static uint64_t relative(uint64_t pc, uint64_t field, uint32_t n_bits) {
    const uint64_t sign = UINT64_C(1) << (n_bits - 1);
    return pc + (((field & ((sign << 1) - 1)) ^ sign) - sign) * 4;
}

static bool holds(uint32_t condition, uint32_t pstate) {
    const bool n = pstate >> 31 & 1, z = pstate >> 30 & 1, c = pstate >> 29 & 1, v = pstate >> 28 & 1;
    bool result = true;
    switch (condition >> 1) {
    case 0: result = z; break;
    case 1: result = c; break;
    case 2: result = n; break;
    case 3: result = v; break;
    case 4: result = c && !z; break;
    case 5: result = n == v; break;
    case 6: result = n == v && !z; break;
    default: return true; // AL, NV
    }
    return result != (condition & 1);
}

bool xcm_is_load_exclusive(uint32_t word) {
    const bool is_pair = word >> 21 & 1, is_wide = word >> 31;
    return (word & 0x3fc00000) == 0x08400000 && !(is_pair && !is_wide);
}
bool xcm_is_store_exclusive(uint32_t word) {
    const bool is_pair = word >> 21 & 1, is_wide = word >> 31;
    return (word & 0x3fc00000) == 0x08000000 && !(is_pair && !is_wide);
}

// Exceptions, waits and returns from exceptions, branches with authentication.
static bool is_special(uint32_t word) {
    if ((word & 0xff000000) == 0xd4000000) // exception generation; SVC is not special
        return (word & 0xffe0001f) != 0xd4000001;
    if ((word & 0xfe000000) == 0xd6000000) // branches by register; those without keys are not special
        return (word & 0xfffffc1f) != 0xd61f0000 && (word & 0xfffffc1f) != 0xd63f0000 && (word & 0xfffffc1f) != 0xd65f0000;
    return word == 0xd503205f || word == 0xd503207f || (word & 0xffff0000) == 0; // WFE, WFI, UDF
}

xcm_next xcm_next_of(uint64_t pc, uint32_t word, uint32_t pstate) {
    xcm_next next = {.kind = XCM_NEXT_KNOWN, .address = pc + 4, .reg = word & 31};
    if ((word & 0x7c000000) == 0x14000000) {
        next.address = relative(pc, word, 26);
    } else if ((word & 0xff000010) == 0x54000000) {
        next.address = holds(word & 15, pstate) ? relative(pc, word >> 5, 19) : pc + 4;
    } else if ((word & 0x7e000000) == 0x34000000) {
        next.kind = XCM_NEXT_TEST;
        next.address = relative(pc, word >> 5, 19);
        next.bit = 64;
        next.is_64 = word >> 31;
        next.is_set = word >> 24 & 1;
    } else if ((word & 0x7e000000) == 0x36000000) {
        next.kind = XCM_NEXT_TEST;
        next.address = relative(pc, word >> 5, 14);
        next.bit = (word >> 31) << 5 | (word >> 19 & 31);
        next.is_64 = true;
        next.is_set = word >> 24 & 1;
    } else if (is_special(word)) {
        next.kind = XCM_NEXT_STEP;
    } else if ((word & 0xfe000000) == 0xd6000000) {
        next.kind = XCM_NEXT_REGISTER;
        next.reg = word >> 5 & 31;
    } else if (xcm_is_load_exclusive(word)) {
        next.kind = XCM_NEXT_EXCLUSIVE;
    }
    return next;
}

uint64_t xcm_next_taken(const xcm_next *next, uint64_t pc, uint64_t value_of_reg) {
    if (next->kind == XCM_NEXT_REGISTER)
        return value_of_reg;
    if (next->kind != XCM_NEXT_TEST)
        return next->address;
    const uint64_t value = next->is_64 ? value_of_reg : (uint32_t)value_of_reg;
    const bool is_set = next->bit == 64 ? value != 0 : value >> next->bit & 1;
    return is_set == next->is_set ? next->address : pc + 4;
}

// System registers whose moves Debug state does not permit, or on which the monitor itself rests:
// PSTATE fields, the debug channel, DLR and DSPSR, locks.
static bool is_forbidden_register(uint32_t word) {
    switch (word >> 5 & 0x7fff) { // o0:op1:CRn:CRm:op2
    case 0x5a10:                  // NZCV
    case 0x5a11:                  // DAIF
    case 0x4210:                  // SPSel
    case 0x4212:                  // CurrentEL
    case 0x5a28:                  // DSPSR_EL0
    case 0x5a29:                  // DLR_EL0
    case 0x1820:                  // DBGDTR_EL0
    case 0x1828:                  // DBGDTRRX_EL0, DBGDTRTX_EL0
    case 0x0012:                  // MDSCR_EL1
    case 0x0084:                  // OSLAR_EL1
    case 0x009c:                  // OSDLR_EL1
    case 0x7099: return true;     // MDCR_EL3
    default: return false;
    }
}

bool xcm_may_execute(uint32_t word) {
    enum { SP = 31 };
    if ((word & 0xffd00000) == 0xd5100000)
        return !is_forbidden_register(word);
    if ((word & 0xfff8ff00) == 0xd5087800) // AT; DC, IC and TLBI are for the target in normal state
        return true;
    if ((word & 0xfffff01f) == 0xd503301f) {
        const uint32_t op = word >> 5 & 7;
        return op == 2 || op == 4 || op == 5 || op == 6; // CLREX, DSB, DMB, ISB
    }
    if (word == 0xd503201f || word == 0xd503209f) // NOP, SEV
        return true;
    if ((word & 0x1f800000) == 0x12800000) // MOVN, MOVZ, MOVK
        return (word >> 29 & 3) != 1 && (word >> 31 || !(word >> 22 & 1));
    if ((word & 0x7ffffc00) == 0x11000000) // MOV to and from SP
        return (word & 31) == SP || (word >> 5 & 31) == SP;
    if ((word & 0x3f200000) == 0x38000000) // loads and stores with 9 bits of offset; no prefetch
        return (word >> 30) != 3 || (word >> 22 & 3) < 2;
    if ((word & 0x3f000000) == 0x08000000) // exclusive, acquire, release
        return true;
    if ((word & 0xbfe0fc00) == 0x0e003c00 || (word & 0xffe0fc00) == 0x4e001c00) // UMOV, INS
        return true;
    switch (word & 0xfffffc00) {
    case 0x1e260000: // FMOV between general and vector registers
    case 0x1e270000:
    case 0x9e660000:
    case 0x9e670000:
    case 0x9eae0000:
    case 0x9eaf0000: return true;
    default: return (word & 0xffe0001c) == 0xd4a00000 && (word & 3) != 0; // DCPS
    }
}
