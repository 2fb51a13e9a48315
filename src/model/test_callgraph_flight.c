// SPDX-License-Identifier: MIT
#include "model/test_callgraph.h"
TL_TEST_MAIN(0)
