// SPDX-License-Identifier: MIT
// epoll. An item hangs on the poll head of its file. A notification puts the item on the ready list
// of its instance, and a wait reads that list only. Edges are exact because one notification makes
// one report. A level-triggered item returns to the end of the list while its events hold. Every
// wait also polls files that never notify: signalfd and descriptors of the host.
#include <stdlib.h>

#include "linux/file/fd.h"
#include "linux/file/file_system.h"
#include "linux/process/clock.h"

enum { MAX_DEPTH = 5, MAX_EVENTS_AT_ONCE = 1024 };
static const uint32_t PRIVATE_BITS = EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE;

typedef struct epoll_file {
    tl_file base;
    tl_poll_head head;                // sleepers of this instance, and instances that watch it
    tl_epoll_item *items, *last_item; // in order of registration
    tl_epoll_item *ready, *last_ready;
} epoll_file;

struct tl_epoll_item {
    tl_os *os;
    epoll_file *epoll;
    tl_file *file;
    int32_t fd;
    uint32_t events; // EPOLLERR and EPOLLHUP included; only PRIVATE_BITS: disabled
    uint32_t said;   // of a polled file: the events that held at the last poll
    uint64_t data;
    bool is_ready;
    tl_epoll_item *next, *previous; // of the instance
    tl_epoll_item *next_of_file;
    tl_poll_head *head;
    tl_epoll_item *next_of_head, *previous_of_head;
    tl_epoll_item *next_ready, *previous_ready;
};

static const tl_file_ops epoll_ops;
static epoll_file *of(tl_file *file) { return (epoll_file *)file; }

static void add_ready(tl_epoll_item *item) {
    epoll_file *f = item->epoll;
    if (item->is_ready)
        return;
    item->is_ready = true;
    item->next_ready = NULL;
    item->previous_ready = f->last_ready;
    if (f->last_ready)
        f->last_ready->next_ready = item;
    else
        f->ready = item;
    f->last_ready = item;
}

static void remove_ready(tl_epoll_item *item) {
    epoll_file *f = item->epoll;
    if (!item->is_ready)
        return;
    item->is_ready = false;
    if (item->previous_ready)
        item->previous_ready->next_ready = item->next_ready;
    else
        f->ready = item->next_ready;
    if (item->next_ready)
        item->next_ready->previous_ready = item->previous_ready;
    else
        f->last_ready = item->previous_ready;
}

void tl_poll_notify(tl_os *os, tl_poll_head *head, uint32_t events) {
    for (tl_epoll_item *item = head->items; item; item = item->next_of_head) {
        if (!(item->events & events) || !(item->events & ~PRIVATE_BITS) || item->is_ready)
            continue;
        add_ready(item);
        tl_poll_notify(os, &item->epoll->head, EPOLLIN | EPOLLRDNORM);
    }
    tl_wake_all(os, &head->queue);
}

static void leave_head(tl_epoll_item *item) {
    if (!item->head)
        return;
    if (item->previous_of_head)
        item->previous_of_head->next_of_head = item->next_of_head;
    else
        item->head->items = item->next_of_head;
    if (item->next_of_head)
        item->next_of_head->previous_of_head = item->previous_of_head;
    item->head = NULL;
}

void tl_poll_head_done(tl_os *os, tl_poll_head *head) {
    while (head->items)
        leave_head(head->items);
    tl_wait_queue_done(os, &head->queue);
}

static void item_free(tl_epoll_item *item) {
    epoll_file *f = item->epoll;
    remove_ready(item);
    leave_head(item);
    if (item->previous)
        item->previous->next = item->next;
    else
        f->items = item->next;
    if (item->next)
        item->next->previous = item->previous;
    else
        f->last_item = item->previous;
    tl_epoll_item **at = &item->file->items;
    while (*at != item)
        at = &(*at)->next_of_file;
    *at = item->next_of_file;
    tl_account_release(&item->os->account, sizeof *item);
    free(item);
}

void tl_epoll_forget(tl_os *os, tl_file *file) {
    (void)os;
    while (file->items)
        item_free(file->items);
}

void tl_epoll_used(tl_file *file, uint32_t events) {
    for (tl_epoll_item *item = file->items; item; item = item->next_of_file)
        item->said &= ~events;
}

static void epoll_close(tl_os *os, tl_file *file) {
    while (of(file)->items)
        item_free(of(file)->items);
    tl_poll_head_done(os, &of(file)->head);
    free(file);
}

static bool must_look(const tl_epoll_item *item) {
    if (item->file->ops != &epoll_ops)
        return item->file->ops->wait != NULL;
    for (const tl_epoll_item *inner = ((epoll_file *)item->file)->items; inner; inner = inner->next)
        if (must_look(inner))
            return true;
    return false;
}

// Polls the files that never notify and moves ready items to the ready list.
static void look(tl_os *os, epoll_file *f) {
    for (tl_epoll_item *item = f->items; item; item = item->next) {
        if (item->is_ready || !(item->events & ~PRIVATE_BITS) || !must_look(item))
            continue;
        uint32_t now = tl_file_poll(os, item->file) & item->events;
        if (item->events & EPOLLET ? now & ~item->said : now)
            add_ready(item);
        item->said = now;
    }
}

static uint32_t epoll_poll(tl_os *os, tl_file *file) {
    epoll_file *f = of(file);
    look(os, f);
    for (tl_epoll_item *item = f->ready, *next; item; item = next) {
        next = item->next_ready;
        if (tl_file_poll(os, item->file) & item->events)
            return EPOLLIN | EPOLLRDNORM;
        remove_ready(item);
    }
    return 0;
}

static void epoll_wait_on(tl_thread *t, tl_file *file, uint32_t events) {
    (void)events;
    for (tl_epoll_item *item = of(file)->items; item; item = item->next)
        if (item->events & ~PRIVATE_BITS && item->file->ops->wait)
            item->file->ops->wait(t, item->file, item->events);
}

static const tl_file_ops epoll_ops = {
    .kind = "an epoll instance",
    .close = epoll_close,
    .poll = epoll_poll,
    .wait = epoll_wait_on,
    .link_name = "anon_inode:[eventpoll]",
    .is_stream = true,
    .is_pollable = true,
};

int64_t tl_sys_epoll_create1(tl_thread *t, const uint64_t args[6]) {
    if (args[0] & ~(uint64_t)TL_O_CLOEXEC)
        return -EINVAL;
    epoll_file *f = tl_file_new(t->os, sizeof *f, &epoll_ops, TL_O_RDWR);
    if (!f)
        return -ENOMEM;
    f->base.head = &f->head;
    return tl_fd_install(t, &f->base, args[0] & TL_O_CLOEXEC, 0);
}

// How deep instances are nested in `file`, or more than MAX_DEPTH when `self` is among them.
static int depth_of(const tl_file *file, const epoll_file *self, int depth) {
    if (file->ops != &epoll_ops)
        return depth;
    if ((const epoll_file *)file == self || depth > MAX_DEPTH)
        return MAX_DEPTH + 1;
    int deepest = depth + 1;
    for (const tl_epoll_item *item = ((const epoll_file *)file)->items; item; item = item->next) {
        int below = depth_of(item->file, self, depth + 1);
        deepest = below > deepest ? below : deepest;
    }
    return deepest;
}

static int64_t item_add(tl_os *os, epoll_file *f, tl_file *file, int32_t fd, const tl_abi_epoll_event *event) {
    if (depth_of(file, f, 0) >= MAX_DEPTH)
        return -ELOOP;
    tl_epoll_item *item = tl_account_charge(&os->account, sizeof *item) ? calloc(1, sizeof *item) : NULL;
    if (!item)
        return -ENOMEM;
    *item = (tl_epoll_item){
        .os = os, .epoll = f, .file = file, .fd = fd, .data = event->data, .previous = f->last_item, .next_of_file = file->items};
    item->events = event->events | EPOLLERR | EPOLLHUP;
    if (f->last_item)
        f->last_item->next = item;
    else
        f->items = item;
    f->last_item = item;
    file->items = item;
    if (file->head) {
        item->head = file->head;
        item->next_of_head = file->head->items;
        if (item->next_of_head)
            item->next_of_head->previous_of_head = item;
        file->head->items = item;
    }
    return 0;
}

int64_t tl_sys_epoll_ctl(tl_thread *t, const uint64_t args[6]) {
    tl_os *os = t->os;
    int32_t operation = (int32_t)args[1], fd = (int32_t)args[2];
    tl_abi_epoll_event event = {.events = 0};
    if (operation != EPOLL_CTL_DEL && !tl_vm_read(t->process, args[3], &event, sizeof event))
        return -EFAULT;
    tl_file *instance = tl_file_of_fd(t, (int32_t)args[0]), *file = tl_file_of_fd(t, fd);
    if (!instance || !file || file->flags & TL_O_PATH)
        return -EBADF;
    if (!file->ops->is_pollable)
        return -EPERM;
    if (instance->ops != &epoll_ops || instance == file)
        return -EINVAL;
    epoll_file *f = of(instance);
    tl_epoll_item *item = file->items;
    while (item && (item->epoll != f || item->fd != fd))
        item = item->next_of_file;
    if (event.events & EPOLLEXCLUSIVE) {
        uint32_t allowed = EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE;
        if (operation == EPOLL_CTL_MOD || (operation == EPOLL_CTL_ADD && (file->ops == &epoll_ops || event.events & ~allowed)))
            return -EINVAL;
    }
    switch (operation) {
    case EPOLL_CTL_ADD: {
        if (item)
            return -EEXIST;
        int64_t error = item_add(os, f, file, fd, &event);
        if (error)
            return error;
        item = file->items;
        break;
    }
    case EPOLL_CTL_MOD:
        if (!item)
            return -ENOENT;
        if (item->events & EPOLLEXCLUSIVE)
            return -EINVAL;
        item->events = event.events | EPOLLERR | EPOLLHUP;
        item->data = event.data;
        break;
    case EPOLL_CTL_DEL:
        if (!item)
            return -ENOENT;
        item_free(item);
        return 0;
    default: return -EINVAL;
    }
    item->said = tl_file_poll(os, file) & item->events;
    if (item->said) {
        add_ready(item);
        tl_poll_notify(os, &f->head, EPOLLIN | EPOLLRDNORM);
    }
    return 0;
}

// Reports at most `max` events to the guest. Their number, or -EFAULT when not even one could be
// written.
static int64_t collect(tl_thread *t, epoll_file *f, uint64_t vaddr, int32_t max) {
    tl_os *os = t->os;
    int32_t n = 0;
    look(os, f);
    tl_epoll_item *last = f->last_ready; // those that go back to the end come after it
    for (tl_epoll_item *item = f->ready, *next; item && n < max; item = next) {
        bool is_last = item == last;
        next = is_last ? NULL : item->next_ready;
        uint32_t events = tl_file_poll(os, item->file) & item->events;
        remove_ready(item);
        if (!events)
            continue;
        tl_abi_epoll_event out = {.events = events, .data = item->data};
        if (!tl_vm_write(t->process, vaddr + (uint64_t)n * sizeof out, &out, sizeof out)) {
            add_ready(item);
            return n ? n : -EFAULT;
        }
        n++;
        if (item->events & EPOLLONESHOT)
            item->events &= PRIVATE_BITS;
        else if (!(item->events & EPOLLET))
            add_ready(item);
    }
    return n;
}

static int64_t wait(tl_thread *t, const uint64_t args[6], bool has_timeout, uint64_t timeout_ns) {
    int32_t max = (int32_t)args[2];
    if (max <= 0 || max > INT32_MAX / (int32_t)sizeof(tl_abi_epoll_event))
        return -EINVAL;
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    if (!file)
        return -EBADF;
    if (file->ops != &epoll_ops)
        return -EINVAL;
    int64_t n = collect(t, of(file), args[1], max);
    if (n || (has_timeout && timeout_ns == 0))
        return n;
    if (!t->is_retry && has_timeout)
        tl_set_deadline_after(t, timeout_ns);
    if (tl_deadline_has_passed(t))
        return 0;
    tl_file_wait(t, file, EPOLLIN);
    return tl_sys_block(t, -EINTR);
}

int64_t tl_sys_epoll_pwait(tl_thread *t, const uint64_t args[6]) {
    int64_t error = tl_signal_mask_for_call(t, args[4], args[5]);
    int32_t ms = (int32_t)args[3];
    return error ? error : wait(t, args, ms >= 0, ms > 0 ? (uint64_t)ms * 1000000 : 0);
}

int64_t tl_sys_epoll_pwait2(tl_thread *t, const uint64_t args[6]) {
    uint64_t ns = 0;
    int64_t error = args[3] ? tl_read_timespec(t->process, args[3], &ns) : 0;
    if (!error)
        error = tl_signal_mask_for_call(t, args[4], args[5]);
    return error ? error : wait(t, args, args[3] != 0, ns);
}
