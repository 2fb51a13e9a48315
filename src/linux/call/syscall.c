// SPDX-License-Identifier: MIT
// Entry, waiting, retry and end of system calls; the protocol is in syscall.h.
#include "linux/call/syscall.h"

#include <inttypes.h>
#include <string.h>

#include "linux/isa.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/process/futex.h"
#include "model/isa.h"

#define SYSCALL(number, name, handler) [number] = {#name, handler},
static const tl_syscall table[TL_N_SYSCALLS] = {
#include "linux/call/syscalls.def"
};
#undef SYSCALL

const tl_syscall *tl_syscall_at(const tl_os *os, uint64_t number) {
    const uint16_t *lacks = tl_os_isa_of(os)->lacks;
    const bool is_known = number < TL_N_SYSCALLS && table[number].name && (number < lacks[0] || number > lacks[1]);
    return is_known ? &table[number] : NULL;
}

int64_t tl_sys_absent(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    (void)args;
    return -ENOSYS;
}

int64_t tl_sys_unsupported(tl_thread *t, const uint64_t args[6]) {
    (void)args;
    tl_os *os = t->os;
    uint64_t number = t->syscall_number;
    const tl_syscall *call = tl_syscall_at(os, number);
    tl_os_count(os, TL_S_OS_SYSCALL_UNKNOWN, 1);
    if (number >= TL_N_SYSCALLS || !(os->warned[number / 64] >> (number % 64) & 1)) {
        if (number < TL_N_SYSCALLS)
            os->warned[number / 64] |= UINT64_C(1) << (number % 64);
        if (call)
            tl_os_warn(os, "the program called %s (system call %" PRIu64 "), which is not supported; it was told ENOSYS", call->name,
                       number);
        else if (number < TL_N_SYSCALLS || !os->has_warned_beyond)
            tl_os_warn(os, "the program called system call %" PRIu64 ", which is unknown here; it was told ENOSYS", number);
        if (number >= TL_N_SYSCALLS)
            os->has_warned_beyond = true;
    }
    return -ENOSYS;
}

static void deadline_passed(tl_os *os, tl_timer *timer) {
    (void)os;
    tl_thread_wake((tl_thread *)(void *)((char *)timer - offsetof(tl_thread, deadline_timer)));
}

void tl_syscall_done(tl_thread *t) {
    t->in_syscall = t->is_retry = t->is_uninterruptible = false;
    tl_futex_forget(t);
}

static void go_to_sleep(tl_thread *t) {
    if (t->deadline != TL_NO_DEADLINE && !tl_timer_arm(t->os, &t->deadline_timer, t->deadline, deadline_passed))
        tl_os_warn(t->os, "the host has no memory for a timer: a sleep of thread %d will not end", t->tid);
    tl_sched_sleep(t);
}

static void call(tl_thread *t) {
    const tl_syscall *row = tl_syscall_at(t->os, t->syscall_number);
    for (;;) {
        bool is_interrupted = false;
        int64_t result = row ? row->handler(t, t->syscall_args) : tl_sys_unsupported(t, t->syscall_args);
        if (t->state != TL_THREAD_RUNNING)
            return; // it ended
        if (t->process->vm->is_out_of_memory) {
            tl_wait_forget(t);
            tl_syscall_done(t);
            tl_os_out_of_memory(t);
            return;
        }
        if (result == TL_SYS_BLOCK) {
            if (!tl_signal_is_deliverable(t)) {
                go_to_sleep(t);
                return;
            }
            tl_wait_forget(t);
            result = t->result_if_signal;
            is_interrupted = true;
        }
        if (result <= -TL_ERESTARTSYS && result >= -TL_ERESTART_RESTARTBLOCK) {
            if (tl_signal_deliver(t, (int)-result) != TL_DELIVERY_NONE)
                return; // in a handler; or stopped, and to be retried when it continues; or gone
            t->is_retry = true;
            continue;
        }
        if (result != TL_SYS_NO_RESULT)
            *tl_hart_register(t->hart, TL_ROLE_RESULT) = (uint64_t)result;
        tl_syscall_done(t);
        if (t->has_saved_blocked && !is_interrupted) {
            t->blocked = t->saved_blocked;
            t->has_saved_blocked = false;
        }
        if (t->is_yielding) {
            t->is_yielding = false;
            tl_sched_yield(t);
        } else {
            tl_sched_place(t);
        }
        return;
    }
}

void tl_syscall_enter(tl_thread *t) {
    t->syscall_number = tl_hart_register_value(t->hart, TL_ROLE_SYSTEM_CALL);
    memcpy(t->syscall_args, tl_hart_register(t->hart, TL_ROLE_ARGUMENTS), sizeof t->syscall_args);
    memset(t->retry, 0, sizeof t->retry);
    t->deadline = TL_NO_DEADLINE;
    t->in_syscall = true;
    t->is_retry = false;
    tl_os_count(t->os, TL_S_OS_SYSCALL, 1);
    call(t);
}

void tl_syscall_retry(tl_thread *t) {
    t->is_retry = true;
    call(t);
}
