// SPDX-License-Identifier: MIT
// Dense matrix product of 64 by 64 doubles, rows by columns: floating point, one operand with unit
// stride, one with a long one.
#include "kernel.h"

#include <string.h>

enum { N = 64 };
static double a[N][N], b[N][N], c[N][N];

static void multiply(void) {
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[row][k] * b[k][column];
            c[row][column] = sum;
        }
}

int main(int argc, char **argv) {
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u, checksum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (double)(kernel_next(&state) % 1000) / 1000;
            b[i][j] = (double)(kernel_next(&state) % 1000) / 1000;
        }
    for (uint64_t i = 0; i < iterations; i++) {
        multiply();
        a[i % N][i / N % N] += c[i % N][(i + 7) % N] / 1024;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            uint64_t bits;
            memcpy(&bits, &c[i][j], sizeof bits);
            checksum = (checksum << 1 | checksum >> 63) ^ bits;
        }
    return kernel_result("matrix", iterations, checksum);
}
