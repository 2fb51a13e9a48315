// SPDX-License-Identifier: MIT
// Any words as A64 code. Each word has the row that a search of all rows finds. It can be printed,
// scheduled, counted and executed at every exception level, on fuzzed registers and a memory that
// accepts everything. Input: 34 register values, 4 bytes of FPCR, a byte of choices, then words.
#include <stdio.h>

#include "isa/a64/extension.h"
#include "isa/a64/fp.h"
#include "isa/a64/insn.h"
#include "isa/a64/regime.h"
#include "isa/a64/sysreg.h"

#define FUZZ_FAULT TL_A64_CAUSE_LOAD_PAGE
#include "accepting_port.h"

enum { N_VALUES = 34, CHOOSE_LEVEL = 3, CHOOSE_ALIGNED = 4, CHOOSE_PRIVILEGED = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t find_row(uint32_t bits) {
    uint32_t found = TL_A64_OPC_UNDEFINED;
    for (uint32_t opc = 1; opc < TL_A64_N_OPCS; opc++)
        if (tl_a64_row_has((tl_a64_opc)opc, bits)) {
            check(found == TL_A64_OPC_UNDEFINED);
            found = opc;
        }
    return found;
}

static void look_at(const tl_a64_decoded *insn, uint64_t pc) {
    char text[160];
    const int length = tl_a64_disassemble(insn, pc, NULL, NULL, text, sizeof text);
    check(length > 0 && (size_t)length < sizeof text && text[length] == '\0');

    tl_pipe_insn pipe;
    tl_static_count counts[TL_MAX_STATIC];
    tl_a64_pipe(insn, &pipe);
    check(pipe.dest <= TL_NO_REG);
    for (size_t i = 0; i < sizeof pipe.src / sizeof pipe.src[0]; i++)
        check(pipe.src[i] <= TL_NO_REG);
    check(tl_a64_static_counts(insn, counts) <= TL_MAX_STATIC);
    const tl_a64_accesses accesses = tl_a64_accesses_of(insn);
    check(accesses.bytes <= 64 && accesses.n <= 64);
    (void)tl_a64_extension_of(insn->raw);
}

static void run(tl_hart *h, const tl_a64_decoded *insn, uint64_t pc) {
    tl_op op = {0};
    tl_a64_op_from_decoded(insn, &op);
    h->pc = pc;
    h->now += 1;
    if (tl_a64_taken[insn->opc])
        tl_a64_taken[insn->opc](h, &op);
    if (!tl_a64_exec_full[insn->opc])
        return;
    if (tl_a64_exec_full[insn->opc](h, &op, pc) && h->has_after) {
        const uint32_t old_level = h->priv;
        tl_hart_retired(h);
        tl_a64_el_changed(h, old_level);
    }
    tl_a64(h)->x[TL_A64_SINK] = 0;
    check(tl_a64(h)->x[TL_A64_ZERO] == 0 && tl_a64(h)->nzcv < 16 && (tl_a64(h)->fpcr & ~TL_A64_FPCR_BITS) == 0);
    check(h->priv != TL_A64_EL2 && h->priv <= TL_A64_EL3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const tl_config config = {.clock_hz = 1000000000, .isa = TL_ISA_AARCH64};
    static const tl_priv levels[] = {TL_A64_EL0, TL_A64_EL1, TL_A64_EL3, TL_A64_EL0};
    uint64_t values[N_VALUES];
    uint32_t fpcr;
    uint64_t tallies[TL_S_N_CELLS] = {0};
    if (size < sizeof values + sizeof fpcr + 1)
        return 0;
    tl_hart *h = aligned_alloc(_Alignof(tl_a64_hart), sizeof(tl_a64_hart));
    check(h != NULL);
    memset(h, 0, sizeof(tl_a64_hart));
    memcpy(values, data, sizeof values);
    memcpy(&fpcr, data + sizeof values, sizeof fpcr);
    const uint8_t choices = data[sizeof values + sizeof fpcr];
    tl_a64_hart *a = tl_a64(h);
    h->tally = tallies;
    h->isa = &tl_isa_a64;
    use_accepting_port(h, &config);
    h->isa->init(h);
    if (choices & CHOOSE_PRIVILEGED) {
        h->isa->power_on(h);
        tl_hart_set_priv(h, levels[choices & CHOOSE_LEVEL]);
        tl_a64_regime_changed(h);
    }
    a->sys.checks_alignment = choices & CHOOSE_ALIGNED;
    a->fpcr = fpcr & TL_A64_FPCR_BITS;
    for (uint32_t i = 0; i < 32; i++)
        a->v[i] = (tl_a64_vector){.d = {values[i], values[(i + 7) % 32]}};
    for (uint32_t i = 0; i <= TL_A64_SP; i++)
        a->x[i] = i == TL_A64_ZERO ? 0 : values[i];

    for (size_t at = sizeof values + sizeof fpcr + 1; at + 4 <= size; at += 4) {
        uint32_t bits;
        memcpy(&bits, data + at, sizeof bits);
        tl_a64_decoded insn;
        tl_a64_decode(bits, &insn);
        check(insn.opc < TL_A64_N_OPCS && insn.raw == bits && insn.opc == find_row(bits));
        look_at(&insn, at);
        run(h, &insn, at);
    }
    free(h);
    return 0;
}
