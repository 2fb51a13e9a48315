// SPDX-License-Identifier: MIT
// The serial line between a ULC and its CCU, bit by bit: START, payload, END. Lane j of data cycle
// k carries bit k * L + j of the payload: counters, in a final frame residues, OVF, FINAL, parity.
// A bit is sent least significant first; pad lanes are 0.
#include "pmu/smpm/state.h"

void tl_smpm_bits_put(tl_smpm_bitset *set, uint32_t at, uint32_t n, uint64_t value) {
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bit = UINT64_C(1) << (at + i) % 64;
        uint64_t *word = &set->words[(at + i) / 64];
        *word = value >> i & 1 ? *word | bit : *word & ~bit;
    }
}

uint64_t tl_smpm_bits_get(const tl_smpm_bitset *set, uint32_t at, uint32_t n) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < n; i++)
        value |= (set->words[(at + i) / 64] >> (at + i) % 64 & 1) << i;
    return value;
}

bool tl_smpm_bits_parity(const tl_smpm_bitset *set, uint32_t n) {
    uint64_t fold = 0;
    for (uint32_t at = 0; at < n; at += 64)
        fold ^= tl_smpm_bits_get(set, at, n - at < 64 ? n - at : 64);
    return __builtin_parityll(fold);
}

static uint32_t flags_at(const tl_smpm *m, bool is_final) {
    return tl_smpm_payload_bits(&m->config, is_final) - (m->has_parity ? 1 : 0) - (m->has_flags ? 2 : 0);
}

void tl_smpm_frame_close(const tl_smpm *m, tl_smpm_bitset *set, bool is_final, bool has_ovf) {
    uint32_t at = flags_at(m, is_final);
    if (m->has_flags) {
        tl_smpm_bits_put(set, at, 1, has_ovf);
        tl_smpm_bits_put(set, at + 1, 1, is_final);
        at += 2;
    }
    if (m->has_parity)
        tl_smpm_bits_put(set, at, 1, tl_smpm_bits_parity(set, at));
}

tl_smpm_wire tl_smpm_line_show(const tl_smpm *m, const tl_smpm_unit_counter *ulc, uint64_t cycle) {
    tl_smpm_wire wire = {0};
    if (!ulc->is_sending)
        return wire;
    uint64_t age = cycle - ulc->frame_start;
    wire.mark = age == 0 || age == ulc->n_data + 1;
    if (age == ulc->n_data + 1)
        wire.data = 1;
    else if (age > 0)
        wire.data = (uint8_t)tl_smpm_bits_get(&ulc->shift, (uint32_t)(age - 1) * m->config.ulc_lanes, m->config.ulc_lanes);
    return wire;
}

static void decode(const tl_smpm *m, const tl_smpm_receiver *r, tl_smpm_frame *ret_frame) {
    uint32_t n_bits = m->config.ulc_bits, lanes = m->config.ulc_lanes, at = 0;
    uint32_t final_at = flags_at(m, true), periodic_at = flags_at(m, false);
    bool says_final = tl_smpm_bits_get(&r->bits, final_at + 1, 1), denies_final = !tl_smpm_bits_get(&r->bits, periodic_at + 1, 1);
    bool is_zero = r->n_bits == 0 && tl_smpm_is_on(m->config.zero_frames);
    bool fits_final = r->n_bits == m->n_final_data * lanes && (m->has_flags ? says_final : r->began_after_fall);
    bool fits_periodic = r->n_bits == m->n_data * lanes && (!m->has_flags || denies_final);
    ret_frame->is_final = m->has_flags ? fits_final : r->began_after_fall;
    if (m->is_safe || m->has_parity) {
        uint32_t n_payload = tl_smpm_payload_bits(&m->config, fits_final);
        ret_frame->is_dropped = !is_zero && !fits_final && !fits_periodic;
        if (m->has_parity && !is_zero && tl_smpm_bits_parity(&r->bits, n_payload))
            ret_frame->is_dropped = true;
    }
    for (uint32_t i = 0; i < m->config.ulc_ctrs; i++, at += n_bits)
        ret_frame->values[i] = (uint16_t)tl_smpm_bits_get(&r->bits, at, n_bits);
    for (uint32_t i = 0; ret_frame->is_final && m->exports && i < m->config.mb_inputs; i++, at += m->n_residue_bits)
        ret_frame->residues[i] = (uint16_t)tl_smpm_bits_get(&r->bits, at, m->n_residue_bits);
    ret_frame->has_ovf = m->has_flags && !is_zero && tl_smpm_bits_get(&r->bits, ret_frame->is_final ? final_at : periodic_at, 1);
}

bool tl_smpm_line_receive(tl_smpm *m, uint32_t ulc, tl_smpm_wire wire, tl_smpm_frame *ret_frame) {
    tl_smpm_receiver *r = &m->ulcs[ulc].receiver;
    const uint64_t now = m->core->now;
    if (!wire.mark) {
        for (uint32_t j = 0; r->is_receiving && j < m->config.ulc_lanes; j++, r->n_bits++)
            if (r->n_bits < 64 * TL_SMPM_PAYLOAD_WORDS)
                tl_smpm_bits_put(&r->bits, r->n_bits, 1, wire.data >> j & 1);
        return false;
    }
    bool is_start = !(wire.data & 1), was_receiving = r->is_receiving;
    bool is_broken = is_start == was_receiving; // START within a frame, END outside of one
    *ret_frame = (tl_smpm_frame){.ulc = ulc, .start = r->start, .end = now, .is_dropped = is_broken};
    if (!is_start && was_receiving)
        decode(m, r, ret_frame);
    r->is_receiving = is_start;
    if (is_start) {
        r->start = now;
        r->n_bits = 0;
        r->bits = (tl_smpm_bitset){0};
        r->began_after_fall = !m->core->ccus[m->layout.ulcs[ulc].ccu].line;
    }
    return !is_start || is_broken;
}
