// SPDX-License-Identifier: MIT
// A memory that accepts everything, for fuzz targets that execute single instructions: bytes are
// those of the address. An odd address traps with FUZZ_FAULT.
#ifndef TL_TESTS_FUZZ_ACCEPTING_PORT_H
#define TL_TESTS_FUZZ_ACCEPTING_PORT_H

#include <stdlib.h>
#include <string.h>

#include "model/hart.h"

static inline void check(bool is_right) {
    if (!is_right)
        abort();
}

static inline bool port_load(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    if (vaddr & 1)
        return tl_trap(h, FUZZ_FAULT, vaddr);
    h->mem_value = vaddr & (size_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size_bytes) - 1);
    return true;
}
static inline bool port_store(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    check(size_bytes == 8 || value >> 8 * size_bytes == 0);
    return port_load(h, vaddr, size_bytes);
}
static inline bool port_amo(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, tl_amo amo, uint64_t operand) {
    (void)operand;
    check(amo <= TL_AMO_MAXU);
    return port_load(h, vaddr, size_bytes);
}
static inline bool port_sc(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    (void)value;
    return port_load(h, vaddr, size_bytes);
}
static inline void port_drop_code(tl_hart *h) { (void)h; }
static inline void port_flush(tl_hart *h, uint64_t vaddr, bool is_all) { (void)h, (void)vaddr, (void)is_all; }

static inline void port_maintain_line(tl_hart *h, uint64_t paddr, tl_maintenance what) {
    (void)h, (void)paddr, check(what <= TL_CLEAN_DROP);
}
static inline void port_maintain_way(tl_hart *h, uint32_t level, uint32_t set, uint32_t way, tl_maintenance what) {
    (void)set, (void)way, (void)what;
    check(level >= 1 && h->config != NULL);
}
static inline void port_drop_code_line(tl_hart *h, uint64_t paddr) { (void)h, (void)paddr; }

static const tl_mem_port accepting_port = {
    .load = port_load,
    .store = port_store,
    .amo = port_amo,
    .load_reserved = port_load,
    .store_conditional = port_sc,
    .drop_code = port_drop_code,
    .broadcast_drop_code = port_drop_code,
    .maintain_line = port_maintain_line,
    .maintain_way = port_maintain_way,
    .drop_code_line = port_drop_code_line,
    .flush_translation = port_flush,
    .broadcast_flush_translation = port_flush,
    .context_changed = port_drop_code,
    .protection_changed = port_drop_code,
};

// Makes the hart use this memory, which has no slots.
static inline void use_accepting_port(tl_hart *h, const tl_config *config) {
    h->port = &accepting_port;
    h->config = config;
    h->line_log2 = 6;
    h->line_mask = ~UINT64_C(63);
    for (size_t i = 0; i < (size_t)TL_N_VIEWS * TL_DATA_SLOTS; i++)
        h->data_slot[i].read_tag = h->data_slot[i].write_tag = TL_NO_LINE;
}

#endif
