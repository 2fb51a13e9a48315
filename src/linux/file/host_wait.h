// SPDX-License-Identifier: MIT
// Threads that wait for the host: a terminal, a socket to the outside. The only place where host
// time matters; programs that do not talk to the outside never come here.
#ifndef TL_OS_HOST_WAIT_H
#define TL_OS_HOST_WAIT_H

#include "linux/process/process.h"

bool tl_host_wait_is_needed(const tl_os *os);
bool tl_host_wait_is_still(const tl_os *os);     // and nobody waits for more than named pipes
void tl_host_wait_poll(tl_os *os, uint64_t now); // now and then, while others run: wakes whose descriptors are ready
// Nobody runs: sleeps until a descriptor is ready or as much host time has passed as guest time
// would until `limit_cycle`; UINT64_MAX: for ever, and no guest time passes if
// tl_host_wait_is_still. true: somebody was woken, or it is worth looking again; false: the time is
// up.
bool tl_host_wait_sleep(tl_os *os, uint64_t limit_cycle);
void tl_host_waits_done(tl_os *os);

#endif
