// SPDX-License-Identifier: MIT
// Tables in docs/ that the program makes: a test compares them and, with TALLY_UPDATE_DOCS=1,
// rewrites them.
#ifndef TL_BASE_TEST_DOCS_H
#define TL_BASE_TEST_DOCS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/testing.h"

// Reads a file of the source tree; skips the test when it runs outside of one.
static inline void read_tree_file(const char *name, tl_strbuf *ret_text) {
    const char *root = getenv("TALLY_SOURCE_ROOT");
    if (!root)
        skip();
    char path[4096], buffer[4096];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", name);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;)
        tl_strbuf_add_n(ret_text, buffer, n);
    fclose(file);
}

// The lines of `name` between "<!-- MARK: ..." and "<!-- end of MARK -->" must be `table`.
static inline void check_docs_table(const char *name, const char *mark, const char *table) {
    tl_strbuf docs = {0}, now = {0};
    char begin[64], end[64];
    snprintf(begin, sizeof begin, "<!-- %s: ", mark);
    snprintf(end, sizeof end, "<!-- end of %s -->", mark);
    read_tree_file(name, &docs);
    const char *first = strstr(tl_strbuf_text(&docs), begin), *last = first ? strstr(first, end) : NULL;
    first = first ? strchr(first, '\n') : NULL;
    if (!last || !first || first > last)
        fail_msg("%s has no lines %s... and %s", name, begin, end);
    tl_strbuf_add_n(&now, docs.text, (size_t)(first + 1 - docs.text));
    tl_strbuf_add(&now, table);
    tl_strbuf_add(&now, last);
    int is_current = strcmp(tl_strbuf_text(&now), tl_strbuf_text(&docs)) == 0;
    if (!is_current && getenv("TALLY_UPDATE_DOCS")) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", getenv("TALLY_SOURCE_ROOT"), name);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(tl_strbuf_text(&now), file);
        fclose(file);
        is_current = 1;
    }
    tl_strbuf_done(&docs);
    tl_strbuf_done(&now);
    if (!is_current)
        fail_msg("%s is stale; run this test with TALLY_UPDATE_DOCS=1", name);
}

#endif
