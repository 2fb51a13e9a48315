// SPDX-License-Identifier: MIT
// RISC-V 64 as Linux has it: registers of a thread, the beginning of programs and children, frames
// of signal handlers. Frames equal those of Linux byte for byte (arch/riscv/kernel/signal.c,
// asm/ucontext.h, asm/sigcontext.h). A frame holds siginfo, then the context that rt_sigreturn
// restores. The handler may read and change the context.
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
    tl_signal_head head;
    uint64_t pc, x[31]; // x1 .. x31
    uint64_t f[32];
    uint32_t fcsr, fp_room[67]; // the union holds a quad-precision state; its tail must be zero
} signal_frame;
_Static_assert(offsetof(signal_frame, pc) == 128 + 176 && offsetof(signal_frame, f) == 128 + 432, "struct sigcontext");
_Static_assert(sizeof(signal_frame) == 128 + 960, "struct rt_sigframe");

static bool push_frame(tl_thread *t, uint64_t sp, const tl_siginfo *info, const tl_signal_saved *saved, const tl_sigaction *action) {
    tl_hart *h = t->hart;
    tl_rv_hart *rv = tl_rv(h);
    signal_frame frame = {
        .head = tl_signal_head_of(info, saved),
        .pc = h->pc,
        .fcsr = (uint32_t)rv->frm << 5 | rv->fflags,
    };
    memcpy(frame.x, &rv->x[1], sizeof frame.x);
    memcpy(frame.f, rv->f, sizeof frame.f);
    if (!tl_vm_write(t->process, sp, &frame, sizeof frame))
        return false;
    rv->x[RA] = TL_TRAMPOLINE_VADDR;
    rv->x[SP] = sp;
    rv->x[A0] = (uint64_t)info->signo;
    rv->x[A1] = sp + offsetof(signal_frame, head.info);
    rv->x[A2] = sp + offsetof(signal_frame, head.uc_flags);
    h->pc = action->handler;
    return true;
}

static bool pop_frame(tl_thread *t, tl_signal_saved *ret_saved) {
    tl_hart *h = t->hart;
    tl_rv_hart *rv = tl_rv(h);
    signal_frame frame;
    if ((rv->x[SP] & 15) != 0 || !tl_vm_read(t->process, rv->x[SP], &frame, sizeof frame))
        return false;
    for (size_t i = 64; i < 67; ++i)
        if (frame.fp_room[i] != 0)
            return false;
    h->pc = frame.pc;
    memcpy(&rv->x[1], frame.x, sizeof frame.x);
    memcpy(rv->f, frame.f, sizeof frame.f);
    rv->frm = (uint8_t)(frame.fcsr >> 5 & 7);
    rv->fflags = (uint8_t)(frame.fcsr & 31);
    *ret_saved = tl_signal_saved_of(&frame.head);
    return true;
}

// Sv39: privileged manual, sec. 4.4. Hardware ignores bits 9:8 of an entry.
static const tl_page_format sv39 = {
    .ppn_lsb = TL_PTE_PPN_LSB,
    .ppn_bits = 44,
    .valid = TL_PTE_V,
    .table = TL_PTE_V,
    .page = TL_PTE_V | TL_PTE_U,
    .held = 1 << 8,
    .used = TL_PTE_A | TL_PTE_D,
    .read = {TL_PTE_R, TL_PTE_R},
    .write = {TL_PTE_W, TL_PTE_W},
    .execute = {TL_PTE_X, TL_PTE_X},
    .context = (uint64_t)TL_SATP_SV39 << TL_SATP_MODE_LSB,
    .context_shift = TL_PAGE_LOG2,
};

static void cpuinfo(tl_strbuf *text, const tl_config *config, uint32_t hart) {
    tl_strbuf_addf(text,
                   "processor\t: %u\nhart\t\t: %u\nisa\t\t: rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb_zbs\nmmu\t\t: sv39\n"
                   "uarch\t\t: tally,%s\nmvendorid\t: 0x0\nmarchid\t\t: 0x0\nmimpid\t\t: 0x0\n\n",
                   hart, hart, config->name);
}

static uint32_t open_flags(uint32_t flags) { return flags; }

#define LETTER(c) (UINT64_C(1) << ((c) - 'a'))
static const char *const loaders[] = {"ld-linux-riscv64", "ld-musl-riscv64", NULL};

const tl_os_isa tl_os_rv64 = {
    .isa = &tl_isa_rv64,
    .name = "RISC-V",
    .title = "a RISC-V",
    .machine = "riscv64",
    .sysroot = "/usr/riscv64-linux-gnu",
    .loaders = loaders,
    .hwcap = LETTER('i') | LETTER('m') | LETTER('a') | LETTER('f') | LETTER('d') | LETTER('c'),
    .default_machine = "rocket",
    .call_bytes = 4,
    .lacks = {38, 38},                      // renameat, beside renameat2
    .trampoline = {0x08b00893, 0x00000073}, // li a7, 139; ecall
    .altstack_bytes = 2048,
    .page_format = &sv39,
    .cpuinfo = cpuinfo,
    .open_flags = open_flags,
    .save = save,
    .load = load,
    .start = start,
    .fork = fork_registers,
    .n_perf_registers = 32,
    .frame_record_offset = -16,
    .perf_register = perf_register,
    .frame_bytes = sizeof(signal_frame),
    .push_frame = push_frame,
    .pop_frame = pop_frame,
    .read_illegal = read_illegal,
};
