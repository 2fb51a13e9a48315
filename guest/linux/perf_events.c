// SPDX-License-Identifier: MIT
// Counters as a program gets them from Linux: perf_event_open, checked against loops whose
// instructions are counted on paper.
//
//   perf_events [--loose] [--overlap] [TEST...]      all tests, or some
//   perf_events [--loose] raw CODE=N...              raw events: N in one turn of the mixed loop
//   perf_events system EVENT... -- COMMAND...        whole machine, every CPU, during a command
//   perf_events work [N]                             N rounds of work for others to count
//
// A count is the difference of two runs of one loop with different numbers of turns, so what starts
// and stops a counter drops out. Counts of user mode must be exact; --loose allows what a machine
// without filters by mode, or without exact counters, adds. --overlap is for an out-of-order core:
// the last turns of a loop take their cycles beside what follows, up to 1000 in a run.
//
// One line for each result: `perf_events: TEST ok|FAIL|skip KEY=VALUE...`. The exit status is the
// number of failures, at most 99.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_loose;
static int64_t overlap_cycles;
static int n_failures;

__attribute__((format(printf, 3, 4))) static void say(const char *test, const char *verdict, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("perf_events: %s %s ", test, verdict);
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    n_failures += strcmp(verdict, "FAIL") == 0;
}

static const char *ok_if(bool condition) { return condition ? "ok" : "FAIL"; }

// ---- loops

// Two instructions a turn, one of them a branch. Not inlined: samples look for its addresses.
extern const char spin_loop[], spin_loop_end[];
__attribute__((noinline)) static void spin(uint64_t n_turns) {
    __asm__ volatile(".globl spin_loop, spin_loop_end\n"
                     "spin_loop:\n"
#ifdef __aarch64__
                     "1: sub  %0, %0, #1\n"
                     "   cbnz %0, 1b\n"
#else
                     "1: addi %0, %0, -1\n"
                     "   bnez %0, 1b\n"
#endif
                     "spin_loop_end:\n"
                     : "+r"(n_turns));
}

// One turn: 3 loads, 2 stores, 1 multiplication, 1 jump, 2 branches, of which 1 is taken, 4
// computations: 13 instructions. perf's "branches" are branches and jumps; the PMU driver of
// AArch64 counts those that are taken (PC_WRITE_RETIRED).
#ifdef __aarch64__
enum { MIX_INSNS = 13, MIX_BRANCHES = 2 };
#else
enum { MIX_INSNS = 13, MIX_BRANCHES = 3 };
#endif
__attribute__((noinline)) static void mix(uint64_t n_turns) {
    static uint64_t cells[8];
    uint64_t a, b, c;
#ifdef __aarch64__
    __asm__ volatile("1: ldr  %1, [%4]\n"
                     "   ldr  %2, [%4, 8]\n"
                     "   ldr  %3, [%4, 16]\n"
                     "   mul  %1, %1, %2\n"
                     "   add  %1, %1, #1\n"
                     "   str  %1, [%4, 24]\n"
                     "   eor  %2, %2, %3\n"
                     "   str  %2, [%4, 32]\n"
                     "   b    2f\n"
                     "2: tbnz %0, 63, 3f\n"
                     "   add  %3, %3, #5\n"
                     "   sub  %0, %0, #1\n"
                     "   cbnz %0, 1b\n"
                     "3:\n"
                     : "+r"(n_turns), "=&r"(a), "=&r"(b), "=&r"(c)
                     : "r"(cells)
                     : "memory");
#else
    __asm__ volatile("1: ld   %1, 0(%4)\n"
                     "   ld   %2, 8(%4)\n"
                     "   ld   %3, 16(%4)\n"
                     "   mul  %1, %1, %2\n"
                     "   addi %1, %1, 1\n"
                     "   sd   %1, 24(%4)\n"
                     "   xor  %2, %2, %3\n"
                     "   sd   %2, 32(%4)\n"
                     "   j    2f\n"
                     "2: bltz %0, 3f\n"
                     "   addi %3, %3, 5\n"
                     "   addi %0, %0, -1\n"
                     "   bnez %0, 1b\n"
                     "3:\n"
                     : "+r"(n_turns), "=&r"(a), "=&r"(b), "=&r"(c)
                     : "r"(cells)
                     : "memory");
#endif
}

// ---- perf_event_open

enum { USER = 1, KERNEL = 2, BOTH = 3 }; // modes that count

static int open_attr(struct perf_event_attr *attr, pid_t pid, int cpu, int leader) {
    attr->size = sizeof *attr;
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr event(uint32_t type, uint64_t config, int modes) {
    return (struct perf_event_attr){
        .type = type,
        .config = config,
        .disabled = 1,
        .exclude_user = !(modes & USER),
        .exclude_kernel = !(modes & KERNEL),
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
}

static int open_event(uint32_t type, uint64_t config, int modes, int leader) {
    struct perf_event_attr attr = event(type, config, modes);
    if (leader >= 0)
        attr.disabled = 0;
    return open_attr(&attr, 0, -1, leader);
}

// Filters by mode exist only with Sscofpmf; what cannot be had is counted in both modes.
static int user_mode(void) {
    static int modes;
    if (modes == 0) {
        int fd = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, USER, -1);
        modes = fd >= 0 ? USER : BOTH;
        close(fd);
    }
    return modes;
}

typedef struct reading {
    uint64_t count, enabled_ns, running_ns;
} reading;

static reading read_event(int fd) {
    reading r = {0};
    if (read(fd, &r, sizeof r) != sizeof r)
        memset(&r, 0, sizeof r);
    return r;
}

static void enable(int leader) { ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP); }
static void disable(int leader) { ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP); }

// The counts of a group around `work`. fds[0] leads.
static void measure(int n, const int *fds, void (*work)(uint64_t), uint64_t n_turns, reading *ret_readings) {
    reading before[16];
    for (int i = 0; i < n; i++)
        before[i] = read_event(fds[i]);
    enable(fds[0]);
    work(n_turns);
    disable(fds[0]);
    for (int i = 0; i < n; i++) {
        reading r = read_event(fds[i]);
        ret_readings[i] = (reading){r.count - before[i].count, r.enabled_ns - before[i].enabled_ns, r.running_ns - before[i].running_ns};
    }
}

enum { TURNS = 200000, MORE_TURNS = 1200000, DIFFERENCE = MORE_TURNS - TURNS };

// How often `work` makes each event in DIFFERENCE turns. Pages are touched and code is translated
// in a first run.
static void slope(int n, const int *fds, void (*work)(uint64_t), int64_t *ret_counts, bool *ret_always_ran) {
    reading few[16], many[16];
    measure(n, fds, work, 1000, few);
    measure(n, fds, work, TURNS, few);
    measure(n, fds, work, MORE_TURNS, many);
    *ret_always_ran = true;
    for (int i = 0; i < n; i++) {
        ret_counts[i] = (int64_t)(many[i].count - few[i].count);
        *ret_always_ran &= few[i].running_ns == few[i].enabled_ns && many[i].running_ns == many[i].enabled_ns && many[i].running_ns > 0;
    }
}

static bool is_right(int64_t count, int64_t expected, int modes) {
    if (is_loose)
        return count > 0;
    if (modes == USER)
        return count == expected;
    // The kernel's own work differs meanwhile.
    return count >= expected - expected / 100 && count <= expected + expected / 10;
}

static const char *mode_name(int modes) { return modes == USER ? "u" : modes == KERNEL ? "k" : "uk"; }

// ---- tests

static void test_count(void) {
    static const struct {
        const char *name;
        uint64_t config;
        int64_t spin_expected, mix_expected;
    } rows[] = {
        {"instructions", PERF_COUNT_HW_INSTRUCTIONS, 2, MIX_INSNS},
        {"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1, MIX_BRANCHES},
        {"cycles", PERF_COUNT_HW_CPU_CYCLES, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int modes = user_mode(), fd = open_event(PERF_TYPE_HARDWARE, rows[i].config, modes, -1);
        if (fd < 0) {
            say("count", "FAIL", "event=%s error=\"%s\"", rows[i].name, strerror(errno));
            continue;
        }
        int64_t counts[2];
        bool ran[2];
        slope(1, &fd, spin, &counts[0], &ran[0]);
        slope(1, &fd, mix, &counts[1], &ran[1]);
        close(fd);
        int64_t expected[2] = {DIFFERENCE * rows[i].spin_expected, DIFFERENCE * rows[i].mix_expected};
        if (!ran[0] && counts[0] == 0) {
            say("count", "skip", "event=%s reason=\"the machine does not count it\"", rows[i].name);
            continue;
        }
        bool is_good = ran[0] && ran[1];
        for (int k = 0; k < 2; k++)
            is_good &= expected[k] == 0 ? counts[k] >= DIFFERENCE - overlap_cycles : is_right(counts[k], expected[k], modes);
        say("count", ok_if(is_good), "event=%s:%s spin=%lld expected=%lld mix=%lld expected=%lld", rows[i].name, mode_name(modes),
            (long long)counts[0], (long long)expected[0], (long long)counts[1], (long long)expected[1]);
    }
}

static void call_kernel(uint64_t n_turns) { // a call each thousand turns
    for (uint64_t i = 0; i < n_turns / 1000; i++)
        syscall(SYS_getppid);
}

// Three counters side by side: user, kernel, both. Counts of user mode and of supervisor mode add
// up to the whole.
static void test_filter(void) {
    static const uint64_t configs[] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES};
    static const char *const names[] = {"instructions", "cycles"};
    if (user_mode() != USER) {
        say("filter", "skip", "reason=\"no filters by mode: %s\"", strerror(errno));
        return;
    }
    for (int i = 0; i < 2; i++) {
        int fds[3];
        fds[0] = open_event(PERF_TYPE_HARDWARE, configs[i], USER, -1);
        fds[1] = open_event(PERF_TYPE_HARDWARE, configs[i], KERNEL, fds[0]);
        fds[2] = open_event(PERF_TYPE_HARDWARE, configs[i], BOTH, fds[0]);
        int64_t counts[3];
        bool always_ran;
        slope(3, fds, call_kernel, counts, &always_ran);
        for (int k = 2; k >= 0; k--)
            close(fds[k]);
        // Instructions between the starts of the three counters nearly drop out, because their
        // number is nearly the same each time.
        int64_t gap = counts[2] - counts[0] - counts[1];
        say("filter", ok_if(always_ran && (is_loose || (counts[0] > 0 && counts[1] > counts[0] && llabs(gap) < 20000))),
            "event=%s u=%lld k=%lld uk=%lld gap=%lld", names[i], (long long)counts[0], (long long)counts[1], (long long)counts[2],
            (long long)gap);
    }
}

// A group runs as a whole or not at all. Where instructions have one counter only, as without
// Sscofpmf, two counters make the group.
static void test_group(void) {
    int modes = user_mode();
    for (int n = 3; n >= 2; n--) {
        int fds[3] = {open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, modes, -1), -1, -1};
        for (int k = 1; k < n; k++)
            fds[k] = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, modes, fds[0]);
        int64_t counts[3] = {0};
        bool always_ran;
        slope(n, fds, mix, counts, &always_ran);
        for (int k = n - 1; k >= 0; k--)
            close(fds[k]);
        if (!always_ran && n == 3 && modes != USER)
            continue;
        bool is_good = always_ran && counts[0] >= counts[1] / 8 && is_right(counts[1], (int64_t)DIFFERENCE * MIX_INSNS, modes);
        if (n == 3)
            is_good &= is_right(counts[2], (int64_t)DIFFERENCE * MIX_INSNS, modes);
        say("group", ok_if(is_good || (is_loose && always_ran)), "members=%d cycles=%lld instructions=%lld again=%lld expected=%lld", n,
            (long long)counts[0], (long long)counts[1], (long long)counts[2], (long long)DIFFERENCE * MIX_INSNS);
        return;
    }
}

// Every event that perf has a name for: which of them the machine counts, and how often the mixed
// loop makes it.
static void test_generic(void) {
    static const char *const hardware[] = {
        "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
        "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
    static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
    static const char *const ops[] = {"load", "store", "prefetch"};
    int n_counted = 0;
    for (uint64_t i = 0; i < 10 + 7 * 3 * 2; i++) {
        char name[64];
        uint64_t k = i - 10, cache = k / 6, op = k / 2 % 3, result = k % 2;
        if (i < 10)
            snprintf(name, sizeof name, "%s", hardware[i]);
        else
            snprintf(name, sizeof name, "%s-%s%s", caches[cache], ops[op], result ? "-misses" : "s");
        int fd = i < 10 ? open_event(PERF_TYPE_HARDWARE, i, user_mode(), -1)
                        : open_event(PERF_TYPE_HW_CACHE, cache | op << 8 | result << 16, user_mode(), -1);
        if (fd < 0)
            continue;
        int64_t count;
        bool always_ran;
        slope(1, &fd, mix, &count, &always_ran);
        close(fd);
        if (!always_ran)
            continue;
        n_counted++;
        say("generic", "ok", "event=%s:%s count=%lld per_1000_turns=%lld", name, mode_name(user_mode()), (long long)count,
            (long long)count / (DIFFERENCE / 1000));
    }
    say("generic", ok_if(n_counted >= 2), "events=%d", n_counted);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// More events than counters: the kernel lets them take turns, and says how long each was enabled
// and how long it ran.
static void test_multiplex(void) {
    enum { N = 40 }; // the kernel moves one event on in 4 ms; the whole takes 200

    int fds[N], n = 0;
    for (; n < N &&
           (fds[n] = open_event(PERF_TYPE_HARDWARE, n % 2 ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES, user_mode(), -1)) >= 0;
         n++)
        ;
    uint64_t start = now_ns();
    for (int i = 0; i < n; i++)
        enable(fds[i]);
    uint64_t n_turns = 0;
    for (; now_ns() - start < 200000000; n_turns += 10000)
        spin(10000);
    for (int i = 0; i < n; i++)
        disable(fds[i]);
    double slots = 0, worst = 0;
    int n_idle = 0, n_partial = 0;
    for (int i = 0; i < n; i++) {
        reading r = read_event(fds[i]);
        close(fds[i]);
        if (r.running_ns == 0) {
            n_idle++;
            continue;
        }
        slots += (double)r.running_ns / (double)r.enabled_ns;
        n_partial += r.running_ns < r.enabled_ns;
        double estimate = (double)r.count * (double)r.enabled_ns / (double)r.running_ns / (2.0 * (double)n_turns);
        double deviation = estimate > 1 ? estimate - 1 : 1 - estimate;
        if (i % 2 == 1 && deviation > worst)
            worst = deviation;
    }
    say("multiplex", ok_if(n == N && n_idle == 0 && n_partial > 0 && (is_loose || worst < 0.10)),
        "events=%d never_ran=%d took_turns=%d slots=%.2f worst_estimate_off=%.2f%%", n, n_idle, n_partial, slots, worst * 100);
}

static void spin_child(uint64_t n_turns) { // in two children
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            spin(n_turns);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
}

static void test_inherit(void) {
    struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, user_mode());
    attr.inherit = 1;
    int fd = open_attr(&attr, 0, -1, -1);
    int64_t count;
    bool always_ran;
    slope(1, &fd, spin_child, &count, &always_ran);
    close(fd);
    int64_t expected = (int64_t)4 * DIFFERENCE;
    // The paths of fork and exit in libc are the same each time; only the loop's part grows.
    say("inherit", ok_if(is_right(count, expected, user_mode())), "instructions=%lld expected=%lld", (long long)count, (long long)expected);
}

// A counter of a CPU sees what runs there, and nothing of the others.
static void test_cpus(void) {
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    int n_cpus = CPU_COUNT(&all), fds[64];
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, user_mode());
        fds[cpu] = open_attr(&attr, -1, cpu, -1);
    }
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        uint64_t before[64];
        for (int i = 0; i < n_cpus; i++) {
            before[i] = read_event(fds[i]).count;
            enable(fds[i]);
        }
        spin(TURNS);
        for (int i = 0; i < n_cpus; i++)
            disable(fds[i]);
        for (int i = 0; i < n_cpus; i++) {
            int64_t count = (int64_t)(read_event(fds[i]).count - before[i]);
            bool is_here = i == cpu;
            bool is_good = is_here ? count >= 2 * TURNS && (is_loose || user_mode() != USER || count < 2 * TURNS + 10000)
                                   : is_loose || user_mode() != USER || count < 10000;
            say("cpus", ok_if(is_good), "spinning_on=%d counted_on=%d instructions=%lld", cpu, i, (long long)count);
        }
    }
    for (int cpu = 0; cpu < n_cpus; cpu++)
        close(fds[cpu]);
    sched_setaffinity(0, sizeof all, &all);
}

// ---- samples

typedef struct ring {
    struct perf_event_mmap_page *page;
    size_t n_bytes;
} ring;

typedef struct samples {
    uint64_t n, n_in_loop, n_lost, n_throttled, sum_of_periods, max_period;
} samples;

static samples drain(const ring *r) {
    samples s = {0};
    const char *data = (const char *)r->page + 4096;
    uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), tail = r->page->data_tail;
    while (tail < head) {
        char record[512];
        struct perf_event_header header;
        for (size_t i = 0; i < sizeof header; i++)
            ((char *)&header)[i] = data[(tail + i) % r->n_bytes];
        for (size_t i = 0; i < header.size && i < sizeof record; i++)
            record[i] = data[(tail + i) % r->n_bytes];
        tail += header.size;
        const uint64_t *fields = (const uint64_t *)(record + sizeof header); // IP, PERIOD
        if (header.type == PERF_RECORD_SAMPLE) {
            s.n++;
            s.n_in_loop += fields[0] >= (uint64_t)(uintptr_t)spin_loop && fields[0] < (uint64_t)(uintptr_t)spin_loop_end;
            s.sum_of_periods += fields[1];
            if (fields[1] > s.max_period)
                s.max_period = fields[1];
        } else if (header.type == PERF_RECORD_LOST)
            s.n_lost += fields[1];
        else if (header.type == PERF_RECORD_THROTTLE)
            s.n_throttled++;
    }
    __atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
    return s;
}

static void write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        perror(path);
    close(fd);
}

static void sample(const char *name, uint64_t config, uint64_t period, bool is_frequency) {
    struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, config, USER);
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
    attr.freq = is_frequency;
    attr.sample_period = period;
    int fd = open_attr(&attr, 0, -1, -1);
    if (fd < 0) {
        say("sample", "skip", "event=%s reason=\"%s\"", name, strerror(errno));
        return;
    }
    ring r = {.n_bytes = 64 * 4096};
    r.page = mmap(NULL, 4096 + r.n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (r.page == MAP_FAILED) {
        say("sample", "FAIL", "event=%s error=\"mmap: %s\"", name, strerror(errno));
        close(fd);
        return;
    }
    enable(fd);
    spin(is_frequency ? 20 * MORE_TURNS : 2 * MORE_TURNS);
    disable(fd);
    reading total = read_event(fd);
    if (total.running_ns == 0) {
        say("sample", "skip", "event=%s reason=\"the machine does not count it\"", name);
        munmap(r.page, 4096 + r.n_bytes);
        close(fd);
        return;
    }
    samples s = drain(&r);
    munmap(r.page, 4096 + r.n_bytes);
    close(fd);
    // A frequency starts with short periods, some of which end on the way to the loop.
    bool is_good = s.n > 0 && s.n_lost == 0 && (is_frequency ? s.n_in_loop * 10 >= s.n * 9 : s.n_in_loop + 3 >= s.n);
    // In user mode the counter stands still from the overflow on until the handler has armed it
    // again: not one period is lost.
    if (!is_frequency && !is_loose)
        is_good &= s.n_throttled == 0 && s.n == total.count / period && s.sum_of_periods == s.n * period;
    say("sample", ok_if(is_good), "event=%s %s=%llu count=%llu samples=%llu in_loop=%llu lost=%llu throttled=%llu periods=%llu", name,
        is_frequency ? "frequency" : "period", (unsigned long long)period, (unsigned long long)total.count, (unsigned long long)s.n,
        (unsigned long long)s.n_in_loop, (unsigned long long)s.n_lost, (unsigned long long)s.n_throttled,
        (unsigned long long)s.sum_of_periods);
}

static void test_sample(void) {
    // The kernel does not slow sampling down.
    write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
    sample("instructions:u", PERF_COUNT_HW_INSTRUCTIONS, 20011, false);
    sample("cycles:u", PERF_COUNT_HW_CPU_CYCLES, 50021, false);
    sample("branches:u", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 10007, false);
    sample("cycles:u", PERF_COUNT_HW_CPU_CYCLES, 4000, true);
}

// ---- counters without the kernel

static sigjmp_buf trapped;
static void on_illegal(int signal) {
    (void)signal;
    siglongjmp(trapped, 1);
}

#ifdef __aarch64__
#define READ_INSN "mrs"
#define READ_CYCLE pmccntr_el0
#define READ_TIME cntvct_el0
#define READ_COUNTER pmevcntr0_el0
#else
#define READ_INSN "csrr"
#define READ_CYCLE cycle
#define READ_TIME time
#define READ_COUNTER instret
#endif
#define TEXT(x) #x
#define NAME_OF(x) TEXT(x)
#define READ_REGISTER(name)                                               \
    ({                                                                    \
        uint64_t value_;                                                  \
        __asm__ volatile(READ_INSN " %0, " NAME_OF(name) : "=r"(value_)); \
        value_;                                                           \
    })

// Whether user mode may read the three base counters is the kernel's decision; time must be
// readable, since the C library's clocks read it.
static void test_direct(void) {
    signal(SIGILL, on_illegal);
    for (volatile int i = 0; i < 3; i++) {
        static const char *const names[] = {NAME_OF(READ_CYCLE), NAME_OF(READ_TIME), NAME_OF(READ_COUNTER)};
        if (sigsetjmp(trapped, 1) != 0) {
            say("direct", ok_if(i != 1), "csr=%s readable=no", names[i]);
            continue;
        }
        uint64_t before = i == 0 ? READ_REGISTER(READ_CYCLE) : i == 1 ? READ_REGISTER(READ_TIME) : READ_REGISTER(READ_COUNTER);
        spin(TURNS);
        uint64_t after = i == 0 ? READ_REGISTER(READ_CYCLE) : i == 1 ? READ_REGISTER(READ_TIME) : READ_REGISTER(READ_COUNTER);
        say("direct", ok_if(i != 1 || after > before), "csr=%s readable=yes difference=%llu", names[i],
            (unsigned long long)(after - before));
    }
    signal(SIGILL, SIG_DFL);
}

// ---- raw events and the whole machine

static void test_raw(int n_args, char **args) {
    for (int i = 0; i < n_args; i++) {
        char *end;
        uint64_t code = strtoull(args[i], &end, 0);
        int64_t expected = *end == '=' ? strtoll(end + 1, NULL, 0) * (int64_t)DIFFERENCE : -1;
        int fd = open_event(PERF_TYPE_RAW, code, user_mode(), -1);
        int64_t count = 0;
        bool always_ran = false;
        if (fd >= 0)
            slope(1, &fd, mix, &count, &always_ran);
        close(fd);
        say("raw",
            ok_if(always_ran && (expected < 0 || (expected == 0 && user_mode() != USER) ||
                                 (expected == 0 ? count == 0 : is_right(count, expected, user_mode())))),
            "code=0x%llx count=%lld expected=%lld", (unsigned long long)code, (long long)count, (long long)expected);
    }
}

static int run_system(int n_args, char **args) {
    static const struct {
        const char *name;
        uint64_t config;
        int modes;
    } known[] = {
        {"instructions", PERF_COUNT_HW_INSTRUCTIONS, BOTH},     {"instructions:u", PERF_COUNT_HW_INSTRUCTIONS, USER},
        {"instructions:k", PERF_COUNT_HW_INSTRUCTIONS, KERNEL}, {"cycles", PERF_COUNT_HW_CPU_CYCLES, BOTH},
        {"cycles:u", PERF_COUNT_HW_CPU_CYCLES, USER},           {"cycles:k", PERF_COUNT_HW_CPU_CYCLES, KERNEL},
        {"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, BOTH},  {"branches:u", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, USER},
        {"branch-misses", PERF_COUNT_HW_BRANCH_MISSES, BOTH},   {"cache-references", PERF_COUNT_HW_CACHE_REFERENCES, BOTH},
        {"cache-misses", PERF_COUNT_HW_CACHE_MISSES, BOTH},
    };
    enum { MAX = 16 };
    int n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), n_events = 0, fds[MAX][64];
    const char *names[MAX];
    int i = 0;
    for (; i < n_args && strcmp(args[i], "--") != 0; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && strcmp(known[k].name, args[i]) != 0)
            k++;
        bool is_raw = args[i][0] == 'r' && k == sizeof known / sizeof known[0];
        if ((k == sizeof known / sizeof known[0] && !is_raw) || n_events == MAX) {
            fprintf(stderr, "perf_events: %s: no such event\n", args[i]);
            return 2;
        }
        for (int cpu = 0; cpu < n_cpus; cpu++) {
            struct perf_event_attr attr = is_raw ? event(PERF_TYPE_RAW, strtoull(args[i] + 1, NULL, 16), BOTH)
                                                 : event(PERF_TYPE_HARDWARE, known[k].config, known[k].modes);
            fds[n_events][cpu] = open_attr(&attr, -1, cpu, -1);
            if (fds[n_events][cpu] < 0)
                say("system", "FAIL", "event=%s cpu=%d error=\"%s\"", args[i], cpu, strerror(errno));
        }
        names[n_events++] = args[i];
    }
    if (i + 1 >= n_args) {
        fprintf(stderr, "usage: perf_events system EVENT... -- COMMAND...\n");
        return 2;
    }
    for (int e = 0; e < n_events; e++)
        for (int cpu = 0; cpu < n_cpus; cpu++)
            enable(fds[e][cpu]);
    pid_t pid = fork();
    if (pid == 0) {
        execvp(args[i + 1], args + i + 1);
        perror(args[i + 1]);
        _exit(127);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    for (int e = 0; e < n_events; e++)
        for (int cpu = 0; cpu < n_cpus; cpu++)
            disable(fds[e][cpu]);
    for (int e = 0; e < n_events; e++) {
        for (int cpu = 0; cpu < n_cpus; cpu++) {
            reading r = read_event(fds[e][cpu]);
            say("system", ok_if(r.running_ns == r.enabled_ns && r.running_ns > 0), "event=%s cpu=%d count=%llu", names[e], cpu,
                (unsigned long long)r.count);
        }
    }
    return n_failures > 0 ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// One round: 2 * 500,000 + 13 * 200,000 instructions in the loops, 100 calls, two children with 2 *
// 250,000 instructions each.
static int run_work(int n_rounds) {
    for (int i = 0; i < n_rounds; i++) {
        spin(500000);
        mix(200000);
        call_kernel(100000);
        spin_child(250000);
    }
    return 0;
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"count", test_count},     {"filter", test_filter}, {"group", test_group},   {"generic", test_generic}, {"multiplex", test_multiplex},
    {"inherit", test_inherit}, {"cpus", test_cpus},     {"sample", test_sample}, {"direct", test_direct},
};
enum { N_TESTS = sizeof tests / sizeof tests[0] };

int main(int n_args, char **args) {
    int at = 1;
    if (at < n_args && strcmp(args[at], "--loose") == 0)
        is_loose = true, at++;
    if (at < n_args && strcmp(args[at], "--overlap") == 0)
        overlap_cycles = 1000, at++;
    if (at < n_args && strcmp(args[at], "system") == 0)
        return run_system(n_args - at - 1, args + at + 1);
    if (at < n_args && strcmp(args[at], "work") == 0)
        return run_work(at + 1 < n_args ? atoi(args[at + 1]) : 1);
    if (at < n_args && strcmp(args[at], "raw") == 0)
        test_raw(n_args - at - 1, args + at + 1);
    else {
        for (int k = at; k < n_args; k++) {
            int i = 0;
            while (i < N_TESTS && strcmp(tests[i].name, args[k]) != 0)
                i++;
            if (i == N_TESTS) {
                fprintf(stderr, "perf_events: %s: no such test\n", args[k]);
                return 2;
            }
        }
        for (int i = 0; i < N_TESTS; i++) {
            bool is_wanted = at == n_args;
            for (int k = at; k < n_args; k++)
                is_wanted |= strcmp(tests[i].name, args[k]) == 0;
            if (is_wanted)
                tests[i].run();
        }
    }
    printf("perf_events: %d failures\n", n_failures);
    return n_failures < 99 ? n_failures : 99;
}
