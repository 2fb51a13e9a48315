// SPDX-License-Identifier: MIT
// A memory port that only moves bytes, for vectors on the host.
#ifndef TL_TESTS_ISA_VECTORS_PORT_H
#define TL_TESTS_ISA_VECTORS_PORT_H

#include <string.h>

#include "model/hart.h"

// The including program provides it: where the bytes of an access are.
static uint8_t *bytes_at(uint64_t vaddr, uint32_t size_bytes);

static bool port_load(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    h->mem_value = 0;
    memcpy(&h->mem_value, bytes_at(vaddr, size_bytes), size_bytes);
    return true;
}
static bool port_store(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    (void)h;
    memcpy(bytes_at(vaddr, size_bytes), &value, size_bytes);
    return true;
}
static void port_drop_code(tl_hart *h) { (void)h; }

#endif
