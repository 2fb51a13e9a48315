// SPDX-License-Identifier: MIT
// Something that serves one request at a time.
#ifndef TL_MEM_SERVER_H
#define TL_MEM_SERVER_H

#include <stdint.h>

// It remembers the last request only. Harts run in turns, so one may lag behind. A request from
// before the last one does not wait.
typedef struct tl_server {
    uint64_t start, until;
} tl_server;

// Returns the cycles waited.
static inline uint64_t tl_server_occupy(tl_server *server, uint64_t time, uint32_t busy_cycles) {
    uint64_t wait = time >= server->start && time < server->until ? server->until - time : 0;
    server->start = time + wait;
    server->until = server->start + busy_cycles;
    return wait;
}

#endif
