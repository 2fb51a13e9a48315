// SPDX-License-Identifier: MIT
// A watched program. A timer interrupts the program at chosen cycles, and a reader of RISC-V
// instructions runs on hart 0's own front-end. This file is shared by all readers. watch.c of
// src/readers/<design> makes the code and reports the values.
//
// The end of RAM belongs to the watcher. During a reading, one entry of the program's top page
// table leads to tables there, as if a kernel had mapped them permanently. The program's layout
// does not change. A reading begins as a supervisor timer interrupt. The kernel's stub either reads
// by itself, or sends the hart to a reader in user mode, which returns with ECALL.
#ifndef TL_COMPARE_WATCH_H
#define TL_COMPARE_WATCH_H

#include "compare/environment.h"
#include "isa/rv/assemble.h"

// Offsets from the beginning of the reserved stretch; virtual addresses add TL_WATCH_VADDR.
enum {
    TL_WATCH_BYTES = 0x40000,
    TL_WATCH_TABLES = 0, // two pages
    TL_WATCH_KERNEL = 0x2000,
    TL_WATCH_KERNEL_DATA = 0x8000,
    TL_WATCH_FIRMWARE = 0xc000, // reached by machine mode, which knows no tables
    TL_WATCH_FIRMWARE_DATA = 0xe000,
    TL_WATCH_USER = 0x10000,
    TL_WATCH_USER_DATA = 0x30000, // registers first, TL_WATCH_RESULTS is where values go
    TL_WATCH_RESULTS = 0x31000,
    TL_WATCH_WINDOW = 0x40000,        // registers of a design with a window
    TL_WATCH_WINDOW_BYTES = 0x1c0000, // to the end of the range of one table page
};
static const uint64_t TL_WATCH_VADDR = UINT64_C(128) << 30;

typedef struct tl_watched { // of one event
    bool has_value;
    const char *reason; // why not
    uint64_t value, truth;
    double time_counted;
} tl_watched;

typedef struct tl_watch_result {
    tl_watched events[TL_COMPARE_MAX_EVENTS];
    uint64_t n_looks, first_look_cycles;
    // A reading that took so long ended the run, and the rest of the result is invalid. 0: none
    // did.
    uint64_t outgrown_by_cycles;
    tl_compare_events_added by_reader;
    uint64_t run_instructions, run_cycles;
    uint64_t values_watched, values_read, selects_watched;
} tl_watch_result;

typedef struct tl_watch tl_watch;

typedef struct tl_watch_type {
    // Makes code and data in RAM, and w->own; says of events that it cannot count why.
    TL_MUST_CHECK tl_status (*prepare)(tl_watch *w, tl_error *err);
    // Called for each instruction of the reader, begun in `cycle`; may be NULL.
    void (*after)(tl_watch *w, uint64_t pc, uint64_t cycle);
    void (*reading_begins)(tl_watch *w);
    // Called after the last reading. Fills w->result->events.
    TL_MUST_CHECK tl_status (*finish)(tl_watch *w, tl_error *err);
} tl_watch_type;

struct tl_watch {
    tl_environment environment;
    const tl_compare_design_type *design;
    tl_watch_result *result;
    tl_arena arena;
    tl_hart *hart;
    uint64_t base_paddr; // of the reserved stretch
    tl_sources truths[TL_COMPARE_MAX_EVENTS];
    uint32_t first_event;  // of those that take turns: which one the rotation starts at
    uint64_t first_cycles; // to the second reading
    void *own;
};

// One run of the program. `phase` of `n_phases`: where in its rotation a design that shares
// counters begins.
TL_MUST_CHECK tl_status tl_watch_run(const tl_compare_setup *setup, uint32_t design, uint32_t phase, uint32_t n_phases,
                                     tl_watch_result *ret_result, tl_error *err);

// Spreads phases evenly over a rotation of n_turns: each begins with this event, and its first turn
// is as much shorter as it begins within a turn.
void tl_watch_place_phase(const tl_compare_setup *setup, uint32_t n_turns, uint32_t phase, uint32_t n_phases, uint32_t *ret_first_event,
                          uint64_t *ret_first_cycles);

static inline uint8_t *tl_watch_bytes(const tl_watch *w, uint32_t place) {
    return tl_machine_ram(w->environment.machine, w->base_paddr + place);
}
uint64_t tl_watch_word(const tl_watch *w, uint32_t place);
void tl_watch_set_word(const tl_watch *w, uint32_t place, uint64_t value);
// An assembler for code at this place, by virtual address.
tl_assembler tl_watch_code(const tl_watch *w, uint32_t place, uint32_t n_bytes);
// A stub for the kernel that runs the reader at TL_WATCH_USER with sp at TL_WATCH_USER_DATA, all
// other registers as the program has them.
TL_MUST_CHECK tl_status tl_watch_make_upcall(tl_watch *w, tl_error *err);
// Code that keeps registers [first, last] and x5 .. x7 in [sp], and gives them back.
void tl_watch_save(tl_assembler *a, uint32_t first, uint32_t last);
void tl_watch_restore(tl_assembler *a, uint32_t first, uint32_t last);
// The present value. Totals must be synchronized.
uint64_t tl_watch_truth(const tl_watch *w, const tl_sources *sources);
tl_status tl_watch_no_room(tl_error *err);

#endif
