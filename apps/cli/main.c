// SPDX-License-Identifier: MIT
// The command line: reads it, does the verb, returns its status. Everything it can do,
// include/tally/ can do.
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

static int help(const char *topic) {
    if (!topic) {
        cli_print_overview(stdout);
        return 0;
    }
    if (cli_print_topic(topic, stdout))
        return 0;
    const char *names[2 * N_VERBS + 5] = {"man", "markdown", "completion", "completion-zsh", "completion-fish"};
    size_t n_names = 5;
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        if (!strcmp(topic, cli_verbs[verb].name) || (cli_verbs[verb].alias && !strcmp(topic, cli_verbs[verb].alias))) {
            cli_print_help((cli_verb)verb, stdout);
            cli_print_designs((cli_verb)verb, stdout);
            return 0;
        }
        names[n_names++] = cli_verbs[verb].name;
    }
    const char *nearest = cli_nearest(topic, names, n_names);
    fprintf(stderr, "tally: there is no help on %s%s%s%s\n", topic, nearest ? "; did you mean " : "", nearest ? nearest : "",
            nearest ? "?" : "");
    return STATUS_USAGE;
}

static int run_suite(const cli_options *options) {
    if (!strcmp(options->suite, "l1miss"))
        return cli_suite_l1miss(options);
    return !strcmp(options->suite, "xcm") ? cli_suite_xcm(options) : cli_suite(options);
}

int main(int argc, char **argv, char **environment) {
    cli_options options;
    char error[512];
    signal(SIGXFSZ, SIG_IGN); // a file size limit becomes a reported error
    int status = STATUS_USAGE;
    if (!cli_parse(argc, argv, environment, &options, error, sizeof error)) {
        fprintf(stderr, "tally: %s\n", error);
    } else if (options.wants_help) {
        cli_print_help(options.verb, stdout);
        cli_print_designs(options.verb, stdout);
        status = 0;
    } else {
        switch (options.verb) {
        case VERB_STAT:
        case VERB_RECORD:
        case VERB_BOOT: status = cli_stat(&options); break;
        case VERB_REPORT:
        case VERB_ANNOTATE: status = cli_report(&options); break;
        case VERB_EXPORT: status = cli_export(&options); break;
        case VERB_LIST: status = cli_list(&options); break;
        case VERB_DESCRIBE: status = cli_describe(&options); break;
        case VERB_DIFF: status = cli_diff(&options); break;
        case VERB_COMPARE: status = cli_compare(&options); break;
        case VERB_SWEEP: status = cli_sweep(&options, argc, argv); break;
        case VERB_SUITE: status = run_suite(&options); break;
        case VERB_OPEN_RECORDS: status = cli_open_records(&options); break;
        case VERB_TENANTS: status = cli_tenants(&options); break;
        case VERB_OOB: status = cli_oob(&options); break;
        case VERB_MONITOR: status = cli_monitor(&options); break;
        case VERB_HELP: status = help(options.topic); break;
        case VERB_VERSION:
            printf("tally %s\n", tl_version());
            status = 0;
            break;
        case N_VERBS: break;
        }
    }
    cli_options_done(&options);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("tally: standard output");
        return status ? status : STATUS_FAILED;
    }
    return status;
}
