// SPDX-License-Identifier: MIT
// The part of perf's core for the driver of a PMU, in its simplest form, for the one processor of
// driver.h. kernel.h declares it as the driver expects it.
#include "driver.h"

#include "kernel.h"

static p4_host host;
static struct perf_event events[32];

int smp_num_siblings;
struct cpuinfo boot_cpu_data;
struct cpu_hw_events cpu_hw_events;
s64 pmc_prev_left[X86_PMC_IDX_MAX];
struct x86_pmu x86_pmu;
u64 hw_cache_event_ids[PERF_COUNT_HW_CACHE_MAX][PERF_COUNT_HW_CACHE_OP_MAX][PERF_COUNT_HW_CACHE_RESULT_MAX];

int smp_processor_id(void) { return host.cpu; }
int kernel_rdmsr(u32 msr, u64 *value) { return host.read_msr(host.ctx, msr, value); }
int kernel_wrmsr(u32 msr, u64 value) { return host.write_msr(host.ctx, msr, value); }

void apic_write(u32 reg, u32 value) {
    if (reg == APIC_LVTPC && value == APIC_DM_NMI)
        host.unmask(host.ctx);
}

struct event_constraint *x86_get_event_constraints(struct cpu_hw_events *cpuc, int idx, struct perf_event *event) {
    return (void)cpuc, (void)idx, (void)event, NULL;
}

static int add_config(struct perf_event *event, u64 config) {
    if (config == 0)
        return -ENOENT;
    if (config == UINT64_MAX)
        return -EINVAL;
    event->hw.config |= config;
    return 0;
}

int x86_setup_perfctr(struct perf_event *event) {
    const u64 config = event->attr.config;
    if (event->attr.type == PERF_TYPE_RAW)
        return 0;
    if (event->attr.type == PERF_TYPE_HARDWARE)
        return config < (u64)x86_pmu.max_events ? add_config(event, x86_pmu.event_map((int)config)) : -EINVAL;
    const u64 cache = config & 255, op = config >> 8 & 255, result = config >> 16 & 255;
    if (cache >= PERF_COUNT_HW_CACHE_MAX || op >= PERF_COUNT_HW_CACHE_OP_MAX || result >= PERF_COUNT_HW_CACHE_RESULT_MAX)
        return -EINVAL;
    return add_config(event, hw_cache_event_ids[cache][op][result]);
}

// The counter holds what is left of the period, negated.
int x86_perf_event_set_period(struct perf_event *event) {
    const s64 left = (s64)(event->attr.sample_period ? event->attr.sample_period : x86_pmu.max_period);
    pmc_prev_left[event->hw.idx] = left;
    event->hw.prev_count = (u64)-left & x86_pmu.cntval_mask;
    wrmsrl(event->hw.event_base, event->hw.prev_count);
    return 1;
}
int x86_pmu_set_period(struct perf_event *event) { return x86_pmu.set_period(event); }

u64 x86_perf_event_update(struct perf_event *event) {
    u64 value;
    rdmsrl((u32)event->hw.event_base, value);
    event->count += (value - event->hw.prev_count) & x86_pmu.cntval_mask;
    event->hw.prev_count = value;
    return value;
}

void x86_pmu_stop(struct perf_event *event, int flags) {
    (void)flags;
    clear_bit(event->hw.idx, cpu_hw_events.active_mask);
    x86_pmu.disable(event);
}

int perf_event_overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs) {
    (void)data, (void)regs;
    event->n_overflows += 1;
    return 0;
}

// ---- driver.h

static int start(const p4_host *on) {
    host = *on;
    smp_num_siblings = on->n_siblings;
    boot_cpu_data.x86_model = on->model;
    memset(&cpu_hw_events, 0, sizeof cpu_hw_events);
    memset(pmc_prev_left, 0, sizeof pmc_prev_left);
    return p4_pmu_init();
}

static int open_event(uint32_t place, uint32_t type, uint64_t config, bool excludes_kernel, bool excludes_user, uint64_t period) {
    struct perf_event *event = &events[place];
    *event = (struct perf_event){.attr = {.type = type, .config = config, .sample_period = period}};
    event->attr.exclude_kernel = excludes_kernel;
    event->attr.exclude_user = excludes_user;
    event->hw.idx = -1;
    return x86_pmu.hw_config(event);
}

static int enable(uint32_t n_places) {
    int assign[32];
    memset(&cpu_hw_events, 0, sizeof cpu_hw_events);
    for (uint32_t i = 0; i < n_places; i++)
        cpu_hw_events.event_list[i] = &events[i];
    const int status = x86_pmu.schedule_events(&cpu_hw_events, (int)n_places, assign);
    if (status != 0)
        return status;
    for (uint32_t i = 0; i < n_places; i++) {
        struct perf_event *event = &events[i];
        event->hw.idx = assign[i];
        event->hw.config_base = x86_pmu_config_addr(assign[i]);
        event->hw.event_base = x86_pmu.perfctr + (unsigned)assign[i];
        cpu_hw_events.events[assign[i]] = event;
        set_bit(assign[i], cpu_hw_events.active_mask);
        x86_pmu.set_period(event);
    }
    x86_pmu.enable_all(0);
    return 0;
}

static void disable(void) { x86_pmu.disable_all(); }

static uint64_t read_event(uint32_t place) {
    x86_perf_event_update(&events[place]);
    return events[place].count;
}
static uint32_t n_overflows(uint32_t place) { return events[place].n_overflows; }
static int counter(uint32_t place) { return events[place].hw.idx; }
static int interrupt(void) {
    struct pt_regs regs = {0};
    return x86_pmu.handle_irq(&regs);
}

const p4_driver driver_of_linux = {
    .start = start,
    .open = open_event,
    .enable = enable,
    .disable = disable,
    .read = read_event,
    .n_overflows = n_overflows,
    .counter = counter,
    .interrupt = interrupt,
};
