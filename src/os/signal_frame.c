// SPDX-License-Identifier: MIT
// The frame a handler finds on its stack, byte for byte as Linux builds it on RISC-V 64 (arch/riscv/kernel/signal.c, asm/ucontext.h,
// asm/sigcontext.h): siginfo, then the context that rt_sigreturn restores, which the handler may read and change.
#include <stddef.h>
#include <string.h>

#include "isa/rv/hart.h"
#include "os/os_internal.h"
#include "os/vm_space.h"

typedef struct signal_frame {
    tl_siginfo info;
    uint64_t uc_flags, uc_link;
    uint64_t stack_vaddr;
    int32_t stack_flags, pad;
    uint64_t stack_bytes;
    uint64_t mask, mask_room[15]; // room for 1024 signals
    uint64_t align;
    uint64_t pc, x[31]; // x1 .. x31
    uint64_t f[32];
    uint32_t fcsr, fp_room[67]; // the union holds a quad-precision state; its tail must be zero
} signal_frame;
_Static_assert(offsetof(signal_frame, uc_flags) == 128 && offsetof(signal_frame, mask) == 128 + 40, "struct ucontext");
_Static_assert(offsetof(signal_frame, pc) == 128 + 176 && offsetof(signal_frame, f) == 128 + 432, "struct sigcontext");
_Static_assert(sizeof(signal_frame) == 128 + 960, "struct rt_sigframe");

enum { SS_AUTODISARM_BIT = (int)(1u << 31) };

int tl_on_altstack(const tl_thread *t, uint64_t sp) {
    if (t->altstack_bytes == 0)
        return SS_DISABLE;
    if (t->altstack_flags & SS_AUTODISARM_BIT)
        return 0;
    return sp - t->altstack_vaddr <= t->altstack_bytes && sp != t->altstack_vaddr ? SS_ONSTACK : 0;
}

bool tl_signal_enter_handler(tl_thread *t, const tl_siginfo *info, tl_sigaction *action) {
    tl_hart *h = t->hart;
    signal_frame frame = {
        .info = *info,
        .stack_vaddr = t->altstack_vaddr,
        .stack_flags = tl_on_altstack(t, tl_rv(h)->x[2]) | (t->altstack_flags & SS_AUTODISARM_BIT),
        .stack_bytes = t->altstack_bytes,
        .mask = t->has_saved_blocked ? t->saved_blocked : t->blocked,
        .pc = h->pc,
        .fcsr = (uint32_t)tl_rv(h)->frm << 5 | tl_rv(h)->fflags,
    };
    memcpy(frame.x, &tl_rv(h)->x[1], sizeof frame.x);
    memcpy(frame.f, tl_rv(h)->f, sizeof frame.f);

    uint64_t sp = tl_rv(h)->x[2];
    bool is_on_altstack = tl_on_altstack(t, sp) == SS_ONSTACK;
    if ((action->flags & SA_ONSTACK) && tl_on_altstack(t, sp) == 0)
        sp = t->altstack_vaddr + t->altstack_bytes;
    sp = (sp - sizeof frame) & ~UINT64_C(15);
    if (is_on_altstack && tl_on_altstack(t, sp) != SS_ONSTACK)
        return false; // the frame would run out of the alternate stack
    if (!tl_vm_write(t->process, sp, &frame, sizeof frame))
        return false;

    if (t->altstack_flags & SS_AUTODISARM_BIT) {
        t->altstack_vaddr = t->altstack_bytes = 0;
        t->altstack_flags = 0;
    }
    tl_rv(h)->x[1] = TL_TRAMPOLINE_VADDR;
    tl_rv(h)->x[2] = sp;
    tl_rv(h)->x[10] = (uint64_t)info->signo;
    tl_rv(h)->x[11] = sp + offsetof(signal_frame, info);
    tl_rv(h)->x[12] = sp + offsetof(signal_frame, uc_flags);
    h->pc = action->handler;
    t->has_saved_blocked = false;
    t->blocked |= action->mask;
    if (!(action->flags & SA_NODEFER))
        t->blocked |= tl_signal_bit(info->signo);
    t->blocked &= ~(tl_signal_bit(SIGKILL) | tl_signal_bit(SIGSTOP));
    if (action->flags & SA_RESETHAND)
        action->handler = (uint64_t)(uintptr_t)SIG_DFL;
    tl_os_count(t->os, TL_S_OS_SIGNAL, 1);
    tl_os_spend(t->os, TL_S_HART_CYC_TRAP, t->os->machine->config.os.signal_cycles);
    return true;
}

bool tl_signal_leave_handler(tl_thread *t) {
    tl_hart *h = t->hart;
    signal_frame frame;
    if ((tl_rv(h)->x[2] & 15) != 0 || !tl_vm_read(t->process, tl_rv(h)->x[2], &frame, sizeof frame))
        return false;
    for (size_t i = 64; i < 67; ++i)
        if (frame.fp_room[i] != 0)
            return false;
    h->pc = frame.pc;
    memcpy(&tl_rv(h)->x[1], frame.x, sizeof frame.x);
    memcpy(tl_rv(h)->f, frame.f, sizeof frame.f);
    tl_rv(h)->frm = (uint8_t)(frame.fcsr >> 5 & 7);
    tl_rv(h)->fflags = (uint8_t)(frame.fcsr & 31);
    t->blocked = frame.mask & ~(tl_signal_bit(SIGKILL) | tl_signal_bit(SIGSTOP));
    if (tl_on_altstack(t, tl_rv(h)->x[2]) != SS_ONSTACK && (frame.stack_flags & ~(SS_AUTODISARM_BIT | SS_ONSTACK | SS_DISABLE)) == 0) {
        bool is_disabled = (frame.stack_flags & SS_DISABLE) != 0;
        t->altstack_vaddr = is_disabled ? 0 : frame.stack_vaddr;
        t->altstack_bytes = is_disabled ? 0 : frame.stack_bytes;
        t->altstack_flags = frame.stack_flags & SS_AUTODISARM_BIT;
    }
    return true;
}
