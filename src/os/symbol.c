// SPDX-License-Identifier: MIT
// Names for addresses: see symbol.h.
#include "os/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "os/os_internal.h"
#include "os/vm_space.h"

static int64_t read_file(void *ctx, void *to, size_t n, uint64_t offset) {
    const tl_file_source *source = ctx;
    return tl_file_pread(source->os, source->file, to, n, offset);
}

void tl_file_source_init(tl_file_source *source, tl_os *os, tl_file *file, const char *name) {
    int64_t size = tl_file_size(os, file);
    source->os = os;
    source->file = file;
    source->source = (tl_elf_source){.name = name, .size_bytes = size > 0 ? (uint64_t)size : 0, .read = read_file, .ctx = source};
}

void tl_symbol_describe(const tl_process *p, uint64_t vaddr, char *text, size_t n) {
    text[0] = '\0';
    const tl_vma *area = p->vm ? tl_vm_find(p->vm, vaddr) : NULL;
    if (!area || !area->file)
        return;
    tl_file_source source;
    tl_elf elf;
    tl_symbols *symbols;
    const char *path = tl_file_path(area->file);
    tl_file_source_init(&source, p->os, area->file, path);
    if (tl_elf_read(&source.source, &elf, NULL) != TL_OK || tl_symbols_new(&source.source, &symbols, NULL) != TL_OK)
        return;
    uint64_t offset = area->offset + (vaddr - area->start), within;
    for (uint32_t i = 0; i < elf.n_segments; ++i) {
        const tl_elf_segment *segment = &elf.segments[i];
        if (!(segment->prot & TL_PROT_EXEC) || offset < segment->offset || offset - segment->offset >= segment->file_bytes)
            continue;
        const char *name = tl_symbols_at(symbols, segment->vaddr + (offset - segment->offset), &within);
        const char *slash = strrchr(path, '/');
        bool is_own = area->file == p->exe_file;
        if (name && within)
            snprintf(text, n, " (%s+0x%" PRIx64 "%s%s)", name, within, is_own ? "" : " in ", is_own ? "" : slash ? slash + 1 : path);
        else if (name)
            snprintf(text, n, " (%s%s%s)", name, is_own ? "" : " in ", is_own ? "" : slash ? slash + 1 : path);
        break;
    }
    tl_symbols_free(symbols);
}

tl_status tl_os_symbols_new(const tl_os *os, tl_symbols **ret_symbols, uint64_t *ret_load_bias, tl_error *err) {
    tl_file_source source;
    tl_file_source_init(&source, os->first->os, os->first->exe_file, os->options.program);
    tl_status status = tl_symbols_new(&source.source, ret_symbols, err);
    if (status == TL_OK)
        *ret_load_bias = os->first->load_bias;
    return status;
}

tl_status tl_os_symbol(const tl_os *os, const char *name, uint64_t *ret_vaddr, tl_error *err) {
    tl_symbols *symbols;
    uint64_t vaddr, load_bias;
    if (!os->first || !os->first->exe_file)
        return tl_fail(err, TL_ENOENT, "no function '%s': the program has ended", name);
    tl_status status = tl_os_symbols_new(os, &symbols, &load_bias, err);
    if (status != TL_OK)
        return status;
    status = tl_symbols_find(symbols, name, &vaddr, err);
    tl_symbols_free(symbols);
    if (status == TL_OK)
        *ret_vaddr = vaddr + load_bias;
    return status;
}
