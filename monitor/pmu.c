// SPDX-License-Identifier: MIT
// The target's PMU through its external window. It is saved at the first use, and given back.
#include "internal.h"

xcm_code xcm_take_pmu(xcm *m) {
    if (m->uses_pmu)
        return XCM_DONE;
    XCM_TRY(xcm_make_accessible(m));
    m->saved_pmcr = xcm_rd(m, XCM_PMU, PMCR);
    if ((m->saved_pmcr >> PMCR_N_LSB & 31) < XCM_COUNTERS) {
        XCM_TRY(xcm_poll_target(m));
        return m->prsr & PRSR_OSLK ? XCM_LOST : XCM_ABSENT;
    }
    m->saved_enabled = xcm_rd(m, XCM_PMU, PMCNTENSET);
    m->saved_filter = xcm_rd(m, XCM_PMU, PMCCFILTR);
    for (uint32_t n = 0; n < XCM_COUNTERS; n++) {
        m->saved_typer[n] = xcm_rd(m, XCM_PMU, PMEVTYPER + 4 * n);
        m->saved_counter[n] = xcm_rd(m, XCM_PMU, PMEVCNTR + 8 * n);
    }
    m->uses_pmu = true;
    m->programmed = 0;
    return XCM_DONE;
}

void xcm_give_pmu_back(xcm *m) {
    if (!m->uses_pmu)
        return;
    xcm_switch_pmu(m, false, 0);
    for (uint32_t n = 0; n < XCM_COUNTERS; n++) {
        xcm_wr(m, XCM_PMU, PMEVTYPER + 4 * n, m->saved_typer[n]);
        xcm_wr(m, XCM_PMU, PMEVCNTR + 8 * n, m->saved_counter[n]);
    }
    xcm_wr(m, XCM_PMU, PMCCFILTR, m->saved_filter);
    xcm_wr(m, XCM_PMU, PMCNTENCLR, ~m->saved_enabled);
    xcm_wr(m, XCM_PMU, PMCNTENSET, m->saved_enabled);
    xcm_wr(m, XCM_PMU, PMCR, m->saved_pmcr & ~(uint32_t)(PMCR_P | PMCR_C));
    m->uses_pmu = false;
}

// The register keeps the bits that it has.
void xcm_program_counter(xcm *m, uint32_t n, uint32_t typer) {
    xcm_wr(m, XCM_PMU, PMEVTYPER + 4 * n, typer);
    m->typer[n] = xcm_rd(m, XCM_PMU, PMEVTYPER + 4 * n);
    m->programmed |= 1u << n;
}

// The other tool gets its own events back at detach.
bool xcm_is_pmu_ours(xcm *m) {
    bool is_ours = true;
    for (uint32_t n = 0; n < XCM_COUNTERS; n++) {
        if (!(m->programmed >> n & 1))
            continue;
        const uint32_t found = xcm_rd(m, XCM_PMU, PMEVTYPER + 4 * n);
        if (found == m->typer[n])
            continue;
        m->saved_typer[n] = found;
        is_ours = false;
    }
    return is_ours;
}

void xcm_switch_pmu(xcm *m, bool is_on, uint32_t mask) {
    const uint32_t others = m->saved_pmcr & ~(uint32_t)(PMCR_E | PMCR_P | PMCR_C);
    if (is_on) {
        xcm_wr(m, XCM_PMU, PMCNTENCLR, ~mask);
        xcm_wr(m, XCM_PMU, PMCNTENSET, mask);
    }
    xcm_wr(m, XCM_PMU, PMCR, others | (is_on ? PMCR_E : 0));
}

void xcm_zero_counters(xcm *m) {
    const uint32_t pmcr = xcm_rd(m, XCM_PMU, PMCR);
    xcm_wr(m, XCM_PMU, PMCR, pmcr | PMCR_P | PMCR_C);
}

void xcm_apply_pmu_shadow(xcm *m) {
    if (m->shadow_programmed == 0 && !m->shadow_on)
        return;
    if (xcm_take_pmu(m) != XCM_DONE)
        return;
    for (uint32_t n = 0; n < XCM_COUNTERS; n++)
        if (m->shadow_programmed >> n & 1)
            xcm_program_counter(m, n, m->shadow_typer[n]);
    if (m->shadow_on)
        xcm_switch_pmu(m, true, m->shadow_mask);
}

// The high word of the cycle counter may move between two reads of a running target.
uint64_t xcm_read_counter(xcm *m, uint32_t n) {
    if (n < XCM_COUNTERS)
        return xcm_rd(m, XCM_PMU, PMEVCNTR + 8 * n);
    for (uint32_t high = xcm_rd(m, XCM_PMU, PMCCNTR_HI);;) {
        const uint32_t low = xcm_rd(m, XCM_PMU, PMCCNTR_LO), again = xcm_rd(m, XCM_PMU, PMCCNTR_HI);
        if (again == high)
            return (uint64_t)high << 32 | low;
        high = again;
    }
}

bool xcm_has_event(const xcm *m, uint32_t event) { return event >= 32 || (m->pmceid0 >> event & 1); }
