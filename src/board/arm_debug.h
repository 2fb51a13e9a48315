// SPDX-License-Identifier: MIT
// The CoreSight components of the Arm board: a ROM table at 0xb000000, and for core n its debug
// registers at 0xb010000 + 0x100000 n and its cross-trigger interface 64 KiB behind, as a
// Cortex-A53 lays them out (DDI 0500, table 11-30).
#ifndef TL_BOARD_ARM_DEBUG_H
#define TL_BOARD_ARM_DEBUG_H

#include "board/board.h"

static const uint64_t TL_CORESIGHT_PADDR = 0xb000000, TL_CORESIGHT_STRIDE = 0x100000;
// From the area of a core; the first one stands behind the ROM table.
enum { TL_CORESIGHT_DEBUG = 0x10000, TL_CORESIGHT_CTI = 0x20000, TL_CORESIGHT_PMU = 0x30000, TL_CORESIGHT_ETM = 0x40000 };

typedef struct tl_arm_debug tl_arm_debug;
// Adds the devices to the board.
TL_MUST_CHECK tl_status tl_arm_debug_new(tl_board *board, tl_arm_debug **ret_debug, tl_error *err);
// Of tl_a64_host.
void tl_arm_debug_halted(tl_arm_debug *debug, tl_hart *h);
void tl_arm_debug_attend(tl_arm_debug *debug, tl_hart *h);
// The interrupt of the performance monitors of h is an input trigger, too (DDI 0487, H5.4).
void tl_arm_debug_pmu_overflow(tl_arm_debug *debug, const tl_hart *h, bool level);

extern const tl_board_debug tl_board_arm_debug;

#endif
