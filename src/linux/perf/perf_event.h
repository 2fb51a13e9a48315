// SPDX-License-Identifier: MIT
// perf_event_open(2): events of threads and harts. An event stores its count at the moment when a
// total of the machine was `seen`. A PMU counter does so, too (model/counter.h). The stored count
// is updated when the thread comes onto a hart or leaves one. It is updated when the event is
// switched on or off, and at reads. No event is multiplexed.
//
// An event that samples waits for its overflow as the counter of a PMU does. A port of each hart
// (tl_pmu_port) bounds how far the hart runs. Without such an event the port is not there. Without
// any event tl_os.perf is NULL.
//
// perf_event.c counts, inherits and ends; perf_attr.c reads requests; perf_ring.c keeps the shared
// pages, perf_record.c fills them; file_perf.c is the file.
#ifndef TL_OS_PERF_EVENT_H
#define TL_OS_PERF_EVENT_H

#include <linux/perf_event.h>

#include "linux/file/file.h"

enum {
    // Events of all processes, inherited ones included. Bounds the host's memory.
    TL_PEV_MAX_EVENTS = 16384,
    TL_PEV_MAX_PARTS = TL_PMU_MAX_TEXTS, // sums of signals that one selector combines
    TL_PEV_MAX_RATE = 100000,            // perf_event_max_sample_rate
    TL_PEV_MAX_STACK = 127,              // perf_event_max_stack
    TL_PEV_MLOCK_KIB = 516,              // perf_event_mlock_kb
    TL_PEV_PARANOID = 0,                 // perf_event_paranoid: events of harts are permitted
    TL_PEV_MIN_CLOCK_NS = 10000,         // the shortest period of a clock, as in Linux
    TL_PEV_RECORD_BYTES = 65536,         // a record's size has 16 bits
};

typedef struct tl_pev tl_pev;
typedef struct tl_pev_event tl_pev_event;
typedef struct tl_pev_ring tl_pev_ring;

typedef struct tl_pev_source { // one sum of signals, on every hart
    struct tl_pev_source *next;
    const char *text; // static
    tl_sources on[TL_MAX_HARTS];
} tl_pev_source;

typedef enum tl_pev_kind {
    TL_PEV_SIGNALS,
    TL_PEV_CLOCK,        // counts cycles, is read in ns
    TL_PEV_FAULTS,       // page faults
    TL_PEV_MINOR_FAULTS, // those that read no file,
    TL_PEV_MAJOR_FAULTS, // and those that did
    TL_PEV_NOTHING,      // is there and stays 0
} tl_pev_kind;

enum { TL_PEV_USER = 1, TL_PEV_KERNEL = 2 }; // modes in which an event counts

typedef struct tl_pev_choice { // the totals that an attr selects
    tl_pev_kind kind;
    uint32_t n_parts;
    const tl_pev_source *parts[TL_PEV_MAX_PARTS];
} tl_pev_choice;

struct tl_pev_event {
    tl_pev *perf;
    struct perf_event_attr attr;
    uint64_t id;
    tl_pev_event *next; // of the same thread or hart, in order of opening
    tl_pev_event *next_opened;
    tl_thread *thread;                          // NULL: it belongs to hart `cpu`, or has_ended
    int32_t cpu, owner_tid;                     // cpu -1: wherever the thread runs
    tl_pev_event *leader;                       // itself when it leads
    tl_pev_event *first_sibling, *next_sibling; // of the leader
    // Inherited events belong to the one that was opened.
    tl_pev_event *parent, *first_child, *next_child;
    tl_file *file;      // borrowed; NULL: inherited
    tl_poll_head *head; // of the file
    bool is_on;
    bool has_ended; // its thread is gone, or an exec took it away

    tl_hart *clock; // where its time passes now; NULL: it is off, or its thread does not run
    tl_hart *hart;  // where it counts now: the same, or NULL when its cpu is another
    // enabled_cycles and running_cycles are right up to this time of the clock's hart.
    uint64_t since;
    uint64_t count, seen;
    uint64_t enabled_cycles, running_cycles;
    // Sums of inherited events whose threads ended.
    uint64_t ended_count, ended_enabled_cycles, ended_running_cycles;
    uint64_t n_lost;

    // Sampling.
    uint64_t period;      // 0: none; in cycles for a clock
    uint64_t period_said; // as records tell it: in ns for a clock
    uint64_t left;        // to the next overflow
    uint64_t last_cycles; // running_cycles at the last overflow
    int32_t limit;        // overflows until it switches itself off; 0: no limit
    bool is_due;          // it has overflowed and the overflow is not yet reported
    int band;             // POLL_IN or POLL_HUP is to be signaled; 0: neither
    bool wants_wakeup;
    // No overflow comes before safe_until and safe_instret. `span` is the distance when they were
    // found.
    uint64_t safe_until, safe_instret, span;
    bool is_watched; // polled after slow paths
    uint32_t max_step;
    bool needs_sync, is_slow, is_jumpy, is_retired; // of its parts together
    bool is_quiet;                                  // user code cannot make it grow

    tl_pev_ring *ring;       // held; where its records go; NULL: nowhere
    bool has_mapped;         // through its own file, not by PERF_EVENT_IOC_SET_OUTPUT
    uint64_t n_mapped_pages; // of its last mapping
    tl_pev_kind kind;
    uint8_t modes;
    uint32_t n_parts;
    const tl_pev_source *parts[];
};

struct tl_pev {
    tl_os *os;
    tl_arena arena; // of the sources
    tl_pev_source *sources;
    uint64_t next_id;
    uint32_t n_events;
    uint64_t n_locked_pages;             // of all rings
    tl_pev_event *opened;                // through a file, newest first
    tl_pev_event *on_hart[TL_MAX_HARTS]; // events of a hart, independent of the thread
    uint32_t n_armed[TL_MAX_HARTS];      // sampling events that count there now
    bool has_ports;
    tl_pmu_port ports[TL_MAX_HARTS];
    uint8_t record[TL_PEV_RECORD_BYTES + 8192]; // the one that is being written
};

// ---- For the rest of the personality; nothing without events.
// The thread comes onto this hart.
void tl_pev_arrive(tl_thread *t, tl_hart *h);
// The thread leaves its hart. All its cycles there are counted.
void tl_pev_leave(tl_thread *t);
// The thread returns to user code.
void tl_pev_resume(tl_thread *t);
// Serves clone. False: no memory, so the child has no events.
bool tl_pev_inherit(tl_thread *child, const tl_thread *t, bool is_thread);
// The thread is off its hart for good.
void tl_pev_thread_done(tl_thread *t);
// As tl_pev_thread_done when the personality is freed. Wakes no thread.
void tl_pev_forget(tl_thread *t);
void tl_pev_exec(tl_thread *t);
void tl_pev_switch_own(tl_thread *t, bool is_on); // prctl(PR_TASK_PERF_EVENTS_ENABLE and DISABLE)
void tl_pev_done(tl_os *os);                      // after all files are closed
// True when an event has overflowed on this hart and must be reported before the thread continues.
// Updates events as far as needed.
bool tl_pev_is_due(tl_os *os, tl_hart *h);
void tl_pev_overflow(tl_thread *t); // reports the overflows
// Serves mmap(2) of such a file. -ENODEV: it is another.
int64_t tl_pev_mmap(tl_thread *t, tl_file *file, const uint64_t args[6]);

// Records besides samples.
void tl_pev_note_mmap(tl_thread *t, uint64_t vaddr, uint64_t bytes, int prot, int flags, uint64_t offset, const tl_file *file);
void tl_pev_note_comm(tl_thread *t, bool is_exec);
void tl_pev_note_fork(tl_thread *t, const tl_thread *child);
void tl_pev_note_exit(tl_thread *t);

// ---- Inside.
typedef struct tl_pev_reading {
    uint64_t value, enabled_ns, running_ns, n_lost;
} tl_pev_reading;

tl_pev *tl_pev_of(tl_os *os); // made when needed; NULL: no memory
// Reads the attr at vaddr with the checks of the kernel. 0 or a negative error number; E2BIG writes
// the supported size.
int64_t tl_pev_read_attr(tl_thread *t, uint64_t vaddr, struct perf_event_attr *ret_attr);
int64_t tl_pev_choose(tl_pev *perf, const struct perf_event_attr *attr,
                      tl_pev_choice *ret_choice); // -ENOENT, -EINVAL, -EOPNOTSUPP, -ENOMEM
// An event that does not count yet and hangs nowhere. NULL: no memory, or too many.
tl_pev_event *tl_pev_event_new(tl_pev *perf, const struct perf_event_attr *attr, const tl_pev_choice *choice);
// leader NULL: the event leads its own group. Starts counting.
void tl_pev_event_attach(tl_pev_event *e, tl_thread *thread, int32_t cpu, tl_pev_event *leader);
// Frees the events that inherited it, too.
void tl_pev_event_free(tl_pev_event *e);
// Returns false if harts have no room for them.
bool tl_pev_make_ports(tl_pev *perf);
// Sets this event only. Its inherited ones are the caller's business.
void tl_pev_set_on(tl_pev_event *e, bool is_on);
void tl_pev_reset(tl_pev_event *e);
void tl_pev_set_period(tl_pev_event *e, uint64_t period_or_rate);
tl_pev_reading tl_pev_read(tl_pev_event *e); // with what inherited it
size_t tl_pev_read_bytes(const tl_pev_event *e);
size_t tl_pev_format(tl_pev_event *e, uint64_t *to); // as read(2) gives it: so many bytes
void tl_pev_settle(tl_pev_event *e);
static inline tl_pev_event *tl_pev_opened(tl_pev_event *e) { return e->parent ? e->parent : e; }
static inline bool tl_pev_is_of_hart(const tl_pev_event *e) { return !e->thread && !e->has_ended; }
// Reads guest bytes that are in memory, without a fault.
bool tl_pev_peek(tl_thread *t, uint64_t vaddr, void *to, size_t n);

// Pages of RAM that the program maps: one describes the event, and a power of two hold records, or
// none.
struct tl_pev_ring {
    uint32_t n_refs;
    tl_pev *perf;
    bool is_overwrite; // mapped read-only: the program cannot say how far it has read
    bool is_paused, has_news;
    uint64_t head, woken_at, watermark, n_lost;
    uint32_t n_events; // since the last wake-up by number
    uint64_t n_pages;  // of records
    uint64_t paddr[];  // of all pages, held
};
void tl_pev_ring_unref(tl_pev_ring *ring); // NULL is fine
// The ring of the event's records; NULL: none, or no longer mapped.
tl_pev_ring *tl_pev_ring_of(tl_pev_event *e);
bool tl_pev_ring_has_unread(const tl_pev_ring *ring);
// Makes records of e go where those of `to` go (NULL: nowhere). 0 or -EINVAL.
int64_t tl_pev_set_output(tl_pev_event *e, tl_pev_event *to);
// Appends a record made elsewhere; `lost` in front if records were. false: it is lost.
bool tl_pev_ring_put(tl_pev_event *e, const uint8_t *bytes, size_t n);
void tl_pev_update_page(tl_pev_event *e);
void tl_pev_sample(tl_pev_event *e, tl_thread *t);
// Trailer of records that are no samples (sample_id_all).
size_t tl_pev_trailer(const tl_pev_event *e, const tl_thread *t, uint8_t *to);
void tl_pev_note_switch(tl_pev_event *e, tl_thread *t, bool is_out);
void tl_pev_wake(tl_pev_event *e);            // poll and SIGIO, as far as they are wanted
tl_pev_event *tl_pev_event_of(tl_file *file); // NULL: another kind of file

#endif
