// SPDX-License-Identifier: MIT
// One program on one machine, watched by one design of counters after another: those of
// tl_compare_design_at. A design is watched by a reader, RISC-V instructions that the machine
// executes; what the reader costs is what it did. The truth beside each value is the machine's own
// count in the instant in which the counter was sampled.
//
//   tl_compare_options_init(&options);
//   options.run.program = "./prog";
//   tl_compare(&options, &comparison, &err)      runs the program once without a reader, then once for each way to watch it and phase
//   tl_comparison_facts(comparison, &facts)      the run; then rows by index: what is measured of each design, event, access...
//   tl_comparison_write(comparison, TL_COMPARE_TEXT, stdout, &err)
//   tl_comparison_free(comparison)
//
// The same options give the same numbers, to the last digit. Every struct begins with its size, set
// by the caller, so that it can grow. Text is owned by the comparison. An index out of range gives
// a row of zeroes with empty text.
#ifndef TALLY_COMPARE_H
#define TALLY_COMPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>
#include <tally/run.h>

TL_BEGIN_DECLS

// ---- Designs that can be compared. Rows name them by index

typedef struct tl_compare_design {
    uint32_t size;
    const char *name;    // one word
    const char *title;   // "A block of counters on the bus"
    const char *meaning; // one sentence: where the counters are, and how they are read
} tl_compare_design;

TL_API uint32_t tl_compare_n_designs(void);
TL_API void tl_compare_design_at(uint32_t index, tl_compare_design *ret_design);

// ---- What to compare

typedef struct tl_compare_options {
    uint32_t size; // set by tl_compare_options_init
    // kind must be TL_RUN_USER. Used are program, argv, env, sysroot, root, allow_network, std_fd,
    // warn, machine, overrides and engine; max_insns: each run ends when the program has retired so
    // many, the reader's not counted; 0: 200 million. machine NULL: "lowrisc2". What the machine
    // lacks of a design is added to it. The program runs several times, each time with these
    // descriptors and files.
    tl_run_options run;
    const char *designs; // comma-separated names of tl_compare_design_at; NULL: all
    const char *events;  // comma-separated names of tl_compare_event_at; NULL: sixteen
    // From one look of the reader to the next, of machine time; 0: 100000, less for short programs.
    // It grows where a look takes more than half.
    uint64_t interval_cycles;
    // Runs of a design whose events take turns on its counters. Each begins its turns at another
    // event, spread over all of them. 0: 8.
    uint32_t n_phases;
    bool with_sweeps; // also the rows of tl_comparison_fabric and tl_comparison_spread, which take longest
    // Called with run.ctx when a part begins, such as "sweep over fabrics". NULL: nobody is told.
    void (*progress)(void *ctx, const char *step);
} tl_compare_options;

typedef struct tl_comparison tl_comparison;

TL_API void tl_compare_options_init(tl_compare_options *ret_options);

// TL_EINVAL, TL_ENOENT: the options are wrong, and the sentence says how; others: the program or
// the host failed.
TL_MUST_CHECK TL_API tl_status tl_compare(const tl_compare_options *options, tl_comparison **ret_comparison, tl_error *err);
TL_API void tl_comparison_free(tl_comparison *comparison); // NULL is fine

// ---- Events that can be asked for

typedef struct tl_compare_event {
    uint32_t size;
    const char *name;    // "branch_direction_misprediction", "l2_read"
    const char *meaning; // one sentence
    bool is_default;
    uint32_t designs; // bit n: the design of index n counts it
} tl_compare_event;

TL_API uint32_t tl_compare_n_events(void);
TL_API void tl_compare_event_at(uint32_t index, tl_compare_event *ret_event);

// ---- The run

typedef struct tl_compare_facts {
    uint32_t size;
    const char *program, *machine, *engine; // program: last part of the path
    const char *digest;                     // of the program, "xxh64:...", or NULL
    const char *added;                      // settings that were added to the machine, "l2.counters=6, os.hpc=granted", or ""
    uint32_t n_harts, n_slices;
    uint64_t clock_hz;
    uint64_t instructions, cycles; // of the run without a reader: of the program and its modeled kernel
    tl_end_reason reason;          // how it ended: TL_END_MAX_INSNS, or by itself
    int status, signal;            // of TL_END_EXITED, TL_END_KILLED
    uint64_t max_insns, interval_cycles;
    uint32_t n_phases; // with which rows of designs that share counters out were made
    uint32_t n_events; // asked for
    // interval_cycles as asked for or chosen, and the look that took more than half of it and made
    // it grow; "" and 0: none did.
    uint64_t wanted_interval_cycles;
    const char *outgrown_by_design;
    uint64_t outgrown_by_cycles;
} tl_compare_facts;

TL_API void tl_comparison_facts(const tl_comparison *comparison, tl_compare_facts *ret_facts);

// ---- Each design, in the order asked for

typedef struct tl_compare_events_added { // all on the watched hart but the L2's, which are of all slices
    uint64_t instructions, cycles, l1d_reads, l1d_writes, l1d_misses, l1i_misses, l2_reads, uncached;
} tl_compare_events_added;

typedef struct tl_compare_design_row {
    uint32_t size;
    uint32_t design;
    const char *name, *title; // as tl_compare_design_at tells them
    // How many events are counted at once, without a gap, on this machine; and of the events asked
    // for: counted at all, counted without a gap.
    uint32_t events_at_once, events_asked, events_counted, events_always;
    // Registers that a reader has to know: CSRs (those of one hart) and bytes of address space,
    // from the design's register map.
    uint32_t n_csrs;
    uint64_t address_bytes;
    uint32_t csrs_per_event, address_bytes_per_event; // what one more event needs
    // The watched run. A design whose events take turns has one for each phase: this is phase 0.
    uint64_t n_looks;                      // times the reader ran
    uint64_t look_instructions_x1000;      // of a look, the mean, in thousandths
    uint64_t look_cycles_x1000;            // the same, entry and return included
    uint64_t first_look_cycles;            // nothing of the reader in the caches yet
    tl_compare_events_added by_reader;     // all looks together, while the reader ran
    uint64_t run_instructions, run_cycles; // of the whole run, reader included
    double slowdown;                       // run_cycles / cycles without a reader - 1
    // Error over the events that it counts and that happen at all: |value - truth| / truth.
    double mean_error, largest_error;
    uint32_t n_with_error; // events whose value is not the truth
    // Counts of what the hostile device on the bus learned during the run.
    uint64_t values_watched;  // values that it saw go by
    uint64_t values_read;     // values that it read by itself, and did not know yet
    uint64_t selects_watched; // it saw what was to be counted
    // The design tells its hardware. Else events_at_once, the registers and what one more event
    // needs are not known and 0, and there is no tl_compare_state_row.
    bool is_accounted;
} tl_compare_design_row;

TL_API uint32_t tl_comparison_n_designs(const tl_comparison *comparison);
TL_API void tl_comparison_design(const tl_comparison *comparison, uint32_t index, tl_compare_design_row *ret_row);

// ---- Each event with each design: rows of one event follow each other

typedef struct tl_compare_value_row {
    uint32_t size;
    uint32_t design;
    const char *event;
    bool has_value;
    const char *reason;   // why there is no value, else ""
    uint64_t value;       // what the reader found; scaled by the time it was counted, where it shared a counter
    uint64_t truth;       // what the machine had counted in that instant, in that run: the reader's own events are in both
    uint64_t undisturbed; // the same count at the end of the run without a reader
    double error;         // (value - truth) / truth; 0 if both are 0, 1 if only the truth is
    double time_counted;  // part of the time in which a counter counted it: 1 always
    // Over the phases, of error; all equal where there is one phase only.
    uint32_t n_phases;
    double least, lower_quartile, median, upper_quartile, most, mean_absolute;
} tl_compare_value_row;

TL_API uint32_t tl_comparison_n_values(const tl_comparison *comparison);
TL_API void tl_comparison_value(const tl_comparison *comparison, uint32_t index, tl_compare_value_row *ret_row);

// ---- What it takes to read n counters, alone on a quiet machine: the values end in registers

typedef struct tl_compare_access_row {
    uint32_t size;
    uint32_t design;
    const char *method;           // "csrr", "load", "empty-poll", "trigger-poll", "burst-read"
    const char *mode;             // "user": what a program can do by itself
    uint32_t n_asked, n_counters; // 1, 8, 64; as many of them as there are
    // First: nothing in the caches and TLBs, and the system calls that let the process in. Next:
    // everything is, and it has been let in.
    uint64_t first_instructions, first_cycles, next_instructions, next_cycles;
    uint64_t l1d_accesses, l1d_misses, dtlb_accesses, uncached, l1i_misses; // of the next
    uint64_t first_setup_cycles;       // part of first_cycles: the system calls, which kernel and firmware execute
    uint64_t first_setup_instructions; // part of first_instructions
} tl_compare_access_row;

TL_API uint32_t tl_comparison_n_accesses(const tl_comparison *comparison);
TL_API void tl_comparison_access(const tl_comparison *comparison, uint32_t index, tl_compare_access_row *ret_row);

// ---- Who can read: every row was tried by executing the read

typedef enum tl_compare_outcome {
    TL_COMPARE_VALUE,        // the value of the counter
    TL_COMPARE_NOTHING,      // no trap, but no value either: 0, or what was there before
    TL_COMPARE_ILLEGAL,      // illegal instruction
    TL_COMPARE_PAGE_FAULT,   // load page fault
    TL_COMPARE_ACCESS_FAULT, // load access fault
    TL_COMPARE_OTHERS_VALUE, // a value that another context had asked for
} tl_compare_outcome;
TL_API const char *tl_compare_outcome_name(tl_compare_outcome outcome); // "value", "illegal instruction"

typedef struct tl_compare_privilege_row {
    uint32_t size;
    uint32_t design;
    const char *mode;  // "M", "S", "U", "another process"
    const char *grant; // the state of what permits: "mcounteren=0", "useren=1", "page mapped for U", "PMP denies"
    const char *what;  // what was tried: "csrr hpmcounter3"
    tl_compare_outcome outcome;
} tl_compare_privilege_row;

TL_API uint32_t tl_comparison_n_privileges(const tl_comparison *comparison);
TL_API void tl_comparison_privilege(const tl_comparison *comparison, uint32_t index, tl_compare_privilege_row *ret_row);

// ---- Hardware: state and wires of each design, as built and with as many counters as the largest design

typedef struct tl_compare_state_row {
    uint32_t size;
    uint32_t design;
    uint32_t n_counters;               // that can be read
    uint64_t state_bits, counter_bits; // flip-flops in all; those of the counters themselves
    uint64_t wires;                    // from events and between the parts
    uint64_t n_csrs, address_bytes;
    // true: the design as this machine has it. false: with as many counters as the largest design.
    bool is_as_built;
} tl_compare_state_row;

TL_API uint32_t tl_comparison_n_states(const tl_comparison *comparison);
TL_API void tl_comparison_state(const tl_comparison *comparison, uint32_t index, tl_compare_state_row *ret_row);

// ---- Sweep over fabrics of different speed: three ways to read counters, by several harts at once

typedef struct tl_compare_fabric_row {
    uint32_t size;
    uint32_t beat_cycles, n_harts, n_counters;                       // harts that read the same manager all the time
    uint64_t empty_poll_x1000, trigger_poll_x1000, burst_read_x1000; // cycles of a read of all counters, mean, in thousandths
    uint64_t max_wait_cycles, wait_bound_cycles;                     // the longest wait for a grant; what it may be at most
    const char *winner;                                              // the quickest; "even" when the two first are within 1 %
} tl_compare_fabric_row;

TL_API uint32_t tl_comparison_n_fabrics(const tl_comparison *comparison);
TL_API void tl_comparison_fabric(const tl_comparison *comparison, uint32_t index, tl_compare_fabric_row *ret_row);

// ---- Sweep: error against the number of events, over the first 50 million instructions of the program at most

typedef struct tl_compare_spread_row {
    uint32_t size;
    uint32_t design;
    uint32_t n_events, n_counted;     // watched; of them, those that this design can count
    double mean_error, largest_error; // over the events that happen, and over phases
    uint64_t interval_cycles;         // as in the facts, unless a look at so many events took more than half of it
} tl_compare_spread_row;

TL_API uint32_t tl_comparison_n_spreads(const tl_comparison *comparison);
TL_API void tl_comparison_spread(const tl_comparison *comparison, uint32_t index, tl_compare_spread_row *ret_row);

// ---- The whole as text

typedef enum tl_compare_format {
    TL_COMPARE_TEXT, // tables for people
    TL_COMPARE_JSON, // one object a line, schema "tally.compare/1" (docs/schema/compare-1.json)
    TL_COMPARE_CSV,  // long form: section,design,subject,quantity,value
    TL_COMPARE_SVG,  // a picture: error against the number of events, cycles of a read against the speed of the fabric. Needs with_sweeps
} tl_compare_format;

// TL_EINVAL: a picture of a comparison without sweeps; TL_EIO.
TL_MUST_CHECK TL_API tl_status tl_comparison_write(const tl_comparison *comparison, tl_compare_format format, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
