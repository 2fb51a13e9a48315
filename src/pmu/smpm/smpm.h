// SPDX-License-Identifier: MIT
// Hierarchical, secure, multi-client performance monitoring: the tables of the design. Units count
// with few bits (ULC), collection units add them up in 28 (CCU), channels in 64, and memory blocks
// hold the totals of the device, of each VM and of each context. Source: US 12,468,616 B2 (2025).
// config.h has its parameters, layout.h the hardware of one chip, cost.h what it costs.
#ifndef TL_PMU_SMPM_SMPM_H
#define TL_PMU_SMPM_SMPM_H

#include "model/chip_monitor.h"
#include "model/config_keys.h"
#include "model/pmu.h"
#include "pmu/smpm/layout.h"

// Settings of this design are a tl_smpm_config with unresolved values.
extern const tl_key tl_smpm_keys[];
extern const tl_smpm_config tl_smpm_default_settings;
// Returns the row of a value in `config`.
const tl_key *tl_smpm_key_of(const tl_smpm_config *config, const uint32_t *value);

// ---- Events: what each unit type tells

// Kinds of units. Each is a unit type of a layout; a shared kind has a second one, which counts the
// whole device.
typedef enum tl_smpm_unit_kind {
    TL_SMPM_UNIT_HART,
    TL_SMPM_UNIT_L2,
    TL_SMPM_UNIT_MEM,
    TL_SMPM_UNIT_NOC,
    TL_SMPM_UNIT_BUS,
    TL_SMPM_UNIT_DMA,
    TL_SMPM_UNIT_ROOT, // from here on: shared by the partitions of a chip
    TL_SMPM_UNIT_IO,
    TL_SMPM_UNIT_ENGINE,
    TL_SMPM_N_UNIT_KINDS
} tl_smpm_unit_kind;

// Selectors of events: kind of unit, whether a multi-bit input, number of the signal. A unit has
// the first signals of each sort, as many as its ULC has counters and inputs.
#define TL_SMPM_SELECTOR(kind, is_multi, number) ((uint64_t)(kind) << 8 | (uint64_t)(is_multi) << 7 | (number))
#define TL_SMPM_LEFT_OUT(kind, number) ((uint64_t)(kind) << 8 | 1 << 16 | (number)) // no ULC has it
static inline tl_smpm_unit_kind tl_smpm_event_kind(const tl_event *event) { return (tl_smpm_unit_kind)(event->selector >> 8 & 0xff); }
static inline bool tl_smpm_event_is_multi(const tl_event *event) { return event->selector >> 7 & 1; }
static inline bool tl_smpm_event_is_left_out(const tl_event *event) { return event->selector >> 16 & 1; }

extern const tl_event tl_smpm_events[];
extern const uint32_t tl_smpm_n_events;
extern const tl_pmu_preset *const tl_smpm_presets[];               // safe, literal
extern const char *const tl_smpm_unit_names[TL_SMPM_N_UNIT_KINDS]; // "hart"

extern const tl_pmu_type tl_pmu_smpm;
extern const tl_chip_monitor_type tl_smpm_chip_monitor;

#endif
