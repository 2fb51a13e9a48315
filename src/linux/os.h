// SPDX-License-Identifier: MIT
// The Linux user-mode personality: loads a Linux program onto a machine and plays the kernel
// under it. Processes, threads, address spaces (real page tables in simulated RAM), signals, files;
// threads are scheduled over the harts with time slices in cycles. Deterministic: time is cycles,
// randomness comes from the seed, addresses, pids and page placement are fixed.
#ifndef TL_OS_OS_H
#define TL_OS_OS_H

#include "base/status.h"
#include "loader/elf.h"
#include "machine/machine.h"

typedef struct tl_os tl_os;

// Registers outside RAM that programs map from /dev/NAME. The owner of the machine answers them on
// its bus (tl_machine_set_bus).
typedef struct tl_os_window {
    const char *name;      // NULL: there is no window
    uint64_t paddr, bytes; // whole pages
    uint32_t contexts;     // bit c: context c has the device
} tl_os_window;

typedef struct tl_os_options {
    const char *program; // path as the user gave it (no PATH search here)
    char *const *argv;   // NULL-terminated, argv[0] included
    char *const *envp;   // guest environment, NULL-terminated; empty unless the user asked
    // Where absolute guest paths of the dynamic loader and libraries are looked up first; NULL: the
    // folder of Debian's cross packages for the machine's instruction set.
    const char *sysroot;
    // The guest touches files of this directory only. NULL: all that the invoking user may.
    const char *root;
    bool allow_network; // AF_INET, AF_INET6 sockets
    bool host_paths;    // the folders of the program and of the start have the host's names
    int std_fd[3];      // host descriptors behind 0, 1, 2; not closed
    // Told one sentence at a time, such as the first call of an unsupported system call. NULL:
    // nobody is told.
    void (*warn)(void *ctx, const char *sentence);
    // Polled every few milliseconds of host time, before a wait for the host, and after a host
    // signal interrupted such a wait. true: tl_os_run returns TL_OS_LIMIT, and a system call that
    // waited ends with EINTR. May be NULL.
    bool (*wants_stop)(void *ctx);
    // An interrupt line that is enabled on the hart is pending, other than the personality's own.
    // No kernel code runs for it, and it costs nothing. The call clears the line. NULL: no line is
    // enabled.
    void (*interrupted)(void *ctx, tl_hart *h);
    // The first process mapped a file with code, such as a library; may be NULL.
    void (*mapped_code)(void *ctx);
    void *ctx;
    // RAM from this offset on is this kernel's, because another one has the rest. Both are
    // multiples of a page. ram_bytes 0: all of it.
    uint64_t ram_offset_bytes, ram_bytes;
    bool starts_away; // another kernel has the machine: nothing runs before tl_os_enter
    // tl_os_run returns TL_OS_TRANSFER when bytes went to or came from a file or socket of the
    // host.
    bool reports_transfers;
    uint64_t quantum_cycles; // of context 0, as in tl_os_program
    // Told who executes which code, until tl_os_end_code_map. Every hart has its attribution. NULL:
    // nobody asks.
    struct tl_code_map *code_map;
} tl_os_options;

// Programs beside the one of tl_os_options, under the same kernel. A context is such a program with
// all its descendants; that of tl_os_options is context 0. Only threads of one context are on harts
// at a time. A context ends with its first process; what is left of it is killed.
enum { TL_OS_MAX_CONTEXTS = 32, TL_OS_NO_CONTEXT = TL_OS_MAX_CONTEXTS };
typedef struct tl_os_program {
    const char *program; // all as in tl_os_options
    char *const *argv;
    char *const *envp;
    int std_fd[3];
    // After so many cycles the next context that can run gets the harts; 0: it waits until this one
    // sleeps.
    uint64_t quantum_cycles;
} tl_os_program;

typedef enum tl_os_stop {
    TL_OS_EXITED,   // the first process exited: status
    TL_OS_KILLED,   // the first process was killed: signal
    TL_OS_LIMIT,    // a limit of tl_os_limits was reached; run again to go on
    TL_OS_BREAK,    // a hart stands before break_pc; run again to go on
    TL_OS_DEADLOCK, // every thread sleeps and nothing can wake one; message says who waits for what
    // Every hart stands still at `cycle`, and context `next` can run. TL_OS_NO_CONTEXT: this one
    // has ended, and none can. Call tl_os_leave and tl_os_enter, then run again.
    TL_OS_SWITCH,
    // A system call or fault of hart break_hart moved n_bytes at `cycle`. Call tl_os_wait when it
    // has to wait for that, then run again.
    TL_OS_TRANSFER,
    // Hart break_hart stands at `cycle` before a read of a device that cannot be answered yet. Run
    // again when it can.
    TL_OS_READ,
} tl_os_stop;

typedef struct tl_os_limits {
    uint64_t until_cycle;    // machine time: stop when every hart has reached it (UINT64_MAX: none)
    uint64_t until_instret;  // sum over all harts, exact (UINT64_MAX: none)
    uint64_t break_pc[2];    // in the first process's program (TL_NO_LINE: none)
    const tl_breaks *breaks; // the same, any number more; may change while a call runs. NULL: none
} tl_os_limits;

typedef struct tl_os_report {
    tl_os_stop stop;
    int exit_status, signal;
    uint32_t break_hart; // TL_OS_BREAK, TL_OS_READ
    // For killed, deadlock, out of memory: one sentence for people (fault address, pc, nearest
    // symbol). Else "".
    char message[400];
    uint64_t cycle;      // TL_OS_SWITCH, TL_OS_TRANSFER, TL_OS_READ
    uint32_t next;       // TL_OS_SWITCH
    uint64_t n_bytes[2]; // TL_OS_TRANSFER: read, written
} tl_os_report;

// The machine of machines/ that runs programs of this e_machine unless a user names another one;
// NULL: Linux has no row for their instruction set.
const char *tl_os_default_machine(uint16_t elf_machine);

// Loads the program. TL_EFORMAT not an ELF64 of the machine's instruction set etc., TL_ENOENT
// missing program, interpreter or library directory, TL_EACCESS not executable.
TL_MUST_CHECK tl_status tl_os_new(tl_machine *machine, const tl_os_options *options, tl_os **ret_os, tl_error *err);
TL_MUST_CHECK tl_status tl_os_run(tl_os *os, const tl_os_limits *limits, tl_os_report *ret_report, tl_error *err);
// Begins a run that tl_os_run, with the same limits, will finish. tl_os_run_ahead is called once
// between both, on any thread of the host, and no other function meanwhile. It runs harts up to the
// first step that the kernel must do. It neither reads nor changes anything outside of the machine.
// The result of tl_os_run does not depend on it. false: the next step is not to run a hart.
bool tl_os_begin_ahead(tl_os *os, const tl_os_limits *limits);
void tl_os_run_ahead(tl_os *os);
void tl_os_free(tl_os *os); // NULL is fine

// ---- Several contexts, and several kernels that take turns on one machine.

// Before the first tl_os_run. TL_EINVAL: TL_OS_MAX_CONTEXTS are there; else as tl_os_new.
TL_MUST_CHECK tl_status tl_os_add(tl_os *os, const tl_os_program *program, uint32_t *ret_context, tl_error *err);
uint32_t tl_os_context(const tl_os *os); // which one has the harts; or TL_OS_NO_CONTEXT
// The context has ended: *ret_report says how (stop, exit_status, signal, message).
bool tl_os_context_has_ended(const tl_os *os, uint32_t context, tl_os_report *ret_report);
// Every hart stops where it stands, is drained and idles up to the one furthest ahead. Returns that
// cycle.
uint64_t tl_os_halt(tl_os *os);
// After a halt: all threads leave their harts, each at the cost of a context switch. No code of
// this kernel runs until tl_os_enter.
void tl_os_leave(tl_os *os);
// After a leave: every hart idles up to `cycle`, then threads of the context come onto harts.
// Returns the cycle at which the first hart can run. It is later than `cycle` if a hart's switch
// took longer.
uint64_t tl_os_enter(tl_os *os, uint32_t context, uint64_t cycle);
// The hart waits for a device up to this cycle, in the kernel.
void tl_os_wait(tl_os *os, uint32_t hart, uint64_t cycle);

// The code that is mapped now goes to options.code_map, and nothing more does.
void tl_os_end_code_map(tl_os *os);

// Within a run: it ends when every hart has reached the cycle, if that is before its limit.
void tl_os_end_run_at(tl_os *os, uint64_t cycle);
// The window of a device, from now on.
void tl_os_set_window(tl_os *os, const tl_os_window *window);

// Files and folders of the host that the program opened to read, in order of the first open. There
// are none with options.root. NULL: no more.
enum { TL_OS_MAX_HOST_PATHS = 16 };
const char *tl_os_host_path(const tl_os *os, uint32_t index);

uint64_t tl_os_now_cycles(const tl_os *os);      // machine time: the largest now of all harts
uint64_t tl_os_resident_bytes(const tl_os *os);  // simulated pages in use
uint64_t tl_os_peak_bytes(const tl_os *os);      // the most that were in use at once
bool tl_os_has_written(const tl_os *os, int fd); // the program wrote to std_fd[fd]
// The symbols of the first process's program and its load bias; the caller frees the table.
TL_MUST_CHECK tl_status tl_os_symbols_new(const tl_os *os, tl_symbols **ret_symbols, uint64_t *ret_load_bias, tl_error *err);
// Runtime address of a function of the first process: of its program, else of a library that is
// mapped now. tl_symbols_search explains names; how NULL: only whole ones.
typedef struct tl_os_search {
    bool with_prefixes;
    char *ret_name; // of the function, if the beginning of its name was given; NULL: not wanted
    size_t size;
    bool *ret_waits; // a file that is mapped calls dlopen, so others may follow; NULL: not wanted
} tl_os_search;
TL_MUST_CHECK tl_status tl_os_symbol(const tl_os *os, const char *name, const tl_os_search *how, uint64_t *ret_vaddr, tl_error *err);
// Address at which the first process's program begins, after its dynamic loader has mapped its
// libraries. 0: it has no loader.
uint64_t tl_os_entry(const tl_os *os);

#endif
