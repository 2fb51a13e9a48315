// SPDX-License-Identifier: MIT
// The disassembler prints a mnemonic and operands, whose letters are in the row. A row of
// disasm_aliases.def goes before.
#include <stdio.h>

#include "base/bits.h"
#include "base/text.h"
#include "isa/rv/csr.h"
#include "isa/rv/insn.h"

static const char x_names[32][5] = {"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
                                    "a6",   "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
static const char f_names[32][5] = {"ft0", "ft1", "ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1", "fa0",
                                    "fa1", "fa2", "fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4", "fs5",
                                    "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
static const char rm_names[7][8] = {"rne", "rtz", "rdn", "rup", "rmm", "unknown", "unknown"};

typedef struct csr_name {
    uint16_t first, last;
    const char *format; // for one unsigned
    uint32_t index;     // of the first
} csr_name;
static const csr_name csr_names[] = {
#define CSR(number, name) {number, number, name, 0},
#define CSRS(first, last, format, index) {first, last, format, index},
#include "isa/rv/csr_names.def"
#undef CSR
#undef CSRS
};

int tl_csr_name(uint32_t csr, char *buffer, size_t size) {
    for (size_t i = 0; i < TL_COUNT_OF(csr_names); i++) {
        const csr_name *name = &csr_names[i];
        if (csr < name->first || csr > name->last)
            continue;
        const char *number = strstr(name->format, "%u");
        if (number == NULL)
            return snprintf(buffer, size, "%s", name->format);
        return snprintf(buffer, size, "%.*s%u%s", (int)(number - name->format), name->format, name->index + csr - name->first, number + 2);
    }
    return snprintf(buffer, size, "0x%x", csr);
}

static void put_fence_set(tl_text *t, uint32_t set) {
    tl_text_addf(t, "%s%s%s%s%s", set & 8 ? "i" : "", set & 4 ? "o" : "", set & 2 ? "r" : "", set & 1 ? "w" : "",
                 set == 0 ? "unknown" : "");
}

static void put_target(tl_text *t, uint64_t address, tl_symbol_fn *symbol, void *ctx) {
    tl_text_addf(t, "%llx", (unsigned long long)address);
    char name[256] = "";
    if (symbol != NULL)
        symbol(ctx, address, name, sizeof(name));
    if (name[0] != '\0')
        tl_text_addf(t, " %s", name);
}

static void put_operands(tl_text *t, const tl_decoded *insn, const char *operands, uint64_t pc, tl_symbol_fn *symbol, void *ctx) {
    char name[32];
    if (operands[0] != '\0')
        tl_text_addf(t, "\t");
    for (const char *operand = operands; *operand != '\0'; operand++) {
        if (operand[0] == ',' && operand[1] == 'm') { // the comma goes with the rounding mode
            if (insn->rm != 7)
                tl_text_addf(t, ",%s", rm_names[insn->rm]);
            operand++;
            continue;
        }
        switch (*operand) {
        case 'd': tl_text_addf(t, "%s", x_names[insn->rd]); break;
        case 's': tl_text_addf(t, "%s", x_names[insn->rs1]); break;
        case 't': tl_text_addf(t, "%s", x_names[insn->rs2]); break;
        case 'D': tl_text_addf(t, "%s", f_names[insn->rd]); break;
        case 'S': tl_text_addf(t, "%s", f_names[insn->rs1]); break;
        case 'T': tl_text_addf(t, "%s", f_names[insn->rs2]); break;
        case 'R': tl_text_addf(t, "%s", f_names[insn->rs3]); break;
        case 'i':
        case 'o':
        case 'q': tl_text_addf(t, "%d", insn->imm); break;
        case 'h': tl_text_addf(t, "0x%x", (uint32_t)insn->imm); break;
        case 'u': tl_text_addf(t, "0x%x", (uint32_t)insn->imm >> 12); break;
        case 'b':
        case 'j': put_target(t, pc + (uint64_t)(int64_t)insn->imm, symbol, ctx); break;
        case 'c':
            tl_csr_name((uint32_t)insn->imm, name, sizeof(name));
            tl_text_addf(t, "%s", name);
            break;
        case 'z': tl_text_addf(t, "%u", insn->rs1); break;
        case 'f':
            put_fence_set(t, (uint32_t)insn->imm >> 4 & 15);
            tl_text_addf(t, ",");
            put_fence_set(t, (uint32_t)insn->imm & 15);
            break;
        default: tl_text_addf(t, "%c", *operand); break;
        }
    }
}

typedef struct alias {
    bool is_found;
    const char *mnemonic, *operands; // mnemonic NULL: not to be printed as an instruction
} alias;

static alias find_alias(const tl_decoded *insn) {
    const uint32_t rd = insn->rd, rs1 = insn->rs1, rs2 = insn->rs2, rm = insn->rm;
    const int32_t imm = insn->imm;
    const int rvc = insn->rvc - 1;
#define ALIAS(id, mnemonic, operands, condition) \
    if (insn->opc == TL_OPC_##id && (condition)) \
        return (alias){true, mnemonic, operands};
#include "isa/rv/disasm_aliases.def"
#undef ALIAS
    return (alias){false, NULL, NULL};
}

int tl_disassemble(const tl_decoded *insn, uint64_t pc, tl_symbol_fn *symbol, void *ctx, char *buffer, size_t size) {
    static const char ordering[4][6] = {"", ".rl", ".aq", ".aqrl"};
    const tl_insn_row *row = &tl_insn_rows[insn->opc];
    const char *mnemonic = row->mnemonic, *operands = tl_format_operands[row->format];
    tl_text t = {buffer, size, 0};
    const alias found = find_alias(insn);
    if (found.is_found) {
        mnemonic = found.mnemonic;
        operands = found.operands;
    }
    if (insn->opc == TL_OPC_ILLEGAL && insn->raw == 0) {
        tl_text_addf(&t, "unimp");
    } else if (insn->opc == TL_OPC_ILLEGAL || mnemonic == NULL) {
        tl_text_addf(&t, ".%ubyte\t0x%x", insn->len, insn->raw);
    } else {
        tl_text_addf(&t, "%s", mnemonic);
        if (row->format == TL_FORMAT_AMO || row->format == TL_FORMAT_LR)
            tl_text_addf(&t, "%s", ordering[insn->rm & 3]);
        put_operands(&t, insn, operands, pc, symbol, ctx);
    }
    return (int)t.n_bytes;
}
