// SPDX-License-Identifier: MIT
// Converts argv to cli_options. getopt_long handles the grammar: bundled letters, --name=value,
// unique prefixes, the end at the first word or after --. values.c sets the options. Conflicts of
// options are found here, before anything runs.
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ids.h"
#include "parser.h"

enum { MAX_OPTIONS = 96 };
static const uint64_t DEFAULT_SUITE_INSNS = 1000000000;

bool cli_fail(cli_parser *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->error, p->error_size, format, args);
    va_end(args);
    return false;
}

bool cli_append(cli_parser *p, cli_strings *list, const char *prefix, const char *text) {
    char **items = realloc(list->items, (list->n + 2) * sizeof *items);
    if (!items)
        return cli_fail(p, "the host has no memory left");
    list->items = items;
    size_t size = strlen(prefix) + strlen(text) + 1;
    char *copy = malloc(size);
    if (!copy)
        return cli_fail(p, "the host has no memory left");
    snprintf(copy, size, "%s%s", prefix, text);
    items[list->n++] = copy;
    items[list->n] = NULL;
    return true;
}

static void strings_done(cli_strings *list) {
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
    *list = (cli_strings){0};
}

// "a", "b" -> "a,b"; NULL for an empty list or when the host has no memory left.
static char *join(const cli_strings *list) {
    size_t size = 1;
    for (size_t i = 0; i < list->n; i++)
        size += strlen(list->items[i]) + 1;
    char *text = list->n ? malloc(size) : NULL;
    if (!text)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < list->n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "", list->items[i]);
    return text;
}

// The program's argv[0]: the typed name without folders. "/opt/x/prog" -> "./prog", "prog" ->
// "prog".
static bool append_argv0(cli_parser *p, const char *typed) {
    const char *slash = strrchr(typed, '/');
    return slash && slash[1] ? cli_append(p, &p->out->guest_argv, "./", slash + 1) : cli_append(p, &p->out->guest_argv, "", typed);
}

// Options of perf stat and their equivalents here.
static const struct {
    char letter;
    const char *name, *remedy;
} perf_options[] = {
    {0, "per-thread", "counts belong to harts; write --per-hart"},
    {0, "per-socket", "a machine is one socket; write --per-hart or --per-unit"},
    {0, "per-die", "a machine is one die; write --per-hart or --per-unit"},
    {0, "per-node", "a machine is one node; write --per-hart or --per-unit"},
    {'p', "pid", "tally counts what it runs itself; write tally stat -- PROGRAM"},
    {'t', "tid", "tally counts what it runs itself; write tally stat -- PROGRAM"},
    {'C', "cpu", "all harts are counted; write --per-hart, or -e hart0.cycle"},
    {'D', "delay", "write --roi START to begin at a function, or -I to see every part of the run"},
    {'B', "big-num", "numbers always have separators; --csv has none"},
    {'c', "scale", "nothing is scaled; -P shows what a PMU would scale"},
    {'T', "transaction", "RISC-V has no transactions; leave it out"},
    {0, "metric-only", "write -M LIST"},
    {0, "all-user", "write the events with :u"},
    {0, "all-kernel", "write the events with :k"},
    {0, "no-big-num", "write --csv"},
};

static bool unknown_option(cli_parser *p, const char *word, int letter) {
    const char *verb = cli_verbs[p->out->verb].name;
    size_t n_word = strcspn(word, "=");
    for (size_t i = 0; p->out->verb == VERB_STAT && i < sizeof perf_options / sizeof perf_options[0]; i++) {
        bool is_name = !letter && n_word == strlen(perf_options[i].name) + 2 && !strncmp(word + 2, perf_options[i].name, n_word - 2);
        if (letter ? perf_options[i].letter == letter : is_name)
            return cli_fail(p, "%s%.*s: %s", letter ? (char[]){'-', (char)letter, 0} : "", letter ? 0 : (int)n_word, word,
                            perf_options[i].remedy);
    }
    if (!letter && n_word == 6 && strncmp(word, "--jobs", n_word) == 0)
        return cli_fail(
            p,
            "--jobs: the harts of a run take turns on one processor of the host (docs/engine.md, \"Both host cores\"); "
            "tally tenants --jobs N runs partitions of a chip side by side, tally sweep -j N machines, and several tally processes programs");
    if (letter)
        return cli_fail(p, "unknown option -%c; tally %s --help lists the options", letter, verb);
    const char *names[MAX_OPTIONS];
    size_t n_names = 0;
    for (size_t i = 0; i < cli_n_option_rows && n_names < MAX_OPTIONS; i++) {
        if (cli_option_rows[i].verbs & 1u << p->out->verb)
            names[n_names++] = cli_option_rows[i].name;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *nearest = cli_nearest(name + strspn(name, "-"), names, n_names);
    if (nearest)
        return cli_fail(p, "unknown option %s; did you mean --%s?", name, nearest);
    return cli_fail(p, "unknown option %s; tally %s --help lists the options", name, verb);
}

// Options of one verb, as getopt_long wants them.
static bool read_options(cli_parser *p, int argc, char *const *argv, int *ret_first) {
    struct option longs[MAX_OPTIONS + 1] = {0};
    // Behind the program of stat and compare everything is the program's; the other verbs take
    // options anywhere.
    bool stops_at_word =
        p->out->verb == VERB_STAT || p->out->verb == VERB_RECORD || p->out->verb == VERB_COMPARE || p->out->verb == VERB_SWEEP;
    char shorts[3 + 3 * MAX_OPTIONS] = "+:";
    size_t n_longs = 0, n_shorts = 2;
    if (!stops_at_word) {
        shorts[0] = ':';
        n_shorts = 1;
        shorts[1] = '\0';
    }
    for (size_t i = 0; i < cli_n_option_rows && n_longs < MAX_OPTIONS; i++) {
        const cli_option *row = &cli_option_rows[i];
        if (!(row->verbs & 1u << p->out->verb))
            continue;
        longs[n_longs++] = (struct option){row->name, row->argument ? required_argument : no_argument, NULL, row->id};
        if (row->letter) {
            shorts[n_shorts++] = row->letter;
            if (row->argument)
                shorts[n_shorts++] = ':';
        }
    }
    optind = 0; // starts anew, with whatever glibc keeps
    opterr = 0;
    for (;;) {
        int found = getopt_long(argc, argv, shorts, longs, NULL);
        if (found == -1)
            break;
        // The option at fault, when it is a long one.
        const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
        // optopt is a letter or an id.
        if (found == ':')
            return optopt < OPT_EVENTS ? cli_fail(p, "-%c needs a value", optopt) : cli_fail(p, "%s needs a value", word);
        if (found == '?') {
            if (optopt >= OPT_EVENTS)
                return cli_fail(p, "%.*s takes no value", (int)strcspn(word, "="), word);
            return unknown_option(p, word, optopt);
        }
        int id = found;
        for (size_t i = 0; id < OPT_EVENTS && i < cli_n_option_rows; i++) {
            if (cli_option_rows[i].letter == found && cli_option_rows[i].verbs & 1u << p->out->verb)
                id = cli_option_rows[i].id;
        }
        if (!cli_take(p, id, optarg))
            return false;
        if (p->out->wants_help)
            break;
    }
    *ret_first = optind;
    return true;
}

// Content and format of the report, for stat and boot.
static bool finish_report(cli_parser *p) {
    cli_options *o = p->out;
    if (o->wants_json && o->report.format == TL_FORMAT_CSV)
        return cli_fail(p, "--csv and --json are two formats; give one");
    if (o->wants_json)
        o->report.format = o->report.format == TL_FORMAT_PERF_CSV ? TL_FORMAT_PERF_JSON : TL_FORMAT_JSON;
    if (o->n_runs > 1 && o->run.interval != TL_INTERVAL_NONE)
        return cli_fail(p, "-r and -I do not go together: intervals are of one run");
    if (o->is_appending && !o->output)
        return cli_fail(p, "--append goes with --output FILE");
    if (o->output && o->log_fd >= 0)
        return cli_fail(p, "--output and --log-fd are two places for one report; give one");
    if (o->n_runs > 1 && o->run.host_symbols != TL_HOST_SYMBOLS_NONE)
        return cli_fail(p, "--perf names the code of one run; leave out -r %u", o->n_runs);
    o->run.env = (const char *const *)o->env.items;
    o->joined_events = join(&o->events);
    o->joined_metrics = join(&o->metrics);
    if ((o->events.n && !o->joined_events) || (o->metrics.n && !o->joined_metrics))
        return cli_fail(p, "the host has no memory left");
    o->run.events = o->joined_events;
    o->run.metrics = o->joined_metrics;
    if (o->requires_regions && o->n_regions == 0 && !o->run.markers)
        return cli_fail(p, "--roi-required goes with --roi or --markers");
    // One region is the report. Of several, each has a report.
    if (o->n_regions == 1 && !o->run.markers) {
        o->run.roi_start = o->regions[0].start;
        o->run.roi_stop = o->regions[0].stop;
    } else {
        o->run.regions = o->regions;
        o->run.n_regions = o->n_regions;
    }
    return true;
}

// The program and its words; all that follows belongs to it.
static bool take_program(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (!*argv[first])
        return cli_fail(p, "the name of the program is empty");
    o->title = argv[first];
    o->wants_report = true;
    o->program_argv = argv + first;
    o->run.program = argv[first];
    if (o->argv0 ? !cli_append(p, &o->guest_argv, "", o->argv0) : !append_argv0(p, argv[first]))
        return false;
    for (int i = first + 1; i < argc; i++) {
        if (!cli_append(p, &o->guest_argv, "", argv[i]))
            return false;
    }
    o->run.argv = (const char *const *)o->guest_argv.items;
    return true;
}

static bool check_disk(cli_parser *p) {
    return !p->out->run.is_disk_writable || p->out->run.disk || cli_fail(p, "--disk-writable goes with --disk FILE");
}

static bool finish_stat(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first >= argc)
        return cli_fail(p, "no program to run; write tally stat -- PROGRAM ARGUMENTS");
    if (o->run.kind == TL_RUN_BARE && o->has_host_options)
        return cli_fail(
            p, "--sysroot, --root, --env, --network, --host-paths, --grant and --argv0 are for Linux programs; they do not go with --bare");
    if (o->run.kind == TL_RUN_BARE && first + 1 < argc)
        return cli_fail(p, "%s: a bare-metal program has no arguments", argv[first + 1]);
    if (o->run.kind != TL_RUN_BARE && o->run.disk)
        return cli_fail(p, "--disk is for the board under a bare-metal program; a Linux program has files, see --root");
    if (!check_disk(p))
        return false;
    return take_program(p, argc, argv, first) && finish_report(p);
}

static bool finish_boot(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first < argc)
        return cli_fail(p, "%s: one word too many; tally boot %s", argv[first], cli_verbs[VERB_BOOT].usage);
    if (!o->run.kernel && !o->run.bios)
        return cli_fail(p, "nothing to boot; write tally boot --kernel IMAGE, or --bios FILE for firmware that needs no kernel");
    if (!o->run.kernel && (o->run.initrd || o->run.append))
        return cli_fail(p, "--%s is for a kernel; name one with --kernel IMAGE", o->run.initrd ? "initrd" : "append");
    o->run.kind = TL_RUN_BOOT;
    o->title = o->run.kernel ? o->run.kernel : o->run.bios;
    return check_disk(p) && finish_report(p);
}

static bool finish_record(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    o->has_trace = o->trace != NULL;
    if (o->records_uops && !o->trace)
        return cli_fail(p, "-o FILE is needed: the file that the record goes to");
    if (!o->trace)
        o->trace = "tally.profile";
    if (o->records_uops && o->pmu)
        return cli_fail(p, "-P samples for a profile; leave it out, or --pipeline");
    if (o->pmu && o->run.sample_period == 0)
        return cli_fail(p, "-P %s: -c PERIOD is needed, the number of events from one sample to the next", o->pmu);
    if (!o->pmu && o->run.sample_period != 0)
        return cli_fail(p, "-c: a profile has every event, and nothing is sampled; name a PMU that samples with -P");
    if (o->run.kernel || o->run.bios) {
        if (o->records_uops)
            return cli_fail(p, "--pipeline is of a program; tally record -- PROGRAM");
        if (o->run.kernel_symbols && access(o->run.kernel_symbols, R_OK) != 0)
            return cli_fail(p, "--vmlinux %s: %s", o->run.kernel_symbols, strerror(errno));
        const bool is_good = finish_boot(p, argc, argv, first);
        o->wants_report = false;
        return is_good;
    }
    if (o->run.kernel_symbols)
        return cli_fail(p, "--vmlinux is of a kernel; name one with --kernel IMAGE");
    if (first >= argc)
        return cli_fail(p, "no program to run; write tally record -- PROGRAM ARGUMENTS");
    if (o->run.kind == TL_RUN_BARE && first + 1 < argc)
        return cli_fail(p, "%s: a bare-metal program has no arguments", argv[first + 1]);
    if (o->records_uops && (o->events.n > 0 || o->with_sources || o->with_calls))
        return cli_fail(p, "-e, -g and --with-sources are of a profile; leave them out, or --pipeline");
    if (o->records_uops && o->run.interval != TL_INTERVAL_NONE)
        return cli_fail(p, "-I is of a profile; leave it out, or --pipeline");
    if (o->records_uops && o->n_regions > 1)
        return cli_fail(p, "--roi: the pipeline is recorded of one region; give one");
    if (o->records_uops && !o->run.machine)
        o->run.machine = "ooo";
    if (!take_program(p, argc, argv, first) || !finish_report(p))
        return false;
    o->wants_report = false;
    return true;
}

// Refuses options of tally report that do not go together.
static bool check_report(cli_parser *p) {
    const cli_options *o = p->out;
    const tl_profile_report_options *table = &o->profile;
    if ((table->callers != NULL) + (table->callees != NULL) + table->with_children > 1)
        return cli_fail(p, "--children, --callers and --callees are three tables; give one");
    if (!o->html && (o->annotate.source_root || o->annotate.without_sources))
        return cli_fail(p, "--source and --no-source are of --html and of tally annotate; a table has no source text");
    if (o->html && (o->wants_json || table->format == TL_PROFILE_CSV || table->sort || table->order || table->with_children ||
                    table->callers || table->callees || table->percent_limit > 0))
        return cli_fail(p, "--html is a page with tables of its own; of the others -e, -i, --source and --no-source go with it");
    return true;
}

static bool finish_profile(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (o->verb == VERB_ANNOTATE && first >= argc)
        return cli_fail(p, "which function or source file? Write tally annotate %s", cli_verbs[o->verb].usage);
    if (o->verb == VERB_ANNOTATE)
        o->annotate.place = argv[first++];
    else if (first < argc && o->profile_file)
        return cli_fail(p, "%s: the profile is named twice, here and with -i", argv[first]);
    if (o->verb == VERB_REPORT && first < argc)
        o->profile_file = argv[first++];
    if (first < argc)
        return cli_fail(p, "%s: one word too many; tally %s %s", argv[first], cli_verbs[o->verb].name, cli_verbs[o->verb].usage);
    if (o->wants_json && o->profile.format == TL_PROFILE_CSV)
        return cli_fail(p, "--csv and --json are two formats; give one");
    if (o->verb == VERB_REPORT && !check_report(p))
        return false;
    o->joined_events = join(&o->events);
    return !o->events.n || o->joined_events || cli_fail(p, "the host has no memory left");
}

static bool finish_export(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first >= argc)
        return cli_fail(p, "which format? Write tally export %s; tally help export names the formats", cli_verbs[o->verb].usage);
    o->export_format = argv[first++];
    if (first < argc && o->profile_file)
        return cli_fail(p, "%s: the profile is named twice, here and with -i", argv[first]);
    if (first < argc)
        o->profile_file = argv[first++];
    if (first < argc)
        return cli_fail(p, "%s: one word too many; tally export %s", argv[first], cli_verbs[o->verb].usage);
    o->joined_events = join(&o->events);
    return !o->events.n || o->joined_events || cli_fail(p, "the host has no memory left");
}

static bool finish_list(cli_parser *p, int argc, char *const *argv, int first) {
    static const char *const kinds[] = {"machines", "signals", "events", "metrics", "pmus", "groups", "keys",
                                        "machine",  "signal",  "event",  "metric",  "pmu",  "group",  "key"};
    static const tl_list_kind values[] = {TL_LIST_MACHINES, TL_LIST_SIGNALS, TL_LIST_EVENTS, TL_LIST_METRICS,
                                          TL_LIST_PMUS,     TL_LIST_GROUPS,  TL_LIST_KEYS};
    cli_options *o = p->out;
    o->lists_everything = true;
    if (first < argc) {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && o->lists_everything; i++) {
            if (!strcmp(argv[first], kinds[i])) {
                o->list_kind = values[i % (sizeof values / sizeof values[0])];
                o->lists_everything = false;
            }
        }
        first += !o->lists_everything;
    }
    if (first < argc)
        o->list_glob = argv[first++];
    if (first < argc)
        return cli_fail(p, "%s: one word too many; tally list %s", argv[first], cli_verbs[VERB_LIST].usage);
    if (o->list_portable && (o->lists_everything || o->list_kind != TL_LIST_EVENTS))
        return cli_fail(p, "--portable goes with events: tally list events --portable");
    if (o->pmu && (o->lists_everything || o->list_kind != TL_LIST_EVENTS))
        return cli_fail(p, "-P goes with events: tally list events -P %s", o->pmu);
    return true;
}

// The library says which designs have a page of their cost.
static bool check_cost(cli_parser *p) {
    const cli_options *o = p->out;
    const char *names[CLI_MAX_DESIGNS];
    const char *example = cli_designs(CLI_HAS_COST, names) > 0 ? names[0] : "NAME";
    char all[256];
    if (o->wants_cost && (o->describes_machine || !o->described || !cli_is_design(CLI_HAS_COST, o->described)))
        return cli_fail(p, "--cost goes with pmu %s: tally describe pmu %s --cost", cli_design_list(CLI_HAS_COST, " or ", all, sizeof all),
                        example);
    if (o->n_units != 0 && !o->wants_cost)
        return cli_fail(p, "--units goes with --cost: tally describe pmu %s --cost --units %ux%u", example, o->n_units, o->n_counters);
    if (o->run.machine && !o->wants_cost)
        return cli_fail(p, "--machine goes with --cost; a machine itself is described by tally describe machine %s", o->run.machine);
    return true;
}

static bool finish_describe(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    const char *kind = first < argc ? argv[first++] : "";
    o->describes_machine = !strcmp(kind, "machine");
    if (!o->describes_machine && strcmp(kind, "pmu") != 0)
        return cli_fail(p, "%s%sdescribe what? Write tally describe %s", kind, *kind ? ": " : "", cli_verbs[VERB_DESCRIBE].usage);
    if (first < argc)
        o->described = argv[first++];
    if (first < argc)
        return cli_fail(p, "%s: one word too many; tally describe %s", argv[first], cli_verbs[VERB_DESCRIBE].usage);
    return check_cost(p);
}

static bool finish_diff(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (argc - first != 2)
        return cli_fail(p, "two reports are needed, %d given; tally diff %s", argc - first, cli_verbs[VERB_DIFF].usage);
    if (o->wants_json && o->wants_markdown)
        return cli_fail(p, "--json and --md are two formats; give one");
    o->joined_events = join(&o->events);
    if (o->events.n && !o->joined_events)
        return cli_fail(p, "the host has no memory left");
    o->before = argv[first];
    o->after = argv[first + 1];
    return true;
}

static bool finish_open_records(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (argc - first != 1)
        return cli_fail(p, "one file of records is needed, %d given; tally open-records %s", argc - first,
                        cli_verbs[VERB_OPEN_RECORDS].usage);
    if (!o->key)
        return cli_fail(p, "--key FILE is needed: the session key of the virtual machine whose records these are");
    o->records = argv[first];
    return true;
}

// The first n names of --events N, default events before others.
static bool name_events(cli_parser *p) {
    cli_options *o = p->out;
    uint64_t n = 0;
    for (int usual = 1; usual >= 0; usual--) {
        for (uint32_t i = 0; i < tl_compare_n_events() && n < o->n_watched; i++) {
            tl_compare_event event = {.size = sizeof event};
            tl_compare_event_at(i, &event);
            if (event.is_default != usual)
                continue;
            if (!cli_append(p, &o->events, "", event.name))
                return false;
            n++;
        }
    }
    return true;
}

static bool finish_compare(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (o->lists_watched)
        return first >= argc || cli_fail(p, "%s: --list-events runs no program", argv[first]);
    if (first >= argc)
        return cli_fail(p, "no program to watch; write tally compare -- PROGRAM ARGUMENTS");
    if (o->wants_json && o->report.format == TL_FORMAT_CSV)
        return cli_fail(p, "--csv and --json are two formats; give one");
    if (o->events.n && o->n_watched)
        return cli_fail(p, "-e and --events both say which events; give one");
    if (o->plot && !o->compare.with_sweeps)
        return cli_fail(p, "--plot draws the sweeps; it does not go with --no-sweeps");
    if (!take_program(p, argc, argv, first) || !name_events(p))
        return false;
    o->joined_events = join(&o->events);
    if (o->events.n && !o->joined_events)
        return cli_fail(p, "the host has no memory left");
    o->run.env = (const char *const *)o->env.items;
    o->compare.events = o->joined_events;
    return true;
}

// Suites that are experiments read no PMU of a run; their words are tiers and more.
static const struct { const char *name, *does; } experiments[] = {{"l1miss", "takes samples"}, {"xcm", "asks questions"}};
enum { N_EXPERIMENTS = sizeof experiments / sizeof experiments[0] };

static bool finish_experiment(cli_parser *p, const char *does, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (o->report.format == TL_FORMAT_CSV)
        return cli_fail(p, "suite %s has no CSV; leave --csv out, or give -j", o->suite);
    if (o->run.max_insns != 0)
        return cli_fail(p, "suite %s %s instead of running N instructions; write quick, normal or full instead of --insns", o->suite, does);
    if (!o->bench)
        o->bench = "bench/out";
    o->workloads = argv + first;
    o->n_workloads = (size_t)(argc - first);
    return true;
}

static bool finish_sweep(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first >= argc)
        return cli_fail(p, "no program to run; write tally sweep --vary KEY=VALUE,VALUE -- PROGRAM ARGUMENTS");
    if (o->varies.n == 0)
        return cli_fail(p, "nothing varies; write tally sweep --vary l1d.size=8KiB,16KiB -- %.200s", argv[first]);
    if (o->run.kind == TL_RUN_BARE && o->has_host_options)
        return cli_fail(
            p, "--sysroot, --root, --env, --network, --host-paths, --grant and --argv0 are for Linux programs; they do not go with --bare");
    if (o->run.kind == TL_RUN_BARE && first + 1 < argc)
        return cli_fail(p, "%s: a bare-metal program has no arguments", argv[first + 1]);
    if (o->wants_json + o->wants_markdown + (o->report.format == TL_FORMAT_CSV) > 1)
        return cli_fail(p, "--json, --csv and --md are formats; give one");
    if ((o->uses_slurm || o->has_only) && !o->cells)
        return cli_fail(p, "--%s needs --cells DIR, a folder for the results that all hosts share", o->uses_slurm ? "slurm" : "only");
    const bool is_good = take_program(p, argc, argv, first);
    o->joined_events = join(&o->events);
    o->joined_metrics = join(&o->metrics);
    if (is_good && ((o->events.n && !o->joined_events) || (o->metrics.n && !o->joined_metrics)))
        return cli_fail(p, "the host has no memory left");
    o->run.env = (const char *const *)o->env.items;
    o->run.events = o->joined_events;
    o->run.metrics = o->joined_metrics;
    return is_good;
}

static bool finish_suite(cli_parser *p, int argc, char *const *argv, int first) {
    const char *names[CLI_MAX_DESIGNS];
    const size_t n_names = cli_designs(CLI_IS_READ_AT_END, names);
    cli_options *o = p->out;
    char all[256];
    if (first >= argc)
        return cli_fail(p, "which suite? Write tally suite %s; PMU is %s", cli_verbs[VERB_SUITE].usage,
                        cli_design_list(CLI_IS_READ_AT_END, " or ", all, sizeof all));
    o->suite = argv[first];
    for (size_t i = 0; i < N_EXPERIMENTS; i++)
        if (!strcmp(o->suite, experiments[i].name))
            return finish_experiment(p, experiments[i].does, argc, argv, first + 1);
    if (o->plot)
        return cli_fail(p, "--svg draws what suites l1miss and xcm found; suite %s has no picture", o->suite);
    if (!cli_is_design(CLI_IS_READ_AT_END, o->suite)) {
        const char *nearest = cli_nearest(o->suite, names, n_names);
        if (nearest)
            return cli_fail(p, "there is no suite %s; did you mean %s?", o->suite, nearest);
        return cli_fail(p, "there is no suite %s; the suite is %s", o->suite, cli_design_list(CLI_IS_READ_AT_END, " or ", all, sizeof all));
    }
    if (o->wants_json && o->report.format == TL_FORMAT_CSV)
        return cli_fail(p, "--csv and --json are two formats; give one");
    if (!o->bench)
        o->bench = "bench/out";
    if (!o->run.machine)
        o->run.machine = "lowrisc2";
    if (o->run.max_insns == 0)
        o->run.max_insns = DEFAULT_SUITE_INSNS;
    o->workloads = argv + first + 1;
    o->n_workloads = (size_t)(argc - first - 1);
    return true;
}

static bool finish_tenants(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first >= argc)
        return cli_fail(p, "no tenants file; write tally tenants FILE.yaml");
    o->tenants = argv[first++];
    if (first < argc)
        return cli_fail(p, "%s: one word too many; programs and their arguments stand in the file", argv[first]);
    if (o->wants_json && o->report.format == TL_FORMAT_CSV)
        return cli_fail(p, "--csv and --json are two formats; give one");
    if (o->describe_format != TL_DESCRIBE_TEXT && !o->wants_cost)
        return cli_fail(p, "--format goes with --cost; counts have -j and --csv");
    if (o->wants_cost && o->report.format == TL_FORMAT_CSV)
        return cli_fail(p, "--cost has no CSV; leave --csv out, or give -j");
    if (o->wants_json && o->describe_format != TL_DESCRIBE_TEXT && o->describe_format != TL_DESCRIBE_JSON)
        return cli_fail(p, "-j and --format are two formats; give one");
    o->wants_json = o->wants_json || o->describe_format == TL_DESCRIBE_JSON;
    if (o->oob_hold && !o->oob)
        return cli_fail(p, "--oob-hold needs --oob SOCKET, at which clients find the chip");
    if (o->key && !o->oob)
        return cli_fail(p, "--key needs --oob SOCKET: it is the key of out-of-band operators");
    if (o->run.interval == TL_INTERVAL_INSTRUCTIONS)
        return cli_fail(p, "-I of tenants is in time or cycles, such as 10ms or 500kc, because partitions retire at different rates");
    return true;
}

static bool finish_oob(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first >= argc)
        return cli_fail(p, "no socket; write tally oob SOCKET COMMAND..., with the path of tally tenants --oob");
    o->oob = argv[first++];
    if (first >= argc)
        return cli_fail(p, "no command; write tally oob %.60s id, or another one of tally oob --help", o->oob);
    o->workloads = argv + first;
    o->n_workloads = (size_t)(argc - first);
    return true;
}

static bool finish_monitor(cli_parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first >= argc)
        return cli_fail(p, "no program; write tally monitor PROGRAM.elf COMMAND..., a bare program for AArch64");
    o->run.program = argv[first++];
    if (o->oob && first < argc)
        return cli_fail(p, "%s: --serve takes no commands; clients send them: tally monitor %.60s %.60s", argv[first], o->oob, argv[first]);
    if (!o->oob && first >= argc)
        return cli_fail(p, "no command; write tally monitor %.60s halt regs, or others of tally monitor --help", o->run.program);
    o->workloads = argv + first;
    o->n_workloads = (size_t)(argc - first);
    return true;
}

static bool find_verb(cli_parser *p, const char *word, cli_verb *ret_verb) {
    static const char *const flags[][2] = {{"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};
    const char *names[2 * N_VERBS];
    size_t n_names = 0;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (!strcmp(word, flags[i][0]))
            word = flags[i][1];
    }
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        if (!strcmp(word, cli_verbs[verb].name) || (cli_verbs[verb].alias && !strcmp(word, cli_verbs[verb].alias))) {
            *ret_verb = (cli_verb)verb;
            return true;
        }
        names[n_names++] = cli_verbs[verb].name;
        if (cli_verbs[verb].alias)
            names[n_names++] = cli_verbs[verb].alias;
    }
    const char *nearest = cli_nearest(word, names, n_names);
    if (nearest)
        return cli_fail(p, "unknown verb %s; did you mean tally %s?", word, nearest);
    return cli_fail(p, "unknown verb %s; tally help lists the verbs, and a program is run with tally stat -- PROGRAM", word);
}

bool cli_parse(int argc, char *const *argv, char *const *environment, cli_options *ret_options, char *error, size_t error_size) {
    cli_options *o = ret_options;
    *o = (cli_options){.verb = VERB_HELP, .n_runs = 1, .log_fd = -1, .max_traced = 100000, .annotate = {.hot_percent = 10}};
    tl_run_options_init(&o->run);
    tl_report_options_init(&o->report);
    tl_compare_options_init(&o->compare);
    o->compare.with_sweeps = true;
    error[0] = '\0';
    cli_parser p = {o, environment, error, error_size};
    if (argc < 2)
        return true;
    if (!find_verb(&p, argv[1], &o->verb))
        return false;
    int first;
    if (!read_options(&p, argc - 1, argv + 1, &first))
        return false;
    first++;
    o->run.overrides = (const char *const *)o->overrides.items;
    if (o->wants_help)
        return true;
    switch (o->verb) {
    case VERB_STAT: return finish_stat(&p, argc, argv, first);
    case VERB_RECORD: return finish_record(&p, argc, argv, first);
    case VERB_BOOT: return finish_boot(&p, argc, argv, first);
    case VERB_REPORT:
    case VERB_ANNOTATE: return finish_profile(&p, argc, argv, first);
    case VERB_EXPORT: return finish_export(&p, argc, argv, first);
    case VERB_LIST: return finish_list(&p, argc, argv, first);
    case VERB_DESCRIBE: return finish_describe(&p, argc, argv, first);
    case VERB_DIFF: return finish_diff(&p, argc, argv, first);
    case VERB_COMPARE: return finish_compare(&p, argc, argv, first);
    case VERB_SWEEP: return finish_sweep(&p, argc, argv, first);
    case VERB_SUITE: return finish_suite(&p, argc, argv, first);
    case VERB_OPEN_RECORDS: return finish_open_records(&p, argc, argv, first);
    case VERB_TENANTS: return finish_tenants(&p, argc, argv, first);
    case VERB_OOB: return finish_oob(&p, argc, argv, first);
    case VERB_MONITOR: return finish_monitor(&p, argc, argv, first);
    case VERB_HELP: o->topic = first < argc ? argv[first++] : NULL; break;
    case VERB_VERSION:
    case N_VERBS: break;
    }
    return first >= argc || cli_fail(&p, "%s: one word too many; tally help explains the verbs", argv[first]);
}

void cli_options_done(cli_options *options) {
    cli_strings *lists[] = {&options->events, &options->metrics,    &options->overrides, &options->env,
                            &options->gates,  &options->guest_argv, &options->varies};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        strings_done(lists[i]);
    free(options->joined_events);
    free(options->joined_metrics);
    for (uint32_t i = 0; i < options->n_regions; i++) {
        free((char *)(uintptr_t)options->regions[i].start);
        free((char *)(uintptr_t)options->regions[i].stop);
    }
    options->n_regions = 0;
    options->joined_events = options->joined_metrics = NULL;
}
