// SPDX-License-Identifier: MIT
// Names of a foreign profile do not steer a terminal.
#include "report/plain_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/testing.h"

static char *plain(const char *text, bool has_color) {
    char *out = NULL;
    size_t n;
    FILE *to = open_memstream(&out, &n);
    tl_plain_text p;
    assert_int_equal(tl_plain_text_begin(&p, to, NULL), TL_OK);
    fputs(text, p.stream);
    assert_int_equal(tl_plain_text_end(&p, has_color, TL_OK, NULL), TL_OK);
    fclose(to);
    return out;
}

static void test_control_characters_become_question_marks(void **state) {
    (void)state;
    static const struct {
        const char *text, *without_color, *with_color;
    } rows[] = {
        {"f\xc3\xbcr\n\tx", "f\xc3\xbcr\n\tx", "f\xc3\xbcr\n\tx"},
        {"\033[1;31m5 %\033[0m", "?[1;31m5 %?[0m", "\033[1;31m5 %\033[0m"},
        {"\033[8mhidden", "?[8mhidden", "?[8mhidden"},
        {"\033]0;title\007", "?]0;title?", "?]0;title?"},
        {"a\rb\x7f", "a?b?", "a?b?"},
        {"\xc2\x9b"
         "2J",
         "??2J", "??2J"}, // CSI of the C1 set, in UTF-8 and as a byte
        {"\x9b"
         "2J",
         "?2J", "?2J"},
        {"end\033", "end?", "end?"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *a = plain(rows[i].text, false), *b = plain(rows[i].text, true);
        assert_string_equal(a, rows[i].without_color);
        assert_string_equal(b, rows[i].with_color);
        free(a);
        free(b);
    }
}

static void test_a_failure_is_passed_on_and_a_full_disk_is_told(void **state) {
    (void)state;
    tl_error err = {0};
    tl_plain_text p;
    FILE *full = fopen("/dev/full", "w");
    assert_int_equal(tl_plain_text_begin(&p, full, NULL), TL_OK);
    fputs("x", p.stream);
    assert_int_equal(tl_plain_text_end(&p, false, TL_EINVAL, NULL), TL_EINVAL);
    assert_int_equal(tl_plain_text_begin(&p, full, NULL), TL_OK);
    fputs("x", p.stream);
    assert_int_equal(tl_plain_text_end(&p, false, TL_OK, &err), TL_EIO);
    assert_string_equal(err.text, "the output: No space left on device");
    fclose(full);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_control_characters_become_question_marks),
    cmocka_unit_test(test_a_failure_is_passed_on_and_a_full_disk_is_told),
};

TL_TEST_MAIN(tests)
