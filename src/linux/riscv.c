// SPDX-License-Identifier: MIT
// RISC-V 64 as Linux has it: registers of a thread, how a program and a child begin, and the frame
// a handler finds on its stack, byte for byte as Linux builds it (arch/riscv/kernel/signal.c,
// asm/ucontext.h, asm/sigcontext.h): siginfo, then the context that rt_sigreturn restores, which
// the handler may read and change.
#include <stddef.h>
#include <string.h>

#include "isa/rv/extension.h"
#include "isa/rv/hart.h"
#include "linux/isa.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"

// ---- Registers.

enum { RA = 1, SP = 2, TP = 4, A0 = 10, A1 = 11, A2 = 12 };

typedef struct registers {
    uint64_t x[32], f[32];
    uint8_t frm, fflags;
} registers;
_Static_assert(sizeof(registers) <= sizeof(tl_registers), "registers of a thread");

static registers *of(tl_registers *saved) { return (registers *)(void *)saved; }

static void save(const tl_hart *h, tl_registers *ret_registers) {
    const tl_rv_hart *rv = tl_rv(h);
    registers *to = of(ret_registers);
    memcpy(to->x, rv->x, sizeof to->x);
    memcpy(to->f, rv->f, sizeof to->f);
    to->frm = rv->frm;
    to->fflags = rv->fflags;
}

static void load(tl_hart *h, const tl_registers *saved) {
    tl_rv_hart *rv = tl_rv(h);
    const registers *from = (const registers *)(const void *)saved;
    memcpy(rv->x, from->x, sizeof from->x);
    memcpy(rv->f, from->f, sizeof from->f);
    rv->frm = from->frm;
    rv->fflags = from->fflags;
}

static void start(tl_registers *ret_registers, uint64_t sp) { *of(ret_registers) = (registers){.x = {[SP] = sp}}; }

static void fork_registers(tl_registers *saved, uint64_t sp, bool has_tls, uint64_t tls) {
    uint64_t *x = of(saved)->x;
    x[A0] = 0;
    x[SP] = sp ? sp : x[SP];
    x[TP] = has_tls ? tls : x[TP];
}

static uint64_t perf_register(const tl_hart *h, uint32_t number) { return number == 0 ? h->pc : tl_rv(h)->x[number]; }

static uint32_t read_illegal(tl_thread *t, uint64_t pc, const char **ret_why) {
    uint16_t half[2] = {0, 0};
    if (tl_vm_read(t->process, pc, &half[0], sizeof half[0]) && (half[0] & 3) == 3)
        (void)tl_vm_read(t->process, pc + 2, &half[1], sizeof half[1]);
    uint32_t bits = (uint32_t)half[1] << 16 | half[0];
    *ret_why = tl_extension_of(bits);
    return bits;
}

// ---- Frames of signals.

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

static bool enter_handler(tl_thread *t, const tl_siginfo *info, tl_sigaction *action) {
    tl_hart *h = t->hart;
    signal_frame frame = {
        .info = *info,
        .stack_vaddr = t->altstack_vaddr,
        .stack_flags = tl_on_altstack(t, tl_rv(h)->x[SP]) | (t->altstack_flags & TL_SS_AUTODISARM),
        .stack_bytes = t->altstack_bytes,
        .mask = t->has_saved_blocked ? t->saved_blocked : t->blocked,
        .pc = h->pc,
        .fcsr = (uint32_t)tl_rv(h)->frm << 5 | tl_rv(h)->fflags,
    };
    memcpy(frame.x, &tl_rv(h)->x[1], sizeof frame.x);
    memcpy(frame.f, tl_rv(h)->f, sizeof frame.f);

    uint64_t sp = tl_rv(h)->x[SP];
    bool is_on_altstack = tl_on_altstack(t, sp) == SS_ONSTACK;
    if ((action->flags & SA_ONSTACK) && tl_on_altstack(t, sp) == 0)
        sp = t->altstack_vaddr + t->altstack_bytes;
    sp = (sp - sizeof frame) & ~UINT64_C(15);
    if (is_on_altstack && tl_on_altstack(t, sp) != SS_ONSTACK)
        return false; // the frame would run out of the alternate stack
    if (!tl_vm_write(t->process, sp, &frame, sizeof frame))
        return false;

    if (t->altstack_flags & TL_SS_AUTODISARM) {
        t->altstack_vaddr = t->altstack_bytes = 0;
        t->altstack_flags = 0;
    }
    tl_rv(h)->x[RA] = TL_TRAMPOLINE_VADDR;
    tl_rv(h)->x[SP] = sp;
    tl_rv(h)->x[A0] = (uint64_t)info->signo;
    tl_rv(h)->x[A1] = sp + offsetof(signal_frame, info);
    tl_rv(h)->x[A2] = sp + offsetof(signal_frame, uc_flags);
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

static bool leave_handler(tl_thread *t) {
    tl_hart *h = t->hart;
    signal_frame frame;
    if ((tl_rv(h)->x[SP] & 15) != 0 || !tl_vm_read(t->process, tl_rv(h)->x[SP], &frame, sizeof frame))
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
    if (tl_on_altstack(t, tl_rv(h)->x[SP]) != SS_ONSTACK && (frame.stack_flags & ~(TL_SS_AUTODISARM | SS_ONSTACK | SS_DISABLE)) == 0) {
        bool is_disabled = (frame.stack_flags & SS_DISABLE) != 0;
        t->altstack_vaddr = is_disabled ? 0 : frame.stack_vaddr;
        t->altstack_bytes = is_disabled ? 0 : frame.stack_bytes;
        t->altstack_flags = frame.stack_flags & TL_SS_AUTODISARM;
    }
    return true;
}

#define LETTER(c) (UINT64_C(1) << ((c) - 'a'))
static const char *const loaders[] = {"ld-linux-riscv64", "ld-musl-riscv64", NULL};

const tl_os_isa tl_os_rv64 = {
    .isa = &tl_isa_rv64,
    .machine = "riscv64",
    .cpu_lines = "isa\t\t: rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb_zbs\nmmu\t\t: sv39\n",
    .sysroot = "/usr/riscv64-linux-gnu",
    .loaders = loaders,
    .hwcap = LETTER('i') | LETTER('m') | LETTER('a') | LETTER('f') | LETTER('d') | LETTER('c'),
    .elf_machine = 243,
    .call_bytes = 4,
    .save = save,
    .load = load,
    .start = start,
    .fork = fork_registers,
    .perf_register = perf_register,
    .enter_handler = enter_handler,
    .leave_handler = leave_handler,
    .read_illegal = read_illegal,
};
