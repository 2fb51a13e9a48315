// SPDX-License-Identifier: MIT
// See picture.h.
#include "report/picture.h"

static const char style[] =
    "<style>\n"
    "text { font: 13px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f }\n"
    ".title { font-size: 16px; font-weight: 600 } .bold { font-weight: 600 } .quiet { fill: #57606a } .bad { fill: #b91c1c }\n"
    ".paper { fill: #ffffff } .cell { fill: none; stroke: #d8dee4 } .empty { fill: #eef1f4 }\n"
    ".right, .E { fill: #15803d } .wrong, .M { fill: #c2410c } .unknown, .O { fill: #a16207 } .S { fill: #1d4ed8 }\n"
    ".V { fill: #1d4ed8 } .G { fill: #7e22ce } .W { fill: #0e7490 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6edf3 } .quiet { fill: #9da7b1 } .bad { fill: #f87171 } .paper { fill: #0d1117 } .cell { stroke: #30363d }\n"
    ".empty { fill: #1c2128 } .right, .E { fill: #4ade80 } .wrong, .M { fill: #fb923c } .unknown, .O { fill: #facc15 }\n"
    ".S, .V { fill: #60a5fa } .G { fill: #c084fc } .W { fill: #22d3ee }\n"
    "}\n"
    "</style>\n";

static void put_escaped(const char *text, FILE *stream) {
    for (; *text; text++)
        switch (*text) {
        case '<': fputs("&lt;", stream); break;
        case '>': fputs("&gt;", stream); break;
        case '&': fputs("&amp;", stream); break;
        default: fputc(*text, stream); break;
        }
}

void tl_picture_begin(unsigned width, unsigned height, const char *description, FILE *stream) {
    fprintf(stream, "<svg xmlns='http://www.w3.org/2000/svg' width='%u' height='%u' viewBox='0 0 %u %u' role='img'>\n<title>", width,
            height, width, height);
    put_escaped(description, stream);
    fprintf(stream, "</title>\n%s<rect class='paper' width='%u' height='%u'/>\n", style, width, height);
}

void tl_picture_text(double x, double y, const char *classes, const char *anchor, const char *text, FILE *stream) {
    fprintf(stream, "<text class='%s' x='%.0f' y='%.0f' text-anchor='%s'>", classes, x, y, anchor);
    put_escaped(text, stream);
    fputs("</text>\n", stream);
}

void tl_picture_end(FILE *stream) { fputs("</svg>\n", stream); }
