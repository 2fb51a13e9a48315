// SPDX-License-Identifier: MIT
// Facts of a program's file that are needed before it is loaded.
#ifndef TL_SESSION_PROGRAM_H
#define TL_SESSION_PROGRAM_H

#include <stdint.h>

// e_machine of the program, of a script that of its interpreter. 0: it cannot be read, or is no ELF
// file. Names are looked up below `root`, unless that is NULL.
uint16_t tl_program_elf_machine(const char *root, const char *path);

#endif
