// SPDX-License-Identifier: MIT
// The option parser: meaning of each spelling, and consistency of the tables.
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "parser.h"

enum { MAX_WORDS = 32 };

static char *environment[] = {"HOME=/home", "EMPTY=", NULL};

typedef struct line {
    cli_options options;
    bool is_good;
    char error[256];
    char *argv[MAX_WORDS + 1], text[256]; // the options point into these
} line;

static void parse(line *ret_line, const char *words) {
    char **argv = ret_line->argv;
    int argc = 0;
    snprintf(ret_line->text, sizeof ret_line->text, "tally %s", words);
    for (char *word = strtok(ret_line->text, " "); word && argc < MAX_WORDS; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    ret_line->is_good = cli_parse(argc, argv, environment, &ret_line->options, ret_line->error, sizeof ret_line->error);
}

static void test_letters_and_names_mean_the_same(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"stat -j -A -dd prog", "stat --json --per-hart --detailed --detailed prog"},
        {"stat -jAdd prog", "stat --json --no-aggr --detailed -d prog"},
        {"stat -I1M prog", "stat --interval=1Mi prog"},
        {"stat -I 5 prog", "stat --interval-print 5ms prog"},
        {"stat -r3 prog", "stat --repeat 3 prog"},
        {"stat -m u74 prog", "stat --machine=u74 prog"},
        {"stat --per-u -x; prog", "stat --per-unit --field-separator ; prog"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        line a, b;
        parse(&a, pairs[i][0]);
        parse(&b, pairs[i][1]);
        if (!a.is_good || !b.is_good)
            fail_msg("%s: %s%s", pairs[i][0], a.error, b.error);
        assert_int_equal(a.options.report.format, b.options.report.format);
        assert_int_equal(a.options.report.detail, b.options.report.detail);
        assert_int_equal(a.options.run.per_hart, b.options.run.per_hart);
        assert_int_equal(a.options.run.per_unit, b.options.run.per_unit);
        assert_int_equal(a.options.run.interval, b.options.run.interval);
        assert_int_equal(a.options.run.interval_length, b.options.run.interval_length);
        assert_int_equal(a.options.n_runs, b.options.n_runs);
        cli_options_done(&a.options);
        cli_options_done(&b.options);
    }
}

static void test_boot_takes_the_options_of_stat_and_its_own(void **state) {
    (void)state;
    line a;
    parse(&a, "boot --kernel Image --bios fw.elf --initrd root.cpio --append quiet --disk d.img --disk-writable --harts 2 -m u74");
    assert_string_equal(a.error, "");
    assert_true(a.is_good);
    assert_int_equal(a.options.run.kind, TL_RUN_BOOT);
    assert_string_equal(a.options.run.kernel, "Image");
    assert_string_equal(a.options.run.bios, "fw.elf");
    assert_string_equal(a.options.run.initrd, "root.cpio");
    assert_string_equal(a.options.run.append, "quiet"); // not --append of stat
    assert_string_equal(a.options.run.disk, "d.img");
    assert_true(a.options.run.is_disk_writable);
    assert_string_equal(a.options.run.machine, "u74");
    assert_string_equal(a.options.run.overrides[0], "harts=2");
    assert_string_equal(a.options.title, "Image");
    assert_false(a.options.wants_report);
    cli_options_done(&a.options);
    static const char *const asking[] = {"--stat", "-e cycles",  "-M ipc", "-j", "-x;", "-o f",
                                         "-I 1ms", "--roi main", "-A",     "-d", "-n",  "--csv"};
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++) {
        char words[80];
        snprintf(words, sizeof words, "boot --kernel Image %s", asking[i]);
        parse(&a, words);
        if (!a.is_good || !a.options.wants_report)
            fail_msg("%s: %s", words, a.error);
        cli_options_done(&a.options);
    }
    parse(&a, "boot --kernel Image --timeout 5 --max-insns 9 --engine step --quiet");
    assert_true(a.is_good);
    assert_false(a.options.wants_report);
    cli_options_done(&a.options);
}

static void test_a_bare_program_is_alone(void **state) {
    (void)state;
    line a;
    parse(&a, "stat --bare prog.elf");
    assert_true(a.is_good);
    assert_int_equal(a.options.run.kind, TL_RUN_BARE);
    cli_options_done(&a.options);
    static const char *const wrong[] = {"stat --bare prog.elf x",         "stat --bare --env HOME prog.elf",
                                        "stat --bare --root / prog.elf",  "stat --bare --network prog.elf",
                                        "stat --bare --argv0 x prog.elf", "boot --kernel Image --env HOME"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        parse(&a, wrong[i]);
        assert_false(a.is_good);
        assert_string_not_equal(a.error, "");
        cli_options_done(&a.options);
    }
}

static void test_words_behind_the_program_are_its_own(void **state) {
    (void)state;
    static const char *const lines[] = {"stat -q dir/prog -j --help x", "stat -q -- dir/prog -j --help x"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        line l;
        parse(&l, lines[i]);
        assert_true(l.is_good);
        assert_false(l.options.wants_help);
        assert_int_equal(l.options.report.format, TL_FORMAT_TEXT);
        assert_string_equal(l.options.run.program, "dir/prog");
        const char *const want[] = {"./prog", "-j", "--help", "x"};
        for (size_t k = 0; k < 4; k++)
            assert_string_equal(l.options.run.argv[k], want[k]);
        assert_null(l.options.run.argv[4]);
        cli_options_done(&l.options);
    }
}

static void test_lists_add_up(void **state) {
    (void)state;
    line l;
    parse(&l,
          "stat -e a,b -e c -M m --D1 4K,2,64 --set x.y=1 --harts 2 --env HOME --env A=1 --env EMPTY --roi f:g --roi ns::f..h(...) prog");
    assert_true(l.is_good);
    assert_string_equal(l.options.run.events, "a,b,c");
    assert_string_equal(l.options.run.metrics, "m");
    const char *const overrides[] = {"l1d=4K,2,64", "x.y=1", "harts=2"};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(l.options.run.overrides[i], overrides[i]);
    assert_null(l.options.run.overrides[3]);
    const char *const env[] = {"HOME=/home", "A=1", "EMPTY="};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(l.options.run.env[i], env[i]);
    assert_null(l.options.run.roi_start);
    assert_int_equal(l.options.run.n_regions, 2);
    assert_string_equal(l.options.run.regions[0].start, "f");
    assert_string_equal(l.options.run.regions[0].stop, "g");
    assert_string_equal(l.options.run.regions[1].start, "ns::f");
    assert_string_equal(l.options.run.regions[1].stop, "h(...)");
    cli_options_done(&l.options);
}

static void test_counts_are_exact_or_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"18446744073709551615", UINT64_MAX},
                {"1k", 1000},
                {"1.5M", 1500000},
                {"2G", 2000000000},
                {"64Ki", 65536},
                {"1Gi", 1 << 30},
                {"0x10", 16},
                {"0xffffffffffffffff", UINT64_MAX}};
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.5",
                                      "1.",
                                      ".",
                                      "18446744073709551616",
                                      "99999999999G",
                                      "1kk",
                                      "0x",
                                      "0x1g",
                                      "1e3",
                                      "0x10000000000000000",
                                      "k",
                                      "1Ti"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t value = 7;
        if (!cli_parse_count(good[i].text, &value) || value != good[i].value)
            fail_msg("%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t value;
        if (cli_parse_count(bad[i], &value))
            fail_msg("'%s' was accepted", bad[i]);
    }
}

static void test_sizes_are_binary(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"131072", 131072}, {"128K", 131072}, {"128k", 131072}, {"128KiB", 131072}, {"1.5MiB", 3 << 19}, {"1G", 1 << 30}, {"0", 0}};
    static const char *const bad[] = {"", "K", "-1", "128KB", "128Ki", "128 K", "1.5", "1T", "128KiBs", "0x20000", "99999999999G"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t value = 7;
        if (!cli_parse_size(good[i].text, &value) || value != good[i].value)
            fail_msg("%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t value;
        if (cli_parse_size(bad[i], &value))
            fail_msg("'%s' was accepted", bad[i]);
    }
}

static void test_engines_have_two_spellings_for_one(void **state) {
    (void)state;
    static const struct {
        const char *words;
        tl_engine engine;
    } rows[] = {{"stat x", TL_ENGINE_FASTEST},
                {"stat --engine translate x", TL_ENGINE_TRANSLATE},
                {"stat --engine interp x", TL_ENGINE_INTERP},
                {"stat --engine block x", TL_ENGINE_INTERP},
                {"stat --engine step x", TL_ENGINE_STEP}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        line a;
        parse(&a, rows[i].words);
        if (!a.is_good || a.options.run.engine != rows[i].engine)
            fail_msg("%s", rows[i].words);
        cli_options_done(&a.options);
    }
}

static void test_intervals_say_what_they_count(void **state) {
    (void)state;
    static const struct {
        const char *text;
        tl_interval kind;
        uint64_t length;
    } good[] = {{"10ms", TL_INTERVAL_NS, 10000000},  {"10", TL_INTERVAL_NS, 10000000},           {"1.5us", TL_INTERVAL_NS, 1500},
                {"2s", TL_INTERVAL_NS, 2000000000},  {"1M", TL_INTERVAL_INSTRUCTIONS, 1000000},  {"1Mi", TL_INTERVAL_INSTRUCTIONS, 1000000},
                {"7i", TL_INTERVAL_INSTRUCTIONS, 7}, {"500kc", TL_INTERVAL_CYCLES, 500000},      {"9c", TL_INTERVAL_CYCLES, 9},
                {"3ns", TL_INTERVAL_NS, 3},          {"2kinsns", TL_INTERVAL_INSTRUCTIONS, 2000}};
    static const char *const bad[] = {"",    "0", "0ms", "x", "1Mms", "1x", "-1", "1 ms", "0.5c", "1.0000000001s", "99999999999999999999",
                                      "1KiB"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        tl_interval kind;
        uint64_t length;
        if (!cli_parse_interval(good[i].text, &kind, &length) || kind != good[i].kind || length != good[i].length)
            fail_msg("%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tl_interval kind;
        uint64_t length;
        if (cli_parse_interval(bad[i], &kind, &length))
            fail_msg("'%s' was accepted", bad[i]);
    }
}

static void test_durations_are_seconds(void **state) {
    (void)state;
    uint64_t ms;
    assert_true(cli_parse_duration_ms("10", &ms) && ms == 10000);
    assert_true(cli_parse_duration_ms("2.5s", &ms) && ms == 2500);
    assert_true(cli_parse_duration_ms("300ms", &ms) && ms == 300);
    assert_true(cli_parse_duration_ms("2m", &ms) && ms == 120000);
    assert_true(cli_parse_duration_ms("1h", &ms) && ms == 3600000);
    assert_false(cli_parse_duration_ms("0.5ms", &ms));
    assert_false(cli_parse_duration_ms("1d", &ms));
    assert_false(cli_parse_duration_ms("", &ms));
}

static void test_nearest_is_near(void **state) {
    (void)state;
    static const char *const names[] = {"stat", "list", "diff", "version"};
    assert_string_equal(cli_nearest("stats", names, 4), "stat");
    assert_string_equal(cli_nearest("lsit", names, 4), "list");
    assert_string_equal(cli_nearest("verison", names, 4), "version");
    assert_null(cli_nearest("frobnicate", names, 4));
    assert_null(cli_nearest("", names, 4));
}

static void test_tables_are_sound(void **state) {
    (void)state;
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        for (size_t i = 0; i < cli_n_option_rows; i++) {
            const cli_option *a = &cli_option_rows[i];
            size_t length = strlen(a->help);
            assert_true(a->help[length - 1] == '.');
            for (size_t k = i + 1; k < cli_n_option_rows; k++) {
                const cli_option *b = &cli_option_rows[k];
                if (!(a->verbs & b->verbs & 1u << verb))
                    continue;
                if (!strcmp(a->name, b->name) || (a->letter && a->letter == b->letter))
                    fail_msg("--%s and --%s of %s collide", a->name, b->name, cli_verbs[verb].name);
            }
        }
    }
}

// An option of the table that sets nothing would end the program.
static void test_every_option_sets_something(void **state) {
    (void)state;
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        cli_options options = {.verb = VERB_STAT};
        char error[CLI_SENTENCE_BYTES] = "";
        cli_parser p = {.out = &options, .error = error, .error_size = sizeof error};
        const cli_option *row = &cli_option_rows[i];
        bool is_good = cli_take(&p, row->id, row->argument ? "" : NULL);
        if (is_good != (error[0] == '\0') || (!is_good && !strstr(error, ": ")))
            fail_msg("--%s: %s", row->name, error);
        cli_options_done(&options);
    }
}

// The whole range of a number that a row of values.c bounds, and one more on each side.
static void test_numbers_are_bounded_on_both_sides(void **state) {
    (void)state;
    static const struct {
        const char *words;
        bool is_good;
    } rows[] = {{"stat -r 0 x", false},
                {"stat -r 1 x", true},
                {"stat -r 1000000 x", true},
                {"stat -r 1000001 x", false},
                {"stat --log-fd 0 x", true},
                {"stat --log-fd 1048575 x", true},
                {"stat --log-fd 1048576 x", false},
                {"stat --code-cache 196607 x", false},
                {"stat --code-cache 192KiB x", true},
                {"stat --code-cache 1GiB x", true},
                {"stat --code-cache 1073741825 x", false},
                {"stat --translate-after 0 x", true},
                {"stat --translate-after 4294967295 x", true},
                {"stat --translate-after 4294967296 x", false},
                {"stat --timeout 0 x", false},
                {"stat --timeout 1ms x", true},
                {"stat --max-insns 0 x", false},
                {"stat --max-insns 1 x", true},
                {"compare --insns 0 x", false},
                {"compare --insns 20G x", true},
                {"compare --phases 0 x", false},
                {"compare --phases 1000 x", true},
                {"compare --phases 1001 x", false},
                {"suite --insns 10G dhpc", true},
                {"suite --insns 10000000001 dhpc", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        line a;
        parse(&a, rows[i].words);
        if (a.is_good != rows[i].is_good)
            fail_msg("%s: %s", rows[i].words, a.error);
        cli_options_done(&a.options);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_letters_and_names_mean_the_same),
    cmocka_unit_test(test_boot_takes_the_options_of_stat_and_its_own),
    cmocka_unit_test(test_a_bare_program_is_alone),
    cmocka_unit_test(test_words_behind_the_program_are_its_own),
    cmocka_unit_test(test_lists_add_up),
    cmocka_unit_test(test_counts_are_exact_or_refused),
    cmocka_unit_test(test_sizes_are_binary),
    cmocka_unit_test(test_engines_have_two_spellings_for_one),
    cmocka_unit_test(test_intervals_say_what_they_count),
    cmocka_unit_test(test_durations_are_seconds),
    cmocka_unit_test(test_nearest_is_near),
    cmocka_unit_test(test_tables_are_sound),
    cmocka_unit_test(test_every_option_sets_something),
    cmocka_unit_test(test_numbers_are_bounded_on_both_sides),
};

TL_TEST_MAIN(tests)
