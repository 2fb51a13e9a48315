// SPDX-License-Identifier: MIT
// Register accesses. The monitor's time is that of its last access, so a recorded transcript is all
// that a replay needs.
#include "internal.h"

static void note(xcm *m, xcm_block block, uint32_t offset, bool is_write, uint32_t value) {
    m->now_ns = m->host->now_ns(m->host->ctx);
    if (m->host->record)
        m->host->record(m->host->ctx, m->now_ns, block, offset, is_write, value);
}

uint32_t xcm_rd(xcm *m, xcm_block block, uint32_t offset) {
    const uint32_t value = m->host->rd32(m->host->ctx, block, offset);
    note(m, block, offset, false, value);
    return value;
}

void xcm_wr(xcm *m, xcm_block block, uint32_t offset, uint32_t value) {
    m->host->wr32(m->host->ctx, block, offset, value);
    note(m, block, offset, true, value);
}

// A read clears the sticky bits, so they gather here.
uint32_t xcm_poll_prsr(xcm *m) {
    m->prsr = xcm_rd(m, XCM_DBG, EDPRSR);
    m->sticky |= m->prsr & PRSR_STICKY;
    return m->prsr;
}

bool xcm_is_target_lost(const xcm *m) {
    return !(m->prsr & PRSR_PU) || (m->prsr & (PRSR_R | PRSR_DLK)) != 0 || (m->sticky & (PRSR_SPD | PRSR_SR)) != 0;
}

xcm_code xcm_poll_target(xcm *m) {
    (void)xcm_poll_prsr(m);
    if (!xcm_is_target_lost(m))
        return XCM_DONE;
    m->has_lost = true;
    return XCM_LOST;
}

xcm_code xcm_make_accessible(xcm *m) {
    XCM_TRY(xcm_poll_target(m));
    if (m->prsr & PRSR_EDAD)
        return XCM_NO_AUTHORITY;
    if (m->prsr & PRSR_OSLK) {
        xcm_wr(m, XCM_DBG, OSLAR, 0);
        if (xcm_poll_prsr(m) & PRSR_OSLK)
            return XCM_LOST;
    }
    return XCM_DONE;
}

bool xcm_is_over_budget(const xcm *m) { return m->is_owned && (m->has_over_budget || m->now_ns - m->stop_since_ns > m->budget_ns); }
