// SPDX-License-Identifier: MIT
// A front-end: who executes. All front-ends work on the same tl_hart, obey the same rules
// (docs/model.md) and must agree on state and on every tally; tests/contract runs them in lockstep.
//
// Fetch runs. Instructions are fetched in runs. A run begins with one look-up of its first
// instruction's line in ITLB and L1I (tl_mem_port.fetch or a fetch-slot hit). It ends after a
// control transfer (branch taken or not, JAL, JALR), after a serializing instruction (CSR access,
// FENCE.I, SFENCE.VMA, ECALL, EBREAK, xRET, WFI), after any trap, and where the next instruction
// begins in another line. An instruction that straddles two lines begins a run of its own: the
// first line is looked up, then the second, and the run goes on in the second line. Time slices and
// h->horizon are checked between runs only; h->insn_limit is exact.
#ifndef TL_MODEL_ENGINE_H
#define TL_MODEL_ENGINE_H

#include "base/arena.h"
#include "base/status.h"
#include "model/hart.h"

typedef enum tl_stop {
    // h->now >= h->horizon at the end of a fetch run, or >= h->access_until where the next one may
    // access data.
    TL_STOP_HORIZON,
    TL_STOP_LIMIT, // h->instret == h->insn_limit
    // h->trap_cause, h->trap_value; h->pc is the instruction that trapped; it did not retire.
    TL_STOP_TRAP,
    TL_STOP_BREAK, // h->pc is one of h->break_pc
    // h->pc is an access of a line that other harts use; they come first, and nothing of it has
    // happened.
    TL_STOP_WAIT,
} tl_stop;

struct tl_tap;
struct tl_clock_tap;
typedef struct tl_engine_type {
    // "interp", "threaded code over decoded fetch runs".
    const char *name, *title;
    // Fills h->engine_state.
    TL_MUST_CHECK tl_status (*attach)(tl_hart *h, tl_arena *arena, tl_error *err);
    void (*detach)(tl_hart *h);
    const struct tl_isa *isa; // that it executes
    tl_stop (*run)(tl_hart *h);
    // Runs harts of a machine cycle by cycle, the one that is furthest behind first, until one
    // stops: *ret_hart. Bit k of `running`: hart k has something to run. Bit k of `group`: hart k
    // may run now, up to its horizon and its insn_limit. All of the group retire *n_insns at most,
    // and *n_insns goes down with them. NULL: harts run in turns.
    tl_stop (*run_group)(tl_hart *const *harts, uint32_t n_harts, uint32_t running, uint32_t group, uint64_t *n_insns, tl_hart **ret_hart);
    // Folds everything held back into h->tally, exact within a CSR instruction, too. Idempotent.
    void (*sync)(tl_hart *h);
    // Checks what must hold between synced tallies of the engine's own. NULL: it has none.
    tl_status (*check)(const tl_hart *h, tl_error *err);
    // Between two runs, another engine takes the hart over from this one, which drains what it has
    // in flight; or gives it back after n_insns instructions, between two fetch runs. NULL: there
    // is nothing to do.
    void (*hand_over)(tl_hart *h);
    void (*take_over)(tl_hart *h, uint64_t n_insns);
    // Attaches a tap for cycle records between two runs; NULL: detaches (model/tap.h). NULL: the
    // engine has no such records.
    tl_status (*tap)(tl_hart *h, struct tl_tap *tap, tl_error *err);
    // Attaches a tap for clocks at any time; NULL: detaches. NULL: the engine has no clocks.
    tl_status (*clock_tap)(tl_hart *h, struct tl_clock_tap *tap, tl_error *err);
    // All that the engine keeps of the hart stands in the machine's arena. NULL: never.
    bool (*is_in_arena)(const tl_hart *h);
    // The arena is about to get older contents: frees what came to stand elsewhere since. NULL:
    // nothing does.
    void (*drop_rest)(tl_hart *h);
    // How many cycles a run may go beyond its horizon when no access takes a slow path.
    uint64_t (*overshoot_cycles)(const tl_hart *h);
} tl_engine_type;

extern const tl_engine_type tl_engine_interp, tl_engine_step; // on every host
// For machines with core.kind = out_of_order.
extern const tl_engine_type tl_engine_ooo;
#if defined(__x86_64__) && defined(__linux__)
#define TL_HAS_TRANSLATOR
extern const tl_engine_type tl_engine_translate;
#endif

// Common arithmetic of the clock, called by `sync`: writes cycle, cycle_*, idle_cycle, instret*.
// The ISA counts the static share of a retired instruction (tl_insn_static in isa/rv/insn.h).
void tl_hart_sync_clock(tl_hart *h);

#endif
