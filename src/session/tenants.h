// SPDX-License-Identifier: MIT
// Runs a tenants file: a chip whose partitions run VMs, counted by VM and context.
// tally/tenants.h documents the functions, and src/api exports them.
#ifndef TL_SESSION_TENANTS_H
#define TL_SESSION_TENANTS_H

#include "result/cost.h"
#include "result/tenants.h"
#include "session/tenants_file.h"

void tl_tenants_init(tl_tenants_options *ret_options);
TL_MUST_CHECK tl_status tl_tenants_open(const tl_tenants_options *options, tl_tenants **ret_tenants, tl_error *err);
void tl_tenants_close(tl_tenants *tenants); // NULL is fine
TL_MUST_CHECK tl_status tl_tenants_run(tl_tenants *tenants, tl_run_state *ret_state, tl_error *err);
void tl_tenants_end(tl_tenants *tenants, tl_end_reason reason);
void tl_tenants_serve_oob(tl_tenants *tenants);
TL_MUST_CHECK tl_status tl_tenants_count(tl_tenants *tenants, bool of_interval, tl_tenants_counts **ret_counts, tl_error *err);
// Tells what the hardware of the monitor cost so far (wants_cost). The caller frees it
// (tl_cost_free).
// TL_EINVAL: nobody asked for it when the run began.
TL_MUST_CHECK tl_status tl_tenants_cost_new(const tl_tenants *tenants, tl_cost **ret_cost, tl_error *err);

#endif
