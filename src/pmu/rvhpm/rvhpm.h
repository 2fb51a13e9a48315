// SPDX-License-Identifier: MIT
// Hardware performance counters of the RISC-V privileged architecture, one set per hart: Zicntr,
// Zihpm and mcountinhibit. A preset may add Sscofpmf and Smcntrpmf. The folder holds registers
// (regs.c), events (events.c) and behavior (rvhpm.c).
#ifndef TL_PMU_RVHPM_RVHPM_H
#define TL_PMU_RVHPM_RVHPM_H

#include "model/event_counter.h"

enum {
    TL_HPM_CYCLE = 0,
    TL_HPM_TIME = 1, // a counter for software only: software cannot stop or write it
    TL_HPM_INSTRET = 2,
    TL_HPM_FIRST = 3,
    TL_HPM_N = 32
};

// mhpmevent, mcyclecfg, minstretcfg: Sscofpmf 1.0 and Smcntrpmf 1.0.
#define TL_HPM_OF (UINT64_C(1) << 63)
#define TL_HPM_MINH (UINT64_C(1) << 62)
#define TL_HPM_SINH (UINT64_C(1) << 61)
#define TL_HPM_UINH (UINT64_C(1) << 60)
#define TL_HPM_SELECTOR ((UINT64_C(1) << 56) - 1)

typedef struct tl_rvhpm_preset {
    tl_pmu_preset base;
    uint32_t n_counters; // mhpmcounter3 and up that count; higher ones are read-only zero
    uint32_t width_bits; // of these: 32 .. 64
    bool has_sscofpmf, has_smcntrpmf;
    // A selector is a class in bits 7:0 and an event mask from bit 8 up. False: it names one event.
    bool has_masks;
} tl_rvhpm_preset;

// The keys of a machine description: keys.def.
typedef enum tl_rvhpm_key_preset { TL_RVHPM_KEY_LINUX, TL_RVHPM_KEY_U74, TL_RVHPM_KEY_NONE } tl_rvhpm_key_preset;
typedef struct tl_rvhpm_settings {
    uint32_t preset; // tl_rvhpm_key_preset, index in tl_rvhpm_presets
} tl_rvhpm_settings;

extern const tl_rvhpm_preset tl_rvhpm_linux, tl_rvhpm_u74, tl_rvhpm_none;
extern const tl_pmu_preset *const tl_rvhpm_presets[];
extern const tl_regmap tl_rvhpm_regmap;
extern const tl_pmu_type tl_pmu_rvhpm;

// Hardware cost of one hart's set: cost.c.
typedef struct tl_rvhpm_cost {
    uint32_t n_counters;                             // fixed and programmable
    uint64_t counter_bits, selector_bits, gate_bits; // gates: inhibit and enable registers
    uint64_t state_bits;                             // sum
    // Wires of events, from all units to the register file.
    uint64_t wires;
} tl_rvhpm_cost;
tl_rvhpm_cost tl_rvhpm_cost_of(const tl_rvhpm_preset *preset);

typedef struct tl_hpm { // one counter
    tl_event_counter events;
    bool is_running; // has an event and is not inhibited
    uint8_t modes;   // bit p: counts in tl_priv p
} tl_hpm;

typedef struct tl_rvhpm {
    tl_pmu pmu;
    const tl_rvhpm_preset *preset;
    tl_sources *resolved; // by event of the preset; n_cells 0: not modeled here
    tl_sources clock[2];  // of mcycle and minstret
    tl_totals totals;
    uint64_t *events; // stored mhpmevent3 and up, and of these registers
    uint64_t *mcounteren, *scounteren, *mcountinhibit, *fixed_config[3];
    tl_hpm counters[TL_HPM_N];
    uint32_t armed;    // bit n: counter n waits for its overflow
    uint32_t filtered; // bit n: counter n runs, but not in all modes
    uint64_t has_csr[4096 / 64];
    uint32_t written;       // counters written by the current instruction
    bool has_pending;       // the instruction wrote another register
    tl_reg_at pending;      // that register
    uint64_t pending_value; // the new value, effective after the instruction retires
} tl_rvhpm;

static inline tl_rvhpm *tl_rvhpm_of(const tl_regfile *file) { return (tl_rvhpm *)(uintptr_t)file; }

// Functions for the rows of regs.c: rvhpm.c.
uint64_t tl_rvhpm_legal_selector(const tl_rvhpm *p, uint64_t wanted); // `wanted`, or 0
uint64_t tl_rvhpm_counter(tl_rvhpm *p, uint32_t n);                   // present value
void tl_rvhpm_set_counter(tl_rvhpm *p, uint32_t n, uint64_t value);
void tl_rvhpm_update(tl_rvhpm *p, uint32_t n);           // counts overflows up to now
void tl_rvhpm_configure(tl_rvhpm *p, uint32_t n);        // call after a change of control registers
uint64_t tl_rvhpm_overflows(tl_rvhpm *p);                // scountovf
bool tl_rvhpm_has(const tl_rvhpm *p, uint32_t n);        // counter n exists
uint64_t *tl_rvhpm_event(const tl_rvhpm *p, uint32_t n); // stored mhpmevent n

#endif
