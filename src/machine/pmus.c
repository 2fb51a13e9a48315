// SPDX-License-Identifier: MIT
// The machine as its PMUs see it: clock, totals, modes and interrupt lines of the harts. Attaching a PMU costs a run nothing.
#include "machine/machine.h"

static tl_hart *hart_of(void *ctx, uint32_t hart) { return ((tl_machine *)ctx)->harts[hart]; }

static void sync(void *ctx, uint32_t hart) {
    tl_hart *h = hart_of(ctx, hart);
    h->core->sync(h);
}

static uint64_t cycle(void *ctx, uint32_t hart) {
    const tl_hart *h = hart_of(ctx, hart);
    return h->now - h->idle_cycles;
}

// Idle time is remembered back to the last stretch of it, which is farther than harts are apart.
static uint64_t cycle_in(void *ctx, uint32_t hart, uint64_t now) {
    const tl_hart *h = hart_of(ctx, hart);
    bool has_work = h->is_privileged ? !h->is_waiting : h->client != NULL;
    if (now >= h->now && !has_work)
        return h->now - h->idle_cycles;
    if (now >= h->idle_end)
        return now - h->idle_cycles;
    uint64_t before = now < h->idle_begin ? now : h->idle_begin; // the clock stood still from there to idle_end
    return before - (h->idle_cycles - (h->idle_end - h->idle_begin));
}

static uint64_t instret(void *ctx, uint32_t hart) { return hart_of(ctx, hart)->instret; }

static uint64_t time(void *ctx, uint32_t hart) {
    const tl_hart *h = hart_of(ctx, hart);
    return tl_hart_time(h, h->now);
}

static tl_priv privilege(void *ctx, uint32_t hart) { return hart_of(ctx, hart)->priv; }

// Under the user-mode personality nobody can write mcounteren: what its kernel would permit is in the description.
static uint32_t user_counters(void *ctx, uint32_t hart) {
    const tl_hart *h = hart_of(ctx, hart);
    return h->is_privileged ? 0 : h->config->os.user_counters;
}

static void set_irq(void *ctx, uint32_t hart, tl_irq irq, bool level) { tl_hart_set_irq(hart_of(ctx, hart), irq, level); }

static void changed(void *ctx, uint32_t hart) {
    tl_hart *h = hart_of(ctx, hart);
    h->has_slow_watch = false;
    for (uint32_t i = 0; i < h->n_pmus; i++)
        h->has_slow_watch |= h->pmus[i]->needs_slow_watch;
    tl_hart_stop_soon(h);
}

tl_status tl_machine_attach_pmus(tl_machine *machine, tl_error *err) {
    static const char *const presets[] = {[TL_PMU_LINUX] = "linux", [TL_PMU_U74] = "u74", [TL_PMU_NONE] = "none"};
    const tl_pmu_type *type = tl_pmu_find("rvhpm");
    const tl_pmu_preset *preset = type ? tl_pmu_find_preset(type, presets[machine->config.pmu]) : NULL;
    if (!preset)
        return tl_fail(err, TL_ENOENT, "pmu = %s: this build has no such PMU", presets[machine->config.pmu]);
    machine->pmu_host = (tl_pmu_host){
        .ctx = machine,
        .probe = &machine->probe,
        .config = &machine->config,
        .sync = sync,
        .cycle = cycle,
        .cycle_in = cycle_in,
        .instret = instret,
        .time = time,
        .privilege = privilege,
        .user_counters = user_counters,
        .set_irq = set_irq,
        .changed = changed,
    };
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        tl_hart *h = machine->harts[i];
        tl_status status = tl_pmu_new(type, preset, 64, &machine->pmu_host, i, &machine->arena, &machine->pmus[i], err);
        if (status != TL_OK)
            return status;
        h->pmus[h->n_pmus++] = &machine->pmus[i]->port;
        if (preset->tree->has_sscofpmf)
            h->csr.irq_mask = UINT64_C(0xaaa) | UINT64_C(1) << TL_IRQ_LCOFI;
    }
    return TL_OK;
}
