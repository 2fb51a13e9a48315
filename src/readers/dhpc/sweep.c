// SPDX-License-Identifier: MIT
// Harts read one manager all the time, in machine mode. The sweep measures the time of a read by
// method, beat and number of harts. Caches hold code and tables before the measurement.
#include "readers/dhpc/sweep.h"

#include "base/bits.h"
#include "isa/rv/privileged.h"
#include "readers/dhpc/fabric_reader.h"
#include "readers/dhpc/on.h"

enum {
    N_READS = 40, // of each hart, measured; as many before to warm up
    N_VALUES = 16,
    MAX_TURNS = 10000000,
    COUNT_REGISTER = TL_T3,
    CODE_BYTES = 0x4000,
};
static const uint32_t beats[] = {1, 2, 3, 4, 6, 8, 12, 16}, hart_counts[] = {1, 2, 4, 8};
static const uint64_t CODE_PADDR = UINT64_C(0x80010000);

typedef struct field { // where they meet
    const tl_compare_setup *setup;
    tl_machine *machine;
    const tl_dhpc_config *config;
    uint64_t end;
} field;

// The fabric is the machine's, but for the beat.
static tl_status open_field(const tl_compare_setup *setup, uint32_t beat, uint32_t n_harts, field *ret_field, tl_error *err) {
    tl_config config = setup->config;
    field f = {.setup = setup};
    tl_keys_set(&config, "dhpc.beat", beat);
    config.n_harts = n_harts;
    config.ram_bytes = UINT64_C(16) << 20;
    config.interleave_cycles = 1; // the order of harts must be exact
    tl_status status = tl_machine_new(&config, setup->engine, &f.machine, err);
    if (status != TL_OK)
        return status;
    for (uint32_t i = 0; i < f.machine->n_harts; i++)
        tl_privileged_reset(f.machine->harts[i]);
    f.config = tl_dhpc_config_of(tl_dhpc_on(f.machine));
    *ret_field = f;
    return TL_OK;
}

// The lowest bits of slice 0 of the second level: a unit that belongs to no hart.
static uint64_t bits_to_read(const tl_dhpc *hpc, uint32_t *ret_n) {
    uint32_t n, most = tl_hpc_values_at_once(tl_dhpc_config_of(hpc));
    const tl_dhpc_manager *managers = tl_dhpc_managers(hpc, &n);
    uint64_t bitmap = 0;
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t left = managers[i].id == TL_DHPC_ID(TL_DHPC_LLC, 0, 0) ? managers[i].implemented : 0;
             left != 0 && *ret_n < (most < N_VALUES ? most : N_VALUES); left &= left - 1, ++*ret_n)
            bitmap |= left & -left;
    return bitmap;
}

static tl_status write_loop(field *f, tl_hpc_method method, uint64_t bitmap, tl_error *err) {
    tl_assembler a;
    tl_asm_init(&a, tl_machine_ram(f->machine, CODE_PADDR), CODE_BYTES, CODE_PADDR);
    uint64_t loop = tl_asm_here(&a);
    tl_hpc_write_read(&a, f->config, method, TL_DHPC_ID(TL_DHPC_LLC, 0, 0), bitmap);
    tl_asm_addi(&a, COUNT_REGISTER, COUNT_REGISTER, -1);
    uint32_t is_done = tl_asm_branch(&a, TL_ASM_EQ, COUNT_REGISTER, TL_X0);
    tl_asm_jump_to(&a, loop);
    tl_asm_bind(&a, is_done);
    f->end = tl_asm_here(&a);
    tl_asm_ebreak(&a); // never reached
    for (uint32_t i = 0; i < f->machine->n_harts; i++)
        f->machine->harts[i]->code_generation++;
    return a.is_full ? tl_fail(err, TL_EINVAL, "the readers of the sweep do not fit into their place") : TL_OK;
}

static tl_status run_loop(field *f, tl_error *err) {
    uint32_t running = (1u << f->machine->n_harts) - 1;
    for (uint32_t i = 0; i < f->machine->n_harts; i++) {
        tl_hart *h = f->machine->harts[i];
        h->pc = CODE_PADDR;
        h->run_vline = TL_NO_LINE;
        tl_rv(h)->x[COUNT_REGISTER] = N_READS;
        h->break_pc[0] = f->end;
    }
    for (uint32_t n = 0; running != 0; n++) {
        tl_turn turn = tl_machine_next(f->machine, running);
        tl_hart *h = turn.hart;
        h->horizon = turn.end;
        h->insn_limit = h->instret + 1;
        tl_hart_limit_to_deadline(h, &h->insn_limit);
        tl_stop stop = tl_turn_run(&turn);
        (void)tl_hart_poll(h);
        if (stop == TL_STOP_TRAP)
            return tl_fail(err, TL_EIO, "a reader of the sweep trapped at 0x%llx", (unsigned long long)h->pc);
        if (n == MAX_TURNS)
            return tl_hpc_too_slow(f->setup, "a reader of the sweep", err);
        if (stop == TL_STOP_BREAK)
            running &= ~(1u << h->id);
    }
    return TL_OK;
}

// Sets all harts to one time.
static void meet(const field *f) {
    uint64_t latest = 0;
    for (uint32_t i = 0; i < f->machine->n_harts; i++)
        latest = f->machine->harts[i]->now > latest ? f->machine->harts[i]->now : latest;
    for (uint32_t i = 0; i < f->machine->n_harts; i++) {
        tl_hart *h = f->machine->harts[i];
        h->idle_cycles += latest - h->now;
        h->now = latest;
    }
}

static tl_status measure(field *f, tl_hpc_method method, uint64_t bitmap, uint64_t *ret_x1000, tl_error *err) {
    uint64_t begin[TL_MAX_HARTS], sum = 0;
    tl_status status = write_loop(f, method, bitmap, err);
    if (status == TL_OK)
        status = run_loop(f, err);
    meet(f);
    for (uint32_t i = 0; i < f->machine->n_harts; i++)
        begin[i] = f->machine->harts[i]->now;
    if (status == TL_OK)
        status = run_loop(f, err);
    for (uint32_t i = 0; i < f->machine->n_harts; i++)
        sum += f->machine->harts[i]->now - begin[i];
    meet(f);
    *ret_x1000 = sum * 1000 / (N_READS * f->machine->n_harts);
    return status;
}

// Differences of less than one percent are none.
static const char *winner_of(const uint64_t times[TL_HPC_N_METHODS]) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < TL_HPC_N_METHODS; i++)
        best = times[i] < times[best] ? i : best;
    for (uint32_t i = 0; i < TL_HPC_N_METHODS; i++)
        if (i != best && (times[i] - times[best]) * 100 < times[best])
            return "even";
    return tl_hpc_method_names[best];
}

tl_status tl_dhpc_sweep_fabric(const tl_compare_setup *setup, uint32_t beat, uint32_t n_harts, tl_compare_fabric_row *ret_row,
                               tl_error *err) {
    tl_compare_fabric_row *row = ret_row;
    field f;
    uint64_t times[TL_HPC_N_METHODS] = {0};
    tl_status status = open_field(setup, beat, n_harts, &f, err);
    if (status != TL_OK)
        return status;
    *row = (tl_compare_fabric_row){.size = sizeof *row, .beat_cycles = beat, .n_harts = n_harts, .winner = ""};
    uint64_t bitmap = bits_to_read(tl_dhpc_on(f.machine), &row->n_counters);
    if (bitmap == 0)
        status = tl_fail(err, TL_EINVAL,
                         "dhpc.slice_events leaves out every counter of the slices, which the sweep reads; build some, or make no sweeps");
    for (uint32_t m = 0; m < TL_HPC_N_METHODS && status == TL_OK; m++)
        status = measure(&f, (tl_hpc_method)m, bitmap, &times[m], err);
    for (uint32_t i = 0; i < n_harts; i++) {
        uint64_t wait = tl_dhpc_account(tl_dhpc_on(f.machine), i).max_wait_cycles;
        row->max_wait_cycles = wait > row->max_wait_cycles ? wait : row->max_wait_cycles;
    }
    row->wait_bound_cycles = (n_harts - 1) * tl_dhpc_longest_service(f.config);
    row->empty_poll_x1000 = times[TL_HPC_EMPTY_POLL];
    row->trigger_poll_x1000 = times[TL_HPC_TRIGGER_POLL];
    row->burst_read_x1000 = times[TL_HPC_BURST_READ];
    row->winner = winner_of(times);
    tl_machine_free(f.machine);
    return status;
}

tl_status tl_dhpc_sweep_fabrics(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    c->fabrics = tl_arena_alloc(&c->arena, TL_COUNT_OF(beats) * TL_COUNT_OF(hart_counts) * sizeof *c->fabrics);
    if (!c->fabrics)
        return tl_no_memory(err);
    tl_status status = TL_OK;
    for (uint32_t k = 0; k < TL_COUNT_OF(hart_counts); k++)
        for (uint32_t b = 0; b < TL_COUNT_OF(beats) && status == TL_OK; b++)
            status = tl_dhpc_sweep_fabric(setup, beats[b], hart_counts[k], &c->fabrics[c->n_fabrics++], err);
    return status;
}
