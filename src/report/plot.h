// SPDX-License-Identifier: MIT
// Line charts as SVG: panels above each other, axes with ticks at round numbers, a name at the end
// of each line. The file carries its own colors for light and dark screens, names no font that a
// reader must have, and runs no script; the same values give the same bytes.
#ifndef TL_REPORT_PLOT_H
#define TL_REPORT_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TL_PLOT_MAX_SERIES = 6 }; // of a panel: as many as there are colors

typedef struct tl_plot_point {
    double x, y;
    double low, high; // of the band around y; both y where there is none
} tl_plot_point;

typedef struct tl_plot_series {
    const char *name; // at the end of the line
    const tl_plot_point *points;
    uint32_t n_points; // with x rising
} tl_plot_series;

typedef struct tl_plot_panel {
    const char *title, *subtitle; // subtitle may be ""
    const char *x_label, *y_label;
    const tl_plot_series *series;
    uint32_t n_series;
    bool has_log_y; // powers of ten, if all values are at least 0.01 and span a factor of 8
    // Names of the values 0, 1, 2... of x, at equal distances. NULL: x is a number.
    const char *const *x_names;
    uint32_t n_x_names;
} tl_plot_panel;

// `description` is for those who hear the picture. Values must be finite and not negative, x at
// least 1 where it spans a factor of 8 or more: the axis is then in powers of two, or of ten.
void tl_plot_write(const tl_plot_panel *panels, uint32_t n_panels, const char *description, FILE *stream);

#endif
