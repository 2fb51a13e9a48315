// SPDX-License-Identifier: MIT
// Names of PMU designs as options take them. The library provides the list; no design is named
// here.
#include <string.h>

#include <tally/export.h>

#include "options.h"

static const char *name_of(const tl_pmu_design *design, cli_trait trait) {
    switch (trait) {
    case CLI_IS_GRANTED: return *design->grant ? design->grant : NULL;
    case CLI_HAS_COST: return design->has_cost ? design->name : NULL;
    case CLI_IS_READ_AT_END: return design->is_read_at_end ? design->name : NULL;
    }
    return NULL;
}

static tl_pmu_design design_at(uint32_t index) {
    tl_pmu_design design = {.size = sizeof design};
    tl_pmu_design_at(index, &design);
    return design;
}

size_t cli_designs(cli_trait trait, const char *ret_names[CLI_MAX_DESIGNS]) {
    size_t n = 0;
    for (uint32_t i = 0; i < tl_pmu_n_designs() && n < CLI_MAX_DESIGNS; i++) {
        const tl_pmu_design design = design_at(i);
        const char *name = name_of(&design, trait);
        if (name)
            ret_names[n++] = name;
    }
    return n;
}

bool cli_is_design(cli_trait trait, const char *name) {
    const char *names[CLI_MAX_DESIGNS];
    const size_t n = cli_designs(trait, names);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

const char *cli_design_list(cli_trait trait, const char *last, char *ret_text, size_t size) {
    const char *names[CLI_MAX_DESIGNS];
    const size_t n = cli_designs(trait, names);
    size_t used = 0;
    snprintf(ret_text, size, "none");
    for (size_t i = 0; i < n && used < size; i++) {
        const char *before = i + 1 == n ? last : ", ";
        used += (size_t)snprintf(ret_text + used, size - used, "%s%s", i == 0 ? "" : before, names[i]);
    }
    return ret_text;
}

static void put_designs(const char *title, cli_trait trait, FILE *stream) {
    bool is_first = true;
    for (uint32_t i = 0; i < tl_pmu_n_designs(); i++) {
        const tl_pmu_design design = design_at(i);
        const char *name = name_of(&design, trait);
        if (!name)
            continue;
        if (is_first)
            fprintf(stream, "\n%s:\n", title);
        is_first = false;
        cli_put_word(stream, name, trait == CLI_IS_GRANTED ? design.grant_meaning : design.title);
    }
}

static void put_compared(FILE *stream) {
    fputs("\nDesigns:\n", stream);
    for (uint32_t i = 0; i < tl_compare_n_designs(); i++) {
        tl_compare_design design = {.size = sizeof design};
        tl_compare_design_at(i, &design);
        cli_put_word(stream, design.name, design.meaning);
    }
}

static void put_formats(FILE *stream) {
    fputs("\nFormats:\n", stream);
    for (uint32_t i = 0; i < tl_export_n_rows(); i++) {
        tl_export_row row = {.size = sizeof row};
        tl_export_row_at(i, &row);
        cli_put_word(stream, row.name, row.meaning);
    }
}

void cli_print_designs(cli_verb verb, FILE *stream) {
    switch (verb) {
    case VERB_STAT: put_designs("Names of --grant", CLI_IS_GRANTED, stream); break;
    case VERB_DESCRIBE: put_designs("PMUs with --cost", CLI_HAS_COST, stream); break;
    case VERB_EXPORT: put_formats(stream); break;
    case VERB_COMPARE: put_compared(stream); break;
    case VERB_SUITE: put_designs("Suites", CLI_IS_READ_AT_END, stream); break;
    default: break;
    }
}
