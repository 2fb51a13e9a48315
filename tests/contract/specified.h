// SPDX-License-Identifier: MIT
// The length for which a random program that changes its code is specified (docs/engine.md, "Code
// that changes"). The stepping engine checks each fetch. A hart may fetch the old or the new bytes
// of a halfword that any hart stored to since its own last FENCE.I. The first such fetch ends the
// specified part. The fetch may be part of an instruction. It may stand behind the last instruction
// of a line, where it decides whether the run ends. The system under the program announces its own
// writes.
#ifndef TL_TESTS_SPECIFIED_H
#define TL_TESTS_SPECIFIED_H

#include <stdlib.h>
#include <string.h>

#include "engines.h"
#include "isa/rv/insn.h"
#include "machine/machine.h"

static struct {
    const tl_machine *machine;
    uint32_t *stored; // for each halfword of RAM: when it was stored to last, 0: never
    uint64_t n_halves;
    uint32_t now, fenced[TL_MAX_HARTS];
    uint64_t n_specified; // instructions of all harts before the first one that is not
} watch;

static inline bool watch_start(const tl_machine *machine, uint64_t ram_bytes) {
    memset(&watch, 0, sizeof watch);
    watch.machine = machine;
    watch.n_halves = ram_bytes / 2;
    watch.stored = calloc(watch.n_halves, sizeof *watch.stored);
    watch.n_specified = UINT64_MAX;
    return watch.stored != NULL;
}

static inline void watch_end(void) { free(watch.stored); }

// 0: not mapped. The page tables say so, not the TLBs.
static inline uint64_t walk(const tl_hart *h, uint64_t vaddr, tl_priv priv) {
    uint64_t mode = h->context >> 60, table = (h->context & ((UINT64_C(1) << 44) - 1)) << 12;
    if (mode == 0 || priv == TL_PRIV_M)
        return vaddr;
    for (int level = mode == 9 ? 3 : 2; level >= 0; level--) {
        uint64_t pte, offset = table - TL_RAM_BASE_PADDR;
        if (offset >= 2 * watch.n_halves)
            return 0;
        memcpy(&pte, h->ram + offset + (vaddr >> (12 + 9 * level) & 511) * 8, sizeof pte);
        if (!(pte & 1))
            return 0;
        table = (pte >> 10 & ((UINT64_C(1) << 44) - 1)) << 12;
        if (pte & 0xe) {
            uint64_t mask = (UINT64_C(4096) << 9 * level) - 1;
            return (table & ~mask) | (vaddr & mask);
        }
    }
    return 0;
}

static inline uint32_t *mark_of(uint64_t paddr) {
    uint64_t half = (paddr - TL_RAM_BASE_PADDR) / 2;
    return half < watch.n_halves ? &watch.stored[half] : NULL;
}

// Checks an instruction that has just been executed.
static inline uint64_t fetched_at(tl_hart *h, uint64_t vaddr) {
    const tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    return tl_fetch_slot_shows(slot, vaddr) ? tl_fetch_slot_paddr(slot, vaddr) : walk(h, vaddr, h->priv);
}

static inline bool is_unsure(const tl_hart *h, uint64_t paddr) {
    const uint32_t *mark = mark_of(paddr);
    return mark && *mark > watch.fenced[h->id];
}

static inline uint32_t half_at(const tl_hart *h, uint64_t vaddr) {
    uint64_t offset = walk(h, vaddr, h->priv) - TL_RAM_BASE_PADDR;
    return offset + 1 < 2 * watch.n_halves ? (uint32_t)h->ram[offset] | (uint32_t)h->ram[offset + 1] << 8 : 0;
}

static inline void note_stores(const tl_hart *h, uint64_t vaddr, uint32_t n_bytes) {
    bool is_disguised = h->priv == TL_PRIV_M && (tl_rv(h)->csr.mstatus & TL_MSTATUS_MPRV);
    tl_priv priv = is_disguised ? (tl_priv)(tl_rv(h)->csr.mstatus >> 11 & 3) : h->priv;
    watch.now++;
    for (uint64_t at = vaddr & ~UINT64_C(1); at < vaddr + n_bytes; at += 2) {
        uint32_t *mark = mark_of(walk(h, at, priv));
        if (mark)
            *mark = watch.now;
    }
}

// A system call of the modeled kernel, which stands for FENCE.I: of all harts, or of the caller's.
static inline void note_call(const tl_hart *h) {
    enum { RISCV_FLUSH_ICACHE = 259, LOCAL = 1 };
    if (h->is_privileged || h->trap_cause != TL_CAUSE_ECALL_U || tl_rv(h)->x[17] != RISCV_FLUSH_ICACHE || tl_rv(h)->x[12] > LOCAL)
        return;
    watch.now++;
    for (uint32_t i = 0; i < watch.machine->n_harts; i++)
        if (tl_rv(h)->x[12] != LOCAL || i == h->id)
            watch.fenced[i] = watch.now;
}

static inline uint64_t total_instret(void) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < watch.machine->n_harts; i++)
        n += watch.machine->harts[i]->instret;
    return n;
}

static inline void watched_step(tl_hart *h, tl_stop *ret_stop) {
    uint64_t pc = h->pc, before = h->instret, n_before = total_instret();
    uint32_t bits = half_at(h, pc);
    bool is_long = (bits & 3) == 3;
    tl_decoded insn;
    tl_decode(is_long ? bits | half_at(h, pc + 2) << 16 : bits, &insn);
    uint32_t cls = insn.opc == TL_OPC_ILLEGAL ? TL_CLASS_ALU : tl_insn_rows[insn.opc].cls;
    bool is_store = cls == TL_CLASS_STORE || cls == TL_CLASS_FP_STORE;
    uint64_t address = tl_rv(h)->x[insn.rs1] + (is_store ? (uint64_t)(int64_t)insn.imm : 0);
    *ret_stop = tl_engine_step.run(h);
    bool has_retired = h->instret != before;
    if (!has_retired && *ret_stop != TL_STOP_TRAP)
        return;
    bool was_unsure = is_unsure(h, fetched_at(h, pc)) || (is_long && is_unsure(h, fetched_at(h, pc + 2)));
    bool is_near = has_retired && (h->pc & h->line_mask) == (pc & h->line_mask), is_at_end = (h->pc & ~h->line_mask) == ~h->line_mask - 1;
    if (has_retired && (is_store || cls == TL_CLASS_AMO || cls == TL_CLASS_SC))
        note_stores(h, address, tl_insn_rows[insn.opc].size_bytes);
    if (has_retired && cls == TL_CLASS_FENCE_I)
        watch.fenced[h->id] = ++watch.now;
    if (is_near && is_at_end)
        was_unsure |= is_unsure(h, fetched_at(h, h->pc));
    if (was_unsure && n_before < watch.n_specified)
        watch.n_specified = n_before;
    if (*ret_stop == TL_STOP_TRAP)
        note_call(h);
}

static tl_stop watched_run(tl_hart *h) {
    uint64_t limit = h->insn_limit;
    for (;;) {
        tl_stop stop;
        h->insn_limit = h->instret < limit ? h->instret + 1 : limit;
        watched_step(h, &stop);
        if (h->insn_limit == 0) // an interrupt is to be taken here
            return stop;
        h->insn_limit = limit;
        if (stop != TL_STOP_LIMIT || h->instret >= limit)
            return stop;
    }
}

static tl_status watched_attach(tl_hart *h, tl_arena *arena, tl_error *err) { return tl_engine_step.attach(h, arena, err); }
static void watched_detach(tl_hart *h) { tl_engine_step.detach(h); }
static void watched_sync(tl_hart *h) { tl_engine_step.sync(h); }
static uint64_t watched_overshoot_cycles(const tl_hart *h) { return tl_engine_step.overshoot_cycles(h); }
static const tl_engine_type watched_core = {.name = "watched",
                                            .title = "step, with a look at each fetch",
                                            .attach = watched_attach,
                                            .detach = watched_detach,
                                            .isa = &tl_isa_rv64,
                                            .run = watched_run,
                                            .sync = watched_sync,
                                            .overshoot_cycles = watched_overshoot_cycles};
static const fast_engine watched_engine = {"watched", &watched_core, 0, 0};

#endif
