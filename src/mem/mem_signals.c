// SPDX-License-Identifier: MIT
// The rows of mem_signals.def as tables, and the units of a machine. There are n_of() instances of
// each kind, in the order of the rows.
#include "mem/mem_signals.h"

#include <assert.h>
#include <stdio.h>

#include "base/bits.h"
#include "model/mem.h"

#define UNIT(id, unit_name, path, what) static const tl_signal id##_signals[] = {
#define SIGNAL(id, name, measure, max_step, meaning) {#name, meaning, TL_MEASURE_##measure, max_step},
#define END_UNIT(id) \
    }                \
    ;
#include "mem/mem_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT

const tl_unit_type tl_mem_unit_types[TL_N_MEM_UNIT_KINDS] = {
#define UNIT(id, unit_name, path, what) [TL_MEM_UNIT_##id] = {#unit_name, what, id##_signals, TL_COUNT_OF(id##_signals)},
#define SIGNAL(id, name, measure, max_step, meaning)
#define END_UNIT(id)
#include "mem/mem_signals.def"
#undef UNIT
#undef SIGNAL
#undef END_UNIT
};

static uint32_t n_of(const tl_config *config, enum tl_mem_unit_kind kind) {
    switch (kind) {
    case TL_MEM_UNIT_L2: return config->l2_slices;
    case TL_MEM_UNIT_MEM: return config->mem_channels;
    case TL_MEM_UNIT_LINK: return config->n_harts;
    case TL_MEM_UNIT_BSQ: return config->core.kind == TL_CORE_OUT_OF_ORDER;
    default: return 1;
    }
}

uint32_t tl_memory_n_units(const tl_config *config) {
    uint32_t n = 0;
    for (enum tl_mem_unit_kind kind = 0; kind < TL_N_MEM_UNIT_KINDS; kind++)
        n += n_of(config, kind);
    return n;
}

void tl_memory_unit_at(const tl_config *config, uint32_t index, tl_memory_unit *ret_unit) {
    enum tl_mem_unit_kind kind = 0;
    while (kind < TL_N_MEM_UNIT_KINDS && index >= n_of(config, kind))
        index -= n_of(config, kind++);
    assert(kind < TL_N_MEM_UNIT_KINDS);
    ret_unit->type = &tl_mem_unit_types[kind];
    switch (kind) {
    case TL_MEM_UNIT_L2: snprintf(ret_unit->path, sizeof ret_unit->path, "l2.%u", index); break;
    case TL_MEM_UNIT_MEM: snprintf(ret_unit->path, sizeof ret_unit->path, "mem%u", index); break;
    case TL_MEM_UNIT_LINK: snprintf(ret_unit->path, sizeof ret_unit->path, "link%u", index); break;
    default: snprintf(ret_unit->path, sizeof ret_unit->path, "%s", ret_unit->type->name);
    }
}
