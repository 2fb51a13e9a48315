// SPDX-License-Identifier: MIT
// The state of a core's PMU. Registers live in the cells of the register map, where the counting
// rule finds ESCRs, CCCRs and counters as arrays. `configure` derives from them what the rule needs
// in each clock, after a write and after an overflow.
#ifndef TL_PMU_NETBURST_STATE_H
#define TL_PMU_NETBURST_STATE_H

#include "base/bits.h"
#include "pmu/netburst/lanes.h"
#include "pmu/netburst/netburst.h"
#include "pmu/netburst/rows.h"

typedef struct tl_netburst_thread { // as a hart sees the registers of its core
    tl_pmu pmu;
    tl_netburst *core;
    uint32_t index;
    uint64_t ds_area;
    uint32_t lvt;
    bool line;          // of the interrupt
    bool ds_latch;      // the DS area is full up to its threshold
    bool is_livelocked; // an interrupt comes before the interrupted instruction
    uint32_t msr;       // chosen by CSR nbindex
    bool user_reads;    // CR4.PCE: user mode may read counters
    tl_netburst_samples_stored samples;
    uint64_t context;     // NBX: tag
    uint32_t captured;    // counters that sample the instruction which the assist is for
    bool is_restarted;    // the instruction behind an assist retires
    tl_nbx_access access; // of that instruction
    // Of the instance of a machine: all its cores.
    tl_netburst **cores;
    uint32_t n_cores, threads_per_core;
} tl_netburst_thread;

typedef enum tl_run_cause { TL_STOPPED, TL_RUNS_ENABLED, TL_RUNS_CASCADED } tl_run_cause;

typedef struct tl_used_escr { // an ESCR that a running counter selects
    uint8_t escr;
    uint8_t event; // tl_netburst_event
    bool is_ti;
    bool is_held;     // its output may stay what it was: an erratum
    bool has_fields;  // of the mask; else any common bit matches
    bool is_doubtful; // weights are those of an erratum
    uint16_t mask;
    uint16_t output;    // in the clock under way
    uint16_t by_owner;  // bit i: counts what owner i does
    uint16_t by_active; // bit i: counts what no thread owns while `active` of the clock is i
    uint64_t threads;   // that it counts, laid out as an XESCR
    uint64_t contexts;  // NBX: threads that a filter lets pass, in both classes
} tl_used_escr;

typedef struct tl_used_counter { // a counter that runs
    uint8_t counter, used;       // used: index in used_escrs
    uint8_t threshold;
    bool compares, complements, is_edge, forces_overflow;
    bool samples;       // an overflow captures an instruction
    uint16_t by_active; // bit i: counts while `active` of the clock is i
} tl_used_counter;

typedef struct tl_sampler { // a counter that samples a thread
    uint8_t counter;
    // It counts uops that retire, and samples one that matches; else the next instruction.
    bool is_precise;
    uint16_t by_active; // as of a tl_used_counter
    tl_used_escr escr;
} tl_sampler;

typedef struct tl_sampling { // of a thread
    uint32_t n;
    tl_sampler samplers[TL_NETBURST_COUNTERS];
} tl_sampling;

typedef struct tl_nbx_bank { // counters of a context while others run
    uint64_t tag;
    uint64_t value[TL_NETBURST_COUNTERS], began[TL_NETBURST_COUNTERS];
    uint32_t wrapped, armed; // counters
} tl_nbx_bank;

struct tl_netburst {
    tl_netburst_settings settings;
    tl_netburst_host host;
    tl_netburst_store store; // of debug store areas; without transfer, the host has them
    uint32_t n_threads;
    bool errata[TL_N_ERRATA];
    tl_netburst_thread *threads[TL_NBX_MAX_THREADS];
    uint64_t *stored;
    uint64_t *counter, *cccr, *escr; // in `stored`
    uint64_t *pebs_enable;           // of thread 0's view
    uint64_t *matrix;
    // NBX.
    uint64_t *xescr, *xcccr, *idle, *filter, *filter_mask, *preset;
    uint64_t *control, *random, *sample, *banked, *bank;
    uint32_t lfsr;
    uint32_t n_banks;
    bool is_full; // tags share the last bank
    tl_nbx_bank banks[TL_NBX_BANKS];
    uint32_t has_bank;                     // counters
    uint8_t bank_of[TL_NETBURST_COUNTERS]; // that is in the counter
    uint64_t began[TL_NETBURST_COUNTERS];  // value at the begin of the period
    uint64_t n_lost[TL_NETBURST_COUNTERS]; // samples without room, since reset
    // Derived.
    bool is_stale;
    bool is_running;
    bool has_edges;
    bool has_doubts; // some used ESCR is held or doubtful
    uint32_t n_used_escrs, n_used_counters;
    tl_used_escr used_escrs[TL_NETBURST_COUNTERS];
    tl_used_counter used_counters[TL_NETBURST_COUNTERS];
    tl_sampling sampling[TL_NETBURST_THREADS];
    uint32_t listeners[TL_NB_N_EVENTS]; // bit i: used_escrs[i] has this event
    uint8_t run_cause[TL_NETBURST_COUNTERS];
    // Of counters, bit by bit.
    uint32_t filtered;                       // the filter was true in the last clock
    uint32_t wrapped;                        // has overflowed, and not counted since
    uint32_t raised;                         // drives the line
    uint32_t interrupted;                    // has driven it since reset
    uint8_t last_step[TL_NETBURST_COUNTERS]; // counted in the last clock
    uint64_t n_clocks;                       // counted since reset, the clock under way included
    tl_netburst_lanes lanes;                 // while open: its registers are behind
    bool takes_rows;                         // the plan allows it
    bool is_eager;                           // for tests: it takes none all the same
    const tl_netburst_column_ops *columns;
};

static inline tl_netburst_thread *tl_netburst_thread_of(const tl_regfile *file) { return (tl_netburst_thread *)(uintptr_t)file; }

// msr.c
bool tl_netburst_may_write(const tl_netburst *n, uint32_t thread, uint32_t msr, uint64_t value);
// regs.c
uint64_t tl_netburst_reserved_bits(const tl_netburst *n, const tl_reg_at *at); // of a write
// count.c
void tl_netburst_configure(tl_netburst *n);
void tl_netburst_settle(tl_netburst *n); // closes the lanes
// The clocks in which all counters only add, if all goes on as it is. 0: rows cannot be counted.
uint64_t tl_netburst_room_of_rows(tl_netburst *n);
// The ESCR that the CCCR selects; TL_N_ESCRS: none.
tl_escr tl_netburst_escr_of(const tl_netburst *n, uint32_t counter);
// The event that the ESCR detects on this model; TL_NB_NO_EVENT: none.
tl_netburst_event tl_netburst_event_of(const tl_netburst *n, tl_escr escr);
// n > 0, and within the room
void tl_netburst_count_rows(tl_netburst *n, const tl_netburst_rows *rows);
void tl_netburst_update_lines(tl_netburst *n);
// The counter counts while these threads are active, laid out as an XESCR.
bool tl_netburst_counts_while(const tl_netburst *n, uint32_t counter, uint64_t active);
// An ESCR detects and tags: some counter that it or its partner can feed runs.
bool tl_netburst_has_power(const tl_netburst *n, tl_escr escr);
// nbx.c
uint64_t tl_nbx_threads_of(const tl_netburst *n, tl_escr escr); // what its XESCR shows
uint64_t tl_nbx_all_threads(const tl_netburst *n);              // of the core, in both classes
bool tl_nbx_is_in_range(const tl_netburst *n, uint32_t counter, uint64_t active);
// Bits 3:0 of an ESCR as bits of an XESCR, and back.
uint64_t tl_nbx_of_flags(uint64_t escr);
uint64_t tl_nbx_of_owner(uint16_t owner); // of an occurrence
uint64_t tl_nbx_flags_of(uint64_t threads);
// CCCR.ACTIVE_THREAD that stands for the bounds of an XCCCR.
uint32_t tl_nbx_mode_of(uint64_t xcccr);
uint64_t tl_nbx_of_mode(uint64_t xcccr, uint32_t mode); // with the bounds of a mode
// Threads whose tag the filter of the counter lets pass, in both classes.
uint64_t tl_nbx_contexts_of(const tl_netburst *n, uint32_t counter);
// The counter takes part in `banks` as NBX_BANKED says.
void tl_nbx_bind_banks(tl_netburst *n);
void tl_nbx_forget_banks(tl_netburst *n);
uint64_t tl_nbx_bank_value(const tl_netburst *n, uint32_t bank, uint32_t counter);
void tl_nbx_set_bank_value(tl_netburst *n, uint32_t bank, uint32_t counter, uint64_t value);
// A reset value with its low bits replaced, as NBX_RANDOM says.
uint64_t tl_nbx_vary(tl_netburst *n, uint64_t value);
static inline bool tl_nbx_has_filter(const tl_netburst *n, uint32_t counter) { return n->filter_mask[counter] != 0; }
// pebs.c
// Returns the thread that the counter samples; TL_NETBURST_THREADS: none.
uint32_t tl_netburst_sampled_thread(const tl_netburst *n, uint32_t counter, const tl_used_escr *escr, bool *ret_is_precise);
// Returns what samples the thread with this counter, or NULL.
const tl_sampler *tl_netburst_sampler_of(const tl_netburst *n, uint32_t thread, uint32_t counter);
void tl_netburst_look_at_area(tl_netburst *n, uint32_t thread); // software may have emptied it
bool tl_netburst_has_escr(const tl_netburst *n, tl_escr escr);  // count.c
// match.c
bool tl_netburst_matches_fields(const tl_netburst *n, const tl_used_escr *escr, uint16_t what);
// Threads of the record are laid out as an XESCR. owner 0: of no thread.
bool tl_netburst_is_qualified(const tl_netburst *n, const tl_used_escr *escr, uint64_t owner, uint64_t active);
// Sets has_fields, by_owner and by_active.
void tl_netburst_tabulate(const tl_netburst *n, tl_used_escr *escr);
// msr.c
void tl_netburst_init(tl_netburst *n, const tl_netburst_settings *settings, uint32_t n_threads, const tl_netburst_host *host,
                      uint64_t *stored);

// Whether a detector counts an occurrence: event and mask, then thread and privilege. The detector
// listens to its event. others: as in tl_netburst_clock.
static inline bool tl_netburst_matches(const tl_netburst *n, const tl_used_escr *escr, const tl_netburst_occurrence *what, uint8_t active,
                                       uint64_t others) {
    if (escr->has_fields ? !tl_netburst_matches_fields(n, escr, what->mask) : !(escr->mask & what->mask))
        return false;
    if (TL_UNLIKELY((others | what->owner >> TL_NBX_THREAD_LSB) != 0))
        return tl_netburst_is_qualified(n, escr, tl_nbx_of_owner(what->owner), tl_nbx_of_flags(active) | others);
    return (what->owner != 0 && !escr->is_ti ? escr->by_owner >> what->owner : escr->by_active >> active) & 1;
}

#endif
