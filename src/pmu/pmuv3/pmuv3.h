// SPDX-License-Identifier: MIT
// The performance monitors of Armv8-A, PMUv3 as a Cortex-A53 has them: six event counters of 32
// bits and a cycle counter of 64 bits for each hart. Software reaches them by system registers, and
// every hart reaches those of all by a window of 4 KiB in the debug memory map. The folder holds
// registers (regs.c), events (events.c) and behavior (pmuv3.c).
#ifndef TL_PMU_PMUV3_PMUV3_H
#define TL_PMU_PMUV3_PMUV3_H

#include "model/event_counter.h"

enum {
    TL_PMUV3_EVENTS = 6,              // event counters
    TL_PMUV3_CYCLE = TL_PMUV3_EVENTS, // index of the cycle counter
    TL_PMUV3_N = TL_PMUV3_EVENTS + 1, // counters
    TL_PMUV3_ALL_EVENTS = (1 << TL_PMUV3_EVENTS) - 1,
    TL_PMUV3_BLOCK = 16, // neighboring numbers of system registers
};
// Bits of PMCNTENSET and its like: event counters, and bit 31 for the cycle counter.
#define TL_PMUV3_CYCLE_BIT (UINT32_C(1) << 31)
#define TL_PMUV3_ALL_BITS (TL_PMUV3_CYCLE_BIT | TL_PMUV3_ALL_EVENTS)

// PMCR_EL0, D12.4.7.
enum {
    TL_PMCR_E = 1 << 0,
    TL_PMCR_P = 1 << 1,
    TL_PMCR_C = 1 << 2,
    TL_PMCR_D = 1 << 3,
    TL_PMCR_X = 1 << 4,
    TL_PMCR_DP = 1 << 5,
    TL_PMCR_LC = 1 << 6,
    TL_PMCR_HELD = TL_PMCR_E | TL_PMCR_D | TL_PMCR_X | TL_PMCR_DP | TL_PMCR_LC,
};
// PMEVTYPERn_EL0 and PMCCFILTR_EL0.
#define TL_PMEVTYPER_P (UINT32_C(1) << 31)
#define TL_PMEVTYPER_U (UINT32_C(1) << 30)
#define TL_PMEVTYPER_NSK (UINT32_C(1) << 29)
#define TL_PMEVTYPER_NSU (UINT32_C(1) << 28)
#define TL_PMEVTYPER_NSH (UINT32_C(1) << 27)
#define TL_PMEVTYPER_M (UINT32_C(1) << 26)
#define TL_PMEVTYPER_EVENT UINT32_C(0x3ff)
#define TL_PMEVTYPER_FILTER (UINT32_C(0x3f) << 26)
// PMUSERENR_EL0.
enum { TL_PMUSERENR_EN = 1 << 0, TL_PMUSERENR_SW = 1 << 1, TL_PMUSERENR_CR = 1 << 2, TL_PMUSERENR_ER = 1 << 3 };
// Events that the design counts by itself.
enum { TL_PMUV3_SW_INCR = 0x00, TL_PMUV3_EXC_RETURN = 0x0a, TL_PMUV3_CID_WRITE = 0x0b, TL_PMUV3_CHAIN = 0x1e };

// The window of hart k: I5.3, and the Cortex-A53 manual, table "ROM table". Debug and CTI have the
// pages 0x20000 and 0x10000 before it.
#define TL_PMUV3_PADDR UINT64_C(0x0b030000)
#define TL_PMUV3_STRIDE UINT64_C(0x100000)
enum { TL_PMUV3_WINDOW_BYTES = 0x1000, TL_PMUV3_FIRST_MANAGEMENT = 0xf00, TL_PMUV3_PMLAR = 0xfb0 };
#define TL_PMUV3_KEY UINT64_C(0xc5acce55) // of the software lock

typedef enum tl_pmuv3_key_preset { TL_PMUV3_KEY_NONE, TL_PMUV3_KEY_A53, TL_PMUV3_KEY_FULL } tl_pmuv3_key_preset;
typedef struct tl_pmuv3_settings {
    uint32_t preset; // tl_pmuv3_key_preset
} tl_pmuv3_settings;

typedef struct tl_pmuv3 {
    tl_pmu pmu;
    tl_sources *resolved; // by event of the preset; n_cells 0: no signals
    tl_sources clock[2];
    tl_totals totals;
    // The registers, as system software sees them.
    uint32_t control;            // TL_PMCR_HELD
    uint32_t enabled, interrupt; // PMCNTENSET, PMINTENSET
    uint32_t overflowed;         // PMOVSSET, up to the last look
    uint32_t selected, user;     // PMSELR, PMUSERENR
    uint32_t types[TL_PMUV3_N];  // PMEVTYPERn, PMCCFILTR
    bool is_locked;              // the software lock of the window
    // Bit n: counter n, in order of the index.
    uint32_t counting; // counts at the present level
    uint32_t left;     // counted at the level before
    uint32_t armed;    // waits for an overflow, its own or that of the counter chained to it
    bool line;         // the interrupt output
    tl_event_counter counters[TL_PMUV3_N];
    // Bit n: some system register has a number of block n.
    uint64_t blocks[(1 << 16) / TL_PMUV3_BLOCK / 64];
    bool has_pending; // the instruction under way wrote this register
    tl_reg_at pending;
    uint64_t pending_value;
} tl_pmuv3;

static inline tl_pmuv3 *tl_pmuv3_of(const tl_regfile *file) { return (tl_pmuv3 *)(uintptr_t)file; }

extern const tl_regmap tl_pmuv3_regmap;
extern const tl_pmu_preset tl_pmuv3_a53, tl_pmuv3_full;
extern const tl_pmu_preset *const tl_pmuv3_presets[];
extern const tl_pmu_type tl_pmu_pmuv3;

// Access rules of a system register (regs.c): the rights of EL0 by bits of PMUSERENR_EL0. 0: EL0
// has no such register.
typedef struct tl_pmuv3_access {
    uint8_t el0_read, el0_write;
    bool is_write_only, is_read_only;
} tl_pmuv3_access;
enum { TL_PMUV3_ALWAYS = 1 << 7 };
tl_pmuv3_access tl_pmuv3_access_of(uint32_t number);

// Functions for the rows of regs.c: pmuv3.c. A change of control registers stands between `begin`
// and `end`.
void tl_pmuv3_begin(tl_pmuv3 *p); // counts up to now
void tl_pmuv3_end(tl_pmuv3 *p);   // counts from now on by the present registers
uint64_t tl_pmuv3_counter(tl_pmuv3 *p, uint32_t n);
void tl_pmuv3_set_counter(tl_pmuv3 *p, uint32_t n, uint64_t value);
void tl_pmuv3_reset_counters(tl_pmuv3 *p, bool resets_events, bool resets_cycles);
uint32_t tl_pmuv3_overflows(tl_pmuv3 *p);
void tl_pmuv3_software_increment(tl_pmuv3 *p, uint32_t bits);
uint32_t tl_pmuv3_authentication(const tl_pmuv3 *p); // PMAUTHSTATUS
// Common events 0x20 * half and up that the preset counts: PMCEIDn.
uint32_t tl_pmuv3_common_events(const tl_pmuv3 *p, uint32_t half);

#endif
