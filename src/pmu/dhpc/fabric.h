// SPDX-License-Identifier: MIT
// Internals of the distributed HPC: clients, ports and messages. Every message carries the cycle of
// arrival, because clients follow their hart's cycle while ports are at their last step.
#ifndef TL_PMU_DHPC_FABRIC_H
#define TL_PMU_DHPC_FABRIC_H

#include "pmu/dhpc/dhpc.h"

#define TL_DHPC_NEVER UINT64_MAX
#define TL_DHPC_NO_PORT UINT32_MAX
#define TL_DHPC_NO_CLIENT UINT32_MAX
enum { TL_DHPC_INBOX = 2 * TL_DHPC_COUNTERS };

// A number read "in cycle t" covers events before t. Events of the last cycle are therefore kept
// apart.
typedef struct tl_dhpc_count {
    uint64_t value, before; // before: without events of cycle `at`
    uint64_t at;
} tl_dhpc_count;

typedef struct tl_dhpc_message { // from a port to a client
    uint64_t arrives_at, data, epoch;
    uint8_t index;
    bool has_data, is_last, is_confirmation; // of a cancel
} tl_dhpc_message;

// A request that has left its client and is not complete at its port.
typedef struct tl_dhpc_flight {
    uint32_t port; // TL_DHPC_NO_PORT: none
    bool is_granted;
    uint64_t bitmap, epoch, arrives_at;
    uint64_t cancel_at; // arrival of the cancel; TL_DHPC_NEVER: none
} tl_dhpc_flight;

typedef struct tl_dhpc_client {
    tl_pmu pmu; // first member: registers and port
    tl_dhpc *dhpc;
    uint32_t index;

    // State visible to software.
    bool trigger, interrupted, readerror, useren;
    uint32_t id;
    uint64_t bitmap, latch;
    uint64_t *fifo;
    uint32_t fifo_head, fifo_n;

    uint64_t epoch;
    bool is_pending;        // a request waits here for FIFO room or for a confirmation
    bool is_cancel_unknown; // a cancel was sent; no confirmation and no last beat has arrived
    uint64_t ready_at;      // first cycle without a blocking cancel
    uint32_t pending_port;
    uint64_t pending_bitmap;
    tl_dhpc_flight flight;
    tl_dhpc_message inbox[TL_DHPC_INBOX]; // in order of arrival
    uint32_t inbox_head, inbox_n;

    // The current access.
    uint64_t cycle;
    tl_priv priv;
    bool is_high;

    tl_dhpc_count stats[TL_DHPC_N_CLIENT_STATS];
    tl_dhpc_hart_account account;
} tl_dhpc_client;

typedef struct tl_dhpc_manager_port {
    // NULL: the interconnect answers for managers that are not built.
    const tl_dhpc_manager *manager;
    uint32_t server; // client in service, TL_DHPC_NO_CLIENT: free
    uint32_t last_granted;
    uint64_t free_at;   // no grant before this cycle
    uint64_t done_at;   // cycle of the last step
    uint64_t accept_at; // the manager accepts the request; snapshots belong to this cycle
    bool is_accepted;
    uint64_t beat_at; // cycle of the next beat
    uint64_t left;    // counters not sent yet
    uint64_t *snapshot;
    bool is_wanted; // the current access needs this port up to date
} tl_dhpc_manager_port;

struct tl_dhpc {
    tl_dhpc_config config;
    uint32_t access_bits, n_harts, n_managers;
    tl_dhpc_manager *managers;
    // One for each manager, then one for each hart, for managers that are not built.
    tl_dhpc_manager_port *ports;
    tl_dhpc_client **clients;
    tl_dhpc_count stats[TL_DHPC_N_FABRIC_STATS];
    tl_dhpc_total *total;
    void *total_ctx;
};

// fabric.c
TL_MUST_CHECK tl_status tl_dhpc_fabric_init(tl_dhpc *dhpc, tl_arena *arena, tl_error *err);
void tl_dhpc_fabric_reset(tl_dhpc *dhpc);
// Brings this client up to the cycle, with all that the client or its counts depend on.
void tl_dhpc_run(tl_dhpc *dhpc, tl_dhpc_client *client, uint64_t cycle);
// Sends the pending request if it may leave.
void tl_dhpc_inject(tl_dhpc_client *client, uint64_t cycle);
void tl_dhpc_cancel(tl_dhpc_client *client, uint64_t cycle);
uint32_t tl_dhpc_port_of(const tl_dhpc_client *client, uint32_t id); // port of this manager
void tl_dhpc_add(tl_dhpc_count *count, uint64_t n, uint64_t cycle);

// client.c
TL_MUST_CHECK tl_status tl_dhpc_client_init(tl_dhpc_client *client, tl_dhpc *dhpc, uint32_t index, tl_arena *arena, tl_error *err);
void tl_dhpc_client_reset(tl_dhpc_client *client);
void tl_dhpc_receive(tl_dhpc_client *client, const tl_dhpc_message *message);
uint64_t tl_dhpc_read_hpcc(tl_regfile *file, uint32_t index, uint64_t stored);
uint64_t tl_dhpc_read_hpcm(tl_regfile *file, uint32_t index, uint64_t stored);
uint64_t tl_dhpc_read_hpcr(tl_regfile *file, uint32_t index, uint64_t stored);
void tl_dhpc_hpcr_was_read(tl_regfile *file, uint32_t index, bool is_high);
void tl_dhpc_hpcc_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value);
void tl_dhpc_hpcm_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value);

static inline tl_dhpc_client *tl_dhpc_client_of(tl_regfile *file) { return (tl_dhpc_client *)file; }

#endif
