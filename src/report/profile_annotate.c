// SPDX-License-Identifier: MIT
// Source and disassembly with counts. A function is printed by address, and a line of source stands
// above the instructions that were made of it. A file is printed by line.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "names/catalogue.h"
#include "report/plain_text.h"
#include "report/profile.h"
#include "report/profile_rows.h"
#include "report/source_text.h"

enum { MAX_COLUMNS = 32, NEAR_LINES = 2 };

typedef struct annotation {
    const tl_profile *profile;
    const tl_profile_annotate_options *options;
    tl_profile_columns columns;
    tl_source_texts sources;
    uint64_t *sums; // scratch: one for each event; all 0 between uses
    uint64_t *totals;
    double hot; // value of the first column from which on a place is hot
    int widths[MAX_COLUMNS];
    FILE *stream;
} annotation;

// ---- Text of source files.

static void put_source_line(annotation *a, uint32_t source, uint32_t line) {
    enum { MAX_SHOWN = 500 };
    uint32_t n;
    const char *text = tl_source_line(&a->sources, source, line, &n);
    if (text)
        fprintf(a->stream, "%.*s", (int)(n < MAX_SHOWN ? n : MAX_SHOWN), text);
}

// ---- Numbers.

static void add_insn(annotation *a, uint32_t i) {
    const tl_profile_insn *insn = &a->profile->insns[i];
    for (uint32_t k = insn->first_count; k < insn->first_count + insn->n_counts; k++)
        a->sums[a->profile->counts[k].event] += a->profile->counts[k].n;
}

static void clear(annotation *a) { memset(a->sums, 0, a->profile->n_events * sizeof *a->sums); }

static tl_value value_of(const annotation *a, uint32_t column) {
    return tl_formula_eval(a->columns.items[column].formula, a->sums, TL_ALL_HARTS);
}

static void measure(annotation *a) {
    char number[TL_NUMBER_BYTES];
    for (uint32_t c = 0; c < a->columns.n; c++) {
        const int width = (int)strlen(tl_profile_number(value_of(a, c), number));
        a->widths[c] = width > a->widths[c] ? width : a->widths[c];
    }
}

static void put_numbers(annotation *a, bool is_blank) {
    char number[TL_NUMBER_BYTES];
    const bool is_hot = !is_blank && a->hot > 0 && tl_profile_real(value_of(a, 0)) >= a->hot;
    fprintf(a->stream, "%s%c", is_hot && a->options->has_color ? TL_STYLE_HOT : "", is_hot ? '>' : ' ');
    for (uint32_t c = 0; c < a->columns.n; c++) {
        const tl_value value = value_of(a, c);
        const bool is_nothing = is_blank || (value.kind == TL_VALUE_INTEGER && value.integer == 0) || value.kind == TL_VALUE_MISSING;
        fprintf(a->stream, " %*s", a->widths[c], is_nothing ? "" : tl_profile_number(value, number));
    }
    fprintf(a->stream, "%s |", is_hot && a->options->has_color ? TL_STYLE_PLAIN : "");
}

static void put_causes(annotation *a) {
    char text[TL_PROFILE_CELL_BYTES];
    if (*tl_profile_causes(a->profile, a->sums, text))
        fprintf(a->stream, "  # %s", text);
}

static void put_heading(annotation *a, const char *what, const char *where) {
    char number[TL_NUMBER_BYTES];
    fprintf(a->stream, "# %s%s%s:", what, *where ? " of " : "", where);
    for (uint32_t c = 0; c < a->columns.n; c++) {
        const tl_value all = tl_formula_eval(a->columns.items[c].formula, a->totals, TL_ALL_HARTS), own = value_of(a, c);
        fprintf(a->stream, "%s %s %s", c > 0 ? "," : "", tl_profile_number(own, number), a->columns.items[c].name);
        if (c == 0 && tl_profile_real(all) > 0)
            fprintf(a->stream, " (%.2f %% of the run)", 100 * tl_profile_real(own) / tl_profile_real(all));
    }
    fputs("\n#\n ", a->stream);
    for (uint32_t c = 0; c < a->columns.n; c++)
        fprintf(a->stream, " %*s", a->widths[c], a->columns.items[c].name);
    fputs(" |\n", a->stream);
}

// ---- A function.

static void put_insn(annotation *a, uint32_t i) {
    const tl_profile_insn *insn = &a->profile->insns[i];
    char bytes[2 * TL_PROFILE_INSN_BYTES + 1] = "";
    clear(a);
    add_insn(a, i);
    put_numbers(a, false);
    for (uint32_t k = 0; k < insn->n_bytes; k++)
        snprintf(bytes + 2 * k, 3, "%02x", insn->bytes[insn->n_bytes - 1 - k]);
    fprintf(a->stream, "  %8" PRIx64 ": ", insn->address);
    fputs(*insn->disassembly ? insn->disassembly : bytes, a->stream);
    put_causes(a);
    fputc('\n', a->stream);
}

static void put_place(annotation *a, const tl_profile_insn *insn) {
    put_numbers(a, true);
    if (a->options->has_color)
        fputs(TL_STYLE_DIM, a->stream);
    fprintf(a->stream, "%s:%" PRIu32 "  ", tl_source_name(a->profile, insn->source), insn->line);
    put_source_line(a, insn->source, insn->line);
    if (insn->inlined != TL_PROFILE_NONE)
        fprintf(a->stream, "  # inlined: %s", a->profile->inlined[insn->inlined].name);
    fprintf(a->stream, "%s\n", a->options->has_color ? TL_STYLE_PLAIN : "");
}

// Addresses to which direct jumps of the function lead, in ascending order.
typedef struct jump_target {
    uint32_t object;
    uint64_t address;
} jump_target;

static int by_target(const void *x, const void *y) {
    const jump_target *a = x, *b = y;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void put_function_insns(annotation *a, const uint32_t *insns, uint32_t n_insns, const jump_target *targets, uint32_t n_targets) {
    uint32_t source = TL_PROFILE_NONE, line = 0, inlined = TL_PROFILE_NONE;
    for (uint32_t i = 0; i < n_insns; i++) {
        const tl_profile_insn *insn = &a->profile->insns[insns[i]];
        const jump_target own = {insn->object, insn->address};
        if (bsearch(&own, targets, n_targets, sizeof own, by_target)) {
            put_numbers(a, true);
            fprintf(a->stream, "%" PRIx64 ":\n", insn->address);
        }
        if (insn->source != TL_PROFILE_NONE && (insn->source != source || insn->line != line || insn->inlined != inlined))
            put_place(a, insn);
        source = insn->source;
        line = insn->line;
        inlined = insn->inlined;
        put_insn(a, insns[i]);
    }
}

// false: the host has no memory.
static bool annotate_function(annotation *a, uint32_t function) {
    const tl_profile *p = a->profile;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_insns; i++)
        n += p->insns[i].function == function;
    uint32_t *insns = malloc(((size_t)n + 1) * sizeof *insns);
    jump_target *targets = malloc(((size_t)n + 1) * sizeof *targets);
    if (!insns || !targets) {
        free(insns);
        free(targets);
        return false;
    }
    n = 0;
    for (uint32_t i = 0; i < p->n_insns; i++) {
        if (p->insns[i].function != function)
            continue;
        clear(a);
        add_insn(a, i);
        measure(a);
        insns[n] = i;
        targets[n++] = (jump_target){p->insns[i].object, p->insns[i].target};
    }
    qsort(targets, n, sizeof *targets, by_target);
    clear(a);
    for (uint32_t i = 0; i < n; i++)
        add_insn(a, insns[i]);
    a->hot = tl_profile_real(value_of(a, 0)) * a->options->hot_percent / 100;
    put_heading(a, p->functions[function].name, tl_profile_object_path(p, p->functions[function].object));
    put_function_insns(a, insns, n, targets, n);
    free(insns);
    free(targets);
    return true;
}

// ---- A file.

typedef struct line_insn {
    uint32_t line, insn;
} line_insn;

static int by_line(const void *x, const void *y) {
    const line_insn *a = x, *b = y;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->insn < b->insn ? -1 : a->insn > b->insn;
}

static void put_lines_between(annotation *a, uint32_t source, uint32_t first, uint32_t end) {
    for (uint32_t line = first; line < end; line++) {
        put_numbers(a, true);
        fprintf(a->stream, "%5" PRIu32 "  ", line);
        put_source_line(a, source, line);
        fputc('\n', a->stream);
    }
}

static bool annotate_file(annotation *a, uint32_t source) {
    const tl_profile *p = a->profile;
    line_insn *lines = malloc(((size_t)p->n_insns + 1) * sizeof *lines);
    uint32_t n = 0;
    if (!lines)
        return false;
    for (uint32_t i = 0; i < p->n_insns; i++)
        if (p->insns[i].source == source && p->insns[i].line > 0)
            lines[n++] = (line_insn){p->insns[i].line, i};
    qsort(lines, n, sizeof *lines, by_line);
    for (uint32_t i = 0; i < n;) {
        clear(a);
        for (const uint32_t line = lines[i].line; i < n && lines[i].line == line; i++)
            add_insn(a, lines[i].insn);
        measure(a);
    }
    clear(a);
    for (uint32_t i = 0; i < n; i++)
        add_insn(a, lines[i].insn);
    a->hot = tl_profile_real(value_of(a, 0)) * a->options->hot_percent / 100;
    put_heading(a, p->sources[source].path, "");
    const uint32_t n_text = tl_source_n_lines(&a->sources, source);
    uint32_t printed = 0; // lines up to this one
    for (uint32_t i = 0; i < n;) {
        const uint32_t line = lines[i].line;
        uint32_t from = line > NEAR_LINES ? line - NEAR_LINES : 1;
        from = n_text == 0 ? line : from;
        if (from > printed + 1 && printed > 0) {
            // Two lines of context follow the last line, and a gap.
            const uint32_t after = printed + NEAR_LINES < n_text ? printed + NEAR_LINES + 1 : printed + 1;
            put_lines_between(a, source, printed + 1, after < from ? after : from);
            printed = after < from ? after - 1 : from - 1;
            if (from > printed + 1)
                fputs("...\n", a->stream);
        }
        put_lines_between(a, source, from > printed ? from : printed + 1, line);
        clear(a);
        for (; i < n && lines[i].line == line; i++)
            add_insn(a, lines[i].insn);
        put_numbers(a, false);
        fprintf(a->stream, "%5" PRIu32 "  ", line);
        put_source_line(a, source, line);
        put_causes(a);
        fputc('\n', a->stream);
        printed = line;
    }
    free(lines);
    return true;
}

// ---- The place.

static bool ends_with(const char *path, const char *end) {
    const size_t n = strlen(path), n_end = strlen(end);
    return n >= n_end && strcmp(path + n - n_end, end) == 0 && (n == n_end || end[0] == '/' || path[n - n_end - 1] == '/');
}

static tl_status annotate_place(annotation *a, tl_error *err) {
    const tl_profile *p = a->profile;
    const char *place = a->options->place;
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < p->n_functions; i++) {
        if (!tl_profile_function_is(p, i, place))
            continue;
        if (n_found++ > 0)
            fputc('\n', a->stream);
        memset(a->widths, 0, sizeof a->widths);
        for (uint32_t c = 0; c < a->columns.n; c++)
            a->widths[c] = (int)strlen(a->columns.items[c].name);
        if (!annotate_function(a, i))
            return tl_no_memory(err);
    }
    for (uint32_t i = 0; i < p->n_sources && n_found == 0; i++)
        if (ends_with(p->sources[i].path, place)) {
            n_found++;
            if (!annotate_file(a, i))
                return tl_no_memory(err);
        }
    if (n_found > 0)
        return TL_OK;
    tl_nearest nearest;
    char text[256];
    tl_nearest_init(&nearest, place);
    for (uint32_t i = 0; i < p->n_functions; i++)
        tl_nearest_offer(&nearest, p->functions[i].name);
    for (uint32_t i = 0; i < p->n_sources; i++) {
        tl_nearest_offer(&nearest, tl_source_name(p, i));
    }
    return tl_fail(err, TL_ENOENT, "%.100s: no function and no source file of the profile has this name%s", place,
                   tl_nearest_text(&nearest, text, sizeof text));
}

static tl_status annotate(annotation *a, FILE *stream, tl_error *err) {
    tl_plain_text plain;
    tl_status status = tl_plain_text_begin(&plain, stream, err);
    if (status != TL_OK)
        return status;
    a->stream = plain.stream;
    status = annotate_place(a, err);
    return tl_plain_text_end(&plain, a->options->has_color, status, err);
}

tl_status tl_report_profile_annotate(const tl_profile *profile, const tl_profile_annotate_options *options, FILE *stream, tl_error *err) {
    annotation a = {.profile = profile, .options = options};
    tl_status status = tl_profile_columns_init(profile, options->events, &a.columns, err);
    if (status == TL_OK && a.columns.n > MAX_COLUMNS)
        status = tl_fail(err, TL_EINVAL, "%" PRIu32 " events: annotated source has at most %d columns", a.columns.n, MAX_COLUMNS);
    if (status == TL_OK)
        status = tl_source_texts_init(profile, options->source_root, options->without_sources, &a.sources, err);
    a.sums = calloc((size_t)profile->n_events + 1, sizeof *a.sums);
    a.totals = calloc((size_t)profile->n_events + 1, sizeof *a.totals);
    if (status == TL_OK && (!a.sums || !a.totals))
        status = tl_no_memory(err);
    if (status == TL_OK) {
        for (uint32_t i = 0; i < profile->n_events; i++)
            a.totals[i] = profile->events[i].total;
        for (uint32_t c = 0; c < a.columns.n; c++)
            a.widths[c] = (int)strlen(a.columns.items[c].name);
        status = annotate(&a, stream, err);
    }
    tl_source_texts_done(&a.sources);
    free(a.sums);
    free(a.totals);
    tl_profile_columns_done(&a.columns);
    return status;
}
