// SPDX-License-Identifier: MIT
// A64 instructions as rows, Armv8.0-A with CRC32, AES, SHA-1 and SHA-256. insn_<group>.def holds
// one row for each encoding. Decoder and disassembler are expansions of these rows. Source: Arm
// Architecture Reference Manual for Armv8-A, C4 and C6, C7.
#ifndef TL_ISA_A64_INSN_H
#define TL_ISA_A64_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/a64/hart.h"
#include "isa/block/row.h"
#include "model/pipeline.h"

typedef enum tl_a64_opc { // the identity of a row
    TL_A64_OPC_UNDEFINED = 0,
#define GROUP(name) TL_A64_FIRST_##name, TL_A64_REWIND_##name = TL_A64_FIRST_##name - 1,
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) TL_A64_OPC_##id,
#include "isa/a64/insn_all.def"
#undef INSN
    TL_A64_N_OPCS
} tl_a64_opc;

typedef enum tl_a64_format { // operands: insn_formats.def
#define FORMAT(id, operands, imm, rule) TL_A64_FORMAT_##id,
#include "isa/a64/insn_formats.def"
#undef FORMAT
    TL_A64_N_FORMATS
} tl_a64_format;
extern const char *const tl_a64_format_operands[TL_A64_N_FORMATS];

typedef struct tl_a64_row {
    const char *mnemonic;
    uint32_t match, mask;
    uint16_t format;    // tl_a64_format
    uint8_t cls;        // tl_class
    uint8_t size_bytes; // memory accesses: of one register; DIV, FP arithmetic: 4 or 8; else 0
} tl_a64_row;
extern const tl_a64_row tl_a64_rows[TL_A64_N_OPCS]; // [0] matches nothing

typedef struct tl_a64_decoded { // one instruction, operands extracted, nothing rewritten
    uint16_t opc;               // TL_A64_OPC_UNDEFINED when the bits are no instruction of ours
    uint8_t rd, rn, rm, ra;     // bits 4:0, 9:5, 20:16, 14:10, whatever the row makes of them
    int32_t imm;                // what insn_formats.def says
    uint32_t raw;
} tl_a64_decoded;

// Whether the bits are an instruction of this row: its mask and the rule of its format.
bool tl_a64_row_has(tl_a64_opc opc, uint32_t bits);
// Never fails: other bits give TL_A64_OPC_UNDEFINED.
void tl_a64_decode(uint32_t bits, tl_a64_decoded *ret_insn);

// The pattern of a logical immediate, N:immr:imms as they stand in bits 22:10 (manual:
// DecodeBitMasks). Returns 0, which no immediate means, for a reserved one.
uint64_t tl_a64_bit_mask(uint32_t bits, bool is_64);
// Bits of a floating-point number that an 8-bit immediate means (manual: VFPExpandImm).
uint64_t tl_a64_fp_imm(uint32_t imm8, bool is_double);
// The 64-bit pattern of an Advanced SIMD modified immediate (manual: AdvSIMDExpandImm).
uint64_t tl_a64_simd_imm(uint32_t bits);

// Writes the text that `aarch64-linux-gnu-objdump -d` prints after the bytes, aliases included.
// symbol(ctx, address, buffer, size) writes "<name+0x10>" or nothing; NULL: addresses stand alone.
// Returns the length like snprintf.
typedef void tl_a64_symbol_fn(void *ctx, uint64_t address, char *buffer, size_t size);
int tl_a64_disassemble(const tl_a64_decoded *insn, uint64_t pc, tl_a64_symbol_fn *symbol, void *ctx, char *buffer, size_t size);

// The scoreboard view: which registers and flags it reads and writes. A base that is written back
// is no destination, because it is ready at once.
void tl_a64_pipe(const tl_a64_decoded *insn, tl_pipe_insn *ret_pipe);
// Ends a fetch run after this instruction (model/engine.h): control transfers and serializing
// instructions.
bool tl_a64_ends_run(const tl_a64_decoded *insn);
// Uses floating-point or SIMD registers: CPACR_EL1 and CPTR_EL3 may trap it.
bool tl_a64_is_fp(const tl_a64_decoded *insn);
// Does its work in registers and the branch predictor alone: no memory, no system register, no
// trap.
bool tl_a64_is_private(const tl_a64_decoded *insn);

// General registers of a tl_op are indices of tl_a64_hart.x; all others are as decoded. imm of
// logical immediates, bit fields: insn.c.
void tl_a64_op_from_decoded(const tl_a64_decoded *insn, tl_op *ret_op); // all but handler

// One body for each instruction that is not a control transfer; `pc` is needed by few. false: trap
// recorded, nothing written. Control transfers: a conditional branch says whether it is taken; B,
// BL, BR, BLR and RET are the front-ends' own.
extern tl_exec_fn *const tl_a64_exec_full[TL_A64_N_OPCS]; // NULL for control transfers
extern tl_taken_fn *const tl_a64_taken[TL_A64_N_OPCS];    // NULL unless a conditional branch

// The static share of one retired instruction: (cell, amount) pairs added when it retires.
uint32_t tl_a64_static_counts(const tl_a64_decoded *insn, tl_static_count ret_counts[TL_MAX_STATIC]);
// Accesses that a load or store makes: pairs, vectors and structures make several.
typedef struct tl_a64_accesses {
    uint32_t n, bytes; // bytes of all
} tl_a64_accesses;
tl_a64_accesses tl_a64_accesses_of(const tl_a64_decoded *insn);

#endif
