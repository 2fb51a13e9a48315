// SPDX-License-Identifier: MIT
// Running RISC-V software on a simulated machine: a Linux program, a bare-metal program, or
// firmware and a kernel.
//
//   tl_run_options options;
//   tl_run_options_init(&options);
//   options.program = "./prog";
//   tl_run_new(&options, &run, &err)          checks machine, events, metrics: nothing of the program is touched
//   tl_run_load(run, &err)                    reads the program into the machine
//   tl_run_advance(run, n, &state, &err)      until state is TL_RUN_ENDED
//   tl_run_result(run, &result, &err)         the counts so far, at any point after tl_run_load (result.h)
//   tl_run_free(run)
//
// Two runs share nothing and may live in different threads; one run belongs to one thread at a
// time. The same options give the same counts wherever and whenever they are run.
#ifndef TALLY_RUN_H
#define TALLY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <tally/error.h>
#include <tally/result.h>

TL_BEGIN_DECLS

typedef enum tl_engine {
    TL_ENGINE_FASTEST,                  // translate where the host can, else interp
    TL_ENGINE_TRANSLATE,                // x86-64 code made of the program's; TL_EINVAL on other hosts
    TL_ENGINE_INTERP,                   // decoded stretches of code; on every host
    TL_ENGINE_STEP,                     // one instruction at a time: the reference. All count the same
    TL_ENGINE_BLOCK = TL_ENGINE_INTERP, // its first name
} tl_engine;

enum { TL_LEAST_CODE_CACHE_BYTES = 192 << 10, TL_MOST_CODE_CACHE_BYTES = 1 << 30 };
enum { TL_USUAL_TRANSLATE_AFTER_RUNS = 64 };

typedef enum tl_interval {
    TL_INTERVAL_NONE,
    TL_INTERVAL_INSTRUCTIONS, // retired, over all harts
    TL_INTERVAL_CYCLES,       // of machine time
    TL_INTERVAL_NS,           // of guest time
} tl_interval;

typedef enum tl_run_kind {
    TL_RUN_USER, // a Linux program; the kernel under it is modeled
    TL_RUN_BARE, // a program in machine mode on a board, alone
    TL_RUN_BOOT, // firmware and a kernel on a board
} tl_run_kind;

typedef struct tl_region {
    const char *start, *stop; // as tl_run_options.roi_start and roi_stop
} tl_region;

enum { TL_MAX_REGIONS = 64 };

typedef enum tl_host_symbols { // for Linux perf, which profiles the host
    TL_HOST_SYMBOLS_NONE,
    TL_HOST_SYMBOLS_MAP,     // /tmp/perf-PID.map: a name for each piece of translated code
    TL_HOST_SYMBOLS_JITDUMP, // jit-PID.dump in the current folder: names, the code itself and, as line numbers, guest addresses
} tl_host_symbols;

typedef struct tl_run_options {
    uint32_t size; // set by tl_run_options_init

    // The program. Strings are copied by tl_run_new.
    const char *program;     // path of a RISC-V executable (of `kind`, below); it is not looked up in PATH
    const char *const *argv; // what the program sees, NULL-terminated; NULL: "./" and the last part of the path, alone
    const char *const *env;  // "NAME=VALUE", NULL-terminated; NULL: empty. The caller's environment never reaches the program
    const char *sysroot;     // where the dynamic loader and libraries are looked up; NULL: the Debian cross packages' place
    const char *root;        // NULL: the program may touch what the calling user may; else only what is under this folder
    bool allow_network;      // internet sockets; off by default
    int std_fd[3];           // descriptors behind the program's 0, 1, 2; not closed. Default 0, 1, 2. TL_RUN_BARE, TL_RUN_BOOT: 0 and 1
                             // are behind the serial port, -1: nothing
    // Called with one sentence for each thing worth knowing, such as the first use of an
    // unsupported system call. May be NULL.
    void (*warn)(void *ctx, const char *sentence);
    // Asked every few milliseconds of the host's time, within long system calls of the program,
    // before it waits for the host, for input say, and when a signal of the host interrupted that:
    // true makes tl_run_advance return with TL_RUN_GOING, and a call under way may have done less
    // than it was asked to. Safe to leave NULL when no signal handler is installed.
    bool (*wants_stop)(void *ctx);
    void *ctx; // of both

    // The machine.
    const char *machine;          // a name that tl_list_new(TL_LIST_MACHINES) knows, or the path of a description; NULL: "rocket"
    const char *const *overrides; // "key=value" in the words of the description, NULL-terminated, applied in order; NULL: none
    tl_engine engine;

    // What the result shows. The machine counts everything in any case.
    const char *events;  // comma-separated aliases, signal paths and globs; NULL: every event alias and every signal
    const char *metrics; // comma-separated metrics, metric groups and globs; NULL with events NULL: the default group
    bool per_hart;       // one count for each hart, besides their sum
    bool per_unit;       // one count for each unit, besides their sum

    // Intervals: tl_run_advance stops at the end of each; tl_run_interval gives its counts.
    tl_interval interval;
    uint64_t interval_length; // instructions, cycles or ns, as `interval` says; at least 1

    // Region of interest: only what happens inside is counted, all visits summed. A visit begins
    // when any thread reaches `roi_start`, a function or a number (0x...). It ends when `roi_stop`
    // is reached or, with roi_stop NULL, when that call of roi_start returns. Functions are those
    // of the program and of its libraries, also of those it loads later: symbols, or names of C++
    // and Rust with or without parameters, or the beginning of one name. NULL: count everything.
    const char *roi_start, *roi_stop;

    uint64_t max_insns; // end the run after so many retired instructions over all harts, exactly; 0: no limit

    // What kind of software runs. TL_RUN_BARE: `program` is an ELF file linked to an address in
    // RAM, entered in machine mode on every hart with the hart's number in a0 and the device tree
    // in a1. argv, env, sysroot, root and allow_network concern TL_RUN_USER only.
    tl_run_kind kind; // default TL_RUN_USER
    // TL_RUN_BOOT; paths, `program` is not used.
    const char *bios;      // firmware, ELF or raw, at the start of RAM; NULL: OpenSBI (fw_jump) where Debian installs it
    const char *kernel;    // Image or ELF at RAM + 2 MiB; NULL, with `bios`: the firmware alone, without initrd and append
    const char *initrd;    // or NULL
    const char *append;    // command line of the kernel, or NULL
    const char *disk;      // raw image behind a virtio block device, or NULL; TL_RUN_BARE, too
    bool is_disk_writable; // else what the guest writes to the disk is forgotten at the end

    // "NAME" or "NAME:PRESET" (TL_LIST_PMUS): counts are what Linux perf would report from this PMU
    // of the machine's harts, multiplexed if `events` are more than its counters, beside the truth
    // (tl_count.is_pmu). TL_RUN_USER only, without `metrics`. NULL: counts are the truth.
    const char *pmu;

    // Sample where host time goes, for tl_run_host_profile. Takes SIGPROF from the calling process
    // and keeps it.
    bool host_profile;
    tl_host_symbols host_symbols; // TL_ENGINE_TRANSLATE only

    // How much memory of the host the engine may fill with code it made, for each hart and each
    // kind of code, decoded and translated. When it is full, everything is made anew. 0: 24 MiB;
    // else within the bounds above. No count depends on it.
    uint64_t code_cache_bytes;

    // TL_ENGINE_TRANSLATE: a block of the program is interpreted so often before it is translated,
    // so that code that runs a few times is not translated at all. Usually
    // TL_USUAL_TRANSLATE_AFTER_RUNS; at most UINT32_MAX. No count depends on it.
    uint64_t translate_after_runs;

    // TL_RUN_USER: the program sees the folder it lies in and the one it was started in under the
    // names they have on the host. Else they have fixed names, /tally/2/1/p and
    // /tally/8/7/6/5/4/3/2/1/cwd, so that counts do not depend on them.
    bool host_paths;

    // Several regions of interest, each counted on its own: every count of a result says which
    // (tl_count.region). Strings are copied.
    const tl_region *regions;
    uint32_t n_regions; // at most TL_MAX_REGIONS
    bool markers;       // and those that the program marks itself, with guest/include/tally/roi.h
} tl_run_options;

TL_API void tl_run_options_init(tl_run_options *ret_options);

typedef struct tl_run tl_run;

typedef enum tl_run_state {
    TL_RUN_GOING,    // the number of instructions asked for was run
    TL_RUN_INTERVAL, // an interval is complete
    TL_RUN_ENDED,    // see tl_result_end
} tl_run_state;

// Builds the machine and resolves events and metrics. TL_ENOENT and TL_EINVAL say what is unknown
// or impossible, nearest names included; TL_EFORMAT what is wrong in a machine description.
TL_MUST_CHECK TL_API tl_status tl_run_new(const tl_run_options *options, tl_run **ret_run, tl_error *err);

// Loads the program, or what boots. TL_ENOENT: it, its interpreter or an image does not exist.
// TL_EACCESS: it is not executable or not readable. TL_EFORMAT: it is not a program for this
// machine. TL_EINVAL: it has no such function as the region of interest names.
TL_MUST_CHECK TL_API tl_status tl_run_load(tl_run *run, tl_error *err);

// Runs until max_instructions more have retired over all harts, an interval is complete or the run
// has ended. How a run is cut into calls does not change single-hart counts. An ended run stays
// ended. Fails only for reasons of the host.
TL_MUST_CHECK TL_API tl_status tl_run_advance(tl_run *run, uint64_t max_instructions, tl_run_state *ret_state, tl_error *err);

// Ends the run from outside, so that its result says why: TL_END_TIMEOUT, TL_END_QUIT, or
// TL_END_INTERRUPTED with the signal's number.
TL_API void tl_run_stop(tl_run *run, tl_end_reason reason, int signal);

// Counts since the start or, with a region of interest, inside it. The caller frees the result. If
// the run has ended, the last result also holds the verdict on the conservation identities
// (tl_result_check).
TL_MUST_CHECK TL_API tl_status tl_run_result(tl_run *run, tl_result **ret_result, tl_error *err);

// Counts since the previous call, or since the start: the interval just completed.
TL_MUST_CHECK TL_API tl_status tl_run_interval(tl_run *run, tl_result **ret_result, tl_error *err);

// True if what runs has written to options.std_fd[fd], 1 or 2, through the descriptor it was given.
TL_API bool tl_run_has_written(const tl_run *run, int fd);
// Why runs may differ: files and folders of the host that the program opened to read without a
// tl_run_options.root, in order of the first time, at most 16. NULL: there are no more. The text
// lives as long as the run.
TL_API const char *tl_run_host_path(const tl_run *run, uint32_t index);

typedef struct tl_progress {
    uint32_t size; // set by the caller to sizeof(tl_progress)
    uint64_t instructions, cycles, sim_ns;
    uint64_t host_ns; // spent in tl_run_advance
} tl_progress;

TL_API void tl_run_progress(const tl_run *run, tl_progress *ret_progress); // cheap

// Samples of the processor time that went into tl_run_advance, a few hundred a second, by what the
// host was at. All zero unless tl_run_options.host_profile.
typedef struct tl_host_profile {
    uint32_t size; // set by the caller to sizeof(tl_host_profile)
    uint64_t n_samples;
    uint64_t translated;  // in code that was made of the program's
    uint64_t models;      // in what such code calls, and all of an interpreter: misses, page walks, rarer instructions, look-ups of code
    uint64_t translation; // decoding and translating
    uint64_t stepping;    // executing one instruction at a time: up to a limit, an overflow, or with --engine step
    uint64_t system;      // outside of the harts: system calls, devices, counters read by intervals
    uint64_t interpreted; // in blocks that had not run often enough to be translated, and in what these call; then not in models
} tl_host_profile;

TL_API void tl_run_host_profile(const tl_run *run, tl_host_profile *ret_profile);

TL_API void tl_run_free(tl_run *run); // NULL is fine

// The version of the library, as in "0.1.0". Static text.
TL_API const char *tl_version(void);

TL_END_DECLS

#endif
