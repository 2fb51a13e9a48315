// SPDX-License-Identifier: MIT
// Something that serves one request at a time.
//
// Harts run in turns, so one may lag behind, and its requests come when later ones have been
// served. A calendar has the busy cycles of the near past as a ring of bits. A request takes the
// first gap from its time on that is long enough, so only what came before it delays it. Where one
// hart asks alone there is no calendar, and the server remembers its last request.
#ifndef TL_MEM_SERVER_H
#define TL_MEM_SERVER_H

#include <stdint.h>

#include "base/bits.h"

typedef struct tl_server {
    uint64_t start, until; // of the last request; of all time, if there is a calendar
    uint64_t *calendar;    // bit c % n_calendar_cycles: cycle c is busy. NULL: there is none
    uint32_t n_calendar_cycles;
    uint64_t front; // of the calendar: one cycle more than the last busy one
} tl_server;

// Cycles that a calendar should have, a power of two, where requests come at most so late.
uint32_t tl_server_calendar_cycles(uint64_t lead_cycles);
// Gives a new server a calendar of zeros. A request from longer ago than the calendar goes back
// does not wait, and takes no time of the server.
void tl_server_take_calendar(tl_server *server, uint64_t *calendar, uint32_t n_cycles);

// A request of tl_server_occupy that may have to wait.
uint64_t tl_server_queue(tl_server *server, uint64_t time, uint32_t busy_cycles);

// Returns the cycles waited. Without a calendar, a request from before the last one does not wait.
static inline uint64_t tl_server_occupy(tl_server *server, uint64_t time, uint32_t busy_cycles) {
    if (TL_UNLIKELY(time >= server->start && time < server->until))
        return tl_server_queue(server, time, busy_cycles);
    server->start = time;
    server->until = time + busy_cycles;
    return 0;
}

// As tl_server_occupy, where there is no calendar.
TL_ALWAYS_INLINE uint64_t tl_server_occupy_alone(tl_server *server, uint64_t time, uint32_t busy_cycles) {
    const uint64_t wait = time >= server->start && time < server->until ? server->until - time : 0;
    server->start = time + wait;
    server->until = time + wait + busy_cycles;
    return wait;
}

#endif
