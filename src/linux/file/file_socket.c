// SPDX-License-Identifier: MIT
// Local sockets. A socket is an inbox: a queue of messages with a limit. A connected stream puts
// bytes into the inbox of the peer. A datagram goes to the inbox of the socket that its address
// names. AF_INET is a private loopback. A name is an address and a port, and ports are assigned in
// ascending order. All other addresses are unreachable.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "linux/file/fd.h"
#include "linux/file/file_host.h"
#include "linux/file/file_system.h"
#include "linux/file/socket.h"
#include "linux/process/clock.h"

enum { INBOX_BYTES = 212992, SPARE_BYTES = 32, FIRST_PORT = 32768, LAST_PORT = 60999, MAX_BACKLOG = 4096, SENT_BEFORE_COLLECTION = 1000 };
// Descriptors of the host are scarce: many hosts limit a process to 1024.
enum { HOST_SENT_BEFORE_COLLECTION = 100 };

typedef struct letter { // a message in an inbox
    struct letter *next;
    size_t n, at; // bytes, and how many of them were read
    tl_sockaddr from;
    int32_t pid;
    uint32_t n_files;
    tl_file **files;
    uint64_t n_charged;
    uint8_t bytes[];
} letter;

typedef struct tl_socket {
    uint32_t n_refs; // its file, its peer, names
    // All sockets are in this list, because messages may hold sockets that nothing else holds.
    struct tl_socket *next, *previous;
    tl_poll_head head;
    uint32_t domain, type;
    letter *first, *last;
    size_t n_bytes, limit;
    // Held. Stream: the socket that reads our bytes. Datagram: the default destination.
    struct tl_socket *peer;
    bool is_listening, is_connected, is_dead, cannot_read, cannot_write, is_v6_only;
    // Connections not yet accepted, held.
    struct tl_socket *pending_first, *pending_last, *pending_next;
    int32_t n_pending, backlog;
    tl_sockaddr name, peer_name;
    bool is_bound;
    int error; // SO_ERROR
    int32_t pid, peer_pid;
    uint32_t options; // SOL_SOCKET booleans, bit by number
    int32_t linger[2];
    const tl_file *file; // NULL: not accepted yet, or closed
    // For collect.
    uint32_t n_on_their_way;
    bool is_reached;
    struct tl_socket *next_to_look;
} tl_socket;

typedef struct local_file {
    tl_socket_file base;
    tl_socket *socket;
} local_file;

static const tl_file_ops stream_ops, datagram_ops;
static const tl_socket_ops local_ops;

static tl_socket *of(const tl_file *file) { return ((const local_file *)file)->socket; }
static bool is_datagram(const tl_socket *s) { return s->type == SOCK_DGRAM; }
static bool is_inet(const tl_socket *s) { return s->domain != AF_UNIX; }

bool tl_file_is_socket(const tl_file *file) {
    return file->ops == &stream_ops || file->ops == &datagram_ops || file->ops == &tl_host_socket_ops;
}

uint16_t tl_sockaddr_family(const tl_sockaddr *address) {
    uint16_t family = 0;
    if (address->n >= sizeof family)
        memcpy(&family, address->bytes, sizeof family);
    return family;
}

// ---- Life.

static void collect(tl_os *os);

static tl_socket *socket_new(tl_os *os, uint32_t domain, uint32_t type) {
    if (os->file_system->n_sockets_sent > 0 && !tl_account_has_room(&os->account, 4 * sizeof(tl_socket)))
        collect(os);
    tl_socket *s = tl_account_charge(&os->account, sizeof *s) ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    *s = (tl_socket){.n_refs = 1, .domain = domain, .type = type, .limit = INBOX_BYTES};
    uint16_t family = (uint16_t)domain;
    s->name.n = domain == AF_INET ? sizeof(struct sockaddr_in) : domain == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof family;
    memcpy(s->name.bytes, &family, sizeof family);
    tl_file_system *fs = os->file_system;
    s->next = fs->sockets;
    if (s->next)
        s->next->previous = s;
    fs->sockets = s;
    return s;
}

static void letter_free(tl_os *os, letter *l) {
    for (uint32_t i = 0; i < l->n_files; i++)
        tl_file_unref(os, l->files[i]);
    tl_account_release(&os->account, l->n_charged);
    free(l->files);
    free(l);
}

static void empty(tl_os *os, tl_socket *s) {
    while (s->first) {
        letter *l = s->first;
        s->first = l->next;
        letter_free(os, l);
    }
    s->last = NULL;
    s->n_bytes = 0;
}

static void socket_unref(tl_os *os, tl_socket *s) {
    if (!s || --s->n_refs > 0)
        return;
    empty(os, s);
    tl_poll_head_done(os, &s->head);
    if (s->previous)
        s->previous->next = s->next;
    else
        os->file_system->sockets = s->next;
    if (s->next)
        s->next->previous = s->previous;
    tl_account_release(&os->account, sizeof *s);
    free(s);
}

void tl_sockets_done(tl_os *os) {
    for (tl_socket *s = os->file_system->sockets; s;) {
        if (s->first) { // which may close sockets, this one too
            s->n_refs++;
            empty(os, s);
            socket_unref(os, s);
            s = os->file_system->sockets;
        } else {
            s = s->next;
        }
    }
}

// ---- Sockets that only letters in each other's inboxes hold.
//
// A letter holds the files that it carries. A socket whose file has no other holder is reachable
// only through the inbox of that letter. Sockets that no socket with another holder leads to are
// garbage, as in the kernel. Emptying the inboxes of garbage sockets closes them.

static tl_socket *socket_of(const tl_file *file) { return file->ops == &stream_ops || file->ops == &datagram_ops ? of(file) : NULL; }

static void count_references(const tl_socket *s) {
    for (const letter *l = s->first; l; l = l->next)
        for (uint32_t i = 0; i < l->n_files; i++) {
            tl_socket *held = socket_of(l->files[i]);
            if (held)
                held->n_on_their_way++;
        }
}

// Marks all sockets that s can receive, directly or through received sockets. No recursion, because
// chains may be long.
static void mark_from(tl_socket *s) {
    tl_socket *todo = s;
    s->is_reached = true;
    s->next_to_look = NULL;
    while (todo) {
        tl_socket *now = todo, *pending = now->pending_first;
        todo = now->next_to_look;
        for (; pending; pending = pending->pending_next)
            if (!pending->is_reached) {
                pending->is_reached = true;
                pending->next_to_look = todo;
                todo = pending;
            }
        for (const letter *l = now->first; l; l = l->next)
            for (uint32_t i = 0; i < l->n_files; i++) {
                tl_socket *held = socket_of(l->files[i]);
                if (held && !held->is_reached) {
                    held->is_reached = true;
                    held->next_to_look = todo;
                    todo = held;
                }
            }
    }
}

static void collect(tl_os *os) {
    tl_file_system *fs = os->file_system;
    for (tl_socket *s = fs->sockets; s; s = s->next) {
        s->n_on_their_way = 0;
        s->is_reached = false;
    }
    for (tl_socket *s = fs->sockets; s; s = s->next)
        count_references(s);
    for (tl_socket *s = fs->sockets; s; s = s->next)
        if (!s->is_reached && s->file && s->file->n_refs > s->n_on_their_way)
            mark_from(s);
    for (tl_socket *s = fs->sockets; s;) {
        // The call may close any socket, this one too.
        if (s->first && s->file && !s->is_reached && !s->is_dead) {
            s->n_refs++;
            empty(os, s);
            socket_unref(os, s);
            s = fs->sockets;
        } else {
            s = s->next;
        }
    }
    fs->n_sockets_sent = fs->n_host_files_sent = 0;
}

static tl_socket *socket_ref(tl_socket *s) {
    s->n_refs++;
    return s;
}

static void drop_names(tl_file_system *fs, const tl_socket *s) {
    for (tl_socket_name **at = &fs->socket_names; *at;) {
        tl_socket_name *name = *at;
        if (name->socket == s) {
            *at = name->next;
            tl_account_release(fs->account, sizeof *name + name->n_bytes);
            free(name);
        } else {
            at = &name->next;
        }
    }
}

static void die(tl_os *os, tl_socket *s) {
    tl_socket *peer = s->peer;
    bool had_mail = s->first != NULL;
    s->is_dead = true;
    s->peer = NULL;
    drop_names(os->file_system, s);
    while (s->pending_first) {
        tl_socket *waiting = s->pending_first;
        s->pending_first = waiting->pending_next;
        die(os, waiting);
        socket_unref(os, waiting);
    }
    empty(os, s);
    if (peer) {
        if (!is_datagram(s) && peer->peer == s) {
            if (had_mail)
                peer->error = ECONNRESET;
            tl_poll_notify(os, &peer->head, EPOLLIN | EPOLLOUT | EPOLLHUP | EPOLLRDHUP);
        }
        socket_unref(os, peer);
    }
    tl_poll_notify(os, &s->head, EPOLLIN | EPOLLOUT | EPOLLHUP);
}

static tl_file *file_new(tl_os *os, tl_socket *s, uint32_t protocol) {
    local_file *f = tl_file_new(os, sizeof *f, is_datagram(s) ? &datagram_ops : &stream_ops, TL_O_RDWR);
    if (!f)
        return NULL;
    f->base.socket_ops = &local_ops;
    f->base.domain = s->domain;
    f->base.type = s->type;
    f->base.protocol = protocol;
    f->socket = s;
    s->file = &f->base.base;
    f->base.base.head = &s->head;
    f->base.base.device = tl_device_socket();
    return &f->base.base;
}

static void local_close(tl_os *os, tl_file *file) {
    of(file)->file = NULL;
    die(os, of(file));
    socket_unref(os, of(file));
    free(file);
}

int64_t tl_local_socket_new(tl_os *os, uint32_t domain, uint32_t type, uint32_t protocol, tl_file **ret_file) {
    tl_socket *s = socket_new(os, domain, type);
    *ret_file = s ? file_new(os, s, protocol) : NULL;
    if (!*ret_file)
        socket_unref(os, s);
    return *ret_file ? 0 : -ENOMEM;
}

static void join(tl_socket *a, tl_socket *b) {
    a->peer = socket_ref(b);
    b->peer = socket_ref(a);
    a->is_connected = b->is_connected = true;
}

int64_t tl_local_socket_pair(tl_thread *t, uint32_t type, tl_file *ret_files[2]) {
    int64_t error = tl_local_socket_new(t->os, AF_UNIX, type, 0, &ret_files[0]);
    if (error)
        return error;
    error = tl_local_socket_new(t->os, AF_UNIX, type, 0, &ret_files[1]);
    if (error) {
        tl_file_unref(t->os, ret_files[0]);
        return error;
    }
    tl_socket *a = of(ret_files[0]), *b = of(ret_files[1]);
    join(a, b);
    a->pid = b->pid = a->peer_pid = b->peer_pid = t->process->pid;
    a->peer_name = b->name;
    b->peer_name = a->name;
    return 0;
}

// ---- Names.

static uint16_t port_of(const tl_sockaddr *address) {
    uint16_t port;
    memcpy(&port, address->bytes + 2, sizeof port);
    return ntohs(port);
}

static void set_port(tl_sockaddr *address, uint16_t port) {
    port = htons(port);
    memcpy(address->bytes + 2, &port, sizeof port);
}

typedef enum where { WHERE_ANY, WHERE_LOOPBACK, WHERE_ELSEWHERE } where;

static where v4_where(const uint8_t *b) { return b[0] == 127 ? WHERE_LOOPBACK : b[0] | b[1] | b[2] | b[3] ? WHERE_ELSEWHERE : WHERE_ANY; }

static where where_of(const tl_sockaddr *address) {
    static const uint8_t any[16], mapped[12] = {[10] = 255, [11] = 255};
    if (tl_sockaddr_family(address) == AF_INET)
        return v4_where(address->bytes + 4);
    const uint8_t *b = address->bytes + 8;
    if (memcmp(b, mapped, sizeof mapped) == 0)
        return v4_where(b + 12);
    if (memcmp(b, any, 16) == 0)
        return WHERE_ANY;
    return memcmp(b, any, 15) == 0 && b[15] == 1 ? WHERE_LOOPBACK : WHERE_ELSEWHERE;
}

static int64_t check_inet(const tl_socket *s, const tl_sockaddr *address) {
    if (address->n < (s->domain == AF_INET ? sizeof(struct sockaddr_in) : 24))
        return -EINVAL;
    uint16_t family = tl_sockaddr_family(address);
    return family == s->domain ? 0 : -EAFNOSUPPORT;
}

static tl_socket_name *find_port(tl_file_system *fs, const tl_socket *s, uint16_t port) {
    for (tl_socket_name *name = fs->socket_names; name; name = name->next) {
        tl_sockaddr address = {.n = name->n_bytes};
        if (name->domain == AF_UNIX || name->type != s->type)
            continue;
        memcpy(address.bytes, name->bytes, name->n_bytes);
        if (port_of(&address) == port && (name->domain == s->domain || (name->domain == AF_INET6 && !name->socket->is_v6_only)))
            return name;
    }
    return NULL;
}

static int64_t add_name(tl_file_system *fs, tl_socket *s, const tl_sockaddr *address, uint64_t device, uint64_t inode) {
    tl_socket_name *name = tl_account_charge(fs->account, sizeof *name + address->n) ? calloc(1, sizeof *name + address->n) : NULL;
    if (!name)
        return -ENOMEM;
    *name = (tl_socket_name){.next = fs->socket_names,
                             .socket = s,
                             .device = device,
                             .inode = inode,
                             .domain = s->domain,
                             .type = s->type,
                             .n_bytes = address->n};
    memcpy(name->bytes, address->bytes, address->n);
    fs->socket_names = name;
    s->name = *address;
    s->is_bound = true;
    return 0;
}

static int64_t bind_inet(tl_os *os, tl_socket *s, const tl_sockaddr *wanted) {
    tl_file_system *fs = os->file_system;
    tl_sockaddr address = *wanted;
    if (where_of(&address) == WHERE_ELSEWHERE)
        return -EADDRNOTAVAIL;
    uint16_t port = port_of(&address);
    if (port && port < 1024)
        return -EACCES;
    if (port && find_port(fs, s, port))
        return -EADDRINUSE;
    for (int tries = 0; !port; tries++) {
        if (fs->next_port < FIRST_PORT || fs->next_port > LAST_PORT)
            fs->next_port = FIRST_PORT;
        if (tries > LAST_PORT - FIRST_PORT)
            return -EADDRINUSE;
        uint16_t candidate = fs->next_port++;
        if (!find_port(fs, s, candidate))
            port = candidate;
    }
    set_port(&address, port);
    address.n = s->name.n;
    return add_name(fs, s, &address, 0, 0);
}

// The kernel binds an unnamed socket before it sends.
static int64_t bind_unnamed(tl_os *os, tl_socket *s) {
    if (s->is_bound || !is_inet(s))
        return 0;
    tl_sockaddr address = s->name;
    if (s->domain == AF_INET)
        memcpy(address.bytes + 4, (const uint8_t[4]){127, 0, 0, 1}, 4);
    else
        address.bytes[23] = 1;
    return bind_inet(os, s, &address);
}

static tl_socket_name *find_unix(tl_file_system *fs, const tl_sockaddr *address, uint64_t device, uint64_t inode) {
    for (tl_socket_name *name = fs->socket_names; name; name = name->next) {
        if (name->domain != AF_UNIX)
            continue;
        if (inode ? name->inode == inode && name->device == device
                  : !name->inode && name->n_bytes == address->n && memcmp(name->bytes, address->bytes, address->n) == 0)
            return name;
    }
    return NULL;
}

static bool is_abstract(const tl_sockaddr *address) { return address->n > 2 && address->bytes[2] == 0; }

static void path_of(const tl_sockaddr *address, char path[TL_SOCKADDR_MAX]) {
    size_t n = address->n - 2;
    memcpy(path, address->bytes + 2, n);
    path[n] = 0;
}

static int64_t bind_unix(tl_thread *t, tl_socket *s, const tl_sockaddr *wanted) {
    tl_os *os = t->os;
    tl_file_system *fs = os->file_system;
    tl_sockaddr address = *wanted;
    if (address.n <= 2) { // a name of the kernel's choice
        char text[8];
        snprintf(text, sizeof text, "%05llx", (unsigned long long)(fs->next_socket_name++ & 0xfffff));
        address.bytes[2] = 0;
        memcpy(address.bytes + 3, text, 5);
        address.n = 8;
    }
    if (is_abstract(&address))
        return find_unix(fs, &address, 0, 0) ? -EADDRINUSE : add_name(fs, s, &address, 0, 0);
    char path[TL_SOCKADDR_MAX];
    tl_place place;
    struct stat host;
    path_of(&address, path);
    int64_t error = tl_walk_at(t, TL_AT_FDCWD, path, TL_WALK_PARENT, &place);
    if (error)
        return error;
    if (place.exists)
        error = -EADDRINUSE;
    else if (place.tree != TL_TREE_HOST)
        error = -EACCES;
    else if (mknodat(place.dir_fd, place.name, S_IFSOCK | (0777 & ~t->fs->umask), 0) < 0 ||
             fstatat(place.dir_fd, place.name, &host, AT_SYMLINK_NOFOLLOW) < 0)
        error = tl_file_host_error(os, errno);
    tl_place_done(&place);
    if (error)
        return error;
    tl_stat st;
    tl_stat_of_host(fs, &host, &st);
    address.n = (uint32_t)(2 + strlen(path) + 1);
    address.bytes[address.n - 1] = 0;
    return add_name(fs, s, &address, st.device, st.inode);
}

static int64_t local_bind(tl_thread *t, tl_file *file, const tl_sockaddr *address) {
    tl_socket *s = of(file);
    if (s->is_bound)
        return -EINVAL;
    s->pid = t->process->pid;
    if (is_inet(s)) {
        int64_t error = check_inet(s, address);
        return error ? error : bind_inet(t->os, s, address);
    }
    if (tl_sockaddr_family(address) != AF_UNIX || address->n > 2 + sizeof((struct sockaddr_un *)0)->sun_path)
        return -EINVAL;
    return bind_unix(t, s, address);
}

// Finds the socket that an address names. 0 or a negative error number.
static int64_t find_target(tl_thread *t, const tl_socket *s, const tl_sockaddr *address, tl_socket **ret_target) {
    tl_file_system *fs = t->os->file_system;
    const tl_socket_name *name;
    if (is_inet(s)) {
        int64_t error = check_inet(s, address);
        if (error)
            return error;
        if (where_of(address) == WHERE_ELSEWHERE) {
            if (!fs->did_say_network)
                tl_os_warn(t->os,
                           "the program tried to reach the network, which is not allowed; only its own loopback works without --network");
            fs->did_say_network = true;
            return -ENETUNREACH;
        }
        name = find_port(fs, s, port_of(address));
    } else {
        if (tl_sockaddr_family(address) != AF_UNIX || address->n <= 2 || address->n > 2 + sizeof((struct sockaddr_un *)0)->sun_path)
            return -EINVAL;
        if (is_abstract(address)) {
            name = find_unix(fs, address, 0, 0);
        } else {
            char path[TL_SOCKADDR_MAX];
            tl_place place;
            tl_stat st;
            path_of(address, path);
            int64_t error = tl_walk_at(t, TL_AT_FDCWD, path, TL_WALK_FOLLOW, &place);
            if (error)
                return error;
            bool is_socket = place.exists && place.tree == TL_TREE_HOST && S_ISSOCK(place.mode), exists = place.exists;
            if (is_socket)
                tl_stat_of_host(fs, &place.host, &st);
            tl_place_done(&place);
            if (!is_socket)
                return exists ? -ECONNREFUSED : -ENOENT;
            name = find_unix(fs, address, st.device, st.inode);
        }
    }
    if (!name)
        return -ECONNREFUSED;
    if (name->type != s->type)
        return -EPROTOTYPE;
    *ret_target = name->socket;
    return 0;
}

// ---- Connections.

static void disconnect(tl_os *os, tl_socket *s) {
    tl_socket *peer = s->peer;
    s->peer = NULL;
    s->is_connected = false;
    s->peer_name.n = 0;
    socket_unref(os, peer);
}

// The address of `from` as a socket of domain `domain` sees it.
static tl_sockaddr name_for(const tl_sockaddr *from, uint32_t domain) {
    if (tl_sockaddr_family(from) != AF_INET || domain != AF_INET6)
        return *from;
    tl_sockaddr address = {.n = sizeof(struct sockaddr_in6)};
    uint16_t family = AF_INET6;
    memcpy(address.bytes, &family, sizeof family);
    memcpy(address.bytes + 2, from->bytes + 2, 2);
    address.bytes[18] = address.bytes[19] = 255;
    memcpy(address.bytes + 20, from->bytes + 4, 4);
    return address;
}

static int64_t local_connect(tl_thread *t, tl_file *file, const tl_sockaddr *address) {
    tl_os *os = t->os;
    tl_socket *s = of(file), *target;
    if (is_datagram(s) && tl_sockaddr_family(address) == AF_UNSPEC) {
        disconnect(os, s);
        return 0;
    }
    if (!is_datagram(s) && s->is_connected)
        return -EISCONN;
    if (s->is_listening)
        return -EINVAL;
    int64_t error = find_target(t, s, address, &target);
    // No receiver yet: a later send reports the error.
    if (error == -ECONNREFUSED && is_datagram(s) && is_inet(s)) {
        s->peer_name = *address;
        s->is_connected = true;
        return bind_unnamed(os, s);
    }
    if (error)
        return error;
    error = bind_unnamed(os, s);
    if (error)
        return error;
    s->pid = t->process->pid;
    if (is_datagram(s)) {
        socket_ref(target);
        disconnect(os, s);
        s->peer = target;
        s->peer_name = *address;
        s->is_connected = true;
        return 0;
    }
    if (!target->is_listening)
        return -ECONNREFUSED;
    if (target->n_pending > target->backlog) {
        if (file->flags & TL_O_NONBLOCK)
            return -EAGAIN;
        tl_wait_on(t, &target->head.queue, "room in a socket's backlog");
        return tl_sys_block(t, -TL_ERESTARTSYS);
    }
    tl_socket *other = socket_new(os, target->domain, s->type);
    if (!other)
        return -ENOMEM;
    join(s, other);
    other->name = is_inet(s) ? name_for(address, target->domain) : target->name;
    other->is_bound = true;
    other->peer_name = name_for(&s->name, target->domain);
    s->peer_name = is_inet(s) ? *address : target->name;
    other->pid = s->peer_pid = target->pid;
    other->peer_pid = s->pid;
    other->options = target->options;
    if (target->pending_last)
        target->pending_last->pending_next = other;
    else
        target->pending_first = other;
    target->pending_last = other;
    target->n_pending++;
    tl_poll_notify(os, &target->head, EPOLLIN);
    tl_poll_notify(os, &s->head, EPOLLOUT);
    return 0;
}

static int64_t local_listen(tl_thread *t, tl_file *file, int32_t backlog) {
    tl_socket *s = of(file);
    if (is_datagram(s))
        return -EOPNOTSUPP;
    if (s->is_connected || (!is_inet(s) && !s->is_bound))
        return -EINVAL;
    int64_t error = bind_unnamed(t->os, s);
    if (error)
        return error;
    s->backlog = backlog < 0 || backlog > MAX_BACKLOG ? MAX_BACKLOG : backlog;
    s->is_listening = true;
    s->pid = t->process->pid;
    return 0;
}

static int64_t local_accept(tl_thread *t, tl_file *file, tl_file **ret_file, tl_sockaddr *ret_peer) {
    tl_socket *s = of(file), *other = s->pending_first;
    if (is_datagram(s))
        return -EOPNOTSUPP;
    if (!s->is_listening || s->cannot_read)
        return -EINVAL;
    if (!other)
        return -EAGAIN;
    *ret_file = file_new(t->os, other, ((tl_socket_file *)file)->protocol);
    if (!*ret_file)
        return -ENOMEM;
    s->pending_first = other->pending_next;
    if (!s->pending_first)
        s->pending_last = NULL;
    s->n_pending--;
    *ret_peer = other->peer_name;
    tl_poll_notify(t->os, &s->head, EPOLLOUT); // a connection more fits into the backlog
    return 0;
}

// ---- Letters.

static bool is_gone(const tl_socket *peer) { return !peer || peer->is_dead; }

static letter *letter_new(tl_thread *t, const tl_socket *s, const tl_message *m, size_t skip, size_t n) {
    size_t n_files = m->n_files && skip == 0 ? m->n_files : 0, n_bytes = sizeof(letter) + n + n_files * sizeof(tl_file *);
    uint32_t n_sent = t->os->file_system->n_sockets_sent, n_host_sent = t->os->file_system->n_host_files_sent;
    if (n_sent >= SENT_BEFORE_COLLECTION || n_host_sent >= HOST_SENT_BEFORE_COLLECTION ||
        (n_sent > 0 && !tl_account_has_room(&t->os->account, n_bytes)))
        collect(t->os);
    letter *l = tl_account_charge(&t->os->account, n_bytes) ? malloc(sizeof *l + n) : NULL;
    if (!l)
        return NULL;
    *l = (letter){.n = n, .pid = t->process->pid, .n_charged = n_bytes};
    l->from = s->is_bound ? s->name : (tl_sockaddr){.n = 0};
    if (m->n_files && skip == 0) {
        l->files = malloc(m->n_files * sizeof *l->files);
        if (!l->files) {
            letter_free(t->os, l);
            return NULL;
        }
        for (uint32_t i = 0; i < m->n_files; i++)
            l->files[i] = tl_file_ref(m->files[i]);
        l->n_files = m->n_files;
    }
    tl_io_gather(&m->io, skip, l->bytes, n);
    tl_file_system *fs = t->os->file_system;
    for (uint32_t i = 0; i < l->n_files; i++) {
        fs->n_sockets_sent += socket_of(l->files[i]) != NULL;
        fs->n_host_files_sent += tl_file_host_fd(l->files[i]) >= 0;
    }
    return l;
}

static void deliver(tl_os *os, tl_socket *to, letter *l) {
    if (to->last)
        to->last->next = l;
    else
        to->first = l;
    to->last = l;
    to->n_bytes += l->n;
    tl_poll_notify(os, &to->head, EPOLLIN);
}

static int64_t send_stream(tl_thread *t, tl_socket *s, tl_message *m) {
    if (m->address.n && s->type == SOCK_STREAM)
        return s->is_connected ? -EISCONN : -EOPNOTSUPP;
    if (!s->is_connected)
        return -ENOTCONN;
    tl_socket *peer = s->peer;
    if (s->cannot_write || is_gone(peer) || peer->cannot_read) {
        if (!(m->flags & MSG_NOSIGNAL) && s->type == SOCK_STREAM)
            tl_signal_send_thread(t, SIGPIPE, NULL);
        return -EPIPE;
    }
    size_t room = peer->limit > peer->n_bytes ? peer->limit - peer->n_bytes : 0, n = m->io.n_bytes;
    if (s->type == SOCK_SEQPACKET && n > peer->limit - SPARE_BYTES)
        return -EMSGSIZE;
    if (n == 0 && s->type == SOCK_STREAM && !m->n_files)
        return 0;
    if (room == 0 || (s->type == SOCK_SEQPACKET && n > room))
        return -EAGAIN;
    n = n < room ? n : room;
    letter *l = letter_new(t, s, m, 0, n);
    if (!l)
        return -ENOMEM;
    deliver(t->os, peer, l);
    return (int64_t)n;
}

static int64_t send_datagram(tl_thread *t, tl_socket *s, tl_message *m) {
    tl_os *os = t->os;
    tl_socket *target = s->peer;
    if (s->cannot_write)
        return -EPIPE;
    if (m->address.n || (is_inet(s) && s->is_connected)) {
        if (m->address.n == 0)
            m->address = s->peer_name;
        int64_t error = find_target(t, s, &m->address, &target);
        if (error == -ECONNREFUSED && is_inet(s)) {
            if (s->is_connected) // the error arrives later and the next call returns it
                s->error = ECONNREFUSED;
            return (int64_t)m->io.n_bytes;
        }
        if (error)
            return error;
    } else if (!s->is_connected) {
        return is_inet(s) ? -EDESTADDRREQ : -ENOTCONN;
    }
    int64_t error = bind_unnamed(os, s);
    if (error)
        return error;
    if (is_gone(target))
        return -ECONNREFUSED;
    if (!is_inet(s) && target->is_connected && target->peer != s && !is_gone(target->peer))
        return -EPERM; // the receiver is connected to another socket
    size_t n = m->io.n_bytes;
    if (n > (is_inet(s) ? 65507 : target->limit - SPARE_BYTES))
        return -EMSGSIZE;
    if (target->cannot_read)
        return -EPIPE;
    if (target->n_bytes + n > target->limit || (n == 0 && target->n_bytes >= target->limit))
        return is_inet(s) ? (int64_t)n : -EAGAIN; // a full inbox: datagrams of the network get lost
    letter *l = letter_new(t, s, m, 0, n);
    if (!l)
        return -ENOMEM;
    l->from = l->from.n ? name_for(&l->from, target->domain) : l->from;
    deliver(os, target, l);
    return (int64_t)n;
}

static int64_t local_send(tl_thread *t, tl_file *file, tl_message *m) {
    tl_socket *s = of(file);
    if (s->error) {
        int error = s->error;
        s->error = 0;
        return error == ECONNRESET && !is_datagram(s) ? -EPIPE : -error;
    }
    if (m->flags & MSG_OOB)
        return -EOPNOTSUPP;
    return is_datagram(s) ? send_datagram(t, s, m) : send_stream(t, s, m);
}

static void hand_over_files(tl_os *os, letter *l, tl_message *m, bool keeps) {
    for (uint32_t i = 0; i < l->n_files; i++)
        m->files[i] = keeps ? tl_file_ref(l->files[i]) : l->files[i];
    m->n_files = l->n_files;
    if (keeps)
        return;
    free(l->files);
    l->files = NULL;
    l->n_files = 0;
    (void)os;
}

static void take_credentials(const tl_socket *s, const letter *l, tl_message *m) {
    m->has_credentials = s->options >> SO_PASSCRED & 1;
    m->pid = l->pid;
    m->uid = TL_UID;
    m->gid = TL_GID;
}

static void remove_first(tl_os *os, tl_socket *s) {
    letter *l = s->first;
    s->first = l->next;
    if (!s->first)
        s->last = NULL;
    letter_free(os, l);
}

static int64_t receive_stream(tl_thread *t, tl_socket *s, tl_message *m) {
    tl_os *os = t->os;
    size_t done = 0, wanted = m->io.n_wanted;
    bool peeks = m->flags & MSG_PEEK;
    m->flags = 0;
    if (!s->is_connected)
        return is_inet(s) ? -ENOTCONN : -EINVAL;
    if (wanted == 0)
        return 0;
    for (letter *l = s->first, *next; l && done < m->io.n_bytes; l = next) {
        if (done && l->n_files && l->at == 0)
            break; // descriptors come with the first byte of theirs
        if (done == 0)
            take_credentials(s, l, m);
        if (l->n_files)
            hand_over_files(os, l, m, peeks);
        size_t part = tl_io_scatter_at(&m->io, done, l->bytes + l->at, l->n - l->at);
        bool had_files = m->n_files > 0;
        done += part;
        next = l->next;
        if (peeks)
            continue;
        l->at += part;
        s->n_bytes -= part;
        if (l->at == l->n)
            remove_first(os, s);
        if (had_files)
            break;
    }
    if (done == 0) {
        if (s->error) {
            int error = s->error;
            s->error = 0;
            return -error;
        }
        return s->cannot_read || is_gone(s->peer) || s->peer->cannot_write ? 0 : -EAGAIN;
    }
    if (!peeks && s->peer)
        tl_poll_notify(os, &s->peer->head, EPOLLOUT);
    return (int64_t)done;
}

static int64_t receive_letter(tl_thread *t, tl_socket *s, tl_message *m) {
    tl_os *os = t->os;
    uint32_t flags = m->flags;
    m->flags = 0;
    if (s->error) {
        int error = s->error;
        s->error = 0;
        return -error;
    }
    letter *l = s->first;
    if (!l) {
        if (s->cannot_read || (!is_datagram(s) && (is_gone(s->peer) || s->peer->cannot_write)))
            return is_datagram(s) || s->is_connected ? 0 : -ENOTCONN;
        return -EAGAIN;
    }
    size_t n = tl_io_scatter(&m->io, l->bytes, l->n);
    bool is_cut = l->n > m->io.n_wanted;
    m->flags |= is_cut ? MSG_TRUNC : 0u;
    m->flags |= s->type == SOCK_SEQPACKET ? MSG_EOR : 0u;
    m->address = l->from;
    take_credentials(s, l, m);
    hand_over_files(os, l, m, flags & MSG_PEEK);
    int64_t result = flags & MSG_TRUNC ? (int64_t)l->n : (int64_t)n;
    if (!(flags & MSG_PEEK)) {
        s->n_bytes -= l->n;
        remove_first(os, s);
        // Senders of datagrams wait here.
        tl_poll_notify(os, is_datagram(s) ? &s->head : &s->peer->head, EPOLLOUT);
    }
    return result;
}

static int64_t local_receive(tl_thread *t, tl_file *file, tl_message *m) {
    tl_socket *s = of(file);
    if (m->flags & MSG_OOB)
        return is_inet(s) ? -EINVAL : -EOPNOTSUPP;
    if (s->is_listening)
        return -EINVAL;
    return s->type == SOCK_STREAM ? receive_stream(t, s, m) : receive_letter(t, s, m);
}

static void drop_files(tl_os *os, tl_message *m) {
    for (uint32_t i = 0; i < m->n_files; i++)
        tl_file_unref(os, m->files[i]);
}

static int64_t local_read(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_message m = {.io = *io};
    int64_t n = local_receive(t, file, &m);
    drop_files(t->os, &m);
    return n;
}

static int64_t local_write(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_message m = {.io = *io};
    return local_send(t, file, &m);
}

static size_t local_available(tl_os *os, tl_file *file, uint64_t pos) {
    (void)os, (void)pos;
    const tl_socket *s = of(file);
    return s->type == SOCK_STREAM ? s->n_bytes : s->first ? s->first->n : 0;
}

// ---- Readiness.

static uint32_t local_poll(tl_os *os, tl_file *file) {
    (void)os;
    const tl_socket *s = of(file), *peer = s->peer;
    uint32_t events = s->error ? (uint32_t)EPOLLERR : 0;
    if (s->is_listening)
        return events | (s->pending_first ? EPOLLIN | EPOLLRDNORM : 0u);
    if (s->first)
        events |= EPOLLIN | EPOLLRDNORM;
    if (is_datagram(s)) {
        bool is_full = peer && !peer->is_dead && !is_inet(s) && peer->n_bytes >= peer->limit;
        return events | (s->cannot_read ? EPOLLIN | EPOLLRDHUP : 0u) | (is_full ? 0u : EPOLLOUT | EPOLLWRNORM);
    }
    if (!s->is_connected)
        return events | EPOLLOUT | EPOLLWRNORM | EPOLLHUP;
    bool no_more = s->cannot_read || is_gone(peer) || peer->cannot_write;
    events |= no_more ? EPOLLIN | EPOLLRDNORM | EPOLLRDHUP : 0u;
    events |= is_gone(peer) || (no_more && s->cannot_write) ? (uint32_t)EPOLLHUP : 0u;
    events |= is_gone(peer) || peer->n_bytes < peer->limit ? EPOLLOUT | EPOLLWRNORM : 0u;
    return events;
}

static void datagram_wait(tl_thread *t, tl_file *file, uint32_t events) {
    const tl_socket *s = of(file);
    if (events & EPOLLOUT && s->peer && s->peer != s)
        tl_wait_on(t, &s->peer->head.queue, "a socket");
}

// ---- Small things.

static int64_t local_name(tl_thread *t, tl_file *file, bool is_peer, tl_sockaddr *ret_address) {
    (void)t;
    const tl_socket *s = of(file);
    if (is_peer && (!s->is_connected || (!is_datagram(s) && is_gone(s->peer) && is_inet(s))))
        return -ENOTCONN;
    *ret_address = is_peer ? s->peer_name : s->name;
    return 0;
}

static int64_t local_shutdown(tl_thread *t, tl_file *file, int how) {
    tl_socket *s = of(file);
    if (!s->is_connected && !(s->is_listening && is_inet(s)))
        return -ENOTCONN;
    s->cannot_read |= how != SHUT_WR;
    s->cannot_write |= how != SHUT_RD;
    if (s->peer && !is_datagram(s))
        tl_poll_notify(t->os, &s->peer->head, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP);
    tl_poll_notify(t->os, &s->head, EPOLLIN | EPOLLOUT | EPOLLHUP);
    return 0;
}

static int64_t put_option(const void *value, uint32_t n, void *to, uint32_t *ret_n) {
    *ret_n = *ret_n < n ? *ret_n : n;
    memcpy(to, value, *ret_n);
    return 0;
}

static int64_t put_int(int32_t value, void *to, uint32_t *ret_n) { return put_option(&value, sizeof value, to, ret_n); }

static int64_t put_timeout(uint64_t ns, void *to, uint32_t *ret_n) {
    tl_abi_timeval tv = {.seconds = (int64_t)(ns / 1000000000), .us = (int64_t)(ns % 1000000000 / 1000)};
    return put_option(&tv, sizeof tv, to, ret_n);
}

static int64_t local_get_option(tl_thread *t, tl_file *file, int level, int option, void *to, uint32_t *n) {
    tl_socket *s = of(file);
    (void)t;
    if (level != SOL_SOCKET)
        return is_inet(s) && (level == IPPROTO_TCP || level == IPPROTO_IP || level == IPPROTO_IPV6) ? put_int(0, to, n) : -EOPNOTSUPP;
    switch (option) {
    case SO_TYPE: return put_int((int32_t)s->type, to, n);
    case SO_DOMAIN: return put_int((int32_t)s->domain, to, n);
    case SO_PROTOCOL: return put_int((int32_t)((tl_socket_file *)file)->protocol, to, n);
    case SO_ACCEPTCONN: return put_int(s->is_listening, to, n);
    case SO_ERROR: {
        int error = s->error;
        s->error = 0;
        return put_int(error, to, n);
    }
    case SO_SNDBUF:
    case SO_RCVBUF: return put_int((int32_t)s->limit, to, n);
    case SO_SNDTIMEO: return put_timeout(file->write_timeout_ns, to, n);
    case SO_RCVTIMEO: return put_timeout(file->read_timeout_ns, to, n);
    case SO_LINGER: return put_option(s->linger, sizeof s->linger, to, n);
    case SO_PEERCRED: {
        const int32_t credentials[3] = {s->peer_pid, s->is_connected ? TL_UID : -1, s->is_connected ? TL_GID : -1};
        return put_option(credentials, sizeof credentials, to, n);
    }
    default: return option > 0 && option < 32 ? put_int(s->options >> option & 1, to, n) : -ENOPROTOOPT;
    }
}

static int64_t local_set_option(tl_thread *t, tl_file *file, int level, int option, const void *from, uint32_t n) {
    tl_socket *s = of(file);
    int32_t value = 0;
    (void)t;
    if (level != SOL_SOCKET) {
        if (!is_inet(s))
            return -EOPNOTSUPP;
        if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY && n >= sizeof value) {
            memcpy(&value, from, sizeof value);
            s->is_v6_only = value != 0;
        }
        return 0;
    }
    if (n < sizeof value)
        return -EINVAL;
    memcpy(&value, from, sizeof value);
    switch (option) {
    case SO_SNDBUF:
    case SO_RCVBUF: return 0;
    case SO_SNDTIMEO:
    case SO_RCVTIMEO: {
        tl_abi_timeval tv;
        if (n < sizeof tv)
            return -EINVAL;
        memcpy(&tv, from, sizeof tv);
        if (tv.us < 0 || tv.us >= 1000000)
            return -EDOM;
        uint64_t ns = tl_timeout_ns(&tv);
        *(option == SO_SNDTIMEO ? &file->write_timeout_ns : &file->read_timeout_ns) = ns;
        return 0;
    }
    case SO_LINGER:
        if (n < sizeof s->linger)
            return -EINVAL;
        memcpy(s->linger, from, sizeof s->linger);
        return 0;
    case SO_TYPE:
    case SO_DOMAIN:
    case SO_PROTOCOL:
    case SO_ERROR:
    case SO_ACCEPTCONN: return -ENOPROTOOPT;
    default:
        if (option <= 0 || option >= 32)
            return -ENOPROTOOPT;
        s->options = value ? s->options | 1u << option : s->options & ~(1u << option);
        return 0;
    }
}

static int64_t local_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    tl_stat_anonymous(os, file, S_IFSOCK | 0777, ret_stat);
    return 0;
}

static int64_t local_ioctl(tl_thread *t, tl_file *file, uint32_t request, uint64_t argument) {
    int32_t n = (int32_t)local_available(t->os, file, 0);
    if (request != TL_FIONREAD)
        return -ENOTTY;
    return tl_vm_write(t->process, argument, &n, sizeof n) ? 0 : -EFAULT;
}

static const tl_socket_ops local_ops = {
    .bind = local_bind,
    .connect = local_connect,
    .listen = local_listen,
    .accept = local_accept,
    .send = local_send,
    .receive = local_receive,
    .name = local_name,
    .shutdown = local_shutdown,
    .get_option = local_get_option,
    .set_option = local_set_option,
};

static const tl_file_ops stream_ops = {
    .kind = "a socket",
    .close = local_close,
    .read = local_read,
    .write = local_write,
    .available = local_available,
    .poll = local_poll,
    .stat = local_stat,
    .ioctl = local_ioctl,
    .link_name = "socket",
    .is_stream = true,
    .is_pollable = true,
};

static const tl_file_ops datagram_ops = {
    .kind = "a socket",
    .close = local_close,
    .read = local_read,
    .write = local_write,
    .poll = local_poll,
    .wait = datagram_wait,
    .stat = local_stat,
    .ioctl = local_ioctl,
    .link_name = "socket",
    .is_stream = true,
    .is_message = true,
    .is_pollable = true,
};
