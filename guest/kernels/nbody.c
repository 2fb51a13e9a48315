// SPDX-License-Identifier: MIT
// Five bodies under gravity, a thousand steps per iteration: floating-point add, multiply, divide
// and square root in long chains.
#include "kernel.h"

#include <math.h>
#include <string.h>

enum { N = 5, STEPS_PER_ITERATION = 1000 };
typedef struct body {
    double position[3], velocity[3], mass;
} body;

static void step(body *bodies, double dt) {
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++) {
            double d[3], square = 0.01;
            for (int k = 0; k < 3; k++) {
                d[k] = bodies[i].position[k] - bodies[j].position[k];
                square += d[k] * d[k];
            }
            double pull = dt / (square * sqrt(square));
            for (int k = 0; k < 3; k++) {
                bodies[i].velocity[k] -= d[k] * bodies[j].mass * pull;
                bodies[j].velocity[k] += d[k] * bodies[i].mass * pull;
            }
        }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            bodies[i].position[k] += dt * bodies[i].velocity[k];
}

int main(int argc, char **argv) {
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u, checksum = 0;
    body bodies[N];
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++) {
            bodies[i].position[k] = (double)(kernel_next(&state) % 2000) / 100 - 10;
            bodies[i].velocity[k] = (double)(kernel_next(&state) % 200) / 100 - 1;
        }
        bodies[i].mass = i == 0 ? 40 : 0.05 * i;
    }
    for (uint64_t i = 0; i < iterations; i++)
        for (int j = 0; j < STEPS_PER_ITERATION; j++)
            step(bodies, 0.001);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            uint64_t bits;
            memcpy(&bits, &bodies[i].position[k], sizeof bits);
            checksum = (checksum << 7 | checksum >> 57) ^ bits;
        }
    return kernel_result("nbody", iterations, checksum);
}
