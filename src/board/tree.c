// SPDX-License-Identifier: MIT
// Nodes and properties of a device tree: tree.h.
#include "board/tree.h"

#include <inttypes.h>
#include <libfdt.h>
#include <stdio.h>
#include <string.h>

void tl_tree_note(tl_tree *t, int error) { t->error = t->error ? t->error : error; }

void tl_tree_begin(tl_tree *t, const char *name) { tl_tree_note(t, t->error ? t->error : fdt_begin_node(t->fdt, name)); }

void tl_tree_begin_at(tl_tree *t, const char *name, uint64_t address) {
    char text[64];
    snprintf(text, sizeof text, "%s@%" PRIx64, name, address);
    tl_tree_begin(t, text);
}

void tl_tree_end(tl_tree *t) { tl_tree_note(t, t->error ? t->error : fdt_end_node(t->fdt)); }

void tl_tree_bytes(tl_tree *t, const char *name, const void *value, size_t n) {
    tl_tree_note(t, t->error ? t->error : fdt_property(t->fdt, name, value, (int)n));
}

void tl_tree_flag(tl_tree *t, const char *name) { tl_tree_bytes(t, name, NULL, 0); }
void tl_tree_text(tl_tree *t, const char *name, const char *value) { tl_tree_bytes(t, name, value, strlen(value) + 1); }
void tl_tree_number(tl_tree *t, const char *name, uint32_t value) {
    tl_tree_note(t, t->error ? t->error : fdt_property_u32(t->fdt, name, value));
}
void tl_tree_number64(tl_tree *t, const char *name, uint64_t value) {
    tl_tree_note(t, t->error ? t->error : fdt_property_u64(t->fdt, name, value));
}

void tl_tree_cells(tl_tree *t, const char *name, const uint32_t *values, uint32_t n) {
    fdt32_t raw[TL_TREE_MAX_CELLS];
    for (uint32_t i = 0; i < n; i++)
        raw[i] = cpu_to_fdt32(values[i]);
    tl_tree_bytes(t, name, raw, n * sizeof *raw);
}

void tl_tree_reg(tl_tree *t, uint64_t address, uint64_t size) {
    uint32_t values[] = {(uint32_t)(address >> 32), (uint32_t)address, (uint32_t)(size >> 32), (uint32_t)size};
    tl_tree_cells(t, "reg", values, TL_COUNT_OF(values));
}

uint32_t tl_tree_sets_of(const tl_cache_config *cache) { return cache->size_bytes / (cache->ways * cache->line_bytes); }

void tl_tree_cpu_map(tl_tree *t, uint32_t n_harts, uint32_t (*phandle_of)(uint32_t hart)) {
    tl_tree_begin(t, "cpu-map");
    tl_tree_begin(t, "cluster0");
    for (uint32_t i = 0; i < n_harts; i++) {
        char name[16];
        snprintf(name, sizeof name, "core%u", i);
        tl_tree_begin(t, name);
        tl_tree_number(t, "cpu", phandle_of(i));
        tl_tree_end(t);
    }
    tl_tree_end(t);
    tl_tree_end(t);
}
