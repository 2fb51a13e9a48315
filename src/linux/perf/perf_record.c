// SPDX-License-Identifier: MIT
// Records: samples, mappings, names, births and ends of threads, switches. A record is composed in
// tl_pev.record and then copied into the ring. Records never make the program fault: absent guest
// memory is left out.
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "linux/isa.h"
#include "linux/memory/frames.h"
#include "linux/memory/vm_space.h"
#include "linux/perf/perf_event.h"
#include "linux/process/clock.h"

enum { SWITCH_IS_OUT = 1 << 13, EXEC_COMM = 1 << 13, IS_DATA_MAP = 1 << 13 };

typedef struct writer {
    uint8_t *bytes;
    size_t n;
} writer;

static void add(writer *w, const void *bytes, size_t n) {
    memcpy(w->bytes + w->n, bytes, n);
    w->n += n;
}
static void add64(writer *w, uint64_t value) { add(w, &value, sizeof value); }
static void add32(writer *w, uint32_t low, uint32_t high) {
    add(w, &low, sizeof low);
    add(w, &high, sizeof high);
}

static uint64_t time_of(const tl_pev_event *e) {
    uint64_t now = tl_os_now_ns(e->perf->os);
    return e->attr.use_clockid && e->attr.clockid == CLOCK_REALTIME ? now + TL_REALTIME_START_S * TL_NS_PER_S : now;
}

static uint32_t hart_number(const tl_pev_event *e, const tl_thread *t) {
    const tl_hart *h = t && t->hart ? t->hart : e->perf->os->hart;
    return h ? h->id : 0;
}

bool tl_pev_peek(tl_thread *t, uint64_t vaddr, void *to, size_t n) {
    uint8_t *out = to;
    while (n > 0) {
        const tl_vm *vm = t->process->vm;
        const uint64_t *pte = vm ? tl_vm_pte(vm, vaddr) : NULL;
        uint64_t paddr = pte && tl_pte_is_readable(vm->format, *pte) ? tl_pte_paddr(vm->format, *pte) : 0;
        if (!tl_frames_has(t->os->frames, paddr))
            return false;
        size_t within = (size_t)(vaddr & (TL_PAGE_BYTES - 1)), part = TL_PAGE_BYTES - within < n ? TL_PAGE_BYTES - within : n;
        memcpy(out, tl_frame_bytes(t->os->frames, paddr) + within, part);
        vaddr += part;
        out += part;
        n -= part;
    }
    return true;
}

// ---- Parts of a sample.

static void add_callchain(writer *w, const tl_pev_event *e, tl_thread *t) {
    const tl_hart *h = t->hart;
    size_t at = w->n;
    uint64_t n = 0, frame = tl_hart_register_value(h, TL_ROLE_FRAME), pair[2];
    add64(w, 0);
    if (e->attr.exclude_callchain_user)
        return;
    add64(w, PERF_CONTEXT_USER);
    add64(w, h->pc);
    const uint64_t offset = (uint64_t)(int64_t)tl_os_isa_of(t->os)->frame_record_offset;
    for (n = 2; n < 1u + e->attr.sample_max_stack; n++) {
        if (frame == 0 || frame % 8 != 0 || !tl_pev_peek(t, frame + offset, pair, sizeof pair) || pair[1] == 0)
            break;
        add64(w, pair[1]);
        if (pair[0] <= frame) // frames lie one above the other
        {
            n++;
            break;
        }
        frame = pair[0];
    }
    memcpy(w->bytes + at, &n, sizeof n);
}

static void add_registers(writer *w, const tl_thread *t, uint64_t mask) {
    const tl_hart *h = t->hart;
    add64(w, PERF_SAMPLE_REGS_ABI_64);
    for (uint32_t i = 0; i < tl_os_isa_of(t->os)->n_perf_registers; i++)
        if (mask >> i & 1)
            add64(w, tl_os_isa_of(t->os)->perf_register(h, i));
}

static void add_stack(writer *w, const tl_pev_event *e, tl_thread *t, size_t room) {
    uint64_t sp = tl_hart_register_value(t->hart, TL_ROLE_STACK), n = e->attr.sample_stack_user, n_there = 0;
    n = n < room ? n : room & ~(size_t)7;
    add64(w, n);
    if (n == 0)
        return;
    while (n_there < n) {
        uint64_t part = TL_PAGE_BYTES - ((sp + n_there) & (TL_PAGE_BYTES - 1));
        part = part < n - n_there ? part : n - n_there;
        if (!tl_pev_peek(t, sp + n_there, w->bytes + w->n + n_there, (size_t)part))
            break;
        n_there += part;
    }
    memset(w->bytes + w->n + n_there, 0, (size_t)(n - n_there));
    w->n += (size_t)n;
    add64(w, n_there);
}

static void add_read(writer *w, tl_pev_event *e) {
    // A group of thousands does not fit into a record.
    if (w->n + tl_pev_read_bytes(e) > TL_PEV_RECORD_BYTES / 2) {
        add64(w, 0);
        return;
    }
    w->n += tl_pev_format(e, (uint64_t *)(void *)(w->bytes + w->n));
}

static uint64_t id_of(const tl_pev_event *e) { return e->parent ? e->parent->id : e->id; }

static void compose_sample(writer *w, tl_pev_event *e, tl_thread *t) {
    uint64_t type = e->attr.sample_type;
    const tl_hart *h = t->hart;
    if (type & PERF_SAMPLE_IDENTIFIER)
        add64(w, id_of(e));
    if (type & PERF_SAMPLE_IP)
        add64(w, h->pc);
    if (type & PERF_SAMPLE_TID)
        add32(w, (uint32_t)t->process->pid, (uint32_t)t->tid);
    if (type & PERF_SAMPLE_TIME)
        add64(w, time_of(e));
    if (type & PERF_SAMPLE_ADDR)
        add64(w, 0);
    if (type & PERF_SAMPLE_ID)
        add64(w, id_of(e));
    if (type & PERF_SAMPLE_STREAM_ID)
        add64(w, e->id);
    if (type & PERF_SAMPLE_CPU)
        add32(w, h->id, 0);
    if (type & PERF_SAMPLE_PERIOD)
        add64(w, e->period_said);
    if (type & PERF_SAMPLE_READ)
        add_read(w, e);
    if (type & PERF_SAMPLE_CALLCHAIN)
        add_callchain(w, e, t);
    if (type & PERF_SAMPLE_RAW)
        add32(w, sizeof(uint32_t), 0);
    if (type & PERF_SAMPLE_REGS_USER)
        add_registers(w, t, e->attr.sample_regs_user);
    if (type & PERF_SAMPLE_STACK_USER)
        add_stack(w, e, t, TL_PEV_RECORD_BYTES - 1024 - w->n);
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
        add64(w, 0);
    if (type & PERF_SAMPLE_DATA_SRC)
        add64(w, 0);
    if (type & PERF_SAMPLE_TRANSACTION)
        add64(w, 0);
    if (type & PERF_SAMPLE_REGS_INTR)
        add_registers(w, t, e->attr.sample_regs_intr);
    for (uint64_t rest = type & (PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE |
                                 PERF_SAMPLE_AUX);
         rest != 0; rest &= rest - 1)
        add64(w, rest & -rest & PERF_SAMPLE_CODE_PAGE_SIZE ? TL_PAGE_BYTES : 0);
}

static void finish(writer *w, uint32_t type, uint16_t misc) {
    struct perf_event_header header = {.type = type, .misc = misc, .size = (uint16_t)w->n};
    memcpy(w->bytes, &header, sizeof header);
}

static writer start(tl_pev *perf) { return (writer){.bytes = perf->record, .n = sizeof(struct perf_event_header)}; }

void tl_pev_sample(tl_pev_event *e, tl_thread *t) {
    const tl_pev_ring *ring = tl_pev_ring_of(e);
    if (!ring || ring->n_pages == 0)
        return;
    writer w = start(e->perf);
    compose_sample(&w, e, t);
    finish(&w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    (void)tl_pev_ring_put(e, w.bytes, w.n);
}

// ---- Other records.

size_t tl_pev_trailer(const tl_pev_event *e, const tl_thread *t, uint8_t *to) {
    writer w = {.bytes = to};
    uint64_t type = e->attr.sample_type;
    if (!e->attr.sample_id_all)
        return 0;
    if (type & PERF_SAMPLE_TID)
        add32(&w, t ? (uint32_t)t->process->pid : 0, t ? (uint32_t)t->tid : 0);
    if (type & PERF_SAMPLE_TIME)
        add64(&w, time_of(e));
    if (type & PERF_SAMPLE_ID)
        add64(&w, id_of(e));
    if (type & PERF_SAMPLE_STREAM_ID)
        add64(&w, e->id);
    if (type & PERF_SAMPLE_CPU)
        add32(&w, hart_number(e, t), 0);
    if (type & PERF_SAMPLE_IDENTIFIER)
        add64(&w, id_of(e));
    return w.n;
}

static void send(tl_pev_event *e, const tl_thread *t, writer *w, uint32_t type, uint16_t misc) {
    w->n += tl_pev_trailer(e, t, w->bytes + w->n);
    finish(w, type, misc);
    (void)tl_pev_ring_put(e, w->bytes, w->n);
    tl_pev_wake(e);
}

static void add_text(writer *w, const char *text, size_t max) {
    size_t n = strnlen(text, max - 1), whole = tl_align_up(n + 1, sizeof(uint64_t));
    memset(w->bytes + w->n, 0, whole);
    memcpy(w->bytes + w->n, text, n);
    w->n += whole;
}

// Calls `tell` for the events of the thread and of its hart that have somewhere to write to.
typedef struct note {
    tl_thread *t;
    const tl_thread *child;
    uint64_t vaddr, bytes, offset;
    int prot, flags;
    const tl_file *file;
    bool is_exec;
} note;
typedef void tell_fn(tl_pev_event *e, const note *what);
static void for_each_listener(const note *what, tell_fn *tell) {
    const tl_pev *perf = what->t->os->perf;
    if (!perf)
        return;
    for (tl_pev_event *e = what->t->perf_events; e; e = e->next)
        if (e->is_on && tl_pev_ring_of(e))
            tell(e, what);
    for (tl_pev_event *e = what->t->hart ? perf->on_hart[what->t->hart->id] : NULL; e; e = e->next)
        if (e->is_on && tl_pev_ring_of(e))
            tell(e, what);
}

static void tell_mmap(tl_pev_event *e, const note *what) {
    bool is_code = what->prot & PROT_EXEC;
    if (!(is_code ? e->attr.mmap || e->attr.mmap2 : e->attr.mmap_data))
        return;
    const char *path = what->file ? tl_file_path(what->file) : "//anon";
    writer w = start(e->perf);
    add32(&w, (uint32_t)what->t->process->pid, (uint32_t)what->t->tid);
    add64(&w, what->vaddr);
    add64(&w, what->bytes);
    add64(&w, what->offset);
    if (e->attr.mmap2) {
        uint64_t device = 0, inode = 0;
        if (what->file)
            tl_file_identity(what->file, &device, &inode);
        add32(&w, tl_device_major(device), tl_device_minor(device));
        add64(&w, inode);
        add64(&w, 0); // generation
        add32(&w, (uint32_t)what->prot, (uint32_t)what->flags);
    }
    add_text(&w, path[0] ? path : "//anon", TL_PATH_MAX);
    send(e, what->t, &w, e->attr.mmap2 ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP, PERF_RECORD_MISC_USER | (is_code ? 0 : IS_DATA_MAP));
}

void tl_pev_note_mmap(tl_thread *t, uint64_t vaddr, uint64_t bytes, int prot, int flags, uint64_t offset, const tl_file *file) {
    const note what = {.t = t, .vaddr = vaddr, .bytes = bytes, .prot = prot, .flags = flags, .offset = offset, .file = file};
    for_each_listener(&what, tell_mmap);
}

static void tell_comm(tl_pev_event *e, const note *what) {
    if (!e->attr.comm)
        return;
    writer w = start(e->perf);
    add32(&w, (uint32_t)what->t->process->pid, (uint32_t)what->t->tid);
    add_text(&w, what->t->comm, sizeof what->t->comm);
    send(e, what->t, &w, PERF_RECORD_COMM, what->is_exec && e->attr.comm_exec ? EXEC_COMM : 0);
}

void tl_pev_note_comm(tl_thread *t, bool is_exec) {
    const note what = {.t = t, .is_exec = is_exec};
    for_each_listener(&what, tell_comm);
}

static void tell_task(tl_pev_event *e, const note *what) {
    const tl_thread *of = what->child ? what->child : what->t;
    if (!e->attr.task && !e->attr.mmap && !e->attr.mmap2 && !e->attr.mmap_data && !e->attr.comm)
        return;
    const tl_process *parent = of->process->parent;
    writer w = start(e->perf);
    add32(&w, (uint32_t)of->process->pid, what->child ? (uint32_t)what->t->process->pid : parent ? (uint32_t)parent->pid : TL_INIT_PID);
    add32(&w, (uint32_t)of->tid, what->child ? (uint32_t)what->t->tid : parent ? (uint32_t)parent->pid : TL_INIT_PID);
    add64(&w, time_of(e));
    send(e, what->t, &w, what->child ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0);
}

void tl_pev_note_fork(tl_thread *t, const tl_thread *child) {
    const note what = {.t = t, .child = child};
    for_each_listener(&what, tell_task);
}

void tl_pev_note_exit(tl_thread *t) {
    const note what = {.t = t};
    for_each_listener(&what, tell_task);
}

void tl_pev_note_switch(tl_pev_event *e, tl_thread *t, bool is_out) {
    if (!e->is_on || !tl_pev_ring_of(e))
        return;
    writer w = start(e->perf);
    send(e, t, &w, PERF_RECORD_SWITCH, is_out ? SWITCH_IS_OUT : 0);
}

// ---- Waking.

static void send_signal(tl_os *os, const tl_file *file, int band) {
    static const int64_t bands[] = {[POLL_IN] = POLLIN | POLLRDNORM, [POLL_HUP] = POLLHUP | POLLERR};
    tl_siginfo info = {.signo = file->async_signal, .code = band};
    info.band = bands[band];
    info.fd = file->async_fd;
    int signal = file->async_signal ? file->async_signal : SIGIO;
    const tl_siginfo *told = file->async_signal ? &info : NULL; // plain SIGIO carries no siginfo
    // Any thread of a process stands for it.
    if (file->owner > 0) {
        tl_thread *t = tl_thread_find(os, file->owner);
        tl_process *p = t ? t->process : tl_process_find(os, file->owner);
        if (t && file->owner_is_thread)
            tl_signal_send_thread(t, signal, told);
        else if (p && !p->is_zombie && !file->owner_is_thread)
            tl_signal_send_process(p, signal, told);
        return;
    }
    for (tl_process *p = tl_process_first(os); p && file->owner != 0; p = p->next)
        if (!p->is_zombie && p->pgid == -file->owner)
            tl_signal_send_process(p, signal, told);
}

void tl_pev_wake(tl_pev_event *e) {
    tl_pev_event *opened = tl_pev_opened(e);
    tl_pev_ring *ring = tl_pev_ring_of(e);
    tl_os *os = e->perf->os;
    int band = e->band;
    bool is_async = opened->file && (opened->file->flags & TL_O_ASYNC) && band != 0;
    if (!e->wants_wakeup && !is_async)
        return;
    if (e->wants_wakeup && ring)
        ring->has_news = true;
    e->wants_wakeup = false;
    e->band = 0;
    for (tl_pev_event *other = e->perf->opened; other && ring; other = other->next_opened)
        if (other->ring == ring && other->head)
            tl_poll_notify(os, other->head, EPOLLIN);
    if (is_async)
        send_signal(os, opened->file, band);
}
