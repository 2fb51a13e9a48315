// SPDX-License-Identifier: MIT
// The model host behind a Unix socket of type SOCK_SEQPACKET. A message is a packet of
// monitor/xcm.h, byte for byte. A new client first gets an event of kind XCM_EVENT_HELLO with the
// ring as a descriptor (SCM_RIGHTS), then each event, and replies to its own packets. The client
// whose packet is accepted first owns the target until it goes.
#ifndef TL_XCM_SERVER_H
#define TL_XCM_SERVER_H

#include "xcm/model.h"

typedef struct tl_xcm_server tl_xcm_server;
// Listens at `path`, with mode 0600. TL_EINVAL: the path is too long, or something is there.
TL_MUST_CHECK tl_status tl_xcm_server_new(const char *path, tl_xcm_server **ret_server, tl_error *err);
// Removes the socket. NULL is fine.
void tl_xcm_server_free(tl_xcm_server *server);
// tl_xcm_options.on_packet of the model that is served; ctx is the server.
void tl_xcm_server_packet(void *server, const uint8_t *packet, uint32_t n_bytes);
// Serves until the driver is unloaded, wants_stop says so, the software has ended and its clients
// have gone, or so many seconds of the host are over. Simulated time follows the host's clock while
// the monitor listens; else the board stands still. The target is left running, and nothing of the
// monitor on it.
void tl_xcm_serve(tl_xcm_server *server, tl_xcm_model *model, uint32_t seconds, bool (*wants_stop)(void *ctx), void *ctx);

#endif
