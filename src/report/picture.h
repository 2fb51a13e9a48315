// SPDX-License-Identifier: MIT
// Frame of pictures of cells: SVG with colors for light and dark screens, without fonts that a
// reader must have and without scripts. Line charts: plot.h.
#ifndef TL_REPORT_PICTURE_H
#define TL_REPORT_PICTURE_H

#include <stdio.h>

// `description` is for those who hear the picture.
void tl_picture_begin(unsigned width, unsigned height, const char *description, FILE *stream);
// `classes`: title, bold, quiet, bad, or "". `anchor`: start, middle, end.
void tl_picture_text(double x, double y, const char *classes, const char *anchor, const char *text, FILE *stream);
void tl_picture_end(FILE *stream);

#endif
