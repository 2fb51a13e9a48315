// SPDX-License-Identifier: MIT
// Any bytes as system software. Code begins in machine, supervisor or user mode and takes its
// traps. Page tables, memory protection, delegation and counters are those of the input. Each
// engine must agree with the stepping one on all registers and tallies at every stop. Code is in
// memory that nobody may write, and nothing else may be executed. Changed code without FENCE.I is
// not specified. Input: a situation (below), then code. A shorter input is one with zeros behind
// it.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../contract/board_turn.h"
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "machine/machine.h"

enum {
    CODE_BYTES = 16 << 10, // in the first 64 KiB of RAM, which are protected
    DATA_OFFSET = 1 << 20, // from here on, pages are data; with the tables among them
    DATA_BYTES = 64 << 10,
    TABLES_OFFSET = 2 << 20,
    TABLES_BYTES = 0x6000,
    MAX_INSNS = 4000,
    MAX_TRAPS = 60, // between two stops
    MAX_STORMS = 20,
    N_ODD_PAGES = 4,
    N_COUNTERS = 3,
};

enum { CHOOSE_ENGINE = 3, CHOOSE_SMALL = 4, CHOOSE_BREAK = 8, CHOOSE_CUT_SHIFT = 4, CHOOSE_CUT = 3, CHOOSE_COLD_SHIFT = 6 };

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

static uint64_t number(const uint8_t *bytes, size_t n) {
    uint64_t value = 0;
    memcpy(&value, bytes, n);
    return value;
}

// Half a word of the code, of which there are n bytes.
static uint64_t code_at(const uint8_t bytes[2], size_t n) { return TL_RAM_BASE_PADDR + 2 * (number(bytes, 2) % (n / 2 + 1)); }

static void set_csr(tl_hart *h, uint32_t csr, uint64_t value) { // as firmware would, from outside
    tl_priv priv = h->priv;
    h->priv = TL_PRIV_M;
    (void)tl_csr_write(h, csr, value);
    h->priv = priv;
    if (h->has_after)
        tl_hart_retired(h);
}

static void put64(tl_machine *machine, uint64_t offset, uint64_t value) { memcpy(machine->ram + offset, &value, sizeof value); }

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
    for (uint32_t i = 0; i < DATA_BYTES; i += 8)
        put64(machine, DATA_OFFSET + i, (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
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
    set_csr(h, 0x3b0, TL_RAM_BASE_PADDR >> 2 | (0x10000 / 8 - 1));
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

// Runs as the board does, until so many instructions have retired or a breakpoint comes. Returns
// the number of traps.
static uint32_t run_until(tl_hart *h, uint64_t instret) {
    uint32_t n_traps = 0;
    while (h->instret < instret && n_traps < MAX_TRAPS) {
        tl_irq irq;
        if (take_due_interrupt(h, &irq)) {
            n_traps++;
            // The engine decides how far a run goes. Only a trap or the limit ends this loop.
            continue;
        }
        tl_stop stop = run_on(h, instret);
        n_traps += stop == TL_STOP_TRAP;
        if (stop == TL_STOP_BREAK)
            break;
    }
    return n_traps;
}

// ---- comparison ----

static void differs(const tl_machine *fast, const char *what, uint64_t a, uint64_t b) {
    const tl_hart *h = fast->harts[0];
    fprintf(stderr, "%s is %" PRIx64 " by %s, %" PRIx64 " by step, at pc %" PRIx64 ", instruction %" PRIu64 "\n", what, a,
            fast->engine->name, b, h->pc, h->instret);
    abort();
}

#define SAME_OF(a_has, b_has, field)      \
    if ((a_has)->field != (b_has)->field) \
    differs(fast, #field, (a_has)->field, (b_has)->field)
#define SAME(field) SAME_OF(a, b, field)
#define SAME_RV(field) SAME_OF(tl_rv(a), tl_rv(b), field)

static void compare(const tl_machine *fast, const tl_machine *slow) {
    const tl_hart *a = fast->harts[0], *b = slow->harts[0];
    SAME(pc);
    SAME(priv);
    SAME(now);
    SAME(instret);
    SAME_RV(fflags);
    SAME_RV(frm);
    SAME(context);
    SAME(reservation_paddr);
    SAME(run_vline);
    SAME_RV(csr.mstatus);
    SAME(irqs_enabled);
    SAME(irqs_pending);
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
    for (uint32_t slot = 0; slot < fast->probe.n_cells; slot++)
        if (fast->tally[slot] != slow->tally[slot]) {
            const tl_unit *unit = tl_probe_unit_of(&fast->probe, slot);
            char name[160];
            snprintf(name, sizeof name, "%s.%s", unit->path, unit->type->signals[slot - unit->first_cell].name);
            differs(fast, name, fast->tally[slot], slow->tally[slot]);
        }
}

static tl_machine *machine_new(const tl_engine_type *core, const situation *s, uint32_t n_cold_runs) {
    tl_config config;
    tl_machine *machine;
    tl_error err = {TL_OK, ""};
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.code_cache_bytes = 512 << 10;
    config.n_cold_runs = n_cold_runs;
    if (s->choices & CHOOSE_SMALL) {
        config.l1i = (tl_cache_config){.size_bytes = 512, .ways = 1, .line_bytes = 16};
        config.l1d = (tl_cache_config){.size_bytes = 512, .ways = 2, .line_bytes = 16, .replacement = TL_REPLACE_FIFO};
        config.l2 = (tl_cache_config){.size_bytes = 4096, .ways = 4, .line_bytes = 16, .replacement = TL_REPLACE_RANDOM};
        config.itlb = config.dtlb = (tl_tlb_config){.entries = 4, .ways = 4, .replacement = TL_REPLACE_PLRU};
        config.pipeline.fetch_bytes = 8;
        config.bp.kind = TL_BP_BTFN;
    }
    if (tl_machine_new(&config, core, &machine, &err) != TL_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return machine;
}

static void run_pair(const tl_engine_type *core, uint32_t n_cold_runs, const situation *s, const uint8_t *code, size_t n_code) {
    static const uint64_t cuts[] = {MAX_INSNS, 997, 101, 7};
    tl_machine *fast = machine_new(core, s, n_cold_runs), *slow = machine_new(&tl_engine_step, s, 0);
    tl_hart *a = fast->harts[0], *b = slow->harts[0];
    tl_error err = {TL_OK, ""};
    set_up(fast, s, code, n_code);
    set_up(slow, s, code, n_code);
    uint64_t cut = cuts[s->choices >> CHOOSE_CUT_SHIFT & CHOOSE_CUT], end = b->instret + MAX_INSNS;
    for (uint32_t n_stops = 0, n_storms = 0; b->instret < end && n_stops < 1000; n_stops++) {
        uint64_t until = b->instret + cut < end ? b->instret + cut : end;
        uint32_t n_slow = run_until(b, until), n_fast = run_until(a, until);
        tl_machine_sync(slow);
        tl_machine_sync(fast);
        compare(fast, slow);
        if (n_slow != n_fast)
            differs(fast, "the number of traps", n_fast, n_slow);
        if (n_slow == MAX_TRAPS) { // a handler that traps: elsewhere
            a->pc = b->pc = TL_RAM_BASE_PADDR + 2 * ((n_stops * 7919 + 1) % (n_code / 2 + 1));
            a->run_vline = b->run_vline = TL_NO_LINE;
            a->pend = b->pend = NULL;
            if (++n_storms == MAX_STORMS)
                break;
        }
        a->skip_break = b->skip_break = true;
    }
    if (memcmp(fast->ram, slow->ram, TABLES_OFFSET + TABLES_BYTES) != 0)
        differs(fast, "memory", 0, 1);
    if (tl_machine_check_identities(fast, &err) != TL_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    tl_machine_free(fast);
    tl_machine_free(slow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    situation s = {0};
    memcpy(&s, data, size < sizeof s ? size : sizeof s);
    size_t n_code = size < sizeof s ? 0 : size - sizeof s;
    if (n_code > CODE_BYTES)
        return 0;
    const uint8_t *code = data + (size - n_code);
    uint32_t engine = s.choices & CHOOSE_ENGINE;
    if (engine != 1)
        run_pair(&tl_engine_interp, 0, &s, code, n_code);
#ifdef TL_HAS_TRANSLATOR
    if (engine != 0)
        run_pair(&tl_engine_translate, s.choices >> CHOOSE_COLD_SHIFT & 3, &s, code, n_code);
#endif
    return 0;
}
