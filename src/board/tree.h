// SPDX-License-Identifier: MIT
// Writes a flattened device tree (Devicetree Specification 0.4) node by node. The first error of
// libfdt sticks, because the code that calls these then reads like the tree.
#ifndef TL_SYSTEM_TREE_H
#define TL_SYSTEM_TREE_H

#include "board/board.h"

typedef struct tl_tree {
    void *fdt;
    int error; // 0, or the first that libfdt gave
} tl_tree;

void tl_tree_note(tl_tree *t, int error);
void tl_tree_begin(tl_tree *t, const char *name);
void tl_tree_begin_at(tl_tree *t, const char *name, uint64_t address); // "name@address"
void tl_tree_end(tl_tree *t);
// Properties of the node that was begun last.
void tl_tree_bytes(tl_tree *t, const char *name, const void *value, size_t n);
void tl_tree_flag(tl_tree *t, const char *name); // has no value
void tl_tree_text(tl_tree *t, const char *name, const char *value);
void tl_tree_number(tl_tree *t, const char *name, uint32_t value);
void tl_tree_number64(tl_tree *t, const char *name, uint64_t value);
// At most TL_TREE_MAX_CELLS cells.
void tl_tree_cells(tl_tree *t, const char *name, const uint32_t *values, uint32_t n);
void tl_tree_reg(tl_tree *t, uint64_t address, uint64_t size);
// A string list is its strings with their ends.
#define TL_TREE_STRINGS(t, name, list) tl_tree_bytes(t, name, list, sizeof(list))
enum { TL_TREE_MAX_CELLS = 4 * TL_MAX_HARTS };

uint32_t tl_tree_sets_of(const tl_cache_config *cache);
// Node cpu-map: one cluster of all harts. phandle_of gives that of a hart's node.
void tl_tree_cpu_map(tl_tree *t, uint32_t n_harts, uint32_t (*phandle_of)(uint32_t hart));

// The nodes of a board beside chosen and memory.
void tl_tree_riscv(tl_tree *t, const tl_board *board);
void tl_tree_arm(tl_tree *t, const tl_board *board);

#endif
