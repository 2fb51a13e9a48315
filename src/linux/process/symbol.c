// SPDX-License-Identifier: MIT
// Names for addresses: see symbol.h.
#include "linux/process/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "linux/file/file_host.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"

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
    source.source.is_library = true;
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

// Where in memory a file's executable segment lies: what is added to a link-time address. False:
// `area` is not such a segment.
static bool bias_of(const tl_vma *area, const tl_elf *elf, uint64_t *ret_bias) {
    for (uint32_t i = 0; i < elf->n_segments; ++i) {
        const tl_elf_segment *segment = &elf->segments[i];
        if (!(segment->prot & TL_PROT_EXEC) || area->offset < segment->offset - segment->offset % TL_PAGE_BYTES ||
            area->offset >= segment->offset + segment->file_bytes)
            continue;
        *ret_bias = area->start - area->offset + segment->offset - segment->vaddr;
        return true;
    }
    return false;
}

// The next file with executable code behind *at, from high addresses to low: about the order of
// loading. NULL: no more.
static const tl_vma *next_code(const tl_process *p, uint64_t *below) {
    const tl_vma *found = NULL;
    for (const tl_vma *area = p->vm->areas; area && area->start < *below; area = area->next) {
        if (area->file && area->prot & TL_PROT_EXEC && tl_file_is_regular(area->file))
            found = area;
    }
    *below = found ? found->start : 0;
    return found;
}

tl_status tl_os_symbol(const tl_os *os, const char *name, const tl_os_search *how, uint64_t *ret_vaddr, tl_error *err) {
    static const tl_os_search plain = {.with_prefixes = false};
    how = how ? how : &plain;
    tl_process *p = os->first;
    uint64_t vaddr, bias, below = UINT64_MAX;
    tl_nearest nearest;
    uint32_t n_files = 1;
    if (!p || !p->exe_file)
        return tl_fail(err, TL_ENOENT, "no function '%s': the program has ended", name);
    tl_symbols *symbols;
    tl_nearest_init(&nearest, name);
    tl_status status = tl_os_symbols_new(os, &symbols, &bias, err);
    if (status != TL_OK)
        return status;
    bool has_names = tl_symbols_count(symbols) > 0;
    status = tl_symbols_search(symbols, name, how->with_prefixes, &vaddr, how->ret_name, how->size, err);
    if (how->ret_waits)
        *how->ret_waits = tl_symbols_import_dlopen(symbols);
    if (status == TL_ENOENT && err)
        tl_symbols_offer(symbols, &nearest);
    tl_symbols_free(symbols);
    for (const tl_vma *area; status == TL_ENOENT && p->vm && (area = next_code(p, &below)) != NULL;) {
        tl_file_source source;
        tl_elf elf;
        if (area->file == p->exe_file)
            continue;
        tl_file_source_init(&source, p->os, area->file, tl_base_name(tl_file_path(area->file)));
        source.source.is_library = true;
        if (tl_elf_read(&source.source, &elf, NULL) != TL_OK || !bias_of(area, &elf, &bias) ||
            tl_symbols_new(&source.source, &symbols, NULL) != TL_OK)
            continue;
        n_files++;
        status = tl_symbols_search(symbols, name, how->with_prefixes, &vaddr, how->ret_name, how->size, err);
        if (how->ret_waits)
            *how->ret_waits |= tl_symbols_import_dlopen(symbols);
        if (status == TL_ENOENT && err)
            tl_symbols_offer(symbols, &nearest);
        tl_symbols_free(symbols);
    }
    if (status == TL_OK) {
        *ret_vaddr = vaddr + bias;
    } else if (status == TL_ENOENT && (has_names || n_files > 1)) {
        char near[256];
        char files[40] = "";
        if (n_files > 1)
            snprintf(files, sizeof files, " and its %u librar%s", n_files - 1, n_files == 2 ? "y" : "ies");
        tl_nearest_text(&nearest, near, sizeof near);
        return tl_fail(err, TL_ENOENT, "no function '%s' in %s%s%s%s", name, tl_base_name(os->options.program),
                       has_names ? "" : " (which has no symbol table)", files, *near || has_names ? near : "; use the address: 0x...");
    } else if (status == TL_ENOENT) {
        return tl_fail(err, TL_ENOENT, "%s has no symbol table, so no function '%s'; build it without -s, or use the address: 0x...",
                       tl_base_name(os->options.program), name);
    }
    return status;
}

uint64_t tl_os_entry(const tl_os *os) {
    tl_file_source source;
    tl_elf elf;
    if (!os->first || !os->first->exe_file)
        return 0;
    tl_file_source_init(&source, os->first->os, os->first->exe_file, os->options.program);
    if (tl_elf_read(&source.source, &elf, NULL) != TL_OK || !elf.interpreter[0])
        return 0;
    return elf.entry + os->first->load_bias;
}
