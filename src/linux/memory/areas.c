// SPDX-License-Identifier: MIT
// The areas of an address space are in a list by address and in a tree by address. Each node of the
// tree knows the most room below any area of its subtree. Searches take logarithmic time, because a
// program may have TL_VM_MAX_AREAS areas.
#include "linux/memory/vm_space.h"

static tl_vma *of(tl_treap_node *node) { return (tl_vma *)node; }
static const tl_vma *of_const(const tl_treap_node *node) { return (const tl_vma *)node; }

static int by_start(const tl_treap_node *a, const tl_treap_node *b) {
    uint64_t x = of_const(a)->start, y = of_const(b)->start;
    return x < y ? -1 : x > y;
}

// Returns the bytes that mappings may use between below->end and `limit`; *ret_end is their end.
// `above` is the area that follows. A stack keeps a guard below it.
static uint64_t usable(const tl_vma *below, const tl_vma *above, uint64_t limit, uint64_t *ret_end) {
    uint64_t start = below && below->end > TL_MMAP_MIN ? below->end : TL_MMAP_MIN, end = limit;
    if (above && above->kind == TL_VMA_STACK && end > start)
        end = end - start > TL_STACK_GUARD ? end - TL_STACK_GUARD : start;
    *ret_end = end;
    return end > start ? end - start : 0;
}

static uint64_t room_below(const tl_vma *area, uint64_t *ret_end) { return usable(area->previous, area, area->start, ret_end); }

static void summarize(tl_treap_node *node) {
    tl_vma *area = of(node);
    uint64_t end;
    area->max_room = room_below(area, &end);
    if (node->left && of(node->left)->max_room > area->max_room)
        area->max_room = of(node->left)->max_room;
    if (node->right && of(node->right)->max_room > area->max_room)
        area->max_room = of(node->right)->max_room;
}

static const tl_treap_type area_tree = {.compare = by_start, .summarize = summarize};

void tl_areas_init(tl_vm *vm) { vm->area_tree.type = &area_tree; }

tl_vma *tl_areas_after(const tl_vm *vm, uint64_t vaddr) {
    tl_vma *found = NULL;
    for (tl_treap_node *node = vm->area_tree.root; node;) {
        if (of(node)->end > vaddr) {
            found = of(node);
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return found;
}

static const tl_vma *last_of(const tl_vm *vm) {
    const tl_treap_node *node = vm->area_tree.root;
    while (node && node->right)
        node = node->right;
    return of_const(node);
}

void tl_areas_insert(tl_vm *vm, tl_vma *area) {
    tl_vma *above = tl_areas_after(vm, area->start);
    area->next = above;
    area->previous = above ? above->previous : (tl_vma *)(uintptr_t)last_of(vm);
    *(area->previous ? &area->previous->next : &vm->areas) = area;
    if (above)
        above->previous = area;
    tl_treap_insert(&vm->area_tree, &area->node);
    if (above)
        tl_treap_changed(&vm->area_tree, &above->node);
}

void tl_areas_remove(tl_vm *vm, tl_vma *area) {
    tl_vma *above = area->next;
    tl_treap_remove(&vm->area_tree, &area->node);
    *(area->previous ? &area->previous->next : &vm->areas) = above;
    if (above) {
        above->previous = area->previous;
        tl_treap_changed(&vm->area_tree, &above->node);
    }
}

void tl_areas_resized(tl_vm *vm, tl_vma *area) {
    tl_treap_changed(&vm->area_tree, &area->node);
    if (area->next)
        tl_treap_changed(&vm->area_tree, &area->next->node);
}

// The highest area below `limit` with so much room below it.
static const tl_vma *highest_with_room(const tl_treap_node *node, uint64_t limit, uint64_t bytes) {
    if (!node || of_const(node)->max_room < bytes)
        return NULL;
    if (of_const(node)->start > limit)
        return highest_with_room(node->left, limit, bytes);
    const tl_vma *found = highest_with_room(node->right, limit, bytes);
    uint64_t end;
    if (!found && room_below(of_const(node), &end) >= bytes)
        found = of_const(node);
    return found ? found : highest_with_room(node->left, limit, bytes);
}

uint64_t tl_areas_find_room(const tl_vm *vm, uint64_t bytes) {
    const tl_vma *above = tl_areas_after(vm, vm->mmap_top);
    uint64_t end;
    if (!above || above->start > vm->mmap_top) { // the top itself is free
        const tl_vma *below = above ? above->previous : last_of(vm);
        if (usable(below, above, vm->mmap_top, &end) >= bytes)
            return end - bytes;
    }
    const tl_vma *area = highest_with_room(vm->area_tree.root, vm->mmap_top, bytes);
    if (!area)
        return 0;
    (void)room_below(area, &end);
    return end - bytes;
}
