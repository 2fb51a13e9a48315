// SPDX-License-Identifier: MIT
// Names of one machine: its units and signals, and how a name becomes a formula. Aliases and
// metrics: metrics.c.
#include "names/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/glob.h"
#include "names/catalogue_parts.h"

enum { MAX_NAME_BYTES = 128, SHARED = -1 };

// -- units and signals

static int hart_of(const char *path) {
    int hart = 0, n = 0;
    if (sscanf(path, "hart%d%n", &hart, &n) != 1 || (path[n] != '.' && path[n] != '\0'))
        return SHARED;
    return hart;
}

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "no memory for the catalogue of names"); }

static tl_status add_unit(tl_catalogue *catalogue, const tl_unit_type *type, const char *path, tl_cell first_cell, tl_error *err) {
    tl_catalogue_unit *unit = &catalogue->units[catalogue->n_units++];
    *unit = (tl_catalogue_unit){
        .path = tl_arena_strdup(&catalogue->arena, path), .type = type, .first_cell = first_cell, .hart = hart_of(path)};
    if (!unit->path)
        return no_memory(err);
    for (uint32_t i = 0; i < type->n_signals; i++) {
        tl_catalogue_signal *signal = &catalogue->signals[first_cell + i];
        *signal = (tl_catalogue_signal){
            .path = tl_arena_printf(&catalogue->arena, "%s.%s", path, type->signals[i].name),
            .event = tl_arena_printf(&catalogue->arena, "%s.%s", type->name, type->signals[i].name),
            .type = type,
            .signal = &type->signals[i],
            .hart = unit->hart,
        };
        if (!signal->path || !signal->event)
            return no_memory(err);
    }
    return TL_OK;
}

static tl_status fill(tl_catalogue *catalogue, const tl_catalogue_of *of, tl_error *err) {
    tl_arena *arena = &catalogue->arena;
    catalogue->n_harts = of->n_harts;
    catalogue->n_cells = of->n_cells;
    catalogue->n_constants = of->n_constants;
    catalogue->selecting_pmu = of->selecting_pmu;
    catalogue->units = tl_arena_alloc(arena, of->n_units * sizeof *catalogue->units);
    catalogue->signals = tl_arena_alloc(arena, of->n_cells * sizeof *catalogue->signals);
    catalogue->constants = tl_arena_alloc(arena, (of->n_constants + 1) * sizeof *catalogue->constants);
    if (!catalogue->units || !catalogue->signals || !catalogue->constants)
        return no_memory(err);
    if (of->n_constants > 0)
        memcpy(catalogue->constants, of->constants, of->n_constants * sizeof *catalogue->constants);
    tl_status status = TL_OK;
    for (uint32_t i = 0; status == TL_OK && i < of->n_units; i++)
        status = add_unit(catalogue, of->units[i].type, of->units[i].path, of->units[i].first_cell, err);
    return status;
}

tl_status tl_catalogue_new(const tl_catalogue_of *of, tl_catalogue **ret_catalogue, tl_error *err) {
    tl_catalogue *catalogue = calloc(1, sizeof *catalogue);
    if (!catalogue)
        return no_memory(err);
    tl_status status = fill(catalogue, of, err);
    if (status == TL_OK)
        status = tl_catalogue_load(catalogue, err);
    if (status != TL_OK) {
        tl_catalogue_free(catalogue);
        return status;
    }
    *ret_catalogue = catalogue;
    return TL_OK;
}

void tl_catalogue_free(tl_catalogue *catalogue) {
    if (!catalogue)
        return;
    tl_arena_done(&catalogue->arena);
    free(catalogue->groups);
    free(catalogue);
}

uint32_t tl_catalogue_n_cells(const tl_catalogue *catalogue) { return catalogue->n_cells; }
tl_catalogue_signal tl_catalogue_signal_at(const tl_catalogue *catalogue, tl_cell cell) { return catalogue->signals[cell]; }
uint32_t tl_catalogue_n_units(const tl_catalogue *catalogue) { return catalogue->n_units; }
tl_catalogue_unit tl_catalogue_unit_at(const tl_catalogue *catalogue, uint32_t index) { return catalogue->units[index]; }

const char *tl_measure_unit(tl_measure measure) {
    switch (measure) {
    case TL_MEASURE_EVENTS: return "";
    case TL_MEASURE_CYCLES: return "cycles";
    case TL_MEASURE_BYTES: return "bytes";
    }
    return "";
}

// -- from a name to its totals

typedef struct selection { // signals of one name in some of the units
    const char *unit;      // a path ("hart0.l1d") or a type ("l1d"), not terminated
    size_t n_unit;
    bool is_type;
    const char *signal;
} selection;

static bool is_selected(const selection *select, const tl_catalogue_unit *unit) {
    const char *name = select->is_type ? unit->type->name : unit->path;
    return strlen(name) == select->n_unit && memcmp(name, select->unit, select->n_unit) == 0;
}

static bool find_signal(const tl_unit_type *type, const char *name, uint32_t *ret_index) {
    for (uint32_t i = 0; i < type->n_signals; i++)
        if (strcmp(type->signals[i].name, name) == 0) {
            *ret_index = i;
            return true;
        }
    return false;
}

// "hart0.l1d.load_miss" or "l1d.load_miss"; false: there is no such signal.
static bool select_signal(const tl_catalogue *catalogue, const char *name, selection *ret_select) {
    const char *dot = strrchr(name, '.');
    if (!dot)
        return false;
    *ret_select = (selection){.unit = name, .n_unit = (size_t)(dot - name), .signal = dot + 1};
    for (int pass = 0; pass < 2; pass++, ret_select->is_type = true)
        for (uint32_t i = 0; i < catalogue->n_units; i++) {
            uint32_t index;
            if (is_selected(ret_select, &catalogue->units[i]))
                if (find_signal(catalogue->units[i].type, ret_select->signal, &index))
                    return true;
        }
    return false;
}

typedef struct gathering {
    tl_cell *cells;
    tl_owned_cell *hart_cells;
    uint32_t n_cells, n_hart_cells;
} gathering;

// A shared unit may tell the harts apart in signals of their own: read_hart0 .. are the parts of
// read.
static void gather_parts(const tl_catalogue *catalogue, const tl_catalogue_unit *unit, const char *signal, gathering *into) {
    for (uint32_t hart = 0; hart < catalogue->n_harts; hart++) {
        char name[MAX_NAME_BYTES];
        uint32_t index;
        snprintf(name, sizeof name, "%s_hart%u", signal, hart);
        if (!find_signal(unit->type, name, &index))
            return;
        into->hart_cells[into->n_hart_cells++] = (tl_owned_cell){.cell = unit->first_cell + index, .hart = (int)hart};
    }
}

static tl_status gather(tl_catalogue *catalogue, const selection *select, const char *const *signals, uint32_t n_signals, tl_leaf *ret_leaf,
                        tl_error *err) {
    uint32_t n_units = 0;
    for (uint32_t i = 0; i < catalogue->n_units; i++)
        n_units += is_selected(select, &catalogue->units[i]);
    gathering into = {
        .cells = tl_arena_alloc(&catalogue->arena, n_units * n_signals * sizeof *into.cells),
        .hart_cells = tl_arena_alloc(&catalogue->arena, n_units * n_signals * catalogue->n_harts * sizeof *into.hart_cells),
    };
    if (!into.cells || !into.hart_cells)
        return no_memory(err);
    for (uint32_t i = 0; i < catalogue->n_units; i++) {
        const tl_catalogue_unit *unit = &catalogue->units[i];
        for (uint32_t k = 0; k < n_signals && is_selected(select, unit); k++) {
            uint32_t index;
            if (!find_signal(unit->type, signals[k], &index))
                continue;
            into.cells[into.n_cells++] = unit->first_cell + index;
            if (unit->hart == SHARED)
                gather_parts(catalogue, unit, signals[k], &into);
            else
                into.hart_cells[into.n_hart_cells++] = (tl_owned_cell){.cell = unit->first_cell + index, .hart = unit->hart};
        }
    }
    *ret_leaf = (tl_leaf){.kind = TL_LEAF_SLOTS,
                          .cells = into.cells,
                          .n_cells = into.n_cells,
                          .hart_cells = into.hart_cells,
                          .n_hart_cells = into.n_hart_cells};
    return TL_OK;
}

// Whether everything a signal counts is done by instructions of the program, which run in user
// mode: the Linux personality is not made of simulated instructions.
static bool is_of_program(const char *type, const char *signal) {
    static const char *const parts[] = {
        "bp.*",        "l1i.*",      "l1d.*",         "itlb.*",       "dtlb.*",       "l2tlb.*",          "ptw.*",
        "hart.insn_*", "hart.call",  "hart.return",   "hart.branch*", "hart.*_bytes", "hart.misaligned*", "hart.line_cross",
        "hart.sc_*",   "hart.unc_*", "hart.fetch_run"};
    char name[MAX_NAME_BYTES];
    snprintf(name, sizeof name, "%s.%s", type, signal);
    for (size_t i = 0; i < TL_COUNT_OF(parts); i++)
        if (tl_glob_match(parts[i], name))
            return true;
    return false;
}

static const tl_unit_type *type_of(const tl_catalogue *catalogue, const selection *select) {
    for (uint32_t i = 0; i < catalogue->n_units; i++)
        if (is_selected(select, &catalogue->units[i]))
            return catalogue->units[i].type;
    return NULL;
}

static tl_status gather_modes(tl_catalogue *catalogue, const selection *select, uint32_t modes, tl_leaf *ret_leaf, tl_error *err) {
    static const char letters[] = "usm"; // TL_MODE_U, S, M
    const tl_unit_type *type = type_of(catalogue, select);
    char names[3][MAX_NAME_BYTES];
    const char *signals[3] = {select->signal};
    uint32_t n_signals = 0, index;
    if (modes == 0)
        return gather(catalogue, select, signals, 1, ret_leaf, err);
    for (uint32_t mode = 0; mode < 3; mode++) {
        snprintf(names[n_signals], sizeof names[0], "%s_%c", select->signal, letters[mode]);
        if ((modes >> mode & 1) && find_signal(type, names[n_signals], &index)) {
            signals[n_signals] = names[n_signals];
            n_signals++;
        }
    }
    if (n_signals > 0)
        return gather(catalogue, select, signals, n_signals, ret_leaf, err);
    if (!is_of_program(type->name, select->signal))
        return tl_fail(err, TL_EINVAL, "%s.%s is not known per privilege mode; ask for it without :u, :k or :m", type->name,
                       select->signal);
    if (!(modes & TL_MODE_U))
        return tl_fail(err, TL_EINVAL,
                       "%s.%s is caused by instructions, and none of them runs in that mode here; ask for it without :k or :m", type->name,
                       select->signal);
    signals[0] = select->signal;
    return gather(catalogue, select, signals, 1, ret_leaf, err);
}

// Cuts ":uk" off `name`.
static tl_status take_modes(char *name, uint32_t *modes, tl_error *err) {
    char *colon = strrchr(name, ':');
    if (!colon)
        return TL_OK;
    for (const char *p = colon + 1; *p; p++) {
        switch (*p) {
        case 'u': *modes |= TL_MODE_U; break;
        case 'k':
        case 's': *modes |= TL_MODE_S; break;
        case 'm': *modes |= TL_MODE_M; break;
        default:
            return tl_fail(err, TL_EINVAL, "%s: unknown modifier '%c'; there are :u (user), :k (supervisor) and :m (machine mode)", name,
                           *p);
        }
    }
    if (colon[1] == '\0')
        return tl_fail(err, TL_EINVAL, "%s: a modifier is missing after the colon", name);
    *colon = '\0';
    return TL_OK;
}

static void offer_events(const tl_catalogue *catalogue, tl_nearest *nearest) {
    for (uint32_t i = 0; i < catalogue->aliases.n_rows; i++)
        tl_nearest_offer(nearest, catalogue->aliases.rows[i].name);
    for (uint32_t i = 0; i < catalogue->n_cells; i++)
        tl_nearest_offer(nearest, catalogue->signals[i].event);
    if (strncmp(nearest->wanted, "hart", 4) == 0 || strpbrk(nearest->wanted, "0123456789"))
        for (uint32_t i = 0; i < catalogue->n_cells; i++)
            tl_nearest_offer(nearest, catalogue->signals[i].path);
}

typedef struct scope {
    tl_catalogue *catalogue;
    uint32_t modes;
} scope;

uint32_t tl_catalogue_n_constants(const tl_catalogue *catalogue) { return catalogue->n_constants; }

tl_catalogue_constant tl_catalogue_constant_at(const tl_catalogue *catalogue, uint32_t index) { return catalogue->constants[index]; }

static const tl_catalogue_constant *find_constant(const tl_catalogue *catalogue, const char *name) {
    for (uint32_t i = 0; i < catalogue->n_constants; i++) {
        if (strcmp(catalogue->constants[i].name, name) == 0)
            return &catalogue->constants[i];
    }
    return NULL;
}

// A name in a formula: alias, signal, metric, machine.KEY, or `harts`, the number of harts that the
// value is about.
static tl_status find_name(void *ctx, const char *text, tl_leaf *ret_leaf, tl_error *err) {
    static const char machine[] = "machine.";
    const scope *in = ctx;
    tl_catalogue *catalogue = in->catalogue;
    char name[MAX_NAME_BYTES];
    uint32_t modes = in->modes, index;
    selection select;
    tl_group *group;
    snprintf(name, sizeof name, "%s", text);
    tl_status status = take_modes(name, &modes, err);
    if (status != TL_OK)
        return status;
    const tl_catalogue_constant *constant =
        strncmp(name, machine, strlen(machine)) == 0 ? find_constant(catalogue, name + strlen(machine)) : NULL;
    if (constant) {
        *ret_leaf = (tl_leaf){.kind = TL_LEAF_CONSTANT, .constant = constant->value, .hart_constant = constant->value};
        return TL_OK;
    }
    if (strcmp(name, "harts") == 0) {
        *ret_leaf = (tl_leaf){.kind = TL_LEAF_CONSTANT, .constant = catalogue->n_harts, .hart_constant = 1};
        return TL_OK;
    }
    *ret_leaf = (tl_leaf){.kind = TL_LEAF_FORMULA};
    if (tl_definitions_find(&catalogue->aliases, name, &index))
        return tl_definition_compile(catalogue, &catalogue->aliases, index, modes, &ret_leaf->formula, err);
    if (select_signal(catalogue, name, &select))
        return gather_modes(catalogue, &select, modes, ret_leaf, err);
    if (tl_catalogue_find_metric(catalogue, name, &group, &index))
        return tl_definition_compile(catalogue, &group->metrics, index, modes, &ret_leaf->formula, err);

    tl_nearest nearest;
    char suggestion[256];
    tl_nearest_init(&nearest, name);
    offer_events(catalogue, &nearest);
    for (uint32_t i = 0; i < catalogue->n_groups; i++)
        for (uint32_t k = 0; k < catalogue->groups[i]->metrics.n_rows; k++)
            tl_nearest_offer(&nearest, catalogue->groups[i]->metrics.rows[k].name);
    return tl_fail(err, TL_ENOENT, "unknown name '%s'%s", name, tl_nearest_text(&nearest, suggestion, sizeof suggestion));
}

tl_status tl_catalogue_compile(tl_catalogue *catalogue, const char *text, uint32_t modes, const tl_formula **ret_formula, tl_error *err) {
    scope in = {.catalogue = catalogue, .modes = modes};
    return tl_formula_compile(text, &catalogue->arena, find_name, &in, ret_formula, err);
}

tl_status tl_catalogue_formula(tl_catalogue *catalogue, const char *text, const tl_formula **ret_formula, tl_error *err) {
    return tl_catalogue_compile(catalogue, text, 0, ret_formula, err);
}

// -- lists of events

void tl_quantities_done(tl_quantities *list) {
    free(list->items);
    *list = (tl_quantities){0};
}

tl_status tl_quantities_add(tl_quantities *list, const tl_quantity *quantity, tl_error *err) {
    for (uint32_t i = 0; i < list->n_items; i++)
        if (strcmp(list->items[i].name, quantity->name) == 0 && list->items[i].is_metric == quantity->is_metric)
            return TL_OK;
    if (list->n_items == list->capacity) {
        uint32_t capacity = list->capacity ? list->capacity * 2 : 16;
        tl_quantity *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return tl_fail(err, TL_ENOMEM, "no memory for a list of events");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n_items++] = *quantity;
    return TL_OK;
}

const char *tl_next_name(const char **rest, char *ret_name, size_t size_bytes) {
    static const char around[] = " \t{}";
    for (;;) {
        const char *start = *rest + strspn(*rest, " \t{},"), *end = start + strcspn(start, ",");
        size_t n_pmu = strcspn(start, "/,");
        // Commas between slashes belong to the name, as in cpu/event=1,umask=2/u.
        if (start[n_pmu] == '/' && strchr(start + n_pmu + 1, '/'))
            end = strchr(start + n_pmu + 1, '/') + strcspn(strchr(start + n_pmu + 1, '/'), ",");
        if (*start == '\0')
            return NULL;
        *rest = end;
        while (end > start && strchr(around, end[-1]))
            end--;
        snprintf(ret_name, size_bytes, "%.*s", (int)(end - start), start);
        return ret_name;
    }
}

static tl_status add_alias(tl_catalogue *catalogue, uint32_t index, uint32_t modes, const char *name, tl_quantities *list, tl_error *err) {
    const tl_alias *alias = &catalogue->aliases.rows[index];
    tl_quantity quantity = {.name = name, .unit = alias->unit, .meaning = alias->meaning};
    tl_status status = tl_definition_compile(catalogue, &catalogue->aliases, index, modes, &quantity.formula, err);
    return status == TL_OK ? tl_quantities_add(list, &quantity, err) : status;
}

static tl_status add_signal(tl_catalogue *catalogue, const tl_catalogue_signal *signal, const char *text, const char *name,
                            tl_quantities *list, tl_error *err) {
    tl_quantity quantity = {.name = name, .unit = tl_measure_unit(signal->signal->measure), .meaning = signal->signal->meaning};
    tl_status status = tl_catalogue_compile(catalogue, text, 0, &quantity.formula, err);
    return status == TL_OK ? tl_quantities_add(list, &quantity, err) : status;
}

static tl_status add_matches(tl_catalogue *catalogue, const char *glob, tl_quantities *list, tl_error *err) {
    bool has_any = false;
    tl_status status = TL_OK;
    for (uint32_t i = 0; status == TL_OK && i < catalogue->aliases.n_rows; i++)
        if (tl_glob_match(glob, catalogue->aliases.rows[i].name)) {
            has_any = true;
            status = add_alias(catalogue, i, 0, catalogue->aliases.rows[i].name, list, err);
        }
    for (int pass = 0; pass < 2 && !(pass == 1 && has_any); pass++) // sums, else paths
        for (uint32_t i = 0; status == TL_OK && i < catalogue->n_cells; i++) {
            const tl_catalogue_signal *signal = &catalogue->signals[i];
            const char *name = pass == 0 ? signal->event : signal->path;
            if (!tl_glob_match(glob, name))
                continue;
            has_any = true;
            status = add_signal(catalogue, signal, name, name, list, err);
        }
    if (status == TL_OK && !has_any)
        return tl_fail(err, TL_ENOENT, "no event matches '%s'; tally list shows them all", glob);
    return status;
}

static const tl_catalogue_signal *signal_of(const tl_catalogue *catalogue, const selection *select) {
    for (uint32_t i = 0; i < catalogue->n_units; i++) {
        uint32_t index;
        if (is_selected(select, &catalogue->units[i]) && find_signal(catalogue->units[i].type, select->signal, &index))
            return &catalogue->signals[catalogue->units[i].first_cell + index];
    }
    return NULL;
}

static bool is_raw(const char *name) { return *name == 'r' && name[1] && name[1 + strspn(name + 1, "0123456789abcdefABCDEF")] == '\0'; }

static tl_status unknown_event(const tl_catalogue *catalogue, const char *name, tl_error *err) {
    tl_group *group;
    uint32_t index;
    if (tl_catalogue_find_metric(catalogue, name, &group, &index) || tl_catalogue_group(catalogue, name))
        return tl_fail(err, TL_ENOENT, "'%s' is a metric, not an event; ask for it with -M %s", name, name);
    if (is_raw(name))
        return tl_fail(err, TL_ENOENT, "'%s' is a selector of a PMU; ask for it with -P %s -e %s", name, catalogue->selecting_pmu, name);
    tl_nearest nearest;
    char suggestion[256];
    tl_nearest_init(&nearest, name);
    offer_events(catalogue, &nearest);
    tl_nearest_text(&nearest, suggestion, sizeof suggestion);
    return tl_fail(err, TL_ENOENT, "unknown event '%s'%s", name, *suggestion ? suggestion : "; tally list shows them all");
}

// perf's other way to write a name: "cpu/cycles/" is cycles, "cpu/cycles/u" is cycles:u. Terms with
// a value are selectors of a PMU.
static tl_status take_slashes(const tl_catalogue *catalogue, const char *text, char *ret_name, size_t size_bytes, tl_error *err) {
    const char *open = strchr(text, '/'), *close = open ? strchr(open + 1, '/') : NULL;
    if (!close) {
        snprintf(ret_name, size_bytes, "%s", text);
        return TL_OK;
    }
    if (strncmp(text, "cpu/", 4) != 0)
        return tl_fail(err, TL_ENOENT, "%s: the only PMU with events of that form is cpu; write cpu/%.*s/", text, (int)(close - open - 1),
                       open + 1);
    if (memchr(open, '=', (size_t)(close - open)))
        return tl_fail(err, TL_EINVAL,
                       "%s: a selector means something to one PMU only; write tally stat -P %s -e rHEX, or a name of tally list events",
                       text, catalogue->selecting_pmu);
    snprintf(ret_name, size_bytes, "%.*s%s%s", (int)(close - open - 1), open + 1, close[1] ? ":" : "", close + 1);
    return TL_OK;
}

static tl_status add_event(tl_catalogue *catalogue, const char *text, tl_quantities *list, tl_error *err) {
    char whole[MAX_NAME_BYTES], plain[MAX_NAME_BYTES];
    uint32_t modes = 0, index;
    selection select;
    if (tl_glob_is_pattern(text))
        return add_matches(catalogue, text, list, err);
    tl_status status = take_slashes(catalogue, text, whole, sizeof whole, err);
    if (status == TL_OK) {
        snprintf(plain, sizeof plain, "%s", whole);
        status = take_modes(plain, &modes, err);
    }
    if (status != TL_OK)
        return status;
    const char *name = tl_arena_strdup(&catalogue->arena, text);
    if (!name)
        return no_memory(err);
    if (tl_definitions_find(&catalogue->aliases, plain, &index))
        return add_alias(catalogue, index, modes, name, list, err);
    if (select_signal(catalogue, plain, &select))
        return add_signal(catalogue, signal_of(catalogue, &select), whole, name, list, err);
    return unknown_event(catalogue, plain, err);
}

tl_status tl_catalogue_events(tl_catalogue *catalogue, const char *names, tl_quantities *list, tl_error *err) {
    char name[MAX_NAME_BYTES];
    uint32_t n_before = list->n_items, n_names = 0;
    tl_status status = TL_OK;
    while (status == TL_OK && tl_next_name(&names, name, sizeof name)) {
        n_names++;
        status = add_event(catalogue, name, list, err);
    }
    if (status == TL_OK && n_names == 0)
        status = tl_fail(err, TL_EINVAL, "no event is named; write some, such as cycles,instructions");
    if (status != TL_OK)
        list->n_items = n_before;
    return status;
}
