// SPDX-License-Identifier: MIT
// The pages of an event that a program maps. The first page describes the event and the position of
// the records; the other pages hold the records. The pages are pages of the machine's RAM. The
// mapping's page cache and the ring hold references; a page that only the ring holds is unmapped.
// The program may write any bytes, because the ring reduces every offset to an address within it.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "linux/memory/frames.h"
#include "linux/memory/page_cache.h"
#include "linux/memory/vm_space.h"
#include "linux/perf/perf_event.h"

enum { NS_PER_TICK = 1000000000 / TL_TIMEBASE_HZ, MAX_RING_PAGES = 1 << 20 };
_Static_assert(1000000000 % TL_TIMEBASE_HZ == 0, "a tick is a whole number of ns");

static uint8_t *page_at(const tl_pev_ring *ring, uint64_t index) { return tl_frame_bytes(ring->perf->os->frames, ring->paddr[index]); }

static struct perf_event_mmap_page *first_page(const tl_pev_ring *ring) { return (struct perf_event_mmap_page *)(void *)page_at(ring, 0); }

static bool is_mapped(const tl_pev_ring *ring) { return tl_frame_n_refs(ring->perf->os->frames, ring->paddr[0]) > 1; }

static uint64_t data_bytes(const tl_pev_ring *ring) { return ring->n_pages << TL_PAGE_LOG2; }

void tl_pev_ring_unref(tl_pev_ring *ring) {
    if (!ring || --ring->n_refs > 0)
        return;
    for (uint64_t i = 0; i <= ring->n_pages; i++)
        tl_frame_unref(ring->perf->os->frames, ring->paddr[i]);
    ring->perf->n_locked_pages -= ring->n_pages + 1;
    free(ring);
}

tl_pev_ring *tl_pev_ring_of(tl_pev_event *e) {
    tl_pev_event *opened = tl_pev_opened(e);
    if (opened->ring && !is_mapped(opened->ring)) {
        tl_pev_ring_unref(opened->ring);
        opened->ring = NULL;
    }
    return opened->ring;
}

// ---- The page that describes the event.

// The counter that user code can read instead of the event, or -1. Only events equal to `cycle` or
// `instret` have one, because these counters always count.
static int32_t counter_of(const tl_pev_event *e) {
    uint32_t granted = e->perf->os->machine->config.os.user_counters;
    if (!e->hart || e->kind != TL_PEV_SIGNALS || e->n_parts != 1 || !(e->modes & TL_PEV_USER))
        return -1;
    const tl_sources *sources = &e->parts[0]->on[e->hart->id];
    uint32_t row = sources->n_cells == 1 ? sources->cells[0] - e->hart->id * TL_S_N_CELLS : TL_S_N_CELLS;
    int32_t counter = row == TL_S_HART_CYCLE ? 0 : row == TL_S_HART_INSTRET ? 2 : -1;
    return counter >= 0 && (granted >> counter & 1) ? counter : -1;
}

void tl_pev_update_page(tl_pev_event *e) {
    tl_pev_ring *ring = e->file && e->ring ? tl_pev_ring_of(e) : NULL;
    if (!ring)
        return;
    tl_pev_settle(e);
    struct perf_event_mmap_page *page = first_page(ring);
    const tl_os *os = e->perf->os;
    int32_t counter = counter_of(e);
    uint64_t now = 0;
    if (counter >= 0)
        now = counter == 0 ? e->hart->now - e->hart->idle_cycles : e->hart->instret;
    uint64_t now_ns = tl_os_now_ns(os);
    page->lock += 2; // no hart reads the odd number, because harts stand still during this update
    page->index = (uint32_t)(counter + 1);
    page->offset = (int64_t)(e->ended_count + e->count - now);
    page->time_enabled = tl_os_cycles_to_ns(os, e->ended_enabled_cycles + e->enabled_cycles);
    page->time_running = tl_os_cycles_to_ns(os, e->ended_running_cycles + e->running_cycles);
    page->cap_bit0_is_deprecated = 1;
    page->cap_user_rdpmc = counter >= 0;
    page->cap_user_time = page->cap_user_time_zero = 1;
    page->pmc_width = 64;
    page->time_shift = 0;
    page->time_mult = NS_PER_TICK;
    page->time_offset = UINT64_C(0) - now_ns / NS_PER_TICK * NS_PER_TICK;
    page->time_zero = 0;
    page->size = offsetof(struct perf_event_mmap_page, __reserved);
}

// ---- Mapping.

static tl_pev_ring *ring_new(tl_pev *perf, uint64_t n_pages) {
    tl_pev_ring *ring = calloc(1, sizeof *ring + (n_pages + 1) * sizeof ring->paddr[0]);
    if (!ring)
        return NULL;
    ring->n_refs = 1;
    ring->perf = perf;
    ring->n_pages = n_pages;
    return ring;
}

// Memory that may still be locked: an allowance for each hart, and beyond it what RLIMIT_MEMLOCK
// permits.
static bool may_lock(const tl_thread *t, uint64_t n_pages) {
    const tl_os *os = t->os;
    uint64_t free_pages = (uint64_t)TL_PEV_MLOCK_KIB * 1024 / TL_PAGE_BYTES * os->machine->n_harts;
    uint64_t limit_pages = t->process->limits[RLIMIT_MEMLOCK].soft >> TL_PAGE_LOG2;
    return os->perf->n_locked_pages + n_pages <= free_pages + limit_pages;
}

// The pages of a mapping that was just made, each brought in now: writing records never allocates.
static int64_t fill(tl_thread *t, tl_pev_event *e, tl_page_cache *cache, uint64_t n_pages, bool is_writable) {
    tl_os *os = t->os;
    tl_pev_ring *ring = ring_new(e->perf, n_pages);
    if (!ring)
        return -ENOMEM;
    for (uint64_t i = 0; i <= n_pages; i++) {
        tl_vm_fault_kind how;
        uint64_t paddr = tl_page_cache_get(os, cache, i, &how);
        if (!paddr) {
            while (i-- > 0)
                tl_frame_unref(os->frames, ring->paddr[i]);
            free(ring);
            return -ENOMEM;
        }
        tl_frame_ref(os->frames, paddr);
        ring->paddr[i] = paddr;
        memset(tl_frame_bytes(os->frames, paddr), 0, TL_PAGE_BYTES);
    }
    e->perf->n_locked_pages += n_pages + 1;
    ring->is_overwrite = !is_writable;
    ring->watermark = e->attr.watermark ? e->attr.wakeup_watermark : 0;
    if (ring->watermark == 0 || ring->watermark > data_bytes(ring))
        ring->watermark = data_bytes(ring) / 2;
    struct perf_event_mmap_page *page = first_page(ring);
    page->data_offset = TL_PAGE_BYTES;
    page->data_size = data_bytes(ring);
    e->ring = ring;
    return 0;
}

int64_t tl_pev_mmap(tl_thread *t, tl_file *file, const uint64_t args[6]) {
    tl_pev_event *e = tl_pev_event_of(file);
    uint64_t bytes = tl_align_up(args[1], TL_PAGE_BYTES), n_pages = (bytes >> TL_PAGE_LOG2) - 1;
    int prot = (int)args[2], flags = (int)args[3];
    if (!e)
        return -ENODEV;
    if ((e->cpu < 0 && e->attr.inherit) || (flags & MAP_TYPE) == MAP_PRIVATE || args[5] != 0)
        return -EINVAL;
    if (n_pages != 0 && (n_pages & (n_pages - 1)) != 0)
        return -EINVAL;
    if (prot & PROT_EXEC)
        return -EACCES;
    tl_pev_ring *known = tl_pev_ring_of(e);
    if (known && known->n_pages != n_pages)
        return -EINVAL;
    if (known && !e->has_mapped) // it is another event's
        return -EINVAL;
    if (n_pages >= MAX_RING_PAGES)
        return -ENOMEM;
    if (!known && !may_lock(t, n_pages + 1))
        return -EPERM;
    tl_vm *vm = t->process->vm;
    tl_map map = {.vaddr = args[0],
                  .bytes = bytes,
                  .prot = (uint8_t)(prot & 7),
                  .max_prot = TL_PROT_READ | TL_PROT_WRITE,
                  .kind = TL_VMA_FILE,
                  .is_shared = true,
                  .file = file};
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        map.flags |= TL_MAP_FIXED;
    if (flags & MAP_FIXED_NOREPLACE)
        map.flags |= TL_MAP_NOREPLACE;
    e->n_mapped_pages = n_pages + 1;
    int64_t vaddr = tl_vm_map(vm, &map);
    if (vaddr < 0)
        return vaddr;
    tl_vma *area = tl_vm_split(vm, (uint64_t)vaddr, (uint64_t)vaddr + bytes);
    int64_t error = area ? 0 : -ENOMEM;
    if (area)
        area->is_dont_fork = true;
    if (area && !known)
        error = fill(t, e, area->cache, n_pages, prot & PROT_WRITE);
    if (error) {
        (void)tl_vm_unmap(vm, (uint64_t)vaddr, (uint64_t)vaddr + bytes);
        return error;
    }
    e->has_mapped = true;
    tl_pev_update_page(e);
    return vaddr;
}

int64_t tl_pev_set_output(tl_pev_event *e, tl_pev_event *to) {
    if (to &&
        (to == e || to->cpu != e->cpu || (to->cpu < 0 && to->thread != e->thread) || to->attr.write_backward != e->attr.write_backward))
        return -EINVAL;
    if (e->has_mapped && tl_pev_ring_of(e))
        return -EINVAL;
    tl_pev_ring *ring = to ? tl_pev_ring_of(to) : NULL;
    if (to && !ring)
        return -EINVAL;
    if (ring)
        ++ring->n_refs;
    tl_pev_ring_unref(e->ring);
    e->ring = ring;
    e->has_mapped = false;
    return 0;
}

// ---- Records.

static void put(tl_pev_ring *ring, const uint8_t *bytes, size_t n) {
    while (n > 0) {
        uint64_t at = ring->head & (data_bytes(ring) - 1);
        size_t within = (size_t)(at & (TL_PAGE_BYTES - 1)), part = TL_PAGE_BYTES - within < n ? TL_PAGE_BYTES - within : n;
        memcpy(page_at(ring, 1 + (at >> TL_PAGE_LOG2)) + within, bytes, part);
        ring->head += part;
        bytes += part;
        n -= part;
    }
}

static bool has_room(const tl_pev_ring *ring, size_t n) {
    uint64_t tail = first_page(ring)->data_tail;
    return ring->is_overwrite ? n <= data_bytes(ring) : ((tail - (ring->head + 1)) & (data_bytes(ring) - 1)) >= n;
}

bool tl_pev_ring_has_unread(const tl_pev_ring *ring) { return ring->n_pages > 0 && first_page(ring)->data_tail != ring->head; }

static bool lose(tl_pev_ring *ring, tl_pev_event *e) {
    ++ring->n_lost;
    ++e->n_lost;
    return false;
}

bool tl_pev_ring_put(tl_pev_event *e, const uint8_t *bytes, size_t n) {
    tl_pev_ring *ring = tl_pev_ring_of(e);
    if (!ring || ring->n_pages == 0)
        return false;
    if (ring->is_paused)
        return lose(ring, e);
    uint8_t lost[64 + 48];
    size_t n_lost = 0;
    if (ring->n_lost > 0 && !ring->is_overwrite) {
        uint64_t body[2] = {tl_pev_opened(e)->id, ring->n_lost};
        n_lost = sizeof(struct perf_event_header) + sizeof body;
        memcpy(lost + sizeof(struct perf_event_header), body, sizeof body);
        n_lost += tl_pev_trailer(e, e->thread, lost + n_lost);
        struct perf_event_header header = {.type = PERF_RECORD_LOST, .size = (uint16_t)n_lost};
        memcpy(lost, &header, sizeof header);
    }
    if (!has_room(ring, n + n_lost))
        return lose(ring, e);
    put(ring, lost, n_lost);
    put(ring, bytes, n);
    ring->n_lost = n_lost > 0 ? 0 : ring->n_lost;
    first_page(ring)->data_head = ring->head;
    uint32_t wakeup_events = tl_pev_opened(e)->attr.wakeup_events;
    if (!e->attr.watermark && wakeup_events > 0 && ++ring->n_events >= wakeup_events) {
        ring->n_events = 0;
        e->wants_wakeup = true;
    }
    if (ring->head - ring->woken_at > ring->watermark) {
        ring->woken_at = ring->head;
        e->wants_wakeup = true;
    }
    return true;
}
