// SPDX-License-Identifier: MIT
// Any bytes as an ELF file. The header, segments and symbols are read or refused with a sentence.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "loader/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct blob {
    const uint8_t *bytes;
    size_t n;
} blob;

static int64_t read_blob(void *ctx, void *to, size_t n, uint64_t offset) {
    const blob *b = ctx;
    if (offset >= b->n)
        return 0;
    size_t part = n < b->n - offset ? n : b->n - (size_t)offset;
    memcpy(to, b->bytes + offset, part);
    return (int64_t)part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    blob b = {data, size};
    tl_elf_source source = {.name = "input", .size_bytes = size, .read = read_blob, .ctx = &b};
    tl_elf elf;
    tl_error err = {.status = TL_OK};
    if (tl_elf_read(&source, &elf, &err) != TL_OK && !err.text[0])
        abort(); // refused without a word
    tl_symbols *symbols = NULL;
    uint64_t vaddr, offset;
    if (tl_symbols_new(&source, &symbols, NULL) == TL_OK) {
        if (tl_symbols_find(symbols, "main", &vaddr, &err) != TL_OK && !err.text[0])
            abort();
        for (uint64_t at = elf.first_vaddr; at < elf.first_vaddr + 64; at += 4)
            (void)tl_symbols_at(symbols, at, &offset);
    }
    tl_symbols_free(symbols);
    return 0;
}
