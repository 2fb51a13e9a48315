// SPDX-License-Identifier: MIT
// The memory of a chip, one range of the host. Each partition has a window of it. The partition
// unit relocates: physical address TL_RAM_BASE_PADDR of a partition is the first byte of its
// window, and no address of a partition leads beyond it. Nothing is added to an access, because the
// machine of a partition gets its window as its RAM.
#ifndef TL_MACHINE_CHIP_MEMORY_H
#define TL_MACHINE_CHIP_MEMORY_H

#include <stddef.h>

#include "model/config.h"

typedef struct tl_chip_memory {
    uint8_t *bytes;
    uint32_t n_partitions;
    uint64_t first[TL_MAX_PARTITIONS + 1]; // byte of each window, and the end of the last one
    void *mapped;
    size_t mapped_bytes;
} tl_chip_memory;

// ram_bytes: of each partition. Windows begin at multiples of 2 MiB. TL_ENOMEM: the host cannot map
// so much.
TL_MUST_CHECK tl_status tl_chip_memory_init(const uint64_t *ram_bytes, uint32_t n_partitions, tl_chip_memory *ret_memory, tl_error *err);
void tl_chip_memory_done(tl_chip_memory *memory); // zeroed is fine
static inline uint8_t *tl_chip_memory_window(const tl_chip_memory *memory, uint32_t partition) {
    return memory->bytes + memory->first[partition];
}

#endif
