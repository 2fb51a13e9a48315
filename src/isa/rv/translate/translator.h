// SPDX-License-Identifier: MIT
// The translating front-end from inside: what its files share. translate.c makes blocks and runs them, emit_*.c hold the templates by
// subject, registers.c knows the host registers, code.c the memory that the code lies in.
//
// Host registers while translated code runs:
//   rbx  the hart + 128 bytes, so that x0..x31 are one-byte displacements     rbp  hart->stamp
//   r13  hart->tally      r14  hart->stamps      rax rcx rdx  scratch         rsp  aligned to 16
//   rsi rdi r8..r11 r12 r15  copies of guest registers within a block (memory is always current: writes go through)
#ifndef TL_ISA_RV_TRANSLATE_TRANSLATOR_H
#define TL_ISA_RV_TRANSLATE_TRANSLATOR_H

#include <stddef.h>

#include "isa/rv/block/block.h"
#include "isa/rv/translate/x86.h"

enum {
    TL_CODE_BYTES = 24 << 20,
    TL_BLOCK_ROOM_BYTES = 96 << 10, // more than the longest block can take
    TL_HART_BIAS = 128,
    TL_MAX_STUBS = 512,
    TL_N_CACHE = 8,
};

typedef struct tl_stub { // code off the straight path: emitted after the block's own
    bool is_link;        // else an access that did not hit
    uint8_t *from[3];    // displacements that jump here
    uint8_t *resume;     // where an access goes back to
    uint32_t k;
    uint64_t pc;               // of a link
    int8_t cached[TL_N_CACHE]; // guest registers to have copies of at resume, or -1
    uint8_t rd;
} tl_stub;

typedef struct tl_translator {
    uint8_t *write, *exec;                              // the two mappings
    uint8_t *next;                                      // in `write`: the end of what is used
    uint8_t *first;                                     // behind the thunks
    uint8_t *exit_thunk, *slow_thunk;                   // in `write`
    uint8_t *link_thunk, *again_thunk, *indirect_thunk; // ways to the next block that ask for it
    void (*run)(tl_hart *h, void *target);

    // The block being translated.
    x86 e;
    tl_blocks *store;
    tl_block *block;
    int8_t cached[TL_N_CACHE]; // guest register in tl_cache_regs[i], or -1
    uint32_t turn;
    bool has_fma;
    uint32_t n_stubs;
    tl_stub stubs[TL_MAX_STUBS];
} tl_translator;

extern const uint8_t tl_cache_regs[TL_N_CACHE];

#define TL_HART(field) at_base(RBX, (int64_t)offsetof(tl_hart, field) - TL_HART_BIAS)
static inline x86_mem tl_guest_x(unsigned reg) { return at_base(RBX, (int64_t)(offsetof(tl_hart, x) + 8 * reg) - TL_HART_BIAS); }
static inline x86_mem tl_guest_f(unsigned reg) { return at_base(RBX, (int64_t)(offsetof(tl_hart, f) + 8 * reg) - TL_HART_BIAS); }
static inline x86_mem tl_tally_at(unsigned slot) { return at_base(R13, 8 * (int64_t)slot); }
static inline void *tl_exec_of(const tl_translator *t, const uint8_t *written) { return t->exec + (written - t->write); }

static inline void tl_add_to(x86 *e, x86_mem m, uint64_t amount) {
    if (amount != 0)
        x86_op_mi(e, true, X_ADD, m, (int32_t)amount);
}

// Copies of guest registers: registers.c.
void tl_copies_forget(tl_translator *t);
void tl_copies_clobber(tl_translator *t, unsigned rd); // after a call of C code
// The host register with a copy of guest register `reg` (not x0), loaded if need be; `keep` is a host register not to take.
int tl_copy_source(tl_translator *t, unsigned reg, int keep);
void tl_copy_load(tl_translator *t, int to, unsigned reg); // a scratch register = guest register
// A host register for the new value of rd, which the caller writes through. For the sink, scratch.
int tl_copy_destination(tl_translator *t, unsigned rd);
void tl_copy_set(tl_translator *t, unsigned rd, int from); // guest rd = host register `from`

// Code off the straight path. tl_stub_slow: where an access that does not hit goes; call it before the copies of rd are made, and
// tl_stub_finish after.
tl_stub *tl_stub_new(tl_translator *t, bool is_link);
tl_stub *tl_stub_slow(tl_translator *t, uint32_t k, uint8_t *from);
void tl_stub_finish(tl_translator *t, tl_stub *s);
void tl_emit_stubs(tl_translator *t);

// Templates. False: there is none for instruction k.
bool tl_emit_int(tl_translator *t, uint32_t k);
bool tl_emit_mem(tl_translator *t, uint32_t k);
bool tl_emit_fp(tl_translator *t, uint32_t k);
bool tl_emit_branch(tl_translator *t, uint32_t k);
void tl_emit_call(tl_translator *t, uint32_t k);         // the C body
void tl_emit_slow_call_of(tl_translator *t, uint32_t k); // tl_block_execute
void tl_emit_address(tl_translator *t, const tl_op *op); // rax = rs1 + imm
void tl_emit_compare(tl_translator *t, const tl_op *op); // cmp rs1, rs2
void tl_emit_link(tl_translator *t, uint64_t pc);        // to the block at pc

// Code memory: code.c. False: the host grants none.
bool tl_code_map(tl_translator *t);
void tl_code_unmap(tl_translator *t);

#endif
