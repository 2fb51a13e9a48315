// SPDX-License-Identifier: MIT
// Threads of the host that run partitions ahead (tl_os_run_ahead). The thread of the run does
// everything else: the chip, kernels, and all that the host can notice, in the order of one thread.
// The order in which threads work therefore changes no result.
#ifndef TL_SESSION_TENANTS_JOBS_H
#define TL_SESSION_TENANTS_JOBS_H

#include "linux/os.h"

typedef struct tl_tenants_jobs tl_tenants_jobs;

// n_threads: with that of the run, 2 or more. Fewer are there if the host refuses some.
TL_MUST_CHECK tl_status tl_tenants_jobs_open(uint32_t n_threads, tl_tenants_jobs **ret_jobs, tl_error *err);
void tl_tenants_jobs_close(tl_tenants_jobs *jobs); // NULL is fine
// The kernel of the partition has begun to run ahead. Some thread goes on with it.
void tl_tenants_jobs_add(tl_tenants_jobs *jobs, uint32_t partition, tl_os *os);
// Added, and nobody has waited for it.
bool tl_tenants_jobs_has(tl_tenants_jobs *jobs, uint32_t partition);
// The partition has run ahead, or was not added. Its machine is the caller's again.
void tl_tenants_jobs_wait(tl_tenants_jobs *jobs, uint32_t partition);
// All machines are the caller's. Partitions that were added stay so.
void tl_tenants_jobs_settle(tl_tenants_jobs *jobs);

#endif
