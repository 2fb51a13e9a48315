// SPDX-License-Identifier: MIT
// See flow.h. Each entry of the ring keeps one register's old value and the old fflags. An
// instruction that is executed ahead writes one register at most.
#include "isa/rv/flow/flow.h"

#include <string.h>

#include "isa/block/code.h"
#include "isa/rv/fp.h"
#include "isa/rv/insn.h"
#include "isa/rv/marker.h"
#include "isa/rv/step/step.h"

enum { N_DECODED = 32768, N_PAGES = 256, N_FILTER = 256, PAGE_BITS = 12 };

typedef enum kind { KIND_BODY, KIND_LOAD, KIND_STORE, KIND_BRANCH, KIND_JAL, KIND_JALR, KIND_ALONE } kind;

typedef struct count { // as tl_static_count
    uint16_t cell, amount;
} count;

// Counts of instructions that retire, by what they depend on: opcode, length, hints of calls.
typedef struct count_set {
    uint32_t n;
    count counts[TL_MAX_STATIC];
} count_set;
enum { N_COUNT_SETS = TL_N_OPCS << 3 };

typedef struct decoded { // a line of the host
    _Alignas(64) uint64_t pc;
    uint32_t bits;
    uint16_t opc, count_set;
    tl_op op;
    tl_flow_pipe pipe;
    uint8_t kind, len, timing;
    uint8_t rd, rs1; // as in the instruction
    // is_special: a marker, or an instruction with floating-point registers. ends_run: of fetch.
    bool is_special, is_fp, is_marker, ends_run;
    bool is_call, is_return;
} decoded;
_Static_assert(sizeof(decoded) == 64, "a power of two");

// An instruction in flight: what takes it back, and what lets it retire.
typedef struct in_flight {
    uint64_t old;          // value of the destination
    uint8_t *host;         // of a store; NULL: none, and its other members are not valid
    uint64_t value, vaddr; // of a store
    uint32_t bits;         // 0: its fetch failed
    uint16_t count_set;
    uint8_t dest, fflags, size;
    bool is_taken;
} in_flight;

typedef struct page { // of this generation only
    uint64_t vpage;
    uint8_t *host;
    uint64_t generation;
} page;

typedef struct registers { // what decides whether a suspended flow can go on
    uint64_t pc, x[32], f[32], context, mstatus;
    uint32_t code_generation, pmp_generation, priv;
    uint8_t frm, fflags;
} registers;

typedef struct flow {
    tl_flow base;
    tl_pend_table *pends;
    tl_fp_saved host_fp;
    uint64_t run_vline, run_pline, next_pc; // of the fetch run in progress; TL_NO_LINE: none
    uint64_t generation;
    uint8_t alone_rs1; // address of the atomic that waits to execute alone; TL_NO_REG: it is none
    registers suspended;
    in_flight entries[TL_MAX_IN_FLIGHT];
    // Stores in flight, oldest first.
    uint32_t first_store, end_store; // counts
    uint16_t stores[TL_MAX_IN_FLIGHT];
    uint16_t filter[N_FILTER];          // stores in flight by the eight bytes they touch
    page pages[3][N_PAGES];             // [tl_access]
    count_set count_sets[N_COUNT_SETS]; // n == 0: not known yet
    decoded decoded[N_DECODED];
} flow;

static flow *flow_of(tl_flow *base) { return (flow *)(void *)base; }

// ---- Translation without timing. An access to anything but a permitted page of RAM returns NULL,
// and the instruction is done again when it is the oldest.

static tl_fault peek(const tl_page_walk *walk, uint64_t paddr, uint64_t *ret_entry) {
    const tl_hart *h = walk->h;
    tl_stretch around;
    if (paddr - TL_RAM_BASE_PADDR > h->config->ram_bytes - sizeof *ret_entry ||
        !h->isa->permits(h, paddr, TL_ACCESS_LOAD, TL_VIEW_S, &around))
        return TL_FAULT_ACCESS;
    memcpy(ret_entry, h->ram + (paddr - TL_RAM_BASE_PADDR), sizeof *ret_entry);
    return TL_FAULT_NONE;
}

// A bit of the entry must be set: not ahead of time.
static tl_fault refuse(const tl_page_walk *walk, uint64_t paddr, uint64_t entry) {
    return (void)walk, (void)paddr, (void)entry, TL_FAULT_ACCESS;
}

static TL_NOINLINE uint8_t *find_page(tl_hart *h, uint64_t vpage, tl_access access) {
    const uint32_t view = access == TL_ACCESS_FETCH ? h->view : h->regime.data_view[h->view];
    uint64_t paddr = vpage;
    if (h->regime.is_paged[view]) {
        const uint32_t spare = 64u - h->regime.vaddr_bits;
        if ((uint64_t)((int64_t)(vpage << spare) >> spare) != vpage)
            return NULL;
        const tl_page_walk walk = {
            .h = h, .vaddr = vpage, .access = access, .rights = &h->regime.rights[view][access], .read = peek, .write = refuse};
        tl_page found;
        if (h->isa->walk(&walk, &found) != TL_FAULT_NONE || !tl_is_permitted(walk.rights, found.flags))
            return NULL;
        paddr = found.paddr + (vpage - found.vaddr);
    }
    tl_stretch around;
    if (paddr - TL_RAM_BASE_PADDR >= h->config->ram_bytes || !h->isa->permits(h, paddr, access, view, &around))
        return NULL;
    return (uint8_t *)(uintptr_t)h->ram + (paddr - TL_RAM_BASE_PADDR);
}

static uint8_t *reach(flow *f, uint64_t vaddr, uint32_t size_bytes, tl_access access) {
    const uint64_t page_mask = (UINT64_C(1) << PAGE_BITS) - 1;
    const uint64_t offset = vaddr & page_mask;
    if (TL_UNLIKELY(offset + size_bytes > page_mask + 1))
        return NULL;
    page *slot = &f->pages[access][vaddr >> PAGE_BITS & (N_PAGES - 1)];
    if (TL_UNLIKELY(slot->vpage != vaddr - offset || slot->generation != f->generation)) {
        uint8_t *host = find_page(f->base.h, vaddr - offset, access);
        if (!host)
            return NULL;
        *slot = (page){.vpage = vaddr - offset, .host = host, .generation = f->generation};
    }
    return slot->host + offset;
}

// ---- Stores in flight.

static uint16_t *filter_of(flow *f, const uint8_t *host) { return &f->filter[(uintptr_t)host >> 3 & (N_FILTER - 1)]; }

static void note_store(flow *f, const uint8_t *host, uint32_t size_bytes, int change) {
    uint16_t *first = filter_of(f, host), *last = filter_of(f, host + size_bytes - 1);
    *first = (uint16_t)(*first + change);
    if (last != first)
        *last = (uint16_t)(*last + change);
}

static uint64_t bytes_at(const uint8_t *host, uint32_t size_bytes) {
    uint64_t value = 0;
    switch (size_bytes) {
    case 1: return *host;
    case 2: memcpy(&value, host, 2); break;
    case 4: memcpy(&value, host, 4); break;
    default: memcpy(&value, host, 8); break;
    }
    return value;
}

static void set_bytes(uint8_t *host, uint32_t size_bytes, uint64_t value) {
    switch (size_bytes) {
    case 1: *host = (uint8_t)value; break;
    case 2: memcpy(host, &value, 2); break;
    case 4: memcpy(host, &value, 4); break;
    default: memcpy(host, &value, 8); break;
    }
}

// Bytes of memory and of several stores, oldest first.
static uint64_t merge_stores(const flow *f, const uint8_t *host, uint32_t size_bytes) {
    uint8_t bytes[8] = {0};
    memcpy(bytes, host, size_bytes);
    for (uint32_t i = f->first_store; i != f->end_store; i++) {
        const in_flight *e = &f->entries[f->stores[i & (TL_MAX_IN_FLIGHT - 1)]];
        for (uint32_t k = 0; k < e->size; k++) {
            const uintptr_t at = (uintptr_t)e->host + k - (uintptr_t)host;
            if (at < size_bytes)
                bytes[at] = (uint8_t)(e->value >> 8 * k);
        }
    }
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

// The youngest store that has any of the bytes mostly has all of them.
static TL_NOINLINE uint64_t read_stores(const flow *f, const uint8_t *host, uint32_t size_bytes) {
    for (uint32_t i = f->end_store; i != f->first_store; i--) {
        const in_flight *e = &f->entries[f->stores[(i - 1) & (TL_MAX_IN_FLIGHT - 1)]];
        const uintptr_t from = (uintptr_t)host - (uintptr_t)e->host, stored = e->size;
        if (from < stored && from + size_bytes <= stored)
            return e->value >> 8 * from & UINT64_MAX >> (64 - 8 * size_bytes);
        if (from < stored || -from < size_bytes)
            return merge_stores(f, host, size_bytes);
    }
    return bytes_at(host, size_bytes);
}

static uint64_t read_bytes(flow *f, const uint8_t *host, uint32_t size_bytes) {
    if (TL_UNLIKELY(*filter_of(f, host) | *filter_of(f, host + size_bytes - 1)))
        return read_stores(f, host, size_bytes);
    return bytes_at(host, size_bytes);
}

// ---- Decoding.

// The core counts look-ups of data as it makes them, and cycles as they pass.
static uint16_t count_set_of(flow *f, const tl_decoded *insn) {
    const uint32_t hints = (uint32_t)tl_is_link(insn->rd) | (uint32_t)tl_jalr_is_return(insn->rd, insn->rs1) << 1;
    const uint32_t index = (uint32_t)insn->opc << 3 | (uint32_t)(insn->len == 2) << 2 | hints;
    count_set *set = &f->count_sets[index];
    if (set->n != 0)
        return (uint16_t)index;
    tl_static_count counts[TL_MAX_STATIC];
    const uint32_t n = tl_insn_static(insn, counts);
    for (uint32_t i = 0; i < n; i++)
        if (counts[i].cell != TL_S_HART_CYC_ISSUE && counts[i].cell != TL_S_L1D_LOAD && counts[i].cell != TL_S_L1D_STORE &&
            counts[i].cell != TL_S_DTLB_ACCESS)
            set->counts[set->n++] = (count){.cell = counts[i].cell, .amount = (uint16_t)counts[i].amount};
    return (uint16_t)index;
}

static TL_NOINLINE void decode(flow *f, decoded *d, uint64_t pc, uint32_t bits) {
    tl_decoded insn;
    tl_decode(bits, &insn);
    *d = (decoded){.pc = pc, .bits = bits, .len = insn.len, .opc = insn.opc, .rd = insn.rd, .rs1 = insn.rs1};
    tl_op_from_decoded(&insn, &d->op);
    d->ends_run = tl_insn_ends_run(&insn);
    if (insn.opc == TL_OPC_ILLEGAL) {
        d->kind = KIND_ALONE;
        d->pipe.cls = TL_CLASS_SYSTEM;
        return;
    }
    tl_pipe_insn pipe;
    tl_insn_pipe(&insn, &pipe);
    d->pipe = (tl_flow_pipe){.cls = (uint8_t)pipe.cls, .size_bytes = pipe.size_bytes, .dest = pipe.dest};
    memcpy(d->pipe.src, pipe.src, sizeof d->pipe.src);
    d->is_fp = tl_insn_is_fp(&insn);
    d->is_marker = tl_insn_is_marker(&insn);
    d->is_special = d->is_fp || d->is_marker;
    d->is_call = (pipe.cls == TL_CLASS_JAL || pipe.cls == TL_CLASS_JALR) && tl_is_link(insn.rd);
    d->is_return = pipe.cls == TL_CLASS_JALR && tl_jalr_is_return(insn.rd, insn.rs1);
    switch (pipe.cls) {
    case TL_CLASS_LOAD:
    case TL_CLASS_FP_LOAD: d->kind = KIND_LOAD; break;
    case TL_CLASS_STORE:
    case TL_CLASS_FP_STORE: d->kind = KIND_STORE; break;
    case TL_CLASS_BRANCH: d->kind = KIND_BRANCH; break;
    case TL_CLASS_JAL: d->kind = KIND_JAL; break;
    case TL_CLASS_JALR: d->kind = KIND_JALR; break;
    case TL_CLASS_AMO:
    case TL_CLASS_LR:
    case TL_CLASS_SC:
    case TL_CLASS_CSR:
    case TL_CLASS_FENCE:
    case TL_CLASS_FENCE_I:
    case TL_CLASS_SYSTEM: d->kind = KIND_ALONE; break;
    default: d->kind = KIND_BODY; break;
    }
    bool is_shift = pipe.cls == TL_CLASS_BITMANIP;
    switch (insn.opc) {
    case TL_OPC_slli:
    case TL_OPC_srli:
    case TL_OPC_srai:
    case TL_OPC_slliw:
    case TL_OPC_srliw:
    case TL_OPC_sraiw:
    case TL_OPC_sll:
    case TL_OPC_srl:
    case TL_OPC_sra:
    case TL_OPC_sllw:
    case TL_OPC_srlw:
    case TL_OPC_sraw: is_shift = true; break;
    default: break;
    }
    d->timing = (uint8_t)((is_shift ? (uint32_t)TL_FLOW_SHIFT : (uint32_t)pipe.cls) + (pipe.size_bytes == 8 ? TL_FLOW_DOUBLE : 0));
    if (d->kind != KIND_ALONE) // others do not retire here
        d->count_set = count_set_of(f, &insn);
}

static const decoded *decoded_at(flow *f, uint64_t pc, uint32_t bits) {
    decoded *d = &f->decoded[pc >> 1 & (N_DECODED - 1)];
    if (TL_UNLIKELY(d->pc != pc || d->bits != bits || d->len == 0))
        decode(f, d, pc, bits);
    return d;
}

// ---- Fetch: the rules of model/engine.h, along the predicted path.

// A fetch that faults or must set a bit of a page table is no look-up ahead of time.
static bool look_up(tl_hart *h, uint64_t pc, uint64_t *ret_pline) {
    const uint64_t page_mask = ~((UINT64_C(1) << PAGE_BITS) - 1);
    if (!tl_fetch_slot_shows(tl_fetch_slot_of(h, pc), pc) && !find_page(h, pc & page_mask, TL_ACCESS_FETCH))
        return false;
    return tl_fetch_look_up(h, pc, ret_pline);
}

static uint32_t half_at(const tl_hart *h, uint64_t pline, uint64_t pc) { return tl_code_half(tl_code_at(h, pline + (pc & ~h->line_mask))); }

static bool fetch_bits(flow *f, uint64_t pc, uint32_t *ret_bits, bool *ret_is_first, bool *ret_straddles) {
    tl_hart *h = f->base.h;
    const bool is_first = f->run_vline == TL_NO_LINE || pc != f->next_pc;
    *ret_is_first = is_first;
    *ret_straddles = false;
    if (is_first) {
        f->run_vline = TL_NO_LINE;
        if (!look_up(h, pc, &f->run_pline))
            return false;
        h->tally[TL_S_HART_FETCH_RUN] += 1;
        f->run_vline = pc & h->line_mask;
    }
    uint32_t bits = half_at(h, f->run_pline, pc);
    if ((bits & 3) == 3) {
        *ret_straddles = tl_code_straddles(h, pc, f->run_pline);
        if (*ret_straddles) {
            uint64_t pline;
            if (!look_up(h, pc + 2, &pline)) {
                f->run_vline = TL_NO_LINE;
                return false;
            }
            f->run_vline = (pc + 2) & h->line_mask;
            f->run_pline = pline;
        }
        bits |= half_at(h, f->run_pline, pc + 2) << 16;
    }
    *ret_bits = bits;
    return true;
}

// As fetch_bits without a look-up. false: the page is not there, so a look-up must say why.
static bool read_traced(flow *f, uint64_t pc, uint32_t *ret_bits) {
    const page *slot = &f->pages[TL_ACCESS_FETCH][pc >> PAGE_BITS & (N_PAGES - 1)];
    const uint64_t offset = pc & ((UINT64_C(1) << PAGE_BITS) - 1);
    uint32_t word;
    if (TL_LIKELY(slot->vpage == pc - offset && slot->generation == f->generation && offset <= (UINT64_C(1) << PAGE_BITS) - sizeof word)) {
        memcpy(&word, slot->host + offset, sizeof word);
        *ret_bits = (word & 3) == 3 ? word : word & 0xffff;
        return true;
    }
    uint16_t halves[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        const uint8_t *host = reach(f, pc + 2 * i, sizeof halves[i], TL_ACCESS_FETCH);
        if (!host)
            return false;
        memcpy(&halves[i], host, sizeof halves[i]);
        if ((halves[0] & 3) != 3)
            break;
    }
    *ret_bits = halves[0] | (uint32_t)halves[1] << 16;
    return true;
}

static bool is_run_over(const flow *f, const decoded *d, uint64_t next_pc) {
    const tl_hart *h = f->base.h;
    if (d->ends_run || (next_pc & h->line_mask) != f->run_vline)
        return true;
    return tl_code_straddles(h, next_pc, f->run_pline);
}

static uint64_t extend(const decoded *d, uint64_t value) {
    switch (d->opc) {
    case TL_OPC_lb: return (uint64_t)(int64_t)(int8_t)value;
    case TL_OPC_lh: return (uint64_t)(int64_t)(int16_t)value;
    case TL_OPC_lw: return (uint64_t)(int64_t)(int32_t)value;
    case TL_OPC_flw: return value | UINT64_C(0xffffffff00000000);
    default: return value;
    }
}

static uint64_t *register_of(tl_rv_hart *rv, uint8_t dest) { return dest < 32 ? &rv->x[dest] : &rv->f[dest - 32]; }

static uint64_t paddr_of(const tl_hart *h, const uint8_t *host) { return (uintptr_t)host - (uintptr_t)h->ram + TL_RAM_BASE_PADDR; }

// Fills what depends on values: next_pc, addresses, is_taken, is_redone.
TL_ALWAYS_INLINE void execute(flow *f, const decoded *d, in_flight *e, uint32_t entry, tl_flow_insn *insn) {
    tl_hart *h = f->base.h;
    tl_rv_hart *rv = tl_rv(h);
    const uint64_t pc = insn->pc, after = pc + d->len;
    const uint64_t vaddr = rv->x[d->op.rs1] + (uint64_t)(int64_t)d->op.imm;
    insn->next_pc = after;
    switch ((kind)d->kind) {
    case KIND_LOAD: {
        insn->vaddr = vaddr;
        const uint8_t *host = reach(f, vaddr, d->pipe.size_bytes, TL_ACCESS_LOAD);
        insn->is_redone = host == NULL;
        insn->paddr = paddr_of(h, host);
        const uint64_t value = host ? extend(d, read_bytes(f, host, d->pipe.size_bytes)) : 0;
        if (d->pipe.cls == TL_CLASS_LOAD)
            rv->x[d->op.rd] = value;
        else
            rv->f[d->op.rd] = value;
        break;
    }
    case KIND_STORE: {
        insn->vaddr = vaddr;
        uint8_t *host = reach(f, vaddr, d->pipe.size_bytes, TL_ACCESS_STORE);
        insn->is_redone = host == NULL;
        if (!host)
            break;
        insn->paddr = paddr_of(h, host);
        e->host = host;
        e->vaddr = vaddr;
        e->size = d->pipe.size_bytes;
        e->value = d->pipe.cls == TL_CLASS_STORE ? rv->x[d->op.rs2] : rv->f[d->op.rs2];
        f->stores[f->end_store++ & (TL_MAX_IN_FLIGHT - 1)] = (uint16_t)entry;
        note_store(f, host, d->pipe.size_bytes, 1);
        break;
    }
    case KIND_BRANCH:
        insn->is_taken = e->is_taken = tl_taken[d->opc](h, &d->op);
        insn->target = pc + (uint64_t)(int64_t)d->op.imm;
        insn->next_pc = insn->is_taken ? insn->target : after;
        break;
    case KIND_JAL:
        insn->next_pc = insn->target = pc + (uint64_t)(int64_t)d->op.imm;
        rv->x[d->op.rd] = after;
        break;
    case KIND_JALR:
        insn->next_pc = vaddr & ~UINT64_C(1);
        rv->x[d->op.rd] = after;
        break;
    default:
        insn->is_redone = !tl_exec_full[d->opc](h, &d->op, pc);
        if (d->is_fp)
            tl_fp_harvest(h);
        break;
    }
}

static bool must_be_alone(const tl_hart *h, const decoded *d) {
    return (d->is_marker && h->mark) || (h->is_privileged && h->is_fp_off && d->is_fp);
}

static tl_flow_result fetch(tl_flow *base, uint32_t entry, uint64_t pc, tl_flow_insn *ret_insn) {
    flow *f = flow_of(base);
    tl_hart *h = base->h;
    in_flight *e = &f->entries[entry];
    uint32_t bits;
    bool is_first = false, straddles = false;
    *ret_insn = (tl_flow_insn){.pc = pc, .pipe = {.cls = TL_CLASS_SYSTEM}};
    f->alone_rs1 = TL_NO_REG;
    const bool is_traced = base->is_traced;
    if (is_traced) {
        if (TL_UNLIKELY(!read_traced(f, pc, &bits)))
            return TL_FLOW_UNTRACED;
        f->run_vline = TL_NO_LINE;
    } else if (!fetch_bits(f, pc, &bits, &is_first, &straddles)) {
        f->next_pc = pc;
        e->bits = 0;
        return TL_FLOW_ALONE;
    }
    const decoded *d = decoded_at(f, pc, bits);
    ret_insn->pipe = d->pipe;
    ret_insn->len = d->len;
    ret_insn->timing = d->timing;
    e->bits = bits;
    if (d->kind == KIND_ALONE || (TL_UNLIKELY(d->is_special) && must_be_alone(h, d))) {
        f->next_pc = pc;
        if (d->pipe.cls == TL_CLASS_AMO || d->pipe.cls == TL_CLASS_SC)
            f->alone_rs1 = d->rs1;
        if (straddles)
            f->run_vline = TL_NO_LINE; // looked up again
        return TL_FLOW_ALONE;
    }
    if (!is_traced)
        tl_fetch_count_groups(h, pc, pc + d->len, is_first);
    tl_rv_hart *rv = tl_rv(h);
    ret_insn->is_call = d->is_call;
    ret_insn->is_return = d->is_return;
    e->host = NULL;
    e->is_taken = false;
    e->count_set = d->count_set;
    e->dest = d->pipe.dest;
    e->fflags = rv->fflags;
    if (d->pipe.dest != TL_NO_REG)
        e->old = *register_of(rv, d->pipe.dest);
    execute(f, d, e, entry, ret_insn);
    f->next_pc = pc + d->len;
    if (!is_traced && is_run_over(f, d, f->next_pc))
        f->run_vline = TL_NO_LINE;
    return TL_FLOW_EXECUTED;
}

static void take_back(tl_flow *base, uint32_t entry) {
    flow *f = flow_of(base);
    const in_flight *e = &f->entries[entry];
    tl_rv_hart *rv = tl_rv(base->h);
    if (e->dest != TL_NO_REG)
        *register_of(rv, e->dest) = e->old;
    rv->fflags = e->fflags;
    if (e->host) {
        note_store(f, e->host, e->size, -1);
        f->end_store -= 1;
    }
    f->run_vline = TL_NO_LINE;
}

static void retire(tl_flow *base, uint32_t entry) {
    flow *f = flow_of(base);
    tl_hart *h = base->h;
    const in_flight *e = &f->entries[entry];
    const count_set *set = &f->count_sets[e->count_set];
    if (e->host) {
        set_bytes(e->host, e->size, e->value);
        note_store(f, e->host, e->size, -1);
        f->first_store += 1;
    }
    for (uint32_t i = 0; i < set->n; i++)
        h->tally[set->counts[i].cell] += set->counts[i].amount;
    h->tally[TL_S_HART_BRANCH_TAKEN] += e->is_taken;
}

static uint32_t bits_of(tl_flow *base, uint32_t entry) { return flow_of(base)->entries[entry].bits; }

// ---- Alone.

static bool alone(tl_flow *base, tl_stop *ret_stop) {
    flow *f = flow_of(base);
    tl_hart *h = base->h;
    const bool is_in_run = f->run_vline != TL_NO_LINE && f->next_pc == h->pc;
    h->run_vline = is_in_run ? f->run_vline : TL_NO_LINE;
    h->run_pline = f->run_pline;
    const uint8_t *written = f->alone_rs1 == TL_NO_REG ? NULL : reach(f, tl_rv(h)->x[f->alone_rs1], 1, TL_ACCESS_STORE);
    base->alone_paddr = written ? paddr_of(h, written) : UINT64_MAX;
    f->alone_rs1 = TL_NO_REG;
    h->pend = NULL;
    tl_pend_table_trim(f->pends);
    const uint64_t n_failed = h->tally[TL_S_HART_SC_FAIL];
    const tl_step result = tl_step_one(h, f->pends);
    if (h->tally[TL_S_HART_SC_FAIL] != n_failed)
        base->alone_paddr = UINT64_MAX;
    h->pend = NULL;
    tl_fp_harvest(h); // what is taken back later must not take these flags along
    h->run_vline = f->run_vline = TL_NO_LINE;
    if (h->is_privileged)
        f->generation += 1;
    if (result == TL_STEP_RETIRED)
        return true;
    *ret_stop = tl_step_stop(result);
    return false;
}

// ---- Between runs.

static void swap64(uint64_t *a, uint64_t *b) {
    const uint64_t value = *a;
    *a = *b;
    *b = value;
}

static void swap(flow *f, uint32_t entry) {
    tl_rv_hart *rv = tl_rv(f->base.h);
    in_flight *e = &f->entries[entry];
    if (e->dest != TL_NO_REG)
        swap64(register_of(rv, e->dest), &e->old);
    const uint8_t fflags = rv->fflags;
    rv->fflags = e->fflags;
    e->fflags = fflags;
}

static void read_registers(const tl_hart *h, registers *ret) {
    const tl_rv_hart *rv = tl_rv(h);
    memset(ret, 0, sizeof *ret);
    ret->pc = h->pc;
    ret->context = h->context;
    ret->mstatus = rv->csr.mstatus;
    ret->code_generation = h->code_generation;
    ret->pmp_generation = rv->csr.pmp_generation;
    ret->priv = h->priv;
    ret->frm = rv->frm;
    ret->fflags = rv->fflags;
    memcpy(ret->x, rv->x, sizeof ret->x);
    memcpy(ret->f, rv->f, sizeof ret->f);
}

static void suspend(tl_flow *base, uint64_t first, uint32_t n, uint32_t ring_mask) {
    flow *f = flow_of(base);
    for (uint32_t i = n; i-- > 0;)
        swap(f, (uint32_t)(first + i) & ring_mask);
    read_registers(base->h, &f->suspended);
}

// A store in flight would not reach its page any more, because another hart changed the mapping.
static bool has_lost_page(flow *f) {
    for (uint32_t i = f->first_store; i != f->end_store; i++) {
        const in_flight *e = &f->entries[f->stores[i & (TL_MAX_IN_FLIGHT - 1)]];
        if (reach(f, e->vaddr, e->size, TL_ACCESS_STORE) != e->host)
            return true;
    }
    return false;
}

static void forget(tl_flow *base) {
    flow *f = flow_of(base);
    f->generation += 1; // pages may have changed
    f->end_store = f->first_store;
    memset(f->filter, 0, sizeof f->filter);
    f->run_vline = TL_NO_LINE;
}

static bool resume(tl_flow *base, uint64_t first, uint32_t n, uint32_t ring_mask) {
    flow *f = flow_of(base);
    registers now;
    read_registers(base->h, &now);
    f->generation += 1; // pages may have changed
    if (memcmp(&now, &f->suspended, sizeof now) != 0 || has_lost_page(f)) {
        forget(base);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        swap(f, (uint32_t)(first + i) & ring_mask);
    return true;
}

static void enter(tl_flow *base) {
    base->h->host_phase = TL_HOST_STEPPING;
    tl_fp_enter(base->h, &flow_of(base)->host_fp);
}

static void leave(tl_flow *base) {
    base->h->host_phase = TL_HOST_ELSEWHERE;
    tl_fp_leave(base->h, &flow_of(base)->host_fp);
}

static void follow(tl_flow *base, tl_flow *before) {
    flow *f = flow_of(base), *last = flow_of(before);
    if (tl_rv(base->h)->frm != tl_rv(before->h)->frm) {
        leave(before);
        enter(base);
        return;
    }
    f->host_fp = last->host_fp; // flags are harvested at once, so the host has none
    before->h->host_phase = TL_HOST_ELSEWHERE;
    base->h->host_phase = TL_HOST_STEPPING;
}

tl_status tl_flow_new(tl_hart *h, tl_arena *arena, tl_flow **ret_flow, tl_error *err) {
    flow *f = tl_arena_alloc(arena, sizeof *f);
    if (!f || !(f->pends = tl_pend_table_new(arena)))
        return tl_fail(err, TL_ENOMEM, "no memory for the instructions in flight of hart%u", h->id);
    f->base = (tl_flow){.h = h,
                        .fetch = fetch,
                        .take_back = take_back,
                        .retire = retire,
                        .bits = bits_of,
                        .alone = alone,
                        .suspend = suspend,
                        .resume = resume,
                        .forget = forget,
                        .enter = enter,
                        .leave = leave,
                        .follow = follow};
    f->run_vline = TL_NO_LINE;
    f->generation = 1;
    *ret_flow = &f->base;
    return TL_OK;
}

void tl_flow_free(tl_flow *base) {
    if (base)
        tl_pend_table_done(flow_of(base)->pends);
}
