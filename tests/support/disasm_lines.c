// SPDX-License-Identifier: MIT
// Disassembles code from standard input, one line for each instruction: "address<TAB>text". Tests
// compare it with objdump.
//
//   disasm_lines [ADDRESS]       the address of the first byte, hexadecimal
#include <stdio.h>
#include <stdlib.h>

#include "isa/rv/insn.h"

int main(int argc, char **argv) {
    uint64_t pc = argc > 1 ? strtoull(argv[1], NULL, 16) : 0;
    uint8_t bytes[4];
    while (fread(bytes, 1, 2, stdin) == 2) {
        uint32_t bits = (uint32_t)(bytes[0] | bytes[1] << 8);
        if ((bits & 3) == 3) {
            if (fread(bytes + 2, 1, 2, stdin) != 2)
                break;
            bits |= (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        }
        tl_decoded insn;
        char text[128];
        tl_decode(bits, &insn);
        tl_disassemble(&insn, pc, NULL, NULL, text, sizeof(text));
        printf("%llx\t%s\n", (unsigned long long)pc, text);
        pc += insn.len;
    }
    return 0;
}
