// SPDX-License-Identifier: MIT
// tally diff: two reports beside each other, and gates on the difference.
#include <tally/diff.h>

#include "options.h"

int cli_diff(const cli_options *options) {
    tl_error err = {0};
    tl_result *before = NULL, *after = NULL;
    tl_diff *diff = NULL;
    int status = STATUS_FAILED;
    if (tl_result_read(options->before, &before, &err) != TL_OK || tl_result_read(options->after, &after, &err) != TL_OK)
        goto out;
    tl_status made = tl_diff_new(before, after, (const char *const *)options->gates.items, &diff, &err);
    if (made != TL_OK) {
        status = made == TL_ENOMEM ? STATUS_FAILED : STATUS_USAGE;
        goto out;
    }
    if (options->joined_events && tl_diff_select(diff, options->joined_events, &err) != TL_OK) {
        status = STATUS_USAGE;
        goto out;
    }
    tl_diff_format format = options->wants_json ? TL_DIFF_JSON : options->wants_markdown ? TL_DIFF_MARKDOWN : TL_DIFF_TEXT;
    if (tl_diff_write(diff, format, options->with_equal, stdout, &err) == TL_OK)
        status = tl_diff_n_failed(diff) > 0 ? STATUS_GATE : 0;
out:
    if (status >= STATUS_USAGE)
        fprintf(stderr, "tally: %s\n", err.text);
    tl_diff_free(diff);
    tl_result_free(before);
    tl_result_free(after);
    return status;
}
