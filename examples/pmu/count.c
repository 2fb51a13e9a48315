// SPDX-License-Identifier: MIT
// Step 2 of docs/tutorials/pmu-driver.md: counts loads and their misses of a function.
#include "pmu.h"

#ifndef LOADS // event numbers of SBI; other PMUs have their own
#define LOADS 0x10000
#define LOAD_MISSES 0x10001
#endif
enum { STEP = 64, N = 1000 };

static volatile uint64_t table[STEP / 8 * N] __attribute__((aligned(STEP)));

void on_trap(uint64_t cause, uint64_t pc) { (void)cause, (void)pc; }

// A load in each line: every one misses.
__attribute__((noinline)) void work(void) {
    for (int i = 0; i < N; i++)
        table[STEP / 8 * i];
}

int main(void) {
    const pmu its = pmu_probe();
    if (its.n_counters < 2 || pmu_start(3, LOADS) || pmu_start(4, LOAD_MISSES)) {
        put_text("this PMU does not have the events\n");
        return 1;
    }
    work();
    const uint64_t loads = pmu_stop(3), misses = pmu_stop(4);
    put_line("loads: ", loads);
    put_line("misses: ", misses);
    return 0;
}
