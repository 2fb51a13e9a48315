// SPDX-License-Identifier: MIT
// Tenants files: YAML text to a plan of VMs and contexts. Everything is checked that can be checked
// without opening a program. Messages name file, line, key and remedy: "tenants.yaml:7:
// vms[1].partition = 4: cloud4 has partitions 0 to 3". docs/tenants.md lists the keys.
#ifndef TL_SESSION_TENANTS_FILE_H
#define TL_SESSION_TENANTS_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "machine/chip.h"
#include "model/chip_monitor.h"

enum { TL_MAX_VMS = 32, TL_MAX_CONTEXTS_OF_VM = 32 };

typedef struct tl_context_plan {
    uint32_t line; // of the file, for messages
    const char *name, *program;
    const char *const *argv; // NULL-terminated, [0] included
    const char *const *env;  // NULL-terminated
    const char *std[3];      // a path; NULL: nothing; TL_STD_INHERITED
    uint64_t quantum_cycles; // 0: the next context runs when this one sleeps
    // With a monitor: as whom its programs read blocks; has_no_window: they do not.
    tl_monitor_role client;
    bool has_no_window;
} tl_context_plan;
extern const char TL_STD_INHERITED[];

// A VM that is a board. Strings as in tl_system_options.
typedef struct tl_board_plan {
    uint32_t line;
    const char *program, *firmware, *kernel, *initrd, *append;
    const char *console; // a path; NULL: nothing; TL_STD_INHERITED
    uint64_t ram_bytes;  // 0: what the machine has
    uint32_t n_harts;
} tl_board_plan;

typedef struct tl_vm_plan {
    uint32_t line;
    const char *name;
    uint32_t partition;
    uint64_t quantum_cycles;    // 0: it is alone on its partition
    const char *root, *sysroot; // NULL: as in tl_run_options
    bool allow_network;
    bool is_confidential, contexts_read_vm; // tl_monitor_vm
    uint32_t confidential_line;
    const tl_board_plan *board; // NULL: contexts are programs; else names
    tl_context_plan *contexts;
    uint32_t n_contexts;
} tl_vm_plan;

typedef struct tl_tenants_plan {
    tl_arena arena;
    const char *file_name;
    const char *machine; // name or path of a description
    uint32_t machine_line;
    tl_chip_profile profile;
    const char *monitor; // name of a PMU design, checked by tl_tenants_plan_check; NULL: none
    uint32_t monitor_line;
    uint64_t interval_cycles; // 0: none
    uint64_t max_cycles;      // 0: no limit
    tl_vm_plan *vms;
    uint32_t n_vms;
} tl_tenants_plan;

// Paths in the file are relative to `folder`, "" for the folder where tally was started. *ret_plan
// owns what it points to; tl_tenants_plan_done frees that, also after a failure.
TL_MUST_CHECK tl_status tl_tenants_plan_read(const char *text, size_t n_bytes, const char *file_name, const char *folder,
                                             tl_tenants_plan *ret_plan, tl_error *err);
TL_MUST_CHECK tl_status tl_tenants_plan_open(const char *path, tl_tenants_plan *ret_plan, tl_error *err);
// Checks the rules of the machine: partitions that exist, and quanta of VMs that share one.
TL_MUST_CHECK tl_status tl_tenants_plan_check(const tl_tenants_plan *plan, const tl_config *config, tl_error *err);
void tl_tenants_plan_done(tl_tenants_plan *plan);

#endif
