// SPDX-License-Identifier: MIT
// Behavior of the counters. No event costs anything, because a counter is a difference of running
// totals (model/counter.h). A counter is updated when software reads it, when its selection
// changes, and when it may have overflowed. Between two updates a counter counts all the time or
// not at all, because mode filters, inhibits and selectors change only here.
//
// Timing of effects (privileged manual, Zicsr and mcountinhibit): an instruction that reads a
// counter sees the counter before its own effect. A write to a counter replaces the increment of
// the writing instruction. Every other write takes effect after its instruction has retired under
// the old rules.
#include "pmu/rvhpm/rvhpm.h"

#include "base/bits.h"
#include "isa/rv/arch.h"

enum {
    CSR_SCOUNTEREN = 0x106,
    CSR_MCOUNTEREN = 0x306,
    CSR_MCOUNTINHIBIT = 0x320,
    CSR_MCYCLECFG = 0x321,
    CSR_MINSTRETCFG = 0x322,
    CSR_MHPMEVENT3 = 0x323,
    CSR_CYCLE = 0xc00,
    CSR_CYCLEH = 0xc80,
};
enum { ALL_MODES = 1 << TL_PRIV_U | 1 << TL_PRIV_S | 1 << TL_PRIV_M };

bool tl_rvhpm_has(const tl_rvhpm *p, uint32_t n) {
    return n == TL_HPM_CYCLE || n == TL_HPM_INSTRET || (n >= TL_HPM_FIRST && n < TL_HPM_FIRST + p->preset->n_counters);
}

uint64_t *tl_rvhpm_event(const tl_rvhpm *p, uint32_t n) { return &p->events[n - TL_HPM_FIRST]; }

// ---- selectors ----

static const tl_event *find_event(const tl_rvhpm *p, uint64_t selector, const tl_sources **ret_sources) {
    const tl_pmu_preset *preset = p->pmu.preset;
    for (uint32_t i = 0; i < preset->n_events; i++)
        if (preset->events[i].selector == selector && p->resolved[i].n_cells > 0) {
            *ret_sources = &p->resolved[i];
            return &preset->events[i];
        }
    return NULL;
}

// Returns the number of events that a selector names. 0: none, or not legal.
static uint32_t parts_of(const tl_rvhpm *p, uint64_t selector, const tl_sources *parts[static TL_EVENT_MAX_PARTS]) {
    if (!p->preset->has_masks)
        return selector != 0 && find_event(p, selector, &parts[0]) ? 1 : 0;
    uint32_t n = 0;
    for (uint64_t left = selector & ~UINT64_C(0xff); left != 0; left &= left - 1) {
        if (n == TL_EVENT_MAX_PARTS || !find_event(p, (left & -left) | (selector & 0xff), &parts[n]))
            return 0;
        n += 1;
    }
    return n;
}

uint64_t tl_rvhpm_legal_selector(const tl_rvhpm *p, uint64_t wanted) {
    const tl_sources *parts[TL_EVENT_MAX_PARTS];
    return parts_of(p, wanted, parts) > 0 ? wanted : 0;
}

// ---- totals ----

static tl_priv mode_of(const tl_rvhpm *p) { return p->pmu.host->privilege(p->pmu.host->ctx, p->pmu.hart); }
static uint64_t total_of(tl_rvhpm *p, const tl_hpm *c) { return tl_event_counter_total(&c->events, &p->totals); }

static bool counts_in(const tl_hpm *c, tl_priv mode) { return c->is_running && (c->modes >> mode & 1); }

// ---- overflow ----

// `deadline` makes needs_slow_watch false once no counter is armed.
static void note_quiet(tl_rvhpm *p) { p->pmu.port.is_quiet = p->armed == 0 && !p->pmu.port.needs_slow_watch; }

// A counter is armed if it waits for a visible overflow. aim computes the distance.
static bool is_armed(const tl_rvhpm *p, uint32_t n) { return p->armed >> n & 1; }

static void aim(tl_rvhpm *p, uint32_t n) {
    tl_hpm *c = &p->counters[n];
    bool waits = n >= TL_HPM_FIRST && p->preset->has_sscofpmf && c->is_running && !(*tl_rvhpm_event(p, n) & TL_HPM_OF);
    p->armed = (p->armed & ~(UINT32_C(1) << n)) | (uint32_t)waits << n;
    note_quiet(p);
    c->events.is_watched = false;
    if (waits)
        tl_event_counter_aim(&c->events, &p->totals, tl_counter_headroom(&c->events.counter));
}

static void update(tl_rvhpm *p, uint32_t n) {
    tl_hpm *c = &p->counters[n];
    if (!counts_in(c, mode_of(p)))
        return;
    if (tl_counter_fold(&c->events.counter, total_of(p, c)) && is_armed(p, n)) {
        *tl_rvhpm_event(p, n) |= TL_HPM_OF;
        p->pmu.host->set_irq(p->pmu.host->ctx, p->pmu.hart, TL_IRQ_LCOFI, true);
    }
    aim(p, n);
}

// The running counters decide which services the port needs from the hart.
static void set_needs(tl_rvhpm *p) {
    tl_pmu_port *port = &p->pmu.port;
    bool had_slow_watch = port->needs_slow_watch;
    p->filtered = 0;
    port->needs_slow_watch = false;
    for (uint32_t n = 0; n < TL_HPM_N; n++) {
        const tl_hpm *c = &p->counters[n];
        p->filtered |= (uint32_t)(c->is_running && c->modes != ALL_MODES) << n;
        port->needs_slow_watch |= c->events.is_watched;
    }
    port->needs_modes = p->filtered != 0;
    note_quiet(p);
    if (p->armed != 0 || port->needs_slow_watch != had_slow_watch)
        p->pmu.host->changed(p->pmu.host->ctx, p->pmu.hart);
}

// ---- functions for the registers ----

void tl_rvhpm_update(tl_rvhpm *p, uint32_t n) { update(p, n); }

uint64_t tl_rvhpm_counter(tl_rvhpm *p, uint32_t n) {
    update(p, n);
    return p->counters[n].events.counter.value;
}

void tl_rvhpm_set_counter(tl_rvhpm *p, uint32_t n, uint64_t value) {
    tl_hpm *c = &p->counters[n];
    tl_counter_set(&c->events.counter, value, counts_in(c, mode_of(p)) ? total_of(p, c) : 0);
    aim(p, n);
    set_needs(p);
}

static uint8_t modes_of(uint64_t filters) {
    uint32_t modes = ALL_MODES;
    modes &= ~(filters & TL_HPM_MINH ? 1u << TL_PRIV_M : 0u);
    modes &= ~(filters & TL_HPM_SINH ? 1u << TL_PRIV_S : 0u);
    modes &= ~(filters & TL_HPM_UINH ? 1u << TL_PRIV_U : 0u);
    return (uint8_t)modes;
}

static void take_sources(tl_rvhpm *p, uint32_t n, uint64_t selector) {
    tl_hpm *c = &p->counters[n];
    if (n < TL_HPM_FIRST) {
        c->events.n_parts = 1;
        c->events.parts[0] = &p->clock[n != TL_HPM_CYCLE];
    } else {
        c->events.n_parts = parts_of(p, selector, c->events.parts);
    }
    tl_event_counter_combine(&c->events);
}

// Counts by the old rules up to now, then by the present registers.
static void configure(tl_rvhpm *p, uint32_t n) {
    tl_hpm *c = &p->counters[n];
    update(p, n);
    // The value is 0 without Smcntrpmf.
    uint64_t control = n >= TL_HPM_FIRST ? *tl_rvhpm_event(p, n) : *p->fixed_config[n];
    take_sources(p, n, control & TL_HPM_SELECTOR);
    c->modes = modes_of(control);
    c->is_running = c->events.n_parts > 0 && !(*p->mcountinhibit >> n & 1);
    if (counts_in(c, mode_of(p)))
        tl_counter_skip(&c->events.counter, total_of(p, c));
    aim(p, n);
}

void tl_rvhpm_configure(tl_rvhpm *p, uint32_t n) {
    if (tl_rvhpm_has(p, n))
        configure(p, n);
    set_needs(p);
}

uint64_t tl_rvhpm_overflows(tl_rvhpm *p) {
    uint64_t bits = 0;
    for (uint32_t n = TL_HPM_FIRST; n < TL_HPM_N; n++) {
        if (is_armed(p, n))
            update(p, n);
        bits |= (*tl_rvhpm_event(p, n) >> 63) << n;
    }
    return mode_of(p) == TL_PRIV_M ? bits : bits & *p->mcounteren;
}

// ---- the port ----

static bool find(const void *ctx, uint32_t csr, tl_reg_at *ret_at) {
    const tl_rvhpm *p = ctx;
    return (p->has_csr[csr / 64 & 63] >> csr % 64 & 1) && tl_regfile_find(&p->pmu.file, csr, ret_at);
}

// Enable registers gate the shadows (privileged manual, mcounteren and scounteren). The register
// number decides all else, and the hart checks it.
static bool permits(void *ctx, const tl_hart *h, const tl_reg_at *at, tl_reg_use use, uint64_t operand) {
    const tl_rvhpm *p = ctx;
    const uint32_t csr = tl_reg_number(at);
    bool is_shadow = (csr & ~31u) == CSR_CYCLE || (csr & ~31u) == CSR_CYCLEH;
    (void)h, (void)operand;
    if (use != TL_REG_READ)
        return !tl_csr_is_read_only(csr);
    if (!is_shadow)
        return true;
    uint64_t granted = UINT64_MAX;
    switch (mode_of(p)) {
    case TL_PRIV_U: granted = (*p->mcounteren & *p->scounteren) | p->pmu.host->user_counters(p->pmu.host->ctx, p->pmu.hart); break;
    case TL_PRIV_S: granted = *p->mcounteren; break;
    case TL_PRIV_M: break;
    }
    return granted >> (csr & 31) & 1;
}

static uint64_t read(void *ctx, tl_hart *h, const tl_reg_at *at) {
    tl_rvhpm *p = ctx;
    (void)h;
    p->totals.is_synced = false;
    return tl_regfile_value_at(&p->pmu.file, at);
}

// Returns the counter of a machine-level register, or TL_HPM_N.
static uint32_t counter_at(uint32_t csr) { return (csr & ~0x9fu) == 0xb00 ? csr & 31 : TL_HPM_N; }

static void write(void *ctx, tl_hart *h, const tl_reg_at *at, uint64_t value) {
    tl_rvhpm *p = ctx;
    (void)h;
    p->totals.is_synced = false;
    uint32_t n = counter_at(tl_reg_number(at));
    if (n == TL_HPM_N) {
        p->pending = *at;
        p->pending_value = value;
        p->has_pending = true;
    } else {
        // The engine reads it first, so an overflow before this instruction has happened.
        if (tl_rvhpm_has(p, n)) {
            tl_regfile_write_at(&p->pmu.file, at, value);
            p->written |= UINT32_C(1) << n;
        }
    }
}

static void retired(void *ctx, tl_hart *h) {
    tl_rvhpm *p = ctx;
    (void)h;
    p->totals.is_synced = false;
    for (uint32_t left = p->written; left != 0; left &= left - 1) {
        uint32_t n = (uint32_t)__builtin_ctz(left);
        tl_hpm *c = &p->counters[n];
        if (counts_in(c, mode_of(p)))
            tl_counter_skip(&c->events.counter, total_of(p, c));
        aim(p, n);
    }
    if (p->written != 0)
        set_needs(p);
    p->written = 0;
    if (p->has_pending)
        tl_regfile_write_at(&p->pmu.file, &p->pending, p->pending_value);
    p->has_pending = false;
}

static void leave_mode(void *ctx, tl_hart *h, tl_priv to) {
    tl_rvhpm *p = ctx;
    tl_priv from = mode_of(p);
    bool has_begun = false;
    (void)h;
    p->totals.is_synced = false;
    for (uint32_t left = p->filtered; left != 0; left &= left - 1) {
        uint32_t n = (uint32_t)__builtin_ctz(left);
        tl_hpm *c = &p->counters[n];
        bool counted = counts_in(c, from), will_count = counts_in(c, to);
        if (counted && !will_count) {
            update(p, n);
        } else if (will_count && !counted) {
            tl_counter_skip(&c->events.counter, total_of(p, c));
            aim(p, n);
            has_begun |= is_armed(p, n);
        }
    }
    if (has_begun)
        set_needs(p);
}

static uint64_t deadline(void *ctx, tl_hart *h) {
    tl_rvhpm *p = ctx;
    (void)h;
    p->totals.is_synced = false;
    if (p->armed == 0 && !p->pmu.port.needs_slow_watch)
        return UINT64_MAX;
    tl_priv mode = mode_of(p);
    uint64_t soonest = UINT64_MAX;
    bool had_slow_watch = p->pmu.port.needs_slow_watch, has_slow_watch = false;
    for (uint32_t rest = p->armed; rest != 0; rest &= rest - 1) {
        uint32_t n = (uint32_t)__builtin_ctz(rest);
        tl_hpm *c = &p->counters[n];
        has_slow_watch |= c->events.is_watched;
        if (!counts_in(c, mode) || tl_event_counter_is_quiet(&c->events))
            continue;
        if (tl_event_counter_is_stale(&c->events, &p->totals)) {
            update(p, n);
            has_slow_watch |= c->events.is_watched;
            if (!is_armed(p, n) || tl_event_counter_is_quiet(&c->events))
                continue;
        }
        uint64_t left = tl_event_counter_deadline(&c->events, &p->totals);
        has_slow_watch |= c->events.is_watched;
        soonest = left < soonest ? left : soonest;
    }
    p->pmu.port.needs_slow_watch = has_slow_watch;
    note_quiet(p);
    if (has_slow_watch != had_slow_watch)
        p->pmu.host->changed(p->pmu.host->ctx, p->pmu.hart);
    return soonest;
}

static void poll(void *ctx, tl_hart *h) {
    tl_rvhpm *p = ctx;
    (void)h;
    if (p->armed == 0)
        return;
    tl_priv mode = mode_of(p);
    p->totals.is_synced = false;
    for (uint32_t left = p->armed; left != 0; left &= left - 1) {
        uint32_t n = (uint32_t)__builtin_ctz(left);
        const tl_hpm *c = &p->counters[n];
        if (counts_in(c, mode) && tl_event_counter_is_due(&c->events, &p->totals))
            update(p, n);
    }
}

// ---- the design's row ----

static void reset(tl_pmu *pmu) {
    tl_rvhpm *p = tl_rvhpm_of(&pmu->file);
    tl_regfile_reset(&pmu->file);
    p->written = p->armed = p->filtered = 0;
    p->has_pending = p->totals.is_synced = false;
    for (uint32_t n = 0; n < TL_HPM_N; n++) {
        uint32_t width_bits = n < TL_HPM_FIRST ? 64 : p->preset->width_bits;
        p->counters[n] = (tl_hpm){.events.counter = {.width_bits = (uint8_t)width_bits}};
        if (tl_rvhpm_has(p, n))
            configure(p, n);
    }
    set_needs(p);
}

static tl_status resolve(tl_rvhpm *p, tl_arena *arena, tl_error *err) {
    const tl_probe *probe = p->pmu.host->probe;
    const tl_pmu_preset *preset = p->pmu.preset;
    tl_status status = tl_totals_init(&p->totals, &p->pmu, arena, p->clock, err);
    if (status != TL_OK)
        return status;
    p->resolved = tl_arena_alloc(arena, preset->n_events * sizeof *p->resolved);
    if (!p->resolved)
        return tl_fail(err, TL_ENOMEM, "no memory for the events of pmu %s", p->pmu.type->name);
    for (uint32_t i = 0; status == TL_OK && i < preset->n_events; i++)
        if (preset->events[i].fidelity != TL_NOT_MODELED) {
            status = tl_sources_resolve(preset->events[i].sources, probe, p->pmu.hart, arena, &p->resolved[i], err);
            if (status == TL_ENOENT)
                status = TL_OK; // not on this machine: the selector reads back as 0
        }
    return status;
}

static tl_status attach(tl_pmu *pmu, tl_arena *arena, tl_error *err) {
    tl_rvhpm *p = tl_rvhpm_of(&pmu->file);
    p->preset = (const tl_rvhpm_preset *)(const void *)pmu->preset;
    tl_status status = resolve(p, arena, err);
    if (status != TL_OK)
        return status;
    p->events = pmu->file.stored + tl_regmap_cell_at(pmu->file.map, CSR_MHPMEVENT3);
    p->mcounteren = pmu->file.stored + tl_regmap_cell_at(pmu->file.map, CSR_MCOUNTEREN);
    p->scounteren = pmu->file.stored + tl_regmap_cell_at(pmu->file.map, CSR_SCOUNTEREN);
    p->mcountinhibit = pmu->file.stored + tl_regmap_cell_at(pmu->file.map, CSR_MCOUNTINHIBIT);
    p->fixed_config[TL_HPM_CYCLE] = pmu->file.stored + tl_regmap_cell_at(pmu->file.map, CSR_MCYCLECFG);
    p->fixed_config[TL_HPM_INSTRET] = pmu->file.stored + tl_regmap_cell_at(pmu->file.map, CSR_MINSTRETCFG);
    for (uint32_t csr = 0; csr < 4096; csr++) {
        tl_reg_at at;
        if (tl_regfile_find(&pmu->file, csr, &at))
            p->has_csr[csr / 64] |= UINT64_C(1) << csr % 64;
    }
    pmu->port = (tl_pmu_port){
        .ctx = p,
        .find = find,
        .permits = permits,
        .read = read,
        .write = write,
        .retired = retired,
        .leave_mode = leave_mode,
        .deadline = deadline,
        .poll = poll,
    };
    return TL_OK;
}

static const char *const presets[] = {"linux", "u74", "none", NULL}; // of tl_rvhpm_presets
static const tl_key keys[] = {
#define CHOICE(...) TL_KEY_NAMED(tl_rvhpm_settings, __VA_ARGS__)
#include "pmu/rvhpm/keys.def"
#undef CHOICE
    {.path = NULL},
};
static const tl_rvhpm_settings default_settings = {.preset = 0};

static const tl_pmu_preset *choose(const void *settings) { return tl_rvhpm_presets[((const tl_rvhpm_settings *)settings)->preset]; }

static bool add_text(const tl_pmu_preset *preset, uint64_t selector, const char **texts, uint32_t *n) {
    for (uint32_t i = 0; i < preset->n_events && *n < TL_PMU_MAX_TEXTS; i++)
        if (preset->events[i].selector == selector && preset->events[i].sources) {
            texts[(*n)++] = preset->events[i].sources;
            return true;
        }
    return false;
}

// Generic events belong to the preset with all events, because the personality counts without the
// hart's counters.
static uint32_t perf_sources(const tl_pmu *pmu, bool is_sbi, uint64_t selector, const char *ret_texts[]) {
    const tl_rvhpm *p = tl_rvhpm_of(&pmu->file);
    uint32_t n = 0;
    if (is_sbi)
        return add_text(&tl_rvhpm_linux.base, selector, ret_texts, &n) ? n : 0;
    if (tl_rvhpm_legal_selector(p, selector) == 0)
        return 0;
    if (!p->preset->has_masks)
        return add_text(pmu->preset, selector, ret_texts, &n) ? n : 0;
    for (uint64_t left = selector & ~UINT64_C(0xff); left != 0; left &= left - 1)
        if (!add_text(pmu->preset, (left & -left) | (selector & 0xff), ret_texts, &n))
            return 0;
    return n;
}

static uint64_t irqs(const tl_pmu *pmu) { return pmu->preset->tree && pmu->preset->tree->has_sscofpmf ? UINT64_C(1) << TL_IRQ_LCOFI : 0; }

const tl_pmu_type tl_pmu_rvhpm = {
    .name = "rvhpm",
    .title = "RISC-V hardware performance counters",
    .cite = "RISC-V Privileged Architecture 1.12; Sscofpmf 1.0; Smcntrpmf 1.0",
    .regmap = &tl_rvhpm_regmap,
    .presets = tl_rvhpm_presets,
    .scope = TL_PMU_OF_HART,
    .state_size = sizeof(tl_rvhpm),
    .keys = keys,
    .default_settings = &default_settings,
    .settings_size = sizeof default_settings,
    .choose = choose,
    .perf_sources = perf_sources,
    .irqs = irqs,
    .attach = attach,
    .reset = reset,
};
