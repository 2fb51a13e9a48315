// SPDX-License-Identifier: MIT
// Open files. A tl_file is what Linux calls an open file description: descriptors, mappings and
// messages in flight share it by reference. Each kind of file is one file_<kind>.c with one table
// of operations; the system calls know only the table.
//
// Operations never block. An operation that cannot make progress returns -EAGAIN. The system call
// then reads O_NONBLOCK and may sleep on the file's poll head and retry. Every change of readiness
// calls tl_poll_notify on the head, which wakes sleepers and notifies epoll instances. Edges are
// exact because each change notifies once.
#ifndef TL_OS_FILE_H
#define TL_OS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "linux/abi.h"
#include "linux/call/syscall.h"
#include "linux/file/path.h"
#include "linux/os_internal.h"

typedef struct tl_epoll_item tl_epoll_item; // file_epoll.c

typedef struct tl_poll_head { // zeroed: empty
    tl_wait_queue queue;
    tl_epoll_item *items; // registered by epoll_ctl
} tl_poll_head;

void tl_poll_notify(tl_os *os, tl_poll_head *head, uint32_t events);
// Wakes all sleepers and releases epoll items.
void tl_poll_head_done(tl_os *os, tl_poll_head *head);

// Guest bytes as host vectors, and how far a call has come.
typedef struct tl_io {
    const struct iovec *spans;
    int n_spans;
    // Bytes of the vectors. Less than n_wanted when the file or accessible memory ends first.
    size_t n_bytes;
    size_t n_wanted;
    uint64_t *pos;    // file position to use and advance; NULL: a stream
    bool is_append;   // O_APPEND or RWF_APPEND
    bool is_nonblock; // for kinds that could do more by waiting inside the host
} tl_io;

typedef struct tl_file_ops {
    const char *kind; // "regular", "pipe": for messages
    // The last reference is gone; frees the file with its own struct.
    void (*close)(tl_os *os, tl_file *file);
    // Bytes moved, 0 at the end of the file, or a negative error number. NULL: EINVAL.
    int64_t (*read)(tl_thread *t, tl_file *file, const tl_io *io);
    int64_t (*write)(tl_thread *t, tl_file *file, const tl_io *io);
    // No more bytes than this can be read at `pos` now: pages beyond are not touched. NULL: any
    // number.
    size_t (*available)(tl_os *os, tl_file *file, uint64_t pos);
    int64_t (*seek)(tl_os *os, tl_file *file, int64_t offset, int whence); // NULL: ESPIPE
    // The EPOLL* that hold now; NULL: always readable and writable.
    uint32_t (*poll)(tl_os *os, tl_file *file);
    // Registers the thread for what the head cannot tell (host descriptors, signals). NULL: the
    // head is enough.
    void (*wait)(tl_thread *t, tl_file *file, uint32_t events);
    int64_t (*stat)(tl_os *os, tl_file *file, tl_stat *ret_stat);
    // NULL: EINVAL.
    int64_t (*truncate)(tl_os *os, tl_file *file, uint64_t size);
    // Serves fallocate; NULL: ENODEV.
    int64_t (*allocate)(tl_os *os, tl_file *file, int mode, uint64_t offset, uint64_t n);
    // Answers -ENOTTY to requests of others; NULL: it knows none.
    int64_t (*ioctl)(tl_thread *t, tl_file *file, uint32_t request, uint64_t argument);
    // F_SETFL is about to set these; NULL: fine.
    int64_t (*set_flags)(tl_os *os, tl_file *file, uint32_t flags);
    // Serves getdents64; NULL: ENOTDIR.
    int64_t (*get_entries)(tl_thread *t, tl_file *file, uint64_t vaddr, size_t n);
    // For mappings (A file without pread cannot be mapped.)
    int64_t (*pread)(tl_os *os, tl_file *file, void *to, size_t n, uint64_t offset);
    int64_t (*pwrite)(tl_os *os, tl_file *file, const void *from, size_t n, uint64_t offset);
    // Serves tl_file_window; NULL: false.
    bool (*window)(const tl_os *os, const tl_file *file, uint64_t *ret_paddr, uint64_t *ret_bytes);
    // Text of /proc/PID/fd for a file without a path: "pipe" (its inode follows) or
    // "anon_inode:[eventfd]".
    const char *link_name;
    bool is_stream;   // no position: pread and lseek answer ESPIPE
    bool is_message;  // a stream whose writes are taken whole or not at all
    bool is_pollable; // epoll_ctl takes it; others are EPERM
} tl_file_ops;

struct tl_file {
    const tl_file_ops *ops;
    tl_poll_head *head; // notified of changes of readiness; NULL: readiness never changes
    uint32_t n_refs;
    uint32_t flags; // TL_O_*: access mode and status flags
    uint64_t pos;
    uint64_t device, inode; // as the guest sees them
    char *path;             // canonical guest path, or NULL
    tl_dir *dir;            // directories: starting point for relative paths
    tl_epoll_item *items;   // of epoll instances that watch this description
    int32_t owner;          // F_SETOWN: a process, negative a group; 0: none
    bool owner_is_thread;   // F_SETOWN_EX
    // The descriptor that O_ASYNC was set through; the F_SETSIG signal, 0: SIGIO.
    int32_t async_fd, async_signal;
    uint64_t read_timeout_ns, write_timeout_ns; // SO_RCVTIMEO, SO_SNDTIMEO; 0: none
    // Bytes of os->account, given back with the description.
    uint64_t n_charged;
};

static inline bool tl_file_may_read(const tl_file *file) {
    return (file->flags & TL_O_ACCMODE) != TL_O_WRONLY && !(file->flags & TL_O_PATH);
}
static inline bool tl_file_may_write(const tl_file *file) {
    return (file->flags & TL_O_ACCMODE) != TL_O_RDONLY && !(file->flags & TL_O_PATH);
}

// Allocates a description of `size` bytes (tl_file first) with one reference and a fresh anonymous
// inode number. NULL: no memory.
void *tl_file_new(tl_os *os, size_t size, const tl_file_ops *ops, uint32_t flags);
// Bytes more, or fewer, that the description holds.
void tl_file_recharge(tl_os *os, tl_file *file, uint64_t before, uint64_t now);
void tl_file_set_path(tl_os *os, tl_file *file, const char *path); // a copy; NULL: none
uint32_t tl_file_poll(tl_os *os, tl_file *file);                   // EPOLL* that hold now
// Sleep until one of `events` may hold. Before returning tl_sys_block.
void tl_file_wait(tl_thread *t, tl_file *file, uint32_t events);
int64_t tl_file_stat(tl_os *os, tl_file *file, tl_stat *ret_stat);

// A description of something without a place in the tree: fixed identity, all times the machine's.
void tl_stat_anonymous(const tl_os *os, const tl_file *file, uint32_t mode, tl_stat *ret_stat);

// ---- Copying between io vectors and plain memory.
// Copies into guest memory. Returns the bytes moved.
size_t tl_io_scatter(const tl_io *io, const void *from, size_t n);
// Copies out of guest memory, from byte `skip`. Returns the bytes moved.
size_t tl_io_gather(const tl_io *io, size_t skip, void *to, size_t n);
size_t tl_io_scatter_at(const tl_io *io, size_t skip, const void *from, size_t n);

// ---- The kinds. All return NULL without memory unless they say otherwise.

// file_host.c. The descriptor is taken. `host` tells its type, identity comes from it.
tl_file *tl_file_of_host(tl_os *os, int host_fd, const struct stat *host, uint32_t flags, const char *path, tl_dir *dir);
// Never closed. NULL also when the host has none there.
tl_file *tl_file_of_standard(tl_os *os, int host_fd, int number);
// Returns a negative error number. The host's EMFILE is said once.
int64_t tl_file_host_error(tl_os *os, int host_errno);

// file_pipe.c
typedef struct tl_pipe tl_pipe;
int64_t tl_pipe_open(tl_os *os, uint32_t flags, tl_file **ret_read, tl_file **ret_write);
// A named pipe: `device, inode` name it. Opens an end as open(2) does; *ret_waits: the open is over
// only when tl_fifo_has_partner.
int64_t tl_fifo_open(tl_os *os, uint64_t device, uint64_t inode, const char *path, uint32_t flags, tl_file **ret_file, bool *ret_waits);
bool tl_fifo_has_partner(const tl_file *file);
bool tl_fifo_is_ours(const tl_os *os, uint64_t device, uint64_t inode);
int64_t tl_fifo_register(tl_os *os, uint64_t device, uint64_t inode);
// The last name of a FIFO is gone. Harmless when the inode is none.
void tl_fifo_removed(tl_os *os, uint64_t device, uint64_t inode);
int64_t tl_pipe_reopen(tl_os *os, tl_file *file, uint32_t flags, tl_file **ret_file);
bool tl_file_is_pipe(const tl_file *file);
int64_t tl_pipe_resize(tl_os *os, tl_file *file, uint64_t n_bytes); // F_SETPIPE_SZ; 0 only asks
// Moves at most n bytes from one pipe to another; keeps: tee. -EAGAIN: empty or full.
int64_t tl_pipe_move(tl_os *os, tl_file *from, tl_file *to, size_t n, bool keeps);

// file_fifo.c: named pipes of the host, opened without waiting for the other end. -ENXIO with
// TL_O_NONBLOCK: the FIFO has no reader.
int64_t tl_host_fifo_open(tl_os *os, const tl_place *place, uint32_t flags, tl_file **ret_file);
bool tl_file_is_host_fifo(const tl_file *file);
bool tl_host_fifo_is_open(tl_file *file); // at the other end, too: what a blocking open waits for
int tl_host_fifo_fd(const tl_file *file); // -1: not open yet

// file_mem.c: memfd and the files of /dev/shm
typedef struct tl_mem_inode tl_mem_inode;
tl_mem_inode *tl_mem_inode_new(tl_os *os, uint64_t device, uint32_t mode);
tl_mem_inode *tl_mem_inode_ref(tl_mem_inode *inode);
void tl_mem_inode_unref(tl_os *os, tl_mem_inode *inode);
void tl_mem_inode_stat(const tl_mem_inode *inode, tl_stat *ret_stat);
// Takes a reference of its own.
tl_file *tl_file_of_mem(tl_os *os, tl_mem_inode *inode, uint32_t flags, const char *path);
// NULL: another kind.
tl_mem_inode *tl_file_mem_inode(const tl_file *file);
void tl_mem_inode_link(tl_mem_inode *inode, int32_t change);
void tl_mem_inode_set_mode(tl_os *os, tl_mem_inode *inode, uint32_t mode);
// UTIME_NOW and UTIME_OMIT as in utimensat.
void tl_mem_inode_set_times(tl_os *os, tl_mem_inode *inode, const struct timespec times[2]);
bool tl_file_is_write_sealed(const tl_file *file);
int64_t tl_mem_get_seals(const tl_file *file);
int64_t tl_mem_add_seals(const tl_os *os, tl_file *file, uint32_t seals);

// file_proc.c and file_dev.c: the virtual tree
tl_virtual_lookup_fn tl_virtual_lookup; // ctx: the tl_thread that asks
int64_t tl_virtual_open(tl_thread *t, const tl_place *place, uint32_t flags, uint32_t mode, tl_file **ret_file);
int64_t tl_virtual_stat(tl_thread *t, const tl_place *place, tl_stat *ret_stat);
// Serves open("/proc/self/fd/N"): a new description of the same file.
int64_t tl_file_reopen(tl_thread *t, tl_file *file, uint32_t flags, tl_file **ret_file);
// The open file that a link like /proc/self/fd/3 stands for, borrowed, or NULL.
tl_file *tl_virtual_file_of(tl_thread *t, const char *path);

// file_socket.c
bool tl_file_is_socket(const tl_file *file);
void tl_sockets_done(tl_os *os); // releases messages in flight

// file_epoll.c: drops a closed description from all instances
void tl_epoll_forget(tl_os *os, tl_file *file);
// The guest read or wrote a file whose readiness is polled. The readiness that epoll reported is
// stale, so the next poll that finds the file ready reports an edge.
void tl_epoll_used(tl_file *file, uint32_t events);

#endif
