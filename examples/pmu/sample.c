// SPDX-License-Identifier: MIT
// Step 3 of docs/tutorials/pmu-driver.md: a sample of the program counter after every 100 misses.
#include "pmu.h"

enum { LOAD_MISSES = 0x10001, PERIOD = 100, STEP = 64, N = 1000, MAX_SAMPLES = 64 };

static volatile uint64_t table[STEP / 8 * N] __attribute__((aligned(STEP)));
static uint64_t samples[MAX_SAMPLES];
static volatile int n_samples;

void on_trap(uint64_t cause, uint64_t pc) {
    if (cause != (UINT64_C(1) << 63 | 13))
        return;
    if (n_samples < MAX_SAMPLES)
        samples[n_samples++] = pc;
    pmu_rearm(3, LOAD_MISSES, PERIOD);
}

__attribute__((noinline)) void misses(void) {
    for (int i = 0; i < N; i++)
        table[STEP / 8 * i];
}

__attribute__((noinline)) void hits(void) {
    for (int i = 0; i < 20 * N; i++)
        table[0];
}

int main(void) {
    const pmu its = pmu_probe();
    if (!its.has_overflow) {
        put_text("this PMU has no overflow interrupt; read its counters from a timer\n");
        return 1;
    }
    pmu_sample(&its, 3, LOAD_MISSES, PERIOD);
    misses();
    hits();
    pmu_stop(3);
    int in_misses = 0;
    for (int i = 0; i < n_samples; i++)
        in_misses += samples[i] >= (uint64_t)misses && samples[i] < (uint64_t)hits;
    put_line("samples: ", (uint64_t)n_samples);
    put_line("in misses(): ", (uint64_t)in_misses);
    return 0;
}
