// SPDX-License-Identifier: MIT
// The flattened device tree for firmware and kernels: the nodes that all boards have. Row `tree` of
// the board's kind describes the rest.
#include <libfdt.h>
#include <string.h>

#include "board/tree.h"

enum { SEED_BYTES = 32 };

// The seed of the kernel's random generator, equal in every run of a machine.
static void random_seed(tl_tree *t, uint64_t seed) {
    uint8_t value[SEED_BYTES];
    for (uint32_t i = 0; i < SEED_BYTES; i += 8) { // splitmix64
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        memcpy(value + i, &z, 8);
    }
    tl_tree_bytes(t, "rng-seed", value, sizeof value);
}

static void chosen(tl_tree *t, const tl_board *board, const char *append, tl_initrd_range initrd) {
    tl_tree_begin(t, "chosen");
    tl_tree_text(t, "bootargs", append ? append : "");
    tl_tree_text(t, "stdout-path", board->kind->tree.console);
    if (initrd.end > initrd.start) {
        tl_tree_number64(t, "linux,initrd-start", initrd.start);
        tl_tree_number64(t, "linux,initrd-end", initrd.end);
    }
    random_seed(t, board->machine->config.seed);
    tl_tree_end(t);
}

tl_status tl_board_device_tree(const tl_board *board, const char *append, tl_initrd_range initrd, uint8_t *ret_bytes, size_t size,
                               tl_error *err) {
    const tl_config *config = &board->machine->config;
    tl_tree t = {.fdt = ret_bytes};
    tl_tree_note(&t, fdt_create(t.fdt, size > INT32_MAX ? INT32_MAX : (int)size));
    tl_tree_note(&t, t.error ? t.error : fdt_finish_reservemap(t.fdt));
    tl_tree_begin(&t, "");
    tl_tree_number(&t, "#address-cells", 2);
    tl_tree_number(&t, "#size-cells", 2);
    tl_tree_text(&t, "compatible", board->kind->tree.compatible);
    tl_tree_text(&t, "model", "tally,virt");
    if (board->kind->tree.interrupt_parent)
        tl_tree_number(&t, "interrupt-parent", board->kind->tree.interrupt_parent);
    chosen(&t, board, append, initrd);
    tl_tree_begin_at(&t, "memory", TL_RAM_BASE_PADDR);
    tl_tree_text(&t, "device_type", "memory");
    tl_tree_reg(&t, TL_RAM_BASE_PADDR, config->ram_bytes);
    tl_tree_end(&t);
    board->kind->tree.describe(&t, board);
    tl_tree_end(&t);
    tl_tree_note(&t, t.error ? t.error : fdt_finish(t.fdt));
    if (t.error == -FDT_ERR_NOSPACE)
        return tl_fail(err, TL_EINVAL, "the device tree does not fit into %zu bytes; use a shorter kernel command line (it has %zu bytes)",
                       size, append ? strlen(append) : (size_t)0);
    if (t.error)
        return tl_fail(err, TL_EINVAL, "the device tree cannot be written: %s; this is a defect of tally, please report it",
                       fdt_strerror(t.error));
    return TL_OK;
}
