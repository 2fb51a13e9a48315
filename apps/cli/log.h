// SPDX-License-Identifier: MIT
// Output of a run's report and of sentences about the run: a file, a descriptor or standard error.
// Machine-readable lines on standard error never mix with other text. The log holds them back to
// the end of the run. It writes them to a file if the program wrote there, too.
#ifndef TALLY_CLI_LOG_H
#define TALLY_CLI_LOG_H

#include "options.h"
#include "output.h"

typedef struct cli_log {
    const cli_options *options;
    cli_output output;
    tl_report *report; // NULL: no report of counts
    bool is_on_stderr; // the report and the program share standard error
    bool is_held;      // output is a nameless file until the end of the run
    bool others_wrote; // runs wrote to the report's stream
    char number[16];   // of --log-fd
    // Progress is a line that is erased before anything else is written.
    bool is_text, has_progress;
} cli_log;

// Opens the outputs of the options. Returns 0, or the exit status of a reported failure.
int cli_log_open(cli_log *log, const cli_options *options);
// The program is about to run: what is written from here on shows line by line, if it has
// intervals. False: the failure was said.
bool cli_log_begin(cli_log *log);
// One sentence: on standard error, and in the report where its format has a place for it.
void cli_log_say(cli_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
// cli_log_say for a sentence that is no failure. The report holds the sentence only if it goes to
// standard error.
void cli_log_remark(cli_log *log, const char *sentence);
// Called after each run. Notes whether the program wrote to the report's place.
void cli_log_look(cli_log *log, const tl_run *run);
// With `is_whole`, puts the report in its place. False: it could not be written, which was said.
bool cli_log_close(cli_log *log, bool is_whole);

void cli_log_erase_progress(cli_log *log);

#endif
