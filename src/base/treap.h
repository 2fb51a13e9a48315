// SPDX-License-Identifier: MIT
// A search tree of nodes that lie within what they order, with a summary of each subtree for
// searches by more than a key. It is a treap: priorities come from a fixed sequence,
// so that its shape is the same in every run, and its depth is about three times the logarithm of
// the number of nodes. Searches walk `left` and `right` themselves. Nothing is allocated.
#ifndef TL_BASE_TREAP_H
#define TL_BASE_TREAP_H

#include <stdint.h>

typedef struct tl_treap_node { // first member of what is ordered
    struct tl_treap_node *left, *right;
    uint32_t priority;
} tl_treap_node;

typedef struct tl_treap_type {
    // Returns a number below, at or above 0, as strcmp.
    int (*compare)(const tl_treap_node *a, const tl_treap_node *b);
    // Summarizes the node and its children; NULL: nothing to do.
    void (*summarize)(tl_treap_node *node);
} tl_treap_type;

typedef struct tl_treap { // zeroed but for its type: empty
    const tl_treap_type *type;
    tl_treap_node *root;
    uint32_t seed;
} tl_treap;

// The node compares equal to none of the tree.
void tl_treap_insert(tl_treap *tree, tl_treap_node *node);
void tl_treap_remove(tl_treap *tree, tl_treap_node *node); // which is in the tree
// The inputs of the node's summary changed. Its key did not.
void tl_treap_changed(tl_treap *tree, tl_treap_node *node);

#endif
