// SPDX-License-Identifier: MIT
// From what a detailed core tells (model/tap.h) to the clocks that tl_netburst counts. Both threads
// of a core tell their part of a clock; the clock is counted when one of them tells a later one.
// Uops carry their tags here, by the number of their instruction.
#ifndef TL_PMU_NETBURST_FEED_H
#define TL_PMU_NETBURST_FEED_H

#include "model/tap.h"
#include "pmu/netburst/skid.h"
#include "pmu/netburst/state.h"

typedef struct tl_netburst_feed tl_netburst_feed;

// Of the core whose first hart is `first_hart`. TL_EINVAL: the machine has no detailed core.
TL_MUST_CHECK tl_status tl_netburst_feed_new(tl_netburst *n, const tl_pmu_host *host, uint32_t first_hart, tl_arena *arena,
                                             tl_netburst_feed **ret_feed, tl_error *err);
void tl_netburst_feed_reset(tl_netburst_feed *feed);
// Counts the clocks before the one that the thread is in.
void tl_netburst_feed_catch_up(tl_netburst_feed *feed, uint32_t thread);
// Counts all clocks before the one under way.
void tl_netburst_feed_settle(tl_netburst_feed *feed);
// The clock under way, of an overflow that is being counted, and what the thread's hart had retired
// before it.
tl_moment tl_netburst_feed_moment(const tl_netburst_feed *feed, uint32_t thread);
// The first clock that was not counted.
uint64_t tl_netburst_feed_next(const tl_netburst_feed *feed);
// The thread runs this process from now on, under the user-mode personality.
void tl_netburst_feed_run_process(tl_netburst_feed *feed, uint32_t thread, uint64_t process);
// Attaches itself to the core while counters run.
void tl_netburst_feed_configured(tl_netburst_feed *feed);

#endif
