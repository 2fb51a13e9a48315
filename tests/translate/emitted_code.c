// SPDX-License-Identifier: MIT
// Runs guest code by the translator and writes down all that it made, for check_emitted.py. There
// is the code of each hart when each block was made and, patched, at the end. There are the facts
// to hold it against: thunks, blocks, beginnings of instructions.
//
//   emitted_code FOLDER ENGINE random SEED small|usual
//   emitted_code FOLDER ENGINE guest HARTS PROGRAM [ARG...]
//
// random: generated code in three privilege modes, which modifies itself. guest: a Linux program.
// ENGINE is a translating one of contract/engines.h.
#include "model/engine.h"

#ifdef TL_HAS_TRANSLATOR

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../contract/engines.h"
#include "../contract/random_code.h"
#include "isa/block/execute.h"
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "isa/rv/translate/translator.h"
#include "linux/os.h"
#include "model/code_log.h"

enum { CODE_BYTES = 48 << 10, DATA_BYTES = 64 << 10, DATA_OFFSET = 1 << 20, N_STOPS = 4000, FILLER = 0x90, MAX_PIECES = 1 << 18 };

typedef struct piece {
    const tl_block *block;
    uint32_t at, n_bytes; // in the code memory
    bool is_cold;
    uint8_t n_lines;
    uint16_t lines[TL_CODE_MAX_LINES];
} piece;

typedef struct watcher { // of one hart
    tl_code_log log;
    tl_hart *h;
    uint64_t n_flushes;
    uint8_t *made; // the code memory as it was when it was made
    piece *pieces;
    uint32_t n_pieces;
} watcher;

static watcher watchers[TL_MAX_HARTS];

static void die(const char *what) {
    fprintf(stderr, "emitted_code: %s\n", what);
    exit(1);
}

static const tl_translator *translator_of(const tl_hart *h) { return ((const tl_blocks *)h->engine_state)->translator; }

static void publish(tl_code_log *log, const tl_hart *h, const tl_code_piece *made) {
    watcher *w = (watcher *)log;
    const tl_translator *t = translator_of(h);
    if (w->n_flushes != t->store->n_flushes)
        w->n_pieces = 0;
    w->n_flushes = t->store->n_flushes;
    if (w->n_pieces == MAX_PIECES || made->n_lines > TL_CODE_MAX_LINES)
        die("too many pieces");
    piece *p = &w->pieces[w->n_pieces++];
    *p = (piece){
        .block = t->block,
        .at = (uint32_t)(made->code - t->exec),
        .n_bytes = (uint32_t)made->n_bytes,
        .is_cold = made->is_cold,
        .n_lines = (uint8_t)made->n_lines,
    };
    for (uint32_t i = 0; i < made->n_lines; i++)
        p->lines[i] = (uint16_t)made->lines[i].offset_bytes;
    memcpy(w->made + p->at, made->code, made->n_bytes);
}

static void watch(tl_machine *machine) {
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        watcher *w = &watchers[i];
        *w = (watcher){.log.publish = publish, .h = machine->harts[i]};
        w->made = malloc(machine->config.code_cache_bytes);
        w->pieces = malloc(MAX_PIECES * sizeof *w->pieces);
        if (!w->made || !w->pieces)
            die("no memory");
        w->h->code_log = &w->log;
    }
}

// ---- what is written down ----

static FILE *create(const char *folder, uint32_t hart, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%u.%s", folder, hart, name);
    FILE *file = fopen(path, "wb");
    if (!file)
        die(path);
    return file;
}

// Between pieces there are bytes that others left there. A byte that is an instruction keeps the
// disassembler in step.
static void write_code(const char *folder, const watcher *w, const char *name, const uint8_t *code) {
    const tl_translator *t = translator_of(w->h);
    size_t n_thunks = (size_t)(t->small_numbers - t->exec);
    uint8_t *image = malloc(t->code_bytes);
    if (!image)
        die("no memory");
    memset(image, FILLER, t->code_bytes);
    memcpy(image, t->exec, n_thunks);
    for (uint32_t i = 0; i < w->n_pieces; i++)
        memcpy(image + w->pieces[i].at, code + w->pieces[i].at, w->pieces[i].n_bytes);
    const size_t ends[] = {(size_t)(t->hot - t->write), (size_t)(t->cold - t->write)}, starts[] = {0, t->hot_bytes};
    for (int part = 0; part < 2; part++) {
        char full[32];
        snprintf(full, sizeof full, "%s.%s", name, part ? "cold" : "hot");
        FILE *file = create(folder, w->h->id, full);
        if (fwrite(image + starts[part], 1, ends[part] - starts[part], file) != ends[part] - starts[part] || fclose(file) != 0)
            die("cannot write");
    }
    free(image);
}

static void write_facts(const char *folder, const watcher *w) {
    const tl_hart *h = w->h;
    const tl_translator *t = translator_of(h);
    const tl_blocks *store = h->engine_state;
    FILE *f = create(folder, h->id, "facts");
    const struct {
        const char *name;
        const uint8_t *at;
    } thunks[] = {{"exit", t->exit_thunk},
                  {"slow", t->slow_thunk},
                  {"body", t->body_thunk},
                  {"call", t->call_thunk},
                  {"stop", t->stop_thunk},
                  {"link", t->link_thunk},
                  {"indirect", t->indirect_thunk},
                  {"again", t->again_thunk},
                  {"trap", t->trap_thunk},
                  {"trap_return", t->trap_return_thunk},
                  {"unwatched", t->unwatched_thunk},
                  {"ecall", t->ecall_thunk},
                  {"sret", t->sret_thunk},
                  {"cold", t->cold_thunk},
                  {"fetch", t->fetch_thunk},
                  {"reach_load", t->reach_thunks[false]},
                  {"reach_store", t->reach_thunks[true]},
                  {"jump", t->jump_thunks[false]},
                  {"jump_link", t->jump_thunks[true]},
                  {"register_u", t->register_thunks[false][TL_VIEW_U]},
                  {"register_s", t->register_thunks[false][TL_VIEW_S]},
                  {"register_m", t->register_thunks[false][TL_VIEW_M]},
                  {"register_link_u", t->register_thunks[true][TL_VIEW_U]},
                  {"register_link_s", t->register_thunks[true][TL_VIEW_S]},
                  {"register_link_m", t->register_thunks[true][TL_VIEW_M]},
                  {"return_u", t->return_thunks[TL_VIEW_U]},
                  {"return_s", t->return_thunks[TL_VIEW_S]},
                  {"return_m", t->return_thunks[TL_VIEW_M]},
                  {"not_taken", t->branch_thunks[false]},
                  {"taken", t->branch_thunks[true]}};
    uintptr_t anchor;
    bool (*function)(tl_blocks *, tl_block *, uint32_t) = tl_block_execute;
    memcpy(&anchor, &function, sizeof anchor);
    fprintf(f, "anchor tl_block_execute %" PRIxPTR "\n", anchor);
    fprintf(f, "code %" PRIxPTR " %zx %zx %" PRIxPTR "\n", (uintptr_t)t->exec, t->code_bytes, t->hot_bytes, (uintptr_t)t->write);
    fprintf(f, "numbers %" PRIxPTR "\n", (uintptr_t)t->small_numbers);
    for (uint32_t i = 0; i < TL_COUNT_OF(thunks); i++)
        if (thunks[i].at) // a predictor without counters has no thunks for branches
            fprintf(f, "thunk %s %" PRIxPTR "\n", thunks[i].name, (uintptr_t)tl_exec_of(t, thunks[i].at));
    uint64_t cells = (uintptr_t)store->jump_cache + offsetof(tl_jump_cell, code);
    for (uint32_t view = 0; view < TL_N_VIEWS; view++)
        fprintf(f, "cells %" PRIx64 "\n", cells + view * sizeof store->jump_cache[0]);
    const struct {
        const char *name;
        const void *start;
        size_t n_bytes;
    } ranges[] = {
        {"hart", h, sizeof(tl_rv_hart)},
        {"counts", store->counts, TL_MAX_BLOCKS * sizeof(uint64_t)},
        {"btb", h->bp.btb, (h->bp.btb_mask + 1) * sizeof h->bp.btb[0]},
        {"counters", h->bp.counters, h->bp.counter_mask + 1},
        {"cells", store->jump_cache, sizeof store->jump_cache},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(ranges); i++)
        fprintf(f, "range %s %" PRIxPTR " %zx\n", ranges[i].name, (uintptr_t)ranges[i].start, ranges[i].n_bytes);
    fprintf(f, "bias %x\n", TL_HART_BIAS);
    fprintf(f, "memory %" PRIxPTR "\n", (uintptr_t)store->memory);
    fprintf(f, "reach %zx %zx\n", offsetof(tl_hart, port), offsetof(tl_mem_port, reach_load));
    fprintf(f, "reach %zx %zx\n", offsetof(tl_hart, port), offsetof(tl_mem_port, reach_store));
    for (uint32_t i = 0; i < w->n_pieces; i++) {
        const piece *p = &w->pieces[i];
        const tl_block *b = p->block;
        fprintf(f, "piece %s %x %x %" PRIxPTR " %" PRIxPTR " %" PRIxPTR " %" PRIxPTR " %x %d %" PRIx64 " %" PRIxPTR,
                p->is_cold ? "cold" : "hot", p->at, p->n_bytes, (uintptr_t)b, (uintptr_t)b->code, (uintptr_t)b->near, (uintptr_t)b->start,
                b->n_insns, b->is_stale, b->pc, (uintptr_t)b->exit_pend);
        for (uint32_t k = 0; k < p->n_lines; k++)
            fprintf(f, " %x", p->lines[k]);
        fprintf(f, "\n");
    }
    if (fclose(f) != 0)
        die("cannot write");
}

static void write_all(const char *folder, tl_machine *machine) {
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        write_code(folder, &watchers[i], "made", watchers[i].made);
        write_code(folder, &watchers[i], "final", translator_of(machine->harts[i])->exec);
        write_facts(folder, &watchers[i]);
        free(watchers[i].made);
        free(watchers[i].pieces);
    }
}

// ---- what is run ----

static tl_machine *machine_new(const tl_config *config, const fast_engine *engine) {
    tl_machine *machine;
    tl_error err = {0};
    if (machine_with(engine, config, &machine, &err) != TL_OK)
        die(err.text);
    watch(machine);
    return machine;
}

static void fill(rng *r, uint8_t *at, uint32_t n_bytes) {
    static const uint16_t csrs[] = {0x001, 0x002, 0x003, 0x300, 0x341, 0x340, 0xb00, 0xc00, 0xc01, 0xc02};
    fill_with(r, at, n_bytes, csrs, TL_COUNT_OF(csrs), 4);
}

static void set_csr(tl_hart *h, uint32_t csr, uint64_t value) {
    tl_hart_set_priv(h, TL_PRIV_M);
    (void)tl_csr_write(h, csr, value);
    if (h->has_after)
        tl_hart_retired(h);
}

static void scatter(tl_hart *h, rng *r) {
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_M};
    set_csr(h, 0x3b0, UINT64_MAX); // everything is everybody's
    set_csr(h, 0x3a0, 0x1f);
    set_csr(h, 0x300, next(r) & 0x6000);
    tl_hart_set_priv(h, privs[below(r, 3)]);
    tl_rv(h)->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 1000) * 16;
    tl_rv(h)->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 2000) * 8;
    tl_rv(h)->x[9] = tl_rv(h)->x[1] = TL_RAM_BASE_PADDR + 4096 + (uint64_t)below(r, CODE_BYTES - 8192);
    h->pc = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64);
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->is_waiting = false;
}

static void run_random(const char *folder, const fast_engine *engine, uint64_t seed, bool is_small) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    if (is_small) {
        config.l1i.line_bytes = config.l1d.line_bytes = config.l2.line_bytes = 16;
        config.bp.kind = TL_BP_BTFN;
        config.bp.ras_entries = 0;
        config.code_cache_bytes = 4 << 20;
    }
    tl_machine *machine = machine_new(&config, engine);
    tl_hart *h = machine->harts[0];
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_privileged_reset(h);
    fill(&r, machine->ram, CODE_BYTES);
    for (uint32_t i = 0; i < N_STOPS; i++) {
        if (h->run_vline == TL_NO_LINE && below(&r, 40) == 0) {
            uint32_t at = below(&r, CODE_BYTES / 64 - 4) * 64;
            fill(&r, machine->ram + at, 256);
            tl_memory_code_changed(machine->memory, TL_RAM_BASE_PADDR + tl_align_down(at, 4096));
            tl_memory_code_changed(machine->memory, TL_RAM_BASE_PADDR + tl_align_down(at + 255, 4096));
        }
        if (i == N_STOPS / 2)
            h->break_pc[0] = TL_RAM_BASE_PADDR + CODE_BYTES / 2;
        scatter(h, &r);
        h->insn_limit = h->instret + 1000;
        h->horizon = UINT64_MAX;
        (void)h->engine->run(h);
    }
    write_all(folder, machine);
    tl_machine_free(machine);
}

static void run_guest(const char *folder, const fast_engine *engine, uint32_t n_harts, char **argv) {
    static char *const no_env[] = {NULL};
    tl_config config;
    tl_config_default(&config);
    config.n_harts = n_harts;
    tl_machine *machine = machine_new(&config, engine);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    tl_os_options options = {.program = argv[0], .argv = argv, .envp = no_env, .std_fd = {null_fd, null_fd, null_fd}};
    tl_os *os;
    tl_os_report report;
    tl_error err = {0};
    tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = 5000000, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    if (tl_os_new(machine, &options, &os, &err) != TL_OK || tl_os_run(os, &limits, &report, &err) != TL_OK)
        die(err.text);
    write_all(folder, machine);
    tl_os_free(os);
    tl_machine_free(machine);
    close(null_fd);
}

int main(int argc, char **argv) {
    const fast_engine *engine = argc > 2 ? engine_named(argv[2]) : NULL;
    if (!engine || engine->engine != &tl_engine_translate)
        return 2;
    if (argc == 6 && strcmp(argv[3], "random") == 0)
        run_random(argv[1], engine, strtoull(argv[4], NULL, 10), strcmp(argv[5], "small") == 0);
    else if (argc >= 6 && strcmp(argv[3], "guest") == 0)
        run_guest(argv[1], engine, (uint32_t)strtoul(argv[4], NULL, 10), argv + 5);
    else
        return 2;
    return 0;
}

#else

int main(void) { return 77; } // this host runs no translated code

#endif
