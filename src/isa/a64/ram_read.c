// SPDX-License-Identifier: MIT
// The formats of the RAMs: tables 6-3 to 6-16 of the manual. Cache protection is absent, as
// L2CTLR_EL1 says, so parity bits read as 0. RAM is Non-secure memory.
#include "isa/a64/ram_read.h"

#include <string.h>

#include "base/bits.h"
#include "isa/a64/walk.h"

typedef struct bits { // a descriptor of up to 128 bits
    uint32_t words[4];
} bits;

static void put(bits *b, uint32_t lsb, uint32_t width, uint64_t value) {
    for (uint32_t i = 0; i < width; i++)
        if (value >> i & 1)
            b->words[(lsb + i) / 32] |= UINT32_C(1) << (lsb + i) % 32;
}

// The way stands in the highest bits, the set above the bits within a line. Returns set * ways +
// way, or UINT32_MAX.
static uint32_t way_at(const tl_cache_config *cache, uint32_t place) {
    const uint32_t sets = cache->size_bytes / cache->ways / cache->line_bytes, way_bits = tl_log2(cache->ways);
    const uint32_t way = way_bits == 0 ? 0 : place >> (32 - way_bits), set = place >> tl_log2(cache->line_bytes) & (sets - 1);
    return tl_is_pow2(cache->ways) ? set * cache->ways + way : UINT32_MAX;
}

static bool line_at(const tl_hart *h, bool is_fetch, uint32_t place, tl_line_view *ret) {
    return h->port->line_at(h, is_fetch, way_at(is_fetch ? &h->config->l1i : &h->config->l1d, place), ret);
}

static const uint8_t *host_of(const tl_hart *h, uint64_t paddr) { return h->ram + (paddr - TL_RAM_BASE_PADDR); }

static void read_l1d_tag(const tl_hart *h, uint32_t place, bits *b) {
    enum { SHARED = 1, UNIQUE = 2, OUTER_ALLOCATION_LSB = 3, NS_LSB = 32 + 28, STATE_LSB = 32 + 29 };
    tl_line_view line;
    if (!line_at(h, false, place, &line) || line.state == 'I')
        return;
    const bool is_dirty = line.state == 'M' || line.state == 'O', is_unique = line.state == 'M' || line.state == 'E';
    put(b, STATE_LSB, 2, is_unique ? UNIQUE : SHARED);
    put(b, NS_LSB, 1, 1);
    put(b, 32, 28, line.paddr >> 12);
    put(b, 31, 1, line.paddr >> 11 & 1);
    put(b, OUTER_ALLOCATION_LSB, 1, 1);
    put(b, 0, 2, is_dirty);
}

static void read_l1i_tag(const tl_hart *h, uint32_t place, bits *b) {
    enum { A64 = 2, INVALID = 3, NS_LSB = 28, SET_LSB = 29 };
    tl_line_view line;
    if (!line_at(h, true, place, &line))
        return;
    if (line.state == 'I') {
        put(b, SET_LSB, 2, INVALID);
        return;
    }
    put(b, SET_LSB, 2, A64);
    put(b, NS_LSB, 1, 1);
    put(b, 0, 28, line.paddr >> 12);
}

static void read_l1d_data(const tl_hart *h, uint32_t place, bits *b) {
    tl_line_view line;
    if (line_at(h, false, place, &line) && line.state != 'I')
        memcpy(b->words, host_of(h, line.paddr + (place & (h->config->l1d.line_bytes - 8))), 8);
}

// The pre-decoded form of an instruction is not public. A half and the parity of each of its four
// nibbles stand for it.
static uint32_t predecoded(uint32_t half) {
    uint32_t parity = 0;
    for (uint32_t nibble = 0; nibble < 4; nibble++)
        parity |= (uint32_t)(__builtin_popcount(half >> 4 * nibble & 15) & 1) << nibble;
    return half | parity << 16;
}

static void read_l1i_data(const tl_hart *h, uint32_t place, bits *b) {
    tl_line_view line;
    if (!line_at(h, true, place, &line) || line.state == 'I')
        return;
    uint32_t word;
    memcpy(&word, host_of(h, line.paddr + (place & (h->config->l1i.line_bytes - 4))), sizeof word);
    b->words[0] = predecoded(word & 0xffff);
    b->words[1] = predecoded(word >> 16);
}

// Codes of a page's size and of the block's that it comes from, by tl_page.level.
static const uint8_t sizes[TL_N_PAGE_LEVELS] = {[0] = 1, [TL_PAGE_64K] = 3, [1] = 5, [TL_PAGE_512M] = 7};
static const uint8_t block_sizes[TL_N_PAGE_LEVELS] = {[0] = 0, [TL_PAGE_64K] = 1, [1] = 3, [TL_PAGE_512M] = 5, [2] = 6};

// Table 6-13. Stage 2 is absent: VMID and its level are 0, HAP and XS2 permit everything.
static void read_page(const tl_hart *h, uint32_t entry, bits *b) {
    tl_page page;
    if (!h->port->page_at(h, TL_TLB_SECOND, entry, &page) || page.flags == 0)
        return;
    const uint32_t attributes = page.attributes;
    put(b, 0, 1, 1);
    put(b, 1, 1, page.vaddr >> 48);
    put(b, 2, 29, page.vaddr >> 19);
    put(b, 31, 1, page.world == TL_A64_WORLD_NON_SECURE);
    put(b, 40, 16, page.asid);
    put(b, 56, 3, sizes[page.level]);
    put(b, 59, 1, (attributes & TL_ATTRIBUTE_NON_GLOBAL) != 0);
    put(b, 60, 3, attributes >> TL_A64_ATTRIBUTE_AP_LSB);
    put(b, 63, 2, 3);
    put(b, 65, 1, attributes >> TL_A64_ATTRIBUTE_NS_LSB);
    put(b, 66, 28, page.paddr >> 12);
    put(b, 94, 1, attributes >> TL_A64_ATTRIBUTE_USER_EXECUTE_LSB);
    put(b, 95, 1, attributes >> TL_A64_ATTRIBUTE_OTHER_EXECUTE_LSB);
    put(b, 96, 1, 1);
    put(b, 97, 8, attributes >> TL_A64_ATTRIBUTE_MEMORY_LSB);
    put(b, 109, 3, block_sizes[page.block_level]);
}

// Table 6-15. VA has the 24 highest of 49 bits.
static void read_table(const tl_hart *h, uint32_t entry, bits *b) {
    enum { SPAN_2M = 21, CODE_2M = 1, CODE_512M = 2 };
    tl_walk_table table;
    if (!h->port->table_at(h, entry, &table) || table.span_log2 == 0)
        return;
    put(b, 0, 1, 1);
    put(b, 1, 8, table.attributes >> TL_A64_TABLE_MEMORY_LSB);
    put(b, 10, 1, table.world == TL_A64_WORLD_EL3);
    put(b, 11, 2, table.attributes >> TL_A64_TABLE_AP_LSB);
    put(b, 13, 1, table.attributes >> TL_A64_TABLE_XN_LSB);
    put(b, 14, 1, table.attributes >> TL_A64_TABLE_PXN_LSB);
    put(b, 15, 1, table.attributes >> TL_A64_TABLE_NS_LSB);
    put(b, 16, 2, table.span_log2 == SPAN_2M ? CODE_2M : CODE_512M);
    put(b, 31, 1, table.world == TL_A64_WORLD_NON_SECURE);
    put(b, 40, 16, table.asid);
    put(b, 60, 24, table.vaddr >> 25);
    put(b, 84, 30, table.paddr >> 10);
}

// Way in bits 31:30. Entries of the IPA cache, from 144 on, are never valid without stage 2.
static void read_tlb(const tl_hart *h, uint32_t place, bits *b) {
    enum { FIRST_WALK = 128, FIRST_IPA = 144 };
    const uint32_t index = place & 0xff, way = place >> 30;
    const tl_tlb_config *second = &h->config->l2tlb, *walk = &h->config->walk_cache;
    if (index < FIRST_WALK && way < second->ways)
        read_page(h, index * second->ways + way, b);
    else if (index >= FIRST_WALK && index < FIRST_IPA && way < walk->ways)
        read_table(h, (index - FIRST_WALK) * walk->ways + way, b);
}

void tl_a64_read_ram(const tl_hart *h, tl_a64_ram ram, uint32_t place, uint32_t ret_data[4]) {
    static void (*const readers[])(const tl_hart *h, uint32_t place, bits *b) = {
        [TL_A64_RAM_L1D_TAG] = read_l1d_tag,   [TL_A64_RAM_L1I_TAG] = read_l1i_tag, [TL_A64_RAM_L1D_DATA] = read_l1d_data,
        [TL_A64_RAM_L1I_DATA] = read_l1i_data, [TL_A64_RAM_TLB] = read_tlb,
    };
    bits b = {{0}};
    readers[ram](h, place, &b);
    memcpy(ret_data, b.words, sizeof b.words);
}
