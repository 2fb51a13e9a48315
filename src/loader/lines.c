// SPDX-License-Identifier: MIT
// Debug information through libdw: every unit that holds an address is walked once, and its lines
// and scopes are laid over the sorted addresses. See lines.h.
#include "loader/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TL_HAS_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_DEPTH = 200 }; // of scopes

typedef struct walk {
    tl_lines *lines;
    const uint64_t *addresses;
    uint32_t n;
    Dwarf_Addr bias;
    Dwarf_Files *files; // of the unit
    const char *folder; // of its compilation
    uint32_t n_calls_room, n_functions_room, n_sources_room;
    uint32_t *buckets; // hash table of sources: number + 1
    uint32_t n_buckets;
} walk;

static bool grow(walk *w, void **items, uint32_t n, uint32_t *room, size_t item_bytes) {
    if (n < *room)
        return true;
    const uint32_t larger = *room == 0 ? 64 : 2 * *room;
    void *grown = realloc(*items, larger * item_bytes);
    w->lines->lacks_memory |= !grown;
    if (!grown)
        return false;
    *items = grown;
    *room = larger;
    return true;
}

// The first address that is not below `vaddr`.
static uint32_t first_at(const walk *w, uint64_t vaddr) {
    uint32_t low = 0, high = w->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (w->addresses[middle] < vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static bool rehash(walk *w) {
    const uint32_t n = w->n_buckets == 0 ? 256 : 2 * w->n_buckets;
    uint32_t *buckets = calloc(n, sizeof *buckets);
    w->lines->lacks_memory |= !buckets;
    if (!buckets)
        return false;
    for (uint32_t i = 0; i < w->lines->n_sources; i++) {
        uint64_t slot = hash_of(w->lines->sources[i]);
        while (buckets[slot % n] != 0)
            slot++;
        buckets[slot % n] = i + 1;
    }
    free(w->buckets);
    w->buckets = buckets;
    w->n_buckets = n;
    return true;
}

// "./a/../b.c" of folder "/x" -> "/x/b.c".
static void simplify(char *path) {
    char *to = path, *from = path;
    while (*from) {
        if (from[0] == '/' && from[1] == '/') {
            from++;
        } else if (from[0] == '/' && from[1] == '.' && (from[2] == '/' || from[2] == '\0')) {
            from += 2;
        } else if (from[0] == '/' && from[1] == '.' && from[2] == '.' && (from[3] == '/' || from[3] == '\0')) {
            char *back = to;
            while (back > path && back[-1] != '/')
                back--;
            const bool is_step = back > path && !(to - back == 2 && back[0] == '.' && back[1] == '.');
            if (is_step) {
                to = back - 1;
                from += 3;
            } else {
                *to++ = *from++;
            }
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static uint32_t source_number(walk *w, const char *name) {
    char path[4096];
    if (!name || !*name)
        return TL_LINES_NONE;
    snprintf(path, sizeof path, "%s%s%s", name[0] == '/' || !w->folder ? "" : w->folder, name[0] == '/' || !w->folder ? "" : "/", name);
    simplify(path);
    if (w->lines->n_sources >= w->n_buckets / 2 && !rehash(w))
        return TL_LINES_NONE;
    uint64_t slot = hash_of(path);
    for (; w->buckets[slot % w->n_buckets] != 0; slot++) {
        const uint32_t found = w->buckets[slot % w->n_buckets] - 1;
        if (strcmp(w->lines->sources[found], path) == 0)
            return found;
    }
    if (!grow(w, (void **)&w->lines->sources, w->lines->n_sources, &w->n_sources_room, sizeof *w->lines->sources))
        return TL_LINES_NONE;
    const char *copy = tl_arena_strdup(&w->lines->arena, path);
    w->lines->lacks_memory |= !copy;
    if (!copy)
        return TL_LINES_NONE;
    w->lines->sources[w->lines->n_sources] = copy;
    w->buckets[slot % w->n_buckets] = ++w->lines->n_sources;
    return w->lines->n_sources - 1;
}

static uint32_t number_attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_attr_integrate(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 && value < UINT32_MAX ? (uint32_t)value
                                                                                                                         : 0;
}

static uint32_t file_attribute(walk *w, Dwarf_Die *die, unsigned name) {
    const uint32_t number = number_attribute(die, name);
    return w->files ? source_number(w, dwarf_filesrc(w->files, number, NULL, NULL)) : TL_LINES_NONE;
}

static const char *name_of(walk *w, Dwarf_Die *die) {
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
    Dwarf_Attribute attribute;
    const char *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !name; i++)
        if (dwarf_attr_integrate(die, names[i], &attribute))
            name = dwarf_formstring(&attribute);
    if (!name)
        name = dwarf_diename(die);
    const char *copy = tl_arena_strdup(&w->lines->arena, name ? name : "");
    w->lines->lacks_memory |= !copy;
    return copy ? copy : "";
}

// Lays a scope over its addresses. Scopes inside it come later and lie on top.
static void lay(walk *w, Dwarf_Die *die, uint32_t call, uint32_t function) {
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
        start += w->bias;
        end += w->bias;
        for (uint32_t i = first_at(w, start); i < w->n && w->addresses[i] < end; i++) {
            tl_line_position *position = &w->lines->positions[i];
            position->call = call;
            if (function != TL_LINES_NONE)
                position->function = function;
        }
    }
}

static bool holds_address(const walk *w, Dwarf_Die *die) {
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
        const uint32_t i = first_at(w, start + w->bias);
        if (i < w->n && w->addresses[i] < end + w->bias)
            return true;
    }
    return false;
}

static uint32_t add_function(walk *w, Dwarf_Die *die) {
    tl_lines *lines = w->lines;
    Dwarf_Addr start = 0, end = 0;
    (void)!dwarf_lowpc(die, &start);
    (void)!dwarf_highpc(die, &end);
    if (!grow(w, (void **)&lines->functions, lines->n_functions, &w->n_functions_room, sizeof *lines->functions))
        return TL_LINES_NONE;
    const tl_line_function function = {.start = start + w->bias,
                                       .end = end + w->bias,
                                       .name = name_of(w, die),
                                       .source = file_attribute(w, die, DW_AT_decl_file),
                                       .line = number_attribute(die, DW_AT_decl_line)};
    lines->functions[lines->n_functions] = function;
    return lines->n_functions++;
}

static uint32_t add_call(walk *w, Dwarf_Die *die, uint32_t parent) {
    tl_lines *lines = w->lines;
    if (!grow(w, (void **)&lines->calls, lines->n_calls, &w->n_calls_room, sizeof *lines->calls))
        return TL_LINES_NONE;
    const tl_line_call call = {.parent = parent,
                               .name = name_of(w, die),
                               .source = file_attribute(w, die, DW_AT_call_file),
                               .line = number_attribute(die, DW_AT_call_line)};
    lines->calls[lines->n_calls] = call;
    return lines->n_calls++;
}

static void walk_scopes(walk *w, Dwarf_Die *parent, uint32_t call, int depth) {
    Dwarf_Die die;
    if (depth > MAX_DEPTH || dwarf_child(parent, &die) != 0)
        return;
    do {
        switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
            if (holds_address(w, &die)) {
                const uint32_t function = add_function(w, &die);
                lay(w, &die, TL_LINES_NONE, function);
                walk_scopes(w, &die, TL_LINES_NONE, depth + 1);
            }
            break;
        case DW_TAG_inlined_subroutine:
            if (holds_address(w, &die)) {
                const uint32_t inner = add_call(w, &die, call);
                lay(w, &die, inner, TL_LINES_NONE);
                walk_scopes(w, &die, inner, depth + 1);
            }
            break;
        case DW_TAG_lexical_block: walk_scopes(w, &die, call, depth + 1); break;
        // Functions stand inside these.
        case DW_TAG_namespace:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_module: walk_scopes(w, &die, call, depth + 1); break;
        default: break;
        }
    } while (dwarf_siblingof(&die, &die) == 0 && !w->lines->lacks_memory);
}

static void walk_lines(walk *w, Dwarf_Die *unit) {
    Dwarf_Lines *rows;
    size_t n_rows;
    if (dwarf_getsrclines(unit, &rows, &n_rows) != 0)
        return;
    const char *last_name = NULL;
    uint32_t last_source = TL_LINES_NONE;
    for (size_t i = 0; i + 1 < n_rows; i++) {
        Dwarf_Line *row = dwarf_onesrcline(rows, i);
        Dwarf_Addr start, end;
        bool is_end = true;
        int line = 0;
        if (!row || dwarf_lineendsequence(row, &is_end) != 0 || is_end || dwarf_lineaddr(row, &start) != 0 ||
            dwarf_lineaddr(dwarf_onesrcline(rows, i + 1), &end) != 0 || dwarf_lineno(row, &line) != 0)
            continue;
        uint32_t k = first_at(w, start + w->bias);
        if (k == w->n || w->addresses[k] >= end + w->bias)
            continue;
        const char *name = dwarf_linesrc(row, NULL, NULL);
        if (name != last_name) {
            last_name = name;
            last_source = source_number(w, name);
        }
        for (; k < w->n && w->addresses[k] < end + w->bias; k++) {
            w->lines->positions[k].source = last_source;
            w->lines->positions[k].line = line > 0 ? (uint32_t)line : 0;
        }
    }
}

static void walk_unit(walk *w, Dwarf_Die *unit) {
    Dwarf_Die split = {0}, *scopes = unit;
    Dwarf_Attribute attribute;
    size_t n_files;
    uint8_t unit_type = 0;
    w->folder = dwarf_attr(unit, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
    if (dwarf_getsrcfiles(unit, &w->files, &n_files) != 0)
        w->files = NULL;
    walk_lines(w, unit);
    if (dwarf_cu_info(unit->cu, NULL, &unit_type, NULL, &split, NULL, NULL, NULL) == 0 && unit_type == DW_UT_skeleton && split.addr)
        scopes = &split;
    walk_scopes(w, scopes, TL_LINES_NONE, 0);
}

static void take_build_id(tl_lines *lines, Dwfl_Module *module) {
    const unsigned char *bits;
    GElf_Addr vaddr;
    const int n = dwfl_module_build_id(module, &bits, &vaddr);
    for (int i = 0; i < n && (size_t)i < sizeof lines->build_id / 2; i++)
        snprintf(lines->build_id + 2 * i, 3, "%02x", bits[i]);
}

static void walk_file(walk *w, const uint8_t *bytes, uint64_t n_bytes, const char *path, const char *debug_root) {
    char folders[4200];
    char *search = folders;
    const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                      .find_debuginfo = dwfl_standard_find_debuginfo,
                                      .section_address = dwfl_offline_section_address,
                                      .debuginfo_path = &search};
    snprintf(folders, sizeof folders, "%s%s/usr/lib/debug", debug_root ? ":.debug:" : ":.debug", debug_root ? debug_root : "");
    if (!debug_root)
        snprintf(folders, sizeof folders, ":.debug:/usr/lib/debug");
    const int fd = memfd_create("tally", MFD_CLOEXEC);
    uint64_t done = 0;
    while (fd >= 0 && done < n_bytes) {
        const ssize_t part = write(fd, bytes + done, (size_t)(n_bytes - done));
        if (part <= 0)
            break;
        done += (uint64_t)part;
    }
    Dwfl *dwfl = fd >= 0 && done == n_bytes ? dwfl_begin(&callbacks) : NULL;
    if (!dwfl) {
        if (fd >= 0)
            close(fd);
        return;
    }
    dwfl_report_begin(dwfl);
    Dwfl_Module *module = dwfl_report_elf(dwfl, path, path, fd, 0, true);
    if (!module)
        close(fd); // else it is libdwfl's
    dwfl_report_end(dwfl, NULL, NULL);
    Dwarf_Die *unit = NULL;
    if (module) {
        GElf_Addr elf_bias;
        (void)dwfl_module_getelf(module, &elf_bias);
        take_build_id(w->lines, module);
    }
    while (module && (unit = dwfl_module_nextcu(module, unit, &w->bias)) != NULL && !w->lines->lacks_memory)
        walk_unit(w, unit);
    dwfl_end(dwfl);
}

static void look_up(tl_lines *lines, const uint8_t *bytes, uint64_t n_bytes, const char *path, const char *debug_root,
                    const uint64_t *addresses, uint32_t n_addresses) {
    walk w = {.lines = lines, .addresses = addresses, .n = n_addresses};
    walk_file(&w, bytes, n_bytes, path, debug_root);
    free(w.buckets);
}
#else
static void look_up(tl_lines *lines, const uint8_t *bytes, uint64_t n_bytes, const char *path, const char *debug_root,
                    const uint64_t *addresses, uint32_t n_addresses) {
    (void)lines, (void)bytes, (void)n_bytes, (void)path, (void)debug_root, (void)addresses, (void)n_addresses;
}
#endif

tl_status tl_lines_new(const uint8_t *bytes, uint64_t n_bytes, const char *path, const char *debug_root, const uint64_t *addresses,
                       uint32_t n_addresses, tl_lines **ret_lines, tl_error *err) {
    tl_lines *lines = calloc(1, sizeof *lines);
    if (lines)
        lines->positions = malloc(((size_t)n_addresses + 1) * sizeof *lines->positions);
    if (lines && lines->positions) {
        for (uint32_t i = 0; i < n_addresses; i++)
            lines->positions[i] = (tl_line_position){TL_LINES_NONE, 0, TL_LINES_NONE, TL_LINES_NONE};
        look_up(lines, bytes, n_bytes, path, debug_root, addresses, n_addresses);
    }
    if (!lines || !lines->positions || lines->lacks_memory) {
        tl_lines_free(lines);
        return tl_fail(err, TL_ENOMEM, "%s: no memory for its source lines", path);
    }
    *ret_lines = lines;
    return TL_OK;
}

void tl_lines_free(tl_lines *lines) {
    if (!lines)
        return;
    tl_arena_done(&lines->arena);
    free(lines->sources);
    free(lines->calls);
    free(lines->functions);
    free(lines->positions);
    free(lines);
}
