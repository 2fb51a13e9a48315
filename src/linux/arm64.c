// SPDX-License-Identifier: MIT
// AArch64 as Linux has it: registers of a thread, how a program and a child begin, and the frame a
// handler finds on its stack, byte for byte as Linux builds it (arch/arm64/kernel/signal.c,
// asm/ucontext.h, asm/sigcontext.h): siginfo, then the context that rt_sigreturn restores, which
// the handler may read and change, then the record of a stack frame for unwinders.
#include <stddef.h>
#include <string.h>

#include "isa/a64/extension.h"
#include "isa/a64/hart.h"
#include "linux/isa.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"

// ---- Registers.

enum { FP = 29, LR = 30 };

typedef struct registers {
    uint64_t x[31], sp, tpidr;
    tl_a64_vector v[32];
    uint32_t nzcv, fpcr, fpsr;
} registers;
_Static_assert(sizeof(registers) <= sizeof(tl_registers), "registers of a thread");

static registers *of(tl_registers *saved) { return (registers *)(void *)saved; }

static void save(const tl_hart *h, tl_registers *ret_registers) {
    const tl_a64_hart *a = tl_a64(h);
    registers *to = of(ret_registers);
    memcpy(to->x, a->x, sizeof to->x);
    memcpy(to->v, a->v, sizeof to->v);
    to->sp = a->x[TL_A64_SP];
    to->tpidr = a->tpidr;
    to->nzcv = a->nzcv;
    to->fpcr = a->fpcr;
    to->fpsr = a->fpsr;
}

static void load(tl_hart *h, const tl_registers *saved) {
    tl_a64_hart *a = tl_a64(h);
    const registers *from = (const registers *)(const void *)saved;
    memcpy(a->x, from->x, sizeof from->x);
    memcpy(a->v, from->v, sizeof from->v);
    a->x[TL_A64_SP] = from->sp;
    a->tpidr = from->tpidr;
    a->nzcv = from->nzcv;
    a->fpcr = from->fpcr;
    a->fpsr = from->fpsr;
}

static void start(tl_registers *ret_registers, uint64_t sp) { *of(ret_registers) = (registers){.sp = sp}; }

static void fork_registers(tl_registers *saved, uint64_t sp, bool has_tls, uint64_t tls) {
    registers *r = of(saved);
    r->x[0] = 0;
    r->sp = sp ? sp : r->sp;
    r->tpidr = has_tls ? tls : r->tpidr;
}

enum { PERF_SP = 31, PERF_PC = 32, N_PERF_REGISTERS };
static uint64_t perf_register(const tl_hart *h, uint32_t number) {
    return number == PERF_PC ? h->pc : tl_a64(h)->x[number == PERF_SP ? (uint32_t)TL_A64_SP : number];
}

static uint32_t read_illegal(tl_thread *t, uint64_t pc, const char **ret_why) {
    uint32_t bits = 0;
    (void)tl_vm_read(t->process, pc, &bits, sizeof bits);
    *ret_why = tl_a64_extension_of(bits);
    return bits;
}

// MRS of an identification register, op0:op1:CRn of 3:0:0, as Linux answers it: the fields that
// Documentation/arm64/cpu-feature-registers.rst calls visible, and safe values for all others.
static bool emulate(tl_hart *h, uint32_t bits) {
    enum { MRS = 0xd5380000, MASK = 0xfffff000, MIDR = 0, MPIDR = 5, REVIDR = 6, FIRST = 4 * 8, N = 64 };
    const uint32_t number = bits >> 5 & (N - 1), rd = bits & 31; // CRm:op2
    if ((bits & MASK) != MRS || (number > REVIDR && number < FIRST) || (number < FIRST && number != MIDR && number < MPIDR))
        return false;
    const uint64_t *reg = tl_a64(h)->sys.reg;
    uint64_t value = 0;
    switch (number) {
    case MIDR: value = reg[TL_A64_R_MIDR_EL1]; break;
    case MPIDR: value = UINT64_C(1) << 31; break; // harts look alike
    case REVIDR: value = reg[TL_A64_R_REVIDR_EL1]; break;
    // EL0 and EL1 without AArch32.
    case 4 * 8: value = (reg[TL_A64_R_ID_AA64PFR0_EL1] & 0x00ff0000) | 0x11; break;
    case 5 * 8: value = 6; break;
    case 6 * 8: value = reg[TL_A64_R_ID_AA64ISAR0_EL1]; break;
    // Granules are hidden.
    case 7 * 8: value = 0xff000000; break;
    default: break;
    }
    if (rd != 31)
        tl_a64(h)->x[rd] = value;
    return true;
}

// ---- Frames of signals.

enum { FPSIMD_MAGIC = 0x46508001, ESR_MAGIC = 0x45535201, RECORDS_BYTES = 4096 };

typedef struct record { // how a record of the reserved room begins; both 0: the last one
    uint32_t magic, bytes;
} record;

typedef struct fpsimd_record {
    record head;
    uint32_t fpsr, fpcr;
    tl_a64_vector v[32];
} fpsimd_record;
_Static_assert(sizeof(fpsimd_record) == 528, "struct fpsimd_context");

typedef struct esr_record {
    record head;
    uint64_t esr;
} esr_record;

typedef struct signal_frame {
    tl_signal_head head;
    uint64_t fault_vaddr, x[31], sp, pc, pstate;
    uint64_t align_records;
    uint8_t records[RECORDS_BYTES];
    uint64_t next_fp, next_lr; // the frame of the code that was interrupted
} signal_frame;
_Static_assert(offsetof(signal_frame, fault_vaddr) == 128 + 176, "struct sigcontext");
_Static_assert(offsetof(signal_frame, records) == 128 + 176 + 288, "__reserved of struct sigcontext");
_Static_assert(sizeof(signal_frame) == 128 + 176 + 288 + 4096 + 16, "struct rt_sigframe and struct frame_record");

// ESR_EL1 as a fault of a program leaves it, section D17.2.37: class, length of the instruction,
// status of a level 3 entry, write.
static uint64_t esr_of(const tl_hart *h, const tl_siginfo *info) {
    enum { FETCH_CLASS = 0x20, DATA_CLASS = 0x24, CLASS_LSB = 26, IS_32_BITS = 1 << 25, IS_WRITE = 1 << 6 };
    enum { TRANSLATION_3 = 0x07, PERMISSION_3 = 0x0f, ALIGNMENT = 0x21 };
    const bool is_fetch = h->isa->trap_kinds[h->trap_cause & (TL_MAX_CAUSES - 1)] == TL_TRAP_FETCH;
    const bool is_store = h->trap_cause >= TL_A64_CAUSE_STORE_PAGE && h->trap_cause <= TL_A64_CAUSE_STORE_MISALIGNED;
    const uint64_t status = info->signo == SIGBUS ? ALIGNMENT : info->code == SEGV_ACCERR ? PERMISSION_3 : TRANSLATION_3;
    return (uint64_t)(is_fetch ? FETCH_CLASS : DATA_CLASS) << CLASS_LSB | IS_32_BITS | (is_store ? (uint64_t)IS_WRITE : 0) | status;
}

static bool push_frame(tl_thread *t, uint64_t sp, const tl_siginfo *info, const tl_signal_saved *saved, const tl_sigaction *action) {
    enum { SA_RESTORER_OF_LINUX = 0x04000000 };
    tl_hart *h = t->hart;
    tl_a64_hart *a = tl_a64(h);
    signal_frame frame = {
        .head = tl_signal_head_of(info, saved),
        .sp = a->x[TL_A64_SP],
        .pc = h->pc,
        .pstate = (uint64_t)a->nzcv << TL_A64_NZCV_LSB,
        .next_fp = a->x[FP],
        .next_lr = a->x[LR],
    };
    memcpy(frame.x, a->x, sizeof frame.x);
    fpsimd_record fpsimd = {.head = {FPSIMD_MAGIC, sizeof fpsimd}, .fpsr = a->fpsr, .fpcr = a->fpcr};
    memcpy(fpsimd.v, a->v, sizeof fpsimd.v);
    memcpy(frame.records, &fpsimd, sizeof fpsimd);
    if (info->code > 0 && info->code != SI_KERNEL && (info->signo == SIGSEGV || info->signo == SIGBUS)) {
        const esr_record esr = {.head = {ESR_MAGIC, sizeof esr}, .esr = esr_of(h, info)};
        frame.fault_vaddr = info->addr;
        memcpy(frame.records + sizeof fpsimd, &esr, sizeof esr);
    }
    if (!tl_vm_write(t->process, sp, &frame, sizeof frame))
        return false;
    a->x[0] = (uint64_t)info->signo;
    a->x[1] = sp + offsetof(signal_frame, head.info);
    a->x[2] = sp + offsetof(signal_frame, head.uc_flags);
    a->x[FP] = sp + offsetof(signal_frame, next_fp);
    a->x[LR] = action->flags & SA_RESTORER_OF_LINUX ? action->restorer : TL_TRAMPOLINE_VADDR;
    a->x[TL_A64_SP] = sp;
    h->pc = action->handler;
    return true;
}

// Finds the record of SIMD registers. false: the records are damaged, or it is missing.
static bool find_fpsimd(const signal_frame *frame, fpsimd_record *ret_fpsimd) {
    bool is_found = false;
    for (size_t at = 0; at + sizeof(record) <= RECORDS_BYTES;) {
        record head;
        memcpy(&head, frame->records + at, sizeof head);
        if (head.magic == 0 && head.bytes == 0)
            return is_found;
        if (head.bytes < sizeof head || head.bytes % 16 != 0 || head.bytes > RECORDS_BYTES - at)
            return false;
        if (head.magic == FPSIMD_MAGIC) {
            if (is_found || head.bytes != sizeof *ret_fpsimd)
                return false;
            memcpy(ret_fpsimd, frame->records + at, sizeof *ret_fpsimd);
            is_found = true;
        } else if (head.magic != ESR_MAGIC) {
            return false;
        }
        at += head.bytes;
    }
    return is_found;
}

static bool pop_frame(tl_thread *t, tl_signal_saved *ret_saved) {
    // These bits of PSTATE must be 0, which is EL0 with nothing masked.
    static const uint64_t MODE_AND_MASKS = 0x3df;
    tl_hart *h = t->hart;
    tl_a64_hart *a = tl_a64(h);
    signal_frame frame;
    fpsimd_record fpsimd;
    const uint64_t sp = a->x[TL_A64_SP];
    if ((sp & 15) != 0 || !tl_vm_read(t->process, sp, &frame, offsetof(signal_frame, next_fp)))
        return false;
    if ((frame.pstate & MODE_AND_MASKS) != 0 || !find_fpsimd(&frame, &fpsimd))
        return false;
    h->pc = frame.pc;
    memcpy(a->x, frame.x, sizeof frame.x);
    memcpy(a->v, fpsimd.v, sizeof fpsimd.v);
    a->x[TL_A64_SP] = frame.sp;
    a->nzcv = (uint32_t)(frame.pstate >> TL_A64_NZCV_LSB) & 15;
    a->fpcr = fpsimd.fpcr & TL_A64_FPCR_BITS;
    a->fpsr = fpsimd.fpsr & TL_A64_FPSR_BITS;
    *ret_saved = tl_signal_saved_of(&frame.head);
    return true;
}

// ---- The machine.

static void cpuinfo(tl_strbuf *text, const tl_config *config, uint32_t hart) {
    (void)config;
    tl_strbuf_addf(text,
                   "processor\t: %u\nBogoMIPS\t: %u.%02u\nFeatures\t: fp asimd aes pmull sha1 sha2 crc32\n"
                   "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd03\nCPU revision\t: 4\n\n",
                   hart, TL_TIMEBASE_HZ / 500000, TL_TIMEBASE_HZ / 5000 % 100);
}

// In asm/fcntl.h of arm64, O_DIRECTORY and O_NOFOLLOW have the bits that O_DIRECT and O_LARGEFILE
// have elsewhere, and the reverse.
static uint32_t open_flags(uint32_t flags) {
    enum { LOW_LSB = 14, HIGH_LSB = 16, PAIR = 3 };
    const uint32_t low = flags >> LOW_LSB & PAIR, high = flags >> HIGH_LSB & PAIR;
    const uint32_t both = (uint32_t)PAIR << LOW_LSB | (uint32_t)PAIR << HIGH_LSB;
    return (flags & ~both) | low << HIGH_LSB | high << LOW_LSB;
}

// VMSAv8-64 with 39-bit addresses and a 4 KiB granule, sec. D8.3. Software may use bits 58:55. A
// bit takes the right to write or to execute away.
static const tl_page_format vmsa = {
    .ppn_lsb = TL_PAGE_LOG2,
    .ppn_bits = 36,
    .valid = 1,
    .table = 3,
    .page = UINT64_C(3) << 8 | 1 << 10 | 1 << 11 | UINT64_C(1) << 53 | 3, // SH, AF, nG, PXN
    .held = UINT64_C(1) << 55,
    .used = 0,                // AF is always set, and v8.0 keeps no dirty state
    .read = {1 << 6, 1 << 6}, // AP[1]
    .write = {1 << 7, 0},     // AP[2]
    .execute = {UINT64_C(1) << 54, 0},
    .context = 0,
    .context_shift = 0,
};

static const char *const loaders[] = {"ld-linux-aarch64", "ld-musl-aarch64", NULL};

// HWCAP_*, asm/hwcap.h.
enum {
    FP_CAP = 1 << 0,
    ASIMD_CAP = 1 << 1,
    AES_CAP = 1 << 3,
    PMULL_CAP = 1 << 4,
    SHA1_CAP = 1 << 5,
    SHA2_CAP = 1 << 6,
    CRC32_CAP = 1 << 7,
    CPUID_CAP = 1 << 11
};

const tl_os_isa tl_os_arm64 = {
    .isa = &tl_isa_a64,
    .name = "AArch64",
    .title = "an AArch64",
    .machine = "aarch64",
    .platform = "aarch64",
    .sysroot = "/usr/aarch64-linux-gnu",
    .loaders = loaders,
    .hwcap = FP_CAP | ASIMD_CAP | AES_CAP | PMULL_CAP | SHA1_CAP | SHA2_CAP | CRC32_CAP | CPUID_CAP,
    .default_machine = "a53",
    .call_bytes = 4,
    .lacks = {258, 259}, // riscv_*
    .has_restorer = true,
    .trampoline = {0xd2801168, 0xd4000001}, // mov x8, #139; svc #0
    .altstack_bytes = 5120,
    .frame_hint = sizeof(signal_frame) + 16,
    .page_format = &vmsa,
    .cpuinfo = cpuinfo,
    .open_flags = open_flags,
    .save = save,
    .load = load,
    .start = start,
    .fork = fork_registers,
    .n_perf_registers = N_PERF_REGISTERS,
    .perf_register = perf_register,
    .frame_bytes = sizeof(signal_frame),
    .push_frame = push_frame,
    .pop_frame = pop_frame,
    .read_illegal = read_illegal,
    .emulate = emulate,
};
