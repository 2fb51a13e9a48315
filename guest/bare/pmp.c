/* SPDX-License-Identifier: MIT
 * PMP: permissions by mode and kind of access, TOR and NAPOT, entry priority, partial matches,
 * locks, page walks and MPRV. All borders are multiples of 4 KiB, valid for every grain. */
#include "bare.h"

enum { R = 1, W = 2, X = 4, OFF = 0, TOR = 1 << 3, NAPOT = 3 << 3, LOCKED = 0x80 };
enum { N_ENTRIES = 16, BACKGROUND = 15 };
static const u64 RETURNS = UINT64_C(0x8082808280828082); /* c.jr ra, four times */
static const u64 AREA = RAM_BASE + UINT64_C(0x800000);   /* 2 MiB of memory to protect */
enum { AREA_BYTES = 0x200000 };

static void set_cfg(u32 entry, u64 cfg) {
    u64 shift = entry % 8 * 8, mask = UINT64_C(0xff) << shift;
    if (entry < 8)
        csr_write(pmpcfg0, (csr_read(pmpcfg0) & ~mask) | cfg << shift);
    else
        csr_write(pmpcfg2, (csr_read(pmpcfg2) & ~mask) | cfg << shift);
    sfence();
}
static u64 cfg_of(u32 entry) { return (entry < 8 ? csr_read(pmpcfg0) : csr_read(pmpcfg2)) >> entry % 8 * 8 & 0xff; }
static u64 pmpaddr(u32 entry, bool is_write, u64 value) {
    u64 old = 0;
#define CASE(n)                           \
    case n:                               \
        if (is_write)                     \
            csr_write(pmpaddr##n, value); \
        else                              \
            old = csr_read(pmpaddr##n);   \
        break;
    switch (entry) {
        CASE(0)
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14) CASE(15)
    }
    sfence();
    return old;
}
static void set_addr(u32 entry, u64 value) { pmpaddr(entry, true, value); }
static u64 addr_of(u32 entry) { return pmpaddr(entry, false, 0); }
static u64 napot(u64 base, u64 size) { return base >> 2 | (size / 2 - 1) >> 2; }
static void set_napot(u32 entry, u64 base, u64 size, u64 cfg) {
    set_addr(entry, napot(base, size));
    set_cfg(entry, NAPOT | cfg);
}
static void clear_all(void) {
    for (u32 i = 0; i < BACKGROUND; i++) {
        set_cfg(i, 0);
        set_addr(i, 0);
    }
}

typedef enum access { LOAD, STORE, FETCH, AMO, LOAD_RESERVED, N_ACCESSES } access;
SNIPPET(loads, "ld a0, 0(a0)");
SNIPPET(stores, "sd a1, 0(a0)");
SNIPPET(jumps, "jr a0");
SNIPPET(adds, "amoor.d a0, zero, (a0)");
SNIPPET(reserves, "lr.d a0, (a0)");
static void (*const code_of[])(void) = {loads, stores, jumps, adds, reserves};
static const u64 cause_of[] = {CAUSE_LOAD_ACCESS, CAUSE_STORE_ACCESS, CAUSE_FETCH_ACCESS, CAUSE_STORE_ACCESS, CAUSE_LOAD_ACCESS};
static const u64 modes[] = {MODE_U, MODE_S, MODE_M};

static bool needs(access kind, u64 cfg) {
    switch (kind) {
    case FETCH: return cfg & X;
    case STORE: return cfg & W;
    case AMO: return (cfg & W) && (cfg & R);
    default: return cfg & R;
    }
}
static void try_access(u64 mode, access kind, u64 at, bool is_ok) {
    outcome *o = run(mode, code_of[kind], at, RETURNS);
    CHECK(o->trapped, !is_ok);
    if (is_ok)
        return;
    CHECK(o->cause, cause_of[kind]);
    CHECK(o->tval, at);
    CHECK(o->epc, kind == FETCH ? at : (u64)code_of[kind]);
    CHECK(o->status >> 11 & 3, mode);
}
static void try_all(u64 at, u64 cfg, bool holds_for_m) {
    u64 context = check_context;
    for (u32 m = 0; m < 3; m++)
        for (access kind = LOAD; kind < N_ACCESSES; kind++) {
            check_context = context << 16 | m << 8 | kind;
            try_access(modes[m], kind, at, (modes[m] == MODE_M && !holds_for_m) || needs(kind, cfg));
        }
    check_context = context;
}

static void test_grain_and_fields(void) {
    set_cfg(0, 0);
    set_addr(0, ~UINT64_C(0));
    u64 ones = addr_of(0), grain = 0;
    while (grain < 54 && !(ones >> grain & 1))
        grain += 1;
    CHECK(grain <= 10, 1); /* 4 KiB or finer */
    CHECK(ones & (BIT(54) - 1), (BIT(54) - 1) & ~(BIT(grain) - 1));
    CHECK_BUT_QEMU("QEMU keeps 64 bits", ones >> 54, 0);
    set_cfg(0, NAPOT);
    if (grain > 1)
        CHECK(addr_of(0) & (BIT(grain - 1) - 1), BIT(grain - 1) - 1); /* all of a grain below the size's zero */
    set_cfg(0, 0);
    set_addr(0, 0);
    for (u64 cfg = 0; cfg < 0x20; cfg++) {
        bool is_na4 = (cfg >> 3 & 3) == 2, is_reserved = (cfg & 3) == W;
        if (is_na4 || is_reserved)
            continue;
        for (u32 i = 0; i < BACKGROUND; i++) {
            set_cfg(i, cfg);
            check_context = i << 8 | cfg;
            CHECK(cfg_of(i), cfg);
        }
    }
    check_context = 0;
    set_cfg(0, R | W | X);
    set_cfg(0, W);
    CHECK_BUT_QEMU("QEMU keeps the reserved combination", (cfg_of(0) & 3) != W, 1);
    clear_all();
    CHECK(csr_read(pmpcfg0), 0);
}

static void test_permissions(void) {
    static const u64 cfgs[] = {0, R, R | W, X, R | X, R | W | X};
    for (u32 i = 0; i < 6; i++) {
        check_context = i + 1;
        set_napot(3, AREA, 4096, cfgs[i]);
        try_all(AREA, cfgs[i], false);
        try_all(AREA + 4088, cfgs[i], false);
        try_all(AREA + 4096, R | W | X, false);
        try_all(AREA - 8, R | W | X, false);
        set_cfg(3, 0);
        set_addr(6, AREA >> 2); /* top of range: between this */
        set_addr(7, (AREA + 0x3000) >> 2);
        set_cfg(7, TOR | cfgs[i]);
        try_all(AREA, cfgs[i], false);
        try_all(AREA + 0x2ff8, cfgs[i], false);
        try_all(AREA + 0x3000, R | W | X, false);
        try_all(AREA - 8, R | W | X, false);
        set_cfg(7, 0);
    }
    clear_all();
    check_context = 0;
}

static void test_sizes_of_napot(void) {
    for (u64 size = 4096; size <= AREA_BYTES; size *= 2)
        for (u32 i = 0; i < 2; i++) {
            u64 base = AREA + i * size;
            if (base + size > AREA + AREA_BYTES)
                continue;
            check_context = size + i;
            set_napot(0, base, size, R);
            try_access(MODE_S, STORE, base, false);
            try_access(MODE_S, STORE, base + size - 8, false);
            try_access(MODE_S, LOAD, base + size / 2, true);
            try_access(MODE_S, STORE, base - 8, true);
            try_access(MODE_S, STORE, base + size, true);
        }
    /* TOR of nothing, and from zero */
    clear_all();
    set_addr(1, AREA >> 2);
    set_addr(2, AREA >> 2);
    set_cfg(2, TOR);
    try_all(AREA, R | W | X, false);
    set_addr(2, (AREA - 0x1000) >> 2); /* upside down */
    sfence();
    try_all(AREA - 0x1000, R | W | X, false);
    clear_all();
    set_addr(0, RAM_BASE >> 2); /* everything below RAM: the devices */
    set_cfg(0, TOR);
    try_access(MODE_S, LOAD, CLINT_BASE + 0xbff8, false);
    try_access(MODE_M, LOAD, CLINT_BASE + 0xbff8, true);
    set_cfg(0, TOR | R);
    try_access(MODE_S, LOAD, CLINT_BASE + 0xbff8, true);
    clear_all();
    check_context = 0;
}

static void test_lowest_entry_counts(void) {
    set_napot(2, AREA, 4096, R);
    set_napot(5, AREA, 0x10000, R | W | X);
    try_all(AREA, R, false);
    try_all(AREA + 4096, R | W | X, false);
    set_napot(1, AREA, 0x2000, R | W);
    try_all(AREA, R | W, false);
    try_all(AREA + 0x1000, R | W, false);
    try_all(AREA + 0x2000, R | W | X, false);
    set_cfg(1, 0);
    try_all(AREA, R, false);
    clear_all();
}

/* Nothing matches: M may, others may not. */
static void test_no_match(void) {
    set_napot(0, RAM_BASE, 0x400000, R | W | X); /* this program */
    set_cfg(BACKGROUND, 0);
    try_all(AREA, 0, false);
    set_napot(1, AREA, 4096, R | W | X);
    try_all(AREA, R | W | X, false);
    try_all(AREA + 4096, 0, false);
    set_cfg(BACKGROUND, NAPOT | R | W | X);
    clear_all();
}

/* One forbidden byte fails an access. (A machine may check parts of a misaligned access.) */
SNIPPET(loads_across, "ld a0, -4(a0)");
SNIPPET(stores_across, "sd zero, -4(a0)");
static void test_partial_match(void) {
    set_napot(4, AREA, 4096, R); /* the background covers the other half */
    outcome *o = run(MODE_S, stores_across, AREA + 4096, 0);
    CHECK(o->trapped, 1);
    CHECK(o->cause, CAUSE_STORE_ACCESS);
    set_napot(4, AREA, 4096, 0);
    o = run(MODE_S, loads_across, AREA + 4096, 0);
    CHECK(o->trapped, 1);
    CHECK(o->cause, CAUSE_LOAD_ACCESS);
    CHECK_TRUE(o->tval == AREA + 4092 || o->tval == AREA + 4096);
    o = run(MODE_S, loads_across, AREA, 0);
    CHECK(o->trapped, 1);
    set_napot(3, AREA, 0x2000, R | W);
    o = run(MODE_S, loads_across, AREA + 4096, 0);
    CHECK(o->trapped, 0);
    o = run(MODE_M, loads_across, AREA, 0);
    CHECK_TRUE(!o->trapped || o->cause == CAUSE_LOAD_ACCESS);
    clear_all();
}

SNIPPET(loads_as, "csrs mstatus, a1\n ld a0, 0(a0)\n csrc mstatus, a1");
SNIPPET(stores_as, "csrs mstatus, a1\n sd zero, 0(a0)\n csrc mstatus, a1");
static void test_mprv(void) {
    set_napot(0, AREA, 4096, R);
    for (u64 mpp = MODE_U; mpp <= MODE_M; mpp++) {
        if (mpp == 2)
            continue;
        for (u32 is_store = 0; is_store < 2; is_store++) {
            u64 status = MSTATUS_MPRV | mpp << 11, at = AREA;
            outcome *o = run(MODE_M, is_store ? stores_as : loads_as, at, status);
            csr_clear(mstatus, MSTATUS_MPRV);
            check_context = mpp << 8 | is_store;
            CHECK(o->trapped, is_store && mpp != MODE_M);
        }
    }
    *(u64 *)AREA = RETURNS;
    clear_all();
    check_context = 0;
}

/* The walker reads page tables as S; a denied read is an access fault of the access's kind. */
static void test_page_walks_are_protected(void) {
    u64 *root = standard_map(), vaddr = UINT64_C(0x140000000);
    u64 *table = (u64 *)(AREA + 0x10000);
    for (u32 i = 0; i < 512; i++)
        table[i] = 0;
    table[0] = pte(AREA, PTE_RWX);
    u64 *leaf_table = page_new();
    leaf_table[0] = pte((u64)table, PTE_V);
    root[vaddr >> 30] = pte((u64)leaf_table, PTE_V);
    csr_write(satp, satp_of(root, SATP_SV39));
    sfence();
    for (access kind = LOAD; kind < N_ACCESSES; kind++) {
        check_context = kind;
        set_cfg(0, 0);
        try_access(MODE_S, kind, vaddr, true);
        set_napot(0, (u64)table, 4096, 0);
        outcome *o = run(MODE_S, code_of[kind], vaddr, RETURNS);
        CHECK(o->trapped, 1);
        CHECK(o->cause, cause_of[kind]);
        CHECK(o->tval, vaddr);
        set_napot(0, AREA, 4096, 0); /* the page itself */
        try_access(MODE_S, kind, vaddr, false);
    }
    clear_all();
    csr_write(satp, 0);
    sfence();
    check_context = 0;
}

/* Locked entries bind M until reset, so this test comes last and uses entries from 0. */
static void test_locks(void) {
    static const u64 cfgs[] = {0, R, R | W, X, R | X, R | W | X};
    for (u32 i = 0; i < 6; i++) {
        u64 base = AREA + i * 0x1000;
        check_context = i + 1;
        set_napot(i, base, 4096, LOCKED | cfgs[i]);
        CHECK(cfg_of(i), LOCKED | NAPOT | cfgs[i]);
        try_all(base, cfgs[i], true);
        u64 addr = addr_of(i);
        set_addr(i, 0);
        CHECK(addr_of(i), addr);
        set_cfg(i, 0);
        CHECK(cfg_of(i), LOCKED | NAPOT | cfgs[i]);
        try_all(base, cfgs[i], true);
    }
    /* TOR: the address below is locked with it, its configuration is not */
    set_addr(7, (AREA + 0x8000) >> 2);
    set_addr(8, (AREA + 0xa000) >> 2);
    set_cfg(8, LOCKED | TOR | R);
    u64 below = addr_of(7);
    set_addr(7, 0);
    CHECK(addr_of(7), below);
    set_cfg(7, NAPOT | R);
    CHECK(cfg_of(7), NAPOT | R);
    set_cfg(7, 0);
    CHECK(cfg_of(7), 0);
    set_addr(8, 0);
    CHECK(addr_of(8) >> 10, (AREA + 0xa000) >> 12);
    check_context = 0x100;
    try_all(AREA + 0x8000, R, true);
    try_all(AREA + 0x9ff8, R, true);
    try_all(AREA + 0xa000, R | W | X, false);
    try_all(AREA + 0x7ff8, R | W | X, false);
    /* one write that changes locked and other entries at once: the others change */
    csr_write(pmpcfg0, UINT64_C(0x1f1f1f1f1f1f1f1f) & ~(UINT64_C(0x18) << 48));
    CHECK(cfg_of(0), LOCKED | NAPOT);
    CHECK(cfg_of(6), R | W | X);
    CHECK(cfg_of(7), NAPOT | R | W | X);
    set_cfg(7, 0);
    set_cfg(6, 0);
    /* an entry that is off can be locked as well */
    set_cfg(9, LOCKED);
    set_addr(9, 0x12345000 >> 2);
    CHECK(addr_of(9), 0);
    set_cfg(9, R);
    CHECK(cfg_of(9), LOCKED);
    check_context = 0;
}

int main(void) {
    for (u64 *at = (u64 *)(AREA - 0x1000); at < (u64 *)(AREA + AREA_BYTES + 0x1000); at++)
        *at = RETURNS;
    fence_i();
    csr_write(stvec, (u64)s_trap);
    test_grain_and_fields();
    test_permissions();
    test_sizes_of_napot();
    test_lowest_entry_counts();
    test_no_match();
    test_partial_match();
    test_mprv();
    test_page_walks_are_protected();
    test_locks();
    return 0;
}
