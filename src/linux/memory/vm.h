// SPDX-License-Identifier: MIT
// Address spaces. Areas (VMAs) hold the permitted mappings; Sv39 page tables in simulated RAM hold
// the present pages. Pages arrive on demand from one deterministic free list. Pages are counted.
// Forks share pages until a write (COW). Host code reaches guest bytes only through tl_vm_read,
// tl_vm_write and tl_vm_span, which fault pages in as the kernel would.
#ifndef TL_OS_VM_H
#define TL_OS_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/treap.h"

typedef struct tl_os tl_os;
typedef struct tl_process tl_process;
typedef struct tl_file tl_file;
typedef struct tl_vm tl_vm;
typedef struct tl_page_cache tl_page_cache; // the pages of one file that shared mappings see

enum { TL_PAGE_BYTES = 4096, TL_PAGE_LOG2 = 12 };
static const uint64_t TL_USER_END = UINT64_C(1) << 38; // Sv39: the user half

enum { TL_PROT_READ = 1, TL_PROT_WRITE = 2, TL_PROT_EXEC = 4 };

typedef enum tl_vm_access { TL_VM_READ, TL_VM_WRITE, TL_VM_EXEC } tl_vm_access;

typedef enum tl_vm_fault_kind {
    TL_VM_FAULT_MAP,         // resolved: the page was in memory
    TL_VM_FAULT_ZERO,        // resolved: fresh zeroes
    TL_VM_FAULT_FILE,        // resolved: read from a file
    TL_VM_FAULT_COW,         // resolved: copied
    TL_VM_FAULT_NO_AREA,     // SIGSEGV, SEGV_MAPERR
    TL_VM_FAULT_STACK_LIMIT, // SIGSEGV, SEGV_MAPERR: just below a stack that may not grow further
    TL_VM_FAULT_DENIED,      // SIGSEGV, SEGV_ACCERR
    TL_VM_FAULT_BEYOND_FILE, // SIGBUS, BUS_ADRERR
    TL_VM_FAULT_IO,          // SIGBUS: the host could not read the file
    TL_VM_FAULT_NO_MEMORY,   // SIGKILL: simulated RAM is full
} tl_vm_fault_kind;
static inline bool tl_vm_is_resolved(tl_vm_fault_kind fault) { return fault <= TL_VM_FAULT_COW; }

typedef enum tl_vma_kind { TL_VMA_ANON, TL_VMA_FILE, TL_VMA_STACK, TL_VMA_HEAP, TL_VMA_TRAMPOLINE, TL_VMA_DEVICE } tl_vma_kind;

typedef struct tl_vma {
    tl_treap_node node;  // by start: areas.c
    uint64_t max_room;   // the most room below an area of this one's subtree
    uint64_t start, end; // multiples of TL_PAGE_BYTES
    uint64_t offset;     // in the file, of start
    // Held; NULL: anonymous. TL_VMA_DEVICE: the file that tl_file_window knows.
    tl_file *file;
    // Held. Shared mappings have one: of a file, or of anonymous memory shared with children. Else
    // NULL.
    tl_page_cache *cache;
    struct tl_vma *next, *previous; // by address
    uint8_t prot, kind;             // TL_PROT_*, tl_vma_kind
    bool is_shared, is_dont_fork, is_wipe_on_fork;
    uint8_t max_prot; // the most that mprotect may permit
} tl_vma;

// Bytes of the guest, faulted in as needed. false: some byte is not accessible (EFAULT); nothing is
// promised about the rest. Permissions of the area are obeyed as the kernel obeys them on behalf of
// the program.
bool tl_vm_read(tl_process *p, uint64_t vaddr, void *to, size_t n);
bool tl_vm_write(tl_process *p, uint64_t vaddr, const void *from, size_t n);
bool tl_vm_zero(tl_process *p, uint64_t vaddr, size_t n);

// A NUL-terminated string of at most max - 1 characters into `to`. Length, -EFAULT, or
// -ENAMETOOLONG.
int64_t tl_vm_read_string(tl_process *p, uint64_t vaddr, char *to, size_t max);

// The longest stretch of host bytes behind [vaddr, vaddr + n), 1 .. n long; NULL: EFAULT at vaddr.
// Valid until the handler returns. is_write: the caller is going to store there (copies shared
// pages, marks the page dirty).
uint8_t *tl_vm_span(tl_process *p, uint64_t vaddr, size_t n, bool is_write, size_t *ret_n);

// As tl_vm_span, for readv, writev, recvmsg: fills at most max_spans host vectors. *ret_bytes is
// their length, less than n when vectors ran out or a byte is not accessible. Returns the number of
// vectors; 0 with n > 0 means EFAULT.
int tl_vm_spans(tl_process *p, uint64_t vaddr, size_t n, bool is_write, struct iovec *spans, int max_spans, size_t *ret_bytes);

// A guest `struct iovec` array flattened to host spans: n_vectors up to 1024, total clipped to
// max_bytes. Returns the number of spans, -EINVAL (count, negative length) or -EFAULT (the first
// byte is not accessible). *ret_bytes is the length of the spans.
int64_t tl_vm_import_iov(tl_process *p, uint64_t iov_vaddr, uint64_t n_vectors, uint64_t max_bytes, bool is_write, struct iovec *spans,
                         int max_spans, size_t *ret_bytes);

const tl_vma *tl_vm_first(const tl_vm *vm);                // by address; for /proc/PID/maps
const tl_vma *tl_vm_find(const tl_vm *vm, uint64_t vaddr); // the area that holds vaddr, or NULL
uint64_t tl_vm_mapped_bytes(const tl_vm *vm);              // sum of all areas
uint64_t tl_vm_resident_bytes(const tl_vm *vm);            // pages present
// The file layer calls it after write or truncate changed bytes that shared mappings may hold.
void tl_vm_file_written(tl_os *os, uint64_t device, uint64_t inode, uint64_t offset, const void *bytes, size_t n);
// The file layer calls it after a read. Bytes that shared mappings changed and did not write back
// replace the bytes of the file.
void tl_vm_file_read(tl_os *os, uint64_t device, uint64_t inode, uint64_t offset, void *bytes, size_t n);

#endif
