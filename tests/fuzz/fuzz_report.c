// SPDX-License-Identifier: MIT
// Any bytes as a report to compare: accepted, or refused with a sentence. An accepted report can be
// compared with itself under any gate.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "result/diff.h"
#include "session/machine_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Input: a gate, a line feed, the report.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t n_gate = end ? (size_t)(end - data) : size;
    char *gate = malloc(n_gate + 1);
    if (!gate)
        return 0;
    if (n_gate > 0)
        memcpy(gate, data, n_gate);
    gate[n_gate] = '\0';
    size_t n_report = end ? size - n_gate - 1 : 0;
    FILE *stream = n_report > 0 ? fmemopen((void *)(uintptr_t)(end + 1), n_report, "r") : NULL;
    tl_result *result = NULL;
    tl_error err = {0};
    if (stream) {
        if (tl_result_load(stream, "input", &result, &err) != TL_OK && !err.text[0])
            abort(); // refused without a word
        fclose(stream);
    }
    if (result) {
        const char *const gates[] = {gate, NULL};
        tl_diff *diff = NULL;
        tl_catalogue *names = NULL;
        if (tl_machine_names_new_of_pairs(&names, &err) != TL_OK || tl_diff_make(result, result, names, NULL, &diff, &err) != TL_OK)
            abort();
        for (uint32_t i = 0; i < diff->n_lines; i++) {
            if (!diff->lines[i].before || !diff->lines[i].after)
                abort(); // every row is in both
        }
        tl_diff_release(diff);
        if (tl_diff_make(result, result, names, gates, &diff, &err) == TL_OK)
            tl_diff_release(diff);
        tl_catalogue_free(names);
    }
    tl_result_release(result);
    free(gate);
    return 0;
}
