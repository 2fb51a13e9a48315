// SPDX-License-Identifier: MIT
// The front-ends that are compared with step. They run translated code alone, in each of its two
// forms, and code that is interpreted at first.
#ifndef TALLY_TESTS_CONTRACT_ENGINES_H
#define TALLY_TESTS_CONTRACT_ENGINES_H

#include <string.h>

#include "machine/machine.h"

typedef struct fast_engine {
    const char *name;
    const tl_engine_type *engine;
    uint32_t n_cold_runs, sparse_code_bytes;
} fast_engine;

static const fast_engine fast_engines[] = {
    {"interp", &tl_engine_interp, 0, 0},
#ifdef TL_HAS_TRANSLATOR
    {"translate", &tl_engine_translate, 0, UINT32_MAX},
    {"dense", &tl_engine_translate, 0, 0},
    {"mixed", &tl_engine_translate, 3, 4 << 10},
#endif
};

static const fast_engine step_engine = {"step", &tl_engine_step, 0, 0};

static inline const fast_engine *engine_named(const char *name) { // NULL: not on this host
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        if (strcmp(name, fast_engines[e].name) == 0)
            return &fast_engines[e];
    return NULL;
}

static inline tl_status machine_with(const fast_engine *engine, const tl_config *config, tl_machine **ret_machine, tl_error *err) {
    tl_config own = *config;
    own.n_cold_runs = engine->n_cold_runs;
    own.sparse_code_bytes = engine->sparse_code_bytes;
    return tl_machine_new(&own, engine->engine, ret_machine, err);
}

#endif
