// SPDX-License-Identifier: MIT
// The board: which devices stand where, who answers an access, when a device wants to be asked again, and the device tree that says so.
#ifndef TL_SYSTEM_BOARD_H
#define TL_SYSTEM_BOARD_H

#include "model/bus.h"
#include "system/system.h"

enum { TL_MAX_DEVICES = 24 };

typedef struct tl_board {
    tl_machine *machine;
    tl_arena *arena;
    tl_device_host host;
    tl_bus bus;
    tl_device *devices[TL_MAX_DEVICES];
    uint64_t next_tick[TL_MAX_DEVICES]; // cycle, UINT64_MAX: only when woken
    uint32_t n_devices;
    uint64_t next_event; // the least of next_tick
    uint64_t now_cycles; // of the access or tick under way
    bool has_finished, wants_reset;
    int32_t finish_status;
    tl_device *interrupt_controller;
    // console
    int console_in, console_out;
} tl_board;

// Makes the devices in the machine's arena and hangs the bus into its memory system.
TL_MUST_CHECK tl_status tl_board_init(tl_board *board, tl_machine *machine, const tl_system_options *options, tl_error *err);
void tl_board_done(tl_board *board);
// Everything that is due at `cycle` happens; then board->next_event says when next.
void tl_board_tick(tl_board *board, uint64_t cycle);
// Writes the flattened tree of machine, board and options into ret_bytes; TL_EINVAL: does not fit.
typedef struct tl_initrd_range {
    uint64_t start, end; // equal: none
} tl_initrd_range;
TL_MUST_CHECK tl_status tl_board_device_tree(const tl_board *board, const char *append, tl_initrd_range initrd, uint8_t *ret_bytes,
                                             size_t size, tl_error *err);

#endif
