// SPDX-License-Identifier: MIT
// The command line as data. Each program has one table of options, which serves parsing, help, man
// page and shell completion. A parse yields values. Parsing executes nothing and opens nothing.
#ifndef TALLY_CLI_OPTIONS_H
#define TALLY_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/catalogue.h>
#include <tally/compare.h>
#include <tally/profile.h>
#include <tally/report.h>
#include <tally/run.h>
#include <tally/uop_trace.h>

enum { CLI_SENTENCE_BYTES = 1024 };
// Names that a verb's help lists last, for scripts of completion.
#define CLI_LIST_GRANTS "tally stat --help 2>/dev/null | sed -n '/^Names of --grant:/,$s/^  \\([a-z0-9_]*\\) .*/\\1/p'"
#define CLI_LIST_SUITES "tally suite --help 2>/dev/null | sed -n '/^Suites:/,$s/^  \\([a-z0-9_]*\\) .*/\\1/p'"
#define CLI_TOPICS "man markdown completion completion-zsh completion-fish"

typedef enum cli_verb {
    VERB_STAT,
    VERB_BOOT,
    VERB_RECORD,
    VERB_REPORT,
    VERB_ANNOTATE,
    VERB_EXPORT,
    VERB_LIST,
    VERB_DESCRIBE,
    VERB_DIFF,
    VERB_COMPARE,
    VERB_SWEEP,
    VERB_SUITE,
    VERB_OPEN_RECORDS,
    VERB_TENANTS,
    VERB_OOB,
    VERB_MONITOR,
    VERB_HELP,
    VERB_VERSION,
    N_VERBS
} cli_verb;

typedef struct cli_verb_row {
    const char *name, *alias; // alias may be NULL
    const char *usage;        // text after the name
    const char *summary;      // one line
    const char *description;  // paragraphs for --help and the man page
} cli_verb_row;

extern const cli_verb_row cli_verbs[N_VERBS];

typedef struct cli_option {
    unsigned verbs;       // bit set of cli_verb
    int id;               // identifier for the parser's switch
    char letter;          // or 0
    const char *name;     // long name
    const char *argument; // placeholder, or NULL when it takes none
    const char *group;    // heading in the help
    const char *help;     // one or more sentences
    // Values for completion, separated by spaces; "@machines" and the like; or NULL.
    const char *words;
} cli_option;

extern const cli_option cli_option_rows[];
extern const size_t cli_n_option_rows;

// A NULL-terminated list of strings, owned.
typedef struct cli_strings {
    char **items;
    size_t n;
} cli_strings;

typedef struct cli_options {
    cli_verb verb;
    bool wants_help; // --help was given: print the verb's help, do nothing else

    // stat and boot; `run.program` is as typed. Pointers in `run` and `report` point into argv or
    // into the lists below.
    tl_run_options run;
    tl_report_options report;
    unsigned n_runs;
    const char *output; // NULL: standard error
    int log_fd;         // --log-fd; -1: not given
    bool is_appending;
    bool no_progress;
    const char *host_profile;  // file, or NULL
    uint64_t timeout_ms;       // 0: none
    const char *argv0;         // NULL: as typed, its folder replaced by a dot
    char *const *program_argv; // from argv; [0] is the program as typed
    const char *title;         // program or kernel as typed, for messages
    bool wants_report;         // boot: the user requested counts
    bool has_host_options;     // one that concerns Linux programs only was given
    cli_strings events, metrics, overrides, env, gates, guest_argv;
    char *joined_events, *joined_metrics;
    tl_region regions[TL_MAX_REGIONS]; // their texts are ours
    uint32_t n_regions;
    bool requires_regions;

    // record
    bool records_uops; // --pipeline
    const char *trace; // file
    tl_uop_trace_format trace_format;
    uint64_t max_traced; // instructions
    bool with_sources, with_calls;
    bool has_trace; // -o was given

    // report, annotate, diff of profiles
    tl_profile_report_options profile;
    tl_profile_annotate_options annotate;
    const char *profile_file; // -i
    const char *html;         // the page's file; NULL: text
    const char *export_format;
    const char *color; // auto, always, never; NULL: auto
    bool no_pager;

    // list
    tl_list_kind list_kind;
    bool lists_everything; // no kind was named: an overview
    const char *list_glob;
    tl_list_format list_format;
    bool list_portable;
    const char *pmu; // list events -P

    // describe
    bool describes_machine;
    const char *described; // NULL: rocket, or every PMU
    tl_describe_format describe_format;
    bool wants_cost;
    unsigned n_units, n_counters; // --units; 0: not given

    // diff
    const char *before, *after;
    bool with_equal;
    bool wants_json, wants_markdown;

    // compare; its `run` is made of the one above, and a report goes to standard output unless
    // `output` is given
    tl_compare_options compare;
    bool lists_watched;         // name the events, run nothing
    uint64_t n_watched;         // the first n events; 0: those of -e, or the default events
    const char *plot;           // file of the picture, or NULL
    const char *program_output; // where the program's own output goes, or NULL: nowhere

    // sweep; its table goes to standard output unless `output` is given
    cli_strings varies;
    const char *cells; // folder of the cells' results; NULL: a temporary one
    unsigned n_jobs;   // 0: as many as processors
    bool uses_slurm;
    bool has_only; // run cells only_first, only_first + only_step... and print nothing
    uint64_t only_first, only_step;

    // suite; the number of instructions is run.max_insns
    const char *suite;      // the PMU design that is read
    const char *bench;      // folder of the bench programs
    char *const *workloads; // from argv; none: all
    size_t n_workloads;

    // open-records; tenants: the folder of records
    const char *records, *key;
    const char *tenants; // tenants: the file
    const char *monitor; // tenants: instead of the file's
    const char *oob;     // tenants, oob: the socket; oob, monitor: `workloads` are its commands
    bool oob_hold;       // tenants: the chip stands at the end, and the socket answers

    const char *topic; // help
} cli_options;

// Reads a command line. False: `error` holds one sentence, to be followed by exit status 2. In both
// cases cli_options_done frees. `environment` is where --env NAME takes its value.
bool cli_parse(int argc, char *const *argv, char *const *environment, cli_options *ret_options, char *error, size_t error_size);
void cli_options_done(cli_options *options);

// Checked numbers, the whole text or nothing. Suffixes k, M, G are powers of 1000; Ki, Mi, Gi
// powers of 1024.
bool cli_parse_count(const char *text, uint64_t *ret_value);
// Takes 65536, 64K, 64KiB.
bool cli_parse_size(const char *text, uint64_t *ret_bytes);
// Takes "10", "2.5s", "300ms", "2m", "1h".
bool cli_parse_duration_ms(const char *text, uint64_t *ret_ms);
// Takes "10ms", "1M", "1Mi", "500kc".
bool cli_parse_interval(const char *text, tl_interval *ret_kind, uint64_t *ret_length);

// The name in `names` closest to `word`, or NULL when none is close.
const char *cli_nearest(const char *word, const char *const *names, size_t n_names);

// designs.c: names of PMU designs that have something, as the library lists them.
typedef enum cli_trait {
    CLI_IS_GRANTED,     // names of --grant
    CLI_HAS_COST,       // of describe pmu NAME --cost
    CLI_IS_READ_AT_END, // of suite
} cli_trait;
enum { CLI_MAX_DESIGNS = 32 };
size_t cli_designs(cli_trait trait, const char *ret_names[CLI_MAX_DESIGNS]);
bool cli_is_design(cli_trait trait, const char *name);
// "a, b and c" with last " and "; "none". Returns ret_text.
const char *cli_design_list(cli_trait trait, const char *last, char *ret_text, size_t size);
// Below the help of a verb: the names that it takes.
void cli_print_designs(cli_verb verb, FILE *stream);

// program.c: as execvp does, finds the first executable match in PATH, else the first match. With
// `root` (--root, or NULL), finds the first match in the standard folders below it, as the guest
// names it. The caller frees the path. NULL: no match (*ret_found is false), or the host has no
// memory left.
char *cli_find_program(const char *name, const char *root, bool *ret_found);
// The exit status of a library's status. A run of several: names are the user's words, and a file
// may be no program.
int cli_status_of_run(tl_status status);
int cli_status_of_question(tl_status status);              // about a file that is open
int cli_say_not_found(const char *name, const char *root); // returns the exit status
void cli_explain_not_found(const char *name, const char *root, char *ret_sentence, size_t size);

// help.c
void cli_print_overview(FILE *stream);
void cli_print_help(cli_verb verb, FILE *stream);
// A line of a list below the help.
void cli_put_word(FILE *stream, const char *word, const char *meaning);
void cli_print_man(FILE *stream);
void cli_print_markdown(FILE *stream);
void cli_print_completion(FILE *stream); // for bash
// A page of CLI_TOPICS; false: there is none of that name.
bool cli_print_topic(const char *topic, FILE *stream);

// completion.c
void cli_print_zsh_completion(FILE *stream);
void cli_print_fish_completion(FILE *stream);

// profile.c: --host-profile. Adds the samples of a run to the sum, and prints the sum. host_ns and
// instructions are those of all runs.
void cli_profile_add(const tl_run *run, tl_host_profile *sum);
void cli_profile_write(FILE *stream, const tl_host_profile *sum, tl_engine engine, uint64_t host_ns, uint64_t instructions);
// Gives sentence number `index` about large shares, without a full stop. false: there is none.
bool cli_profile_advice(const tl_host_profile *sum, tl_engine engine, uint32_t index, char *ret_sentence, size_t n);

// The verbs: each returns the exit status.
int cli_stat(cli_options *options); // boot and record, too
int cli_report(const cli_options *options);
int cli_list(const cli_options *options);
int cli_describe(const cli_options *options);
int cli_diff(const cli_options *options);
int cli_compare(cli_options *options);
int cli_suite(const cli_options *options);
int cli_sweep(cli_options *options, int argc, char *const *argv);
int cli_open_records(const cli_options *options);
int cli_tenants(const cli_options *options);
int cli_oob(const cli_options *options);
int cli_export(const cli_options *options);
int cli_monitor(const cli_options *options);
int cli_suite_l1miss(const cli_options *options);
int cli_suite_xcm(const cli_options *options);

enum {
    STATUS_GATE = 1,
    STATUS_RESET = 1,
    STATUS_USAGE = 2,
    STATUS_UNREACHED = 123,
    STATUS_TIMEOUT = 124,
    STATUS_FAILED = 125,
    STATUS_NOT_EXECUTABLE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128
};

#endif
