// SPDX-License-Identifier: MIT
// Step 1 of docs/tutorials/pmu-driver.md: what is there?
#include "pmu.h"

void on_trap(uint64_t cause, uint64_t pc) { (void)cause, (void)pc; }

int main(void) {
    const pmu its = pmu_probe();
    put_line("counters: ", (uint64_t)its.n_counters);
    put_line("bits: ", (uint64_t)its.width_bits);
    put_text(its.has_overflow ? "overflow interrupt\n" : "no overflow interrupt\n");
    return its.n_counters == 0;
}
