// SPDX-License-Identifier: MIT
// Any words as a command line: they are read or refused with a sentence, and nothing is executed.
// Input: words separated by NUL.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../apps/cli/options.h"

enum { MAX_WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char *environment[] = {"HOME=/home", "EMPTY=", "NOEQUALS", NULL};
    char *text = malloc(size + 1), *argv[MAX_WORDS + 2] = {"tally"};
    int argc = 1;
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 0; at < size && argc <= MAX_WORDS; at += strlen(text + at) + 1)
        argv[argc++] = text + at;
    cli_options options;
    char error[512];
    if (!cli_parse(argc, argv, environment, &options, error, sizeof error) && !error[0])
        abort(); // refused without a word
    cli_options_done(&options);
    cli_options_done(&options); // twice is fine
    free(text);
    return 0;
}
