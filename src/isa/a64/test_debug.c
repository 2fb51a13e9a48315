// SPDX-License-Identifier: MIT
#include "base/testing.h"
static void t(void **s) { (void)s; }
static const struct CMUnitTest tests[] = {cmocka_unit_test(t)};
TL_TEST_MAIN(tests)
