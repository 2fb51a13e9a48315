// SPDX-License-Identifier: MIT
// A profile: exact counts by instruction, thread and event, with the names of what was executed.
// It is a value that owns all that it points to. write.c makes a file of it, read.c reads one;
// docs/schema/profile-1.sql describes the members, table by table.
//
//   tl_profile_open("tally.profile", &profile, &err)
//   for (uint32_t i = 0; i < profile->n_insns; i++)
//       for (uint32_t k = 0; k < profile->insns[i].n_counts; k++)
//           profile->counts[profile->insns[i].first_count + k].n ...
//   tl_profile_release(profile)
#ifndef TL_PROFILE_PROFILE_H
#define TL_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/status.h"

// An index that leads nowhere.
static const uint32_t TL_PROFILE_NONE = UINT32_MAX;

typedef enum tl_profile_kind {
    TL_PROFILE_SIGNAL,
    TL_PROFILE_CONSTANT,
    TL_PROFILE_ALIAS,
    TL_PROFILE_METRIC,
    TL_PROFILE_N_KINDS,
} tl_profile_kind;

typedef struct tl_profile_setting { // of the run
    const char *name, *value;
} tl_profile_setting;

typedef struct tl_profile_event {
    const char *name, *unit, *meaning;
    const char *formula; // NULL: a signal or a constant
    tl_profile_kind kind;
    uint64_t total;
    uint32_t place; // of its column, from 1 on; 0: not shown unless asked for
} tl_profile_event;

typedef struct tl_profile_object {
    const char *path, *kind, *build_id;
} tl_profile_object;

typedef struct tl_profile_process {
    int32_t pid;
    uint32_t parent; // or TL_PROFILE_NONE
    const char *name;
} tl_profile_process;

typedef struct tl_profile_thread {
    int32_t tid;
    uint32_t process;
    const char *name;
} tl_profile_thread;

typedef struct tl_profile_mapping {
    uint32_t process, object;
    uint64_t start, end, offset, bias;
} tl_profile_mapping;

typedef struct tl_profile_source {
    const char *path;
    const char *text; // NUL-terminated; NULL: not embedded
    uint32_t n_bytes;
} tl_profile_source;

typedef struct tl_profile_function {
    uint32_t object;
    uint32_t source, line; // of its declaration; TL_PROFILE_NONE, 0: not known
    const char *name, *symbol;
    uint64_t address, size_bytes;
} tl_profile_function;

typedef struct tl_profile_inlined {
    uint32_t parent; // or TL_PROFILE_NONE: the function
    const char *name;
    uint32_t source, line; // of the call; TL_PROFILE_NONE, 0: not known
} tl_profile_inlined;

enum { TL_PROFILE_INSN_BYTES = 16 };
typedef struct tl_profile_insn {
    uint64_t address;
    uint64_t target; // UINT64_MAX: none
    uint32_t object;
    uint32_t function, source, inlined; // or TL_PROFILE_NONE
    uint32_t line;                      // 0: not known
    uint32_t first_count, n_counts;     // in counts
    uint8_t n_bytes;
    uint8_t bytes[TL_PROFILE_INSN_BYTES];
    const char *disassembly; // ""
} tl_profile_insn;

typedef struct tl_profile_count {
    uint32_t thread, event;
    uint64_t n;
} tl_profile_count;

typedef struct tl_profile_context {
    uint32_t thread;
    uint32_t parent;    // before it; or TL_PROFILE_NONE
    uint32_t call_site; // an instruction; or TL_PROFILE_NONE
    uint32_t function;
    uint64_t n_calls;
    uint32_t first_count, n_counts; // in context_counts
} tl_profile_context;

typedef struct tl_profile_tally { // of a context or an interval
    uint32_t event;
    uint64_t n;
} tl_profile_tally;

typedef struct tl_profile_interval {
    uint64_t begin_cycles, end_cycles, begin_ns, end_ns;
    uint32_t first_count, n_counts; // in interval_counts
} tl_profile_interval;

typedef struct tl_profile_stint { // of a thread on a hart
    uint32_t thread, hart;
    uint64_t begin_cycles, end_cycles;
} tl_profile_stint;

typedef struct tl_profile_region {
    const char *name;
} tl_profile_region;

typedef struct tl_profile_visit {
    uint32_t region;
    uint64_t begin_cycles, end_cycles;
} tl_profile_visit;

typedef struct tl_profile_sampled { // an event that a PMU sampled
    const char *name, *pmu, *method;
    const char *truth; // formula over names of events; NULL: no signal counts the same
    uint64_t period, n_samples, n_lost;
    uint32_t first_sample, n_groups; // in samples
} tl_profile_sampled;

typedef struct tl_profile_sample { // of one instruction and thread
    uint32_t insn, thread;
    uint64_t n;
} tl_profile_sample;

enum { TL_PROFILE_DISTANCES = 4096 }; // the last one is of all larger ones, too

typedef struct tl_profile_distance { // samples that were taken so far behind their event
    uint32_t sampled, distance;      // in instructions of the thread
    uint64_t n;
} tl_profile_distance;

typedef struct tl_profile {
    tl_arena arena;               // holds texts
    tl_profile_setting *settings; // by name
    tl_profile_event *events;
    tl_profile_object *objects;
    tl_profile_process *processes;
    tl_profile_thread *threads;
    tl_profile_mapping *mappings;
    tl_profile_source *sources;
    tl_profile_function *functions;
    tl_profile_inlined *inlined;
    tl_profile_insn *insns;   // by object and address
    tl_profile_count *counts; // by instruction, thread and event
    tl_profile_context *contexts;
    tl_profile_tally *context_counts; // by context and event
    tl_profile_interval *intervals;
    tl_profile_tally *interval_counts;
    tl_profile_stint *stints;
    tl_profile_region *regions;
    tl_profile_visit *visits;
    tl_profile_sampled *sampled;
    tl_profile_sample *samples;     // by sampled event, instruction and thread
    tl_profile_distance *distances; // by sampled event and distance
    uint32_t n_settings, n_events, n_objects, n_processes, n_threads, n_mappings, n_sources, n_functions, n_inlined, n_insns, n_counts,
        n_contexts, n_context_counts, n_intervals, n_interval_counts, n_stints, n_regions, n_visits, n_sampled, n_samples, n_distances;
} tl_profile;

TL_MUST_CHECK tl_status tl_profile_new(tl_profile **ret_profile, tl_error *err); // empty
void tl_profile_release(tl_profile *profile);                                    // NULL is fine

// Makes room for one more item of an array that is made by malloc; returns it, zeroed. NULL: the
// host has no memory. *n grows; room is a power of two that follows from *n.
void *tl_profile_grow(void **items, uint32_t *n, size_t item_bytes);
#define TL_PROFILE_ADD(profile, member) tl_profile_grow((void **)&(profile)->member, &(profile)->n_##member, sizeof *(profile)->member)

// "" if the run has no such setting.
const char *tl_profile_setting_of(const tl_profile *profile, const char *name);
// The number of an event, or TL_PROFILE_NONE.
uint32_t tl_profile_find_event(const tl_profile *profile, const char *name);
// The path of an object. A file of the host that the guest saw by an alias has its last name alone.
const char *tl_profile_object_path(const tl_profile *profile, uint32_t object);
// The sum of a signal over the contexts; 0 if it was not counted by call.
uint64_t tl_profile_context_total(const tl_profile *profile, uint32_t event);

// TL_ENOENT: this build has no SQLite. TL_EIO: the stream failed. `name` is for messages. The bytes
// depend on the profile only.
TL_MUST_CHECK tl_status tl_profile_write(const tl_profile *profile, FILE *stream, const char *name, tl_error *err);

// TL_ENOENT, TL_EACCESS, TL_EIO: the file cannot be read. TL_EFORMAT: it is no profile, or a
// damaged one. Whatever the bytes are, indexes of a profile are in range, and counts sum up to the
// totals. Counts of contexts do, too, for each event that has any, and so do those of
// intervals, if there are any. Samples sum up to n_samples; distances do, too, for each event that
// has any.
TL_MUST_CHECK tl_status tl_profile_open(const char *path, tl_profile **ret_profile, tl_error *err);
// Reads a profile from bytes of the caller, with the errors of tl_profile_open.
TL_MUST_CHECK tl_status tl_profile_read(const void *bytes, size_t n_bytes, const char *name, tl_profile **ret_profile, tl_error *err);

#endif
