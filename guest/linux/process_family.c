/* SPDX-License-Identifier: MIT
 * Who is who: parent and child ids, what a fork copies and what it shares, orphans, zombies,
 * process groups, sessions, credentials and limits. Only relations between ids are checked, never
 * their values. */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int wait_status(pid_t pid) {
    int status = -1;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_ids_are_related(void) {
    pid_t me = getpid(), group = getpgrp();
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(getppid(), me);
        CHECK(getpid() != me && getpid() > 0);
        CHECK_EQ(getpgrp(), group);
        CHECK_EQ(getpgid(0), group);
        CHECK_EQ(getsid(0), getsid(me));
        CHECK_EQ(gettid(), getpid());
        _exit(0);
    }
    CHECK(pid > 0 && pid != me);
    CHECK_EQ(wait_status(pid), 0);
    section("ids");
}

static void test_fork_copies_memory_and_shares_files(void) {
    static int data = 11;
    int on_stack = 13, *on_heap = malloc(sizeof *on_heap);
    *on_heap = 17;
    int fd = open("shared-offset", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(fd);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(data + on_stack + *on_heap, 11 + 13 + 17);
        data = on_stack = *on_heap = 0;
        CHECK_EQ(write(fd, "abc", 3), 3); /* moves the offset of both */
        close(fd);                        /* closes the child's own descriptor only */
        umask(0);
        CHECK_OK(chdir("/"));
        _exit(0);
    }
    CHECK_EQ(wait_status(pid), 0);
    CHECK_EQ(data + on_stack + *on_heap, 11 + 13 + 17);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 3);
    struct stat st;
    CHECK_OK(stat("shared-offset", &st)); /* the working directory is still ours */
    CHECK_EQ(st.st_size, 3);
    close(fd);
    unlink("shared-offset");
    free(on_heap);
    section("fork copies");
}

static void test_grandchildren_nest(void) {
    /* Each level adds one to its child's exit code: 5 levels deep. */
    int depth = 0;
    pid_t pid;
    while (depth < 5 && (pid = fork()) == 0)
        depth++;
    if (depth == 5)
        _exit(0);
    int code = WEXITSTATUS(wait_status(pid)) + 1;
    if (depth > 0)
        _exit(code);
    CHECK_EQ(code, 5);
    section("nested forks");
}

static void test_orphan_gets_a_new_parent(void) {
    int fds[2];
    CHECK_OK(pipe(fds));
    pid_t middle = fork();
    if (middle == 0) {
        pid_t me = getpid();
        pid_t orphan = fork();
        if (orphan == 0) {
            close(fds[0]);
            while (getppid() == me) /* until the middle one is gone */
                usleep(1000);
            CHECK(getppid() != me);
            CHECK_EQ(write(fds[1], "o", 1), 1);
            _exit(0);
        }
        _exit(0);
    }
    close(fds[1]);
    CHECK_EQ(wait_status(middle), 0);
    char byte = 0;
    CHECK_EQ(read(fds[0], &byte, 1), 1);
    CHECK_EQ(byte, 'o');
    CHECK_EQ(read(fds[0], &byte, 1), 0); /* the orphan is gone too */
    close(fds[0]);
    section("orphan");
}

static void test_zombie_still_has_an_id(void) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(3);
    siginfo_t info;
    CHECK_OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
    CHECK_OK(kill(pid, 0)); /* a zombie exists */
    CHECK_OK(kill(pid, SIGTERM));
    CHECK_EQ(WEXITSTATUS(wait_status(pid)), 3);
    CHECK_FAILS(kill(pid, 0), ESRCH);
    section("zombie");
}

static void test_groups_receive_signals_together(void) {
    enum { N = 3 };
    pid_t leader = 0, pids[N];
    for (int i = 0; i < N; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            for (;;)
                pause();
        }
        if (i == 0)
            leader = pids[0];
        CHECK_OK(setpgid(pids[i], leader));
        CHECK_EQ(getpgid(pids[i]), leader);
    }
    CHECK(leader != getpgrp());
    CHECK_OK(kill(-leader, SIGUSR1));
    for (int i = 0; i < N; i++) {
        int status;
        CHECK(waitpid(-leader, &status, 0) > 0);
        CHECK_EQ(WTERMSIG(status), SIGUSR1);
    }
    CHECK_FAILS(waitpid(-leader, NULL, 0), ECHILD);
    CHECK_FAILS(kill(-leader, SIGUSR1), ESRCH);
    section("process groups");
}

static void test_setsid_starts_a_session(void) {
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(setsid(), getpid());
        CHECK_EQ(getsid(0), getpid());
        CHECK_EQ(getpgrp(), getpid());
        CHECK_FAILS(setsid(), EPERM); /* a leader cannot lead again */
        _exit(0);
    }
    CHECK_EQ(wait_status(pid), 0);
    section("sessions");
}

static void test_credentials_and_limits_are_inherited(void) {
    uid_t real, effective, saved;
    CHECK_OK(getresuid(&real, &effective, &saved));
    CHECK_EQ(real, getuid());
    CHECK_EQ(effective, geteuid());
    CHECK_EQ(getgid(), getegid());
    struct rlimit limit = {.rlim_cur = 123, .rlim_max = 456}, seen;
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
        pid_t grandchild = fork();
        if (grandchild == 0) {
            CHECK_OK(getrlimit(RLIMIT_NOFILE, &seen));
            CHECK_EQ(seen.rlim_cur, 123);
            CHECK_EQ(seen.rlim_max, 456);
            CHECK_EQ(sysconf(_SC_OPEN_MAX), 123);
            CHECK_FAILS(dup2(1, 123), EBADF);
            CHECK_EQ(dup2(1, 122), 122);
            _exit(0);
        }
        _exit(wait_status(grandchild) != 0);
    }
    CHECK_EQ(wait_status(pid), 0);
    CHECK_OK(getrlimit(RLIMIT_NOFILE, &seen));
    CHECK(seen.rlim_cur != 123);
    section("credentials and limits");
}

int main(void) {
    test_ids_are_related();
    test_fork_copies_memory_and_shares_files();
    test_grandchildren_nest();
    test_orphan_gets_a_new_parent();
    test_zombie_still_has_an_id();
    test_groups_receive_signals_together();
    test_setsid_starts_a_session();
    test_credentials_and_limits_are_inherited();
    CHECK_END;
}
