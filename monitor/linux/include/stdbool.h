// SPDX-License-Identifier: MIT
// A kernel has no <stdbool.h>: this serves the sources of monitor/.
#include <linux/types.h>
