// SPDX-License-Identifier: MIT
// The power controller of the Arm board's cores, at 0x90c0000. QEMU's board lacks it. Firmware
// writes the number of a core:
//
//   0x0  OFF       the core loses power as soon as it waits (WFI, WFE)
//   0x4  OFF_WAKE  likewise, and an interrupt of the core gives it power again
//   0x8  ON        the core gets power and is reset; or its request to lose power is withdrawn
//   0xc  STATUS    reads as a bit for each core that has power
//
// Registers have 32 bits. Non-secure accesses read 0 and write nothing. EDPRCR of a core keeps its
// power, gives it power, and resets it (docs/aarch64-debug.md). The debug power domain is always
// on.
#ifndef TL_BOARD_ARM_POWER_H
#define TL_BOARD_ARM_POWER_H

#include "board/board.h"

static const uint64_t TL_ARM_POWER_PADDR = 0x90c0000;

typedef struct tl_arm_power tl_arm_power;
// Adds the device to the board.
TL_MUST_CHECK tl_status tl_arm_power_new(tl_board *board, tl_arm_power **ret_power, tl_error *err);
// The device that drives the interrupts of the timers of cores. It ticks behind the controller.
void tl_arm_power_set_timers(tl_arm_power *power, tl_device *timers);
// The hart waits, and a request to lose power rests on that.
void tl_arm_power_waits(tl_arm_power *power, tl_hart *h);
// EDPRCR of a core was written.
void tl_arm_power_requested(tl_arm_power *power);
// An interrupt ends the wait of a hart that has no power.
void tl_arm_power_woken(tl_arm_power *power, tl_hart *h);
// The hart stands between two instructions, and EDPRCR.CWRR asks for its reset.
void tl_arm_power_reset(tl_arm_power *power, tl_hart *h);

#endif
