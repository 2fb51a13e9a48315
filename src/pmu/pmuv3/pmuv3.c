// SPDX-License-Identifier: MIT
// Behavior of the counters. A counter is a difference of running totals (model/counter.h), brought
// up to date when software looks, when a control register or the exception level changes what
// counts, and when an overflow that interrupts may have happened.
//
// Timing of effects: a read sees the counter before the effect of the reading instruction. A write
// acts after its instruction has retired under the old registers. Accesses to the window act at
// once.
#include "pmu/pmuv3/pmuv3.h"

#include "base/bits.h"
#include "isa/a64/arch.h"

static const uint64_t LOW = UINT32_MAX;

static uint32_t bit_of(uint32_t n) { return n == TL_PMUV3_CYCLE ? TL_PMUV3_CYCLE_BIT : UINT32_C(1) << n; }
static uint32_t event_of(const tl_pmuv3 *p, uint32_t n) { return p->types[n] & TL_PMEVTYPER_EVENT; }
static bool is_chained(const tl_pmuv3 *p, uint32_t n) { return n < TL_PMUV3_EVENTS && n % 2 == 1 && event_of(p, n) == TL_PMUV3_CHAIN; }
static bool counts(const tl_pmuv3 *p, uint32_t n) { return p->counting >> n & 1; }
static tl_priv level_of(const tl_pmuv3 *p) { return p->pmu.host->privilege(p->pmu.host->ctx, p->pmu.hart); }
static uint32_t state_at(const tl_pmuv3 *p, tl_priv level) {
    const tl_pmu_host *host = p->pmu.host;
    return host->state ? host->state(host->ctx, p->pmu.hart, level) : 0;
}

// ---- what counts

// D5.4.5 and the pseudocode CountEvents. Bits that are not set count.
static bool is_filtered(uint32_t filter, tl_priv level, bool is_secure) {
    const bool p = filter & TL_PMEVTYPER_P, u = filter & TL_PMEVTYPER_U;
    switch (level) {
    case TL_A64_EL0: return is_secure ? u : u != ((filter & TL_PMEVTYPER_NSU) != 0);
    case TL_A64_EL1: return is_secure ? p : p != ((filter & TL_PMEVTYPER_NSK) != 0);
    case TL_A64_EL2: return !(filter & TL_PMEVTYPER_NSH);
    default: return p != ((filter & TL_PMEVTYPER_M) != 0);
    }
}

static uint32_t counting_at(const tl_pmuv3 *p, tl_priv level) {
    const uint32_t state = state_at(p, level);
    uint32_t counting = 0;
    if (!(p->control & TL_PMCR_E) || (state & (TL_PMU_HALTED | TL_PMU_OFF)))
        return 0;
    for (uint32_t n = 0; n < TL_PMUV3_N; n++) {
        bool is_prohibited = state & TL_PMU_PROHIBITED;
        if (n == TL_PMUV3_CYCLE)
            is_prohibited &= (p->control & TL_PMCR_DP) != 0;
        if ((p->enabled & bit_of(n)) && !is_prohibited && !is_filtered(p->types[n], level, state & TL_PMU_SECURE))
            counting |= UINT32_C(1) << n;
    }
    return counting;
}

static void take_sources(tl_pmuv3 *p, uint32_t n) {
    const tl_pmu_preset *preset = p->pmu.preset;
    tl_event_counter *c = &p->counters[n];
    c->n_parts = 0;
    c->divider_log2 = 0;
    if (n == TL_PMUV3_CYCLE) {
        c->parts[c->n_parts++] = &p->clock[0];
        c->divider_log2 = (p->control & (TL_PMCR_D | TL_PMCR_LC)) == TL_PMCR_D ? 6 : 0;
    }
    for (uint32_t i = 0; n < TL_PMUV3_EVENTS && i < preset->n_events; i++)
        if (preset->events[i].selector == event_of(p, n) && p->resolved[i].n_cells > 0)
            c->parts[c->n_parts++] = &p->resolved[i];
    tl_event_counter_combine(c);
}

// ---- overflow

static void set_line(tl_pmuv3 *p) {
    const bool line = (p->control & TL_PMCR_E) && (p->overflowed & p->interrupt) != 0;
    if (line == p->line)
        return;
    p->line = line;
    p->pmu.host->set_irq(p->pmu.host->ctx, p->pmu.hart, TL_IRQ_PMU, line);
}

// Counter n wrapped so many times.
static void wrap(tl_pmuv3 *p, uint32_t n, uint64_t times) {
    while (times != 0) {
        p->overflowed |= bit_of(n);
        n += 1;
        if (!is_chained(p, n) || !counts(p, n))
            return;
        tl_counter *high = &p->counters[n].counter;
        const uint64_t sum = high->value + (times & LOW);
        high->value = sum & LOW;
        times = (times >> 32) + (sum >> 32);
    }
}

static void add(tl_pmuv3 *p, uint32_t n) {
    tl_counter *counter = &p->counters[n].counter;
    counter->value = (counter->value + 1) & LOW;
    wrap(p, n, counter->value == 0);
}

static void fold(tl_pmuv3 *p, uint32_t n) {
    tl_counter *counter = &p->counters[n].counter;
    const uint64_t total = tl_event_counter_total(&p->counters[n], &p->totals), steps = total - counter->seen, old = counter->value;
    const bool is_long = n == TL_PMUV3_CYCLE && (p->control & TL_PMCR_LC);
    (void)tl_counter_fold(counter, total);
    wrap(p, n, is_long ? counter->value < old : (steps >> 32) + (((old & LOW) + (steps & LOW)) >> 32));
}

// A wait ends with the first overflow, because the line stays up until software clears the flag.
static bool waits(const tl_pmuv3 *p, uint32_t n) { return counts(p, n) && (bit_of(n) & p->interrupt & ~p->overflowed); }

static void aim(tl_pmuv3 *p, uint32_t n) {
    tl_event_counter *c = &p->counters[n];
    const uint64_t value = c->counter.value, low_steps = LOW - (value & LOW) + 1;
    const bool is_long = n == TL_PMUV3_CYCLE && (p->control & TL_PMCR_LC);
    uint64_t headroom = UINT64_MAX;
    p->armed &= ~(UINT32_C(1) << n);
    c->is_watched = false;
    if (!counts(p, n) || c->n_parts == 0)
        return;
    if (waits(p, n))
        headroom = is_long ? tl_counter_headroom(&c->counter) : low_steps;
    else if (is_chained(p, n + 1) && waits(p, n + 1))
        headroom = ((LOW - p->counters[n + 1].counter.value) << 32) + (low_steps - 1);
    else
        return;
    p->armed |= UINT32_C(1) << n;
    tl_event_counter_aim(c, &p->totals, headroom);
}

// The counters decide which services the port needs from the hart.
static void set_needs(tl_pmuv3 *p) {
    tl_pmu_port *port = &p->pmu.port;
    const bool had_slow_watch = port->needs_slow_watch, may_prohibit = state_at(p, level_of(p)) & TL_PMU_MAY_PROHIBIT;
    port->needs_slow_watch = port->needs_modes = false;
    for (uint32_t n = 0; n < TL_PMUV3_N; n++) {
        const bool is_on = (p->control & TL_PMCR_E) && (p->enabled & bit_of(n));
        port->needs_slow_watch |= p->counters[n].is_watched;
        port->needs_modes |= is_on && (may_prohibit || (p->types[n] & TL_PMEVTYPER_FILTER) || event_of(p, n) == TL_PMUV3_EXC_RETURN);
    }
    if (p->armed != 0 || port->needs_slow_watch != had_slow_watch)
        p->pmu.host->changed(p->pmu.host->ctx, p->pmu.hart);
}

// Counts up to now; the counter below a chained one may carry into it.
static void update(tl_pmuv3 *p, uint32_t n) {
    const uint32_t source = is_chained(p, n) ? n - 1 : n;
    if (counts(p, source)) {
        fold(p, source);
        aim(p, source);
    }
    set_line(p);
}

// ---- functions for the registers

void tl_pmuv3_begin(tl_pmuv3 *p) {
    for (uint32_t n = 0; n < TL_PMUV3_N; n++)
        if (counts(p, n))
            fold(p, n);
}

void tl_pmuv3_end(tl_pmuv3 *p) {
    p->left = p->counting = counting_at(p, level_of(p));
    for (uint32_t n = 0; n < TL_PMUV3_N; n++) {
        take_sources(p, n);
        if (counts(p, n))
            tl_counter_skip(&p->counters[n].counter, tl_event_counter_total(&p->counters[n], &p->totals));
    }
    for (uint32_t n = 0; n < TL_PMUV3_N; n++)
        aim(p, n);
    set_line(p);
    set_needs(p);
}

uint64_t tl_pmuv3_counter(tl_pmuv3 *p, uint32_t n) {
    update(p, n);
    return p->counters[n].counter.value;
}

void tl_pmuv3_set_counter(tl_pmuv3 *p, uint32_t n, uint64_t value) {
    tl_pmuv3_begin(p);
    p->counters[n].counter.value = value & tl_counter_mask(&p->counters[n].counter);
    tl_pmuv3_end(p);
}

void tl_pmuv3_reset_counters(tl_pmuv3 *p, bool resets_events, bool resets_cycles) {
    for (uint32_t n = 0; n < TL_PMUV3_N; n++)
        if (n == TL_PMUV3_CYCLE ? resets_cycles : resets_events)
            p->counters[n].counter.value = 0;
}

uint32_t tl_pmuv3_overflows(tl_pmuv3 *p) {
    for (uint32_t n = 0; n < TL_PMUV3_N; n++)
        update(p, n);
    return p->overflowed;
}

void tl_pmuv3_software_increment(tl_pmuv3 *p, uint32_t bits) {
    tl_pmuv3_begin(p);
    for (uint32_t n = 0; n < TL_PMUV3_EVENTS; n++)
        if ((bits >> n & 1) && counts(p, n) && event_of(p, n) == TL_PMUV3_SW_INCR)
            add(p, n);
    tl_pmuv3_end(p);
}

// Fields of a closed input are 2, those of an open one 3.
uint32_t tl_pmuv3_authentication(const tl_pmuv3 *p) {
    const uint32_t state = state_at(p, level_of(p));
    return (state & TL_PMU_CLOSED ? 2u : 3u) << 2 | (state & TL_PMU_MAY_PROHIBIT ? 2u : 3u) << 6;
}

uint32_t tl_pmuv3_common_events(const tl_pmuv3 *p, uint32_t half) {
    const tl_pmu_preset *preset = p->pmu.preset;
    uint32_t bits = 0;
    for (uint32_t i = 0; i < preset->n_events; i++) {
        const tl_event *event = &preset->events[i];
        const bool is_there = event->sources && (*event->sources == '\0' || p->resolved[i].n_cells > 0);
        if (is_there && event->selector >> 5 == half)
            bits |= UINT32_C(1) << (event->selector & 31);
    }
    return bits;
}

// ---- the port

enum { FIRST_SYSTEM_REGISTER = 0x8000 };

static void note_blocks(tl_pmuv3 *p) {
    for (uint32_t i = 0; i < tl_pmuv3_regmap.n_regs; i++) {
        const tl_reg *reg = &tl_pmuv3_regmap.regs[i];
        const uint32_t stride = reg->stride > 0 ? reg->stride : 1;
        for (uint32_t k = 0; k < tl_reg_count(reg) && reg->addr >= FIRST_SYSTEM_REGISTER; k++) {
            const uint32_t block = (reg->addr + k * stride) / TL_PMUV3_BLOCK;
            p->blocks[block / 64] |= UINT64_C(1) << block % 64;
        }
    }
}

// A hart asks for every number that there is.
static bool find(const void *ctx, uint32_t number, tl_reg_at *ret_at) {
    const tl_pmuv3 *p = ctx;
    const uint32_t block = (number & 0xffff) / TL_PMUV3_BLOCK;
    return (p->blocks[block / 64] >> block % 64 & 1) && tl_regfile_find(&p->pmu.file, number, ret_at);
}

static bool permits(void *ctx, const tl_hart *h, const tl_reg_at *at, tl_reg_use use, uint64_t operand) {
    const tl_pmuv3 *p = ctx;
    const tl_pmuv3_access access = tl_pmuv3_access_of(tl_reg_number(at));
    const bool is_read = use == TL_REG_READ;
    (void)operand;
    if (is_read ? access.is_write_only : access.is_read_only)
        return false;
    return h->priv != TL_A64_EL0 || ((is_read ? access.el0_read : access.el0_write) & (p->user | TL_PMUV3_ALWAYS)) != 0;
}

// D1.13.1: what EL0 may have, and PMUSERENR_EL0 denies, is a trap to EL1.
static bool traps(void *ctx, const tl_hart *h, const tl_reg_at *at, tl_reg_use use) {
    const tl_pmuv3_access access = tl_pmuv3_access_of(tl_reg_number(at));
    (void)ctx;
    return h->priv == TL_A64_EL0 && (use == TL_REG_READ ? access.el0_read : access.el0_write) != 0;
}

static uint64_t read(void *ctx, tl_hart *h, const tl_reg_at *at) {
    tl_pmuv3 *p = ctx;
    (void)h;
    p->totals.is_synced = false;
    return tl_regfile_value_at(&p->pmu.file, at);
}

static void write(void *ctx, tl_hart *h, const tl_reg_at *at, uint64_t value) {
    tl_pmuv3 *p = ctx;
    (void)h;
    p->pending = *at;
    p->pending_value = value;
    p->has_pending = true;
}

static void retired(void *ctx, tl_hart *h) {
    tl_pmuv3 *p = ctx;
    (void)h;
    p->totals.is_synced = false;
    if (p->has_pending)
        tl_regfile_write_at(&p->pmu.file, &p->pending, p->pending_value);
    p->has_pending = false;
}

static void leave_mode(void *ctx, tl_hart *h, tl_priv to) {
    tl_pmuv3 *p = ctx;
    const uint32_t counting = counting_at(p, to), begun = counting & ~p->counting, ended = p->counting & ~counting;
    (void)h;
    p->totals.is_synced = false;
    p->left = p->counting;
    if ((begun | ended) == 0)
        return;
    for (uint32_t n = 0; n < TL_PMUV3_N; n++) {
        // Wraps up to now are carried by the old rules.
        const bool carries = is_chained(p, n + 1) && ((begun | ended) >> (n + 1) & 1);
        if (counts(p, n) && ((ended >> n & 1) || carries))
            fold(p, n);
    }
    p->counting = counting;
    for (uint32_t n = 0; n < TL_PMUV3_N; n++)
        if (begun >> n & 1)
            tl_counter_skip(&p->counters[n].counter, tl_event_counter_total(&p->counters[n], &p->totals));
    for (uint32_t n = 0; n < TL_PMUV3_N; n++)
        if ((begun | ended) >> (n & ~1u) & 3) // a counter and the one chained to it
            aim(p, n);
    set_line(p);
    if (begun != 0)
        set_needs(p);
}

static void state_changed(void *ctx, tl_hart *h) {
    tl_pmuv3 *p = ctx;
    (void)h;
    p->totals.is_synced = false;
    tl_pmuv3_begin(p);
    tl_pmuv3_end(p);
}

// Counters whose overflow cannot come before a deadline that is still ahead are left alone.
static uint64_t deadline(void *ctx, tl_hart *h) {
    tl_pmuv3 *p = ctx;
    const bool had_slow_watch = p->pmu.port.needs_slow_watch;
    bool has_slow_watch = false;
    uint64_t soonest = UINT64_MAX;
    (void)h;
    p->totals.is_synced = false;
    for (uint32_t rest = p->armed; rest != 0; rest &= rest - 1) {
        const uint32_t n = (uint32_t)__builtin_ctz(rest);
        tl_event_counter *c = &p->counters[n];
        if (!tl_event_counter_is_quiet(c) && tl_event_counter_is_stale(c, &p->totals))
            update(p, n);
        if ((p->armed >> n & 1) && !tl_event_counter_is_quiet(c))
            soonest = tl_lesser(soonest, tl_event_counter_deadline(c, &p->totals));
        has_slow_watch |= c->is_watched;
    }
    p->pmu.port.needs_slow_watch = has_slow_watch;
    if (has_slow_watch != had_slow_watch)
        p->pmu.host->changed(p->pmu.host->ctx, p->pmu.hart);
    return soonest;
}

static void poll(void *ctx, tl_hart *h) {
    tl_pmuv3 *p = ctx;
    (void)h;
    p->totals.is_synced = false;
    for (uint32_t rest = p->armed; rest != 0; rest &= rest - 1) {
        const uint32_t n = (uint32_t)__builtin_ctz(rest);
        if (tl_event_counter_is_due(&p->counters[n], &p->totals))
            update(p, n);
    }
}

// An exception return belongs to the level that it leaves.
static void notice(tl_pmu *pmu, const tl_hart *h, tl_notice what) {
    tl_pmuv3 *p = tl_pmuv3_of(&pmu->file);
    const uint32_t event = what == TL_NOTICE_TRAP_RETURN ? TL_PMUV3_EXC_RETURN : TL_PMUV3_CID_WRITE;
    const uint32_t present = p->counting;
    (void)h;
    if (what != TL_NOTICE_TRAP_RETURN && what != TL_NOTICE_CONTEXT_NAME)
        return;
    p->counting = what == TL_NOTICE_TRAP_RETURN ? p->left : present;
    for (uint32_t n = 0; n < TL_PMUV3_EVENTS; n++)
        if (counts(p, n) && event_of(p, n) == event)
            add(p, n);
    p->counting = present;
    set_line(p);
}

// ---- the window

// I5.2 and H8: registers of the core domain answer with an error while the hart is off, while a
// lock of the operating system is set, or while EL3 denies them. The software lock hides writes.
static bool permits_window(const tl_pmu *pmu, uint32_t offset, uint32_t size_bytes, bool is_write, bool *ret_is_silent) {
    const tl_pmuv3 *p = tl_pmuv3_of(&pmu->file);
    const uint32_t refusals = TL_PMU_OS_LOCKED | TL_PMU_DOUBLE_LOCKED | TL_PMU_OFF | TL_PMU_OUTSIDE_DENIED;
    const uint32_t refusal = state_at(p, level_of(p)) & refusals;
    if (size_bytes != 4)
        return false;
    if (offset < TL_PMUV3_FIRST_MANAGEMENT && refusal != 0) {
        // The other reasons come first (H8.6.1), and EDPRSR.SPMAD notes only this one.
        if (refusal == TL_PMU_OUTSIDE_DENIED && p->pmu.host->refused)
            p->pmu.host->refused(p->pmu.host->ctx, p->pmu.hart);
        return false;
    }
    *ret_is_silent = is_write && p->is_locked && offset != TL_PMUV3_PMLAR;
    tl_pmuv3_of(&pmu->file)->totals.is_synced = false;
    return true;
}

// ---- the design's row

static void reset(tl_pmu *pmu) {
    tl_pmuv3 *p = tl_pmuv3_of(&pmu->file);
    tl_regfile_reset(&pmu->file);
    p->control = p->enabled = p->interrupt = p->overflowed = p->selected = p->user = 0;
    p->counting = p->left = p->armed = 0;
    p->is_locked = true;
    p->has_pending = p->totals.is_synced = false;
    for (uint32_t n = 0; n < TL_PMUV3_N; n++) {
        p->types[n] = 0;
        p->counters[n] = (tl_event_counter){.counter = {.width_bits = n == TL_PMUV3_CYCLE ? 64 : 32}};
    }
    tl_pmuv3_end(p);
}

static tl_status attach(tl_pmu *pmu, tl_arena *arena, tl_error *err) {
    tl_pmuv3 *p = tl_pmuv3_of(&pmu->file);
    const tl_pmu_preset *preset = pmu->preset;
    tl_status status = tl_totals_init(&p->totals, pmu, arena, p->clock, err);
    if (status != TL_OK)
        return status;
    p->resolved = tl_arena_alloc(arena, preset->n_events * sizeof *p->resolved);
    if (!p->resolved)
        return tl_fail(err, TL_ENOMEM, "no memory for the events of pmu %s", pmu->type->name);
    for (uint32_t i = 0; i < preset->n_events; i++) {
        if (!preset->events[i].sources || *preset->events[i].sources == '\0')
            continue;
        status = tl_sources_resolve(preset->events[i].sources, pmu->host->probe, pmu->hart, arena, &p->resolved[i], err);
        // Without the signal, PMCEIDn says that the event is absent.
        if (status != TL_OK && status != TL_ENOENT)
            return status;
    }
    note_blocks(p);
    pmu->port = (tl_pmu_port){.ctx = p,
                              .find = find,
                              .permits = permits,
                              .traps = traps,
                              .read = read,
                              .write = write,
                              .retired = retired,
                              .leave_mode = leave_mode,
                              .deadline = deadline,
                              .poll = poll,
                              .state_changed = state_changed};
    return TL_OK;
}

static const char *const choices[] = {"none", "a53", "full", NULL}; // tl_pmuv3_key_preset
static const tl_key keys[] = {
#define CHOICE(...) TL_KEY_NAMED(tl_pmuv3_settings, __VA_ARGS__)
#include "pmu/pmuv3/keys.def"
#undef CHOICE
    {.path = NULL},
};
static const tl_pmuv3_settings default_settings = {.preset = TL_PMUV3_KEY_NONE};

static const tl_pmu_preset *choose(const void *settings) {
    const uint32_t preset = ((const tl_pmuv3_settings *)settings)->preset;
    return preset == TL_PMUV3_KEY_NONE ? NULL : tl_pmuv3_presets[preset - 1];
}

static const char *sources_of(const tl_pmu_preset *preset, uint64_t selector) {
    for (uint32_t i = 0; i < preset->n_events; i++)
        if (preset->events[i].selector == selector && preset->events[i].sources && *preset->events[i].sources != '\0')
            return preset->events[i].sources;
    return NULL;
}

// perf's generic events are those of the device tree, by SBI's numbers.
static uint32_t perf_sources(const tl_pmu *pmu, bool is_sbi, uint64_t selector, const char *ret_texts[]) {
    const tl_pmu_tree *tree = pmu->preset->tree;
    const char *text = is_sbi ? NULL : sources_of(pmu->preset, selector);
    for (uint32_t i = 0; is_sbi && i < tree->n_events; i++)
        if (tree->events[i].event == selector)
            text = sources_of(pmu->preset, tree->events[i].selector);
    ret_texts[0] = text;
    return text != NULL;
}

static void describe_node(const tl_pmu *pmu, tl_pmu_node *ret_node) {
    static const char compatible[] = "arm,cortex-a53-pmu\0arm,armv8-pmuv3";
    (void)pmu;
    *ret_node = (tl_pmu_node){.name = "pmu", .compatible = compatible, .compatible_bytes = sizeof compatible};
}

const tl_pmu_type tl_pmu_pmuv3 = {
    .name = "armv8",
    .title = "Performance Monitors of Armv8-A (PMUv3)",
    .cite = "Arm Architecture Reference Manual for Armv8-A (DDI 0487), D5 and I5; Cortex-A53 manual (DDI 0500), chapter 12",
    .regmap = &tl_pmuv3_regmap,
    .presets = tl_pmuv3_presets,
    .scope = TL_PMU_OF_HART,
    .isas = 1 << TL_ISA_AARCH64,
    .state_size = sizeof(tl_pmuv3),
    .keys = keys,
    .default_settings = &default_settings,
    .settings_size = sizeof default_settings,
    .choose = choose,
    .perf_sources = perf_sources,
    .window_paddr = TL_PMUV3_PADDR,
    .window_bytes = TL_PMUV3_WINDOW_BYTES,
    .window_stride = TL_PMUV3_STRIDE,
    .permits_window = permits_window,
    .describe_node = describe_node,
    .attach = attach,
    .reset = reset,
    .notice = notice,
};
