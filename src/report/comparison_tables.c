// SPDX-License-Identifier: MIT
// Events, costs of a read, privileges, hardware: the tables of a comparison with more than one
// number for each design.
#include "report/comparison_tables.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "result/cost.h"

enum { EVENT_WIDTH = 32, PRIVILEGE_WIDTH = 19, MAX_MODES = 6 };

// ---- Events

static const tl_compare_value_row *find_value(const tl_comparison *c, const char *event, uint32_t design) {
    for (uint32_t i = 0; i < c->n_values; i++)
        if (c->values[i].design == design && !strcmp(c->values[i].event, event))
            return &c->values[i];
    return NULL;
}

// The design whose phases are worth a column each, or NULL: the one that shares counters out.
static const tl_compare_design_row *shared_design(const tl_comparison *c) {
    for (uint32_t d = 0; d < c->n_designs; d++)
        if (c->designs[d].events_always < c->designs[d].events_counted)
            return &c->designs[d];
    return NULL;
}

static const char *percent_text(double part, unsigned n_decimals, char text[TL_NUMBER_BYTES]) {
    return tl_format_fixed(100 * part, n_decimals, text);
}

static void put_phases(const tl_compare_value_row *value, FILE *stream) {
    char text[TL_NUMBER_BYTES];
    if (!value || !value->has_value)
        return;
    fprintf(stream, " %8s", percent_text(value->time_counted, 1, text));
    if (value->time_counted >= 1)
        return;
    const double points[] = {value->least, value->lower_quartile, value->median, value->upper_quartile, value->most};
    for (int i = 0; i < 5; i++)
        fprintf(stream, " %7s", percent_text(points[i], 1, text));
}

static void put_event(const tl_comparison *c, const tl_compare_value_row *first, const tl_compare_design_row *shared, FILE *stream) {
    char text[TL_NUMBER_BYTES];
    fprintf(stream, " %-*s %15s", EVENT_WIDTH, first->event, tl_format_grouped(first->undisturbed, text));
    for (uint32_t d = 0; d < c->n_designs; d++) {
        const tl_compare_value_row *value = find_value(c, first->event, c->designs[d].design);
        fprintf(stream, " %10s", value && value->has_value ? tl_comparison_error_text(value->error, text) : "-");
    }
    if (shared)
        put_phases(find_value(c, first->event, shared->design), stream);
    fputc('\n', stream);
}

void tl_comparison_put_events(const tl_comparison *c, FILE *stream) {
    const tl_compare_design_row *shared = shared_design(c);
    if (c->n_values == 0)
        return;
    fputs("\n Events: the count without a reader, then the error of each design against the truth of its own run", stream);
    if (shared)
        fprintf(stream, ".\n Of %s also the part of the time in which the event had a counter, and the error over %u phase%s, in %%",
                shared->name, c->facts.n_phases, c->facts.n_phases == 1 ? "" : "s");
    fprintf(stream, "\n\n %-*s %15s", EVENT_WIDTH, "", "no reader");
    for (uint32_t d = 0; d < c->n_designs; d++)
        fprintf(stream, " %10s", c->designs[d].name);
    if (shared)
        fprintf(stream, " %8s %7s %7s %7s %7s %7s", "time, %", "least", "1/4", "median", "3/4", "most");
    fputc('\n', stream);
    for (uint32_t i = 0; i < c->n_values; i++)
        if (i == 0 || strcmp(c->values[i].event, c->values[i - 1].event) != 0)
            put_event(c, &c->values[i], shared, stream);
}

// ---- Costs of a read

// The machine has no more counters than the previous row read: the row would repeat.
static bool is_repeated_access(const tl_comparison *c, uint32_t index) {
    const tl_compare_access_row *row = &c->accesses[index];
    for (const tl_compare_access_row *other = c->accesses; other < row; other++)
        if (other->design == row->design && other->n_counters == row->n_counters && !strcmp(other->method, row->method) &&
            !strcmp(other->mode, row->mode))
            return true;
    return false;
}

void tl_comparison_put_accesses(const tl_comparison *c, FILE *stream) {
    if (c->n_accesses == 0)
        return;
    fputs("\n Reading n counters: instructions and cycles of the first time, with what it takes to be let in, and of later times\n\n",
          stream);
    fprintf(stream, " %-7s %-13s %-6s %8s %9s %11s %9s %7s %7s %8s %8s\n", "", "", "by", "counters", "first: in", "cycles", "later: in",
            "cycles", "L1D", "L1D miss", "bus");
    const char *last = "";
    for (uint32_t i = 0; i < c->n_accesses; i++) {
        const tl_compare_access_row *row = &c->accesses[i];
        const char *name = tl_comparison_design_name(c, row->design);
        char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], d[TL_NUMBER_BYTES], e[TL_NUMBER_BYTES], counters[TL_NUMBER_BYTES];
        if (is_repeated_access(c, i))
            continue;
        snprintf(counters, sizeof counters, row->n_counters == row->n_asked ? "%" PRIu32 : "%" PRIu32 " (all)", row->n_counters);
        fprintf(stream, " %-7s %-13s %-6s %8s %9s %11s %9s %7s %7" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", strcmp(name, last) ? name : "",
                row->method, row->mode, counters, tl_format_grouped(row->first_instructions, a), tl_format_grouped(row->first_cycles, b),
                tl_format_grouped(row->next_instructions, d), tl_format_grouped(row->next_cycles, e), row->l1d_accesses, row->l1d_misses,
                row->uncached);
        last = name;
    }
}

// ---- Access rights

static bool is_same_try(const tl_compare_privilege_row *a, const tl_compare_privilege_row *b) {
    return a->design == b->design && !strcmp(a->what, b->what) && !strcmp(a->grant, b->grant);
}

// Modes of the hart by falling privilege, then whatever else there is, in its order.
static uint32_t find_modes(const tl_comparison *c, const char *ret_modes[MAX_MODES]) {
    static const char *const usual[] = {"M", "S", "U"};
    uint32_t n = 0;
    for (size_t m = 0; m < TL_COUNT_OF(usual); m++)
        for (uint32_t i = 0; i < c->n_privileges && (n == 0 || strcmp(ret_modes[n - 1], usual[m]) != 0); i++)
            if (!strcmp(c->privileges[i].mode, usual[m]))
                ret_modes[n++] = usual[m];
    for (uint32_t i = 0; i < c->n_privileges; i++) {
        uint32_t k = 0;
        while (k < n && strcmp(ret_modes[k], c->privileges[i].mode) != 0)
            k++;
        if (k == n && n < MAX_MODES)
            ret_modes[n++] = c->privileges[i].mode;
    }
    return n;
}

static void put_try(const tl_comparison *c, uint32_t index, const char *const *modes, uint32_t n_modes, FILE *stream) {
    const tl_compare_privilege_row *first = &c->privileges[index];
    uint32_t n_blank = 0; // so that no line ends in blanks
    for (uint32_t m = 0; m < n_modes; m++) {
        const char *outcome = NULL;
        for (uint32_t i = index; i < c->n_privileges && !outcome; i++)
            if (is_same_try(first, &c->privileges[i]) && !strcmp(c->privileges[i].mode, modes[m]))
                outcome = tl_comparison_outcome_text(c->privileges[i].outcome);
        if (!outcome) {
            n_blank++;
            continue;
        }
        fprintf(stream, " %*s", (int)(n_blank * (PRIVILEGE_WIDTH + 1)) + PRIVILEGE_WIDTH, outcome);
        n_blank = 0;
    }
    fputc('\n', stream);
}

void tl_comparison_put_privileges(const tl_comparison *c, FILE *stream) {
    const char *modes[MAX_MODES];
    uint32_t n_modes = find_modes(c, modes);
    const char *last = "";
    if (c->n_privileges == 0)
        return;
    fprintf(stream, "\n Who can read: what came of trying, by the mode of the hart\n\n %-66s", "");
    for (uint32_t m = 0; m < n_modes; m++)
        fprintf(stream, " %*s", PRIVILEGE_WIDTH, modes[m]);
    fputc('\n', stream);
    for (uint32_t i = 0; i < c->n_privileges; i++) {
        const tl_compare_privilege_row *row = &c->privileges[i];
        const char *name = tl_comparison_design_name(c, row->design);
        bool is_repeat = false;
        for (uint32_t k = 0; k < i; k++)
            is_repeat = is_repeat || is_same_try(&c->privileges[k], row);
        if (is_repeat)
            continue;
        fprintf(stream, " %-7s %-26s %-31s", strcmp(name, last) ? name : "", row->what, row->grant);
        put_try(c, i, modes, n_modes, stream);
        last = name;
    }
}

// ---- Hardware

void tl_comparison_put_states(const tl_comparison *c, FILE *stream) {
    if (c->n_states == 0)
        return;
    fprintf(stream, "\n The hardware: bits of state and wires, as it stands on this machine and for the reach of the widest\n");
    fputs(" " TL_COST_SENTENCE "\n\n", stream);
    fprintf(stream, " %-7s %-14s %9s %12s %14s %9s %6s %10s\n", "", "", "counters", "state bits", "of counters", "wires", "CSRs",
            "addresses");
    for (uint32_t i = 0; i < c->n_states; i++) {
        const tl_compare_state_row *row = &c->states[i];
        char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], d[TL_NUMBER_BYTES], e[TL_NUMBER_BYTES];
        fprintf(stream, " %-7s %-14s %9" PRIu32 " %12s %14s %9s %6" PRIu64 " %10s\n", tl_comparison_design_name(c, row->design),
                row->is_as_built ? "as it stands" : "of equal reach", row->n_counters, tl_format_grouped(row->state_bits, a),
                tl_format_grouped(row->counter_bits, b), tl_format_grouped(row->wires, d), row->n_csrs,
                tl_format_grouped(row->address_bytes, e));
    }
}
