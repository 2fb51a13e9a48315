// SPDX-License-Identifier: MIT
// Has its arguments run by the shell, one after another, and says what it was told.
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
