// SPDX-License-Identifier: MIT
// The user's terminal as the serial console of a guest: raw, so that the guest gets every key, with
// Ctrl-A as the way out. The terminal is given back however the program ends, except by SIGKILL.
#ifndef TALLY_CLI_CONSOLE_H
#define TALLY_CLI_CONSOLE_H

#include <stdbool.h>

// If standard input is a terminal that this process may read: makes it raw and sets *ret_input to a
// descriptor that yields what is typed, but for the escapes. Otherwise standard input itself, which
// is left as it is; a terminal of somebody else's in the background: -1. False: the host refused;
// errno says why.
bool cli_console_open(int *ret_input);
void cli_console_close(void);      // may be called without open, and again
void cli_console_restore(void);    // the terminal alone; safe in a signal handler
bool cli_console_wants_quit(void); // Ctrl-A x was typed; safe in a signal handler

#endif
