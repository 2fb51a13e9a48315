/* SPDX-License-Identifier: MIT
 * Perf events by the dice: requests, controls, rings full of nonsense, forks, threads and execs in
 * any order, most of them wrong. Nothing may break, and what comes of it is the same on every
 * engine: the sum at the end says so. */
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
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096, MAX_FDS = 24, MAX_MAPS = 8 };
static uint64_t state, sum;
static int fds[MAX_FDS];
static struct {
    uint8_t *bytes;
    size_t n;
} maps[MAX_MAPS];
static volatile int n_signals;

static uint64_t dice(uint64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % n;
}
static void add(uint64_t value) { sum = (sum ^ value) * UINT64_C(0x100000001b3); }
static void on_signal(int number) { n_signals += number; }

static void *work(void *argument) {
    uint64_t n = 1 + (uint64_t)(uintptr_t)argument % 3000;
    __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b\n" : "+r"(n));
    return NULL;
}

static uint64_t any(void) {
    static const uint64_t odd[] = {0, 1, 2, 7, 8, 4095, 4096, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63, INT64_MAX, 1000, 50021};
    return dice(4) == 0 ? state : odd[dice(sizeof odd / sizeof *odd)];
}

static void open_one(int slot) {
    struct perf_event_attr attr = {.type = dice(9) ? (uint32_t)(dice(4) == 2 ? PERF_TYPE_RAW : dice(4)) : (uint32_t)dice(9),
                                   .size = dice(19) ? sizeof attr : (uint32_t)any()};
    attr.config = attr.type == PERF_TYPE_HW_CACHE ? dice(7) | dice(2) << 8 | dice(2) << 16
                  : attr.type == PERF_TYPE_RAW    ? 0x100000 + dice(8) * 256 + dice(90)
                                                  : dice(14);
    if (dice(12) == 0)
        attr.config = any();
    attr.sample_period = dice(2) ? 0 : dice(12) ? 200 + dice(5000) : any() | 64;
    attr.sample_type = dice(2) ? dice(1 << 9) : dice(1 << 25) & ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
    if (dice(9))
        attr.sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
    attr.sample_regs_user = dice(9) ? dice(UINT32_MAX) | 1 : any();
    attr.sample_regs_intr = dice(UINT32_MAX) | 1;
    attr.sample_stack_user = (uint32_t)(dice(9) ? dice(100) * 8 : any());
    attr.sample_max_stack = (uint16_t)dice(300);
    attr.read_format = dice(dice(19) ? 32 : 64);
    uint64_t flags = dice(4) | dice(4) << 5; /* disabled, inherit; exclude_kernel, exclude_hv */
    for (uint64_t n = dice(4); n > 0; n--)
        flags |= UINT64_C(1) << dice(n > 2 && state % 4 == 0 ? 40 : 24);
    memcpy((char *)&attr + 40, &flags, sizeof flags);
    attr.wakeup_events = (uint32_t)dice(20);
    static const int pids[] = {0, 0, 0, 0, -1, 1000, 77};
    int pid = dice(4) ? 0 : pids[dice(7)], cpu = (int)dice(4) - 1 - (int)dice(2);
    int group = dice(4) ? -1 : fds[dice(MAX_FDS)];
    if (fds[slot] >= 0)
        close(fds[slot]);
    fds[slot] = (int)syscall(SYS_perf_event_open, &attr, pid, dice(4) ? -1 : cpu, group, dice(9) ? 8 : dice(32));
    add(fds[slot] >= 0 ? 1 : (uint64_t)errno);
}

static void control(int fd) {
    static const unsigned long requests[] = {PERF_EVENT_IOC_ENABLE,
                                             PERF_EVENT_IOC_DISABLE,
                                             PERF_EVENT_IOC_RESET,
                                             PERF_EVENT_IOC_REFRESH,
                                             PERF_EVENT_IOC_PERIOD,
                                             PERF_EVENT_IOC_SET_OUTPUT,
                                             PERF_EVENT_IOC_SET_FILTER,
                                             PERF_EVENT_IOC_ID,
                                             PERF_EVENT_IOC_PAUSE_OUTPUT,
                                             PERF_EVENT_IOC_ENABLE,
                                             PERF_EVENT_IOC_MODIFY_ATTRIBUTES};
    unsigned long request = requests[dice(11)];
    uint64_t value = dice(8) ? 300 + dice(9000) : any() | 64;
    unsigned long argument = dice(3);
    if (request == PERF_EVENT_IOC_PERIOD || request == PERF_EVENT_IOC_ID || request == PERF_EVENT_IOC_MODIFY_ATTRIBUTES)
        argument = dice(8) ? (unsigned long)&value : (unsigned long)any();
    else if (request == PERF_EVENT_IOC_SET_OUTPUT)
        argument = (unsigned long)fds[dice(MAX_FDS)];
    else if (dice(10) == 0)
        argument = any();
    add(ioctl(fd, request, argument) == 0 ? 1 : (uint64_t)errno);
}

static void map_one(int slot, int fd) {
    if (maps[slot].bytes)
        munmap(maps[slot].bytes, maps[slot].n);
    maps[slot].n = PAGE * (dice(5) ? 1 + (size_t)(1u << dice(5)) : 1 + dice(9));
    void *bytes = mmap(NULL, maps[slot].n, dice(4) ? PROT_READ | PROT_WRITE : PROT_READ, dice(9) ? MAP_SHARED : MAP_PRIVATE, fd,
                       dice(9) ? 0 : (off_t)dice(4) * PAGE);
    maps[slot].bytes = bytes == MAP_FAILED ? NULL : bytes;
    add(maps[slot].bytes ? 1 : (uint64_t)errno);
}

static void look_at(int slot) {
    const uint8_t *bytes = maps[slot].bytes;
    for (size_t i = 0; bytes && i < maps[slot].n; i += 8)
        add(*(const uint64_t *)(const void *)(bytes + i));
}

static void spoil(int slot) { /* of a page that may be written: the kernel says which, so ask it to read into it */
    static uint8_t junk[PAGE];
    for (int i = 0; i < 64; i++)
        junk[dice(PAGE)] = (uint8_t)dice(256);
    int ends[2];
    if (!maps[slot].bytes || pipe(ends) != 0)
        return;
    if (write(ends[1], junk, sizeof junk) == (ssize_t)sizeof junk)
        add((uint64_t)read(ends[0], maps[slot].bytes + dice(maps[slot].n), sizeof junk));
    close(ends[0]);
    close(ends[1]);
}

static void round_of(void) {
    uint64_t values[64];
    int fd = fds[dice(MAX_FDS)], slot = (int)dice(MAX_MAPS);
    pthread_t thread;
    pid_t pid;
    switch (dice(16)) {
    case 0:
    case 1:
    case 2: open_one((int)dice(MAX_FDS)); break;
    case 3:
    case 4: control(fd); break;
    case 5: map_one(slot, fd); break;
    case 6: look_at(slot); break;
    case 7: spoil(slot); break;
    case 8: {
        ssize_t n = read(fd, values, dice(4) ? sizeof values : dice(sizeof values));
        add((uint64_t)n);
        for (ssize_t i = 0; i < n / 8; i++)
            add(values[i]);
        break;
    }
    case 9:
        if (fd >= 0 && dice(2)) {
            struct f_owner_ex owner = {.type = (int)dice(4), .pid = dice(3) ? getpid() : (int)any()};
            add((uint64_t)fcntl(fd, F_SETOWN_EX, &owner));
            add((uint64_t)fcntl(fd, F_SETSIG, (int)dice(2) * SIGUSR1));
            add((uint64_t)fcntl(fd, F_SETFL, (int)dice(2) * O_ASYNC));
        }
        break;
    case 10: add((uint64_t)prctl(PR_SET_NAME, dice(2) ? "a" : "longer name")); break;
    case 11: add((uint64_t)prctl(dice(2) ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE)); break;
    case 12:
        if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)state) == 0)
            pthread_join(thread, NULL);
        break;
    case 13:
        pid = fork();
        if (pid == 0) {
            work((void *)(uintptr_t)state);
            if (dice(4) == 0)
                execl("/proc/self/exe", "perf_random", "0", (char *)NULL);
            _exit(0);
        }
        add(pid > 0 ? 1 : (uint64_t)errno);
        if (pid > 0)
            waitpid(pid, NULL, 0);
        break;
    case 14: {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        add((uint64_t)poll(&wait, 1, 0) << 8 | (uint64_t)wait.revents);
        break;
    }
    default:
        work((void *)(uintptr_t)state);
        sched_yield();
        break;
    }
}

int main(int n_args, char **args) {
    int n_rounds = n_args > 1 ? atoi(args[1]) : 2500;
    state = n_args > 2 ? strtoull(args[2], NULL, 0) : UINT64_C(88172645463325252);
    static const int signals[] = {SIGIO, SIGUSR1, SIGUSR2, SIGTRAP};
    for (size_t i = 0; i < 4; i++)
        signal(signals[i], on_signal);
    memset(fds, -1, sizeof fds);
    for (int i = 0; i < n_rounds; i++)
        round_of();
    add((uint64_t)n_signals);
    printf("%d rounds, sum %016llx\n", n_rounds, (unsigned long long)sum);
    return 0;
}
