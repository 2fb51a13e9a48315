/* SPDX-License-Identifier: MIT
 * Caches and TLBs of the core as software at EL3 reads them by CDBGDR0 to CDBGDR3: lines that the
 * program filled, and translations of two address spaces. QEMU has none of it. */
#include "a64.h"

#define TABLES (RAM_BASE + 0x400000)
#define LINES (RAM_BASE + 0x600000)
#define PAGES (RAM_BASE + 0x700000)
#define FAR_AWAY UINT64_C(0x0000007654321000)
enum { TABLE = 3, PAGE = 3, AF = 1 << 10, ISH = 3 << 8, NG = 1 << 11, RO = 1 << 7 };
static const u64 UXN = UINT64_C(1) << 54;
enum { M = 1, SCTLR = 0x30d00980, LDR = 0xf9400001, MRS_CDBGDR0 = 0xd53bf000, MSR_CDBGDCT = 0xd51bf200 };
extern char _data[];

typedef struct answer {
    u64 word[4];
} answer;
#define READ_RAM(operation, place)                                                                  \
    ({                                                                                              \
        msr(operation, place);                                                                      \
        (answer){{mrs(s3_3_c15_c0_0), mrs(s3_3_c15_c0_1), mrs(s3_3_c15_c0_2), mrs(s3_3_c15_c0_3)}}; \
    })
static answer l1d_tag(u32 way, u64 at) { return READ_RAM(s3_3_c15_c2_0, (u64)way << 30 | (at & 0x1fc0)); }
static answer l1d_data(u32 way, u64 at) { return READ_RAM(s3_3_c15_c4_0, (u64)way << 30 | (at & 0x1ff8)); }
static answer l1i_tag(u32 way, u64 at) { return READ_RAM(s3_3_c15_c2_1, (u64)way << 31 | (at & 0x3fc0)); }
static answer l1i_data(u32 way, u64 at) { return READ_RAM(s3_3_c15_c4_1, (u64)way << 31 | (at & 0x3ffc)); }
static answer tlb(u32 way, u32 index) { return READ_RAM(s3_3_c15_c4_2, (u64)way << 30 | index); }

#define MAINTAIN(operation, operand) asm volatile(operation ", %0\n\tdsb sy" ::"r"((u64)(operand)) : "memory")

static u64 address_of(const answer *tag, u64 at) { /* of a line of the L1D */
    return ((tag->word[1] & 0xfffffff) << 12 & ~UINT64_C(0x1fff)) | (at & 0x1fc0);
}

/* The way of the L1D that holds the line; 4: none. */
static u32 way_of(u64 at) {
    for (u32 way = 0; way < 4; way++) {
        const answer tag = l1d_tag(way, at);
        if ((tag.word[1] >> 29 & 3) != 0 && address_of(&tag, at) == (at & ~UINT64_C(63)))
            return way;
    }
    return 4;
}

static void test_data_cache(void) {
    volatile u64 *line = (volatile u64 *)LINES;
    for (u32 i = 0; i < 8; i++)
        line[i] = 0x1122334400000000 + i;
    const u32 way = way_of(LINES);
    CHECK(way < 4, 1);
    const answer tag = l1d_tag(way, LINES);
    CHECK(tag.word[1] >> 29 & 3, 2); /* unique, */
    CHECK(tag.word[0] & 3, 1);       /* dirty */
    for (u32 i = 0; i < 8; i++) {
        const answer data = l1d_data(way, LINES + 8 * i);
        CHECK(data.word[0] | data.word[1] << 32, 0x1122334400000000 + i);
    }
    /* DC CSW cleans the line and keeps it. DC CISW of level 2 and of another set keeps it, too. */
    const u64 place = (u64)way << 30 | (LINES & 0x1fc0);
    MAINTAIN("dc csw", place);
    CHECK(l1d_tag(way, LINES).word[0] & 3, 0);       /* not dirty any more, */
    CHECK(l1d_tag(way, LINES).word[1] >> 29 & 3, 2); /* and still unique */
    MAINTAIN("dc cisw", place | 1 << 1);
    MAINTAIN("dc cisw", place ^ 1 << 6);
    CHECK(way_of(LINES), way);
    MAINTAIN("dc cisw", place);
    CHECK(way_of(LINES), 4);
    CHECK(line[3], 0x1122334400000003); /* and the bytes are still there */
    MAINTAIN("dc isw", (u64)way_of(LINES) << 30 | (LINES & 0x1fc0));
    CHECK(way_of(LINES), 4);
    CHECK(line[3], 0x1122334400000003);
    /* By address: clean to the second level and to memory, then out. A neighbor stays. */
    line[8] = 1;
    line[0] = 0x1122334400000000;
    CHECK(l1d_tag(way_of(LINES), LINES).word[0] & 3, 1);
    MAINTAIN("dc cvau", LINES + 5);
    CHECK(l1d_tag(way_of(LINES), LINES).word[0] & 3, 0);
    line[0] = 0x1122334400000000;
    CHECK(l1d_tag(way_of(LINES), LINES).word[0] & 3, 1);
    MAINTAIN("dc cvac", LINES + 63);
    CHECK(l1d_tag(way_of(LINES), LINES).word[0] & 3, 0);
    MAINTAIN("dc civac", LINES);
    CHECK(way_of(LINES), 4);
    CHECK(line[7], 0x1122334400000007);
    MAINTAIN("dc ivac", LINES);
    CHECK(way_of(LINES), 4);
    CHECK(way_of(LINES + 64) < 4, 1);
    CHECK(line[7], 0x1122334400000007);

    /* Five lines of one set: one of them is away, and its data comes back. */
    for (u64 i = 1; i < 5; i++)
        *(volatile u64 *)(LINES + i * 0x2000) = i;
    u32 n_here = 0;
    for (u64 i = 0; i < 5; i++)
        n_here += way_of(LINES + i * 0x2000) < 4;
    CHECK(n_here, 4);
    CHECK(line[7], 0x1122334400000007);
}

static bool l1i_has(u64 at) {
    for (u32 way = 0; way < 2; way++) {
        const answer tag = l1i_tag(way, at);
        if (tag.word[0] >> 29 == 2 && (tag.word[0] & 0xfffffff) == at >> 12)
            return true;
    }
    return false;
}

static void test_instruction_cache(void) {
    const u32 insn = 0xd2824680; /* mov x0, #0x1234 */
    const u32 *code = code_of(insn);
    (void)run(EL3H, code, 0, 0);
    u32 n_found = 0;
    for (u32 way = 0; way < 2; way++) {
        const answer tag = l1i_tag(way, (u64)code);
        if (tag.word[0] >> 29 != 2 || (tag.word[0] & 0xfffffff) != (u64)code >> 12)
            continue;
        n_found += 1;
        const answer data = l1i_data(way, (u64)code);
        CHECK(data.word[0], 0x4680 | 0xa << 16); /* nibbles 4 and 8 are odd, 6 and 0 even */
        CHECK(data.word[1], 0xd282 | 0xf << 16); /* nibbles d, 2, 8, 2 are odd */
    }
    CHECK(n_found, 1);
    /* IC IVAU drops the line and no other. */
    const u64 here = (u64)test_instruction_cache & ~UINT64_C(63);
    CHECK(l1i_has(here), 1);
    MAINTAIN("ic ivau", (u64)code);
    CHECK(l1i_has((u64)code), 0);
    CHECK(l1i_has(here), 1);
}

static u64 *new_table(u64 *next) {
    u64 *table = (u64 *)*next;
    *next += 4096;
    for (u32 i = 0; i < 512; i++)
        table[i] = 0;
    return table;
}

/* A space with the program, and a page of its own at FAR_AWAY. */
static u64 *make_space(u64 *next, u64 page) {
    u64 *root = new_table(next);
    for (u32 i = 0; i < 2; i++) {
        const u64 vaddr = i == 0 ? RAM_BASE : FAR_AWAY;
        u64 *table = root;
        for (u32 lsb = 39; lsb > 12; lsb -= 9) {
            u64 *entry = &table[vaddr >> lsb & 511];
            if (*entry == 0)
                *entry = (u64)new_table(next) | TABLE;
            table = (u64 *)(*entry & UINT64_C(0xfffffffff000));
        }
        for (u64 at = RAM_BASE; i == 0 && at < RAM_BASE + 0x200000; at += 0x1000)
            table[at >> 12 & 511] = at | AF | ISH | PAGE | UXN | (at < (u64)_data || at == (u64)scratch ? RO : 0);
        if (i == 1)
            table[vaddr >> 12 & 511] = page | AF | ISH | PAGE | NG;
    }
    return root;
}

static u64 load_at_el1(void) {
    const outcome o = run(EL1H, code_of(LDR), FAR_AWAY, 0);
    CHECK(o.esr, 0xf2000777);
    return o.x[1];
}

/* How many entries of the main TLB translate FAR_AWAY to this page for this ASID. */
static u32 n_entries(u64 asid, u64 page) {
    u32 n_found = 0;
    for (u32 way = 0; way < 4; way++) {
        const answer e = tlb(way, FAR_AWAY >> 12 & 127);
        const bool is_it = (e.word[0] & 1) && (e.word[0] >> 2 & 0x1fffffff) == FAR_AWAY >> 19 && (e.word[1] >> 8 & 0xffff) == asid;
        if (!is_it)
            continue;
        n_found += 1;
        CHECK((e.word[2] >> 2 & 0xfffffff) << 12, page); /* PA[39:12] in bits 93:66 */
        CHECK(e.word[1] >> 24 & 7, 1);                   /* 4 KiB */
        CHECK(e.word[1] >> 27 & 1, 1);                   /* not global */
    }
    return n_found;
}

/* The table of the last level for FAR_AWAY, as the walk cache holds it for this ASID; 0: it does not. */
static u64 walk_table(u64 asid) {
    for (u32 way = 0; way < 4; way++) {
        const answer e = tlb(way, 128 + (FAR_AWAY >> 21 & 15));
        const u64 high = e.word[1] >> 28 | (e.word[2] & 0xfffff) << 4;
        if ((e.word[0] & 1) && (e.word[1] >> 8 & 0xffff) == asid && high == FAR_AWAY >> 25)
            return (e.word[2] >> 20 | (e.word[3] & 0x3ffff) << 12) << 10;
    }
    return 0;
}

#define tlbi(name, operand) __asm__ volatile("dsb sy\n tlbi " name ", %0\n dsb sy\n isb" ::"r"((u64)(operand)) : "memory")
static void test_address_spaces(void) {
    u64 next = TABLES;
    u64 *one = make_space(&next, PAGES), *two = make_space(&next, PAGES + 0x1000);
    *(volatile u64 *)PAGES = 111;
    *(volatile u64 *)(PAGES + 0x1000) = 222;
    msr(mair_el1, 0xff);
    msr(tcr_el1, 16 | 1 << 23 | UINT64_C(2) << 32 | UINT64_C(1) << 36 | 3 << 12 | 1 << 10 | 1 << 8);
    msr(ttbr0_el1, (u64)one | UINT64_C(0x1001) << 48);
    tlbi_all();
    msr(sctlr_el1, SCTLR | M);
    CHECK(load_at_el1(), 111);
    msr(ttbr0_el1, (u64)two | UINT64_C(2) << 48);
    CHECK(load_at_el1(), 222);
    /* The first space is still there: its table has changed, and the TLB has not. */
    u64 *table = (u64 *)walk_table(0x1001);
    CHECK(table != 0, 1);
    const u64 entry = table[FAR_AWAY >> 12 & 511];
    CHECK(entry & ~UINT64_C(0xfff), PAGES);
    table[FAR_AWAY >> 12 & 511] = 0;
    dsb();
    msr(ttbr0_el1, (u64)one | UINT64_C(0x1001) << 48);
    CHECK(load_at_el1(), 111);
    CHECK(n_entries(0x1001, PAGES), 1);
    CHECK(n_entries(2, PAGES + 0x1000), 1);
    tlbi("aside1", UINT64_C(0x1001) << 48);
    CHECK(n_entries(0x1001, PAGES), 0);
    CHECK(n_entries(2, PAGES + 0x1000), 1);
    CHECK(run(EL1H, code_of(LDR), FAR_AWAY, 0).esr, 0x96000007); /* now it is seen */
    tlbi("vale1", FAR_AWAY >> 12 | UINT64_C(2) << 48);
    CHECK(n_entries(2, PAGES + 0x1000), 0);
    CHECK(walk_table(2) != 0, 1); /* the last level alone */
    tlbi("vae1", FAR_AWAY >> 12 | UINT64_C(2) << 48);
    CHECK(walk_table(2), 0);
    msr(sctlr_el1, SCTLR);
    tlbi_all();
}

static void test_lower_levels(void) {
    CHECK(run(EL1H, code_of(MRS_CDBGDR0), 0, 0).esr, 0x02000000);
    CHECK(run(EL1H, code_of(MSR_CDBGDCT), 0, 0).esr, 0x02000000);
    CHECK(run(EL0T, code_of(MRS_CDBGDR0), 0, 0).esr, 0x02000000);
}

int main(void) {
    test_data_cache();
    test_instruction_cache();
    test_address_spaces();
    test_lower_levels();
    return 0;
}
