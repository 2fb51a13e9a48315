// SPDX-License-Identifier: MIT
// Two machines that run the same system software, for fuzz targets: one on a fast engine, the other
// on the stepping one. All that instructions can see, and all tallies, must be equal at every stop.
// The target includes this file behind its `situation`, which begins with `choices`, and behind
// INSTRUCTION_BYTES, what addresses of instructions are multiples of. It defines the two functions
// that are declared here.
#ifndef TL_TESTS_FUZZ_MACHINES_H
#define TL_TESTS_FUZZ_MACHINES_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../contract/board_turn.h"
#include "machine/machine.h"

enum {
    CODE_BYTES = 16 << 10,
    // Of RAM, code first: nobody may write there, and nothing else may be executed.
    PROTECTED_BYTES = 64 << 10,
    DATA_OFFSET = 1 << 20, // from here on, pages are data; with the tables among them
    DATA_BYTES = 64 << 10,
    TABLES_OFFSET = 2 << 20,
    TABLES_BYTES = 0x6000,
    MAX_INSNS = 4000,
    MAX_TRAPS = 60, // between two stops
    MAX_STORMS = 20,
};

// Bits of situation.choices.
enum { CHOOSE_ENGINE = 3, CHOOSE_SMALL = 4, CHOOSE_BREAK = 8, CHOOSE_CUT_SHIFT = 4, CHOOSE_CUT = 3, CHOOSE_COLD_SHIFT = 6 };

// Puts code, data and tables into RAM, and registers as the situation has them.
static void set_up(tl_machine *machine, const situation *s, const uint8_t *code, size_t n_code);
// Compares the registers of the instruction set.
static void compare_own(const tl_machine *fast, const tl_hart *a, const tl_hart *b);

static inline uint64_t number(const uint8_t *bytes, size_t n) {
    uint64_t value = 0;
    memcpy(&value, bytes, n);
    return value;
}

static inline void put64(tl_machine *machine, uint64_t offset, uint64_t value) { memcpy(machine->ram + offset, &value, sizeof value); }

// The address of an instruction of the code, of which there are n bytes.
static inline uint64_t code_at(const uint8_t bytes[2], size_t n) {
    return TL_RAM_BASE_PADDR + INSTRUCTION_BYTES * (number(bytes, 2) % (n / INSTRUCTION_BYTES + 1));
}

static inline void put_data(tl_machine *machine) {
    for (uint32_t i = 0; i < DATA_BYTES; i += 8)
        put64(machine, DATA_OFFSET + i, (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

// Runs as the board does, until so many instructions have retired or a breakpoint comes. Returns
// the number of traps.
static inline uint32_t run_until(tl_hart *h, uint64_t instret) {
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

static inline void differs(const tl_machine *fast, const char *what, uint64_t a, uint64_t b) {
    const tl_hart *h = fast->harts[0];
    fprintf(stderr, "%s is %" PRIx64 " by %s, %" PRIx64 " by step, at pc %" PRIx64 ", instruction %" PRIu64 "\n", what, a,
            fast->engine->name, b, h->pc, h->instret);
    abort();
}

#define SAME_OF(a_has, b_has, field)      \
    if ((a_has)->field != (b_has)->field) \
    differs(fast, #field, (a_has)->field, (b_has)->field)
#define SAME(field) SAME_OF(a, b, field)

static inline void compare(const tl_machine *fast, const tl_machine *slow) {
    const tl_hart *a = fast->harts[0], *b = slow->harts[0];
    SAME(pc);
    SAME(priv);
    SAME(now);
    SAME(instret);
    SAME(context);
    SAME(reservation_paddr);
    SAME(run_vline);
    SAME(irqs_enabled);
    SAME(irqs_pending);
    compare_own(fast, a, b);
    for (uint32_t slot = 0; slot < fast->probe.n_cells; slot++)
        if (fast->tally[slot] != slow->tally[slot]) {
            const tl_unit *unit = tl_probe_unit_of(&fast->probe, slot);
            char name[160];
            snprintf(name, sizeof name, "%s.%s", unit->path, unit->type->signals[slot - unit->first_cell].name);
            differs(fast, name, fast->tally[slot], slow->tally[slot]);
        }
}

static inline tl_machine *machine_new(const tl_engine_type *core, const situation *s, uint32_t n_cold_runs) {
    tl_config config;
    tl_machine *machine;
    tl_error err = {TL_OK, ""};
    tl_config_default(&config);
    config.isa = core->isa->number;
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

static inline void run_pair(const tl_engine_type *core, const tl_engine_type *step, uint32_t n_cold_runs, const situation *s,
                            const uint8_t *code, size_t n_code) {
    static const uint64_t cuts[] = {MAX_INSNS, 997, 101, 7};
    tl_machine *fast = machine_new(core, s, n_cold_runs), *slow = machine_new(step, s, 0);
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
            a->pc = b->pc = TL_RAM_BASE_PADDR + INSTRUCTION_BYTES * ((n_stops * 7919 + 1) % (n_code / INSTRUCTION_BYTES + 1));
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

// The input: a situation, then code. A shorter input is one with zeros behind it. false: too long.
static inline bool split(const uint8_t *data, size_t size, situation *ret_situation, const uint8_t **ret_code, size_t *ret_n_code) {
    const size_t n_code = size < sizeof *ret_situation ? 0 : size - sizeof *ret_situation;
    memset(ret_situation, 0, sizeof *ret_situation);
    memcpy(ret_situation, data, size < sizeof *ret_situation ? size : sizeof *ret_situation);
    *ret_code = data + (size - n_code);
    *ret_n_code = n_code;
    return n_code <= CODE_BYTES;
}

#endif
