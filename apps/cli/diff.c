// SPDX-License-Identifier: MIT
// tally diff: two reports beside each other, and gates on the difference.
#include <tally/diff.h>
#include <tally/profile.h>

#include <string.h>

#include "options.h"

// A profile is an SQLite database.
static bool is_profile(const char *path) {
    static const char magic[] = "SQLite format 3";
    char bytes[sizeof magic] = "";
    FILE *stream = strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    const bool is_one = stream && fread(bytes, 1, sizeof bytes, stream) == sizeof bytes && memcmp(bytes, magic, sizeof magic) == 0;
    if (stream)
        fclose(stream);
    return is_one;
}

static int diff_profiles(const cli_options *options) {
    tl_error err = {0};
    tl_profile_view *before = NULL, *after = NULL;
    tl_profile_report_options how = options->profile;
    how.size = sizeof how;
    how.events = options->joined_events;
    int status = STATUS_USAGE;
    tl_status made = TL_EINVAL;
    if (options->gates.n > 0 || options->wants_json || options->wants_markdown || options->with_equal)
        snprintf(err.text, sizeof err.text,
                 "--fail-on, --json, --md and --all are for reports of tally stat; profiles have -e, --sort and "
                 "--percent-limit");
    else if ((made = tl_profile_view_open(options->before, &before, &err)) == TL_OK &&
             (made = tl_profile_view_open(options->after, &after, &err)) == TL_OK)
        made = tl_profile_compare(before, after, &how, stdout, &err);
    if (made == TL_OK)
        status = 0;
    else if (made != TL_EINVAL && made != TL_ENOENT)
        status = STATUS_FAILED;
    if (status != 0)
        fprintf(stderr, "tally: %s\n", err.text);
    tl_profile_view_close(before);
    tl_profile_view_close(after);
    return status;
}

int cli_diff(const cli_options *options) {
    if (is_profile(options->before) || is_profile(options->after))
        return diff_profiles(options);
    if (options->profile.sort || options->profile.percent_limit > 0) {
        fputs("tally: --sort and --percent-limit are for profiles of tally record\n", stderr);
        return STATUS_USAGE;
    }
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
