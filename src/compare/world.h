// SPDX-License-Identifier: MIT
// One run of the program on a machine of its own. Limits count what the program does, not what a
// reader does.
#ifndef TL_COMPARE_WORLD_H
#define TL_COMPARE_WORLD_H

#include "compare/setup.h"
#include "linux/os.h"

typedef struct tl_world {
    const tl_compare_setup *setup;
    tl_machine *machine;
    tl_os *os;
    uint64_t reader_insns; // retired by readers: part of what harts retired
    bool has_ended;
    bool is_bounded; // by setup->max_insns
    tl_os_report report;
} tl_world;

TL_MUST_CHECK tl_status tl_world_open(const tl_compare_setup *setup, tl_world *ret_world, tl_error *err);
// Runs until every hart stands at `cycle` or the program has retired `insns`, whichever comes
// first, or it has ended.
TL_MUST_CHECK tl_status tl_world_run(tl_world *world, uint64_t cycle, uint64_t insns, tl_error *err);
uint64_t tl_world_program_insns(const tl_world *world);
uint64_t tl_world_cycles(const tl_world *world);
void tl_world_close(tl_world *world);

#endif
