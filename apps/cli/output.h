// SPDX-License-Identifier: MIT
// Files written for the user. A file has a temporary name beside the final one until it is
// complete, then replaces it. A failure before that keeps the old file.
#ifndef TALLY_CLI_OUTPUT_H
#define TALLY_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include <tally/error.h>

typedef struct cli_output {
    FILE *stream;       // to write to; NULL: not open
    const char *option; // long name of the option that named the file, for messages
    const char *path;   // as typed
    // The regular file that `path` leads to; NULL: the stream is the place itself.
    char *place;
    // Temporary name; NULL: the stream has no name, and is copied into the place at the end.
    char *beside;
    char *buffer; // of the stream
    bool is_appending;
    int error; // of the host, the first one; 0: none
} cli_output;

// Opens a file of which nothing shows until cli_output_close. A device, a FIFO, /dev/stdout,
// /dev/stderr, /dev/fd/N and the like are written directly. With `is_appending` the new bytes
// follow those of the file, in one piece. False: the failure was said.
bool cli_output_open(cli_output *output, const char *option, const char *path, bool is_appending);
// The file takes its place now; what is written from here on shows line by line. False: the failure
// was said.
bool cli_output_publish(cli_output *output);
// Keeps the first error of the stream, for the message of cli_output_close.
void cli_output_check(cli_output *output);
// With `is_whole`, puts the file in its place; otherwise drops it. An output that is not open is
// fine. False: the failure was said.
bool cli_output_close(cli_output *output, bool is_whole);
// Ends a file that the library wrote with this outcome, or nothing if it is not open. Says once
// what went wrong with either. False: something did.
bool cli_output_end(cli_output *output, tl_status status, const tl_error *err);
// Removes all temporary files; safe in a signal handler.
void cli_output_drop_all(void);
// In the child of a fork: temporary files are the parent's, and no signal removes them here.
void cli_output_leave_all(void);

// Opens a copy of descriptor `fd` instead. Lines are written directly and whole. False: errno says
// why, and no message was printed.
bool cli_output_to_descriptor(cli_output *output, const char *option, const char *path, int fd);

// Writes all of it, however often a signal interrupts. False: errno says why.
bool cli_write_all(int fd, const char *bytes, size_t n_bytes);

#endif
