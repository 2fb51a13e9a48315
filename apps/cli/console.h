// SPDX-License-Identifier: MIT
// The user's terminal as the serial console of a guest. It is raw, so that the guest gets every
// key. Ctrl-A is the way out. The terminal is given back however the program ends, except by
// SIGKILL.
#ifndef TALLY_CLI_CONSOLE_H
#define TALLY_CLI_CONSOLE_H

#include <stdbool.h>

// A terminal on standard input that this process may read becomes raw. *ret_input is then a
// descriptor that yields typed bytes without escapes. Without a terminal, *ret_input is standard
// input, unchanged. With another job's terminal in the background, *ret_input is -1. False: the
// host refused; errno says why.
bool cli_console_open(int *ret_input);
void cli_console_close(void);      // may be called without open, and again
void cli_console_restore(void);    // the terminal alone; safe in a signal handler
bool cli_console_wants_quit(void); // Ctrl-A x was typed; safe in a signal handler

#endif
