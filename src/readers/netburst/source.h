// SPDX-License-Identifier: MIT
// The source of a report from a Pentium 4's counters, and what samples with them.
#ifndef TL_READERS_NETBURST_SOURCE_H
#define TL_READERS_NETBURST_SOURCE_H

#include "pmu/netburst/catalogue.h"
#include "session/source.h"

typedef struct netburst_source {
    tl_source base;
    tl_netburst_request requests[TL_NETBURST_MAX_REQUESTS]; // by event
    uint32_t n_requests;
    tl_netburst_plan plan;
    tl_counted counted[TL_NETBURST_MAX_REQUESTS];
    const tl_counted *listed[TL_NETBURST_MAX_REQUESTS];
    // Of counting: the event of each counter, in the order of plan.places. Banks follow a thread,
    // so such an event has a counter for each one.
    uint32_t n_counting;
    uint8_t counting[TL_NETBURST_MAX_REQUESTS];
    // Of sampling: an event has a counter for each thread, in the order of plan.places.
    tl_netburst_skid skid;
    uint32_t n_sampled;
    struct netburst_sampled {
        uint8_t event, thread;
        bool is_by_assist; // else by interrupts
    } sampled[TL_NETBURST_MAX_REQUESTS];
} netburst_source;

// The request for one thread of a core. false: the event is not of this thread.
bool netburst_request_of_thread(const tl_netburst_request *request, uint32_t thread, tl_netburst_request *ret_request);
// Makes the plan of counters that sample the events. TL_EINVAL: there are too few.
TL_MUST_CHECK tl_status netburst_sampling_allocate(netburst_source *source, const tl_netburst_settings *settings, const tl_config *config,
                                                   tl_error *err);
// Members of tl_source_type.
TL_MUST_CHECK tl_status netburst_sampling_attach(tl_source *source, tl_machine *machine, const tl_sample_taker *sampling,
                                                 tl_arena *of_outline, tl_arena *of_run, void **ret_sampler, tl_error *err);
void netburst_sampling_begin(void *sampler);
void netburst_sampling_interrupted(void *sampler, tl_hart *h);
void netburst_sampling_tell_losses(void *sampler);
const char *netburst_sampling_method(const tl_source *source, uint32_t event);

#endif
