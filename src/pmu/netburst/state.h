// SPDX-License-Identifier: MIT
// The state of a core's PMU. Registers live in the cells of the register map, where the counting
// rule finds ESCRs, CCCRs and counters as arrays. `configure` derives from them what the rule needs
// in each clock, after a write and after an overflow.
#ifndef TL_PMU_NETBURST_STATE_H
#define TL_PMU_NETBURST_STATE_H

#include "pmu/netburst/netburst.h"

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
    // Of the instance of a machine: all its cores.
    tl_netburst **cores;
    uint32_t n_cores, threads_per_core;
} tl_netburst_thread;

typedef enum tl_run_cause { TL_STOPPED, TL_RUNS_ENABLED, TL_RUNS_CASCADED } tl_run_cause;

typedef struct tl_used_escr { // an ESCR that a running counter selects
    uint8_t escr;
    uint8_t event; // tl_netburst_event
    uint8_t flags; // ESCR bits 3:0
    bool is_ti;
    uint16_t mask;
    uint16_t output;  // in the clock under way
    uint64_t threads; // NBX: of the first two, too
} tl_used_escr;

typedef struct tl_used_counter { // a counter that runs
    uint8_t counter, used;       // used: index in used_escrs
    uint8_t threshold, thread_mode;
    bool compares, complements, is_edge, forces_overflow;
    bool is_ranged;        // NBX: what follows is asked instead of thread_mode
    uint8_t least, most;   // threads that are active
    uint32_t active, idle; // threads that must be
} tl_used_counter;

typedef struct tl_sampling { // of a thread, by its counter
    bool is_on;
    uint8_t thread_mode;
    tl_used_escr escr;
} tl_sampling;

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
    uint64_t *xescr, *xcccr, *idle; // NBX
    // Derived.
    bool is_stale;
    bool is_running;
    bool has_ranges; // NBX: some counter asks for a range of active threads
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
};

static inline tl_netburst_thread *tl_netburst_thread_of(const tl_regfile *file) { return (tl_netburst_thread *)(uintptr_t)file; }

// msr.c
bool tl_netburst_may_write(const tl_netburst *n, uint32_t thread, uint32_t msr, uint64_t value);
// regs.c
uint64_t tl_netburst_reserved_bits(const tl_netburst *n, const tl_reg_at *at); // of a write
// count.c
void tl_netburst_configure(tl_netburst *n);
void tl_netburst_update_lines(tl_netburst *n);
bool tl_netburst_is_mode(const tl_netburst *n, uint32_t thread_mode, uint8_t active);
// An ESCR detects and tags: some counter that it or its partner can feed runs.
bool tl_netburst_has_power(const tl_netburst *n, tl_escr escr);
// nbx.c
uint64_t tl_nbx_threads_of(const tl_netburst *n, tl_escr escr);  // what its XESCR shows
uint64_t tl_nbx_all_threads(const tl_netburst *n);               // of the core, in both classes
bool tl_nbx_configure(const tl_netburst *n, tl_used_counter *c); // its range; whether it has one
bool tl_nbx_is_in_range(const tl_used_counter *c, uint64_t active);
// Bits 3:0 of an ESCR as bits of an XESCR, and back.
uint64_t tl_nbx_of_flags(uint64_t escr);
uint64_t tl_nbx_flags_of(uint64_t threads);
// CCCR.ACTIVE_THREAD that stands for the bounds of an XCCCR.
uint32_t tl_nbx_mode_of(uint64_t xcccr);
uint64_t tl_nbx_of_mode(uint64_t xcccr, uint32_t mode); // with the bounds of a mode
// pebs.c
bool tl_netburst_samples(const tl_netburst *n, uint32_t counter, const tl_used_escr *escr);
void tl_netburst_look_at_area(tl_netburst *n, uint32_t thread); // software may have emptied it
bool tl_netburst_has_escr(const tl_netburst *n, tl_escr escr);  // count.c
// match.c
bool tl_netburst_matches(const tl_netburst *n, const tl_used_escr *escr, const tl_netburst_occurrence *what, uint8_t active);
// msr.c
void tl_netburst_init(tl_netburst *n, const tl_netburst_settings *settings, uint32_t n_threads, const tl_netburst_host *host,
                      uint64_t *stored);

#endif
