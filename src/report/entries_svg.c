// SPDX-License-Identifier: MIT
// Occupancy of caches and TLB as a picture: a row for each way, a column for each set, and a color
// for the state. A cell's title names the address.
#include <inttypes.h>

#include "report/picture.h"
#include "report/trials.h"

enum { LEFT = 150, CELL = 7, ROW = 12, COLUMNS = 128, BAND = 22, WIDTH = LEFT + COLUMNS * CELL + 16, FIRST_WALK = 128, FIRST_IPA = 144 };

typedef struct part {
    const char *title, *columns;
    uint32_t first, n_valid, n_all, n_sets, n_ways;
} part;

static void measure(const tl_debugger_entry *entries, uint32_t n, uint32_t kind, part *p) {
    p->first = kind == TL_DEBUGGER_WALK ? FIRST_WALK : kind == TL_DEBUGGER_IPA ? FIRST_IPA : 0;
    for (uint32_t i = 0; i < n; i++) {
        const tl_debugger_entry *e = &entries[i];
        if (e->kind != kind)
            continue;
        p->n_all += 1;
        p->n_valid += e->state != 'I';
        p->n_sets = e->index - p->first >= p->n_sets ? e->index - p->first + 1 : p->n_sets;
        p->n_ways = e->way >= p->n_ways ? e->way + 1 : p->n_ways;
    }
}

// Sets beyond COLUMNS go on in another band below.
static unsigned n_bands(const part *p) { return (p->n_sets + COLUMNS - 1) / COLUMNS; }
static unsigned height_of(const part *p) { return p->n_all == 0 ? 0 : 40 + n_bands(p) * (p->n_ways * ROW + BAND); }

static void put_cell(const tl_debugger_entry *e, double x, double y, FILE *stream) {
    char kind[6] = {e->state, 0};
    if (e->state == 'I')
        snprintf(kind, sizeof kind, "empty");
    else if (e->kind == TL_DEBUGGER_WALK)
        kind[0] = 'W';
    else if (e->kind == TL_DEBUGGER_TLB && e->is_global)
        kind[0] = 'G';
    fprintf(stream, "<rect class='%s' x='%.0f' y='%.0f' width='%d' height='%d'", kind, x, y, CELL - 1, ROW - 1);
    if (e->state == 'I')
        fputs("/>\n", stream);
    else if (e->kind == TL_DEBUGGER_L1D || e->kind == TL_DEBUGGER_L1I)
        fprintf(stream, "><title>set %" PRIu32 " way %" PRIu32 ", %c, 0x%" PRIx64 "</title></rect>\n", e->index, e->way, e->state,
                e->paddr);
    else
        fprintf(stream, "><title>index %" PRIu32 " way %" PRIu32 ", 0x%" PRIx64 " to 0x%" PRIx64 ", asid %" PRIu32 "</title></rect>\n",
                e->index, e->way, e->vaddr, e->paddr, e->asid);
}

static void put_part(const tl_debugger_entry *entries, uint32_t n, uint32_t kind, const part *p, double top, FILE *stream) {
    const double band = p->n_ways * ROW + BAND;
    char text[96];
    tl_picture_text(16, top + 18, "bold", "start", p->title, stream);
    snprintf(text, sizeof text, "%" PRIu32 " of %" PRIu32 " valid", p->n_valid, p->n_all);
    tl_picture_text(16, top + 36, "quiet", "start", text, stream);
    for (uint32_t b = 0; b < n_bands(p); b++) {
        const uint32_t last = (b + 1) * COLUMNS < p->n_sets ? (b + 1) * COLUMNS : p->n_sets;
        snprintf(text, sizeof text, "%s %" PRIu32 " to %" PRIu32 ", ways 0 to %" PRIu32 " downwards", p->columns, p->first + b * COLUMNS,
                 p->first + last - 1, p->n_ways - 1);
        tl_picture_text(LEFT, top + 18 + b * band, "quiet", "start", text, stream);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = entries[i].index - p->first;
        if (entries[i].kind == kind)
            put_cell(&entries[i], LEFT + at % COLUMNS * CELL, top + 26 + at / COLUMNS * band + entries[i].way * ROW, stream);
    }
}

static void put_legend(double y, FILE *stream) {
    static const struct {
        const char *kind, *text;
    } rows[] = {{"M", "modified"}, {"O", "owned"},       {"E", "exclusive"},      {"S", "shared"},
                {"V", "valid"},    {"G", "global page"}, {"W", "table of walks"}, {"empty", "invalid"}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fprintf(stream, "<rect class='%s' x='%u' y='%.0f' width='10' height='10'/>\n", rows[i].kind, LEFT + i * 108, y - 10);
        tl_picture_text(LEFT + 15 + i * 108, y, "quiet", "start", rows[i].text, stream);
    }
}

void tl_entries_write_svg(const tl_debugger_entry *entries, uint32_t n, FILE *stream) {
    enum { TITLE = 62, N_PARTS = 5 };
    part parts[N_PARTS] = {[TL_DEBUGGER_L1D] = {.title = "L1D", .columns = "sets"},
                           [TL_DEBUGGER_L1I] = {.title = "L1I", .columns = "sets"},
                           [TL_DEBUGGER_TLB] = {.title = "main TLB", .columns = "indices"},
                           [TL_DEBUGGER_WALK] = {.title = "walk cache", .columns = "indices"},
                           [TL_DEBUGGER_IPA] = {.title = "IPA cache", .columns = "indices"}};
    unsigned height = TITLE;
    for (uint32_t kind = 0; kind < N_PARTS; kind++) {
        measure(entries, n, kind, &parts[kind]);
        height += height_of(&parts[kind]);
    }
    tl_picture_begin(WIDTH, height + 8, "Occupancy of caches and TLB as the cross-core monitor read them", stream);
    tl_picture_text(16, 27, "title", "start", "What the target holds", stream);
    put_legend(50, stream);
    double top = TITLE;
    for (uint32_t kind = 0; kind < N_PARTS; kind++) {
        if (parts[kind].n_all > 0)
            put_part(entries, n, kind, &parts[kind], top, stream);
        top += height_of(&parts[kind]);
    }
    tl_picture_end(stream);
}
