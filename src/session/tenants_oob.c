// SPDX-License-Identifier: MIT
// The socket of the mailbox; see tenants_oob.h. One client at a time: another one waits until it
// has gone. A client that goes leaves no session and no latch behind.
#include "session/tenants_oob.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { N_WAITING = 4, POLL_MS = 20 };

static tl_status fail_host(const tl_tenants *t, tl_error *err) {
    return tl_fail(err, TL_EACCESS, "%.100s: cannot listen there: %s", t->options.oob, strerror(errno));
}

// A socket that nobody listens at remains of a run that was killed.
static bool is_stale(const struct sockaddr_un *address) {
    struct stat st;
    if (lstat(address->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return is_refused;
}

tl_status tl_tenants_oob_open(tl_tenants *t, tl_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    t->oob.listener = t->oob.client = -1;
    if (!t->options.oob)
        return TL_OK;
    if (!t->monitor || !t->monitor_type->oob_answer)
        return tl_fail(err, TL_EINVAL, "--oob %.60s: the run has no monitor with a mailbox; name one with monitor: in the file",
                       t->options.oob);
    if (strlen(t->options.oob) >= sizeof address.sun_path)
        return tl_fail(err, TL_EINVAL, "--oob %.60s...: the path of a socket has at most %zu characters; choose a shorter one",
                       t->options.oob, sizeof address.sun_path - 1);
    strcpy(address.sun_path, t->options.oob);
    if (is_stale(&address))
        unlink(address.sun_path);
    t->oob.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // The mode of the descriptor becomes that of the file, so nobody else ever reaches it.
    if (t->oob.listener < 0 || fchmod(t->oob.listener, 0600) != 0 ||
        bind(t->oob.listener, (const struct sockaddr *)&address, sizeof address) != 0) {
        const tl_status status = errno == EADDRINUSE
                                     ? tl_fail(err, TL_EACCESS, "%.100s: exists already; remove it, or choose another path", t->options.oob)
                                     : fail_host(t, err);
        if (t->oob.listener >= 0)
            close(t->oob.listener);
        t->oob.listener = -1;
        return status;
    }
    t->oob.is_bound = true;
    return listen(t->oob.listener, N_WAITING) == 0 ? TL_OK : fail_host(t, err);
}

static void hang_up(tl_tenants *t) {
    close(t->oob.client);
    t->oob.client = -1;
    t->oob.n_bytes = 0;
    t->monitor_type->oob_hang_up(t->monitor);
}

// false: the client has gone, or nothing more has arrived.
static bool answer_one(tl_tenants *t) {
    uint8_t answer[TL_MONITOR_MESSAGE_BYTES];
    const ssize_t n = recv(t->oob.client, t->oob.message + t->oob.n_bytes, sizeof t->oob.message - t->oob.n_bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (n <= 0) {
        hang_up(t);
        return false;
    }
    t->oob.n_bytes += (uint32_t)n;
    if (t->oob.n_bytes < sizeof t->oob.message)
        return true;
    t->oob.n_bytes = 0;
    t->monitor_type->oob_answer(t->monitor, t->oob.message, answer);
    if (send(t->oob.client, answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof answer)
        return true;
    hang_up(t); // it does not take its answers
    return false;
}

void tl_tenants_oob_poll(tl_tenants *t) {
    if (t->oob.listener < 0)
        return;
    if (t->oob.client < 0)
        t->oob.client = accept4(t->oob.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (t->oob.client >= 0 && answer_one(t))
        ;
}

void tl_tenants_oob_serve(tl_tenants *t) {
    while (t->oob.listener >= 0 && !(t->options.wants_stop && t->options.wants_stop(t->options.ctx))) {
        struct pollfd fd = {.fd = t->oob.client >= 0 ? t->oob.client : t->oob.listener, .events = POLLIN};
        if (poll(&fd, 1, POLL_MS) > 0)
            tl_tenants_oob_poll(t);
    }
}

void tl_tenants_oob_close(tl_tenants *t) {
    if (!t->options.oob || t->oob.listener < 0)
        return;
    if (t->oob.client >= 0)
        close(t->oob.client);
    close(t->oob.listener);
    if (t->oob.is_bound)
        unlink(t->options.oob);
    t->oob.listener = t->oob.client = -1;
}
