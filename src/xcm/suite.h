// SPDX-License-Identifier: MIT
// How often the monitor's inferences are right: random questions about a program's branch target
// buffer, return stack, TLBs and L2, whose answers stand beside the machine's own contents. The
// program is guest/bare/a64/monitored.c.
#ifndef TL_XCM_SUITE_H
#define TL_XCM_SUITE_H

#include <tally/debugger.h>

#include "xcm/model.h"

typedef struct tl_xcm_question {
    uint64_t args[4]; // of PROBE
    bool truth;       // the entry is there
} tl_xcm_question;

// A question about the target, which is halted. TL_EINVAL: the program lacks a symbol.
TL_MUST_CHECK tl_status tl_xcm_ask(tl_xcm_model *model, xcm_algorithm algorithm, uint64_t *seed, tl_xcm_question *ret_question,
                                   tl_error *err);
// Whether the entry of the question is there now.
bool tl_xcm_truth(tl_xcm_model *model, const uint64_t args[4]);
// tl_debugger_measure.
TL_MUST_CHECK tl_status tl_xcm_measure(const tl_debugger_trial_options *options, tl_debugger_trials *ret_trials, tl_error *err);

#endif
