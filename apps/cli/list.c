// SPDX-License-Identifier: MIT
// tally list: names and sentences from the catalogue.
#include <string.h>

#include "options.h"

static int complain(const tl_error *err) {
    fprintf(stderr, "tally: %s\n", err->text);
    return err->status == TL_ENOMEM || err->status == TL_EIO ? STATUS_FAILED : STATUS_USAGE;
}

static bool has_remedy(const tl_error *err) { return strstr(err->text, "did you mean") != NULL; }

int cli_list(const cli_options *options) {
    static const struct {
        tl_list_kind kind;
        const char *title;
    } all[] = {{TL_LIST_EVENTS, "Events"},         {TL_LIST_METRICS, "Metrics"}, {TL_LIST_SIGNALS, "Signals"},
               {TL_LIST_MACHINES, "Machines"},     {TL_LIST_PMUS, "PMUs"},       {TL_LIST_GROUPS, "Groups of metrics"},
               {TL_LIST_KEYS, "Keys of a machine"}};
    bool is_text = options->list_format == TL_LIST_TEXT || options->list_format == TL_LIST_TEXT_VERBOSE;
    // Without a kind and a pattern: names that a user needs first. With a pattern: all matches.
    size_t n_kinds = !options->lists_everything ? 1 : options->list_glob ? sizeof all / sizeof all[0] : 2;
    unsigned n_found = 0;
    tl_error err = {0}, nearest = {0};
    for (size_t i = 0; i < n_kinds; i++) {
        tl_list *list;
        tl_list_kind kind = options->lists_everything ? all[i].kind : options->list_kind;
        tl_status status = options->list_portable ? tl_list_portable_events(options->pmu, options->list_glob, &list, &err)
                           : options->pmu
                               ? tl_list_pmu_events(options->pmu, options->list_glob, &list, &err)
                               : tl_list_new(kind, options->list_glob, options->run.machine, options->run.overrides, &list, &err);
        if (status == TL_ENOENT && n_kinds > 2) {
            if (!has_remedy(&nearest))
                nearest = err;
            if (i + 1 < n_kinds + n_found)
                continue;
            if (has_remedy(&nearest))
                return complain(&nearest);
            fprintf(stderr, "tally: no event, metric, signal, machine, pmu, group or key is called %s; tally list shows the names\n",
                    options->list_glob);
            return STATUS_USAGE;
        }
        if (status != TL_OK)
            return complain(&err);
        if (n_kinds > 1 && is_text)
            printf("%s%s:\n", n_found ? "\n" : "", all[i].title);
        n_found++;
        status = tl_list_write(list, options->list_format, stdout, &err);
        tl_list_free(list);
        if (status != TL_OK)
            return complain(&err);
    }
    return 0;
}
