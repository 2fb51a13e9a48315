// SPDX-License-Identifier: MIT
// The inside of an address space, for exec, fork, the memory system calls and fault handling.
#ifndef TL_OS_VM_SPACE_H
#define TL_OS_VM_SPACE_H

#include "linux/memory/page_table.h"
#include "linux/memory/vm.h"

// The layout is fixed. The last page of the user half returns from signal handlers, and the stack
// ends a little below it. Mappings grow down from below the stack's room. Position-independent
// programs start at two thirds, as on Linux.
static const uint64_t TL_TRAMPOLINE_VADDR = UINT64_C(0x3ffffff000);
static const uint64_t TL_STACK_TOP = UINT64_C(0x3fffff0000);
static const uint64_t TL_PIE_BASE = UINT64_C(0x2aaaaaa000);
static const uint64_t TL_MMAP_MIN = UINT64_C(0x10000);
// Least room for the stack above mappings.
static const uint64_t TL_STACK_GAP_MIN = UINT64_C(128) << 20;
static const uint64_t TL_STACK_GUARD = UINT64_C(256) << TL_PAGE_LOG2;

struct tl_vm {
    tl_os *os;
    const tl_page_format *format;
    uint32_t n_refs;
    uint64_t id;         // unique in this run
    uint64_t root_paddr; // of the top page table
    tl_vma *areas;       // by address
    tl_treap area_tree;  // the same: areas.c
    tl_vma *hint;        // the area found last, or NULL
    uint64_t brk_start, brk_end;
    uint64_t mmap_top;          // mappings go below
    uint64_t stack_limit_bytes; // how far a stack may grow
    uint64_t resident_pages, max_resident_pages, n_tables, mapped_bytes, n_areas;
    bool is_out_of_memory; // a page could not be had; its processes are killed
};

tl_vm *tl_vm_new(tl_os *os); // empty; NULL: RAM is full
tl_vm *tl_vm_ref(tl_vm *vm);
void tl_vm_unref(tl_vm *vm);  // the last one gives everything back; NULL is fine
tl_vm *tl_vm_fork(tl_vm *vm); // NULL: RAM is full
uint64_t tl_vm_context(const tl_vm *vm);

// ---- Areas in order, each search and change in logarithmic time. areas.c
void tl_areas_init(tl_vm *vm);
void tl_areas_insert(tl_vm *vm, tl_vma *area); // which overlaps none
void tl_areas_remove(tl_vm *vm, tl_vma *area);
// The start or the end of the area moved, within the room it had.
void tl_areas_resized(tl_vm *vm, tl_vma *area);
// The first area that ends after vaddr; NULL: none.
tl_vma *tl_areas_after(const tl_vm *vm, uint64_t vaddr);
// The highest room below mmap_top: its last `bytes` bytes. 0: none.
uint64_t tl_areas_find_room(const tl_vm *vm, uint64_t bytes);

enum { TL_VM_MAX_AREAS = 65530 }; // as Linux's vm.max_map_count

enum { TL_MAP_FIXED = 1, TL_MAP_NOREPLACE = 2, TL_MAP_BELOW_MIN = 4 }; // flags of tl_vm_map

typedef struct tl_map {
    uint64_t vaddr; // a hint unless TL_MAP_FIXED; 0: anywhere
    uint64_t bytes;
    uint8_t prot, max_prot, kind;
    bool is_shared;
    tl_file *file; // borrowed; NULL: anonymous
    uint64_t offset;
    unsigned flags;
} tl_map;
// The address, or -EINVAL, -ENOMEM, -EEXIST, -EPERM.
int64_t tl_vm_map(tl_vm *vm, const tl_map *map);
int64_t tl_vm_unmap(tl_vm *vm, uint64_t start, uint64_t end);
int64_t tl_vm_protect(tl_vm *vm, uint64_t start, uint64_t end, uint8_t prot);
// Moves or resizes one area's stretch; new_vaddr 0: in place or, with may_move, wherever there is
// room.
int64_t tl_vm_remap(tl_vm *vm, uint64_t old_vaddr, uint64_t old_bytes, uint64_t new_bytes, bool may_move, uint64_t new_vaddr,
                    bool keep_old);
int64_t tl_vm_set_brk(tl_vm *vm, uint64_t wanted, uint64_t limit_bytes); // the break afterwards
// Forgets pages: the next touch sees zeroes or the file.
void tl_vm_zap(tl_vm *vm, uint64_t start, uint64_t end);
bool tl_vm_is_mapped(const tl_vm *vm, uint64_t start, uint64_t end); // without a hole
bool tl_vm_is_resident(const tl_vm *vm, uint64_t vaddr);
// The first area that begins at or after start, with borders at start and end; NULL: none, or no
// memory.
tl_vma *tl_vm_split(tl_vm *vm, uint64_t start, uint64_t end);
void tl_vm_populate(tl_vm *vm, uint64_t start, uint64_t end, tl_vm_access access);

// Resolves a fault or returns the reason for failure. Counts no event; tl_vm_fault_on_behalf counts
// faults of system calls.
tl_vm_fault_kind tl_vm_fault(tl_vm *vm, uint64_t vaddr, tl_vm_access access);
tl_vm_fault_kind tl_vm_fault_on_behalf(tl_vm *vm, uint64_t vaddr, tl_vm_access access);
void tl_os_count_fault(tl_os *os, tl_vm_fault_kind fault); // OS_PAGE_* on the hart of the event
void tl_vm_flush(tl_vm *vm, uint64_t start, uint64_t end); // TLBs of all harts that run this space

// tl_vm_span, tl_vm_write and so on for a space that no process has (yet).
uint8_t *tl_vm_space_span(tl_vm *vm, uint64_t vaddr, size_t n, bool is_write, size_t *ret_n);
bool tl_vm_space_write(tl_vm *vm, uint64_t vaddr, const void *from, size_t n);
bool tl_vm_space_zero(tl_vm *vm, uint64_t vaddr, size_t n);

// The leaf entry of a page; NULL: there is no table for it.
uint64_t *tl_vm_pte(const tl_vm *vm, uint64_t vaddr);

#endif
