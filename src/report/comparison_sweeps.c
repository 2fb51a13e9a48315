// SPDX-License-Identifier: MIT
// The sweeps of a comparison as text: where one way to read beats the other, and how errors grow
// with the number of events.
#include <inttypes.h>
#include <string.h>

#include "report/comparison_tables.h"

enum { EVEN_PER_MILLE = 10 }; // closer than that is no difference: as in the rows' own winner

// The sign of a - b, 0 when they are even.
static int compare(uint64_t a, uint64_t b) {
    uint64_t distance = a < b ? b - a : a - b, least = a < b ? a : b;
    return distance * 1000 <= least * EVEN_PER_MILLE ? 0 : a < b ? -1 : 1;
}

// "1 2 4", the beats of rows with so many harts in which empty-poll stands to trigger-poll as
// `sign` says.
static uint32_t put_beats(const tl_comparison *c, uint32_t n_harts, int sign, const char *before, FILE *stream) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_fabrics; i++) {
        const tl_compare_fabric_row *row = &c->fabrics[i];
        if (row->n_harts == n_harts && compare(row->empty_poll_x1000, row->trigger_poll_x1000) == sign)
            fprintf(stream, "%s%" PRIu32, n++ ? " " : before, row->beat_cycles);
    }
    return n;
}

static void put_verdicts(const tl_comparison *c, FILE *stream) {
    fputs("\n Empty-poll against trigger-poll, by harts and cycles of a beat:\n", stream);
    for (uint32_t i = 0; i < c->n_fabrics; i++) {
        uint32_t n_harts = c->fabrics[i].n_harts, k = 0;
        while (k < i && c->fabrics[k].n_harts != n_harts)
            k++;
        if (k < i)
            continue;
        fprintf(stream, " %8" PRIu32 " hart%s", n_harts, n_harts == 1 ? ": " : "s:");
        uint32_t n = put_beats(c, n_harts, 1, " loses at ", stream);
        n += put_beats(c, n_harts, 0, n ? ", even at " : " even at ", stream);
        put_beats(c, n_harts, -1, n ? ", wins at " : " wins at ", stream);
        fputc('\n', stream);
    }
}

static void put_fabrics(const tl_comparison *c, FILE *stream) {
    fprintf(stream, "\n Cycles of a read of %" PRIu32 " distributed counters, when so many harts read the same manager all the time\n\n",
            c->fabrics[0].n_counters);
    fprintf(stream, " %8s %6s %12s %13s %12s   %-14s %12s %8s\n", "beat", "harts", "empty-poll", "trigger-poll", "burst-read", "quickest",
            "longest wait", "at most");
    for (uint32_t i = 0; i < c->n_fabrics; i++) {
        const tl_compare_fabric_row *row = &c->fabrics[i];
        char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], d[TL_NUMBER_BYTES], e[TL_NUMBER_BYTES], f[TL_NUMBER_BYTES];
        fprintf(stream, " %8" PRIu32 " %6" PRIu32 " %12s %13s %12s   %-14s %12s %8s\n", row->beat_cycles, row->n_harts,
                tl_format_fixed((double)row->empty_poll_x1000 / 1000, 1, a), tl_format_fixed((double)row->trigger_poll_x1000 / 1000, 1, b),
                tl_format_fixed((double)row->burst_read_x1000 / 1000, 1, d), row->winner, tl_format_grouped(row->max_wait_cycles, e),
                tl_format_grouped(row->wait_bound_cycles, f));
    }
    put_verdicts(c, stream);
}

static const tl_compare_spread_row *find_spread(const tl_comparison *c, uint32_t design, uint32_t n_events) {
    for (uint32_t i = 0; i < c->n_spreads; i++)
        if (c->spreads[i].design == design && c->spreads[i].n_events == n_events)
            return &c->spreads[i];
    return NULL;
}

static void put_spread(const tl_comparison *c, uint32_t n_events, FILE *stream) {
    char mean[TL_NUMBER_BYTES], largest[TL_NUMBER_BYTES];
    fprintf(stream, " %8" PRIu32, n_events);
    for (uint32_t d = 0; d < c->n_designs; d++) {
        const tl_compare_spread_row *row = find_spread(c, c->designs[d].design, n_events);
        if (!row || row->n_counted == 0) {
            fprintf(stream, " %8s %12s %12s", row ? "0" : "", "-", "-");
            continue;
        }
        const char *mean_text = tl_comparison_error_text(row->mean_error, mean);
        const char *largest_text = tl_comparison_error_text(row->largest_error, largest);
        fprintf(stream, " %8" PRIu32 " %12s %12s", row->n_counted, mean_text + (*mean_text == '+'), largest_text + (*largest_text == '+'));
    }
    fputc('\n', stream);
}

static void put_spreads(const tl_comparison *c, FILE *stream) {
    fputs(
        "\n Error against the number of events asked for: how many are counted, mean and largest error over them and over phases\n\n          ",
        stream);
    for (uint32_t d = 0; d < c->n_designs; d++)
        fprintf(stream, "%s%*s", d ? " " : "", 34, c->designs[d].name);
    fprintf(stream, "\n %8s", "events");
    for (uint32_t d = 0; d < c->n_designs; d++)
        fprintf(stream, " %8s %12s %12s", "counted", "mean", "largest");
    fputc('\n', stream);
    for (uint32_t i = 0; i < c->n_spreads; i++) {
        uint32_t k = 0;
        while (k < i && c->spreads[k].n_events != c->spreads[i].n_events)
            k++;
        if (k == i)
            put_spread(c, c->spreads[i].n_events, stream);
    }
    for (uint32_t i = 0; i < c->n_spreads; i += c->n_designs) {
        char interval[TL_NUMBER_BYTES];
        if (c->spreads[i].interval_cycles != c->facts.interval_cycles)
            fprintf(stream, " With %" PRIu32 " events a look takes so long that looks are %s cycles apart.\n", c->spreads[i].n_events,
                    tl_format_grouped(c->spreads[i].interval_cycles, interval));
    }
}

void tl_comparison_put_sweeps(const tl_comparison *c, FILE *stream) {
    if (c->n_fabrics > 0)
        put_fabrics(c, stream);
    if (c->n_spreads > 0)
        put_spreads(c, stream);
}
