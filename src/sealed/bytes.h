// SPDX-License-Identifier: MIT
// Little-endian numbers at any address.
#ifndef TL_SEALED_BYTES_H
#define TL_SEALED_BYTES_H

#include <stdint.h>

static inline void tl_put_u16(uint8_t *ret_bytes, uint16_t value) {
    ret_bytes[0] = (uint8_t)value;
    ret_bytes[1] = (uint8_t)(value >> 8);
}

static inline void tl_put_u32(uint8_t *ret_bytes, uint32_t value) {
    for (unsigned i = 0; i < 4; i++)
        ret_bytes[i] = (uint8_t)(value >> 8 * i);
}

static inline void tl_put_u64(uint8_t *ret_bytes, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        ret_bytes[i] = (uint8_t)(value >> 8 * i);
}

static inline uint16_t tl_get_u16(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

static inline uint32_t tl_get_u32(const uint8_t *bytes) { return (uint32_t)tl_get_u16(bytes) | (uint32_t)tl_get_u16(bytes + 2) << 16; }

static inline uint64_t tl_get_u64(const uint8_t *bytes) { return tl_get_u32(bytes) | (uint64_t)tl_get_u32(bytes + 4) << 32; }

#endif
