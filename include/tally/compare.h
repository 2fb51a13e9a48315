// SPDX-License-Identifier: MIT
// tl_compare runs one program on one machine with one PMU design after another
// (tl_compare_design_at). A reader watches each design. The machine executes the reader's RISC-V
// instructions, and their cost is measured. The truth beside each value is the machine's own count
// when the counter was sampled.
//
//   tl_compare_options_init(&options);
//   options.run.program = "./prog";
//   tl_compare(&options, &comparison, &err)      runs the program
//   tl_comparison_facts(comparison, &facts)      rows follow by index: designs, events, access...
//   tl_comparison_write(comparison, TL_COMPARE_TEXT, stdout, &err)
//   tl_comparison_free(comparison)
//
// The program runs without a reader first, then once for each design and phase.
//
// Equal options give equal numbers. The caller sets the size that begins every struct, because
// structs can grow. The comparison owns all text. An index out of range gives a row of zeroes with
// empty text.
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
    // run.kind must be TL_RUN_USER. The comparison uses program, argv, env, sysroot, root,
    // allow_network, std_fd, warn, machine, overrides and engine. max_insns ends each run after so
    // many instructions of the program; the reader's do not count. 0: 200 million. machine NULL:
    // "lowrisc2". The comparison adds missing parts of a design to the machine. The program runs
    // several times. Each run uses these descriptors and files.
    tl_run_options run;
    const char *designs; // comma-separated names of tl_compare_design_at; NULL: all
    const char *events;  // comma-separated tl_compare_event_at names; NULL: the 16 default events
    // Machine time between two readings. 0: 100000, less for short programs. The interval grows if
    // a reading takes more than half of it.
    uint64_t interval_cycles;
    // Number of runs of a design whose events share counters. Each run starts the rotation at
    // another event; the starts are spread evenly. 0: 8.
    uint32_t n_phases;
    bool with_sweeps; // also makes tl_comparison_fabric and tl_comparison_spread, the slowest parts
    // Called with run.ctx when a part begins, such as "sweep over fabrics". NULL: no call.
    void (*progress)(void *ctx, const char *step);
} tl_compare_options;

typedef struct tl_comparison tl_comparison;

TL_API void tl_compare_options_init(tl_compare_options *ret_options);

// TL_EINVAL, TL_ENOENT: the options are wrong, and the error says how. Other codes: the program or
// the host failed.
TL_MUST_CHECK TL_API tl_status tl_compare(const tl_compare_options *options, tl_comparison **ret_comparison, tl_error *err);
TL_API void tl_comparison_free(tl_comparison *comparison); // NULL is fine

// ---- Events that a comparison accepts

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
    // Settings added to the machine, "l2.counters=6, os.hpc=granted", or "".
    const char *added;
    uint32_t n_harts, n_slices;
    uint64_t clock_hz;
    uint64_t instructions, cycles; // of the run without a reader, modeled kernel included
    tl_end_reason reason;          // TL_END_MAX_INSNS, or the program's own end
    int status, signal;            // with TL_END_EXITED, TL_END_KILLED
    uint64_t max_insns, interval_cycles;
    uint32_t n_phases; // number of phases of the designs whose events share counters
    uint32_t n_events; // number of events requested
    // wanted_interval_cycles is the requested or chosen interval. The design and cycles below name
    // the reading that took more than half of it. "" and 0: no reading did.
    uint64_t wanted_interval_cycles;
    const char *outgrown_by_design;
    uint64_t outgrown_by_cycles;
} tl_compare_facts;

TL_API void tl_comparison_facts(const tl_comparison *comparison, tl_compare_facts *ret_facts);

// ---- Each design, in the order of tl_compare_options.designs

typedef struct tl_compare_events_added { // counts of the watched hart; L2 counts cover all slices
    uint64_t instructions, cycles, l1d_reads, l1d_writes, l1d_misses, l1i_misses, l2_reads, uncached;
} tl_compare_events_added;

typedef struct tl_compare_design_row {
    uint32_t size;
    uint32_t design;
    const char *name, *title; // as in tl_compare_design_at
    // events_at_once: events that this machine counts together without a gap. Of the requested
    // events, events_counted are counted and events_always are counted without a gap.
    uint32_t events_at_once, events_asked, events_counted, events_always;
    // Registers that a reader must know, from the design's register map: CSRs of one hart, and
    // bytes of address space.
    uint32_t n_csrs;
    uint64_t address_bytes;
    uint32_t csrs_per_event, address_bytes_per_event; // cost of one more event
    // The watched run. A design whose events share counters has one run per phase. This one is
    // phase 0.
    uint64_t n_looks;                      // number of readings
    uint64_t look_instructions_x1000;      // mean instructions of a reading, in thousandths
    uint64_t look_cycles_x1000;            // mean, in thousandths, with entry and return
    uint64_t first_look_cycles;            // the first reading finds cold caches
    tl_compare_events_added by_reader;     // all readings together
    uint64_t run_instructions, run_cycles; // of the whole run, reader included
    double slowdown;                       // run_cycles / cycles without a reader - 1
    // Error over the counted events that happen: |value - truth| / truth.
    double mean_error, largest_error;
    uint32_t n_with_error; // events whose value differs from the truth
    // Totals of the hostile device on the bus during the run.
    uint64_t values_watched;  // values that the device saw on the bus
    uint64_t values_read;     // values that the device read and did not know yet
    uint64_t selects_watched; // times that the device saw a selector written
    // True if the design describes hardware. Otherwise events_at_once and the register fields are
    // unknown and 0, and no tl_compare_state_row exists.
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
    const char *reason; // why there is no value, else ""
    // The reader's value, scaled by the counted time if events share a counter.
    uint64_t value;
    // The machine's count at that instant of that run. Both numbers include the reader's own
    // events.
    uint64_t truth;
    uint64_t undisturbed; // count of the machine at the end of the run without a reader
    double error;         // (value - truth) / truth; 0 if both are 0, 1 if only truth is 0
    double time_counted;  // part of the time in which a counter counted the event; 1: always
    // Over the phases, of error; all equal where there is one phase only.
    uint32_t n_phases;
    double least, lower_quartile, median, upper_quartile, most, mean_absolute;
} tl_compare_value_row;

TL_API uint32_t tl_comparison_n_values(const tl_comparison *comparison);
TL_API void tl_comparison_value(const tl_comparison *comparison, uint32_t index, tl_compare_value_row *ret_row);

// ---- Cost of reading n counters on an idle machine; the values end in registers

typedef struct tl_compare_access_row {
    uint32_t size;
    uint32_t design;
    const char *method;           // "csrr", "load", "empty-poll", "trigger-poll", "burst-read"
    const char *mode;             // "user": a program can use this method alone
    uint32_t n_asked, n_counters; // 1, 8, 64; n_counters is limited by the design
    // First: caches and TLBs are cold, and system calls grant the process access. Next: caches and
    // TLBs are warm, and access is granted.
    uint64_t first_instructions, first_cycles, next_instructions, next_cycles;
    uint64_t l1d_accesses, l1d_misses, dtlb_accesses, uncached, l1i_misses; // of the next read
    // The part of first_cycles and first_instructions in system calls, kernel and firmware.
    uint64_t first_setup_cycles, first_setup_instructions;
} tl_compare_access_row;

TL_API uint32_t tl_comparison_n_accesses(const tl_comparison *comparison);
TL_API void tl_comparison_access(const tl_comparison *comparison, uint32_t index, tl_compare_access_row *ret_row);

// ---- Access rights: the machine executed the read of every row

typedef enum tl_compare_outcome {
    TL_COMPARE_VALUE,        // the value of the counter
    TL_COMPARE_NOTHING,      // no trap and no value: 0, or the old content
    TL_COMPARE_ILLEGAL,      // illegal instruction
    TL_COMPARE_PAGE_FAULT,   // load page fault
    TL_COMPARE_ACCESS_FAULT, // load access fault
    TL_COMPARE_OTHERS_VALUE, // a value that another context requested
} tl_compare_outcome;
// Returns "value", "illegal instruction" and so on.
TL_API const char *tl_compare_outcome_name(tl_compare_outcome outcome);

typedef struct tl_compare_privilege_row {
    uint32_t size;
    uint32_t design;
    const char *mode; // "M", "S", "U", "another process"
    // State of the permission: "mcounteren=0", "useren=1", "page mapped for U", "PMP denies".
    const char *grant;
    const char *what; // the read, "csrr hpmcounter3"
    tl_compare_outcome outcome;
} tl_compare_privilege_row;

TL_API uint32_t tl_comparison_n_privileges(const tl_comparison *comparison);
TL_API void tl_comparison_privilege(const tl_comparison *comparison, uint32_t index, tl_compare_privilege_row *ret_row);

// ---- Hardware: state and wires of each design, as built and with as many counters as the largest
// design

typedef struct tl_compare_state_row {
    uint32_t size;
    uint32_t design;
    uint32_t n_counters;               // readable counters
    uint64_t state_bits, counter_bits; // all flip-flops; those of the counters alone
    uint64_t wires;                    // from events and between the parts
    uint64_t n_csrs, address_bytes;
    // true: the design as this machine has it. false: the design with as many counters as the
    // largest.
    bool is_as_built;
} tl_compare_state_row;

TL_API uint32_t tl_comparison_n_states(const tl_comparison *comparison);
TL_API void tl_comparison_state(const tl_comparison *comparison, uint32_t index, tl_compare_state_row *ret_row);

// ---- Sweep over fabrics of different speed: three ways to read counters, by several harts at once

typedef struct tl_compare_fabric_row {
    uint32_t size;
    // n_harts read the same manager all the time.
    uint32_t beat_cycles, n_harts, n_counters;
    // Mean cycles of reading all counters, in thousandths.
    uint64_t empty_poll_x1000, trigger_poll_x1000, burst_read_x1000;
    // The longest wait for a grant, and the upper bound of that wait.
    uint64_t max_wait_cycles, wait_bound_cycles;
    // The quickest way; "even" if the first two differ by at most 1 %.
    const char *winner;
} tl_compare_fabric_row;

TL_API uint32_t tl_comparison_n_fabrics(const tl_comparison *comparison);
TL_API void tl_comparison_fabric(const tl_comparison *comparison, uint32_t index, tl_compare_fabric_row *ret_row);

// ---- Sweep: error against the number of events, over at most 50 million instructions of the
// program

typedef struct tl_compare_spread_row {
    uint32_t size;
    uint32_t design;
    uint32_t n_events, n_counted;     // events watched; events of them that this design can count
    double mean_error, largest_error; // over the events that happen, and over phases
    // The interval of the facts, or longer if a reading took more than half of it.
    uint64_t interval_cycles;
} tl_compare_spread_row;

TL_API uint32_t tl_comparison_n_spreads(const tl_comparison *comparison);
TL_API void tl_comparison_spread(const tl_comparison *comparison, uint32_t index, tl_compare_spread_row *ret_row);

// ---- The comparison as text

typedef enum tl_compare_format {
    TL_COMPARE_TEXT, // tables for readers
    TL_COMPARE_JSON, // one object a line, schema "tally.compare/1" (docs/schema/compare-1.json)
    TL_COMPARE_CSV,  // long form: section,design,subject,quantity,value
    TL_COMPARE_SVG,  // a picture: error by events, read cycles by fabric speed. Needs with_sweeps
} tl_compare_format;

// TL_EINVAL: an SVG picture of a comparison without sweeps. TL_EIO: the stream failed.
TL_MUST_CHECK TL_API tl_status tl_comparison_write(const tl_comparison *comparison, tl_compare_format format, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
