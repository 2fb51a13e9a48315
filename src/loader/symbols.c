// SPDX-License-Identifier: MIT
// Function names of an ELF file. The table costs no more memory than the symbol and string sections
// themselves, which must lie within the file. Sizes may be wrong or zero: a symbol then reaches to
// the next one.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/nearest.h"
#include "loader/elf.h"
#include "loader/elf_bytes.h"

enum {
    SHT_SYMTAB = 2,
    SHT_DYNSYM = 11,
    STT_NOTYPE = 0,
    STT_OBJECT = 1,
    STT_FUNC = 2,
    STT_GNU_IFUNC = 10,
    SHN_UNDEF = 0,
    SHN_LORESERVE = 0xff00
};

typedef struct symbol {
    uint64_t vaddr, size_bytes;
    uint32_t name; // in strings
    // Of symbols with one address the smallest rank names it: global function, other function,
    // label.
    uint8_t rank;
} symbol;

struct tl_symbols {
    symbol *symbols; // by address, then rank, then place in the file
    uint32_t n;
    char *strings; // NUL-terminated at the end, whatever the file says
    uint64_t strings_bytes;
    char file[160];
    bool imports_dlopen;
};

typedef struct section {
    uint32_t type, link;
    uint64_t offset, size_bytes, entry_bytes;
} section;

static tl_status read_section(const tl_elf_source *source, const uint8_t *header, uint32_t index, section *ret_section, tl_error *err) {
    uint8_t shdr[TL_ELF_SHDR_BYTES];
    tl_status status = tl_elf_bytes(source, shdr, sizeof shdr, tl_get64(header + 40) + (uint64_t)index * sizeof shdr, err);
    if (status != TL_OK)
        return status;
    *ret_section = (section){
        .type = tl_get32(shdr + 4),
        .offset = tl_get64(shdr + 24),
        .size_bytes = tl_get64(shdr + 32),
        .link = tl_get32(shdr + 40),
        .entry_bytes = tl_get64(shdr + 56),
    };
    return TL_OK;
}

static int by_address(const void *a, const void *b) {
    const symbol *x = (const symbol *)a, *y = (const symbol *)b;
    if (x->vaddr != y->vaddr)
        return x->vaddr < y->vaddr ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static bool is_wanted(const tl_symbols *table, const uint8_t *entry, bool with_data, symbol *ret_symbol) {
    unsigned type = entry[4] & 15u, binding = entry[4] >> 4;
    uint16_t home = tl_get16(entry + 6);
    uint32_t name = tl_get32(entry);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE && !(with_data && type == STT_OBJECT))
        return false;
    if (home == SHN_UNDEF || home >= SHN_LORESERVE || name >= table->strings_bytes)
        return false;
    const char *text = table->strings + name;
    // Mapping symbols and local labels have no rank.
    if (text[0] == '\0' || text[0] == '$' || (text[0] == '.' && text[1] == 'L'))
        return false;
    uint8_t rank = type == STT_NOTYPE ? 3 : binding == 1 ? 0 : binding == 2 ? 1 : 2;
    *ret_symbol = (symbol){.vaddr = tl_get64(entry + 8), .size_bytes = tl_get64(entry + 16), .name = name, .rank = rank};
    return true;
}

// "dlopen", "dlmopen@GLIBC_2.34"
static bool is_dlopen(const tl_symbols *table, const uint8_t *entry) {
    uint32_t name = tl_get32(entry);
    if (tl_get16(entry + 6) != SHN_UNDEF || name >= table->strings_bytes)
        return false;
    const char *text = table->strings + name;
    size_t n = strcspn(text, "@");
    return (n == 6 && !memcmp(text, "dlopen", n)) || (n == 7 && !memcmp(text, "dlmopen", n));
}

static tl_status fill(tl_symbols *table, const tl_elf_source *source, const section *from, const section *names, tl_error *err) {
    table->strings_bytes = names->size_bytes;
    table->strings = malloc((size_t)names->size_bytes + 1);
    uint64_t n = from->size_bytes / TL_ELF_SYM_BYTES;
    uint8_t *entries = malloc((size_t)(n * TL_ELF_SYM_BYTES) + 1);
    table->symbols = malloc((size_t)n * sizeof *table->symbols + 1);
    tl_status status = TL_OK;
    if (!table->strings || !entries || !table->symbols) {
        status = tl_fail(err, TL_ENOMEM, "%s: no memory for %" PRIu64 " symbols", source->name, n);
        goto out;
    }
    status = tl_elf_bytes(source, table->strings, (size_t)names->size_bytes, names->offset, err);
    if (status != TL_OK)
        goto out;
    table->strings[names->size_bytes] = '\0';
    status = tl_elf_bytes(source, entries, (size_t)(n * TL_ELF_SYM_BYTES), from->offset, err);
    if (status != TL_OK)
        goto out;
    for (uint64_t i = 0; i < n && i < UINT32_MAX; ++i) {
        table->imports_dlopen |= is_dlopen(table, entries + i * TL_ELF_SYM_BYTES);
        if (is_wanted(table, entries + i * TL_ELF_SYM_BYTES, source->is_physical, &table->symbols[table->n]))
            ++table->n;
    }
    qsort(table->symbols, table->n, sizeof *table->symbols, by_address);
out:
    free(entries);
    return status;
}

tl_status tl_symbols_new(const tl_elf_source *source, tl_symbols **ret_symbols, tl_error *err) {
    uint8_t header[TL_ELF_HEADER_BYTES];
    tl_elf elf;
    // A file that cannot run has no symbols to offer.
    tl_status status = tl_elf_read(source, &elf, err);
    if (status == TL_OK)
        status = tl_elf_bytes(source, header, sizeof header, 0, err);
    if (status != TL_OK)
        return status;
    tl_symbols *table = calloc(1, sizeof *table);
    if (!table)
        return tl_fail(err, TL_ENOMEM, "%s: no memory for its symbols", source->name);
    snprintf(table->file, sizeof table->file, "%s", source->name);

    uint32_t n_sections = tl_get16(header + 60);
    if (tl_get16(header + 58) != TL_ELF_SHDR_BYTES || !tl_elf_fits(source, tl_get64(header + 40), (uint64_t)n_sections * TL_ELF_SHDR_BYTES))
        n_sections = 0;
    section from = {0}, names = {0};
    for (uint32_t i = 0; i < n_sections && from.type != SHT_SYMTAB; ++i) {
        section candidate;
        status = read_section(source, header, i, &candidate, err);
        if (status != TL_OK)
            goto out;
        if (candidate.type != SHT_SYMTAB && (candidate.type != SHT_DYNSYM || from.type == SHT_DYNSYM))
            continue;
        if (candidate.entry_bytes != TL_ELF_SYM_BYTES || candidate.link >= n_sections ||
            !tl_elf_fits(source, candidate.offset, candidate.size_bytes))
            continue;
        section strings;
        status = read_section(source, header, candidate.link, &strings, err);
        if (status != TL_OK)
            goto out;
        if (!tl_elf_fits(source, strings.offset, strings.size_bytes))
            continue;
        from = candidate;
        names = strings;
    }
    if (from.type != 0)
        status = fill(table, source, &from, &names, err);
out:
    if (status == TL_OK)
        *ret_symbols = table;
    else
        tl_symbols_free(table);
    return status;
}

void tl_symbols_free(tl_symbols *symbols) {
    if (!symbols)
        return;
    free(symbols->symbols);
    free(symbols->strings);
    free(symbols);
}

uint32_t tl_symbols_count(const tl_symbols *symbols) { return symbols->n; }

bool tl_symbols_import_dlopen(const tl_symbols *symbols) { return symbols->imports_dlopen; }

static const char *name_of(const tl_symbols *symbols, uint32_t i) { return symbols->strings + symbols->symbols[i].name; }

void tl_symbols_offer(const tl_symbols *symbols, tl_nearest *nearest) {
    char text[TL_DEMANGLE_BYTES];
    for (uint32_t i = 0; i < symbols->n; ++i) {
        const char *name = name_of(symbols, i);
        tl_nearest_offer(nearest, name);
        if (tl_demangle(name, TL_DEMANGLE_FULL, text))
            tl_nearest_offer(nearest, text);
        if (tl_demangle(name, TL_DEMANGLE_NAME, text))
            tl_nearest_offer(nearest, text);
    }
}

static tl_status unknown(const tl_symbols *symbols, const char *name, tl_error *err) {
    if (symbols->n == 0)
        return tl_fail(err, TL_ENOENT, "%s: has no symbol table, so no function '%s'; build it without -s, or use the address: 0x...",
                       symbols->file, name);
    tl_nearest nearest;
    char text[256];
    tl_nearest_init(&nearest, name);
    if (err)
        tl_symbols_offer(symbols, &nearest);
    return tl_fail(err, TL_ENOENT, "%s: no function '%s'%s", symbols->file, name, tl_nearest_text(&nearest, text, sizeof text));
}

// Equal but for blanks, as far as `wanted` goes: 2 equal, 1 `name` goes on, 0 different.
static int compare_names(const char *wanted, const char *name) {
    for (;; ++wanted, ++name) {
        wanted += strspn(wanted, " ");
        name += strspn(name, " ");
        if (*wanted == '\0')
            return *name == '\0' ? 2 : 1;
        if (*wanted != *name)
            return 0;
    }
}

// The last word of a demangled name. Every symbol of the name contains this word. "" when no such
// word exists.
static void find_word(const char *name, char *word, size_t size) {
    size_t end = strcspn(name, "(<[ "), start = end;
    while (start > 0 && (name[start - 1] == '_' || isalnum((unsigned char)name[start - 1])))
        --start;
    bool is_plain = strncmp(name, "std::", 5) != 0 && strncmp(name, "operator", 8) != 0 && !strstr(name, "::operator");
    snprintf(word, size, "%.*s", is_plain && end - start < size ? (int)(end - start) : 0, name + start);
}

// How well a symbol fits, best first; 0 is no fit.
enum { FIT_NONE, FIT_PREFIX, FIT_CLONE, FIT_NAME, FIT_FULL, FIT_SYMBOL };

static int fit(const char *name, const char *wanted, const char *word, char text[TL_DEMANGLE_BYTES]) {
    if (strcmp(name, wanted) == 0)
        return FIT_SYMBOL;
    int best = compare_names(wanted, name) == 1 ? FIT_PREFIX : FIT_NONE;
    if (name[0] != '_' || !strstr(name, word) || !tl_demangle(name, TL_DEMANGLE_FULL, text))
        return best;
    int same = compare_names(wanted, text);
    if (same == 2)
        return FIT_FULL;
    best = same == 1 ? FIT_PREFIX : best;
    bool is_clone = strstr(text, " [clone ") != NULL;
    if (!tl_demangle(name, TL_DEMANGLE_NAME, text))
        return best;
    same = compare_names(wanted, text);
    return same == 2 ? (is_clone ? FIT_CLONE : FIT_NAME) : same == 1 ? FIT_PREFIX : best;
}

// "f(int), f(char) and 2 more"
static tl_status ambiguous(const tl_symbols *symbols, const char *wanted, const char *word, int best, tl_error *err) {
    enum { MAX_SHOWN = 3 };
    char list[300] = "", text[TL_DEMANGLE_BYTES];
    uint32_t n = 0;
    uint64_t last = 0;
    size_t used = 0;
    for (uint32_t i = 0; err && i < symbols->n; ++i) {
        if (fit(name_of(symbols, i), wanted, word, text) != best || (n > 0 && symbols->symbols[i].vaddr == last))
            continue;
        last = symbols->symbols[i].vaddr;
        const char *name = tl_demangle(name_of(symbols, i), TL_DEMANGLE_FULL, text) ? text : name_of(symbols, i);
        if (n++ < MAX_SHOWN && best == FIT_FULL) // one name at several places
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s at 0x%" PRIx64, n > 1 ? ", " : "", name_of(symbols, i), last);
        else if (n <= MAX_SHOWN)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%.80s", n > 1 ? ", " : "", name);
        used = used < sizeof list ? used : sizeof list - 1;
    }
    char more[32] = "";
    if (n > MAX_SHOWN)
        snprintf(more, sizeof more, " and %u more", n - MAX_SHOWN);
    return tl_fail(err, TL_EINVAL, "%s: '%s' is not one function: %s%s; write one of them", symbols->file, wanted, list, more);
}

tl_status tl_symbols_search(const tl_symbols *symbols, const char *wanted, bool with_prefixes, uint64_t *ret_vaddr, char *ret_name,
                            size_t size, tl_error *err) {
    const symbol *best = NULL;
    int best_fit = with_prefixes ? FIT_NONE : FIT_PREFIX;
    bool is_ambiguous = false;
    char word[64], text[TL_DEMANGLE_BYTES];
    find_word(wanted, word, sizeof word);
    for (uint32_t i = 0; i < symbols->n; ++i) {
        const symbol *candidate = &symbols->symbols[i];
        int fits = fit(name_of(symbols, i), wanted, word, text);
        if (fits == FIT_NONE || fits < best_fit || (fits == best_fit && !best))
            continue;
        if (fits > best_fit) {
            is_ambiguous = false;
            best = candidate;
        } else if (fits != FIT_SYMBOL) {
            is_ambiguous |= candidate->vaddr != best->vaddr;
        } else if (candidate->rank < best->rank) {
            best = candidate;
        }
        best_fit = fits;
    }
    if (!best)
        return unknown(symbols, wanted, err);
    if (is_ambiguous)
        return ambiguous(symbols, wanted, word, best_fit, err);
    const char *name = symbols->strings + best->name;
    *ret_vaddr = best->vaddr;
    if (ret_name)
        snprintf(ret_name, size, "%s", best_fit != FIT_PREFIX ? "" : tl_demangle(name, TL_DEMANGLE_FULL, text) ? text : name);
    return TL_OK;
}

tl_status tl_symbols_find(const tl_symbols *symbols, const char *name, uint64_t *ret_vaddr, tl_error *err) {
    const symbol *best = NULL;
    for (uint32_t i = 0; i < symbols->n; ++i) {
        const symbol *candidate = &symbols->symbols[i];
        if (strcmp(name_of(symbols, i), name) == 0 && (!best || candidate->rank < best->rank))
            best = candidate;
    }
    if (!best)
        return unknown(symbols, name, err);
    *ret_vaddr = best->vaddr;
    return TL_OK;
}

const char *tl_symbols_at(const tl_symbols *symbols, uint64_t vaddr, uint64_t *ret_offset) {
    uint32_t low = 0, high = symbols->n; // the first symbol beyond vaddr
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (symbols->symbols[middle].vaddr <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const symbol *found = &symbols->symbols[low - 1];
    while (found > symbols->symbols && found[-1].vaddr == found->vaddr)
        --found;
    if (found->size_bytes != 0 ? vaddr - found->vaddr >= found->size_bytes : low == symbols->n && vaddr - found->vaddr >= 4096)
        return NULL;
    *ret_offset = vaddr - found->vaddr;
    return symbols->strings + found->name;
}
