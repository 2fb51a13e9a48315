// SPDX-License-Identifier: MIT
// Symbols of a kernel from text; see symbol_map.h.
#include "loader/symbol_map.h"

#include <stdlib.h>
#include <string.h>

static int digit_of(uint8_t c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Types of code: global, local, weak.
static bool is_code(uint8_t type) { return type == 'T' || type == 't' || type == 'W' || type == 'w'; }

// Reads the line between `at` and `end`. false: it is no symbol of code.
static bool read_symbol(const uint8_t *at, const uint8_t *end, tl_map_symbol *ret_symbol) {
    uint64_t address = 0;
    uint32_t n_digits = 0;
    for (; at < end && digit_of(*at) >= 0 && n_digits <= 16; at++, n_digits++)
        address = address << 4 | (uint64_t)digit_of(*at);
    if (n_digits == 0 || n_digits > 16 || end - at < 4 || at[0] != ' ' || at[2] != ' ')
        return false;
    const uint8_t *name = at + 3, *stop = name;
    while (stop < end && *stop != '\t' && *stop != ' ' && *stop != '\r')
        stop++;
    *ret_symbol = (tl_map_symbol){address, (const char *)name, (uint32_t)(stop - name), at[1] < 'a'};
    return is_code(at[1]) && stop > name && stop - name < 4096;
}

// Among symbols of one address a global one comes first.
static int by_address(const void *a, const void *b) {
    const tl_map_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->is_global != y->is_global)
        return x->is_global ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name; // its place in the text
}

bool tl_symbol_map_read(const uint8_t *text, uint64_t n_bytes, tl_symbol_map *ret_map) {
    const uint8_t *end = text + n_bytes;
    uint32_t room = 0;
    *ret_map = (tl_symbol_map){.n = 0};
    for (const uint8_t *at = text; at < end;) {
        const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
        tl_map_symbol symbol;
        if (!line_end)
            line_end = end;
        if (read_symbol(at, line_end, &symbol)) {
            if (ret_map->n == room) {
                room = room ? 2 * room : 1024;
                tl_map_symbol *larger = realloc(ret_map->items, room * sizeof *larger);
                if (!larger) {
                    tl_symbol_map_done(ret_map);
                    return false;
                }
                ret_map->items = larger;
            }
            ret_map->items[ret_map->n++] = symbol;
        }
        at = line_end < end ? line_end + 1 : end;
    }
    if (ret_map->n > 0)
        qsort(ret_map->items, ret_map->n, sizeof *ret_map->items, by_address);
    uint32_t n = 0;
    for (uint32_t i = 0; i < ret_map->n; i++)
        if (n == 0 || ret_map->items[n - 1].address != ret_map->items[i].address)
            ret_map->items[n++] = ret_map->items[i];
    ret_map->n = n;
    return true;
}

void tl_symbol_map_done(tl_symbol_map *map) {
    free(map->items);
    *map = (tl_symbol_map){.n = 0};
}

const tl_map_symbol *tl_symbol_map_at(const tl_symbol_map *map, uint64_t address) {
    uint32_t low = 0, high = map->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (map->items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &map->items[low - 1] : NULL;
}
