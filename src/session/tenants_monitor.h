// SPDX-License-Identifier: MIT
// A run of a tenants file under a monitor of the chip (model/chip_monitor.h): partitions run up to
// the cycles whose totals the monitor reads, and a switch of contexts takes as long as the
// monitor's steps.
#ifndef TL_SESSION_TENANTS_MONITOR_H
#define TL_SESSION_TENANTS_MONITOR_H

#include "session/tenants_state.h"

// Builds the monitor that the plan names. Nothing happens if the plan names none.
TL_MUST_CHECK tl_status tl_tenants_monitor_open(tl_tenants *tenants, tl_error *err);
// The first contexts get their partitions, and counting begins.
TL_MUST_CHECK tl_status tl_tenants_monitor_start(tl_tenants *tenants, tl_error *err);
// A partition stands still at `cycle` and has been charged. Its `to`, `next` and `ends` are known.
void tl_tenants_halt(tl_tenants *tenants, uint32_t partition, uint64_t cycle);
// tl_chip_runner.horizon and moved.
uint64_t tl_tenants_horizon(void *tenants, uint32_t partition);
void tl_tenants_moved(void *tenants, uint64_t cycle, uint32_t tag);
// tl_chip_run, with the monitor.
TL_MUST_CHECK tl_status tl_tenants_run_monitored(tl_tenants *tenants, uint64_t until, bool *ret_done, tl_error *err);
// A partition is held. The others and what they share come up to `target`, if totals of the held
// one are not due before.
TL_MUST_CHECK tl_status tl_tenants_run_others(tl_tenants *tenants, uint64_t target, tl_error *err);
// The run stops here: every partition is halted, and the monitor delivers what is on its way. A
// failure is kept for tl_tenants_read_blocks.
void tl_tenants_stop_monitored(tl_tenants *tenants);
void tl_tenants_monitor_close(tl_tenants *tenants); // all partitions have ended
// Adds the blocks to the rows of counts, beside the truth. TL_EINVAL: blocks that differ from it
// after a complete run, and do not say why.
TL_MUST_CHECK tl_status tl_tenants_read_blocks(tl_tenants *tenants, tl_tenants_counts *counts, tl_error *err);

#endif
