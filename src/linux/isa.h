// SPDX-License-Identifier: MIT
// tl_os_isa is one instruction set as Linux sees it: names, registers of a thread, signal frames.
// model/isa.h holds the part that memory needs. Each instruction set has one row. No other file of
// this folder knows an instruction set.
#ifndef TL_OS_ISA_H
#define TL_OS_ISA_H

#include <stddef.h>

#include "base/strbuf.h"
#include "linux/memory/page_table.h"
#include "linux/process/process.h"
#include "linux/process/signal.h"
#include "model/isa.h"

typedef struct tl_os_isa {
    const tl_isa *isa;
    const char *name, *title;   // in sentences: "RISC-V", "a RISC-V"
    const char *machine;        // uname
    const char *platform;       // AT_PLATFORM; NULL: there is none
    const char *sysroot;        // where Debian puts its libraries on another host
    const char *const *loaders; // how names of dynamic loaders begin, NULL-terminated
    uint64_t hwcap;
    const char *default_machine; // of machines/, for its programs
    uint8_t call_bytes;          // of the instruction that calls the system
    uint16_t lacks[2];           // first and last of the table's system calls that it does not have
    bool has_restorer;           // struct sigaction has sa_restorer behind the flags
    uint32_t trampoline[2];      // code that calls rt_sigreturn, as unwinders know it
    uint32_t altstack_bytes;     // MINSIGSTKSZ: the least that sigaltstack takes
    uint32_t frame_hint;         // AT_MINSIGSTKSZ; 0: there is none
    const tl_page_format *page_format;
    // Does in the kernel's place what an illegal instruction asks for. false: SIGILL. NULL: always
    // SIGILL.
    bool (*emulate)(tl_hart *h, uint32_t bits);
    // Adds the lines of one hart to /proc/cpuinfo.
    void (*cpuinfo)(tl_strbuf *text, const tl_config *config, uint32_t hart);
    // Flags of open between this instruction set's numbers and those of abi.h, in both directions.
    uint32_t (*open_flags)(uint32_t flags);
    // The registers of a thread that has no hart: all but pc.
    void (*save)(const tl_hart *h, tl_registers *ret_registers);
    void (*load)(tl_hart *h, const tl_registers *registers);
    void (*start)(tl_registers *ret_registers, uint64_t sp); // of a program
    // Turns saved registers of a thread into those of its child. sp 0: the child keeps the stack.
    void (*fork)(tl_registers *registers, uint64_t sp, bool has_tls, uint64_t tls);
    uint32_t n_perf_registers;
    // Offset from the frame pointer to the caller's frame pointer and the return
    // address behind it.
    int8_t frame_record_offset;
    // Returns the register of a number of asm/perf_regs.h.
    uint64_t (*perf_register)(const tl_hart *h, uint32_t number);
    // Frames of signals, at multiples of 16 bytes. signal.c chooses the stack and the mask.
    // push_frame writes a frame at sp and sets the registers with which the handler begins. false:
    // the frame cannot be written, and nothing has changed.
    // pop_frame restores the registers from the frame at the stack pointer. false: the frame is
    // damaged, and nothing has changed.
    uint32_t frame_bytes;
    bool (*push_frame)(tl_thread *t, uint64_t sp, const tl_siginfo *info, const tl_signal_saved *saved, const tl_sigaction *action);
    bool (*pop_frame)(tl_thread *t, tl_signal_saved *ret_saved);
    // The bits of the instruction at pc, which is illegal; *ret_why: the extension it belongs to,
    // or NULL.
    uint32_t (*read_illegal)(tl_thread *t, uint64_t pc, const char **ret_why);
} tl_os_isa;

// The beginning of a signal frame: siginfo, then the ucontext up to its registers (asm/ucontext.h).
typedef struct tl_signal_head {
    tl_siginfo info;
    uint64_t uc_flags, uc_link;
    uint64_t stack_vaddr;
    int32_t stack_flags, pad;
    uint64_t stack_bytes;
    uint64_t mask, mask_room[15]; // room for 1024 signals
    uint64_t align;
} tl_signal_head;
_Static_assert(offsetof(tl_signal_head, uc_flags) == 128 && offsetof(tl_signal_head, mask) == 128 + 40, "struct ucontext");
_Static_assert(sizeof(tl_signal_head) == 128 + 176, "struct sigcontext follows");

static inline tl_signal_head tl_signal_head_of(const tl_siginfo *info, const tl_signal_saved *saved) {
    return (tl_signal_head){.info = *info,
                            .stack_vaddr = saved->stack_vaddr,
                            .stack_flags = saved->stack_flags,
                            .stack_bytes = saved->stack_bytes,
                            .mask = saved->mask};
}
static inline tl_signal_saved tl_signal_saved_of(const tl_signal_head *head) {
    return (tl_signal_saved){
        .stack_vaddr = head->stack_vaddr, .stack_flags = head->stack_flags, .stack_bytes = head->stack_bytes, .mask = head->mask};
}

extern const tl_os_isa tl_os_rv64, tl_os_arm64;
// Returns NULL if Linux has no row for this instruction set.
const tl_os_isa *tl_os_isa_for(const tl_isa *isa);
const tl_os_isa *tl_os_isa_of_elf(uint16_t elf_machine); // NULL: the same
const tl_os_isa *tl_os_isa_of(const tl_os *os);          // of the machine

#endif
