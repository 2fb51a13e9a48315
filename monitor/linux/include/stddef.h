// SPDX-License-Identifier: MIT
// A kernel has no <stddef.h>: this serves the sources of monitor/.
#include <linux/stddef.h>
#include <linux/types.h>
