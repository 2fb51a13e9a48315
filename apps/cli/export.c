// SPDX-License-Identifier: MIT
// tally export: a profile as a file of another tool's format.
#include <tally/export.h>

#include <string.h>
#include <sys/stat.h>
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

static bool is_folder(const char *path) {
    struct stat about;
    return path && stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

// Text goes to standard output by default, as folded stacks are piped. A terminal gets no bytes.
static bool goes_to_file(const cli_options *options, const tl_export_row *row) {
    if (options->output)
        return strcmp(options->output, "-") != 0;
    return row->is_binary && isatty(STDOUT_FILENO);
}

// Returns an exit status. path NULL: standard output.
static int write_format(const tl_profile_view *view, const char *format, const char *events, const char *path) {
    tl_error err = {0};
    cli_output output = {0};
    if (path && !cli_output_open(&output, "output", path, false))
        return STATUS_FAILED;
    const tl_status status = tl_profile_export(view, format, events, path ? output.stream : stdout, &err);
    if (!cli_output_end(&output, status, &err) && status == TL_OK)
        return STATUS_FAILED;
    return cli_status_of_question(status);
}

// In a folder, files have their default names, and formats that belong together are both written.
static int write_folder(const tl_profile_view *view, const cli_options *options, tl_export_row row) {
    int status = 0;
    for (bool is_last = false; status == 0 && !is_last;) {
        char path[4096];
        if (snprintf(path, sizeof path, "%s/%s", options->output, row.file) >= (int)sizeof path)
            path[sizeof path - 1] = '\0'; // the system refuses it
        status = write_format(view, row.name, options->joined_events, path);
        is_last = !row.companion || !find_row(row.companion, &row);
    }
    return status;
}

int cli_export(const cli_options *options) {
    tl_error err = {0};
    tl_profile_view *view = NULL;
    tl_export_row row;
    if (!find_row(options->export_format, &row)) {
        fprintf(stderr, "tally: there is no export format %s; tally help export names them\n", options->export_format);
        return STATUS_USAGE;
    }
    if (tl_profile_view_open(options->profile_file ? options->profile_file : "tally.profile", &view, &err) != TL_OK) {
        fprintf(stderr, "tally: %s\n", err.text);
        return STATUS_FAILED;
    }
    const bool is_file = goes_to_file(options, &row);
    const char *const path = !is_file ? NULL : options->output ? options->output : row.file;
    const int status =
        is_folder(options->output) ? write_folder(view, options, row) : write_format(view, row.name, options->joined_events, path);
    tl_profile_view_close(view);
    if (is_file && status == 0 && !options->output)
        fprintf(stderr, "tally: wrote %s\n", path);
    return status;
}
