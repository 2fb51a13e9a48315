// SPDX-License-Identifier: MIT
// Feeds a meter from a running model; see metered.h.
#include "pmu/smpm/metered.h"

#include "pmu/smpm/state.h"

struct tl_smpm_metered {
    tl_smpm_meter meter;
    const tl_smpm *model;
    uint64_t n_adds; // that the meter knows of
};

static bool is_switching(const tl_smpm *m, uint32_t partition) {
    return partition < m->layout.n_partitions && m->core->managers[partition].step >= TL_SMPM_CS2;
}

static void see_frame(void *ctx, const tl_smpm_frame *frame) {
    tl_smpm_metered *x = ctx;
    x->meter.is_in_switch = is_switching(x->model, x->meter.layout->ulcs[frame->ulc].partition);
    tl_smpm_meter_frame(&x->meter, frame->ulc, frame->is_final, frame->values, frame->residues);
}

// The adds since the last call, whose number the model keeps.
static void add(tl_smpm_metered *x, uint32_t n_blocks) {
    const uint64_t n_adds = x->model->core->counters.adds;
    tl_smpm_meter_add(&x->meter, n_adds - x->n_adds, n_blocks);
    x->n_adds = n_adds;
}

static tl_smpm_route route_of(const tl_smpm *m, uint32_t row) {
    const tl_smpm_row_route *route = &m->row_routes[row];
    return (tl_smpm_route){.target = route->target, .channel = route->channel, .to_d = route->dests >> m->channel_d & 1};
}

// Every record reaches channel 0, where it counts once. FIXED records are added to their blocks at
// once by the channel of their partition.
static void see_record(void *ctx, uint64_t cycle, uint32_t channel, uint32_t source, const tl_smpm_record *record, tl_smpm_fate fate) {
    tl_smpm_metered *x = ctx;
    const tl_smpm *m = x->model;
    const uint32_t ccu = m->ccu_of_id[source][record->header >> 3 & 0xff], row = record->header >> 11 & 0x1ff;
    const bool has_data = (record->header & 7) != TL_SMPM_EMPTY;
    tl_smpm_route route = {.target = TL_SMPM_TO_CURRENT, .to_d = true}; // of EMPTY
    (void)cycle;
    if (ccu == 0xff)
        return;
    if (has_data)
        route = route_of(m, m->row_first[ccu] + row);
    const uint32_t partition = m->layout.ccus[ccu].partition;
    x->meter.is_in_switch = is_switching(m, partition == TL_SMPM_SHARED ? m->core->ccus[ccu].drain_scope : partition);
    if (channel == 0)
        tl_smpm_meter_record(&x->meter, &route, has_data);
    else if (channel != m->channel_d && has_data && route.target == TL_SMPM_TO_FIXED && fate == TL_SMPM_TAKEN)
        add(x, m->core->channels[channel].fixed_ctx_block == TL_SMPM_NO_BLOCK_ID ? 1 : 2);
}

static void see_drain(void *ctx, uint32_t ccu, uint32_t scope) {
    tl_smpm_metered *x = ctx;
    if (scope != TL_SMPM_SHARED || is_switching(x->model, x->model->layout.ccus[ccu].partition))
        return; // the end of the switch delivers
    x->meter.is_in_switch = false;
    tl_smpm_meter_deliver(&x->meter, ccu);
}

static void see_commit(void *ctx, uint64_t begin_cycle, uint64_t end_cycle, uint32_t channel) {
    tl_smpm_metered *x = ctx;
    const tl_smpm *m = x->model;
    const tl_smpm_channel *c = &m->core->channels[channel];
    const bool is_own = channel != 0 && channel != m->channel_d;
    (void)begin_cycle, (void)end_cycle;
    x->meter.is_in_switch = is_own && is_switching(m, m->channel_source[channel]);
    tl_smpm_meter_commit(&x->meter, is_own ? m->n_adds[channel] / 2 : m->n_adds[channel], 0, 0);
    add(x, (uint32_t)(c->vm_block != TL_SMPM_NO_BLOCK_ID) + (c->ctx_block != TL_SMPM_NO_BLOCK_ID));
}

tl_smpm_metered *tl_smpm_metered_new(const tl_smpm_config *config, const tl_smpm_layout *layout, tl_arena *arena) {
    tl_smpm_metered *x = tl_arena_alloc(arena, sizeof *x);
    if (!x)
        return NULL;
    *x = (tl_smpm_metered){0};
    tl_smpm_meter_init(config, layout, &x->meter);
    x->meter.is_selected = true;
    return x;
}

tl_smpm_observer tl_smpm_metered_observer(tl_smpm_metered *x) {
    return (tl_smpm_observer){.ctx = x, .frame = see_frame, .record = see_record, .drain = see_drain, .commit = see_commit};
}

void tl_smpm_metered_attach(tl_smpm_metered *x, const tl_smpm *model) { x->model = model; }

void tl_smpm_metered_switched(tl_smpm_metered *x, uint32_t partition) {
    const tl_smpm_layout *l = x->meter.layout;
    tl_smpm_meter_switch(&x->meter, false);
    tl_smpm_meter_switch(&x->meter, true); // counts it
    for (uint32_t ccu = 0; ccu < l->n_ccus; ccu++)
        if (l->ccus[ccu].partition == partition)
            tl_smpm_meter_deliver(&x->meter, ccu);
        else if (l->ccus[ccu].partition == TL_SMPM_SHARED && tl_smpm_is_on(x->meter.config->fixed_routing))
            tl_smpm_meter_deliver_fixed(&x->meter, ccu, l->partitions[partition].channel);
    tl_smpm_meter_switch(&x->meter, false);
}

const tl_smpm_meter *tl_smpm_metered_now(tl_smpm_metered *x) {
    x->meter.is_in_switch = false;
    tl_smpm_meter_cycles(&x->meter, x->model->core->now - x->meter.n_cycles);
    add(x, 0);
    return &x->meter;
}
