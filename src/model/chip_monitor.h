// SPDX-License-Identifier: MIT
// The contract between a PMU design that monitors a whole chip and the owner of that chip. The
// design counts by VM and context, and it steps a switch of contexts. Its clock is the chip's. The
// owner calls it in the cycles whose totals it needs, and holds harts still while a switch is under
// way. A design that offers this has a row in its tl_pmu_type.
//
// Time is in cycles of the chip. VMs are numbered from 1, contexts of a VM from 0.
#ifndef TL_MODEL_CHIP_MONITOR_H
#define TL_MODEL_CHIP_MONITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/probe.h"

#define TL_MONITOR_NONE UINT32_MAX // instead of a VM or a context

// Totals of a partition: its monitored total of cell i is tally[i] - gated[i]. Growth within
// switches, or without a VM, is gated.
typedef struct tl_monitor_totals {
    const uint64_t *tally, *gated;
} tl_monitor_totals;

typedef struct tl_monitor_host {
    void *ctx;
    // Totals of a partition, exact for the cells of one hart and for those of no hart. The
    // partition has reached the cycle for which the monitor asks. Borrowed until the next call.
    tl_monitor_totals (*partition)(void *ctx, uint32_t partition, uint32_t hart, uint64_t cycle);
    // Totals of the shared units now: of one tag, and of all (TL_MONITOR_NONE).
    const uint64_t *(*shared)(void *ctx, uint32_t tag);
} tl_monitor_host;

// A context, and the tag of its traffic at shared units.
typedef struct tl_monitor_tenant {
    uint32_t partition, vm, context, tag;
} tl_monitor_tenant;

// Rules of the owner about one VM.
typedef struct tl_monitor_vm {
    uint32_t vm;
    bool is_confidential;  // the hypervisor and out-of-band clients see nothing of it
    bool contexts_read_vm; // each of its contexts reads the block of the VM, too
} tl_monitor_vm;

enum { TL_MONITOR_KEY_BYTES = 32, TL_MONITOR_MESSAGE_BYTES = 8 };

typedef struct tl_monitor_plan {
    const void *settings; // of the design, as the machine description has them
    bool is_safe;         // tenants are kept apart; else the design is as its source states it
    uint32_t n_partitions;
    uint32_t n_harts, n_slices, n_mem_channels; // of each partition
    uint32_t save_cycles;                       // a switch takes at least that to save a context
    uint32_t flush_cycles;                      // emptying a partition's caches takes that at most
    const tl_probe *units;                      // of a partition, the same in each
    const tl_probe *shared_units;               // "chip.noc" and so on
    const tl_monitor_tenant *tenants;           // all contexts
    uint32_t n_tenants;
    const tl_monitor_vm *vms;
    uint32_t n_vms;
    // Of the out-of-band operator, TL_MONITOR_KEY_BYTES; NULL: nobody proves to be the operator.
    const uint8_t *operator_key;
    bool measures_cost;   // the design keeps an account of its activity, which takes host time
    tl_monitor_host host; // copied
} tl_monitor_plan;

// An event that blocks hold. Its truth is the sum of a signal over all units of a type.
typedef struct tl_monitor_event {
    char name[56];             // "hart.instret", "dma.filtered.bytes_read"
    char unit[24], signal[40]; // "hart" and "instret": names in the catalogue of signals
    bool is_shared;            // of the shared units
    bool is_device;            // only blocks of the device hold it
    uint32_t scale;            // units of one count; 1: a signal of one bit
    // keeps_remainder: units below the scale stay in the hardware, one remainder for each unit and
    // tenant.
    bool keeps_remainder;
} tl_monitor_event;

typedef enum tl_monitor_flag {
    TL_MONITOR_OVERFLOW = 1 << 0,
    TL_MONITOR_LOSSY = 1 << 1,
    TL_MONITOR_UNAVAILABLE = 1 << 2, // the value is no count
    TL_MONITOR_SATURATED = 1 << 3,
    TL_MONITOR_BUSY = 1 << 4, // the block is being written; a client would try again
} tl_monitor_flag;

typedef struct tl_monitor_value {
    uint64_t count; // units
    uint64_t late;  // those of them that came while the context did not run
    uint32_t flags;
} tl_monitor_value;

typedef struct tl_monitor_block {
    uint64_t gen, commit_cycle, active_cycles;
    uint32_t flags;
} tl_monitor_block;

// The last switch of a partition that has ended.
typedef struct tl_monitor_switch {
    uint64_t n_done;
    uint64_t begin_cycle; // its harts stood still
    uint64_t end_cycle;   // they may run
    uint32_t n_missing;   // collection units that did not answer in time
} tl_monitor_switch;

// Software of a partition that reaches the monitor by loads and stores, as the hardware knows it.
typedef enum tl_monitor_role { TL_MONITOR_CONTEXT, TL_MONITOR_SYSTEM, TL_MONITOR_HYPERVISOR } tl_monitor_role;
typedef struct tl_monitor_client {
    tl_monitor_role role;
    uint32_t partition, vm, context; // context TL_MONITOR_NONE: not of TL_MONITOR_CONTEXT
} tl_monitor_client;

typedef struct tl_chip_monitor tl_chip_monitor;

typedef struct tl_chip_monitor_type {
    // Names the window in which software reads blocks, in device trees. NULL: there is no window.
    const char *compatible;
    // All memory is of the arena. Each tenant has a block from now on. TL_EINVAL names a key of the
    // description and the remedy. TL_ENOENT: this build lacks what a confidential VM needs.
    TL_MUST_CHECK tl_status (*create)(const tl_monitor_plan *plan, tl_arena *arena, tl_chip_monitor **ret_monitor, tl_error *err);
    // The first context of a partition, at cycle 0.
    TL_MUST_CHECK tl_status (*start)(tl_chip_monitor *monitor, uint32_t partition, uint32_t vm, uint32_t context, tl_error *err);
    // The harts of a partition stand still from `cycle` on. vm TL_MONITOR_NONE: they never run
    // again. The switch begins when the units have delivered what is on its way.
    void (*halt)(tl_chip_monitor *monitor, uint32_t partition, uint64_t cycle, uint32_t vm, uint32_t context);
    // No total of a partition is read and no switch ends before the cycle that this returns.
    uint64_t (*next)(const tl_chip_monitor *monitor);
    // Returns a cycle up to which one partition may run ahead of others. None of its totals is read
    // before, and no switch of it ends before.
    uint64_t (*next_of)(const tl_chip_monitor *monitor, uint32_t partition);
    // The chip has reached `cycle`, which is at most `next`. Does what happens before it, and in it
    // if it is `next`.
    TL_MUST_CHECK tl_status (*reach)(tl_chip_monitor *monitor, uint64_t cycle, tl_error *err);
    // Totals of the shared units have grown at `cycle`, by traffic of a tag. Cycles do not
    // decrease, and none is before the last `reach`.
    void (*moved)(tl_chip_monitor *monitor, uint64_t cycle, uint32_t tag);
    // Promises that nobody calls `read` before `until`; UINT64_MAX: not before a later promise.
    // Blocks and switches are as without it, at less cost. A smaller `until` ends a promise; blocks
    // are then right `lag` cycles after the last `reach`.
    void (*unseen)(tl_chip_monitor *monitor, uint64_t until);
    uint64_t (*lag)(const tl_chip_monitor *monitor);
    // The owner empties the caches of a partition before the harts run another VM. The switch takes
    // flush_cycles longer then. NULL: it does not.
    bool (*flushes_caches)(const tl_chip_monitor *monitor);
    // true from halt to the end of the switch.
    bool (*is_switching)(const tl_chip_monitor *monitor, uint32_t partition);
    void (*last_switch)(const tl_chip_monitor *monitor, uint32_t partition, tl_monitor_switch *ret_switch);
    // Everything has stopped. Returns the cycle at which all blocks are complete, if `next` and
    // `reach` go on up to there. A block may be within a commit then (is_writing).
    uint64_t (*completes)(tl_chip_monitor *monitor);
    bool (*is_writing)(const tl_chip_monitor *monitor); // some block

    // Rows of tl_monitor_event.
    uint32_t (*n_events)(const tl_chip_monitor *monitor);
    const tl_monitor_event *(*event)(const tl_chip_monitor *monitor, uint32_t index);
    // The context's traffic at shared units is told apart.
    bool (*hears)(const tl_chip_monitor *monitor, uint32_t vm, uint32_t context);
    // A coherent copy, as a client of the block reads it. vm TL_MONITOR_NONE: the block of the
    // device; context TL_MONITOR_NONE: that of the VM. ret_values has n_events elements.
    TL_MUST_CHECK tl_status (*read)(const tl_chip_monitor *monitor, uint32_t vm, uint32_t context, tl_monitor_block *ret_block,
                                    tl_monitor_value *ret_values, tl_error *err);
    // Words of a block as memory holds them in the cycle that the chip has reached; those of the
    // list that names its counts. Borrowed. NULL: the design has no window.
    const uint64_t *(*words)(const tl_chip_monitor *monitor, uint32_t vm, uint32_t context, uint32_t *ret_n_words);
    const uint64_t *(*list)(const tl_chip_monitor *monitor, uint32_t *ret_n_words);

    // Window of clients. NULL: the design has none.
    uint64_t (*window_bytes)(const tl_chip_monitor *monitor);
    // Offsets of a client's own registers, and of the page with the audit entries of its system.
    uint64_t (*requests_at)(const tl_chip_monitor *monitor);
    uint64_t (*audit_at)(const tl_chip_monitor *monitor);
    // Offset of a block; context TL_MONITOR_NONE: that of the VM.
    uint64_t (*block_at)(const tl_chip_monitor *monitor, uint32_t vm, uint32_t context);
    // Does what happens before `cycle`, which is at most `next`. Reads no total of that cycle. All
    // growth of shared units before it has been told.
    void (*present)(tl_chip_monitor *monitor, uint64_t cycle);
    // Accesses of 1, 2, 4 or 8 bytes, aligned, at an offset in the window. false: refused, with an
    // entry in the audit log. A store may bring next_of the client's partition forward.
    bool (*load)(tl_chip_monitor *monitor, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value);
    bool (*store)(tl_chip_monitor *monitor, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t value);
    // Refused accesses and requests so far, of everybody.
    uint64_t (*n_refused)(const tl_chip_monitor *monitor);

    // Seals the blocks of a confidential VM from now on. Called before the run. Records go to one
    // stream at fixed cycles; the key that opens them goes to the other at once. Errors of streams
    // are the caller's to check. NULL: the design has none.
    TL_MUST_CHECK tl_status (*seal)(tl_chip_monitor *monitor, uint32_t vm, FILE *records, FILE *key, tl_arena *arena, tl_error *err);

    // Answers a message of an out-of-band client. It allocates nothing and needs no hart. NULL: the
    // design has no mailbox.
    void (*oob_answer)(tl_chip_monitor *monitor, const uint8_t *message, uint8_t *ret_answer);
    void (*oob_hang_up)(tl_chip_monitor *monitor); // the client has gone: its session ends
} tl_chip_monitor_type;

#endif
