/* SPDX-License-Identifier: MIT
 *
 * Ends with the status given as argument, after one line on each output. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    puts("to standard output");
    fputs("to standard error\n", stderr);
    return argc > 1 ? atoi(argv[1]) : 0;
}
