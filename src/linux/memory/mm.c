// SPDX-License-Identifier: MIT
// System calls about memory: checks of Linux's flags and limits around the address space of vm.c.
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "linux/call/syscall.h"
#include "linux/memory/page_cache.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/perf/perf_event.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static bool is_page_aligned(uint64_t value) { return (value & (TL_PAGE_BYTES - 1)) == 0; }

// [vaddr, vaddr + bytes) rounded up to pages. false: it wraps around or leaves the user half.
static bool range_of(uint64_t vaddr, uint64_t bytes, uint64_t *ret_end) {
    if (bytes > TL_USER_END || vaddr > TL_USER_END - tl_align_up(bytes, TL_PAGE_BYTES))
        return false;
    *ret_end = vaddr + tl_align_up(bytes, TL_PAGE_BYTES);
    return true;
}

static bool is_within_limit(const tl_process *p, uint64_t more_bytes) {
    uint64_t limit = p->limits[RLIMIT_AS].soft, mapped = tl_vm_mapped_bytes(p->vm);
    return more_bytes <= limit && mapped <= limit - more_bytes;
}

int64_t tl_sys_brk(tl_thread *t, const uint64_t args[6]) {
    tl_vm *vm = t->process->vm;
    uint64_t limit = t->process->limits[RLIMIT_DATA].soft;
    if (args[0] > vm->brk_end && !is_within_limit(t->process, args[0] - vm->brk_end))
        return (int64_t)vm->brk_end;
    return tl_vm_set_brk(vm, args[0], limit);
}

// Registers of a device: shared, whole pages within its window, never code.
static int64_t map_registers(tl_file *file, int prot, uint64_t window_bytes, tl_map *map) {
    if (!map->is_shared || (prot & PROT_EXEC))
        return -EINVAL;
    if (map->offset > window_bytes || tl_align_up(map->bytes, TL_PAGE_BYTES) > window_bytes - map->offset)
        return -EINVAL;
    map->file = file;
    map->kind = TL_VMA_DEVICE;
    map->max_prot = TL_PROT_READ;
    bool is_ignored;
    int64_t result = tl_file_may_map(file, prot, true, &is_ignored);
    if (result == 0 && tl_file_may_map(file, prot | PROT_WRITE, true, &is_ignored) == 0)
        map->max_prot |= TL_PROT_WRITE;
    return result;
}

int64_t tl_sys_mmap(tl_thread *t, const uint64_t args[6]) {
    uint64_t bytes = args[1], offset = args[5];
    int prot = (int)args[2], flags = (int)args[3];
    int type = flags & MAP_TYPE;
    tl_map map = {.vaddr = args[0],
                  .bytes = bytes,
                  .prot = (uint8_t)(prot & 7),
                  .max_prot = TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC,
                  .kind = TL_VMA_ANON,
                  .is_shared = type != MAP_PRIVATE,
                  .offset = offset};
    if (bytes == 0 || !is_page_aligned(offset) || (type != MAP_PRIVATE && type != MAP_SHARED && type != MAP_SHARED_VALIDATE))
        return -EINVAL;
    if (bytes > TL_USER_END || offset + bytes < offset)
        return offset + bytes < offset ? -EOVERFLOW : -ENOMEM;
    if (flags & MAP_HUGETLB)
        return -ENOMEM; // no huge pages here
    if (!is_within_limit(t->process, tl_align_up(bytes, TL_PAGE_BYTES)))
        return -ENOMEM;
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        map.flags |= TL_MAP_FIXED;
    if (flags & MAP_FIXED_NOREPLACE)
        map.flags |= TL_MAP_NOREPLACE;
    if (!(flags & MAP_ANONYMOUS)) {
        tl_file *file = tl_file_of_fd(t, (int32_t)args[4]);
        bool is_zero = false;
        if (!file)
            return -EBADF;
        int64_t mapped = tl_pev_mmap(t, file, args);
        if (mapped != -ENODEV)
            return mapped;
        uint64_t window_paddr, window_bytes;
        if (tl_file_window(t->os, file, &window_paddr, &window_bytes)) {
            int64_t result = map_registers(file, prot, window_bytes, &map);
            return result < 0 ? result : tl_vm_map(t->process->vm, &map);
        }
        int64_t result = tl_file_may_map(file, prot, map.is_shared, &is_zero);
        if (result < 0)
            return result;
        if (!is_zero) {
            map.file = file;
            map.kind = TL_VMA_FILE;
            if (map.is_shared && tl_file_may_map(file, prot | PROT_WRITE, true, &is_zero) < 0)
                map.max_prot &= (uint8_t)~TL_PROT_WRITE;
        }
    }
    if (!map.file)
        map.offset = 0;
    int64_t vaddr = tl_vm_map(t->process->vm, &map);
    if (vaddr >= 0 && map.file && map.prot & TL_PROT_EXEC && t->process == t->os->first && t->os->options.mapped_code)
        t->os->options.mapped_code(t->os->options.ctx);
    if (vaddr >= 0 && (flags & (MAP_POPULATE | MAP_LOCKED)) && !(flags & MAP_NONBLOCK) && map.prot)
        tl_vm_populate(t->process->vm, (uint64_t)vaddr, (uint64_t)vaddr + bytes,
                       (prot & PROT_WRITE) && !map.is_shared ? TL_VM_WRITE : TL_VM_READ);
    if (vaddr >= 0 && t->os->perf)
        tl_pev_note_mmap(t, (uint64_t)vaddr, tl_align_up(bytes, TL_PAGE_BYTES), prot, type, offset, map.file);
    return vaddr;
}

int64_t tl_sys_munmap(tl_thread *t, const uint64_t args[6]) {
    uint64_t end;
    if (!is_page_aligned(args[0]) || args[1] == 0 || !range_of(args[0], args[1], &end))
        return -EINVAL;
    return tl_vm_unmap(t->process->vm, args[0], end);
}

int64_t tl_sys_mprotect(tl_thread *t, const uint64_t args[6]) {
    uint64_t start = args[0], end, prot = args[2];
    if (!is_page_aligned(start) || (prot & ~(uint64_t)(7 | PROT_GROWSDOWN)))
        return -EINVAL;
    if (!range_of(start, args[1], &end))
        return -ENOMEM;
    if (prot & PROT_GROWSDOWN) { // the whole stack, as far as it has grown
        const tl_vma *area = tl_vm_find(t->process->vm, start);
        if (!area)
            return -ENOMEM;
        if (area->kind != TL_VMA_STACK)
            return -EINVAL;
        start = area->start;
    }
    return tl_vm_protect(t->process->vm, start, end, (uint8_t)(prot & 7));
}

int64_t tl_sys_mremap(tl_thread *t, const uint64_t args[6]) {
    uint64_t vaddr = args[0], old_bytes = tl_align_up(args[1], TL_PAGE_BYTES), new_bytes = tl_align_up(args[2], TL_PAGE_BYTES);
    uint64_t flags = args[3], new_vaddr = args[4], end;
    bool is_fixed = (flags & MREMAP_FIXED) != 0, keep_old = (flags & MREMAP_DONTUNMAP) != 0, may_move = (flags & MREMAP_MAYMOVE) != 0;
    if ((flags & ~(uint64_t)(MREMAP_FIXED | MREMAP_MAYMOVE | MREMAP_DONTUNMAP)) || !is_page_aligned(vaddr) || new_bytes == 0)
        return -EINVAL;
    if ((is_fixed || keep_old) && !may_move)
        return -EINVAL;
    if (keep_old && old_bytes != new_bytes)
        return -EINVAL;
    if (is_fixed && (!is_page_aligned(new_vaddr) || !range_of(new_vaddr, new_bytes, &end) || new_vaddr < TL_MMAP_MIN))
        return -EINVAL;
    if (!range_of(vaddr, old_bytes, &end) || !range_of(0, new_bytes, &end) || old_bytes == 0)
        return -EINVAL;
    if (new_bytes > old_bytes && !is_within_limit(t->process, new_bytes - old_bytes))
        return -ENOMEM;
    const tl_vma *area = tl_vm_find(t->process->vm, vaddr);
    if (area && keep_old && (area->is_shared || area->cache))
        return -EINVAL;
    return tl_vm_remap(t->process->vm, vaddr, old_bytes, new_bytes, may_move, is_fixed ? new_vaddr : 0, keep_old);
}

int64_t tl_sys_msync(tl_thread *t, const uint64_t args[6]) {
    uint64_t end, flags = args[2];
    tl_vm *vm = t->process->vm;
    if ((flags & ~(uint64_t)(MS_ASYNC | MS_SYNC | MS_INVALIDATE)) || !is_page_aligned(args[0]) || (flags & MS_ASYNC && flags & MS_SYNC))
        return -EINVAL;
    if (!range_of(args[0], args[1], &end))
        return -ENOMEM;
    int64_t result = tl_vm_is_mapped(vm, args[0], end) ? 0 : -ENOMEM;
    for (const tl_vma *area = tl_areas_after(vm, args[0]); area && area->start < end; area = area->next) {
        if (!area->is_shared || !area->file || !area->cache || !(flags & MS_SYNC))
            continue;
        uint64_t from = area->start > args[0] ? area->start : args[0], to = area->end < end ? area->end : end;
        int64_t wrote = tl_page_cache_write_back(t->os, area->cache, (area->offset + (from - area->start)) >> TL_PAGE_LOG2,
                                                 (area->offset + (to - area->start)) >> TL_PAGE_LOG2);
        if (wrote < 0)
            result = wrote;
    }
    return result;
}

// ---- Nothing is ever swapped out, so locking only brings pages in.

static int64_t lock_range(tl_thread *t, uint64_t vaddr, uint64_t bytes, bool is_on_fault) {
    uint64_t end;
    uint64_t start = tl_align_down(vaddr, TL_PAGE_BYTES);
    if (!range_of(start, bytes + (vaddr - start), &end) || !tl_vm_is_mapped(t->process->vm, start, end))
        return -ENOMEM;
    if (!is_on_fault)
        tl_vm_populate(t->process->vm, start, end, TL_VM_READ);
    return 0;
}

int64_t tl_sys_mlock(tl_thread *t, const uint64_t args[6]) { return lock_range(t, args[0], args[1], false); }

int64_t tl_sys_mlock2(tl_thread *t, const uint64_t args[6]) {
    return args[2] & ~UINT64_C(1) ? -EINVAL : lock_range(t, args[0], args[1], args[2] & 1);
}

int64_t tl_sys_munlock(tl_thread *t, const uint64_t args[6]) { return lock_range(t, args[0], args[1], true); }

int64_t tl_sys_mlockall(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    return args[0] == 0 || (args[0] & ~UINT64_C(7)) ? -EINVAL : 0;
}

int64_t tl_sys_munlockall(tl_thread *t, const uint64_t args[6]) {
    (void)t;
    (void)args;
    return 0;
}

int64_t tl_sys_mincore(tl_thread *t, const uint64_t args[6]) {
    uint64_t end, to = args[2];
    if (!is_page_aligned(args[0]))
        return -EINVAL;
    if (!range_of(args[0], args[1], &end) || !tl_vm_is_mapped(t->process->vm, args[0], end))
        return -ENOMEM;
    for (uint64_t page = args[0]; page < end; page += TL_PAGE_BYTES, ++to) {
        uint8_t is_resident = tl_vm_is_resident(t->process->vm, page);
        if (!tl_vm_write(t->process, to, &is_resident, 1))
            return -EFAULT;
    }
    return 0;
}

static int64_t advise_areas(tl_vm *vm, uint64_t start, uint64_t end, int advice) {
    tl_vma *area = tl_vm_split(vm, start, end);
    if (!area)
        return -ENOMEM;
    for (; area && area->start < end; area = area->next) {
        switch (advice) {
        case MADV_DONTFORK: area->is_dont_fork = true; break;
        case MADV_DOFORK: area->is_dont_fork = false; break;
        case MADV_WIPEONFORK:
            if (area->is_shared || area->file)
                return -EINVAL;
            area->is_wipe_on_fork = true;
            break;
        default: area->is_wipe_on_fork = false; break;
        }
    }
    return 0;
}

int64_t tl_sys_madvise(tl_thread *t, const uint64_t args[6]) {
    tl_vm *vm = t->process->vm;
    uint64_t start = args[0], end;
    int advice = (int)args[2];
    if (!is_page_aligned(start) || !range_of(start, args[1], &end))
        return -EINVAL;
    bool is_whole = tl_vm_is_mapped(vm, start, end);
    switch (advice) {
    case MADV_NORMAL:
    case MADV_RANDOM:
    case MADV_SEQUENTIAL:
    case MADV_WILLNEED:
    case MADV_MERGEABLE:
    case MADV_UNMERGEABLE:
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_DONTDUMP:
    case MADV_DODUMP:
    case MADV_COLD:
    case MADV_PAGEOUT: return is_whole ? 0 : -ENOMEM;
    case MADV_FREE:
        for (const tl_vma *area = tl_areas_after(vm, start); area && area->start < end; area = area->next)
            if (area->end > start && (area->cache || area->kind == TL_VMA_DEVICE))
                return -EINVAL;
        tl_vm_zap(vm, start, end); // at once: as if memory had been short
        return is_whole ? 0 : -ENOMEM;
    case MADV_DONTNEED: tl_vm_zap(vm, start, end); return is_whole ? 0 : -ENOMEM;
    case MADV_DONTFORK:
    case MADV_DOFORK:
    case MADV_WIPEONFORK:
    case MADV_KEEPONFORK: return !is_whole ? -ENOMEM : start == end ? 0 : advise_areas(vm, start, end, advice);
    case MADV_POPULATE_READ:
    case MADV_POPULATE_WRITE:
        if (!is_whole)
            return -ENOMEM;
        tl_vm_populate(vm, start, end, advice == MADV_POPULATE_WRITE ? TL_VM_WRITE : TL_VM_READ);
        return 0;
    default: return -EINVAL;
    }
}

// FENCE.I on every hart that may hold old instructions of this address space.
int64_t tl_sys_riscv_flush_icache(tl_thread *t, const uint64_t args[6]) {
    if (args[2] & ~UINT64_C(1))
        return -EINVAL;
    bool is_local = args[2] & 1;
    for (uint32_t i = 0; i < t->os->machine->n_harts; ++i) {
        tl_hart *h = t->os->machine->harts[i];
        if (!is_local || h == t->hart)
            h->port->drop_code(h);
    }
    return 0;
}

int64_t tl_sys_membarrier(tl_thread *t, const uint64_t args[6]) {
    enum { QUERY = 0, GLOBAL = 1, REGISTER_GLOBAL = 4, PRIVATE = 8, REGISTER_PRIVATE = 16, SYNC_CORE = 32, REGISTER_SYNC_CORE = 64 };
    (void)t;
    if (args[1] != 0)
        return -EINVAL;
    // Harts see each other's stores in the order of machine time, so nothing is left to do.
    switch (args[0]) {
    case QUERY: return GLOBAL | 2 | REGISTER_GLOBAL | PRIVATE | REGISTER_PRIVATE;
    case GLOBAL:
    case 2:
    case REGISTER_GLOBAL:
    case PRIVATE:
    case REGISTER_PRIVATE: return 0;
    default: return -EINVAL;
    }
}

// ---- Memory of another process.

enum { MAX_VECTORS = 1024 };

static int64_t copy_between(tl_thread *t, const uint64_t args[6], bool is_write) {
    tl_process *other = tl_process_find(t->os, (int32_t)args[0]);
    uint64_t local[2], remote[2], n_local = args[2], n_remote = args[4], i = 0, k = 0;
    int64_t total = 0;
    if (args[5] != 0 || n_local > MAX_VECTORS || n_remote > MAX_VECTORS)
        return -EINVAL;
    if (!other || !other->vm)
        return -ESRCH;
    local[1] = remote[1] = 0;
    for (;;) {
        while (local[1] == 0 && i < n_local)
            if (!tl_vm_read(t->process, args[1] + 16 * i++, local, sizeof local))
                return total ? total : -EFAULT;
        while (remote[1] == 0 && k < n_remote)
            if (!tl_vm_read(t->process, args[3] + 16 * k++, remote, sizeof remote))
                return total ? total : -EFAULT;
        if (local[1] == 0 || remote[1] == 0)
            return total;
        size_t n = (size_t)(local[1] < remote[1] ? local[1] : remote[1]), n_from, n_to;
        const uint8_t *from = tl_vm_span(is_write ? t->process : other, is_write ? local[0] : remote[0], n, false, &n_from);
        uint8_t *to = from ? tl_vm_span(is_write ? other : t->process, is_write ? remote[0] : local[0], n_from, true, &n_to) : NULL;
        if (!to)
            return total ? total : -EFAULT;
        memmove(to, from, n_to);
        local[0] += n_to;
        local[1] -= n_to;
        remote[0] += n_to;
        remote[1] -= n_to;
        total += (int64_t)n_to;
    }
}

int64_t tl_sys_process_vm_readv(tl_thread *t, const uint64_t args[6]) { return copy_between(t, args, false); }
int64_t tl_sys_process_vm_writev(tl_thread *t, const uint64_t args[6]) { return copy_between(t, args, true); }
