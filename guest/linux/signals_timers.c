/* SPDX-License-Identifier: MIT
 * Signals that time sends: alarm, the three interval timers, POSIX timers with values, periods,
 * overruns and absolute times, and timers across fork. Nothing here depends on how fast the program
 * runs, only that time passes. */
#include "check.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t n_ticks, last_code, last_value;

static void on_tick(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    n_ticks++;
    last_code = info->si_code;
    last_value = info->si_value.sival_int;
}

static void install(int number) {
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO};
    CHECK_OK(sigaction(number, &action, NULL));
}

static long now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void wait_for_ticks(int n) {
    sigset_t none, alarm_set, old;
    sigemptyset(&none);
    sigemptyset(&alarm_set);
    sigaddset(&alarm_set, SIGALRM);
    CHECK_OK(sigprocmask(SIG_BLOCK, &alarm_set, &old));
    while (n_ticks < n)
        sigsuspend(&none);
    CHECK_OK(sigprocmask(SIG_SETMASK, &old, NULL));
}

static void test_alarm(void) {
    n_ticks = 0;
    CHECK_EQ(alarm(100), 0);
    CHECK_EQ(alarm(1), 100); /* replaces, tells what remained */
    long before = now_ns(CLOCK_MONOTONIC);
    wait_for_ticks(1);
    CHECK(now_ns(CLOCK_MONOTONIC) - before >= 900000000);
    CHECK_EQ(last_code, SI_KERNEL);
    alarm(50);
    CHECK_EQ(alarm(0), 50);
    section("alarm");
}

static void test_interval_timer_repeats(void) {
    struct itimerval period = {{0, 5000}, {0, 10000}}, left;
    n_ticks = 0;
    long before = now_ns(CLOCK_MONOTONIC);
    CHECK_OK(setitimer(ITIMER_REAL, &period, NULL));
    wait_for_ticks(5);
    CHECK(now_ns(CLOCK_MONOTONIC) - before >= 10000000 + 4 * 5000000);
    CHECK_OK(getitimer(ITIMER_REAL, &left));
    CHECK_EQ(left.it_interval.tv_usec, 5000);
    CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_usec <= 5000);
    struct itimerval stop = {{0, 0}, {0, 0}};
    CHECK_OK(setitimer(ITIMER_REAL, &stop, &left));
    CHECK_EQ(left.it_interval.tv_usec, 5000);
    CHECK_OK(getitimer(ITIMER_REAL, &left));
    CHECK_EQ(left.it_value.tv_usec + left.it_value.tv_sec, 0);
    section("interval timer");
}

static void test_cpu_time_timer(void) {
    struct itimerval once = {{0, 0}, {0, 20000}};
    n_ticks = 0;
    install(SIGVTALRM);
    install(SIGPROF);
    CHECK_OK(setitimer(ITIMER_VIRTUAL, &once, NULL));
    for (volatile unsigned long i = 0; n_ticks == 0; i++)
        ;
    CHECK_EQ(n_ticks, 1);
    CHECK_OK(setitimer(ITIMER_PROF, &once, NULL));
    for (volatile unsigned long i = 0; n_ticks == 1; i++)
        ;
    CHECK(now_ns(CLOCK_PROCESS_CPUTIME_ID) >= 30000000); /* the two used 20 ms each, to a scheduler tick or so */
    section("processor time timers");
}

static timer_t new_timer(clockid_t clock, int value) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_int = value};
    timer_t timer;
    CHECK_OK(timer_create(clock, &event, &timer));
    return timer;
}

static void test_posix_timer(void) {
    timer_t timer = new_timer(CLOCK_MONOTONIC, 4711);
    struct itimerspec when = {{0, 0}, {0, 10000000}}, left;
    n_ticks = 0;
    CHECK_OK(timer_settime(timer, 0, &when, NULL));
    wait_for_ticks(1);
    CHECK_EQ(last_code, SI_TIMER);
    CHECK_EQ(last_value, 4711);
    CHECK_OK(timer_gettime(timer, &left));
    CHECK_EQ(left.it_value.tv_nsec + left.it_value.tv_sec, 0); /* one shot: disarmed */
    long until = now_ns(CLOCK_MONOTONIC) + 15000000;
    when.it_value = (struct timespec){until / 1000000000, until % 1000000000};
    CHECK_OK(timer_settime(timer, TIMER_ABSTIME, &when, NULL));
    wait_for_ticks(2);
    CHECK(now_ns(CLOCK_MONOTONIC) >= until);
    when = (struct itimerspec){{0, 0}, {1000, 0}};
    CHECK_OK(timer_settime(timer, 0, &when, NULL));
    CHECK_OK(timer_settime(timer, 0, &when, &left));
    CHECK(left.it_value.tv_sec >= 990 && left.it_value.tv_sec <= 1000);
    CHECK_OK(timer_delete(timer));
    CHECK_FAILS(timer_delete(timer), EINVAL);
    section("POSIX timer");
}

static void test_overruns_are_counted(void) {
    timer_t timer = new_timer(CLOCK_MONOTONIC, 1);
    struct itimerspec period = {{0, 1000000}, {0, 1000000}};
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    CHECK_OK(sigprocmask(SIG_BLOCK, &set, &old));
    CHECK_OK(timer_settime(timer, 0, &period, NULL));
    struct timespec nap = {0, 30000000};
    while (nanosleep(&nap, &nap) != 0)
        ;
    siginfo_t info;
    CHECK_EQ(sigwaitinfo(&set, &info), SIGALRM); /* one signal stands for some thirty periods */
    int overrun = timer_getoverrun(timer);
    CHECK(overrun >= 20);
    CHECK_OK(timer_delete(timer));
    struct timespec none = {0, 0};
    sigtimedwait(&set, &info, &none);
    CHECK_OK(sigprocmask(SIG_SETMASK, &old, NULL));
    section("overruns");
}

static void test_two_timers_fire_in_time_order(void) {
    timer_t late = new_timer(CLOCK_MONOTONIC, 2), early = new_timer(CLOCK_REALTIME, 1);
    struct itimerspec in_40_ms = {{0, 0}, {0, 40000000}}, in_10_ms = {{0, 0}, {0, 10000000}};
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    CHECK_OK(sigprocmask(SIG_BLOCK, &set, NULL));
    CHECK_OK(timer_settime(late, 0, &in_40_ms, NULL));
    CHECK_OK(timer_settime(early, 0, &in_10_ms, NULL));
    CHECK_EQ(sigwaitinfo(&set, &info), SIGALRM);
    CHECK_EQ(info.si_value.sival_int, 1);
    CHECK_EQ(sigwaitinfo(&set, &info), SIGALRM);
    CHECK_EQ(info.si_value.sival_int, 2);
    CHECK_OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
    timer_delete(late);
    timer_delete(early);
    section("order");
}

static void test_fork_clears_timers(void) {
    struct itimerval later = {{0, 0}, {1000, 0}}, left;
    int status;
    CHECK_OK(setitimer(ITIMER_REAL, &later, NULL));
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_OK(getitimer(ITIMER_REAL, &left));
        CHECK_EQ(left.it_value.tv_sec, 0);
        CHECK_EQ(alarm(0), 0);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    CHECK(alarm(0) >= 990);
    section("timers and fork");
}

int main(void) {
    install(SIGALRM);
    test_alarm();
    test_interval_timer_repeats();
    test_cpu_time_timer();
    test_posix_timer();
    test_overruns_are_counted();
    test_two_timers_fire_in_time_order();
    test_fork_clears_timers();
    CHECK_END;
}
