// SPDX-License-Identifier: MIT
// A64: engine interp against engine step on random code. Registers, system registers, clock and all
// tallies are equal at every stop. There are random horizons and limits, exceptions, interrupts,
// breakpoints, code that changes behind IC IVAU, tagged addresses, one to four harts, EL0 alone and
// all levels, with translation and without.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "attributions.h"
#include "base/testing.h"
#include "isa/a64/block/interp.h"
#include "isa/a64/insn.h"
#include "isa/a64/regime.h"
#include "isa/a64/step/step.h"
#include "machine/machine.h"
#include "random_code.h"

// The first half of the code is random. The second half has no stores to code, and is what the
// first half changes.
enum { CODE_BYTES = 32 << 10, PATCH = CODE_BYTES / 2, DATA_BYTES = 64 << 10, RAM_BYTES = 16 << 20 };
// Data is so far from code that no pointer drifts there between two stops.
enum { DATA_OFFSET = 8 << 20, TABLE_OFFSET = 14 << 20 };
enum { POINTER = 1, CODE_POINTER = 27, OTHER_POINTER = 28, SMALL = 26, WORD = 25, SP = 31 };
static const uint64_t BASE = TL_RAM_BASE_PADDR;

static bool is_kept(uint32_t reg) { return reg == POINTER || (reg >= WORD && reg <= OTHER_POINTER) || reg == SP; }

typedef struct pair {
    tl_machine *fast, *slow;
    bool is_privileged;
    rng r;
} pair;

static uint32_t with(uint32_t bits, uint32_t lsb, uint32_t width, uint32_t value) {
    const uint32_t mask = ((1u << width) - 1) << lsb;
    return (bits & ~mask) | (value << lsb & mask);
}

static uint32_t random_data_register(rng *r) {
    for (;;) {
        const uint32_t reg = below(r, 32);
        if (!is_kept(reg))
            return reg;
    }
}

// System registers, op0:op1:CRn:CRm:op2 without the top bit.
static uint32_t random_sysreg(rng *r) {
    static const uint16_t numbers[] = {0xda10, 0xda20, 0xda21, 0xde82, 0xde83, 0xdf00, 0xdf02, 0xd801, 0xd807, 0xda11, 0xc000, 0xc200,
                                       0xc201, 0xc208, 0xc290, 0xc300, 0xc684, 0xc212, 0xdf19, 0xc510, 0xc082, 0xc080, 0xf080, 0xf08a};
    return numbers[below(r, TL_COUNT_OF(numbers))];
}

// A word of the row, whose operands keep pointers and jump nearby; 0: this one does not do.
static uint32_t random_word_of(rng *r, tl_a64_opc opc, bool is_privileged) {
    const tl_a64_row *row = &tl_a64_rows[opc];
    uint32_t bits = row->match | ((uint32_t)next(r) & ~row->mask);
    switch (row->cls) {
    case TL_CLASS_BRANCH: {
        const int32_t words = (int32_t)below(r, 60) - 20;
        bits = row->format == TL_A64_FORMAT_TBZ ? with(bits, 5, 14, (uint32_t)words) : with(bits, 5, 19, (uint32_t)words);
        break;
    }
    case TL_CLASS_JAL: bits = with(bits, 0, 26, below(r, 500) - 250u); break;
    case TL_CLASS_JALR: bits = with(bits, 5, 5, below(r, 3) == 0 ? 30u : CODE_POINTER); break;
    case TL_CLASS_LOAD:
    case TL_CLASS_STORE:
    case TL_CLASS_FP_LOAD:
    case TL_CLASS_FP_STORE:
    case TL_CLASS_LR:
    case TL_CLASS_SC: {
        static const uint8_t bases[] = {POINTER, OTHER_POINTER, SP};
        if (strstr(tl_a64_format_operands[row->format], "[") == NULL)
            return with(bits, 5, 19, below(r, 2000)); // a literal
        bits = with(bits, 5, 5, bases[below(r, 3)]);
        if (strstr(tl_a64_format_operands[row->format], "{index}") != NULL)
            bits = with(bits, 16, 5, below(r, 2) ? SMALL : 31u);
        else if (strstr(tl_a64_format_operands[row->format], "{after}") != NULL)
            bits = with(bits, 16, 5, 31); // structures move by their size
        else if (row->cls != TL_CLASS_LR && row->cls != TL_CLASS_SC && below(r, 4) != 0)
            bits &= row->mask | ~(7u << 12); // mostly aligned
        break;
    }
    case TL_CLASS_CSR:
        if (opc == TL_A64_OPC_mrs || opc == TL_A64_OPC_msr)
            bits = with(bits, 5, 16, random_sysreg(r));
        else if (opc == TL_A64_OPC_sys)
            bits = with(bits, 5, 14, TL_A64_DC_ZVA);
        if (opc == TL_A64_OPC_sys)
            bits = with(bits, 0, 5, POINTER);
        break;
    case TL_CLASS_SYSTEM:
        if (below(r, is_privileged ? 6 : 12) != 0)
            return 0;
        break;
    default: break;
    }
    return bits;
}

static bool writes_kept(const tl_a64_decoded *insn) {
    tl_op op = {0};
    tl_a64_op_from_decoded(insn, &op);
    tl_pipe_insn pipe;
    tl_a64_pipe(insn, &pipe);
    uint64_t writes = pipe.also_writes | (pipe.dest < 64 ? UINT64_C(1) << pipe.dest : 0);
    for (uint32_t reg = 0; reg < 31; reg++)
        if (is_kept(reg) && (writes >> reg & 1))
            return true;
    const uint8_t cls = tl_a64_rows[insn->opc].cls;
    const bool is_store = cls == TL_CLASS_STORE || cls == TL_CLASS_FP_STORE;
    return op.rd == TL_A64_SP && !is_store; // it might point into the code then
}

// An instruction in this word of the code, sometimes with others behind it; returns how many.
static uint32_t random_insns(rng *r, uint32_t *words, uint32_t room, bool may_patch, bool is_privileged) {
    if (may_patch && room >= 5 && below(r, 40) == 0) {
        const uint32_t at = below(r, 1000);
        // str w25, [x27, #4 * at]
        words[0] = 0xb9000000 | at << 10 | CODE_POINTER << 5 | WORD;
        // add x7, x27, #..; ic ivau, x7; isb
        words[1] = 0x91000000 | (at << 2 & 0xfc0) << 10 | CODE_POINTER << 5 | 7;
        words[2] = 0xd50b7520 | 7;
        words[3] = 0xd5033fdf;
        return 4;
    }
    for (;;) {
        const uint32_t bits = random_word_of(r, (tl_a64_opc)(1 + below(r, TL_A64_N_OPCS - 1)), is_privileged);
        tl_a64_decoded insn;
        tl_a64_decode(bits, &insn);
        if (insn.opc == TL_A64_OPC_UNDEFINED ? below(r, 100) != 0 : writes_kept(&insn))
            continue;
        words[0] = bits;
        return 1;
    }
}

static void fill(const pair *p, rng *r, uint8_t *code, uint32_t from, uint32_t end, bool may_patch) {
    for (uint32_t at = from; at < end;) {
        uint32_t words[4];
        const uint32_t n = random_insns(r, words, (end - at) / 4, may_patch, p->is_privileged);
        memcpy(code + at, words, (size_t)4 * n);
        at += 4 * n;
    }
}

static void point_to_data(tl_hart *h, rng *r) {
    tl_a64_hart *a = tl_a64(h);
    const uint64_t tag = h->is_privileged ? 0 : (uint64_t)below(r, 3) << 57;
    a->x[POINTER] = (BASE + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 1000) * 8) | (below(r, 4) == 0 ? tag : 0);
    a->x[OTHER_POINTER] = BASE + DATA_OFFSET + DATA_BYTES / 2 + below(r, 5000) * (below(r, 2) ? 16u : 1u);
    a->x[TL_A64_SP] = BASE + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 1000) * 16 + (below(r, 20) == 0 ? 8 : 0);
}

// Numbers that floating point treats in ways of their own: a double, or two singles.
static uint64_t random_number(rng *r) {
    static const uint64_t doubles[] = {0,
                                       UINT64_C(0x8000000000000000),
                                       UINT64_C(0x7ff0000000000000),
                                       UINT64_C(0xfff0000000000000),
                                       UINT64_C(0x7ff8000000000000),
                                       UINT64_C(0x7ff4000000000001),
                                       UINT64_C(0x0010000000000000),
                                       UINT64_C(0x000fffffffffffff),
                                       UINT64_C(0x0020000000000001),
                                       UINT64_C(0x3ff0000000000000),
                                       UINT64_C(0x7fefffffffffffff),
                                       UINT64_C(0x41dfffffffc00000),
                                       UINT64_C(0x43e0000000000000)};
    static const uint32_t singles[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7fa00001,
                                       0x00800000, 0x007fffff, 0x01000001, 0x3f800000, 0x7f7fffff, 0x4f000000};
    const double small = (double)((int32_t)below(r, 2000) - 1000) / (below(r, 2) ? 1 : 3);
    const float single = (float)small;
    uint64_t bits;
    uint32_t half;
    memcpy(&bits, &small, sizeof bits);
    memcpy(&half, &single, sizeof half);
    switch (below(r, 4)) {
    case 0: return doubles[below(r, TL_COUNT_OF(doubles))];
    case 1: return bits;
    case 2: return (uint64_t)singles[below(r, TL_COUNT_OF(singles))] << 32 | singles[below(r, TL_COUNT_OF(singles))];
    default: return (uint64_t)half << 32 | half;
    }
}

// Pointers again, and a place to go on.
static void point(tl_hart *h, rng *r) {
    tl_a64_hart *a = tl_a64(h);
    point_to_data(h, r);
    a->x[CODE_POINTER] = BASE + PATCH + (uint64_t)below(r, PATCH / 4 - 1100) * 4;
    a->x[SMALL] = below(r, 64);
    a->x[30] = BASE + (uint64_t)below(r, CODE_BYTES / 4 - 64) * 4 + (below(r, 50) == 0 ? 2 : 0);
    for (int i = 0; i < 4; i++)
        a->x[random_data_register(r) % 31] = next(r) >> below(r, 64);
    for (int i = 0; i < 4; i++)
        a->v[below(r, 32)] = (tl_a64_vector){.d = {next(r), below(r, 2) ? 0 : next(r) >> below(r, 64)}};
    for (int i = 0; i < 12; i++) {
        const uint64_t low = random_number(r), high = random_number(r);
        a->v[below(r, 32)] = (tl_a64_vector){.d = {low, high}};
    }
    a->fpcr = below(r, 4) == 0 ? (uint32_t)next(r) & TL_A64_FPCR_BITS : 0;
    a->fpsr = below(r, 2) ? 0 : a->fpsr;
    uint32_t word[4];
    (void)random_insns(r, word, 1, false, h->is_privileged);
    a->x[WORD] = word[0];
    h->pc = BASE + (uint64_t)below(r, CODE_BYTES / 4 - 64) * 4;
}

#define SAME(has, what)                                                                                                             \
    do {                                                                                                                            \
        if (tl_a64(a)->has != tl_a64(b)->has)                                                                                       \
            fail_msg("stop %" PRIu64 ", hart %u: %s is %" PRIx64 " by interp, %" PRIx64 " by step, pc %" PRIx64, stop, a->id, what, \
                     (uint64_t)tl_a64(a)->has, (uint64_t)tl_a64(b)->has, b->pc);                                                    \
    } while (0)

static void compare(const pair *p, uint32_t hart, uint64_t stop) {
    const tl_hart *a = p->fast->harts[hart], *b = p->slow->harts[hart];
    SAME(hart.pc, "pc");
    SAME(hart.now, "now");
    SAME(hart.instret, "instret");
    SAME(hart.run_vline, "run_vline");
    // A block with floating point that is off is stepped, which looks its line up once more.
    if (!p->is_privileged)
        SAME(hart.stamp, "stamp");
    SAME(hart.priv, "level");
    SAME(hart.is_waiting, "is_waiting");
    SAME(hart.reservation_paddr, "reservation");
    char name[8];
    for (uint32_t i = 0; i <= TL_A64_SP; i++) {
        snprintf(name, sizeof name, "x%u", i);
        SAME(x[i], name);
    }
    for (uint32_t i = 0; i < 32; i++) {
        snprintf(name, sizeof name, "v%u", i);
        SAME(v[i].d[0], name);
        SAME(v[i].d[1], name);
    }
    SAME(nzcv, "nzcv");
    SAME(fpcr, "fpcr");
    SAME(fpsr, "fpsr");
    SAME(tpidr, "tpidr");
    SAME(sys.daif, "daif");
    SAME(sys.has_event, "event");
    SAME(sys.is_illegal, "illegal");
    assert_memory_equal(tl_a64(a)->sys.reg, tl_a64(b)->sys.reg, sizeof tl_a64(a)->sys.reg);
    assert_memory_equal(tl_a64(a)->sys.sp, tl_a64(b)->sys.sp, sizeof tl_a64(a)->sys.sp);
}

static void compare_tallies(const pair *p, uint64_t stop) {
    tl_machine_sync(p->fast);
    tl_machine_sync(p->slow);
    for (uint32_t cell = 0; cell < p->fast->probe.n_cells; cell++)
        if (p->fast->tally[cell] != p->slow->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(&p->fast->probe, cell);
            fail_msg("stop %" PRIu64 ": %s.%s is %" PRIu64 " by interp, %" PRIu64 " by step", stop, unit->path,
                     unit->type->signals[cell - unit->first_cell].name, p->fast->tally[cell], p->slow->tally[cell]);
        }
}

// Tables that map a block of 2 MiB with the code and 2 MiB in pages of 4 KiB with the data.
// One page of data is read-only, one belongs to EL1 alone, one is absent.
static void put_tables(uint8_t *ram, bool is_privileged) {
    enum { TABLE = 3, BLOCK = 1, PAGE = 3, ACCESSED = 1 << 10, EL0 = 1 << 6, READ_ONLY = 1 << 7, INNER = 3 << 8 };
    uint64_t *level1 = (uint64_t *)(void *)(ram + TABLE_OFFSET), *level2 = level1 + 512, *level3 = level2 + 512;
    memset(level1, 0, 3 * 4096);
    const uint64_t tables = BASE + TABLE_OFFSET;
    level1[BASE >> 30] = (tables + 4096) | TABLE;
    // EL1 may not execute what EL0 may write.
    level2[0] = BASE | BLOCK | ACCESSED | INNER | EL0 | (is_privileged ? READ_ONLY : 0);
    level2[DATA_OFFSET >> 21] = (tables + 8192) | TABLE;
    for (uint64_t i = 0; i < 512; i++)
        level3[i] = (BASE + DATA_OFFSET + i * 4096) | PAGE | ACCESSED | INNER | EL0;
    const uint32_t data = DATA_BYTES / 8192;
    level3[data] |= READ_ONLY;
    level3[data + 1] &= ~(uint64_t)EL0;
    level3[data + 2] = 0;
}

typedef struct plan {
    uint64_t seed, n_stops;
    bool is_privileged, is_paged, has_breaks, is_attributed;
} plan;

static void start_privileged(tl_hart *h, const plan *it, uint64_t tables) {
    enum { IPS_40 = 2, T0SZ = 64 - 39, NORMAL = 0xff };
    h->isa->power_on(h);
    uint64_t *reg = tl_a64(h)->sys.reg;
    reg[TL_A64_R_VBAR_EL1] = BASE + 0x1000;
    reg[TL_A64_R_VBAR_EL3] = BASE + 0x2000;
    reg[TL_A64_R_SCR_EL3] = 0x531;
    reg[TL_A64_R_CPACR_EL1] = UINT64_C(3) << TL_A64_CPACR_FPEN_LSB;
    reg[TL_A64_R_SCTLR_EL1] |= TL_A64_SCTLR_UCI | TL_A64_SCTLR_DZE | TL_A64_SCTLR_UCT | TL_A64_SCTLR_SA0 | TL_A64_SCTLR_SA;
    reg[TL_A64_R_MAIR_EL1] = reg[TL_A64_R_MAIR_EL3] = NORMAL;
    reg[TL_A64_R_TTBR0_EL1] = reg[TL_A64_R_TTBR0_EL3] = tables;
    reg[TL_A64_R_TCR_EL1] = T0SZ | (uint64_t)IPS_40 << TL_A64_TCR_IPS_LSB | TL_A64_TCR_EPD1;
    reg[TL_A64_R_TCR_EL3] = T0SZ | IPS_40 << TL_A64_TCR3_PS_LSB;
    if (it->is_paged) {
        reg[TL_A64_R_SCTLR_EL1] |= TL_A64_SCTLR_M;
        reg[TL_A64_R_SCTLR_EL3] |= TL_A64_SCTLR_M;
    }
    reg[TL_A64_R_SPSR_EL3] = it->seed % 3 == 0 ? 0 : it->seed % 3 == 1 ? 5 : 13;
    tl_a64_regime_changed(h);
}

static pair pair_new(const tl_config *config, const plan *it) {
    pair p = {.is_privileged = it->is_privileged, .r = {it->seed * UINT64_C(0x9e3779b97f4a7c15) + 1}};
    tl_error err = {0};
    if (tl_machine_new(config, &tl_engine_a64_interp, &p.fast, &err) != TL_OK ||
        tl_machine_new(config, &tl_engine_a64_step, &p.slow, &err) != TL_OK)
        fail_msg("%s", err.text);
    // Another hart might execute the changed word before IC IVAU.
    fill(&p, &p.r, p.fast->ram, 0, PATCH, config->n_harts == 1);
    fill(&p, &p.r, p.fast->ram, PATCH, CODE_BYTES, false);
    for (uint32_t i = 0; i < DATA_BYTES; i += 8) {
        const uint64_t value = next(&p.r);
        memcpy(p.fast->ram + DATA_OFFSET + i, &value, 8);
    }
    put_tables(p.fast->ram, it->is_privileged);
    memcpy(p.slow->ram, p.fast->ram, RAM_BYTES);
    tl_machine *machines[] = {p.fast, p.slow};
    rng from = p.r;
    for (uint32_t m = 0; m < 2; m++) {
        rng r = from;
        for (uint32_t i = 0; i < config->n_harts; i++) {
            tl_hart *h = machines[m]->harts[i];
            if (it->is_privileged)
                start_privileged(h, it, BASE + TABLE_OFFSET);
            else if (it->is_paged)
                tl_memory_switch_context(h, BASE + TABLE_OFFSET);
            point(h, &r);
        }
        p.r = r;
    }
    return p;
}

// An exception, an interrupt, or another place: the same on both.
static void go_on(pair *p, tl_hart *a, tl_hart *b, tl_stop stop) {
    rng *r = &p->r;
    if (stop == TL_STOP_TRAP) {
        assert_int_equal(a->trap_cause, b->trap_cause);
        assert_int_equal(a->trap_value, b->trap_value);
        if (p->is_privileged && below(r, 3) != 0) {
            a->isa->take_exception(a);
            b->isa->take_exception(b);
        }
        rng again = *r;
        const uint64_t pc = a->pc;
        point(a, r);
        point(b, &again);
        if (p->is_privileged && below(r, 2) != 0)
            a->pc = b->pc = pc;
        a->run_vline = b->run_vline = TL_NO_LINE;
    } else if (stop == TL_STOP_BREAK) {
        a->skip_break = b->skip_break = true;
    }
    a->is_waiting = b->is_waiting = false;
    rng again = *r;
    point_to_data(a, r);
    point_to_data(b, &again);
    if (p->is_privileged && below(r, 10) == 0) {
        const tl_irq line = below(r, 2) ? TL_A64_IRQ : TL_A64_FIQ;
        const bool level = below(r, 2);
        tl_hart_set_irq(a, line, level);
        tl_hart_set_irq(b, line, level);
    }
    tl_irq irq_a, irq_b;
    if (p->is_privileged && a->run_vline == TL_NO_LINE && a->isa->next_interrupt(a, &irq_a)) {
        assert_true(b->isa->next_interrupt(b, &irq_b) && irq_a == irq_b);
        a->isa->take_interrupt(a, irq_a);
        b->isa->take_interrupt(b, irq_b);
    }
}

static void run_pair(const tl_config *config, const plan *it) {
    pair p = pair_new(config, it);
    rng *r = &p.r;
    const uint32_t all = (1u << config->n_harts) - 1;
    tl_attribution *attributions[2] = {it->is_attributed ? attribute(p.fast) : NULL, it->is_attributed ? attribute(p.slow) : NULL};
    uint64_t n_insns = 0;
    for (uint64_t stop = 0; stop < it->n_stops; stop++) {
        const uint64_t ahead = below(r, 3000);
        tl_turn turn_a = tl_machine_next(p.fast, all), turn_b = tl_machine_next(p.slow, all);
        tl_hart *a = turn_a.hart, *b = turn_b.hart;
        assert_int_equal(a->id, b->id);
        assert_int_equal(turn_a.end, turn_b.end);
        a->horizon = b->horizon = turn_a.end > a->now + ahead ? a->now + ahead : turn_a.end;
        a->insn_limit = b->insn_limit = below(r, 4) == 0 ? a->instret + below(r, 500) : UINT64_MAX;
        if (it->has_breaks && below(r, 100) == 0)
            a->break_pc[0] = b->break_pc[0] = BASE + 4 * (uint64_t)below(r, CODE_BYTES / 4);
        const uint64_t before = a->instret;
        const tl_stop stop_a = tl_turn_run(&turn_a), stop_b = tl_turn_run(&turn_b);
        n_insns += a->instret - before;
        if (stop_a != stop_b)
            fail_msg("stop %" PRIu64 ": interp stopped for %d at %" PRIx64 ", step for %d at %" PRIx64, stop, stop_a, a->pc, stop_b, b->pc);
        compare(&p, a->id, stop);
        if (stop % 32 == 0)
            compare_tallies(&p, stop);
        go_on(&p, a, b, stop_a);
    }
    compare_tallies(&p, it->n_stops);
    if (it->is_attributed)
        same_rows("at the end", p.fast, attributions[0], attributions[1]);
    tl_attribution_free(attributions[0]);
    tl_attribution_free(attributions[1]);
    assert_memory_equal(p.fast->ram, p.slow->ram, RAM_BYTES);
    if (n_insns < 2 * it->n_stops)
        fail_msg("only %" PRIu64 " instructions in %" PRIu64 " stops", n_insns, it->n_stops);
    tl_machine_free(p.fast);
    tl_machine_free(p.slow);
}

static uint64_t n_stops(void) {
    const char *text = getenv("TL_LOCKSTEP_STOPS");
    return text ? strtoull(text, NULL, 10) : 1500;
}

static tl_config config_a64(void) {
    tl_config config;
    tl_config_default(&config);
    config.isa = TL_ISA_AARCH64;
    config.ram_bytes = RAM_BYTES;
    return config;
}

static void config_tiny(tl_config *config) {
    config->l1i = (tl_cache_config){.size_bytes = 512, .ways = 1, .line_bytes = 16};
    config->l1d = (tl_cache_config){.size_bytes = 512, .ways = 2, .line_bytes = 16, .replacement = TL_REPLACE_FIFO};
    config->l2 = (tl_cache_config){.size_bytes = 4096, .ways = 4, .line_bytes = 16, .replacement = TL_REPLACE_RANDOM};
    config->itlb = config->dtlb = (tl_tlb_config){.entries = 4, .ways = 4, .replacement = TL_REPLACE_PLRU};
    config->pipeline.fetch_bytes = 8;
    config->pipeline.mul_cycles = 9;
    config->pipeline.fp_fma_cycles = 13;
    config->bp.kind = TL_BP_BTFN;
}

static void test_programs_agree(void **state) {
    (void)state;
    const tl_config config = config_a64();
    for (uint64_t seed = 1; seed <= 4; seed++)
        run_pair(&config, &(plan){.seed = seed, .n_stops = n_stops(), .is_paged = seed % 2 == 0, .has_breaks = seed == 3});
}

static void test_programs_agree_on_a_tiny_machine(void **state) {
    (void)state;
    tl_config config = config_a64();
    config_tiny(&config);
    for (uint64_t seed = 11; seed <= 13; seed++)
        run_pair(&config, &(plan){.seed = seed, .n_stops = n_stops(), .is_paged = seed % 2 == 0, .has_breaks = seed == 13});
}

static void test_programs_agree_on_four_harts(void **state) {
    (void)state;
    tl_config config = config_a64();
    config.n_harts = 4;
    config.l2_slices = 2;
    config.interleave_cycles = 100;
    for (uint64_t seed = 21; seed <= 22; seed++)
        run_pair(&config, &(plan){.seed = seed, .n_stops = 2 * n_stops(), .is_paged = seed % 2 == 0});
}

static void test_system_software_agrees(void **state) {
    (void)state;
    const tl_config config = config_a64();
    for (uint64_t seed = 31; seed <= 36; seed++)
        run_pair(&config,
                 &(plan){.seed = seed, .n_stops = n_stops(), .is_privileged = true, .is_paged = seed % 2 == 0, .has_breaks = seed >= 35});
}

static void test_system_software_agrees_on_a_tiny_machine(void **state) {
    (void)state;
    tl_config config = config_a64();
    config_tiny(&config);
    config.n_harts = 2;
    for (uint64_t seed = 41; seed <= 44; seed++)
        run_pair(&config, &(plan){.seed = seed, .n_stops = n_stops(), .is_privileged = true, .is_paged = seed % 2 == 0});
}

// Translations of both engines outlive changes of level and of the address space.
static void test_system_software_agrees_with_tagged_translations(void **state) {
    (void)state;
    tl_config config = config_a64();
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 10, .ways = 10};
    config.l2tlb = (tl_tlb_config){.entries = 64, .ways = 4};
    config.walk_cache = (tl_tlb_config){.entries = 16, .ways = 4};
    config.asid_bits = 16;
    config.l2_fill = TL_FILL_EVICT;
    for (uint64_t seed = 51; seed <= 54; seed++) {
        config.n_harts = 1 + (uint32_t)seed % 2;
        config.first_tlb_drop = seed < 53 ? TL_DROP_ALL : TL_DROP_MATCHING;
        run_pair(&config, &(plan){.seed = seed, .n_stops = n_stops(), .is_privileged = true, .is_paged = true});
    }
}

// Counts by instruction, in user mode and of system software, on one hart and on two.
static void test_counts_by_instruction_agree(void **state) {
    (void)state;
    tl_config config = config_a64();
    for (uint64_t seed = 61; seed <= 66; seed++) {
        config.n_harts = 1 + (uint32_t)seed % 2;
        if (seed == 65)
            config_tiny(&config);
        const bool is_privileged = seed % 4 >= 2;
        run_pair(&config, &(plan){.seed = seed,
                                  .n_stops = n_stops() / 3,
                                  .is_privileged = is_privileged,
                                  .is_paged = seed > 63,
                                  .has_breaks = seed == 62,
                                  .is_attributed = true});
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_programs_agree),
    cmocka_unit_test(test_programs_agree_on_a_tiny_machine),
    cmocka_unit_test(test_programs_agree_on_four_harts),
    cmocka_unit_test(test_system_software_agrees),
    cmocka_unit_test(test_system_software_agrees_on_a_tiny_machine),
    cmocka_unit_test(test_system_software_agrees_with_tagged_translations),
    cmocka_unit_test(test_counts_by_instruction_agree),
};
TL_TEST_MAIN(tests)
