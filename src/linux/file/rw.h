// SPDX-License-Identifier: MIT
// Functions that the calls that move bytes share.
#ifndef TL_OS_RW_H
#define TL_OS_RW_H

#include "linux/file/file.h"

// Puts the thread to sleep until one of `events` may hold, and keeps the number of bytes moved in
// retry[0]. Returns the result for the handler: n_done or -EAGAIN after timeout_ns (0: none).
int64_t tl_file_block(tl_thread *t, tl_file *file, uint32_t events, uint64_t timeout_ns, uint64_t n_done);
// Checks a guest's iovec array of n (at most TL_IOV_MAX) and clips its total. 0, -EINVAL or
// -EFAULT.
int64_t tl_read_iov(tl_process *p, uint64_t vaddr, uint64_t n, tl_abi_iovec *to, uint64_t *ret_total);
// Makes host vectors (TL_IOV_MAX at most) of the guest's vectors after `skip` bytes, for `max`
// bytes. fills: the caller stores into the vectors. Returns the number of vectors and their length
// in *ret_bytes. 0: the next byte is not accessible, or no byte remains.
int tl_iov_spans(tl_process *p, const tl_abi_iovec *vectors, uint32_t n_vectors, uint64_t skip, uint64_t max, bool fills,
                 struct iovec *spans, size_t *ret_bytes);
int64_t tl_file_truncate(tl_thread *t, tl_file *file, uint64_t size);

#endif
