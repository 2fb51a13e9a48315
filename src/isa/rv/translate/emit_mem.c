// SPDX-License-Identifier: MIT
// Loads and stores: the hit path of model/hart.h in line. An access that misses its data slot calls
// a reach thunk. The thunk returns the host address after the call. Where the port cannot reach an
// access, the thunk executes its full body. It then returns after the instruction.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/block/stops.h"
#include "isa/rv/translate/translator.h"

_Static_assert(sizeof(tl_data_slot) == 32, "the slot index is scaled by a shift");

enum { SLOT_LOG2 = 5, SLOTS_BYTES = TL_DATA_SLOTS << SLOT_LOG2, SLOT_REST = (1 << SLOT_LOG2) - 1 };
_Static_assert(TL_HART_BIAS == sizeof(tl_hart) + 128 - SLOT_REST, "a slot of view U is one byte away");

// A slot of the view that the block belongs to. Precondition: rcx = offset of the slot in its view
// - SLOTS_BYTES + SLOT_REST, which one OR makes of the shifted address.
static x86_mem data_slot(const tl_translator *t, size_t field) {
    size_t end = offsetof(tl_hart, data_slot) + tl_first_data_slot(t->block->view) * sizeof(tl_data_slot) + SLOTS_BYTES;
    return at_index(RBX, RCX, 0, (int64_t)(end + field) - SLOT_REST - TL_HART_BIAS);
}

// The operand of an integer load or store. size_bytes 0: another instruction.
typedef struct access_kind {
    uint8_t size_bytes;
    bool is_store;
} access_kind;

static access_kind kind_of(uint16_t opc) {
    switch (opc) {
    case TL_OPC_lb:
    case TL_OPC_lbu: return (access_kind){1, false};
    case TL_OPC_lh:
    case TL_OPC_lhu: return (access_kind){2, false};
    case TL_OPC_lw:
    case TL_OPC_lwu: return (access_kind){4, false};
    case TL_OPC_ld: return (access_kind){8, false};
    case TL_OPC_sb: return (access_kind){1, true};
    case TL_OPC_sh: return (access_kind){2, true};
    case TL_OPC_sw: return (access_kind){4, true};
    case TL_OPC_sd: return (access_kind){8, true};
    default: return (access_kind){0};
    }
}

// Access k + 1 may reuse the look-up of access k when both are in one line. Both have one base
// register; access k + 1 is no wider, as aligned, and no store after a load. The second look-up
// would hit and stamp a line and a page that are the latest already. Object copies, prologues and
// epilogues have such pairs. Floating point is excluded because nbody took 1.1 times as long: one
// address waits for the other.
static bool has_neighbor(const tl_translator *t, uint32_t k) {
    const tl_block *block = t->block;
    if (k + 1 >= block->n_insns || tl_blocks_stops_at(t->store, block, k + 1))
        return false;
    const tl_op *first = &block->ops[k], *second = &block->ops[k + 1];
    access_kind a = kind_of(block->opc[k]), b = kind_of(block->opc[k + 1]);
    return b.size_bytes > 0 && b.size_bytes <= a.size_bytes && (a.is_store || (!b.is_store && first->rd != first->rs1)) &&
           first->rs1 == second->rs1 && (second->imm - first->imm) % b.size_bytes == 0;
}

typedef struct access {   // the straight path of one access
    uint8_t *miss;        // the jump of a data-slot miss
    const uint8_t *bytes; // code after the look-up: rax = host address
} access;

// rax = vaddr on entry. Returns the jump where no data slot shows it. rcx is for data_slot() then,
// and rdx is spent.
static uint8_t *emit_slot(tl_translator *t, uint32_t size_bytes, bool is_store) {
    x86 *e = &t->e;
    const tl_hart *h = t->store->hart;
    for (uint32_t left = tl_times(t, TL_CODE_DATA_LOOK_UP);;) {
        x86_zext32_rr(e, RCX, RAX);
        if (h->line_log2 > SLOT_LOG2)
            x86_shr32_ri(e, RCX, h->line_log2 - SLOT_LOG2);
        else if (h->line_log2 < SLOT_LOG2)
            x86_shl32_ri(e, RCX, SLOT_LOG2 - h->line_log2);
        x86_or_ri(e, RCX, (SLOT_REST - SLOTS_BYTES));
        x86_mov_rr(e, RDX, RAX);
        x86_and_ri(e, RDX, (int32_t)(int64_t)(h->line_mask | (size_bytes - 1)));
        x86_cmp_rm(e, RDX, data_slot(t, is_store ? offsetof(tl_data_slot, write_tag) : offsetof(tl_data_slot, read_tag)));
        if (--left == 0)
            return x86_jcc(e, CC_NE);
        uint8_t *on = x86_jcc_short(e, CC_NE);
        x86_patch_short(on, e->at);
    }
}

// rcx = that of emit_slot. The line and the page of the slot are used now. Spends rdx.
static void emit_stamps(tl_translator *t) {
    x86 *e = &t->e;
    x86_inc_r(e, RBP);
    for (uint32_t i = 0; i < tl_times(t, TL_CODE_LINE_USE); i++) {
        x86_load32(e, RDX, data_slot(t, offsetof(tl_data_slot, line_stamp)));
        x86_store(e, at_index(R14, RDX, 3, 0), RBP);
    }
    for (uint32_t i = 0; i < tl_times(t, TL_CODE_PAGE_USE); i++) {
        x86_load32(e, RDX, data_slot(t, offsetof(tl_data_slot, page_stamp)));
        x86_store(e, at_index(R14, RDX, 3, 0), RBP);
    }
}

// rax = vaddr on entry; rcx and rdx are spent.
static access emit_hit(tl_translator *t, uint32_t size_bytes, bool is_store) {
    x86 *e = &t->e;
    access a = {.miss = emit_slot(t, size_bytes, is_store)};
    emit_stamps(t);
    x86_add_rm(e, RAX, data_slot(t, offsetof(tl_data_slot, host_minus_vaddr)));
    a.bytes = e->at;
    return a;
}

// Emits the address of instruction k and its look-up. Afterwards rax = host address. Instruction k
// keeps rax for a neighbor.
static access emit_access(tl_translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes, bool is_store) {
    x86 *e = &t->e;
    if (k == 0 || !has_neighbor(t, k - 1)) {
        tl_emit_address(t, op);
        return emit_hit(t, size_bytes, is_store);
    }
    x86_lea(e, RDX, at_base(RAX, op->imm - t->block->ops[k - 1].imm));
    x86_xor_rr(e, RAX, RDX);
    x86_and_ri(e, RAX, (int32_t)(int64_t)t->store->hart->line_mask);
    uint8_t *apart = x86_jcc(e, CC_NE);
    x86_inc_r(e, RBP);
    x86_mov_rr(e, RAX, RDX);
    const uint8_t *bytes = e->at;
    tl_emit_elsewhere(t);
    x86_patch(apart, e->at);
    x86_patch(t->executed, e->at);
    tl_emit_address(t, op);
    access a = emit_hit(t, size_bytes, is_store);
    x86_jmp_to(e, bytes);
    tl_emit_elsewhere(t);
    a.bytes = bytes;
    return a;
}

// Emits the miss path after the code of the instruction is complete.
static void emit_miss(tl_translator *t, uint32_t k, access a, uint32_t size_bytes, bool is_store) {
    const uint8_t *resume = t->e.at;
    tl_emit_elsewhere(t);
    x86 *e = &t->e;
    x86_patch(a.miss, e->at);
    x86_mov_ri(e, RCX, tl_reach_word(t->block, k, size_bytes));
    x86_mov_ri(e, RDX, (uint64_t)((uint8_t *)t->block - t->store->memory));
    x86_call_to(e, t->reach_thunks[is_store]);
    x86_jmp_to(e, a.bytes);
    // The thunk returns here after it executed the instruction; rax holds no address for a
    // neighbor.
    t->executed = x86_jmp(e);
    // then
    x86_patch(t->executed, resume);
    tl_emit_elsewhere(t);
}

static void emit_load(tl_translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes, void (*load)(x86 *, int, x86_mem)) {
    access a = emit_access(t, k, op, size_bytes, false);
    int to = tl_reg_home(op->rd) >= 0 ? tl_reg_home(op->rd) : RDX;
    load(&t->e, to, at_base(RAX, 0));
    tl_reg_set(t, op->rd, to);
    emit_miss(t, k, a, size_bytes, false);
}

// rax = host address. Spends rdx.
static void emit_value(tl_translator *t, const tl_op *op, uint32_t size_bytes) {
    static void (*const stores[])(x86 *, x86_mem, int) = {[1] = x86_store8, [2] = x86_store16, [4] = x86_store32, [8] = x86_store};
    int value = tl_reg_home(op->rs2);
    if (value < 0) {
        value = RDX;
        tl_reg_load(t, RDX, op->rs2);
    }
    stores[size_bytes](&t->e, at_base(RAX, 0), value);
}

static void emit_store(tl_translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes) {
    access a = emit_access(t, k, op, size_bytes, true);
    emit_value(t, op, size_bytes);
    emit_miss(t, k, a, size_bytes, true);
}

static void emit_fp_load(tl_translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes) {
    tl_emit_address(t, op);
    access a = emit_hit(t, size_bytes, false);
    if (size_bytes == 8) {
        x86_load(&t->e, RAX, at_base(RAX, 0));
    } else {
        x86_load32(&t->e, RAX, at_base(RAX, 0));
        x86_mov_ri(&t->e, RDX, UINT64_C(0xffffffff00000000)); // the box
        x86_or_rr(&t->e, RAX, RDX);
    }
    x86_store(&t->e, tl_guest_f(op->rd), RAX);
    emit_miss(t, k, a, size_bytes, false);
}

static void emit_fp_store(tl_translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes) {
    tl_emit_address(t, op);
    access a = emit_hit(t, size_bytes, true);
    if (size_bytes == 8) {
        x86_load(&t->e, RDX, tl_guest_f(op->rs2));
        x86_store(&t->e, at_base(RAX, 0), RDX);
    } else {
        x86_load32(&t->e, RDX, tl_guest_f(op->rs2));
        x86_store32(&t->e, at_base(RAX, 0), RDX);
    }
    emit_miss(t, k, a, size_bytes, true);
}

// The look-up of LR and SC. `slow`: where the line has no data slot, and where somebody watches.
static void emit_atomic_slot(tl_translator *t, const tl_op *op, uint32_t size_bytes, bool is_store, uint8_t *slow[2]) {
    x86_cmp8_mi(&t->e, TL_HART(has_slow_watch), 0);
    slow[0] = x86_jcc(&t->e, CC_NE);
    tl_reg_load(t, RAX, op->rs1);
    slow[1] = emit_slot(t, size_bytes, is_store);
}

static void reserve_word(tl_hart *h, uint64_t vaddr) { (void)h->port->load_reserved(h, vaddr, 4); }
static void reserve_double(tl_hart *h, uint64_t vaddr) { (void)h->port->load_reserved(h, vaddr, 8); }

// A line that has a data slot is reserved without a trap, in no time.
static void emit_lr(tl_translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes) {
    x86 *e = &t->e;
    uint8_t *slow[2];
    emit_atomic_slot(t, op, size_bytes, false, slow);
    x86_mov_rr(e, RDX, RAX);
    x86_mov_ri(e, RCX, size_bytes == 4 ? (uintptr_t)reserve_word : (uintptr_t)reserve_double);
    x86_call_to(e, t->call_thunk);
    if (size_bytes == 4)
        x86_load_s32(e, RAX, TL_HART(mem_value));
    else
        x86_load(e, RAX, TL_HART(mem_value));
    tl_reg_set(t, op->rd, RAX);
    tl_emit_slow(t, k, slow, 2);
}

// The end of an SC, wherever it stands: `tally` counts how it went.
static void emit_sc_end(tl_translator *t, const tl_op *op, bool is_done) {
    x86_store_i(&t->e, TL_HART(reservation_paddr), (int32_t)TL_NO_LINE);
    tl_emit_tally(t, is_done ? TL_S_HART_SC_SUCCESS : TL_S_HART_SC_FAIL, 1, RDX);
    tl_reg_set_i(t, op->rd, is_done ? 0 : 1);
}

// The line is not the reserved one, so the store fails after its translation. Kernels store so to
// end a reservation. Where nothing is translated, no page is used.
static void emit_sc_failure(tl_translator *t, const tl_op *op, uint8_t *fails) {
    x86 *e = &t->e;
    const uint8_t *resume = e->at;
    tl_emit_elsewhere(t);
    x86_patch(fails, e->at);
    x86_load32(e, RAX, data_slot(t, offsetof(tl_data_slot, page_stamp)));
    x86_test_rr(e, false, RAX, RAX);
    uint8_t *is_sink = x86_jcc(e, CC_E);
    x86_inc_r(e, RBP);
    x86_store(e, at_index(R14, RAX, 3, 0), RBP);
    x86_patch(is_sink, e->at);
    emit_sc_end(t, op, false);
    x86_jmp_to(e, resume);
    tl_emit_elsewhere(t);
}

// As tl_mem_port.store_conditional does it where a data slot shows the line. The memory system
// finds out later that the reservation has ended.
static void emit_sc(tl_translator *t, uint32_t k, const tl_op *op, uint32_t size_bytes) {
    x86 *e = &t->e;
    const tl_hart *h = t->store->hart;
    uint8_t *slow[2];
    emit_atomic_slot(t, op, size_bytes, true, slow);
    x86_add_rm(e, RAX, data_slot(t, offsetof(tl_data_slot, host_minus_vaddr)));
    x86_mov_ri(e, RDX, TL_RAM_BASE_PADDR - (uintptr_t)h->ram);
    x86_add_rr(e, RDX, RAX);
    x86_and_ri(e, RDX, (int32_t)(int64_t)h->line_mask);
    x86_cmp_rm(e, RDX, TL_HART(reservation_paddr));
    uint8_t *fails = x86_jcc(e, CC_NE);
    emit_stamps(t);
    emit_value(t, op, size_bytes);
    tl_emit_tally(t, TL_S_L1D_STORE, 1, RDX);
    emit_sc_end(t, op, true);
    emit_sc_failure(t, op, fails);
    tl_emit_slow(t, k, slow, 2);
}

static bool emit_atomic(tl_translator *t, uint32_t k, const tl_op *op) {
    if (t->is_booked)
        return false;
    switch (t->block->opc[k]) {
    case TL_OPC_lr_w: emit_lr(t, k, op, 4); return true;
    case TL_OPC_lr_d: emit_lr(t, k, op, 8); return true;
    case TL_OPC_sc_w: emit_sc(t, k, op, 4); return true;
    case TL_OPC_sc_d: emit_sc(t, k, op, 8); return true;
    default: return false;
    }
}

bool tl_emit_mem(tl_translator *t, uint32_t k) {
    const tl_op *op = &t->block->ops[k];
    switch (t->block->opc[k]) {
    case TL_OPC_lb: emit_load(t, k, op, 1, x86_load_s8); return true;
    case TL_OPC_lbu: emit_load(t, k, op, 1, x86_load_u8); return true;
    case TL_OPC_lh: emit_load(t, k, op, 2, x86_load_s16); return true;
    case TL_OPC_lhu: emit_load(t, k, op, 2, x86_load_u16); return true;
    case TL_OPC_lw: emit_load(t, k, op, 4, x86_load_s32); return true;
    case TL_OPC_lwu: emit_load(t, k, op, 4, x86_load32); return true;
    case TL_OPC_ld: emit_load(t, k, op, 8, x86_load); return true;
    case TL_OPC_sb: emit_store(t, k, op, 1); return true;
    case TL_OPC_sh: emit_store(t, k, op, 2); return true;
    case TL_OPC_sw: emit_store(t, k, op, 4); return true;
    case TL_OPC_sd: emit_store(t, k, op, 8); return true;
    case TL_OPC_flw: emit_fp_load(t, k, op, 4); return true;
    case TL_OPC_fld: emit_fp_load(t, k, op, 8); return true;
    case TL_OPC_fsw: emit_fp_store(t, k, op, 4); return true;
    case TL_OPC_fsd: emit_fp_store(t, k, op, 8); return true;
    case TL_OPC_fence: return true;
    default: return emit_atomic(t, k, op);
    }
}

#endif
