// SPDX-License-Identifier: MIT
// Names of a recording; see recording_names.h. Symbols say which function holds an address; debug
// information adds lines and inlined calls, and functions where symbols are missing.
#include "session/recording_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/demangle.h"
#include "loader/jitdump.h"
#include "loader/lines.h"
#include "loader/symbol_map.h"
#include "model/hart_signals.h"
#include "profile/columns.h"
#include "session/digest.h"

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for names of a profile"); }

// ---- Events.

static bool is_clock(const tl_outline *outline, tl_cell cell) {
    return cell < outline->header.n_harts * TL_S_N_CELLS && tl_hart_signal_kind(cell % TL_S_N_CELLS) == TL_SIGNAL_CLOCK;
}

// Rows have no cells of clocks. Cycles and instructions follow from their other counts.
static bool is_booked(const tl_outline *outline, tl_cell cell) {
    const uint32_t of_hart = cell % TL_S_N_CELLS;
    return !is_clock(outline, cell) || of_hart == TL_S_HART_CYCLE || of_hart == TL_S_HART_INSTRET;
}

static bool add_event(tl_profile *p, const tl_profile_event *like) {
    tl_profile_event *event = TL_PROFILE_ADD(p, events);
    if (!event)
        return false;
    *event = (tl_profile_event){.name = tl_arena_strdup(&p->arena, like->name),
                                .unit = tl_arena_strdup(&p->arena, like->unit),
                                .meaning = tl_arena_strdup(&p->arena, like->meaning),
                                .formula = like->formula ? tl_arena_strdup(&p->arena, like->formula) : NULL,
                                .kind = like->kind,
                                .total = like->total};
    return event->name && event->unit && event->meaning && (event->formula != NULL) == (like->formula != NULL);
}

static tl_status add_signals(tl_profile *p, const tl_outline *outline, uint32_t *event_of_cell, tl_error *err) {
    const uint32_t n_cells = tl_catalogue_n_cells(outline->catalogue);
    for (tl_cell cell = 0; cell < n_cells; cell++) {
        const tl_catalogue_signal signal = tl_catalogue_signal_at(outline->catalogue, cell);
        event_of_cell[cell] = TL_PROFILE_NONE;
        if (!is_booked(outline, cell))
            continue;
        event_of_cell[cell] = tl_profile_find_event(p, signal.event);
        if (event_of_cell[cell] != TL_PROFILE_NONE)
            continue;
        event_of_cell[cell] = p->n_events;
        if (!add_event(p, &(tl_profile_event){
                              .name = signal.event, .unit = tl_measure_unit(signal.signal->measure), .meaning = signal.signal->meaning}))
            return no_memory(err);
    }
    return TL_OK;
}

static tl_status add_constants(tl_profile *p, const tl_outline *outline, tl_error *err) {
    for (uint32_t i = 0; i < tl_catalogue_n_constants(outline->catalogue); i++) {
        const tl_catalogue_constant constant = tl_catalogue_constant_at(outline->catalogue, i);
        char name[128];
        snprintf(name, sizeof name, "machine.%s", constant.name);
        if (!add_event(p,
                       &(tl_profile_event){.name = name, .unit = "", .meaning = "", .kind = TL_PROFILE_CONSTANT, .total = constant.value}))
            return no_memory(err);
    }
    const tl_profile_event harts = {
        .name = "harts", .unit = "", .meaning = "Number of harts.", .kind = TL_PROFILE_CONSTANT, .total = outline->header.n_harts};
    return add_event(p, &harts) ? TL_OK : no_memory(err);
}

// Formulas over names that the profile lacks are left out. A formula may use one that follows it,
// so this goes on until nothing is added.
static tl_status add_formulas(tl_profile *p, tl_profile_kind kind, const tl_named_formula *rows, uint32_t n, uint32_t *ret_n_added,
                              tl_error *err) {
    for (uint32_t i = 0; i < n; i++) {
        tl_arena arena = {0};
        const tl_formula *formula;
        const bool is_new = tl_profile_find_event(p, rows[i].name) == TL_PROFILE_NONE &&
                            tl_profile_formula(p, rows[i].formula, &arena, &formula, NULL) == TL_OK;
        tl_arena_done(&arena);
        if (!is_new)
            continue;
        if (!add_event(
                p, &(tl_profile_event){
                       .name = rows[i].name, .unit = rows[i].unit, .meaning = rows[i].meaning, .formula = rows[i].formula, .kind = kind}))
            return no_memory(err);
        ++*ret_n_added;
    }
    return TL_OK;
}

static tl_status add_all_formulas(tl_profile *p, const tl_outline *outline, tl_error *err) {
    tl_status status = TL_OK;
    uint32_t n_added = 1;
    while (status == TL_OK && n_added > 0) {
        n_added = 0;
        for (uint32_t i = 0; i < tl_catalogue_n_aliases(outline->catalogue) && status == TL_OK; i++)
            status = add_formulas(p, TL_PROFILE_ALIAS, tl_catalogue_alias_at(outline->catalogue, i), 1, &n_added, err);
        for (uint32_t i = 0; i < tl_catalogue_n_groups(outline->catalogue) && status == TL_OK; i++) {
            const tl_metric_group *group = tl_catalogue_group_at(outline->catalogue, i);
            status = add_formulas(p, TL_PROFILE_METRIC, group->metrics, group->n_metrics, &n_added, err);
        }
    }
    return status;
}

static tl_status show_events(tl_profile *p, const tl_outline *outline, bool is_asked, tl_error *err) {
    static const char *const usual[] = {"cycles", "instructions", "l1d.load_miss", "l1i.miss", "branch-misses"};
    for (uint32_t i = 0; i < (is_asked ? outline->n_events : sizeof usual / sizeof usual[0]); i++) {
        const char *name = is_asked ? outline->events[i].quantity.name : usual[i];
        const uint32_t number = tl_profile_find_event(p, name);
        if (number != TL_PROFILE_NONE)
            p->events[number].place = i + 1;
        else if (is_asked)
            return tl_fail(err, TL_EINVAL,
                           "%s: a profile has no counts of this event by instruction; name an event that is summed over all units and "
                           "privilege levels, such as l1d.load_miss",
                           name);
    }
    return TL_OK;
}

tl_status tl_recorded_events(tl_profile *p, const tl_outline *outline, bool is_asked, uint32_t **ret_event_of_cell,
                             bool **ret_is_cycle_cause, tl_error *err) {
    uint32_t *event_of_cell = malloc(((size_t)tl_catalogue_n_cells(outline->catalogue) + 1) * sizeof *event_of_cell);
    bool *is_cycle_cause = NULL;
    tl_status status = event_of_cell ? add_signals(p, outline, event_of_cell, err) : no_memory(err);
    const uint32_t n_signals = p->n_events;
    if (status == TL_OK)
        status = add_constants(p, outline, err);
    if (status == TL_OK)
        status = add_all_formulas(p, outline, err);
    if (status == TL_OK)
        status = show_events(p, outline, is_asked, err);
    if (status == TL_OK && !(is_cycle_cause = calloc((size_t)p->n_events + 1, sizeof *is_cycle_cause)))
        status = no_memory(err);
    for (uint32_t i = 0; status == TL_OK && i < n_signals; i++)
        is_cycle_cause[i] = strncmp(p->events[i].name, "hart.cyc_", 9) == 0;
    if (status != TL_OK) {
        free(event_of_cell);
        return status;
    }
    *ret_event_of_cell = event_of_cell;
    *ret_is_cycle_cause = is_cycle_cause;
    return TL_OK;
}

// ---- Files.

static int64_t read_bytes(void *ctx, void *to, size_t n, uint64_t offset) {
    const tl_code_object *object = ctx;
    if (offset >= object->n_bytes)
        return 0;
    const size_t part = n < object->n_bytes - offset ? n : (size_t)(object->n_bytes - offset);
    memcpy(to, object->bytes + offset, part);
    return (int64_t)part;
}

static tl_elf_source source_of(const tl_code_object *object) {
    return (tl_elf_source){.name = object->path,
                           .size_bytes = object->n_bytes,
                           .read = read_bytes,
                           .ctx = (void *)(uintptr_t)object,
                           .is_physical = object->is_fixed,
                           .is_library = true};
}

void tl_recorded_image_init(tl_recorded_image *image, const tl_code_object *object) {
    const tl_elf_source source = source_of(object);
    image->is_elf = object->bytes && !object->is_fixed && tl_elf_read(&source, &image->elf, NULL) == TL_OK;
}

uint64_t tl_recorded_address(const tl_recorded_image *image, uint64_t offset) {
    for (uint32_t i = 0; image->is_elf && i < image->elf.n_segments; i++) {
        const tl_elf_segment *segment = &image->elf.segments[i];
        const uint64_t page = 4095, from = segment->offset & ~page, to = (segment->offset + segment->file_bytes + page) & ~page;
        if ((segment->prot & 4) && offset >= from && offset < to)
            return segment->vaddr - segment->offset + offset;
    }
    return offset;
}

// ---- Functions and lines.

typedef struct naming {
    tl_profile *p;
    const tl_run_options *options;
    uint32_t object, first, n; // instructions of it
    tl_symbols *symbols;       // or NULL
    tl_lines *lines;           // or NULL
    uint32_t first_source;     // of the profile for each of lines
    uint32_t *sources;         // numbers in the profile
} naming;

static const char *plain_name(tl_profile *p, const char *symbol) {
    char text[TL_DEMANGLE_BYTES];
    return tl_arena_strdup(&p->arena, tl_demangle(symbol, TL_DEMANGLE_FULL, text) ? text : symbol);
}

static uint32_t source_of_path(tl_profile *p, const char *path) {
    for (uint32_t i = p->n_sources; i-- > 0;)
        if (strcmp(p->sources[i].path, path) == 0)
            return i;
    tl_profile_source *source = TL_PROFILE_ADD(p, sources);
    if (!source)
        return TL_PROFILE_NONE;
    source->path = tl_arena_strdup(&p->arena, path);
    return source->path ? p->n_sources - 1 : TL_PROFILE_NONE;
}

// The function of the instruction before this one is the usual answer.
static uint32_t function_at(naming *w, uint32_t last, const char *symbol, uint64_t address, uint64_t size_bytes) {
    tl_profile *p = w->p;
    if (last != TL_PROFILE_NONE && p->functions[last].object == w->object && p->functions[last].address == address)
        return last;
    tl_profile_function *function = TL_PROFILE_ADD(p, functions);
    if (!function)
        return TL_PROFILE_NONE;
    *function = (tl_profile_function){.object = w->object,
                                      .source = TL_PROFILE_NONE,
                                      .name = plain_name(p, symbol),
                                      .symbol = tl_arena_strdup(&p->arena, symbol),
                                      .address = address,
                                      .size_bytes = size_bytes};
    return function->name && function->symbol ? p->n_functions - 1 : TL_PROFILE_NONE;
}

static uint32_t source_number(const naming *w, uint32_t source) {
    return w->lines && source < w->lines->n_sources ? w->sources[source] : TL_PROFILE_NONE;
}

static bool add_sources(naming *w) {
    w->sources = malloc(((size_t)w->lines->n_sources + 1) * sizeof *w->sources);
    for (uint32_t i = 0; w->sources && i < w->lines->n_sources; i++) {
        w->sources[i] = source_of_path(w->p, w->lines->sources[i]);
        if (w->sources[i] == TL_PROFILE_NONE)
            return false;
    }
    return w->sources != NULL;
}

static bool add_calls(naming *w, uint32_t first) {
    for (uint32_t i = 0; i < w->lines->n_calls; i++) {
        const tl_line_call *call = &w->lines->calls[i];
        tl_profile_inlined *inlined = TL_PROFILE_ADD(w->p, inlined);
        if (!inlined)
            return false;
        *inlined = (tl_profile_inlined){.parent = call->parent == TL_LINES_NONE ? TL_PROFILE_NONE : first + call->parent,
                                        .name = plain_name(w->p, call->name),
                                        .source = source_number(w, call->source),
                                        .line = call->line};
        if (!inlined->name)
            return false;
    }
    return true;
}

static bool name_insn(naming *w, uint32_t i, uint32_t first_call, uint32_t *last) {
    tl_profile *p = w->p;
    tl_profile_insn *insn = &p->insns[w->first + i];
    const tl_line_position *position = w->lines ? &w->lines->positions[i] : NULL;
    const tl_line_function *function = position && position->function != TL_LINES_NONE ? &w->lines->functions[position->function] : NULL;
    uint64_t within = 0;
    const char *symbol = w->symbols ? tl_symbols_at(w->symbols, insn->address, &within) : NULL;
    if (position) {
        insn->source = source_number(w, position->source);
        insn->line = insn->source == TL_PROFILE_NONE ? 0 : position->line;
        insn->inlined = position->call == TL_LINES_NONE ? TL_PROFILE_NONE : first_call + position->call;
    }
    if (!symbol && !function)
        return true;
    *last = symbol ? function_at(w, *last, symbol, insn->address - within, 0)
                   : function_at(w, *last, function->name, function->start, function->end - function->start);
    if (*last == TL_PROFILE_NONE)
        return false;
    insn->function = *last;
    if (function && p->functions[*last].source == TL_PROFILE_NONE && function->start == p->functions[*last].address) {
        p->functions[*last].source = source_number(w, function->source);
        p->functions[*last].line = p->functions[*last].source == TL_PROFILE_NONE ? 0 : function->line;
        p->functions[*last].size_bytes = function->end - function->start;
    }
    return true;
}

// The first instruction from `i` on that has no function yet; w->n: none. next[i] leads there, and
// is shortened on the way.
static uint32_t unnamed_from(uint32_t *next, uint32_t i) {
    while (next[i] != i) {
        next[i] = next[next[i]];
        i = next[i];
    }
    return i;
}

static uint32_t first_from(const naming *w, uint64_t address) {
    uint32_t low = 0, high = w->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (w->p->insns[w->first + middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A line names the instructions that no line before it named. The whole map takes lines plus
// instructions, whatever areas overlap.
static bool name_by_line(naming *w, uint32_t *next, const char *line) {
    tl_profile *p = w->p;
    uint64_t start, size;
    int at = 0;
    if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &at) < 2 || at == 0 || !line[at])
        return true;
    uint32_t function = TL_PROFILE_NONE;
    for (uint32_t i = unnamed_from(next, first_from(w, start)); i < w->n; i = unnamed_from(next, i)) {
        tl_profile_insn *insn = &p->insns[w->first + i];
        if (insn->address - start >= size)
            break;
        function = function_at(w, function, line + at, start, size);
        insn->function = function;
        if (function == TL_PROFILE_NONE)
            return false;
        p->objects[w->object].kind = "jit";
        next[i] = i + 1;
    }
    return true;
}

// Whether the function has the bytes of the instruction, which its last execution had.
static bool has_bytes_of(const tl_jit_code *code, const tl_profile_insn *insn) {
    const uint64_t at = insn->address - code->address;
    return insn->n_bytes > 0 && at < code->size_bytes && insn->n_bytes <= code->size_bytes - at &&
           memcmp(code->bytes + at, insn->bytes, insn->n_bytes) == 0;
}

static bool name_jitted(naming *w, tl_profile_insn *insn, const tl_jitdump *dump, const tl_jit_code *code, uint32_t *last) {
    tl_profile *p = w->p;
    const tl_jit_line *line = tl_jitdump_line_at(dump, code, insn->address);
    *last = function_at(w, *last, code->name, code->address, code->size_bytes);
    insn->function = *last;
    if (*last == TL_PROFILE_NONE)
        return false;
    p->objects[w->object].kind = "jit";
    if (!line)
        return true;
    insn->source = source_of_path(p, line->path);
    insn->line = insn->source == TL_PROFILE_NONE ? 0 : line->line;
    if (p->functions[*last].source == TL_PROFILE_NONE) {
        p->functions[*last].source = insn->source;
        p->functions[*last].line = insn->line;
    }
    return insn->source != TL_PROFILE_NONE;
}

// Functions of a jitdump file. The latest one that holds an instruction names it, and one that has
// the bytes of the instruction comes before others, because a JIT writes over code.
static bool name_by_dump(naming *w, uint32_t *next, const tl_jitdump *dump) {
    uint32_t last = TL_PROFILE_NONE;
    for (int must_match = 1; must_match >= 0; must_match--)
        for (uint32_t k = dump->n_codes; k-- > 0;) {
            const tl_jit_code *code = &dump->codes[k];
            for (uint32_t i = unnamed_from(next, first_from(w, code->address)); i < w->n; i = unnamed_from(next, i + 1)) {
                tl_profile_insn *insn = &w->p->insns[w->first + i];
                if (insn->address - code->address >= code->size_bytes)
                    break;
                if (must_match && !has_bytes_of(code, insn))
                    continue;
                if (!name_jitted(w, insn, dump, code, &last))
                    return false;
                next[i] = i + 1;
            }
        }
    return true;
}

// Reads a line without its end into a buffer, and skips the rest of a longer one. *n_bytes grows by
// all that was read. false: there is none.
static bool read_line(FILE *stream, char *line, size_t size, size_t *n_bytes) {
    if (!fgets(line, (int)size, stream))
        return false;
    const size_t n = strlen(line);
    *n_bytes += n + 1;
    if (n > 0 && line[n - 1] == '\n') {
        line[n - 1] = '\0';
        return true;
    }
    for (int c = n + 1 == size ? getc(stream) : EOF; c != EOF && c != '\n'; c = getc(stream))
        ++*n_bytes;
    return true;
}

// Functions of /tmp/perf-PID.map, which JITs write: "START SIZE NAME" in hexadecimal digits. The
// guest chose what the file is, so only a regular file is read, and not without end. Names are cut
// where they have 4095 bytes.
static bool name_by_perf_map(naming *w, uint32_t *next, int32_t pid) {
    enum { MAX_MAP_BYTES = 256 << 20, MAX_LINE_BYTES = 4096 + 40 };
    char path[64], *line = malloc(MAX_LINE_BYTES);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
    const int fd = tl_digest_open(w->options->root, path);
    struct stat about;
    FILE *stream = line && fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? fdopen(fd, "r") : NULL;
    bool is_good = line != NULL;
    size_t n_bytes = 0;
    while (stream && is_good && n_bytes < MAX_MAP_BYTES && read_line(stream, line, MAX_LINE_BYTES, &n_bytes))
        is_good = name_by_line(w, next, line);
    if (stream)
        fclose(stream);
    else if (fd >= 0)
        close(fd);
    free(line);
    return is_good;
}

// A jitdump file says more than a map, so it comes first.
static bool name_code_of_jit(naming *w, const tl_code_map *map, int32_t pid) {
    uint32_t *next = malloc(((size_t)w->n + 1) * sizeof *next);
    bool is_good = next != NULL;
    for (uint32_t i = 0; is_good && i <= w->n; i++)
        next[i] = i < w->n && w->p->insns[w->first + i].function != TL_PROFILE_NONE ? i + 1 : i;
    for (uint32_t i = 0; i < map->n_dumps && is_good; i++) {
        tl_jitdump dump;
        if (map->dumps[i].pid != pid)
            continue;
        const tl_status status = tl_jitdump_read(map->dumps[i].bytes, map->dumps[i].n_bytes, &dump, NULL);
        is_good = status != TL_ENOMEM && (status != TL_OK || name_by_dump(w, next, &dump));
        if (status == TL_OK)
            tl_jitdump_done(&dump);
    }
    is_good = is_good && name_by_perf_map(w, next, pid);
    free(next);
    return is_good;
}

// A kernel whose symbols are text.
static bool name_by_symbol_map(naming *w, const tl_code_object *object) {
    tl_symbol_map symbols;
    uint32_t last = TL_PROFILE_NONE;
    bool is_good = tl_symbol_map_read(object->bytes, object->n_bytes, &symbols);
    for (uint32_t i = 0; i < w->n && is_good; i++) {
        tl_profile_insn *insn = &w->p->insns[w->first + i];
        const tl_map_symbol *symbol = tl_symbol_map_at(&symbols, insn->address);
        char name[4096];
        if (!symbol)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)symbol->n_name, symbol->name);
        last = function_at(w, last, name, symbol->address, 0);
        insn->function = last;
        is_good = last != TL_PROFILE_NONE;
    }
    tl_symbol_map_done(&symbols);
    return is_good;
}

static tl_status name_object(naming *w, const tl_code_map *map, const tl_code_object *object, tl_error *err) {
    const tl_elf_source source = source_of(object);
    tl_status status = TL_OK;
    if (object->is_map)
        return name_by_symbol_map(w, object) ? TL_OK : no_memory(err);
    uint64_t *addresses = malloc(((size_t)w->n + 1) * sizeof *addresses);
    if (!addresses)
        return no_memory(err);
    for (uint32_t i = 0; i < w->n; i++)
        addresses[i] = w->p->insns[w->first + i].address;
    if (object->bytes) {
        (void)!tl_symbols_new(&source, &w->symbols, NULL); // a file without symbols has addresses
        status = tl_lines_new(object->bytes, object->n_bytes, object->path, w->options->root, addresses, w->n, &w->lines, err);
    }
    free(addresses);
    if (status != TL_OK)
        return status;
    const uint32_t first_call = w->p->n_inlined;
    if (w->lines && (!add_sources(w) || !add_calls(w, first_call)))
        return no_memory(err);
    if (w->lines)
        w->p->objects[w->object].build_id = tl_arena_strdup(&w->p->arena, w->lines->build_id);
    uint32_t last = TL_PROFILE_NONE;
    for (uint32_t i = 0; i < w->n; i++)
        if (!name_insn(w, i, first_call, &last))
            return no_memory(err);
    if (!object->bytes && object->pid != 0 && !name_code_of_jit(w, map, object->pid))
        return no_memory(err);
    return w->p->objects[w->object].build_id ? TL_OK : no_memory(err);
}

static tl_status embed_source(tl_profile *p, tl_profile_source *source, const char *root, tl_error *err) {
    enum { MAX_SOURCE_BYTES = 16 << 20 };
    const int fd = tl_digest_open(root, source->path);
    FILE *stream = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (!stream)
        return TL_OK; // this host does not have it
    char *text = malloc(MAX_SOURCE_BYTES);
    const size_t n = text ? fread(text, 1, MAX_SOURCE_BYTES, stream) : 0;
    char *copy = tl_arena_alloc(&p->arena, n + 1);
    if (copy && text && !ferror(stream) && n < MAX_SOURCE_BYTES) {
        memcpy(copy, text, n);
        source->text = copy;
        source->n_bytes = (uint32_t)n;
    }
    const bool has_memory = copy && text;
    free(text);
    fclose(stream);
    return has_memory ? TL_OK : no_memory(err);
}

tl_status tl_recorded_names(tl_profile *p, const tl_code_map *map, const tl_run_options *options, bool with_sources, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < p->n_insns && status == TL_OK;) {
        naming w = {.p = p, .options = options, .object = p->insns[i].object, .first = i};
        while (i < p->n_insns && p->insns[i].object == w.object)
            i++;
        w.n = i - w.first;
        status = name_object(&w, map, &map->objects[w.object], err);
        tl_symbols_free(w.symbols);
        tl_lines_free(w.lines);
        free(w.sources);
    }
    for (uint32_t i = 0; i < p->n_sources && with_sources && status == TL_OK; i++)
        status = embed_source(p, &p->sources[i], options->root, err);
    return status;
}
