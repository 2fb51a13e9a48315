// SPDX-License-Identifier: MIT
// Symbols of a kernel from text: an address in hexadecimal digits, a letter for the type and a name
// in each line, as /proc/kallsyms, System.map and nm have it. Symbols of code alone are kept.
#ifndef TL_LOADER_SYMBOL_MAP_H
#define TL_LOADER_SYMBOL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tl_map_symbol {
    uint64_t address;
    const char *name; // n_name bytes of the text, without a NUL
    uint32_t n_name;
    bool is_global;
} tl_map_symbol;

typedef struct tl_symbol_map {
    tl_map_symbol *items; // by address; of several at one address the first global one, alone
    uint32_t n;
} tl_symbol_map;

// The text is the caller's, and is borrowed. false: the host has no memory. Lines of another form
// are skipped.
bool tl_symbol_map_read(const uint8_t *text, uint64_t n_bytes, tl_symbol_map *ret_map);
void tl_symbol_map_done(tl_symbol_map *map);
// The symbol at an address or before it; NULL: none is.
const tl_map_symbol *tl_symbol_map_at(const tl_symbol_map *map, uint64_t address);

#endif
