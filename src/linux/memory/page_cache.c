// SPDX-License-Identifier: MIT
// Pages of mapped files: see page_cache.h. A dirty page stays dirty, because its mapping may go on
// writing unseen. Write-back is clipped to the size that the file has at that time. A mapping
// therefore never makes a file longer.
#include "linux/memory/page_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux/memory/frames.h"
#include "linux/os_internal.h"

typedef struct cached_page {
    uint64_t index_plus_one; // 0: empty slot
    uint64_t paddr;
    bool is_dirty;
} cached_page;

struct tl_page_cache {
    tl_page_cache *next;
    uint32_t n_refs;
    uint64_t id, device, inode;
    tl_file *file, *writer; // held; file NULL: anonymous; writer NULL: no mapping may write
    cached_page *pages;     // open addressing, capacity a power of two
    uint64_t n, capacity;
};

tl_page_cache *tl_page_cache_open(tl_os *os, tl_file *file, bool is_writer) {
    uint64_t device = 0, inode = 0;
    tl_page_cache *cache = NULL;
    if (file) {
        tl_file_identity(file, &device, &inode);
        for (cache = os->page_caches; cache; cache = cache->next)
            if (cache->file && cache->device == device && cache->inode == inode)
                break;
    }
    if (cache) {
        ++cache->n_refs;
    } else {
        cache = calloc(1, sizeof *cache);
        if (!cache)
            return NULL;
        *cache = (tl_page_cache){.next = os->page_caches, .n_refs = 1, .id = ++os->next_sequence, .device = device, .inode = inode};
        cache->file = file ? tl_file_ref(file) : NULL;
        os->page_caches = cache;
    }
    if (file && is_writer && !cache->writer)
        cache->writer = tl_file_ref(file);
    return cache;
}

tl_page_cache *tl_page_cache_ref(tl_page_cache *cache) {
    ++cache->n_refs;
    return cache;
}

uint64_t tl_page_cache_id(const tl_page_cache *cache) { return cache->id; }

void tl_page_cache_unref(tl_os *os, tl_page_cache *cache) {
    if (!cache || --cache->n_refs > 0)
        return;
    (void)tl_page_cache_write_back(os, cache, 0, UINT64_MAX);
    tl_page_cache **link = &os->page_caches;
    while (*link != cache)
        link = &(*link)->next;
    *link = cache->next;
    for (uint64_t i = 0; i < cache->capacity; ++i)
        if (cache->pages[i].index_plus_one)
            tl_frame_unref(os->frames, cache->pages[i].paddr);
    tl_file_unref(os, cache->file);
    tl_file_unref(os, cache->writer);
    free(cache->pages);
    free(cache);
}

// The slot of a page, or the empty one where it would go; NULL: there are no slots yet.
static cached_page *slot_of(const tl_page_cache *cache, uint64_t index) {
    if (cache->capacity == 0)
        return NULL;
    uint64_t at = (index * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (cache->capacity - 1);
    while (cache->pages[at].index_plus_one && cache->pages[at].index_plus_one != index + 1)
        at = (at + 1) & (cache->capacity - 1);
    return &cache->pages[at];
}

static bool reserve(tl_page_cache *cache) {
    if (2 * (cache->n + 1) <= cache->capacity)
        return true;
    tl_page_cache grown = *cache;
    grown.capacity = cache->capacity ? 2 * cache->capacity : 16;
    grown.pages = calloc(grown.capacity, sizeof *grown.pages);
    if (!grown.pages)
        return false;
    for (uint64_t i = 0; i < cache->capacity; ++i)
        if (cache->pages[i].index_plus_one)
            *slot_of(&grown, cache->pages[i].index_plus_one - 1) = cache->pages[i];
    free(cache->pages);
    *cache = grown;
    return true;
}

static const cached_page *find(const tl_page_cache *cache, uint64_t index) {
    const cached_page *slot = slot_of(cache, index);
    return slot && slot->index_plus_one ? slot : NULL;
}

bool tl_page_cache_has(const tl_page_cache *cache, uint64_t index) { return find(cache, index) != NULL; }

uint64_t tl_page_cache_get(tl_os *os, tl_page_cache *cache, uint64_t index, tl_vm_fault_kind *ret_how) {
    const cached_page *known = find(cache, index);
    uint64_t start = index << TL_PAGE_LOG2;
    if (cache->file) { // a file may have shrunk since
        int64_t size = tl_file_size(os, cache->file);
        if (size < 0 || start >= (uint64_t)size) {
            *ret_how = size < 0 ? TL_VM_FAULT_IO : TL_VM_FAULT_BEYOND_FILE;
            return 0;
        }
    }
    if (known) {
        *ret_how = TL_VM_FAULT_MAP;
        return known->paddr;
    }
    uint64_t paddr = reserve(cache) ? tl_frame_alloc(os->frames, true) : 0;
    if (!paddr) {
        *ret_how = TL_VM_FAULT_NO_MEMORY;
        return 0;
    }
    if (cache->file) {
        uint8_t *bytes = tl_frame_bytes(os->frames, paddr);
        size_t done = 0;
        while (done < TL_PAGE_BYTES) {
            int64_t got = tl_file_pread(os, cache->file, bytes + done, TL_PAGE_BYTES - done, start + done);
            if (got < 0) {
                tl_frame_unref(os->frames, paddr);
                *ret_how = TL_VM_FAULT_IO;
                return 0;
            }
            if (got == 0)
                break;
            done += (size_t)got;
        }
    }
    // An earlier use executed this page: engines may hold its old code.
    if (tl_frame_is_code(os->frames, paddr))
        tl_memory_code_changed(os->machine->memory, paddr);
    *slot_of(cache, index) = (cached_page){.index_plus_one = index + 1, .paddr = paddr};
    ++cache->n;
    *ret_how = cache->file ? TL_VM_FAULT_FILE : TL_VM_FAULT_ZERO;
    return paddr;
}

void tl_page_cache_set_dirty(tl_page_cache *cache, uint64_t index) {
    cached_page *slot = slot_of(cache, index);
    if (slot && slot->index_plus_one)
        slot->is_dirty = true;
}

static int64_t write_page(tl_os *os, const tl_page_cache *cache, const cached_page *page) {
    uint64_t start = (page->index_plus_one - 1) << TL_PAGE_LOG2;
    int64_t size = tl_file_size(os, cache->writer);
    if (size < 0)
        return size;
    const uint8_t *bytes = tl_frame_bytes(os->frames, page->paddr);
    uint64_t end = start + TL_PAGE_BYTES < (uint64_t)size ? start + TL_PAGE_BYTES : (uint64_t)size;
    while (start < end) {
        int64_t put = tl_file_pwrite(os, cache->writer, bytes + (start & (TL_PAGE_BYTES - 1)), (size_t)(end - start), start);
        if (put <= 0)
            return put < 0 ? put : -EIO;
        start += (uint64_t)put;
    }
    return 0;
}

int64_t tl_page_cache_write_back(tl_os *os, tl_page_cache *cache, uint64_t first, uint64_t end) {
    int64_t result = 0;
    if (!cache->writer)
        return 0;
    for (uint64_t i = 0; i < cache->capacity; ++i) {
        const cached_page *page = &cache->pages[i];
        if (!page->index_plus_one || !page->is_dirty || page->index_plus_one - 1 < first || page->index_plus_one - 1 >= end)
            continue;
        int64_t wrote = write_page(os, cache, page);
        if (wrote < 0)
            result = wrote;
    }
    return result;
}

static tl_page_cache *of_file(tl_os *os, uint64_t device, uint64_t inode) {
    for (tl_page_cache *cache = os->page_caches; cache; cache = cache->next)
        if (cache->file && cache->device == device && cache->inode == inode)
            return cache;
    return NULL;
}

void tl_vm_file_written(tl_os *os, uint64_t device, uint64_t inode, uint64_t offset, const void *bytes, size_t n) {
    const tl_page_cache *cache = of_file(os, device, inode);
    const uint8_t *from = bytes;
    while (cache && n > 0) {
        size_t within = (size_t)(offset & (TL_PAGE_BYTES - 1)), part = TL_PAGE_BYTES - within < n ? TL_PAGE_BYTES - within : n;
        const cached_page *page = find(cache, offset >> TL_PAGE_LOG2);
        if (page) {
            // Write-back passes the page itself.
            memmove(tl_frame_bytes(os->frames, page->paddr) + within, from, part);
            if (tl_frame_is_code(os->frames, page->paddr))
                tl_memory_code_changed(os->machine->memory, page->paddr);
        }
        offset += part;
        from += part;
        n -= part;
    }
}

void tl_vm_file_read(tl_os *os, uint64_t device, uint64_t inode, uint64_t offset, void *bytes, size_t n) {
    const tl_page_cache *cache = of_file(os, device, inode);
    uint8_t *to = bytes;
    while (cache && n > 0) {
        size_t within = (size_t)(offset & (TL_PAGE_BYTES - 1)), part = TL_PAGE_BYTES - within < n ? TL_PAGE_BYTES - within : n;
        const cached_page *page = find(cache, offset >> TL_PAGE_LOG2);
        if (page && page->is_dirty)
            memmove(to, tl_frame_bytes(os->frames, page->paddr) + within, part);
        offset += part;
        to += part;
        n -= part;
    }
}
