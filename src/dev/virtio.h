// SPDX-License-Identifier: MIT
// Shared by virtio devices: the memory-mapped transport and the split virtqueue (OASIS virtio 1.2,
// sec. 2.7 and 4.2, legacy included), written once. A kind of device adds its queues' meaning.
// Everything in a ring is the guest's word and is taken as hostile: a chain that loops, leaves RAM,
// mixes up its parts or holds empty buffers breaks the device, which then says DEVICE_NEEDS_RESET
// and does nothing until it is reset.
#ifndef TL_DEV_VIRTIO_H
#define TL_DEV_VIRTIO_H

#include "dev/devices.h"

enum { TL_VIRTIO_QUEUES = 2, TL_VIRTIO_QUEUE_SIZE = 256, TL_VIRTIO_CONFIG_BYTES = 64 };

typedef struct tl_virtio tl_virtio;

typedef struct tl_virtio_kind {
    uint32_t device_id;
    uint32_t n_queues;
    // The driver put buffers into the queue; called only while the device is in use.
    void (*notified)(tl_virtio *v, uint32_t queue);
    uint64_t (*tick)(tl_virtio *v); // as tl_device_type.tick; may be NULL
    void (*done)(tl_virtio *v);     // may be NULL
} tl_virtio_kind;

typedef struct tl_virtio_segment {
    uint64_t paddr;
    uint32_t size_bytes; // never 0
} tl_virtio_segment;

typedef struct tl_virtio_chain { // one request: what the device may read, then what it may write
    tl_virtio_segment segments[TL_VIRTIO_QUEUE_SIZE];
    uint32_t n_readable, n_writable; // segments
    uint64_t readable_bytes, writable_bytes;
    uint16_t head;
} tl_virtio_chain;

typedef struct tl_virtio_queue {
    uint64_t table_paddr, available_paddr, used_paddr;
    uint32_t size;               // entries
    uint32_t legacy_align_bytes; // of a queue given as one page; 0: as it is unless set
    bool is_ready;
    uint16_t next_available, next_used;
} tl_virtio_queue;

struct tl_virtio {
    tl_device device;
    const tl_virtio_kind *kind;
    uint64_t features, driver_features; // offered, accepted
    uint32_t version;                   // the version register of the transport: 1 or 2
    // log2 of the page size that a legacy driver counts in; outlives a reset.
    uint32_t legacy_page_shift;
    uint32_t features_select, driver_features_select, queue_select;
    uint32_t status, interrupt_status;
    tl_virtio_queue queues[TL_VIRTIO_QUEUES];
    uint8_t config[TL_VIRTIO_CONFIG_BYTES];
    uint32_t config_bytes;
    tl_virtio_chain chain; // the one being served
};

// state_size bytes that begin with a tl_virtio; NULL: no memory. VERSION_1 is added to the features
// of a transport of version 2.
void *tl_virtio_new(const tl_device_place *place, const tl_device_type *type, const tl_virtio_kind *kind, uint64_t features,
                    size_t state_size, tl_error *err);
// The functions of the device's type.
bool tl_virtio_mmio_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value);
bool tl_virtio_mmio_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value);
uint64_t tl_virtio_tick(tl_device *device);
void tl_virtio_done(tl_device *device);

// The next request of a queue, in v->chain; false: there is none, or the ring is broken.
bool tl_virtio_next(tl_virtio *v, uint32_t queue);
// Whether a request waits; a broken ring has none.
bool tl_virtio_has_next(tl_virtio *v, uint32_t queue);
// Gives v->chain back with what the device wrote, and interrupts.
void tl_virtio_used(tl_virtio *v, uint32_t queue, uint32_t written_bytes);
// Copies out of the readable part, into the writable part; the range lies within it. false: not
// RAM, the device is broken now.
TL_MUST_CHECK bool tl_virtio_copy_from(tl_virtio *v, uint64_t offset, void *bytes, uint64_t size_bytes);
TL_MUST_CHECK bool tl_virtio_copy_to(tl_virtio *v, uint64_t offset, const void *bytes, uint64_t size_bytes);
// The piece at `offset` of one part: at most size_bytes of it, as much as lies in one segment.
// NULL: as above.
TL_MUST_CHECK uint8_t *tl_virtio_piece(tl_virtio *v, bool is_write, uint64_t offset, uint64_t size_bytes, uint64_t *ret_bytes);
// The guest broke the rules of the ring.
void tl_virtio_break(tl_virtio *v);
// DRIVER_OK and not broken.
static inline bool tl_virtio_is_live(const tl_virtio *v) { return (v->status & 0x44) == 0x04; }

#endif
