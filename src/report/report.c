// SPDX-License-Identifier: MIT
// The face of the formats, and numbers as text: by hand, because printf follows the locale.
#include "report/report.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

enum { TL_SENTENCE_BYTES = 1024 };

void tl_reporter_options_init(tl_report_options *ret_options) { *ret_options = (tl_report_options){.size = sizeof *ret_options}; }

tl_status tl_reporter_new(const tl_report_options *given, FILE *stream, tl_reporter **ret_reporter, tl_error *err) {
    static const tl_report_type *const types[] = {
        [TL_FORMAT_TEXT] = &tl_report_text,         [TL_FORMAT_JSON] = &tl_report_json,           [TL_FORMAT_CSV] = &tl_report_csv,
        [TL_FORMAT_PERF_CSV] = &tl_report_perf_csv, [TL_FORMAT_PERF_JSON] = &tl_report_perf_json,
    };
    tl_report_options options;
    tl_reporter_options_init(&options);
    if (given->size < offsetof(tl_report_options, separator))
        return tl_fail(err, TL_EINVAL, "the size of tl_report_options is %u: call tl_report_options_init first", given->size);
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    if ((size_t)options.format >= TL_COUNT_OF(types))
        return tl_fail(err, TL_EINVAL, "there is no report format %d", (int)options.format);
    const char *separator = options.separator ? options.separator : ",";
    tl_reporter *reporter = calloc(1, sizeof *reporter);
    if (!reporter)
        return tl_no_memory(err);
    if (strlen(separator) >= sizeof reporter->separator) {
        free(reporter);
        return tl_fail(err, TL_EINVAL, "the separator '%s' is too long", separator);
    }
    snprintf(reporter->separator, sizeof reporter->separator, "%s", separator);
    reporter->type = types[options.format];
    reporter->options = options;
    reporter->options.separator = reporter->separator;
    reporter->stream = stream;
    tl_json_init_file(&reporter->json, stream, TL_JSON_LINES);
    *ret_reporter = reporter;
    return TL_OK;
}

static void put_early(tl_reporter *reporter) {
    const char *text = tl_strbuf_text(&reporter->early);
    for (size_t n; *text; text += n + 1) {
        char sentence[TL_SENTENCE_BYTES];
        n = strcspn(text, "\n");
        snprintf(sentence, sizeof sentence, "%.*s", (int)n, text);
        reporter->type->message(reporter, sentence);
    }
    tl_strbuf_done(&reporter->early);
}

void tl_reporter_begin(tl_reporter *reporter, const tl_result *result) {
    if (reporter->type->begin)
        reporter->type->begin(reporter, result);
    reporter->has_begun = true;
    put_early(reporter);
}

void tl_reporter_message(tl_reporter *reporter, const char *sentence) {
    char text[TL_SENTENCE_BYTES];
    if (!reporter->type->message)
        return;
    snprintf(text, sizeof text, "%s", sentence);
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = ' ';
    if (reporter->has_begun) {
        reporter->type->message(reporter, text);
    } else {
        tl_strbuf_add(&reporter->early, text);
        tl_strbuf_add_char(&reporter->early, '\n');
    }
}

void tl_reporter_interval(tl_reporter *reporter, const tl_result *result) {
    reporter->n_intervals++;
    reporter->type->interval(reporter, result);
}

tl_status tl_reporter_end(tl_reporter *reporter, const tl_result *result, tl_error *err) {
    reporter->type->end(reporter, result);
    if (fflush(reporter->stream) != 0 || ferror(reporter->stream))
        return tl_fail(err, TL_EIO, "the report could not be written in full");
    return TL_OK;
}

void tl_reporter_free(tl_reporter *reporter) {
    if (!reporter)
        return;
    put_early(reporter); // a report that never began still says why
    free(reporter);
}

const char *tl_format_grouped(uint64_t value, char ret_text[TL_NUMBER_BYTES]) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *at = ret_text;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return ret_text;
}

const char *tl_format_fixed(double value, unsigned n_decimals, char ret_text[TL_NUMBER_BYTES]) {
    uint64_t unit = 1;
    for (unsigned i = 0; i < n_decimals && i < 9; i++)
        unit *= 10;
    double scaled = fabs(value) * (double)unit;
    if (!(scaled < 9e18)) { // too large, infinite or not a number
        snprintf(ret_text, TL_NUMBER_BYTES, "%s%s", value < 0 ? "-" : "", value != value ? "nan" : scaled > 1e300 ? "inf" : "huge");
        return ret_text;
    }
    uint64_t whole = (uint64_t)llround(scaled);
    const char *sign = value < 0 && whole > 0 ? "-" : "";
    if (n_decimals == 0)
        snprintf(ret_text, TL_NUMBER_BYTES, "%s%llu", sign, (unsigned long long)whole);
    else
        snprintf(ret_text, TL_NUMBER_BYTES, "%s%llu.%0*llu", sign, (unsigned long long)(whole / unit), (int)n_decimals,
                 (unsigned long long)(whole % unit));
    return ret_text;
}

const char *tl_format_seconds(uint64_t ns, char ret_text[TL_NUMBER_BYTES]) {
    snprintf(ret_text, TL_NUMBER_BYTES, "%llu.%09llu", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
    return ret_text;
}

const char *tl_format_share(double share, char ret_text[TL_NUMBER_BYTES]) {
    char number[TL_NUMBER_BYTES];
    snprintf(ret_text, TL_NUMBER_BYTES, "%.40s %%", tl_format_fixed(100 * share, 2, number));
    return ret_text;
}

const char *tl_format_error(double error, char ret_text[TL_NUMBER_BYTES]) {
    char number[TL_NUMBER_BYTES];
    if (error == 0)
        return "exact";
    const double percent = error < 0 ? -100 * error : 100 * error;
    snprintf(ret_text, TL_NUMBER_BYTES, "%c%.40s %%", error < 0 ? '-' : '+', tl_format_fixed(percent, percent >= 0.01 ? 2 : 6, number));
    return ret_text;
}

const char *tl_format_metric(double value, char ret_text[TL_NUMBER_BYTES]) {
    double size = fabs(value);
    if (value >= 1000 && value < 1e18)
        return tl_format_grouped((uint64_t)llround(value), ret_text);
    return tl_format_fixed(value, size >= 100 ? 1 : size >= 1 || size == 0 ? 2 : size >= 0.1 ? 3 : size >= 0.001 ? 4 : 6, ret_text);
}

// Linux numbers signals, and the simulated system shares them with the host.
const char *tl_report_signal_name(int signal) {
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",   [SIGTRAP] = "SIGTRAP",
        [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",   [SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1",
        [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2", [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM",
        [SIGXCPU] = "SIGXCPU", [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS",
    };
    const char *name = signal > 0 && (size_t)signal < TL_COUNT_OF(names) ? names[signal] : NULL;
    return name ? name : "no name";
}

tl_result tl_report_region(const tl_result *result, uint32_t index) {
    tl_result part = *result;
    part.rows += result->regions[index].first_row;
    part.n_rows = result->regions[index].n_rows;
    return part;
}

const char *tl_report_kind(const tl_row *row) {
    return row->is_estimate ? "estimate" : row->is_metric ? "derived" : row->is_pmu ? "pmu" : "truth";
}
