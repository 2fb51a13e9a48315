// SPDX-License-Identifier: MIT
// tally export: a profile as a file of another tool's format.
#include <tally/export.h>

#include <string.h>
#include <unistd.h>

#include "options.h"
#include "output.h"

static bool find_row(const char *name, tl_export_row *ret_row) {
    for (uint32_t i = 0; i < tl_export_n_rows(); i++) {
        *ret_row = (tl_export_row){.size = sizeof *ret_row};
        tl_export_row_at(i, ret_row);
        if (strcmp(ret_row->name, name) == 0)
            return true;
    }
    return false;
}

// Text goes to standard output by default, as folded stacks are piped. A terminal gets no bytes.
static bool goes_to_file(const cli_options *options, const tl_export_row *row, const char **ret_path) {
    *ret_path = options->output ? options->output : row->file;
    if (options->output)
        return strcmp(options->output, "-") != 0;
    return row->is_binary && isatty(STDOUT_FILENO);
}

int cli_export(const cli_options *options) {
    tl_error err = {0};
    tl_profile_view *view = NULL;
    tl_export_row row;
    cli_output output = {0};
    const char *path;
    if (!find_row(options->export_format, &row)) {
        fprintf(stderr, "tally: there is no export format %s; tally help export names them\n", options->export_format);
        return STATUS_USAGE;
    }
    tl_status status = tl_profile_view_open(options->profile_file ? options->profile_file : "tally.profile", &view, &err);
    if (status != TL_OK) {
        fprintf(stderr, "tally: %s\n", err.text);
        return STATUS_FAILED;
    }
    const bool is_file = goes_to_file(options, &row, &path);
    if (is_file && !cli_output_open(&output, "output", path, false)) {
        tl_profile_view_close(view);
        return STATUS_FAILED;
    }
    FILE *stream = is_file ? output.stream : stdout;
    status = tl_profile_export(view, row.name, options->joined_events, stream, &err);
    tl_profile_view_close(view);
    if (!is_file && status != TL_OK)
        fprintf(stderr, "tally: %s\n", err.text);
    if (is_file && !cli_output_end(&output, status, &err) && status == TL_OK)
        return STATUS_FAILED;
    if (is_file && status == TL_OK && !options->output)
        fprintf(stderr, "tally: wrote %s\n", path);
    return cli_status_of_question(status);
}
