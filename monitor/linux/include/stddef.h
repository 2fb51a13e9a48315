// SPDX-License-Identifier: MIT
// A kernel has no <stddef.h>: this serves the sources of monitor/.
#include <linux/types.h>
#include <linux/stddef.h>
