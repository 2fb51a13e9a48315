// SPDX-License-Identifier: MIT
// Encodings of the unprivileged manual, chapter "RV32/64G Instruction Set Listings";
// test_assemble.c reads them back with the disassembler.
#include "isa/rv/assemble.h"

enum { OP_LOAD = 0x03, OP_IMM = 0x13, OP_STORE = 0x23, OP_REG = 0x33, OP_BRANCH = 0x63, OP_JAL = 0x6f, OP_SYSTEM = 0x73 };
enum { CSR_RW = 1, CSR_RS = 2, CSR_RC = 3, CSR_RSI = 6, CSR_RCI = 7 };

void tl_asm_init(tl_assembler *ret_a, void *words, uint32_t n_bytes, uint64_t base) {
    *ret_a = (tl_assembler){.words = words, .capacity = n_bytes / 4, .base = base};
}

void tl_asm_word(tl_assembler *a, uint32_t word) {
    if (a->n_words == a->capacity) {
        a->is_full = true;
        return;
    }
    a->words[a->n_words++] = word;
}

static void immediate(tl_assembler *a, uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, int32_t value) {
    tl_asm_word(a, (uint32_t)value << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode);
}

void tl_asm_op(tl_assembler *a, tl_asm_kind op, uint32_t rd, uint32_t rs1, uint32_t rs2) {
    static const struct {
        uint32_t funct7, funct3;
    } codes[] = {[TL_ASM_ADD] = {0, 0}, [TL_ASM_SUB] = {0x20, 0}, [TL_ASM_AND] = {0, 7}, [TL_ASM_OR] = {0, 6}, [TL_ASM_MUL] = {1, 0}};
    tl_asm_word(a, codes[op].funct7 << 25 | rs2 << 20 | rs1 << 15 | codes[op].funct3 << 12 | rd << 7 | OP_REG);
}

void tl_asm_addi(tl_assembler *a, uint32_t rd, uint32_t rs1, int32_t value) { immediate(a, OP_IMM, 0, rd, rs1, value); }
void tl_asm_andi(tl_assembler *a, uint32_t rd, uint32_t rs1, int32_t value) { immediate(a, OP_IMM, 7, rd, rs1, value); }
void tl_asm_slli(tl_assembler *a, uint32_t rd, uint32_t rs1, uint32_t shift) { immediate(a, OP_IMM, 1, rd, rs1, (int32_t)shift); }
void tl_asm_srli(tl_assembler *a, uint32_t rd, uint32_t rs1, uint32_t shift) { immediate(a, OP_IMM, 5, rd, rs1, (int32_t)shift); }
void tl_asm_ld(tl_assembler *a, uint32_t rd, uint32_t rs1, int32_t offset) { immediate(a, OP_LOAD, 3, rd, rs1, offset); }

void tl_asm_sd(tl_assembler *a, uint32_t rs2, uint32_t rs1, int32_t offset) {
    uint32_t o = (uint32_t)offset & 0xfff;
    tl_asm_word(a, (o >> 5) << 25 | rs2 << 20 | rs1 << 15 | 3 << 12 | (o & 31) << 7 | OP_STORE);
}

// High part first, by itself; then shifted into place, and the low twelve bits, which are signed,
// added.
void tl_asm_load_constant(tl_assembler *a, uint32_t rd, uint64_t value) {
    int64_t low = (int64_t)(value << 52) >> 52;
    if (value == (uint64_t)low) {
        tl_asm_addi(a, rd, TL_X0, (int32_t)low);
        return;
    }
    uint64_t high = (value - (uint64_t)low) >> 12;
    uint32_t shift = 12 + (uint32_t)__builtin_ctzll(high);
    tl_asm_load_constant(a, rd, (uint64_t)((int64_t)(high << 12) >> shift)); // the sign comes along
    tl_asm_slli(a, rd, rd, shift);
    if (low != 0)
        tl_asm_addi(a, rd, rd, (int32_t)low);
}

static void csr_insn(tl_assembler *a, uint32_t funct3, uint32_t rd, uint32_t csr, uint32_t rs1) {
    tl_asm_word(a, csr << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | OP_SYSTEM);
}
void tl_asm_csrr(tl_assembler *a, uint32_t rd, uint32_t csr) { csr_insn(a, CSR_RS, rd, csr, TL_X0); }
void tl_asm_csrw(tl_assembler *a, uint32_t csr, uint32_t rs) { csr_insn(a, CSR_RW, TL_X0, csr, rs); }
void tl_asm_csrrw(tl_assembler *a, uint32_t rd, uint32_t csr, uint32_t rs) { csr_insn(a, CSR_RW, rd, csr, rs); }
void tl_asm_csrs(tl_assembler *a, uint32_t csr, uint32_t rs) { csr_insn(a, CSR_RS, TL_X0, csr, rs); }
void tl_asm_csrc(tl_assembler *a, uint32_t csr, uint32_t rs) { csr_insn(a, CSR_RC, TL_X0, csr, rs); }
void tl_asm_csrsi(tl_assembler *a, uint32_t csr, uint32_t bits) { csr_insn(a, CSR_RSI, TL_X0, csr, bits); }
void tl_asm_csrci(tl_assembler *a, uint32_t csr, uint32_t bits) { csr_insn(a, CSR_RCI, TL_X0, csr, bits); }
void tl_asm_ecall(tl_assembler *a) { tl_asm_word(a, 0x00000073); }
void tl_asm_ebreak(tl_assembler *a) { tl_asm_word(a, 0x00100073); }
void tl_asm_sret(tl_assembler *a) { tl_asm_word(a, 0x10200073); }
void tl_asm_mret(tl_assembler *a) { tl_asm_word(a, 0x30200073); }

static uint32_t branch_offset(uint32_t o) { return (o >> 12 & 1) << 31 | (o >> 5 & 63) << 25 | (o >> 1 & 15) << 8 | (o >> 11 & 1) << 7; }
static uint32_t jump_offset(uint32_t o) {
    return (o >> 20 & 1) << 31 | (o >> 1 & 1023) << 21 | (o >> 11 & 1) << 20 | (o >> 12 & 255) << 12;
}

void tl_asm_branch_to(tl_assembler *a, tl_asm_condition condition, uint32_t rs1, uint32_t rs2, uint64_t target) {
    uint32_t offset = (uint32_t)(target - tl_asm_here(a));
    tl_asm_word(a, branch_offset(offset) | rs2 << 20 | rs1 << 15 | (uint32_t)condition << 12 | OP_BRANCH);
}
void tl_asm_jump_to(tl_assembler *a, uint64_t target) { tl_asm_word(a, jump_offset((uint32_t)(target - tl_asm_here(a))) | OP_JAL); }

uint32_t tl_asm_branch(tl_assembler *a, tl_asm_condition condition, uint32_t rs1, uint32_t rs2) {
    tl_asm_branch_to(a, condition, rs1, rs2, tl_asm_here(a));
    return a->n_words - 1;
}
uint32_t tl_asm_jump(tl_assembler *a) {
    tl_asm_jump_to(a, tl_asm_here(a));
    return a->n_words - 1;
}

void tl_asm_bind(tl_assembler *a, uint32_t branch) {
    if (a->is_full)
        return;
    uint32_t offset = 4 * (a->n_words - branch);
    a->words[branch] |= (a->words[branch] & 0x7f) == OP_JAL ? jump_offset(offset) : branch_offset(offset);
}
