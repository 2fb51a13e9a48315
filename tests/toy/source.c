// SPDX-License-Identifier: MIT
// The toy as the source of a report: reads the CSR of each hart.
#include "session/source.h"
#include "base/bits.h"
#include "toy.h"

extern const tl_source_type tl_source_toy;

typedef struct own {
    tl_source base;
    tl_counted stores;
    const tl_counted *counted[1];
} own;

typedef struct reader {
    tl_machine *machine;
    tl_perf_count counts[TL_MAX_HARTS];
} reader;

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    (void)options, (void)preset, (void)config, (void)err;
    return TL_OK;
}

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    (void)options, (void)config;
    own *o = tl_arena_alloc(arena, sizeof *o);
    if (!o)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    o->stores = (tl_counted){.name = "toy_stores", .unit = "", .meaning = "Stores that retired."};
    o->counted[0] = &o->stores;
    o->base = (tl_source){.type = &tl_source_toy, .name = "toy:plain", .counted = o->counted, .n_counted = 1};
    *ret_source = &o->base;
    return tl_catalogue_formula(catalogue, "hart.insn_store", &o->stores.truth, err);
}

static tl_status attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader, tl_error *err) {
    (void)source, (void)of_outline;
    reader *r = tl_arena_alloc(of_run, sizeof *r);
    if (!tl_machine_pmu_of(machine, &tl_pmu_toy, 0))
        return tl_fail(err, TL_EINVAL, "this machine has no toy; set toy.period");
    if (!r)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    r->machine = machine;
    *ret_reader = r;
    return TL_OK;
}

static void nothing(void *r) { (void)r; }
static uint64_t never(const void *r) { return (void)r, UINT64_MAX; }

static const tl_perf_count *read_counts(void *ctx, uint32_t *ret_n) {
    reader *r = ctx;
    *ret_n = r->machine->n_harts;
    for (uint32_t i = 0; i < *ret_n; i++) {
        const tl_pmu_port *port = &tl_machine_pmu_of(r->machine, &tl_pmu_toy, i)->port;
        // The counter counts all the time.
        r->counts[i].enabled_cycles = r->counts[i].running_cycles = r->machine->harts[i]->now;
        (void)tl_port_read(port, r->machine->harts[i], TOY_CSR, &r->counts[i].count);
    }
    return r->counts;
}

const tl_source_type tl_source_toy = {
    .pmu = &tl_pmu_toy,
    .configure = configure,
    .resolve = resolve,
    .attach = attach,
    .enable = nothing,
    .disable = nothing,
    .next_turn = never,
    .turn = nothing,
    .read = read_counts,
};
