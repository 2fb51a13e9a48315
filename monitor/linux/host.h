// SPDX-License-Identifier: MIT
// Functions that the files of the module share.
#ifndef XCM_LINUX_HOST_H
#define XCM_LINUX_HOST_H

#include <linux/types.h>

#include "xcm.h"

// -- target.c: where the blocks of a core are.
struct xcm_blocks {
    phys_addr_t base[XCM_N_BLOCKS];
};

// The addresses that are not 0 stand; the device tree gives the others, or the ROM table at `rom`.
// Returns 0, or a negative errno value after a sentence in the kernel's log.
int xcm_find_blocks(int cpu, u64 mpidr, phys_addr_t rom, struct xcm_blocks *blocks);
// MPIDR_EL1 of a core. -ENXIO: it is offline.
int xcm_affinity_of(int cpu, u64 *ret_mpidr);
// Reads identification registers alone. -ENODEV: a block is none, or is another core's.
int xcm_verify_blocks(u64 mpidr, void __iomem *const windows[XCM_N_BLOCKS], const struct xcm_blocks *blocks);

#endif
