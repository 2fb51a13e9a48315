// SPDX-License-Identifier: MIT
// A disk: virtio block device (virtio 1.2 sec. 5.2) over a raw image. Unless the image may be
// written, what the guest writes stands in an anonymous mapping of the image's size with one bit
// per sector that says where a sector is; the host gives memory only for what was written, and
// nothing else that happens to the file can bring the process down, as it could if the file itself
// were mapped. A request is done within the notification: the disk takes no time of its own, only
// the memory traffic counts.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "dev/virtio.h"

enum { SECTOR_BYTES = 512, HEADER_BYTES = 16, ID_BYTES = 20 };
enum { REQUEST_READ = 0, REQUEST_WRITE = 1, REQUEST_FLUSH = 4, REQUEST_GET_ID = 8 };
enum { DONE_OK = 0, DONE_ERROR = 1, DONE_UNSUPPORTED = 2 };
enum { SEGMENT_MAX_BYTES = 65536, SEGMENTS_MAX = TL_VIRTIO_QUEUE_SIZE - 2, DATA_MAX_BYTES = SEGMENTS_MAX * SEGMENT_MAX_BYTES };
enum {
    FEATURE_SIZE_MAX = 1 << 1,
    FEATURE_SEG_MAX = 1 << 2,
    FEATURE_READ_ONLY = 1 << 5,
    FEATURE_BLOCK_SIZE = 1 << 6,
    FEATURE_FLUSH = 1 << 9,
};
enum { CONFIG_CAPACITY = 0, CONFIG_SIZE_MAX = 8, CONFIG_SEG_MAX = 12, CONFIG_BLOCK_SIZE = 20, CONFIG_BYTES = 24 };
// A size that any host's address space holds.
static const uint64_t DISK_MAX_BYTES = UINT64_C(1) << 46;

typedef struct block {
    tl_virtio v;
    int fd;
    tl_disk_mode mode;
    uint64_t n_sectors;
    // n_sectors sectors, and one bit for each. NULL unless mode is TL_DISK_COPY.
    uint8_t *copy, *is_copied;
    size_t is_copied_bytes;
} block;

static bool is_copied(const block *b, uint64_t sector) { return b->is_copied && (b->is_copied[sector / 8] >> sector % 8 & 1); }

// The last sector may be cut off by the end of the file: its rest is zeros.
static bool read_file(const block *b, uint64_t offset, uint8_t *bytes, uint64_t n) {
    while (n > 0) {
        ssize_t got = pread(b->fd, bytes, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0) {
            memset(bytes, 0, n);
            return true;
        }
        bytes += got;
        offset += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return true;
}

static bool write_file(const block *b, uint64_t offset, const uint8_t *bytes, uint64_t n) {
    while (n > 0) {
        ssize_t put = pwrite(b->fd, bytes, n, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        offset += (uint64_t)put;
        n -= (uint64_t)put;
    }
    return true;
}

// How many of n bytes at `offset` lie in sectors of one kind, copied or not.
static uint64_t run_of(const block *b, uint64_t offset, uint64_t n, bool *ret_is_copied) {
    uint64_t sector = offset / SECTOR_BYTES, end = offset + n;
    *ret_is_copied = is_copied(b, sector);
    do
        sector++;
    while (sector * SECTOR_BYTES < end && is_copied(b, sector) == *ret_is_copied);
    return sector * SECTOR_BYTES < end ? sector * SECTOR_BYTES - offset : n;
}

static bool read_disk(const block *b, uint64_t offset, uint8_t *bytes, uint64_t n) {
    for (uint64_t run; n > 0; offset += run, bytes += run, n -= run) {
        bool from_copy;
        run = run_of(b, offset, n, &from_copy);
        if (from_copy)
            memcpy(bytes, b->copy + offset, run);
        else if (!read_file(b, offset, bytes, run))
            return false;
    }
    return true;
}

static bool write_disk(block *b, uint64_t offset, const uint8_t *bytes, uint64_t n) {
    if (b->mode == TL_DISK_WRITABLE)
        return write_file(b, offset, bytes, n);
    for (uint64_t sector = offset / SECTOR_BYTES; sector * SECTOR_BYTES < offset + n; sector++)
        if (!is_copied(b, sector)) {
            // A request may cover a part of a sector.
            if (!read_file(b, sector * SECTOR_BYTES, b->copy + sector * SECTOR_BYTES, SECTOR_BYTES))
                return false;
            b->is_copied[sector / 8] |= (uint8_t)(1 << sector % 8);
        }
    memcpy(b->copy + offset, bytes, n);
    return true;
}

// Moves n bytes between the disk and the part of the request that begins at `at`. DONE_*; a broken
// ring looks like an error, too.
static uint8_t transfer(block *b, bool is_read, uint64_t sector, uint64_t at, uint64_t n) {
    if (n % SECTOR_BYTES != 0 || n > DATA_MAX_BYTES || sector > b->n_sectors || n / SECTOR_BYTES > b->n_sectors - sector)
        return DONE_ERROR;
    if (!is_read && b->mode == TL_DISK_READ_ONLY)
        return DONE_ERROR;
    uint64_t offset = sector * SECTOR_BYTES;
    for (uint64_t done = 0, run; done < n; done += run) {
        uint8_t *piece = tl_virtio_piece(&b->v, is_read, at + done, n - done, &run);
        if (!piece || !(is_read ? read_disk(b, offset + done, piece, run) : write_disk(b, offset + done, piece, run)))
            return DONE_ERROR;
    }
    return DONE_OK;
}

static uint8_t flush(const block *b) { return b->mode != TL_DISK_WRITABLE || fdatasync(b->fd) == 0 ? DONE_OK : DONE_ERROR; }

// One request. Its last writable byte is the status; in front of it is what is read, behind the 16
// bytes of the header what is written.
static void serve(block *b) {
    tl_virtio *v = &b->v;
    struct {
        uint32_t type, reserved;
        uint64_t sector;
    } header;
    _Static_assert(sizeof header == HEADER_BYTES, "as the driver writes it");
    if (v->chain.readable_bytes < HEADER_BYTES || v->chain.writable_bytes < 1) {
        tl_virtio_break(v);
        return;
    }
    if (!tl_virtio_copy_from(v, 0, &header, sizeof header))
        return;
    uint64_t room = v->chain.writable_bytes - 1, written = 0;
    uint8_t status = DONE_UNSUPPORTED;
    switch (header.type) {
    case REQUEST_READ:
        status = transfer(b, true, header.sector, 0, room);
        written = status == DONE_OK ? room : 0;
        break;
    case REQUEST_WRITE: status = transfer(b, false, header.sector, HEADER_BYTES, v->chain.readable_bytes - HEADER_BYTES); break;
    case REQUEST_FLUSH: status = flush(b); break;
    case REQUEST_GET_ID: {
        static const char id[ID_BYTES] = "tally-disk";
        written = room < ID_BYTES ? room : ID_BYTES;
        if (!tl_virtio_copy_to(v, 0, id, written))
            return;
        status = DONE_OK;
        break;
    }
    default: break;
    }
    if (tl_virtio_is_live(v) && tl_virtio_copy_to(v, room, &status, 1))
        tl_virtio_used(v, 0, (uint32_t)written + 1);
}

static void block_notified(tl_virtio *v, uint32_t queue) {
    while (tl_virtio_next(v, queue))
        serve((block *)v);
}

static void block_done(tl_virtio *v) {
    block *b = (block *)v;
    if (b->copy)
        munmap(b->copy, b->n_sectors * SECTOR_BYTES);
    if (b->is_copied)
        munmap(b->is_copied, b->is_copied_bytes);
    if (b->fd >= 0)
        close(b->fd);
    b->copy = b->is_copied = NULL;
    b->fd = -1;
}

static const tl_virtio_kind block_kind = {.device_id = 2, .n_queues = 1, .notified = block_notified, .done = block_done};
static const tl_device_type block_type = {.name = "virtio_block",
                                          .title = "virtio block device",
                                          .read = tl_virtio_mmio_read,
                                          .write = tl_virtio_mmio_write,
                                          .done = tl_virtio_done};

static tl_status open_image(const char *path, tl_disk_mode mode, int *ret_fd, uint64_t *ret_bytes, tl_error *err) {
    struct stat info;
    // A pipe is refused and not waited for.
    int fd = open(path, (mode == TL_DISK_WRITABLE ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return tl_fail(err, TL_ENOENT, "%s: there is no such disk image", path);
    if (fd < 0)
        return tl_fail(err, TL_EACCESS, "%s: cannot open the disk image%s: %s", path, mode == TL_DISK_WRITABLE ? " for writing" : "",
                       strerror(errno));
    off_t size = fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode)) ? lseek(fd, 0, SEEK_END) : -1;
    tl_status status = TL_OK;
    if (size < 0)
        status = tl_fail(err, TL_EFORMAT, "%s: not a disk image: it must be a regular file or a block device", path);
    else if (size == 0)
        status = tl_fail(err, TL_EFORMAT, "%s: the disk image is empty; make one with: truncate -s 64M %s", path, path);
    else if ((uint64_t)size > DISK_MAX_BYTES)
        status = tl_fail(err, TL_EFORMAT, "%s: the disk image has more than 64 TiB", path);
    if (status != TL_OK) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    *ret_bytes = (uint64_t)size;
    return TL_OK;
}

static uint8_t *map_zeros(size_t size_bytes) {
    void *bytes = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static void put_config(tl_virtio *v, uint32_t offset, uint64_t value, uint32_t size_bytes) {
    for (uint32_t i = 0; i < size_bytes; i++)
        v->config[offset + i] = (uint8_t)(value >> 8 * i);
}

tl_status tl_virtio_block_new(const tl_device_place *place, const char *path, tl_disk_mode mode, tl_device **ret_device, tl_error *err) {
    uint64_t features = FEATURE_SIZE_MAX | FEATURE_SEG_MAX | FEATURE_BLOCK_SIZE | FEATURE_FLUSH, size_bytes = 0;
    if (mode == TL_DISK_READ_ONLY)
        features |= FEATURE_READ_ONLY;
    int fd = -1;
    tl_status status = open_image(path, mode, &fd, &size_bytes, err);
    if (status != TL_OK)
        return status;
    block *b = tl_virtio_new(place, &block_type, &block_kind, features, sizeof *b, err);
    if (!b) {
        close(fd);
        return TL_ENOMEM;
    }
    b->fd = fd;
    b->mode = mode;
    b->n_sectors = (size_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
    if (mode == TL_DISK_COPY) {
        b->is_copied_bytes = b->n_sectors / 8 + 1;
        b->copy = map_zeros(b->n_sectors * SECTOR_BYTES);
        b->is_copied = map_zeros(b->is_copied_bytes);
        if (!b->copy || !b->is_copied) {
            block_done(&b->v);
            return tl_fail(err, TL_ENOMEM, "%s: no memory for what the guest writes to the disk image", path);
        }
    }
    b->v.config_bytes = CONFIG_BYTES;
    put_config(&b->v, CONFIG_CAPACITY, b->n_sectors, 8);
    put_config(&b->v, CONFIG_SIZE_MAX, SEGMENT_MAX_BYTES, 4);
    put_config(&b->v, CONFIG_SEG_MAX, SEGMENTS_MAX, 4);
    put_config(&b->v, CONFIG_BLOCK_SIZE, SECTOR_BYTES, 4);
    *ret_device = &b->v.device;
    return TL_OK;
}
