// SPDX-License-Identifier: MIT
// Turns of harts, folding, and conservation identities of harts; see machine.h. assemble.c builds
// the machine.
#include "machine/machine.h"

#include <inttypes.h>

#include "model/attribution.h"
#include "model/bpred_reset.h"
#include "model/isa.h"

static const tl_engine_type *running_engine(const tl_machine *machine) {
    return machine->is_forwarding ? machine->forwarder : machine->engine;
}

void tl_machine_sync(tl_machine *machine) {
    for (uint32_t i = 0; i < machine->n_harts; i++)
        running_engine(machine)->sync(machine->harts[i]);
}

// Programs in address spaces of their own share files and mapped memory at most. A kernel is in all
// of them.
static uint64_t most_ahead(const tl_machine *machine, const tl_hart *h, uint32_t candidates) {
    const uint64_t most = machine->config.interleave_cycles;
    bool is_apart = most > 1 && !h->is_privileged;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        is_apart &= !(candidates >> i & 1) || i == h->id || machine->harts[i]->context != h->context;
    return is_apart ? TL_TIMES_APART * most : most;
}

// Harts that had a close contact lately will have another one, perhaps about an uncontested line.
// The time since then bounds the distance of their clocks (docs/model.md 1.4).
static uint64_t lead_of(const tl_machine *machine, const tl_hart *h, uint64_t most) {
    enum { PEACE_LOG2 = 26, LONGEST_PEACE = 1 << 30 };
    const uint64_t least = h->shared_cycle == 0 ? machine->config.interleave_cycles : 1;
    const uint64_t peace = h->now > h->shared_cycle ? tl_lesser(h->now - h->shared_cycle, LONGEST_PEACE) : 0;
    const uint64_t lead = peace * peace >> PEACE_LOG2;
    return lead < least ? least : tl_lesser(lead, most);
}

static void begin_epoch(tl_hart *h) {
    if (h->now - h->epoch_cycle < TL_EPOCH_CYCLES)
        return;
    h->epoch_cycle = h->now;
    h->epoch_stamp = h->stamp;
}

// Of two harts at one cycle, the hart with the lower id comes first.
static bool is_before(const tl_hart *a, const tl_hart *b) { return a->now < b->now || (a->now == b->now && a->id < b->id); }

// Harts of a core have one order of uses. A detailed core keeps it by itself.
static void join_stamps(const tl_machine *machine, tl_hart *h) {
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        const tl_hart *other = machine->harts[i];
        if (other->core_leader == h->core_leader && other->stamp > h->stamp)
            h->stamp = other->stamp;
    }
}

tl_turn tl_machine_next(tl_machine *machine, uint32_t candidates) {
    tl_hart *first = NULL, *second = NULL;
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        tl_hart *h = machine->harts[i];
        if (!(candidates >> i & 1))
            continue;
        if (!first || is_before(h, first)) {
            second = first;
            first = h;
        } else if (!second || is_before(h, second)) {
            second = h;
        }
    }
    tl_turn turn = {.hart = first, .first_until = UINT64_MAX, .access_until = UINT64_MAX, .end = UINT64_MAX};
    if (machine->is_forwarding && first)
        join_stamps(machine, first);
    if (second) {
        begin_epoch(first);
        // The hart is further behind then, so the cycle is not 0.
        turn.first_until = second->now - (first->id > second->id);
        const uint64_t most = most_ahead(machine, first, candidates), lead = lead_of(machine, first, most);
        // With a lead of 1, the order of runs is that of clocks and numbers.
        turn.access_until = lead == 1 ? turn.first_until + 1 : second->now + lead;
        turn.end = second->now + most;
    }
    return turn;
}

tl_stop tl_turn_run(tl_turn *turn) {
    tl_hart *h = turn->hart;
    h->first_until = turn->first_until;
    h->access_until = turn->access_until;
    if (TL_UNLIKELY(h->attribution != NULL))
        tl_attribution_begin(h);
    tl_stop stop = h->engine->run(h);
    if (TL_UNLIKELY(h->attribution != NULL))
        tl_attribution_end(h);
    h->first_until = h->access_until = UINT64_MAX;
    if (stop == TL_STOP_WAIT || (stop == TL_STOP_HORIZON && h->now >= turn->access_until && h->now < h->horizon))
        turn->hart = NULL;
    return stop;
}

static uint64_t horizon_of(const tl_turns *turns, const tl_hart *h) {
    uint64_t until = turns->until[h->id];
    return turns->next_event ? tl_lesser(until, *turns->next_event) : until;
}

// Runs one turn, or the rest of it, up to the deadline of each PMU.
static tl_stop run_turn(tl_turns *turns, tl_turn *turn) {
    tl_hart *h = turn->hart;
    uint64_t before = h->instret;
    h->horizon = tl_lesser(turn->end, horizon_of(turns, h));
    h->insn_limit = turns->n_insns < UINT64_MAX - before ? before + turns->n_insns : UINT64_MAX;
    if (turns->now)
        *turns->now = h->now;
    if (tl_hart_is_watched(h))
        tl_hart_limit_to_deadline(h, &h->insn_limit);
    else
        h->has_deadline = false;
    tl_stop stop = tl_turn_run(turn);
    turns->n_insns -= h->instret - before;
    return stop;
}

// Whether an interrupt is due. Under a personality every pending one is its business.
static bool is_interrupted(const tl_hart *h) {
    tl_irq irq;
    return tl_hart_pending(h) != 0 && (!h->is_privileged || h->isa->next_interrupt(h, &irq));
}

static bool is_ready(const tl_turns *turns, const tl_hart *h) {
    return ((turns->steady | turns->attended) >> h->id & 1) && h->now < horizon_of(turns, h) && !is_interrupted(h);
}

// The turn of a group: all harts that are ready, up to the clock of the first one that is not.
static tl_stop run_group(tl_machine *machine, tl_turns *turns, tl_turn *turn, tl_hart **ret_hart) {
    uint32_t group = 1u << turn->hart->id;
    uint64_t until = UINT64_MAX;
    for (uint32_t left = turns->running; left != 0; left &= left - 1) {
        tl_hart *h = machine->harts[__builtin_ctz(left)];
        if (h == turn->hart || is_ready(turns, h)) {
            group |= 1u << h->id;
        } else if (h->now <= turn->hart->now) { // its turn comes before anybody runs
            *ret_hart = turn->hart = h;
            return TL_STOP_HORIZON;
        } else {
            until = tl_lesser(until, h->now);
        }
    }
    for (uint32_t left = group; left != 0; left &= left - 1) {
        tl_hart *h = machine->harts[__builtin_ctz(left)];
        h->horizon = tl_lesser(until, horizon_of(turns, h));
        h->insn_limit = UINT64_MAX;
        if (h->n_pmus > 0)
            tl_hart_limit_to_deadline(h, &h->insn_limit);
    }
    if (turns->now)
        *turns->now = turn->hart->now;
    const tl_stop stop = machine->engine->run_group(machine->harts, machine->n_harts, turns->running, group, &turns->n_insns, ret_hart);
    turns->attended = 0;
    *turn = (tl_turn){.first_until = UINT64_MAX, .access_until = UINT64_MAX, .end = UINT64_MAX};
    for (uint32_t left = turns->running & ~(1u << (*ret_hart)->id); left != 0; left &= left - 1)
        turn->first_until = tl_lesser(turn->first_until, machine->harts[__builtin_ctz(left)]->now);
    return stop;
}

tl_stop tl_machine_run_turns(tl_machine *machine, tl_turns *turns, tl_turn *turn, tl_hart **ret_hart) {
    enum { MOST_TURNS = 2000 }; // so that the caller is asked now and then
    if (running_engine(machine)->run_group)
        return run_group(machine, turns, turn, ret_hart);
    for (uint32_t n = 1;; n++) {
        tl_hart *h = *ret_hart = turn->hart;
        tl_stop stop = run_turn(turns, turn);
        if (turn->hart && h->now >= turn->end && h->run_vline == TL_NO_LINE)
            turn->hart = NULL;
        // Set by tl_hart_stop_soon.
        bool is_asked = h->horizon == 0 || (turns->has_changed && *turns->has_changed);
        if (turn->hart || stop == TL_STOP_TRAP || stop == TL_STOP_BREAK || is_asked || n == MOST_TURNS || turns->n_insns == 0)
            return stop;
        if (tl_hart_is_watched(h) && tl_hart_poll(h))
            return stop;
        tl_turn next = tl_machine_next(machine, turns->running);
        tl_hart *other = next.hart;
        if (!(turns->steady >> other->id & 1) || other->now >= horizon_of(turns, other) || tl_hart_pending(other) != 0)
            return stop;
        *turn = next;
    }
}

void tl_machine_settle(tl_machine *machine, uint32_t running, uint64_t cycle) {
    for (uint32_t i = 0; i < machine->n_harts; i++)
        if (!(running >> i & 1))
            tl_hart_idle_until(machine->harts[i], cycle);
}

void tl_machine_flush(tl_machine *machine, uint64_t now_cycles) {
    tl_memory_flush(machine->memory, now_cycles);
    for (uint32_t i = 0; i < machine->n_harts; i++)
        tl_bpred_reset(&machine->harts[i]->bp);
}

uint64_t tl_machine_flush_cycles(const tl_config *config) { return tl_memory_flush_cycles(config); }

uint64_t tl_machine_now_cycles(const tl_machine *machine) {
    uint64_t now = 0;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        now = machine->harts[i]->now > now ? machine->harts[i]->now : now;
    return now;
}

uint64_t tl_machine_sum(const tl_machine *machine, enum tl_hart_cell cell) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        sum += machine->harts[i]->tally[cell];
    return sum;
}

static uint64_t sum_range(const tl_hart *h, uint32_t first, uint32_t end) {
    uint64_t sum = 0;
    for (uint32_t cell = first; cell < end; cell++)
        sum += h->tally[cell];
    return sum;
}

// Identities that concern one hart; those of the memory system are its own (model/mem.h).
static tl_status check_hart(const tl_hart *h, tl_error *err) {
    const uint64_t *t = h->tally;
    const bool is_scalar = h->config->core.kind == TL_CORE_IN_ORDER;
    struct {
        const char *what;
        uint64_t left, right;
    } equal[] = {
        {"cyc_issue equals instret on a scalar core", t[TL_S_HART_CYC_ISSUE], is_scalar ? t[TL_S_HART_INSTRET] : t[TL_S_HART_CYC_ISSUE]},
        {"instructions by class sum to instret", sum_range(h, TL_S_HART_INSN_ALU, TL_S_HART_INSN_SYSTEM + 1), t[TL_S_HART_INSTRET]},
        {"the CPI stack sums to cycle", sum_range(h, TL_S_HART_CYC_ISSUE, TL_S_HART_CYC_MMIO + 1), t[TL_S_HART_CYCLE]},
        {"cycles by privilege sum to cycle", sum_range(h, TL_S_HART_CYCLE_U, TL_S_HART_CYCLE_M + 1), t[TL_S_HART_CYCLE]},
        {"instructions by privilege sum to instret", sum_range(h, TL_S_HART_INSTRET_U, TL_S_HART_INSTRET_M + 1), t[TL_S_HART_INSTRET]},
        {"exceptions by cause sum to exception", sum_range(h, TL_S_HART_EXC_ECALL, TL_S_HART_EXC_MISALIGNED + 1), t[TL_S_HART_EXCEPTION]},
        {"bp.cond equals insn_branch", t[TL_S_BP_COND], t[TL_S_HART_INSN_BRANCH]},
        {"bp.indirect + bp.return equals insn_jalr", t[TL_S_BP_INDIRECT] + t[TL_S_BP_RETURN], t[TL_S_HART_INSN_JALR]},
        {"bp.indirect_miss + bp.return_miss equals bp.target_miss", t[TL_S_BP_INDIRECT_MISS] + t[TL_S_BP_RETURN_MISS],
         t[TL_S_BP_TARGET_MISS]},
        {"dtlb.load_miss + dtlb.store_miss equals dtlb.miss", t[TL_S_DTLB_LOAD_MISS] + t[TL_S_DTLB_STORE_MISS], t[TL_S_DTLB_MISS]},
        {"sc_success + sc_fail equals insn_sc", t[TL_S_HART_SC_SUCCESS] + t[TL_S_HART_SC_FAIL], t[TL_S_HART_INSN_SC]},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(equal); i++)
        if (equal[i].left != equal[i].right)
            return tl_fail(err, TL_EINVAL,
                           "the counts of hart%u do not add up: %s, but %" PRIu64 " is not %" PRIu64
                           "; this is a defect of tally, please report it",
                           h->id, equal[i].what, equal[i].left, equal[i].right);
    struct {
        const char *what;
        uint64_t part, whole;
    } at_most[] = {
        {"cyc_issue <= instret", t[TL_S_HART_CYC_ISSUE], t[TL_S_HART_INSTRET]},
        {"l1i.miss <= l1i.access", t[TL_S_L1I_MISS], t[TL_S_L1I_ACCESS]},
        {"l1d.load_miss <= l1d.load", t[TL_S_L1D_LOAD_MISS], t[TL_S_L1D_LOAD]},
        {"l1d.store_miss <= l1d.store", t[TL_S_L1D_STORE_MISS], t[TL_S_L1D_STORE] + t[TL_S_HART_SC_FAIL]},
        {"itlb.miss <= itlb.access", t[TL_S_ITLB_MISS], t[TL_S_ITLB_ACCESS]},
        {"dtlb.miss <= dtlb.access", t[TL_S_DTLB_MISS], t[TL_S_DTLB_ACCESS]},
        {"l2tlb.miss <= l2tlb.access", t[TL_S_L2TLB_MISS], t[TL_S_L2TLB_ACCESS]},
        {"bp.cond_miss <= bp.cond", t[TL_S_BP_COND_MISS], t[TL_S_BP_COND]},
        {"branch_taken <= insn_branch", t[TL_S_HART_BRANCH_TAKEN], t[TL_S_HART_INSN_BRANCH]},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(at_most); i++)
        if (at_most[i].part > at_most[i].whole)
            return tl_fail(err, TL_EINVAL,
                           "the counts of hart%u do not add up: %s, but %" PRIu64 " is more than %" PRIu64
                           "; this is a defect of tally, please report it",
                           h->id, at_most[i].what, at_most[i].part, at_most[i].whole);
    return TL_OK;
}

tl_status tl_machine_check_identities(const tl_machine *machine, tl_error *err) {
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        tl_status status = check_hart(machine->harts[i], err);
        if (status == TL_OK && machine->engine->check && !machine->is_forwarding)
            status = machine->engine->check(machine->harts[i], err);
        if (status != TL_OK)
            return status;
    }
    return tl_memory_check_identities(machine->memory, err);
}
