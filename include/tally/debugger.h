// SPDX-License-Identifier: MIT
// The cross-core monitor on a simulated board: a debugger halts one hart through its debug
// registers, reads its registers, memory, caches and TLB, probes its predictors, and lets it go on.
// docs/monitor.md explains functions, states and codes.
//
//   tl_debugger_options_init(&options); options.program = "bare.elf";
//   tl_debugger_new(&options, &monitor, &err);
//   tl_debugger_call(monitor, TL_DEBUGGER_LISTEN_START, NULL, 0, &reply);
//   tl_debugger_wait(monitor, 1000000000, &event);
//   tl_debugger_free(monitor);
#ifndef TALLY_DEBUGGER_H
#define TALLY_DEBUGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>

TL_BEGIN_DECLS

typedef struct tl_debugger tl_debugger;

typedef struct tl_debugger_options {
    uint32_t size;
    const char *machine;                         // name or file; NULL: a53x4
    const char *const *overrides;                // "key=value", ended by NULL; NULL: none
    const char *program;                         // bare ELF; NULL: the kernel
    const char *bios, *kernel, *initrd, *append; // may be NULL
    uint32_t n_harts;                            // on the board; 0: all
    uint32_t target;                             // hart
    uint64_t budget_ns;                          // of one stop; 0: 50 ms
    // host descriptor of the console's output; -1: none
    int console_fd;
    bool may_halt_kernel; // else halts above EL0 are left alone
    bool has_snapshots;   // PROBE saves the board and ROLLBACK puts it back; everything is slower
    // Answer clients at this Unix socket, see tl_debugger_serve; NULL: no socket.
    const char *socket;
} tl_debugger_options;

// Functions of the monitor, with arguments and results as docs/monitor.md has them.
typedef enum tl_debugger_function {
    TL_DEBUGGER_DRV_UNLOAD = 0x01,
    TL_DEBUGGER_LISTEN_START = 0x02,
    TL_DEBUGGER_LISTEN_STOP = 0x03,
    TL_DEBUGGER_ROUND_RESET = 0x04,
    TL_DEBUGGER_LIST_LOAD = 0x05,
    TL_DEBUGGER_BP_CTL = 0x06,
    TL_DEBUGGER_HALT_REQ = 0x07,
    TL_DEBUGGER_RESUME = 0x08,
    TL_DEBUGGER_EXEC = 0x09,
    TL_DEBUGGER_REG_XFER = 0x0a,
    TL_DEBUGGER_MEM_XFER = 0x0b,
    TL_DEBUGGER_UARCH_READ = 0x0c,
    TL_DEBUGGER_PMU_CTL = 0x0d,
    TL_DEBUGGER_PMU_READ = 0x0e,
    TL_DEBUGGER_CACHE_FLUSH = 0x0f,
    TL_DEBUGGER_PROBE = 0x10,
    TL_DEBUGGER_STATUS = 0x11,
    TL_DEBUGGER_PROGRAM_LOAD = 0x12,
    TL_DEBUGGER_UARCH_DUMP = 0x13,
    TL_DEBUGGER_CALIBRATE = 0x14,
    TL_DEBUGGER_ROLLBACK = 0x15,
} tl_debugger_function;

enum {
    TL_DEBUGGER_DONE = 0x30,
    TL_DEBUGGER_TIMEOUT = 0x31,
    TL_DEBUGGER_EXCEPTION = 0x32,
    TL_DEBUGGER_UNKNOWN_VERDICT = 0x35,
    TL_DEBUGGER_INTERNAL = 0x3f, // and a connection that broke
    TL_DEBUGGER_VALUES = 4092,
};

typedef struct tl_debugger_reply {
    uint32_t size;
    uint8_t code, state; // tl_debugger_code_text, tl_debugger_state_name
    uint32_t n_values;
    uint64_t values[TL_DEBUGGER_VALUES];
} tl_debugger_reply;

typedef struct tl_debugger_event {
    uint32_t size;
    // 1 hit, 2 other halt, 3 budget, 4 lost, 5 end of the round, 6 no halt, 7 left alone,
    // 8 an address inside an exclusive sequence is skipped.
    uint64_t kind;
    uint64_t pc, detail;
} tl_debugger_event;

// A finding of a direct read, decoded.
typedef struct tl_debugger_entry {
    uint32_t size;
    enum { TL_DEBUGGER_L1D, TL_DEBUGGER_L1I, TL_DEBUGGER_TLB, TL_DEBUGGER_WALK, TL_DEBUGGER_IPA } kind;
    uint32_t way, index;
    char state; // M O E S; V of instructions and translations; I: nothing is there
    uint64_t vaddr, paddr, bytes;
    uint32_t asid;
    bool is_global;
} tl_debugger_entry;

TL_API void tl_debugger_options_init(tl_debugger_options *ret_options);
TL_MUST_CHECK TL_API tl_status tl_debugger_new(const tl_debugger_options *options, tl_debugger **ret_monitor, tl_error *err);
// A client of somebody's tl_debugger_serve. Symbols and simulated times are not known there.
// Waiting counts the host's time. TL_ENOENT: nobody listens. TL_EINVAL: the path is too long.
TL_MUST_CHECK TL_API tl_status tl_debugger_connect(const char *path, tl_debugger **ret_monitor, tl_error *err);
// Serves clients at options.socket until one unloads the driver, wants_stop says so, the software
// and its clients have gone, or so many seconds are over. Simulated time follows the host's clock
// while the monitor listens; else the board stands still. Messages are packets of docs/monitor.md.
TL_API void tl_debugger_serve(tl_debugger *monitor, uint32_t seconds, bool (*wants_stop)(void *ctx), void *ctx);
TL_API void tl_debugger_free(tl_debugger *monitor); // NULL is fine
// Runs a function and waits for its reply. Harts advance meanwhile. A refusal is a reply.
TL_API void tl_debugger_call(tl_debugger *monitor, tl_debugger_function function, const uint64_t *args, uint32_t n,
                             tl_debugger_reply *ret_reply);
// Waits for an event, at most for this simulated time. false: none has come.
TL_API bool tl_debugger_wait(tl_debugger *monitor, uint64_t limit_ns, tl_debugger_event *ret_event);
// Waits for the end of the software. true: *ret_status is its status.
TL_API bool tl_debugger_finish(tl_debugger *monitor, uint64_t limit_ns, int32_t *ret_status);
// Decodes the next entry of TL_DEBUGGER_UARCH_DUMP. false: there is no more.
TL_API bool tl_debugger_next_entry(tl_debugger *monitor, tl_debugger_entry *ret_entry);
// -- Trace: a stop at every instruction.
enum { TL_DEBUGGER_REGISTERS = 34, TL_DEBUGGER_COUNTS = 6, TL_DEBUGGER_CHANGES = 64 };
typedef struct tl_debugger_change { // of a place in L1D, L1I or TLB
    tl_debugger_entry before, after;
} tl_debugger_change;
typedef struct tl_debugger_step {
    uint32_t size;
    uint32_t word; // the instruction
    // X0 to X30, SP, PC, PSTATE
    uint64_t before[TL_DEBUGGER_REGISTERS], after[TL_DEBUGGER_REGISTERS];
    bool has_excepted; // and its handler has run
    bool is_load, is_store;
    uint32_t n_bytes, n_values; // 0 values: those of vector registers
    uint64_t address, values[2];
    uint64_t counts[TL_DEBUGGER_COUNTS + 1]; // cycles at EL0, then tl_debugger_count_name
    uint32_t n_changes;                      // the first TL_DEBUGGER_CHANGES are here
    tl_debugger_change changes[TL_DEBUGGER_CHANGES];
} tl_debugger_step;
// The target is halted: programs its counters and reads all tags. Both return a reply's code.
TL_API uint8_t tl_debugger_trace_begin(tl_debugger *monitor);
// Executes one instruction, whose word is tl_debugger_code's. Reads no memory of the target.
TL_API uint8_t tl_debugger_trace_step(tl_debugger *monitor, uint32_t word, tl_debugger_step *ret_step);
TL_API const char *tl_debugger_count_name(uint32_t index); // "INST_RETIRED", of 0 to 5
// A word of code: from the program's file, else from the target's memory. false: neither has it.
TL_API bool tl_debugger_code(tl_debugger *monitor, uint64_t address, uint32_t *ret_word);

// Draws entries of direct reads as SVG: sets, ways and states.
TL_MUST_CHECK TL_API tl_status tl_debugger_write_map(const tl_debugger_entry *entries, uint32_t n, FILE *stream, tl_error *err);
// The address of a function or datum of program, kernel or firmware.
TL_MUST_CHECK TL_API tl_status tl_debugger_symbol(const tl_debugger *monitor, const char *name, uint64_t *ret_address, tl_error *err);
// The function that holds an address; NULL: none that is known.
TL_API const char *tl_debugger_symbol_at(const tl_debugger *monitor, uint64_t address, uint64_t *ret_within);
TL_API void tl_debugger_disassemble(uint32_t word, uint64_t pc, char *buffer, size_t size);
TL_API uint64_t tl_debugger_now_ns(const tl_debugger *monitor);
TL_API uint64_t tl_debugger_n_accesses(const tl_debugger *monitor); // of registers
TL_API const char *tl_debugger_code_text(uint8_t code);             // one sentence
TL_API const char *tl_debugger_state_name(uint8_t state);

// -- How often inferences are right.
enum { TL_DEBUGGER_ALGORITHMS = 5, TL_DEBUGGER_REASONS = 13 };

typedef struct tl_debugger_trial_options {
    uint32_t size;
    const char *program;          // guest/bare/a64/monitored.c, built
    const char *machine;          // NULL: a53x4
    const char *const *overrides; // ended by NULL; NULL: none
    uint32_t n_trials;            // of each algorithm
    uint64_t seed;
    bool has_all_events; // BR_RETURN_RETIRED and INST_SPEC, which the Cortex-A53 lacks
    // Hart 0 interrupts the target, drops pages from its TLBs, code from its L1I and lines from L2.
    // INST_SPEC counts wrong paths of 0 to 8 instructions.
    bool is_noisy;
    // both L1 prefetch the next line, and L2 is inclusive
    bool is_prefetching;
    void (*progress)(void *ctx, uint32_t n_done, uint32_t n_all); // NULL: nobody asks
    void *ctx;
} tl_debugger_trial_options;

typedef struct tl_debugger_matrix {
    uint64_t corrected[2][3];              // [absent, present][NO, YES, UNKNOWN]
    uint64_t published[2][2];              // [absent, present][NO, YES]
    uint64_t reasons[TL_DEBUGGER_REASONS]; // of UNKNOWN verdicts
    // The truth changed between the question and the instant when the window opened. The latter
    // counts.
    uint64_t n_changed;
} tl_debugger_matrix;

typedef struct tl_debugger_trials {
    uint32_t size;
    bool has_all_events, is_noisy, is_prefetching, is_calibrated;
    uint32_t n_trials;
    // tl_debugger_algorithm_name
    tl_debugger_matrix matrices[TL_DEBUGGER_ALGORITHMS];
    // of the calibration
    uint64_t residue_cycles, most_hit_cycles, least_miss_cycles, threshold_cycles;
    // of all trials, simulated
    uint64_t time_ns, n_accesses;
    // accesses that the bus refused
    uint64_t n_errors;
    uint64_t n_interrupts; // of the target
} tl_debugger_trials;

TL_API void tl_debugger_trial_options_init(tl_debugger_trial_options *ret_options);
// Asks random questions of all algorithms, and compares the verdicts with the machine's contents.
TL_MUST_CHECK TL_API tl_status tl_debugger_measure(const tl_debugger_trial_options *options, tl_debugger_trials *ret_trials, tl_error *err);
typedef enum tl_debugger_format { TL_DEBUGGER_TEXT, TL_DEBUGGER_JSON, TL_DEBUGGER_SVG } tl_debugger_format;
// JSON: an object a line for each of the `n` sets of trials, schema tally.xcm/1. SVG: one picture.
TL_MUST_CHECK TL_API tl_status tl_debugger_write_trials(const tl_debugger_trials *sets, uint32_t n, tl_debugger_format format, FILE *stream,
                                                        tl_error *err);
TL_API const char *tl_debugger_algorithm_name(uint32_t algorithm); // "btb", of 0 to 4
TL_API const char *tl_debugger_reason_name(uint32_t bit);          // "window", of 0 to 12

TL_END_DECLS

#endif
