// SPDX-License-Identifier: MIT
// Operand vectors for every row of insn_all.def that computes something. Two programs share them:
// vectors_guest.c executes each case on a RISC-V machine, vectors_host.c through the bodies of
// isa/rv. Both print one line for each instruction and rounding mode: a name, the number of cases
// and a hash over all results. Equal output means equal behavior. A new row is covered without a
// change here.
//
//   PROGRAM [CASES [NAME]]    CASES for each instruction and mode
//
// With NAME, every case of lines whose name begins with NAME is printed.
#ifndef TL_TESTS_ISA_VECTORS_H
#define TL_TESTS_ISA_VECTORS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vectors_random.h"

#define INSN_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// The instruction stands at VECTORS_PC. The next one sets x28, which is 0 before, to 1. A taken
// branch of 8 leaves it 0.
static const uint64_t VECTORS_PC = 0x40000100, VECTORS_DATA = 0x50000000;
enum { VECTORS_DATA_BYTES = 128, RD = 13, RS1 = 10, RS2 = 11, RS3 = 12 };

typedef struct vector_case {
    uint64_t operand[3]; // in x10..x12 and f10..f12
    uint64_t fcsr;
    uint64_t data; // memory is filled with this
} vector_case;
typedef struct vector_result {
    uint64_t x, f; // x13, f13; 0 before
    uint64_t fflags;
    uint64_t not_taken;
    uint64_t data; // hash of memory
    bool is_illegal;
} vector_result;

// The including program provides it: executes `word` on all cases.
static void execute(uint32_t word, const vector_case *cases, vector_result *ret_results, size_t n);

typedef enum vector_format {
#define FORMAT(id, operands) VF_##id,
#include "isa/rv/insn_formats.def"
#undef FORMAT
} vector_format;
typedef struct vector_row {
    const char *id, *name;
    uint32_t match;
    vector_format format;
    uint32_t size_bytes;
} vector_row;
static const vector_row vector_rows[] = {
#define INSN(id, mnemonic, match, mask, format, cls, size_bytes) {#id, mnemonic, match, VF_##format, size_bytes},
#include "isa/rv/insn_all.def"
#undef INSN
};

static uint64_t random_float(bool is_double) {
    const unsigned fraction_bits = is_double ? 52 : 23, exponent_max = is_double ? 0x7ff : 0xff, bias = exponent_max / 2;
    const uint64_t all = (UINT64_C(1) << fraction_bits) - 1;
    uint64_t fraction = 0, exponent = 0;
    switch (random_below(4)) {
    case 0: break;
    case 1: fraction = random_bits() & all; break;
    case 2: fraction = random_runs() & all; break;
    default:
        fraction = random_bits() >> 60 << (fraction_bits - 4);
        fraction ^= random_below(4) ? random_below(8) : all - random_below(8);
        break;
    }
    fraction &= all;
    switch (random_below(8)) {
    case 0: exponent = random_below(2) ? 0 : exponent_max; break; // zero, subnormal, infinity, NaN
    case 1: exponent = random_bits() & exponent_max; break;
    case 2: exponent = random_below(fraction_bits + 4); break;    // sums and quotients get tiny
    case 3: exponent = exponent_max - 1 - random_below(6); break; // overflow
    case 4: exponent = bias / 2 + random_below(60); break;        // products get tiny
    case 5: exponent = bias + bias / 2 + random_below(4); break;  // products overflow
    case 6: exponent = bias + 60 - random_below(70); break;       // the range of integers
    default: exponent = bias + 3 - random_below(6); break;        // cancellation
    }
    if (exponent == exponent_max && random_below(2))
        fraction = 0;
    const uint64_t sign = random_bits() >> 63;
    if (is_double)
        return sign << 63 | exponent << 52 | fraction;
    // Sometimes it is no box.
    const uint64_t box = random_below(32) ? UINT64_C(0xffffffff00000000) : random_bits() << 32;
    return box | sign << 31 | exponent << 23 | fraction;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static size_t n_cases = 2000;
static const char *verbose;

// `frm` < 0: a random valid one in fcsr for each case.
static void run_word(const vector_row *row, const char *suffix, uint32_t word, int32_t imm, int frm, size_t n) {
    enum { BATCH = 512 };
    static vector_case cases[BATCH];
    static vector_result results[BATCH];
    char name[64];
    snprintf(name, sizeof(name), "%s%s", row->id, suffix);
    random_state = UINT64_C(88172645463325252) ^ word * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = 0, n_illegal = 0;
    const bool sources_are_double = row->size_bytes == 8 ? strcmp(row->id, "fcvt_d_s") != 0 : strcmp(row->id, "fcvt_s_d") == 0;
    for (size_t done = 0; done < n; done += BATCH) {
        const size_t batch = n - done < BATCH ? n - done : BATCH;
        for (size_t i = 0; i < batch; i++) {
            vector_case *c = &cases[i];
            memset(c, 0, sizeof(*c));
            for (unsigned k = 0; k < 3; k++) {
                switch (row->format) {
                case VF_FMA:
                case VF_FFFM:
                case VF_FFM:
                case VF_FFF:
                case VF_XFF:
                case VF_XFM:
                case VF_XF: c->operand[k] = random_float(sources_are_double); break;
                case VF_FSTORE: c->operand[k] = random_below(2) ? random_bits() : random_float(true); break;
                default: c->operand[k] = random_integer(); break;
                }
            }
            // Products with 1 have sums that nearly cancel.
            if (row->format == VF_FMA && random_below(4) == 0) {
                const uint64_t from = random_below(2);
                c->operand[2] = c->operand[from] ^ random_below(4) << (sources_are_double ? 62 : 30);
            }
            if (random_below(16) == 0)
                c->operand[1] = c->operand[0];
            const uint64_t align = row->size_bytes == 0 ? 1 : row->size_bytes;
            switch (row->format) {
            case VF_L:
            case VF_S:
            case VF_FLOAD:
            case VF_FSTORE: c->operand[0] = VECTORS_DATA + 16 + random_below(64) - (uint64_t)(int64_t)imm; break;
            case VF_AMO:
            case VF_LR: c->operand[0] = VECTORS_DATA + 16 + random_below(64) / align * align; break;
            default: break;
            }
            // QEMU 7.2 looks at the upper word, too, when the lower one is 0.
            if (strcmp(row->id, "ctzw") == 0)
                c->operand[0] |= UINT64_C(1) << random_below(32);
            c->fcsr = (uint64_t)(frm >= 0 ? frm : (int)random_below(5)) << 5;
            c->fcsr |= random_below(8) ? 0 : random_below(32);
            c->data = random_integer();
        }
        execute(word, cases, results, batch);
        for (size_t i = 0; i < batch; i++) {
            const vector_result *r = &results[i];
            hash = mix(mix(mix(hash, r->x), r->f), r->fflags << 2 | r->not_taken << 1 | r->is_illegal);
            hash = mix(hash, r->data);
            n_illegal += r->is_illegal;
            if (verbose && strncmp(name, verbose, strlen(verbose)) == 0)
                printf("%s %08" PRIx32 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " fcsr %02" PRIx64 " -> x %016" PRIx64
                       " f %016" PRIx64 " fflags %02" PRIx64 " not_taken %" PRIu64 " data %016" PRIx64 "%s\n",
                       name, word, cases[i].operand[0], cases[i].operand[1], cases[i].operand[2], cases[i].data, cases[i].fcsr, r->x, r->f,
                       r->fflags, r->not_taken, r->data, r->is_illegal ? " illegal" : "");
        }
    }
    if (!verbose)
        printf("%-20s %8zu cases %6" PRIu64 " illegal %016" PRIx64 "\n", name, n, n_illegal, hash);
}

static void run_row(const vector_row *row) {
    const uint32_t word = row->match | RS1 << 15 | RD << 7;
    char suffix[32];
    switch (row->format) {
    case VF_FMA:
    case VF_FFFM:
    case VF_FFM:
    case VF_XFM:
    case VF_FXM:
        for (uint32_t rm = 0; rm < 8; rm++) {
            const uint32_t operands = row->format == VF_FMA ? RS2 << 20 | (uint32_t)RS3 << 27 : row->format == VF_FFFM ? RS2 << 20 : 0;
            for (int frm = rm < 7 ? -1 : 0; frm < (rm < 7 ? 0 : 8); frm++) {
                const bool is_reserved = rm == 5 || rm == 6 || frm > 4;
                snprintf(suffix, sizeof(suffix), frm < 0 ? ".%u" : ".%u.%d", rm, frm);
                run_word(row, suffix, word | operands | rm << 12, 0, frm, is_reserved ? 8 : n_cases);
            }
        }
        break;
    case VF_R:
    case VF_FFF:
    case VF_XFF: run_word(row, "", word | RS2 << 20, 0, -1, n_cases); break;
    case VF_UNARY:
    case VF_XF:
    case VF_FX: run_word(row, "", word, 0, -1, n_cases); break;
    case VF_AMO:
        if (strncmp(row->id, "sc_", 3) == 0)
            break; // whether it stores depends on history: guest programs do that
        run_word(row, "", word | RS2 << 20, 0, -1, n_cases);
        run_word(row, ".aqrl", word | RS2 << 20 | 3 << 25, 0, -1, n_cases / 8);
        break;
    case VF_LR: run_word(row, "", word, 0, -1, n_cases); break;
    case VF_SHIFT:
        for (uint32_t shift = 0; shift < 64; shift++) {
            if (shift >= 32 && ((row->match & 0x7f) == 0x1b) && strcmp(row->id, "slli_uw") != 0)
                break;
            snprintf(suffix, sizeof(suffix), ".%u", shift);
            run_word(row, suffix, word | shift << 20, (int32_t)shift, -1, n_cases / 16);
        }
        break;
    case VF_I:
    case VF_L:
    case VF_FLOAD:
        for (int i = 0; i < 16; i++) {
            static const int32_t special[] = {0, 1, -1, 2047, -2048};
            random_state = (uint64_t)i + 1;
            const int32_t imm = i < 5 ? special[i] : (int32_t)random_below(4096) - 2048;
            snprintf(suffix, sizeof(suffix), ".%d", imm);
            run_word(row, suffix, word | (uint32_t)imm << 20, imm, -1, n_cases / 8);
        }
        break;
    case VF_S:
    case VF_FSTORE:
        for (int i = 0; i < 16; i++) {
            random_state = (uint64_t)i + 1;
            const int32_t imm = i == 0 ? 0 : (int32_t)random_below(4096) - 2048;
            const uint32_t bits = (uint32_t)imm & 0xfff;
            snprintf(suffix, sizeof(suffix), ".%d", imm);
            run_word(row, suffix, row->match | RS1 << 15 | RS2 << 20 | (bits >> 5) << 25 | (bits & 31) << 7, imm, -1, n_cases / 8);
        }
        break;
    case VF_U:
        for (uint32_t i = 0; i < 64; i++) {
            random_state = i + 1;
            const uint32_t imm = i < 2 ? i << 19 : (uint32_t)random_below(1 << 20);
            snprintf(suffix, sizeof(suffix), ".%x", imm);
            run_word(row, suffix, row->match | RD << 7 | imm << 12, 0, -1, 1);
        }
        break;
    // The branch goes to pc + 8.
    case VF_B: run_word(row, "", row->match | RS1 << 15 | RS2 << 20 | 8 << 7, 8, -1, n_cases); break;
    case VF_FENCE:
        for (uint32_t i = 0; i < 0x1000; i += 0x33)
            run_word(row, "", row->match | i << 20, 0, -1, 1);
        break;
    // It is illegal in user mode.
    case VF_SFENCE: run_word(row, "", row->match | RS1 << 15 | RS2 << 20, 0, -1, 1); break;
    case VF_NONE:
        if (strcmp(row->id, "ecall") != 0 && strcmp(row->id, "ebreak") != 0)
            run_word(row, "", row->match, 0, -1, 1);
        break;
    case VF_J: // the front-ends' own
    case VF_JALR:
    case VF_CSR: // guest programs do these: what they return is the machine's business
    case VF_CSRI: break;
    }
}

static void run_all(int argc, char **argv) {
    if (argc > 1)
        n_cases = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        verbose = argv[2];
    for (size_t i = 0; i < INSN_COUNT_OF(vector_rows); i++)
        run_row(&vector_rows[i]);
}

static uint64_t hash_data(const uint8_t *data) {
    uint64_t hash = 0;
    for (size_t i = 0; i < VECTORS_DATA_BYTES; i += 8) {
        uint64_t value;
        memcpy(&value, data + i, 8);
        hash = mix(hash, value);
    }
    return hash;
}
static void fill_data(uint8_t *data, uint64_t seed) {
    for (size_t i = 0; i < VECTORS_DATA_BYTES; i += 8) {
        const uint64_t value = seed ^ i * UINT64_C(0x9e3779b97f4a7c15);
        memcpy(data + i, &value, 8);
    }
}

#endif
