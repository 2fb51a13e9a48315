// SPDX-License-Identifier: MIT
// Lines that several harts use. Harts run in turns, ahead of one another; what one does to a line of another must then happen in the order
// of their clocks, and a hit must not come before a store that takes the line away.
//
// A line is *contested* from a probe of a data cache for the sake of another hart until it was quiet for a while (docs/model.md 1.5). No
// slot ever shows a contested line: each access of it asks, and waits until its hart is the one furthest behind. So does a request that
// needs a probe. An access that must wait is refused before anything of it has happened, which ends the turn, and is made again later.
#ifndef TL_MEM_CONTEST_H
#define TL_MEM_CONTEST_H

#include "mem/memory.h"

// Other harts may yet do what comes before an access of this one.
TL_ALWAYS_INLINE bool tl_is_ahead(const tl_hart_mem *hm) { return hm->h->now > hm->h->first_until && !hm->is_permitted; }

// The data caches of `others`, a bit for each hart, are probed for the sake of `hart`.
TL_NOINLINE void tl_contest(tl_memory *m, tl_l2_line *entry, uint32_t hart, uint32_t others, uint64_t time);
// An access of the program asks for a line of the second level or for permission to write it; or hits the contested way of its data cache.
// true: it is refused, because it must wait, or because the caller of tl_mem_port.reach_load or reach_store may use the line again unasked.
TL_NOINLINE bool tl_contest_refuses(tl_hart_mem *hm, tl_l2_line *entry, bool is_store);
TL_NOINLINE bool tl_contest_refuses_hit(tl_hart_mem *hm, uint32_t way);
// A fetch of this line, translated without loss of time.
TL_NOINLINE bool tl_contest_refuses_fetch(tl_hart_mem *hm, uint64_t line);
// Whether tl_l1d_access would refuse an access of this line.
bool tl_contest_would_refuse(tl_hart_mem *hm, uint64_t line, bool is_store);

#endif
