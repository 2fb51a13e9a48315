// SPDX-License-Identifier: MIT
// perf_event_open(2) and the file it gives: reading counts, ioctl, poll. Errors and their order are
// those of Linux 6.1.
#include <stdlib.h>
#include <string.h>

#include "linux/file/fd.h"
#include "linux/file/file_system.h"
#include "linux/perf/perf_event.h"

typedef struct perf_file {
    tl_file base;
    tl_poll_head head;
    tl_pev_event *event;
} perf_file;

static const tl_file_ops perf_ops;
static perf_file *of(tl_file *file) { return (perf_file *)file; }

tl_pev_event *tl_pev_event_of(tl_file *file) { return file->ops == &perf_ops ? of(file)->event : NULL; }

static void perf_close(tl_os *os, tl_file *file) {
    if (of(file)->event) {
        of(file)->event->file = NULL;
        of(file)->event->head = NULL;
        tl_pev_event_free(of(file)->event);
    }
    tl_poll_head_done(os, &of(file)->head);
    free(file);
}

static int64_t perf_read(tl_thread *t, tl_file *file, const tl_io *io) {
    tl_pev_event *e = of(file)->event;
    size_t n = tl_pev_read_bytes(e);
    uint64_t few[64], *values = few;
    (void)t;
    if (io->n_wanted < n)
        return -ENOSPC;
    if (io->n_bytes < n)
        return -EFAULT;
    if (n > sizeof few && !(values = malloc(n)))
        return -ENOMEM;
    n = tl_pev_format(e, values);
    tl_io_scatter(io, values, n);
    if (values != few)
        free(values);
    return (int64_t)n;
}

// Also the size of the file as a mapping sees it.
static size_t perf_available(tl_os *os, tl_file *file, uint64_t pos) {
    const tl_pev_event *e = of(file)->event;
    (void)os, (void)pos;
    size_t n_read = tl_pev_read_bytes(e), n_mapped = (size_t)e->n_mapped_pages << TL_PAGE_LOG2;
    return n_read > n_mapped ? n_read : n_mapped;
}

static int64_t perf_pread(tl_os *os, tl_file *file, void *to, size_t n, uint64_t offset) {
    // Pages of a new mapping are zero.
    return (void)os, (void)file, (void)to, (void)n, (void)offset, 0;
}

static int64_t perf_pwrite(tl_os *os, tl_file *file, const void *from, size_t n, uint64_t offset) {
    // Write-back of an unmapped page is dropped.
    return (void)os, (void)file, (void)from, (void)offset, (int64_t)n;
}

static uint32_t perf_poll(tl_os *os, tl_file *file) {
    tl_pev_event *e = of(file)->event;
    (void)os;
    if (e->has_ended && !e->first_child)
        return EPOLLHUP;
    tl_pev_ring *ring = tl_pev_ring_of(e);
    if (!ring)
        return EPOLLHUP;
    if (!ring->has_news)
        return 0;
    bool may_read_on = !ring->is_overwrite && tl_pev_ring_has_unread(ring); // else it is said once
    ring->has_news = may_read_on;
    return ring->n_pages == 0 || ring->is_overwrite || may_read_on ? EPOLLIN | EPOLLRDNORM : 0u;
}

// ---- ioctl.

typedef void change_fn(tl_pev_event *e);
static void switch_on(tl_pev_event *e) { tl_pev_set_on(e, true); }
static void switch_off(tl_pev_event *e) { tl_pev_set_on(e, false); }

static void with_inherited(tl_pev_event *e, change_fn *change) {
    change(e);
    for (tl_pev_event *child = e->first_child; child; child = child->next_child)
        change(child);
}

static int64_t change_all(tl_pev_event *e, uint64_t flags, change_fn *change) {
    if (!(flags & PERF_IOC_FLAG_GROUP)) {
        with_inherited(e, change);
        return 0;
    }
    with_inherited(e->leader, change);
    for (tl_pev_event *s = e->leader->first_sibling; s; s = s->next_sibling)
        with_inherited(s, change);
    return 0;
}

static int64_t refresh(tl_pev_event *e, int32_t n) {
    if (e->attr.inherit || e->period == 0)
        return -EINVAL;
    e->limit = (int32_t)((uint32_t)e->limit + (uint32_t)n);
    tl_pev_set_on(e, true);
    return 0;
}

static int64_t set_period(tl_thread *t, tl_pev_event *e, uint64_t vaddr) {
    uint64_t value;
    if (!tl_vm_read(t->process, vaddr, &value, sizeof value))
        return -EFAULT;
    if (e->period == 0 || value == 0)
        return -EINVAL;
    if (e->attr.freq ? value > TL_PEV_MAX_RATE : value >> 63)
        return -EINVAL;
    tl_pev_set_period(e, value);
    for (tl_pev_event *child = e->first_child; child; child = child->next_child)
        tl_pev_set_period(child, value);
    return 0;
}

static int64_t set_output(tl_thread *t, tl_pev_event *e, uint64_t fd) {
    if (fd == UINT64_MAX)
        return tl_pev_set_output(e, NULL);
    tl_file *file = tl_file_of_fd(t, (int32_t)fd);
    if (!file || file->ops != &perf_ops)
        return -EBADF;
    return tl_pev_set_output(e, of(file)->event);
}

static int64_t pause_output(tl_pev_event *e, bool is_paused) {
    tl_pev_ring *ring = tl_pev_ring_of(e);
    if (!ring || ring->n_pages == 0)
        return -EINVAL;
    ring->is_paused = is_paused;
    return 0;
}

// Only breakpoints can be changed, and there are none.
static int64_t modify(tl_thread *t, const tl_pev_event *e, uint64_t vaddr) {
    struct perf_event_attr attr;
    int64_t error = tl_pev_read_attr(t, vaddr, &attr);
    return error ? error : e->attr.type != attr.type ? -EINVAL : -EOPNOTSUPP;
}

static int64_t perf_ioctl(tl_thread *t, tl_file *file, uint32_t request, uint64_t argument) {
    tl_pev_event *e = of(file)->event;
    switch (request) {
    case PERF_EVENT_IOC_ENABLE: return change_all(e, argument, switch_on);
    case PERF_EVENT_IOC_DISABLE: return change_all(e, argument, switch_off);
    case PERF_EVENT_IOC_RESET: return change_all(e, argument, tl_pev_reset);
    case PERF_EVENT_IOC_REFRESH: return refresh(e, (int32_t)argument);
    case (uint32_t)PERF_EVENT_IOC_PERIOD: return set_period(t, e, argument);
    case (uint32_t)PERF_EVENT_IOC_ID: return tl_vm_write(t->process, argument, &e->id, sizeof e->id) ? 0 : -EFAULT;
    case PERF_EVENT_IOC_SET_OUTPUT: return set_output(t, e, argument);
    case (uint32_t)PERF_EVENT_IOC_PAUSE_OUTPUT: return pause_output(e, (uint32_t)argument != 0);
    case (uint32_t)PERF_EVENT_IOC_MODIFY_ATTRIBUTES: return modify(t, e, argument);
    case (uint32_t)PERF_EVENT_IOC_SET_FILTER: // of tracepoints
    case (uint32_t)PERF_EVENT_IOC_SET_BPF:
    case (uint32_t)PERF_EVENT_IOC_QUERY_BPF: return -EINVAL;
    default: return -ENOTTY;
    }
}

static const tl_file_ops perf_ops = {
    .kind = "a perf event",
    .close = perf_close,
    .read = perf_read,
    .available = perf_available,
    .poll = perf_poll,
    .ioctl = perf_ioctl,
    .pread = perf_pread,
    .pwrite = perf_pwrite,
    .link_name = "anon_inode:[perf_event]",
    .is_stream = true,
    .is_pollable = true,
};

// ---- perf_event_open.

typedef struct request {
    struct perf_event_attr attr;
    tl_thread *target; // NULL: any thread that runs on `cpu`
    int32_t cpu;
    tl_pev_event *leader, *output;
} request;

static int64_t find_group(tl_thread *t, int32_t fd, uint64_t flags, request *r) {
    if (fd == -1)
        return 0;
    tl_file *file = tl_file_of_fd(t, fd);
    if (!file || file->ops != &perf_ops)
        return -EBADF;
    r->output = flags & PERF_FLAG_FD_OUTPUT ? of(file)->event : NULL;
    r->leader = flags & PERF_FLAG_FD_NO_GROUP ? NULL : of(file)->event;
    return 0;
}

static int64_t find_target(tl_thread *t, int32_t pid, int32_t cpu, request *r) {
    if (pid != -1) {
        r->target = pid == 0 ? t : tl_thread_find(t->os, pid);
        if (!r->target)
            return -ESRCH;
        if (r->leader && r->leader->attr.inherit != r->attr.inherit)
            return -EINVAL;
    }
    r->cpu = cpu;
    if ((uint32_t)cpu >= t->os->machine->n_harts && (!r->target || cpu != -1))
        return -EINVAL;
    return r->attr.sigtrap && !r->target ? -EINVAL : 0;
}

// All events of a group count one thread on one hart by one clock. Only the leader determines when
// the group counts.
static int64_t check_group(const request *r) {
    const tl_pev_event *leader = r->leader;
    if (!leader)
        return 0;
    bool is_same_clock =
        leader->attr.use_clockid == r->attr.use_clockid && (!r->attr.use_clockid || leader->attr.clockid == r->attr.clockid);
    if (leader->leader != leader || !is_same_clock || leader->cpu != r->cpu || leader->thread != r->target || leader->has_ended)
        return -EINVAL;
    return r->attr.exclusive || r->attr.pinned ? -EINVAL : 0;
}

static bool is_clock(const struct perf_event_attr *attr) {
    return !attr->use_clockid || attr->clockid == CLOCK_MONOTONIC || attr->clockid == CLOCK_MONOTONIC_RAW ||
           attr->clockid == CLOCK_REALTIME || attr->clockid == CLOCK_BOOTTIME;
}

static int64_t open_event(tl_thread *t, const request *r, bool is_close_on_exec) {
    tl_os *os = t->os;
    tl_pev *perf = tl_pev_of(os);
    tl_pev_choice choice;
    if (!perf)
        return -ENOMEM;
    if (r->attr.inherit && (r->attr.sample_type & PERF_SAMPLE_READ))
        return -EINVAL;
    int64_t error = tl_pev_choose(perf, &r->attr, &choice);
    if (error)
        return error;
    if (r->attr.aux_output || r->attr.write_backward)
        return -EOPNOTSUPP;
    if (!is_clock(&r->attr))
        return -EINVAL;
    error = check_group(r);
    if (error)
        return error;
    if (r->attr.sample_period && !tl_pev_make_ports(perf))
        return -EOPNOTSUPP;
    perf_file *f = tl_file_new(os, sizeof *f, &perf_ops, TL_O_RDWR);
    if (!f)
        return -ENOMEM;
    f->base.head = &f->head;
    tl_pev_event *e = f->event = tl_pev_event_new(perf, &r->attr, &choice);
    if (!e) {
        tl_file_unref(os, &f->base);
        return -ENOMEM;
    }
    e->file = &f->base;
    e->head = &f->head;
    e->owner_tid = t->tid;
    e->cpu = r->cpu;
    e->thread = r->target;
    error = r->output ? tl_pev_set_output(e, r->output) : 0;
    tl_pev_event_attach(e, r->target, r->cpu, r->leader);
    e->next_opened = perf->opened;
    perf->opened = e;
    if (error) {
        tl_file_unref(os, &f->base);
        return error;
    }
    return tl_fd_install(t, &f->base, is_close_on_exec, 0);
}

int64_t tl_sys_perf_event_open(tl_thread *t, const uint64_t args[6]) {
    int32_t pid = (int32_t)args[1], cpu = (int32_t)args[2], group_fd = (int32_t)args[3];
    uint64_t flags = args[4];
    request r = {.cpu = cpu};
    if (flags & ~(uint64_t)(PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC))
        return -EINVAL;
    int64_t error = tl_pev_read_attr(t, args[0], &r.attr);
    if (error)
        return error;
    if (flags & PERF_FLAG_PID_CGROUP) // there are no cgroups
        return pid == -1 || cpu == -1 ? -EINVAL : -EBADF;
    error = find_group(t, group_fd, flags, &r);
    if (!error)
        error = find_target(t, pid, cpu, &r);
    return error ? error : open_event(t, &r, flags & PERF_FLAG_FD_CLOEXEC);
}
