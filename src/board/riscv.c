// SPDX-License-Identifier: MIT
// The RISC-V board: board.h has its addresses.
#include "board/tree.h"
#include "dev/devices.h"
#include "isa/rv/hart.h"

static tl_status make_devices(tl_board *board, tl_error *err) {
    tl_device_place clint = tl_board_place(board, TL_CLINT_PADDR, 0), plic = tl_board_place(board, TL_PLIC_PADDR, 0);
    tl_device_place uart = tl_board_place(board, TL_UART_PADDR, TL_IRQ_UART), rtc = tl_board_place(board, TL_RTC_PADDR, TL_IRQ_RTC);
    tl_device_place finisher = tl_board_place(board, TL_FINISHER_PADDR, 0);
    const uint32_t n_harts = board->n_harts;
    tl_status status;
    if (!tl_board_has_added(board, status = tl_plic_new(&plic, n_harts, tl_board_next_device(board), err)) ||
        !tl_board_has_added(board, status = tl_clint_new(&clint, n_harts, tl_board_next_device(board), err)) ||
        !tl_board_has_added(board, status = tl_uart_new(&uart, tl_board_next_device(board), err)) ||
        !tl_board_has_added(board, status = tl_rtc_new(&rtc, TL_POWER_ON_S, tl_board_next_device(board), err)) ||
        !tl_board_has_added(board, status = tl_finisher_new(&finisher, tl_board_next_device(board), err)))
        return status;
    return TL_OK;
}

static void enter(const tl_system_entry *entry, tl_hart *h, uint32_t index) {
    h->pc = entry->pc;
    tl_rv(h)->x[10] = index;
    tl_rv(h)->x[11] = entry->device_tree;
    tl_rv(h)->x[12] = entry->firmware_info;
}

// The root's page alone would name a space, and kernels use such a page again.
static void name_spaces(tl_hart *h) { tl_rv(h)->asid_bits = 16; }

const tl_board_kind tl_board_riscv = {
    .isa = &tl_isa_rv64,
    .isa_name = "RV64",
    .make_devices = make_devices,
    .set_source = tl_plic_set_source,
    .n_sources = TL_PLIC_SOURCES,
    .virtio_paddr = TL_VIRTIO_PADDR,
    .virtio_stride = TL_VIRTIO_STRIDE,
    .virtio_first_source = TL_IRQ_VIRTIO_FIRST,
    .window_paddr = TL_READ_WINDOW_PADDR,
    .message_irqs = UINT64_C(1) << TL_IRQ_MSI,
    .packaged_bios = "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_jump.elf",
    .bios_package = "opensbi",
    .tree_copy_offset = 34 << 20, // of fw_jump
    .has_firmware_info = true,
    .kernel = {"RSC\x05", "riscv"},
    .tree = {.compatible = "riscv-virtio", .console = "/soc/serial@10000000", .describe = tl_tree_riscv},
    .enter = enter,
    .name_spaces = name_spaces,
};
