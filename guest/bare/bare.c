/* SPDX-License-Identifier: MIT
 * Checks, modes, page tables and output of bare programs; see bare.h. */
#include "bare.h"

_Static_assert(offsetof(context, outcome.slot) == 56 && offsetof(context, outcome.x) == 64, "layout.inc");
_Static_assert(offsetof(context, t0) == 320 && offsetof(context, start) == 336 && offsetof(context, saved) == 360 &&
                   offsetof(context, s_slot) == 496 && offsetof(context, is_armed) == 504,
               "layout.inc");
_Static_assert(sizeof(context) == 512, "layout.inc");

context contexts[N_HARTS];
u64 alias;

static void put(char c) {
    while (!(MMIO8(UART_BASE + 5) & 0x20))
        ;
    MMIO8(UART_BASE) = (uint8_t)c;
}
void finish(u64 code) {
    MMIO32(0x100000) = code == 0 ? 0x5555 : (u32)(code & 0xffff) << 16 | 0x3333;
    for (;;)
        __asm__ volatile("wfi");
}
#include "check.inc"

void prepare(void);
void prepare(void) { is_qemu = MMIO32(RAM_BASE + 0x3ff000) == 0x756d6571; }

_Noreturn void unexpected_trap(const context *in);
void unexpected_trap(const context *in) {
    print("FAIL: machine mode trapped outside run_in: cause ");
    print_hex(in->outcome.cause);
    print(", epc ");
    print_hex(in->outcome.epc);
    print(", value ");
    print_hex(in->outcome.tval);
    print("\n");
    finish(253);
}

outcome *run_at(u64 mode, u64 pc, u64 a0, u64 a1) {
    u64 below = mode == MODE_U ? alias : 0;
    u64 sp = (u64)lower_stacks + (hart_id() + 1) * STACK_BYTES;
    return run_in(mode, pc - below, a0, a1, (u64)exit_stub - below, sp - below);
}

static u32 scratch_code[N_HARTS][4];
u64 one_instruction(u32 insn) {
    u32 *code = scratch_code[hart_id()];
    code[0] = insn;
    code[1] = 0x00008067; /* ret */
    fence_i();
    return (u64)code;
}
outcome *run_insn(u64 mode, u32 insn, u64 a0, u64 a1) { return run_at(mode, one_instruction(insn), a0, a1); }

void hart_start(u64 hart, void (*code)(u64 hart)) {
    *(volatile u64 *)&contexts[hart].start = (u64)code;
    __asm__ volatile("fence" ::: "memory");
    MSIP(hart) = 1;
}

u64 cycles_per_tick(void) {
    u64 start = MTIME, cycle = csr_read(mcycle), ticks;
    do
        ticks = MTIME - start;
    while (ticks < 64);
    u64 ratio = (csr_read(mcycle) - cycle) / ticks;
    return ratio > 0 ? ratio : 1;
}

enum { N_PAGES = 64 };
static u64 pages[N_PAGES][512] __attribute__((aligned(4096)));
static u32 n_pages;
u64 *page_new(void) {
    if (n_pages == N_PAGES) {
        print("FAIL: out of page tables\n");
        finish(255);
    }
    u64 *page = pages[n_pages++];
    for (u32 i = 0; i < 512; i++)
        page[i] = 0;
    return page;
}
u64 *pte_of(u64 *root, u32 n_levels, u64 vaddr, u32 level) {
    u64 *table = root;
    for (u32 at = n_levels - 1; at > level; at--) {
        u64 *entry = &table[vaddr >> (12 + 9 * at) & 511];
        if (*entry == 0)
            *entry = pte((u64)page_new(), PTE_V);
        table = (u64 *)(*entry >> 10 << 12);
    }
    return &table[vaddr >> (12 + 9 * level) & 511];
}
void map(u64 *root, u32 n_levels, u64 vaddr, u64 paddr, u32 level, u64 flags) { *pte_of(root, n_levels, vaddr, level) = pte(paddr, flags); }

u64 *standard_map(void) {
    u64 *root = page_new();
    map(root, 3, 0, 0, 2, PTE_RW);
    map(root, 3, RAM_BASE - USER_ALIAS, RAM_BASE, 1, PTE_RWX | PTE_U);
    map(root, 3, RAM_BASE, RAM_BASE, 1, PTE_RWX);
    return root;
}
