// SPDX-License-Identifier: MIT
// ELF files as a kernel reads them: the header, the segments to map, the interpreter. The reader
// checks every number in the file. It reads no byte outside the file and allocates no memory for
// unchecked sizes. Every refusal is a sentence with a remedy.
#ifndef TL_LOADER_ELF_H
#define TL_LOADER_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct tl_nearest; // base/nearest.h

enum { TL_ELF_AARCH64 = 183, TL_ELF_RISCV = 243 }; // e_machine: what can be read
enum { TL_ELF_MAX_SEGMENTS = 32, TL_ELF_MAX_INTERPRETER = 256 };

typedef struct tl_elf_source { // where the bytes come from
    const char *name;          // for messages
    uint64_t size_bytes;
    // Returns the bytes read (fewer at the end), or a negative number.
    int64_t (*read)(void *ctx, void *to, size_t n, uint64_t offset);
    void *ctx;
    // For firmware, kernels, bare-metal programs: segments by physical address, anywhere; symbols
    // of data, too.
    bool is_physical;
    bool is_library; // an entry point is not needed
} tl_elf_source;

typedef struct tl_elf_segment { // PT_LOAD
    // Before the load bias. Within the user half; physical if so asked.
    uint64_t vaddr, memory_bytes;
    uint64_t offset, file_bytes; // within the file; offset and vaddr agree modulo the page
    uint8_t prot;                // 1 read, 2 write, 4 execute
} tl_elf_segment;

typedef struct tl_elf {
    uint64_t entry;
    // Address of the program headers in memory, before the bias; 0: they are not loaded.
    uint64_t phdr_vaddr;
    uint16_t machine; // TL_ELF_AARCH64 or TL_ELF_RISCV
    uint16_t n_phdrs;
    bool is_relocatable; // ET_DYN: position-independent, placed with a bias
    bool wants_executable_stack;
    char interpreter[TL_ELF_MAX_INTERPRETER]; // "" when statically linked
    uint64_t first_vaddr, end_vaddr;          // of all segments
    // The largest alignment asked for: a power of two, at least a page.
    uint64_t align_bytes;
    uint32_t n_segments;
    tl_elf_segment segments[TL_ELF_MAX_SEGMENTS]; // by address, disjoint
} tl_elf;

// TL_EFORMAT: not an ELF file, or not one that any machine can run. TL_EIO: reading failed.
TL_MUST_CHECK tl_status tl_elf_read(const tl_elf_source *source, tl_elf *ret_elf, tl_error *err);

// Names of code addresses: functions of .symtab, else of .dynsym. A file without symbols gives an
// empty table.
typedef struct tl_symbols tl_symbols;
TL_MUST_CHECK tl_status tl_symbols_new(const tl_elf_source *source, tl_symbols **ret_symbols, tl_error *err);
void tl_symbols_free(tl_symbols *symbols); // NULL is fine
uint32_t tl_symbols_count(const tl_symbols *symbols);
// Link-time address; TL_ENOENT with the nearest names in err.
TL_MUST_CHECK tl_status tl_symbols_find(const tl_symbols *symbols, const char *name, uint64_t *ret_vaddr, tl_error *err);
// Finds a name as users write it: a symbol, or a name of C++ or Rust with or without parameters.
// Blanks do not matter. with_prefixes: the beginning of a name is enough if it matches one
// function. ret_name then gets the whole name, else "" (NULL: not wanted). TL_EINVAL: the name
// matches several functions; err lists them.
TL_MUST_CHECK tl_status tl_symbols_search(const tl_symbols *symbols, const char *wanted, bool with_prefixes, uint64_t *ret_vaddr,
                                          char *ret_name, size_t size, tl_error *err);
// Every name, in every spelling.
void tl_symbols_offer(const tl_symbols *symbols, struct tl_nearest *nearest);
// Whether the file calls dlopen.
bool tl_symbols_import_dlopen(const tl_symbols *symbols);
// The function that holds a link-time address; NULL: none. The name lives as long as the table.
const char *tl_symbols_at(const tl_symbols *symbols, uint64_t vaddr, uint64_t *ret_offset);

#endif
