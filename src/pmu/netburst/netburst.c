// SPDX-License-Identifier: MIT
// The design's row: a tl_netburst for each core of a machine, its CSRs in each hart, its interrupt.
#include "pmu/netburst/netburst.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bits.h"
#include "isa/rv/arch.h"
#include "pmu/netburst/feed.h"

// CSRs of a hart, in the custom ranges of the privileged manual. Supervisor mode reaches any MSR
// through nbindex and nbdata. RDPMC is one register for each counter.
enum { CSR_INDEX = 0x5c0, CSR_DATA = 0x5c1, CSR_LVT = 0x5c2, CSR_CR4 = 0x5c3, CSR_PMC = 0xcc0, CSR_PMC_LOW = 0xce8 };
enum { CR4_PCE = 1 << 8 };

static const tl_reg csrs[] = {
    {.name = "nbindex", .addr = CSR_INDEX, .width_bits = 64},
    {.name = "nbdata", .addr = CSR_DATA, .width_bits = 64},
    {.name = "nblvt", .addr = CSR_LVT, .width_bits = 64},
    {.name = "nbcr4", .addr = CSR_CR4, .width_bits = 64},
    {.name = "pmc#", .addr = CSR_PMC, .count = TL_NETBURST_COUNTERS, .width_bits = 64},
    {.name = "pmcl#", .addr = CSR_PMC_LOW, .count = TL_NETBURST_COUNTERS, .width_bits = 64},
};

typedef struct machine_core {
    tl_netburst n;
    tl_netburst_feed *feed; // NULL: a host that is no machine
    const tl_pmu_host *host;
    uint32_t first_hart;
    tl_skid_deck deck;
    tl_moment due[TL_NETBURST_THREADS]; // of an interrupt that is on its way
    // Instructions of threads before the clock in which a counter overflowed last.
    uint64_t overflowed[TL_NETBURST_COUNTERS][TL_NETBURST_THREADS];
} machine_core;
#define NEVER UINT64_MAX
static const tl_moment never = {NEVER, NEVER};

static tl_netburst_thread *thread_of(void *ctx) { return ctx; }
static machine_core *core_of(tl_netburst *n) { return (machine_core *)(void *)n; }

tl_netburst *tl_netburst_of(const tl_pmu *pmu, uint32_t *ret_thread) {
    const tl_netburst_thread *thread = (const tl_netburst_thread *)pmu;
    if (!pmu)
        return NULL;
    *ret_thread = thread->index;
    return thread->core;
}

// ---- What surrounds the PMU of a core.

static void interrupt(void *ctx, uint32_t thread, bool is_nmi) {
    machine_core *c = ctx;
    const uint32_t hart = c->first_hart + thread;
    const tl_moment now = c->feed ? tl_netburst_feed_moment(c->feed, thread) : (tl_moment){0, 0};
    (void)is_nmi; // harts have no interrupt that software cannot mask
    if (!c->feed || c->n.threads[thread]->is_livelocked)
        c->due[thread] = now;
    else
        c->due[thread] = tl_skid_arrival(&c->n.settings, &c->deck, now);
    c->host->changed(c->host->ctx, hart);
}

static void overflowed(void *ctx, uint32_t counter) {
    machine_core *c = ctx;
    for (uint32_t i = 0; c->feed && i < c->n.n_threads; i++)
        c->overflowed[counter][i] = tl_netburst_feed_moment(c->feed, i).insns;
}

uint64_t tl_netburst_overflow_insns(const tl_netburst *n, uint32_t thread, uint32_t counter) {
    const machine_core *c = (const machine_core *)(const void *)n;
    return c->overflowed[counter][thread];
}

static void catch_up(void *ctx, uint32_t thread) {
    machine_core *c = ctx;
    if (c->feed)
        tl_netburst_feed_catch_up(c->feed, thread);
}

static void configured(void *ctx) {
    machine_core *c = ctx;
    if (!c->feed)
        return;
    tl_netburst_feed_configured(c->feed);
    for (uint32_t i = 0; tl_netburst_quiet_clocks(&c->n) != NEVER && i < c->n.n_threads; i++)
        c->host->changed(c->host->ctx, c->first_hart + i);
}

static bool transfer(void *ctx, uint32_t thread, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write) {
    const machine_core *c = ctx;
    return c->host->transfer && c->host->transfer(c->host->ctx, c->first_hart + thread, vaddr, bytes, n_bytes, is_write);
}

// ---- The port.

static bool find(const void *ctx, uint32_t csr, tl_reg_at *ret_at) {
    (void)ctx;
    for (uint32_t i = 0; i < TL_COUNT_OF(csrs); i++)
        if (csr >= csrs[i].addr && csr - csrs[i].addr < tl_reg_count(&csrs[i])) {
            *ret_at = (tl_reg_at){.reg = &csrs[i], .index = csr - csrs[i].addr};
            return true;
        }
    return false;
}

static uint64_t written(tl_netburst_thread *t, tl_reg_use use, uint64_t operand) {
    uint64_t old = 0;
    if (use != TL_REG_WRITE)
        (void)!tl_netburst_rdmsr(t->core, t->index, t->msr, &old);
    return use == TL_REG_SET ? old | operand : use == TL_REG_CLEAR ? old & ~operand : operand;
}

static bool permits(void *ctx, const tl_hart *h, const tl_reg_at *at, tl_reg_use use, uint64_t operand) {
    tl_netburst_thread *t = thread_of(ctx);
    uint64_t value;
    switch (at->reg->addr) {
    case CSR_DATA:
        if (use == TL_REG_READ)
            return tl_netburst_rdmsr(t->core, t->index, t->msr, &value) == TL_OK;
        return tl_netburst_may_write(t->core, t->index, t->msr, written(t, use, operand));
    case CSR_PMC:
    case CSR_PMC_LOW:
        return use == TL_REG_READ && (h->priv != TL_PRIV_U || t->user_reads || t->pmu.host->user_counters(t->pmu.host->ctx, h->id) != 0);
    default: return true;
    }
}

static uint64_t read(void *ctx, tl_hart *h, const tl_reg_at *at) {
    tl_netburst_thread *t = thread_of(ctx);
    uint64_t value = 0;
    (void)h;
    switch (at->reg->addr) {
    case CSR_INDEX: return t->msr;
    case CSR_DATA: (void)!tl_netburst_rdmsr(t->core, t->index, t->msr, &value); return value;
    case CSR_LVT: return tl_netburst_lvt(t->core, t->index);
    case CSR_CR4: return t->user_reads ? CR4_PCE : 0;
    default:
        (void)!tl_netburst_rdpmc(t->core, t->index, at->index | (at->reg->addr == CSR_PMC_LOW ? UINT32_C(1) << 31 : 0), &value);
        return value;
    }
}

static void write(void *ctx, tl_hart *h, const tl_reg_at *at, uint64_t value) {
    tl_netburst_thread *t = thread_of(ctx);
    (void)h;
    switch (at->reg->addr) {
    case CSR_INDEX: t->msr = (uint32_t)value; break;
    case CSR_DATA: (void)!tl_netburst_wrmsr(t->core, t->index, t->msr, value); break;
    case CSR_LVT: tl_netburst_set_lvt(t->core, t->index, (uint32_t)value); break;
    default: t->user_reads = value & CR4_PCE; break;
    }
}

static void retired(void *ctx, tl_hart *h) { (void)ctx, (void)h; }

static uint64_t deadline(void *ctx, tl_hart *h) { return (void)ctx, (void)h, NEVER; }

// Overflows are seen when the clock after them is told. A clock in which the core would skip one is
// a clock to stop at.
static void arrival(void *ctx, tl_hart *h, uint64_t *insn_limit) {
    const tl_netburst_thread *t = thread_of(ctx);
    const machine_core *c = core_of(t->core);
    if (c->feed)
        tl_netburst_feed_settle(c->feed);
    const uint64_t quiet = tl_netburst_quiet_clocks(t->core);
    *insn_limit = tl_lesser(*insn_limit, c->due[t->index].insns);
    h->horizon = tl_lesser(h->horizon, c->due[t->index].cycle);
    if (quiet < NEVER / 2 && c->feed) {
        const uint64_t clock = tl_netburst_feed_next(c->feed) + quiet;
        h->horizon = tl_lesser(h->horizon, clock > h->now ? clock : h->now + 1);
    }
}

static void poll(void *ctx, tl_hart *h) {
    const tl_netburst_thread *t = thread_of(ctx);
    machine_core *c = core_of(t->core);
    const tl_moment *due = &c->due[t->index];
    // A thread that has nothing to run retires nothing.
    if (due->cycle > h->now && (due->insns == NEVER || (due->insns > h->instret && tl_hart_has_work(h))))
        return;
    c->due[t->index] = never;
    c->host->set_irq(c->host->ctx, h->id, TL_IRQ_LCOFI, true);
}

// ---- The design's row.

static void init_thread(tl_netburst_thread *t, tl_netburst *n, uint32_t index) {
    t->core = n;
    t->index = index;
    t->pmu.port = (tl_pmu_port){.ctx = t,
                                .find = find,
                                .permits = permits,
                                .read = read,
                                .write = write,
                                .retired = retired,
                                .deadline = deadline,
                                .arrival = arrival,
                                .poll = poll};
    n->threads[index] = t;
}

// The threads of a core: `first` if it is there, else new ones.
static tl_status add_core(tl_pmu *pmu, uint32_t first_hart, uint32_t n_threads, tl_netburst_thread *first, tl_arena *arena, tl_error *err) {
    const bool is_machine = pmu->host->clock_tap && pmu->host->n_harts > 0;
    machine_core *c = tl_arena_alloc(arena, sizeof *c);
    uint64_t *stored = first ? first->pmu.file.stored : tl_arena_alloc(arena, tl_regmap_n_cells(&tl_netburst_regmap) * sizeof *stored);
    if (!c || !stored)
        return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
    const tl_netburst_host host = {
        .ctx = c, .interrupt = interrupt, .catch_up = catch_up, .configured = configured, .transfer = transfer, .overflowed = overflowed};
    c->host = pmu->host;
    c->first_hart = first_hart;
    for (uint32_t i = 0; i < n_threads; i++) {
        tl_netburst_thread *t = i == 0 && first ? first : tl_arena_alloc(arena, sizeof *t);
        if (!t)
            return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
        if (t != first) {
            t->pmu = *pmu;
            t->pmu.file.stored = stored;
            t->pmu.hart = first_hart + i;
        }
        init_thread(t, &c->n, i);
        c->due[i] = never;
    }
    tl_netburst_init(&c->n, pmu->settings, n_threads, &host, stored);
    tl_netburst_thread *owner = (tl_netburst_thread *)pmu;
    owner->cores[first_hart / owner->threads_per_core] = &c->n;
    return is_machine ? tl_netburst_feed_new(&c->n, pmu->host, first_hart, arena, &c->feed, err) : TL_OK;
}

static tl_status attach(tl_pmu *pmu, tl_arena *arena, tl_error *err) {
    const tl_config *config = pmu->host->config;
    const bool is_machine = config && pmu->host->n_harts > 0;
    if (is_machine && config->core.kind != TL_CORE_OUT_OF_ORDER)
        return tl_fail(err, TL_EINVAL, "pentium4 = on: machine %s has no detailed core; choose machine netburst or ooo", config->name);
    const uint32_t n_harts = is_machine ? pmu->host->n_harts : 1, n_threads = is_machine && config->core.threads > 1 ? 2 : 1;
    tl_netburst_thread *first = (tl_netburst_thread *)pmu;
    first->threads_per_core = n_threads;
    first->n_cores = (n_harts + n_threads - 1) / n_threads;
    first->cores = tl_arena_alloc(arena, first->n_cores * sizeof(tl_netburst *));
    if (!first->cores)
        return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
    tl_status status = TL_OK;
    // The last core of an odd number of harts has one thread.
    for (uint32_t hart = 0; hart < n_harts && status == TL_OK; hart += n_threads)
        status = add_core(pmu, hart, n_threads < n_harts - hart ? n_threads : n_harts - hart, hart == 0 ? first : NULL, arena, err);
    return status;
}

static uint64_t seed_of(const tl_pmu_host *host, uint32_t hart) { return host->config ? host->config->seed + hart : hart; }

static void reset(tl_pmu *pmu) {
    const tl_netburst_thread *first = (const tl_netburst_thread *)pmu;
    for (uint32_t i = 0; i < first->n_cores; i++) {
        machine_core *c = core_of(first->cores[i]);
        if (c->feed)
            tl_netburst_feed_reset(c->feed);
        tl_netburst_reset(&c->n);
        c->due[0] = c->due[1] = never;
        tl_skid_deck_init(&c->deck, seed_of(c->host, c->first_hart));
    }
}

static tl_pmu *of_hart(tl_pmu *pmu, uint32_t hart) {
    const tl_netburst_thread *first = (const tl_netburst_thread *)pmu;
    return &first->cores[hart / first->threads_per_core]->threads[hart % first->threads_per_core]->pmu;
}

static void hand_over(tl_pmu *pmu, uint32_t hart, uint64_t now, uint64_t process, bool is_granted) {
    const tl_netburst_thread *first = (const tl_netburst_thread *)pmu;
    const machine_core *c = core_of(first->cores[hart / first->threads_per_core]);
    (void)now, (void)is_granted;
    if (c->feed)
        tl_netburst_feed_run_process(c->feed, hart - c->first_hart, process);
}

static bool tell_loss(const tl_pmu *pmu, char *ret_sentence, size_t size_bytes) {
    const tl_netburst_thread *first = (const tl_netburst_thread *)pmu;
    tl_netburst_samples_stored all = {0};
    for (uint32_t i = 0; i < first->n_cores; i++)
        for (uint32_t t = 0; t < first->cores[i]->n_threads; t++) {
            const tl_netburst_samples_stored of = tl_netburst_samples_of(first->cores[i], t);
            all.n_stored += of.n_stored;
            all.n_lost += of.n_lost;
            all.n_faults += of.n_faults;
        }
    if (all.n_lost + all.n_faults == 0)
        return false;
    snprintf(ret_sentence, size_bytes,
             "pmu netburst: %" PRIu64 " of %" PRIu64 " precise samples are lost: %" PRIu64
             " found their debug store area full, and %" PRIu64
             " found it not mapped, not RAM or protected; empty the area sooner or make it larger, and map it before counters run",
             all.n_lost + all.n_faults, all.n_stored + all.n_lost + all.n_faults, all.n_lost, all.n_faults);
    return true;
}

static uint64_t irqs(const tl_pmu *pmu) { return (void)pmu, UINT64_C(1) << TL_IRQ_LCOFI; }

static const tl_pmu_preset *choose(const void *settings) {
    return ((const tl_netburst_settings *)settings)->is_present ? tl_netburst_presets[0] : NULL;
}

const tl_pmu_type tl_pmu_netburst = {
    .name = "netburst",
    .title = "Performance monitoring of the Pentium 4",
    .cite = "B. Sprunt: Pentium 4 performance-monitoring features, IEEE Micro 22(4), 2002; Intel SDM vol. 3",
    .regmap = &tl_netburst_regmap,
    .presets = tl_netburst_presets,
    .scope = TL_PMU_OF_MACHINE,
    .isas = 1 << TL_ISA_RISCV64,
    .state_size = sizeof(tl_netburst_thread),
    .keys = tl_netburst_keys,
    .default_settings = &tl_netburst_default_settings,
    .settings_size = sizeof(tl_netburst_settings),
    .choose = choose,
    .attach = attach,
    .reset = reset,
    .of_hart = of_hart,
    .hand_over = hand_over,
    .tell_loss = tell_loss,
    .irqs = irqs,
};
