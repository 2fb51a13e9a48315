// SPDX-License-Identifier: MIT
// Instructions as rows. insn_<ext>.def holds one row for each instruction. Decoder, disassembler,
// static counts and both front-ends are expansions of these rows. Compressed instructions have rows
// of their own (insn_c.def), for decoding and disassembly. Such a row names the full instruction
// that it expands to. Each behavior therefore has one body.
#ifndef TL_ISA_RV_INSN_H
#define TL_ISA_RV_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/block/row.h"
#include "isa/rv/hart.h"

typedef enum tl_opc { // the identity of an instruction body
    TL_OPC_ILLEGAL = 0,
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) TL_OPC_##id,
#include "isa/rv/insn_all.def"
#undef INSN
    TL_N_OPCS
} tl_opc;

typedef enum tl_format { // operands: insn_formats.def
#define FORMAT(id, operands) TL_FORMAT_##id,
#include "isa/rv/insn_formats.def"
#undef FORMAT
    TL_N_FORMATS
} tl_format;
extern const char *const tl_format_operands[TL_N_FORMATS];

typedef struct tl_insn_row {
    const char *mnemonic; // "fadd.d"
    uint32_t match, mask;
    uint8_t format; // tl_format
    uint8_t cls;    // tl_class
    // Memory accesses: 1, 2, 4 or 8. DIV, FP_DIV, FP_SQRT and FP arithmetic: 4 or 8 for word/single
    // or double. Others: 0.
    uint8_t size_bytes;
} tl_insn_row;
extern const tl_insn_row tl_insn_rows[TL_N_OPCS]; // [0] matches nothing

typedef enum tl_rvc {
#define INSN_C(id, mnemonic, match, mask, format, expands) TL_RVC_##id,
#include "isa/rv/insn_c.def"
#undef INSN_C
    TL_N_RVCS
} tl_rvc;

typedef struct tl_rvc_row {
    const char *mnemonic; // "c.addi4spn"
    uint16_t match, mask;
    uint16_t expands; // tl_opc
} tl_rvc_row;
extern const tl_rvc_row tl_rvc_rows[TL_N_RVCS];

typedef struct tl_decoded {    // one instruction, operands extracted, nothing rewritten
    uint16_t opc;              // TL_OPC_ILLEGAL when the bits are no instruction of ours
    uint8_t len;               // 2 or 4 bytes
    uint8_t rd, rs1, rs2, rs3; // 0..31 in the file that the format says; 0 when absent
    uint8_t rm;                // rounding mode field, or aq/rl bits (aq = 2, rl = 1)
    // The sign-extended immediate, or a shift amount. CSR accesses: the CSR number; rs1 is uimm for
    // immediate forms.
    int32_t imm;
    uint32_t raw;
    uint16_t rvc; // index of the compressed row + 1 that it came from, or 0: for the disassembler
} tl_decoded;

// `bits` holds at least 2 valid bytes, 4 when the low two bits are 11. Never fails: unknown bits
// give TL_OPC_ILLEGAL.
void tl_decode(uint32_t bits, tl_decoded *ret_insn);
// Scoreboard view: which registers it reads and writes.
void tl_insn_pipe(const tl_decoded *insn, tl_pipe_insn *ret_pipe);
// Ends a fetch run after this instruction (model/engine.h): control transfers and serializing
// instructions.
bool tl_insn_ends_run(const tl_decoded *insn);
// Does its work in integer registers and the branch predictor alone: no memory, no CSR, no trap.
bool tl_insn_is_private(const tl_decoded *insn);
// Uses floating-point registers: illegal while mstatus.FS is Off.
bool tl_insn_is_fp(const tl_decoded *insn);
// Writes the text as `riscv64-linux-gnu-objdump -d` prints it after the bytes, aliases included.
// symbol(ctx, address, buffer, size) writes "<name+0x10>" or nothing; NULL: there are no symbol
// annotations. Returns the length like snprintf.
typedef void tl_symbol_fn(void *ctx, uint64_t address, char *buffer, size_t size);
int tl_disassemble(const tl_decoded *insn, uint64_t pc, tl_symbol_fn *symbol, void *ctx, char *buffer, size_t size);

// Operands of a tl_op. rd: integer destination 0 is rewritten to 32, the sink. imm: as decoded, but
// for FMA: rs3 | rm << 8; other FP arithmetic: rm; AMO, LR and SC: aq/rl.
// imm of auipc is as decoded: a front-end that runs it must add the pc.
void tl_op_from_decoded(const tl_decoded *insn, tl_op *ret_op); // all but handler and offset

// One body for each instruction that is not a control transfer; `pc` is needed by few (auipc).
// Expanded twice (exec.h). Where memory does not hit, the fast form returns false without any side
// effect, and the full form asks h->port. In the full form false means: trap recorded. Control
// transfers: TAKEN(beq) bodies say whether a branch is taken; JAL and JALR are the front-ends' own.
extern tl_exec_fn *const tl_exec_full[TL_N_OPCS]; // NULL for control transfers
extern tl_taken_fn *const tl_taken[TL_N_OPCS];    // NULL unless a conditional branch

// The static share of one retired instruction: (cell, amount) pairs added when it retires. At most
// TL_MAX_STATIC.
// Class counter, instret-class views (compressed, call, return), bytes, cyc_issue, look-ups of
// DTLB, L1D, BP, exactly one retirement's worth.
uint32_t tl_insn_static(const tl_decoded *insn, tl_static_count ret_counts[TL_MAX_STATIC]);

// Return-address stack hints of JALR (unprivileged manual, sec. 2.5.1): rd link: push; rs1 link and
// not (rd link and equal): pop.
static inline bool tl_is_link(unsigned reg) { return reg == 1 || reg == 5; }
static inline bool tl_jalr_is_return(unsigned rd, unsigned rs1) { return tl_is_link(rs1) && !(tl_is_link(rd) && rd == rs1); }

#endif
