// SPDX-License-Identifier: MIT
// The design on a chip (model/chip_monitor.h): one model for all partitions and what they share.
//
// A unit of a partition hears the partition's totals, of which gated ones are left out. A filtered
// ULC of a shared unit hears the totals of one tag. A context that finds no free filter is heard by
// the ULC of the rest, and its shared metrics are unavailable.
//
// A tap of a shared unit is settled at each burst that it hears. Its totals are therefore those of
// any cycle, whenever somebody reads them. Bursts of the last cycles are kept, because the model
// may ask for a past cycle.
//
// CS1: harts stand still, but taps may still have something to show. The request for a switch comes
// when they have shown it, so that nothing of a context is left for the next.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "pmu/smpm/metered.h"
#include "pmu/smpm/oob.h"
#include "pmu/smpm/sealing.h"
#include "pmu/smpm/service.h"
#include "pmu/smpm/taps.h"
#include "sealed/crypto.h"

enum { N_COMMIT_PERIODS = 4, NO_HART = UINT32_MAX };

typedef struct request {
    bool is_pending;
    uint64_t at; // the model gets it in that cycle
    uint64_t halted;
    uint32_t vm, ctx;
} request;

// Bursts that moved, in a ring. A ULC of a shared unit has heard all before its own mark.
typedef struct arrivals {
    uint32_t room, n_cells;
    uint64_t n;                 // so far
    uint64_t *cycles, *growths; // [room], [room][n_cells]
    uint32_t *tags;             // [room]
    uint64_t *last;             // [n_cells] totals after the latest
    uint64_t n_heard[TL_SMPM_MAX_ULCS];
    uint64_t *totals; // that a tap has heard; as `taps`
} arrivals;

typedef struct metric {
    tl_monitor_event event;
    uint8_t type;
    bool is_multi;
    uint32_t ctr, residue; // indices in blocks
} metric;

struct tl_chip_monitor {
    tl_monitor_plan plan;
    tl_smpm_config config;
    tl_smpm_layout layout;
    tl_smpm *model;
    tl_smpm_tap *taps;
    arrivals arrivals;
    // tenant_of: whose traffic a filtered ULC counts; TL_MONITOR_NONE: nobody's.
    uint32_t tenant_of[TL_SMPM_MAX_ULCS];
    request requests[TL_SMPM_MAX_PARTITIONS];
    tl_monitor_switch last[TL_SMPM_MAX_PARTITIONS];
    bool is_switching[TL_SMPM_MAX_PARTITIONS];
    metric *metrics;
    uint32_t n_metrics;
    uint64_t *copy; // of a block
    uint32_t n_copy_words;
    uint64_t *list; // for software: names of counts
    uint32_t n_list_words;
    tl_smpm_service *service;
    tl_smpm_sealing *sealing;               // NULL: no VM has sealed records
    tl_smpm_metered *metered;               // NULL: nobody asked for the cost
    uint32_t vm_of[TL_SMPM_MAX_PARTITIONS]; // that has the partition; TL_MONITOR_NONE: nobody
    uint64_t idle_cycles, idle_from;        // until idle_from; since then if no partition has a VM
};

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "no memory for the monitor of the chip"); }

// ---- Totals.

static bool is_shared(const tl_chip_monitor *m, uint32_t ulc) { return m->layout.ulcs[ulc].partition == TL_SMPM_SHARED; }
static bool is_device(const tl_smpm_unit_type *type) { return strstr(type->name, ".device") != NULL; }

static uint64_t sum_of(const tl_smpm_tap *tap, const uint64_t *plus, const uint64_t *minus) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tap->sources.n_cells; i++)
        sum += plus[tap->sources.cells[i]] - (minus ? minus[tap->sources.cells[i]] : 0);
    return sum;
}

// Totals of a partition as one of its ULCs hears them.
static tl_monitor_totals own_totals(const tl_chip_monitor *m, uint32_t ulc, uint64_t cycle) {
    const tl_smpm_unit *unit = &m->layout.units[m->layout.ulcs[ulc].unit];
    return m->plan.host.partition(m->plan.host.ctx, unit->chip_partition, unit->type == 0 ? unit->instance : NO_HART, cycle);
}

static uint32_t n_heard(const tl_chip_monitor *m) { return m->plan.n_tenants < m->config.filters ? m->plan.n_tenants : m->config.filters; }

static bool hears_tag(const tl_chip_monitor *m, uint32_t ulc, uint32_t tag) {
    const uint32_t kind = m->layout.ulcs[ulc].filter.kind, tenant = m->tenant_of[ulc];
    if (kind == TL_SMPM_FILTER_MATCH || kind == TL_SMPM_FILTER_FREE)
        return tenant != TL_MONITOR_NONE && m->plan.tenants[tenant].tag == tag;
    for (uint32_t i = 0; kind == TL_SMPM_FILTER_REST && i < n_heard(m); i++)
        if (m->plan.tenants[i].tag == tag)
            return false;
    return true;
}

static void hear(tl_chip_monitor *m, uint32_t ulc, uint64_t number) {
    const arrivals *a = &m->arrivals;
    const uint64_t at = number % a->room, *growth = a->growths + at * a->n_cells;
    if (!hears_tag(m, ulc, a->tags[at]))
        return;
    const tl_smpm_unit_type *type = &m->layout.types[m->layout.ulcs[ulc].type];
    for (uint32_t i = 0; i < type->n_bits + type->n_multi; i++) {
        const bool is_multi = i >= type->n_bits;
        const size_t place = (size_t)ulc * TL_SMPM_TAPS_OF_ULC + (is_multi ? TL_SMPM_MAX_CTRS + i - type->n_bits : i);
        const uint64_t more = sum_of(&m->taps[place], growth, NULL);
        if (more == 0)
            continue;
        (void)tl_smpm_tap_show(&m->taps[place], a->totals[place], a->cycles[at], is_multi ? m->config.mb_max : 1);
        a->totals[place] += more;
    }
}

// A ULC of a shared unit hears all that moved before a cycle.
static void hear_until(tl_chip_monitor *m, uint32_t ulc, uint64_t cycle) {
    arrivals *a = &m->arrivals;
    while (a->n_heard[ulc] < a->n && a->cycles[a->n_heard[ulc] % a->room] < cycle)
        hear(m, ulc, a->n_heard[ulc]++);
}

// Runs the model. A sealed record shows blocks of its own cycle.
static void run_model(tl_chip_monitor *m, uint64_t until) {
    for (uint64_t at; m->sealing && (at = tl_smpm_sealing_next(m->sealing)) <= until;) {
        tl_smpm_run(m->model, at);
        tl_smpm_sealing_tick(m->sealing, at);
    }
    tl_smpm_run(m->model, until);
}

// The oldest burst leaves the ring, so the model must not ask for a cycle before it any more.
static void forget_oldest(tl_chip_monitor *m, uint64_t cycle) {
    arrivals *a = &m->arrivals;
    if (a->cycles[a->n % a->room] + a->room > tl_smpm_now(m->model))
        run_model(m, cycle);
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++)
        if (is_shared(m, ulc) && a->n_heard[ulc] <= a->n - a->room)
            hear(m, ulc, a->n_heard[ulc]++);
}

static void moved(tl_chip_monitor *m, uint64_t cycle, uint32_t tag) {
    arrivals *a = &m->arrivals;
    const uint64_t *totals = m->plan.host.shared(m->plan.host.ctx, TL_MONITOR_NONE), at = a->n % a->room;
    if (a->n >= a->room)
        forget_oldest(m, cycle);
    a->cycles[at] = cycle;
    a->tags[at] = tag;
    for (uint32_t i = 0; i < a->n_cells; i++) {
        a->growths[at * a->n_cells + i] = totals[i] - a->last[i];
        a->last[i] = totals[i];
    }
    a->n++;
}

// A walk over the inputs of ULCs.
typedef struct visitor {
    uint64_t cycle;
    tl_smpm_totals *totals; // NULL: only latest
    uint64_t latest;        // cycle at which all is shown
    bool is_free;           // no window is read, so totals may grow by more than windows hold
} visitor;

static void visit_input(visitor *v, tl_smpm_tap *tap, uint64_t total, uint32_t step, uint64_t *ret_shown) {
    if (v->totals) {
        *ret_shown = v->is_free ? tl_smpm_tap_show_free(tap, total, v->cycle, step) : tl_smpm_tap_show(tap, total, v->cycle, step);
        return;
    }
    const uint64_t at = v->is_free ? (total + step - 1) / step : tl_smpm_tap_shows_at(tap, total, step);
    v->latest = at > v->latest ? at : v->latest;
}

static void visit(tl_chip_monitor *m, uint32_t ulc, visitor *v) {
    const tl_smpm_unit_type *type = &m->layout.types[m->layout.ulcs[ulc].type];
    tl_smpm_tap *taps = m->taps + (size_t)ulc * TL_SMPM_TAPS_OF_ULC;
    const uint64_t *heard = m->arrivals.totals + (size_t)ulc * TL_SMPM_TAPS_OF_ULC;
    const bool of_chip = is_shared(m, ulc);
    const tl_monitor_totals own = of_chip ? (tl_monitor_totals){0} : own_totals(m, ulc, v->cycle);
    uint64_t unused;
    v->is_free = !of_chip && !tl_smpm_reads_windows(m->model);
    if (of_chip)
        hear_until(m, ulc, v->totals ? v->cycle : UINT64_MAX);
    for (uint32_t i = 0; i < type->n_bits; i++) {
        const uint64_t total = of_chip ? heard[i] : sum_of(&taps[i], own.tally, own.gated);
        visit_input(v, &taps[i], total, 1, v->totals ? &v->totals->bits[i] : &unused);
    }
    for (uint32_t i = 0; i < type->n_multi; i++) {
        tl_smpm_tap *tap = &taps[TL_SMPM_MAX_CTRS + i];
        const uint64_t total = of_chip ? heard[TL_SMPM_MAX_CTRS + i] : sum_of(tap, own.tally, own.gated);
        visit_input(v, tap, total, m->config.mb_max, v->totals ? &v->totals->sums[i] : &unused);
    }
}

static void totals(void *ctx, uint32_t ulc, uint64_t cycle, tl_smpm_totals *ret_totals) {
    *ret_totals = (tl_smpm_totals){0};
    visitor v = {.cycle = cycle, .totals = ret_totals};
    visit(ctx, ulc, &v);
}

// The first cycle before which all ULCs of a partition, or the shared ones, show their totals.
static uint64_t shows_at(tl_chip_monitor *m, uint32_t partition) {
    visitor v = {0};
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++)
        if (m->layout.ulcs[ulc].partition == partition && m->layout.ulcs[ulc].filter.kind != TL_SMPM_FILTER_FREE)
            visit(m, ulc, &v);
    return v.latest;
}

// ---- Building.

// Contexts get the filters of each shared unit in their order.
static void assign_filters(tl_chip_monitor *m) {
    uint32_t n_used[TL_SMPM_MAX_UNITS] = {0};
    for (uint32_t i = 0; i < m->layout.n_ulcs; i++) {
        tl_smpm_ulc *ulc = &m->layout.ulcs[i];
        m->tenant_of[i] = TL_MONITOR_NONE;
        if (ulc->partition != TL_SMPM_SHARED || ulc->filter.kind != TL_SMPM_FILTER_FREE || n_used[ulc->unit] == n_heard(m))
            continue;
        const uint32_t number = n_used[ulc->unit]++;
        const tl_monitor_tenant *tenant = &m->plan.tenants[number];
        m->tenant_of[i] = number;
        ulc->filter = (tl_smpm_filter){
            .kind = TL_SMPM_FILTER_MATCH, .vm = (uint16_t)tenant->vm, .ctx = (uint16_t)tenant->context, .engine = TL_SMPM_ANY};
        if (ulc->route.target == TL_SMPM_TO_FIXED)
            ulc->route.channel = m->layout.partitions[tenant->partition].channel;
    }
}

static tl_status make_layout(tl_chip_monitor *m, tl_error *err) {
    const tl_monitor_plan *plan = &m->plan;
    const tl_smpm_chip chip = {.n_partitions = plan->n_partitions,
                               .n_harts = plan->n_harts,
                               .n_slices = plan->n_slices,
                               .n_mem_channels = plan->n_mem_channels,
                               .has_shared = true};
    m->config = *(const tl_smpm_config *)plan->settings;
    m->config.profile = plan->is_safe ? TL_SMPM_SAFE : TL_SMPM_LITERAL;
    m->config.save_cycles = plan->save_cycles > m->config.save_cycles ? plan->save_cycles : m->config.save_cycles;
    if (m->config.channels == TL_SMPM_PER_HART)
        return tl_fail(err, TL_EINVAL, "smpm.channels = per_hart: harts of a partition switch contexts together; set it to per_partition");
    tl_status status = tl_smpm_config_check(&m->config, err);
    if (status != TL_OK)
        return status;
    tl_smpm_config_resolve(&m->config);
    status = tl_smpm_layout_new(&m->config, &chip, &m->layout, err);
    if (status != TL_OK)
        return status;
    assign_filters(m);
    return tl_smpm_layout_resolve(&m->config, &m->layout, err);
}

// "chip.noc_busy" -> "noc.busy"
static void shared_text(const tl_event *event, char *ret_text, size_t size) {
    snprintf(ret_text, size, "%s", event->sources + strlen("chip."));
    char *gap = strchr(ret_text, '_');
    if (gap)
        *gap = '.';
}

static tl_status attach_tap(tl_chip_monitor *m, uint32_t ulc, const tl_event *event, tl_smpm_tap *tap, tl_arena *arena, tl_error *err) {
    const tl_smpm_unit *unit = &m->layout.units[m->layout.ulcs[ulc].unit];
    char text[64];
    if (!is_shared(m, ulc))
        return tl_smpm_tap_attach_own(tap, event, m->plan.units, unit->instance, arena, err);
    shared_text(event, text, sizeof text);
    return tl_smpm_tap_attach(tap, text, m->plan.shared_units, 0, arena, err);
}

static tl_status attach_taps(tl_chip_monitor *m, tl_arena *arena, tl_error *err) {
    tl_status status = TL_OK;
    m->taps = tl_smpm_taps_new(&m->layout, arena);
    if (!m->taps)
        return no_memory(err);
    for (uint32_t u = 0; u < m->layout.n_ulcs; u++) {
        const tl_smpm_unit_type *type = &m->layout.types[m->layout.ulcs[u].type];
        tl_smpm_tap *taps = m->taps + (size_t)u * TL_SMPM_TAPS_OF_ULC;
        for (uint32_t i = 0; i < type->n_bits && status == TL_OK; i++)
            status = attach_tap(m, u, &tl_smpm_events[type->bits[i]], &taps[i], arena, err);
        for (uint32_t i = 0; i < type->n_multi && status == TL_OK; i++)
            status = attach_tap(m, u, &tl_smpm_events[type->multi[i]], &taps[TL_SMPM_MAX_CTRS + i], arena, err);
    }
    return status;
}

static tl_status new_arrivals(tl_chip_monitor *m, tl_arena *arena, tl_error *err) {
    arrivals *a = &m->arrivals;
    // A burst a cycle at most, as long as the model may ask late.
    a->room = 2 * (m->config.ulc_period + tl_smpm_frame_cycles(&m->config, false)) + 1;
    a->n_cells = m->plan.shared_units->n_cells;
    a->cycles = tl_arena_alloc(arena, a->room * sizeof *a->cycles);
    a->tags = tl_arena_alloc(arena, a->room * sizeof *a->tags);
    a->growths = tl_arena_alloc(arena, (size_t)a->room * a->n_cells * sizeof *a->growths);
    a->last = tl_arena_alloc(arena, a->n_cells * sizeof *a->last);
    a->totals = tl_arena_alloc(arena, (size_t)m->layout.n_ulcs * TL_SMPM_TAPS_OF_ULC * sizeof *a->totals);
    return a->cycles && a->tags && a->growths && a->last && a->totals ? TL_OK : no_memory(err);
}

static void add_metric(tl_chip_monitor *m, uint32_t type_index, bool is_multi, uint32_t input) {
    const tl_smpm_unit_type *type = &m->layout.types[type_index];
    const tl_event *event = &tl_smpm_events[is_multi ? type->multi[input] : type->bits[input]];
    const bool of_chip = tl_smpm_event_kind(event) >= TL_SMPM_UNIT_ROOT;
    metric *row = &m->metrics[m->n_metrics];
    char text[64];
    *row = (metric){.type = (uint8_t)type_index, .is_multi = is_multi};
    row->ctr = tl_smpm_ctr_index(&m->config, type_index, is_multi ? m->config.ulc_ctrs - 1 - input : input);
    row->residue = tl_smpm_residue_index(&m->config, m->layout.n_types, type_index, input);
    row->event.is_shared = of_chip;
    row->event.is_device = is_device(type);
    row->event.scale = is_multi ? 1u << tl_smpm_scale_log2(&m->config) : 1;
    row->event.keeps_remainder = is_multi && (of_chip || !tl_smpm_exports(&m->config));
    snprintf(row->event.name, sizeof row->event.name, "%s.%s", type->name, strchr(event->name, '.') + 1);
    if (of_chip)
        shared_text(event, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s", event->sources);
    const char *dot = strchr(text, '.');
    snprintf(row->event.unit, sizeof row->event.unit, "%.*s", (int)(dot - text), text);
    snprintf(row->event.signal, sizeof row->event.signal, "%s", dot + 1);
    m->n_metrics++;
}

static tl_status add_metrics(tl_chip_monitor *m, tl_arena *arena, tl_error *err) {
    uint32_t n = 0;
    for (uint32_t t = 0; t < m->layout.n_types; t++)
        n += m->layout.types[t].n_bits + m->layout.types[t].n_multi;
    m->metrics = tl_arena_alloc(arena, n * sizeof *m->metrics);
    if (!m->metrics)
        return no_memory(err);
    for (uint32_t t = 0; t < m->layout.n_types; t++) {
        for (uint32_t i = 0; i < m->layout.types[t].n_bits; i++)
            add_metric(m, t, false, i);
        for (uint32_t i = 0; i < m->layout.types[t].n_multi; i++)
            add_metric(m, t, true, i);
    }
    return TL_OK;
}

// Two rows for a count that keeps a remainder: the remainder's row is named after it.
static tl_status make_list(tl_chip_monitor *m, tl_arena *arena, tl_error *err) {
    tl_smpm_metric *rows = tl_arena_alloc(arena, 2 * (size_t)m->n_metrics * sizeof *rows);
    uint32_t n = 0;
    if (!rows)
        return no_memory(err);
    for (uint32_t i = 0; i < m->n_metrics; i++) {
        const metric *row = &m->metrics[i];
        rows[n++] = (tl_smpm_metric){row->event.name, "events", row->event.scale, row->ctr};
        if (!row->is_multi || !tl_smpm_exports(&m->config))
            continue;
        const char *name = tl_arena_printf(arena, "%s.remainder", row->event.name);
        if (!name)
            return no_memory(err);
        rows[n++] = (tl_smpm_metric){name, "events", 1, row->residue};
    }
    m->n_list_words = tl_smpm_list_n_words(n);
    m->list = tl_arena_alloc(arena, m->n_list_words * sizeof *m->list);
    if (!m->list)
        return no_memory(err);
    tl_smpm_list_format(m->list, rows, n);
    return TL_OK;
}

// A block for each VM and each context; shared units count from now on.
static tl_status add_tenants(tl_chip_monitor *m, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < m->plan.n_tenants && status == TL_OK; i++) {
        const tl_monitor_tenant *tenant = &m->plan.tenants[i];
        if (tl_smpm_block_of(m->model, tenant->vm, TL_SMPM_NO_CTX) == TL_SMPM_NO_BLOCK_ID)
            status = tl_smpm_vm_new(m->model, tenant->vm, err);
        if (status == TL_OK)
            status = tl_smpm_ctx_new(m->model, tenant->vm, tenant->context, err);
    }
    return status == TL_OK ? tl_smpm_start(m->model, TL_SMPM_SHARED, 0, 0, err) : status;
}

// ---- The secure controller.

static bool is_idle(const tl_chip_monitor *m) {
    bool is_used = false;
    for (uint32_t p = 0; p < m->plan.n_partitions; p++)
        is_used |= m->vm_of[p] != TL_MONITOR_NONE;
    return !is_used;
}

static void set_vm(tl_chip_monitor *m, uint32_t partition, uint32_t vm) {
    const uint64_t now = tl_smpm_now(m->model);
    m->idle_cycles += is_idle(m) ? now - m->idle_from : 0;
    m->idle_from = now;
    m->vm_of[partition] = vm;
}

static void tell_idle(void *ctx, uint64_t *ret_idle_cycles, uint32_t *ret_n_partitions) {
    const tl_chip_monitor *m = ctx;
    *ret_idle_cycles = m->idle_cycles + (is_idle(m) ? tl_smpm_now(m->model) - m->idle_from : 0);
    *ret_n_partitions = 0;
    for (uint32_t p = 0; p < m->plan.n_partitions; p++)
        *ret_n_partitions += m->vm_of[p] != TL_MONITOR_NONE;
}

static uint32_t partition_of(void *ctx, uint32_t vm) {
    const tl_chip_monitor *m = ctx;
    for (uint32_t p = 0; p < m->plan.n_partitions; p++)
        if (m->vm_of[p] == vm && !m->is_switching[p])
            return p;
    return TL_MONITOR_NONE;
}

static tl_status add_service(tl_chip_monitor *m, tl_arena *arena, tl_error *err) {
    for (uint32_t p = 0; p < TL_SMPM_MAX_PARTITIONS; p++)
        m->vm_of[p] = TL_MONITOR_NONE;
    const tl_smpm_service_plan plan = {.model = m->model,
                                       .config = &m->config,
                                       .chip = &m->plan,
                                       .list = m->list,
                                       .n_list_words = m->n_list_words,
                                       .n_ulcs = m->layout.n_ulcs,
                                       .ctx = m,
                                       .idle = tell_idle,
                                       .partition_of = partition_of};
    return tl_smpm_service_new(&plan, arena, &m->service, err);
}

// Nobody outside of a confidential VM reads its blocks but through sealed records.
static tl_status check_confidential(const tl_monitor_plan *plan, tl_error *err) {
    const tl_crypto *unused;
    for (uint32_t i = 0; i < plan->n_vms; i++)
        if (plan->vms[i].is_confidential)
            return tl_crypto_get(&unused, err);
    return TL_OK;
}

static tl_status create(const tl_monitor_plan *plan, tl_arena *arena, tl_chip_monitor **ret_monitor, tl_error *err) {
    tl_chip_monitor *m = tl_arena_alloc(arena, sizeof *m);
    if (!m)
        return no_memory(err);
    m->plan = *plan;
    tl_status status = check_confidential(plan, err);
    if (status == TL_OK)
        status = make_layout(m, err);
    if (status == TL_OK)
        status = attach_taps(m, arena, err);
    if (status == TL_OK)
        status = new_arrivals(m, arena, err);
    if (status == TL_OK)
        status = add_metrics(m, arena, err);
    if (status == TL_OK)
        status = make_list(m, arena, err);
    if (status == TL_OK && plan->measures_cost && !(m->metered = tl_smpm_metered_new(&m->config, &m->layout, arena)))
        status = no_memory(err);
    const tl_smpm_plan of_model = {.config = m->config,
                                   .layout = &m->layout,
                                   .n_blocks = 2 * plan->n_tenants,
                                   .flush_cycles = tl_smpm_is_on(m->config.vm_switch_flush) ? plan->flush_cycles : 0,
                                   .stands_still = true,
                                   .host = {.ctx = m, .totals = totals},
                                   .observer = m->metered ? tl_smpm_metered_observer(m->metered) : (tl_smpm_observer){0}};
    if (status == TL_OK)
        status = tl_smpm_new(&of_model, arena, &m->model, err);
    if (status == TL_OK && m->metered)
        tl_smpm_metered_attach(m->metered, m->model);
    if (status == TL_OK)
        status = add_tenants(m, err);
    m->n_copy_words = TL_SMPM_MAX_BLOCK_WORDS;
    m->copy = tl_arena_alloc(arena, m->n_copy_words * sizeof *m->copy);
    if (status == TL_OK && !m->copy)
        status = no_memory(err);
    if (status == TL_OK)
        status = add_service(m, arena, err);
    if (status == TL_OK)
        *ret_monitor = m;
    return status;
}

// ---- Running.

static uint32_t ctx_of(uint32_t context) { return context == TL_MONITOR_NONE ? TL_SMPM_NO_CTX : context; }

static tl_status start(tl_chip_monitor *m, uint32_t partition, uint32_t vm, uint32_t context, tl_error *err) {
    set_vm(m, partition, vm);
    return tl_smpm_start(m->model, partition, vm, ctx_of(context), err);
}

static void halt(tl_chip_monitor *m, uint32_t partition, uint64_t cycle, uint32_t vm, uint32_t context) {
    const uint64_t shown = shows_at(m, partition);
    assert(!m->is_switching[partition]);
    m->is_switching[partition] = true;
    m->requests[partition] = (request){.is_pending = true,
                                       .at = shown > cycle + 1 ? shown : cycle + 1,
                                       .halted = cycle,
                                       .vm = vm == TL_MONITOR_NONE ? TL_SMPM_NO_VM : vm,
                                       .ctx = ctx_of(context)};
}

static uint64_t next(const tl_chip_monitor *m) {
    uint64_t cycle = tl_smpm_next(m->model);
    for (uint32_t p = 0; p < m->plan.n_partitions; p++)
        if (m->requests[p].is_pending)
            cycle = tl_lesser(cycle, m->requests[p].at);
    return cycle;
}

static uint64_t next_of(const tl_chip_monitor *m, uint32_t partition) {
    const uint64_t cycle = tl_smpm_next_of(m->model, partition);
    return m->requests[partition].is_pending ? tl_lesser(cycle, m->requests[partition].at) : cycle;
}

static tl_status make_requests(tl_chip_monitor *m, uint64_t cycle, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t p = 0; p < m->plan.n_partitions && status == TL_OK; p++) {
        request *r = &m->requests[p];
        if (!r->is_pending || r->at > cycle)
            continue;
        r->is_pending = false;
        status = tl_smpm_switch_to(m->model, p, r->vm, r->ctx, err);
    }
    return status;
}

static void note_ends(tl_chip_monitor *m) {
    for (uint32_t p = 0; p < m->plan.n_partitions; p++) {
        tl_smpm_switched done;
        if (!m->is_switching[p] || m->requests[p].is_pending)
            continue;
        tl_smpm_switched_get(m->model, p, &done);
        if (done.step != TL_SMPM_IDLE)
            continue;
        m->is_switching[p] = false;
        if (m->metered)
            tl_smpm_metered_switched(m->metered, p);
        set_vm(m, p, m->requests[p].vm);
        m->last[p] = (tl_monitor_switch){.n_done = done.n_done,
                                         .begin_cycle = m->requests[p].halted,
                                         .end_cycle = done.at[TL_SMPM_CS13] + 1,
                                         .n_missing = (uint32_t)__builtin_popcount(done.missing)};
    }
}

static tl_status reach(tl_chip_monitor *m, uint64_t cycle, tl_error *err) {
    run_model(m, cycle);
    tl_status status = make_requests(m, cycle, err);
    if (status != TL_OK)
        return status;
    if (tl_smpm_next(m->model) <= cycle)
        run_model(m, cycle + 1);
    note_ends(m);
    return TL_OK;
}

static void unseen(tl_chip_monitor *m, uint64_t until) {
    if (!m->sealing) // records show blocks all the time
        tl_smpm_unseen(m->model, until);
}
static uint64_t lag(const tl_chip_monitor *m) { return tl_smpm_lag(m->model); }

static bool flushes_caches(const tl_chip_monitor *m) { return tl_smpm_is_on(m->config.vm_switch_flush); }
static bool is_switching(const tl_chip_monitor *m, uint32_t partition) { return m->is_switching[partition]; }
static void last_switch(const tl_chip_monitor *m, uint32_t partition, tl_monitor_switch *ret_switch) { *ret_switch = m->last[partition]; }

// Shared units are never stopped, so the last of their values leave with periodic triggers.
static uint64_t completes(tl_chip_monitor *m) {
    const uint64_t shown = shows_at(m, TL_SMPM_SHARED), now = tl_smpm_now(m->model);
    const uint64_t drain = tl_smpm_layout_bounds(&m->config, &m->layout).drain_max;
    return (shown > now ? shown : now) + N_COMMIT_PERIODS * (uint64_t)m->config.tb_period + 2 * drain +
           (m->sealing ? tl_smpm_sealing_round_cycles(m->sealing) : 0);
}

static bool is_writing(const tl_chip_monitor *m) {
    const uint64_t *words;
    uint32_t n_words;
    for (uint32_t block = 0; (words = tl_smpm_block_words(m->model, block, &n_words)); block++)
        if (words[2] & 1) // gen
            return true;
    return false;
}

// ---- Blocks.

static uint32_t n_events(const tl_chip_monitor *m) { return m->n_metrics; }
static const tl_monitor_event *event_at(const tl_chip_monitor *m, uint32_t index) { return &m->metrics[index].event; }

static bool hears(const tl_chip_monitor *m, uint32_t vm, uint32_t context) {
    for (uint32_t i = 0; i < n_heard(m); i++)
        if (m->plan.tenants[i].vm == vm && m->plan.tenants[i].context == context)
            return true;
    return false;
}

static uint32_t flags_of(uint32_t flags) {
    return (flags & TL_SMPM_OVF ? TL_MONITOR_OVERFLOW : 0u) | (flags & TL_SMPM_LOSSY ? TL_MONITOR_LOSSY : 0u) |
           (flags & TL_SMPM_UNAVAILABLE ? TL_MONITOR_UNAVAILABLE : 0u) | (flags & TL_SMPM_SATURATED ? TL_MONITOR_SATURATED : 0u);
}

// Units of one part; 0 if the block lacks the part.
static uint64_t units_of(const tl_chip_monitor *m, const tl_smpm_block *block, const metric *row, tl_smpm_part part) {
    const tl_smpm_value count = tl_smpm_block_value(block, part, row->ctr);
    if (part != TL_SMPM_CTR && count.flags & TL_SMPM_UNAVAILABLE)
        return 0;
    return count.count * row->event.scale +
           (row->is_multi && tl_smpm_exports(&m->config) ? tl_smpm_block_value(block, part, row->residue).count : 0);
}

// A block of profile LITERAL cannot say which metrics it lacks; the list of metrics does.
static bool is_routed(const tl_chip_monitor *m, const metric *row, bool is_tenant) {
    return !is_tenant || !row->event.is_shared || (!row->event.is_device && tl_smpm_is_on(m->config.fixed_routing));
}

static tl_status read_block(const tl_chip_monitor *m, uint32_t vm, uint32_t context, tl_monitor_block *ret_block,
                            tl_monitor_value *ret_values, tl_error *err) {
    const bool is_tenant = vm != TL_MONITOR_NONE;
    const uint32_t number = is_tenant ? tl_smpm_block_of(m->model, vm, ctx_of(context)) : 0;
    uint32_t n_words = 0;
    tl_smpm_block block;
    const uint64_t *words = tl_smpm_block_words(m->model, number, &n_words);
    if (!words || n_words > m->n_copy_words)
        return tl_fail(err, TL_EINVAL, "VM %u, context %u: no block of the monitor", vm, context);
    if (tl_smpm_block_copy(words, n_words, 1, m->copy) != TL_SMPM_COPIED) {
        *ret_block = (tl_monitor_block){.flags = TL_MONITOR_BUSY};
        for (uint32_t i = 0; i < m->n_metrics; i++)
            ret_values[i] = (tl_monitor_value){.flags = TL_MONITOR_UNAVAILABLE | TL_MONITOR_BUSY};
        return TL_OK;
    }
    tl_status status = tl_smpm_block_decode(m->copy, n_words, &block, err);
    if (status != TL_OK)
        return status;
    *ret_block = (tl_monitor_block){
        .gen = block.gen, .commit_cycle = block.t_commit, .active_cycles = block.t_active, .flags = flags_of(block.flags)};
    for (uint32_t i = 0; i < m->n_metrics; i++) {
        const metric *row = &m->metrics[i];
        const uint32_t flags = flags_of(tl_smpm_block_value(&block, TL_SMPM_CTR, row->ctr).flags);
        ret_values[i] = (tl_monitor_value){.flags = is_routed(m, row, is_tenant) ? flags : TL_MONITOR_UNAVAILABLE};
        if (ret_values[i].flags & TL_MONITOR_UNAVAILABLE)
            continue;
        ret_values[i].late = is_tenant ? units_of(m, &block, row, TL_SMPM_LATE) : 0;
        ret_values[i].count = units_of(m, &block, row, TL_SMPM_CTR) + ret_values[i].late;
    }
    return TL_OK;
}

static const uint64_t *words_of(const tl_chip_monitor *m, uint32_t vm, uint32_t context, uint32_t *ret_n_words) {
    return tl_smpm_block_words(m->model, vm == TL_MONITOR_NONE ? 0 : tl_smpm_block_of(m->model, vm, ctx_of(context)), ret_n_words);
}

static const uint64_t *list_of(const tl_chip_monitor *m, uint32_t *ret_n_words) {
    *ret_n_words = m->n_list_words;
    return m->list;
}

// ---- Clients.

tl_smpm_metered *tl_smpm_chip_metered(tl_chip_monitor *m) { return m->metered; }
tl_smpm_service *tl_smpm_chip_service(tl_chip_monitor *m) { return m->service; }

static uint64_t window_bytes(const tl_chip_monitor *m) { return tl_smpm_service_bytes(m->service); }
static uint64_t requests_at(const tl_chip_monitor *m) { return (void)m, 0; }
static uint64_t block_at(const tl_chip_monitor *m, uint32_t vm, uint32_t context) { return tl_smpm_service_block(m->service, vm, context); }
static uint64_t audit_at(const tl_chip_monitor *m) { return tl_smpm_service_page(m->service, TL_SMPM_PAGE_AUDIT); }
static void present(tl_chip_monitor *m, uint64_t cycle) { run_model(m, cycle); }
static bool load(tl_chip_monitor *m, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    return tl_smpm_service_load(m->service, client, offset, size_bytes, ret_value);
}
static bool store(tl_chip_monitor *m, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    return tl_smpm_service_store(m->service, client, offset, size_bytes, value);
}
static uint64_t n_refused(const tl_chip_monitor *m) { return tl_smpm_service_mcu(m->service)->audit.n_entries; }

static tl_status seal(tl_chip_monitor *m, uint32_t vm, FILE *records, FILE *key, tl_arena *arena, tl_error *err) {
    const tl_smpm_sealing_plan plan = {.mcu = tl_smpm_service_mcu(m->service),
                                       .n = tl_smpm_n_metrics(&m->config, m->layout.n_types),
                                       .is_literal = !m->plan.is_safe,
                                       .interval_cycles = m->config.record_cycles};
    uint32_t n_ctxs = 0;
    for (uint32_t i = 0; i < m->plan.n_tenants; i++)
        n_ctxs += m->plan.tenants[i].vm == vm;
    tl_status status = m->sealing ? TL_OK : tl_smpm_sealing_new(&plan, arena, &m->sealing, err);
    return status == TL_OK ? tl_smpm_sealing_add(m->sealing, vm, n_ctxs, tl_smpm_now(m->model), records, key, arena, err) : status;
}

static void oob_answer(tl_chip_monitor *m, const uint8_t *message, uint8_t *ret_answer) {
    _Static_assert((int)TL_SMPM_OOB_MESSAGE_BYTES == (int)TL_MONITOR_MESSAGE_BYTES, "one message of the wire");
    tl_smpm_oob_answer(tl_smpm_service_mailbox(m->service), message, ret_answer);
}
static void oob_hang_up(tl_chip_monitor *m) { tl_smpm_mailbox_hang_up(tl_smpm_service_mailbox(m->service)); }

const tl_chip_monitor_type tl_smpm_chip_monitor = {
    .compatible = "tally,smpm-blocks",
    .create = create,
    .start = start,
    .halt = halt,
    .next = next,
    .next_of = next_of,
    .reach = reach,
    .moved = moved,
    .unseen = unseen,
    .lag = lag,
    .flushes_caches = flushes_caches,
    .is_switching = is_switching,
    .last_switch = last_switch,
    .completes = completes,
    .is_writing = is_writing,
    .n_events = n_events,
    .event = event_at,
    .hears = hears,
    .read = read_block,
    .words = words_of,
    .list = list_of,
    .window_bytes = window_bytes,
    .requests_at = requests_at,
    .audit_at = audit_at,
    .block_at = block_at,
    .present = present,
    .load = load,
    .store = store,
    .n_refused = n_refused,
    .seal = seal,
    .oob_answer = oob_answer,
    .oob_hang_up = oob_hang_up,
};
