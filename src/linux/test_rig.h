// SPDX-License-Identifier: MIT
// A personality without programs, for tests: a machine, physical pages, timers.
#ifndef TL_OS_TEST_RIG_H
#define TL_OS_TEST_RIG_H

#include <stdlib.h>

#include "base/testing.h"
#include "linux/isa.h"
#include "linux/memory/frames.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"

static inline tl_os *tl_test_os_new(uint64_t ram_bytes) {
    tl_os *os = calloc(1, sizeof *os);
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = ram_bytes;
    assert_non_null(os);
    assert_int_equal(tl_machine_new(&config, &tl_engine_step, &os->machine, NULL), TL_OK);
    os->isa = tl_os_isa_for(os->machine->engine->isa);
    os->clock_hz = config.clock_hz;
    os->frames = tl_frames_new(os->machine->ram, 0, config.ram_bytes);
    assert_non_null(os->frames);
    return os;
}

static inline void tl_test_os_free(tl_os *os) {
    tl_frames_free(os->frames);
    tl_machine_free(os->machine);
    free(os->timers);
    free(os);
}

#endif
