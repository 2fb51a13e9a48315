// SPDX-License-Identifier: MIT
// Attacks of programs on Tally, by run.py: one deed for each word. Built by run.py.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
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
                // The second expiration never comes.
                set = (struct itimerspec){.it_value.tv_nsec = 1000, .it_interval.tv_sec = HUGE_S[i]};
                CHECK(timerfd_settime(fd, 0, &set, NULL) == 0);
                spin(10000);
                CHECK(read(fd, &n, sizeof n) == sizeof n && n == 1);
                CHECK(read(fd, &n, sizeof n) == -1 && errno == EAGAIN);
                close(fd);
            }
    CHECK(n_signals == 0);
    catch (SIGUSR1);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < N_HUGE; i++) { // the second expiration never comes
            timer_t timer;
            struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
            struct itimerspec set = {.it_value.tv_nsec = 1000, .it_interval.tv_sec = HUGE_S[i]};
            n_signals = 0;
            CHECK(timer_create(clocks[k], &event, &timer) == 0 && timer_settime(timer, 0, &set, NULL) == 0);
            spin(200000);
            CHECK(n_signals == 1);
            timer_delete(timer);
        }
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

// A CPU timer fires at its time, not at a later check.
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

// Four threads consume a processor timer four times as fast, even if one sometimes sleeps. Other
// threads do not affect a thread's own timer.
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

// ---- Activity that must be stopped.

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

// ---- Growth: until refusal, or long enough to show.

static int send_fd(int to, int fd, const void *bytes, size_t n) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    return sendmsg(to, &message, MSG_DONTWAIT) < 0 ? -1 : 0;
}

// Each socket waits in the other's inbox, and no process holds either.
static int cycles(int n, size_t n_bytes) {
    static char bytes[150000];
    for (int i = 0; i < n; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, i % 2 ? SOCK_STREAM : SOCK_DGRAM, 0, pair))
            return i;
        int is_sent = !send_fd(pair[0], pair[0], bytes, n_bytes) && !send_fd(pair[1], pair[1], bytes, n_bytes);
        close(pair[0]);
        close(pair[1]);
        if (!is_sent)
            return i;
    }
    return n;
}

// Does as cycles(), but each also holds host files, a host folder and an epoll that watches one of
// the two. Each open file of the host is a descriptor of the host.
static int host_cycles(int n, const char *path) {
    for (int i = 0; i < n; i++) {
        int pair[2], held[8], n_held = 0;
        if (socketpair(AF_UNIX, i % 2 ? SOCK_STREAM : SOCK_DGRAM, 0, pair))
            return i;
        struct epoll_event event = {.events = EPOLLIN};
        held[n_held++] = epoll_create1(0);
        bool is_fine = held[0] >= 0 && epoll_ctl(held[0], EPOLL_CTL_ADD, pair[0], &event) == 0;
        held[n_held++] = open(".", O_RDONLY | O_DIRECTORY);
        while (n_held < 8)
            held[n_held++] = open(path, O_RDONLY);
        for (int k = 0; k < n_held; k++) {
            is_fine = is_fine && held[k] >= 0 && send_fd(pair[0], held[k], "", 1) == 0;
            close(held[k]);
        }
        is_fine = is_fine && send_fd(pair[0], pair[0], "", 1) == 0 && send_fd(pair[1], pair[1], "", 1) == 0;
        close(pair[0]);
        close(pair[1]);
        if (!is_fine)
            return i;
    }
    return n;
}

// A socket in transit to a live receiver, directly or through another socket in transit, is no
// garbage.
static int passed(void) {
    int way[2], inner[2], talk[2], got = -1;
    char byte = 0;
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, way) && !socketpair(AF_UNIX, SOCK_DGRAM, 0, inner) &&
          !socketpair(AF_UNIX, SOCK_STREAM, 0, talk));
    CHECK(send_fd(inner[0], talk[0], "x", 1) == 0 && send_fd(way[0], inner[1], "y", 1) == 0);
    close(inner[0]);
    close(inner[1]);
    close(talk[0]);
    CHECK(cycles(3000, 10) == 3000);
    for (int i = 0; i < 2; i++) {
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec part = {.iov_base = &byte, .iov_len = 1};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        CHECK(recvmsg(i ? got : way[1], &message, 0) == 1 && CMSG_FIRSTHDR(&message));
        memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
    }
    CHECK(write(got, "hello", 5) == 5 && read(talk[1], &byte, 1) == 1 && byte == 'h');
    return 0;
}

// Runs in a child that keeps its memory and files; limits of the child are new.
static bool keep(bool (*more)(int)) {
    int ends[2];
    char byte = 'n';
    if (pipe(ends))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        int n = 0;
        while (n < 500 && more(n))
            n++;
        byte = n == 500 ? 'y' : 'n';
        if (write(ends[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    close(ends[1]);
    bool is_more = pid > 0 && read(ends[0], &byte, 1) == 1 && byte == 'y';
    close(ends[0]);
    return is_more;
}

static bool more_pipes(int n) {
    static char bytes[65536];
    int ends[2];
    (void)n;
    return pipe2(ends, O_NONBLOCK) == 0 && write(ends[1], bytes, sizeof bytes) > 0;
}

static bool more_tables(int n) {
    int fd = memfd_create("sparse", 0);
    return n < 0 || (fd >= 0 && pwrite(fd, "", 1, (INT64_C(1) << 39)) == 1);
}

static bool more_texts(int n) {
    char bytes[16];
    int fd = open("/proc/self/maps", O_RDONLY);
    return n < 0 || (fd >= 0 && read(fd, bytes, sizeof bytes) > 0);
}

static bool more_signals(int n) {
    for (int i = 0; i < 10 && n < 410; i++)
        sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}); // more than fit are lost
    return true;
}

static bool more_timers(int n) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    (void)n;
    return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

static bool more_files(int n) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", getpid());
    return n < 0 || open(path, O_RDONLY) >= 0;
}

static int grow(const char *what) {
    struct rlimit64 files = {4096, 4096};
    volatile int n = 0;
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &files, NULL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    if (!strcmp(what, "cycles")) {
        CHECK(cycles(4000, 100000) == 4000); // collected
    } else if (!strcmp(what, "descriptors")) {
        n = host_cycles(3000, "guest");
        CHECK(n == 3000);
    } else if (!strcmp(what, "letters")) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
        for (; n < 2500000 && send(pair[0], "", 0, MSG_DONTWAIT) == 0; n++)
            ;
    } else if (!strcmp(what, "locks")) {
        int fd = memfd_create("locks", 0);
        struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
        for (; n < 3500000 && fcntl(fd, F_SETLK, &lock) == 0; n++)
            lock.l_start += 2;
    } else if (!strcmp(what, "zombies")) {
        for (pid_t pid; n < 30000 && (pid = vfork()) >= 0; n++)
            if (pid == 0)
                _exit(0);
    } else if (!strcmp(what, "areas")) {
        for (int i = 0; i < 65000; i++)
            if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
                break;
        for (pid_t pid; n < 20 && (pid = fork()) >= 0; n++)
            if (pid == 0)
                pause();
    } else if (!strcmp(what, "watches")) {
        int fds[1000], epolls[1500];
        for (int i = 0; i < 1000; i++)
            fds[i] = eventfd(0, 0);
        for (bool is_more = true; is_more && n < 1500; n++) {
            epolls[n] = epoll_create1(0);
            for (int i = 0; i < 1000 && is_more; i++) {
                struct epoll_event event = {.events = EPOLLIN};
                is_more = epoll_ctl(epolls[n], EPOLL_CTL_ADD, fds[i], &event) == 0;
            }
        }
    } else if (!strcmp(what, "names")) {
        for (; n < 300000; n++) {
            char name[256];
            memset(name, 'x', sizeof name);
            snprintf(name, sizeof name, "/dev/shm/%0200d", n);
            int fd = open(name, O_CREAT | O_RDWR, 0600);
            if (fd < 0)
                break;
            close(fd);
        }
    } else if (!strcmp(what, "pipes")) {
        for (; n < 12 && keep(more_pipes); n++)
            ;
    } else if (!strcmp(what, "tables")) {
        for (; n < 8 && more_tables(n); n++)
            ;
    } else if (!strcmp(what, "texts")) {
        for (int i = 0; i < 15000; i++)
            mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (; n < 400 && more_texts(n); n++)
            ;
    } else if (!strcmp(what, "signals")) {
        for (; n < 60 && keep(more_signals); n++)
            ;
    } else if (!strcmp(what, "timers")) {
        for (; n < 1500 && keep(more_timers); n++)
            ;
    } else if (!strcmp(what, "files")) {
        for (; n < 1500 && keep(more_files); n++)
            ;
    } else {
        return 2;
    }
    printf("%d\n", n);
    fflush(stdout);
    _exit(0); // the first process: everybody ends
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
    if (!strcmp(how, "nonblock")) { // no peer exists
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
    CHECK(fd >= 0 && write(1, "open\n", 5) == 5);
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
    if (!strcmp(deed, "passed"))
        return passed();
    if (!strcmp(deed, "grow"))
        return grow(how);
    if (!strcmp(deed, "copy"))
        return copy(how);
    if (!strcmp(deed, "fifo"))
        return fifo(how, path);
    fprintf(stderr, "no deed %s\n", deed);
    return 2;
}
