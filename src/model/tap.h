// SPDX-License-Identifier: MIT
// The cycle record of a detailed core: what happened in each cycle, uop by uop, for PMU designs and
// tools. A core without a tap keeps no records.
//
// Records of one hardware thread follow one another without a gap, from the attachment on. A cycle
// in which something happened is a record of its own. Cycles in which nothing happened are one
// record for each stretch with one cause, because a core that skips idle cycles and one that does
// not must give equal records.
//
// Counts that events do not say (look-ups, misses, walks) are differences of the hart's tallies
// between records: tl_hart.tally, tl_hart.core_tally. tl_tap.record is called when all of the
// record's cycles have passed. A stretch of idle cycles is told just before the record behind it,
// when the tallies have the counts of both.
#ifndef TL_MODEL_TAP_H
#define TL_MODEL_TAP_H

#include "model/hart.h"
#include "model/pipeline.h"
#include "model/probe.h"

typedef enum tl_uop_step {
    TL_UOP_FETCH,     // an instruction: executed ahead of time on the predicted path
    TL_UOP_RENAME,    // an instruction: n_uops uops take places in the reorder buffer
    TL_UOP_DISPATCH,  // one uop: to a port
    TL_UOP_RETIRE,    // an instruction: all its uops
    TL_UOP_TAKE_BACK, // an instruction: it has not happened
    // An instruction executes with nothing else in flight, and takes the whole record.
    TL_UOP_ALONE,
} tl_uop_step;

typedef enum tl_uop_vain { // why a dispatch had no effect
    TL_UOP_EFFECTIVE,
    TL_UOP_NO_OPERAND,
    TL_UOP_NO_LINE,
    TL_UOP_NO_TRANSLATION, // a load, or the address of a store
    TL_UOP_SPLIT,          // a load that crosses a line, and hits
    TL_UOP_NO_STORE,       // an older store has bytes of the load, and cannot give them yet
    TL_N_UOP_VAINS
} tl_uop_vain;

typedef struct tl_uop_event {
    uint64_t seq; // number of the instruction in its thread; a number taken back is used again
    uint64_t pc, vaddr;
    // For DISPATCH: the result is there in this half cycle; 0: in vain.
    uint64_t done_half_cycles;
    // For FETCH and ALONE: the instruction as encoded; 0: its fetch failed.
    uint32_t bits;
    uint8_t step; // tl_uop_step
    uint8_t cls;  // tl_class
    // For RENAME, RETIRE and TAKE_BACK: uops of the instruction; 0: it was not renamed.
    uint8_t n_uops;
    uint8_t uop;    // DISPATCH: 0, or 1 for the data of a store
    uint8_t vain;   // DISPATCH: tl_uop_vain
    bool is_replay; // DISPATCH: not the first one of this uop
    // RETIRE. is_mispredicted: TAKE_BACK of what was renamed, too. has_retired: ALONE.
    bool is_taken, is_mispredicted, has_retired;
    bool is_call, is_return; // RETIRE
    // ALONE that retired: it accessed a device. Members of RETIRE above are valid, too.
    bool is_device;
    // RETIRE, TAKE_BACK: a load that missed the L1D. A load or a store that was looked up: it
    // missed the DTLB, and it crosses a line.
    bool has_missed, has_missed_dtlb, is_split;
    uint8_t size_bytes; // DISPATCH: of an access or an operand
} tl_uop_event;

typedef struct tl_cycle_record {
    const tl_hart *h; // thread that the record is of
    uint32_t thread;  // its number in the core
    uint32_t cause;   // cell of the CPI stack that the cycles belong to, or TL_TAP_OUTSIDE
    // The first cycle, and how many. n_cycles is 0 if an instruction alone trapped at once, or if
    // the tap left in the cycle.
    uint64_t cycle, n_cycles;
    uint32_t n_events;
    // In the order of the stages: TAKE_BACK, RETIRE, DISPATCH, RENAME, FETCH.
    const tl_uop_event *events;
} tl_cycle_record;
// The thread was not running: a modeled kernel took the time, or a debugger did.
enum { TL_TAP_OUTSIDE = UINT32_MAX - 1 };

// A clock of a hardware thread, told at its end, for PMU designs. Clocks in which a thread does
// nothing are not told. Threads of one core tell clocks in the order of time, unless a run begins
// in the past of another thread.
typedef struct tl_clock_record {
    const tl_hart *h;
    uint32_t thread;
    uint64_t cycle;     // of an instruction that executes alone: its first one
    bool is_store_full; // rename waits for a store buffer, until the next record
    uint32_t n_events;
    const tl_uop_event *events; // as in tl_cycle_record
} tl_clock_record;

// Clocks as rows, while their owner wants no more of them than the values of some tallies: the core
// takes them itself. A clock with events that matter, or with another state of the thread, is told.
// Threads of a core share the rows. All fields but those the functions below write are the owner's.
enum { TL_CLOCK_ROWS = 64, TL_CLOCK_TOTALS = TL_CLOCK_ROWS + 8 };
enum { TL_CLOCK_CELLS = 16 };   // are taken at once
typedef struct tl_clock_cells { // of a thread
    bool may_tell;              // a row, to the owner
    uint64_t until;             // the core takes no later clock itself
    // The state of the thread in all rows. tells_stores: is_store_full matters.
    bool is_store_full, tells_stores;
    tl_priv priv;
    uint32_t n;
    const tl_cell *cells;
    // Their values before row 0, and at the end of each row that is filled.
    uint32_t (*columns)[TL_CLOCK_TOTALS];
    uint32_t n_filled;
    uint64_t told; // the last clock that was taken or told
    // Instructions retired before that clock, and before the next one.
    uint64_t insns_before, insns_after;
} tl_clock_cells;

typedef struct tl_clock_rows {
    bool is_open;
    bool keeps_idle;       // clocks between two others are a row
    uint32_t most;         // no row begins behind so many
    uint32_t n;            // rows before the clock under way, which is the next one
    uint32_t told;         // threads that have told it
    uint64_t clock;        // under way
    uint64_t until;        // no later clock is a row
    uint64_t n_idle;       // clocks beside one for each row
    uint64_t n_behind;     // idle clocks before the one under way
    uint32_t unheard;      // threads: of their clocks only the last one's number matters
    const uint64_t *tally; // of all cells
    tl_clock_cells threads[2];
} tl_clock_rows;

// The clock is behind the one under way.
static inline bool tl_clock_rows_have_room(const tl_clock_rows *rows, uint64_t clock) {
    return rows->n < rows->most && clock <= rows->until;
}

static inline void tl_clock_rows_begin(tl_clock_rows *rows, uint64_t clock) {
    const uint64_t n_idle = clock - rows->clock - 1;
    rows->n += 1;
    rows->n_idle += n_idle;
    rows->n_behind = n_idle;
    rows->clock = clock;
    rows->told = 0;
    if (n_idle > 0 && rows->keeps_idle) {
        rows->n += 1;
        rows->n_idle -= 1;
    }
}

// Cells stay what they were in rows in which the thread tells nothing.
static inline void tl_clock_cells_fill(tl_clock_cells *c, uint32_t n) {
    for (uint32_t i = 0; c->n_filled < n && i < c->n; i++)
        for (uint32_t row = c->n_filled; row < n; row++)
            c->columns[i][row + 1] = c->columns[i][c->n_filled];
    c->n_filled = c->n_filled < n ? n : c->n_filled;
}

// The next n cells, n constant: three host instructions for each.
TL_ALWAYS_INLINE void tl_clock_cells_take(const tl_cell **cells, uint32_t **column, uint32_t n, const uint64_t *tally) {
#pragma GCC unroll 16
    for (uint32_t i = 0; i < n; i++)
        (*column)[i * TL_CLOCK_TOTALS] = (uint32_t)tally[(*cells)[i]];
    *cells += n;
    *column += n * TL_CLOCK_TOTALS;
}

// Row n of a thread whose other rows are filled.
static inline void tl_clock_cells_copy(tl_clock_cells *c, uint32_t n, const uint64_t *tally) {
    uint32_t *column = &c->columns[0][n + 1], left = c->n;
    const tl_cell *cells = c->cells;
    c->n_filled = n + 1;
    for (; left >= TL_CLOCK_CELLS; left -= TL_CLOCK_CELLS)
        tl_clock_cells_take(&cells, &column, TL_CLOCK_CELLS, tally);
    if (left & 8)
        tl_clock_cells_take(&cells, &column, 8, tally);
    if (left & 4)
        tl_clock_cells_take(&cells, &column, 4, tally);
    if (left & 2)
        tl_clock_cells_take(&cells, &column, 2, tally);
    if (left & 1)
        tl_clock_cells_take(&cells, &column, 1, tally);
}

static inline void tl_clock_cells_told(tl_clock_cells *c, const tl_hart *h, uint64_t clock, bool is_store_full) {
    c->is_store_full = is_store_full;
    c->told = clock;
    c->insns_before = c->insns_after;
    c->insns_after = h->instret;
}

// Takes a clock with or without events, of a thread in `unheard`. false: nothing has happened.
static inline bool tl_clock_rows_pass(tl_clock_rows *rows, const tl_hart *h, uint32_t thread, uint64_t clock, bool is_store_full) {
    if (!(rows->unheard >> thread & 1) || clock <= rows->clock)
        return false;
    rows->clock = clock;
    tl_clock_cells_told(&rows->threads[thread], h, clock, is_store_full);
    return true;
}

// Takes a clock without events, of a thread that told the one under way, too. false: nothing has
// happened.
static inline bool tl_clock_rows_take(tl_clock_rows *rows, const tl_hart *h, uint32_t thread, uint64_t clock, bool is_store_full) {
    tl_clock_cells *c = &rows->threads[thread];
    if (clock > c->until || clock <= rows->clock || rows->n >= rows->most || c->n_filled <= rows->n || h->priv != c->priv ||
        !tl_hart_has_work(h) || (c->tells_stores && is_store_full != c->is_store_full) || (rows->keeps_idle && clock - rows->clock > 1))
        return false;
    rows->n += 1;
    rows->n_behind = clock - rows->clock - 1;
    rows->n_idle += rows->n_behind;
    rows->clock = clock;
    rows->told = 1u << thread;
    tl_clock_cells_copy(c, rows->n, rows->tally);
    tl_clock_cells_told(c, h, clock, is_store_full);
    return true;
}

// Instructions of a thread that tl_clock_tap.may_retire is called for.
typedef struct tl_clock_sampled {
    uint32_t classes;  // a bit for each tl_class
    uint64_t n_passed; // so many of them retire without a call. The core counts down.
} tl_clock_sampled;

typedef struct tl_clock_tap tl_clock_tap;
struct tl_clock_tap {
    // Set by the owner at any time. tells_all holds from the next clock of the thread on. If it is
    // false, RETIRE is told of control transfers only, TAKE_BACK of what was renamed only, DISPATCH
    // and RENAME never. Tallies say what executes and retires.
    bool tells_all;
    tl_clock_sampled sampled[2];
    // Set by the core when the tap attaches: numbers of the thread's next instruction to retire,
    // and of its next one to rename, as of its last clock.
    const uint64_t *retired[2], *renamed[2];
    // Steps, a bit for each: their events change nothing. While all is told, rows take clocks that
    // have no other events.
    uint32_t ignored;
    tl_clock_rows *rows;
    void (*clock)(tl_clock_tap *tap, const tl_clock_record *record);
    // An instruction is about to execute alone in this cycle. All earlier clocks were told.
    void (*alone)(tl_clock_tap *tap, const tl_hart *h, uint32_t thread, uint64_t cycle);
    // A run begins, and ends. Called with the attachment, too.
    void (*resume)(tl_clock_tap *tap, const tl_hart *h, uint32_t thread);
    void (*suspend)(tl_clock_tap *tap, const tl_hart *h, uint32_t thread);
    // The instruction of this RETIRE event is about to retire. false: it and all younger ones are
    // taken back, and the core calls `assist` when the hart has the registers before it. Returns
    // the cycles until fetch begins again, with the same instruction.
    bool (*may_retire)(tl_clock_tap *tap, const tl_hart *h, uint32_t thread, const tl_uop_event *event);
    uint32_t (*assist)(tl_clock_tap *tap, const tl_hart *h, uint32_t thread);
};

// Whose counts are told next.
typedef struct tl_tap_owner {
    uint64_t pc;
    // Number of the instruction, in flight or the next one that fetch reads. TL_TAP_RETIRED: it has
    // retired, and `place` is what tl_tap_owners.retired or .alone returned for it.
    uint64_t seq;
    uint32_t place;
} tl_tap_owner;
static const uint64_t TL_TAP_RETIRED = UINT64_MAX;

typedef struct tl_tap_retirement {
    uint64_t seq, pc, next_pc;
    uint8_t cls; // tl_class
    // Of TL_CLASS_JAL and TL_CLASS_JALR: the address behind it, and the stack pointer.
    uint64_t return_pc, sp;
    bool is_call, is_return;
} tl_tap_retirement;

typedef struct tl_tap tl_tap;
// For who books counts by instruction.
typedef struct tl_tap_owners {
    // A run of the hart begins at h->pc.
    void (*begin)(tl_tap *tap, tl_hart *h);
    // A run ends. The next one begins with the same instructions in flight, or after `drop`.
    void (*end)(tl_tap *tap, tl_hart *h);
    // Counts from now on, on any hart, belong to this instruction. Cycles belong to the oldest
    // instruction that retires in them, else to the oldest one in the reorder buffer. With an empty
    // buffer they belong to the next instruction if its fetch takes the time, else to the last one
    // that retired.
    void (*own)(tl_tap *tap, tl_hart *h, const tl_tap_owner *owner);
    // Counts from now on belong to the owner before the last call of `own`.
    void (*own_as_before)(tl_tap *tap, tl_hart *h);
    // The instruction retires, and counts from now on belong to it. `record` tells it later. Not of
    // one that executes alone. Returns its place.
    uint32_t (*retired)(tl_tap *tap, tl_hart *h, const tl_tap_retirement *retirement);
    // This instruction is about to execute alone, and counts from now on belong to it. `seq` is
    // what fetch reads next. Returns its place.
    uint32_t (*alone)(tl_tap *tap, tl_hart *h, uint64_t seq, uint64_t pc);
    // Counts from now on belong to instruction `to`, and all younger ones are about to be taken
    // back. It was mispredicted, or is itself taken back and will be fetched again.
    void (*squash)(tl_tap *tap, tl_hart *h, uint64_t to);
    // Between two runs: instructions from this one on are gone.
    void (*drop)(tl_tap *tap, tl_hart *h, uint64_t first);
} tl_tap_owners;

// A tap for records of cycles, and for owners of counts.
struct tl_tap {
    // The record is valid during the call. The function must not touch the hart.
    void (*record)(tl_tap *tap, const tl_cycle_record *record);
    const tl_tap_owners *owners; // NULL: nobody asks
};

#endif
