// SPDX-License-Identifier: MIT
// A run of the experiment on sampling: makes the machine, runs the program, and compares what its
// handlers kept with what the program must have done. Only hart 0 runs.
#include <string.h>

#include "compare/sampled.h"
#include "isa/rv/privileged.h"
#include "pmu/netburst/netburst.h"
#include "readers/netburst/l1miss_program.h"
#include "session/description.h"
#include "session/plan.h"

enum { RAM_MIB = 16, PROGRESS_CYCLES = 20000000, A1 = 11, S0 = 8 };

typedef struct totals {
    uint64_t misses, cycles, instructions;
} totals;

static totals totals_of(const l1miss_program *p) {
    const tl_hart *h = p->machine->harts[0];
    static const char *const paths[] = {"hart0.core.load_miss", "hart0.core.load_miss_wrong"};
    uint64_t values[2] = {0, 0};
    tl_machine_sync(p->machine);
    for (uint32_t i = 0; i < 2; i++) {
        tl_cell cell;
        if (tl_probe_resolve(&p->machine->probe, paths[i], &cell) == TL_OK)
            values[i] = tl_probe_read(&p->machine->probe, cell);
    }
    return (totals){values[0] - values[1], h->now, h->instret};
}

// ---- The machine.

static tl_status open_machine(const tl_l1miss_options *options, tl_machine **ret_machine, tl_error *err) {
    static const char *const profiles[] = {"netburst.pmi_profile=fixed", "netburst.pmi_profile=mechanistic",
                                           "netburst.pmi_profile=calibrated"};
    tl_config config;
    tl_netburst_settings settings;
    tl_status status = tl_plan_config(options->machine ? options->machine : "netburst", options->overrides, &config, err);
    if (status != TL_OK)
        return status;
    if (config.core.kind != TL_CORE_OUT_OF_ORDER)
        return tl_fail(err, TL_EINVAL, "machine %s has no detailed core, which the experiment needs; choose machine netburst", config.name);
    status = tl_config_set(&config, "pentium4=on", err);
    if (status == TL_OK)
        status = tl_config_set(&config, profiles[options->skid], err);
    if (status != TL_OK)
        return status;
    tl_pmu_settings_of(&tl_pmu_netburst, &config, &settings);
    if (settings.ds64)
        return tl_fail(err, TL_EINVAL, "netburst.ds64 = on: the program reads records of the 32-bit format; leave the key off");
    config.ram_bytes = (uint64_t)RAM_MIB << 20;
    status = tl_machine_new(&config, &tl_engine_ooo, ret_machine, err);
    if (status == TL_OK)
        tl_machine_set_bus(*ret_machine, tl_machine_own_bus(*ret_machine));
    return status;
}

static void close_machine(tl_machine *machine) {
    tl_machine_set_bus(machine, NULL);
    tl_machine_free(machine);
}

// ---- The run.

static uint64_t passes_done(const l1miss_program *p) {
    const tl_rv_hart *rv = tl_rv(p->machine->harts[0]);
    return p->options->is_nested ? p->n_passes - rv->x[S0] * TL_L1MISS_CELLS + rv->x[A1] : rv->x[A1];
}

// Takes calls of the kernel. false: another trap, which the program does not expect.
static bool take_trap(const l1miss_program *p, totals *at_calls, uint32_t *n_calls) {
    tl_hart *h = p->machine->harts[0];
    if (h->trap_cause == TL_CAUSE_ECALL_U) {
        tl_take_exception(h);
        return true;
    }
    if (h->trap_cause != TL_CAUSE_ECALL_S || *n_calls == L1MISS_CALLS)
        return false;
    at_calls[*n_calls] = totals_of(p);
    *n_calls += 1;
    h->pc += 4;
    h->run_vline = TL_NO_LINE;
    return true;
}

static tl_status run_program(const l1miss_program *p, totals at_calls[L1MISS_CALLS], tl_error *err) {
    tl_hart *h = p->machine->harts[0];
    uint32_t n_calls = 0;
    uint64_t told = 0;
    while (n_calls < L1MISS_CALLS) {
        tl_irq irq;
        h->horizon = h->now + PROGRESS_CYCLES;
        h->insn_limit = UINT64_MAX;
        tl_hart_limit_to_deadline(h, &h->insn_limit);
        if (h->engine->run(h) == TL_STOP_TRAP && !take_trap(p, at_calls, &n_calls))
            return tl_fail(err, TL_EIO, "the program of the experiment trapped at 0x%llx, cause %llu", (unsigned long long)h->pc,
                           (unsigned long long)h->trap_cause);
        (void)tl_hart_poll(h);
        while (tl_next_interrupt(h, &irq))
            tl_take_interrupt(h, irq);
        if (p->options->progress && h->priv == TL_PRIV_U && h->now - told >= PROGRESS_CYCLES) {
            told = h->now;
            p->options->progress(p->options->ctx, passes_done(p), p->n_passes);
        }
    }
    return TL_OK;
}

// ---- What was found.

typedef struct record { // the 32-bit format, with registers of RISC-V
    uint32_t flags, pc, a0, a1, a2, a3, a4, a5, s0, sp;
} record;
_Static_assert(sizeof(record) == L1MISS_RECORD_BYTES, "no gaps");

static uint64_t pass_of(const l1miss_program *p, const record *r) {
    return p->options->is_nested ? p->n_passes - (uint64_t)r->s0 * TL_L1MISS_CELLS + r->a1 : r->a1;
}

// All registers are those before the first load of the pass that a1 (and s0) name.
static bool is_exact(const l1miss_program *p, const record *r) {
    const tl_l1miss_options *o = p->options;
    const uint32_t cell = (uint32_t)L1MISS_FIRST_CELL + r->a1 % TL_L1MISS_CELLS * (uint32_t)L1MISS_STRIDE;
    return r->flags == 0 && r->pc == L1MISS_FIRST_LOAD && r->a0 == cell && r->a2 == L1MISS_FIRST_CELL &&
           r->a3 == (o->is_nested ? TL_L1MISS_CELLS : (uint32_t)p->n_passes) && r->a4 == L1MISS_HOT_VALUE && r->a5 == L1MISS_HOT_LINE &&
           (o->is_nested || r->s0 == 0) && r->sp == L1MISS_STACK;
}

static void add_distance(const l1miss_program *p, uint64_t pc, tl_l1miss_run *run) {
    const uint32_t distance = l1miss_distance(p, pc);
    if (distance < TL_L1MISS_DISTANCES)
        run->distances[distance] += 1;
    else
        run->n_elsewhere += 1;
    run->n_samples += 1;
}

static void add_record(const l1miss_program *p, const record *r, uint64_t between, tl_l1miss_run *run) {
    // Variant B has one miss more: the line that its other loads read.
    run->n_in_step += pass_of(p, r) + 1 + p->options->is_chained == (run->n_samples + 1) * between;
    run->n_exact += is_exact(p, r);
    add_distance(p, r->pc, run);
    uint32_t j = 0;
    while (j < TL_L1MISS_CELLS && r->a0 != run->cells[j])
        j++;
    if (j < TL_L1MISS_CELLS)
        run->in_cell[j] += 1;
    else
        run->in_none += 1;
}

static void read_records(const l1miss_program *p, tl_l1miss_run *run) {
    const bool is_precise = p->options->method == TL_L1MISS_PRECISE;
    const uint64_t between = p->options->period + (p->options->is_lockstep ? 0u : 1u);
    uint64_t n;
    const uint8_t *bytes = l1miss_records(p, &n);
    for (uint64_t i = 0; i < n; i++) {
        record r;
        uint64_t pc;
        memcpy(&r, bytes + i * sizeof r, is_precise ? sizeof r : 0);
        memcpy(&pc, bytes + i * sizeof pc, is_precise ? 0 : sizeof pc);
        if (is_precise)
            add_record(p, &r, between, run);
        else
            add_distance(p, pc, run);
    }
}

static void fill(const l1miss_program *p, const totals *at_calls, tl_l1miss_run *run) {
    const tl_l1miss_options *o = p->options;
    uint32_t thread;
    const tl_netburst *n = tl_netburst_of(tl_machine_pmu_of(p->machine, &tl_pmu_netburst, 0), &thread);
    const tl_netburst_samples_stored stored = tl_netburst_samples_of(n, thread);
    run->method = o->method;
    run->skid = o->skid;
    run->is_chained = o->is_chained;
    run->is_nested = o->is_nested;
    run->is_lockstep = o->is_lockstep;
    run->period = o->period;
    run->n_wanted = o->n_samples;
    run->n_passes = o->method == TL_L1MISS_INTERRUPT ? passes_done(p) : p->n_passes;
    run->n_cycles = at_calls[L1MISS_ENDS].cycles - at_calls[L1MISS_BEGINS].cycles;
    run->n_instructions = at_calls[L1MISS_ENDS].instructions - at_calls[L1MISS_BEGINS].instructions;
    run->n_true = at_calls[L1MISS_ENDS].misses - at_calls[L1MISS_BEGINS].misses;
    run->n_counted = o->method == TL_L1MISS_COUNT ? l1miss_count(p) : 0;
    run->n_interrupts = l1miss_interrupts(p);
    run->n_lost = stored.n_lost;
    run->n_faults = stored.n_faults;
    run->first_pc = L1MISS_FIRST_LOAD;
    run->base_cycles = o->base ? o->base->n_cycles : 0;
    run->base_passes = o->base ? o->base->n_passes : 0;
    for (uint32_t j = 0; j < TL_L1MISS_CELLS; j++)
        run->cells[j] = L1MISS_FIRST_CELL + j * (uint64_t)L1MISS_STRIDE;
    if (o->method != TL_L1MISS_COUNT)
        read_records(p, run);
}

// A run that samples by interrupts ends itself, and loses misses when it takes back what has
// missed.
static uint64_t passes_for(const tl_l1miss_options *o) {
    const uint64_t between = o->period + (o->is_lockstep ? 0u : 1u),
                   n = o->n_samples * between * (o->method == TL_L1MISS_INTERRUPT ? 2 : 1);
    return n + (TL_L1MISS_CELLS - n % TL_L1MISS_CELLS) % TL_L1MISS_CELLS;
}

static tl_status measure(const tl_l1miss_options *options, tl_l1miss_run *ret_run, tl_error *err) {
    l1miss_program program = {.options = options, .n_passes = passes_for(options)};
    totals at_calls[L1MISS_CALLS];
    if (options->period < 2 || options->n_samples == 0 || options->n_samples > L1MISS_MAX_RECORDS / 2)
        return tl_fail(err, TL_EINVAL, "the experiment takes 1 to %d samples, and a period of 2 misses or more", L1MISS_MAX_RECORDS / 2);
    tl_status status = open_machine(options, &program.machine, err);
    if (status != TL_OK)
        return status;
    status = l1miss_load(&program, err);
    if (status == TL_OK)
        status = run_program(&program, at_calls, err);
    if (status == TL_OK)
        fill(&program, at_calls, ret_run);
    close_machine(program.machine);
    return status;
}

const tl_sampled_type tl_sampled_netburst = {.pmu = &tl_pmu_netburst, .measure = measure};
