// SPDX-License-Identifier: MIT
// tally/catalogue.h, tl_pmu_*: every PMU design, and what it offers besides its events.
#include <string.h>

#include <tally/catalogue.h>

#include "api/fill.h"
#include "model/pmu.h"
#include "session/account.h"
#include "session/source.h"

TL_API uint32_t tl_pmu_n_designs(void) {
    uint32_t n = 0;
    while (tl_pmu_types[n])
        n++;
    return n;
}

// The sentence of key os.NAME.
static const char *grant_meaning(const tl_pmu_type *type) {
    static const char section[] = "os.";
    for (const tl_key *key = type->keys; key && key->path; key++)
        if (!strncmp(key->path, section, sizeof section - 1) && !strcmp(key->path + sizeof section - 1, type->grant_name))
            return key->meaning;
    return "";
}

TL_API void tl_pmu_design_at(uint32_t index, tl_pmu_design *ret_design) {
    tl_pmu_design design = {.name = "", .title = "", .grant = "", .grant_meaning = ""};
    if (index < tl_pmu_n_designs()) {
        const tl_pmu_type *type = tl_pmu_types[index];
        const tl_account_type *account = tl_account_find(type);
        const tl_source_type *source = tl_source_find(type);
        design.name = type->name;
        design.title = type->title;
        design.has_cost = account && account->page;
        design.is_read_at_end = source && source->read_at_end;
        if (type->grant_name) {
            design.grant = type->grant_name;
            design.grant_meaning = grant_meaning(type);
        }
    }
    tl_api_fill(ret_design, &design, sizeof design);
}
