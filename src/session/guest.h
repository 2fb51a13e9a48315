// SPDX-License-Identifier: MIT
// A guest runs on a machine until it ends or reaches a limit. The two kinds are a Linux program
// under the modeled kernel (guest_user.c) and system software on a board (guest_system.c). The
// session knows neither.
#ifndef TL_SESSION_GUEST_H
#define TL_SESSION_GUEST_H

#include <tally/run.h>

#include "base/status.h"
#include "machine/machine.h"

typedef struct tl_guest tl_guest;

typedef struct tl_guest_setup { // everything is borrowed until the guest is freed
    tl_machine *machine;
    const tl_run_options *options; // own copies of strings, and defaults filled in
    void (*warn)(void *ctx, const char *sentence);
    bool (*wants_stop)(void *ctx);
    void (*mapped_code)(void *ctx); // names of functions may have come up
    // tl_os_options.interrupted; NULL: no line of a PMU is enabled.
    void (*interrupted)(void *ctx, tl_hart *h);
    // Of a board: a hart has got another address space, and stands still. NULL: nobody asks.
    void (*changed_space)(void *ctx);
    void *ctx;
    struct tl_code_map *code_map; // of a recording; NULL: none
} tl_guest_setup;

typedef struct tl_guest_limits { // tl_os_limits says how exact they are
    uint64_t until_cycle, until_instret;
    const tl_breaks *breaks; // NULL: none
} tl_guest_limits;

typedef struct tl_guest_report {
    tl_end_reason reason; // TL_END_NONE: a limit or a breakpoint
    bool is_at_break;     // hart break_hart stands before one of break_pc
    uint32_t break_hart;
    int status, signal;
    char message[400]; // "" or one sentence
} tl_guest_report;

typedef struct tl_guest_search {
    bool with_prefixes; // the beginning of one name is enough
    bool *ret_waits;    // the guest may load more code that has names; NULL: not wanted
} tl_guest_search;

typedef struct tl_guest_type {
    TL_MUST_CHECK tl_status (*load)(const tl_guest_setup *setup, tl_guest **ret_guest, tl_error *err);
    TL_MUST_CHECK tl_status (*run)(tl_guest *guest, const tl_guest_limits *limits, tl_guest_report *ret_report, tl_error *err);
    // TL_ENOENT: there is no such function now; TL_EINVAL: the name is not one function.
    TL_MUST_CHECK tl_status (*symbol)(const tl_guest *guest, const char *name, const tl_guest_search *how, uint64_t *ret_address,
                                      tl_error *err);
    // Address at which the program begins, with its libraries mapped. 0, NULL: there is no loader.
    uint64_t (*entry)(const tl_guest *guest);
    // The function that holds an address, and how far behind its beginning; NULL: not known. User
    // programs: only with host_symbols.
    const char *(*name_at)(const tl_guest *guest, uint64_t address, uint64_t *ret_within);
    // Serves tl_run_host_path; NULL: there are none.
    const char *(*host_path)(const tl_guest *guest, uint32_t index);
    uint64_t (*now_cycles)(const tl_guest *guest);
    bool (*has_written)(const tl_guest *guest, int fd); // bytes went to options.std_fd[fd]
    uint64_t (*peak_bytes)(const tl_guest *guest);      // of simulated memory; NULL: not known
    // The code that is there now goes to the code map, and nothing more does.
    void (*end_code_map)(tl_guest *guest);
    void (*free)(tl_guest *guest);
} tl_guest_type;

struct tl_guest { // first member of each kind's own struct
    const tl_guest_type *type;
};

extern const tl_guest_type tl_guest_user, tl_guest_system;

#endif
