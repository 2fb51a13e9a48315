// SPDX-License-Identifier: MIT
// Reads records of a jitdump file; see jitdump.h. The guest wrote the file, so every length is
// checked.
#include "loader/jitdump.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "loader/elf_bytes.h"

// Sections III to VII of the specification.
enum {
    MAGIC = 0x4a695444, // "JiTD"
    HEADER_BYTES = 40,
    RECORD_BYTES = 16,
    LOAD_BYTES = 40,  // behind the header of a record, before the name
    MOVE_BYTES = 48,  // the same
    DEBUG_BYTES = 16, // the same, before the entries
    ENTRY_BYTES = 16, // before the path
};
enum { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

typedef struct reader {
    tl_jitdump *dump;
    // Lines that wait for their function.
    uint64_t debug_address;
    uint32_t debug_first, debug_n;
    bool lacks_memory;
} reader;

// Room for one more item: it doubles at powers of two.
static void *add(reader *r, void **items, uint32_t *n, size_t item_bytes) {
    if ((*n & (*n - 1)) == 0) {
        void *larger = *n < UINT32_MAX / 2 ? realloc(*items, (*n == 0 ? 1 : 2 * (size_t)*n) * item_bytes) : NULL;
        r->lacks_memory |= !larger;
        if (!larger)
            return NULL;
        *items = larger;
    }
    return (char *)*items + (*n)++ * item_bytes;
}

// Bytes of the text with its NUL; 0: it does not end.
static uint64_t text_bytes(const uint8_t *bytes, uint64_t room) {
    const uint8_t *end = room > 0 ? memchr(bytes, 0, room) : NULL;
    return end ? (uint64_t)(end - bytes) + 1 : 0;
}

static bool take_load(reader *r, const uint8_t *bytes, uint64_t n) {
    if (n < LOAD_BYTES)
        return false;
    const uint64_t size = tl_get64(bytes + 24), name = text_bytes(bytes + LOAD_BYTES, n - LOAD_BYTES);
    if (name == 0 || size > n - LOAD_BYTES - name)
        return false;
    tl_jit_code *code = add(r, (void **)&r->dump->codes, &r->dump->n_codes, sizeof *code);
    if (!code)
        return false;
    *code = (tl_jit_code){.address = tl_get64(bytes + 16),
                          .size_bytes = size,
                          .index = tl_get64(bytes + 32),
                          .name = (const char *)bytes + LOAD_BYTES,
                          .bytes = bytes + LOAD_BYTES + name};
    if (r->debug_n > 0 && r->debug_address == code->address) {
        code->first_line = r->debug_first;
        code->n_lines = r->debug_n;
    }
    r->debug_n = 0;
    return true;
}

// Lines of a function that moved keep their distance from its beginning.
static bool move_lines(reader *r, tl_jit_code *code, uint64_t distance) {
    const uint32_t first = r->dump->n_lines;
    for (uint32_t i = 0; i < code->n_lines; i++) {
        tl_jit_line *line = add(r, (void **)&r->dump->lines, &r->dump->n_lines, sizeof *line);
        if (!line)
            return false;
        *line = r->dump->lines[code->first_line + i];
        line->address += distance;
    }
    code->first_line = first;
    return true;
}

static bool take_move(reader *r, const uint8_t *bytes, uint64_t n) {
    if (n < MOVE_BYTES)
        return false;
    const uint64_t from = tl_get64(bytes + 16), to = tl_get64(bytes + 24), index = tl_get64(bytes + 40);
    for (uint32_t i = r->dump->n_codes; i-- > 0;) {
        tl_jit_code moved = r->dump->codes[i];
        if (moved.index != index || moved.address != from)
            continue;
        moved.address = to;
        if (!move_lines(r, &moved, to - from))
            return false;
        tl_jit_code *code = add(r, (void **)&r->dump->codes, &r->dump->n_codes, sizeof *code);
        if (code)
            *code = moved;
        return code != NULL;
    }
    return true; // of code that was never told
}

static bool take_debug(reader *r, const uint8_t *bytes, uint64_t n) {
    if (n < DEBUG_BYTES)
        return false;
    const uint64_t n_entries = tl_get64(bytes + 8);
    const char *last = NULL;
    r->debug_address = tl_get64(bytes);
    r->debug_first = r->dump->n_lines;
    r->debug_n = 0;
    uint64_t at = DEBUG_BYTES;
    for (uint64_t i = 0; i < n_entries; i++) {
        if (n - at < ENTRY_BYTES)
            return false;
        const uint64_t path = text_bytes(bytes + at + ENTRY_BYTES, n - at - ENTRY_BYTES);
        tl_jit_line *line = path > 0 ? add(r, (void **)&r->dump->lines, &r->dump->n_lines, sizeof *line) : NULL;
        if (!line)
            return false;
        const char *text = (const char *)bytes + at + ENTRY_BYTES;
        // "\377" is the path of the entry before.
        const bool is_same = last && (uint8_t)text[0] == 0xff && text[1] == '\0';
        last = is_same ? last : text;
        *line = (tl_jit_line){tl_get64(bytes + at), tl_get32(bytes + at + 8), last};
        r->debug_n++;
        at += ENTRY_BYTES + path;
    }
    return true;
}

tl_status tl_jitdump_read(const uint8_t *bytes, uint64_t n_bytes, tl_jitdump *ret_dump, tl_error *err) {
    reader r = {.dump = ret_dump};
    *ret_dump = (tl_jitdump){.n_codes = 0};
    if (n_bytes < HEADER_BYTES || tl_get32(bytes) != MAGIC || tl_get32(bytes + 8) < HEADER_BYTES || tl_get32(bytes + 8) > n_bytes)
        return tl_fail(err, TL_EFORMAT, "this is no jitdump file");
    uint64_t at = tl_get32(bytes + 8);
    for (bool is_good = true; is_good && n_bytes - at >= RECORD_BYTES;) {
        const uint32_t id = tl_get32(bytes + at), total = tl_get32(bytes + at + 4);
        if (total < RECORD_BYTES || total > n_bytes - at)
            break;
        const uint8_t *body = bytes + at + RECORD_BYTES;
        if (id == CODE_LOAD)
            is_good = take_load(&r, body, total - RECORD_BYTES);
        else if (id == CODE_MOVE)
            is_good = take_move(&r, body, total - RECORD_BYTES);
        else if (id == CODE_DEBUG_INFO)
            is_good = take_debug(&r, body, total - RECORD_BYTES);
        at += total;
    }
    if (!r.lacks_memory)
        return TL_OK;
    tl_jitdump_done(ret_dump);
    return tl_fail(err, TL_ENOMEM, "the host has no memory left for names of a JIT");
}

void tl_jitdump_done(tl_jitdump *dump) {
    free(dump->codes);
    free(dump->lines);
    *dump = (tl_jitdump){.n_codes = 0};
}

const tl_jit_line *tl_jitdump_line_at(const tl_jitdump *dump, const tl_jit_code *code, uint64_t address) {
    const tl_jit_line *best = NULL;
    for (uint32_t i = 0; i < code->n_lines; i++) {
        const tl_jit_line *line = &dump->lines[code->first_line + i];
        if (line->address <= address && (!best || line->address >= best->address))
            best = line;
    }
    return best;
}
