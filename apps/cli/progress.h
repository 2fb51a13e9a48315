// SPDX-License-Identifier: MIT
// A line on a terminal that says how far long work is. It comes after two seconds and goes when the
// work ends; files and pipes never see it.
#ifndef TALLY_CLI_PROGRESS_H
#define TALLY_CLI_PROGRESS_H

#include <stdbool.h>

void cli_progress_begin(bool is_wanted); // shows nothing if standard error is no terminal
void cli_progress_set(const char *step); // copied; what is done now
void cli_progress_erase(void);           // before anything else is written to standard error
void cli_progress_end(void);             // may be called without begin

#endif
