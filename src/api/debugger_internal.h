// SPDX-License-Identifier: MIT
// A debugger: over a model host in this process, or a connection to one.
#ifndef TL_API_DEBUGGER_INTERNAL_H
#define TL_API_DEBUGGER_INTERNAL_H

#include <tally/debugger.h>

#include "api/fill.h"
#include "monitor/client/xcm_client.h"
#include "xcm/server.h"

enum { TL_DEBUGGER_PLACES = 4096 };

struct tl_debugger {
    tl_xcm_model *model; // NULL: connected
    tl_xcm_server *server;
    tl_xcm_reply reply;
    xcm_geometry geometry;
    tl_debugger_entry *places; // of the trace, as last read
    xcm_client *client;        // of a connection; NULL: a model
    xcm_client_reply answer;
};

// debugger_socket.c
void tl_debugger_ask(tl_debugger *monitor, xcm_function function, const uint64_t *args, uint32_t n);
bool tl_debugger_hear(tl_debugger *monitor, uint64_t limit_ns, uint64_t ret[3]);

#endif
