// SPDX-License-Identifier: MIT
// tl_os_isa is one instruction set as Linux sees it: names, registers of a thread, signal frames.
// model/isa.h holds the part that memory needs. Each instruction set has one row. No other file of
// this folder knows an instruction set.
#ifndef TL_OS_ISA_H
#define TL_OS_ISA_H

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
    bool has_own_calls;          // system calls 244 to 259 of the table are this instruction set's
    bool has_renameat;           // beside renameat2
    bool has_restorer;           // struct sigaction has sa_restorer behind the flags
    uint32_t trampoline[2];      // code that calls rt_sigreturn, as unwinders know it
    uint32_t altstack_bytes;     // MINSIGSTKSZ: the least that sigaltstack takes
    uint32_t frame_hint;         // AT_MINSIGSTKSZ; 0: there is none
    const tl_page_format *page_format;
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

extern const tl_os_isa tl_os_rv64, tl_os_arm64;
// Returns NULL if Linux has no row for this instruction set.
const tl_os_isa *tl_os_isa_for(const tl_isa *isa);
const tl_os_isa *tl_os_isa_of_elf(uint16_t elf_machine); // NULL: the same
const tl_os_isa *tl_os_isa_of(const tl_os *os);          // of the machine

#endif
