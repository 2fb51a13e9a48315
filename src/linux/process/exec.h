// SPDX-License-Identifier: MIT
// Starting a program: the new address space, its stack with arguments, environment and auxiliary
// vector, its interpreter.
#ifndef TL_OS_EXEC_H
#define TL_OS_EXEC_H

#include "base/status.h"
#include "linux/process/process.h"

// Makes the first process and its thread and loads os->options.program into it.
TL_MUST_CHECK tl_status tl_exec_first(tl_os *os, char *const *argv, char *const *envp, tl_error *err);

#endif
