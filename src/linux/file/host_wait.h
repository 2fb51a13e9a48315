// SPDX-License-Identifier: MIT
// Threads that wait for the host: a terminal, a host socket, a host FIFO. Only these waits depend
// on host time. Programs without host input never use them.
#ifndef TL_OS_HOST_WAIT_H
#define TL_OS_HOST_WAIT_H

#include "linux/process/process.h"

bool tl_host_wait_is_needed(const tl_os *os);
bool tl_host_wait_is_still(const tl_os *os); // every wait for the host is for a named pipe
// Called periodically while threads run: wakes threads whose descriptors are ready.
void tl_host_wait_poll(tl_os *os, uint64_t now);
// Call it when no thread can run. Sleeps until a descriptor is ready, or until the host time that
// equals the guest time to `limit_cycle` has passed. UINT64_MAX: without limit; no guest time then
// passes if tl_host_wait_is_still. true: check for ready threads; false: the time is over.
bool tl_host_wait_sleep(tl_os *os, uint64_t limit_cycle);
void tl_host_waits_done(tl_os *os);

#endif
