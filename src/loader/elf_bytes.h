// SPDX-License-Identifier: MIT
// Checked access to the bytes of an ELF file, for elf.c and symbols.c.
#ifndef TL_LOADER_ELF_BYTES_H
#define TL_LOADER_ELF_BYTES_H

#include "loader/elf.h"

enum { TL_ELF_HEADER_BYTES = 64, TL_ELF_PHDR_BYTES = 56, TL_ELF_SHDR_BYTES = 64, TL_ELF_SYM_BYTES = 24 };

static inline uint16_t tl_get16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }
static inline uint32_t tl_get32(const uint8_t *at) { return (uint32_t)tl_get16(at) | (uint32_t)tl_get16(at + 2) << 16; }
static inline uint64_t tl_get64(const uint8_t *at) { return (uint64_t)tl_get32(at) | (uint64_t)tl_get32(at + 4) << 32; }

static inline bool tl_elf_fits(const tl_elf_source *source, uint64_t offset, uint64_t n) {
    return offset <= source->size_bytes && n <= source->size_bytes - offset;
}
// Serves messages.
static inline uint64_t tl_elf_end(uint64_t offset, uint64_t n) { return n > UINT64_MAX - offset ? UINT64_MAX : offset + n; }

// Exactly n bytes, which the caller has found to lie within the file.
static inline tl_status tl_elf_bytes(const tl_elf_source *source, void *to, size_t n, uint64_t offset, tl_error *err) {
    size_t done = 0;
    while (done < n) {
        int64_t got = source->read(source->ctx, (uint8_t *)to + done, n - done, offset + done);
        if (got <= 0)
            return tl_fail(err, TL_EIO, "%s: cannot read the file; check its permissions and whether it is complete", source->name);
        done += (size_t)got;
    }
    return TL_OK;
}

#endif
