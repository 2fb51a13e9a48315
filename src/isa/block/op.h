// SPDX-License-Identifier: MIT
// The executable form of an instruction, whatever its instruction set: 16 bytes for an interpreter,
// operands ready to index. The instruction set says what each operand is (insn.h of isa/rv and
// isa/a64).
#ifndef TL_ISA_BLOCK_OP_H
#define TL_ISA_BLOCK_OP_H

#include "model/hart.h"

typedef struct tl_op tl_op;
typedef void tl_op_handler(tl_hart *h, const tl_op *op);
struct tl_op {
    tl_op_handler *handler; // used by threaded code only
    int32_t imm;
    uint8_t rd;
    union {
        uint8_t rs1; // RISC-V
        uint8_t rn;  // A64
    };
    union {
        uint8_t rs2;
        uint8_t rm;
    };
    union {
        uint8_t offset; // RISC-V: from the first byte of the block; set by the front-end
        uint8_t ra;
    };
};
_Static_assert(sizeof(tl_op) == 16, "four operations share a line of the host's cache");

// A body. False: a trap was recorded, or the fast form of a body does not hit.
typedef bool tl_exec_fn(tl_hart *h, const tl_op *op, uint64_t pc);
typedef bool tl_taken_fn(const tl_hart *h, const tl_op *op);

// Whether the host's floating point serves that of guests: rounding, flags.
#if defined(__x86_64__) && defined(__SSE2_MATH__) && !defined(TL_NO_HOST_FP)
#define TL_FP_HOST 1
#else
#define TL_FP_HOST 0
#endif

// The host's floating-point environment, kept while guest instructions run.
typedef struct tl_fp_saved {
    unsigned long long opaque[4];
} tl_fp_saved;

#endif
