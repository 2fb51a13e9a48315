// SPDX-License-Identifier: MIT
// tally describe: one machine or one PMU in full.
#include <string.h>

#include "options.h"

static tl_status describe_pmus(const cli_options *options, tl_error *err) {
    tl_list *list;
    if (options->described)
        return tl_describe_pmu(options->described, options->describe_format, stdout, err);
    tl_status status = tl_list_new(TL_LIST_PMUS, NULL, NULL, NULL, &list, err);
    if (status != TL_OK)
        return status;
    const char *previous = "";
    // A row for each preset.
    for (uint32_t i = 0; status == TL_OK && i < tl_list_n_rows(list); i++) {
        tl_list_row row = {.size = sizeof row};
        tl_list_row_at(list, i, &row);
        if (!strcmp(previous, row.group))
            continue;
        if (i > 0 && options->describe_format != TL_DESCRIBE_JSON)
            putchar('\n');
        status = tl_describe_pmu(row.group, options->describe_format, stdout, err);
        previous = row.group;
    }
    tl_list_free(list);
    return status;
}

int cli_describe(const cli_options *options) {
    tl_error err = {0};
    tl_status status;
    if (options->wants_cost)
        status = tl_describe_cost(options->described, options->run.machine, options->run.overrides, options->n_units, options->n_counters,
                                  options->describe_format, stdout, &err);
    else if (options->describes_machine)
        status = tl_describe_machine(options->described, options->run.overrides, options->describe_format, stdout, &err);
    else
        status = describe_pmus(options, &err);
    if (status == TL_OK)
        return 0;
    fprintf(stderr, "tally: %s\n", err.text);
    return status == TL_ENOMEM || status == TL_EIO ? STATUS_FAILED : STATUS_USAGE;
}
