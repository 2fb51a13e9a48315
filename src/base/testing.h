// SPDX-License-Identifier: MIT
// What every cmocka test program begins with. The exit status is 0 or 1: cmocka's own count of
// failures would collide with the statuses that meson takes for "skipped" (77) and "error" (99).
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
