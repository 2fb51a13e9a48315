// SPDX-License-Identifier: MIT
// Images into RAM, where boot loaders put them: firmware at the start, the kernel behind its
// memory, the initial RAM disk above the place where firmware may keep its device tree, the device
// tree at the end. Files are doubted; every refusal names the file and a remedy.
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
    INITRD_OFFSET = 64 << 20,
    INITRD_OFFSET_IN_LITTLE_RAM = 34 << 20,
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

static uint64_t kernel_base(void) { return TL_RAM_BASE_PADDR + TL_FIRMWARE_BYTES; }

static tl_status load_elf_kernel(tl_system *system, image *from, uint64_t *ret_end, tl_error *err) {
    const tl_board_kind *kind = system->board.kind;
    tl_status status = load_elf(system, from, &system->entry.kernel, ret_end, err);
    if (status == TL_OK && system->entry.kernel != kernel_base() && !kind->enters_anywhere)
        return tl_fail(err, TL_EFORMAT,
                       "%s %s: enters at 0x%" PRIx64 ", but the firmware jumps to 0x%" PRIx64 "; link it there, or give arch/%s/boot/Image",
                       from->what, from->path, system->entry.kernel, kernel_base(), kind->kernel.architecture);
    return status;
}

// Images of Linux have a header of 64 bytes: Documentation/riscv/boot-image-header and
// Documentation/arm64/booting in the kernel's sources.
enum { HEADER_BYTES = 64, HEADER_TEXT_OFFSET = 8, HEADER_SIZE = 16, HEADER_FLAGS = 24, HEADER_MAGIC = 0x38 };

static bool has_magic(const image *from, uint64_t offset, const char magic[4]) {
    return from->size_bytes >= HEADER_BYTES && memcmp(from->bytes + offset, magic, 4) == 0;
}

// Why this is no kernel for the board.
static tl_status refuse_kernel(const tl_system *system, const image *from, tl_error *err) {
    static const struct {
        uint64_t offset;
        char magic[4];
        const char *is;
    } others[] = {
        {0, "\x1f\x8b", "is compressed; unpack it with gunzip first"},
        {4, "zimg", "is compressed for EFI; give the Image inside"},
        {0x24, "\x18\x28\x6f\x01", "is a zImage of 32-bit Arm, which no machine executes; build the kernel for arm64"},
    };
    const char *architecture = system->board.kind->kernel.architecture;
    for (size_t i = 0; i < TL_COUNT_OF(others); i++)
        if (from->size_bytes > others[i].offset + 4 &&
            memcmp(from->bytes + others[i].offset, others[i].magic, strnlen(others[i].magic, 4)) == 0)
            return tl_fail(err, TL_EFORMAT, "%s %s: %s", from->what, from->path, others[i].is);
    for (uint32_t i = 0; i < TL_N_ISAS; i++)
        if (has_magic(from, HEADER_MAGIC, tl_board_kinds[i]->kernel.magic))
            return tl_fail(err, TL_EFORMAT, "%s %s: is for %s, and machine %s executes %s; choose another machine", from->what, from->path,
                           tl_board_kinds[i]->isa_name, system->machine->config.name, system->board.kind->isa_name);
    return tl_fail(err, TL_EFORMAT, "%s %s: is neither a Linux Image for %s (arch/%s/boot/Image) nor an ELF file", from->what, from->path,
                   system->board.kind->isa_name, architecture);
}

// Flags of an arm64 Image.
static tl_status check_flags(const image *from, uint64_t flags, tl_error *err) {
    enum { BIG_ENDIAN_DATA = 1, PAGE_SIZE_LSB = 1, PAGES_16K = 2 };
    if (flags & BIG_ENDIAN_DATA)
        return tl_fail(err, TL_EFORMAT,
                       "%s %s: is big-endian, and the machine has little-endian data alone; build it without CPU_BIG_ENDIAN", from->what,
                       from->path);
    if ((flags >> PAGE_SIZE_LSB & 3) == PAGES_16K)
        return tl_fail(err, TL_EFORMAT, "%s %s: has pages of 16 KiB, and the machine has 4 KiB and 64 KiB; build it with ARM64_4K_PAGES",
                       from->what, from->path);
    return TL_OK;
}

static tl_status load_kernel(tl_system *system, image *from, uint64_t *ret_end, tl_error *err) {
    const tl_board_kind *kind = system->board.kind;
    if (is_elf(from))
        return load_elf_kernel(system, from, ret_end, err);
    if (!has_magic(from, HEADER_MAGIC, kind->kernel.magic))
        return refuse_kernel(system, from, err);
    const uint64_t text_offset = tl_get64(from->bytes + HEADER_TEXT_OFFSET);
    uint64_t memory_bytes = tl_get64(from->bytes + HEADER_SIZE), base = kernel_base();
    if (kind->enters_anywhere) {
        const tl_status status = check_flags(from, tl_get64(from->bytes + HEADER_FLAGS), err);
        if (status != TL_OK)
            return status;
        base += text_offset; // from an address that 2 MiB divide
    } else if (text_offset != TL_FIRMWARE_BYTES) {
        return tl_fail(err, TL_EFORMAT, "%s %s: wants to be %" PRIu64 " bytes behind the start of RAM, but the firmware jumps to %d",
                       from->what, from->path, text_offset, TL_FIRMWARE_BYTES);
    }
    if (memory_bytes < from->size_bytes)
        memory_bytes = from->size_bytes;
    system->entry.kernel = base;
    if (!is_in_ram(system, base, memory_bytes))
        return put(system, from, base, from->bytes, memory_bytes, err);
    *ret_end = base + memory_bytes;
    note_range(from, base, memory_bytes);
    return put(system, from, base, from->bytes, from->size_bytes, err);
}

static tl_status overlap(const image *kernel, const image *firmware, tl_error *err) {
    if (firmware->start_paddr >= kernel->end_paddr || kernel->start_paddr >= firmware->end_paddr)
        return TL_OK;
    return tl_fail(err, TL_EFORMAT,
                   "kernel %s (0x%" PRIx64 " to 0x%" PRIx64 ") and firmware %s (0x%" PRIx64 " to 0x%" PRIx64
                   ") overlap; the first %d MiB are the firmware's, the kernel is to lie behind them",
                   kernel->path, kernel->start_paddr, kernel->end_paddr, firmware->path, firmware->start_paddr, firmware->end_paddr,
                   TL_FIRMWARE_BYTES >> 20);
}

static tl_status load_own_firmware(tl_system *system, const image *kernel, tl_error *err) {
    const tl_board_kind *kind = system->board.kind;
    const image own = {.path = "of the board", .start_paddr = TL_RAM_BASE_PADDR, .end_paddr = TL_RAM_BASE_PADDR + TL_FIRMWARE_BYTES};
    system->entry.pc = TL_RAM_BASE_PADDR;
    for (uint32_t i = 0; i < kind->n_firmware_words; i++)
        memcpy(tl_machine_ram(system->machine, TL_RAM_BASE_PADDR + kind->firmware[i].offset), &kind->firmware[i].bits, 4);
    return overlap(kernel, &own, err);
}

static tl_status load_firmware(tl_system *system, const image *kernel, tl_error *err) {
    const tl_board_kind *kind = system->board.kind;
    if (!system->options.bios && !kind->packaged_bios)
        return load_own_firmware(system, kernel, err);
    const char *path = system->options.bios ? system->options.bios : kind->packaged_bios;
    image from;
    tl_status status = open_image("firmware", path, &from, err);
    if (status == TL_ENOENT && !system->options.bios)
        return tl_fail(err, TL_ENOENT, "firmware %s: not installed; install the package %s, or name a firmware with --bios", path,
                       kind->bios_package);
    if (status != TL_OK)
        return status;
    uint64_t end;
    system->entry.pc = TL_RAM_BASE_PADDR;
    if (is_elf(&from))
        status = load_elf(system, &from, &system->entry.pc, &end, err);
    else
        status = put(system, &from, TL_RAM_BASE_PADDR, from.bytes, from.size_bytes, err);
    close_image(&from);
    return status == TL_OK ? overlap(kernel, &from, err) : status;
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
    if (start + from.size_bytes > limit) // right behind the firmware's device tree
        start = TL_RAM_BASE_PADDR + INITRD_OFFSET_IN_LITTLE_RAM + TREE_BYTES;
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
    const uint64_t next_paddr = system->options.kernel ? kernel_base() : 0;
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
    const uint64_t tree_offset = system->board.kind->tree_copy_offset;
    if (status == TL_OK && tree_offset != 0 && kernel_end > TL_RAM_BASE_PADDR + tree_offset)
        status = tl_fail(err, TL_EFORMAT, "kernel %s: too large: it would reach over the device tree, %d MiB behind the start of RAM",
                         system->options.kernel, (int)(tree_offset >> 20));
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
    if (system->board.kind->has_firmware_info)
        write_firmware_info(system);
    return tl_board_device_tree(&system->board, system->options.append, initrd, tl_machine_ram(system->machine, system->entry.device_tree),
                                TREE_BYTES, err);
}
