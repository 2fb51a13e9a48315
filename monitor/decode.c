// SPDX-License-Identifier: MIT
// Decoder of direct reads, by the tables of the Cortex-A53's manual (DDI 0500, 6.7). Some parts
// leave the lowest bits of a data tag invalid; the decoder takes these from the set.
#include "xcm.h"

static uint64_t field(const uint32_t dr[4], uint32_t high, uint32_t low) {
    uint64_t value = 0;
    for (uint32_t bit = low; bit <= high; bit++)
        value |= (uint64_t)(dr[bit / 32] >> bit % 32 & 1) << (bit - low);
    return value;
}

xcm_line xcm_decode_l1d_tag(const xcm_geometry *g, uint32_t set, const uint32_t dr[4]) {
    const uint32_t tag_state = dr[1] >> 29 & 3, way_bytes = g->l1d_sets * g->line_bytes;
    const bool is_dirty = dr[0] & 1;
    const uint64_t tag = (uint64_t)(dr[1] & 0xfffffff) << 12 | (uint64_t)(dr[0] >> 31) << 11;
    xcm_line line = {.state = 'I', .is_non_secure = dr[1] >> 28 & 1, .is_dirty_copy = dr[0] >> 4 & 1};
    if (tag_state == 0)
        return line;
    if (tag_state == 1)
        line.state = is_dirty ? 'O' : 'S';
    else
        line.state = is_dirty ? 'M' : 'E';
    line.paddr = (tag & ~(uint64_t)(way_bytes - 1)) | (uint64_t)set * g->line_bytes;
    return line;
}

// Index bits above a page are virtual; the tag has the physical ones.
xcm_line xcm_decode_l1i_tag(const xcm_geometry *g, uint32_t set, const uint32_t dr[4]) {
    enum { INVALID = 3, PAGE_BYTES = 4096 };
    xcm_line line = {.state = 'I', .is_non_secure = dr[0] >> 28 & 1};
    if ((dr[0] >> 29 & 3) == INVALID)
        return line;
    line.state = 'V';
    line.paddr = (uint64_t)(dr[0] & 0xfffffff) << 12 | (uint64_t)(set * g->line_bytes % PAGE_BYTES);
    return line;
}

bool xcm_decode_l1i_word(const uint32_t dr[4], uint32_t *ret_word) {
    uint32_t word = 0;
    for (uint32_t half = 0; half < 2; half++) {
        const uint32_t signature = dr[half];
        for (uint32_t nibble = 0; nibble < 4; nibble++) {
            const uint32_t bits = signature >> 4 * nibble & 15, parity = (0x6996u >> bits) & 1;
            if ((signature >> (16 + nibble) & 1) != parity)
                return false;
        }
        word |= (signature & 0xffff) << 16 * half;
    }
    *ret_word = word;
    return true;
}

enum { FIRST_WALK = 128, FIRST_IPA = 144 };

// The index gives the bits of the address between the size of the page and bit 19, and those of
// the seven above the size that the stored bits lack.
static xcm_tlb_entry page_entry(uint32_t index, const uint32_t dr[4]) {
    static const uint8_t size_shift[8] = {12, 12, 16, 16, 20, 21, 24, 29};
    static const uint8_t block_shift[8] = {12, 16, 20, 21, 24, 29, 30, 0};
    xcm_tlb_entry e = {.is_valid = dr[0] & 1};
    if (!e.is_valid)
        return e;
    const uint32_t shift = size_shift[field(dr, 58, 56)], block = block_shift[field(dr, 111, 109)];
    const uint64_t sign = field(dr, 1, 1) ? UINT64_C(0xffff) << 48 : 0;
    e.bytes = UINT64_C(1) << shift;
    e.block_bytes = UINT64_C(1) << block;
    e.vaddr = (sign | field(dr, 30, 2) << 19 | (uint64_t)index << shift) & ~(e.bytes - 1);
    e.paddr = field(dr, 93, 66) << 12 & ~(e.bytes - 1);
    e.is_non_secure_walk = field(dr, 31, 31);
    e.vmid = (uint32_t)field(dr, 39, 32);
    e.asid = (uint32_t)field(dr, 55, 40);
    e.is_non_global = field(dr, 59, 59);
    e.ap = (uint32_t)field(dr, 62, 60);
    e.is_non_secure = field(dr, 65, 65);
    e.user_execute = field(dr, 94, 94);
    e.other_execute = field(dr, 95, 95);
    e.memory = (uint32_t)field(dr, 104, 97);
    return e;
}

static xcm_tlb_entry walk_entry(uint32_t index, const uint32_t dr[4]) {
    static const uint8_t span_shift[4] = {20, 21, 29, 0};
    xcm_tlb_entry e = {.is_valid = dr[0] & 1, .is_walk = true};
    if (!e.is_valid)
        return e;
    const uint32_t shift = span_shift[field(dr, 17, 16)];
    e.bytes = e.block_bytes = UINT64_C(1) << shift;
    e.vaddr = (field(dr, 83, 60) << 25 | (uint64_t)(index - FIRST_WALK) << shift) & ~(e.bytes - 1);
    if (e.vaddr >> 48 & 1)
        e.vaddr |= UINT64_C(0xffff) << 48;
    e.paddr = field(dr, 113, 84) << 10;
    e.is_non_secure_walk = field(dr, 31, 31);
    e.vmid = (uint32_t)field(dr, 39, 32);
    e.asid = (uint32_t)field(dr, 55, 40);
    e.ap = (uint32_t)field(dr, 12, 11);
    e.memory = (uint32_t)field(dr, 8, 1);
    return e;
}

xcm_tlb_entry xcm_decode_tlb(uint32_t index, const uint32_t dr[4]) {
    if (index >= FIRST_IPA)
        return (xcm_tlb_entry){0}; // there is no stage 2
    return index < FIRST_WALK ? page_entry(index, dr) : walk_entry(index, dr);
}
