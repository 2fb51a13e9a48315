// SPDX-License-Identifier: MIT
// A run executes RISC-V software on a simulated machine: a Linux program, a bare-metal program, or
// firmware and a kernel.
//
//   tl_run_options options;
//   tl_run_options_init(&options);
//   options.program = "./prog";
//   tl_run_new(&options, &run, &err)          checks machine, events, metrics, not the program
//   tl_run_load(run, &err)                    reads the program into the machine
//   tl_run_advance(run, n, &state, &err)      until state is TL_RUN_ENDED
//   tl_run_result(run, &result, &err)         counts so far (result.h), after tl_run_load
//   tl_run_free(run)
//
// Two runs share nothing and may use different threads. One run belongs to one thread at a time.
// Equal options give equal counts on any host.
#ifndef TALLY_RUN_H
#define TALLY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <tally/error.h>
#include <tally/result.h>

TL_BEGIN_DECLS

typedef enum tl_engine {                // all engines count alike
    TL_ENGINE_FASTEST,                  // translate if the host can, else interp
    TL_ENGINE_TRANSLATE,                // x86-64 code made from guest code; TL_EINVAL elsewhere
    TL_ENGINE_INTERP,                   // decoded blocks; runs on every host
    TL_ENGINE_STEP,                     // one instruction at a time: the reference
    TL_ENGINE_BLOCK = TL_ENGINE_INTERP, // older name
} tl_engine;

enum { TL_LEAST_CODE_CACHE_BYTES = 192 << 10, TL_MOST_CODE_CACHE_BYTES = 1 << 30 };
enum { TL_USUAL_TRANSLATE_AFTER_RUNS = 64 };

typedef enum tl_interval {
    TL_INTERVAL_NONE,
    TL_INTERVAL_INSTRUCTIONS, // retired, over all harts
    TL_INTERVAL_CYCLES,       // of machine time
    TL_INTERVAL_NS,           // of simulated time
} tl_interval;

typedef enum tl_run_kind {
    TL_RUN_USER, // a Linux program on a modeled kernel
    TL_RUN_BARE, // a program in machine mode, alone on a board
    TL_RUN_BOOT, // firmware and a kernel on a board
} tl_run_kind;

typedef struct tl_region {
    const char *start, *stop; // as tl_run_options.roi_start and roi_stop
} tl_region;

enum { TL_MAX_REGIONS = 64 };

typedef enum tl_host_symbols { // for Linux perf, which profiles the host
    TL_HOST_SYMBOLS_NONE,
    TL_HOST_SYMBOLS_MAP, // /tmp/perf-PID.map: a name for each piece of translated code
    // jit-PID.dump in the current folder: names, the code itself and, as line numbers, guest
    // addresses.
    TL_HOST_SYMBOLS_JITDUMP,
} tl_host_symbols;

typedef struct tl_run_options {
    uint32_t size; // set by tl_run_options_init

    // The program. Strings are copied by tl_run_new.
    const char *program; // path of a RISC-V executable (of `kind`, below); PATH is not searched
    // Arguments of the program, NULL-terminated. NULL: "./" and the last part of the path, alone.
    const char *const *argv;
    // "NAME=VALUE", NULL-terminated; NULL: empty. The caller's environment never reaches the
    // program.
    const char *const *env;
    // Folder of the dynamic loader and libraries. NULL: the folder of Debian's cross packages.
    const char *sysroot;
    // NULL: the program has the calling user's file access. Otherwise only files below this folder.
    const char *root;
    bool allow_network; // internet sockets; off by default
    // Descriptors behind the program's 0, 1, 2; not closed. Default 0, 1, 2. With TL_RUN_BARE and
    // TL_RUN_BOOT, 0 and 1 are behind the serial port; -1: nothing.
    int std_fd[3];
    // Called with one sentence per warning, such as the first use of an unsupported system call.
    // May be NULL.
    void (*warn)(void *ctx, const char *sentence);
    // Called every few milliseconds of host time, within long system calls, and before the program
    // waits for the host. Also called when a host signal interrupted such a wait. true:
    // tl_run_advance returns TL_RUN_GOING, and a system call in progress may do less than
    // requested. NULL is safe if no signal handler is installed.
    bool (*wants_stop)(void *ctx);
    void *ctx; // passed to both functions

    // The machine.

    // Name from tl_list_new(TL_LIST_MACHINES), or path of a description. NULL: "rocket".
    const char *machine;
    // "key=value" with keys of the description, NULL-terminated, applied in order. NULL: none.
    const char *const *overrides;
    tl_engine engine;

    // Contents of the result. The machine counts everything in any case.

    // Comma-separated aliases, signal paths and globs. NULL: every event alias and every signal.
    const char *events;
    // Comma-separated metrics, metric groups and globs. NULL with events NULL: the default group.
    const char *metrics;
    bool per_hart; // adds one count per hart to the sum
    bool per_unit; // adds one count per unit to the sum

    // Intervals: tl_run_advance stops at the end of each. tl_run_interval returns the counts.
    tl_interval interval;
    uint64_t interval_length; // instructions, cycles or ns, by `interval`; at least 1

    // Region of interest: the machine counts only inside, summed over all visits. A visit begins
    // when any thread reaches `roi_start`, a function or an address (0x...). It ends at `roi_stop`.
    // roi_stop NULL: it ends when that call of roi_start returns. Functions belong to the program
    // or a library, also one loaded later. A name is a symbol, a C++ or Rust name with or without
    // parameters, or a unique prefix. NULL: count everything.
    const char *roi_start, *roi_stop;

    // Ends the run after exactly so many retired instructions over all harts. 0: no limit.
    uint64_t max_insns;

    // TL_RUN_BARE: `program` is an ELF file linked to an address in RAM. Every hart enters it in
    // machine mode with the hart number in a0 and the device tree in a1. Only TL_RUN_USER uses
    // argv, env, sysroot, root and allow_network.
    tl_run_kind kind; // default TL_RUN_USER
    // TL_RUN_BOOT: paths. `program` is not used.

    // Firmware, ELF or raw, at the start of RAM. NULL: OpenSBI (fw_jump) where Debian installs it;
    // on an AArch64 machine the board's own.
    const char *bios;
    // Image or ELF at RAM + 2 MiB. NULL, with `bios`: the firmware alone, without initrd and
    // append.
    const char *kernel;
    const char *initrd;    // or NULL
    const char *append;    // command line of the kernel, or NULL
    const char *disk;      // raw image behind a virtio block device, or NULL; TL_RUN_BARE, too
    bool is_disk_writable; // false: disk writes of the guest are lost at the end

    // "NAME" or "NAME:PRESET" (TL_LIST_PMUS): counts are those that Linux perf would report from
    // this PMU of the harts, with the truth beside them (tl_count.is_pmu). The PMU multiplexes if
    // `events` are more than its counters. TL_RUN_USER only, without `metrics`. NULL: counts are
    // the truth.
    const char *pmu;

    // Samples host time for tl_run_host_profile. The run takes SIGPROF from the calling process and
    // keeps it.
    bool host_profile;
    tl_host_symbols host_symbols; // TL_ENGINE_TRANSLATE only

    // Host memory for the engine's code, per hart and kind of code (decoded, translated). A full
    // cache is emptied and filled anew. 0: 24 MiB; else within the bounds above. No count depends
    // on it.
    uint64_t code_cache_bytes;

    // TL_ENGINE_TRANSLATE: the engine interprets a block so often before it translates the block,
    // because translation does not pay for rare code. Default TL_USUAL_TRANSLATE_AFTER_RUNS; at
    // most UINT32_MAX. No count depends on it.
    uint64_t translate_after_runs;

    // TL_RUN_USER: true: the program's folder and the start folder keep their host names. false:
    // they have the fixed names /tally/2/1/p and /tally/8/7/6/5/4/3/2/1/cwd, because counts must
    // not depend on host paths.
    bool host_paths;

    // Several regions of interest, counted separately: each count names one in tl_count.region.
    // Strings are copied.
    const tl_region *regions;
    uint32_t n_regions; // at most TL_MAX_REGIONS
    bool markers;       // adds regions that the program marks with guest/include/tally/roi.h

    // Machines with a detailed core, TL_RUN_USER, without regions, intervals and `pmu`. The fast
    // engine executes the beginning and keeps caches, TLBs and predictors warm. Then the detailed
    // core takes over, and counting begins. At most one of these three is set.
    uint64_t fast_forward_insns; // so many instructions, over all harts; 0: none
    const char *fast_forward_to; // up to a function or an address, as in roi_start; NULL: none
    bool fast_forward_to_marker; // up to the first start marker of the program

    // Sampling, on the same machines. The fast engine executes sample_stretch instructions, the
    // detailed core sample_warm_up uncounted ones and a window of sample_window, and so on, over
    // all harts. Counts of what takes time are extrapolated from the windows: tl_count.is_estimate.
    uint64_t sample_window, sample_stretch, sample_warm_up; // sample_window 0: no sampling

    // With `pmu` and a recorder (tally/profile.h): the counters of `pmu` interrupt after so many
    // `events`, as Linux perf uses them to sample. NULL events: cycles. The result is as without a
    // pmu. 0: the pmu counts.
    uint64_t sample_period;

    // TL_RUN_BOOT: file with the kernel's symbols for profiles, an ELF file (vmlinux) or text as
    // /proc/kallsyms and System.map have it. NULL: those of `kernel`, if it is an ELF file.
    const char *kernel_symbols;

    // TL_ENGINE_TRANSLATE: translated code does a part of its work twice, the second time to no
    // effect. The run takes longer by what the part costs on this host. No count depends on it.
    // Parts: data-lookup, line-use, page-use (of a load or store); fetch-lookup, fetch-use (at the
    // entry of a block); prediction (of a branch; whole beyond the first 64 KiB of code); hit-path
    // (all of these). NULL: none.
    const char *repeated_part;
} tl_run_options;

TL_API void tl_run_options_init(tl_run_options *ret_options);

typedef struct tl_run tl_run;

typedef enum tl_run_state {
    TL_RUN_GOING,    // the requested number of instructions was run
    TL_RUN_INTERVAL, // an interval is complete
    TL_RUN_ENDED,    // see tl_result_end
} tl_run_state;

// Builds the machine and resolves events and metrics. TL_ENOENT and TL_EINVAL name an unknown or
// impossible value and the nearest names. TL_EFORMAT: the machine description is wrong.
TL_MUST_CHECK TL_API tl_status tl_run_new(const tl_run_options *options, tl_run **ret_run, tl_error *err);

// Loads the program, or the firmware and kernel. TL_ENOENT: a program, interpreter or image does
// not exist. TL_EACCESS: the program is not executable or not readable. TL_EFORMAT: the file is no
// program for this machine. TL_EINVAL: the program has no function named by the region of interest.
TL_MUST_CHECK TL_API tl_status tl_run_load(tl_run *run, tl_error *err);

// Runs until max_instructions more have retired over all harts, an interval is complete or the run
// ended. The number of calls does not change single-hart counts. An ended run stays ended. Fails
// only for reasons of the host.
TL_MUST_CHECK TL_API tl_status tl_run_advance(tl_run *run, uint64_t max_instructions, tl_run_state *ret_state, tl_error *err);

// Ends the run with a reason for the result: TL_END_TIMEOUT, TL_END_QUIT, or TL_END_INTERRUPTED
// with the signal's number.
TL_API void tl_run_stop(tl_run *run, tl_end_reason reason, int signal);

// Returns counts since the start or, with a region of interest, inside it. The caller frees the
// result. The result of an ended run also holds the verdict on the conservation identities
// (tl_result_check).
TL_MUST_CHECK TL_API tl_status tl_run_result(tl_run *run, tl_result **ret_result, tl_error *err);

// Returns counts since the previous call, or since the start: the complete interval.
TL_MUST_CHECK TL_API tl_status tl_run_interval(tl_run *run, tl_result **ret_result, tl_error *err);

// True if the guest has written to options.std_fd[fd], 1 or 2, through the given descriptor.
TL_API bool tl_run_has_written(const tl_run *run, int fd);
// Host files and folders that make runs differ: paths that the program opened to read without a
// tl_run_options.root. The order is that of the first opening; at most 16. NULL: no more. The text
// lives as long as the run.
TL_API const char *tl_run_host_path(const tl_run *run, uint32_t index);

typedef struct tl_progress {
    uint32_t size; // set by the caller to sizeof(tl_progress)
    uint64_t instructions, cycles, sim_ns;
    uint64_t host_ns; // spent in tl_run_advance
} tl_progress;

TL_API void tl_run_progress(const tl_run *run, tl_progress *ret_progress); // cheap

// Samples of host processor time in tl_run_advance, a few hundred per second, by activity of the
// host. All are zero unless tl_run_options.host_profile is set.
typedef struct tl_host_profile {
    uint32_t size; // set by the caller to sizeof(tl_host_profile)
    uint64_t n_samples;
    uint64_t translated; // in code generated from guest code
    // In functions that generated code calls, and in all of an interpreter: misses, page walks,
    // rare instructions, code lookup.
    uint64_t models;
    uint64_t translation; // decoding and translating
    uint64_t stepping;    // executing one instruction at a time, for example up to a limit
    uint64_t system;      // outside of harts: system calls, devices, counters read by intervals
    // In blocks that ran too rarely for translation, and in functions that they call. models
    // excludes these.
    uint64_t interpreted;
} tl_host_profile;

TL_API void tl_run_host_profile(const tl_run *run, tl_host_profile *ret_profile);

TL_API void tl_run_free(tl_run *run); // NULL is fine

// Version of the library, as in "0.1.0". Static text.
TL_API const char *tl_version(void);

TL_END_DECLS

#endif
