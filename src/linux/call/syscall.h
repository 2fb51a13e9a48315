// SPDX-License-Identifier: MIT
// System calls: one handler each, one row each in syscalls.def. A handler returns the value of the
// call or a negative error number. Numbers are Linux's generic ones, which RISC-V and the host
// share. It runs at one instant of machine time, os->now.
//
// Waiting. A handler that cannot finish registers its thread on wait queues and optionally sets
// t->deadline, then returns tl_sys_block(t, result). The thread sleeps until a queue is woken, the
// deadline passes or a signal becomes deliverable. Then all registrations are dropped, and the
// handler is called again with the same arguments. t->is_retry is true in that call. t->deadline
// and t->retry still hold the values that the handler left (0 and TL_NO_DEADLINE on the first
// call). It finishes or waits again. The thread does not sleep if a signal is deliverable: the call
// then ends with `result`. `result` is one of -TL_ERESTARTSYS (SA_RESTART decides),
// -TL_ERESTARTNOHAND (any handler means EINTR), -EINTR, or a count of bytes already done. Handlers
// with more to do on interruption (nanosleep's remaining time) call tl_signal_is_deliverable(t)
// before they wait. If the signal runs no handler, the call is retried with its state kept.
#ifndef TL_OS_SYSCALL_H
#define TL_OS_SYSCALL_H

#include <errno.h>
#include <stdint.h>

#include "linux/process/process.h"

typedef int64_t tl_syscall_fn(tl_thread *t, const uint64_t args[6]);

#define SYSCALL(number, name, handler) tl_syscall_fn handler;
#include "linux/call/syscalls.def"
#undef SYSCALL

static const int64_t TL_SYS_BLOCK = INT64_MIN;
static const int64_t TL_SYS_NO_RESULT = INT64_MIN + 1; // a0 stays: rt_sigreturn, execve
enum {                                                 // never seen by the guest
    // Restarts after a handler with SA_RESTART; else EINTR.
    TL_ERESTARTSYS = 512,
    TL_ERESTARTNOINTR = 513,        // again in any case
    TL_ERESTARTNOHAND = 514,        // again when no handler ran, else EINTR
    TL_ERESTART_RESTARTBLOCK = 516, // as NOHAND; time already waited counts
};

static inline int64_t tl_sys_block(tl_thread *t, int64_t result_if_signal) {
    t->result_if_signal = result_if_signal;
    return TL_SYS_BLOCK;
}

typedef struct tl_syscall {
    const char *name; // NULL: no such number
    tl_syscall_fn *handler;
} tl_syscall;

enum { TL_N_SYSCALLS = 512 };
// NULL for numbers outside the table; rows of known calls that are not supported have handler
// tl_sys_unsupported.
const tl_syscall *tl_syscall_at(const tl_os *os, uint64_t number);

// ---- For the run loop and signal delivery.
void tl_syscall_enter(tl_thread *t); // after an ECALL, pc past it
void tl_syscall_retry(tl_thread *t); // a thread that was woken in a call is on a hart again
void tl_syscall_done(tl_thread *t);  // the call is over, whatever its result

#endif
