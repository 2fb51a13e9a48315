// SPDX-License-Identifier: MIT
// Every report format over sample results made by hand, compared byte by byte with the files of
// reports/. After a wanted change: TALLY_UPDATE_GOLDEN=1 meson test -C build --suite golden, and
// read the difference.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "golden.h"
#include "report/lists.h"
#include "report/report.h"
#include "session/machine_names.h"

static tl_value whole(uint64_t value) { return (tl_value){.kind = TL_VALUE_INTEGER, .integer = value, .real = (double)value}; }
static tl_value real(double value) { return (tl_value){.kind = TL_VALUE_REAL, .real = value}; }
static tl_value missing(const char *reason) { return (tl_value){.kind = TL_VALUE_MISSING, .reason = reason}; }

static const char *const sample_argv[] = {"demo", "a,b", "say \"hi\"", "tab\there", NULL};
static const char *const sample_env[] = {"LANG=C", NULL};
static const tl_setting sample_settings[] = {{"name", "rocket"}, {"harts", "2"}, {"l1d.ways", "8"}};

static tl_image sample_images[] = {{"kernel", "Image", "xxh64:00000000deadbeef"}, {"initrd", "root.cpio", NULL}};

static tl_header sample_header(void) {
    return (tl_header){.version = "1.2.3",
                       .machine = "rocket",
                       .summary = "Two harts.",
                       .kind = "user",
                       .program = "demo",
                       .digest = "xxh64:00000000deadbeef",
                       .argv = sample_argv,
                       .env = sample_env,
                       .engine = "interp",
                       .interval = "none",
                       .seed = 7,
                       .clock_hz = 1500000000,
                       .n_harts = 2,
                       .settings = sample_settings,
                       .n_settings = 3,
                       .changed = sample_settings + 1,
                       .n_changed = 2};
}

// Values are primes, so that a mix-up shows.
static tl_row sample_rows[] = {
    {.name = "cycles", .scope = "machine", .unit = "cycles", .group = ""},
    {.name = "cycles", .scope = "hart0", .unit = "cycles", .group = ""},
    {.name = "cycles", .scope = "hart1", .unit = "cycles", .group = ""},
    {.name = "instructions", .scope = "machine", .unit = "", .group = "", .metric = "ipc"},
    {.name = "huge", .scope = "machine", .unit = "bytes", .group = "", .detail = 2},
    {.name = "task-clock", .scope = "machine", .unit = "ns", .group = ""},
    {.name = "l2.read", .scope = "machine", .unit = "", .group = "l2", .detail = 1},
    {.name = "l2.write", .scope = "machine", .unit = "", .group = "l2", .detail = 1},
    {.name = "odd,name", .scope = "l2.1", .unit = "", .group = "l2", .detail = 1},
    {.name = "ipc", .scope = "machine", .unit = "per cycle", .group = "summary", .meaning = "Instructions per cycle.", .is_metric = true},
    {.name = "share_issue", .scope = "machine", .unit = "%", .group = "cycle_shares", .meaning = "Issue.", .is_metric = true},
    {.name = "share_load_use", .scope = "machine", .unit = "%", .group = "cycle_shares", .meaning = "Fetch.", .is_metric = true},
    {.name = "l2_mpki", .scope = "machine", .unit = "per 1000", .group = "memory", .meaning = "Misses.", .is_metric = true, .detail = 1},
};

static tl_result sample_result(const tl_header *header, tl_row rows[]) {
    static const char *notes[] = {"system call 999 is not supported; the program was told so (ENOSYS)"};
    memcpy(rows, sample_rows, sizeof sample_rows);
    const tl_value values[] = {whole(1000003),
                               whole(600011),
                               whole(399992),
                               whole(800011),
                               whole((UINT64_C(1) << 60) + 1),
                               whole(666668667),
                               whole(101),
                               whole(0),
                               missing("not on l2.1"),
                               real(0.8000085999),
                               real(61.25),
                               real(2.5),
                               missing("division by zero: instructions is 0")};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        rows[i].value = values[i];
    return (tl_result){.header = header,
                       .rows = rows,
                       .n_rows = sizeof sample_rows / sizeof sample_rows[0],
                       .notes = notes,
                       .n_notes = 1,
                       .instructions = 800011,
                       .cycles = 600011,
                       .sim_ns = 400007,
                       .host_ns = 20000000,
                       .host_peak_bytes = 12345678,
                       .guest_peak_bytes = 1056768,
                       .reason = TL_END_EXITED,
                       .status = 3,
                       .message = "",
                       .is_checked = true};
}

// The report of the sample, with two intervals before it when `has_intervals`.
static char *write_report(const tl_report_options *options, const tl_result *result, bool has_intervals) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    tl_reporter *reporter = NULL;
    tl_error err;
    assert_int_equal(tl_reporter_new(options, stream, &reporter, &err), TL_OK);
    tl_reporter_begin(reporter, result);
    for (uint64_t i = 0; has_intervals && i < 2; i++) {
        tl_result part = *result;
        part.interval_kind = "ns";
        part.begin_ns = i * 200000;
        part.begin_cycles = i * 300000;
        part.begin_instructions = i * 400000;
        part.sim_ns = 200000;
        part.cycles = 300000;
        part.instructions = 400000;
        part.n_rows = 4;
        part.reason = TL_END_NONE;
        tl_reporter_interval(reporter, &part);
    }
    assert_int_equal(tl_reporter_end(reporter, result, &err), TL_OK);
    tl_reporter_free(reporter);
    fclose(stream);
    return text;
}

typedef struct golden {
    const char *file;
    tl_report_options options;
    bool has_intervals;
} golden;

static const golden goldens[] = {
    {"text.txt", {.format = TL_FORMAT_TEXT}, false},
    {"text-detail.txt", {.format = TL_FORMAT_TEXT, .detail = 1}, false},
    {"text-everything.txt", {.format = TL_FORMAT_TEXT, .detail = 2}, false},
    {"text-quiet.txt", {.format = TL_FORMAT_TEXT, .is_quiet = true}, false},
    {"text-null.txt", {.format = TL_FORMAT_TEXT, .only_times = true}, false},
    {"text-intervals.txt", {.format = TL_FORMAT_TEXT}, true},
    {"json.txt", {.format = TL_FORMAT_JSON}, false},
    {"json-host.txt", {.format = TL_FORMAT_JSON, .with_host = true}, false},
    {"json-intervals.txt", {.format = TL_FORMAT_JSON}, true},
    {"csv.txt", {.format = TL_FORMAT_CSV}, false},
    {"csv-intervals.txt", {.format = TL_FORMAT_CSV, .with_host = true}, true},
    {"perf.txt", {.format = TL_FORMAT_PERF_CSV}, false},
    {"perf-repeat.txt", {.format = TL_FORMAT_PERF_CSV, .separator = ";", .with_variance = true}, false},
    {"perf-intervals.txt", {.format = TL_FORMAT_PERF_CSV}, true},
    {"perf-json.txt", {.format = TL_FORMAT_PERF_JSON, .with_variance = true}, false},
    {"perf-json-intervals.txt", {.format = TL_FORMAT_PERF_JSON}, true},
};

static void test_every_format_writes_what_it_always_wrote(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        tl_row rows[sizeof sample_rows / sizeof sample_rows[0]];
        tl_header header = sample_header();
        if (goldens[i].has_intervals) {
            header.interval = "ns";
            header.interval_length = 200000;
        }
        tl_result result = sample_result(&header, rows);
        tl_report_options options = goldens[i].options;
        options.size = sizeof options;
        char *text = write_report(&options, &result, goldens[i].has_intervals);
        compare(goldens[i].file, text);
        free(text);
    }
}

static void test_what_a_pmu_reports_stands_beside_the_truth(void **state) {
    (void)state;
    tl_header header = sample_header();
    header.pmu = "rvhpm:u74";
    tl_row rows[] = {
        {.name = "cycles", .scope = "machine", .unit = "cycles", .group = "", .value = whole(1000003)},
        {.name = "branches", .scope = "machine", .unit = "", .group = "", .value = whole(101)},
        {.name = "branches", .scope = "hart0", .unit = "", .group = "", .value = whole(97)},
        {.name = "r202", .scope = "machine", .unit = "", .group = "", .value = whole(7)},
        {.name = "r102", .scope = "machine", .unit = "", .group = "", .value = missing("never on a counter")},
    };
    static const tl_row_pmu pmus[] = {{1000, 1000, {.kind = TL_VALUE_INTEGER, .integer = 1000003, .real = 1000003}},
                                      {1000, 400, {.kind = TL_VALUE_INTEGER, .integer = 103, .real = 103}},
                                      {500, 200, {.kind = TL_VALUE_MISSING, .reason = "not by hart"}},
                                      {1000, 999, {.kind = TL_VALUE_INTEGER}},
                                      {1000, 0, {.kind = TL_VALUE_INTEGER, .integer = 13, .real = 13}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rows[i].is_pmu = true;
        rows[i].pmu = pmus[i];
    }
    tl_row unused[sizeof sample_rows / sizeof sample_rows[0]];
    tl_result result = sample_result(&header, unused);
    result.rows = rows;
    result.n_rows = sizeof rows / sizeof rows[0];
    char *all = calloc(1, 1 << 16);
    assert_non_null(all);
    for (int format = TL_FORMAT_TEXT; format <= TL_FORMAT_PERF_JSON; format++) {
        tl_report_options options = {.size = sizeof options, .format = (tl_format)format};
        char *text = write_report(&options, &result, false);
        strcat(all, text);
        free(text);
    }
    compare("pmu.txt", all);
    free(all);
}

// A message from before the beginning follows it; a report that never began is its messages.
static void test_messages_are_of_the_format(void **state) {
    (void)state;
    tl_row rows[sizeof sample_rows / sizeof sample_rows[0]];
    tl_header header = sample_header();
    tl_result result = sample_result(&header, rows);
    result.n_rows = 1;
    char *all = NULL;
    size_t n_bytes = 0;
    FILE *stream = open_memstream(&all, &n_bytes);
    assert_non_null(stream);
    for (int format = TL_FORMAT_TEXT; format <= TL_FORMAT_PERF_JSON; format++) {
        tl_report_options options = {.size = sizeof options, .format = (tl_format)format};
        for (int begins = 1; begins >= 0; begins--) {
            tl_reporter *reporter = NULL;
            tl_error err = {0};
            header.pmu = begins ? "rvhpm:u74" : NULL;
            assert_int_equal(tl_reporter_new(&options, stream, &reporter, &err), TL_OK);
            tl_reporter_message(reporter, "before, \"quoted\"\nand broken");
            tl_reporter_message(reporter, "and again");
            if (begins && format != TL_FORMAT_TEXT) {
                tl_reporter_begin(reporter, &result);
                tl_reporter_message(reporter, "inside");
                assert_int_equal(tl_reporter_end(reporter, &result, &err), TL_OK);
            }
            tl_reporter_free(reporter);
        }
    }
    assert_int_equal(fclose(stream), 0);
    compare("messages.txt", all);
    free(all);
}

static void test_each_way_to_end_is_told(void **state) {
    (void)state;
    static const struct {
        tl_end_reason reason;
        int status, signal;
        const char *message, *broken;
    } ends[] = {
        {TL_END_NONE, 0, 0, "", NULL},
        {TL_END_EXITED, 0, 0, "", NULL},
        {TL_END_EXITED, 255, 0, "", NULL},
        {TL_END_KILLED, 0, 11, "killed by SIGSEGV: load from 0x10 at pc 0x10454 (main)", NULL},
        {TL_END_KILLED, 0, 34, "", NULL},
        {TL_END_DEADLOCK, 0, 0, "deadlock: every thread sleeps and nothing can wake one: thread 2 waits for a futex", NULL},
        {TL_END_MAX_INSNS, 0, 0, "", NULL},
        {TL_END_TIMEOUT, 0, 0, "", NULL},
        {TL_END_INTERRUPTED, 0, 2, "", NULL},
        {TL_END_FAILED, 0, 0, "the host has no memory left", "cycles of hart0: 3 is not 2"},
        {TL_END_RESET, 0, 0, "", NULL},
        {TL_END_STUCK, 0, 0, "every hart waits for an interrupt", NULL},
        {TL_END_QUIT, 0, 0, "", NULL},
    };
    char *all = calloc(1, 1 << 16);
    assert_non_null(all);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        tl_row rows[sizeof sample_rows / sizeof sample_rows[0]];
        tl_header header = sample_header();
        header.roi_start = i == 1 ? "main" : i == 2 ? "begin" : NULL;
        header.roi_stop = i == 2 ? "end" : NULL;
        if (ends[i].reason >= TL_END_RESET) {
            header.kind = "boot";
            header.images = sample_images;
            header.n_images = 2;
            header.append = ends[i].reason == TL_END_RESET ? NULL : "console=ttyS0\n";
        }
        tl_result result = sample_result(&header, rows);
        result.reason = ends[i].reason;
        result.status = ends[i].status;
        result.signal = ends[i].signal;
        result.message = ends[i].message;
        result.broken = ends[i].broken;
        result.n_roi_visits = i;
        for (int format = TL_FORMAT_TEXT; format <= TL_FORMAT_JSON; format++) {
            tl_report_options options = {.size = sizeof options, .format = (tl_format)format, .only_times = true};
            char *text = write_report(&options, &result, false);
            strcat(all, text);
            free(text);
        }
    }
    compare("ends.txt", all);
    free(all);
}

static void test_the_locale_changes_nothing(void **state) {
    (void)state;
    // Any locale of the host with a decimal comma will do; without one there is nothing to prove.
    const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "cs_CZ.UTF-8"};
    bool has_locale = false;
    for (size_t i = 0; i < sizeof locales / sizeof locales[0] && !has_locale; i++)
        has_locale = setlocale(LC_ALL, locales[i]) != NULL;
    test_every_format_writes_what_it_always_wrote(state);
    setlocale(LC_ALL, "C");
}

static void test_a_full_disk_is_an_error(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    tl_row rows[sizeof sample_rows / sizeof sample_rows[0]];
    tl_header header = sample_header();
    tl_result result = sample_result(&header, rows);
    for (int format = TL_FORMAT_TEXT; format <= TL_FORMAT_PERF_JSON; format++) {
        tl_report_options options = {.size = sizeof options, .format = (tl_format)format};
        tl_reporter *reporter = NULL;
        tl_error err = {0};
        assert_int_equal(tl_reporter_new(&options, full, &reporter, &err), TL_OK);
        tl_reporter_begin(reporter, &result);
        assert_int_equal(tl_reporter_end(reporter, &result, &err), TL_EIO);
        tl_reporter_free(reporter);
    }
    fclose(full);
}

static void test_numbers_read_well(void **state) {
    (void)state;
    char text[TL_NUMBER_BYTES];
    assert_string_equal(tl_format_grouped(0, text), "0");
    assert_string_equal(tl_format_grouped(999, text), "999");
    assert_string_equal(tl_format_grouped(1000, text), "1,000");
    assert_string_equal(tl_format_grouped(UINT64_MAX, text), "18,446,744,073,709,551,615");
    assert_string_equal(tl_format_fixed(0.005, 2, text), "0.01");
    assert_string_equal(tl_format_fixed(-0.001, 2, text), "0.00");
    assert_string_equal(tl_format_fixed(-12.345, 1, text), "-12.3");
    assert_string_equal(tl_format_fixed(2.5, 0, text), "3");
    assert_string_equal(tl_format_seconds(12345678901, text), "12.345678901");
    assert_string_equal(tl_format_metric(123.456, text), "123.5");
    assert_string_equal(tl_format_metric(0.0123456, text), "0.0123");
}

// Two regions between places and one of markers, whose name a program chose. Values are primes, so
// that a mix-up shows.
enum { N_REGIONS = 3, N_OF_REGION = 4 };

static const tl_result_region sample_regions[N_REGIONS] = {
    {.name = "parse", .start = "parse", .key = 0, .n_visits = 7, .n_rows = N_OF_REGION},
    {.name = "begin..end", .start = "begin", .stop = "end", .key = 1, .n_visits = 1, .first_row = N_OF_REGION, .n_rows = N_OF_REGION},
    {.name = "odd, \"named\"", .key = 2, .first_row = 2 * N_OF_REGION, .n_rows = N_OF_REGION},
};

typedef struct regions_sample {
    tl_header header;
    tl_result_region regions[N_REGIONS];
    tl_row rows[N_REGIONS * N_OF_REGION];
    tl_row unused[sizeof sample_rows / sizeof sample_rows[0]];
    tl_result result;
} regions_sample;

static void sample_of_regions(regions_sample *sample) {
    static const uint64_t cycles[N_REGIONS][2] = {{70001, 70001}, {600011, 599999}, {0, 0}}, instructions[N_REGIONS] = {50021, 300007, 0};
    sample->header = sample_header();
    sample->result = sample_result(&sample->header, sample->unused);
    for (uint32_t i = 0; i < N_REGIONS; i++) {
        sample->regions[i] = sample_regions[i];
        tl_row *row = &sample->rows[i * N_OF_REGION];
        row[0] = (tl_row){.name = "cycles", .scope = "machine", .unit = "cycles", .group = "", .value = whole(cycles[i][0])};
        row[1] = (tl_row){.name = "cycles", .scope = "hart1", .unit = "cycles", .group = "", .value = whole(cycles[i][1])};
        row[2] =
            (tl_row){.name = "instructions", .scope = "machine", .unit = "", .group = "", .metric = "ipc", .value = whole(instructions[i])};
        row[3] = (tl_row){.name = "ipc",
                          .scope = "machine",
                          .unit = "per cycle",
                          .group = "summary",
                          .meaning = "Instructions per cycle.",
                          .is_metric = true,
                          .value = i < 2 ? real((double)instructions[i] / (double)cycles[i][0]) : missing("division by zero: cycles is 0")};
        for (uint32_t k = 0; k < N_OF_REGION; k++)
            row[k].region = sample->regions[i].name;
    }
    sample->result.rows = sample->rows;
    sample->result.n_rows = N_REGIONS * N_OF_REGION;
    sample->result.regions = sample->regions;
    sample->result.n_regions = N_REGIONS;
    sample->result.is_by_region = true;
    sample->result.n_roi_visits = 8;
}

static void test_each_region_has_a_report(void **state) {
    (void)state;
    static const golden files[] = {
        {"regions-text.txt", {.format = TL_FORMAT_TEXT}, false},     {"regions-json.txt", {.format = TL_FORMAT_JSON}, false},
        {"regions-csv.txt", {.format = TL_FORMAT_CSV}, false},       {"regions-csv-intervals.txt", {.format = TL_FORMAT_CSV}, true},
        {"regions-perf.txt", {.format = TL_FORMAT_PERF_CSV}, false},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        regions_sample sample;
        sample_of_regions(&sample);
        tl_report_options options = files[i].options;
        options.size = sizeof options;
        char *text = write_report(&options, &sample.result, files[i].has_intervals);
        compare(files[i].file, text);
        free(text);
    }
}

static tl_diff *diff_of(const tl_result *before, const tl_result *after, const char *const *gates) {
    tl_diff *diff = NULL;
    tl_catalogue *names = NULL;
    tl_error err = {0};
    assert_int_equal(tl_machine_names_new_of_pairs(&names, &err), TL_OK);
    assert_int_equal(tl_diff_make(before, after, names, gates, &diff, &err), TL_OK);
    tl_catalogue_free(names);
    return diff;
}

static void write_difference(const tl_result *before, const tl_result *after, const char *const *gates, FILE *stream) {
    tl_diff *diff = diff_of(before, after, gates);
    tl_error err = {0};
    for (int format = TL_DIFF_TEXT; format <= TL_DIFF_MARKDOWN; format++)
        assert_int_equal(tl_report_diff(diff, (tl_diff_format)format, false, stream, &err), TL_OK);
    tl_diff_release(diff);
}

// A region is found by its name. The other report has two of three, in another order, or is of one
// region alone.
static void test_differences_name_their_region(void **state) {
    (void)state;
    static const char *const gates[] = {"cycles>+0", NULL};
    regions_sample before, after;
    sample_of_regions(&before);
    sample_of_regions(&after);
    char *all = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&all, &size);
    for (uint32_t k = 0; k < N_OF_REGION; k++) {
        tl_row *of_parse = &after.rows[k], *of_end = &after.rows[N_OF_REGION + k], moved = *of_parse;
        *of_parse = *of_end;
        *of_end = moved;
        after.rows[2 * N_OF_REGION + k].region = "a new one";
    }
    after.rows[N_OF_REGION].value = whole(70003);
    // Equal counts of two regions are two counted things.
    before.rows[1].value = after.rows[N_OF_REGION + 1].value = before.rows[N_OF_REGION + 1].value;
    write_difference(&before.result, &after.result, gates, stream);

    fputs("\n-- of one region\n", stream);
    sample_of_regions(&after);
    after.header.roi_start = "begin";
    after.header.roi_stop = "end";
    after.result.rows += N_OF_REGION;
    after.result.n_rows = N_OF_REGION;
    after.result.is_by_region = false;
    for (uint32_t k = 0; k < N_OF_REGION; k++)
        after.result.rows[k].region = NULL;
    after.result.rows[1].value = whole(600011);
    write_difference(&after.result, &before.result, NULL, stream);

    fputs("\n-- of the whole run\n", stream);
    after.header.roi_start = after.header.roi_stop = NULL;
    write_difference(&after.result, &before.result, NULL, stream);
    fclose(stream);
    compare("diff-regions.txt", all);
    free(all);
}

static void test_differences_read_well(void **state) {
    (void)state;
    tl_row before_rows[sizeof sample_rows / sizeof sample_rows[0]], after_rows[sizeof sample_rows / sizeof sample_rows[0]];
    tl_header before_header = sample_header(), after_header = sample_header();
    after_header.machine = "u74";
    tl_result before = sample_result(&before_header, before_rows), after = sample_result(&after_header, after_rows);
    after_rows[0].value = whole(1010004);
    after_rows[4].value = whole(UINT64_C(1) << 60);
    after_rows[6].value = whole(0);
    after_rows[7].value = whole(13);
    after_rows[9].value = real(0.79208);
    after_rows[11].name = "share_renamed";
    const char *const gates[] = {"cycles > +1%", "ipc<-5%", "l2.*>=10", NULL};
    tl_diff *diff = diff_of(&before, &after, gates);
    tl_error err = {0};
    char *all = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&all, &size);
    for (int format = TL_DIFF_TEXT; format <= TL_DIFF_MARKDOWN; format++)
        assert_int_equal(tl_report_diff(diff, (tl_diff_format)format, format == TL_DIFF_JSON, stream, &err), TL_OK);
    fclose(stream);
    compare("diff.txt", all);
    free(all);
    tl_diff_release(diff);
}

static void test_lists_read_well(void **state) {
    (void)state;
    tl_listing_row rows[] = {
        {.name = "l1d.load_miss",
         .group = "l1d",
         .unit = "",
         .definition = "hart0.l1d.load_miss + hart1.l1d.load_miss",
         .meaning = "Counts requests | caused by *loads*."},
        {.name = "cycle", .group = "hart", .unit = "cycles", .definition = "", .meaning = "Counts \"cycles\"."},
    };
    tl_list list = {.kind = TL_LIST_SIGNALS, .rows = rows, .n_rows = 2};
    char *all = NULL;
    size_t size = 0;
    tl_error err = {0};
    FILE *stream = open_memstream(&all, &size);
    for (int format = TL_LIST_TEXT; format <= TL_LIST_MARKDOWN; format++)
        assert_int_equal(tl_report_list(&list, (tl_list_format)format, stream, &err), TL_OK);
    fclose(stream);
    compare("list.txt", all);
    free(all);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_format_writes_what_it_always_wrote),
    cmocka_unit_test(test_what_a_pmu_reports_stands_beside_the_truth),
    cmocka_unit_test(test_messages_are_of_the_format),
    cmocka_unit_test(test_each_way_to_end_is_told),
    cmocka_unit_test(test_the_locale_changes_nothing),
    cmocka_unit_test(test_a_full_disk_is_an_error),
    cmocka_unit_test(test_numbers_read_well),
    cmocka_unit_test(test_each_region_has_a_report),
    cmocka_unit_test(test_differences_name_their_region),
    cmocka_unit_test(test_differences_read_well),
    cmocka_unit_test(test_lists_read_well),
};

TL_TEST_MAIN(tests)
