// SPDX-License-Identifier: MIT
// Symbols of standard input as names, a line each, for demangle.py. With an argument it omits
// parameters.
#include <stdio.h>
#include <string.h>

#include "base/demangle.h"

int main(int argc, char **argv) {
    static char line[1 << 16];
    char text[TL_DEMANGLE_BYTES];
    (void)argv;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        puts(tl_demangle(line, argc > 1 ? TL_DEMANGLE_NAME : TL_DEMANGLE_FULL, text) ? text : line);
    }
    return 0;
}
