// SPDX-License-Identifier: MIT
// Images into RAM, where boot loaders put them: firmware at the start, the kernel 2 MiB behind it,
// the initial RAM disk above the place where the firmware keeps its device tree, the device tree at
// the end. Files are doubted; every refusal names the file and a remedy.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board/system_internal.h"
#include "loader/elf_bytes.h"
#include "model/isa.h"

enum {
    KERNEL_OFFSET = 2 << 20,         // RISC-V Linux wants 2 MiB alignment; fw_jump jumps there
    FIRMWARE_TREE_OFFSET = 34 << 20, // fw_jump copies the device tree there
    INITRD_OFFSET = 64 << 20,
    TREE_BYTES = 64 << 10,
    INFO_BYTES = 4096,
    LEAST_RAM_BYTES = 64 << 20,
    PAGE_BYTES = 4096,
};

typedef struct image {
    const char *path;
    const char *what; // "kernel"
    uint8_t *bytes;
    uint64_t size_bytes;
    uint64_t start_paddr, end_paddr; // where it came to lie, from its first byte to its last
} image;

static int64_t read_image(void *ctx, void *to, size_t n, uint64_t offset) {
    const image *from = ctx;
    if (offset >= from->size_bytes)
        return 0;
    size_t got = n < from->size_bytes - offset ? n : (size_t)(from->size_bytes - offset);
    memcpy(to, from->bytes + offset, got);
    return (int64_t)got;
}

static tl_status open_image(const char *what, const char *path, image *ret_image, tl_error *err) {
    struct stat about;
    *ret_image = (image){.path = path, .what = what, .start_paddr = UINT64_MAX};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe is refused, not waited for
    if (fd < 0 || fstat(fd, &about) != 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return tl_fail(err, why == ENOENT || why == ENOTDIR ? TL_ENOENT : TL_EACCESS, "%s %s: %s", what, path, strerror(why));
    }
    tl_status status = TL_OK;
    if (!S_ISREG(about.st_mode))
        status = tl_fail(err, TL_EFORMAT, "%s %s: not a regular file", what, path);
    else if (about.st_size == 0)
        status = tl_fail(err, TL_EFORMAT, "%s %s: the file is empty", what, path);
    else if (!(ret_image->bytes = malloc((size_t)about.st_size)))
        status = tl_fail(err, TL_ENOMEM, "%s %s: no memory for its %" PRIu64 " bytes", what, path, (uint64_t)about.st_size);
    while (status == TL_OK && ret_image->size_bytes < (uint64_t)about.st_size) {
        ssize_t n = read(fd, ret_image->bytes + ret_image->size_bytes, (size_t)about.st_size - (size_t)ret_image->size_bytes);
        if (n <= 0)
            status = tl_fail(err, TL_EIO, "%s %s: %s", what, path, n < 0 ? strerror(errno) : "the file shrank while it was read");
        else
            ret_image->size_bytes += (uint64_t)n;
    }
    close(fd);
    if (status != TL_OK) {
        free(ret_image->bytes);
        ret_image->bytes = NULL;
    }
    return status;
}

static void close_image(image *from) {
    free(from->bytes);
    from->bytes = NULL;
}

static bool is_in_ram(const tl_system *system, uint64_t paddr, uint64_t size_bytes) {
    uint64_t offset = paddr - TL_RAM_BASE_PADDR, ram_bytes = system->machine->config.ram_bytes;
    return paddr >= TL_RAM_BASE_PADDR && offset <= ram_bytes && size_bytes <= ram_bytes - offset;
}

static void note_range(image *from, uint64_t paddr, uint64_t size_bytes) {
    from->start_paddr = paddr < from->start_paddr ? paddr : from->start_paddr;
    from->end_paddr = paddr + size_bytes > from->end_paddr ? paddr + size_bytes : from->end_paddr;
}

static tl_status put(tl_system *system, image *from, uint64_t paddr, const void *bytes, uint64_t size_bytes, tl_error *err) {
    if (!is_in_ram(system, paddr, size_bytes))
        return tl_fail(err, TL_EFORMAT,
                       "%s %s: %" PRIu64 " bytes at 0x%" PRIx64 " do not fit into %" PRIu64 " MiB of RAM; give the machine more with ram",
                       from->what, from->path, size_bytes, paddr, system->machine->config.ram_bytes >> 20);
    memcpy(tl_machine_ram(system->machine, paddr), bytes, (size_t)size_bytes);
    note_range(from, paddr, size_bytes);
    return TL_OK;
}

static bool is_elf(const image *from) { return from->size_bytes >= 4 && memcmp(from->bytes, "\177ELF", 4) == 0; }

static tl_status load_elf(tl_system *system, image *from, uint64_t *ret_entry, uint64_t *ret_end, tl_error *err) {
    tl_elf_source source = {.name = from->path, .size_bytes = from->size_bytes, .read = read_image, .ctx = from, .is_physical = true};
    tl_elf elf;
    tl_error why;
    tl_status status = tl_elf_read(&source, &elf, &why);
    if (status != TL_OK)
        return tl_fail(err, status, "%s %s", from->what, why.text);
    const tl_isa *isa = system->machine->engine->isa;
    if (elf.machine != isa->elf_machine)
        return tl_fail(err, TL_EFORMAT, "%s %s: is for another instruction set than machine %s, which executes %s; choose another machine",
                       from->what, from->path, system->machine->config.name, isa->name);
    for (uint32_t i = 0; i < elf.n_segments; i++) {
        const tl_elf_segment *segment = &elf.segments[i];
        if (!is_in_ram(system, segment->vaddr, segment->memory_bytes))
            return tl_fail(err, TL_EFORMAT,
                           "%s %s: its segment at 0x%" PRIx64 " is not in RAM (0x%" PRIx64 " to 0x%" PRIx64 "); link it for this machine%s",
                           from->what, from->path, segment->vaddr, TL_RAM_BASE_PADDR, TL_RAM_BASE_PADDR + system->machine->config.ram_bytes,
                           system->options.program ? ", or run a Linux program without --bare" : "");
        status = put(system, from, segment->vaddr, from->bytes + (segment->file_bytes ? segment->offset : 0), segment->file_bytes, err);
        if (status != TL_OK)
            return status;
        note_range(from, segment->vaddr, segment->memory_bytes);
    }
    if (!is_in_ram(system, elf.entry, 2))
        return tl_fail(err, TL_EFORMAT, "%s %s: its entry point 0x%" PRIx64 " is not in RAM", from->what, from->path, elf.entry);
    *ret_entry = elf.entry;
    *ret_end = elf.end_vaddr;
    tl_symbols *symbols;
    if (tl_symbols_new(&source, &symbols, NULL) == TL_OK)
        system->symbols[system->n_symbols++] = symbols;
    return TL_OK;
}

// A RISC-V Linux Image: Documentation/riscv/boot-image-header in the kernel's sources.
static tl_status load_kernel(tl_system *system, image *from, uint64_t *ret_end, tl_error *err) {
    uint64_t entry;
    if (is_elf(from)) {
        tl_status status = load_elf(system, from, &entry, ret_end, err);
        if (status == TL_OK && entry != TL_RAM_BASE_PADDR + KERNEL_OFFSET)
            return tl_fail(err, TL_EFORMAT,
                           "%s %s: enters at 0x%" PRIx64 ", but the firmware jumps to 0x%" PRIx64
                           "; link it there, or give arch/riscv/boot/Image",
                           from->what, from->path, entry, TL_RAM_BASE_PADDR + KERNEL_OFFSET);
        return status;
    }
    if (from->size_bytes >= 2 && from->bytes[0] == 0x1f && from->bytes[1] == 0x8b)
        return tl_fail(err, TL_EFORMAT, "%s %s: is compressed; unpack it with gunzip first", from->what, from->path);
    if (from->size_bytes < 64 || memcmp(from->bytes + 0x38, "RSC\x05", 4) != 0)
        return tl_fail(err, TL_EFORMAT, "%s %s: is neither a RISC-V Linux Image (arch/riscv/boot/Image) nor an ELF file", from->what,
                       from->path);
    uint64_t base = TL_RAM_BASE_PADDR + KERNEL_OFFSET, text_offset = tl_get64(from->bytes + 8), memory_bytes = tl_get64(from->bytes + 16);
    if (text_offset != KERNEL_OFFSET)
        return tl_fail(err, TL_EFORMAT, "%s %s: wants to be %" PRIu64 " bytes behind the start of RAM, but the firmware jumps to %d",
                       from->what, from->path, text_offset, KERNEL_OFFSET);
    if (memory_bytes < from->size_bytes)
        memory_bytes = from->size_bytes;
    *ret_end = base + memory_bytes;
    if (!is_in_ram(system, base, memory_bytes))
        return put(system, from, base, from->bytes, memory_bytes, err);
    note_range(from, base, memory_bytes);
    return put(system, from, base, from->bytes, from->size_bytes, err);
}

static tl_status load_firmware(tl_system *system, const image *kernel, tl_error *err) {
    const char *path = system->options.bios ? system->options.bios : TL_PACKAGED_BIOS;
    image from;
    tl_status status = open_image("firmware", path, &from, err);
    if (status == TL_ENOENT && !system->options.bios)
        return tl_fail(err, TL_ENOENT, "firmware %s: not installed; install the package opensbi, or name a firmware with --bios", path);
    if (status != TL_OK)
        return status;
    uint64_t end;
    system->entry.pc = TL_RAM_BASE_PADDR;
    if (is_elf(&from))
        status = load_elf(system, &from, &system->entry.pc, &end, err);
    else
        status = put(system, &from, TL_RAM_BASE_PADDR, from.bytes, from.size_bytes, err);
    close_image(&from);
    if (status == TL_OK && from.start_paddr < kernel->end_paddr && kernel->start_paddr < from.end_paddr)
        status =
            tl_fail(err, TL_EFORMAT,
                    "kernel %s (0x%" PRIx64 " to 0x%" PRIx64 ") and firmware %s (0x%" PRIx64 " to 0x%" PRIx64
                    ") overlap; the first %d MiB are the firmware's, the kernel is to lie behind them",
                    kernel->path, kernel->start_paddr, kernel->end_paddr, from.path, from.start_paddr, from.end_paddr, KERNEL_OFFSET >> 20);
    return status;
}

static uint64_t align_up(uint64_t value, uint64_t to) { return (value + to - 1) & ~(to - 1); }

static tl_status load_initrd(tl_system *system, uint64_t kernel_end, uint64_t limit, tl_initrd_range *ret_range, tl_error *err) {
    *ret_range = (tl_initrd_range){0, 0};
    if (!system->options.initrd)
        return TL_OK;
    image from;
    tl_status status = open_image("initial RAM disk", system->options.initrd, &from, err);
    if (status != TL_OK)
        return status;
    uint64_t start = TL_RAM_BASE_PADDR + INITRD_OFFSET;
    if (start + from.size_bytes > limit) // little RAM: right behind the firmware's device tree
        start = TL_RAM_BASE_PADDR + FIRMWARE_TREE_OFFSET + TREE_BYTES;
    if (start < kernel_end)
        start = align_up(kernel_end, PAGE_BYTES);
    if (start > limit || from.size_bytes > limit - start)
        status = tl_fail(err, TL_EFORMAT,
                         "initial RAM disk %s: its %" PRIu64 " KiB do not fit into %" PRIu64
                         " MiB of RAM beside the kernel; give the machine more with ram",
                         from.path, from.size_bytes >> 10, system->machine->config.ram_bytes >> 20);
    else
        status = put(system, &from, start, from.bytes, from.size_bytes, err);
    if (status == TL_OK)
        *ret_range = (tl_initrd_range){start, start + from.size_bytes};
    close_image(&from);
    return status;
}

// The record that fw_dynamic reads; fw_jump does not. OpenSBI docs/firmware/fw_dynamic.md. Without
// a kernel QEMU says address 0, too.
static void write_firmware_info(tl_system *system) {
    const uint64_t next_paddr = system->options.kernel ? TL_RAM_BASE_PADDR + KERNEL_OFFSET : 0;
    const uint64_t info[] = {UINT64_C(0x4942534f), 2, next_paddr, 1, 0, 0};
    memcpy(tl_machine_ram(system->machine, system->entry.firmware_info), info, sizeof info);
}

static tl_status load_boot(tl_system *system, uint64_t limit, tl_initrd_range *ret_initrd, tl_error *err) {
    uint64_t kernel_end = 0;
    if (system->machine->config.ram_bytes < LEAST_RAM_BYTES)
        return tl_fail(err, TL_EINVAL, "the machine has %" PRIu64 " MiB of RAM; booting a kernel takes %d MiB or more",
                       system->machine->config.ram_bytes >> 20, LEAST_RAM_BYTES >> 20);
    image kernel = {.start_paddr = UINT64_MAX}; // of no bytes
    tl_status status = TL_OK;
    if (system->options.kernel) {
        status = open_image("kernel", system->options.kernel, &kernel, err);
        if (status != TL_OK)
            return status;
        status = load_kernel(system, &kernel, &kernel_end, err);
        close_image(&kernel);
    }
    system->has_kernel_symbols = system->n_symbols > 0;
    if (status == TL_OK && kernel_end > TL_RAM_BASE_PADDR + FIRMWARE_TREE_OFFSET)
        status = tl_fail(err, TL_EFORMAT, "kernel %s: too large: it would reach over the device tree, %d MiB behind the start of RAM",
                         system->options.kernel, FIRMWARE_TREE_OFFSET >> 20);
    if (status == TL_OK)
        status = load_firmware(system, &kernel, err);
    if (status == TL_OK)
        status = load_initrd(system, kernel_end, limit, ret_initrd, err);
    return status;
}

static tl_status load_bare(tl_system *system, tl_error *err) {
    image from;
    tl_status status = open_image("program", system->options.program, &from, err);
    if (status != TL_OK)
        return status;
    uint64_t end;
    if (is_elf(&from))
        status = load_elf(system, &from, &system->entry.pc, &end, err);
    else
        status = tl_fail(err, TL_EFORMAT, "%s: not an ELF file; --bare wants an %s program linked for RAM at 0x%" PRIx64, from.path,
                         system->board.kind->isa_name, TL_RAM_BASE_PADDR);
    close_image(&from);
    if (status == TL_OK && system->n_symbols > 0) {
        (void)!tl_symbols_find(system->symbols[0], "tohost", &system->tohost, NULL);
        (void)!tl_symbols_find(system->symbols[0], "fromhost", &system->fromhost, NULL);
        if (!is_in_ram(system, system->tohost, 8))
            system->tohost = 0;
        if (!is_in_ram(system, system->fromhost, 8))
            system->fromhost = 0;
    }
    return status;
}

tl_status tl_system_load(tl_system *system, tl_error *err) {
    const uint64_t gib = UINT64_C(1) << 30, ram_bytes = system->machine->config.ram_bytes;
    uint64_t top = TL_RAM_BASE_PADDR + (ram_bytes < gib ? ram_bytes : gib);
    tl_initrd_range initrd = {0, 0};
    system->entry.device_tree = top - TREE_BYTES;
    system->entry.firmware_info = system->entry.device_tree - INFO_BYTES;
    tl_status status = system->options.program ? load_bare(system, err) : load_boot(system, system->entry.firmware_info, &initrd, err);
    if (status != TL_OK)
        return status;
    if (!system->board.kind->has_tree) {
        system->entry.device_tree = 0;
        return TL_OK;
    }
    write_firmware_info(system);
    return tl_board_device_tree(&system->board, system->options.append, initrd, tl_machine_ram(system->machine, system->entry.device_tree),
                                TREE_BYTES, err);
}
