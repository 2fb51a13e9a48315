// SPDX-License-Identifier: MIT
// From argv to cli_options. getopt_long does the grammar (bundled letters, --name=value, unique prefixes, stops at the first word
// that is no option or after --); values are checked here, before anything runs.
#include "options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"

enum { MAX_OPTIONS = 96, MAX_RUNS = 1000000, MAX_PHASES = 1000, MAX_DESCRIPTOR = 0xfffff };
static const uint64_t MAX_SUITE_INSNS = 10000000000, DEFAULT_SUITE_INSNS = 1000000000;

typedef struct parser {
    cli_options *out;
    char *const *environment;
    char *error;
    size_t error_size;
} parser;

static bool fail(parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(parser *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->error, p->error_size, format, args);
    va_end(args);
    return false;
}

static bool append(parser *p, cli_strings *list, const char *prefix, const char *text) {
    char **items = realloc(list->items, (list->n + 2) * sizeof *items);
    if (!items)
        return fail(p, "the host has no memory left");
    list->items = items;
    size_t size = strlen(prefix) + strlen(text) + 1;
    char *copy = malloc(size);
    if (!copy)
        return fail(p, "the host has no memory left");
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

// What the program sees as its own name: as typed, but for the folder. "/opt/x/prog" -> "./prog", "prog" -> "prog".
static bool append_argv0(parser *p, const char *typed) {
    const char *slash = strrchr(typed, '/');
    return slash && slash[1] ? append(p, &p->out->guest_argv, "./", slash + 1) : append(p, &p->out->guest_argv, "", typed);
}

static bool add_env(parser *p, const char *text) {
    size_t length = strcspn(text, "=");
    if (length == 0)
        return fail(p, "--env %s: write NAME or NAME=VALUE", text);
    if (text[length] == '=')
        return append(p, &p->out->env, "", text);
    for (char *const *variable = p->environment; variable && *variable; variable++) {
        if (!strncmp(*variable, text, length) && (*variable)[length] == '=')
            return append(p, &p->out->env, "", *variable);
    }
    return fail(p, "--env %s: no such variable here; give it a value with --env %s=VALUE", text, text);
}

// A lone ':' outside of brackets, where it belongs to a tag such as [abi:cxx11]; "::" is not one.
static const char *lone_colon(const char *text) {
    unsigned depth = 0;
    for (const char *at = text; *at; at++) {
        depth += *at == '[';
        depth -= *at == ']' && depth > 0;
        if (*at != ':' || depth > 0)
            continue;
        size_t n = strspn(at, ":");
        if (n != 2)
            return at;
        at++;
    }
    return NULL;
}

// Two dots separate names; three end a list of parameters. Old symbols of Rust, which have a '$',
// contain two dots themselves.
static const char *two_dots(const char *text) {
    for (const char *at = strchr(text, '$') ? NULL : strstr(text, ".."); at; at = strstr(at, "..")) {
        size_t n = strspn(at, ".");
        if (n == 2)
            return at;
        at += n;
    }
    return NULL;
}

// START, START..STOP or, for names without "::", START:STOP.
static bool add_roi(parser *p, const char *text) {
    cli_options *o = p->out;
    const char *dots = two_dots(text), *colon = dots ? NULL : lone_colon(text), *border = dots ? dots : colon;
    const char *stop = border ? border + (dots ? 2 : 1) : NULL;
    if (colon && strstr(text, "::"))
        return fail(p, "--roi %s: names with :: need two dots between START and STOP: --roi 'START..STOP'", text);
    if (!*text || border == text || (stop && (!*stop || two_dots(stop) || lone_colon(stop))))
        return fail(p, "--roi %s: write START or START..STOP, names of functions or 0x addresses", text);
    if (o->n_regions == TL_MAX_REGIONS)
        return fail(p, "--roi %s: at most %d regions can be counted in one run", text, TL_MAX_REGIONS);
    tl_region *region = &o->regions[o->n_regions++];
    region->start = border ? strndup(text, (size_t)(border - text)) : strdup(text);
    region->stop = stop ? strdup(stop) : NULL;
    return (region->start && (region->stop || !stop)) || fail(p, "the host has no memory left");
}

static bool set_number(parser *p, const char *option, const char *key, const char *text) {
    uint64_t value;
    char setting[64];
    if (!cli_parse_count(text, &value))
        return fail(p, "--%s %s: not a number", option, text);
    snprintf(setting, sizeof setting, "%s=%llu", key, (unsigned long long)value);
    return append(p, &p->out->overrides, "", setting);
}

// What a kernel may hand to a program: PMU designs with a key os.NAME that can be "granted".
static bool add_one_grant(parser *p, const char *text) {
    const char *names[CLI_MAX_DESIGNS];
    const size_t n_names = cli_designs(CLI_IS_GRANTED, names);
    char all[256];
    if (cli_is_design(CLI_IS_GRANTED, text)) {
        char setting[96];
        snprintf(setting, sizeof setting, "os.%s=granted", text);
        return append(p, &p->out->overrides, "", setting);
    }
    const char *nearest = cli_nearest(text, names, n_names);
    if (nearest)
        return fail(p, "--grant %s: there is no such device; did you mean %s?", text, nearest);
    return fail(p, "--grant %s: there is no such device; there %s %s", text, n_names > 1 ? "are" : "is",
                cli_design_list(CLI_IS_GRANTED, " and ", all, sizeof all));
}

static bool add_grant(parser *p, const char *text) {
    char word[64];
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), at);
        if (!add_one_grant(p, word))
            return false;
        at += n;
        if (*at == '\0')
            return true;
    }
}

// "8x32"
static bool set_units(parser *p, const char *text) {
    char word[32];
    uint64_t n_units = 0, n_counters = 0;
    const char *x = strchr(text, 'x');
    if (x && x > text && (size_t)(x - text) < sizeof word) {
        snprintf(word, sizeof word, "%.*s", (int)(x - text), text);
        if (!cli_parse_count(word, &n_units) || !cli_parse_count(x + 1, &n_counters))
            n_units = 0;
    }
    if (n_units < 1 || n_units > 1024 || n_counters < 1 || n_counters > 64)
        return fail(p, "--units %s: write UNITSxCOUNTERS, such as 8x32: 1 to 1024 units with 1 to 64 counters each", text);
    p->out->n_units = (unsigned)n_units;
    p->out->n_counters = (unsigned)n_counters;
    return true;
}

static bool set_format(parser *p, tl_format format) {
    tl_format *chosen = &p->out->report.format;
    if (*chosen != TL_FORMAT_TEXT && *chosen != format)
        return fail(p, "--csv and the lines of perf (-x, --perf-compat) are two formats; give one");
    *chosen = format;
    return true;
}

static bool set_path(parser *p, const char *option, const char **path, const char *text) {
    *path = text;
    return *text || fail(p, "--%s: the file name is empty", option);
}

// Of compare: looks are cycles apart, "100k" or "100kc".
static bool set_looks(parser *p, const char *text) {
    tl_interval kind = TL_INTERVAL_NONE;
    uint64_t *cycles = &p->out->compare.interval_cycles;
    bool is_plain = cli_parse_count(text, cycles) && *cycles > 0;
    return is_plain || (cli_parse_interval(text, &kind, cycles) && kind == TL_INTERVAL_CYCLES) ||
           fail(p, "-I %s: write a number of cycles such as 100k", text);
}

static bool take(parser *p, int id, const char *text) {
    cli_options *o = p->out;
    uint64_t value;
    o->wants_report = o->wants_report || (id >= OPT_EVENTS && id <= OPT_OUTPUT) || id == OPT_REPORT;
    o->has_host_options = o->has_host_options || (id >= OPT_SYSROOT && id <= OPT_ARGV0);
    switch (id) {
    case OPT_EVENTS: return *text ? append(p, &o->events, "", text) : fail(p, "-e: an empty list of events");
    case OPT_METRICS: return *text ? append(p, &o->metrics, "", text) : fail(p, "-M: an empty list of metrics");
    case OPT_TOPDOWN: return append(p, &o->metrics, "", "topdown");
    case OPT_PER_HART: o->run.per_hart = true; return true;
    case OPT_ALL_CPUS: return true;
    case OPT_PER_UNIT: o->run.per_unit = true; return true;
    case OPT_INTERVAL:
        return cli_parse_interval(text, &o->run.interval, &o->run.interval_length) ||
               fail(p, "-I %s: write a length such as 10ms, 1M (instructions) or 500kc (cycles)", text);
    case OPT_ROI: return add_roi(p, text);
    case OPT_MARKERS: o->run.markers = true; return true;
    case OPT_ROI_REQUIRED: o->requires_regions = true; return true;
    case OPT_REPEAT:
        if (!cli_parse_count(text, &value) || value == 0 || value > MAX_RUNS)
            return fail(p, "-r %s: write a number of runs from 1 to %d", text, MAX_RUNS);
        o->n_runs = (unsigned)value;
        return true;
    case OPT_NULL: o->report.only_times = true; return true;
    case OPT_DETAIL: o->report.detail++; return true;
    case OPT_VERBOSE: o->report.detail += 2; return true;
    case OPT_JSON: o->wants_json = true; return true;
    case OPT_CSV: return set_format(p, TL_FORMAT_CSV);
    case OPT_SEPARATOR:
        if (!*text)
            return fail(p, "-x: the separator is empty");
        o->report.separator = text;
        return set_format(p, TL_FORMAT_PERF_CSV);
    case OPT_PERF_COMPAT: return set_format(p, TL_FORMAT_PERF_CSV);
    case OPT_OUTPUT: o->output = text; return *text || fail(p, "-o: the file name is empty");
    case OPT_LOG_FD:
        if (!cli_parse_count(text, &value) || value > MAX_DESCRIPTOR)
            return fail(p, "--log-fd %s: write the number of an open descriptor, as in --log-fd 3 3>FILE", text);
        o->log_fd = (int)value;
        return true;
    case OPT_APPEND: o->is_appending = true; return true;
    case OPT_HOST_INFO: o->report.with_host = true; return true;
    case OPT_HOST_PROFILE:
        o->host_profile = text;
        o->run.host_profile = true;
        return *text || fail(p, "--host-profile: the file name is empty");
    case OPT_HOST_SYMBOLS:
        if (strcmp(text, "map") && strcmp(text, "jitdump"))
            return fail(p, "--perf %s: what perf can read is map or jitdump", text);
        o->run.host_symbols = *text == 'm' ? TL_HOST_SYMBOLS_MAP : TL_HOST_SYMBOLS_JITDUMP;
        return true;
    case OPT_QUIET: o->report.is_quiet = true; return true;
    case OPT_NO_PROGRESS: o->no_progress = true; return true;
    case OPT_MACHINE: o->run.machine = text; return *text || fail(p, "--machine: the name is empty");
    case OPT_HARTS: return set_number(p, "harts", "harts", text);
    case OPT_I1: return append(p, &o->overrides, "l1i=", text);
    case OPT_D1: return append(p, &o->overrides, "l1d=", text);
    case OPT_L2: return append(p, &o->overrides, "l2=", text);
    case OPT_SET: {
        const char *equals = strchr(text, '=');
        return equals && equals != text ? append(p, &o->overrides, "", text)
                                        : fail(p, "--set %s: write KEY=VALUE, as in --set l1d.ways=4", text);
    }
    case OPT_ENGINE:
        if (strcmp(text, "translate") && strcmp(text, "interp") && strcmp(text, "block") && strcmp(text, "step"))
            return fail(p, "--engine %s: the engines are translate, interp and step", text);
        o->run.engine = *text == 't' ? TL_ENGINE_TRANSLATE : *text == 's' ? TL_ENGINE_STEP : TL_ENGINE_INTERP; // block: its first name
        return true;
    case OPT_CODE_CACHE:
        return (cli_parse_size(text, &o->run.code_cache_bytes) && o->run.code_cache_bytes >= TL_LEAST_CODE_CACHE_BYTES &&
                o->run.code_cache_bytes <= TL_MOST_CODE_CACHE_BYTES) ||
               fail(p, "--code-cache %s: write a size from 192KiB to 1GiB", text);
    case OPT_TRANSLATE_AFTER:
        return (cli_parse_count(text, &o->run.translate_after_runs) && o->run.translate_after_runs <= UINT32_MAX) ||
               fail(p, "--translate-after %s: write a number of runs up to 4294967295; 0 translates everything at once", text);
    case OPT_SEED: return set_number(p, "seed", "seed", text);
    case OPT_SYSROOT: o->run.sysroot = text; return *text || fail(p, "--sysroot: the folder is empty");
    case OPT_ROOT: o->run.root = text; return *text || fail(p, "--root: the folder is empty");
    case OPT_ENV: return add_env(p, text);
    case OPT_NETWORK: o->run.allow_network = true; return true;
    case OPT_HOST_PATHS: o->run.host_paths = true; return true;
    case OPT_GRANT: return add_grant(p, text);
    case OPT_ARGV0: o->argv0 = text; return true;
    case OPT_BARE: o->run.kind = TL_RUN_BARE; return true;
    case OPT_BIOS: return set_path(p, "bios", &o->run.bios, text);
    case OPT_KERNEL: return set_path(p, "kernel", &o->run.kernel, text);
    case OPT_INITRD: return set_path(p, "initrd", &o->run.initrd, text);
    case OPT_COMMAND_LINE: o->run.append = text; return true;
    case OPT_DISK: return set_path(p, "disk", &o->run.disk, text);
    case OPT_DISK_WRITABLE: o->run.is_disk_writable = true; return true;
    case OPT_REPORT: return true;
    case OPT_TIMEOUT:
        return (cli_parse_duration_ms(text, &o->timeout_ms) && o->timeout_ms > 0) ||
               fail(p, "--timeout %s: write a time such as 10, 2.5s, 500ms or 2m", text);
    case OPT_MAX_INSNS:
        return (cli_parse_count(text, &o->run.max_insns) && o->run.max_insns > 0) ||
               fail(p, "--max-insns %s: write a number such as 1000000, 500k or 2G", text);
    case OPT_LIST_JSON: o->list_format = TL_LIST_JSON; return true;
    case OPT_LIST_MARKDOWN: o->list_format = TL_LIST_MARKDOWN; return true;
    case OPT_LIST_VERBOSE:
        if (o->list_format == TL_LIST_TEXT)
            o->list_format = TL_LIST_TEXT_VERBOSE;
        return true;
    case OPT_PMU: o->pmu = o->run.pmu = text; return *text || fail(p, "-P: the name is empty");
    case OPT_COST: o->wants_cost = true; return true;
    case OPT_UNITS: return set_units(p, text);
    case OPT_FORMAT:
        if (strcmp(text, "text") && strcmp(text, "md") && strcmp(text, "json"))
            return fail(p, "--format %s: the formats are text, md and json", text);
        o->describe_format = *text == 't' ? TL_DESCRIBE_TEXT : *text == 'm' ? TL_DESCRIBE_MARKDOWN : TL_DESCRIBE_JSON;
        return true;
    case OPT_FAIL_ON: return *text ? append(p, &o->gates, "", text) : fail(p, "--fail-on: the gate is empty");
    case OPT_ALL: o->with_equal = true; return true;
    case OPT_DIFF_JSON: o->wants_json = true; return true;
    case OPT_DIFF_MARKDOWN: o->wants_markdown = true; return true;
    case OPT_INSNS:
        if (!cli_parse_count(text, &value) || value == 0 || value > MAX_SUITE_INSNS)
            return fail(p, "--insns %s: write a number of instructions from 1 to 10G", text);
        o->run.max_insns = value;
        return true;
    case OPT_DESIGNS: o->compare.designs = text; return *text || fail(p, "--pmu: an empty list of designs");
    case OPT_WATCHED: return *text ? append(p, &o->events, "", text) : fail(p, "-e: an empty list of events");
    case OPT_N_WATCHED:
        if (!cli_parse_count(text, &o->n_watched) || o->n_watched == 0 || o->n_watched > tl_compare_n_events())
            return fail(p, "--events %s: write a number of events from 1 to %u", text, tl_compare_n_events());
        return true;
    case OPT_LIST_WATCHED: o->lists_watched = true; return true;
    case OPT_LOOKS: return set_looks(p, text);
    case OPT_PHASES:
        if (!cli_parse_count(text, &value) || value == 0 || value > MAX_PHASES)
            return fail(p, "--phases %s: write a number of runs from 1 to %d", text, MAX_PHASES);
        o->compare.n_phases = (uint32_t)value;
        return true;
    case OPT_NO_SWEEPS: o->compare.with_sweeps = false; return true;
    case OPT_PLOT: return set_path(p, "plot", &o->plot, text);
    case OPT_PROGRAM_OUTPUT: return set_path(p, "program-output", &o->program_output, text);
    case OPT_BOUND:
        return (cli_parse_count(text, &o->run.max_insns) && o->run.max_insns > 0) ||
               fail(p, "--insns %s: write a number such as 1000000, 500k or 2G", text);
    case OPT_BENCH: return set_path(p, "bench", &o->bench, text);
    case OPT_HELP: o->wants_help = true; return true;
    }
    return true;
}

// Options of perf stat, and the options that do the same here.
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

static bool unknown_option(parser *p, const char *word, int letter) {
    const char *verb = cli_verbs[p->out->verb].name;
    size_t n_word = strcspn(word, "=");
    for (size_t i = 0; p->out->verb == VERB_STAT && i < sizeof perf_options / sizeof perf_options[0]; i++) {
        bool is_name = !letter && n_word == strlen(perf_options[i].name) + 2 && !strncmp(word + 2, perf_options[i].name, n_word - 2);
        if (letter ? perf_options[i].letter == letter : is_name)
            return fail(p, "%s%.*s: %s", letter ? (char[]){'-', (char)letter, 0} : "", letter ? 0 : (int)n_word, word,
                        perf_options[i].remedy);
    }
    if (letter)
        return fail(p, "unknown option -%c; tally %s --help lists the options", letter, verb);
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
        return fail(p, "unknown option %s; did you mean --%s?", name, nearest);
    return fail(p, "unknown option %s; tally %s --help lists the options", name, verb);
}

// Options of one verb, as getopt_long wants them.
static bool read_options(parser *p, int argc, char *const *argv, int *ret_first) {
    struct option longs[MAX_OPTIONS + 1] = {0};
    // Behind the program of stat and compare everything is the program's; the other verbs take options anywhere.
    bool stops_at_word = p->out->verb == VERB_STAT || p->out->verb == VERB_COMPARE;
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
        const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : ""; // the one at fault, when it is a long one
        if (found == ':')                                                        // optopt is a letter or an id
            return optopt < OPT_EVENTS ? fail(p, "-%c needs a value", optopt) : fail(p, "%s needs a value", word);
        if (found == '?') {
            if (optopt >= OPT_EVENTS)
                return fail(p, "%.*s takes no value", (int)strcspn(word, "="), word);
            return unknown_option(p, word, optopt);
        }
        int id = found;
        for (size_t i = 0; id < OPT_EVENTS && i < cli_n_option_rows; i++) {
            if (cli_option_rows[i].letter == found && cli_option_rows[i].verbs & 1u << p->out->verb)
                id = cli_option_rows[i].id;
        }
        if (!take(p, id, optarg))
            return false;
        if (p->out->wants_help)
            break;
    }
    *ret_first = optind;
    return true;
}

// What and how to print, for stat and boot.
static bool finish_report(parser *p) {
    cli_options *o = p->out;
    if (o->wants_json && o->report.format == TL_FORMAT_CSV)
        return fail(p, "--csv and --json are two formats; give one");
    if (o->wants_json)
        o->report.format = o->report.format == TL_FORMAT_PERF_CSV ? TL_FORMAT_PERF_JSON : TL_FORMAT_JSON;
    if (o->n_runs > 1 && o->run.interval != TL_INTERVAL_NONE)
        return fail(p, "-r and -I do not go together: intervals are of one run");
    if (o->is_appending && !o->output)
        return fail(p, "--append goes with --output FILE");
    if (o->output && o->log_fd >= 0)
        return fail(p, "--output and --log-fd are two places for one report; give one");
    if (o->n_runs > 1 && o->run.host_symbols != TL_HOST_SYMBOLS_NONE)
        return fail(p, "--perf names the code of one run; leave out -r %u", o->n_runs);
    o->run.env = (const char *const *)o->env.items;
    o->joined_events = join(&o->events);
    o->joined_metrics = join(&o->metrics);
    if ((o->events.n && !o->joined_events) || (o->metrics.n && !o->joined_metrics))
        return fail(p, "the host has no memory left");
    o->run.events = o->joined_events;
    o->run.metrics = o->joined_metrics;
    if (o->requires_regions && o->n_regions == 0 && !o->run.markers)
        return fail(p, "--roi-required goes with --roi or --markers");
    if (o->n_regions == 1 && !o->run.markers) { // one region is the report; of several, each has one
        o->run.roi_start = o->regions[0].start;
        o->run.roi_stop = o->regions[0].stop;
    } else {
        o->run.regions = o->regions;
        o->run.n_regions = o->n_regions;
    }
    return true;
}

// The program and its words; all that follows belongs to it.
static bool take_program(parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (!*argv[first])
        return fail(p, "the name of the program is empty");
    o->title = argv[first];
    o->wants_report = true;
    o->program_argv = argv + first;
    o->run.program = argv[first];
    if (o->argv0 ? !append(p, &o->guest_argv, "", o->argv0) : !append_argv0(p, argv[first]))
        return false;
    for (int i = first + 1; i < argc; i++) {
        if (!append(p, &o->guest_argv, "", argv[i]))
            return false;
    }
    o->run.argv = (const char *const *)o->guest_argv.items;
    return true;
}

static bool check_disk(parser *p) {
    return !p->out->run.is_disk_writable || p->out->run.disk || fail(p, "--disk-writable goes with --disk FILE");
}

static bool finish_stat(parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first >= argc)
        return fail(p, "no program to run; write tally stat -- PROGRAM ARGUMENTS");
    if (o->run.kind == TL_RUN_BARE && o->has_host_options)
        return fail(
            p, "--sysroot, --root, --env, --network, --host-paths, --grant and --argv0 are for Linux programs; they do not go with --bare");
    if (o->run.kind == TL_RUN_BARE && first + 1 < argc)
        return fail(p, "%s: a bare-metal program has no arguments", argv[first + 1]);
    if (o->run.kind != TL_RUN_BARE && o->run.disk)
        return fail(p, "--disk is for the board under a bare-metal program; a Linux program has files, see --root");
    if (!check_disk(p))
        return false;
    return take_program(p, argc, argv, first) && finish_report(p);
}

static bool finish_boot(parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (first < argc)
        return fail(p, "%s: one word too many; tally boot %s", argv[first], cli_verbs[VERB_BOOT].usage);
    if (!o->run.kernel && !o->run.bios)
        return fail(p, "nothing to boot; write tally boot --kernel IMAGE, or --bios FILE for firmware that needs no kernel");
    if (!o->run.kernel && (o->run.initrd || o->run.append))
        return fail(p, "--%s is for a kernel; name one with --kernel IMAGE", o->run.initrd ? "initrd" : "append");
    o->run.kind = TL_RUN_BOOT;
    o->title = o->run.kernel ? o->run.kernel : o->run.bios;
    return check_disk(p) && finish_report(p);
}

static bool finish_list(parser *p, int argc, char *const *argv, int first) {
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
        return fail(p, "%s: one word too many; tally list %s", argv[first], cli_verbs[VERB_LIST].usage);
    if (o->pmu && (o->lists_everything || o->list_kind != TL_LIST_EVENTS))
        return fail(p, "-P goes with events: tally list events -P %s", o->pmu);
    return true;
}

// Which designs have a page of their cost, the library says.
static bool check_cost(parser *p) {
    const cli_options *o = p->out;
    const char *names[CLI_MAX_DESIGNS];
    const char *example = cli_designs(CLI_HAS_COST, names) > 0 ? names[0] : "NAME";
    char all[256];
    if (o->wants_cost && (o->describes_machine || !o->described || !cli_is_design(CLI_HAS_COST, o->described)))
        return fail(p, "--cost goes with pmu %s: tally describe pmu %s --cost", cli_design_list(CLI_HAS_COST, " or ", all, sizeof all),
                    example);
    if (o->n_units != 0 && !o->wants_cost)
        return fail(p, "--units goes with --cost: tally describe pmu %s --cost --units %ux%u", example, o->n_units, o->n_counters);
    if (o->run.machine && !o->wants_cost)
        return fail(p, "--machine goes with --cost; a machine itself is described by tally describe machine %s", o->run.machine);
    return true;
}

static bool finish_describe(parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    const char *kind = first < argc ? argv[first++] : "";
    o->describes_machine = !strcmp(kind, "machine");
    if (!o->describes_machine && strcmp(kind, "pmu") != 0)
        return fail(p, "%s%sdescribe what? Write tally describe %s", kind, *kind ? ": " : "", cli_verbs[VERB_DESCRIBE].usage);
    if (first < argc)
        o->described = argv[first++];
    if (first < argc)
        return fail(p, "%s: one word too many; tally describe %s", argv[first], cli_verbs[VERB_DESCRIBE].usage);
    return check_cost(p);
}

static bool finish_diff(parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (argc - first != 2)
        return fail(p, "two reports are needed, %d given; tally diff %s", argc - first, cli_verbs[VERB_DIFF].usage);
    if (o->wants_json && o->wants_markdown)
        return fail(p, "--json and --md are two formats; give one");
    o->joined_events = join(&o->events);
    if (o->events.n && !o->joined_events)
        return fail(p, "the host has no memory left");
    o->before = argv[first];
    o->after = argv[first + 1];
    return true;
}

// The first so many names, the usual ones before the others: what --events N stands for.
static bool name_events(parser *p) {
    cli_options *o = p->out;
    uint64_t n = 0;
    for (int usual = 1; usual >= 0; usual--) {
        for (uint32_t i = 0; i < tl_compare_n_events() && n < o->n_watched; i++) {
            tl_compare_event event = {.size = sizeof event};
            tl_compare_event_at(i, &event);
            if (event.is_default != usual)
                continue;
            if (!append(p, &o->events, "", event.name))
                return false;
            n++;
        }
    }
    return true;
}

static bool finish_compare(parser *p, int argc, char *const *argv, int first) {
    cli_options *o = p->out;
    if (o->lists_watched)
        return first >= argc || fail(p, "%s: --list-events runs no program", argv[first]);
    if (first >= argc)
        return fail(p, "no program to watch; write tally compare -- PROGRAM ARGUMENTS");
    if (o->wants_json && o->report.format == TL_FORMAT_CSV)
        return fail(p, "--csv and --json are two formats; give one");
    if (o->events.n && o->n_watched)
        return fail(p, "-e and --events both say which events; give one");
    if (o->plot && !o->compare.with_sweeps)
        return fail(p, "--plot draws the sweeps; it does not go with --no-sweeps");
    if (!take_program(p, argc, argv, first) || !name_events(p))
        return false;
    o->joined_events = join(&o->events);
    if (o->events.n && !o->joined_events)
        return fail(p, "the host has no memory left");
    o->run.env = (const char *const *)o->env.items;
    o->compare.events = o->joined_events;
    return true;
}

static bool finish_suite(parser *p, int argc, char *const *argv, int first) {
    const char *names[CLI_MAX_DESIGNS];
    const size_t n_names = cli_designs(CLI_IS_READ_AT_END, names);
    cli_options *o = p->out;
    char all[256];
    if (first >= argc)
        return fail(p, "which suite? Write tally suite %s; PMU is %s", cli_verbs[VERB_SUITE].usage,
                    cli_design_list(CLI_IS_READ_AT_END, " or ", all, sizeof all));
    o->suite = argv[first];
    if (!cli_is_design(CLI_IS_READ_AT_END, o->suite)) {
        const char *nearest = cli_nearest(o->suite, names, n_names);
        if (nearest)
            return fail(p, "there is no suite %s; did you mean %s?", o->suite, nearest);
        return fail(p, "there is no suite %s; the suite is %s", o->suite, cli_design_list(CLI_IS_READ_AT_END, " or ", all, sizeof all));
    }
    if (o->wants_json && o->report.format == TL_FORMAT_CSV)
        return fail(p, "--csv and --json are two formats; give one");
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

static bool find_verb(parser *p, const char *word, cli_verb *ret_verb) {
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
        return fail(p, "unknown verb %s; did you mean tally %s?", word, nearest);
    return fail(p, "unknown verb %s; tally help lists the verbs, and a program is run with tally stat -- PROGRAM", word);
}

bool cli_parse(int argc, char *const *argv, char *const *environment, cli_options *ret_options, char *error, size_t error_size) {
    cli_options *o = ret_options;
    *o = (cli_options){.verb = VERB_HELP, .n_runs = 1, .log_fd = -1};
    tl_run_options_init(&o->run);
    tl_report_options_init(&o->report);
    tl_compare_options_init(&o->compare);
    o->compare.with_sweeps = true;
    error[0] = '\0';
    parser p = {o, environment, error, error_size};
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
    case VERB_BOOT: return finish_boot(&p, argc, argv, first);
    case VERB_LIST: return finish_list(&p, argc, argv, first);
    case VERB_DESCRIBE: return finish_describe(&p, argc, argv, first);
    case VERB_DIFF: return finish_diff(&p, argc, argv, first);
    case VERB_COMPARE: return finish_compare(&p, argc, argv, first);
    case VERB_SUITE: return finish_suite(&p, argc, argv, first);
    case VERB_HELP: o->topic = first < argc ? argv[first++] : NULL; break;
    case VERB_VERSION:
    case N_VERBS: break;
    }
    return first >= argc || fail(&p, "%s: one word too many; tally help explains the verbs", argv[first]);
}

void cli_options_done(cli_options *options) {
    cli_strings *lists[] = {&options->events, &options->metrics, &options->overrides, &options->env, &options->gates, &options->guest_argv};
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
