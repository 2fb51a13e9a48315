// SPDX-License-Identifier: MIT
// Shared by golden tests: comparison of text with a file that holds the expected text.
#ifndef TL_TESTS_GOLDEN_H
#define TL_TESTS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void compare(const char *name, const char *got) {
    const char *root = getenv("TALLY_SOURCE_ROOT");
    assert_non_null(root);
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/reports/%s", root, name);
    if (getenv("TALLY_UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fputs(got, file);
        fclose(file);
        return;
    }
    char *want = read_file(path);
    if (!want)
        fail_msg("%s is missing", path);
    if (strcmp(want, got) != 0) {
        fprintf(stderr, "--- %s is not what was written:\n%s---\n", name, got);
        fail_msg("%s differs", name);
    }
    free(want);
}

#endif
