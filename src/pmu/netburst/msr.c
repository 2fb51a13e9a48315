// SPDX-License-Identifier: MIT
// RDMSR, WRMSR and RDPMC with their faults; making and resetting the PMU of a core.
#include "pmu/netburst/state.h"

// ---- Access.

static bool find(const tl_netburst *n, uint32_t thread, uint32_t msr, tl_reg_at *ret_at) {
    return thread < n->n_threads && tl_regfile_find(&n->threads[thread]->pmu.file, msr, ret_at);
}

static void catch_up(tl_netburst *n, uint32_t thread) {
    if (n->host.catch_up)
        n->host.catch_up(n->host.ctx, thread);
    tl_netburst_settle(n);
    if (n->is_stale)
        tl_netburst_configure(n);
}

tl_status tl_netburst_rdmsr(tl_netburst *n, uint32_t thread, uint32_t msr, uint64_t *ret_value) {
    tl_reg_at at;
    if (!find(n, thread, msr, &at))
        return TL_EINVAL;
    catch_up(n, thread);
    *ret_value = tl_regfile_read_at(&n->threads[thread]->pmu.file, &at);
    return TL_OK;
}

bool tl_netburst_may_write(const tl_netburst *n, uint32_t thread, uint32_t msr, uint64_t value) {
    tl_reg_at at;
    return find(n, thread, msr, &at) && !(value & tl_netburst_reserved_bits(n, &at));
}

static bool is_in(uint32_t msr, uint32_t first) { return msr >= first && msr < first + TL_NETBURST_COUNTERS; }

// A counter that stops in a clock in which bit 31 has carried loses the carry.
static void lose_carry(tl_netburst *n, uint32_t counter, tl_run_cause before) {
    const bool stops = before != TL_STOPPED && n->run_cause[counter] == TL_STOPPED;
    if (stops && (uint32_t)n->counter[counter] < n->last_step[counter])
        n->counter[counter] = (n->counter[counter] - (UINT64_C(1) << 32)) & TL_NETBURST_VALUE;
}

tl_status tl_netburst_wrmsr(tl_netburst *n, uint32_t thread, uint32_t msr, uint64_t value) {
    tl_reg_at at;
    if (!tl_netburst_may_write(n, thread, msr, value) || !find(n, thread, msr, &at))
        return TL_EINVAL;
    catch_up(n, thread);
    const uint32_t counter = is_in(msr, TL_MSR_COUNTER) ? msr - TL_MSR_COUNTER : msr - TL_MSR_CCCR;
    const tl_run_cause before = is_in(msr, TL_MSR_CCCR) ? (tl_run_cause)n->run_cause[counter] : TL_STOPPED;
    if (is_in(msr, TL_MSR_COUNTER) && n->errata[TL_ERRATUM_CTR_WRITE_CARRY] && n->run_cause[counter] != TL_STOPPED)
        value = (value + n->last_step[counter]) & TL_NETBURST_VALUE;
    tl_regfile_write_at(&n->threads[thread]->pmu.file, &at, value);
    if (is_in(msr, TL_MSR_COUNTER))
        n->began[counter] = n->counter[counter];
    tl_netburst_configure(n);
    if (is_in(msr, TL_MSR_CCCR) && n->errata[TL_ERRATUM_CTR_STOP_LOST_CARRY])
        lose_carry(n, counter, before);
    tl_netburst_update_lines(n);
    return TL_OK;
}

tl_status tl_netburst_rdpmc(tl_netburst *n, uint32_t thread, uint32_t number, uint64_t *ret_value) {
    const bool is_fast = number >> 31;
    number &= INT32_MAX;
    if (number >= TL_NETBURST_COUNTERS)
        return TL_EINVAL;
    catch_up(n, thread);
    *ret_value = is_fast ? (uint32_t)n->counter[number] : n->counter[number];
    return TL_OK;
}

uint32_t tl_netburst_lvt(tl_netburst *n, uint32_t thread) {
    catch_up(n, thread);
    return n->threads[thread]->lvt;
}

void tl_netburst_set_lvt(tl_netburst *n, uint32_t thread, uint32_t value) {
    catch_up(n, thread);
    tl_netburst_look_at_area(n, thread);
    n->threads[thread]->lvt = value & (TL_LVT_MASKED | 7 << TL_LVT_MODE_LSB);
    tl_netburst_update_lines(n);
}

// ---- Life.

// SDM: CPUID signatures below F27H.
static bool is_before_f27(const tl_netburst_settings *s) { return s->model < 2 || (s->model == 2 && s->stepping < 7); }

static bool has_erratum(const tl_netburst_settings *s, tl_netburst_erratum erratum) {
    switch (erratum) {
    case TL_ERRATUM_IOQ_OLD_LOGIC: return s->model < 2;
    case TL_ERRATUM_IOQ_IGNORES_CPL:
    case TL_ERRATUM_IOQ_ESCR0_ONLY: return is_before_f27(s);
    case TL_ERRATUM_BSQ_ACTIVE_ALTERNATE: return s->model == 3 || s->model == 4;
    case TL_ERRATUM_CASCADE_NO_PMI: return s->model == 2 || (s->model < 2 && s->stepping > 9);
    default: return false;
    }
}

void tl_netburst_init(tl_netburst *n, const tl_netburst_settings *settings, uint32_t n_threads, const tl_netburst_host *host,
                      uint64_t *stored) {
    n->settings = *settings;
    n->n_threads = n_threads;
    tl_netburst_lanes_choose(&n->lanes, false);
    n->columns = tl_netburst_column_ops_choose(false);
    if (host)
        n->host = *host;
    for (tl_netburst_erratum e = 0; e < TL_N_ERRATA; e++)
        n->errata[e] = settings->errata[e] == TL_NETBURST_AUTO ? !settings->errata_are_none && has_erratum(settings, e)
                                                               : settings->errata[e] == TL_NETBURST_ON;
    n->stored = stored;
    n->counter = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_COUNTER);
    n->cccr = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_CCCR);
    n->escr = stored + tl_regmap_cell_at(&tl_netburst_regmap, 0x3a0);
    n->pebs_enable = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_PEBS_ENABLE);
    n->xescr = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_XESCR);
    n->xcccr = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_XCCCR);
    n->idle = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_IDLE);
    n->filter = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_FILTER);
    n->filter_mask = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_FILTER_MASK);
    n->preset = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_PRESET);
    n->control = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_CONTROL);
    n->random = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_RANDOM);
    n->sample = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_SAMPLE);
    n->banked = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_BANKED);
    n->bank = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_NBX_BANK);
    n->matrix = stored + tl_regmap_cell_at(&tl_netburst_regmap, TL_MSR_PEBS_MATRIX_VERT);
}

void tl_netburst_reset(tl_netburst *n) {
    tl_netburst_settle(n);
    for (uint32_t t = 0; t < n->n_threads; t++) {
        tl_netburst_thread *thread = n->threads[t];
        thread->ds_area = 0;
        thread->lvt = TL_LVT_MASKED;
        thread->line = thread->ds_latch = false;
        thread->msr = 0;
        thread->user_reads = false;
        thread->samples = (tl_netburst_samples_stored){0};
        thread->context = 0;
        thread->captured = 0;
        thread->is_restarted = false;
    }
    tl_regfile_reset(&n->threads[0]->pmu.file);
    n->filtered = n->wrapped = n->raised = n->interrupted = 0;
    n->n_clocks = 0;
    n->lfsr = 1;
    tl_nbx_forget_banks(n);
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++)
        n->last_step[i] = 0, n->began[i] = n->n_lost[i] = 0;
    tl_netburst_configure(n);
}

tl_status tl_netburst_new(const tl_netburst_settings *settings, uint32_t n_threads, const tl_netburst_host *host, tl_arena *arena,
                          tl_netburst **ret_netburst, tl_error *err) {
    const uint32_t most = settings->nbx ? (uint32_t)TL_NBX_MAX_THREADS : (uint32_t)TL_NETBURST_THREADS;
    if (n_threads < 1 || n_threads > most || settings->model > 6)
        return tl_fail(err, TL_EINVAL, "pmu netburst: %u threads, model %u: it has 1 to %u threads, and models 0 to 6", n_threads,
                       settings->model, most);
    tl_netburst *n = tl_arena_alloc(arena, sizeof *n);
    uint64_t *stored = tl_arena_alloc(arena, tl_regmap_n_cells(&tl_netburst_regmap) * sizeof *stored);
    if (!n || !stored)
        return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
    tl_netburst_init(n, settings, n_threads, host, stored);
    for (uint32_t t = 0; t < n_threads; t++) {
        tl_netburst_thread *thread = tl_arena_alloc(arena, sizeof *thread);
        if (!thread)
            return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
        thread->pmu.file = (tl_regfile){.map = &tl_netburst_regmap, .stored = stored, .access_bits = 64};
        thread->core = n;
        thread->index = t;
        n->threads[t] = thread;
    }
    tl_netburst_reset(n);
    *ret_netburst = n;
    return TL_OK;
}
