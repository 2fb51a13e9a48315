// SPDX-License-Identifier: MIT
// The picture of a comparison: error against the number of events, a line for each design, and
// cycles of a read against the time between two beats of the fabric, a line for each way to read.
#include <stdlib.h>
#include <string.h>

#include "report/comparison.h"
#include "report/plot.h"
#include "report/report.h"

enum { TITLE_BYTES = 240, N_METHODS = 3 };

typedef struct picture {
    tl_plot_point *points; // of all lines
    uint32_t n_used;
    tl_plot_panel panels[2];
    tl_plot_series errors[TL_COMPARE_MAX_DESIGNS], reads[N_METHODS];
    char subtitles[2][TITLE_BYTES];
} picture;

static void add_point(picture *p, tl_plot_series *series, double x, double y, double high) {
    if (series->n_points == 0)
        series->points = &p->points[p->n_used];
    p->points[p->n_used++] = (tl_plot_point){x, y, y, high};
    series->n_points++;
}

static void add_errors(const tl_comparison *c, picture *p) {
    tl_plot_panel *panel = &p->panels[0];
    for (uint32_t d = 0; d < c->n_designs; d++) {
        tl_plot_series *series = &p->errors[panel->n_series];
        *series = (tl_plot_series){.name = c->designs[d].name};
        for (uint32_t i = 0; i < c->n_spreads; i++) {
            const tl_compare_spread_row *row = &c->spreads[i];
            if (row->design == c->designs[d].design && row->n_counted > 0)
                add_point(p, series, row->n_events, 100 * row->mean_error, 100 * row->mean_error);
        }
        panel->n_series += series->n_points > 0;
    }
    char interval[TL_NUMBER_BYTES];
    snprintf(p->subtitles[0], TITLE_BYTES, "%s on %s, a look every %s cycles; mean over the events that a design counts, and over phases",
             c->facts.program, c->facts.machine, tl_format_grouped(c->facts.interval_cycles, interval));
    *panel = (tl_plot_panel){.title = "Error against the number of events",
                             .subtitle = p->subtitles[0],
                             .x_label = "events watched",
                             .y_label = "mean error, %",
                             .series = p->errors,
                             .n_series = panel->n_series};
}

static void add_reads(const tl_comparison *c, picture *p) {
    static const char *const names[N_METHODS] = {"empty-poll", "trigger-poll", "burst-read"};
    for (uint32_t m = 0; m < N_METHODS; m++) {
        p->reads[m] = (tl_plot_series){.name = names[m]};
        for (uint32_t i = 0; i < c->n_fabrics; i++) {
            const tl_compare_fabric_row *row = &c->fabrics[i];
            const uint64_t cycles[] = {row->empty_poll_x1000, row->trigger_poll_x1000, row->burst_read_x1000};
            if (row->n_harts == 1)
                add_point(p, &p->reads[m], row->beat_cycles, (double)cycles[m] / 1000, (double)cycles[m] / 1000);
        }
    }
    snprintf(p->subtitles[1], TITLE_BYTES, "%u distributed counters, one hart; fewer cycles are better", c->fabrics[0].n_counters);
    p->panels[1] = (tl_plot_panel){.title = "Three ways to read, on faster and slower fabrics",
                                   .subtitle = p->subtitles[1],
                                   .x_label = "cycles from one value on the fabric to the next",
                                   .y_label = "cycles of a read",
                                   .series = p->reads,
                                   .n_series = N_METHODS};
}

tl_status tl_comparison_put_svg(const tl_comparison *c, FILE *stream, tl_error *err) {
    char description[TITLE_BYTES];
    if (c->n_spreads == 0)
        return tl_fail(err, TL_EINVAL, "there is nothing to draw: the comparison was made without sweeps");
    picture *p = calloc(1, sizeof *p);
    if (p)
        p->points = calloc(c->n_spreads + (size_t)N_METHODS * c->n_fabrics, sizeof *p->points);
    if (!p || !p->points) {
        free(p);
        return tl_no_memory(err);
    }
    uint32_t n_panels = 1;
    add_errors(c, p);
    if (c->n_fabrics > 0)
        add_reads(c, p), n_panels++;
    snprintf(description, sizeof description, "%s on %s, watched in %u ways: error against the number of events%s", c->facts.program,
             c->facts.machine, c->n_designs, n_panels > 1 ? ", cycles of a read against the speed of the fabric" : "");
    tl_plot_write(p->panels, n_panels, description, stream);
    free(p->points);
    free(p);
    return TL_OK;
}
