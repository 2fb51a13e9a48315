// SPDX-License-Identifier: MIT
// tally/report.h, tally/catalogue.h and tally/diff.h: everything that becomes text.
#include <tally/catalogue.h>
#include <tally/diff.h>
#include <tally/report.h>

#include "api/fill.h"
#include "report/lists.h"
#include "report/report.h"
#include "session/lister.h"
#include "session/machine_names.h"

// A tl_report is a reporter by its public name.
static tl_reporter *reporter_of(tl_report *report) { return (tl_reporter *)report; }

TL_API void tl_report_options_init(tl_report_options *ret_options) { tl_reporter_options_init(ret_options); }

TL_API tl_status tl_report_new(const tl_report_options *options, FILE *stream, tl_report **ret_report, tl_error *err) {
    tl_reporter *reporter;
    tl_status status = tl_reporter_new(options, stream, &reporter, err);
    if (status == TL_OK)
        *ret_report = (tl_report *)reporter;
    return status;
}

TL_API void tl_report_begin(tl_report *report, const tl_result *result) { tl_reporter_begin(reporter_of(report), result); }

TL_API void tl_report_interval(tl_report *report, const tl_result *result) { tl_reporter_interval(reporter_of(report), result); }

TL_API void tl_report_message(tl_report *report, const char *sentence) { tl_reporter_message(reporter_of(report), sentence); }

TL_API tl_status tl_report_end(tl_report *report, const tl_result *result, tl_error *err) {
    return tl_reporter_end(reporter_of(report), result, err);
}

TL_API void tl_report_free(tl_report *report) { tl_reporter_free(reporter_of(report)); }

TL_API tl_status tl_report_write(const tl_report_options *options, const tl_result *result, FILE *stream, tl_error *err) {
    tl_reporter *reporter;
    tl_status status = tl_reporter_new(options, stream, &reporter, err);
    if (status != TL_OK)
        return status;
    tl_reporter_begin(reporter, result);
    status = tl_reporter_end(reporter, result, err);
    tl_reporter_free(reporter);
    return status;
}

TL_API tl_status tl_list_new(tl_list_kind kind, const char *glob, const char *machine, const char *const *overrides, tl_list **ret_list,
                             tl_error *err) {
    return tl_listing_new(kind, glob, machine, overrides, ret_list, err);
}

TL_API uint32_t tl_list_n_rows(const tl_list *list) { return list->n_rows; }

TL_API void tl_list_row_at(const tl_list *list, uint32_t index, tl_list_row *ret_row) {
    static const tl_listing_row none = {.name = "", .group = "", .unit = "", .definition = "", .meaning = ""};
    const tl_listing_row *from = index < list->n_rows ? &list->rows[index] : &none;
    tl_list_row row = {ret_row->size, from->name, from->group, from->unit, from->definition, from->meaning};
    tl_api_fill(ret_row, &row, sizeof row);
}

TL_API void tl_list_free(tl_list *list) { tl_listing_free(list); }

TL_API tl_status tl_list_write(const tl_list *list, tl_list_format format, FILE *stream, tl_error *err) {
    return tl_report_list(list, format, stream, err);
}

TL_API tl_status tl_diff_new(const tl_result *before, const tl_result *after, const char *const *gates, tl_diff **ret_diff, tl_error *err) {
    tl_catalogue *names = NULL;
    tl_status status = tl_machine_names_new_of_pairs(&names, err);
    if (status == TL_OK)
        status = tl_diff_make(before, after, names, gates, ret_diff, err);
    tl_catalogue_free(names);
    return status;
}

TL_API tl_status tl_diff_select(tl_diff *diff, const char *names, tl_error *err) { return tl_diff_choose(diff, names, err); }

TL_API uint32_t tl_diff_n_rows(const tl_diff *diff) { return diff->n_lines; }

TL_API void tl_diff_row_at(const tl_diff *diff, uint32_t index, tl_diff_row *ret_row) {
    static const tl_diff_line none = {0};
    static const tl_row nothing = {.name = "", .scope = ""};
    const tl_diff_line *line = index < diff->n_lines ? &diff->lines[index] : &none;
    const tl_row *row = line->after ? line->after : line->before ? line->before : &nothing;
    bool has_before = line->before && line->before->value.kind != TL_VALUE_MISSING;
    bool has_after = line->after && line->after->value.kind != TL_VALUE_MISSING;
    tl_diff_row filled = {.size = ret_row->size,
                          .name = row->name,
                          .scope = row->scope,
                          .is_metric = row->is_metric,
                          .has_before = has_before,
                          .has_after = has_after,
                          .before = has_before ? line->before->value.real : 0,
                          .after = has_after ? line->after->value.real : 0,
                          .change_percent = tl_diff_line_percent(line),
                          .failed_gate = line->failed_gate,
                          .region = line->region};
    tl_api_fill(ret_row, &filled, sizeof filled);
}

TL_API uint32_t tl_diff_n_failed(const tl_diff *diff) { return diff->n_failed; }

TL_API tl_status tl_diff_write(const tl_diff *diff, tl_diff_format format, bool with_equal, FILE *stream, tl_error *err) {
    return tl_report_diff(diff, format, with_equal, stream, err);
}

TL_API void tl_diff_free(tl_diff *diff) { tl_diff_release(diff); }
