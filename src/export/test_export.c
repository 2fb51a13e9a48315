// SPDX-License-Identifier: MIT
// Exports of a call graph that is worked out by hand: main calls f, which calls itself twice; an
// inlined call stands in main. Readers of these formats open exports of real programs in
// tests/cli/exports.py.
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "export/export.h"
#include "export/intern.h"

enum { MAIN, F, N_FUNCTIONS };
enum { IN_MAIN, CALL_IN_MAIN, INLINED_IN_MAIN, IN_F, CALL_IN_F, N_INSNS };

static tl_profile *graph(bool has_contexts) {
    static const uint64_t executed[N_INSNS] = {2, 1, 2, 27, 4};
    tl_profile *p;
    assert_int_equal(tl_profile_new(&p, NULL), TL_OK);
    *(tl_profile_setting *)TL_PROFILE_ADD(p, settings) = (tl_profile_setting){"program", "prog"};
    *(tl_profile_event *)TL_PROFILE_ADD(p, events) =
        (tl_profile_event){.name = "hart.instret", .unit = "", .meaning = "Retired.", .total = 36};
    *(tl_profile_event *)TL_PROFILE_ADD(p, events) = (tl_profile_event){
        .name = "instructions", .unit = "", .meaning = "Retired.", .kind = TL_PROFILE_ALIAS, .formula = "hart.instret", .place = 1};
    *(tl_profile_event *)TL_PROFILE_ADD(p, events) =
        (tl_profile_event){.name = "l1d.load_miss", .unit = "", .meaning = "Misses.", .total = 3};
    *(tl_profile_event *)TL_PROFILE_ADD(p, events) = (tl_profile_event){
        .name = "mpki", .unit = "", .meaning = "Rate.", .kind = TL_PROFILE_METRIC, .formula = "l1d.load_miss * 1000 / hart.instret"};
    *(tl_profile_object *)TL_PROFILE_ADD(p, objects) = (tl_profile_object){"/bin/a;b", "program", ""};
    *(tl_profile_process *)TL_PROFILE_ADD(p, processes) = (tl_profile_process){1000, TL_PROFILE_NONE, "prog"};
    *(tl_profile_thread *)TL_PROFILE_ADD(p, threads) = (tl_profile_thread){1000, 0, "prog"};
    *(tl_profile_source *)TL_PROFILE_ADD(p, sources) = (tl_profile_source){"a.c", NULL, 0};
    *(tl_profile_function *)TL_PROFILE_ADD(p, functions) =
        (tl_profile_function){.source = 0, .line = 10, .name = "main", .symbol = "main", .address = 0x1000, .size_bytes = 12};
    *(tl_profile_function *)TL_PROFILE_ADD(p, functions) =
        (tl_profile_function){.source = 0, .line = 1, .name = "f;(int)", .symbol = "_Z1fi", .address = 0x2000, .size_bytes = 8};
    *(tl_profile_inlined *)TL_PROFILE_ADD(p, inlined) =
        (tl_profile_inlined){.parent = TL_PROFILE_NONE, .name = "small", .source = 0, .line = 12};
    for (uint32_t i = 0; i < N_INSNS; i++) {
        *(tl_profile_insn *)TL_PROFILE_ADD(p, insns) = (tl_profile_insn){.address = i < IN_F ? 0x1000 + 4 * i : 0x2000 + 4 * (i - IN_F),
                                                                         .target = UINT64_MAX,
                                                                         .function = i < IN_F ? MAIN : F,
                                                                         .inlined = i == INLINED_IN_MAIN ? 0 : TL_PROFILE_NONE,
                                                                         .line = 11 + i,
                                                                         .first_count = p->n_counts,
                                                                         .n_counts = 1,
                                                                         .n_bytes = 4,
                                                                         .disassembly = ""};
        *(tl_profile_count *)TL_PROFILE_ADD(p, counts) = (tl_profile_count){0, 0, executed[i]};
        if (i == IN_F) {
            *(tl_profile_count *)TL_PROFILE_ADD(p, counts) = (tl_profile_count){0, 2, 3};
            p->insns[i].n_counts = 2;
        }
    }
    static const struct {
        uint32_t parent, call_site, function;
        uint64_t n_calls, n_insns;
    } contexts[] = {
        {TL_PROFILE_NONE, TL_PROFILE_NONE, MAIN, 1, 5}, {0, CALL_IN_MAIN, F, 3, 7}, {1, CALL_IN_F, F, 2, 11}, {2, CALL_IN_F, F, 1, 13}};
    for (uint32_t i = 0; i < 4 && has_contexts; i++) {
        *(tl_profile_context *)TL_PROFILE_ADD(p, contexts) = (tl_profile_context){.thread = 0,
                                                                                  .parent = contexts[i].parent,
                                                                                  .call_site = contexts[i].call_site,
                                                                                  .function = contexts[i].function,
                                                                                  .n_calls = contexts[i].n_calls,
                                                                                  .first_count = i,
                                                                                  .n_counts = 1};
        *(tl_profile_tally *)TL_PROFILE_ADD(p, context_counts) = (tl_profile_tally){0, contexts[i].n_insns};
    }
    return p;
}

static char *exported(const tl_profile *p, const char *format, const char *events) {
    char *text = NULL;
    size_t n;
    FILE *stream = open_memstream(&text, &n);
    tl_error err = {0};
    if (tl_export_profile(p, tl_export_find_format(format), events, stream, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void expect(bool has_contexts, const char *format, const char *events, const char *wanted) {
    tl_profile *p = graph(has_contexts);
    char *text = exported(p, format, events);
    assert_string_equal(text, wanted);
    free(text);
    tl_profile_release(p);
}

static void test_folded_stacks_are_calling_contexts(void **state) {
    (void)state;
    expect(true, "folded", NULL, "prog;main 5\nprog;main;f:(int) 7\nprog;main;f:(int);f:(int) 11\nprog;main;f:(int);f:(int);f:(int) 13\n");
}

static void test_without_a_call_graph_stacks_are_functions_and_inlined_calls(void **state) {
    (void)state;
    expect(false, "folded", NULL, "prog;main 3\nprog;main;small 2\nprog;f:(int) 31\n");
    expect(true, "folded", "l1d.load_miss", "prog;f:(int) 3\n"); // recorded without contexts
}

// f calls itself three times. These calls have no cost, because it is in that of the call by main.
static void test_callgrind_has_calls_with_inclusive_costs(void **state) {
    (void)state;
    expect(
        true, "callgrind", NULL,
        "# callgrind format\nversion: 1\ncreator: tally\npid: 1000\ncmd: prog\ndesc: Machine: \npositions: instr line\nevents: instructions\n"
        "\nob=(1) /bin/a;b\nfl=(1) a.c\nfn=(1) main\n0x1000 11 2\n0x1004 12 1\n0x1008 13 2\n"
        "cob=(1)\ncfi=(1)\ncfn=(2) f;(int)\ncalls=3 0x2000 1\n0x1004 12 31\n"
        "\nob=(1)\nfl=(1)\nfn=(2)\n0x2000 14 27\n0x2004 15 4\n"
        "cob=(1)\ncfi=(1)\ncfn=(2)\ncalls=3 0x2000 1\n0x2004 15 0\n"
        "\ntotals: 36\n");
}

static void test_perf_script_has_the_innermost_frame_first(void **state) {
    (void)state;
    tl_profile *p = graph(true);
    char *text = exported(p, "perf-script", NULL);
    const char *wanted = "prog 1000/1000 [000] 0.000000:          7 instructions:\n"
                         "\t            2000 _Z1fi (/bin/a;b)\n\t            1004 main (/bin/a;b)\n\n";
    assert_non_null(strstr(text, wanted));
    free(text);
    tl_profile_release(p);
}

static void test_events_that_do_not_add_up_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *events, *said;
        tl_status status;
    } rows[] = {{"mpki", "mpki does not add up over instructions", TL_EINVAL},
                {"instructons", "did you mean instructions", TL_ENOENT},
                {"z*", "no event z*", TL_ENOENT},
                {",", "no event to export is named", TL_EINVAL}};
    tl_profile *p = graph(true);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_error err = {0};
        FILE *stream = fopen("/dev/null", "w");
        assert_int_equal(tl_export_profile(p, tl_export_find_format("folded"), rows[i].events, stream, &err), rows[i].status);
        if (!strstr(err.text, rows[i].said))
            fail_msg("%s: %s", rows[i].events, err.text);
        fclose(stream);
    }
    tl_profile_release(p);
}

static void test_numbers_of_texts_are_in_order_of_first_use(void **state) {
    (void)state;
    tl_intern in = {0};
    bool is_new;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            assert_int_equal(tl_intern_textf(&in, &is_new, "text %u", i), i);
            assert_int_equal(is_new, round == 0);
        }
    }
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(tl_intern_textf(&in, &is_new, "%s", longer), 5000);
    assert_string_equal(in.texts[5000], longer);
    tl_intern_done(&in);
}

// Profiles are hostile: a formula that uses itself, and one whose names double at each step.
static void test_formulas_without_end_are_refused(void **state) {
    (void)state;
    tl_profile *p = graph(false);
    char names[16][2][32];
    p->events[3].formula = "mpki + 1";
    for (uint32_t i = 0; i < 15; i++) {
        snprintf(names[i][0], 32, "e%u", i);
        snprintf(names[i][1], 32, i == 14 ? "hart.instret" : "e%u+e%u+e%u+e%u", i + 1, i + 1, i + 1, i + 1);
        *(tl_profile_event *)TL_PROFILE_ADD(p, events) =
            (tl_profile_event){.name = names[i][0], .unit = "", .meaning = "", .kind = TL_PROFILE_ALIAS, .formula = names[i][1]};
    }
    tl_error err = {0};
    assert_int_equal(tl_export_profile(p, tl_export_find_format("folded"), "mpki", stdout, &err), TL_EFORMAT);
    assert_string_equal(err.text, "formula 'mpki + 1': column 1: mpki: its formula uses itself, or formulas in each other without end");
    assert_int_equal(tl_export_profile(p, tl_export_find_format("folded"), "e0", stdout, &err), TL_EFORMAT);
    assert_string_equal(err.text, "formula 'e1+e1+e1+e1': column 1: e1: its formula uses too many names with all that it is made of");
    tl_profile_release(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded_stacks_are_calling_contexts),
        cmocka_unit_test(test_without_a_call_graph_stacks_are_functions_and_inlined_calls),
        cmocka_unit_test(test_callgrind_has_calls_with_inclusive_costs),
        cmocka_unit_test(test_perf_script_has_the_innermost_frame_first),
        cmocka_unit_test(test_events_that_do_not_add_up_are_refused),
        cmocka_unit_test(test_formulas_without_end_are_refused),
        cmocka_unit_test(test_numbers_of_texts_are_in_order_of_first_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
