// SPDX-License-Identifier: MIT
// Programs of contexts that read the monitor's blocks by loads (/dev/NAME of the design). A load
// shows the blocks as they are in its cycle: the other partitions reach it first.
#ifndef TL_SESSION_TENANTS_CLIENTS_H
#define TL_SESSION_TENANTS_CLIENTS_H

#include "session/tenants_state.h"

// The window of clients in the physical addresses of each partition, outside of RAM.
#define TL_TENANTS_WINDOW_PADDR UINT64_C(0x60000000)

// Gives contexts their windows. Nothing happens without a monitor that has one.
void tl_tenants_clients_open(tl_tenants *tenants);
// The cycle at which the present run of a partition must end, because a client asked for something;
// UINT64_MAX: none. Forgets it.
uint64_t tl_tenants_clients_take_end(tl_tenants *tenants, uint32_t partition);

#endif
