// SPDX-License-Identifier: MIT
// Axes of charts: the scale that the values call for, and the labels of the ticks.
#include "report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"

// The picture of a panel with one line. The caller frees it.
static char *picture_of_panel(const tl_plot_panel *panel) {
    char *svg = NULL;
    size_t n_bytes = 0;
    FILE *stream = open_memstream(&svg, &n_bytes);
    assert_non_null(stream);
    tl_plot_write(panel, 1, "", stream);
    fclose(stream);
    return svg;
}

// The picture of values with names. The caller frees it.
static char *picture_of_names(const char *const *names, uint32_t n) {
    tl_plot_point *points = calloc(n, sizeof *points);
    assert_non_null(points);
    for (uint32_t i = 0; i < n; i++)
        points[i] = (tl_plot_point){i, 5, 5, 5};
    const tl_plot_series series = {.name = "line", .points = points, .n_points = n};
    const tl_plot_panel panel = {
        .title = "T", .subtitle = "", .x_label = "X", .y_label = "Y", .series = &series, .n_series = 1, .x_names = names, .n_x_names = n};
    char *svg = picture_of_panel(&panel);
    free(points);
    return svg;
}

// The picture of values from `least` to `most` on both axes. The caller frees it.
static char *picture_of(double least, double most, bool has_log_y) {
    const tl_plot_point points[] = {{least, least, least, least}, {most, most, most, most}};
    const tl_plot_series series = {.name = "line", .points = points, .n_points = 2};
    const tl_plot_panel panel = {
        .title = "T", .subtitle = "", .x_label = "X", .y_label = "Y", .series = &series, .n_series = 1, .has_log_y = has_log_y};
    return picture_of_panel(&panel);
}

// Labels of ticks, each with a blank behind.
static void ticks_of(const char *anchor, double least, double most, bool has_log_y, char *ret_labels, size_t size) {
    char *svg = picture_of(least, most, has_log_y);
    char before[64];
    snprintf(before, sizeof before, "class='quiet' text-anchor='%s'>", anchor);
    ret_labels[0] = '\0';
    for (const char *at = strstr(svg, before); at; at = strstr(at, before)) {
        at += strlen(before);
        size_t n = strcspn(at, "<"), used = strlen(ret_labels);
        if (*at != 'X' && *at != 'Y')
            snprintf(ret_labels + used, size - used, "%.*s ", (int)n, at);
    }
    free(svg);
}

typedef struct row {
    double least, most;
    bool has_log_y;
    const char *labels;
} row;

static void check(const char *anchor, const row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char labels[400];
        ticks_of(anchor, rows[i].least, rows[i].most, rows[i].has_log_y, labels, sizeof labels);
        assert_string_equal(labels, rows[i].labels);
    }
}

static void test_x_is_linear_then_in_powers_of_two_then_of_ten(void **state) {
    (void)state;
    static const row rows[] = {
        {1, 7, false, "0 2 4 6 8 "},
        {1, 8, false, "1 2 4 8 "}, // a factor of 8
        {2, 15, false, "0 5 10 15 "},
        {2, 16, false, "2 4 8 16 "},
        {0.5, 8, false, "0 2 4 6 8 "}, // below 1
        {1, 11, false, "1 2 4 8 11 "}, // the last tick is the end where that is far off
        {1, 4096, false, "1 2 4 8 16 32 64 128 256 512 1024 2048 4096 "},
        {1, 4097, false, "1 10 100 1000 10k "},
        {1, 2000000, false, "1 10 100 1000 10k 100k 1M 10M "},
    };
    check("middle", rows, sizeof rows / sizeof rows[0]);
}

// The axis goes from 64 to 628: two names stand at a quarter and at three quarters of it.
static void test_names_have_equal_distances(void **state) {
    (void)state;
    static const char *const two[] = {"fifo", "a<b"};
    const char *many[40];
    char *svg = picture_of_names(two, 2);
    assert_non_null(strstr(svg, "<text x='205.0' y='348.0' class='quiet' text-anchor='middle'>fifo</text>"));
    assert_non_null(strstr(svg, "<text x='487.0' y='348.0' class='quiet' text-anchor='middle'>a&lt;b</text>"));
    assert_non_null(strstr(svg, "<circle cx='205.0'"));
    assert_non_null(strstr(svg, "<circle cx='487.0'"));
    free(svg);
    for (int i = 0; i < 40; i++)
        many[i] = "name";
    svg = picture_of_names(many, 40); // every third has a tick
    unsigned n = 0;
    for (const char *at = strstr(svg, ">name<"); at; at = strstr(at + 1, ">name<"))
        n++;
    assert_int_equal(n, 14);
    free(svg);
}

// A letter is at least 6 pixels wide on average in the fonts that the file names.
static void test_long_names_and_headings_have_room(void **state) {
    (void)state;
    static const char *const values[] = {"a_replacement_of_many_letters_1", "a_replacement_of_many_letters_2",
                                         "a_replacement_of_many_letters_3"};
    static const char name[] = "l1d.replacement=least_recently_used, tage";
    static const char heading[] = "a subtitle with the keys of all lines, which is as long as the names of a program, of a machine and of "
                                  "eight keys of its description are together";
    static const tl_plot_point points[] = {{0, 5, 5, 5}, {1, 5, 5, 5}, {2, 5, 5, 5}};
    const tl_plot_series series = {.name = name, .points = points, .n_points = 3};
    const tl_plot_panel panel = {.title = "T",
                                 .subtitle = heading,
                                 .x_label = "X",
                                 .y_label = "Y",
                                 .series = &series,
                                 .n_series = 1,
                                 .x_names = values,
                                 .n_x_names = 3};
    char *svg = picture_of_panel(&panel);
    double width = 0, x = 0, first = 0, second = 0;
    assert_int_equal(sscanf(strstr(svg, "<svg "), "<svg xmlns='http://www.w3.org/2000/svg' width='%lf'", &width), 1);
    const char *text = strstr(svg, name);
    assert_non_null(text);
    while (strncmp(text, "<text", 5) != 0)
        text--;
    assert_int_equal(sscanf(text, "<text x='%lf'", &x), 1);
    assert_true(width >= x + 6 * (double)strlen(name));
    assert_true(width >= 16 + 6 * (double)strlen(heading));
    const char *at = strstr(svg, "<circle");
    assert_int_equal(sscanf(at, "<circle cx='%lf'", &first), 1);
    assert_int_equal(sscanf(strstr(at + 1, "<circle"), "<circle cx='%lf'", &second), 1);
    assert_true(second - first >= 6 * (double)strlen(values[0]));
    free(svg);
}

static void test_y_is_logarithmic_only_if_asked_and_if_values_permit(void **state) {
    (void)state;
    static const row rows[] = {
        {1, 9, false, "0 2 4 6 8 10 "},  {1, 9, true, "1 10 "},
        {1, 8, true, "0 2 4 6 8 "}, // no more than a factor of 8
        {0.01, 1, true, "0.01 0.10 1 "}, {0.009, 1, true, "0.0 0.2 0.4 0.6 0.8 1.0 "},
    };
    check("end", rows, sizeof rows / sizeof rows[0]);
}

// The first line of class "axis" is the axis of x. Four decades have five ticks.
static void test_decades_fill_the_axis_evenly(void **state) {
    (void)state;
    char *svg = picture_of(1, 5000, false);
    double left = 0, right = 0, x[5] = {0};
    const char *axis = strstr(svg, "class='axis'");
    assert_non_null(axis);
    while (strncmp(axis, "<line", 5) != 0)
        axis--;
    assert_int_equal(sscanf(axis, "<line x1='%lf' y1='%*f' x2='%lf'", &left, &right), 2);
    uint32_t n = 0;
    for (const char *at = strstr(svg, "<text x="); at && n < 5; at = strstr(at + 1, "<text x=")) {
        char anchor[16] = "", label[16] = "";
        double tick;
        if (sscanf(at, "<text x='%lf' y='%*f' class='quiet' text-anchor='%15[a-z]'>%15[^<]", &tick, anchor, label) == 3 &&
            strcmp(anchor, "middle") == 0 && label[0] == '1')
            x[n++] = tick;
    }
    free(svg);
    assert_int_equal(n, 5);
    for (uint32_t i = 0; i < n; i++)
        assert_true(fabs(x[i] - (left + (right - left) * i / (n - 1))) < 0.06);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_decades_fill_the_axis_evenly),
    cmocka_unit_test(test_x_is_linear_then_in_powers_of_two_then_of_ten),
    cmocka_unit_test(test_names_have_equal_distances),
    cmocka_unit_test(test_long_names_and_headings_have_room),
    cmocka_unit_test(test_y_is_logarithmic_only_if_asked_and_if_values_permit),
};
TL_TEST_MAIN(tests)
