// SPDX-License-Identifier: MIT
// Confusion matrices of the cross-core monitor's inferences, and pictures of what it read directly.
#ifndef TL_REPORT_TRIALS_H
#define TL_REPORT_TRIALS_H

#include <stdio.h>

#include <tally/debugger.h>

extern const char *const tl_trial_structures[TL_DEBUGGER_ALGORITHMS], *const tl_trial_reasons[TL_DEBUGGER_REASONS];
// One set: text, or an object of schema tally.xcm/1.
void tl_trials_write_text(const tl_debugger_trials *set, FILE *stream);
void tl_trials_write_json(const tl_debugger_trials *set, FILE *stream);
// All sets in one picture.
void tl_trials_write_svg(const tl_debugger_trials *sets, uint32_t n, FILE *stream);
// tl_debugger_write_map.
void tl_entries_write_svg(const tl_debugger_entry *entries, uint32_t n, FILE *stream);
#endif
