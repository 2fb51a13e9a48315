// SPDX-License-Identifier: MIT
// One run of the program on a machine of its own. Limits count the program's instructions, not the
// reader's.
#ifndef TL_COMPARE_ENVIRONMENT_H
#define TL_COMPARE_ENVIRONMENT_H

#include "compare/setup.h"
#include "linux/os.h"

typedef struct tl_environment {
    const tl_compare_setup *setup;
    tl_machine *machine;
    tl_os *os;
    uint64_t reader_insns; // retired by readers, part of the harts' total
    bool has_ended;
    bool is_bounded; // by setup->max_insns
    tl_os_report report;
} tl_environment;

TL_MUST_CHECK tl_status tl_environment_open(const tl_compare_setup *setup, tl_environment *ret_environment, tl_error *err);
// Runs until every hart stands at `cycle` or the program has retired `insns`, whichever comes
// first, or it has ended.
TL_MUST_CHECK tl_status tl_environment_run(tl_environment *environment, uint64_t cycle, uint64_t insns, tl_error *err);
uint64_t tl_environment_program_insns(const tl_environment *environment);
uint64_t tl_environment_cycles(const tl_environment *environment);
void tl_environment_close(tl_environment *environment);

#endif
