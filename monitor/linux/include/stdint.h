// SPDX-License-Identifier: MIT
// A kernel has no <stdint.h>: this serves the sources of monitor/.
#include <linux/types.h>
#include <linux/limits.h>

#ifndef UINT32_C
#define UINT32_C(value) value##U
#define UINT64_C(value) value##ULL
#endif
#ifndef UINT32_MAX
#define UINT32_MAX ((u32)~0U)
#endif
#ifndef UINT64_MAX
#define UINT64_MAX ((u64)~0ULL)
#endif
