// SPDX-License-Identifier: MIT
// Processes and threads. A process (thread group) owns an address space, signal actions, children
// and limits. A thread owns registers and a signal mask. It owns its descriptor table and
// file-system context, which threads of one process share as clone asked. Registers of a running
// thread are in its hart; those of all others are in tl_thread.
#ifndef TL_OS_PROCESS_H
#define TL_OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/memory/vm.h"
#include "linux/process/signal.h"
#include "linux/process/wait.h"

typedef struct tl_os tl_os;
typedef struct tl_thread tl_thread;
typedef struct tl_process tl_process;
typedef struct tl_files tl_files; // a descriptor table: fd.h
typedef struct tl_fs tl_fs;       // working directory and umask: fd.h
struct tl_hart;

// The user and group ids of the guest, independent of the host user.
enum { TL_UID = 1000, TL_GID = 1000, TL_FIRST_PID = 1000, TL_INIT_PID = 1 };

static const uint64_t TL_NO_DEADLINE = UINT64_MAX;

typedef struct tl_futex_wait {  // futex.c's: a thread that waits at a futex
    tl_thread *next, *previous; // in its bucket, oldest first
    uint64_t space, offset;     // the key: address space or shared object, and the place in it
    uint32_t bitset;
    bool is_queued, is_woken, is_pi;
} tl_futex_wait;

typedef enum tl_thread_state {
    TL_THREAD_READY,    // in the run queue
    TL_THREAD_RUNNING,  // on a hart
    TL_THREAD_SLEEPING, // in a blocked system call
    TL_THREAD_STOPPED,  // by SIGSTOP and its kin
    TL_THREAD_DEAD,
} tl_thread_state;

typedef struct tl_registers { // of any instruction set: linux/isa.h
    uint64_t words[104];
} tl_registers;

struct tl_thread {
    tl_os *os;
    tl_process *process;
    int32_t tid;
    tl_thread_state state;
    tl_thread *next_in_process;
    struct tl_hart *hart; // where it runs; set in every system call handler
    char comm[16];

    // Registers while it is not on a hart.
    uint64_t pc;
    tl_registers registers;

    // Files. Owned references; shared between threads as CLONE_FILES and CLONE_FS asked.
    tl_files *files;
    tl_fs *fs;

    // The system call in progress (see syscall.h).
    bool in_syscall; // waits in one, or is about to retry it
    bool is_retry;
    uint64_t syscall_number, syscall_args[6];
    uint64_t deadline; // machine cycle, TL_NO_DEADLINE: none
    uint64_t retry[8]; // scratch that survives retries
    int64_t result_if_signal;
    bool is_yielding;     // lets others go first when the call is done
    tl_wait_entry *waits; // registrations
    tl_timer deadline_timer;
    const char *waits_for; // "a futex": for the deadlock report

    // Signals.
    uint64_t blocked, saved_blocked; // bit n-1: signal n
    // Restore saved_blocked when the call ends (sigsuspend, ppoll).
    bool has_saved_blocked;
    tl_signal_queue pending;
    uint64_t altstack_vaddr, altstack_bytes;
    int32_t altstack_flags;

    // Scheduling.
    uint64_t affinity;                  // bit k: may run on hart k
    int32_t last_hart;                  // -1: never ran
    int32_t nice, policy, priority;     // kept for the program; scheduling is round robin for all
    uint64_t ready_cycle;               // not before this time
    tl_thread *run_next, *run_previous; // run queue
    uint64_t slice_start;
    uint64_t loaded_now, loaded_supervisor; // the hart's clocks when it came onto it
    uint64_t user_cycles, system_cycles;    // up to the last switch; tl_thread_times adds the rest
    uint64_t voluntary_switches, involuntary_switches;
    struct tl_pev_event *perf_events; // perf_event.h; NULL: none
    uint32_t code_space;              // number of its space in the code map, + 1; 0: none yet

    // Threads' private agreements with libc.
    uint64_t clear_child_tid, robust_list, robust_list_bytes;
    uint64_t parent_death_signal;
    tl_futex_wait futex;
    bool is_uninterruptible; // waits for its vfork child: only SIGKILL ends that
    bool is_stop_pending;    // stops before it runs user code again
};

typedef struct tl_rlimit {
    uint64_t soft, hard;
} tl_rlimit;

typedef struct tl_fault_note { // "load from" addr "at pc" pc, why
    int32_t signal;            // 0: none yet
    bool has_addr;
    uint64_t addr, pc;
    const char *what, *why; // static text; why may be NULL
} tl_fault_note;

struct tl_process {
    tl_os *os;
    int32_t pid, pgid, sid;
    uint32_t context;   // of which program that the user started: tl_os.contexts
    tl_process *parent; // NULL: the first process, or an orphan
    tl_process *first_child, *next_sibling;
    tl_process *next;   // all processes, in order of creation
    tl_thread *threads; // first: the leader (pid == tid) while it lives
    uint32_t n_threads; // alive
    tl_vm *vm;          // held

    tl_sigactions *actions; // held; shared with CLONE_SIGHAND
    tl_signal_queue pending;
    // Woken when any signal is queued for the process or one of its threads (signalfd,
    // sigtimedwait).
    tl_wait_queue signal_wait;
    tl_wait_queue child_wait; // woken when a child changes state
    int32_t exit_signal;      // sent to the parent at the end, usually SIGCHLD

    bool is_zombie, is_ending, is_stopped, is_stop_reported, is_continued;
    bool is_subreaper, did_exec, is_dumpable, has_no_new_privileges;
    // Bit i: running threads of the process may use the PMU of row i of the machine.
    uint32_t granted_pmus;
    int32_t exit_status;        // wait status once it ends
    int32_t last_thread_status; // of exit(2): the status when no exit_group comes
    int32_t stop_signal;

    tl_rlimit limits[16];
    char *exe_path; // guest path of the program, absolute
    // In the address space, for /proc/PID/cmdline, environ, auxv.
    uint64_t arg_start, arg_end, env_start, env_end, auxv_start, auxv_end;
    uint64_t start_cycle;
    uint64_t user_cycles, system_cycles;             // of threads that ended
    uint64_t child_user_cycles, child_system_cycles; // of children waited for
    uint64_t minor_faults, child_minor_faults, voluntary_switches, involuntary_switches;
    uint64_t max_resident_bytes, child_max_resident_bytes;
    struct tl_itimers *itimers; // setitimer and timer_create: timers.c; may be NULL
    tl_file *exe_file;          // held
    uint64_t load_bias;         // of exe_file
    bool is_vfork_child;        // its parent's thread waits on vfork_wait until it execs or exits
    tl_wait_queue vfork_wait;
    tl_fault_note fault; // the last fault of one of its threads, for the report of its end
};

// ---- Life: thread.c, process.c.
// The process has no space, actions or threads; NULL: no memory.
tl_process *tl_process_new(tl_os *os, tl_process *parent);
enum { TL_THREAD_BYTES = sizeof(tl_thread) + 512 }; // of the account, with what it owns
// The thread has no files and is not yet ready; NULL: no memory.
tl_thread *tl_thread_new(tl_process *p, int32_t tid);
// The thread leaves its hart for good. The last one ends the process.
void tl_thread_end(tl_thread *t);
// Ends all threads: exit_group, a fatal signal.
void tl_process_end(tl_process *p, int32_t wait_status);
void tl_process_reap(tl_process *p); // a zombie vanishes
void tl_process_free_all(tl_os *os); // when the personality goes
// Sends SIGCHLD with a CLD_* code to the parent. Wakes its waits.
void tl_process_report_child(tl_process *child, int code);
void tl_process_vfork_done(tl_process *p);

tl_process *tl_process_find(const tl_os *os, int32_t pid); // zombies included; NULL: none
tl_thread *tl_thread_find(const tl_os *os, int32_t tid);   // alive; NULL: none
tl_process *tl_process_first(const tl_os *os);             // walk with ->next
// Cycles spent in user code and in modeled supervisor work, up to now.
void tl_thread_times(const tl_thread *t, uint64_t *ret_user_cycles, uint64_t *ret_system_cycles);
// Ended threads are included.
void tl_process_times(const tl_process *p, uint64_t *ret_user_cycles, uint64_t *ret_system_cycles);

#endif
