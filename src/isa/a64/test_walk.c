// SPDX-License-Identifier: MIT
// Page walks against a plain reference that divides where the walker shifts: random registers,
// random tables, every access of every level. Memory is a function of the address, so that tables
// stand everywhere.
#include <stdlib.h>

#include "base/testing.h"
#include "isa/a64/regime.h"
#include "isa/a64/walk.h"

static uint64_t mixed(uint64_t x) { // splitmix64
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

// Most entries are valid, and most of their addresses fit; accesses beyond 2^39 have no memory.
static bool entry_at(uint64_t seed, uint64_t paddr, uint64_t *ret_entry) {
    if (paddr >= UINT64_C(1) << 39)
        return false;
    uint64_t entry = mixed(seed ^ mixed(paddr));
    const uint64_t dice = mixed(entry);
    if (dice % 16 != 0)
        entry |= 1;
    if (dice / 16 % 4 != 0)
        entry |= 2;
    if (dice / 64 % 8 != 0)
        entry |= 1 << 10;
    if (dice / 512 % 8 != 0)
        entry &= ~(UINT64_C(0x3ff) << 38);
    if (dice / 4096 % 4 != 0)
        entry &= ~(UINT64_C(31) << 59);
    *ret_entry = entry;
    return true;
}

typedef struct space {
    uint64_t seed, table, vaddr, page_bytes, total_bytes, paddr_limit;
    bool is_upper, is_disabled, is_wxn, is_el3;
} space;

typedef struct answer {
    uint32_t status; // of a fault, else of a permission fault there
    bool is_found;
    uint64_t paddr;
    bool may[3][3]; // view, access
} answer;

static answer refuse(uint32_t status) { return (answer){.status = status}; }

static void permit(const space *s, uint64_t leaf, uint64_t no_el0, uint64_t no_write, uint64_t no_exec, uint64_t no_el1_exec, answer *a) {
    const bool user = !s->is_el3 && (leaf / 64 % 2) && !no_el0, writable = leaf / 128 % 2 == 0 && !no_write;
    const bool uxn = (leaf >> 54) % 2 || no_exec, pxn = (leaf >> 53) % 2 || no_el1_exec;
    if (s->is_el3) {
        a->may[TL_VIEW_M][TL_ACCESS_LOAD] = true;
        a->may[TL_VIEW_M][TL_ACCESS_STORE] = writable;
        a->may[TL_VIEW_M][TL_ACCESS_FETCH] = !uxn && !(s->is_wxn && writable);
        return;
    }
    a->may[TL_VIEW_S][TL_ACCESS_LOAD] = true;
    a->may[TL_VIEW_S][TL_ACCESS_STORE] = writable;
    a->may[TL_VIEW_S][TL_ACCESS_FETCH] = !pxn && !(user && writable) && !(s->is_wxn && writable);
    a->may[TL_VIEW_U][TL_ACCESS_LOAD] = user;
    a->may[TL_VIEW_U][TL_ACCESS_STORE] = user && writable;
    a->may[TL_VIEW_U][TL_ACCESS_FETCH] = !uxn && !(s->is_wxn && user && writable);
}

static answer reference(const space *s) {
    const uint64_t n_entries = s->page_bytes / 8, start = s->is_upper ? 0 - s->total_bytes : 0, offset = s->vaddr - start;
    uint64_t span[4], no_el0 = 0, no_write = 0, no_exec = 0, no_el1_exec = 0;
    span[3] = s->page_bytes;
    for (int level = 2; level >= 0; level--)
        span[level] = span[level + 1] > UINT64_MAX / n_entries ? UINT64_MAX : span[level + 1] * n_entries;
    if (offset >= s->total_bytes || s->is_disabled)
        return refuse(0x04);
    uint32_t level = 3;
    while (span[level] < s->total_bytes / n_entries)
        level--;
    const uint64_t root_bytes = s->total_bytes / span[level] * 8;
    uint64_t table = s->table % (UINT64_C(1) << 48) / root_bytes * root_bytes;
    if (table >= s->paddr_limit)
        return refuse(0x00);
    for (uint64_t left = offset;; level++) {
        uint64_t entry;
        if (!entry_at(s->seed, table + left / span[level] * 8, &entry))
            return refuse(0x14 + level);
        left %= span[level];
        const uint32_t kind = entry % 4;
        const bool is_leaf = level == 3 ? kind == 3 : kind == 1, may_be_block = level == 2 || (level == 1 && s->page_bytes == 4096);
        if (kind % 2 == 0 || (level == 3 && kind != 3) || (level != 3 && is_leaf && !may_be_block))
            return refuse(0x04 + level);
        const uint64_t unit = is_leaf ? span[level] : s->page_bytes, next = entry % (UINT64_C(1) << 48) / unit * unit;
        if (next >= s->paddr_limit)
            return refuse(0x00 + level);
        if (is_leaf) {
            answer a = {.status = 0x0c + level, .is_found = true, .paddr = next + left};
            if (entry / 1024 % 2 == 0)
                return refuse(0x08 + level);
            permit(s, entry, no_el0, no_write, no_exec, no_el1_exec, &a);
            return a;
        }
        no_el1_exec |= (entry >> 59) % 2;
        no_exec |= (entry >> 60) % 2;
        no_el0 |= (entry >> 61) % 2;
        no_write |= (entry >> 62) % 2;
        table = next;
    }
}

typedef struct reads {
    uint64_t seed;
} reads;
static tl_fault read_entry(const tl_page_walk *walk, uint64_t paddr, uint64_t *ret_entry) {
    return entry_at(((const reads *)walk->ctx)->seed, paddr, ret_entry) ? TL_FAULT_NONE : TL_FAULT_ACCESS;
}

// Random registers, and the space that they mean. The manual's encodings: D12.2.105.
static space random_space(tl_a64_hart *a, uint64_t *random, uint64_t seed) {
    static const uint64_t sizes[] = {32, 36, 40, 42, 44, 48, 48, 48};
    uint64_t *reg = a->sys.reg;
    const uint64_t dice = *random = mixed(*random), bits = 25 + mixed(dice) % 24, ips = dice >> 8 & 7;
    const bool is_64k = dice & 1, is_upper = dice & 2, is_el3 = (dice & 12) == 0 && !is_upper,
               is_disabled = (dice >> 12 & 31) == 0 && !is_el3;
    space s = {.seed = seed,
               .table = mixed(dice ^ 1) & (dice >> 20 & 7 ? UINT64_C(0xffff003fffffffff) : UINT64_MAX),
               .page_bytes = is_64k ? 65536 : 4096,
               .total_bytes = UINT64_C(1) << bits,
               .paddr_limit = UINT64_C(1) << (sizes[ips] < 40 ? sizes[ips] : 40),
               .is_upper = is_upper,
               .is_disabled = is_disabled,
               .is_wxn = dice & 32,
               .is_el3 = is_el3};
    const uint64_t control = 1 | (s.is_wxn ? 1u << 19 : 0);
    reg[TL_A64_R_SCTLR_EL1] = is_el3 ? 0 : control;
    reg[TL_A64_R_SCTLR_EL3] = is_el3 ? control : 0;
    reg[TL_A64_R_TCR_EL3] = (64 - bits) | (uint64_t)is_64k << 14 | ips << 16;
    reg[TL_A64_R_TTBR0_EL3] = s.table;
    const uint64_t lower = is_upper ? 16 | UINT64_C(1) << 14 : (64 - bits) | (uint64_t)is_64k << 14 | (uint64_t)is_disabled << 7;
    const uint64_t upper = is_upper ? (64 - bits) << 16 | (is_64k ? UINT64_C(3) : 2) << 30 | (uint64_t)is_disabled << 23 : 25 << 16;
    reg[TL_A64_R_TCR_EL1] = lower | upper | ips << 32;
    reg[TL_A64_R_TTBR0_EL1] = is_upper ? ~s.table : s.table;
    reg[TL_A64_R_TTBR1_EL1] = is_upper ? s.table : ~s.table;
    const uint64_t inside = mixed(dice ^ 2) % s.total_bytes, beyond = mixed(dice ^ 2) & ((UINT64_C(1) << 55) - 1);
    s.vaddr = (dice >> 24 & 15) != 0 ? (is_upper ? inside - s.total_bytes : inside) : beyond | (is_upper ? UINT64_C(511) << 55 : 0);
    return s;
}

static void test_walks_equal_a_plain_reference(void **state) {
    (void)state;
    tl_a64_hart *a = calloc(1, sizeof *a);
    assert_non_null(a);
    uint64_t random = 1, n_found = 0, n_of_status[64] = {0};
    for (uint64_t i = 0; i < 400000; i++) {
        reads ctx = {.seed = mixed(i)};
        const space s = random_space(a, &random, ctx.seed);
        const answer wanted = reference(&s);
        static const tl_rights anything = {.any = TL_PAGE_VALID};
        const tl_page_walk walk = {.h = &a->hart, .vaddr = s.vaddr, .rights = &anything, .read = read_entry, .ctx = &ctx};
        tl_a64_leaf leaf;
        const bool is_found = tl_a64_walk(&walk, s.is_el3 ? TL_A64_EL3 : TL_A64_EL1, &leaf) == TL_FAULT_NONE;
        if (is_found != wanted.is_found || leaf.status != wanted.status)
            fail_msg("case %llu: status 0x%x, expected 0x%x", (unsigned long long)i, leaf.status, wanted.status);
        n_of_status[leaf.status & 63] += 1;
        if (!is_found)
            continue;
        n_found += 1;
        const uint64_t mask = tl_page_mask(leaf.page.level);
        assert_true((leaf.page.paddr | (s.vaddr & ~mask)) == wanted.paddr && leaf.page.vaddr == (s.vaddr & mask));
        tl_isa_a64.init(&a->hart);
        for (uint32_t view = s.is_el3 ? TL_VIEW_M : TL_VIEW_U; view <= (s.is_el3 ? TL_VIEW_M : TL_VIEW_S); view++)
            for (uint32_t access = 0; access < TL_N_ACCESSES; access++)
                if (tl_is_permitted(&a->hart.regime.rights[view][access], leaf.page.flags) != wanted.may[view][access])
                    fail_msg("case %llu: view %u, access %u", (unsigned long long)i, view, access);
    }
    free(a);
    assert_true(n_found > 10000);
    // Every kind of fault has been seen, and level 0 of the kinds that have it.
    for (uint32_t level = 1; level < 4; level++)
        for (uint32_t kind = 0; kind < 6; kind++)
            assert_true(n_of_status[kind * 4 + level] > 0 || kind == 4);
    assert_true(n_of_status[0x00] > 0 && n_of_status[0x04] > 0 && n_of_status[0x14] > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_walks_equal_a_plain_reference),
};
TL_TEST_MAIN(tests)
