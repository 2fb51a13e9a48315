// SPDX-License-Identifier: MIT
// The places of guest registers while translated code runs, and small pieces that all templates
// share.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/block/contexts.h"
#include "isa/rv/translate/translator.h"
#include "model/attribution.h"

// The registers that compilers use most have homes: stack, frame and first arguments of the calling
// convention.
typedef struct home {
    uint8_t guest, host;
} home;
static const home homes[] = {{2, R15}, {8, R12}, {10, RSI}, {11, RDI}, {12, R8}, {13, R9}, {14, R10}, {15, R11}};

int tl_reg_home(unsigned reg) {
    for (uint32_t i = 0; i < TL_COUNT_OF(homes); i++)
        if (homes[i].guest == reg)
            return homes[i].host;
    return -1;
}

int tl_reg_target(unsigned rd) {
    int host = tl_reg_home(rd);
    return host >= 0 ? host : RAX;
}

void tl_reg_op(tl_translator *t, bool is_wide, int x_op, int to, unsigned reg) {
    int host = tl_reg_home(reg);
    if (host >= 0)
        x86_op_rr(&t->e, is_wide, x_op, to, host);
    else
        x86_op_rm(&t->e, is_wide, x_op, to, tl_guest_x(reg));
}

void tl_reg_imul(tl_translator *t, bool is_wide, int to, unsigned reg) {
    int host = tl_reg_home(reg);
    if (host >= 0)
        x86_imul_rr(&t->e, is_wide, to, host);
    else
        x86_imul_rm(&t->e, is_wide, to, tl_guest_x(reg));
}

void tl_reg_sext32(tl_translator *t, int to, unsigned reg) {
    int host = tl_reg_home(reg);
    if (host >= 0)
        x86_sext32_rr(&t->e, to, host);
    else
        x86_load_s32(&t->e, to, tl_guest_x(reg));
}

void tl_reg_load(tl_translator *t, int to, unsigned reg) {
    int host = tl_reg_home(reg);
    if (reg == 0)
        x86_zero_r(&t->e, to);
    else if (host >= 0)
        x86_mov_rr(&t->e, to, host);
    else
        x86_load(&t->e, to, tl_guest_x(reg));
}

void tl_reg_set(tl_translator *t, unsigned rd, int from) {
    int host = tl_reg_home(rd);
    if (rd >= 32)
        return;
    if (host >= 0)
        x86_mov_rr(&t->e, host, from);
    else
        x86_store(&t->e, tl_guest_x(rd), from);
}

void tl_reg_set_i(tl_translator *t, unsigned rd, uint64_t value) {
    if (rd >= 32)
        return;
    int to = tl_reg_target(rd);
    if (to == RAX && fits_s32((int64_t)value)) {
        x86_store_i(&t->e, tl_guest_x(rd), (int32_t)value);
        return;
    }
    x86_mov_ri(&t->e, to, value);
    tl_reg_set(t, rd, to);
}

void tl_reg_spill(tl_translator *t) {
    for (uint32_t i = 0; i < TL_COUNT_OF(homes); i++)
        x86_store(&t->e, tl_guest_x(homes[i].guest), homes[i].host);
}

void tl_reg_reload(tl_translator *t) {
    for (uint32_t i = 0; i < TL_COUNT_OF(homes); i++)
        x86_load(&t->e, homes[i].host, tl_guest_x(homes[i].guest));
}

static bool is_lost(int host) { return host < R12; } // to a call of C

void tl_reg_spill_lost(tl_translator *t) {
    for (uint32_t i = 0; i < TL_COUNT_OF(homes); i++)
        if (is_lost(homes[i].host))
            x86_store(&t->e, tl_guest_x(homes[i].guest), homes[i].host);
}

void tl_reg_reload_lost(tl_translator *t) {
    for (uint32_t i = 0; i < TL_COUNT_OF(homes); i++)
        if (is_lost(homes[i].host))
            x86_load(&t->e, homes[i].host, tl_guest_x(homes[i].guest));
}

x86_mem tl_emit_at(tl_translator *t, const void *address, int scratch) {
    intptr_t distance = (intptr_t)address - (intptr_t)t->store->hart - TL_HART_BIAS;
    if (fits_s32(distance))
        return at_base(RBX, distance);
    x86_mov_ri(&t->e, scratch, (uintptr_t)address);
    return at_base(scratch, 0);
}

void tl_emit_count(tl_translator *t, uint64_t *counter, int scratch) {
    if (x86_reaches(&t->e, counter)) {
        x86_inc_a(&t->e, counter);
        return;
    }
    x86_mov_ri(&t->e, scratch, (uintptr_t)counter);
    x86_inc_m(&t->e, at_base(scratch, 0));
}

void tl_emit_tally(tl_translator *t, unsigned slot, uint64_t amount, int scratch) {
    if (amount == 0)
        return;
    x86_load(&t->e, scratch, TL_HART(tally));
    x86_add_mi(&t->e, at_base(scratch, 8 * (int64_t)slot), (int32_t)amount);
}

void tl_emit_context(tl_translator *t) {
    const tl_context_sink *sink = tl_blocks_sink(t->store);
    const tl_hart *h = t->store->hart;
    const tl_block *block = t->block;
    uint64_t counts[TL_NO_EVENT] = {0};
    for (uint32_t i = 0; i < block->n_statics; i++) {
        const uint8_t event = sink->event_of[h->id * TL_S_N_CELLS + block->statics[i].cell];
        if (event != TL_NO_EVENT)
            counts[event] += block->statics[i].amount;
    }
    if (sink->executed_event != TL_NO_EVENT)
        counts[sink->executed_event] += block->n_insns;
    x86_load(&t->e, RCX, tl_emit_at(t, &sink->counts[h->id], RCX));
    for (uint32_t event = 0; event < TL_NO_EVENT; event++)
        if (counts[event] != 0)
            x86_add_mi(&t->e, at_base(RCX, 8 * (int64_t)event), (int32_t)counts[event]);
}

void tl_emit_transfer_tally(tl_translator *t, unsigned slot, uint64_t amount, int scratch) {
    tl_emit_tally(t, slot, amount, scratch);
    tl_block_transfer *transfer = t->block->transfer;
    if (amount == 0 || !transfer)
        return;
    uint32_t i = 0;
    while (tl_transfer_cells[i] != slot)
        i++;
    const tl_context_sink *sink = tl_blocks_sink(t->store);
    const uint8_t event = sink ? sink->event_of[t->store->hart->id * TL_S_N_CELLS + slot] : TL_NO_EVENT;
    if (event != TL_NO_EVENT) {
        x86_load(&t->e, scratch, tl_emit_at(t, &sink->counts[t->store->hart->id], scratch));
        x86_add_mi(&t->e, at_base(scratch, 8 * event), (int32_t)amount);
    }
    uint64_t *const counts[] = {tl_attribution_booked(t->store->hart) + slot, &transfer->counts[i]};
    for (uint32_t c = 0; c < TL_COUNT_OF(counts); c++)
        x86_add_mi(&t->e, tl_emit_at(t, counts[c], scratch), (int32_t)amount);
}

void tl_emit_slow_always(tl_translator *t, uint32_t k) {
    x86_mov_ri(&t->e, RAX, (uintptr_t)t->block);
    x86_mov_ri(&t->e, RDX, k);
    x86_call_to(&t->e, t->slow_thunk);
}

void tl_emit_slow(tl_translator *t, uint32_t k, uint8_t *const *from, uint32_t n_from) {
    if (n_from == 0)
        return;
    const uint8_t *resume = t->e.at;
    tl_emit_elsewhere(t);
    for (uint32_t i = 0; i < n_from; i++)
        x86_patch(from[i], t->e.at);
    tl_emit_slow_always(t, k);
    x86_jmp_to(&t->e, resume);
    tl_emit_elsewhere(t);
}

void tl_emit_address(tl_translator *t, const tl_op *op) {
    int base = tl_reg_home(op->rs1);
    if (op->rs1 == 0)
        x86_mov_ri(&t->e, RAX, (uint64_t)(int64_t)op->imm);
    else if (base >= 0 && op->imm != 0)
        x86_lea(&t->e, RAX, at_base(base, op->imm));
    else {
        tl_reg_load(t, RAX, op->rs1);
        if (op->imm != 0)
            x86_add_ri(&t->e, RAX, op->imm);
    }
}

void tl_emit_compare(tl_translator *t, const tl_op *op) {
    int a = tl_reg_home(op->rs1);
    if (op->rs2 == 0 && op->rs1 != 0) {
        if (a >= 0)
            x86_test_rr(&t->e, true, a, a);
        else
            x86_cmp_mi(&t->e, tl_guest_x(op->rs1), 0);
        return;
    }
    if (a < 0) {
        a = RAX;
        tl_reg_load(t, RAX, op->rs1);
    }
    if (op->rs2 == 0)
        x86_cmp_ri(&t->e, a, 0);
    else
        tl_reg_op(t, true, X_CMP, a, op->rs2);
}

#endif
