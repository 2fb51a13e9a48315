/* SPDX-License-Identifier: MIT
 *
 * Who reaps: a subreaper adopts the orphans of its descendants instead of init (prctl 36, 37), and
 * a parent that asked for SA_NOCLDWAIT or ignores SIGCHLD never sees a zombie. */
#include "check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void test_subreaper_adopts(void) {
    CHECK_OK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    int fds[2];
    CHECK_OK(pipe(fds));
    pid_t middle = fork();
    if (middle == 0) {
        pid_t orphan = fork();
        if (orphan == 0) {
            char byte;
            CHECK_EQ(read(fds[0], &byte, 1), 1);
            _exit(42);
        }
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(middle, &status, 0), middle);
    CHECK_EQ(status, 0);
    CHECK_EQ(write(fds[1], "g", 1), 1);
    pid_t adopted = wait(&status);
    CHECK(adopted > 0 && adopted != middle);
    CHECK_EQ(WEXITSTATUS(status), 42);
    int flag = -1;
    CHECK_OK(prctl(PR_GET_CHILD_SUBREAPER, &flag, 0, 0, 0));
    CHECK_EQ(flag, 1);
    CHECK_OK(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0));
    close(fds[0]);
    close(fds[1]);
    section("subreaper");
}

static volatile sig_atomic_t n_calls;
static void on_child(int number) {
    (void)number;
    n_calls++;
}

static void test_children_nobody_waits_for(void) {
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_NOCLDWAIT};
    CHECK_OK(sigaction(SIGCHLD, &action, NULL));
    pid_t pid = fork();
    if (pid == 0)
        _exit(1);
    while (n_calls < 1)
        usleep(1000);
    CHECK_FAILS(waitpid(pid, NULL, 0), ECHILD);
    signal(SIGCHLD, SIG_DFL);
    section("no zombies");
}

int main(void) {
    test_subreaper_adopts();
    test_children_nobody_waits_for();
    CHECK_END;
}
