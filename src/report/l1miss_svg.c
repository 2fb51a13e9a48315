// SPDX-License-Identifier: MIT
// The experiment as a picture: a histogram over distance for each run with samples, on one axis.
#include <inttypes.h>

#include "base/bits.h"
#include "report/l1miss.h"
#include "report/picture.h"

enum { LEFT = 64, TOP = 64, BAR = 7, HEIGHT = 90, ROW = 168, WIDTH = LEFT + TL_L1MISS_DISTANCES * BAR + 24, TICK = 10, TEXT = 160 };

static void put_axes(double y, FILE *stream) {
    char text[16];
    for (uint32_t percent = 0; percent <= 100; percent += 50) {
        const double at = y + HEIGHT - HEIGHT * percent / 100.0;
        fprintf(stream, "<rect class='empty' x='%d' y='%.0f' width='%d' height='1'/>\n", LEFT, at, TL_L1MISS_DISTANCES * BAR);
        snprintf(text, sizeof text, "%" PRIu32 " %%", percent);
        tl_picture_text(LEFT - 8, at + 4, "quiet", "end", text, stream);
    }
    for (uint32_t i = 0; i < TL_L1MISS_DISTANCES; i += TICK) {
        snprintf(text, sizeof text, "+%" PRIu32, i);
        tl_picture_text(LEFT + i * BAR + BAR / 2.0, y + HEIGHT + 18, "quiet", "middle", text, stream);
    }
}

static void put_run(const tl_l1miss_run *run, double y, FILE *stream) {
    char title[96], text[TEXT];
    const uint64_t mode = tl_l1miss_mode(run);
    tl_l1miss_title(run, title);
    title[0] &= ~0x20;
    tl_picture_text(LEFT, y - 22, "bold", "start", title, stream);
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " at the load that misses; mode +%" PRIu64 " with %.1f %%", run->distances[0],
             run->n_samples, mode, tl_l1miss_share(run->distances[mode], run->n_samples));
    tl_picture_text(WIDTH - 24, y - 22, "quiet", "end", text, stream);
    put_axes(y, stream);
    for (uint32_t i = 0; i < TL_L1MISS_DISTANCES; i++) {
        const double height = HEIGHT * tl_l1miss_share(run->distances[i], run->n_samples) / 100;
        if (run->distances[i] > 0)
            fprintf(stream, "<rect class='%s' x='%.1f' y='%.1f' width='%d' height='%.1f'/>\n", i == 0 ? "right" : "wrong",
                    LEFT + i * (double)BAR + 0.5, y + HEIGHT - height, BAR - 1, height);
    }
}

void tl_l1miss_write_svg(const tl_l1miss_run *runs, uint32_t n, FILE *stream) {
    uint32_t n_rows = 0;
    for (uint32_t i = 0; i < n; i++)
        n_rows += runs[i].method != TL_L1MISS_COUNT;
    tl_picture_begin(WIDTH, TOP + n_rows * ROW, "Samples by their distance from the load that misses, in percent of each run", stream);
    tl_picture_text(16, 27, "title", "start", "Where samples of first-level misses point", stream);
    tl_picture_text(16, 47, "quiet", "start", "percent of the samples of a run, by instructions behind the load that misses", stream);
    for (uint32_t i = 0, row = 0; i < n; i++)
        if (runs[i].method != TL_L1MISS_COUNT)
            put_run(&runs[i], TOP + 40.0 + ROW * row++, stream);
    tl_picture_end(stream);
}
