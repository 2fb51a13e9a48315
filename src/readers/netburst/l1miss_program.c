// SPDX-License-Identifier: MIT
// See l1miss_program.h. The handlers follow the SDM: PEBS is off while a handler runs, records are
// taken from the base up to the index, and an overflow is cleared before its interrupt is unmasked.
// Nothing of the kernel but a copy of records lies in set 15 of the L1D, where the cells are.
#include "readers/netburst/l1miss_program.h"

#include <string.h>

#include "isa/rv/assemble.h"
#include "isa/rv/privileged.h"
#include "pmu/netburst/netburst.h"

// Places from the start of RAM, and virtual addresses.
enum {
    ROOT = 0,
    MIDDLE = 0x1000,
    USER_LEAVES = 0x2000,
    KERNEL_LEAVES = 0x3000,
    BOOT = 0x4000,
    KERNEL_CODE = 0x6000,
    STATE = 0x8000, // of the handlers; their results
    AREA = 0x9000,  // the debug store: management area, then records
    USER_CODE = 0x10000,
    USER_DATA = 0x20000,
    RECORDS = 0x40000, // that the handler keeps
    PAGE = 0x1000,
    AREA_RECORDS = 0x100,
    CODE_BYTES = 2 * PAGE,
    DATA_BYTES = 16 * PAGE,
    RECORDS_BYTES = 64 * PAGE,
    USER_VADDR = 0x08000000,
    USER_CODE_VADDR = 0x08048000,
    USER_DATA_VADDR = 0x08050000,
    KERNEL_VADDR = 0x10000000,
    STATE_VADDR = KERNEL_VADDR + 0x4000,
    AREA_VADDR = KERNEL_VADDR + 0x5000,
    RECORDS_VADDR = KERNEL_VADDR + 0x10000,
    LEAF_LOG2 = 21, // a table of leaves
};
_Static_assert(L1MISS_MAX_RECORDS *L1MISS_RECORD_BYTES <= RECORDS_BYTES, "records fit");

// In the page of the state: saved registers first, by number.
enum { KEPT = 0x100, INTERRUPTS = 0x108, COUNT = 0x110 };

enum {
    CSR_SSTATUS = 0x100,
    CSR_SIE = 0x104,
    CSR_STVEC = 0x105,
    CSR_SSCRATCH = 0x140,
    CSR_SEPC = 0x141,
    CSR_SCAUSE = 0x142,
    CSR_SIP = 0x144,
    CSR_SATP = 0x180,
    CSR_MSTATUS = 0x300,
    CSR_MEDELEG = 0x302,
    CSR_MIDELEG = 0x303,
    CSR_MEPC = 0x341,
    CSR_PMPCFG0 = 0x3a0,
    CSR_PMPADDR0 = 0x3b0,
    CSR_NBINDEX = 0x5c0,
    CSR_NBDATA = 0x5c1,
    CSR_NBLVT = 0x5c2,
    STATUS_SPP = 1 << 8,
    STATUS_MPP_S = 1 << 11,
    STATUS_MPP = 3 << 11,
    PMP_ALL = 0x1f, // read, write, execute, all addresses
};
enum { PTE_V = 1, PTE_R = 2, PTE_W = 4, PTE_X = 8, PTE_U = 16, PTE_AD = 0xc0 };

// Registers of the PMU, as the specification's section 17 has them.
enum {
    COUNTER = TL_MSR_COUNTER + TL_NETBURST_PEBS_T0,
    CCCR = TL_MSR_CCCR + TL_NETBURST_PEBS_T0,
    CRU_ESCR2 = 0x3cc,
    REPLAY_T0_USER = 0x12000204,
    CCCR_COUNTS = 0x0003b000,
    CCCR_INTERRUPTS = 0x0403b000,
    TAG_L1_MISSES = 0x01000001,
    TAG_AND_SAMPLE = 0x03000001,
};

static void put64(const l1miss_program *p, uint32_t place, uint64_t value) {
    memcpy(tl_machine_ram(p->machine, TL_RAM_BASE_PADDR + place), &value, sizeof value);
}
static void put32(const l1miss_program *p, uint32_t place, uint64_t value) {
    memcpy(tl_machine_ram(p->machine, TL_RAM_BASE_PADDR + place), &value, 4);
}
static uint64_t get64(const l1miss_program *p, uint32_t place) {
    uint64_t value;
    memcpy(&value, tl_machine_ram(p->machine, TL_RAM_BASE_PADDR + place), sizeof value);
    return value;
}

// ---- Tables.

static uint64_t pte(uint64_t place, uint64_t bits) { return (TL_RAM_BASE_PADDR + place) / PAGE << 10 | bits | PTE_V; }

static void map(const l1miss_program *p, uint32_t leaves, uint32_t vaddr, uint32_t place, uint32_t n_bytes, uint64_t bits) {
    for (uint32_t at = 0; at < n_bytes; at += PAGE)
        put64(p, leaves + (vaddr + at) / PAGE % 512 * 8, pte(place + at, bits | PTE_AD));
}

static void make_tables(const l1miss_program *p) {
    put64(p, ROOT, pte(MIDDLE, 0));
    put64(p, MIDDLE + (USER_VADDR >> LEAF_LOG2) * 8, pte(USER_LEAVES, 0));
    put64(p, MIDDLE + (KERNEL_VADDR >> LEAF_LOG2) * 8, pte(KERNEL_LEAVES, 0));
    map(p, USER_LEAVES, USER_CODE_VADDR, USER_CODE, PAGE, PTE_R | PTE_X | PTE_U);
    map(p, USER_LEAVES, USER_DATA_VADDR, USER_DATA, DATA_BYTES, PTE_R | PTE_W | PTE_U);
    map(p, KERNEL_LEAVES, KERNEL_VADDR, KERNEL_CODE, CODE_BYTES, PTE_R | PTE_X);
    map(p, KERNEL_LEAVES, STATE_VADDR, STATE, PAGE, PTE_R | PTE_W);
    map(p, KERNEL_LEAVES, AREA_VADDR, AREA, PAGE, PTE_R | PTE_W);
    map(p, KERNEL_LEAVES, RECORDS_VADDR, RECORDS, RECORDS_BYTES, PTE_R | PTE_W);
}

// ---- Data.

static uint64_t preset(uint64_t n_events) { return -n_events & TL_NETBURST_VALUE; }

// A precise sample names the event after the overflow, an interrupt comes with it. In lock-step the
// overflow comes one event earlier.
static uint64_t reload(const tl_l1miss_options *o) {
    return preset(o->method == TL_L1MISS_PRECISE && !o->is_lockstep ? o->period : o->period - 1);
}

enum { BASE = 0x10, INDEX = 0x14, MAXIMUM = 0x18, THRESHOLD = 0x1c, RESET = 0x20 }; // of the area

static void make_data(const l1miss_program *p) {
    for (uint32_t j = 0; j < TL_L1MISS_CELLS; j++) {
        const uint32_t named = p->options->is_chained ? (j + 1) % TL_L1MISS_CELLS : j;
        put64(p, USER_DATA + (uint32_t)(L1MISS_FIRST_CELL - USER_DATA_VADDR) + j * L1MISS_STRIDE,
              L1MISS_FIRST_CELL + named * L1MISS_STRIDE);
    }
    put64(p, USER_DATA + L1MISS_HOT_LINE - USER_DATA_VADDR, L1MISS_HOT_VALUE);
    put32(p, AREA + BASE, AREA_VADDR + AREA_RECORDS);
    put32(p, AREA + INDEX, AREA_VADDR + AREA_RECORDS);
    put32(p, AREA + MAXIMUM, AREA_VADDR + AREA_RECORDS + L1MISS_BUFFER_RECORDS * L1MISS_RECORD_BYTES + 1);
    put32(p, AREA + THRESHOLD, AREA_VADDR + AREA_RECORDS + L1MISS_THRESHOLD_RECORDS * L1MISS_RECORD_BYTES);
    put64(p, AREA + RESET, reload(p->options));
    put64(p, STATE + KEPT, RECORDS_VADDR);
}

// ---- Code.

static void load_word(tl_assembler *a, uint32_t rd, uint32_t rs1, uint32_t offset) {
    tl_asm_word(a, offset << 20 | rs1 << 15 | 2 << 12 | rd << 7 | 0x03);
}
static void store_word(tl_assembler *a, uint32_t rs2, uint32_t rs1, uint32_t offset) {
    tl_asm_word(a, (offset >> 5) << 25 | rs2 << 20 | rs1 << 15 | 2 << 12 | (offset & 31) << 7 | 0x23);
}
static void write_csr(tl_assembler *a, uint32_t csr, uint64_t value) {
    tl_asm_load_constant(a, TL_T0, value);
    tl_asm_csrw(a, csr, TL_T0);
}
static void write_msr(tl_assembler *a, uint32_t msr, uint64_t value) {
    write_csr(a, CSR_NBINDEX, msr);
    write_csr(a, CSR_NBDATA, value);
}

// Firmware: everything belongs to the kernel.
static void write_boot(tl_assembler *a) {
    write_csr(a, CSR_PMPADDR0, UINT64_MAX >> 10);
    write_csr(a, CSR_PMPCFG0, PMP_ALL);
    write_csr(a, CSR_MEDELEG, UINT64_C(1) << TL_CAUSE_ECALL_U);
    write_csr(a, CSR_MIDELEG, UINT64_C(1) << TL_IRQ_LCOFI);
    write_csr(a, CSR_SATP, UINT64_C(8) << 60 | (TL_RAM_BASE_PADDR + ROOT) / PAGE);
    tl_asm_load_constant(a, TL_T0, STATUS_MPP);
    tl_asm_csrc(a, CSR_MSTATUS, TL_T0);
    tl_asm_load_constant(a, TL_T0, STATUS_MPP_S);
    tl_asm_csrs(a, CSR_MSTATUS, TL_T0);
    write_csr(a, CSR_MEPC, KERNEL_VADDR);
    tl_asm_mret(a);
}

// The driver: counters run from here on.
static void write_setup(tl_assembler *a, const tl_l1miss_options *o, uint64_t handler, uint64_t entry) {
    const bool is_precise = o->method == TL_L1MISS_PRECISE;
    write_csr(a, CSR_STVEC, handler);
    write_csr(a, CSR_SSCRATCH, STATE_VADDR);
    write_csr(a, CSR_SIE, UINT64_C(1) << TL_IRQ_LCOFI);
    write_csr(a, CSR_SEPC, entry);
    tl_asm_load_constant(a, TL_T0, STATUS_SPP);
    tl_asm_csrc(a, CSR_SSTATUS, TL_T0);
    write_msr(a, TL_MSR_DS_AREA, AREA_VADDR);
    write_msr(a, CRU_ESCR2, REPLAY_T0_USER);
    write_msr(a, TL_MSR_PEBS_MATRIX_VERT, 1);
    write_msr(a, TL_MSR_PEBS_ENABLE, is_precise ? TAG_AND_SAMPLE : TAG_L1_MISSES);
    write_msr(a, COUNTER, o->method == TL_L1MISS_COUNT ? 0 : reload(o));
    write_csr(a, CSR_NBLVT, 0);
    tl_asm_ecall(a); // L1MISS_BEGINS
    write_msr(a, CCCR, o->method == TL_L1MISS_COUNT ? CCCR_COUNTS : CCCR_INTERRUPTS);
    tl_asm_sret(a);
}

// A kernel saves all registers of the program. t6 points to the state meanwhile.
static void save(tl_assembler *a) {
    tl_asm_csrrw(a, TL_T6, CSR_SSCRATCH, TL_T6);
    for (uint32_t x = TL_RA; x < TL_T6; x++)
        tl_asm_sd(a, x, TL_T6, (int32_t)(8 * x));
}

static void leave(tl_assembler *a) {
    for (uint32_t x = TL_RA; x < TL_T6; x++)
        tl_asm_ld(a, x, TL_T6, (int32_t)(8 * x));
    tl_asm_csrrw(a, TL_T6, CSR_SSCRATCH, TL_T6);
    tl_asm_sret(a);
}

// t1 := where the next record is kept. Returns a branch that is taken if there is no room.
static uint32_t write_room(tl_assembler *a, uint32_t n_bytes) {
    tl_asm_ld(a, TL_T1, TL_T6, KEPT);
    tl_asm_load_constant(a, TL_T2, RECORDS_VADDR + L1MISS_MAX_RECORDS * n_bytes);
    return tl_asm_branch(a, TL_ASM_GEU, TL_T1, TL_T2);
}

// Takes the records from the base up to the index, and sets the index back.
static void write_collect(tl_assembler *a) {
    tl_asm_load_constant(a, TL_T0, AREA_VADDR);
    load_word(a, TL_T3, TL_T0, BASE);
    load_word(a, TL_T4, TL_T0, INDEX);
    store_word(a, TL_T3, TL_T0, INDEX);
    const uint64_t again = tl_asm_here(a);
    const uint32_t at_end = tl_asm_branch(a, TL_ASM_GEU, TL_T3, TL_T4);
    const uint32_t no_room = write_room(a, L1MISS_RECORD_BYTES);
    for (int32_t at = 0; at < L1MISS_RECORD_BYTES; at += 8) {
        tl_asm_ld(a, TL_T5, TL_T3, at);
        tl_asm_sd(a, TL_T5, TL_T1, at);
    }
    tl_asm_addi(a, TL_T1, TL_T1, L1MISS_RECORD_BYTES);
    tl_asm_sd(a, TL_T1, TL_T6, KEPT);
    tl_asm_addi(a, TL_T3, TL_T3, L1MISS_RECORD_BYTES);
    tl_asm_jump_to(a, again);
    tl_asm_bind(a, at_end);
    tl_asm_bind(a, no_room);
}

static void write_end(tl_assembler *a, const tl_l1miss_options *o) {
    write_msr(a, CCCR, 0);
    write_csr(a, CSR_NBINDEX, COUNTER);
    tl_asm_csrr(a, TL_T0, CSR_NBDATA);
    tl_asm_sd(a, TL_T0, TL_T6, COUNT);
    if (o->method == TL_L1MISS_PRECISE)
        write_collect(a);
    tl_asm_ecall(a); // L1MISS_ENDS
}

// PEBS is off in the handler.
static void write_take_records(tl_assembler *a) {
    write_msr(a, TL_MSR_PEBS_ENABLE, 0);
    write_collect(a);
    write_msr(a, TL_MSR_PEBS_ENABLE, TAG_AND_SAMPLE);
}

static void write_take_address(tl_assembler *a, const tl_l1miss_options *o) {
    const uint32_t no_room = write_room(a, 8);
    tl_asm_csrr(a, TL_T0, CSR_SEPC);
    tl_asm_sd(a, TL_T0, TL_T1, 0);
    tl_asm_addi(a, TL_T1, TL_T1, 8);
    tl_asm_sd(a, TL_T1, TL_T6, KEPT);
    tl_asm_bind(a, no_room);
    write_msr(a, COUNTER, reload(o));
    write_msr(a, CCCR, CCCR_INTERRUPTS); // without OVF
}

// An overflow and a full area share the interrupt, so the handler looks for both.
static void write_look(tl_assembler *a, const tl_l1miss_options *o) {
    write_csr(a, CSR_NBINDEX, CCCR);
    tl_asm_csrr(a, TL_T0, CSR_NBDATA);
    tl_asm_slli(a, TL_T0, TL_T0, 32); // OVF becomes the sign
    const uint32_t no_overflow = tl_asm_branch(a, TL_ASM_GE, TL_T0, TL_X0);
    write_take_address(a, o);
    tl_asm_bind(a, no_overflow);
    tl_asm_load_constant(a, TL_T0, AREA_VADDR);
    load_word(a, TL_T1, TL_T0, INDEX);
    load_word(a, TL_T2, TL_T0, THRESHOLD);
    const uint32_t not_full = tl_asm_branch(a, TL_ASM_LTU, TL_T1, TL_T2);
    write_take_records(a);
    tl_asm_bind(a, not_full);
}

static void write_handler(tl_assembler *a, const tl_l1miss_options *o) {
    save(a);
    tl_asm_csrr(a, TL_T0, CSR_SCAUSE);
    const uint32_t is_call = tl_asm_branch(a, TL_ASM_GE, TL_T0, TL_X0);
    tl_asm_ld(a, TL_S1, TL_T6, INTERRUPTS);
    tl_asm_addi(a, TL_S1, TL_S1, 1);
    tl_asm_sd(a, TL_S1, TL_T6, INTERRUPTS);
    write_look(a, o);
    tl_asm_load_constant(a, TL_T1, o->n_samples);
    const uint32_t is_last = tl_asm_branch(a, TL_ASM_GEU, TL_S1, TL_T1);
    tl_asm_load_constant(a, TL_T0, UINT64_C(1) << TL_IRQ_LCOFI);
    tl_asm_csrc(a, CSR_SIP, TL_T0);
    write_csr(a, CSR_NBLVT, 0);
    leave(a);
    tl_asm_bind(a, is_call);
    tl_asm_bind(a, is_last);
    write_end(a, o);
}

// ---- The loop.

enum { LD_A0_A0 = 0x6108, LD_A4_A5 = 0x6398 }; // compressed: c.ld a0, 0(a0); c.ld a4, 0(a5)

static void write_loads(tl_assembler *a, bool is_chained) {
    const uint32_t others = is_chained ? LD_A4_A5 : LD_A0_A0;
    for (uint32_t i = 0; i < L1MISS_LOADS; i += 2)
        tl_asm_word(a, (i == 0 ? (uint32_t)LD_A0_A0 : others) | others << 16);
}

static uint64_t first_of_loop(const tl_l1miss_options *o) { return L1MISS_FIRST_LOAD - (o->is_chained ? 0 : 12); }

static void write_loop(tl_assembler *a, const tl_l1miss_options *o) {
    const uint64_t loop = tl_asm_here(a);
    if (!o->is_chained) {
        tl_asm_andi(a, TL_A0, TL_A1, TL_L1MISS_CELLS - 1);
        tl_asm_slli(a, TL_A0, TL_A0, 13);
        tl_asm_op(a, TL_ASM_ADD, TL_A0, TL_A0, TL_A2);
    }
    write_loads(a, o->is_chained);
    tl_asm_addi(a, TL_A1, TL_A1, 1);
    tl_asm_branch_to(a, TL_ASM_NE, TL_A1, TL_A3, loop);
    if (o->is_nested) {
        tl_asm_addi(a, TL_A1, TL_X0, 0);
        tl_asm_addi(a, TL_S0, TL_S0, -1);
        tl_asm_branch_to(a, TL_ASM_NE, TL_S0, TL_X0, loop);
    }
}

// Registers first, then the loop at its place, then the call that ends it.
static void write_user(tl_assembler *a, const l1miss_program *p) {
    tl_asm_load_constant(a, TL_A0, L1MISS_FIRST_CELL);
    tl_asm_load_constant(a, TL_A1, 0);
    tl_asm_load_constant(a, TL_A2, L1MISS_FIRST_CELL);
    tl_asm_load_constant(a, TL_A3, p->options->is_nested ? TL_L1MISS_CELLS : p->n_passes);
    tl_asm_load_constant(a, TL_A4, L1MISS_HOT_VALUE);
    tl_asm_load_constant(a, TL_A5, L1MISS_HOT_LINE);
    tl_asm_load_constant(a, TL_S0, p->options->is_nested ? p->n_passes / TL_L1MISS_CELLS : 0);
    tl_asm_load_constant(a, TL_SP, L1MISS_STACK);
    tl_asm_jump_to(a, p->loop);
}

static tl_assembler assembler(const l1miss_program *p, uint32_t place, uint32_t n_bytes, uint64_t vaddr) {
    tl_assembler a;
    tl_asm_init(&a, tl_machine_ram(p->machine, TL_RAM_BASE_PADDR + place), n_bytes, vaddr);
    return a;
}

static bool make_code(l1miss_program *p) {
    enum { HANDLER = 0x400, ENTRY = 0x100 };
    tl_assembler boot = assembler(p, BOOT, PAGE, TL_RAM_BASE_PADDR + BOOT);
    write_boot(&boot);
    tl_assembler setup = assembler(p, KERNEL_CODE, HANDLER, KERNEL_VADDR);
    write_setup(&setup, p->options, KERNEL_VADDR + HANDLER, USER_CODE_VADDR + ENTRY);
    tl_assembler handler = assembler(p, KERNEL_CODE + HANDLER, CODE_BYTES - HANDLER, KERNEL_VADDR + HANDLER);
    write_handler(&handler, p->options);
    p->loop = first_of_loop(p->options);
    const uint32_t before = (uint32_t)(p->loop - USER_CODE_VADDR);
    tl_assembler entry = assembler(p, USER_CODE + ENTRY, before - ENTRY, USER_CODE_VADDR + ENTRY);
    write_user(&entry, p);
    tl_assembler loop = assembler(p, USER_CODE + before, PAGE - before, p->loop);
    write_loop(&loop, p->options);
    p->loop_end = tl_asm_here(&loop);
    tl_asm_ecall(&loop);
    return !boot.is_full && !setup.is_full && !handler.is_full && !entry.is_full && !loop.is_full;
}

tl_status l1miss_load(l1miss_program *p, tl_error *err) {
    tl_hart *h = p->machine->harts[0];
    make_tables(p);
    make_data(p);
    if (!make_code(p))
        return tl_fail(err, TL_EINVAL, "the program of the experiment does not fit into its pages");
    tl_privileged_reset(h);
    h->pc = TL_RAM_BASE_PADDR + BOOT;
    h->code_generation += 1;
    return TL_OK;
}

// ---- What it found.

uint64_t l1miss_count(const l1miss_program *p) { return get64(p, STATE + COUNT); }
uint64_t l1miss_interrupts(const l1miss_program *p) { return get64(p, STATE + INTERRUPTS); }

const uint8_t *l1miss_records(const l1miss_program *p, uint64_t *ret_n) {
    const uint64_t n_bytes = get64(p, STATE + KEPT) - RECORDS_VADDR;
    *ret_n = n_bytes / (p->options->method == TL_L1MISS_PRECISE ? L1MISS_RECORD_BYTES : 8);
    return tl_machine_ram(p->machine, TL_RAM_BASE_PADDR + RECORDS);
}

uint32_t l1miss_distance(const l1miss_program *p, uint64_t pc) {
    const uint64_t loads_end = L1MISS_FIRST_LOAD + 2 * L1MISS_LOADS;
    if (pc < p->loop || pc >= p->loop_end)
        return TL_L1MISS_DISTANCES;
    if (pc < L1MISS_FIRST_LOAD) // of the next pass
        return (uint32_t)(L1MISS_LOADS + (p->loop_end - loads_end) / 4 + (pc - p->loop) / 4);
    return (uint32_t)(pc < loads_end ? (pc - L1MISS_FIRST_LOAD) / 2 : L1MISS_LOADS + (pc - loads_end) / 4);
}
