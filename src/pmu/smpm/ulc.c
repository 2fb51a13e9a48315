// SPDX-License-Identifier: MIT
// Unit-level counter, cycle by cycle: counts, snapshots, the frame that leaves. The event of a
// snapshot's cycle belongs to the new window, so no cycle is blind [P 57]. After the enable line
// has fallen one final frame leaves; the event of its cycle belongs to nobody.
#include <string.h>

#include "pmu/smpm/state.h"

// Rolling: the last counter is captured so many cycles after the snapshot. Its first window would
// be longer than T by that, and could overflow, if the first snapshot did not come earlier.
uint32_t tl_smpm_ulc_phase(const tl_smpm *m, uint32_t ulc) {
    uint32_t early = m->is_rolling ? (m->config.ulc_ctrs - 1) * m->config.ulc_bits / m->config.ulc_lanes : 0;
    return early + m->layout.ulcs[ulc].line * ((m->config.ulc_period - early) / m->config.ccu_ulcs);
}

void tl_smpm_ulc_clear(tl_smpm *m, uint32_t ulc) {
    tl_smpm_unit_counter *u = &m->ulcs[ulc];
    memset(u->counts, 0, sizeof u->counts);
    u->ovf = 0;
    if (!tl_smpm_mutates(m, TL_SMPM_M_RES))
        memset(u->residues, 0, sizeof u->residues);
    if (m->count_tenants)
        for (uint32_t i = 0; i < TL_SMPM_MAX_CTRS + TL_SMPM_MAX_MULTI; i++)
            if (i < TL_SMPM_MAX_CTRS || u->residues[i - TL_SMPM_MAX_CTRS] == 0)
                m->count_tenants[ulc][i] = 0;
}

static void capture(tl_smpm *m, uint32_t ulc, uint32_t ctr) {
    tl_smpm_unit_counter *u = &m->ulcs[ulc];
    tl_smpm_bits_put(&u->shift, ctr * m->config.ulc_bits, m->config.ulc_bits, u->counts[ctr]);
    u->frame_has_ovf |= u->ovf >> ctr & 1;
    u->ovf &= ~(UINT64_C(1) << ctr);
    u->counts[ctr] = 0;
    if (m->count_tenants) {
        m->frame_tenants[ulc][ctr] = m->count_tenants[ulc][ctr];
        m->count_tenants[ulc][ctr] = 0;
    }
}

static void export_residues(tl_smpm *m, uint32_t ulc) {
    tl_smpm_unit_counter *u = &m->ulcs[ulc];
    uint32_t at = m->config.ulc_ctrs * m->config.ulc_bits;
    for (uint32_t i = 0; i < m->config.mb_inputs; i++) {
        if (m->exports)
            tl_smpm_bits_put(&u->shift, at + i * m->n_residue_bits, m->n_residue_bits, u->residues[i]);
        if (m->count_tenants)
            m->frame_tenants[ulc][TL_SMPM_MAX_CTRS + i] = m->count_tenants[ulc][TL_SMPM_MAX_CTRS + i];
        if (tl_smpm_mutates(m, TL_SMPM_M_RES))
            continue;
        u->residues[i] = 0;
        if (m->count_tenants)
            m->count_tenants[ulc][TL_SMPM_MAX_CTRS + i] = 0;
    }
}

static bool has_counted(const tl_smpm *m, const tl_smpm_unit_counter *u) {
    uint64_t any = u->ovf;
    for (uint32_t i = 0; i < m->config.ulc_ctrs; i++)
        any |= u->counts[i];
    return any != 0;
}

static void begin_frame(tl_smpm *m, uint32_t ulc) {
    tl_smpm_unit_counter *u = &m->ulcs[ulc];
    bool is_final = u->has_request, is_zero = !is_final && tl_smpm_is_on(m->config.zero_frames) && !has_counted(m, u);
    u->is_sending = true;
    u->frame_start = m->core->now;
    u->n_data = is_zero ? 0 : is_final ? m->n_final_data : m->n_data;
    u->shift = (tl_smpm_bitset){0};
    u->frame_has_ovf = false;
    u->n_captured = 0;
    u->window_cycles = 0;
    if (is_zero)
        u->n_captured = m->config.ulc_ctrs;
    for (; (is_final || !m->is_rolling) && u->n_captured < m->config.ulc_ctrs; u->n_captured++)
        capture(m, ulc, u->n_captured);
    if (is_final) {
        export_residues(m, ulc);
        u->is_enabled = u->has_request = false;
    }
    if (!m->is_rolling || is_final)
        tl_smpm_frame_close(m, &u->shift, is_final, u->frame_has_ovf);
}

static void roll(tl_smpm *m, uint32_t ulc) {
    tl_smpm_unit_counter *u = &m->ulcs[ulc];
    if (!u->is_sending || u->n_captured == m->config.ulc_ctrs)
        return;
    while (u->n_captured < m->config.ulc_ctrs && m->core->now - u->frame_start >= u->n_captured * m->config.ulc_bits / m->config.ulc_lanes)
        capture(m, ulc, u->n_captured++);
    if (u->n_captured == m->config.ulc_ctrs)
        tl_smpm_frame_close(m, &u->shift, false, u->frame_has_ovf);
}

static void count(tl_smpm *m, uint32_t ulc) {
    tl_smpm_unit_counter *u = &m->ulcs[ulc];
    const tl_smpm_unit_type *type = &m->layout.types[m->layout.ulcs[ulc].type];
    tl_smpm_inputs in = {0};
    m->plan.host.inputs(m->plan.host.ctx, ulc, m->core->now, &in);
    uint64_t tenants = m->count_tenants ? m->plan.test.tenants(m->plan.test.ctx, ulc, m->core->now) : 0;
    uint64_t pulse_tenants[TL_SMPM_MAX_MULTI] = {0};
    uint32_t pulses = 0;
    for (uint32_t i = 0; i < m->config.mb_inputs && i < type->n_multi; i++) {
        uint32_t sum = u->residues[i] + in.multi[i];
        if (m->count_tenants)
            pulse_tenants[i] = m->count_tenants[ulc][TL_SMPM_MAX_CTRS + i] |= in.multi[i] ? tenants : 0;
        pulses |= (sum >> m->scale_log2 & 1) << i;
        u->residues[i] = (uint16_t)(sum & (tl_smpm_mutates(m, TL_SMPM_M_ACC) ? 2 * m->scale - 1 : m->scale - 1));
        if (m->count_tenants && u->residues[i] == 0)
            m->count_tenants[ulc][TL_SMPM_MAX_CTRS + i] = 0;
    }
    for (uint32_t i = 0; i < m->config.ulc_ctrs; i++) {
        const tl_smpm_ctr *ctr = &type->ctrs[i];
        bool is_high = false;
        switch (ctr->feed) {
        case TL_SMPM_FEED_BIT: is_high = (in.bits >> ctr->input & 1) != ctr->counts_low; break;
        case TL_SMPM_FEED_PULSE: is_high = pulses >> ctr->input & 1; break;
        case TL_SMPM_FEED_NONZERO: is_high = (in.multi[ctr->input] != 0) != ctr->counts_low; break;
        default: break;
        }
        if (!is_high)
            continue;
        if (m->count_tenants)
            m->count_tenants[ulc][i] |= ctr->feed == TL_SMPM_FEED_PULSE ? pulse_tenants[ctr->input] : tenants;
        if (u->counts[i] < m->ulc_max) {
            u->counts[i]++;
        } else {
            u->ovf |= UINT64_C(1) << i;
            if (m->config.ovf_policy == TL_SMPM_WRAP)
                u->counts[i] = 0;
        }
    }
}

void tl_smpm_ulc_step(tl_smpm *m, uint32_t ulc, bool line, bool transfers) {
    tl_smpm_unit_counter *u = &m->ulcs[ulc];
    if (line && !u->is_enabled) {
        tl_smpm_ulc_clear(m, ulc);
        u->is_enabled = true;
        u->window_cycles = tl_smpm_ulc_phase(m, ulc);
    } else if (!line && u->is_enabled) {
        u->has_request = true;
    }
    if (u->is_sending && m->core->now > u->frame_start + u->n_data + 1)
        u->is_sending = false;
    bool is_due = u->window_cycles >= m->config.ulc_period && transfers;
    bool snaps = u->is_enabled && (is_due || u->has_request) && !u->is_sending;
    if (snaps)
        begin_frame(m, ulc);
    roll(m, ulc);
    if (!u->is_enabled)
        return;
    if (!(snaps && tl_smpm_mutates(m, TL_SMPM_M_BLIND)))
        count(m, ulc);
    u->window_cycles += transfers;
}
