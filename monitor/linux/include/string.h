// SPDX-License-Identifier: MIT
// A kernel has no <string.h>: this serves the sources of monitor/.
#include <linux/string.h>
