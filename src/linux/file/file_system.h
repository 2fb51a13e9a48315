// SPDX-License-Identifier: MIT
// tl_file_system holds the state that all files of one tl_os share: "/" and the sysroot, guest
// numbers of host devices and inodes, record locks, and names without a host file (FIFOs, sockets,
// /dev/shm).
//
// Host device and inode numbers never reach the guest. Each gets the next free guest number when it
// is first seen, because runs must agree.
#ifndef TL_OS_FILE_SYSTEM_H
#define TL_OS_FILE_SYSTEM_H

#include "base/treap.h"
#include "linux/file/file.h"

typedef struct tl_inode_key {
    uint64_t device, inode; // the host's
} tl_inode_key;
typedef struct tl_inode_row {
    tl_inode_key key;
    uint64_t number; // 0: free
} tl_inode_row;

typedef struct tl_shm_entry { // a name in /dev/shm
    struct tl_shm_entry *next;
    tl_mem_inode *inode;
    char name[];
} tl_shm_entry;

typedef struct tl_fifo { // a named pipe made by a guest
    struct tl_fifo *next;
    uint64_t device, inode;
    bool is_removed; // its node is gone
    tl_pipe *pipe;   // NULL unless a file is open or an opener waits for the other end
} tl_fifo;

typedef struct tl_socket_name { // a bound address
    struct tl_socket_name *next;
    struct tl_socket *socket;
    uint64_t device, inode; // of the node of a path; 0: by address bytes
    uint32_t domain, type, n_bytes;
    uint8_t bytes[];
} tl_socket_name;

typedef struct tl_locked_inode tl_locked_inode; // lock.c

typedef struct tl_file_system {
    tl_account *account; // the personality's
    tl_path_env env;     // ctx is the thread that asks; set by tl_walk_at
    tl_dirs dirs;
    tl_inode_row *rows; // open addressing
    uint64_t n_rows, rows_capacity;
    uint64_t *devices; // host device of guest device (HOST_MAJOR, index)
    uint32_t n_devices;
    uint64_t next_inode;     // of host files, in the order of first sight
    uint64_t next_anonymous; // of what exists only inside

    tl_shm_entry *shm;
    uint64_t mem_bytes, mem_limit_bytes; // held by memfds and /dev/shm
    tl_fifo *fifos;
    tl_socket_name *socket_names;
    struct tl_socket *sockets; // all local ones
    // Sockets put into messages since the last collection of unreachable sockets.
    uint32_t n_sockets_sent;
    uint32_t n_host_files_sent; // as n_sockets_sent, for files that hold a descriptor of the host
    uint16_t next_port;
    uint64_t next_socket_name;
    tl_treap locks;              // lock.c
    struct tl_file *host_epolls; // reserved for instances that watch host descriptors
    bool did_say_emfile, did_say_network;
} tl_file_system;

// 0: no memory.
uint64_t tl_inode_number(tl_file_system *fs, uint64_t host_device, uint64_t host_inode);
// The last link of the inode is gone.
void tl_inode_forget(tl_file_system *fs, uint64_t host_device, uint64_t host_inode);
uint64_t tl_device_number(tl_file_system *fs, uint64_t host_device);
void tl_stat_of_host(tl_file_system *fs, const struct stat *host, tl_stat *ret_stat);

// Devices of what exists only inside.
static inline uint64_t tl_device_anonymous(void) { return tl_make_device(0, 14); }
static inline uint64_t tl_device_pipe(void) { return tl_make_device(0, 13); }
static inline uint64_t tl_device_socket(void) { return tl_make_device(0, 8); }
static inline uint64_t tl_device_mem(void) { return tl_make_device(0, 1); }
static inline uint64_t tl_device_shm(void) { return tl_make_device(0, 22); }
static inline uint64_t tl_device_etc(void) { return tl_make_device(8, 0); }
static inline uint64_t tl_device_proc(void) { return tl_make_device(0, 20); }
static inline uint64_t tl_device_sys(void) { return tl_make_device(0, 21); }
static inline uint64_t tl_device_dev(void) { return tl_make_device(0, 5); }

// Walks a path of the guest in the context of a thread, from `dirfd` (TL_AT_FDCWD: the working
// directory). -EBADF, -ENOTDIR: dirfd is bad.
int64_t tl_walk_at(tl_thread *t, int32_t dirfd, const char *path, uint32_t walk, tl_place *ret_place);
// tl_walk_at for a path in guest memory. -EFAULT: it is not mapped.
int64_t tl_walk_user(tl_thread *t, int32_t dirfd, uint64_t path_vaddr, uint32_t walk, tl_place *ret_place);

// CLOCK_REALTIME, for times of what exists only inside.
struct timespec tl_realtime(const tl_os *os);

#endif
