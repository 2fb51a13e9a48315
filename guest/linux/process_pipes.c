/* SPDX-License-Identifier: MIT
 * Processes connected by pipes, as a shell does it: chains, fan-in, back-pressure through a full
 * pipe, end of file when the last writer goes, SIGPIPE and EPIPE when the last reader goes, and
 * named pipes. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void reap(int want_status) {
    int status = -1;
    CHECK(wait(&status) > 0);
    CHECK_EQ(status, want_status);
}

/* Numbers 1..n go through a chain of processes, each of which adds its place in the chain. */
static void test_chain_of_processes(void) {
    enum { STAGES = 4, N = 2000 };
    int input[2];
    CHECK_OK(pipe(input));
    if (fork() == 0) {
        close(input[0]);
        for (int i = 1; i <= N; i++)
            CHECK_EQ(write(input[1], &i, sizeof i), sizeof i);
        _exit(0);
    }
    int from = input[0];
    close(input[1]);
    for (int stage = 1; stage <= STAGES; stage++) {
        int fds[2];
        CHECK_OK(pipe(fds));
        if (fork() == 0) {
            close(fds[0]);
            CHECK_EQ(dup2(from, 0), 0);
            CHECK_EQ(dup2(fds[1], 10), 10);
            close(from);
            close(fds[1]);
            int value;
            while (read(0, &value, sizeof value) == sizeof value) {
                value += stage;
                CHECK_EQ(write(10, &value, sizeof value), sizeof value);
            }
            _exit(0);
        }
        close(from);
        close(fds[1]);
        from = fds[0];
    }
    long sum = 0;
    int value, n = 0;
    while (read(from, &value, sizeof value) == sizeof value) {
        sum += value;
        n++;
    }
    close(from);
    CHECK_EQ(n, N);
    CHECK_EQ(sum, (long)N * (N + 1) / 2 + (long)N * (1 + 2 + 3 + 4));
    for (int i = 0; i < STAGES + 1; i++)
        reap(0);
    section("chain");
}

/* Writes up to PIPE_BUF are atomic, so records of several writers never mix. */
static void test_writers_share_one_pipe(void) {
    enum { WRITERS = 4, RECORDS = 200 };
    struct record {
        unsigned char who, fill[63];
    } record;
    int fds[2], counts[WRITERS] = {0};
    CHECK_OK(pipe(fds));
    for (int w = 0; w < WRITERS; w++) {
        if (fork() == 0) {
            memset(&record, w, sizeof record);
            for (int i = 0; i < RECORDS; i++)
                CHECK_EQ(write(fds[1], &record, sizeof record), sizeof record);
            _exit(0);
        }
    }
    close(fds[1]);
    ssize_t length;
    while ((length = read(fds[0], &record, sizeof record)) > 0) {
        CHECK_EQ(length, sizeof record);
        for (unsigned i = 0; i < sizeof record.fill; i++)
            CHECK_EQ(record.fill[i], record.who);
        counts[record.who]++;
    }
    close(fds[0]);
    for (int w = 0; w < WRITERS; w++) {
        CHECK_EQ(counts[w], RECORDS);
        reap(0);
    }
    section("fan-in");
}

static void test_full_pipe_blocks_the_writer(void) {
    enum { TOTAL = 300000 };
    int fds[2];
    CHECK_OK(pipe2(fds, O_CLOEXEC));
    if (fork() == 0) {
        static char block[TOTAL];
        for (int i = 0; i < TOTAL; i++)
            block[i] = (char)(i % 251);
        close(fds[0]);
        CHECK_EQ(write(fds[1], block, TOTAL), TOTAL); /* one call, several fillings of the pipe */
        _exit(0);
    }
    close(fds[1]);
    int n = 0;
    char chunk[1000];
    ssize_t length;
    while ((length = read(fds[0], chunk, sizeof chunk)) > 0) {
        for (ssize_t i = 0; i < length; i++, n++)
            CHECK_EQ(chunk[i], (char)(n % 251));
    }
    CHECK_EQ(n, TOTAL);
    close(fds[0]);
    reap(0);
    section("back-pressure");
}

static void test_capacity_and_nonblocking(void) {
    int fds[2], pending = -1;
    char page[4096] = {0};
    CHECK_OK(pipe2(fds, O_NONBLOCK));
    CHECK_FAILS(read(fds[0], page, 1), EAGAIN);
    int n_pages = 0;
    while (write(fds[1], page, sizeof page) == sizeof page)
        n_pages++;
    CHECK_EQ(errno, EAGAIN);
    CHECK_EQ(n_pages, 16); /* 64 KiB, the default */
    CHECK_EQ(fcntl(fds[1], F_GETPIPE_SZ), 65536);
    CHECK_OK(ioctl(fds[0], FIONREAD, &pending));
    CHECK_EQ(pending, 65536);
    CHECK_EQ(read(fds[0], page, sizeof page), sizeof page);
    CHECK_EQ(write(fds[1], page, 100), 100);
    CHECK_FAILS(lseek(fds[0], 0, SEEK_CUR), ESPIPE);
    close(fds[0]);
    close(fds[1]);
    section("capacity");
}

static void test_lost_reader(void) {
    int fds[2], status;
    CHECK_OK(pipe(fds));
    close(fds[0]);
    pid_t pid = fork();
    if (pid == 0) {
        ssize_t n = write(fds[1], "x", 1); /* dies of SIGPIPE */
        _exit((int)n);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(WTERMSIG(status), SIGPIPE);
    signal(SIGPIPE, SIG_IGN);
    CHECK_FAILS(write(fds[1], "x", 1), EPIPE);
    signal(SIGPIPE, SIG_DFL);
    struct pollfd poll_fd = {.fd = fds[1], .events = POLLOUT};
    CHECK_EQ(poll(&poll_fd, 1, 0), 1);
    CHECK(poll_fd.revents & POLLERR);
    close(fds[1]);
    section("lost reader");
}

static void test_named_pipe_connects_strangers(void) {
    unlink("fifo");
    CHECK_OK(mkfifo("fifo", 0600));
    CHECK_FAILS(open("fifo", O_WRONLY | O_NONBLOCK), ENXIO); /* no reader yet */
    if (fork() == 0) {
        int fd = open("fifo", O_WRONLY); /* blocks until the reader opens */
        CHECK_OK(fd);
        CHECK_EQ(write(fd, "through the fifo", 16), 16);
        _exit(0);
    }
    char text[32] = "";
    int fd = open("fifo", O_RDONLY);
    CHECK_OK(fd);
    size_t n = 0;
    ssize_t length;
    while ((length = read(fd, text + n, sizeof text - n)) > 0)
        n += (size_t)length;
    CHECK_EQ(n, 16);
    CHECK(memcmp(text, "through the fifo", 16) == 0);
    close(fd);
    reap(0);
    unlink("fifo");
    section("named pipe");
}

int main(void) {
    test_chain_of_processes();
    test_writers_share_one_pipe();
    test_full_pipe_blocks_the_writer();
    test_capacity_and_nonblocking();
    test_lost_reader();
    test_named_pipe_connects_strangers();
    CHECK_END;
}
