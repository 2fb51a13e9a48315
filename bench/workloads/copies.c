// SPDX-License-Identifier: MIT
// Runs N copies of a program at once and waits for all of them: copies N PROGRAM [ARGUMENT...].
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s N PROGRAM [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    for (int n = atoi(argv[1]); n > 0; n--) {
        const pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            return 1;
        }
        if (pid == 0) {
            execv(argv[2], argv + 2);
            perror(argv[2]);
            _exit(127);
        }
    }
    int status, worst = 0;
    while (wait(&status) > 0)
        worst |= status;
    return worst != 0;
}
