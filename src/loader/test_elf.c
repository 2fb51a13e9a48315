// SPDX-License-Identifier: MIT
// A small ELF image is made in memory, then damaged one field at a time: each damage must be
// refused with a sentence, or be harmless.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "loader/elf.h"
#include "loader/elf_bytes.h"

enum { IMAGE_BYTES = 0x1400, INTERP_AT = 0x200, SYMTAB_AT = 0x400, STRTAB_AT = 0x500, SHDRS_AT = 0x600, TEXT_AT = 0x1000 };

typedef struct image {
    uint8_t bytes[IMAGE_BYTES];
    tl_elf_source source;
} image;

static int64_t read_image(void *ctx, void *to, size_t n, uint64_t offset) {
    const image *im = ctx;
    // Never asked for more than there is.
    assert_true(offset <= im->source.size_bytes && n <= im->source.size_bytes - offset);
    // Short reads are legal.
    size_t part = n > 100 ? 100 : n;
    memcpy(to, im->bytes + offset, part);
    return (int64_t)part;
}

static void put(image *im, size_t at, uint64_t value, size_t n) {
    for (size_t i = 0; i < n; ++i)
        im->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static void put_phdr(image *im, size_t index, uint32_t type, uint32_t flags, uint64_t offset, uint64_t vaddr, uint64_t file_bytes,
                     uint64_t memory_bytes) {
    size_t at = 64 + index * 56;
    put(im, at, type, 4);
    put(im, at + 4, flags, 4);
    put(im, at + 8, offset, 8);
    put(im, at + 16, vaddr, 8);
    put(im, at + 24, vaddr, 8);
    put(im, at + 32, file_bytes, 8);
    put(im, at + 40, memory_bytes, 8);
    put(im, at + 48, 0x1000, 8);
}

static void put_symbol(image *im, size_t index, uint32_t name, uint8_t info, uint64_t value, uint64_t size) {
    size_t at = SYMTAB_AT + index * 24;
    put(im, at, name, 4);
    put(im, at + 4, info, 1);
    put(im, at + 6, 1, 2);
    put(im, at + 8, value, 8);
    put(im, at + 16, size, 8);
}

static image *new_image(void) {
    static const char interpreter[] = "/lib/ld.so", names[] = "\0main\0helper\0$x\0start";
    image *im = calloc(1, sizeof *im);
    assert_non_null(im);
    im->source = (tl_elf_source){.name = "prog", .size_bytes = IMAGE_BYTES, .read = read_image, .ctx = im};
    memcpy(im->bytes, "\177ELF\2\1\1", 7);
    put(im, 16, 2, 2);        // ET_EXEC
    put(im, 18, 243, 2);      // EM_RISCV
    put(im, 24, 0x11010, 8);  // entry
    put(im, 32, 64, 8);       // program headers
    put(im, 40, SHDRS_AT, 8); // section headers
    put(im, 48, 5, 4);        // RVC, double-float ABI
    put(im, 54, 56, 2);
    put(im, 56, 4, 2);
    put(im, 58, 64, 2);
    put(im, 60, 3, 2);
    put_phdr(im, 0, 3, 4, INTERP_AT, 0x10200, sizeof interpreter, sizeof interpreter);
    put_phdr(im, 1, 1, 4, 0, 0x10000, 0x800, 0x800);
    put_phdr(im, 2, 1, 5, TEXT_AT, 0x11000, 0x400, 0x500);
    put_phdr(im, 3, 0x6474e551, 6, 0, 0, 0, 0);
    memcpy(im->bytes + INTERP_AT, interpreter, sizeof interpreter);
    memcpy(im->bytes + STRTAB_AT, names, sizeof names);
    put_symbol(im, 1, 1, 0x12, 0x11010, 0x20); // main, global function
    put_symbol(im, 2, 6, 0x02, 0x11030, 0);    // helper, local function without a size
    put_symbol(im, 3, 13, 0x00, 0x11010, 0);   // $x
    put_symbol(im, 4, 16, 0x00, 0x11000, 0);   // start, a label
    put(im, SHDRS_AT + 64 + 4, 2, 4);          // .symtab
    put(im, SHDRS_AT + 64 + 24, SYMTAB_AT, 8);
    put(im, SHDRS_AT + 64 + 32, 5 * 24, 8);
    put(im, SHDRS_AT + 64 + 40, 2, 4);
    put(im, SHDRS_AT + 64 + 56, 24, 8);
    put(im, SHDRS_AT + 128 + 4, 3, 4); // .strtab
    put(im, SHDRS_AT + 128 + 24, STRTAB_AT, 8);
    put(im, SHDRS_AT + 128 + 32, sizeof names, 8);
    return im;
}

static void assert_refused(image *im, const char *part_of_sentence) {
    tl_elf elf;
    tl_error err = {.status = TL_OK};
    assert_int_equal(tl_elf_read(&im->source, &elf, &err), TL_EFORMAT);
    if (!strstr(err.text, part_of_sentence))
        fail_msg("'%s' does not say '%s'", err.text, part_of_sentence);
    assert_memory_equal(err.text, "prog: ", 6);
    free(im);
}

static image *changed(size_t at, uint64_t value, size_t n) {
    image *im = new_image();
    put(im, at, value, n);
    return im;
}

static void test_a_sound_file_is_described(void **state) {
    (void)state;
    image *im = new_image();
    tl_elf elf;
    assert_int_equal(tl_elf_read(&im->source, &elf, NULL), TL_OK);
    assert_int_equal(elf.entry, 0x11010);
    assert_string_equal(elf.interpreter, "/lib/ld.so");
    assert_int_equal(elf.n_segments, 2);
    assert_int_equal(elf.first_vaddr, 0x10000);
    assert_int_equal(elf.end_vaddr, 0x11500);
    assert_int_equal(elf.phdr_vaddr, 0x10040);
    assert_int_equal(elf.segments[0].prot, 1);
    assert_int_equal(elf.segments[1].prot, 5);
    assert_int_equal(elf.machine, TL_ELF_RISCV);
    assert_false(elf.is_relocatable);
    assert_false(elf.wants_executable_stack);
    free(im);
}

static void test_what_is_not_our_kind_of_program_is_named(void **state) {
    (void)state;
    assert_refused(changed(0, 'x', 1), "not an ELF program");
    assert_refused(changed(18, 62, 2),
                   "x86-64 program; tally runs 64-bit RISC-V and AArch64 programs: build it with riscv64-linux-gnu-gcc");
    assert_refused(changed(18, 40, 2), "32-bit Arm (AArch32) program; tally runs 64-bit RISC-V and AArch64 programs");
    assert_refused(changed(18, 9999, 2), "machine 9999");
    assert_refused(changed(4, 1, 1), "32-bit");
    assert_refused(changed(5, 2, 1), "big-endian");
    assert_refused(changed(16, 1, 2), "relocatable object");
    assert_refused(changed(16, 4, 2), "core dump");
    assert_refused(changed(48, 8 | 5, 4), "RVE");
    assert_refused(changed(48, 7, 4), "quad float");
    assert_refused(changed(24, 0, 8), "no entry point");
}

// GNU ld writes an offset behind the end of the file when a program's only data is zero.
static void test_a_segment_without_bytes_may_lie_behind_the_file(void **state) {
    (void)state;
    enum { TEXT_PHDR = 64 + 2 * 56 };
    image *im = new_image();
    tl_elf elf;
    put(im, TEXT_PHDR + 8, 0x7f000, 8);
    put(im, TEXT_PHDR + 32, 0, 8);
    assert_int_equal(tl_elf_read(&im->source, &elf, NULL), TL_OK);
    assert_int_equal(elf.segments[1].file_bytes, 0);
    assert_int_equal(elf.segments[1].memory_bytes, 0x500);
    free(im);
}

static void test_offsets_and_sizes_are_doubted(void **state) {
    (void)state;
    const size_t load = 64 + 56 * 2;
    assert_refused(changed(32, UINT64_MAX - 3, 8), "truncated: the program header table");
    assert_refused(changed(56, 0, 2), "nothing to load");
    assert_refused(changed(56, 65535, 2), "program headers");
    assert_refused(changed(load + 8, UINT64_C(0xfffffffffffff000), 8), "truncated: a segment");
    assert_refused(changed(load + 32, 0x500, 8), "truncated: a segment");
    assert_refused(changed(load + 40, 0x3ff, 8), "larger in the file than in memory");
    assert_refused(changed(load + 16, UINT64_C(1) << 38, 8), "outside the 38-bit user address space");
    assert_refused(changed(load + 40, UINT64_MAX, 8), "outside the 38-bit user address space");
    assert_refused(changed(load + 16, 0x11010, 8), "not aligned to pages");
    assert_refused(changed(load + 16, 0x10000, 8), "overlap");
    assert_refused(changed(64 + 32, 1, 8), "interpreter name is 1 bytes");
    assert_refused(changed(64 + 32, UINT64_MAX, 8), "interpreter name");
    assert_refused(changed(64 + 8, IMAGE_BYTES - 4, 8), "truncated: the interpreter name");
    assert_refused(changed(INTERP_AT + 10, 'x', 1), "does not end");
}

static void test_every_truncation_is_refused_or_harmless(void **state) {
    (void)state;
    for (uint64_t size = 0; size < IMAGE_BYTES; ++size) {
        image *im = new_image();
        tl_elf elf;
        tl_error err = {.status = TL_OK};
        im->source.size_bytes = size;
        assert_int_equal(tl_elf_read(&im->source, &elf, &err), TL_EFORMAT);
        assert_non_null(strstr(err.text, size < 4 ? "not an ELF" : "truncated"));
        free(im);
    }
}

static void test_any_changed_byte_is_survived(void **state) {
    (void)state;
    for (size_t at = 0; at < 0x700; ++at)
        for (int value = 0; value < 256; value += 85) {
            image *im = changed(at, (uint64_t)value, 1);
            tl_symbols *symbols = NULL;
            uint64_t vaddr, offset;
            if (tl_symbols_new(&im->source, &symbols, NULL) == TL_OK) {
                if (tl_symbols_find(symbols, "main", &vaddr, NULL) == TL_OK)
                    vaddr = 0;
                (void)tl_symbols_at(symbols, 0x11014, &offset);
            }
            tl_symbols_free(symbols);
            free(im);
        }
}

static void test_functions_are_found_by_name_and_by_address(void **state) {
    (void)state;
    image *im = new_image();
    tl_symbols *symbols;
    uint64_t vaddr, offset;
    assert_int_equal(tl_symbols_new(&im->source, &symbols, NULL), TL_OK);
    assert_int_equal(tl_symbols_count(symbols), 3); // mapping symbols are none
    assert_int_equal(tl_symbols_find(symbols, "helper", &vaddr, NULL), TL_OK);
    assert_int_equal(vaddr, 0x11030);
    assert_string_equal(tl_symbols_at(symbols, 0x11014, &offset), "main");
    assert_int_equal(offset, 4);
    // A symbol without a size reaches on.
    assert_string_equal(tl_symbols_at(symbols, 0x11034, &offset), "helper");
    assert_null(tl_symbols_at(symbols, 0x10000, &offset));
    tl_symbols_free(symbols);
    free(im);
}

static void test_an_unknown_function_brings_the_nearest_names(void **state) {
    (void)state;
    image *im = new_image();
    tl_symbols *symbols;
    uint64_t vaddr;
    tl_error err;
    assert_int_equal(tl_symbols_new(&im->source, &symbols, NULL), TL_OK);
    assert_int_equal(tl_symbols_find(symbols, "helpe", &vaddr, &err), TL_ENOENT);
    assert_string_equal(err.text, "prog: no function 'helpe'; did you mean helper?");
    tl_symbols_free(symbols);
    put(im, 60, 0, 2); // no sections: stripped
    assert_int_equal(tl_symbols_new(&im->source, &symbols, NULL), TL_OK);
    assert_int_equal(tl_symbols_find(symbols, "main", &vaddr, &err), TL_ENOENT);
    assert_non_null(strstr(err.text, "0x..."));
    tl_symbols_free(symbols);
    free(im);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_sound_file_is_described),
    cmocka_unit_test(test_a_segment_without_bytes_may_lie_behind_the_file),
    cmocka_unit_test(test_what_is_not_our_kind_of_program_is_named),
    cmocka_unit_test(test_offsets_and_sizes_are_doubted),
    cmocka_unit_test(test_every_truncation_is_refused_or_harmless),
    cmocka_unit_test(test_any_changed_byte_is_survived),
    cmocka_unit_test(test_functions_are_found_by_name_and_by_address),
    cmocka_unit_test(test_an_unknown_function_brings_the_nearest_names),
};

TL_TEST_MAIN(tests)
