// SPDX-License-Identifier: MIT
// An assembler for code that is made at run time: readers of counters, tests. One function for each
// form of instruction. Branches are bound to their targets when these are known. The caller tests
// is_full once, at the end.
#ifndef TL_ISA_RV_ASSEMBLE_H
#define TL_ISA_RV_ASSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_assembler {
    uint32_t *words; // where the code goes
    uint32_t n_words, capacity;
    uint64_t base; // the address at which words[0] will run
    bool is_full;  // something did not fit; what was emitted is useless
} tl_assembler;

typedef enum tl_asm_reg { // by the names of the calling convention
    TL_X0,
    TL_RA,
    TL_SP,
    TL_GP,
    TL_TP,
    TL_T0,
    TL_T1,
    TL_T2,
    TL_S0,
    TL_S1,
    TL_A0,
    TL_A1,
    TL_A2,
    TL_A3,
    TL_A4,
    TL_A5,
    TL_A6,
    TL_A7,
    TL_S2,
    TL_S3,
    TL_S4,
    TL_S5,
    TL_S6,
    TL_S7,
    TL_S8,
    TL_S9,
    TL_S10,
    TL_S11,
    TL_T3,
    TL_T4,
    TL_T5,
    TL_T6,
} tl_asm_reg;

typedef enum tl_asm_kind { TL_ASM_ADD, TL_ASM_SUB, TL_ASM_AND, TL_ASM_OR, TL_ASM_MUL } tl_asm_kind;
typedef enum tl_asm_condition { // funct3
    TL_ASM_EQ = 0,
    TL_ASM_NE = 1,
    TL_ASM_LT = 4,
    TL_ASM_GE = 5,
    TL_ASM_LTU = 6,
    TL_ASM_GEU = 7,
} tl_asm_condition;

void tl_asm_init(tl_assembler *ret_a, void *words, uint32_t n_bytes, uint64_t base);
static inline uint64_t tl_asm_here(const tl_assembler *a) { return a->base + 4 * (uint64_t)a->n_words; }

void tl_asm_word(tl_assembler *a, uint32_t word);
void tl_asm_op(tl_assembler *a, tl_asm_kind op, uint32_t rd, uint32_t rs1, uint32_t rs2);
// Immediates are -2048 .. 2047, here and below.
void tl_asm_addi(tl_assembler *a, uint32_t rd, uint32_t rs1, int32_t value);
void tl_asm_andi(tl_assembler *a, uint32_t rd, uint32_t rs1, int32_t value);
void tl_asm_slli(tl_assembler *a, uint32_t rd, uint32_t rs1, uint32_t shift);
void tl_asm_srli(tl_assembler *a, uint32_t rd, uint32_t rs1, uint32_t shift);
void tl_asm_ld(tl_assembler *a, uint32_t rd, uint32_t rs1, int32_t offset);
void tl_asm_sd(tl_assembler *a, uint32_t rs2, uint32_t rs1, int32_t offset);
// Takes as many instructions as the value needs, no memory and no other register.
void tl_asm_load_constant(tl_assembler *a, uint32_t rd, uint64_t value);

void tl_asm_csrr(tl_assembler *a, uint32_t rd, uint32_t csr); // csrrs rd, csr, x0
void tl_asm_csrw(tl_assembler *a, uint32_t csr, uint32_t rs); // csrrw x0, csr, rs
void tl_asm_csrrw(tl_assembler *a, uint32_t rd, uint32_t csr, uint32_t rs);
void tl_asm_csrs(tl_assembler *a, uint32_t csr, uint32_t rs);    // csrrs x0, csr, rs
void tl_asm_csrc(tl_assembler *a, uint32_t csr, uint32_t rs);    // csrrc x0, csr, rs
void tl_asm_csrsi(tl_assembler *a, uint32_t csr, uint32_t bits); // csrrsi x0, csr, bits
void tl_asm_csrci(tl_assembler *a, uint32_t csr, uint32_t bits);
void tl_asm_ecall(tl_assembler *a);
void tl_asm_ebreak(tl_assembler *a);
void tl_asm_sret(tl_assembler *a);
void tl_asm_mret(tl_assembler *a);

// To a target that is known...
void tl_asm_branch_to(tl_assembler *a, tl_asm_condition condition, uint32_t rs1, uint32_t rs2, uint64_t target);
void tl_asm_jump_to(tl_assembler *a, uint64_t target); // jal x0
// ...or to one that tl_asm_bind puts here later.
uint32_t tl_asm_branch(tl_assembler *a, tl_asm_condition condition, uint32_t rs1, uint32_t rs2);
uint32_t tl_asm_jump(tl_assembler *a);
void tl_asm_bind(tl_assembler *a, uint32_t branch);

#endif
