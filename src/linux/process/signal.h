// SPDX-License-Identifier: MIT
// Signals: queues, actions, delivery. Layouts are Linux's for RISC-V 64, so that they can be copied
// to the guest as they are.
#ifndef TL_OS_SIGNAL_H
#define TL_OS_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tl_os tl_os;
typedef struct tl_thread tl_thread;
typedef struct tl_process tl_process;

enum { TL_N_SIGNALS = 64 };
// A flag of Linux: a handler begins without the alternate stack.
enum { TL_SS_AUTODISARM = (int)(1u << 31) };
static inline uint64_t tl_signal_bit(int signal) { return UINT64_C(1) << (signal - 1); }
static inline uint64_t tl_signal_blockable(uint64_t mask) { return mask & ~(tl_signal_bit(SIGKILL) | tl_signal_bit(SIGSTOP)); }

typedef struct tl_siginfo { // 128 bytes, as the guest sees it
    int32_t signo, error, code, pad;
    union {
        struct {
            int32_t pid;  // or the timer's id
            uint32_t uid; // or the timer's overrun
            union {
                uint64_t value; // sigval
                int32_t status; // SIGCHLD
            };
            int64_t utime, stime; // SIGCHLD, clock ticks
        };
        uint64_t addr; // SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP
        struct {
            int64_t band;
            int32_t fd;
        };
        uint8_t bytes[112];
    };
} tl_siginfo;
_Static_assert(sizeof(tl_siginfo) == 128, "the kernel's siginfo_t");

typedef struct tl_queued_signal {
    struct tl_queued_signal *next;
    tl_siginfo info;
} tl_queued_signal;

typedef struct tl_signal_queue { // zeroed: empty
    uint64_t mask;               // signals pending
    tl_queued_signal *first;     // in order of arrival
    uint32_t n;                  // in the list
} tl_signal_queue;

typedef struct tl_sigaction {
    uint64_t handler, flags, mask;
    uint64_t restorer; // used with SA_RESTORER; 0 where struct sigaction has none (linux/isa.h)
} tl_sigaction;

// State that a frame saves beside registers. The handler may change it there.
typedef struct tl_signal_saved {
    uint64_t stack_vaddr, stack_bytes; // the alternate stack
    int32_t stack_flags;               // SS_ONSTACK, SS_DISABLE, TL_SS_AUTODISARM
    uint64_t mask;
} tl_signal_saved;

typedef struct tl_sigactions {
    uint32_t n_refs;
    tl_sigaction action[TL_N_SIGNALS + 1]; // by number
} tl_sigactions;

// Queues a signal and wakes the threads that wait for it. Standard signals merge, ignored signals
// vanish. `info` NULL: SI_KERNEL.
void tl_signal_send_process(tl_process *p, int signal, const tl_siginfo *info);
void tl_signal_send_thread(tl_thread *t, int signal, const tl_siginfo *info);
// True when a signal ends a wait of this thread: pending, not blocked, not ignored.
bool tl_signal_is_deliverable(const tl_thread *t);
uint64_t tl_signal_pending_mask(const tl_thread *t); // thread's and process's
// Takes the first pending signal of `mask` (thread's queue first, lowest number first) for
// sigtimedwait and signalfd. false: none.
bool tl_signal_take(tl_thread *t, uint64_t mask, tl_siginfo *ret_info);
// For ppoll, pselect6, epoll_pwait: on the first call (not is_retry) swaps the mask for the
// duration of the call. The guest's sigset is read from vaddr (0: nothing to do); 0, -EFAULT or
// -EINVAL (size is not 8).
int64_t tl_signal_mask_for_call(tl_thread *t, uint64_t sigset_vaddr, uint64_t sigset_bytes);

// ---- Inside: delivery.
typedef enum tl_delivery {
    TL_DELIVERY_NONE,    // the thread goes on where it was
    TL_DELIVERY_HANDLER, // a frame was built, the thread goes on in its handler
    TL_DELIVERY_GONE,    // the thread was stopped or ended
} tl_delivery;
// Before a thread runs user code: takes pending signals until one runs a handler. `restart`: 0, or
// the TL_ERESTART number with which a system call was interrupted.
tl_delivery tl_signal_deliver(tl_thread *t, int restart);
// A fault of the thread itself: cannot be blocked or ignored. `what` and `why` are static text for
// the report: "load from", "which its mapping does not permit".
void tl_signal_force(tl_thread *t, int signal, int code, uint64_t addr, const char *what, const char *why);
bool tl_signal_may_queue(const tl_process *p); // RLIMIT_SIGPENDING
void tl_signal_queue_done(tl_signal_queue *queue);
bool tl_signal_is_ignored(const tl_process *p, int signal); // by action or by default
void tl_signal_forget(tl_process *p, int signal);           // drops what is pending, everywhere
const char *tl_signal_name(int signal);                     // "SIGSEGV", "SIGRTMIN+3"
tl_sigactions *tl_sigactions_new(void);
void tl_sigactions_unref(tl_sigactions *actions);
int tl_on_altstack(const tl_thread *t, uint64_t sp); // SS_ONSTACK, SS_DISABLE or 0
// rt_sigreturn: restores what the frame at the stack pointer saved. false: the frame is damaged.
bool tl_signal_leave(tl_thread *t);

#endif
