// SPDX-License-Identifier: MIT
// Includes and main function of every cmocka test program. The exit status is 0 or 1, because
// cmocka's count of failures could be 77 or 99, which meson takes for "skipped" and "error".
#ifndef TL_BASE_TESTING_H
#define TL_BASE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TL_TEST_MAIN(tests) \
    int main(void) { return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1; }

#endif
