// SPDX-License-Identifier: MIT
// Declarations that all files of the personality share; os.h is the public header. The file layer
// (file/fd.h, file/path.h ...) builds on this header. The end of this header declares the functions
// of the file layer that memory and processes call.
#ifndef TL_OS_OS_INTERNAL_H
#define TL_OS_OS_INTERNAL_H

#include "linux/account.h"
#include "linux/memory/vm.h"
#include "linux/os.h"
#include "linux/process/process.h"
#include "linux/process/sched.h"
#include "linux/process/signal.h"
#include "linux/process/wait.h"
#include "machine/limits.h"

typedef struct tl_sched tl_sched;     // sched.h
typedef struct tl_frames tl_frames;   // vm.c: physical pages
typedef struct tl_futexes tl_futexes; // futex.c

// Events of the modeled kernel that the hart's totals mix with the program's.
typedef struct tl_kernel_counts {
    uint64_t flushes;                    // of the pipeline, entering and leaving
    uint64_t minor_faults, major_faults; // on behalf of system calls
} tl_kernel_counts;

typedef struct tl_context { // os.h: a program of the user and its descendants
    tl_process *first;
    uint64_t quantum_cycles; // 0: none
    uint64_t left_cycles;    // of the quantum, when the kernel left the harts
    bool is_paused;          // it has that much left when it comes back
    bool has_ended;
    tl_os_report end; // its message is composed before that
} tl_context;

typedef struct tl_transfer { // with files and sockets of the host, not reported yet
    uint64_t n_bytes[2];     // read, written; both 0: none
    uint64_t cycle;          // of the last one
    uint32_t hart;
} tl_transfer;

struct tl_os {
    tl_machine *machine;
    const struct tl_os_isa *isa; // isa.h: of the machine
    tl_os_options options;       // strings are copies
    bool has_written[3];         // to options.std_fd
    // Machine cycle of the event under way: a system call, a fault, a timer.
    uint64_t now;
    tl_hart *hart; // the hart of the event; NULL in timers
    uint64_t clock_hz;
    uint64_t random_state[4];
    uint64_t next_sequence; // orders timers and wake-ups

    tl_process *processes, *last_process;        // in order of creation
    tl_process *first;                           // the program the user started: context 0
    tl_context contexts[TL_OS_MAX_CONTEXTS + 1]; // the last one is TL_OS_NO_CONTEXT
    uint32_t n_contexts, n_ended_contexts;
    uint32_t context;     // only its threads come onto harts
    bool is_away;         // none does, because another kernel has the machine
    uint64_t quantum_end; // of the context; UINT64_MAX: none
    tl_transfer transfer; // options.reports_transfers
    tl_os_window window;  // name NULL: none
    int32_t next_pid;
    uint32_t n_threads; // alive, of all processes

    tl_timer **timers; // a heap by (cycle, sequence), 1-based
    uint32_t n_timers, timers_capacity;
    struct tl_interval_timer *cpu_timers; // set timers of CPU clocks: timers.c
    tl_wait_entry *free_entries;

    tl_sched sched;
    tl_frames *frames;
    tl_account account; // of everything else that programs make us hold
    tl_futexes *futexes;
    tl_page_cache *page_caches; // of all mapped files
    struct tl_host_waits *host_waits;
    // State of the file layer: mounts, descriptors of --root and --sysroot, pseudo-inodes.
    struct tl_file_system *file_system;
    uint64_t warned[8];     // bit per system call number: said once
    bool has_warned_beyond; // the same for numbers beyond the table
    bool has_named_sysroot; // the user did
    // Warned that the default sysroot served a file that --root lacks.
    bool has_warned_sysroot;
    bool has_warned_foreign; // a program for another machine was executed: said once
    tl_os_report report;     // of the present run
    tl_os_report end;        // of the last one
    bool has_ended;
    uint64_t break_pc[2];    // of the first process; TL_NO_LINE: none
    const tl_breaks *breaks; // the same
    // A turn that a limit cut short. Without one, the hart furthest behind is next.
    tl_turn turn;
    // Steady while harts run user code and nothing has happened that could change their turns.
    tl_turns turns;
    // Bit k: hart k stands at a trap that is handled when it is the one furthest behind.
    uint32_t deferred;
    uint32_t n_traps;              // handled, modulo 2^32
    int32_t pmu_pid[TL_MAX_HARTS]; // which process the PMUs of a hart served last; 0: none yet
    tl_kernel_counts kernel_counts[TL_MAX_HARTS];
    struct tl_pev *perf; // perf_event.h; NULL: no event was ever opened
    // Bit k: the thread on hart k is in the kernel, by a trap, an interrupt or a switch.
    uint32_t in_kernel;
    uint32_t busy_harts; // bit k: hart k has a thread
    bool is_at_break;    // the run ends here
    bool is_ahead;       // tl_os_begin_ahead; ahead_hart has stopped then
    tl_stop ahead_stop;
    tl_hart *ahead_hart;
    tl_run_limits limits;                   // of the run
    tl_thread *dead;                        // ended threads, freed between events
    char *host_paths[TL_OS_MAX_HOST_PATHS]; // tl_os_host_path
    uint32_t n_host_paths;
};

// Polls tl_os_options.wants_stop. true: tl_os_run ends with TL_OS_LIMIT before any more code runs.
// Call it before a wait for the host, after a signal interrupted a wait, and in long loops. A
// system call that waited ends with EINTR; a system call that made progress returns the progress.
bool tl_os_wants_stop(tl_os *os);

// Guest time. CLOCK_MONOTONIC starts at 0 when the machine does.
uint64_t tl_os_now_ns(const tl_os *os);
uint64_t tl_os_cycles_to_ns(const tl_os *os, uint64_t cycles); // at most INT64_MAX
// Rounded up. UINT64_MAX: never, because the machine's clock does not reach the cycle.
uint64_t tl_os_ns_to_cycles(const tl_os *os, uint64_t ns);
// The first machine cycle at which the duration has passed; TL_NO_DEADLINE when the clock never
// reaches it.
uint64_t tl_os_deadline(const tl_os *os, uint64_t seconds, uint64_t ns);
// The first machine cycle at or after a moment of CLOCK_MONOTONIC or CLOCK_REALTIME. A moment in
// the past gives now.
uint64_t tl_os_absolute_deadline(const tl_os *os, bool is_realtime, uint64_t seconds, uint64_t ns);
// CLOCK_REALTIME when the machine starts: 2024-01-01 00:00:00 UTC.
static const uint64_t TL_REALTIME_START_S = UINT64_C(1704067200);
// Simulated RAM is full: ends the process with SIGKILL and says so.
void tl_os_out_of_memory(tl_thread *t);
// Randomness from the machine's seed.
void tl_os_random(tl_os *os, void *to, size_t n);
// One sentence to the user, through options.warn.
void tl_os_warn(tl_os *os, const char *format, ...) TL_PRINTF(2, 3);

// Counts on the hart of the event, and nothing in timers.
static inline void tl_os_count(tl_os *os, enum tl_hart_cell cell, uint64_t n) {
    if (os->hart)
        os->hart->tally[cell] += n;
}

// Modeled supervisor time on the hart of the event: `cell` is its row of the CPI stack. Free in
// timers.
static inline void tl_os_spend(tl_os *os, enum tl_hart_cell cell, uint64_t cycles) {
    if (!os->hart)
        return;
    os->hart->now += cycles;
    os->hart->supervisor_cycles += cycles;
    os->hart->tally[cell] += cycles;
}

// The first process of a context ends. Its status becomes the report. The message is composed while
// its memory still exists. The rest of the context is killed.
void tl_os_compose_end(const tl_process *p, int32_t wait_status);
void tl_os_first_ended(tl_process *p, int32_t wait_status);
static inline bool tl_os_is_first(const tl_process *p) { return p == p->os->contexts[p->context].first; }

// A system call or fault moved bytes between guest memory and a file or socket of the host.
static inline void tl_os_note_transfer(tl_os *os, uint64_t n_bytes, bool is_write) {
    if (!os->options.reports_transfers || n_bytes == 0 || !os->hart)
        return;
    os->transfer.n_bytes[is_write] += n_bytes;
    os->transfer.cycle = os->hart->now;
    os->transfer.hart = os->hart->id;
}

// contexts.c. Returns the next context with a ready thread, after the one that has the harts.
// Returns that one itself if no other can run.
uint32_t tl_os_next_context(const tl_os *os);

// ---- Functions of files that processes and memory call.

// Fresh: descriptors 0, 1, 2 are std_fd of the host; the working directory is the host's ("/" under
// --root); umask 022. NULL: no memory.
tl_files *tl_files_new(tl_os *os, const int std_fd[3]);
tl_files *tl_files_copy(tl_os *os, const tl_files *files); // fork; NULL: no memory
tl_files *tl_files_ref(tl_files *files);
void tl_files_unref(tl_os *os, tl_files *files); // the last one closes everything; NULL is fine
void tl_files_close_on_exec(tl_os *os, tl_files *files);
tl_fs *tl_fs_new(tl_os *os);
tl_fs *tl_fs_copy(tl_os *os, const tl_fs *fs);
tl_fs *tl_fs_ref(tl_fs *fs);
void tl_fs_unref(tl_os *os, tl_fs *fs);
void tl_time_process_done(tl_process *p);   // disarms and frees p->itimers (exit)
void tl_time_process_exec(tl_process *p);   // execve: POSIX timers go, setitimer stays
void tl_time_running_changed(tl_thread *t); // the thread came onto its hart, or left one
// Once, before the first process and after the last.
TL_MUST_CHECK tl_status tl_file_system_new(tl_os *os, tl_error *err);
void tl_file_system_done(tl_os *os);
// Gives the folder of the first program its fixed name, and the program's path below it. false: it
// keeps its own.
bool tl_file_system_name_program(tl_thread *t, const char *path, char ret_path[4096]);

tl_file *tl_file_of_fd(tl_thread *t, int32_t fd); // borrowed; NULL: EBADF
tl_file *tl_file_ref(tl_file *file);
void tl_file_unref(tl_os *os, tl_file *file); // NULL is fine
// Reads bytes at an offset from the host's file as it is. Returns the number of bytes (0: end), or
// a negative error number.
int64_t tl_file_pread(tl_os *os, tl_file *file, void *to, size_t n, uint64_t offset);
int64_t tl_file_pwrite(tl_os *os, tl_file *file, const void *from, size_t n, uint64_t offset);
int64_t tl_file_size(tl_os *os, tl_file *file); // or a negative error number
// May it be mapped? 0, -EACCES (opened without the needed access), -ENODEV (not a regular file and
// not /dev/zero). *ret_is_zero: a mapping of /dev/zero is anonymous.
int64_t tl_file_may_map(tl_file *file, int prot, bool is_shared, bool *ret_is_zero);
// Registers that mappings of the file show, offset 0 first. false: it is no such device.
bool tl_file_window(const tl_os *os, const tl_file *file, uint64_t *ret_paddr, uint64_t *ret_bytes);
void tl_file_identity(const tl_file *file, uint64_t *ret_device, uint64_t *ret_inode);
// The absolute name that the guest would use; "" when the file has no name.
const char *tl_file_path(const tl_file *file);
// Opens a program or interpreter for reading by guest path. The path is relative to dirfd
// (AT_FDCWD: t's working directory); --root and --sysroot rules apply. Returns 0 or a negative
// error number. -EACCES: it is not a regular file, or nobody may execute it (is_program).
int64_t tl_file_open_program(tl_thread *t, int32_t dirfd, const char *path, int flags, bool is_program, tl_file **ret_file);

#endif
