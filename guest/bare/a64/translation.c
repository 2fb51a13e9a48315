/* SPDX-License-Identifier: MIT
 * VMSAv8-64, stage 1: permissions, levels of faults, granules, sizes of addresses, tags, AT, TLBI.
 * Tables stand at 4 MiB, and EL1 sees the first 2 MiB of RAM at its own address. */
#include "a64.h"

#define TABLES (RAM_BASE + 0x400000)
#define DATA (RAM_BASE + 0x200000)
enum { VALID = 1, TABLE = 3, PAGE = 3, BLOCK = 1, AF = 1 << 10, USER = 1 << 6, RO = 1 << 7, ISH = 3 << 8, ATTR1 = 1 << 2, NG = 1 << 11 };
static const u64 PXN = UINT64_C(1) << 53, UXN = UINT64_C(1) << 54, XN_TABLE = UINT64_C(1) << 60, PXN_TABLE = UINT64_C(1) << 59,
                 NO_EL0_TABLE = UINT64_C(1) << 61, RO_TABLE = UINT64_C(1) << 62;
enum { M = 1, WXN = 1 << 19, SCTLR = 0x30d00980 };
enum { LDR = 0xf9400001, STR = 0xf9000001, LDTR = 0xf8400801, STTR = 0xf8000801, BLR = 0xd63f0000, NOP = 0xd503201f };
static const u64 FAR_AWAY = UINT64_C(0x0000010000000000); /* of a 48-bit space, away from RAM */
extern char _data[];
static u64 next_table;

static u64 *new_table(u64 bytes) {
    u64 *table = (u64 *)((next_table + bytes - 1) & ~(bytes - 1));
    next_table = (u64)table + bytes;
    for (u64 i = 0; i < bytes / 8; i++)
        table[i] = 0;
    return table;
}

/* The entry that maps vaddr at `level`, made with its tables. granule: log2 of the bytes. */
static u64 *entry_of(u64 *root, u64 vaddr, u32 granule, u32 va_bits, u32 level) {
    const u32 stride = granule - 3;
    u32 at = 4 - (va_bits - granule + stride - 1) / stride;
    u64 *table = root;
    for (;; at++) {
        const u32 lsb = granule + stride * (3 - at);
        const u64 mask = lsb + stride > va_bits ? (UINT64_C(1) << (va_bits - lsb)) - 1 : (UINT64_C(1) << stride) - 1;
        u64 *entry = &table[vaddr >> lsb & mask];
        if (at == level)
            return entry;
        if (*entry == 0)
            *entry = (u64)new_table(UINT64_C(1) << granule) | TABLE;
        table = (u64 *)(*entry & UINT64_C(0xfffffffff000));
    }
}

static u64 *root;
static u32 root_granule, root_bits;
static void begin(u32 granule, u32 va_bits) {
    next_table = TABLES;
    root_granule = granule;
    root_bits = va_bits;
    root = new_table(UINT64_C(1) << granule);
    if (granule == 12) {
        for (u64 at = RAM_BASE; at < RAM_BASE + 0x200000; at += 0x1000) /* nothing is both written and executed by EL1 */
            *entry_of(root, at, 12, va_bits, 3) = at | AF | ISH | PAGE | ATTR1 | UXN | (at < (u64)_data || at == (u64)scratch ? RO : 0);
    } else {
        for (u64 i = 0; i < 32; i++)
            *entry_of(root, RAM_BASE + (i << 16), 16, va_bits, 3) = (RAM_BASE + (i << 16)) | AF | ISH | PAGE | ATTR1 | UXN;
    }
    msr(mair_el1, 0xff00 | 0x04);
    msr(ttbr0_el1, (u64)root);
    msr(tcr_el1, (64 - va_bits) | (granule == 16 ? 1u << 14 : 0) | UINT64_C(2) << 32 | 1 << 23 | 3 << 12 | 1 << 10 | 1 << 8);
    dsb();
    tlbi_all();
    msr(sctlr_el1, SCTLR | M);
}
static void map(u64 vaddr, u32 level, u64 descriptor) {
    *entry_of(root, vaddr, root_granule, root_bits, level) = descriptor;
    dsb();
    tlbi_all();
}
static void end(void) {
    msr(sctlr_el1, SCTLR);
    tlbi_all();
}

/* EL0 executes from a page of its own, which EL1 sees, too. */
#define USER_CODE (RAM_BASE + 0x300000)
static outcome at_el0(u32 insn, u64 x0) {
    u32 *code = (u32 *)USER_CODE;
    code[0] = insn;
    code[1] = BRK_END;
    dsb();
    __asm__ volatile("ic iallu\n dsb sy\n isb");
    return run(EL0T, code, x0, 0x1122);
}
static outcome at_el1(u32 insn, u64 x0) { return run(EL1H, code_of(insn), x0, 0x1122); }

/* The status of an access, 0x777 where it succeeds. */
static u64 status_of(outcome o) { return o.esr == 0xf2000777 ? 0x777 : o.esr; }

static void test_permissions(void) {
    static const u64 aps[] = {0, USER, RO, USER | RO};
    begin(12, 48);
    *entry_of(root, USER_CODE, 12, 48, 3) = USER_CODE | AF | ISH | PAGE | ATTR1 | USER | RO;
    for (u32 wxn = 0; wxn < 2; wxn++) {
        msr(sctlr_el1, SCTLR | M | (wxn ? WXN : 0));
        for (u32 i = 0; i < 16; i++) {
            const u64 xn = (i & 4 ? PXN : 0) | (i & 8 ? UXN : 0);
            *(volatile u32 *)DATA = 0xd65f03c0; /* ret: what BLR reaches */
            map(FAR_AWAY, 3, DATA | AF | ISH | PAGE | ATTR1 | aps[i & 3] | xn);
            print("permission ");
            print_hex(wxn << 4 | i);
            const u64 results[] = {status_of(at_el1(LDR, FAR_AWAY + 8)),  status_of(at_el1(STR, FAR_AWAY + 8)),
                                   status_of(at_el0(LDR, FAR_AWAY + 8)),  status_of(at_el0(STR, FAR_AWAY + 8)),
                                   status_of(at_el1(LDTR, FAR_AWAY + 8)), status_of(at_el1(STTR, FAR_AWAY + 8)),
                                   status_of(at_el1(BLR, FAR_AWAY)),      status_of(at_el0(BLR, FAR_AWAY))};
            for (u32 k = 0; k < 8; k++) {
                print(" ");
                print_hex(results[k]);
            }
            print("\n");
            check_context = wxn << 4 | i;
            const bool is_user = i & 1, is_ro = i & 2, is_pxn = i & 4, is_uxn = i & 8;
            CHECK(results[0], 0x777); /* table D5-28 */
            CHECK(results[1], is_ro ? 0x9600004f : 0x777);
            CHECK(results[2], is_user ? 0x777 : 0x9200000f);
            CHECK(results[3], !is_user || is_ro ? 0x9200004f : 0x777);
            CHECK(results[4], is_user ? 0x777 : 0x9600000f);
            CHECK(results[5], !is_user || is_ro ? 0x9600004f : 0x777);
            CHECK(results[6], is_pxn || (is_user && !is_ro) || (wxn && !is_ro) ? 0x8600000f : 0x777);
            CHECK(results[7], is_uxn || (wxn && is_user && !is_ro) ? 0x8200000f : 0x777);
        }
    }
    end();
}

static void test_hierarchical(void) {
    static const u64 bits[] = {0, 1, 2, 4, 8, 15};
    begin(12, 48);
    *entry_of(root, USER_CODE, 12, 48, 3) = USER_CODE | AF | ISH | PAGE | ATTR1 | USER | RO;
    for (u32 i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        const u64 extra =
            (bits[i] & 1 ? NO_EL0_TABLE : 0) | (bits[i] & 2 ? RO_TABLE : 0) | (bits[i] & 4 ? XN_TABLE : 0) | (bits[i] & 8 ? PXN_TABLE : 0);
        for (u32 level = 0; level < 3; level++) {
            map(FAR_AWAY, 3, DATA | AF | ISH | PAGE | ATTR1 | USER);
            u64 *entry = entry_of(root, FAR_AWAY, 12, 48, level);
            *entry |= extra;
            dsb();
            tlbi_all();
            const outcome outcomes[] = {at_el1(STR, FAR_AWAY), at_el0(LDR, FAR_AWAY), at_el0(STR, FAR_AWAY), at_el0(BLR, FAR_AWAY)};
            *(volatile u32 *)DATA = 0xd65f03c0;
            check_context = bits[i] << 4 | level;
            CHECK(status_of(outcomes[0]), bits[i] & 2 ? 0x9600004f : 0x777);
            CHECK(status_of(outcomes[1]), bits[i] & 1 ? 0x9200000f : 0x777);
            CHECK(status_of(outcomes[2]), bits[i] & 3 ? 0x9200004f : 0x777);
            *entry &= ~extra;
        }
    }
    end();
}

/* Faults by kind and level; FAR and ESR. */
static void test_faults(void) {
    static const u64 vaddrs[] = {0, UINT64_C(0x8000000000), UINT64_C(0x0000800000000000), UINT64_C(0xffff000000000000),
                                 UINT64_C(0x0001000000000000)};
    begin(12, 48);
    for (u32 i = 0; i < sizeof vaddrs / sizeof vaddrs[0]; i++) {
        const outcome o = at_el1(LDR, vaddrs[i]);
        CHECK(o.far, vaddrs[i]);
        show("unmapped", o.esr);
    }
    for (u32 level = 0; level < 4; level++) {
        for (u32 kind = 0; kind < 6; kind++) {
            static const u64 kinds[] = {0, BLOCK, BLOCK | AF, PAGE | AF, PAGE, BLOCK | UINT64_C(0x800000000000) | AF};
            const u64 vaddr = FAR_AWAY + (UINT64_C(1) << (39 - 9 * level)) + 0x18;
            map(vaddr, level, (level == 0 || kinds[kind] & 2 ? DATA : 0) | kinds[kind] | ISH | ATTR1);
            if ((kinds[kind] & 3) == 3 && level < 3)
                continue; /* a table whose entries are data */
            const outcome o = at_el1(kind & 1 ? STR : LDR, vaddr);
            if (level == 0) { /* D5.3.1: no blocks there; QEMU has them */
                CHECK_BUT_QEMU(o.esr & ~UINT64_C(0x40), 0x96000004);
                map(vaddr, level, 0);
                continue;
            }
            print("level ");
            print_number(level);
            print(" kind ");
            print_number(kind);
            show("", o.esr);
            if (o.esr != 0xf2000777)
                CHECK(o.far, vaddr);
            map(vaddr, level, 0);
        }
    }
    /* a table outside RAM is an external abort on the walk; one beyond 40 bits an address size fault */
    map(FAR_AWAY, 1, UINT64_C(0x20000000000) | TABLE);
    show("table beyond", at_el1(LDR, FAR_AWAY).esr);
    map(FAR_AWAY, 1, 0);
    msr(ttbr1_el1, UINT64_C(0x400000000000));
    msr(tcr_el1, (mrs(tcr_el1) & ~(UINT64_C(1) << 23)) | 16 << 16 | UINT64_C(2) << 30);
    tlbi_all();
    show("root beyond", at_el1(LDR, UINT64_C(0xffff000000000000)).esr);
    end();
}

static void test_sizes(void) {
    static const struct {
        u32 granule, bits;
    } spaces[] = {{12, 48}, {12, 39}, {12, 42}, {12, 36}, {12, 33}, {16, 48}, {16, 42}, {16, 36}, {16, 39}};
    for (u32 i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        const u32 granule = spaces[i].granule, bits = spaces[i].bits;
        begin(granule, bits);
        const u64 top = (UINT64_C(1) << bits) - 0x20000000;
        check_context = granule << 8 | bits;
        ((volatile u64 *)DATA)[1] = 0x1234567890abcdef;
        map(top, 3, DATA | AF | ISH | PAGE | ATTR1);
        outcome o = at_el1(LDR, top + 8);
        CHECK(o.esr, 0xf2000777);
        CHECK(o.x[1], 0x1234567890abcdef);
        map(top, 3, 0);
        o = at_el1(LDR, top + 8);
        CHECK(o.esr, 0x96000007);
        next_table += 0x100000;
        *entry_of(root, top - UINT64_C(0x40000000), granule, bits, 2) =
            (granule == 12 ? DATA : RAM_BASE & ~UINT64_C(0x1fffffff)) | AF | ISH | BLOCK | ATTR1;
        dsb();
        tlbi_all();
        o = at_el1(LDR, top - UINT64_C(0x40000000) + (granule == 12 ? 8 : DATA - RAM_BASE + 8));
        CHECK(o.esr, 0xf2000777);
        CHECK(o.x[1], 0x1234567890abcdef);
        o = at_el1(LDR, UINT64_C(1) << bits);
        show("beyond the space", o.esr);
        end();
    }
}

/* TTBR1, and tags in the top byte. */
static void test_upper_and_tags(void) {
    begin(12, 39);
    u64 *upper = new_table(4096);
    const u64 vaddr = UINT64_C(0xffffff8000000000), tcr = mrs(tcr_el1);
    msr(ttbr1_el1, (u64)upper);
    msr(tcr_el1, (tcr & ~(UINT64_C(1) << 23)) | UINT64_C(25) << 16 | UINT64_C(2) << 30 | 3 << 28 | 1 << 26 | 1 << 24);
    *entry_of(upper, 0, 12, 39, 3) = DATA | AF | ISH | PAGE | ATTR1;
    map(0x10000, 3, (DATA + 0x1000) | AF | ISH | PAGE | ATTR1);
    ((volatile u64 *)DATA)[0] = 0xaa55;
    ((volatile u64 *)DATA)[512] = 0x55aa;
    CHECK(at_el1(LDR, vaddr).x[1], 0xaa55);
    CHECK(at_el1(LDR, 0x10000).x[1], 0x55aa);
    CHECK(at_el1(LDR, UINT64_C(0x5600000000010000)).esr, 0x96000004);
    CHECK(at_el1(LDR, vaddr - 8).esr, 0x96000004);
    msr(tcr_el1, mrs(tcr_el1) | UINT64_C(3) << 37);
    tlbi_all();
    CHECK(at_el1(LDR, UINT64_C(0x5600000000010000)).x[1], 0x55aa);
    CHECK(at_el1(LDR, UINT64_C(0x12ffff8000000000)).x[1], 0xaa55);
    outcome o = at_el1(LDR, UINT64_C(0x5600000000020000));
    CHECK(o.esr, 0x96000007);
    CHECK(o.far, UINT64_C(0x5600000000020000)); /* the tag stays */
    o = at_el1(STR, UINT64_C(0x5600000000010000));
    CHECK(o.esr, 0xf2000777);
    CHECK(((volatile u64 *)DATA)[512], 0x1122);
    map(0x10000, 3, 0); /* the tagged access has left nothing behind */
    CHECK(at_el1(LDR, UINT64_C(0x5600000000010000)).esr, 0x96000007);
    end();
}

static void test_at(void) {
    begin(12, 48);
    map(FAR_AWAY, 3, DATA | AF | ISH | PAGE | ATTR1 | RO);
    map(FAR_AWAY + 0x1000, 3, (DATA + 0x1000) | AF | 2 << 8 | PAGE | USER);
    map(FAR_AWAY + 0x2000, 3, DATA | ISH | PAGE | ATTR1);
    static const u32 ops[] = {0xd5087800, 0xd5087820, 0xd5087840, 0xd5087860}; /* S1E1R, S1E1W, S1E0R, S1E0W: x0 */
    for (u64 page = 0; page < 4; page++) {
        for (u32 i = 0; i < 4; i++) {
            msr(par_el1, 0);
            (void)at_el1(ops[i], FAR_AWAY + page * 0x1000 + 0x123);
            const u64 par = mrs(par_el1);
            print("at ");
            print_number(page);
            print(" ");
            print_number(i);
            show("", par & ~UINT64_C(0xe00)); /* RES1, NS and what is implementation defined */
        }
    }
    (void)at_el1(ops[0], FAR_AWAY + 0x123);
    CHECK(mrs(par_el1) & UINT64_C(0xfffffffff001), DATA);
    (void)at_el1(ops[1], FAR_AWAY);
    CHECK(mrs(par_el1) & 0x7f, 1 | 0x0f << 1);
    (void)at_el1(ops[0], FAR_AWAY + 0x3000);
    CHECK(mrs(par_el1) & 0x7f, 1 | 7 << 1);
    end();
}

/* Entries stay until TLBI, and go with it, by address, by space and all. */
static void test_tlbi(void) {
    static const struct {
        u32 insn;
        u64 operand;
    } ops[] = {{0xd508871f, 0}, {0xd5088720, 1}, {0xd5088740, 0}, {0xd5088760, 1}, {0xd50887a0, 1}, {0xd50887e0, 1},
               {0xd508831f, 0}, {0xd5088320, 1}, {0xd5088340, 0}, {0xd5088360, 1}, {0xd50883a0, 1}, {0xd50883e0, 1}};
    begin(12, 48);
    for (u32 i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        u64 *entry = entry_of(root, FAR_AWAY, 12, 48, 3);
        ((volatile u64 *)DATA)[0] = 1;
        ((volatile u64 *)DATA)[512] = 2;
        *entry = DATA | AF | ISH | PAGE | ATTR1 | NG;
        dsb();
        tlbi_all();
        check_context = i;
        CHECK(at_el1(LDR, FAR_AWAY).x[1], 1);
        *entry = (DATA + 0x1000) | AF | ISH | PAGE | ATTR1 | NG;
        dsb();
        (void)at_el1(ops[i].insn, ops[i].operand != 0 ? FAR_AWAY >> 12 : 0);
        CHECK(at_el1(LDR, FAR_AWAY).x[1], 2);
    }
    end();
}

/* Cache maintenance and DC ZVA: permissions, and syndromes. */
static void test_maintenance(void) {
    begin(12, 48);
    *entry_of(root, USER_CODE, 12, 48, 3) = USER_CODE | AF | ISH | PAGE | ATTR1 | USER | RO;
    msr(sctlr_el1, SCTLR | M | 1 << 14 | 1 << 26);
    map(FAR_AWAY, 3, DATA | AF | ISH | PAGE | ATTR1 | USER);
    map(FAR_AWAY + 0x1000, 3, DATA | AF | ISH | PAGE | ATTR1 | RO);
    for (u32 i = 0; i < 8; i++)
        ((volatile u64 *)DATA)[i] = ((volatile u64 *)DATA)[i + 8] = ~UINT64_C(0);
    CHECK(at_el0(0xd50b7420, FAR_AWAY + 0x2a).esr, 0xf2000777); /* dc zva, x0 */
    for (u32 i = 0; i < 8; i++)
        CHECK(((volatile u64 *)DATA)[i], 0);
    CHECK(((volatile u64 *)DATA)[8], ~UINT64_C(0));
    outcome o = at_el1(0xd50b7420, FAR_AWAY + 0x1008);
    CHECK(o.esr, 0x9600004f);
    o = at_el0(0xd50b7420, FAR_AWAY + 0x2008);
    CHECK(o.esr, 0x92000047);
    CHECK(o.far, FAR_AWAY + 0x2008);
    static const u32 ops[] = {0xd50b7a20, 0xd50b7b20, 0xd50b7e20, 0xd50b7520}; /* dc cvac, cvau, civac; ic ivau */
    for (u32 i = 0; i < 4; i++) {
        check_context = i;
        CHECK(at_el0(ops[i], FAR_AWAY).esr, 0xf2000777);
        CHECK_BUT_QEMU(at_el0(ops[i], FAR_AWAY + 0x2000).esr, 0x92000147); /* D7.4.9: QEMU has no caches */
        CHECK_BUT_QEMU(at_el1(ops[i], FAR_AWAY + 0x2000).esr, 0x96000147);
        CHECK(at_el1(ops[i], FAR_AWAY + 0x1000).esr, 0xf2000777);
    }
    check_context = 0;
    CHECK(at_el1(0xd5087620, FAR_AWAY).esr, 0xf2000777); /* dc ivac needs the right to write, C5.3 */
    CHECK_BUT_QEMU(at_el1(0xd5087620, FAR_AWAY + 0x1000).esr, 0x9600014f);
    CHECK_BUT_QEMU(at_el1(0xd5087620, FAR_AWAY + 0x2000).esr, 0x96000147);
    end();
}

int main(void) {
    test_permissions();
    test_hierarchical();
    test_faults();
    test_sizes();
    test_upper_and_tags();
    test_at();
    test_tlbi();
    test_maintenance();
    return 0;
}
