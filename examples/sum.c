// SPDX-License-Identifier: MIT
// A RISC-V program to count: adds up a table by rows, then by columns. riscv64-linux-gnu-gcc -O2 -g sum.c -o sum; tally stat -- ./sum
#include <stdio.h>

enum { SIDE = 512 };
static int table[SIDE][SIDE];

__attribute__((noinline)) static long by_rows(void) {
    long sum = 0;
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++)
            sum += table[row][column];
    return sum;
}

__attribute__((noinline)) static long by_columns(void) {
    long sum = 0;
    for (int column = 0; column < SIDE; column++)
        for (int row = 0; row < SIDE; row++)
            sum += table[row][column];
    return sum;
}

int main(void) {
    for (int i = 0; i < SIDE * SIDE; i++)
        table[i / SIDE][i % SIDE] = i & 255;
    printf("%ld %ld\n", by_rows(), by_columns());
    return 0;
}
