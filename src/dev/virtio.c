// SPDX-License-Identifier: MIT
// The transport and the rings; see virtio.h. Sections are those of virtio 1.2. Offered are
// VERSION_1, unless the transport shows version 1, and what the kind adds: no indirect descriptors,
// no event index, no reset of single queues. A request is served within the access that announced
// it. The registers of both versions work in both: software for QEMU's virt board expects either
// one, by its options.
#include "dev/virtio.h"

#include <string.h>

#include "base/bits.h"

enum { // sec. 4.2.2
    MAGIC = 0x000,
    VERSION = 0x004,
    DEVICE_ID = 0x008,
    VENDOR_ID = 0x00c,
    DEVICE_FEATURES = 0x010,
    DEVICE_FEATURES_SELECT = 0x014,
    DRIVER_FEATURES = 0x020,
    DRIVER_FEATURES_SELECT = 0x024,
    LEGACY_PAGE_SIZE = 0x028, // sec. 4.2.4: of version 1, with the two below
    QUEUE_SELECT = 0x030,
    QUEUE_SIZE_MAX = 0x034,
    QUEUE_SIZE = 0x038,
    LEGACY_QUEUE_ALIGN = 0x03c,
    LEGACY_QUEUE_PAGE = 0x040,
    QUEUE_READY = 0x044,
    QUEUE_NOTIFY = 0x050,
    INTERRUPT_STATUS = 0x060,
    INTERRUPT_ACK = 0x064,
    STATUS = 0x070,
    QUEUE_TABLE_LOW = 0x080,
    QUEUE_TABLE_HIGH = 0x084,
    QUEUE_DRIVER_LOW = 0x090,
    QUEUE_DRIVER_HIGH = 0x094,
    QUEUE_DEVICE_LOW = 0x0a0,
    QUEUE_DEVICE_HIGH = 0x0a4,
    SHARED_MEMORY_FIRST = 0x0b0, // lengths and bases of a region: all ones, there is none
    SHARED_MEMORY_LAST = 0x0bc,
    CONFIG_GENERATION = 0x0fc,
    CONFIG = 0x100,
    WINDOW_BYTES = 0x1000,
};
enum { STATUS_FEATURES_OK = 0x08, STATUS_DRIVER_OK = 0x04, STATUS_NEEDS_RESET = 0x40, STATUS_WRITABLE = 0x8f };
enum { INTERRUPT_USED = 1, INTERRUPT_CONFIG = 2 };
// Some drivers for QEMU's board take no other vendor.
enum { QEMU_VENDOR = 0x554d4551, LEGACY_ALIGN_BYTES = 4096 };
enum { DESCRIPTOR_BYTES = 16, DESCRIPTOR_NEXT = 1, DESCRIPTOR_WRITE = 2, DESCRIPTOR_INDIRECT = 4, AVAILABLE_NO_INTERRUPT = 1 };
static const uint64_t FEATURE_VERSION_1 = UINT64_C(1) << 32;

static void set_interrupt(tl_virtio *v, uint32_t status) {
    bool before = v->interrupt_status != 0, after = status != 0;
    v->interrupt_status = status;
    if (before != after)
        v->device.host->set_irq(v->device.host->ctx, v->device.irq, after);
}

void tl_virtio_break(tl_virtio *v) {
    if (v->status & STATUS_NEEDS_RESET)
        return;
    v->status |= STATUS_NEEDS_RESET;
    if (v->status & STATUS_DRIVER_OK) // sec. 2.1.2
        set_interrupt(v, v->interrupt_status | INTERRUPT_CONFIG);
}

static void reset(tl_virtio *v) {
    set_interrupt(v, 0);
    memset(v->queues, 0, sizeof v->queues);
    v->driver_features = 0;
    v->features_select = v->driver_features_select = v->queue_select = v->status = 0;
}

static uint8_t *dma(tl_virtio *v, uint64_t paddr, uint64_t size_bytes, bool is_write) {
    uint8_t *bytes = v->device.host->dma(v->device.host->ctx, paddr, size_bytes, is_write);
    if (!bytes)
        tl_virtio_break(v);
    return bytes;
}

static bool read_u16(tl_virtio *v, uint64_t paddr, uint16_t *ret_value) {
    const uint8_t *bytes = dma(v, paddr, sizeof *ret_value, false);
    if (bytes)
        memcpy(ret_value, bytes, sizeof *ret_value);
    return bytes != NULL;
}

// How many requests wait; more than the queue has entries is nonsense.
static bool count_available(tl_virtio *v, const tl_virtio_queue *q, uint16_t *ret_count) {
    uint16_t index;
    if (!read_u16(v, q->available_paddr + 2, &index))
        return false;
    uint16_t count = (uint16_t)(index - q->next_available);
    if (count > q->size) {
        tl_virtio_break(v);
        return false;
    }
    *ret_count = count;
    return true;
}

bool tl_virtio_has_next(tl_virtio *v, uint32_t queue) {
    uint16_t count;
    return tl_virtio_is_live(v) && v->queues[queue].is_ready && count_available(v, &v->queues[queue], &count) && count > 0;
}

typedef struct descriptor {
    uint64_t paddr;
    uint32_t size_bytes;
    uint16_t flags, next;
} descriptor;
_Static_assert(sizeof(descriptor) == DESCRIPTOR_BYTES, "as the driver writes it");

// Follows the chain from `index`. false: it breaks a rule of sec. 2.7.5.
static bool collect(tl_virtio *v, const tl_virtio_queue *q, uint16_t index) {
    tl_virtio_chain *chain = &v->chain;
    chain->head = index;
    chain->n_readable = chain->n_writable = 0;
    chain->readable_bytes = chain->writable_bytes = 0;
    for (uint32_t n = 0;; n++) {
        if (n == q->size || index >= q->size) // a chain longer than the table has a loop
            return false;
        const uint8_t *bytes = dma(v, q->table_paddr + (uint64_t)index * DESCRIPTOR_BYTES, DESCRIPTOR_BYTES, false);
        if (!bytes)
            return false;
        descriptor d;
        memcpy(&d, bytes, sizeof d);
        bool is_write = d.flags & DESCRIPTOR_WRITE;
        if (d.flags & DESCRIPTOR_INDIRECT || d.size_bytes == 0 || (!is_write && chain->n_writable > 0))
            return false;
        chain->segments[n] = (tl_virtio_segment){d.paddr, d.size_bytes};
        *(is_write ? &chain->n_writable : &chain->n_readable) += 1;
        *(is_write ? &chain->writable_bytes : &chain->readable_bytes) += d.size_bytes;
        if (!(d.flags & DESCRIPTOR_NEXT))
            return chain->readable_bytes + chain->writable_bytes <= UINT32_MAX;
        index = d.next;
    }
}

bool tl_virtio_next(tl_virtio *v, uint32_t queue) {
    tl_virtio_queue *q = &v->queues[queue];
    uint16_t head;
    if (!tl_virtio_has_next(v, queue) || !read_u16(v, q->available_paddr + 4 + 2 * (uint64_t)(q->next_available % q->size), &head))
        return false;
    if (!collect(v, q, head)) {
        tl_virtio_break(v);
        return false;
    }
    q->next_available++;
    return true;
}

void tl_virtio_used(tl_virtio *v, uint32_t queue, uint32_t written_bytes) {
    tl_virtio_queue *q = &v->queues[queue];
    uint32_t element[2] = {v->chain.head, written_bytes};
    uint8_t *bytes = dma(v, q->used_paddr + 4 + sizeof element * (uint64_t)(q->next_used % q->size), sizeof element, true);
    if (!bytes)
        return;
    memcpy(bytes, element, sizeof element);
    bytes = dma(v, q->used_paddr + 2, sizeof q->next_used, true);
    if (!bytes)
        return;
    q->next_used++;
    memcpy(bytes, &q->next_used, sizeof q->next_used);
    uint16_t flags;
    if (read_u16(v, q->available_paddr, &flags) && !(flags & AVAILABLE_NO_INTERRUPT))
        set_interrupt(v, v->interrupt_status | INTERRUPT_USED);
}

uint8_t *tl_virtio_piece(tl_virtio *v, bool is_write, uint64_t offset, uint64_t size_bytes, uint64_t *ret_bytes) {
    const tl_virtio_chain *chain = &v->chain;
    uint32_t first = is_write ? chain->n_readable : 0, end = is_write ? first + chain->n_writable : chain->n_readable;
    for (uint32_t i = first; i < end; i++) {
        const tl_virtio_segment *segment = &chain->segments[i];
        if (offset >= segment->size_bytes) {
            offset -= segment->size_bytes;
            continue;
        }
        uint64_t n = segment->size_bytes - offset;
        *ret_bytes = n < size_bytes ? n : size_bytes;
        return dma(v, segment->paddr + offset, *ret_bytes, is_write);
    }
    tl_virtio_break(v); // the caller asked beyond the end
    return NULL;
}

bool tl_virtio_copy_from(tl_virtio *v, uint64_t offset, void *bytes, uint64_t size_bytes) {
    for (uint64_t done = 0, n; done < size_bytes; done += n) {
        const uint8_t *piece = tl_virtio_piece(v, false, offset + done, size_bytes - done, &n);
        if (!piece)
            return false;
        memcpy((uint8_t *)bytes + done, piece, n);
    }
    return true;
}

bool tl_virtio_copy_to(tl_virtio *v, uint64_t offset, const void *bytes, uint64_t size_bytes) {
    for (uint64_t done = 0, n; done < size_bytes; done += n) {
        uint8_t *piece = tl_virtio_piece(v, true, offset + done, size_bytes - done, &n);
        if (!piece)
            return false;
        memcpy(piece, (const uint8_t *)bytes + done, n);
    }
    return true;
}

static bool read_config(const tl_virtio *v, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < size_bytes; i++)
        if (offset + i < v->config_bytes)
            value |= (uint64_t)v->config[offset + i] << 8 * i;
    *ret_value = value;
    return true;
}

static uint32_t half_of(uint64_t value, uint32_t select) { return select < 2 ? (uint32_t)(value >> 32 * select) : 0; }

bool tl_virtio_mmio_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const tl_virtio *v = (const tl_virtio *)device;
    if (offset >= CONFIG)
        return read_config(v, offset - CONFIG, size_bytes, ret_value);
    if (size_bytes != 4)
        return false;
    const tl_virtio_queue *q = v->queue_select < v->kind->n_queues ? &v->queues[v->queue_select] : NULL;
    uint64_t value = 0;
    switch (offset) {
    case MAGIC: value = 0x74726976; break; // "virt"
    case VERSION: value = v->version; break;
    case DEVICE_ID: value = v->kind->device_id; break;
    case VENDOR_ID: value = QEMU_VENDOR; break;
    case DEVICE_FEATURES: value = half_of(v->features, v->features_select); break;
    case QUEUE_SIZE_MAX: value = q ? TL_VIRTIO_QUEUE_SIZE : 0; break;
    case LEGACY_QUEUE_PAGE: value = q && q->is_ready ? q->table_paddr >> v->legacy_page_shift & UINT32_MAX : 0; break;
    case QUEUE_READY: value = q && q->is_ready; break;
    case INTERRUPT_STATUS: value = v->interrupt_status; break;
    case STATUS: value = v->status; break;
    default: value = offset >= SHARED_MEMORY_FIRST && offset <= SHARED_MEMORY_LAST ? UINT32_MAX : 0; break;
    }
    *ret_value = value;
    return true;
}

// Checks the layout of a queue before use: virtio sec. 2.7 and 2.7.1.
static bool is_valid(const tl_virtio_queue *q) {
    return tl_is_pow2(q->size) && q->size <= TL_VIRTIO_QUEUE_SIZE && q->table_paddr % 16 == 0 && q->available_paddr % 2 == 0 &&
           q->used_paddr % 4 == 0;
}

static void set_low(uint64_t *reg, uint64_t value) { *reg = (*reg & ~(uint64_t)UINT32_MAX) | value; }
static void set_high(uint64_t *reg, uint64_t value) { *reg = (*reg & UINT32_MAX) | value << 32; }

static void set_ready(tl_virtio *v, tl_virtio_queue *q, bool is_ready) {
    if (is_ready && !q->is_ready && !is_valid(q)) {
        tl_virtio_break(v);
    } else if (is_ready != q->is_ready) {
        q->is_ready = is_ready;
        q->next_available = q->next_used = 0;
    }
}

// Sec. 2.7.2: a legacy queue is one piece of memory. Its used ring begins at the next multiple of
// the alignment.
static void set_legacy_place(tl_virtio *v, tl_virtio_queue *q, uint64_t page) {
    if (page == 0 || q->is_ready) {
        set_ready(v, q, page != 0);
        return;
    }
    uint64_t align_bytes = q->legacy_align_bytes ? q->legacy_align_bytes : LEGACY_ALIGN_BYTES;
    if (!tl_is_pow2(align_bytes)) {
        tl_virtio_break(v);
        return;
    }
    q->table_paddr = page << v->legacy_page_shift;
    q->available_paddr = q->table_paddr + (uint64_t)q->size * DESCRIPTOR_BYTES;
    uint64_t available_end = q->available_paddr + 2 * (3 + (uint64_t)q->size);
    q->used_paddr = (available_end + align_bytes - 1) & ~(align_bytes - 1);
    set_ready(v, q, true);
}

// Registers of the queue that is selected. They stand still while it is ready.
static void write_queue(tl_virtio *v, uint64_t offset, uint64_t value) {
    if (v->queue_select >= v->kind->n_queues)
        return;
    tl_virtio_queue *q = &v->queues[v->queue_select];
    if (offset == QUEUE_READY)
        set_ready(v, q, value & 1);
    else if (offset == LEGACY_QUEUE_PAGE)
        set_legacy_place(v, q, value);
    if (q->is_ready)
        return;
    switch (offset) {
    case QUEUE_SIZE: q->size = (uint32_t)value; break;
    case LEGACY_QUEUE_ALIGN: q->legacy_align_bytes = (uint32_t)value; break;
    case QUEUE_TABLE_LOW: set_low(&q->table_paddr, value); break;
    case QUEUE_TABLE_HIGH: set_high(&q->table_paddr, value); break;
    case QUEUE_DRIVER_LOW: set_low(&q->available_paddr, value); break;
    case QUEUE_DRIVER_HIGH: set_high(&q->available_paddr, value); break;
    case QUEUE_DEVICE_LOW: set_low(&q->used_paddr, value); break;
    case QUEUE_DEVICE_HIGH: set_high(&q->used_paddr, value); break;
    default: break;
    }
}

// Sec. 3.1.1: features that were not offered are refused by keeping FEATURES_OK clear. A driver
// need not take VERSION_1 (sec. 6.1 lets a device refuse that): drivers that write the low half
// only run on QEMU's board. A legacy driver never writes FEATURES_OK (sec. 3.1.2).
static void set_status(tl_virtio *v, uint32_t value) {
    if (value == 0) {
        reset(v);
        return;
    }
    bool is_agreed = (v->driver_features & ~v->features) == 0;
    if (!(v->status & STATUS_FEATURES_OK) && !is_agreed)
        value &= ~(uint32_t)(STATUS_FEATURES_OK | STATUS_DRIVER_OK);
    v->status = (v->status & STATUS_NEEDS_RESET) | (value & STATUS_WRITABLE);
}

bool tl_virtio_mmio_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    tl_virtio *v = (tl_virtio *)device;
    if (offset >= CONFIG)
        return true; // no field of these kinds is the driver's to write
    if (size_bytes != 4)
        return false;
    if (v->kind->device_id == 0)
        return true;
    value &= UINT32_MAX;
    switch (offset) {
    case DEVICE_FEATURES_SELECT: v->features_select = (uint32_t)value; break;
    case DRIVER_FEATURES:
        if (v->driver_features_select < 2 && !(v->status & STATUS_FEATURES_OK)) {
            if (v->driver_features_select == 0)
                set_low(&v->driver_features, value);
            else
                set_high(&v->driver_features, value);
        }
        break;
    case DRIVER_FEATURES_SELECT: v->driver_features_select = (uint32_t)value; break;
    case LEGACY_PAGE_SIZE: v->legacy_page_shift = value ? (uint32_t)__builtin_ctzll(value) : 0; break;
    case QUEUE_SELECT: v->queue_select = (uint32_t)value; break;
    case QUEUE_NOTIFY:
        if (value < v->kind->n_queues && tl_virtio_is_live(v) && v->queues[value].is_ready)
            v->kind->notified(v, (uint32_t)value);
        break;
    case INTERRUPT_ACK: set_interrupt(v, v->interrupt_status & ~(uint32_t)value); break;
    case STATUS: set_status(v, (uint32_t)value); break;
    default: write_queue(v, offset, value); break;
    }
    if (v->kind->tick)
        device->host->wake(device->host->ctx, device);
    return true;
}

uint64_t tl_virtio_tick(tl_device *device) {
    tl_virtio *v = (tl_virtio *)device;
    return v->kind->tick ? v->kind->tick(v) : UINT64_MAX;
}

void tl_virtio_done(tl_device *device) {
    tl_virtio *v = (tl_virtio *)device;
    if (v->kind->done)
        v->kind->done(v);
}

void *tl_virtio_new(const tl_device_place *place, const tl_device_type *type, const tl_virtio_kind *kind, uint64_t features,
                    size_t state_size, tl_error *err) {
    tl_virtio *v = tl_device_new(place, type, place->virtio_bytes ? place->virtio_bytes : WINDOW_BYTES, state_size, err);
    if (!v)
        return NULL;
    v->kind = kind;
    v->version = place->virtio_version == 1 ? 1 : 2;
    v->features = kind->device_id ? features | (v->version == 1 ? 0 : FEATURE_VERSION_1) : 0;
    return v;
}

static const tl_virtio_kind empty_kind = {.device_id = 0};
static const tl_device_type empty_type = {
    .name = "virtio_empty", .title = "virtio transport with no device", .read = tl_virtio_mmio_read, .write = tl_virtio_mmio_write};

tl_status tl_virtio_empty_new(const tl_device_place *place, tl_device **ret_device, tl_error *err) {
    tl_virtio *v = tl_virtio_new(place, &empty_type, &empty_kind, 0, sizeof *v, err);
    if (!v)
        return TL_ENOMEM;
    *ret_device = &v->device;
    return TL_OK;
}
