// SPDX-License-Identifier: MIT
// See forward.h. A phase ends at an exact sum of retired instructions, or at a breakpoint. Counts
// of windows are differences of the tallies, so nothing is reset.
#include "session/forward.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "session/run.h"

typedef enum phase {
    PHASE_FORWARD, // the fast engine, up to the place
    PHASE_STRETCH, // the fast engine, between windows
    PHASE_WARM_UP, // the detailed core, not counted
    PHASE_WINDOW,  // the detailed core
    PHASE_REST,    // the detailed core, to the end
} phase;

struct tl_forward {
    tl_machine *machine;
    tl_arena *arena;
    phase phase;
    uint64_t until;
    uint64_t n_insns;    // to forward; 0: up to a place
    const char *place;   // NULL: the marker, or none
    tl_regions *regions; // one that begins at the place
    bool to_marker;
    tl_breaks marker_break; // behind the marker
    uint64_t window, stretch, warm_up;
    // Totals and machine time when counting began, when the window under way did, and of whole
    // windows.
    uint64_t *base, *begin, *sum;
    uint64_t base_insns, begin_cycles, sum_cycles, window_insns;
    bool has_begun; // counting
    uint64_t n_windows, detailed_insns;
    // Of the windows' cycles per instruction; deviations: sum of squares (Welford 1962).
    double mean, deviations;
};

static uint64_t retired(const tl_machine *machine) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        sum += machine->harts[i]->instret;
    return sum;
}

// ---- Options.

static tl_status check(const tl_run_options *o, const tl_machine *machine, tl_error *err) {
    const bool samples = o->sample_window != 0;
    const char *option = samples ? "--sample" : "--fast-forward";
    if (machine->config.core.kind != TL_CORE_OUT_OF_ORDER)
        return tl_fail(err, TL_EINVAL,
                       "%s: machine %s has an in-order core, which always runs fast; choose a machine with core.kind: out_of_order, such "
                       "as ooo",
                       option, machine->config.name);
    if (o->roi_start || o->n_regions > 0 || o->markers)
        return tl_fail(err, TL_EINVAL, "%s counts the program from one place on; leave regions of interest away", option);
    if (o->interval != TL_INTERVAL_NONE)
        return tl_fail(err, TL_EINVAL, "%s does not go with intervals, because parts of the run are not detailed; leave -I away", option);
    if (o->pmu)
        return tl_fail(err, TL_EINVAL, "%s does not go with a pmu, whose counters would mix both engines; leave -P away", option);
    if (samples && o->sample_stretch == 0)
        return tl_fail(err, TL_EINVAL, "--sample %" PRIu64 "/0: without stretches everything is detailed; leave --sample away",
                       o->sample_window);
    return TL_OK;
}

static void take_marker(void *ctx, const tl_hart *hart, tl_mark mark, uint32_t number, uint64_t name_vaddr) {
    tl_forward *f = ctx;
    (void)number, (void)name_vaddr;
    // Threads of other processes have no breakpoints.
    if (mark != TL_MARK_START || f->phase != PHASE_FORWARD || hart->breaks != &f->marker_break || f->marker_break.n > 0)
        return;
    f->marker_break = (tl_breaks){.filter = tl_break_bit(hart->pc), .n = 1, .generation = f->marker_break.generation + 1, .pc = {hart->pc}};
}

tl_status tl_forward_new(const tl_run_options *options, tl_machine *machine, tl_arena *arena, tl_forward **ret_forward, tl_error *err) {
    const bool forwards = options->fast_forward_insns != 0 || options->fast_forward_to || options->fast_forward_to_marker;
    *ret_forward = NULL;
    if (!forwards && options->sample_window == 0)
        return TL_OK;
    tl_status status = check(options, machine, err);
    if (status != TL_OK)
        return status;
    const size_t bytes = machine->probe.n_cells * sizeof(uint64_t);
    tl_forward *f = tl_arena_alloc(arena, sizeof *f);
    if (!f || !(f->base = tl_arena_alloc(arena, bytes)) || !(f->begin = tl_arena_alloc(arena, bytes)) ||
        !(f->sum = tl_arena_alloc(arena, bytes)))
        return tl_no_memory(err);
    f->machine = machine;
    f->arena = arena;
    f->phase = PHASE_FORWARD;
    f->n_insns = options->fast_forward_insns;
    f->to_marker = options->fast_forward_to_marker;
    f->window = options->sample_window;
    f->stretch = options->sample_stretch;
    f->warm_up = options->sample_warm_up;
    f->until = f->n_insns > 0 ? f->n_insns : forwards ? UINT64_MAX : 0;
    if (options->fast_forward_to) {
        tl_run_options place = {.roi_start = options->fast_forward_to};
        status = tl_regions_new(&place, machine, arena, &f->regions, err);
    }
    if (status == TL_OK)
        status = tl_machine_add_forwarder(machine, tl_session_engine(TL_ENGINE_FASTEST, machine->config.isa), err);
    if (status == TL_EACCESS) // the host grants no memory for translated code
        status = tl_machine_add_forwarder(machine, &tl_engine_interp, err);
    *ret_forward = f;
    return status;
}

// ---- Phases.

static void begin_phase(tl_forward *f, phase next, uint64_t n_insns) {
    const uint64_t now = retired(f->machine);
    f->phase = next;
    f->until = n_insns < UINT64_MAX - now ? now + n_insns : UINT64_MAX;
    tl_machine_forward(f->machine, next <= PHASE_STRETCH);
}

static void read_machine(const tl_forward *f, uint64_t *ret_totals) {
    tl_machine_sync(f->machine);
    memcpy(ret_totals, f->machine->tally, f->machine->probe.n_cells * sizeof *ret_totals);
}

static void begin_window(tl_forward *f) {
    read_machine(f, f->begin);
    f->begin_cycles = tl_machine_now_cycles(f->machine);
    begin_phase(f, PHASE_WINDOW, f->window);
}

// The stretch is over.
static void begin_detail(tl_forward *f) {
    if (f->warm_up > 0)
        begin_phase(f, PHASE_WARM_UP, f->warm_up);
    else
        begin_window(f);
}

static uint64_t sum_over_harts(const tl_forward *f, const uint64_t *totals, uint32_t cell) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->machine->n_harts; i++)
        sum += totals[i * TL_S_N_CELLS + cell];
    return sum;
}

static void end_window(tl_forward *f) {
    const uint64_t *now = f->machine->tally, *begin = f->begin;
    tl_machine_sync(f->machine);
    const uint64_t insns = sum_over_harts(f, now, TL_S_HART_INSTRET) - sum_over_harts(f, begin, TL_S_HART_INSTRET);
    const uint64_t cycles = sum_over_harts(f, now, TL_S_HART_CYCLE) - sum_over_harts(f, begin, TL_S_HART_CYCLE);
    for (uint32_t i = 0; i < f->machine->probe.n_cells; i++)
        f->sum[i] += now[i] - begin[i];
    f->sum_cycles += tl_machine_now_cycles(f->machine) - f->begin_cycles;
    f->window_insns += insns;
    f->n_windows += 1;
    const double cpi = (double)cycles / (double)insns, step = cpi - f->mean;
    f->mean += step / (double)f->n_windows;
    f->deviations += step * (cpi - f->mean);
}

// Counting begins. The first stretch is half as long as the others, so that windows stand in the
// middle of what they are taken for.
static void arrive(tl_forward *f) {
    read_machine(f, f->base);
    f->base_insns = retired(f->machine);
    f->has_begun = true;
    if (f->window > 0)
        begin_phase(f, PHASE_STRETCH, f->stretch - f->stretch / 2);
    else
        begin_phase(f, PHASE_REST, UINT64_MAX);
}

tl_status tl_forward_begin(tl_forward *f, const tl_guest *guest, tl_error *err) {
    for (uint32_t i = 0; f->to_marker && i < f->machine->n_harts; i++) {
        f->machine->harts[i]->mark = take_marker;
        f->machine->harts[i]->mark_ctx = f;
    }
    if (f->until == 0)
        arrive(f);
    else
        tl_machine_forward(f->machine, true);
    return tl_forward_resolve(f, guest, err);
}

tl_status tl_forward_resolve(tl_forward *f, const tl_guest *guest, tl_error *err) {
    return f->regions && f->phase == PHASE_FORWARD ? tl_regions_resolve(f->regions, guest, err) : TL_OK;
}

uint64_t tl_forward_until(const tl_forward *f) { return f->until; }

const tl_breaks *tl_forward_breaks(const tl_forward *f) {
    if (f->phase != PHASE_FORWARD)
        return NULL;
    return f->to_marker ? &f->marker_break : f->regions ? tl_regions_breaks(f->regions) : NULL;
}

static tl_status cross(tl_forward *f, const tl_guest *guest, const tl_hart *hart, void (*note)(void *ctx, const char *sentence), void *ctx,
                       bool *ret_is_there, tl_error *err) {
    *ret_is_there = f->to_marker && hart->pc == f->marker_break.pc[0];
    return f->regions ? tl_regions_cross(f->regions, guest, hart, note, ctx, ret_is_there, err) : TL_OK;
}

tl_status tl_forward_turn(tl_forward *f, const tl_guest *guest, const tl_hart *hart, void (*note)(void *ctx, const char *sentence),
                          void *ctx, tl_error *err) {
    const uint64_t now = retired(f->machine);
    bool is_there = now >= f->until;
    tl_status status = TL_OK;
    if (hart && f->phase == PHASE_FORWARD)
        status = cross(f, guest, hart, note, ctx, &is_there, err);
    if (status == TL_OK && is_there) {
        const uint64_t n_detailed = f->phase == PHASE_WARM_UP ? f->warm_up : f->phase == PHASE_WINDOW ? f->window : 0;
        f->detailed_insns += n_detailed;
        switch (f->phase) {
        case PHASE_FORWARD: arrive(f); break;
        case PHASE_STRETCH: begin_detail(f); break;
        case PHASE_WARM_UP: begin_window(f); break;
        case PHASE_WINDOW:
            end_window(f);
            begin_phase(f, PHASE_STRETCH, f->stretch);
            break;
        case PHASE_REST: break;
        }
    }
    return status;
}

void tl_forward_end(tl_forward *f) {
    tl_machine_forward(f->machine, false);
    f->until = UINT64_MAX;
}

// ---- Totals.

// The part of a total that the windows stand for: the quotient of instructions, rounded.
static uint64_t scale(uint64_t value, uint64_t factor, uint64_t divisor) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)value * factor + divisor / 2) / divisor);
}

// Signals of retired instructions, of their traps and of the modeled kernel happen in every engine.
static bool is_exact(uint32_t cell) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {TL_S_HART_INSTRET, TL_S_HART_STORE_BYTES},
        {TL_S_HART_SC_SUCCESS, TL_S_HART_UNC_WRITE},
        {TL_S_HART_EXCEPTION, TL_S_HART_EXC_MISALIGNED},
        {TL_S_BP_COND, TL_S_BP_COND},
        {TL_S_BP_DIRECT, TL_S_BP_INDIRECT},
        {TL_S_BP_RETURN, TL_S_BP_RETURN},
        {TL_S_BP_RAS_PUSH, TL_S_BP_RAS_POP},
        {TL_S_OS_SYSCALL, TL_S_OS_SLICE_END},
    };
    for (size_t i = 0; i < TL_COUNT_OF(ranges); i++)
        if (cell >= ranges[i].first && cell <= ranges[i].last)
            return true;
    return false;
}

static void mark_estimates(const tl_forward *f, bool *ret_is_estimated) {
    const tl_machine *machine = f->machine;
    for (uint32_t i = 0; i < machine->probe.n_cells; i++)
        ret_is_estimated[i] = i >= machine->n_harts * TL_S_N_CELLS || !is_exact(i % TL_S_N_CELLS);
    for (uint32_t u = 0; u < machine->probe.n_units; u++) {
        const tl_unit *unit = &machine->probe.units[u];
        for (uint32_t k = 0; k < unit->type->n_signals; k++)
            if (strcmp(unit->type->signals[k].name, "forward_insn") == 0)
                ret_is_estimated[unit->first_cell + k] = false;
    }
}

// 95 % quantile of Student's t with so many degrees of freedom, two-sided. Above 30 an expansion of
// its first two terms is right to 0.001.
static double student_t(uint64_t freedom) {
    static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080,
                               2.074, 2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    return freedom < TL_COUNT_OF(t) ? t[freedom] : 1.959964 + 2.372 / (double)freedom + 2.82 / ((double)freedom * (double)freedom);
}

tl_status tl_forward_totals(const tl_forward *f, uint64_t *totals, tl_result *result, tl_error *err) {
    const tl_machine *machine = f->machine;
    const uint32_t n_cells = machine->probe.n_cells;
    const uint64_t insns = retired(machine) - f->base_insns;
    result->forwarded = f->has_begun ? f->base_insns : retired(machine);
    for (uint32_t i = 0; i < n_cells; i++)
        totals[i] = f->has_begun ? totals[i] - f->base[i] : 0;
    if (f->window == 0)
        return TL_OK;
    tl_sampling *s = tl_arena_alloc(&result->arena, sizeof *s);
    bool *is_estimated = tl_arena_alloc(&result->arena, n_cells * sizeof *is_estimated);
    if (!s || !is_estimated)
        return tl_no_memory(err);
    mark_estimates(f, is_estimated);
    for (uint32_t i = 0; i < n_cells; i++)
        if (is_estimated[i])
            totals[i] = f->n_windows > 0 ? scale(f->sum[i], insns, f->window_insns) : 0;
    const double n = (double)f->n_windows;
    *s = (tl_sampling){.window = f->window,
                       .stretch = f->stretch,
                       .warm_up = f->warm_up,
                       .n_windows = f->n_windows,
                       .instructions = f->has_begun ? insns : 0,
                       .detailed = f->detailed_insns,
                       .cpi = f->mean,
                       .has_interval = f->n_windows > 1};
    if (s->has_interval)
        s->cpi_half_width = student_t(f->n_windows - 1) * sqrt(f->deviations / (n - 1) / n);
    result->cycles = f->n_windows > 0 ? scale(f->sum_cycles, insns, f->window_insns) : 0;
    result->sampling = s;
    result->is_estimated = is_estimated;
    return TL_OK;
}
