// SPDX-License-Identifier: MIT
// Address spaces: areas, page tables, faults, fork. The instruction set brings the format of
// entries, and its hardware walker sets accessed and dirty bits. A present page without permissions
// keeps its address in an invalid entry (tl_page_format.held). A shared page of a writable private
// area is mapped read-only and copied when written.
#include "linux/memory/vm_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux/isa.h"
#include "linux/memory/frames.h"
#include "linux/memory/page_cache.h"
#include "linux/os_internal.h"
#include "linux/process/code.h"

enum { LEVELS = TL_TABLE_LEVELS, INDEX_BITS = TL_TABLE_INDEX_BITS, ENTRIES = 1 << INDEX_BITS };

static uint64_t page_of(uint64_t vaddr) { return vaddr & ~(uint64_t)(TL_PAGE_BYTES - 1); }

// ---- Page tables.

static uint64_t *table_at(const tl_vm *vm, uint64_t paddr) { return (uint64_t *)(void *)tl_frame_bytes(vm->os->frames, paddr); }

static unsigned index_at(uint64_t vaddr, int level) { return (unsigned)(vaddr >> (TL_PAGE_LOG2 + INDEX_BITS * level)) & (ENTRIES - 1); }

uint64_t *tl_vm_pte(const tl_vm *vm, uint64_t vaddr) {
    if (vaddr >= TL_USER_END)
        return NULL;
    uint64_t *table = table_at(vm, vm->root_paddr);
    for (int level = LEVELS - 1; level > 0; --level) {
        uint64_t entry = table[index_at(vaddr, level)];
        if (!tl_pte_is_valid(vm->format, entry))
            return NULL;
        table = table_at(vm, tl_pte_paddr(vm->format, entry));
    }
    return &table[index_at(vaddr, 0)];
}

static uint64_t *make_pte_slot(tl_vm *vm, uint64_t vaddr) {
    uint64_t *table = table_at(vm, vm->root_paddr);
    for (int level = LEVELS - 1; level > 0; --level) {
        uint64_t *entry = &table[index_at(vaddr, level)];
        if (!tl_pte_is_valid(vm->format, *entry)) {
            uint64_t paddr = tl_frame_alloc(vm->os->frames, true);
            if (!paddr)
                return NULL;
            ++vm->n_tables;
            *entry = tl_pte_of_table(vm->format, paddr);
        }
        table = table_at(vm, tl_pte_paddr(vm->format, *entry));
    }
    return &table[index_at(vaddr, 0)];
}

// The next present leaf entry at or after *vaddr and before end; skips absent tables whole.
static uint64_t *next_present(const tl_vm *vm, uint64_t *vaddr, uint64_t end) {
    while (*vaddr < end) {
        uint64_t *table = table_at(vm, vm->root_paddr);
        int level = LEVELS - 1;
        for (; level > 0; --level) {
            uint64_t entry = table[index_at(*vaddr, level)];
            if (!tl_pte_is_valid(vm->format, entry))
                break;
            table = table_at(vm, tl_pte_paddr(vm->format, entry));
        }
        if (level > 0) {
            uint64_t span = UINT64_C(1) << (TL_PAGE_LOG2 + INDEX_BITS * level);
            *vaddr = (*vaddr & ~(span - 1)) + span;
            continue;
        }
        unsigned index = index_at(*vaddr, 0);
        for (; index < ENTRIES && *vaddr < end; ++index, *vaddr += TL_PAGE_BYTES)
            if (tl_pte_is_present(vm->format, table[index]))
                return &table[index];
    }
    return NULL;
}

uint64_t tl_vm_context(const tl_vm *vm) { return tl_context_of_table(vm->format, vm->root_paddr); }

void tl_vm_flush(tl_vm *vm, uint64_t start, uint64_t end) {
    const tl_machine *machine = vm->os->machine;
    uint64_t context = tl_vm_context(vm);
    bool is_all = end - start > UINT64_C(16) << TL_PAGE_LOG2;
    for (uint32_t i = 0; i < machine->n_harts; ++i) {
        tl_hart *h = machine->harts[i];
        if (h->context != context)
            continue;
        if (is_all)
            h->port->flush_translation(h, 0, true);
        else
            for (uint64_t page = page_of(start); page < end; page += TL_PAGE_BYTES)
                h->port->flush_translation(h, page, false);
    }
}

// The page at paddr has new bytes and will be executed; or is executed already, `is_filled` false.
static void note_code(tl_os *os, uint64_t paddr, bool is_filled) {
    bool was_code = tl_frame_set_code(os->frames, paddr, true);
    if (was_code && is_filled)
        tl_memory_code_changed(os->machine->memory, paddr);
}

static void add_resident(tl_vm *vm) {
    if (++vm->resident_pages > vm->max_resident_pages)
        vm->max_resident_pages = vm->resident_pages;
}

// ---- Areas.

enum { AREA_BYTES = sizeof(tl_vma) + 128 }; // and its share of a page cache

static bool may_have_area(const tl_vm *vm) { return vm->n_areas < TL_VM_MAX_AREAS && tl_account_has_room(&vm->os->account, AREA_BYTES); }

static void area_free(tl_vm *vm, tl_vma *area) {
    tl_os *os = vm->os;
    --vm->n_areas;
    tl_account_release(&os->account, AREA_BYTES);
    tl_page_cache_unref(os, area->cache);
    tl_file_unref(os, area->file);
    free(area);
}

static tl_vma *area_copy(tl_vm *vm, const tl_vma *area) {
    tl_vma *copy = may_have_area(vm) ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    ++vm->n_areas;
    tl_account_add(&vm->os->account, AREA_BYTES);
    *copy = *area;
    if (copy->file)
        tl_file_ref(copy->file);
    if (copy->cache)
        tl_page_cache_ref(copy->cache);
    return copy;
}

const tl_vma *tl_vm_first(const tl_vm *vm) { return vm->areas; }

// The first area that ends after vaddr.
static tl_vma *area_after(const tl_vm *vm, uint64_t vaddr) {
    if (vm->hint && vm->hint->start <= vaddr && vaddr < vm->hint->end)
        return vm->hint;
    return tl_areas_after(vm, vaddr);
}

const tl_vma *tl_vm_find(const tl_vm *vm, uint64_t vaddr) {
    const tl_vma *area = area_after(vm, vaddr);
    return area && area->start <= vaddr ? area : NULL;
}

static void insert_area(tl_vm *vm, tl_vma *area) {
    tl_areas_insert(vm, area);
    vm->mapped_bytes += area->end - area->start;
}

static bool has_offset(const tl_vma *area) { return area->cache || area->kind == TL_VMA_DEVICE; }

static bool can_merge(const tl_vma *a, const tl_vma *b) {
    if (a->end != b->start || a->prot != b->prot || a->max_prot != b->max_prot || a->kind != b->kind || a->is_shared != b->is_shared ||
        a->is_dont_fork != b->is_dont_fork || a->is_wipe_on_fork != b->is_wipe_on_fork || a->file != b->file || a->cache != b->cache)
        return false;
    return !has_offset(a) || a->offset + (a->end - a->start) == b->offset;
}

// Joins areas that differ in nothing, around [start, end].
static void merge_around(tl_vm *vm, uint64_t start, uint64_t end) {
    tl_vma *area = start > 0 ? tl_areas_after(vm, start - 1) : vm->areas;
    while (area && area->next && area->start <= end) {
        tl_vma *next = area->next;
        if (!can_merge(area, next)) {
            area = next;
            continue;
        }
        tl_areas_remove(vm, next);
        area->end = next->end;
        tl_areas_resized(vm, area);
        if (vm->hint == next)
            vm->hint = area;
        area_free(vm, next);
    }
}

// Puts a border at vaddr. false: no memory.
static bool split_at(tl_vm *vm, uint64_t vaddr) {
    tl_vma *area = area_after(vm, vaddr);
    if (!area || area->start >= vaddr)
        return true;
    tl_vma *upper = area_copy(vm, area);
    if (!upper)
        return false;
    upper->start = vaddr;
    if (has_offset(area))
        upper->offset += vaddr - area->start;
    area->end = vaddr;
    tl_areas_insert(vm, upper);
    return true;
}

tl_vma *tl_vm_split(tl_vm *vm, uint64_t start, uint64_t end) {
    if (!split_at(vm, start) || !split_at(vm, end))
        return NULL;
    return area_after(vm, start);
}

bool tl_vm_is_mapped(const tl_vm *vm, uint64_t start, uint64_t end) {
    for (const tl_vma *area = area_after(vm, start); start < end; area = area->next) {
        if (!area || area->start > start)
            return false;
        start = area->end;
    }
    return true;
}

bool tl_vm_is_resident(const tl_vm *vm, uint64_t vaddr) {
    const uint64_t *pte = tl_vm_pte(vm, vaddr);
    if (pte && tl_pte_is_present(vm->format, *pte))
        return true;
    const tl_vma *area = tl_vm_find(vm, vaddr);
    return area && area->cache && tl_page_cache_has(area->cache, (area->offset + (page_of(vaddr) - area->start)) >> TL_PAGE_LOG2);
}

uint64_t tl_vm_mapped_bytes(const tl_vm *vm) { return vm->mapped_bytes; }
uint64_t tl_vm_resident_bytes(const tl_vm *vm) { return vm->resident_pages << TL_PAGE_LOG2; }

static bool is_free(const tl_vm *vm, uint64_t start, uint64_t end) {
    const tl_vma *area = area_after(vm, start);
    return !area || area->start >= end;
}

// Maps a page of registers. Register pages cost no memory and have no reference count.
static uint64_t device_pte(const tl_vm *vm, const tl_vma *area, uint64_t page) {
    uint64_t paddr = 0, bytes = 0;
    (void)tl_file_window(vm->os, area->file, &paddr, &bytes);
    return tl_pte_of_page(vm->format, paddr + area->offset + (page - area->start), area->prot, true);
}

// Maps all register pages at once, as drivers do. A page without memory for its tables is mapped by
// a later fault.
static void map_device(tl_vm *vm, const tl_vma *area) {
    for (uint64_t page = area->start; page < area->end; page += TL_PAGE_BYTES) {
        uint64_t *pte = make_pte_slot(vm, page);
        if (pte)
            *pte = device_pte(vm, area, page);
    }
}

int64_t tl_vm_map(tl_vm *vm, const tl_map *map) {
    uint64_t bytes = tl_align_up(map->bytes, TL_PAGE_BYTES), vaddr = map->vaddr;
    if (map->bytes == 0)
        return -EINVAL;
    if (bytes == 0 || bytes > TL_USER_END)
        return -ENOMEM;
    if (map->flags & TL_MAP_FIXED) {
        if (vaddr & (TL_PAGE_BYTES - 1))
            return -EINVAL;
        if (vaddr > TL_USER_END - bytes)
            return -ENOMEM;
        if (vaddr < TL_MMAP_MIN && !(map->flags & TL_MAP_BELOW_MIN))
            return -EPERM;
        if ((map->flags & TL_MAP_NOREPLACE) && !is_free(vm, vaddr, vaddr + bytes))
            return -EEXIST;
    } else {
        vaddr = tl_align_up(vaddr, TL_PAGE_BYTES);
        if (vaddr < TL_MMAP_MIN || vaddr > TL_USER_END - bytes || !is_free(vm, vaddr, vaddr + bytes))
            vaddr = tl_areas_find_room(vm, bytes);
        if (vaddr == 0)
            return -ENOMEM;
    }
    tl_vma *area = may_have_area(vm) ? calloc(1, sizeof *area) : NULL;
    if (!area)
        return -ENOMEM;
    ++vm->n_areas;
    tl_account_add(&vm->os->account, AREA_BYTES);
    *area = (tl_vma){.start = vaddr,
                     .end = vaddr + bytes,
                     .offset = map->offset,
                     .prot = map->prot,
                     .max_prot = map->max_prot,
                     .kind = map->kind,
                     .is_shared = map->is_shared};
    if (map->kind == TL_VMA_DEVICE) {
        area->file = tl_file_ref(map->file);
    } else if (map->file || map->is_shared) {
        area->cache = tl_page_cache_open(vm->os, map->file, map->is_shared && (map->max_prot & TL_PROT_WRITE));
        if (!area->cache) {
            area_free(vm, area);
            return -ENOMEM;
        }
        area->file = map->file ? tl_file_ref(map->file) : NULL;
    }
    if ((map->flags & TL_MAP_FIXED) && !is_free(vm, vaddr, vaddr + bytes)) {
        int64_t result = tl_vm_unmap(vm, vaddr, vaddr + bytes);
        if (result < 0) {
            area_free(vm, area);
            return result;
        }
    }
    insert_area(vm, area);
    if (area->kind == TL_VMA_DEVICE)
        map_device(vm, area);
    merge_around(vm, vaddr, vaddr + bytes);
    return (int64_t)vaddr;
}

void tl_vm_zap(tl_vm *vm, uint64_t start, uint64_t end) {
    uint64_t first = UINT64_MAX, last = 0;
    for (uint64_t at = start, *pte; (pte = next_present(vm, &at, end)) != NULL; at += TL_PAGE_BYTES) {
        uint64_t paddr = tl_pte_paddr(vm->format, *pte);
        *pte = 0;
        if (tl_frames_has(vm->os->frames, paddr)) {
            tl_frame_unref(vm->os->frames, paddr);
            --vm->resident_pages;
        }
        first = at < first ? at : first;
        last = at + TL_PAGE_BYTES;
    }
    if (first < last)
        tl_vm_flush(vm, first, last);
}

int64_t tl_vm_unmap(tl_vm *vm, uint64_t start, uint64_t end) {
    tl_vma *area = area_after(vm, start);
    if (!area || area->start >= end)
        return 0;
    if (vm->os->options.code_map)
        tl_code_leaves(vm, start, end);
    if (!tl_vm_split(vm, start, end))
        return -ENOMEM;
    for (tl_vma *next = area_after(vm, start); next && next->start < end;) {
        area = next;
        next = area->next;
        if (area->is_shared && area->file && area->cache)
            (void)tl_page_cache_write_back(vm->os, area->cache, area->offset >> TL_PAGE_LOG2,
                                           (area->offset + (area->end - area->start)) >> TL_PAGE_LOG2);
        tl_vm_zap(vm, area->start, area->end);
        vm->mapped_bytes -= area->end - area->start;
        tl_areas_remove(vm, area);
        if (vm->hint == area)
            vm->hint = NULL;
        area_free(vm, area);
    }
    return 0;
}

static void protect_pages(tl_vm *vm, const tl_vma *area) {
    uint64_t first = UINT64_MAX, last = 0;
    for (uint64_t at = area->start, *pte; (pte = next_present(vm, &at, area->end)) != NULL; at += TL_PAGE_BYTES) {
        uint64_t old = *pte, paddr = tl_pte_paddr(vm->format, old);
        // Private pages of our own may be written at once. Shared file pages take a fault, so that
        // they become dirty.
        bool is_own = area->kind == TL_VMA_DEVICE || tl_frame_n_refs(vm->os->frames, paddr) == 1;
        *pte = tl_pte_of_page(vm->format, paddr, area->prot, is_own || (area->is_shared && tl_pte_is_writable(vm->format, old))) |
               (old & vm->format->used);
        if ((area->prot & TL_PROT_EXEC) && !tl_pte_is_executable(vm->format, old))
            note_code(vm->os, paddr, true);
        first = at < first ? at : first;
        last = at + TL_PAGE_BYTES;
    }
    if (first < last)
        tl_vm_flush(vm, first, last);
}

int64_t tl_vm_protect(tl_vm *vm, uint64_t start, uint64_t end, uint8_t prot) {
    if (start == end)
        return 0;
    if (!tl_vm_is_mapped(vm, start, end))
        return -ENOMEM;
    for (const tl_vma *area = area_after(vm, start); area && area->start < end; area = area->next)
        if (prot & ~area->max_prot)
            return -EACCES;
    tl_vma *area = tl_vm_split(vm, start, end);
    if (!area)
        return -ENOMEM;
    for (; area && area->start < end; area = area->next) {
        if (area->prot == prot)
            continue;
        area->prot = prot;
        protect_pages(vm, area);
    }
    merge_around(vm, start, end);
    return 0;
}

// Moves entries of [from, from + bytes) to [to, ...). false: no memory for tables; entries that
// moved before stay moved.
static bool move_pages(tl_vm *vm, uint64_t from, uint64_t to, uint64_t bytes) {
    for (uint64_t at = from, *pte; (pte = next_present(vm, &at, from + bytes)) != NULL; at += TL_PAGE_BYTES) {
        uint64_t *slot = make_pte_slot(vm, to + (at - from));
        if (!slot)
            return false;
        *slot = *pte;
        *pte = 0;
    }
    tl_vm_flush(vm, from, from + bytes);
    return true;
}

static int64_t grow_in_place(tl_vm *vm, tl_vma *area, uint64_t old_end, uint64_t new_end) {
    if (area->end != old_end || new_end > TL_USER_END || !is_free(vm, old_end, new_end))
        return -ENOMEM;
    vm->mapped_bytes += new_end - old_end;
    area->end = new_end;
    tl_areas_resized(vm, area);
    merge_around(vm, area->start, new_end);
    return 0;
}

int64_t tl_vm_remap(tl_vm *vm, uint64_t old_vaddr, uint64_t old_bytes, uint64_t new_bytes, bool may_move, uint64_t new_vaddr,
                    bool keep_old) {
    const tl_vma *found = tl_vm_find(vm, old_vaddr);
    if (!found)
        return -EFAULT;
    if (old_bytes > found->end - old_vaddr || (found->kind == TL_VMA_DEVICE && new_bytes > old_bytes))
        return -EFAULT;
    if (new_vaddr == 0 && !keep_old) {
        if (new_bytes <= old_bytes) {
            int64_t result = new_bytes < old_bytes ? tl_vm_unmap(vm, old_vaddr + new_bytes, old_vaddr + old_bytes) : 0;
            return result < 0 ? result : (int64_t)old_vaddr;
        }
        tl_vma *area = area_after(vm, old_vaddr);
        if (grow_in_place(vm, area, old_vaddr + old_bytes, old_vaddr + new_bytes) == 0)
            return (int64_t)old_vaddr;
        if (!may_move)
            return -ENOMEM;
    }
    if (new_vaddr != 0) {
        if (new_vaddr < old_vaddr + old_bytes && old_vaddr < new_vaddr + new_bytes)
            return -EINVAL;
        int64_t result = tl_vm_unmap(vm, new_vaddr, new_vaddr + new_bytes);
        if (result < 0)
            return result;
        if (new_bytes < old_bytes) {
            result = tl_vm_unmap(vm, old_vaddr + new_bytes, old_vaddr + old_bytes);
            if (result < 0)
                return result;
            old_bytes = new_bytes;
        }
    } else {
        new_vaddr = tl_areas_find_room(vm, new_bytes);
        if (new_vaddr == 0)
            return -ENOMEM;
    }
    tl_vma *area = tl_vm_split(vm, old_vaddr, old_vaddr + old_bytes);
    tl_vma *moved = area ? area_copy(vm, area) : NULL;
    if (!moved)
        return -ENOMEM;
    moved->start = new_vaddr;
    moved->end = new_vaddr + new_bytes;
    insert_area(vm, moved);
    if (!move_pages(vm, old_vaddr, new_vaddr, old_bytes))
        return -ENOMEM;
    if (!keep_old) {
        int64_t result = tl_vm_unmap(vm, old_vaddr, old_vaddr + old_bytes);
        if (result < 0)
            return result;
    }
    merge_around(vm, new_vaddr, new_vaddr + new_bytes);
    return (int64_t)new_vaddr;
}

int64_t tl_vm_set_brk(tl_vm *vm, uint64_t wanted, uint64_t limit_bytes) {
    uint64_t old_end = tl_align_up(vm->brk_end, TL_PAGE_BYTES), new_end = tl_align_up(wanted, TL_PAGE_BYTES);
    if (wanted < vm->brk_start || wanted >= TL_USER_END || wanted - vm->brk_start > limit_bytes)
        return (int64_t)vm->brk_end;
    if (new_end < old_end && tl_vm_unmap(vm, new_end, old_end) < 0)
        return (int64_t)vm->brk_end;
    if (new_end > old_end) {
        tl_map map = {.vaddr = old_end,
                      .bytes = new_end - old_end,
                      .prot = TL_PROT_READ | TL_PROT_WRITE,
                      .max_prot = TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC,
                      .kind = TL_VMA_HEAP,
                      .flags = TL_MAP_FIXED | TL_MAP_NOREPLACE};
        if (tl_vm_map(vm, &map) < 0)
            return (int64_t)vm->brk_end;
    }
    vm->brk_end = wanted;
    return (int64_t)wanted;
}

// ---- Faults.

static tl_vm_fault_kind fault_out_of_memory(tl_vm *vm) {
    vm->is_out_of_memory = true;
    return TL_VM_FAULT_NO_MEMORY;
}

// A stack grows to the page touched, if its limit and the guard below allow.
static tl_vm_fault_kind grow_stack(tl_vm *vm, uint64_t vaddr, tl_vma **ret_area) {
    tl_vma *area = area_after(vm, vaddr);
    if (!area || area->kind != TL_VMA_STACK)
        return TL_VM_FAULT_NO_AREA;
    uint64_t page = page_of(vaddr), limit = vm->stack_limit_bytes < area->end ? vm->stack_limit_bytes : area->end;
    // An overflow is near the limit or touches the stack. Anything else is a wild access.
    if (page < area->end - limit)
        return area->end - limit - page <= (UINT64_C(16) << 20) ? TL_VM_FAULT_STACK_LIMIT : TL_VM_FAULT_NO_AREA;
    const tl_vma *below = area->previous;
    if (below && below->prot != 0 && page < below->end + TL_STACK_GUARD)
        return TL_VM_FAULT_STACK_LIMIT;
    vm->mapped_bytes += area->start - page;
    area->start = page;
    tl_areas_resized(vm, area);
    *ret_area = area;
    return TL_VM_FAULT_MAP;
}

static tl_vm_fault_kind copy_page(tl_vm *vm, const tl_vma *area, uint64_t from, uint64_t *ret_paddr) {
    uint64_t to = tl_frame_alloc(vm->os->frames, false);
    if (!to)
        return fault_out_of_memory(vm);
    memcpy(tl_frame_bytes(vm->os->frames, to), tl_frame_bytes(vm->os->frames, from), TL_PAGE_BYTES);
    if (area->prot & TL_PROT_EXEC)
        note_code(vm->os, to, true);
    *ret_paddr = to;
    return TL_VM_FAULT_COW;
}

static tl_vm_fault_kind fault_present(tl_vm *vm, const tl_vma *area, uint64_t page, uint64_t *pte, tl_vm_access access) {
    tl_vm_fault_kind how = TL_VM_FAULT_MAP;
    if (access == TL_VM_WRITE && !tl_pte_is_writable(vm->format, *pte)) {
        uint64_t paddr = tl_pte_paddr(vm->format, *pte);
        if (area->is_shared) {
            tl_page_cache_set_dirty(area->cache, (area->offset + (page - area->start)) >> TL_PAGE_LOG2);
            *pte = tl_pte_with(*pte, vm->format->write);
        } else if (tl_frame_n_refs(vm->os->frames, paddr) == 1) {
            *pte = tl_pte_with(*pte, vm->format->write);
        } else {
            uint64_t copy;
            how = copy_page(vm, area, paddr, &copy);
            if (how != TL_VM_FAULT_COW)
                return how;
            *pte = tl_pte_of_page(vm->format, copy, area->prot, true);
            tl_frame_unref(vm->os->frames, paddr);
        }
    }
    tl_vm_flush(vm, page, page + TL_PAGE_BYTES);
    return how;
}

static tl_vm_fault_kind fault_cached(tl_vm *vm, const tl_vma *area, uint64_t page, uint64_t *pte, tl_vm_access access) {
    uint64_t index = (area->offset + (page - area->start)) >> TL_PAGE_LOG2;
    tl_vm_fault_kind how;
    uint64_t paddr = tl_page_cache_get(vm->os, area->cache, index, &how);
    if (!paddr)
        return how == TL_VM_FAULT_NO_MEMORY ? fault_out_of_memory(vm) : how;
    bool may_write = false;
    if (access == TL_VM_WRITE && !area->is_shared) {
        how = copy_page(vm, area, paddr, &paddr);
        if (how != TL_VM_FAULT_COW)
            return how;
        may_write = true;
    } else {
        tl_frame_ref(vm->os->frames, paddr);
        if (area->prot & TL_PROT_EXEC)
            note_code(vm->os, paddr, how != TL_VM_FAULT_MAP);
        if (area->is_shared && (access == TL_VM_WRITE || !area->file)) {
            tl_page_cache_set_dirty(area->cache, index);
            may_write = true;
        }
    }
    *pte = tl_pte_of_page(vm->format, paddr, area->prot, may_write);
    add_resident(vm);
    return how;
}

static tl_vm_fault_kind fault_anonymous(tl_vm *vm, const tl_vma *area, uint64_t *pte) {
    uint64_t paddr = tl_frame_alloc(vm->os->frames, true);
    if (!paddr)
        return fault_out_of_memory(vm);
    if (area->prot & TL_PROT_EXEC)
        note_code(vm->os, paddr, true);
    *pte = tl_pte_of_page(vm->format, paddr, area->prot, true);
    add_resident(vm);
    return TL_VM_FAULT_ZERO;
}

tl_vm_fault_kind tl_vm_fault(tl_vm *vm, uint64_t vaddr, tl_vm_access access) {
    if (vaddr >= TL_USER_END)
        return TL_VM_FAULT_NO_AREA;
    tl_vma *area = area_after(vm, vaddr);
    if (!area || area->start > vaddr) {
        tl_vm_fault_kind grown = grow_stack(vm, vaddr, &area);
        if (grown != TL_VM_FAULT_MAP)
            return grown;
    }
    vm->hint = area;
    uint8_t needs = access == TL_VM_WRITE ? TL_PROT_WRITE : access == TL_VM_EXEC ? TL_PROT_EXEC : TL_PROT_READ | TL_PROT_WRITE;
    if (!(area->prot & needs))
        return TL_VM_FAULT_DENIED;
    uint64_t page = page_of(vaddr), *pte = make_pte_slot(vm, page);
    if (!pte)
        return fault_out_of_memory(vm);
    if (area->kind == TL_VMA_DEVICE) {
        *pte = device_pte(vm, area, page);
        return TL_VM_FAULT_MAP;
    }
    if (tl_pte_is_present(vm->format, *pte))
        return fault_present(vm, area, page, pte, access);
    return area->cache ? fault_cached(vm, area, page, pte, access) : fault_anonymous(vm, area, pte);
}

void tl_os_count_fault(tl_os *os, tl_vm_fault_kind fault) {
    tl_os_count(os, TL_S_OS_PAGE_FAULT, 1);
    switch (fault) {
    case TL_VM_FAULT_ZERO: tl_os_count(os, TL_S_OS_PAGE_ZERO, 1); break;
    case TL_VM_FAULT_FILE: tl_os_count(os, TL_S_OS_PAGE_FILE, 1); break;
    case TL_VM_FAULT_COW: tl_os_count(os, TL_S_OS_PAGE_COW, 1); break;
    case TL_VM_FAULT_MAP: tl_os_count(os, TL_S_OS_PAGE_MAP, 1); break;
    default: break;
    }
}

tl_vm_fault_kind tl_vm_fault_on_behalf(tl_vm *vm, uint64_t vaddr, tl_vm_access access) {
    tl_vm_fault_kind fault = tl_vm_fault(vm, vaddr, access);
    if (tl_vm_is_resolved(fault)) {
        if (vm->os->hart)
            ++*(fault == TL_VM_FAULT_FILE ? &vm->os->kernel_counts[vm->os->hart->id].major_faults
                                          : &vm->os->kernel_counts[vm->os->hart->id].minor_faults);
        tl_os_count_fault(vm->os, fault);
        tl_os_spend(vm->os, TL_S_HART_CYC_TRAP, vm->os->machine->config.os.page_fault_cycles);
    }
    return fault;
}

void tl_vm_populate(tl_vm *vm, uint64_t start, uint64_t end, tl_vm_access access) {
    for (uint64_t page = page_of(start); page < end; page += TL_PAGE_BYTES) {
        const uint64_t *pte = tl_vm_pte(vm, page);
        if (pte && tl_pte_is_valid(vm->format, *pte) && (access != TL_VM_WRITE || tl_pte_is_writable(vm->format, *pte)))
            continue;
        if (!tl_vm_is_resolved(tl_vm_fault_on_behalf(vm, page, access)) || tl_os_wants_stop(vm->os))
            return;
    }
}

// ---- Life.

tl_vm *tl_vm_new(tl_os *os) {
    tl_vm *vm = calloc(1, sizeof *vm);
    if (!vm)
        return NULL;
    *vm = (tl_vm){.os = os,
                  .format = tl_os_isa_of(os)->page_format,
                  .n_refs = 1,
                  .id = ++os->next_sequence,
                  .n_tables = 1,
                  .mmap_top = TL_STACK_TOP - TL_STACK_GAP_MIN,
                  .stack_limit_bytes = 8 << 20};
    tl_areas_init(vm);
    vm->root_paddr = tl_frame_alloc(os->frames, true);
    if (!vm->root_paddr) {
        free(vm);
        return NULL;
    }
    return vm;
}

tl_vm *tl_vm_ref(tl_vm *vm) {
    ++vm->n_refs;
    return vm;
}

static void free_tables(tl_vm *vm, uint64_t paddr, int level) {
    const uint64_t *table = table_at(vm, paddr);
    for (int i = 0; level > 0 && i < ENTRIES; ++i)
        if (tl_pte_is_valid(vm->format, table[i]))
            free_tables(vm, tl_pte_paddr(vm->format, table[i]), level - 1);
    tl_frame_unref(vm->os->frames, paddr);
}

void tl_vm_unref(tl_vm *vm) {
    if (!vm || --vm->n_refs > 0)
        return;
    tl_os *os = vm->os;
    for (uint32_t i = 0; i < os->machine->n_harts; ++i)
        if (os->machine->harts[i]->context == tl_vm_context(vm))
            tl_memory_switch_context(os->machine->harts[i], 0);
    (void)tl_vm_unmap(vm, 0, TL_USER_END);
    free_tables(vm, vm->root_paddr, LEVELS - 1);
    free(vm);
}

static bool fork_pages(tl_vm *vm, tl_vm *child, const tl_vma *area) {
    for (uint64_t at = area->start, *pte; (pte = next_present(vm, &at, area->end)) != NULL; at += TL_PAGE_BYTES) {
        uint64_t *slot = make_pte_slot(child, at);
        if (!slot)
            return false;
        *pte = tl_pte_without(*pte, vm->format->write);
        *slot = *pte & ~vm->format->used;
        tl_frame_ref(vm->os->frames, tl_pte_paddr(vm->format, *pte));
        add_resident(child);
    }
    return true;
}

tl_vm *tl_vm_fork(tl_vm *vm) {
    tl_vm *child = tl_vm_new(vm->os);
    if (!child)
        return NULL;
    child->brk_start = vm->brk_start;
    child->brk_end = vm->brk_end;
    child->mmap_top = vm->mmap_top;
    child->stack_limit_bytes = vm->stack_limit_bytes;
    bool is_complete = true;
    for (const tl_vma *area = vm->areas; area && is_complete; area = area->next) {
        if (area->is_dont_fork)
            continue;
        tl_vma *copy = area_copy(child, area);
        if (!copy) {
            is_complete = false;
            break;
        }
        insert_area(child, copy);
        // Pages of shared mappings come back by faults.
        if (!area->is_shared && !area->is_wipe_on_fork)
            is_complete = fork_pages(vm, child, area);
    }
    tl_vm_flush(vm, 0, TL_USER_END);
    if (!is_complete) {
        tl_vm_unref(child);
        return NULL;
    }
    return child;
}
