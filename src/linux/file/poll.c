// SPDX-License-Identifier: MIT
// ppoll and pselect6.
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "linux/file/fd.h"
#include "linux/process/clock.h"

enum { MAX_SELECT = 1 << 16 };

// Both calls tell the program how much of its timeout is left.
static void put_remaining(tl_thread *t, uint64_t vaddr) {
    if (!vaddr || t->deadline == TL_NO_DEADLINE)
        return;
    uint64_t left = t->deadline > t->os->now ? t->deadline - t->os->now : 0;
    tl_abi_timespec ts = tl_ns_timespec(tl_os_cycles_to_ns(t->os, left));
    // A read-only timeout is the program's choice.
    (void)tl_vm_write(t->process, vaddr, &ts, sizeof ts);
}

// Sets the deadline and the signal mask, on the first call only. 0 or a negative error number.
static int64_t start(tl_thread *t, uint64_t timeout_vaddr, uint64_t sigset_vaddr, uint64_t sigset_bytes) {
    if (t->is_retry)
        return 0;
    if (timeout_vaddr) {
        uint64_t ns;
        int64_t error = tl_read_timespec(t->process, timeout_vaddr, &ns);
        if (error)
            return error;
        tl_set_deadline_after(t, ns);
    }
    return tl_signal_mask_for_call(t, sigset_vaddr, sigset_bytes);
}

int64_t tl_sys_ppoll(tl_thread *t, const uint64_t args[6]) {
    tl_os *os = t->os;
    uint64_t n = (uint32_t)args[1];
    int64_t error = start(t, args[2], args[3], args[4]);
    if (error)
        return error;
    if (n > tl_fd_limit(t))
        return -EINVAL;
    struct pollfd few[64], *fds = few;
    if (n > 64 && !(fds = malloc(n * sizeof *fds)))
        return -ENOMEM;
    int64_t result = 0;
    if (!tl_vm_read(t->process, args[0], fds, n * sizeof *fds))
        result = -EFAULT;
    for (uint64_t i = 0; !result && i < n; i++) {
        struct pollfd *p = &fds[i];
        tl_file *file = p->fd < 0 ? NULL : tl_file_of_fd(t, p->fd);
        p->revents = 0;
        if (p->fd >= 0)
            p->revents = file && !(file->flags & TL_O_PATH)
                             ? (short)(tl_file_poll(os, file) & ((uint32_t)(uint16_t)p->events | EPOLLERR | EPOLLHUP))
                             : POLLNVAL;
    }
    for (uint64_t i = 0; result >= 0 && i < n; i++)
        result += fds[i].revents != 0;
    if (result == 0 && !tl_deadline_has_passed(t)) {
        for (uint64_t i = 0; i < n; i++)
            if (fds[i].fd >= 0)
                tl_file_wait(t, tl_file_of_fd(t, fds[i].fd), (uint32_t)(uint16_t)fds[i].events | EPOLLERR | EPOLLHUP);
        if (!t->waits) // no registration, because no file is polled or none changes readiness
            tl_wait_only_deadline(t, "a signal or time to pass (poll)");
        if (tl_signal_is_deliverable(t))
            put_remaining(t, args[2]);
        result = tl_sys_block(t, -TL_ERESTARTNOHAND);
    } else if (result >= 0) {
        for (uint64_t i = 0; i < n; i++)
            if (!tl_vm_write(t->process, args[0] + i * sizeof *fds + offsetof(struct pollfd, revents), &fds[i].revents,
                             sizeof fds[i].revents))
                result = -EFAULT;
        put_remaining(t, args[2]);
    }
    if (fds != few)
        free(fds);
    return result;
}

static const uint32_t SELECT_EVENTS[3] = {
    EPOLLRDNORM | EPOLLRDBAND | EPOLLIN | EPOLLHUP | EPOLLERR,
    EPOLLWRBAND | EPOLLWRNORM | EPOLLOUT | EPOLLERR,
    EPOLLPRI,
};

typedef struct select_sets {
    uint64_t wanted[3][MAX_SELECT / 64], found[3][MAX_SELECT / 64];
} select_sets;

// Bits found, -EBADF, or 0 with the thread registered when `waits`.
static int64_t look(tl_thread *t, select_sets *sets, uint32_t n, bool waits) {
    int64_t n_found = 0;
    for (uint32_t word = 0; word * 64 < n; word++) {
        uint64_t any = sets->wanted[0][word] | sets->wanted[1][word] | sets->wanted[2][word];
        for (; any; any &= any - 1) {
            uint32_t bit = (uint32_t)__builtin_ctzll(any), events = 0;
            tl_file *file = tl_file_of_fd(t, (int32_t)(word * 64 + bit));
            if (!file || file->flags & TL_O_PATH)
                return -EBADF;
            uint32_t holds = waits ? 0 : tl_file_poll(t->os, file);
            for (int set = 0; set < 3; set++) {
                if (!(sets->wanted[set][word] >> bit & 1))
                    continue;
                events |= SELECT_EVENTS[set];
                if (holds & SELECT_EVENTS[set]) {
                    sets->found[set][word] |= UINT64_C(1) << bit;
                    n_found++;
                }
            }
            if (waits)
                tl_file_wait(t, file, events);
        }
    }
    return n_found;
}

int64_t tl_sys_pselect6(tl_thread *t, const uint64_t args[6]) {
    uint64_t sigset[2] = {0, 0};
    uint32_t n = (uint32_t)args[0];
    if (args[5] && !tl_vm_read(t->process, args[5], sigset, sizeof sigset))
        return -EFAULT;
    int64_t result = start(t, args[4], sigset[0], sigset[1]);
    if (result)
        return result;
    if ((int32_t)n < 0)
        return -EINVAL;
    // As in Linux, nothing is open beyond the table.
    n = n > t->files->capacity ? t->files->capacity : n;
    n = n > MAX_SELECT ? MAX_SELECT : n;
    size_t n_bytes = (n + 63) / 64 * 8;
    select_sets *sets = calloc(1, sizeof *sets);
    if (!sets)
        return -ENOMEM;
    for (int set = 0; set < 3 && !result; set++)
        if (args[1 + set] && !tl_vm_read(t->process, args[1 + set], sets->wanted[set], n_bytes))
            result = -EFAULT;
    for (int set = 0; set < 3 && n % 64; set++)
        sets->wanted[set][n / 64] &= (UINT64_C(1) << n % 64) - 1;
    if (!result)
        result = look(t, sets, n, false);
    if (result == 0 && !tl_deadline_has_passed(t)) {
        look(t, sets, n, true);
        if (!t->waits)
            tl_wait_only_deadline(t, "a signal or time to pass (select)");
        if (tl_signal_is_deliverable(t))
            put_remaining(t, args[4]);
        result = tl_sys_block(t, -TL_ERESTARTNOHAND);
    } else if (result >= 0) {
        for (int set = 0; set < 3; set++)
            if (args[1 + set] && !tl_vm_write(t->process, args[1 + set], sets->found[set], n_bytes))
                result = -EFAULT;
        put_remaining(t, args[4]);
    }
    free(sets);
    return result;
}
