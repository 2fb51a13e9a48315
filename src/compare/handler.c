// SPDX-License-Identifier: MIT
// Entering and leaving a trap handler; see handler.h.
#include "compare/handler.h"

#include "isa/rv/arch.h"

enum { CSR_SSCRATCH = 0x140, CSR_SEPC = 0x141, CSR_MSCRATCH = 0x340, CSR_MEPC = 0x341 };

static void swap_sp(tl_assembler *a, tl_priv mode) { tl_asm_csrrw(a, TL_SP, mode == TL_PRIV_M ? CSR_MSCRATCH : CSR_SSCRATCH, TL_SP); }

void tl_handler_enter(tl_assembler *a, tl_priv mode, uint32_t last) {
    swap_sp(a, mode);
    for (uint32_t i = TL_T0; i <= last; i++)
        tl_asm_sd(a, i, TL_SP, 8 * (int32_t)i);
}

void tl_handler_skip_call(tl_assembler *a, tl_priv mode) {
    uint32_t epc = mode == TL_PRIV_M ? CSR_MEPC : CSR_SEPC;
    tl_asm_csrr(a, TL_T0, epc);
    tl_asm_addi(a, TL_T0, TL_T0, 4);
    tl_asm_csrw(a, epc, TL_T0);
}

void tl_handler_leave(tl_assembler *a, tl_priv mode, uint32_t last) {
    for (uint32_t i = TL_T0; i <= last; i++)
        tl_asm_ld(a, i, TL_SP, 8 * (int32_t)i);
    swap_sp(a, mode);
    if (mode == TL_PRIV_M)
        tl_asm_mret(a);
    else
        tl_asm_sret(a);
}
