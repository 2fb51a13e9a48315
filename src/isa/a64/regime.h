// SPDX-License-Identifier: MIT
// Translation of VMSAv8-64, stage 1 (D5). The regime follows from SCTLR, TCR, CPACR and the
// exception level. A walk without time and counts gives the status of a fault for a syndrome.
#ifndef TL_ISA_A64_REGIME_H
#define TL_ISA_A64_REGIME_H

#include "isa/a64/hart.h"

// Recomputes h->regime and what else in tl_a64_system follows from registers and exception level.
void tl_a64_regime_changed(tl_hart *h);
// A register that the regime rests on was written and had the value `old`: drops translations that
// it makes wrong, and recomputes.
void tl_a64_regime_written(tl_hart *h, uint32_t reg, uint64_t old);
// h->priv is another exception level now.
void tl_a64_el_changed(tl_hart *h, uint32_t old_el);

// tl_a64_asid returns 8 bits of `asid` while TCR_EL1.AS is 0, and 16 bits otherwise.
// tl_a64_el1_world returns the tag of translations of EL1 and EL0, which SCR_EL3.NS chooses.
// `reg` is tl_a64_system.reg.
uint16_t tl_a64_asid(const uint64_t *reg, uint16_t asid);
uint8_t tl_a64_el1_world(const uint64_t *reg);

// The address without its tag (D5.1.3), as the levels below EL3 and EL3 see it.
uint64_t tl_a64_untag_for(const tl_hart *h, uint32_t el, uint64_t vaddr);

// A translation without side effects, time or counts.
typedef struct tl_a64_translation {
    uint64_t paddr;
    uint8_t status;     // TL_A64_FSC_*: on success as if permission were asked and given, 0xff
    uint8_t attributes; // the byte of MAIR_ELx; 0 where nothing is translated
    uint8_t shareability;
    bool is_non_secure;
} tl_a64_translation;
enum { TL_A64_NO_FAULT = 0xff };
// Translates for an access of this exception level. Returns whether there was no fault.
bool tl_a64_translate(const tl_hart *h, uint32_t el, uint64_t vaddr, tl_access access, tl_a64_translation *ret);

#endif
