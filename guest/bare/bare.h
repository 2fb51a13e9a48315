/* SPDX-License-Identifier: MIT
 *
 * What bare programs share: control registers, changes of mode, page tables, the board's devices,
 * and checks. A program is main() on hart 0 in machine mode. Each CHECK site has a number; sites
 * that fail print one line with what was expected, and the run's status is the number of the first
 * of them. A machine that has the RISC-V privileged architecture and the address map of QEMU's
 * `virt` passes. */
#ifndef GUEST_BARE_H
#define GUEST_BARE_H

#include "check.h"

/* -- checks */
#define CHECK_TRUE(condition) check(__COUNTER__ + 1, __LINE__, #condition, (condition) ? 1 : 0, 1)
/* What QEMU 7.2 gets wrong is checked on other machines only, with the reason. */
#define CHECK_BUT_QEMU(reason, got, want)                                 \
    do {                                                                  \
        int check_number = __COUNTER__ + 1;                               \
        if (!is_qemu)                                                     \
            check(check_number, __LINE__, #got, (u64)(got), (u64)(want)); \
    } while (0)

/* The most instructions that retire in a cycle. Where it is more than 1, the core is out of order:
 * loads are looked up before older instructions have retired, and an interrupt comes then. */
#ifndef RETIRES
#define RETIRES 1
#endif

/* -- control and status registers; numbers that the assembler may not know are given as such */
#define CSR_STRING(x) #x
#define CSR_NAME(x) CSR_STRING(x)
#define csr_read(csr)                                                            \
    ({                                                                           \
        u64 csr_value;                                                           \
        __asm__ volatile("csrr %0, " CSR_NAME(csr) : "=r"(csr_value)::"memory"); \
        csr_value;                                                               \
    })
#define csr_write(csr, value) ({ __asm__ volatile("csrw " CSR_NAME(csr) ", %0" ::"rK"((u64)(value)) : "memory"); })
#define csr_set(csr, value) ({ __asm__ volatile("csrs " CSR_NAME(csr) ", %0" ::"rK"((u64)(value)) : "memory"); })
#define csr_clear(csr, value) ({ __asm__ volatile("csrc " CSR_NAME(csr) ", %0" ::"rK"((u64)(value)) : "memory"); })
#define csr_swap(csr, value)                                                                                   \
    ({                                                                                                         \
        u64 csr_value;                                                                                         \
        __asm__ volatile("csrrw %0, " CSR_NAME(csr) ", %1" : "=r"(csr_value) : "rK"((u64)(value)) : "memory"); \
        csr_value;                                                                                             \
    })

enum { MODE_U = 0, MODE_S = 1, MODE_M = 3 };
#define BIT(n) (UINT64_C(1) << (n))
#define MSTATUS_SIE BIT(1)
#define MSTATUS_MIE BIT(3)
#define MSTATUS_SPIE BIT(5)
#define MSTATUS_MPIE BIT(7)
#define MSTATUS_SPP BIT(8)
#define MSTATUS_MPP (UINT64_C(3) << 11)
#define MSTATUS_FS (UINT64_C(3) << 13)
#define MSTATUS_MPRV BIT(17)
#define MSTATUS_SUM BIT(18)
#define MSTATUS_MXR BIT(19)
#define MSTATUS_TVM BIT(20)
#define MSTATUS_TW BIT(21)
#define MSTATUS_TSR BIT(22)
#define MSTATUS_SD BIT(63)

enum {
    CAUSE_FETCH_MISALIGNED = 0,
    CAUSE_FETCH_ACCESS = 1,
    CAUSE_ILLEGAL = 2,
    CAUSE_BREAKPOINT = 3,
    CAUSE_LOAD_MISALIGNED = 4,
    CAUSE_LOAD_ACCESS = 5,
    CAUSE_STORE_MISALIGNED = 6,
    CAUSE_STORE_ACCESS = 7,
    CAUSE_ECALL_U = 8,
    CAUSE_ECALL_S = 9,
    CAUSE_ECALL_M = 11,
    CAUSE_FETCH_PAGE = 12,
    CAUSE_LOAD_PAGE = 13,
    CAUSE_STORE_PAGE = 15,
};
enum { IRQ_SSI = 1, IRQ_MSI = 3, IRQ_STI = 5, IRQ_MTI = 7, IRQ_SEI = 9, IRQ_MEI = 11, IRQ_LCOFI = 13 };
#define CAUSE_IRQ(n) (BIT(63) | (u64)(n))

/* -- modes and traps: see crt.S */
typedef struct outcome {
    u64 trapped; /* 0: the code returned; x[10] is its result */
    u64 mode;    /* the mode that took the trap: MODE_M or MODE_S */
    u64 cause, epc, tval;
    u64 status, ip; /* mstatus and mip, or sstatus and sip, at the entry of the handler */
    u64 slot;       /* of the vector table that was used, else -1 */
    u64 x[32];
} outcome;
typedef struct context {
    outcome outcome;
    u64 t0, t1;
    u64 start;
    u64 boot_a0, boot_a1;
    u64 saved[17];
    u64 s_slot, is_armed;
} context;
enum { N_HARTS = 4, STACK_BYTES = 1 << 14 };
extern context contexts[N_HARTS];
outcome *run_in(u64 mode, u64 pc, u64 a0, u64 a1, u64 ra, u64 sp);
extern char exit_stub[], m_trap[], s_trap[], m_vectors[], s_vectors[], lower_stacks[];

/* Runs code at an address, of this program or the same through a page table, in a mode. What is
 * mapped for user mode is seen there `alias` below its own address. */
outcome *run_at(u64 mode, u64 pc, u64 a0, u64 a1);
static inline outcome *run(u64 mode, void (*code)(void), u64 a0, u64 a1) { return run_at(mode, (u64)code, a0, a1); }
#define SNIPPET(name, ...) \
    void name(void);       \
    __asm__(".text\n.balign 4\n.globl " #name "\n" #name ":\n" __VA_ARGS__ "\n ret\n")
/* One 32-bit instruction followed by a return, put together at run time. */
u64 one_instruction(u32 insn);
enum { CSRRW = 1, CSRRS = 2, CSRRC = 3, CSRRWI = 5, CSRRSI = 6, CSRRCI = 7 };
static inline u32 csr_insn(u32 kind, u32 csr, u32 rd, u32 rs1) { return csr << 20 | rs1 << 15 | kind << 12 | rd << 7 | 0x73; }
outcome *run_insn(u64 mode, u32 insn, u64 a0, u64 a1);

/* Starts another hart in machine mode; it parks when the function returns. */
void hart_start(u64 hart, void (*code)(u64 hart));
#ifdef SUPERVISOR /* a payload of firmware, ../sbi: tp points to the hart's context, and mhartid is out of reach */
static inline u64 hart_id(void) {
    context *mine;
    __asm__ volatile("mv %0, tp" : "=r"(mine));
    return (u64)(mine - contexts);
}
#else
static inline u64 hart_id(void) { return csr_read(mhartid); }
#endif

/* -- page tables. Levels count from the leaves: 0 is 4 KiB, 1 2 MiB, 2 1 GiB, 3 512 GiB */
enum { PTE_V = 1, PTE_R = 2, PTE_W = 4, PTE_X = 8, PTE_U = 16, PTE_G = 32, PTE_A = 64, PTE_D = 128 };
enum { PTE_RWX = PTE_V | PTE_R | PTE_W | PTE_X | PTE_A | PTE_D, PTE_RW = PTE_V | PTE_R | PTE_W | PTE_A | PTE_D };
u64 *page_new(void);                                        /* zeroed */
u64 *pte_of(u64 *root, u32 n_levels, u64 vaddr, u32 level); /* makes the tables above it */
void map(u64 *root, u32 n_levels, u64 vaddr, u64 paddr, u32 level, u64 flags);
static inline u64 pte(u64 paddr, u64 flags) { return paddr >> 12 << 10 | flags; }
enum { SATP_SV39 = 8, SATP_SV48 = 9 };
static inline u64 satp_of(const u64 *root, u64 mode) { return mode << 60 | (u64)root >> 12; }
#define sfence() ({ __asm__ volatile("sfence.vma" ::: "memory"); })
#define sfence_page(vaddr) ({ __asm__ volatile("sfence.vma %0" ::"r"((u64)(vaddr)) : "memory"); })
#define fence_i() ({ __asm__ volatile("fence.i" ::: "memory"); })

/* The machine's own memory as S sees it, address for address, and as U sees it, USER_ALIAS lower;
 * devices for S. Three-level tables. */
#define USER_ALIAS UINT64_C(0x40000000)
u64 *standard_map(void);
static inline u64 user(const void *at) { return (u64)at - USER_ALIAS; }
extern u64 alias; /* what run_at subtracts from code, stack and exit of user mode; 0 without page tables */

/* -- the board */
#define CLINT_BASE UINT64_C(0x2000000)
#define PLIC_BASE UINT64_C(0xc000000)
#define UART_BASE UINT64_C(0x10000000)
#define RAM_BASE UINT64_C(0x80000000)
#define MMIO8(address) (*(volatile uint8_t *)(address))
#define MMIO32(address) (*(volatile u32 *)(address))
#define MMIO64(address) (*(volatile u64 *)(address))
#define MSIP(hart) MMIO32(CLINT_BASE + 4 * (hart))
#define MTIMECMP(hart) MMIO64(CLINT_BASE + 0x4000 + 8 * (hart))
#define MTIME MMIO64(CLINT_BASE + 0xbff8)
u64 cycles_per_tick(void); /* of mtime, rounded down, at least 1 */
static const u64 NEVER = UINT64_MAX;

static inline bool has_csr_trap(const outcome *o) { return o->trapped && o->cause == CAUSE_ILLEGAL; }

#endif
