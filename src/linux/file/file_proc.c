// SPDX-License-Identifier: MIT
// The texts of /proc and /sys. All values come from the simulated machine. Files that would show
// the host are absent.
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "linux/file/fd.h"
#include "linux/file/virtual.h"
#include "linux/isa.h"
#include "linux/memory/frames.h"
#include "linux/memory/vm_space.h"
#include "linux/perf/perf_event.h"
#include "linux/process/clock.h"

enum { TICKS_PER_S = 100 };

static uint64_t ticks(const tl_os *os, uint64_t cycles) { return tl_os_cycles_to_ns(os, cycles) / (TL_NS_PER_S / TICKS_PER_S); }
static const tl_os *os_of(const tl_proc_subject *subject) { return subject->asker->os; }

// ---- The machine.

static void cpuinfo(tl_strbuf *text, const tl_proc_subject *subject) {
    const tl_machine *machine = os_of(subject)->machine;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        tl_os_isa_of(os_of(subject))->cpuinfo(text, &machine->config, i);
}

static void meminfo(tl_strbuf *text, const tl_proc_subject *subject) {
    const tl_os *os = os_of(subject);
    uint64_t total = (tl_frames_total(os->frames) << TL_PAGE_LOG2) / 1024, used = tl_os_resident_bytes(os) / 1024,
             shm = os->file_system->mem_bytes / 1024;
    uint64_t free = total > used ? total - used : 0;
    tl_strbuf_addf(
        text,
        "MemTotal:       %8" PRIu64 " kB\nMemFree:        %8" PRIu64 " kB\nMemAvailable:   %8" PRIu64
        " kB\nBuffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\nSwapTotal:             0 kB\n"
        "SwapFree:              0 kB\nShmem:          %8" PRIu64 " kB\nHugePages_Total:       0\nHugepagesize:       2048 kB\n",
        total, free, free, shm);
}

static void proc_stat(tl_strbuf *text, const tl_proc_subject *subject) {
    const tl_os *os = os_of(subject);
    uint64_t user = 0, system = 0, idle = 0;
    for (uint32_t i = 0; i < os->machine->n_harts; i++) {
        const tl_hart *h = os->machine->harts[i];
        user += h->now - h->idle_cycles - h->supervisor_cycles;
        system += h->supervisor_cycles;
        idle += h->idle_cycles;
    }
    tl_strbuf_addf(text, "cpu  %" PRIu64 " 0 %" PRIu64 " %" PRIu64 " 0 0 0 0 0 0\n", ticks(os, user), ticks(os, system), ticks(os, idle));
    for (uint32_t i = 0; i < os->machine->n_harts; i++) {
        const tl_hart *h = os->machine->harts[i];
        tl_strbuf_addf(text, "cpu%u %" PRIu64 " 0 %" PRIu64 " %" PRIu64 " 0 0 0 0 0 0\n", i,
                       ticks(os, h->now - h->idle_cycles - h->supervisor_cycles), ticks(os, h->supervisor_cycles),
                       ticks(os, h->idle_cycles));
    }
    uint64_t n_running = 0;
    for (const tl_process *p = tl_process_first(os); p; p = p->next)
        for (const tl_thread *t = p->threads; t; t = t->next_in_process)
            n_running += t->state == TL_THREAD_READY || t->state == TL_THREAD_RUNNING;
    tl_strbuf_addf(text, "intr 0\nctxt 0\nbtime %" PRIu64 "\nprocesses %d\nprocs_running %" PRIu64 "\nprocs_blocked 0\nsoftirq 0\n",
                   TL_REALTIME_START_S, os->next_pid - TL_FIRST_PID, n_running);
}

static void uptime(tl_strbuf *text, const tl_proc_subject *subject) {
    const tl_os *os = os_of(subject);
    uint64_t now = tl_os_now_ns(os) / 10000000, idle = 0;
    for (uint32_t i = 0; i < os->machine->n_harts; i++)
        idle += ticks(os, os->machine->harts[i]->idle_cycles);
    tl_strbuf_addf(text, "%" PRIu64 ".%02u %" PRIu64 ".%02u\n", now / 100, (unsigned)(now % 100), idle / 100, (unsigned)(idle % 100));
}

static void loadavg(tl_strbuf *text, const tl_proc_subject *subject) {
    uint32_t n_running = 0, n = 0;
    for (const tl_process *p = tl_process_first(os_of(subject)); p; p = p->next)
        for (const tl_thread *t = p->threads; t; t = t->next_in_process) {
            n++;
            n_running += t->state == TL_THREAD_READY || t->state == TL_THREAD_RUNNING;
        }
    tl_strbuf_addf(text, "0.00 0.00 0.00 %u/%u %d\n", n_running, n, os_of(subject)->next_pid - 1);
}

static void fixed(tl_strbuf *text, const tl_proc_subject *subject, const char *line) {
    (void)subject;
    tl_strbuf_add(text, line);
}

#define FIXED(name, line) \
    static void name(tl_strbuf *text, const tl_proc_subject *subject) { fixed(text, subject, line); }
FIXED(version, "Linux version 6.1.0 (tally) #1 SMP\n")
FIXED(filesystems, "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tdevtmpfs\nnodev\tpipefs\nnodev\tsockfs\n\text4\n")
FIXED(mounts, "/dev/root / ext4 rw,relatime 0 0\ndevtmpfs /dev devtmpfs rw,relatime 0 0\ntmpfs /dev/shm tmpfs rw,relatime 0 0\n"
              "proc /proc proc rw,relatime 0 0\nsysfs /sys sysfs rw,relatime 0 0\n")
FIXED(mountinfo, "1 0 8:1 / / rw,relatime - ext4 /dev/root rw\n2 1 0:5 / /dev rw,relatime - devtmpfs devtmpfs rw\n"
                 "3 2 0:22 / /dev/shm rw,relatime - tmpfs tmpfs rw\n4 1 0:20 / /proc rw,relatime - proc proc rw\n"
                 "5 1 0:21 / /sys rw,relatime - sysfs sysfs rw\n")
FIXED(ostype, "Linux\n")
FIXED(osrelease, "6.1.0\n")
FIXED(os_version, "#1 SMP\n")
FIXED(hostname, "tally\n")
FIXED(domainname, "(none)\n")
FIXED(pid_max, "4194304\n")
FIXED(ngroups_max, "65536\n")
FIXED(cap_last_cap, "40\n")
FIXED(threads_max, "65536\n")
FIXED(entropy, "256\n")
FIXED(overcommit, "1\n")
FIXED(max_map_count, "1048576\n")
FIXED(mmap_min, "65536\n")
FIXED(pipe_max, "1048576\n")
FIXED(file_max, "1048576\n")
FIXED(somaxconn, "4096\n")
FIXED(empty, "")
FIXED(zero, "0\n")
FIXED(passwd, "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
FIXED(group, "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n")
FIXED(hosts, "127.0.0.1 localhost tally\n::1 localhost\n")
FIXED(nsswitch, "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n")
FIXED(thp, "always madvise [never]\n")
#undef FIXED

static void uuid(tl_strbuf *text, const uint8_t *b) {
    for (int i = 0; i < 16; i++)
        tl_strbuf_addf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       i == 6   ? (b[i] & 15u) | 64u
                       : i == 8 ? (b[i] & 63u) | 128u
                                : b[i]);
    tl_strbuf_add(text, "\n");
}

static void random_uuid(tl_strbuf *text, const tl_proc_subject *subject) {
    uint8_t bytes[16];
    tl_os_random(subject->asker->os, bytes, sizeof bytes);
    uuid(text, bytes);
}

static void boot_id(tl_strbuf *text, const tl_proc_subject *subject) {
    uint8_t bytes[16] = "tally";
    uint64_t seed = os_of(subject)->machine->config.seed;
    memcpy(bytes + 8, &seed, sizeof seed);
    uuid(text, bytes);
}

static void cpus(tl_strbuf *text, const tl_proc_subject *subject) {
    uint32_t n = os_of(subject)->machine->n_harts;
    if (n > 1)
        tl_strbuf_addf(text, "0-%u\n", n - 1);
    else
        tl_strbuf_add(text, "0\n");
}

static void kernel_max(tl_strbuf *text, const tl_proc_subject *subject) {
    (void)subject;
    tl_strbuf_addf(text, "%d\n", TL_MAX_HARTS - 1);
}

// ---- perf_event_open: limits, and the devices whose events it takes.

#define NUMBER(name, value)                                             \
    static void name(tl_strbuf *text, const tl_proc_subject *subject) { \
        (void)subject;                                                  \
        tl_strbuf_addf(text, "%d\n", value);                            \
    }
// Value of Linux with 250 ticks a second. libpfm4 takes a device that has this file for a device of
// events.
NUMBER(perf_paranoid, TL_PEV_PARANOID)
NUMBER(perf_max_rate, TL_PEV_MAX_RATE)
NUMBER(perf_max_stack, TL_PEV_MAX_STACK)
NUMBER(perf_mlock, TL_PEV_MLOCK_KIB)
NUMBER(perf_turn_ms, 4)
NUMBER(type_raw, PERF_TYPE_RAW)
NUMBER(type_software, PERF_TYPE_SOFTWARE)
#undef NUMBER

static void format_event(tl_strbuf *text, const tl_proc_subject *subject) {
    (void)subject;
    tl_strbuf_add(text, "config:0-47\n");
}

// Selector by which the machine's own PMU counts a generic event, whose number is the SBI's. NULL:
// it cannot.
static const tl_pmu_tree_event *selector_of(const tl_os *os, uint32_t event) {
    const tl_pmu_tree *tree = tl_machine_pmu_tree(os->machine);
    for (uint32_t i = 0; tree && i < tree->n_events; i++)
        if (tree->events[i].event == event)
            return &tree->events[i];
    return NULL;
}

#define PMU_EVENT(name, event)                                                                       \
    static void name(tl_strbuf *text, const tl_proc_subject *subject) {                              \
        tl_strbuf_addf(text, "event=0x%" PRIx64 "\n", selector_of(os_of(subject), event)->selector); \
    }
PMU_EVENT(pmu_cycles, 1)
PMU_EVENT(pmu_instructions, 2)
PMU_EVENT(pmu_cache_references, 3)
PMU_EVENT(pmu_cache_misses, 4)
PMU_EVENT(pmu_branches, 5)
PMU_EVENT(pmu_branch_misses, 6)
#undef PMU_EVENT

bool tl_proc_is_there(const tl_os *os, const tl_proc_row *row) {
    static tl_proc_text_fn *const by_event[] = {NULL,         pmu_cycles,       pmu_instructions, pmu_cache_references, pmu_cache_misses,
                                                pmu_branches, pmu_branch_misses};
    for (uint32_t event = 1; event < TL_COUNT_OF(by_event); event++)
        if (row->make == by_event[event])
            return selector_of(os, event) != NULL;
    return true;
}

#define CPU "/sys/bus/event_source/devices/cpu/"
const tl_proc_row tl_proc_rows[] = {
    {"/etc/group", group},
    {"/etc/hostname", hostname},
    {"/etc/hosts", hosts},
    {"/etc/nsswitch.conf", nsswitch},
    {"/etc/passwd", passwd},
    {"/proc/cpuinfo", cpuinfo},
    {"/proc/filesystems", filesystems},
    {"/proc/loadavg", loadavg},
    {"/proc/meminfo", meminfo},
    {"/proc/stat", proc_stat},
    {"/proc/sys/fs/file-max", file_max},
    {"/proc/sys/fs/nr_open", file_max},
    {"/proc/sys/fs/pipe-max-size", pipe_max},
    {"/proc/sys/kernel/cap_last_cap", cap_last_cap},
    {"/proc/sys/kernel/domainname", domainname},
    {"/proc/sys/kernel/hostname", hostname},
    {"/proc/sys/kernel/ngroups_max", ngroups_max},
    {"/proc/sys/kernel/osrelease", osrelease},
    {"/proc/sys/kernel/ostype", ostype},
    {"/proc/sys/kernel/perf_event_max_sample_rate", perf_max_rate},
    {"/proc/sys/kernel/perf_event_max_stack", perf_max_stack},
    {"/proc/sys/kernel/perf_event_mlock_kb", perf_mlock},
    {"/proc/sys/kernel/perf_event_paranoid", perf_paranoid},
    {"/proc/sys/kernel/pid_max", pid_max},
    {"/proc/sys/kernel/random/boot_id", boot_id},
    {"/proc/sys/kernel/random/entropy_avail", entropy},
    {"/proc/sys/kernel/random/uuid", random_uuid},
    {"/proc/sys/kernel/threads-max", threads_max},
    {"/proc/sys/kernel/version", os_version},
    {"/proc/sys/net/core/somaxconn", somaxconn},
    {"/proc/sys/vm/max_map_count", max_map_count},
    {"/proc/sys/vm/mmap_min_addr", mmap_min},
    {"/proc/sys/vm/overcommit_memory", overcommit},
    {"/proc/uptime", uptime},
    {"/proc/version", version},
    {"/proc/mounts", mounts},
    {CPU "events/branch-misses", pmu_branch_misses},
    {CPU "events/branches", pmu_branches},
    {CPU "events/cache-misses", pmu_cache_misses},
    {CPU "events/cache-references", pmu_cache_references},
    {CPU "events/cpu-cycles", pmu_cycles},
    {CPU "events/instructions", pmu_instructions},
    {CPU "format/event", format_event},
    {CPU "perf_event_mux_interval_ms", perf_turn_ms},
    {CPU "type", type_raw},
    {"/sys/bus/event_source/devices/software/perf_event_mux_interval_ms", zero},
    {"/sys/bus/event_source/devices/software/type", type_software},
    {"/sys/devices/system/cpu/kernel_max", kernel_max},
    {"/sys/devices/system/cpu/online", cpus},
    {"/sys/devices/system/cpu/possible", cpus},
    {"/sys/devices/system/cpu/present", cpus},
    {"/sys/kernel/mm/transparent_hugepage/enabled", thp},
    {"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", zero},
    {.name = NULL},
};
#undef CPU

// ---- A process.

static char state_of(const tl_process *p, const tl_thread *t) {
    if (p->is_zombie || !t)
        return 'Z';
    switch (t->state) {
    case TL_THREAD_READY:
    case TL_THREAD_RUNNING: return 'R';
    case TL_THREAD_STOPPED: return 'T';
    case TL_THREAD_DEAD: return 'X';
    case TL_THREAD_SLEEPING: break;
    }
    return 'S';
}

static const tl_thread *thread_of(const tl_proc_subject *subject) { return subject->thread ? subject->thread : subject->process->threads; }

static void comm(tl_strbuf *text, const tl_proc_subject *subject) {
    const tl_thread *t = thread_of(subject);
    tl_strbuf_addf(text, "%s\n", t ? t->comm : "");
}

static void copy_memory(tl_strbuf *text, tl_process *p, uint64_t start, uint64_t end) {
    char bytes[4096];
    while (start < end) {
        size_t n = end - start < sizeof bytes ? (size_t)(end - start) : sizeof bytes;
        if (!p->vm || !tl_vm_read(p, start, bytes, n))
            return;
        tl_strbuf_add_n(text, bytes, n);
        start += n;
    }
}

static void cmdline(tl_strbuf *text, const tl_proc_subject *subject) {
    copy_memory(text, subject->process, subject->process->arg_start, subject->process->arg_end);
}
static void environ_text(tl_strbuf *text, const tl_proc_subject *subject) {
    copy_memory(text, subject->process, subject->process->env_start, subject->process->env_end);
}
static void auxv(tl_strbuf *text, const tl_proc_subject *subject) {
    copy_memory(text, subject->process, subject->process->auxv_start, subject->process->auxv_end);
}

static void maps(tl_strbuf *text, const tl_proc_subject *subject) {
    const tl_vm *vm = subject->process->vm;
    for (const tl_vma *area = vm ? tl_vm_first(vm) : NULL; area; area = area->next) {
        uint64_t device = 0, inode = 0;
        const char *name = "";
        if (area->file) {
            tl_file_identity(area->file, &device, &inode);
            name = tl_file_path(area->file);
        }
        switch ((tl_vma_kind)area->kind) {
        case TL_VMA_STACK: name = "[stack]"; break;
        case TL_VMA_HEAP: name = "[heap]"; break;
        case TL_VMA_TRAMPOLINE: name = "[vdso]"; break;
        case TL_VMA_ANON:
        case TL_VMA_DEVICE:
        case TL_VMA_FILE: break;
        }
        size_t start = text->n_bytes;
        tl_strbuf_addf(text, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64 " ", area->start, area->end,
                       area->prot & TL_PROT_READ ? 'r' : '-', area->prot & TL_PROT_WRITE ? 'w' : '-', area->prot & TL_PROT_EXEC ? 'x' : '-',
                       area->is_shared ? 's' : 'p', area->file ? area->offset : 0, tl_device_major(device), tl_device_minor(device), inode);
        while (name[0] && text->n_bytes - start < 73 && !text->has_failed)
            tl_strbuf_add_char(text, ' ');
        tl_strbuf_addf(text, "%s\n", name);
    }
}

static uint64_t resident_pages(const tl_process *p) { return p->vm ? tl_vm_resident_bytes(p->vm) >> TL_PAGE_LOG2 : 0; }
static uint64_t mapped_bytes(const tl_process *p) { return p->vm ? tl_vm_mapped_bytes(p->vm) : 0; }

static void signal_masks(const tl_process *p, uint64_t *ret_ignored, uint64_t *ret_caught) {
    *ret_ignored = *ret_caught = 0;
    for (int signal = 1; p->actions && signal <= TL_N_SIGNALS; signal++) {
        uint64_t handler = p->actions->action[signal].handler;
        if (handler == 1)
            *ret_ignored |= tl_signal_bit(signal);
        else if (handler != 0)
            *ret_caught |= tl_signal_bit(signal);
    }
}

static void stat_text(tl_strbuf *text, const tl_proc_subject *subject) {
    const tl_process *p = subject->process;
    const tl_thread *t = thread_of(subject);
    const tl_os *os = p->os;
    uint64_t user, system, ignored, caught;
    if (subject->thread)
        tl_thread_times(subject->thread, &user, &system);
    else
        tl_process_times(p, &user, &system);
    signal_masks(p, &ignored, &caught);
    const tl_vm *vm = p->vm;
    tl_strbuf_addf(text, "%d (%s) %c %d %d %d 0 -1 4194304 %" PRIu64 " %" PRIu64 " 0 0 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
                   t ? t->tid : p->pid, t ? t->comm : "", state_of(p, t), p->parent ? p->parent->pid : TL_INIT_PID, p->pgid, p->sid,
                   p->minor_faults, p->child_minor_faults, ticks(os, user), ticks(os, system), ticks(os, p->child_user_cycles),
                   ticks(os, p->child_system_cycles));
    tl_strbuf_addf(text, " %d %d %u 0 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " 0 0 0 0 0", 20 + (t ? t->nice : 0), t ? t->nice : 0,
                   p->n_threads, ticks(os, p->start_cycle), mapped_bytes(p), resident_pages(p), p->limits[RLIMIT_RSS].soft);
    tl_strbuf_addf(text, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " 0 0 0 %d %d 0 0 0 0 0", t ? t->pending.mask : 0,
                   t ? t->blocked : 0, ignored, caught, p->exit_signal, t && t->last_hart > 0 ? t->last_hart : 0);
    tl_strbuf_addf(text, " 0 0 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n", vm ? vm->brk_start : 0, p->arg_start,
                   p->arg_end, p->env_start, p->env_end, p->is_zombie ? p->exit_status : 0);
}

static void statm(tl_strbuf *text, const tl_proc_subject *subject) {
    const tl_process *p = subject->process;
    uint64_t n_text = 0, n_data = 0;
    for (const tl_vma *area = p->vm ? tl_vm_first(p->vm) : NULL; area; area = area->next) {
        uint64_t n = (area->end - area->start) >> TL_PAGE_LOG2;
        n_text += area->prot & TL_PROT_EXEC ? n : 0;
        n_data += area->prot & TL_PROT_WRITE && !area->is_shared ? n : 0;
    }
    tl_strbuf_addf(text, "%" PRIu64 " %" PRIu64 " 0 %" PRIu64 " 0 %" PRIu64 " 0\n", mapped_bytes(p) >> TL_PAGE_LOG2, resident_pages(p),
                   n_text, n_data);
}

static void status_text(tl_strbuf *text, const tl_proc_subject *subject) {
    static const char *const names[] = {"R (running)", "S (sleeping)", "T (stopped)", "Z (zombie)", "X (dead)"};
    const tl_process *p = subject->process;
    const tl_thread *t = thread_of(subject);
    uint64_t ignored, caught, n_pending = 0;
    const char *state = names[0];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i][0] == state_of(p, t))
            state = names[i];
    signal_masks(p, &ignored, &caught);
    for (const tl_queued_signal *q = p->pending.first; q; q = q->next)
        n_pending++;
    tl_strbuf_addf(text, "Name:\t%s\nUmask:\t%04o\nState:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n", t ? t->comm : "",
                   t && t->fs ? t->fs->umask : 0, state, p->pid, t ? t->tid : p->pid, p->parent ? p->parent->pid : TL_INIT_PID);
    tl_strbuf_addf(text, "Uid:\t%d\t%d\t%d\t%d\nGid:\t%d\t%d\t%d\t%d\nFDSize:\t%u\nGroups:\t%d \n", TL_UID, TL_UID, TL_UID, TL_UID, TL_GID,
                   TL_GID, TL_GID, TL_GID, t && t->files ? t->files->capacity : 0, TL_GID);
    uint64_t resident = resident_pages(p) * (TL_PAGE_BYTES / 1024), mapped = mapped_bytes(p) / 1024;
    uint64_t peak = p->max_resident_bytes / 1024;
    tl_strbuf_addf(text,
                   "VmPeak:\t%8" PRIu64 " kB\nVmSize:\t%8" PRIu64 " kB\nVmHWM:\t%8" PRIu64 " kB\nVmRSS:\t%8" PRIu64
                   " kB\nVmSwap:\t       0 kB\n",
                   mapped, mapped, peak > resident ? peak : resident, resident);
    tl_strbuf_addf(text,
                   "Threads:\t%u\nSigQ:\t%" PRIu64 "/65536\nSigPnd:\t%016" PRIx64 "\nShdPnd:\t%016" PRIx64 "\nSigBlk:\t%016" PRIx64
                   "\nSigIgn:\t%016" PRIx64 "\nSigCgt:\t%016" PRIx64 "\n",
                   p->n_threads, n_pending, t ? t->pending.mask : 0, p->pending.mask, t ? t->blocked : 0, ignored, caught);
    tl_strbuf_add(text, "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
                        "CapAmb:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t0\n");
    tl_strbuf_addf(text, "Cpus_allowed:\t%02" PRIx64 "\nCpus_allowed_list:\t", t ? t->affinity : 0);
    const char *comma = "";
    for (uint32_t i = 0; t && i < p->os->machine->n_harts; i++)
        if (t->affinity >> i & 1) {
            tl_strbuf_addf(text, "%s%u", comma, i);
            comma = ",";
        }
    tl_strbuf_addf(text, "\nvoluntary_ctxt_switches:\t%" PRIu64 "\nnonvoluntary_ctxt_switches:\t%" PRIu64 "\n",
                   t ? t->voluntary_switches : 0, t ? t->involuntary_switches : 0);
}

static void limits(tl_strbuf *text, const tl_proc_subject *subject) {
    static const struct {
        const char *name, *unit;
    } rows[16] = {
        {"Max cpu time", "seconds"},     {"Max file size", "bytes"},     {"Max data size", "bytes"},     {"Max stack size", "bytes"},
        {"Max core file size", "bytes"}, {"Max resident set", "bytes"},  {"Max processes", "processes"}, {"Max open files", "files"},
        {"Max locked memory", "bytes"},  {"Max address space", "bytes"}, {"Max file locks", "locks"},    {"Max pending signals", "signals"},
        {"Max msgqueue size", "bytes"},  {"Max nice priority", ""},      {"Max realtime priority", ""},  {"Max realtime timeout", "us"},
    };
    tl_strbuf_addf(text, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
    for (int i = 0; i < 16; i++) {
        const tl_rlimit *limit = &subject->process->limits[i];
        tl_strbuf_addf(text, "%-25s ", rows[i].name);
        for (int hard = 0; hard < 2; hard++) {
            uint64_t value = hard ? limit->hard : limit->soft;
            if (value == UINT64_MAX)
                tl_strbuf_addf(text, "%-20s ", "unlimited");
            else
                tl_strbuf_addf(text, "%-20" PRIu64 " ", value);
        }
        tl_strbuf_addf(text, "%-10s\n", rows[i].unit);
    }
}

static void children(tl_strbuf *text, const tl_proc_subject *subject) {
    for (const tl_process *child = subject->process->first_child; child; child = child->next_sibling)
        tl_strbuf_addf(text, "%d ", child->pid);
}

const tl_proc_row tl_proc_process_rows[] = {
    {"auxv", auxv},          {"cmdline", cmdline}, {"comm", comm},           {"environ", environ_text},
    {"limits", limits},      {"maps", maps},       {"mountinfo", mountinfo}, {"mounts", mounts},
    {"oom_score_adj", zero}, {"stat", stat_text},  {"statm", statm},         {"status", status_text},
    {"wchan", empty},        {.name = NULL},
};

const tl_proc_row tl_proc_task_rows[] = {
    {"children", children}, {"comm", comm}, {"maps", maps}, {"stat", stat_text}, {"statm", statm}, {"status", status_text}, {.name = NULL},
};
