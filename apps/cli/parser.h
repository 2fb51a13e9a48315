// SPDX-License-Identifier: MIT
// Internals of the parser: options.c reads the command line, values.c sets the options.
#ifndef TALLY_CLI_PARSER_H
#define TALLY_CLI_PARSER_H

#include "options.h"

typedef struct cli_parser {
    cli_options *out;
    char *const *environment;
    char *error;
    size_t error_size;
} cli_parser;

// Says what is wrong; returns false.
bool cli_fail(cli_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Adds a copy of prefix and text to the list.
bool cli_append(cli_parser *p, cli_strings *list, const char *prefix, const char *text);
// One option with its value, or NULL if it takes none. `id` is of ids.h.
bool cli_take(cli_parser *p, int id, const char *text);

#endif
