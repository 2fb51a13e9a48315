// SPDX-License-Identifier: MIT
// Arguments of perf_event_open. They pass the checks of Linux 6.1 in the order of Linux. Type and
// config become signals of the machine. Generic events are rows of the PMU preset `linux`, whatever
// the machine's own PMU is. Raw selectors are those of its own PMU.
#include <string.h>

#include "linux/memory/vm_space.h"
#include "linux/perf/perf_event.h"

enum { KNOWN_ATTR_BYTES = PERF_ATTR_SIZE_VER7, SBI_CACHE = 0x10000, N_CACHES = 7, N_OPS = 3, N_RESULTS = 2 };
static const uint64_t KNOWN_SAMPLE_TYPES = (UINT64_C(1) << 25) - 1, KNOWN_READ_FORMATS = (UINT64_C(1) << 5) - 1;
static const uint64_t KNOWN_BRANCH_TYPES = (UINT64_C(1) << 19) - 1, BRANCH_MODES = 7;
static const uint64_t FIRMWARE_EVENT = UINT64_C(1) << 63, RAW_MASK = (UINT64_C(1) << 48) - 1;

// ---- The attr.

static int64_t too_big(tl_thread *t, uint64_t vaddr) {
    uint32_t known = KNOWN_ATTR_BYTES;
    (void)tl_vm_write(t->process, vaddr + offsetof(struct perf_event_attr, size), &known, sizeof known);
    return -E2BIG;
}

static int64_t copy_attr(tl_thread *t, uint64_t vaddr, struct perf_event_attr *attr) {
    uint32_t size;
    uint8_t byte;
    memset(attr, 0, sizeof *attr);
    if (!tl_vm_read(t->process, vaddr + offsetof(struct perf_event_attr, size), &size, sizeof size))
        return -EFAULT;
    if (size == 0)
        size = PERF_ATTR_SIZE_VER0;
    if (size < PERF_ATTR_SIZE_VER0 || size > TL_PAGE_BYTES)
        return too_big(t, vaddr);
    for (uint32_t i = KNOWN_ATTR_BYTES; i < size; i++) { // fields of later kernels must be zero
        if (!tl_vm_read(t->process, vaddr + i, &byte, 1))
            return -EFAULT;
        if (byte)
            return too_big(t, vaddr);
    }
    if (!tl_vm_read(t->process, vaddr, attr, size < KNOWN_ATTR_BYTES ? size : KNOWN_ATTR_BYTES))
        return -EFAULT;
    attr->size = size;
    return 0;
}

// The registers are pc and x1 .. x31.
static bool is_register_mask(uint64_t mask) { return mask != 0 && mask >> 32 == 0; }

static int64_t check_sample(const struct perf_event_attr *attr) {
    uint64_t type = attr->sample_type, branches = attr->branch_sample_type;
    if ((type & PERF_SAMPLE_BRANCH_STACK) && ((branches & ~KNOWN_BRANCH_TYPES) || !(branches & ~BRANCH_MODES)))
        return -EINVAL;
    if ((type & PERF_SAMPLE_REGS_USER) && !is_register_mask(attr->sample_regs_user))
        return -EINVAL;
    if ((type & PERF_SAMPLE_STACK_USER) && (attr->sample_stack_user >= UINT16_MAX || attr->sample_stack_user % sizeof(uint64_t) != 0))
        return -EINVAL;
    if ((type & PERF_SAMPLE_REGS_INTR) && !is_register_mask(attr->sample_regs_intr))
        return -EINVAL;
    return (type & PERF_SAMPLE_WEIGHT) && (type & PERF_SAMPLE_WEIGHT_STRUCT) ? -EINVAL : 0;
}

int64_t tl_pev_read_attr(tl_thread *t, uint64_t vaddr, struct perf_event_attr *ret_attr) {
    struct perf_event_attr attr;
    int64_t error = copy_attr(t, vaddr, &attr);
    if (error)
        return error;
    if (attr.__reserved_1 || attr.__reserved_2 || attr.__reserved_3)
        return -EINVAL;
    if ((attr.sample_type & ~KNOWN_SAMPLE_TYPES) || (attr.read_format & ~KNOWN_READ_FORMATS))
        return -EINVAL;
    error = check_sample(&attr);
    if (error)
        return error;
    if ((!attr.inherit && attr.inherit_thread) || (attr.remove_on_exec && attr.enable_on_exec) || (attr.sigtrap && !attr.remove_on_exec))
        return -EINVAL;
    if (attr.sample_max_stack == 0 || attr.sample_max_stack > TL_PEV_MAX_STACK)
        attr.sample_max_stack = attr.sample_max_stack == 0 ? TL_PEV_MAX_STACK : attr.sample_max_stack;
    if (attr.namespaces) // privileged
        return -EACCES;
    if (attr.freq ? attr.sample_freq > TL_PEV_MAX_RATE : attr.sample_period >> 63)
        return -EINVAL;
    *ret_attr = attr;
    return 0;
}

// ---- What counts.

// The sum on every hart, made once. NULL: this machine has no such signal, or there is no memory.
static const tl_pev_source *source_of(tl_pev *perf, const char *text) {
    const tl_machine *machine = perf->os->machine;
    for (const tl_pev_source *known = perf->sources; known; known = known->next)
        if (strcmp(known->text, text) == 0)
            return known;
    tl_pev_source *source = tl_arena_alloc(&perf->arena, sizeof *source);
    if (!source)
        return NULL;
    source->text = text;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        if (tl_sources_resolve(text, &machine->probe, i, &perf->arena, &source->on[i], NULL) != TL_OK)
            return NULL;
    source->next = perf->sources;
    perf->sources = source;
    return source;
}

static int64_t add_part(tl_pev *perf, const char *text, tl_pev_choice *choice) {
    const tl_pev_source *source = text ? source_of(perf, text) : NULL;
    if (!source || choice->n_parts == TL_PEV_MAX_PARTS)
        return -ENOENT;
    choice->parts[choice->n_parts++] = source;
    return 0;
}

static int64_t add_event(tl_pev *perf, bool is_sbi, uint64_t selector, tl_pev_choice *choice) {
    const tl_pmu *pmu = tl_machine_perf_pmu(perf->os->machine);
    const char *texts[TL_PMU_MAX_TEXTS];
    uint32_t n = pmu ? pmu->type->perf_sources(pmu, is_sbi, selector, texts) : 0;
    int64_t error = n == 0 ? -ENOENT : 0;
    for (uint32_t i = 0; i < n && !error; i++)
        error = add_part(perf, texts[i], choice);
    return error;
}

static int64_t choose_generic(tl_pev *perf, uint32_t index, tl_pev_choice *choice) { return add_event(perf, true, index, choice); }

static int64_t choose_cache(tl_pev *perf, uint64_t config, tl_pev_choice *choice) {
    uint64_t cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;
    if (cache >= N_CACHES || op >= N_OPS || result >= N_RESULTS)
        return -EINVAL;
    return choose_generic(perf, (uint32_t)(SBI_CACHE | cache << 3 | op << 1 | result), choice);
}

static int64_t choose_raw(tl_pev *perf, uint64_t config, tl_pev_choice *choice) {
    return config & FIRMWARE_EVENT ? -ENOENT : add_event(perf, false, config & RAW_MASK, choice);
}

static int64_t choose_software(tl_pev *perf, uint64_t config, tl_pev_choice *choice) {
    switch (config) {
    case PERF_COUNT_SW_CPU_CLOCK:
    case PERF_COUNT_SW_TASK_CLOCK: choice->kind = TL_PEV_CLOCK; return 0;
    case PERF_COUNT_SW_PAGE_FAULTS: choice->kind = TL_PEV_FAULTS; return 0;
    case PERF_COUNT_SW_PAGE_FAULTS_MIN: choice->kind = TL_PEV_MINOR_FAULTS; return 0;
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ: choice->kind = TL_PEV_MAJOR_FAULTS; return 0;
    case PERF_COUNT_SW_CONTEXT_SWITCHES: return add_part(perf, "os.context_switch", choice);
    case PERF_COUNT_SW_CPU_MIGRATIONS: return add_part(perf, "os.migration", choice);
    case PERF_COUNT_SW_ALIGNMENT_FAULTS: return add_part(perf, "hart.exc_misaligned", choice);
    case PERF_COUNT_SW_EMULATION_FAULTS:
    case PERF_COUNT_SW_DUMMY:
    case PERF_COUNT_SW_BPF_OUTPUT:
    case PERF_COUNT_SW_CGROUP_SWITCHES: choice->kind = TL_PEV_NOTHING; return 0;
    default: return -ENOENT;
    }
}

int64_t tl_pev_choose(tl_pev *perf, const struct perf_event_attr *attr, tl_pev_choice *ret_choice) {
    // Generic types name the PMU in the upper half, the event in the lower one.
    uint64_t pmu = attr->config >> 32, config = attr->config & UINT32_MAX;
    bool is_generic = attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE;
    *ret_choice = (tl_pev_choice){.kind = TL_PEV_SIGNALS};
    if (is_generic && pmu != 0 && pmu != PERF_TYPE_RAW)
        return -ENOENT;
    if (!is_generic && attr->type != PERF_TYPE_RAW && attr->type != PERF_TYPE_SOFTWARE)
        return -ENOENT; // no tracepoints, no breakpoints, no other devices
    if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
        return -EOPNOTSUPP;
    switch (attr->type) {
    case PERF_TYPE_HARDWARE:
        // SBI counts from 1.
        return config >= PERF_COUNT_HW_MAX ? -EINVAL : choose_generic(perf, (uint32_t)config + 1, ret_choice);
    case PERF_TYPE_HW_CACHE: return choose_cache(perf, config, ret_choice);
    case PERF_TYPE_RAW: return choose_raw(perf, attr->config, ret_choice);
    default: return choose_software(perf, attr->config, ret_choice);
    }
}
