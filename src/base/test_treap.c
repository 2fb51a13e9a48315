// SPDX-License-Identifier: MIT
#include <stdbool.h>

#include "base/testing.h"
#include "base/treap.h"

enum { N = 3000 };

typedef struct item {
    tl_treap_node node;
    int key, value, most; // most: the largest value of the subtree
} item;

static int by_key(const tl_treap_node *a, const tl_treap_node *b) { return ((const item *)a)->key - ((const item *)b)->key; }

static void find_most(tl_treap_node *node) {
    item *i = (item *)node;
    i->most = i->value;
    for (int side = 0; side < 2; side++) {
        const item *child = (const item *)(side ? node->right : node->left);
        if (child && child->most > i->most)
            i->most = child->most;
    }
}

static const tl_treap_type by_key_with_most = {.compare = by_key, .summarize = find_most};

// Checks order and summaries; adds to *n and returns the depth.
static int check(const tl_treap_node *node, int *last, int *n) {
    if (!node)
        return 0;
    int left = check(node->left, last, n), most = ((const item *)node)->value;
    assert_true(((const item *)node)->key > *last);
    *last = ((const item *)node)->key;
    ++*n;
    int right = check(node->right, last, n);
    for (int side = 0; side < 2; side++) {
        const item *child = (const item *)(side ? node->right : node->left);
        if (child) {
            assert_true(child->node.priority <= node->priority);
            most = child->most > most ? child->most : most;
        }
    }
    assert_int_equal(((const item *)node)->most, most);
    return 1 + (left > right ? left : right);
}

static int check_all(const tl_treap *tree, int n_wanted) {
    int last = -1, n = 0, depth = check(tree->root, &last, &n);
    assert_int_equal(n, n_wanted);
    return depth;
}

static void test_nodes_stay_in_order_with_their_summaries(void **state) {
    (void)state;
    static item items[N];
    static bool is_in[N];
    tl_treap tree = {.type = &by_key_with_most};
    uint64_t random = 12345;
    int n_in = 0;
    for (int step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        int k = (int)(random >> 33) % N, value = (int)(random >> 20 & 0xfff);
        if (!is_in[k]) {
            items[k].key = k;
            items[k].value = value;
            tl_treap_insert(&tree, &items[k].node);
            n_in++;
        } else if (random >> 60 & 1) {
            items[k].value = value;
            tl_treap_changed(&tree, &items[k].node);
            continue;
        } else {
            tl_treap_remove(&tree, &items[k].node);
            n_in--;
        }
        is_in[k] = !is_in[k];
        if (step % 100 == 0)
            (void)check_all(&tree, n_in);
    }
    (void)check_all(&tree, n_in);
}

static void test_a_sorted_sequence_makes_no_list(void **state) {
    (void)state;
    static item items[N];
    tl_treap tree = {.type = &by_key_with_most};
    for (int i = 0; i < N; i++) {
        items[i] = (item){.key = i, .value = i};
        tl_treap_insert(&tree, &items[i].node);
    }
    assert_true(check_all(&tree, N) < 50);
    for (int i = 0; i < N; i++)
        tl_treap_remove(&tree, &items[i].node);
    assert_null(tree.root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_nodes_stay_in_order_with_their_summaries),
    cmocka_unit_test(test_a_sorted_sequence_makes_no_list),
};

TL_TEST_MAIN(tests)
