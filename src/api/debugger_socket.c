// SPDX-License-Identifier: MIT
// A debugger of a board that another process serves, over the client library of monitor/.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/debugger_internal.h"

enum { MOST_WAIT_MS = 60000 };
static const uint64_t NS_PER_MS = 1000000;

void tl_debugger_ask(tl_debugger *monitor, xcm_function function, const uint64_t *args, uint32_t n) {
    const int error = xcm_client_call(monitor->client, function, args, n, &monitor->answer);
    monitor->reply.code = error < 0 ? XCM_INTERNAL : monitor->answer.code;
    monitor->reply.n_values = error < 0 ? 0 : monitor->answer.n_values;
    if (error < 0)
        return;
    monitor->reply.state = monitor->answer.state;
    memcpy(monitor->reply.values, monitor->answer.values, monitor->answer.n_values * sizeof monitor->answer.values[0]);
}

bool tl_debugger_hear(tl_debugger *monitor, uint64_t limit_ns, uint64_t ret[3]) {
    const uint64_t limit_ms = limit_ns / NS_PER_MS;
    xcm_client_event event;
    if (xcm_client_wait(monitor->client, limit_ms > MOST_WAIT_MS ? MOST_WAIT_MS : (int)limit_ms, &event) <= 0)
        return false;
    ret[0] = event.kind;
    ret[1] = event.pc;
    ret[2] = event.detail;
    return true;
}

TL_API tl_status tl_debugger_connect(const char *path, tl_debugger **ret_monitor, tl_error *err) {
    char why[256];
    tl_debugger *monitor = calloc(1, sizeof *monitor);
    if (!monitor)
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor");
    // Tags are decoded as those of the Cortex-A53 with its largest usual caches.
    monitor->geometry = (xcm_geometry){.l1d_sets = 128, .l1d_ways = 4, .l1i_sets = 256, .l1i_ways = 2, .line_bytes = 64};
    const int error = xcm_client_open_socket(path, &monitor->client, why, sizeof why);
    if (error < 0) {
        tl_debugger_free(monitor);
        return tl_fail(err,
                       error == -ENAMETOOLONG                       ? TL_EINVAL
                       : error == -ENOENT || error == -ECONNREFUSED ? TL_ENOENT
                       : error == -EPROTO                           ? TL_EIO
                       : error == -ENOMEM                           ? TL_ENOMEM
                                                                    : TL_EACCESS,
                       "%s", why);
    }
    *ret_monitor = monitor;
    return TL_OK;
}
