// SPDX-License-Identifier: MIT
// Tenants of one chip: VMs on partitions, each with contexts that take turns, counted separately
// and exactly. A tenants file (docs/tenants.md) says which.
//
//   tl_tenants_options options;
//   tl_tenants_options_init(&options);
//   options.file = "tenants.yaml";
//   tl_tenants_new(&options, &tenants, &err);
//   tl_tenants_advance(tenants, &state, &err);
//   tl_tenants_counts_new(tenants, &counts, &err);
//   tl_tenants_counts_write(counts, format, stream, &err);
//   tl_tenants_counts_free(counts);
//   tl_tenants_free(tenants);
//
// tl_tenants_new reads the file, builds the chip and loads all programs. tl_tenants_advance runs to
// the end of an interval; the run has ended when `state` is TL_RUN_ENDED. tl_tenants_counts_new
// counts from the beginning, tl_tenants_interval_new counts the last interval.
//
// Counts of views are the machine's own (the truth). Equal files and programs give equal counts on
// any host.
#ifndef TALLY_TENANTS_H
#define TALLY_TENANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/catalogue.h>
#include <tally/error.h>
#include <tally/report.h>
#include <tally/run.h>

TL_BEGIN_DECLS

typedef struct tl_tenants tl_tenants;
typedef struct tl_tenants_counts tl_tenants_counts;

typedef struct tl_tenants_options {
    uint32_t size;       // set by tl_tenants_options_init
    const char *file;    // the tenants file
    const char *machine; // instead of the file's; NULL: the file's
    // "key=value" of the machine description, NULL-terminated; NULL: none.
    const char *const *overrides;
    tl_engine engine;
    // tl_tenants_advance stops at the end of each: cycles or ns. TL_INTERVAL_NONE: as the file
    // says.
    tl_interval interval;
    uint64_t interval_length;
    uint64_t max_cycles; // the run ends there; 0: as the file says
    // Descriptors that contexts inherit (`stdin: inherit`). They are not closed. Default 0, 1, 2.
    int std_fd[3];
    void (*warn)(void *ctx, const char *sentence); // as in tl_run_options
    bool (*wants_stop)(void *ctx);
    void *ctx;
    // monitor: a PMU design that counts by VM and context, or "none"; NULL: as the file says.
    const char *monitor;
    // oob: path of a socket at which out-of-band clients find the monitor's mailbox (tally/oob.h).
    // oob_key: a file with the key of their operator, 64 hexadecimal digits. NULL: none.
    const char *oob, *oob_key;
    // The monitor's hardware keeps an account for tl_tenants_cost_write, which takes host time.
    // Units then show each window, so that switches may begin some cycles later. TL_EINVAL of
    // tl_tenants_new: the run has no monitor.
    bool wants_cost;
    // records: a folder. Each confidential VM N gets vmN.records there, the sealed records for its
    // owner (tally/records.h), and vmN.key, which opens them. NULL: none. Keys are random.
    const char *records;
    // Threads of the host that run partitions; 0 and 1: one. Results do not depend on it. A run
    // with a monitor uses one.
    uint32_t n_jobs;
} tl_tenants_options;

TL_API void tl_tenants_options_init(tl_tenants_options *ret_options);

// TL_EFORMAT: the file is wrong; TL_ENOENT, TL_EACCESS: it or a program cannot be read or run. The
// error names file, line, key and remedy. Nothing has run then.
TL_MUST_CHECK TL_API tl_status tl_tenants_new(const tl_tenants_options *options, tl_tenants **ret_tenants, tl_error *err);
TL_API void tl_tenants_free(tl_tenants *tenants); // NULL is fine
// TL_RUN_GOING after an interval, or because wants_stop said so.
TL_MUST_CHECK TL_API tl_status tl_tenants_advance(tl_tenants *tenants, tl_run_state *ret_state, tl_error *err);
// Answers out-of-band clients while everything stands still, until wants_stop says so.
TL_API void tl_tenants_serve(tl_tenants *tenants);
// The run ends where it stands.
TL_API void tl_tenants_stop(tl_tenants *tenants, tl_end_reason reason);

// Counts since the beginning, or of the last completed interval. They outlive `tenants`. TL_EINVAL:
// counts that contradict each other, a defect of tally; or no interval has ended.
TL_MUST_CHECK TL_API tl_status tl_tenants_counts_new(tl_tenants *tenants, tl_tenants_counts **ret_counts, tl_error *err);
TL_MUST_CHECK TL_API tl_status tl_tenants_interval_new(tl_tenants *tenants, tl_tenants_counts **ret_counts, tl_error *err);
TL_API void tl_tenants_counts_free(tl_tenants_counts *counts); // NULL is fine

typedef enum tl_tenants_view_kind {
    TL_TENANTS_DEVICE, // the whole chip, read from the machine's own totals
    TL_TENANTS_VM,     // the sum of the four below
    // Counts while the context had the harts of its partition, and its bursts at shared units.
    TL_TENANTS_CONTEXT,
    TL_TENANTS_NO_CONTEXT, // the VM had the harts, but no context that is still alive
    // Counts from the stop of a context to the start of the next: gated, in no context.
    TL_TENANTS_SWITCHING,
    TL_TENANTS_IDLE, // of a partition: it has no VM, or all of its VMs have ended
} tl_tenants_view_kind;

typedef struct tl_tenants_view {
    uint32_t size; // set by the caller to sizeof(tl_tenants_view)
    tl_tenants_view_kind kind;
    uint32_t partition; // not of TL_TENANTS_DEVICE
    // VMs have numbers from 1, in the order of the file. Contexts have numbers from 0.
    uint32_t vm, context;
    const char *name;       // of the VM or context; owned by the counts
    const char *program;    // TL_TENANTS_CONTEXT; of a board, what names the address space
    uint64_t active_cycles; // in which this view's counts grew; of the device: all cycles
    // TL_TENANTS_CONTEXT: switches away from it. TL_TENANTS_VM: all switches.
    uint64_t n_switches;
    uint64_t late_bursts, late_bytes; // moved by shared units for it while it did not run
    tl_end_reason reason;             // TL_TENANTS_CONTEXT: TL_END_NONE: it has not ended
    int status, signal;
    const char *message; // "" or one sentence about its end
    // TL_TENANTS_VM with a monitor: cycles of its switches since the beginning, from the stop of a
    // context to the start of the next. 0: none ended.
    uint64_t switch_min_cycles, switch_median_cycles, switch_max_cycles;
} tl_tenants_view;

typedef struct tl_tenants_column { // what the tables print
    uint32_t size;
    const char *name, *meaning;
} tl_tenants_column;

TL_API uint32_t tl_tenants_n_views(const tl_tenants_counts *counts);
TL_API void tl_tenants_view_at(const tl_tenants_counts *counts, uint32_t index, tl_tenants_view *ret_view);
TL_API uint32_t tl_tenants_n_columns(void);
TL_API void tl_tenants_column_at(uint32_t index, tl_tenants_column *ret_column);
TL_API uint64_t tl_tenants_value(const tl_tenants_counts *counts, uint32_t view, uint32_t column);
// Any signal of a view: "hart0.l1d.load_miss" of its partition, "p2.hart0.l1d.load_miss" of the
// device, "chip.dma.bytes_read". TL_ENOENT: no such signal there.
TL_MUST_CHECK TL_API tl_status tl_tenants_find(const tl_tenants_counts *counts, uint32_t view, const char *path, uint64_t *ret_value,
                                               tl_error *err);

// With `monitor:` in the file, hardware counts too: it writes a block of memory for the device, for
// each VM and for each context. A block holds a count for each event that is routed to it.
typedef struct tl_tenants_event {
    uint32_t size;
    const char *name; // "hart.instret", "dma.filtered.bytes_read"; owned by the counts
    uint32_t scale;   // units of one count of the hardware
    bool is_device;   // only the block of the device has it
} tl_tenants_event;

typedef enum tl_tenants_flag {
    TL_TENANTS_OVERFLOW = 1 << 0,    // a small counter overflowed
    TL_TENANTS_LOSSY = 1 << 1,       // a value was lost on its way
    TL_TENANTS_UNAVAILABLE = 1 << 2, // nothing counts this here; the number is no count
    TL_TENANTS_SATURATED = 1 << 3,   // a counter stayed at its maximum
    TL_TENANTS_BUSY = 1 << 4,        // the block was being written
} tl_tenants_flag;

typedef struct tl_tenants_block {
    uint32_t size;
    uint64_t gen;           // two more with each commit
    uint64_t commit_cycle;  // of the last commit
    uint64_t active_cycles; // in which the block was the target
    uint32_t flags;         // set of tl_tenants_flag
} tl_tenants_block;

typedef struct tl_tenants_block_value {
    uint32_t size;
    uint64_t count;     // that the hardware delivered, in units
    uint64_t late;      // of them, those that came while the context did not run
    uint64_t truth;     // that the machine itself counted
    uint64_t remainder; // units below a whole count, which the hardware keeps or drops
    int64_t error;      // count + remainder - truth. Below 0 during a run: values on their way
    uint32_t flags;
} tl_tenants_block_value;

TL_API uint32_t tl_tenants_n_events(const tl_tenants_counts *counts); // 0: no monitor
TL_API void tl_tenants_event_at(const tl_tenants_counts *counts, uint32_t index, tl_tenants_event *ret_event);
// false: the view has no block.
TL_API bool tl_tenants_block_at(const tl_tenants_counts *counts, uint32_t view, tl_tenants_block *ret_block);
TL_API bool tl_tenants_block_value_at(const tl_tenants_counts *counts, uint32_t view, uint32_t event, tl_tenants_block_value *ret_value);

// Text shows every event of the blocks, those that are 0 or not counted, too. Other formats always
// do.
TL_API void tl_tenants_counts_show_all(tl_tenants_counts *counts);
// TL_FORMAT_TEXT, TL_FORMAT_JSON (one object a line, every signal that is not 0) or TL_FORMAT_CSV.
TL_MUST_CHECK TL_API tl_status tl_tenants_counts_write(const tl_tenants_counts *counts, tl_format format, FILE *stream, tl_error *err);
// Writes what the hardware of the monitor cost so far: its activity beside six other ways to count,
// energy, and the break-even curve with the run's point. TL_DESCRIBE_SVG is the curve alone.
// TL_EINVAL: wants_cost was not set.
TL_MUST_CHECK TL_API tl_status tl_tenants_cost_write(tl_tenants *tenants, tl_describe_format format, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
