// SPDX-License-Identifier: MIT
// Starting a program: the new address space, its stack with arguments, environment and auxiliary
// vector, its interpreter.
#ifndef TL_OS_EXEC_H
#define TL_OS_EXEC_H

#include "base/status.h"
#include "linux/os.h"
#include "linux/process/process.h"

// Makes the first process of the next context, and its thread, and loads the program into it.
TL_MUST_CHECK tl_status tl_exec_first(tl_os *os, const tl_os_program *program, tl_error *err);

#endif
