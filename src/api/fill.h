// SPDX-License-Identifier: MIT
// Structs of the public headers that the library fills: the caller says in their first member,
// `size`, how much of them it knows.
#ifndef TL_API_FILL_H
#define TL_API_FILL_H

#include <stdint.h>
#include <string.h>

// Copies `filled`, of size_bytes, behind the caller's own size, and not beyond it.
static inline void tl_api_fill(void *ret, const void *filled, size_t size_bytes) {
    uint32_t known_bytes;
    memcpy(&known_bytes, ret, sizeof known_bytes);
    size_t n_bytes = known_bytes < size_bytes ? known_bytes : size_bytes;
    if (n_bytes > sizeof known_bytes)
        memcpy((char *)ret + sizeof known_bytes, (const char *)filled + sizeof known_bytes, n_bytes - sizeof known_bytes);
}

#endif
