// SPDX-License-Identifier: MIT
// One mapping of the host for the RAM of one machine or more; see chip_memory.h.
#include "machine/chip_memory.h"

#include <sys/mman.h>

#include "base/bits.h"

// RAM begins on a huge page of the host and asks for huge pages: a guest that misses its caches
// would miss the host's TLB, too. Guest pages are handed out in order, so little is touched that
// the guest does not use.
tl_status tl_chip_memory_init(const uint64_t *ram_bytes, uint32_t n_partitions, tl_chip_memory *ret_memory, tl_error *err) {
    const uint64_t huge_bytes = UINT64_C(2) << 20;
    *ret_memory = (tl_chip_memory){.n_partitions = n_partitions};
    for (uint32_t i = 0; i < n_partitions; i++)
        ret_memory->first[i + 1] = ret_memory->first[i] + tl_align_up(ram_bytes[i], huge_bytes);
    const uint64_t n_bytes = ret_memory->first[n_partitions];
    void *mapped = mmap(NULL, n_bytes + huge_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return tl_fail(err, TL_ENOMEM, "the host cannot map %llu MiB for ram; choose a smaller ram in the machine description",
                       (unsigned long long)(n_bytes >> 20));
    ret_memory->mapped = mapped;
    ret_memory->mapped_bytes = n_bytes + huge_bytes;
    ret_memory->bytes = (uint8_t *)tl_align_up((uintptr_t)mapped, huge_bytes);
    // A wish: hosts without huge pages work more slowly.
    madvise(ret_memory->bytes, n_bytes, MADV_HUGEPAGE);
    return TL_OK;
}

void tl_chip_memory_done(tl_chip_memory *memory) {
    if (memory->mapped)
        munmap(memory->mapped, memory->mapped_bytes);
    *memory = (tl_chip_memory){0};
}
