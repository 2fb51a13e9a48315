// SPDX-License-Identifier: MIT
// Managers of a machine. Each row of events.c becomes a counter in every unit that has the row's
// signals. Each unit with counters gets a manager. An unread counter costs nothing, because a
// counter is a view of totals that the machine keeps anyway.
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "pmu/dhpc/fabric.h"

// Units that are the instances of a class. NULL: the class has one instance and no unit.
static const char *const unit_of_class[TL_DHPC_N_CLASSES] = {
    [TL_DHPC_CORE] = "hart", [TL_DHPC_LLC] = "l2", [TL_DHPC_MEM] = "mem", [TL_DHPC_DEVICE] = "dma", [TL_DHPC_MMIO] = "bus"};

typedef struct total_row {
    tl_sources sources;
    bool is_cycle, is_idle, is_instret;
} total_row;

typedef struct machine_view {
    const tl_pmu_host *host;
    const tl_dhpc_config *config;
    total_row *rows;
    uint32_t n_rows;
    uint64_t *synced_cycle, *synced_instret;
    bool *is_synced;
} machine_view;

static void sync(machine_view *view, uint32_t hart) {
    const tl_pmu_host *host = view->host;
    uint64_t cycle = host->cycle(host->ctx, hart), instret = host->instret(host->ctx, hart);
    if (view->is_synced[hart] && view->synced_cycle[hart] == cycle && view->synced_instret[hart] == instret)
        return; // no event of this hart can be new
    host->sync(host->ctx, hart);
    view->is_synced[hart] = true;
    view->synced_cycle[hart] = cycle;
    view->synced_instret[hart] = instret;
}

static uint64_t sum(const machine_view *view, const tl_sources *sources) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < sources->n_cells; i++)
        total += tl_probe_read(view->host->probe, sources->cells[i]);
    return total;
}

static uint64_t total_in(void *ctx, uint32_t which, uint32_t hart, uint64_t cycle) {
    machine_view *view = ctx;
    const total_row *row = &view->rows[which];
    if (row->is_instret)
        return view->host->instret(view->host->ctx, hart);
    if (row->is_cycle) // a clock is readable in any cycle, also in one that the hart has passed
        return view->host->cycle_in(view->host->ctx, hart, cycle);
    // Cycles since reset that are not idle. The total of a sleeping hart grows only at wake-up.
    if (row->is_idle)
        return cycle - view->host->cycle_in(view->host->ctx, hart, cycle);
    if (row->sources.needs_sync && hart != TL_DHPC_NO_HART)
        sync(view, hart);
    return sum(view, &row->sources);
}

// ---- building ----

static uint32_t n_instances(const tl_probe *probe, uint32_t class, uint32_t n_harts) {
    const char *unit = unit_of_class[class];
    if (class == TL_DHPC_CORE)
        return n_harts;
    if (!unit)
        return class == TL_DHPC_FABRIC || class == TL_DHPC_DIRECTORY;
    uint32_t n = 0;
    for (uint32_t u = 0; u < probe->n_units; u++)
        n += strcmp(probe->units[u].type->name, unit) == 0;
    return n;
}

// Machine as seen by one instance of a class. A shared unit sees itself only. A core sees all
// units, because sources name the units of its own hart.
tl_probe tl_dhpc_probe_of(const tl_probe *probe, uint32_t class, uint32_t instance) {
    if (class == TL_DHPC_CORE)
        return *probe;
    for (uint32_t u = 0, n = 0; u < probe->n_units; u++)
        if (strcmp(probe->units[u].type->name, unit_of_class[class]) == 0 && n++ == instance) {
            tl_probe one = *probe;
            one.units = &probe->units[u];
            one.n_units = 1;
            return one;
        }
    return (tl_probe){.tally = probe->tally};
}

static const char *const client_stats[] = {"dhpc.hpcr_read", "dhpc.hpc_req", "dhpc.hpc_retry_flag"};

static tl_status build_counter(machine_view *view, tl_dhpc_manager *manager, const tl_event *event, uint32_t n_harts, tl_arena *arena,
                               tl_error *err) {
    const tl_probe *probe = view->host->probe;
    uint32_t class = tl_dhpc_class_of(manager->id), instance = tl_dhpc_instance_of(manager->id), bit = (uint32_t)(event->selector & 63);
    if (view->config->left_out[class][tl_dhpc_extend_of(manager->id) & 3] >> bit & 1)
        return TL_OK;
    tl_dhpc_counter counter = {.origin = TL_DHPC_FROM_HOST, .which = view->n_rows};
    if (class == TL_DHPC_DIRECTORY) {
        counter = (tl_dhpc_counter){TL_DHPC_CONSTANT, n_instances(probe, bit, n_harts)};
        if (counter.which == 0)
            return TL_OK;
    } else if (class == TL_DHPC_FABRIC) {
        counter = (tl_dhpc_counter){TL_DHPC_FROM_FABRIC, bit};
    } else if (strncmp(event->sources, "dhpc.", 5) == 0) {
        counter.origin = TL_DHPC_FROM_CLIENT;
        for (counter.which = 0; strcmp(client_stats[counter.which], event->sources) != 0; counter.which++)
            if (counter.which + 1 == TL_COUNT_OF(client_stats))
                return tl_fail(err, TL_EINVAL, "event %s: the fabric does not count '%s'", event->name, event->sources);
    } else {
        tl_probe own = tl_dhpc_probe_of(probe, class, instance);
        total_row *row = &view->rows[view->n_rows];
        tl_error missing;
        tl_status status = tl_sources_resolve(event->sources, &own, instance, arena, &row->sources, &missing);
        if (status == TL_ENOENT)
            return TL_OK; // not built here
        if (status != TL_OK)
            return tl_fail(err, status, "event %s: %s", event->name, missing.text);
        row->is_cycle = strcmp(event->sources, "hart.cycle") == 0;
        row->is_idle = strcmp(event->sources, "hart.idle_cycle") == 0;
        row->is_instret = strcmp(event->sources, "hart.instret") == 0;
        view->n_rows += 1;
    }
    manager->counters[bit] = counter;
    manager->implemented |= UINT64_C(1) << bit;
    return TL_OK;
}

static tl_status new_view(const tl_dhpc_config *config, const tl_pmu_host *host, uint32_t n_harts, uint32_t max_rows, tl_arena *arena,
                          machine_view **ret_view, tl_error *err) {
    machine_view *view = tl_arena_alloc(arena, sizeof *view);
    if (!view || !(view->rows = tl_arena_alloc(arena, max_rows * sizeof *view->rows)) ||
        !(view->synced_cycle = tl_arena_alloc(arena, n_harts * sizeof(uint64_t))) ||
        !(view->synced_instret = tl_arena_alloc(arena, n_harts * sizeof(uint64_t))) ||
        !(view->is_synced = tl_arena_alloc(arena, n_harts * sizeof(bool))))
        return tl_fail(err, TL_ENOMEM, "no memory for the counters of pmu dhpc");
    view->host = host;
    view->config = config;
    *ret_view = view;
    return TL_OK;
}

tl_status tl_dhpc_new_on(const tl_dhpc_config *config, uint32_t access_bits, uint32_t n_harts, const tl_pmu_host *host, tl_arena *arena,
                         tl_dhpc **ret_dhpc, tl_error *err) {
    uint32_t max_instances = 1, n_managers = 0;
    for (uint32_t class = 0; class < TL_DHPC_N_CLASSES; class ++) {
        uint32_t n = n_instances(host->probe, class, n_harts);
        max_instances = n > max_instances ? n : max_instances;
    }
    if (n_harts < 1 || n_harts > TL_DHPC_MAX_HARTS || max_instances > 128)
        return tl_fail(err, TL_EINVAL, "pmu dhpc: %u harts and up to %u units of a kind: it has numbers for 1 to %u and 128", n_harts,
                       max_instances, TL_DHPC_MAX_HARTS);
    machine_view *view = NULL;
    tl_status status = new_view(config, host, n_harts, tl_dhpc_n_events * max_instances, arena, &view, err);
    tl_dhpc_manager *managers = tl_arena_alloc(arena, (size_t)tl_dhpc_n_events * max_instances * sizeof *managers);
    if (status != TL_OK || !managers)
        return status != TL_OK ? status : tl_fail(err, TL_ENOMEM, "no memory for the managers of pmu dhpc");
    for (uint32_t class = 0; class < TL_DHPC_N_CLASSES; class ++)
        for (uint32_t instance = 0; instance < n_instances(host->probe, class, n_harts); instance++) {
            tl_dhpc_manager *manager = NULL;
            // Rows of one manager stand together, extends in order.
            for (uint32_t e = 0; e < tl_dhpc_n_events; e++) {
                const tl_event *event = &tl_dhpc_events[e];
                uint32_t id = (uint32_t)(event->selector >> 6) | instance << 7;
                if (tl_dhpc_class_of(id) != class || event->fidelity == TL_NOT_MODELED)
                    continue;
                if (!manager || manager->id != id) {
                    // A manager without counters is not built.
                    n_managers += manager && manager->implemented != 0;
                    manager = &managers[n_managers];
                    *manager = (tl_dhpc_manager){.id = id, .hart = class == TL_DHPC_CORE ? instance : TL_DHPC_NO_HART};
                }
                if ((status = build_counter(view, manager, event, n_harts, arena, err)) != TL_OK)
                    return status;
            }
            n_managers += manager && manager->implemented != 0;
        }
    tl_dhpc *d;
    if ((status = tl_dhpc_new(config, access_bits, n_harts, managers, n_managers, total_in, view, arena, &d, err)) != TL_OK)
        return status;
    for (uint32_t h = 0; h < n_harts; h++)
        d->clients[h]->pmu.host = host; // receives notice when a hart must stop for a sample
    *ret_dhpc = d;
    return TL_OK;
}
