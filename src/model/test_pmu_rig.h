// SPDX-License-Identifier: MIT
// A host for PMUs without a machine: two harts whose totals the test advances, a cache of two
// slices with a link to each hart, and a record of what the PMU did.
// Totals that front-ends hold back show only after sync, and hart.cycle and hart.instret only
// through the host's functions, so that a PMU that forgets to ask is found out.
#ifndef TL_MODEL_TEST_PMU_RIG_H
#define TL_MODEL_TEST_PMU_RIG_H

#include <stdio.h>
#include <string.h>

#include "base/testing.h"
#include "isa/rv/arch.h"
#include "model/pmu.h"

enum {
    RIG_HARTS = 2,
    RIG_SLICES = 2,
    RIG_L2_SIGNALS = 27,
    RIG_LINK_SIGNALS = 21,
    RIG_CELLS = RIG_HARTS * TL_S_N_CELLS + RIG_SLICES * RIG_L2_SIGNALS + RIG_HARTS * RIG_LINK_SIGNALS,
    RIG_UNITS = RIG_HARTS * TL_N_HART_UNITS + RIG_SLICES + RIG_HARTS,
};

typedef struct pmu_rig {
    tl_arena arena;
    tl_pmu_host host;
    tl_probe probe;
    tl_signal l2_signals[RIG_L2_SIGNALS], link_signals[RIG_LINK_SIGNALS];
    tl_unit_type l2_type, link_type;
    tl_unit units[RIG_UNITS];
    char paths[RIG_UNITS][24];
    uint64_t total[RIG_CELLS]; // the truth
    uint64_t shown[RIG_CELLS]; // what the PMU can read now
    uint64_t time;
    tl_priv priv;
    uint32_t user_counters;
    uint32_t n_irqs, n_syncs, n_changes; // set_irq LCOFI, true
    uint32_t state;                      // of every level: TL_PMU_*
    uint32_t n_refused;                  // calls of tl_pmu_host.refused
    bool line;                           // set_irq PMU
    tl_hart *hart;                       // what ports are given: only id, mode and clock are set
    tl_pmu *pmu;
    uint32_t access_bits;
} pmu_rig;

static inline void rig_sync(void *ctx, uint32_t hart) {
    pmu_rig *r = ctx;
    r->n_syncs += 1;
    memcpy(r->shown + hart * TL_S_N_CELLS, r->total + hart * TL_S_N_CELLS, TL_S_N_CELLS * sizeof *r->shown);
}
static inline uint64_t rig_cycle(void *ctx, uint32_t hart) { return ((pmu_rig *)ctx)->total[hart * TL_S_N_CELLS + TL_S_HART_CYCLE]; }
static inline uint64_t rig_cycle_in(void *ctx, uint32_t hart, uint64_t now) {
    return now - ((pmu_rig *)ctx)->total[hart * TL_S_N_CELLS + TL_S_HART_IDLE_CYCLE];
}
static inline uint64_t rig_instret(void *ctx, uint32_t hart) { return ((pmu_rig *)ctx)->total[hart * TL_S_N_CELLS + TL_S_HART_INSTRET]; }
static inline uint64_t rig_time(void *ctx, uint32_t hart) { return (void)hart, ((pmu_rig *)ctx)->time; }
static inline tl_priv rig_privilege(void *ctx, uint32_t hart) { return (void)hart, ((pmu_rig *)ctx)->priv; }
static inline uint32_t rig_user_counters(void *ctx, uint32_t hart) { return (void)hart, ((pmu_rig *)ctx)->user_counters; }
static inline void rig_set_irq(void *ctx, uint32_t hart, tl_irq irq, bool level) {
    (void)hart;
    if (irq == TL_IRQ_PMU) {
        ((pmu_rig *)ctx)->line = level;
        return;
    }
    assert_int_equal(irq, TL_IRQ_LCOFI);
    assert_true(level);
    ((pmu_rig *)ctx)->n_irqs += 1;
}
static inline uint32_t rig_state(void *ctx, uint32_t hart, tl_priv priv) { return (void)hart, (void)priv, ((pmu_rig *)ctx)->state; }
static inline void rig_refused(void *ctx, uint32_t hart) { ((pmu_rig *)ctx)->n_refused += hart == ((pmu_rig *)ctx)->pmu->hart ? 1 : 100; }
static inline void rig_changed(void *ctx, uint32_t hart) { (void)hart, ((pmu_rig *)ctx)->n_changes += 1; }

// Rows of mem/mem_signals.def, as far as PMUs name them.
static inline void rig_name_signals(pmu_rig *r) {
    static const char *const l2[RIG_L2_SIGNALS] = {"read_hart0",
                                                   "read_hart1",
                                                   "read_hart2",
                                                   "read_hart3",
                                                   "read_hart4",
                                                   "read_hart5",
                                                   "read_hart6",
                                                   "read_hart7",
                                                   "readmiss_hart0",
                                                   "readmiss_hart1",
                                                   "readmiss_hart2",
                                                   "readmiss_hart3",
                                                   "readmiss_hart4",
                                                   "readmiss_hart5",
                                                   "readmiss_hart6",
                                                   "readmiss_hart7",
                                                   "evict_clean",
                                                   "writeback",
                                                   "dma_read",
                                                   "dma_read_hit",
                                                   "dma_read_hit_shared",
                                                   "dma_write_full",
                                                   "dma_write_full_hit",
                                                   "dma_write_full_hit_shared",
                                                   "dma_write_partial",
                                                   "dma_write_partial_hit",
                                                   "dma_write_partial_hit_shared"};
    static const char *const link[RIG_LINK_SIGNALS] = {"get_hit",         "acquire_nb_hit",      "acquire_nt_hit",
                                                       "get_miss",        "acquire_nb_miss",     "acquire_nt_miss",
                                                       "get_shared",      "acquire_nb_shared",   "acquire_nt_shared",
                                                       "acquire_perm",    "acquire_perm_shared", "release_tb",
                                                       "release_tn",      "release_bn",          "release_data_tb",
                                                       "release_data_tn", "probe_get",           "probe_load",
                                                       "probe_store",     "probe_take",          "probe_i"};
    for (uint32_t i = 0; i < RIG_L2_SIGNALS; i++)
        r->l2_signals[i] = (tl_signal){.name = l2[i], .meaning = "Counts.", .max_step = 8};
    for (uint32_t i = 0; i < RIG_LINK_SIGNALS; i++)
        r->link_signals[i] = (tl_signal){.name = link[i], .meaning = "Counts.", .max_step = 8};
    r->l2_type = (tl_unit_type){.name = "l2", .signals = r->l2_signals, .n_signals = RIG_L2_SIGNALS};
    r->link_type = (tl_unit_type){.name = "link", .signals = r->link_signals, .n_signals = RIG_LINK_SIGNALS};
}

static inline void rig_name_units(pmu_rig *r) {
    rig_name_signals(r);
    uint32_t u = 0;
    for (uint32_t hart = 0; hart < RIG_HARTS; hart++)
        for (uint32_t k = 0; k < TL_N_HART_UNITS; k++, u++) {
            snprintf(r->paths[u], sizeof r->paths[u], tl_hart_units[k].path_format, hart);
            r->units[u] = (tl_unit){.type = &tl_hart_units[k].type, .first_cell = hart * TL_S_N_CELLS + tl_hart_units[k].first_cell};
        }
    for (uint32_t slice = 0; slice < RIG_SLICES; slice++, u++) {
        snprintf(r->paths[u], sizeof r->paths[u], "l2.%u", slice);
        r->units[u] = (tl_unit){.type = &r->l2_type, .first_cell = RIG_HARTS * TL_S_N_CELLS + slice * RIG_L2_SIGNALS};
    }
    for (uint32_t hart = 0; hart < RIG_HARTS; hart++, u++) {
        snprintf(r->paths[u], sizeof r->paths[u], "link%u", hart);
        r->units[u] = (tl_unit){.type = &r->link_type,
                                .first_cell = RIG_HARTS * TL_S_N_CELLS + RIG_SLICES * RIG_L2_SIGNALS + hart * RIG_LINK_SIGNALS};
    }
    for (uint32_t i = 0; i < u; i++) {
        r->units[i].path = r->paths[i];
        r->units[i].tally = r->shown + r->units[i].first_cell;
    }
    r->probe = (tl_probe){.units = r->units, .n_units = u, .tally = r->shown, .n_cells = RIG_CELLS};
}

// `r` is static or on the heap: units point into it. Machine mode, totals 0, no PMU yet.
static inline void rig_init(pmu_rig *r) {
    memset(r, 0, sizeof *r);
    rig_name_units(r);
    r->priv = TL_PRIV_M;
    r->host = (tl_pmu_host){.ctx = r,
                            .probe = &r->probe,
                            .sync = rig_sync,
                            .cycle = rig_cycle,
                            .cycle_in = rig_cycle_in,
                            .instret = rig_instret,
                            .time = rig_time,
                            .privilege = rig_privilege,
                            .user_counters = rig_user_counters,
                            .state = rig_state,
                            .refused = rig_refused,
                            .set_irq = rig_set_irq,
                            .changed = rig_changed};
}

static inline void rig_attach(pmu_rig *r, const tl_pmu_type *type, const tl_pmu_preset *preset, uint32_t access_bits, uint32_t hart) {
    tl_error err = {0};
    r->hart = tl_arena_alloc(&r->arena, sizeof *r->hart);
    assert_non_null(r->hart);
    r->hart->id = hart;
    r->hart->priv = r->priv;
    r->access_bits = access_bits;
    if (tl_pmu_new(type, preset, access_bits, &r->host, hart, &r->arena, &r->pmu, &err) != TL_OK)
        fail_msg("%s", err.text);
}

static inline void rig_done(pmu_rig *r) { tl_arena_done(&r->arena); }

// The total of this cell grows; it shows at once unless front-ends would hold it back.
static inline void rig_advance(pmu_rig *r, tl_cell cell, uint64_t steps) {
    bool is_shared = cell >= RIG_HARTS * TL_S_N_CELLS;
    tl_signal_kind kind = is_shared ? TL_SIGNAL_SLOW : tl_hart_signal_kind(cell % TL_S_N_CELLS);
    r->total[cell] += steps;
    if (kind == TL_SIGNAL_SLOW || kind == TL_SIGNAL_FAST)
        r->shown[cell] = r->total[cell];
}

static inline tl_hart *rig_hart(pmu_rig *r) {
    r->hart->priv = r->priv;
    r->hart->now = rig_cycle(r, r->hart->id);
    r->hart->instret = rig_instret(r, r->hart->id);
    return r->hart;
}

static inline bool rig_is_in_window(const pmu_rig *r, uint32_t addr) { return addr < r->pmu->type->window_bytes; }

// Effects of a CSR instruction, without its checks of privilege levels. `rig_write` is a whole
// instruction that has no other effect. For an address in a PMU's window: a load or store as wide
// as the rig's hart.
static inline bool rig_read(pmu_rig *r, uint32_t csr, uint64_t *ret_value) {
    const tl_pmu_port *port = &r->pmu->port;
    if (rig_is_in_window(r, csr))
        return tl_pmu_load(r->pmu, csr, r->access_bits / 8, ret_value);
    return tl_port_read(port, rig_hart(r), csr, ret_value);
}
static inline uint64_t rig_value(pmu_rig *r, uint32_t csr) {
    uint64_t value = 0;
    if (!rig_read(r, csr, &value))
        fail_msg("reading 0x%x is illegal", csr);
    return value;
}
static inline bool rig_begin_write(pmu_rig *r, uint32_t csr, uint64_t value) {
    const tl_pmu_port *port = &r->pmu->port;
    if (rig_is_in_window(r, csr))
        return tl_pmu_store(r->pmu, csr, r->access_bits / 8, value);
    return tl_port_write(port, rig_hart(r), csr, value);
}
static inline void rig_retire(pmu_rig *r) {
    if (r->pmu->port.retired)
        r->pmu->port.retired(r->pmu->port.ctx, rig_hart(r));
}
static inline void rig_write(pmu_rig *r, uint32_t csr, uint64_t value) {
    if (!rig_begin_write(r, csr, value))
        fail_msg("writing 0x%x is illegal", csr);
    rig_retire(r);
}
static inline void rig_set_mode(pmu_rig *r, tl_priv priv) {
    if (r->pmu->port.needs_modes)
        r->pmu->port.leave_mode(r->pmu->port.ctx, rig_hart(r), priv);
    r->priv = priv;
}
static inline void rig_poll(pmu_rig *r) {
    if (r->pmu->port.poll)
        r->pmu->port.poll(r->pmu->port.ctx, rig_hart(r));
}
static inline uint64_t rig_deadline(pmu_rig *r) { return r->pmu->port.deadline(r->pmu->port.ctx, rig_hart(r)); }

#endif
