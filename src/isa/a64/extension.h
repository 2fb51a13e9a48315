// SPDX-License-Identifier: MIT
// Which extension an instruction belongs to that this machine does not have.
#ifndef TL_ISA_A64_EXTENSION_H
#define TL_ISA_A64_EXTENSION_H

#include <stdint.h>

// "an instruction of SVE, ...": static text for the end of a sentence, or NULL: none that is known.
const char *tl_a64_extension_of(uint32_t insn);

#endif
