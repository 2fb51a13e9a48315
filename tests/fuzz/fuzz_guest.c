// SPDX-License-Identifier: MIT
// Any bytes as the code of a RISC-V program: guest.h.
#include "guest.h"

// s1 = where the input begins, s0 = a0 = a1 = the middle of the data, a2 = 64.
static const uint32_t prologue[] = {
    0x00000497, // auipc s1, 0
    0x01848493, // addi  s1, s1, 24
    0x00028437, // lui   s0, 0x28
    0x00040513, // mv    a0, s0
    0x00040593, // mv    a1, s0
    0x04000613, // li    a2, 64
};

static const guest_kind kind_of_guest = {
    .elf_machine = EM_RISCV,
    .elf_flags = 5, // compressed instructions, double-precision arguments
    .prologue = prologue,
    .n_prologue = sizeof prologue / sizeof *prologue,
    .machine = "rocket",
    .small_machine = "tiny",
    .is_translated = true,
};
