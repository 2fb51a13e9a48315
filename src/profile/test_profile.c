// SPDX-License-Identifier: MIT
// The file of a profile: it holds all that was written, its bytes repeat, and bytes of others are
// refused with a sentence.
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "profile/profile.h"

// Two threads, three instructions, one inlined call, a context inside a context, an interval.
static tl_profile *small_profile(void) {
    tl_profile *p;
    assert_int_equal(tl_profile_new(&p, NULL), TL_OK);
    *(tl_profile_setting *)TL_PROFILE_ADD(p, settings) = (tl_profile_setting){"machine", "tiny"};
    *(tl_profile_setting *)TL_PROFILE_ADD(p, settings) = (tl_profile_setting){"program", "loop"};
    *(tl_profile_event *)TL_PROFILE_ADD(p, events) =
        (tl_profile_event){.name = "hart.instret", .unit = "", .meaning = "Counts.", .total = 7 + 11 + 13, .place = 1};
    *(tl_profile_event *)TL_PROFILE_ADD(p, events) =
        (tl_profile_event){.name = "l1d.load_miss", .unit = "", .meaning = "Misses.", .total = 5};
    *(tl_profile_event *)TL_PROFILE_ADD(p, events) =
        (tl_profile_event){.name = "machine.line", .unit = "bytes", .meaning = "", .kind = TL_PROFILE_CONSTANT, .total = UINT64_MAX};
    *(tl_profile_event *)TL_PROFILE_ADD(p, events) = (tl_profile_event){
        .name = "mpki", .unit = "", .meaning = "", .kind = TL_PROFILE_METRIC, .formula = "l1d.load_miss * 1000 / hart.instret"};
    *(tl_profile_object *)TL_PROFILE_ADD(p, objects) = (tl_profile_object){"/bin/loop", "program", "ab01"};
    *(tl_profile_process *)TL_PROFILE_ADD(p, processes) = (tl_profile_process){1000, TL_PROFILE_NONE, "loop"};
    *(tl_profile_process *)TL_PROFILE_ADD(p, processes) = (tl_profile_process){1001, 0, "child"};
    *(tl_profile_thread *)TL_PROFILE_ADD(p, threads) = (tl_profile_thread){1000, 0, "loop"};
    *(tl_profile_thread *)TL_PROFILE_ADD(p, threads) = (tl_profile_thread){1001, 1, "child"};
    *(tl_profile_mapping *)TL_PROFILE_ADD(p, mappings) = (tl_profile_mapping){1, 0, 0x2aaaab0000, 0x2aaaab1000, 0x1000, 0x2aaaaaf000};
    *(tl_profile_source *)TL_PROFILE_ADD(p, sources) = (tl_profile_source){"loop.c", "int f;\n", 7};
    *(tl_profile_source *)TL_PROFILE_ADD(p, sources) = (tl_profile_source){"none.c", NULL, 0};
    *(tl_profile_function *)TL_PROFILE_ADD(p, functions) = (tl_profile_function){
        .object = 0, .source = 0, .line = 3, .name = "f(int)", .symbol = "_Z1fi", .address = 0x1000, .size_bytes = 12};
    *(tl_profile_inlined *)TL_PROFILE_ADD(p, inlined) =
        (tl_profile_inlined){.parent = TL_PROFILE_NONE, .name = "outer", .source = 0, .line = 4};
    *(tl_profile_inlined *)TL_PROFILE_ADD(p, inlined) = (tl_profile_inlined){.parent = 0, .name = "inner", .source = 1, .line = 9};
    for (uint32_t i = 0; i < 3; i++) {
        tl_profile_insn *insn = TL_PROFILE_ADD(p, insns);
        *insn = (tl_profile_insn){.address = 0x1000 + 4 * i,
                                  .target = i == 2 ? 0x1000 : UINT64_MAX,
                                  .function = i == 1 ? TL_PROFILE_NONE : 0,
                                  .source = i == 1 ? TL_PROFILE_NONE : 1,
                                  .inlined = i == 2 ? 1 : TL_PROFILE_NONE,
                                  .line = 20 * i,
                                  .first_count = p->n_counts,
                                  .n_bytes = 4,
                                  .bytes = {0x13, 0x05, 0x15, (uint8_t)i},
                                  .disassembly = i == 1 ? "" : "addi a0, a0, 1"};
        *(tl_profile_count *)TL_PROFILE_ADD(p, counts) = (tl_profile_count){i == 2, 0, (const uint64_t[]){7, 11, 13}[i]};
        if (i == 0)
            *(tl_profile_count *)TL_PROFILE_ADD(p, counts) = (tl_profile_count){1, 1, 5};
        p->insns[i].n_counts = p->n_counts - insn->first_count;
    }
    *(tl_profile_context *)TL_PROFILE_ADD(p, contexts) =
        (tl_profile_context){.thread = 0, .parent = TL_PROFILE_NONE, .call_site = TL_PROFILE_NONE, .n_calls = 1, .n_counts = 1};
    *(tl_profile_context *)TL_PROFILE_ADD(p, contexts) =
        (tl_profile_context){.thread = 1, .parent = 0, .call_site = 2, .n_calls = UINT64_MAX, .first_count = 1, .n_counts = 2};
    *(tl_profile_tally *)TL_PROFILE_ADD(p, context_counts) = (tl_profile_tally){0, 17};
    *(tl_profile_tally *)TL_PROFILE_ADD(p, context_counts) = (tl_profile_tally){0, 14};
    *(tl_profile_tally *)TL_PROFILE_ADD(p, context_counts) = (tl_profile_tally){1, 5};
    *(tl_profile_interval *)TL_PROFILE_ADD(p, intervals) = (tl_profile_interval){0, 100, 0, 50, 0, 1};
    *(tl_profile_interval *)TL_PROFILE_ADD(p, intervals) = (tl_profile_interval){100, 140, 50, 70, 1, 2};
    *(tl_profile_tally *)TL_PROFILE_ADD(p, interval_counts) = (tl_profile_tally){1, 2};
    *(tl_profile_tally *)TL_PROFILE_ADD(p, interval_counts) = (tl_profile_tally){0, 31};
    *(tl_profile_tally *)TL_PROFILE_ADD(p, interval_counts) = (tl_profile_tally){1, 3};
    *(tl_profile_stint *)TL_PROFILE_ADD(p, stints) = (tl_profile_stint){1, 3, 10, 20};
    *(tl_profile_region *)TL_PROFILE_ADD(p, regions) = (tl_profile_region){"solve"};
    *(tl_profile_visit *)TL_PROFILE_ADD(p, visits) = (tl_profile_visit){0, 11, 12};
    *(tl_profile_sampled *)TL_PROFILE_ADD(p, sampled) =
        (tl_profile_sampled){"insns", "pmu:one", "interrupt", "hart.instret", 4, 5, 1, 0, 2};
    *(tl_profile_sampled *)TL_PROFILE_ADD(p, sampled) = (tl_profile_sampled){"other", "pmu:one", "interrupt", NULL, 9, 3, 0, 2, 1};
    *(tl_profile_sample *)TL_PROFILE_ADD(p, samples) = (tl_profile_sample){0, 1, 2};
    *(tl_profile_sample *)TL_PROFILE_ADD(p, samples) = (tl_profile_sample){2, 0, 3};
    *(tl_profile_sample *)TL_PROFILE_ADD(p, samples) = (tl_profile_sample){1, 0, 3};
    *(tl_profile_distance *)TL_PROFILE_ADD(p, distances) = (tl_profile_distance){1, 0, 1};
    *(tl_profile_distance *)TL_PROFILE_ADD(p, distances) = (tl_profile_distance){1, 69, 2};
    return p;
}

static char *written(const tl_profile *p, size_t *ret_n) {
    char *bytes = NULL;
    FILE *stream = open_memstream(&bytes, ret_n);
    tl_error err = {0};
    if (tl_profile_write(p, stream, "small", &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(fclose(stream), 0);
    return bytes;
}

static void test_a_file_holds_all_that_was_written(void **state) {
    (void)state;
    tl_profile *p = small_profile(), *again;
    size_t n, n_again;
    char *bytes = written(p, &n);
    tl_error err = {0};
    if (tl_profile_read(bytes, n, "small", &again, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(again->n_settings, 2);
    assert_string_equal(tl_profile_setting_of(again, "program"), "loop");
    assert_string_equal(tl_profile_setting_of(again, "none"), "");
    assert_int_equal(tl_profile_find_event(again, "mpki"), 3);
    assert_int_equal(tl_profile_find_event(again, "none"), TL_PROFILE_NONE);
    assert_string_equal(again->events[3].formula, "l1d.load_miss * 1000 / hart.instret");
    assert_int_equal(again->events[2].kind, TL_PROFILE_CONSTANT);
    assert_true(again->events[0].place == 1 && again->events[1].place == 0);
    assert_int_equal(again->processes[1].parent, 0);
    assert_int_equal(again->mappings[0].bias, 0x2aaaaaf000);
    assert_int_equal(again->mappings[0].end, 0x2aaaab1000);
    assert_string_equal(again->sources[0].text, "int f;\n");
    assert_null(again->sources[1].text);
    assert_string_equal(again->functions[0].symbol, "_Z1fi");
    assert_int_equal(again->inlined[1].parent, 0);
    assert_int_equal(again->insns[2].target, 0x1000);
    assert_true(again->insns[1].target == UINT64_MAX && again->insns[1].function == TL_PROFILE_NONE);
    assert_memory_equal(again->insns[2].bytes, ((const uint8_t[]){0x13, 0x05, 0x15, 2}), 4);
    assert_int_equal(again->insns[0].n_counts, 2);
    assert_int_equal(again->counts[1].n, 5);
    assert_int_equal(again->contexts[1].call_site, 2);
    assert_int_equal(again->context_counts[2].n, 5);
    assert_true(again->contexts[1].n_calls == UINT64_MAX && again->events[2].total == UINT64_MAX);
    assert_int_equal(again->intervals[0].end_ns, 50);
    assert_true(again->stints[0].hart == 3 && again->stints[0].end_cycles == 20 && again->visits[0].begin_cycles == 11);
    assert_string_equal(again->regions[0].name, "solve");
    assert_true(again->n_sampled == 2 && again->sampled[1].first_sample == 2 && again->sampled[0].n_lost == 1);
    assert_string_equal(again->sampled[0].truth, "hart.instret");
    assert_null(again->sampled[1].truth);
    assert_int_equal(again->samples[1].insn, 2);
    assert_true(again->n_distances == 2 && again->distances[1].distance == 69 && again->distances[1].n == 2);
    char *bytes_again = written(again, &n_again); // all of it
    assert_int_equal(n, n_again);
    assert_memory_equal(bytes, bytes_again, n);
    free(bytes_again);
    free(bytes);
    tl_profile_release(again);
    tl_profile_release(p);
}

static char *changed(const char *sql, size_t *ret_n) {
    tl_profile *p = small_profile();
    size_t n;
    char *bytes = written(p, &n);
    tl_profile_release(p);
    sqlite3 *database;
    sqlite3_int64 n_changed;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    unsigned char *copy = sqlite3_malloc64(n);
    memcpy(copy, bytes, n);
    free(bytes);
    assert_int_equal(sqlite3_deserialize(database, "main", copy, (sqlite3_int64)n, (sqlite3_int64)n,
                                         SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE),
                     SQLITE_OK);
    char *why = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    unsigned char *changed_bytes = sqlite3_serialize(database, "main", &n_changed, 0);
    char *result = malloc((size_t)n_changed);
    memcpy(result, changed_bytes, (size_t)n_changed);
    sqlite3_free(changed_bytes);
    sqlite3_close(database);
    *ret_n = (size_t)n_changed;
    return result;
}

static void test_a_changed_file_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *sql, *sentence; // NULL: it is read
    } rows[] = {
        {"UPDATE count SET n = 12 WHERE instruction = 1", "damaged in its table count"},
        {"UPDATE count SET event = 3 WHERE instruction = 0 AND event = 1", "damaged in its table count"},
        {"UPDATE count SET thread = 2 WHERE instruction = 1", "damaged in its table count"},
        {"UPDATE count SET instruction = 3 WHERE instruction = 2", "damaged in its table count"},
        {"UPDATE instruction SET function = 1 WHERE id = 0", "damaged in its table instruction"},
        {"UPDATE instruction SET source = 2 WHERE id = 0", "damaged in its table instruction"},
        {"UPDATE instruction SET inlined = 2 WHERE id = 0", "damaged in its table instruction"},
        {"UPDATE instruction SET line = -1 WHERE id = 0", "damaged in its table instruction"},
        {"UPDATE instruction SET bytes = zeroblob(17) WHERE id = 0", "damaged in its table instruction"},
        {"UPDATE instruction SET id = 9 WHERE id = 2", "damaged in its table instruction"},
        {"UPDATE inlined SET parent = 1 WHERE id = 0", "damaged in its table inlined"},
        {"UPDATE inlined SET parent = 0 WHERE id = 0", "damaged in its table inlined"},
        {"UPDATE context SET parent = 1 WHERE id = 1", "damaged in its table context"},
        {"UPDATE context SET call_site = 3 WHERE id = 1", "damaged in its table context"},
        {"UPDATE context_count SET event = 4 WHERE context = 0", "damaged in its table context_count"},
        {"UPDATE context_count SET n = 16 WHERE context = 0", "damaged in its table context_count"},
        {"UPDATE context_count SET n = 6 WHERE event = 1", "damaged in its table context_count"},
        {"INSERT INTO context_count VALUES (1, 2, 0)", "damaged in its table context_count"},
        {"DELETE FROM context_count WHERE context = 0", "damaged in its table context_count"},
        {"DELETE FROM context_count", NULL},
        {"UPDATE interval_count SET interval = 2 WHERE interval = 1", "damaged in its table interval_count"},
        {"UPDATE interval_count SET n = 3 WHERE interval = 0", "damaged in its table interval_count"},
        {"UPDATE interval_count SET event = 2 WHERE interval = 0", "damaged in its table interval_count"},
        {"DELETE FROM interval_count", "damaged in its table interval_count"},
        {"DELETE FROM interval_count; DELETE FROM interval", NULL},
        {"UPDATE interval SET end_cycles = 99 WHERE id = 1", "damaged in its table interval"},
        {"UPDATE interval SET begin_ns = 71 WHERE id = 1", "damaged in its table interval"},
        {"UPDATE stint SET thread = 2", "damaged in its table stint"},
        {"UPDATE stint SET end_cycles = 9", "damaged in its table stint"},
        {"UPDATE visit SET region = 1", "damaged in its table visit"},
        {"UPDATE visit SET end_cycles = 10", "damaged in its table visit"},
        {"UPDATE thread SET process = 2 WHERE id = 1", "damaged in its table thread"},
        {"UPDATE thread SET tid = 3000000000 WHERE id = 1", "damaged in its table thread"},
        {"UPDATE mapping SET object = 1", "damaged in its table mapping"},
        {"UPDATE event SET formula = NULL WHERE id = 3", "damaged in its table event"},
        {"UPDATE event SET total = 32 WHERE id = 0", "damaged in its table count"},
        {"UPDATE event SET total = 'many' WHERE id = 0", "damaged in its table event"},
        {"UPDATE sampled SET n_samples = 6 WHERE id = 0", "damaged in its table sample_count"},
        {"UPDATE sampled SET period = 0 WHERE id = 1", "damaged in its table sampled"},
        {"UPDATE sample_count SET n = 4 WHERE sampled = 1", "damaged in its table sample_count"},
        {"UPDATE sample_count SET sampled = 2 WHERE sampled = 1", "damaged in its table sample_count"},
        {"UPDATE sample_count SET instruction = 3 WHERE sampled = 1", "damaged in its table sample_count"},
        {"UPDATE sample_count SET thread = 2 WHERE sampled = 1", "damaged in its table sample_count"},
        {"DROP TABLE sampled", "damaged in its table sample_count"},
        {"DROP TABLE sample_count", "damaged in its table sample_count"},
        {"UPDATE sample_distance SET n = 3 WHERE distance = 69", "damaged in its table sample_distance"},
        {"UPDATE sample_distance SET sampled = 2", "damaged in its table sample_distance"},
        {"UPDATE sample_distance SET distance = 4096 WHERE distance = 69", "damaged in its table sample_distance"},
        {"DELETE FROM sample_distance", NULL},
        {"DROP TABLE sample_distance", NULL}, // as earlier versions wrote it
        {"DROP TABLE sampled; DROP TABLE sample_count; DROP TABLE sample_distance", NULL},
        {"DROP TABLE sampled; CREATE VIEW sampled AS SELECT 'a' AS name", "damaged in its table sqlite_schema"},
        {"DROP TABLE context", "damaged in its table sqlite_schema"},
        {"DROP TABLE run; CREATE VIEW run AS SELECT 'a' AS name, 'b' AS value", "damaged in its table sqlite_schema"},
        {"PRAGMA application_id = 7", "this is no profile"},
        {"PRAGMA user_version = 2", "a profile of version 2, and this program reads version 1"},
        {"CREATE TABLE notes (text); CREATE INDEX by_line ON instruction (source, line)", NULL},
        {"UPDATE instruction SET line = 77", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n;
        tl_error err = {0};
        tl_profile *p = NULL;
        char *bytes = changed(rows[i].sql, &n);
        const tl_status status = tl_profile_read(bytes, n, "x.profile", &p, &err);
        if (status != (rows[i].sentence ? TL_EFORMAT : TL_OK) || (rows[i].sentence && !strstr(err.text, rows[i].sentence)))
            fail_msg("%s: %d %s", rows[i].sql, status, err.text);
        assert_true(status == TL_OK || strncmp(err.text, "x.profile: ", 11) == 0);
        tl_profile_release(p);
        free(bytes);
    }
}

// A cut file, and one with any byte wrong, is refused or is a profile with good indexes and sums.
static void test_no_byte_of_a_file_is_trusted(void **state) {
    (void)state;
    tl_profile *p = small_profile(), *read;
    size_t n;
    char *bytes = written(p, &n);
    uint32_t n_refused = 0;
    for (size_t at = 0; at < n; at += at < 128 ? 1 : 331) {
        const char was = bytes[at];
        bytes[at] = (char)(was ^ (1 << at % 8));
        if (tl_profile_read(bytes, n, "x", &read, NULL) == TL_OK)
            tl_profile_release(read);
        else
            n_refused++;
        bytes[at] = was;
    }
    assert_true(n_refused > 40);
    for (size_t cut = 0; cut < n; cut += 509)
        assert_int_equal(tl_profile_read(bytes, cut, "x", &read, NULL), TL_EFORMAT);
    assert_int_equal(tl_profile_read("#!/bin/sh\n", 10, "x", &read, NULL), TL_EFORMAT);
    free(bytes);
    tl_profile_release(p);
}

static void test_a_stream_that_fails_is_told(void **state) {
    (void)state;
    tl_profile *p = small_profile(), *read;
    tl_error err = {0};
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(tl_profile_write(p, full, "out.profile", &err), TL_EIO);
    assert_string_equal(err.text, "out.profile: No space left on device");
    fclose(full);
    assert_int_equal(tl_profile_open("/nowhere/at/all", &read, &err), TL_ENOENT);
    assert_non_null(strstr(err.text, "/nowhere/at/all: there is no such file"));
    assert_int_equal(tl_profile_open("/", &read, &err), TL_EIO);
    tl_profile_release(p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_file_holds_all_that_was_written),
    cmocka_unit_test(test_a_changed_file_is_refused),
    cmocka_unit_test(test_no_byte_of_a_file_is_trusted),
    cmocka_unit_test(test_a_stream_that_fails_is_told),
};

TL_TEST_MAIN(tests)
