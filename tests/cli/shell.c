// SPDX-License-Identifier: MIT
// Lets the shell run each argument, and prints the results.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int status = system(argv[i]);
        printf("%d\n", status);
        fflush(stdout);
    }
    return 0;
}
