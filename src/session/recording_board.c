// SPDX-License-Identifier: MIT
// Code of system software: every hart is a thread, and addresses are those that the images were
// linked for, with translation on or off. Programs of a guest kernel share these rows.
#include "session/recording_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/elf_bytes.h"
#include "machine/machine.h"
#include "model/isa.h"
#include "session/digest.h"
#include "session/plan.h"

static const uint64_t MAX_IMAGE_BYTES = UINT64_C(1) << 31;

void tl_recorded_board_begin(tl_code_map *map, const tl_machine *machine) {
    const uint32_t process = tl_code_map_process(map, 0, TL_CODE_NONE, "machine");
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        char name[16];
        snprintf(name, sizeof name, "hart%u", i);
        const uint32_t space = tl_code_map_space(map, tl_code_map_thread(map, (int32_t)i, process, name), 0);
        if (space != TL_CODE_NONE)
            tl_attribution_set_space(map->attribution, i, space);
    }
}

static void read_image(const char *path, tl_code_object *object) {
    const int fd = tl_digest_open(NULL, path);
    FILE *stream = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (!stream)
        return;
    if (fseek(stream, 0, SEEK_END) == 0) {
        const long n = ftell(stream);
        rewind(stream);
        object->bytes = n > 0 && (uint64_t)n <= MAX_IMAGE_BYTES ? malloc((size_t)n) : NULL;
        object->n_bytes = object->bytes ? fread(object->bytes, 1, (size_t)n, stream) : 0;
    }
    fclose(stream);
}

// Offset in the file of the byte that the image has at this address; UINT64_MAX: it has none.
static uint64_t offset_of(const tl_code_object *object, uint64_t address) {
    if (object->n_bytes < TL_ELF_HEADER_BYTES || memcmp(object->bytes, "\177ELF", 4) != 0)
        return UINT64_MAX;
    const uint64_t first = tl_get64(object->bytes + 32), n = tl_get16(object->bytes + 56);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = first + i * TL_ELF_PHDR_BYTES;
        if (at > object->n_bytes || object->n_bytes - at < TL_ELF_PHDR_BYTES)
            return UINT64_MAX;
        const uint8_t *header = object->bytes + at;
        const uint64_t offset = tl_get64(header + 8), vaddr = tl_get64(header + 16), paddr = tl_get64(header + 24);
        const uint64_t n_bytes = tl_get64(header + 32);
        // PT_LOAD
        if (tl_get32(header) != 1 || offset > object->n_bytes || n_bytes > object->n_bytes - offset)
            continue;
        if (address >= vaddr && address - vaddr < n_bytes)
            return address - vaddr + offset;
        if (address >= paddr && address - paddr < n_bytes)
            return address - paddr + offset;
    }
    return UINT64_MAX;
}

// Memory says what was executed; the file does where memory has another address.
static void take_insn(const tl_machine *machine, const tl_code_object *object, uint64_t offset, uint64_t pc, tl_code_row *row) {
    const uint64_t in_ram = pc - TL_RAM_BASE_PADDR;
    const uint8_t *bytes = NULL;
    uint64_t n = 0;
    if (in_ram < machine->config.ram_bytes) {
        bytes = machine->ram + in_ram;
        n = machine->config.ram_bytes - in_ram;
    } else if (offset != UINT64_MAX) {
        bytes = object->bytes + offset;
        n = object->n_bytes - offset;
    }
    if (n < 2)
        return;
    const bool is_short = machine->engine->isa->number == TL_ISA_RISCV64 && (bytes[0] & 3) != 3;
    row->n_bytes = is_short || n < 4 ? 2 : 4;
    memcpy(row->bytes, bytes, row->n_bytes);
}

void tl_recorded_board_end(tl_code_map *map, const tl_machine *machine, const tl_run_options *options) {
    tl_image_path paths[TL_MAX_IMAGE_PATHS];
    const uint32_t n_paths = tl_plan_images(options, machine->config.isa, paths);
    for (uint32_t i = 0; i < n_paths; i++) {
        bool is_new = false;
        const char *kind = !strcmp(paths[i].role, "bios") ? "firmware" : paths[i].role;
        if (strcmp(kind, "initrd") != 0 && strcmp(kind, "disk") != 0 &&
            tl_code_map_object(map, &(tl_code_object){.kind = kind, .is_fixed = true}, paths[i].path, &is_new) != TL_CODE_NONE && is_new)
            read_image(paths[i].path, &map->objects[map->n_objects - 1]);
    }
    tl_code_map_scan(map);
    uint32_t n_rows;
    const tl_attribution_row *rows = tl_attribution_rows(map->attribution, &n_rows);
    for (uint32_t i = 0; i < map->n_rows; i++) {
        tl_code_row *row = &map->rows[i];
        uint64_t offset = UINT64_MAX;
        uint32_t object = 0;
        for (; object < map->n_objects; object++)
            if ((offset = offset_of(&map->objects[object], rows[i].pc)) != UINT64_MAX)
                break;
        if (object < map->n_objects) {
            row->object = object;
            row->mapping = tl_code_map_mapping(map, &(tl_code_mapping){.object = object, .end = UINT64_MAX});
        }
        take_insn(machine, object < map->n_objects ? &map->objects[object] : NULL, offset, rows[i].pc, row);
    }
}
