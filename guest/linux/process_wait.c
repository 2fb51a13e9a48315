/* SPDX-License-Identifier: MIT
 * What a parent learns about its children: exit codes, deaths by signal, stops and continues,
 * through wait4 and waitid, in every selection (any, by pid, by group), with and without WNOHANG
 * and WNOWAIT. */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static pid_t child_that_exits(int code) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(code);
    return pid;
}

static pid_t child_that_pauses(void) {
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    return pid;
}

static void test_exit_codes_are_eight_bits(void) {
    static const int codes[] = {0, 1, 7, 77, 127, 128, 255, 256, 257, -1};
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++) {
        pid_t pid = child_that_exits(codes[i]);
        int status = -1;
        struct rusage usage;
        CHECK_EQ(wait4(pid, &status, 0, &usage), pid);
        CHECK(WIFEXITED(status) && !WIFSIGNALED(status));
        CHECK_EQ(WEXITSTATUS(status), codes[i] & 0xff);
    }
    section("exit codes");
}

static void test_death_by_signal_is_reported(void) {
    static const int signals[] = {SIGHUP, SIGINT, SIGKILL, SIGUSR1, SIGPIPE, SIGALRM, SIGTERM, SIGVTALRM, SIGIO};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        pid_t pid = child_that_pauses();
        int status = -1;
        CHECK_OK(kill(pid, signals[i]));
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && !WIFEXITED(status));
        CHECK_EQ(WTERMSIG(status), signals[i]);
        CHECK_EQ(status & 0xff7f, signals[i]);
    }
    section("deaths by signal");
}

static void test_ignored_signal_does_not_kill(void) {
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        signal(SIGTERM, SIG_IGN);
        raise(SIGTERM);
        raise(SIGCHLD); /* ignored by default */
        raise(SIGCONT);
        raise(SIGURG);
        raise(SIGWINCH);
        _exit(9);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 9 << 8);
    section("ignored signals");
}

static void test_stop_and_continue(void) {
    pid_t pid = child_that_pauses();
    int status = -1;
    CHECK_EQ(waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED), 0);
    CHECK_OK(kill(pid, SIGSTOP));
    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    CHECK(WIFSTOPPED(status));
    CHECK_EQ(WSTOPSIG(status), SIGSTOP);
    CHECK_EQ(waitpid(pid, &status, WNOHANG | WUNTRACED), 0); /* a stop is reported once */
    CHECK_OK(kill(pid, SIGCONT));
    CHECK_EQ(waitpid(pid, &status, WCONTINUED), pid);
    CHECK(WIFCONTINUED(status));
    CHECK_OK(kill(pid, SIGSTOP));
    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    CHECK_EQ(WSTOPSIG(status), SIGSTOP);
    CHECK_OK(kill(pid, SIGTERM)); /* stays pending while stopped */
    CHECK_OK(kill(pid, SIGCONT));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(WTERMSIG(status), SIGTERM);
    section("stop and continue");
}

static void test_sigkill_ends_a_stopped_child(void) {
    pid_t pid = child_that_pauses();
    int status = -1;
    CHECK_OK(kill(pid, SIGSTOP));
    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    CHECK_OK(kill(pid, SIGKILL));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(WTERMSIG(status), SIGKILL);
    section("kill a stopped child");
}

static void test_waitid_tells_cause_and_status(void) {
    siginfo_t info;
    pid_t pid = child_that_exits(5);
    memset(&info, 0xff, sizeof info);
    CHECK_OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT)); /* leaves it waitable */
    CHECK_EQ(info.si_pid, pid);
    CHECK_EQ(info.si_signo, SIGCHLD);
    CHECK_EQ(info.si_code, CLD_EXITED);
    CHECK_EQ(info.si_status, 5);
    CHECK_EQ(info.si_uid, getuid());
    memset(&info, 0xff, sizeof info);
    CHECK_OK(waitid(P_ALL, 0, &info, WEXITED));
    CHECK_EQ(info.si_pid, pid);
    CHECK_FAILS(waitid(P_PID, (id_t)pid, &info, WEXITED), ECHILD);

    pid = child_that_pauses();
    memset(&info, 0xff, sizeof info);
    CHECK_OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG));
    CHECK_EQ(info.si_pid, 0); /* nothing yet */
    CHECK_OK(kill(pid, SIGUSR2));
    CHECK_OK(waitid(P_PID, (id_t)pid, &info, WEXITED));
    CHECK_EQ(info.si_code, CLD_KILLED);
    CHECK_EQ(info.si_status, SIGUSR2);
    section("waitid");
}

static void test_selection_by_pid_and_group(void) {
    int status;
    CHECK_FAILS(waitpid(-1, &status, 0), ECHILD);
    CHECK_FAILS(waitpid(getpid(), &status, 0), ECHILD);
    pid_t first = child_that_exits(1), second = child_that_exits(2), third = child_that_exits(3);
    CHECK_EQ(waitpid(second, &status, 0), second);
    CHECK_EQ(WEXITSTATUS(status), 2);
    CHECK_FAILS(waitpid(second, &status, 0), ECHILD);
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        pid_t pid = waitpid(0, &status, 0); /* own group */
        CHECK(pid == first || pid == third);
        sum += WEXITSTATUS(status);
    }
    CHECK_EQ(sum, 1 + 3);
    CHECK_FAILS(waitpid(-1, &status, WNOHANG), ECHILD);
    section("selection");
}

static void test_many_children_are_all_reaped_once(void) {
    enum { N = 50 };
    pid_t pids[N];
    char seen[N] = {0};
    for (int i = 0; i < N; i++)
        CHECK_OK(pids[i] = child_that_exits(i));
    for (int i = 0; i < N; i++) {
        int status;
        pid_t pid = wait(&status);
        CHECK(WIFEXITED(status));
        int k = WEXITSTATUS(status);
        CHECK_EQ(pid, pids[k]);
        CHECK(!seen[k]);
        seen[k] = 1;
    }
    CHECK_FAILS(wait(NULL), ECHILD);
    section("many children");
}

static void test_ignored_sigchld_reaps_by_itself(void) {
    signal(SIGCHLD, SIG_IGN);
    CHECK_OK(child_that_exits(4));
    CHECK_FAILS(wait(NULL), ECHILD); /* blocks until the child is gone, then finds none */
    signal(SIGCHLD, SIG_DFL);
    section("ignored SIGCHLD");
}

int main(void) {
    test_exit_codes_are_eight_bits();
    test_death_by_signal_is_reported();
    test_ignored_signal_does_not_kill();
    test_stop_and_continue();
    test_sigkill_ends_a_stopped_child();
    test_waitid_tells_cause_and_status();
    test_selection_by_pid_and_group();
    test_many_children_are_all_reaped_once();
    test_ignored_sigchld_reaps_by_itself();
    CHECK_END;
}
