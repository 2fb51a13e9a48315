// SPDX-License-Identifier: MIT
#include "base/treap.h"

#include <stddef.h>

static void summarize(const tl_treap *tree, tl_treap_node *node) {
    if (tree->type->summarize)
        tree->type->summarize(node);
}

// The nodes below `node` and those above it become two trees.
static void split(const tl_treap *tree, tl_treap_node *root, const tl_treap_node *node, tl_treap_node **ret_below,
                  tl_treap_node **ret_above) {
    if (!root) {
        *ret_below = *ret_above = NULL;
    } else if (tree->type->compare(root, node) < 0) {
        split(tree, root->right, node, &root->right, ret_above);
        *ret_below = root;
        summarize(tree, root);
    } else {
        split(tree, root->left, node, ret_below, &root->left);
        *ret_above = root;
        summarize(tree, root);
    }
}

// All of `below` is below all of `above`.
static tl_treap_node *join(const tl_treap *tree, tl_treap_node *below, tl_treap_node *above) {
    if (!below || !above)
        return below ? below : above;
    if (below->priority >= above->priority) {
        below->right = join(tree, below->right, above);
        summarize(tree, below);
        return below;
    }
    above->left = join(tree, below, above->left);
    summarize(tree, above);
    return above;
}

static void insert(const tl_treap *tree, tl_treap_node **at, tl_treap_node *node) {
    tl_treap_node *root = *at;
    if (root && root->priority >= node->priority) {
        insert(tree, tree->type->compare(node, root) < 0 ? &root->left : &root->right, node);
        summarize(tree, root);
        return;
    }
    split(tree, root, node, &node->left, &node->right);
    summarize(tree, node);
    *at = node;
}

void tl_treap_insert(tl_treap *tree, tl_treap_node *node) {
    tree->seed = tree->seed * 1664525 + 1013904223;
    uint32_t mixed = (tree->seed ^ tree->seed >> 15) * UINT32_C(0x2c1b3c6d);
    node->priority = mixed ^ mixed >> 12;
    insert(tree, &tree->root, node);
}

static void take_out(const tl_treap *tree, tl_treap_node **at, tl_treap_node *node) {
    tl_treap_node *root = *at;
    if (root == node) {
        *at = join(tree, node->left, node->right);
        return;
    }
    take_out(tree, tree->type->compare(node, root) < 0 ? &root->left : &root->right, node);
    summarize(tree, root);
}

void tl_treap_remove(tl_treap *tree, tl_treap_node *node) { take_out(tree, &tree->root, node); }

static void change(const tl_treap *tree, tl_treap_node *root, tl_treap_node *node) {
    if (root != node)
        change(tree, tree->type->compare(node, root) < 0 ? root->left : root->right, node);
    summarize(tree, root);
}

void tl_treap_changed(tl_treap *tree, tl_treap_node *node) { change(tree, tree->root, node); }
