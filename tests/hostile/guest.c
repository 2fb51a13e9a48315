// SPDX-License-Identifier: MIT
// What run.py lets programs do to Tally: one deed for each word. Built by run.py.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const long HUGE_S[] = {INT64_MAX, INT64_MAX / 1000000000, 18446744074, 9223372037, 4611686019, 1000000000000};
enum { N_HUGE = sizeof HUGE_S / sizeof *HUGE_S };

static volatile sig_atomic_t n_signals;
static void count(int number) { n_signals += number != 0; }

static void catch (int number) {
    struct sigaction action = {.sa_handler = count};
    sigaction(number, &action, NULL);
}

static int64_t cpu_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void spin(uint64_t rounds) {
    for (; rounds > 0; rounds--)
        __asm__ volatile("");
}

static void ready(void) {
    if (write(1, "ready\n", 6) != 6)
        _exit(90);
}

#define CHECK(condition)                                            \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            exit(1);                                                \
        }                                                           \
    } while (0)

// ---- Time.

// Timers that never expire: set, asked, and outlived.
static int huge_timers(void) {
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++)
        for (int i = 0; i < N_HUGE; i++) {
            struct itimerval set = {.it_value.tv_sec = HUGE_S[i], .it_interval.tv_sec = HUGE_S[N_HUGE - 1 - i]}, got;
            CHECK(setitimer((__itimer_which_t)which, &set, NULL) == 0);
            spin(100000);
            CHECK(getitimer((__itimer_which_t)which, &got) == 0 && got.it_value.tv_sec >= 1000000000);
        }
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < N_HUGE; i++)
            for (int is_absolute = 0; is_absolute < 2; is_absolute++) {
                timer_t timer;
                struct itimerspec set = {.it_value.tv_sec = HUGE_S[i], .it_interval.tv_sec = HUGE_S[i]};
                CHECK(timer_create(clocks[k], NULL, &timer) == 0);
                CHECK(timer_settime(timer, is_absolute ? TIMER_ABSTIME : 0, &set, NULL) == 0);
                spin(1000);
                CHECK(timer_gettime(timer, &set) == 0 && set.it_value.tv_sec >= 1000000000);
                timer_delete(timer);
                if (k > 1)
                    continue;
                int fd = timerfd_create(clocks[k], TFD_NONBLOCK);
                uint64_t n;
                set = (struct itimerspec){.it_value.tv_sec = HUGE_S[i], .it_interval.tv_sec = HUGE_S[i]};
                CHECK(timerfd_settime(fd, is_absolute ? TFD_TIMER_ABSTIME : 0, &set, NULL) == 0);
                CHECK(read(fd, &n, sizeof n) == -1 && errno == EAGAIN);
                set = (struct itimerspec){.it_value.tv_nsec = 1000, .it_interval.tv_sec = HUGE_S[i]}; // the second one never comes
                CHECK(timerfd_settime(fd, 0, &set, NULL) == 0);
                spin(10000);
                CHECK(read(fd, &n, sizeof n) == sizeof n && n == 1);
                CHECK(read(fd, &n, sizeof n) == -1 && errno == EAGAIN);
                close(fd);
            }
    CHECK(n_signals == 0);
    return 0;
}

// Waits with a timeout beyond all time last until the alarm.
static int huge_waits(void) {
    int sockets[2];
    struct pollfd p;
    struct epoll_event event;
    uint32_t word = 0;
    catch (SIGALRM);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    p = (struct pollfd){.fd = sockets[0], .events = POLLIN};
    int epoll = epoll_create1(0);
    for (int i = 0; i < N_HUGE; i++)
        for (int how = 0; how < 7; how++) {
            struct timespec time = {.tv_sec = HUGE_S[i], .tv_nsec = 999999999};
            struct timeval tv = {.tv_sec = HUGE_S[i], .tv_usec = 999999};
            int before = n_signals;
            long result = 0;
            char byte;
            alarm(1);
            switch (how) {
            case 0: result = nanosleep(&time, NULL); break;
            case 1: result = ppoll(&p, 1, &time, NULL); break;
            case 2: result = pselect(0, NULL, NULL, NULL, &time, NULL); break;
            case 3: result = syscall(SYS_futex, &word, 0, 0, &time, NULL, 0); break;
            case 4: result = syscall(441, epoll, &event, 1, &time, NULL, 8); break;
            case 5:
                CHECK(setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0);
                result = recv(sockets[0], &byte, 1, 0);
                break;
            case 6: result = clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL) ? (errno = EINTR, -1) : 0; break;
            }
            CHECK(result == -1 && errno == EINTR);
            CHECK(n_signals == before + 1);
        }
    return 0;
}

// A CPU timer goes off when its time has come, not at some later look.
static int exact_timers(void) {
    static const clockid_t clocks[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
    catch (SIGUSR1);
    for (int k = 0; k < 2; k++)
        for (int64_t wanted_ns = 5000; wanted_ns < 3000000; wanted_ns = wanted_ns * 7 / 3) {
            timer_t timer;
            struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
            struct itimerspec set = {.it_value.tv_nsec = wanted_ns};
            CHECK(timer_create(clocks[k], &event, &timer) == 0);
            n_signals = 0;
            int64_t before = cpu_ns(clocks[k]);
            CHECK(timer_settime(timer, 0, &set, NULL) == 0);
            while (!n_signals)
                ;
            int64_t took = cpu_ns(clocks[k]) - before;
            if (took < wanted_ns || took > wanted_ns + 20000) {
                fprintf(stderr, "a timer of %ld ns went off after %ld ns\n", (long)wanted_ns, (long)took);
                return 1;
            }
            timer_delete(timer);
        }
    return 0;
}

static void *burn(void *argument) {
    while (!n_signals)
        ;
    return argument;
}

// Four threads use up a processor timer four times as fast, whoever of them sleeps now and then; a thread's own is not touched by others.
static int shared_timers(void) {
    pthread_t threads[3];
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec set = {.it_value.tv_nsec = 2000000};
    catch (SIGUSR1);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, burn, NULL);
    int64_t cpu = cpu_ns(CLOCK_PROCESS_CPUTIME_ID), real = cpu_ns(CLOCK_MONOTONIC);
    CHECK(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0 && timer_settime(timer, 0, &set, NULL) == 0);
    while (!n_signals)
        ;
    cpu = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    real = cpu_ns(CLOCK_MONOTONIC) - real;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(cpu >= 2000000 && cpu < 2060000 + 4 * 50000);
    CHECK(real < 800000);
    return 0;
}

static int asleep_with_timer(const char *kind) {
    struct itimerval set = {.it_value.tv_usec = 1000, .it_interval.tv_usec = 1000};
    timer_t timer;
    struct itimerspec spec = {.it_value.tv_nsec = 1000000};
    if (!strcmp(kind, "prof"))
        setitimer(ITIMER_PROF, &set, NULL);
    else if (!strcmp(kind, "virtual"))
        setitimer(ITIMER_VIRTUAL, &set, NULL);
    else if (timer_create(!strcmp(kind, "thread") ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, NULL, &timer) ||
             timer_settime(timer, 0, &spec, NULL))
        return 1;
    return pause();
}

static int long_sleeps(void) {
    struct timespec time = {.tv_sec = 1000000000};
    for (int i = 0; i < 40; i++) {
        struct timespec now;
        int64_t before = cpu_ns(CLOCK_MONOTONIC);
        nanosleep(&time, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        CHECK(cpu_ns(CLOCK_MONOTONIC) > before);
    }
    return 0;
}

// ---- What must be stopped.

static sigjmp_buf back;
static void jump(int number) { siglongjmp(back, number); }

static int busy(const char *how) {
    static char page[65536];
    ready();
    if (!strcmp(how, "calls"))
        for (;;)
            syscall(SYS_getppid);
    if (!strcmp(how, "faults"))
        for (size_t n = 4096;;) {
            char *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *at = 1;
            munmap(at, n);
        }
    if (!strcmp(how, "traps")) {
        signal(SIGILL, jump);
        sigsetjmp(back, 1);
        __asm__ volatile("unimp");
    }
    if (!strcmp(how, "zeros")) {
        int fd = open("/dev/zero", O_RDONLY);
        size_t n = 96 << 20;
        char *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (;;)
            if (read(fd, at, n) != (ssize_t)n)
                return 1;
    }
    if (!strcmp(how, "random")) {
        size_t n = 96 << 20;
        char *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (;;)
            syscall(SYS_getrandom, at, n, 0);
    }
    if (!strcmp(how, "populate"))
        for (size_t n = 96 << 20;;) {
            char *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
            munmap(at, n);
        }
    if (!strcmp(how, "ticks")) { // everybody sleeps, simulated time runs
        struct itimerval set = {.it_value.tv_usec = 10, .it_interval.tv_usec = 10};
        signal(SIGALRM, SIG_IGN);
        setitimer(ITIMER_REAL, &set, NULL);
        for (;;)
            pause();
    }
    if (!strcmp(how, "sleeps"))
        for (;;) {
            struct timespec time = {.tv_nsec = 1000};
            nanosleep(&time, NULL);
        }
    if (!strcmp(how, "forks"))
        for (;;) {
            pid_t pid = fork();
            if (pid == 0)
                _exit(0);
            waitpid(pid, NULL, 0);
        }
    if (!strcmp(how, "input"))
        for (char byte; read(0, &byte, 1) == 1;)
            ;
    if (!strcmp(how, "output"))
        while (write(1, page, sizeof page) > 0)
            ;
    if (!strcmp(how, "sum"))
        spin(UINT64_MAX);
    return 1;
}

// ---- Areas and locks.

static int many_areas(void) {
    enum { N = 65400 };
    size_t n_bytes = 4096;
    for (int i = 0; i < N; i++) { // neighbors that differ
        char *at = mmap(NULL, n_bytes, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(at != MAP_FAILED);
    }
    return 0;
}

static int many_locks(void) {
    enum { N = 60000 };
    int fd = memfd_create("locks", 0);
    for (int i = 0; i < N; i++) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * i, .l_len = 1};
        CHECK(fcntl(fd, F_SETLK, &lock) == 0);
    }
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < N; i++) {
            struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 2 * i + 1, .l_len = 1};
            CHECK(fcntl(fd, F_SETLK, &lock) == 0);
            lock.l_start--;
            CHECK(fcntl(fd, F_SETLK, &lock) == -1 && errno == EAGAIN);
        }
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    struct flock all = {.l_type = F_UNLCK};
    CHECK(fcntl(fd, F_SETLK, &all) == 0);
    return 0;
}

// ---- Named pipes of the host.

static volatile int n_turns;
static void *turn(void *argument) {
    for (;;) {
        struct timespec time = {.tv_nsec = 1000000};
        nanosleep(&time, NULL);
        n_turns++;
    }
    return argument;
}

static int fifo(const char *how, const char *path) {
    pthread_t thread;
    char bytes[64];
    if (!strcmp(how, "nonblock")) { // nobody is there
        int fd = open(path, O_RDONLY | O_NONBLOCK);
        CHECK(fd >= 0 && fcntl(fd, F_GETFL) & O_NONBLOCK);
        CHECK(read(fd, bytes, sizeof bytes) == 0);
        close(fd);
        CHECK(open(path, O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);
        int both = open(path, O_RDWR | O_NONBLOCK);
        CHECK(both >= 0);
        CHECK(read(both, bytes, sizeof bytes) == -1 && errno == EAGAIN);
        CHECK(write(both, "ab", 2) == 2);
        struct pollfd p = {.fd = both, .events = POLLIN};
        CHECK(poll(&p, 1, 0) == 1 && p.revents & POLLIN);
        CHECK(read(both, bytes, sizeof bytes) == 2);
        return 0;
    }
    if (!strcmp(how, "signal")) { // a signal ends the wait for a partner, and the wait for bytes
        catch (SIGALRM);
        alarm(1);
        CHECK(open(path, O_RDONLY) == -1 && errno == EINTR);
        alarm(1);
        CHECK(open(path, O_WRONLY) == -1 && errno == EINTR);
        int fd = open(path, O_RDWR);
        alarm(1);
        CHECK(read(fd, bytes, sizeof bytes) == -1 && errno == EINTR);
        CHECK(n_signals == 3);
        return 0;
    }
    if (!strcmp(how, "threads")) // the others go on
        pthread_create(&thread, NULL, turn, NULL);
    ready();
    if (!strcmp(how, "write")) {
        int fd = open(path, O_WRONLY);
        CHECK(fd >= 0 && write(fd, "from the program\n", 17) == 17);
        return 0;
    }
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;)
        CHECK(write(1, bytes, (size_t)n) == n);
    if (!strcmp(how, "threads"))
        CHECK(n_turns > 3);
    return 0;
}

static int copy(const char *path) {
    char bytes[4096];
    FILE *file = fopen(path, "r");
    CHECK(file);
    printf("%s\n", path);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
        fwrite(bytes, 1, n, stdout);
    return fclose(file);
}

int main(int argc, char **argv) {
    const char *deed = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "", *path = argc > 3 ? argv[3] : "";
    if (!strcmp(deed, "huge_timers"))
        return huge_timers();
    if (!strcmp(deed, "huge_waits"))
        return huge_waits();
    if (!strcmp(deed, "exact_timers"))
        return exact_timers();
    if (!strcmp(deed, "shared_timers"))
        return shared_timers();
    if (!strcmp(deed, "asleep"))
        return asleep_with_timer(how);
    if (!strcmp(deed, "long_sleeps"))
        return long_sleeps();
    if (!strcmp(deed, "busy"))
        return busy(how);
    if (!strcmp(deed, "many_areas"))
        return many_areas();
    if (!strcmp(deed, "many_locks"))
        return many_locks();
    if (!strcmp(deed, "copy"))
        return copy(how);
    if (!strcmp(deed, "fifo"))
        return fifo(how, path);
    fprintf(stderr, "no deed %s\n", deed);
    return 2;
}
