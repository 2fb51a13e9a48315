// SPDX-License-Identifier: MIT
// Lines that several harts use. Harts run in turns, ahead of one another. Effects on a shared line
// must happen in the order of clocks. A hit must not precede a store that takes the line away.
//
// A contact is a probe of a data cache for another hart. It is *close* if the probed hart, which is
// not behind, may have used the line in a later cycle: it used the line in its epoch, and one of
// both changed the line. Other contacts came in the order of clocks anyway. A line is *contested*
// from a close contact until there was no contact about it for a while (docs/model.md 1.5). No slot
// ever shows a contested line. Each access of it asks, and waits until its hart is the one furthest
// behind. A request that needs a probe waits in the same way. An access that must wait is refused
// before it has any effect, which ends the turn. The hart repeats the access later.
//
// The second level notes contested lines. The first level asks here before it asks the second
// level.
#ifndef TL_MEM_CONTEST_H
#define TL_MEM_CONTEST_H

#include "mem/l2.h"
#include "model/hart.h"

typedef struct tl_contender { // of a hart, as far as it matters to its access under way
    const tl_hart *h;
    bool is_permitted; // the access does not wait
    // The access is from tl_mem_port.reach_load or reach_store, whose caller may use the line again
    // without a call.
    bool is_reaching;
} tl_contender;

// Returns whether another hart may still make an access that comes before an access of this hart.
TL_ALWAYS_INLINE bool tl_is_ahead(const tl_contender *contender) {
    return contender->h->now > contender->h->first_until && !contender->is_permitted;
}
// Returns whether the hart had a close contact lately.
TL_ALWAYS_INLINE bool tl_was_sharing(const tl_contender *contender) { return contender->h->now < contender->h->sharing_until; }

// An access of a contested line that hits its data cache is refused.
static inline bool tl_contest_refuses_hit(const tl_contender *contender) { return contender->is_reaching || tl_is_ahead(contender); }

// A request of the program is refused. It asks for a line, which the second level has (`entry`) or
// has not (NULL), or for permission to write it. Most lines and most harts are not shared.
TL_NOINLINE bool tl_contest_refuses_shared(const tl_contender *contender, const tl_l2_client *client, tl_l2_line *entry, bool is_store);
TL_ALWAYS_INLINE bool tl_contest_refuses(const tl_contender *contender, const tl_l2_client *client, tl_l2_line *entry, bool is_store) {
    return (TL_UNLIKELY(tl_was_sharing(contender)) || (entry && TL_UNLIKELY(tl_l2_is_shared(entry, client)))) &&
           tl_contest_refuses_shared(contender, client, entry, is_store);
}

#endif
