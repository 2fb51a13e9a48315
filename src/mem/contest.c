// SPDX-License-Identifier: MIT
// Which lines are contested, and which accesses of them wait; see contest.h.
#include "mem/contest.h"

#include "mem/l2.h"

void tl_contest(tl_memory *m, tl_l2_line *entry, uint32_t hart, uint32_t others, uint64_t time) {
    entry->is_contested = true;
    m->contested_at[entry - m->l2_lines] = time;
    for (uint32_t left = others | 1u << hart; left != 0; left &= left - 1)
        tl_hart_note_sharing(m->harts[__builtin_ctz(left)].h, time);
}

static bool is_contested(const tl_memory *m, tl_l2_line *entry, uint64_t now) {
    if (entry->is_contested && now >= m->contested_at[entry - m->l2_lines] + TL_QUIET_CYCLES)
        entry->is_contested = false;
    return entry->is_contested;
}

static bool was_sharing(const tl_hart *h) { return h->now < h->sharing_until; }

bool tl_contest_refuses_fetch(tl_hart_mem *hm, uint64_t line) {
    return was_sharing(hm->h) && tl_is_ahead(hm) && tl_cache_find(&hm->l1i.cache, line) == TL_NO_WAY;
}

bool tl_contest_refuses(tl_hart_mem *hm, tl_l2_line *entry, bool is_store) {
    const tl_hart *h = hm->h;
    if (entry && (is_contested(hm->memory, entry, h->now) || tl_l2_needs_others(entry, h->id, is_store)))
        return hm->is_reaching || tl_is_ahead(hm);
    return was_sharing(h) && tl_is_ahead(hm);
}

bool tl_contest_refuses_hit(tl_hart_mem *hm, uint32_t way) {
    tl_l1_line *held = &hm->l1d.lines[way];
    held->is_contested = is_contested(hm->memory, &hm->memory->l2_lines[held->l2_way], hm->h->now);
    return held->is_contested && (hm->is_reaching || tl_is_ahead(hm));
}

bool tl_contest_would_refuse(tl_hart_mem *hm, uint64_t line, bool is_store) {
    if (!tl_is_ahead(hm))
        return false;
    tl_memory *m = hm->memory;
    uint32_t way = tl_cache_find(&hm->l1d.cache, line);
    if (way != TL_NO_WAY) {
        const tl_l1_line *held = &hm->l1d.lines[way];
        bool must_upgrade = is_store && held->state == TL_LINE_S;
        return (must_upgrade && tl_contest_refuses(hm, &m->l2_lines[held->l2_way], true)) ||
               (held->is_contested && tl_contest_refuses_hit(hm, way));
    }
    tl_l2_slice *slice = tl_l2_slice_of(m, line);
    uint32_t l2_way = tl_cache_find(&slice->cache, line);
    return tl_contest_refuses(hm, l2_way == TL_NO_WAY ? NULL : &m->l2_lines[slice->first_way + l2_way], is_store);
}
