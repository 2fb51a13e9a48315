// SPDX-License-Identifier: MIT
// Which requests for shared lines wait; see contest.h.
#include "mem/contest.h"

// Whether the request probes another data cache.
static bool needs_others(const tl_l2_line *entry, const tl_l2_client *client, bool is_store) {
    return (is_store || entry->is_owned) && tl_l2_others(entry, client) != 0;
}

bool tl_contest_refuses_shared(const tl_contender *contender, const tl_l2_client *client, tl_l2_line *entry, bool is_store) {
    if (entry && (tl_l2_contest_lasts(client->l2, entry, contender->h->now) || needs_others(entry, client, is_store)))
        return contender->is_reaching || tl_is_ahead(contender);
    return tl_was_sharing(contender) && tl_is_ahead(contender);
}
