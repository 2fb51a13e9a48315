// SPDX-License-Identifier: MIT
// The board: the devices and their addresses, the routing of accesses, the ticks of devices, and
// the device tree.
#ifndef TL_SYSTEM_BOARD_H
#define TL_SYSTEM_BOARD_H

#include "board/system.h"
#include "dev/devices.h"
#include "model/bus.h"
#include "model/isa.h"
#include "model/pmu_tree.h"

enum { TL_MAX_DEVICES = 48, TL_CONSOLE_BYTES = 4096, TL_VIRTIO_SLOTS = 8 };
// The firmware's own memory, at the start of RAM. The kernel follows.
enum { TL_FIRMWARE_BYTES = 2 << 20 };
enum { TL_ARM_PHANDLE_GIC = 1 };

typedef struct tl_board tl_board;
struct tl_tree;

// A word of firmware that is part of the program.
typedef struct tl_firmware_word {
    uint32_t offset, bits; // bytes from the start of RAM
} tl_firmware_word;

// Debug logic of harts: its own breakpoints, and steps.
typedef struct tl_board_debug {
    // Where the hart must stop: at the host's breakpoints and its own.
    const tl_breaks *(*breaks)(tl_hart *h, const tl_breaks *host);
    // It stands where it stopped for a breakpoint. true: its own logic took that.
    bool (*at_break)(tl_hart *h);
    bool (*steps)(const tl_hart *h); // it must run one instruction at a time,
    bool (*attend)(tl_hart *h);      // and this is called around each. true: an event was taken
} tl_board_debug;

// The part of a board that rests on its instruction set: riscv.c, arm.c and the *_tree.c. Addresses
// and inputs are those of QEMU's `virt`.
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
    // The firmware for boots that name none: words, or else a file of a package.
    const tl_firmware_word *firmware;
    uint32_t n_firmware_words;
    const char *packaged_bios, *bios_package;
    // Bytes behind the start of RAM where firmware copies the device tree; 0: it does not.
    uint64_t tree_copy_offset;
    bool has_firmware_info; // firmware reads the record of OpenSBI's fw_dynamic
    // Firmware enters the kernel where its file says, else TL_FIRMWARE_BYTES behind the start of
    // RAM.
    bool enters_anywhere;
    // Image of Linux: bytes 0x38 to 0x3b, and the name of the architecture in the kernel's sources.
    struct {
        char magic[4];
        const char *architecture;
    } kernel;
    struct {
        const char *compatible, *console;
        uint32_t interrupt_parent; // phandle; 0: none
        void (*describe)(struct tl_tree *t, const tl_board *board);
    } tree;
    // Registers of hart `index` at the start.
    void (*enter)(const tl_system_entry *entry, tl_hart *h, uint32_t index);
    void (*woken)(tl_hart *h);   // its wait is over; NULL: nothing to do
    const tl_board_debug *debug; // NULL: there is none
    // Gives each address space a name of its own; NULL: it has one.
    void (*name_spaces)(tl_hart *h);
} tl_board_kind;
extern const tl_board_kind tl_board_riscv, tl_board_arm;
extern const tl_board_kind *const tl_board_kinds[TL_N_ISAS];

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
    uint32_t n_harts;                    // of the machine, those on the board
    uint32_t requester;                  // hart of the access under way
    const struct tl_system_entry *entry; // what every hart finds at the start
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
    uint32_t unsteady; // harts whose turns are to come one by one; the run loop clears it
    // A hart stands before a read that a device cannot answer yet; the run loop clears it.
    bool has_waited;
    bool has_finished, wants_reset;
    int32_t finish_status; // 0 is success
    bool has_firmware;     // else a bare program runs alone
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
static inline tl_device_place tl_board_place(tl_board *board, uint64_t paddr, uint32_t irq) {
    return (tl_device_place){.arena = board->arena, .host = &board->host, .base_paddr = paddr, .irq = irq};
}
// Something a device-like part of the board rests on has changed: it must be ticked before the hart
// under way goes on.
void tl_board_wake_from(tl_board *board, tl_device *device, tl_hart *h);

// Makes the devices in the machine's arena and hangs the bus into its memory system.
TL_MUST_CHECK tl_status tl_board_init(tl_board *board, tl_machine *machine, const tl_system_options *options, tl_error *err);
void tl_board_done(tl_board *board);
// tl_system_access.
bool tl_board_access(tl_board *board, uint64_t cycle, uint64_t paddr, bool is_write, uint32_t *value);
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
