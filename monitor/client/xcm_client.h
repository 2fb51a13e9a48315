// SPDX-License-Identifier: MIT
// The client library of the cross-core monitor. A program asks a monitor to halt, inspect and
// restart a target core. The monitor is the kernel module xcm.ko, or a board that `tally monitor
// --serve` simulates. Packets, codes and records are those of monitor/xcm.h.
//
//   xcm_client_open_netlink(1, &client, why, sizeof why);      // or xcm_client_open_socket
//   xcm_client_call(client, XCM_LISTEN_START, NULL, 0, reply);
//   xcm_client_call(client, XCM_HALT_REQ, NULL, 0, reply);    // reply->values: EDSCR.STATUS, pc
//   xcm_client_close(client);                                  // the target runs
//
// One thread uses a client. Functions that return an int return 0, or a negative errno value; `why`
// then holds one sentence. A refusal by the monitor is a reply and no failure.
#ifndef XCM_CLIENT_H
#define XCM_CLIENT_H

#include "monitor/xcm.h"

typedef struct xcm_client xcm_client;

typedef struct xcm_client_reply {
    xcm_code code; // xcm_code_text gives its sentence
    xcm_state state;
    uint32_t n_values;
    uint64_t values[XCM_ELEMENTS];
} xcm_client_reply;

typedef struct xcm_client_event {
    xcm_event kind;
    uint64_t pc, detail;
} xcm_client_event;

// -- Transports.

// A transport carries packets. Its own function of opening allocates it.
typedef struct xcm_transport {
    void *ctx;
    int target; // core of this system; -1: the target is elsewhere
    // Sends one packet.
    int (*send)(void *ctx, const uint8_t *packet, uint32_t n_bytes);
    // Receives one packet. Returns its bytes, 0 when the time is over, or a negative errno value.
    int (*receive)(void *ctx, uint8_t *to, uint32_t capacity, int timeout_ms);
    // Header and data of the ring, of n_bytes in all; NULL: the transport has none.
    uint8_t *(*ring)(void *ctx, size_t *ret_bytes);
    // Writes the transcript to a descriptor of this process; NULL: there is none.
    int (*transcript)(void *ctx, int to);
    void (*close)(void *ctx);
} xcm_transport;

// Takes the transport, also when it fails.
int xcm_client_open(const xcm_transport *transport, xcm_client **ret_client, char *why, size_t why_bytes);
// The kernel module of a target core: its generic netlink family and /dev/xcmN. Opening makes this
// process the owner; -EBUSY: another process is.
int xcm_client_open_netlink(unsigned target, xcm_client **ret_client, char *why, size_t why_bytes);
// The server at a Unix socket. The first client whose packet is accepted owns the target. There is
// no transcript. -ENAMETOOLONG: no path of a socket. -ECONNREFUSED, -ENOENT: nobody listens there.
// -EPROTO: no monitor does.
int xcm_client_open_socket(const char *path, xcm_client **ret_client, char *why, size_t why_bytes);
// The target runs afterwards, whatever its state was. NULL is fine.
void xcm_client_close(xcm_client *client);

// -- Requests.

// Sends a request and waits for its reply. Events that come first are kept for xcm_client_wait.
int xcm_client_call(xcm_client *client, xcm_function function, const uint64_t *args, uint32_t n_args, xcm_client_reply *ret_reply);
// Sends any packet of the caller, a wrong one too, and waits for its reply.
int xcm_client_send(xcm_client *client, const uint8_t *packet, uint32_t n_bytes, xcm_client_reply *ret_reply);
// Waits for the oldest event. Returns 1, or 0 when the time is over.
int xcm_client_wait(xcm_client *client, int timeout_ms, xcm_client_event *ret_event);
// Takes the next record of the ring. `to` gets at most `capacity` bytes of the payload. false: the
// ring is empty.
bool xcm_client_take(xcm_client *client, xcm_record *ret_record, uint8_t *to, uint32_t capacity);

// Writes the transcript of the monitor, laid out as monitor/linux/transcript.h says. -ENOSYS: there
// is none.
int xcm_client_transcript(xcm_client *client, int to);

// -- Code at addresses. A hit calls `fn` while the target is halted. The library sends RESUME
// afterwards. `fn` NULL removes the address. -ENOSPC: more than XCM_CLIENT_HITS addresses.
enum { XCM_CLIENT_HITS = 64 };
typedef void xcm_client_hit(void *ctx, xcm_client *client, uint64_t address);
int xcm_client_on_hit(xcm_client *client, uint64_t address, xcm_client_hit *fn, void *ctx);

// -- The module.

// Loads the module from a file with parameters as "target=1 debugger=2". On failure `why` has the
// kernel's own sentence.
int xcm_client_load_module(const char *path, const char *parameters, char *why, size_t why_bytes);
// -EBUSY: a client has the device open.
int xcm_client_unload_module(char *why, size_t why_bytes);

// The sentence of a code, with what this system knows beyond it: an offline core, for instance.
const char *xcm_client_explain(xcm_client *client, xcm_code code, char *to, size_t to_bytes);

#endif
