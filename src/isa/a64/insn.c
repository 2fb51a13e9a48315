// SPDX-License-Identifier: MIT
// Facts of one decoded instruction for the rest of the machine: registers for the scoreboard, ends
// of fetch runs, the executable form, the static share of tallies. They follow from the row: the
// operands of its format, class and size.
#include "isa/a64/insn.h"

#include "base/bits.h"
#include "isa/a64/sysop.h"
#include "model/bpred.h"

// Numbers of the scoreboard: x0 to x30, flags, v0 to v31. The stack pointer has none, because only
// instructions of one cycle write it.
enum { FLAGS = 31, FP_REGS = 32 };

enum { READS_DEST = 1 << 0, READS_DEST_OF_2 = 1 << 1, READS_FLAGS = 1 << 2, WRITES_FLAGS = 1 << 3 };
static const uint8_t also[TL_A64_N_OPCS] = {
#define ALSO(id, what) [TL_A64_OPC_##id] = what,
#include "isa/a64/insn_also.def"
#undef ALSO
};

static bool is_load(const tl_a64_row *row) { return row->cls == TL_CLASS_LOAD || row->cls == TL_CLASS_FP_LOAD || row->cls == TL_CLASS_LR; }

// One register that a format names: its field, its file, and whether it is written.
typedef struct operand {
    char field; // d n m s a t
    bool is_general, is_sp, is_written, is_table;
} operand;

// Words of formats that hold a register. e: element, of 4 or 5 bits; l: lists, loaded or stored.
static const struct {
    const char *word;
    operand operand;
} words[] = {
    {"{index}", {.field = 'm', .is_general = true}},
    {"{extend}", {.field = 'm', .is_general = true}},
    {"{after}", {.field = 'm', .is_general = true}},
    {"{gen5}", {.field = 'n', .is_general = true}},
    {"{elem5}", {.field = 'n'}},
    {"{elem4}", {.field = 'n'}},
    {"{table}", {.field = 'n', .is_table = true}},
    {"{elem}", {.field = 'e'}},
    {"{elemf}", {.field = 'm'}},
    {"{dest5}", {.field = 'd', .is_written = true}},
    {"{scalar5}", {.field = 'd', .is_written = true}},
    {"{list}", {.field = 't'}},
    {"{lane}", {.field = 't'}},
};

// Steps through the registers of a format; false: no more. *at begins at the text of the operands.
static bool next_operand(const char **at, const tl_a64_row *row, operand *ret_operand) {
    for (const char *c = *at; *c != '\0'; c++) {
        operand found = {.field = '\0'};
        const char *end = c + 2;
        if (*c == '{') {
            end = strchr(c, '}') + 1;
            for (size_t i = 0; i < TL_COUNT_OF(words) && found.field == '\0'; i++)
                if (strncmp(words[i].word, c, (size_t)(end - c)) == 0)
                    found = words[i].operand;
        } else if (*c >= 'A' && *c <= 'Z') {
            found = (operand){.field = c[1], .is_general = *c == 'R' || *c == 'W' || *c == 'X', .is_sp = c[2] == 'S'};
            end += found.is_sp;
        } else if (*c != '.') { // of a shape, one letter
            continue;
        }
        if (found.field != '\0') {
            const bool is_read_register = row->format == TL_A64_FORMAT_MRS || row->format == TL_A64_FORMAT_SYSL;
            found.is_written = found.field == 'd' || found.field == 's' || ((found.field == 't' || found.field == 'a') && is_load(row)) ||
                               (found.field == 't' && is_read_register);
            *ret_operand = found;
            *at = end;
            return true;
        }
        c = end - 1;
    }
    return false;
}

static uint8_t field_of(const tl_a64_decoded *insn, char field) {
    switch (field) {
    case 'd':
    case 't': return insn->rd;
    case 'n': return insn->rn;
    case 'a': return insn->ra;
    case 'e': return (insn->raw >> 22 & 3) == 1 ? insn->rm & 15 : insn->rm;
    default: return insn->rm; // m, s
    }
}

typedef struct registers { // of one instruction, in order
    uint8_t reads[8], writes[6];
    uint32_t n_reads, n_writes;
} registers;

static void add_register(registers *r, uint8_t number, bool is_read, bool is_written) {
    if (is_read)
        r->reads[r->n_reads++] = number;
    if (is_written)
        r->writes[r->n_writes++] = number;
}

// Vector registers of a list, consecutive modulo 32.
static uint32_t list_length(const tl_a64_decoded *insn, const tl_a64_row *row) {
    static const uint8_t counts[16] = {[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
    switch (row->format) {
    case TL_A64_FORMAT_LIST:
    case TL_A64_FORMAT_LIST_POST:
    case TL_A64_FORMAT_LISTN:
    case TL_A64_FORMAT_LISTN_POST: return counts[insn->raw >> 12 & 15];
    case TL_A64_FORMAT_LANE:
    case TL_A64_FORMAT_LANE_POST:
    case TL_A64_FORMAT_REP:
    case TL_A64_FORMAT_REP_POST: return 1 + (insn->raw >> 21 & 1) + 2 * (insn->raw >> 13 & 1);
    default: return 1;
    }
}

static registers registers_of(const tl_a64_decoded *insn) {
    const tl_a64_row *row = &tl_a64_rows[insn->opc];
    const uint8_t more = also[insn->opc];
    const bool keeps = more & READS_DEST || (more & READS_DEST_OF_2 && insn->raw >> 30 & 1);
    registers r = {.n_reads = 0};
    operand it;
    for (const char *at = tl_a64_format_operands[row->format]; next_operand(&at, row, &it);) {
        const uint8_t reg = field_of(insn, it.field);
        if (it.is_general && reg != 31)
            add_register(&r, reg, !it.is_written || keeps, it.is_written);
        if (it.is_general)
            continue;
        const uint32_t n = it.field == 't' ? list_length(insn, row) : it.is_table ? 1 + (insn->raw >> 13 & 3) : 1;
        for (uint32_t i = 0; i < n; i++)
            add_register(&r, (uint8_t)(FP_REGS + (reg + i) % FP_REGS), !it.is_written || keeps, it.is_written);
    }
    if (more & (READS_FLAGS | WRITES_FLAGS))
        add_register(&r, FLAGS, more & READS_FLAGS, more & WRITES_FLAGS);
    return r;
}

void tl_a64_pipe(const tl_a64_decoded *insn, tl_pipe_insn *ret_pipe) {
    const tl_a64_row *row = &tl_a64_rows[insn->opc];
    tl_pipe_insn pipe = {
        .cls = (tl_class)row->cls, .size_bytes = row->size_bytes, .src = {TL_NO_REG, TL_NO_REG, TL_NO_REG}, .dest = TL_NO_REG};
    const registers r = registers_of(insn);
    for (uint32_t i = 0; i < r.n_reads; i++) {
        if (i < TL_COUNT_OF(pipe.src))
            pipe.src[i] = r.reads[i];
        else
            pipe.also_reads |= UINT64_C(1) << r.reads[i];
    }
    for (uint32_t i = 0; i < r.n_writes; i++) {
        if (i == 0)
            pipe.dest = r.writes[i];
        else
            pipe.also_writes |= UINT64_C(1) << r.writes[i];
    }
    *ret_pipe = pipe;
}

static bool is_wait(const tl_a64_decoded *insn) { return insn->opc == TL_A64_OPC_hint && tl_a64_is_wait(insn->raw); }

bool tl_a64_ends_run(const tl_a64_decoded *insn) { return tl_class_ends_run((tl_class)tl_a64_rows[insn->opc].cls) || is_wait(insn); }

bool tl_a64_is_private(const tl_a64_decoded *insn) {
    return insn->opc != TL_A64_OPC_UNDEFINED && tl_class_is_private((tl_class)tl_a64_rows[insn->opc].cls) && insn->opc != TL_A64_OPC_hint;
}

// C4.1: loads and stores with V set, and the data processing of SIMD and floating point.
bool tl_a64_is_fp(const tl_a64_decoded *insn) { return insn->opc != TL_A64_OPC_UNDEFINED && (insn->raw >> 26 & 3) == 3; }

// tl_op.imm of a logical immediate. 32 bits: the pattern. 64 bits: ones less 1, rotation, log2 of
// the element's size. tl_a64_pattern makes the pattern of these.
static int32_t logical_operand(uint32_t raw) {
    if (!(raw >> 31))
        return (int32_t)tl_a64_bit_mask(raw, false);
    const uint32_t n = raw >> 22 & 1, immr = raw >> 16 & 63, imms = raw >> 10 & 63;
    const uint32_t size_log2 = 31 - (uint32_t)__builtin_clz(n << 6 | (~imms & 63)), within = (1u << size_log2) - 1;
    return (int32_t)((imms & within) | (immr & within) << 6 | size_log2 << 12);
}

void tl_a64_op_from_decoded(const tl_a64_decoded *insn, tl_op *ret_op) {
    const tl_a64_row *row = &tl_a64_rows[insn->opc];
    tl_op op = *ret_op;
    op.imm = insn->opc == TL_A64_OPC_UNDEFINED ? (int32_t)insn->raw : insn->imm;
    op.rd = insn->rd;
    op.rn = insn->rn;
    op.rm = insn->rm;
    op.ra = insn->ra;
    operand it;
    for (const char *at = tl_a64_format_operands[row->format]; next_operand(&at, row, &it);) {
        if (!it.is_general || field_of(insn, it.field) != 31)
            continue;
        const uint8_t index = it.is_sp ? TL_A64_SP : it.is_written ? TL_A64_SINK : TL_A64_ZERO;
        switch (it.field) {
        case 'd':
        case 't': op.rd = index; break;
        case 'n': op.rn = index; break;
        case 'a': op.ra = index; break;
        default: op.rm = index; break;
        }
    }
    switch (row->format) {
    // Operand rm is the number of the bit.
    case TL_A64_FORMAT_TBZ: op.rm = (uint8_t)(insn->raw >> 31 << 5 | (insn->raw >> 19 & 31)); break;
    case TL_A64_FORMAT_MRS:
    case TL_A64_FORMAT_MSR: op.ra = insn->rd; break; // as it stands
    case TL_A64_FORMAT_LOGI:
    case TL_A64_FORMAT_LOGSI: op.imm = logical_operand(insn->raw); break;
    case TL_A64_FORMAT_BITF: {
        // The field moves up by rm bits to the top, and down by ra bits to its place.
        const uint8_t bits = insn->raw >> 31 ? 64 : 32, immr = (uint8_t)(insn->imm & 63), imms = (uint8_t)(insn->imm >> 6);
        op.rm = (uint8_t)(bits - 1 - imms);
        op.ra = (uint8_t)(imms >= immr ? op.rm + immr : immr - 1 - imms);
        break;
    }
    default: break;
    }
    *ret_op = op;
}

tl_a64_accesses tl_a64_accesses_of(const tl_a64_decoded *insn) {
    const tl_a64_row *row = &tl_a64_rows[insn->opc];
    const uint32_t raw = insn->raw;
    switch (row->format) {
    case TL_A64_FORMAT_LIST:
    case TL_A64_FORMAT_LIST_POST:
    case TL_A64_FORMAT_LISTN:
    case TL_A64_FORMAT_LISTN_POST: {
        const uint32_t n_bytes = list_length(insn, row) * (raw >> 30 & 1 ? 16u : 8u);
        return (tl_a64_accesses){n_bytes / 8, n_bytes};
    }
    case TL_A64_FORMAT_LANE:
    case TL_A64_FORMAT_LANE_POST:
    case TL_A64_FORMAT_REP:
    case TL_A64_FORMAT_REP_POST: {
        const uint32_t n = list_length(insn, row), scale = raw >> 14 & 3;
        const uint32_t size = scale == 3 ? raw >> 10 & 3 : scale == 2 && (raw >> 10 & 1) ? 3 : scale;
        return (tl_a64_accesses){n, n << size};
    }
    case TL_A64_FORMAT_STXP_W:
    case TL_A64_FORMAT_LDXP_W: return (tl_a64_accesses){1, 8};
    default: break;
    }
    const bool is_pair =
        strncmp(tl_a64_format_operands[row->format], "{", 1) != 0 && strstr(tl_a64_format_operands[row->format], "a, [") != NULL;
    const uint32_t n_bytes = is_pair ? 2u * row->size_bytes : row->size_bytes;
    return (tl_a64_accesses){n_bytes > 8 ? n_bytes / 8 : is_pair ? 2 : 1, n_bytes};
}

uint32_t tl_a64_static_counts(const tl_a64_decoded *insn, tl_static_count ret_counts[TL_MAX_STATIC]) {
    const tl_a64_row *row = &tl_a64_rows[insn->opc];
    tl_static_list list = {.counts = ret_counts, .n = 0};
    if (insn->opc == TL_A64_OPC_UNDEFINED)
        return 0; // never retires
    tl_static_add(&list, TL_S_HART_INSN_ALU + row->cls, 1u);
    tl_static_add(&list, TL_S_HART_CYC_ISSUE, 1);
    const tl_a64_accesses accesses = tl_a64_accesses_of(insn);
    switch ((tl_class)row->cls) {
    case TL_CLASS_LOAD:
    case TL_CLASS_FP_LOAD:
    case TL_CLASS_LR:
        tl_static_add(&list, TL_S_HART_LOAD_BYTES, accesses.bytes);
        tl_static_add(&list, TL_S_L1D_LOAD, accesses.n);
        tl_static_add(&list, TL_S_DTLB_ACCESS, accesses.n);
        break;
    case TL_CLASS_STORE:
    case TL_CLASS_FP_STORE:
        tl_static_add(&list, TL_S_HART_STORE_BYTES, accesses.bytes);
        tl_static_add(&list, TL_S_L1D_STORE, accesses.n);
        tl_static_add(&list, TL_S_DTLB_ACCESS, accesses.n);
        break;
    case TL_CLASS_SC: // whether it stores is known only then: mem/ counts that
        tl_static_add(&list, TL_S_DTLB_ACCESS, 1);
        break;
    case TL_CLASS_BRANCH: tl_static_add(&list, TL_S_BP_COND, 1); break;
    case TL_CLASS_JAL:
        tl_static_add(&list, TL_S_BP_DIRECT, 1);
        if (insn->opc == TL_A64_OPC_bl) {
            tl_static_add(&list, TL_S_HART_CALL, 1);
            tl_static_add(&list, TL_S_BP_RAS_PUSH, 1);
        }
        break;
    case TL_CLASS_JALR:
        if (insn->opc == TL_A64_OPC_ret) {
            tl_static_add(&list, TL_S_HART_RETURN, 1);
            tl_static_add(&list, TL_S_BP_RETURN, 1);
            tl_static_add(&list, TL_S_BP_RAS_POP, 1);
        } else {
            tl_static_add(&list, TL_S_BP_INDIRECT, 1);
        }
        if (insn->opc == TL_A64_OPC_blr) {
            tl_static_add(&list, TL_S_HART_CALL, 1);
            tl_static_add(&list, TL_S_BP_RAS_PUSH, 1);
        }
        break;
    case TL_CLASS_CSR:
        if (insn->opc == TL_A64_OPC_msr)
            tl_static_add(&list, TL_S_HART_FLUSH_CSR, 1);
        if (insn->opc == TL_A64_OPC_sys && tl_bits(insn->raw, 5, 14) == TL_A64_DC_ZVA) {
            tl_static_add(&list, TL_S_HART_STORE_BYTES, TL_A64_ZVA_BYTES);
            tl_static_add(&list, TL_S_L1D_STORE, TL_A64_ZVA_BYTES / 8);
            tl_static_add(&list, TL_S_DTLB_ACCESS, TL_A64_ZVA_BYTES / 8);
        }
        break;
    case TL_CLASS_FENCE_I:
    case TL_CLASS_SYSTEM: tl_static_add(&list, TL_S_HART_FLUSH_OTHER, 1); break;
    default: break;
    }
    return list.n;
}
