// SPDX-License-Identifier: MIT
// Reads a profile. The file is hostile until checked: its tables are those of the schema, word for
// word; numbers count from 0; references are in range; counts sum up to the totals.
#include "profile/profile.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "profile/store.h"

typedef struct profile_reader {
    tl_profile *profile;
    sqlite3 *database;
    sqlite3_stmt *row;
    const char *name;  // of the file
    const char *table; // under way
    int column;
    bool is_damaged, lacks_memory;
} profile_reader;

static tl_status damaged(const profile_reader *r, tl_error *err) {
    if (r->lacks_memory)
        return tl_fail(err, TL_ENOMEM, "%s: the host has no memory left for the profile", r->name);
    return tl_fail(err, TL_EFORMAT, "%s: the profile is damaged in its table %s; record it again", r->name, r->table);
}

// Large profiles are read number by number: a value is looked up once. No other thread has it.
static uint64_t number(profile_reader *r) {
    sqlite3_value *value = sqlite3_column_value(r->row, r->column++);
    r->is_damaged |= sqlite3_value_type(value) != SQLITE_INTEGER;
    return (uint64_t)sqlite3_value_int64(value);
}

static uint32_t number_below(profile_reader *r, uint64_t limit) {
    const uint64_t n = number(r);
    if (n < limit)
        return (uint32_t)n;
    r->is_damaged = true;
    return 0;
}

static int32_t small_number(profile_reader *r) {
    const int64_t n = (int64_t)number(r);
    r->is_damaged |= n < INT32_MIN || n > INT32_MAX;
    return (int32_t)n;
}

static uint32_t reference(profile_reader *r, uint64_t limit) {
    if (sqlite3_column_type(r->row, r->column) != SQLITE_NULL)
        return number_below(r, limit);
    r->column++;
    return TL_PROFILE_NONE;
}

// NULL only where may_lack.
static const char *text(profile_reader *r, bool may_lack) {
    const int column = r->column++;
    const bool is_null = sqlite3_column_type(r->row, column) == SQLITE_NULL;
    const char *found = is_null ? NULL : (const char *)sqlite3_column_text(r->row, column);
    if (!found) {
        r->is_damaged |= !is_null || !may_lack;
        return may_lack ? NULL : "";
    }
    char *copy = tl_arena_strdup(&r->profile->arena, found);
    r->lacks_memory |= !copy;
    return copy ? copy : "";
}

static void get_run(profile_reader *r, void *item) {
    tl_profile_setting *setting = item;
    setting->name = text(r, false);
    setting->value = text(r, false);
}

static tl_profile_kind kind_of(profile_reader *r, const char *word) {
    for (uint32_t kind = 0; kind < TL_PROFILE_N_KINDS; kind++)
        if (strcmp(word, tl_profile_kind_names[kind]) == 0)
            return (tl_profile_kind)kind;
    r->is_damaged = true;
    return TL_PROFILE_SIGNAL;
}

static void get_event(profile_reader *r, void *item) {
    tl_profile_event *event = item;
    event->name = text(r, false);
    event->kind = kind_of(r, text(r, false));
    event->unit = text(r, false);
    event->meaning = text(r, false);
    event->formula = text(r, true);
    event->total = number(r);
    event->place = number_below(r, UINT32_MAX);
    r->is_damaged |= (event->formula == NULL) != (event->kind <= TL_PROFILE_CONSTANT);
}

static void get_object(profile_reader *r, void *item) {
    tl_profile_object *object = item;
    object->path = text(r, false);
    object->kind = text(r, false);
    object->build_id = text(r, false);
}

static void get_process(profile_reader *r, void *item) {
    tl_profile_process *process = item;
    process->pid = small_number(r);
    process->parent = reference(r, r->profile->n_processes);
    process->name = text(r, false);
}

static void get_thread(profile_reader *r, void *item) {
    tl_profile_thread *thread = item;
    thread->tid = small_number(r);
    thread->process = number_below(r, r->profile->n_processes);
    thread->name = text(r, false);
}

static void get_mapping(profile_reader *r, void *item) {
    tl_profile_mapping *mapping = item;
    mapping->process = number_below(r, r->profile->n_processes);
    mapping->object = number_below(r, r->profile->n_objects);
    mapping->start = number(r);
    mapping->end = number(r);
    mapping->offset = number(r);
    mapping->bias = number(r);
}

static void get_source(profile_reader *r, void *item) {
    tl_profile_source *source = item;
    source->path = text(r, false);
    const int type = sqlite3_column_type(r->row, r->column);
    if (type == SQLITE_NULL)
        return;
    const void *bytes = sqlite3_column_blob(r->row, r->column);
    const int n_bytes = sqlite3_column_bytes(r->row, r->column);
    char *copy = tl_arena_alloc(&r->profile->arena, (size_t)n_bytes + 1);
    r->lacks_memory |= !copy;
    r->is_damaged |= type != SQLITE_BLOB || n_bytes < 0 || (n_bytes > 0 && !bytes);
    if (copy && !r->is_damaged && n_bytes > 0)
        memcpy(copy, bytes, (size_t)n_bytes);
    source->text = copy;
    source->n_bytes = (uint32_t)n_bytes;
}

static void get_function(profile_reader *r, void *item) {
    tl_profile_function *function = item;
    function->object = number_below(r, r->profile->n_objects);
    function->name = text(r, false);
    function->symbol = text(r, false);
    function->address = number(r);
    function->size_bytes = number(r);
    function->source = reference(r, r->profile->n_sources);
    function->line = number_below(r, UINT32_MAX);
}

// A parent is earlier or later, but nothing is inside itself: check_inlined.
static void get_inlined(profile_reader *r, void *item) {
    tl_profile_inlined *inlined = item;
    inlined->parent = reference(r, r->profile->n_inlined);
    inlined->name = text(r, false);
    inlined->source = reference(r, r->profile->n_sources);
    inlined->line = number_below(r, UINT32_MAX);
}

static void get_insn(profile_reader *r, void *item) {
    tl_profile_insn *insn = item;
    insn->object = number_below(r, r->profile->n_objects);
    insn->address = number(r);
    const void *bytes = sqlite3_column_blob(r->row, r->column);
    const int n_bytes = sqlite3_column_bytes(r->row, r->column++);
    r->is_damaged |= n_bytes < 0 || n_bytes > TL_PROFILE_INSN_BYTES;
    if (bytes && !r->is_damaged) {
        memcpy(insn->bytes, bytes, (size_t)n_bytes);
        insn->n_bytes = (uint8_t)n_bytes;
    }
    insn->disassembly = text(r, false);
    insn->function = reference(r, r->profile->n_functions);
    insn->source = reference(r, r->profile->n_sources);
    insn->line = number_below(r, UINT32_MAX);
    insn->inlined = reference(r, r->profile->n_inlined);
    insn->target = UINT64_MAX;
    if (sqlite3_column_type(r->row, r->column) != SQLITE_NULL)
        insn->target = number(r);
}

static void get_context(profile_reader *r, void *item) {
    tl_profile_context *context = item;
    context->thread = number_below(r, r->profile->n_threads);
    context->parent = reference(r, (uint64_t)(context - r->profile->contexts));
    context->call_site = reference(r, r->profile->n_insns);
    context->function = number_below(r, r->profile->n_functions);
    context->n_calls = number(r);
}

static void get_interval(profile_reader *r, void *item) {
    tl_profile_interval *interval = item;
    interval->begin_cycles = number(r);
    interval->end_cycles = number(r);
    interval->begin_ns = number(r);
    interval->end_ns = number(r);
    r->is_damaged |= interval->end_cycles < interval->begin_cycles || interval->end_ns < interval->begin_ns;
}

// Counts of owner `i` begin where those of the one before end.
#define OWN(owners, n_owners, items)                                                    \
    const uint32_t at = (uint32_t)(count - (items)), owner = number_below(r, n_owners); \
    if (r->is_damaged || (owners)[owner].n_counts == 0)                                 \
        (owners)[owner].first_count = at;                                               \
    r->is_damaged |= (owners)[owner].first_count + (owners)[owner].n_counts != at;      \
    (owners)[owner].n_counts++

static bool has_owner(profile_reader *r, uint32_t n_owners) {
    r->is_damaged |= n_owners == 0;
    return !r->is_damaged;
}

static void get_insn_count(profile_reader *r, void *item) {
    tl_profile_count *count = item;
    if (!has_owner(r, r->profile->n_insns))
        return;
    OWN(r->profile->insns, r->profile->n_insns, r->profile->counts);
    count->thread = number_below(r, r->profile->n_threads);
    count->event = number_below(r, r->profile->n_events);
    count->n = number(r);
}

static void get_context_count(profile_reader *r, void *item) {
    tl_profile_tally *count = item;
    if (!has_owner(r, r->profile->n_contexts))
        return;
    OWN(r->profile->contexts, r->profile->n_contexts, r->profile->context_counts);
    count->event = number_below(r, r->profile->n_events);
    count->n = number(r);
}

static void get_interval_count(profile_reader *r, void *item) {
    tl_profile_tally *count = item;
    if (!has_owner(r, r->profile->n_intervals))
        return;
    OWN(r->profile->intervals, r->profile->n_intervals, r->profile->interval_counts);
    count->event = number_below(r, r->profile->n_events);
    count->n = number(r);
}

static void get_stint(profile_reader *r, void *item) {
    tl_profile_stint *stint = item;
    stint->thread = number_below(r, r->profile->n_threads);
    stint->hart = number_below(r, UINT32_MAX);
    stint->begin_cycles = number(r);
    stint->end_cycles = number(r);
    r->is_damaged |= stint->end_cycles < stint->begin_cycles;
}

static void get_region(profile_reader *r, void *item) { ((tl_profile_region *)item)->name = text(r, false); }

static void get_visit(profile_reader *r, void *item) {
    tl_profile_visit *visit = item;
    visit->region = number_below(r, r->profile->n_regions);
    visit->begin_cycles = number(r);
    visit->end_cycles = number(r);
    r->is_damaged |= visit->end_cycles < visit->begin_cycles;
}

static void get_sampled(profile_reader *r, void *item) {
    tl_profile_sampled *sampled = item;
    sampled->name = text(r, false);
    sampled->pmu = text(r, false);
    sampled->method = text(r, false);
    sampled->period = number(r);
    sampled->truth = text(r, true);
    sampled->n_samples = number(r);
    sampled->n_lost = number(r);
    r->is_damaged |= sampled->period == 0;
}

static void get_sample(profile_reader *r, void *item) {
    tl_profile_sample *sample = item;
    const uint32_t n_sampled = r->profile->n_sampled;
    if (!has_owner(r, n_sampled))
        return;
    const uint32_t at = (uint32_t)(sample - r->profile->samples), owner = number_below(r, n_sampled);
    tl_profile_sampled *sampled = &r->profile->sampled[owner];
    if (r->is_damaged || sampled->n_groups == 0)
        sampled->first_sample = at;
    sampled->n_groups++;
    sample->insn = number_below(r, r->profile->n_insns);
    sample->thread = number_below(r, r->profile->n_threads);
    sample->n = number(r);
}

static void get_distance(profile_reader *r, void *item) {
    tl_profile_distance *distance = item;
    distance->sampled = number_below(r, r->profile->n_sampled);
    distance->distance = number_below(r, TL_PROFILE_DISTANCES);
    distance->n = number(r);
}

static uint32_t count_rows(profile_reader *r, const char *table) {
    char sql[80];
    uint32_t n = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    if (sqlite3_prepare_v2(r->database, sql, -1, &r->row, NULL) == SQLITE_OK && sqlite3_step(r->row) == SQLITE_ROW) {
        r->column = 0;
        n = number_below(r, UINT32_MAX / 4);
    } else {
        r->is_damaged = true;
    }
    sqlite3_finalize(r->row);
    r->row = NULL;
    return n;
}

typedef struct reader_table {
    const char *name, *sql;
    void **items;
    uint32_t *n;
    size_t item_bytes;
    bool is_numbered; // the first column is the number of the row
    void (*get)(profile_reader *r, void *item);
} reader_table;

// Files of earlier versions do not have these tables.
static bool is_later(const char *table) {
    static const char *const later[] = {"stint", "region", "visit", "sampled", "sample_count", "sample_distance"};
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if (strcmp(table, later[i]) == 0)
            return true;
    return false;
}

static bool has_table(profile_reader *r, const char *name) {
    const bool is_there = sqlite3_prepare_v2(r->database, "SELECT 1 FROM sqlite_schema WHERE name = ?", -1, &r->row, NULL) == SQLITE_OK &&
                          sqlite3_bind_text(r->row, 1, name, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(r->row) == SQLITE_ROW;
    sqlite3_finalize(r->row);
    r->row = NULL;
    return is_there;
}

static void read_table(profile_reader *r, const reader_table *table) {
    r->table = table->name;
    if (is_later(table->name) && !has_table(r, table->name))
        return;
    const uint32_t n = count_rows(r, table->name);
    if (r->is_damaged)
        return;
    *table->items = calloc((size_t)n + 1, table->item_bytes);
    r->lacks_memory |= !*table->items;
    *table->n = n;
    r->is_damaged |= sqlite3_prepare_v2(r->database, table->sql, -1, &r->row, NULL) != SQLITE_OK;
    int step = SQLITE_DONE;
    uint32_t i = 0;
    while (!r->is_damaged && !r->lacks_memory && (step = sqlite3_step(r->row)) == SQLITE_ROW) {
        if (i == n) {
            r->is_damaged = true;
            break;
        }
        r->column = 0;
        r->is_damaged |= table->is_numbered && number(r) != i;
        if (!r->is_damaged)
            table->get(r, (char *)*table->items + i++ * table->item_bytes);
    }
    r->lacks_memory |= step == SQLITE_NOMEM;
    r->is_damaged |= step != SQLITE_DONE || i != n;
    sqlite3_finalize(r->row);
    r->row = NULL;
}

// A chain of inlined calls ends, because each one has a parent that leads to NONE in n steps.
static void check_inlined(profile_reader *r) {
    const tl_profile *p = r->profile;
    uint8_t *is_good = calloc((size_t)p->n_inlined + 1, 1);
    r->table = "inlined";
    r->lacks_memory |= !is_good;
    for (uint32_t i = 0; is_good && i < p->n_inlined && !r->is_damaged; i++) {
        uint32_t at = i, n = 0;
        for (; at != TL_PROFILE_NONE && !is_good[at] && n <= p->n_inlined; n++)
            at = p->inlined[at].parent;
        r->is_damaged |= n > p->n_inlined;
        for (at = i; at != TL_PROFILE_NONE && !is_good[at] && !r->is_damaged; at = p->inlined[at].parent)
            is_good[at] = 1;
    }
    free(is_good);
}

static void check_sums(profile_reader *r) {
    const tl_profile *p = r->profile;
    uint64_t *sums = calloc((size_t)p->n_events + 1, sizeof *sums);
    r->table = "count";
    r->lacks_memory |= !sums;
    for (uint32_t i = 0; sums && i < p->n_counts; i++)
        sums[p->counts[i].event] += p->counts[i].n;
    for (uint32_t i = 0; sums && i < p->n_events; i++)
        r->is_damaged |= p->events[i].kind == TL_PROFILE_SIGNAL ? sums[i] != p->events[i].total : sums[i] != 0;
    free(sums);
}

static void check_sample_sums(profile_reader *r) {
    const tl_profile *p = r->profile;
    r->table = "sample_count";
    for (uint32_t i = 0; i < p->n_sampled; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < p->sampled[i].n_groups; k++)
            sum += p->samples[p->sampled[i].first_sample + k].n;
        r->is_damaged |= sum != p->sampled[i].n_samples;
    }
}

static void check_distance_sums(profile_reader *r) {
    const tl_profile *p = r->profile;
    r->table = "sample_distance";
    for (uint32_t k = 0; k < p->n_distances;) {
        const uint32_t sampled = p->distances[k].sampled;
        uint64_t sum = 0;
        for (; k < p->n_distances && p->distances[k].sampled == sampled; k++)
            sum += p->distances[k].n;
        r->is_damaged |= sum != p->sampled[sampled].n_samples;
    }
}

// Contexts have all of an event, or nothing. Intervals have all of every event, or there are none.
static void check_tallies(profile_reader *r, const char *table, const tl_profile_tally *tallies, uint32_t n, bool must_have_all) {
    const tl_profile *p = r->profile;
    uint64_t *sums = calloc((size_t)p->n_events + 1, sizeof *sums);
    bool *is_counted = calloc((size_t)p->n_events + 1, sizeof *is_counted);
    r->table = table;
    r->lacks_memory |= !sums || !is_counted;
    for (uint32_t i = 0; sums && is_counted && i < n; i++) {
        sums[tallies[i].event] += tallies[i].n;
        is_counted[tallies[i].event] = true;
    }
    for (uint32_t i = 0; sums && is_counted && i < p->n_events; i++) {
        const bool is_signal = p->events[i].kind == TL_PROFILE_SIGNAL;
        r->is_damaged |= (is_counted[i] || (must_have_all && is_signal)) && (!is_signal || sums[i] != p->events[i].total);
    }
    free(sums);
    free(is_counted);
}

static void read_all_tables(profile_reader *r) {
    tl_profile *p = r->profile;
#define ITEMS(member) (void **)&p->member, &p->n_##member, sizeof *p->member
    const reader_table tables[] = {
        {"run", "SELECT name, value FROM run ORDER BY name", ITEMS(settings), false, get_run},
        {"event", "SELECT id, name, kind, unit, meaning, formula, total, place FROM event ORDER BY id", ITEMS(events), true, get_event},
        {"object", "SELECT id, path, kind, build_id FROM object ORDER BY id", ITEMS(objects), true, get_object},
        {"process", "SELECT id, pid, parent, name FROM process ORDER BY id", ITEMS(processes), true, get_process},
        {"thread", "SELECT id, tid, process, name FROM thread ORDER BY id", ITEMS(threads), true, get_thread},
        {"mapping", "SELECT id, process, object, start, finish, offset, bias FROM mapping ORDER BY id", ITEMS(mappings), true, get_mapping},
        {"source", "SELECT id, path, text FROM source ORDER BY id", ITEMS(sources), true, get_source},
        {"function", "SELECT id, object, name, symbol, address, size_bytes, source, line FROM function ORDER BY id", ITEMS(functions), true,
         get_function},
        {"inlined", "SELECT id, parent, name, source, line FROM inlined ORDER BY id", ITEMS(inlined), true, get_inlined},
        {"instruction",
         "SELECT id, object, address, bytes, disassembly, function, source, line, inlined, target FROM instruction ORDER BY id",
         ITEMS(insns), true, get_insn},
        {"count", "SELECT instruction, thread, event, n FROM count ORDER BY instruction, thread, event", ITEMS(counts), false,
         get_insn_count},
        {"context", "SELECT id, thread, parent, call_site, function, n_calls FROM context ORDER BY id", ITEMS(contexts), true, get_context},
        {"context_count", "SELECT context, event, n FROM context_count ORDER BY context, event", ITEMS(context_counts), false,
         get_context_count},
        {"interval", "SELECT id, begin_cycles, end_cycles, begin_ns, end_ns FROM interval ORDER BY id", ITEMS(intervals), true,
         get_interval},
        {"interval_count", "SELECT interval, event, n FROM interval_count ORDER BY interval, event", ITEMS(interval_counts), false,
         get_interval_count},
        {"stint", "SELECT id, thread, hart, begin_cycles, end_cycles FROM stint ORDER BY id", ITEMS(stints), true, get_stint},
        {"region", "SELECT id, name FROM region ORDER BY id", ITEMS(regions), true, get_region},
        {"visit", "SELECT id, region, begin_cycles, end_cycles FROM visit ORDER BY id", ITEMS(visits), true, get_visit},
        {"sampled", "SELECT id, name, pmu, method, period, truth, n_samples, n_lost FROM sampled ORDER BY id", ITEMS(sampled), true,
         get_sampled},
        {"sample_count", "SELECT sampled, instruction, thread, n FROM sample_count ORDER BY sampled, instruction, thread", ITEMS(samples),
         false, get_sample},
        {"sample_distance", "SELECT sampled, distance, n FROM sample_distance ORDER BY sampled, distance", ITEMS(distances), false,
         get_distance},
    };
#undef ITEMS
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && !r->is_damaged && !r->lacks_memory; i++)
        read_table(r, &tables[i]);
    if (!r->is_damaged && !r->lacks_memory)
        check_inlined(r);
    if (!r->is_damaged && !r->lacks_memory)
        check_sums(r);
    if (!r->is_damaged && !r->lacks_memory)
        check_tallies(r, "context_count", r->profile->context_counts, r->profile->n_context_counts, false);
    if (!r->is_damaged && !r->lacks_memory)
        check_tallies(r, "interval_count", r->profile->interval_counts, r->profile->n_interval_counts, r->profile->n_intervals > 0);
    if (!r->is_damaged && !r->lacks_memory)
        check_sample_sums(r);
    if (!r->is_damaged && !r->lacks_memory)
        check_distance_sums(r);
}

static int64_t pragma(profile_reader *r, const char *sql) {
    int64_t value = -1;
    if (sqlite3_prepare_v2(r->database, sql, -1, &r->row, NULL) == SQLITE_OK && sqlite3_step(r->row) == SQLITE_ROW)
        value = sqlite3_column_int64(r->row, 0);
    sqlite3_finalize(r->row);
    r->row = NULL;
    return value;
}

// Every table of the schema has its own words, so that none is a view or computes anything. The
// file may have more.
static bool has_schema(profile_reader *r) {
    static const char sql[] = "SELECT type, sql FROM sqlite_schema WHERE name = ?";
    sqlite3 *model = NULL;
    sqlite3_stmt *wanted = NULL;
    bool is_same = sqlite3_open(":memory:", &model) == SQLITE_OK &&
                   sqlite3_exec(model, tl_profile_schema[0].text, NULL, NULL, NULL) == SQLITE_OK &&
                   sqlite3_prepare_v2(model, "SELECT name, sql FROM sqlite_schema WHERE type = 'table'", -1, &wanted, NULL) == SQLITE_OK;
    while (is_same && sqlite3_step(wanted) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(wanted, 0);
        is_same = sqlite3_prepare_v2(r->database, sql, -1, &r->row, NULL) == SQLITE_OK &&
                  sqlite3_bind_text(r->row, 1, name, -1, SQLITE_STATIC) == SQLITE_OK;
        const bool is_there = is_same && sqlite3_step(r->row) == SQLITE_ROW;
        const char *type = is_there ? (const char *)sqlite3_column_text(r->row, 0) : NULL;
        const char *text_here = is_there ? (const char *)sqlite3_column_text(r->row, 1) : NULL;
        if (is_there)
            is_same =
                type && text_here && strcmp(type, "table") == 0 && strcmp(text_here, (const char *)sqlite3_column_text(wanted, 1)) == 0;
        else
            is_same = is_same && is_later(name);
        sqlite3_finalize(r->row);
        r->row = NULL;
    }
    sqlite3_finalize(wanted);
    sqlite3_close(model);
    return is_same;
}

static tl_status read_database(profile_reader *r, tl_error *err) {
    const int64_t application = pragma(r, "PRAGMA application_id"), version = pragma(r, "PRAGMA user_version");
    r->table = "sqlite_schema";
    if (application < 0)
        return damaged(r, err);
    if (application != TL_PROFILE_APPLICATION_ID)
        return tl_fail(err, TL_EFORMAT, "%s: this is no profile; tally record -o FILE -- PROGRAM makes one", r->name);
    if (version != TL_PROFILE_VERSION)
        return tl_fail(err, TL_EFORMAT, "%s: a profile of version %lld, and this program reads version %d; record it again", r->name,
                       (long long)version, TL_PROFILE_VERSION);
    if (!has_schema(r))
        return damaged(r, err);
    read_all_tables(r);
    return r->is_damaged || r->lacks_memory ? damaged(r, err) : TL_OK;
}

tl_status tl_profile_read(const void *bytes, size_t n_bytes, const char *name, tl_profile **ret_profile, tl_error *err) {
    static const char magic[16] = "SQLite format 3";
    profile_reader r = {.name = name};
    if (n_bytes < 512 || memcmp(bytes, magic, sizeof magic) != 0)
        return tl_fail(err, TL_EFORMAT, "%s: this is no profile; tally record -o FILE -- PROGRAM makes one", name);
    tl_status status = tl_profile_new(&r.profile, err);
    if (status != TL_OK)
        return status;
    if (sqlite3_open_v2(":memory:", &r.database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
        sqlite3_db_config(r.database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
        sqlite3_db_config(r.database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK ||
        sqlite3_deserialize(r.database, "main", (unsigned char *)(uintptr_t)bytes, (sqlite3_int64)n_bytes, (sqlite3_int64)n_bytes,
                            SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        status = tl_fail(err, TL_ENOMEM, "%s: the host has no memory left for the profile", name);
    else
        status = read_database(&r, err);
    sqlite3_close(r.database);
    if (status != TL_OK) {
        tl_profile_release(r.profile);
        return status;
    }
    *ret_profile = r.profile;
    return TL_OK;
}

static tl_status host_failure(const char *path, tl_error *err) {
    const tl_status status = errno == ENOENT ? TL_ENOENT : errno == EACCES ? TL_EACCESS : TL_EIO;
    if (status == TL_ENOENT)
        return tl_fail(err, status, "%s: there is no such file; tally record -- PROGRAM makes tally.profile", path);
    return tl_fail(err, status, "%s: %s", path, strerror(errno));
}

tl_status tl_profile_open(const char *path, tl_profile **ret_profile, tl_error *err) {
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return host_failure(path, err);
    size_t n = 0, room = 0, part = 0;
    char *bytes = NULL;
    tl_status status = TL_OK;
    do {
        n += part;
        if (n == room) {
            char *larger = realloc(bytes, room = room ? 2 * room : 1 << 20);
            if (!larger) {
                status = tl_fail(err, TL_ENOMEM, "%s: the host has no memory left for the profile", path);
                break;
            }
            bytes = larger;
        }
        errno = 0;
        part = fread(bytes + n, 1, room - n, stream);
    } while (part > 0);
    if (status == TL_OK && ferror(stream))
        status = host_failure(path, err);
    fclose(stream);
    if (status == TL_OK)
        status = tl_profile_read(bytes, n, path, ret_profile, err);
    free(bytes);
    return status;
}
