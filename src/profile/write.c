// SPDX-License-Identifier: MIT
// Writes a profile: the database is made in memory, row by row in a fixed order, so that its bytes
// depend on nothing else; then the stream gets them at once.
#include "profile/profile.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "base/text.h"
#include "profile/store.h"

typedef struct writer {
    const tl_profile *profile;
    sqlite3 *database;
    sqlite3_stmt *row; // of the table under way
    int column;
    bool has_failed; // the host has no memory
} writer;

static void run_sql(writer *w, const char *sql) { w->has_failed |= sqlite3_exec(w->database, sql, NULL, NULL, NULL) != SQLITE_OK; }

static void put_number(writer *w, uint64_t n) { w->has_failed |= sqlite3_bind_int64(w->row, ++w->column, (int64_t)n) != SQLITE_OK; }

static void put_index(writer *w, uint32_t index) {
    if (index == TL_PROFILE_NONE)
        w->has_failed |= sqlite3_bind_null(w->row, ++w->column) != SQLITE_OK;
    else
        put_number(w, index);
}

static void put_text(writer *w, const char *text) {
    const int column = ++w->column;
    w->has_failed |= (text ? sqlite3_bind_text(w->row, column, text, -1, SQLITE_STATIC) : sqlite3_bind_null(w->row, column)) != SQLITE_OK;
}

static void put_bytes(writer *w, const void *bytes, uint32_t n_bytes) {
    w->has_failed |= sqlite3_bind_blob64(w->row, ++w->column, bytes ? bytes : "", n_bytes, SQLITE_STATIC) != SQLITE_OK;
}

static void put_run(writer *w, uint32_t i) {
    put_text(w, w->profile->settings[i].name);
    put_text(w, w->profile->settings[i].value);
}

static void put_event(writer *w, uint32_t i) {
    const tl_profile_event *event = &w->profile->events[i];
    put_number(w, i);
    put_text(w, event->name);
    put_text(w, tl_profile_kind_names[event->kind]);
    put_text(w, event->unit);
    put_text(w, event->meaning);
    put_text(w, event->formula);
    put_number(w, event->total);
    put_number(w, event->place);
}

static void put_object(writer *w, uint32_t i) {
    const tl_profile_object *object = &w->profile->objects[i];
    put_number(w, i);
    put_text(w, object->path);
    put_text(w, object->kind);
    put_text(w, object->build_id);
}

static void put_process(writer *w, uint32_t i) {
    const tl_profile_process *process = &w->profile->processes[i];
    put_number(w, i);
    put_number(w, (uint64_t)(int64_t)process->pid);
    put_index(w, process->parent);
    put_text(w, process->name);
}

static void put_thread(writer *w, uint32_t i) {
    const tl_profile_thread *thread = &w->profile->threads[i];
    put_number(w, i);
    put_number(w, (uint64_t)(int64_t)thread->tid);
    put_number(w, thread->process);
    put_text(w, thread->name);
}

static void put_mapping(writer *w, uint32_t i) {
    const tl_profile_mapping *mapping = &w->profile->mappings[i];
    put_number(w, i);
    put_number(w, mapping->process);
    put_number(w, mapping->object);
    put_number(w, mapping->start);
    put_number(w, mapping->end);
    put_number(w, mapping->offset);
    put_number(w, mapping->bias);
}

static void put_source(writer *w, uint32_t i) {
    const tl_profile_source *source = &w->profile->sources[i];
    put_number(w, i);
    put_text(w, source->path);
    if (source->text)
        put_bytes(w, source->text, source->n_bytes);
    else
        put_text(w, NULL);
}

static void put_function(writer *w, uint32_t i) {
    const tl_profile_function *function = &w->profile->functions[i];
    put_number(w, i);
    put_number(w, function->object);
    put_text(w, function->name);
    put_text(w, function->symbol);
    put_number(w, function->address);
    put_number(w, function->size_bytes);
    put_index(w, function->source);
    put_number(w, function->line);
}

static void put_inlined(writer *w, uint32_t i) {
    const tl_profile_inlined *inlined = &w->profile->inlined[i];
    put_number(w, i);
    put_index(w, inlined->parent);
    put_text(w, inlined->name);
    put_index(w, inlined->source);
    put_number(w, inlined->line);
}

static void put_insn(writer *w, uint32_t i) {
    const tl_profile_insn *insn = &w->profile->insns[i];
    put_number(w, i);
    put_number(w, insn->object);
    put_number(w, insn->address);
    put_bytes(w, insn->bytes, insn->n_bytes);
    put_text(w, insn->disassembly);
    put_index(w, insn->function);
    put_index(w, insn->source);
    put_number(w, insn->line);
    put_index(w, insn->inlined);
    if (insn->target == UINT64_MAX)
        put_text(w, NULL);
    else
        put_number(w, insn->target);
}

static void put_context(writer *w, uint32_t i) {
    const tl_profile_context *context = &w->profile->contexts[i];
    put_number(w, i);
    put_number(w, context->thread);
    put_index(w, context->parent);
    put_index(w, context->call_site);
    put_number(w, context->function);
    put_number(w, context->n_calls);
}

static void put_interval(writer *w, uint32_t i) {
    const tl_profile_interval *interval = &w->profile->intervals[i];
    put_number(w, i);
    put_number(w, interval->begin_cycles);
    put_number(w, interval->end_cycles);
    put_number(w, interval->begin_ns);
    put_number(w, interval->end_ns);
}

static void put_stint(writer *w, uint32_t i) {
    const tl_profile_stint *stint = &w->profile->stints[i];
    put_number(w, i);
    put_number(w, stint->thread);
    put_number(w, stint->hart);
    put_number(w, stint->begin_cycles);
    put_number(w, stint->end_cycles);
}

static void put_region(writer *w, uint32_t i) {
    put_number(w, i);
    put_text(w, w->profile->regions[i].name);
}

static void put_visit(writer *w, uint32_t i) {
    const tl_profile_visit *visit = &w->profile->visits[i];
    put_number(w, i);
    put_number(w, visit->region);
    put_number(w, visit->begin_cycles);
    put_number(w, visit->end_cycles);
}

static void put_sampled(writer *w, uint32_t i) {
    const tl_profile_sampled *sampled = &w->profile->sampled[i];
    put_number(w, i);
    put_text(w, sampled->name);
    put_text(w, sampled->pmu);
    put_text(w, sampled->method);
    put_number(w, sampled->period);
    put_text(w, sampled->truth);
    put_number(w, sampled->n_samples);
    put_number(w, sampled->n_lost);
}

static bool begin_rows(writer *w, const char *sql) {
    w->has_failed |= sqlite3_prepare_v2(w->database, sql, -1, &w->row, NULL) != SQLITE_OK;
    return !w->has_failed;
}

static void end_row(writer *w) {
    w->has_failed |= sqlite3_step(w->row) != SQLITE_DONE;
    sqlite3_reset(w->row);
    w->column = 0;
}

static void end_rows(writer *w) {
    sqlite3_finalize(w->row);
    w->row = NULL;
}

// ---- Tables of numbers, which are long. A statement inserts many rows, in half the instructions.

enum { BATCH_ROWS = 50, MAX_NUMBERS = 4 };

typedef struct batch {
    writer *w;
    const char *table;
    uint32_t n_columns;
    sqlite3_stmt *many;
    uint32_t n_rows; // not inserted yet
    uint64_t rows[BATCH_ROWS][MAX_NUMBERS];
} batch;

static sqlite3_stmt *prepare_rows(const batch *b, uint32_t n_rows) {
    char sql[64 + BATCH_ROWS * 2 * (MAX_NUMBERS + 1)];
    sqlite3_stmt *statement = NULL;
    tl_text text = {.buffer = sql, .size_bytes = sizeof sql};
    tl_text_addf(&text, "INSERT INTO %s VALUES", b->table);
    for (uint32_t i = 0; i < n_rows; i++)
        tl_text_addf(&text, "%s(?%s)", i > 0 ? "," : " ", b->n_columns == 4 ? ",?,?,?" : ",?,?");
    b->w->has_failed |= sqlite3_prepare_v2(b->w->database, sql, -1, &statement, NULL) != SQLITE_OK;
    return statement;
}

static void put_rows(batch *b, sqlite3_stmt *statement, uint32_t first, uint32_t n_rows) {
    if (b->w->has_failed)
        return;
    int place = 0;
    for (uint32_t i = first; i < first + n_rows; i++)
        for (uint32_t k = 0; k < b->n_columns; k++)
            b->w->has_failed |= sqlite3_bind_int64(statement, ++place, (sqlite3_int64)b->rows[i][k]) != SQLITE_OK;
    b->w->has_failed |= sqlite3_step(statement) != SQLITE_DONE;
    sqlite3_reset(statement);
}

// n is of a table with four columns.
static void add_row(batch *b, uint64_t x, uint64_t y, uint64_t z, uint64_t n) {
    const uint64_t row[MAX_NUMBERS] = {x, y, z, n};
    memcpy(b->rows[b->n_rows++], row, sizeof row);
    if (b->n_rows < BATCH_ROWS)
        return;
    if (!b->many)
        b->many = prepare_rows(b, BATCH_ROWS);
    put_rows(b, b->many, 0, BATCH_ROWS);
    b->n_rows = 0;
}

static void end_batch(batch *b) {
    sqlite3_stmt *one = b->n_rows > 0 ? prepare_rows(b, 1) : NULL;
    for (uint32_t i = 0; i < b->n_rows; i++)
        put_rows(b, one, i, 1);
    sqlite3_finalize(one);
    sqlite3_finalize(b->many);
}

static void put_insn_counts(writer *w) {
    const tl_profile *p = w->profile;
    batch b = {.w = w, .table = "count", .n_columns = 4};
    for (uint32_t i = 0; i < p->n_insns && !w->has_failed; i++)
        for (uint32_t k = p->insns[i].first_count; k < p->insns[i].first_count + p->insns[i].n_counts; k++)
            add_row(&b, i, p->counts[k].thread, p->counts[k].event, p->counts[k].n);
    end_batch(&b);
}

static void add_tallies(batch *b, uint32_t owner, const tl_profile_tally *tallies, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        add_row(b, owner, tallies[k].event, tallies[k].n, 0);
}

static void put_context_counts(writer *w) {
    const tl_profile *p = w->profile;
    batch b = {.w = w, .table = "context_count", .n_columns = 3};
    for (uint32_t i = 0; i < p->n_contexts && !w->has_failed; i++)
        add_tallies(&b, i, p->context_counts + p->contexts[i].first_count, p->contexts[i].n_counts);
    end_batch(&b);
}

static void put_interval_counts(writer *w) {
    const tl_profile *p = w->profile;
    batch b = {.w = w, .table = "interval_count", .n_columns = 3};
    for (uint32_t i = 0; i < p->n_intervals && !w->has_failed; i++)
        add_tallies(&b, i, p->interval_counts + p->intervals[i].first_count, p->intervals[i].n_counts);
    end_batch(&b);
}

static void put_samples(writer *w) {
    const tl_profile *p = w->profile;
    batch b = {.w = w, .table = "sample_count", .n_columns = 4};
    for (uint32_t i = 0; i < p->n_sampled && !w->has_failed; i++)
        for (uint32_t k = p->sampled[i].first_sample; k < p->sampled[i].first_sample + p->sampled[i].n_groups; k++)
            add_row(&b, i, p->samples[k].insn, p->samples[k].thread, p->samples[k].n);
    end_batch(&b);
}

static void put_distances(writer *w) {
    const tl_profile *p = w->profile;
    batch b = {.w = w, .table = "sample_distance", .n_columns = 3};
    for (uint32_t i = 0; i < p->n_distances && !w->has_failed; i++)
        add_row(&b, p->distances[i].sampled, p->distances[i].distance, p->distances[i].n, 0);
    end_batch(&b);
}

static void put_all(writer *w) {
    const tl_profile *p = w->profile;
    const struct {
        const char *sql;
        uint32_t n;
        void (*put)(writer *w, uint32_t i);
    } tables[] = {
        {"INSERT INTO run VALUES (?, ?)", p->n_settings, put_run},
        {"INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)", p->n_events, put_event},
        {"INSERT INTO object VALUES (?, ?, ?, ?)", p->n_objects, put_object},
        {"INSERT INTO process VALUES (?, ?, ?, ?)", p->n_processes, put_process},
        {"INSERT INTO thread VALUES (?, ?, ?, ?)", p->n_threads, put_thread},
        {"INSERT INTO mapping VALUES (?, ?, ?, ?, ?, ?, ?)", p->n_mappings, put_mapping},
        {"INSERT INTO source VALUES (?, ?, ?)", p->n_sources, put_source},
        {"INSERT INTO function VALUES (?, ?, ?, ?, ?, ?, ?, ?)", p->n_functions, put_function},
        {"INSERT INTO inlined VALUES (?, ?, ?, ?, ?)", p->n_inlined, put_inlined},
        {"INSERT INTO instruction VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", p->n_insns, put_insn},
        {"INSERT INTO context VALUES (?, ?, ?, ?, ?, ?)", p->n_contexts, put_context},
        {"INSERT INTO interval VALUES (?, ?, ?, ?, ?)", p->n_intervals, put_interval},
        {"INSERT INTO stint VALUES (?, ?, ?, ?, ?)", p->n_stints, put_stint},
        {"INSERT INTO region VALUES (?, ?)", p->n_regions, put_region},
        {"INSERT INTO visit VALUES (?, ?, ?, ?)", p->n_visits, put_visit},
        {"INSERT INTO sampled VALUES (?, ?, ?, ?, ?, ?, ?, ?)", p->n_sampled, put_sampled},
    };
    for (size_t t = 0; t < sizeof tables / sizeof tables[0] && begin_rows(w, tables[t].sql); t++) {
        for (uint32_t i = 0; i < tables[t].n && !w->has_failed; i++) {
            tables[t].put(w, i);
            end_row(w);
        }
        end_rows(w);
    }
    put_insn_counts(w);
    put_context_counts(w);
    put_interval_counts(w);
    put_samples(w);
    put_distances(w);
}

tl_status tl_profile_write(const tl_profile *profile, FILE *stream, const char *name, tl_error *err) {
    writer w = {.profile = profile};
    char pragmas[256];
    w.has_failed =
        sqlite3_open_v2("profile", &w.database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, "memdb") != SQLITE_OK;
    // One connection writes the file once, in memory, and drops it when anything fails: no journal.
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; "
             "PRAGMA application_id = %d; PRAGMA user_version = %d",
             TL_PROFILE_APPLICATION_ID, TL_PROFILE_VERSION);
    if (!w.has_failed) {
        run_sql(&w, pragmas);
        run_sql(&w, "BEGIN");
        run_sql(&w, tl_profile_schema[0].text);
        put_all(&w);
        run_sql(&w, "COMMIT");
    }
    sqlite3_int64 n_bytes = 0;
    unsigned char *bytes = w.has_failed ? NULL : sqlite3_serialize(w.database, "main", &n_bytes, SQLITE_SERIALIZE_NOCOPY);
    tl_status status = TL_OK;
    if (!bytes)
        status = tl_fail(err, TL_ENOMEM, "%s: the host has no memory left for the profile", name);
    else if (fwrite(bytes, 1, (size_t)n_bytes, stream) != (size_t)n_bytes || fflush(stream) != 0)
        status = tl_fail(err, TL_EIO, "%s: %s", name, strerror(errno));
    sqlite3_finalize(w.row);
    sqlite3_close(w.database);
    return status;
}
