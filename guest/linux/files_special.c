/* SPDX-License-Identifier: MIT
 *
 * Named pipes, pipes in detail, files without a name, openat2, closing ranges of descriptors. */
#include "check.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void wait_for(pid_t pid) {
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void on_alarm(int number) { (void)number; }

static void test_named_pipes(void) {
    char text[16] = "";
    struct stat st;
    CHECK_OK(mkfifo("fifo", 0644));
    CHECK_FAILS(mkfifo("fifo", 0644), EEXIST);
    CHECK_OK(stat("fifo", &st));
    CHECK(S_ISFIFO(st.st_mode));
    CHECK_FAILS(open("fifo", O_WRONLY | O_NONBLOCK), ENXIO);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open("fifo", O_WRONLY); /* waits for the reader */
        CHECK_OK(fd);
        CHECK_EQ(write(fd, "through", 7), 7);
        _exit(0);
    }
    int fd = open("fifo", O_RDONLY); /* waits for the writer */
    CHECK_OK(fd);
    CHECK_EQ(read(fd, text, 16), 7);
    CHECK_EQ(read(fd, text, 16), 0);
    wait_for(pid);
    close(fd);
    fd = open("fifo", O_RDONLY | O_NONBLOCK); /* does not wait */
    CHECK_OK(fd);
    struct pollfd poll_fd = {fd, POLLIN, 0};
    CHECK_EQ(poll(&poll_fd, 1, 0), 0); /* no hang-up before there was a writer */
    CHECK_EQ(read(fd, text, 16), 0);
    int writer = open("fifo", O_WRONLY | O_NONBLOCK);
    CHECK_OK(writer);
    CHECK_FAILS(read(fd, text, 16), EAGAIN);
    CHECK_EQ(write(writer, "abc", 3), 3);
    int n;
    CHECK_OK(ioctl(fd, FIONREAD, &n));
    CHECK_EQ(n, 3);
    close(writer);
    CHECK_EQ(poll(&poll_fd, 1, 0), 1);
    CHECK_EQ(poll_fd.revents, POLLIN | POLLHUP);
    close(fd);
    struct sigaction action = {.sa_handler = on_alarm};
    CHECK_OK(sigaction(SIGALRM, &action, NULL));
    ualarm(20000, 0);
    CHECK_FAILS(open("fifo", O_RDONLY), EINTR);
    int both = open("fifo", O_RDWR); /* never waits */
    CHECK_OK(both);
    CHECK_EQ(write(both, "x", 1), 1);
    CHECK_EQ(read(both, text, 4), 1);
    close(both);
    CHECK_OK(unlink("fifo"));
    section("named pipes");
}

static void test_files_without_a_name(void) {
    char link_name[64], text[8] = "";
    struct stat st;
    int fd = open(".", O_TMPFILE | O_RDWR, 0640);
    if (fd == -1 && (errno == EOPNOTSUPP || errno == EISDIR)) {
        section("files without a name");
        return;
    }
    CHECK_OK(fd);
    CHECK_EQ(write(fd, "hidden", 6), 6);
    CHECK_OK(fstat(fd, &st));
    CHECK_EQ(st.st_nlink, 0);
    snprintf(link_name, sizeof link_name, "/proc/self/fd/%d", fd);
    CHECK_OK(linkat(AT_FDCWD, link_name, AT_FDCWD, "found", AT_SYMLINK_FOLLOW));
    close(fd);
    fd = open("found", O_RDONLY);
    CHECK_OK(fd);
    CHECK_OK(unlink("found"));
    CHECK_EQ(read(fd, text, 8), 6); /* unlinked, but open */
    CHECK_OK(fstat(fd, &st));
    CHECK_EQ(st.st_nlink, 0);
    close(fd);
    section("files without a name");
}

static int open_how(int dirfd, const char *path, uint64_t flags, uint64_t resolve) {
    struct open_how how = {.flags = flags, .resolve = resolve};
    return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

static void test_openat2(void) {
    CHECK_OK(mkdir("box", 0755));
    CHECK_OK(close(open("box/inside", O_CREAT | O_WRONLY, 0644)));
    CHECK_OK(symlink("inside", "box/link"));
    CHECK_OK(symlink("..", "box/up"));
    CHECK_OK(symlink("/inside", "box/rooted"));
    int box = open("box", O_PATH | O_DIRECTORY), fd;
    CHECK_OK(box);
    CHECK_OK(fd = open_how(box, "link", O_RDONLY, RESOLVE_BENEATH));
    close(fd);
    CHECK_FAILS(open_how(box, "link", O_RDONLY, RESOLVE_NO_SYMLINKS), ELOOP);
    CHECK_FAILS(open_how(box, "up/box/inside", O_RDONLY, RESOLVE_BENEATH), EXDEV);
    CHECK_FAILS(open_how(box, "rooted", O_RDONLY, RESOLVE_BENEATH), EXDEV);
    CHECK_OK(fd = open_how(box, "rooted", O_RDONLY, RESOLVE_IN_ROOT));
    close(fd);
    CHECK_OK(fd = open_how(box, "../../inside", O_RDONLY, RESOLVE_IN_ROOT));
    close(fd);
    CHECK_FAILS(open_how(box, "inside", O_RDONLY | UINT64_C(1) << 40, 0), EINVAL);
    close(box);
    for (char **name = (char *[]){"box/inside", "box/link", "box/up", "box/rooted", NULL}; *name; name++)
        CHECK_OK(unlink(*name));
    CHECK_OK(rmdir("box"));
    section("openat2");
}

static void test_ranges_of_descriptors(void) {
    for (int fd = 40; fd < 50; fd++)
        CHECK_EQ(dup2(1, fd), fd);
    CHECK_OK(syscall(SYS_close_range, 42, 45, 0));
    CHECK_OK(syscall(SYS_close_range, 47, 100, 4 /* CLOSE_RANGE_CLOEXEC */));
    CHECK_EQ(fcntl(41, F_GETFD), 0);
    CHECK_FAILS(fcntl(42, F_GETFD), EBADF);
    CHECK_FAILS(fcntl(45, F_GETFD), EBADF);
    CHECK_EQ(fcntl(46, F_GETFD), 0);
    CHECK_EQ(fcntl(49, F_GETFD), FD_CLOEXEC);
    CHECK_FAILS(syscall(SYS_close_range, 10, 5, 0), EINVAL);
    CHECK_OK(syscall(SYS_close_range, 40, 49, 0));
    section("ranges");
}

static void test_pipes_in_detail(void) {
    int fds[2], other[2];
    char text[8] = "";
    CHECK_OK(pipe2(fds, O_NONBLOCK));
    CHECK_OK(pipe2(other, O_NONBLOCK));
    CHECK_EQ(fcntl(fds[0], F_GETPIPE_SZ), 65536);
    CHECK_EQ(fcntl(fds[1], F_SETPIPE_SZ, 10000), 16384);
    int n = 0;
    for (char page[4096]; write(fds[1], page, sizeof page) == sizeof page;)
        n++;
    CHECK_EQ(n, 4);
    CHECK_EQ(errno, EAGAIN);
    struct pollfd poll_fd = {fds[1], POLLOUT, 0};
    CHECK_EQ(poll(&poll_fd, 1, 0), 0);
    CHECK_EQ(write(other[1], "tee", 3), 3);
    close(fds[0]);
    close(fds[1]);
    CHECK_OK(pipe2(fds, O_NONBLOCK));
    CHECK_EQ(tee(other[0], fds[1], 8, 0), 3);
    CHECK_EQ(read(other[0], text, 8), 3); /* still there */
    CHECK_EQ(read(fds[0], text, 8), 3);
    CHECK(strcmp(text, "tee") == 0);
    CHECK_FAILS(lseek(fds[0], 0, SEEK_CUR), ESPIPE);
    CHECK_FAILS(pread(fds[0], text, 1, 0), ESPIPE);
    close(fds[0]);
    poll_fd.fd = fds[1];
    CHECK_EQ(poll(&poll_fd, 1, 0), 1);
    CHECK(poll_fd.revents & POLLERR);
    close(fds[1]);
    close(other[0]);
    close(other[1]);
    section("pipes");
}

int main(void) {
    test_named_pipes();
    test_files_without_a_name();
    test_openat2();
    test_ranges_of_descriptors();
    test_pipes_in_detail();
    CHECK_END;
}
