// SPDX-License-Identifier: MIT
// Host access to guest bytes. Each page takes one software walk of the page table, which faults
// missing pages in. All harts see a store at once, because data is always in RAM. A store therefore
// breaks reservations and invalidates decoded code on the page.
#include <errno.h>
#include <string.h>

#include "linux/memory/frames.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"

enum { MAX_SPAN_BYTES = 1 << 20 };

static void note_store(tl_vm *vm, uint64_t *pte, uint64_t offset, uint64_t n) {
    tl_os *os = vm->os;
    uint64_t paddr = tl_pte_paddr(vm->format, *pte), start = paddr + offset,
             end = n < TL_PAGE_BYTES - offset ? start + n : paddr + TL_PAGE_BYTES;
    *pte |= vm->format->used;
    for (uint32_t i = 0; i < os->machine->n_harts; ++i) {
        tl_hart *h = os->machine->harts[i];
        if (h->reservation_paddr < end && h->reservation_paddr >= (start & h->line_mask))
            h->reservation_paddr = TL_NO_LINE;
    }
    if (tl_frame_is_code(os->frames, paddr))
        tl_memory_code_changed(os->machine->memory, paddr);
}

// Host address of the byte at vaddr, good to the end of the page; NULL: not accessible. `n` is the
// most bytes that the caller uses.
static uint8_t *host_of(tl_vm *vm, uint64_t vaddr, uint64_t n, bool is_write) {
    if (vaddr >= TL_USER_END)
        return NULL;
    uint64_t *pte = tl_vm_pte(vm, vaddr);
    if (!pte || !(is_write ? tl_pte_is_writable(vm->format, *pte) : tl_pte_is_readable(vm->format, *pte))) {
        if (!tl_vm_is_resolved(tl_vm_fault_on_behalf(vm, vaddr, is_write ? TL_VM_WRITE : TL_VM_READ)))
            return NULL;
        pte = tl_vm_pte(vm, vaddr);
    }
    if (!tl_frames_has(vm->os->frames, tl_pte_paddr(vm->format, *pte)))
        return NULL; // registers of a device
    if (is_write)
        note_store(vm, pte, vaddr & (TL_PAGE_BYTES - 1), n);
    return tl_frame_bytes(vm->os->frames, tl_pte_paddr(vm->format, *pte)) + (vaddr & (TL_PAGE_BYTES - 1));
}

uint8_t *tl_vm_space_span(tl_vm *vm, uint64_t vaddr, size_t n, bool is_write, size_t *ret_n) {
    uint8_t *first = host_of(vm, vaddr, n, is_write);
    if (!first)
        return NULL;
    size_t got = TL_PAGE_BYTES - (size_t)(vaddr & (TL_PAGE_BYTES - 1));
    n = n < MAX_SPAN_BYTES ? n : MAX_SPAN_BYTES;
    while (got < n && host_of(vm, vaddr + got, n - got, is_write) == first + got)
        got += TL_PAGE_BYTES;
    *ret_n = got < n ? got : n;
    return first;
}

bool tl_vm_read(tl_process *p, uint64_t vaddr, void *to, size_t n) {
    for (size_t done = 0, part; done < n; done += part) {
        const uint8_t *from = tl_vm_span(p, vaddr + done, n - done, false, &part);
        if (!from)
            return false;
        memcpy((uint8_t *)to + done, from, part);
    }
    return true;
}

bool tl_vm_space_write(tl_vm *vm, uint64_t vaddr, const void *from, size_t n) {
    for (size_t done = 0, part; done < n; done += part) {
        uint8_t *to = tl_vm_space_span(vm, vaddr + done, n - done, true, &part);
        if (!to)
            return false;
        memcpy(to, (const uint8_t *)from + done, part);
    }
    return true;
}

bool tl_vm_space_zero(tl_vm *vm, uint64_t vaddr, size_t n) {
    for (size_t done = 0, part; done < n; done += part) {
        uint8_t *to = tl_vm_space_span(vm, vaddr + done, n - done, true, &part);
        if (!to)
            return false;
        memset(to, 0, part);
    }
    return true;
}

uint8_t *tl_vm_span(tl_process *p, uint64_t vaddr, size_t n, bool is_write, size_t *ret_n) {
    return tl_vm_space_span(p->vm, vaddr, n, is_write, ret_n);
}
bool tl_vm_write(tl_process *p, uint64_t vaddr, const void *from, size_t n) { return tl_vm_space_write(p->vm, vaddr, from, n); }
bool tl_vm_zero(tl_process *p, uint64_t vaddr, size_t n) { return tl_vm_space_zero(p->vm, vaddr, n); }

int64_t tl_vm_read_string(tl_process *p, uint64_t vaddr, char *to, size_t max) {
    for (size_t done = 0; done < max;) {
        const uint8_t *from = host_of(p->vm, vaddr + done, max - done, false);
        if (!from)
            return -EFAULT;
        size_t part = TL_PAGE_BYTES - (size_t)((vaddr + done) & (TL_PAGE_BYTES - 1));
        if (part > max - done)
            part = max - done;
        const uint8_t *end = memchr(from, 0, part);
        if (end) {
            memcpy(to + done, from, (size_t)(end - from) + 1);
            return (int64_t)(done + (size_t)(end - from));
        }
        memcpy(to + done, from, part);
        done += part;
    }
    return -ENAMETOOLONG;
}

int tl_vm_spans(tl_process *p, uint64_t vaddr, size_t n, bool is_write, struct iovec *spans, int max_spans, size_t *ret_bytes) {
    int n_spans = 0;
    size_t done = 0;
    while (done < n && n_spans < max_spans) {
        size_t part;
        uint8_t *host = tl_vm_span(p, vaddr + done, n - done, is_write, &part);
        if (!host)
            break;
        spans[n_spans++] = (struct iovec){.iov_base = host, .iov_len = part};
        done += part;
        if (done >= MAX_SPAN_BYTES && tl_os_wants_stop(p->os))
            break;
    }
    *ret_bytes = done;
    return n_spans;
}

int64_t tl_vm_import_iov(tl_process *p, uint64_t iov_vaddr, uint64_t n_vectors, uint64_t max_bytes, bool is_write, struct iovec *spans,
                         int max_spans, size_t *ret_bytes) {
    uint64_t vector[2]; // base, length
    uint64_t total = 0, wanted = 0;
    int n_spans = 0;
    if (n_vectors > 1024)
        return -EINVAL;
    for (uint64_t i = 0; i < n_vectors; ++i) { // lengths are judged before anything is touched
        if (!tl_vm_read(p, iov_vaddr + i * sizeof vector, vector, sizeof vector))
            return -EFAULT;
        if (vector[1] > INT64_MAX)
            return -EINVAL;
    }
    for (uint64_t i = 0; i < n_vectors && total == wanted && n_spans < max_spans; ++i) {
        if (!tl_vm_read(p, iov_vaddr + i * sizeof vector, vector, sizeof vector))
            return -EFAULT;
        uint64_t part = vector[1] < max_bytes - wanted ? vector[1] : max_bytes - wanted;
        size_t covered;
        wanted += part;
        n_spans += tl_vm_spans(p, vector[0], (size_t)part, is_write, spans + n_spans, max_spans - n_spans, &covered);
        total += covered;
    }
    *ret_bytes = (size_t)total;
    return n_spans == 0 && wanted > 0 ? -EFAULT : n_spans;
}
