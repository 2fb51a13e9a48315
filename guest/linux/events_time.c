/* SPDX-License-Identifier: MIT
 * Time and the machine: every clock moves forward and agrees with its kin, sleeps last at least as
 * long as asked, and the calls that describe processors, scheduling, limits, memory and the system
 * give coherent answers. */
#include "check.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

static long clock_ns(clockid_t clock) {
    struct timespec t;
    CHECK_OK(clock_gettime(clock, &t));
    CHECK(t.tv_nsec >= 0 && t.tv_nsec < 1000000000 && t.tv_sec >= 0);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void work(void) {
    for (volatile int i = 0; i < 100000; i++)
        ;
}

static void test_clocks_move_forward(void) {
    static const clockid_t clocks[] = {CLOCK_REALTIME,      CLOCK_MONOTONIC,       CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
                                       CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE,   CLOCK_BOOTTIME};
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        struct timespec resolution;
        CHECK_OK(clock_getres(clocks[i], &resolution));
        CHECK(resolution.tv_sec == 0 && resolution.tv_nsec > 0);
        long last = clock_ns(clocks[i]);
        for (int k = 0; k < 100; k++) {
            long now = clock_ns(clocks[i]);
            CHECK(now >= last);
            last = now;
        }
        work();
        CHECK(clock_ns(clocks[i]) >= last);
    }
    CHECK_FAILS(clock_gettime(9999, &(struct timespec){0}), EINVAL);
    struct timeval t;
    CHECK_OK(gettimeofday(&t, NULL));
    long now = clock_ns(CLOCK_REALTIME);
    CHECK(now / 1000 >= t.tv_sec * 1000000 + t.tv_usec && now / 1000000000 - t.tv_sec <= 5);
    CHECK(time(NULL) >= t.tv_sec);
    section("clocks");
}

static void test_sleeps(void) {
    struct timespec ten_ms = {0, 10000000}, until, past = {0, 1}, invalid = {0, 1000000000};
    long before = clock_ns(CLOCK_MONOTONIC);
    CHECK_OK(nanosleep(&ten_ms, NULL));
    CHECK(clock_ns(CLOCK_MONOTONIC) - before >= 10000000);
    CHECK_OK(clock_gettime(CLOCK_MONOTONIC, &until));
    until.tv_nsec += 10000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL), 0);
    CHECK(clock_ns(CLOCK_MONOTONIC) >= until.tv_sec * 1000000000L + until.tv_nsec);
    CHECK_EQ(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL), 0);
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &invalid, NULL), EINVAL);
    before = clock_ns(CLOCK_REALTIME);
    CHECK_OK(usleep(5000));
    CHECK(clock_ns(CLOCK_REALTIME) - before >= 5000000);
    section("sleeps");
}

static void test_processor_time(void) {
    struct rusage before, after;
    struct tms ticks;
    CHECK_OK(getrusage(RUSAGE_SELF, &before));
    long start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start < 20000000)
        work();
    CHECK_OK(getrusage(RUSAGE_SELF, &after));
    long used = (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000L +
                after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec;
    CHECK(used >= 10000);
    CHECK(after.ru_maxrss > 0);
    CHECK(times(&ticks) != (clock_t)-1);
    CHECK(ticks.tms_utime + ticks.tms_stime >= 1);
    start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    usleep(30000);
    CHECK(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start < 20000000); /* asleep is not at work */
    pid_t pid = fork();
    if (pid == 0) {
        while (clock() < CLOCKS_PER_SEC / 50)
            work();
        _exit(0);
    }
    CHECK_EQ(wait4(pid, NULL, 0, &after), pid);
    CHECK(after.ru_utime.tv_sec * 1000000L + after.ru_utime.tv_usec + after.ru_stime.tv_sec * 1000000L + after.ru_stime.tv_usec > 5000);
    CHECK_OK(getrusage(RUSAGE_CHILDREN, &before));
    CHECK(before.ru_utime.tv_sec * 1000000L + before.ru_utime.tv_usec + before.ru_stime.tv_usec > 5000);
    section("processor time");
}

static void test_processors(void) {
    cpu_set_t set, one;
    unsigned cpu = 9999, node = 9999;
    CHECK_OK(sched_getaffinity(0, sizeof set, &set));
    int n = CPU_COUNT(&set);
    CHECK(n >= 1);
    CHECK_EQ(sysconf(_SC_NPROCESSORS_ONLN) >= n, 1);
    int first = 0;
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CHECK_OK(sched_setaffinity(0, sizeof one, &one));
    CHECK_OK(syscall(SYS_getcpu, &cpu, &node, NULL));
    CHECK_EQ(cpu, first);
    CHECK_EQ(sched_getcpu(), first);
    CHECK_OK(sched_getaffinity(0, sizeof one, &one));
    CHECK_EQ(CPU_COUNT(&one), 1);
    CHECK_OK(sched_setaffinity(0, sizeof set, &set));
    CPU_ZERO(&one);
    CHECK_FAILS(sched_setaffinity(0, sizeof one, &one), EINVAL);
    section("processors");
}

static void test_scheduling(void) {
    struct sched_param param = {.sched_priority = 99};
    CHECK_EQ(sched_getscheduler(0), SCHED_OTHER);
    CHECK_OK(sched_getparam(0, &param));
    CHECK_EQ(param.sched_priority, 0);
    CHECK_EQ(sched_get_priority_max(SCHED_FIFO), 99);
    CHECK_EQ(sched_get_priority_min(SCHED_FIFO), 1);
    CHECK_EQ(sched_get_priority_max(SCHED_OTHER), 0);
    CHECK_OK(sched_yield());
    errno = 0;
    int priority = getpriority(PRIO_PROCESS, 0); /* 0 here; an oracle has the one it was started with */
    CHECK_EQ(errno, 0);
    CHECK(priority >= -20 && priority <= 19);
    int lower = priority < 14 ? priority + 5 : 19;
    CHECK_OK(setpriority(PRIO_PROCESS, 0, lower));
    CHECK_EQ(getpriority(PRIO_PROCESS, 0), lower);
    section("scheduling");
}

static void test_limits(void) {
    struct rlimit files, seen;
    CHECK_OK(prlimit(0, RLIMIT_NOFILE, NULL, &files));
    CHECK(files.rlim_cur >= 64 && files.rlim_cur <= files.rlim_max);
    struct rlimit less = {files.rlim_cur / 2, files.rlim_max};
    CHECK_OK(prlimit(0, RLIMIT_NOFILE, &less, &seen));
    CHECK_EQ(seen.rlim_cur, files.rlim_cur);
    CHECK_OK(getrlimit(RLIMIT_NOFILE, &seen));
    CHECK_EQ(seen.rlim_cur, files.rlim_cur / 2);
    less.rlim_cur = files.rlim_max + 1;
    if (files.rlim_max != RLIM_INFINITY)
        CHECK_FAILS(setrlimit(RLIMIT_NOFILE, &less), EINVAL); /* above the hard limit */
    CHECK_FAILS(getrlimit(99, &seen), EINVAL);
    section("limits");
}

static void test_system(void) {
    struct utsname name;
    CHECK_OK(uname(&name));
    CHECK(strcmp(name.sysname, "Linux") == 0);
#ifdef __riscv
    CHECK(strcmp(name.machine, "riscv64") == 0);
#endif
    CHECK(atoi(name.release) >= 4);
    struct sysinfo info;
    CHECK_OK(sysinfo(&info));
    CHECK(info.totalram > 0 && info.freeram <= info.totalram && info.mem_unit > 0);
    CHECK(sysconf(_SC_PHYS_PAGES) > 0);
    char text[16] = "";
    CHECK_OK(prctl(PR_SET_NAME, "a-name-longer-than-fifteen"));
    CHECK_OK(prctl(PR_GET_NAME, text));
    CHECK(strcmp(text, "a-name-longer-t") == 0);
    unsigned char noise[256] = {0}, again[256] = {0};
    CHECK_EQ(getrandom(noise, sizeof noise, 0), sizeof noise);
    CHECK_EQ(getrandom(again, sizeof again, GRND_NONBLOCK), sizeof again);
    CHECK(memcmp(noise, again, sizeof noise) != 0);
    int histogram[2] = {0};
    for (unsigned i = 0; i < 256 * 8; i++)
        histogram[noise[i / 8] >> i % 8 & 1]++;
    CHECK(histogram[0] > 800 && histogram[1] > 800); /* of 2048: ten standard deviations */
    section("system");
}

static void test_barriers_and_sequences(void) {
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (commands >= 0) { /* absent is a legal answer, nonsense is not */
        if (commands & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) {
            CHECK_OK(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
            CHECK_OK(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
        }
        CHECK_FAILS(syscall(SYS_membarrier, 1 << 30, 0, 0), EINVAL);
    } else {
        CHECK_EQ(errno, ENOSYS);
    }
    CHECK_EQ(syscall(SYS_rseq, NULL, 0, 0, 0), -1);
    CHECK(errno == ENOSYS || errno == EINVAL); /* absent, or never with these arguments */
    static int tid = -1;
    CHECK_EQ(syscall(SYS_set_tid_address, &tid), gettid());
    section("barriers");
}

int main(void) {
    test_clocks_move_forward();
    test_sleeps();
    test_processor_time();
    test_processors();
    test_scheduling();
    test_limits();
    test_system();
    test_barriers_and_sequences();
    CHECK_END;
}
