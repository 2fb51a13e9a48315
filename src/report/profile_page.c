// SPDX-License-Identifier: MIT
// A profile as one HTML page: what tools/bundle-page made of page/, with the profile as JSON in it.
// The JSON stands in a script element, so no byte of it may be "<": a name such as "</script>"
// would end the element. Large profiles are shortened, because a browser draws some 10,000 frames:
// small contexts are drawn together, and code is that of the hottest functions. Sums stay exact.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/json.h"
#include "profile/contexts.h"
#include "report/profile.h"
#include "report/profile_rows.h"
#include "report/source_text.h"

enum {
    MAX_FRAMES = 20000,
    MAX_DEPTH = 1000, // d3-flame-graph searches by recursion
    MAX_INSNS = 40000,
    MAX_LINE_BYTES = 500,
    SMALLEST_SHARE = 20000, // one part in so many, a tenth of a dot on a wide screen
};
static const uint32_t SMALLER_CALLS = UINT32_MAX; // function of a frame that stands for several

typedef struct frame {
    uint32_t context; // of a frame that stands for several, their caller
    uint32_t parent;  // a frame, or TL_PROFILE_NONE
    uint32_t function;
} frame;

typedef struct page {
    const tl_profile *profile;
    tl_json json;
    tl_profile_rows rows;
    uint32_t n_columns;
    uint32_t *measures; // numbers of the columns that were counted by call
    uint32_t n_measures;
    tl_profile_rows all;             // counts with those of callees, of the measures
    bool *has_code;                  // by function
    uint32_t *first_insn, *end_insn; // by function: others may lie between
    bool *has_source;                // by source
    tl_source_texts sources;
    uint64_t *sums;      // by event
    uint64_t *inclusive; // [context][n_measures]
    uint64_t *own;       // the same without callees
    frame *frames;
    uint64_t *frame_counts; // [frame][n_measures]
    uint32_t n_frames, frame_room;
    bool is_shortened;
} page;

static tl_status no_page_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for the page"); }

static const tl_formula *formula_of(const page *pg, uint32_t column) { return pg->rows.columns.items[column].formula; }

static void put_number(tl_json *json, const char *key, tl_value value) {
    if (value.kind == TL_VALUE_MISSING)
        tl_json_null(json, key);
    else if (value.kind == TL_VALUE_INTEGER)
        tl_json_u64(json, key, value.integer);
    else
        tl_json_double(json, key, value.real);
}

// ---- Columns.

static bool adds_up(const page *pg, uint32_t column) {
    const tl_cell *terms;
    return tl_formula_cells(formula_of(pg, column), &terms) > 0;
}

static bool is_by_call(const page *pg, uint32_t column) {
    const tl_cell *terms;
    const uint32_t n = tl_formula_cells(formula_of(pg, column), &terms);
    bool is_counted = n > 0 && pg->profile->n_contexts > 0;
    for (uint32_t t = 0; t < n && is_counted; t++)
        is_counted = tl_profile_context_total(pg->profile, terms[t]) == pg->profile->events[terms[t]].total;
    return is_counted;
}

static void put_columns(page *pg) {
    tl_json *json = &pg->json;
    tl_json_begin_array(json, "columns");
    for (uint32_t c = 0, measure = 0; c < pg->n_columns; c++) {
        const tl_profile_column *column = &pg->rows.columns.items[c];
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "name", column->name);
        tl_json_string(json, "unit", column->unit);
        tl_json_string(json, "meaning", column->meaning);
        put_number(json, "total", tl_profile_rows_total(&pg->rows, c));
        tl_json_bool(json, "adds", adds_up(pg, c));
        if (measure < pg->n_measures && pg->measures[measure] == c)
            tl_json_u64(json, "measure", measure++);
        else
            tl_json_null(json, "measure");
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
}

// ---- Contexts become frames.

static void weigh(const page *pg, uint32_t context, uint64_t *ret_counts) {
    const tl_profile *p = pg->profile;
    const tl_profile_context *c = &p->contexts[context];
    for (uint32_t k = c->first_count; k < c->first_count + c->n_counts; k++)
        pg->rows.values[p->context_counts[k].event] = p->context_counts[k].n;
    for (uint32_t m = 0; m < pg->n_measures; m++)
        ret_counts[m] = tl_formula_eval(formula_of(pg, pg->measures[m]), pg->rows.values, TL_ALL_HARTS).integer;
    for (uint32_t k = c->first_count; k < c->first_count + c->n_counts; k++)
        pg->rows.values[p->context_counts[k].event] = 0;
}

static bool is_large(const page *pg, uint32_t context, uint64_t part) {
    for (uint32_t m = 0; m < pg->n_measures; m++) {
        const uint64_t count = pg->inclusive[(size_t)context * pg->n_measures + m];
        const uint64_t total = tl_profile_rows_total(&pg->rows, pg->measures[m]).integer;
        if (count > 0 && count >= total / part)
            return true;
    }
    return false;
}

static uint32_t n_large(const page *pg, uint64_t part) {
    uint32_t n = 0;
    for (uint32_t c = 0; c < pg->profile->n_contexts && n <= MAX_FRAMES; c++)
        n += is_large(pg, c, part);
    return n;
}

static frame *add_frame(page *pg, frame added, const uint64_t *counts) {
    if (pg->n_frames == pg->frame_room) {
        const uint32_t room = pg->frame_room == 0 ? 1024 : 2 * pg->frame_room;
        frame *frames = realloc(pg->frames, room * sizeof *frames);
        if (frames)
            pg->frames = frames;
        uint64_t *all = realloc(pg->frame_counts, ((size_t)room * pg->n_measures + 1) * sizeof *all);
        if (all)
            pg->frame_counts = all;
        if (!frames || !all)
            return NULL;
        pg->frame_room = room;
    }
    memcpy(&pg->frame_counts[(size_t)pg->n_frames * pg->n_measures], counts, pg->n_measures * sizeof *counts);
    pg->frames[pg->n_frames] = added;
    return &pg->frames[pg->n_frames++];
}

// Contexts that are large are frames; the others are summed up below the frame of their caller.
static bool make_frames(page *pg) {
    const tl_profile *p = pg->profile;
    uint64_t part = SMALLEST_SHARE;
    while (part > 1 && n_large(pg, part) > MAX_FRAMES)
        part /= 2;
    uint32_t *frame_of = malloc(((size_t)p->n_contexts + 1) * sizeof *frame_of);
    uint32_t *rests = malloc(((size_t)p->n_contexts + 1) * sizeof *rests); // by frame
    uint32_t *depths = malloc(((size_t)p->n_contexts + 1) * sizeof *depths);
    bool is_good = frame_of && rests && depths;
    for (uint32_t c = 0; c < p->n_contexts && is_good; c++) {
        const uint32_t parent = p->contexts[c].parent;
        const uint64_t *own = &pg->own[(size_t)c * pg->n_measures], *all = &pg->inclusive[(size_t)c * pg->n_measures];
        depths[c] = parent == TL_PROFILE_NONE ? 0 : depths[parent] + 1;
        frame_of[c] = TL_PROFILE_NONE;
        if (parent != TL_PROFILE_NONE && frame_of[parent] == TL_PROFILE_NONE)
            continue; // summed up with its caller
        const uint32_t above = parent == TL_PROFILE_NONE ? TL_PROFILE_NONE : frame_of[parent];
        if (parent == TL_PROFILE_NONE || (depths[c] < MAX_DEPTH && is_large(pg, c, part))) {
            frame_of[c] = pg->n_frames;
            rests[pg->n_frames] = TL_PROFILE_NONE;
            is_good = add_frame(pg, (frame){c, above, p->contexts[c].function}, own) != NULL;
        } else if (rests[above] != TL_PROFILE_NONE) {
            for (uint32_t m = 0; m < pg->n_measures; m++)
                pg->frame_counts[(size_t)rests[above] * pg->n_measures + m] += all[m];
        } else {
            pg->is_shortened = true;
            rests[above] = pg->n_frames;
            is_good = add_frame(pg, (frame){c, above, SMALLER_CALLS}, all) != NULL;
        }
    }
    free(frame_of);
    free(rests);
    free(depths);
    return is_good;
}

static bool sum_up_contexts(page *pg) {
    const tl_profile *p = pg->profile;
    const size_t n = (size_t)p->n_contexts * pg->n_measures + 1;
    pg->own = malloc(n * sizeof *pg->own);
    pg->inclusive = malloc(n * sizeof *pg->inclusive);
    if (!pg->own || !pg->inclusive)
        return false;
    for (uint32_t c = 0; c < p->n_contexts; c++)
        weigh(pg, c, &pg->own[(size_t)c * pg->n_measures]);
    memcpy(pg->inclusive, pg->own, (n - 1) * sizeof *pg->own);
    for (uint32_t c = p->n_contexts; c-- > 0;) {
        const uint32_t parent = p->contexts[c].parent; // has a smaller number
        for (uint32_t m = 0; m < pg->n_measures && parent != TL_PROFILE_NONE; m++)
            pg->inclusive[(size_t)parent * pg->n_measures + m] += pg->inclusive[(size_t)c * pg->n_measures + m];
    }
    return true;
}

static void put_tree(page *pg) {
    const tl_profile *p = pg->profile;
    tl_json *json = &pg->json;
    if (pg->n_measures == 0) {
        tl_json_null(json, "tree");
        return;
    }
    tl_json_begin_object(json, "tree");
    tl_json_begin_array(json, "parent");
    for (uint32_t i = 0; i < pg->n_frames; i++)
        tl_json_i64(json, NULL, pg->frames[i].parent == TL_PROFILE_NONE ? -1 : (int64_t)pg->frames[i].parent);
    tl_json_end_array(json);
    tl_json_begin_array(json, "function");
    for (uint32_t i = 0; i < pg->n_frames; i++)
        tl_json_i64(json, NULL, pg->frames[i].function == SMALLER_CALLS ? -1 : (int64_t)pg->frames[i].function);
    tl_json_end_array(json);
    tl_json_begin_array(json, "thread");
    for (uint32_t i = 0; i < pg->n_frames; i++)
        tl_json_u64(json, NULL, p->contexts[pg->frames[i].context].thread);
    tl_json_end_array(json);
    tl_json_begin_array(json, "calls");
    for (uint32_t i = 0; i < pg->n_frames; i++)
        if (pg->frames[i].function == SMALLER_CALLS)
            tl_json_null(json, NULL);
        else
            tl_json_u64(json, NULL, p->contexts[pg->frames[i].context].n_calls);
    tl_json_end_array(json);
    tl_json_begin_array(json, "counts");
    for (uint32_t m = 0; m < pg->n_measures; m++) {
        tl_json_begin_array(json, NULL);
        for (uint32_t i = 0; i < pg->n_frames; i++)
            tl_json_u64(json, NULL, pg->frame_counts[(size_t)i * pg->n_measures + m]);
        tl_json_end_array(json);
    }
    tl_json_end_array(json);
    tl_json_end_object(json);
}

// ---- Functions and their code.

// The largest rows, by the first column, until their instructions are too many.
static bool choose_code(page *pg) {
    const tl_profile *p = pg->profile;
    uint32_t *n_insns = calloc((size_t)p->n_functions + 1, sizeof *n_insns);
    if (!n_insns)
        return false;
    for (uint32_t i = 0; i < p->n_insns; i++)
        if (p->insns[i].function != TL_PROFILE_NONE)
            n_insns[p->insns[i].function]++;
    uint32_t n = 0;
    for (uint32_t r = 0; r < pg->rows.n && n < MAX_INSNS; r++) {
        const uint64_t function = pg->rows.rows[r].ids[0];
        if (function < p->n_functions && n + n_insns[function] <= MAX_INSNS) {
            pg->has_code[function] = true;
            n += n_insns[function];
        }
    }
    free(n_insns);
    return true;
}

static void put_insn(page *pg, const tl_profile_insn *insn) {
    const tl_profile *p = pg->profile;
    tl_json *json = &pg->json;
    char text[TL_PROFILE_CELL_BYTES], bytes[2 * TL_PROFILE_INSN_BYTES + 1] = "";
    memset(pg->sums, 0, p->n_events * sizeof *pg->sums);
    for (uint32_t k = insn->first_count; k < insn->first_count + insn->n_counts; k++)
        pg->sums[p->counts[k].event] += p->counts[k].n;
    for (uint32_t k = 0; k < insn->n_bytes; k++)
        snprintf(bytes + 2 * k, 3, "%02x", insn->bytes[insn->n_bytes - 1 - k]);
    tl_json_begin_array(json, NULL); // in the order of put_instruction_order
    snprintf(text, sizeof text, "%" PRIx64, insn->address);
    tl_json_string(json, NULL, text);
    tl_json_string(json, NULL, *insn->disassembly ? insn->disassembly : bytes);
    snprintf(text, sizeof text, "%" PRIx64, insn->target);
    tl_json_string(json, NULL, insn->target == UINT64_MAX ? NULL : text);
    const bool has_line = insn->source != TL_PROFILE_NONE && insn->line > 0;
    if (has_line) {
        pg->has_source[insn->source] = true;
        tl_json_u64(json, NULL, insn->source);
    } else {
        tl_json_null(json, NULL);
    }
    tl_json_u64(json, NULL, insn->line);
    tl_json_string(json, NULL, insn->inlined == TL_PROFILE_NONE ? NULL : p->inlined[insn->inlined].name);
    tl_profile_causes(p, pg->sums, text);
    tl_json_string(json, NULL, *text ? text : NULL);
    for (uint32_t c = 0; c < pg->n_columns; c++)
        put_number(json, NULL, tl_formula_eval(formula_of(pg, c), pg->sums, TL_ALL_HARTS));
    tl_json_end_array(json);
}

static void put_instruction_order(tl_json *json) {
    static const char *const members[] = {"address", "text", "target", "source", "line", "inlined", "causes", "values"};
    tl_json_begin_object(json, "instruction");
    for (uint32_t i = 0; i < sizeof members / sizeof *members; i++)
        tl_json_u64(json, members[i], i);
    tl_json_end_object(json);
}

static void put_row(page *pg, const tl_profile_row *row) {
    tl_json_begin_array(&pg->json, "values");
    for (uint32_t c = 0; c < pg->n_columns; c++)
        put_number(&pg->json, NULL, tl_profile_rows_value(&pg->rows, row, c));
    tl_json_end_array(&pg->json);
}

static void put_function(page *pg, uint32_t function, const tl_profile_row *row, const tl_profile_row *all) {
    const tl_profile *p = pg->profile;
    tl_json *json = &pg->json;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "name", p->functions[function].name);
    tl_json_u64(json, "object", p->functions[function].object);
    if (row)
        put_row(pg, row);
    if (all) {
        tl_json_begin_array(json, "all");
        for (uint32_t c = 0; c < pg->all.columns.n; c++)
            put_number(json, NULL, tl_profile_rows_value(&pg->all, all, c));
        tl_json_end_array(json);
    }
    if (pg->has_code[function]) {
        tl_json_begin_array(json, "code");
        for (uint32_t i = pg->first_insn[function]; i < p->n_insns && i < pg->end_insn[function]; i++)
            if (p->insns[i].function == function)
                put_insn(pg, &p->insns[i]);
        tl_json_end_array(json);
    }
    tl_json_end_object(json);
}

// Functions of the profile by number, and behind them one for each object's code without a symbol.
static bool put_functions(page *pg) {
    const tl_profile *p = pg->profile;
    const tl_profile_row **rows = calloc(2 * ((size_t)p->n_functions + 1), sizeof *rows), **alls = rows + p->n_functions + 1;
    if (!rows || !choose_code(pg)) {
        free(rows);
        return false;
    }
    for (uint32_t r = 0; r < pg->rows.n; r++)
        if (pg->rows.rows[r].ids[0] < p->n_functions)
            rows[pg->rows.rows[r].ids[0]] = &pg->rows.rows[r];
    for (uint32_t r = 0; r < pg->all.n; r++)
        alls[pg->all.rows[r].ids[0]] = &pg->all.rows[r];
    tl_json_begin_array(&pg->json, "functions");
    for (uint32_t f = 0; f < p->n_functions; f++)
        put_function(pg, f, rows[f], alls[f]);
    for (uint32_t r = 0; r < pg->rows.n; r++) {
        const tl_profile_row *row = &pg->rows.rows[r];
        if (row->ids[0] < p->n_functions)
            continue;
        tl_json_begin_object(&pg->json, NULL);
        tl_json_string(&pg->json, "name", "[no symbol]");
        tl_json_u64(&pg->json, "object", p->insns[row->first_insn].object);
        put_row(pg, row);
        tl_json_end_object(&pg->json);
    }
    tl_json_end_array(&pg->json);
    free(rows);
    return true;
}

// ---- Sources: the lines that the code of the page was made of.

static bool put_sources(page *pg) {
    const tl_profile *p = pg->profile;
    bool **is_used = calloc((size_t)p->n_sources + 1, sizeof *is_used); // by source and line
    bool is_good = is_used != NULL;
    for (uint32_t s = 0; s < p->n_sources && is_good; s++)
        if (pg->has_source[s])
            is_good = (is_used[s] = calloc((size_t)tl_source_n_lines(&pg->sources, s) + 1, sizeof **is_used)) != NULL;
    for (uint32_t i = 0; i < p->n_insns && is_good; i++) {
        const tl_profile_insn *insn = &p->insns[i];
        if (insn->source != TL_PROFILE_NONE && is_used[insn->source] && insn->function != TL_PROFILE_NONE && pg->has_code[insn->function] &&
            insn->line <= tl_source_n_lines(&pg->sources, insn->source))
            is_used[insn->source][insn->line] = true;
    }
    tl_json_begin_array(&pg->json, "sources");
    for (uint32_t s = 0; s < p->n_sources && is_good; s++) {
        tl_json_begin_object(&pg->json, NULL);
        tl_json_string(&pg->json, "name", tl_source_name(p, s));
        tl_json_begin_object(&pg->json, "lines");
        for (uint32_t line = 1; is_used[s] && line <= tl_source_n_lines(&pg->sources, s); line++) {
            char number[16];
            uint32_t n = 0;
            const char *text = is_used[s][line] ? tl_source_line(&pg->sources, s, line, &n) : NULL;
            snprintf(number, sizeof number, "%" PRIu32, line);
            if (text)
                tl_json_string_n(&pg->json, number, text, n < MAX_LINE_BYTES ? n : MAX_LINE_BYTES);
        }
        tl_json_end_object(&pg->json);
        tl_json_end_object(&pg->json);
    }
    tl_json_end_array(&pg->json);
    for (uint32_t s = 0; is_used && s < p->n_sources; s++)
        free(is_used[s]);
    free(is_used);
    return is_good;
}

// ---- The page.

static tl_status init(page *pg, const tl_profile_page_options *options, tl_error *err) {
    const tl_profile *p = pg->profile;
    tl_status status =
        tl_profile_rows_init(p, "symbol", options->events, NULL, &(tl_profile_calls){.kind = TL_PROFILE_SELF}, &pg->rows, err);
    if (status != TL_OK)
        return status;
    pg->n_columns = pg->rows.columns.n;
    pg->measures = calloc((size_t)pg->n_columns + 1, sizeof *pg->measures);
    pg->has_code = calloc((size_t)p->n_functions + 1, sizeof *pg->has_code);
    pg->first_insn = calloc((size_t)p->n_functions + 1, sizeof *pg->first_insn);
    pg->end_insn = calloc((size_t)p->n_functions + 1, sizeof *pg->end_insn);
    pg->has_source = calloc((size_t)p->n_sources + 1, sizeof *pg->has_source);
    pg->sums = calloc((size_t)p->n_events + 1, sizeof *pg->sums);
    if (!pg->measures || !pg->has_code || !pg->first_insn || !pg->end_insn || !pg->has_source || !pg->sums)
        return no_page_memory(err);
    for (uint32_t i = 0; i < p->n_insns; i++) {
        const uint32_t function = p->insns[i].function;
        if (function == TL_PROFILE_NONE)
            continue;
        if (pg->end_insn[function] == 0)
            pg->first_insn[function] = i;
        pg->end_insn[function] = i + 1;
    }
    for (uint32_t c = 0; c < pg->n_columns; c++)
        if (is_by_call(pg, c))
            pg->measures[pg->n_measures++] = c;
    return tl_source_texts_init(p, options->source_root, options->without_sources, &pg->sources, err);
}

// Counts with callees, of the columns that have them.
static tl_status sum_up_calls(page *pg, tl_error *err) {
    tl_strbuf names = {0};
    for (uint32_t m = 0; m < pg->n_measures; m++)
        tl_strbuf_addf(&names, "%s%s", m > 0 ? "," : "", pg->rows.columns.items[pg->measures[m]].name);
    tl_status status = tl_profile_rows_init(pg->profile, "symbol", tl_strbuf_text(&names), NULL,
                                            &(tl_profile_calls){.kind = TL_PROFILE_CHILDREN}, &pg->all, err);
    if (status == TL_OK && !(sum_up_contexts(pg) && make_frames(pg)))
        status = no_page_memory(err);
    tl_strbuf_done(&names);
    return status;
}

static bool put_profile(page *pg) {
    const tl_profile *p = pg->profile;
    tl_json *json = &pg->json;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "schema", "tally.profile-page/1");
    tl_json_string(json, "program", tl_profile_setting_of(p, "program"));
    tl_json_string(json, "machine", tl_profile_setting_of(p, "machine"));
    tl_json_string(json, "argv", tl_profile_setting_of(p, "argv"));
    tl_json_bool(json, "is_shortened", pg->is_shortened);
    put_columns(pg);
    tl_json_begin_array(json, "objects");
    for (uint32_t i = 0; i < p->n_objects; i++) {
        const char *path = p->objects[i].path, *slash = strrchr(path, '/');
        tl_json_string(json, NULL, slash && slash[1] ? slash + 1 : path);
    }
    tl_json_end_array(json);
    tl_json_begin_array(json, "threads");
    for (uint32_t i = 0; i < p->n_threads; i++) {
        char text[TL_PROFILE_CELL_BYTES];
        snprintf(text, sizeof text, "%s %" PRId32, p->threads[i].name, p->threads[i].tid);
        tl_json_string(json, NULL, text);
    }
    tl_json_end_array(json);
    put_tree(pg);
    put_instruction_order(json);
    const bool is_good = put_functions(pg) && put_sources(pg);
    tl_json_end_object(json);
    return is_good;
}

// Inside of a JSON text "<" is a character of a string, and so is its escape.
static void put_escaped(const char *text, size_t n, FILE *stream) {
    for (const char *end = text + n, *next; text < end; text = next) {
        const char *found = memchr(text, '<', (size_t)(end - text));
        fwrite(text, 1, (size_t)((found ? found : end) - text), stream);
        if (found)
            fputs("\\u003c", stream);
        next = found ? found + 1 : end;
    }
}

static tl_status write_page(page *pg, FILE *stream, tl_error *err) {
    static const char mark[] = "{profile}";
    const tl_embedded_file *file = &tl_page_files[0];
    const char *at = strstr(file->text, mark);
    char *json = NULL;
    size_t n_bytes = 0;
    FILE *memory = open_memstream(&json, &n_bytes);
    if (!memory)
        return no_page_memory(err);
    tl_json_init_file(&pg->json, memory, TL_JSON_LINES);
    const bool is_good = put_profile(pg);
    tl_status status = tl_json_flush(&pg->json, NULL) == TL_OK && is_good ? TL_OK : no_page_memory(err);
    if (fclose(memory) != 0 && status == TL_OK)
        status = no_page_memory(err);
    if (status == TL_OK) {
        fwrite(file->text, 1, (size_t)(at - file->text), stream);
        put_escaped(json, n_bytes, stream);
        fputs(at + strlen(mark), stream);
        if (fflush(stream) != 0 || ferror(stream))
            status = tl_fail(err, TL_EIO, "the output: %s", strerror(errno));
    }
    free(json);
    return status;
}

tl_status tl_report_profile_page(const tl_profile *profile, const tl_profile_page_options *options, FILE *stream, tl_error *err) {
    page pg = {.profile = profile};
    tl_status status = init(&pg, options, err);
    if (status == TL_OK && pg.n_measures > 0)
        status = sum_up_calls(&pg, err);
    if (status == TL_OK)
        status = write_page(&pg, stream, err);
    tl_source_texts_done(&pg.sources);
    tl_profile_rows_done(&pg.rows);
    tl_profile_rows_done(&pg.all);
    free(pg.measures);
    free(pg.has_code);
    free(pg.first_insn);
    free(pg.end_insn);
    free(pg.has_source);
    free(pg.sums);
    free(pg.inclusive);
    free(pg.own);
    free(pg.frames);
    free(pg.frame_counts);
    return status;
}
