// SPDX-License-Identifier: MIT
// Which way of a full set makes room. All policies work on stamps, one number per way that grows with time: the time of last use for
// lru and plru, the time of the fill for fifo; random draws. So a hit costs one store, whoever makes it.
#ifndef TL_MEM_REPLACEMENT_H
#define TL_MEM_REPLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/config.h"

enum { TL_WAY_BITS = 10 }; // at most 1024 ways; the other 54 bits of a stamp last longer than any run

static inline bool tl_replacement_sees_hits(tl_replacement policy) { return policy == TL_REPLACE_LRU || policy == TL_REPLACE_PLRU; }

// Start of the random sequence of one tag array; unit_index tells the arrays of a machine apart.
uint64_t tl_replacement_seed(uint64_t machine_seed, uint32_t unit_index);

// The victim among `ways` valid ways, at most 1 << TL_WAY_BITS. *random is drawn from by TL_REPLACE_RANDOM only.
uint32_t tl_replacement_victim(tl_replacement policy, const uint64_t *stamps, uint32_t ways, uint64_t *random);

#endif
