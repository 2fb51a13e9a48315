// SPDX-License-Identifier: MIT
// Small machines for tests: 16 MiB of RAM, engine `step`, everything else by default.
#ifndef TL_MACHINE_TEST_RIG_H
#define TL_MACHINE_TEST_RIG_H

#include "base/testing.h"
#include "machine/machine.h"

static inline tl_config tl_test_config(uint32_t n_harts) {
    tl_config config;
    tl_config_default(&config);
    config.n_harts = n_harts;
    config.ram_bytes = 16 << 20;
    return config;
}

// The caller frees the machine. The test fails when the machine cannot be built.
static inline tl_machine *tl_test_machine_of(const tl_config *config) {
    tl_machine *machine = NULL;
    tl_error err = {0};
    if (tl_machine_new(config, &tl_engine_step, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    return machine;
}

static inline tl_machine *tl_test_machine(uint32_t n_harts) {
    tl_config config = tl_test_config(n_harts);
    return tl_test_machine_of(&config);
}

#endif
