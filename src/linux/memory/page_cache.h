// SPDX-License-Identifier: MIT
// The pages of a file that mappings see. Each file that is mapped anywhere has one object, and so
// has each anonymous shared mapping. Private mappings show these pages read-only until written.
// Shared ones write them. Their changes go back to the file at msync, munmap and exit.
#ifndef TL_OS_PAGE_CACHE_H
#define TL_OS_PAGE_CACHE_H

#include "linux/memory/vm.h"

// The object of this file, or a new one; a reference is returned, NULL: no memory. `file` NULL:
// anonymous. is_writer: the mapping may write.
tl_page_cache *tl_page_cache_open(tl_os *os, tl_file *file, bool is_writer);
tl_page_cache *tl_page_cache_ref(tl_page_cache *cache);
// The last reference writes back and frees. NULL is fine.
void tl_page_cache_unref(tl_os *os, tl_page_cache *cache);

// The page with this number in the file, read in when needed; borrowed. *ret_how: TL_VM_FAULT_MAP,
// TL_VM_FAULT_FILE, TL_VM_FAULT_ZERO, or why not (0 is returned).
uint64_t tl_page_cache_get(tl_os *os, tl_page_cache *cache, uint64_t index, tl_vm_fault_kind *ret_how);
void tl_page_cache_set_dirty(tl_page_cache *cache, uint64_t index);
bool tl_page_cache_has(const tl_page_cache *cache, uint64_t index);
// Writes dirty pages [first, end) to the file. 0 or a negative error number.
int64_t tl_page_cache_write_back(tl_os *os, tl_page_cache *cache, uint64_t first, uint64_t end);
// Identity for futexes, unique while the cache lives.
uint64_t tl_page_cache_id(const tl_page_cache *cache);

#endif
