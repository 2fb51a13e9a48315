// SPDX-License-Identifier: MIT
// The least of a kernel that Linux's driver for the Pentium 4 compiles against: names that it uses,
// with meanings of our own. Everything runs on the one processor that driver.h chooses.
#ifndef TL_TESTS_NETBURST_KERNEL_H
#define TL_TESTS_NETBURST_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "/usr/include/linux/perf_event.h" // numbers of the system call

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define CONFIG_SMP 1
#define __init
#define __initconst
#define ARRAY_SIZE(array) (sizeof(array) / sizeof(array)[0])
#define BUILD_BUG_ON(condition) ((void)sizeof(char[1 - 2 * !!(condition)]))
#define unlikely(condition) (condition)
#define WARN_ON_ONCE(condition) ((void)(condition))
#define WARN_ONCE(condition, ...) ((void)(condition))
#define pr_cont(...) ((void)0)

// ---- Bits.

enum { WORD_BITS = 64 };
#define BITS_TO_LONGS(n) (((n) + WORD_BITS - 1) / WORD_BITS)
static inline int test_bit(int bit, const unsigned long *words) { return (int)(words[bit / WORD_BITS] >> bit % WORD_BITS & 1); }
static inline void set_bit(int bit, unsigned long *words) { words[bit / WORD_BITS] |= 1ul << bit % WORD_BITS; }
static inline void clear_bit(int bit, unsigned long *words) { words[bit / WORD_BITS] &= ~(1ul << bit % WORD_BITS); }
#define __set_bit set_bit
static inline int __test_and_clear_bit(int bit, unsigned long *words) {
    const int was = test_bit(bit, words);
    clear_bit(bit, words);
    return was;
}
static inline void bitmap_zero(unsigned long *words, unsigned n) { memset(words, 0, BITS_TO_LONGS(n) * sizeof *words); }

// ---- Processors: one.

int smp_processor_id(void);
#define get_cpu() smp_processor_id()
#define put_cpu() ((void)0)
#define DEFINE_PER_CPU(type, name) __typeof__(type) name
#define per_cpu(name, cpu) (name)
#define this_cpu_ptr(pointer) (pointer)
#define this_cpu_read(name) (name)
#define cpumask_first(mask) (0)
#define this_cpu_cpumask_var_ptr(mask) (0)
extern int smp_num_siblings;
struct cpuinfo {
    unsigned x86_model;
};
extern struct cpuinfo boot_cpu_data;

// ---- MSRs.

int kernel_rdmsr(u32 msr, u64 *value);
int kernel_wrmsr(u32 msr, u64 value);
#define rdmsrl(msr, value)                      \
    do {                                        \
        u64 read_value = 0;                     \
        (void)kernel_rdmsr((msr), &read_value); \
        (value) = read_value;                   \
    } while (0)
#define rdmsr(msr, low, high)             \
    do {                                  \
        u64 both = 0;                     \
        (void)kernel_rdmsr((msr), &both); \
        (low) = (u32)both;                \
        (high) = (u32)(both >> 32);       \
    } while (0)
#define wrmsrl(msr, value) ((void)kernel_wrmsr((u32)(msr), (value)))
#define wrmsrl_safe(msr, value) kernel_wrmsr((u32)(msr), (value))

// ---- Events of perf.

struct attribute {
    const char *name;
};
struct format_attribute {
    struct attribute attr;
};
#define PMU_FORMAT_ATTR(name, text) static struct format_attribute format_attr_##name = {{text}}

struct pt_regs {
    unsigned long ip;
};
struct perf_sample_data {
    u64 period;
};
struct hw_perf_event {
    u64 config, last_period, prev_count;
    s64 left;
    unsigned long config_base, event_base;
    int idx;
};
struct perf_event {
    struct perf_event_attr attr;
    struct hw_perf_event hw;
    u64 count;
    unsigned n_overflows;
};

enum { X86_PMC_IDX_MAX = 64, INTEL_PMC_MAX_GENERIC = 32 };
struct cpu_hw_events {
    struct perf_event *events[X86_PMC_IDX_MAX], *event_list[X86_PMC_IDX_MAX];
    unsigned long active_mask[BITS_TO_LONGS(X86_PMC_IDX_MAX)];
};
extern struct cpu_hw_events cpu_hw_events;
extern s64 pmc_prev_left[X86_PMC_IDX_MAX];

struct event_constraint;
struct x86_pmu {
    const char *name;
    int (*handle_irq)(struct pt_regs *regs);
    void (*disable_all)(void);
    void (*enable_all)(int added);
    void (*enable)(struct perf_event *event);
    void (*disable)(struct perf_event *event);
    int (*set_period)(struct perf_event *event);
    unsigned eventsel, perfctr;
    u64 (*event_map)(int event);
    int max_events;
    struct event_constraint *(*get_event_constraints)(struct cpu_hw_events *cpuc, int idx, struct perf_event *event);
    int num_counters, apic, cntval_bits;
    u64 cntval_mask, max_period;
    int (*hw_config)(struct perf_event *event);
    int (*schedule_events)(struct cpu_hw_events *cpuc, int n, int *assign);
    struct attribute **format_attrs;
};
extern struct x86_pmu x86_pmu;
extern u64 hw_cache_event_ids[PERF_COUNT_HW_CACHE_MAX][PERF_COUNT_HW_CACHE_OP_MAX][PERF_COUNT_HW_CACHE_RESULT_MAX];
#define C(name) PERF_COUNT_HW_CACHE_##name

struct event_constraint *x86_get_event_constraints(struct cpu_hw_events *cpuc, int idx, struct perf_event *event);
int x86_setup_perfctr(struct perf_event *event);
int x86_perf_event_set_period(struct perf_event *event);
u64 x86_perf_event_update(struct perf_event *event);
void x86_pmu_stop(struct perf_event *event, int flags);
#define x86_pmu_config_addr(counter) (x86_pmu.eventsel + (unsigned)(counter))
#define static_call(name) name
int x86_pmu_set_period(struct perf_event *event);
static inline int perf_allow_cpu(struct perf_event_attr *attr) { return attr ? 0 : -EINVAL; }
static inline void perf_sample_data_init(struct perf_sample_data *data, u64 addr, u64 period) { data->period = period + addr; }
int perf_event_overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs);

#define inc_irq_stat(name) ((void)0)
enum { APIC_LVTPC = 0x340, APIC_DM_NMI = 4 << 8 };
void apic_write(u32 reg, u32 value);

#include <asm/msr-index.h>

int p4_pmu_init(void);

#endif
