// SPDX-License-Identifier: MIT
// wait4 and waitid find a child whose state changed. They search children in order of creation.
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "linux/call/syscall.h"
#include "linux/file/fd.h"
#include "linux/os_internal.h"
#include "linux/process/rusage.h"

typedef struct wanted {
    int64_t pid; // > 0: this one; 0: any; < 0: of the group -pid
    uint64_t options;
} wanted;

static bool is_wanted(const tl_process *child, const wanted *w) {
    if (w->pid > 0 ? child->pid != w->pid : w->pid < 0 && child->pgid != -w->pid)
        return false;
    bool is_clone = child->exit_signal != SIGCHLD;
    return (w->options & __WALL) || is_clone == ((w->options & __WCLONE) != 0);
}

typedef struct news { // of a child
    tl_process *child;
    int32_t code, status; // CLD_*, and the wait status
} news;

static bool has_news(tl_process *child, uint64_t options, news *ret_news) {
    if (child->is_zombie && (options & WEXITED)) {
        *ret_news = (news){child, (child->exit_status & 0x7f) == 0 ? CLD_EXITED : CLD_KILLED, child->exit_status};
        return true;
    }
    if (child->is_stopped && !child->is_stop_reported && (options & WSTOPPED)) {
        *ret_news = (news){child, CLD_STOPPED, child->stop_signal << 8 | 0x7f};
        if (!(options & WNOWAIT))
            child->is_stop_reported = true;
        return true;
    }
    if (child->is_continued && (options & WCONTINUED)) {
        *ret_news = (news){child, CLD_CONTINUED, 0xffff};
        if (!(options & WNOWAIT))
            child->is_continued = false;
        return true;
    }
    return false;
}

// 1: *ret_news; 0: nothing yet and WNOHANG; -ECHILD, or TL_SYS_BLOCK.
static int64_t find_news(tl_thread *t, const wanted *w, news *ret_news) {
    bool is_any = false;
    for (tl_process *child = t->process->first_child; child; child = child->next_sibling) {
        if (!is_wanted(child, w))
            continue;
        is_any = true;
        if (has_news(child, w->options, ret_news))
            return 1;
    }
    if (!is_any)
        return -ECHILD;
    if (w->options & WNOHANG)
        return 0;
    tl_wait_on(t, &t->process->child_wait, "a child");
    return tl_sys_block(t, -TL_ERESTARTSYS);
}

static bool write_rusage(tl_thread *t, uint64_t vaddr, const tl_process *child) {
    tl_guest_rusage usage = tl_rusage_of_process(child, true);
    return tl_vm_write(t->process, vaddr, &usage, sizeof usage);
}

int64_t tl_sys_wait4(tl_thread *t, const uint64_t args[6]) {
    int32_t pid = (int32_t)args[0];
    if (args[2] & ~(uint64_t)(WNOHANG | WUNTRACED | WCONTINUED | __WNOTHREAD | __WCLONE | __WALL) & UINT32_MAX)
        return -EINVAL;
    if (pid == INT32_MIN)
        return -ESRCH;
    wanted w = {.pid = pid == -1 ? 0 : pid == 0 ? -(int64_t)t->process->pgid : pid, .options = args[2] | WEXITED};
    news n;
    int64_t result = find_news(t, &w, &n);
    if (result != 1)
        return result;
    int32_t reported = n.child->pid;
    bool is_written = !args[1] || tl_vm_write(t->process, args[1], &n.status, sizeof n.status);
    is_written = is_written && (!args[3] || write_rusage(t, args[3], n.child));
    if (n.child->is_zombie)
        tl_process_reap(n.child);
    return is_written ? reported : -EFAULT;
}

int64_t tl_sys_waitid(tl_thread *t, const uint64_t args[6]) {
    int32_t id = (int32_t)args[1];
    uint64_t options = args[3];
    wanted w = {.options = options};
    if ((options & ~(uint64_t)(WNOHANG | WEXITED | WSTOPPED | WCONTINUED | WNOWAIT | __WNOTHREAD | __WCLONE | __WALL)) ||
        !(options & (WEXITED | WSTOPPED | WCONTINUED)))
        return -EINVAL;
    switch ((int)args[0]) {
    case P_ALL: w.pid = 0; break;
    case P_PID:
        if (id <= 0)
            return -EINVAL;
        w.pid = id;
        break;
    case P_PGID:
        if (id < 0)
            return -EINVAL;
        w.pid = -(int64_t)(id ? id : t->process->pgid);
        break;
    case P_PIDFD: {
        const tl_file *file = tl_file_of_fd(t, id);
        int32_t pid = file ? tl_pidfd_pid(file) : -EBADF;
        if (pid < 0)
            return pid;
        w.pid = pid;
        break;
    }
    default: return -EINVAL;
    }
    news n;
    int64_t result = find_news(t, &w, &n);
    if (result < 0)
        return result;
    tl_siginfo info = {0};
    bool is_written = true;
    if (result == 1) {
        info = (tl_siginfo){.signo = SIGCHLD,
                            .code = n.code,
                            .pid = n.child->pid,
                            .uid = TL_UID,
                            .status = n.code == CLD_EXITED      ? n.status >> 8 & 0xff
                                      : n.code == CLD_KILLED    ? n.status & 0x7f
                                      : n.code == CLD_CONTINUED ? SIGCONT
                                                                : n.status >> 8 & 0xff};
        is_written = !args[4] || write_rusage(t, args[4], n.child);
        if (n.child->is_zombie && !(options & WNOWAIT))
            tl_process_reap(n.child);
    }
    if (args[2]) // signo, errno, code, pid, uid, status: not the whole union
        is_written = is_written && tl_vm_write(t->process, args[2], &info, 12) && tl_vm_write(t->process, args[2] + 16, &info.pid, 12);
    return is_written ? 0 : -EFAULT;
}
