// SPDX-License-Identifier: MIT
// ELF header and segments. Layouts: System V ABI, chapter 4 and 5; flags: RISC-V ELF psABI, "File
// Header"; AArch64 has none. Little-endian fields are read byte by byte at fixed offsets, so that
// no structure of the host takes part.
#include "loader/elf.h"

#include <inttypes.h>
#include <string.h>

#include "loader/elf_bytes.h"

enum { PAGE_BYTES = 4096 };
static const uint64_t USER_END = UINT64_C(1) << 38;

enum { ET_REL = 1, ET_EXEC = 2, ET_DYN = 3, ET_CORE = 4, PT_LOAD = 1, PT_INTERP = 3, PT_PHDR = 6, PT_GNU_STACK = 0x6474e551 };
enum { EF_RISCV_FLOAT_ABI = 6, EF_RISCV_RVE = 8 };

static const struct {
    uint16_t machine;
    const char *name;
} machines[] = {
    {3, "x86"},    {8, "MIPS"},    {20, "PowerPC"}, {21, "PowerPC64"},  {22, "S/390"}, {40, "32-bit Arm (AArch32)"},
    {43, "SPARC"}, {62, "x86-64"}, {247, "eBPF"},   {258, "LoongArch"}, {0, NULL},
};

#define RUNS "tally runs 64-bit RISC-V and AArch64 programs"
#define BUILD_IT "build it with riscv64-linux-gnu-gcc or aarch64-linux-gnu-gcc"

static tl_status check_riscv(const tl_elf_source *source, const uint8_t *header, tl_error *err) {
    const uint32_t flags = tl_get32(header + 48);
    if (flags & EF_RISCV_RVE)
        return tl_fail(err, TL_EFORMAT, "%s: built for RVE (16 registers), which tally does not run; build it with -march=rv64gc",
                       source->name);
    if ((flags & EF_RISCV_FLOAT_ABI) == EF_RISCV_FLOAT_ABI)
        return tl_fail(err, TL_EFORMAT, "%s: uses the quad float ABI; tally has no Q extension: build it with -mabi=lp64d", source->name);
    return TL_OK;
}

static tl_status check_header(const tl_elf_source *source, const uint8_t *header, tl_error *err) {
    const char *name = source->name;
    if (memcmp(header, "\177ELF", 4) != 0)
        return tl_fail(err, TL_EFORMAT, "%s: not an ELF program; " RUNS ": " BUILD_IT, name);
    uint16_t machine = tl_get16(header + 18), type = tl_get16(header + 16);
    if (header[5] == 2)
        return tl_fail(err, TL_EFORMAT, "%s: big-endian ELF file; " RUNS ", little-endian: " BUILD_IT, name);
    if (header[5] != 1 || header[6] != 1)
        return tl_fail(err, TL_EFORMAT, "%s: damaged ELF header (data encoding %u, version %u); build or copy the program again", name,
                       header[5], header[6]);
    if (machine != TL_ELF_RISCV && machine != TL_ELF_AARCH64) {
        for (size_t i = 0; machines[i].name; ++i)
            if (machines[i].machine == machine)
                return tl_fail(err, TL_EFORMAT, "%s: %s program; " RUNS ": " BUILD_IT, name, machines[i].name);
        return tl_fail(err, TL_EFORMAT, "%s: program for ELF machine %u; " RUNS ": " BUILD_IT, name, machine);
    }
    if (header[4] != 2)
        return tl_fail(err, TL_EFORMAT, "%s: 32-bit program; " RUNS ": " BUILD_IT, name);
    if (type == ET_REL)
        return tl_fail(err, TL_EFORMAT, "%s: relocatable object file, not a program; link it with the compiler that made it", name);
    if (type == ET_CORE)
        return tl_fail(err, TL_EFORMAT, "%s: core dump, not a program; give the program that wrote it", name);
    if (type != ET_EXEC && type != ET_DYN)
        return tl_fail(err, TL_EFORMAT, "%s: ELF type %u is not a program; " BUILD_IT, name, type);
    return machine == TL_ELF_RISCV ? check_riscv(source, header, err) : TL_OK;
}

static tl_status truncated(const tl_elf_source *source, const char *what, uint64_t need, tl_error *err) {
    return tl_fail(err, TL_EFORMAT, "%s: truncated: %s reaches to byte %" PRIu64 ", but the file has %" PRIu64 "; build or copy it again",
                   source->name, what, need, source->size_bytes);
}

static tl_status read_interpreter(const tl_elf_source *source, const uint8_t *phdr, tl_elf *elf, tl_error *err) {
    uint64_t offset = tl_get64(phdr + 8), size = tl_get64(phdr + 32);
    if (size < 2 || size > TL_ELF_MAX_INTERPRETER)
        return tl_fail(err, TL_EFORMAT, "%s: damaged: its interpreter name is %" PRIu64 " bytes long; build or copy it again", source->name,
                       size);
    if (!tl_elf_fits(source, offset, size))
        return truncated(source, "the interpreter name", tl_elf_end(offset, size), err);
    tl_status status = tl_elf_bytes(source, elf->interpreter, (size_t)size, offset, err);
    if (status != TL_OK)
        return status;
    if (elf->interpreter[size - 1] != '\0' || elf->interpreter[0] == '\0')
        return tl_fail(err, TL_EFORMAT, "%s: damaged: its interpreter name does not end; build or copy it again", source->name);
    return TL_OK;
}

static tl_status add_segment(const tl_elf_source *source, const uint8_t *phdr, tl_elf *elf, tl_error *err) {
    uint32_t flags = tl_get32(phdr + 4);
    tl_elf_segment segment = {
        .offset = tl_get64(phdr + 8),
        .vaddr = tl_get64(phdr + (source->is_physical ? 24 : 16)),
        .file_bytes = tl_get64(phdr + 32),
        .memory_bytes = tl_get64(phdr + 40),
        .prot = (uint8_t)((flags & 4 ? 1 : 0) | (flags & 2 ? 2 : 0) | (flags & 1 ? 4 : 0)),
    };
    uint64_t align = tl_get64(phdr + 48);
    if (segment.memory_bytes == 0)
        return TL_OK;
    if (elf->n_segments == TL_ELF_MAX_SEGMENTS)
        return tl_fail(err, TL_EFORMAT, "%s: more than %d loadable segments; link it with the default linker script", source->name,
                       TL_ELF_MAX_SEGMENTS);
    if (segment.file_bytes > segment.memory_bytes)
        return tl_fail(err, TL_EFORMAT, "%s: damaged: the segment at 0x%" PRIx64 " is larger in the file than in memory; build it again",
                       source->name, segment.vaddr);
    // Without bytes in the file, the offset says nothing.
    if (segment.file_bytes != 0 && !tl_elf_fits(source, segment.offset, segment.file_bytes))
        return truncated(source, "a segment", tl_elf_end(segment.offset, segment.file_bytes), err);
    if (source->is_physical) {
        if (elf->n_segments == 0 || segment.vaddr < elf->first_vaddr)
            elf->first_vaddr = segment.vaddr;
        if (tl_elf_end(segment.vaddr, segment.memory_bytes) > elf->end_vaddr)
            elf->end_vaddr = tl_elf_end(segment.vaddr, segment.memory_bytes);
        elf->segments[elf->n_segments++] = segment;
        return TL_OK;
    }
    if (segment.vaddr >= USER_END || segment.memory_bytes > USER_END - segment.vaddr)
        return tl_fail(err, TL_EFORMAT,
                       "%s: the segment at 0x%" PRIx64 " of 0x%" PRIx64 " bytes lies outside the %u-bit user address space", source->name,
                       segment.vaddr, segment.memory_bytes, 38u);
    if ((segment.vaddr ^ segment.offset) & (PAGE_BYTES - 1))
        return tl_fail(err, TL_EFORMAT, "%s: the segment at 0x%" PRIx64 " is not aligned to pages in the file; link it without -N or -n",
                       source->name, segment.vaddr);
    if (elf->n_segments > 0) {
        const tl_elf_segment *last = &elf->segments[elf->n_segments - 1];
        if (segment.vaddr < last->vaddr + last->memory_bytes)
            return tl_fail(err, TL_EFORMAT, "%s: damaged: the segments at 0x%" PRIx64 " and 0x%" PRIx64 " overlap; build it again",
                           source->name, last->vaddr, segment.vaddr);
    } else {
        elf->first_vaddr = segment.vaddr;
    }
    if ((align & (align - 1)) == 0 && align > elf->align_bytes && align <= (UINT64_C(1) << 30))
        elf->align_bytes = align;
    elf->end_vaddr = segment.vaddr + segment.memory_bytes;
    elf->segments[elf->n_segments++] = segment;
    return TL_OK;
}

tl_status tl_elf_read(const tl_elf_source *source, tl_elf *ret_elf, tl_error *err) {
    uint8_t header[TL_ELF_HEADER_BYTES] = {0};
    tl_elf elf = {.align_bytes = PAGE_BYTES};
    size_t n = source->size_bytes < sizeof header ? (size_t)source->size_bytes : sizeof header;
    tl_status status = tl_elf_bytes(source, header, n, 0, err);
    if (status != TL_OK)
        return status;
    if (n < sizeof header && n >= 4 && memcmp(header, "\177ELF", 4) == 0)
        return truncated(source, "the ELF header", sizeof header, err);
    status = check_header(source, header, err);
    if (status != TL_OK)
        return status;

    uint64_t phdrs = tl_get64(header + 32);
    uint16_t phdr_bytes = tl_get16(header + 54);
    elf.machine = tl_get16(header + 18);
    elf.entry = tl_get64(header + 24);
    elf.n_phdrs = tl_get16(header + 56);
    elf.is_relocatable = tl_get16(header + 16) == ET_DYN;
    if (elf.n_phdrs == 0 || phdr_bytes != TL_ELF_PHDR_BYTES || elf.n_phdrs > 1024)
        return tl_fail(err, TL_EFORMAT, "%s: %u program headers of %u bytes: nothing to load; " BUILD_IT, source->name, elf.n_phdrs,
                       phdr_bytes);
    if (!tl_elf_fits(source, phdrs, (uint64_t)elf.n_phdrs * TL_ELF_PHDR_BYTES))
        return truncated(source, "the program header table", tl_elf_end(phdrs, (uint64_t)elf.n_phdrs * TL_ELF_PHDR_BYTES), err);

    uint64_t stated_phdr_vaddr = 0;
    for (uint16_t i = 0; i < elf.n_phdrs; ++i) {
        uint8_t phdr[TL_ELF_PHDR_BYTES];
        status = tl_elf_bytes(source, phdr, sizeof phdr, phdrs + (uint64_t)i * sizeof phdr, err);
        if (status != TL_OK)
            return status;
        switch (tl_get32(phdr)) {
        case PT_LOAD: status = add_segment(source, phdr, &elf, err); break;
        case PT_INTERP: status = elf.interpreter[0] ? TL_OK : read_interpreter(source, phdr, &elf, err); break;
        case PT_PHDR: stated_phdr_vaddr = tl_get64(phdr + 16); break;
        case PT_GNU_STACK: elf.wants_executable_stack = tl_get32(phdr + 4) & 1; break;
        default: break;
        }
        if (status != TL_OK)
            return status;
    }
    if (elf.n_segments == 0)
        return tl_fail(err, TL_EFORMAT, "%s: no loadable segment; " BUILD_IT, source->name);
    if (elf.entry == 0 && !source->is_library)
        return tl_fail(err, TL_EFORMAT, "%s: %s; give a program, linked with an entry point", source->name,
                       elf.is_relocatable ? "shared library without an entry point" : "no entry point");
    // Where the kernel says the headers are: in the segment that holds their file offset.
    for (uint32_t i = 0; i < elf.n_segments && elf.phdr_vaddr == 0; ++i) {
        const tl_elf_segment *segment = &elf.segments[i];
        if (phdrs >= segment->offset && phdrs - segment->offset < segment->file_bytes)
            elf.phdr_vaddr = segment->vaddr + (phdrs - segment->offset);
    }
    if (elf.phdr_vaddr == 0)
        elf.phdr_vaddr = stated_phdr_vaddr;
    *ret_elf = elf;
    return TL_OK;
}
