// SPDX-License-Identifier: MIT
// Any bytes as system software. Code begins in machine, supervisor or user mode and takes its
// traps. Page tables, memory protection, delegation and counters are those of the input. Each
// engine must agree with the stepping one on all registers and tallies at every stop. Code is in
// memory that nobody may write, and nothing else may be executed. Changed code without FENCE.I is
// not specified. Input: a situation (below), then code. A shorter input is one with zeros behind
// it.
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "machine/machine.h"

enum { N_ODD_PAGES = 4, N_COUNTERS = 3, INSTRUCTION_BYTES = 2 };

typedef struct situation { // all bytes, so that an input is one as it is
    uint8_t choices, priv, mode, pmp;
    uint8_t mstatus[4], medeleg[2], mideleg[2], mie[2], mip[2];
    uint8_t mtvec[2], stvec[2], mepc[2], sepc[2], start[2], break_at[2], link[2], pmp_page[2];
    struct {
        uint8_t page[2], flags;
    } odd_pages[N_ODD_PAGES];
    struct {
        uint8_t event, filter, left[2];
    } counters[N_COUNTERS];
    uint8_t x[12];
} situation;

#include "machines.h"

static void set_csr(tl_hart *h, uint32_t csr, uint64_t value) { // as firmware would, from outside
    tl_priv priv = h->priv;
    h->priv = TL_PRIV_M;
    (void)tl_csr_write(h, csr, value);
    h->priv = priv;
    if (h->has_after)
        tl_hart_retired(h);
}

// Three levels map the first 4 MiB of RAM to themselves, for users. Pages that the input chose
// differ. A fourth level is on top.
static void build_tables(tl_machine *machine, const situation *s) {
    const uint64_t base = TL_RAM_BASE_PADDR, root = TABLES_OFFSET, middle = root + 0x1000, leaf = root + 0x2000, top = root + 0x4000;
    put64(machine, top + ((base >> 39) & 511) * 8, (base + root) >> 12 << 10 | 1);
    put64(machine, root + ((base >> 30) & 511) * 8, (base + middle) >> 12 << 10 | 1);
    for (uint32_t k = 0; k < 2; k++)
        put64(machine, middle + k * 8, (base + leaf + k * 0x1000) >> 12 << 10 | 1);
    put64(machine, middle + 2 * 8, base >> 12 << 10 | 0xdf);
    for (uint32_t k = 0; k < 1024; k++)
        put64(machine, leaf + k * 8, (base + k * 0x1000) >> 12 << 10 | ((s->mode & 4) ? 0xcf : 0xdf));
    for (uint32_t i = 0; i < N_ODD_PAGES; i++) {
        uint64_t page = number(s->odd_pages[i].page, 2), target = page >> 10;
        put64(machine, leaf + (page & 1023) * 8, (base + (page & 1023) * 0x1000 + target * 0x1000) >> 12 << 10 | s->odd_pages[i].flags);
    }
}

static void set_up(tl_machine *machine, const situation *s, const uint8_t *code, size_t n_code) {
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_M, TL_PRIV_U};
    static const uint64_t modes[] = {0, 8, 9, 8}, regions[] = {0x18, 0x19, 0x1b, 0x1b};
    static const uint64_t events[] = {0, 1, 2, 3, 4, 5, 6, 0x10000, 0x10001, 0x10002, 0x10003, 0x10009, 0x10019, 0x10021};
    tl_hart *h = machine->harts[0];
    memcpy(machine->ram, code, n_code);
    put_data(machine);
    build_tables(machine, s);
    tl_privileged_reset(h);
    uint64_t mode = modes[s->mode & 3], root = TL_RAM_BASE_PADDR + TABLES_OFFSET + (mode == 9 ? 0x4000 : 0);
    set_csr(h, 0x180, mode << 60 | root >> 12);
    set_csr(h, 0x302, number(s->medeleg, 2));
    set_csr(h, 0x303, number(s->mideleg, 2));
    set_csr(h, 0x304, number(s->mie, 2));
    set_csr(h, 0x344, number(s->mip, 2));
    set_csr(h, 0x305, code_at(s->mtvec, n_code) & ~UINT64_C(3));
    set_csr(h, 0x105, code_at(s->stvec, n_code) & ~UINT64_C(3));
    set_csr(h, 0x341, code_at(s->mepc, n_code));
    set_csr(h, 0x141, code_at(s->sepc, n_code));
    set_csr(h, 0x306, 0xffffffff);
    set_csr(h, 0x106, 0xffffffff);
    // Entries are locked, so that they bind machine mode and stay. The code may be executed and
    // read, a page is open, and nothing else may be executed.
    set_csr(h, 0x3b0, TL_RAM_BASE_PADDR >> 2 | (PROTECTED_BYTES / 8 - 1));
    set_csr(h, 0x3b1, (TL_RAM_BASE_PADDR + number(s->pmp_page, 2) % 1024 * 4096) >> 2 | 0x1ff);
    set_csr(h, 0x3b2, UINT64_MAX);
    set_csr(h, 0x3a0, UINT64_C(0x9b009d) | (0x80 | regions[s->pmp & 3]) << 8);
    if (h->n_pmus > 0)
        for (uint32_t i = 0; i < N_COUNTERS; i++) {
            set_csr(h, 0x323 + i, events[s->counters[i].event % TL_COUNT_OF(events)] | (uint64_t)(s->counters[i].filter & 7) << 60);
            set_csr(h, 0xb03 + i, -number(s->counters[i].left, 2));
        }
    set_csr(h, 0x300, number(s->mstatus, 4) | TL_MSTATUS_FS);
    tl_hart_set_priv(h, privs[s->priv & 3]);
    for (uint32_t i = 0; i < sizeof s->x; i++)
        tl_rv(h)->x[10 + i] = (uint64_t)(int64_t)(int8_t)s->x[i];
    tl_rv(h)->x[1] = tl_rv(h)->x[9] = code_at(s->link, n_code);
    tl_rv(h)->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4;
    tl_rv(h)->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2;
    h->pc = code_at(s->start, n_code);
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    if (s->choices & CHOOSE_BREAK)
        h->break_pc[0] = code_at(s->break_at, n_code);
}

#define SAME_RV(field) SAME_OF(tl_rv(a), tl_rv(b), field)
static void compare_own(const tl_machine *fast, const tl_hart *a, const tl_hart *b) {
    SAME_RV(fflags);
    SAME_RV(frm);
    SAME_RV(csr.mstatus);
    SAME_RV(csr.mideleg);
    SAME_RV(csr.medeleg);
    SAME_RV(csr.mepc);
    SAME_RV(csr.mcause);
    SAME_RV(csr.mtval);
    SAME_RV(csr.sepc);
    SAME_RV(csr.scause);
    SAME_RV(csr.stval);
    for (int i = 0; i < 32; i++) {
        SAME_RV(x[i]);
        SAME_RV(f[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    situation s;
    const uint8_t *code;
    size_t n_code;
    if (!split(data, size, &s, &code, &n_code))
        return 0;
    uint32_t engine = s.choices & CHOOSE_ENGINE;
    if (engine != 1)
        run_pair(&tl_engine_interp, &tl_engine_step, 0, &s, code, n_code);
#ifdef TL_HAS_TRANSLATOR
    if (engine != 0)
        run_pair(&tl_engine_translate, &tl_engine_step, s.choices >> CHOOSE_COLD_SHIFT & 3, &s, code, n_code);
#endif
    return 0;
}
