// SPDX-License-Identifier: MIT
// The board: the devices and their addresses, the routing of accesses, the ticks of devices, and
// the device tree.
#ifndef TL_SYSTEM_BOARD_H
#define TL_SYSTEM_BOARD_H

#include "board/system.h"
#include "model/bus.h"
#include "model/isa.h"
#include "model/pmu_tree.h"

enum { TL_MAX_DEVICES = 24, TL_CONSOLE_BYTES = 4096, TL_VIRTIO_SLOTS = 8 };

typedef struct tl_board tl_board;

// The part of a board that rests on its instruction set: riscv.c, arm.c. Addresses and inputs are
// those of QEMU's `virt`.
typedef struct tl_board_kind {
    const tl_isa *isa;
    const char *isa_name; // in a sentence: "RV64"
    // Makes all devices but virtio and the windows of PMUs, the interrupt controller first.
    tl_status (*make_devices)(tl_board *board, tl_error *err);
    // Sets an input of the interrupt controller.
    void (*set_source)(tl_device *controller, uint32_t source, bool level);
    uint32_t n_sources;
    uint64_t virtio_paddr, virtio_stride;
    uint32_t virtio_first_source;
    uint64_t window_paddr;               // of a read window; 0: the board has no place for one
    uint64_t message_irqs;               // lines by which a hart interrupts another
    bool (*is_secure)(const tl_hart *h); // NULL: no hart ever is
    bool has_tree;                       // tl_board_device_tree describes it
    // Registers of hart `index` at the start.
    void (*enter)(const tl_system_entry *entry, tl_hart *h, uint32_t index);
    void (*woken)(tl_hart *h); // its wait is over; NULL: nothing to do
} tl_board_kind;
extern const tl_board_kind tl_board_riscv, tl_board_arm;

// QEMU's RISC-V virt board (system.h).
static const uint64_t TL_FINISHER_PADDR = 0x100000, TL_RTC_PADDR = 0x101000, TL_CLINT_PADDR = 0x2000000, TL_PLIC_PADDR = 0xc000000,
                      TL_UART_PADDR = 0x10000000, TL_VIRTIO_PADDR = 0x10001000, TL_VIRTIO_STRIDE = 0x1000, TL_READ_WINDOW_PADDR = 0x7000000;
// 2024-01-01 00:00:00 UTC, as for programs in user mode.
static const uint64_t TL_POWER_ON_S = UINT64_C(1704067200);
// Inputs of the interrupt controller.
enum { TL_IRQ_VIRTIO_FIRST = 1, TL_IRQ_UART = 10, TL_IRQ_RTC = 11 };

struct tl_board {
    const tl_board_kind *kind;
    tl_machine *machine;
    uint32_t n_harts;   // of the machine, those on the board
    uint32_t requester; // hart of the access under way
    tl_arena *arena;
    tl_device_host host;
    tl_bus bus;
    tl_device *devices[TL_MAX_DEVICES];
    uint64_t next_tick[TL_MAX_DEVICES]; // cycle; UINT64_MAX: no tick before an access
    uint32_t n_devices;
    uint32_t last_device; // the device of the last access
    uint64_t next_event;  // the least of next_tick; later than the cycle of the tick before
    uint64_t now_cycles;  // of the access or tick under way
    // A hart in WFI was woken, so the run loop must choose a hart again; the run loop clears it.
    bool has_woken;
    // A hart stands before a read that a device cannot answer yet; the run loop clears it.
    bool has_waited;
    bool has_finished, wants_reset;
    int32_t finish_status; // 0 is success
    tl_device *interrupt_controller;
    uint64_t sources[5];       // levels of the interrupt controller's inputs
    uint64_t *interrupt_tally; // dma.interrupt
    // The harts' PMU in the device tree; NULL: none. Set before the tree is made.
    const tl_pmu_tree *pmu;
    // console
    int console_in, console_out; // -1: none, or no more
    uint8_t console[TL_CONSOLE_BYTES];
    // to console_out, or put_console
    bool has_written;
    void (*put_console)(void *ctx, const uint8_t *bytes, size_t n); // NULL: console_out
    void *put_ctx;
    size_t n_console; // written by the guest, not yet to console_out
};

// The place of the next device, and whether its constructor has filled it.
static inline tl_device **tl_board_next_device(tl_board *board) { return &board->devices[board->n_devices]; }
bool tl_board_has_added(tl_board *board, tl_status status);
// Something a device-like part of the board rests on has changed: it must be ticked before the hart
// under way goes on.
void tl_board_wake_from(tl_board *board, tl_device *device, tl_hart *h);

// Makes the devices in the machine's arena and hangs the bus into its memory system.
TL_MUST_CHECK tl_status tl_board_init(tl_board *board, tl_machine *machine, const tl_system_options *options, tl_error *err);
void tl_board_done(tl_board *board);
// Ticks every device that is due at `cycle`, sets board->next_event and writes the guest's output
// to console_out.
void tl_board_tick(tl_board *board, uint64_t cycle);
// Writes the flattened tree of machine, board and options into ret_bytes; TL_EINVAL: does not fit.
typedef struct tl_initrd_range {
    uint64_t start, end; // equal: none
} tl_initrd_range;
TL_MUST_CHECK tl_status tl_board_device_tree(const tl_board *board, const char *append, tl_initrd_range initrd, uint8_t *ret_bytes,
                                             size_t size, tl_error *err);

#endif
