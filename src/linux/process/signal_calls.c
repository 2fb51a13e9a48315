// SPDX-License-Identifier: MIT
// System calls about signals.
#include <string.h>

#include "linux/call/syscall.h"
#include "linux/isa.h"
#include "linux/os_internal.h"

enum { SIGSET_BYTES = 8 };

// struct sigaction of the kernel: handler, flags, sa_restorer where there is one, mask.
static bool read_action(tl_thread *t, uint64_t vaddr, tl_sigaction *ret_action) {
    uint64_t words[4];
    const bool has_restorer = tl_os_isa_of(t->os)->has_restorer;
    if (!tl_vm_read(t->process, vaddr, words, has_restorer ? 32 : 24))
        return false;
    *ret_action = (tl_sigaction){
        .handler = words[0], .flags = words[1], .mask = words[has_restorer ? 3 : 2], .restorer = has_restorer ? words[2] : 0};
    return true;
}

static bool write_action(tl_thread *t, uint64_t vaddr, const tl_sigaction *action) {
    const bool has_restorer = tl_os_isa_of(t->os)->has_restorer;
    const uint64_t words[4] = {action->handler, action->flags, has_restorer ? action->restorer : action->mask, action->mask};
    return tl_vm_write(t->process, vaddr, words, has_restorer ? 32 : 24);
}

int64_t tl_sys_rt_sigaction(tl_thread *t, const uint64_t args[6]) {
    int signal = (int)args[0];
    tl_sigaction wanted = {0};
    if (args[3] != SIGSET_BYTES || signal < 1 || signal > TL_N_SIGNALS || (args[1] && (signal == SIGKILL || signal == SIGSTOP)))
        return -EINVAL;
    if (args[1] && !read_action(t, args[1], &wanted))
        return -EFAULT;
    tl_sigaction *action = &t->process->actions->action[signal], old = *action;
    if (args[1]) {
        wanted.mask = tl_signal_blockable(wanted.mask);
        *action = wanted;
        if (tl_signal_is_ignored(t->process, signal))
            tl_signal_forget(t->process, signal);
    }
    return !args[2] || write_action(t, args[2], &old) ? 0 : -EFAULT;
}

int64_t tl_sys_rt_sigprocmask(tl_thread *t, const uint64_t args[6]) {
    uint64_t old = t->blocked, set;
    if (args[3] != SIGSET_BYTES)
        return -EINVAL;
    if (args[1]) {
        if (!tl_vm_read(t->process, args[1], &set, sizeof set))
            return -EFAULT;
        switch ((int)args[0]) {
        case SIG_BLOCK: t->blocked |= tl_signal_blockable(set); break;
        case SIG_UNBLOCK: t->blocked &= ~set; break;
        case SIG_SETMASK: t->blocked = tl_signal_blockable(set); break;
        default: return -EINVAL;
        }
    }
    return !args[2] || tl_vm_write(t->process, args[2], &old, sizeof old) ? 0 : -EFAULT;
}

int64_t tl_sys_rt_sigpending(tl_thread *t, const uint64_t args[6]) {
    uint64_t pending = tl_signal_pending_mask(t) & t->blocked;
    if (args[1] > SIGSET_BYTES)
        return -EINVAL;
    return tl_vm_write(t->process, args[0], &pending, (size_t)args[1]) ? 0 : -EFAULT;
}

int64_t tl_signal_mask_for_call(tl_thread *t, uint64_t sigset_vaddr, uint64_t sigset_bytes) {
    uint64_t set;
    if (t->is_retry || !sigset_vaddr)
        return 0;
    if (sigset_bytes != SIGSET_BYTES)
        return -EINVAL;
    if (!tl_vm_read(t->process, sigset_vaddr, &set, sizeof set))
        return -EFAULT;
    t->saved_blocked = t->blocked;
    t->has_saved_blocked = true;
    t->blocked = tl_signal_blockable(set);
    return 0;
}

int64_t tl_sys_rt_sigsuspend(tl_thread *t, const uint64_t args[6]) {
    if (!args[0])
        return -EFAULT;
    int64_t result = tl_signal_mask_for_call(t, args[0], args[1]);
    if (result < 0)
        return result;
    tl_wait_only_deadline(t, "a signal");
    return tl_sys_block(t, -TL_ERESTARTNOHAND);
}

int64_t tl_sys_rt_sigtimedwait(tl_thread *t, const uint64_t args[6]) {
    uint64_t set;
    int64_t timeout[2];
    tl_siginfo info;
    if (args[3] != SIGSET_BYTES)
        return -EINVAL;
    if (!tl_vm_read(t->process, args[0], &set, sizeof set))
        return -EFAULT;
    if (args[2] && !t->is_retry) {
        if (!tl_vm_read(t->process, args[2], timeout, sizeof timeout))
            return -EFAULT;
        if (timeout[0] < 0 || timeout[1] < 0 || timeout[1] >= 1000000000)
            return -EINVAL;
        t->deadline = tl_os_deadline(t->os, (uint64_t)timeout[0], (uint64_t)timeout[1]);
    }
    if (tl_signal_take(t, tl_signal_blockable(set), &info))
        return args[1] && !tl_vm_write(t->process, args[1], &info, sizeof info) ? -EFAULT : info.signo;
    if (t->deadline != TL_NO_DEADLINE && t->os->now >= t->deadline)
        return -EAGAIN;
    tl_wait_on(t, &t->process->signal_wait, "a signal");
    return tl_sys_block(t, -EINTR);
}

static tl_siginfo info_of_sender(const tl_thread *t, int signal, int code) {
    return (tl_siginfo){.signo = signal, .code = code, .pid = t->process->pid, .uid = TL_UID};
}

static bool is_signal(int64_t number) { return number >= 0 && number <= TL_N_SIGNALS; }

int64_t tl_sys_kill(tl_thread *t, const uint64_t args[6]) {
    int32_t pid = (int32_t)args[0];
    int signal = (int)args[1];
    if (!is_signal(signal))
        return -EINVAL;
    if (pid == INT32_MIN)
        return -ESRCH;
    tl_siginfo info = info_of_sender(t, signal, SI_USER);
    if (pid > 0) {
        tl_process *p = tl_process_find(t->os, pid);
        if (!p) { // a thread's id names its process
            const tl_thread *member = tl_thread_find(t->os, pid);
            p = member ? member->process : NULL;
        }
        if (!p)
            return pid == TL_INIT_PID ? -EPERM : -ESRCH;
        if (signal)
            tl_signal_send_process(p, signal, &info);
        return 0;
    }
    int32_t group = pid == 0 ? t->process->pgid : -pid;
    bool is_any = false;
    for (tl_process *p = tl_process_first(t->os), *next; p; p = next) {
        next = p->next;
        if (pid == -1 ? p == t->process : p->pgid != group)
            continue;
        is_any = true;
        if (signal)
            tl_signal_send_process(p, signal, &info);
    }
    return is_any ? 0 : -ESRCH;
}

static int64_t send_to_thread(tl_thread *t, int64_t tgid, int32_t tid, int signal, const tl_siginfo *info) {
    if (tid <= 0 || tgid == 0 || !is_signal(signal))
        return -EINVAL;
    tl_thread *to = tl_thread_find(t->os, tid);
    if (!to || (tgid > 0 && to->process->pid != tgid))
        return -ESRCH;
    if (signal)
        tl_signal_send_thread(to, signal, info);
    return 0;
}

int64_t tl_sys_tkill(tl_thread *t, const uint64_t args[6]) {
    tl_siginfo info = info_of_sender(t, (int)args[1], SI_TKILL);
    return send_to_thread(t, -1, (int32_t)args[0], (int)args[1], &info);
}

int64_t tl_sys_tgkill(tl_thread *t, const uint64_t args[6]) {
    tl_siginfo info = info_of_sender(t, (int)args[2], SI_TKILL);
    int32_t tgid = (int32_t)args[0];
    return send_to_thread(t, tgid > 0 ? tgid : 0, (int32_t)args[1], (int)args[2], &info);
}

// Programs may not pretend to be the kernel or kill() towards others.
static bool may_send_code(const tl_thread *t, const tl_siginfo *info, int32_t pid) {
    return (info->code < 0 && info->code != SI_TKILL) || t->process->pid == pid;
}

int64_t tl_sys_rt_sigqueueinfo(tl_thread *t, const uint64_t args[6]) {
    tl_siginfo info;
    int32_t pid = (int32_t)args[0];
    int signal = (int)args[1];
    if (!tl_vm_read(t->process, args[2], &info, sizeof info))
        return -EFAULT;
    if (!is_signal(signal))
        return -EINVAL;
    if (!may_send_code(t, &info, pid))
        return -EPERM;
    tl_process *p = tl_process_find(t->os, pid);
    if (!p)
        return -ESRCH;
    if (signal && !tl_signal_may_queue(p))
        return -EAGAIN;
    if (signal)
        tl_signal_send_process(p, signal, &info);
    return 0;
}

int64_t tl_sys_rt_tgsigqueueinfo(tl_thread *t, const uint64_t args[6]) {
    tl_siginfo info;
    int32_t tgid = (int32_t)args[0];
    if (!tl_vm_read(t->process, args[3], &info, sizeof info))
        return -EFAULT;
    if (!may_send_code(t, &info, tgid))
        return -EPERM;
    return send_to_thread(t, tgid > 0 ? tgid : 0, (int32_t)args[1], (int)args[2], &info);
}

int tl_on_altstack(const tl_thread *t, uint64_t sp) {
    if (t->altstack_bytes == 0)
        return SS_DISABLE;
    if (t->altstack_flags & TL_SS_AUTODISARM)
        return 0;
    return sp - t->altstack_vaddr <= t->altstack_bytes && sp != t->altstack_vaddr ? SS_ONSTACK : 0;
}

typedef struct guest_stack {
    uint64_t vaddr;
    int32_t flags, pad;
    uint64_t bytes;
} guest_stack;

int64_t tl_sys_sigaltstack(tl_thread *t, const uint64_t args[6]) {
    uint64_t sp = tl_hart_register_value(t->hart, TL_ROLE_STACK);
    int on_stack = tl_on_altstack(t, sp);
    guest_stack old = {.vaddr = t->altstack_vaddr, .flags = on_stack | (t->altstack_flags & TL_SS_AUTODISARM), .bytes = t->altstack_bytes},
                wanted;
    if (args[0]) {
        if (!tl_vm_read(t->process, args[0], &wanted, sizeof wanted))
            return -EFAULT;
        if (on_stack == SS_ONSTACK)
            return -EPERM;
        int mode = wanted.flags & ~TL_SS_AUTODISARM;
        if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0)
            return -EINVAL;
        if (mode == SS_DISABLE) {
            wanted.vaddr = wanted.bytes = 0;
        } else if (wanted.bytes < tl_os_isa_of(t->os)->altstack_bytes) {
            return -ENOMEM;
        }
        t->altstack_vaddr = wanted.vaddr;
        t->altstack_bytes = wanted.bytes;
        t->altstack_flags = wanted.flags;
    }
    return !args[1] || tl_vm_write(t->process, args[1], &old, sizeof old) ? 0 : -EFAULT;
}

int64_t tl_sys_rt_sigreturn(tl_thread *t, const uint64_t args[6]) {
    (void)args;
    if (!tl_signal_leave(t))
        tl_signal_force(t, SIGSEGV, SI_KERNEL, 0, "damaged signal frame on the stack", NULL);
    return TL_SYS_NO_RESULT;
}
