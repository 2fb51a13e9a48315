/* SPDX-License-Identifier: MIT
 * Exceptions: every cause without page tables, from every mode, delegated or not. The tests check
 * the registers at the handler's entry: cause, epc, value, stack of modes and enables, vector. */
#include "bare.h"

static const u64 NOWHERE = UINT64_C(0x007ffffffff000); /* a physical address at which neither board has anything */
#define ALL_CAUSES UINT64_C(0xb1ff)

SNIPPET(returns, "li a0, 42");
SNIPPET(ecalls, "nop\n .globl ecalls_at\n ecalls_at: .4byte 0x00000073");
SNIPPET(ebreaks, "nop\n .globl ebreaks_at\n ebreaks_at: .4byte 0x00100073");
SNIPPET(ebreaks_short, ".option push\n .option rvc\n c.nop\n .globl ebreaks_short_at\n ebreaks_short_at: c.ebreak\n .option pop");
SNIPPET(illegal_ones, "nop\n .globl illegal_ones_at\n illegal_ones_at: .4byte 0xffffffff");
SNIPPET(illegal_zeros, "nop\n .globl illegal_zeros_at\n illegal_zeros_at: .2byte 0");
SNIPPET(illegal_opcode, "nop\n .globl illegal_opcode_at\n illegal_opcode_at: .4byte 0x0000107b");
SNIPPET(loads, "nop\n .globl loads_at\n loads_at: ld a1, 0(a0)");
SNIPPET(loads_byte, "nop\n .globl loads_byte_at\n loads_byte_at: lbu a1, 1(a0)");
SNIPPET(loads_fp, "nop\n .globl loads_fp_at\n loads_fp_at: fld fa0, 0(a0)");
SNIPPET(stores, "nop\n .globl stores_at\n stores_at: sd a1, 0(a0)");
SNIPPET(stores_fp, "nop\n .globl stores_fp_at\n stores_fp_at: fsd fa0, 0(a0)");
SNIPPET(adds, "nop\n .globl adds_at\n adds_at: amoadd.d a1, a2, (a0)");
SNIPPET(reserves, "nop\n .globl reserves_at\n reserves_at: lr.d a1, (a0)");
SNIPPET(reserves_word, "nop\n .globl reserves_word_at\n reserves_word_at: lr.w a1, (a0)");
SNIPPET(swaps_word, "nop\n .globl swaps_word_at\n swaps_word_at: amoswap.w a1, a2, (a0)");
SNIPPET(jumps, "nop\n jr a0");
extern char ecalls_at[], ebreaks_at[], ebreaks_short_at[], illegal_ones_at[], illegal_zeros_at[], illegal_opcode_at[], loads_at[],
    loads_byte_at[], loads_fp_at[], stores_at[], stores_fp_at[], adds_at[], reserves_at[], reserves_word_at[], swaps_word_at[];

enum { VALUE_ARGUMENT = -1, VALUE_NONE_OR_PC = -2 };
typedef struct trap_case {
    void (*code)(void);
    u64 argument, cause, epc;
    int64_t value; /* or one of the above */
} trap_case;
static u64 some_words[4] = {1, 2, 3, 4};

/* QEMU 7.2 reports an AMO that finds no memory as a load. */
static u64 cause_of(const trap_case *c) {
    return is_qemu && c->code == adds && c->cause == CAUSE_STORE_ACCESS ? CAUSE_LOAD_ACCESS : c->cause;
}

static void check_case(u32 number, const trap_case *c, u64 mode, bool is_delegated, u64 enables) {
    u64 cause = c->cause == CAUSE_ECALL_U ? CAUSE_ECALL_U + mode : cause_of(c);
    bool to_s = is_delegated && mode != MODE_M && cause != CAUSE_ECALL_S;
    check_context = UINT64_C(1) << 32 | number << 16 | mode << 8 | is_delegated << 4 | enables;
    csr_write(medeleg, is_delegated ? ALL_CAUSES : 0);
    /* MIE becomes what MPIE is; SIE stays */
    csr_clear(mstatus, MSTATUS_MPIE | MSTATUS_SIE | MSTATUS_SPIE | MSTATUS_SPP);
    csr_set(mstatus, (enables & 1 ? MSTATUS_MPIE : 0) | (enables & 2 ? MSTATUS_SIE : 0));
    csr_write(mcause, 1);
    csr_write(scause, 1);
    outcome *o = run(mode, c->code, c->argument, 0);
    csr_write(medeleg, 0);
    CHECK(o->trapped, 1);
    CHECK(o->mode, to_s ? MODE_S : MODE_M);
    CHECK(o->cause, cause);
    CHECK(o->epc, c->epc);
    if (c->value == VALUE_NONE_OR_PC)
        CHECK_TRUE(o->tval == 0 || o->tval == c->epc);
    else
        CHECK(o->tval, c->value == VALUE_ARGUMENT ? c->argument : (u64)c->value);
    CHECK(o->slot, -1);
    u64 status = o->status;
    if (to_s) {
        CHECK(status & MSTATUS_SIE, 0);
        CHECK(status & MSTATUS_SPIE, enables & 2 ? MSTATUS_SPIE : 0);
        CHECK(status & MSTATUS_SPP, mode == MODE_S ? MSTATUS_SPP : 0);
    } else {
        CHECK(status & MSTATUS_MIE, 0);
        CHECK(status & MSTATUS_MPIE, enables & 1 ? MSTATUS_MPIE : 0);
        CHECK(status >> 11 & 3, mode);
        CHECK(status & (MSTATUS_SIE | MSTATUS_SPIE | MSTATUS_SPP), enables & 2 ? MSTATUS_SIE : 0);
    }
    csr_clear(mstatus, MSTATUS_SIE);
}

static void test_exceptions(void) {
    const u64 odd_word = (u64)some_words + 4, odd_half = (u64)some_words + 2;
    const trap_case cases[] = {
        {ecalls, 0, CAUSE_ECALL_U, (u64)ecalls_at, 0},
        {ebreaks, 0, CAUSE_BREAKPOINT, (u64)ebreaks_at, VALUE_NONE_OR_PC},
        {ebreaks_short, 0, CAUSE_BREAKPOINT, (u64)ebreaks_short_at, VALUE_NONE_OR_PC},
        {illegal_ones, 0, CAUSE_ILLEGAL, (u64)illegal_ones_at, 0xffffffff},
        {illegal_zeros, 0, CAUSE_ILLEGAL, (u64)illegal_zeros_at, 0},
        {illegal_opcode, 0, CAUSE_ILLEGAL, (u64)illegal_opcode_at, 0x107b},
        {loads, NOWHERE, CAUSE_LOAD_ACCESS, (u64)loads_at, VALUE_ARGUMENT},
        {loads_byte, NOWHERE, CAUSE_LOAD_ACCESS, (u64)loads_byte_at, (int64_t)NOWHERE + 1},
        {loads_fp, NOWHERE, CAUSE_LOAD_ACCESS, (u64)loads_fp_at, VALUE_ARGUMENT},
        {stores, NOWHERE + 8, CAUSE_STORE_ACCESS, (u64)stores_at, VALUE_ARGUMENT},
        {stores_fp, NOWHERE + 8, CAUSE_STORE_ACCESS, (u64)stores_fp_at, VALUE_ARGUMENT},
        {adds, NOWHERE + 16, CAUSE_STORE_ACCESS, (u64)adds_at, VALUE_ARGUMENT},
        {reserves, NOWHERE + 16, CAUSE_LOAD_ACCESS, (u64)reserves_at, VALUE_ARGUMENT},
        {jumps, NOWHERE, CAUSE_FETCH_ACCESS, NOWHERE, VALUE_ARGUMENT},
        {reserves, odd_word, CAUSE_LOAD_MISALIGNED, (u64)reserves_at, VALUE_ARGUMENT},
        {reserves_word, odd_half, CAUSE_LOAD_MISALIGNED, (u64)reserves_word_at, VALUE_ARGUMENT},
        {adds, odd_word, CAUSE_STORE_MISALIGNED, (u64)adds_at, VALUE_ARGUMENT},
        {swaps_word, odd_half + 1, CAUSE_STORE_MISALIGNED, (u64)swaps_word_at, VALUE_ARGUMENT},
    };
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    for (u32 i = 0; i < sizeof cases / sizeof *cases; i++)
        for (u32 m = 0; m < 3; m++)
            for (u32 rest = 0; rest < 8; rest++)
                check_case(i, &cases[i], modes[m], rest & 1, rest >> 1);
    check_context = 0;
    CHECK(some_words[0] + some_words[1] + some_words[2] + some_words[3], 10);
}

/* Each cause by its own bit of medeleg. */
static void test_delegation_by_cause(void) {
    const trap_case cases[] = {
        {ecalls, 0, CAUSE_ECALL_U, 0, 0},
        {ebreaks, 0, CAUSE_BREAKPOINT, 0, 0},
        {illegal_ones, 0, CAUSE_ILLEGAL, 0, 0},
        {loads, NOWHERE, CAUSE_LOAD_ACCESS, 0, 0},
        {stores, NOWHERE, CAUSE_STORE_ACCESS, 0, 0},
        {jumps, NOWHERE, CAUSE_FETCH_ACCESS, 0, 0},
        {reserves, (u64)some_words + 4, CAUSE_LOAD_MISALIGNED, 0, 0},
        {adds, (u64)some_words + 4, CAUSE_STORE_MISALIGNED, 0, 0},
    };
    for (u32 i = 0; i < sizeof cases / sizeof *cases; i++)
        for (u32 bit = 0; bit < 16; bit++) {
            if (!(ALL_CAUSES >> bit & 1))
                continue;
            check_context = i << 8 | bit;
            csr_write(medeleg, BIT(bit));
            outcome *o = run(MODE_U, cases[i].code, cases[i].argument, 0);
            csr_write(medeleg, 0);
            CHECK(o->mode, bit == cases[i].cause ? MODE_S : MODE_M);
            CHECK(o->cause, cases[i].cause);
        }
    /* ECALL from S, which S itself may handle */
    csr_write(medeleg, BIT(CAUSE_ECALL_S));
    outcome *o = run(MODE_S, ecalls, 0, 0);
    csr_write(medeleg, 0);
    CHECK(o->mode, MODE_S);
    CHECK(o->cause, CAUSE_ECALL_S);
    CHECK(o->epc, (u64)ecalls_at);
    check_context = 0;
}

/* Exceptions go to the base also when interrupts are vectored. */
static void test_vectored_exceptions_go_to_the_base(void) {
    csr_write(mtvec, (u64)m_vectors | 1);
    csr_write(stvec, (u64)s_vectors | 1);
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    for (u32 m = 0; m < 3; m++) {
        outcome *o = run(modes[m], loads, NOWHERE, 0);
        CHECK(o->slot, 0);
        CHECK(o->cause, CAUSE_LOAD_ACCESS);
        CHECK(o->mode, MODE_M);
    }
    csr_write(medeleg, ALL_CAUSES);
    for (u32 m = 0; m < 3; m++) {
        outcome *o = run(modes[m], stores, NOWHERE, 0);
        CHECK(o->slot, 0);
        CHECK(o->cause, CAUSE_STORE_ACCESS);
        CHECK(o->mode, modes[m] == MODE_M ? MODE_M : MODE_S);
    }
    csr_write(medeleg, 0);
    csr_write(mtvec, (u64)m_trap);
    csr_write(stvec, (u64)s_trap);
}

/* A handler in S faults into M: both levels keep their own registers. */
SNIPPET(nesting_handler, "csrw sscratch, a0\n .globl nesting_at\n nesting_at: .4byte 0xffffffff");
extern char nesting_at[];
static void test_nested_trap_leaves_the_lower_level_alone(void) {
    csr_write(medeleg, BIT(CAUSE_LOAD_ACCESS));
    csr_write(stvec, (u64)nesting_handler);
    csr_clear(mstatus, MSTATUS_MPIE);
    csr_set(mstatus, MSTATUS_SIE);
    outcome *o = run(MODE_U, loads, NOWHERE + 24, 0);
    CHECK(o->mode, MODE_M);
    CHECK(o->cause, CAUSE_ILLEGAL);
    CHECK(o->epc, (u64)nesting_at);
    CHECK(o->tval, 0xffffffff);
    CHECK(o->status >> 11 & 3, MODE_S);
    CHECK(o->status & (MSTATUS_SPP | MSTATUS_SPIE | MSTATUS_SIE), MSTATUS_SPIE);
    CHECK(csr_read(scause), CAUSE_LOAD_ACCESS);
    CHECK(csr_read(sepc), (u64)loads_at);
    CHECK(csr_read(stval), NOWHERE + 24);
    CHECK(csr_read(sscratch), NOWHERE + 24);
    csr_write(medeleg, 0);
    csr_write(stvec, (u64)s_trap);
    csr_clear(mstatus, MSTATUS_SIE | MSTATUS_SPIE);
}

/* A trap in a trap handler of M: the second replaces the first, with MPP = M. */
static void test_trap_within_machine_mode(void) {
    outcome first = *run(MODE_U, loads, NOWHERE, 0);
    outcome second = *run(MODE_M, illegal_ones, 0, 0);
    CHECK(first.status >> 11 & 3, MODE_U);
    CHECK(second.status >> 11 & 3, MODE_M);
    CHECK(csr_read(mepc), (u64)illegal_ones_at);
    CHECK(csr_read(mcause), CAUSE_ILLEGAL);
}

/* A trapping instruction writes no register. */
static void test_traps_write_no_register(void) {
    outcome *o = run_insn(MODE_U, 0x00053583, NOWHERE, 77); /* ld a1, 0(a0) */
    CHECK(o->x[11], 77);
    o = run_insn(MODE_U, 0x00053503, NOWHERE, 77); /* ld a0, 0(a0) */
    CHECK(o->x[10], NOWHERE);
    o = run_insn(MODE_U, csr_insn(CSRRW, 0x340, 10, 11), 5, 77); /* csrrw a0, mscratch, a1 */
    CHECK(o->x[10], 5);
    CHECK(csr_read(mscratch), (u64)&contexts[0]);
    o = run_insn(MODE_U, csr_insn(CSRRS, 0xf14, 10, 11), 5, 77); /* csrrs a0, mhartid, a1 */
    CHECK(o->trapped, 1);
    CHECK(o->x[10], 5);
    o = run_insn(MODE_M, csr_insn(CSRRS, 0xf14, 10, 11), 5, 77);
    CHECK(o->trapped, 1);
    CHECK(o->x[10], 5);
    o = run_insn(MODE_U, 0x000500e7, NOWHERE, 0); /* jalr ra, 0(a0): the jump has happened, the fetch traps */
    CHECK(o->epc, NOWHERE);
    CHECK(o->x[1], one_instruction(0x000500e7) + 4);
}

int main(void) {
    CHECK(run(MODE_U, returns, 0, 0)->x[10], 42);
    csr_write(stvec, (u64)s_trap);
    test_exceptions();
    test_delegation_by_cause();
    test_vectored_exceptions_go_to_the_base();
    test_nested_trap_leaves_the_lower_level_alone();
    test_trap_within_machine_mode();
    test_traps_write_no_register();
    return 0;
}
