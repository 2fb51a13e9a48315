// SPDX-License-Identifier: MIT
// Confusion matrices as a picture: a row for each set of trials, a matrix of shares for each
// algorithm, and below it the share that the published form gets wrong.
#include <inttypes.h>

#include "report/picture.h"
#include "report/trials.h"

enum { LEFT = 220, TOP = 84, CELL = 44, CELL_HEIGHT = 30, GAP = 40, ROW = 140, N_VERDICTS = 3 };
enum { MATRIX = N_VERDICTS * CELL, WIDTH = LEFT + TL_DEBUGGER_ALGORITHMS * (MATRIX + GAP) + 10 };

static double share(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : (double)part / (double)whole; }

// "100", "3.5", "<0.1", "0": percents that no rounding turns into 0 or 100.
static void put_share(char text[16], uint64_t part, uint64_t whole) {
    const double percent = 100 * share(part, whole);
    if (part > 0 && percent < 0.1)
        snprintf(text, 16, "<0.1");
    else if (part < whole && percent > 99.9)
        snprintf(text, 16, ">99.9");
    else
        snprintf(text, 16, part == 0 || part == whole ? "%.0f" : "%.1f", percent);
}

static void put_matrix(const tl_debugger_matrix *m, double x, double y, FILE *stream) {
    static const char *const truths[] = {"absent", "present"};
    char text[64], number[16];
    uint64_t wrong = m->published[0][1] + m->published[1][0], n_all = 0;
    for (uint32_t is_there = 0; is_there < 2; is_there++) {
        const uint64_t *row = m->corrected[is_there], n = row[0] + row[1] + row[2];
        n_all += n;
        for (uint32_t v = 0; v < N_VERDICTS; v++) {
            const double at_x = x + v * CELL, at_y = y + is_there * CELL_HEIGHT;
            const char *kind = v == 2 ? "unknown" : v == is_there ? "right" : "wrong";
            fprintf(stream, "<rect class='cell' x='%.0f' y='%.0f' width='%d' height='%d'/>\n", at_x, at_y, CELL, CELL_HEIGHT);
            if (row[v] > 0)
                fprintf(stream, "<rect class='%s' x='%.0f' y='%.0f' width='%d' height='%d' opacity='%.2f'/>\n", kind, at_x, at_y, CELL,
                        CELL_HEIGHT, 0.25 + 0.5 * share(row[v], n));
            put_share(number, row[v], n);
            tl_picture_text(at_x + CELL / 2.0, at_y + 20, row[v] > 0 ? "" : "quiet", "middle", number, stream);
        }
        if (x == LEFT)
            tl_picture_text(x - 8, y + 20 + is_there * CELL_HEIGHT, "quiet", "end", truths[is_there], stream);
    }
    put_share(number, wrong, n_all);
    snprintf(text, sizeof text, "published: %s %% wrong", number);
    tl_picture_text(x, y + 2 * CELL_HEIGHT + 18, wrong > 0 ? "bad" : "quiet", "start", text, stream);
}

void tl_trials_write_svg(const tl_debugger_trials *sets, uint32_t n, FILE *stream) {
    static const char *const verdicts[N_VERDICTS] = {"NO", "YES", "?"};
    tl_picture_begin(WIDTH, TOP + n * ROW, "Verdicts of five inference algorithms beside the truth, in percent of the questions", stream);
    tl_picture_text(16, 27, "title", "start", "Verdicts beside the truth", stream);
    tl_picture_text(16, 47, "quiet", "start", "percent of the questions whose entry was absent, or present; ? is UNKNOWN", stream);
    for (uint32_t a = 0; a < TL_DEBUGGER_ALGORITHMS; a++)
        tl_picture_text(LEFT + a * (MATRIX + GAP), 74, "bold", "start", tl_trial_structures[a], stream);
    for (uint32_t i = 0; i < n; i++) {
        const double y = TOP + i * ROW;
        char text[64];
        tl_picture_text(16, y + 38, "bold", "start", sets[i].has_all_events ? "full event set" : "events of the A53", stream);
        tl_picture_text(16, y + 56, "quiet", "start", sets[i].is_noisy ? "noise" : "no noise", stream);
        if (sets[i].is_prefetching)
            tl_picture_text(16, y + 74, "quiet", "start", "prefetchers", stream);
        snprintf(text, sizeof text, "%" PRIu32 " each", sets[i].n_trials);
        tl_picture_text(16, y + 92, "quiet", "start", text, stream);
        for (uint32_t a = 0; a < TL_DEBUGGER_ALGORITHMS; a++) {
            const double x = LEFT + a * (MATRIX + GAP);
            for (uint32_t v = 0; v < N_VERDICTS; v++)
                tl_picture_text(x + v * CELL + CELL / 2.0, y + 14, "quiet", "middle", verdicts[v], stream);
            put_matrix(&sets[i].matrices[a], x, y + 20, stream);
        }
    }
    tl_picture_end(stream);
}
