// SPDX-License-Identifier: MIT
// A debugger: over a model host in this process, or a connection to one.
#ifndef TL_API_DEBUGGER_INTERNAL_H
#define TL_API_DEBUGGER_INTERNAL_H

#include <tally/debugger.h>

#include "api/fill.h"
#include "xcm/server.h"

enum { TL_DEBUGGER_PLACES = 4096, TL_DEBUGGER_EVENTS = 64 };

struct tl_debugger {
    tl_xcm_model *model; // NULL: connected
    tl_xcm_server *server;
    tl_xcm_reply reply;
    xcm_geometry geometry;
    tl_debugger_entry *places; // of the trace, as last read
    // A connection.
    int fd;
    uint8_t *ring;
    size_t ring_size;
    uint64_t events[TL_DEBUGGER_EVENTS][3];
    uint32_t n_events;
};

// debugger_socket.c
void tl_debugger_ask(tl_debugger *monitor, xcm_function function, const uint64_t *args, uint32_t n);
bool tl_debugger_hear(tl_debugger *monitor, uint64_t limit_ns, uint64_t ret[3]);
void tl_debugger_hang_up(tl_debugger *monitor);

#endif
