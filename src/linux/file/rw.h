// SPDX-License-Identifier: MIT
// What calls that move bytes share.
#ifndef TL_OS_RW_H
#define TL_OS_RW_H

#include "linux/file/file.h"

// Puts the thread to sleep until one of `events` may hold, and remembers in retry[0] how many bytes
// were moved; what to return. After timeout_ns (0: none) of waiting it is n_done or -EAGAIN.
int64_t tl_file_block(tl_thread *t, tl_file *file, uint32_t events, uint64_t timeout_ns, uint64_t n_done);
// Checks a guest's iovec array of n (at most TL_IOV_MAX) and clips its total. 0, -EINVAL or
// -EFAULT.
int64_t tl_read_iov(tl_process *p, uint64_t vaddr, uint64_t n, tl_abi_iovec *to, uint64_t *ret_total);
// Host vectors (TL_IOV_MAX at most) of what is left of a guest's vectors after `skip` bytes, for
// `max` bytes. fills: the caller stores there. Their number; *ret_bytes what they cover. 0: the
// next byte is not accessible, or nothing is left.
int tl_iov_spans(tl_process *p, const tl_abi_iovec *vectors, uint32_t n_vectors, uint64_t skip, uint64_t max, bool fills,
                 struct iovec *spans, size_t *ret_bytes);
int64_t tl_file_truncate(tl_thread *t, tl_file *file, uint64_t size);

#endif
