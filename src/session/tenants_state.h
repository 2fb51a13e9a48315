// SPDX-License-Identifier: MIT
// A run of a tenants file: what tenants.c and tenants_monitor.c share.
#ifndef TL_SESSION_TENANTS_STATE_H
#define TL_SESSION_TENANTS_STATE_H

#include "linux/os.h"
#include "model/chip_monitor.h"
#include "session/tenants.h"

// Where growth is charged. Its number is also the tag of its bursts at shared units.
typedef struct tl_tenants_account {
    uint64_t *cells; // of its partition
    // remainders: of each cell, units that its stints left over after whole scales. NULL: there is
    // no monitor.
    uint64_t *remainders;
    uint64_t active_cycles, n_switches;
} tl_tenants_account;

typedef struct tl_tenants_guest_type tl_tenants_guest_type;

typedef struct tl_tenants_vm {
    tl_tenants *tenants;
    const tl_vm_plan *plan;
    const tl_tenants_guest_type *guest; // its software: one of the next two
    tl_os *os;
    struct tl_board_vm *board;
    uint32_t first_account; // of its contexts; then NO_CONTEXT and SWITCHING
    bool has_ended, is_deadlocked;
    char message[400];
    uint32_t *switch_cycles; // with a monitor: of each switch away from its contexts
    uint32_t n_switch_cycles, room_for_cycles;
} tl_tenants_vm;

enum { TL_NO_CONTEXT, TL_SWITCHING, TL_N_OWN_ACCOUNTS }; // behind those of the contexts

typedef struct tl_tenants_part {
    tl_machine *machine;
    tl_tenants_vm *vms[TL_MAX_VMS];
    uint32_t n_vms, running; // index of the VM that has the machine
    uint64_t turn_end;       // of it; UINT64_MAX: no other waits
    uint64_t *charged;       // [cell] what has been charged to some account
    uint64_t charged_cycle;
    uint32_t account; // that is open
    uint32_t idle;    // account of the time without a VM
    bool wants_vm;    // the switch under way is to another VM, else to context `next`
    uint32_t next;
    uint32_t hart;        // that submitted the job under way
    uint64_t write_bytes; // of the same call, submitted next
    uint64_t waits_from;  // the partition waits for its job since then; UINT64_MAX: it does not

    // With a monitor.
    bool is_gated;   // it is within a switch, or nobody runs
    bool ends;       // the switch under way is to nobody
    uint32_t to;     // index of the VM to which it is
    uint64_t *gated; // [cell] counted while is_gated
    uint64_t *stint; // [cell] monitored when the present context began

    // With clients (tenants_clients.h).
    tl_tenants *tenants;
    tl_bus bus;
    const tl_bus *below; // of PMUs with a window; NULL: there are none
    uint64_t run_end;    // the run under way ends there; UINT64_MAX: at its limit
} tl_tenants_part;

typedef struct tl_tenants_oob { // tenants_oob.h
    int listener, client;       // -1: none
    bool is_bound;              // the path is this run's
    uint8_t message[TL_MONITOR_MESSAGE_BYTES];
    uint32_t n_bytes; // of it
    uint8_t key[TL_MONITOR_KEY_BYTES];
} tl_tenants_oob;

// A file of a standard stream or console. An output is emptied when the run begins, so that a
// mistake elsewhere loses nothing.
typedef struct tl_tenants_file {
    int fd;
    bool is_output;
    const char *created; // its path, if it did not exist before; else NULL
} tl_tenants_file;

struct tl_tenants {
    tl_tenants_options options;
    tl_tenants_oob oob;
    FILE *records[TL_MAX_VMS]; // tenants_records.h
    uint32_t n_records;
    tl_tenants_plan plan;
    tl_config config;
    tl_arena arena;
    const tl_engine_type *engine;
    tl_chip *chip;
    struct tl_tenants_jobs *jobs; // NULL: one thread of the host does everything
    tl_chip_memory memory;        // RAM of all partitions
    tl_tenants_part parts[TL_MAX_PARTITIONS];
    tl_tenants_vm *vms;
    tl_tenants_account *accounts;
    uint32_t n_accounts;
    tl_tenants_file *files; // opened for contexts
    uint32_t n_files;
    bool has_begun;           // outputs of the last run are gone
    uint64_t interval_cycles; // 0: none
    uint64_t n_intervals;     // completed
    uint64_t interval_begin, now;
    tl_tenants_counts *previous; // at interval_begin; NULL: the start
    bool must_stop, has_ended;
    tl_end_reason reason;

    const tl_chip_monitor_type *monitor_type; // NULL: none
    const tl_pmu_type *monitor_pmu;           // its design
    tl_chip_monitor *monitor;
    tl_monitor_tenant *tenants;
    uint32_t n_tenants;
    tl_probe shared_units; // "chip.noc" and so on
    uint64_t until;        // no partition may run further now
    bool has_halted;       // a partition came to stand still
    bool is_settling;      // a stop waits until blocks are right
    bool has_readers;      // somebody may read blocks before the run ends
    tl_status failure;     // of the monitor at the end of a run
    tl_error why;
};

// tl_tenants_open. type: stands in for the monitor that the file names; NULL: nothing does.
tl_status tl_tenants_open_with(const tl_tenants_options *options, const tl_chip_monitor_type *type, tl_tenants **ret_tenants,
                               tl_error *err);
// Charges all growth of a partition to the open account. The harts stand at `cycle` or at the first
// boundary after it.
void tl_tenants_charge(tl_tenants *tenants, uint32_t partition, uint64_t cycle);
// The newcomer's threads get the harts at *cycle or, if they left it later, then.
void tl_tenants_enter(tl_tenants *tenants, uint32_t partition, uint64_t *cycle, uint32_t *ret_tag);
// Account of a VM while that context of it has the harts.
uint32_t tl_tenants_account_at(const tl_tenants_vm *vm, uint32_t context);
tl_status tl_tenants_no_memory(tl_error *err);
// The shared units of the chip, "chip.noc" and so on.
TL_MUST_CHECK tl_status tl_tenants_name_shared_units(tl_arena *arena, tl_probe *ret_units, tl_error *err);

#endif
