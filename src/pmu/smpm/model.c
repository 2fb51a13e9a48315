// SPDX-License-Identifier: MIT
// Assembly of a model, its cycles, and the views of its state. The state is one run of bytes behind
// `core`; tables that never change are computed from the plan.
#include <string.h>

#include "pmu/smpm/state.h"

enum { BLOCK_VM0, BLOCK_DEV, FIRST_TENANT_BLOCK };

//  ---- blocks

uint32_t tl_smpm_find_block(const tl_smpm *m, uint32_t vm, uint32_t ctx) {
    for (uint32_t block = FIRST_TENANT_BLOCK; block < m->n_blocks; block++)
        if (m->slots[block].is_used && m->slots[block].vm == vm && m->slots[block].ctx == ctx)
            return block;
    return TL_SMPM_NO_BLOCK_ID;
}

void tl_smpm_block_open(tl_smpm *m, uint32_t block) {
    if (m->slots[block].n_open++ == 0)
        tl_smpm_block_begin(tl_smpm_words_of(m, block));
}

void tl_smpm_block_close(tl_smpm *m, uint32_t block, uint64_t cycle) {
    if (--m->slots[block].n_open == 0)
        tl_smpm_block_end(tl_smpm_words_of(m, block), cycle);
}

static tl_smpm_shape shape_of(const tl_smpm *m, uint32_t block) {
    const tl_smpm_slot *slot = &m->slots[block];
    tl_smpm_kind kind = block == BLOCK_VM0            ? TL_SMPM_VM0
                        : block == BLOCK_DEV          ? TL_SMPM_DEV
                        : slot->ctx == TL_SMPM_NO_CTX ? TL_SMPM_VM
                                                      : TL_SMPM_CTX;
    tl_smpm_shape shape = {.kind = kind, .vm = slot->vm, .ctx = slot->ctx, .n = m->n_metrics};
    if (m->is_safe)
        shape.parts = tl_smpm_safe_parts(kind);
    if (kind == TL_SMPM_VM0) // the sum of tenants needs them in each profile
        shape.parts |= TL_SMPM_PART_BIT(TL_SMPM_UNASSIGNED) | TL_SMPM_PART_BIT(TL_SMPM_SWITCH) | TL_SMPM_PART_BIT(TL_SMPM_RETIRED);
    return shape;
}

// `channel`: the one that points to the block; 0 also for a tenant's block that no channel points
// to.
static void mark_available(tl_smpm *m, uint32_t block, uint32_t channel) {
    const tl_smpm_slot *slot = &m->slots[block];
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        for (uint32_t row = 0; row < m->layout.ccus[ccu].n_rows; row++) {
            const tl_smpm_row *info = &m->rows[m->row_first[ccu] + row];
            const tl_smpm_row_route *route = &m->row_routes[m->row_first[ccu] + row];
            bool is_routed = false;
            if (block == BLOCK_VM0 || block == BLOCK_DEV)
                is_routed = route->dests >> (block == BLOCK_VM0 ? 0 : m->channel_d) & 1;
            else if (route->target == TL_SMPM_TO_CURRENT)
                is_routed = channel != 0 && route->channel == channel;
            else if (route->target == TL_SMPM_TO_FIXED)
                is_routed = m->filters[info->ulc].vm == slot->vm && (slot->ctx == TL_SMPM_NO_CTX || m->filters[info->ulc].ctx == slot->ctx);
            for (uint32_t left = is_routed ? info->lanes : 0; left; left &= left - 1)
                tl_smpm_block_set_available(tl_smpm_words_of(m, block), tl_smpm_row_index(m, info) + (uint32_t)__builtin_ctz(left), true);
        }
    }
}

void tl_smpm_make_available(tl_smpm *m, uint32_t channel) {
    const tl_smpm_channel *c = &m->core->channels[channel];
    const uint32_t blocks[] = {c->vm_block, c->ctx_block};
    for (uint32_t i = 0; i < 2; i++) {
        if (blocks[i] == TL_SMPM_NO_BLOCK_ID || m->slots[blocks[i]].is_available >> channel & 1)
            continue;
        mark_available(m, blocks[i], channel);
        m->slots[blocks[i]].is_available |= (uint16_t)(1u << channel);
    }
}

static void format(tl_smpm *m, uint32_t block, uint32_t vm, uint32_t ctx) {
    m->slots[block] = (tl_smpm_slot){.is_used = true, .vm = vm, .ctx = ctx};
    tl_smpm_shape shape = shape_of(m, block);
    tl_smpm_block_format(tl_smpm_words_of(m, block), &shape);
    mark_available(m, block, 0);
}

static tl_status new_block(tl_smpm *m, uint32_t vm, uint32_t ctx, tl_error *err) {
    for (uint32_t block = FIRST_TENANT_BLOCK; block < m->n_blocks; block++) {
        if (m->slots[block].is_used)
            continue;
        format(m, block, vm, ctx);
        return TL_OK;
    }
    return tl_fail(err, TL_EINVAL, "no block is free for VM %u: at most %u VMs and contexts exist at once", vm,
                   m->n_blocks - FIRST_TENANT_BLOCK);
}

tl_status tl_smpm_vm_new(tl_smpm *m, uint32_t vm, tl_error *err) {
    if (vm >= TL_SMPM_ANY)
        return tl_fail(err, TL_EINVAL, "VM %u: must be below %u", vm, (unsigned)TL_SMPM_ANY);
    if (tl_smpm_find_block(m, vm, TL_SMPM_NO_CTX) != TL_SMPM_NO_BLOCK_ID)
        return tl_fail(err, TL_EINVAL, "VM %u exists already: free it first", vm);
    return new_block(m, vm, TL_SMPM_NO_CTX, err);
}

tl_status tl_smpm_ctx_new(tl_smpm *m, uint32_t vm, uint32_t ctx, tl_error *err) {
    if (ctx >= TL_SMPM_CTX_SWITCH)
        return tl_fail(err, TL_EINVAL, "context %u: must be below %u", ctx, (unsigned)TL_SMPM_CTX_SWITCH);
    if (tl_smpm_find_block(m, vm, TL_SMPM_NO_CTX) == TL_SMPM_NO_BLOCK_ID)
        return tl_fail(err, TL_EINVAL, "context %u of VM %u: the VM does not exist", ctx, vm);
    if (tl_smpm_find_block(m, vm, ctx) != TL_SMPM_NO_BLOCK_ID)
        return tl_fail(err, TL_EINVAL, "context %u of VM %u exists already: free it first", ctx, vm);
    return new_block(m, vm, ctx, err);
}

// ctx TL_SMPM_NO_CTX: any context of the VM.
static bool names(uint32_t vm, uint32_t ctx, uint32_t other_vm, uint32_t other_ctx) {
    return vm == other_vm && (ctx == TL_SMPM_NO_CTX || ctx == other_ctx);
}

static bool is_in_use(const tl_smpm *m, uint32_t vm, uint32_t ctx) {
    for (uint32_t p = 0; p < m->layout.n_partitions; p++) {
        const tl_smpm_channel *c = &m->core->channels[m->layout.partitions[p].channel];
        const tl_smpm_manager *g = &m->core->managers[p];
        if (names(vm, ctx, c->vm, c->ctx) ||
            (g->step != TL_SMPM_IDLE && g->step != TL_SMPM_SNAPSHOT && names(vm, ctx, g->incoming.vm, g->incoming.ctx)))
            return true;
        if (c->has_fixed && names(vm, ctx, m->slots[c->fixed_vm_block].vm,
                                  c->fixed_ctx_block == TL_SMPM_NO_BLOCK_ID ? TL_SMPM_NO_CTX : m->slots[c->fixed_ctx_block].ctx))
            return true;
        for (uint32_t i = 0; i < g->n_queued; i++)
            if (names(vm, ctx, g->queue[i].vm, g->queue[i].ctx))
                return true;
    }
    return false;
}

static void free_block(tl_smpm *m, uint32_t block) {
    tl_smpm_shape shape = shape_of(m, block);
    tl_smpm_block_erase(tl_smpm_words_of(m, block), tl_smpm_block_n_words(shape.n, shape.parts));
    m->slots[block] = (tl_smpm_slot){0};
}

static tl_status check_free(const tl_smpm *m, uint32_t vm, uint32_t ctx, tl_error *err) {
    if (tl_smpm_find_block(m, vm, ctx) == TL_SMPM_NO_BLOCK_ID)
        return tl_fail(err, TL_EINVAL, "VM %u has no such block: nothing is there to free", vm);
    if (is_in_use(m, vm, ctx))
        return tl_fail(err, TL_EINVAL, "VM %u still runs or is about to: switch its partition to another first", vm);
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++) {
        const tl_smpm_filter *f = &m->filters[ulc];
        if (f->kind == TL_SMPM_FILTER_MATCH && f->vm == vm && (ctx == TL_SMPM_NO_CTX || f->ctx == ctx))
            return tl_fail(err, TL_EINVAL, "VM %u still has a filter on ULC %u: free the filter first", vm, ulc);
    }
    return TL_OK;
}

tl_status tl_smpm_ctx_free(tl_smpm *m, uint32_t vm, uint32_t ctx, tl_error *err) {
    tl_status status = check_free(m, vm, ctx, err);
    if (status == TL_OK)
        free_block(m, tl_smpm_find_block(m, vm, ctx));
    return status;
}

tl_status tl_smpm_vm_free(tl_smpm *m, uint32_t vm, tl_error *err) {
    tl_status status = check_free(m, vm, TL_SMPM_NO_CTX, err);
    if (status != TL_OK)
        return status;
    uint32_t block = tl_smpm_find_block(m, vm, TL_SMPM_NO_CTX);
    tl_smpm_block view;
    status = tl_smpm_block_decode(tl_smpm_words_of(m, block), m->n_block_words, &view, err);
    if (status != TL_OK)
        return status;
    tl_smpm_block_open(m, BLOCK_VM0);
    for (uint32_t i = 0; i < m->n_metrics; i++)
        tl_smpm_block_add(tl_smpm_words_of(m, BLOCK_VM0), TL_SMPM_RETIRED, i,
                          tl_smpm_block_value(&view, TL_SMPM_CTR, i).count + tl_smpm_block_value(&view, TL_SMPM_LATE, i).count);
    tl_smpm_block_close(m, BLOCK_VM0, m->core->now);
    for (uint32_t other = FIRST_TENANT_BLOCK; other < m->n_blocks; other++)
        if (m->slots[other].is_used && m->slots[other].vm == vm)
            free_block(m, other);
    return TL_OK;
}

uint32_t tl_smpm_block_of(const tl_smpm *m, uint32_t vm, uint32_t ctx) { return tl_smpm_find_block(m, vm, ctx); }

const uint64_t *tl_smpm_block_words(const tl_smpm *m, uint32_t block, uint32_t *ret_n_words) {
    if (block >= m->n_blocks || !m->slots[block].is_used)
        return NULL;
    tl_smpm_shape shape = shape_of(m, block);
    *ret_n_words = tl_smpm_block_n_words(shape.n, shape.parts);
    return tl_smpm_words_of(m, block);
}

//  ---- filters, masks, triggers

static bool is_disabled(const tl_smpm *m, uint32_t ulc) {
    return !m->core->ccus[m->layout.ulcs[ulc].ccu].line && !tl_smpm_ccu_is_busy(&m->core->ccus[m->layout.ulcs[ulc].ccu]);
}

static bool is_match(const tl_smpm_filter *f, uint32_t vm, uint32_t ctx, uint32_t engine) {
    return f->kind == TL_SMPM_FILTER_MATCH && (f->vm == TL_SMPM_ANY || f->vm == vm) && (f->ctx == TL_SMPM_ANY || f->ctx == ctx) &&
           (f->engine == TL_SMPM_ANY || f->engine == engine);
}

uint32_t tl_smpm_filter_of(const tl_smpm *m, uint32_t unit, uint32_t vm, uint32_t ctx, uint32_t engine) {
    uint32_t best = UINT32_MAX, best_score = 0;
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++) {
        const tl_smpm_filter *f = &m->filters[ulc];
        if (m->layout.ulcs[ulc].unit != unit)
            continue;
        uint32_t score = 0;
        if (is_match(f, vm, ctx, engine))
            score = 2 + 4u * (f->vm != TL_SMPM_ANY) + 2u * (f->ctx != TL_SMPM_ANY) + (f->engine != TL_SMPM_ANY);
        else if (f->kind == TL_SMPM_FILTER_REST)
            score = 1;
        if (score <= best_score)
            continue;
        best = ulc;
        best_score = score;
    }
    return best;
}

static bool feeds_d(const tl_smpm *m, uint32_t ulc, bool to_d, uint64_t mask) {
    return to_d && (mask & m->fed[m->layout.ulcs[ulc].type]) == 0;
}

void tl_smpm_coverage_get(const tl_smpm *m, tl_smpm_coverage *ret_coverage) {
    *ret_coverage = (tl_smpm_coverage){{0}};
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++)
        ret_coverage->bits[ulc / 64] |= (uint64_t)feeds_d(m, ulc, m->routes[ulc].to_d, m->masks[ulc]) << ulc % 64;
}

static bool keeps_coverage(const tl_smpm *m, uint32_t ulc, bool to_d, uint64_t mask) {
    tl_smpm_coverage before, after;
    tl_smpm_coverage_get(m, &before);
    after = before;
    after.bits[ulc / 64] &= ~(UINT64_C(1) << ulc % 64);
    after.bits[ulc / 64] |= (uint64_t)feeds_d(m, ulc, to_d, mask) << ulc % 64;
    return tl_smpm_coverage_is_kept(&before, &after);
}

tl_status tl_smpm_filter_set(tl_smpm *m, uint32_t ulc, const tl_smpm_filter *filter, const tl_smpm_route *route, tl_error *err) {
    if (ulc >= m->layout.n_ulcs || m->layout.ulcs[ulc].partition != TL_SMPM_SHARED)
        return tl_fail(err, TL_EINVAL, "ULC %u has no filter: only ULCs of shared units have", ulc);
    if (route->target == TL_SMPM_TO_FIXED && (route->channel == 0 || route->channel > m->layout.n_partitions))
        return tl_fail(err, TL_EINVAL, "filter of ULC %u: channel %u is no channel of a partition", ulc, route->channel);
    if (route->target == TL_SMPM_TO_CURRENT || route->target > TL_SMPM_TO_SWITCH)
        return tl_fail(err, TL_EINVAL, "filter of ULC %u: a shared unit's values need a fixed target", ulc);
    if (!keeps_coverage(m, ulc, route->to_d, m->masks[ulc]))
        return tl_fail(err, TL_EINVAL, "filter of ULC %u: the change would take values from channel D; keep to_d", ulc);
    bool was_free = m->filters[ulc].kind == TL_SMPM_FILTER_FREE, becomes_free = filter->kind == TL_SMPM_FILTER_FREE;
    bool has_left = m->core->now - m->freed_at[ulc] >= 2 * (uint64_t)m->config.tb_period || m->freed_at[ulc] == TL_SMPM_NEVER;
    if (!is_disabled(m, ulc) && !(becomes_free || (was_free && has_left)))
        return tl_fail(err, TL_EINVAL, "filter of ULC %u: old values are on their way; free it and wait two trigger periods", ulc);
    for (uint32_t other = 0; other < m->layout.n_ulcs && filter->kind == TL_SMPM_FILTER_MATCH; other++) {
        const tl_smpm_filter *f = &m->filters[other];
        if (other != ulc && m->layout.ulcs[other].unit == m->layout.ulcs[ulc].unit && f->kind == TL_SMPM_FILTER_MATCH &&
            f->vm == filter->vm && f->ctx == filter->ctx &&
            (f->engine == filter->engine || f->engine == TL_SMPM_ANY || filter->engine == TL_SMPM_ANY))
            return tl_fail(err, TL_EINVAL, "filters of ULCs %u and %u overlap: both count VM %u, context %u", other, ulc, filter->vm,
                           filter->ctx);
    }
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        tl_smpm_ahead_settle(m, ccu, m->core->now);
    if (becomes_free) { // values on their way keep their route
        m->filters[ulc].kind = TL_SMPM_FILTER_FREE;
        m->freed_at[ulc] = m->core->now;
        return TL_OK;
    }
    m->filters[ulc] = *filter;
    m->routes[ulc] = *route;
    tl_smpm_routes_derive(m);
    for (uint32_t block = FIRST_TENANT_BLOCK; block < m->n_blocks; block++)
        if (m->slots[block].is_used && m->slots[block].vm == filter->vm)
            mark_available(m, block, 0);
    return TL_OK;
}

tl_status tl_smpm_mask_set(tl_smpm *m, uint32_t ulc, uint64_t mask, tl_error *err) {
    if (ulc >= m->layout.n_ulcs)
        return tl_fail(err, TL_EINVAL, "ULC %u: the layout has %u", ulc, m->layout.n_ulcs);
    if (!is_disabled(m, ulc))
        return tl_fail(err, TL_EINVAL, "mask of ULC %u: its partition is enabled; stop it first", ulc);
    if (!keeps_coverage(m, ulc, m->routes[ulc].to_d, mask))
        return tl_fail(err, TL_EINVAL, "mask of ULC %u: it would take counters from channel D, which must see all; leave them unmasked",
                       ulc);
    m->masks[ulc] = mask;
    return TL_OK;
}

void tl_smpm_trigger(tl_smpm *m, uint32_t ccu) {
    if (ccu >= m->layout.n_ccus || m->core->ccus[ccu].reg_at != TL_SMPM_NEVER)
        return; // a pulse on its way stands for this one, too
    m->core->ccus[ccu].reg_at = m->core->now + m->lead_cycles;
    m->core->due = 0;
    if (m->windows)
        tl_smpm_fast_plan(m, ccu);
}

//  ---- assembly

static tl_status check_config(const tl_smpm_config *c, tl_error *err) {
    const uint32_t resolved[] = {c->profile, c->residue_policy, c->frame_flags, c->frame_parity,  c->zero_frames,
                                 c->arb,     c->fixed_routing,  c->skip_zeros,  c->gate_at_pause, c->count_switch};
    for (size_t i = 0; i < TL_COUNT_OF(resolved); i++)
        if (resolved[i] == 0)
            return tl_fail(err, TL_EINVAL, "the monitor's configuration is not resolved: choose a profile and resolve it");
    if (c->ulc_ctrs == 0 || c->ulc_ctrs > TL_SMPM_MAX_CTRS || c->ulc_bits == 0 || c->ulc_bits > 16 || c->mb_inputs > TL_SMPM_MAX_MULTI)
        return tl_fail(err, TL_EINVAL, "ulc_ctrs = %u, ulc_bits = %u, mb_inputs = %u: must be 1 to %d, 1 to 16, at most %d", c->ulc_ctrs,
                       c->ulc_bits, c->mb_inputs, TL_SMPM_MAX_CTRS, TL_SMPM_MAX_MULTI);
    if (c->ulc_lanes == 0 || c->ulc_lanes > 8 || tl_smpm_payload_bits(c, true) > 64 * TL_SMPM_PAYLOAD_WORDS)
        return tl_fail(err, TL_EINVAL, "ulc_lanes = %u: must be 1 to 8, and a frame has at most %d bits", c->ulc_lanes,
                       64 * TL_SMPM_PAYLOAD_WORDS);
    if (c->ulc_period < tl_smpm_frame_cycles(c, false))
        return tl_fail(err, TL_EINVAL, "ulc_period = %u: must be at least the %u cycles of a frame", c->ulc_period,
                       tl_smpm_frame_cycles(c, false));
    if (tl_smpm_is_on(c->zero_frames) && c->snap_mode == TL_SMPM_ROLLING)
        return tl_fail(err, TL_EINVAL, "zero_frames: a rolling snapshot does not know in time that all is zero; choose snap_mode atomic");
    if (c->ccu_bits == 0 || c->ccu_bits > TL_SMPM_REC_VALUE_BITS || c->ccu_ulcs == 0 || c->tb_period == 0 || c->manager_cycles == 0 ||
        c->rcb_depth == 0 || c->rcb_shared_depth == 0)
        return tl_fail(err, TL_EINVAL,
                       "ccu_bits, ccu_ulcs, tb_period, manager_cycles, rcb_depth: each must be at least 1, ccu_bits at most %d",
                       TL_SMPM_REC_VALUE_BITS);
    return TL_OK;
}

static tl_status check_layout(const tl_smpm_config *c, const tl_smpm_layout *l, tl_error *err) {
    if (l->n_types == 0 || l->n_types > TL_SMPM_MAX_TYPES || l->n_ulcs > TL_SMPM_MAX_ULCS || l->n_ccus > TL_SMPM_MAX_CCUS ||
        l->n_partitions == 0 || l->n_partitions > TL_SMPM_MAX_PARTITIONS || l->n_units > TL_SMPM_MAX_UNITS)
        return tl_fail(err, TL_EINVAL, "the monitor's layout exceeds its maxima: attach fewer units");
    uint32_t seen_channels = 0, with_ccu = 0;
    bool has_shared = false;
    for (uint32_t p = 0; p < l->n_partitions; p++)
        seen_channels |= 1u << (l->partitions[p].channel & 31);
    if (seen_channels != (1u << (l->n_partitions + 1)) - 2)
        return tl_fail(err, TL_EINVAL, "the monitor's layout: each partition needs a channel of its own, 1 to %u", l->n_partitions);
    for (uint32_t ccu = 0; ccu < l->n_ccus; ccu++) {
        const tl_smpm_ccu *its = &l->ccus[ccu];
        if (its->n_rows > TL_SMPM_MAX_ROWS || its->n_ulcs == 0 || its->n_ulcs > TL_SMPM_MAX_CCU_ULCS ||
            (its->partition != TL_SMPM_SHARED && its->partition >= l->n_partitions))
            return tl_fail(err, TL_EINVAL, "CCU %u of the monitor's layout has %u rows and %u ULCs: at most %d and 1 to %d", ccu,
                           its->n_rows, its->n_ulcs, TL_SMPM_MAX_ROWS, TL_SMPM_MAX_CCU_ULCS);
        has_shared |= its->partition == TL_SMPM_SHARED;
        with_ccu |= its->partition == TL_SMPM_SHARED ? 0 : 1u << its->partition;
        for (uint32_t line = 0; line < its->n_ulcs; line++) {
            uint32_t ulc = its->ulcs[line];
            bool is_here = ulc < l->n_ulcs && l->ulcs[ulc].ccu == ccu && l->ulcs[ulc].line == line &&
                           l->ulcs[ulc].partition == its->partition && l->ulcs[ulc].type < l->n_types &&
                           l->ulcs[ulc].first_row + tl_smpm_ctr_rows(c) <= its->n_rows &&
                           (tl_smpm_residue_rows(c) == 0 || l->ulcs[ulc].first_residue_row + tl_smpm_residue_rows(c) <= its->n_rows) &&
                           l->ulcs[ulc].route.channel <= l->n_partitions;
            if (!is_here)
                return tl_fail(err, TL_EINVAL, "line %u of CCU %u in the monitor's layout contradicts its ULC", line, ccu);
        }
    }
    if (with_ccu != (1u << l->n_partitions) - 1)
        return tl_fail(err, TL_EINVAL, "the monitor's layout: each partition needs a CCU");
    if (has_shared && c->profile == TL_SMPM_SAFE && c->shared_slot == 0)
        return tl_fail(err, TL_EINVAL, "shared_slot = 0: resolve it for this layout");
    for (uint32_t type = 0; type < l->n_types; type++)
        for (uint32_t i = 0; i < c->ulc_ctrs; i++) {
            const tl_smpm_ctr *ctr = &l->types[type].ctrs[i];
            if ((ctr->feed == TL_SMPM_FEED_BIT && ctr->input >= 64) ||
                ((ctr->feed == TL_SMPM_FEED_PULSE || ctr->feed == TL_SMPM_FEED_NONZERO) &&
                 (ctr->input >= c->mb_inputs || ctr->input >= l->types[type].n_multi)))
                return tl_fail(err, TL_EINVAL, "counter %u of unit type %s: its input %u does not exist", i, l->types[type].name,
                               ctr->input);
        }
    return TL_OK;
}

static void derive_numbers(tl_smpm *m) {
    const tl_smpm_config *c = &m->config;
    const tl_smpm_layout *l = &m->layout;
    m->n_metrics = tl_smpm_n_metrics(c, l->n_types);
    m->n_channels = l->n_partitions + 2;
    m->channel_d = tl_smpm_channel_d(l);
    m->n_sources = l->n_partitions + 1;
    m->scale_log2 = m->n_residue_bits = tl_smpm_scale_log2(c);
    m->scale = 1u << m->scale_log2;
    m->n_data = tl_smpm_data_cycles(c, false);
    m->n_final_data = tl_smpm_data_cycles(c, true);
    m->lead_cycles = c->ulc_period + tl_smpm_frame_cycles(c, false);
    m->ulc_max = tl_smpm_ulc_max(c);
    m->ccu_max = tl_smpm_ccu_max(c);
    m->thr = c->ccu_thr ? c->ccu_thr : UINT64_MAX;
    m->is_safe = c->profile == TL_SMPM_SAFE;
    m->is_tdm = c->arb == TL_SMPM_TDM;
    m->exports = tl_smpm_exports(c);
    m->has_fixed_routing = tl_smpm_is_on(c->fixed_routing);
    m->has_parity = tl_smpm_is_on(c->frame_parity);
    m->has_flags = tl_smpm_is_on(c->frame_flags);
    m->is_rolling = c->snap_mode == TL_SMPM_ROLLING;
    m->gates_at_pause = tl_smpm_is_on(c->gate_at_pause);
    for (uint32_t type = 0; type < l->n_types; type++)
        for (uint32_t i = 0; i < c->ulc_ctrs; i++)
            m->fed[type] |= (uint64_t)(l->types[type].ctrs[i].feed != TL_SMPM_FEED_NONE) << i;
    m->n_live = tl_smpm_n_fed(c, l);
}

static void derive_sources(tl_smpm *m) {
    const tl_smpm_layout *l = &m->layout;
    memset(m->ccu_of_id, 0xff, sizeof m->ccu_of_id);
    uint32_t n_rows = 0;
    for (uint32_t ccu = 0; ccu < l->n_ccus; ccu++) {
        uint32_t source = tl_smpm_source_of(m, l->ccus[ccu].partition);
        m->ccus_of[source] |= 1u << ccu;
        m->all_ccus |= 1u << ccu;
        m->ccu_of_id[source][l->ccus[ccu].id] = (uint8_t)ccu;
        m->row_first[ccu] = n_rows;
        m->bank_first[ccu] = TL_SMPM_BANKS * n_rows;
        n_rows += l->ccus[ccu].n_rows;
    }
    uint32_t shared = l->n_partitions, n_accs = 0;
    for (uint32_t channel = 0; channel < m->n_channels; channel++) {
        bool is_device = channel == 0 || channel == m->channel_d;
        m->acc_first[channel] = n_accs;
        m->n_accs[channel] = channel == 0 ? TL_SMPM_N_CH0_PARTS * m->n_metrics : m->n_metrics;
        m->n_adds[channel] = (channel == 0 ? TL_SMPM_N_CH0_PARTS : is_device ? 1 : 2) * m->n_live;
        n_accs += m->n_accs[channel];
        for (uint32_t source = 0; source < m->n_sources; source++) {
            bool is_own = source < shared && l->partitions[source].channel == channel;
            if (is_own)
                m->channel_source[channel] = (uint8_t)source;
            bool is_served = m->ccus_of[source] && (is_device || is_own || (source == shared && m->has_fixed_routing));
            if (is_served)
                m->turns[channel][m->n_turns[channel]++] = (uint8_t)source;
            m->fifo_depth[channel][source] = !is_served ? 0 : source == shared ? m->config.rcb_shared_depth : m->config.rcb_depth;
        }
    }
}

static void derive_rows(tl_smpm *m) {
    const tl_smpm_layout *l = &m->layout;
    for (uint32_t ccu = 0; ccu < l->n_ccus; ccu++)
        for (uint32_t row = 0; row < l->ccus[ccu].n_rows; row++)
            m->rows[m->row_first[ccu] + row].ulc = TL_SMPM_NO_ULC;
    // The first of the ULCs that share a row stands for them.
    for (uint32_t ulc = l->n_ulcs; ulc-- > 0;) {
        const tl_smpm_ulc *u = &l->ulcs[ulc];
        const uint32_t n_of[] = {m->config.ulc_ctrs, m->exports ? m->config.mb_inputs : 0};
        for (uint32_t kind = 0; kind < 2; kind++)
            for (uint32_t first = 0; first < n_of[kind]; first += TL_SMPM_REC_CTRS) {
                uint32_t row = (kind ? u->first_residue_row : u->first_row) + first / TL_SMPM_REC_CTRS;
                m->rows[m->row_first[u->ccu] + row] = (tl_smpm_row){
                    .is_residue = kind,
                    .type = u->type,
                    .first = (uint8_t)first,
                    .n = (uint8_t)tl_lesser(n_of[kind] - first, TL_SMPM_REC_CTRS),
                    .lanes = (uint8_t)tl_smpm_fed_lanes(&m->config, &l->types[u->type], kind, first),
                    .ulc = (uint16_t)ulc,
                };
            }
    }
}

static void derive_live(tl_smpm *m) {
    uint32_t n = 0;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        for (uint32_t row = 0; row < m->layout.ccus[ccu].n_rows; row++)
            if (m->rows[m->row_first[ccu] + row].ulc != TL_SMPM_NO_ULC && m->rows[m->row_first[ccu] + row].lanes)
                m->sent[m->row_first[ccu] + m->n_sent[ccu]++] = (uint16_t)row;
    for (uint32_t type = 0; type < m->layout.n_types; type++)
        for (uint32_t ctr = 0; ctr < m->config.ulc_ctrs; ctr++)
            if (m->fed[type] >> ctr & 1)
                m->live[n++] = (uint16_t)tl_smpm_ctr_index(&m->config, type, ctr);
    for (uint32_t type = 0; m->exports && type < m->layout.n_types; type++)
        for (uint32_t input = 0; input < m->config.mb_inputs && input < m->layout.types[type].n_multi; input++)
            m->live[n++] = (uint16_t)tl_smpm_residue_index(&m->config, m->layout.n_types, type, input);
}

static bool counts_low(const tl_smpm *m) {
    bool any = false;
    for (uint32_t type = 0; type < m->layout.n_types; type++)
        for (uint32_t i = 0; i < m->config.ulc_ctrs; i++)
            any |= m->layout.types[type].ctrs[i].counts_low;
    return any;
}

// The last window before a switch is no longer than others. Without gate_at_pause it lasts until a
// drain is over, but nothing counts in its end if the partition stands still.
static bool ends_windows(const tl_smpm *m) {
    const tl_smpm_plan *plan = &m->plan;
    return plan->never_switches || (m->gates_at_pause && m->is_safe && m->is_tdm) || (plan->stands_still && !counts_low(m));
}

// When the fast model may leave out windows: no value depends on how a window is cut, and every
// drain is over before the next pulse.
static void derive_laziness(tl_smpm *m) {
    const tl_smpm_plan *plan = &m->plan;
    uint64_t n_rows = 0, fanin = TL_SMPM_MAX_CCU_ULCS,
             busy = m->n_channels * (m->n_adds[0] + m->n_adds[1] + m->n_adds[m->channel_d] + 0ull);
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        n_rows = m->layout.ccus[ccu].n_rows > n_rows ? m->layout.ccus[ccu].n_rows : n_rows;
    uint64_t drain = n_rows * (m->n_sources + 1) * 2 + busy + 2 * m->lead_cycles;
    bool is_far = m->thr == UINT64_MAX || m->thr > fanin * (2 * (uint64_t)m->config.tb_period + 4 * (uint64_t)m->lead_cycles);
    m->is_lazy = !plan->is_reference && !plan->observer.frame && !plan->test.fault && !tl_smpm_is_on(m->config.zero_frames) && is_far &&
                 m->config.ulc_period <= m->ulc_max && ends_windows(m) && m->config.tb_period > 2 * drain;
    m->sends_ahead = m->is_lazy && !plan->observer.record;
}

// While nobody looks, counters hold what comes in between two reads.
static void derive_leaps(tl_smpm *m) {
    const tl_smpm_bounds bounds = tl_smpm_layout_bounds(&m->config, &m->layout);
    const uint64_t period = m->config.tb_period;
    m->calm_cycles = 2 * bounds.drain_max + bounds.commit_vm + bounds.commit_0;
    m->keep_cycles = 4 * period;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++) {
        const uint64_t most = tl_lesser(m->ccu_max, m->thr - 1) / m->layout.ccus[ccu].n_ulcs;
        // Zeros would take no time.
        const bool may_wait = m->is_lazy && !tl_smpm_is_on(m->config.skip_zeros);
        m->unread_cycles[ccu] = may_wait && most > 4 * period ? most - 2 * period : 0;
    }
    m->leaps = m->sends_ahead && m->is_safe && m->is_tdm && !m->plan.observer.commit && 2 * m->calm_cycles < period;
}

// base NULL: only counts.
static void *place(uint8_t *base, size_t *n_bytes, size_t n, size_t size) {
    size_t at = *n_bytes;
    *n_bytes = (at + n * size + 15) / 16 * 16;
    return base ? base + at : NULL;
}

static void place_state(tl_smpm *m, uint8_t *base) {
    const tl_smpm_layout *l = &m->layout;
    size_t n_bytes = 0, n_rows = 0, n_entries = 0;
    for (uint32_t ccu = 0; ccu < l->n_ccus; ccu++)
        n_rows += l->ccus[ccu].n_rows;
    for (uint32_t channel = 0; channel < m->n_channels; channel++)
        for (uint32_t source = 0; source < m->n_sources; source++) {
            m->fifo_first[channel][source] = (uint32_t)n_entries;
            n_entries += m->fifo_depth[channel][source];
        }
    m->core = place(base, &n_bytes, 1, sizeof *m->core);
    m->ulcs = place(base, &n_bytes, m->plan.is_reference ? l->n_ulcs : 0, sizeof *m->ulcs);
    m->windows = place(base, &n_bytes, m->plan.is_reference ? 0 : l->n_ulcs, sizeof *m->windows);
    m->read_at = place(base, &n_bytes, m->plan.is_reference ? 0 : l->n_ulcs, sizeof *m->read_at);
    m->end_at = place(base, &n_bytes, m->plan.is_reference ? 0 : l->n_ulcs, sizeof *m->end_at);
    if (m->plan.is_reference)
        m->windows = NULL;
    else
        m->ulcs = NULL;
    m->lanes = place(base, &n_bytes, TL_SMPM_BANKS * n_rows, sizeof *m->lanes);
    m->row_ovf = place(base, &n_bytes, TL_SMPM_BANKS * n_rows, sizeof *m->row_ovf);
    m->row_routes = place(base, &n_bytes, n_rows, sizeof *m->row_routes);
    m->filters = place(base, &n_bytes, l->n_ulcs, sizeof *m->filters);
    m->routes = place(base, &n_bytes, l->n_ulcs, sizeof *m->routes);
    m->masks = place(base, &n_bytes, l->n_ulcs, sizeof *m->masks);
    m->freed_at = place(base, &n_bytes, l->n_ulcs, sizeof *m->freed_at);
    m->fifos = place(base, &n_bytes, m->n_channels, sizeof *m->fifos);
    m->entries = place(base, &n_bytes, n_entries, sizeof *m->entries);
    m->accs = place(base, &n_bytes, m->acc_first[m->channel_d] + m->n_accs[m->channel_d], sizeof *m->accs);
    m->slots = place(base, &n_bytes, m->n_blocks, sizeof *m->slots);
    m->words = place(base, &n_bytes, (size_t)m->n_blocks * m->n_block_words, sizeof *m->words);
    m->n_state_bytes = n_bytes;
}

static bool place_tenants(tl_smpm *m, tl_arena *arena) {
    const tl_smpm_layout *l = &m->layout;
    size_t n_rows = m->row_first[l->n_ccus - 1] + l->ccus[l->n_ccus - 1].n_rows, n_entries = 0;
    for (uint32_t channel = 0; channel < m->n_channels; channel++)
        for (uint32_t source = 0; source < m->n_sources; source++)
            n_entries += m->fifo_depth[channel][source];
    m->count_tenants = tl_arena_alloc(arena, l->n_ulcs * sizeof *m->count_tenants);
    m->frame_tenants = tl_arena_alloc(arena, l->n_ulcs * sizeof *m->frame_tenants);
    m->lane_tenants = tl_arena_alloc(arena, TL_SMPM_BANKS * n_rows * sizeof *m->lane_tenants);
    m->entry_tenants = tl_arena_alloc(arena, n_entries * sizeof *m->entry_tenants);
    m->acc_tenants = tl_arena_alloc(arena, (m->acc_first[m->channel_d] + m->n_accs[m->channel_d]) * sizeof *m->acc_tenants);
    m->fixed_tenants = tl_arena_alloc(arena, m->n_channels * sizeof *m->fixed_tenants);
    return m->count_tenants && m->frame_tenants && m->lane_tenants && m->entry_tenants && m->acc_tenants && m->fixed_tenants;
}

static void reset(tl_smpm *m) {
    tl_smpm_core *s = m->core;
    s->service.serves = TL_SMPM_SHARED;
    s->device_at = m->is_safe ? m->config.tb_period / 2 : TL_SMPM_NEVER;
    s->ahead_due = s->lump_due = TL_SMPM_NEVER;
    for (uint32_t ccu = 0; ccu < TL_SMPM_MAX_CCUS; ccu++)
        s->ccus[ccu].reg_at = TL_SMPM_NEVER;
    for (uint32_t source = 0; source <= TL_SMPM_MAX_PARTITIONS; source++)
        s->tbs[source].ext_at = TL_SMPM_NEVER;
    for (uint32_t p = 0; p < TL_SMPM_MAX_PARTITIONS; p++)
        s->managers[p].at = s->managers[p].snapshot_at = TL_SMPM_NEVER;
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++) {
        m->filters[ulc] = m->layout.ulcs[ulc].filter;
        m->routes[ulc] = m->layout.ulcs[ulc].route;
        m->freed_at[ulc] = TL_SMPM_NEVER;
        if (m->windows)
            m->end_at[ulc] = m->read_at[ulc] = TL_SMPM_NEVER;
    }
    tl_smpm_routes_derive(m);
    format(m, BLOCK_VM0, 0, TL_SMPM_NO_CTX);
    format(m, BLOCK_DEV, 0, TL_SMPM_NO_CTX);
    for (uint32_t channel = 0; channel < m->n_channels; channel++)
        tl_smpm_channel_point(m, channel, TL_SMPM_NO_VM, TL_SMPM_NO_CTX);
    s->channels[0].vm_block = BLOCK_VM0;
    s->channels[m->channel_d].vm_block = BLOCK_DEV;
}

tl_status tl_smpm_new(const tl_smpm_plan *plan, tl_arena *arena, tl_smpm **ret_model, tl_error *err) {
    tl_status status = check_config(&plan->config, err);
    if (status == TL_OK)
        status = check_layout(&plan->config, plan->layout, err);
    if (status != TL_OK)
        return status;
    if (!plan->is_reference && (plan->test.mutations || plan->test.tenants))
        return tl_fail(err, TL_EINVAL, "mutations and provenance need the reference model");
    tl_smpm *m = tl_arena_alloc(arena, sizeof *m);
    if (!m)
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor's model");
    m->plan = *plan;
    m->config = plan->config;
    m->layout = *plan->layout;
    m->plan.layout = &m->layout;
    derive_numbers(m);
    derive_sources(m);
    derive_laziness(m);
    m->n_blocks = plan->n_blocks + FIRST_TENANT_BLOCK;
    for (tl_smpm_kind kind = TL_SMPM_VM0; kind < TL_SMPM_N_KINDS; kind++) {
        uint32_t n_words = tl_smpm_block_n_words(m->n_metrics, tl_smpm_safe_parts(kind));
        m->n_block_words = n_words > m->n_block_words ? n_words : m->n_block_words;
    }
    tl_smpm_shape device = {
        .kind = TL_SMPM_DEV, .ctx = TL_SMPM_NO_CTX, .n = m->n_metrics, .parts = m->is_safe ? tl_smpm_safe_parts(TL_SMPM_DEV) : 0};
    status = tl_smpm_shape_check(&device, err);
    if (status != TL_OK)
        return status;
    const tl_smpm_ccu *last = &m->layout.ccus[m->layout.n_ccus - 1];
    m->rows = tl_arena_alloc(arena, (m->row_first[m->layout.n_ccus - 1] + (size_t)last->n_rows) * sizeof *m->rows);
    m->sent = tl_arena_alloc(arena, (m->row_first[m->layout.n_ccus - 1] + (size_t)last->n_rows) * sizeof *m->sent);
    m->live = tl_arena_alloc(arena, m->n_live * sizeof *m->live);
    place_state(m, NULL);
    m->state = tl_arena_alloc(arena, m->n_state_bytes);
    if (!m->rows || !m->sent || !m->live || !m->state || (plan->test.tenants && !place_tenants(m, arena)))
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor's state of %zu bytes", m->n_state_bytes);
    place_state(m, m->state);
    derive_rows(m);
    derive_live(m);
    derive_leaps(m);
    reset(m);
    *ret_model = m;
    return TL_OK;
}

void *tl_smpm_state(tl_smpm *m, size_t *ret_n_bytes) {
    *ret_n_bytes = m->n_state_bytes;
    return m->state;
}

//  ---- cycles

static void step_lines(tl_smpm *m) {
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++) {
        const tl_smpm_collector *c = &m->core->ccus[m->layout.ulcs[ulc].ccu];
        tl_smpm_unit_counter *u = &m->ulcs[ulc];
        if (!c->line && !u->is_enabled && !u->is_sending && !u->receiver.is_receiving)
            continue;
        tl_smpm_ulc_step(m, ulc, c->line, c->transfers);
        tl_smpm_wire wire = tl_smpm_line_show(m, u, m->core->now);
        uint32_t flipped = tl_smpm_faulty(m, TL_SMPM_FLIP_WIRE, ulc);
        if (flipped > m->config.ulc_lanes)
            wire.mark = !wire.mark;
        else if (flipped)
            wire.data ^= (uint8_t)(1u << (flipped - 1));
        tl_smpm_frame frame;
        if (tl_smpm_line_receive(m, ulc, wire, &frame))
            tl_smpm_ccu_add(m, &frame, NULL);
    }
}

static void step(tl_smpm *m) {
    tl_smpm_core *s = m->core;
    if (m->ulcs)
        step_lines(m);
    else
        tl_smpm_fast_step(m);
    if (m->ulcs || s->now >= s->due)
        tl_smpm_tb_step(m);
    for (uint32_t left = s->draining; left; left &= left - 1)
        tl_smpm_ccu_step(m, (uint32_t)__builtin_ctz(left));
    if (s->replan)
        tl_smpm_turns_plan(m);
    if (s->now == s->ahead_due)
        tl_smpm_ahead_end(m);
    if (s->now == s->lump_due)
        tl_smpm_lumps_end(m);
    if (s->now == s->device_at) {
        s->device_at += m->config.tb_period;
        s->channels[0].commit_is_wanted = s->channels[m->channel_d].commit_is_wanted = true;
    }
    if (tl_smpm_batches(m) && !m->is_tdm)
        tl_smpm_arbiter_run(m, s->now);
    for (uint32_t channel = 0; channel < m->n_channels; channel++) {
        const tl_smpm_channel *c = &s->channels[channel];
        if (s->waiting[channel] || c->commit_is_wanted || c->done)
            tl_smpm_channel_step(m, channel);
    }
    if (!tl_smpm_batches(m)) {
        tl_smpm_arbiter_step(m);
    } else if (!m->is_tdm) {
        tl_smpm_arbiter_run(m, s->now + 1);
    } else {
        for (uint32_t channel = 0; channel < m->n_channels; channel++)
            if ((s->channels[channel].is_committing || s->channels[channel].has_fixed) && s->channels[channel].busy_end == s->now)
                tl_smpm_arbiter_catch_up(m, channel, s->now + 1);
    }
    for (uint32_t partition = 0; partition < m->layout.n_partitions; partition++)
        if (s->managers[partition].step != TL_SMPM_IDLE)
            tl_smpm_manager_step(m, partition);
    s->now++;
    if (m->windows && s->due < s->now)
        s->due = tl_smpm_tb_next(m);
}

// Of everything but channels.
static uint64_t next_other(tl_smpm *m) {
    tl_smpm_core *s = m->core;
    if (s->fast_due < s->now)
        s->fast_due = tl_smpm_fast_next(m);
    if (s->due < s->now)
        s->due = tl_smpm_tb_next(m);
    uint64_t next = tl_lesser(tl_lesser(tl_lesser(s->fast_due, s->due), s->device_at), tl_lesser(s->ahead_due, s->lump_due));
    for (uint32_t partition = 0; partition < m->layout.n_partitions; partition++)
        next = s->managers[partition].step == TL_SMPM_IDLE ? next : tl_lesser(next, tl_smpm_manager_next(m, partition));
    return next;
}

static bool any_is_busy(const tl_smpm *m) {
    bool any = false;
    for (uint32_t channel = 0; channel < m->n_channels; channel++)
        any |= m->core->channels[channel].is_committing || m->core->channels[channel].has_fixed;
    return any;
}

// Notes the next event of each channel, or of those that have moved. Under round robin one answer
// holds for all that are busy.
static void note_next(const tl_smpm *m, uint64_t *channel_at, bool of_all) {
    uint64_t of_busy = 0;
    for (uint32_t channel = 0; channel < m->n_channels; channel++) {
        const tl_smpm_channel *c = &m->core->channels[channel];
        const bool is_batched = (c->is_committing || c->has_fixed) && !m->is_tdm && tl_smpm_batches(m);
        if (!of_all && channel_at[channel] != 0)
            continue;
        if (is_batched && of_busy == 0)
            of_busy = tl_smpm_arbiter_next(m);
        channel_at[channel] = is_batched ? of_busy : tl_smpm_channel_next(m, channel);
    }
}

// As step, of a cycle in which nothing happens outside of channels. A channel keeps the cycle of
// its next event until something moves it. Under round robin, busy channels move one another.
static void step_channels(tl_smpm *m, uint64_t *channel_at) {
    tl_smpm_core *s = m->core;
    const bool moves_all = !m->is_tdm && any_is_busy(m);
    if (!m->is_tdm)
        tl_smpm_arbiter_run(m, s->now);
    for (uint32_t channel = 0; channel < m->n_channels; channel++) {
        if (channel_at[channel] != s->now)
            continue;
        tl_smpm_channel_step(m, channel);
        if (m->is_tdm && (s->channels[channel].is_committing || s->channels[channel].has_fixed) && s->channels[channel].busy_end == s->now)
            tl_smpm_arbiter_catch_up(m, channel, s->now + 1);
        channel_at[channel] = 0;
    }
    if (!m->is_tdm)
        tl_smpm_arbiter_run(m, s->now + 1);
    // Polls see what channels did. Managers and services that act set `due`.
    for (uint32_t partition = 0; partition < m->layout.n_partitions; partition++)
        if (s->managers[partition].step != TL_SMPM_IDLE)
            tl_smpm_manager_step(m, partition);
    s->front = ++s->now;
    note_next(m, channel_at, s->due == 0 || moves_all);
    if (s->due < s->now)
        s->due = tl_smpm_tb_next(m);
}

static uint64_t next_of_channels(const tl_smpm *m, const uint64_t *channel_at) {
    uint64_t next = TL_SMPM_NEVER;
    for (uint32_t channel = 0; channel < m->n_channels; channel++)
        next = tl_lesser(next, channel_at[channel]);
    return next;
}

// Moves the clock to the next event, or to `until`. true: something happens in the present cycle.
static bool skip(tl_smpm *m, uint64_t until) {
    tl_smpm_core *s = m->core;
    const bool may_split = tl_smpm_batches(m);
    uint64_t channel_at[TL_SMPM_MAX_CHANNELS];
    note_next(m, channel_at, true);
    for (;;) {
        const uint64_t of_channels = next_of_channels(m, channel_at);
        if (m->leaps && of_channels == TL_SMPM_NEVER)
            tl_smpm_leap(m, until);
        const uint64_t other = tl_lesser(until, next_other(m)), next = tl_lesser(other, of_channels);
        s->now = next > s->now ? next : s->now;
        if (s->now >= until || !may_split || of_channels != s->now || other <= s->now)
            return s->now < until;
        step_channels(m, channel_at);
        if (s->draining)
            return s->now < until;
    }
}

void tl_smpm_run(tl_smpm *m, uint64_t until) {
    tl_smpm_core *s = m->core;
    while (s->now < until) {
        if (m->windows && s->draining == 0 && !skip(m, until))
            break;
        step(m);
    }
    if (tl_smpm_batches(m) && !m->is_tdm)
        tl_smpm_arbiter_run(m, s->now);
    for (uint32_t channel = 0; tl_smpm_batches(m) && m->is_tdm && channel < m->n_channels; channel++)
        tl_smpm_arbiter_catch_up(m, channel, s->now);
}

uint64_t tl_smpm_now(const tl_smpm *m) { return m->core->now; }

uint64_t tl_smpm_next(const tl_smpm *m) {
    if (!m->windows)
        return m->core->now;
    uint64_t next = TL_SMPM_NEVER;
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        if (m->layout.ccus[ccu].partition != TL_SMPM_SHARED)
            next = tl_lesser(next, tl_smpm_fast_next_read(m, ccu));
    for (uint32_t partition = 0; partition < m->layout.n_partitions; partition++)
        next = tl_lesser(next, tl_smpm_manager_soonest(m, partition));
    return next > m->core->now ? next : m->core->now;
}

uint64_t tl_smpm_next_of(const tl_smpm *m, uint32_t partition) {
    if (!m->windows)
        return m->core->now;
    uint64_t next = tl_smpm_manager_soonest(m, partition);
    for (uint32_t left = m->ccus_of[partition]; left; left &= left - 1)
        next = tl_lesser(next, tl_smpm_fast_next_read(m, (uint32_t)__builtin_ctz(left)));
    return next > m->core->now ? next : m->core->now;
}

//  ---- views

void tl_smpm_counters_get(const tl_smpm *m, tl_smpm_counters *ret_counters) {
    *ret_counters = m->core->counters;
    ret_counters->records -= tl_smpm_ahead_unsent(m);
}

static uint64_t in_ulc(const tl_smpm *m, uint32_t ulc, uint32_t ctr) {
    const tl_smpm_unit_counter *u = &m->ulcs[ulc];
    bool is_residue = ctr >= TL_SMPM_MAX_CTRS,
         is_on_line = u->is_sending && m->core->now <= u->frame_start + u->n_data + 1 && u->n_data > 0;
    uint64_t sum = is_residue ? u->residues[ctr - TL_SMPM_MAX_CTRS] : u->counts[ctr];
    if (!is_on_line)
        return sum;
    if (!is_residue)
        return sum + tl_smpm_bits_get(&u->shift, ctr * m->config.ulc_bits, m->config.ulc_bits);
    uint32_t at = m->config.ulc_ctrs * m->config.ulc_bits + (ctr - TL_SMPM_MAX_CTRS) * m->n_residue_bits;
    return sum + (m->exports && u->n_data == m->n_final_data && !u->is_enabled ? tl_smpm_bits_get(&u->shift, at, m->n_residue_bits) : 0);
}

uint64_t tl_smpm_in_flight(const tl_smpm *m, uint32_t type, uint32_t ctr) {
    bool is_residue = ctr >= TL_SMPM_MAX_CTRS;
    uint32_t input = is_residue ? ctr - TL_SMPM_MAX_CTRS : ctr;
    uint64_t sum = 0;
    for (uint32_t ulc = 0; ulc < m->layout.n_ulcs; ulc++)
        if (m->layout.ulcs[ulc].type == type)
            sum += in_ulc(m, ulc, ctr);
    if (is_residue && !m->exports)
        return sum;
    uint32_t index =
        is_residue ? tl_smpm_residue_index(&m->config, m->layout.n_types, type, input) : tl_smpm_ctr_index(&m->config, type, input);
    sum += m->accs[m->acc_first[0] + index];
    for (uint32_t ccu = 0; ccu < m->layout.n_ccus; ccu++)
        for (uint32_t row = 0; row < m->layout.ccus[ccu].n_rows; row++) {
            const tl_smpm_row *info = &m->rows[m->row_first[ccu] + row];
            if (info->ulc == TL_SMPM_NO_ULC || info->type != type || info->is_residue != is_residue ||
                input / TL_SMPM_REC_CTRS != info->first / TL_SMPM_REC_CTRS)
                continue;
            for (uint32_t bank = 0; bank < TL_SMPM_BANKS; bank++)
                sum += m->lanes[tl_smpm_bank_row(m, ccu, bank, row)][input % TL_SMPM_REC_CTRS];
            uint32_t source = tl_smpm_source_of(m, m->layout.ccus[ccu].partition);
            const tl_smpm_fifo *fifo = &m->fifos[0][source];
            for (uint32_t i = 0; i < fifo->n; i++) {
                const tl_smpm_record *record = &m->entries[m->fifo_first[0][source] + (fifo->head + i) % m->fifo_depth[0][source]].record;
                if ((record->header & 7) != TL_SMPM_EMPTY && (record->header >> 3 & 0xff) == m->layout.ccus[ccu].id &&
                    (record->header >> 11 & 0x1ff) == row)
                    sum += record->lanes[input % TL_SMPM_REC_CTRS];
            }
        }
    return sum;
}
