// SPDX-License-Identifier: MIT
// Sockets. sys_socket.c knows the layouts of system calls. There are two kinds behind it. Local
// sockets are in file_socket.c: AF_UNIX, and AF_INET over a loopback that exists only inside. The
// host's sockets are in file_inet.c, only when the user allows the network.
#ifndef TL_OS_SOCKET_H
#define TL_OS_SOCKET_H

#include "linux/file/file.h"

enum { TL_SOCKADDR_MAX = 128, TL_SCM_MAX = 253 };

typedef struct tl_sockaddr { // as the guest writes it: family first
    uint32_t n;
    uint8_t bytes[TL_SOCKADDR_MAX];
} tl_sockaddr;
uint16_t tl_sockaddr_family(const tl_sockaddr *address);

typedef struct tl_message {
    tl_io io;
    uint32_t flags;             // MSG_*: of the call in, of the message out
    tl_sockaddr address;        // to or from; n 0: none
    tl_file *files[TL_SCM_MAX]; // SCM_RIGHTS, references held by the message
    uint32_t n_files;
    bool has_credentials; // out: of the sender
    int32_t pid;
    uint32_t uid, gid;
} tl_message;

typedef struct tl_socket_ops {
    int64_t (*bind)(tl_thread *t, tl_file *file, const tl_sockaddr *address);
    // May return tl_sys_block.
    int64_t (*connect)(tl_thread *t, tl_file *file, const tl_sockaddr *address);
    int64_t (*listen)(tl_thread *t, tl_file *file, int32_t backlog);
    // Returns -EAGAIN while there is none.
    int64_t (*accept)(tl_thread *t, tl_file *file, tl_file **ret_file, tl_sockaddr *ret_peer);
    // Returns the bytes taken, or -EAGAIN.
    int64_t (*send)(tl_thread *t, tl_file *file, tl_message *message);
    // Returns the bytes, or -EAGAIN.
    int64_t (*receive)(tl_thread *t, tl_file *file, tl_message *message);
    int64_t (*name)(tl_thread *t, tl_file *file, bool is_peer, tl_sockaddr *ret_address);
    int64_t (*shutdown)(tl_thread *t, tl_file *file, int how);
    // n is the room before, the length after.
    int64_t (*get_option)(tl_thread *t, tl_file *file, int level, int option, void *to, uint32_t *n);
    int64_t (*set_option)(tl_thread *t, tl_file *file, int level, int option, const void *from, uint32_t n);
} tl_socket_ops;

typedef struct tl_socket_file { // every socket begins with this
    tl_file base;
    const tl_socket_ops *socket_ops;
    uint32_t domain, type, protocol;
} tl_socket_file;

static inline tl_socket_file *tl_socket_of(tl_file *file) { return tl_file_is_socket(file) ? (tl_socket_file *)file : NULL; }

// 0 or a negative error number.
int64_t tl_local_socket_new(tl_os *os, uint32_t domain, uint32_t type, uint32_t protocol, tl_file **ret_file);
int64_t tl_local_socket_pair(tl_thread *t, uint32_t type, tl_file *ret_files[2]);
int64_t tl_host_socket_new(tl_os *os, uint32_t domain, uint32_t type, uint32_t protocol, tl_file **ret_file);

extern const tl_file_ops tl_host_socket_ops;

#endif
