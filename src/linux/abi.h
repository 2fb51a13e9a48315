// SPDX-License-Identifier: MIT
// Numbers and layouts of the RISC-V Linux ABI that the file layer speaks, where architectures may
// differ. The host may be any 64-bit little-endian Linux. Numbers that are the same everywhere
// (errors, S_IF*, EPOLL*, AT_*, SOCK_*) come from libc.
#ifndef TL_OS_ABI_H
#define TL_OS_ABI_H

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

// Flags of open.
enum {
    TL_O_RDONLY = 0,
    TL_O_WRONLY = 1,
    TL_O_RDWR = 2,
    TL_O_ACCMODE = 3,
    TL_O_CREAT = 0100,
    TL_O_EXCL = 0200,
    TL_O_NOCTTY = 0400,
    TL_O_TRUNC = 01000,
    TL_O_APPEND = 02000,
    TL_O_NONBLOCK = 04000,
    TL_O_DSYNC = 010000,
    TL_O_ASYNC = 020000,
    TL_O_DIRECT = 040000,
    TL_O_LARGEFILE = 0100000,
    TL_O_DIRECTORY = 0200000,
    TL_O_NOFOLLOW = 0400000,
    TL_O_NOATIME = 01000000,
    TL_O_CLOEXEC = 02000000,
    TL_O_SYNC = 04010000,
    TL_O_PATH = 010000000,
    TL_O_TMPFILE = 020200000,
    TL_O_VALID = 037777703, // everything openat2 knows
};

// Commands of fcntl.
enum {
    TL_F_DUPFD = 0,
    TL_F_GETFD = 1,
    TL_F_SETFD = 2,
    TL_F_GETFL = 3,
    TL_F_SETFL = 4,
    TL_F_GETLK = 5,
    TL_F_SETLK = 6,
    TL_F_SETLKW = 7,
    TL_F_SETOWN = 8,
    TL_F_GETOWN = 9,
    TL_F_SETSIG = 10,
    TL_F_GETSIG = 11,
    TL_F_SETOWN_EX = 15,
    TL_F_GETOWN_EX = 16,
    TL_F_OFD_GETLK = 36,
    TL_F_OFD_SETLK = 37,
    TL_F_OFD_SETLKW = 38,
    TL_F_SETLEASE = 1024,
    TL_F_GETLEASE = 1025,
    TL_F_NOTIFY = 1026,
    TL_F_DUPFD_QUERY = 1027,
    TL_F_DUPFD_CLOEXEC = 1030,
    TL_F_SETPIPE_SZ = 1031,
    TL_F_GETPIPE_SZ = 1032,
    TL_F_ADD_SEALS = 1033,
    TL_F_GET_SEALS = 1034,
};

enum { TL_F_RDLCK = 0, TL_F_WRLCK = 1, TL_F_UNLCK = 2 };
enum { TL_FD_CLOEXEC = 1, TL_AT_FDCWD = -100, TL_PATH_MAX = 4096, TL_NAME_MAX = 255, TL_MAX_SYMLINKS = 40, TL_IOV_MAX = 1024 };
enum { TL_MAX_RW_BYTES = 0x7ffff000 }; // the most bytes that one call transfers

// Requests of ioctl.
enum {
    TL_TCGETS = 0x5401,
    TL_TCSETS = 0x5402,
    TL_TIOCGPGRP = 0x540f,
    TL_TIOCSPGRP = 0x5410,
    TL_TIOCGWINSZ = 0x5413,
    TL_FIONREAD = 0x541b,
    TL_FIONBIO = 0x5421,
    TL_FIONCLEX = 0x5450,
    TL_FIOCLEX = 0x5451,
    TL_FIOASYNC = 0x5452,
};

typedef struct tl_abi_stat { // struct stat
    uint64_t device, inode;
    uint32_t mode, n_links, uid, gid;
    uint64_t rdevice, pad1;
    int64_t size;
    int32_t block_bytes, pad2;
    int64_t n_blocks, atime, atime_ns, mtime, mtime_ns, ctime, ctime_ns;
    uint32_t unused[2];
} tl_abi_stat;
_Static_assert(sizeof(tl_abi_stat) == 128, "struct stat of asm-generic");

typedef struct tl_abi_statx_time {
    int64_t seconds;
    uint32_t ns;
    int32_t pad;
} tl_abi_statx_time;

typedef struct tl_abi_statx { // struct statx
    uint32_t mask, block_bytes;
    uint64_t attributes;
    uint32_t n_links, uid, gid;
    uint16_t mode, pad;
    uint64_t inode, size, n_blocks, attributes_mask;
    tl_abi_statx_time atime, btime, ctime, mtime;
    uint32_t rdevice_major, rdevice_minor, device_major, device_minor;
    uint64_t mount_id;
    uint32_t dio_mem_align, dio_offset_align;
    uint64_t spare[12];
} tl_abi_statx;
_Static_assert(sizeof(tl_abi_statx) == 256, "struct statx");

typedef struct tl_abi_statfs { // struct statfs
    int64_t type, block_bytes;
    uint64_t n_blocks, n_free, n_available, n_files, n_files_free;
    int32_t id[2];
    int64_t name_max, fragment_bytes, flags, spare[4];
} tl_abi_statfs;
_Static_assert(sizeof(tl_abi_statfs) == 120, "struct statfs of asm-generic");

typedef struct tl_abi_flock { // struct flock
    int16_t type, whence;
    int32_t pad;
    int64_t start, length;
    int32_t pid, pad2;
} tl_abi_flock;
_Static_assert(sizeof(tl_abi_flock) == 32, "struct flock");

typedef struct tl_abi_timespec {
    int64_t seconds, ns;
} tl_abi_timespec;
typedef struct tl_abi_timeval {
    int64_t seconds, us;
} tl_abi_timeval;
typedef struct tl_abi_itimerspec {
    tl_abi_timespec interval, value;
} tl_abi_itimerspec;

typedef struct tl_abi_epoll_event { // not packed on RISC-V
    uint32_t events, pad;
    uint64_t data;
} tl_abi_epoll_event;
_Static_assert(sizeof(tl_abi_epoll_event) == 16, "struct epoll_event");

typedef struct tl_abi_iovec {
    uint64_t vaddr, n_bytes;
} tl_abi_iovec;

typedef struct tl_abi_msghdr { // struct msghdr of a 64-bit kernel
    uint64_t name;
    uint32_t name_bytes, pad;
    uint64_t iov, n_iov, control, control_bytes;
    uint32_t flags, pad2;
} tl_abi_msghdr;
_Static_assert(sizeof(tl_abi_msghdr) == 56, "struct user_msghdr");

// The attributes of any kind of file, in no ABI layout. Device and inode are the guest's numbers.
typedef struct tl_stat {
    uint64_t device, inode, rdevice, size;
    uint32_t mode, n_links, uid, gid;
    struct timespec atime, mtime, ctime;
} tl_stat;

void tl_stat_encode(const tl_stat *from, tl_abi_stat *ret);
void tl_statx_encode(const tl_stat *from, tl_abi_statx *ret);

// Device numbers as struct stat holds them.
static inline uint64_t tl_make_device(uint32_t major, uint32_t minor) {
    return (minor & 0xff) | ((uint64_t)(major & 0xfff) << 8) | ((uint64_t)(minor & ~UINT32_C(0xff)) << 12);
}
static inline uint32_t tl_device_major(uint64_t device) { return (uint32_t)(device >> 8) & 0xfff; }
static inline uint32_t tl_device_minor(uint64_t device) { return (uint32_t)((device & 0xff) | ((device >> 12) & 0xfff00)); }

#endif
