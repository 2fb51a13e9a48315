// SPDX-License-Identifier: MIT
// Names for addresses of a process, from the files that are mapped there. A query reads the tables,
// because queries are rare.
#ifndef TL_OS_SYMBOL_H
#define TL_OS_SYMBOL_H

#include <stddef.h>

#include "linux/process/process.h"
#include "loader/elf.h"

// " (main+0x14)", " (memcpy+0x20 in libc.so.6)", or "" when nothing is known.
void tl_symbol_describe(const tl_process *p, uint64_t vaddr, char *text, size_t n);

typedef struct tl_file_source { // an open file as the ELF reader wants it
    tl_os *os;
    tl_file *file;
    tl_elf_source source;
} tl_file_source;
void tl_file_source_init(tl_file_source *source, tl_os *os, tl_file *file, const char *name);

#endif
