// SPDX-License-Identifier: MIT
// Any bytes as the code of an AArch64 program: guest.h.
#include "guest.h"

// x9 = where the input begins, x19 = x0 = x1 = the middle of the data, x2 = 64.
static const uint32_t prologue[] = {
    0xd2a00053, // movz x19, #2, lsl #16
    0xf2900013, // movk x19, #0x8000
    0xaa1303e0, // mov  x0, x19
    0xaa1303e1, // mov  x1, x19
    0xd2800802, // mov  x2, #64
    0x10000029, // adr  x9, .+4
};

static const guest_kind kind_of_guest = {
    .elf_machine = EM_AARCH64,
    .prologue = prologue,
    .n_prologue = sizeof prologue / sizeof *prologue,
    .machine = "a53",
    .small_machine = "a53",
    .small = {"l1i.size=512", "l1i.ways=1", "l1d.size=512", "l1d.ways=2", "l2.size=8KiB", "l2.ways=4", "dtlb.entries=4", "dtlb.ways=4"},
};
