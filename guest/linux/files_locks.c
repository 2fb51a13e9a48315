/* SPDX-License-Identifier: MIT
 *
 * Locks on files between processes: flock (belongs to the open file), fcntl record locks (belong to the process), and
 * open-file-description locks; waiting, testing, and release by close or death. */
#include "check.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

static struct flock range(short type, off_t start, off_t length) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
}

/* Runs a function in a child and returns its exit code. */
static int in_child(int (*body)(int fd), int fd) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(fd));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int try_flock_new(int unused) {
    (void)unused;
    int fd = open("locked", O_RDWR);
    return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? 1 : 2;
}
static int try_flock_inherited(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : 1; }
static int try_flock_shared(int unused) {
    (void)unused;
    return flock(open("locked", O_RDONLY), LOCK_SH | LOCK_NB) == 0 ? 0 : 1;
}

static void test_flock(void) {
    int fd = open("locked", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(fd);
    CHECK_OK(flock(fd, LOCK_EX));
    CHECK_EQ(in_child(try_flock_new, -1), 1);
    CHECK_EQ(in_child(try_flock_inherited, fd), 0); /* the same open file: no conflict */
    CHECK_OK(flock(fd, LOCK_SH));
    CHECK_EQ(in_child(try_flock_shared, -1), 0);
    CHECK_EQ(in_child(try_flock_new, -1), 1);
    CHECK_OK(flock(fd, LOCK_UN));
    CHECK_EQ(in_child(try_flock_new, -1), 0);
    close(fd);
    section("flock");
}

static int try_record(int unused) {
    (void)unused;
    int fd = open("locked", O_RDWR), bits = 0;
    struct flock a = range(F_WRLCK, 0, 10), b = range(F_WRLCK, 20, 10), test = range(F_WRLCK, 0, 100);
    CHECK_OK(fcntl(fd, F_GETLK, &test));
    if (test.l_type != F_UNLCK && test.l_pid == getppid() && test.l_start == 0 && test.l_len == 10)
        bits |= 4;
    if (fcntl(fd, F_SETLK, &a) != 0 && (errno == EAGAIN || errno == EACCES))
        bits |= 1;
    if (fcntl(fd, F_SETLK, &b) != 0)
        bits |= 2;
    return bits;
}

static void test_record_locks(void) {
    int fd = open("locked", O_RDWR);
    struct flock lock = range(F_WRLCK, 0, 10), part = range(F_UNLCK, 0, 10);
    CHECK_OK(fcntl(fd, F_SETLK, &lock));
    CHECK_EQ(in_child(try_record, -1), 1 | 4); /* the child inherits no lock; the other range is free */
    int other = open("locked", O_RDONLY);
    close(other); /* closing any descriptor of the file drops the process's locks */
    CHECK_EQ(in_child(try_record, -1), 0);
    CHECK_OK(fcntl(fd, F_SETLK, &lock));
    CHECK_OK(fcntl(fd, F_SETLK, &part));
    CHECK_EQ(in_child(try_record, -1), 0);
    close(fd);
    section("record locks");
}

static void test_waiting_for_a_lock(void) {
    int fds[2], status;
    char byte;
    int fd = open("locked", O_RDWR);
    CHECK_OK(pipe(fds));
    pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = range(F_WRLCK, 5, 1);
        CHECK_OK(fcntl(fd, F_SETLK, &lock));
        CHECK_EQ(write(fds[1], "l", 1), 1);
        usleep(20000);
        CHECK_EQ(pwrite(fd, "done", 4, 0), 4);
        _exit(0); /* death releases */
    }
    CHECK_EQ(read(fds[0], &byte, 1), 1);
    struct flock lock = range(F_WRLCK, 5, 1);
    CHECK_OK(fcntl(fd, F_SETLKW, &lock));
    char text[4];
    CHECK_EQ(pread(fd, text, 4, 0), 4);
    CHECK(memcmp(text, "done", 4) == 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    close(fd);
    section("waiting");
}

int main(void) {
    test_flock();
    test_record_locks();
    test_waiting_for_a_lock();
    CHECK_OK(unlink("locked"));
    CHECK_END;
}
