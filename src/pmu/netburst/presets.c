// SPDX-License-Identifier: MIT
// The variant of the design. Each bit of each event's mask is an event: uops_retired:NBOGUS.
#include "base/bits.h"
#include "pmu/netburst/catalogue.h"

static const char MANUAL[] = "Intel SDM vol. 3, tables of NetBurst events";

enum {
#define MASK(...)
#define EVENT(id, first, select, which, rule, on, precise, sentence) PAIR_##id = TL_##first, CODE_##id = select,
#include "pmu/netburst/events.def"
#undef EVENT
#undef MASK
};

// "": the design counts it, from what the core tells.
static const tl_event events[] = {
#define EVENT(...)
#define MASK(id, at, title, exactness, text, difference, sentence)                                                                \
    {.selector = (uint64_t)PAIR_##id << 32 | (uint64_t)CODE_##id << TL_ESCR_EVENT_LSB | UINT64_C(1) << (TL_ESCR_MASK_LSB + (at)), \
     .name = TITLE_##id ":" title,                                                                                                \
     .cite = MANUAL,                                                                                                              \
     .sources = TL_##exactness == TL_NOT_MODELED ? NULL : "",                                                                     \
     .fidelity = TL_##exactness,                                                                                                  \
     .note = difference},
#include "pmu/netburst/events.def"
#undef EVENT
#undef MASK
};

static const tl_pmu_preset pentium4 = {
    .name = "pentium4",
    .title = "46 detectors and 18 counters of 40 bits for a core of two threads",
    .events = events,
    .n_events = TL_COUNT_OF(events),
    .selectors = "Bits 31:0 are the ESCR with a bit of its mask; bits 37:32 number the first ESCR of the pair.",
};
const tl_pmu_preset *const tl_netburst_presets[] = {&pentium4, NULL};
