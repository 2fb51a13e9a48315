// SPDX-License-Identifier: MIT
// The smallest design that uses every part of a PMU's row. It has one counter of committed stores
// behind a CSR of each hart, a twin of it in a window on the bus, one key, and a record that a tick
// writes into memory. It is linked into a build of the command line by this folder alone.
#include "toy.h"

#include "base/bits.h"

typedef struct toy {
    tl_pmu pmu;
    tl_sources stores;
    uint64_t next;
} toy;

static const struct settings { uint32_t period, grant; } defaults = {.period = 0};
static const char *const grants[] = {"denied", "granted", NULL};
static const tl_key keys[] = {TL_KEY_NAMED(struct settings, os.toy, grant, grants, "Whether programs may use the toy counter.")
                                  TL_KEY_NUMBER(struct settings, toy.period, period, U32, COUNT, 0, 1000000, "cycles", NULL,
                                                "The toy counter stores a record every so many cycles; 0: there is none."){.path = NULL}};

static uint64_t count_of(const toy *t) {
    uint64_t sum = 0;
    t->pmu.host->sync(t->pmu.host->ctx, t->pmu.hart);
    for (uint32_t i = 0; i < t->stores.n_cells; i++)
        sum += tl_probe_read(t->pmu.host->probe, t->stores.cells[i]);
    return sum;
}

static uint64_t read_count(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return count_of((toy *)(void *)file);
}

static const tl_field fields[] = {{.name = "COUNT", .width_bits = 64, .access = TL_RO, .meaning = "Stores that the hart has retired."}};
static const tl_reg regs[] = {
    {.name = "toycount",
     .cite = "tests/toy",
     .meaning = "The counter as a CSR.",
     .addr = TOY_CSR,
     .width_bits = 64,
     .n_fields = 1,
     .fields = fields,
     .read = read_count},
    {.name = "toywindow",
     .cite = "tests/toy",
     .meaning = "The counter in the window.",
     .addr = TOY_WINDOW_COUNT,
     .width_bits = 64,
     .n_fields = 1,
     .fields = fields,
     .read = read_count},
};
static const tl_regmap regmap = {.space = "CSR", .regs = regs, .n_regs = TL_COUNT_OF(regs)};

static const tl_event events[] = {
    {.selector = 1, .name = "toy_stores", .cite = "tests/toy", .sources = "hart.insn_store", .fidelity = TL_EXACT}};
static const tl_pmu_preset preset = {
    .name = "plain", .title = "One counter", .events = events, .n_events = 1, .selectors = "There is nothing to select."};
static const tl_pmu_preset *const presets[] = {&preset, NULL};

static tl_status attach(tl_pmu *pmu, tl_arena *arena, tl_error *err) {
    toy *t = (toy *)pmu;
    t->next = ((const struct settings *)pmu->settings)->period;
    return tl_sources_resolve(events[0].sources, pmu->host->probe, pmu->hart, arena, &t->stores, err);
}

static uint64_t tick(tl_pmu *pmu, uint64_t now) {
    toy *t = (toy *)pmu;
    // The last KiB of RAM holds when each hart's counter was read, and its value.
    while (now >= t->next) {
        const uint64_t record[] = {t->next, count_of(t)};
        uint64_t paddr = TL_RAM_BASE_PADDR + pmu->host->config->ram_bytes - TOY_RECORDS_BYTES + pmu->hart * sizeof record;
        (void)pmu->host->dma(pmu->host->ctx, paddr, record, sizeof record, t->next);
        t->next += ((const struct settings *)pmu->settings)->period;
    }
    return t->next;
}

static void reset(tl_pmu *pmu) { tl_regfile_reset(&pmu->file); }
static tl_grant grant(const void *settings) { return (tl_grant)((const struct settings *)settings)->grant; }
static tl_status check_grant(const void *settings, tl_error *err) {
    const struct settings *s = settings;
    return s->grant == TL_DENIED || s->period != 0 ? TL_OK : tl_fail(err, TL_EINVAL, "os.toy = granted: set toy.period");
}
static const tl_pmu_preset *choose(const void *settings) { return ((const struct settings *)settings)->period ? &preset : NULL; }

const tl_pmu_type tl_pmu_toy = {
    .name = "toy",
    .title = "A toy counter of stores",
    .cite = "tests/toy",
    .regmap = &regmap,
    .presets = presets,
    .scope = TL_PMU_OF_HART,
    .state_size = sizeof(toy),
    .keys = keys,
    .default_settings = &defaults,
    .settings_size = sizeof defaults,
    .check_grant = check_grant,
    .choose = choose,
    .grant = grant,
    .grant_name = "toy",
    .window_paddr = TOY_WINDOW_PADDR,
    .window_bytes = 16,
    .attach = attach,
    .reset = reset,
    .tick = tick,
};
