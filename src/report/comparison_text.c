// SPDX-License-Identifier: MIT
// A comparison for people: the measured rows with a column for each design, then what only makes
// sense at length, as tables of their own. Every number stands in JSON and CSV, too
// (comparison_members.c); a few are left out here.
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "report/comparison.h"
#include "report/comparison_tables.h"
#include "report/report.h"

enum { LABEL_WIDTH = 42, CELL_WIDTH = 16 };

typedef enum cell_kind {
    CELL_U32,
    CELL_U64,
    CELL_ACCOUNT_U32, // "-" of a design without an account
    CELL_ACCOUNT_U64,
    CELL_MILLI,
    CELL_OF,       // "5 of 16"
    CELL_PER_LOOK, // a u64 over all readings
    CELL_CHANGE,   // a double as "+0.60 %"
    CELL_ERROR,    // 0 is "exact"
    CELL_NONE,     // an empty line
} cell_kind;

typedef struct text_row {
    const char *label;
    cell_kind kind;
    size_t offset, offset2;
} text_row;

#define AT(member) offsetof(tl_compare_design_row, member)
static const text_row rows[] = {
    {"events counted at once, without a gap", CELL_ACCOUNT_U32, AT(events_at_once), 0},
    {"of the events asked for: counted", CELL_OF, AT(events_counted), AT(events_asked)},
    {"                         without a gap", CELL_OF, AT(events_always), AT(events_asked)},
    {"mean error", CELL_ERROR, AT(mean_error), 0},
    {"largest error", CELL_ERROR, AT(largest_error), 0},
    {"events with an error", CELL_OF, AT(n_with_error), AT(events_counted)},
    {"", CELL_NONE, 0, 0},
    {"looks of the reader", CELL_U64, AT(n_looks), 0},
    {"a look: instructions", CELL_MILLI, AT(look_instructions_x1000), 0},
    {"        cycles", CELL_MILLI, AT(look_cycles_x1000), 0},
    {"        cycles of the first", CELL_U64, AT(first_look_cycles), 0},
    {"        loads through the L1D", CELL_PER_LOOK, AT(by_reader.l1d_reads), 0},
    {"        stores through the L1D", CELL_PER_LOOK, AT(by_reader.l1d_writes), 0},
    {"        misses of the L1D", CELL_PER_LOOK, AT(by_reader.l1d_misses), 0},
    {"        misses of the L1I", CELL_PER_LOOK, AT(by_reader.l1i_misses), 0},
    {"        reads of the L2", CELL_PER_LOOK, AT(by_reader.l2_reads), 0},
    {"        accesses on the bus", CELL_PER_LOOK, AT(by_reader.uncached), 0},
    {"cycles of the program, reader included", CELL_CHANGE, AT(slowdown), 0},
    {"", CELL_NONE, 0, 0},
    {"control registers that a reader knows", CELL_ACCOUNT_U32, AT(n_csrs), 0},
    {"           more for one event more", CELL_ACCOUNT_U32, AT(csrs_per_event), 0},
    {"bytes of address space", CELL_ACCOUNT_U64, AT(address_bytes), 0},
    {"           more for one event more", CELL_ACCOUNT_U32, AT(address_bytes_per_event), 0},
    {"", CELL_NONE, 0, 0},
    {"a hostile device: values it saw pass", CELL_U64, AT(values_watched), 0},
    {"                  values it read", CELL_U64, AT(values_read), 0},
    {"                  selections it saw", CELL_U64, AT(selects_watched), 0},
};
#undef AT

const char *tl_comparison_error_text(double error, char text[TL_NUMBER_BYTES]) {
    char number[TL_NUMBER_BYTES];
    double percent = 100 * fabs(error);
    if (error == 0)
        return "exact";
    snprintf(text, TL_NUMBER_BYTES, "%c%.40s %%", error < 0 ? '-' : '+',
             tl_format_fixed(percent,
                             percent >= 1000   ? 0
                             : percent >= 0.01 ? 2
                                               : 6,
                             number));
    return text;
}

static const char *cell_text(const text_row *row, const tl_compare_design_row *design, char text[TL_NUMBER_BYTES]) {
    const char *at = (const char *)design + row->offset;
    double real;
    if ((row->kind == CELL_ACCOUNT_U32 || row->kind == CELL_ACCOUNT_U64) && !design->is_accounted)
        return "-";
    switch (row->kind) {
    case CELL_ACCOUNT_U32:
    case CELL_U32: return tl_format_grouped(*(const uint32_t *)at, text);
    case CELL_ACCOUNT_U64:
    case CELL_U64: return tl_format_grouped(*(const uint64_t *)at, text);
    case CELL_MILLI: return tl_format_metric((double)*(const uint64_t *)at / 1000, text);
    case CELL_OF:
        snprintf(text, TL_NUMBER_BYTES, "%" PRIu32 " of %" PRIu32, *(const uint32_t *)at,
                 *(const uint32_t *)((const char *)design + row->offset2));
        return text;
    case CELL_PER_LOOK:
        real = design->n_looks > 0 ? (double)*(const uint64_t *)at / (double)design->n_looks : 0;
        return real == 0 ? "0" : tl_format_metric(real, text);
    case CELL_CHANGE: real = *(const double *)at; return real == 0 ? "=" : tl_comparison_error_text(real, text);
    case CELL_ERROR:
        tl_comparison_error_text(*(const double *)at, text);
        return *(const double *)at == 0 ? "exact" : text + 1; // a size: without its sign
    case CELL_NONE: break;
    }
    return "";
}

static void put_end(const tl_compare_facts *facts, FILE *stream) {
    if (facts->reason == TL_END_EXITED && facts->status == 0)
        fputs(" to its end", stream);
    else if (facts->reason == TL_END_EXITED)
        fprintf(stream, " until it exited with status %d", facts->status);
    else if (facts->reason == TL_END_KILLED)
        fprintf(stream, " until it was killed by %s", tl_report_signal_name(facts->signal));
}

static void put_heading(const tl_comparison *c, FILE *stream) {
    const tl_compare_facts *facts = &c->facts;
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES];
    fprintf(stream, "\n '%s' on %s (%u hart%s): %s instructions in %s cycles", facts->program, facts->machine, facts->n_harts,
            facts->n_harts == 1 ? "" : "s", tl_format_grouped(facts->instructions, a), tl_format_grouped(facts->cycles, b));
    put_end(facts, stream);
    fprintf(stream, "\n Watched again in %u way%s, a look every %s cycles, by readers that the machine executes", c->n_designs,
            c->n_designs == 1 ? "" : "s", tl_format_grouped(facts->interval_cycles, a));
    fputs(".\n", stream);
    if (facts->outgrown_by_cycles != 0)
        fprintf(stream,
                " Looks every %s cycles were wanted; they are further apart because one of %s took %s cycles, more than half of that.\n",
                tl_format_grouped(facts->wanted_interval_cycles, a), facts->outgrown_by_design,
                tl_format_grouped(facts->outgrown_by_cycles, b));
    if (*facts->added)
        fprintf(stream, " Added to the machine: %s.\n", facts->added);
    fputc('\n', stream);
    for (uint32_t d = 0; d < c->n_designs; d++)
        fprintf(stream, " %-7s %s\n", c->designs[d].name, c->designs[d].title);
}

static void put_designs(const tl_comparison *c, FILE *stream) {
    fprintf(stream, "\n %-*s", LABEL_WIDTH, "");
    for (uint32_t d = 0; d < c->n_designs; d++)
        fprintf(stream, " %*s", CELL_WIDTH, c->designs[d].name);
    fputc('\n', stream);
    for (const text_row *row = rows; row < rows + TL_COUNT_OF(rows); row++) {
        if (row->kind == CELL_NONE) {
            fputc('\n', stream);
            continue;
        }
        fprintf(stream, " %-*s", LABEL_WIDTH, row->label);
        for (uint32_t d = 0; d < c->n_designs; d++) {
            char text[TL_NUMBER_BYTES];
            fprintf(stream, " %*s", CELL_WIDTH, cell_text(row, &c->designs[d], text));
        }
        fputc('\n', stream);
    }
}

void tl_comparison_put_text(const tl_comparison *c, FILE *stream) {
    put_heading(c, stream);
    put_designs(c, stream);
    tl_comparison_put_events(c, stream);
    tl_comparison_put_accesses(c, stream);
    tl_comparison_put_privileges(c, stream);
    tl_comparison_put_states(c, stream);
    tl_comparison_put_sweeps(c, stream);
    fputc('\n', stream);
}
