// SPDX-License-Identifier: MIT
// Internals that the files of the translating front-end share. translate.c translates blocks and
// runs them. emit_*.c hold the templates by subject. registers.c maps guest registers to host
// registers. code.c holds the memory of the code.
//
// Host registers while translated code runs:
//   rbx  TL_HART_BIAS bytes into the hart, so that data slots of programs and x0..x28 are one-byte
//        displacements (emit_mem.c)
//   r13  hart->now         rbp  hart->stamp       r14  hart->stamps
//   xmm7  hart->instret    xmm6  hart->bp.counts
//   rax rcx rdx  scratch   rsp  aligned to 16
//   r15 r12 rsi rdi r8 r9 r10 r11  guest sp s0 a0 a1 a2 a3 a4 a5, across blocks
// All other guest registers live in the hart. Memory is current whenever C code runs, because
// thunks spill registers before a call and reload them after it.
#ifndef TL_ISA_RV_TRANSLATE_TRANSLATOR_H
#define TL_ISA_RV_TRANSLATE_TRANSLATOR_H

#include <stddef.h>

#include "isa/block/block.h"
#include "isa/rv/insn.h"
#include "isa/rv/translate/x86.h"

enum {
    // Room in each part of the code, more than the longest block can take.
    TL_BLOCK_ROOM_BYTES = 64 << 10,
    TL_HART_BIAS = offsetof(tl_rv_hart, x) + 97,
};
_Static_assert(2 * (TL_BLOCK_ROOM_BYTES + (16 << 10)) <= TL_MIN_CODE_CACHE_BYTES, "the thunks and a few blocks must fit");

typedef struct tl_translator {
    uint8_t *write, *exec; // the two mappings, of code_bytes
    size_t code_bytes;
    size_t hot_bytes;             // of these; the rest is for code off the straight path
    uint8_t *hot, *cold;          // in `write`: the ends of the used bytes
    uint8_t *first_hot;           // after the thunks
    const uint8_t *small_numbers; // executable: vectors of 0, 1, 2 .. for hart->instret
    uint8_t *exit_thunk;          // all thunks are in `write`
    uint8_t *slow_thunk;          // called: tl_block_execute; rax = block, edx = k
    // Called for a load and for a store that missed its data slot; see emit_mem.c.
    uint8_t *reach_thunks[2];
    // Called for a C body: rax = op, rdx = pc, rcx = body. Flag z: the body returned false.
    uint8_t *body_thunk;
    uint8_t *call_thunk; // called: rcx(hart, rdx, rax); rax is kept
    uint8_t *stop_thunk; // jumped to: tl_block_stop_before; rax = block, edx = k
    // Jumped to for the next block: rax = pc, rdx = site, rcx = the block left.
    uint8_t *link_thunk;
    uint8_t *indirect_thunk; // rax = pc, rdx = results in flight
    uint8_t *again_thunk;    // rax = a block that no fetch slot proves
    // Jumped to for an instruction that traps, and for a return from a trap: rax = block, edx = k.
    uint8_t *trap_thunk, *trap_return_thunk;
    // Called before a change of the mode. Flag z: nobody is told of it, and no interrupt waits.
    uint8_t *unwatched_thunk;
    // Jumped to for a change of the mode in line: an ECALL to supervisor mode with rcx = its pc, an
    // SRET with rdx = results in flight.
    uint8_t *ecall_thunk, *sret_thunk;
    // Called with rax = a block that no fetch slot proves, rdx = its pc. Returns when the block may
    // run.
    uint8_t *fetch_thunk;
    // Called at the end of a block with rcx = pc and rdx = target, for a direct jump and a branch.
    // A branch that is not taken needs no rdx. They spend rax, rcx and rdx. [true]: the jump links
    // x1, the branch is taken.
    uint8_t *jump_thunks[2], *branch_thunks[2];
    // Called at the end of a block with rax = target and rdx = results in flight, for an indirect
    // jump with rcx = pc, and for a return. Return with rcx = the address to go on at, or go on
    // themselves. [true]: the jump links x1. The last index is the view.
    uint8_t *register_thunks[2][TL_N_VIEWS], *return_thunks[TL_N_VIEWS];
    // Entered with rax = pc. The cell of the jump cache matches, but its block is not translated.
    uint8_t *cold_thunk;
    void (*run)(tl_hart *h, void *target);
    void *target; // translated code that goes on after threaded code stopped, or NULL
    // The block that was entered and is not translated, which stopped translated code; or NULL.
    tl_block *cold_block;

    // The block being translated.
    x86 e;
    uint8_t *other; // the end of the part that e does not write to: tl_emit_elsewhere
    tl_blocks *store;
    tl_block *block;
    uint8_t *executed; // a jump of the load or store before, to be patched; see emit_mem.c
    bool is_dense;     // there is so much code that its size costs more than its instructions
    bool has_fma;
    bool is_booked; // the thunks are those for an attribution
} tl_translator;

#define TL_HART(field) at_base(RBX, (int64_t)offsetof(tl_hart, field) - TL_HART_BIAS)
#define TL_RV_HART(field) at_base(RBX, (int64_t)offsetof(tl_rv_hart, field) - TL_HART_BIAS)
static inline x86_mem tl_guest_x(unsigned reg) { return at_base(RBX, (int64_t)(offsetof(tl_rv_hart, x) + 8 * reg) - TL_HART_BIAS); }
static inline x86_mem tl_guest_f(unsigned reg) { return at_base(RBX, (int64_t)(offsetof(tl_rv_hart, f) + 8 * reg) - TL_HART_BIAS); }
static inline void *tl_exec_of(const tl_translator *t, const uint8_t *written) { return t->exec + (written - t->write); }

static inline uint8_t *tl_written_of(const tl_translator *t, const void *executed) {
    return t->write + ((const uint8_t *)executed - t->exec);
}

// Switches between the straight path and the code off it. The caller chooses the order of both,
// because every jump between them is patched.
static inline void tl_emit_elsewhere(tl_translator *t) {
    uint8_t *at = t->e.at;
    t->e.at = t->other;
    t->other = at;
}

// How often to emit a part of the hit path (tl_config.repeated_part). The second time changes
// nothing.
static inline uint32_t tl_times(const tl_translator *t, tl_code_part part) {
    const tl_code_part repeated = t->store->hart->config->repeated_part;
    return repeated == part || repeated == TL_CODE_HIT_PATH ? 2 : 1;
}

// Guest registers: registers.c. rd is an instruction's destination, 32 the sink.
// Host register of a guest register, or -1: it is in the hart.
int tl_reg_home(unsigned reg);
// Host register in which rd is computed: its home, or rax.
int tl_reg_target(unsigned rd);
// Host register `to` = guest register.
void tl_reg_load(tl_translator *t, int to, unsigned reg);
// Guest register = host register. Emits nothing when `from` is its home.
void tl_reg_set(tl_translator *t, unsigned rd, int from);
// Guest register = constant. Spends rax.
void tl_reg_set_i(tl_translator *t, unsigned rd, uint64_t value);
// Host register `to` = `to` x_op guest register; of X_CMP only the flags.
void tl_reg_op(tl_translator *t, bool is_wide, int x_op, int to, unsigned reg);
void tl_reg_imul(tl_translator *t, bool is_wide, int to, unsigned reg); // to = to * guest register
// Host register `to` = the guest register's low word, sign-extended.
void tl_reg_sext32(tl_translator *t, int to, unsigned reg);
void tl_reg_spill(tl_translator *t); // all homes to the hart
void tl_reg_reload(tl_translator *t);
void tl_reg_spill_lost(tl_translator *t); // the homes that a call of C spends
void tl_reg_reload_lost(tl_translator *t);

// Memory operand for an address: relative to the hart where it is near, else through `scratch`.
x86_mem tl_emit_at(tl_translator *t, const void *address, int scratch);
void tl_emit_count(tl_translator *t, uint64_t *counter, int scratch); // adds 1
// Code off the straight path for tally[slot] += amount; spends `scratch`.
void tl_emit_tally(tl_translator *t, unsigned slot, uint64_t amount, int scratch);
// tl_emit_tally for one of tl_transfer_cells, which the transfer of the block counts, too.
void tl_emit_transfer_tally(tl_translator *t, unsigned slot, uint64_t amount, int scratch);
// Counts the block for the calling context. Spends rcx.
void tl_emit_context(tl_translator *t);
// Emits a call of tl_block_execute for instruction k, off the straight path. The jumps in `from`
// lead to the call. Code goes on here after it.
void tl_emit_slow(tl_translator *t, uint32_t k, uint8_t *const *from, uint32_t n_from);
void tl_emit_slow_always(tl_translator *t, uint32_t k); // in place

// Templates. False: there is none for instruction k.
bool tl_emit_int(tl_translator *t, uint32_t k);
bool tl_emit_mem(tl_translator *t, uint32_t k);
bool tl_emit_fp(tl_translator *t, uint32_t k);
bool tl_emit_branch(tl_translator *t, uint32_t k);
bool tl_emit_csr(tl_translator *t, uint32_t k);
void tl_emit_transfer_thunks(tl_translator *t);
// rcx = the cell of the jump cache for rax = target and rdx = results in flight. Both jumps are
// taken where another one stands there.
void tl_emit_cell(tl_translator *t, uint32_t view, uint8_t *miss[2]);
// Instructions that go on in another privilege mode end a block. tl_emit_trap_thunks follows the
// other thunks.
bool tl_changes_mode(const tl_translator *t, uint16_t opc);
void tl_emit_change_of_mode(tl_translator *t, uint32_t k);
void tl_emit_trap_thunks(tl_translator *t);
void tl_emit_call(tl_translator *t, uint32_t k);         // the C body
void tl_emit_address(tl_translator *t, const tl_op *op); // rax = rs1 + imm
void tl_emit_compare(tl_translator *t, const tl_op *op); // cmp rs1, rs2
// Emits a link to the block at pc.
void tl_emit_link(tl_translator *t, uint64_t pc);
// The link enters at block->near.
bool tl_link_is_near(const tl_translator *t, const tl_block *from, uint64_t pc);

// Arguments of a reach thunk. rax: the address. edx: the offset of the block in tl_blocks.memory.
// ecx, low bits first: the size of the access less one, the number of the instruction, and the
// cycles of the block from this instruction on.
enum { TL_REACH_INSN_SHIFT = 3, TL_REACH_REST_SHIFT = 10 };
static inline uint32_t tl_reach_word(const tl_block *block, uint32_t k, uint32_t size_bytes) {
    return (size_bytes - 1) | k << TL_REACH_INSN_SHIFT | (block->cycles - block->before[k]) << TL_REACH_REST_SHIFT;
}
_Static_assert(TL_MAX_BLOCK_INSNS <= 1 << (TL_REACH_REST_SHIFT - TL_REACH_INSN_SHIFT), "the number of an instruction fits");

// Code memory and the thunks in it: code.c. False: the host grants none.
bool tl_code_map(tl_translator *t);
void tl_code_unmap(tl_translator *t);
// Functions that enter the next block for translated code. Each returns the address to go on at.
typedef void *tl_enter_fn(tl_blocks *store, uintptr_t a, uintptr_t b, uintptr_t c);
typedef struct tl_enters {
    tl_enter_fn *link, *indirect, *again, *fetch, *fetch_booked, *cold, *handler, *returned;
} tl_enters;
// Thunks for store->attribution.
void tl_code_thunks(tl_translator *t, const tl_enters *enters);

#endif
