// SPDX-License-Identifier: MIT
// Makes N system calls that do next to nothing: calls N.
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s N\n", argv[0]);
        return 2;
    }
    long parent = getppid(), n_wrong = 0;
    for (long n = atol(argv[1]); n > 0; n--)
        n_wrong += syscall(SYS_getppid) != parent;
    return n_wrong != 0;
}
