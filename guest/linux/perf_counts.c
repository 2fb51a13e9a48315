/* SPDX-License-Identifier: MIT
 * What perf events count under the user-mode personality, to the last digit: loops counted on paper between two system calls, overflows at
 * the very instruction, counters read without the kernel, sums over threads and processes. The rules of the calls are perf_rules.c's. */
#include "check.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

enum { PAGE = 4096, REG_T0 = 5 };

static int open_on(struct perf_event_attr *attr, pid_t pid, int cpu, int group) {
    attr->size = sizeof *attr;
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}
static struct perf_event_attr event(uint32_t type, uint64_t config) {
    return (struct perf_event_attr){.type = type, .config = config, .disabled = 1, .exclude_kernel = 1};
}
static struct perf_event_attr instructions(void) { return event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS); }

static int open_self(struct perf_event_attr attr, int group) {
    if (group >= 0)
        attr.disabled = 0;
    int fd = open_on(&attr, 0, -1, group);
    CHECK_OK(fd);
    return fd;
}
static uint64_t value_of(int fd) {
    uint64_t values[3];
    CHECK(read(fd, values, sizeof values) >= 8);
    return values[0];
}

/* Between ENABLE and DISABLE run 1 + 2 n instructions, and 4 that prepare the second call. */
enum { AROUND = 5 };
static void count_loop(int fd, uint64_t n) {
    register long a0 __asm__("a0") = fd;
    register long a1 __asm__("a1") = PERF_EVENT_IOC_ENABLE;
    register long a2 __asm__("a2") = PERF_IOC_FLAG_GROUP;
    register long a7 __asm__("a7") = SYS_ioctl;
    __asm__ volatile("ecall\n"
                     "mv   t0, %[n]\n"
                     "1: addi t0, t0, -1\n"
                     "bnez t0, 1b\n"
                     "mv   a0, %[fd]\n"
                     "addi a1, a1, 1\n" /* DISABLE is the next number */
                     "li   a2, 1\n"
                     "nop\n"
                     "ecall\n"
                     : "+&r"(a0), "+&r"(a1), "+&r"(a2)
                     : "r"(a7), [n] "r"(n), [fd] "r"((long)fd)
                     : "t0", "memory");
    CHECK_EQ(a0, 0);
}

/* 3 loads and 2 stores a turn. */
__attribute__((noinline)) static void mix(uint64_t n) {
    static uint64_t cells[8] __attribute__((aligned(64)));
    uint64_t a;
    __asm__ volatile("1: ld %1, 0(%2)\n"
                     "   ld %1, 8(%2)\n"
                     "   ld %1, 16(%2)\n"
                     "   sd %1, 24(%2)\n"
                     "   sd %1, 32(%2)\n"
                     "   addi %0, %0, -1\n"
                     "   bnez %0, 1b\n"
                     : "+r"(n), "=&r"(a)
                     : "r"(cells)
                     : "memory");
}

__attribute__((noinline)) static void mix_loads(uint64_t n, uint64_t ret_counts[2]) {
    int fd = open_self(event(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D), -1);
    int stores = open_self(event(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_WRITE << 8), fd);
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
    mix(n);
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
    ret_counts[0] = value_of(fd);
    ret_counts[1] = value_of(stores);
    CHECK_OK(close(fd));
    CHECK_OK(close(stores));
}

static void exact(void) {
    int fd = open_self(instructions(), -1), again = open_self(instructions(), fd);
    struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
    int branches = open_self(attr, fd);
    attr = instructions();
    attr.exclude_user = 1;
    attr.exclude_kernel = 0;
    int kernel = open_self(attr, fd);
    static const uint64_t turns[] = {1, 2, 1000, 54321, 3};
    uint64_t sum = 0, n_turns = 0;
    for (int i = 0; i < 5; i++) {
        count_loop(fd, turns[i]);
        sum += 2 * turns[i] + AROUND;
        n_turns += turns[i];
        CHECK_EQ(value_of(fd), sum);
        CHECK_EQ(value_of(again), sum);
        CHECK_EQ(value_of(branches), n_turns);
        CHECK_EQ(value_of(kernel), 0);
    }
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
    CHECK_EQ(value_of(fd), 0);
    count_loop(fd, 100);
    CHECK_EQ(value_of(fd), 200 + AROUND);
    CHECK_OK(close(fd));
    CHECK_OK(close(again));
    CHECK_OK(close(branches));
    CHECK_OK(close(kernel));

    /* loads and stores of the first level, by difference */
    uint64_t counts[3][2];
    mix_loads(10, counts[0]);
    mix_loads(1000, counts[1]);
    mix_loads(5000, counts[2]);
    int64_t walks = (int64_t)(counts[2][0] - counts[1][0]) - 4000 * 3; /* page walks load, too, now and then */
    CHECK(walks >= -32 && walks <= 32);
    CHECK_EQ(counts[2][1] - counts[1][1], 4000 * 2);
    puts("exact");
}

/* User and kernel are all there is, and the kernel's cycles are those of the machine description. */
static void modes(void) {
    uint64_t cycles[3][2], nothing;
    int fds[3];
    for (int i = 0; i < 3; i++) {
        struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
        attr.exclude_kernel = i == 0;
        attr.exclude_user = i == 1;
        fds[i] = open_self(attr, i == 0 ? -1 : fds[0]);
    }
    struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    attr.exclude_user = 1; /* neither: nothing is left */
    int none = open_self(attr, fds[0]);
    for (int turn = 0; turn < 2; turn++) {
        CHECK_OK(ioctl(fds[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
        CHECK_OK(ioctl(fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
        for (int i = 0; i < (turn == 0 ? 10 : 110); i++)
            syscall(SYS_getppid);
        CHECK_OK(ioctl(fds[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
        for (int i = 0; i < 3; i++)
            cycles[i][turn] = value_of(fds[i]);
    }
    nothing = value_of(none);
    CHECK_EQ(cycles[0][0] + cycles[1][0], cycles[2][0]);
    CHECK_EQ(cycles[0][1] + cycles[1][1], cycles[2][1]);
    CHECK_EQ((cycles[1][1] - cycles[1][0]) % 100, 0); /* each call the same */
    CHECK(cycles[1][1] - cycles[1][0] > 100 * 10);
    CHECK_EQ(nothing, 0);
    for (int i = 0; i < 3; i++)
        CHECK_OK(close(fds[i]));
    CHECK_OK(close(none));
    puts("modes");
}

/* ---- The page of an event. */

#define READ_CSR(number)                                         \
    ({                                                           \
        uint64_t csr_value;                                      \
        __asm__ volatile("csrr %0, " #number : "=r"(csr_value)); \
        csr_value;                                               \
    })

static uint64_t read_page(const volatile struct perf_event_mmap_page *page, uint64_t *ret_enabled_ns) {
    uint32_t lock, index;
    uint64_t count, enabled;
    do {
        lock = page->lock;
        __asm__ volatile("" ::: "memory");
        index = page->index;
        count = (uint64_t)page->offset;
        enabled = page->time_enabled;
        uint64_t time = READ_CSR(0xc01), mult = page->time_mult, shift = page->time_shift;
        enabled += page->time_offset + (time >> shift) * mult + (((time & ((UINT64_C(1) << shift) - 1)) * mult) >> shift);
        if (index == 1)
            count += READ_CSR(0xc00);
        else if (index == 3)
            count += READ_CSR(0xc02);
        __asm__ volatile("" ::: "memory");
    } while (page->lock != lock);
    CHECK(index != 0);
    *ret_enabled_ns = enabled;
    return count;
}

static void direct(void) {
    for (int which = 0; which < 3; which++) {
        struct perf_event_attr attr = which == 0 ? instructions() : event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
        attr.exclude_kernel = which != 2;
        attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        int fd = open_self(attr, -1);
        struct perf_event_mmap_page *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
        CHECK(page != MAP_FAILED);
        CHECK_EQ(page->index, 0);
        CHECK_EQ(page->cap_user_rdpmc, 0); /* it is off */
        CHECK_OK(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
        CHECK_EQ(page->cap_user_rdpmc, 1);
        CHECK_EQ(page->cap_user_time, 1);
        CHECK_EQ(page->pmc_width, 64);
        uint64_t values[3], now, enabled_ns, last = 0;
        for (int i = 0; i < 20; i++) {
            mix(100);
            CHECK_EQ(read(fd, values, sizeof values), 24);
            now = read_page(page, &enabled_ns);
            CHECK(values[0] > last && now >= values[0]);
            CHECK(now - values[0] < (which == 2 ? 3000 : 600)); /* what lies between; with the kernel the end of the call */
            CHECK(enabled_ns + 200 >= values[1] && enabled_ns - values[1] + 200 < 5000);
            last = now;
        }
        CHECK_OK(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
        CHECK_EQ(page->index, 0);
        CHECK_EQ(page->offset, (int64_t)value_of(fd));
        CHECK_OK(munmap(page, PAGE));
        CHECK_OK(close(fd));
    }
    /* an event that no counter of user mode shows says so */
    int fd = open_self(event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS), -1);
    struct perf_event_mmap_page *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
    CHECK_EQ(page->cap_user_rdpmc, 0);
    CHECK_EQ(page->index, 0);
    CHECK_OK(munmap(page, PAGE));
    CHECK_OK(close(fd));
    puts("direct");
}

/* ---- Overflow. */

extern const char loop_start[], loop_branch[];
static volatile uint64_t hit_pc, hit_t0;
static volatile int n_hits, hit_code, hit_fd, hit_tid;
static void on_hit(int number, siginfo_t *info, void *context) {
    const ucontext_t *u = context;
    (void)number;
    hit_pc = u->uc_mcontext.__gregs[0];
    hit_t0 = u->uc_mcontext.__gregs[REG_T0];
    hit_code = info->si_code;
    hit_fd = info->si_fd;
    hit_tid = (int)syscall(SYS_gettid);
    n_hits++;
}

/* REFRESH 1: the event stops at its overflow, so the handler is not counted. */
static void overflow_loop(int fd, uint64_t n) {
    register long a0 __asm__("a0") = fd;
    register long a1 __asm__("a1") = PERF_EVENT_IOC_REFRESH;
    register long a2 __asm__("a2") = 1;
    register long a7 __asm__("a7") = SYS_ioctl;
    __asm__ volatile(".globl loop_start, loop_branch\n"
                     "ecall\n"
                     "mv   t0, %[n]\n"
                     "loop_start: addi t0, t0, -1\n"
                     "loop_branch: bnez t0, loop_start\n"
                     : "+&r"(a0)
                     : "r"(a1), "r"(a2), "r"(a7), [n] "r"(n)
                     : "t0", "memory");
    CHECK_EQ(a0, 0);
}

static void overflows(void) {
    struct sigaction action = {.sa_sigaction = on_hit, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(SIGRTMIN + 3, &action, NULL));
    static const uint64_t periods[] = {1, 2, 3, 1000, 1001, 54322, 54323};
    for (int i = 0; i < 7; i++) {
        struct perf_event_attr attr = instructions();
        attr.sample_period = periods[i];
        attr.wakeup_events = 1;
        int fd = open_self(attr, -1);
        struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (int)syscall(SYS_gettid)}, check;
        CHECK_OK(fcntl(fd, F_SETOWN_EX, &owner));
        CHECK_OK(fcntl(fd, F_GETOWN_EX, &check));
        CHECK_EQ(check.type, F_OWNER_TID);
        CHECK_EQ(check.pid, owner.pid);
        CHECK_OK(fcntl(fd, F_SETSIG, SIGRTMIN + 3));
        CHECK_EQ(fcntl(fd, F_GETSIG), SIGRTMIN + 3);
        CHECK_OK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC | O_NONBLOCK));
        n_hits = 0;
        overflow_loop(fd, 60000);
        CHECK_EQ(n_hits, 1);
        /* after mv and k instructions of the loop the next one is the branch if k is odd */
        uint64_t k = periods[i] - 1;
        CHECK_EQ(hit_pc, (uint64_t)(uintptr_t)(k % 2 ? loop_branch : loop_start));
        CHECK_EQ(hit_t0, 60000 - (k + 1) / 2);
        CHECK_EQ(hit_code, POLL_HUP); /* the last that was asked for */
        CHECK_EQ(hit_fd, fd);
        CHECK_EQ(value_of(fd), periods[i]);
        CHECK_OK(close(fd));
    }

    /* branches and loads: the overflow is the event's own instruction */
    struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
    attr.sample_period = 777;
    int fd = open_self(attr, -1);
    CHECK_OK(fcntl(fd, F_SETOWN, getpid()));
    CHECK_OK(fcntl(fd, F_SETSIG, SIGRTMIN + 3));
    CHECK_OK(fcntl(fd, F_SETFL, O_ASYNC));
    n_hits = 0;
    overflow_loop(fd, 60000);
    CHECK_EQ(n_hits, 1);
    CHECK_EQ(hit_pc, (uint64_t)(uintptr_t)loop_start);
    CHECK_EQ(hit_t0, 60000 - 777);
    CHECK_EQ(value_of(fd), 777);
    /* without F_SETSIG it is SIGIO, which tells nothing but its number */
    CHECK_OK(sigaction(SIGIO, &action, NULL));
    CHECK_OK(fcntl(fd, F_SETSIG, 0));
    n_hits = 0;
    overflow_loop(fd, 60000);
    CHECK_EQ(n_hits, 1);
    CHECK_EQ(hit_code, SI_KERNEL);
    CHECK_EQ(value_of(fd), 2 * 777);
    CHECK_OK(close(fd));

    /* SIGTRAP in the thread itself */
    CHECK_OK(sigaction(SIGTRAP, &action, NULL));
    attr = instructions();
    attr.sample_period = 5001;
    attr.sigtrap = attr.remove_on_exec = 1;
    attr.sig_data = 0x1234567890;
    fd = open_self(attr, -1);
    n_hits = 0;
    overflow_loop(fd, 60000);
    CHECK_EQ(n_hits, 1);
    CHECK_EQ(hit_pc, (uint64_t)(uintptr_t)loop_start);
    CHECK_EQ(hit_t0, 60000 - 2500);
    CHECK_EQ(hit_code, 6); /* TRAP_PERF */
    CHECK_OK(close(fd));
    puts("overflows");
}

/* ---- Samples. */

typedef struct sample {
    struct perf_event_header header;
    uint64_t identifier, ip;
    uint32_t pid, tid;
    uint64_t time, address, id, stream_id;
    uint32_t cpu, reserved;
    uint64_t period;
    uint64_t value, read_id; /* PERF_SAMPLE_READ */
    uint64_t n_callers, callers[2];
    uint64_t abi, pc, sp;
    uint64_t n_stack, stack[2], n_there;
} sample;

/* On a detailed core, a store misses after its retirement, so a sample lies behind a later instruction. */
static bool has_late_misses;

extern const char lines_store[], lines_next[], lines_end[];
__attribute__((noinline)) static void walk_lines(char *lines, size_t n_bytes) {
    const char *end = lines + n_bytes;
    uint64_t value = 0;
    __asm__ volatile(".globl lines_store, lines_next, lines_end\n"
                     "lines_store: sd %1, 0(%0)\n"
                     "lines_next: addi %0, %0, 64\n"
                     "   xor  %1, %1, %0\n"
                     "   bne  %0, %2, lines_store\n"
                     "lines_end:\n"
                     : "+r"(lines), "+&r"(value)
                     : "r"(end)
                     : "memory");
}

static void samples(void) {
    enum { PERIOD = 997, TURNS = 20000 };
    struct perf_event_attr attr = instructions();
    attr.sample_period = PERIOD;
    attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
                       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
                       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.read_format = PERF_FORMAT_ID;
    attr.sample_max_stack = 1;
    attr.sample_regs_user = 1 | 1 << 2; /* pc, sp */
    attr.sample_stack_user = 16;
    attr.wakeup_events = 10;
    int fd = open_self(attr, -1);
    uint64_t id, last_time = 0;
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_ID, &id));
    struct perf_event_mmap_page *page = mmap(NULL, 17 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(page != MAP_FAILED);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    CHECK_EQ(poll(&wait, 1, 0), 0);
    count_loop(fd, TURNS);
    CHECK_EQ(poll(&wait, 1, 0), 1);
    CHECK(wait.revents & POLLIN);
    uint64_t n = page->data_head / sizeof(sample);
    CHECK_EQ(page->data_head, n * sizeof(sample));
    CHECK_EQ(n, (2 * TURNS + AROUND) / PERIOD);
    const sample *s = (const sample *)((const char *)page + page->data_offset);
    CHECK_EQ(s[0].header.size, sizeof(sample));
    for (uint64_t i = 0; i < n; i++) {
        CHECK_EQ(s[i].header.type, PERF_RECORD_SAMPLE);
        CHECK_EQ(s[i].header.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
        CHECK_EQ(s[i].identifier, id);
        CHECK_EQ(s[i].id, id);
        CHECK_EQ(s[i].pid, getpid());
        CHECK_EQ(s[i].tid, getpid());
        CHECK(s[i].time > last_time);
        last_time = s[i].time;
        CHECK_EQ(s[i].period, PERIOD);
        CHECK_EQ(s[i].value, (i + 1) * PERIOD); /* at the very instruction */
        CHECK_EQ(s[i].read_id, id);
        CHECK_EQ(s[i].n_callers, 2);
        CHECK_EQ(s[i].callers[0], PERF_CONTEXT_USER);
        CHECK_EQ(s[i].callers[1], s[i].ip);
        CHECK_EQ(s[i].abi, PERF_SAMPLE_REGS_ABI_64);
        CHECK_EQ(s[i].pc, s[i].ip);
        CHECK_EQ(s[i].sp, s[0].sp);
        CHECK_EQ(s[i].n_there, 16);
        CHECK_EQ(s[i].stack[0], *(const uint64_t *)(uintptr_t)s[0].sp);
        CHECK_EQ(s[i].ip == s[0].ip, i % 2 == 0 || s[0].ip == s[1].ip);
    }
    CHECK(s[0].ip != s[1].ip); /* an odd period takes turns between the two instructions */
    page->data_tail = page->data_head;
    CHECK_EQ(poll(&wait, 1, 0), 0); /* all is read */
    count_loop(fd, 1000);
    CHECK(page->data_head > page->data_tail);
    CHECK_EQ(poll(&wait, 1, 0), 0); /* a few more, but not ten */
    CHECK_OK(munmap(page, 17 * PAGE));
    CHECK_OK(close(fd));

    /* misses: each sample lies behind the store that missed, the third of three */
    static char lines[16 * PAGE] __attribute__((aligned(PAGE)));
    memset(lines, 1, sizeof lines);
    attr = event(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_WRITE << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
    attr.sample_period = 3;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ;
    fd = open_self(attr, -1);
    page = mmap(NULL, 9 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(page != MAP_FAILED);
    walk_lines(lines, sizeof lines); /* the second walk finds all pages, and lines that are gone */
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
    walk_lines(lines, sizeof lines);
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
    typedef struct {
        struct perf_event_header header;
        uint64_t ip, value;
    } miss;
    const miss *misses = (const miss *)((const char *)page + page->data_offset);
    n = page->data_head / sizeof(miss);
    CHECK_EQ(n, value_of(fd) / 3);
    CHECK(n >= 100);
    uint64_t n_here = 0;
    for (uint64_t i = 0; i < n; i++) {
        bool is_here = misses[i].ip >= (uint64_t)(uintptr_t)lines_store && misses[i].ip < (uint64_t)(uintptr_t)lines_end;
        CHECK_EQ(misses[i].value, 3 * (i + 1));
        CHECK_EQ(misses[i].ip, is_here && !has_late_misses ? (uint64_t)(uintptr_t)lines_next : misses[i].ip);
        n_here += is_here;
    }
    CHECK(n_here > n / 2);
    CHECK(has_late_misses || misses[n / 2].ip == (uint64_t)(uintptr_t)lines_next);
    CHECK_OK(munmap(page, 9 * PAGE));
    CHECK_OK(close(fd));

    /* a clock: so many ns of this thread apart */
    attr = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    attr.exclude_kernel = 0;
    attr.sample_period = 20000;
    attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
    fd = open_self(attr, -1);
    page = mmap(NULL, 33 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(page != MAP_FAILED);
    count_loop(fd, 1500000);
    uint64_t spent = value_of(fd);
    typedef struct {
        struct perf_event_header header;
        uint64_t time, period;
    } tick;
    const tick *ticks = (const tick *)((const char *)page + page->data_offset);
    n = page->data_head / sizeof(tick);
    CHECK_EQ(n, spent / 20000);
    CHECK(n >= 10);
    for (uint64_t i = 1; i < n; i++) {
        uint64_t apart = ticks[i].time - ticks[i - 1].time;
        CHECK(apart > 19000 && apart < 21000);
        CHECK_EQ(ticks[i].period, 20000);
    }
    CHECK_OK(munmap(page, 33 * PAGE));
    CHECK_OK(close(fd));
    puts("samples");
}

/* ---- What the kernel counts. */

static void *nap(void *argument) {
    struct timespec time = {.tv_nsec = 100000};
    for (int i = 0; i < 7; i++)
        nanosleep(&time, NULL);
    return argument;
}

static void software(void) {
    struct perf_event_attr attr = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    int user = open_self(attr, -1), minor, both;
    attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
    minor = open_self(attr, user);
    attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    attr.exclude_kernel = 0;
    both = open_self(attr, user);
    volatile char *pages = mmap(NULL, 20 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_OK(ioctl(user, PERF_EVENT_IOC_ENABLE, 0));
    for (int i = 0; i < 10; i++)
        pages[i * PAGE] = 1;
    CHECK_EQ(syscall(SYS_getcwd, pages + 10 * PAGE, PAGE) > 0, 1); /* a fault of the kernel's own */
    CHECK_OK(ioctl(user, PERF_EVENT_IOC_DISABLE, 0));
    CHECK_EQ(value_of(user), 10);
    CHECK_EQ(value_of(minor), 10);
    CHECK_EQ(value_of(both), 11);
    CHECK_OK(close(user));
    CHECK_OK(close(minor));
    CHECK_OK(close(both));

    attr = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
    user = open_self(attr, -1);
    attr.exclude_kernel = 0;
    both = open_self(attr, user);
    CHECK_OK(ioctl(user, PERF_EVENT_IOC_ENABLE, 0));
    nap(NULL);
    CHECK_OK(ioctl(user, PERF_EVENT_IOC_DISABLE, 0));
    CHECK_EQ(value_of(user), 0); /* a switch is the kernel's */
    CHECK_EQ(value_of(both), 7);
    CHECK_OK(close(user));
    CHECK_OK(close(both));
    /* a sample for each fault */
    attr = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    attr.sample_period = 1;
    attr.sample_type = PERF_SAMPLE_IP;
    int fd = open_self(attr, -1);
    struct perf_event_mmap_page *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
    for (int i = 11; i < 20; i++)
        pages[i * PAGE] = 1;
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
    CHECK_EQ(page->data_head, 9 * 16);
    CHECK_OK(munmap(page, 2 * PAGE));
    CHECK_OK(close(fd));
    puts("software");
}

/* ---- Threads, processes, programs. */

static void *loop_thread(void *argument) {
    uint64_t n = (uint64_t)(uintptr_t)argument;
    __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b\n" : "+r"(n));
    return NULL;
}

__attribute__((noinline)) static uint64_t in_threads(uint64_t turns, bool is_process) {
    struct perf_event_attr attr = instructions();
    attr.inherit = 1;
    int fd = open_self(attr, -1);
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
    for (int i = 0; i < 3; i++) {
        if (is_process) {
            pid_t pid = fork();
            if (pid == 0) {
                loop_thread((void *)(uintptr_t)turns);
                _exit(0);
            }
            CHECK_EQ(waitpid(pid, NULL, 0), pid);
        } else {
            pthread_t thread;
            CHECK_EQ(pthread_create(&thread, NULL, loop_thread, (void *)(uintptr_t)turns), 0);
            CHECK_EQ(pthread_join(thread, NULL), 0);
        }
    }
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
    uint64_t count = value_of(fd);
    CHECK_OK(close(fd));
    return count;
}

static uint64_t of_program(const char *path) {
    int end[2];
    char byte;
    CHECK_OK(pipe(end));
    pid_t pid = fork();
    if (pid == 0) {
        if (read(end[0], &byte, 1) != 1)
            _exit(1);
        execl(path, path, "loop", (char *)NULL);
        _exit(2);
    }
    struct perf_event_attr attr = instructions();
    attr.enable_on_exec = attr.inherit = 1;
    int fd = open_on(&attr, pid, -1, -1), status;
    CHECK_OK(fd);
    CHECK_EQ(value_of(fd), 0);
    CHECK_EQ(write(end[1], "x", 1), 1);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    uint64_t count = value_of(fd);
    CHECK_OK(close(fd));
    CHECK_OK(close(end[0]));
    CHECK_OK(close(end[1]));
    return count;
}

static void others(void) {
    for (int is_process = 0; is_process < 2; is_process++) {
        for (int i = 0; i < 2; i++) /* the first ones find the C library as it was */
            (void)in_threads(10, is_process);
        uint64_t few = in_threads(1000, is_process), many = in_threads(101000, is_process);
        CHECK_EQ(many - few, 3 * 2 * 100000);
    }
    uint64_t once = of_program("/proc/self/exe"), again = of_program("/proc/self/exe");
    CHECK_EQ(once, again);
    CHECK(once > 2 * 100000);

    /* a thread that is bound to one hart and an event that is bound to another */
    int n_harts = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int there = 0; there < 2 && there < n_harts; there++) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(there, &set);
        CHECK_OK(sched_setaffinity(0, sizeof set, &set));
        struct perf_event_attr attr = instructions();
        attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        int fd = open_on(&attr, 0, 0, -1);
        uint64_t values[3];
        count_loop(fd, 10000);
        CHECK_EQ(read(fd, values, sizeof values), 24);
        CHECK_EQ(values[0], there == 0 ? 20000 + AROUND : 0);
        CHECK(values[1] >= 1000);
        CHECK_EQ(values[2], there == 0 ? values[1] : 0);
        CHECK_OK(close(fd));
        /* any thread on that hart */
        fd = open_on(&attr, -1, there, -1);
        CHECK_OK(fd);
        count_loop(fd, 1000);
        CHECK_EQ(value_of(fd), 2000 + AROUND);
        CHECK_OK(close(fd));
    }
    puts("others");
}

static void files(void) {
    static const char *const texts[][2] = {{"/proc/sys/kernel/perf_event_paranoid", "0\n"},
                                           {"/proc/sys/kernel/perf_event_max_sample_rate", "100000\n"},
                                           {"/sys/bus/event_source/devices/cpu/type", "4\n"},
                                           {"/sys/bus/event_source/devices/cpu/format/event", "config:0-47\n"},
                                           {"/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms", "4\n"},
                                           {"/sys/bus/event_source/devices/software/perf_event_mux_interval_ms", "0\n"},
                                           {"/sys/bus/event_source/devices/software/type", "1\n"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64] = "";
        int fd = open(texts[i][0], O_RDONLY);
        CHECK_OK(fd);
        CHECK_OK(read(fd, text, sizeof text - 1));
        CHECK_EQ(strcmp(text, texts[i][1]), 0);
        CHECK_OK(close(fd));
    }
    char text[64] = "";
    uint64_t selector; /* of the machine's own PMU */
    int named = open("/sys/bus/event_source/devices/cpu/events/branches", O_RDONLY);
    CHECK_OK(named);
    CHECK_OK(read(named, text, sizeof text - 1));
    CHECK_OK(close(named));
    CHECK_EQ(sscanf(text, "event=0x%lx\n", &selector), 1);
    struct perf_event_attr attr = event(PERF_TYPE_RAW, selector);
    int raw = open_on(&attr, 0, -1, -1);
    CHECK_OK(raw);
    count_loop(raw, 1000);
    CHECK_EQ(value_of(raw), 1000);
    CHECK_OK(close(raw));
    static const struct {
        uint32_t type;
        uint64_t config;
        int error;
    } refused[] = {{PERF_TYPE_HARDWARE, 99, EINVAL},
                   {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, ENOENT},
                   {PERF_TYPE_HARDWARE, UINT64_C(77) << 32, ENOENT},
                   {PERF_TYPE_HW_CACHE, 7, EINVAL},
                   {PERF_TYPE_HW_CACHE, 3 << 8, EINVAL},
                   {PERF_TYPE_HW_CACHE, 2 << 16, EINVAL},
                   {PERF_TYPE_HW_CACHE, 6, ENOENT},
                   {PERF_TYPE_RAW, 0, ENOENT},
                   {PERF_TYPE_RAW, 0xffff, ENOENT},
                   {PERF_TYPE_RAW, UINT64_C(1) << 63, ENOENT},
                   {PERF_TYPE_TRACEPOINT, 1, ENOENT},
                   {PERF_TYPE_BREAKPOINT, 0, ENOENT}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        attr = event(refused[i].type, refused[i].config);
        CHECK_FAILS(open_on(&attr, 0, -1, -1), refused[i].error);
    }
    attr = event(PERF_TYPE_HARDWARE, UINT64_C(4) << 32 | PERF_COUNT_HW_INSTRUCTIONS); /* of the PMU named cpu */
    raw = open_on(&attr, 0, -1, -1);
    CHECK_OK(raw);
    CHECK_OK(close(raw));
    puts("files");
}

/* Refused: too many events, rings beyond the limit of locked memory; a damaged ring is harmless. */
static void limits(void) {
    struct perf_event_attr attr = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attr.inherit = 1;
    static int fds[1000];
    for (int i = 0; i < 1000; i++)
        CHECK_OK(fds[i] = open_on(&attr, 0, -1, -1));
    pid_t pids[32];
    int n = 0;
    for (; n < 32; n++) {
        pids[n] = fork();
        if (pids[n] == 0) {
            pause();
            _exit(0);
        }
        if (pids[n] < 0)
            break;
    }
    CHECK_EQ(errno, ENOMEM);
    CHECK_EQ(n, 15); /* 16384 events in all */
    for (int i = 0; i < n; i++) {
        CHECK_OK(kill(pids[i], SIGKILL));
        CHECK_EQ(waitpid(pids[i], NULL, 0), pids[i]);
    }
    for (int i = 0; i < 1000; i++)
        CHECK_OK(close(fds[i]));
    attr.inherit = 0;
    int fd = open_on(&attr, 0, -1, -1);
    CHECK_FAILS(mmap(NULL, (1 + (UINT64_C(1) << 13)) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EPERM);
    CHECK_OK(close(fd));

    attr = instructions();
    attr.sample_period = 50;
    attr.sample_type = PERF_SAMPLE_IP;
    fd = open_self(attr, -1);
    uint64_t *words = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(words != MAP_FAILED);
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < 2 * PAGE / 8; i++)
            words[i] = turn == 0   ? UINT64_MAX
                       : turn == 1 ? UINT64_C(0x8000000000000000)
                       : turn == 2 ? 1
                                   : UINT64_C(0x123456789abcdef) * (uint64_t)i;
        count_loop(fd, 1000);
    }
    CHECK_OK(munmap(words, 2 * PAGE));
    count_loop(fd, 1000); /* nowhere to write to any more */
    CHECK_OK(close(fd));
    puts("limits");
}

int main(int n_args, char **args) {
    if (n_args > 1 && strcmp(args[1], "loop") == 0)
        return loop_thread((void *)100000) != NULL;
    has_late_misses = n_args > 1 && strcmp(args[1], "detailed") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    exact();
    modes();
    direct();
    overflows();
    samples();
    software();
    others();
    files();
    limits();
    return 0;
}
