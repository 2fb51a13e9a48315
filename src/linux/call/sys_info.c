// SPDX-License-Identifier: MIT
// Calls about the system: names, sizes, randomness, and calls that need privileges.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "linux/file/file_system.h"
#include "linux/isa.h"
#include "linux/memory/frames.h"
#include "linux/process/clock.h"

int64_t tl_sys_uname(tl_thread *t, const uint64_t args[6]) {
    struct utsname names = {.sysname = "Linux", .nodename = "tally", .release = "6.1.0", .version = "#1 SMP", .domainname = "(none)"};
    snprintf(names.machine, sizeof names.machine, "%s", tl_os_isa_of(t->os)->machine);
    return tl_vm_write(t->process, args[0], &names, sizeof names) ? 0 : -EFAULT;
}

typedef struct abi_sysinfo {
    int64_t uptime;
    uint64_t loads[3], total_ram, free_ram, shared_ram, buffer_ram, total_swap, free_swap;
    uint16_t n_processes, pad;
    uint64_t total_high, free_high;
    uint32_t unit, pad2;
} abi_sysinfo;
_Static_assert(sizeof(abi_sysinfo) == 112, "struct sysinfo");

int64_t tl_sys_sysinfo(tl_thread *t, const uint64_t args[6]) {
    const tl_os *os = t->os;
    uint64_t used = tl_os_resident_bytes(os), total = tl_frames_total(os->frames) << TL_PAGE_LOG2;
    abi_sysinfo out = {
        .uptime = (int64_t)(tl_os_now_ns(os) / TL_NS_PER_S), .total_ram = total, .free_ram = total > used ? total - used : 0, .unit = 1};
    out.shared_ram = os->file_system->mem_bytes;
    for (const tl_process *p = tl_process_first(os); p; p = p->next)
        out.n_processes = (uint16_t)(out.n_processes + p->n_threads);
    return tl_vm_write(t->process, args[0], &out, sizeof out) ? 0 : -EFAULT;
}

int64_t tl_sys_getrandom(tl_thread *t, const uint64_t args[6]) {
    uint64_t n = args[1] < TL_MAX_RW_BYTES ? args[1] : TL_MAX_RW_BYTES, done = 0;
    if (args[2] & ~UINT64_C(7) || (args[2] & 6) == 6)
        return -EINVAL;
    while (done < n) {
        size_t part;
        uint8_t *bytes = tl_vm_span(t->process, args[0] + done, n - done, true, &part);
        if (!bytes)
            return done ? (int64_t)done : -EFAULT;
        tl_os_random(t->os, bytes, part);
        done += part;
        if (tl_os_wants_stop(t->os))
            break;
    }
    return (int64_t)done;
}

int64_t tl_sys_personality(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    // PER_LINUX is the only personality. Its flags change nothing here.
    return args[0] & 0xff && (uint32_t)args[0] != UINT32_MAX ? -EINVAL : 0;
}

int64_t tl_sys_capget(tl_thread *t, const uint64_t args[6]) {
    enum { VERSION = 0x20080522 };
    uint32_t header[2], none[6] = {0};
    if (!tl_vm_read(t->process, args[0], header, sizeof header))
        return -EFAULT;
    if (header[0] != VERSION) {
        header[0] = VERSION;
        if (!tl_vm_write(t->process, args[0], header, sizeof header))
            return -EFAULT;
        return args[1] ? -EINVAL : 0;
    }
    if ((int32_t)header[1] < 0)
        return -EINVAL;
    if (header[1] && !tl_process_find(t->os, (int32_t)header[1]))
        return -ESRCH;
    return !args[1] || tl_vm_write(t->process, args[1], none, sizeof none) ? 0 : -EFAULT;
}

int64_t tl_sys_setfsuid(tl_thread *t, const uint64_t args[6]) {
    (void)t, (void)args;
    return TL_UID;
}

int64_t tl_sys_setfsgid(tl_thread *t, const uint64_t args[6]) {
    (void)t, (void)args;
    return TL_GID;
}

int64_t tl_sys_ioprio(tl_thread *t, const uint64_t args[6]) {
    (void)t, (void)args;
    return 0;
}

int64_t tl_sys_denied(tl_thread *t, const uint64_t args[6]) {
    (void)t, (void)args;
    return -EPERM;
}

int64_t tl_sys_restart_syscall(tl_thread *t, const uint64_t args[6]) {
    (void)t, (void)args;
    return -EINTR;
}
