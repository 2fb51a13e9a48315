// SPDX-License-Identifier: MIT
// tally/compare.h over compare/.
#include "compare/compare.h"
#include "api/fill.h"
#include "compare/design.h"
#include "compare/events.h"
#include "report/comparison.h"

TL_API void tl_compare_options_init(tl_compare_options *ret_options) { tl_compare_init(ret_options); }

TL_API tl_status tl_compare(const tl_compare_options *options, tl_comparison **ret_comparison, tl_error *err) {
    return tl_compare_run(options, ret_comparison, err);
}

TL_API void tl_comparison_free(tl_comparison *comparison) { tl_comparison_release(comparison); }

TL_API uint32_t tl_compare_n_designs(void) { return tl_compare_count_designs(); }

TL_API void tl_compare_design_at(uint32_t index, tl_compare_design *ret_design) {
    tl_compare_design design = {.name = "", .title = "", .meaning = ""};
    if (index < tl_compare_count_designs()) {
        const tl_compare_design_type *type = tl_compare_designs[index];
        design = (tl_compare_design){.name = type->name, .title = type->title, .meaning = type->meaning};
    }
    tl_api_fill(ret_design, &design, sizeof design);
}

TL_API uint32_t tl_compare_n_events(void) { return tl_n_watchables; }

TL_API void tl_compare_event_at(uint32_t index, tl_compare_event *ret_event) {
    tl_compare_event event = {.name = "", .meaning = ""};
    if (index < tl_n_watchables) {
        const tl_watchable *w = &tl_watchables[index];
        event = (tl_compare_event){.name = w->name, .meaning = w->meaning, .is_default = w->is_default};
        for (uint32_t d = 0; tl_compare_designs[d]; d++)
            event.designs |= tl_compare_designs[d]->counts(w) ? 1u << d : 0;
    }
    tl_api_fill(ret_event, &event, sizeof event);
}

TL_API void tl_comparison_facts(const tl_comparison *comparison, tl_compare_facts *ret_facts) {
    tl_api_fill(ret_facts, &comparison->facts, sizeof comparison->facts);
}

TL_API const char *tl_compare_outcome_name(tl_compare_outcome outcome) { return tl_comparison_outcome_text(outcome); }

#define ROWS(plural, singular, type, ...)                                                                        \
    TL_API uint32_t tl_comparison_n_##plural(const tl_comparison *comparison) { return comparison->n_##plural; } \
    TL_API void tl_comparison_##singular(const tl_comparison *comparison, uint32_t index, type *ret_row) {       \
        static const type none = {__VA_ARGS__};                                                                  \
        tl_api_fill(ret_row, index < comparison->n_##plural ? &comparison->plural[index] : &none, sizeof none);  \
    }
ROWS(designs, design, tl_compare_design_row, .name = "", .title = "")
ROWS(values, value, tl_compare_value_row, .event = "", .reason = "")
ROWS(accesses, access, tl_compare_access_row, .method = "", .mode = "")
ROWS(privileges, privilege, tl_compare_privilege_row, .mode = "", .grant = "", .what = "")
ROWS(states, state, tl_compare_state_row, .size = 0)
ROWS(fabrics, fabric, tl_compare_fabric_row, .winner = "")
ROWS(spreads, spread, tl_compare_spread_row, .size = 0)

TL_API tl_status tl_comparison_write(const tl_comparison *comparison, tl_compare_format format, FILE *stream, tl_error *err) {
    return tl_report_comparison(comparison, format, stream, err);
}
