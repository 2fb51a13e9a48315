// SPDX-License-Identifier: MIT
// tally report and tally annotate: profiles as text, or as a page. Long text on a terminal goes
// through $PAGER.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "options.h"
#include "output.h"

static bool wants_color(const cli_options *options) {
    if (options->color && strcmp(options->color, "auto") != 0)
        return strcmp(options->color, "always") == 0;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
}

static void look_at_terminal(uint32_t *width, unsigned *ret_height) {
    struct winsize size = {0};
    *ret_height = 0;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return;
    *ret_height = size.ws_row;
    if (*width == 0)
        *width = size.ws_col;
}

static bool is_longer(const char *text, unsigned n_lines) {
    for (; n_lines > 0 && (text = strchr(text, '\n')) != NULL; n_lines--)
        text++;
    return text != NULL;
}

// Prints the text, by a pager if it is longer than the terminal.
static bool show(const cli_options *options, const char *text, size_t n_bytes, unsigned height) {
    const char *pager = getenv("PAGER");
    FILE *stream = NULL;
    if (height > 0 && !options->no_pager && pager && *pager && is_longer(text, height)) {
        setenv("LESS", "FRX", 0); // colors pass through
        stream = popen(pager, "w");
    }
    if (stream) {
        fwrite(text, 1, n_bytes, stream);
        pclose(stream); // a reader that leaves early is fine
        return true;
    }
    return fwrite(text, 1, n_bytes, stdout) == n_bytes && fflush(stdout) == 0;
}

static tl_status print(const cli_options *options, const tl_profile_view *view, bool has_color, uint32_t width, FILE *stream,
                       tl_error *err) {
    if (options->verb == VERB_ANNOTATE) {
        tl_profile_annotate_options annotate = options->annotate;
        annotate.size = sizeof annotate;
        annotate.events = options->joined_events;
        annotate.has_color = has_color;
        return tl_profile_annotate(view, &annotate, stream, err);
    }
    tl_profile_report_options report = options->profile;
    report.size = sizeof report;
    report.events = options->joined_events;
    report.has_color = has_color;
    report.width = width;
    if (options->wants_json)
        report.format = TL_PROFILE_JSON;
    return tl_profile_report(view, &report, stream, err);
}

static int print_page(const cli_options *options, const tl_profile_view *view) {
    tl_error err = {0};
    cli_output output = {0};
    const bool is_file = strcmp(options->html, "-") != 0;
    const tl_profile_page_options page = {.size = sizeof page,
                                          .events = options->joined_events,
                                          .source_root = options->annotate.source_root,
                                          .without_sources = options->annotate.without_sources};
    if (is_file && !cli_output_open(&output, "html", options->html, false))
        return STATUS_FAILED;
    const tl_status status = tl_profile_page(view, &page, is_file ? output.stream : stdout, &err);
    if (!cli_output_end(&output, status, &err) && status == TL_OK)
        return STATUS_FAILED;
    return cli_status_of_question(status);
}

int cli_report(const cli_options *options) {
    tl_error err = {0};
    tl_profile_view *view = NULL;
    uint32_t width = options->profile.width;
    unsigned height;
    char *text = NULL;
    size_t n_bytes = 0;
    tl_status status = tl_profile_view_open(options->profile_file ? options->profile_file : "tally.profile", &view, &err);
    if (status != TL_OK) {
        fprintf(stderr, "tally: %s\n", err.text);
        return STATUS_FAILED;
    }
    if (options->html) {
        const int exit_status = print_page(options, view);
        tl_profile_view_close(view);
        return exit_status;
    }
    look_at_terminal(&width, &height);
    FILE *stream = open_memstream(&text, &n_bytes);
    int exit_status = 0;
    if (!stream) {
        fprintf(stderr, "tally: %s\n", strerror(errno));
        exit_status = STATUS_FAILED;
    } else {
        status = print(options, view, wants_color(options), width, stream, &err);
        if (fclose(stream) != 0 && status == TL_OK) {
            status = TL_ENOMEM;
            snprintf(err.text, sizeof err.text, "the host has no memory left");
        }
        if (status != TL_OK) {
            fprintf(stderr, "tally: %s\n", err.text);
            exit_status = cli_status_of_question(status);
        } else if (!show(options, text, n_bytes, height)) {
            fprintf(stderr, "tally: standard output: %s\n", strerror(errno));
            exit_status = STATUS_FAILED;
        }
    }
    free(text);
    tl_profile_view_close(view);
    return exit_status;
}
