// SPDX-License-Identifier: MIT
// Events of the comparison that the second level's block can count: selectors of its registers.
#include "readers/ccache/compare.h"

#include "base/bits.h"

#define SET(set, bits) ((uint64_t)(bits) << 8 | (set))

// acquire block NtoB, NtoT, acquire perm BtoT and get; acquire block of both kinds to memory;
// release data TtoB and TtoN; dirty evictions
static const tl_selector_row selectors[] = {
    {"l2_read",        SET(1, 1 << 3 | 1 << 6 | 1 << 7 | 1 << 10)},
    {"l2_readmiss",    SET(3, 1 << 0 | 1 << 1)},
    {"l2_write",       SET(1, 1 << 14 | 1 << 15)},
    {"l2_writeback",   SET(3, 1 << 9)},
    {"l2_read_i",      SET(1, 1 << 3)},
    {"l2_read_ld",     SET(1, 1 << 6)},
    {"l2_read_st",     SET(1, 1 << 7 | 1 << 10)},
    {"l2_evict_clean", SET(3, 1 << 6)},
};

uint64_t tl_ccache_selector_of(const tl_watchable *event) {
    const tl_selector_row *row = tl_selector_find(selectors, TL_COUNT_OF(selectors), event);
    return row ? row->selector : 0;
}
