// SPDX-License-Identifier: MIT
// Sockets of the host, when the user allows the network. A run that uses them is not repeatable,
// because the host decides which bytes arrive and when. Host descriptors never block; threads of
// the guest sleep in the machine.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "linux/file/file_system.h"
#include "linux/file/rw.h"
#include "linux/file/socket.h"
#include "linux/process/clock.h"

typedef struct host_socket {
    tl_socket_file base;
    int fd;
} host_socket;

static int fd_of(const tl_file *file) { return ((const host_socket *)file)->fd; }
static int64_t error_of(const tl_thread *t) { return tl_file_host_error(t->os, errno); }
static const tl_socket_ops host_ops;

static int64_t wrap(tl_os *os, int fd, uint32_t domain, uint32_t type, uint32_t protocol, tl_file **ret_file) {
    if (fd < 0)
        return tl_file_host_error(os, errno);
    host_socket *f = tl_file_new(os, sizeof *f, &tl_host_socket_ops, TL_O_RDWR);
    if (!f) {
        close(fd);
        return -ENOMEM;
    }
    f->fd = fd;
    f->base.socket_ops = &host_ops;
    f->base.domain = domain;
    f->base.type = type;
    f->base.protocol = protocol;
    f->base.base.device = tl_device_socket();
    *ret_file = &f->base.base;
    return 0;
}

int64_t tl_host_socket_new(tl_os *os, uint32_t domain, uint32_t type, uint32_t protocol, tl_file **ret_file) {
    return wrap(os, socket((int)domain, (int)type | SOCK_NONBLOCK | SOCK_CLOEXEC, (int)protocol), domain, type, protocol, ret_file);
}

static void host_close(tl_os *os, tl_file *file) {
    (void)os;
    close(fd_of(file));
    free(file);
}

static int64_t host_bind(tl_thread *t, tl_file *file, const tl_sockaddr *address) {
    return bind(fd_of(file), (const struct sockaddr *)address->bytes, address->n) < 0 ? error_of(t) : 0;
}

static short poll_now(const tl_file *file) {
    struct pollfd p = {.fd = fd_of(file), .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP};
    return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

static int64_t host_connect(tl_thread *t, tl_file *file, const tl_sockaddr *address) {
    if (!t->is_retry) {
        if (connect(fd_of(file), (const struct sockaddr *)address->bytes, address->n) == 0)
            return 0;
        if (errno != EINPROGRESS || file->flags & TL_O_NONBLOCK)
            return error_of(t);
    }
    if (!(poll_now(file) & (POLLOUT | POLLERR | POLLHUP)))
        return tl_file_block(t, file, EPOLLOUT, file->write_timeout_ns, 0);
    int error = 0;
    socklen_t n = sizeof error;
    return getsockopt(fd_of(file), SOL_SOCKET, SO_ERROR, &error, &n) < 0 ? error_of(t) : -error;
}

static int64_t host_listen(tl_thread *t, tl_file *file, int32_t backlog) { return listen(fd_of(file), backlog) < 0 ? error_of(t) : 0; }

static int64_t host_accept(tl_thread *t, tl_file *file, tl_file **ret_file, tl_sockaddr *ret_peer) {
    const tl_socket_file *s = (const tl_socket_file *)file;
    socklen_t n = sizeof ret_peer->bytes;
    int fd = accept4(fd_of(file), (struct sockaddr *)ret_peer->bytes, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return error_of(t);
    ret_peer->n = n < sizeof ret_peer->bytes ? n : sizeof ret_peer->bytes;
    return wrap(t->os, fd, s->domain, s->type, s->protocol, ret_file);
}

static struct msghdr header_of(tl_message *m) {
    return (struct msghdr){.msg_iov = (struct iovec *)(uintptr_t)m->io.spans, .msg_iovlen = (size_t)m->io.n_spans};
}

static int64_t host_send(tl_thread *t, tl_file *file, tl_message *m) {
    struct msghdr header = header_of(m);
    if (m->n_files)
        return -EINVAL;
    if (m->address.n) {
        header.msg_name = m->address.bytes;
        header.msg_namelen = m->address.n;
    }
    ssize_t n =
        sendmsg(fd_of(file), &header, (int)(m->flags & (MSG_OOB | MSG_DONTROUTE | MSG_EOR | MSG_MORE)) | MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EPIPE && !(m->flags & MSG_NOSIGNAL))
        tl_signal_send_thread(t, SIGPIPE, NULL);
    if (n < 0)
        return errno == EPIPE ? -EPIPE : error_of(t);
    tl_os_note_transfer(t->os, (uint64_t)n, true);
    return n;
}

static int64_t host_receive(tl_thread *t, tl_file *file, tl_message *m) {
    struct msghdr header = header_of(m);
    header.msg_name = m->address.bytes;
    header.msg_namelen = sizeof m->address.bytes;
    ssize_t n = recvmsg(fd_of(file), &header, (int)(m->flags & (MSG_OOB | MSG_PEEK | MSG_TRUNC)) | MSG_DONTWAIT);
    if (n < 0)
        return error_of(t);
    tl_os_note_transfer(t->os, (uint64_t)n, false);
    m->address.n = header.msg_namelen < sizeof m->address.bytes ? header.msg_namelen : sizeof m->address.bytes;
    m->flags = (uint32_t)header.msg_flags & (MSG_TRUNC | MSG_EOR | MSG_OOB);
    return n;
}

static int64_t host_read(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_message m = {.io = *io};
    return host_receive(t, file, &m);
}

static int64_t host_write(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_message m = {.io = *io};
    return host_send(t, file, &m);
}

static int64_t host_name(tl_thread *t, tl_file *file, bool is_peer, tl_sockaddr *ret_address) {
    socklen_t n = sizeof ret_address->bytes;
    struct sockaddr *to = (struct sockaddr *)ret_address->bytes;
    if ((is_peer ? getpeername(fd_of(file), to, &n) : getsockname(fd_of(file), to, &n)) < 0)
        return error_of(t);
    ret_address->n = n < sizeof ret_address->bytes ? n : sizeof ret_address->bytes;
    return 0;
}

static int64_t host_shutdown(tl_thread *t, tl_file *file, int how) { return shutdown(fd_of(file), how) < 0 ? error_of(t) : 0; }

static int64_t host_get_option(tl_thread *t, tl_file *file, int level, int option, void *to, uint32_t *n) {
    socklen_t length = *n;
    if (getsockopt(fd_of(file), level, option, to, &length) < 0)
        return error_of(t);
    *n = length < *n ? length : *n;
    return 0;
}

static int64_t host_set_option(tl_thread *t, tl_file *file, int level, int option, const void *from, uint32_t n) {
    if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO)) {
        tl_abi_timeval tv;
        if (n < sizeof tv)
            return -EINVAL;
        memcpy(&tv, from, sizeof tv);
        uint64_t ns = tl_timeout_ns(&tv);
        *(option == SO_SNDTIMEO ? &file->write_timeout_ns : &file->read_timeout_ns) = ns;
        return 0;
    }
    return setsockopt(fd_of(file), level, option, from, n) < 0 ? error_of(t) : 0;
}

static uint32_t host_poll(tl_os *os, tl_file *file) {
    (void)os;
    return (uint32_t)(uint16_t)poll_now(file) | (poll_now(file) & POLLIN ? EPOLLRDNORM : 0u) |
           (poll_now(file) & POLLOUT ? EPOLLWRNORM : 0u);
}

static void host_wait(tl_thread *t, tl_file *file, uint32_t events) {
    short host = (short)((events & EPOLLIN ? POLLIN : 0) | (events & EPOLLOUT ? POLLOUT : 0) | (events & EPOLLPRI ? POLLPRI : 0));
    tl_wait_on_host(t, fd_of(file), host, "the network");
}

static int64_t host_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    tl_stat_anonymous(os, file, S_IFSOCK | 0777, ret_stat);
    return 0;
}

static int64_t host_ioctl(tl_thread *t, tl_file *file, uint32_t request, uint64_t argument) {
    int32_t n = 0;
    if (request != TL_FIONREAD)
        return -ENOTTY;
    if (ioctl(fd_of(file), FIONREAD, &n) < 0)
        return error_of(t);
    return tl_vm_write(t->process, argument, &n, sizeof n) ? 0 : -EFAULT;
}

static const tl_socket_ops host_ops = {
    .bind = host_bind,
    .connect = host_connect,
    .listen = host_listen,
    .accept = host_accept,
    .send = host_send,
    .receive = host_receive,
    .name = host_name,
    .shutdown = host_shutdown,
    .get_option = host_get_option,
    .set_option = host_set_option,
};

const tl_file_ops tl_host_socket_ops = {
    .kind = "a socket",
    .close = host_close,
    .read = host_read,
    .write = host_write,
    .poll = host_poll,
    .wait = host_wait,
    .stat = host_stat,
    .ioctl = host_ioctl,
    .link_name = "socket",
    .is_stream = true,
    .is_pollable = true,
};
