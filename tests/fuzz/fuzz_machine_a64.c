// SPDX-License-Identifier: MIT
// Any bytes as AArch64 system software. Code begins at EL3, EL1 or EL0 and takes its exceptions and
// interrupts. Control registers, routes and pages are those of the input. Engine interp must agree
// with the stepping one on all registers and tallies at every stop. The machine's memory may be
// executed where code is, and written elsewhere, because changed code without IC IVAU is not
// specified. Input: a situation (below), then code.
#include "isa/a64/block/interp.h"
#include "isa/a64/regime.h"
#include "isa/a64/step/step.h"
#include "isa/a64/sysreg.h"
#include "machine/machine.h"

enum { N_ODD_PAGES = 4, INSTRUCTION_BYTES = 4 };

typedef struct situation { // all bytes, so that an input is one as it is
    uint8_t choices, level, control, pending;
    uint8_t sctlr[4], sctlr3[4], tcr[5], scr[2], cpacr, cptr;
    uint8_t spsr[2][4], elr[2][2], vbar[2], start[2], break_at[2], link[2];
    struct {
        uint8_t page[2], low[2], high;
    } odd_pages[N_ODD_PAGES];
    uint8_t fpcr[4], x[12];
} situation;

// Bits of situation.level and situation.control.
enum { LEVEL = 3, OWN_SP = 4, NZCV_LSB = 4 };
enum { PAGED = 1, PAGED_AT_EL3 = 2, WIDE = 4, TTBR1 = 8, DAIF_LSB = 4 };

#include "machines.h"

static bool permits(const tl_hart *h, uint64_t paddr, tl_access access, uint32_t view, tl_stretch *ret_around) {
    (void)h, (void)view;
    const uint64_t end = TL_RAM_BASE_PADDR + PROTECTED_BYTES;
    const bool is_code = paddr >= TL_RAM_BASE_PADDR && paddr < end;
    *ret_around = is_code       ? (tl_stretch){TL_RAM_BASE_PADDR, end}
                  : paddr < end ? (tl_stretch){0, TL_RAM_BASE_PADDR}
                                : (tl_stretch){end, UINT64_MAX};
    return is_code ? access != TL_ACCESS_STORE : access != TL_ACCESS_FETCH;
}

// As software at EL3 writes it.
static void set(tl_hart *h, uint32_t op1, uint32_t crn, uint32_t crm, uint32_t op2, uint64_t value) {
    tl_a64_sysreg_set(h, TL_A64_SYSREG_NUMBER(3, op1, crn, crm, op2), value);
}

// Granules of 4 KiB: the first 4 MiB of RAM and a block of 2 MiB behind, mapped to themselves, for
// EL0. EL1 may not execute what EL0 may write, so the 2 MiB with code are read-only. Pages that the
// input chose differ.
static void build_tables(tl_machine *machine, const situation *s) {
    enum { TABLE = 3, BLOCK = 1, PAGE = 3, ACCESSED = 1 << 10, INNER = 3 << 8, EL0 = 1 << 6, READ_ONLY = 1 << 7 };
    enum { LEVEL0 = TABLES_OFFSET + 0x4000, LEVEL1 = TABLES_OFFSET, LEVEL2 = LEVEL1 + 0x1000, LEVEL3 = LEVEL1 + 0x2000 };
    const uint64_t base = TL_RAM_BASE_PADDR, leaf = ACCESSED | INNER | EL0;
    put64(machine, LEVEL0, (base + LEVEL1) | TABLE);
    put64(machine, LEVEL1 + (base >> 30 & 511) * 8, (base + LEVEL2) | TABLE);
    put64(machine, LEVEL2, (base + LEVEL3) | TABLE);
    put64(machine, LEVEL2 + 8, (base + LEVEL3 + 0x1000) | TABLE);
    put64(machine, LEVEL2 + 16, base | BLOCK | leaf);
    for (uint64_t k = 0; k < 1024; k++)
        put64(machine, LEVEL3 + k * 8, (base + k * 0x1000) | PAGE | leaf | (k < PROTECTED_BYTES / 4096 ? READ_ONLY : 0));
    for (uint32_t i = 0; i < N_ODD_PAGES; i++) {
        const uint64_t page = number(s->odd_pages[i].page, 2), k = page & 1023, target = k + (page >> 10);
        put64(machine, LEVEL3 + k * 8,
              (base + target * 0x1000) | (number(s->odd_pages[i].low, 2) & 0xfff) | (uint64_t)s->odd_pages[i].high << 50);
    }
}

static void set_control(tl_hart *h, const situation *s, size_t n_code) {
    enum { IPS_40 = 2, VECTORS = 1 << 11, NON_SECURE = 1 };
    const uint64_t tables = TL_RAM_BASE_PADDR + TABLES_OFFSET + (s->control & WIDE ? 0x4000 : 0);
    const uint64_t t0sz = s->control & WIDE ? 16 : 25, random_tcr = number(s->tcr, 5);
    set(h, 0, 10, 2, 0, UINT64_C(0xff440400ff)); // MAIR_EL1: normal memory and devices
    set(h, 6, 10, 2, 0, UINT64_C(0xff));
    set(h, 0, 2, 0, 0, tables); // TTBR0_EL1, TTBR1_EL1, TTBR0_EL3
    set(h, 0, 2, 0, 1, s->control & TTBR1 ? tables : 0);
    set(h, 6, 2, 0, 0, tables);
    set(h, 0, 2, 0, 2, (random_tcr & ~UINT64_C(0x7c03fc03f)) | t0sz | t0sz << 16 | UINT64_C(2) << 30 | (uint64_t)IPS_40 << 32);
    set(h, 6, 2, 0, 2, t0sz | IPS_40 << 16 | (random_tcr & 1 << 20));
    for (uint32_t i = 0; i < 2; i++) { // VBAR, SPSR and ELR of EL1, EL3
        const uint32_t op1 = i == 0 ? 0 : 6;
        set(h, op1, 12, 0, 0, TL_RAM_BASE_PADDR + s->vbar[i] % (CODE_BYTES / VECTORS) * VECTORS);
        set(h, op1, 4, 0, 0, number(s->spsr[i], 4));
        set(h, op1, 4, 0, 1, code_at(s->elr[i], n_code));
    }
    set(h, 0, 1, 0, 2, (uint64_t)s->cpacr << TL_A64_CPACR_FPEN_LSB);
    set(h, 6, 1, 1, 2, (uint64_t)(s->cptr & 1) * TL_A64_CPTR_TFP);
    set(h, 6, 1, 1, 0, number(s->scr, 2) | NON_SECURE);
    set(h, 0, 1, 0, 0, (number(s->sctlr, 4) & ~(uint64_t)TL_A64_SCTLR_M) | (s->control & PAGED ? TL_A64_SCTLR_M : 0));
    set(h, 6, 1, 0, 0, (number(s->sctlr3, 4) & ~(uint64_t)TL_A64_SCTLR_M) | (s->control & PAGED_AT_EL3 ? TL_A64_SCTLR_M : 0));
}

static void set_up(tl_machine *machine, const situation *s, const uint8_t *code, size_t n_code) {
    static const uint8_t levels[] = {TL_A64_EL0, TL_A64_EL1, TL_A64_EL3, TL_A64_EL1};
    tl_hart *h = machine->harts[0];
    tl_a64_hart *a = tl_a64(h);
    memcpy(machine->ram, code, n_code);
    put_data(machine);
    build_tables(machine, s);
    h->isa->power_on(h);
    set_control(h, s, n_code);
    for (uint32_t irq = TL_A64_IRQ; irq <= TL_A64_SERROR; irq++)
        tl_hart_set_irq(h, irq, s->pending >> irq & 1);
    const uint64_t middle = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2;
    for (uint32_t i = 0; i < 4; i++)
        a->sys.sp[i] = middle + 256 * i;
    const uint32_t old_level = h->priv;
    tl_hart_set_priv(h, levels[s->level & LEVEL]);
    a->sys.has_own_sp = h->priv != TL_A64_EL0 && (s->level & OWN_SP);
    a->sys.daif = (uint32_t)(s->control >> DAIF_LSB) << 6;
    tl_a64_el_changed(h, old_level);
    a->nzcv = s->level >> NZCV_LSB;
    a->fpcr = (uint32_t)number(s->fpcr, 4) & TL_A64_FPCR_BITS;
    for (uint32_t i = 0; i < sizeof s->x; i++)
        a->x[i] = (uint64_t)(int64_t)(int8_t)s->x[i];
    for (uint32_t i = 16; i < 30; i++)
        a->x[i] = middle + 4096 * (i - 23);
    a->x[TL_A64_SP] = middle;
    a->x[30] = code_at(s->link, n_code);
    h->pc = code_at(s->start, n_code);
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    if (s->choices & CHOOSE_BREAK)
        h->break_pc[0] = code_at(s->break_at, n_code);
}

#define SAME_A64(field) SAME_OF(tl_a64(a), tl_a64(b), field)
static void compare_own(const tl_machine *fast, const tl_hart *a, const tl_hart *b) {
    SAME(is_waiting);
    SAME_A64(nzcv);
    SAME_A64(fpcr);
    SAME_A64(fpsr);
    SAME_A64(tpidr);
    SAME_A64(tpidrro);
    SAME_A64(sys.daif);
    SAME_A64(sys.has_own_sp);
    SAME_A64(sys.is_illegal);
    SAME_A64(sys.has_event);
    SAME_A64(sys.is_exclusive);
    for (int i = 0; i <= TL_A64_SP; i++)
        SAME_A64(x[i]);
    for (int i = 0; i < 32; i++) {
        SAME_A64(v[i].d[0]);
        SAME_A64(v[i].d[1]);
    }
    for (int i = 0; i < TL_A64_N_SYSREGS; i++)
        SAME_A64(sys.reg[i]);
    for (int i = 0; i < TL_N_PRIVS; i++)
        SAME_A64(sys.sp[i]);
    if (tl_a64(a)->x[TL_A64_ZERO] != 0)
        differs(fast, "the zero register", tl_a64(a)->x[TL_A64_ZERO], 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tl_isa isa = tl_isa_a64;
    tl_engine_type fast = tl_engine_a64_interp, step = tl_engine_a64_step;
    situation s;
    const uint8_t *code;
    size_t n_code;
    isa.permits = permits;
    fast.isa = step.isa = &isa;
    if (split(data, size, &s, &code, &n_code))
        run_pair(&fast, &step, 0, &s, code, n_code);
    return 0;
}
