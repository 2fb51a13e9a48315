// SPDX-License-Identifier: MIT
// The translating front-end: each block (block/block.h) becomes x86-64 code with the models inlined on their hit paths. All that is
// static comes from the block; what does not hit calls tl_block_execute at the exact cycle; so this file holds templates, and
// no rule of the model that block/ and model/ do not hold already. tests/contract/test_lockstep compares every tally.
//
// Host registers while translated code runs:
//   rbx  the hart + 128 bytes, so that x0..x31 are one-byte displacements     rbp  hart->stamp
//   r13  hart->tally      r14  hart->stamps      rax rcx rdx  scratch         rsp  aligned to 16
//   rsi rdi r8..r11 r12 r15  copies of guest registers within a block (memory is always current: writes go through)
// Code memory is mapped twice, once to write and once to execute; no page is both. A block that is no longer valid has its entry
// replaced by a jump to the look-up; when code memory or the block store is full, everything is forgotten at once.
#if defined(__x86_64__) && defined(__linux__)

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "isa/rv/block/block.h"
#include "isa/rv/translate/x86.h"
#define TL_EXEC_FAST
#include "isa/rv/exec_all.h"

enum {
    CODE_BYTES = 24 << 20,
    BLOCK_ROOM_BYTES = 96 << 10, // more than the longest block can take
    HART_BIAS = 128,
    MAX_STUBS = 512,
    N_CACHE = 8,
};

static const uint8_t cache_regs[N_CACHE] = {R8, R9, R10, R11, RSI, RDI, R12, R15};

typedef struct stub { // code off the straight path: emitted after the block's own
    bool is_link;     // else an access that did not hit
    uint8_t *from[3]; // displacements that jump here
    uint8_t *resume;  // where an access goes back to
    uint32_t k;
    uint64_t pc;            // of a link
    int8_t cached[N_CACHE]; // guest registers to have copies of at resume, or -1
    uint8_t rd;
} stub;

typedef struct translator {
    uint8_t *write, *exec;                                           // the two mappings
    uint8_t *next;                                                   // in `write`: the end of what is used
    uint8_t *first;                                                  // behind the thunks
    uint8_t *exit_thunk, *slow_thunk, *enter_thunk, *indirect_thunk; // in `write`
    void (*run)(tl_hart *h, void *target);

    // The block being translated.
    x86 e;
    tl_blocks *store;
    tl_block *block;
    int8_t cached[N_CACHE]; // guest register in cache_regs[i], or -1
    uint32_t turn;
    bool has_fma;
    uint32_t n_stubs;
    stub stubs[MAX_STUBS];
} translator;

// ---- helpers of the emitter ----

#define HART(field) at_base(RBX, (int64_t)offsetof(tl_hart, field) - HART_BIAS)
static x86_mem guest(unsigned reg) { return at_base(RBX, (int64_t)(offsetof(tl_hart, x) + 8 * reg) - HART_BIAS); }
static x86_mem guest_f(unsigned reg) { return at_base(RBX, (int64_t)(offsetof(tl_hart, f) + 8 * reg) - HART_BIAS); }
static x86_mem tally(unsigned slot) { return at_base(R13, 8 * (int64_t)slot); }
static void *exec_of(const translator *t, const uint8_t *written) { return t->exec + (written - t->write); }

static void add_to(x86 *e, x86_mem m, uint64_t amount) {
    if (amount != 0)
        x86_op_mi(e, true, X_ADD, m, (int32_t)amount);
}

static void forget_copies(translator *t) {
    for (int i = 0; i < N_CACHE; i++)
        t->cached[i] = -1;
}

static void forget_clobbered(translator *t, unsigned rd) { // after a call of C code
    for (int i = 0; i < N_CACHE; i++)
        if (cache_regs[i] < R12 || t->cached[i] == (int8_t)rd)
            t->cached[i] = -1;
}

static int find_copy(const translator *t, unsigned reg) {
    for (int i = 0; i < N_CACHE; i++)
        if (t->cached[i] == (int8_t)reg)
            return i;
    return -1;
}

// The host register with a copy of guest register `reg` (not x0), loaded if need be; `keep` is a host register not to take.
static int source(translator *t, unsigned reg, int keep) {
    int i = find_copy(t, reg);
    if (i >= 0)
        return cache_regs[i];
    do
        i = (int)(t->turn++ % N_CACHE);
    while (cache_regs[i] == keep);
    t->cached[i] = (int8_t)reg;
    x86_rm(&t->e, true, 0x8b, cache_regs[i], guest(reg));
    return cache_regs[i];
}

static void load_to(translator *t, int to, unsigned reg) { // a scratch register = guest register
    if (reg == 0)
        x86_rr(&t->e, false, 0x33, to, to);
    else
        x86_mov_rr(&t->e, to, source(t, reg, -1));
}

// A host register for the new value of rd; publish() writes it through. For the sink, scratch.
static int destination(translator *t, unsigned rd) {
    if (rd >= 32)
        return RAX;
    int i = find_copy(t, rd);
    if (i < 0) {
        i = (int)(t->turn++ % N_CACHE);
        t->cached[i] = (int8_t)rd;
    }
    return cache_regs[i];
}

static void set_rd(translator *t, unsigned rd, int from) { // guest rd = host register `from`
    if (rd >= 32)
        return;
    int to = destination(t, rd);
    x86_mov_rr(&t->e, to, from);
    x86_rm(&t->e, true, 0x89, to, guest(rd));
}

static stub *new_stub(translator *t, bool is_link) {
    assert(t->n_stubs < MAX_STUBS);
    stub *s = &t->stubs[t->n_stubs++];
    *s = (stub){.is_link = is_link};
    return s;
}

// Where an access that does not hit goes. Call before the copies of rd are made; finish_slow after.
static stub *slow_stub(translator *t, uint32_t k, uint8_t *from) {
    stub *s = new_stub(t, false);
    s->from[0] = from;
    s->k = k;
    return s;
}

static void finish_slow(translator *t, stub *s) {
    s->resume = t->e.at;
    memcpy(s->cached, t->cached, sizeof s->cached);
    s->rd = t->block->ops[s->k].rd;
}

static void call_slow(translator *t, uint32_t k) {
    x86_mov_ri(&t->e, RSI, (uintptr_t)t->block);
    x86_mov_ri(&t->e, RDX, k);
    x86_call_to(&t->e, t->slow_thunk);
}

// ---- memory ----

static void address_to_rax(translator *t, const tl_op *op) {
    if (op->rs1 == 0)
        x86_mov_ri(&t->e, RAX, (uint64_t)(int64_t)op->imm);
    else
        x86_rm(&t->e, true, 0x8d, RAX, at_base(source(t, op->rs1, -1), op->imm));
}

_Static_assert(sizeof(tl_data_slot) == 32, "the slot index is scaled by a shift");

static x86_mem data_slot(const translator *t, size_t field) { // of the mode the block belongs to
    size_t view = t->block->view * TL_DATA_SLOTS * sizeof(tl_data_slot);
    return at_index(RBX, RCX, 0, (int64_t)(offsetof(tl_hart, data_slot) + view + field) - HART_BIAS);
}

// rax = vaddr on entry; on the hit path rax = host address, rcx and rdx are spent. Returns the jump of the miss.
static uint8_t *emit_hit(translator *t, uint32_t size_bytes, bool is_store) {
    x86 *e = &t->e;
    const tl_hart *h = t->store->hart;
    x86_rr(e, false, 0x8b, RCX, RAX);
    if (h->line_log2 > 5)
        x86_shift_i(e, false, X_SHR, RCX, h->line_log2 - 5);
    else if (h->line_log2 < 5)
        x86_shift_i(e, false, X_SHL, RCX, 5 - h->line_log2);
    x86_op_ri(e, false, X_AND, RCX, (TL_DATA_SLOTS - 1) << 5);
    x86_mov_rr(e, RDX, RAX);
    x86_op_ri(e, true, X_AND, RDX, (int32_t)(int64_t)(h->line_mask | (size_bytes - 1)));
    x86_rm(e, true, 0x3b, RDX, data_slot(t, is_store ? offsetof(tl_data_slot, write_tag) : offsetof(tl_data_slot, read_tag)));
    uint8_t *miss = x86_jcc(e, CC_NE);
    x86_op_ri(e, true, X_ADD, RBP, 1);
    x86_rm(e, false, 0x8b, RDX, data_slot(t, offsetof(tl_data_slot, line_stamp)));
    x86_rm(e, true, 0x89, RBP, at_index(R14, RDX, 3, 0));
    x86_rm(e, false, 0x8b, RDX, data_slot(t, offsetof(tl_data_slot, page_stamp)));
    x86_rm(e, true, 0x89, RBP, at_index(R14, RDX, 3, 0));
    x86_rm(e, true, 0x03, RAX, data_slot(t, offsetof(tl_data_slot, host_minus_vaddr)));
    return miss;
}

static void emit_load(translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes, bool is_wide, uint32_t opcode) {
    address_to_rax(t, op);
    stub *s = slow_stub(t, k, emit_hit(t, size_bytes, false));
    int to = destination(t, op->rd);
    x86_rm(&t->e, is_wide, opcode, to, at_base(RAX, 0));
    if (op->rd < 32)
        x86_rm(&t->e, true, 0x89, to, guest(op->rd));
    finish_slow(t, s);
}

static void emit_store(translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes) {
    static const uint16_t opcodes[] = {[1] = 0x88, [2] = 0x6689, [4] = 0x89, [8] = 0x89};
    int value = -1;
    if (op->rs2 != 0)
        value = source(t, op->rs2, -1);
    if (op->rs1 != 0)
        source(t, op->rs1, value);
    address_to_rax(t, op);
    stub *s = slow_stub(t, k, emit_hit(t, size_bytes, true));
    if (value < 0) {
        x86_rr(&t->e, false, 0x33, RDX, RDX);
        value = RDX;
    }
    x86_rm_byte(&t->e, size_bytes == 8, opcodes[size_bytes], value, at_base(RAX, 0), size_bytes == 1);
    finish_slow(t, s);
}

static void emit_fp_load(translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes) {
    address_to_rax(t, op);
    stub *s = slow_stub(t, k, emit_hit(t, size_bytes, false));
    x86_rm(&t->e, size_bytes == 8, 0x8b, RAX, at_base(RAX, 0));
    x86_mem to = guest_f(op->rd);
    if (size_bytes == 8) {
        x86_rm(&t->e, true, 0x89, RAX, to);
    } else {
        x86_rm(&t->e, false, 0x89, RAX, to);
        to.disp += 4;
        x86_rm(&t->e, false, 0xc7, 0, to); // the box
        x86_u32(&t->e, UINT32_MAX);
    }
    finish_slow(t, s);
    s->rd = 32;
}

static void emit_fp_store(translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes) {
    address_to_rax(t, op);
    stub *s = slow_stub(t, k, emit_hit(t, size_bytes, true));
    x86_rm(&t->e, true, 0x8b, RDX, guest_f(op->rs2));
    x86_rm(&t->e, size_bytes == 8, 0x89, RDX, at_base(RAX, 0));
    finish_slow(t, s);
    s->rd = 32;
}

// ---- integer computation: into rax, then to rd ----

static void emit_alu(translator *t, const tl_op *op, bool is_word, int x_op) {
    load_to(t, RAX, op->rs1);
    if (op->rs2 != 0)
        x86_op_rr(&t->e, !is_word, x_op, RAX, source(t, op->rs2, -1));
    else if (x_op == X_AND)
        x86_rr(&t->e, false, 0x33, RAX, RAX);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    set_rd(t, op->rd, RAX);
}

static void emit_alu_i(translator *t, const tl_op *op, bool is_word, int x_op) {
    if (op->rd >= 32)
        return;
    if (op->rs1 == 0 && x_op == X_ADD) { // li
        int to = destination(t, op->rd);
        x86_mov_ri(&t->e, to, (uint64_t)(int64_t)op->imm);
        x86_rm(&t->e, true, 0x89, to, guest(op->rd));
        return;
    }
    if (!is_word && x_op == X_ADD) {
        int from = source(t, op->rs1, -1), to = destination(t, op->rd);
        if (op->imm == 0)
            x86_mov_rr(&t->e, to, from);
        else if (to == from)
            x86_op_ri(&t->e, true, X_ADD, to, op->imm);
        else
            x86_rm(&t->e, true, 0x8d, to, at_base(from, op->imm));
        x86_rm(&t->e, true, 0x89, to, guest(op->rd));
        return;
    }
    load_to(t, RAX, op->rs1);
    if (!(is_word && op->imm == 0))
        x86_op_ri(&t->e, !is_word, x_op, RAX, op->imm);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    set_rd(t, op->rd, RAX);
}

static void emit_shift(translator *t, const tl_op *op, bool is_word, int x_op) {
    load_to(t, RCX, op->rs2);
    load_to(t, RAX, op->rs1);
    x86_rr(&t->e, !is_word, 0xd3, x_op, RAX);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    set_rd(t, op->rd, RAX);
}

static void emit_shift_i(translator *t, const tl_op *op, bool is_word, int x_op) {
    load_to(t, RAX, op->rs1);
    if (op->imm != 0)
        x86_shift_i(&t->e, !is_word, x_op, RAX, (unsigned)op->imm);
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    set_rd(t, op->rd, RAX);
}

static void compare(translator *t, const tl_op *op) { // cmp rs1, rs2
    if (op->rs1 == 0)
        x86_rr(&t->e, false, 0x33, RAX, RAX);
    int b = op->rs2 == 0 ? -1 : source(t, op->rs2, -1);
    int a = op->rs1 == 0 ? RAX : source(t, op->rs1, b);
    if (b < 0)
        x86_op_ri(&t->e, true, X_CMP, a, 0);
    else
        x86_op_rr(&t->e, true, X_CMP, a, b);
}

static void set_flag(translator *t, const tl_op *op, int cc) {
    x86_head(&t->e, false, 0x0f90 | (unsigned)cc, 0, 0, RAX, true);
    x86_byte(&t->e, 0xc0 | RAX);
    x86_rr(&t->e, false, 0x0fb6, RAX, RAX);
    set_rd(t, op->rd, RAX);
}

static void emit_mul(translator *t, const tl_op *op, bool is_word) {
    load_to(t, RAX, op->rs1);
    if (op->rs2 == 0)
        x86_rr(&t->e, false, 0x33, RAX, RAX);
    else
        x86_rr(&t->e, !is_word, 0x0faf, RAX, source(t, op->rs2, -1));
    if (is_word)
        x86_rr(&t->e, true, 0x63, RAX, RAX);
    set_rd(t, op->rd, RAX);
}

static void emit_mul_high(translator *t, const tl_op *op, unsigned group) { // 4 mul, 5 imul: rdx:rax = rax * r
    load_to(t, RAX, op->rs1);
    load_to(t, RCX, op->rs2);
    x86_rr(&t->e, true, 0xf7, (int)group, RCX);
    set_rd(t, op->rd, RDX);
}

// ---- floating point: what the host does alike; the rest calls the C body ----

// Host rounding is the guest's when frm is RNE and the instruction says RNE or dynamic; other modes take the body.
static bool is_plain_rounding(const tl_op *op) { return op->imm == 0 || op->imm == 7; }

static void emit_fp_arithmetic(translator *t, uint32_t k, const tl_op *op, bool is_double, uint32_t opcode) {
    x86 *e = &t->e;
    uint32_t prefix = is_double ? 0xf20f00 : 0xf30f00;
    x86_rm(e, false, 0x80, 7, HART(frm)); // cmp byte frm, 0
    x86_byte(e, 0);
    stub *s = slow_stub(t, k, x86_jcc(e, CC_NE));
    if (!is_double) { // both boxed, else the body
        x86_mem box1 = guest_f(op->rs1), box2 = guest_f(op->rs2);
        box1.disp += 4;
        box2.disp += 4;
        x86_rm(e, false, 0x8b, RAX, box1);
        x86_rm(e, false, 0x23, RAX, box2);
        x86_op_ri(e, false, X_CMP, RAX, -1);
        s->from[1] = x86_jcc(e, CC_NE);
    }
    x86_rm(e, false, prefix | 0x10, 0, guest_f(op->rs1));
    x86_rm(e, false, prefix | opcode, 0, guest_f(op->rs2));
    x86_rr(e, false, is_double ? 0x660f2e : 0x0f2e, 0, 0); // ucomis: not a number?
    if (is_double) {
        x86_rr(e, true, 0x660f7e, 0, RAX); // movq rax, xmm0
        x86_mov_ri(e, RDX, UINT64_C(0x7ff8000000000000));
        x86_rr(e, true, 0x0f40 | CC_P, RAX, RDX);
        x86_rm(e, true, 0x89, RAX, guest_f(op->rd));
    } else {
        x86_rr(e, false, 0x660f7e, 0, RAX); // movd eax, xmm0
        x86_mov_ri(e, RDX, 0x7fc00000);
        x86_rr(e, false, 0x0f40 | CC_P, RAX, RDX);
        x86_mem to = guest_f(op->rd);
        x86_rm(e, false, 0x89, RAX, to);
        to.disp += 4;
        x86_rm(e, false, 0xc7, 0, to);
        x86_u32(e, UINT32_MAX);
    }
    finish_slow(t, s);
    s->rd = 32;
}

// rs1 * rs2 + rs3 in its four signs, when the host has FMA3. Not-a-number results take the body, whose rules for inf * 0 differ.
static void emit_fma(translator *t, uint32_t k, const tl_op *op, bool is_double, unsigned opcode) {
    x86 *e = &t->e;
    uint32_t prefix = is_double ? 0xf20f00 : 0xf30f00;
    unsigned rs3 = (unsigned)op->imm & 31;
    x86_rm(e, false, 0x80, 7, HART(frm)); // cmp byte frm, 0
    x86_byte(e, 0);
    stub *s = slow_stub(t, k, x86_jcc(e, CC_NE));
    if (!is_double) {
        x86_mem box[3] = {guest_f(op->rs1), guest_f(op->rs2), guest_f(rs3)};
        for (int i = 0; i < 3; i++) {
            box[i].disp += 4;
            x86_rm(e, false, i == 0 ? 0x8b : 0x23, RAX, box[i]);
        }
        x86_op_ri(e, false, X_CMP, RAX, -1);
        s->from[1] = x86_jcc(e, CC_NE);
    }
    x86_rm(e, false, prefix | 0x10, 0, guest_f(op->rs1));
    x86_rm(e, false, prefix | 0x10, 1, guest_f(op->rs2));
    x86_mem m = guest_f(rs3);
    x86_byte(e, 0xc4); // VEX, 0f38 map, prefix 66, first source xmm1
    x86_byte(e, 0xe2);
    x86_byte(e, is_double ? 0xf1 : 0x71);
    x86_byte(e, opcode);
    x86_byte(e, 0x80 | RBX); // xmm0, [rbx + disp32]
    x86_u32(e, (uint32_t)m.disp);
    x86_rr(e, false, is_double ? 0x660f2e : 0x0f2e, 0, 0);
    s->from[2] = x86_jcc(e, CC_P);
    x86_mem to = guest_f(op->rd);
    x86_rm(e, false, prefix | 0x11, 0, to);
    if (!is_double) {
        to.disp += 4;
        x86_rm(e, false, 0xc7, 0, to);
        x86_u32(e, UINT32_MAX);
    }
    finish_slow(t, s);
    s->rd = 32;
}

static bool emit_fma_of(translator *t, uint32_t k, const tl_op *op) {
    int32_t rm = op->imm >> 8;
    if (!t->has_fma || (rm != 0 && rm != 7))
        return false;
    switch (t->block->opc[k]) {
    case TL_OPC_fmadd_d: emit_fma(t, k, op, true, 0xa9); return true;
    case TL_OPC_fmsub_d: emit_fma(t, k, op, true, 0xab); return true;
    case TL_OPC_fnmsub_d: emit_fma(t, k, op, true, 0xad); return true; // -(a * b) + c is the host's fnmadd
    case TL_OPC_fnmadd_d: emit_fma(t, k, op, true, 0xaf); return true;
    case TL_OPC_fmadd_s: emit_fma(t, k, op, false, 0xa9); return true;
    case TL_OPC_fmsub_s: emit_fma(t, k, op, false, 0xab); return true;
    case TL_OPC_fnmsub_s: emit_fma(t, k, op, false, 0xad); return true;
    case TL_OPC_fnmadd_s: emit_fma(t, k, op, false, 0xaf); return true;
    default: return false;
    }
}

static void emit_fp_move_double(translator *t, const tl_op *op) { // fsgnj.d f, a, a
    x86_rm(&t->e, true, 0x8b, RAX, guest_f(op->rs1));
    x86_rm(&t->e, true, 0x89, RAX, guest_f(op->rd));
}

// ---- calls of C bodies ----

typedef bool fast_call(tl_hart *h, const tl_op *op, uint64_t pc);
#define INSN_BRANCH(id, mnemonic, match, mask, format, cls, size_bytes)
#define INSN_JUMP(id, mnemonic, match, mask, format, cls, size_bytes)
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) \
    static bool call_##id(tl_hart *h, const tl_op *op, uint64_t pc) { return fast_##id(h, op, pc); }
#include "isa/rv/insn_all.def"
#undef INSN
#undef INSN_BRANCH
#undef INSN_JUMP

static fast_call *const fast_calls[TL_N_OPCS] = {
#define INSN_BRANCH(id, mnemonic, match, mask, format, cls, size_bytes)
#define INSN_JUMP(id, mnemonic, match, mask, format, cls, size_bytes)
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) [TL_OPC_##id] = call_##id,
#include "isa/rv/insn_all.def"
#undef INSN
#undef INSN_BRANCH
#undef INSN_JUMP
};

static void emit_fast_call(translator *t, uint32_t k, const tl_op *op) {
    x86 *e = &t->e;
    x86_rm(e, true, 0x8d, RDI, at_base(RBX, -HART_BIAS));
    x86_mov_ri(e, RSI, (uintptr_t)op);
    x86_mov_ri(e, RDX, t->block->pc + op->offset);
    x86_call_c(e, (uintptr_t)fast_calls[t->block->opc[k]]);
    x86_rr_byte(e, false, 0x84, RAX, RAX, true);
    stub *s = slow_stub(t, k, x86_jcc(e, CC_E));
    forget_clobbered(t, op->rd);
    finish_slow(t, s);
}

static void emit_slow_call(translator *t, uint32_t k, const tl_op *op) {
    call_slow(t, k);
    forget_clobbered(t, op->rd);
}

// ---- the ends of blocks ----

static void emit_link(translator *t, uint64_t pc) {
    stub *s = new_stub(t, true);
    s->from[0] = x86_jmp(&t->e);
    s->pc = pc;
}

// Compares [rdx] and [rdx+8] with pc and target; returns the jumps of a BTB miss in from[].
static void emit_btb_check(translator *t, uint64_t pc, uint64_t target, uint8_t *from[2]) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    x86_mov_ri(e, RDX, (uintptr_t)&bp->btb[(pc >> 1) & bp->btb_mask]);
    x86_mov_ri(e, RAX, pc);
    x86_rm(e, true, 0x3b, RAX, at_base(RDX, offsetof(tl_btb_entry, pc)));
    from[0] = x86_jcc(e, CC_NE);
    x86_mov_ri(e, RCX, target);
    x86_rm(e, true, 0x3b, RCX, at_base(RDX, offsetof(tl_btb_entry, target)));
    from[1] = x86_jcc(e, CC_NE);
}

static void emit_btb_fill(translator *t, uint64_t pc, uint64_t target) { // rdx = entry
    x86 *e = &t->e;
    x86_mov_ri(e, RAX, pc);
    x86_rm(e, true, 0x89, RAX, at_base(RDX, offsetof(tl_btb_entry, pc)));
    x86_mov_ri(e, RAX, target);
    x86_rm(e, true, 0x89, RAX, at_base(RDX, offsetof(tl_btb_entry, target)));
    add_to(e, tally(TL_S_BP_BTB_FILL), 1);
}

// Direct and predicted: to the link, by way of the BTB's bill when it did not know the target.
static void emit_known_target(translator *t, uint64_t pc, uint64_t target) {
    x86 *e = &t->e;
    uint8_t *miss[2];
    emit_btb_check(t, pc, target, miss);
    uint8_t *hit = x86_jmp(e);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    emit_btb_fill(t, pc, target);
    uint32_t cycles = t->store->hart->bp.redirect_cycles;
    add_to(e, tally(TL_S_BP_REDIRECT), 1);
    add_to(e, tally(TL_S_HART_CYC_REDIRECT), cycles);
    add_to(e, HART(now), cycles);
    x86_patch(hit, e->at);
    emit_link(t, target);
}

static void emit_mispredicted(translator *t, uint64_t pc, uint64_t target, bool is_taken) {
    x86 *e = &t->e;
    uint32_t cycles = t->store->hart->bp.mispredict_cycles;
    add_to(e, tally(TL_S_BP_COND_MISS), 1);
    add_to(e, tally(TL_S_HART_CYC_MISPREDICT), cycles);
    add_to(e, HART(now), cycles);
    if (!is_taken)
        return;
    add_to(e, tally(TL_S_BP_COND_MISS_TAKEN), 1);
    uint8_t *miss[2];
    emit_btb_check(t, pc, target, miss);
    uint8_t *hit = x86_jmp(e);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    emit_btb_fill(t, pc, target);
    x86_patch(hit, e->at);
}

static void emit_branch_tail(translator *t, uint64_t pc, uint64_t target, bool is_taken) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    if (is_taken)
        add_to(e, tally(TL_S_HART_BRANCH_TAKEN), 1);
    uint64_t next = is_taken ? target : t->block->end_pc;
    if (bp->fixed != 0) {
        bool predicted = bp->fixed == 2 && target < pc;
        if (predicted != is_taken)
            emit_mispredicted(t, pc, target, is_taken);
        if (predicted && is_taken)
            emit_known_target(t, pc, target);
        else
            emit_link(t, next);
        return;
    }
    x86_rm(e, true, 0x8b, RAX, HART(bp.history));
    if (bp->history_mask != 0) {
        x86_rr(e, false, 0x8b, RCX, RAX);
        x86_op_ri(e, false, X_AND, RCX, (int32_t)(bp->history_mask & bp->counter_mask));
        x86_op_ri(e, false, X_XOR, RCX, (int32_t)((pc >> 1) & bp->counter_mask));
    } else {
        x86_mov_ri(e, RCX, (pc >> 1) & bp->counter_mask);
    }
    x86_rm(e, true, 0x8d, RAX, at_index(RAX, RAX, 0, is_taken));
    x86_rm(e, true, 0x89, RAX, HART(bp.history));
    x86_mov_ri(e, RDX, (uintptr_t)bp->counters);
    x86_rm(e, false, 0x0fb6, RAX, at_index(RDX, RCX, 0, 0));
    x86_rr(e, false, 0x8b, RSI, RAX);
    x86_op_ri(e, false, X_CMP, RAX, is_taken ? 3 : 1);
    x86_op_ri(e, false, X_ADC, RSI, is_taken ? 0 : -1); // + (value < 3), - (value > 0)
    x86_rm_byte(e, false, 0x88, RSI, at_index(RDX, RCX, 0, 0), true);
    x86_op_ri(e, false, X_CMP, RAX, 2);
    uint8_t *wrong = x86_jcc(e, is_taken ? CC_B : CC_AE);
    if (is_taken)
        emit_known_target(t, pc, target);
    else
        emit_link(t, next);
    x86_patch(wrong, e->at);
    emit_mispredicted(t, pc, target, is_taken);
    emit_link(t, next);
}

static void emit_branch(translator *t, const tl_op *op, int cc) {
    uint64_t pc = t->block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    compare(t, op);
    uint8_t *taken = x86_jcc(&t->e, cc);
    emit_branch_tail(t, pc, target, false);
    x86_patch(taken, t->e.at);
    emit_branch_tail(t, pc, target, true);
}

static void emit_push(translator *t, uint64_t return_pc) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    if (bp->ras_entries == 0)
        return;
    x86_rm(e, false, 0x8b, RSI, HART(bp.ras_top));
    x86_rr(e, false, 0x33, RDI, RDI);
    x86_op_ri(e, false, X_ADD, RSI, 1);
    x86_op_ri(e, false, X_CMP, RSI, (int32_t)bp->ras_entries);
    x86_rr(e, false, 0x0f40 | CC_AE, RSI, RDI);
    x86_rm(e, false, 0x89, RSI, HART(bp.ras_top));
    x86_mov_ri(e, RDX, (uintptr_t)bp->ras);
    x86_mov_ri(e, RCX, return_pc);
    x86_rm(e, true, 0x89, RCX, at_index(RDX, RSI, 3, 0));
    x86_rm(e, false, 0x8b, RSI, HART(bp.ras_used));
    x86_op_ri(e, false, X_CMP, RSI, (int32_t)bp->ras_entries);
    x86_op_ri(e, false, X_ADC, RSI, 0);
    x86_rm(e, false, 0x89, RSI, HART(bp.ras_used));
}

static void emit_jal(translator *t, const tl_op *op) {
    uint64_t pc = t->block->pc + op->offset, target = pc + (uint64_t)(int64_t)op->imm;
    if (op->rd < 32) {
        x86_mov_ri(&t->e, RAX, t->block->end_pc);
        x86_rm(&t->e, true, 0x89, RAX, guest(op->rd));
    }
    if (tl_is_link(op->rd))
        emit_push(t, t->block->end_pc);
    emit_known_target(t, pc, target);
}

// The jump that rax holds the target of: through the jump cache, else by look-up.
static void emit_dispatch(translator *t) {
    x86 *e = &t->e;
    x86_rr(e, false, 0x8b, RCX, RAX);
    x86_shift_i(e, false, X_SHR, RCX, 1);
    x86_op_ri(e, false, X_AND, RCX, TL_JUMP_CACHE - 1);
    x86_mov_ri(e, RDX, (uintptr_t)t->store->jump_cache[t->block->view]);
    x86_rm(e, true, 0x8b, RCX, at_index(RDX, RCX, 3, 0));
    x86_rm(e, true, 0x3b, RAX, at_base(RCX, offsetof(tl_block, pc)));
    x86_patch(x86_jcc(e, CC_NE), t->indirect_thunk);
    x86_rm(e, false, 0xff, 4, at_base(RCX, offsetof(tl_block, code)));
}

static void target_missed(tl_hart *h, bool is_return) {
    h->tally[is_return ? TL_S_BP_RETURN_MISS : TL_S_BP_INDIRECT_MISS] += 1;
    h->tally[TL_S_BP_TARGET_MISS] += 1;
    h->tally[TL_S_HART_CYC_TARGET] += h->bp.mispredict_cycles;
    h->now += h->bp.mispredict_cycles;
}

// Jumps that both pop and push, or link without a return-address stack: rare, so in C.
static void predict_in_c(tl_hart *h, const tl_op *op, uint64_t target, uint64_t pc, uint64_t end_pc) {
    h->now += tl_bpred_indirect(&h->bp, h->tally, pc, target, end_pc, op->rd & 31, op->rs1);
}

static void emit_jalr(translator *t, const tl_op *op) {
    x86 *e = &t->e;
    tl_bpred *bp = &t->store->hart->bp;
    uint64_t pc = t->block->pc + op->offset, end_pc = t->block->end_pc;
    bool is_return = tl_jalr_is_return(op->rd & 31, op->rs1), is_call = tl_is_link(op->rd);
    address_to_rax(t, op);
    x86_op_ri(e, true, X_AND, RAX, -2);
    if (op->rd < 32) {
        x86_mov_ri(e, RCX, end_pc);
        x86_rm(e, true, 0x89, RCX, guest(op->rd));
    }
    if ((is_return && is_call) || bp->ras_entries == 0) {
        x86_mov_rr(e, R12, RAX);
        x86_rm(e, true, 0x8d, RDI, at_base(RBX, -HART_BIAS));
        x86_mov_ri(e, RSI, (uintptr_t)op);
        x86_mov_rr(e, RDX, RAX);
        x86_mov_ri(e, RCX, pc);
        x86_mov_ri(e, R8, end_pc);
        x86_call_c(e, (uintptr_t)predict_in_c);
        x86_mov_rr(e, RAX, R12);
        emit_dispatch(t);
        return;
    }
    uint8_t *miss[2] = {NULL, NULL};
    if (is_return) { // pop
        x86_rm(e, false, 0x8b, RCX, HART(bp.ras_used));
        x86_op_ri(e, false, X_SUB, RCX, 1);
        miss[0] = x86_jcc(e, CC_B); // empty
        x86_rm(e, false, 0x89, RCX, HART(bp.ras_used));
        x86_rm(e, false, 0x8b, RCX, HART(bp.ras_top));
        x86_mov_ri(e, RDX, (uintptr_t)bp->ras);
        x86_rm(e, true, 0x8b, R8, at_index(RDX, RCX, 3, 0));
        x86_mov_ri(e, RSI, bp->ras_entries - 1);
        x86_op_ri(e, false, X_SUB, RCX, 1);
        x86_rr(e, false, 0x0f40 | CC_B, RCX, RSI);
        x86_rm(e, false, 0x89, RCX, HART(bp.ras_top));
        x86_op_rr(e, true, X_CMP, R8, RAX);
        miss[1] = x86_jcc(e, CC_NE);
    } else {
        x86_mov_ri(e, RDX, (uintptr_t)&bp->btb[(pc >> 1) & bp->btb_mask]);
        x86_mov_ri(e, RCX, pc);
        x86_rm(e, true, 0x3b, RCX, at_base(RDX, offsetof(tl_btb_entry, pc)));
        miss[0] = x86_jcc(e, CC_NE);
        x86_rm(e, true, 0x3b, RAX, at_base(RDX, offsetof(tl_btb_entry, target)));
        miss[1] = x86_jcc(e, CC_NE);
    }
    uint8_t *hit = x86_jmp(e);
    x86_patch(miss[0], e->at);
    x86_patch(miss[1], e->at);
    if (!is_return) {
        x86_mov_ri(e, RCX, pc);
        x86_rm(e, true, 0x89, RCX, at_base(RDX, offsetof(tl_btb_entry, pc)));
        x86_rm(e, true, 0x89, RAX, at_base(RDX, offsetof(tl_btb_entry, target)));
        add_to(e, tally(TL_S_BP_BTB_FILL), 1);
    }
    x86_mov_rr(e, R12, RAX);
    x86_rm(e, true, 0x8d, RDI, at_base(RBX, -HART_BIAS));
    x86_mov_ri(e, RSI, is_return);
    x86_call_c(e, (uintptr_t)target_missed);
    x86_mov_rr(e, RAX, R12);
    x86_patch(hit, e->at);
    if (is_call)
        emit_push(t, end_pc);
    emit_dispatch(t);
}

// ---- one instruction ----

static void emit_insn(translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    x86 *e = &t->e;
    switch (t->block->opc[k]) {
    case TL_OPC_lui:
        if (op->rd < 32) {
            int to = destination(t, op->rd);
            x86_mov_ri(e, to, (uint64_t)(int64_t)op->imm);
            x86_rm(e, true, 0x89, to, guest(op->rd));
        }
        return;
    case TL_OPC_auipc:
        if (op->rd < 32) {
            int to = destination(t, op->rd);
            x86_mov_ri(e, to, t->block->pc + op->offset + (uint64_t)(int64_t)op->imm);
            x86_rm(e, true, 0x89, to, guest(op->rd));
        }
        return;
    case TL_OPC_addi: emit_alu_i(t, op, false, X_ADD); return;
    case TL_OPC_addiw: emit_alu_i(t, op, true, X_ADD); return;
    case TL_OPC_andi: emit_alu_i(t, op, false, X_AND); return;
    case TL_OPC_ori: emit_alu_i(t, op, false, X_OR); return;
    case TL_OPC_xori: emit_alu_i(t, op, false, X_XOR); return;
    case TL_OPC_slti:
    case TL_OPC_sltiu:
        load_to(t, RAX, op->rs1);
        x86_op_ri(e, true, X_CMP, RAX, op->imm);
        set_flag(t, op, t->block->opc[k] == TL_OPC_slti ? CC_L : CC_B);
        return;
    case TL_OPC_add: emit_alu(t, op, false, X_ADD); return;
    case TL_OPC_sub: emit_alu(t, op, false, X_SUB); return;
    case TL_OPC_and: emit_alu(t, op, false, X_AND); return;
    case TL_OPC_or: emit_alu(t, op, false, X_OR); return;
    case TL_OPC_xor: emit_alu(t, op, false, X_XOR); return;
    case TL_OPC_addw: emit_alu(t, op, true, X_ADD); return;
    case TL_OPC_subw: emit_alu(t, op, true, X_SUB); return;
    case TL_OPC_slt:
        compare(t, op);
        set_flag(t, op, CC_L);
        return;
    case TL_OPC_sltu:
        compare(t, op);
        set_flag(t, op, CC_B);
        return;
    case TL_OPC_sll: emit_shift(t, op, false, X_SHL); return;
    case TL_OPC_srl: emit_shift(t, op, false, X_SHR); return;
    case TL_OPC_sra: emit_shift(t, op, false, X_SAR); return;
    case TL_OPC_sllw: emit_shift(t, op, true, X_SHL); return;
    case TL_OPC_srlw: emit_shift(t, op, true, X_SHR); return;
    case TL_OPC_sraw: emit_shift(t, op, true, X_SAR); return;
    case TL_OPC_slli: emit_shift_i(t, op, false, X_SHL); return;
    case TL_OPC_srli: emit_shift_i(t, op, false, X_SHR); return;
    case TL_OPC_srai: emit_shift_i(t, op, false, X_SAR); return;
    case TL_OPC_slliw: emit_shift_i(t, op, true, X_SHL); return;
    case TL_OPC_srliw: emit_shift_i(t, op, true, X_SHR); return;
    case TL_OPC_sraiw: emit_shift_i(t, op, true, X_SAR); return;
    case TL_OPC_mul: emit_mul(t, op, false); return;
    case TL_OPC_mulw: emit_mul(t, op, true); return;
    case TL_OPC_mulhu: emit_mul_high(t, op, 4); return;
    case TL_OPC_mulh: emit_mul_high(t, op, 5); return;
    case TL_OPC_lb: emit_load(t, k, op, 1, true, 0x0fbe); return;
    case TL_OPC_lbu: emit_load(t, k, op, 1, false, 0x0fb6); return;
    case TL_OPC_lh: emit_load(t, k, op, 2, true, 0x0fbf); return;
    case TL_OPC_lhu: emit_load(t, k, op, 2, false, 0x0fb7); return;
    case TL_OPC_lw: emit_load(t, k, op, 4, true, 0x63); return;
    case TL_OPC_lwu: emit_load(t, k, op, 4, false, 0x8b); return;
    case TL_OPC_ld: emit_load(t, k, op, 8, true, 0x8b); return;
    case TL_OPC_sb: emit_store(t, k, op, 1); return;
    case TL_OPC_sh: emit_store(t, k, op, 2); return;
    case TL_OPC_sw: emit_store(t, k, op, 4); return;
    case TL_OPC_sd: emit_store(t, k, op, 8); return;
    case TL_OPC_flw: emit_fp_load(t, k, op, 4); return;
    case TL_OPC_fld: emit_fp_load(t, k, op, 8); return;
    case TL_OPC_fsw: emit_fp_store(t, k, op, 4); return;
    case TL_OPC_fsd: emit_fp_store(t, k, op, 8); return;
    case TL_OPC_fence: return;
    case TL_OPC_fadd_d:
    case TL_OPC_fsub_d:
    case TL_OPC_fmul_d:
    case TL_OPC_fdiv_d:
    case TL_OPC_fadd_s:
    case TL_OPC_fsub_s:
    case TL_OPC_fmul_s:
    case TL_OPC_fdiv_s:
        if (is_plain_rounding(op)) {
            uint16_t opc = t->block->opc[k];
            bool is_double = opc == TL_OPC_fadd_d || opc == TL_OPC_fsub_d || opc == TL_OPC_fmul_d || opc == TL_OPC_fdiv_d;
            bool is_add = opc == TL_OPC_fadd_d || opc == TL_OPC_fadd_s, is_sub = opc == TL_OPC_fsub_d || opc == TL_OPC_fsub_s;
            bool is_mul = opc == TL_OPC_fmul_d || opc == TL_OPC_fmul_s;
            emit_fp_arithmetic(t, k, op, is_double, is_add ? 0x58 : is_sub ? 0x5c : is_mul ? 0x59 : 0x5e);
            return;
        }
        break;
    case TL_OPC_fsgnj_d:
        if (op->rs1 == op->rs2) {
            emit_fp_move_double(t, op);
            return;
        }
        break;
    case TL_OPC_fmadd_d:
    case TL_OPC_fmsub_d:
    case TL_OPC_fnmsub_d:
    case TL_OPC_fnmadd_d:
    case TL_OPC_fmadd_s:
    case TL_OPC_fmsub_s:
    case TL_OPC_fnmsub_s:
    case TL_OPC_fnmadd_s:
        if (emit_fma_of(t, k, op))
            return;
        break;
    case TL_OPC_beq: emit_branch(t, op, CC_E); return;
    case TL_OPC_bne: emit_branch(t, op, CC_NE); return;
    case TL_OPC_blt: emit_branch(t, op, CC_L); return;
    case TL_OPC_bge: emit_branch(t, op, CC_GE); return;
    case TL_OPC_bltu: emit_branch(t, op, CC_B); return;
    case TL_OPC_bgeu: emit_branch(t, op, CC_AE); return;
    case TL_OPC_jal: emit_jal(t, op); return;
    case TL_OPC_jalr: emit_jalr(t, op); return;
    default: break;
    }
    switch (tl_insn_rows[t->block->opc[k]].cls) {
    case TL_CLASS_AMO:
    case TL_CLASS_LR:
    case TL_CLASS_SC:
    case TL_CLASS_CSR:
    case TL_CLASS_FENCE_I:
    case TL_CLASS_SYSTEM: emit_slow_call(t, k, op); return;
    default: break;
    }
    if (t->block->opc[k] == TL_OPC_ILLEGAL)
        emit_slow_call(t, k, op);
    else
        emit_fast_call(t, k, op);
}

// ---- one block ----

static void emit_stubs(translator *t) {
    x86 *e = &t->e;
    for (uint32_t i = 0; i < t->n_stubs; i++) {
        const stub *s = &t->stubs[i];
        for (int j = 0; j < 3; j++)
            if (s->from[j])
                x86_patch(s->from[j], e->at);
        if (s->is_link) {
            x86_mov_ri(e, RSI, s->pc);
            x86_mov_ri(e, RDX, (uintptr_t)s->from[0]);
            x86_mov_ri(e, RCX, (uintptr_t)&t->store->nowhere);
            x86_jmp_to(e, t->enter_thunk);
            continue;
        }
        call_slow(t, s->k);
        for (int c = 0; c < N_CACHE; c++)
            if (s->cached[c] >= 0 && (cache_regs[c] < R12 || s->cached[c] == (int8_t)s->rd))
                x86_rm(e, true, 0x8b, cache_regs[c], guest((unsigned)s->cached[c]));
        x86_jmp_to(e, s->resume);
    }
    t->n_stubs = 0;
}

static x86_mem fetch_slot(const translator *t, uint64_t vline, size_t field) {
    uint64_t index = t->block->view * TL_FETCH_SLOTS + ((vline >> t->store->hart->line_log2) & (TL_FETCH_SLOTS - 1));
    return at_base(RBX, (int64_t)(offsetof(tl_hart, fetch_slot) + index * sizeof(tl_fetch_slot) + field) - HART_BIAS);
}

static void emit_slot_check(translator *t, uint64_t vline, uint64_t pline, uint8_t *from[2]) {
    x86 *e = &t->e;
    x86_mov_ri(e, RAX, vline);
    x86_rm(e, true, 0x3b, RAX, fetch_slot(t, vline, offsetof(tl_fetch_slot, vline)));
    from[0] = x86_jcc(e, CC_NE);
    x86_mov_ri(e, RAX, pline);
    x86_rm(e, true, 0x3b, RAX, fetch_slot(t, vline, offsetof(tl_fetch_slot, pline)));
    from[1] = x86_jcc(e, CC_NE);
}

static void emit_stamps(translator *t, uint64_t vline) {
    x86 *e = &t->e;
    x86_op_ri(e, true, X_ADD, RBP, 1);
    x86_rm(e, false, 0x8b, RCX, fetch_slot(t, vline, offsetof(tl_fetch_slot, line_stamp)));
    x86_rm(e, true, 0x89, RBP, at_index(R14, RCX, 3, 0));
    x86_rm(e, false, 0x8b, RCX, fetch_slot(t, vline, offsetof(tl_fetch_slot, page_stamp)));
    x86_rm(e, true, 0x89, RBP, at_index(R14, RCX, 3, 0));
}

static void charge_from_code(tl_hart *h, tl_block *block) { tl_block_charge(h->engine, block); }

static void prepare(tl_blocks *store, tl_block *block) {
    translator *t = store->translator;
    const tl_hart *h = store->hart;
    t->store = store;
    t->block = block;
    t->e = (x86){.at = t->next};
    t->n_stubs = 0;
    t->turn = 0;
    forget_copies(t);
    x86 *e = &t->e;

    // Entry: the proof that this block may run, as in block/engine.c enter().
    block->code = exec_of(t, e->at);
    uint8_t *to_look_up[8] = {NULL};
    uint32_t n = 0;
    uint64_t second = block->vline + (~h->line_mask + 1);
    bool is_always_looked_up = tl_blocks_has_break(store, block->pc);
    if (!is_always_looked_up) {
        emit_slot_check(t, block->vline, block->pline, &to_look_up[n]);
        n += 2;
        if (block->is_straddling) {
            emit_slot_check(t, second, block->pline2, &to_look_up[n]);
            n += 2;
            x86_rm(e, false, 0x8b, RAX, HART(code_generation)); // lines are checked one by one, this block stands on two
            x86_mov_ri(e, RCX, (uintptr_t)&block->generation);
            x86_rm(e, false, 0x3b, RAX, at_base(RCX, 0));
            to_look_up[n++] = x86_jcc(e, CC_NE);
        }
        x86_rm(e, true, 0x8b, RAX, HART(now));
        x86_rm(e, true, 0x3b, RAX, HART(fast_horizon));
        to_look_up[n++] = x86_jcc(e, CC_AE);
        if (block->has_fp) {
            x86_rm_byte(e, false, 0x80, 7, HART(is_fp_off), true); // cmp byte, imm8
            x86_byte(e, 0);
            to_look_up[n++] = x86_jcc(e, CC_NE);
        }
        emit_stamps(t, block->vline);
        if (block->is_straddling)
            emit_stamps(t, second);
    } else {
        to_look_up[n++] = x86_jmp(e);
    }

    block->start = exec_of(t, e->at);
    x86_op_mi(e, true, X_CMP, HART(pend), 0);
    uint8_t *pending = x86_jcc(e, CC_NE);
    if (block->exit_pend) {
        x86_mov_ri(e, RAX, (uintptr_t)block->exit_pend);
        x86_rm(e, true, 0x89, RAX, HART(pend));
    }
    uint8_t *charged = e->at;
    x86_mov_ri(e, RCX, (uintptr_t)block->count);
    x86_op_mi(e, true, X_ADD, at_base(RCX, 0), 1);
    add_to(e, HART(now), block->cycles);
    add_to(e, HART(instret), block->n_insns);

    bool is_ended = false;
    for (uint32_t k = 0; k < block->n_insns; k++) {
        if (k > 0 && tl_blocks_has_break(store, block->pc + block->ops[k].offset)) {
            x86_mov_ri(e, RDI, (uintptr_t)store);
            x86_mov_ri(e, RSI, (uintptr_t)block);
            x86_mov_ri(e, RDX, k);
            x86_call_c(e, (uintptr_t)tl_block_stop_before);
            x86_jmp_to(e, t->exit_thunk);
            is_ended = true;
            break;
        }
        emit_insn(t, k);
        if (block->opc[k] == TL_OPC_mret || block->opc[k] == TL_OPC_sret) {
            x86_rm(e, true, 0x8b, RAX, HART(pc));
            x86_jmp_to(e, t->indirect_thunk);
            is_ended = true;
            break;
        }
        tl_class cls = (tl_class)tl_insn_rows[block->opc[k]].cls;
        is_ended = block->opc[k] != TL_OPC_ILLEGAL && (cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL || cls == TL_CLASS_JALR);
    }
    if (!is_ended)
        emit_link(t, block->end_pc);

    emit_stubs(t);
    x86_patch(pending, e->at);
    x86_rm(e, true, 0x8d, RDI, at_base(RBX, -HART_BIAS));
    x86_mov_ri(e, RSI, (uintptr_t)block);
    x86_call_c(e, (uintptr_t)charge_from_code);
    x86_jmp_to(e, charged);
    for (uint32_t i = 0; i < n; i++)
        x86_patch(to_look_up[i], e->at);
    x86_mov_ri(e, RSI, block->pc);
    x86_rr(e, false, 0x33, RDX, RDX);
    x86_mov_ri(e, RCX, (uintptr_t)block);
    x86_jmp_to(e, t->enter_thunk);
    t->next = (uint8_t *)tl_align_up((uintptr_t)e->at, 16);
}

// ---- the run time ----

// Called by translated code that reached a pc without a link (site: the displacement to patch) or whose block (guess) did not prove itself.
static void *enter_from_code(tl_blocks *store, uint64_t pc, uint8_t *site, tl_block *guess) {
    translator *t = store->translator;
    uint64_t n_flushes = store->n_flushes;
    tl_block *block = tl_blocks_enter(store, pc, guess);
    if (!block)
        return exec_of(t, t->exit_thunk);
    if (site && store->n_flushes == n_flushes)
        x86_patch(site, t->write + ((uint8_t *)block->code - t->exec));
    return block->start;
}

static void *enter_indirect(tl_blocks *store, uint64_t pc) {
    translator *t = store->translator;
    tl_block **cell = tl_blocks_cell(store, pc);
    tl_block *block = tl_blocks_enter(store, pc, *cell);
    if (!block)
        return exec_of(t, t->exit_thunk);
    *cell = block;
    return block->start;
}

static void run_translated(tl_blocks *store) {
    translator *t = store->translator;
    t->run(store->hart, enter_indirect(store, store->hart->pc));
}

static void emit_thunks(translator *t) {
    static const uint8_t saved[] = {RBX, RBP, R12, R13, R14, R15};
    t->e = (x86){.at = t->write};
    x86 *e = &t->e;
    uint8_t *run = e->at;
    for (uint32_t i = 0; i < TL_COUNT_OF(saved); i++)
        x86_push(e, saved[i]);
    x86_op_ri(e, true, X_SUB, RSP, 8);
    x86_rm(e, true, 0x8d, RBX, at_base(RDI, HART_BIAS));
    x86_rm(e, true, 0x8b, RBP, HART(stamp));
    x86_rm(e, true, 0x8b, R14, HART(stamps));
    x86_rm(e, true, 0x8b, R13, HART(tally));
    x86_rr(e, false, 0xff, 4, RSI); // jmp rsi

    t->exit_thunk = e->at;
    x86_rm(e, true, 0x89, RBP, HART(stamp));
    x86_op_ri(e, true, X_ADD, RSP, 8);
    for (uint32_t i = TL_COUNT_OF(saved); i-- > 0;)
        x86_pop(e, saved[i]);
    x86_byte(e, 0xc3);

    t->slow_thunk = e->at; // called: rsi = block, edx = k
    x86_op_ri(e, true, X_SUB, RSP, 8);
    x86_rm(e, true, 0x89, RBP, HART(stamp));
    x86_rm(e, true, 0x8b, RDI, HART(engine));
    x86_call_c(e, (uintptr_t)tl_block_execute);
    x86_op_ri(e, true, X_ADD, RSP, 8);
    x86_rm(e, true, 0x8b, RBP, HART(stamp));
    x86_rr_byte(e, false, 0x84, RAX, RAX, true);
    uint8_t *trapped = x86_jcc(e, CC_E);
    x86_byte(e, 0xc3);
    x86_patch(trapped, e->at);
    x86_op_ri(e, true, X_ADD, RSP, 8); // the return address
    x86_jmp_to(e, t->exit_thunk);

    t->enter_thunk = e->at; // jumped to: rsi = pc, rdx = site, rcx = guess
    x86_rm(e, true, 0x89, RBP, HART(stamp));
    x86_rm(e, true, 0x8b, RDI, HART(engine));
    x86_call_c(e, (uintptr_t)enter_from_code);
    x86_rm(e, true, 0x8b, RBP, HART(stamp));
    x86_rr(e, false, 0xff, 4, RAX);

    t->indirect_thunk = e->at; // jumped to: rax = pc
    x86_rm(e, true, 0x89, RBP, HART(stamp));
    x86_rm(e, true, 0x8b, RDI, HART(engine));
    x86_mov_rr(e, RSI, RAX);
    x86_call_c(e, (uintptr_t)enter_indirect);
    x86_rm(e, true, 0x8b, RBP, HART(stamp));
    x86_rr(e, false, 0xff, 4, RAX);

    void *entry = exec_of(t, run);
    memcpy(&t->run, &entry, sizeof entry);
    t->first = t->next = (uint8_t *)tl_align_up((uintptr_t)e->at, 16);
}

static bool is_full(tl_blocks *store) {
    const translator *t = store->translator;
    return t->next + BLOCK_ROOM_BYTES > t->write + CODE_BYTES;
}

static void forget(tl_blocks *store) {
    translator *t = store->translator;
    if (t)
        t->next = t->first;
}

static void stale(tl_blocks *store, tl_block *block) {
    translator *t = store->translator;
    x86 e = {.at = t->write + ((uint8_t *)block->code - t->exec)};
    x86_mov_ri(&e, RSI, block->pc);
    x86_rr(&e, false, 0x33, RDX, RDX);
    x86_mov_ri(&e, RCX, (uintptr_t)&store->nowhere);
    x86_jmp_to(&e, t->enter_thunk); // at most 10 + 2 + 10 + 5 bytes: shorter than any entry
}

static const tl_blocks_type translate_type = {
    .prepare = prepare, .run = run_translated, .forget = forget, .stale = stale, .is_full = is_full};

static bool map_code(translator *t) {
    int fd = memfd_create("tally code", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    void *write = MAP_FAILED, *exec = MAP_FAILED;
    if (ftruncate(fd, CODE_BYTES) == 0) {
        write = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        exec = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (write != MAP_FAILED && exec != MAP_FAILED) {
        t->write = write;
        t->exec = exec;
        return true;
    }
    if (write != MAP_FAILED)
        munmap(write, CODE_BYTES);
    if (exec != MAP_FAILED)
        munmap(exec, CODE_BYTES);
    return false;
}

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    translator *t = tl_arena_alloc(arena, sizeof *t);
    if (!t)
        return tl_fail(err, TL_ENOMEM, "no memory for the translator");
    if (!map_code(t))
        return tl_fail(err, TL_ENOMEM, "the host grants no memory for translated code; use --engine block");
    tl_status status = tl_blocks_attach(h, &translate_type, arena, err);
    if (status != TL_OK) {
        munmap(t->write, CODE_BYTES);
        munmap(t->exec, CODE_BYTES);
        return status;
    }
    t->has_fma = __builtin_cpu_supports("fma");
    emit_thunks(t);
    ((tl_blocks *)h->engine)->translator = t;
    return TL_OK;
}

static void detach(tl_hart *h) {
    tl_blocks *store = h->engine;
    if (!store)
        return;
    translator *t = store->translator;
    munmap(t->write, CODE_BYTES);
    munmap(t->exec, CODE_BYTES);
    tl_blocks_detach(store);
    h->engine = NULL;
}

static void fold(tl_hart *h) { tl_blocks_sync(h->engine); }

const tl_core_type tl_core_translate = {
    .name = "translate",
    .title = "x86-64 code with the models inlined",
    .attach = attach,
    .detach = detach,
    .run = tl_blocks_run,
    .sync = fold,
    .overshoot_cycles = tl_blocks_overshoot_cycles,
};

#endif
