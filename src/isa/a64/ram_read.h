// SPDX-License-Identifier: MIT
// Direct access to internal memory of a Cortex-A53 (manual DDI 0500, sec. 6.7). An operation names
// a place in a RAM, and four data registers then hold the answer. EL3 alone has them. An operation
// changes nothing but the data registers.
#ifndef TL_ISA_A64_RAM_READ_H
#define TL_ISA_A64_RAM_READ_H

#include "isa/a64/hart.h"

typedef enum tl_a64_ram {
    TL_A64_RAM_L1D_TAG,
    TL_A64_RAM_L1I_TAG,
    TL_A64_RAM_L1D_DATA,
    TL_A64_RAM_L1I_DATA,
    TL_A64_RAM_TLB,
} tl_a64_ram;

// Writes the data registers 0 to 3. A place that does not exist reads as zeros.
void tl_a64_read_ram(const tl_hart *h, tl_a64_ram ram, uint32_t place, uint32_t ret_data[4]);

#endif
