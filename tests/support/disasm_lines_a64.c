// SPDX-License-Identifier: MIT
// Disassembles A64 code from standard input, one line for each instruction: "address<TAB>text".
// Tests compare it with objdump.
//
//   disasm_lines_a64 [ADDRESS]       the address of the first byte, hexadecimal
#include <stdio.h>
#include <stdlib.h>

#include "isa/a64/insn.h"

int main(int argc, char **argv) {
    uint64_t pc = argc > 1 ? strtoull(argv[1], NULL, 16) : 0;
    uint8_t bytes[4];
    for (; fread(bytes, 1, 4, stdin) == 4; pc += 4) {
        tl_a64_decoded insn;
        char text[256];
        tl_a64_decode((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24, &insn);
        tl_a64_disassemble(&insn, pc, NULL, NULL, text, sizeof(text));
        printf("%llx\t%s\n", (unsigned long long)pc, text);
    }
    return 0;
}
