// SPDX-License-Identifier: MIT
// Which host registers hold copies of guest registers while a block is translated, and the code off the straight path that an access
// takes when it does not hit. Memory is always current: writes go through.
#if defined(__x86_64__) && defined(__linux__)

#include "isa/rv/translate/translator.h"

const uint8_t tl_cache_regs[TL_N_CACHE] = {R8, R9, R10, R11, RSI, RDI, R12, R15};

void tl_copies_forget(tl_translator *t) {
    for (int i = 0; i < TL_N_CACHE; i++)
        t->cached[i] = -1;
}

void tl_copies_clobber(tl_translator *t, unsigned rd) { // after a call of C code
    for (int i = 0; i < TL_N_CACHE; i++)
        if (tl_cache_regs[i] < R12 || t->cached[i] == (int8_t)rd)
            t->cached[i] = -1;
}

static int find_copy(const tl_translator *t, unsigned reg) {
    for (int i = 0; i < TL_N_CACHE; i++)
        if (t->cached[i] == (int8_t)reg)
            return i;
    return -1;
}

// The host register with a copy of guest register `reg` (not x0), loaded if need be; `keep` is a host register not to take.
int tl_copy_source(tl_translator *t, unsigned reg, int keep) {
    int i = find_copy(t, reg);
    if (i >= 0)
        return tl_cache_regs[i];
    do
        i = (int)(t->turn++ % TL_N_CACHE);
    while (tl_cache_regs[i] == keep);
    t->cached[i] = (int8_t)reg;
    x86_rm(&t->e, true, 0x8b, tl_cache_regs[i], tl_guest_x(reg));
    return tl_cache_regs[i];
}

void tl_copy_load(tl_translator *t, int to, unsigned reg) { // a scratch register = guest register
    if (reg == 0)
        x86_rr(&t->e, false, 0x33, to, to);
    else
        x86_mov_rr(&t->e, to, tl_copy_source(t, reg, -1));
}

// A host register for the new value of rd; publish() writes it through. For the sink, scratch.
int tl_copy_destination(tl_translator *t, unsigned rd) {
    if (rd >= 32)
        return RAX;
    int i = find_copy(t, rd);
    if (i < 0) {
        i = (int)(t->turn++ % TL_N_CACHE);
        t->cached[i] = (int8_t)rd;
    }
    return tl_cache_regs[i];
}

void tl_copy_set(tl_translator *t, unsigned rd, int from) { // guest rd = host register `from`
    if (rd >= 32)
        return;
    int to = tl_copy_destination(t, rd);
    x86_mov_rr(&t->e, to, from);
    x86_rm(&t->e, true, 0x89, to, tl_guest_x(rd));
}

tl_stub *tl_stub_new(tl_translator *t, bool is_link) {
    assert(t->n_stubs < TL_MAX_STUBS);
    tl_stub *s = &t->stubs[t->n_stubs++];
    *s = (tl_stub){.is_link = is_link};
    return s;
}

// Where an access that does not hit goes. Call before the copies of rd are made; tl_stub_finish after.
tl_stub *tl_stub_slow(tl_translator *t, uint32_t k, uint8_t *from) {
    tl_stub *s = tl_stub_new(t, false);
    s->from[0] = from;
    s->k = k;
    return s;
}

void tl_stub_finish(tl_translator *t, tl_stub *s) {
    s->resume = t->e.at;
    memcpy(s->cached, t->cached, sizeof s->cached);
    s->rd = t->block->ops[s->k].rd;
}

void tl_emit_slow_call_of(tl_translator *t, uint32_t k) {
    x86_mov_ri(&t->e, RSI, (uintptr_t)t->block);
    x86_mov_ri(&t->e, RDX, k);
    x86_call_to(&t->e, t->slow_thunk);
}

void tl_emit_address(tl_translator *t, const tl_op *op) {
    if (op->rs1 == 0)
        x86_mov_ri(&t->e, RAX, (uint64_t)(int64_t)op->imm);
    else
        x86_rm(&t->e, true, 0x8d, RAX, at_base(tl_copy_source(t, op->rs1, -1), op->imm));
}

void tl_emit_compare(tl_translator *t, const tl_op *op) { // cmp rs1, rs2
    if (op->rs1 == 0)
        x86_rr(&t->e, false, 0x33, RAX, RAX);
    int b = op->rs2 == 0 ? -1 : tl_copy_source(t, op->rs2, -1);
    int a = op->rs1 == 0 ? RAX : tl_copy_source(t, op->rs1, b);
    if (b < 0)
        x86_op_ri(&t->e, true, X_CMP, a, 0);
    else
        x86_op_rr(&t->e, true, X_CMP, a, b);
}

void tl_emit_stubs(tl_translator *t) {
    x86 *e = &t->e;
    for (uint32_t i = 0; i < t->n_stubs; i++) {
        const tl_stub *s = &t->stubs[i];
        for (int j = 0; j < 3; j++)
            if (s->from[j])
                x86_patch(s->from[j], e->at);
        if (s->is_link) {
            x86_mov_ri(e, RSI, s->pc);
            x86_mov_ri(e, RDX, (uintptr_t)s->from[0]);
            x86_mov_ri(e, RCX, (uintptr_t)t->block);
            x86_jmp_to(e, t->link_thunk);
            continue;
        }
        tl_emit_slow_call_of(t, s->k);
        for (int c = 0; c < TL_N_CACHE; c++)
            if (s->cached[c] >= 0 && (tl_cache_regs[c] < R12 || s->cached[c] == (int8_t)s->rd))
                x86_rm(e, true, 0x8b, tl_cache_regs[c], tl_guest_x((unsigned)s->cached[c]));
        x86_jmp_to(e, s->resume);
    }
    t->n_stubs = 0;
}

#endif
