// SPDX-License-Identifier: MIT
// The socket calls: layouts of addresses, messages and control data, and waiting. Each kind of
// socket has its own operations (socket.h).
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bits.h"
#include "linux/file/fd.h"
#include "linux/file/file_system.h"
#include "linux/file/rw.h"
#include "linux/file/socket.h"
#include "linux/process/clock.h"

enum { CREATION_FLAGS = TL_O_NONBLOCK | TL_O_CLOEXEC, MAX_OPTION_BYTES = 1024, MAX_CONTROL_BYTES = 8192 };

static int64_t socket_at(tl_thread *t, int32_t fd, tl_socket_file **ret) {
    tl_file *file = tl_file_of_fd(t, fd);
    if (!file || file->flags & TL_O_PATH)
        return -EBADF;
    *ret = tl_socket_of(file);
    return *ret ? 0 : -ENOTSOCK;
}

static int64_t get_address(tl_thread *t, uint64_t vaddr, uint32_t n, tl_sockaddr *ret) {
    if (n > TL_SOCKADDR_MAX)
        return -EINVAL;
    *ret = (tl_sockaddr){.n = n};
    return !n || tl_vm_read(t->process, vaddr, ret->bytes, n) ? 0 : -EFAULT;
}

// As much as fits where the guest has `room`, and the true length.
static int64_t put_address(tl_thread *t, uint64_t vaddr, uint32_t room, uint64_t n_vaddr, const tl_sockaddr *address) {
    uint32_t n = address->n < room ? address->n : room;
    if (n && !tl_vm_write(t->process, vaddr, address->bytes, n))
        return -EFAULT;
    return tl_vm_write(t->process, n_vaddr, &address->n, sizeof address->n) ? 0 : -EFAULT;
}

static int64_t put_address_in_out(tl_thread *t, uint64_t vaddr, uint64_t n_vaddr, const tl_sockaddr *address) {
    int32_t room;
    if (!tl_vm_read(t->process, n_vaddr, &room, sizeof room))
        return -EFAULT;
    return room < 0 ? -EINVAL : put_address(t, vaddr, (uint32_t)room, n_vaddr, address);
}

// ---- Making sockets.

static int64_t check_kind(const tl_thread *t, uint32_t domain, uint32_t *type, uint32_t protocol) {
    (void)t;
    if (domain == AF_UNIX) {
        if (protocol > 1)
            return -EPROTONOSUPPORT;
        *type = *type == SOCK_RAW ? SOCK_DGRAM : *type;
        return *type == SOCK_STREAM || *type == SOCK_DGRAM || *type == SOCK_SEQPACKET ? 0 : -ESOCKTNOSUPPORT;
    }
    if (domain != AF_INET && domain != AF_INET6)
        return -EAFNOSUPPORT;
    if (*type == SOCK_RAW)
        return -EPERM;
    if (*type == SOCK_STREAM)
        return protocol == 0 || protocol == IPPROTO_TCP ? 0 : -EPROTONOSUPPORT;
    if (*type == SOCK_DGRAM)
        return protocol == 0 || protocol == IPPROTO_UDP ? 0 : -EPROTONOSUPPORT;
    return -ESOCKTNOSUPPORT;
}

int64_t tl_sys_socket(tl_thread *t, const uint64_t args[6]) {
    uint32_t domain = (uint32_t)args[0], flags = (uint32_t)args[1] & CREATION_FLAGS, type = (uint32_t)args[1] & ~(uint32_t)CREATION_FLAGS;
    uint32_t protocol = (uint32_t)args[2];
    tl_file *file;
    int64_t error = check_kind(t, domain, &type, protocol);
    if (error)
        return error;
    if (domain != AF_UNIX && protocol == 0)
        protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
    if (domain != AF_UNIX && t->os->options.allow_network)
        error = tl_host_socket_new(t->os, domain, type, protocol, &file);
    else
        error = tl_local_socket_new(t->os, domain, type, protocol, &file);
    if (error)
        return error;
    file->flags |= flags & TL_O_NONBLOCK;
    return tl_fd_install(t, file, flags & TL_O_CLOEXEC, 0);
}

int64_t tl_sys_socketpair(tl_thread *t, const uint64_t args[6]) {
    uint32_t domain = (uint32_t)args[0], flags = (uint32_t)args[1] & CREATION_FLAGS, type = (uint32_t)args[1] & ~(uint32_t)CREATION_FLAGS;
    tl_file *files[2];
    int64_t error = check_kind(t, domain, &type, (uint32_t)args[2]);
    if (error)
        return error;
    if (domain != AF_UNIX)
        return -EOPNOTSUPP;
    error = tl_local_socket_pair(t, type, files);
    if (error)
        return error;
    files[0]->flags |= flags & TL_O_NONBLOCK;
    files[1]->flags |= flags & TL_O_NONBLOCK;
    return tl_fd_install_pair(t, files, flags & TL_O_CLOEXEC, args[3]);
}

// Arguments (descriptor, address, bytes). An address has its family at least.
static int64_t get_socket_and_address(tl_thread *t, const uint64_t args[6], tl_socket_file **ret_socket, tl_sockaddr *ret_address) {
    int64_t error = socket_at(t, (int32_t)args[0], ret_socket);
    if (!error)
        error = get_address(t, args[1], (uint32_t)args[2], ret_address);
    return !error && ret_address->n < sizeof(uint16_t) ? -EINVAL : error;
}

int64_t tl_sys_bind(tl_thread *t, const uint64_t args[6]) {
    tl_socket_file *s;
    tl_sockaddr address;
    int64_t error = get_socket_and_address(t, args, &s, &address);
    return error ? error : s->socket_ops->bind(t, &s->base, &address);
}

int64_t tl_sys_connect(tl_thread *t, const uint64_t args[6]) {
    tl_socket_file *s;
    tl_sockaddr address;
    int64_t error = get_socket_and_address(t, args, &s, &address);
    return error ? error : s->socket_ops->connect(t, &s->base, &address);
}

int64_t tl_sys_listen(tl_thread *t, const uint64_t args[6]) {
    tl_socket_file *s;
    int64_t error = socket_at(t, (int32_t)args[0], &s);
    return error ? error : s->socket_ops->listen(t, &s->base, (int32_t)args[1]);
}

static int64_t do_accept(tl_thread *t, const uint64_t args[6], uint32_t flags) {
    tl_socket_file *s;
    tl_file *file;
    tl_sockaddr peer = {.n = 0};
    if (flags & ~(uint32_t)CREATION_FLAGS)
        return -EINVAL;
    int64_t error = socket_at(t, (int32_t)args[0], &s);
    if (!error)
        error = s->socket_ops->accept(t, &s->base, &file, &peer);
    if (error == -EAGAIN && !(s->base.flags & TL_O_NONBLOCK))
        return tl_file_block(t, &s->base, EPOLLIN, s->base.read_timeout_ns, 0);
    if (error)
        return error;
    file->flags |= flags & TL_O_NONBLOCK;
    int32_t fd = tl_fd_install(t, file, flags & TL_O_CLOEXEC, 0);
    if (fd < 0 || !args[1])
        return fd;
    error = put_address_in_out(t, args[1], args[2], &peer);
    if (error)
        tl_fd_close(t, fd);
    return error ? error : fd;
}

int64_t tl_sys_accept(tl_thread *t, const uint64_t args[6]) { return do_accept(t, args, 0); }
int64_t tl_sys_accept4(tl_thread *t, const uint64_t args[6]) { return do_accept(t, args, (uint32_t)args[3]); }

static int64_t do_name(tl_thread *t, const uint64_t args[6], bool is_peer) {
    tl_socket_file *s;
    tl_sockaddr address = {.n = 0};
    int64_t error = socket_at(t, (int32_t)args[0], &s);
    if (!error)
        error = s->socket_ops->name(t, &s->base, is_peer, &address);
    return error ? error : put_address_in_out(t, args[1], args[2], &address);
}

int64_t tl_sys_getsockname(tl_thread *t, const uint64_t args[6]) { return do_name(t, args, false); }
int64_t tl_sys_getpeername(tl_thread *t, const uint64_t args[6]) { return do_name(t, args, true); }

int64_t tl_sys_shutdown(tl_thread *t, const uint64_t args[6]) {
    tl_socket_file *s;
    int64_t error = socket_at(t, (int32_t)args[0], &s);
    if (!error && (uint32_t)args[1] > SHUT_RDWR)
        error = -EINVAL;
    return error ? error : s->socket_ops->shutdown(t, &s->base, (int)args[1]);
}

int64_t tl_sys_getsockopt(tl_thread *t, const uint64_t args[6]) {
    tl_socket_file *s;
    int32_t room;
    uint8_t value[MAX_OPTION_BYTES];
    int64_t error = socket_at(t, (int32_t)args[0], &s);
    if (error)
        return error;
    if (!tl_vm_read(t->process, args[4], &room, sizeof room))
        return -EFAULT;
    if (room < 0)
        return -EINVAL;
    uint32_t n = (uint32_t)room < sizeof value ? (uint32_t)room : sizeof value;
    error = s->socket_ops->get_option(t, &s->base, (int)args[1], (int)args[2], value, &n);
    if (error)
        return error;
    return tl_vm_write(t->process, args[3], value, n) && tl_vm_write(t->process, args[4], &n, sizeof n) ? 0 : -EFAULT;
}

int64_t tl_sys_setsockopt(tl_thread *t, const uint64_t args[6]) {
    tl_socket_file *s;
    uint8_t value[MAX_OPTION_BYTES] = {0};
    int64_t error = socket_at(t, (int32_t)args[0], &s);
    if (error)
        return error;
    if ((int32_t)args[4] < 0)
        return -EINVAL;
    uint32_t n = (uint32_t)args[4] < sizeof value ? (uint32_t)args[4] : sizeof value;
    if (n && !tl_vm_read(t->process, args[3], value, n))
        return -EFAULT;
    return s->socket_ops->set_option(t, &s->base, (int)args[1], (int)args[2], value, n);
}

// ---- Messages.

typedef struct control_header {
    uint64_t n; // header included
    int32_t level, type;
} control_header;

static void drop_files(tl_os *os, tl_message *m) {
    for (uint32_t i = 0; i < m->n_files; i++)
        tl_file_unref(os, m->files[i]);
    m->n_files = 0;
}

static int64_t take_rights(tl_thread *t, uint64_t vaddr, uint64_t n, tl_message *m) {
    for (uint64_t at = 0; at + sizeof(int32_t) <= n; at += sizeof(int32_t)) {
        int32_t fd;
        if (!tl_vm_read(t->process, vaddr + at, &fd, sizeof fd))
            return -EFAULT;
        tl_file *file = tl_file_of_fd(t, fd);
        if (!file)
            return -EBADF;
        if (m->n_files == TL_SCM_MAX)
            return -EINVAL;
        m->files[m->n_files++] = tl_file_ref(file);
    }
    return 0;
}

static int64_t get_control(tl_thread *t, uint64_t vaddr, uint64_t n, tl_message *m) {
    for (uint64_t at = 0; at + sizeof(control_header) <= n;) {
        control_header header;
        if (!tl_vm_read(t->process, vaddr + at, &header, sizeof header))
            return -EFAULT;
        if (header.n < sizeof header || header.n > n - at)
            return -EINVAL;
        int64_t error = 0;
        if (header.level == SOL_SOCKET && header.type == SCM_RIGHTS)
            error = take_rights(t, vaddr + at + sizeof header, header.n - sizeof header, m);
        else if (header.level == SOL_SOCKET && header.type != SCM_CREDENTIALS)
            error = -EINVAL;
        if (error)
            return error;
        at += tl_align_up(header.n, 8);
    }
    return 0;
}

// One piece of control data; false: no room.
static bool put_control(tl_thread *t, uint64_t vaddr, uint64_t room, uint64_t *at, int type, const void *data, uint64_t n) {
    control_header header = {.n = sizeof header + n, .level = SOL_SOCKET, .type = type};
    if (*at + header.n > room)
        return false;
    (void)(tl_vm_write(t->process, vaddr + *at, &header, sizeof header) && tl_vm_write(t->process, vaddr + *at + sizeof header, data, n));
    uint64_t step = tl_align_up(header.n, 8);
    *at = *at + step < room ? *at + step : room;
    return true;
}

static uint64_t deliver_control(tl_thread *t, const tl_abi_msghdr *header, bool close_on_exec, tl_message *m) {
    uint64_t at = 0;
    int32_t fds[TL_SCM_MAX];
    if (m->has_credentials) {
        const int32_t credentials[3] = {m->pid, (int32_t)m->uid, (int32_t)m->gid};
        if (!put_control(t, header->control, header->control_bytes, &at, SCM_CREDENTIALS, credentials, sizeof credentials))
            m->flags |= MSG_CTRUNC;
    }
    if (!m->n_files)
        return at;
    uint64_t room =
        header->control_bytes > at + sizeof(control_header) ? (header->control_bytes - at - sizeof(control_header)) / sizeof(int32_t) : 0;
    uint32_t n = 0;
    for (; n < m->n_files && n < room; n++) {
        fds[n] = tl_fd_install(t, tl_file_ref(m->files[n]), close_on_exec, 0);
        if (fds[n] < 0)
            break;
    }
    if (n < m->n_files)
        m->flags |= MSG_CTRUNC;
    if (n)
        put_control(t, header->control, header->control_bytes, &at, SCM_RIGHTS, fds, n * sizeof *fds);
    drop_files(t->os, m);
    return at;
}

typedef struct call { // one sendmsg or recvmsg, however it was asked for
    tl_socket_file *socket;
    tl_abi_iovec vectors[TL_IOV_MAX];
    uint32_t n_vectors;
    uint64_t total;
    uint32_t flags;
    struct iovec spans[TL_IOV_MAX];
    tl_message message;
} call;

// Sends until everything is out, sleeping as needed. The message holds what came with it.
static int64_t send_all(tl_thread *t, call *c) {
    tl_file *file = &c->socket->base;
    bool is_nonblock = file->flags & TL_O_NONBLOCK || c->flags & MSG_DONTWAIT;
    uint64_t done = t->is_retry ? t->retry[0] : 0;
    int64_t n;
    for (;;) {
        tl_io *io = &c->message.io;
        uint64_t left = c->total - done;
        *io = (tl_io){.spans = c->spans, .n_wanted = (size_t)left, .is_nonblock = is_nonblock};
        io->n_spans = left ? tl_iov_spans(t->process, c->vectors, c->n_vectors, done, left, false, c->spans, &io->n_bytes) : 0;
        n = left && io->n_spans == 0 ? -EFAULT : 0;
        if (done)
            drop_files(t->os, &c->message);
        c->message.flags = c->flags;
        if (!n)
            n = c->socket->socket_ops->send(t, file, &c->message);
        if (file->ops->wait)
            tl_epoll_used(file, EPOLLOUT);
        if (n < 0)
            break;
        done += (uint64_t)n;
        tl_os_count(t->os, TL_S_OS_WRITE_BYTES, (uint64_t)n);
        if (done >= c->total || n == 0 || c->socket->type != SOCK_STREAM)
            break;
    }
    drop_files(t->os, &c->message);
    if (n == -EAGAIN && !is_nonblock)
        return tl_file_block(t, file, EPOLLOUT, file->write_timeout_ns, done);
    return n < 0 && !done ? n : (int64_t)done;
}

static int64_t receive(tl_thread *t, call *c) {
    tl_file *file = &c->socket->base;
    bool is_nonblock = file->flags & TL_O_NONBLOCK || c->flags & MSG_DONTWAIT;
    bool waits_for_all = c->flags & MSG_WAITALL && c->socket->type == SOCK_STREAM && !(c->flags & MSG_PEEK);
    uint64_t done = t->is_retry ? t->retry[0] : 0;
    for (;;) {
        tl_io *io = &c->message.io;
        uint64_t left = c->total - done, max = left;
        if (file->ops->available) {
            size_t available = file->ops->available(t->os, file, 0);
            max = max < available ? max : available;
        }
        *io = (tl_io){.spans = c->spans, .n_wanted = (size_t)left, .is_nonblock = is_nonblock};
        io->n_spans = max ? tl_iov_spans(t->process, c->vectors, c->n_vectors, done, max, true, c->spans, &io->n_bytes) : 0;
        if (max && io->n_spans == 0)
            return done ? (int64_t)done : -EFAULT;
        c->message.flags = c->flags;
        int64_t n = c->socket->socket_ops->receive(t, file, &c->message);
        if (file->ops->wait)
            tl_epoll_used(file, EPOLLIN);
        if (n == -EAGAIN && !is_nonblock)
            return tl_file_block(t, file, EPOLLIN, file->read_timeout_ns, done);
        if (n < 0)
            return done ? (int64_t)done : n;
        done += (uint64_t)n;
        tl_os_count(t->os, TL_S_OS_READ_BYTES, (uint64_t)n);
        if (n == 0 || done >= c->total || !waits_for_all || c->message.n_files)
            return (int64_t)done;
    }
}

static int64_t with_call(tl_thread *t, int32_t fd, call **ret_call) {
    tl_socket_file *s;
    int64_t error = socket_at(t, fd, &s);
    if (error)
        return error;
    *ret_call = calloc(1, sizeof **ret_call);
    if (!*ret_call)
        return -ENOMEM;
    (*ret_call)->socket = s;
    return 0;
}

static void set_buffer(call *c, uint64_t vaddr, uint64_t n) {
    c->total = n < TL_MAX_RW_BYTES ? n : TL_MAX_RW_BYTES;
    c->vectors[0] = (tl_abi_iovec){.vaddr = vaddr, .n_bytes = c->total};
    c->n_vectors = 1;
}

int64_t tl_sys_sendto(tl_thread *t, const uint64_t args[6]) {
    call *c;
    int64_t result = with_call(t, (int32_t)args[0], &c);
    if (result)
        return result;
    set_buffer(c, args[1], args[2]);
    c->flags = (uint32_t)args[3];
    if (args[4])
        result = get_address(t, args[4], (uint32_t)args[5], &c->message.address);
    if (!result)
        result = send_all(t, c);
    free(c);
    return result;
}

int64_t tl_sys_recvfrom(tl_thread *t, const uint64_t args[6]) {
    call *c;
    int64_t result = with_call(t, (int32_t)args[0], &c);
    if (result)
        return result;
    set_buffer(c, args[1], args[2]);
    c->flags = (uint32_t)args[3];
    result = receive(t, c);
    drop_files(t->os, &c->message);
    if (result >= 0 && args[4]) {
        int64_t error = put_address_in_out(t, args[4], args[5], &c->message.address);
        result = error ? error : result;
    }
    free(c);
    return result;
}

static int64_t get_header(tl_thread *t, uint64_t vaddr, call *c, tl_abi_msghdr *header) {
    if (!tl_vm_read(t->process, vaddr, header, sizeof *header))
        return -EFAULT;
    if (header->n_iov > TL_IOV_MAX)
        return -EMSGSIZE;
    if (header->control_bytes > INT32_MAX || (int32_t)header->name_bytes < 0)
        return header->control_bytes > INT32_MAX ? -ENOBUFS : -EINVAL;
    if (header->name_bytes > TL_SOCKADDR_MAX)
        header->name_bytes = TL_SOCKADDR_MAX;
    c->n_vectors = (uint32_t)header->n_iov;
    return tl_read_iov(t->process, header->iov, header->n_iov, c->vectors, &c->total);
}

static int64_t send_message(tl_thread *t, int32_t fd, uint64_t vaddr, uint32_t flags) {
    call *c;
    tl_abi_msghdr header;
    int64_t result = with_call(t, fd, &c);
    if (result)
        return result;
    c->flags = flags;
    result = get_header(t, vaddr, c, &header);
    if (!result && header.name)
        result = get_address(t, header.name, header.name_bytes, &c->message.address);
    if (!result && header.control_bytes)
        result = get_control(t, header.control, header.control_bytes, &c->message);
    if (result)
        drop_files(t->os, &c->message);
    else
        result = send_all(t, c);
    free(c);
    return result;
}

static int64_t receive_message(tl_thread *t, int32_t fd, uint64_t vaddr, uint32_t flags) {
    enum { NAME_BYTES = 8, CONTROL_BYTES = 40, FLAGS = 48 }; // offsets of what is written back
    call *c;
    tl_abi_msghdr header;
    int64_t result = with_call(t, fd, &c);
    if (result)
        return result;
    c->flags = flags;
    result = get_header(t, vaddr, c, &header);
    if (!result)
        result = receive(t, c);
    if (result >= 0) {
        tl_message *m = &c->message;
        uint64_t n_control = deliver_control(t, &header, flags & MSG_CMSG_CLOEXEC, m);
        uint32_t out_flags = m->flags | (flags & MSG_CMSG_CLOEXEC);
        bool is_written = tl_vm_write(t->process, vaddr + CONTROL_BYTES, &n_control, sizeof n_control) &&
                          tl_vm_write(t->process, vaddr + FLAGS, &out_flags, sizeof out_flags);
        if (!is_written || (header.name && put_address(t, header.name, header.name_bytes, vaddr + NAME_BYTES, &m->address)))
            result = -EFAULT;
    } else {
        drop_files(t->os, &c->message);
    }
    free(c);
    return result;
}

int64_t tl_sys_sendmsg(tl_thread *t, const uint64_t args[6]) { return send_message(t, (int32_t)args[0], args[1], (uint32_t)args[2]); }
int64_t tl_sys_recvmsg(tl_thread *t, const uint64_t args[6]) { return receive_message(t, (int32_t)args[0], args[1], (uint32_t)args[2]); }

// Arrays of messages: only the first one is waited for.
enum { MMSGHDR_BYTES = 64, MMSGHDR_LENGTH = 56 };

static int64_t many(tl_thread *t, const uint64_t args[6], int64_t (*one)(tl_thread *, int32_t, uint64_t, uint32_t)) {
    uint32_t n = (uint32_t)args[2] < TL_IOV_MAX ? (uint32_t)args[2] : TL_IOV_MAX, flags = (uint32_t)args[3] & ~(uint32_t)MSG_WAITFORONE;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t vaddr = args[1] + (uint64_t)i * MMSGHDR_BYTES;
        int64_t result = one(t, (int32_t)args[0], vaddr, i ? flags | MSG_DONTWAIT : flags);
        if (result < 0)
            return i ? (int64_t)i : result;
        uint32_t length = (uint32_t)result;
        if (!tl_vm_write(t->process, vaddr + MMSGHDR_LENGTH, &length, sizeof length))
            return i ? (int64_t)i : -EFAULT;
    }
    return n;
}

int64_t tl_sys_sendmmsg(tl_thread *t, const uint64_t args[6]) { return many(t, args, send_message); }

int64_t tl_sys_recvmmsg(tl_thread *t, const uint64_t args[6]) {
    if (args[4] && !t->is_retry) {
        uint64_t ns;
        int64_t error = tl_read_timespec(t->process, args[4], &ns);
        if (error)
            return error;
        tl_set_deadline_after(t, ns);
    }
    return many(t, args, receive_message);
}
