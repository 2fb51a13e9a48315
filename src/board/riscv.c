// SPDX-License-Identifier: MIT
// The RISC-V board: board.h has its addresses.
#include "board/board.h"
#include "dev/devices.h"
#include "isa/rv/hart.h"

static tl_status make_devices(tl_board *board, tl_error *err) {
    tl_device_place clint = {board->arena, &board->host, TL_CLINT_PADDR, 0, 0}, plic = {board->arena, &board->host, TL_PLIC_PADDR, 0, 0};
    tl_device_place uart = {board->arena, &board->host, TL_UART_PADDR, TL_IRQ_UART, 0},
                    rtc = {board->arena, &board->host, TL_RTC_PADDR, TL_IRQ_RTC, 0};
    tl_device_place finisher = {board->arena, &board->host, TL_FINISHER_PADDR, 0, 0};
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
    .has_tree = true,
    .enter = enter,
};
