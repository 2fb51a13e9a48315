// SPDX-License-Identifier: MIT
// Any bytes as code. Each instruction decodes to fields that encode back to the original bits. It
// can be printed, scheduled, counted and executed, on fuzzed registers and a memory that accepts
// everything. Input: 32 register values, then code.
#include <stdio.h>
#include <stdlib.h>

#include "isa/rv/fp.h"
#include "isa/rv/insn.h"

#define FUZZ_FAULT TL_CAUSE_LOAD_PAGE
#include "accepting_port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The bits of a full instruction from its fields; the opposite of the decoder, written from the
// manual's figures.
static uint32_t encode(const tl_decoded *insn) {
    const tl_insn_row *row = &tl_insn_rows[insn->opc];
    const uint32_t rd = (uint32_t)insn->rd << 7, rs1 = (uint32_t)insn->rs1 << 15, rs2 = (uint32_t)insn->rs2 << 20;
    const uint32_t rs3 = (uint32_t)insn->rs3 << 27, rm = (uint32_t)insn->rm << 12, imm = (uint32_t)insn->imm;
    switch ((tl_format)row->format) {
    case TL_FORMAT_S:
    case TL_FORMAT_FSTORE: return row->match | rs1 | rs2 | (imm >> 5 & 0x7f) << 25 | (imm & 31) << 7;
    case TL_FORMAT_B:
        return row->match | rs1 | rs2 | (imm >> 12 & 1) << 31 | (imm >> 5 & 0x3f) << 25 | (imm >> 1 & 15) << 8 | (imm >> 11 & 1) << 7;
    case TL_FORMAT_J:
        return row->match | rd | (imm >> 20 & 1) << 31 | (imm >> 1 & 0x3ff) << 21 | (imm >> 11 & 1) << 20 | (imm >> 12 & 0xff) << 12;
    case TL_FORMAT_U: return row->match | rd | imm;
    case TL_FORMAT_AMO:
    case TL_FORMAT_LR: return row->match | rd | rs1 | rs2 | (uint32_t)insn->rm << 25;
    case TL_FORMAT_I:
    case TL_FORMAT_L:
    case TL_FORMAT_JALR:
    case TL_FORMAT_FLOAD:
    case TL_FORMAT_SHIFT:
    case TL_FORMAT_CSR:
    case TL_FORMAT_CSRI:
    case TL_FORMAT_FENCE: return row->match | rd | rs1 | imm << 20;
    default: return row->match | rd | rs1 | rs2 | rs3 | rm;
    }
}

static void run(tl_hart *h, const tl_decoded *insn, uint64_t pc) {
    tl_op op = {0};
    tl_fp_saved saved;
    tl_op_from_decoded(insn, &op);
    check(op.rd <= 32 && op.rs1 < 32 && op.rs2 < 32);
    if (tl_taken[insn->opc] != NULL)
        tl_taken[insn->opc](h, &op);
    if (tl_exec_full[insn->opc] == NULL)
        return;
    tl_fp_enter(h, &saved);
    const bool is_done = tl_exec_full[insn->opc](h, &op, pc);
    tl_fp_leave(h, &saved);
    check(is_done || h->trap_cause != TL_CAUSE_ILLEGAL || h->trap_value == insn->raw);
    check(tl_rv(h)->x[0] == 0 && tl_rv(h)->fflags < 32 && tl_rv(h)->frm < 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const tl_config config = {.clock_hz = 1000000000};
    tl_hart *h = calloc(1, sizeof(tl_rv_hart));
    uint64_t registers[32] = {0};
    if (h == NULL || size < sizeof(registers)) {
        free(h);
        return 0;
    }
    memcpy(registers, data, sizeof(registers));
    use_accepting_port(h, &config);
    for (uint32_t i = 0; i < 32; i++)
        tl_rv(h)->x[i] = tl_rv(h)->f[i] = i == 0 ? 0 : registers[i];

    for (size_t at = sizeof(registers); at + 2 <= size;) {
        uint32_t bits = (uint32_t)(data[at] | data[at + 1] << 8);
        if ((bits & 3) == 3) {
            if (at + 4 > size)
                break;
            bits |= (uint32_t)data[at + 2] << 16 | (uint32_t)data[at + 3] << 24;
        }
        tl_decoded insn, again;
        tl_decode(bits, &insn);
        check(insn.len == ((bits & 3) == 3 ? 4 : 2) && insn.raw == bits && insn.opc < TL_N_OPCS);
        if (insn.opc != TL_OPC_ILLEGAL) { // a compressed one encodes to the full one it stands for
            const uint32_t full = encode(&insn);
            const bool has_ignored_bits = insn.opc == TL_OPC_fence || insn.opc == TL_OPC_fence_i;
            check(insn.len == 2 || full == bits || has_ignored_bits);
            tl_decode(full, &again);
            check(again.opc == insn.opc && again.rd == insn.rd && again.rs1 == insn.rs1 && again.rs2 == insn.rs2 && again.rs3 == insn.rs3 &&
                  again.rm == insn.rm && again.imm == insn.imm);
        }

        char text[128];
        const int length = tl_disassemble(&insn, at, NULL, NULL, text, sizeof(text));
        check(length > 0 && (size_t)length < sizeof(text) && text[length] == '\0');
        check(insn.opc != TL_OPC_ILLEGAL || text[0] == '.' || strcmp(text, "unimp") == 0);

        tl_pipe_insn pipe;
        tl_static_count counts[TL_MAX_STATIC];
        tl_insn_pipe(&insn, &pipe);
        check(pipe.dest <= TL_NO_REG && pipe.src[0] <= TL_NO_REG && pipe.src[1] <= TL_NO_REG && pipe.src[2] <= TL_NO_REG);
        check(tl_insn_static(&insn, counts) <= TL_MAX_STATIC);
        run(h, &insn, at);
        at += insn.len;
    }
    free(h);
    return 0;
}
