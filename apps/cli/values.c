// SPDX-License-Identifier: MIT
// Setters of options. A row names the member of cli_options and the valid values. Values are
// checked here, before anything runs.
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "parser.h"

static bool add_env(cli_parser *p, const char *text) {
    size_t length = strcspn(text, "=");
    if (length == 0)
        return cli_fail(p, "--env %s: write NAME or NAME=VALUE", text);
    if (text[length] == '=')
        return cli_append(p, &p->out->env, "", text);
    for (char *const *variable = p->environment; variable && *variable; variable++) {
        if (!strncmp(*variable, text, length) && (*variable)[length] == '=')
            return cli_append(p, &p->out->env, "", *variable);
    }
    return cli_fail(p, "--env %s: no such variable here; give it a value with --env %s=VALUE", text, text);
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
static bool add_roi(cli_parser *p, const char *text) {
    cli_options *o = p->out;
    const char *dots = two_dots(text), *colon = dots ? NULL : lone_colon(text), *border = dots ? dots : colon;
    const char *stop = border ? border + (dots ? 2 : 1) : NULL;
    if (colon && strstr(text, "::"))
        return cli_fail(p, "--roi %s: names with :: need two dots between START and STOP: --roi 'START..STOP'", text);
    if (!*text || border == text || (stop && (!*stop || two_dots(stop) || lone_colon(stop))))
        return cli_fail(p, "--roi %s: write START or START..STOP, names of functions or 0x addresses", text);
    if (o->n_regions == TL_MAX_REGIONS)
        return cli_fail(p, "--roi %s: at most %d regions can be counted in one run", text, TL_MAX_REGIONS);
    tl_region *region = &o->regions[o->n_regions++];
    region->start = border ? strndup(text, (size_t)(border - text)) : strdup(text);
    region->stop = stop ? strdup(stop) : NULL;
    return (region->start && (region->stop || !stop)) || cli_fail(p, "the host has no memory left");
}

// Grants of a kernel to a program: PMU designs with a key os.NAME that can be "granted".
static bool add_one_grant(cli_parser *p, const char *text) {
    const char *names[CLI_MAX_DESIGNS];
    const size_t n_names = cli_designs(CLI_IS_GRANTED, names);
    char all[256];
    if (cli_is_design(CLI_IS_GRANTED, text)) {
        char setting[96];
        snprintf(setting, sizeof setting, "os.%s=granted", text);
        return cli_append(p, &p->out->overrides, "", setting);
    }
    const char *nearest = cli_nearest(text, names, n_names);
    if (nearest)
        return cli_fail(p, "--grant %s: there is no such device; did you mean %s?", text, nearest);
    return cli_fail(p, "--grant %s: there is no such device; there %s %s", text, n_names > 1 ? "are" : "is",
                    cli_design_list(CLI_IS_GRANTED, " and ", all, sizeof all));
}

static bool add_grant(cli_parser *p, const char *text) {
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
static bool set_units(cli_parser *p, const char *text) {
    char word[32];
    uint64_t n_units = 0, n_counters = 0;
    const char *x = strchr(text, 'x');
    if (x && x > text && (size_t)(x - text) < sizeof word) {
        snprintf(word, sizeof word, "%.*s", (int)(x - text), text);
        if (!cli_parse_count(word, &n_units) || !cli_parse_count(x + 1, &n_counters))
            n_units = 0;
    }
    if (n_units < 1 || n_units > 1024 || n_counters < 1 || n_counters > 64)
        return cli_fail(p, "--units %s: write UNITSxCOUNTERS, such as 8x32: 1 to 1024 units with 1 to 64 counters each", text);
    p->out->n_units = (unsigned)n_units;
    p->out->n_counters = (unsigned)n_counters;
    return true;
}

static bool set_format(cli_parser *p, tl_format format) {
    tl_format *chosen = &p->out->report.format;
    if (*chosen != TL_FORMAT_TEXT && *chosen != format)
        return cli_fail(p, "--csv and the lines of perf (-x, --perf-compat) are two formats; give one");
    *chosen = format;
    return true;
}

// Option of compare: cycles between readings, "100k" or "100kc".
static bool set_looks(cli_parser *p, const char *text) {
    tl_interval kind = TL_INTERVAL_NONE;
    uint64_t *cycles = &p->out->compare.interval_cycles;
    bool is_plain = cli_parse_count(text, cycles) && *cycles > 0;
    return is_plain || (cli_parse_interval(text, &kind, cycles) && kind == TL_INTERVAL_CYCLES) ||
           cli_fail(p, "-I %s: write a number of cycles such as 100k", text);
}

static bool take_topdown(cli_parser *p, const char *text) { return (void)text, cli_append(p, &p->out->metrics, "", "--topdown"); }
static bool take_csv(cli_parser *p, const char *text) { return (void)text, set_format(p, TL_FORMAT_CSV); }
static bool take_perf_lines(cli_parser *p, const char *text) { return (void)text, set_format(p, TL_FORMAT_PERF_CSV); }

static bool take_separator(cli_parser *p, const char *text) {
    if (!*text)
        return cli_fail(p, "-x: the separator is empty");
    p->out->report.separator = text;
    return set_format(p, TL_FORMAT_PERF_CSV);
}

static bool take_interval(cli_parser *p, const char *text) {
    return cli_parse_interval(text, &p->out->run.interval, &p->out->run.interval_length) ||
           cli_fail(p, "-I %s: write a length such as 10ms, 1M (instructions) or 500kc (cycles)", text);
}

static bool take_host_profile(cli_parser *p, const char *text) {
    p->out->host_profile = text;
    p->out->run.host_profile = true;
    return *text || cli_fail(p, "--host-profile: the file name is empty");
}

static bool take_setting(cli_parser *p, const char *text) {
    const char *equals = strchr(text, '=');
    return equals && equals != text ? cli_append(p, &p->out->overrides, "", text)
                                    : cli_fail(p, "--set %s: write KEY=VALUE, as in --set l1d.ways=4", text);
}

static bool take_pmu(cli_parser *p, const char *text) {
    p->out->pmu = p->out->run.pmu = text;
    return *text || cli_fail(p, "-P: the name is empty");
}

static bool take_list_verbose(cli_parser *p, const char *text) {
    (void)text;
    if (p->out->list_format == TL_LIST_TEXT)
        p->out->list_format = TL_LIST_TEXT_VERBOSE;
    return true;
}

static bool take_n_watched(cli_parser *p, const char *text) {
    cli_options *o = p->out;
    return (cli_parse_count(text, &o->n_watched) && o->n_watched > 0 && o->n_watched <= tl_compare_n_events()) ||
           cli_fail(p, "--events %s: write a number of events from 1 to %u", text, tl_compare_n_events());
}

// "K" or "K/N".
static bool take_only(cli_parser *p, const char *text) {
    cli_options *o = p->out;
    char first[24];
    const size_t n = strcspn(text, "/");
    o->has_only = true;
    o->only_step = UINT32_MAX;
    bool is_fine = n > 0 && n < sizeof first;
    if (is_fine) {
        snprintf(first, sizeof first, "%.*s", (int)n, text);
        is_fine =
            cli_parse_count(first, &o->only_first) && (!text[n] || (cli_parse_count(text + n + 1, &o->only_step) && o->only_step > 0));
    }
    return is_fine || cli_fail(p, "--only %s: write the number of a cell, or K/N for cells K, K+N, K+2N...", text);
}

// A number is one of instructions; everything else names a place.
static bool take_fast_forward(cli_parser *p, const char *text) {
    tl_run_options *run = &p->out->run;
    uint64_t n_insns;
    run->fast_forward_insns = 0;
    run->fast_forward_to = NULL;
    run->fast_forward_to_marker = strcmp(text, "marker") == 0;
    if (run->fast_forward_to_marker)
        return true;
    if (strncmp(text, "0x", 2) != 0 && cli_parse_count(text, &n_insns)) {
        run->fast_forward_insns = n_insns;
        return n_insns > 0 || cli_fail(p, "--fast-forward 0: write a number of instructions from 1, a function or the word marker");
    }
    // No function's name begins with a digit, but addresses do.
    if (text[0] >= '0' && text[0] <= '9' && strncmp(text, "0x", 2) != 0)
        return cli_fail(p, "--fast-forward %.60s: write a number such as 1000000, 500k or 2G, a function or the word marker", text);
    run->fast_forward_to = text;
    return *text || cli_fail(p, "--fast-forward: write a number of instructions, a function or the word marker");
}

// "1000/1M", "1000/1M/2000".
static bool take_sample(cli_parser *p, const char *text) {
    enum { USUAL_WARM_UP = 2000 };
    uint64_t numbers[3] = {0, 0, USUAL_WARM_UP};
    unsigned n = 0;
    bool is_fine = true;
    for (const char *at = text; is_fine; n++) {
        char part[32];
        const size_t length = strcspn(at, "/");
        is_fine = n < 3 && length < sizeof part;
        if (!is_fine)
            break;
        memcpy(part, at, length);
        part[length] = '\0';
        is_fine = cli_parse_count(part, &numbers[n]);
        if (!at[length])
            break;
        at += length + 1;
    }
    if (!is_fine || n < 1 || numbers[0] == 0 || numbers[1] == 0)
        return cli_fail(p, "--sample %s: write instructions of a window, of a stretch and, if wanted, of the warm-up, as in 1000/1M/2000",
                        text);
    p->out->run.sample_window = numbers[0];
    p->out->run.sample_stretch = numbers[1];
    p->out->run.sample_warm_up = numbers[2];
    return true;
}

// Conversion of an option's value to a member of cli_options.
static bool take_percent(cli_parser *p, const char *option, const char *text, double *ret_percent) {
    char *end;
    const double percent = strtod(text, &end);
    if (end == text || *end != '\0' || !(percent >= 0 && percent <= 100))
        return cli_fail(p, "%s %.60s: write a number from 0 to 100", option, text);
    *ret_percent = percent;
    return true;
}

static bool take_percent_limit(cli_parser *p, const char *text) {
    return take_percent(p, "--percent-limit", text, &p->out->profile.percent_limit);
}

static bool take_hot(cli_parser *p, const char *text) { return take_percent(p, "--hot", text, &p->out->annotate.hot_percent); }

static bool take_color(cli_parser *p, const char *text) {
    if (strcmp(text, "auto") != 0 && strcmp(text, "always") != 0 && strcmp(text, "never") != 0)
        return cli_fail(p, "--color %.60s: the words are auto, always and never", text);
    p->out->color = text;
    return true;
}

typedef enum value_kind {
    VALUE_NONE,     // nothing is set
    VALUE_TRUE,     // bool
    VALUE_FALSE,    // bool
    VALUE_ENUM,     // an enum becomes `least`
    VALUE_MORE,     // an unsigned grows by `least`
    VALUE_TEXT,     // text as it is; with `said` it must not be empty
    VALUE_LIST,     // text that is not empty goes into a cli_strings
    VALUE_SETTING,  // text goes into the overrides behind `key`
    VALUE_NUMBER,   // a text that must be a number
    VALUE_CHOICE,   // a word of `choices` for an enum
    VALUE_U32,      // counts from `least` to `most`
    VALUE_U64,      //
    VALUE_SIZE,     // a number of bytes; uint64_t
    VALUE_DURATION, // a time in ms; uint64_t
    VALUE_OWN,      // `take` knows
} value_kind;

typedef struct choice {
    const char *word; // NULL ends the list
    int value;
} choice;

typedef struct value_row {
    int id;
    value_kind kind;
    size_t offset;     // of the member
    const char *shown; // how a message names the option
    const char *said;  // what it says of a value that is wrong
    const char *key;
    uint64_t least, most;
    const choice *choices;
    bool (*take)(cli_parser *p, const char *text);
} value_row;

_Static_assert(sizeof(tl_engine) == sizeof(int) && sizeof(tl_host_symbols) == sizeof(int) && sizeof(tl_uop_trace_format) == sizeof(int) &&
                   sizeof(tl_run_kind) == sizeof(int) && sizeof(tl_list_format) == sizeof(int) && sizeof(tl_describe_format) == sizeof(int),
               "VALUE_ENUM and VALUE_CHOICE set them");
static const choice host_symbols[] = {{"map", TL_HOST_SYMBOLS_MAP}, {"jitdump", TL_HOST_SYMBOLS_JITDUMP}, {NULL, 0}};
static const choice engines[] = {{"translate", TL_ENGINE_TRANSLATE},
                                 {"interp", TL_ENGINE_INTERP},
                                 {"block", TL_ENGINE_INTERP}, // its first name
                                 {"step", TL_ENGINE_STEP},
                                 {NULL, 0}};
static const choice formats[] = {
    {"text", TL_DESCRIBE_TEXT}, {"md", TL_DESCRIBE_MARKDOWN}, {"json", TL_DESCRIBE_JSON}, {"svg", TL_DESCRIBE_SVG}, {NULL, 0}};

static const choice trace_formats[] = {{"kanata", TL_UOP_TRACE_KANATA}, {"text", TL_UOP_TRACE_TEXT}, {NULL, 0}};

#define AT(member) offsetof(cli_options, member)
#define NO_FILE "the file name is empty"
#define NO_FOLDER "the folder is empty"
#define NO_FUNCTION "the name is empty"
#define NO_EVENTS "an empty list of events"
#define SOME_INSNS "write a number such as 1000000, 500k or 2G"
static const value_row rows[] = {
    {.id = OPT_EVENTS, .kind = VALUE_LIST, .offset = AT(events), .shown = "-e", .said = NO_EVENTS},
    {.id = OPT_METRICS, .kind = VALUE_LIST, .offset = AT(metrics), .shown = "-M", .said = "an empty list of metrics"},
    {.id = OPT_TOPDOWN, .kind = VALUE_OWN, .take = take_topdown},
    {.id = OPT_PER_HART, .kind = VALUE_TRUE, .offset = AT(run.per_hart)},
    {.id = OPT_ALL_CPUS, .kind = VALUE_NONE},
    {.id = OPT_PER_UNIT, .kind = VALUE_TRUE, .offset = AT(run.per_unit)},
    {.id = OPT_INTERVAL, .kind = VALUE_OWN, .take = take_interval},
    {.id = OPT_ROI, .kind = VALUE_OWN, .take = add_roi},
    {.id = OPT_MARKERS, .kind = VALUE_TRUE, .offset = AT(run.markers)},
    {.id = OPT_ROI_REQUIRED, .kind = VALUE_TRUE, .offset = AT(requires_regions)},
    {.id = OPT_FAST_FORWARD, .kind = VALUE_OWN, .take = take_fast_forward},
    {.id = OPT_SAMPLE, .kind = VALUE_OWN, .take = take_sample},
    {.id = OPT_REPEAT,
     .kind = VALUE_U32,
     .offset = AT(n_runs),
     .shown = "-r",
     .least = 1,
     .most = 1000000,
     .said = "write a number of runs from 1 to 1000000"},
    {.id = OPT_NULL, .kind = VALUE_TRUE, .offset = AT(report.only_times)},
    {.id = OPT_DETAIL, .kind = VALUE_MORE, .offset = AT(report.detail), .least = 1},
    {.id = OPT_VERBOSE, .kind = VALUE_MORE, .offset = AT(report.detail), .least = 2},
    {.id = OPT_JSON, .kind = VALUE_TRUE, .offset = AT(wants_json)},
    {.id = OPT_CSV, .kind = VALUE_OWN, .take = take_csv},
    {.id = OPT_SEPARATOR, .kind = VALUE_OWN, .take = take_separator},
    {.id = OPT_PERF_COMPAT, .kind = VALUE_OWN, .take = take_perf_lines},
    {.id = OPT_LOG_FD,
     .kind = VALUE_U32,
     .offset = AT(log_fd),
     .shown = "--log-fd",
     .most = 0xfffff,
     .said = "write the number of an open descriptor, as in --log-fd 3 3>FILE"},
    {.id = OPT_OUTPUT, .kind = VALUE_TEXT, .offset = AT(output), .shown = "-o", .said = NO_FILE},
    {.id = OPT_APPEND, .kind = VALUE_TRUE, .offset = AT(is_appending)},
    {.id = OPT_HOST_INFO, .kind = VALUE_TRUE, .offset = AT(report.with_host)},
    {.id = OPT_HOST_PROFILE, .kind = VALUE_OWN, .take = take_host_profile},
    {.id = OPT_HOST_SYMBOLS,
     .kind = VALUE_CHOICE,
     .offset = AT(run.host_symbols),
     .choices = host_symbols,
     .shown = "--perf",
     .said = "what perf can read is map or jitdump"},
    {.id = OPT_QUIET, .kind = VALUE_TRUE, .offset = AT(report.is_quiet)},
    {.id = OPT_NO_PROGRESS, .kind = VALUE_TRUE, .offset = AT(no_progress)},
    {.id = OPT_MACHINE, .kind = VALUE_TEXT, .offset = AT(run.machine), .shown = "--machine", .said = "the name is empty"},
    {.id = OPT_HARTS, .kind = VALUE_NUMBER, .key = "harts=", .shown = "--harts", .said = "not a number"},
    {.id = OPT_I1, .kind = VALUE_SETTING, .key = "l1i="},
    {.id = OPT_D1, .kind = VALUE_SETTING, .key = "l1d="},
    {.id = OPT_L2, .kind = VALUE_SETTING, .key = "l2="},
    {.id = OPT_SET, .kind = VALUE_OWN, .take = take_setting},
    {.id = OPT_ENGINE,
     .kind = VALUE_CHOICE,
     .offset = AT(run.engine),
     .choices = engines,
     .shown = "--engine",
     .said = "the engines are translate, interp and step"},
    {.id = OPT_CODE_CACHE,
     .kind = VALUE_SIZE,
     .offset = AT(run.code_cache_bytes),
     .shown = "--code-cache",
     .least = TL_LEAST_CODE_CACHE_BYTES,
     .most = TL_MOST_CODE_CACHE_BYTES,
     .said = "write a size from 192KiB to 1GiB"},
    {.id = OPT_TRANSLATE_AFTER,
     .kind = VALUE_U64,
     .offset = AT(run.translate_after_runs),
     .shown = "--translate-after",
     .most = UINT32_MAX,
     .said = "write a number of runs up to 4294967295; 0 translates everything at once"},
    {.id = OPT_REPEAT_PART, .kind = VALUE_TEXT, .offset = AT(run.repeated_part), .shown = "--repeat-part", .said = "the name is empty"},
    {.id = OPT_SEED, .kind = VALUE_NUMBER, .key = "seed=", .shown = "--seed", .said = "not a number"},
    {.id = OPT_SYSROOT, .kind = VALUE_TEXT, .offset = AT(run.sysroot), .shown = "--sysroot", .said = NO_FOLDER},
    {.id = OPT_MONITOR,
     .kind = VALUE_TEXT,
     .offset = AT(monitor),
     .shown = "--monitor",
     .said = "the name is empty; write none for no monitor"},
    {.id = OPT_RECORDS, .kind = VALUE_TEXT, .offset = AT(records), .shown = "--records", .said = NO_FOLDER},
    {.id = OPT_OOB_HOLD, .kind = VALUE_TRUE, .offset = AT(oob_hold)},
    {.id = OPT_OOB, .kind = VALUE_TEXT, .offset = AT(oob), .shown = "--oob", .said = NO_FILE},
    {.id = OPT_ROOT, .kind = VALUE_TEXT, .offset = AT(run.root), .shown = "--root", .said = NO_FOLDER},
    {.id = OPT_ENV, .kind = VALUE_OWN, .take = add_env},
    {.id = OPT_NETWORK, .kind = VALUE_TRUE, .offset = AT(run.allow_network)},
    {.id = OPT_HOST_PATHS, .kind = VALUE_TRUE, .offset = AT(run.host_paths)},
    {.id = OPT_GRANT, .kind = VALUE_OWN, .take = add_grant},
    {.id = OPT_ARGV0, .kind = VALUE_TEXT, .offset = AT(argv0)},
    {.id = OPT_BARE, .kind = VALUE_ENUM, .offset = AT(run.kind), .least = TL_RUN_BARE},
    {.id = OPT_BIOS, .kind = VALUE_TEXT, .offset = AT(run.bios), .shown = "--bios", .said = NO_FILE},
    {.id = OPT_KERNEL, .kind = VALUE_TEXT, .offset = AT(run.kernel), .shown = "--kernel", .said = NO_FILE},
    {.id = OPT_KERNEL_SYMBOLS, .kind = VALUE_TEXT, .offset = AT(run.kernel_symbols), .shown = "--vmlinux", .said = NO_FILE},
    {.id = OPT_INITRD, .kind = VALUE_TEXT, .offset = AT(run.initrd), .shown = "--initrd", .said = NO_FILE},
    {.id = OPT_COMMAND_LINE, .kind = VALUE_TEXT, .offset = AT(run.append)},
    {.id = OPT_DISK, .kind = VALUE_TEXT, .offset = AT(run.disk), .shown = "--disk", .said = NO_FILE},
    {.id = OPT_DISK_WRITABLE, .kind = VALUE_TRUE, .offset = AT(run.is_disk_writable)},
    {.id = OPT_REPORT, .kind = VALUE_NONE},
    {.id = OPT_TIMEOUT,
     .kind = VALUE_DURATION,
     .offset = AT(timeout_ms),
     .shown = "--timeout",
     .least = 1,
     .most = UINT64_MAX,
     .said = "write a time such as 10, 2.5s, 500ms or 2m"},
    {.id = OPT_MAX_INSNS,
     .kind = VALUE_U64,
     .offset = AT(run.max_insns),
     .shown = "--max-insns",
     .least = 1,
     .most = UINT64_MAX,
     .said = SOME_INSNS},
    {.id = OPT_LIST_JSON, .kind = VALUE_ENUM, .offset = AT(list_format), .least = TL_LIST_JSON},
    {.id = OPT_LIST_MARKDOWN, .kind = VALUE_ENUM, .offset = AT(list_format), .least = TL_LIST_MARKDOWN},
    {.id = OPT_LIST_VERBOSE, .kind = VALUE_OWN, .take = take_list_verbose},
    {.id = OPT_LIST_PORTABLE, .kind = VALUE_TRUE, .offset = AT(list_portable)},
    {.id = OPT_PMU, .kind = VALUE_OWN, .take = take_pmu},
    {.id = OPT_COST, .kind = VALUE_TRUE, .offset = AT(wants_cost)},
    {.id = OPT_UNITS, .kind = VALUE_OWN, .take = set_units},
    {.id = OPT_FORMAT,
     .kind = VALUE_CHOICE,
     .offset = AT(describe_format),
     .choices = formats,
     .shown = "--format",
     .said = "the formats are text, md, json and svg"},
    {.id = OPT_FAIL_ON, .kind = VALUE_LIST, .offset = AT(gates), .shown = "--fail-on", .said = "the gate is empty"},
    {.id = OPT_ALL, .kind = VALUE_TRUE, .offset = AT(with_equal)},
    {.id = OPT_DIFF_JSON, .kind = VALUE_TRUE, .offset = AT(wants_json)},
    {.id = OPT_KEY, .kind = VALUE_TEXT, .offset = AT(key), .shown = "--key", .said = NO_FILE},
    {.id = OPT_DIFF_MARKDOWN, .kind = VALUE_TRUE, .offset = AT(wants_markdown)},
    {.id = OPT_INSNS,
     .kind = VALUE_U64,
     .offset = AT(run.max_insns),
     .shown = "--insns",
     .least = 1,
     .most = 10000000000,
     .said = "write a number of instructions from 1 to 10G"},
    {.id = OPT_DESIGNS, .kind = VALUE_TEXT, .offset = AT(compare.designs), .shown = "--pmu", .said = "an empty list of designs"},
    {.id = OPT_WATCHED, .kind = VALUE_LIST, .offset = AT(events), .shown = "-e", .said = NO_EVENTS},
    {.id = OPT_N_WATCHED, .kind = VALUE_OWN, .take = take_n_watched},
    {.id = OPT_LIST_WATCHED, .kind = VALUE_TRUE, .offset = AT(lists_watched)},
    {.id = OPT_LOOKS, .kind = VALUE_OWN, .take = set_looks},
    {.id = OPT_PHASES,
     .kind = VALUE_U32,
     .offset = AT(compare.n_phases),
     .shown = "--phases",
     .least = 1,
     .most = 1000,
     .said = "write a number of runs from 1 to 1000"},
    {.id = OPT_NO_SWEEPS, .kind = VALUE_FALSE, .offset = AT(compare.with_sweeps)},
    {.id = OPT_PLOT, .kind = VALUE_TEXT, .offset = AT(plot), .shown = "--plot", .said = NO_FILE},
    {.id = OPT_SERVE, .kind = VALUE_TEXT, .offset = AT(oob), .shown = "--serve", .said = NO_FILE},
    {.id = OPT_SVG, .kind = VALUE_TEXT, .offset = AT(plot), .shown = "--svg", .said = NO_FILE},
    {.id = OPT_PROGRAM_OUTPUT, .kind = VALUE_TEXT, .offset = AT(program_output), .shown = "--program-output", .said = NO_FILE},
    {.id = OPT_BOUND,
     .kind = VALUE_U64,
     .offset = AT(run.max_insns),
     .shown = "--insns",
     .least = 1,
     .most = UINT64_MAX,
     .said = SOME_INSNS},
    {.id = OPT_BENCH, .kind = VALUE_TEXT, .offset = AT(bench), .shown = "--bench", .said = NO_FILE},
    {.id = OPT_PIPELINE, .kind = VALUE_TRUE, .offset = AT(records_uops)},
    {.id = OPT_TRACE, .kind = VALUE_TEXT, .offset = AT(trace), .shown = "-o", .said = NO_FILE},
    {.id = OPT_TRACE_FORMAT,
     .kind = VALUE_CHOICE,
     .offset = AT(trace_format),
     .choices = trace_formats,
     .shown = "--format",
     .said = "the formats are kanata and text"},
    {.id = OPT_TRACE_LIMIT,
     .kind = VALUE_U64,
     .offset = AT(max_traced),
     .shown = "--limit",
     .least = 1,
     .most = UINT64_MAX,
     .said = SOME_INSNS},
    {.id = OPT_PERIOD,
     .kind = VALUE_U64,
     .offset = AT(run.sample_period),
     .shown = "-c",
     .least = 1,
     .most = INT64_MAX,
     .said = "write how many events lie between two samples, from 1 on"},
    {.id = OPT_AGAINST_TRUTH, .kind = VALUE_TRUE, .offset = AT(profile.against_truth)},
    {.id = OPT_CHILDREN, .kind = VALUE_TRUE, .offset = AT(profile.with_children)},
    {.id = OPT_CALLERS, .kind = VALUE_TEXT, .offset = AT(profile.callers), .shown = "--callers", .said = NO_FUNCTION},
    {.id = OPT_CALLEES, .kind = VALUE_TEXT, .offset = AT(profile.callees), .shown = "--callees", .said = NO_FUNCTION},
    {.id = OPT_HTML, .kind = VALUE_TEXT, .offset = AT(html), .shown = "--html", .said = NO_FILE},
    {.id = OPT_CALL_GRAPH, .kind = VALUE_TRUE, .offset = AT(with_calls)},
    {.id = OPT_WITH_SOURCES, .kind = VALUE_TRUE, .offset = AT(with_sources)},
    {.id = OPT_SORT, .kind = VALUE_TEXT, .offset = AT(profile.sort), .shown = "--sort", .said = "no key; write --sort dso,symbol, say"},
    {.id = OPT_COLUMNS, .kind = VALUE_LIST, .offset = AT(events), .shown = "-e", .said = NO_EVENTS},
    {.id = OPT_ORDER, .kind = VALUE_TEXT, .offset = AT(profile.order), .shown = "--order", .said = "the name of the column is empty"},
    {.id = OPT_PERCENT_LIMIT, .kind = VALUE_OWN, .take = take_percent_limit},
    {.id = OPT_INPUT, .kind = VALUE_TEXT, .offset = AT(profile_file), .shown = "-i", .said = NO_FILE},
    {.id = OPT_COLOR, .kind = VALUE_OWN, .take = take_color},
    {.id = OPT_WIDTH,
     .kind = VALUE_U32,
     .offset = AT(profile.width),
     .shown = "--width",
     .least = 20,
     .most = 10000,
     .said = "from 20 to 10000 columns"},
    {.id = OPT_NO_PAGER, .kind = VALUE_TRUE, .offset = AT(no_pager)},
    {.id = OPT_PROFILE_CSV, .kind = VALUE_ENUM, .offset = AT(profile.format), .least = TL_PROFILE_CSV},
    {.id = OPT_SOURCE_ROOT, .kind = VALUE_TEXT, .offset = AT(annotate.source_root), .shown = "--source", .said = NO_FOLDER},
    {.id = OPT_NO_SOURCE, .kind = VALUE_TRUE, .offset = AT(annotate.without_sources)},
    {.id = OPT_HOT, .kind = VALUE_OWN, .take = take_hot},
    {.id = OPT_VARY, .kind = VALUE_LIST, .offset = AT(varies), .shown = "--vary", .said = "nothing varies; write KEY=VALUE,VALUE"},
    {.id = OPT_CELLS, .kind = VALUE_TEXT, .offset = AT(cells), .shown = "--cells", .said = NO_FOLDER},
    {.id = OPT_JOBS,
     .kind = VALUE_U32,
     .offset = AT(n_jobs),
     .shown = "-j",
     .least = 1,
     .most = 4096,
     .said = "write a number from 1 to 4096"},
    {.id = OPT_SLURM, .kind = VALUE_TRUE, .offset = AT(uses_slurm)},
    {.id = OPT_ONLY, .kind = VALUE_OWN, .take = take_only},
    {.id = OPT_HELP, .kind = VALUE_TRUE, .offset = AT(wants_help)},
};
#undef AT

static bool refuse(cli_parser *p, const value_row *row, const char *text) { return cli_fail(p, "%s %s: %s", row->shown, text, row->said); }

static bool take_choice(cli_parser *p, const value_row *row, const char *text, int *value) {
    for (const choice *at = row->choices; at->word; at++) {
        if (strcmp(text, at->word) != 0)
            continue;
        *value = at->value;
        return true;
    }
    return refuse(p, row, text);
}

static bool read_count(value_kind kind, const char *text, uint64_t *value) {
    switch (kind) {
    case VALUE_SIZE: return cli_parse_size(text, value);
    case VALUE_DURATION: return cli_parse_duration_ms(text, value);
    default: return cli_parse_count(text, value);
    }
}

static bool take_count(cli_parser *p, const value_row *row, const char *text, void *member) {
    uint64_t value;
    if (!read_count(row->kind, text, &value) || value < row->least || value > row->most)
        return refuse(p, row, text);
    if (row->kind == VALUE_U32)
        *(uint32_t *)member = (uint32_t)value;
    else
        *(uint64_t *)member = value;
    return true;
}

static bool take_number(cli_parser *p, const value_row *row, const char *text) {
    uint64_t value;
    char number[32];
    if (!cli_parse_count(text, &value))
        return refuse(p, row, text);
    snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    return cli_append(p, &p->out->overrides, row->key, number);
}

static bool set_value(cli_parser *p, const value_row *row, const char *text) {
    void *member = (char *)p->out + row->offset;
    switch (row->kind) {
    case VALUE_NONE: return true;
    case VALUE_TRUE: *(bool *)member = true; return true;
    case VALUE_FALSE: *(bool *)member = false; return true;
    case VALUE_ENUM: *(int *)member = (int)row->least; return true;
    case VALUE_MORE: *(unsigned *)member += (unsigned)row->least; return true;
    case VALUE_TEXT: *(const char **)member = text; return *text || !row->said || cli_fail(p, "%s: %s", row->shown, row->said);
    case VALUE_LIST: return *text ? cli_append(p, member, "", text) : cli_fail(p, "%s: %s", row->shown, row->said);
    case VALUE_SETTING: return cli_append(p, &p->out->overrides, row->key, text);
    case VALUE_NUMBER: return take_number(p, row, text);
    case VALUE_CHOICE: return take_choice(p, row, text, member);
    case VALUE_U32:
    case VALUE_U64:
    case VALUE_SIZE:
    case VALUE_DURATION: return take_count(p, row, text, member);
    case VALUE_OWN: return row->take(p, text);
    }
    return false;
}

bool cli_take(cli_parser *p, int id, const char *text) {
    cli_options *o = p->out;
    o->wants_report = o->wants_report || (id >= OPT_EVENTS && id <= OPT_OUTPUT) || id == OPT_REPORT;
    o->has_host_options = o->has_host_options || (id >= OPT_SYSROOT && id <= OPT_ARGV0);
    const value_row *row = rows;
    while (row < rows + sizeof rows / sizeof rows[0] && row->id != id)
        row++;
    assert(row < rows + sizeof rows / sizeof rows[0]); // of every option in table.c
    return set_value(p, row, text);
}
