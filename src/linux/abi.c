// SPDX-License-Identifier: MIT
// stat fields that no file determines are fixed: block size, blocks by size, no birth time, no
// attributes. Guests on two hosts with different file systems therefore read equal values.
#include "linux/abi.h"

#include "base/bits.h"

enum { BLOCK_BYTES = 4096, STATX_BASIC = 0x7ff, STATX_MOUNT_ID = 0x1000 };

static uint64_t blocks_of(const tl_stat *from) { return S_ISREG(from->mode) ? tl_align_up(from->size, BLOCK_BYTES) / 512 : 0; }

void tl_stat_encode(const tl_stat *from, tl_abi_stat *ret) {
    *ret = (tl_abi_stat){
        .device = from->device,
        .inode = from->inode,
        .mode = from->mode,
        .n_links = from->n_links,
        .uid = from->uid,
        .gid = from->gid,
        .rdevice = from->rdevice,
        .size = (int64_t)from->size,
        .block_bytes = BLOCK_BYTES,
        .n_blocks = (int64_t)blocks_of(from),
        .atime = from->atime.tv_sec,
        .atime_ns = from->atime.tv_nsec,
        .mtime = from->mtime.tv_sec,
        .mtime_ns = from->mtime.tv_nsec,
        .ctime = from->ctime.tv_sec,
        .ctime_ns = from->ctime.tv_nsec,
    };
}

static tl_abi_statx_time time_of(struct timespec t) { return (tl_abi_statx_time){.seconds = t.tv_sec, .ns = (uint32_t)t.tv_nsec}; }

void tl_statx_encode(const tl_stat *from, tl_abi_statx *ret) {
    *ret = (tl_abi_statx){
        .mask = STATX_BASIC | STATX_MOUNT_ID,
        .block_bytes = BLOCK_BYTES,
        .n_links = from->n_links,
        .uid = from->uid,
        .gid = from->gid,
        .mode = (uint16_t)from->mode,
        .inode = from->inode,
        .size = from->size,
        .n_blocks = blocks_of(from),
        .atime = time_of(from->atime),
        .ctime = time_of(from->ctime),
        .mtime = time_of(from->mtime),
        .rdevice_major = tl_device_major(from->rdevice),
        .rdevice_minor = tl_device_minor(from->rdevice),
        .device_major = tl_device_major(from->device),
        .device_minor = tl_device_minor(from->device),
        .mount_id = tl_device_minor(from->device) + 1,
    };
}
