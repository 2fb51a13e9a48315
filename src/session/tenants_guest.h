// SPDX-License-Identifier: MIT
// The software of a VM: programs under the modeled kernel, or a board of its own with firmware and
// kernel. Both stop and go on at the steps of a switch, and report as linux/os.h does.
//
// A board stands at the addresses of QEMU's `virt`. The partition unit relocates its RAM to the
// window of its partition in the chip's memory. Its contexts are address spaces, found by the name
// that a hart's translation has (RISC-V: satp). Context 0 is the time without translation.
#ifndef TL_SESSION_TENANTS_GUEST_H
#define TL_SESSION_TENANTS_GUEST_H

#include "session/tenants_state.h"

struct tl_tenants_guest_type {
    // Loads the VM onto its partition. A failure names file and line.
    TL_MUST_CHECK tl_status (*load)(tl_tenants *t, tl_tenants_vm *v, tl_error *err);
    // As tl_os_run, until every hart has reached the cycle.
    TL_MUST_CHECK tl_status (*run)(tl_tenants_vm *v, uint64_t until_cycle, tl_os_report *ret_report, tl_error *err);
    // As tl_os_begin_ahead. NULL: never.
    bool (*begin_ahead)(tl_tenants_vm *v, uint64_t until_cycle);
    // The read of TL_OS_READ can be answered now: the monitor stands at its cycle. NULL: there are
    // no reads.
    void (*answer)(tl_tenants_vm *v);
    // As tl_os_halt, tl_os_leave, tl_os_enter, tl_os_wait, tl_os_context, tl_os_context_has_ended.
    uint64_t (*halt)(tl_tenants_vm *v);
    void (*leave)(tl_tenants_vm *v);
    uint64_t (*enter)(tl_tenants_vm *v, uint32_t context, uint64_t cycle);
    void (*wait)(tl_tenants_vm *v, uint32_t hart, uint64_t cycle);
    uint32_t (*context)(const tl_tenants_vm *v);
    bool (*has_ended)(const tl_tenants_vm *v, uint32_t context, tl_os_report *ret_report);
    // The program of a context, for reports. NULL: no memory.
    const char *(*program)(const tl_tenants_vm *v, uint32_t context, tl_arena *arena);
    void (*free)(tl_tenants_vm *v); // also of a VM that was not loaded
};
extern const tl_tenants_guest_type tl_tenants_programs, tl_tenants_board;

// Callbacks of what the VM runs on; ctx is the tl_tenants_vm.
void tl_tenants_warn(void *vm, const char *sentence);
bool tl_tenants_wants_stop(void *vm);
// A failure to load, with file and line in front.
tl_status tl_tenants_fail_on(const tl_tenants *t, uint32_t line, tl_status status, const tl_error *why, tl_error *err);
// Opens what a key of the file names, to read (fd 0) or to write; it is closed at the end. Messages
// name the key and its owner: "`what` of `of`".
TL_MUST_CHECK tl_status tl_tenants_open_fd(tl_tenants *t, const char *path, int fd, uint32_t line, const char *what, const char *of,
                                           int *ret_fd, tl_error *err);

#endif
