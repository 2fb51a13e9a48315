// SPDX-License-Identifier: MIT
// tally open-records: sealed records and what is wrong with them.
#include <tally/records.h>

#include "options.h"

int cli_open_records(const cli_options *options) {
    tl_error err = {0};
    tl_records *records = NULL;
    tl_records_summary summary = {.size = sizeof summary};
    int status = STATUS_FAILED;
    if (tl_records_open(options->records, options->key, &records, &err) == TL_OK &&
        tl_records_write(records, options->wants_json ? TL_RECORDS_JSON : TL_RECORDS_TEXT, stdout, &err) == TL_OK) {
        tl_records_summary_of(records, &summary);
        status = summary.n_good < summary.n_entries || summary.n_lost > 0 ? STATUS_GATE : 0;
    }
    if (status == STATUS_FAILED)
        fprintf(stderr, "tally: %s\n", err.text);
    tl_records_free(records);
    return status;
}
