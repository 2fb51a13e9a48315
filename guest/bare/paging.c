/* SPDX-License-Identifier: MIT
 * Address translation, Sv39 or Sv48 (LEVELS=4): every combination of a leaf's eight flags, for both modes, every kind of access, SUM and
 * MXR, against the rules of the manual; superpages; reserved bits; addresses that are not canonical; MPRV; SFENCE.VMA; accesses that cross
 * pages. Accessed and dirty bits are set by the walker (QEMU 7.2 and our machine do). */
#include "bare.h"

#ifndef LEVELS
#define LEVELS 3
#endif
enum { MODE = LEVELS == 3 ? SATP_SV39 : SATP_SV48, VA_BITS = 12 + 9 * LEVELS };
static u64 *root;
static u64 (*target_page)[512]; /* at 2 MiB + , so that superpages can show it */
static u64 (*other_page)[512];
static const u64 TARGET = UINT64_C(0x123456000);         /* a 4 KiB page of its own gigapage */
static const u64 RETURNS = UINT64_C(0x8082808280828082); /* c.jr ra, four times */

/* mapped in a table of LEVELS levels as standard_map does in three */
static u64 *standard_root(void) {
    u64 *lower = standard_map();
    if (LEVELS == 3)
        return lower;
    u64 *top = page_new();
    top[0] = pte((u64)lower, PTE_V);
    return top;
}

typedef enum access { LOAD, STORE, FETCH, AMO, LOAD_RESERVED, N_ACCESSES } access;
SNIPPET(loads, "ld a0, 0(a0)");
SNIPPET(stores, "sd a1, 0(a0)");
SNIPPET(jumps, "jr a0"); /* there it returns */
SNIPPET(adds, "amoor.d a0, zero, (a0)");
SNIPPET(reserves, "lr.d a0, (a0)");
static void (*const code_of[])(void) = {loads, stores, jumps, adds, reserves};
static const u64 page_cause[] = {CAUSE_LOAD_PAGE, CAUSE_STORE_PAGE, CAUSE_FETCH_PAGE, CAUSE_STORE_PAGE, CAUSE_LOAD_PAGE};
static const u64 access_cause[] = {CAUSE_LOAD_ACCESS, CAUSE_STORE_ACCESS, CAUSE_FETCH_ACCESS, CAUSE_STORE_ACCESS, CAUSE_LOAD_ACCESS};

static bool is_permitted(u64 flags, access kind, u64 mode, bool sum, bool mxr) {
    bool r = flags & PTE_R, w = flags & PTE_W, x = flags & PTE_X, u = flags & PTE_U;
    if (!(flags & PTE_V) || (w && !r) || !(r || w || x))
        return false;
    if (u ? mode == MODE_S && (kind == FETCH || !sum) : mode == MODE_U)
        return false;
    switch (kind) {
    case FETCH: return x;
    case STORE: return w;
    case AMO: return w;
    default: return r || (mxr && x);
    }
}

static outcome *access_in(u64 mode, access kind, u64 vaddr, bool sum, bool mxr) {
    csr_clear(mstatus, MSTATUS_SUM | MSTATUS_MXR);
    csr_set(mstatus, (sum ? MSTATUS_SUM : 0) | (mxr ? MSTATUS_MXR : 0));
    outcome *o = run(mode, code_of[kind], vaddr, RETURNS);
    csr_clear(mstatus, MSTATUS_SUM | MSTATUS_MXR);
    return o;
}
static void check_fault(const outcome *o, u64 cause, access kind, u64 mode, u64 vaddr) {
    CHECK(o->trapped, 1);
    CHECK(o->cause, cause);
    CHECK(o->tval, vaddr);
    CHECK(o->epc, kind == FETCH ? vaddr : (u64)code_of[kind] - (mode == MODE_U ? alias : 0));
    CHECK(o->mode, MODE_M);
    CHECK(o->status >> 11 & 3, mode);
}

/* One leaf at a level: all the accesses; `how` tells which flags vary. */
static void try_leaf(u64 vaddr, u64 paddr, u32 level, u64 flags) {
    u64 *leaf = pte_of(root, LEVELS, vaddr, level);
    for (u64 mode = MODE_U; mode <= MODE_S; mode++)
        for (access kind = LOAD; kind < N_ACCESSES; kind++)
            for (u32 i = 0; i < 4; i++) {
                bool sum = i & 1, mxr = i & 2;
                *leaf = pte(paddr, flags);
                sfence_page(vaddr);
                outcome *o = access_in(mode, kind, vaddr, sum, mxr);
                check_context = (u64)level << 32 | flags << 16 | mode << 12 | kind << 8 | i;
                if (is_permitted(flags, kind, mode, sum, mxr)) {
                    CHECK(o->trapped, 0);
                    if (kind == LOAD || kind == AMO || kind == LOAD_RESERVED)
                        CHECK(o->x[10], RETURNS);
                    CHECK(*leaf, pte(paddr, flags | PTE_A | (kind == STORE || kind == AMO ? PTE_D : 0)));
                } else {
                    check_fault(o, page_cause[kind], kind, mode, vaddr);
                    CHECK(*leaf, pte(paddr, flags));
                }
            }
    *leaf = 0;
    sfence();
}

static void test_every_leaf(void) {
    for (u64 flags = 0; flags < 256; flags++) {
        if (flags & PTE_V && !(flags & (PTE_R | PTE_W | PTE_X)))
            continue; /* a pointer, not a leaf */
        try_leaf(TARGET, (u64)target_page, 0, flags);
    }
    check_context = 0;
}

static void test_superpages(void) {
    static const u64 some_flags[] = {PTE_RWX,
                                     PTE_RWX | PTE_U,
                                     PTE_RW,
                                     PTE_V | PTE_R | PTE_A,
                                     PTE_V | PTE_X,
                                     PTE_V | PTE_W | PTE_A | PTE_D,
                                     PTE_V | PTE_R | PTE_W,
                                     PTE_V | PTE_R | PTE_X | PTE_U | PTE_G};
    for (u32 level = 1; level < LEVELS; level++) {
        u64 size = UINT64_C(4096) << 9 * level, base = (u64)target_page & ~(size - 1);
        u64 vaddr = (size * 5 + (level == 1 ? UINT64_C(4) << 30 : 0)) | ((u64)target_page & (size - 1)); /* free at every level */
        for (u32 i = 0; i < sizeof some_flags / sizeof *some_flags; i++)
            try_leaf(vaddr, base, level, some_flags[i]);
        /* misaligned: every bit of the page number that must be zero */
        u64 *leaf = pte_of(root, LEVELS, vaddr, level);
        for (u32 bit = 0; bit < 9 * level; bit++)
            for (access kind = LOAD; kind < N_ACCESSES; kind++) {
                *leaf = pte(base, PTE_RWX) | BIT(10 + bit);
                sfence();
                check_context = (u64)level << 32 | bit << 8 | kind;
                check_fault(access_in(MODE_S, kind, vaddr, false, false), page_cause[kind], kind, MODE_S, vaddr);
            }
        *leaf = 0;
        sfence();
    }
    check_context = 0;
}

static void test_reserved_encodings(void) {
    u64 *leaf = pte_of(root, LEVELS, TARGET, 0), *pointer = pte_of(root, LEVELS, TARGET, 1), good = *pointer;
    for (access kind = LOAD; kind < N_ACCESSES; kind++) {
        *pointer = good;
        for (u32 bit = 54; bit < 64; bit++) { /* reserved, PBMT, N: no extension has them here */
            *leaf = pte((u64)target_page, PTE_RWX) | BIT(bit);
            sfence();
            check_context = bit << 8 | kind;
            check_fault(access_in(MODE_S, kind, TARGET, false, false), page_cause[kind], kind, MODE_S, TARGET);
        }
        *leaf = pte((u64)target_page, PTE_V); /* a pointer at the last level */
        sfence();
        check_fault(access_in(MODE_S, kind, TARGET, false, false), page_cause[kind], kind, MODE_S, TARGET);
        *leaf = pte((u64)target_page, PTE_RWX);
        for (u64 flag = PTE_U; flag <= PTE_D; flag <<= 1) { /* of pointers: U, A and D are reserved, G is not */
            *pointer = good | flag;
            sfence();
            check_context = flag << 8 | kind;
            outcome *o = access_in(MODE_S, kind, TARGET, false, false);
            if (flag == PTE_G)
                CHECK(o->trapped, 0);
            else
                check_fault(o, page_cause[kind], kind, MODE_S, TARGET);
        }
        *pointer = good & ~(u64)PTE_V;
        sfence();
        check_fault(access_in(MODE_S, kind, TARGET, false, false), page_cause[kind], kind, MODE_S, TARGET);
        /* tables, and pages, where there is no memory: access faults */
        u64 cause = access_cause[kind];
        if (is_qemu && kind == AMO)
            cause = CAUSE_LOAD_ACCESS; /* as in traps.c */
        *pointer = pte(UINT64_C(0x007ffffffff000), PTE_V);
        sfence();
        outcome *o = access_in(MODE_S, kind, TARGET, false, false);
        CHECK_BUT_QEMU("QEMU takes a table that does not answer for an invalid entry", o->cause, access_cause[kind]);
        CHECK(o->tval, TARGET);
        *pointer = good;
        *leaf = pte(UINT64_C(0x007ffffffff000), PTE_RWX);
        sfence();
        o = access_in(MODE_S, kind, TARGET, false, false);
        CHECK(o->cause, cause);
        CHECK(o->tval, TARGET);
        CHECK(o->epc, kind == FETCH ? TARGET : (u64)code_of[kind]);
    }
    *pointer = good;
    *leaf = 0;
    sfence();
    check_context = 0;
}

static void test_addresses_must_be_canonical(void) {
    map(root, LEVELS, UINT64_MAX << (VA_BITS - 1) | TARGET, (u64)target_page, 0, PTE_RWX); /* the upper half */
    sfence();
    for (access kind = LOAD; kind < N_ACCESSES; kind++) {
        check_context = kind;
        CHECK(access_in(MODE_S, kind, UINT64_MAX << (VA_BITS - 1) | TARGET, false, false)->trapped, 0);
        map(root, LEVELS, TARGET, (u64)target_page, 0, PTE_RWX);
        for (u32 bit = VA_BITS; bit < 64; bit++) {
            check_context = bit << 8 | kind;
            u64 wrong = BIT(bit) | TARGET;
            check_fault(access_in(MODE_S, kind, wrong, false, false), page_cause[kind], kind, MODE_S, wrong);
            wrong = (UINT64_MAX << (VA_BITS - 1) | TARGET) ^ BIT(bit);
            check_fault(access_in(MODE_S, kind, wrong, false, false), page_cause[kind], kind, MODE_S, wrong);
        }
        u64 wrong = BIT(VA_BITS - 1) | TARGET;
        check_fault(access_in(MODE_U, kind, wrong, false, false), page_cause[kind], kind, MODE_U, wrong);
    }
    *pte_of(root, LEVELS, TARGET, 0) = 0;
    *pte_of(root, LEVELS, UINT64_MAX << (VA_BITS - 1) | TARGET, 0) = 0;
    sfence();
    check_context = 0;
}

/* In M with MPRV, loads and stores are made as MPP would; fetches are not. */
SNIPPET(loads_as, "csrs mstatus, a1\n .globl loads_as_at\n loads_as_at: ld a0, 0(a0)\n csrc mstatus, a1");
SNIPPET(stores_as, "csrs mstatus, a1\n .globl stores_as_at\n stores_as_at: sd zero, 16(a0)\n csrc mstatus, a1");
extern char loads_as_at[], stores_as_at[];
static void test_mprv(void) {
    u64 *leaf = pte_of(root, LEVELS, TARGET, 0);
    static const u64 flag_sets[] = {PTE_RWX, PTE_RWX | PTE_U, PTE_V | PTE_X | PTE_A, PTE_V | PTE_X | PTE_A | PTE_U, PTE_V | PTE_R | PTE_A,
                                    0};
    for (u32 f = 0; f < 6; f++)
        for (u64 mpp = MODE_U; mpp <= MODE_S; mpp++)
            for (u32 i = 0; i < 4; i++)
                for (u32 kind = LOAD; kind <= STORE; kind++) {
                    *leaf = pte((u64)target_page, flag_sets[f]);
                    sfence();
                    bool sum = i & 1, mxr = i & 2;
                    csr_clear(mstatus, MSTATUS_SUM | MSTATUS_MXR | MSTATUS_MPRV);
                    csr_set(mstatus, (sum ? MSTATUS_SUM : 0) | (mxr ? MSTATUS_MXR : 0));
                    outcome *o = run(MODE_M, kind == LOAD ? loads_as : stores_as, TARGET, MSTATUS_MPRV | mpp << 11);
                    csr_clear(mstatus, MSTATUS_MPRV | MSTATUS_SUM | MSTATUS_MXR);
                    check_context = (u64)f << 32 | mpp << 16 | i << 8 | kind;
                    bool is_ok = is_permitted(flag_sets[f], kind, mpp, sum, mxr);
                    CHECK(o->trapped, !is_ok);
                    if (is_ok && kind == LOAD)
                        CHECK(o->x[10], RETURNS);
                    if (!is_ok) {
                        CHECK(o->cause, page_cause[kind]);
                        CHECK(o->epc, (u64)(kind == LOAD ? loads_as_at : stores_as_at));
                        CHECK(o->tval, TARGET + (kind == LOAD ? 0 : 16));
                        CHECK(o->status >> 11 & 3, MODE_M);
                    }
                }
    check_context = 0;
    /* MPP = M: no translation, so nothing answers at that address but RAM does at its own */
    outcome *o = run(MODE_M, loads_as, (u64)target_page, MSTATUS_MPRV | (u64)MODE_M << 11);
    csr_clear(mstatus, MSTATUS_MPRV);
    CHECK(o->trapped, 0);
    CHECK(o->x[10], RETURNS);
    (*target_page)[2] = RETURNS;
    *leaf = 0;
    sfence();
}

static u64 load_s(u64 vaddr) {
    outcome *o = access_in(MODE_S, LOAD, vaddr, false, false);
    return o->trapped ? BIT(63) | o->cause : o->x[10];
}

/* SFENCE.VMA shows page-table changes: all, by address, by ASID, by both; from M and from S. */
SNIPPET(fences_all, "sfence.vma");
SNIPPET(fences_page, "sfence.vma a0");
SNIPPET(fences_space, "sfence.vma zero, a1");
SNIPPET(fences_both, "sfence.vma a0, a1");
static void test_sfence(void) {
    static void (*const fences[])(void) = {fences_all, fences_page, fences_space, fences_both};
    static const u64 modes[] = {MODE_S, MODE_M};
    u64 *leaf = pte_of(root, LEVELS, TARGET, 0);
    for (u32 i = 0; i < 16; i++) {
        u64 *page = i & 1 ? *other_page : *target_page;
        *leaf = pte((u64)page, PTE_RW);
        CHECK(run(modes[i >> 1 & 1], fences[i >> 2], TARGET, 0)->trapped, 0);
        check_context = i;
        CHECK(load_s(TARGET), page[0]);
        outcome *o = access_in(MODE_S, FETCH, TARGET, false, false);
        CHECK(o->cause, CAUSE_FETCH_PAGE);
        *leaf = pte((u64)page, PTE_V | PTE_R | PTE_A); /* dirty and writable go */
        run(modes[i >> 1 & 1], fences[i >> 2], TARGET, 0);
        o = access_in(MODE_S, STORE, TARGET, false, false);
        CHECK(o->cause, CAUSE_STORE_PAGE);
        *leaf = 0;
        run(modes[i >> 1 & 1], fences[i >> 2], TARGET, 0);
        CHECK(load_s(TARGET), BIT(63) | CAUSE_LOAD_PAGE);
    }
    /* an upper level changes */
    *leaf = pte((u64)target_page, PTE_RW);
    u64 *pointer = pte_of(root, LEVELS, TARGET, 1), old = *pointer;
    sfence();
    CHECK(load_s(TARGET), RETURNS);
    u64 *table = page_new();
    table[TARGET >> 12 & 511] = pte((u64)other_page, PTE_RW);
    *pointer = pte((u64)table, PTE_V);
    sfence();
    CHECK(load_s(TARGET), 0x1111);
    *pointer = old;
    /* another root, and back */
    u64 *second = standard_root();
    map(second, LEVELS, TARGET, (u64)other_page, 0, PTE_RW);
    csr_write(satp, satp_of(second, MODE));
    sfence();
    CHECK(load_s(TARGET), 0x1111);
    csr_write(satp, satp_of(root, MODE));
    sfence();
    CHECK(load_s(TARGET), RETURNS);
    /* bare: addresses are physical */
    csr_write(satp, 0);
    alias = 0;
    sfence();
    CHECK(load_s((u64)target_page), RETURNS);
    csr_write(satp, satp_of(root, MODE));
    alias = USER_ALIAS;
    sfence();
    *leaf = 0;
    sfence();
    check_context = 0;
}

/* Across the border of two pages: the fault is that of the first byte that may not be touched. */
SNIPPET(loads_across, "ld a0, -4(a0)");
SNIPPET(stores_across, "sd zero, -4(a0)");
static void test_crossing_pages(void) {
    u64 second = TARGET + 4096;
    u64 *first_leaf = pte_of(root, LEVELS, TARGET, 0), *second_leaf = pte_of(root, LEVELS, second, 0);
    u32 *first_end = (u32 *)*target_page + 1023, *second_start = (u32 *)*other_page, end_was = *first_end, start_was = *second_start;
    *first_end = 0x89abcdef;
    *second_start = 0x01234567;
    for (u32 i = 0; i < 4; i++) {
        *first_leaf = i & 1 ? pte((u64)target_page, PTE_RW) : 0;
        *second_leaf = i & 2 ? pte((u64)other_page, PTE_RW) : 0;
        sfence();
        check_context = i;
        outcome *o = run(MODE_S, loads_across, second, 0);
        CHECK(o->trapped, i != 3);
        if (i == 3) {
            CHECK(o->x[10], 0x0123456789abcdef);
        } else {
            CHECK(o->cause, CAUSE_LOAD_PAGE);
            CHECK(o->tval, i & 1 ? second : second - 4);
            CHECK(o->epc, (u64)loads_across);
        }
        o = run(MODE_S, stores_across, second, 0);
        CHECK(o->trapped, i != 3);
        if (i != 3) {
            CHECK(o->cause, CAUSE_STORE_PAGE);
            CHECK(o->tval, i & 1 ? second : second - 4);
            CHECK(*first_end, 0x89abcdef); /* nothing of it happens */
            CHECK(*second_start, 0x01234567);
        } else {
            CHECK(*first_end, 0);
            CHECK(*second_start, 0);
        }
    }
    *first_end = end_was;
    *second_start = start_was;
    /* an instruction of four bytes, two in each page: li a0, 0x555 */
    uint16_t *last_half = (uint16_t *)*target_page + 2047, *first_half = (uint16_t *)*other_page, last_was = *last_half,
             first_was = *first_half, next_was = first_half[1];
    u32 insn = 0x55500513;
    *last_half = (uint16_t)insn;
    first_half[0] = (uint16_t)(insn >> 16);
    first_half[1] = 0x8082;
    fence_i();
    for (u32 i = 0; i < 4; i++) {
        *first_leaf = i & 1 ? pte((u64)target_page, PTE_RWX) : 0;
        *second_leaf = i & 2 ? pte((u64)other_page, PTE_RWX) : 0;
        sfence();
        check_context = i;
        outcome *o = run(MODE_S, jumps, second - 2, 0);
        CHECK(o->trapped, i != 3);
        if (i == 3) {
            CHECK(o->x[10], 0x555);
        } else {
            CHECK(o->cause, CAUSE_FETCH_PAGE);
            CHECK(o->epc, second - 2);
            CHECK(o->tval, i & 1 ? second : second - 2);
        }
    }
    *last_half = last_was;
    first_half[0] = first_was;
    first_half[1] = next_was;
    *first_leaf = *second_leaf = 0;
    fence_i();
    sfence();
    check_context = 0;
}

/* A leaf without D serves loads; the store that follows finds D clear and sets it. */
static void test_dirty_comes_with_the_first_store(void) {
    u64 *leaf = pte_of(root, LEVELS, TARGET, 0);
    *leaf = pte((u64)target_page, PTE_V | PTE_R | PTE_W);
    sfence();
    CHECK(load_s(TARGET), RETURNS);
    CHECK(*leaf, pte((u64)target_page, PTE_V | PTE_R | PTE_W | PTE_A));
    CHECK(access_in(MODE_S, STORE, TARGET, false, false)->trapped, 0);
    CHECK(*leaf, pte((u64)target_page, PTE_RW));
    *leaf = 0;
    sfence();
}

/* Faults delegated to S. */
static void test_delegated_page_faults(void) {
    csr_write(medeleg, BIT(CAUSE_LOAD_PAGE) | BIT(CAUSE_STORE_PAGE) | BIT(CAUSE_FETCH_PAGE));
    for (u64 mode = MODE_U; mode <= MODE_S; mode++)
        for (access kind = LOAD; kind < N_ACCESSES; kind++) {
            outcome *o = access_in(mode, kind, TARGET, false, false);
            check_context = mode << 8 | kind;
            CHECK(o->mode, MODE_S);
            CHECK(o->cause, page_cause[kind]);
            CHECK(o->tval, TARGET);
            CHECK(o->epc, kind == FETCH ? TARGET : (u64)code_of[kind] - (mode == MODE_U ? alias : 0));
            CHECK(o->status >> 8 & 1, mode);
            CHECK(csr_read(scause), page_cause[kind]);
        }
    csr_write(medeleg, 0);
    check_context = 0;
}

int main(void) {
    target_page = (void *)(RAM_BASE + 0x00a00000);
    other_page = (void *)(RAM_BASE + 0x00a05000);
    for (u32 i = 0; i < 512; i++) {
        (*target_page)[i] = RETURNS;
        (*other_page)[i] = 0x1111;
    }
    fence_i();
    root = standard_root();
    csr_write(stvec, (u64)s_trap);
    csr_write(satp, satp_of(root, MODE));
    CHECK(csr_read(satp), satp_of(root, MODE));
    sfence();
    alias = USER_ALIAS;
    test_every_leaf();
    test_superpages();
    test_reserved_encodings();
    test_addresses_must_be_canonical();
    test_mprv();
    test_sfence();
    test_crossing_pages();
    test_dirty_comes_with_the_first_store();
    test_delegated_page_faults();
    return 0;
}
