// SPDX-License-Identifier: MIT
// Page walks of VMSAv8-64, stage 1: walk.h.
#include "isa/a64/walk.h"

#include "base/bits.h"

enum { ENTRY_BYTES = 8, GRANULE_4K = 12, GRANULE_64K = 16, LAST_LEVEL = 3 };

// Descriptors, D5.3.
enum {
    VALID = 1 << 0,
    TABLE_OR_PAGE = 1 << 1,
    NS_LSB = 5,
    AP_EL0_LSB = 6, // AP[1]: EL0 has access
    AP_RO_LSB = 7,  // AP[2]: nobody writes
    AF = 1 << 10,
    NG_LSB = 11,
    PXN_LSB = 53,
    UXN_LSB = 54, // XN of EL3
    PXN_TABLE_LSB = 59,
    XN_TABLE_LSB = 60,
    AP_TABLE_EL0_LSB = 61, // APTable[0]: EL0 has no access
    AP_TABLE_RO_LSB = 62,
    NS_TABLE_LSB = 63,
};

// Registers TCR and TTBR as they describe the addresses on one side.
typedef struct stage {
    uint64_t table, control, tables_mask; // SCTLR; the table's address
    uint32_t granule_log2, vaddr_bits, paddr_bits;
    uint32_t walk_memory; // SH, ORGN and IRGN of the tables
    bool is_disabled, is_out_of_range, is_el3;
} stage;

// D5.2.4: sizes of physical addresses, at most those that the hart has.
static uint32_t paddr_bits_of(uint64_t size) {
    static const uint8_t bits[] = {32, 36, 40, 42, 44, 48};
    const uint32_t wanted = size < TL_COUNT_OF(bits) ? bits[size] : 48;
    return wanted < TL_A64_PA_BITS ? wanted : TL_A64_PA_BITS;
}

// T0SZ and T1SZ beyond their limits count as the limit.
static uint32_t vaddr_bits_of(uint64_t txsz) { return 64 - (txsz < 16 ? 16 : txsz > 39 ? 39 : (uint32_t)txsz); }

static stage stage_of(const tl_a64_hart *a, uint32_t el, uint64_t vaddr) {
    const uint64_t *reg = a->sys.reg;
    const bool is_el3 = el == TL_A64_EL3, is_upper = !is_el3 && (vaddr >> 55 & 1);
    const uint64_t tcr = reg[is_el3 ? TL_A64_R_TCR_EL3 : TL_A64_R_TCR_EL1], tg0 = tl_bits(tcr, TL_A64_TCR_TG0_LSB, 2);
    // A granule of 16 KiB is absent, and TG0 or TG1 that asks for it means 4 KiB.
    const bool is_64k = is_upper ? tl_bits(tcr, TL_A64_TCR_TG1_LSB, 2) == 3 : tg0 == 1;
    stage s = {
        .control = reg[is_el3 ? TL_A64_R_SCTLR_EL3 : TL_A64_R_SCTLR_EL1],
        .table = reg[is_el3     ? TL_A64_R_TTBR0_EL3
                     : is_upper ? TL_A64_R_TTBR1_EL1
                                : TL_A64_R_TTBR0_EL1],
        .granule_log2 = is_64k ? GRANULE_64K : GRANULE_4K,
        .vaddr_bits = vaddr_bits_of(tl_bits(tcr, is_upper ? TL_A64_TCR_T1SZ_LSB : TL_A64_TCR_T0SZ_LSB, 6)),
        .paddr_bits = paddr_bits_of(tl_bits(tcr, is_el3 ? TL_A64_TCR3_PS_LSB : TL_A64_TCR_IPS_LSB, 3)),
        .walk_memory = (uint32_t)tl_bits(tcr, is_upper ? TL_A64_TCR_IRGN1_LSB : TL_A64_TCR_IRGN0_LSB, 6),
        .is_disabled = !is_el3 && (tcr & (is_upper ? TL_A64_TCR_EPD1 : TL_A64_TCR_EPD0)),
        .is_el3 = is_el3,
    };
    const uint64_t rest = vaddr >> s.vaddr_bits, ones = UINT64_MAX >> s.vaddr_bits;
    s.is_out_of_range = rest != (is_upper ? ones : 0);
    return s;
}

static bool fits(uint64_t paddr, uint32_t bits) { return paddr >> bits == 0; }

// Flags of a leaf for EL1 and EL0, D5.4.5. A page that EL0 may write is never executed by EL1.
static uint8_t flags_of(const stage *s, uint64_t leaf) {
    const bool is_wxn = s->control & TL_A64_SCTLR_WXN, is_writable = !(leaf >> AP_RO_LSB & 1);
    const bool is_user = !s->is_el3 && (leaf >> AP_EL0_LSB & 1), is_user_writable = is_user && is_writable;
    const bool is_el0_execute = !s->is_el3 && !(leaf >> UXN_LSB & 1) && !(is_wxn && is_user_writable);
    const bool is_no_execute = s->is_el3 ? leaf >> UXN_LSB & 1 : leaf >> PXN_LSB & 1;
    const bool is_el1_execute = !is_no_execute && !is_user_writable && !(is_wxn && is_writable);
    const bool is_owner_execute = is_user ? is_el0_execute : is_el1_execute;
    return (uint8_t)(TL_PAGE_VALID | TL_PAGE_READ | TL_PAGE_DIRTY | (is_writable ? TL_PAGE_WRITE : 0) | (is_user ? TL_PAGE_USER : 0) |
                     (is_owner_execute ? TL_PAGE_EXECUTE : 0) | (is_el0_execute ? TL_A64_PAGE_EL0_EXECUTE : 0) |
                     (is_el1_execute ? TL_A64_PAGE_EL1_EXECUTE : 0));
}

// Attributes of the tables above restrict those of the leaf, D5.3.3. Each argument has what the
// tables so far have said, as bits of a table descriptor.
static uint64_t restricted(uint64_t leaf, uint64_t tables) {
    if (tables >> AP_TABLE_EL0_LSB & 1)
        leaf &= ~(UINT64_C(1) << AP_EL0_LSB);
    leaf |= (tables >> AP_TABLE_RO_LSB & 1) << AP_RO_LSB | (tables >> XN_TABLE_LSB & 1) << UXN_LSB |
            (tables >> PXN_TABLE_LSB & 1) << PXN_LSB | (tables >> NS_TABLE_LSB & 1) << NS_LSB;
    return leaf;
}

// tl_page.level by granule and level of the walk.
static uint32_t size_of(const stage *s, uint32_t level) {
    if (s->granule_log2 == GRANULE_64K)
        return level == LAST_LEVEL ? TL_PAGE_64K : TL_PAGE_512M;
    return LAST_LEVEL - level;
}

enum { TABLE_LSB = PXN_TABLE_LSB, TABLE_BITS = 5 };

uint8_t tl_a64_memory_type(uint8_t mair, uint32_t shareability) {
    enum { NC, WB, WT, DEVICE_SHAREABLE = 2, NORMAL = 1 << 7, COHERENT = 1 << 6 };
    const uint32_t outer = mair >> 4, inner = mair & 15;
    if (outer == 0)
        return (uint8_t)((mair & 0xc) | DEVICE_SHAREABLE);
    const uint32_t outer_type = outer == 4 ? NC : outer & 4 ? WB : WT, inner_type = inner == 4 ? NC : inner & 4 ? WB : WT;
    const uint32_t hint = outer & 3, is_coherent = outer_type == WB && inner_type == WB;
    if (is_coherent)
        return (uint8_t)(NORMAL | COHERENT | (inner & 3) << 4 | hint << 2 | shareability);
    if (outer_type == NC && inner_type == NC)
        shareability = DEVICE_SHAREABLE;
    return (uint8_t)(NORMAL | outer_type << 4 | (outer_type == NC ? inner_type : hint) << 2 | shareability);
}

// The memory of the tables as a byte of MAIR says it; D12.2.105 has the codes of IRGN and ORGN.
static uint8_t walk_memory_of(const stage *s) {
    // Non-cacheable, write-back, write-through, write-back without write-allocate.
    static const uint8_t types[] = {4, 0xf, 0xa, 0xe};
    const uint8_t attributes = (uint8_t)(types[s->walk_memory >> 2 & 3] << 4 | types[s->walk_memory & 3]);
    return tl_a64_memory_type(attributes, s->walk_memory >> 4);
}

// Of a table of the last level.
static uint32_t span_of(const stage *s) { return 2 * s->granule_log2 - 3; }

// Begins at a table of the walk cache. false: at the first table.
static bool recall(const tl_page_walk *walk, const stage *s, uint64_t *ret_table, uint64_t *ret_tables) {
    tl_walk_table found;
    if (!walk->recall || !walk->recall(walk, span_of(s), &found))
        return false;
    *ret_table = found.paddr;
    *ret_tables = (uint64_t)tl_bits(found.attributes, 0, TABLE_BITS) << TABLE_LSB;
    return true;
}

static void keep(const tl_page_walk *walk, const stage *s, uint64_t table, uint64_t tables) {
    if (!walk->keep)
        return;
    const uint32_t span_log2 = span_of(s);
    const tl_walk_table found = {
        .vaddr = walk->vaddr & ~UINT64_C(0) << span_log2,
        .paddr = table,
        .span_log2 = (uint8_t)span_log2,
        .world = walk->h->regime.world,
        .asid = walk->h->regime.asid,
        .attributes = (uint16_t)(tl_bits(tables, TABLE_LSB, TABLE_BITS) | (uint64_t)walk_memory_of(s) << TL_A64_TABLE_MEMORY_LSB)};
    walk->keep(walk, &found);
}

static tl_fault fail(tl_a64_leaf *leaf, uint32_t kind, uint32_t level) {
    leaf->status = (uint8_t)(kind | level);
    return kind == TL_A64_FSC_EXTERNAL_WALK ? TL_FAULT_ACCESS : TL_FAULT_PAGE;
}

tl_fault tl_a64_walk(const tl_page_walk *walk, uint32_t el, tl_a64_leaf *ret) {
    const stage s = stage_of(tl_a64(walk->h), el, walk->vaddr);
    const uint32_t stride = s.granule_log2 - 3, n_levels = (s.vaddr_bits - s.granule_log2 + stride - 1) / stride;
    const uint64_t output_mask = ((UINT64_C(1) << TL_A64_VA_BITS) - 1) & ~UINT64_C(0) << s.granule_log2;
    uint32_t level = LAST_LEVEL + 1 - n_levels;
    uint32_t lsb = s.granule_log2 + stride * (LAST_LEVEL - level), width = s.vaddr_bits - lsb;
    const uint64_t base_mask = ((UINT64_C(1) << TL_A64_VA_BITS) - 1) & ~UINT64_C(0) << (width + 3);
    uint64_t table = s.table & base_mask, tables = 0;
    if (s.is_out_of_range || s.is_disabled)
        return fail(ret, TL_A64_FSC_TRANSLATION, 0);
    if (!fits(table, s.paddr_bits))
        return fail(ret, TL_A64_FSC_ADDRESS_SIZE, 0);
    if (level < LAST_LEVEL && recall(walk, &s, &table, &tables)) {
        level = LAST_LEVEL;
        lsb = s.granule_log2;
        width = stride;
    }
    for (;; level++) {
        uint64_t entry;
        if (walk->read(walk, table + tl_bits(walk->vaddr, lsb, width) * ENTRY_BYTES, &entry) != TL_FAULT_NONE)
            return fail(ret, TL_A64_FSC_EXTERNAL_WALK, level);
        const bool is_last = level == LAST_LEVEL, is_leaf = is_last || !(entry & TABLE_OR_PAGE);
        const bool is_block_level = level == 2 || (level == 1 && s.granule_log2 == GRANULE_4K);
        if (!(entry & VALID) || (is_last ? !(entry & TABLE_OR_PAGE) : is_leaf && !is_block_level))
            return fail(ret, TL_A64_FSC_TRANSLATION, level);
        const uint64_t next = entry & output_mask & (is_leaf ? ~UINT64_C(0) << lsb : UINT64_MAX);
        if (!fits(next, s.paddr_bits))
            return fail(ret, TL_A64_FSC_ADDRESS_SIZE, level);
        if (is_leaf) {
            if (!(entry & AF))
                return fail(ret, TL_A64_FSC_ACCESS_FLAG, level);
            ret->descriptor = restricted(entry, tables);
            ret->page = (tl_page){.vaddr = walk->vaddr & ~UINT64_C(0) << lsb,
                                  .paddr = next,
                                  .level = (uint8_t)size_of(&s, level),
                                  .flags = flags_of(&s, ret->descriptor)};
            ret->status = (uint8_t)(TL_A64_FSC_PERMISSION | level);
            return TL_FAULT_NONE;
        }
        tables |= entry;
        table = next;
        if (level + 1 == LAST_LEVEL)
            keep(walk, &s, table, tables);
        lsb -= stride;
        width = stride;
    }
}
