// SPDX-License-Identifier: MIT
// The machine as its PMUs see it: clock, totals, modes and interrupt lines of the harts. Attaching
// a PMU costs a run nothing.
#include <string.h>

#include "base/bits.h"
#include "machine/keys.h"
#include "machine/machine.h"
#include "model/isa.h"

static tl_hart *hart_of(void *ctx, uint32_t hart) { return ((tl_machine *)ctx)->harts[hart]; }

static void sync(void *ctx, uint32_t hart) {
    tl_hart *h = hart_of(ctx, hart);
    h->engine->sync(h);
}

static uint64_t cycle(void *ctx, uint32_t hart) {
    const tl_hart *h = hart_of(ctx, hart);
    return h->now - h->idle_cycles;
}

// Idle time is remembered back to the last stretch of it, which is farther than harts are apart.
static uint64_t cycle_in(void *ctx, uint32_t hart, uint64_t now) {
    const tl_hart *h = hart_of(ctx, hart);
    if (now >= h->now && !tl_hart_has_work(h))
        return h->now - h->idle_cycles;
    if (now >= h->idle_end)
        return now - h->idle_cycles;
    // The clock stood still from there to idle_end.
    uint64_t before = now < h->idle_begin ? now : h->idle_begin;
    return before - (h->idle_cycles - (h->idle_end - h->idle_begin));
}

static uint64_t instret(void *ctx, uint32_t hart) { return hart_of(ctx, hart)->instret; }

static uint64_t time(void *ctx, uint32_t hart) {
    const tl_hart *h = hart_of(ctx, hart);
    return tl_hart_time(h, h->now);
}

static tl_priv privilege(void *ctx, uint32_t hart) { return hart_of(ctx, hart)->priv; }

// The machine description grants counters under the user-mode personality, because no software can
// write mcounteren there.
static uint32_t user_counters(void *ctx, uint32_t hart) {
    const tl_hart *h = hart_of(ctx, hart);
    return h->is_privileged ? 0 : h->config->os.user_counters;
}

static uint32_t state(void *ctx, uint32_t hart, tl_priv priv) {
    const tl_hart *h = hart_of(ctx, hart);
    return h->isa->pmu_state ? h->isa->pmu_state(h, priv) : 0;
}

static void refused(void *ctx, uint32_t hart) {
    tl_hart *h = hart_of(ctx, hart);
    if (h->isa->pmu_refused)
        h->isa->pmu_refused(h);
}

static void set_irq(void *ctx, uint32_t hart, tl_irq irq, bool level) {
    tl_hart *h = hart_of(ctx, hart);
    if (irq != TL_IRQ_PMU || !h->is_privileged)
        tl_hart_set_irq(h, irq, level);
    else if (h->isa->pmu_interrupt)
        h->isa->pmu_interrupt(h, level);
}

static void changed(void *ctx, uint32_t hart) {
    tl_hart *h = hart_of(ctx, hart);
    h->has_slow_watch = false;
    for (uint32_t i = 0; i < h->n_pmus; i++)
        h->has_slow_watch |= h->pmus[i]->needs_slow_watch;
    tl_hart_stop_soon(h);
}

static const void *settings(void *ctx, const tl_pmu_type *type) {
    const tl_machine *machine = ctx;
    for (uint32_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i].type == type)
            return machine->pmus[i].settings;
    return type->default_settings;
}

static bool dma(void *ctx, uint64_t paddr, const void *bytes, uint64_t size_bytes, uint64_t now) {
    static const tl_agent pmus = {.kind = TL_AGENT_PMU};
    tl_machine *machine = ctx;
    if (!tl_memory_dma(machine->memory, &pmus, paddr, size_bytes, true, now))
        return false;
    memcpy(tl_machine_ram(machine, paddr), bytes, size_bytes);
    return true;
}

// The bytes up to the end of their page.
static bool transfer_page(tl_machine *machine, const tl_hart *h, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write) {
    uint64_t paddr;
    tl_stretch around;
    if (!tl_memory_translate(machine->memory, h, vaddr, &paddr) || paddr - TL_RAM_BASE_PADDR >= machine->config.ram_bytes)
        return false;
    if (h->is_privileged && !h->isa->permits(h, paddr, is_write ? TL_ACCESS_STORE : TL_ACCESS_LOAD, h->isa->views[1], &around))
        return false;
    if (is_write)
        return dma(machine, paddr, bytes, n_bytes, h->now);
    memcpy(bytes, tl_machine_ram(machine, paddr), n_bytes);
    return true;
}

static bool transfer(void *ctx, uint32_t hart, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write) {
    enum { PAGE_BYTES = 4096 };
    for (uint32_t done = 0; done < n_bytes;) {
        const uint32_t in_page = PAGE_BYTES - (uint32_t)((vaddr + done) % PAGE_BYTES);
        const uint32_t n = in_page < n_bytes - done ? in_page : n_bytes - done;
        if (!transfer_page(ctx, hart_of(ctx, hart), vaddr + done, (uint8_t *)bytes + done, n, is_write))
            return false;
        done += n;
    }
    return true;
}

static bool locate(void *ctx, uint32_t hart, uint64_t vaddr, uint64_t *ret_paddr) {
    const tl_machine *machine = ctx;
    return tl_memory_translate(machine->memory, hart_of(ctx, hart), vaddr, ret_paddr) &&
           *ret_paddr - TL_RAM_BASE_PADDR < machine->config.ram_bytes;
}

static uint64_t now(void *ctx, uint32_t hart) { return hart_of(ctx, hart)->now; }

static tl_status clock_tap(void *ctx, uint32_t hart, struct tl_clock_tap *tap, tl_error *err) {
    const tl_machine *machine = ctx;
    if (!machine->engine->clock_tap)
        return tl_fail(err, TL_EINVAL,
                       "machine %s has an in-order core, which tells no clocks; choose a machine with core.kind: out_of_order",
                       machine->config.name);
    return tl_machine_clock_tap(ctx, hart, tap, err);
}

// ---- attaching

static tl_status add_row(tl_machine *machine, const tl_pmu_type *type, tl_error *err) {
    if (machine->n_pmus == TL_MAX_PMUS)
        return tl_fail(err, TL_EINVAL, "this build has more than %d PMU designs", TL_MAX_PMUS);
    void *values = tl_arena_alloc(&machine->arena, type->settings_size ? type->settings_size : 1);
    if (!values)
        return tl_fail(err, TL_ENOMEM, "no memory for the settings of pmu %s", type->name);
    tl_pmu_settings_of(type, &machine->config, values);
    machine->pmus[machine->n_pmus++] = (tl_machine_pmu){.type = type, .settings = values};
    return TL_OK;
}

// The instance that serves a hart, or all of them; NULL: the machine has none.
static tl_pmu *instance_of(const tl_machine_pmu *row, uint32_t hart) {
    return row->type->scope == TL_PMU_OF_HART ? row->of_hart[hart] : row->pmu;
}

tl_pmu *tl_machine_pmu_window(const tl_machine *machine, const tl_pmu_type *type, uint32_t k, uint64_t *ret_paddr) {
    const bool is_of_hart = type->scope == TL_PMU_OF_HART;
    if (type->window_bytes == 0 || k >= (is_of_hart ? machine->n_harts : 1))
        return NULL;
    *ret_paddr = type->window_paddr + k * type->window_stride;
    return tl_machine_pmu_of(machine, type, k);
}

static tl_status hang(tl_machine *machine, tl_machine_pmu *row, uint32_t hart, tl_pmu *pmu, tl_error *err) {
    tl_hart *h = machine->harts[hart];
    if (!tl_hart_hang_pmu(h, &pmu->port, false))
        return tl_fail(err, TL_EINVAL, "pmu %s: a hart has room for the registers of %d designs", row->type->name, TL_MAX_PMU_PORTS);
    row->of_hart[hart] = pmu;
    if (row->type->irqs)
        h->irqs_present |= row->type->irqs(pmu);
    return TL_OK;
}

static tl_status attach(tl_machine *machine, tl_machine_pmu *row, const tl_pmu_preset *preset, tl_error *err) {
    const tl_pmu_type *type = row->type;
    uint32_t n = type->scope == TL_PMU_OF_HART ? machine->n_harts : 1;
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < n && status == TL_OK; i++) {
        tl_pmu *pmu;
        status = tl_pmu_new(type, preset, 64, &machine->pmu_host, i, &machine->arena, &pmu, err);
        if (status == TL_OK && i == 0)
            row->pmu = pmu;
        if (status == TL_OK && type->scope == TL_PMU_OF_HART)
            status = hang(machine, row, i, pmu, err);
        if (status == TL_OK && type->tick)
            machine->ticking[machine->n_ticking++] = pmu;
    }
    for (uint32_t i = 0; type->of_hart && i < machine->n_harts && status == TL_OK; i++)
        status = hang(machine, row, i, type->of_hart(row->pmu, i), err);
    return status;
}

static void notice_all(void *ctx, const tl_hart *h, tl_notice notice) {
    const tl_machine *machine = ctx;
    if (notice == TL_NOTICE_CONTEXT && machine->watch_context)
        machine->watch_context(machine->watch_ctx, machine->harts[h->id]);
    for (uint32_t i = 0; i < machine->n_pmus; i++) {
        const tl_machine_pmu *row = &machine->pmus[i];
        if (row->pmu && row->type->notice)
            row->type->notice(instance_of(row, h->id), h, notice);
    }
}

// A hart has no `notice` hook when nobody wants notices.
static void set_notices(tl_machine *machine) {
    bool is_wanted = machine->watch_context != NULL;
    for (uint32_t i = 0; i < machine->n_pmus; i++)
        is_wanted |= machine->pmus[i].pmu && machine->pmus[i].type->notice;
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        machine->harts[i]->notice = is_wanted ? notice_all : NULL;
        machine->harts[i]->notice_ctx = is_wanted ? machine : NULL;
    }
}

void tl_machine_watch_contexts(tl_machine *machine, void (*watch)(void *ctx, tl_hart *h), void *ctx) {
    machine->watch_context = watch;
    machine->watch_ctx = ctx;
    set_notices(machine);
}

// Registers that every hart has of its own come first in its list.
tl_status tl_machine_attach_pmus(tl_machine *machine, tl_error *err) {
    static const tl_pmu_scope order[] = {TL_PMU_OF_HART, TL_PMU_OF_MACHINE};
    machine->pmu_host = (tl_pmu_host){
        .ctx = machine,
        .probe = &machine->probe,
        .config = &machine->config,
        .n_harts = machine->n_harts,
        .settings = settings,
        .sync = sync,
        .cycle = cycle,
        .cycle_in = cycle_in,
        .instret = instret,
        .time = time,
        .privilege = privilege,
        .user_counters = user_counters,
        .state = state,
        .refused = refused,
        .set_irq = set_irq,
        .dma = dma,
        .transfer = transfer,
        .locate = locate,
        .now = now,
        .clock_tap = clock_tap,
        .changed = changed,
    };
    tl_status status = TL_OK;
    for (const tl_pmu_type *const *type = tl_pmu_types; *type && status == TL_OK; type++)
        status = add_row(machine, *type, err);
    for (size_t k = 0; k < TL_COUNT_OF(order); k++)
        for (uint32_t i = 0; i < machine->n_pmus && status == TL_OK; i++) {
            tl_machine_pmu *row = &machine->pmus[i];
            const tl_pmu_preset *preset = row->type->choose ? row->type->choose(row->settings) : NULL;
            if (preset && row->type->scope == order[k])
                status = attach(machine, row, preset, err);
        }
    set_notices(machine);
    return status;
}

void tl_machine_reset_pmus(tl_machine *machine) {
    for (uint32_t i = 0; i < machine->n_pmus; i++) {
        const tl_machine_pmu *row = &machine->pmus[i];
        uint32_t n = !row->pmu ? 0 : row->type->scope == TL_PMU_OF_HART ? machine->n_harts : 1;
        for (uint32_t k = 0; k < n; k++)
            row->type->reset(instance_of(row, k));
    }
}

tl_pmu *tl_machine_pmu_of(const tl_machine *machine, const tl_pmu_type *type, uint32_t hart) {
    const tl_machine_pmu *row = machine->pmus;
    while (row < machine->pmus + machine->n_pmus && row->type != type)
        row++;
    if (row == machine->pmus + machine->n_pmus)
        return NULL;
    return row->of_hart[hart] || hart != 0 ? row->of_hart[hart] : row->pmu;
}

void tl_machine_hand_over(tl_machine *machine, tl_hart *h, uint64_t process, uint32_t granted) {
    for (uint32_t i = 0; i < machine->n_pmus; i++) {
        const tl_machine_pmu *row = &machine->pmus[i];
        if (row->pmu && row->type->hand_over)
            row->type->hand_over(instance_of(row, h->id), h->id, h->now, process, granted >> i & 1);
    }
}

const tl_pmu *tl_machine_perf_pmu(const tl_machine *machine) {
    for (uint32_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i].pmu && machine->pmus[i].type->perf_sources)
            return machine->pmus[i].pmu;
    return NULL;
}

const tl_pmu_tree *tl_machine_pmu_tree(const tl_machine *machine) {
    for (uint32_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i].pmu && machine->pmus[i].pmu->preset->tree)
            return machine->pmus[i].pmu->preset->tree;
    return NULL;
}

// ---- windows on the bus

// The design whose window has this address, and the offset in the window. NULL: none.
static tl_pmu *window_at(const tl_machine *machine, uint64_t paddr, uint64_t *ret_offset) {
    for (uint32_t i = 0; i < machine->n_pmus; i++)
        for (uint32_t k = 0; k < machine->n_harts; k++) {
            const tl_pmu_type *type = machine->pmus[i].type;
            uint64_t base_paddr;
            tl_pmu *pmu = tl_machine_pmu_window(machine, type, k, &base_paddr);
            if (!pmu || paddr < base_paddr || paddr - base_paddr >= type->window_bytes)
                continue;
            *ret_offset = paddr - base_paddr;
            return pmu;
        }
    return NULL;
}

static bool window_read(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    uint64_t offset;
    tl_pmu *pmu = window_at(ctx, paddr, &offset);
    (void)agent;
    return pmu && tl_pmu_load(pmu, offset, size_bytes, ret_value);
}

static bool window_write(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    uint64_t offset;
    tl_pmu *pmu = window_at(ctx, paddr, &offset);
    (void)agent;
    return pmu && tl_pmu_store(pmu, offset, size_bytes, value);
}

static bool has_window(const tl_machine *machine) {
    for (uint32_t i = 0; i < machine->n_pmus; i++)
        if (machine->pmus[i].pmu && machine->pmus[i].type->window_bytes > 0)
            return true;
    return false;
}

const tl_bus *tl_machine_own_bus(tl_machine *machine) {
    if (!has_window(machine))
        return NULL;
    machine->own_bus = (tl_bus){.ctx = machine, .read = window_read, .write = window_write};
    return &machine->own_bus;
}

void tl_machine_set_bus(tl_machine *machine, const tl_bus *bus) {
    for (uint32_t i = 0; bus && i < machine->n_pmus; i++)
        if (machine->pmus[i].pmu && machine->pmus[i].type->watch_bus)
            bus = machine->pmus[i].type->watch_bus(machine->pmus[i].pmu, bus);
    tl_memory_set_bus(machine->memory, bus);
}

uint64_t tl_machine_tick(tl_machine *machine, uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < machine->n_ticking; i++) {
        uint64_t then = machine->ticking[i]->type->tick(machine->ticking[i], now);
        next = then < next ? then : next;
    }
    return next;
}
