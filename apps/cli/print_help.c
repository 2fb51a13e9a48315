// SPDX-License-Identifier: MIT
// A program of the build host, which prints what is installed beside tally: `print_help man` as
// `tally help man` does. A cross build cannot run tally itself.
#include <string.h>

#include "options.h"

const char *tl_version(void) { return TL_VERSION; } // the library's, which is of the other host

int main(int argc, char **argv) { return argc == 2 && cli_print_topic(argv[1], stdout) && fflush(stdout) == 0 ? 0 : STATUS_USAGE; }
