// SPDX-License-Identifier: MIT
// Attribution: exact totals of every signal by instruction. A row holds what one instruction of one
// space caused: its executions, and its share of every tally of the machine. Sums of all rows are
// the totals.
//
// `step`, threaded code and translated code book. For detailed cores a tap does (model/tap.h). An
// instruction has its static counts, and those of its accesses, its fetch and its prediction. An
// instruction that begins a fetch run has the look-ups of the run. A line that another hart loses
// belongs to the instruction that took it. Counts of the modeled kernel between two runs belong to
// the instruction that stopped the first one.
//
// A row has no cells of the clock (TL_SIGNAL_CLOCK). Cycles of a row are the sum of its cycles by
// cause, and instructions are its executions.
#ifndef TL_MODEL_ATTRIBUTION_H
#define TL_MODEL_ATTRIBUTION_H

#include "base/status.h"
#include "model/hart.h"
#include "model/probe.h"

typedef struct tl_attribution tl_attribution;

typedef struct tl_attribution_count {
    tl_cell cell; // of the machine's flat array
    uint64_t n;
} tl_attribution_count;

typedef struct tl_attribution_row {
    uint64_t space, pc;
    uint64_t n_executed; // retired; an instruction that trapped is not
    uint32_t n_counts, room;
    tl_attribution_count *counts; // in order of their first booking, none is 0 twice
} tl_attribution_row;

// Totals of `probe` from now on are booked. TL_ENOMEM.
TL_MUST_CHECK tl_status tl_attribution_new(const tl_probe *probe, uint32_t n_harts, tl_attribution **ret_attribution, tl_error *err);
void tl_attribution_free(tl_attribution *attribution); // NULL is fine
// For tests: books without instructions that only some hosts have.
void tl_attribution_use_plain_code(tl_attribution *attribution);
// Books all that is held back. Rows in order of their first booking, valid until the next booking.
// The tallies must be synced.
const tl_attribution_row *tl_attribution_rows(tl_attribution *attribution, uint32_t *ret_n_rows);
// Checks that rows sum up to the totals. The tallies must be synced. TL_ENOMEM: the host had no
// memory for a row. TL_EINVAL: a total differs; this is a defect.
TL_MUST_CHECK tl_status tl_attribution_check(tl_attribution *attribution, tl_error *err);
// Instructions of the hart belong to this space from now on. The hart's tallies must be synced.
void tl_attribution_set_space(tl_attribution *attribution, uint32_t hart, uint64_t space);

// Counts from now on, on any hart, are outside of the part of the run that is recorded. Their rows
// have TL_OUTSIDE in their space. Tallies must be synced.
static const uint64_t TL_OUTSIDE = UINT64_C(1) << 63;
void tl_attribution_set_outside(tl_attribution *attribution, bool is_outside);
bool tl_attribution_is_outside(const tl_attribution *attribution);

// Counts of calling contexts (model/callgraph.h), as an attribution and engines know them.
enum { TL_NO_EVENT = 255 };
typedef struct tl_context_sink {
    struct tl_callgraph *graph;
    const uint8_t *event_of; // by cell: the event that it counts for, or TL_NO_EVENT
    uint8_t executed_event;  // of executed instructions
    // Of the context that is under way on a hart, by event.
    uint64_t *counts[TL_MAX_HARTS];
    void (*space_changed)(void *graph, uint32_t hart, uint64_t space);
    void (*began)(void *graph, uint32_t hart, uint64_t pc);
    void (*set_outside)(void *graph, bool is_outside); // it changes counts[]
} tl_context_sink;

// Before the first run.
void tl_attribution_set_sink(tl_attribution *attribution, tl_context_sink *sink);

// For engines, with h->attribution set.

tl_context_sink *tl_attribution_sink(const tl_hart *h); // NULL: there is no call graph
// A run of the hart begins at h->pc.
void tl_attribution_begin(tl_hart *h);
// Counts from now on, on any hart, belong to the instruction at pc.
void tl_attribution_own(tl_hart *h, uint64_t pc);
// As tl_attribution_own. The run need not call tl_attribution_end. `counts` are those of its
// calling context, or will be; NULL: there is no call graph.
void tl_attribution_own_running(tl_hart *h, uint64_t pc, uint64_t *counts);
// Counts of the owner from now on are of this calling context.
void tl_attribution_own_in(tl_attribution *attribution, uint64_t *counts);
// Counts from now on belong to the owner before the last call of tl_attribution_own_running.
void tl_attribution_own_as_before(tl_hart *h);
// For what a call of tl_mem_port.reach_load, reach_store or fetch counts: no more than units of
// memory and its causes of lost cycles.
void tl_attribution_own_access(tl_hart *h, uint64_t pc);
// Books now what the owner has so far.
void tl_attribution_book(tl_hart *h);
// A run of the hart ends: what is counted now belongs to the instruction at h->pc.
void tl_attribution_end(tl_hart *h);
// Counts from now on belong to the instruction before which the last run of this hart ended, or to
// h->pc, if only others have run.
void tl_attribution_own_end(tl_hart *h);
// The control transfer at pc is about to be predicted. Its counts are booked before the next ones.
void tl_attribution_transfer(tl_hart *h, uint64_t pc);
void tl_attribution_settle(tl_hart *h); // books the last transfer
// The instruction retired n times; negative: taken back.
void tl_attribution_execute(tl_hart *h, uint64_t pc, int64_t n);
// The number of the row of this instruction, which may be made with no counts. UINT32_MAX: the host
// has no memory, as tl_attribution_check says.
uint32_t tl_attribution_row_at(tl_hart *h, uint64_t pc);
// The caller adds n to the tally TL_S_* of the hart, and it is the instruction's own. n may be
// negative, as an unsigned number.
void tl_attribution_add(tl_hart *h, uint64_t pc, uint32_t cell, uint64_t n);

// An engine may hold counts back. It adds them to a tally and to the cell of tl_attribution_booked,
// by TL_S_*, and remembers whose they are. `pour` books them with tl_attribution_pour*, before rows
// are read and before the hart changes its space.
uint64_t *tl_attribution_booked(tl_hart *h);
void tl_attribution_set_source(tl_hart *h, void (*pour)(void *ctx), void *ctx);
void tl_attribution_pour_executed(tl_hart *h, uint64_t pc, int64_t n);
void tl_attribution_pour(tl_hart *h, uint64_t pc, uint32_t cell, uint64_t n);

#endif
