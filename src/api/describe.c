// SPDX-License-Identifier: MIT
// tally/catalogue.h, tl_describe_*: one thing in full.
#include <tally/catalogue.h>

#include "machine/keys.h"
#include "report/cost.h"
#include "report/describe.h"
#include "session/cost_maker.h"
#include "session/description.h"
#include "session/lister.h"
#include "session/plan.h"
#include "session/pmus.h"

TL_API tl_status tl_describe_machine(const char *machine, const char *const *overrides, tl_describe_format format, FILE *stream,
                                     tl_error *err) {
    tl_config config;
    tl_status status = tl_plan_config(machine, overrides, &config, err);
    if (status != TL_OK)
        return status;
    tl_arena arena = {0};
    tl_strbuf yaml = {0};
    tl_description_write(&config, &yaml);
    const tl_setting *settings;
    tl_key_list list;
    tl_key_list_of(&config, &list);
    status = tl_plan_settings(&config, &list, &arena, &settings, err);
    if (status == TL_OK)
        status = yaml.has_failed ? tl_no_memory(err)
                                 : tl_report_machine(tl_strbuf_text(&yaml), settings, list.keys, list.n, format, stream, err);
    tl_strbuf_done(&yaml);
    tl_arena_done(&arena);
    return status;
}

TL_API tl_status tl_describe_pmu(const char *name, tl_describe_format format, FILE *stream, tl_error *err) {
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    tl_status status = tl_pmus_find(name, &type, &preset, err);
    return status == TL_OK ? tl_report_pmu(type, preset, format, stream, err) : status;
}

TL_API tl_status tl_describe_cost(const char *pmu, const char *machine, const char *const *overrides, unsigned n_units, unsigned n_counters,
                                  tl_describe_format format, FILE *stream, tl_error *err) {
    tl_cost *cost;
    if (n_units > 1024 || n_counters > 64 || (n_units == 0) != (n_counters == 0))
        return tl_fail(err, TL_EINVAL, "%u units of %u counters: there may be 1 to 1024 units, each with 1 to 64 counters", n_units,
                       n_counters);
    tl_status status = tl_cost_new(pmu, machine, overrides, n_units, n_counters, &cost, err);
    if (status != TL_OK)
        return status;
    status = tl_report_cost(cost, format, stream, err);
    tl_cost_free(cost);
    return status;
}

TL_API tl_status tl_list_portable_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err) {
    return tl_listing_portable_events(pmu, glob, ret_list, err);
}

TL_API tl_status tl_list_pmu_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err) {
    return tl_listing_pmu_events(pmu, glob, ret_list, err);
}
