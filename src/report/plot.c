// SPDX-License-Identifier: MIT
// A chart is a few hundred bytes of SVG: classes carry colors, so that one file serves light and
// dark screens, and everything is placed by arithmetic on the values. Numbers go through
// tl_format_fixed because printf follows the locale.
#include "report/plot.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "report/report.h"

enum { PANEL_HEIGHT = 380, LEFT = 64, TOP = 64, BOTTOM = 52, LABEL_GAP = 17, MAX_TICKS = 16 };
enum { LEAST_PLOT = 564, LEAST_RIGHT = 132, NAME_GAP = 10, MARGIN = 16 };

// Of a page: the axes' width, and the room for names at their right. All texts have room.
typedef struct layout {
    int plot, right, page;
} layout;

typedef struct axis {
    double from, to;         // in the axis's own measure: log2 of the value where is_log
    bool is_log, is_short;   // is_short: ticks read 10k, 1M
    double ticks[MAX_TICKS]; // values
    uint32_t n_ticks;
    unsigned n_decimals;
    const char *const *names; // of the ticks; NULL: numbers
} axis;

static const char style[] =
    "<style>\n"
    "text { font: 13px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f }\n"
    ".title { font-size: 16px; font-weight: 600 } .quiet { fill: #57606a } .paper { fill: #ffffff } .grid { stroke: #d8dee4 }\n"
    ".axis { stroke: #57606a } .line { fill: none; stroke-width: 2.5; stroke-linejoin: round } .band { stroke: none; opacity: .18 }\n"
    ".l0 { stroke: #c2410c } .f0 { fill: #c2410c } .l1 { stroke: #1d4ed8 } .f1 { fill: #1d4ed8 }\n"
    ".l2 { stroke: #15803d } .f2 { fill: #15803d } .l3 { stroke: #7e22ce } .f3 { fill: #7e22ce }\n"
    ".l4 { stroke: #0e7490 } .f4 { fill: #0e7490 } .l5 { stroke: #a16207 } .f5 { fill: #a16207 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6edf3 } .quiet { fill: #9da7b1 } .paper { fill: #0d1117 } .grid { stroke: #30363d } .axis { stroke: #9da7b1 }\n"
    ".l0 { stroke: #fb923c } .f0 { fill: #fb923c } .l1 { stroke: #60a5fa } .f1 { fill: #60a5fa }\n"
    ".l2 { stroke: #4ade80 } .f2 { fill: #4ade80 } .l3 { stroke: #c084fc } .f3 { fill: #c084fc }\n"
    ".l4 { stroke: #22d3ee } .f4 { fill: #22d3ee } .l5 { stroke: #facc15 } .f5 { fill: #facc15 }\n"
    "}\n"
    "</style>\n";

// Lines that lie on each other stay visible: the later ones have gaps.
static const char *const dashes[TL_PLOT_MAX_SERIES] = {
    "", "", " stroke-dasharray='9 6'", " stroke-dasharray='3 5'", "", " stroke-dasharray='9 6'"};

static void put_escaped(const char *text, FILE *stream) {
    for (; *text; text++) {
        switch (*text) {
        case '&': fputs("&amp;", stream); break;
        case '<': fputs("&lt;", stream); break;
        case '>': fputs("&gt;", stream); break;
        default: fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stream);
        }
    }
}

static void put_text(double x, double y, const char *classes, const char *anchor, const char *text, FILE *stream) {
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES];
    fprintf(stream, "<text x='%s' y='%s' class='%s' text-anchor='%s'>", tl_format_fixed(x, 1, a), tl_format_fixed(y, 1, b), classes,
            anchor);
    put_escaped(text, stream);
    fputs("</text>\n", stream);
}

static void put_line(double x1, double y1, double x2, double y2, const char *classes, FILE *stream) {
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES], c[TL_NUMBER_BYTES], d[TL_NUMBER_BYTES];
    fprintf(stream, "<line x1='%s' y1='%s' x2='%s' y2='%s' class='%s'/>\n", tl_format_fixed(x1, 1, a), tl_format_fixed(y1, 1, b),
            tl_format_fixed(x2, 1, c), tl_format_fixed(y2, 1, d), classes);
}

// Round distances, 1, 2 or 5 times a power of ten, that give about five ticks from 0 to at least
// `most`.
static void make_linear(double most, axis *ret) {
    double step = most > 0 ? pow(10, floor(log10(most / 5))) : 1, ratio = most > 0 ? most / 5 / step : 0;
    step *= ratio > 5 ? 10 : ratio > 2 ? 5 : ratio > 1 ? 2 : 1;
    *ret = (axis){.n_decimals = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 4};
    do
        ret->ticks[ret->n_ticks] = step * ret->n_ticks;
    while (ret->ticks[ret->n_ticks++] < most && ret->n_ticks < MAX_TICKS);
    if (ret->n_ticks == 1)
        ret->ticks[ret->n_ticks++] = step;
    ret->to = ret->ticks[ret->n_ticks - 1];
}

static void make_log2(double least, double most, axis *ret) {
    *ret = (axis){.from = log2(least), .to = log2(most), .is_log = true};
    for (double power = exp2(ceil(ret->from)); power <= most && ret->n_ticks < MAX_TICKS; power *= 2)
        ret->ticks[ret->n_ticks++] = power;
    // Lines end there.
    if (ret->n_ticks > 0 && ret->n_ticks < MAX_TICKS && most > 1.2 * ret->ticks[ret->n_ticks - 1])
        ret->ticks[ret->n_ticks++] = most;
}

// Whole powers of ten around the values.
static void make_decades(double least, double most, axis *ret) {
    int first = (int)floor(log10(least)), last = (int)ceil(log10(most));
    *ret = (axis){.from = first * log2(10), .to = last * log2(10), .is_log = true, .is_short = true, .n_decimals = first < 0 ? 2 : 0};
    for (int power = first; power <= last && ret->n_ticks < MAX_TICKS; power++)
        ret->ticks[ret->n_ticks++] = pow(10, power);
}

// Names with half a distance on both sides; if they are too many, every second or third has a tick.
static void make_named(const char *const *names, uint32_t n, axis *ret) {
    const uint32_t step = (n + MAX_TICKS - 1) / MAX_TICKS;
    *ret = (axis){.from = -0.5, .to = n - 0.5, .names = names};
    for (uint32_t i = 0; i < n; i += step)
        ret->ticks[ret->n_ticks++] = i;
}

enum { WIDE = 4096 }; // an axis that spans a larger factor has ticks at powers of ten

static void make_axes(const tl_plot_panel *panel, axis *ret_x, axis *ret_y) {
    double least_x = INFINITY, most_x = 0, least_y = INFINITY, most_y = 0;
    for (uint32_t i = 0; i < panel->n_series; i++) {
        for (uint32_t k = 0; k < panel->series[i].n_points; k++) {
            const tl_plot_point *point = &panel->series[i].points[k];
            least_x = fmin(least_x, point->x);
            most_x = fmax(most_x, point->x);
            least_y = fmin(least_y, fmin(point->y, point->low));
            most_y = fmax(most_y, fmax(point->y, point->high));
        }
    }
    if (panel->x_names)
        make_named(panel->x_names, panel->n_x_names, ret_x);
    else if (least_x >= 1 && most_x > WIDE * least_x)
        make_decades(least_x, most_x, ret_x);
    else if (least_x >= 1 && most_x >= 8 * least_x)
        make_log2(least_x, most_x, ret_x);
    else
        make_linear(most_x, ret_x);
    if (panel->has_log_y && least_y >= 0.01 && most_y > 8 * least_y)
        make_decades(least_y, most_y, ret_y);
    else
        make_linear(most_y, ret_y);
}

static void put_tick(double x, double y, const char *anchor, const axis *on, double value, FILE *stream) {
    char text[TL_NUMBER_BYTES + 1];
    if (on->names) {
        put_text(x, y, "quiet", anchor, on->names[(uint32_t)value], stream);
        return;
    }
    bool is_mega = on->is_short && value >= 1e6, is_kilo = on->is_short && value >= 1e4 && !is_mega;
    tl_format_fixed(is_mega ? value / 1e6 : is_kilo ? value / 1e3 : value, value >= 1 && on->is_short ? 0 : on->n_decimals, text);
    if (is_mega || is_kilo)
        strcat(text, is_mega ? "M" : "k");
    put_text(x, y, "quiet", anchor, text, stream);
}

static double place(const axis *on, double value, double at_from, double at_to) {
    double own = on->is_log ? log2(value) : value;
    return at_from + (own - on->from) / (on->to - on->from) * (at_to - at_from);
}

typedef struct frame {
    axis x, y;
    double top;   // of the panel on the page
    double right; // end of the x axis
} frame;

static double place_x(const frame *at, double value) { return place(&at->x, value, LEFT, at->right); }
static double place_y(const frame *at, double value) { return place(&at->y, value, at->top + PANEL_HEIGHT - BOTTOM, at->top + TOP); }

static void put_axes(const tl_plot_panel *panel, const frame *at, FILE *stream) {
    char number[TL_NUMBER_BYTES];
    double bottom = at->top + PANEL_HEIGHT - BOTTOM;
    for (uint32_t i = 0; i < at->y.n_ticks; i++) {
        double y = place_y(at, at->y.ticks[i]);
        put_line(LEFT, y, at->right, y, i ? "grid" : "axis", stream);
        put_tick(LEFT - 8, y + 4.5, "end", &at->y, at->y.ticks[i], stream);
    }
    for (uint32_t i = 0; i < at->x.n_ticks; i++) {
        double x = place_x(at, at->x.ticks[i]);
        put_line(x, bottom, x, bottom + 5, "axis", stream);
        put_tick(x, bottom + 20, "middle", &at->x, at->x.ticks[i], stream);
    }
    put_text((LEFT + at->right) / 2, bottom + 41, "quiet", "middle", panel->x_label, stream);
    fprintf(stream, "<g transform='translate(18 %s) rotate(-90)'>\n", tl_format_fixed((at->top + TOP + bottom) / 2, 1, number));
    put_text(0, 0, "quiet", "middle", panel->y_label, stream);
    fputs("</g>\n", stream);
}

static void put_pair(double x, double y, FILE *stream) {
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES];
    fprintf(stream, "%s,%s ", tl_format_fixed(x, 1, a), tl_format_fixed(y, 1, b));
}

static void put_series(const tl_plot_series *series, uint32_t number, const frame *at, FILE *stream) {
    bool has_band = false;
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES];
    for (uint32_t i = 0; i < series->n_points; i++)
        has_band = has_band || series->points[i].low < series->points[i].high;
    if (has_band) {
        fprintf(stream, "<polygon class='band f%u' points='", number);
        for (uint32_t i = 0; i < series->n_points; i++)
            put_pair(place_x(at, series->points[i].x), place_y(at, series->points[i].high), stream);
        for (uint32_t i = series->n_points; i-- > 0;)
            put_pair(place_x(at, series->points[i].x), place_y(at, series->points[i].low), stream);
        fputs("'/>\n", stream);
    }
    fprintf(stream, "<polyline class='line l%u'%s points='", number, dashes[number]);
    for (uint32_t i = 0; i < series->n_points; i++)
        put_pair(place_x(at, series->points[i].x), place_y(at, series->points[i].y), stream);
    fputs("'/>\n", stream);
    for (uint32_t i = 0; i < series->n_points; i++)
        fprintf(stream, "<circle cx='%s' cy='%s' r='3.5' class='f%u'/>\n", tl_format_fixed(place_x(at, series->points[i].x), 1, a),
                tl_format_fixed(place_y(at, series->points[i].y), 1, b), number);
}

// Names beside the ends of their lines. Where they would lie on each other, the lowest keeps its
// place and pushes others up, as far as the panel's axes reach; from there the rest moves down.
static void put_names(const tl_plot_panel *panel, const frame *at, FILE *stream) {
    bool is_done[TL_PLOT_MAX_SERIES] = {false};
    uint32_t order[TL_PLOT_MAX_SERIES], n_names = 0; // lowest first
    double y[TL_PLOT_MAX_SERIES], limit = at->top + PANEL_HEIGHT;
    for (uint32_t n = 0; n < panel->n_series; n++) {
        uint32_t lowest = UINT32_MAX;
        double lowest_y = -1;
        for (uint32_t i = 0; i < panel->n_series; i++) {
            const tl_plot_series *series = &panel->series[i];
            double end = series->n_points ? place_y(at, series->points[series->n_points - 1].y) : 0;
            if (!is_done[i] && series->n_points && end >= lowest_y) {
                lowest = i;
                lowest_y = end;
            }
        }
        if (lowest == UINT32_MAX)
            break;
        is_done[lowest] = true;
        order[n_names] = lowest;
        limit = y[n_names++] = fmin(lowest_y, limit - LABEL_GAP);
    }
    limit = at->top + TOP;
    for (uint32_t n = n_names; n-- > 0; limit += LABEL_GAP) {
        char classes[16];
        limit = y[n] = fmax(y[n], limit);
        snprintf(classes, sizeof classes, "f%u", order[n]);
        put_text(at->right + NAME_GAP, y[n] + 4.5, classes, "start", panel->series[order[n]].name, stream);
    }
}

static void put_panel(const tl_plot_panel *panel, double top, const layout *page, FILE *stream) {
    frame at = {.top = top, .right = LEFT + page->plot};
    make_axes(panel, &at.x, &at.y);
    put_text(MARGIN, top + 27, "title", "start", panel->title, stream);
    put_text(MARGIN, top + 47, "quiet", "start", panel->subtitle, stream);
    put_axes(panel, &at, stream);
    for (uint32_t i = 0; i < panel->n_series; i++)
        put_series(&panel->series[i], i, &at, stream);
    put_names(panel, &at, stream);
}

// Pixels that the text may take: no font tells the writer of the file. Letters of the sans-serif
// fonts named above are 0.53 of the font's size wide on average.
static int width_of(const char *text, int font_px) {
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return (n * font_px * 58 + 99) / 100;
}

static int larger(int a, int b) { return a > b ? a : b; }

static layout lay_out(const tl_plot_panel *panels, uint32_t n_panels) {
    enum { TEXT_PX = 13, TITLE_PX = 16 };
    layout page = {.plot = LEAST_PLOT, .right = LEAST_RIGHT};
    int heads = 0;
    for (uint32_t i = 0; i < n_panels; i++) {
        const tl_plot_panel *panel = &panels[i];
        for (uint32_t k = 0; k < panel->n_series; k++)
            page.right = larger(page.right, NAME_GAP + width_of(panel->series[k].name, TEXT_PX));
        for (uint32_t k = 0; panel->x_names && k < panel->n_x_names; k++)
            page.plot = larger(page.plot, (int)panel->n_x_names * (NAME_GAP + width_of(panel->x_names[k], TEXT_PX)));
        page.plot = larger(page.plot, width_of(panel->x_label, TEXT_PX));
        heads = larger(heads, larger(width_of(panel->title, TITLE_PX), width_of(panel->subtitle, TEXT_PX)));
    }
    page.page = larger(LEFT + page.plot + page.right, MARGIN + heads);
    return page;
}

void tl_plot_write(const tl_plot_panel *panels, uint32_t n_panels, const char *description, FILE *stream) {
    const layout page = lay_out(panels, n_panels);
    uint32_t height = n_panels * PANEL_HEIGHT;
    fprintf(stream, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%u' viewBox='0 0 %d %u' role='img'>\n<title>", page.page,
            height, page.page, height);
    put_escaped(description, stream);
    fprintf(stream, "</title>\n%s<rect class='paper' width='%d' height='%u'/>\n", style, page.page, height);
    for (uint32_t i = 0; i < n_panels; i++)
        put_panel(&panels[i], (double)i * PANEL_HEIGHT, &page, stream);
    fputs("</svg>\n", stream);
}
