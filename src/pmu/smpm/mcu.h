// SPDX-License-Identifier: MIT
// Firmware of the secure controller: verified requests, capabilities, leases, rate limits, audit
// log. All memory is in tl_smpm_mcu; nothing is allocated after init, and nothing depends on an
// operating system. The device is behind tl_smpm_source, so that the firmware runs on any model of
// it.
//
// A request has 144 bytes, little-endian:
//
//   0 u32 magic 'SMPQ'   4 u16 version 1   6 u16 op   8 u32 requester   12 u32 vm   16 u32 ctx
//   20 u32 handle   24 u64 seq   32 u64 min_interval   40 u64 lease   48 u64 mask[8]
//   112 HMAC-SHA-256 over bytes 0 to 111, with the requester's key
//
// seq grows with every request of a requester; a request with an old one is a replay. Intervals and
// leases are PM cycles. Specification sections 14.1, 14.2; F-19.
#ifndef TL_PMU_SMPM_MCU_H
#define TL_PMU_SMPM_MCU_H

#include "pmu/smpm/access.h"
#include "pmu/smpm/block.h"

enum {
    TL_SMPM_MAX_REQUESTERS = 16,
    TL_SMPM_MAX_CAPS = 64,
    TL_SMPM_MASK_WORDS = 8, // 512 metrics; those beyond are in no mask
    TL_SMPM_REQUEST_BYTES = 144,
    TL_SMPM_REQUEST_MAGIC = 0x51504d53, // "SMPQ" in memory
    TL_SMPM_KEY_BYTES = 32,
};

typedef struct tl_smpm_counts {
    uint64_t now_cycles;                // PM clock
    uint64_t idle_cycles, total_cycles; // of the device since reset
    uint32_t n_metrics, n_blocks;
    uint32_t n_partitions; // in use
    uint32_t generation;   // grows when partitions or routes change
    bool is_driver_loaded, is_lossy, has_overflow;
} tl_smpm_counts;

typedef enum tl_smpm_configured {
    TL_SMPM_CONFIGURED,
    TL_SMPM_CONFIGURE_REFUSED, // it would take metrics from the device block
    TL_SMPM_CONFIGURE_INVALID, // no such key, or a value out of range
} tl_smpm_configured;

// The device as the firmware sees it. No function allocates.
typedef struct tl_smpm_source {
    void *device;
    // A coherent copy of a block; ret_words has n_words.
    tl_smpm_copied (*read)(void *device, tl_smpm_kind kind, uint32_t vm, uint32_t ctx, uint64_t *ret_words, uint32_t n_words);
    void (*counts)(void *device, tl_smpm_counts *ret_counts);
    // Asks for trigger, flush and commit. False: a switch runs.
    bool (*snapshot)(void *device, uint32_t vm);
    tl_smpm_configured (*configure)(void *device, uint32_t key, uint32_t value);
    // Name of a metric; NULL: nothing counts it. The member may be NULL, too.
    const char *(*name)(void *device, uint32_t metric);
} tl_smpm_source;

typedef enum tl_smpm_right {
    TL_SMPM_RIGHT_GRANT = 1 << 0,     // capabilities of the requester's VMs
    TL_SMPM_RIGHT_LATCH_VM = 1 << 1,  // out-of-band reads of blocks of its VMs
    TL_SMPM_RIGHT_CONFIGURE = 1 << 2, // out-of-band configuration
} tl_smpm_right;

typedef struct tl_smpm_requester {
    uint32_t id; // not 0
    uint32_t rights;
    uint64_t vms; // set
    uint8_t key[TL_SMPM_KEY_BYTES];
    uint64_t last_seq;
} tl_smpm_requester;

typedef enum tl_smpm_op { TL_SMPM_OP_GRANT = 1, TL_SMPM_OP_RENEW = 2, TL_SMPM_OP_REVOKE = 3 } tl_smpm_op;

typedef enum tl_smpm_reply {
    TL_SMPM_REPLY_OK,
    TL_SMPM_REPLY_MALFORMED,
    // Bad code, unknown requester, or a replay. The reply does not tell which.
    TL_SMPM_REPLY_UNVERIFIED,
    TL_SMPM_REPLY_DENIED,
    TL_SMPM_REPLY_NO_HANDLE, // unknown, expired, or of another client
    TL_SMPM_REPLY_TOO_SOON,
    TL_SMPM_REPLY_FULL,
    TL_SMPM_REPLY_BUSY,
    TL_SMPM_REPLY_NO_BLOCK,
} tl_smpm_reply;

typedef struct tl_smpm_cap {
    bool is_used, has_read;
    uint32_t generation; // with the index it is the handle, so that old handles are invalid
    uint32_t vm, ctx;    // ctx TL_SMPM_NO_CTX: of the guest's system
    uint32_t requester;
    uint64_t mask[TL_SMPM_MASK_WORDS];
    uint64_t min_interval, until, last_read; // cycles
} tl_smpm_cap;

// Snapshots of a VM.
typedef struct tl_smpm_rate {
    bool has_snapshot;
    uint64_t last, window_begin;
    uint32_t n_in_window;
} tl_smpm_rate;

typedef struct tl_smpm_limits {
    uint64_t snapshot_cycles;      // between two snapshots of a VM; 10,000
    uint32_t snapshots_per_second; // 1000
    uint64_t pm_hz;                // cycles of a second
    uint64_t max_lease_cycles;
} tl_smpm_limits;

typedef struct tl_smpm_mcu {
    const tl_smpm_source *source;
    tl_smpm_policy policy;
    tl_smpm_limits limits;
    uint64_t listed[TL_SMPM_MASK_WORDS]; // metrics that stay visible while a VM is confidential
    uint8_t secret[TL_SMPM_KEY_BYTES];   // of challenges
    uint64_t n_challenges;
    tl_smpm_requester requesters[TL_SMPM_MAX_REQUESTERS];
    tl_smpm_cap caps[TL_SMPM_MAX_CAPS];
    tl_smpm_rate rates[TL_SMPM_MAX_VMS];
    tl_smpm_audit audit;
} tl_smpm_mcu;

// `secret` is random, or a constant where runs must repeat.
void tl_smpm_mcu_init(tl_smpm_mcu *mcu, const tl_smpm_source *source, bool is_literal, const uint8_t secret[TL_SMPM_KEY_BYTES]);
// False: the id is 0 or taken, or the table is full. last_seq starts at 0.
bool tl_smpm_mcu_enroll(tl_smpm_mcu *mcu, const tl_smpm_requester *requester);
tl_smpm_requester *tl_smpm_mcu_requester(tl_smpm_mcu *mcu, uint32_t id); // NULL: unknown

// Any bytes. `sender` is who delivered the request, by what the hardware says. *ret_handle is set
// by a grant only. Nothing but the audit log changes unless the reply is OK; last_seq changes with
// every request whose code is right.
tl_smpm_reply tl_smpm_mcu_request(tl_smpm_mcu *mcu, const tl_smpm_identity *sender, const uint8_t *bytes, size_t n_bytes,
                                  uint32_t *ret_handle);

// Reads the client's own block through a capability: that of its context, or of its VM if `of_vm`.
// Metrics outside of the mask become UNAVAILABLE. Any handle is accepted.
tl_smpm_reply tl_smpm_mcu_read(tl_smpm_mcu *mcu, const tl_smpm_identity *client, uint32_t handle, bool of_vm, uint64_t *ret_words,
                               uint32_t n_words);
// Reads a block as the matrix allows `reader` to: the hypervisor's view, a guest's system without a
// capability, the controller itself. With an allow-list, other metrics become UNAVAILABLE. DENIED
// is a fault for the reader; ret_words is then left alone. MALFORMED: the object is no block.
tl_smpm_reply tl_smpm_mcu_view(tl_smpm_mcu *mcu, const tl_smpm_identity *reader, const tl_smpm_object *object, uint64_t *ret_words,
                               uint32_t n_words);
tl_smpm_reply tl_smpm_mcu_snapshot(tl_smpm_mcu *mcu, const tl_smpm_identity *client, uint32_t handle);
// A client died, or with TL_SMPM_NO_CTX the VM: its capabilities end.
void tl_smpm_mcu_drop(tl_smpm_mcu *mcu, uint32_t vm, uint32_t ctx);

// For requesters: bytes 112 to 143 of a request.
void tl_smpm_request_sign(uint8_t request[TL_SMPM_REQUEST_BYTES], const uint8_t key[TL_SMPM_KEY_BYTES]);
typedef struct tl_smpm_request {
    uint16_t op;
    uint32_t requester, vm, ctx, handle;
    uint64_t seq, min_interval, lease, mask[TL_SMPM_MASK_WORDS];
} tl_smpm_request;
void tl_smpm_request_write(const tl_smpm_request *request, const uint8_t key[TL_SMPM_KEY_BYTES], uint8_t ret_bytes[TL_SMPM_REQUEST_BYTES]);

// Makes metrics outside of `mask` UNAVAILABLE in a copy of a block, with all their parts zero. A
// copy without BITMAP becomes UNAVAILABLE as a whole if any metric is outside.
void tl_smpm_mask_copy(uint64_t *words, const uint64_t mask[TL_SMPM_MASK_WORDS]);

#endif
