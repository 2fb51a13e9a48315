// SPDX-License-Identifier: MIT
// System software on the machine: a board around the harts (devices, device tree), firmware, a
// kernel or a bare-metal program, and the loop that runs them. The simulator emulates nothing for
// the guest: traps go to the guest's own handlers.
//
// The address map is that of QEMU's `virt` boards, so that the same images run on both. RISC-V:
// finisher 0x100000, RTC 0x101000, CLINT 0x2000000, PLIC 0xc000000, UART 0x10000000 (irq 10),
// virtio-mmio slots 0x10001000 + 0x1000 k (irq 1 + k), RAM 0x80000000. Where the machine has
// counters of the second level they stand at 0x2010000, as on SiFive's boards. A read
// window stands at 0x7000000. AArch64: arm.c.
#ifndef TL_SYSTEM_SYSTEM_H
#define TL_SYSTEM_SYSTEM_H

#include "dev/devices.h"
#include "machine/machine.h"

// The file with the firmware that is used unless another one is named: for RISC-V OpenSBI's
// fw_jump, as Debian's package opensbi installs it. NULL: the firmware is part of the program.
const char *tl_system_packaged_bios(tl_isa_number isa);

typedef struct tl_system tl_system;

typedef struct tl_system_entry { // what every hart finds at the start
    uint64_t pc, device_tree, firmware_info;
    uint64_t kernel; // where firmware enters it; 0: there is none
} tl_system_entry;

typedef struct tl_system_options { // strings are borrowed until the system is freed
    // Bare: an ELF file entered in machine mode on every hart, with a0 = hart id and a1 = device
    // tree. Else NULL.
    const char *program;
    // Firmware, ELF or raw, at the start of RAM; NULL: that of tl_system_packaged_bios.
    const char *bios;
    // Image or ELF, at RAM + 2 MiB; NULL: none, and `bios` runs alone.
    const char *kernel;
    const char *initrd, *append; // may be NULL
    const char *disk;            // raw image behind virtio block, or NULL
    bool is_disk_writable;       // else writes stay in memory and are lost
    int console_in, console_out; // host descriptors; -1: none
    // Receives the console's output instead of console_out; NULL: console_out does.
    void (*put_console)(void *ctx, const uint8_t *bytes, size_t n);
    uint32_t n_harts; // on the board, from hart 0 on; the others wait for ever. 0: all
    // tl_system_run returns TL_SYSTEM_SPACE when a hart has got another address space.
    bool reports_spaces;
    // Harts of RISC-V have ASIDs, which tell spaces apart. Guests see them.
    bool names_spaces;
    const tl_read_window *window; // of the board, beside its devices; NULL: none
    // A debugger outside of the harts is connected (tl_system_access). Harts that wait, or are
    // halted, let time pass up to the limit of the run.
    bool has_debugger;
    void (*warn)(void *ctx, const char *sentence);
    bool (*wants_stop)(void *ctx);
    void *ctx;
} tl_system_options;

typedef struct tl_system_limits { // as tl_os_limits
    uint64_t until_cycle;         // UINT64_MAX: none
    uint64_t until_instret;       // sum over all harts
    uint64_t break_pc[2];         // TL_NO_LINE: none
    const tl_breaks *breaks;      // any number more; NULL: none
} tl_system_limits;

typedef enum tl_system_stop {
    TL_SYSTEM_LIMIT,
    TL_SYSTEM_BREAK,
    TL_SYSTEM_EXITED, // through the finisher or tohost
    TL_SYSTEM_RESET,  // the guest asked for a restart
    TL_SYSTEM_STUCK,  // every hart waits for an interrupt and nothing will ever send one
    // Hart break_hart stands at the first boundary behind the change. Run again to go on.
    TL_SYSTEM_SPACE,
    // Hart break_hart stands at its clock before a read of `window` that cannot be answered yet.
    TL_SYSTEM_READ,
} tl_system_stop;

typedef struct tl_system_report {
    tl_system_stop stop;
    int32_t exit_status;
    uint32_t break_hart; // TL_SYSTEM_BREAK, TL_SYSTEM_SPACE, TL_SYSTEM_READ
    char message[256];   // "" or one sentence
} tl_system_report;

// Loads everything; errors name the file and what is wrong with it. `machine` is borrowed and
// fresh.
TL_MUST_CHECK tl_status tl_system_new(tl_machine *machine, const tl_system_options *options, tl_system **ret_system, tl_error *err);
void tl_system_free(tl_system *system); // NULL is fine
TL_MUST_CHECK tl_status tl_system_run(tl_system *system, const tl_system_limits *limits, tl_system_report *ret_report, tl_error *err);
// Every hart stands still and idles up to the one furthest ahead. Returns that cycle.
uint64_t tl_system_halt(tl_system *system);
// After a halt: every hart goes on at `cycle`. Devices act at their times.
void tl_system_resume(tl_system *system, uint64_t cycle);
// Names the hart's address space. RISC-V: satp.
uint64_t tl_system_space(const tl_system *system, uint32_t hart);
// A debugger's access of 32 bits to a device, in this cycle. No hart takes part. false: an error
// response.
bool tl_system_access(tl_system *system, uint64_t cycle, uint64_t paddr, bool is_write, uint32_t *value);
// The state between two runs, put back as often as one likes. The machine must be one that
// machine/snapshot.h can save. TL_EINVAL, TL_ENOMEM.
typedef struct tl_system_snapshot tl_system_snapshot;
TL_MUST_CHECK tl_status tl_system_snapshot_take(tl_system *system, tl_system_snapshot **ret_snapshot, tl_error *err);
void tl_system_snapshot_restore(const tl_system_snapshot *snapshot);
void tl_system_snapshot_free(tl_system_snapshot *snapshot); // NULL is fine
bool tl_system_has_written(const tl_system *system);        // to console_out
uint64_t tl_system_now_cycles(const tl_system *system);     // the furthest hart's
// The function of program, kernel or firmware that holds an address; NULL: none that is known.
const char *tl_system_symbol_at(const tl_system *system, uint64_t address, uint64_t *ret_within);
// Address of a symbol of the program, kernel or firmware; TL_ENOENT.
TL_MUST_CHECK tl_status tl_system_symbol(const tl_system *system, const char *name, bool with_prefixes, uint64_t *ret_address,
                                         tl_error *err);

#endif
