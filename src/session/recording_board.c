// SPDX-License-Identifier: MIT
// Code of system software: every hart is a thread, and addresses are those that the images were
// linked for, with translation on or off. Programs of a guest kernel share these rows.
#include "session/recording_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/elf_bytes.h"
#include "loader/symbol_map.h"
#include "machine/machine.h"
#include "model/isa.h"
#include "session/digest.h"
#include "session/plan.h"

static const uint64_t MAX_IMAGE_BYTES = UINT64_C(1) << 31;

// Spaces of programs that come and go are not without end.
enum { MAX_PROCESSES = 256 };

// The physical address of the page table of user addresses; 0: there is none.
static uint64_t page_table_of(const tl_machine *machine, const tl_hart *h) {
    if (machine->engine->isa->number == TL_ISA_RISCV64) // satp
        return (h->context & ((UINT64_C(1) << 44) - 1)) << 12;
    return h->context & ((UINT64_C(1) << 48) - 2); // TTBR0_EL1
}

// The number of the process with this page table, or of all for which there is no more room. Its
// pid is its number, because the guest's kernel does not tell pids.
static uint32_t process_of(tl_code_map *map, uint64_t page_table) {
    char name[32] = "machine"; // a process's has 15 characters, and the address has 48 bits
    if (page_table != 0)
        snprintf(name, sizeof name, "@%" PRIx64, page_table);
    for (uint32_t i = 0; i < map->n_processes; i++)
        if (strcmp(map->processes[i].name, name) == 0)
            return i;
    if (map->n_processes >= MAX_PROCESSES)
        snprintf(name, sizeof name, "others");
    return tl_code_map_process(map, (int32_t)(map->n_processes < MAX_PROCESSES ? map->n_processes : MAX_PROCESSES), TL_CODE_NONE, name);
}

static void set_space(tl_code_map *map, const tl_machine *machine, tl_hart *h) {
    char name[16];
    const uint32_t process = process_of(map, page_table_of(machine, h));
    snprintf(name, sizeof name, "hart%u", h->id);
    const uint32_t thread = tl_code_map_thread(map, (int32_t)h->id, process, name);
    uint32_t space = 0;
    while (space < map->n_spaces && map->spaces[space].thread != thread)
        space++;
    if (space == map->n_spaces)
        space = tl_code_map_space(map, thread, 0);
    if (space == TL_CODE_NONE)
        return;
    tl_machine_sync((tl_machine *)(uintptr_t)machine);
    tl_attribution_set_space(map->attribution, h->id, space);
    tl_code_map_arrive(map, h->id, thread, h->now);
}

void tl_recorded_board_begin(tl_code_map *map, const tl_machine *machine) {
    for (uint32_t i = 0; i < machine->n_harts; i++)
        set_space(map, machine, machine->harts[i]);
}

void tl_recorded_board_spaces(tl_code_map *map, const tl_machine *machine) { tl_recorded_board_begin(map, machine); }

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

// Text with an address, a type and a name in each line, as /proc/kallsyms and System.map have it.
static void look_for_map(tl_code_object *object) {
    tl_symbol_map symbols;
    object->is_map = object->bytes && memcmp(object->bytes, "\177ELF", object->n_bytes < 4 ? object->n_bytes : 4) != 0 &&
                     tl_symbol_map_read(object->bytes, object->n_bytes, &symbols);
    if (!object->is_map)
        return;
    object->first = symbols.n > 0 ? symbols.items[0].address : 1;
    object->last = symbols.n > 0 ? symbols.items[symbols.n - 1].address : 0;
    tl_symbol_map_done(&symbols);
}

static bool is_in_map(const tl_code_object *object, uint64_t pc) { return object->is_map && pc >= object->first && pc <= object->last; }

// Offset in the file of the byte that the image has at this address; UINT64_MAX: it has none. A
// physical address becomes the virtual one that symbols have.
static uint64_t offset_of(const tl_code_object *object, uint64_t address, uint64_t *ret_vaddr) {
    *ret_vaddr = address;
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
        if (address >= paddr && address - paddr < n_bytes) {
            *ret_vaddr = address - paddr + vaddr;
            return address - paddr + offset;
        }
    }
    return UINT64_MAX;
}

// Host address of the byte that a hart reaches at this address now; NULL: no RAM.
static const uint8_t *mapped_at(const tl_machine *machine, uint64_t vaddr) {
    uint64_t paddr;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        if (tl_memory_translate(machine->memory, machine->harts[i], vaddr, &paddr) && paddr - TL_RAM_BASE_PADDR < machine->config.ram_bytes)
            return machine->ram + (paddr - TL_RAM_BASE_PADDR);
    return NULL;
}

// Memory says what was executed; the file does where memory has another address. Code of programs
// may be gone.
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
    } else if (object && object->is_map && (bytes = mapped_at(machine, pc)) != NULL) {
        n = 4 - (pc & 2); // no more than the page is sure to have
        n = n < 4 && mapped_at(machine, pc + 2) == bytes + 2 ? 4 : n;
    }
    if (n < 2)
        return;
    const bool is_short = machine->engine->isa->number == TL_ISA_RISCV64 && (bytes[0] & 3) != 3;
    row->n_bytes = is_short || n < 4 ? 2 : 4;
    memcpy(row->bytes, bytes, row->n_bytes);
}

void tl_recorded_board_end(tl_code_map *map, const tl_machine *machine, const tl_run_options *options) {
    tl_image_path paths[TL_MAX_IMAGE_PATHS + 1];
    uint32_t n_paths = 0;
    if (options->kernel_symbols) // they come first, because they know more than the image
        paths[n_paths++] = (tl_image_path){"kernel", options->kernel_symbols};
    n_paths += tl_plan_images(options, machine->config.isa, paths + n_paths);
    for (uint32_t i = 0; i < n_paths; i++) {
        bool is_new = false;
        const char *kind = !strcmp(paths[i].role, "bios") ? "firmware" : paths[i].role;
        if (strcmp(kind, "initrd") != 0 && strcmp(kind, "disk") != 0 &&
            tl_code_map_object(map, &(tl_code_object){.kind = kind, .is_fixed = true}, paths[i].path, &is_new) != TL_CODE_NONE && is_new)
            read_image(paths[i].path, &map->objects[map->n_objects - 1]);
    }
    if (options->kernel_symbols && map->n_objects > 0)
        look_for_map(&map->objects[0]);
    tl_code_map_scan(map);
    uint32_t n_rows;
    const tl_attribution_row *rows = tl_attribution_rows(map->attribution, &n_rows);
    for (uint32_t i = 0; i < map->n_rows; i++) {
        tl_code_row *row = &map->rows[i];
        uint64_t offset = UINT64_MAX, vaddr = rows[i].pc;
        uint32_t object = 0;
        for (; object < map->n_objects; object++)
            if ((offset = offset_of(&map->objects[object], rows[i].pc, &vaddr)) != UINT64_MAX ||
                is_in_map(&map->objects[object], rows[i].pc))
                break;
        if (object < map->n_objects) {
            row->object = object;
            const uint64_t ahead = vaddr - rows[i].pc; // of the address that it was linked for
            row->mapping = tl_code_map_mapping(map, &(tl_code_mapping){.object = object, .end = UINT64_MAX, .offset = ahead});
        }
        take_insn(machine, object < map->n_objects ? &map->objects[object] : NULL, offset, rows[i].pc, row);
    }
}
